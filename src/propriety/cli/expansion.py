"""A limit on the length of compressed text, so that a small file cannot keep the program busy for hours."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from propriety.errors import InputValueError
from propriety.storage.parquet_files import pyarrow

FREE = 2**30  # Bytes of text that any file may contain.
FOLD = 500  # Largest ratio of the text to the file; for forecasts it is about ten.
BLOCK = 2**22


def check_expansion(path: Path, name: str, form: Literal["none", "gzip", "zstd"], *, free: int = FREE) -> None:
    """Decompress a text without storing it, and raise an error if it is too long or not complete."""
    if form == "none":
        return
    pa, _ = pyarrow()
    held = 0
    try:
        with pa.OSFile(str(path)) as file, pa.CompressedInputStream(file, form) as text:
            while block := text.read(BLOCK):
                held += len(block)
                if held > free and held > FOLD * file.tell():
                    break
            else:
                return
    except (pa.ArrowException, OSError) as error:
        if getattr(error, "errno", None) is not None:  # The file cannot be opened.
            raise
        # DuckDB would read what there is of it.
        law = f"{name} is not a complete {form} file"
        raise InputValueError(law, hint="compress or copy it again.") from error
    law = f"compressed text must be at most {FOLD} times as long as its file; that of {name} is longer"
    raise InputValueError(law, hint="if you trust it, decompress it first.")
