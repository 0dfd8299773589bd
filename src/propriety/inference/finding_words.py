"""Findings in words: the marks of the verdicts, what a note says, and a table as text."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from propriety.inference.finding import FURTHER_GROUP, GROUPS, HETEROGENEITY, TAU, Finding, Findings
from propriety.inference.notes import Note
from propriety.number_words import capitalized, counted, hundredths, listed, number, p_value_words, percent

MARKS = {"good": "✓", "no error found": "·", "small": "~", "bad": "✗", "too few": "?", "not tested": ""}
MOST_CLASSES, MOST_GROUPS = 3, 5
STATISTICS = {HETEROGENEITY: "I² between groups", TAU: "τ between groups"}
NAMES = {"observed_expected": "observed/expected", "calibration_slope": "slope", "calibration": "calibration"}


def _classes(parts: Mapping[str, Any]) -> str:
    names = [f"class {name}" for name in parts["names"][:MOST_CLASSES]]
    more = parts["number"] - len(names)
    shown = ["the most likely class"] * parts.get("top", False) + names
    return f"wrong for {', '.join(shown)}{f' and {more:,} more' if more > 0 else ''}"


def _refuted(parts: Mapping[str, Any]) -> str:
    forecasts = "forecasts" if parts["weighted"] else counted(round(parts["number"]), "forecast")
    was = "was" if round(parts["number"]) == 1 and not parts["weighted"] else "were"
    return f"{forecasts} of exactly 0 or 1 {was} wrong"


def _names(parts: Mapping[str, Any]) -> str:
    names = parts["names"]
    more = len(names) - MOST_GROUPS
    return ", ".join(names[:MOST_GROUPS]) + (f" and {more:,} more" if more > 0 else "")


def _certain(parts: Mapping[str, Any]) -> str:
    unit = "of the weight has" if parts["weighted"] else "of the cases have"
    return f"{percent(parts['share'])} {unit} a forecast of exactly 0 or 1, which has no log-odds"


def _periods(parts: Mapping[str, Any]) -> str:
    worth = f"{parts['units']} correlated periods are equivalent to about {parts['worth']}"
    return f"{worth} independent ones: the test may reject too often"


def _untested(parts: Mapping[str, Any]) -> str:
    why = "are too rare" if parts["what"] == "classes" else f"have too few {parts['what']}"
    return f"{parts['number']:,} of {parts['of']:,} classes {why} to be tested by themselves"


def _too_few(parts: Mapping[str, Any]) -> str:
    what = "too few others to test against" if parts["of_rest"] else "too few to test"
    worth = f" that are worth {parts['worth']:.0f} of equal {parts['equal']}" if "worth" in parts else ""
    return f"{what}: {counted(parts['number'], parts['unit'])}{worth}"


def _approximate(parts: Mapping[str, Any]) -> str:
    few = " and ".join(counted(number, name) for name, number in parts["few"].items())
    return f"the test is approximate: the {parts['side']} has only {few}"


def _few(parts: Mapping[str, Any]) -> str:
    texts = []
    for n, noun, worth, kind in parts["counts"]:
        is_class = noun == "other case"
        text = f"{counted(n, 'case')} outside the most frequent class" if is_class else counted(n, noun)
        of = counted(worth, "independent one") if kind == "independent" else f"{worth} of equal {kind}"
        texts.append(f"{text} (worth {of})" if kind else text)
    return f"based on {' and '.join(filter(None, [', '.join(texts[:-1]), texts[-1]]))}: {_too_narrow(parts)}"


def _too_narrow(parts: Mapping[str, Any]) -> str:
    """Say that limits may be too narrow: those of one row, of several, or also the test beside them."""
    limits = parts["limits"]
    return f"{limits} may be too narrow" + " and the test may reject too often" * parts.get("test", False)


def _few_followed(parts: Mapping[str, Any]) -> str:
    cases = f"based on {counted(parts['cases'], 'case')} followed up until {parts['horizon']:g}"
    return f"{cases}{' in one of the groups' * parts['groups']}: {_too_narrow(parts)}"


def _censoring(parts: Mapping[str, Any]) -> str:
    found = f"censoring depends on the forecasts{' within groups' * parts['groups']} ({p_value_words(parts['p'])})"
    remedy = "finer groups= or weights=" if parts["groups"] else "forecast="
    return f"{found}, which may bias the results: pass {remedy} to censored"


def _left_out(parts: Mapping[str, Any]) -> str:
    return _certain(parts) + " and is left out" * parts.get("left_out", False)


def _dropped(parts: Mapping[str, Any]) -> str:
    rows = parts["rows"]
    return f"{counted(rows, 'row')} with missing values {'was' if rows == 1 else 'were'} left out"


def _one_outcome(parts: Mapping[str, Any]) -> str:
    cases, outcome = parts["number"], parts["outcome"]
    return f"with {counted(cases, outcome) if cases else f'no {outcome}'} the difference cannot be tested"


def _improper(parts: Mapping[str, Any]) -> str:
    rule = parts["rule"]
    if parts["declared"]:
        return (
            f"{rule} is not proper: forecasts other than the true probabilities can lower it, so lower need not mean "
            "better"
        )
    return f"{rule} is not declared proper; unless it is, lower need not mean better (see propriety.audit)"


NOTES_IN_WORDS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "adjusted": lambda _: "the limits exclude the ideal value, but not after adjustment for the number of tests",
    "part-alone": lambda parts: (
        f"{listed([NAMES.get(key, key) for key in parts['measures']])} would show an error alone, which the test of "
        "all parts at one level does not"
    ),
    "no-better-side": lambda _: "neither side of the difference is better",
    "no-limits": lambda _: "the data determine neither limits nor a p-value",
    "needs-cases": lambda parts: f"{parts.get('what', 'a test')} needs {parts['where']}",
    "refuted": _refuted,
    "number": lambda _: "only the number of events was tested, because there are few",
    "certain": _left_out,
    "shape": lambda _: "the reliability curve departs from the diagonal in shape",
    "temperature": lambda parts: f"the probabilities are {parts['way']}",
    "classes": _classes,
    "scarce": lambda parts: f"too few {parts['what']} to show a gross error",
    "untested-classes": _untested,
    "too-few": _too_few,
    "infinite": lambda _: "the value is infinite",
    "shared-units": lambda _: "not tested, because it shares clusters or periods with other groups",
    "many-groups": lambda _: "not tested, because there are too many groups",
    "no-interval": lambda _: "not tested, because it or the rest has no interval",
    "only-independent": lambda _: "the interval is only known for independent cases",
    "approximate": _approximate,
    "neighbours": lambda parts: f"neighbouring periods count as independent: {_too_narrow(parts)}",
    "many": lambda parts: f"calibration is not tested for {parts['number']:,} {parts['what']} at once",
    "conservative": lambda parts: f"the test of the {parts['what']} is conservative",
    "few-draws": lambda parts: f"{parts['draws']} are too few for this level",
    "few-decide": lambda _: "few cases determine the slope: the test may reject too often",
    "correlated-periods": _periods,
    "correlated-neighbours": lambda parts: (
        f"neighbouring {parts['what']}s are alike: stretches of too many and of too few events take turns, and an "
        "alarm may be about one that passes; longer periods ask about the average"
    ),
    "few-periods": lambda parts: (
        f"{parts['units']} periods cannot show whether neighbours are correlated: if they are, the test may reject "
        "too often"
    ),
    "fixed-numbers": lambda _: (
        "all events have one weight and all non-events another: if a study fixed the numbers of both, these intervals "
        "are too wide; `at_prevalence` gives the right ones"
    ),
    "censoring": _censoring,
    "few": _few,
    "few-followed": _few_followed,
    "jumps": lambda parts: f"the event rate seems to jump between neighbouring forecasts: {_too_narrow(parts)}",
    "measure": lambda parts: parts["said"],
    "nothing-varies": lambda _: "nothing varies in the sample, so there is no interval",
    "infinite-mean": lambda _: "an outcome with a forecast of 0 happened, so the mean is infinite",
    "undefined": lambda parts: parts["why"],
    "single": lambda parts: f"a single {parts['unit']} has no spread",
    "equal-forecasts": lambda _: "all forecasts are equal, so there is no interval",
    "no-overlap": lambda _: "events and non-events do not overlap",
    "noisy": lambda parts: f"noise inflates it and it has no interval: {parts['instead']} has",
    "biased": lambda parts: f"draws are {parts['way']} than the value: the interval is not valid",
    "dropped": _dropped,
    "same": lambda _: "the same in every case",
    "one-unit": lambda parts: f"one {parts['unit']} is too few to test the difference",
    "one-outcome": _one_outcome,
    "no-spread": lambda parts: f"the difference is the same in every {parts['unit']}, so there is nothing to test",
    "value-only": lambda _: "a comparison computes no limits of this number; see propriety.estimate",
    "inflated": lambda parts: (
        f"noise inflates the {parts['label']}, for each model differently, so the difference is not tested: compare "
        f"the {parts['instead']}"
    ),
    "light": lambda parts: (
        f"the cases are worth fewer than {parts['fewest']} of equal weight, too few for {parts.get('for', 'a test')}"
    ),
    "lost-draws": lambda parts: f"{parts['lost']:,} of {parts['draws']:,} draws have no value",
    "biased-draws": lambda parts: (
        f"the {parts['label']} of draws is biased, as if noise inflates it, so the difference is not tested: compare a "
        "score"
    ),
    "equal-draws": lambda parts: (
        f"hardly any draw differs in {parts['label']}"
        if "label" in parts
        else "hardly any draw differs, so there is no interval"
    ),
    "improper": _improper,
    "sums-only": lambda _: "based on moments at another event rate, without the cases: intervals may be too narrow",
    "too-flexible": lambda _: (
        "the .632+ estimate differs widely: Harrell's correction is too small for learners that fit their training "
        "cases too closely; use .632+ or cross-validation"
    ),
    "drawn-by-class": lambda parts: (
        f"samples were drawn within each class, because class {parts['label']!r} has only "
        f"{counted(parts['held'], 'case')}"
    ),
    "drawn-again": lambda parts: (
        f"only {parts['held']:,} of {counted(parts['units'], 'group')} {'has' if parts['held'] == 1 else 'have'} cases "
        f"of class {parts['label']!r}; samples without them were drawn again, which biases the optimism"
    ),
    "groups-drawn": lambda parts: f"draws of only {parts['groups']} groups estimate the optimism poorly",
    "unusual-parts": lambda parts: f"{parts['what']} in {counted(parts['number'], parts['unit'])}",
    "never-tested": lambda parts: (
        f"{parts['number']:,} of {parts['of']:,} cases {'is' if parts['number'] == 1 else 'are'} never tested"
    ),
    "tested-again": lambda parts: (
        f"{'each case is tested' if parts['all'] else 'cases are tested up to'} {parts['times']:,} times"
    ),
    "left-out": lambda parts: f"{parts['label']} is undefined in {counted(parts['number'], 'part')}, left out",
    "stands-out": lambda _: "it differs from the other groups",
    "groups-left-out": lambda parts: f"{counted(len(parts['names']), 'group')} left out: {_names(parts)}",
    "infinite-groups": lambda parts: f"it is infinite in {counted(len(parts['names']), 'group')}: {_names(parts)}",
    "clipped": lambda _: "limits clipped to the range of the measure",
    "few-groups": lambda parts: f"{parts['number']} groups hardly determine the variance between groups",
    "groups-of-few": lambda parts: (
        f"{counted(parts['number'], 'group')} {'has' if parts['number'] == 1 else 'have'} fewer than {parts['fewest']} "
        f"{parts['what']}: the interval may be too narrow"
    ),
    "known-weights": lambda parts: f"{parts['what']} with censoring weights taken as known",
}


def note_words(note: Note, limits: str = "the interval") -> str:
    """Return what a note says; `limits` is what may be too narrow, unless the note says so itself.

    Examples
    --------
    >>> note_words(Note("scarce", {"what": "events"}))
    'too few events to show a gross error'
    """
    return NOTES_IN_WORDS[note.code]({"limits": limits, **note.parts})


def caveats(row: Finding, limits: str = "the interval") -> str:
    """Return what all notes of a finding say, in one line.

    Examples
    --------
    >>> import propriety as pr
    >>> caveats(pr.estimate([0, 1] * 4, [0.2, 0.7] * 4))
    'based on 4 events and 4 non-events: the interval may be too narrow'
    """
    return "; ".join(note_words(note, limits) for note in row.notes)


def notes_of(row: Finding) -> str:
    """Return what all notes of a finding say, a sentence each."""
    return " ".join(f"{capitalized(note_words(note))}." for note in row.notes)


def about(row: Finding) -> str:
    """Return what a finding is about: the measure, and its group, class or cut point."""
    name = NAMES.get(row.measure.key, row.measure.label)
    keys = ", ".join(f"{key} {label}" for key, label in row.keys.items() if key != GROUPS)
    over = f", by {row.keys[GROUPS]}" if GROUPS in row.keys else ""
    statistic = "" if row.statistic == "value" else f" ({STATISTICS.get(row.statistic, row.statistic)}{over})"
    is_said = row.against is None or row.is_of_pair  # Beside the names of two models.
    less = "" if is_said else f" less {'the rest' if row.against == 'rest' else row.against}"
    return f"{name}{statistic}{f' of {keys}' if keys else ''}{less}"


def numbers_words(row: Finding) -> str:
    """Return the number with its limits, and the p-value of what has no number.

    Examples
    --------
    >>> from propriety.inference.measures.ratios import ObservedExpected
    >>> numbers_words(Finding(measure=ObservedExpected(), model="m", value=1.1, low=1.02, high=1.19))
    '1.10 (1.02 to 1.19)'
    """
    written = hundredths if row.measure.ideal is not None and row.against is None else number
    if math.isnan(row.value):
        return "" if math.isnan(row.tested_p) else p_value_words(row.tested_p)
    if row.statistic == FURTHER_GROUP:
        return f"{written(row.low)} to {written(row.high)}"
    limits = f" ({written(row.low)} to {written(row.high)})" if row.has_limits else ""
    p_value = f", {p_value_words(row.tested_p)}" if row.statistic == HETEROGENEITY and row.tested_p >= 0.0 else ""
    return f"{written(row.value)}{limits}{p_value}"


def finding_words(row: Finding) -> str:
    """Return a finding in one line, and below it what its notes say."""
    found = [numbers_words(row), "" if row.verdict is None else row.verdict]
    model = f"{row.model} less {row.against}" if row.is_of_pair else row.model
    line = f"{model}: {about(row)}: {', '.join(part for part in found if part)}"
    return "\n".join([line, *(f"Note: {note_words(note)}." for note in row.notes)])


def table_words(found: Findings) -> str:
    """Return a table of findings as text, with what the notes say below it.

    Examples
    --------
    >>> import propriety as pr
    >>> print(pr.check_calibration([0, 0, 0, 1] * 100, {"a": [0.25] * 400}, seed=1).where(model="a"))
    a  calibration        p = 1                no error found  ·
    a  observed/expected  1.00 (0.83 to 1.18)  no error found  ·
    a  slope                                   not tested
    a  miscalibration     0 (0 to 0.00130)     no error found  ·
    Note: a, slope: a calibration slope needs forecasts that differ; all are equal.
    """
    from propriety.inference.comparison_words import comparison_words

    alone = [row for row in found if not row.is_of_pair]
    rows = [
        (row.model, about(row), numbers_words(row), row.verdict or "", MARKS.get(row.verdict or "", ""))
        for row in alone
    ]
    widths = [max(len(row[place]) for row in rows) for place in range(5)] if rows else []
    lines = ["  ".join(part.ljust(width) for part, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    notes = dict.fromkeys(f"{row.model}, {about(row)}: {note_words(note)}." for row in alone for note in row.notes)
    of_pairs = comparison_words(found) if len(alone) < len(found) else []
    return "\n".join([*lines, *(f"Note: {one}" for one in notes), *of_pairs])
