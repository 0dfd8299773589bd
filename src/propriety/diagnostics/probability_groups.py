"""Pairs of a case and a class, grouped by their forecasts, and means of their probabilities."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propriety.calibration.binning import bin_starts
from propriety.calibration.pav import pool_adjacent_violators
from propriety.errors import InputTypeError, InputValueError
from propriety.result import Floats, Result
from propriety.tables.arrays import read_array
from propriety.tables.forecast_table import ForecastTable

DECIMALS = 12  # Forecasts are rounded to find their bin, because 1 - 0.9 and 0.1 are the same forecast.
TINY = 1e-290  # Products with smaller exponents are inexact; the geometric mean is used.


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ProbabilityGroups(Result):
    """Pairs of a case and a class that share a source probability: the blocks or bins behind the source means.

    Parameters
    ----------
    label : array of shape (rows,)
        Class of the pairs, or "all" if the pairs of all classes share a bin.
    low, high : array of shape (rows,)
        Smallest and largest probability that the model gave to a pair of the group.
    source : array of shape (rows,)
        Share of the pairs whose class is the one that happened.
    model : array of shape (rows,)
        Geometric mean of the model probabilities of these true pairs; NaN if there are no such pairs.
    weight, pair_weight : array of shape (rows,)
        Weight of the true pairs, and of all pairs.

    Examples
    --------
    >>> import propriety as pr
    >>> groups = pr.probability_means([1, 0, 1, 0], [0.8, 0.6, 0.4, 0.2]).groups
    >>> groups.source.round(3)
    array([0. , 0.5, 1. , 0. , 0.5, 1. ])
    """

    label: NDArray[np.str_]
    low: Floats
    high: Floats
    source: Floats
    model: Floats
    weight: Floats
    pair_weight: Floats


def power_mean(values: Floats, weight: Floats, exponent: float) -> float:
    r"""Return the weighted power mean :math:`(\sum w v^m / \sum w)^{1/m}` of non-negative numbers.

    The exponent 0 gives the geometric mean, -inf and inf the smallest and the largest number. A zero makes the mean
    zero unless the exponent is positive; without weight the mean is NaN.

    Examples
    --------
    >>> import numpy as np
    >>> [power_mean(np.array([0.25, 1.0]), np.ones(2), exponent) for exponent in (1, 0, -1)]
    [0.625, 0.5, 0.4]
    """
    return float(power_means(values, weight, np.array([exponent]))[0])


def power_means(values: Floats, weight: Floats, exponents: Floats) -> Floats:
    """Return the weighted power means for several exponents; see `power_mean`.

    Examples
    --------
    >>> power_means(np.array([0.25, 1.0]), np.ones(2), np.array([1.0, 0.0, -1.0]))
    array([0.625, 0.5  , 0.4  ])
    """
    values, weight = _runs(values[weight > 0.0], weight[weight > 0.0])
    if not len(values):
        return np.full(len(exponents), np.nan)
    share, logs = weight / weight.sum(), {}
    means = []
    for given in exponents.tolist():
        exponent = 0.0 if abs(given) < TINY else given
        # Relative to the dominant number, so that no power overflows and small exponents keep their digits.
        scale = float(values.max() if exponent > 0.0 else values.min())
        if scale == 0.0 or math.isinf(exponent):
            means.append(scale)
        elif exponent == 1.0:
            means.append(scale * float((share * (values / scale)).sum()))
        else:
            if scale not in logs:
                logs[scale] = _logs(values, scale)
            means.append(_power_mean(logs[scale], share, scale, exponent))
    return np.array(means)


def _runs(values: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Add up the weights of equal neighbours, of which recalibrated forecasts have many."""
    first = np.flatnonzero(np.diff(values, prepend=-1.0))
    return (values[first], np.add.reduceat(weight, first)) if 2 * len(first) < len(values) else (values, weight)


def _logs(values: Floats, scale: float) -> Floats:
    with np.errstate(divide="ignore", over="ignore"):  # Zero to a positive power is zero.
        ratio = values / scale
        return np.log(ratio) if ratio.max() < math.inf else np.log(values) - math.log(scale)


def _power_mean(logs: Floats, share: Floats, scale: float, exponent: float) -> float:
    growth = float(share @ logs) if exponent == 0.0 else _log_of_mean(exponent * logs, share) / exponent
    # Next to a subnormal number the ratio may overflow, although the mean does not.
    return scale * math.exp(growth) if scale > 1e-150 else math.exp(math.log(scale) + growth)


