"""asv's version of each workload: an integer in versions.json, guarded by a fingerprint of what it stands for.

asv's own default hashes the source of the timed method and setup. Ours are inherited, so an edited computation would
go unnoticed, and an edited comment in the base would orphan every result.
"""

import ast
import functools
import hashlib
import inspect
import json
import os

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "versions.json")

# What a figure depends on besides the workload itself: the adapters and the timing policy.
SHARED_MODULES = ("frameworks", "workload")

# Methods that describe or check a step and are no part of it.
NOT_MEASURED = frozenset(
    ["flops", "bytes_moved", "numpy", "why_not", "benchmark_name", "check", "split_grad", "sum_length"]
)


@functools.cache
def _stored():
    with open(PATH, encoding="utf-8") as stream:
        return json.load(stream)


def of(workload):
    """Return the version of a workload class; 0 for one that versions.json does not know (a user's own)."""
    return _stored().get(workload.__name__, {}).get("version", 0)


def fingerprint(workload):
    """Return the SHA-256 of the workload's computation, the adapters and the timing policy, as syntax.

    Comments, docstrings, line breaks and the Python version do not matter.
    """
    module = inspect.getmodule(workload)
    package = os.path.dirname(PATH)
    parts = [_of_file(os.path.join(package, f"{name}.py"), None) for name in SHARED_MODULES]
    parts.append(_of_file(inspect.getsourcefile(module), workload.__name__))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _of_file(path, class_name):
    """Serialise a module: everything for class_name None, else that class and what is not a class."""
    with open(path, encoding="utf-8") as stream:
        tree = ast.parse(stream.read())
    kept = [
        node
        for node in tree.body
        if class_name is None or not isinstance(node, ast.ClassDef) or node.name == class_name
    ]
    return "\n".join(_serialise(node) for node in kept)


def _serialise(node):
    """Write syntax as text that is the same on every Python: empty fields, some of which are new, are left out."""
    if isinstance(node, ast.AST):
        fields = []
        for name, value in ast.iter_fields(node):
            if name in ("type_comment", "kind", "ctx") or value is None or value == []:
                continue
            if name == "body" and isinstance(value, list):
                value = [statement for statement in value if not _is_left_out(statement)]
            fields.append(f"{name}={_serialise(value)}")
        return f"{type(node).__name__}({','.join(fields)})"
    if isinstance(node, list):
        return f"[{','.join(_serialise(item) for item in node)}]"
    return repr(node)


def _is_left_out(statement):
    is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return is_text or (isinstance(statement, ast.FunctionDef) and statement.name in NOT_MEASURED)
