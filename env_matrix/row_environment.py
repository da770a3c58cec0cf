"""What both kinds of row share: the environment that benchmarks see, the sidecar, and no project to install."""

import contextlib
import json
import os
import pathlib

from asv import environment, util
from asv.benchmarks import Benchmarks

from env_matrix import accelerator, asv_machine, cpu, sidecar

LONGEST_REASON = 500
# The variable that gives a row its second name.
REPLICA = "REPLICA"


def device_variables(chosen: str) -> dict[str, str]:
    """Return the variables that keep a framework to the accelerator of its row, and its hands off the whole GPU."""
    variables = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
    if chosen == "cpu":
        variables.update(JAX_PLATFORMS="cpu", CUDA_VISIBLE_DEVICES="")
    return variables


class Row(environment.Environment):
    """One row of the matrix. The benchmarked project is the suite itself, so none is checked out or installed."""

    # Never the answer to a Python that asv finds no environment for.
    matches_python_fallback = False

    def __init__(self, conf, python, requirements, tagged_env_vars):
        self._python, self._requirements, self._tagged_env_vars = python, requirements, tagged_env_vars
        self._results_dir = os.path.abspath(conf.results_dir)
        super().__init__(conf, python, requirements, tagged_env_vars)

    @property
    def accelerator(self) -> str:
        """`cpu`, `cuda12` or `cuda13`."""
        return self.env_vars[accelerator.VARIABLE]

    @property
    def executable(self) -> str:
        """Absolute path of the row's Python."""
        raise NotImplementedError

    @property
    def sidecar_path(self) -> pathlib.Path:
        """Absolute path of the file that holds what asv keeps no place for."""
        return self._sidecar_of(self.name)

    def _sidecar_of(self, env_name: str) -> pathlib.Path:
        return sidecar.path_of(self._results_dir, asv_machine.name(), env_name)

    @property
    def unbuildable(self) -> str | None:
        """Why the row could not be built in this run, None where nothing failed."""
        raise NotImplementedError

    @property
    def _first_name(self) -> str:
        """The row's name without what makes it a control."""
        tagged = {each: value for each, value in self._tagged_env_vars.items() if each[1] != REPLICA}
        return environment.get_env_name(self.tool_name, self._python, self._requirements, tagged)

    def benchmark_environment_variables(self) -> dict[str, str]:
        """Return the whole environment of a benchmark process of this row."""
        variables = {**os.environ, **self.env_vars, **self._global_env_vars, **device_variables(self.accelerator)}
        variables["PATH"] = os.pathsep.join([os.path.dirname(self.executable), variables.get("PATH", os.defpath)])
        variables["BENCH_SIDECAR"] = str(self.sidecar_path)
        if REPLICA in self.env_vars:
            # What was found of the row holds for its control, which is the same environment.
            variables["BENCH_AUDITED"] = str(self._sidecar_of(self._first_name))
        # Programs that were compiled for one number of threads are used for another (pytorch issue 184444).
        variables["BENCH_CACHE"] = os.path.join(self._path, "cache", f"{cpu.allowed()}-cpus")
        if variables.pop("PYTHONDONTWRITEBYTECODE", ""):
            # Every process would compile each module of a framework again: seconds of import and first torch.compile.
            variables["PYTHONPYCACHEPREFIX"] = os.path.join(variables["BENCH_CACHE"], "bytecode")
        variables.setdefault("TORCHINDUCTOR_CACHE_DIR", os.path.join(variables["BENCH_CACHE"], "inductor"))
        return variables

    def run(self, args, **kwargs):
        """Start the row's Python as asv asks, and record a benchmark process that died without a word."""
        # What asv gives is this process's environment and the row's variables, without ours.
        kwargs.pop("env", None)
        if kwargs.get("timeout") is None:
            kwargs["timeout"] = self._install_timeout
        path = self.sidecar_path
        length = sidecar.size(path)
        result = util.check_output([self.executable, *args], env=self.benchmark_environment_variables(), **kwargs)
        if len(args) > 3 and args[1] == "run" and isinstance(result, tuple) and result[2] != 0:
            self._record_failure(path, length, args[3], result[0], result[2])
        return result

    def _record_failure(self, path: pathlib.Path, length: int, benchmark: str, output: str, code: int) -> None:
        """Append why a benchmark failed unless its own process did; asv keeps only that there is no figure."""
        name, dash, index = benchmark.rpartition("-")
        name, index = (name, int(index)) if dash else (benchmark, 0)
        for record in sidecar.records(path, length):
            if record.get("record") == "status" and record.get("benchmark") == name:
                return
        if code == util.TIMEOUT_RETCODE:
            status, reason = "timeout", "timed out"
        elif code < 0:
            status, reason = "failed", f"the process died of signal {-code}"
        else:
            status, reason = "failed", f"the process ended with status {code}"
        last = next((line.strip() for line in reversed(output.splitlines()) if line.strip()), None)
        sidecar.append(
            path,
            "status",
            self.name,
            benchmark=name,
            index=index,
            params=self._parameters(name, index),
            status=status,
            reason=(f"{reason}: {last}" if last else reason)[:LONGEST_REASON],
        )

    def _parameters(self, benchmark: str, index: int) -> list[str] | None:
        """Return asv's strings of a set of parameters, None when asv has not listed the benchmark."""
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            content = json.loads(pathlib.Path(Benchmarks.get_benchmark_file_path(self._results_dir)).read_text())
            values = []
            for names in reversed(content[benchmark]["params"]):
                index, place = divmod(index, len(names))
                values.insert(0, names[place])
            return values
        return None

    def _record_inventory(self, inventory: dict) -> None:
        """Append what the row holds and runs on, unless the sidecar says so already."""
        inventory = {**inventory, "driver": accelerator.driver_version(), "cpu_flags": cpu.flags()}
        path, last = self.sidecar_path, {}
        for record in sidecar.records(path):
            # An interpreter may hold both frameworks, and has an inventory for each.
            about = record.get("record"), record.get("framework")
            if about in (("environment", inventory["framework"]), ("unbuildable", inventory["framework"])):
                last = record
        if {key: value for key, value in last.items() if key not in ("record", "time", "env_name")} != inventory:
            sidecar.append(path, "environment", self.name, **inventory)

    def checkout_project(self, repo, commit_hash):
        """Do nothing."""

    def can_install_project(self):
        """Return True: asv then stores results under the commit of the suite."""
        return True
