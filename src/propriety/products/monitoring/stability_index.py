"""The population stability index: how far the forecasts of a period are from those of the first periods."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from propriety.result import Floats

BINS = 64  # Of the log-odds of the forecasts, from -8 to 8, in which a reference window is stored.
WIDTH = 0.25
GROUPS = 10  # Of about equal size in the reference window, as is usual.


def bin_of(forecast: Floats, *, cells: int | None = None) -> NDArray[np.intp]:
    """Return the bins of forecasts by their log-odds, of width 0.25.

    A cell of a grid is at its centre, because its mean forecast, which changes from day to day, may be in another bin
    than that of the day before.

    Examples
    --------
    >>> bin_of(np.array([0.0, 0.5, 1.0]))
    array([ 0, 32, 63])
    """
    if cells is not None:
        certain = (forecast == 0.0) | (forecast == 1.0)
        forecast = np.where(certain, forecast, (np.floor(forecast * cells) + 0.5) / cells)
    with np.errstate(divide="ignore"):
        return np.clip(np.floor(logit(forecast) / WIDTH) + BINS // 2, 0, BINS - 1).astype(np.intp)


def stability_index(
    entry: NDArray[np.intp], bins: NDArray[np.intp], n: Floats, stream: NDArray[np.intp], reference: Floats
) -> Floats:
    r"""Return the population stability index of counts of forecasts by bin, by entry, against that of its stream.

    Neighbouring bins are joined to at most ten groups of about equal size in the reference. With the shares :math:`a_g`
    of the cases and :math:`r_g` of the reference,

    .. math:: \mathrm{PSI} = \sum_g (a_g - r_g) \log\frac{a_g}{r_g} .

    Half a case is added to each of the k groups with cases in either, so that the index is finite. It is NaN without a
    reference. By convention, a value above 0.1 is a moderate change and one above 0.25 a large one, but chance gives
    about :math:`(k - 1) (1/n + 1/m)` with n cases and m in the reference.

    Examples
    --------
    >>> reference, first = np.full((2, BINS), 100.0), np.zeros(BINS, dtype=int)
    >>> stability_index(first, np.arange(BINS), np.arange(BINS) * 5.0, np.array([1]), reference).round(2)
    array([0.49])
    """
    total = reference.sum(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        middle = (np.cumsum(reference, axis=1) - reference / 2.0) / total
    group = np.clip(np.nan_to_num(middle * GROUPS), 0, GROUPS - 1).astype(np.intp)
    place = (np.arange(len(reference))[:, None] * GROUPS + group).ravel()
    shape = -1, GROUPS
    known = np.bincount(place, reference.ravel(), minlength=len(reference) * GROUPS).reshape(shape)[stream]
    of_rows = entry * GROUPS + group[stream[entry], bins]
    counts = np.bincount(of_rows, n, minlength=len(stream) * GROUPS).reshape(shape)
    half = np.where(counts + known > 0.0, 0.5, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        first, second = ((one + half) / (one + half).sum(axis=1, keepdims=True) for one in (counts, known))
        index = np.where(half > 0.0, (first - second) * np.log(first / second), 0.0).sum(axis=1)
    return np.where(total[stream, 0] > 0.0, index, np.nan)
