"""How many correlated cases are worth one independent case, for what depends on the noise of recalibration."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from propriety.calibration.blocks import pool_adjacent_violators
from propriety.calibration.calibration_errors import rows_of
from propriety.inference.dependence import sums_of_units
from propriety.inference.dependent_calibration import units_of_cases
from propriety.result import Floats
from propriety.tables.cases import Cases
from propriety.tables.forecast_table import ForecastTable


def design_effect(cases: Cases) -> float:
    r"""Return the variance of a sum of residuals, relative to that of independent cases; at least 1.

    .. math:: \sum_u \Big(\sum_{i \in u} w_i r_i\Big)^2 \Big/ \sum_i w_i^2 r_i^2

    with clusters or periods u. The residuals are those of the isotonic curve, so that miscalibration does not count as
    correlation; both sums are also over the classes, each of which has a curve.

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
    rows = [(forecast, outcome == 1)] if cases.labels is None else [(p, outcome == k) for k, p in enumerate(forecast)]
    residuals = np.stack([_residual(own, happened, w) for own, happened in rows]) * w
    sums = sums_of_units(residuals, codes, units)
    squares = float((residuals**2).sum())
    return max(float((sums**2).sum()) / squares, 1.0) if squares > 0.0 else 1.0


def _residual(forecast: Floats, happened: NDArray[np.bool_], weight: Floats) -> Floats:
    """Return the residuals of an event from its isotonic curve."""
    table = ForecastTable.from_predictions(happened, forecast, sample_weight=weight)
    return np.asarray(happened - pool_adjacent_violators(table).per_row()[rows_of(table, forecast)])
