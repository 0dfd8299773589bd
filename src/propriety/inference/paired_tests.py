"""Errors, intervals and p-values of a measure for each model and pair: by formula, influence or bootstrap."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from propriety import demands
from propriety.errors import InputValueError
from propriety.inference.bootstrap import Drawing, draw_from_cases, in_canonical_order, values_of_draws
from propriety.inference.bootstrap_estimates import UNDEFINED, are_biased, check_percentiles
from propriety.inference.dependence import Estimates, block_bootstrap, student
from propriety.inference.estimates import FEWEST, FEWEST_HELD, units_of
from propriety.inference.few_events import errors_of_even_models, limits_of_rare, rarest
from propriety.inference.influence import (
    case_influence,
    errors_of_cases,
    estimate_from_influence,
    fitted_errors,
    influence_in,
    is_by_outcome,
    periods_worth,
)
from propriety.inference.mean_estimates import clipped, errors_of_means, least_limits, measured_moments, parts_in_time
from propriety.inference.measures.measure import Measure
from propriety.inference.net_benefit_errors import difference_errors, net_benefit_limits
from propriety.ledger.ledger import Ledger
from propriety.ledger.moments import MANY_EVENTS, Moments, blocks_of_series
from propriety.result import Floats

NEAR_ONE = 0.9
FINEST = 1e-12  # Areas closer to 1 are 1.


class Paired(NamedTuple):
    """Values of the models and differences of the pairs, with their errors and tests.

    Parameters
    ----------
    values : ndarray of shape (series,)
        Values of the models, then the differences of the pairs.
    found : Estimates
        Their errors, intervals and p-values.
    units : int
        Number of independent units.
    untested : str
        Why there is no test; empty if there is.
    inflation : float
        The largest factor by which correlation inflates the variance of a difference.
    fewest : int
        Number of events and non-events that the intervals need.
    allowed : bool
        Whether some interval was widened because the sum of differences is skewed, as with few events.
    independent_periods : float
        The smallest number of independent periods that would give a difference its error; NaN if not known.
    """

    values: Floats
    found: Estimates
    units: int
    untested: str = ""
    inflation: float = 1.0
    fewest: int = FEWEST
    allowed: bool = False
    independent_periods: float = math.nan


def paired_by_moments(
    ledger: Ledger, measure: Measure, method: str, horizon: int | None, level: float, drawing: Drawing
) -> Paired:
    """Compare means, or skill, by the moments of the losses and of their differences."""
    moments = measured_moments(ledger, measure)
    values, units = moments.means, moments.units
    if np.isnan(values[: len(ledger.models)]).any():
        raise InputValueError(demands.numbers_as_losses(measure.rule))
    fixed = ledger.prevalence is not None
    errors = errors_of_means(moments, horizon, by_outcome=fixed)
    errors = errors._replace(standard_error=_at_least(errors.standard_error, fitted_errors(ledger, measure)))
    pairs = np.arange(len(values)) >= len(ledger.models)
    inflation = float(np.fmax.reduce(errors.inflation[pairs]))
    periods = float(np.fmin.reduce(errors.independent_periods[pairs]))
    counts = None if fixed or rarest(moments) == 0 else difference_errors(moments, measure)
    if counts is not None:
        own = errors.standard_error[pairs]  # 0 for pairs that make the same decisions, which are reported as the same.
        both = np.append(errors.standard_error[~pairs], np.where(own > 0.0, counts, own))
        errors = errors._replace(standard_error=both)
    widened, untested = errors.standard_error, ""
    if units > 1 and rarest(moments) == 0:
        untested = "all outcomes are the same"
    elif units > 1 and ledger.labels is None and not fixed and counts is None:
        widened = errors_of_even_models(moments, values, *errors[:3])
        if rarest(moments) >= MANY_EVENTS:
            widened = np.where(np.isnan(widened), errors.standard_error, widened)
        elif np.isnan(widened[pairs & ~np.isnan(errors.standard_error)]).any():
            untested = "the ledger lacks the moments that tests with few events need: condense these cases separately"
    if untested:
        same = np.where(errors.standard_error > 0.0, np.nan, errors.standard_error)
        return untested_pairs(values, units, untested, same)
    if method == "block bootstrap":
        parts = parts_in_time(moments)
        drawn = block_bootstrap(values, parts, level=level, n_resamples=drawing.n_resamples, seed=drawing.seed)
        with np.errstate(divide="ignore", invalid="ignore"):  # The caller handles values that never vary.
            factor = np.where(errors.standard_error > 0.0, widened / errors.standard_error, 1.0)
        found = _widened(values, drawn, factor, errors.df)
    else:
        found = student(values, widened, errors.df, level)
    if ledger.labels is None and not fixed and measure.sign is not None:
        found = _with_limits_of_models(found, moments, measure, errors.inflation, level)
    low, high = clipped(found.low, found.high, values, measure, ledger.classes)
    found = found._replace(low=np.where(pairs, found.low, low), high=np.where(pairs, found.high, high))
    allowed = bool((widened > errors.standard_error)[pairs].any())
    held = ledger.labels is None and ledger.dependence is None
    fewest = FEWEST_HELD if held else FEWEST
    return Paired(values, found, units, "", inflation, fewest, allowed, independent_periods=periods)


def _with_limits_of_models(
    found: Estimates, moments: Moments, measure: Measure, inflation: Floats, level: float
) -> Estimates:
    """Replace the limits of single models by those that hold for few decisions or rare events, as `estimate` does."""
    pairs = np.arange(len(found.low)) >= len(moments.models)
    counts = net_benefit_limits(moments, measure, level)
    if counts is not None:
        given = (found.low, found.high, found.standard_error)
        low, high, error = (np.append(own[0], both[pairs]) for own, both in zip(counts, given, strict=True))
        return found._replace(low=low, high=high, standard_error=error)
    limits = limits_of_rare(moments, inflation, level)
    low, high = (np.where(pairs | np.isnan(own), given, own) for own, given in zip(limits, found[2:4], strict=True))
    return found._replace(low=low, high=high)


def _widened(values: Floats, found: Estimates, factor: Floats, df: Floats) -> Estimates:
    """Widen the intervals of draws to allow for few events, with the corresponding p-value."""
    with np.errstate(divide="ignore", invalid="ignore"):
        low, high = (values + (limit - values) * factor for limit in (found.low, found.high))
        p_value = np.where(
            factor > 1.0, student(values, found.standard_error * factor, df, 0.95).p_value, found.p_value
        )
    return found._replace(
        standard_error=found.standard_error * factor, low=low, high=high, p_value=np.fmax(p_value, found.p_value)
    )


def paired_by_influence(ledger: Ledger, measure: Measure, level: float) -> Paired:
    """Compare a smooth measure by the influence of each case on the difference."""
    cases = ledger.cases
    tables = [ledger.table(model) for model in ledger.models]
    values = _with_differences(np.array([measure.value(table) for table in tables]))
    if cases is None:
        unknown = untested_pairs(values, units_of(ledger), f"a test of this measure needs {ledger.where_cases_are}")
        return unknown._replace(found=_with_own_limits(unknown.found, ledger, measure, level))
    parts = np.stack(
        [
            case_influence(cases, model, table, influence_in(ledger, table, measure))
            for model, table in zip(ledger.models, tables, strict=True)
        ]
    )
    by_outcome = is_by_outcome(ledger, measure)
    found = []
    for block in blocks_of_series(parts):
        errors = errors_of_cases(cases, block, by_outcome=by_outcome)
        found.append((*errors, periods_worth(cases, block, errors.standard_error)))
    error, df, periods = (np.concatenate(column) for column in zip(*found, strict=True))
    error = _at_least(error, fitted_errors(ledger, measure))
    if ledger.dependence is None:
        error = np.where(error > 0.0, np.hypot(error, measure.added_error(tables[0])), error)
    units = units_of(ledger)
    if np.isnan(error).all() and units > 1 and np.isfinite(values).all():
        return untested_pairs(values, units, "a single event or non-event has no spread")
    both = _with_own_limits(student(values, error, df, level), ledger, measure, level)
    fewest = FEWEST_HELD if by_outcome and ledger.dependence is None else FEWEST
    if measure.by_outcome:
        fewest = max(fewest, _fewest_of_areas(float(values[: len(tables)].max())))
    periods_of_pairs = float(np.fmin.reduce(periods[len(tables) :]))
    return Paired(values, both, units, fewest=fewest, independent_periods=periods_of_pairs)


def _fewest_of_areas(largest: float) -> int:
    """Return the number of events and non-events that intervals of differences need, by the largest area.

    The error of an area near 1 is too small with few events, as few as the 1 / (1 - area) of which one is ranked low.
    """
    if not largest > NEAR_ONE:
        return FEWEST_HELD
    return max(FEWEST, math.ceil(1.0 / max(1.0 - largest, FINEST)))


def _with_own_limits(found: Estimates, ledger: Ledger, measure: Measure, level: float) -> Estimates:
    """Replace the errors and limits of single models by those of `estimate`, on the scale of the measure."""
    own = [estimate_from_influence(ledger, model, measure, level) for model in ledger.models]
    low, high, error = (
        np.append([getattr(one, name) for one in own], getattr(found, name)[len(own) :])
        for name in ("low", "high", "standard_error")
    )
    return found._replace(low=low, high=high, standard_error=error)


def _at_least(error: Floats, least: Floats | None) -> Floats:
    """Return errors of at least those at fitted rates, if these are known; an error of 0 stays."""
    return error if least is None else np.where(error > 0.0, np.fmax(error, least), error)


def paired_by_bootstrap(ledger: Ledger, measure: Measure, level: float, drawing: Drawing) -> Paired:
    """Compare any measure by drawing cases, clusters or periods with replacement, the same ones for all models."""
    check_percentiles(drawing.n_resamples, level)
    tables = tuple(ledger.table(model) for model in ledger.models)
    values = _with_differences(np.array([measure.value(table) for table in tables]))
    cases = ledger.cases
    if cases is None:
        return untested_pairs(values, units_of(ledger), f"a test of this measure needs {ledger.where_cases_are}")
    ordered = in_canonical_order(cases)
    draw = draw_from_cases(ordered, tables)
    count = len(ledger.models)
    drawn = values_of_draws(draw, lambda some: np.array([measure.value(table) for table in some]), count, drawing)
    drawn = np.stack([_with_differences(row) for row in drawn])
    defined = drawn[~np.isnan(drawn).any(axis=1)]
    lost = len(drawn) - len(defined)
    if lost > UNDEFINED * len(drawn):
        return untested_pairs(values, units_of(ledger), f"{lost:,} of {len(drawn):,} draws have no value")
    if are_biased(defined[:, :count], values[:count]).any():
        why = f"the {measure.label} of draws is biased, as if noise inflates it, so the difference is not tested"
        return untested_pairs(values, units_of(ledger), f"{why}: compare a score")
    outside = (1.0 - level) / 2.0
    with np.errstate(invalid="ignore"):  # Infinite draws.
        low, high = np.quantile(defined, (outside, 1.0 - outside), axis=0)
        error = np.std(defined, axis=0, ddof=1)
    beyond = np.minimum(np.sum(defined <= 0.0, axis=0), np.sum(defined >= 0.0, axis=0))
    p_value = np.minimum(2.0 * (1 + beyond) / (1 + len(defined)), 1.0)
    stuck = (low == high) & (error > 0.0)
    if stuck[count:].all():
        return untested_pairs(values, units_of(ledger), f"hardly any draw differs in {measure.label}")
    error, low, high, p_value = (np.where(stuck, np.nan, column) for column in (error, low, high, p_value))
    least = np.array([least_limits(measure, *one, level) for one in zip(tables, values[:count], strict=True)]).T
    low[:count], high[:count] = np.fmin(low[:count], least[0]), np.fmax(high[:count], least[1])
    return Paired(values, Estimates(error, np.full(len(values), np.nan), low, high, p_value), units_of(ledger))


def paired_by_value(ledger: Ledger, measure: Measure, instead: Measure) -> Paired:
    """Return the values and their differences, which are not tested."""
    values = _with_differences(np.array([measure.value(ledger.table(model)) for model in ledger.models]))
    why = f"noise inflates the {measure.label}, for each model differently, so the difference is not tested: compare "
    return untested_pairs(values, units_of(ledger), f"{why}the {instead.label}")


def untested_pairs(values: Floats, units: int, why: str, error: Floats | None = None) -> Paired:
    """Return values that cannot be tested."""
    unknown = np.full(len(values), np.nan)
    return Paired(
        values, Estimates(unknown if error is None else error, unknown, unknown, unknown, unknown), units, why
    )


def _with_differences(values: Floats) -> Floats:
    """Return the values of the models, then the difference of each pair, first minus second."""
    one, other = _pairs(len(values))
    with np.errstate(invalid="ignore"):
        return np.concatenate([values, values[one] - values[other]])


def _pairs(count: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    one, other = np.triu_indices(count, k=1)
    return one, other
