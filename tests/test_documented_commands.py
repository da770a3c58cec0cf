"""Every command that README.md and docs/ show: the cheap ones run, of the others the options are checked and the test
that runs the same command is named."""

import ast
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

import asv.commands
import pytest
from archive import MACHINE, benchmark, samples_of, write_row, write_suite

import bumps.cli
import env_matrix.cli

ROOT = pathlib.Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FOLDERS = ("bumps", "env_matrix", "benchmarks", "tools")
PYTHON = ".venv/bin/python"
COMMAND = re.compile(
    r"^(?:[A-Z_]+=\S+ +)*(?:\.venv/bin/(?:python|asv)|python|asv|make|tools/\S+\.(?:sh|py)|git|gh|pip)(?= |$)"
)
INLINE = re.compile(
    r"`((?:[A-Z_]+=\S+ )*(?:\.venv/bin/python |\.venv/bin/asv |python -m |python tools/|make |tools/\w+\.(?:sh|py))"
    r"[^`]*)`"
)
SHELL_FENCE = re.compile(r"^```(?:sh|shell|bash|console)?\n(.*?)^```", re.DOTALL | re.MULTILINE)
ANY_FENCE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)

# What takes minutes, the network, a GPU or somebody's GitHub, and the test that runs it.
ELSEWHERE = (
    (r"make setup", "test_documented_commands.py::test_setup_does_nothing_when_nothing_changed"),
    (r"make test|make test-fast|make lint", ".github/workflows/ci.yml"),
    (r"make test-gpu", "test_gpu.py::test_every_check_passes"),
    (r"make bench|python -m bumps bench .*==", "test_driver.py::test_bench_prints_what_asv_stored"),
    (r"make (publish|preview)", "test_importing.py::test_it_is_shown_on_the_site_as_that_machine"),
    (r"make check-workload", "test_check_workload.py::test_readmes_workload_passes_in_a_row_and_a_wrong_one_is_named"),
    (r"asv run -E installed:", "test_environment_builds.py::test_an_interpreter_that_someone_else_built"),
    (r"asv run", "test_environment_builds.py::test_rows_that_cannot_be_built_stop_no_other_and_overwrite_nothing"),
    (r"python -m bumps (run|bench) .*installed:", "test_driver.py::test_interpreters_that_someone_else_built"),
    (r"python -m bumps run jax latest", "test_unattended.py::test_a_release_appears_regresses_is_told_and_is_cleared"),
    (r"python -m bumps run .*--all", "test_driver.py::test_all_neighbouring_pairs_in_one_session"),
    (r"python -m bumps run", "test_driver.py::test_run_measures_judges_and_publishes"),
    (r"python -m bumps attribute", "test_attribute_command.py::test_the_component_that_carries_the_change_is_named"),
    (r"python -m env_matrix (add|lock|watch)", "test_lock.py::test_a_row_is_added_watched_checked_and_removed"),
    (r"tools/measure_bumps\.sh", "test_unattended.py::test_a_release_appears_regresses_is_told_and_is_cleared"),
)
# Statuses that the documented results give, where they are not 0.
STATUSES = {r"python -m bumps check": (0, 1, 3), r"python -m env_matrix doctor": (0, 1)}


def shown(text):
    """Yield the commands of a page's blocks, without prompts and comments."""
    blocks = SHELL_FENCE.findall(text)
    blocks += [line[4:] for line in ANY_FENCE.sub("", text).splitlines() if line.startswith("    ")]
    for line in "\n".join(blocks).splitlines():
        line = line.strip().removeprefix("$ ")
        if COMMAND.match(line):
            yield shlex.join(shlex.split(line, comments=True))


BLOCKS = sorted({(page.name, command) for page in PAGES for command in shown(page.read_text())})
MENTIONED = sorted(
    {
        (page.name, command)
        for page in PAGES
        for command in INLINE.findall(ANY_FENCE.sub("", page.read_text()).replace("\n", " "))
        # A form, not a command.
        if not re.search(r"[…\[|]|\b[A-Z]{3,}\b(?!=)", command)
    }
)


