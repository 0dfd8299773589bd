"""What the report says in every evaluation."""

from __future__ import annotations

from collections.abc import Iterable

from propriety.evaluation.calls import Calls
from propriety.inference.comparison_words import listed
from propriety.inference.measures import Measure

__all__ = [
    "BAND",
    "CALIBRATION",
    "DECISIONS",
    "DEPENDENT_BAND",
    "DEPENDENT_RANKING",
    "DIFFERENCES",
    "GROUPS",
    "GROUPS_IN_TIME",
    "GROUPS_OF_AN_EVENT",
    "GROUP_CALIBRATION",
    "GROUP_SKILL",
    "IDEALS",
    "MEANS",
    "PARTS",
    "RANKING",
    "SCORES",
    "SMALL_GROUPS",
    "calls_words",
    "merits_words",
]

SCORES = "The models are ranked by the {headline}. Each number is followed by its {level} interval."
IDEALS = (
    "Observed/expected: events that happened per event forecast. The calibration intercept is negative where forecasts "
    "are too high; the calibration slope is below 1 where they are too extreme, above 1 where they are too timid."
)
PARTS = (
    "Brier score = miscalibration \N{MINUS SIGN} discrimination + uncertainty. Both parts are given without the noise "
    'that recalibration fits, which the columns "in the sample" hold.'
)
CALIBRATION = (
    "Of the cases that a calibrated model calls 20%, one in five has the event. The curves show how often the event "
    "happened among cases with the same forecast: above the diagonal forecasts were too low, below it too high."
)
BAND = (
    "The grey {level} band is pointwise: at any one forecast it holds the curve of a calibrated model with that "
    "probability. Even the curve of a calibrated model often leaves it somewhere; the tests of calibration judge the "
    "curve as a whole."
)
DEPENDENT_BAND = (
    f"{BAND} The band would hold if the cases were independent; here they are in {{what}}, and it may be too narrow."
)
DIFFERENCES = "{side} zero the first model is better."
DECISIONS = "What a forecast is worth depends on the thresholds at which people act on it."
_RANKING = "Each point is an interval of thresholds, coloured by the model with the lowest mean regret there"
RANKING = f"{_RANKING}; pale where the lead is within noise."
DEPENDENT_RANKING = (
    f"{_RANKING}. Which leads are noise is not shown: that is known of independent cases, and here they are in "
    "{what}."
)
GROUPS = (
    "The same measure within each group, and a test of each group against all other cases. The p-values are adjusted "
    "for the number of groups and models."
)
GROUP_CALIBRATION = (
    "Calibration in each group: events that happened per event forecast, the calibration slope, and a test of "
    "calibration. The outcome holds with one level over all groups and models."
)
GROUP_SKILL = (
    "Skill is the share of the loss of the group's own event rate that the forecast saves. A higher or lower event "
    "rate alone changes the score, and not the skill."
)
GROUPS_OF_AN_EVENT = (
    "Observed \N{MINUS SIGN} forecast is the event rate less the mean forecast: positive where events are more "
    "frequent than forecast. A group with another event rate has another score even if it is forecast equally well."
)
SMALL_GROUPS = "Groups that are too small to be judged have neither interval nor test."
GROUPS_IN_TIME = "Intervals and tests take neighbours in time for independent, and may be too narrow and too sure."
MEANS = (
    "Means of the probability that the model gave to what happened: arithmetic (decisiveness), geometric (accuracy, "
    "the log score as a probability) and with exponent \N{MINUS SIGN}2/3 (robustness). The divergence is the accuracy "
    "over that of the recalibrated forecasts; an angle above 45 degrees tells over-confidence, below it "
    "under-confidence."
)
_CALLS = (
    "Reliability curves are isotonic regressions of the outcomes on the forecasts (CORP). A case is acted on if its "
    "forecast is at least the threshold. Below each table and figure is the Python call that reproduces it; there pr "
    "is propriety, "
)


def merits_words(measures: Iterable[Measure]) -> str:
    """Say of every measure which values are good.

    Examples
    --------
    >>> from propriety.evaluation.problem import Problem
    >>> merits_words(Problem(kind="binary").measures[-3:])
    'Ideal values: observed/expected 1, calibration intercept 0 and calibration slope 1.'
    """
    good: dict[str, list[str]] = {"Lower is better": [], "Higher is better": [], "Ideal values": []}
    for measure in measures:
        ideal = getattr(measure, "ideal", None)
        if ideal is not None:
            good["Ideal values"].append(f"{measure.label} {ideal:g}")
        else:
            good["Higher is better" if measure.higher_is_better else "Lower is better"].append(measure.label)
    return " ".join(f"{said}: {listed(names)}." for said, names in good.items() if names)


def calls_words(calls: Calls, dropped: int) -> str:
    """Say what the names in the calls stand for.

    Examples
    --------
    >>> calls_words(Calls(shared=("by", "cluster")), 3)[-93:]
    'and by and cluster are as given, all of them without the rows that miss a value of any model.'
    >>> calls_words(Calls(is_ledger=True), 0)[-66:]
    'ledger holds the tables and moments of the models (result.ledger).'
    """
    if calls.is_ledger:
        return f"{_CALLS}ledger holds the tables and moments of the models (result.ledger)."
    said = "y holds the outcomes and forecasts the probabilities of each model by name"
    if calls.shared:
        said += f", and {listed(calls.shared)} {'are' if len(calls.shared) > 1 else 'is'} as given"
    if dropped:
        said += ", all of them without the rows that miss a value of any model"
    return f"{_CALLS}{said}."
