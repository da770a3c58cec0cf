"""Whether a workload computes what its float64 NumPy reference says, within what its precision allows.

`python -m benchmarks.correctness [NAME…]` checks the smallest size of every workload and probe in the running
environment and prints one line a check; exit status 1 when one fails.
"""

import argparse
import collections
import concurrent.futures
import functools
import hashlib
import importlib
import inspect
import itertools
import math
import multiprocessing
import pkgutil
import re
import sys
import zlib

import numpy

from . import frameworks

# Half the spacing of the numbers around 1: Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., table 2.1;
# tf32 keeps fp16's ten fraction bits.
UNIT_ROUNDOFF = {"bf16": 2.0**-8, "fp16": 2.0**-11, "tf32": 2.0**-11, "fp32": 2.0**-24, "fp64": 2.0**-53}
# Roundings are taken to add up like a random walk; the factor leaves room for cancellation in a sum.
SAFETY = 8
# Of the five-point difference in float64: rounding is about 1e-16/1e-4 relative to the value, which may be a thousand
# times the derivative; truncation is of fourth order in the step.
DIFFERENCE_ERROR = 1e-8
# Relative to the root mean square of the input.
DIFFERENCE_STEP = 1e-4
DIRECTIONS = 3
# Of more than this unit roundoff a type is narrow.
NARROW = 1e-6


class Disagreement(AssertionError):
    """A result is further from the float64 reference than its precision explains."""


def tolerance(precision, rounding_steps, sum_length=1):
    """Relative error in the Euclidean norm that `rounding_steps` roundings in sequence explain.

    Sums of `sum_length` terms are accumulated in float32 for the narrower types, which adds nothing visible; in fp32
    and fp64 each addition rounds too.
    """
    if precision in ("fp32", "fp64"):
        rounding_steps = rounding_steps * sum_length
    return SAFETY * UNIT_ROUNDOFF[precision] * math.sqrt(rounding_steps)


def relative_error(found, wanted):
    """‖found − wanted‖ / ‖wanted‖; infinite for shapes that differ and for results that are not finite."""
    if numpy.shape(found) != numpy.shape(wanted):
        return math.inf
    found = numpy.asarray(found, dtype=numpy.float64)
    wanted = numpy.asarray(wanted, dtype=numpy.float64)
    error = numpy.linalg.norm((found - wanted).ravel())
    scale = numpy.linalg.norm(wanted.ravel())
    if not math.isfinite(error):
        return math.inf
    return error / scale if scale else error


def fetch_all(adapter, values):
    """Return the device's inputs as float64 (or integer) NumPy arrays: rounded as the step sees them."""
    return {
        name: fetch_all(adapter, value) if isinstance(value, dict) else adapter.fetch(value)
        for name, value in values.items()
    }


def check_forward(computation, adapter, precision, size, inputs, value):
    """Return (relative error, tolerance) of a forward result against the reference."""
    wanted = computation.numpy(numpy, **fetch_all(adapter, inputs))
    sum_length = computation.sum_length(**computation.sizes[size].dimensions)
    return relative_error(adapter.fetch(value), wanted), tolerance(precision, computation.rounding_steps, sum_length)


# Slopes of the references that the process has evaluated: eager and compiled steps start from the same inputs.
_SLOPES = {}

# The parameters of the last check, whose compiled programs the process still holds.
_CHECKED = []


def _reference_key(computation, point, pulled):
    """Return what a reference's slopes depend on; inputs by their content, since a fault may have changed them."""
    digest = hashlib.blake2b(numpy.ascontiguousarray(pulled).tobytes())
    for name, array in sorted(point.items()):
        digest.update(f"{name} {numpy.shape(array)}".encode())
        digest.update(numpy.ascontiguousarray(array).tobytes())
    return type(computation), tuple(getattr(computation, name) for name in computation.extra_params), digest.digest()


def _directions(name, shape):
    rng = numpy.random.default_rng(zlib.crc32(name.encode()))
    return (rng.standard_normal(shape) for _ in range(DIRECTIONS))


