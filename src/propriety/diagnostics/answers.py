"""Answers in order of confidence: the selective risk at each coverage, and the areas under the risk curves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma

from propriety.result import Floats
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.pooling import running_sum


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """Right and wrong answers by confidence, the highest first; equal confidences are one step.

    Positions are cumulative weights, scaled to a mean weight of 1; they are ranks if all weights are equal.

    Parameters
    ----------
    confidence : ndarray of shape (steps,)
        Distinct confidences, decreasing.
    right, wrong : ndarray of shape (steps,)
        Right and wrong answers of each step, in positions; they sum to the number of cases.
    is_event : ndarray of shape (rows,)
        For each row of the table, whether the answer is the event.
    step : ndarray of shape (rows,)
        For each row of the table, its step.
    """

    confidence: Floats
    right: Floats
    wrong: Floats
    is_event: NDArray[np.bool_]
    step: NDArray[np.intp]

    @property
    def end(self) -> Floats:
        """Position of the last answer of each step."""
        return running_sum(self.right + self.wrong)

    @property
    def coverage(self) -> Floats:
        """Share of the cases that are answered if all steps up to this one are answered."""
        end = self.end
        share: Floats = end / end[-1]
        return share

    @property
    def risk(self) -> Floats:
        """Share of wrong answers among the cases that are answered."""
        return running_sum(self.wrong) / self.end

    @property
    def error_rate(self) -> float:
        """Share of wrong answers among all cases."""
        return float(self.wrong.sum() / (self.right + self.wrong).sum())

    def risk_at(self, coverage: float) -> float:
        """Return the expected risk at a coverage if equal confidences are taken in random order."""
        end, wrong = np.append(0.0, self.end), np.append(0.0, running_sum(self.wrong))
        place = coverage * end[-1]
        return float(np.interp(place, end, wrong) / place)

    def mean_risk(self) -> float:
        """Return AURC: the mean of the risk over the coverages 1/n, 2/n, ..., 1."""
        return float(self.wrong @ self._risk_shares()) / float(self.end[-1])

    def mean_joint_risk(self) -> float:
        """Return AUGRC: the integral over the coverage of the share of cases that are answered wrongly."""
        size, wrong = self.right + self.wrong, running_sum(self.wrong)
        return float(size @ (wrong - self.wrong / 2.0)) / float(size.sum()) ** 2

    def least_mean_risk(self) -> float:
        """Return the lowest AURC possible with this number of errors: all wrong answers come last."""
        n, wrong = float(self.end[-1]), float(self.wrong.sum())
        right = n - wrong
        return (wrong - right * float(digamma(n + 1.0) - digamma(right + 1.0))) / n

    def moves_of_mean_risk(self) -> tuple[Floats, Floats]:
        """Return the influence on AURC of a right and of a wrong answer in each step."""
        size, end, harmonic = self._blocks()
        start, rate = end - size, self.wrong / size
        after = rate * harmonic
        # Among equal confidences, a case precedes each other case with probability 1/2, and never itself.
        beside = rate * (1.0 - (start + np.minimum(size, 1.0)) * harmonic / size)
        return self._centred(self._risk_shares(), _below(after) + beside)

    def moves_of_mean_joint_risk(self) -> tuple[Floats, Floats]:
        """Return the influence on AUGRC of a right and of a wrong answer in each step."""
        size, end, _ = self._blocks()
        n = float(end[-1])
        return self._centred((n - end + size / 2.0) / n, (_below(self.wrong) + self.wrong / 2.0) / n)

    def _risk_shares(self) -> Floats:
        """Return the sum of 1/j over all positions j not before an answer, averaged over each step."""
        size, end, harmonic = self._blocks()
        return 1.0 + _below(harmonic) - (end - size) * harmonic / size

    def _blocks(self) -> tuple[Floats, Floats, Floats]:
        """Return the size and the end of each step, and the sum of 1/j over its positions j."""
        size, end = self.right + self.wrong, self.end
        return size, end, np.diff(digamma(np.append(0.0, end) + 1.0))

    def _centred(self, own: Floats, later: Floats) -> tuple[Floats, Floats]:
        """Return influences with mean zero: what a wrong answer adds, minus the effect of moving later errors back.

        They are 0 if all answers are right, or all are wrong: the sample then does not show how the area varies.
        """
        if not (self.right.any() and self.wrong.any()):
            return np.zeros(len(own)), np.zeros(len(own))
        mean = float(self.wrong @ (own - later) - self.right @ later) / float(self.end[-1])
        return -later - mean, own - later - mean


def _below(values: Floats) -> Floats:
    """Return the sum over the later steps."""
    return running_sum(values[::-1])[::-1] - values


def answers_of(table: ForecastTable, threshold: float) -> Answers:
    """Return the answers that a table implies: "event" if the forecast reaches the threshold, else "no event".

    The confidence is the probability of the answer. With a threshold of 0 the answer is always the event, so the
    table holds confidences, with the right answers as events.

    Examples
    --------
    >>> table = ForecastTable.from_predictions([0, 0, 1, 1], [0.25, 0.75, 0.75, 0.875])
    >>> answers = answers_of(table, 0.5)
    >>> answers.confidence, answers.right, answers.wrong
    (array([0.875, 0.75 ]), array([1., 2.]), array([0., 1.]))
    """
    is_event = table.forecast >= threshold
    confidence = np.where(is_event, table.forecast, 1.0 - table.forecast)
    if threshold > 0.0:
        confidence = np.round(confidence, 14)  # 1 - 0.07 is not quite 0.93, and both are the same confidence.
    distinct, step = np.unique(-confidence, return_inverse=True)
    scale = table.n / table.weight if table.is_weighted else 1.0
    right = scale * np.bincount(step, np.where(is_event, table.events, table.non_events)).astype(np.float64)
    wrong = scale * np.bincount(step, np.where(is_event, table.non_events, table.events)).astype(np.float64)
    return Answers(-distinct, right, wrong, is_event, step)
