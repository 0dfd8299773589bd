"""How many correlated cases are worth one independent case, for what depends on the noise of recalibration."""

from __future__ import annotations

import numpy as np

from propriety.calibration.pav import pool_adjacent_violators
from propriety.inference.dependence import sums_of_units
from propriety.inference.dependent_calibration import units_of_cases
from propriety.result import Floats
from propriety.tables.cases import Cases
from propriety.tables.forecast_table import ForecastTable

__all__ = ["design_effect"]


def design_effect(cases: Cases) -> float:
    r"""Return the variance of a sum of residuals, relative to that of independent cases; at least 1.

    .. math:: \sum_u \Big(\sum_{i \in u} w_i r_i\Big)^2 \Big/ \sum_i w_i^2 r_i^2

    with clusters or times u. The residuals of an event are those of the isotonic curve, so that miscalibration does not
    count as correlation. Those of classes are summed over the classes, each less its mean.

    Examples
    --------
    >>> from propriety.tables.validation import read_cases
    >>> cases = read_cases([0, 1] * 40, {"m": [0.5] * 80}, cluster=[0, 1] * 40)
    >>> design_effect(cases)
    40.0
    """
    units, codes = units_of_cases(cases)
    (model,) = cases.models
    forecast, outcome, weight = cases.gathered(model)
    w = np.ones(len(outcome)) if weight is None else weight
    residuals = _of_event(cases, forecast, outcome) if cases.labels is None else _of_classes(forecast, outcome, w)
    residuals = residuals * w
    sums = sums_of_units(residuals, codes, units)
    squares = float((residuals**2).sum())
    return max(float((sums**2).sum()) / squares, 1.0) if squares > 0.0 else 1.0


def _of_event(cases: Cases, forecast: Floats, outcome: np.ndarray) -> Floats:
    table = ForecastTable.from_cases(cases)
    rate = pool_adjacent_violators(table).per_row()[np.searchsorted(table.forecast, forecast)]
    found: Floats = (outcome - rate)[None]
    return found


def _of_classes(forecast: Floats, outcome: np.ndarray, weight: Floats) -> Floats:
    residuals = (np.arange(len(forecast))[:, None] == outcome) - forecast
    found: Floats = residuals - (residuals @ weight / weight.sum())[:, None]
    return found
