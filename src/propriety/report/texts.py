"""Texts that every report contains."""

from __future__ import annotations

from collections.abc import Iterable

from propriety.evaluation.calls import Calls
from propriety.inference.comparison_words import merit_of
from propriety.inference.measures.measure import Measure
from propriety.number_words import listed

SCORES = "The models are ranked by the {headline}. Each estimate is followed by its {level} confidence interval."
IDEALS = (
    "Observed/expected is the number of events divided by the number forecast. The calibration intercept is negative "
    "if forecasts are too high. The calibration slope is below 1 if they are too extreme, above 1 if they are too "
    "timid."
)
PARTS = (
    "Brier score = miscalibration \N{MINUS SIGN} discrimination + uncertainty. Sampling noise inflates miscalibration "
    'and discrimination; both are corrected for it, and the columns "in the sample" are uncorrected.'
)
CALIBRATION = (
    "If a model is calibrated, the event happens in one of five cases to which it gives a probability of 20%. The "
    "curves show how often the event happened among cases with similar forecasts. Above the diagonal, forecasts were "
    "too low; below it, too high."
)
CLASSES = (
    "Each class is also an event of its own: the outcome is this class. The table of classes and the curves are about "
    "these events."
)
CUT_POINTS = (
    "Each cut point is an event of its own: the outcome is at most this grade. The table of cut points and the curves "
    "are about these events."
)
TOP = (
    "How often the most likely class happened, against the probability that the model gave it. A calibrated model "
    "follows the diagonal; below it, the model is overconfident."
)
ABSTENTION = (
    "If a model may leave its least confident cases to somebody else, how often are the remaining answers right? "
    "The answer is the most likely class, and the confidence is its probability."
)
RISK_AREAS = (
    "AURC is the mean risk over all coverages, AUGRC the area under risk times coverage. Both depend only on the "
    "accuracy and on the order of the confidences, not on calibration."
)
ANSWERS = (
    "The most likely class of each case is compared with the class that happened. Of classes with the same "
    "probability, the first counts."
)
CONFUSION = (
    "Number of cases of each class (row) by the most likely class (column). The stronger its colour, the larger its "
    "share of the row."
)
CONFUSED = (
    "The pairs of different classes with the most cases. Expected cases are those that calibrated forecasts would "
    "have: the sum of the probabilities of the class over the cases with this most likely class."
)
CLASS_TABLE = (
    "The strongest evidence of miscalibration comes first. Observed/expected is the number of cases divided by the "
    "number forecast. The slope is below 1 if forecasts are too extreme. Miscalibration is its cost under the Brier "
    "score, corrected for sampling noise. The AUC is that of the class against all others. The p-values are adjusted "
    "for the number of classes."
)
SHARED_LEVEL = (
    "Temperature and shared shape are tested too, so classes have a share of the level: an adjusted p-value slightly "
    "below {alpha:g} is not enough."
)
WORST_CLASSES = "Only the first {shown} of {events:,} are shown for this model; the call returns all of them."
BAND = (
    "The grey {level} band is pointwise: at a given forecast, the curve of a calibrated model lies in it with that "
    "probability. Even the curve of a calibrated model often leaves the band somewhere. The test of calibration "
    "assesses the curve as a whole."
)
DEPENDENT_BAND = (
    f"{BAND} The band assumes independent cases. Here they may be correlated ({{what}}), and it may be too narrow."
)
DIFFERENCES = "A {sign} difference favours the first model."
DECISIONS = "The value of a forecast depends on the thresholds at which people act on it."
_RANKING = "Each point is a threshold range, coloured by the model with the lowest mean regret over it"
RANKING = f"{_RANKING}; hatched where its difference from the next model is within sampling error."
DEPENDENT_RANKING = (
    f"{_RANKING}. Sampling error is not shown, because it is only known for independent cases; here they may be "
    "correlated ({what})."
)
GROUPS = (
    "The score in each group is tested against that of all other cases. The p-values are adjusted for the number of "
    "groups and models."
)
GROUP_CALIBRATION = (
    "Calibration in each group is shown by observed/expected events and by a test of intercept 0 and slope 1. The "
    "verdicts are adjusted for the number of groups and models."
)
GROUP_CLASSES = (
    "Calibration in each group is tested for the probability of the most likely class and for each class as an event "
    "of its own. Observed/expected is the number of cases whose most likely class happened, divided by the number "
    "forecast. The verdicts are adjusted for the number of classes, groups and models."
)
GROUP_SKILL = (
    "Skill is the share by which a model lowers the score of always forecasting the group's own event rate. A higher "
    "or lower event rate by itself changes the score, but not the skill."
)
GROUPS_OF_AN_EVENT = (
    "Observed \N{MINUS SIGN} forecast is the event rate minus the mean forecast: positive where events are more "
    "frequent than forecast. Groups with different event rates have different scores even if they are forecast "
    "equally well."
)
MORE_GROUPS = "As above, by another variable. The p-values are adjusted for the groups of all variables together."
SMALL_GROUPS = "Groups that are too small have neither an interval nor a test."
MEANS = (
    "Means of the probability that the model gave to what happened. The arithmetic mean shows decisiveness. The "
    "geometric mean is the log score as a probability (sometimes called accuracy). The mean with exponent "
    "\N{MINUS SIGN}2/3 shows robustness. Divergence is the geometric mean divided by that of the recalibrated "
    "forecasts. The angle is 45 degrees for calibrated forecasts, up to sampling noise of several degrees; it is not "
    "a test."
)
_CALLS = (
    "Reliability curves are isotonic regressions of the outcomes on the forecasts (CORP). A case is acted on if its "
    "forecast is at least the threshold. Below each table and figure is the Python call that reproduces it. In these "
    "calls pr is propriety, "
)


def merits_words(measures: Iterable[Measure]) -> str:
    """Say which values of each measure are good.

    Examples
    --------
    >>> from propriety.evaluation.problem import Problem
    >>> merits_words(Problem(kind="binary").measures[-3:])
    'Ideal values: observed/expected 1, calibration intercept 0 and calibration slope 1.'
    """
    good: dict[str, list[str]] = {"Lower is better": [], "Higher is better": [], "Ideal values": []}
    for measure in measures:
        ideal, merit = measure.ideal, merit_of(measure)
        if ideal is not None:
            good["Ideal values"].append(f"{measure.label} {ideal:g}")
        elif merit is not None:
            good[f"{merit.capitalize()} is better"].append(measure.label)
    return " ".join(f"{said}: {listed(names)}." for said, names in good.items() if names)


def calls_words(calls: Calls, dropped: int) -> str:
    """Say what the names in the calls stand for.

    Examples
    --------
    >>> calls_words(Calls(shared=("by", "cluster")), 3)[-92:]
    ', and by and cluster are as given; rows in which any model has a missing value are left out.'
    >>> calls_words(Calls(data="ledger"), 0)[-66:]
    'ledger holds the tables and moments of the models (result.ledger).'
    """
    if calls.data == "ledger":
        return f"{_CALLS}ledger holds the tables and moments of the models (result.ledger)."
    if calls.data == "cases":
        return f"{_CALLS}cases holds the outcomes and forecasts, as propriety.cases read them."
    said = "y holds the outcomes, forecasts maps the name of each model to its probabilities"
    if calls.shared:
        said += f", and {listed(calls.shared)} {'are' if len(calls.shared) > 1 else 'is'} as given"
    if dropped:
        said += "; rows in which any model has a missing value are left out"
    return f"{_CALLS}{said}."
