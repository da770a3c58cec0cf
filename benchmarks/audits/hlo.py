"""Counts the products of a compiled XLA program in its HLO text. Pure.

XLA's own cost analysis counts the body of a loop once whatever its trip count, and knows no library call on a CPU; here
loops are multiplied out and matrix products and convolutions are found in whatever form the compiler left them.
"""

import dataclasses
import math
import re

_COMPUTATION = re.compile(r"^(ENTRY\s+)?%?([\w.\-]+)")
_INSTRUCTION = re.compile(r"^\s*(?:ROOT\s+)?%?([\w.\-]+)\s*=\s*(.*)$")
_SHAPE = re.compile(r"(?:pred|[a-z]+\d+\w*)\[([\d,]*)\]")
_OPCODE = re.compile(r"\s([a-z][\w\-]*)\(")
_OPERAND = re.compile(r"%([\w.\-]+)")
_TRIP_COUNT = re.compile(r'"?known_trip_count"?\s*:\s*\{\s*"n"\s*:\s*"?(\d+)"?')
_CALLED = re.compile(r"(?:calls|to_apply|body|condition|branch_computations)=\{?(%?[\w.\-]+(?:,\s*%[\w.\-]+)*)\}?")
_PRODUCT_CALL = re.compile(r"matmul|gemm|\$dot", re.IGNORECASE)


@dataclasses.dataclass(frozen=True)
class Products:
    """FLOPs of matrix products and convolutions; `complete` is false where a loop's trip count is unknown."""

    flops: float
    complete: bool


@dataclasses.dataclass(frozen=True)
class _Instruction:
    name: str
    shape: tuple
    opcode: str
    operands: tuple
    operand_shapes: tuple
    text: str


def count_products(text):
    """Return the Products of one run of the program that `compiled.as_text()` gave.

    A matrix product counts 2·(elements of the result)·(length of the contraction); a convolution 2·(elements of the
    result)·(elements of the kernel)/(output features), its gradients accordingly.
    """
    computations, entry = _parse(text)
    memo = {}

    def count(name):
        if name not in memo:
            memo[name] = Products(0.0, True)  # a recursive call cannot be; broken text must not hang
            memo[name] = _of_computation(computations.get(name, []), count, computations)
        return memo[name]

    return count(entry)


def _parse(text):
    computations, entry, current = {}, None, None
    for line in text.splitlines():
        if line.rstrip().endswith("{") and ("->" in line or line.startswith(("ENTRY", "%"))) and " = " not in line:
            match = _COMPUTATION.match(line.strip())
            if match:
                current = match.group(2)
                computations[current] = []
                if match.group(1):
                    entry = current
                continue
        if line.strip() == "}":
            current = None
        elif current is not None:
            computations[current].append(line)
    return {name: _instructions(lines) for name, lines in computations.items()}, entry


def _instructions(lines):
    shapes, result = {}, []
    for line in lines:
        match = _INSTRUCTION.match(line)
        if not match:
            continue
        name, rest = match.groups()
        opcode = _OPCODE.search(" " + rest)
        if not opcode:
            continue
        head = rest[: max(opcode.start() - 1, 0)] or rest
        first = _SHAPE.search(head)
        shape = _dimensions(first.group(1)) if first else ()
        shapes[name] = shape
        arguments = _balanced(rest, opcode.end() - 2)
        operands = tuple(_OPERAND.findall(arguments))
        inline = tuple(_dimensions(found) for found in _SHAPE.findall(arguments))
        operand_shapes = inline if len(inline) >= len(operands) > 0 else tuple(shapes.get(o, ()) for o in operands)
        result.append(_Instruction(name, shape, opcode.group(1), operands, operand_shapes, rest))
    return result


def _balanced(text, start):
    depth = 0
    for position in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[position], 0)
        if depth == 0 and position > start:
            return text[start : position + 1]
    return text[start:]


def _dimensions(text):
    return tuple(int(part) for part in text.split(",") if part)


