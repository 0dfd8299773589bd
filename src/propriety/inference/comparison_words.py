"""Findings about two models in plain words; every claim is a value of a row."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from propriety.inference.finding import Finding, Findings
from propriety.inference.finding_words import note_words
from propriety.inference.measures.measure import Measure
from propriety.inference.verdict import is_shown, lead
from propriety.number_words import capitalized, counted, listed, percent

MOST_SENTENCES = 6
MOST_PLACES = 12
MOST_NAMES = 20
PLAN = "To plan a study that can distinguish models, see propriety.plan."
# What the sentence on a pair itself says, so that it is not repeated below.
SAID = ("adjusted", "infinite", "no-better-side", "no-limits", "no-spread", "one-outcome", "one-unit", "same")


def comparison_words(found: Findings) -> list[str]:
    """Return what a comparison shows: a sentence for each pair, or for each model if there are many pairs."""
    pairs, tested = list(found.differences), pairs_tested(found)
    if len(pairs) <= MOST_SENTENCES:
        said = [pair_sentence(row, tested) for row in pairs]
    else:
        ranks = [(row, int(row.extra["best_rank"]), int(row.extra["worst_rank"])) for row in found.ranks()]
        said = [f"{row.model} ({ranks_in_words(*own)}): {standing_in_words(pairs, row.model)}." for row, *own in ranks]
    if any(row.verdict == "too few" for row in pairs):
        said.append(PLAN)
    how = dict.fromkeys(f"{capitalized(row.method or 'no test')} on {_sample(row)}" for row in pairs)
    adjusted = f"; verdicts adjusted for {tested} pairs" if tested > 1 else ""
    return [*said, *(f"{one}{adjusted}." for one in how), *caveats_of_pairs(found)]


def caveats_of_pairs(found: Findings, said: Sequence[str] = SAID) -> list[str]:
    """Return what the notes say, each once, but for those that the sentences on the pairs have said."""
    told = (note_words(note) for row in found.differences for note in row.notes if note.code not in said)
    return list(dict.fromkeys(f"{capitalized(one)}." for one in told))


def pairs_tested(found: Findings) -> int:
    """Return the number of pairs for which p-values are adjusted; those that are the same in every case are not."""
    return sum(not (math.isnan(row.p) or row.note("same")) for row in found.differences)


def pair_sentence(row: Finding, tested: int = 1) -> str:
    """Report the difference between two models, among the number of pairs that are tested.

    Examples
    --------
    >>> from propriety.inference.measures.of_means import MeanScore
    >>> from propriety.inference.verdict import with_verdict
    >>> row = Finding(measure=MeanScore(), model="a", against="b", value=-0.0042, low=-0.0071, high=-0.0013, p=0.005)
    >>> pair_sentence(with_verdict(row))
    'a is better than b: its Brier score is 0.0042 lower, 95% CI 0.0013 to 0.0071.'
    """
    first, second, more = _ordered(row)
    label, both = row.measure.label, f"{row.model} and {row.against}"
    if row.note("same"):
        return f"{both} have the same {label if row.measure.sign is None else 'score in every case'}."
    if not row.has_limits:
        return _untested(row, f"{first} has a {_size(row)[0]} {more} {label} than {second}" if row.value else "")
    if lead(row):
        slightly = "slightly " * (row.verdict == "small")
        gap, interval = _size(row)
        return f"{first} is {slightly}better than {second}: its {label} is {gap} {more}, {interval}."
    if row.verdict == "not tested" and is_shown(row, 0.0)[0]:
        gap, interval = _size(row)
        return f"{both} differ: {first} has a {gap} higher {label}, {interval}."
    # The interval is not adjusted for the number of pairs, and may exclude 0.
    once = f" after adjustment for {tested} pairs" if row.note("adjusted") else ""
    told = "differ by less than matters" if row.verdict == "no error found" else "are not shown to differ"
    value, low, high = _written((row.high - row.low) / 2.0, row.value, row.low, row.high)
    return f"{both} {told}{once}: the difference in {label} is {value}, {percent(row.level)} CI {low} to {high}."


def standing_in_words(pairs: Sequence[Finding], model: str) -> str:
    """Report how one model compares with the others."""
    others: dict[str, list[str]] = {
        name: []
        for name in (
            *("better than", "worse than", "different from", "not shown to differ from", "about as good as"),
            *("not tested against", "the same as", "not comparable with"),
        )
    }
    for row in pairs:
        if model in (row.model, row.against):
            is_model = row.model == model
            others[_relation(row, 1 if is_model else -1)].append(str(row.against if is_model else row.model))
    return "; ".join(f"{relation} {_counted_beyond(names)}" for relation, names in others.items() if names)


def _relation(row: Finding, side: int) -> str:
    """Return how a model, the first if the side is 1, compares with the other."""
    if ahead := side * lead(row):
        return "better than" if ahead > 0 else "worse than"
    if row.note("same"):
        return "the same as"
    if row.note("infinite"):
        return "not comparable with"
    if row.verdict == "no error found":
        return "about as good as"
    if not row.has_limits:
        return "not tested against"
    return "different from" if row.verdict == "not tested" and is_shown(row, 0.0)[0] else "not shown to differ from"


def ranks_in_words(best: int, worst: int) -> str:
    """Say which ranks are not excluded.

    Examples
    --------
    >>> ranks_in_words(1, 1), ranks_in_words(2, 4)
    ('rank 1', 'ranks 2 to 4')
    """
    return f"rank {best}" if best == worst else f"ranks {best} to {worst}"


def short_words(row: Finding, model: str, other: str) -> str:
    """Return a short form of what a difference shows, with the names of its models, for tables and figures.

    Examples
    --------
    >>> from propriety.inference.measures.of_means import MeanScore
    >>> row = Finding(measure=MeanScore(), model="a", against="b", value=0.2, low=0.1, high=0.3, verdict="bad")
    >>> short_words(row, "a", "b")
    'b better'
    """
    if ahead := lead(row):
        return f"{model if ahead > 0 else other}{' slightly' * (row.verdict == 'small')} better"
    known = {"better than": "", "different from": "different", "the same as": "same", "not comparable with": "infinite"}
    return known.get(_relation(row, 1)) or str(row.verdict)


def merit_of(measure: Measure) -> Literal["higher", "lower"] | None:
    """Return which values are better; None if there is an ideal value, or if the measure does not say.

    Examples
    --------
    >>> from propriety.inference.measures.of_means import MeanScore, Skill
    >>> from propriety.inference.measures.line import CalibrationSlope
    >>> [merit_of(measure) for measure in (MeanScore(), Skill(), CalibrationSlope())]
    ['lower', 'higher', None]
    """
    if measure.ideal is not None or measure.higher_is_better is None:
        return None
    return "higher" if measure.higher_is_better else "lower"


def merit_in_words(measure: Measure) -> str:
    """Say which values of a measure are good; "" if that is not known.

    Examples
    --------
    >>> from propriety.inference.measures.of_means import MeanScore, Skill
    >>> from propriety.inference.measures.line import CalibrationSlope
    >>> [merit_in_words(measure) for measure in (MeanScore(), Skill(), CalibrationSlope())]
    ['lower is better', 'higher is better', '1 is ideal']
    """
    if measure.ideal is not None:
        return f"{measure.ideal:g} is ideal"
    merit = merit_of(measure)
    return "" if merit is None else f"{merit} is better"


def _counted_beyond(names: Sequence[str]) -> str:
    """List names, or their number if there are too many to read; the rows of the comparison have all of them."""
    return listed(names) if len(names) <= MOST_NAMES else f"{len(names):,} models"


def _sample(row: Finding) -> str:
    """Return the number of cases, and of clusters or periods."""
    cases, unit = counted(row.n, "case"), row.extra.get("unit")
    if unit is None or row.units is None:
        return cases
    return f"{cases} {'at' if unit == 'period' else 'in'} {counted(row.units, str(unit))}"


def _untested(row: Finding, gap: str) -> str:
    """Say how models differ without a test, and why there is none."""
    label, both = row.measure.label, f"{row.model} and {row.against}"
    if infinite := row.note("infinite"):
        if math.isinf(row.value):
            first, second, _ = _ordered(row)
            return f"{second} has an infinite {label} and {first} does not, so the difference cannot be tested."
        if infinite.parts["both"]:
            return f"{both} both have an infinite {label}, so they cannot be compared."
        return f"{both} cannot be compared, because the {label} of at least one of them is undefined."
    why = next((note_words(note) for note in row.notes if note.code in SAID), "the difference was not tested")
    return f"{gap or f'{both} have the same {label}'}; {why}."


def _ordered(row: Finding) -> tuple[str, str, str]:
    """Return the models, the better first or else the one with the higher value, and whether its value is higher."""
    more, names = merit_of(row.measure) or "higher", (row.model, str(row.against))
    is_first = row.value > 0.0 if more == "higher" else row.value < 0.0
    return (*(names if is_first else names[::-1]), more)


def _size(row: Finding) -> tuple[str, str]:
    """Return the size of a difference and its interval."""
    gap = abs(row.value)
    if not row.has_limits:
        return _written(gap, gap)[0], ""
    ends = (row.low, row.high) if row.value > 0.0 else (-row.high, -row.low)
    written, low, high = _written((ends[1] - ends[0]) / 2.0, gap, *ends)
    return written, f"{percent(row.level)} CI {low} to {high}"


def _written(scale: float, *values: float) -> list[str]:
    """Write numbers with two digits of the scale, and up to two more if one would round to zero.

    Examples
    --------
    >>> _written(0.0029, 0.0042, 0.0013, 0.0071), _written(2e-13, 1e-12, 8e-13, 1.2e-12)
    (['0.0042', '0.0013', '0.0071'], ['1.0e-12', '8.0e-13', '1.2e-12'])
    """
    places = 1 - math.floor(math.log10(scale)) if scale > 0.0 and math.isfinite(scale) else 3
    for _ in range(2):
        places += any(value != 0.0 and round(value, places) == 0.0 for value in values)
    if places > MOST_PLACES and max(map(abs, values)) < 10.0 ** (1 - MOST_PLACES):
        return ["0" if value == 0.0 else f"{value:.1e}" for value in values]
    places = min(max(places, 0), MOST_PLACES)
    return [f"{0.0 if round(value, places) == 0.0 else value:.{places}f}" for value in values]
