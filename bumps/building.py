"""Builds rows before anything is measured: several at a time, each in a process that dies with the driver.

Run as a program it builds the one environment that a pickle file holds.
"""

import concurrent.futures
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable

from asv import util

from bumps import process
from bumps.rows import Row

LONGEST_REASON = 300


def build(rows: Iterable[Row], jobs: int, say: Callable[[str], None]) -> None:
    """Make every row's environment unless it is there; `say` is told what takes long.

    A row that cannot be built says why in `Row.unbuildable` afterwards.
    """
    by_folder: dict[str, list[Row]] = {}
    for row in rows:
        by_folder.setdefault(row.environment.dir_name, []).append(row)
    # A row and its control share one environment on disk.
    missing = [shared[0] for shared in by_folder.values() if not shared[0].environment.check_presence()]
    running: set[subprocess.Popen] = set()
    with concurrent.futures.ThreadPoolExecutor(max_workers=jobs) as pool:
        futures = [pool.submit(_build, row, say, running) for row in missing]
        try:
            for future in futures:
                future.result()
        except BaseException:
            # Ctrl-C, or a build that failed in an unforeseen way: the others are not waited for.
            pool.shutdown(wait=False, cancel_futures=True)
            for guard in tuple(running):
                process.end(guard)
            raise
    for shared in by_folder.values():
        for row in shared:
            row.environment.create()


def _build(row: Row, say: Callable[[str], None], running: set[subprocess.Popen]) -> None:
    say(f"building {row} …")
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="bumps-") as folder:
        pickled = pathlib.Path(folder) / "environment"
        pickled.write_bytes(pickle.dumps(row.environment))
        log = pathlib.Path(folder) / "output"
        with open(log, "wb") as output:
            command = [sys.executable, "-m", "bumps.building", str(pickled)]
            with process.guarded(command, dict(os.environ), os.getcwd(), output) as guard:
                running.add(guard)
                status = process.status_of(guard)
                running.discard(guard)
        said = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    if row.unbuildable is None and status == 0:
        say(f"built {row} in {time.monotonic() - started:.0f} s")
    elif row.unbuildable is None:
        last = said[-1].strip()[:LONGEST_REASON] if said else f"exit status {status}"
        raise util.UserError(f"{row} cannot be built: {last}")


def main() -> None:
    environment = pickle.loads(pathlib.Path(sys.argv[1]).read_bytes())
    environment.create()


if __name__ == "__main__":
    main()
