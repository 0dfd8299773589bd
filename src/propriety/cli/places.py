"""Places in the file system: the target of a name, and the identity of a file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TypeAlias

from propriety.errors import InputValueError

Identity: TypeAlias = tuple[int, int] | Path


def followed(name: str) -> Path:
    """Return the place that a name points to, with all links resolved, whether or not the file exists."""
    # Not `Path.resolve`, whose result for circular links depends on the version of Python.
    place = Path(os.path.realpath(name))
    if place.is_symlink():
        raise InputValueError(f"{name} cannot be resolved; its links are circular")
    return place


def identity(place: Path) -> Identity:
    """Return what identifies a file, whatever its names; if there is no file, its place."""
    try:
        found = place.stat()
    except FileNotFoundError:
        return place
    # Some file systems have no inode numbers.
    return (found.st_dev, found.st_ino) if found.st_ino else place
