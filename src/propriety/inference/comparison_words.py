"""Comparisons in plain words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from propriety.inference.dependence import span_of
from propriety.inference.estimates import FEWEST, counted
from propriety.inference.measures import Mean, Measure
from propriety.inference.paired_columns import POWER
from propriety.inference.verdicts import Pair, Tested, Verdict, is_ahead, verdict_on

if TYPE_CHECKING:
    from propriety.inference.comparison import Comparison

__all__ = [
    "comparison_words",
    "listed",
    "merit_in_words",
    "method_in_words",
    "pair_sentence",
    "ranks_in_words",
    "rule_sentence",
    "standing_in_words",
    "verdict_in_words",
]

MOST_SENTENCES = 6
MOST_PLACES = 12
MOST_NAMES = 20
BILLION = 1e9
RARE = 0.1  # Share of an outcome below which planning counts it too.


def comparison_words(comparison: Comparison) -> Iterator[str]:
    """Yield the verdicts: one sentence for each pair, or for each model where pairs are many."""
    if len(comparison.verdict) <= MOST_SENTENCES:
        yield from (pair_sentence(pair, comparison.tested) for pair in comparison.pairs)
    else:
        ranked = comparison.standings
        for model, best, worst in zip(ranked.model.tolist(), ranked.best_rank, ranked.worst_rank, strict=True):
            yield f"{model} ({ranks_in_words(best, worst)}): {standing_in_words(comparison, model)}."
    yield f"{comparison.method}."
    if comparison.note:
        yield comparison.note


def pair_sentence(pair: Pair, tested: Tested) -> str:
    """Say how a pair stands, by how much, and how many cases would tell.

    Examples
    --------
    >>> from propriety.inference.measures import MeanScore
    >>> tested = Tested(1204, 1204, "case", 1, 0.95, MeanScore())
    >>> pair_sentence(Pair("a", "b", -0.0042, -0.0071, -0.0013, 0.0015, 0.005, 0.005, 1300.0), tested)
    'a is better than b: 0.0042 lower Brier score, 95% CI 0.0013 to 0.0071.'
    >>> pair_sentence(Pair("a", "b", -0.001, -0.0025, 0.0005, 0.0008, 0.21, 0.21, 6000.4, 970.1, math.inf), tested)
    'a and b are not distinguishable on 1,204 cases; if the true difference is the one seen, about 6,100 cases would \
tell them apart with 80% power (about 980 to no limit over its interval).'
    """
    verdict = verdict_on(pair, tested)
    if verdict == "not distinguishable":
        # The interval is for the pair alone, and may leave 0 out.
        once = f" once {tested.pairs} pairs are tested" if pair.low * pair.high > 0.0 else ""
        first = f"{pair.model} and {pair.reference} are not distinguishable on {_sample(tested)}{once}"
        planned = _planned(pair, tested)
        return f"{first}; {planned}." if planned else f"{first}."
    if verdict not in ("better", "worse", "different"):
        return _untested(pair, tested, verdict)
    ends = (pair.low, pair.high) if pair.difference > 0.0 else (-pair.high, -pair.low)
    gap = abs(pair.difference)
    places = _places((ends[1] - ends[0]) / 2.0, gap, *ends)
    low, high = (f"{end:.{places}f}" for end in ends)
    interval = f"{100.0 * tested.level:g}% CI {low} to {high}"
    first, second = _by_value(pair) if verdict == "different" else _by_merit(pair, tested.measure)
    more = "higher" if verdict == "different" or tested.measure.higher_is_better else "lower"
    if verdict == "different":
        return f"{first} and {second} differ: {first} has a {gap:.{places}f} higher {tested.measure.label}, {interval}."
    return f"{first} is better than {second}: {gap:.{places}f} {more} {tested.measure.label}, {interval}."


def standing_in_words(comparison: Comparison, model: str) -> str:
    """Say how one model stands against the others."""
    told: dict[str, list[str]] = {}
    as_model, as_reference = comparison.model == model, comparison.reference == model
    turned = {"better": "worse", "worse": "better"}
    for place in np.flatnonzero(as_model | as_reference).tolist():
        verdict = str(comparison.verdict[place])
        said = verdict if as_model[place] else turned.get(verdict, verdict)
        other = comparison.reference if as_model[place] else comparison.model
        told.setdefault(said, []).append(str(other[place]))
    words = ("not distinguishable", "no spread", "too few events", "not tested")
    undecided = [other for word in words for other in told.get(word, ())]
    parts = (
        ("better than", told.get("better", [])),
        ("worse than", told.get("worse", [])),
        ("different from", told.get("different", [])),
        ("not distinguishable from", undecided),
        ("the same as", told.get("same", [])),
        ("not comparable with", told.get("infinite", [])),
    )
    said = "; ".join(f"{relation} {_counted_beyond(others)}" for relation, others in parts if others)
    return said or "too few cases to tell"


def ranks_in_words(best: int, worst: int) -> str:
    """Say which ranks are not excluded.

    Examples
    --------
    >>> ranks_in_words(1, 1), ranks_in_words(2, 4)
    ('rank 1', 'rank 2 to 4')
    """
    return f"rank {best}" if best == worst else f"rank {best} to {worst}"


def verdict_in_words(model: str, reference: str, verdict: str) -> str:
    """Say a verdict in as few words as a table or a picture has room for.

    Examples
    --------
    >>> verdict_in_words("a", "b", "worse"), verdict_in_words("a", "b", "not distinguishable")
    ('b better', 'not distinguishable')
    """
    better = {"better": model, "worse": reference}
    return f"{better[verdict]} better" if verdict in better else verdict


def merit_in_words(measure: Measure) -> str:
    """Say which values of a measure are good.

    Examples
    --------
    >>> from propriety.inference.measures import MeanScore, Skill
    >>> from propriety.inference.calibration_measures import CalibrationSlope
    >>> [merit_in_words(measure) for measure in (MeanScore(), Skill(), CalibrationSlope())]
    ['lower is better', 'higher is better', '1 is ideal']
    """
    ideal = getattr(measure, "ideal", None)
    if ideal is not None:
        return f"{ideal:g} is ideal"
    return "higher is better" if measure.higher_is_better else "lower is better"


def rule_sentence(measure: Measure, classes: int | None) -> str:
    """Warn of a rule that is not proper, or does not say so; an empty text for one that is.

    Examples
    --------
    >>> from propriety.inference.measures import MeanScore
    >>> rule_sentence(MeanScore(), None)
    ''
    """
    if not isinstance(measure, Mean) or measure.sign < 0.0:
        return ""
    proper = measure.rule.properties(classes).proper
    if proper:
        return ""
    if proper is None:
        return (
            f"{measure.rule!r} is not declared proper; unless it is, lower need not mean better (see propriety.audit)."
        )
    return (
        f"{measure.rule!r} is not proper: forecasts other than the true probabilities can lower it, so lower need not "
        "be better."
    )


def method_in_words(method: str, horizon: int | None, n_resamples: int, tested: Tested) -> str:
    """Say which test was made, on what, and for how many pairs the verdicts are adjusted.

    Examples
    --------
    >>> from propriety.inference.measures import MeanScore
    >>> method_in_words("paired t", None, 0, Tested(1204, 1204, "case", 3, 0.95, MeanScore()))
    'Paired t test on 1,204 cases; verdicts adjusted for 3 pairs'
    """
    span = span_of(tested.units)
    lags = f"horizon {horizon}" if horizon else f"Bartlett's weights over {counted(span, 'time')}"
    words = {
        "paired t": "Paired t test",
        "cluster": "t test robust to clusters",
        "diebold-mariano": f"Diebold-Mariano test ({lags})",
        "block bootstrap": f"Block bootstrap ({n_resamples:,} draws of blocks of {counted(span, 'time')})",
        "delong": "DeLong's test" if tested.unit == "case" else f"DeLong's test robust to {tested.unit}s",
        "influence": "Test by influence functions",
        "bootstrap": f"Paired bootstrap ({n_resamples:,} draws)",
        "none": "No test",
    }[method]
    adjusted = f"; verdicts adjusted for {tested.pairs} pairs" if tested.pairs > 1 else ""
    return f"{words} on {_sample(tested)}{adjusted}"


def listed(names: Sequence[str]) -> str:
    """Join names by commas and "and"."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _counted_beyond(names: Sequence[str]) -> str:
    """List names, or say how many there are where nobody would read them; the rows of the comparison hold them all."""
    return listed(names) if len(names) <= MOST_NAMES else f"{len(names):,} models"