def _slopes(computation, name, point, pulled, points):
    """Return the two- or five-point differences of ⟨pulled, f⟩ along the directions of one input."""

    def objective(value):
        return float(numpy.sum(pulled * computation.numpy(numpy, **{**point, name: value})))

    value = point[name]
    step = DIFFERENCE_STEP * (math.sqrt(float(numpy.mean(value**2))) or 1.0)
    found = []
    for direction in _directions(name, numpy.shape(value)):
        near, *far = (
            objective(value + distance * step * direction) - objective(value - distance * step * direction)
            for distance in ((1,) if points == 2 else (1, 2))
        )
        found.append(((8 * near - far[0]) / 12 if far else near / 2) / step)
    return found


def check_gradient(computation, adapter, precision, size, inputs, cotangent, gradients):
    """Return (error, tolerance) of a vector-Jacobian product against differences of the float64 reference.

    For random normal directions v, ⟨gradient, v⟩ is compared with the five-point difference of ⟨cotangent, f⟩ along v
    (Abramowitz and Stegun, Handbook of Mathematical Functions, 25.3.6), for narrow types with the central two-point
    difference, whose error is far below what they explain; the error is the root mean square over
    directions relative to ‖gradient‖, which is what ⟨gradient, v⟩ has on average. The worst of the inputs counts.
    """
    point = fetch_all(adapter, inputs)
    pulled = adapter.fetch(cotangent)
    points = 2 if UNIT_ROUNDOFF[precision] > NARROW else 5
    key = points, *_reference_key(computation, point, pulled)
    worst = 0.0
    for name, gradient in zip(computation.differentiate, gradients, strict=True):
        gradient = adapter.fetch(gradient)
        if gradient.shape != numpy.shape(point[name]) or not numpy.isfinite(gradient).all():
            return math.inf, 0.0
        if (key, name) not in _SLOPES:
            _SLOPES[key, name] = _slopes(computation, name, point, pulled, points)
        errors = [
            slope - float(numpy.sum(gradient * direction))
            for slope, direction in zip(_SLOPES[key, name], _directions(name, gradient.shape), strict=True)
        ]
        scale = numpy.linalg.norm(gradient.ravel())
        error = math.sqrt(sum(error * error for error in errors) / DIRECTIONS)
        worst = max(worst, error / scale if scale else error)
    # The backward pass has about as many roundings again as the forward pass.
    sum_length = computation.sum_length(**computation.sizes[size].dimensions)
    return worst, tolerance(precision, 2 * computation.rounding_steps, sum_length) + DIFFERENCE_ERROR


def check(computation, framework, mode, pass_, precision, size, extra=()):
    """Run one step and compare it with the reference.

    Returns (error, tolerance). Raises Disagreement, or frameworks.Unsupported where the row cannot run it.
    """
    from . import workload

    adapter = frameworks.get(framework)
    for name, value in zip(computation.extra_params, extra, strict=True):
        setattr(computation, name, value)
    parameters = type(computation), framework, precision, size, tuple(extra)
    if [parameters] != _CHECKED:
        # What was compiled for other parameters counts towards torch.compile's limit of programs a function; the steps
        # of the same parameters share jax's eager programs.
        adapter.release()
        _CHECKED[:] = [parameters]
    reason = adapter.why_not(mode, precision) or computation.why_not(adapter, mode, pass_, precision, size)
    if reason:
        raise frameworks.Unsupported(reason)
    adapter.set_precision(precision)
    inputs = workload.put_all(adapter, computation.arrays(size), precision)
    error, allowed = computation.check(adapter, mode, pass_, precision, size, inputs)
    if not error <= allowed:
        raise Disagreement(f"relative error {error:.2g} against float64, {allowed:.2g} is what {precision} explains")
    return error, allowed


def workloads():
    """Return the workload classes of this package by name."""
    from . import workload

    return _classes(workload.Workload)


def probes():
    """Return the probe classes of this package by name."""
    from . import probe

    return _classes(probe.Probe)


def _classes(base):
    found = {}
    for module in pkgutil.iter_modules([__file__.rsplit("/", 1)[0]]):
        if module.ispkg or module.name == "correctness":
            continue
        members = vars(importlib.import_module(f"{__package__}.{module.name}")).values()
        for member in members:
            if inspect.isclass(member) and issubclass(member, base) and not inspect.isabstract(member):
                found[member.__name__] = member
    return found


