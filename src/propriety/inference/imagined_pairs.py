"""The law of differences of two models, from the moments of their losses or from the influence of each case."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from propriety.calibration.calibration_errors import rows_of
from propriety.inference.dependence import Errors, sums_of_units
from propriety.inference.estimates import ROUNDING
from propriety.inference.imagined import Totals, imagined_of, tilt_of, tilted, totals_of
from propriety.inference.measures.measure import Imagination, Measure
from propriety.inference.pair_limits import PairLaw, Seen
from propriety.ledger.case_pair_sums import Powers, sums_of_pair
from propriety.ledger.ledger import Ledger
from propriety.ledger.moments import OUTCOME, Moments
from propriety.result import Floats
from propriety.tables.forecast_table import ForecastTable


def law_of_moments(
    moments: Moments, errors: Errors, measure: Measure, tables: Sequence[ForecastTable], *, by_outcome: bool
) -> PairLaw | None:
    """Return the law of the differences of all pairs of models; None if the moments lack their sums.

    Parameters
    ----------
    moments : Moments
        Those whose means are the measure.
    errors : Errors
        Standard errors of all series.
    tables : sequence of ForecastTable
        Tables of the models.
    by_outcome : bool
        Whether the numbers of events and of non-events are known.
    """
    sums = moments.pair_sums
    asked = measure.imagination(tables[0])  # What models share: the threshold.
    if sums is None or asked is None:
        return None
    models, total = len(moments.models), moments.over()
    value, weight, squares = total.mean[0, models:], float(total.weight[0]), float(total.weight_squares[0])
    error, df = (column[models:] for column in errors)
    alone = error if by_outcome else moments.standard_errors()[models:]
    by = sums.over(OUTCOME)
    happened = np.array(by.index.column(OUTCOME), dtype=np.intp)
    cubes = by.cubes.sum(axis=0)
    with np.errstate(invalid="ignore", over="ignore"):  # Infinite losses.
        third = cubes @ np.array([0.0, 0.0, 0.0, 1.0]) - 3.0 * value * cubes[:, 2]
        third = (third + 3.0 * value**2 * cubes[:, 1] - value**3 * cubes[:, 0]) / weight**3
        of_units = third
        if moments.dependence is not None:
            units = moments.over(moments.dependence)
            of_units = ((units.weight[:, None] / weight * (units.mean[:, models:] - value)) ** 3).sum(axis=0)
    outcomes = moments.over(OUTCOME)
    share = float(outcomes.weight[np.array(outcomes.index.column(OUTCOME)) == 1].sum()) / weight
    totals = Totals(*(np.asarray(one) for one in (float(total.n[0]), weight, squares, share)))
    imagined = np.zeros((len(value), 2, *by.imagined.shape[2:]))
    imagined[:, happened] = np.moveaxis(by.imagined, 0, 1)
    seen = Seen(value, error, df, alone**2, third, of_units)
    return pair_law(seen, imagined, by.differ.sum(axis=0), totals, asked, tilts_of(tables), by_outcome=by_outcome)


def law_of_influence(
    ledger: Ledger, parts: Floats, errors: Errors, values: Floats, measure: Measure, *, by_outcome: bool
) -> PairLaw | None:
    """Return the same for a smooth measure, from the contributions of the cases to each model, (models, cases)."""
    cases, tables = ledger.cases, [ledger.table(model) for model in ledger.models]
    asked = measure.imagination(tables[0])
    if cases is None or asked is None:
        return None
    columns, weight = [], None
    for model, table in zip(ledger.models, tables, strict=True):
        forecast, _, weight = cases.gathered(model)
        row = rows_of(table, forecast)
        influence = measure.influence(table)
        columns.append((forecast, influence.event[row], influence.non_event[row]))
    event, pairs = cases.outcomes(), list(itertools.combinations(range(len(tables)), 2))
    powers: Powers = [None] if weight is None else [weight, weight**2, weight**3]
    imagined, differ, moments = np.zeros((len(pairs), 2, 2, 9)), np.zeros(len(pairs)), np.zeros((3, len(pairs)))
    keys, codes = cases.units, np.asarray(event, dtype=np.intp)

    def by_outcome_of(column: Floats) -> Floats:
        return np.bincount(codes, column, minlength=2).astype(np.float64, copy=False)

    for place, (one, other) in enumerate(pairs):
        first, second = columns[one], columns[other]
        with np.errstate(over="ignore", invalid="ignore"):  # Forecasts of almost 0, and infinite influences.
            sides = first[2] - second[2], first[1] - second[1]
            found = sums_of_pair((first[0], second[0]), sides, event, powers, by_outcome_of)
            imagined[place] = found[0]
            differ[place] = float(np.count_nonzero(_is_apart(sides[0]) | _is_apart(sides[1])))
            own = parts[one] - parts[other]
            third = float((own**3).sum())
            of_units = third if keys is None else float((sums_of_units(own[None], keys.codes, len(keys)) ** 3).sum())
            moments[:, place] = float(own @ own) * len(own) / max(len(own) - 1, 1), third, of_units
    models = len(tables)
    error, df = (column[models:] for column in errors)
    variance = error**2 if by_outcome else moments[0]
    seen = Seen(values[models:], error, df, variance, moments[1], moments[2])
    # The influence of a case is relative to the number, so that its mean is zero.
    totals = totals_of(tables[0])
    return pair_law(seen, imagined, differ, totals, asked, tilts_of(tables), by_outcome=by_outcome, mean=0.0)


def _is_apart(gap: Floats) -> NDArray[np.bool_]:
    """Whether the models differ in a case, other than in most cases: all contributions depend on both values."""
    most = np.median(gap)
    found: NDArray[np.bool_] = np.abs(gap - most) > ROUNDING * max(float(np.abs(gap).max()), abs(most))
    return found


def tilts_of(tables: Sequence[ForecastTable]) -> Floats:
    """Return the log ratio of the weights of events and of non-events for each pair, the mean of its two models."""
    own = [tilt_of(table) for table in tables]
    return np.array([0.5 * (one + other) for one, other in itertools.combinations(own, 2)])


def pair_law(
    seen: Seen,
    sums: Floats,
    differ: Floats,
    totals: Totals,
    asked: Imagination,
    log_ratio: Floats | float = 0.0,
    *,
    by_outcome: bool = False,
    mean: Floats | float | None = None,
) -> PairLaw:
    """Return the law from sums by observed and imagined outcome, shape (pairs, 2, 2, 9)."""
    tilted_sums = tilted(sums, log_ratio)
    imagined = imagined_of(tilted_sums, totals, asked, differing=differ, factor=seen.factor, by_outcome=by_outcome)
    return PairLaw.of(seen, imagined._replace(centre=imagined.centre - (seen.value if mean is None else mean)))
