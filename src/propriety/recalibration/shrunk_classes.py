"""Temperature, vector and matrix scaling, shrunk towards the forecasts in three nested stages."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from propriety.errors import InputValueError
from propriety.recalibration.class_fits import MOST_CLASSES, structured_penalty
from propriety.recalibration.class_rows import ClassRows, Rows, Scaling, floor_of_classes
from propriety.recalibration.maps import checked_floor
from propriety.recalibration.scaling_maps import MatrixMap, VectorMap
from propriety.recalibration.softmax_fit import maximised
from propriety.result import Floats

__all__ = ["fit_shrunk_classes"]

LINE = 0.25  # Penalty on the common slope, in cases, so that the fit always exists.
CAUTION = 1.25


def fit_shrunk_classes(rows: Rows, *, floor: float | None = None) -> VectorMap | MatrixMap:
    r"""Fit temperature, vector and matrix scaling, and shrink each according to the evidence for it.

    The three are nested. Each is fitted with the applicable part of the penalty of `fit_structured_matrix`, with
    :math:`z = \log p`, plus :math:`\tfrac18 (\bar v - 1)^2`. Let :math:`\theta_1, \theta_2, \theta_3` be the parameters
    of the fits and :math:`\theta_0` those of the identity, :math:`\Lambda_j` twice the gain in log-likelihood of fit j
    over the forecasts, and :math:`\nu_j` its expected value if the forecasts are calibrated. The map has the parameters

    .. math:: \theta = \theta_0 + \sum_j \alpha_j (\theta_j - \theta_{j-1}), \qquad
              \alpha_j = \max\left(0, 1 - \tfrac54 \frac{\nu_j - \nu_{j-1}}{\Lambda_j - \Lambda_{j-1}}\right) .

    So with few cases, only the temperature of forecasts that are too extreme is corrected.
    If there is little evidence of miscalibration, the map leaves the forecasts as they are, except for the floor. The
    result does not depend on the scale of the weights.

    Parameters
    ----------
    rows : ClassRows or LazyClassRows
        For more than 40 classes, and for a lazy frame, only temperature and vector scaling are fitted.
    floor : float, optional
        Lower bound of the probabilities; by default computed from the cases, see `floor_of_classes`.

    Returns
    -------
    VectorMap or MatrixMap
        The map, with the shares :math:`\alpha_j`; a MatrixMap if the last of them is not 0.

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
    least = floor_of_classes(rows) if floor is None else checked_floor(floor)
    size, unit = rows.classes, rows.unit
    penalty = unit * structured_penalty(size)
    on_diagonal = np.arange(size) * (size + 2)
    penalty[np.ix_(on_diagonal, on_diagonal)] += unit * LINE / size**2
    of_vector = np.append(on_diagonal, np.arange(size) * (size + 1) + size)
    stages = [
        _stage("temperature", rows, least, np.ones(1), np.array([[unit * LINE]])),
        _stage("vector", rows, least, np.repeat([1.0, 0.0], size), penalty[np.ix_(of_vector, of_vector)]),
    ]
    if size <= MOST_CLASSES and isinstance(rows, ClassRows):
        stages.append(_stage("matrix", rows, least, np.eye(size, size + 1).reshape(-1), penalty))
    shares = _shares(stages)
    moved = np.zeros((3, size, size + 1))
    moved[0] = float(stages[0].away[0]) * np.eye(size, size + 1)
    moved[1].reshape(-1)[of_vector] = stages[1].away
    moved[2] = stages[2].away.reshape(size, size + 1) if len(stages) == 3 else moved[1]
    steps = np.diff(moved, axis=0, prepend=0.0)
    found = np.eye(size, size + 1) + (shares[:, None, None] * steps).sum(axis=0)
    matrix, intercepts = found[:, :size], found[:, size] - found[:, size].mean()
    ridge = 2.0 * size * unit
    if shares[2] == 0.0:
        slopes = matrix.diagonal().copy()
        return VectorMap(slopes=slopes, intercepts=intercepts, floor=least, shares=shares[:2], ridge=ridge)
    return MatrixMap(matrix=matrix, intercepts=intercepts, floor=least, shares=shares, ridge=ridge)


class _Stage(NamedTuple):
    """A fit: its difference from the identity, its likelihood ratio, and the ratio expected under calibration."""

    away: Floats
    ratio: float
    expected_ratio: float


def _stage(scaling: Scaling, rows: Rows, floor: float, identity: Floats, penalty: Floats) -> _Stage:
    likelihood = rows.likelihood(scaling, floor)
    found = maximised(likelihood, identity, penalty, identity)
    if found is None:
        raise InputValueError("the fit of a recalibration map did not converge")
    before, noise = likelihood(identity), rows.likelihood(scaling, floor, squared=True)(identity).hessian
    inverse = np.linalg.inv(before.hessian + penalty)
    moved = inverse @ noise
    expected = float(2.0 * np.trace(moved) - np.trace(inverse @ before.hessian @ moved))
    return _Stage(found - identity, 2.0 * (before.loss - likelihood(found).loss), expected)


def _shares(stages: list[_Stage]) -> Floats:
    """Return the share of each stage that is kept, 0 for a stage that was not fitted."""
    shares, before = np.zeros(3), _Stage(np.zeros(0), 0.0, 0.0)
    for place, stage in enumerate(stages):
        ratio, expected = stage.ratio - before.ratio, stage.expected_ratio - before.expected_ratio
        shares[place] = max(0.0, 1.0 - CAUTION * expected / ratio) if ratio > 0.0 else 0.0
        before = stage
    return shares
