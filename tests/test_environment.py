"""Rows without building any: names, refusals, what benchmarks see, what is recorded."""

import json
import os
import pathlib
import pickle
import signal
import sys
import time

import pytest
from asv import environment, util
from asv.config import Config

from env_matrix import accelerator, asv_machine, constraints, cpu, pinned, pythons
from env_matrix.environment import Installed, Pinned

HERE = f"{sys.version_info[0]}.{sys.version_info[1]}"


@pytest.fixture
def config(tmp_path, monkeypatch):
    """A configuration in a folder of its own, on a machine without a GPU."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BENCH_MACHINE", "box")
    for name in ("BENCH_ACCELERATOR", "LD_LIBRARY_PATH", "TORCHINDUCTOR_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    on_driver(monkeypatch, None)
    found = Config()
    found.results_dir, found.env_dir, found.project = "results", "env", "rows"
    found.matrix, found.pythons, found.environment_type = {}, [HERE], "pinned"
    return found


def on_driver(monkeypatch, version):
    monkeypatch.setattr(accelerator, "driver_version", lambda: version)


def row(config, release="jax 0.10.2", python=HERE, **variables):
    framework, version = release.split()
    tagged = {("nobuild" if name == "REPLICA" else "build", name): value for name, value in variables.items()}
    return Pinned(config, python, {framework: version}, tagged)


def records(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_name_holds_release_python_and_accelerator(config, monkeypatch):
    assert row(config).name == f"pinned-py{HERE}-jax0.10.2-BENCH_ACCELERATORcpu"
    monkeypatch.setattr(pythons, "find", lambda version: sys.executable)
    names = {
        row(config, python=python, release=release, **variables).dir_name
        for python in ("3.11", "3.12")
        for release in ("jax 0.10.2", "torch 2.14.1", "torch 2.14.1+cu130", "jax 0.9.2")
        for variables in ({}, {"BENCH_OVERRIDE": "numpy==2.3.5"})
    }
    assert len(names) == 16
    assert row(config, REPLICA="control").dir_name == row(config).dir_name
    monkeypatch.setenv("BENCH_ACCELERATOR", "cuda12")
    assert row(config).name == f"pinned-py{HERE}-jax0.10.2-BENCH_ACCELERATORcuda12"


@pytest.mark.parametrize(
    ("driver", "asked", "release", "built_for"),
    [
        (None, None, "jax 0.10.2", "cpu"),
        (None, None, "torch 2.15.0", "cpu"),
        ("580.65.06", None, "jax 0.10.2", "cuda12"),
        ("580.65.06", None, "torch 2.8.0", "cuda12"),
        # The index has no other build of it.
        ("580.65.06", None, "torch 2.15.0", "cuda13"),
        ("580.65.06", "cpu", "torch 2.15.0", "cpu"),
        ("580.65.06", "cuda13", "jax 0.10.2", "cuda13"),
        # Another index may have such a build; it is judged when installed.
        ("580.65.06", "cuda12", "torch 2.15.0", "cuda12"),
    ],
)
def test_what_a_row_is_built_for(config, monkeypatch, driver, asked, release, built_for):
    on_driver(monkeypatch, driver)
    if asked:
        monkeypatch.setenv("BENCH_ACCELERATOR", asked)
    assert row(config, release).accelerator == built_for


def test_an_accelerator_that_there_is_not_stops_the_run(config, monkeypatch):
    monkeypatch.setenv("BENCH_ACCELERATOR", "tpu")
    with pytest.raises(util.UserError, match=r"^BENCH_ACCELERATOR='tpu' is unknown; use cpu, cuda12, cuda13$"):
        row(config)


@pytest.mark.parametrize(
    ("release", "python", "asked", "message"),
    [
        ("jax 0.11.2", "3.11", None, f"jax 0.11.2 needs Python >= 3.12; this is 3.11 (another: {pythons.CHOOSE})"),
        ("jax 0.12.0.1", "3.11", None, f"jax 0.12.0.1 needs Python >= 3.12; this is 3.11 (another: {pythons.CHOOSE})"),
        (
            "jax 0.4.24",
            "3.13",
            None,
            f"jax 0.4.24 needs Python >= 3.9,< 3.13; this is 3.13 (another: {pythons.CHOOSE})",
        ),
        ("jax 0.6.2", HERE, "cuda13", "jax 0.6.2 has no cuda13 build, only cpu, cuda12; see BENCH_ACCELERATOR"),
    ],
)
def test_rows_that_cannot_be_here_are_left_out_with_one_line(config, monkeypatch, release, python, asked, message):
    if asked:
        monkeypatch.setenv("BENCH_ACCELERATOR", asked)
    with pytest.raises(environment.EnvironmentUnavailable) as caught:
        row(config, release, python)
    assert str(caught.value) == message


def test_a_python_that_is_only_a_shim(config, monkeypatch, tmp_path):
    shim = tmp_path / "python3.13"
    shim.write_text("#!/bin/sh\necho 'shim: no such version' >&2\nexit 127\n")
    shim.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    pythons.find.cache_clear()
    with pytest.raises(environment.EnvironmentUnavailable) as caught:
        row(config, "jax 0.10.2", "3.13")
    pythons.find.cache_clear()
    assert str(caught.value) == (
        f"no working Python 3.13 was found: {shim} does not run (shim: no such version); "
        "install it, or choose another: -E pinned:X.Y with asv, --python X.Y with bumps"
    )


@pytest.mark.parametrize(
    ("requirements", "reason"),
    [
        (
            {"jax": "0.10.99"},
            "jax 0.10.99 has no constraints file; check the spelling, or write it: "
            "python -m env_matrix lock jax==0.10.99",
        ),
        ({"jax": "0.ten"}, "'0.ten' in the matrix is no version of jax"),
        ({"jaxx": "0.10.2"}, "a row holds one release of torch or jax; the matrix says jaxx 0.10.2"),
        (
            {"jax": "0.10.2", "torch": "2.8.0"},
            "a row holds one release of torch or jax; the matrix says jax 0.10.2 and torch 2.8.0",
        ),
        ({"jax": ""}, "a row holds one release of torch or jax; the matrix says no release"),
    ],
)
def test_a_mistake_in_the_matrix_is_a_row_that_cannot_be_built(config, requirements, reason):
    made = Pinned(config, HERE, requirements, {})
    plain = made.name
    assert made.unbuildable is None
    made.create()
    assert made.unbuildable == reason
    assert made.name == f"{plain}-unbuildable"
    (record,) = records(pathlib.Path("results/box", f"{plain}.jsonl"))
    assert (record["record"], record["env_name"], record["reason"]) == ("unbuildable", plain, reason)


def test_asv_skips_a_row_that_cannot_be_built(config):
    made = row(config, "jax 0.10.99")
    with pytest.raises(util.ProcessError) as caught:
        made.install_project(config, None, "0" * 40)
    assert "no constraints file" in caught.value.stderr
    with pytest.raises(util.ProcessError):
        made.run(["-c", "pass"])
    assert made.installed_commit_hash is None


def test_processes_of_a_run_share_a_failure_and_the_next_run_forgets_it(config, monkeypatch):
    made = row(config, "jax 0.10.99")
    in_pool = pickle.loads(pickle.dumps(made))
    in_pool.create()
    assert made.unbuildable == in_pool.unbuildable
    monkeypatch.setattr(in_pool, "_remember_failure", lambda reason: pytest.fail("tried again in the same run"))
    in_pool.create()
    monkeypatch.setattr(pinned, "_this_run", lambda: "another run")
    later = row(config, "jax 0.10.99")
    assert later.unbuildable is None
    assert not later.name.endswith("unbuildable")


def test_a_failure_is_known_where_nothing_can_be_written(config):
    pathlib.Path("env").write_text("a file where the folder of environments should be")
    pathlib.Path("results").write_text("another")
    made = row(config)
    made.create()
    assert made.unbuildable.startswith("File exists: ")
    assert "\n" not in made.unbuildable


def test_a_gpu_row_without_a_driver_is_refused_before_anything_is_downloaded(config, monkeypatch):
    monkeypatch.setenv("BENCH_ACCELERATOR", "cuda12")
    made = row(config)
    monkeypatch.setattr(made, "_build", lambda lock: pytest.fail("installing"))
    made.create()
    assert made.unbuildable == "cuda12 was asked for, but there is no NVIDIA driver"


def plant(made, **changes):
    """Make the folder of a row as a build leaves it, with changes."""
    folder = pathlib.Path(made._path)
    for name in ("pip", "python"):
        path = folder / "bin" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
        path.chmod(0o755)
    info = folder / "lib" / f"python{HERE}" / "site-packages" / "jax-0.10.2.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: jax\nVersion: 0.10.2\n")
    content = {"framework": "jax", "release": "0.10.2", "packages": {"jax": "0.10.2"}, **made.identity(), **changes}
    (folder / "row.json").write_text(json.dumps(content))
    made.save_info_file(str(folder))
    return folder


def test_a_row_is_used_again_while_it_is_what_it_would_be_built_as(config, monkeypatch):
    made = row(config)
    monkeypatch.setattr(cpu, "flags", lambda: ["avx2", "fma"])
    assert not made.check_presence()
    plant(made)
    assert made.check_presence()
    monkeypatch.setattr(made, "_build", lambda lock: pytest.fail("built again"))
    made.create()
    control = row(config, REPLICA="control")
    control.create()
    # Each name has its inventory, once.
    row(config).create()
    for each in (made, control):
        (record,) = records(each.sidecar_path)
        assert record["record"] == "environment"
        assert (record["env_name"], record["packages"]) == (each.name, {"jax": "0.10.2"})
        assert (record["driver"], record["cpu_flags"]) == (None, ["avx2", "fma"])


@pytest.mark.parametrize(
    "change",
    [
        {"constraints": "0" * 64},
        {"harness": "0" * 64},
        {"override": "numpy==2.0"},
        {"packages": {"jax": "0.10.2", "numpy": "2.4.6"}},
    ],
)
def test_a_row_made_otherwise_or_changed_since_is_not_used(config, change):
    made = row(config)
    plant(made, **change)
    assert not made.check_presence()


def test_a_build_that_was_killed_is_not_used(config):
    made = row(config)
    (plant(made) / "asv-env-info.json").unlink()
    assert not made.check_presence()


def test_a_new_driver_is_a_new_inventory(config, monkeypatch):
    made = row(config)
    plant(made)
    made.create()
    on_driver(monkeypatch, "580.65.06")
    monkeypatch.setenv("BENCH_ACCELERATOR", "cpu")
    row(config).create()
    assert [record["driver"] for record in records(made.sidecar_path)] == [None, "580.65.06"]


def test_bytecode_that_may_not_lie_beside_its_source_is_kept_with_the_row(config, monkeypatch):
    made = row(config)
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    monkeypatch.delenv("PYTHONPYCACHEPREFIX", raising=False)
    assert "PYTHONPYCACHEPREFIX" not in made.benchmark_environment_variables()
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    seen = made.benchmark_environment_variables()
    assert seen["PYTHONPYCACHEPREFIX"] == f"{seen['BENCH_CACHE']}/bytecode"
    assert "PYTHONDONTWRITEBYTECODE" not in seen


def test_what_a_benchmark_sees(config, monkeypatch, tmp_path):
    monkeypatch.setenv("LD_LIBRARY_PATH", "/opt/cuda/lib64")
    monkeypatch.setenv("PYTHONPATH", "/opt/modules")
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 2, 5})
    made = row(config, REPLICA="control")
    seen = made.benchmark_environment_variables()
    assert {name: seen[name] for name in seen if name.startswith("BENCH_")} == {
        "BENCH_ACCELERATOR": "cpu",
        "BENCH_MACHINE": "box",
        "BENCH_SIDECAR": str(tmp_path / "results" / "box" / f"{made.name}.jsonl"),
        "BENCH_AUDITED": str(row(config).sidecar_path),
        "BENCH_CACHE": str(tmp_path / "env" / made.dir_name / "cache" / "3-cpus"),
    }
    assert seen["TORCHINDUCTOR_CACHE_DIR"] == f"{seen['BENCH_CACHE']}/inductor"
    assert (seen["JAX_PLATFORMS"], seen["CUDA_VISIBLE_DEVICES"]) == ("cpu", "")
    assert seen["XLA_PYTHON_CLIENT_PREALLOCATE"] == "false"
    assert (seen["REPLICA"], seen["ASV_ENV_NAME"]) == ("control", made.name)
    assert "LD_LIBRARY_PATH" not in seen
    assert "PYTHONPATH" not in seen
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", "/mine")
    monkeypatch.setenv("BENCH_ACCELERATOR", "cuda13")
    seen = row(config).benchmark_environment_variables()
    assert seen["TORCHINDUCTOR_CACHE_DIR"] == "/mine"
    assert "CUDA_VISIBLE_DEVICES" not in set(seen) - set(os.environ)
    assert "BENCH_AUDITED" not in seen


@pytest.fixture
def measuring(config, monkeypatch):
    """A row on the interpreter that runs the tests, and asv's list of two parameters."""
    made = row(config)
    monkeypatch.setattr(Pinned, "executable", property(lambda self: sys.executable))
    listed = {"suite.Steps.time_it": {"params": [["'a'", "'b'"], ["1", "2", "3"]]}}
    pathlib.Path("results").mkdir()
    pathlib.Path("results/benchmarks.json").write_text(json.dumps(listed))
    return made