def _of_computation(instructions, count, computations):
    flops, complete = 0.0, True
    for instruction in instructions:
        flops += _own_flops(instruction)
        called = [name.strip().lstrip("%") for found in _CALLED.findall(instruction.text) for name in found.split(",")]
        if instruction.opcode == "while":
            trips = _trip_count(instruction, computations)
            parts = [count(name) for name in called]
            body = sum(part.flops for part in parts)
            if trips is None and body:
                complete = False
            flops += body * (trips or 1)
            complete = complete and all(part.complete for part in parts)
        elif instruction.opcode == "conditional":
            parts = [count(name) for name in called]
            flops += max((part.flops for part in parts), default=0.0)
            complete = complete and all(part.complete for part in parts)
        else:
            for name in called:
                part = count(name)
                flops += part.flops
                complete = complete and part.complete
    return Products(flops, complete)


def _trip_count(instruction, computations):
    known = _TRIP_COUNT.search(instruction.text)
    if known:
        return int(known.group(1))
    condition = re.search(r"condition=%?([\w.\-]+)", instruction.text)
    if not condition:
        return None
    # A counted loop compares its counter, which starts at 0, with a constant.
    body = computations.get(condition.group(1), [])
    constants = [
        int(found.group(1)) for each in body if each.opcode == "constant" and (found := _integer(each.text)) is not None
    ]
    if len(constants) == 1 and any("direction=LT" in each.text for each in _reachable(body, computations)):
        return constants[0]
    return None


def _integer(text):
    return re.search(r"constant\((\d+)\)", text)


def _reachable(body, computations):
    for each in body:
        yield each
        for found in _CALLED.findall(each.text):
            for name in found.split(","):
                yield from computations.get(name.strip().lstrip("%"), [])


def _own_flops(instruction):
    if instruction.opcode == "dot":
        contracting = re.search(r"lhs_contracting_dims=\{([\d,]*)\}", instruction.text)
        left = instruction.operand_shapes[0] if instruction.operand_shapes else ()
        length = math.prod(left[int(d)] for d in contracting.group(1).split(",") if d) if contracting and left else 0
        return 2.0 * math.prod(instruction.shape) * length
    if instruction.opcode == "convolution":
        return _convolution(instruction, "forward")
    if instruction.opcode == "custom-call":
        target = re.search(r'custom_call_target="([^"]*)"', instruction.text)
        target = target.group(1) if target else ""
        if "conv" in target.lower():
            lowered = target.lower()
            kind = "filter" if "filter" in lowered else "input" if "input" in lowered else "forward"
            return _convolution(instruction, kind)
        if _PRODUCT_CALL.search(target) and len(instruction.operand_shapes) >= 2:
            left, right = instruction.operand_shapes[:2]
            out = math.prod(instruction.shape)
            contracting = re.search(r'"lhs_contracting_dimensions"\s*:\s*\[([^\]]*)\]', instruction.text)
            if contracting:
                positions = [int(d) for d in re.findall(r"\d+", contracting.group(1))]
                length = math.prod(left[d] for d in positions if d < len(left))
            else:
                # (M·K)·(K·N)/(M·N) = K² for a single product.
                length = math.sqrt(math.prod(left) * math.prod(right) / out) if out else 0
            return 2.0 * out * length
    return 0.0


def _convolution(instruction, kind):
    if len(instruction.operand_shapes) < 2:
        return 0.0
    left, right = instruction.operand_shapes[:2]
    if kind == "forward":
        result, kernel = instruction.shape, right
    elif kind == "input":
        result, kernel = left, right
    else:
        result, kernel = right, instruction.shape
    labels = re.search(r"dim_labels=\w+_(\w+)->", instruction.text)
    features = 1
    if labels and "o" in labels.group(1) and len(labels.group(1)) == len(kernel):
        features = kernel[labels.group(1).index("o")]
    return 2.0 * math.prod(result) * math.prod(kernel) / max(features, 1)
