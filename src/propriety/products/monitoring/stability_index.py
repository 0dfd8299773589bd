"""The population stability index: how far the forecasts of a day are from those of a reference window."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from propriety.result import Floats

BINS = 64  # Of the log-odds of the forecasts, from -8 to 8, in which a reference window is stored.
WIDTH = 0.25
GROUPS = 10  # Of about equal size in the reference window, as is usual.


def bin_counts(
    entry: NDArray[np.intp], entries: int, forecast: Floats, n: Floats, *, cells: int | None = None
) -> Floats:
    """Count the cases of each entry by the log-odds of their forecasts, in bins of width 0.25.

    A cell of a grid is counted at its centre, because its mean forecast, which changes from day to day, may be in
    another bin than that of the day before.

    Examples
    --------
    >>> np.flatnonzero(bin_counts(np.zeros(3, int), 1, np.array([0.0, 0.5, 1.0]), np.ones(3)))
    array([ 0, 32, 63])
    """
    if cells is not None:
        certain = (forecast == 0.0) | (forecast == 1.0)
        forecast = np.where(certain, forecast, (np.floor(forecast * cells) + 0.5) / cells)
    with np.errstate(divide="ignore"):
        place = np.clip(np.floor(logit(forecast) / WIDTH) + BINS // 2, 0, BINS - 1).astype(np.intp)
    return np.bincount(entry * BINS + place, n, minlength=entries * BINS).astype(np.float64).reshape(entries, BINS)


def stability_index(counts: Floats, reference: Floats) -> Floats:
    r"""Return the population stability index of counts by bin against those of a reference, one row per entry.

    Neighbouring bins are joined to at most ten groups of about equal size in the reference. With the shares :math:`a_g`
    of the cases and :math:`r_g` of the reference,

    .. math:: \mathrm{PSI} = \sum_g (a_g - r_g) \log\frac{a_g}{r_g} .

    Half a case is added to each of the k groups with cases in either, so that the index is finite. It is NaN without a
    reference. By convention, a value above 0.1 is a moderate change and one above 0.25 a large one, but chance gives
    about :math:`(k - 1) (1/n + 1/m)` with n cases and m in the reference.

    Examples
    --------
    >>> reference = np.tile(100.0, (1, BINS))
    >>> stability_index(reference, reference), stability_index(np.arange(BINS)[None] * 5.0, reference).round(2)
    (array([0.]), array([0.49]))
    """
    total = reference.sum(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        middle = (np.cumsum(reference, axis=1) - reference / 2.0) / total
    group = np.clip(np.nan_to_num(middle * GROUPS), 0, GROUPS - 1).astype(np.intp)
    place = (np.arange(len(counts))[:, None] * GROUPS + group).ravel()

    def grouped(column: Floats) -> Floats:
        sums = np.bincount(place, column.ravel(), minlength=len(counts) * GROUPS)
        return sums.astype(np.float64).reshape(-1, GROUPS)

    half = np.where(grouped(counts + reference) > 0.0, 0.5, 0.0)
    first, second = (grouped(one) + half for one in (counts, reference))
    with np.errstate(invalid="ignore", divide="ignore"):
        first, second = (one / one.sum(axis=1, keepdims=True) for one in (first, second))
        index = np.where(half > 0.0, (first - second) * np.log(first / second), 0.0).sum(axis=1)
    return np.where(total[:, 0] > 0.0, index, np.nan)
