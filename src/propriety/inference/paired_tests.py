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
from propriety.inference.dependence import Errors, Estimates, block_bootstrap, student
from propriety.inference.estimates import FEWEST, FEWEST_HELD, units_of
from propriety.inference.few_events import rarest
from propriety.inference.finding import Finding
from propriety.inference.imagined_pairs import law_of_influence, law_of_moments
from propriety.inference.influence import (
    case_influence,
    errors_of_cases,
    estimate_from_influence,
    influence_in,
    is_by_outcome,
    periods_worth,
)
from propriety.inference.mean_estimates import (
    errors_of_means,
    estimate_from_errors,
    least_limits,
    measured_moments,
    parts_in_time,
)
from propriety.inference.measures.measure import Measure
from propriety.inference.notes import Note
from propriety.inference.pair_limits import PairLaw
from propriety.ledger.ledger import Ledger
from propriety.ledger.moments import blocks_of_series
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
    untested : Note, optional
        Why there is no test.
    inflation : float
        The largest factor by which correlation inflates the variance of a difference.
    fewest : int
        Number of events and non-events that the intervals need.
    imagined : bool
        Whether outcomes that were not seen are imagined.
    independent_periods : float
        The smallest number of independent periods that would give a difference its error; NaN if not known.
    """

    values: Floats
    found: Estimates
    units: int
    untested: Note | None = None
    inflation: float = 1.0
    fewest: int = FEWEST
    imagined: bool = False
    independent_periods: float = math.nan


def paired_by_moments(
    ledger: Ledger,
    measure: Measure,
    method: str,
    horizon: int | None,
    level: float,
    drawing: Drawing,
    *,
    imagine: bool,
) -> Paired:
    """Compare means, or skill, by the moments of the losses and of their differences."""
    moments = measured_moments(ledger, measure)
    values, units, models = moments.means, moments.units, len(ledger.models)
    if np.isnan(values[:models]).any():
        raise InputValueError(demands.numbers_as_losses(measure.rule))
    fixed = ledger.prevalence is not None
    errors = errors_of_means(moments, horizon, by_outcome=fixed)
    inflation = float(np.fmax.reduce(errors.inflation[models:]))
    periods = float(np.fmin.reduce(errors.independent_periods[models:]))
    if units > 1 and rarest(moments) == 0:
        same = np.where(errors.standard_error > 0.0, np.nan, errors.standard_error)
        why = Note("one-outcome", {"number": 0, "outcome": "case of another class"})
        return untested_pairs(values, units, why, same)
    if method == "block bootstrap":
        parts = parts_in_time(moments)
        found = block_bootstrap(values, parts, level=level, n_resamples=drawing.n_resamples, seed=drawing.seed)
    else:
        found = student(values, errors.standard_error, errors.df, level)
    law = None
    if imagine and ledger.labels is None:
        errors_of_all = Errors(errors.standard_error, errors.df)
        tables = [ledger.table(model) for model in ledger.models]
        law = law_of_moments(moments, errors_of_all, measure, tables, by_outcome=fixed)
        found = _by_law(found, law, models, level)
    own_errors = errors if horizon is None else errors_of_means(moments, by_outcome=fixed)
    own = [
        estimate_from_errors(ledger, one, measure, level, moments, own_errors, imagine=imagine) for one in ledger.models
    ]
    both, imagined = _with_own_limits(found, own), law is not None
    fewest = FEWEST_HELD if imagined and ledger.dependence is None else FEWEST
    return Paired(values, both, units, None, inflation, fewest, imagined=imagined, independent_periods=periods)


def _by_law(found: Estimates, law: PairLaw | None, models: int, level: float) -> Estimates:
    """Replace limits and p-values of differences by those that allow for outcomes not seen."""
    if law is None:
        return found
    low, high = law.limits(level)
    columns = {"low": low, "high": high, "p_value": law.p_value()}
    known = np.isfinite(low) & np.isfinite(high)
    replaced = {
        name: np.append(getattr(found, name)[:models], np.where(known, column, getattr(found, name)[models:]))
        for name, column in columns.items()
    }
    return found._replace(**replaced)


def paired_by_influence(ledger: Ledger, measure: Measure, level: float, *, imagine: bool) -> Paired:
    """Compare a smooth measure by the influence of each case on the difference."""
    cases = ledger.cases
    tables = [ledger.table(model) for model in ledger.models]
    values = _with_differences(np.array([measure.value(table) for table in tables]))
    if cases is None:
        unknown = untested_pairs(values, units_of(ledger), needs_cases(ledger))
        own = [estimate_from_influence(ledger, model, measure, level) for model in ledger.models]
        return unknown._replace(found=_with_own_limits(unknown.found, own))
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
    units = units_of(ledger)
    if np.isnan(error).all() and units > 1 and np.isfinite(values).all():
        return untested_pairs(values, units, Note("no-limits"))
    own = [estimate_from_influence(ledger, model, measure, level, imagine=imagine) for model in ledger.models]
    both = student(values, error, df, level)
    # Two areas near 1 depend on more than forecasts foresee; see the note below.
    imagine = imagine and not measure.by_outcome
    if imagine:
        law = law_of_influence(ledger, parts, Errors(error, df), values, measure, by_outcome=by_outcome)
        both, imagine = _by_law(both, law, len(tables), level), law is not None
    both = _with_own_limits(both, own)
    is_held = (imagine or by_outcome) and ledger.dependence is None and ledger.censoring is None
    fewest = FEWEST_HELD if is_held else FEWEST
    if measure.by_outcome:
        fewest = max(fewest, _fewest_of_areas(float(values[: len(tables)].max())))
    periods_of_pairs = float(np.fmin.reduce(periods[len(tables) :]))
    return Paired(values, both, units, fewest=fewest, imagined=imagine, independent_periods=periods_of_pairs)


def _fewest_of_areas(largest: float) -> int:
    """Return the number of events and non-events that intervals of differences need, by the largest area.

    The error of an area near 1 is too small with few events, as few as the 1 / (1 - area) of which one is ranked low.
    """
    if not largest > NEAR_ONE:
        return FEWEST_HELD
    return max(FEWEST, math.ceil(1.0 / max(1.0 - largest, FINEST)))


def _with_own_limits(found: Estimates, own: list[Finding]) -> Estimates:
    """Replace the errors and limits of single models by those of `estimate`."""
    low, high, error = (
        np.append([getattr(one, name) for one in own], getattr(found, column)[len(own) :])
        for name, column in (("low", "low"), ("high", "high"), ("error", "standard_error"))
    )
    return found._replace(low=low, high=high, standard_error=error)


def paired_by_bootstrap(ledger: Ledger, measure: Measure, level: float, drawing: Drawing) -> Paired:
    """Compare any measure by drawing cases, clusters or periods with replacement, the same ones for all models."""
    check_percentiles(drawing.n_resamples, level)
    tables = tuple(ledger.table(model) for model in ledger.models)
    values = _with_differences(np.array([measure.value(table) for table in tables]))
    cases = ledger.cases
    if cases is None:
        return untested_pairs(values, units_of(ledger), needs_cases(ledger))
    ordered = in_canonical_order(cases)
    draw = draw_from_cases(ordered, tables)
    count = len(ledger.models)
    drawn = values_of_draws(draw, lambda some: np.array([measure.value(table) for table in some]), count, drawing)
    drawn = np.stack([_with_differences(row) for row in drawn])
    defined = drawn[~np.isnan(drawn).any(axis=1)]
    lost = len(drawn) - len(defined)
    if lost > UNDEFINED * len(drawn):
        return untested_pairs(values, units_of(ledger), Note("lost-draws", {"lost": lost, "draws": len(drawn)}))
    if are_biased(defined[:, :count], values[:count]).any():
        return untested_pairs(values, units_of(ledger), Note("biased-draws", {"label": measure.label}))
    outside = (1.0 - level) / 2.0
    with np.errstate(invalid="ignore"):  # Infinite draws.
        low, high = np.quantile(defined, (outside, 1.0 - outside), axis=0)
        error = np.std(defined, axis=0, ddof=1)
    beyond = np.minimum(np.sum(defined <= 0.0, axis=0), np.sum(defined >= 0.0, axis=0))
    p_value = np.minimum(2.0 * (1 + beyond) / (1 + len(defined)), 1.0)
    stuck = (low == high) & (error > 0.0)
    if stuck[count:].all():
        return untested_pairs(values, units_of(ledger), Note("equal-draws", {"label": measure.label}))
    error, low, high, p_value = (np.where(stuck, np.nan, column) for column in (error, low, high, p_value))
    least = np.array([least_limits(measure, *one, level) for one in zip(tables, values[:count], strict=True)]).T
    low[:count], high[:count] = np.fmin(low[:count], least[0]), np.fmax(high[:count], least[1])
    return Paired(values, Estimates(error, np.full(len(values), np.nan), low, high, p_value), units_of(ledger))


def paired_by_value(ledger: Ledger, measure: Measure, instead: Measure) -> Paired:
    """Return the values and their differences, which are not tested."""
    values = _with_differences(np.array([measure.value(ledger.table(model)) for model in ledger.models]))
    why = Note("inflated", {"label": measure.label, "instead": instead.label})
    return untested_pairs(values, units_of(ledger), why)


def untested_pairs(values: Floats, units: int, why: Note, error: Floats | None = None) -> Paired:
    """Return values that cannot be tested."""
    unknown = np.full(len(values), np.nan)
    return Paired(
        values, Estimates(unknown if error is None else error, unknown, unknown, unknown, unknown), units, why
    )


def needs_cases(ledger: Ledger) -> Note:
    """Return that a test needs the cases, which the ledger does not have."""
    return Note("needs-cases", {"what": "a test of this measure", "where": ledger.where_cases_are})


def _with_differences(values: Floats) -> Floats:
    """Return the values of the models, then the difference of each pair, first minus second."""
    one, other = _pairs(len(values))
    with np.errstate(invalid="ignore"):
        return np.concatenate([values, values[one] - values[other]])


def _pairs(count: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    one, other = np.triu_indices(count, k=1)
    return one, other
