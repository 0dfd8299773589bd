"""How often a study of n cases will detect a difference between two models, or miscalibration."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri, chndtr, chndtrinc, logit, ndtr, ndtri, stdtr

from propriety.calibration.calibration_test import SHARES, calibration_test
from propriety.decisions.net_benefit_limits import error_of_difference
from propriety.errors import InputTypeError, InputValueError
from propriety.inference.anticipated_cases import AnticipatedCases
from propriety.inference.few_events import widened_errors
from propriety.inference.measures import Influence, Mean, Measure, NetBenefit, Skill, Smooth
from propriety.result import Floats
from propriety.rules.rule import binary_rule
from propriety.tables.forecast_table import ForecastTable

__all__ = ["PlannedPower", "calibration_power", "difference_power", "spread_power"]

KINDS = 1000  # Most kinds of cases from which samples are drawn.
ROWS = 200  # Most distinct forecasts of a drawn table.
FASTER = 4  # Comparisons are drawn so much faster than calibration tests that there are as many times more.
MANY = 500  # With more events and non-events, the normal formula is used without simulation.
ROUNDS = (0.25, 0.25, 1.0)  # Shares of the draws at each simulated sample size, each nearer to the one that is needed.
BLOCK = 4_000_000  # Numbers drawn at once.
MOST = 1e12  # Largest number of cases that is planned.
SMALLEST, LARGEST = 1e-150, 1e150  # Of a difference relative to its spread; beyond them, squares are 0 or infinite.


@dataclass(frozen=True, slots=True)
class PlannedPower:
    r"""Power of a test with a given number of cases.

    It is :math:`P(Z > z - \sqrt{n \lambda})` for a normal test, and that of a noncentral chi-squared distribution with
    noncentrality :math:`n \lambda` for a test with degrees of freedom.

    Parameters
    ----------
    noncentrality : float
        :math:`\lambda`, the noncentrality per case.
    critical : float
        Critical value of the test.
    df : float
        Degrees of freedom of a chi-squared test; 0 for a normal test.

    Examples
    --------
    >>> round(PlannedPower(noncentrality=0.01, critical=1.96)(785), 3)
    0.8
    """

    noncentrality: float
    critical: float
    df: float = 0.0

    def __call__(self, n: float) -> float:
        """Return the power with n cases."""
        if self.df:
            return 1.0 - float(chndtr(self.critical, self.df, n * self.noncentrality))
        return float(ndtr(math.sqrt(n * self.noncentrality) - self.critical))

    def cases(self, power: float) -> float:
        """Return the number of cases that give this power."""
        if not self.noncentrality > 0.0:
            return math.inf
        if self.df:
            return float(chndtrinc(self.critical, self.df, 1.0 - power)) / self.noncentrality
        return (self.critical + float(ndtri(power))) ** 2 / self.noncentrality

    def through(self, n: float, power: float) -> PlannedPower:
        """Return the curve that has this power with n cases."""
        unit = PlannedPower(1.0, self.critical, self.df)
        return PlannedPower(unit.cases(power) / n, self.critical, self.df)


def spread_power(difference: float, spread: float, level: float) -> PlannedPower:
    """Return the power of a paired test from the true difference and the standard deviation of paired differences."""
    size = min(max(abs(difference) / spread, SMALLEST), LARGEST) if difference else 0.0
    return PlannedPower(size**2, float(ndtri((1.0 + level) / 2.0)))


def difference_power(
    cases: AnticipatedCases, measure: Measure, *, level: float, power: float, draws: int, seed: int
) -> tuple[float, float, PlannedPower, str]:
    """Return the anticipated difference of two models, its spread per case, the power of `compare`, and the method.

    With few events the test of a mean is conservative, so its power is simulated: samples are drawn from the kinds of
    cases and tested as `propriety.compare` does.
    """
    if not isinstance(measure, Mean | Skill | Smooth):
        law = "must be a rule, or a measure that is a mean or has an influence function"
        raise InputTypeError(law, argument="measure", offender=f"got {measure.label}")
    new, old = cases.forecasts
    difference = measure.value(cases.table(new)) - measure.value(cases.table(old))
    spread = _spread(cases, measure)
    if not (math.isfinite(difference) and math.isfinite(spread)):
        raise InputValueError(
            f"the {measure.label} of these forecasts is infinite, so no number of cases can be planned"
        )
    if spread == 0.0 or abs(difference) < 1e-9 * spread:
        return difference, spread, PlannedPower(0.0, float(ndtri((1.0 + level) / 2.0))), "normal"
    found = spread_power(difference, spread, level)
    rarer = min(cases.prevalence, 1.0 - cases.prevalence)
    if not isinstance(measure, Mean) or found.cases(power) * rarer > MANY:
        return difference, spread, found, "normal"
    drawn = cases.systematic(KINDS)
    test = _MeanTest.of(drawn, measure, level)
    # The kinds that are drawn may be fewer than those of the formula, so only the ratio of the two is used.
    own = spread_power(drawn.mean_of(test.happened, test.without), _spread(drawn, measure), level)
    generator = np.random.default_rng(seed)
    simulated = _refined(own, power, FASTER * draws, lambda n, own: test.reject(n, own, generator))
    ratio = simulated.noncentrality / own.noncentrality
    return difference, spread, PlannedPower(found.noncentrality * ratio, found.critical), "simulated"


def calibration_power(
    cases: AnticipatedCases, truth: AnticipatedCases, *, level: float, power: float, draws: int, seed: int
) -> PlannedPower:
    """Return the power of the calibration test if the event has the probabilities of `truth`.

    The number of cases of Cox's score test comes first; tables of that size are then drawn and tested.
    """
    p = cases.forecasts[cases.first]
    inside = (p > 0.0) & (p < 1.0)
    share, p, rate = (column[inside] for column in (cases.share, p, truth.rate))
    functions = np.stack([np.ones(len(p)), logit(p)])
    score = functions @ (share * (rate - p))
    information = (functions * (share * p * (1.0 - p))) @ functions.T
    shift = float(score @ np.linalg.lstsq(information, score, rcond=None)[0])
    df = float(np.linalg.matrix_rank(information, tol=1e-9 * float(np.trace(information))))
    alpha = (1.0 - level) * SHARES[3][0]
    start = PlannedPower(shift, float(chdtri(df, alpha)), df)
    if not shift > 1e-15:
        return PlannedPower(0.0, start.critical, df)
    drawn = _grouped(p, share, rate)
    generator = np.random.default_rng(seed)

    def rejected(n: int, draws: int) -> float:
        events, others = drawn.draw(n, draws, generator)
        found = 0
        for happened, without in zip(events, others, strict=True):
            kept = happened + without > 0
            table = ForecastTable(
                forecast=drawn.forecasts["forecast"][kept],
                events=happened[kept].astype(np.float64),
                non_events=without[kept].astype(np.float64),
            )
            found += calibration_test(table, n_resamples=99, seed=seed).p_value <= 1.0 - level
        return found / draws

    return _refined(start, power, draws, rejected)


def _refined(start: PlannedPower, power: float, draws: int, rejected: Callable[[int, int], float]) -> PlannedPower:
    """Simulate the power near the number of cases that is needed, and return the curve through the results."""
    curve, found, weights = start, [], []
    none = 2.1 * (1.0 - float(ndtr(start.critical))) if not start.df else 0.0
    for part in ROUNDS:
        n, own = max(math.ceil(min(curve.cases(power), MOST)), 4), max(int(part * draws), 1)
        share = min(max(rejected(n, own), 1.0 / (own + 2)), 1.0 - 1.0 / (own + 2))
        if share <= none:  # Hardly anything is detected with so few cases.
            curve = PlannedPower(curve.noncentrality / 2.0, start.critical, start.df)
            continue
        found.append(start.through(n, share).noncentrality)
        weights.append(own if abs(share - power) < 0.1 else 0.01 * own)  # The curve is exact only near the power.
        curve = PlannedPower(float(np.average(found, weights=weights)), start.critical, start.df)
    return curve


@dataclass(frozen=True, slots=True)
class _MeanTest:
    """The test of a difference of means, of samples given as numbers of events and non-events of each kind."""

    cases: AnticipatedCases
    happened: Floats
    without: Floats
    level: float
    odds: float | None

    @classmethod
    def of(cls, cases: AnticipatedCases, measure: Mean, level: float) -> _MeanTest:
        loss = binary_rule(measure.rule).loss
        new, old = cases.forecasts.values()
        happened, without = (
            measure.sign * (loss(new, event=event) - loss(old, event=event)) for event in (True, False)
        )
        counted = isinstance(measure, NetBenefit) and not isinstance(measure.thresholds, tuple)
        odds = measure.thresholds / (1.0 - measure.thresholds) if counted else None  # type: ignore[attr-defined]
        return cls(cases, happened, without, level, odds)

    def reject(self, n: int, draws: int, generator: np.random.Generator) -> float:
        """Return the share of drawn samples in which the difference is significant."""
        block = max(BLOCK // len(self.happened), 1)
        found = 0
        for first in range(0, draws, block):
            found += self._significant(*self.cases.draw(n, min(block, draws - first), generator), n)
        return found / draws

    def _significant(self, events: NDArray[np.int64], others: NDArray[np.int64], n: int) -> int:
        d1, d0 = self.happened, self.without
        mean = (events @ d1 + others @ d0) / n
        squares = (events @ d1**2 + others @ d0**2) / n
        error = np.sqrt(np.maximum(squares - mean**2, 0.0) / (n - 1.0))
        df = np.full(len(mean), n - 1.0)
        if self.odds is not None:
            one = np.full(len(mean), float(n))
            error = np.where(error > 0.0, error_of_difference(mean, squares, one, np.full(len(mean), self.odds)), error)
        else:
            even = np.maximum(-d1 * d0, 0.0)
            total = (events + others).astype(np.float64)
            squares, cubes = total @ even, total @ (even * (d1 + d0))
            error = widened_errors(mean, error, df, float(n), squares, cubes, np.ones(len(mean)))
        seen = (events.sum(axis=1) > 0) & (others.sum(axis=1) > 0) & (error > 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            p_value = 2.0 * stdtr(df, -np.abs(mean / error))
        return int(np.count_nonzero(seen & (p_value <= 1.0 - self.level)))


def _spread(cases: AnticipatedCases, measure: Mean | Skill | Smooth) -> float:
    """Return the standard deviation of the difference between the influences of a case on the two models."""
    one, other = (cases.influence(measure, model) for model in cases.forecasts)
    with np.errstate(invalid="ignore"):
        return math.sqrt(cases.mean_square(Influence(one.event - other.event, one.non_event - other.non_event)))


def _grouped(p: Floats, share: Floats, rate: Floats) -> AnticipatedCases:
    """Pool neighbouring forecasts of one model to at most as many as a drawn table has."""
    distinct, row = np.unique(p, return_inverse=True)
    weight = np.bincount(row, share)
    if len(distinct) > ROWS:
        cell = np.minimum((np.cumsum(weight) - weight / 2.0) / weight.sum() * ROWS, ROWS - 1).astype(np.intp)
        row = np.unique(cell, return_inverse=True)[1][row]
        weight = np.bincount(row, share)
    means = [np.bincount(row, share * column) / weight for column in (p, rate)]
    return AnticipatedCases(forecasts={"forecast": means[0]}, share=weight / weight.sum(), rate=means[1])
