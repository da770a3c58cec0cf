"""How many bytes of arrays a compiled function closed over: they are constants of the program, not arguments."""

# Scalars and small tables are everybody's constants.
FLAGGED_FROM_BYTES = 2**16


def examine(prepared):
    """Flag `constants` where jax.jit was given arrays of 64 KiB or more through a closure."""
    if prepared.adapter.name != "jax" or prepared.jitted is None:
        return None
    jaxpr = prepared.adapter.module.make_jaxpr(prepared.jitted)(*prepared.step.args, **prepared.step.keywords)
    total = closed_over_bytes(jaxpr)
    return ("constants" if total >= FLAGGED_FROM_BYTES else "ok"), {"bytes": total}


def closed_over_bytes(closed_jaxpr):
    """Return the bytes of the distinct arrays that a closed jaxpr and those nested in it hold."""
    arrays = {}

    def collect(value):
        for constant in getattr(value, "consts", ()):
            if hasattr(constant, "nbytes"):
                arrays[id(constant)] = constant.nbytes
        jaxpr = getattr(value, "jaxpr", value)
        for equation in getattr(jaxpr, "eqns", ()):
            for operand in equation.invars:
                array = getattr(operand, "val", None)
                if getattr(array, "ndim", 0):
                    arrays[id(array)] = array.nbytes
            for parameter in equation.params.values():
                for each in parameter if isinstance(parameter, (list, tuple)) else (parameter,):
                    if hasattr(each, "eqns") or hasattr(each, "jaxpr"):
                        collect(each)

    collect(closed_jaxpr)
    return sum(arrays.values())