def main(argv=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.correctness", description=__doc__.split("\n\n")[0])
    known = _measured()
    parser.add_argument("name", nargs="*", help=f"of {', '.join(known)}; all without")
    parser.add_argument("--precision", action="append", choices=frameworks.PRECISIONS)
    parser.add_argument(
        "--match", metavar="REGEX", default="", help="only checks whose line has a match: 'torch graphed'"
    )
    parser.add_argument("--processes", type=int, default=1, help="how many processes share the checks (default 1)")
    arguments = parser.parse_args(argv)
    unknown = sorted(set(arguments.name) - set(known))
    if unknown:
        parser.error(f"no workload or probe is called {', '.join(unknown)}; there are {', '.join(known)}")
    try:
        match = re.compile(arguments.match)
    except re.error as problem:
        parser.error(f"--match {arguments.match!r} is no regular expression: {problem}")
    if arguments.processes < 1:
        parser.error("--processes has to be at least 1")
    kinds = [
        (name, extra, arguments.precision, match) for name in arguments.name or known for extra in _kinds(known[name])
    ]
    counts = collections.Counter()
    for lines in _checked(kinds, arguments.processes):
        for outcome, text in lines:
            counts[outcome] += 1
            print(f"{outcome:<8} {text}", flush=True)
    print(f"{counts['ok']} agree with float64 NumPy, {counts['FAILED']} do not")
    return 1 if counts["FAILED"] or not counts["ok"] else 0


def _measured():
    return {**workloads(), **probes()}


def _kinds(measured):
    """Return every combination of a workload's extra parameters; a probe is of one kind."""
    return list(itertools.product(*getattr(measured, "extra_params", {}).values()))


def _checked(kinds, processes):
    """Yield the lines of every kind in turn, checked by so many processes at a time."""
    if processes == 1:
        yield from map(_lines, kinds)
        return
    # A framework's threads do not survive a fork.
    with concurrent.futures.ProcessPoolExecutor(processes, multiprocessing.get_context("spawn")) as pool:
        yield from pool.map(_listed, kinds)


def _listed(kind):
    return list(_lines(kind))


def _lines(kind):
    """Yield (outcome, text) for every check of one kind of a workload or probe."""
    name, extra, precisions, match = kind
    for label, run in checks(_measured()[name](), precisions, extra):
        if not match.search(label):
            continue
        try:
            error, allowed = run()
        except frameworks.Unsupported as reason:
            yield "skipped", f"{label}: {reason}"
        except Exception as problem:
            yield "FAILED", f"{label}: {type(problem).__name__}: {problem}"
        else:
            yield "ok", f"{label}: error {error:.1e}, tolerance {allowed:.1e}"


def checks(measured, precisions=None, extra=None):
    """Yield (label, run) for every check of a workload or probe at its smallest size.

    `precisions` narrows them, and `extra`, the values of a workload's extra parameters.
    `run()` returns (error, tolerance) and raises Disagreement, or frameworks.Unsupported where the row cannot run it.
    """
    from . import workload

    smallest = dict(zip(measured.param_names, measured.params, strict=True)).get("size", [None])[0]
    for params in itertools.product(*measured.params):
        chosen = dict(zip(measured.param_names, params, strict=True))
        if chosen.get("size") != smallest:
            continue
        if precisions and chosen.get("precision") not in (None, *precisions):
            continue
        if not isinstance(measured, workload.Workload):
            yield from _checks_of_figures(measured, *params)
        elif extra is None or params[3:] == tuple(extra):
            yield from _checks_of_steps(measured, *params)


def _checks_of_steps(computation, framework, precision, size, *extra):
    for mode, pass_ in itertools.product(computation.modes, computation.passes):
        label = " ".join([type(computation).__name__, framework, mode, pass_, precision, size, *map(str, extra)])
        yield label, functools.partial(check, computation, framework, mode, pass_, precision, size, extra)


def _checks_of_figures(probe, framework, *others):
    for name in probe.figures():
        label = " ".join([type(probe).__name__, framework, name, *map(str, others)])
        yield label, functools.partial(check_figure, probe, name, framework, *others)


def check_figure(probe, name, framework, *others):
    """Return (error, tolerance) of what a probe's figure measures; raises what `check` does."""
    error, allowed = probe.check(getattr(type(probe), name), frameworks.get(framework), *others)
    if not error <= allowed:
        raise Disagreement(f"error {error:.2g} against the reference, {allowed:.2g} is allowed")
    return error, allowed


if __name__ == "__main__":
    sys.exit(main())
