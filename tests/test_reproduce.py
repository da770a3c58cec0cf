"""Benchmarks as standalone scripts: what is taken of the suite, what is folded away, and that the script runs."""

import ast
import json
import pathlib
import re
import subprocess
import sys

import pytest
from archive import NAN, benchmark, samples_of, write_row, write_sidecar, write_suite
from asv.util import UserError

from bumps import cli, reproduce
from bumps.extract import Extract, Suite

SUITE = Suite(pathlib.Path(__file__).parents[1] / "benchmarks")

ADAPTER = '''
import functools


class Unsupported(Exception):
    pass


class JaxAdapter:
    """A framework that is none."""

    name = "jax"

    def __init__(self):
        raise Unsupported

    def set_precision(self, precision):
        self.precision = precision

    def put(self, array, precision):
        return array

    def leaves(self, result):
        return [result]

    def wait(self, result):
        return result

    def compile(self, function):
        return function

    def forward(self, function, mode, inputs):
        if mode != "eager":
            function = self.compile(function)
        return functools.partial(function, **inputs)

    def unused(self):
        pass
'''

WORKLOAD = """
import abc
import functools
import zlib

from . import frameworks

HALF = 0.5


class Size:
    def __init__(self, **dimensions):
        self.dimensions = dimensions


def put_all(adapter, arrays, precision):
    return {name: adapter.put(value, precision) for name, value in arrays.items()}


class Workload(abc.ABC):
    def __init__(self):
        self.step = None

    def prepare(self):
        pass

    def arrays(self, size):
        return self.inputs(**self.sizes[size].dimensions)

    def computation(self, adapter):
        implementation = getattr(type(self), adapter.name)

        def function(**inputs):
            return implementation(self, adapter.module, **inputs)

        return function

    def build(self, adapter, mode, pass_, inputs):
        if pass_ == "forward":
            return adapter.forward(self.computation(adapter), mode, inputs)
        raise frameworks.Unsupported("no gradient here")
"""

DOUBLE = '''
import math

from . import workload

SCALE = 2 * math.pi
UNUSED = 3


class Double(workload.Workload):
    """Doubles, in a way."""

    sizes = {"small": workload.Size(n=3)}

    def inputs(self, n):
        # One comment that stays.
        return {"x": float(n)}

    def torch(self, torch, x):
        return None

    def jax(self, jax, x):
        return helper(x) * SCALE * self.factor()

    def factor(self):
        return workload.HALF


def helper(x):
    return x + 1


class Colder(Double):
    def prepare(self):
        pass
'''


@pytest.fixture
def suite(tmp_path):
    folder = tmp_path / "benchmarks"
    folder.mkdir()
    for name, text in (("frameworks", ADAPTER), ("workload", WORKLOAD), ("double", DOUBLE)):
        (folder / f"{name}.py").write_text(text)
    return Suite(folder)


def test_the_script_has_what_the_step_needs_and_nothing_else(suite):
    source = Extract(suite, "double", "Double", "jax", "eager", "forward").source(
        "def __init__(self):\n    self.module = 0"
    )
    for needed in (
        "SCALE",
        "HALF",
        "def helper",
        "def factor",
        "def jax",
        "# One comment that stays",
        "Doubles, in a way",
    ):
        assert needed in source
    for unneeded in ("UNUSED", "def torch", "def unused", "def prepare", "Unsupported", "def compile", "workload.Size"):
        assert unneeded not in source
    namespace = {"math": __import__("math"), "functools": __import__("functools")}
    exec(source, namespace)
    adapter, workload = namespace["JaxAdapter"](), namespace["Double"]()
    step = workload.build(adapter, "eager", "forward", workload.arrays("small"))
    assert step() == (3 + 1) * 2 * namespace["math"].pi * 0.5


