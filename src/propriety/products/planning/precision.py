"""How wide the confidence interval of a measure will be in a study of n cases."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

from scipy.special import expit, logit, ndtri

from propriety.errors import InputTypeError, InputValueError
from propriety.inference.measures.measure import Measure
from propriety.inference.measures.ranking import AreaUnderRoc
from propriety.inference.measures.ratios import ObservedExpected
from propriety.products.planning.anticipated_cases import AnticipatedCases

PlanMethod: TypeAlias = Literal["influence", "riley"]


@dataclass(frozen=True, slots=True)
class PlannedWidth:
    r"""Width of the confidence interval of a measure with a given number of cases.

    Parameters
    ----------
    value : float
        Anticipated value of the measure.
    variance : float
        Variance of the estimate times the number of cases, as that number grows.
    scale : {"identity", "log", "logit"}
        Scale on which the interval is symmetric.
    level : float
        Level of the interval.
    excess : float
        Further part of the variance, times the squared number of cases.

    Examples
    --------
    >>> round(PlannedWidth(value=1.0, variance=0.57 / 0.43, scale="log", level=0.95)(511), 4)
    0.2
    """

    value: float
    variance: float
    scale: str
    level: float
    excess: float = 0.0

    def __call__(self, n: float) -> float:
        """Return the width with n cases."""
        away = float(ndtri((1.0 + self.level) / 2.0)) * math.sqrt(max(self.variance + self.excess / n, 0.0) / n)
        if self.scale == "log":
            return 2.0 * self.value * math.sinh(min(away / self.value, 700.0))
        if self.scale == "logit":
            centre = float(logit(self.value))
            away /= self.value * (1.0 - self.value)
            return float(expit(centre + away) - expit(centre - away))
        return 2.0 * away


def planned_width(cases: AnticipatedCases, measure: Measure, level: float, method: PlanMethod) -> PlannedWidth:
    r"""Return the width of the interval of a measure of the first model.

    With "influence", it is that of `propriety.estimate`: the variance is the mean square of the influence of a case.
    With "riley", observed/expected and the area under the ROC curve have the formulas of Riley et al., which need only
    the prevalence :math:`\pi` and the area :math:`A`:

    .. math:: \operatorname{Var} \ln \mathrm{OE} = \frac{1 - \pi}{n \pi}, \qquad
              \operatorname{Var} A = \frac{A (1 - A)}{n^2 \pi (1 - \pi)}
              \left( 1 + \left( \frac n2 - 1 \right) \left( \frac{1 - A}{2 - A} + \frac{A}{1 + A} \right) \right).

    The first takes the expected number of events as fixed, which gives wider intervals; the second is Newcombe's.

    References
    ----------
    Riley et al. (2021), doi:10.1002/sim.9025; Archer et al. (2021), doi:10.1002/sim.8766; Newcombe (2006),
    doi:10.1002/sim.2324.
    """
    if not measure.has_influence:
        law = "must have rules, or measures that are means or have an influence function"
        raise InputTypeError(law, argument="widths", offender=f"got {measure.label}")
    value = measure.value(cases.table(cases.first))
    prevalence = cases.prevalence
    if method == "riley" and measure == ObservedExpected():
        return PlannedWidth(value, value**2 * (1.0 - prevalence) / prevalence, "log", level)
    if method == "riley" and measure == AreaUnderRoc():
        outer = value * (1.0 - value) / (prevalence * (1.0 - prevalence))
        inner = (1.0 - value) / (2.0 - value) + value / (1.0 + value)
        return PlannedWidth(value, outer * inner / 2.0, "identity", level, outer * (1.0 - inner))
    square = cases.mean_square(cases.influence(measure, cases.first))
    scale = measure.scale
    at_end = scale == "logit" and not 0.0 < value < 1.0
    if not math.isfinite(square) or square <= 0.0 or at_end:
        law = f"the {measure.label} of these forecasts has no spread, or an infinite one, so no width can be planned"
        raise InputValueError(law)
    return PlannedWidth(value, square, scale, level)
