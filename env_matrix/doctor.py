"""Pre-flight: judges what was found of a machine. Pure; `machine_facts.py` finds it."""

import dataclasses

from packaging.version import Version

from env_matrix.constraints import Constraints
from env_matrix.releases import Release

OK, WARNING, FAILURE = "ok", "warning", "failure"

# NVIDIA, "CUDA Toolkit Release Notes", table "CUDA Toolkit and Minimum Required Driver Version for CUDA Minor Version
# Compatibility" (Linux): any CUDA 12.x runs on a driver >= 525, any CUDA 13.x on a driver >= 580.
LOWEST_DRIVER = {"cuda12": 525, "cuda13": 580}

# Disk that an environment takes by the bytes of its wheels. Measured (`du`, wheel sizes by the index, Python 3.11):
# torch 2.2.0 and 2.15.0 with CUDA 1.85 and 1.91, jax 0.4.24 and 0.10.2 for the CPU 4.06 and 4.56, compile caches
# included. NVIDIA's libraries are packed already; jaxlib's are not.
UNPACKED = {"cpu": 4.6, "cuda": 1.9}

BUSY_GPU_PERCENT = 5


@dataclasses.dataclass(frozen=True)
class Check:
    """One finding. `advice` says what to do about it, empty when nothing."""

    name: str
    status: str
    found: str
    advice: str = ""


@dataclasses.dataclass(frozen=True)
class Python:
    """One Python that was looked for: where it is, and why it does not run (None when it does)."""

    version: str
    path: str | None
    problem: str | None


@dataclasses.dataclass(frozen=True)
class Gpu:
    """One NVIDIA GPU: name, processes of others on it, utilisation (%), memory used (bytes)."""

    name: str
    processes: tuple[int, ...]
    utilisation: int | None
    memory_used: int | None


def judge_python(python: Python, rows: list[tuple[Release, Constraints]], running: bool) -> Check:
    """Judge one Python version: whether it runs, and how many rows it can hold."""
    name = f"Python {python.version}" + (" (runs asv)" if running else "")
    able = [row for row, found in rows if found.supports(f"{python.version}.0")]
    holds = f"holds {len(able)} of {len(rows)} rows"
    if python.path is None:
        return Check(name, OK, f"not found; it would hold {len(able)} of {len(rows)} rows")
    if python.problem:
        advice = f"put a working python{python.version} before it on PATH, or make the shim work"
        return Check(name, WARNING, f"{python.path} does not run: {python.problem}", advice)
    if not running:
        return Check(name, OK, f"{python.path}; {holds}")
    lost = ", ".join(str(row) for row, found in rows if row not in able)
    return Check(name, OK, f"{python.path}; {holds}" + (f" (left out: {lost})" if lost else ""))


def accelerator_of_row(row: Release, found: Constraints, chosen: str) -> str:
    """Return what a row is built for: torch's default build decides itself, jax follows the choice."""
    if row.framework == "torch":
        return next((name for name in found.accelerators if name != "cpu"), "cpu")
    return chosen


def judge_driver(driver: str | None, chosen: str, rows: list[tuple[Release, Constraints]]) -> list[Check]:
    """Judge the driver against the CUDA build of each row (rows of the running Python)."""
    if driver is None:
        if chosen == "cpu":
            return [Check("driver", OK, "no NVIDIA driver: rows run on the CPU")]
        advice = "install the driver, or unset BENCH_ACCELERATOR to run on the CPU"
        return [Check("driver", FAILURE, f"BENCH_ACCELERATOR={chosen}, but there is no NVIDIA driver", advice)]
    if chosen == "cpu":
        return [Check("driver", OK, f"NVIDIA {driver}, not used: BENCH_ACCELERATOR=cpu")]
    major = int(driver.split(".")[0])
    checks = []
    for build, lowest in LOWEST_DRIVER.items():
        built = [row for row, found in rows if accelerator_of_row(row, found, chosen) == build]
        if not built:
            continue
        names = ", ".join(str(row) for row in built)
        name = f"driver for {build}"
        if major < lowest:
            advice = f"install a driver >= {lowest}, or remove the rows"
            checks.append(Check(name, FAILURE, f"{driver} is too old for {names}", advice))
        elif build != chosen:
            advice = f"to measure them on the GPU: BENCH_ACCELERATOR={build}"
            checks.append(Check(name, WARNING, f"{chosen} is asked for, so these rows are refused: {names}", advice))
        else:
            checks.append(Check(name, OK, f"{driver} (at least {lowest} needed) for {len(built)} rows"))
    lacking = [row for row, found in rows if row.framework == "jax" and chosen not in found.accelerators]
    if lacking:
        names = ", ".join(str(row) for row in lacking)
        advice = "BENCH_ACCELERATOR=cuda12 covers older rows"
        checks.append(Check(f"{chosen} builds", WARNING, f"no such build of {names}", advice))
    return checks


def judge_gpus(gpus: list[Gpu]) -> list[Check]:
    """Judge whether a GPU is used by others: their work disturbs every figure."""
    checks = []
    for number, gpu in enumerate(gpus):
        busy = []
        if gpu.processes:
            busy.append(f"{len(gpu.processes)} processes ({', '.join(map(str, gpu.processes))})")
        if (gpu.utilisation or 0) > BUSY_GPU_PERCENT:
            busy.append(f"{gpu.utilisation} % busy")
        used = f", {gpu.memory_used / 2**30:.1f} GiB in use" if gpu.memory_used is not None else ""
        name = f"GPU {number}"
        if busy:
            advice = "wait until they are done, or choose another with CUDA_VISIBLE_DEVICES"
            checks.append(Check(name, WARNING, f"{gpu.name}: {', '.join(busy)}{used}", advice))
        else:
            checks.append(Check(name, OK, f"{gpu.name}: idle{used}"))
    return checks


