"""Combinations of labels: the groups, days, clusters or outcomes of the entries of a ledger."""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from numbers import Number
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety.errors import InputValueError
from propriety.tables.keys import Keys
from propriety.tables.labels import code_labels, ordered_labels, plain_labels

Codes = NDArray[np.intp]
NONE: Mapping[str, Sequence[Any]] = MappingProxyType({})


@dataclass(frozen=True, slots=True, eq=False)
class KeyIndex:
    """Combinations of labels, one per entry, sorted.

    Parameters
    ----------
    names : tuple of str
        Names of the keys.
    labels : tuple of tuples
        Labels of each key, in order.
    codes : ndarray of shape (entries, keys)
        ``labels[k][codes[i, k]]`` is the label of key k in entry i.
    """

    names: tuple[str, ...]
    labels: tuple[tuple[Any, ...], ...]
    codes: Codes

    @classmethod
    def of_cases(cls, keys: Mapping[str, Keys], cases: int) -> tuple[KeyIndex, Codes]:
        """Return the combinations that occur, and the entry of each case.

        Examples
        --------
        >>> site = Keys(("a", "b"), np.array([1, 0, 1]))
        >>> index, entry = KeyIndex.of_cases({"site": site}, 3)
        >>> index.codes.tolist(), entry.tolist()
        ([[0], [1]], [1, 0, 1])
        """
        names = tuple(keys)
        if not names:
            return cls.keyless(), np.zeros(cases, dtype=np.intp)
        codes = np.stack([one.codes for one in keys.values()], axis=1).astype(np.intp, copy=False)
        return cls(names, tuple(one.labels for one in keys.values()), codes).distinct()

    @classmethod
    def keyless(cls, entries: int = 1) -> KeyIndex:
        """Return the index without keys; by default its one entry has all cases."""
        return cls((), (), np.zeros((entries, 0), dtype=np.intp))

    @classmethod
    def of_columns(
        cls, columns: Mapping[str, Sequence[Any]], orders: Mapping[str, Sequence[Any] | None] | None = None
    ) -> KeyIndex:
        """Return the index whose entries have these labels; the labels of a key are sorted, or in the order given."""
        if not columns:
            return cls.keyless()
        known = orders or {}
        labels, codes = zip(*(code_labels(own, known.get(name)) for name, own in columns.items()), strict=True)
        return cls(tuple(columns), labels, np.stack(codes, axis=1))

    def __len__(self) -> int:
        return len(self.codes)

    def column(self, name: str) -> list[Any]:
        """Return the label of each entry for one key."""
        place = self.place(name)
        labels = self.labels[place]
        return [labels[code] for code in self.codes[:, place].tolist()]

    def place(self, name: str) -> int:
        """Return the position of a key; raise an error if there is no such key."""
        if not isinstance(name, str) or name not in self.names:
            known = f"its keys are {list(self.names)}" if self.names else "it has no keys"
            raise InputValueError(f"the ledger has no key {name!r}; {known}")
        return self.names.index(name)

    def matches(self, wanted: Mapping[str, Any]) -> NDArray[np.bool_]:
        """Return a mask of the entries with these labels, at least one; a list of labels means any of them."""
        found = np.ones(len(self), dtype=bool)
        for name, given in wanted.items():
            place = self.place(name)
            codes = {label: code for code, label in enumerate(self.labels[place])}
            several = given if isinstance(given, list | set | frozenset) and not _is_in(given, codes) else [given]
            several = [label if _is_in(label, codes) else plain_labels([label])[0] for label in several]
            unknown = [label for label in several if not _is_in(label, codes)]
            if unknown:
                law = "must be one of its labels"
                raise InputValueError(
                    law, argument=name, got=unknown[0], hint=f"there are {_shortened(self.labels[place])}."
                )
            found &= np.isin(self.codes[:, place], [codes[label] for label in several])
        if not found.any():
            told = ", ".join(f"{name}={one!r}" for name, one in wanted.items())
            raise InputValueError(f"no case has {told}")
        return found

    def where(self, entries: NDArray[Any]) -> KeyIndex:
        """Return some of the entries, without labels that no longer occur."""
        codes = self.codes[entries]
        labels, columns = [], []
        for place, own in enumerate(self.labels):
            used, column = np.unique(codes[:, place], return_inverse=True)
            labels.append(tuple(own[code] for code in used.tolist()))
            columns.append(column.reshape(-1))
        stacked = np.stack(columns, axis=1) if columns else codes
        return KeyIndex(self.names, tuple(labels), stacked.astype(np.intp, copy=False))

    def only(self, names: Iterable[str]) -> tuple[KeyIndex, Codes]:
        """Return the combinations of some of the keys, and the combination of each entry."""
        places = [self.place(name) for name in names]
        kept = KeyIndex(
            tuple(self.names[place] for place in places),
            tuple(self.labels[place] for place in places),
            self.codes[:, places],
        )
        return kept.distinct()

    def distinct(self) -> tuple[KeyIndex, Codes]:
        """Return each combination once, in order, and the position of every entry among them."""
        if not self.names:
            return KeyIndex.keyless(), np.zeros(len(self), dtype=np.intp)
        flat = self.flat()
        if flat.max(initial=0) < 2 * len(flat):  # No sort needed.
            last = np.full(flat.max(initial=0) + 1, -1)
            last[flat] = np.arange(len(flat))
            occupied = last >= 0
            entry = (np.cumsum(occupied) - 1)[flat]
            return KeyIndex(self.names, self.labels, self.codes[last[occupied]]), entry
        _, first, entry = np.unique(flat, return_index=True, return_inverse=True)
        return KeyIndex(self.names, self.labels, self.codes[first]), entry.reshape(-1).astype(np.intp, copy=False)

    def entry_of(self, other: KeyIndex) -> Codes:
        """Return the entry to which each entry of another index belongs; the other may have more keys.

        Examples
        --------
        >>> site = KeyIndex.of_columns({"site": ["a", "b"]})
        >>> site.entry_of(KeyIndex.of_columns({"day": [1, 1, 2], "site": ["b", "a", "b"]}))
        array([1, 0, 1])
        """
        if not self.names:
            return np.zeros(len(other), dtype=np.intp)
        places = [other.place(name) for name in self.names]
        own = KeyIndex(self.names, tuple(other.labels[place] for place in places), other.codes[:, places])
        _, code = KeyIndex.joined([self, own]).distinct()
        entry = np.full(code.max() + 1, -1, dtype=np.intp)
        entry[code[: len(self)]] = np.arange(len(self))
        found = entry[code[len(self) :]]
        if (found < 0).any():
            at = int(np.flatnonzero(found < 0)[0])
            told = ", ".join(f"{name}={own.column(name)[at]!r}" for name in self.names)
            raise InputValueError(f"the ledger has no cases with {told}")
        return found

    def flat(self) -> NDArray[np.int64]:
        """Return one number per entry, in the order of the combinations."""
        flat = np.zeros(len(self), dtype=np.int64)
        for place, own in enumerate(self.labels):
            column = self.codes[:, place]
            if len(own) and flat.max(initial=0) > np.iinfo(np.int64).max // len(own) - 1:
                flat = np.unique(flat, return_inverse=True)[1].reshape(-1)
            flat = flat * max(len(own), 1) + column
        return flat

    @staticmethod
    def joined(parts: Sequence[KeyIndex]) -> KeyIndex:
        """Return the entries of all parts, one after another, with common labels."""
        first = parts[0]
        if any(one.names != first.names for one in parts):
            told = sorted({str(list(one.names)) for one in parts})
            raise InputValueError(
                f"must have the same keys to be added; they have {', '.join(told)}", argument="ledgers"
            )
        if not first.names:
            return KeyIndex.keyless(sum(map(len, parts)))
        labels, columns = [], []
        for place in range(len(first.names)):
            own = [one.labels[place] for one in parts]
            common = own[0]
            if any(one != common for one in own):
                _check_kinds(first.names[place], own)
                common = merged_labels(own)
            code = {label: at for at, label in enumerate(common)}
            columns.append(
                np.concatenate(
                    [
                        np.array([code[label] for label in one.labels[place]], dtype=np.intp)[one.codes[:, place]]
                        for one in parts
                    ]
                )
            )
            labels.append(common)
        return KeyIndex(first.names, tuple(labels), np.stack(columns, axis=1))


