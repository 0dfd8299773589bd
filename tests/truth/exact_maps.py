"""Recalibration maps and their fits in arithmetic of many digits, each as its definition stands.

Maps of the package are read for their parameters only. A maximum of a likelihood is where its slope is zero: the slope is
computed case by case, and solved by Newton's method with 60 digits.
"""

from itertools import pairwise

from exact_measures import Case, cases_of, isotonic, total
from mpmath import diag, exp, inf, log, lu_solve, matrix, mpf, workdps

import propriety.recalibration as maps

DIGITS = 60


def sigmoid(x):
    return mpf(x > 0) if abs(x) == inf else 1 / (1 + exp(-x))


def log_odds(p):
    return -inf if p == 0 else inf if p == 1 else log(p / (1 - p))


def extended_log(p):
    return -inf if p == 0 else log(p)


def floored(p, floor):
    """Return the forecast kept from 0 and 1; the upper limit is the float nearest to one minus the floor."""
    return min(max(mpf(p), mpf(floor)), mpf(1.0 - float(floor)))


def times(coefficient, x):
    """Return the product; a coefficient of 0 leaves out what it multiplies, also if that is infinite."""
    return mpf(coefficient) * x if coefficient else mpf(0)


def floor_of(cases):
    """Return half the smallest distance of a forecast to the nearer end, without those at it, but at least 1e-6."""
    distances = [min(case.forecast, 1 - case.forecast) for case in cases if 0 < case.forecast < 1]
    return max(mpf(1e-6), min(distances) / 2) if distances else mpf(1e-6)


def interpolated(points, p):
    """Return the value at p of the lines between points (forecast, rate), constant beyond them."""
    (first, _), (last, _) = points[0], points[-1]
    p = min(max(p, first), last)
    for (left, low), (right, high) in pairwise(points):
        if left <= p <= right:
            return low + (high - low) * (p - left) / (right - left)
    return points[0][1]


def _spline(fitted, x):
    """Return g(x): the level at the first knot and the integral of the piecewise linear slope from there."""
    knots, slopes = [mpf(t) for t in fitted.knots.tolist()], [mpf(d) for d in fitted.slopes.tolist()]

    def slope_at(t):
        return interpolated(list(zip(knots, slopes, strict=True)), t)

    if abs(x) == inf:
        beyond = slopes[0 if x < 0 else -1]
        return x if beyond else _spline(fitted, knots[0] if x < 0 else knots[-1])
    ends = sorted([knots[0], x, *(t for t in knots if min(knots[0], x) < t < max(knots[0], x))])
    area = sum((b - a) * (slope_at(a) + slope_at(b)) / 2 for a, b in pairwise(ends))
    return mpf(fitted.level) + (area if x >= knots[0] else -area)


def _isotonic(fitted, p):
    points = zip(fitted.forecast.tolist(), fitted.event_rate.tolist(), strict=True)
    return interpolated([(mpf(a), mpf(b)) for a, b in points], p)


def _venn_abers(fitted, p):
    low = mpf([0.0, *fitted.low.tolist()][sum(place <= p for place in fitted.low_from.tolist())])
    high = mpf([*fitted.high.tolist(), 1.0][sum(place < p for place in fitted.high_to.tolist())])
    return high / (1 - low + high)


def _odds(fitted, p):
    inside, (low, high) = floored(p, fitted.floor), fitted.slopes
    return sigmoid(mpf(fitted.intercept) + times(low, extended_log(inside)) - times(high, extended_log(1 - inside)))


MAPS = {
    maps.IdentityMap: lambda fitted, p: floored(p, fitted.floor),
    maps.IsotonicMap: _isotonic,
    maps.VennAbersMap: _venn_abers,
    maps.OddsMap: _odds,
    maps.SplineMap: lambda fitted, p: sigmoid(_spline(fitted, log_odds(floored(p, fitted.floor)))),
}


@workdps(350)  # One minus the smallest float has 324 digits.
def recalibrated(fitted, p):
    """Return the recalibrated forecast of one forecast."""
    return MAPS[type(fitted)](fitted, mpf(p))


