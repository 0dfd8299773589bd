"""Sections of a report on class probabilities: calibration of each class or cut point, and the table of all of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from propriety import plots
from propriety.evaluation.class_table import ClassTable
from propriety.evaluation.evaluation import Evaluation
from propriety.evaluation.words import calibration_words, drawn_words
from propriety.report import texts
from propriety.report.analysis_calls import call_for_class, call_for_classes, call_for_cut_points
from propriety.report.cells import Estimate, PValue
from propriety.report.figures import figure_of
from propriety.report.page import Figure, Item, Section, Table, Width
from propriety.report.sections import banded, decomposition, shown_names, stacked

__all__ = ["classes"]

MOST_ROWS = 2000  # Rows of the tables of all models together; more would make the page too large.
FEWER = 100


def classes(evaluation: Evaluation) -> Section:
    """Calibration of class probabilities: the events "y is this class", or "y is at most this grade"."""
    ordinal = evaluation.kind == "ordinal"
    what = "at most {}" if ordinal else "{}"
    best, shown = evaluation.best, evaluation.drawn_classes
    width: Width = "third" if len(shown) > 1 else "half"
    items: list[Item] = [_cut_points(evaluation)] if ordinal else []
    items.append(decomposition(evaluation, width if ordinal else "half"))
    items += _tables(evaluation)
    items += [
        banded(
            evaluation.reliability[best][label],
            f"{best}: {what.format(label)}",
            evaluation,
            best,
            width,
            call_for_class(evaluation, best, label),
        )
        for label in shown
    ]
    return Section(
        id="calibration",
        title="Calibration",
        words=(
            *calibration_words(evaluation),
            (texts.CUT_POINTS if ordinal else texts.CLASSES),
            drawn_words(evaluation),
        ),
        items=tuple(items),
    )


def _cut_points(evaluation: Evaluation) -> Figure:
    parts = {name: evaluation.decompositions[model] for model, name in shown_names(evaluation).items()}
    return figure_of(
        lambda figure: plots.plot_cut_point_decompositions(parts, figure=figure),
        title="Parts of the score by cut point",
        caption="Contribution of each cut point to miscalibration and discrimination.",
        table=stacked({name: one.columns() for name, one in parts.items()}),
        call=call_for_cut_points(evaluation),
        size=(9.6, 3.6),
        whole=True,
        width="whole",
    )


def _tables(evaluation: Evaluation) -> Iterator[Table]:
    """Yield the table of the classes of each model, that of the best model first and open."""
    found = evaluation.classes
    assert found is not None  # noqa: S101  (for the type checker; there are classes)
    best = evaluation.best
    events = len(found.of(best))
    for model in (best, *(one for one in evaluation.models if one != best)):
        rows = found.of(model)
        note = texts.CLASS_TABLE
        if model != best and events * len(evaluation.models) > MOST_ROWS:
            rows = rows[:FEWER]
            note = f"{note} {texts.WORST_CLASSES.format(shown=len(rows), events=events)}"
        named = f" of {model}" if len(evaluation.models) > 1 else ""
        yield Table(
            title=f"{'Cut points' if evaluation.kind == 'ordinal' else 'Classes'}{named}",
            columns=_columns(found, rows, ordinal=evaluation.kind == "ordinal"),
            call=call_for_classes(evaluation),
            note=note,
            of_models=(),
            models=(model,),
            folded=model != best,
        )


def _columns(found: ClassTable, rows: Any, *, ordinal: bool) -> dict[str, Any]:
    def column(name: str) -> list[Any]:
        values: list[Any] = getattr(found, name)[rows].tolist()
        return values

    ratio = zip(*(column(f"observed_expected{side}") for side in ("", "_low", "_high")), strict=True)
    said = zip(column("outcome"), column("directions"), strict=True)
    return {
        "at most" if ordinal else "class": column("label"),
        "cases": column("n"),
        "rate": column("rate"),
        "mean forecast": column("mean_forecast"),
        "observed/expected": [Estimate(*one) if np.isfinite(one[1]) else one[0] for one in ratio],
        "slope": column("slope"),
        "miscalibration": column("miscalibration"),
        "AUC": column("auc"),
        "adjusted p-value": [PValue(value) for value in column("p_adjusted")],
        "calibration": [f"{outcome}: {directions}" if directions else outcome for outcome, directions in said],
    }
