"""Sections of a report on class probabilities: calibration of each class or cut point, and the table of all of them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from propriety import plots
from propriety.evaluation.class_table import EvaluatedClasses
from propriety.evaluation.evaluation import Evaluation
from propriety.evaluation.words import calibration_sentences, drawn_words
from propriety.inference.calibration_words import direction_words
from propriety.inference.group_findings import TOP_LABEL
from propriety.number_words import counted, p_value_words, ratio_and_limits
from propriety.report import readings, texts
from propriety.report.analysis_calls import (
    call_for_class,
    call_for_classes,
    call_for_cut_points,
    call_for_evaluation,
    call_for_top,
)
from propriety.report.cells import Estimate, PValue
from propriety.report.figures import figure_of
from propriety.report.page import Figure, Item, Section, Table, Width
from propriety.report.sections import band_words, banded, decomposition, shown_names, stacked

MOST_ROWS = 2000  # Rows of the tables of all models together; more would make the page too large.
FEWER = 100
MOST_CELLS = 20  # Classes of which the confusion matrix is drawn.
CONFUSED = {
    "label": "class",
    "predicted": "most likely class",
    "count": "cases",
    "share": "share of the class",
    "expected": "expected cases",
}


def classes(evaluation: Evaluation) -> Section:
    """Calibration of class probabilities: the events "y is this class", or "y is at most this grade"."""
    ordinal = evaluation.kind == "ordinal"
    what = "at most {}" if ordinal else "class {}"
    best, shown = evaluation.best, evaluation.drawn_classes
    width: Width = "third" if len(shown) > 1 else "half"
    items: list[Item] = [_cut_points(evaluation)] if ordinal else []
    items += [_top(evaluation)] if evaluation.top_reliability and not ordinal else []
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
            caption=_class_words(evaluation, label),
        )
        for label in shown
    ]
    return Section(
        id="calibration",
        title="Calibration",
        words=(
            *calibration_sentences(evaluation),
            (texts.CUT_POINTS if ordinal else texts.CLASSES),
            drawn_words(evaluation),
            band_words(evaluation),
        ),
        items=tuple(items),
    )


def confusion(evaluation: Evaluation) -> Section:
    """Which classes are taken for which: the confusion matrix, or the most confused pairs of many classes."""
    items: list[Item] = []
    several = len(evaluation.models) > 1
    for model, found in evaluation.confusion.items():
        call = f"{call_for_evaluation(evaluation)}.confusion[{model!r}]"
        named = f" of {model}" if several else ""
        if len(found.labels) <= MOST_CELLS:
            items.append(
                figure_of(
                    lambda ax, found=found: plots.draw(found, ax),  # type: ignore[misc]  # bound now
                    title=f"Confusion matrix{named}",
                    caption=texts.CONFUSION,
                    table=found.columns(),
                    call=f"{call}.plot()",
                    size=(4.8, 4.6),
                    of_models=(model,),
                    reading=readings.CONFUSION,
                )
            )
        pairs = {CONFUSED[name]: column.tolist() for name, column in found.most_confused().items()}
        if all(float(count).is_integer() for count in pairs["cases"]):
            pairs["cases"] = [int(count) for count in pairs["cases"]]
        if pairs["class"]:
            items.append(
                Table(
                    title=f"Most confused pairs{named}",
                    columns=pairs,
                    call=f"{call}.most_confused()",
                    note=texts.CONFUSED,
                    of_models=(),
                    models=(model,),
                    folded=several and model != evaluation.best,
                )
            )
    return Section(id="confusion", title="Confusion", words=(texts.ANSWERS,), items=tuple(items))


def _top(evaluation: Evaluation) -> Figure:
    """Draw how often the most likely class happened against its probability."""
    curves = {name: evaluation.top_reliability[model] for model, name in shown_names(evaluation).items()}
    found = {
        key: evaluation.calibration.where(measure=key, statistic=TOP_LABEL)
        for key in ("observed_expected", "calibration_slope", "miscalibration")
    }
    return figure_of(
        partial(plots.plot_curves, curves),
        title="Reliability of the most likely class",
        caption=texts.TOP,
        table={
            "model": list(curves),
            "happened": [one.extra["event_rate"] for one in found["observed_expected"]],
            "mean probability": [one.extra["mean_forecast"] for one in found["observed_expected"]],
            "observed/expected": [_estimate(one) for one in found["observed_expected"]],
            "slope": [_estimate(one) for one in found["calibration_slope"]],
            "miscalibration": [_estimate(one) for one in found["miscalibration"]],
        },
        call=call_for_top(evaluation),
        models=list(curves),
        size=(4.6, 4.6),
        reading=readings.TOP,
    )


def _estimate(found: Any) -> Any:
    return Estimate(found.value, found.low, found.high) if np.isfinite(found.low) else found.value


def _class_words(evaluation: Evaluation, label: Any) -> str:
    """Return what the table says of a class of the best model."""
    found = evaluation.classes
    assert found is not None  # noqa: S101  (for the type checker; there are classes)
    rows = found.of(evaluation.best)
    (row,) = rows[found.place[rows] == list(evaluation.tables[evaluation.best]).index(label)].tolist()
    numbers = [float(getattr(found, f"observed_expected{side}")[row]) for side in ("", "_low", "_high")]
    ratio, low, high = ratio_and_limits(*numbers)
    limits = f" ({low} to {high})" if np.isfinite(numbers[1]) else ""
    said = f"{counted(int(found.n[row]), 'case')}; observed/expected {ratio}{limits}"
    verdict, directions = str(found.verdict[row]), found.directions[row]
    if verdict != "not tested":
        said += f"; adjusted {p_value_words(float(found.p_adjusted[row]))}"
    return f"{said}: {', '.join([verdict, *direction_words(directions)])}."


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
        reading=readings.CUT_POINTS,
    )


def _tables(evaluation: Evaluation) -> Iterator[Table]:
    """Yield the table of the classes of each model, that of the best model first and open."""
    found = evaluation.classes
    assert found is not None  # noqa: S101  (for the type checker; there are classes)
    best = evaluation.best
    events = len(found.of(best))
    for model in (best, *(one for one in evaluation.models if one != best)):
        rows = found.of(model)
        note = (
            texts.CLASS_TABLE
            if evaluation.kind == "ordinal"
            else f"{texts.CLASS_TABLE} {texts.SHARED_LEVEL.format(alpha=round(1.0 - evaluation.level, 9))}"
        )
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


def _columns(found: EvaluatedClasses, rows: Any, *, ordinal: bool) -> dict[str, Any]:
    def column(name: str) -> list[Any]:
        return getattr(found, name)[rows].tolist()

    ratio = zip(*(column(f"observed_expected{side}") for side in ("", "_low", "_high")), strict=True)
    said = zip(column("verdict"), map(direction_words, column("directions")), strict=True)
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
        "calibration": [f"{verdict}: {', '.join(ways)}" if ways else verdict for verdict, ways in said],
    }
