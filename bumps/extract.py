"""A workload's own source as a script without asv: what one benchmark runs, and nothing else.

The suite is read as syntax, never imported. Starting from the methods that make a step, everything they need is
followed through the workload's classes, the framework's adapter and the suite's modules; branches that the chosen
mode, pass and framework decide are folded away.
"""

import ast
import pathlib
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field

from asv.util import UserError

# The methods of a workload and of an adapter that benchmarks/workload.py makes a step with.
WORKLOAD_METHODS = ("arrays", "build")
ADAPTER_METHODS = ("set_precision", "put", "wait", "leaves")
STEP_MAKERS = ("put_all",)
# A workload that defines one of these measures something else than a step.
NOT_A_STEP = ("prepare", "_ready_step", "__init__")
BASE = "Workload"


@dataclass
class Module:
    """One module of the suite: its top-level definitions, its imports, and the siblings that it imports."""

    name: str
    lines: list[str] = field(default_factory=list)
    definitions: dict[str, ast.stmt] = field(default_factory=dict)
    imports: dict[str, ast.stmt] = field(default_factory=dict)
    siblings: dict[str, str] = field(default_factory=dict)


class Suite:
    """The suite's modules, read when they are needed."""

    def __init__(self, folder: pathlib.Path):
        self._folder = folder
        self._modules: dict[str, Module] = {}

    def module(self, name: str) -> Module:
        """Return a module by its name within the suite; raises UserError when there is none."""
        if name not in self._modules:
            path = self._folder.joinpath(*name.split(".")).with_suffix(".py")
            if not all(part.isidentifier() for part in name.split(".")) or not path.is_file():
                raise UserError(f"{self._folder} has no module {name}: reproduce knows this suite's own workloads")
            self._modules[name] = _parse(name, path.read_text(encoding="utf-8"))
        return self._modules[name]

    def lineage(self, module: str, class_name: str) -> list[tuple[Module, ast.ClassDef]]:
        """Return a class and its bases within the suite, nearest first."""
        found, pending = [], [(module, class_name)]
        while pending:
            module_name, name = pending.pop(0)
            home = self.module(module_name)
            definition = home.definitions.get(name)
            if not isinstance(definition, ast.ClassDef):
                continue
            found.append((home, definition))
            for base in definition.bases:
                if isinstance(base, ast.Name):
                    pending.append((home.name, base.id))
                elif isinstance(base, ast.Attribute) and isinstance(base.value, ast.Name):
                    sibling = home.siblings.get(base.value.id)
                    if sibling:
                        pending.append((sibling, base.attr))
        return found


def _parse(name: str, text: str) -> Module:
    module = Module(name, text.splitlines())
    for statement in ast.parse(text).body:
        if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
            module.definitions[statement.name] = statement
        elif isinstance(statement, (ast.Assign, ast.AnnAssign)):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            for target in targets:
                if isinstance(target, ast.Name):
                    module.definitions[target.id] = statement
        elif isinstance(statement, ast.ImportFrom) and statement.level:
            for alias in statement.names:
                module.siblings[alias.asname or alias.name] = alias.name if not statement.module else statement.module
        elif isinstance(statement, (ast.Import, ast.ImportFrom)):
            for alias in statement.names:
                module.imports[(alias.asname or alias.name).partition(".")[0]] = statement
    return module


