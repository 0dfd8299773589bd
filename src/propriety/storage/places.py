"""Where a store lives: what it needs of a folder, read, write and one commit that fails if another writer was first."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from propriety.storage.whole_files import locked, replacing, write_durably


class ChangedError(Exception):
    """Another writer has replaced the manifest since it was read."""


class Folder:
    """A folder of a file system.

    Writers wait for each other by a lock, so that the manifest cannot change between its reading and its replacement.
    Without locks, as on Windows, one writer at a time is allowed.
    """

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.root = Path(root)

    def __str__(self) -> str:
        return str(self.root)

    def read(self, name: str) -> bytes:
        """Return the content of a file."""
        return (self.root / name).read_bytes()

    def look(self, name: str) -> tuple[bytes, bytes] | None:
        """Return the manifest and what identifies this version of it; None if there is none."""
        try:
            found = self.read(name)
        except (FileNotFoundError, NotADirectoryError):
            return None
        return found, found

    def names(self, below: Iterable[str]) -> set[str]:
        """Return the names of the files in some subfolders, at any depth."""
        return {
            f"{Path(folder).relative_to(self.root).as_posix()}/{name}"
            for top in below
            for folder, _, names in os.walk(self.root / top)
            for name in names
        }

    def write(self, name: str, data: bytes) -> None:
        """Write a file that no manifest names yet; it may remain half-written."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_durably(path, data)

    def remove(self, names: Iterable[str]) -> None:
        """Remove files, and the subfolders that are then empty."""
        for name in names:
            (self.root / name).unlink(missing_ok=True)
            _remove_empty(self.root / name, self.root)

    def tidy(self, below: Iterable[str]) -> None:
        """Remove subfolders without files, which a killed writer has left; call it only where other writers wait."""
        for top in below:
            for folder, _, names in os.walk(self.root / top, topdown=False):
                if not names:
                    with suppress(OSError):  # It has subfolders with files.
                        Path(folder).rmdir()

    def commit(self, name: str, data: bytes, seen: bytes | None) -> None:
        """Replace the manifest if it is still the one that was seen."""
        held = self.look(name)
        if (held and held[1]) != seen:
            raise ChangedError
        with replacing(self.root / name, beside=f".{name}.part") as beside:
            write_durably(beside, data)

    @contextmanager
    def locked(self) -> Iterator[bool]:
        """Wait for other writers, and yield whether there can be none; a new folder without files goes again."""
        is_new = not self.root.exists()
        try:
            while True:
                self.root.mkdir(parents=True, exist_ok=True)
                with locked(self.root) as is_alone:
                    if self.root.exists():  # The writer that this one waited for may have removed it.
                        yield is_alone
                        return
        finally:
            if is_new:
                with suppress(OSError):
                    self.root.rmdir()


def _remove_empty(path: Path, root: Path) -> None:
    """Remove the folders from a path up to the root that are empty."""
    for folder in path.parents:
        if folder == root:
            return
        try:
            folder.rmdir()
        except OSError:  # It is not empty, or does not exist.
            return