def _sample(tested: Tested) -> str:
    """Say how many cases there are, and in how many units."""
    cases = counted(tested.n, "case")
    if tested.unit == "case" or (tested.unit == "time" and tested.units == tested.n):
        return cases
    return f"{cases} {'in' if tested.unit == 'cluster' else 'at'} {counted(tested.units, tested.unit)}"


def _untested(pair: Pair, tested: Tested, verdict: Verdict) -> str:
    """Say why there is no test."""
    label = tested.measure.label
    better, other = _by_merit(pair, tested.measure)
    both = f"{pair.model} and {pair.reference}"
    if verdict == "same":
        alike = "score the same in every case" if isinstance(tested.measure, Mean) else f"have the same {label}"
        return f"{both} {alike}."
    if math.isnan(pair.difference):
        return f"{both} both have an infinite {label}, which cannot compare them."
    if verdict == "infinite":
        return f"{other} has an infinite {label} and {better} has not; no test can weigh that."
    gap = abs(pair.difference)
    more = "higher" if tested.measure.higher_is_better else "lower"
    lower = f"{better} has a {gap:.{_places(gap)}f} {more} {label} than {other}"
    lower = lower if gap > 0.0 else f"{pair.model} and {pair.reference} have the same {label}"
    one = "one case" if tested.n == 1 else f"one {tested.unit}"
    why = {
        "no spread": f" in every {tested.unit} alike, so there is no spread to test with",
        "not tested": "; that was not tested",
        "too few events": f", which {_sample(tested)} with {_outcomes(tested)} cannot tell apart",
    }
    return f"{lower}{why.get(verdict, f' on {one}, which cannot tell them apart')}."


