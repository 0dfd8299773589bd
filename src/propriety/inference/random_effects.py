"""Random effects: the mean over several groups, its limits, the range for a further group, and their spread."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from scipy.special import chdtrc, chdtri, stdtr, stdtrit

from propriety.result import Floats

HeterogeneityMethod: TypeAlias = Literal["paule-mandel", "reml", "dersimonian-laird"]
PredictionMethod: TypeAlias = Literal["profile", "higgins"]

FEWEST_PREDICTED = 3  # The prediction interval has two degrees of freedom fewer than groups.
QUANTILES = (np.arange(99) + 0.5) / 99  # Of the confidence distribution of the variance between groups.
POINTS = 400  # Variances between groups at which the generalized Q is computed.
LEAST_VARIANCE = 1e-150  # Squares of larger weights leave the range of numbers.
SMALLEST = 1e-5  # The smallest of them, in units of the smallest variance of an estimate.


class RandomEffects(NamedTuple):
    """The mean of the distribution of group values with its error and limits, and its spread between groups.

    `tau` and `i_squared` have limits, from the variances between groups that the generalized Q does not reject.
    """

    mean: float
    standard_error: float
    low: float
    high: float
    prediction_low: float
    prediction_high: float
    tau: float
    tau_low: float
    tau_high: float
    i_squared: float
    i_squared_low: float
    i_squared_high: float
    q: float
    p_value: float
    weight: Floats


def random_effects(
    values: Floats,
    errors: Floats,
    *,
    method: HeterogeneityMethod,
    level: float,
    prediction: PredictionMethod = "profile",
) -> RandomEffects:
    r"""Summarize the values of k groups, each with its standard error, as draws from a normal distribution.

    With the variances :math:`v_i` of the estimates and :math:`\tau^2` between groups, group i has the weight
    :math:`w_i = 1 / (v_i + \tau^2)`. The mean is :math:`\hat\mu = \sum w_i y_i / \sum w_i`. Its interval is that of
    Hartung and Knapp, and the prediction interval "higgins" for the value of a new group that of Higgins et al.:

    .. math::

       \hat\mu \pm t_{k-1} s, \quad s^2 = \frac{\sum w_i (y_i - \hat\mu)^2}{(k - 1) \sum w_i}, \qquad
       \hat\mu \pm t_{k-2} \sqrt{\tau^2 + s^2} .

    The latter treats :math:`\tau` as known, and is too narrow if it is estimated as 0 by chance. The prediction
    interval "profile" averages over the values of :math:`\tau^2` that the data allow: the generalized Q,
    :math:`\sum w_i (y_i - \hat\mu)^2`, has a chi-squared distribution with k - 1 degrees of freedom at the true
    :math:`\tau^2`, so each of its quantiles gives a :math:`\tau^2`, with a t distribution of k - 1 degrees of freedom
    for the new group. The limits are quantiles of the mixture of these.

    `q` and its p-value are those of Cochran's test of equal values, and `i_squared` is
    :math:`\tau^2 / (\tau^2 + v)` with the typical variance :math:`v` of Higgins and Thompson.

    References
    ----------
    Hartung & Knapp (2001), doi:10.1002/sim.1009; Higgins, Thompson & Spiegelhalter (2009),
    doi:10.1111/j.1467-985X.2008.00552.x; Higgins & Thompson (2002), doi:10.1002/sim.1186; Viechtbauer (2007),
    doi:10.1002/sim.2514, for the generalized Q; Nagashima, Noma & Furukawa (2019), doi:10.1177/0962280218773520, for
    prediction from a confidence distribution.

    Examples
    --------
    >>> found = random_effects(
    ...     np.array([0.1, 0.3, 0.5]), np.array([0.1, 0.1, 0.1]), method="dersimonian-laird", level=0.95
    ... )
    >>> round(found.mean, 3), round(found.tau, 3), round(found.i_squared, 3)
    (0.3, 0.173, 0.75)
    """
    k, variances = len(values), errors**2
    square = between_variance(values, variances, method)
    weight = 1.0 / (variances + square)
    mean = float((weight * values).sum() / weight.sum())
    spread = _deviance(values, variances, square) / (k - 1)
    error = math.sqrt(spread / weight.sum())
    upper = (1.0 + level) / 2.0
    margin = float(stdtrit(k - 1, upper)) * error
    new_low = new_high = math.nan
    if k >= FEWEST_PREDICTED and prediction == "higgins":
        predicted = float(stdtrit(k - 2, upper)) * math.sqrt(square + error**2)
        new_low, new_high = mean - predicted, mean + predicted
    elif k >= FEWEST_PREDICTED:
        new_low, new_high = _predicted(values, variances, level)
    fixed, q = 1.0 / variances, _deviance(values, variances, 0.0)
    scale = _scale(fixed)
    typical = (k - 1) / scale if scale > 0.0 else math.inf
    most, least = _allowed(values, variances, np.array([1.0 - upper, upper])).tolist()
    least, most = min(least, square), max(most, square)
    return RandomEffects(
        mean=mean,
        standard_error=error,
        low=mean - margin,
        high=mean + margin,
        prediction_low=new_low,
        prediction_high=new_high,
        tau=math.sqrt(square),
        tau_low=math.sqrt(least),
        tau_high=math.sqrt(most),
        i_squared=square / (square + typical),
        i_squared_low=least / (least + typical),
        i_squared_high=most / (most + typical),
        q=q,
        p_value=float(chdtrc(k - 1, q)),
        weight=weight / weight.sum(),
    )


def _allowed(values: Floats, variances: Floats, shares: Floats) -> Floats:
    """Return the variances between groups at which the generalized Q has these shares of its distribution below it."""
    wanted = chdtri(len(values) - 1, 1.0 - shares)
    # Q is at most the sum of squares divided by the variance, so that the largest variance reaches all quantiles.
    squares = float(((values - values.mean()) ** 2).sum())
    largest = squares / float(wanted.min()) + float(variances.max())
    grid = np.concatenate([[0.0], np.geomspace(SMALLEST * float(variances.min()), largest, POINTS)])
    weight = 1.0 / (variances + grid[:, None])
    mean = (weight * values).sum(axis=1, keepdims=True) / weight.sum(axis=1, keepdims=True)
    q = (weight * (values - mean) ** 2).sum(axis=1)
    return np.where(wanted >= q[0], 0.0, np.interp(-wanted, -q, grid))  # Q falls as the variance grows.


def _predicted(values: Floats, variances: Floats, level: float) -> tuple[float, float]:
    """Return the prediction limits that allow for the uncertainty of the variance between groups."""
    from scipy.optimize import brentq  # Imported here, because it is slow to import.

    k = len(values)
    square = _allowed(values, variances, QUANTILES)
    weight = 1.0 / (variances + square[:, None])
    mean = (weight * values).sum(axis=1) / weight.sum(axis=1)
    spread = (weight * (values - mean[:, None]) ** 2).sum(axis=1) / (k - 1)
    scale = np.sqrt(square + np.maximum(spread, 1.0) / weight.sum(axis=1))

    def limit(share: float) -> float:
        # A quantile of a mixture is between the smallest and the largest quantile of its parts.
        parts = mean + scale * float(stdtrit(k - 1, share))
        slack = float(scale.max())
        ends = float(parts.min()) - slack, float(parts.max()) + slack
        return float(brentq(lambda x: float(stdtr(k - 1, (x - mean) / scale).mean()) - share, *ends))

    return limit((1.0 - level) / 2.0), limit((1.0 + level) / 2.0)


def between_variance(values: Floats, variances: Floats, method: HeterogeneityMethod) -> float:
    r"""Estimate the variance between groups, at least 0; NaN if no number can hold what it rests on.

    - "paule-mandel" solves :math:`\sum w_i (y_i - \hat\mu)^2 = k - 1`;
    - "reml" maximizes the restricted likelihood;
    - "dersimonian-laird" equates Cochran's Q with its expectation.

    References
    ----------
    Veroniki et al. (2016), doi:10.1002/jrsm.1164.

    Examples
    --------
    >>> y, v = np.array([0.1, 0.3, 0.5, 0.2]), np.array([0.01, 0.02, 0.01, 0.03])
    >>> [round(between_variance(y, v, one), 4) for one in ("paule-mandel", "reml", "dersimonian-laird")]
    [0.0183, 0.0232, 0.0265]
    """
    from scipy.optimize import brentq, minimize_scalar  # Imported here, because it is slow to import.

    variances = np.maximum(variances, LEAST_VARIANCE)
    if np.isinf(variances).all():
        return math.nan
    k, fixed = len(values), 1.0 / variances
    with np.errstate(over="ignore"):
        excess = _deviance(values, variances, 0.0) - (k - 1)
    if not math.isfinite(excess):
        return math.nan
    if method == "dersimonian-laird":
        scale = _scale(fixed)
        return max(excess / scale, 0.0) if scale > 0.0 else 0.0
    # Beyond this variance, all weights are nearly equal and both equations are past their solution.
    largest = float(((values - values.mean()) ** 2).sum()) + float(variances.max())
    if method == "paule-mandel":
        if excess <= 0.0:
            return 0.0
        return float(
            brentq(lambda square: _deviance(values, variances, square) - (k - 1), 0.0, largest, xtol=1e-14 * largest)
        )
    scale = float(variances.mean())
    found = minimize_scalar(
        lambda root: _restricted_deviance(values, variances, scale * root**2),
        bounds=(0.0, math.sqrt(largest / scale)),
        method="bounded",
        options={"xatol": 1e-9},
    )
    at_zero = _restricted_deviance(values, variances, 0.0)
    return scale * float(found.x) ** 2 if found.fun < at_zero - 1e-12 * abs(at_zero) else 0.0


def _scale(weight: Floats) -> float:
    """Return by how much Cochran's Q grows with the variance between groups; 0 if one group has almost all weight."""
    share = weight / weight.sum()
    return float(weight @ (1.0 - share))


def _deviance(values: Floats, variances: Floats, square: float) -> float:
    """Return the weighted sum of squared deviations from the weighted mean."""
    weight = 1.0 / (variances + square)
    return float((weight * (values - (weight * values).sum() / weight.sum()) ** 2).sum())


def _restricted_deviance(values: Floats, variances: Floats, square: float) -> float:
    """Return minus twice the restricted log-likelihood, up to a constant."""
    weight = 1.0 / (variances + square)
    return float(-np.log(weight).sum() + np.log(weight.sum())) + _deviance(values, variances, square)