class _Fold(ast.NodeTransformer):
    """Decides what the mode, the pass and the framework decide, and names siblings' definitions directly."""

    def __init__(self, known: dict[str, str], framework: str, siblings: dict[str, str]):
        self._known, self._framework, self._siblings = known, framework, siblings
        # Name -> the sibling module that defines it.
        self.resolved: dict[str, str] = {}

    def _constant(self, node: ast.expr) -> object:
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            return self._known.get(node.id, _UNKNOWN)
        is_name = isinstance(node, ast.Attribute) and node.attr == "name" and isinstance(node.value, ast.Name)
        if is_name and node.value.id == "adapter":
            return self._framework
        if isinstance(node, (ast.Tuple, ast.List)):
            values = [self._constant(each) for each in node.elts]
            return _UNKNOWN if _UNKNOWN in values else values
        return _UNKNOWN

    def _truth(self, node: ast.expr) -> bool | None:
        if not isinstance(node, ast.Compare) or len(node.ops) != 1:
            return None
        left, right = self._constant(node.left), self._constant(node.comparators[0])
        if left is _UNKNOWN or right is _UNKNOWN:
            return None
        operators = {
            ast.Eq: lambda: left == right,
            ast.NotEq: lambda: left != right,
            ast.In: lambda: left in right,
            ast.NotIn: lambda: left not in right,
        }
        operator = operators.get(type(node.ops[0]))
        return operator() if operator else None

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        truth = self._truth(node.test)
        self.generic_visit(node)
        if truth is None:
            return node
        return node.body if truth else node.orelse

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        truth = self._truth(node.test)
        self.generic_visit(node)
        if truth is None:
            return node
        return node.body if truth else node.orelse

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        self.generic_visit(node)
        for position, statement in enumerate(node.body):
            if isinstance(statement, ast.Return):
                node.body = node.body[: position + 1]
                break
        node.body = node.body or [ast.Pass()]
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        is_getattr = isinstance(node.func, ast.Name) and node.func.id == "getattr" and len(node.args) == 2
        if is_getattr:
            name = self._constant(node.args[1])
            if isinstance(name, str):
                return ast.Attribute(node.args[0], name, ast.Load())
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if isinstance(node.value, ast.Name) and node.value.id in self._siblings:
            self.resolved[node.attr] = self._siblings[node.value.id]
            return ast.Name(node.attr, node.ctx)
        self.generic_visit(node)
        return node


_UNKNOWN = object()


