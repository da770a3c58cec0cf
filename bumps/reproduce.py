"""One benchmark of a bump as a standalone script, fit for an upstream bug report: the framework alone, no asv."""

import json
import pathlib
import re
import textwrap
from collections.abc import Sequence

from asv.util import UserError
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from bumps.extract import Extract, Suite
from bumps.report import figures_text, ratio_text, short_name

# What measures, and is no part of what is measured.
# What computes, of an interpreter that somebody else built: it holds whatever that somebody needed besides.
COMPUTING = {
    "torch": re.compile(r"torch|triton|pytorch-triton|numpy|nvidia-.*|cuda-.*"),
    "jax": re.compile(r"jax|jaxlib|jax-.*|numpy|scipy|ml-dtypes|opt-einsum|nvidia-.*|cuda-.*"),
}
HARNESS = ("asv-runner", "pip", "setuptools", "wheel", "nvidia-ml-py", "cupti-python")

ADAPTER_INIT = {
    "torch": """\
def __init__(self):
    self.module = torch
    self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    self._backend = "inductor"
    torch.set_num_threads(len(os.sched_getaffinity(0)))""",
    "jax": """\
def __init__(self):
    self.module = jax
    self.device = jax.devices()[0]""",
}

MAIN = """\
def main():
    adapter, workload = {adapter}(), {workload}()
{extra}    adapter.set_precision({precision})
    inputs = put_all(adapter, workload.arrays({size}), {precision})
    step = workload.build(adapter, {mode}, {pass_}, inputs)
    warm = time.perf_counter() + 0.2
    untimed = 0
    while untimed < 3 or time.perf_counter() < warm:
        adapter.wait(step())
        untimed += 1
    seconds = []
    for _ in range(20):
        started = time.perf_counter()
        adapter.wait(step())
        seconds.append(time.perf_counter() - started)
    median = statistics.median(seconds)
    print(f"{framework} {{{framework}.__version__}} on {{adapter.device}}: {{median * 1e3:.4g}} ms a step")


if __name__ == "__main__":
    main()
"""


def find_row(report: dict, text: str) -> dict:
    """Return the report's one row that is called `text` (name with parameters) or contains it. Raises UserError."""
    rows = report["benchmarks"]
    full = {id(row): f"{row['name']}({', '.join(row['params'].values())})" for row in rows}
    wanted = text.replace("'", "").replace('"', "")
    found = [row for row in rows if wanted in (short_name(row), full[id(row)])]
    found = found or [row for row in rows if wanted in short_name(row) or wanted in full[id(row)]]
    if len(found) == 1:
        return found[0]
    if not found:
        raise UserError(f"no benchmark of this bump is called {text}; python -m bumps check --all lists them")
    names = ", ".join(map(short_name, found[:4])) + (", …" if len(found) > 4 else "")
    raise UserError(f"{len(found)} benchmarks of this bump contain {text}: {names}; name one of them whole")


def install_lines(side: str, environment: dict, requirements: dict[str, str], framework: str) -> list[str]:
    """Return the shell commands that make one side's environment: every package that was there, as its sidecar has it;
    of an interpreter that somebody else built, the framework and what computes for it.

    Without a sidecar, what the row's requirements pin. A build's local version tag is left out: it is on no public
    index.
    """
    packages = environment.get("packages")
    pins = packages if isinstance(packages, dict) and packages else requirements
    names = [name for name in sorted(pins, key=str.lower) if canonicalize_name(name) not in HARNESS]
    # Of the rows that we built, the inventory names the constraints.
    if pins is packages and environment.get("constraints", "") is None:
        names = [name for name in names if COMPUTING[framework].fullmatch(canonicalize_name(name))]
    pinned = " ".join(f"{name}=={_public(pins[name])}" for name in names)
    python = ".".join(str(environment.get("python") or "3").split(".")[:2])
    return [f"python{python} -m venv {side}", f"{side}/bin/pip install {pinned}"]


def _public(version: object) -> str:
    try:
        return Version(str(version)).public
    except InvalidVersion:
        return str(version)