@pytest.mark.parametrize(
    ("code", "status", "reason"),
    [
        ("import os; os.abort()", "failed", f"the process died of signal {int(signal.SIGABRT)}"),
        ("import os; print('going'); os.close(1); os._exit(7)", "failed", "the process ended with status 7: going"),
        ("import time; time.sleep(60)", "timeout", "timed out"),
        ("raise RuntimeError('no device')", "failed", "the process ended with status 1: RuntimeError: no device"),
    ],
)
def test_a_benchmark_that_died_without_a_word_is_recorded(measuring, tmp_path, code, status, reason):
    script = tmp_path / "script.py"
    script.write_text(f"import sys\nsys.stdout.reconfigure(line_buffering=True)\n{code}")
    result = measuring.run(
        [str(script), "run", "benchmarks", "suite.Steps.time_it-4", "{}", "None", "out"],
        timeout=2 if status == "timeout" else 60,
        valid_return_codes=None,
        return_stderr=True,
        redirect_stderr=True,
        display_error=False,
        dots=False,
    )
    assert result[2] != 0
    (record,) = records(measuring.sidecar_path)
    assert (record["record"], record["benchmark"]) == ("status", "suite.Steps.time_it")
    # Asv's fifth set of parameters.
    assert (record["index"], record["params"]) == (4, ["'b'", "2"])
    assert (record["status"], record["reason"]) == (status, reason)