def _log_of_mean(powers: Floats, share: Floats) -> float:
    """Return log(sum of share * exp(powers)), for powers that are not positive."""
    change = float(share @ np.expm1(powers))
    # A small change keeps the digits of small powers. A large one, where 0 has almost no share, would lose them all.
    return math.log1p(change) if change > -0.5 else math.log(float(share @ np.exp(powers)))


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Pairs of a case and a class, sorted by forecast: weight of the true pairs and of the others.

    `start` holds the first row of each group and, at the end, the number of rows.
    """

    forecast: Floats
    true: Floats
    false: Floats
    start: NDArray[np.intp]

    def mirrored(self) -> Pairs:
        """Return the pairs of the same cases with the other of two classes."""
        start = len(self.forecast) - self.start[::-1]
        return Pairs(1.0 - self.forecast[::-1], self.false[::-1], self.true[::-1], start)

    def rates(self) -> Floats:
        """Share of true pairs in each group."""
        true, false = (np.add.reduceat(column, self.start[:-1]) for column in (self.true, self.false))
        rates: Floats = true / (true + false)
        return rates

    def true_probabilities(self) -> tuple[Floats, Floats, Floats]:
        """Return model probability, source probability and weight of the true pairs."""
        happened = self.true > 0.0
        source = np.repeat(self.rates(), np.diff(self.start))
        return self.forecast[happened], source[happened], self.true[happened]

    def groups(self, label: object) -> ProbabilityGroups:
        """Return the groups as a result."""
        start = self.start[:-1]
        low, weight = self.forecast[start], np.add.reduceat(self.true, start)
        return ProbabilityGroups(
            label=np.full(len(start), str(label)),
            low=low,
            high=self.forecast[self.start[1:] - 1],
            source=self.rates(),
            model=self._geometric_means(weight),
            weight=weight,
            pair_weight=np.add.reduceat(self.true + self.false, start),
        )

    def _geometric_means(self, weight: Floats) -> Floats:
        """Return the geometric mean of the forecasts of the true pairs of each group; NaN without true pairs."""
        # Relative to the highest forecast of the group, so that small forecasts keep their digits.
        scale = self.forecast[self.start[1:] - 1]
        with np.errstate(divide="ignore", invalid="ignore"):  # Forecasts of 0, or groups without true pairs.
            logs = np.log(self.forecast / np.repeat(scale, np.diff(self.start)))
            sums = np.add.reduceat(np.where(self.true > 0.0, self.true * logs, 0.0), self.start[:-1])
            means: Floats = np.where(scale == 0.0, 0.0, scale * np.exp(sums / weight))
        return np.where(weight > 0.0, means, np.nan)


def by_blocks(table: ForecastTable) -> Pairs:
    """Group the pairs that isotonic regression pools."""
    return Pairs(table.forecast, table.events, table.non_events, pool_adjacent_violators(table).start)


def by_forecast(table: ForecastTable) -> Pairs:
    """Make each distinct forecast a group."""
    return Pairs(table.forecast, table.events, table.non_events, np.arange(len(table) + 1))


def by_bins(table: ForecastTable, bins: int | ArrayLike) -> Pairs:
    """Group the pairs by bins, given by their number or edges; equal forecasts are never split."""
    place = np.round(table.forecast, DECIMALS)
    if np.ndim(bins) == 0:
        rounded = table.moved(place)
        first = rounded.forecast[bin_starts(rounded, bins=bins, strategy="quantile")]  # type: ignore[arg-type]  # checked there
        start = np.searchsorted(place, first)
    else:
        edges = _read_edges(bins)
        index = np.minimum(np.searchsorted(edges, place, side="right"), len(edges) - 1)
        start = np.flatnonzero(np.diff(index, prepend=-1))
    return Pairs(table.forecast, table.events, table.non_events, np.append(start, len(table)))


def _read_edges(bins: object) -> Floats:
    edges = read_array(bins, "bins").values
    law = "bins must be a whole number, or edges that rise from 0 to 1"
    if edges.dtype.kind not in "iuf" or edges.ndim != 1 or len(edges) < 2:
        raise InputTypeError(f"{law}; got shape {edges.shape} of {edges.dtype}")
    if not (edges[0] == 0.0 and edges[-1] == 1.0 and (np.diff(edges) > 0.0).all()):
        raise InputValueError(f"{law}; got {edges.tolist()}")
    return edges.astype(np.float64)


def clipped(table: ForecastTable, precision: float) -> ForecastTable:
    """Return the table with its forecasts clipped to [precision, 1 - precision]."""
    return table.moved(np.clip(table.forecast, precision, 1.0 - precision))


def complement(table: ForecastTable) -> ForecastTable:
    """Return the table of the complementary event."""
    swapped = replace(
        table,
        events=table.non_events,
        non_events=table.events,
        event_squares=table.non_event_squares,
        non_event_squares=table.event_squares,
        n_events=table.n - table.n_events,
    )
    return swapped.moved(1.0 - table.forecast)


def joined(parts: Iterable[ProbabilityGroups]) -> ProbabilityGroups:
    """Stack the groups of several classes."""
    columns = [part.columns() for part in parts]
    return ProbabilityGroups(**{name: np.concatenate([part[name] for part in columns]) for name in columns[0]})
