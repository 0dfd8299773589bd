"""Measures of abstention: how well the confidence of answers separates the right from the wrong ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc

from propriety import checks
from propriety.calibration.bands import rate_limits
from propriety.diagnostics.retention import Answers, answers_of
from propriety.inference.estimates import FEWEST, FEWEST_HELD
from propriety.inference.measures.measure import HALF, Imagination, Influence, Measure
from propriety.inference.notes import Note
from propriety.result import Floats
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.pooling import running_sum

TINY = 1e-12  # Replaces zero answers, for which the beta distribution is not defined.


class _OfAnswers(Measure):
    """The common part of measures of answers and their confidence."""

    threshold: float
    fewest: ClassVar[int] = FEWEST  # Right and wrong answers that limits need.
    of_answers = True  # For class probabilities, the answer is the most likely class; see `answers_ledger`.

    def __post_init__(self) -> None:
        checks.number(self.threshold, "threshold", least=0.0, most=1.0)

    def imagination(self, table: ForecastTable) -> Imagination | None:
        """Return nothing: confidences count by their order, and need not be probabilities of a right answer."""
        del table
        return None

    def _answers(self, table: ForecastTable) -> Answers:
        return answers_of(table, self.threshold)

    def caveat(self, table: ForecastTable) -> Note | None:
        """Return a note if there are too few right or wrong answers for the interval to be reliable."""
        answers = self._answers(table)
        shares = {"wrong answer": answers.error_rate, "right answer": 1.0 - answers.error_rate}
        # With weights, the table does not say how many answers are wrong; the effective number of cases is known.
        numbers = {name: round(share * table.effective_n) for name, share in shares.items()}
        few = tuple((number, name, None, "") for name, number in numbers.items() if number < self.fewest)
        return Note("few", {"counts": few}) if few else None


def _by_row(answers: Answers, moves: tuple[Floats, Floats]) -> Influence:
    """Return the influence by row of the table, where a right answer is an event or not."""
    right, wrong = (of_step[answers.step] for of_step in moves)
    return Influence(np.where(answers.is_event, right, wrong), np.where(answers.is_event, wrong, right))


@dataclass(frozen=True)
class Accuracy(_OfAnswers):
    """Share of the answers that are right; higher is better.

    It says nothing about the probabilities, and is high for rare events if nobody is ever said to have one.

    Parameters
    ----------
    threshold : float
        For forecasts of one event, the probability from which the answer is the event.

    Examples
    --------
    >>> Accuracy().value(ForecastTable.from_predictions([0, 1, 0, 1], [0.1, 0.3, 0.6, 0.8]))
    0.5
    """

    threshold: float = HALF

    fewest: ClassVar[int] = FEWEST_HELD
    key = "accuracy"
    higher_is_better = True
    range = (0.0, 1.0)

    def value(self, table: ForecastTable) -> float:
        """Return the share."""
        return 1.0 - self._answers(table).error_rate

    def imagination(self, table: ForecastTable) -> Imagination:
        """Return the accuracy as the probability of any right answer, and what one case at the threshold can change."""
        right = self.value(table)
        return Imagination(rate=np.where(self._answers(table).is_event, right, 1.0 - right), edge=1.0)

    def influence(self, table: ForecastTable) -> Influence:
        """Return whether an answer is right, less the accuracy."""
        answers = self._answers(table)
        right, value = answers.is_event.astype(np.float64), 1.0 - answers.error_rate
        return Influence(right - value, 1.0 - right - value)


@dataclass(frozen=True)
class AreaUnderRiskCoverage(_OfAnswers):
    r"""Area under the risk-coverage curve, AURC: the mean risk over all coverages; lower is better.

    .. math:: \mathrm{AURC} = \frac1n \sum_{k=1}^n \frac1k \sum_{i=1}^k l_i

    where :math:`l_i` is 1 if the answer with the i-th highest confidence is wrong. Equal confidences are averaged over
    their orders. Weights are scaled to a mean of 1, and :math:`\sum 1/k` is continued by the digamma function.

    Parameters
    ----------
    threshold : float
        For forecasts of one event, the probability from which the answer is the event; the confidence is the
        probability of the answer. 0 if the outcomes say whether answers were right and the forecasts are confidences.

    References
    ----------
    Geifman, Uziel & El-Yaniv (2019), arXiv:1805.08206; Zhou et al. (2024), arXiv:2410.15361, for the estimator.

    Examples
    --------
    >>> table = ForecastTable.from_predictions([0, 1, 0, 1], [0.1, 0.3, 0.6, 0.8])
    >>> round(AreaUnderRiskCoverage().value(table), 6)
    0.208333
    """

    threshold: float = 0.5

    key = "aurc"
    label = "area under the risk-coverage curve"
    higher_is_better = False
    range = (0.0, 1.0)
    scale = "log"

    def value(self, table: ForecastTable) -> float:
        """Return the area."""
        return self._answers(table).mean_risk()

    def influence(self, table: ForecastTable) -> Influence:
        """Return the influence: the error of the case itself, and those of less confident answers that it moves."""
        answers = self._answers(table)
        return _by_row(answers, answers.moves_of_mean_risk())


@dataclass(frozen=True)
class AreaUnderGeneralizedRiskCoverage(_OfAnswers):
    r"""Area under the generalized risk-coverage curve, AUGRC; lower is better.

    The generalized risk at a coverage is the share of all cases that are answered, and wrongly. Its area is the mean
    share of undetected errors,

    .. math:: \mathrm{AUGRC} = (1 - \mathrm{AUROC})\, a\, e + e^2 / 2

    with the accuracy a, the error rate e = 1 - a, and the probability AUROC that a right answer has a higher confidence
    than a wrong one, where ties count half.

    Parameters
    ----------
    threshold : float
        As in `AreaUnderRiskCoverage`.

    References
    ----------
    Traub et al. (2024), arXiv:2407.01032.

    Examples
    --------
    >>> table = ForecastTable.from_predictions([0, 1, 0, 1], [0.1, 0.3, 0.6, 0.8])
    >>> AreaUnderGeneralizedRiskCoverage().value(table)
    0.125
    """

    threshold: float = 0.5

    key = "augrc"
    label = "area under the generalized risk-coverage curve"
    higher_is_better = False
    range = (0.0, 0.5)
    scale = "log"

    def value(self, table: ForecastTable) -> float:
        """Return the area."""
        return self._answers(table).mean_joint_risk()

    def influence(self, table: ForecastTable) -> Influence:
        """Return the influence: the error of the case itself, and those of less confident answers that it moves."""
        answers = self._answers(table)
        return _by_row(answers, answers.moves_of_mean_joint_risk())


@dataclass(frozen=True)
class AccuracyAtCoverage(_OfAnswers):
    """Accuracy of the most confident answers, a given share of all; higher is better.

    Equal confidences are taken in random order; the value is the expected accuracy.

    Parameters
    ----------
    coverage : float
        The share, in (0, 1].
    threshold : float
        As in `AreaUnderRiskCoverage`.

    Examples
    --------
    >>> table = ForecastTable.from_predictions([1, 1, 0, 1], [0.9, 0.8, 0.6, 0.6])
    >>> AccuracyAtCoverage(0.5).value(table), AccuracyAtCoverage(1.0).value(table)
    (1.0, 0.75)
    """

    coverage: float
    threshold: float = 0.5

    higher_is_better = True
    range = (0.0, 1.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.number(self.coverage, "coverage", above=0.0, most=1.0)
        share = repr(float(self.coverage))
        self.declare(key=f"accuracy_at_coverage_{share}", label=f"accuracy at a coverage of {share}")

    def value(self, table: ForecastTable) -> float:
        """Return the accuracy."""
        return self.value_of(self._answers(table))

    def value_of(self, answers: Answers) -> float:
        """Return the accuracy of answers."""
        return 1.0 - answers.risk_at(self.coverage)

    def least_limits(self, table: ForecastTable, value: float, level: float) -> tuple[float, float]:
        """Return the Clopper-Pearson limits: few answers, all right, say little, though no draw of them differs."""
        return rate_limits(value, self.coverage * table.effective_n, level)


@dataclass(frozen=True)
class CoverageAtAccuracy(_OfAnswers):
    """Largest share of cases that can be answered with a given accuracy; higher is better.

    Answers are taken from the most confident down, and equal confidences together. It is 0 if no share of the cases is
    answered so accurately.

    Parameters
    ----------
    accuracy : float
        The accuracy required, in [0, 1].
    threshold : float
        As in `AreaUnderRiskCoverage`.

    Examples
    --------
    >>> table = ForecastTable.from_predictions([1, 1, 0, 1], [0.9, 0.8, 0.7, 0.6])
    >>> CoverageAtAccuracy(0.9).value(table), CoverageAtAccuracy(0.75).value(table)
    (0.5, 1.0)
    """

    accuracy: float
    threshold: float = 0.5

    higher_is_better = True
    range = (0.0, 1.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.number(self.accuracy, "accuracy", least=0.0, most=1.0)
        share = repr(float(self.accuracy))
        self.declare(key=f"coverage_at_accuracy_{share}", label=f"coverage at an accuracy of {share}")

    def value(self, table: ForecastTable) -> float:
        """Return the coverage."""
        return self.value_of(self._answers(table))

    def value_of(self, answers: Answers) -> float:
        """Return the coverage of answers."""
        # An accuracy that is met exactly must not be missed by rounding.
        return _last(answers, 1.0 - answers.risk >= self.accuracy - 1e-12)

    def least_limits(self, table: ForecastTable, value: float, level: float) -> tuple[float, float]:
        """Return the last coverages at which the answers are shown to be, and may be, as accurate, by binomial tests.

        The value is where a wavering curve last reaches the accuracy, and is too high on average. Draws of the cases
        waver too.
        """
        del value
        answers = self._answers(table)
        scale = table.effective_n / table.n
        right, wrong = (scale * running_sum(part) for part in (answers.right, answers.wrong))
        as_many_right = betainc(np.maximum(right, TINY), wrong + 1.0, self.accuracy)
        as_many_wrong = betainc(np.maximum(wrong, TINY), right + 1.0, 1.0 - self.accuracy)
        outside = (1.0 - level) / 2.0
        shown, may_be = as_many_right <= outside, (as_many_wrong > outside) | (wrong == 0.0)
        return _last(answers, shown), _last(answers, may_be)


def _last(answers: Answers, holds: NDArray[np.bool_]) -> float:
    """Return the largest coverage at which something holds; 0 if it never does."""
    places = np.flatnonzero(holds)
    return float(answers.coverage[places[-1]]) if len(places) else 0.0