def test_what_a_benchmark_said_itself_is_not_said_again(measuring, tmp_path):
    script = tmp_path / "script.py"
    line = {"record": "status", "benchmark": "suite.Steps.time_it", "status": "failed", "reason": "its own"}
    script.write_text(
        "import os, sys\n"
        "os.makedirs(os.path.dirname(os.environ['BENCH_SIDECAR']), exist_ok=True)\n"
        f"open(os.environ['BENCH_SIDECAR'], 'a').write({json.dumps(line)!r} + '\\n')\n"
        "sys.exit(1)\n"
    )
    for _ in range(2):
        measuring.run(
            [str(script), "run", "benchmarks", "suite.Steps.time_it-4"],
            valid_return_codes=None,
            return_stderr=True,
            display_error=False,
        )
    assert [record["reason"] for record in records(measuring.sidecar_path)] == ["its own", "its own"]


def test_a_failing_command_that_is_no_benchmark_is_asvs_business(measuring):
    with pytest.raises(util.ProcessError):
        measuring.run(["-c", "raise SystemExit(1)"], display_error=False, dots=False)
    assert not measuring.sidecar_path.exists()


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (["/venv/bin/asv", "run", "--machine", "gpu-1"], "gpu-1"),
        (["/venv/lib/asv/__main__.py", "run", "--machine=gpu-1"], "gpu-1"),
        (["asv", "run", "-m", "gpu-1"], "gpu-1"),
        (["asv", "run", "-mgpu-1"], "gpu-1"),
        # Another program's -m.
        (["/venv/bin/pytest", "-m", "end_to_end"], "this-host"),
        (["asv", "run"], "this-host"),
    ],
)
def test_the_name_of_the_machine(monkeypatch, tmp_path, arguments, name):
    monkeypatch.delenv("BENCH_MACHINE", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(asv_machine.Machine, "get_unique_machine_name", staticmethod(lambda: "this-host"))
    monkeypatch.setattr(sys, "argv", arguments)
    assert asv_machine.name() == name


def test_the_driver_names_the_machine(monkeypatch):
    monkeypatch.setenv("BENCH_MACHINE", "rack-7")
    monkeypatch.setattr(sys, "argv", ["asv", "run", "--machine", "other"])
    assert asv_machine.name() == "rack-7"


# Interpreters that somebody else built, with planted frameworks.


TORCH = "__version__ = '2.13.0+cpu'\nclass version: cuda = None\n" + (
    "class cuda:\n    is_available = staticmethod(lambda: False)\n    device_count = staticmethod(lambda: 0)\n"
)
SEEING = TORCH.replace("cuda = None", "cuda = '13.0'").replace("lambda: False", "lambda: True")
SEEING = SEEING.replace("lambda: 0)", "lambda: 1)\n    get_device_name = staticmethod(lambda index: 'H200')")
JAX = "__version__ = '0.9.0.1'\nclass Device: platform, device_kind = 'cpu', 'cpu'\ndef devices(): return [Device()]\n"


def interpreter(folder, name="mine", **modules):
    """Write a Python that finds these modules; return its path."""
    held = folder / name / "held"
    held.mkdir(parents=True)
    for module, source in modules.items():
        (held / f"{module}.py").write_text(source)
    path = folder / name / "bin" / "python"
    path.parent.mkdir()
    # The tools' own environment holds neither framework.
    path.write_text(f'#!/bin/sh\nPYTHONPATH={held}:$PYTHONPATH exec {sys.executable} "$@"\n')
    path.chmod(0o755)
    return path


def installed(config, path):
    return Installed(config, str(path), {}, {})


def test_labels_are_read_from_the_interpreter(config, tmp_path):
    path = interpreter(tmp_path, torch=TORCH, jax=JAX, jaxlib="__version__ = '0.9.0.1'")
    made = installed(config, path)
    assert made.requirements == {"torch": "2.13.0", "jax": "0.9.0.1"}
    assert (made.python, made.executable, made.accelerator) == (HERE, str(path), "cpu")
    assert made.name.startswith(
        f"installed-py{HERE}-jax0.9.0.1-torch2.13.0-BENCH_ACCELERATORcpu-BENCH_INTERPRETERmine-"
    )
    other = installed(config, interpreter(tmp_path / "else", torch=TORCH, jax=JAX, jaxlib="__version__ = '0.9.0.1'"))
    assert other.name != made.name
    assert other.dir_name != made.dir_name
    for _ in range(2):
        installed(config, path).create()
    assert [(record["framework"], record["version"]) for record in records(made.sidecar_path)] == [
        ("torch", "2.13.0+cpu"),
        ("jax", "0.9.0.1"),
    ]
    made.install_project(config, None, "0" * 40)
    assert made.installed_commit_hash == "0" * 40


def test_an_interpreter_keeps_the_users_paths(config, monkeypatch, tmp_path):
    monkeypatch.setenv("LD_LIBRARY_PATH", "/opt/module/lib")
    monkeypatch.setenv("PYTHONPATH", "/opt/module/python")
    seen = installed(config, interpreter(tmp_path, torch=TORCH)).benchmark_environment_variables()
    assert seen["LD_LIBRARY_PATH"] == "/opt/module/lib"
    assert seen["PYTHONPATH"] == seen["ASV_PYTHONPATH"] == "/opt/module/python"


@pytest.mark.parametrize(
    ("asked", "modules", "built_for", "labels"),
    [
        (None, {"torch": SEEING}, "cuda13", {"torch": "2.13.0"}),
        ("cpu", {"torch": SEEING}, "cpu", {"torch": "2.13.0"}),
        # A CPU time must never be stored as a GPU time.
        (None, {"torch": SEEING, "jax": JAX, "jaxlib": "__version__ = '0.9.0.1'"}, "cuda13", {"torch": "2.13.0"}),
    ],
)
def test_the_accelerator_of_an_interpreter_is_what_it_sees(
    config, monkeypatch, tmp_path, asked, modules, built_for, labels
):
    if asked:
        monkeypatch.setenv("BENCH_ACCELERATOR", asked)
    made = installed(config, interpreter(tmp_path, **modules))
    assert (made.accelerator, made.requirements) == (built_for, labels)


CRASH = "import os; os.abort()"
HANG = "import time; time.sleep(60)"


@pytest.mark.parametrize(
    ("modules", "asked", "message"),
    [
        ({}, None, r"holds neither torch nor jax \(torch: ModuleNotFoundError: .*; jax: ModuleNotFoundError: .*\)"),
        ({"torch": "import nothing_like_it"}, None, "torch: ModuleNotFoundError: No module named 'nothing_like_it'"),
        ({"torch": TORCH, "jax": CRASH}, None, r"importing jax ended \S+ \(Aborted\)"),
        ({"torch": HANG}, None, r"importing torch in \S+ took over 1 s and was stopped"),
        ({"torch": TORCH}, "cuda12", r"cuda12 was asked for, but torch 2\.13\.0\+cpu of \S+ is built for the CPU"),
        ({"torch": SEEING}, "cuda12", r"but torch .* is built for CUDA 13; for it set BENCH_ACCELERATOR=cuda13"),
    ],
)
def test_interpreters_that_cannot_measure(config, monkeypatch, tmp_path, modules, asked, message):
    monkeypatch.setattr("env_matrix.verify.IMPORT_TIMEOUT_SECONDS", 1 if modules.get("torch") == HANG else 60)
    if asked:
        monkeypatch.setenv("BENCH_ACCELERATOR", asked)
    started = time.monotonic()
    with pytest.raises(environment.EnvironmentUnavailable, match=message) as caught:
        installed(config, interpreter(tmp_path, **modules))
    assert "\n" not in str(caught.value)
    assert time.monotonic() - started < 30


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("#!/bin/sh\nexit 3\n", r"is no working Python \(exit status 3\): it said nothing"),
        ("#!/no/such/loader\n", "cannot be run: No such file or directory; name a working Python"),
        (
            "#!/bin/sh\necho 'SyntaxError: invalid syntax'\nexit 1\n",
            "is no working Python .*: SyntaxError: invalid syntax",
        ),
    ],
)
def test_things_that_are_no_interpreter(config, tmp_path, content, message):
    path = tmp_path / "python"
    path.write_text(content)
    path.chmod(0o755)
    with pytest.raises(environment.EnvironmentUnavailable, match=message):
        installed(config, path)


