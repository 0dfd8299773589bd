"""Sentences about labels that arrive late."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from propriety.inference.number_words import hundredths, number, p_value_words, percent

if TYPE_CHECKING:
    from propriety.inference.late_labels import LabelRevision, LateLabels

__all__ = ["summary_of_labels", "summary_of_revision"]

FEWEST = 4  # With fewer reported events, limits of the score may be too narrow; see `studies/late_labels.py`.


def summary_of_labels(labels: LateLabels) -> str:
    """Describe each window in a sentence, and say what is assumed."""
    median, most, oldest = labels.age_at(0.5), labels.age_at(0.9), int(labels.oldest[-1])
    lines = [f"Half of the events are reported within {_days(median)}, 90% within {_days(most)}."]
    for row in range(len(labels.n)):
        mature = row == len(labels.n) - 1
        ratio, low, high = (labels.observed_expected[row], labels.low[row], labels.high[row])
        what = "reported so far" if not mature else "reported"
        lines.append(
            f"{_window(labels, row)}: {labels.reported[row]:,} events {what}, {number(labels.expected[row])} expected "
            f"({percent(labels.maturity[row], 2)} of all). Observed/expected {hundredths(ratio)} ({hundredths(low)} to "
            f"{hundredths(high)}); {_verdict(labels.p_value[row], 1.0 - labels.level)}. {labels.label} "
            f"{number(labels.score[row])} ({number(labels.score_low[row])} to {number(labels.score_high[row])}). "
            f"With the labels as they are: {hundredths(labels.as_labelled[row])} and "
            f"{number(labels.score_as_labelled[row])}."
            + (" Few events: the limits of the score may be too narrow." if labels.reported[row] < FEWEST else "")
        )
    lines.append(
        f"If delays are 20% longer or shorter than estimated, observed/expected of the last "
        f"{_days(int(labels.oldest[0]) + 1)} is {hundredths(labels.if_slower[0])} or {hundredths(labels.if_faster[0])}."
    )
    lines.append(
        f"Assumed: delays do not depend on the forecast or the day, and every event is reported within {_days(oldest)}."
    )
    return "\n".join(lines)


def summary_of_revision(revision: LabelRevision) -> str:
    """Say in a sentence per window what has changed."""
    lines = [f"{_days(revision.days)} later:"]
    for row in range(len(revision.n)):
        before, after = revision.observed_expected_before[row], revision.observed_expected[row]
        inside = revision.low_before[row] <= after <= revision.high_before[row]
        lines.append(
            f"Forecasts then {int(revision.youngest[row])} to {_days(int(revision.oldest[row]))} old: "
            f"{revision.reported_before[row]:,} events were reported, now {revision.reported[row]:,}. "
            f"Observed/expected was {hundredths(before)} ({hundredths(revision.low_before[row])} to "
            f"{hundredths(revision.high_before[row])}) and is {hundredths(after)}, {'inside' if inside else 'outside'} "
            f"these limits. {revision.label} was {number(revision.score_before[row])} and is "
            f"{number(revision.score[row])}."
        )
    return "\n".join(lines)


def _window(labels: LateLabels, row: int) -> str:
    youngest, oldest = int(labels.youngest[row]), int(labels.oldest[row])
    if row == len(labels.n) - 1:
        return f"Forecasts at least {_days(youngest)} old (mature)"
    if oldest == int(labels.oldest[-1]):
        return "All forecasts"
    return f"Last {_days(oldest + 1)}"


def _verdict(p_value: float, alpha: float) -> str:
    if math.isnan(p_value):
        return "calibration is not tested"
    found = "miscalibrated" if p_value < alpha else "consistent with calibrated forecasts"
    return f"{found}, {p_value_words(p_value)}"


def _days(number_of_days: int) -> str:
    return f"{number_of_days:,} day" + "s" * (number_of_days != 1)
