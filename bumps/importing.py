"""Takes results that somebody sent into a results tree: one result file of asv's, or a packed results folder.

Nothing in it is run, followed or written where it says: it is unpacked name by name into a folder of its own, checked
there, given safe names, and then merged as any other tree.
"""

import bz2
import functools
import gzip
import json
import lzma
import pathlib
import stat
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from asv.results import get_filename
from asv.util import UserError

from bumps import artifact, merging, received
from bumps.machine import safe_name
from bumps.results import NOT_RESULTS

# What asv and this suite know of a machine; the rest of a result file's params are its row's.
FACTS = ("arch", "cpu", "driver", "gpu", "num_cpu", "os", "ram")
LARGEST_FILE = 64 * 2**20
# Its members' headers and padding come on top.
LARGEST_ARCHIVE = artifact.MOST_BYTES + 64 * 2**20
MOST_ENTRIES = 2 * artifact.MOST_FILES
CHUNK = 2**20
# What the two modules raise of archives that are damaged, encrypted or packed in a way that they do not know.
UNPACKABLE = (
    *(zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError),
    *(EOFError, OSError, ValueError, RuntimeError, OverflowError),
)


@dataclass
class Imported:
    """What was taken: `merged` says what became of it; `commits` are those that were measured, `benchmarks` the names
    that have figures."""

    merged: merging.Merged
    commits: set[str] = field(default_factory=set)
    benchmarks: set[str] = field(default_factory=set)


def take(file: pathlib.Path, target: pathlib.Path, machine: str | None = None) -> Imported:
    """Check a file and merge it into a results tree, under another machine's name if one is given.

    Raises UserError with the first thing that is not as it should be; then nothing was taken.
    """
    if machine is not None and machine != safe_name(machine):
        raise UserError(f"--machine {machine!a} cannot be a folder's name; use {safe_name(machine)}")
    if not file.is_file():
        raise UserError(f"there is no file {file}")
    with tempfile.TemporaryDirectory(prefix="bumps-") as temporary:
        unpacked, tree = pathlib.Path(temporary) / "unpacked", pathlib.Path(temporary) / "tree"
        unpacked.mkdir()
        tree.mkdir()
        try:
            if zipfile.is_zipfile(file):
                with zipfile.ZipFile(file) as archive:
                    _unpack(_zip_members(archive), unpacked, file.name)
            elif _is_tar(plain := _decompressed(file, pathlib.Path(temporary) / "decompressed")):
                with tarfile.open(plain, "r:") as archive:
                    _unpack(_tar_members(archive, file.name), unpacked, file.name)
            else:
                _unpack_result(plain, unpacked, file.name)
        except UNPACKABLE as error:
            raise UserError(f"{file.name} cannot be unpacked: {error}") from None
        found = Imported(merging.Merged())
        folders = _machines(unpacked, file.name)
        if machine is not None and len(folders) > 1:
            raise UserError(f"{file.name} holds {len(folders)} machines; --machine can name one")
        for folder in folders:
            _bring(folder, tree, machine, found)
        if (target / merging.SUITE).is_file():
            # How samples are cut into processes is what this suite says, not what the sender does.
            (tree / merging.SUITE).write_bytes((target / merging.SUITE).read_bytes())
        found.merged = merging.merge(tree, target)
        found.merged.conflicts = [each.replace(f"{tree}/", "") for each in found.merged.conflicts]
    return found


# A member: its name as the archive has it, and how to read it.
Member = tuple[str, Callable[[], object]]


def _zip_members(archive: zipfile.ZipFile) -> Iterator[Member]:
    for info in archive.infolist():
        kind = stat.S_IFMT(info.external_attr >> 16)
        if info.is_dir():
            continue
        if kind not in (0, stat.S_IFREG):
            raise UserError(f"{ascii(info.filename)[:200]} is no plain file")
        yield info.filename, lambda info=info: archive.open(info)


def _decompressed(file: pathlib.Path, copy: pathlib.Path) -> pathlib.Path:
    """Return what a compressed file holds, the file itself where it is not compressed: tarfile reads a header of any
    length into memory, so what it is given has to be limited before."""
    with open(file, "rb") as stream:
        start = stream.read(8)
    for magic, opened in ((b"\x1f\x8b", gzip.open), (b"BZh", bz2.open), (b"\xfd7zXZ\x00", lzma.open)):
        if start.startswith(magic):
            _copy(functools.partial(opened, file), copy, LARGEST_ARCHIVE, file.name)
            return copy
    return file


def _is_tar(file: pathlib.Path) -> bool:
    try:
        tarfile.open(file, "r:").close()
    except tarfile.TarError:
        return False
    return True


def _tar_members(archive: tarfile.TarFile, name: str) -> Iterator[Member]:
    for count, info in enumerate(archive):
        if count > MOST_ENTRIES:
            raise UserError(f"{name} holds over {MOST_ENTRIES} files and folders")
        if info.isdir():
            continue
        if not info.isreg():
            raise UserError(f"{ascii(info.name)[:200]} is no plain file")
        yield info.name, lambda info=info: archive.extractfile(info)


