"""Writes the journal of one measuring session, and takes an unfinished one up again.

docs/architecture.md describes the records. A record is on the disk before the next process starts.
"""

import contextlib
import fcntl
import json
import os
import pathlib
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from asv.util import UserError

from bumps import files, journals
from bumps.plan import Item

SCHEMA = 1
FOLDER = "sessions"


@dataclass(frozen=True)
class Stage:
    """Fresh processes for some items of some rows; stage 0 is the plan's whole selection."""

    number: int
    rounds: int
    selection: dict[str, tuple[Item, ...]]

    def as_record(self) -> dict:
        return {
            "record": "stage",
            "stage": self.number,
            "rounds": self.rounds,
            "selection": {env_name: [list(item) for item in items] for env_name, items in self.selection.items()},
        }


@dataclass
class Session:
    """A session as its journal tells it. `head` is the `session` record, `processes` those records as they stand."""

    head: dict
    processes: list[dict] = field(default_factory=list)
    stages: list[Stage] = field(default_factory=list)
    finished: bool = False

    @property
    def id(self) -> str:
        return self.head["id"]

    @property
    def seconds(self) -> float:
        """Seconds that its processes took."""
        return sum(process.get("python_seconds", 0.0) for process in self.processes)

    @property
    def timed_seconds(self) -> float:
        return sum(process.get("timed_seconds", 0.0) for process in self.processes)

    def entries(self, env_name: str) -> Iterable[tuple[dict, dict]]:
        """Yield (process, entry) of a row in the order measured."""
        for process in self.processes:
            if process["env_name"] == env_name:
                for entry in process["entries"]:
                    yield process, entry

    def measured(self, stage: int, round_: int, env_name: str) -> set[Item]:
        """Return the items that a row has had in a round."""
        return {
            item_of(entry)
            for process, entry in self.entries(env_name)
            if (process["stage"], process["round"]) == (stage, round_)
        }


def item_of(entry: dict) -> Item:
    return Item(entry["benchmark"], entry["index"])


def read(path: pathlib.Path) -> Session | None:
    """Read a journal; None when it has no head, or one of another schema. Raises OSError."""
    session = None
    for record in journals.records(path):
        kind = record["record"]
        try:
            if kind == "session" and record["schema"] == SCHEMA:
                _expect(record["id"], str)
                _expect(record["seed"], int)
                session = Session(record)
            elif session is None:
                continue
            elif kind == "process":
                session.processes.append(_process(record))
            elif kind == "stage":
                session.stages.append(_stage(record))
            elif kind == "finished":
                session.finished = True
        except (KeyError, TypeError, ValueError, OverflowError, AttributeError):
            continue
    return session


def _process(record: dict) -> dict:
    """Return a `process` record that is what it should be. Raises KeyError, TypeError and ValueError."""
    for entry in record["entries"]:
        _expect(entry["benchmark"], str)
        _expect(entry["index"], int)
        _expect(entry.get("status"), str, type(None))
        _expect(entry.get("number"), int, type(None))
        if not journals.are_numbers([entry.get("seconds", 0.0), *(entry.get("samples") or ())]):
            raise ValueError("seconds and samples are numbers")
    if not journals.are_numbers([record.get("python_seconds", 0.0), record.get("timed_seconds", 0.0)]):
        raise ValueError("seconds are numbers")
    found = {"stage": 0, **record}
    for name, kind in (("stage", int), ("round", int), ("env_name", str), ("started", str)):
        _expect(found[name], kind)
    return found


def _expect(value: object, *kinds: type) -> None:
    if type(value) not in kinds:
        raise TypeError(f"{value!r} is no {kinds[0].__name__}")


def _stage(record: dict) -> Stage:
    selection = {
        env_name: tuple(Item(str(name), int(index)) for name, index in items)
        for env_name, items in record["selection"].items()
    }
    return Stage(int(record["stage"]), int(record["rounds"]), selection)


class Journal:
    """The open journal of one session: what it tells so far is `session`, `append` adds to both.

    While it is open no other process takes the session up.
    """

    def __init__(self, path: pathlib.Path, session: Session, descriptor: int):
        self.path, self.session, self._descriptor = path, session, descriptor

    @classmethod
    def start(
        cls, machine_folder: pathlib.Path, commit: str, plan: dict, versions: dict[str, str], **facts
    ) -> "Journal":
        """Begin a new session. Raises OSError."""
        started = datetime.now(UTC)
        name = f"{started:%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}"
        folder = machine_folder / FOLDER
        folder.mkdir(parents=True, exist_ok=True)
        head = {
            "record": "session",
            "id": name,
            "schema": SCHEMA,
            "commit": commit,
            "plan": plan,
            "versions": versions,
            "started": started.isoformat(timespec="milliseconds"),
            "seed": secrets.randbits(32),
        }
        path = folder / f"{name}.jsonl"
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL, 0o644)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        journal = cls(path, Session(head), descriptor)
        journal._write(head)
        files.sync_folder(folder)
        return journal

    @classmethod
    def resume(
        cls, machine_folder: pathlib.Path, commit: str, plan: dict, versions: dict[str, str]
    ) -> "Journal | None":
        """Take up the newest unfinished session with this very plan that no other process has open; None without
        one. Raises OSError."""
        for path in sorted((machine_folder / FOLDER).glob("*.jsonl"), reverse=True):
            try:
                descriptor = os.open(path, os.O_RDWR | os.O_APPEND)
            except OSError:
                # A folder, a link to nothing, another user's: nobody's session to take up.
                continue
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(descriptor)
                continue
            session = read(path)
            if session and not session.finished and _head(session) == (commit, plan, versions):
                _drop_cut_line(descriptor)
                # A record that lacked only its end of line was read, and is gone.
                session = read(path)
                if session:
                    return cls(path, session, descriptor)
            os.close(descriptor)
        return None

    def append_process(self, record: dict) -> None:
        self._write({"record": "process", **record})
        self.session.processes.append(_process(record))

    def append_stage(self, stage: Stage) -> None:
        self._write(stage.as_record())
        self.session.stages.append(stage)

    def finish(self) -> None:
        """Mark the session as finished: the next run with the same plan measures afresh."""
        self._write({"record": "finished", "ended": datetime.now(UTC).isoformat(timespec="milliseconds")})
        self.session.finished = True

    def close(self) -> None:
        with contextlib.suppress(OSError):
            os.close(self._descriptor)

    def _write(self, record: dict) -> None:
        data = (json.dumps(record, allow_nan=False) + "\n").encode()
        try:
            while data:
                data = data[os.write(self._descriptor, data) :]
            os.fsync(self._descriptor)
        except OSError as error:
            raise UserError(f"the journal {self.path} cannot be written: {error.strerror}") from None


def _head(session: Session) -> tuple:
    return session.head.get("commit"), session.head.get("plan"), session.head.get("versions")


def _drop_cut_line(descriptor: int) -> None:
    """Remove a last line that a kill cut short: what is appended must start a line of its own."""
    size = os.fstat(descriptor).st_size
    position, chunk = size, 1 << 16
    while position > 0:
        start = max(0, position - chunk)
        found = os.pread(descriptor, position - start, start).rfind(b"\n")
        if found >= 0:
            os.ftruncate(descriptor, start + found + 1)
            return
        position = start
    os.ftruncate(descriptor, 0)