def test_the_mode_decides_what_stays(suite):
    compiled = Extract(suite, "double", "Double", "jax", "compiled", "forward").source("def __init__(self): pass")
    assert "def compile" in compiled
    grad = Extract(suite, "double", "Double", "jax", "eager", "grad").source("def __init__(self): pass")
    assert "class Unsupported" in grad
    assert "def forward" not in grad


@pytest.mark.parametrize(
    ("module", "workload", "why"),
    [
        ("double", "Colder", "measures more than a step"),
        ("double", "Missing", "is no workload"),
        ("missing", "Double", "has no module missing"),
        ("../double", "Double", "has no module"),
    ],
)
def test_what_is_no_step_of_a_workload_is_refused(suite, module, workload, why):
    with pytest.raises(UserError, match=why):
        Extract(suite, module, workload, "jax", "eager", "forward")


REAL = [
    ("matmul_chain", "MatmulChain", "compiled", "forward"),
    ("matmul_chain", "MatmulChain", "eager", "grad"),
    ("matmul_chain", "MatmulChain", "graphed", "grad"),
    ("article_chain", "ArticleChain", "compiled", "grad"),
]


@pytest.mark.parametrize("framework", ["torch", "jax"])
@pytest.mark.parametrize(("module", "workload", "mode", "pass_"), REAL)
def test_this_suites_scripts_are_whole(framework, module, workload, mode, pass_):
    report, row = report_and_row(framework, f"{module}.{workload}.time_{mode}_{pass_}", mode, pass_)
    text = reproduce.script(report, row, SUITE, [{}, {}], [{framework: "1"}, {framework: "2"}], "x.py")
    tree = ast.parse(text)
    assert "asv" not in {
        name.name.partition(".")[0] for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names
    }
    assert not any(isinstance(node, ast.ImportFrom) and node.level for node in ast.walk(tree))
    assert undefined_names(tree) == set()


def report_and_row(framework, name, mode, pass_):
    report = {"framework": framework, "old": "1", "new": "2", "accelerator": "cpu"}
    row = {
        "name": name,
        "params": {"framework": framework, "precision": "fp32", "size": "small"},
        "mode": mode,
        "pass": pass_,
        "clock": "wall",
        "verdict": "regressed",
        "unit": "seconds",
        "why": 'a "b" \\',
        "figure_old": 1e-3,
        "figure_new": 2e-3,
        "ratio": 2.0,
        "low": 1.9,
        "high": 2.1,
        "processes_old": 5,
        "processes_new": 5,
    }
    return report, row


def undefined_names(tree):
    """Return names that are read and nowhere bound: what the extraction forgot."""
    bound = set(dir(__builtins__) if not isinstance(__builtins__, dict) else __builtins__)
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            bound.add(node.name)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            bound.add(node.id)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            bound.update((alias.asname or alias.name).partition(".")[0] for alias in node.names)
    read = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    return read - bound - {"__name__"}


def test_install_lines_pin_every_package_but_the_harness():
    environment = {
        "python": "3.11.7",
        "packages": {"torch": "2.13.0+cpu", "numpy": "2.4.6", "asv_runner": "0.3.2", "pip": "25", "Jinja2": "3.1"},
    }
    assert reproduce.install_lines("old", environment, {}, "torch") == [
        "python3.11 -m venv old",
        "old/bin/pip install Jinja2==3.1 numpy==2.4.6 torch==2.13.0",
    ]
    assert reproduce.install_lines("new", {}, {"jax": "0.9.2"}, "jax")[1] == "new/bin/pip install jax==0.9.2"


