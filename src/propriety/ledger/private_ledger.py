"""Ledgers that disclose less: forecasts on a grid, and small counts suppressed."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from propriety import checks, demands
from propriety.checks import check_cells
from propriety.errors import InputTypeError, InputValueError
from propriety.ledger.key_index import KeyIndex
from propriety.ledger.keyed_tables import KeyedTables
from propriety.ledger.ledger import Ledger
from propriety.result import frame_of
from propriety.storage.files import checked_fields, checked_version
from propriety.tables.events import Event
from propriety.tables.frames import are_names

Counts = NDArray[np.int64]

SUPPRESSED = -1
SMALLEST = 5  # By default, smaller counts are suppressed.
LARGEST = 10**9  # Of the minimum.
MOST_CELLS = 2**10
EVENT = Event("event")
DATES = {"date": dt.date, "datetime": dt.datetime}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class PrivateLedger:
    """Counts of events and non-events by cell of the forecast, small ones suppressed; see `coarsen`.

    Private ledgers of different cases can be added. `ledger` is an ordinary ledger of the published counts, and
    `propriety.measure_bounds` says how far its answers can be from those of the cases.

    Parameters
    ----------
    models : tuple of str
        Names of the models.
    index : KeyIndex
        The combinations of keys, one per entry.
    cells : int
        Number of cells of equal width; forecasts of exactly 0 and 1 have cells of their own.
    published : ndarray of int of shape (models, entries, cells + 2, 2)
        Number of non-events and of events in each cell; -1 means suppressed.
    minimum : ndarray of int of shape (entries,)
        Smaller positive counts are suppressed.
    """

    schema: ClassVar[str] = "propriety.private_ledger"
    schema_version: ClassVar[int] = 1

    models: tuple[str, ...]
    index: KeyIndex
    cells: int
    published: Counts
    minimum: Counts

    @property
    def keys(self) -> dict[str, tuple[Any, ...]]:
        """The labels of each key."""
        return dict(zip(self.index.names, self.index.labels, strict=True))

    @property
    def is_suppressed(self) -> NDArray[np.bool_]:
        """Whether each count is suppressed."""
        return self.published == SUPPRESSED

    @property
    def ledger(self) -> Ledger:
        """The ledger of the published counts, with every forecast in the middle of its cell.

        A suppressed count is taken as half the minimum.
        """
        index, entry = self.index.distinct()
        half = (self.minimum // 2)[None, :, None, None]
        published = np.where(self.is_suppressed, half, self.published)
        middle = np.concatenate([[0.0], (np.arange(self.cells) + 0.5) / self.cells, [1.0]])
        tables = {}
        for place, model in enumerate(self.models):
            counts = np.zeros((len(index), *self.published.shape[2:]), dtype=np.int64)
            np.add.at(counts, entry, published[place])
            at, cell = np.nonzero(counts.sum(axis=2))
            events, others = (counts[at, cell, outcome].astype(np.float64) for outcome in (1, 0))
            tables[(model, EVENT)] = KeyedTables(
                entry=at,
                forecast=middle[cell],
                events=events,
                non_events=others,
                event_squares=events,
                non_event_squares=others,
                n=counts.sum(axis=(1, 2)),
                n_events=counts[:, :, 1].sum(axis=1),
                cells=self.cells,
            )
        return Ledger(
            models=self.models,
            events=(EVENT,),
            labels=None,
            index=index,
            dependence=None,
            is_weighted=False,
            _tables=tables,
        )

    def limits(self) -> tuple[Counts, Counts]:
        """Return the smallest and the largest number that each count may be."""
        most = (self.minimum - 1)[None, :, None, None]
        hidden = self.is_suppressed
        return np.where(hidden, 1, self.published), np.where(hidden, most, self.published)

    def without_keys(self) -> PrivateLedger:
        """Return the private ledger of all cases together."""
        return replace(self, index=KeyIndex.keyless(len(self.index)))

    def where(self, **keys: Any) -> PrivateLedger:
        """Return the part with these labels; a list of labels means any of them."""
        chosen = self.index.matches(keys)
        return replace(
            self,
            index=self.index.where(chosen),
            published=self.published[:, chosen],
            minimum=self.minimum[chosen],
        )

    def __add__(self, other: object) -> PrivateLedger:
        """Return the private ledger of the cases of both, which must be different cases."""
        if not isinstance(other, PrivateLedger):
            return NotImplemented
        checks.alike(self, other, ("models", "cells"), "ledgers")
        return replace(
            self,
            index=KeyIndex.joined([self.index, other.index]),
            published=np.concatenate([self.published, other.published], axis=1),
            minimum=np.concatenate([self.minimum, other.minimum]),
        )

    def __radd__(self, other: object) -> PrivateLedger:
        """Let `sum(ledgers)` start from 0."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def to_frame(self, *, backend: Any = None) -> Any:
        """Return what is disclosed: a row per model, entry and cell with counts other than 0; -1 means suppressed."""
        place, entry, cell = np.nonzero((self.published != 0).any(axis=3))
        keys = {name: np.array(self.index.column(name))[entry] for name in self.index.names}
        columns = {"model": np.array(self.models)[place], **keys, "cell": cell - 1}
        columns |= {"events": self.published[place, entry, cell, 1]}
        columns |= {"non_events": self.published[place, entry, cell, 0]}
        return frame_of(columns, backend=backend)

    def to_dict(self) -> dict[str, Any]:
        """Return the private ledger as plain Python data, with the name and version of its schema."""
        keys = {name: self.index.column(name) for name in self.index.names}
        dates = {name: kind for name, own in keys.items() for kind in DATES if {*map(type, own)} == {DATES[kind]}}
        keys |= {name: [label.isoformat() for label in keys[name]] for name in dates}
        return {
            "schema": self.schema,
            "version": self.schema_version,
            "models": list(self.models),
            "keys": keys,
            **({"dates": dates} if dates else {}),
            "cells": self.cells,
            "published": self.published.tolist(),
            "minimum": self.minimum.tolist(),
        }

    def to_json(self) -> str:
        """Return the data of `to_dict` as JSON, the file that leaves a site."""
        try:
            return json.dumps(self.to_dict(), allow_nan=False)
        except TypeError as error:
            law = (
                "each key of a private ledger must be text, numbers and truth values, dates, or datetimes to be stored"
            )
            raise InputTypeError(law, offender=str(error)) from error

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> PrivateLedger:
        """Make a private ledger from a dict of `to_dict`."""
        checked_version(data, cls.schema, cls.schema_version)
        names = ["models", "keys", "dates", "cells", "published", "minimum"]
        stored = checked_fields(data, cls.schema, names, optional=["dates"])
        check_cells(stored["cells"])
        if not are_names(stored["models"]) or not stored["models"]:
            raise InputValueError(f"the models of a {cls.schema} must be different names", got=stored["models"])
        law = f"the counts of a {cls.schema} must be whole numbers for every model, entry, cell and outcome"
        try:
            published = np.array(stored["published"])
            minimum = np.array(stored["minimum"])
            labels = {str(name): list(own) for name, own in stored["keys"].items()}
        except (TypeError, ValueError, AttributeError) as error:
            raise InputValueError(law, offender=str(error)) from error
        index = KeyIndex.of_columns(_with_dates(labels, stored.get("dates", {})))
        entries = len(minimum)
        if not stored["keys"]:
            index = KeyIndex.keyless(entries)
        shape = (len(stored["models"]), entries, stored["cells"] + 2, 2)
        if minimum.shape != (len(index),):
            law = f"minimum and keys of a {cls.schema} must have one value for each entry"
            raise InputValueError(law, offender=f"they have the shapes {minimum.shape} and {(len(index),)}")
        if minimum.dtype.kind != "i" or not (minimum >= 1).all():
            raise InputValueError(f"minimum of a {cls.schema} must hold whole numbers from 1 on", got=stored["minimum"])
        if published.shape != shape or published.dtype.kind != "i":
            offender = f"they have dtype {published.dtype} and shape {published.shape}; the shape must be {shape}"
            raise InputValueError(law, offender=offender)
        if not (published >= SUPPRESSED).all():
            raise InputValueError(law, offender="some are negative")
        if (published[:, minimum == 1] == SUPPRESSED).any():
            raise InputValueError(f"a {cls.schema} with a minimum of 1 must not have suppressed counts")
        models, cells = tuple(stored["models"]), stored["cells"]
        return cls(models=models, index=index, cells=cells, published=published, minimum=minimum)

    @classmethod
    def from_json(cls, text: str) -> PrivateLedger:
        """Make a private ledger from the text of `to_json`."""
        try:
            data = json.loads(text)
        except (ValueError, RecursionError, TypeError) as error:
            raise InputValueError(demands.JSON, argument="text", offender=str(error)) from error
        return cls.from_dict(data)

    def __repr__(self) -> str:
        keys = f", keys={ {name: len(labels) for name, labels in self.keys.items()} }" if self.keys else ""
        hidden = int(np.count_nonzero(self.is_suppressed))
        return f"PrivateLedger(models={list(self.models)}{keys}, cells={self.cells}, suppressed={hidden})"


