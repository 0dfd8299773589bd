"""What the report says in every evaluation."""

from __future__ import annotations

from propriety.evaluation.calls import Calls

__all__ = [
    "BAND",
    "CALIBRATION",
    "DECISIONS",
    "DEPENDENT_BAND",
    "DEPENDENT_RANKING",
    "GROUPS",
    "GROUPS_IN_TIME",
    "MEANS",
    "PARTS",
    "RANKING",
    "SCORES",
    "calls_words",
]

SCORES = (
    "The models are ranked by the {headline}. A score is a mean loss, lower is better; skill, discrimination, net "
    "benefit and the area under the ROC curve are better when higher. Beside each number stands its {level} interval."
)
PARTS = (
    "Brier score = miscalibration \N{MINUS SIGN} discrimination + uncertainty. Recalibration fits some noise, so that "
    "miscalibration and discrimination are a little too large; their intervals are corrected for that."
)
CALIBRATION = (
    "Of the cases that a calibrated model calls 20%, one in five has the event. The curves show how often the event "
    "happened among cases with the same forecast: above the diagonal forecasts were too low, below it too high."
)
BAND = "Outside the grey {level} band chance alone does not explain the distance from the diagonal."
DEPENDENT_BAND = (
    "Outside the grey {level} band chance alone would not explain the distance from the diagonal if the cases were "
    "independent; here they are in {what}, and the band may be too narrow."
)
DECISIONS = "What a forecast is worth depends on the thresholds at which people act on it."
_RANKING = "Each point is an interval of thresholds, coloured by the model with the lowest mean regret there"
RANKING = f"{_RANKING}; pale where the lead is within noise."
DEPENDENT_RANKING = (
    f"{_RANKING}. Which leads are noise is not shown: that is known of independent cases, and here they are in "
    "{what}."
)
GROUPS = (
    "The same score within each group, how far the event rate lies from the mean forecast there, and a test of each "
    "group against the rest, adjusted for their number. A group with another event rate has another score even if it "
    "is forecast equally well."
)
GROUPS_IN_TIME = "Intervals and tests take neighbours in time for independent, and may be too narrow and too sure."
MEANS = (
    "Means of the probability that the model gave to what happened: arithmetic (decisiveness), geometric (accuracy, "
    "the log score as a probability) and with exponent \N{MINUS SIGN}2/3 (robustness). The divergence is the accuracy "
    "over that of the recalibrated forecasts; an angle above 45 degrees tells over-confidence, below it "
    "under-confidence."
)
_CALLS = (
    "Reliability curves are isotonic regressions of the outcomes on the forecasts (CORP). A case is acted on if its "
    "forecast is at least the threshold. Beside every table and figure stands the call that makes it alone; there pr "
    "is propriety, "
)


def calls_words(calls: Calls, dropped: int) -> str:
    """Say what the names in the calls stand for.

    Examples
    --------
    >>> calls_words(Calls(shared=("by", "cluster")), 3)[-93:]
    'and by and cluster are as given, all of them without the rows that miss a value of any model.'
    """
    if calls.tabled:
        return (
            f"{_CALLS}tables holds the forecast table of each model by name, and moments the moments of their losses."
        )
    said = "y holds the outcomes and forecasts the probabilities of each model by name"
    if calls.shared:
        *others, last = calls.shared
        names = f"{', '.join(others)} and {last}" if others else last
        said += f", and {names} {'are' if others else 'is'} as given"
    if dropped:
        said += ", all of them without the rows that miss a value of any model"
    return f"{_CALLS}{said}."
