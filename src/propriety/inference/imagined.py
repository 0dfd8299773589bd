"""Imagined outcomes: how far a number could still move if the forecasts are right, from sums that add."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from propriety.calibration.calibration_test import log_weight_ratio
from propriety.inference.measures.measure import DISCOUNT, Imagination, Measure
from propriety.ledger.case_pair_sums import Powers, sums_of_powers
from propriety.ledger.keyed_tables import KeyedTables
from propriety.ledger.ledger import Ledger
from propriety.ledger.pair_sums import POWERS
from propriety.result import Floats
from propriety.tables.forecast_table import ForecastTable

PRIOR = 2.0  # Cases of either outcome added to observed and expected numbers before their ratio is taken.


class Totals(NamedTuple):
    """Numbers of some groups of cases: cases, sums of weights and of their squares, weighted share of events."""

    n: Floats
    weight: Floats
    squares: Floats
    share: Floats


class Imagined(NamedTuple):
    """Distribution of a number if outcomes are those that the forecasts foresee.

    Parameters
    ----------
    centre : ndarray
        Imagined minus observed value.
    variance, third : ndarray
        Second and third central moment of the imagined value.
    discount : float
        How little a jump counts that was neither seen nor foreseen.
    """

    centre: Floats
    variance: Floats
    third: Floats
    discount: float = DISCOUNT

    def minus(self, other: Imagined) -> Imagined:
        """Return the distribution of the difference of two independent numbers."""
        variance = self.variance + other.variance
        return Imagined(self.centre - other.centre, variance, self.third - other.third, self.discount)


def imagined_sums(
    rows: ForecastTable | KeyedTables,
    event: Floats,
    non_event: Floats,
    rate: Floats,
    entry: NDArray[np.intp] | None = None,
    groups: int = 1,
) -> Floats:
    """Return the sums of each group by observed outcome, imagined outcome and `POWERS`, shape (groups, 2, 2, 9).

    The cases of a row with one outcome are taken as of equal weight, with their sums of weights and of squares.

    Parameters
    ----------
    rows : ForecastTable or KeyedTables
        The cases, in rows of equal forecasts.
    event, non_event : ndarray of shape (rows,)
        What a case of the row adds to the number with the event and without it.
    rate : ndarray of shape (rows,)
        Probability at which the event is imagined.
    entry : ndarray of shape (rows,), optional
        Group of each row.

    Examples
    --------
    >>> table = ForecastTable(forecast=[0.25, 0.5], events=[1, 2], non_events=[3, 2])
    >>> imagined_sums(table, np.ones(2), np.zeros(2), table.forecast)[0].sum(axis=0)[1, :2]
    array([3., 3.])
    """
    codes = np.zeros(len(rate), dtype=np.intp) if entry is None else entry
    sides = [(rows.non_events, rows.non_event_squares), (rows.events, rows.event_squares)]
    # With counts, all powers of the weights are equal, and nothing depends on the observed outcome.
    powers_of_weights: list[Powers] = [[rows.events + rows.non_events]]
    if any((weight != squares).any() for weight, squares in sides):
        cubes = [
            np.divide(squares**2, weight, out=np.zeros_like(squares), where=weight > 0.0) for weight, squares in sides
        ]
        powers_of_weights = [[*side, cube] for side, cube in zip(sides, cubes, strict=True)]
    found = np.zeros((groups, 2, 2, len(POWERS)))

    def total(column: Floats) -> Floats:
        return np.bincount(codes, column, minlength=groups).astype(np.float64, copy=False)

    for imagined, (probability, moves) in enumerate(((1.0 - rate, non_event), (rate, event))):
        moved = np.where(probability > 0.0, moves, 0.0)  # What is impossible may move the number without limit.
        for observed, powers in enumerate(powers_of_weights):
            with np.errstate(over="ignore", invalid="ignore"):  # Forecasts of almost 0.
                found[:, observed, imagined] = sums_of_powers(moved, probability, powers, total)
    return found


def tilted(sums: Floats, log_ratio: Floats | float) -> Floats:
    r"""Return sums by imagined outcome only, shape (..., 2, 9), from those by observed and imagined outcome.

    If events have larger weights than non-events of the same forecast, so they have as imagined outcomes: a case with
    the outcome y has the weight :math:`w e^{b (o - y)}` if the outcome o is imagined, with the log ratio b.
    """
    observed, imagined = np.arange(2)[:, None, None], np.arange(2)[None, :, None]
    powers = np.array([j - 1.0 for j, _ in POWERS])
    ratio = np.asarray(log_ratio)[..., None, None, None]
    with np.errstate(over="ignore", invalid="ignore"):  # Sums that are not known.
        found: Floats = (sums * np.exp(ratio * (imagined - observed) * powers)).sum(axis=-3)
    return found


def imagined_of(
    sums: Floats,
    totals: Totals,
    asked: Imagination,
    *,
    differing: Floats | float,
    factor: Floats | float = 1.0,
    by_outcome: bool = False,
) -> Imagined:
    r"""Return the imagined distribution of the mean of what cases add, from sums of shape (..., 2, 9).

    The numbers of events and of non-events are first made right on average: imagined events are multiplied by
    :math:`(O + 2) / (E + 2)`, with the observed and the expected number, and non-events alike. Correlation that
    inflates the variance by a factor f makes cases worth n / f, and third moments :math:`f^2` times as large. With
    `by_outcome`, the numbers of events and of non-events are known, and each has its own mean. The edge of a measure
    adds the variance of one case near the threshold, shared among those that differ.
    """
    weight, f = totals.weight, np.asarray(factor)
    edge = f * asked.edge * totals.squares / (weight**2 * totals.n * (1.0 + differing))
    if by_outcome:
        shares = np.stack([1.0 - totals.share, totals.share], axis=-1)
        with np.errstate(divide="ignore", invalid="ignore"):  # An outcome that is not imagined.
            parts = [_moments(sums[..., outcome, :], weight) for outcome in range(2)]
        centre, variance, third = (
            sum(
                np.where(shares[..., outcome] > 0.0, shares[..., outcome] * part[place], 0.0)
                for outcome, part in enumerate(parts)
            )
            for place in range(3)
        )
        third = np.asarray(asked.skew * f * f * third)
        return Imagined(np.asarray(centre), np.asarray(f * variance + edge), third, asked.discount)
    number = weight**2 / totals.squares / f
    expected, events = number * sums[..., 1, 0] / weight, number * totals.share
    ratios = (number - events + PRIOR) / (number - expected + PRIOR), (events + PRIOR) / (expected + PRIOR)
    right = np.stack(ratios, axis=-1)
    with np.errstate(over="ignore", invalid="ignore"):
        whole = (sums * right[..., None]).sum(axis=-2)
    centre, variance, third = _moments(whole, weight)
    return Imagined(centre, f * variance + edge, asked.skew * f * f * third, asked.discount)


def _moments(sums: Floats, weight: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the mean of imagined outcomes, and the central moments of the mean of cases of this weight."""
    whole, first, w2, w2x, w2xx, w3, w3x, w3xx, w3xxx = np.moveaxis(sums, -1, 0)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # Forecasts of almost 0, or nothing there.
        c = first / whole
        variance = (w2xx - 2.0 * c * w2x + c * c * w2) / (whole * weight)
        third = (w3xxx - 3.0 * c * w3xx + 3.0 * c * c * w3x - c**3 * w3) / (whole * weight * weight)
        return c, np.maximum(variance, 0.0), third


