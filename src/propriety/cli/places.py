"""Places in the file system: where a name leads, and what tells one file from another."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TypeAlias

from propriety.errors import InputValueError

__all__ = ["Identity", "followed", "identity"]

Identity: TypeAlias = tuple[int, int] | Path


def followed(name: str) -> Path:
    """Return the place that a name leads to, past all links, whether or not there is a file yet."""
    # Not `Path.resolve`, whose answer to links in a circle differs between versions of Python.
    place = Path(os.path.realpath(name))
    if place.is_symlink():
        raise InputValueError(f"{name} cannot be followed; its links lead in a circle")
    return place


def identity(place: Path) -> Identity:
    """Return what tells a file from every other, whatever its names; without a file it is the place itself."""
    try:
        found = place.stat()
    except FileNotFoundError:
        return place
    # Some systems of files have no numbers.
    return (found.st_dev, found.st_ino) if found.st_ino else place
