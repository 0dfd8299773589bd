"""Files that a command writes, completely or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

import click

from propriety.cli.interrupts import check_interrupt
from propriety.cli.messages import visible_name
from propriety.errors import InputValueError
from propriety.ledger.ledger_files import is_ledger
from propriety.storage.files import replacing

Identity: TypeAlias = tuple[int, int] | Path

STDOUT = "-"


def check_targets(targets: Sequence[str | None], files: Sequence[Path] = ()) -> None:
    """Raise an error before the work begins if a file cannot be written, or if it is also an input.

    Only one text can be written to the standard output, "-".
    """
    taken: dict[Identity | str, str] = {identity(path): "it is one of the files that are read" for path in files}
    for target in targets:
        if target is None:
            continue
        place: Identity | str = STDOUT
        if target != STDOUT:
            _check_place(followed(target), target)
            place = identity(followed(target))
        if place in taken:
            raise InputValueError(f"{target} cannot be written; {taken[place]}", hint="name another file.")
        taken[place] = "it is named twice"


@contextmanager
def replaced(target: str, *, announced: bool = True) -> Iterator[Path]:
    """Yield a new file in the folder of the target, move it to the target once it is complete, and say so."""
    with replacing(target) as beside:
        yield beside
        check_interrupt()
    if announced:
        click.echo(f"Written: {visible_name(target)}", err=True)


def check_folder(target: str) -> None:
    """Raise an error before the work begins if a ledger cannot be written to a folder.

    It may hold a ledger, perhaps of a command that was interrupted, so that the same command can be run again.
    """
    if target == STDOUT:
        raise InputValueError(
            "must be a folder; a ledger cannot be written to the standard output", argument="--output"
        )
    path = followed(target)
    if target and is_ledger(path, unfinished=True):
        return
    if target and path.exists():
        raise InputValueError(f"{target} cannot be written; it exists already", hint="name a new folder.")
    _check_place(path, target.rstrip("/") or target)


def write(target: str, text: str, *, announced: bool = True) -> None:
    """Write a text to a file, which the standard error says if `announced`; or to the standard output for "-"."""
    if target == STDOUT:
        click.echo(text)
        return
    with replaced(target, announced=announced) as path:
        path.write_text(text, encoding="utf-8")


def _check_place(path: Path, target: str) -> None:
    if not target:
        raise InputValueError("a file to write must have a name; got an empty one")
    if path.is_dir() or target.endswith(("/", os.sep)):
        raise InputValueError(f"{target} cannot be written; it is a folder")
    if path.exists() and not path.is_file():
        hint = "- writes to the standard output."
        raise InputValueError(f"{target} cannot be written; it is not a regular file", hint=hint)
    if path.exists() and not os.access(path, os.W_OK):
        raise InputValueError(f"{target} cannot be written; it is read-only")
    if not path.parent.is_dir():
        raise InputValueError(f"{target} cannot be written; there is no folder {path.parent}")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise InputValueError(f"{target} cannot be written; the folder {path.parent} is read-only")


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
