import dataclasses
import types

from bumps.commands import bench
from bumps.driver import Outcome
from bumps.journal import Session
from bumps.plan import Item, Plan, PlannedRow
from bumps.rows import Row


@dataclasses.dataclass(frozen=True)
class Environment:
    name: str


def test_row_that_nothing_was_selected_for_has_an_empty_column(tmp_path, capsys):
    """`--row jax… --row torch… --bench jax` on a machine that never measured torch: there is no result file of it."""
    rows = [Row(Environment(name), name, "1.0", "1.0") for name in ("jax", "torch")]
    planned = tuple(PlannedRow(row.env_name, row.framework, row.release, "row") for row in rows)
    outcome = Outcome(
        machine="box",
        commit="c" * 40,
        benchmarks={"x.time_x": {"params": [["'jax'"]], "param_names": ["framework"], "unit": "seconds"}},
        plan=Plan(planned, (), {"jax": (Item("x.time_x", 0),), "torch": ()}, 1),
        session=Session({"id": "s"}),
        rows=rows,
        left_out={},
        seconds=1.0,
        timed_seconds=1.0,
    )
    bench.print_table(types.SimpleNamespace(results_dir=str(tmp_path)), outcome)
    heading, line = capsys.readouterr().out.splitlines()
    assert heading.split() == ["benchmark", "jax", "1.0", "torch", "1.0"]
    assert line.split() == ["x.time_x"]
