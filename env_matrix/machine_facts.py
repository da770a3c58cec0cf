"""Finds what `doctor` judges: Pythons, GPUs, disk, libraries, CPU settings."""

import concurrent.futures
import contextlib
import glob
import json
import os
import pathlib
import shutil
import subprocess
import sys

from asv.util import UserError
from packaging.tags import sys_tags

from env_matrix import index
from env_matrix.constraints import Constraints
from env_matrix.doctor import Gpu, Python, accelerator_of_row, wheel_for
from env_matrix.releases import Release
from env_matrix.why import is_part_of

PYTHON_TIMEOUT_SECONDS = 20
CPU_QUOTA = pathlib.Path("/sys/fs/cgroup/cpu.max")
CUDA_LIBRARIES = ("cudart", "cublas", "cudnn", "cufft", "curand", "cusolver", "cusparse", "nccl", "nvrtc", "nvJitLink")


def find_python(version: str) -> Python:
    """Look for a Python (`3.12`): the one that runs this, else the first on PATH, which may be a shim that fails."""
    if version == f"{sys.version_info[0]}.{sys.version_info[1]}":
        return Python(version, sys.executable, None)
    path = shutil.which(f"python{version}")
    if path is None:
        return Python(version, None, None)
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    try:
        run = subprocess.run(
            [path, "-c", code],
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=PYTHON_TIMEOUT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Python(version, path, f"no answer in {PYTHON_TIMEOUT_SECONDS} s")
    except OSError as error:
        return Python(version, path, error.strerror or str(error))
    if run.returncode:
        lines = run.stderr.strip().splitlines() or [f"exit status {run.returncode}"]
        return Python(version, path, lines[0].strip()[:120])
    found = run.stdout.strip()
    return Python(version, path, None if found == version else f"it is Python {found}")


def gpus() -> list[Gpu]:
    """Return the NVIDIA GPUs that NVML tells of, none without a driver."""
    import pynvml

    found = []
    with contextlib.suppress(pynvml.NVMLError):
        pynvml.nvmlInit()
        try:
            for number in range(pynvml.nvmlDeviceGetCount()):
                found.append(_gpu(pynvml, pynvml.nvmlDeviceGetHandleByIndex(number)))
        finally:
            pynvml.nvmlShutdown()
    return found


def _gpu(pynvml, handle) -> Gpu:
    def ask(question):
        # A virtual GPU or a restricted container answers some questions only.
        try:
            return question(handle)
        except pynvml.NVMLError:
            return None

    name = ask(pynvml.nvmlDeviceGetName) or "unknown GPU"
    utilisation = ask(pynvml.nvmlDeviceGetUtilizationRates)
    memory = ask(pynvml.nvmlDeviceGetMemoryInfo)
    processes = ask(pynvml.nvmlDeviceGetComputeRunningProcesses) or []
    return Gpu(
        name=name.decode() if isinstance(name, bytes) else name,
        processes=tuple(process.pid for process in processes if process.pid != os.getpid()),
        utilisation=utilisation.gpu if utilisation else None,
        memory_used=memory.used if memory else None,
    )


def built_rows(env_dir: pathlib.Path, python: str, accelerator: str) -> set[tuple[str, str]]:
    """Return (framework, version) of the environments that asv's own records tell of, for a Python and a build."""
    found = set()
    for path in env_dir.glob("*/asv-env-info.json"):
        with contextlib.suppress(OSError, ValueError, KeyError, AttributeError, TypeError, RecursionError):
            content = json.loads(path.read_text(encoding="utf-8"))
            build = content["build_env_vars"]
            swapped = build.get("BENCH_OVERRIDE")
            if content["python"] == python and build.get("BENCH_ACCELERATOR") == accelerator and not swapped:
                found |= {(name, version) for name, version in content["requirements"].items()}
    return found


def wheels_of_rows(
    rows: list[tuple[Release, Constraints]], chosen: str, python: str, settings: index.Settings
) -> list[tuple[dict[str, int], str]]:
    """Return (file name -> bytes, build) of what each row installs on this Python, by what the index lists.

    torch is taken as the index has it, with its CUDA libraries. Raises UserError when the index does not answer.
    """
    wanted = []
    for row, found in rows:
        build = accelerator_of_row(row, found, chosen)
        pins = found.pinned(python)
        wanted.append(({name: pins[name] for name in pins if is_part_of(name, pins[name], build)}, build))
    names = sorted({name for pins, _ in wanted for name in pins})
    with concurrent.futures.ThreadPoolExecutor(max_workers=8) as pool:
        listed = dict(zip(names, pool.map(lambda name: index.fetch(name, settings), names), strict=True))
    tags = list(sys_tags())
    rows_wheels = []
    for pins, build in wanted:
        wheels = {}
        for name, version in pins.items():
            file = wheel_for(listed[name], version, tags)
            if file is None or file.size is None:
                raise UserError(f"the index tells no size of {name} {version}")
            wheels[file.filename] = file.size
        rows_wheels.append((wheels, build))
    return rows_wheels


def free_disk(path: pathlib.Path) -> int:
    """Return the free bytes where a folder is, or would be made."""
    while not path.exists():
        path = path.parent
    return shutil.disk_usage(path).free


def shadowing_libraries(value: str | None) -> list[str]:
    """Return the CUDA libraries in the folders of an LD_LIBRARY_PATH."""
    found = []
    for folder in (value or "").split(":"):
        for library in CUDA_LIBRARIES if folder else ():
            found += sorted(glob.glob(os.path.join(glob.escape(folder), f"lib{library}*.so*")))[:1]
    return found


def governors() -> set[str]:
    found = set()
    for path in glob.glob("/sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor"):
        with contextlib.suppress(OSError):
            found.add(pathlib.Path(path).read_text().strip())
    return found


def smt_active() -> bool | None:
    with contextlib.suppress(OSError):
        return pathlib.Path("/sys/devices/system/cpu/smt/active").read_text().strip() == "1"
    return None


def cpu_quota() -> float | None:
    """Return how many cores' worth of time a container's control group leaves, None without a limit."""
    with contextlib.suppress(OSError, ValueError):
        limit, period = CPU_QUOTA.read_text().split()
        return int(limit) / int(period)
    return None


def compiler() -> str | None:
    """Return the C++ compiler that torch finds, None without one."""
    names = [os.environ.get("CXX"), "g++", "clang++", "c++"]
    return next((path for name in names if name and (path := shutil.which(name))), None)
