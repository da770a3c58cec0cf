"""How busy the CPU is with other work."""

import pathlib
import time

STAT = pathlib.Path("/proc/stat")
# Beside a measurement's own start some share of it is always taken.
BUSY = 0.15
SECONDS = 1.0


def busy_share(seconds: float = SECONDS) -> float | None:
    """Return the share of all cores' time in use, watched for so long; None where the system tells none."""
    before = _times()
    time.sleep(seconds)
    after = _times()
    if before is None or after is None or after[1] <= before[1]:
        return None
    return 1 - (after[0] - before[0]) / (after[1] - before[1])


def _times() -> tuple[int, int] | None:
    """Return (idle, all) clock ticks since the start of the system: proc(5), the first line of /proc/stat."""
    try:
        name, *ticks = STAT.read_text(encoding="ascii").splitlines()[0].split()
        counted = [int(tick) for tick in ticks[:8]]
        return (counted[3] + counted[4], sum(counted)) if name == "cpu" else None
    except (OSError, ValueError, IndexError):
        return None
