"""Comparisons in plain words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from propriety.inference.dependence import span_of
from propriety.inference.estimates import IMAGINED, counted
from propriety.inference.measures.measure import Measure
from propriety.inference.verdicts import Pair, Verdict, VerdictBasis, merit_of, verdict_on
from propriety.number_words import percent

if TYPE_CHECKING:
    from propriety.inference.comparison import Comparison

MOST_SENTENCES = 6
MOST_PLACES = 12
MOST_NAMES = 20
PLAN = "To plan a study that can distinguish models, see propriety.plan."


def comparison_words(comparison: Comparison) -> Iterator[str]:
    """Yield the verdicts: one sentence for each pair, or for each model if there are many pairs."""
    if len(comparison.verdict) <= MOST_SENTENCES:
        yield from (pair_sentence(pair, comparison.tested) for pair in comparison.pairs)
    else:
        ranked = comparison.standings
        for model, best, worst in zip(ranked.model.tolist(), ranked.best_rank, ranked.worst_rank, strict=True):
            yield f"{model} ({ranks_in_words(best, worst)}): {standing_in_words(comparison, model)}."
    if "not distinguishable" in comparison.verdict.tolist():
        yield PLAN
    yield f"{comparison.method}."
    if comparison.note:
        yield comparison.note


def pair_sentence(pair: Pair, tested: VerdictBasis) -> str:
    """Report the verdict on a pair, and the difference with its interval.

    Examples
    --------
    >>> from propriety.inference.measures.of_means import MeanScore
    >>> tested = VerdictBasis(1204, 1204, "case", 1, 0.95, MeanScore())
    >>> pair_sentence(Pair("a", "b", -0.0042, -0.0071, -0.0013, 0.0015, 0.005, 0.005), tested)
    'a is better than b: its Brier score is 0.0042 lower, 95% CI 0.0013 to 0.0071.'
    >>> pair_sentence(Pair("a", "b", -0.001, -0.0025, 0.0005, 0.0008, 0.21, 0.21), tested)
    'a and b are not distinguishable on 1,204 cases: the difference in Brier score is -0.0010, 95% CI \
-0.0025 to 0.0005.'
    """
    verdict = verdict_on(pair, tested)
    if verdict == "not distinguishable":
        # The interval is not adjusted for the number of pairs, and may exclude 0.
        once = f" after adjustment for {tested.pairs} pairs" if pair.low * pair.high > 0.0 else ""
        first = f"{pair.model} and {pair.reference} are not distinguishable on {_sample(tested)}{once}"
        return f"{first}{_with_interval(pair, tested)}."
    if verdict not in ("better", "worse", "different"):
        return _untested(pair, tested, verdict)
    ends = (pair.low, pair.high) if pair.difference > 0.0 else (-pair.high, -pair.low)
    gap = abs(pair.difference)
    written, low, high = _written((ends[1] - ends[0]) / 2.0, gap, *ends)
    interval = f"{percent(tested.level)} CI {low} to {high}"
    first, second, more = _ordered(pair, tested.measure)
    if verdict == "different":
        return f"{first} and {second} differ: {first} has a {written} higher {tested.measure.label}, {interval}."
    return f"{first} is better than {second}: its {tested.measure.label} is {written} {more}, {interval}."


def standing_in_words(comparison: Comparison, model: str) -> str:
    """Report the verdicts on one model against the others."""
    others_by: dict[str, list[str]] = {}
    as_model, as_reference = comparison.model == model, comparison.reference == model
    turned = {"better": "worse", "worse": "better"}
    for place in np.flatnonzero(as_model | as_reference).tolist():
        verdict = str(comparison.verdict[place])
        said = verdict if as_model[place] else turned.get(verdict, verdict)
        other = comparison.reference if as_model[place] else comparison.model
        others_by.setdefault(said, []).append(str(other[place]))
    untested = [other for word in ("no spread", "too few events", "not tested") for other in others_by.get(word, ())]
    parts = (
        ("better than", others_by.get("better", [])),
        ("worse than", others_by.get("worse", [])),
        ("different from", others_by.get("different", [])),
        ("not distinguishable from", others_by.get("not distinguishable", [])),
        ("not tested against", untested),
        ("the same as", others_by.get("same", [])),
        ("not comparable with", others_by.get("infinite", [])),
    )
    said = "; ".join(f"{relation} {_counted_beyond(others)}" for relation, others in parts if others)
    return said or "too few cases to tell"


def ranks_in_words(best: int, worst: int) -> str:
    """Say which ranks are not excluded.

    Examples
    --------
    >>> ranks_in_words(1, 1), ranks_in_words(2, 4)
    ('rank 1', 'ranks 2 to 4')
    """
    return f"rank {best}" if best == worst else f"ranks {best} to {worst}"


def verdict_in_words(model: str, reference: str, verdict: str) -> str:
    """Return a short form of a verdict, for tables and figures.

    Examples
    --------
    >>> verdict_in_words("a", "b", "worse"), verdict_in_words("a", "b", "not distinguishable")
    ('b better', 'not distinguishable')
    """
    better = {"better": model, "worse": reference}
    return f"{better[verdict]} better" if verdict in better else verdict


def merit_in_words(measure: Measure) -> str:
    """Say which values of a measure are good; "" if that is not known.

    Examples
    --------
    >>> from propriety.inference.measures.of_means import MeanScore, Skill
    >>> from propriety.inference.measures.line import CalibrationSlope
    >>> [merit_in_words(measure) for measure in (MeanScore(), Skill(), CalibrationSlope())]
    ['lower is better', 'higher is better', '1 is ideal']
    """
    ideal = measure.ideal
    if ideal is not None:
        return f"{ideal:g} is ideal"
    merit = merit_of(measure)
    return "" if merit is None else f"{merit} is better"


def rule_sentence(measure: Measure, classes: int | None) -> str:
    """Return a warning about a rule that is not proper, or not declared so; empty for a proper rule.

    Examples
    --------
    >>> from propriety.inference.measures.of_means import MeanScore
    >>> rule_sentence(MeanScore(), None)
    ''
    """
    if measure.sign != 1.0 or measure.rule is None:
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
        "mean better."
    )


def method_in_words(
    method: str, horizon: int | None, n_resamples: int, tested: VerdictBasis, *, imagined: bool = False
) -> str:
    """Say which test was used, on what, and for how many pairs the verdicts are adjusted.

    Examples
    --------
    >>> from propriety.inference.measures.of_means import MeanScore
    >>> method_in_words("paired t", None, 0, VerdictBasis(1204, 1204, "case", 3, 0.95, MeanScore()))
    'Paired t test on 1,204 cases; verdicts adjusted for 3 pairs'
    """
    span = span_of(tested.units)
    lags = f"horizon {horizon}" if horizon else f"Bartlett weights over {counted(span, 'period')}"
    words = {
        "paired t": "Paired t test",
        "cluster": "Cluster-robust t test",
        "diebold-mariano": f"Diebold-Mariano test ({lags})",
        "block bootstrap": f"Block bootstrap ({n_resamples:,} draws of blocks of {counted(span, 'period')})",
        "delong": "DeLong test" if tested.unit == "case" else f"DeLong test robust to {tested.unit}s",
        "influence": "Influence-function test",
        "bootstrap": f"Paired bootstrap ({n_resamples:,} draws)",
        "none": "No test",
    }[method]
    adjusted = f"; verdicts adjusted for {tested.pairs} pairs" if tested.pairs > 1 else ""
    with_more = f" {IMAGINED}" if imagined and method != "none" else ""
    return f"{words}{with_more} on {_sample(tested)}{adjusted}"


def listed(names: Sequence[str]) -> str:
    """Join names by commas and "and"."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _counted_beyond(names: Sequence[str]) -> str:
    """List names, or their number if there are too many to read; the rows of the comparison have all of them."""
    return listed(names) if len(names) <= MOST_NAMES else f"{len(names):,} models"


