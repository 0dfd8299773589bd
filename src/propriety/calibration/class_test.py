"""One test of the calibration of class probabilities: temperature, each class, and a shared shape."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.polynomial.legendre import leg2poly
from numpy.typing import NDArray
from scipy.special import chdtrc, eval_legendre, expit, logit, ndtri

from propriety.calibration.calibration_errors import rows_of
from propriety.calibration.calibration_test import DEGREES, drawn_outcomes, residual_variance
from propriety.calibration.squared_distance import grouped_functions
from propriety.result import Floats
from propriety.tables.cases import Cases, Chunk
from propriety.tables.forecast_table import ForecastTable

EDGE, BINS = 30.0, 2**12  # Log-odds beyond the edge are in the outermost bins.
# Legendre polynomials as combinations of powers, one column each.
POWERS = np.stack([np.pad(leg2poly([0.0] * one + [1.0]), (0, max(DEGREES) - one)) for one in DEGREES], axis=1)
MOST = 2**24  # Probabilities that are read to choose the functions.
SAME = 1e-9  # A function with a smaller share of its variance left is a combination of those before it.
View: TypeAlias = Literal["class-wise", "temperature", "shape"]
SHARES: dict[View, float] = {"temperature": 0.4, "class-wise": 0.4, "shape": 0.2}
SMALLEST = 50.0  # Variance of the number of cases that each class needs for chi-squared distributions.
WORK, FEWEST_DRAWS = 10**7, 200  # Most outcomes drawn, and the number of draws made in any case.
MOST_WORK, ENOUGH_REACH = 3 * 10**8, 10  # Most outcomes drawn while fewer draws than this reach the statistic.
BLOCK = 2**21  # Outcomes drawn at once.
LARGEST = 2**22  # Probabilities read at once.


class ClassScores(NamedTuple):
    r"""Sums over the cases of functions of class probabilities p, with their variance if these are calibrated.

    Parameters
    ----------
    sums : ndarray of shape (5,)
        :math:`\sum_i w_i \sum_k (y_{ik} - p_{ik}) f_j(p_{ik})` for the logarithm and four shapes.
    variance : ndarray of shape (5, 5)
        Covariance matrix of the sums.
    residuals : ndarray of shape (n, 5)
        What each case adds to the sums.
    shapes : ndarray of shape (bins, 4)
        The shapes by bin of log-odds.
    line_sums : ndarray of shape (K, 2)
        For each class, :math:`\sum_i w_i (y_{ik} - p_{ik}) (1, x_{ik})` with the log-odds x.
    line_variance : ndarray of shape (K, 3)
        Variance of the first of both sums, their covariance, and the variance of the second.
    """

    sums: Floats
    variance: Floats
    residuals: Floats
    shapes: Floats
    line_sums: Floats
    line_variance: Floats


class _Values(NamedTuple):
    """Functions of the probabilities of a chunk, each of shape (K, cases); 0 where they have no value."""

    log: Floats
    log_odds: Floats
    place: NDArray[np.intp]


def case_values(p: Floats) -> _Values:
    """Return the logarithms, the log-odds and their bins; a probability of 0, and log-odds of 0 or 1, count as 0."""
    with np.errstate(divide="ignore"):
        log = np.where(p > 0.0, np.log(p), 0.0)
        x = np.where((p > 0.0) & (p < 1.0), log - np.log1p(-np.minimum(p, 1.0)), 0.0)
    place = ((np.clip(x, -EDGE, EDGE) + EDGE) * (BINS / (2.0 * EDGE))).astype(np.intp)
    return _Values(log, x, np.minimum(place, BINS - 1))


def class_scores(cases: Cases, model: str) -> ClassScores:
    r"""Return the sums of residuals of a model, in two passes over its cases.

    The functions that all classes share are :math:`L = \log p` and the Legendre polynomials :math:`P_2, \dots, P_5` of
    2u - 1, where u is the share of :math:`\sum p (1 - p)` over all cases and classes up to a probability, by bin of its
    log-odds. With weights w the variance is

    .. math:: V_{jl} = \sum_i w_i^2 \Bigl[\sum_k p_{ik} f_j f_l - \sum_k p_{ik} f_j \sum_k p_{ik} f_l\Bigr] .

    A probability of 0 adds nothing.
    """
    mass = np.zeros(BINS)
    step = max(len(cases) * (cases.classes or 1) // MOST, 1)  # A sample is enough to choose the functions.
    for chunk in cases.chunks(model):
        p, weight = chunk.forecast[:, ::step], None if chunk.weight is None else chunk.weight[::step]
        spread = p * (1.0 - p) if weight is None else weight * p * (1.0 - p)
        mass += np.bincount(case_values(p).place.ravel(), spread.ravel(), minlength=BINS)
    total = mass.sum()
    share = (np.cumsum(mass) - mass / 2.0) / total if total > 0.0 else np.full(BINS, 0.5)
    shapes = np.stack([eval_legendre(degree, 2.0 * share - 1.0) for degree in DEGREES], axis=1)
    classes = cases.classes or 0
    found = [_of_chunk(chunk, share, shapes, classes) for chunk in cases.chunks(model)]
    residuals = np.concatenate([one.residuals for one in found])
    added = [sum(parts) for parts in zip(*((*one[:2], *one[4:]) for one in found), strict=True)]
    second, variance, line_sums, line_variance = (np.asarray(one, dtype=np.float64) for one in added)
    flat = np.diag(variance) <= SAME * second  # What is left is rounding error.
    variance[flat] = variance[:, flat] = 0.0
    return ClassScores(residuals.sum(axis=0), variance, residuals, shapes, line_sums, line_variance)


def _of_chunk(chunk: Chunk, share: Floats, shapes: Floats, classes: int) -> ClassScores:
    """Return the scores of a chunk, with the second moments of the functions in place of the sums."""
    p, outcome, weight = chunk
    w = np.ones(p.shape[1]) if weight is None else weight
    log, x, place = case_values(p)
    rows = np.arange(p.shape[1])
    means = np.column_stack([(p * log).sum(axis=0), _mean_shapes(p, (2.0 * share - 1.0)[place])])
    own = np.column_stack([log[outcome, rows], shapes[place[outcome, rows]]])
    mass, logs = w**2 * p, w**2 * p * log
    by_bin, logs_by_bin = (np.bincount(place.ravel(), one.ravel(), minlength=BINS) for one in (mass, logs))
    second = np.empty((5, 5))
    second[0, 0] = (logs * log).sum()
    second[0, 1:] = second[1:, 0] = logs_by_bin @ shapes
    second[1:, 1:] = (shapes * by_bin[:, None]).T @ shapes
    inside = (p > 0.0) & (p < 1.0)
    spread = np.where(inside, w**2 * p * (1.0 - p), 0.0)
    happened = w * inside[outcome, rows]
    line_sums = [
        np.bincount(outcome, happened * one, minlength=classes) - (w * p * values * inside).sum(axis=1)
        for one, values in ((1.0, 1.0), (x[outcome, rows], x))
    ]
    return ClassScores(
        sums=np.diag(second),
        variance=second - (means * (w**2)[:, None]).T @ means,
        residuals=(own - means) * w[:, None],
        shapes=shapes,
        line_sums=np.stack(line_sums, axis=1),
        line_variance=np.stack([(spread * values).sum(axis=1) for values in (1.0, x, x**2)], axis=1),
    )


def _mean_shapes(p: Floats, middle: Floats) -> Floats:
    """Return the means of the shapes over the classes of each case, from those of powers of 2u - 1."""
    power = p.copy()
    moments = [power.sum(axis=0)]
    for _ in range(max(DEGREES)):
        power *= middle
        moments.append(power.sum(axis=0))
    return np.stack(moments, axis=1) @ POWERS


def standardised(sums: Floats, variance: Floats) -> Floats:
    """Return rows of the five sums as uncorrelated sums of variance 1, that of the temperature first.

    A function that those before it explain is left out.
    """
    kept: list[Floats] = []
    for place in range(len(variance)):
        vector = np.eye(len(variance))[place]
        for one in kept:
            vector = vector - one * float(one @ variance @ vector)
        size = float(vector @ variance @ vector)
        if size > SAME * variance[place, place]:
            kept.append(vector / np.sqrt(size))
        elif place == 0:  # All probabilities of a case that are not 0 are equal.
            kept.append(np.zeros(len(variance)))
    return np.asarray(sums) @ np.stack(kept, axis=1)


def line_of_table(table: ForecastTable) -> tuple[Floats, Floats, float]:
    """Return the sums of one class and their variances, as in `ClassScores`, and the information, from its table."""
    first = int(np.searchsorted(table.forecast, 0.0, side="right"))
    rows = slice(first, int(np.searchsorted(table.forecast, 1.0, side="left")))
    p = table.forecast[rows]
    x = logit(p)
    residual = table.events[rows] * (1.0 - p) - table.non_events[rows] * p
    expected = table.weights[rows] * p * (1.0 - p)
    spread = residual_variance(table, rows, expected)
    total = float(spread.sum())
    return (
        np.array([residual.sum(), residual @ x]),
        np.array([total, spread @ x, spread @ x**2]),
        float(expected.sum()) ** 2 / total if total > 0.0 else 0.0,
    )


def line_statistics(sums: Floats, variance: Floats, information: Floats | float) -> tuple[Floats, Floats]:
    r"""Return Cox's score statistic of each class and its degrees of freedom, for sums of shape (..., K, 2).

    The statistic is multiplied by I / (I + 1), so that a single case of a class that is expected to have almost none
    does not dominate the largest of K statistics. The information
    :math:`I = (\sum_i w_i p_i (1 - p_i))^2 / \sum_i w_i^2 p_i (1 - p_i)` is the variance of the number of cases of the
    class; with weights, that of the effective number.
    """
    first, mixed, second = np.moveaxis(variance, -1, 0)
    safe = np.where(first > 0.0, first, 1.0)
    left = second - mixed**2 / safe
    sloped = left > SAME * second
    intercept = np.where(first > 0.0, sums[..., 0] ** 2 / safe, 0.0)
    slope = np.where(sloped, (sums[..., 1] - mixed / safe * sums[..., 0]) ** 2 / np.where(sloped, left, 1.0), 0.0)
    return (intercept + slope) * information / (information + 1.0), (first > 0.0) * 1.0 + sloped


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClassTest:
    """A test of the calibration of class probabilities; see `propriety.check_calibration`.

    Parameters
    ----------
    p_value : float
        Combined p-value of the views; NaN if no view was tested.
    p_values : dict
        p-value of each view that was tested.
    decided_by : str
        The view with the smallest p-value relative to its share of the level.
    temperature : float
        Standardised sum of the temperature; negative if the probabilities are too extreme. NaN if it was not tested.
    class_p_values, class_p_adjusted : ndarray of shape (K,)
        p-value of each class, also adjusted for the number of classes; NaN for classes that were not tested.
    method : str
        How p-values were computed.
    smallest : float
        The smallest p-value that the draws can show; 0 without draws.
    """

    p_value: float
    p_values: dict[View, float]
    decided_by: View
    temperature: float
    class_p_values: Floats
    class_p_adjusted: Floats
    method: str
    smallest: float = 0.0


def class_test(
    cases: Cases, model: str, scores: ClassScores, *, level: float, n_resamples: int, seed: int
) -> ClassTest:
    """Test the calibration of independent cases without weights, by draws of outcomes if some class is rare.

    If hardly any draw reaches the statistic, as many are made as naming a class at the level needs.
    """
    information = scores.line_variance[:, 0]
    if not (information[information > 0.0] < SMALLEST).any():
        return expected_test(scores)
    draws = max(min(n_resamples, WORK // len(cases)), min(n_resamples, FEWEST_DRAWS))
    most = MOST_WORK // max(len(cases), 100 * len(information))  # Sums of classes must fit in memory.
    needed = math.ceil(1.0 / (SHARES["class-wise"] * (1.0 - level)))
    found = drawn_test(cases, model, scores, draws, seed)
    if draws < needed <= most and found.p_value * (draws + 1) <= ENOUGH_REACH:
        return drawn_test(cases, model, scores, needed, seed)
    return found


def combined(p_values: dict[View, float]) -> tuple[float, View]:
    """Return the smallest p-value relative to the share of the level of its view, and that view.

    Examples
    --------
    >>> combined({"temperature": 0.3, "class-wise": 0.02})
    (0.04, 'class-wise')
    """
    total = sum(SHARES[view] for view in p_values)
    relative = {view: p_value * total / SHARES[view] for view, p_value in p_values.items()}
    view = min(relative, key=relative.__getitem__)
    return min(relative[view], 1.0), view


def expected_test(scores: ClassScores) -> ClassTest:
    """Test with chi-squared distributions, which hold if every class is frequent enough."""
    z, *shape = standardised(scores.sums, scores.variance)
    p_values: dict[View, float] = {}
    if scores.variance[0, 0] > 0.0:
        p_values["temperature"] = float(chdtrc(1.0, z**2))
    if shape:
        p_values["shape"] = float(chdtrc(len(shape), np.sum(np.square(shape))))
    variance = scores.line_variance
    return joined_test(p_values, float(z), line_p_values(scores.line_sums, variance, variance[:, 0]), "chi-squared")


def line_p_values(sums: Floats, variance: Floats, information: Floats | float) -> Floats:
    """Return the p-value of each class; NaN where its probabilities are only 0 and 1."""
    lines, df = line_statistics(sums, variance, information)
    return np.where(df > 0.0, chdtrc(np.maximum(df, 1.0), lines), np.nan)


def joined_test(p_values: dict[View, float], temperature: float, of_class: Floats, method: str) -> ClassTest:
    """Make a test of the p-values of temperature and shape and of those of the classes; NaN means not tested."""
    number = int(np.count_nonzero(~np.isnan(of_class)))
    adjusted = np.minimum(of_class * number, 1.0)
    if number:
        p_values = p_values | {"class-wise": float(np.nanmin(adjusted))}
    p_value, view = combined(p_values) if p_values else (math.nan, "class-wise")
    return ClassTest(
        p_value=p_value,
        p_values=p_values,
        decided_by=view,
        temperature=temperature if "temperature" in p_values else math.nan,
        class_p_values=of_class,
        class_p_adjusted=adjusted,
        method=method,
    )


def drawn_test(cases: Cases, model: str, scores: ClassScores, draws: int, seed: int) -> ClassTest:
    """Test with the distribution of the same statistics over draws of outcomes from the probabilities themselves."""
    plain = expected_test(scores)
    if not plain.p_values:
        return plain
    sums, line_sums = _drawn_sums(cases, model, scores, draws, seed)
    standard = standardised(sums, scores.variance)
    of_class = line_p_values(line_sums, scores.line_variance, scores.line_variance[:, 0])
    tested = ~np.isnan(plain.class_p_values)
    smallest = np.where(tested, of_class, np.inf).min(axis=1)
    of_draws: dict[View, Floats] = {
        "temperature": np.asarray(chdtrc(1.0, standard[:, 0] ** 2)),
        "class-wise": smallest * np.count_nonzero(tested),
        "shape": chdtrc(max(standard.shape[1] - 1, 1), (standard[:, 1:] ** 2).sum(axis=1)),
    }
    total = sum(SHARES[view] for view in plain.p_values)
    relative = np.min([of_draws[view] * total / SHARES[view] for view in plain.p_values], axis=0)
    adjusted = [_share(smallest, one) for one in plain.class_p_values]
    observed = _observed(plain)
    return ClassTest(
        p_value=_share(relative, min(observed[view] * total / SHARES[view] for view in observed)),
        p_values={view: _share(of_draws[view], observed[view]) for view in observed},
        decided_by=plain.decided_by,
        temperature=plain.temperature,
        class_p_values=np.array(
            [_share(drawn, one) for drawn, one in zip(of_class.T, plain.class_p_values, strict=True)]
        ),
        class_p_adjusted=np.array(adjusted),
        method=f"{draws:,} draws of outcomes",
        smallest=1.0 / (1 + draws),
    )


def _observed(plain: ClassTest) -> dict[View, float]:
    """Return the statistics of the views, without the limit of 1 on the class-wise p-value."""
    known = plain.class_p_values[~np.isnan(plain.class_p_values)]
    return plain.p_values | ({"class-wise": float(known.min()) * len(known)} if len(known) else {})


def _share(drawn: Floats, observed: float) -> float:
    """Return the p-value of a statistic of which small values are extreme."""
    if np.isnan(observed):
        return float("nan")
    # Rounding must not exclude draws as extreme as the sample.
    return float((1 + np.count_nonzero(drawn <= observed * (1.0 + 1e-9))) / (1 + len(drawn)))


def _drawn_sums(cases: Cases, model: str, scores: ClassScores, draws: int, seed: int) -> tuple[Floats, Floats]:
    """Return the sums of class scores for outcomes drawn from the probabilities, by draw.

    Only what depends on the outcome is summed. The rest is the same in all draws and in the sample. The draws do not
    depend on the order of the cases.
    """
    generator, classes = np.random.default_rng(seed), cases.classes or 0
    whole, order = cases.forecasts[model], _order_of_rows(cases, model)
    size = max(min(BLOCK // draws, LARGEST // classes), 1)
    sums, lines = np.zeros((draws, 5)), np.zeros((draws, classes, 2))
    same, same_lines = -scores.sums, -scores.line_sums
    for start in range(0, len(order), size):
        rows = order[start : start + size]
        p = np.ascontiguousarray(whole[rows].T, dtype=np.float64)
        happened = cases.outcome[rows].astype(np.intp, copy=False)
        _add_outcomes(p, happened[:, None], scores, same[None], same_lines[None])
        _add_outcomes(p, drawn_outcomes(p, generator, draws), scores, sums, lines)
    return sums - same, lines - same_lines


def _order_of_rows(cases: Cases, model: str) -> NDArray[np.intp]:
    """Return an order of the cases that depends only on their probabilities."""
    factors = np.random.default_rng(0).random((cases.classes or 0, 1))
    return np.argsort(np.concatenate([(factors * p).sum(axis=0) for p, *_ in cases.chunks(model)]), kind="stable")


def _add_outcomes(p: Floats, own: NDArray[np.intp], scores: ClassScores, sums: Floats, lines: Floats) -> None:
    """Add the functions of the probabilities of the outcomes, of shape (cases, draws), to the sums of each draw."""
    draws, classes = lines.shape[:2]
    given = p[own, np.arange(p.shape[1])[:, None]]
    log, x, place = case_values(given)
    sums[:, 0] += log.sum(axis=0)
    for column, shape in enumerate(scores.shapes.T, 1):
        sums[:, column] += shape[place].sum(axis=0)
    cell = (own + np.arange(draws) * classes).ravel()
    inside = (given > 0.0) & (given < 1.0)
    for column, values in enumerate((inside, x)):
        counted = np.bincount(cell, values.ravel(), minlength=draws * classes)
        lines[:, :, column] += counted.reshape(draws, classes)


ROUNDING = 1e-14  # Smaller distances are rounding error.


class ClassDistance(NamedTuple):
    """The distance summed over the classes with its limits, and the part of each class, which can be negative."""

    value: float
    low: float
    high: float
    of_class: Floats


class ClassPart(NamedTuple):
    """What one class adds: its distance, which noise can make negative, the fitted difference by row, and the noise.

    `spread` is the variance of the mean of :math:`2 r d - d^2` with residuals r and fitted differences d.
    """

    distance: float
    fitted: Floats
    noise: float
    spread: float


def part_of_class(table: ForecastTable) -> ClassPart:
    r"""Return the corrected squared distance of one class, without a limit at 0.

    The residuals are regressed on functions of the forecast as in `squared_distance`, without steps. With coefficients
    c, their covariance :math:`\hat C` and that of calibrated forecasts, :math:`C_0`, the distance is
    :math:`n (c^\top c - \operatorname{tr} \hat C) / (n - 1)`, and its noise if calibrated
    :math:`2 \operatorname{tr} C_0^2`.
    """
    groups = grouped_functions(table, 0)
    functions = np.column_stack([np.ones(len(groups.start)), groups.functions])
    p, total = table.forecast, table.weight
    residual = table.events * (1.0 - p) - table.non_events * p
    coefficients = functions.T @ np.add.reduceat(residual, groups.start) / total
    squares = table.event_squares * (1.0 - p) ** 2 + table.non_event_squares * p**2
    null = (table.event_squares + table.non_event_squares) * p * (1.0 - p)
    spent = float(np.add.reduceat(squares, groups.start) @ (functions**2).sum(axis=1)) / total**2
    covariance = (functions * np.add.reduceat(null, groups.start)[:, None]).T @ functions / total**2
    factor = table.n / max(table.n - 1.0, 1.0)
    distance = factor * (float(coefficients @ coefficients) - spent)
    fitted = np.repeat(functions @ coefficients, np.diff(groups.start, append=len(table)))
    return ClassPart(distance, fitted, 2.0 * float((covariance**2).sum()), _spread(table, fitted))


def _spread(table: ForecastTable, fitted: Floats) -> float:
    linear = [fitted * (2.0 * residual - fitted) for residual in (1.0 - table.forecast, -table.forecast)]
    mean = float(table.events @ linear[0] + table.non_events @ linear[1]) / table.weight
    squares = table.event_squares @ (linear[0] - mean) ** 2 + table.non_event_squares @ (linear[1] - mean) ** 2
    return float(squares) / table.weight**2


class DistanceSum:
    r"""Adds up :math:`\sum_k E (P(Y = k \mid p_k) - p_k)^2` class by class, for independent cases.

    The sum is set to 0 if it is negative, not its terms, because the noise of many classes would then add up. With the
    residual r and the fitted difference d of each class, the variance of the sum is

    .. math:: \max\Bigl(\operatorname{var}\Bigl[\sum_k (2 r_k d_k - d_k^2)\Bigr] / n - v_0, v_0\Bigr) ,

    where :math:`v_0` is that of calibrated forecasts. The limits always contain the estimate. Without the cases, the
    square root of the first variance is replaced by its upper bound, the sum of the standard errors of the classes.

    Parameters
    ----------
    weight : ndarray of shape (n,), optional
        Weights of the cases; None if the cases are not available.
    """

    def __init__(self, weight: Floats | None) -> None:
        self.share = None if weight is None else weight / weight.sum()
        self.linear = np.zeros(0 if weight is None else len(weight))
        self.parts: list[float] = []
        self.noise = self.errors = 0.0

    def add(self, table: ForecastTable, rows: NDArray[np.intp] | None = None, own: Cases | None = None) -> None:
        """Add a class, given its table and, if available, its cases and the row of each in the table."""
        part = part_of_class(table)
        self.parts.append(part.distance)
        self.noise += part.noise
        self.errors += math.sqrt(part.spread)
        if own is not None:
            forecast, happened, _ = own.gathered()
            fitted = part.fitted[rows]
            self.linear += fitted * (2.0 * (happened - forecast) - fitted)

    def result(self, level: float) -> ClassDistance:
        """Return the sum with its limits."""
        parts = np.array(self.parts)
        of_class = np.where(np.abs(parts) > ROUNDING, parts, 0.0)
        total, spread = math.fsum(of_class.tolist()), self.errors**2
        if self.share is not None:
            centred = self.share * (self.linear - float(self.share @ self.linear))
            spread = float(centred @ centred)
        half = float(ndtri(0.5 + level / 2.0)) * math.sqrt(max(spread - self.noise, self.noise))
        limits = max(total, 0.0), total - half, max(total, 0.0) + half
        value, low, high = (one if one > ROUNDING else 0.0 for one in limits)
        return ClassDistance(value, low, high, of_class)


MOST_EXACT = 2**12  # With more cases, forecasts are pooled.
CENTRES = np.concatenate([[0.0], expit(EDGE * ((2.0 * np.arange(BINS) + 1.0) / BINS - 1.0)), [1.0]])
LOWEST_INSIDE, HIGHEST_INSIDE = math.nextafter(0.0, 1.0), math.nextafter(1.0, 0.0)
NAMES = ("events", "non_events", "event_squares", "non_event_squares")


def pooled_table(table: ForecastTable) -> ForecastTable:
    """Return the table with the forecasts of each bin of log-odds replaced by their mean; 0 and 1 stay as they are.

    A bin is 0.015 wide, far less than the standard error of any curve. Up to 4,096 cases, nothing is pooled.

    Examples
    --------
    >>> p = np.linspace(0.01, 0.99, 10_000)
    >>> len(pooled_table(ForecastTable.from_predictions(p > 0.5, p)))
    628
    """
    if table.n <= MOST_EXACT:
        return table
    columns = {name: getattr(table, name) for name in NAMES}
    return _pooled(table.forecast, columns, table.n, table.n_events)[0]


def pooled_cases(own: Cases, table: ForecastTable | None = None) -> tuple[ForecastTable, NDArray[np.intp]]:
    """Return the pooled table of the cases of one event, and the row of each case; few cases may have it already."""
    forecast, happened, weight = own.gathered()
    if own.n <= MOST_EXACT:
        table = ForecastTable.from_cases(own) if table is None else table
        return table, rows_of(table, forecast)
    w = np.ones(len(forecast)) if weight is None else weight
    columns = {"events": w * happened, "non_events": w * ~happened}
    columns |= {"event_squares": w * columns["events"], "non_event_squares": w * columns["non_events"]}
    kept = w > 0.0
    return _pooled(forecast, columns, int(np.count_nonzero(kept)), int(np.count_nonzero(happened & kept)))


def _pooled(
    forecast: Floats, columns: dict[str, Floats], n: int, n_events: int
) -> tuple[ForecastTable, NDArray[np.intp]]:
    place = np.where(forecast == 0.0, 0, np.where(forecast == 1.0, BINS + 1, case_values(forecast).place + 1))
    summed = {name: np.bincount(place, values, minlength=BINS + 2) for name, values in columns.items()}
    weight = summed["events"] + summed["non_events"]
    rows = np.flatnonzero(weight)
    # Sums of differences from the centre of a bin keep means within their bins, also next to 1.
    away = np.bincount(place, (forecast - CENTRES[place]) * (columns["events"] + columns["non_events"]), len(CENTRES))
    values: dict[str, Any] = {name: one[rows] for name, one in summed.items()}
    mean, certain = CENTRES[rows] + away[rows] / weight[rows], (rows == 0) | (rows == BINS + 1)
    values["forecast"] = np.where(certain, CENTRES[rows], np.clip(mean, LOWEST_INSIDE, HIGHEST_INSIDE))
    table = ForecastTable(**values, n=n, n_events=n_events)
    return table, (np.cumsum(weight > 0.0) - 1)[place]
