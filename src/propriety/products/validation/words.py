"""Internal validation in plain words: corrected values, how new cases were imitated, and learners compared."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from propriety.inference.comparison_words import comparison_words
from propriety.inference.finding import Finding, Findings
from propriety.inference.finding_words import note_words
from propriety.number_words import capitalized, counted, number, percent
from propriety.products.validation.validate import Validation


def validation_words(found: Validation) -> Iterator[str]:
    """Yield a sentence for each learner and measure, how new cases were imitated with all notes, and comparisons."""
    corrected = list(found.corrected)
    several = len({row.model for row in corrected}) > 1
    for row, apparent, optimism in zip(corrected, found.apparent, found.optimism, strict=True):
        name = capitalized(row.measure.label) + (f" of {row.model}" if several else "")
        if math.isnan(row.value):
            known = "" if math.isnan(apparent.value) else f" (apparent {number(apparent.value)})"
            yield f"{name}: undefined{known}."
            continue
        limits = f", {percent(row.level)} CI {number(row.low)} to {number(row.high)}" if row.has_limits else ""
        beside = f"apparent {number(apparent.value)}, optimism {number(optimism.value)}"
        yield f"{name}: {number(row.value)}{limits} ({beside})."
    yield " ".join([f"{_imitation(found, corrected[0].n)}.", *_notes(corrected)])
    compared: list[str] = []
    for key in dict.fromkeys(row.measure.key for row in found.differences):
        own = found.where(measure=key)
        values = [replace(row, statistic="value") for row in own.where(statistic="corrected")]
        compared += comparison_words(Findings.of([*values, *own.differences]))
    yield from reversed(dict.fromkeys(reversed(compared)))  # What is said of all measures comes last, once.


def _imitation(found: Validation, n: int) -> str:
    """Say how new cases were imitated."""
    cases = counted(n, "case")
    if found.imitation == "bootstrap":
        return f"Corrected for optimism by {counted(found.n_resamples or 0, 'bootstrap sample')} of {cases}"
    if found.imitation == "leave-one-site-out":
        return f"Each of {found.n_folds} sites forecast by a model fitted to the others, {cases}"
    again = f", repeated {found.n_repeats} times" if (found.n_repeats or 1) > 1 else ""
    return f"{found.n_folds}-fold cross-validation{again}, {cases}"


def _notes(rows: Sequence[Finding]) -> Iterator[str]:
    """Yield each note once, with what it is about unless it is about all."""
    about: dict[str, list[Finding]] = {}
    for row in rows:
        for note in row.notes:
            about.setdefault(note_words(note), []).append(row)
    models = len({row.model for row in rows})
    for words, own in about.items():
        labels: dict[str, list[str]] = {}
        for row in own:
            labels.setdefault(row.measure.label, []).append(row.model)
        names = [label if len(of) == models else f"{label} of {' and '.join(of)}" for label, of in labels.items()]
        yield f"{capitalized(words)}" + (f" ({', '.join(names)})." if len(own) < len(rows) else ".")
