"""Checks of the footers of Parquet files, which may be wrong."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

from propriety.errors import InputValueError
from propriety.storage.parquet_files import pyarrow

LARGEST = 2**26  # Bytes of a footer, of which there are several copies in memory.
MOST_ROWS = 10**6  # Per byte of a file, more than forecasts can have; DuckDB before 2.0 would try to read them all.
MOST_COLUMNS = 20_000  # The time to open a file is quadratic in their number.


def checked_footer(path: Path, name: str) -> Any:
    """Return the metadata of a Parquet file that is complete and consistent."""
    _check_size(path, name)
    pa, parquet = pyarrow()
    try:
        found = parquet.read_metadata(path)
    except (pa.ArrowException, OSError) as error:
        law = f"{name} must be a complete Parquet file"
        raise InputValueError(law, offender=str(error).rstrip(". ")) from error
    check_columns(found.num_columns)
    rows = sum(found.row_group(place).num_rows for place in range(found.num_row_groups))
    size, problem = path.stat().st_size, ""
    if rows != found.num_rows:
        problem = f"its footer gives {found.num_rows:,} rows, but its parts have {rows:,}"
    elif rows > MOST_ROWS * size:
        problem = f"its footer gives {rows:,} rows in {size:,} bytes"
    if problem:
        raise InputValueError(f"{name} must be a complete Parquet file", offender=problem)
    return found


def check_columns(number: int) -> None:
    """Raise an error if there are more columns than can be opened in a reasonable time."""
    if number > MOST_COLUMNS:
        law = f"files must have at most {MOST_COLUMNS:,} columns; got {number:,}"
        raise InputValueError(law, hint="keep only the columns of outcomes and forecasts.")


def _check_size(path: Path, name: str) -> None:
    with path.open("rb") as file:
        file.seek(max(path.stat().st_size - 8, 0))
        end = file.read(8)
    # A file without this end is incomplete, which its reader reports.
    size = struct.unpack("<I4s", end)[0] if len(end) == 8 else 0
    if LARGEST < size <= path.stat().st_size:
        law = f"the footer of {name} must have at most {LARGEST // 2**20} MB; it has {size // 2**20:,} MB"
        raise InputValueError(law, hint="keep fewer columns and less metadata.")
