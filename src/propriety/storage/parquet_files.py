"""Parquet files, and the schema and version that every stored result names."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from propriety.errors import InputTypeError, InputValueError, MissingDependencyError
from propriety.storage.whole_files import write_whole

if TYPE_CHECKING:
    from os import PathLike
    from types import ModuleType

METADATA_KEY = b"propriety"


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
        raise InputValueError(f"{path} must be a whole Parquet file", offender=first_line(error)) from error
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
