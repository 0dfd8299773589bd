"""A store: tables in Parquet files that never change, and a manifest that names them and is replaced last.

A file that the manifest does not name is not part of the store. A write that is interrupted anywhere therefore leaves
the store as it was, and the same write run again completes it. The name of a file has a random part, and a commit fails
if another one has changed a partition that it changes since the writer first looked. Hence a file that was there before
a commit that changes its partition, and that this commit does not name, will never be named and can be removed.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from propriety import demands
from propriety.errors import InputValueError
from propriety.storage.files import checked_fields, checked_version, first_line, pyarrow
from propriety.storage.places import ChangedError, Place

Rows: TypeAlias = Any  # An Arrow table.
Facts: TypeAlias = dict[str, Any]
Entries: TypeAlias = Mapping[str, Mapping[str, Any]]

TOKEN = re.compile(r"[0-9a-f]{16}")
PARTITION = re.compile(r"([^/=]+=[^/=]*(/[^/=]+=[^/=]*)*)?")
FILE = re.compile(r"[a-z]+(/[^/=]+=[^/=]*)*/part-[0-9a-f]{16}\.parquet")
READERS = 8  # Threads that read files, which mostly wait for a disk or a network.


@dataclass(frozen=True, slots=True, repr=False)
class Written:
    """What a write did.

    Parameters
    ----------
    place : str
        The folder.
    added : tuple of str
        The partitions that were written, such as ``"day=2026-01-01"``; ``""`` is a store without partitions.
    held : tuple of str
        The partitions that were stored before, with the same keys, counts and sums; they were left as they are.
    """

    place: str
    added: tuple[str, ...]
    held: tuple[str, ...]

    def __repr__(self) -> str:
        if not self.added:
            return f"Nothing written: {self.place} holds these cases already."
        partitions = f", {len(self.added):,} of {len(self.added) + len(self.held):,} partitions"
        return f"Written: {self.place}{'' if self.added == ('',) else partitions}."


@dataclass(frozen=True, slots=True)
class Store:
    """Tables with facts about them, in a folder.

    Parameters
    ----------
    place : Place
        Where the files are.
    schema, version : str and int
        What is stored; the manifest is called as the last word of the schema.
    fields : sequence of str
        The names of the facts.
    kinds : mapping of str to callable
        Kinds of tables; each function returns the columns of labels, given the facts, or None if there are no such
        tables.
    alike : callable
        Whether two tables of a kind are the same but for rounding.
    restore : str
        What to do if files are missing or broken, as the hint of an error.
    """

    place: Place
    schema: str
    version: int
    fields: Sequence[str]
    kinds: Mapping[str, Callable[[Facts], list[str] | None]]
    alike: Callable[[str, Rows, Rows], bool]
    restore: str

    @property
    def manifest(self) -> str:
        """The name of the manifest."""
        return f"{self.schema.rpartition('.')[2]}.json"

    def read(self) -> tuple[Facts, Entries, dict[str, Rows]]:
        """Return the facts, the partitions, and the rows of all partitions by kind of table."""
        while True:
            found = self.look()
            if found is None:
                noun = self.schema.rpartition(".")[2]
                raise InputValueError(f"{self.place} must be a folder that holds a {noun}; it has no {self.manifest}")
            facts, own, version = found
            entries = own["partitions"]
            labels = {kind: names for kind, columns in self.kinds.items() if (names := columns(facts)) is not None}
            try:
                return facts, entries, {kind: self.rows(kind, entries, names) for kind, names in labels.items()}
            except FileNotFoundError as error:
                # Another process may have replaced a partition since the manifest was read.
                again = self.place.look(self.manifest)
                if again is not None and again[1] == version:
                    law = f"{self.place} lacks a file of its manifest"
                    raise InputValueError(law, offender=first_line(error), hint=self.restore) from error

    def write(
        self,
        facts: Facts,
        partitions: Mapping[str, Mapping[str, Rows]],
        *,
        join: Callable[[Facts, Facts], Facts],
        dropped: int,
        replace: bool,
    ) -> Written:
        """Add partitions, whole or not at all; those that are stored already, with the same rows, are left.

        `join` returns the facts of the stored and the new partitions together, or raises an error if they do not fit.
        With `replace`, partitions with other rows are replaced.
        """
        prints = {name: fingerprint(tables) for name, tables in partitions.items()}
        write = _Write(self, facts, partitions, prints, join, dropped, replace)
        with self.place.locked() as is_alone:
            try:
                while (written := write.attempt(is_alone=is_alone)) is None:
                    """Another writer was first, so that its manifest is the one to add to."""
                if is_alone:
                    self.place.tidy(self.kinds)
            except BaseException as error:
                if is_alone or isinstance(error, InputValueError):  # Otherwise a commit may still be under way.
                    write.withdraw()
                raise
        return written

    def look(self) -> tuple[Facts, dict[str, Any], Any] | None:
        """Return the facts, the manifest's own fields, and what identifies its version; None if there is none."""
        found = self.place.look(self.manifest)
        if found is None:
            return None
        file = f"{self.place}/{self.manifest}"
        try:
            stored = json.loads(found[0])
        except (ValueError, RecursionError) as error:
            raise InputValueError(demands.JSON, argument=file, offender=str(error), hint=self.restore) from error
        checked_version(stored, self.schema, self.version)
        own = ("partitions", "superseded")
        fields = checked_fields(stored, self.schema, [*self.fields, *own])
        files = {name: fields.pop(name) for name in own}
        if not _are_files(**files):
            law = "must name partitions with a file, a fingerprint and dropped rows"
            raise InputValueError(law, argument=file, hint=self.restore)
        return fields, files, found[1]

    def files(self, entries: Entries) -> set[str]:
        """Return the names of the files of partitions."""
        return {_file(kind, name, entry["file"]) for name, entry in entries.items() for kind in self.kinds}

    def rows(self, kind: str, entries: Entries, labels: Sequence[str] = ()) -> Rows:
        """Return the rows of partitions as one table, with columns of labels dictionary-encoded."""
        pa, parquet = pyarrow()

        def read(name: str) -> Rows:
            data = self.place.read(name)
            try:
                try:
                    rows = parquet.ParquetFile(pa.BufferReader(data), read_dictionary=list(labels)).read()
                except LookupError:  # It lacks a column, as whoever looks for it will say.
                    rows = parquet.ParquetFile(pa.BufferReader(data)).read()
                rows.column_names  # noqa: B018  (raises an error if a name is not valid UTF-8)
            except (pa.ArrowException, UnicodeError, OSError) as error:
                file = f"{self.place}/{name}"
                raise InputValueError(
                    demands.PARQUET, argument=file, offender=first_line(error), hint=self.restore
                ) from error
            return rows

        with ThreadPoolExecutor(READERS) as pool:
            tables = list(pool.map(read, [_file(kind, name, entry["file"]) for name, entry in entries.items()]))
        try:
            return pa.concat_tables(tables)
        except pa.ArrowException as error:
            law = f"the files of {self.place}/{kind} must have the same columns"
            raise InputValueError(law, offender=first_line(error), hint=self.restore) from error


