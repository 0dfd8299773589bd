r"""The output of a model, probabilities or logits, as forecasts and losses of rules, for any kind of array.

Losses are computed from logits where losses computed from probabilities would overflow or lose digits. The logarithm of
a probability is :math:`\log p_y = x_y - \log \sum_k e^{x_k}`, so that a log score is finite for every finite logit and
has the gradient :math:`p - y`. An event that did not happen is scored by its complement,
:math:`1 - p = 1 / (1 + e^x)`, which keeps the digits that a difference would lose. All other scores are bounded and are
computed from the probabilities by their own formula.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial, singledispatch
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from propriety import checks, demands
from propriety.errors import InputValueError
from propriety.integrations import load_library
from propriety.result import Floats
from propriety.rules.class_rules import Misclassification, PenalizedLog, RankedLog, missed
from propriety.rules.families import BoundedLog, Brier, Log, Pseudospherical, Spherical, Tsallis
from propriety.rules.operations import NUMPY, Column, Operations
from propriety.rules.rule import BinaryRule, ClassRule, Rule
from propriety.tables.probabilities import TOLERANCE, rounding_of_rows
from propriety.tables.validation import read_forecast

Output: TypeAlias = Literal["probability", "margin"]

SYMMETRIC = (Brier, Log, Spherical, Pseudospherical, Tsallis, Misclassification)  # S(p, 0) = S(1 - p, 1).


def check_output(output: object) -> None:
    """Raise an error unless `output` is "probability" or "margin"."""
    checks.choice(output, "output", get_args(Output), hint="it says which of them the library passes to a metric.")


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
        return np.asarray(special.expit(values) if values.ndim == 1 else special.softmax(values, axis=1))
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


def single_column(values: Any) -> Any:
    """Convert a single column, of shape (n, 1), to one dimension."""
    return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values


def array_of(tensor: Any) -> NDArray[Any]:
    """Return a tensor as an array, with floats as float64, because NumPy has no bfloat16.

    Examples
    --------
    >>> import torch
    >>> array_of(torch.tensor([0.5], dtype=torch.bfloat16, requires_grad=True))
    array([0.5])
    """
    values = tensor.detach().cpu()
    return (values.double() if values.is_floating_point() else values).numpy()


def rounding_of(proba: Any) -> float:
    """Return how far rounding in a tensor's precision can move row sums from one; 0 for one event.

    Examples
    --------
    >>> import torch
    >>> round(rounding_of(torch.ones((4, 3), dtype=torch.bfloat16)), 4)
    0.0078
    """
    if proba.ndim != 2 or not proba.is_floating_point():
        return 0.0
    limits = load_library("torch", extra="torch").finfo(proba.dtype)
    return rounding_of_rows(proba.shape[1], eps=float(limits.eps), tiny=float(limits.tiny))


class LogitOperations(NamedTuple):
    """Operations on logits that a kind of array must support, besides those of formulas; rows have shape (n, K)."""

    formulas: Operations
    sigmoid: Callable[[Column], Column]
    log_sigmoid: Callable[[Column], Column]
    softmax: Callable[[Column], list[Column]]  # One column for each class.
    log_softmax: Callable[[Column], Column]
    log_cumulated: Callable[[Column], Column]  # Logarithms of the cumulative sums of the exponentials.
    reversed: Callable[[Column], Column]  # Rows from their last class to their first.
    at: Callable[[Column, Column], Column]  # The entry of each row at the class that happened.
    two_classes: Callable[[Column], Column]  # Rows of two logits from the log-odds of the second class.


NUMPY_LOGITS = LogitOperations(
    NUMPY,
    sigmoid=special.expit,
    log_sigmoid=special.log_expit,
    softmax=lambda x: list(special.softmax(x, axis=1).T),
    log_softmax=partial(special.log_softmax, axis=1),
    log_cumulated=partial(np.logaddexp.accumulate, axis=1),
    reversed=np.fliplr,
    at=lambda rows, outcome: rows[np.arange(len(rows)), np.asarray(outcome, dtype=np.intp)],
    two_classes=lambda x: np.column_stack([np.zeros_like(x), x]),
)


def output_losses(
    rule: Rule, output: Column, outcome: Column, ops: LogitOperations = NUMPY_LOGITS, *, from_logits: bool
) -> Column:
    """Return the loss of each case, with finite gradients.

    Parameters
    ----------
    rule : Rule
        The scoring rule; with two classes, a rule for one event scores the second class.
    output : array of shape (n,) or (n, K)
        Probabilities of the event or of the classes, or their logits.
    outcome : array of shape (n,)
        Whether the event happened, or the class index.
    ops : LogitOperations
        The operations on this kind of array.
    from_logits : bool
        Whether the output is logits.

    Examples
    --------
    >>> output_losses(Log(), np.array([1000.0, 17.0]), np.array([0, 1]), from_logits=True).round(9)
    array([1.0e+03, 4.1e-08])
    """
    if isinstance(rule, BinaryRule):
        if output.ndim == 2 and output.shape[1] == 2:
            output = output[:, 1] - output[:, 0] if from_logits else output[:, 1]
        if output.ndim == 1:
            if from_logits:
                return _event(rule, output, outcome == 1, ops)
            return event_losses(rule, output, outcome == 1, ops.formulas)
    if isinstance(rule, ClassRule):
        if from_logits:
            return _rows(rule, ops.two_classes(output) if output.ndim == 1 else output, outcome, ops)
        columns = [1.0 - output, output] if output.ndim == 1 else [output[:, k] for k in range(output.shape[1])]
        return rule.class_case_loss(columns, outcome, ops=ops.formulas)
    hint = "pass the column of the event, such as forecast[:, 1]."
    raise InputValueError(demands.rule_of_one_event(rule), offender=f"their shape is {tuple(output.shape)}", hint=hint)


def event_losses(rule: BinaryRule, proba: Column, event: Column, ops: Operations) -> Column:
    """Return the loss of each case from the probabilities of an event."""
    # Each partial loss is computed for its own cases only. An infinite loss times zero would have a NaN gradient.
    happened = rule.loss(ops.where(event, proba, 0.5), event=True, ops=ops)
    did_not = rule.loss(ops.where(event, 0.5, proba), event=False, ops=ops)
    return ops.where(event, happened, did_not)


@singledispatch
def _event(rule: Any, logit: Column, event: Column, ops: LogitOperations) -> Column:
    """Return the loss of log-odds, by the rule's formula for the probability."""
    formulas = ops.formulas
    if type(rule) in SYMMETRIC:
        return rule.loss(ops.sigmoid(formulas.where(event, logit, -logit)), event=True, ops=formulas)
    return event_losses(rule, ops.sigmoid(logit), event, formulas)


