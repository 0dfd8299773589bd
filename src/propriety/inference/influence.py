"""Standard errors from the influence of single cases on a measure, with weights, clusters and periods."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety.calibration.calibration_errors import rows_of
from propriety.inference.censored_calibration import squared_weights
from propriety.inference.cluster_errors import ClusterSums, cluster_errors
from propriety.inference.dependence import Errors, hac, independent_periods, span_of, sums_of_units
from propriety.inference.estimates import FEWEST, FEWEST_HELD, make_estimate, some, units_of, without_limits
from propriety.inference.finding import Finding
from propriety.inference.imagined import imagined_of_model
from propriety.inference.mean_estimates import within_range
from propriety.inference.measures.measure import Influence, Measure
from propriety.inference.notes import Note
from propriety.ledger.ledger import Ledger
from propriety.result import Floats
from propriety.tables.cases import Cases
from propriety.tables.censoring import Censoring
from propriety.tables.forecast_table import ForecastTable

ESTIMATED_WEIGHTS = ", with estimated censoring weights"
NONE = 1e-26  # Smaller squared errors are rounding error.


def error_of_table(table: ForecastTable, influence: Influence, *, by_outcome: bool = False) -> float:
    r"""Return the standard error of a measure of independent cases from the table.

    .. math:: \frac1W \sqrt{\frac{n}{n - 1} \sum_i w_i^2 \psi_i^2}

    with the influence :math:`\psi_i` of a case. With `by_outcome`, events and non-events are two samples, each with its
    own factor, as in DeLong's error. NaN if a sample has one case.
    """
    return errors_of_table(table, influence, by_outcome=by_outcome)[0]


def errors_of_table(table: ForecastTable, influence: Influence, *, by_outcome: bool = False) -> tuple[float, float]:
    """Return the standard error and its degrees of freedom: Welch's by outcome, else infinite."""
    largest = max(float(np.abs(part).max()) for part in influence)
    scale = largest if 1e150 < largest < math.inf else 1.0  # An event had a forecast of almost 0; avoids overflow.
    # Divided by all weights first, so that the result does not depend on their unit.
    squares = [
        float((weights / table.weight / table.weight * (part / scale) ** 2).sum())
        for weights, part in zip((table.event_squares, table.non_event_squares), influence, strict=True)
    ]
    counts = [table.n_events, table.n - table.n_events]
    square, df = _with_factors(squares, counts, by_outcome=by_outcome)
    return scale * math.sqrt(square), df if by_outcome else math.inf


def is_by_outcome(ledger: Ledger, measure: Measure) -> bool:
    """Whether events and non-events are two samples: for DeLong's error, and if the ledger fixes the event rate."""
    return (measure.by_outcome and ledger.censoring is None) or _fixes_rate(ledger)


def influence_in(ledger: Ledger, table: ForecastTable, measure: Measure) -> Influence:
    """Return the influence of cases on a measure; if the ledger fixes the event rate, less its mean by outcome."""
    influence = measure.influence(table)
    if not _fixes_rate(ledger):
        return influence
    weights = (table.events, table.non_events)
    with np.errstate(invalid="ignore"):  # Infinite losses.
        means = [weight @ part / weight.sum() for part, weight in zip(influence, weights, strict=True)]
        return Influence(*(part - mean for part, mean in zip(influence, means, strict=True)))


def case_influence(cases: Cases, model: str, table: ForecastTable, influence: Influence) -> Floats:
    """Return the contribution of each case to a measure: its weight times its influence, divided by all weights."""
    forecast, event, weight = cases.gathered(model)
    row = rows_of(table, forecast)
    part = np.where(event, influence.event[row], influence.non_event[row])
    if weight is not None:
        part = np.where(weight > 0.0, part * weight, 0.0)
    found: Floats = part / table.weight
    return found


def errors_of_cases(cases: Cases, parts: Floats, *, by_outcome: bool = False) -> Errors:
    """Return standard errors from the contributions of the cases, of shape (numbers, cases).

    Cases of one cluster, and neighbouring periods, may be correlated. If the outcomes are censored, the errors are
    those with estimated weights.
    """
    event, weight = cases.outcomes(), cases.weight
    if cases.censoring is not None:
        return _errors_of_censored(cases, cases.censoring, parts)
    present = _present(cases)
    keys = cases.units
    if keys is not None:
        occupied = np.bincount(keys.codes, present, minlength=len(keys)) > 0.0
        sums = sums_of_units(parts, keys.codes, len(keys))[:, occupied]
        if cases.period is not None:
            return Errors(*hac(sums.T))
        found = cluster_errors(_cluster_sums(parts, sums, weight, keys.codes, occupied))
        return Errors(found.standard_error[0], found.df[0])
    counts = [int(np.count_nonzero(present & event)), int(np.count_nonzero(present & ~event))]
    of_events, of_others = (np.einsum("sc,sc->s", some, some) for some in (parts[:, event], parts[:, ~event]))
    errors = [
        _with_factors(list(squares), counts, by_outcome=by_outcome)
        for squares in zip(of_events.tolist(), of_others.tolist(), strict=True)
    ]
    square, df = (np.array(column) for column in zip(*errors, strict=True))
    return Errors(np.sqrt(square), df)


