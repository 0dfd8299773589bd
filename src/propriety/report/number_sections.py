"""Sections of a report with numbers: scores, comparison of models and means of probabilities."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from propriety import plots
from propriety.evaluation.evaluation import Evaluation
from propriety.evaluation.problem import Problem
from propriety.inference.comparison_words import caveats_of_pairs, comparison_words, merit_of, short_words
from propriety.inference.finding import Findings
from propriety.inference.measures.measure import Measure
from propriety.inference.measures.of_means import MeanScore, Skill
from propriety.number_words import capitalized, listed, percent
from propriety.report import readings, texts
from propriety.report.analysis_calls import call_for_each
from propriety.report.cells import PValue, estimates_of
from propriety.report.figures import figure_of
from propriety.report.labels import findings_with_short_names
from propriety.report.page import Figure, Section, Table, Width

AT_THRESHOLDS, SCORES, CALIBRATION, PARTS, MORE = (
    "At your thresholds",
    "Overall",
    "Calibration measures",
    "Decomposition and ranking",
    "Further measures",
)


GEOMETRIC_MEAN = "geometric mean"


def scores(evaluation: Evaluation) -> Section:
    """Every measure of every model, with its interval; a few measures per table."""
    problem = evaluation.problem
    words = texts.SCORES.format(headline=problem.headline.label, level=percent(evaluation.level, 6))
    return Section(
        id="scores",
        title="Scores",
        words=(f"{words} {texts.merits_words(problem.measures)}", *_notes(evaluation)),
        items=tuple(_scores(evaluation, title, measures) for title, measures in _parts(problem).items() if measures),
    )


def comparison(evaluation: Evaluation, found: Findings) -> Section:
    """Models compared in pairs, and ranked."""
    pairs, measure = found.differences, evaluation.problem.headline
    columns: dict[str, Any] = {
        "model": pairs.model.tolist(),
        "against": pairs.against.tolist(),
        "difference": estimates_of(pairs.value, pairs.low, pairs.high),
        "adjusted p-value": [PValue(value) for value in pairs.p_adjusted.tolist()],
        "verdict": [short_words(row, row.model, str(row.against)) for row in pairs],
    }
    call = evaluation.call("compare", measure=measure)
    note = texts.DIFFERENCES.format(sign="positive" if measure.higher_is_better else "negative")
    return Section(
        id="comparison",
        title="Comparison",
        words=tuple(comparison_words(found)),
        items=(
            Table(
                title="Paired differences",
                columns=columns,
                call=call,
                of_models=("model", "against"),
                note=" ".join([note, *caveats_of_pairs(found)]),
            ),
            *_pictures(evaluation, found, columns, call),
        ),
    )


def means(evaluation: Evaluation) -> Section:
    """Means of the probability given to what happened."""
    found = evaluation.probability_means
    columns: dict[str, Any] = {
        "model": list(found),
        "arithmetic mean": [one.decisiveness for one in found.values()],
        GEOMETRIC_MEAN: [one.accuracy for one in found.values()],
        "\N{MINUS SIGN}2/3 mean": [one.robustness for one in found.values()],
        "divergence": [math.nan if one.divergence is None else float(one.divergence[1]) for one in found.values()],
        "angle, degrees": [math.nan if one.angle is None else round(one.angle, 1) for one in found.values()],
    }
    return Section(
        id="means",
        title="Means of probabilities",
        words=(texts.MEANS,),
        items=(
            Table(
                title="Means of the probability given to what happened",
                columns=columns,
                call=call_for_each("probability_means", evaluation),
                best=dict.fromkeys((GEOMETRIC_MEAN, "divergence"), "highest"),
            ),
        ),
    )


def _parts(problem: Problem) -> dict[str, list[Measure]]:
    """Return the measures of each table; every measure of the problem is in one of them."""
    parts: dict[str, list[Measure]] = {title: [] for title in (AT_THRESHOLDS, SCORES, CALIBRATION, PARTS, MORE)}
    further = {measure.key for measure in problem.more}
    for measure in problem.measures:
        if measure.key in further:
            parts[MORE].append(measure)
        elif measure.key in problem.at_thresholds:
            parts[AT_THRESHOLDS].append(measure)
        elif isinstance(measure, MeanScore | Skill):
            parts[SCORES].append(measure)
        else:
            parts[CALIBRATION if measure.ideal is not None else PARTS].append(measure)
    return parts


def _scores(evaluation: Evaluation, title: str, measures: list[Measure]) -> Table:
    """Return a table of some measures of all models, with the best value in bold where higher or lower is better."""
    found = evaluation.scores
    columns: dict[str, Any] = {"model": list(evaluation.models)}
    best: dict[str, str] = {}
    for measure in measures:
        # Keys are unique; the labels of users' own measures need not be.
        name = f"{measure.label} ({measure.key})" if measure.label in columns else measure.label
        own = found.measure == measure.key
        columns[name] = estimates_of(found.value[own], found.low[own], found.high[own])
        if np.isfinite(found.raw[own]).any():
            columns[f"{name} in the sample"] = found.raw[own].tolist()
        if (merit := merit_of(measure)) is not None:
            best[name] = f"{merit[:-2]}est"
    calls = [str(found.call[found.measure == measure.key][0]) for measure in measures]
    notes = {PARTS: texts.PARTS, CALIBRATION: texts.IDEALS}
    return Table(title=title, columns=columns, call="\n".join(calls), best=best, note=notes.get(title, ""))


def _notes(evaluation: Evaluation) -> Iterator[str]:
    """Yield the notes of the estimates, with the measures and models they concern unless they concern all."""
    found = evaluation.scores
    for note in dict.fromkeys(filter(None, found.note.tolist())):
        own = found.note == note
        labels, models = (list(dict.fromkeys(names[own].tolist())) for names in (found.label, found.model))
        about = "" if set(labels) == set(found.label.tolist()) else listed(labels)
        about += "" if len(models) == len(evaluation.models) else f"{' ' if about else ''}of {listed(models)}"
        yield f"Note: {note} ({about})." if about else f"Note: {note}."


def _pictures(evaluation: Evaluation, found: Findings, columns: dict[str, Any], call: str) -> tuple[Figure, Figure]:
    """Draw the paired differences and the ranks of the models."""
    pictured, ranked = findings_with_short_names(found, evaluation.models), found.ranks()
    pairs, models = len(found.differences), len(evaluation.models)
    label = evaluation.problem.headline.label
    # Long names and many models need a whole row of the page.
    wide = models > 3 or max(map(len, pictured.model)) > 10
    across = 9.0 if wide else 6.0
    width: Width = "whole" if wide else "half"
    return (
        figure_of(
            lambda ax: plots.draw(pictured, ax),
            title="Differences",
            caption=f"Difference in {label} between the models of each pair, with its confidence interval.",
            table=columns | {"difference": found.differences.value.tolist()},
            call=f"{call}.plot()",
            size=(across, 1.2 + 0.42 * pairs),
            width=width,
            reading=readings.DIFFERENCES,
        ),
        figure_of(
            lambda ax: plots.draw(pictured.ranks(), ax),
            title="Ranks",
            caption=f"{capitalized(label)} of each model with its confidence interval, and the ranks that the tests do "
            "not exclude.",
            table={"model": ranked.model.tolist(), label: ranked.value.tolist()},
            call=f"{call}.ranks().plot()",
            size=(across, 1.2 + 0.42 * (models if wide else max(models, pairs))),
            width=width,
            reading=readings.RANKS,
        ),
    )
