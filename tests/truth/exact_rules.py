"""The losses of all rules in arithmetic of many digits, each as its definition stands.

Nothing here avoids a cancellation: a difference such as 1 - p / |p| of a subnormal forecast loses some 650 digits, and 50
and more are left. The rules of the package are read for their parameters only.
"""

import math
from functools import cache

import mpmath
from mpmath import betainc, inf, mp, mpf, sqrt

import propriety as pr

mp.dps = 800

ONE = mpf(1)
log = cache(mpmath.log)  # The same few logarithms are asked for again and again.


@cache
def binary_loss(rule, p, *, event):
    """Return the loss of the forecast of one event, a float, as a number of many digits."""
    return BINARY[type(rule)](rule, mpf(p), event)


def class_loss(rule, row, outcome):
    """Return the loss of a row of floats where the class `outcome` happened."""
    return BY_CLASS[type(rule)](rule, [mpf(p) for p in row], outcome)


def ulps(value, exact):
    """Return the distance of a float from the truth in units of the last place of the truth."""
    if math.isnan(value):
        return math.inf
    if exact == inf or math.isinf(value):
        return 0.0 if exact == inf and value == math.inf else math.inf
    return float(abs(mpf(value) - exact) / mpf(math.ulp(float(exact))))


def minus_log(p):
    return inf if p == 0 else -log(p)


def _row(p):
    return [1 - p, p]


def _brier(rule, p, event):
    del rule
    return (p - event) ** 2


def _class_brier(rule, row, outcome):
    total = sum((p - (k == outcome)) ** 2 for k, p in enumerate(row))
    return total / 2 if rule.scale == "half" else total


def _clipped_log(rule, p):
    if rule.clip is None:
        return minus_log(p)
    return minus_log(min(max(p, mpf(rule.clip)), 1 - mpf(rule.clip)))


def _log(rule, p, event):
    return _clipped_log(rule, p if event else 1 - p)


def _class_log(rule, row, outcome):
    return _clipped_log(rule, row[outcome])


def _class_spherical(rule, row, outcome):
    del rule
    return 1 - row[outcome] / sqrt(sum(p**2 for p in row))


def _class_pseudospherical(rule, row, outcome):
    order = mpf(rule.order)
    norm = sum(p**order for p in row) ** (1 / order)
    return (1 - (row[outcome] / norm) ** (order - 1)) / (order - 1)


def _class_tsallis(rule, row, outcome):
    order = mpf(rule.order)
    moment = sum(p**order for p in row)
    return (1 - order * row[outcome] ** (order - 1) + (order - 1) * moment) / (order - 1)


def _as_row(loss):
    """Score a forecast p of one event as the row (1 - p, p)."""
    return lambda rule, p, event: loss(rule, _row(p), int(event))


def _missed(row, outcome, ties):
    leaders = [k for k, p in enumerate(row) if p == max(row)]
    if outcome not in leaders:
        return ONE
    if ties == "split":
        return 1 - ONE / len(leaders)
    return mpf(ties == "first" and leaders[0] != outcome)


def _class_misclassification(rule, row, outcome):
    del rule
    return _missed(row, outcome, "split")


def _class_penalized_brier(rule, row, outcome):
    penalty = ONE * (len(row) - 1) / len(row)
    return _class_brier(pr.Brier(), row, outcome) + penalty * _missed(row, outcome, rule.ties)


def _class_penalized_log(rule, row, outcome):
    return minus_log(row[outcome]) + log(mpf(len(row))) * _missed(row, outcome, rule.ties)


def _elementary(rule, p, event):
    c = mpf(rule.threshold)
    acts = p >= c
    return (0 if acts else 1 - c) if event else (c if acts else 0) * ONE


def _clip(rule, p):
    return min(max(p, mpf(rule.low)), mpf(rule.high))


