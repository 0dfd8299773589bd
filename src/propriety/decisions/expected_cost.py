"""Mean cost of decisions among classes, and the decisions of least expected cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propriety import checks, demands
from propriety.decisions.agreement import labels_at, read_decisions
from propriety.errors import InputTypeError, InputValueError, Wording
from propriety.result import Floats, Result, Score
from propriety.tables.arguments import about
from propriety.tables.arrays import Reading, read_array, read_forecasts
from propriety.tables.cases import Cases
from propriety.tables.forecast_columns import places_of_columns
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.grid_thresholds import check_decided
from propriety.tables.labels import Labels
from propriety.tables.pooling import running_sum
from propriety.tables.validation import read_forecast

Cost: TypeAlias = Literal["zero-one", "linear", "quadratic"] | ArrayLike
POWERS = {"zero-one": 0, "linear": 1, "quadratic": 2}
NOISE = 1e-12  # Expected costs closer than this share of the largest cost are tied.


def expected_cost(
    y_true: ArrayLike | Cases,
    y_pred: ArrayLike | None = None,
    *,
    cost: Cost = "zero-one",
    decision_rule: Literal["bayes", "argmax"] = "bayes",
    normalize: Literal["none", "constant"] = "none",
    sample_weight: ArrayLike | None = None,
    labels: Labels | None = None,
) -> Score:
    r"""Mean cost of decisions among classes; lower is better.

    .. math:: \mathrm{EC} = \frac{\sum_i w_i\, c(y_i, d_i)}{\sum_i w_i}

    with the cost :math:`c(y, d)` of deciding :math:`d` if :math:`y` happens:
    :math:`[d \ne y]` (zero-one, the error rate), :math:`|d - y| / (K - 1)` (linear),
    :math:`(d - y)^2 / (K - 1)^2` (quadratic), or any matrix.

    Parameters
    ----------
    y_true : array-like of shape (n,), or Cases
        Outcomes, or cases with the probabilities of one model.
    y_pred : array-like of shape (n,) or (n, K)
        Decided classes, or rows of probabilities.
    cost : {"zero-one", "linear", "quadratic"} or array-like of shape (K, K)
        Cost of each decision (column) if each class (row) happens, finite and not negative. Rows and columns of a frame
        are matched to the labels by name.
    decision_rule : {"bayes", "argmax"}
        How class probabilities are turned into decisions: by least expected cost, see `bayes_decisions`, or for the
        most probable class, whatever the costs. Decided classes are used as they are.
    normalize : {"none", "constant"}
        "constant" divides by the cost of the best constant decision, which needs no forecasts: below 1, forecasts are
        useful. If that decision costs nothing, the ratio is infinite, or NaN (0/0).
    sample_weight
        As in `propriety.mean_score`.
    labels : sequence, optional
        The classes in order; needed unless they are 0, ..., K - 1. For decided classes with linear or quadratic costs
        it is always needed, because not all classes need occur.

    References
    ----------
    Ferrer (2022), arXiv:2209.05355.

    Examples
    --------
    >>> from propriety.decisions.expected_cost import expected_cost
    >>> y, rows = [0, 2], [[0.6, 0.3, 0.1], [0.4, 0.2, 0.4]]
    >>> expected_cost(y, rows, cost="linear")
    Score(0.25, rule='expected_cost(linear)', scale='0 to 1, lower is better', n=2)
    >>> float(expected_cost(y, rows, cost="linear", decision_rule="argmax"))
    0.5
    >>> float(expected_cost(y, [0, 1], cost=[[0, 1, 1], [1, 0, 1], [5, 4, 0]], normalize="constant"))
    4.0
    """
    checks.choice(decision_rule, "decision_rule", ("bayes", "argmax"))
    checks.choice(normalize, "normalize", ("none", "constant"))
    classes = None if isinstance(cost, str) else len(cost_matrix(cost))
    if (
        classes is None
        and labels is None
        and cost != "zero-one"
        and not isinstance(y_true, Cases)
        and _is_column(y_pred)
    ):
        law = f"must be given with decisions and {cost} costs, which depend on the number of classes"
        raise InputValueError(
            law, argument="labels", hint=Wording("pass the classes in order, such as {labels}=range(5).")
        )
    cases = read_decisions(
        y_true,
        y_pred,
        decide=None if decision_rule == "argmax" else partial(_least_expected, cost=cost),
        classes=classes,
        sample_weight=sample_weight,
        labels=labels,
    )
    matrix = cost_matrix(cost, cases.labels)
    value, constant = float(cost_of(cases.confusion, matrix)), float(constant_cost_of(cases.confusion, matrix))
    scale = f"0 to {matrix.max():g}"
    if normalize == "constant":
        with np.errstate(divide="ignore", invalid="ignore"):  # A constant decision that costs nothing.
            value = float(np.divide(value, constant))
        scale = f"share of the cost of the best constant decision, {constant:.6g}"
    return cases.score(value, rule=f"expected_cost({cost if isinstance(cost, str) else 'matrix'})", scale=scale)


def _is_column(y_pred: object) -> bool:
    """Whether decided classes were passed, in one column, rather than rows of probabilities."""
    return read_forecasts(y_pred, "y_pred").values.ndim == 1


def bayes_decisions(y_proba: ArrayLike, *, cost: Cost = "zero-one", labels: Labels | None = None) -> NDArray[Any]:
    r"""Decide for the class with the least expected cost, :math:`\arg\min_d \sum_k p_k\, c(k, d)`.

    Parameters
    ----------
    y_proba : array-like of shape (n,), (n, 1), (n, 2) or (n, K)
        Probability of the event, of both outcomes, or of each class; see `propriety.mean_score`.
    cost : {"zero-one", "linear", "quadratic"} or array-like of shape (K, K)
        As in `expected_cost`. Zero-one costs give the most probable class, linear costs a median, and quadratic costs
        the class closest to the mean.
    labels : sequence, optional
        The label of each column in order; 0, ..., K - 1 if not given.

    Returns
    -------
    array of shape (n,)
        The label decided on; in a tie, the first.

    Notes
    -----
    If the probabilities are calibrated, no other decisions cost less on average. Otherwise others may.

    Examples
    --------
    >>> from propriety.decisions.expected_cost import bayes_decisions
    >>> rows = [[0.4, 0.25, 0.35], [0.5, 0.1, 0.4]]
    >>> bayes_decisions(rows), bayes_decisions(rows, cost="quadratic")
    (array([0, 0]), array([1, 1]))
    >>> bayes_decisions(rows, cost=[[0, 1, 1], [1, 0, 1], [9, 4, 0]], labels=["low", "mid", "high"]).tolist()
    ['high', 'high']
    """
    forecast, columns = read_forecast(y_proba, labels=labels)
    return labels_at(columns, _least_expected(forecast, columns, cost=cost))


def cost_matrix(cost: Cost, labels: Sequence[Any] | None = None) -> Floats:
    """Return the cost of each decision (column) for each outcome (row) of the classes with these labels.

    Examples
    --------
    >>> cost_matrix("linear", range(3))
    array([[0. , 0.5, 1. ], [0.5, 0. , 0.5], [1. , 0.5, 0. ]])
    """
    classes = None if labels is None else len(labels)
    if isinstance(cost, str):
        if cost not in POWERS or classes is None:
            raise InputValueError('must be "zero-one", "linear", "quadratic" or a matrix', argument="cost", got=cost)
        if classes < 2:
            raise InputValueError("must name two classes or more", argument="labels", offender="it names one")
        distance = np.abs(np.subtract.outer(np.arange(classes), np.arange(classes)))
        # Zero to the power zero is one, but a right decision costs nothing.
        return np.where(distance == 0, 0.0, (distance / (classes - 1.0)) ** POWERS[cost])
    reading = read_array(cost, "cost")
    matrix = reading.values
    if matrix.dtype.kind not in "biuf":
        raise InputTypeError(demands.NUMBERS, argument="cost", offender=f"got {matrix.dtype}")
    square = matrix.ndim == 2 and matrix.shape[0] == matrix.shape[1] >= 2
    if not square or (classes is not None and len(matrix) != classes):
        law = f"must have a row and a column for each of the {classes or 'K'} classes"
        raise InputValueError(law, argument="cost", offender=f"got shape {matrix.shape}")
    bad = ~((matrix >= 0) & (matrix < np.inf))
    if bad.any():
        row, column = (int(place[0]) for place in np.nonzero(bad))
        offender = f"is {matrix[row, column].item()!r}"
        law = demands.WEIGHT
        hint = "if costs are negative because they are gains, add a constant to the row; this changes no decision."
        count = f"{bad.sum()} of {bad.size}"
        raise InputValueError(law, argument="cost", row=row, column=column, offender=offender, count=count, hint=hint)
    found = matrix.astype(np.float64)
    return found if labels is None else _in_order(found, reading, tuple(labels))


def _in_order(matrix: Floats, reading: Reading, labels: tuple[Any, ...]) -> Floats:
    """Return a cost matrix with the rows and columns of a frame in the order of the labels that name them."""
    with about("cost"):
        rows = None if reading.index is None else places_of_columns(tuple(reading.index), labels, what="rows")
        columns = None if reading.names is None else places_of_columns(reading.names, labels)
    usual = tuple(range(len(labels)))
    if rows is None and columns not in (None, usual):
        law = f"must name its rows as its columns, or have both in the order of the labels {list(labels)}"
        raise InputValueError(law, argument="cost", offender=f"got the columns {list(reading.names or ())}")
    return matrix[np.ix_(rows or usual, columns or usual)]


def cost_of(confusion: Floats, matrix: Floats) -> Floats:
    """Return the mean cost of confusion matrices of shape (..., K, K)."""
    # Shares first, because sums of huge costs overflow.
    return (confusion / confusion.sum(axis=(-2, -1), keepdims=True) * matrix).sum(axis=(-2, -1))


def constant_cost_of(confusion: Floats, matrix: Floats) -> Floats:
    """Return the mean cost of the best constant decision for the outcomes of confusion matrices."""
    outcomes = confusion.sum(axis=-1)
    return (outcomes / outcomes.sum(axis=-1, keepdims=True) @ matrix).min(axis=-1)


def _least_expected(forecast: Floats, labels: tuple[Any, ...], *, cost: Cost) -> NDArray[np.intp]:
    """Return the index of the decision with the least expected cost for forecasts of shape (K, n)."""
    matrix = cost_matrix(cost, labels)
    expected = matrix.T @ forecast
    # Rounding of the sums, which is relative because no cost is negative, must not choose between tied decisions.
    return np.argmax(expected <= expected.min(axis=0) * (1.0 + NOISE), axis=0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class GainCurve(Result):
    r"""Events found among the cases with the highest forecasts, one row per threshold; see `RocCurve.gains`.

    Parameters
    ----------
    threshold : array of shape (rows,)
        Act on forecasts of at least this value.
    share : array of shape (rows,)
        Share of the cases acted on.
    recall : array of shape (rows,)
        Share of the events that are acted on, the gain; also called sensitivity.
    precision : array of shape (rows,)
        Share of events among the cases acted on.
    lift : array of shape (rows,)
        Precision divided by prevalence.
    prevalence : float
        Share of events among all cases, the precision of acting at random.
    average_precision : float
        Mean precision over the events, :math:`\sum_k (r_k - r_{k-1})\, p_k` for recall r and precision p.
    n : int
        Number of cases.
    """

    facts: ClassVar[tuple[str, ...]] = ("rows", "average_precision", "n")

    threshold: Floats
    share: Floats
    recall: Floats
    precision: Floats
    lift: Floats
    prevalence: float
    average_precision: float
    n: int


def gain_curve_of(table: ForecastTable) -> GainCurve:
    """Compute the curve of a table with events; see `RocCurve.gains`.

    Examples
    --------
    >>> found = gain_curve_of(ForecastTable.from_predictions([0, 1, 0, 1], [0.1, 0.3, 0.4, 0.8]))
    >>> found.recall, found.precision.round(3), round(found.average_precision, 4)
    (array([0.5, 0.5, 1. , 1. ]), array([1.   , 0.5  , 0.667, 0.5  ]), 0.8333)
    """
    events, weights = np.cumsum(table.events[::-1]), np.cumsum(table.weights[::-1])
    recall, precision, prevalence = events / events[-1], events / weights, table.event_rate
    return GainCurve(
        threshold=table.forecast[::-1],
        share=weights / weights[-1],
        recall=recall,
        precision=precision,
        lift=precision / prevalence,
        prevalence=prevalence,
        average_precision=float(np.diff(recall, prepend=0.0) @ precision),
        n=table.n,
    )


class DecisionCounts(NamedTuple):
    """Weights of the events and of the non-events that are acted on, and of those that are not."""

    true_positives: Floats
    false_positives: Floats
    false_negatives: Floats
    true_negatives: Floats


def counts_at(table: ForecastTable, thresholds: Floats) -> DecisionCounts:
    """Count the decisions at each threshold; cases with a forecast of at least the threshold are acted on.

    Examples
    --------
    >>> table = ForecastTable.from_predictions([0, 1, 0, 1], [0.1, 0.3, 0.3, 0.8])
    >>> found = counts_at(table, np.array([0.0, 0.3, 0.5, 1.0]))
    >>> found.true_positives, found.false_positives
    (array([2., 2., 1., 0.]), array([2., 1., 0., 0.]))
    """
    check_decided(table, thresholds)
    return _split(table, thresholds, table.events, table.non_events)


def squares_at(table: ForecastTable, thresholds: Floats) -> DecisionCounts:
    """Add up the squared weights of the cases that `counts_at` counts."""
    return _split(table, thresholds, table.event_squares, table.non_event_squares)


def _split(table: ForecastTable, thresholds: Floats, *columns: Floats) -> DecisionCounts:
    below = np.searchsorted(table.forecast, thresholds, side="left")
    # Sums of the rows, not differences from the total, so that no cases weigh exactly 0.
    acted = [np.append(running_sum(weight[::-1])[::-1], 0.0)[below] for weight in columns]
    others = [np.append(0.0, running_sum(weight))[below] for weight in columns]
    return DecisionCounts(*acted, *others)
