"""An evaluation in plain words."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from propriety.calibration.summary import Estimate
from propriety.evaluation.calibration_verdict import FEWEST
from propriety.tables.forecast_table import ForecastTable

if TYPE_CHECKING:
    from propriety.evaluation.evaluation import Evaluation

__all__ = ["calibration_words", "cases_words", "headline_words", "number", "percent", "slices_words", "summary"]


def summary(evaluation: Evaluation) -> Iterator[str]:
    """Yield the most important, a sentence or two each."""
    yield cases_words(evaluation)
    yield headline_words(evaluation)
    if evaluation.comparison is not None:
        yield evaluation.comparison.summary()
    yield from calibration_words(evaluation)
    yield from slices_words(evaluation)


def cases_words(evaluation: Evaluation) -> str:
    """Say what was evaluated."""
    several = len(evaluation.models)
    models = "One model" if several == 1 else f"{several} models"
    said = f"{models} on {_counted(evaluation.n, 'case')}"
    rates = evaluation.rates
    if evaluation.kind == "binary":
        what = "their weight" if evaluation.is_weighted else "them"
        said += f", {percent(rates['event'])} of {what} with the event"
    else:
        grades = "grades" if evaluation.kind == "ordinal" else "classes"
        said += f" of {len(rates)} {grades}"
    dropped = evaluation.dropped
    left_out = f"; {_counted(dropped, 'row')} with missing values {'was' if dropped == 1 else 'were'} left out"
    return f"{said}{left_out}." if dropped else f"{said}."


def headline_words(evaluation: Evaluation) -> str:
    """Say which model is best, by how much the sample tells, and by which measure."""
    row = evaluation.scores.at(evaluation.best, evaluation.problem.headline.key)
    said = _leaders(evaluation, row["value"])
    if math.isfinite(row["low"]):
        said += f" ({percent(evaluation.level, 6)} interval {_between(row)})"
    return f"{said}; {row['note']}." if row["note"] else f"{said}."


def _leaders(evaluation: Evaluation, best: float) -> str:
    """Name the model with the best headline score, or those that share it."""
    headline, scores = evaluation.problem.headline, evaluation.scores
    where = ""
    if evaluation.problem.interval is not None:
        low, high = evaluation.problem.interval
        where = f" over the thresholds from {percent(low)} to {percent(high)}"
    name = f"{headline.label}{where}"
    first = scores.model[(scores.measure == headline.key) & (scores.value == best)].tolist()
    if math.isinf(best):
        everyone = "Every model" if len(evaluation.models) > 1 else evaluation.best
        return f"{everyone} has an infinite {name}"
    if len(first) < 2:
        article = "the lowest" if len(evaluation.models) > 1 else "a"
        return f"{evaluation.best} has {article} {name}, {number(best)}"
    return f"{', '.join(first[:-1])} and {first[-1]} share the lowest {name}, {number(best)}"


def calibration_words(evaluation: Evaluation) -> Iterator[str]:
    """Say of each model whether it is miscalibrated, and how; of classes, what its score loses to miscalibration.

    The verdict on binary forecasts is that of `calibration_verdict`; tables of more than 50,000 rows and weighted
    tables are judged by Cox's test alone.
    """
    for model, parts in evaluation.decompositions.items():
        if not math.isfinite(parts.score) or parts.score <= 0.0:
            continue
        score = f"{parts.rule.label} of {number(parts.score)}"
        if evaluation.kind != "binary":
            yield f"{model}: miscalibration is {number(parts.miscalibration)} of a {score}."
            continue
        said = _verdict_words(evaluation, model)
        if evaluation.calibration_verdicts[model].outcome in {"refuted", "miscalibrated"}:
            share = number(parts.miscalibration)
            said += f" Its miscalibration, sampling noise included, is {share} of a {score}."
        yield said


def _verdict_words(evaluation: Evaluation, model: str) -> str:
    """Say what the tests of calibration found in the forecasts of one model."""
    verdict = evaluation.calibration_verdicts[model]
    table = evaluation.tables[model]["event"]
    if verdict.outcome == "refuted":
        wrong = verdict.cox.n_refuted
        many = "forecasts" if table.is_weighted else _counted(round(wrong), "forecast")
        return f"{model} is refuted: {many} of exactly 0 or 1 did not come true."
    ratio = _estimate_words("observed/expected", verdict.observed_expected)
    slope = _estimate_words("slope", verdict.slope)
    evidence = "; ".join(filter(None, (ratio, slope)))
    tested = ", ".join((_p_value(verdict.p_value), *_assumptions(evaluation, table)))
    if verdict.outcome != "miscalibrated":
        found = "no evidence of miscalibration"
        if verdict.outcome == "too few events":
            found = f"too few {_scarce(table)} to tell whether it is calibrated"
        return f"{model}: {found} ({'; '.join(filter(None, (tested, evidence)))})."
    wrong_ways = [
        f"{direction} ({estimate})"
        for direction, estimate in ((verdict.level_is_off, ratio), (verdict.slope_is_off, slope))
        if direction is not None
    ]
    if wrong_ways:
        found = f"its forecasts are {' and '.join(wrong_ways)}"
    elif verdict.shape_is_off:
        found = f"the shape of its reliability curve is off ({evidence})"
    else:
        found = f"level and slope of its forecasts are off together ({evidence})"
    return f"{model} is miscalibrated ({tested}): {found}."


def _assumptions(evaluation: Evaluation, table: ForecastTable) -> Iterator[str]:
    """Say what the tests of calibration assume that may not hold here."""
    if table.is_weighted:
        yield f"as if these were {table.effective_n:,.0f} independent cases of equal weight"
    elif evaluation.dependence is not None:
        yield "as if cases were independent"
    if table.cells is not None:
        yield f"with forecasts rounded to {table.cells:,} cells"


def _scarce(table: ForecastTable) -> str:
    """Name what there is too little of to test calibration."""
    events, non_events = float(table.events.sum()), float(table.non_events.sum())
    if not table.is_weighted and min(events, non_events) >= 2.0 * FEWEST:
        return "forecasts away from 0 and 1"
    return "events" if events <= non_events else "non-events"


def _p_value(p: float) -> str:
    """Write a p-value with two digits.

    Examples
    --------
    >>> _p_value(0.0002), _p_value(0.0123), _p_value(0.344), _p_value(1.0)
    ('p < 0.001', 'p = 0.012', 'p = 0.34', 'p = 1')
    """
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}"


def _estimate_words(name: str, estimate: Estimate) -> str:
    """Write an estimate with its interval; nothing where there is none."""
    value, low, high = estimate
    if value is None:
        return ""
    limits = "" if low is None or high is None else f", {_hundredths(low)} to {_hundredths(high)}"
    return f"{name} {_hundredths(value)}{limits}"


def _hundredths(value: float) -> str:
    """Write a number with two decimals, or with three digits where these would not show it."""
    return f"{value:.2f}" if value == 0.0 or 0.1 <= abs(value) < 1000.0 else number(value)


def slices_words(evaluation: Evaluation) -> Iterator[str]:
    """Say which groups differ from the rest."""
    found = evaluation.slices
    if found is None:
        return
    apart = found.p_adjusted <= 1.0 - evaluation.level
    if not np.isfinite(found.p_adjusted).any():
        yield "No group could be tested."
    elif not apart.any():
        yield "No group differs from the rest by more than chance explains."
    for model, group, difference in zip(
        found.model[apart].tolist(), found.group[apart].tolist(), found.difference[apart].tolist(), strict=True
    ):
        more = "higher" if difference > 0.0 else "lower"
        what = f"{found.measure.label} of {group}"
        yield f"{model}: the {what} is {number(abs(difference))} {more} than that of the rest."
    if evaluation.dependence == "times":
        yield "The tests of groups take neighbours in time for independent."
    # What there is too few of is the same for all models; whether a score is infinite is not.
    few = np.char.startswith(found.note, "too few")
    if few.any():
        units = evaluation.dependence
        what = "cases or events" if units is None else f"cases, events or {units}"
        yield f"Too few {what} to judge: {', '.join(dict.fromkeys(found.group[few].tolist()))}."
    for model in evaluation.models:
        infinite = found.group[(found.model == model) & np.isinf(found.value) & ~few].tolist()
        if infinite:
            yield f"{model}: the {found.measure.label} is infinite in {', '.join(infinite)}."


def number(value: float) -> str:
    """Write a number with three digits, as people read it."""
    if not math.isfinite(value):
        return "infinite" if value > 0 else str(value)
    if value == 0.0:
        return "0"
    places = max(2 - math.floor(math.log10(abs(value))), 0)
    return f"{value:.{places}f}" if places <= 6 else f"{value:.2e}"


def percent(share: float, digits: int = 3) -> str:
    """Write a share as a percentage, with so many digits or as many as tell it from 100%.

    Examples
    --------
    >>> percent(0.95), percent(0.9995), percent(0.0625), percent(0.12346)
    ('95%', '99.95%', '6.25%', '12.3%')
    """
    while digits < 15 and f"{100.0 * share:.{digits}g}" == "100" and share < 1.0:
        digits += 1
    return f"{100.0 * share:.{digits}g}%"


def _between(row: dict[str, Any]) -> str:
    return f"{number(row['low'])} to {number(row['high'])}"


def _counted(many: int, noun: str) -> str:
    return f"{many:,} {noun}" + "s" * (many != 1)