def _check_kinds(name: str, several: Sequence[Sequence[Any]]) -> None:
    """Raise an error if the labels of a key are of another kind in every part, such as 1 and "1", which never meet."""
    kinds = [{_kind(label) for label in own} for own in several]
    for own, kind in zip(several, kinds, strict=True):
        if own and kinds[0] and not kind & kinds[0]:
            told = f"they are {several[0][0]!r} and {own[0]!r}"
            law = f"must have labels of one type in {name!r} to be added"
            raise InputValueError(law, argument="ledgers", offender=told, hint="convert the labels of one of them.")


def _kind(label: object) -> object:
    if isinstance(label, Number | np.number | np.bool_):
        return Number
    if isinstance(label, dt.datetime | np.datetime64):
        return dt.datetime, getattr(label, "tzinfo", None) is None  # Times with and without a zone never meet.
    return type(label)


def merged_labels(several: Sequence[Sequence[Any]]) -> tuple[Any, ...]:
    """Return the labels of all parts: sorted if each part is, otherwise in an order consistent with each part.

    Examples
    --------
    >>> merged_labels([("low", "mid"), ("mid", "high")]), merged_labels([(1, 3), (2,)])
    (('low', 'mid', 'high'), (1, 2, 3))
    """
    plain = ordered_labels(label for own in several for label in own)
    place = {label: code for code, label in enumerate(plain)}
    following = [pair for own in several for pair in itertools.pairwise(own)]
    if all(place[one] < place[other] for one, other in following):
        return plain
    order: TopologicalSorter[Any] = TopologicalSorter(dict.fromkeys(plain, ()))
    for one, other in following:
        order.add(other, one)
    try:
        return tuple(order.static_order())
    except CycleError:  # The parts contradict each other.
        return plain


def _is_in(label: Any, codes: Mapping[Any, int]) -> bool:
    """Whether a value is itself a label, as a frozenset may be."""
    try:
        return label in codes
    except TypeError:  # It is not hashable, or contains what is not.
        return False


def _shortened(labels: Sequence[Any], most: int = 10) -> str:
    shown = ", ".join(repr(label) for label in labels[:most])
    return shown if len(labels) <= most else f"{shown}, ... ({len(labels):,} in all)"
