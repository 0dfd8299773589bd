"""How often a study of n cases will detect a difference between two models, or miscalibration."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri, chndtr, chndtrinc, logit, ndtr, ndtri

from propriety.calibration.calibration_test import LINE_SHARE, calibration_test
from propriety.errors import InputTypeError, InputValueError
from propriety.inference.imagined import Totals
from propriety.inference.imagined_pairs import pair_law
from propriety.inference.measures.measure import Imagination, Influence, Measure
from propriety.inference.pair_limits import Seen
from propriety.ledger.case_pair_sums import even_chance
from propriety.ledger.pair_sums import POWERS
from propriety.products.planning.anticipated_cases import AnticipatedCases
from propriety.result import Floats
from propriety.rules.rule import binary_rule
from propriety.tables.forecast_table import ForecastTable

KINDS = 1000  # Most kinds of cases from which samples are drawn.
ROWS = 200  # Most distinct forecasts of a drawn table.
FASTER = 4  # Comparisons are drawn so much faster than calibration tests that there are as many times more.
MANY = 500  # With more events and non-events, the normal formula is used without simulation.
ROUNDS, PART = 12, 0.25  # Most rounds that search for the number of cases, and their share of the draws.
NEAR = 0.04  # Distance from the power at which the search ends.
INSIDE = 0.2  # Smallest step from either end of the range that is searched, as a share of it.
BEYOND = 1.25  # A difference that is larger by this factor than that of the forecasts is not covered by the simulation.
FEWEST = 4  # Fewest cases that are drawn.
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
    cases: AnticipatedCases,
    measure: Measure,
    *,
    level: float,
    power: float,
    draws: int,
    seed: int,
    difference: float | None = None,
    spread: float | None = None,
) -> tuple[float, float, PlannedPower, str]:
    """Return the difference of two models, its spread per case, the power of `compare`, and the method.

    The difference and its spread are those of the anticipated cases unless they are given. With few events the test of
    a mean is conservative, so its power is simulated: samples are drawn from the kinds of cases and tested as
    `propriety.compare` does. A given difference or spread scales the noncentrality of the simulated test as it does
    that of the formula.
    """
    if not measure.has_influence:
        law = "must be a rule, or a measure that is a mean or has an influence function"
        raise InputTypeError(law, argument="measure", offender=f"got {measure.label}")
    new, old = cases.forecasts
    value = measure.value(cases.table(new)) - measure.value(cases.table(old))
    own = _spread(cases, measure)
    if not (math.isfinite(value) and math.isfinite(own)):
        raise InputValueError(
            f"the {measure.label} of these forecasts is infinite, so no number of cases can be planned"
        )
    equal = own == 0.0 or abs(value) < 1e-9 * own
    spread = own if spread is None else spread
    if spread == 0.0 or (difference is None and equal):
        return difference or value, spread, PlannedPower(0.0, float(ndtri((1.0 + level) / 2.0))), "normal"
    difference = value if difference is None else difference
    found = spread_power(difference, spread, level)
    rarer = min(cases.prevalence, 1.0 - cases.prevalence)
    if equal or measure.sign is None or found.cases(power) * rarer > MANY:
        return difference, spread, found, "normal"
    drawn = cases.systematic(KINDS, np.sqrt(_mean_squares(cases, measure)))
    test = _MeanTest.of(drawn, measure, level)
    # The formula may have more kinds than are drawn, or a given difference, so only the ratio of the two is used.
    start = spread_power(drawn.mean_of(test.happened, test.without), _spread(drawn, measure), level)
    generator = np.random.default_rng(seed)
    simulated = _refined(start, power, FASTER * draws, lambda n, own: test.reject(n, own, generator))
    ratio = simulated.noncentrality / start.noncentrality
    return difference, spread, PlannedPower(found.noncentrality * ratio, found.critical), "simulated"


def is_beyond(cases: AnticipatedCases, measure: Measure, difference: float, spread: float, n: float) -> bool:
    """Whether n cases have few events, and a difference is larger, relative to its spread, than that of the cases."""
    if measure.sign is None or n * min(cases.prevalence, 1.0 - cases.prevalence) > MANY:
        return False
    new, old = (measure.value(cases.table(model)) for model in cases.forecasts)
    return abs(difference) * _spread(cases, measure) > BEYOND * abs(new - old) * spread


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
    alpha = (1.0 - level) * LINE_SHARE
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
    """Search by simulation for the number of cases that is needed, and return the curve through the power found there.

    Rounds with a part of the draws come first, until one is near the power; the last one has all of them. Between a
    round with too few and one with too many cases, the probit of the power is linear in the root of their number.
    """
    none = 2.1 * (1.0 - float(ndtr(start.critical))) if not start.df else 0.0
    part = max(int(PART * draws), 1)
    near = max(NEAR, 2.0 * math.sqrt(power * (1.0 - power) / part))
    ends: dict[bool, tuple[int, float]] = {}  # The last rounds with less and with more than the power.

    def simulate(n: int, own: int) -> float:
        share = min(max(rejected(n, own), 1.0 / (own + 2)), 1.0 - 1.0 / (own + 2))
        ends[share >= power] = (n, share)
        return share

    def needed(n: int, share: float, inside: float = 0.0) -> float:
        if len(ends) == 2:
            return _between(ends[False], ends[True], power, inside)
        # If hardly anything is detected, the power says nothing but that many more cases are needed.
        return 2.0 * n if share <= none else min(max(start.through(n, share).cases(power), n / 2.0), 2.0 * n)

    n = max(math.ceil(min(start.cases(power), MOST)), FEWEST)
    for _ in range(ROUNDS):
        share, last = simulate(n, part), n
        close = abs(share - power) <= near
        n = max(math.ceil(min(needed(n, share, 0.0 if close else INSIDE), MOST)), FEWEST)
        if close or n == last:
            break
    return start.through(needed(n, simulate(n, max(draws, 1))), power)


def _between(below: tuple[int, float], above: tuple[int, float], power: float, inside: float) -> float:
    """Return the number of cases with this power, between numbers with less and with more, and so far inside."""
    one, other = (math.sqrt(n) for n, _ in (below, above))
    low, wanted, high = (float(ndtri(share)) for share in (below[1], power, above[1]))
    part = min(max((wanted - low) / (high - low), inside), 1.0 - inside)
    return (one + part * (other - one)) ** 2


@dataclass(frozen=True, slots=True)
class _MeanTest:
    """The test of a difference of means, of samples given as numbers of events and non-events of each kind."""

    cases: AnticipatedCases
    happened: Floats
    without: Floats
    chance: Floats
    asked: Imagination
    level: float

    @classmethod
    def of(cls, cases: AnticipatedCases, measure: Measure, level: float) -> _MeanTest:
        happened, without = _gaps(cases, measure)
        new, old = cases.forecasts.values()
        table = ForecastTable.from_predictions([0, 1], [0.5, 0.5])  # What a threshold asks does not depend on it.
        asked = measure.imagination(table) or Imagination()
        return cls(cases, happened, without, even_chance((new, old), (without, happened)), asked, level)

    def reject(self, n: int, draws: int, generator: np.random.Generator) -> float:
        """Return the share of drawn samples in which the difference is significant."""
        block = max(BLOCK // len(self.happened), 1)
        found = 0
        for first in range(0, draws, block):
            found += self._significant(*self.cases.draw(n, min(block, draws - first), generator), n)
        return found / draws

    def _significant(self, events: NDArray[np.int64], others: NDArray[np.int64], n: int) -> int:
        d1, d0 = self.happened, self.without
        first, second, third = ((events @ d1**k + others @ d0**k) / n for k in (1, 2, 3))
        variance = np.maximum(second - first**2, 0.0) / (n - 1.0)
        cubes = (third - 3.0 * first * second + 2.0 * first**3) / n**2
        total = (events + others).astype(np.float64)
        sums = np.zeros((len(first), 2, 2, len(POWERS)))
        for outcome, (chance, gap) in enumerate(((1.0 - self.chance, d0), (self.chance, d1))):
            by_power = [total @ (chance * gap**k) for k in range(4)]
            sums[:, 0, outcome] = np.stack([by_power[k] for _, k in POWERS], axis=1)
        ones = np.ones(len(first))
        totals = Totals(n * ones, n * ones, n * ones, events.sum(axis=1) / n)
        seen = Seen(first, np.sqrt(variance), (n - 1.0) * ones, variance, cubes, cubes)
        p_value = pair_law(seen, sums, total @ ((d1 != 0.0) | (d0 != 0.0)), totals, self.asked).p_value()
        there = (events.sum(axis=1) > 0) & (others.sum(axis=1) > 0) & (variance > 0.0)
        return int(np.count_nonzero(there & (p_value <= 1.0 - self.level)))


def _gaps(cases: AnticipatedCases, measure: Measure) -> tuple[Floats, Floats]:
    """Return the difference between the two models in each kind of case, with the event and without it."""
    assert measure.rule is not None  # noqa: S101  (for the type checker; the measure is a mean)
    assert measure.sign is not None  # noqa: S101
    loss, sign = binary_rule(measure.rule).loss, measure.sign
    new, old = cases.forecasts.values()
    with_event, without = (sign * (loss(new, event=event) - loss(old, event=event)) for event in (True, False))
    return with_event, without


def _mean_squares(cases: AnticipatedCases, measure: Measure) -> Floats:
    """Return the mean squared difference between the two models in each kind of case."""
    sides = zip(_gaps(cases, measure), (cases.rate, 1.0 - cases.rate), strict=True)
    with np.errstate(invalid="ignore"):  # Infinite losses that cannot happen.
        found: Floats = np.sum([np.where(p > 0.0, p * gap**2, 0.0) for gap, p in sides], axis=0)
    return found


def _spread(cases: AnticipatedCases, measure: Measure) -> float:
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
