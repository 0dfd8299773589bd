"""Files and folders that several processes write and read: a file is the old one or the new one, and complete."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def replace_file(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file completely or not at all; if that fails, for example on a full disk, the old file stays.

    A link is kept, and the file that it points to is replaced. A device or a pipe is written to.
    """
    target = Path(path).resolve()
    if target.exists() and not target.is_file():
        target.write_bytes(data)
        return
    beside = target.with_name(f".{secrets.token_hex(8)}.part")
    try:
        beside.write_bytes(data)
        beside.replace(target)
    except BaseException as error:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
        if isinstance(error, OSError):
            error.filename = os.fspath(path)
        raise


@contextmanager
def locked(folder: Path, *, shared: bool = False) -> Iterator[None]:
    """Keep other processes and threads from changing a folder; with `shared`, others may read it at the same time.

    The lock ends with the process. There is none on Windows, nor on file systems that have no locks.
    """
    try:
        import fcntl
    except ImportError:
        yield
        return
    handle = os.open(folder, os.O_RDONLY) if folder.is_dir() else -1
    try:
        if handle >= 0:
            with suppress(OSError):
                fcntl.flock(handle, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
        yield
    finally:
        if handle >= 0:
            os.close(handle)