def normal(command):
    """Return a command as it is written in the checkout's own environment."""
    return re.sub(r"(^|(?<= ))\.venv/bin/", "", command)


def elsewhere(command):
    return next((test for pattern, test in ELSEWHERE if re.search(pattern, normal(command))), None)


def parse(parser, words):
    status = 0
    try:
        parser.parse_args(words)
    except SystemExit as ended:
        # --help ends with 0.
        status = ended.code
    assert not status, f"{words} is not understood"


def check_options(command):
    """Fail where a command, a target, an option or a variable is not there."""
    words = shlex.split(normal(command))
    while re.match(r"[A-Z_]+=", words[0]):
        variable = words.pop(0).partition("=")[0]
        sources = (path for folder in (*FOLDERS, "tests") for path in (ROOT / folder).rglob("*.[ps][yh]"))
        others = (path for path in sources if path.name != pathlib.Path(__file__).name)
        assert any(variable in path.read_text() for path in others), f"nobody reads {variable}"
    if words[:2] == ["python", "-m"]:
        cli = {"bumps": bumps.cli, "env_matrix": env_matrix.cli}[words[2]]
        return parse(cli.make_parser(), words[3:])
    if words[0] == "asv":
        return parse(asv.commands.make_argparser()[0], words[1:])
    if words[0] == "make":
        for word in words[1:]:
            name, separator, _ = word.partition("=")
            makefile = (ROOT / "Makefile").read_text() + (ROOT / "tools/setup.sh").read_text()
            known = rf"^{name} \?=|\${{{name}:-}}" if separator else rf"^{name}:"
            assert re.search(known, makefile, re.MULTILINE), f"make knows no {name}"
        return None
    if words[0] == "python":
        words = words[1:]
    if words[0].startswith("tools/"):
        path = ROOT / words[0]
        assert path.is_file(), f"there is no {words[0]}"
        assert path.suffix == ".py" or os.access(path, os.X_OK)
        for option in words[1:]:
            if option.startswith("--"):
                assert f'"{option.partition("=")[0]}"' in path.read_text(), f"{words[0]} has no {option}"
        return None
    assert words[0] in ("git", "gh", "pip"), f"{words[0]} is not checked"
    return None


def test_commands_are_found():
    commands = {command for _, command in BLOCKS}
    assert "make bench" in commands
    assert ".venv/bin/python -m bumps run jax 0.9.2 0.10.2" in commands
    assert "python -m env_matrix watch" in commands
    assert ("troubleshooting.md", "python -m bumps run --python") not in BLOCKS
    assert ("environments.md", "python -m env_matrix list") in MENTIONED


@pytest.mark.parametrize("command", sorted({command for _, command in [*BLOCKS, *MENTIONED]}))
def test_every_option_is_there(command):
    check_options(command)


@pytest.mark.parametrize(
    "command",
    [
        "python -m bumps run jax 0.9.2 0.10.2 --no-confrim",
        "python -m bumps chekc --framework jax --old 1 --new 2",
        "python -m env_matrix lock --chek",
        "asv run --bnech x",
        "make bnech",
        "make bench ROWZ=1",
        "BENCH_ACELERATOR=cpu make bench",
        "tools/nothing.sh",
        "python tools/time_publish.py --nothing 1",
    ],
)
def test_a_misspelt_one_fails(command, capsys):
    with pytest.raises(AssertionError):
        check_options(command)