@dataclass(slots=True)
class _Write:
    """One write: what is to be stored, and the files that it has written so far."""

    store: Store
    facts: Facts
    partitions: Mapping[str, Mapping[str, Rows]]
    prints: Mapping[str, str]
    join: Callable[[Facts, Facts], Facts]
    dropped: int
    replace: bool
    token: str = field(default_factory=lambda: secrets.token_hex(8))
    mine: set[str] = field(default_factory=set)
    before: Entries | None = None

    def attempt(self, *, is_alone: bool) -> Written | None:
        """Add to the store as it is now; return None if another writer commits in the meantime."""
        store, place = self.store, self.store.place
        there, own, version = store.look() or ({}, {"partitions": {}, "superseded": []}, None)
        entries: dict[str, Any] = own["partitions"]
        self.before = entries if self.before is None else self.before
        is_whole = self.replace and entries.keys() <= self.partitions.keys()  # Nothing stored is left.
        facts = self.facts if is_whole or not there else self.join(there, self.facts)
        place.remove(set(own["superseded"]) - store.files(entries))
        present = {name for name in place.names(store.kinds) if FILE.fullmatch(name)}
        absent = [name for name in self.partitions if self._is_absent(name, entries, present)]
        if not absent:
            place.remove(self.mine - store.files(entries))
            return self._written(entries)
        dropped = self.dropped - sum(entries[name]["dropped"] for name in self.partitions if name not in absent)
        for name in absent:
            self._write(name)
            entry = {"file": self.token, "fingerprint": self.prints[name], "dropped": max(dropped, 0)}
            entries, dropped = entries | {name: entry}, 0
        superseded = (present | self.mine) - store.files(entries)
        if not is_alone:  # Another writer may be filling partitions that this commit does not change.
            superseded = {name for name in superseded if _partition_of(name) in absent}
        manifest = {"schema": store.schema, "version": store.version, **facts}
        manifest |= {"partitions": entries, "superseded": sorted(superseded)}
        try:
            place.commit(store.manifest, json.dumps(manifest, indent=1).encode(), version)
        except ChangedError:
            return None
        place.remove(superseded)
        return self._written(entries)

    def withdraw(self) -> None:
        """Remove the files of a write that failed; if it was interrupted after its commit, they stay."""
        found = self.store.look()
        self.store.place.remove(self.mine - (set() if found is None else self.store.files(found[1]["partitions"])))

    def _is_absent(self, name: str, entries: Entries, present: set[str]) -> bool:
        """Whether a partition is to be written; raise an error if it is stored with other rows."""
        if name not in entries:
            return True
        store, held = self.store, {name: entries[name]}
        tables = self.partitions[name]
        is_there = {_file(kind, name, entries[name]["file"]) for kind in tables} <= present
        is_same = entries[name]["fingerprint"] == self.prints[name]
        if is_there and not is_same:
            is_same = all(store.alike(kind, rows, store.rows(kind, held)) for kind, rows in tables.items())
        if is_there and is_same:
            return False
        is_new = self.before is not None and self.before.get(name) != entries[name]
        if is_new or not (is_same or self.replace):
            law = f"{store.place} holds other cases of {name}" if name else f"{store.place} holds other cases already"
            law += ", which another process has written in the meantime" if is_new else ""
            raise InputValueError(law, hint="replace=True replaces them; or write to another folder.")
        return True  # It is replaced, or was lost and is written again.

    def _write(self, name: str) -> None:
        """Write the files of a partition, unless an earlier attempt has."""
        pa, parquet = pyarrow()
        for kind, rows in self.partitions[name].items():
            file = _file(kind, name, self.token)
            if file not in self.mine:
                self.mine.add(file)
                sink = pa.BufferOutputStream()
                parquet.write_table(rows, sink, compression="zstd")
                self.store.place.write(file, sink.getvalue().to_pybytes())

    def _written(self, entries: Entries) -> Written:
        added = tuple(name for name in self.partitions if entries[name]["file"] == self.token)
        return Written(str(self.store.place), added, tuple(name for name in self.partitions if name not in added))


