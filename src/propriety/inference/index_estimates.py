"""The integrated calibration index with its interval, from draws of the coefficients of a smooth curve."""

from __future__ import annotations

import math

from propriety.calibration.smooth_calibration import smooth_calibration_of
from propriety.inference.bootstrap import Drawing
from propriety.inference.estimates import Estimate, units_of
from propriety.inference.measures.measure import Measure
from propriety.ledger.ledger import Ledger

METHOD = "draws of the coefficients of a spline"
ONLY_INDEPENDENT = "the interval is only known for independent cases"


def estimate_index(ledger: Ledger, model: str, measure: Measure, *, level: float, drawing: Drawing) -> Estimate:
    """Estimate the index; see `ReliabilityCurve.smooth`. The draws need independent cases."""
    found = smooth_calibration_of(ledger.table(model), level=level, n_resamples=drawing.n_resamples, seed=drawing.seed)
    found = found if ledger.dependence is None else found.without_limits(ONLY_INDEPENDENT)
    value, low, high = found.index(measure.key)
    return Estimate(
        value=value,
        low=low,
        high=high,
        standard_error=math.nan,
        level=level,
        method=METHOD,
        measure=measure,
        n=ledger.n,
        units=units_of(ledger),
        note=found.note,
        dropped=ledger.dropped,
        n_resamples=drawing.n_resamples,
        seed=drawing.seed,
    )