@pytest.mark.parametrize(("pattern", "test"), ELSEWHERE)
def test_the_tests_that_run_the_costly_ones_are_there(pattern, test):
    assert any(re.search(pattern, normal(command)) for _, command in [*BLOCKS, *MENTIONED]), "no such command is shown"
    file, _, name = test.partition("::")
    if not name:
        assert (ROOT / file).is_file()
        return
    tree = ast.parse((ROOT / "tests" / file).read_text())
    assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_setup_does_nothing_when_nothing_changed():
    stamp = ROOT / ".venv" / ".setup-stamp"
    sum_of_tools = subprocess.run(["cksum"], stdin=(ROOT / "pyproject.toml").open(), capture_output=True, text=True)
    if not stamp.exists() or not stamp.read_text().startswith(sum_of_tools.stdout.strip()):
        pytest.skip("the tools were installed otherwise; to do it now would take them away from the tests")
    before = stamp.stat().st_mtime_ns
    command = ["make", "--no-print-directory", "setup"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (done.stdout, stamp.stat().st_mtime_ns) == ("", before)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A copy of the repository, its results and one machine's more, and what somebody sent."""
    folder = tmp_path_factory.mktemp("documented") / "checkout"
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    (folder / ".venv").symlink_to(pathlib.Path(sys.executable).parent.parent)
    git = ["git", "-c", "user.name=tester", "-c", "user.email=tester@example.org"]
    for words in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "suite"]):
        subprocess.run([*git, *words], cwd=folder, check=True)
    step = benchmark("matmul_chain.MatmulChain.time_compiled_grad", [["'jax'"]], ["framework"])
    for place, machine in (("results", "desk"), ("../elsewhere/results", "laptop"), ("../sent", "workstation")):
        if place != "results":
            write_suite(folder / place, [step])
        for release, level in (("0.9.2", 1.0), ("0.10.2", 1.2)):
            values = [samples_of([level, level * 1.01, level * 0.99, level, level])]
            facts = {**MACHINE, "machine": machine}
            write_row(folder / place, {"jax": release}, [(step, values)], machine=facts)
    shutil.make_archive(folder / "results", "zip", folder / "../sent")
    return folder


CHEAP = sorted({command for _, command in BLOCKS if not elsewhere(command)})


@pytest.mark.parametrize("command", CHEAP)
def test_it_runs(checkout, command):
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", re.sub(r"(^|(?<= ))python -m", f"{PYTHON} -m", command)],
        cwd=checkout,
        capture_output=True,
        text=True,
        check=False,
    )
    expected = next((known for pattern, known in STATUSES.items() if re.search(pattern, normal(command))), (0,))
    assert done.returncode in expected, done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_troubleshooting_quotes_messages_that_there_are():
    text = (ROOT / "docs" / "troubleshooting.md").read_text()
    quoted = re.findall(r"^\*\*`([^`]+)`\*\*", text, re.MULTILINE)
    assert len(quoted) > 15
    sources = [path.read_text() for folder in FOLDERS for path in (ROOT / folder).rglob("*.[ps][yh]")]
    assert [each for each in quoted if not any(each in source for source in sources)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_and_names_of_files_lead_somewhere(page):
    text = page.read_text()
    named = re.findall(r"\]\((?!http|#)([^)#]+)", text)
    named += re.findall(r"`?((?:docs|tests|tools|bumps|env_matrix|benchmarks|\.github)/[\w./-]+\.\w+)`?", text)
    missing = {name for name in named if not (page.parent / name).exists() and not (ROOT / name).exists()}
    # Shown as what a reader would write.
    assert missing - {"benchmarks/softplus.py", "bumps/bumps-older.py"} == set()


def test_the_table_of_the_real_bump_is_what_check_says():
    command = [sys.executable, "-m", "bumps", "check", "--framework", "jax", "--old", "0.9.2", "--new", "0.11.2"]
    run = subprocess.run(
        [*command, "--machine", "h200", "--markdown", "--all"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert run.returncode == 1, run.stderr
    said = [line for line in run.stdout.splitlines() if not line.startswith(("| unmeasured", "- note: "))]
    page = (ROOT / "docs" / "h200.md").read_text()
    assert "\n".join(said).strip().removeprefix("#") in page
