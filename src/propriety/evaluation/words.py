"""An evaluation in plain words."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from propriety.evaluation.evaluation import Evaluation

__all__ = ["calibration_words", "cases_words", "headline_words", "number", "slices_words", "summary"]

SHARE = 0.1  # Of a score; miscalibration below it is little.


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
    said = f"{models} on {evaluation.n:,} cases"
    rates = evaluation.cases.rates
    if evaluation.kind == "binary":
        said += f", {_percent(rates['event'])} of them with the event"
    else:
        grades = "grades" if evaluation.kind == "ordinal" else "classes"
        said += f" of {len(rates)} {grades}"
    dropped = evaluation.dropped
    return said + (f"; {dropped:,} rows with missing values were left out." if dropped else ".")


def headline_words(evaluation: Evaluation) -> str:
    """Say which model is best, by how much the sample tells, and by which measure."""
    question, best = evaluation.problem.headline, evaluation.best
    row = evaluation.scores.at(best, question.key)
    where = ""
    if evaluation.problem.interval is not None:
        low, high = evaluation.problem.interval
        where = f" over the thresholds from {_percent(low)} to {_percent(high)}"
    elif evaluation.thresholds is not None:
        where = f" of {_percent(float(evaluation.thresholds))}"  # type: ignore[arg-type]  # no interval
    lead = f"{best} has" if len(evaluation.models) == 1 else f"{best} has the lowest"
    article = " a" if len(evaluation.models) == 1 else ""
    said = f"{lead}{article} {question.name}{where}, {number(row['estimate'])}"
    if math.isfinite(row["low"]):
        said += f" ({evaluation.level:.0%} interval {number(row['low'])} to {number(row['high'])})"
    return f"{said}; {row['note']}." if row["note"] else f"{said}."


def calibration_words(evaluation: Evaluation) -> Iterator[str]:
    """Say of each model what its score loses to miscalibration, and what of that chance explains."""
    for model, parts in evaluation.decompositions.items():
        if not math.isfinite(parts.score) or parts.score <= 0.0:
            continue
        share = f"{model}: miscalibration is {number(parts.miscalibration)} of a score of {number(parts.score)}"
        if evaluation.kind != "binary":
            yield f"{share}."
            continue
        row = evaluation.scores.at(model, "miscalibration")
        if not math.isfinite(row["low"]):
            yield f"{share}."
        elif row["low"] > 0.0:
            yield f"{share}, more than chance explains ({evaluation.level:.0%} interval {_between(row)} without it)."
        else:
            yield f"{share}, no more than chance explains ({number(row['bias'])} is expected of it)."


def slices_words(evaluation: Evaluation) -> Iterator[str]:
    """Say which groups differ from the rest."""
    found = evaluation.slices
    if found is None:
        return
    few = sorted(set(found.group[~found.is_judged].tolist()))
    apart = found.p_adjusted <= 1.0 - evaluation.level
    if not apart.any():
        yield "No group differs from the rest by more than chance explains."
    for model, group, difference in zip(
        found.model[apart].tolist(), found.group[apart].tolist(), found.difference[apart].tolist(), strict=True
    ):
        more = "higher" if difference > 0.0 else "lower"
        yield f"{model}: the score of {group} is {number(abs(difference))} {more} than that of the rest."
    if few:
        yield f"Too few cases to judge: {', '.join(few)}."


def number(value: float) -> str:
    """Write a number with three digits, as people read it."""
    if not math.isfinite(value):
        return "infinite" if value > 0 else str(value)
    if value == 0.0:
        return "0"
    places = max(2 - math.floor(math.log10(abs(value))), 0)
    return f"{value:.{places}f}" if places <= 6 else f"{value:.2e}"


def _between(row: dict[str, float]) -> str:
    return f"{number(row['low'])} to {number(row['high'])}"


def _percent(share: float) -> str:
    return f"{100.0 * share:.3g}%"
