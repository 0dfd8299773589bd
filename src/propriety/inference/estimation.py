"""`estimate`: a measure of forecasts with confidence limits, by formula if a valid one is known, else by bootstrap."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import replace
from typing import Literal, TypeAlias, get_args, overload

from numpy.typing import ArrayLike

from propriety import checks, demands
from propriety.checks import check_level, check_resamples, fresh_seed
from propriety.errors import UNDEFINED, InputValueError
from propriety.inference.answers_ledger import answers_of_one, as_measured
from propriety.inference.bootstrap import Drawing
from propriety.inference.bootstrap_estimates import estimate_by_bootstrap
from propriety.inference.estimates import KNOWN_WEIGHTS, estimated_facts, some
from propriety.inference.finding import Finding, Findings
from propriety.inference.influence import estimate_from_influence
from propriety.inference.mean_estimates import estimate_from_moments
from propriety.inference.measures.measure import Measure
from propriety.inference.measures.reading import AnyMeasure, read_measure
from propriety.inference.notes import Note
from propriety.inference.outcome_counts import judged
from propriety.ledger.ledger import Ledger
from propriety.ledger.sources import Data, open_ledger
from propriety.rules.families import BRIER
from propriety.tables.cases import Cases
from propriety.tables.labels import Labels
from propriety.tables.lazy_cases import LazyCases
from propriety.tables.reading import refuse_time
from propriety.tables.validation import Forecasts, Missing

EstimateMethod: TypeAlias = Literal["auto", "analytic", "student", "bootstrap"]


@overload
def estimate(
    y_true: Data,
    forecasts: Forecasts | None = ...,
    measure: AnyMeasure = ...,
    *,
    outcome: str | None = ...,
    method: EstimateMethod = ...,
    level: float = ...,
    cluster: ArrayLike | None = ...,
    period: ArrayLike | None = ...,
    n_resamples: int = ...,
    seed: int | None = ...,
    workers: int = ...,
    progress: bool = ...,
    sample_weight: ArrayLike | None = ...,
    pos_label: Hashable | None = ...,
    labels: Labels | None = ...,
    missing: Missing = ...,
    time: None = ...,
) -> Finding: ...


@overload
def estimate(
    y_true: Data,
    forecasts: Forecasts | None = ...,
    measure: list[AnyMeasure] | tuple[AnyMeasure, ...] = ...,
    *,
    outcome: str | None = ...,
    method: EstimateMethod = ...,
    level: float = ...,
    cluster: ArrayLike | None = ...,
    period: ArrayLike | None = ...,
    n_resamples: int = ...,
    seed: int | None = ...,
    workers: int = ...,
    progress: bool = ...,
    sample_weight: ArrayLike | None = ...,
    pos_label: Hashable | None = ...,
    labels: Labels | None = ...,
    missing: Missing = ...,
    time: None = ...,
) -> Findings: ...


def estimate(  # noqa: PLR0913  (the data, what is estimated, and how it is drawn)
    y_true: Data,
    forecasts: Forecasts | None = None,
    measure: AnyMeasure | list[AnyMeasure] | tuple[AnyMeasure, ...] = BRIER,
    *,
    outcome: str | None = None,
    method: EstimateMethod = "auto",
    level: float = 0.95,
    cluster: ArrayLike | None = None,
    period: ArrayLike | None = None,
    n_resamples: int = 1000,
    seed: int | None = None,
    workers: int = 1,
    progress: bool = False,
    sample_weight: ArrayLike | None = None,
    pos_label: Hashable | None = None,
    labels: Labels | None = None,
    missing: Missing = "raise",
    time: None = None,
) -> Finding | Findings:
    r"""Estimate a measure of forecasts with a confidence interval.

    ``method="auto"`` uses a formula if a valid one is known. A mean score has Student's t with the standard error
    :math:`\frac{1}{W} \sqrt{\frac{n}{n - 1} \sum_i w_i^2 (l_i - \bar l)^2}`, and the interval also contains the limits
    of outcomes that the forecasts foresee and the sample may lack, such as a few costly misses. Clusters and periods
    are allowed for as in `propriety.compare`. Skill, the area under the ROC curve, observed/expected and other smooth
    measures have the same with their influence instead of the loss. Miscalibration and discrimination are corrected for
    the noise that recalibration fits; `raw` is their value before that. All other measures have the percentile interval
    of draws with replacement.

    Parameters
    ----------
    y_true, outcome, cluster, period, sample_weight, pos_label, labels, missing, time
        The cases, or what describes them; see `propriety.cases`. A ledger replaces all data.
    forecasts : array-like of shape (n,) or (n, K), or str
        Probability of the event, or of each class. With a frame, the name of its column; with cases or a ledger, the
        name of the model, unless there is only one.
    measure : Rule, measure, key or callable, or list of them
        What to estimate: a rule for its mean score, a measure or its key, or any function of a ForecastTable. A list
        gives a table of rows for each model.
    method : {"auto", "analytic", "student", "bootstrap"}
        A formula if there is one; only a formula; the same without imagined outcomes, as in textbooks; or draws.
    level : float
        Confidence level of the interval.
    n_resamples, seed : int, optional
        Number and seed of the draws; without a seed, a new one is drawn and stored in the result. Percentiles need at
        least :math:`2 / (1 - \text{level}) - 1` draws.
    workers : int
        Number of threads; the result does not depend on it.
    progress : bool
        Whether to show a progress bar.

    Notes
    -----
    Intervals may be too narrow if they rest on few events, non-events, clusters or periods; a note says so. Intervals
    of miscalibration and discrimination assume that the event rate is a smooth function of the forecast. Their
    bootstrap, and that of the integrated calibration index, is not valid, because draws are recalibrated to their own
    noise. Formulas, minimum numbers and simulations: `docs/reference/methods.md`.

    References
    ----------
    Efron & Tibshirani (1993), doi:10.1201/9780429246593; Cameron & Miller (2015), doi:10.3368/jhr.50.2.317, for
    clusters; DeLong, DeLong & Clarke-Pearson (1988), doi:10.2307/2531595.

    Examples
    --------
    >>> import propriety as pr
    >>> y, p = [0, 1, 0, 1, 1] * 20, [0.1, 0.3, 0.5, 0.7, 0.9] * 20
    >>> found = estimate(y, p, pr.Brier())
    >>> round(found.low, 3), round(found.value, 3), round(found.high, 3), found.method
    (0.133, 0.17, 0.215, "Student's t, with imagined outcomes")
    >>> estimate(y, p, lambda table: table.event_rate, seed=1).method
    'percentile bootstrap of table cells'
    """
    several = isinstance(measure, list | tuple)
    asked = [read_measure(own) for own in (measure if isinstance(measure, list | tuple) else [measure])]
    check_level(level)
    check_resamples(n_resamples)
    checks.whole(workers, "workers", least=1)
    checks.choice(method, "method", get_args(EstimateMethod))
    refuse_time(time)
    named = isinstance(y_true, Ledger | Cases | LazyCases)
    model = forecasts if named else None
    ledger = open_ledger(
        y_true,
        None if named else forecasts,
        outcome=outcome,
        cluster=cluster,
        period=period,
        sample_weight=sample_weight,
        pos_label=pos_label,
        labels=labels,
        missing=missing,
        by_model=True,
    )
    drawing = Drawing(n_resamples, fresh_seed(seed), workers, progress)
    rows = []
    for name in ledger.models if several and model is None else (model,):
        for own_measure in asked:
            own, read = answers_of_one(ledger, name, own_measure)  # type: ignore[arg-type]  # a name
            row = estimate_of(own, read, model=name, method=method, level=level, drawing=drawing)  # type: ignore[arg-type]  # a name
            rows.append(judged(own, row))
    if several:
        return Findings.of(rows, dropped=ledger.dropped)
    missed = (Note("dropped", {"rows": ledger.dropped}),) if ledger.dropped else ()
    return replace(rows[0], notes=(*rows[0].notes, *missed))


def estimate_of(
    ledger: Ledger,
    measure: Measure,
    *,
    model: str | None = None,
    method: EstimateMethod = "auto",
    level: float = 0.95,
    drawing: Drawing,
) -> Finding:
    """Estimate a measure of a model from a ledger; see `estimate`."""
    name = ledger.one_model(model)
    ledger = as_measured(ledger, measure, name)
    check_event(ledger, measure)
    by_formula, imagine = measure.has_formula(ledger.classes), method != "student"
    if method in ("analytic", "student") and not by_formula:
        raise InputValueError(f"there is no formula for {measure.label}", hint='use method="bootstrap".')
    if method == "bootstrap" or not by_formula:
        check_event(ledger, measure, drawn=True)
        return _with_known_weights(ledger, estimate_by_bootstrap(ledger, name, measure, level, drawing))
    if measure.has_own_limits:
        return _with_known_weights(ledger, measure.own_estimate(ledger, name, level=level, drawing=drawing))
    if measure.has_moments and ledger.uses_moments:
        return _with_known_weights(ledger, estimate_from_moments(ledger, name, measure, level, imagine=imagine))
    found = estimate_from_influence(ledger, name, measure, level, imagine=imagine)
    return replace(found, notes=(*some(measure.left_out(ledger.table(name))), *found.notes))


def _with_known_weights(ledger: Ledger, found: Finding) -> Finding:
    """Say that an interval treats estimated censoring weights as known."""
    if ledger.censoring is None or not ledger.censoring.is_estimated or math.isnan(found.low):
        return found
    return replace(found, method=f"{found.method}, {KNOWN_WEIGHTS}")


def estimate_or_note(ledger: Ledger, model: str, measure: Measure, *, level: float = 0.95, drawing: Drawing) -> Finding:
    """Estimate a measure; if the sample has no value, or its draws no interval, return the reason instead."""
    try:
        return estimate_of(ledger, measure, model=model, level=level, drawing=drawing)
    except UNDEFINED as error:
        note = Note("undefined", {"why": str(error).rstrip(".")})
        facts = estimated_facts(ledger, model, measure, level)
        return Finding(**facts, value=_value(ledger, model, measure), notes=(note,))


def _value(ledger: Ledger, model: str, measure: Measure) -> float:
    """Return the value of a measure without an interval; NaN if it is undefined."""
    try:
        known = as_measured(ledger, measure, model)
        return measure.value(known.table(model)) if known.labels is None else math.nan
    except UNDEFINED:
        return math.nan


def check_event(ledger: Ledger, measure: Measure, *, drawn: bool = False) -> None:
    """Raise an error for a measure of one event with class probabilities; the skill of classes has no bootstrap."""
    of_classes = measure.sign is not None if drawn else measure.takes_classes
    if ledger.labels is not None and not of_classes:
        law = f"{measure.label} needs the forecast of one event; the forecasts are rows of {len(ledger.labels)} classes"
        raise InputValueError(law, hint=demands.EVENT_HINT)
