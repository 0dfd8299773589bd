"""Regret weighted over thresholds: as a rule, as a score, and the H-measure of ranking."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias, get_args

from numpy.typing import ArrayLike

from propriety import checks
from propriety.calibration.blocks import pool_adjacent_violators
from propriety.calibration.decomposition import recalibrated_scores
from propriety.errors import InputTypeError, InputValueError, Wording
from propriety.result import Floats, Score
from propriety.rules.families import BetaRegret
from propriety.rules.operations import NUMPY, Column, Operations
from propriety.rules.rule import BinaryRule, Properties
from propriety.rules.scoring import mean_score, weighted_sum
from propriety.rules.weights import ThresholdWeight, read_weight
from propriety.tables.forecast_table import ForecastTable, Outcomes
from propriety.tables.labels import Labels

WeightNormalize: TypeAlias = Literal["none", "regret"]


@dataclass(frozen=True, slots=True, repr=False)
class WeightedRegret(BinaryRule):
    r"""Regret integrated over thresholds with a weight, :math:`\int R^*(c)\, w(c)\,dc`, as a rule.

    Like any other rule, it can be decomposed, compared and turned into a skill score.

    Parameters
    ----------
    weight : ThresholdWeight
        The weight on thresholds.
    normalize : {"none", "regret"}
        "regret" divides by the total weight, which gives the mean regret over thresholds drawn from it.

    References
    ----------
    Schervish (1989), doi:10.1214/aos/1176347398; Ehm, Gneiting, Jordan & Krüger (2016), doi:10.1111/rssb.12154.

    Examples
    --------
    >>> import propriety as pr
    >>> from propriety.decisions.weighted_regret import WeightedRegret
    >>> from propriety.rules.weights import UniformWeight
    >>> rule = WeightedRegret(UniformWeight(0.0, 0.5), normalize="regret")
    >>> pr.decompose([0, 1, 0, 1], [0.1, 0.3, 0.4, 0.8], rule=rule).uncertainty
    0.125
    """

    name: ClassVar[str] = "weighted_regret"

    weight: ThresholdWeight
    normalize: WeightNormalize = "none"

    def __post_init__(self) -> None:
        if not isinstance(self.weight, ThresholdWeight):
            law = "must be a weight on thresholds such as UniformWeight()"
            raise InputTypeError(law, argument="weight", got_type=self.weight)
        checks.choice(self.normalize, "normalize", get_args(WeightNormalize))
        if self.normalize == "regret" and self.weight.total() == math.inf:
            law = f"a weight needs a finite total to be normalised; that of {self.weight!r} is infinite"
            raise InputValueError(law, hint='narrow the interval, or pass normalize="none".')

    def properties(self, classes: int | None = None) -> Properties:
        """Return the claims: proper. Strict propriety depends on where the weight is 0 and is not claimed."""
        del classes
        worst = max(float(self.loss(0.0, event=True)), float(self.loss(1.0, event=False)))
        return Properties(proper=True, best=0.0, worst=worst)

    def loss(self, p: Column, *, event: bool, ops: Operations = NUMPY) -> Column:
        """Return the integral for one case, divided by the total weight with ``normalize="regret"``."""
        return self.weight.loss(p, event=event, ops=ops) / (1.0 if self.normalize == "none" else self.weight.total())


def weighted_regret(
    y_true: Outcomes,
    y_proba: ArrayLike | None = None,
    *,
    weight: ThresholdWeight | Callable[[Floats], Any] | tuple[ArrayLike, ArrayLike],
    normalize: WeightNormalize = "none",
    sample_weight: ArrayLike | None = None,
    pos_label: Hashable | None = None,
    labels: Labels | None = None,
) -> Score:
    r"""Regret integrated over thresholds with a weight; lower is better.

    .. math:: \int_0^1 R^*(c)\, w(c)\,dc

    where :math:`R^*(c)`, the regret of acting at the threshold :math:`c`, is the mean of ``Elementary(c)``.

    Parameters
    ----------
    y_true, y_proba, sample_weight, pos_label, labels
        As in `propriety.mean_score`: binary outcomes and the probability of the event, or a ledger of one model.
    weight : ThresholdWeight, callable, or (grid, densities)
        ``UniformWeight``, ``LogOddsWeight``, ``NetBenefitWeight``, ``BetaWeight`` and points, which are interpolated
        linearly (`PointsWeight`), are exact. A function of an array of thresholds is integrated numerically; see
        `CustomWeight` for the error.
    normalize : {"none", "regret"}
        "regret" divides by the total weight, which gives the mean regret over thresholds drawn from it.

    References
    ----------
    Schervish (1989), doi:10.1214/aos/1176347398; Flores et al. (2025), arXiv:2504.04528.

    Examples
    --------
    >>> import propriety as pr
    >>> from propriety.decisions.weighted_regret import weighted_regret
    >>> from propriety.rules.weights import UniformWeight
    >>> y, p = [0, 1, 1, 0], [0.2, 0.9, 0.4, 0.5]
    >>> round(2 * weighted_regret(y, p, weight=UniformWeight()), 12) == round(pr.brier_score(y, p), 12)
    True
    >>> round(weighted_regret(y, p, weight=([0.1, 0.2, 0.4], [0, 1, 0])), 6)
    0.010833
    """
    rule = WeightedRegret(read_weight(weight), normalize=normalize)
    table = ForecastTable.of(y_true, y_proba, sample_weight=sample_weight, pos_label=pos_label, labels=labels)
    return mean_score(table, rule=rule)


def h_measure(
    y_true: Outcomes,
    y_proba: ArrayLike | None = None,
    *,
    alpha: float = 2.0,
    beta: float = 2.0,
    sample_weight: ArrayLike | None = None,
    pos_label: Hashable | None = None,
    labels: Labels | None = None,
) -> Score:
    r"""Hand's H-measure: how well forecasts rank, for thresholds drawn from a Beta distribution; **higher is better**.

    .. math:: H = 1 - \frac{L(\text{recalibrated})}{L(\text{event rate})}

    with :math:`L` the regret averaged over thresholds drawn from Beta(:math:`\alpha, \beta`), of the forecasts
    recalibrated by isotonic regression and of the constant event rate. It is 0 for a constant forecast and 1 for a
    perfect ranking. Unlike the AUC, it weights thresholds equally for every model. It ignores miscalibration; the
    regret of the forecasts as they are is ``weighted_regret(..., weight=BetaWeight(2, 2))``.

    Parameters
    ----------
    y_true, y_proba, sample_weight, pos_label, labels
        As in `propriety.mean_score`: binary outcomes and the probability of the event, or a ledger of one model.
    alpha, beta : float
        Parameters of the distribution of thresholds. Beta(2, 2) is Hand's first proposal. For rare events Hand and
        Anagnostopoulos propose alpha = 1 + event rate and beta = 2 - event rate, whose mode is the event rate.

    References
    ----------
    Hand (2009), doi:10.1007/s10994-009-5119-5; Hand & Anagnostopoulos (2014), arXiv:1202.2564.

    Examples
    --------
    >>> from propriety.decisions.weighted_regret import h_measure
    >>> round(h_measure([0, 1, 0, 1], [0.1, 0.3, 0.4, 0.8]), 6)
    0.5
    """
    rule = BetaRegret(alpha, beta)
    table = ForecastTable.of(y_true, y_proba, sample_weight=sample_weight, pos_label=pos_label, labels=labels)
    if not (table.events.any() and table.non_events.any()):
        raise InputValueError(Wording("the H-measure needs events and non-events; {y_true} holds one class only"))
    blocks = pool_adjacent_violators(table)
    recalibrated, reference = recalibrated_scores(rule, blocks.events, blocks.non_events)
    score = Score(recalibrated, rule=repr(rule), n=table.n, weight=table.weight, dropped=table.dropped)
    return score.turned(1.0 - recalibrated / reference, scale="0 for a constant, 1 for a perfect ranking")


def area_under_regret(forecast: Floats, events: Floats, non_events: Floats, weight: ThresholdWeight) -> float:
    """Integrate the total (not mean) regret of weighted cases under a weight on cost ratios.

    Examples
    --------
    >>> import numpy as np
    >>> from propriety.rules.weights import UniformWeight
    >>> area_under_regret(np.array([0.2]), np.array([1.0]), np.array([0.0]), UniformWeight())
    0.32000000000000006
    """
    missed, alarmed = (weight.loss(forecast, event=event) for event in (True, False))
    return weighted_sum(missed, events) + weighted_sum(alarmed, non_events)
