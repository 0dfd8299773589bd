"""Cases in files, read by DuckDB; nothing else in the package knows that."""

from __future__ import annotations

import glob
import itertools
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import narwhals as nw

from propriety.cli.inputs import Format, format_of
from propriety.cli.interrupts import held, stopped_by_interrupt
from propriety.errors import InputValueError, sentence
from propriety.tables.frames import pyarrow

if TYPE_CHECKING:
    import duckdb

__all__ = ["Opened", "open_relation"]

LINES = 3
MEMORY = "400MB"  # What DuckDB may hold; what is more goes to a temporary folder.
TEXT: dict[Format, Literal["none", "gzip", "zstd"]] = {"csv": "none", "gzip": "gzip", "zstd": "zstd"}
SETTINGS = {
    # A file must not make the program fetch code.
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "memory_limit": MEMORY,
}


@dataclass(frozen=True, slots=True, eq=False)
class Opened:
    """Cases that are still in their files.

    `rows` is their number, where the files tell it without being read; `scanned()` is the share of the files that the
    running query has scanned, and None while none runs.
    """

    frame: nw.LazyFrame[Any]
    rows: int | None
    scanned: Callable[[], float | None]

    def count(self) -> int:
        """Return the number of rows, by a query where the files do not tell it."""
        return int(self.frame.select(nw.len()).collect().item()) if self.rows is None else self.rows


@contextmanager
def open_relation(files: Sequence[Path], *, nulls: Sequence[str] = ()) -> Iterator[Opened]:
    """Open the files as one lazy frame; nothing is read but their beginnings.

    `nulls` are texts that mean a missing value in CSV, beside an empty field.
    """
    with held():
        import duckdb

    formats = {format_of(path) for path in files}
    if len({"csv" if form in TEXT else form for form in formats}) > 1:
        law = f"files must be of one format; they are {', '.join(sorted(formats))}"
        raise InputValueError(sentence(law))
    with tempfile.TemporaryDirectory(prefix="propriety-") as folder:
        connection = duckdb.connect(":memory:", config={**SETTINGS, "temp_directory": folder})
        with stopped_by_interrupt(connection.interrupt) as interrupted:
            try:
                # Progress is measured only where a bar is asked for; ours is drawn elsewhere.
                connection.execute("SET enable_progress_bar = true; SET enable_progress_bar_print = false")
                relation = _relation(connection, files, formats.pop(), nulls)
                yield Opened(nw.from_native(relation), _rows(files), lambda: _share(connection.query_progress()))
            except (duckdb.Error, RuntimeError) as error:
                if interrupted.is_set():
                    raise KeyboardInterrupt from error
                if not isinstance(error, duckdb.Error):
                    raise
                raise InputValueError(_reason(error)) from error
            finally:
                connection.close()


def _relation(
    connection: duckdb.DuckDBPyConnection, files: Sequence[Path], form: Format, nulls: Sequence[str]
) -> duckdb.DuckDBPyRelation:
    pa, _ = pyarrow()
    names = [_literal(path) for path in files]
    if form == "parquet":
        return connection.read_parquet(names, union_by_name=True)
    if form in TEXT:
        # By name, because files whose columns stand in another order would be read askew.
        return connection.read_csv(
            names,  # type: ignore[arg-type]  # a list is taken, too
            union_by_name=True,
            na_values=["", *nulls],
            compression=TEXT[form],
        )
    try:
        if form == "arrow":
            from pyarrow import dataset

            return connection.from_arrow(dataset.dataset([os.fspath(path) for path in files], format="ipc"))
        # A stream is read once, and queries are several; mapped memory is not counted as ours until it is touched.
        streams = [pa.ipc.open_stream(pa.memory_map(os.fspath(path))).read_all() for path in files]
        return connection.from_arrow(pa.concat_tables(streams))
    except (pa.ArrowException, OSError) as error:
        raise InputValueError(sentence("files must be whole Arrow files", offender=str(error).rstrip("."))) from error


def _literal(path: Path) -> str:
    """Write a path so that DuckDB finds this file alone, whatever signs its name holds."""
    name = glob.escape(os.path.abspath(path))  # noqa: PTH100  (a `~` or a scheme at the beginning is a name here)
    try:
        name.encode()
    except UnicodeEncodeError as error:
        raise InputValueError(sentence(f"names of files must be UTF-8; got {os.fspath(path)!r}")) from error
    return name


def _rows(files: Sequence[Path]) -> int | None:
    """Return the number of rows where the files themselves tell it."""
    if any(format_of(path) != "parquet" for path in files):
        return None
    _, parquet = pyarrow()
    return sum(int(parquet.read_metadata(path).num_rows) for path in files)


def _share(percent: float) -> float | None:
    return percent / 100.0 if 0.0 <= percent <= 100.0 else None


def _reason(error: Exception) -> str:
    """Return the first lines of what DuckDB says, up to a list; what follows advises on options of its own."""
    lines = [line.strip().rstrip(".") for line in str(error).splitlines() if line.strip()]
    told = itertools.takewhile(lambda line: not line.endswith(":"), lines[:LINES])
    return sentence(f"the files cannot be read: {'; '.join(told)}")
