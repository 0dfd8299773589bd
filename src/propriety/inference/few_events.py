"""Few events: the number of the rarer outcome, and the tail of a skewed sum."""

from __future__ import annotations

import numpy as np
from scipy.special import gammainc, gammaincc

from propriety.ledger.moments import OUTCOME, Moments
from propriety.result import Floats

NORMAL = 1e-5  # Smaller skewness counts as none; it changes a p-value by a relative 1e-5.


def rarest(moments: Moments) -> int:
    """Return the number of cases with the rarest outcome; 0 if all outcomes are the same."""
    by_outcome = moments.over(OUTCOME)
    return int(by_outcome.n.min()) if len(by_outcome.n) > 1 else 0


def tail_of_skewed(z: Floats, skewness: Floats) -> Floats:
    """Return the two-sided p-value of a standardised skewed sum: twice the smaller tail of Pearson type III.

    Examples
    --------
    >>> tail_of_skewed(np.array([1.96, 1.96, -1.96]), np.array([0.0, 0.5, 0.5])).round(3)
    array([0.05 , 0.074, 0.02 ])
    """
    turned = np.where(skewness < 0.0, -z, z)
    shape = 4.0 / np.maximum(np.abs(skewness), NORMAL) ** 2
    at = np.maximum(shape + np.sqrt(shape) * turned, 0.0)
    p_value: Floats = np.minimum(2.0 * np.minimum(gammainc(shape, at), gammaincc(shape, at)), 1.0)
    return p_value