def periods_worth(cases: Cases, parts: Floats, standard_error: Floats) -> Floats:
    """Return how many independent periods would have the errors of `errors_of_cases`; NaN if cases are not in time."""
    keys = cases.units
    if cases.period is None or keys is None:
        return np.full(len(parts), np.nan)
    occupied = np.bincount(keys.codes, _present(cases), minlength=len(keys)) > 0.0
    return independent_periods(sums_of_units(parts, keys.codes, len(keys))[:, occupied].T, standard_error)


def _present(cases: Cases) -> NDArray[np.bool_]:
    """Whether each case has weight."""
    return np.ones(len(cases), dtype=bool) if cases.weight is None else np.asarray(cases.weight) > 0.0


def _errors_of_censored(cases: Cases, censoring: Censoring, parts: Floats) -> Errors:
    """Return standard errors that allow for estimated censoring weights."""
    everyone, weight = censoring.everyone, cases.weight
    if cases.cluster is not None and everyone is not None and everyone.cluster is not None:
        influence, codes = censoring.influence(parts), everyone.cluster
        units = int(codes.max()) + 1
        # Clusters of these cases, and those in which no outcome is known.
        occupied = np.bincount(codes[censoring.row], minlength=units) > 0
        occupied |= np.bincount(codes, ~everyone.leaves, minlength=units) == 0.0
        sums = sums_of_units(influence, codes, units)[:, occupied]
        found = cluster_errors(_cluster_sums(influence, sums, everyone.weight, codes, occupied))
        return Errors(found.standard_error[0], found.df[0])
    n = 1.0 if weight is None else float(weight.sum())  # All cases, also those of unknown outcome.
    if everyone is not None and everyone.weight is not None:
        n /= float(everyone.weight.mean())
    with np.errstate(invalid="ignore"):  # Events with a forecast of almost 0.
        square = np.einsum("sc,sc->s", parts, parts) - censoring.variance(parts)
    return Errors(np.sqrt(np.maximum(square, 0.0) * n / max(n - 1.0, 1.0)), np.full(len(parts), n - 1.0))


def _with_factors(squares: list[float], counts: list[int], *, by_outcome: bool) -> tuple[float, float]:
    """Return the sum of the squares of samples, each with its factor, and Welch's degrees of freedom."""
    if not by_outcome:
        squares, counts = [sum(squares)], [sum(counts)]
    if 1 in counts:
        return math.nan, math.nan
    parts = [(one * count / (count - 1), count - 1) for one, count in zip(squares, counts, strict=True) if count]
    whole = sum(part for part, _ in parts)
    # The spread of a zero difference, such as that of two areas with the same ranks, is rounding error.
    if not whole > NONE:
        return whole, float(sum(freedom for _, freedom in parts))
    # Relative to the whole, because squares of huge numbers leave the range of numbers.
    return whole, 1.0 / sum((part / whole) ** 2 / freedom for part, freedom in parts)


def _cluster_sums(
    parts: Floats, sums: Floats, weight: Any, codes: NDArray[np.intp], occupied: NDArray[np.bool_]
) -> ClusterSums:
    """Return the input of `cluster_errors`; contributions are weight times influence, divided by all weights."""
    w = np.ones(len(codes)) if weight is None else np.asarray(weight, dtype=np.float64)
    w = w / w.mean()  # Their scale does not matter, and powers of huge or tiny weights leave the range of numbers.
    n, own, squares = sums_of_units(np.stack([w > 0.0, w, w * w]), codes, len(occupied))[:, occupied]
    total = own.sum()  # Of these clusters; if outcomes are censored, other groups have clusters too.
    deviation = sums.T * total
    mean = deviation / own[:, None]
    tilted = sums_of_units(parts * w, codes, len(occupied))[:, occupied].T * total
    squared = sums_of_units(parts**2, codes, len(occupied))[:, occupied].T * total**2
    with np.errstate(invalid="ignore"):  # Infinite values.
        spread = np.maximum(squared - mean * (2.0 * tilted - mean * squares[:, None]), 0.0)
    return ClusterSums(n, own, squares, deviation, spread)