def _by_merit(pair: Pair, measure: Measure) -> tuple[str, str]:
    ahead = is_ahead(pair.difference, measure)
    return (pair.model, pair.reference) if ahead else (pair.reference, pair.model)


def _by_value(pair: Pair) -> tuple[str, str]:
    return (pair.model, pair.reference) if pair.difference > 0.0 else (pair.reference, pair.model)


def _planned(pair: Pair, tested: Tested) -> str:
    """Say how many cases would tell the models apart: should the difference be the one seen, and over its interval."""
    if math.isnan(pair.needed_low):
        return ""
    low, high = (
        _about(number) if math.isfinite(number) else "no limit" for number in (pair.needed_low, pair.needed_high)
    )
    if not abs(pair.difference) >= pair.standard_error:
        # A difference within its own error says nothing of its size.
        told = f"{_with_units(pair.needed_low, tested)} to {high}"
        return f"over the interval of the difference, {told} would tell them apart with {100.0 * POWER:g}% power"
    seen = f"{_with_units(pair.needed, tested)} would tell them apart with {100.0 * POWER:g}% power"
    return f"if the true difference is the one seen, {seen} ({low} to {high} over its interval)"


def _with_units(number: float, tested: Tested) -> str:
    """Say so many cases, in how many clusters or times, and with how many of the rarer outcome where that is rare."""
    told, rare = f"{_about(number)} cases", min(tested.events or (tested.n, tested.n))
    if tested.unit != "case" and tested.units != tested.n:
        units = _rounded_up(number * tested.units / tested.n)
        told += f" {'in' if tested.unit == 'cluster' else 'at'} {units} {tested.unit}s"
    if rare < min(FEWEST, RARE * tested.n) and tested.events is not None:
        name = "events" if tested.events[0] == rare else "non-events"
        told += f" with {_rounded_up(number * rare / tested.n)} {name}"
    return told


def _outcomes(tested: Tested) -> str:
    """Say how many there are of the rarer outcome."""
    events, others = tested.events or (tested.n, tested.n)
    name = "event" if events <= others else "non-event"
    return counted(min(events, others), name) if min(events, others) else f"no {name}"


def _about(number: float) -> str:
    return _rounded_up(number) if number > BILLION else f"about {_rounded_up(number)}"


def _rounded_up(number: float) -> str:
    """Round up to two digits; beyond a billion the number says no more."""
    if number > BILLION:
        return "more than a billion"
    step = int(10 ** max(math.floor(math.log10(number)) - 1, 0))
    return f"{math.ceil(number / step) * step:,}"


def _places(scale: float, *values: float) -> int:
    """Return the decimals that show two digits of the scale, and up to two more where a value would read as zero."""
    places = 1 - math.floor(math.log10(scale)) if scale > 0.0 and math.isfinite(scale) else 3
    for _ in range(2):
        places += any(value != 0.0 and round(value, places) == 0.0 for value in values)
    return min(max(places, 0), MOST_PLACES)
