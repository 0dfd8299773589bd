"""A test of calibration, from sums of residuals times functions of the forecast: line, shape and fine shape."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, eval_legendre, fdtrc, logit

from propriety.calibration.calibration_errors import rows_of, starts_by_share
from propriety.result import Floats, Result
from propriety.tables.forecast_table import ForecastTable

GROUPS = 2**12  # Number of groups of neighbouring forecasts, within which the functions hardly change.
DEGREES = (2, 3, 4, 5)
FINE_DEGREES = tuple(range(6, 16))
ENOUGH = 100.0  # Variance of the number of events needed to detect fine shapes.
KURTOSIS = 1.0  # With a larger excess kurtosis, a sum is not close to normal.
BINS = 10  # Bins in which the weights of events and non-events are compared.
SAME = 1e-9  # With a smaller residual, a function is a combination of those before it.
# Shares of the level: of intercept and slope beside the shape, and of shapes of low degree beside finer ones.
LINE_SHARE, LOW_SHARE = 0.8, 0.6
FEWEST_UNITS = 10  # With fewer clusters or periods, hardly any miscalibration could be found.
FEWEST_EQUAL = 8.0  # The same for the number of clusters of equal size that they are worth.
ENOUGH_REACH, MOST_DRAWS = 10, 20  # Draws that must reach the statistic; the factor by which draws may grow for that.
WORK = 20_000_000  # Most group outcomes drawn beyond the requested draws, about a second.
FEWEST = 20.0  # Below this variance of the number of events, the null distribution is simulated and power is low.


class NullScores(NamedTuple):
    r"""Sums :math:`\sum w (y - p) z_j(p)` over all cases, uncorrelated with variance 1 if the forecasts are calibrated.

    Parameters
    ----------
    sums : ndarray of shape (k,)
        The sums: of intercept and slope, of the shape beyond them, and of finer shapes.
    functions : ndarray of shape (groups, k)
        The functions :math:`z_j`.
    start : ndarray of int
        First row of the table in each group; forecasts of exactly 0 or 1 are in no group.
    sizes : (int, int, int)
        Number of sums of each of the three kinds.
    information : float
        Variance of the number of events if calibrated; with weights, that of the effective number of cases.
    line_kurtosis : float
        The larger excess kurtosis of the sums of intercept and slope: large if few cases determine the slope.
    """

    sums: Floats
    functions: Floats
    start: NDArray[np.intp]
    sizes: tuple[int, int, int]
    information: float
    line_kurtosis: float = 0.0

    @property
    def depends_on_few(self) -> bool:
        """Whether the sums of intercept and slope are not close to normal, because they depend on few cases."""
        return self.line_kurtosis > KURTOSIS


def null_scores(table: ForecastTable, spread: Floats | None = None) -> NullScores:
    r"""Return the sums of residuals times functions of the forecast, orthogonalised one after the other.

    The functions are 1 and the log-odds x; the Legendre polynomials :math:`P_2, \dots, P_5` of the share of the
    variance :math:`\sum w p (1 - p)` up to a forecast; and, if the variance suffices, :math:`P_6, \dots, P_{15}`. Each
    is orthogonal to those before it. A shape that depends on a few cases only, such as those with the highest of some
    rounded forecasts, is left out, because its sum is far from normal. `spread` is the variance of the sum of weighted
    residuals of each row if the forecasts are calibrated, by default that of `residual_variance`.
    """
    inside = (table.forecast > 0.0) & (table.forecast < 1.0)
    first = int(np.argmax(inside))
    rows = slice(first, first + int(np.count_nonzero(inside)))
    p = table.forecast[rows]
    none = np.empty(0)
    variance = table.weights[rows] * p * (1.0 - p)
    total = float(variance.sum())
    if not total > 0.0:
        return NullScores(none, none.reshape(0, 0), np.empty(0, dtype=np.intp), (0, 0, 0), 0.0)
    share = (np.cumsum(variance) - variance / 2.0) / total
    start = starts_by_share(share, GROUPS)
    own = residual_variance(table, rows, variance) if spread is None else spread[rows]
    residual = np.add.reduceat(table.events[rows] * (1.0 - p) - table.non_events[rows] * p, start)
    weight = np.add.reduceat(variance, start)
    x = np.add.reduceat(variance * logit(p), start) / weight
    middle = 2.0 * np.add.reduceat(variance * share, start) / weight - 1.0
    own = np.add.reduceat(own, start)
    information = total * (total / float(own.sum()))
    kinds: list[list[Floats]] = [[np.ones(len(start)), x]]
    fine = FINE_DEGREES if information >= ENOUGH else ()
    kinds += [[eval_legendre(degree, middle) for degree in degrees] for degrees in (DEGREES, fine)]
    kept: list[Floats] = []
    ends = [len(kept := _orthonormal(kept, columns, own, own / weight)) for columns in kinds]
    functions = np.stack(kept, axis=1)
    sizes = (ends[0], ends[1] - ends[0], ends[2] - ends[1])
    kurtosis = max((_kurtosis(one, own, own / weight) for one in kept[: ends[0]]), default=0.0)
    return NullScores(residual @ functions, functions, start + first, sizes, information, kurtosis)


def _orthonormal(kept: list[Floats], columns: list[Floats], spread: Floats, size_of_case: Floats) -> list[Floats]:
    r"""Add columns to uncorrelated ones, leaving out those that others explain or that depend on few cases.

    Intercept and slope are always kept.
    """
    kept, first = list(kept), not kept
    for column in columns:
        rest = column
        for _ in range(2):  # Twice, because one pass leaves rounding error proportional to what it removes.
            for one in kept:
                rest = rest - one * float(spread @ (one * rest))
        size = float(spread @ rest**2)
        if size > SAME**2 * float(spread @ column**2):
            function = rest / np.sqrt(size)
            if first or _kurtosis(function, spread, size_of_case) <= KURTOSIS:
                kept.append(function)
    return kept


def _kurtosis(function: Floats, spread: Floats, size_of_case: Floats) -> float:
    r"""Return about the excess kurtosis of a sum with the function z, :math:`\sum v (s z^2)^2`.

    Here v is the variance of a group and s the size, the weight, of its cases.
    """
    # In this order, neither huge nor tiny weights leave the range of numbers; forecasts of almost 0 may.
    with np.errstate(over="ignore"):
        return float(spread @ (size_of_case * function**2) ** 2)


def group_of_cases(scores: NullScores, table: ForecastTable, forecast: Floats) -> NDArray[np.intp]:
    """Return the group of each forecast; -1 for forecasts of exactly 0 or 1, which are in no group."""
    row = rows_of(table, forecast)
    group = np.maximum(np.searchsorted(scores.start, row, side="right") - 1, 0)
    return np.where((forecast > 0.0) & (forecast < 1.0), group, -1)


def residual_variance(table: ForecastTable, rows: slice, variance: Floats) -> Floats:
    r"""Return the variance of the sum of weighted residuals of each row if the forecasts are calibrated.

    Without weights this is :math:`N p (1 - p)`. If the log-weights of events exceed those of non-events by b, and
    :math:`A_1, A_0` are the sums of the squared weights of both, it is estimated by

    .. math:: p (1 - p) \{A_1 [(1 - p) + p e^{-b}] + A_0 [(1 - p) e^b + p]\} ,

    which uses both events and non-events, whereas the sum of squared residuals depends on the few events.
    """
    if not table.is_weighted or not variance.any():
        return variance
    squares = table.event_squares[rows], table.non_event_squares[rows]
    return weighted_variance(table.forecast[rows], *squares, _log_ratio(table, rows, variance))


def weighted_variance(p: Floats, event_squares: Floats, non_event_squares: Floats, log_ratio: float | Floats) -> Floats:
    """Return the variance of `residual_variance` for a known difference of the log-weights."""
    ratio = np.exp(log_ratio)
    happened, others = (1.0 - p) + p / ratio, (1.0 - p) * ratio + p
    return p * (1.0 - p) * (event_squares * happened + non_event_squares * others)


def log_weight_ratio(table: ForecastTable) -> float:
    """Return the mean excess of the log-weights of events over those of non-events with similar forecasts."""
    variance = table.weights * table.forecast * (1.0 - table.forecast)
    return _log_ratio(table, slice(None), variance) if variance.any() else 0.0


def _log_ratio(table: ForecastTable, rows: slice, variance: Floats) -> float:
    """Return the mean difference of log-weights between events and non-events with similar forecasts.

    The logarithm of a mean weight has a bias that depends on the number of cases. Both sides are therefore cut into
    runs with about the same effective number of cases; these are single cases if each row is one.
    """
    place = np.minimum(BINS * np.cumsum(variance) / variance.sum(), BINS - 1.0).astype(np.intp)
    sides = []
    for weight, squares in (
        (table.events[rows], table.event_squares[rows]),
        (table.non_events[rows], table.non_event_squares[rows]),
    ):
        there = weight > 0.0
        sides.append((place[there], weight[there], squares[there], weight[there] ** 2 / squares[there]))
    if not all(len(side[0]) for side in sides):
        return 0.0
    length = max(float((size**2).sum() / size.sum()) for *_, size in sides)
    (n_events, of_events), (n_others, of_others) = (_by_bin(*side, length) for side in sides)
    both = (n_events > 0.0) & (n_others > 0.0)
    if not both.any():
        return 0.0
    part = n_events[both] * n_others[both] / (n_events[both] + n_others[both])
    difference = of_events[both] / n_events[both] - of_others[both] / n_others[both]
    return float(part @ difference / part.sum())


def _by_bin(
    place: NDArray[np.intp], weight: Floats, squares: Floats, size: Floats, length: float
) -> tuple[Floats, Floats]:
    """Return the effective number of cases and the sum of their log-weights, computed run by run, in each bin."""
    run = np.floor((np.cumsum(size) - size / 2.0) / length)
    start = np.flatnonzero((np.diff(run, prepend=-1.0) != 0.0) | (np.diff(place, prepend=-1) != 0))
    number = np.add.reduceat(size, start)
    log_weight = np.log(np.add.reduceat(squares, start) / np.add.reduceat(weight, start))
    bins = place[start]
    return tuple(  # type: ignore[return-value]  # two
        np.bincount(bins, values, minlength=BINS).astype(np.float64) for values in (number, number * log_weight)
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class CalibrationTest(Result):
    r"""Result of a test of calibration that combines several components at one level; see `calibration_test`.

    Parameters
    ----------
    p_value : float
        p-value of all components together; 0 if a forecast is refuted, and 1 if there is nothing to test.
    line_statistic, line_df, line_p_value : float
        Cox's score test of calibration intercept 0 and slope 1.
    shape_df, shape_p_value, fine_df, fine_p_value : float
        Neyman's smooth test of the shape beyond intercept and slope, of degrees 2 to 5, and of degrees 6 to 15. If
        there are too few cases or distinct forecasts for one, it has 0 degrees of freedom and its p-value is NaN: it
        was not tested.
    information : float
        :math:`\sum p (1 - p)`, the variance of the number of events if calibrated; with weights or clusters, that of
        the effective number of cases.
    dispersion : float
        Factor by which clusters or periods increase the variance of intercept and slope; 1 for independent cases.
    n_certain, n_refuted : float
        Number (weight, if weighted) of cases with a forecast of exactly 0 or 1, and of those where the forecast was
        wrong.
    n, units : int
        Number of cases, and of independent units: clusters or periods if there are any, else cases.
    is_weighted : bool
        Whether the cases have weights.
    method : str
        Reference distribution of the statistics.
    worth : float
        Effective number of independent periods, if there are periods.
    equal_units : float
        Number of clusters of equal information that they are worth, if there are clusters.
    depends_on_few : bool
        Whether few cases determine the slope, and the test could not be drawn.
    """

    p_value: float
    line_statistic: float
    line_df: float
    line_p_value: float
    shape_df: float
    shape_p_value: float
    fine_df: float
    fine_p_value: float
    information: float
    dispersion: float
    n_certain: float
    n_refuted: float
    n: int
    units: int
    is_weighted: bool
    method: str
    worth: float = math.inf
    equal_units: float = math.inf
    depends_on_few: bool = False

    @property
    def has_enough_units(self) -> bool:
        """Whether there are enough clusters or periods: a statistic cannot exceed their number, whatever the errors."""
        return self.units >= FEWEST_UNITS and self.equal_units >= FEWEST_EQUAL

    @property
    def is_enough(self) -> bool:
        """Whether there are enough data for a non-significant result to be informative."""
        return self.information >= FEWEST and self.has_enough_units

    @property
    def smooth_p_value(self) -> float:
        """The p-value of the shape, of low degree or finer; NaN if no shape was tested."""
        return weighted_smallest((self.shape_p_value, self.fine_p_value), LOW_SHARE)

    def shows_shape(self, alpha: float) -> bool:
        """Return whether the shape is shown at its share of level `alpha`."""
        share = 1.0 - LINE_SHARE if self.line_df else 1.0
        return self.smooth_p_value <= share * alpha


def calibration_test(
    table: ForecastTable,
    *,
    n_resamples: int,
    seed: int,
    scores: NullScores | None = None,
    dispersion: Floats | None = None,
    around_mean: Floats | None = None,
    dispersion_df: float = math.inf,
    units: int | None = None,
) -> CalibrationTest:
    r"""Test whether the event happens as often as forecast, at every forecast.

    The functions :math:`z_j` of `null_scores` are uncorrelated. The squared sums of residuals of the first two give
    Cox's score test of intercept 0 and slope 1, with 2 degrees of freedom. Those of the next four are Neyman's smooth
    test of the shape, and if :math:`\sum p (1 - p) \ge 100`, ten more test finer shapes. By the weighted Bonferroni
    inequality

    .. math:: p = \min(p_\text{Cox} / 0.8, p_\text{shape} / 0.2) , \qquad
       p_\text{shape} = \min(p_{2 \dots 5} / 0.6, p_{6 \dots 15} / 0.4) ,

    at most 1, which keeps most of the power of Cox's test; without finer shapes, :math:`p_\text{shape} = p_{2 \dots
    5}`, and without shapes :math:`p = p_\text{Cox}`.

    Parameters
    ----------
    table : ForecastTable
        Forecasts and outcomes.
    n_resamples, seed : int
        Number and seed of the draws. If :math:`\sum p (1 - p) < 20`, too little to detect a shape, only intercept and
        slope are tested, against simulated outcomes if cases are independent and of equal weight. So they are if few
        cases determine the slope, such as a single forecast that differs from all others. As long as fewer than
        10 draws reach the statistic, up to 20 times as many are drawn, so that a small p-value can be resolved, as is
        needed if it is adjusted for many classes.
    scores : NullScores, optional
        The null scores of the table, if already computed.
    dispersion : ndarray, optional
        Variance of each sum under clusters or periods. A statistic is divided by the mean over its component, but by no
        less than 1, and has fewer degrees of freedom if the variances of a component differ (Rao and Scott).
    around_mean : ndarray, optional
        The same around the mean residual. It gives the information, which would seem small if the forecasts are wrong.
    dispersion_df : float
        Degrees of freedom of each of these variances, if their own noise matters, as with few periods; the statistics
        then have an F distribution.
    units : int, optional
        Number of clusters or periods, if cases are correlated within them.

    Notes
    -----
    Forecasts of exactly 0 or 1 have no log-odds. Those that came true are left out. A single one that did not refutes
    the forecasts, whatever the others say.

    References
    ----------
    Cox (1958), doi:10.1093/biomet/45.3-4.562; Neyman (1937), doi:10.1080/03461238.1937.10404821, for smooth tests; Rao
    & Scott (1981), doi:10.1080/01621459.1981.10477633; Besag & Clifford (1991), doi:10.1093/biomet/78.2.301, for
    drawing until enough draws reach the statistic.

    Examples
    --------
    >>> y, p = [0, 0, 0, 1, 0, 1, 1, 1] * 40, [0.1, 0.1, 0.1, 0.1, 0.8, 0.8, 0.8, 0.8] * 40
    >>> test = calibration_test(ForecastTable.from_predictions(y, p), n_resamples=1000, seed=1)
    >>> round(test.line_statistic, 3), test.line_df, round(test.line_p_value, 4), round(test.p_value, 4)
    (42.5, 2.0, 0.0, 0.0)
    """
    scores = null_scores(table) if scores is None else scores
    line, shape, fine = views_of(scores, dispersion, dispersion_df)
    few = scores.information < FEWEST
    if few:
        shape = fine = ViewResult(0.0, 0.0, math.nan, 1.0)
    drawn = (few or scores.depends_on_few) and dispersion is None and not table.is_weighted and line.df > 0
    line_p_value = line.p_value
    if drawn:
        reached, n_resamples = _drawn_line(table, scores, line.statistic, n_resamples, seed)
        line_p_value = (1 + reached) / (1 + n_resamples)
    smooth = weighted_smallest((shape.p_value, fine.p_value), LOW_SHARE)
    joint = weighted_smallest((line_p_value if line.df else math.nan, smooth), LINE_SHARE)
    within = around_mean[: scores.sizes[0]] if around_mean is not None else np.empty(0)
    correlated = max(1.0, float(within.mean())) if within.any() else line.dispersion
    certain = (table.forecast == 0.0) | (table.forecast == 1.0)
    wrong = np.where(table.forecast == 0.0, table.events, table.non_events)
    refuted = float(wrong[certain].sum())
    return CalibrationTest(
        p_value=0.0 if refuted > 0.0 else 1.0 if math.isnan(joint) else joint,
        line_statistic=line.statistic,
        line_df=line.df,
        line_p_value=line_p_value,
        shape_df=shape.df,
        shape_p_value=shape.p_value,
        fine_df=fine.df,
        fine_p_value=fine.p_value,
        information=scores.information / correlated,
        dispersion=correlated,
        n_certain=float(table.weights[certain].sum()),
        n_refuted=refuted,
        n=table.n,
        units=table.n if units is None else units,
        is_weighted=table.is_weighted,
        depends_on_few=scores.depends_on_few and not drawn,
        method=f"{n_resamples:,} draws of outcomes" if drawn else "chi-squared" if math.isinf(dispersion_df) else "F",
    )


class ViewResult(NamedTuple):
    """One component of a test: its statistic, degrees of freedom, p-value, and the dispersion of its sums."""

    statistic: float
    df: float
    p_value: float
    dispersion: float


def views_of(scores: NullScores, dispersion: Floats | None, dispersion_df: float) -> Iterator[ViewResult]:
    """Compare the squared sums of each component with the chi-squared or F distribution of matching moments."""
    end = 0
    for size in scores.sizes:
        part, end = slice(end, end + size), end + size
        with np.errstate(over="ignore"):  # An event happened that had a forecast of almost 0.
            statistic, df, factor, noise_df = float((scores.sums[part] ** 2).sum()), float(size), 1.0, math.inf
        if dispersion is not None and dispersion[part].any():
            factor = max(1.0, float(dispersion[part].mean()))
            uneven = float(dispersion[part].var()) / factor**2 if factor > 1.0 else 0.0
            statistic, df = statistic / (factor * (1.0 + uneven)), df / (1.0 + uneven)
            noise_df = dispersion_df * float(dispersion[part].sum()) ** 2 / float((dispersion[part] ** 2).sum())
        yield ViewResult(statistic, df, _tail(statistic, df, noise_df), factor)


def _tail(statistic: float, df: float, noise_df: float) -> float:
    """Return the p-value of a sum of squares over a variance that is known, or has `noise_df` degrees of freedom."""
    if not df:
        return math.nan
    return float(chdtrc(df, statistic)) if math.isinf(noise_df) else float(fdtrc(df, noise_df, statistic / df))


def weighted_smallest(p_values: tuple[float, float], share: float) -> float:
    """Return the smaller of two p-values over their shares of the level, at most 1; one that is NaN has no share.

    Examples
    --------
    >>> weighted_smallest((0.02, 0.5), 0.5), weighted_smallest((0.04, math.nan), 0.5)
    (0.04, 0.04)
    """
    first, second = p_values
    if math.isnan(first) or math.isnan(second):
        return second if math.isnan(first) else first
    return min(first / share, second / (1.0 - share), 1.0)


def _drawn_line(
    table: ForecastTable, scores: NullScores, statistic: float, n_resamples: int, seed: int
) -> tuple[int, int]:
    """Draw outcomes with the forecasts as probabilities; return how many draws reach the statistic, and of how many."""
    inside = (table.forecast > 0.0) & (table.forecast < 1.0)
    start = scores.start - int(np.argmax(inside))
    cases, expected = table.weights[inside], table.weights[inside] * table.forecast[inside]
    number = np.rint(np.add.reduceat(cases, start)).astype(np.int64)
    mean = np.add.reduceat(expected, start)
    generator, rate = np.random.default_rng(seed), np.minimum(mean / number, 1.0)
    functions = scores.functions[:, : scores.sizes[0]]
    least = statistic * (1.0 - 1e-9)  # Rounding must not exclude draws as extreme as the sample.
    reached = drawn = 0
    most = min(MOST_DRAWS * n_resamples, WORK // len(number))
    while drawn == 0 or (reached < ENOUGH_REACH and drawn < most):
        events = generator.binomial(number, rate, (n_resamples, len(number)))
        with np.errstate(over="ignore"):
            reached += int(np.count_nonzero((((events - mean) @ functions) ** 2).sum(axis=1) >= least))
        drawn += n_resamples
    return reached, drawn


FEW_CLASSES = 16  # With more classes, outcomes are found by bisection.


def drawn_outcomes(p: Floats, generator: np.random.Generator, draws: int) -> NDArray[np.intp]:
    """Draw classes with the probabilities `p` of shape (K, cases); return their indices, of shape (cases, draws).

    Examples
    --------
    >>> drawn_outcomes(np.array([[0.0, 1.0], [1.0, 0.0]]), np.random.default_rng(1), 3)
    array([[1, 1, 1],
           [0, 0, 0]])
    """
    heads = np.cumsum(p, axis=0)
    chance = generator.random((p.shape[1], draws)) * heads[-1][:, None]
    if len(p) <= FEW_CLASSES:
        drawn = np.zeros(chance.shape, dtype=np.intp)
        for head in heads[:-1]:
            drawn += chance >= head[:, None]
        return drawn
    found = [np.searchsorted(head, own, side="right") for head, own in zip(heads.T.copy(), chance, strict=True)]
    return np.minimum(np.stack(found), len(p) - 1)
