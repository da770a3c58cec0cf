"""asv versions of workloads: raised by what a figure depends on, and by nothing else."""

import ast
import importlib.util
import json
import pathlib

import pytest

from benchmarks import correctness, matmul_chain, transfer, versions

ROOT = pathlib.Path(__file__).parent.parent

SOURCE = '''
LENGTH = 10


class Chain:
    """Words."""

    def torch(self, torch, x):
        """More words."""
        for _ in range(LENGTH):
            x = torch.tanh(x)  # a comment
        return x

    def flops(self, pass_, n):
        return n


class Other:
    def torch(self, torch, x):
        return x
'''


def fingerprint(tmp_path, source):
    path = tmp_path / "workload.py"
    path.write_text(source)
    return versions._of_file(str(path), "Chain")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("# a comment", "# another"),
        ('"""Words."""', '"""Other words."""'),
        ('        """More words."""\n', ""),
        ("return n\n", "return 2 * n\n"),
        ("class Other:\n    def torch(self, torch, x):\n        return x", "class Other:\n    pass"),
        ("x = torch.tanh(x)  # a comment", "x = (\n                torch.tanh(x)\n            )"),
    ],
)
def test_words_layout_counts_and_other_classes_do_not_matter(tmp_path, old, new):
    assert old in SOURCE
    assert fingerprint(tmp_path, SOURCE) == fingerprint(tmp_path, SOURCE.replace(old, new))


@pytest.mark.parametrize(("old", "new"), [("LENGTH = 10", "LENGTH = 11"), ("torch.tanh(x)", "torch.sin(x)")])
def test_the_computation_and_its_constants_matter(tmp_path, old, new):
    assert fingerprint(tmp_path, SOURCE) != fingerprint(tmp_path, SOURCE.replace(old, new))


def test_syntax_is_written_the_same_without_fields_that_newer_pythons_add():
    tree = ast.parse("def f(x):\n    return x\n").body[0]
    text = versions._serialise(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.type_params = []
    assert versions._serialise(tree) == text


def load_tool():
    spec = importlib.util.spec_from_file_location("update_versions", ROOT / "tools" / "update_versions.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_changed_fingerprint_raises_the_version_by_one():
    updated = load_tool().updated
    stored = {"Chain": {"version": 3, "fingerprint": "a"}, "Gone": {"version": 1, "fingerprint": "z"}}
    assert updated(stored, {"Chain": "a", "New": "b"}) == {
        "Chain": {"version": 3, "fingerprint": "a"},
        "New": {"version": 1, "fingerprint": "b"},
    }
    assert updated(stored, {"Chain": "c"})["Chain"] == {"version": 4, "fingerprint": "c"}
    assert updated(stored, {"Chain": "c", "New": "b"}, keep=True) == {
        "Chain": {"version": 3, "fingerprint": "c"},
        "New": {"version": 1, "fingerprint": "b"},
    }


def test_the_source_of_a_class_is_read_once_however_many_figures_it_has(monkeypatch):
    read = []

    def source(measured):
        read.append(measured)
        return f"class {measured.__name__}"

    monkeypatch.setattr(versions.inspect, "getsource", source)
    versions.source_of.cache_clear()
    try:
        for measured in (matmul_chain.MatmulChain, transfer.Transfer):
            made = [measured() for _ in range(2)]
            assert {figure.pretty_source for figure in figures_of(made[0])} == {f"class {measured.__name__}"}
        assert read == [matmul_chain.MatmulChain, transfer.Transfer]
    finally:
        versions.source_of.cache_clear()


def figures_of(made):
    return [value for value in vars(made).values() if hasattr(value, "pretty_source")]


def test_committed_versions_belong_to_the_committed_workloads():
    stored = versions._stored()
    for name, measured in {**correctness.workloads(), **correctness.probes()}.items():
        assert stored[name]["fingerprint"] == versions.fingerprint(measured), (
            f"{name} changed: run tools/update_versions.py and commit benchmarks/versions.json"
        )


def test_the_list_of_benchmarks_beside_the_results_is_of_these_versions():
    """Else the first run in a clone changes a file that is committed."""
    listed = json.loads((ROOT / "results" / "benchmarks.json").read_text())
    committed = {name: str(entry["version"]) for name, entry in versions._stored().items()}
    found = {(name.split(".")[-2], entry["version"]) for name, entry in listed.items() if isinstance(entry, dict)}
    assert found == {(name, version) for name, version in committed.items() if name in {each for each, _ in found}}
    assert len(found) == len(committed)