def softmax(scores):
    powers = [exp(score) for score in scores]
    return [power / sum(powers) for power in powers]


def class_logs(row, floor):
    return [log(max(mpf(p), mpf(floor))) for p in row]


def recalibrated_row(fitted, row):
    """Return the recalibrated class probabilities of one row."""
    logs = class_logs(row, fitted.floor)
    if isinstance(fitted.matrix, float):
        return softmax([mpf(fitted.matrix) * x for x in logs])
    weights = (diag if fitted.matrix.ndim == 1 else matrix)(fitted.matrix.tolist())
    scores = weights * matrix(logs)
    return softmax([score + mpf(b) for score, b in zip(scores, fitted.intercepts.tolist(), strict=True)])


def isotonic_at(cases, p):
    """Return the isotonic regression at a forecast that may lie between those of the cases."""
    rates = {case.forecast: rate for case, rate in zip(cases, isotonic(cases), strict=True)}
    return interpolated(sorted(rates.items()), mpf(p))


def venn_abers_pair(cases, p, weight):
    """Return the isotonic rate at p after a case there is added, without the event and with it."""
    return [_rate_at((*cases, Case(event, mpf(p), weight)), mpf(p)) for event in (False, True)]


def _rate_at(cases, p):
    """Return the greatest over all starts up to p of the least event rate from there to an end at or after p."""
    levels = sorted({case.forecast for case in cases})
    sums = [(mpf(0), mpf(0))]
    for level in levels:
        tied = [case for case in cases if case.forecast == level]
        events = sum((case.weight for case in tied if case.event), mpf(0))
        sums.append((sums[-1][0] + events, sums[-1][1] + total(tied)))
    place = levels.index(p)

    def rate(first, last):
        return (sums[last + 1][0] - sums[first][0]) / (sums[last + 1][1] - sums[first][1])

    return max(min(rate(first, last) for last in range(place, len(levels))) for first in range(place + 1))


def likelihood_slopes(cases, columns, coefficients):
    """Return the slope of the log-likelihood and minus its curvature; `columns` are functions of a forecast."""
    size = len(columns)
    slope, curve = matrix(size, 1), matrix(size, size)
    for case in cases:
        x = [column(case.forecast) for column in columns]
        q = sigmoid(sum(b * one for b, one in zip(coefficients, x, strict=True)))
        for i in range(size):
            slope[i] += case.weight * (case.event - q) * x[i]
            for j in range(size):
                curve[i, j] += case.weight * q * (1 - q) * x[i] * x[j]
    return slope, curve


def most_likely(cases, columns, start):
    """Return the coefficients of the maximum of the likelihood, found from a start near it, and their covariance."""
    with workdps(DIGITS):
        found = matrix([mpf(one) for one in start])
        for _ in range(100):
            slope, curve = likelihood_slopes(cases, columns, list(found))
            step = lu_solve(curve, slope)
            found += step
            if max(abs(one) for one in step) <= mpf(10) ** (-DIGITS // 2) * (1 + max(abs(one) for one in found)):
                return list(found), curve**-1
    raise ArithmeticError("no maximum was found")


def best_temperature(rows, outcomes, weights, floor, start):
    """Return the slope of log-probabilities with the greatest likelihood."""
    with workdps(DIGITS):
        slope = mpf(start)
        for _ in range(100):
            first = second = mpf(0)
            for row, outcome, weight in zip(rows, outcomes, weights, strict=True):
                logs = class_logs(row, floor)
                q = softmax([slope * x for x in logs])
                mean = sum(a * b for a, b in zip(q, logs, strict=True))
                first += mpf(weight) * (logs[outcome] - mean)
                second += mpf(weight) * (sum(a * b**2 for a, b in zip(q, logs, strict=True)) - mean**2)
            slope += first / second
            if abs(first / second) <= mpf(10) ** (-DIGITS // 2) * (1 + abs(slope)):
                return slope
    raise ArithmeticError("no maximum was found")


def floored_cases(y, p, w, floor):
    """Return the cases with forecasts that are kept from 0 and 1."""
    return tuple(case._replace(forecast=floored(case.forecast, floor)) for case in cases_of(y, p, w))
