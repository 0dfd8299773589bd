"""Sums of residuals of class probabilities for tests of calibration: of the temperature, a shared shape, each class."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.polynomial.legendre import leg2poly
from numpy.typing import NDArray
from scipy.special import eval_legendre, logit

from propriety.calibration.null_scores import DEGREES, residual_variance
from propriety.result import Floats
from propriety.tables.cases import Cases, Chunk
from propriety.tables.forecast_table import ForecastTable

EDGE, BINS = 30.0, 2**12  # Log-odds beyond the edge are in the outermost bins.
# Legendre polynomials as combinations of powers, one column each.
POWERS = np.stack([np.pad(leg2poly([0.0] * one + [1.0]), (0, max(DEGREES) - one)) for one in DEGREES], axis=1)
MOST = 2**24  # Probabilities that are read to choose the functions.
SAME = 1e-9  # A function with a smaller share of its variance left is a combination of those before it.


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
