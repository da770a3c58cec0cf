"""Whether inputs have the claimed type, and the result the error of the claimed precision: neither more (another mode)
nor, for tf32, less."""

import numpy

from .. import correctness

# The float64 reference runs on the host; over this many FLOPs it would take longer than the measurement.
REFERENCE_FLOPS_LIMIT = 2e11
# A gradient is compared with differences: four evaluations a direction, three directions an input.
EVALUATIONS = 12
# A tf32 result this much better than one rounding of its inputs was computed in fp32.
TOO_GOOD_FOR_TF32 = 0.02


def examine(prepared):
    """Raise TypeError for an input of another type, Disagreement beyond the tolerance; flag `wrong-precision` for tf32
    that is really fp32."""
    workload, adapter, precision = prepared.workload, prepared.adapter, prepared.precision
    check_inputs(adapter, precision, prepared.inputs)
    flops = workload.flops("forward", **prepared.size.dimensions)
    if prepared.pass_ != "forward":
        flops *= EVALUATIONS * max(1, len(workload.differentiate))
    size = prepared.params[2]
    if flops > REFERENCE_FLOPS_LIMIT:
        return "ok", {"unchecked": f"{flops:.1e} FLOP are too many for a float64 reference on the host"}
    error, allowed = workload.check(adapter, prepared.mode, prepared.pass_, precision, size, prepared.inputs)
    if not error <= allowed:
        raise correctness.Disagreement(
            f"relative error {error:.2g} against float64, {allowed:.2g} is what {precision} explains"
        )
    too_good = TOO_GOOD_FOR_TF32 * correctness.UNIT_ROUNDOFF["tf32"]
    wrong = precision == "tf32" and workload.work_is_products and error < too_good
    return ("wrong-precision" if wrong else "ok"), {"error": error, "tolerance": allowed}


def check_inputs(adapter, precision, inputs):
    """Raise TypeError where a floating-point input is not stored as the precision says.

    The result does not show it: the reference starts from the inputs as the step sees them.
    """
    wanted = dtype_name(adapter, precision)
    for name, value in inputs.items():
        for leaf in adapter.leaves(value):
            if leaf is not None and adapter.is_floating(leaf) and str(leaf.dtype) != wanted:
                raise TypeError(f"the input {name} is {leaf.dtype}, not {wanted}")


def dtype_name(adapter, precision):
    """Return what `str(array.dtype)` is for the storage type of a precision."""
    dtype = adapter.dtype(precision)
    return str(numpy.dtype(dtype) if adapter.name == "jax" else dtype)
