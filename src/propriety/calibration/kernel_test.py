"""The squared kernel calibration error of class probabilities, with its distribution if they are calibrated."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from propriety.calibration.calibration_test import drawn_outcomes
from propriety.errors import InputValueError
from propriety.result import Floats

MOST_CASES, FEWEST_CASES = 1000, 2
WORK = 2**22  # Residuals of all classes that are drawn at once.


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelTest:
    """The kernel test of calibration; see `kernel_test`.

    Parameters
    ----------
    value : float
        Unbiased estimate of the squared kernel calibration error; it can be negative.
    p_value : float
        p-value of calibration.
    bandwidth : float
        The bandwidth h.
    n : int
        Number of cases used.
    is_sample : bool
        Whether these are a random sample of the cases.
    """

    value: float
    p_value: float
    bandwidth: float
    n: int
    is_sample: bool


def kernel_test(p: Floats, outcome: NDArray[np.intp], *, n_resamples: int, seed: int) -> KernelTest:
    r"""Test the calibration of class probabilities with the squared kernel calibration error.

    With residuals :math:`r_i = e_{y_i} - p_i`, the unbiased estimate is

    .. math:: \frac{2}{n (n - 1)} \sum_{i < j} \exp(-\lVert p_i - p_j \rVert_2 / h)\, r_i^\top r_j ,

    where h is the median of the distances between different cases. Its distribution if the probabilities are calibrated
    is that over outcomes drawn from them. The work grows with the square of the number of cases, so at most 1,000 of
    them, chosen at random, are used.

    Parameters
    ----------
    p : ndarray of shape (n, K)
        Probabilities of the classes, of at least 2 cases.
    outcome : ndarray of int of shape (n,)
        Index of the class that happened.
    n_resamples, seed : int
        Number and seed of the draws.

    References
    ----------
    Widmann, Lindsten & Zachariah (2019), arXiv:1910.11385.
    """
    if len(p) < FEWEST_CASES:
        law = f"the kernel test needs at least {FEWEST_CASES} cases"
        raise InputValueError(law, argument="kernel", offender=f"got {len(p)}")
    generator, is_sample = np.random.default_rng(seed), len(p) > MOST_CASES
    if is_sample:
        rows = generator.choice(len(p), MOST_CASES, replace=False)
        p, outcome = p[rows], outcome[rows]
    distance = _distances(p)
    between = distance[np.triu_indices(len(p), 1)]
    bandwidth = float(np.median(between[between > 0.0])) if (between > 0.0).any() else 1.0
    kernel = np.exp(-distance / bandwidth)
    np.fill_diagonal(kernel, 0.0)
    value = float(squared_kernel_error(kernel, p, outcome[:, None])[0])
    reached, batch = 0, max(WORK // p.size, 1)
    for start in range(0, n_resamples, batch):
        size = min(batch, n_resamples - start)
        drawn = drawn_outcomes(p.T, generator, size)
        reached += int(np.count_nonzero(squared_kernel_error(kernel, p, drawn) >= value - 1e-12 * abs(value)))
    return KernelTest(
        value=value,
        p_value=(1 + reached) / (1 + n_resamples),
        bandwidth=bandwidth,
        n=len(p),
        is_sample=is_sample,
    )


def squared_kernel_error(kernel: Floats, p: Floats, outcomes: NDArray[np.intp]) -> Floats:
    """Return the error of each column of outcomes; the kernel of a case with itself must be 0."""
    n, classes = p.shape
    residual = -np.repeat(p[:, None, :], outcomes.shape[1], axis=1)
    np.put_along_axis(
        residual, outcomes[:, :, None], np.take_along_axis(residual, outcomes[:, :, None], axis=2) + 1.0, axis=2
    )
    smoothed = (kernel @ residual.reshape(n, -1)).reshape(n, -1, classes)
    found: Floats = (residual * smoothed).sum(axis=(0, 2)) / (n * (n - 1))
    return found


def _distances(p: Floats) -> Floats:
    """Return the Euclidean distances between rows, without the cancellation of an expanded square."""
    squares = np.zeros((len(p), len(p)))
    for column in p.T:
        squares += (column[:, None] - column) ** 2
    distances: Floats = np.sqrt(squares)
    return distances