def _sample(tested: VerdictBasis) -> str:
    """Return the number of cases, and of clusters or periods."""
    cases = counted(tested.n, "case")
    if tested.unit == "case" or (tested.unit == "period" and tested.units == tested.n):
        return cases
    return f"{cases} {'in' if tested.unit == 'cluster' else 'at'} {counted(tested.units, tested.unit)}"


def _untested(pair: Pair, tested: VerdictBasis, verdict: Verdict) -> str:
    """Say why there is no test."""
    label = tested.measure.label
    better, other, more = _ordered(pair, tested.measure)
    both = f"{pair.model} and {pair.reference}"
    if verdict == "same":
        equal = "have the same score in every case" if tested.measure.sign is not None else f"have the same {label}"
        return f"{both} {equal}."
    if math.isnan(pair.difference) and verdict == "infinite":
        return f"{both} both have an infinite {label}, so they cannot be compared."
    if math.isnan(pair.difference):
        return f"{both} cannot be compared, because the {label} of at least one of them is undefined."
    if verdict == "infinite":
        return f"{other} has an infinite {label} and {better} does not, so the difference cannot be tested."
    gap = abs(pair.difference)
    lower = f"{better} has a {_written(gap, gap)[0]} {more} {label} than {other}"
    lower = lower if gap > 0.0 else f"{pair.model} and {pair.reference} have the same {label}"
    one = "one case" if tested.n == 1 else f"one {tested.unit}"
    why = {
        "no spread": f", the same in every {tested.unit}, so there is no variation to test",
        "not tested": "; the difference was not tested",
        "too few events": f"; {_sample(tested)} with {_outcomes(tested)} are too few to test the difference",
    }
    return f"{lower}{why.get(verdict, f' on {one}, which is too few to test the difference')}."


def _ordered(pair: Pair, measure: Measure) -> tuple[str, str, str]:
    """Return the models, the better first or else the one with the higher value, and whether its value is higher."""
    more = merit_of(measure) or "higher"
    first = pair.difference > 0.0 if more == "higher" else pair.difference < 0.0
    return (pair.model, pair.reference, more) if first else (pair.reference, pair.model, more)


def _with_interval(pair: Pair, tested: VerdictBasis) -> str:
    """Return the difference with its interval."""
    numbers = (pair.difference, pair.low, pair.high)
    if not all(map(math.isfinite, numbers)):
        return ""
    value, low, high = _written((pair.high - pair.low) / 2.0, *numbers)
    return f": the difference in {tested.measure.label} is {value}, {percent(tested.level)} CI {low} to {high}"


def _outcomes(tested: VerdictBasis) -> str:
    """Return the number of cases with the rarer outcome."""
    events, others = tested.events or (tested.n, tested.n)
    name = "event" if events <= others else "non-event"
    return counted(min(events, others), name) if min(events, others) else f"no {name}"


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
