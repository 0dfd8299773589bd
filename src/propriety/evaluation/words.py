"""An evaluation in plain words."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from propriety.inference.verdicts import score_in_words

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
    rates = evaluation.cases.rates
    if evaluation.kind == "binary":
        what = "their weight" if evaluation.cases.is_weighted else "them"
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
    said = _leaders(evaluation, row["estimate"])
    if math.isfinite(row["low"]):
        said += f" ({percent(evaluation.level, 6)} interval {_between(row)})"
    return f"{said}; {row['note']}." if row["note"] else f"{said}."


def _leaders(evaluation: Evaluation, best: float) -> str:
    """Name the model with the best headline score, or those that share it."""
    question, scores = evaluation.problem.headline, evaluation.scores
    where = ""
    if evaluation.problem.interval is not None:
        low, high = evaluation.problem.interval
        where = f" over the thresholds from {percent(low)} to {percent(high)}"
    elif evaluation.thresholds is not None:
        where = f" of {percent(float(evaluation.thresholds))}"  # type: ignore[arg-type]  # no interval
    name = f"{question.name}{where}"
    first = scores.model[(scores.measure == question.key) & (scores.estimate == best)].tolist()
    if math.isinf(best):
        everyone = "Every model" if len(evaluation.models) > 1 else evaluation.best
        return f"{everyone} has an infinite {name}"
    if len(first) < 2:
        article = "the lowest" if len(evaluation.models) > 1 else "a"
        return f"{evaluation.best} has {article} {name}, {number(best)}"
    return f"{', '.join(first[:-1])} and {first[-1]} share the lowest {name}, {number(best)}"


def calibration_words(evaluation: Evaluation) -> Iterator[str]:
    """Say of each model what its score loses to miscalibration, and what of that chance explains."""
    for model, parts in evaluation.decompositions.items():
        if not math.isfinite(parts.score) or parts.score <= 0.0:
            continue
        score = f"{score_in_words(parts.rule)} of {number(parts.score)}"
        share = f"{model}: miscalibration is {number(parts.miscalibration)} of a {score}"
        if evaluation.kind != "binary":
            yield f"{share}."
            continue
        row = evaluation.scores.at(model, "miscalibration")
        explains = "would explain if cases were independent" if evaluation.cases.dependence == "times" else "explains"
        if not math.isfinite(row["low"]):
            yield f"{share}."
        elif row["low"] > 0.0:
            level = percent(evaluation.level, 6)
            yield f"{share}, more than chance {explains} ({level} interval {_between(row)} without it)."
        else:
            # Rates of 0 and 1 draw the same outcomes always, which tells nothing of chance.
            expected = f" ({number(row['bias'])} is expected of it)" if row["bias"] > 0.0 else ""
            yield f"{share}, no more than chance {explains}{expected}."


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
        yield f"{model}: the score of {group} is {number(abs(difference))} {more} than that of the rest."
    if evaluation.cases.dependence == "times":
        yield "The tests of groups take neighbours in time for independent."
    # What there is too few of is the same for all models; whether a score is infinite is not.
    few = np.char.startswith(found.note, "too few")
    if few.any():
        units = evaluation.cases.dependence
        what = "cases or events" if units is None else f"cases, events or {units}"
        yield f"Too few {what} to judge: {', '.join(dict.fromkeys(found.group[few].tolist()))}."
    for model in evaluation.models:
        infinite = found.group[(found.model == model) & np.isinf(found.score) & ~few].tolist()
        if infinite:
            yield f"{model}: the score is infinite in {', '.join(infinite)}."


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
