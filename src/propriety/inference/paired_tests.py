"""Errors, intervals and p-values of a measure for each model and each pair: by formula, by influence, by drawing."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from propriety.errors import InputValueError, sentence
from propriety.inference.bootstrap import Drawing, draw_from_cases, in_canonical_order, values_of_draws
from propriety.inference.bootstrap_estimates import UNDEFINED, check_percentiles
from propriety.inference.dependence import Estimates, block_bootstrap, hac, student
from propriety.inference.estimates import units_of
from propriety.inference.influence import case_influence, errors_of_cases
from propriety.inference.mean_estimates import measured_moments, parts_in_time
from propriety.inference.measures import Mean, Measure, Skill, Smooth
from propriety.ledger.ledger import Ledger
from propriety.ledger.moments import blocks_of_series
from propriety.results import Floats

__all__ = ["Paired", "paired_by_bootstrap", "paired_by_influence", "paired_by_moments"]


class Paired(NamedTuple):
    """Values of the models and differences of the pairs, what is known of them, the units, and why there is no test."""

    values: Floats
    found: Estimates
    units: int
    untested: str = ""


def paired_by_moments(
    ledger: Ledger, measure: Mean | Skill, method: str, horizon: int | None, level: float, drawing: Drawing
) -> Paired:
    """Compare means, or skill, by the moments of the losses and of their differences."""
    moments = measured_moments(ledger, measure)
    values, units = moments.means, moments.units
    if np.isnan(values[: len(ledger.models)]).any():
        raise InputValueError(sentence(f"{measure.rule!r} must return numbers; its loss of some case is NaN"))
    if moments.dependence != "time":
        return Paired(values, student(values, moments.standard_errors(), units - 1.0, level), units)
    parts = parts_in_time(moments)
    if method == "block bootstrap":
        found = block_bootstrap(values, parts, level=level, n_resamples=drawing.n_resamples, seed=drawing.seed)
        return Paired(values, found, units)
    return Paired(values, student(values, *hac(parts, horizon=horizon), level), units)


def paired_by_influence(ledger: Ledger, measure: Smooth, level: float) -> Paired:
    """Compare a smooth measure by how far each case moves the difference."""
    cases = ledger.cases
    tables = [ledger.table(model) for model in ledger.models]
    values = _with_differences(np.array([measure.value(table) for table in tables]))
    if cases is None:
        return _untested(values, ledger.n, ledger.why_no_cases("a test"))
    parts = np.stack(
        [case_influence(cases, model, table, measure) for model, table in zip(ledger.models, tables, strict=True)]
    )
    by_outcome = bool(getattr(measure, "by_outcome", False))
    errors, df = [], math.inf
    for block in blocks_of_series(parts):
        one = errors_of_cases(cases, block, by_outcome=by_outcome)
        errors.append(one.standard_error)
        df = float(one.df[0])
    error, units = np.concatenate(errors), units_of(ledger)
    if np.isnan(error).all() and units > 1:
        return _untested(values, units, "a single event or non-event has no spread")
    # Student's t with so many degrees of freedom is the normal law.
    return Paired(values, student(values, error, 1e15 if math.isinf(df) else df, level), units)


def paired_by_bootstrap(ledger: Ledger, measure: Measure, level: float, drawing: Drawing) -> Paired:
    """Compare any measure by drawing cases, or clusters, with replacement, the same for all models."""
    check_percentiles(drawing.n_resamples, level)
    tables = tuple(ledger.table(model) for model in ledger.models)
    values = _with_differences(np.array([measure.value(table) for table in tables]))
    cases = ledger.cases
    if cases is None:
        return _untested(values, ledger.n, ledger.why_no_cases("a test"))
    ordered = in_canonical_order(cases)
    draw = draw_from_cases(ordered, tables)
    count = len(ledger.models)
    drawn = values_of_draws(draw, lambda some: np.array([measure.value(table) for table in some]), count, drawing)
    drawn = np.stack([_with_differences(row) for row in drawn])
    defined = drawn[~np.isnan(drawn).any(axis=1)]
    lost = len(drawn) - len(defined)
    if lost > UNDEFINED * len(drawn):
        return _untested(values, units_of(ledger), f"{lost:,} of {len(drawn):,} draws have no value")
    outside = (1.0 - level) / 2.0
    with np.errstate(invalid="ignore"):  # Of infinite draws.
        low, high = np.quantile(defined, (outside, 1.0 - outside), axis=0)
        error = np.std(defined, axis=0, ddof=1)
    beyond = np.minimum(np.sum(defined <= 0.0, axis=0), np.sum(defined >= 0.0, axis=0))
    p_value = np.minimum(2.0 * (1 + beyond) / (1 + len(defined)), 1.0)
    return Paired(values, Estimates(error, np.full(len(values), np.nan), low, high, p_value), units_of(ledger))


def _untested(values: Floats, units: int, why: str) -> Paired:
    """Return values that cannot be tested."""
    unknown = np.full(len(values), np.nan)
    return Paired(values, Estimates(unknown, unknown, unknown, unknown, unknown), units, why)


def _with_differences(values: Floats) -> Floats:
    """Return the values of the models, then the difference of each pair, first minus second."""
    one, other = _pairs(len(values))
    with np.errstate(invalid="ignore"):
        return np.concatenate([values, values[one] - values[other]])


def _pairs(count: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    one, other = np.triu_indices(count, k=1)
    return one, other
