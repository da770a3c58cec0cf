"""The base of probes: what is measured of a framework besides the steps of its workloads.

A subclass says how one of its figures is made ready and checked; skipping, its reasons and asv's conventions are here.
"""

import abc
import functools
import inspect

from . import frameworks, sidecar, versions


def figure(mode, isolated=False, unit=None):
    """Mark a method of a probe as asv's benchmark; a tracked value needs a unit, an isolated one its own process.

    `workload` and `pass` are empty: no step of a workload is timed, so none can be reproduced as one.
    """

    def mark(method):
        method.workload = ""
        method.mode = mode
        setattr(method, "pass", "")
        method.clock = "wall" if unit is None else ""
        method.isolated = isolated
        if unit is not None:
            method.unit = unit
        return method

    return mark


class Probe(abc.ABC):
    """Figures of a framework that share their parameters: `framework`, then those of `parameters` (name -> values)."""

    parameters = {}

    # A sample is one call, as for a workload.
    number = 1
    repeat = 20
    rounds = 5
    warmup_time = 0.2
    timeout = 300

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        cls.param_names = ["framework", *cls.parameters]
        cls.params = [list(frameworks.FRAMEWORKS), *(list(values) for values in cls.parameters.values())]

    def __init__(self):
        # asv calls setup without saying which method it is for, but looks for it on the method first.
        for name in self.figures():
            setattr(self, name, self._bound(getattr(type(self), name)))
        self._ready = None
        frameworks.import_before_fork()

    @classmethod
    def figures(cls):
        """Return the names of the figures."""
        return [name for name, value in inspect.getmembers(cls, inspect.isfunction) if hasattr(value, "isolated")]

    def _bound(self, declared):
        @functools.wraps(declared)
        def call(*params):
            return declared(self, *params)

        call.setup = functools.partial(self.prepare, declared)
        call.teardown = functools.partial(self.finish, declared)
        call.pretty_source = versions.source_of(type(self))
        return call

    @property
    def version(self):
        """asv's version of the benchmark: changes with what is measured and the adapters only."""
        return versions.of(type(self))

    @abc.abstractmethod
    def make_ready(self, declared, adapter, *params):
        """Make a figure ready to be measured with these parameters, and check that what it measures is right.

        Raises frameworks.Unsupported where the row or the device cannot run it, correctness.Disagreement where it
        computes something else.
        """

    @abc.abstractmethod
    def check(self, declared, adapter, *params):
        """Run what a figure measures once and return (error, tolerance) of its result."""

    def before_sample(self):  # noqa: B027 (most need nothing)
        """What has to be done before every sample, outside it."""

    def after_sample(self):  # noqa: B027
        """What has to be done after every sample, outside it; what raises here fails the figure."""

    def prepare(self, declared, *params):
        """Make a figure ready once a process, and what a sample needs before every sample: asv's setup.

        Raises what `make_ready` raises; the reason is recorded in the sidecar.
        """
        key = (declared.__name__, params)
        if self._ready != key:
            with sidecar.reported(self.benchmark_name(declared), params):
                framework, *others = params
                self.make_ready(declared, frameworks.get(framework), *others)
            self._ready = key
        self.before_sample()

    def finish(self, declared, *params):
        """Check a sample that was taken: asv's teardown, which it also calls after a figure that was skipped."""
        if self._ready == (declared.__name__, params):
            with sidecar.reported(self.benchmark_name(declared), params):
                self.after_sample()

    def benchmark_name(self, declared):
        """The name that asv gives the benchmark of a figure."""
        return f"{type(self).__module__.split('.', 1)[-1]}.{type(self).__name__}.{declared.__name__}"

    def release(self):
        """Free what the figure holds; called by a driver that measures several in one process."""
        held, self._ready = self._ready, None
        if held:
            frameworks.get(held[1][0]).release()
