"""Notes beside findings: facts, and cautions about a number, as values of which sentences are made where shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from propriety.errors import InputValueError

Severity: TypeAlias = Literal["fact", "caution"]

# What a note can be about, and whether it is a fact or a caution about the number of its row.
NOTES: dict[str, Severity] = {
    "adjusted": "fact",  # The limits exclude the ideal value, the adjusted p-value does not.
    "part-alone": "fact",  # A size shows an error by itself, the test of all parts does not.
    "no-better-side": "fact",  # A difference of which no side is better.
    "no-limits": "fact",  # Neither limits nor a p-value.
    "needs-cases": "fact",  # What is missing needs the cases.
    "refuted": "fact",  # Forecasts of exactly 0 or 1 were wrong.
    "number": "fact",  # Only the number of events was tested, because there are few.
    "certain": "fact",  # Forecasts of exactly 0 or 1, which have no log-odds.
    "shape": "fact",  # The curve departs from the diagonal beyond a line in the log-odds.
    "temperature": "fact",  # Class probabilities are too extreme or too timid on the whole.
    "classes": "fact",  # Classes that are shown to be wrong, the clearest first.
    "scarce": "fact",  # What there is too little of.
    "too-few": "fact",  # A group, or the rest, has too few cases, outcomes or clusters for a test.
    "infinite": "fact",  # The value is infinite, or one of those that are compared, or it is undefined.
    "shared-units": "fact",  # Groups share clusters or periods, whose contributions are not known.
    "many-groups": "fact",  # Too many groups for a test of each.
    "no-interval": "fact",  # A side of a difference has no interval.
    "only-independent": "fact",  # The interval is known for independent cases only.
    "untested-classes": "fact",  # Classes that are too rare to be tested by themselves.
    "many": "fact",  # Too many cut points to be tested at once.
    "approximate": "caution",  # A side of a difference has few of an outcome.
    "neighbours": "caution",  # Neighbouring periods count as independent.
    "conservative": "caution",  # A test that rejects too seldom.
    "few-draws": "caution",  # The draws cannot show a p-value as small as the level needs.
    "few-decide": "caution",  # Few cases determine the slope, so that the test may reject too often.
    "correlated-periods": "caution",  # Correlated periods are worth few independent ones.
    "correlated-neighbours": "caution",  # Neighbouring periods are alike, of which a monitor takes no account.
    "few-periods": "caution",  # So few periods that their correlation cannot be seen.
    "fixed-numbers": "caution",  # Weights as of a study that fixed the numbers of events and of non-events.
    "censoring": "caution",  # Censoring depends on the forecasts.
    "few": "caution",  # Numbers that are too small for an interval to be reliable.
    "few-followed": "caution",  # Few cases are followed up until the horizon.
    "jumps": "caution",  # The event rate seems to jump between neighbouring forecasts.
    "measure": "caution",  # What a measure says of its own value or interval.
    "nothing-varies": "fact",  # There is no interval, because nothing varies in the sample.
    "infinite-mean": "fact",  # An outcome with a forecast of 0 happened.
    "undefined": "fact",  # Why there is no value.
    "single": "fact",  # A single case, cluster or period has no spread.
    "equal-forecasts": "fact",  # There is no interval, because all forecasts are equal.
    "no-overlap": "fact",  # Events and non-events do not overlap.
    "noisy": "fact",  # A number without an interval, which noise inflates.
    "biased": "caution",  # Draws are far from the value.
    "dropped": "fact",  # Rows that were left out because of missing values.
    "same": "fact",  # Two models have the same value in every case.
    "one-unit": "fact",  # A single case, cluster or period.
    "one-outcome": "fact",  # Fewer than two cases with the event, or without it.
    "no-spread": "fact",  # Two models differ by as much in every case.
    "value-only": "fact",  # A comparison computes no limits of a single model.
    "inflated": "fact",  # Noise inflates the measure, for each model differently.
    "light": "fact",  # The weight of the cases is that of hardly more than one.
    "lost-draws": "fact",  # Draws in which the measure has no value.
    "biased-draws": "fact",  # Draws as of a measure that noise inflates.
    "equal-draws": "fact",  # Hardly any draw differs, so that there are no limits.
    "improper": "caution",  # A rule that is not proper, or not declared so.
    "sums-only": "caution",  # Moments at another event rate, without the cases.
    "too-flexible": "caution",  # Both corrections for optimism differ widely.
    "drawn-by-class": "fact",  # Samples were drawn within each class, because one is rare.
    "drawn-again": "caution",  # Samples of groups that lacked a rare class were drawn again.
    "groups-drawn": "caution",  # Draws of few groups.
    "unusual-parts": "caution",  # Draws or parts in which a measure is undefined or infinite.
    "never-tested": "caution",  # Cases that no part of a cross-validation tests.
    "tested-again": "fact",  # Cases that are tested more than once.
    "left-out": "fact",  # Parts of a cross-validation in which a measure is undefined.
    "known-weights": "fact",  # Weights of censoring are taken as known.
    "stands-out": "fact",  # A group whose error is not that of the other groups.
    "groups-left-out": "fact",  # Groups that a mean over groups does not contain.
    "infinite-groups": "fact",  # Groups whose value is infinite, and so is the mean.
    "clipped": "fact",  # Limits beyond the range of the measure were clipped to it.
    "few-groups": "caution",  # So few groups that their variance is hardly known.
    "groups-of-few": "caution",  # Groups of few outcomes in a mean over groups.
}


@dataclass(frozen=True, slots=True)
class Note:
    """A fact or a caution beside a finding, as a value; sentences are made of it where it is shown.

    Parameters
    ----------
    code : str
        What it is about, one of a closed list.
    parts : mapping of str to object
        The numbers and names of the sentence.

    Examples
    --------
    >>> Note("refuted", {"number": 3}).severity
    'fact'
    """

    code: str
    parts: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.code not in NOTES:
            raise InputValueError("must be the code of a note", argument="code", got=self.code)

    @property
    def severity(self) -> Severity:
        """Whether it is a fact, or a caution about the number of its row."""
        return NOTES[self.code]
