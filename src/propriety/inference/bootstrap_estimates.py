"""Percentile bootstrap intervals, from draws of table cells, cases or clusters."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety.calibration.resampling import quantiles
from propriety.errors import InputValueError
from propriety.inference.bootstrap import (
    Drawing,
    Units,
    draw_from_cases,
    draw_from_table,
    in_canonical_order,
    values_of_draws,
)
from propriety.inference.estimates import (
    IMAGINED,
    NO_SPREAD,
    ROUNDING,
    censoring_notes,
    few,
    make_estimate,
    some,
    units_of,
    without_limits,
)
from propriety.inference.finding import Finding
from propriety.inference.imagined import imagined_of_model
from propriety.inference.influence import factor_of
from propriety.inference.limits import hull, imagined_limits
from propriety.inference.mean_estimates import estimate_from_moments, widened, within_range
from propriety.inference.measures.measure import Measure
from propriety.inference.notes import Note
from propriety.ledger.ledger import Ledger
from propriety.result import Floats
from propriety.rules.rule import Rule, binary_rule
from propriety.rules.scoring import losses_by_chunk
from propriety.tables.cases import Cases

BIASED = 0.75  # With a larger bias of the draws, in standard deviations, their percentiles are not valid.
UNDEFINED = 0.05  # With a larger share of undefined draws, no interval is given.


def estimate_by_bootstrap(ledger: Ledger, model: str, measure: Measure, level: float, drawing: Drawing) -> Finding:
    """Estimate any measure by the percentiles of draws; means by draws of their losses."""
    check_percentiles(drawing.n_resamples, level)
    method = f"percentile bootstrap of {'cases' if ledger.dependence is None else f'{ledger.dependence}s'}"
    plain = ledger.dependence is None and not ledger.is_weighted
    cases = None if plain and ledger.labels is None else ledger.cases
    if cases is None and not (plain and ledger.labels is None):
        value = measure.value(ledger.table(model)) if ledger.labels is None else math.nan
        return without_limits(ledger, model, measure, value, level)
    if measure.sign is not None and measure.rule is not None:
        formula = estimate_from_moments(ledger, model, measure, level)
        if math.isnan(formula.low):
            return replace(formula, method=method)
        units = _loss_units(ledger, model, measure.rule, cases).in_cells()
        if units.noise is not None:
            method += (
                f", in {len(units.count):,} cells of the loss with {units.share_inside:.1g} of its variance inside"
            )
        draws = measure.sign * units.resampled(drawing)
        found = _percentiles(ledger, model, measure, formula.value, draws, level, method, drawing, few(ledger))
        return _with_imagined(found, ledger, model)
    table = ledger.table(model)
    value = measure.value(table)
    if plain:
        method, draw = "percentile bootstrap of table cells", draw_from_table(table)
    else:
        assert cases is not None  # noqa: S101  (for the type checker; otherwise there is nothing to draw from)
        ordered = in_canonical_order(cases.of(model))
        draw = draw_from_cases(ordered, (table,))
    units_there = units_of(ledger)
    if units_there == 1:
        return make_estimate(ledger, model, measure, value, math.nan, 1.0, level, method, units=1)
    draws = values_of_draws(draw, lambda tables: np.array([measure.value(tables[0])]), 1, drawing)[:, 0]
    known = few(ledger, fewest=0) if measure.of_answers else few(ledger)
    notes = (*some(measure.caveat(table)), *known)
    found = _percentiles(ledger, model, measure, value, draws, level, method, drawing, notes)
    wider = _with_imagined(widened(found, table), ledger, model)
    return replace(wider, notes=notes) if math.isnan(found.low) and not math.isnan(wider.low) else wider


def _with_imagined(found: Finding, ledger: Ledger, model: str) -> Finding:
    """Widen the interval to that of outcomes that the forecasts foresee, because no draw has what the sample lacks."""
    if math.isnan(found.error):
        return found
    measure = found.measure
    imagined = imagined_of_model(ledger, model, measure, factor_of(ledger, model, measure, found.error))
    if imagined is None:
        return found
    limits = imagined_limits(np.array(found.value), imagined, math.inf, found.level)
    low, high = map(float, hull((np.array(found.low), np.array(found.high)), limits))
    if not high - low > ROUNDING * abs(found.value):
        return found
    return within_range(
        replace(found, low=low, high=high, method=f"{found.method}, {IMAGINED}"), measure, ledger.classes
    )


def _loss_units(ledger: Ledger, model: str, rule: Rule, cases: Cases | None) -> Units:
    """Return the units of the mean loss, from the cells of the table if no cases are available."""
    if cases is None:
        table, of_event = ledger.table(model), binary_rule(rule)
        losses = [
            np.broadcast_to(of_event.loss(table.forecast, event=happens), len(table)) for happens in (True, False)
        ]
        counts = np.rint(np.concatenate([table.events, table.non_events])).astype(np.int64)
        met = counts > 0
        return Units.of(np.concatenate(losses)[met], count=counts[met])
    ordered = in_canonical_order(cases.of(model))
    losses_of = np.concatenate([loss for loss, _ in losses_by_chunk(ordered, rule)])
    weight = None if ordered.weight is None else np.asarray(ordered.weight, dtype=np.float64)
    return Units.of(losses_of, weight=weight, codes=None if ordered.units is None else ordered.units.codes)


def check_percentiles(n_resamples: int, level: float) -> None:
    """Raise an error if there are so few draws that none is expected beyond either limit."""
    fewest = math.ceil(2.0 / (1.0 - level) - 1e-9) - 1
    if n_resamples < fewest:
        law = f"must be at least {fewest:,} for percentiles at a level of {level:g}"
        raise InputValueError(law, argument="n_resamples", offender=f"got {n_resamples:,}")


def are_biased(draws: Floats, values: Floats) -> NDArray[np.bool_]:
    """Whether the draws, of shape (draws, values), are on average far from the values, beyond the error of few draws.

    A draw has noise of its own in addition to that of the sample. It moves measures that noise inflates, such as
    calibration errors, so that their percentiles say little about the value.

    Examples
    --------
    >>> (
    ...     are_biased(np.arange(1000.0)[:, None] / 1000.0, np.array([0.5])),
    ...     are_biased(np.eye(1000), np.full(1000, -0.1))[:1],
    ... )
    (array([False]), array([ True]))
    """
    with np.errstate(invalid="ignore"):  # Infinite draws.
        bias, spread = np.abs(draws.mean(axis=0) - values), draws.std(axis=0)
    return np.asarray(bias > (BIASED + 3.0 / math.sqrt(len(draws))) * spread)


def _percentiles(
    ledger: Ledger,
    model: str,
    measure: Measure,
    value: float,
    draws: Floats,
    level: float,
    method: str,
    drawing: Drawing,
    notes: tuple[Note, ...],
) -> Finding:
    """Return the estimate with the percentiles of the draws as limits; `notes` are for an interval that exists."""
    facts: dict[str, Any] = {"n_resamples": drawing.n_resamples, "seed": drawing.seed}
    units = units_of(ledger)
    if math.isinf(value):
        return make_estimate(ledger, model, measure, value, math.nan, 1.0, level, method, units=units, **facts)
    defined = draws[~np.isnan(draws)]
    lost = len(draws) - len(defined)
    low = high = error = math.nan
    if lost > UNDEFINED * len(draws) or math.isnan(value):
        notes = (Note("lost-draws", {"lost": lost, "draws": len(draws)}),)
    elif defined.min() == defined.max():
        error, notes = 0.0, (NO_SPREAD,)
    else:
        outside = (1.0 - level) / 2.0
        with np.errstate(invalid="ignore"):  # Infinite draws.
            low, high = (float(limit[0]) for limit in quantiles(defined[:, None], (outside, 1.0 - outside)))
        error = float(defined.std(ddof=1)) if len(defined) > 1 and np.isfinite(defined).all() else math.nan
        method += f"; {lost:,} of {len(draws):,} draws have no value" if lost else ""
        if low == high:
            low, high, notes = math.nan, math.nan, (Note("equal-draws"),)
        elif are_biased(defined[:, None], np.array([value]))[0]:
            way = "higher" if defined.mean() > value else "lower"
            notes = (Note("biased", {"way": way}), *notes)
    if not math.isnan(low):
        notes += (Note("neighbours"),) * (ledger.dependence == "period") + censoring_notes(ledger)
    return replace(
        make_estimate(ledger, model, measure, value, 1.0, math.inf, level, method, units=max(units, 2), **facts),
        low=low,
        high=high,
        error=error,
        units=None if ledger.dependence is None else units,
        notes=notes,
    )