@_event.register
def _(rule: Log, logit: Column, event: Column, ops: LogitOperations) -> Column:
    return rule.clipped(-ops.log_sigmoid(ops.formulas.where(event, logit, -logit)), ops.formulas)


@_event.register
def _(rule: BoundedLog, logit: Column, event: Column, ops: LogitOperations) -> Column:
    if rule.low > 0.0 and rule.high < 1.0:
        return event_losses(rule, ops.sigmoid(logit), event, ops.formulas)
    with np.errstate(divide="ignore"):  # A threshold of 0 or 1 does not limit the loss.
        worst_p, worst_complement = (float(np.log(end)) for end in (rule.low, 1.0 - rule.high))
    limits = [(worst_p, math.log(rule.high)), (worst_complement, math.log1p(-rule.low))]
    log_p = ops.log_sigmoid(ops.formulas.where(event, logit, -logit))
    happened, did_not = (best - ops.formulas.clip(log_p, worst, best) for worst, best in limits)
    return ops.formulas.where(event, happened, did_not) / rule.divisor()


@singledispatch
def _rows(rule: Any, logits: Column, outcome: Column, ops: LogitOperations) -> Column:
    """Return the loss of rows of logits, by the rule's formula for the probabilities."""
    return rule.class_case_loss(ops.softmax(logits), outcome, ops=ops.formulas)


@_rows.register
def _(rule: Log, logits: Column, outcome: Column, ops: LogitOperations) -> Column:
    return rule.clipped(-ops.at(ops.log_softmax(logits), outcome), ops.formulas)


@_rows.register
def _(rule: PenalizedLog, logits: Column, outcome: Column, ops: LogitOperations) -> Column:
    formulas, columns = ops.formulas, ops.softmax(logits)
    happened = [formulas.where(outcome == k, 1.0, 0.0) for k in range(len(columns))]
    penalty = math.log(len(columns)) * missed(columns, happened, rule.ties, formulas)
    return penalty - ops.at(ops.log_softmax(logits), outcome)


@_rows.register
def _(rule: RankedLog, logits: Column, outcome: Column, ops: LogitOperations) -> Column:
    del rule
    log_p = ops.log_softmax(logits)
    heads = ops.log_cumulated(log_p)
    tails = ops.reversed(ops.log_cumulated(ops.reversed(log_p)))
    cuts = range(log_p.shape[1] - 1)
    total = sum(ops.formulas.where(outcome <= k, heads[:, k], tails[:, k + 1]) for k in cuts)
    return -total / len(cuts)
