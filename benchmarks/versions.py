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
    [
        "flops",
        "bytes_moved",
        "numpy",
        "numpy_loss",
        "numpy_gradient",
        "why_not",
        "benchmark_name",
        "check",
        "split_grad",
        "sum_length",
    ]
)

# Modules that do the same.
NOT_MEASURED_MODULES = frozenset(
    [
        *("audits", "correctness", "device_clock", "random_check", "reference", "sidecar", "telemetry"),
        *("training_check", "versions"),
    ]
)


@functools.cache
def _stored():
    with open(PATH, encoding="utf-8") as stream:
        return json.load(stream)


def of(workload):
    """Return the version of a workload class; 0 for one that versions.json does not know (a user's own)."""
    return _stored().get(workload.__name__, {}).get("version", 0)


@functools.cache
def source_of(workload):
    """Return the source of a workload or probe class, which asv shows beside each of its benchmarks."""
    return inspect.getsource(workload)


def fingerprint(workload):
    """Return the SHA-256 of the workload's computation, the adapters and the timing policy, as syntax.

    The computation is the workload's class, its bases, and whatever modules of this package they import. Comments,
    docstrings, line breaks and the Python version do not matter.
    """
    path = inspect.getsourcefile(workload)
    classes = {base.__name__ for base in workload.__mro__ if base.__module__ == workload.__module__}
    parts = [_of_file(_path(name), None) for name in SHARED_MODULES]
    parts.append(_of_file(path, classes))
    parts += [_of_file(_path(name), None) for name in _imported(path)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _path(module):
    return os.path.join(os.path.dirname(PATH), f"{module}.py")


def _imported(path):
    """Return the names of the measured modules that a file of this package imports, directly or not, sorted."""
    found, pending = set(), [path]
    while pending:
        for name in _siblings(pending.pop()) - found:
            found.add(name)
            pending.append(_path(name))
    return sorted(found)


def _siblings(path):
    with open(path, encoding="utf-8") as stream:
        imports = [node for node in ast.walk(ast.parse(stream.read())) if isinstance(node, ast.ImportFrom)]
    named = {
        name
        for node in imports
        if node.level == 1
        for name in ([node.module.partition(".")[0]] if node.module else [alias.name for alias in node.names])
    }
    return named - NOT_MEASURED_MODULES - set(SHARED_MODULES)


def _of_file(path, classes):
    """Serialise a module: everything for classes None, else those classes and what is not a class."""
    with open(path, encoding="utf-8") as stream:
        tree = ast.parse(stream.read())
    kept = [node for node in tree.body if classes is None or not isinstance(node, ast.ClassDef) or node.name in classes]
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
