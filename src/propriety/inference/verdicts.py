"""What the tests of pairs say together: adjusted p-values, ranks, and verdicts in plain words."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from propriety.inference.dependence import Estimates, span_of
from propriety.results import Floats, Result

__all__ = [
    "ROUNDING",
    "Kind",
    "Names",
    "Pair",
    "Sample",
    "Standings",
    "counted",
    "holm",
    "method_in_words",
    "pair_sentence",
    "ranks_in_words",
    "rule_sentence",
    "sample_in_words",
    "score_in_words",
    "standings_of",
    "verdict_on",
]

Names: TypeAlias = NDArray[np.str_]
Kind: TypeAlias = Literal["cases", "clusters", "times"]

NAMES = {"Brier", "Tsallis"}  # Of people.
OWN_WORDS = {"Misclassification": "misclassification rate", "BoundedNetBenefit": "bounded net benefit forgone"}
LAST_WORDS = {"cost", "error", "loss", "rate", "regret", "score"}  # A name that ends so needs no "score" after it.
MOST_PLACES = 12
BILLION = 1e9
ROUNDING = 1e-12  # Differences and spreads below this share of the scores are rounding error.


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Standings(Result):
    """How each model stands, one row per model, the lowest score first; see `compare`.

    Parameters
    ----------
    model : ndarray of shape (models,)
        Names.
    score, low, high, standard_error : ndarray of shape (models,)
        Mean score, the ends of its own interval, and its error; NaN where they are not known.
    rank, best_rank, worst_rank : ndarray of shape (models,)
        Rank of the score, 1 for the lowest, and the first and the last rank that the tests do not exclude: one
        after all models that are told to be better, and one before all that are told to be worse.
    verdict : ndarray of shape (models,)
        The same in words.
    rule, level, n
        The rule, the level of the intervals and of the tests, and the number of cases.
    """

    model: Names
    score: Floats
    low: Floats
    high: Floats
    standard_error: Floats
    rank: NDArray[np.int64]
    best_rank: NDArray[np.int64]
    worst_rank: NDArray[np.int64]
    verdict: Names
    rule: str
    level: float
    n: int


class Pair(NamedTuple):
    """One row of a comparison; the fields are those of `Comparison`."""

    model: str
    reference: str
    difference: float
    low: float
    high: float
    standard_error: float
    p_adjusted: float
    needed: float


class Sample(NamedTuple):
    """On what a verdict rests: so many cases, in so many units of a kind, and so many pairs tested at a level."""

    n: int
    units: int
    kind: Kind
    pairs: int
    level: float
    rule: str


def holm(p_values: Floats) -> Floats:
    r"""Adjust p-values for being several: the :math:`j`-th smallest of :math:`m` is multiplied by :math:`m - j + 1`.

    An adjusted p-value is at least that of any smaller one and at most 1; NaN is no test, and is not counted.

    Examples
    --------
    >>> holm(np.array([0.01, 0.04, 0.03, np.nan]))
    array([0.03, 0.06, 0.06,  nan])
    """
    adjusted = np.full(len(p_values), np.nan)
    order = np.argsort(p_values)[: np.count_nonzero(~np.isnan(p_values))]
    multiplied = p_values[order] * np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(multiplied), 1.0)
    return adjusted


def counted(number: int, noun: str) -> str:
    """Say a number of things.

    Examples
    --------
    >>> counted(1, "case"), counted(1204, "cluster")
    ('1 case', '1,204 clusters')
    """
    return f"{number:,} {noun}" + "s" * (number != 1)


def verdict_on(pair: Pair, sample: Sample) -> str:
    """Say in two or three words how a pair stands.

    Examples
    --------
    >>> sample = Sample(1204, 1204, "cases", 1, 0.95, "Brier()")
    >>> verdict_on(Pair("a", "b", -0.004, -0.007, -0.001, 0.0015, 0.01, 1300.0), sample)
    'a better'
    """
    if not math.isfinite(pair.difference):
        return "infinite score"
    if pair.difference == 0.0 and pair.standard_error == 0.0:
        return "same losses"
    if sample.units == 1:
        return "one case" if sample.n == 1 else f"one {sample.kind[:-1]}"
    if pair.standard_error == 0.0:
        return "no spread"
    if pair.p_adjusted <= 1.0 - sample.level:
        return f"{pair.model if pair.difference < 0.0 else pair.reference} better"
    return "not distinguishable"


def pair_sentence(pair: Pair, sample: Sample) -> str:
    """Say how a pair stands, by how much, and what would be needed to tell.

    Examples
    --------
    >>> sample = Sample(1204, 1204, "cases", 1, 0.95, "Brier()")
    >>> pair_sentence(Pair("a", "b", -0.0042, -0.0071, -0.0013, 0.0015, 0.005, 1300.0), sample)
    'a is better than b: 0.0042 lower Brier score, 95% interval 0.0013 to 0.0071.'
    >>> pair_sentence(Pair("a", "b", -0.001, -0.0035, 0.0015, 0.0013, 0.43, 8970.4), sample)
    'a and b are not distinguishable on 1,204 cases; about 9,000 would be needed.'
    """
    verdict = verdict_on(pair, sample)
    if verdict == "not distinguishable":
        # The interval is for the pair alone, and may leave 0 out.
        tested = f" once {sample.pairs} pairs are tested" if pair.low * pair.high > 0.0 else ""
        first = f"{pair.model} and {pair.reference} are not distinguishable on {sample_in_words(sample)}{tested}"
        return f"{first}; {_needed_in_words(pair, sample)}."
    if not verdict.endswith(" better"):
        return _untested_sentence(pair, sample, verdict)
    better, other = _by_merit(pair)
    ends = (pair.low, pair.high) if pair.difference > 0.0 else (-pair.high, -pair.low)
    gap = abs(pair.difference)
    places = _places((ends[1] - ends[0]) / 2.0, gap, *ends)
    low, high = (f"{end:.{places}f}" for end in ends)
    lower = f"{gap:.{places}f} lower {score_in_words(sample.rule)}"
    return f"{better} is better than {other}: {lower}, {100.0 * sample.level:g}% interval {low} to {high}."


def standings_of(
    models: Sequence[str], means: Floats, found: Estimates, pairs: Sequence[Pair], sample: Sample
) -> Standings:
    """Rank models by their mean scores, and by what the tests of the pairs tell; `found` begins with the models."""
    count = len(models)
    score, error, low, high = (values[:count] for values in (means, found.standard_error, found.low, found.high))
    flat = error * math.sqrt(sample.units) <= ROUNDING * np.abs(score)
    told: dict[str, dict[str, list[str]]] = {model: {} for model in models}
    for pair in pairs:
        verdict = verdict_on(pair, sample)
        for one, other in ((pair.model, pair.reference), (pair.reference, pair.model)):
            word = {f"{one} better": "better", f"{other} better": "worse"}.get(verdict, verdict)
            told[one].setdefault(word, []).append(other)
    lower = score[:, None] - ROUNDING * np.where(np.isfinite(score), np.abs(score), 0.0)[:, None] > score
    rank = 1 + lower.sum(axis=1)
    order = np.argsort(rank, kind="stable")
    columns = {
        "model": np.array(models),
        "score": score,
        "low": np.where(flat, np.nan, low),
        "high": np.where(flat, np.nan, high),
        "standard_error": np.where(flat, 0.0, error),
        "rank": rank,
        "best_rank": np.array([1 + len(told[model].get("worse", ())) for model in models]),
        "worst_rank": np.array([count - len(told[model].get("better", ())) for model in models]),
        "verdict": np.array([_standing_in_words(told[model]) for model in models]),
    }
    ordered = {name: values[order] for name, values in columns.items()}
    return Standings(**ordered, rule=sample.rule, level=sample.level, n=sample.n)


def ranks_in_words(best: int, worst: int) -> str:
    """Say which ranks are not excluded.

    Examples
    --------
    >>> ranks_in_words(1, 1), ranks_in_words(2, 4)
    ('rank 1', 'rank 2 to 4')
    """
    return f"rank {best}" if best == worst else f"rank {best} to {worst}"


def rule_sentence(rule: str, *, proper: bool | None) -> str:
    """Warn of a rule that is not proper, or does not say so; an empty text for one that is.

    Examples
    --------
    >>> rule_sentence("Brier()", proper=True)
    ''
    """
    if proper:
        return ""
    if proper is None:
        return f"{rule} is not declared proper; unless it is, lower need not mean better (see propriety.audit)."
    return (
        f"{rule} is not proper: forecasts other than the true probabilities can lower it, so lower need not be better."
    )


def score_in_words(rule: str) -> str:
    """Name the score of a rule, from the text that its `repr` gives.

    Examples
    --------
    >>> score_in_words("BoundedBrier(low=0.1, high=0.2)"), score_in_words("Log()"), score_in_words("BetaRegret()")
    ('bounded Brier score', 'log score', 'beta regret')
    """
    name = rule.partition("(")[0]
    if name in OWN_WORDS:
        return OWN_WORDS[name]
    parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+", name)
    words = [part if part in NAMES or part.isupper() else part.lower() for part in parts]
    return " ".join(words if words and words[-1] in LAST_WORDS else [*words, "score"])


def sample_in_words(sample: Sample) -> str:
    """Say how many cases there are, and in how many units.

    Examples
    --------
    >>> sample_in_words(Sample(1204, 20, "clusters", 1, 0.95, "Brier()"))
    '1,204 cases in 20 clusters'
    """
    cases = counted(sample.n, "case")
    if sample.kind == "cases" or (sample.kind == "times" and sample.units == sample.n):
        return cases
    return f"{cases} {'in' if sample.kind == 'clusters' else 'at'} {counted(sample.units, sample.kind[:-1])}"


def method_in_words(method: str, horizon: int | None, n_resamples: int, sample: Sample) -> str:
    """Say which test was made, on what, and for how many pairs the verdicts are adjusted.

    Examples
    --------
    >>> method_in_words("paired t", None, 0, Sample(1204, 1204, "cases", 3, 0.95, "Brier()"))
    'Paired t test on 1,204 cases; verdicts adjusted for 3 pairs'
    """
    span = span_of(sample.units)
    lags = f"horizon {horizon}" if horizon else f"Bartlett's weights over {counted(span, 'time')}"
    words = {
        "paired t": "Paired t test",
        "cluster": "t test robust to clusters",
        "diebold-mariano": f"Diebold-Mariano test ({lags})",
        "block bootstrap": f"Block bootstrap ({n_resamples:,} draws of blocks of {counted(span, 'time')})",
    }[method]
    adjusted = f"; verdicts adjusted for {sample.pairs} pairs" if sample.pairs > 1 else ""
    return f"{words} on {sample_in_words(sample)}{adjusted}"


def _standing_in_words(told: dict[str, list[str]]) -> str:
    """Say how one model stands, from the others by what was told of them."""
    undecided = [other for word in ("not distinguishable", "no spread") for other in told.get(word, ())]
    parts = (
        ("better than", told.get("better", [])),
        ("worse than", told.get("worse", [])),
        ("not distinguishable from", undecided),
        ("the same as", told.get("same losses", [])),
        ("not comparable with", told.get("infinite score", [])),
    )
    words = "; ".join(f"{relation} {_listed(others)}" for relation, others in parts if others)
    return words or "too few cases to tell"


def _untested_sentence(pair: Pair, sample: Sample, verdict: str) -> str:
    """Say why there is no test."""
    score = score_in_words(sample.rule)
    better, other = _by_merit(pair)
    if verdict == "same losses":
        return f"{pair.model} and {pair.reference} score the same in every case."
    if math.isnan(pair.difference):
        return f"{pair.model} and {pair.reference} both have an infinite {score}, which cannot compare them."
    if verdict == "infinite score":
        return f"{other} has an infinite {score} and {better} has not; no test can weigh that."
    gap = abs(pair.difference)
    lower = f"{better} has a {gap:.{_places(gap)}f} lower {score} than {other}"
    if verdict == "no spread":
        return f"{lower} in every {sample.kind[:-1]} alike, so there is no spread to test with."
    return f"{lower} on {verdict}, which cannot tell them apart."


def _by_merit(pair: Pair) -> tuple[str, str]:
    return (pair.model, pair.reference) if pair.difference < 0.0 else (pair.reference, pair.model)


def _needed_in_words(pair: Pair, sample: Sample) -> str:
    if not math.isfinite(pair.needed):
        return "their mean scores are equal"
    needed = _about(pair.needed)
    if sample.kind == "cases" or (sample.kind == "times" and sample.units == sample.n):
        return f"{needed} would be needed"
    units = _about(pair.needed * sample.units / sample.n)
    return f"{needed} {'in' if sample.kind == 'clusters' else 'at'} {units} {sample.kind} would be needed"


def _about(number: float) -> str:
    """Round up to two digits; beyond a billion the number says no more."""
    if number > BILLION:
        return "more than a billion"
    step = int(10 ** max(math.floor(math.log10(number)) - 1, 0))
    return f"about {math.ceil(number / step) * step:,}"


def _places(scale: float, *values: float) -> int:
    """Return the decimals that show two digits of the scale, and up to two more where a value would read as zero."""
    places = 1 - math.floor(math.log10(scale)) if scale > 0.0 and math.isfinite(scale) else 3
    for _ in range(2):
        places += any(value != 0.0 and round(value, places) == 0.0 for value in values)
    return min(max(places, 0), MOST_PLACES)


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
