"""Tests of calibration, errors of measures and their p-values in arithmetic of many digits, from definitions.

Sums go over single cases. Functions of the forecast are made orthogonal by solving the normal equations of all earlier
ones, not one after the other, and probabilities of the chi-squared distribution come from the incomplete gamma function.
"""

from exact_maps import log_odds
from exact_measures import event_rate, mean_loss, total
from mpmath import betainc, gammainc, legendre, lu_solve, matrix, mpf, sqrt, workdps

import propriety as pr

DIGITS = 80


def chi_squared_tail(x, df):
    return gammainc(mpf(df) / 2, mpf(x) / 2, regularized=True)


def student_tail(t, df):
    """Return the two-sided p-value of Student's t."""
    t, df = mpf(t), mpf(df)
    return betainc(df / 2, mpf(1) / 2, 0, df / (df + t * t), regularized=True)


def components(cases, shapes):
    """Return the squared sums of residuals of intercept and slope and of each list of degrees, with their number.

    A function is left out if it is a combination of earlier ones, and a shape if its kurtosis says that few cases make it.
    """
    with workdps(DIGITS):
        levels = sorted({case.forecast for case in cases if 0 < case.forecast < 1})
        tied = [[case for case in cases if case.forecast == level] for level in levels]
        spread = [total(some) * p * (1 - p) for p, some in zip(levels, tied, strict=True)]
        residuals = [sum(case.weight * (case.event - case.forecast) for case in some) for some in tied]
        whole = sum(spread)
        x = [log_odds(p) for p in levels]
        middle = [2 * (sum(spread[:place]) + own / 2) / whole - 1 for place, own in enumerate(spread)]
        kinds = [[[mpf(1)] * len(levels), x]]
        kinds += [[[legendre(degree, u) for u in middle] for degree in degrees] for degrees in shapes]
        kept, found = [], []
        for kind, columns in enumerate(kinds):
            statistic, df = mpf(0), 0
            for column in columns:
                rest = _residual(column, kept, spread)
                size = _inner(spread, rest, rest)
                if size <= mpf(1e-18) * _inner(spread, column, column):
                    continue
                unit = [z / sqrt(size) for z in rest]
                if kind and sum(v * z**4 for v, z in zip(spread, unit, strict=True)) > 1:
                    continue
                kept.append(unit)
                statistic += sum(r * z for r, z in zip(residuals, unit, strict=True)) ** 2
                df += 1
            found.append((statistic, df))
        return found, whole


def _inner(spread, one, other):
    return sum(v * a * b for v, a, b in zip(spread, one, other, strict=True))


def _residual(column, kept, spread):
    """Return what is left of a column after its regression on others, from their normal equations."""
    if not kept:
        return column
    size = len(kept)
    square, right = matrix(size, size), matrix(size, 1)
    for i in range(size):
        right[i] = _inner(spread, kept[i], column)
        for j in range(size):
            square[i, j] = _inner(spread, kept[i], kept[j])
    slopes = lu_solve(square, right)
    return [z - sum(slopes[i] * kept[i][row] for i in range(size)) for row, z in enumerate(column)]


def joint_p_value(p_values, shares):
    """Return the p-value of several tests by the weighted Bonferroni inequality, each with its share of the level."""
    return min(1, *(p / a for p, a in zip(p_values, shares, strict=True)))


def area_variance(cases):
    """Return DeLong's variance of the area under the ROC curve, from the placement of each case among the others."""
    events = [case.forecast for case in cases if case.event]
    others = [case.forecast for case in cases if not case.event]

    def won(p, q):
        return mpf(p > q) + mpf(p == q) / 2

    above = [sum(won(p, q) for q in others) / len(others) for p in events]
    below = [sum(won(p, q) for p in events) / len(events) for q in others]
    return sum(_sample_variance(placed) / len(placed) for placed in (above, below))


def _sample_variance(values):
    mean = sum(values) / len(values)
    return sum((value - mean) ** 2 for value in values) / (len(values) - 1)


def mean_error(values):
    """Return the standard error of a mean."""
    return (_sample_variance(values) / len(values)) ** mpf(0.5)


def ratio_error(cases):
    """Return the delta-method error of observed/expected for cases of equal weight."""
    n = len(cases)
    expected = sum(case.forecast for case in cases) / n
    ratio = sum(mpf(case.event) for case in cases) / n / expected
    squares = sum(((case.event - ratio * case.forecast) / expected) ** 2 for case in cases)
    return (squares / (n * (n - 1))) ** mpf(0.5)


def normalized_entropy(cases):
    rate = event_rate(cases)
    return mean_loss(pr.Log(), cases) / mean_loss(pr.Log(), cases, [rate] * len(cases))


def answers(cases, threshold):
    """Return (confidence, wrong, weight) of every case; confidences that agree to 14 decimals are equal."""
    given = []
    for case in cases:
        acts = case.forecast >= mpf(threshold)
        confidence = case.forecast if acts else 1 - case.forecast
        given.append((mpf(round(confidence * 10**14)), acts != case.event, case.weight))
    return given


def mean_risk(cases, threshold):
    """Return AURC of equally weighted cases: the mean risk over coverages, averaged over the orders of ties."""
    given = answers(cases, threshold)
    risk, taken, wrong = mpf(0), 0, mpf(0)
    for level in sorted({c for c, _, _ in given}, reverse=True):
        tied = [bad for c, bad, _ in given if c == level]
        for place in range(1, len(tied) + 1):
            risk += (wrong + mpf(sum(tied)) * place / len(tied)) / (taken + place)
        taken, wrong = taken + len(tied), wrong + sum(tied)
    return risk / taken


def mean_joint_risk(cases, threshold):
    """Return AUGRC: half of every pair of cases whose more confident one is wrong, ties shared, by weight."""
    given = answers(cases, threshold)
    lost = sum(w * v * bad * (mpf(c > d) + mpf(c == d) / 2) for c, bad, w in given for d, _, v in given)
    return lost / total(cases) ** 2