def _unpack(members: Iterator[Member], folder: pathlib.Path, name: str) -> None:
    """Write members as `<number of the machine's folder>/[sessions/]<number>.<ending>`: their names make no paths."""
    folders: dict[str, pathlib.Path] = {}
    size = 0
    for count, (member, open_member) in enumerate(members, 1):
        parts = [part for part in member.replace("\\", "/").split("/") if part not in ("", ".")]
        if ".." in parts or member.startswith("/") or any(ord(each) < 32 for each in member):
            raise UserError(f"{name}: {ascii(member)[:200]} leads out of it")
        if count > artifact.MOST_FILES:
            raise UserError(f"{name} holds over {artifact.MOST_FILES} files")
        in_sessions = len(parts) > 1 and parts[-2] == merging.SESSIONS
        above = "/".join(parts[: -2 if in_sessions else -1])
        ending = pathlib.PurePosixPath(parts[-1]).suffix if parts else ""
        if ending not in (".json", ".jsonl") or (in_sessions and ending == ".json"):
            raise UserError(f"{name}: {ascii(member)[:200]} is no result")
        if parts[-1] == merging.SUITE:
            # What this suite's benchmarks are is not the sender's to say; its size counts all the same.
            with tempfile.NamedTemporaryFile() as unused:
                size += _copy(open_member, pathlib.Path(unused.name), _room(size), name)
            continue
        own = folders.setdefault(above, folder / str(len(folders)))
        place = own / merging.SESSIONS if in_sessions else own
        place.mkdir(parents=True, exist_ok=True)
        # Sidecars and journals are found by their names.
        if parts[-1] == merging.MACHINE or ending == ".jsonl":
            kept = _plain(parts[-1], name)
        else:
            kept = f"{count}.json"
        if (place / kept).exists():
            raise UserError(f"{name} holds {ascii(member)[:200]} twice")
        size += _copy(open_member, place / kept, _room(size), name)


def _plain(part: str, name: str) -> str:
    """Return a file's name that is one everywhere. Raises UserError."""
    if len(part.encode()) > 250 or part.startswith((".", "-")) or not part.isprintable():
        raise UserError(f"{name}: {ascii(part)[:200]} is no name of a sidecar or a journal")
    return part


def _room(size: int) -> int:
    return min(artifact.MOST_BYTES - size, LARGEST_FILE)


def _copy(open_member: Callable, path: pathlib.Path, most: int, name: str) -> int:
    """Copy a member and return its size; what an archive says of sizes is not trusted."""
    size = 0
    with open_member() as source, open(path, "wb") as copy:
        while chunk := source.read(CHUNK):
            size += len(chunk)
            if size > most:
                raise UserError(f"{name} is too large: over {LARGEST_FILE >> 20} MiB a file or "
                                f"{artifact.MOST_BYTES >> 20} MiB altogether")  # fmt: skip
            copy.write(chunk)
    return size


def _unpack_result(file: pathlib.Path, folder: pathlib.Path, name: str) -> None:
    """Lay out one result file as a machine's folder, with the machine's facts that it holds."""
    if file.stat().st_size > LARGEST_FILE:
        raise UserError(f"{name} is too large: over {LARGEST_FILE >> 20} MiB")
    content = received.result(received.parse(file.read_bytes(), name), name)
    params = content["params"]
    facts = {name: params[name] for name in FACTS if params.get(name) is not None}
    (folder / "0").mkdir()
    (folder / "0" / "0.json").write_text(json.dumps(content))
    (folder / "0" / merging.MACHINE).write_text(json.dumps({**facts, "machine": params["machine"], "version": 1}))


def _machines(unpacked: pathlib.Path, name: str) -> list[pathlib.Path]:
    folders = sorted(unpacked.iterdir())
    for folder in folders:
        if not (folder / merging.MACHINE).is_file():
            raise UserError(f"{name} is no results folder: beside some of its files there is no {merging.MACHINE}")
    if not folders:
        raise UserError(f"{name} holds no results")
    return folders


def _bring(folder: pathlib.Path, tree: pathlib.Path, machine: str | None, found: Imported) -> None:
    """Check one machine's files and write them under safe names."""
    path = folder / merging.MACHINE
    facts = received.machine(received.parse(path.read_bytes(), path.name), path.name)
    sent_as, name = facts["machine"], machine or safe_name(facts["machine"])
    place = tree / name
    if place.exists():
        raise UserError(f"two of its machines would be called {name}")
    (place / merging.SESSIONS).mkdir(parents=True)
    known = json.dumps({**facts, "machine": name, "version": 1}, indent=4, sort_keys=True)
    (place / path.name).write_text(known + "\n")
    for file in sorted(folder.glob("*.json")):
        if file.name in NOT_RESULTS:
            continue
        said = f"result file {file.stem}"
        content = received.result(received.parse(file.read_bytes(), said), said)
        said = f"{content['commit_hash'][:8]}-{content['env_name'][:100]}"
        if content["params"]["machine"] != sent_as:
            raise UserError(f"{said} is of another machine than its {merging.MACHINE}")
        content["params"]["machine"] = name
        # A result file's own name is asv's rule, not the sender's choice.
        target = tree / get_filename(name, content["commit_hash"], content["env_name"])
        if target.exists():
            raise UserError(f"{said} is in it twice")
        target.write_text(json.dumps(content))
        found.commits.add(content["commit_hash"])
        found.benchmarks.update(content["results"])
    for file in sorted(folder.rglob("*.jsonl")):
        kept = received.lines(file.read_bytes(), file.name)
        (place / file.relative_to(folder)).write_bytes(kept)
