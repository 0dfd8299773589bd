"""The numbers that the call beside a figure or a table gives: lines of numbers that belong together, by model."""

import numpy as np
from sliced import Sliced

from propriety.inference.finding import Finding, Findings
from propriety.report.abstention import COVERAGES
from propriety.report.cells import Estimate
from propriety.report.decision_items import _precision_at, _recall_at
from propriety.report.sections import _at

SMOOTH = "Distance of the forecasts from the smooth calibration curve"


def _on_axis(read):
    """Return a reader of a curve at the first column of a figure's table."""
    return lambda curve, x: np.column_stack([x, read(curve, np.asarray(x))])


def _means(means, _):
    divergence = np.nan if means.divergence is None else means.divergence[1]
    angle = np.nan if means.angle is None else round(means.angle, 1)
    return [[means.decisiveness, means.accuracy, means.robustness, divergence, angle]]


def _accuracies(curve, _):
    areas = [number for area in (curve.aurc, curve.augrc) for number in (area.value, area.low, area.high)]
    return [[curve.accuracy, *map(curve.accuracy_at, COVERAGES), *areas]]


def _distances(smooth, _):
    return [[*(number for name in ("ici", "e50", "e90", "e_max") for number in smooth.index(name)), smooth.p_value]]


# How results are read whose numbers are not shown as their columns, by the title of the figure or table.
READERS = {
    "Net benefit": _on_axis(lambda curve, x: np.interp(x, curve.threshold, curve.value)),
    "Murphy diagram": _on_axis(lambda curve, x: _at(x, curve.threshold, curve.value)),
    "Precision and recall": _on_axis(lambda curve, x: _precision_at(x, curve)),
    "Gain": _on_axis(lambda curve, x: _recall_at(x, curve)),
    "Lift": _on_axis(lambda curve, x: _recall_at(x, curve) / x),
    "Risk and coverage": _on_axis(lambda curve, x: [1.0 - curve.accuracy_at(share) for share in x.tolist()]),
    "Accuracy of the most confident answers": _accuracies,
    "Gain of recalibration": lambda found, _: [
        [getattr(found.verdict, name) for name in ("before", "gain", "low", "high")]
    ],
    SMOOTH: _distances,
    "Means of the probability given to what happened": _means,
    "Reliability of the most likely class": lambda curve, _: [[curve.table.event_rate, curve.table.mean_forecast]],
}


def lines_of(answer, title, x):
    """Return what a call gives as lines of numbers by model, by None if it is of one model or of none."""
    if title in READERS:
        return {None: np.array(READERS[title](answer, x), dtype=float)}
    if title == "Parts of the score by cut point":
        return {model: lines_of(parts, "", x)[None] for model, parts in answer.items()}
    if isinstance(answer, Findings) and (answer.against == "rest").any():
        answer = Sliced(answer)
    if isinstance(answer, Finding):
        return {None: np.array([[answer.value, answer.low, answer.high, answer.extra.get("raw", np.nan)]], dtype=float)}
    columns = answer if isinstance(answer, dict) else answer.columns()
    columns = {name: np.asarray(column) for name, column in columns.items()}
    lines = np.column_stack([column.astype(float) for column in columns.values() if column.dtype.kind in "iuf"])
    model = columns.get("model")
    return {None: lines} if model is None else {name: lines[model == name] for name in np.unique(model).tolist()}


def lines_about(model, lines):
    """Return the lines about a model, or all of them where they do not name models."""
    return lines[model] if model in lines else np.concatenate(list(lines.values()))


def numbers_in(cell):
    """Return the numbers of a cell: three of an estimate, none of a text."""
    if isinstance(cell, Estimate):
        return list(cell)
    return [] if cell is None or isinstance(cell, str | bool | np.bool) else [float(cell)]


def has_line_with(numbers, lines):
    """Tell whether one of the lines holds all the numbers."""
    for number in numbers:
        lines = lines[np.isclose(lines, number, rtol=1e-12, atol=1e-15, equal_nan=True).any(axis=1)]
    return len(lines) > 0
