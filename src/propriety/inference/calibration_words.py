"""The calibration of a model in plain words; every claim is a value of a row."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, TypeAlias

from propriety.inference.calibration_findings import CALIBRATION, SIZES
from propriety.inference.finding import Finding, Findings, Verdict
from propriety.inference.finding_words import note_words
from propriety.inference.group_rows import texts_of_labels
from propriety.inference.recalibration_gain import RecalibrationGain
from propriety.inference.verdict import MARGINS
from propriety.number_words import hundredths, listed, number, p_value_words, ratio_and_limits

Direction: TypeAlias = Literal[
    "refuted", "too high", "too low", "reversed", "too extreme", "too timid", "other shape", "together"
]

LEVEL: tuple[Direction, ...] = ("too high", "too low")
SLOPE: tuple[Direction, ...] = ("reversed", "too extreme", "too timid")
TOGETHER = "intercept and slope jointly differ from 0 and 1"
CELLS = {"refuted": "wrong when certain", "together": "intercept and slope jointly"}
VIEWS = {"p_classwise": "class by class", "p_temperature": "temperature", "p_shape": "shared shape"}
SHOWN, MOST_NAMED = 3, 8  # Classes and cut points that are named.
# What the sentence on the verdict itself says, so that it is not repeated as a note.
SAID = ("refuted", "shape", "scarce", "temperature", "classes", "no-limits", "many", "adjusted")


def whole_row(found: Findings, model: str, statistic: str = "value") -> Finding:
    """Return the test of the calibration of a model on all cases."""
    return found.where(model=model, measure=CALIBRATION.key, statistic=statistic, keys={})[0]


def own_sizes(found: Iterable[Finding], row: Finding) -> dict[str, Finding]:
    """Return observed/expected, slope and miscalibration with the keys of a test, by the key of the measure."""
    alike = [one for one in found if one.model == row.model and one.keys == row.keys and one.measure.key in SIZES]
    own = [one for one in alike if one.statistic == row.statistic] or alike  # Groups have those of the top label.
    return {one.measure.key: one for one in own}


def ways_of(row: Finding, sizes: Iterable[Finding]) -> tuple[Direction, ...]:
    """Return in which ways forecasts are wrong that a test has shown to be wrong.

    They are "too high" or "too low" on average; "too extreme", "too timid", or "reversed" if the event is rarer at
    higher forecasts; of an "other shape"; "refuted" if a forecast of exactly 0 or 1 was wrong; or only "together".
    """
    own = own_sizes(sizes, row)
    ratio, slope = own.get("observed_expected"), own.get("calibration_slope")
    wrong: list[Direction] = ["refuted"] if row.note("refuted") else []
    if ratio is not None:
        # If all outcomes are of one class there is no interval; then only the level can have been found to be wrong.
        low, high = (ratio.value if math.isnan(limit) else limit for limit in (ratio.low, ratio.high))
        wrong += ["too high"] if high < 1.0 else ["too low"] if low > 1.0 else []
    if slope is not None and row.note("number") is None:
        wrong += ["reversed"] if slope.high < 0.0 else []
        wrong += ["too extreme"] if 0.0 <= slope.high < 1.0 else ["too timid"] if slope.low > 1.0 else []
    wrong += ["other shape"] if row.note("shape") else []
    if not wrong and ratio is not None and (slope is None or math.isnan(slope.value) or row.note("number")):
        wrong.append("too high" if ratio.value < 1.0 else "too low")  # Only the level was tested.
    return tuple(wrong) or ("together",)


def is_shown(row: Finding) -> bool:
    """Whether the test shows an error."""
    return row.verdict in ("small", "bad")


def direction_words(directions: Iterable[str]) -> list[str]:
    """Return the directions of a miscalibrated model as a table shows them.

    Examples
    --------
    >>> direction_words(["refuted", "too timid"])
    ['wrong when certain', 'too timid']
    """
    return [CELLS.get(one, one) for one in directions]


def calibration_words(found: Findings, model: str, name: str, gain: RecalibrationGain | None = None) -> str:
    """Report the calibration of a model of a table under a name, with what recalibration would gain if it is known.

    Examples
    --------
    >>> import propriety as pr
    >>> checked = pr.check_calibration([0, 0, 0, 1] * 100, {"a": [0.25] * 400})
    >>> calibration_words(checked, "a", "Model a")
    'Model a: no error of calibration found (p = 1; observed/expected 1.00, 0.83 to 1.18).'
    """
    own = found.where(model=model)
    row = whole_row(own, model)
    if "cut" in own.keys:
        return grade_words(own, row, name)
    sizes = own_sizes(own, row)
    return event_words(row, sizes, name, gain) if "observed_expected" in sizes else class_words(own, row, name)


def event_words(row: Finding, sizes: dict[str, Finding], name: str, gain: RecalibrationGain | None = None) -> str:
    """Report the calibration of forecasts of one event."""
    ratio = size_words("observed/expected", sizes.get("observed_expected"))
    slope = size_words("slope", sizes.get("calibration_slope"))
    evidence = [one for one in (ratio, slope) if one]
    p_value, notes = p_value_words(row.tested_p), _notes(row, sizes.values())
    said = "; ".join([p_value, *evidence])
    match row.verdict:
        case "not tested" | None:
            why = "; ".join(note_words(note) for note in row.notes)
            return f"{name}: calibration was not tested ({'; '.join([why, *evidence])})."
        case "good":
            return f"{name} is calibrated: errors that matter are excluded ({said}).{notes}"
        case "no error found":
            return f"{name}: no error of calibration found ({said}).{notes}"
        case "too few":
            return f"{name}: too few {_scarce(row)} to tell whether it is calibrated ({said}).{notes}"
        case "small" | "bad":
            what = "is miscalibrated" if row.verdict == "bad" else "is miscalibrated, but only slightly"
            return f"{name} {what} ({p_value}): {_ways(row, sizes, ratio, slope)}.{_cost(sizes, gain)}{notes}"


def _scarce(row: Finding) -> str:
    note = row.note("scarce")
    return "cases" if note is None else str(note.parts["what"])


def caveats_of(row: Finding, sizes: Iterable[Finding]) -> str:
    """Return the caveats of a test and of the limits of sizes, each once; "" if there are none."""
    told = [note_words(note) for note in row.notes if note.code not in SAID]
    told += [note_words(note) for one in sizes if one.has_limits for note in one.notes if note.code == "limits"]
    return "; ".join(dict.fromkeys(told))


def _notes(row: Finding, sizes: Iterable[Finding]) -> str:
    caveats = caveats_of(row, sizes)
    return f" Note: {caveats}." if caveats else ""


def _ways(row: Finding, sizes: dict[str, Finding], ratio: str, slope: str) -> str:
    """Say how the forecasts are wrong."""
    directions, refuted = ways_of(row, sizes.values()), row.note("refuted")
    said = [] if refuted is None else [note_words(refuted)]
    ways = [
        f"{direction} ({evidence})" if evidence else direction
        for several, evidence in ((LEVEL, ratio), (SLOPE, slope))
        for direction in several
        if direction in directions
    ]
    if ways:
        said.append(f"its forecasts are {' and '.join(ways)}")
    evidence = "; ".join(one for one in (ratio, slope) if one)
    if "other shape" in directions:
        shape = "its reliability curve departs from the diagonal in shape"
        said.append(shape if ways else f"{shape} ({evidence})")
    if "together" in directions:
        rest = ", though neither does by itself" if slope else "; no slope can be fitted"
        said.append(f"{TOGETHER}{rest} ({evidence})")
    return "; ".join(said)


def _cost(sizes: dict[str, Finding], gain: RecalibrationGain | None) -> str:
    """Say what recalibration would gain, and what miscalibration costs under the Brier score if that is more."""
    cost, gained = sizes.get("miscalibration"), ""
    if gain is not None:
        gained = f" {gain}"
        if cost is None:
            return gained
        # The two may be in units of different scores, so they are compared as shares of the uncertainty.
        more = cost.low * gain.uncertainty > gain.high * cost.no_model
        if not (more and cost.low > MARGINS["miscalibration"].near[1] * cost.no_model):
            return gained
    return f"{gained}{_cost_of_miscalibration(cost)}"


def _cost_of_miscalibration(cost: Finding | None) -> str:
    """Say by how much perfect recalibration would lower the Brier score."""
    if cost is None or math.isnan(cost.value) or (cost.value == 0.0 and cost.high >= cost.no_model):
        return ""  # The limit is not informative.
    said = "Perfect recalibration would lower its Brier score by"
    if cost.value == 0.0 and math.isfinite(cost.high):
        return f" {said} at most {number(cost.high)}."
    interval = "" if math.isnan(cost.low) else f" ({number(cost.low)} to {number(cost.high)})"
    return f" {said} {number(cost.value)}{interval}."


def size_words(name: str, row: Finding | None) -> str:
    """Format a number with its interval; an empty text if it is NaN."""
    if row is None or math.isnan(row.value):
        return ""
    value, low, high = ratio_and_limits(row.value, row.low, row.high)
    return f"{name} {value}, {low} to {high}" if row.has_limits else f"{name} {value}"


def class_names(labels: Sequence[Any]) -> list[str]:
    """Return what classes are called in words; labels that cannot be read as they are, as written in code.

    Examples
    --------
    >>> class_names(["a", ""]), class_names([1, "1"])
    (['class a', "class ''"], ['class 1', "class '1'"])
    """
    return [f"class {text}" for text in texts_of_labels(labels)]


def texts_of_classes(found: Findings) -> dict[Any, str]:
    """Return the labels of the classes of a table as texts."""
    labels = [label for label in dict.fromkeys(found.keys["class"].tolist()) if label is not None]
    return dict(zip(labels, texts_of_labels(labels), strict=True))


def class_words(found: Findings, row: Finding, name: str) -> str:
    """Report the calibration of class probabilities."""
    notes = _notes(row, ())
    tested = [words for view, words in VIEWS.items() if not math.isnan(float(row.extra.get(view, math.nan)))]
    how = f" ({p_value_words(row.tested_p)}; tested {listed(tested)})" if tested else ""
    match row.verdict:
        case "not tested" | None:
            return f"{name}: calibration was not tested ({'; '.join(map(note_words, row.notes))})."
        case "good":
            return f"{name} is calibrated: errors that matter are excluded{how}.{notes}"
        case "no error found":
            return f"{name}: no error of calibration found{how}.{notes}"
        case "too few":
            return f"{name}: too few {_scarce(row)} to tell whether it is calibrated{how}.{notes}"
        case "small" | "bad":
            what = "is miscalibrated" if row.verdict == "bad" else "is miscalibrated, but only slightly"
            ways = "; ".join(_class_ways(found, row))
            cost = own_sizes(found, row).get("miscalibration")
            return f"{name} {what} ({p_value_words(row.tested_p)}): {ways}.{_summed(cost)}{notes}"


def wrong_classes(found: Findings, row: Finding) -> list[tuple[Any, tuple[Direction, ...], dict[str, Finding]]]:
    """Return the classes that are shown to be wrong, the clearest first, with the ways and the sizes of each."""
    named, several = row.note("classes"), []
    for label in () if named is None else named.parts["names"]:
        (own,) = found.where(model=row.model, measure=CALIBRATION.key, keys={"class": label})
        sizes = own_sizes(found, own)
        ways = tuple(way for way in ways_of(own, sizes.values()) if way != "refuted")
        several.append((label, ways, sizes))
    return [one for one in several if one[1]]


def _class_ways(found: Findings, row: Finding) -> Iterator[str]:
    """Say how the probabilities are wrong: overall, and for which classes."""
    temperature, wrong, named = row.note("temperature"), wrong_classes(found, row), texts_of_classes(found)
    if row.note("refuted"):
        yield "classes occurred that had a probability of exactly 0"
    if temperature:
        yield f"its probabilities are {temperature.parts['way']}"
    for label, ways, sizes in wrong[:SHOWN]:
        measured = (("observed/expected", "observed_expected"), ("slope", "calibration_slope"))
        evidence = ", ".join(f"{said} {hundredths(sizes[key].value)}" for said, key in measured if key in sizes)
        way = TOGETHER if ways == ("together",) else " and ".join(ways)
        yield f"class {named[label]}: {way} ({evidence})"
    if len(wrong) > SHOWN:
        more = len(wrong) - SHOWN
        yield f"{more:,} more class{'es' * (more > 1)}"
    if row.note("shape") and not temperature:
        yield "its probabilities depart from calibration in a shape that the classes share"
    elif not (wrong or temperature or row.note("refuted")):
        yield "the views together show it, though none does by itself"


def _summed(cost: Finding | None) -> str:
    """Say how large the miscalibration is."""
    if cost is None or math.isnan(cost.value):
        return ""
    limits = f" ({number(cost.low)} to {number(cost.high)})" if cost.has_limits else ""
    return f" Miscalibration summed over the classes: {number(cost.value)}{limits}."


def grade_words(found: Findings, row: Finding, name: str) -> str:
    """Say for which cut points a model is miscalibrated."""
    if row.verdict == "not tested":
        return f"{name}: calibration was not tested ({'; '.join(map(note_words, row.notes))})."
    labels: dict[Verdict | None, list[Any]] = {}
    tests = found.where(model=row.model, measure=CALIBRATION.key)
    for one in tests:
        if "cut" in one.keys:
            labels.setdefault(one.verdict, []).append(one.keys["cut"])
    count = sum(map(len, labels.values()))
    claims: dict[Verdict, str] = {
        "bad": "is miscalibrated for",
        "small": "is miscalibrated, but only slightly, for",
        "good": "is calibrated for",
        "no error found": "shows no error of calibration for",
        "too few": "has too few events to tell whether it is calibrated for",
    }
    said = []
    for verdict, claim in claims.items():
        own = labels.get(verdict, [])
        if verdict in ("good", "no error found") and "bad" in labels:
            continue
        if own and len(own) == count:
            said.append(f"{claim} each of {count} cut points")
        elif own:
            named = ", ".join(map(str, own[:MOST_NAMED])) + ", ..." * (len(own) > MOST_NAMED)
            said.append(f"{claim} {len(own)} of {count} cut points: {named}")
    return f"{name} {'; '.join(said)}."
