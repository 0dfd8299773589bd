"""The risk-coverage curve of answers with a confidence."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from propriety import checks, demands
from propriety.checks import check_level
from propriety.diagnostics.retention import Answers, answers_of
from propriety.errors import InputTypeError, ProprietyError
from propriety.inference.answers_ledger import answers_of_table, as_measured
from propriety.inference.finding import Finding
from propriety.inference.influence import estimate_from_influence
from propriety.inference.measures.answers import (
    AccuracyAtCoverage,
    AreaUnderGeneralizedRiskCoverage,
    AreaUnderRiskCoverage,
    CoverageAtAccuracy,
)
from propriety.ledger.ledger import Ledger
from propriety.ledger.sources import open_ledger
from propriety.result import Floats, Result
from propriety.tables.cases import Cases
from propriety.tables.events import TOP
from propriety.tables.forecast_table import ForecastTable, Outcomes
from propriety.tables.reading import refuse_frame

RANKS_HINT = "only their order matters; pass scipy.stats.rankdata(score) / len(score) of scores on another scale."
ONE_NUMBER_HINT = "pass the confidence of each answer, such as the highest probability of its row."
# What errors about outcomes and forecasts say about answers and confidences, by parameter and by code.
WORDS = {
    "y_true": "correct",
    "y_proba": "confidence",
    "forecasts": "correct",
    "forecast-of": "confidence",
    "events": "must hold 0 and 1 (or False and True) unless {pos_label} is given",
    "event-label-hint": "pass {pos_label=}, the label of right answers.",
    "labelled-hint": "pass {pos_label=} of that type, the label of right answers.",
    "labels-hint": ONE_NUMBER_HINT,
    "event-of-classes": "belongs to a binary outcome; {y_proba} must be one number per case",
    "event-hint": ONE_NUMBER_HINT,
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class RejectThreshold(Result):
    """The confidence below which abstaining is cheaper than answering; see `RiskCoverageCurve.reject_threshold`.

    Parameters
    ----------
    threshold : float
        Lowest confidence at which to answer: the threshold with the lowest mean cost in the sample. Infinite if it is
        cheapest never to answer.
    cost, coverage, risk : float
        Mean cost of a case at this threshold, share of cases answered, and share of wrong answers among them.
    chow_threshold : float
        Chow's threshold, 1 - reject_cost / error_cost, which is optimal if confidences are calibrated.
    chow_cost, chow_coverage, chow_risk : float
        The same numbers at Chow's threshold.
    cost_of_answering, cost_of_abstaining : float
        Mean cost of a case if all cases are answered, and if none is.
    reject_cost, error_cost : float
        Costs of abstaining and of a wrong answer; a right answer costs nothing.
    n : int
        Number of cases.
    """

    threshold: float
    cost: float
    coverage: float
    risk: float
    chow_threshold: float
    chow_cost: float
    chow_coverage: float
    chow_risk: float
    cost_of_answering: float
    cost_of_abstaining: float
    reject_cost: float
    error_cost: float
    n: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class RiskCoverageCurve(Result):
    """Risk against coverage, one row per distinct confidence, the highest first; see `risk_coverage_curve`.

    Parameters
    ----------
    threshold : array of shape (rows,)
        Answer the cases with at least this confidence.
    coverage : array of shape (rows,)
        Share of the cases that are answered.
    risk : array of shape (rows,)
        Share of wrong answers among them.
    generalized_risk : array of shape (rows,)
        Share of all cases that are answered wrongly: risk times coverage.
    aurc, augrc : Finding
        Areas under the curve of the risk and of the generalized risk, with intervals; lower is better.
    excess_aurc : float
        AURC minus the lowest value possible with this accuracy, reached if every wrong answer has a lower confidence
        than every right answer.
    accuracy : float
        Accuracy of all answers.
    level : float
        Level of the intervals.
    n, dropped : int
        Number of cases, and of rows left out because of missing values.
    """

    facts: ClassVar[tuple[str, ...]] = ("rows", "accuracy", "aurc", "augrc", "n", "dropped")

    threshold: Floats
    coverage: Floats
    risk: Floats
    generalized_risk: Floats
    aurc: Finding
    augrc: Finding
    excess_aurc: float
    accuracy: float
    level: float
    n: int
    dropped: int = 0
    answers: Answers = field(metadata={"hidden": True})

    def accuracy_at(self, coverage: float) -> float:
        """Return the accuracy of the most confident answers; `coverage` is their share of all cases.

        Equal confidences are taken in random order, and the expected accuracy is returned. For an interval, use
        ``estimate(correct, confidence, measures.AccuracyAtCoverage(coverage, threshold=0))``.

        Examples
        --------
        >>> risk_coverage_curve([1, 1, 0, 1], [0.9, 0.8, 0.6, 0.6]).accuracy_at(0.75)
        0.8333333333333334
        """
        return AccuracyAtCoverage(coverage).value_of(self.answers)

    def coverage_at(self, accuracy: float) -> float:
        """Return the largest share of cases that can be answered with this accuracy; equal confidences are not split.

        Examples
        --------
        >>> risk_coverage_curve([1, 1, 0, 1], [0.9, 0.8, 0.6, 0.6]).coverage_at(0.9)
        0.5
        """
        return CoverageAtAccuracy(accuracy).value_of(self.answers)

    def reject_threshold(self, reject_cost: float, error_cost: float = 1.0) -> RejectThreshold:
        r"""Return the confidence below which abstaining is cheaper than answering.

        If abstaining costs d and a wrong answer costs e, answering is cheaper if the probability of being right is at
        least :math:`1 - d / e` (Chow's rule). If the confidences are calibrated probabilities, that is the best
        threshold. Otherwise, the threshold with the lowest mean cost in the sample is better:

        .. math:: d\,(1 - c(t)) + e\, r(t)\, c(t)

        with coverage c and risk r. It is chosen and evaluated on the same cases, so its cost is optimistic. If
        several thresholds have the lowest cost, the highest is returned.

        Parameters
        ----------
        reject_cost : float
            Cost of abstaining, positive.
        error_cost : float
            Cost of a wrong answer, positive.

        References
        ----------
        Chow (1970), doi:10.1109/TIT.1970.1054406.

        Examples
        --------
        >>> curve = risk_coverage_curve([1, 1, 0, 1, 0], [0.9, 0.8, 0.7, 0.6, 0.5])
        >>> found = curve.reject_threshold(0.35)
        >>> found.threshold, round(found.cost, 3), found.chow_threshold, round(found.chow_cost, 3)
        (0.8, 0.21, 0.65, 0.34)
        """
        for name, value in (("reject_cost", reject_cost), ("error_cost", error_cost)):
            checks.number(value, name, above=0.0, below=math.inf)
        coverage = np.append(0.0, self.coverage)
        wrong = np.append(0.0, self.generalized_risk)
        cost = reject_cost * (1.0 - coverage) + error_cost * wrong
        chow = 1.0 - reject_cost / error_cost
        # Rounding must not decide between thresholds of equal cost.
        best = int(np.flatnonzero(cost <= cost.min() + 1e-12 * max(reject_cost, error_cost))[0])
        # A confidence of 0.7 in single precision is below 0.7 by 1e-8.
        by_chow = int(np.count_nonzero(self.threshold >= chow - 1e-7))
        risk = np.append(math.nan, self.risk)
        return RejectThreshold(
            threshold=float(np.append(math.inf, self.threshold)[best]),
            cost=float(cost[best]),
            coverage=float(coverage[best]),
            risk=float(risk[best]),
            chow_threshold=chow,
            chow_cost=float(cost[by_chow]),
            chow_coverage=float(coverage[by_chow]),
            chow_risk=float(risk[by_chow]),
            cost_of_answering=float(cost[-1]),
            cost_of_abstaining=float(reject_cost),
            reject_cost=float(reject_cost),
            error_cost=float(error_cost),
            n=self.n,
        )


def risk_coverage_curve(
    correct: Outcomes,
    confidence: ArrayLike | None = None,
    *,
    level: float = 0.95,
    sample_weight: ArrayLike | None = None,
    pos_label: Hashable | None = None,
) -> RiskCoverageCurve:
    r"""Compute the risk of the answers that are kept if the least confident answers are withheld.

    .. math:: r(t) = P(\text{wrong} \mid \text{confidence} \ge t), \qquad c(t) = P(\text{confidence} \ge t)

    The areas summarise the curve over all coverages. AURC is the mean of the risk over the coverages 1/n, 2/n, ..., 1,
    and AUGRC the area under risk times coverage, by trapezoids. Only the order of the confidences matters. Equal
    confidences are one row of the curve; in the areas they are averaged over their orders. The intervals come from
    influence functions, on the log scale; see `measures.AreaUnderRiskCoverage` and
    `measures.AreaUnderGeneralizedRiskCoverage`, with which `estimate`, `compare` and `slices` compute the same numbers
    from forecasts.

    Parameters
    ----------
    correct : array-like of shape (n,), Cases or Ledger
        Whether each answer was right: booleans, 0 and 1, or labels. Cases or a table of confidences, with the right
        answers as events, replace the arrays; with clusters in the cases, the intervals allow for them.
    confidence : array-like of shape (n,)
        Confidence of each answer in [0, 1]. Scores on another scale can be passed as ranks, divided by n.
    level : float
        Level of the intervals.
    sample_weight
        As in `propriety.mean_score`.
    pos_label : label, optional
        The label of right answers in `correct`, such as "C", unless it is True or 1.

    Notes
    -----
    In `studies/abstention.py`, with 500 and 2,000 cases of which 25% or 5.6% are wrong, 95% intervals had a coverage of
    92 to 97%, also with ties, weights and 50 clusters. With fewer than 50 right or wrong answers, the notes of the
    estimates say so.

    References
    ----------
    Geifman & El-Yaniv (2017), arXiv:1705.08500; Traub et al. (2024), arXiv:2407.01032, for AUGRC.

    Examples
    --------
    >>> curve = risk_coverage_curve([1, 1, 0, 1], [0.9, 0.8, 0.6, 0.6])
    >>> curve
    RiskCoverageCurve(rows=3, accuracy=0.75, aurc=0.104167, augrc=0.0625, n=4)
    >>> curve.coverage, curve.risk
    (array([0.25, 0.5 , 1.  ]), array([0.  , 0.  , 0.25]))
    """
    check_level(level)
    with about_answers():
        ledger, table = _read(correct, confidence, sample_weight=sample_weight, pos_label=pos_label)
    return _curve(ledger, table, 0.0, level)


def risk_coverage_of(ledger: Ledger, model: str, level: float) -> RiskCoverageCurve:
    """Return the curve of the most likely class of a model, with intervals that allow for clusters."""
    if ledger.dependence is None:
        measured = answers_of_table(ledger, model)  # It is there already.
    else:
        measured = as_measured(ledger, AreaUnderRiskCoverage(), model)
    return _curve(measured, ledger.table(model, TOP), 0.5, level)


def _curve(ledger: Ledger, table: ForecastTable, threshold: float, level: float) -> RiskCoverageCurve:
    """Return the curve of a table of answers; `ledger` holds the same answers, read at `threshold`."""
    answers = answers_of(table, 0.0)
    (model,) = ledger.models
    aurc, augrc = (
        replace(estimate_from_influence(ledger, model, measure, level), model="confidence")  # A curve has no name.
        for measure in (AreaUnderRiskCoverage(threshold), AreaUnderGeneralizedRiskCoverage(threshold))
    )
    return RiskCoverageCurve(
        threshold=answers.confidence,
        coverage=answers.coverage,
        risk=answers.risk,
        generalized_risk=answers.risk * answers.coverage,
        aurc=aurc,
        augrc=augrc,
        excess_aurc=aurc.value - answers.least_mean_risk(),
        accuracy=1.0 - answers.error_rate,
        level=level,
        n=table.n,
        dropped=table.dropped,
        answers=answers,
    )


def _read(correct: Any, confidence: Any, **options: Any) -> tuple[Ledger, ForecastTable]:
    """Read the answers of one model, or a table of them."""
    table = ForecastTable.given(correct, confidence, **options)
    if table is not None:
        return Ledger.of_tables({"forecast": table}), table
    refuse_frame(correct, confidence)
    named = confidence if isinstance(correct, Cases) else {"confidence": confidence}
    ledger = open_ledger(correct, named, **options)
    if ledger.labels is not None or ledger.event_note:
        law, offender = "must be one number per case", f"got rows of {len(ledger.labels or (0, 1))} columns"
        raise InputTypeError(law, argument="confidence", offender=offender)
    return ledger, ledger.table()


@contextmanager
def about_answers() -> Iterator[None]:
    """Let errors speak of answers and confidences."""
    try:
        yield
    except ProprietyError as error:
        error.names |= WORDS
        if error.code == "unit-interval" and error.hint != demands.ROUNDING_HINT:
            error.hint = RANKS_HINT
        raise
