"""Compressed text that is far longer than what was sent: refused before it keeps the reader busy for hours."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from propriety.errors import InputValueError
from propriety.tables.frames import pyarrow

__all__ = ["check_expansion"]

FREE = 2**30  # Bytes of text that any file may hold.
FOLD = 500  # How much longer than the file its text may be; forecasts come to about ten.
BLOCK = 2**22


def check_expansion(path: Path, name: str, form: Literal["none", "gzip", "zstd"], *, free: int = FREE) -> None:
    """Read compressed text through, keeping nothing of it, and refuse what is not the text of cases."""
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
    except (pa.ArrowException, OSError):
        return  # What is broken is for the reader of the cases to say.
    law = f"compressed text must be at most {FOLD} times as long as its file; that of {name} is longer"
    raise InputValueError(law, hint="if you trust it, decompress it first, and name or pipe in the text.")
