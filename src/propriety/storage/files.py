"""Files that are written whole or not at all, tables as Parquet files with facts, and the lock of a folder."""

from __future__ import annotations

import json
import os
import secrets
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from propriety import demands
from propriety.errors import InputTypeError, InputValueError, MissingDependencyError

if TYPE_CHECKING:
    from os import PathLike
    from types import ModuleType

METADATA_KEY = b"propriety"


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


def pyarrow() -> tuple[ModuleType, ModuleType]:
    """Import PyArrow and its Parquet module."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        raise MissingDependencyError("Parquet files and engines need PyArrow", hint="pip install pyarrow.") from error
    return pa, parquet


def write_parquet(path: str | PathLike[str], columns: Mapping[str, Any], facts: Mapping[str, Any]) -> None:
    """Write columns to a Parquet file, completely or not at all, with `facts` as JSON in its metadata."""
    pa, parquet = pyarrow()
    try:
        table = pa.table(dict(columns))
    except (pa.ArrowException, OverflowError) as error:
        law = "a column of a Parquet file must hold values of one kind, which Arrow knows"
        raise InputTypeError(law, offender=first_line(error)) from error
    sink = pa.BufferOutputStream()
    parquet.write_table(table.replace_schema_metadata({METADATA_KEY: json.dumps(dict(facts))}), sink)
    write_whole(path, sink.getvalue())


def read_parquet(path: str | PathLike[str]) -> dict[str, Any]:
    """Read the columns and facts of a file of `write_parquet` into one dict."""
    pa, parquet = pyarrow()
    try:
        table = parquet.read_table(path)
        columns = {name: table.column(name).to_numpy() for name in table.column_names}
    except (pa.ArrowException, UnicodeError, OSError) as error:
        if isinstance(error, OSError) and (error.errno or type(error) is not OSError):
            raise  # The file is absent or not readable; an incomplete file raises a plain OSError.
        raise InputValueError(demands.PARQUET, argument=str(path), offender=first_line(error)) from error
    return _facts(table.schema.metadata or {}, path) | columns


def _facts(metadata: Mapping[bytes, bytes], path: str | PathLike[str]) -> dict[str, Any]:
    law = f"{path} must be a Parquet file that propriety wrote"
    if METADATA_KEY not in metadata:
        raise InputValueError(f"{law}; its mark is missing")
    try:
        stored = json.loads(metadata[METADATA_KEY])
    except (ValueError, RecursionError):
        stored = None
    if not isinstance(stored, dict):
        raise InputValueError(f"{law}; its mark cannot be read")
    return stored


def first_line(error: Exception) -> str:
    """Return the first line of a library's error message."""
    return str(error).strip().split("\n", maxsplit=1)[0].rstrip(".")


def checked_version(data: Mapping[str, Any], schema: str, *versions: int) -> int:
    """Return the version of a stored result after checking its schema and that the version is one of `versions`."""
    found = data.get("schema") if isinstance(data, Mapping) else type(data).__name__
    if not isinstance(data, Mapping) or not isinstance(found, str) or found != schema:
        raise InputValueError(f"must be a stored {schema}", argument="data", got=found)
    version = data.get("version")
    if not isinstance(version, int) or version not in versions:
        law = f"{schema} must have version {' or '.join(map(str, versions))}; got {version!r}"
        raise InputValueError(law, hint="a newer propriety may have written it.")
    return version


def checked_fields(
    data: Mapping[str, Any], schema: str, fields: Sequence[str], *, optional: Sequence[str] = ()
) -> dict[str, Any]:
    """Return the fields of a stored result after checking that they are complete; optional ones may be absent."""
    stored = {name: value for name, value in data.items() if name not in ("schema", "version")}
    lacking = sorted(set(fields) - set(stored) - set(optional))
    surplus = sorted(map(str, set(stored) - set(fields)))
    if lacking or surplus:
        told = f"it lacks {lacking}" if lacking else f"it has {surplus} too"
        raise InputValueError(f"{schema} must have the fields {list(fields)}; {told}")
    return stored
