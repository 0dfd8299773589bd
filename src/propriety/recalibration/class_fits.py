"""Temperature, vector and structured matrix scaling, fitted by maximum likelihood."""

from __future__ import annotations

import numpy as np

from propriety.errors import InputValueError
from propriety.recalibration.class_rows import Rows, floor_of_classes
from propriety.recalibration.maps import checked_floor
from propriety.recalibration.scaling_maps import MatrixMap, TemperatureMap, VectorMap
from propriety.recalibration.softmax_fit import Likelihood, maximised
from propriety.result import Floats

MOST_CLASSES = 40  # For matrix scaling, whose Hessian has K^2 (K + 1)^2 entries.
RIDGE = 1.0  # Penalty in cases, for vector scaling whose likelihood has no maximum.
FLAT = 1e-4  # Log-probabilities with a smaller standard deviation within rows count as equal.


def fit_temperature(rows: Rows, *, floor: float | None = None) -> TemperatureMap:
    """Fit the temperature by maximum likelihood.

    It is an error if the log-probabilities are almost equal: with a standard deviation within rows of at most 0.0001.

    Parameters
    ----------
    rows : ClassRows or LazyClassRows
        A weight of w counts as w cases.
    floor : float, optional
        Lower bound of the probabilities, above 0; by default computed from the cases, see `floor_of_classes`.

    Returns
    -------
    TemperatureMap
        The map.

    Examples
    --------
    >>> from propriety.recalibration import ClassRows
    >>> p = [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.8, 0.1, 0.1], [0.1, 0.1, 0.8]]
    >>> rows = ClassRows.from_predictions([0, 1, 1, 2], p)
    >>> round(fit_temperature(rows).temperature, 4)
    1.1606
    """
    least = class_floor(rows, floor)
    return TemperatureMap(slope=_slope(rows, least), floor=least)


def fit_vector(rows: Rows, *, floor: float | None = None) -> VectorMap:
    r"""Fit a slope and an intercept for each class by maximum likelihood; the intercepts sum to 0.

    The likelihood may have no maximum, because a class never occurred or the forecasts separate the classes, or no
    unique one. Then a penalty is added to the negative log-likelihood: half the sum of :math:`(a_k - 1)^2` and
    :math:`b_k^2`, times the weight of one case. `VectorMap.ridge` is this weight, or 0 without a penalty.

    Parameters
    ----------
    rows : ClassRows or LazyClassRows
        A weight of w counts as w cases, except for the penalty.
    floor : float, optional
        Lower bound of the probabilities, above 0; by default computed from the cases, see `floor_of_classes`.

    Returns
    -------
    VectorMap
        The map.

    Examples
    --------
    >>> from propriety.recalibration import ClassRows
    >>> p = [[0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6], [0.5, 0.3, 0.2]]
    >>> rows = ClassRows.from_predictions([0, 1, 2, 1] * 3 + [1, 2, 0, 0], p * 4)
    >>> fit_vector(rows).intercepts.round(3)
    array([-1.172,  0.539,  0.633])
    """
    least = class_floor(rows, floor)
    size, likelihood = rows.classes, rows.likelihood("vector", least)
    identity = np.append(np.ones(size), np.zeros(size))
    # A constant added to all intercepts changes nothing; this term is 0 where they sum to 0.
    sum_to_zero = np.zeros((2 * size, 2 * size))
    sum_to_zero[size:, size:] = rows.total / size**2
    ridge, found = 0.0, None
    if rows.happened.all():
        found = maximised(likelihood, identity, sum_to_zero, identity)
    if found is None:
        ridge = RIDGE * rows.unit
        found = _found(maximised(likelihood, identity, sum_to_zero + ridge * np.eye(2 * size), identity), "vector")
    return VectorMap(slopes=found[:size], intercepts=_centred(found[size:]), floor=least, ridge=ridge)


