"""Files that are written whole or not at all, and the lock of a folder."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def write_whole(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file whole or not at all; a device or a pipe is written to directly."""
    target = Path(path)
    if target.exists() and not target.is_file():
        target.write_bytes(data)
        return
    with replacing(path) as beside:
        beside.write_bytes(data)


@contextmanager
def replacing(path: str | os.PathLike[str], *, beside: str = "") -> Iterator[Path]:
    """Yield a file beside another, which it replaces at the end; if that fails, for example on a full disk, it is gone.

    A link is kept, and the file that it points to is replaced. The new file has the permissions of the old one. A
    killed process leaves the file beside; if `beside` names it, the next writer takes the same and leaves nothing.
    """
    target = Path(path).resolve()
    temporary = target.with_name(beside or f".{secrets.token_hex(8)}{target.suffix}")
    try:
        # Unlike a file of `tempfile`, this one has the usual permissions of a new file.
        os.close(os.open(temporary, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o666))
        mode = stat.S_IMODE((target if target.exists() else temporary).stat().st_mode)
        temporary.chmod(mode | stat.S_IWUSR)  # Nobody else may read it while it is written either.
        yield temporary
        _sync(temporary)
        temporary.chmod(mode)
        temporary.replace(target)
    except BaseException as error:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):
            error.filename, error.filename2 = os.fspath(path), None
        raise


def _sync(path: Path) -> None:
    """Wait until a file is on the disk, because it might be empty after a power failure if it were renamed before."""
    handle = os.open(path, os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_durably(path: Path, data: bytes) -> None:
    """Write a file and wait until it is on the disk."""
    handle = os.open(path, os.O_CREAT | os.O_TRUNC | os.O_WRONLY | getattr(os, "O_BINARY", 0), 0o666)
    try:
        left = memoryview(data)
        while left:
            left = left[os.write(handle, left) :]
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def locked(folder: Path, *, shared: bool = False) -> Iterator[bool]:
    """Keep other processes and threads from changing a folder, and yield whether it is locked.

    With `shared`, others may read it at the same time. The lock ends with the process. There is none on Windows, nor on
    file systems that have no locks.
    """
    handle, is_locked = -1, False
    if os.name == "posix":
        import fcntl

        while handle < 0 and folder.is_dir():
            handle = os.open(folder, os.O_RDONLY)
            with suppress(OSError):
                fcntl.flock(handle, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
                is_locked = True
            if not _is_at(handle, folder):  # Removed while this process waited, and perhaps made again.
                os.close(handle)
                handle, is_locked = -1, False
    try:
        yield is_locked
    finally:
        if handle >= 0:
            os.close(handle)


def _is_at(handle: int, folder: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), folder.stat())
    except FileNotFoundError:
        return False
