"""Density of forecasts on [0, 1], by a kernel with no mass outside and no boundary correction."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln

Floats = NDArray[np.float64]

# Half a megabyte of kernel values, so that a block stays in the processor's cache.
_BLOCK_CELLS = 2**16
_CELLS = 2**16
# A finite substitute for log 0: times a zero exponent it is 0 (0^0 = 1), times any other it is below the floor.
_LOG_ZERO = -1e100
# Arithmetic with subnormal numbers is a hundred times slower, and callers that divide by a density need it positive.
_LOG_FLOOR = -600.0


def _logs(v: Floats) -> Floats:
    """Return the rows log v, log(1 - v) and 1, which the exponents of the kernel multiply."""
    rows = np.full((3, v.size), _LOG_ZERO)
    np.log(v, out=rows[0], where=v > 0.0)
    np.log1p(-v, out=rows[1], where=v < 1.0)
    rows[2] = 1.0
    return rows


def _in_cells(values: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Replace values that are close to each other by their mean, if there are many."""
    if values.size <= _CELLS:
        return values, weight
    cell = np.minimum(values * _CELLS, _CELLS - 1).astype(np.intp)
    total = np.bincount(cell, weight).astype(np.float64)
    moment, held = np.bincount(cell, weight * values), total > 0.0
    return np.minimum(moment[held] / total[held], 1.0), total[held]


def beta_kernel_density(
    at: Floats,
    values: Floats,
    weight: Floats,
    bandwidth: float | None = None,
    n: float | None = None,
) -> Floats:
    r"""Chen's beta-kernel density estimate of a weighted sample on [0, 1].

    .. math:: f(x) = \frac{\sum_i w_i\, \mathrm{Beta}(v_i;\, x/b + 1,\, (1 - x)/b + 1)}{\sum_i w_i},
              \qquad \mathrm{Beta}(v;\, \alpha, \beta)
              = \frac{v^{\alpha - 1} (1 - v)^{\beta - 1}}{B(\alpha, \beta)} .

    Parameters
    ----------
    at : numpy.ndarray, shape (m,)
        Points :math:`x` in [0, 1].
    values : numpy.ndarray, shape (k,)
        Values :math:`v_i` in [0, 1], in any order.
    weight : numpy.ndarray, shape (k,)
        Weights :math:`w_i`; whole numbers mean the same as repeated values.
    bandwidth : float, optional
        The bandwidth :math:`b > 0`; by default :math:`n^{-2/5}`.
    n : float, optional
        The sample size of the default bandwidth; by default :math:`\sum_i w_i`.

    Returns
    -------
    numpy.ndarray, shape (m,)
        The density at each point.

    Notes
    -----
    Up to 65,536 values, every kernel is evaluated. More values are averaged within that many equal cells, which changes
    the density by a relative 1e-6 or so. A kernel below exp(-600) counts as exp(-600).

    References
    ----------
    Chen, S. X. (1999). Beta kernel estimators for density functions. Computational Statistics & Data Analysis
    31, 131-145. https://doi.org/10.1016/S0167-9473(99)00010-9

    Examples
    --------
    >>> values = np.array([0.1, 0.15, 0.4, 0.8, 0.95])
    >>> beta_kernel_density(np.array([0.0, 0.3, 1.0]), values, np.ones(5)).round(6).tolist()
    [1.150064, 0.931029, 1.03088]
    """
    total = float(weight.sum())
    b = (total if n is None else n) ** -0.4 if bandwidth is None else bandwidth
    first, second = at / b, (1.0 - at) / b
    # The normalising constant is subtracted in the exponent, because the product of powers underflows for small
    # bandwidths.
    exponents = np.column_stack([first, second, -betaln(first + 1.0, second + 1.0)])
    block = max(1, _BLOCK_CELLS // max(1, at.size))
    density = np.zeros(at.size)
    values, weight = _in_cells(values, weight)
    for start in range(0, values.size, block):
        v = values[start : start + block]
        kernel = np.matmul(exponents, _logs(v))
        np.maximum(kernel, _LOG_FLOOR, out=kernel)
        np.exp(kernel, out=kernel)
        density += kernel @ weight[start : start + block]
    return density / total
