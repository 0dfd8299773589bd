"""Optimism of a model evaluated on the cases that it was fitted to, estimated by the bootstrap."""

from __future__ import annotations

import math
from functools import partial
from typing import NamedTuple

import numpy as np

from propriety.errors import UNDEFINED
from propriety.evaluation.resampled_fits import Rows, Sample, value_in
from propriety.inference.measures import Mean, Measure
from propriety.inference.ranking_measures import AreaUnderRoc
from propriety.ledger.ledger import Ledger
from propriety.result import Floats
from propriety.rules.scoring import losses_of_table
from propriety.tables.forecast_table import ForecastTable

SHARE = 1.0 - math.exp(-1.0)  # Of the cases, expected in a sample drawn with replacement.


class Draw(NamedTuple):
    """Values of the models fitted to drawn cases, of shape (models, measures): there, in all cases, and in the rest."""

    drawn: Floats
    original: Floats
    left_out: Floats


def value_of_draw(sample: Sample, measures: tuple[Measure, ...], rows: Rows, *, by_class: bool = False) -> Draw:
    """Fit the estimators to drawn rows, and evaluate them there, in all cases, and in those that were not drawn.

    Drawn `by_class`, cases of a rare class are left out less often than others, so those left out are weighted.
    """
    every = np.arange(len(sample))
    forecasts, _ = sample.forecasts(sample.fitted(rows), every)
    left_out = np.setdiff1d(every, rows)
    values = partial(_values, sample, measures, forecasts)
    return Draw(values(rows), values(every), values(left_out, _shares(sample, left_out) if by_class else None))


def _shares(sample: Sample, rows: Rows) -> Floats:
    """Return weights that give each class of some rows its share of all cases; none if a class is absent."""
    classes, codes = np.unique(sample.y, return_inverse=True)
    held = np.bincount(codes[rows], minlength=len(classes))
    return (np.bincount(codes) / held)[codes[rows]] if held.all() else np.empty(0)


def _values(
    sample: Sample,
    measures: tuple[Measure, ...],
    forecasts: dict[str, Floats],
    rows: Rows,
    weight: Floats | None = None,
) -> Floats:
    """Return the values of all measures in some rows, of shape (models, measures); NaN if undefined."""
    if not len(rows if weight is None else weight):
        return np.full((len(forecasts), len(measures)), np.nan)
    ledger = sample.ledger(rows, {name: own[rows] for name, own in forecasts.items()}, sample_weight=weight)
    return np.array([[_value(ledger, measure, name) for measure in measures] for name in forecasts])


def _value(ledger: Ledger, measure: Measure, model: str) -> float:
    try:
        return value_in(ledger, measure, model)
    except UNDEFINED:
        return math.nan


def without_information(measure: Measure, table: ForecastTable | None) -> float:
    """Return the value of a measure if forecasts and outcomes were independent; NaN if it is not defined.

    Examples
    --------
    >>> from propriety.inference.measures import MeanScore
    >>> table = ForecastTable.from_predictions([0, 1], [0.0, 1.0])
    >>> MeanScore().value(table), without_information(MeanScore(), table)
    (0.0, 0.5)
    """
    if isinstance(measure, AreaUnderRoc):
        return 0.5
    if table is None or not isinstance(measure, Mean):
        return math.nan
    of_non_event, of_event = losses_of_table(table, measure.rule)
    share, rate = table.weights / table.weight, table.event_rate
    return measure.sign * float((share * (rate * of_event + (1.0 - rate) * of_non_event)).sum())


def corrected_632(apparent: float, left_out: float, chance: float, *, higher_is_better: bool | None) -> float:
    r"""Return the .632+ estimate from the apparent value, that of cases left out, and that without information.

    With the values :math:`A`, :math:`B` and :math:`G` of a loss, and the share :math:`p = 1 - 1/e` of the cases that
    are drawn, :math:`R = (B - A) / (G - A)` is the relative overfitting, limited to [0, 1], and

    .. math:: (1 - w) A + w \min(B, G), \qquad w = p / (1 - (1 - p) R) .

    If :math:`A` or :math:`B` is infinite, the estimate is.

    References
    ----------
    Efron & Tibshirani (1997), doi:10.1080/01621459.1997.10474007.

    Examples
    --------
    >>> round(corrected_632(0.0, 0.5, 0.5, higher_is_better=False), 3)
    0.5
    >>> round(corrected_632(0.9, 0.8, 0.5, higher_is_better=True), 3)
    0.83
    """
    sign = -1.0 if higher_is_better else 1.0
    a, b, g = sign * apparent, sign * left_out, sign * chance
    if higher_is_better is None or math.isnan(a) or math.isnan(b) or math.isnan(g):
        return math.nan
    if math.isinf(a) or math.isinf(b):
        return sign * max(a, b)
    b = min(b, g)
    overfitting = min((b - a) / (g - a), 1.0) if b > a and g > a else 0.0
    weight = SHARE / (1.0 - (1.0 - SHARE) * overfitting)
    return sign * ((1.0 - weight) * a + weight * b)
