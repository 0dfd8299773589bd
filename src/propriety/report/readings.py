"""How to read each figure of a report."""

from __future__ import annotations

RELIABILITY = (
    "Go from a forecast on the horizontal axis up to the curve, and read on the vertical axis how often the event "
    "happened. On the diagonal the two agree. A curve above it means that forecasts were too low there. A curve "
    "that is flatter than the diagonal means that forecasts were too extreme, a steeper one that they were too "
    "timid."
)
SMOOTH = (
    "The line is the estimated event rate at each forecast, and the shaded band its uncertainty. Where the band "
    "does not touch the diagonal, forecasts were probably too low (band above) or too high (band below). The band "
    "is for one forecast at a time. Trust the curve only where the histogram shows cases."
)
TOP = (
    "Go from the probability of the most likely class on the horizontal axis up to the curve, and read how often "
    "this class happened. Below the diagonal, the model is more confident than it is right."
)
CONFUSION = (
    "Each row is a class that happened, and its cells count the answers. Counts on the diagonal are right. A strongly "
    "coloured cell away from the diagonal is a class that is often taken for another one."
)
CUT_POINTS = (
    "Each line is a model, and each step a cut point between two neighbouring grades. A model whose miscalibration is "
    "high at one cut point is wrong about the grades around it."
)
DECOMPOSITION = (
    "Each point is a model. Further to the left its probabilities are better calibrated; further up they separate "
    "events from non-events better. Models on the same grey line have the same score."
)
NET_BENEFIT = (
    "Choose the threshold at which you would act. The highest line there is the best strategy. A model that lies "
    "below acting on everybody, or below 0 (acting on nobody), should not be used at that threshold. Small "
    "differences may be due to chance: see the table of differences."
)
MURPHY = (
    "Choose the threshold at which you would act. The lowest line there is the best model. A model whose line is "
    "lowest everywhere is better for every user."
)
RANKING = (
    "The horizontal and vertical positions are the two ends of a threshold range. The colour is the model with the "
    "best decisions over it; hatching, where there is any, means that chance could explain its advantage."
)
ROC = (
    "Each point of a line is a threshold. Higher and further to the left is better; the diagonal is chance. The "
    "area is the probability that a case with the event has a higher forecast than one without. It does not depend "
    "on calibration, so a high area does not mean that the probabilities are right."
)
PRECISION = (
    "Choose how many of the events must be found (horizontal axis), and read how many of the alerts would then be "
    "right. The curves depend on the prevalence, so they cannot be compared between populations."
)
GAIN = "Choose which share of the cases you can act on, and read which share of the events you would find."
LIFT = (
    "Choose which share of the cases you can act on. A lift of 3 means three times as many events as among random "
    "cases."
)
RISK_COVERAGE = (
    "Choose the share of the cases that the model should answer (horizontal axis), and read how many of its answers "
    "would be wrong. The cases in which its most likely class has the highest probability are answered first. At the "
    "right end all cases are answered. A flat line means that the confidence does not tell right from wrong answers."
)
DIFFERENCES = (
    "Each line is a pair of models, with the interval of the difference. If the interval contains 0, the data do "
    "not show which model is better."
)
RANKS = "Models whose possible ranks overlap are not shown to differ."
