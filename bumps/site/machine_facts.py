"""What `method.html` says of a machine: asv's facts, and what its rows recorded of GPU, CPU and threads."""

import json
import pathlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bumps import sidecars
from bumps.results import Archive, Row
from bumps.sidecars import Sidecar

NOT_RECORDED = "not recorded"
CPU = "cpu"
# What asv asks of every machine.
ASVS = ("arch", "cpu", "num_cpu", "os", "ram")
# Beginnings of the flags that say how fast a CPU multiplies: vectors, matrices, short floats, on x86 and on ARM.
VECTOR_FLAGS = ("amx", "asimd", "avx", "bf16", "f16c", "fma", "fphp", "i8mm", "sme", "sse4_2", "sve")


@dataclass(frozen=True)
class Facts:
    """One machine: `listed` are name and value of each fact, `flags` all flags of its CPU (empty: not recorded)."""

    listed: list[tuple[str, str]]
    flags: list[str]


def of(archive: Archive, machine: str) -> Facts:
    """Return what is known of a machine that has rows. What a row of it should have recorded and did not is
    `NOT_RECORDED`."""
    rows = [row for row in archive.rows if row.machine == machine]
    told = [sidecars.of(archive, row) for row in rows]
    known = dict.fromkeys(ASVS, NOT_RECORDED) | _stored(rows[0].folder)
    if all(row.accelerator == CPU for row in rows):
        known.setdefault("gpu", "not measured on")
    else:
        known["gpu"] = known.get("gpu") or _joined(_devices(told)) or NOT_RECORDED
        known["driver"] = _joined(_drivers(told)) or known.get("driver") or NOT_RECORDED
        known["GPU clock while measuring"] = _clocks(told) or NOT_RECORDED
    flags = _flags(told)
    known["CPU flags for vectors and matrices"] = (
        ", ".join(flag for flag in flags if flag.startswith(VECTOR_FLAGS)) or "none" if flags else NOT_RECORDED
    )
    known["threads"] = _threads(archive, rows) or NOT_RECORDED
    return Facts(list(known.items()), flags)


def _stored(folder: pathlib.Path) -> dict[str, str]:
    try:
        content = json.loads((folder / "machine.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(content, dict):
        return {}
    return {str(key): str(value) for key, value in sorted(content.items()) if key not in ("machine", "version")}


def _joined(texts: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(texts))


def _devices(told: Sequence[Sidecar]) -> list[str]:
    found = []
    for each in told:
        devices = each.environment.get("devices")
        if each.environment.get("accelerator") != CPU and isinstance(devices, list):
            found += map(str, devices)
    return found


def _drivers(told: Sequence[Sidecar]) -> list[str]:
    return sorted({str(driver) for each in told if (driver := each.environment.get("driver"))})


def _clocks(told: Sequence[Sidecar]) -> str | None:
    clocks = [clock for each in told for clock in each.clocks]
    return f"{min(clocks):g} to {max(clocks):g} MHz" if clocks else None


def _flags(told: Sequence[Sidecar]) -> list[str]:
    """Return the CPU's flags as the newest inventory has them."""
    for each in sorted(told, key=lambda each: str(each.environment.get("time")), reverse=True):
        flags = each.environment.get("cpu_flags")
        if isinstance(flags, list):
            return sorted(map(str, flags))
    return []


def _threads(archive: Archive, rows: Sequence[Row]) -> str:
    """Return in words with how many threads each framework ran, as its audits of the device found."""
    found = defaultdict(set)
    for row in rows:
        for (benchmark, params), audits in sidecars.of(archive, row).audits.items():
            _, _, detail = audits.get("device", (None, None, {}))
            threads, cpus = detail.get("threads"), detail.get("cpus")
            if isinstance(threads, int):
                found[_framework(archive, row, benchmark, params)].add(
                    f"{threads} on {len(cpus)} CPUs" if isinstance(cpus, list) else str(threads)
                )
    return "; ".join(f"{framework} {', '.join(sorted(counts))}" for framework, counts in sorted(found.items()))


def _framework(archive: Archive, row: Row, benchmark: str, params: Sequence[str]) -> str:
    """Return what a benchmark's parameter says, else what the row holds."""
    named = dict(zip(archive.param_names(benchmark, len(params)), params, strict=True))
    return named.get("framework") or " and ".join(sorted(row.requirements)) or row.env_name
