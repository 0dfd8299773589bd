"""Scores of predictions: the mean under any rule, case by case, and relative to a reference."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propriety import demands
from propriety.checks import is_number
from propriety.errors import InputTypeError, InputValueError, Wording
from propriety.result import Floats, Score
from propriety.rules.rule import BinaryRule, ClassRule, Rule, binary_rule, check_rule
from propriety.tables.arguments import check_indices
from propriety.tables.arrays import read_forecasts
from propriety.tables.cases import Cases
from propriety.tables.forecast_table import ForecastTable, Outcomes
from propriety.tables.grid_thresholds import check_decided
from propriety.tables.labels import Labels
from propriety.tables.reading import read_beside
from propriety.tables.table_laws import COLUMNS
from propriety.tables.validation import read_cases, read_rates


def mean_score(
    y_true: Outcomes,
    y_proba: ArrayLike | None = None,
    *,
    rule: Rule,
    sample_weight: ArrayLike | None = None,
    pos_label: Hashable | None = None,
    labels: Labels | None = None,
) -> Score:
    """Weighted mean loss of predictions under a rule; lower is better.

    Parameters
    ----------
    y_true : array-like of shape (n,), cases or ledger
        Outcomes, in a list, NumPy array, or pandas, Polars or PyArrow column. A table replaces both outcomes and
        forecasts.
    y_proba : array-like of shape (n,), (n, 1), (n, 2) or (n, K)
        Probability of the event; or of both outcomes, as scikit-learn's ``predict_proba`` returns them, with the event
        in the second column; or rows with one column for each of three or more classes. Two columns give the same
        results as the event's column. The columns of a frame are named like the classes, in any order.
    rule : Rule
        The scoring rule, such as ``Brier()``.
    sample_weight : array-like of shape (n,), optional
        Weights, finite and not negative.
    pos_label : label, optional
        The label of the event. One column needs it unless the labels are 0/1 or boolean; of two columns it chooses the
        event's, by default that of the second label.
    labels : sequence, optional
        The label of each column in order; with one column, the two labels, the event last. Needed for three or more
        classes unless the labels are 0, ..., K - 1 or the names of a frame's columns.
    missing : {"raise", "drop"}
        Whether missing values in any argument raise an error or drop their rows; the score counts dropped rows.
    tolerance : float
        Allowed deviation of a row of class probabilities from summing to one.

    Returns
    -------
    Score
        A `float` with its rule, scale and number of cases.

    Examples
    --------
    >>> import propriety as pr
    >>> pr.mean_score([0, 1, 1], [0.1, 0.8, 0.5], rule=pr.Elementary(0.6))
    Score(0.13333333333333333, rule='Elementary(threshold=0.6)', scale='0 to 0.6, lower is better', n=3)
    >>> pr.mean_score(["no", "yes"], [0.5, 0.5], rule=pr.Brier(), pos_label="yes").n
    2
    >>> pr.mean_score([0, 1], [[0.75, 0.25], [0.5, 0.5]], rule=pr.Brier()) == pr.brier_score([0, 1], [0.25, 0.5])
    True
    """
    table = ForecastTable.given(y_true, y_proba, sample_weight=sample_weight, pos_label=pos_label, labels=labels)
    if table is not None:
        return _score_of_table(table, rule)
    cases = read_cases(
        y_true,
        y_proba,
        sample_weight=sample_weight,
        pos_label=pos_label,
        labels=labels,
        snapshot=False,
    )
    return _score_of_cases(cases, rule)


def case_scores(
    y_true: ArrayLike | Cases,
    y_proba: ArrayLike | None = None,
    *,
    rule: Rule,
    pos_label: Hashable | None = None,
    labels: Labels | None = None,
) -> Floats:
    """Loss of each case under a rule; the arguments are those of `mean_score`.

    Returns
    -------
    array of shape (n,)
        The losses, in the order of the cases. The loss of a row that `propriety.cases` dropped is NaN, so that losses
        stay aligned with their cases. So is that of a case whose outcome is censored.

    Examples
    --------
    >>> import propriety as pr
    >>> pr.case_scores([0, 1, 1], [0.5, 0.5, 1.0], rule=pr.Brier())
    array([0.25, 0.25, 0.  ])
    """
    options: dict[str, Any] = {"pos_label": pos_label, "labels": labels}
    cases = read_cases(y_true, y_proba, snapshot=False, **options)
    losses = losses_of(cases, rule)
    if cases.rows is None:
        return losses
    rows = len(cases) + cases.dropped if cases.censoring is None else cases.censoring.n
    aligned = np.full(rows, np.nan)
    aligned[cases.rows] = losses
    return aligned


def skill_score(
    y_true: Outcomes,
    y_proba: ArrayLike | None = None,
    *,
    rule: Rule,
    reference: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Hashable | None = None,
    labels: Labels | None = None,
) -> Score:
    """Share of the reference's loss that the forecast saves, 1 - S / S_reference; higher is better.

    Parameters
    ----------
    y_true, y_proba, rule, sample_weight, pos_label, labels
        As in `mean_score`.
    reference : float, array-like, optional
        What to compare with: by default the constant forecast of the rates observed in the sample; otherwise a rate
        (for classes, K rates), or another forecast of the same shape as `y_proba`.

    Notes
    -----
    With ``RankedProbability()`` and no reference it is the ranked probability skill score against climatology.

    Examples
    --------
    >>> import propriety as pr
    >>> y, p = [0, 1], [0.25, 0.75]
    >>> pr.skill_score(y, p, rule=pr.Brier())
    Score(0.75, rule='Brier()', scale='share of the loss of the reference, 0.25, that is saved, higher is better', n=2)
    >>> round(pr.skill_score(y, p, rule=pr.Brier(), reference=[0.125, 0.75]), 6)
    -0.6
    """
    score, against = paired_scores(
        y_true,
        y_proba,
        rule=rule,
        reference=reference,
        sample_weight=sample_weight,
        pos_label=pos_label,
        labels=labels,
    )
    if not 0.0 < against < math.inf:
        law = f"the reference must have a positive, finite loss; its {rule.name} is {float(against)!r}"
        hint = Wording("{y_true} holds one class only? Pass {reference=}, a rate or another forecast.")
        raise InputValueError(law, hint=hint)
    return score.turned(
        1.0 - score / against, scale=f"share of the loss of the reference, {against:.6g}, that is saved"
    )


def paired_scores(
    y_true: object,
    y_proba: ArrayLike | None,
    *,
    rule: Rule,
    reference: object,
    **options: Any,
) -> tuple[Score, Score]:
    """Score the forecast and the reference on the same cases."""
    table = ForecastTable.given(y_true, y_proba, **options)
    if table is not None:
        return _score_of_table(table, rule), _score_of_table(_constant_table(table, reference), rule)
    cases = read_cases(y_true, y_proba, snapshot=False, **options)
    score = _score_of_cases(cases, rule)
    return score, _score_of_cases(_reference_cases(cases, reference, y_true, y_proba, **options), rule)


def _score_of_cases(cases: Cases, rule: Rule) -> Score:
    sums, weights, n = [], [], 0
    for loss, weight in losses_by_chunk(cases, rule):
        if weight is None:
            sums.append(float(loss.sum()))
            weights.append(float(len(loss)))
            n += len(loss)
        else:
            # A case of zero weight does not count, even if its loss is infinite.
            sums.append(float(np.multiply(loss, weight, where=weight > 0.0, out=np.zeros(len(loss))).sum()))
            weights.append(float(weight.sum()))
            n += int(np.count_nonzero(weight))
    total, loss_sum = math.fsum(weights), math.fsum(sums)
    if math.isnan(loss_sum):
        raise InputValueError(demands.numbers_as_losses(rule))
    units = rule.units(cases.classes)
    return Score(loss_sum / total, rule=repr(rule), scale=units, n=n, weight=total, dropped=cases.dropped)


def losses_by_chunk(cases: Cases, rule: Rule, model: str | None = None) -> Iterator[tuple[Floats, Floats | None]]:
    """Yield the losses of a model (by default the only one) with the weights, in the order of the cases, in chunks."""
    if cases.classes is None:
        binary = binary_rule(rule)
        for forecast, event, weight in cases.chunks(model):
            yield _by_case(binary.case_loss(forecast, event), len(event)), weight
    else:
        by_class = _by_class(rule)
        for rows, outcome, weight in cases.chunks(model):
            yield _by_case(by_class.class_case_loss(list(rows), outcome), len(outcome)), weight


def _by_case(loss: Any, n: int) -> Floats:
    """Return the loss of each of n cases; some rules give one number for all."""
    return loss if np.shape(loss) == (n,) else np.broadcast_to(loss, n)


def losses_of(cases: Cases, rule: Rule, model: str | None = None) -> Floats:
    """Return the loss of each case under a model, by default the only one."""
    losses: Floats = np.empty(len(cases))
    start = 0
    for loss, _ in losses_by_chunk(cases, rule, model):
        np.add(loss, 0.0, out=losses[start : start + len(loss)])  # No -0.0.
        start += len(loss)
    return losses


def mean_loss(rule: BinaryRule, forecast: Floats, events: Floats, non_events: Floats) -> float:
    """Return the mean loss of forecasts, given the weights of their events and non-events."""
    total = weighted_sum(rule.loss(forecast, event=True), events)
    total += weighted_sum(rule.loss(forecast, event=False), non_events)
    return total / float(events.sum() + non_events.sum())


def losses_of_table(table: ForecastTable, rule: Rule) -> tuple[Floats, Floats]:
    """Return the loss of each row of a table without and with the event."""
    own, size = binary_rule(rule), len(table)
    _check_decided(table, own)
    without, happened = (_by_case(own.loss(table.forecast, event=event), size) for event in (False, True))
    return without, happened


def weighted_sum(loss: Floats, weight: Floats) -> float:
    """Return the weighted sum of the losses; losses of zero weight do not count, even if infinite."""
    loss = _by_case(loss, len(weight))
    # NumPy sums pairwise. A dot product adds the rows one after another, and the result depends on the threads.
    with np.errstate(invalid="ignore"):
        total = float((weight * loss).sum())
    if math.isnan(total):  # From zero times infinity.
        present = weight > 0.0
        total = float((weight[present] * loss[present]).sum())
    return total


def _check_decided(table: ForecastTable, rule: BinaryRule) -> None:
    if rule.changes_between is not None:
        check_decided(table, np.array(rule.changes_between))


def _score_of_table(table: ForecastTable, rule: Rule) -> Score:
    _check_decided(table, binary_rule(rule))
    return Score(
        mean_loss(binary_rule(rule), table.forecast, table.events, table.non_events),
        rule=repr(rule),
        scale=rule.units(),
        n=table.n,
        weight=table.weight,
        dropped=table.dropped,
    )


def _by_class(rule: Rule) -> ClassRule:
    if isinstance(rule, ClassRule):
        return rule
    check_rule(rule)
    raise InputValueError(demands.rule_of_one_event(rule), hint=demands.EVENT_HINT)


def _constant_table(table: ForecastTable, reference: object) -> ForecastTable:
    rate = table.event_rate if reference is None else reference
    if not is_number(rate):
        law = f"the reference of a table must be a rate; got {type(rate).__name__}"
        raise InputTypeError(law, hint="compare with another forecast from predictions.")
    if not 0.0 <= rate <= 1.0:  # type: ignore[operator]  # a number
        raise InputValueError(demands.UNIT, argument="reference", got=rate)
    sums: dict[str, Any] = {name: getattr(table, name).sum(keepdims=True) for name in COLUMNS[1:]}
    return ForecastTable(forecast=np.array([rate], dtype=np.float64), **sums, n=table.n, n_events=table.n_events)


def _reference_cases(cases: Cases, reference: object, y_true: object, y_proba: object, **options: Any) -> Cases:
    """Return the same outcomes with the reference in place of the forecast."""
    (forecast,) = cases.forecasts.values()
    shape = forecast.shape
    rates = observed_rates(cases) if reference is None else read_rates(reference, cases)
    named = {"forecast": "reference"}
    if rates is not None:
        return replace(cases, forecasts={"forecast": np.broadcast_to(rates, shape)}, arguments=named)
    if isinstance(y_true, Cases):
        read = read_beside(cases, reference)
    else:
        read = read_cases(y_true, reference, snapshot=False, **options)
        check_indices(read_forecasts(y_proba), read_forecasts(reference, "reference"))
    other = replace(read, arguments=named)
    own = other.forecasts["forecast"].shape
    if own != shape or not np.array_equal(_rows(other), _rows(cases)):
        law = Wording("must be a rate, one rate per class, or a forecast of the same cases as {y_proba}")
        raise InputValueError(law, argument="reference", offender=f"shapes are {own} and {shape}")
    return other


def _rows(cases: Cases) -> NDArray[np.intp]:
    return np.arange(len(cases)) if cases.rows is None else cases.rows


def observed_rates(cases: Cases) -> Floats:
    """Return the weighted share of events, or of each class."""
    weight = sum(
        np.bincount(np.asarray(outcome, dtype=np.intp), weights=chunk_weight, minlength=cases.classes or 2)
        for _, outcome, chunk_weight in cases.chunks(cases.models[0])
    )
    rates = np.divide(weight, np.sum(weight))
    return rates[1:] if cases.classes is None else rates
