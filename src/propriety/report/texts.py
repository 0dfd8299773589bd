"""What the report says in every evaluation."""

from __future__ import annotations

__all__ = ["CALIBRATION", "CALLS", "DECISIONS", "GROUPS", "MEANS", "PARTS", "RANKING", "SCORES"]

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
DECISIONS = "What a forecast is worth depends on the thresholds at which people act on it."
RANKING = (
    "Each point is an interval of thresholds, coloured by the model with the lowest mean regret there; pale where the "
    "lead is within noise."
)
GROUPS = (
    "The same score within each group, how far the event rate lies from the mean forecast there, and a test of each "
    "group against the rest, adjusted for their number. A group with another event rate has another score even if it "
    "is forecast equally well."
)
MEANS = (
    "Means of the probability that the model gave to what happened: arithmetic (decisiveness), geometric (accuracy, "
    "the log score as a probability) and with exponent \N{MINUS SIGN}2/3 (robustness). The divergence is the accuracy "
    "over that of the recalibrated forecasts; an angle above 45 degrees tells over-confidence, below it "
    "under-confidence."
)
CALLS = (
    "Reliability curves are isotonic regressions of the outcomes on the forecasts (CORP). A case is acted on if its "
    "forecast is at least the threshold. Beside every table and figure stands the call that makes it alone; there pr "
    "is propriety, y holds the outcomes and forecasts the probabilities of each model by name."
)
