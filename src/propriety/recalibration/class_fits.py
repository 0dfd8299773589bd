"""Temperature, vector and structured matrix scaling, fitted by maximum likelihood."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from propriety.errors import InputValueError
from propriety.recalibration.class_maps import MatrixMap
from propriety.recalibration.class_rows import ClassRows, Scaling, floor_of_classes
from propriety.recalibration.maps import checked_floor
from propriety.recalibration.newton import Likelihood, expected_ratio, newton, penalised, share_kept
from propriety.result import Floats

MOST_CLASSES = 40  # For matrix scaling, whose Hessian has K^2 (K + 1)^2 entries.
RIDGE = 1.0  # Penalty in cases, for vector scaling whose likelihood has no maximum.
FLAT = 1e-4  # Log-probabilities with a smaller standard deviation within rows count as equal.


def fit_temperature(rows: ClassRows, *, floor: float | None = None) -> MatrixMap:
    """Fit the temperature by maximum likelihood.

    It is an error if the log-probabilities are almost equal: with a standard deviation within rows of at most 0.0001.

    Parameters
    ----------
    rows : ClassRows
        A weight of w counts as w cases.
    floor : float, optional
        Lower bound of the probabilities, above 0; by default computed from the cases, see `floor_of_classes`.

    Returns
    -------
    MatrixMap
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
    return MatrixMap(matrix=_slope(rows, least), floor=least)