def test_an_old_interpreter_without_the_runner(config, monkeypatch, tmp_path):
    path = interpreter(tmp_path, torch=TORCH)
    read = {"python": "3.6.9", "packages": {}, "frameworks": {"torch": {"version": "1.0", "sees_gpu": False}}}
    monkeypatch.setattr("env_matrix.installed._inspected", lambda executable, wanted: read)
    message = (
        r"is Python 3\.6\.9 without asv_runner, and ours needs Python >=3\.7; install there: pip install asv_runner"
    )
    with pytest.raises(environment.EnvironmentUnavailable, match=message):
        installed(config, path)
    read["packages"] = {"asv-runner": "0.1.0"}
    assert installed(config, path).python == "3.6"


def test_the_matrix_of_the_repository_makes_one_row_of_an_interpreter(config, monkeypatch, tmp_path):
    path = interpreter(tmp_path, torch=TORCH)
    theirs = Config.load(str(constraints.FOLDER.parent.parent / "asv.conf.json"))
    theirs.results_dir, theirs.env_dir = config.results_dir, config.env_dir
    monkeypatch.setattr(pythons, "find", lambda version: sys.executable)
    made = list(environment.get_environments(theirs, [f"installed:{path}"], verbose=False))
    assert [type(each) for each in made] == [Installed]
    rows = list(environment.get_environments(theirs, ["pinned:3.11"], verbose=False))
    assert {type(each) for each in rows} == {Pinned}
    named = [name for each in rows for name in each.requirements]
    assert set(named) == {"torch", "jax"}
    assert len({each.name for each in rows}) == len(rows) == len(named)