def estimate_from_influence(
    ledger: Ledger, model: str, measure: Measure, level: float, *, imagine: bool = True
) -> Finding:
    """Estimate a smooth measure from its influence: from the table, or from correlated or censored cases."""
    table = ledger.table(model)
    cases = None if ledger.dependence is None and ledger.censoring is None else ledger.cases
    value = measure.value(table)
    if measure.inverse_of is not None and value > 0.0:
        return _inverse(estimate_from_influence(ledger, model, measure.inverse_of, level, imagine=imagine), measure)
    by_outcome = is_by_outcome(ledger, measure)
    periods = math.nan
    of_independent = math.nan if _fixes_rate(ledger) else measure.error_of_independent(table)
    method = ", by outcome" * _fixes_rate(ledger)
    influence = influence_in(ledger, table, measure)
    if cases is not None and cases.censoring is not None:
        error, df = _error_of_censored(ledger, cases, cases.censoring, model, measure, influence)
        units = units_of(ledger)
        method += ", cluster-robust" * (cases.cluster is not None)
        method += ESTIMATED_WEIGHTS * cases.censoring.is_estimated
    elif ledger.dependence is None:
        error, df = errors_of_table(table, influence, by_outcome=by_outcome)
        error = error if math.isnan(of_independent) or math.isnan(error) else of_independent
        units = table.n
    else:
        if cases is None:
            return without_limits(ledger, model, measure, value, level)
        parts = case_influence(cases, model, table, influence)
        errors = errors_of_cases(cases, parts[None], by_outcome=by_outcome)
        error, df = float(errors.standard_error[0]), float(errors.df[0])
        periods = float(periods_worth(cases, parts[None], errors.standard_error)[0])
        # Few clusters estimate their variance poorly, but it is hardly ever less than that of independent cases.
        error = error if math.isnan(of_independent) or math.isnan(error) else max(error, of_independent)
        units = units_of(ledger)
        method += ", cluster-robust" if ledger.dependence == "cluster" else f", over {span_of(units):,} periods"
    factor = factor_of(ledger, model, measure, error)
    imagined = imagined_of_model(ledger, model, measure, factor) if imagine and math.isfinite(value) else None
    # Imagined outcomes have the skewness that a logarithm is there for.
    scale = measure.scale if imagined is None or measure.scale == "logit" else "identity"
    method = _method_on(ledger, measure, scale, is_fitted=not math.isnan(of_independent)) + method
    is_held = ledger.dependence is None and ledger.censoring is None and (imagine or by_outcome)
    fewest = FEWEST_HELD if is_held else FEWEST
    fewest = 0 if measure.of_answers else fewest  # Of right and wrong answers; see `caveat`.
    found = make_estimate(
        ledger,
        model,
        measure,
        value,
        error,
        df,
        level,
        method,
        units=units,
        scale=scale,
        fewest=fewest,
        independent_periods=periods,
        imagined=imagined,
    )
    is_apart = scale == "logit" and (math.isnan(found.low) or value in (0.0, 1.0))
    if is_apart and not math.isnan(found.error):
        note = Note("equal-forecasts" if len(table) == 1 else "no-overlap")
        found = replace(found, notes=(note,), error=error)
    if not math.isnan(found.low):
        found = replace(found, notes=(*some(measure.caveat(table)), *found.notes))
    return within_range(found, measure, ledger.classes)


def _inverse(found: Finding, measure: Measure) -> Finding:
    """Return the estimate of the inverse of a number above 0."""
    value = 1.0 / found.value
    high = 1.0 / found.low if found.low > 0.0 else math.inf if found.low == 0.0 else math.nan
    error = found.error * value**2
    return replace(found, value=value, low=1.0 / found.high, high=high, error=error, measure=measure)


def _error_of_censored(
    ledger: Ledger, cases: Cases, censoring: Censoring, model: str, measure: Measure, influence: Influence
) -> tuple[float, float]:
    """Return the error and its degrees of freedom, or the error that the measure knows for independent cases."""
    table = ledger.table(model)
    parts = case_influence(cases, model, table, influence)[None]
    errors = errors_of_cases(cases, parts)
    error, df = float(errors.standard_error[0]), float(errors.df[0])
    alone = math.nan
    if not _fixes_rate(ledger):
        alone = measure.error_of_independent(table, squared_weights(cases.of(model), censoring, table).variance)
    if math.isnan(alone):
        return error, df
    alone = math.sqrt(max(alone**2 - float(censoring.variance(parts)[0]), 0.0))
    return (alone if cases.cluster is None or math.isnan(error) else max(error, alone)), df


def factor_of(ledger: Ledger, model: str, measure: Measure, error: float) -> float:
    """Return by how much correlation inflates the variance, from the error of a measure; at least 1."""
    is_alone = ledger.dependence is None and ledger.censoring is None
    if is_alone or math.isnan(error) or not measure.has_influence or ledger.labels is not None:
        return 1.0
    table = ledger.table(model)
    alone = error_of_table(table, measure.influence(table), by_outcome=measure.by_outcome)
    return max((error / alone) ** 2, 1.0) if alone > 0.0 else 1.0


def _fixes_rate(ledger: Ledger) -> bool:
    """Whether the event rate of independent cases is fixed."""
    return ledger.prevalence is not None and ledger.dependence is None


def _method_on(ledger: Ledger, measure: Measure, scale: str, *, is_fitted: bool) -> str:
    is_delong = measure.by_outcome and ledger.censoring is None
    first = "DeLong" if is_delong else "influence function"
    first = "variance of outcomes at the fitted rates" if is_fitted else first
    return first if scale == "identity" else f"{first}, on the {scale} scale"
