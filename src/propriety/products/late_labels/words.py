"""Sentences about labels that arrive late."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from propriety.number_words import capitalized, counted, hundredths, number, p_value_words, percent

if TYPE_CHECKING:
    from propriety.products.late_labels.late_labels import LabelRevision, LateLabels


def summary_of_labels(labels: LateLabels) -> str:
    """Describe each window in a sentence, and say what is assumed."""
    median, most, oldest = labels.age_at(0.5), labels.age_at(0.9), int(labels.oldest[-1])
    lines = [f"Half of the events are reported within {_days(median)}, 90% within {_days(most)}."]
    for row in range(len(labels.n)):
        mature = row == len(labels.n) - 1
        ratio, low, high = (labels.observed_expected[row], labels.low[row], labels.high[row])
        scores = (labels.score[row], labels.score_low[row], labels.score_high[row])
        what = "reported so far" if not mature else "reported"
        share = "" if math.isnan(labels.maturity[row]) else f" ({percent(labels.maturity[row], 2)} of all)"
        lines.append(
            f"{_window(labels, row)}: {counted(int(labels.reported[row]), 'event')} {what}, "
            f"{number(labels.expected[row])} expected{share}. Observed/expected "
            f"{_limits(ratio, low, high, hundredths)}; {_verdict(labels.p_value[row], 1.0 - labels.level)}. "
            f"{capitalized(labels.label)} {_limits(*scores, number)}. With the labels as they are: "
            f"{_known(labels.as_labelled[row], hundredths)} and {_known(labels.score_as_labelled[row], number)}."
            + (f" Note: {labels.note[row]}." if labels.note[row] else "")
        )
    lines.append(
        f"If delays are 20% longer or shorter than estimated, observed/expected of the last "
        f"{_days(int(labels.oldest[0]) + 1)} is {_known(labels.if_slower[0], hundredths)} or "
        f"{_known(labels.if_faster[0], hundredths)}."
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
        limits = float(revision.low_before[row]), float(revision.high_before[row])
        inside = "inside" if limits[0] <= after <= limits[1] else "outside"
        where = "" if math.isnan(after + limits[0]) else f", {inside} these limits"
        then = int(revision.reported_before[row])
        lines.append(
            f"Forecasts then {int(revision.youngest[row])} to {_days(int(revision.oldest[row]))} old: "
            f"{counted(then, 'event')} {'was' if then == 1 else 'were'} reported, now {revision.reported[row]:,}. "
            f"Observed/expected was {_limits(before, *limits, hundredths)} and is {_known(after, hundredths)}{where}. "
            f"{capitalized(revision.label)} was {_known(revision.score_before[row], number)} and is "
            f"{_known(revision.score[row], number)}."
        )
    return "\n".join(lines)


def _known(value: float, words: Callable[[float], str]) -> str:
    return "not estimable" if math.isnan(value) else words(value)


def _limits(value: float, low: float, high: float, words: Callable[[float], str]) -> str:
    """Return a value with its limits, where they are known."""
    return _known(value, words) + ("" if math.isnan(low) else f" ({words(low)} to {words(high)})")


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