def fit_structured_matrix(rows: Rows, *, floor: float | None = None) -> MatrixMap:
    r"""Fit structured matrix scaling by penalised maximum likelihood: a matrix close to a multiple of the identity.

    With :math:`z = \beta \log p`, the log-probabilities scaled by the best temperature, the map is
    :math:`\operatorname{softmax}(V z + b)`. The penalty added to the negative log-likelihood, in units of one case, is

    .. math:: K \sum_k (V_{kk} - \bar v)^2 + K \sum_k b_k^2 + K (K - 1) \sum_{k \ne l} V_{kl}^2,

    with the mean :math:`\bar v` of the diagonal. The overall scale is not penalised, the slope and intercept of each
    class are, and the off-diagonal entries, which are the most numerous, are penalised most. `MatrixMap.matrix` is
    :math:`\beta V`.

    Parameters
    ----------
    rows : ClassRows
        At most 40 classes. Weights are relative: the penalty does not depend on their unit.
    floor : float, optional
        Lower bound of the probabilities, above 0; by default computed from the cases, see `floor_of_classes`.

    Returns
    -------
    MatrixMap
        The map.

    References
    ----------
    Berta, Holzmüller, Jordan & Bach (2025), arXiv:2511.03685.

    Examples
    --------
    >>> from propriety.recalibration import ClassRows
    >>> p = [[0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6], [0.3, 0.5, 0.2]] * 9
    >>> rows = ClassRows.from_predictions([0, 1, 2, 0] * 8 + [1, 2, 0, 1], p)
    >>> fit_structured_matrix(rows).matrix.round(2)
    array([[ 2.37, -0.05, -0.29],
           [ 0.22,  2.68,  0.18],
           [-0.09,  0.03,  2.84]])
    """
    size = rows.classes
    if size > MOST_CLASSES:
        law = f"matrix scaling supports at most {MOST_CLASSES} classes; there are {size}"
        raise InputValueError(law, hint='use "vector" or "temperature".')
    least = class_floor(rows, floor)
    likelihood, slope = rows.likelihood("matrix", least), _slope(rows, least)
    scale = np.tile(np.append(np.full(size, slope), 1.0), size)  # The rows of V, each followed by its b.
    start = scale * np.eye(size, size + 1).reshape(-1)
    penalty = rows.unit * structured_penalty(size) / np.outer(scale, scale)
    table = _found(maximised(likelihood, start, penalty, start), "matrix").reshape(size, size + 1)
    return MatrixMap(
        matrix=table[:, :size], intercepts=_centred(table[:, size]), floor=least, ridge=2.0 * size * rows.unit
    )


def structured_penalty(size: int) -> Floats:
    """Return the matrix of the penalty on the rows of V, each followed by its b; see `fit_structured_matrix`."""
    found = np.full((size, size + 1), 2.0 * size * (size - 1))
    found[:, size] = 2.0 * size
    places = np.arange(size)
    found[places, places] = 0.0
    penalty = np.diag(found.reshape(-1))
    diagonal = places * (size + 2)
    penalty[np.ix_(diagonal, diagonal)] = 2.0 * size * (np.eye(size) - 1.0 / size)
    return penalty


def class_floor(rows: Rows, floor: float | None) -> float:
    """Return the floor of a fit: the given one, or that of the cases."""
    return floor_of_classes(rows) if floor is None else checked_floor(floor, positive=True)


def spread_of(rows: Rows, temperature: Likelihood) -> float:
    """Return the mean variance of the log-probabilities within rows, from the likelihood of temperature scaling."""
    # It is the curvature at a slope of 0, where all classes are equally likely.
    return float(temperature(np.zeros(1)).hessian[0, 0]) / rows.total


def _slope(rows: Rows, floor: float) -> float:
    """Return the slope of temperature scaling."""
    likelihood = rows.likelihood("temperature", floor)
    if spread_of(rows, likelihood) <= FLAT**2:
        law = "temperature scaling needs probabilities that differ between classes; they are almost equal in every row"
        raise InputValueError(law)
    (slope,) = _found(maximised(likelihood, np.zeros(1), np.zeros((1, 1)), np.zeros(1)), "temperature").tolist()
    return float(slope)


def _centred(intercepts: Floats) -> Floats:
    found: Floats = intercepts - intercepts.mean()
    return found


def _found(parameters: Floats | None, method: str) -> Floats:
    if parameters is None:
        law = f"{method} scaling has no finite fit: the forecasts may all be right, or all equal"
        raise InputValueError(law)
    return parameters
