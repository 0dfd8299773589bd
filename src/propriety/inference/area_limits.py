"""Limits of the area under the ROC curve that do not rely on its estimated error, which is too small near 1."""

from __future__ import annotations

import math

from scipy.special import ndtr, ndtri, owens_t

from propriety.inference.estimates import effective_by_outcome
from propriety.tables.forecast_table import ForecastTable

FARTHEST = 8.0  # Normal quantile of the largest area that is tried as a limit.


def area_limits(table: ForecastTable, area: float, level: float) -> tuple[float, float]:
    r"""Return the areas :math:`\theta` with :math:`|A - \theta| \le z \sqrt{V(\theta)}`.

    V is the variance of the area of m events and n non-events whose forecasts are normal with equal variances, after
    some increasing function,

    .. math:: V(\theta) = \frac{\theta (1 - \theta) + (m + n - 2) q}{m n}, \qquad q = \operatorname{Var} \Phi(d + Z),

    with the standard normal Z and :math:`d = \sqrt 2 \, \Phi^{-1}(\theta)`. With weights, m and n are effective
    numbers. Unlike DeLong's error, V does not vanish together with the badly ranked events that a sample happens to
    lack.

    Examples
    --------
    >>> table = ForecastTable.from_predictions([0, 0, 0, 0, 1, 1, 1], [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7])
    >>> [round(limit, 3) for limit in area_limits(table, 1.0, 0.95)]
    [0.54, 1.0]
    """
    m, n = effective_by_outcome(table)
    z = float(ndtri((1.0 + level) / 2.0))

    def beyond(quantile: float) -> float:
        """Return how far an area, given by its normal quantile, is from the estimate, beyond z errors."""
        theta = float(ndtr(quantile))
        spread = max(theta - 2.0 * float(owens_t(quantile, 1.0 / math.sqrt(3.0))) - theta**2, 0.0)
        variance = (theta * float(ndtr(-quantile)) + max(m + n - 2.0, 0.0) * spread) / (m * n)
        return abs(area - theta) - z * math.sqrt(variance)

    from scipy.optimize import brentq  # Imported here, because it is slow to import.

    def limit(end: float) -> float:
        """Return the area between the estimate and an end of the range that is just z errors away."""
        middle = min(max(float(ndtri(area)), -FARTHEST), FARTHEST)
        if beyond(middle) >= 0.0 or beyond(end) <= 0.0:
            return float(ndtr(math.copysign(math.inf, end)))
        return float(ndtr(brentq(beyond, middle, end)))

    return limit(-FARTHEST), limit(FARTHEST)