class Extract:
    """Collects what a step of one workload in one framework, mode and pass needs."""

    def __init__(self, suite: Suite, module: str, workload: str, framework: str, mode: str, pass_: str):
        self._suite, self._framework = suite, framework
        self._known = {"mode": mode, "pass_": pass_}
        self._workload = suite.lineage(module, workload)
        if not any(definition.name == BASE for _, definition in self._workload):
            raise UserError(f"{module}.{workload} is no workload")
        own = _before_base(self._workload)
        for home, definition in own:
            for name in NOT_A_STEP:
                if name in _members(definition):
                    raise UserError(f"{module}.{workload} measures more than a step; see {home.name}.py of the suite")
        self._adapter = suite.lineage("frameworks", f"{framework.capitalize()}Adapter")
        if not self._adapter:
            raise UserError(f"the suite has no adapter of {framework}")
        self._classes: dict[str, dict[str, str]] = {}
        self._top: dict[str, str] = {}
        self._imports: dict[str, ast.stmt] = {}
        for name in WORKLOAD_METHODS:
            self._member(self._workload, name)
        for name in ADAPTER_METHODS:
            self._member(self._adapter, name)
        for name in STEP_MAKERS:
            self._definition(suite.module("workload"), name)

    @property
    def adapter(self) -> str:
        return self._adapter[0][1].name

    def imports(self, besides: Sequence[str]) -> list[str]:
        """Return the import statements, those of the names in `besides` included."""
        lines = {ast.unparse(statement) for statement in self._imports.values()}
        return sorted(lines | {f"import {name}" for name in besides})

    def source(self, adapter_init: str) -> str:
        """Return everything that the step needs, definitions before their use; `adapter_init` makes the adapter."""
        parts = list(self._top.values())
        # Constants stand together, above the rest.
        parts.sort(key=lambda text: text.startswith(("def ", "class ", "@")))
        for lineage in (self._adapter, self._workload):
            for home, definition in reversed(lineage):
                if definition.name in self._classes:
                    first = adapter_init if lineage is self._adapter else None
                    parts.append(self._class(home, definition, lineage, first))
        return "\n\n\n".join(parts)

    def _class(self, home: Module, definition: ast.ClassDef, lineage: list, first: str | None) -> str:
        taken = self._classes[definition.name]
        is_last = lineage[0][1] is definition
        bases = [each.name for _, each in lineage[1:] if each.name in self._classes] if is_last else []
        members = [taken[name] for name in _members(definition) if name in taken]
        if is_last and ast.get_docstring(definition):
            members.insert(0, _text(home, definition.body[0]))
        if first:
            members.insert(1 if is_last else 0, first)
        attributes = "\n".join(text for text in members if not text.startswith(("def ", "@")))
        methods = [text for text in members if text.startswith(("def ", "@"))]
        body = "\n\n".join([attributes, *methods] if attributes else methods)
        return f"class {definition.name}{f'({bases[0]})' if bases else ''}:\n{textwrap.indent(body, '    ')}"

    def _member(self, lineage: list, name: str, after: str | None = None) -> None:
        """Take a method or class attribute from the nearest class that has it, or from the bases of `after`."""
        passed = after is None
        for home, definition in lineage:
            if not passed:
                passed = definition.name == after
                continue
            member = _members(definition).get(name)
            if member is None:
                continue
            taken = self._classes.setdefault(definition.name, {})
            if name in taken:
                return
            fold = _Fold(self._known, self._framework, home.siblings)
            folded = fold.visit(_copy(member))
            taken[name] = _text(home, member, folded)
            self._follow(home, fold, folded, lineage, definition.name)
            return

    def _follow(self, home: Module, fold: _Fold, node: ast.AST, lineage: list | None, class_name: str | None) -> None:
        for each in ast.walk(node):
            if isinstance(each, ast.Attribute):
                self._follow_attribute(each, lineage, class_name)
            elif isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load):
                sibling = fold.resolved.get(each.id)
                self._definition(self._suite.module(sibling) if sibling else home, each.id)

    def _follow_attribute(self, node: ast.Attribute, lineage: list | None, class_name: str | None) -> None:
        owner = node.value
        if isinstance(owner, ast.Name):
            if owner.id == "self" and lineage:
                self._member(lineage, node.attr)
            elif owner.id == "adapter":
                self._member(self._adapter, node.attr)
            elif owner.id == "workload":
                self._member(self._workload, node.attr)
        elif isinstance(owner, ast.Call) and isinstance(owner.func, ast.Name) and lineage:
            if owner.func.id == "super":
                self._member(lineage, node.attr, after=class_name)
            elif owner.func.id == "type":
                self._member(lineage, node.attr)

    def _definition(self, home: Module, name: str) -> None:
        """Take a module's own definition, a sibling's or an import, whichever the name means there."""
        if name in home.imports:
            self._imports[name] = home.imports[name]
            return
        definition = home.definitions.get(name)
        classes = {each.name for _, each in [*self._workload, *self._adapter]}
        if definition is None or name in self._top or name in classes:
            return
        fold = _Fold(self._known, self._framework, home.siblings)
        self._top[name] = ""
        folded = fold.visit(_copy(definition))
        self._follow(home, fold, folded, None, None)
        # After what it needs.
        del self._top[name]
        self._top[name] = _text(home, definition, folded)


def _text(home: Module, node: ast.stmt, folded: ast.stmt | None = None) -> str:
    """Return a statement as it was written, comments and all, or as it was folded where that made it another."""
    if folded is not None and ast.dump(folded) != ast.dump(_copy(node)):
        return ast.unparse(ast.fix_missing_locations(folded))
    first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", []))])
    return textwrap.dedent("\n".join(home.lines[first - 1 : node.end_lineno]))


def _copy(node: ast.stmt) -> ast.stmt:
    return ast.parse(ast.unparse(node)).body[0]


def _before_base(lineage: list) -> list:
    """Return the classes of a lineage that come before the suite's base of all workloads."""
    names = [definition.name for _, definition in lineage]
    return lineage[: names.index(BASE)]


def _members(definition: ast.ClassDef) -> dict[str, ast.stmt]:
    found: dict[str, ast.stmt] = {}
    for statement in definition.body:
        if isinstance(statement, ast.FunctionDef):
            found[statement.name] = statement
        elif isinstance(statement, ast.Assign):
            for target in statement.targets:
                if isinstance(target, ast.Name):
                    found[target.id] = statement
    return found
