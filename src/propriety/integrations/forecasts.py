"""Conversion of the output of a classifier to forecasts that a rule can score."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, softmax

from propriety.errors import InputValueError
from propriety.result import Floats
from propriety.rules.rule import BinaryRule, Rule
from propriety.tables.cases import TOLERANCE
from propriety.tables.validation import read_forecast

Output: TypeAlias = Literal["probability", "margin"]


def check_output(output: object) -> None:
    """Raise an error unless `output` is "probability" or "margin"."""
    if output not in get_args(Output):
        law = 'must be "probability" or "margin", whichever the library passes to a metric'
        raise InputValueError(law, argument="output", offender=f"got {output!r}")


def probabilities(predictions: ArrayLike, output: Output) -> Floats:
    r"""Convert predictions to probabilities, as declared by `output`.

    A margin :math:`m` of an event is its log-odds, :math:`p = 1 / (1 + e^{-m})`; margins :math:`m_1, \dots, m_K` of
    classes give :math:`p_k = e^{m_k} / \sum_j e^{m_j}`.

    Parameters
    ----------
    predictions : array-like of shape (n,) or (n, K)
        Output of a model.
    output : {"probability", "margin"}
        The kind of output.

    Examples
    --------
    >>> probabilities([0.0, 2.0], "margin").round(3)
    array([0.5  , 0.881])
    """
    check_output(output)
    values = np.asarray(predictions, dtype=np.float64)
    if output == "margin":
        return np.asarray(expit(values) if values.ndim == 1 else softmax(values, axis=1))
    outside = (values < 0.0) | (values > 1.0)
    if outside.any():
        law = 'must lie in [0, 1] with output="probability"'
        hint = 'with a custom objective, metrics are passed margins; declare output="margin" if these are margins.'
        raise InputValueError(law, argument="predictions", offender=f"one is {float(values[outside][0])!r}", hint=hint)
    return values


def event_or_rows(rule: Rule, forecast: NDArray[Any], *, tolerance: float = TOLERANCE) -> NDArray[Any]:
    """Return the forecast in the shape that the rule scores.

    For a rule that scores events, two classes are one event, the second class. Both columns are checked, because the
    first is not read again. A rule that scores only classes gets the rows.

    Examples
    --------
    >>> import propriety as pr
    >>> event_or_rows(pr.Brier(), np.array([[0.25, 0.75]]))
    array([0.75])
    >>> event_or_rows(pr.PenalizedBrier(), np.array([0.75]))
    array([[0.25, 0.75]])
    """
    if isinstance(rule, BinaryRule):
        if forecast.ndim != 2 or forecast.shape[1] != 2:
            return forecast
        read_forecast(forecast, tolerance=tolerance)
        return forecast[:, 1]
    return np.column_stack([1.0 - forecast, forecast]) if forecast.ndim == 1 else forecast
