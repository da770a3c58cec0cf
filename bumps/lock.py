"""One measurement at a time on a GPU, or on a machine's CPU.

The lock is the kernel's, on a file: it ends with the process that holds it, however that ends. Beside it stands who
holds it, for whoever waits.
"""

import contextlib
import getpass
import json
import os
import pathlib
import tempfile
from collections.abc import Callable, Iterator
from datetime import datetime

import filelock
from asv.util import UserError

from bumps import files, gpu

# Not /tmp itself: its sticky bit keeps users from opening each other's files.
FOLDER = pathlib.Path(tempfile.gettempdir()) / "framework-bumps"
POLL_SECONDS = 1.0


@contextlib.contextmanager
def measuring(
    resource: str, purpose: str, wait: bool, say: Callable[[str], None], folder: pathlib.Path = FOLDER
) -> Iterator[None]:
    """Hold a resource (`cpu`, or a GPU's UUID) while measuring.

    While another process holds it, wait and `say` so once. Raises UserError when it is not to wait, or when the
    lock cannot be had at all.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(PermissionError):
            folder.chmod(0o777)
        lock = filelock.FileLock(
            folder / f"{resource}.lock", mode=0o666, poll_interval=POLL_SECONDS, fallback_to_soft=False
        )
        holder_file = folder / f"{resource}.holder"
        try:
            lock.acquire(timeout=0)
        except filelock.Timeout:
            holder = describe(holder_file)
            if not wait:
                raise UserError(f"{holder} is measuring here; without --no-wait this run waits for it") from None
            say(f"waiting: {holder} is measuring here")
            lock.acquire()
    except (OSError, NotImplementedError) as error:
        raise UserError(f"the lock for measuring in {folder} cannot be had: {error}") from None
    try:
        with contextlib.suppress(OSError):
            files.write_whole(holder_file, json.dumps(_holder(purpose)).encode())
        yield
    finally:
        with contextlib.suppress(OSError):
            holder_file.unlink(missing_ok=True)
        lock.release()


def _holder(purpose: str) -> dict:
    return {
        "pid": os.getpid(),
        "user": _user(),
        "since": datetime.now().astimezone().isoformat(timespec="seconds"),
        "purpose": purpose,
    }


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        # A container's user need not have a name.
        return f"user {os.getuid()}"


def describe(holder_file: pathlib.Path) -> str:
    """Return who holds a lock, in words."""
    try:
        found = json.loads(holder_file.read_text(encoding="utf-8"))
        purpose, since = f"{found['purpose']:.80}", f"{found['since']:.30}"
        return f"process {int(found['pid'])} of {found['user']:.40} ({purpose}, since {since})"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"


def refuse_busy(device: gpu.Gpu, shared: bool, processes: Callable[[gpu.Gpu], int] = gpu.compute_processes) -> None:
    """Raise UserError when others compute on the GPU, unless the user agrees to share it."""
    count = processes(device)
    if count and not shared:
        raise UserError(
            f"{count} other process{'es' if count > 1 else ''} compute{'' if count > 1 else 's'} on {device.name} "
            f"(GPU {device.index}); choose another with CUDA_VISIBLE_DEVICES, or measure all the same with --shared, "
            "and the results are marked as disturbed"
        )
