"""What Parquet files say of themselves in their footers, which is not taken on trust."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

from propriety.errors import InputValueError
from propriety.tables.frames import pyarrow

__all__ = ["MOST_COLUMNS", "check_columns", "checked_footer"]

LARGEST = 2**26  # Bytes of a footer; it is held in memory several times over.
MOST_ROWS = (
    10**6
)  # For each byte of a file: more than in any that holds forecasts. DuckDB before 2.0 would look for all.
MOST_COLUMNS = 20_000  # The time to open a file grows with the square of their number.


def checked_footer(path: Path, name: str) -> Any:
    """Return the metadata of a Parquet file that is whole and does not contradict itself."""
    _check_size(path, name)
    pa, parquet = pyarrow()
    try:
        found = parquet.read_metadata(path)
    except (pa.ArrowException, OSError) as error:
        law = f"{name} must be a whole Parquet file"
        raise InputValueError(law, offender=str(error).rstrip(". ")) from error
    check_columns(found.num_columns)
    rows = sum(found.row_group(place).num_rows for place in range(found.num_row_groups))
    size, told = path.stat().st_size, ""
    if rows != found.num_rows:
        told = f"its footer says {found.num_rows:,} rows, and its parts {rows:,}"
    elif rows > MOST_ROWS * size:
        told = f"its footer says {rows:,} rows in {size:,} bytes"
    if told:
        raise InputValueError(f"{name} must be a whole Parquet file", offender=told)
    return found


def check_columns(number: int) -> None:
    """Refuse more columns than can be opened in a reasonable time."""
    if number > MOST_COLUMNS:
        law = f"files must have at most {MOST_COLUMNS:,} columns; got {number:,}"
        raise InputValueError(law, hint="keep the columns of the outcomes and forecasts.")


def _check_size(path: Path, name: str) -> None:
    with path.open("rb") as file:
        file.seek(max(path.stat().st_size - 8, 0))
        end = file.read(8)
    # A file without this end is not whole, which is for its reader to say.
    size = struct.unpack("<I4s", end)[0] if len(end) == 8 else 0
    if LARGEST < size <= path.stat().st_size:
        law = f"the footer of {name} must have at most {LARGEST // 2**20} MB; it has {size // 2**20:,} MB"
        raise InputValueError(law, hint="keep fewer columns, and less metadata.")
