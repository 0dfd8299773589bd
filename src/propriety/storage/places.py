"""Where a store lives: files are read, written and removed, and a commit fails if another writer was first."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol, TypeAlias, runtime_checkable

from propriety.errors import InputTypeError, InputValueError, MissingDependencyError
from propriety.storage.files import locked, replacing, write_durably


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


@runtime_checkable
class ObjectStore(Protocol):
    """A store of obstore, such as `obstore.store.S3Store`."""

    def get(self, path: str, /) -> Any:
        """Return an object with its metadata."""

    def put(self, path: str, file: bytes, /, *, mode: Any) -> Any:
        """Write an object, in the mode "create" or that of its tag only if there is none or if it has this tag."""

    def list(self, prefix: str, /) -> Any:
        """Yield lists of the metadata of objects."""

    def delete(self, paths: str, /) -> Any:
        """Delete an object."""


Location: TypeAlias = str | os.PathLike[str] | ObjectStore


class Bucket:
    """The objects below an address of an object store, through obstore.

    There are no locks: the manifest is replaced by one conditional write, which the store refuses if the manifest is
    not the one that was read.
    """

    def __init__(self, store: ObjectStore, name: str) -> None:
        self.store, self.name = store, name

    def __str__(self) -> str:
        return self.name

    def read(self, name: str) -> bytes:
        """Return the content of an object."""
        return bytes(self.store.get(name).bytes())

    def look(self, name: str) -> tuple[bytes, Any] | None:
        """Return the manifest and what identifies this version of it; None if there is none."""
        try:
            found = self.store.get(name)
        except FileNotFoundError:
            return None
        version = {part: value for part in ("e_tag", "version") if (value := found.meta.get(part)) is not None}
        return bytes(found.bytes()), version

    def names(self, below: Iterable[str]) -> set[str]:
        """Return the names of the objects below some prefixes."""
        return {found["path"] for top in below for several in self.store.list(top) for found in several}

    def write(self, name: str, data: bytes) -> None:
        """Write an object that no manifest names yet."""
        self.store.put(name, data, mode="overwrite")

    def remove(self, names: Iterable[str]) -> None:
        """Remove objects."""
        for name in names:
            with suppress(FileNotFoundError):
                self.store.delete(name)

    def commit(self, name: str, data: bytes, seen: Any) -> None:
        """Replace the manifest if it is still the one that was seen."""
        from obstore.exceptions import AlreadyExistsError, PreconditionError

        try:
            self.store.put(name, data, mode="create" if seen is None else seen)
        except (AlreadyExistsError, PreconditionError) as error:
            raise ChangedError from error
        except NotImplementedError as error:
            law = f"{self.name} cannot replace an object on the condition that it has not changed"
            raise InputValueError(law, hint="for a local folder, pass its path.") from error

    @contextmanager
    def locked(self) -> Iterator[bool]:
        """Yield that there may be other writers."""
        yield False

    def tidy(self, below: Iterable[str]) -> None:
        """Do nothing, because there are no folders."""


Place: TypeAlias = Folder | Bucket


def place_of(location: Location) -> Place:
    """Return the place at a path, at an address such as "s3://bucket/ledger", or in a store of obstore."""
    if isinstance(location, str | os.PathLike):
        name = os.fspath(location)
        if isinstance(name, str) and "://" in name:
            return Bucket(_obstore().from_url(name), name)
        return Folder(name)
    if isinstance(location, ObjectStore):
        return Bucket(location, repr(location))
    law = "must be a path, the address of an object store, or a store of obstore"
    raise InputTypeError(law, argument="folder", got_type=location)


def _obstore() -> Any:
    try:
        from obstore import store
    except ImportError as error:
        raise MissingDependencyError("object stores need obstore", hint="pip install propriety[objects].") from error
    return store


def _remove_empty(path: Path, root: Path) -> None:
    """Remove the folders from a path up to the root that are empty."""
    for folder in path.parents:
        if folder == root:
            return
        try:
            folder.rmdir()
        except OSError:  # It is not empty, or does not exist.
            return
