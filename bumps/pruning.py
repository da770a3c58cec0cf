"""Makes a results tree smaller and up to date: old samples become process medians, old formats asv's current one.

Verdicts stay what they are: they need process medians and no more. Whatever happens in between, each file is written
whole or not at all, and a file whose journal was thinned already, or not yet, is read the same.
"""

import fcntl
import json
import os
import pathlib
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from asv.results import get_filename

from bumps import cutting, files, journals, results, thinning, writer
from bumps.cutting import Piece
from bumps.journal import FOLDER as SESSIONS
from bumps.journals import THINNED, Journals

RESULT_FILE = re.compile(r"([0-9a-f]+)-(.+)\.json", re.IGNORECASE)
IN_SESSIONS = f"{SESSIONS}/*.jsonl"
DAY = 86400.0
COMPACT = (",", ":")


@dataclass
class Pruned:
    """What a prune did: bytes `before` and `after`, `thinned` and `migrated` files, figures kept `whole` although they
    are old since nothing says where one process ends, and what was `left` as it is: (file, why)."""

    before: int = 0
    after: int = 0
    thinned: int = 0
    migrated: int = 0
    whole: int = 0
    left: list[tuple[str, str]] = field(default_factory=list)


def prune(results_dir: pathlib.Path, days: float, now: float, dry_run: bool = False) -> Pruned:
    """Thin samples that are older than `days` at `now` (seconds since the epoch), and migrate what an older asv wrote.

    A machine that is being measured is left for another time. A dry run writes nothing. Raises OSError.
    """
    done = Pruned()
    before = now - days * DAY
    benchmarks = _benchmarks(results_dir / "benchmarks.json", done)
    with writer.exclusive(results_dir):
        for folder in sorted(results_dir.iterdir()):
            if not folder.is_dir() or folder.is_symlink():
                continue
            with _not_measured(folder) as idle:
                if idle:
                    _Machine(folder, benchmarks, before, done, dry_run).prune()
                else:
                    done.left.append((folder.name, "is being measured; left for another time"))
    return done


def _benchmarks(path: pathlib.Path, done: Pruned) -> dict[str, dict]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return {name: value for name, value in content.items() if isinstance(value, dict)}
    except FileNotFoundError:
        pass
    except (OSError, ValueError, AttributeError, RecursionError):
        done.left.append((path.name, "cannot be read; `asv run --bench just-discover` writes it anew"))
    return {}


