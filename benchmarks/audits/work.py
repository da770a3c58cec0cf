"""Whether the step does the work that its name says: the program's products against the analytic count."""

import inspect

from . import hlo

ELIDED_BELOW = 0.9


def examine(prepared):
    """Flag `elided` where the program does under 90 % of the analytic FLOPs, `graph-break` where torch ran eagerly."""
    workload = prepared.workload
    if not workload.work_is_products:
        return None
    analytic = workload.flops(prepared.pass_, **prepared.size.dimensions)
    detail = {
        "flops_analytic": analytic,
        "bytes_analytic": workload.bytes_moved(prepared.pass_, prepared.itemsize, **prepared.size.dimensions),
    }
    breaks = prepared.first.get("graph_breaks", 0)
    if prepared.mode != "eager" and prepared.adapter.name == "torch" and (breaks or not prepared.first.get("graphs")):
        return "graph-break", {**detail, "graph_breaks": breaks, "graphs": prepared.first.get("graphs", 0)}
    program = program_flops(prepared)
    if program is None:
        return "ok", detail
    detail["flops_program"] = program
    return ("elided" if program < ELIDED_BELOW * analytic else "ok"), detail


def program_flops(prepared):
    """Return the FLOPs of products in the program that the framework made of the step, None where nobody can tell."""
    if prepared.adapter.name == "jax":
        if prepared.mode == "eager":
            return None
        function = prepared.jitted
        if function is None:
            return None
        program = function.lower(*prepared.step.args, **prepared.step.keywords).compile()
        counted = hlo.count_products(program.as_text())
        return counted.flops if counted.complete else None
    if prepared.mode == "eager":
        from torch.utils.flop_counter import FlopCounterMode

        with FlopCounterMode(display=False) as counter:
            prepared.step()
        return float(counter.get_total_flops())
    return _captured_flops(prepared)


def _captured_flops(prepared):
    """Compile the step once more with a backend that counts the graphs it is given and runs them as they are."""
    from functorch.compile import make_boxed_func
    from torch._dynamo.backends.common import aot_autograd
    from torch._inductor.decomposition import select_decomp_table

    counted = []

    def count(graph, example_inputs):
        # Inductor drops what nothing reads, too; the graphs are functional, so nothing else can depend on it.
        graph.graph.eliminate_dead_code()
        counted.append(graph_flops(graph))
        return make_boxed_func(graph.forward)

    # With inductor's decompositions, or the forward pass stays alive through the shape that its gradient starts from.
    backend = aot_autograd(fw_compiler=count, bw_compiler=count, decompositions=select_decomp_table())
    with prepared.adapter.compiling_with(backend):
        step = prepared.workload.build(prepared.adapter, prepared.mode, prepared.pass_, prepared.inputs)
        prepared.adapter.wait(step())
    return float(sum(counted))


def graph_flops(graph):
    """Sum PyTorch's own FLOP formulas over the calls of a captured graph."""
    from torch.utils.flop_counter import flop_registry

    total = 0
    for node in graph.graph.nodes:
        packet = getattr(node.target, "overloadpacket", None)
        formula = flop_registry.get(packet)
        if node.op == "call_function" and formula is not None:
            arguments, keywords = _values((node.args, node.kwargs))
            total += formula(*arguments, **keywords, **{_result_keyword(formula): node.meta["val"]})
    return total


def _result_keyword(formula):
    """Return how a formula calls the result that it is told of: `out` in torch 2.2, `out_val` in later releases."""
    return "out" if "out" in inspect.signature(formula, follow_wrapped=False).parameters else "out_val"


def _values(structure):
    from torch.fx.node import map_arg

    return map_arg(structure, lambda node: node.meta["val"])