def test_of_an_interpreter_that_somebody_built_the_framework_and_what_computes_is_pinned():
    packages = {
        "jax": "0.11.2",
        "jax-cuda13-plugin": "0.11.2",
        "jaxlib": "0.11.2",
        "ml_dtypes": "0.5",
        "numpy": "2.4.6",
    }
    others = {"torch": "2.11.0+cu130", "transformers": "5.0", "mpi4py": "4.1", "mypy_extensions": "1.1"}
    built = {"python": "3.12.3", "packages": {**packages, "nvidia-cublas": "13.1", **others}, "constraints": None}
    (_, jax), (_, torch) = (reproduce.install_lines("old", built, {}, name) for name in ("jax", "torch"))
    assert jax.partition("install ")[2].split() == [
        *(f"{name}=={version}" for name, version in packages.items()),
        "nvidia-cublas==13.1",
    ]
    assert torch.partition("install ")[2] == "numpy==2.4.6 nvidia-cublas==13.1 torch==2.11.0"


CHAIN = benchmark(
    "matmul_chain.MatmulChain.time_compiled_forward",
    [["'torch'", "'jax'"], ["'fp32'", "'bf16'"], ["'small'"]],
    ["framework", "precision", "size"],
    **{"workload": "MatmulChain", "mode": "compiled", "pass": "forward", "clock": "wall"},
)


@pytest.fixture
def archive(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_suite(tmp_path / "results", [CHAIN])
    for release, level in (("0.9.2", 1.0), ("0.10.2", 2.0)):
        samples = samples_of([level] * 5)
        _, env_name = write_row(tmp_path / "results", {"jax": release}, [(CHAIN, [NAN, NAN, samples, samples])])
        packages = {"jax": release, "jaxlib": release, "numpy": "2.3.5", "asv_runner": "0.3.2"}
        record = {"record": "environment", "python": "3.11.7", "packages": packages}
        write_sidecar(tmp_path / "results", env_name, [record])
    (tmp_path / "asv.conf.json").write_text(
        json.dumps({"version": 1, "project": "p", "repo": ".", "benchmark_dir": str(SUITE._folder)})
    )
    return tmp_path


BUMP = ["--framework", "jax", "--old", "0.9.2", "--new", "0.10.2"]


def test_the_command_writes_one_script(archive, capsys):
    assert cli.main(["reproduce", "MatmulChain.time_compiled_forward(bf16, small)", *BUMP]) == 0
    path = pathlib.Path(capsys.readouterr().out.strip())
    text = path.read_text()
    assert f"$side/bin/python {path.name};" in text
    assert "new/bin/pip install jax==0.10.2 jaxlib==0.10.2 numpy==2.3.5\n" in text
    assert 'adapter.set_precision("bf16")' in text
    assert cli.main(["reproduce", "time_compiled_forward(bf16, small)", *BUMP]) == 2
    assert "is already there" in capsys.readouterr().err


def test_a_name_that_is_not_one_row_says_so(archive, capsys):
    assert cli.main(["reproduce", "compiled_forward", *BUMP]) == 2
    assert "2 benchmarks of this bump contain compiled_forward" in capsys.readouterr().err
    assert cli.main(["reproduce", "nothing", *BUMP]) == 2
    assert "no benchmark of this bump is called nothing" in capsys.readouterr().err


@pytest.mark.end_to_end
def test_the_script_runs_in_the_environment_that_its_head_installs(archive, capsys):
    """The commands at the script's head are followed to the letter, for the new side."""
    assert cli.main(["reproduce", "MatmulChain.time_compiled_forward(fp32, small)", *BUMP]) == 0
    path = pathlib.Path(capsys.readouterr().out.strip())
    lines = [line.strip() for line in path.read_text().splitlines()]
    make, install = lines[lines.index("python3.11 -m venv new") :][:2]
    assert install.startswith("new/bin/pip install jax==0.10.2 ")
    for command in (make.replace("python3.11", sys.executable), install):
        subprocess.run(command.split(), check=True, capture_output=True)
    ran = subprocess.run(["new/bin/python", path], check=True, capture_output=True, text=True)
    assert re.fullmatch(r"jax 0\.10\.2 on .*cpu.*: [0-9.e+]+ ms a step\n", ran.stdout, re.IGNORECASE)