def coarsen(ledger: Ledger, *, cells: int = 32, smallest: int = SMALLEST) -> PrivateLedger:
    """Make a private ledger: forecasts on a grid, and small counts suppressed.

    Forecasts are replaced by the cell of a grid that they are in. Moments, clusters and times are left out. Counts from
    1 to `smallest` less 1 are suppressed.

    Parameters
    ----------
    ledger : Ledger
        Unweighted cases of one event, from `propriety.condense`, or read from files with exact forecasts or a grid that
        is at least as fine.
    cells : int
        Number of cells, a power of two up to 1,024.
    smallest : int
        The smallest positive count that is published. 1 suppresses nothing, and 2 is not allowed, since a suppressed
        count would then be 1.

    Returns
    -------
    PrivateLedger
        It has `ledger`, `to_json()`, ``+`` and `where()`; `propriety.measure_bounds` bounds measures.

    Notes
    -----
    Suppression guarantees nothing. Who knows all cases of a cell but one, or has two private ledgers of
    overlapping cases, may find out the outcome of a case. Counts of 0 are published: if a cell has suppressed events
    and no non-events, all of its cases had the event. Several models are several tables of the same cases, and their
    equal totals may reveal a suppressed count.

    Labels of keys are not protected: a combination of labels is published if it has a case.

    Examples
    --------
    >>> import propriety as pr
    >>> y, p = [0, 1, 0, 1, 1, 0, 0, 0], [0.1, 0.8, 0.2, 0.9, 0.7, 0.1, 0.2, 0.9]
    >>> private = coarsen(pr.condense(y, p), cells=2, smallest=3)
    >>> private
    PrivateLedger(models=['forecast'], cells=2, suppressed=1)
    >>> private.to_frame(backend="pyarrow").to_pydict()["non_events"]
    [4, -1]
    """
    _check(ledger, cells, smallest)
    published = np.stack([_counts(ledger.keyed_tables(model, EVENT), cells) for model in ledger.models])
    published = np.where((published > 0) & (published < smallest), SUPPRESSED, published)
    return PrivateLedger(
        models=ledger.models,
        index=ledger.index,
        cells=int(cells),
        published=published,
        minimum=np.full(len(ledger.index), smallest, dtype=np.int64),
    )


