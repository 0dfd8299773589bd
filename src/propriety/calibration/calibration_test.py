"""A test of calibration at one level, from a forecast table: of intercept and slope, and of other shapes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, fdtrc

from propriety.calibration.null_scores import NullScores, null_scores
from propriety.result import Floats, Result
from propriety.tables.forecast_table import ForecastTable

# Shares of the level of the test for one, two or three components.
SHARES = {1: (1.0,), 2: (0.8, 0.2), 3: (0.8, 0.12, 0.08)}
FEWEST_UNITS = 10  # With fewer clusters or periods, hardly any miscalibration could be found.
FEWEST_EQUAL = 8.0  # The same for the number of clusters of equal size that they are worth.
ENOUGH_REACH, MOST_DRAWS = 10, 20  # Draws that must reach the statistic; the factor by which draws may grow for that.
WORK = 20_000_000  # Most group outcomes drawn beyond the requested draws, about a second.
FEWEST = 20.0  # Below this variance of the number of events, the null distribution is simulated and power is low.


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class CalibrationTest(Result):
    r"""Result of a test of calibration that combines several components at one level; see `calibration_test`.

    Parameters
    ----------
    p_value : float
        p-value of all components together; 0 if a forecast is refuted, and 1 if there is nothing to test.
    line_statistic, line_df, line_p_value : float
        Score test of calibration intercept 0 and slope 1.
    shape_df, shape_p_value, fine_df, fine_p_value : float
        Tests of the shape beyond intercept and slope, and of finer shapes. If there are too few cases or distinct
        forecasts for one, it has 0 degrees of freedom and its p-value is NaN: it was not tested.
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

    def views_against(self, alpha: float) -> tuple[bool, bool, bool]:
        """Return whether line, shape and finer shapes, each by itself, are decisive at level `alpha`."""
        names = ("line", "shape", "fine")
        views = [(getattr(self, f"{name}_p_value"), getattr(self, f"{name}_df")) for name in names]
        line, shape, fine = (p_value <= alpha for p_value in _shared(views))
        return line, shape, fine


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
    Cox's score test of intercept 0 and slope 1, with 2 degrees of freedom; those of the next four test the shape; and
    if :math:`\sum p (1 - p) \ge 100`, ten more test finer shapes. The tests are independent of each other in large
    samples. Their p-values are combined as

    .. math:: m = \min_k p_k / a_k , \qquad p = 1 - \prod_k (1 - a_k m)

    with shares :math:`a` of 0.8, 0.12 and 0.08, or 0.8 and 0.2, which keeps most of the power of Cox's test.

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
    Cox (1958), doi:10.1093/biomet/45.3-4.562; Rao & Scott (1981), doi:10.1080/01621459.1981.10477633; Besag & Clifford
    (1991), doi:10.1093/biomet/78.2.301, for drawing until enough draws reach the statistic.

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
    joint = min(_shared([(line_p_value, line.df), (shape.p_value, shape.df), (fine.p_value, fine.df)]))
    within = around_mean[: scores.sizes[0]] if around_mean is not None else np.empty(0)
    correlated = max(1.0, float(within.mean())) if within.any() else line.dispersion
    certain = (table.forecast == 0.0) | (table.forecast == 1.0)
    wrong = np.where(table.forecast == 0.0, table.events, table.non_events)
    refuted = float(wrong[certain].sum())
    return CalibrationTest(
        p_value=0.0 if refuted > 0.0 else joint,
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


def _shared(views: Iterable[tuple[float, float]]) -> list[float]:
    """Return, for p-values with their degrees of freedom, the combined p-value if each of them is decisive."""
    views = list(views)
    shares = SHARES.get(sum(df > 0.0 for _, df in views), ())
    tested = iter(shares)
    return [
        _any_of([share * p_value / own for share in shares]) if df > 0.0 and (own := next(tested)) else 1.0
        for p_value, df in views
    ]


def _any_of(chances: list[float]) -> float:
    """Return the probability that any of several independent events happens, accurate also if it is small."""
    return 1.0 if max(chances) >= 1.0 else 0.0 - math.expm1(math.fsum(math.log1p(-chance) for chance in chances))


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