def fingerprint(tables: Mapping[str, Rows]) -> str:
    """Return a checksum of the rows of tables: of the names, types and values of their columns, in order."""
    checksum = hashlib.blake2b(digest_size=16)
    for kind, rows in tables.items():
        for name in rows.column_names:
            column = rows.column(name).combine_chunks()
            checksum.update(f"{kind}/{name}: {column.type}\n".encode())
            for part in _values(column):
                checksum.update(part)
    return checksum.hexdigest()


def _values(column: Any) -> Iterator[bytes]:
    """Yield the values of a column as bytes; labels as the distinct ones and the code of each."""
    from pyarrow import types

    is_list = types.is_list(column.type) or types.is_large_list(column.type)
    if is_list:
        yield np.asarray(column.value_lengths()).astype(np.int64).tobytes()
    values = column.flatten() if is_list or types.is_fixed_size_list(column.type) else column
    if types.is_integer(values.type) or types.is_floating(values.type):
        yield np.ascontiguousarray(values.to_numpy(zero_copy_only=False)).tobytes()
        return
    coded = values.dictionary_encode()
    yield repr(coded.dictionary.to_pylist()).encode("utf-8", "surrogatepass")
    yield coded.indices.to_numpy().astype(np.int64).tobytes()


def _file(kind: str, partition: str, token: str) -> str:
    return "/".join([kind, *filter(None, [partition]), f"part-{token}.parquet"])


def _partition_of(file: str) -> str:
    return file.partition("/")[2].rpartition("/")[0]


def _are_files(partitions: object, superseded: object) -> bool:
    """Whether the partitions and files of a manifest can be those of a store, with names inside of its folder."""
    if not isinstance(partitions, dict) or not partitions or not isinstance(superseded, list):
        return False
    if not all(isinstance(name, str) and FILE.fullmatch(name) for name in superseded):
        return False
    return all(PARTITION.fullmatch(name) and _is_entry(entry) for name, entry in partitions.items())


def _is_entry(entry: object) -> bool:
    if not isinstance(entry, dict) or entry.keys() != {"file", "fingerprint", "dropped"}:
        return False
    texts = isinstance(entry["fingerprint"], str) and isinstance(entry["file"], str) and TOKEN.fullmatch(entry["file"])
    return bool(texts) and type(entry["dropped"]) is int and 0 <= entry["dropped"] < 2**63
