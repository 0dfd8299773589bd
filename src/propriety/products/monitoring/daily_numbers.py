"""The numbers of one day: for every model and key, and for every pair of models and key of a ledger."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from propriety.calibration.logistic import fitted_slopes
from propriety.ledger.keyed_tables import COLUMNS, KeyedTables
from propriety.ledger.ledger import Ledger
from propriety.ledger.moments import Moments
from propriety.products.monitoring.evidence import calibration_growth, comparison_growth
from propriety.products.monitoring.stability_index import bin_counts
from propriety.result import Floats
from propriety.rules.rule import Rule


class Stream(NamedTuple):
    """What is monitored: the calibration of a model, or its difference to a reference, for one combination of keys."""

    model: str
    reference: str | None
    labels: tuple[Any, ...]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class DayPart:
    """The numbers of some streams on one day, one element each; NaN where they do not apply.

    Parameters
    ----------
    streams : list of Stream
        The streams.
    n, events, expected : ndarray
        Cases, events and sums of the forecasts.
    score, score_error : ndarray
        Mean loss of the model, or mean difference to the reference, and its standard error.
    slope : ndarray
        Calibration slope of the day.
    sums, squares : ndarray
        Sums of y - p, or of the differences as a share of the range of the rule, and of their squares.
    growth : ndarray of shape (streams, alternatives)
        Log ratios of the alternatives.
    bins : ndarray of shape (streams, bins), optional
        Cases by forecast; None for pairs of models.
    """

    streams: list[Stream]
    n: NDArray[np.int64]
    events: Floats
    expected: Floats
    score: Floats
    score_error: Floats
    slope: Floats
    sums: Floats
    squares: Floats
    growth: Floats
    bins: Floats | None


class Day(NamedTuple):
    """A time and the numbers of its streams."""

    time: Any
    parts: list[DayPart]


def days_of_ledger(ledger: Ledger, time: str, rule: Rule, width: float) -> Iterator[Day]:
    """Yield the numbers of each time in order; `width` is the range of the rule."""
    place = ledger.index.place(time)
    others = tuple(name for name in ledger.index.names if name != time)
    event = ledger.events[0]
    codes = ledger.index.codes[:, place]
    order = np.argsort(codes, kind="stable")
    bounds = np.searchsorted(codes[order], np.arange(len(ledger.index.labels[place]) + 1)).tolist()
    columns = [ledger.index.column(name) for name in others]
    tables = {model: _SplitTables(ledger.keyed_tables(model, event), order) for model in ledger.models}
    moments = ledger.moments(rule).over(*ledger.index.names)
    cells = np.argsort(ledger.index.entry_of(moments.index), kind="stable")
    for code, label in enumerate(ledger.index.labels[place]):
        entries = order[bounds[code] : bounds[code + 1]]
        labels = [tuple(column[entry] for column in columns) for entry in entries.tolist()]
        own = cells[entries]
        parts = []
        for number, model in enumerate(ledger.models):
            keyed = tables[model].between(bounds[code], bounds[code + 1])
            scores = _scores(moments, own, number)
            parts.append(_calibration_part([Stream(model, None, one) for one in labels], keyed, scores))
        for number, (model, reference) in enumerate(moments.pairs, start=len(ledger.models)):
            streams = [Stream(model, reference, one) for one in labels]
            parts.append(_comparison_part(streams, moments, own, number, width))
        yield Day(label, parts)


class _SplitTables:
    """Keyed tables in the order of the days, so that those of a day are neighbours."""

    def __init__(self, keyed: KeyedTables, order: NDArray[np.intp]) -> None:
        rank = np.empty(len(order), dtype=np.intp)
        rank[order] = np.arange(len(order))
        entry = rank[keyed.entry]
        rows = np.argsort(entry, kind="stable")
        self.entry = entry[rows]
        self.columns = {name: getattr(keyed, name)[rows] for name in COLUMNS}
        self.n, self.n_events, self.cells = keyed.n[order], keyed.n_events[order], keyed.cells

    def between(self, low: int, high: int) -> KeyedTables:
        """Return the tables of entries that follow each other, numbered from 0."""
        rows = slice(*np.searchsorted(self.entry, [low, high]).tolist())
        return KeyedTables(
            entry=self.entry[rows] - low,
            **{name: column[rows] for name, column in self.columns.items()},
            n=self.n[low:high],
            n_events=self.n_events[low:high],
            cells=self.cells,
        )


def _calibration_part(streams: list[Stream], keyed: KeyedTables, scores: tuple[Floats, Floats]) -> DayPart:
    entries, p = len(streams), keyed.forecast
    n = keyed.events + keyed.non_events

    def summed(values: Floats) -> Floats:
        return np.bincount(keyed.entry, values, minlength=entries).astype(np.float64)

    return DayPart(
        streams=streams,
        n=keyed.n,
        events=summed(keyed.events),
        expected=summed(n * p),
        score=scores[0],
        score_error=scores[1],
        slope=fitted_slopes(keyed, np.ones(entries, dtype=bool))[0],
        sums=summed(keyed.events * (1.0 - p) - keyed.non_events * p),
        squares=summed(keyed.events * (1.0 - p) ** 2 + keyed.non_events * p**2),
        growth=calibration_growth(keyed.entry, entries, p, keyed.events, keyed.non_events),
        bins=bin_counts(keyed.entry, entries, p, n, cells=keyed.cells),
    )


def _comparison_part(
    streams: list[Stream], moments: Moments, own: NDArray[np.intp], series: int, width: float
) -> DayPart:
    n, mean, spread = moments.n[own], moments.mean[own, series], moments.spread[own, series]
    unknown = np.full(len(own), np.nan)
    sums, squares = n * mean / width, (spread + n * mean**2) / width**2
    score, error = _scores(moments, own, series)
    return DayPart(
        streams=streams,
        n=n,
        events=unknown,
        expected=unknown,
        score=score,
        score_error=error,
        slope=unknown,
        sums=sums,
        squares=squares,
        growth=comparison_growth(sums, squares),
        bins=None,
    )


def _scores(moments: Moments, own: NDArray[np.intp], series: int) -> tuple[Floats, Floats]:
    """Return the mean of a series of moments and its standard error."""
    n, mean, spread = moments.n[own], moments.mean[own, series], moments.spread[own, series]
    with np.errstate(divide="ignore", invalid="ignore"):
        return mean, np.where(n > 1, np.sqrt(spread / (n * (n - 1.0))), np.nan)