def is_step(row: dict, report: dict) -> bool:
    """Whether a row of a report is a step of a workload of this suite: only those can be written as a script."""
    has_module = row["name"].count(".") > 1
    return bool(row["mode"] and row["pass"] and has_module) and row["params"].get("framework") == report["framework"]


def script(
    report: dict, row: dict, suite: Suite, environments: Sequence[dict], requirements: Sequence[dict], name: str
) -> str:
    """Return the script of one row of a report; `name` is the file's.

    `environments` and `requirements` are the inventories and the requirements of the old and the new side. Raises
    UserError for a benchmark that times no step of a workload.
    """
    module, _, workload = row["name"].rpartition(".")[0].rpartition(".")
    if not is_step(row, report):
        raise UserError(f"{row['name']} is no step of a workload of this suite; only those can be written as a script")
    framework = report["framework"]
    extract = Extract(suite, module, workload, framework, row["mode"], row["pass"])
    params = dict(row["params"])
    params.pop("framework")
    precision, size = params.pop("precision"), params.pop("size")
    extra = "".join(f"    workload.{name} = {_literal(value)}\n" for name, value in params.items())
    main = MAIN.format(
        adapter=extract.adapter,
        workload=workload,
        extra=extra,
        precision=_quoted(precision),
        size=_quoted(size),
        mode=_quoted(row["mode"]),
        pass_=_quoted(row["pass"]),
        framework=framework,
    )
    source = extract.source(ADAPTER_INIT[framework])
    imports = extract.imports(["os", "statistics", "time", framework])
    first = 'os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")\n' if framework == "jax" else ""
    text = "\n".join(
        [
            '"""'
            + _docstring(report, row, environments, requirements, name).replace("\\", "\\\\").replace('"""', "'''"),
            '"""',
            "",
            *[line for line in imports if line != f"import {framework}"],
            "",
            first + f"import {framework}  # noqa: E402" if first else f"import {framework}",
            "",
            "",
            source,
            "",
            "",
            main,
        ]
    )
    return re.sub(r"\n{4,}", "\n\n\n", text)


def _literal(text: str) -> str:
    """Return a parameter as Python: asv's strings of numbers and None are what they were, the rest was text."""
    return text if re.fullmatch(r"-?\d+(\.\d+)?|None|True|False", text) else _quoted(text)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _docstring(report: dict, row: dict, environments: Sequence[dict], requirements: Sequence[dict], name: str) -> str:
    old, new = report["old"], report["new"]
    lines = [
        f"{row['verdict']}: {short_name(row)}, {report['framework']} {old} → {new}",
        "",
        f"{figures_text(row)}, {ratio_text(row)}; {row['processes_old']} + {row['processes_new']} processes "
        f"on {report['accelerator'] or 'the device'}. {row['why']}.",
        "",
        "One process is one figure: run it several times in each environment, in turn.",
    ]
    lines = [wrapped for line in lines for wrapped in (textwrap.wrap(line, 118) or [""])]
    for side, environment, pins in zip(("old", "new"), environments, requirements, strict=True):
        lines += ["", *(f"    {line}" for line in install_lines(side, environment, pins, report["framework"]))]
    lines += ["", f"    for i in 1 2 3 4 5; do for side in old new; do $side/bin/python {name}; done; done"]
    if row["clock"] not in (None, "wall"):
        lines += ["", f"The verdict is on the {row['clock']} figure of this step; the script prints its wall time."]
    return "\n".join(lines)


def file_name(row: dict) -> str:
    """Return a file name for a row's script, of letters, digits and underscores alone."""
    words = re.findall(r"[A-Za-z0-9]+", short_name(row).rpartition(".")[0].rpartition(".")[2] + " " + _tail(row))
    return "reproduce_" + "_".join(words)[:100] + ".py"


def _tail(row: dict) -> str:
    method = row["name"].rpartition(".")[2].removeprefix("time_")
    return " ".join([method, *(value for name, value in row["params"].items())])


def write(path: pathlib.Path, text: str) -> None:
    """Write a new file; raises UserError for one that is there."""
    try:
        with open(path, "x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError:
        raise UserError(f"{path} is already there; name another with --output") from None
