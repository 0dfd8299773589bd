"""Distances from a curve fitted to the same cases: miscalibration, discrimination and ICI, corrected or drawn."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from propriety.calibration.blocks import pool_adjacent_violators
from propriety.calibration.calibration_errors import group_starts
from propriety.calibration.calibration_test import null_scores
from propriety.calibration.decomposition import FixedForecasts, proper_binary_rule
from propriety.calibration.smooth_calibration import smooth_calibration_of
from propriety.calibration.squared_distance import squared_distance
from propriety.inference.bootstrap import Drawing, in_blocks, in_canonical_order
from propriety.inference.dependence import check_periods, span_of, sums_of_units
from propriety.inference.dependent_calibration import dispersion_of_scores, spread_of_regression
from propriety.inference.design_effects import design_effect
from propriety.inference.estimates import NO_SPREAD, ROUNDING, estimated_facts, make_estimate, units_of, without_limits
from propriety.inference.finding import Finding
from propriety.inference.influence import case_influence, error_of_table, errors_of_cases
from propriety.inference.measures.measure import Influence, Measure
from propriety.inference.notes import Note
from propriety.ledger.ledger import Ledger
from propriety.number_words import counted
from propriety.result import Floats
from propriety.rules.families import BRIER
from propriety.rules.rule import BinaryRule, Rule
from propriety.rules.scoring import mean_score
from propriety.tables.cases import Cases
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.identity_cache import IdentityCache
from propriety.tables.keys import Keys

WORK = 10_000_000  # Most outcomes of weighted cases drawn for one interval.
FEWEST_DRAWS = 20  # Enough to estimate a mean and a spread, compared with the width of the interval.
MATERIAL = 0.2  # Jumps are noted if they account for this share of an interval.
DISPERSED = 1.5  # With a larger variance of the scores of fine shapes, clusters may look like jumps.
OF_INDEX = "draws of the coefficients of a spline"
ONLY_INDEPENDENT = "the interval is only known for independent cases"

Part: TypeAlias = Literal["miscalibration", "discrimination"]

_OVERFITS: IdentityCache[dict[tuple[BinaryRule, Drawing], Floats]] = IdentityCache()


def estimate_part(
    ledger: Ledger, model: str, measure: Measure, part: Part, rule: Rule, *, level: float, drawing: Drawing
) -> Finding:
    """Estimate a part of a decomposition: under the Brier score by regression, under another rule by draws."""
    if ledger.dependence == "period":
        return _in_time(ledger, model, measure, part, rule, level=level, drawing=drawing)
    raw = measure.value(ledger.table(model))
    units = units_of(ledger)
    if math.isinf(raw) or 1 in (ledger.table(model).n, units):
        return make_estimate(ledger, model, measure, raw, math.nan, 1.0, level, "", units=1)
    if rule == BRIER:
        return _by_regression(ledger, model, measure, part, raw, units, level)
    return _by_draws(ledger, model, measure, part, proper_binary_rule(rule), raw, units, level, drawing)


def _in_time(
    ledger: Ledger, model: str, measure: Measure, part: Part, rule: Rule, *, level: float, drawing: Drawing
) -> Finding:
    """Estimate a part from blocks of neighbouring periods, which are taken as clusters."""
    cases = ledger.cases
    if cases is None or cases.period is None:
        return _unknown(ledger, model, measure, measure.value(ledger.table(model)), level)
    check_periods(cases.period.labels, None)
    span = span_of(len(cases.period))
    codes = cases.period.codes // span
    blocks = Keys(tuple(range(int(codes.max()) + 1)), codes)
    in_blocks = Ledger.of_source(replace(cases, period=None, cluster=blocks), ledger.events)
    found = estimate_part(in_blocks, model, measure, part, rule, level=level, drawing=drawing)
    return replace(found, method=f"{found.method}, with blocks of {counted(span, 'period')} as clusters")


def _by_regression(
    ledger: Ledger, model: str, measure: Measure, part: Part, raw: float, units: int, level: float
) -> Finding:
    table, cases = ledger.table(model), None if ledger.dependence is None else ledger.cases
    options: dict[str, Any] = {"level": level}
    method = "regression of the residuals on functions of the forecast"
    if cases is not None:
        own = cases.of(model)
        method += ", cluster-robust"
        options["spread_of"] = lambda given: spread_of_regression(own, table, given)
        if not _may_jump(own, table, level):
            options["units"] = units  # No more steps than the clusters can distinguish.
    elif ledger.dependence is not None:
        return _unknown(ledger, model, measure, raw, level)
    lost = squared_distance(table, "miscalibration", **options)
    found = lost
    if part == "discrimination":
        found = squared_distance(table, "discrimination", **options)
        # The parts of the score still add up: uncertainty - score + miscalibration.
        score = float(mean_score(table, rule=BRIER))
        value = max(table.event_rate * (1.0 - table.event_rate) - score + lost.value, 0.0)
        found = found._replace(value=value, low=min(found.low, value), high=max(found.high, value))
    facts: dict[str, Any] = {"units": units, "raw": raw}
    row = make_estimate(ledger, model, measure, found.value, found.standard_error, math.inf, level, method, **facts)
    if found.standard_error == 0.0:
        return row
    notes = () if row.note(NO_SPREAD.code) else row.notes
    notes += (Note("jumps"),) * bool(lost.jumps or lost.unseen > MATERIAL * (lost.high - lost.low))
    return replace(row, low=found.low, high=found.high, error=found.standard_error, notes=notes)


def _may_jump(cases: Cases, table: ForecastTable, level: float) -> bool:
    """Whether cases in clusters show jumps, and cases with similar forecasts are not correlated."""
    if squared_distance(table, "miscalibration", level=level).unseen == 0.0:
        return False
    scores = null_scores(table)
    fine = dispersion_of_scores(cases, table, scores).variance[sum(scores.sizes[:2]) :]
    return bool(len(fine) and fine.mean() < DISPERSED)


def _unknown(ledger: Ledger, model: str, measure: Measure, raw: float, level: float) -> Finding:
    """Return only the uncorrected value, if the correction cannot be computed without the cases."""
    note = Note("needs-cases", {"what": "an estimate of this measure", "where": ledger.where_cases_are})
    return replace(without_limits(ledger, model, measure, math.nan, level, note=note), extra={"raw": raw})


def _by_draws(
    ledger: Ledger,
    model: str,
    measure: Measure,
    part: Part,
    rule: BinaryRule,
    raw: float,
    units: int,
    level: float,
    drawing: Drawing,
) -> Finding:
    """Estimate a part with the error of a mean difference of losses around the bias-corrected value, at least 0."""
    table = ledger.table(model)
    method = "normal" if ledger.dependence is None else "normal, cluster-robust"
    method += ", around the value less its bias in draws of outcomes at the recalibrated rates"
    cases = ledger.cases if ledger.dependence is not None or table.is_weighted else None
    if cases is None and (ledger.dependence is not None or table.is_weighted):
        return _unknown(ledger, model, measure, raw, level)
    recalibrated = pool_adjacent_violators(table).per_row()
    error = _error(ledger, model, part, rule, recalibrated, cases)
    draws = draws_for(drawing.n_resamples, table.n) if table.is_weighted else drawing.n_resamples
    if draws < drawing.n_resamples:
        drawing, method = drawing._replace(n_resamples=draws), f"{method}, {draws:,} of them for {table.n:,} cases"
    overfit = overfits(table, rule, recalibrated, drawing, None if cases is None else cases.of(model))
    if ledger.dependence is not None and cases is not None:
        overfit = overfit * design_effect(cases.of(model))  # Outcomes are drawn independently.
    value = max(raw - float(overfit.mean()), 0.0)
    # Near zero the mean difference hardly varies, but what recalibration fits of the noise does: both are included.
    margin = float(ndtri((1.0 + level) / 2.0)) * math.hypot(error, float(overfit.std()))
    facts: dict[str, Any] = {"n_resamples": drawing.n_resamples, "seed": drawing.seed, "raw": raw}
    found = make_estimate(ledger, model, measure, value, error, math.inf, level, method, units=units, **facts)
    if margin <= ROUNDING * raw:
        return replace(found, low=math.nan, high=math.nan, error=error, notes=(NO_SPREAD,))
    notes = () if found.note(NO_SPREAD.code) else found.notes
    return replace(found, low=max(value - margin, 0.0), high=value + margin, error=error, notes=notes)


def _error(
    ledger: Ledger,
    model: str,
    part: Part,
    rule: BinaryRule,
    recalibrated: Floats,
    cases: Cases | None,
) -> float:
    """Return the standard error of the mean difference between two losses."""
    table = ledger.table(model)
    given = table.forecast if part == "miscalibration" else np.full(len(table), table.event_rate)
    difference = _Difference(rule, given, recalibrated)
    if cases is None:
        return error_of_table(table, difference.influence(table))
    return float(
        errors_of_cases(cases, case_influence(cases, model, table, difference.influence(table))[None]).standard_error[0]
    )


class _Difference:
    """The mean difference between the losses of two forecasts of the rows of a table, as a smooth measure."""

    key = label = "difference"
    higher_is_better = False

    def __init__(self, rule: BinaryRule, one: Floats, other: Floats) -> None:
        self.rule, self.one, self.other = rule, one, other

    def value(self, table: ForecastTable) -> float:
        """Return the mean difference."""
        return _mean_of(self._losses(table), table)

    def influence(self, table: ForecastTable) -> Influence:
        """Return the deviations from the mean."""
        losses = self._losses(table)
        mean = _mean_of(losses, table)
        return Influence(losses.event - mean, losses.non_event - mean)

    def _losses(self, table: ForecastTable) -> Influence:
        """Return the differences; those of zero weight are zero, even if a loss is infinite."""
        found = []
        for happens, weight in ((True, table.events), (False, table.non_events)):
            with np.errstate(invalid="ignore"):
                loss = self.rule.loss(self.one, event=happens) - self.rule.loss(self.other, event=happens)
            found.append(np.where(weight > 0.0, loss, 0.0))
        return Influence(*found)


def _mean_of(losses: Influence, table: ForecastTable) -> float:
    return float((table.events * losses.event + table.non_events * losses.non_event).sum()) / table.weight


def draws_for(n_resamples: int, cases: int) -> int:
    """Return the number of draws of the outcomes of weighted cases: fewer if there are so many that each is slow.

    Examples
    --------
    >>> draws_for(1000, 500), draws_for(1000, 20_000), draws_for(1000, 10_000_000)
    (1000, 500, 20)
    """
    return min(n_resamples, max(FEWEST_DRAWS, WORK // cases))


def overfits(
    table: ForecastTable, rule: BinaryRule, recalibrated: Floats, drawing: Drawing, cases: Cases | None = None
) -> Floats:
    """Return the gain of isotonic regression from fitting noise, for outcomes drawn at the rates of each row.

    The forecasts and weights of the cases are fixed; outcomes are drawn independently. Neighbouring rows are grouped as
    for bands. A weighted table needs its `cases`.
    """
    known = _OVERFITS.setdefault(table, {})
    if (rule, drawing) not in known:
        known[rule, drawing] = _drawn(table, rule, recalibrated, drawing, cases)
    return known[rule, drawing]


def _drawn(
    table: ForecastTable, rule: BinaryRule, recalibrated: Floats, drawing: Drawing, cases: Cases | None
) -> Floats:
    start = group_starts(table)
    weight = np.add.reduceat(table.weights, start)
    rate = np.add.reduceat(table.weights * recalibrated, start) / weight
    forecasts = FixedForecasts.of(rule, rate)
    if table.is_weighted:
        assert cases is not None  # noqa: S101  (for the type checker; a weighted table comes with its cases)
        outcomes = _weighted_outcomes(table, recalibrated, start, cases)
    else:
        number = np.rint(weight).astype(np.int64)

        def outcomes(generator: np.random.Generator) -> tuple[Floats, Floats]:
            events = generator.binomial(number, rate)
            return events.astype(np.float64), (number - events).astype(np.float64)

    def gain(events: Floats, non_events: Floats) -> float:
        score, best, _ = forecasts.scores(events, non_events)
        return score - best

    def draw(generator: np.random.Generator, size: int) -> Floats:
        return np.array([gain(*outcomes(generator)) for _ in range(size)])

    return in_blocks(draw, drawing)


def _weighted_outcomes(
    table: ForecastTable, recalibrated: Floats, start: NDArray[np.intp], cases: Cases
) -> Callable[[np.random.Generator], tuple[Floats, Floats]]:
    """Return a function that draws the outcome of every case and sums the weights of both outcomes by group."""
    forecast, _, weight = in_canonical_order(cases).gathered()
    assert weight is not None  # noqa: S101  (for the type checker; they have weights)
    row = np.searchsorted(table.forecast, forecast)
    rate, group = recalibrated[row], np.searchsorted(start, row, side="right") - 1

    def outcomes(generator: np.random.Generator) -> tuple[Floats, Floats]:
        happens = generator.random(len(row)) < rate
        # Summed separately: the rest of a difference would be weight of an outcome that has an infinite loss.
        event, other = sums_of_units(np.stack([weight * happens, weight * ~happens]), group, len(start))
        return event, other

    return outcomes


def estimate_index(ledger: Ledger, model: str, measure: Measure, *, level: float, drawing: Drawing) -> Finding:
    """Estimate the index; see `ReliabilityCurve.smooth`. The draws need independent cases."""
    curve = smooth_calibration_of(ledger.table(model), level=level, n_resamples=drawing.n_resamples, seed=drawing.seed)
    notes = (Note("measure", {"said": curve.note}),) if curve.note else ()
    if ledger.dependence is not None:
        curve, notes = curve.without_limits(ONLY_INDEPENDENT), (Note("only-independent"),)
    value, low, high = curve.index(measure.key)
    facts = estimated_facts(ledger, model, measure, level)
    drawn = {"n_resamples": drawing.n_resamples, "seed": drawing.seed}
    return Finding(**facts, value=value, low=low, high=high, method=OF_INDEX, notes=notes, extra=drawn)
