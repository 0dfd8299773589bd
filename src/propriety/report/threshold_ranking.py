"""Models ranked by their mean regret between any two thresholds, from sums that contain no cases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from propriety.errors import InputValueError
from propriety.number_words import percent
from propriety.plots.ranking import chance, odds_of
from propriety.report.cells import places_for
from propriety.result import Floats, Result
from propriety.rules.weights import UniformWeight, read_range
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.table_laws import check_same_cases

# Finer where thresholds are low, as they are for rare and serious events; every step is a round number.
STEPS = np.concatenate([np.arange(20) / 1000, np.arange(4, 20) / 200, np.arange(10, 101) / 100])
TREAT_ALL, TREAT_NONE = "treat all", "treat none"
CALL = "pr.bounded_brier_score(y_true, y_proba)"
PLACES = 10  # Decimal places of sums; means over a range of a hundredth keep eight.


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ThresholdRanking(Result):
    r"""Cumulative regret of each model from threshold 0 to each step of a grid; see `threshold_ranking`.

    Parameters
    ----------
    models : tuple of str
        The names, in the order given.
    grid : array of shape (steps,)
        Thresholds, strictly increasing.
    cumulative : array of shape (models, steps)
        :math:`\int R^*(c)\,dc` from the first threshold of the grid to each.
    trivial : mapping of str to array of shape (steps,)
        The same for treating all and for treating none.
    low, high : float
        The threshold range that is shown first.
    n : int
        Number of cases.
    score_call : str
        The call of the score of a model, without its thresholds.
    """

    models: tuple[str, ...]
    grid: Floats
    cumulative: Floats
    trivial: Mapping[str, Floats]
    low: float
    high: float
    n: int
    score_call: str = field(default=CALL, metadata={"hidden": True})

    @property
    def call(self) -> str:
        """The call of the mean regret of a model between the thresholds that are shown first."""
        return f"{self.score_call.removesuffix(')')}, thresholds=({self.low!r}, {self.high!r}))"

    def columns(self) -> Mapping[str, Any]:
        """Return one row per step of the grid, with a column for each model."""
        own = {f"regret up to here, {name}": row for name, row in zip(self.models, self.cumulative, strict=True)}
        return {"threshold": self.grid, **own}

    def mean_regret(self, low: float | None = None, high: float | None = None) -> dict[str, float]:
        """Return the exact mean regret of each model between two steps of the grid; by default those shown first.

        Examples
        --------
        >>> ranking = threshold_ranking({"a": ForecastTable.from_predictions([0, 1], [0.25, 0.75])})
        >>> ranking.mean_regret(0.0, 0.5)
        {'a': 0.03125}
        """
        start, stop = (self._step(end) for end in read_range(self._interval(low, high)))
        width = self.grid[stop] - self.grid[start]
        mean = (self.cumulative[:, stop] - self.cumulative[:, start]) / width
        return dict(zip(self.models, mean.tolist(), strict=True))

    def payload(self) -> dict[str, Any]:
        """Return what the page's script needs: sums at the steps of the grid, without any cases."""
        return {
            "grid": self.grid.tolist(),
            "labels": [reading(step) for step in self.grid.tolist()],
            "cumulative": [row.round(PLACES).tolist() for row in (*self.cumulative, *self.trivial.values())],
            "models": len(self.models),
            "start": self._step(self.low),
            "stop": self._step(self.high),
            "places": self.places,
        }

    @property
    def places(self) -> int:
        """Number of decimal places of the regrets."""
        return places_for(list(self.mean_regret().values()))

    def _interval(self, low: float | None, high: float | None) -> tuple[float, float]:
        return self.low if low is None else low, self.high if high is None else high

    def _step(self, threshold: float) -> int:
        place = int(np.searchsorted(self.grid, threshold))
        if place == len(self.grid) or self.grid[place] != threshold:
            law = f"low and high must be steps of the grid; {threshold!r} is not"
            raise InputValueError(law, hint="pass thresholds=(low, high), which adds them to the grid.")
        return place


