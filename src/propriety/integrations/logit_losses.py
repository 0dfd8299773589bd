r"""Losses computed from logits, where losses computed from probabilities would overflow or lose digits.

The logarithm of a probability is computed from the logits, :math:`\log p_y = x_y - \log \sum_k e^{x_k}`, so that a log
score is finite for every finite logit and has the gradient :math:`p - y`. An event that did not happen is scored by its
complement, :math:`1 - p = 1 / (1 + e^x)`, which keeps the digits that a difference would lose. All other scores are
bounded and are computed from the probabilities by their own formula.
"""

from __future__ import annotations

import math
from functools import singledispatch
from typing import Any, Protocol

import numpy as np
from scipy import special

from propriety.errors import InputValueError
from propriety.rules.families import BoundedLog, Brier, Log, Pseudospherical, Spherical, Tsallis
from propriety.rules.operations import NUMPY, Column, Operations
from propriety.rules.ordinal import RankedLog
from propriety.rules.penalized import Misclassification, PenalizedLog, missed
from propriety.rules.rule import BinaryRule, ClassRule, Rule

SYMMETRIC = (Brier, Log, Spherical, Pseudospherical, Tsallis, Misclassification)  # S(p, 0) = S(1 - p, 1).


class LogitOperations(Protocol):
    """Operations on logits that a kind of array must support, besides those of formulas; rows have shape (n, K)."""

    @property
    def formulas(self) -> Operations:
        """The operations in which rules are written."""

    def sigmoid(self, x: Column) -> Column:
        """Probability of an event with these log-odds."""

    def log_sigmoid(self, x: Column) -> Column:
        """Logarithm of this probability."""

    def softmax(self, x: Column) -> list[Column]:
        """Probabilities of classes with these logits, a column for each class."""

    def log_softmax(self, x: Column) -> Column:
        """Logarithms of these probabilities, as rows."""

    def log_cumulated(self, rows: Column) -> Column:
        """Logarithms of the cumulative sums of the exponentials of the rows."""

    def reversed(self, rows: Column) -> Column:
        """Return the rows from their last class to their first."""

    def at(self, rows: Column, outcome: Column) -> Column:
        """Return the entry of each row at the class that happened."""

    def two_classes(self, x: Column) -> Column:
        """Rows of two logits from the log-odds of the second class."""


class _NumPy:
    formulas = NUMPY

    def sigmoid(self, x: Column) -> Column:
        return special.expit(x)

    def log_sigmoid(self, x: Column) -> Column:
        return special.log_expit(x)

    def softmax(self, x: Column) -> list[Column]:
        return list(special.softmax(x, axis=1).T)

    def log_softmax(self, x: Column) -> Column:
        return special.log_softmax(x, axis=1)

    def log_cumulated(self, rows: Column) -> Column:
        return np.logaddexp.accumulate(rows, axis=1)

    def reversed(self, rows: Column) -> Column:
        return rows[:, ::-1]

    def at(self, rows: Column, outcome: Column) -> Column:
        return np.take_along_axis(rows, np.asarray(outcome, dtype=np.intp)[:, None], axis=1)[:, 0]

    def two_classes(self, x: Column) -> Column:
        return np.column_stack([np.zeros_like(x), x])


NUMPY_LOGITS: LogitOperations = _NumPy()


def losses_of_logits(rule: Rule, logits: Column, outcome: Column, ops: LogitOperations = NUMPY_LOGITS) -> Column:
    """Return the loss of each case from the log-odds of an event or the logits of classes.

    Parameters
    ----------
    rule : Rule
        The scoring rule; with two classes, a rule for one event scores the second class.
    logits : array of shape (n,) or (n, K)
        Log-odds, or logits.
    outcome : array of shape (n,)
        Whether the event happened, or the class index.
    ops : LogitOperations
        The operations on this kind of array.

    Examples
    --------
    >>> losses_of_logits(Log(), np.array([1000.0, 17.0]), np.array([0, 1])).round(9)
    array([1.0e+03, 4.1e-08])
    """
    if isinstance(rule, BinaryRule):
        if logits.ndim == 2 and logits.shape[1] == 2:
            logits = logits[:, 1] - logits[:, 0]
        if logits.ndim == 1:
            return _event(rule, logits, outcome == 1, ops)
    if isinstance(rule, ClassRule):
        return _rows(rule, ops.two_classes(logits) if logits.ndim == 1 else logits, outcome, ops)
    law = f"{type(rule).__name__} scores the forecast of one event; got rows, shape {tuple(logits.shape)}"
    raise InputValueError(law, hint="pass the column of the event, such as forecast[:, 1].")


def event_losses(rule: BinaryRule, proba: Column, event: Column, ops: Operations) -> Column:
    """Return the loss of each case from probabilities, with finite gradients."""
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
    limits = [(_log(rule.low), math.log(rule.high)), (_log(1.0 - rule.high), math.log1p(-rule.low))]
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


def _log(value: float) -> float:
    return math.log(value) if value > 0.0 else -math.inf