def _check(ledger: object, cells: object, smallest: object) -> None:
    ledger = checks.instance(ledger, "ledger", Ledger, "a Ledger", hint="pass propriety.condense(y_true, forecasts).")
    if ledger.labels is not None or ledger.is_weighted:
        told = "its cases are weighted" if ledger.labels is None else f"it holds {len(ledger.labels)} classes"
        raise InputValueError("must hold unweighted cases of one event", argument="ledger", offender=told)
    check_cells(cells, held=ledger.table(ledger.models[0]).cells)
    if int(cells) > MOST_CELLS:  # type: ignore[call-overload]  # a whole number
        raise InputValueError(f"must be at most {MOST_CELLS:,}", argument="cells", offender=f"got {cells}")
    checks.whole(smallest, "smallest", least=1)
    if smallest == 2 or smallest > LARGEST:  # type: ignore[operator]  # a whole number
        law = f"must be 1, or from 3 to {LARGEST:,}"
        hint = "with 2, every suppressed count is known to be 1." if smallest == 2 else ""
        raise InputValueError(law, argument="smallest", offender=f"got {smallest}", hint=hint)


def _with_dates(labels: dict[str, list[Any]], dates: Any) -> dict[str, list[Any]]:
    """Return the stored labels of every key, with those of dates and datetimes as such."""
    try:
        found = {name: [DATES[kind].fromisoformat(one) for one in labels[name]] for name, kind in dates.items()}
    except (TypeError, ValueError, AttributeError, KeyError) as error:
        law = f"dates of a {PrivateLedger.schema} must name keys of dates or datetimes in ISO format"
        raise InputValueError(law, got=dates) from error
    return labels | found


def _counts(tables: KeyedTables, cells: int) -> Counts:
    """Count non-events and events by entry and cell; the first and the last cell are forecasts of exactly 0 and 1."""
    cell = np.where(tables.forecast == 0.0, 0, np.floor(tables.forecast * cells).astype(np.int64) + 1)
    found = np.zeros((len(tables.n), cells + 2, 2), dtype=np.int64)
    for outcome, counts in enumerate((tables.non_events, tables.events)):
        np.add.at(found[:, :, outcome], (tables.entry, cell), np.rint(counts).astype(np.int64))
    return found