def _bounded_brier(rule, p, event):
    low, high, y = mpf(rule.low), mpf(rule.high), int(event)
    difference = (y - _clip(rule, p)) ** 2 - (y - _clip(rule, mpf(y))) ** 2
    return difference / {"regret": 2 * (high - low), "width": high - low, "none": 1}[rule.normalize]


def _bounded_log(rule, p, event):
    low, high = mpf(rule.low), mpf(rule.high)
    scored, best = _clip(rule, p), _clip(rule, mpf(event))
    difference = minus_log(scored) - minus_log(best) if event else minus_log(1 - scored) - minus_log(1 - best)
    return difference if rule.normalize == "none" else difference / (log(high / (1 - high)) - log(low / (1 - low)))


def _bounded_net_benefit(rule, p, event):
    # The partial losses are 1 - s and (1 - s) - log(1 - s), of which those of the best report are taken off.
    low, high = mpf(rule.low), mpf(rule.high)

    def partial(s):
        return 1 - s if event else (1 - s) - log(1 - s)

    difference = partial(_clip(rule, p)) - partial(_clip(rule, mpf(event)))
    return difference if rule.normalize == "none" else difference / (high - low)


def _beta_regret(rule, p, event):
    a, b = mpf(rule.alpha), mpf(rule.beta)
    if event:
        return b / (a + b) * betainc(a, b + 1, p, 1, regularized=True)
    return a / (a + b) * betainc(a + 1, b, 0, p, regularized=True)


def _shifted_brier(rule, p, event):
    mu = mpf(rule.mu)
    moved = p * (1 - mu) / (p * (1 - mu) + (1 - p) * mu)
    factor = (1 - mu if event else mu) if rule.weighted else 1
    return factor * (event - moved) ** 2


def _cumulative(row, outcome):
    """Return the cumulative forecast and outcome at each cut point."""
    return [(sum(row[: k + 1]), int(outcome <= k)) for k in range(len(row) - 1)]


def _class_ranked_probability(rule, row, outcome):
    del rule
    return sum((p - y) ** 2 for p, y in _cumulative(row, outcome)) / (len(row) - 1)


def _class_squared_absolute(rule, row, outcome):
    del rule
    return (sum(abs(p - y) for p, y in _cumulative(row, outcome)) / (len(row) - 1)) ** 2


def _class_ranked_log(rule, row, outcome):
    # |P + Y - 1| is the probability of the side of the cut on which the outcome lies. It is summed over that side,
    # because 1 - P of a row that sums to one only in floats has no digit of a small one.
    del rule
    sides = [row[: k + 1] if outcome <= k else row[k + 1 :] for k in range(len(row) - 1)]
    return sum(minus_log(sum(side)) for side in sides) / (len(row) - 1)


BINARY = {
    pr.Brier: _brier,
    pr.Log: _log,
    pr.Spherical: _as_row(_class_spherical),
    pr.Pseudospherical: _as_row(_class_pseudospherical),
    pr.Tsallis: _as_row(_class_tsallis),
    pr.Misclassification: _as_row(_class_misclassification),
    pr.Elementary: _elementary,
    pr.BoundedBrier: _bounded_brier,
    pr.BoundedLog: _bounded_log,
    pr.BoundedNetBenefit: _bounded_net_benefit,
    pr.BetaRegret: _beta_regret,
    pr.ShiftedBrier: _shifted_brier,
}

BY_CLASS = {
    pr.Brier: _class_brier,
    pr.Log: _class_log,
    pr.Spherical: _class_spherical,
    pr.Pseudospherical: _class_pseudospherical,
    pr.Tsallis: _class_tsallis,
    pr.Misclassification: _class_misclassification,
    pr.PenalizedBrier: _class_penalized_brier,
    pr.PenalizedLog: _class_penalized_log,
    pr.RankedProbability: _class_ranked_probability,
    pr.SquaredAbsoluteRankedProbability: _class_squared_absolute,
    pr.RankedLog: _class_ranked_log,
}