@contextmanager
def _not_measured(folder: pathlib.Path) -> Iterator[bool]:
    """Hold every journal of a machine; false when somebody has one open."""
    descriptors = []
    try:
        for path in sorted((folder / SESSIONS).glob("*.jsonl")):
            if not path.is_file() or path.is_symlink():
                continue
            descriptors.append(os.open(path, os.O_RDONLY))
            try:
                fcntl.flock(descriptors[-1], fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
                return
        yield True
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


class _Machine:
    """The folder of one machine while it is pruned."""

    def __init__(self, folder: pathlib.Path, benchmarks: dict, before: float, done: Pruned, dry_run: bool):
        self._folder, self._benchmarks, self._before, self._done, self._dry_run = (
            folder, benchmarks, before, done, dry_run,
        )  # fmt: skip
        self._journals: Journals = journals.read(folder)
        self._ended: dict[str, float] = {}
        for entries in self._journals.entries.values():
            for entry in entries:
                process = entry.process
                ended = process.ended or process.started or float("inf")
                self._ended[process.session] = max(ended, self._ended.get(process.session, 0.0))
        self._spans = self._journals.spans()

    def prune(self) -> None:
        size = sum(
            path.stat().st_size for pattern in ("*.json", "*.jsonl", IN_SESSIONS) for path in self._files(pattern)
        )
        self._done.before += size
        self._done.after += size
        # Results before journals: what a crash in between leaves is read, and is finished by the next prune.
        for path in self._files("*.json"):
            if path.name not in results.NOT_RESULTS:
                self._prune_results(path)
        for path in self._files(IN_SESSIONS):
            self._prune_lines(path, self._thin_journal)
        for path in self._files("*.jsonl"):
            self._prune_lines(path, self._thin_sidecar)

    def _files(self, pattern: str) -> list[pathlib.Path]:
        return [
            path
            for path in sorted(self._folder.glob(pattern))
            if path.is_file() and not path.is_symlink() and not path.parent.is_symlink()
        ]

    def _write(self, path: pathlib.Path, had: int, content: bytes) -> None:
        self._done.after += len(content) - had
        if not self._dry_run:
            files.write_whole(path, content)

    def _leave(self, path: pathlib.Path, why: str) -> None:
        self._done.left.append((path.relative_to(self._folder.parent).as_posix(), why))

    def _read(self, path: pathlib.Path) -> bytes | None:
        try:
            return path.read_bytes()
        except OSError as error:
            self._leave(path, f"cannot be read: {error.strerror}")
            return None

    def _prune_lines(self, path: pathlib.Path, thin: Callable[[list[bytes]], list[bytes]]) -> None:
        raw = self._read(path)
        if raw is None:
            return
        lines = raw.splitlines(keepends=True)
        kept = thin(lines)
        if kept == lines:
            return
        if path.stat().st_size != len(raw):
            self._leave(path, "was written to meanwhile; left for another time")
            return
        self._done.thinned += 1
        self._write(path, len(raw), b"".join(kept))

    def _thin_journal(self, lines: list[bytes]) -> list[bytes]:
        ended = [
            journals.seconds(record.get("ended") or record.get("started"))
            for line in lines
            if (record := thinning.record_of(line)) is not None and record.get("record") == "process"
        ]
        if None in ended or max(ended, default=self._before) >= self._before:
            return lines
        # A last line that was cut short stays as it is: whoever takes the session up removes it.
        whole = [line[:-1] for line in lines if line.endswith(b"\n")]
        return [*(line + b"\n" for line in thinning.journal_lines(whole)), *lines[len(whole) :]]

    def _thin_sidecar(self, lines: list[bytes]) -> list[bytes]:
        return thinning.sidecar_lines(lines, self._spans)

    def _prune_results(self, path: pathlib.Path) -> None:
        raw = self._read(path)
        if raw is None:
            return
        try:
            content = json.loads(raw)
            current = results.in_current_format(content)
            migrated = current is not content
            runs = self._thin_results(current)
        except (ValueError, TypeError, KeyError, AttributeError, IndexError, RecursionError) as error:
            why = str(error) if type(error) is ValueError else "is not asv's format"
            self._leave(path, why)
            return
        if runs is None and not migrated:
            return
        if runs:
            self._say_thinned(runs)
        self._done.thinned += runs is not None
        self._done.migrated += migrated
        current["version"] = results.ASV_FORMAT
        self._write(path, len(raw), json.dumps(current, separators=COMPACT).encode())
        if migrated:
            self._rename(path)

    def _thin_results(self, content: dict) -> list[dict] | None:
        """Thin a result file's content in place.

        Return None when nothing changed, else the records of those medians of which no session tells.
        """
        columns, env_name, commit = content["result_columns"], content["env_name"], content["commit_hash"]
        if "samples" not in columns:
            return None
        at = {name: columns.index(name) for name in ("samples", "version", "started_at") if name in columns}
        runs, changed = [], False
        for benchmark, values in content["results"].items():
            row = dict(enumerate(values))
            samples = row.get(at["samples"])
            if not isinstance(samples, list):
                continue
            version, started = row.get(at.get("version")), journals.seconds(row.get(at.get("started_at")))
            version = None if version is None else str(version)
            repeat = results.fixed_repeat(self._benchmarks, benchmark, version)
            for index, whole in enumerate(samples):
                if not whole or not journals.are_numbers(whole):
                    continue
                key = env_name, benchmark, index
                measured = [each for each in self._journals.belonging(key, commit, version) if each.count]
                pieces = cutting.cut(whole, measured, repeat, self._journals.thinned.get(key, ()))
                is_old = self._is_old(None if started is None else started / 1000)
                if pieces is None:
                    self._done.whole += is_old(Piece(0, 0))
                    continue
                thinned = thinning.samples(whole, pieces, is_old)
                if thinned == whole:
                    continue
                samples[index], changed = thinned, True
                count = sum(piece.entry is None and is_old(piece) for piece in pieces)
                if count:
                    digest = journals.digest(thinned[:count]).hex()
                    runs.append(
                        {"record": "thinned", "env_name": env_name, "commit": commit, "benchmark": benchmark}
                        | {"version": version, "index": index, "count": count, "digest": digest}
                    )
        return runs if changed else None

    def _is_old(self, started: float | None) -> Callable[[Piece], bool]:
        """Return whether a process ended so long ago; of one that no journal tells of, whether its file started."""

        def is_old(piece: Piece) -> bool:
            if piece.entry is None:
                return started is not None and started < self._before
            return self._ended.get(piece.entry.process.session, float("inf")) < self._before

        return is_old

    def _say_thinned(self, runs: list[dict]) -> None:
        """Record what the medians are before they are there: a record of what is not there yet does no harm."""
        path = self._folder / THINNED
        had = path.read_bytes() if path.exists() else b""
        lines = set(had.splitlines())
        new = b"".join(line + b"\n" for each in runs if (line := json.dumps(each).encode()) not in lines)
        if new and not self._dry_run:
            files.write_whole(path, had + new)
        self._done.after += len(new)

    def _rename(self, path: pathlib.Path) -> None:
        """Give a migrated file the name that asv looks for."""
        found = RESULT_FILE.fullmatch(path.name)
        name = pathlib.Path(get_filename("", found[1], found[2])).name if found else path.name
        if name == path.name or self._dry_run:
            return
        if (self._folder / name).exists():
            self._leave(path, f"should be called {name}, which is there already")
        else:
            path.rename(self._folder / name)
