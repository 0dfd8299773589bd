"""The verdict on the calibration of class probabilities in words; every claim is a value of the result."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from propriety.inference.calibration_words import TOGETHER
from propriety.inference.class_calibration import ClassCalibration
from propriety.inference.comparison_words import listed
from propriety.inference.slice_table import texts_of_labels
from propriety.number_words import hundredths, number, p_value_words

SHOWN = 3  # Classes that are named.
VIEWS = {"classwise_p_value": "class by class", "temperature_p_value": "temperature", "shape_p_value": "shared shape"}


def class_words(found: ClassCalibration, name: str) -> str:
    """Report the verdict for a named model.

    Examples
    --------
    >>> import propriety as pr
    >>> y = np.arange(3).repeat(100)
    >>> class_words(pr.class_calibration(y, np.full((300, 3), 1 / 3)), "a")
    'a is consistent with calibration (p = 1; tested class by class).'
    """
    note = f" Note: {found.note}." if found.note else ""
    tested = [words for view, words in VIEWS.items() if not math.isnan(getattr(found, view))]
    how = f" ({p_value_words(found.p_value)}; tested {listed(tested)})" if tested else ""
    match found.outcome:
        case "not tested":
            return f"{name}: calibration was not tested ({found.note})."
        case "consistent":
            return f"{name} is consistent with calibration{how}.{note}"
        case "too few events":
            return f"{name}: too few cases to tell whether it is calibrated{how}.{note}"
        case "miscalibrated" | "immaterial":
            pass
    what = "is miscalibrated" if found.outcome == "miscalibrated" else "is miscalibrated, but not materially"
    return f"{name} {what} ({p_value_words(found.p_value)}): {_ways(found)}.{_cost(found)}{note}"


def class_names(labels: Sequence[Any]) -> list[str]:
    """Return what classes are called in words; labels that cannot be read as they are, as written in code.

    Examples
    --------
    >>> class_names(["a", ""]), class_names([1, "1"])
    (['class a', "class ''"], ['class 1', "class '1'"])
    """
    return [f"class {text}" for text in texts_of_labels(labels)]


def _ways(found: ClassCalibration) -> str:
    """Say how the probabilities are wrong: overall, and for which classes."""
    said = []
    if found.n_refuted > 0.0:
        said.append("classes occurred that had a probability of exactly 0")
    if found.temperature:
        said.append(f"its probabilities are {found.temperature}")
    table = found.classes
    ways = [tuple(way for way in own if way != "refuted") for own in table.directions]
    names = class_names(table.label.tolist())
    wrong = np.flatnonzero([bool(own) for own in ways])
    order = wrong[np.argsort(table.p_value[wrong], kind="stable")]
    for place in order[:SHOWN]:
        ratio = f"observed/expected {hundredths(float(table.observed_expected[place]))}"
        slope = float(table.slope[place])
        evidence = ratio if math.isnan(slope) else f"{ratio}, slope {hundredths(slope)}"
        own = ways[place]
        way = TOGETHER if own == ("together",) else " and ".join(own)
        said.append(f"{names[place]}: {way} ({evidence})")
    if len(order) > SHOWN:
        more = len(order) - SHOWN
        said.append(f"{more:,} more class{'es' * (more > 1)}")
    if not said or (found.decided_by == "shape" and not found.temperature):
        said.append(
            "its probabilities depart from calibration in a shape that the classes share"
            if found.decided_by == "shape"
            else "the views together show it, though none does by itself"
        )
    return "; ".join(said)


def _cost(found: ClassCalibration) -> str:
    """Say how large the miscalibration is."""
    if math.isnan(found.miscalibration):
        return ""
    limits = ""
    if not math.isnan(found.miscalibration_low):
        limits = f" ({number(found.miscalibration_low)} to {number(found.miscalibration_high)})"
    return f" Miscalibration summed over the classes: {number(found.miscalibration)}{limits}."
