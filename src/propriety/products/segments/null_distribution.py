"""The distribution of the largest deviation of any segment if all forecasts are calibrated."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, ndtri_exp

from propriety.products.segments.sums import SegmentCases, SegmentSums
from propriety.progress import track
from propriety.result import Floats

SMALLEST = 5.0  # Sum of p (1 - p) from which the number of events is nearly normal.
STREAM = 2_025
NORMAL = 1e-8  # Smaller skewness is none.
ROUNDING = 1e-9  # A smaller sum of p (1 - p) may be a rounding error of the cases left out.


def deviations(sums: SegmentSums, observed: Floats | None = None) -> Floats:
    r"""Return the deviation of each segment in standard errors, corrected for skewness; 0 if it is not tested.

    With :math:`z = (O - E) / \sqrt V` and the skewness :math:`g = \sum p (1 - p) (1 - 2p) / V^{3/2}` of calibrated
    forecasts, this is Wilson and Hilferty's normal score of a gamma variable with the skewness g.
    """
    observed = sums.observed if observed is None else observed
    tested = sums.variance >= SMALLEST
    variance = np.where(tested, sums.variance, 1.0)
    z = (observed - sums.expected) / np.sqrt(variance)
    skewness = sums.third / variance**1.5
    turned = np.where(skewness < 0.0, -z, z)
    root = 2.0 / np.maximum(np.abs(skewness), NORMAL)  # Square root of the shape of the gamma distribution.
    score = 3.0 * root * (np.cbrt(np.maximum(1.0 + turned / root, 0.0)) - 1.0 + 1.0 / (9.0 * root**2))
    # Of a distribution that is hardly skewed, the difference of the cube roots would lose its digits.
    score = np.where(root > 1e4, turned, score)
    return np.where(tested, np.where(skewness < 0.0, -score, score), 0.0)


def evidence(sums: SegmentSums) -> Floats:
    r"""Return the deviation of each segment, or the normal score of a bound if that is larger.

    By Bennett's inequality, for any variance V,

    .. math:: P(O - E \ge t) \le \exp(-V h(t / V)), \qquad h(u) = (1 + u) \log(1 + u) - u,

    and the same for E - O. It is the only evidence about a segment that is too small for its deviation.
    """
    own = deviations(sums)
    difference = sums.observed - sums.expected
    variance = np.maximum(sums.variance, ROUNDING)
    ratio = np.abs(difference) / variance
    exponent = np.where(sums.n > 0.5, variance * ((1.0 + ratio) * np.log1p(ratio) - ratio), 0.0)
    bounded = exponent > np.log(2.0)  # Smaller ones are no evidence.
    score = np.zeros(len(own))
    score[bounded] = -ndtri_exp(-exponent[bounded])
    return np.where(np.abs(own) >= score, own, np.copysign(score, difference))


def largest_deviations(
    cases: SegmentCases, sums: SegmentSums, draws: int, seed: int, *, progress: bool = False
) -> Floats:
    """Return the largest absolute deviation in each of many draws of outcomes; of segments that are nearly normal.

    Outcomes are drawn for all cases at once, so that segments overlap as they do. The cases may be a sample. Segments
    that are large enough only in all cases are small in the sample, and hardly overlap; theirs are independent normal
    variables.
    """
    # A stream of its own: forecasts that a user simulated with the same seed must not be drawn again.
    generator = np.random.default_rng([seed, STREAM])
    own = cases.sums()
    small = int(np.count_nonzero((sums.variance >= SMALLEST) & (own.variance < SMALLEST)))
    found: NDArray[np.float64] = np.zeros(draws)
    lattice = cases.lattice
    # Sorted, so that the draws do not depend on the order of the rows.
    order = np.lexsort([cases.forecast, *cases.codes])
    forecast, codes = cases.forecast[order], [own[order] for own in cases.codes]
    # A row for each case, so that the cells of those with the event are read together.
    starts = [0, *lattice.ends[:-1].tolist()]
    cells = np.stack(
        [lattice.cells(codes, part) + start for part, start in zip(lattice.parts, starts, strict=True)], axis=1
    )
    for draw in track(range(draws), total=draws, label="drawing outcomes", enabled=progress):
        happened = np.flatnonzero(generator.random(len(forecast)) < forecast)
        counted = np.bincount(cells.take(happened, axis=0).reshape(-1), minlength=int(lattice.ends[-1]))
        found[draw] = np.abs(deviations(own, lattice.totals(counted.astype(np.float64)))).max(initial=0.0)
    if small:
        others = ndtri(0.5 + 0.5 * generator.random(draws) ** (1.0 / small))
        found = np.maximum(found, others)
    return found
