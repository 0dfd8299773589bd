"""Samples of one event: its cases with the table they make, tables drawn from them, and how far PAV fits noise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety.calibration.recalibration import FixedForecasts
from propriety.errors import InputValueError, ProprietyError, sentence
from propriety.inference.bootstrap import Units, in_blocks
from propriety.results import Floats
from propriety.rules.rule import BinaryRule
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.predictions import BinaryPredictions

__all__ = ["Sample", "draws_for", "overfits", "resampled_tables"]

WORK = 2_000_000  # Table rows that are recalibrated, over all draws, for one interval of a part of a decomposition.
FEWEST_DRAWS = 20  # They estimate a mean and a spread, whose own errors are small beside that of the interval.


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Cases of one event and the table they make, for whatever must know which cases a draw holds.

    An entry is a case, or where cases are neither weighted nor in clusters, all those of one row and outcome.

    Parameters
    ----------
    table : ForecastTable
        The table of all cases.
    row : ndarray of shape (entries,)
        Row of the table.
    event : ndarray of shape (entries,)
        Whether the event happened.
    weight : ndarray of shape (entries,)
        Weight of each case.
    count : ndarray of shape (entries,)
        Number of cases.
    codes : ndarray of shape (entries,), optional
        Number of the cluster.
    """

    table: ForecastTable
    row: NDArray[np.intp]
    event: NDArray[np.bool_]
    weight: Floats
    count: NDArray[np.int64]
    codes: NDArray[np.intp] | None = None

    @classmethod
    def of_table(cls, table: ForecastTable) -> Sample:
        """Take the cells of a table apart; a weighted one does not know the weights of its cases."""
        if table.is_weighted:
            law = "an interval needs the weight of each case, which a weighted ForecastTable does not hold"
            raise InputValueError(sentence(law, hint="pass y_true, y_proba and sample_weight."))
        cells = np.rint(np.concatenate([table.events, table.non_events])).astype(np.int64)
        occupied = np.flatnonzero(cells)
        event = occupied < len(table)
        return cls(table, occupied - len(table) * ~event, event, np.ones(len(occupied)), cells[occupied])

    @classmethod
    def of_predictions(cls, predictions: BinaryPredictions, codes: NDArray[np.intp] | None = None) -> Sample:
        """Keep each case where it has a weight or a cluster, and the table otherwise."""
        table = ForecastTable.from_checked(predictions)
        if predictions.weight is None and codes is None:
            return cls.of_table(table)
        forecast, event, given = predictions.gathered()
        weight = np.ones(len(event)) if given is None else given
        if not weight.all():
            kept = weight > 0.0
            forecast, event, weight = forecast[kept], event[kept], weight[kept]
            # A cluster without weight is none, and cannot be drawn.
            codes = None if codes is None else np.unique(codes[kept], return_inverse=True)[1].reshape(-1)
        row = np.searchsorted(table.forecast, forecast)
        return cls(table, row, event, weight, np.ones(len(event), dtype=np.int64), codes)

    def losses(self, rule: BinaryRule, forecast: Floats) -> Floats:
        """Return the loss of each entry if its row of the table is forecast so; no other losses are evaluated."""
        losses = np.zeros((2, len(forecast)))
        for happens, met in ((True, self.table.events > 0.0), (False, self.table.non_events > 0.0)):
            losses[int(happens), met] = rule.loss(forecast[met], event=happens)
        return losses[self.event.astype(np.intp), self.row]

    def units(self, values: Floats) -> Units:
        """Return the units of the mean of values of the entries."""
        return Units.of(values, weight=self.weight, count=self.count, codes=self.codes)

    def draw(self, generator: np.random.Generator) -> ForecastTable:
        """Draw cases, or clusters, with replacement and return their table."""
        if self.codes is None:
            number = int(self.count.sum())
            drawn = generator.multinomial(number, self.count / number)
        else:
            clusters = int(self.codes.max()) + 1
            drawn = generator.multinomial(clusters, np.full(clusters, 1.0 / clusters))[self.codes]
        weight = self.weight * drawn
        columns: dict[str, Any] = {
            "events": self._summed(weight * self.event),
            "non_events": self._summed(weight * ~self.event),
        }
        if self.table.is_weighted:
            squares = weight * self.weight
            columns["event_squares"] = self._summed(squares * self.event)
            columns["non_event_squares"] = self._summed(squares * ~self.event)
        kept = columns["events"] + columns["non_events"] > 0.0
        return ForecastTable(
            forecast=self.table.forecast[kept],
            **{name: column[kept] for name, column in columns.items()},
            n=int(drawn.sum()),
            n_events=int(drawn[self.event].sum()),
            cells=self.table.cells,
        )

    def _summed(self, values: Floats) -> Floats:
        """Return the sum of values of the entries by row of the table."""
        return np.bincount(self.row, values, minlength=len(self.table)).astype(np.float64, copy=False)


def resampled_tables(
    sample: Sample,
    statistic: Callable[[ForecastTable], float],
    *,
    n_resamples: int,
    seed: int,
    workers: int = 1,
    progress: bool = False,
) -> Floats:
    """Return a statistic of tables drawn from a sample; NaN where a draw has none, such as an AUC without events.

    Examples
    --------
    >>> sample = Sample.of_table(ForecastTable.from_predictions([0, 1] * 50, [0.2, 0.6] * 50))
    >>> rates = resampled_tables(sample, lambda table: table.event_rate, n_resamples=500, seed=1)
    >>> round(float(rates.std()), 2)
    0.05
    """

    def draw(generator: np.random.Generator, size: int) -> Floats:
        return np.array([_defined(statistic, sample.draw(generator)) for _ in range(size)])

    return in_blocks(draw, n_resamples=n_resamples, seed=seed, workers=workers, progress=progress)


def draws_for(n_resamples: int, rows: int) -> int:
    """Return the number of draws for a part of a decomposition: fewer where a table is so large that each is slow.

    Examples
    --------
    >>> draws_for(1000, 500), draws_for(1000, 10_000), draws_for(1000, 200_000)
    (1000, 200, 20)
    """
    return min(n_resamples, max(FEWEST_DRAWS, WORK // rows))


def overfits(
    sample: Sample,
    rule: BinaryRule,
    recalibrated: Floats,
    *,
    n_resamples: int,
    seed: int,
    workers: int = 1,
    progress: bool = False,
) -> Floats:
    """Return what isotonic regression gains, by fitting noise, on outcomes drawn at the rates of each row.

    The forecasts and weights of the cases stay; outcomes are drawn independently of each other.
    """
    table = sample.table
    forecasts = FixedForecasts.of(rule, recalibrated)
    rate = recalibrated[sample.row]
    number = np.array([]) if table.is_weighted else np.rint(table.weights).astype(np.int64)

    def outcomes(generator: np.random.Generator) -> Floats:
        if not table.is_weighted:
            return generator.binomial(number, recalibrated).astype(np.float64)
        happens = generator.random(len(rate)) < rate
        summed: Floats = np.bincount(sample.row, sample.weight * happens, minlength=len(table)).astype(np.float64)
        return summed

    def gain(events: Floats) -> float:
        score, best, _ = forecasts.scores(events, np.maximum(table.weights - events, 0.0))
        return score - best

    def draw(generator: np.random.Generator, size: int) -> Floats:
        return np.array([gain(outcomes(generator)) for _ in range(size)])

    return in_blocks(draw, n_resamples=n_resamples, seed=seed, workers=workers, progress=progress)


def _defined(statistic: Callable[[ForecastTable], float], table: ForecastTable) -> float:
    try:
        return statistic(table)
    except ProprietyError:
        return np.nan