def fit_vector(rows: ClassRows, *, floor: float | None = None) -> MatrixMap:
    r"""Fit a slope and an intercept for each class by maximum likelihood; the intercepts sum to 0.

    The likelihood may have no maximum, because a class never occurred or the forecasts separate the classes, or no
    unique one. Then a penalty is added to the negative log-likelihood: half the sum of :math:`(a_k - 1)^2` and
    :math:`b_k^2`, times the weight of one case. `MatrixMap.ridge` is this weight, or 0 without a penalty.

    Parameters
    ----------
    rows : ClassRows
        A weight of w counts as w cases, except for the penalty.
    floor : float, optional
        Lower bound of the probabilities, above 0; by default computed from the cases, see `floor_of_classes`.

    Returns
    -------
    MatrixMap
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
        found = newton(penalised(likelihood, sum_to_zero, identity), identity)
    if found is None:
        ridge = RIDGE * rows.unit
        penalty = sum_to_zero + ridge * np.eye(2 * size)
        found = _found(newton(penalised(likelihood, penalty, identity), identity), "vector")
    return MatrixMap(matrix=found[:size], intercepts=_centred(found[size:]), floor=least, ridge=ridge)


def fit_structured_matrix(rows: ClassRows, *, floor: float | None = None) -> MatrixMap:
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
    table = _found(newton(penalised(likelihood, penalty, start), start), "matrix").reshape(size, size + 1)
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


def class_floor(rows: ClassRows, floor: float | None) -> float:
    """Return the floor of a fit: the given one, or that of the cases."""
    return floor_of_classes(rows) if floor is None else checked_floor(floor, positive=True)


def spread_of(rows: ClassRows, temperature: Likelihood) -> float:
    """Return the mean variance of the log-probabilities within rows, from the likelihood of temperature scaling."""
    # It is the curvature at a slope of 0, where all classes are equally likely.
    return float(temperature(np.zeros(1)).hessian[0, 0]) / rows.total


def _slope(rows: ClassRows, floor: float) -> float:
    """Return the slope of temperature scaling."""
    likelihood = rows.likelihood("temperature", floor)
    if spread_of(rows, likelihood) <= FLAT**2:
        law = "temperature scaling needs probabilities that differ between classes; they are almost equal in every row"
        raise InputValueError(law)
    return float(_found(newton(likelihood, np.zeros(1)), "temperature")[0])


def _centred(intercepts: Floats) -> Floats:
    return intercepts - intercepts.mean()


def _found(parameters: Floats | None, method: str) -> Floats:
    if parameters is None:
        raise InputValueError(f"{method} scaling has no finite fit: the forecasts may all be right, or all equal")
    return parameters


LINE = 0.25  # Penalty on the common slope, in cases, so that the fit always exists.
WIDE = 2.0  # Standard deviation of log-probabilities within rows above which the penalty scales them down.


def fit_shrunk_classes(rows: ClassRows, *, floor: float | None = None, design_effect: float = 1.0) -> MatrixMap:
    r"""Fit temperature, vector and matrix scaling, and shrink each according to the evidence for it.

    The three are nested. The slope :math:`\beta_1` of temperature scaling is fitted with the penalty
    :math:`\tfrac18 \min(1, s^2) (\beta_1 - 1)^2`, in units of a case. Here :math:`s` is the standard deviation of the
    log-probabilities within rows. Below 0.0001 they count as equal; then :math:`\beta_1 = 1`, and the penalty is that
    with :math:`s = 1`. Vector and matrix scaling are fitted with the same penalty on their mean slope, plus the
    applicable part of the penalty of `fit_structured_matrix` with :math:`z = \sigma \log p`, where
    :math:`\sigma = \max(|\beta|, \min(1, 2 / s))` and :math:`\beta = 1 + \alpha_1 (\beta_1 - 1)` is the shrunk slope of
    the first stage. Let :math:`\theta_1, \theta_2, \theta_3` be the parameters of the fits and :math:`\theta_0` those
    of the identity, and :math:`\Lambda_j` twice the gain in log-likelihood of fit j over the forecasts. The map has the
    parameters

    .. math:: \theta = \theta_0 + \sum_j \alpha_j (\theta_j - \theta_{j-1}), \qquad
              \alpha_j = \max\left(0, 1 - \tfrac54 \frac{\nu_j}{\Lambda_j - \Lambda_{j-1}}\right) ,

    where :math:`\nu_j` is the expected value of :math:`\Lambda_j - \Lambda_{j-1}`: for the first stage if the forecasts
    are calibrated, and for the others if :math:`\operatorname{softmax}(\beta \log p)` is.

    If there is little evidence of miscalibration, the map leaves the forecasts as they are, except for the floor. The
    result does not depend on the scale of the weights.

    Parameters
    ----------
    rows : ClassRows
        For more than 40 classes, only temperature and vector scaling are fitted.
    floor : float, optional
        Lower bound of the probabilities, above 0; by default computed from the cases, see `floor_of_classes`.
    design_effect : float
        Number of correlated cases that are worth one independent case, which multiplies :math:`\nu_j`.

    Returns
    -------
    MatrixMap
        The map, with the shares :math:`\alpha_j`; a diagonal one if the last of them is 0.

    References
    ----------
    Van Houwelingen & Le Cessie (1990), doi:10.1002/sim.4780091109, for shrinkage by the likelihood ratio; Berta,
    Holzmüller, Jordan & Bach (2025), arXiv:2511.03685, for the penalty.

    Examples
    --------
    >>> p = [[0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6], [0.4, 0.4, 0.2]]
    >>> rows = ClassRows.from_predictions([0, 1, 2, 0, 0, 1, 2, 1, 1, 2, 0, 0], p * 3)
    >>> fit_shrunk_classes(rows).shares
    array([0., 0.])
    """
    least = class_floor(rows, floor)
    size, unit = rows.classes, design_effect * rows.unit
    spread = spread_of(rows, rows.likelihood("temperature", least))
    equal = spread <= FLAT**2
    line = unit * LINE * (1.0 if equal else min(1.0, spread))
    one = np.ones(1)
    common = _stage_of(rows, "temperature", least, np.array([[line]]))
    found = one if equal else common.fitted(np.zeros(1), one)
    loss, shares = common.loss(found), np.zeros(3)
    shares[0] = share_kept(common.loss(one) - loss, design_effect * common.expected_ratio(one))
    slope, kept = float(found[0]), 1.0 + shares[0] * float(found[0] - 1.0)

    penalty = _penalty(size, unit, max(abs(kept), 1.0 if spread <= WIDE**2 else WIDE / math.sqrt(spread)), line)
    identity = np.eye(size, size + 1).reshape(-1)
    places = np.arange(size * (size + 1)).reshape(size, size + 1)
    nested: list[tuple[Scaling, NDArray[np.intp]]] = [("vector", np.append(places.diagonal(), places[:, size]))]
    if size <= MOST_CLASSES:
        nested.append(("matrix", places.reshape(-1)))
    now, expected = slope * identity, common.expected_ratio(kept * one)
    moved = identity + shares[0] * (now - identity)
    for stage, (scaling, own) in enumerate(nested, 1):
        fit = _stage_of(rows, scaling, least, penalty[np.ix_(own, own)])
        there = np.zeros_like(identity)
        there[own] = fit.fitted(slope * identity[own], identity[own])
        before, loss = loss, fit.loss(there[own])
        less, expected = expected, fit.expected_ratio(kept * identity[own])
        shares[stage] = share_kept(before - loss, design_effect * (expected - less))
        moved, now = moved + shares[stage] * (there - now), there
    table = moved.reshape(size, size + 1)
    matrix, intercepts = table[:, :size], table[:, size] - table[:, size].mean()
    ridge = 2.0 * size * unit
    if shares[2] == 0.0:
        matrix, shares = matrix.diagonal(), shares[:2]
    return MatrixMap(matrix=matrix, intercepts=intercepts, floor=least, shares=shares, ridge=ridge)


class _Stage(NamedTuple):
    """Maps of one kind: their likelihood, with the weights and with their squares, and the penalty on them."""

    likelihood: Likelihood
    of_squares: Likelihood
    penalty: Floats

    def fitted(self, start: Floats, centre: Floats) -> Floats:
        """Return the parameters that fit best."""
        found = newton(penalised(self.likelihood, self.penalty, centre), start)
        if found is None:
            raise InputValueError("the fit of a recalibration map did not converge")
        return found

    def loss(self, parameters: Floats) -> float:
        """Return the negative log-likelihood."""
        return self.likelihood(parameters).loss

    def expected_ratio(self, truth: Floats) -> float:
        """Return twice the gain in log-likelihood over the true parameters that is expected of a fit."""
        return expected_ratio(self.likelihood(truth).hessian, self.of_squares(truth).hessian, self.penalty)


def _stage_of(rows: ClassRows, scaling: Scaling, floor: float, penalty: Floats) -> _Stage:
    return _Stage(rows.likelihood(scaling, floor), rows.likelihood(scaling, floor, squared=True), penalty)


def _penalty(size: int, unit: float, scale: float, line: float) -> Floats:
    """Return the penalty on the rows of the matrix, each followed by its intercept, and on the common slope."""
    scales = np.tile(np.append(np.full(size, scale), 1.0), size)
    penalty: Floats = unit * structured_penalty(size) / np.outer(scales, scales)
    on_diagonal = np.arange(size) * (size + 2)
    penalty[np.ix_(on_diagonal, on_diagonal)] += line / size**2
    return penalty
