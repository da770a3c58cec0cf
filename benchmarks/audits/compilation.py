"""Whether a compiled step was one program, and none was made afterwards."""


def examine(prepared):
    """Raise RuntimeError where a compiled step compiles again in later steps; flag more than one program.

    Eager jax that is traced again at every call (a closure under fori_loop) is flagged `retraced`: it is what the
    figure then consists of.
    """
    again = {name: count for name, count in prepared.later.items() if count}
    detail = {"first": prepared.first, "later": prepared.later}
    if prepared.mode == "eager":
        return ("retraced" if again else "ok"), detail
    if again:
        raise RuntimeError(f"the compiled step compiles again at every call: {again}")
    breaks = prepared.first.get("graph_breaks", 0)
    if breaks:
        return "graph-break", detail
    programs = prepared.first.get("graphs", prepared.first.get("programs", 1))
    return ("ok" if programs == 1 else "recompiled"), detail