def imagined_of_model(ledger: Ledger, model: str, measure: Measure, factor: float = 1.0) -> Imagined | None:
    """Return the imagined distribution of a measure of one model; None for classes, or if nothing is imagined.

    `factor` is that by which correlation inflates the variance.
    """
    if ledger.labels is not None or not measure.has_influence:
        return None
    table, fixes_rate = ledger.table(model), ledger.prevalence is not None
    influence, asked, totals = measure.influence(table), measure.imagination(table), totals_of(table)
    if asked is None:
        return None
    rate = shifted_rate(table) if fixes_rate else table.forecast
    rate = rate if asked.rate is None else asked.rate
    sums = tilted(imagined_sums(table, *influence, rate), tilt_of(table))[0]
    by_outcome, differing = fixes_rate and ledger.dependence is None, min(asked.differing, table.n)
    return imagined_of(sums, totals, asked, differing=differing, factor=factor, by_outcome=by_outcome)


def totals_of(table: ForecastTable) -> Totals:
    """Return the totals of a table."""
    squares = float(table.event_squares.sum() + table.non_event_squares.sum())
    return Totals(*(np.asarray(float(one)) for one in (table.n, table.weight, squares, table.event_rate)))


def tilt_of(table: ForecastTable) -> float:
    """Return the log ratio of the weights of events and of non-events with similar forecasts."""
    return log_weight_ratio(table) if table.is_weighted else 0.0


def shifted_rate(table: ForecastTable) -> Floats:
    """Return the forecasts, all moved alike in log-odds so that they are right on average.

    Examples
    --------
    >>> table = ForecastTable(forecast=[0.2, 0.5], events=[4, 6], non_events=[6, 4])
    >>> shifted_rate(table).round(3)
    array([0.333, 0.667])
    """
    inside = (table.forecast > 0.0) & (table.forecast < 1.0)
    if not inside.any():
        return table.forecast
    x, weight = logit(table.forecast[inside]), table.weights[inside]
    events = float(table.events[inside].sum())
    rate = table.forecast.copy()
    if 0.0 < events < weight.sum():
        from scipy.optimize import brentq  # Imported here, because it is slow to import.

        farthest = 40.0 + float(np.abs(x).max())
        shift = brentq(lambda move: float(weight @ expit(x + move)) - events, -farthest, farthest)
        rate[inside] = expit(x + shift)
    return rate


def ridge_rate(table: ForecastTable, spread: tuple[float, float] = (1.0, 0.5)) -> Floats:
    """Return the rates of Cox's line, drawn towards calibration by normal priors of shift and slope.

    The forecasts of a good ranking need not be calibrated; the line makes them nearly so, also with a few events.
    """
    inside = (table.forecast > 0.0) & (table.forecast < 1.0)
    x, scale = logit(table.forecast[inside]), table.effective_n / table.weight
    events, weight = table.events[inside] * scale, table.weights[inside] * scale
    precision, centre = 1.0 / np.square(spread), np.array([0.0, 1.0])
    design, line = np.stack([np.ones(len(x)), x]), centre.copy()

    def loss(at: Floats) -> float:
        moved = at @ design
        own = weight @ np.logaddexp(0.0, moved) - events @ moved
        return float(own + 0.5 * precision @ (at - centre) ** 2)

    for _ in range(50):
        rate = expit(line @ design)
        slope = design @ (events - weight * rate) - precision * (line - centre)
        information = (design * (weight * rate * (1.0 - rate))) @ design.T + np.diag(precision)
        step = np.linalg.solve(information, slope)
        while loss(line + step) > loss(line) + 1e-12 and np.abs(step).max() > 1e-12:
            step = step / 2.0
        line = line + step
        if np.abs(step).max() < 1e-9:
            break
    rates = table.forecast.copy()
    rates[inside] = expit(line @ design)
    return rates