def disk_needed(rows: list[tuple[dict[str, int], str]]) -> int:
    """Return the bytes that missing rows take: their environments, and each distinct wheel once in pip's cache.

    Each row is given as its wheels (file name -> bytes) and what it is built for.
    """
    downloads = {name: size for wheels, _ in rows for name, size in wheels.items()}
    unpacked = sum(sum(wheels.values()) * UNPACKED["cpu" if build == "cpu" else "cuda"] for wheels, build in rows)
    return round(unpacked + sum(downloads.values()))


def judge_disk(needed: int | None, free: int, missing: list[Release]) -> Check:
    """Judge the disk for the rows that are not built yet; `needed` is None where the index could not be asked."""
    have = f"{free / 1e9:.0f} GB free"
    if not missing:
        return Check("disk", OK, f"{have}; every row is built")
    if needed is None:
        advice = "a CUDA build of torch takes about 6 GB"
        return Check("disk", WARNING, f"{have}; unknown what {len(missing)} rows need", advice)
    need = f"{len(missing)} rows to build need about {needed / 1e9:.1f} GB"
    if needed > free:
        advice = "free some, remove rows, or build fewer at a time: python -m env_matrix prune"
        return Check("disk", FAILURE, f"{have}, but {need}", advice)
    return Check("disk", OK, f"{have}; {need}")


def judge_library_path(value: str | None, shadowing: list[str]) -> Check:
    """Judge LD_LIBRARY_PATH; `shadowing` are the CUDA libraries found along it."""
    if not value:
        return Check("LD_LIBRARY_PATH", OK, "not set")
    if not shadowing:
        return Check("LD_LIBRARY_PATH", OK, f"{value} holds no CUDA library; it is unset for the runs all the same")
    shown = ", ".join(shadowing[:3]) + (f" and {len(shadowing) - 3} more" if len(shadowing) > 3 else "")
    found = f"would shadow the rows' own CUDA libraries: {shown}"
    return Check("LD_LIBRARY_PATH", WARNING, found, "nothing: it is unset for the runs")


def judge_index(problem: str | None, missing: list[Release]) -> Check:
    if problem is None:
        return Check("package index", OK, "answers")
    if not missing:
        return Check("package index", WARNING, problem, "not needed for the rows that are built")
    return Check("package index", FAILURE, problem, "check the network and pip's index settings")


def judge_constraints(missing: list[Release]) -> Check:
    if not missing:
        return Check("constraints", OK, "every row has them")
    names = " ".join(row.public.requirement for row in missing)
    return Check("constraints", FAILURE, f"none for {names}", f"python -m env_matrix lock {names}")


def judge_compiler(path: str | None) -> Check:
    if path:
        return Check("C++ compiler", OK, path)
    advice = "install one (Debian and Ubuntu: g++)"
    return Check("C++ compiler", WARNING, "none: torch's compiled modes are skipped on a CPU", advice)


def judge_governors(governors: set[str]) -> Check:
    if not governors:
        return Check("CPU governor", OK, "not told by this machine (a virtual one, or no frequency scaling)")
    text = ", ".join(sorted(governors))
    if governors == {"performance"}:
        return Check("CPU governor", OK, text)
    advice = "cpupower frequency-set -g performance"
    return Check("CPU governor", WARNING, f"{text}: the clock follows the load", advice)


def judge_smt(active: bool | None) -> Check:
    if active is None:
        return Check("SMT", OK, "not told by this machine")
    if active:
        advice = "switch it off, or pin to one thread a core (taskset)"
        return Check("SMT", WARNING, "on: two threads share a core", advice)
    return Check("SMT", OK, "off")


def judge_load(load: float, cores: int) -> Check:
    """Judge the load of the last minute; more than a tenth of the cores is somebody's work."""
    found = f"{load:.2f} on {cores} cores"
    if load > max(0.1 * cores, 0.3):
        return Check("load", WARNING, found, "wait until the machine is idle")
    return Check("load", OK, found)


def judge_affinity(allowed: int, total: int, quota: float | None) -> Check:
    """Judge how many cores this process may use, by affinity and by a container's quota."""
    parts = [f"{allowed} of {total} cores"]
    if quota is not None:
        parts.append(f"a quota of {quota:g} cores")
    found = ", ".join(parts)
    if quota is not None and quota < allowed:
        advice = "give the container whole cores (a cpuset): a quota stops steps half-way"
        return Check("affinity", WARNING, found, advice)
    return Check("affinity", OK, found)


def wheel_for(files: list, version: str, tags: list) -> object | None:
    """Return the file of a version that an installer with these tags (best first) takes, None without one."""
    place = {tag: number for number, tag in enumerate(tags)}
    able = [
        (min(place[tag] for tag in file.tags if tag in place), file.filename, file)
        for file in files
        if file.version == Version(version) and any(tag in place for tag in file.tags)
    ]
    return min(able, key=lambda item: item[:2])[2] if able else None
