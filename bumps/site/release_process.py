"""asv's publishing of `releases/`, in a process of its own: `python -m bumps.site.release_process publish …`.

asv matches `regressions_thresholds` with a figure's name and parameters. On these pages the framework is no parameter
any more, so a margin that names it would match nothing: here it stands where it stood before the margin is looked up.
"""

import itertools
from collections.abc import Iterator

from asv.graph import Graph
from asv.main import main
from asv.plugins import regressions

from bumps.results import name_with_params
from bumps.site import asv_input
from bumps.site.release_results import FRAMEWORK, POSITION


class Filter(asv_input.CheckedFilter):
    """The same, with the margin of what the figure was called before the framework was taken from its parameters."""

    def get_graph_data(self, graph: Graph, benchmark: dict) -> Iterator[tuple]:
        """Yield index, name, steps and margin, as asv's class does."""
        combinations = list(itertools.product(*benchmark["params"]))
        for index, name, steps, _ in super().get_graph_data(graph, benchmark):
            params = [] if index is None else list(combinations[index])
            if benchmark.get(POSITION) is not None:
                params.insert(benchmark[POSITION], repr(graph.params[FRAMEWORK]))
            yield index, name, steps, self.margins.of(name_with_params(benchmark["name"], params))


if __name__ == "__main__":
    asv_input.install()
    regressions._GraphDataFilter = Filter
    main()
