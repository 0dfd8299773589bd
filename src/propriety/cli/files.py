"""Cases in files, read by DuckDB; no other module depends on this."""

from __future__ import annotations

import itertools
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import narwhals as nw

from propriety.cli.inputs import Format, check_columns, checked_footer, format_of, shown
from propriety.cli.interrupts import held, stopped_by_interrupt
from propriety.cli.spreadsheets import read_sheets
from propriety.cli.text_heads import Compression, Dialect, line_too_long, names_in_queries
from propriety.cli.texts import Role, Texts, literal
from propriety.errors import InputValueError
from propriety.storage.files import pyarrow

if TYPE_CHECKING:
    import duckdb

LINES = 3
LETTERS = 200  # Of a line of an error of DuckDB, which may quote a line of the file.
MEMORY = "400MB"  # Limit of DuckDB; beyond it, DuckDB writes to a temporary folder.
TEXT: dict[Format, Compression] = {"csv": "none", "gzip": "gzip", "zstd": "zstd"}
USED_IN_TEXT = ("--null", "--delimiter", "--decimal")
USED_IN_EXCEL = ("--null", "--sheet")
SETTINGS = {
    # A file must not make the program fetch code.
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "memory_limit": MEMORY,
}


@contextmanager
def open_relation(
    files: Sequence[Path],
    *,
    dialect: Dialect | None = None,
    roles: Mapping[str, Role] | None = None,
    numbers: Sequence[str] = (),
    others: Role | None = None,
) -> Iterator[nw.LazyFrame[Any]]:
    """Open the files as one lazy frame; of text files, the types of columns are found by queries.

    `roles` says how columns of text files are read, and `others` how those without a role are; the columns `numbers`
    must contain numbers.
    """
    with held():
        import duckdb

    dialect, roles = dialect or Dialect(), roles or {}
    formats = {format_of(path) for path in files}
    if len(formats) > 1:
        raise InputValueError(f"files must be of one format; they are {', '.join(sorted(formats))}")
    form = formats.pop()
    used_options = USED_IN_TEXT if form in TEXT else USED_IN_EXCEL if form == "excel" else ()
    dialect.check_used("CSV" if form in TEXT else form.capitalize(), used_options)
    with tempfile.TemporaryDirectory(prefix="propriety-") as folder:
        connection = duckdb.connect(":memory:", config={**SETTINGS, "temp_directory": folder})
        with stopped_by_interrupt(connection.interrupt) as interrupted:
            try:
                connection.execute("SET enable_progress_bar = false")
                used = [*roles, *numbers]
                if form in TEXT:
                    relation = Texts(files, TEXT[form], dialect).relation(connection, roles, numbers, others)
                elif form == "excel":
                    cut = [name for name, role in roles.items() if role == "quantity"]
                    sheets = read_sheets(files, sheet=dialect.sheet, nulls=dialect.nulls, numbers=numbers, cut=cut)
                    relation = _from_arrow(connection, [sheets], used)
                else:
                    relation = _relation(connection, files, form, used)
                yield nw.from_native(relation)
            except (duckdb.Error, RuntimeError) as error:
                if interrupted.is_set():
                    raise KeyboardInterrupt from error
                if not isinstance(error, duckdb.Error):
                    raise
                raise _reason(error) from error
            finally:
                connection.close()


def _relation(
    connection: duckdb.DuckDBPyConnection, files: Sequence[Path], form: Format, used: Sequence[str]
) -> duckdb.DuckDBPyRelation:
    pa, _ = pyarrow()
    if form == "parquet":
        for path in files:
            _check_given(_stored_names(path), partial(_read_names, connection, path), used, shown(path))
        return connection.read_parquet([literal(path) for path in files], union_by_name=True)
    try:
        if form == "arrow":
            from pyarrow import dataset

            several = [dataset.dataset(os.fspath(path), format="ipc") for path in files]
            check_columns(max(len(cases.schema) for cases in several))
            return _from_arrow(connection, several, used)
        # A stream can be read only once, but there are several queries; mapped memory is loaded only when it is used.
        streams = [pa.ipc.open_stream(pa.memory_map(os.fspath(path))) for path in files]
        check_columns(max(len(stream.schema) for stream in streams))
        return _from_arrow(connection, [stream.read_all() for stream in streams], used)
    except (pa.ArrowException, OSError) as error:
        raise InputValueError("files must be complete Arrow files", offender=str(error).rstrip(".")) from error


def _stored_names(path: Path) -> list[str]:
    """Return the names of the columns of a Parquet file; none if PyArrow does not know a type in it."""
    pa, _ = pyarrow()
    try:
        return list(checked_footer(path, shown(path)).schema.to_arrow_schema().names)
    except pa.ArrowException:
        return []


def _read_names(connection: duckdb.DuckDBPyConnection, path: Path) -> list[str]:
    """Return the names that DuckDB gives to the columns of a Parquet file."""
    return connection.read_parquet([literal(path)]).columns


def _from_arrow(
    connection: duckdb.DuckDBPyConnection, several: Sequence[Any], used: Sequence[str]
) -> duckdb.DuckDBPyRelation:
    """Return the rows of Arrow tables or datasets; columns are matched by name, in a type that holds all values."""
    relations = [connection.from_arrow(cases) for cases in several]
    for relation, cases in zip(relations, several, strict=True):
        _check_given(cases.schema.names, lambda own=relation: own.columns, used, "one of the files")  # type: ignore[misc]
    if len(relations) == 1:
        return relations[0]
    for place, cases in enumerate(several):
        connection.register(f"file_{place}", cases)
    parts = (f"SELECT * FROM file_{place}" for place in range(len(several)))  # noqa: S608  # nosec B608  (numbers)
    return connection.sql(" UNION ALL BY NAME ".join(parts))


def _check_given(names: Sequence[str], given: Callable[[], Sequence[str]], used: Sequence[str], where: str) -> None:
    """Raise an error if a used name was given to another column; `given` are the names that DuckDB gives.

    It reads P and p as P and p_1, even if another column is called p_1.
    """
    if len({name.lower() for name in names if name}) == len(names):
        return
    wrong = {name for pair in zip(given(), names, strict=False) if pair[0] != pair[1] for name in pair}
    ambiguous = next((name for name in used if name in wrong), None)
    if ambiguous is None:
        return
    names_in_queries(names, None, where)
    if "" in names:
        law = f"columns must have names; {where} has none for column {names.index('') + 1:,}"
        raise InputValueError(law, offender=f"so {ambiguous!r} is ambiguous", hint="give it a name.")


def _reason(error: Exception) -> InputValueError:
    """Return an error with the first lines of that of DuckDB, without lists and advice on its options."""
    if type(error).__name__ == "OutOfMemoryException":
        law = f"the files cannot be read in {MEMORY} of memory"
        return InputValueError(law, hint="keep only the columns of outcomes and forecasts, or write them as Parquet.")
    if "Maximum line size" in str(error) or "unterminated quote" in str(error):
        return line_too_long()
    if "invalid state" in str(error):
        law = "lines of text must all end alike, by LF or by CRLF, and quotes must be closed; the files cannot be read"
        return InputValueError(law)
    lines = [_cut(line.strip().rstrip(".")) for line in str(error).splitlines() if line.strip()]
    first = itertools.takewhile(lambda line: not line.endswith(":") and not line.startswith("Possible"), lines[:LINES])
    return InputValueError(f"the files cannot be read: {'; '.join(map(_cut, first))}")


def _cut(line: str) -> str:
    return line if len(line) <= LETTERS else f"{line[:LETTERS]}..."