def threshold_ranking(
    tables: Mapping[str, ForecastTable], *, thresholds: tuple[float, float] | None = None, score_call: str = CALL
) -> ThresholdRanking:
    r"""Compute the cumulative regret of each model on a grid of thresholds, which ranks models over any range.

    .. math:: \bar R(a, b) = \frac{C(b) - C(a)}{b - a}, \qquad C(t) = \int_0^t R^*(c)\,dc

    is the mean regret over the thresholds from :math:`a` to :math:`b`, the score of `BoundedBrier`. It is exact where
    both are steps of the grid.

    Parameters
    ----------
    tables : mapping of str to ForecastTable
        The forecasts of each model for the same cases.
    thresholds : (low, high), optional
        The threshold range to show first; its ends become steps of the grid. By default all thresholds.
    score_call : str
        The call of the score of a model, without thresholds, which the page shows with those chosen.

    References
    ----------
    Flores et al. (2025), theorem 3.3, arXiv:2504.04528, with the factor 2 that is missing there.

    Examples
    --------
    >>> import propriety as pr
    >>> y, p = [0, 1, 0, 1], [0.1, 0.3, 0.4, 0.8]
    >>> table = ForecastTable.from_predictions(y, p)
    >>> ranking = threshold_ranking({"model": table}, thresholds=(0.25, 0.5))
    >>> ranking.mean_regret()["model"], float(pr.bounded_brier_score(y, p, thresholds=(0.25, 0.5)))
    (0.16875, 0.16875)
    """
    low, high = (0.0, 1.0) if thresholds is None else read_range(thresholds)
    check_same_cases(tables)
    grid = np.unique(np.concatenate([STEPS, [low, high]]))
    first = next(iter(tables.values()))
    always, never = 0.5 * grid**2, grid - 0.5 * grid**2
    return ThresholdRanking(
        models=tuple(tables),
        grid=grid,
        cumulative=np.stack([_cumulative(table, grid) for table in tables.values()]),
        trivial={TREAT_ALL: (1.0 - first.event_rate) * always, TREAT_NONE: first.event_rate * never},
        low=low,
        high=high,
        n=first.n,
        score_call=score_call,
    )


def reading(threshold: float) -> str:
    """Format a threshold as a percentage and as a chance.

    Examples
    --------
    >>> reading(0.05), reading(0.0), reading(0.0166)
    ('5% (1 in 20)', '0%', '1.66%')
    """
    if not 0.0 < threshold < 1.0:
        return percent(threshold, 4)
    cases, of = odds_of(threshold)
    # A chance out of ten thousand is no easier to read than the percentage.
    is_readable = cases == 1 or of <= 100
    return f"{percent(threshold, 4)} ({chance(threshold)})" if is_readable else percent(threshold, 4)


def _cumulative(table: ForecastTable, grid: Floats) -> Floats:
    """Integrate the regret in closed form within each cell of the grid, and accumulate."""
    low, high = grid[:-1], grid[1:]
    cell = np.clip(np.searchsorted(grid, table.forecast, side="right") - 1, 0, len(low) - 1)
    inside = np.clip(table.forecast, grid[0], grid[-1])
    cost = UniformWeight().cost
    missed = table.events * cost(inside, high[cell], event=True)
    alarmed = table.non_events * cost(low[cell], inside, event=False)
    own, events, non_events = (
        np.bincount(cell, values, len(low)) for values in (missed + alarmed, table.events, table.non_events)
    )
    # An event is missed throughout the cells above its forecast, a non-event acted on throughout those below it.
    missed_before = np.cumsum(events) - events
    alarmed_after = non_events.sum() - np.cumsum(non_events)
    whole = missed_before * cost(low, high, event=True) + alarmed_after * cost(low, high, event=False)
    return np.concatenate([[0.0], np.cumsum(own + whole)]) / table.weight
