"""The test of calibration of a model in a ledger: of independent cases, and of those that depend on each other."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit, logit

from propriety.calibration.calibration_test import CalibrationTest, calibration_test
from propriety.calibration.cox_line import cox_line
from propriety.calibration.null_scores import null_scores
from propriety.errors import UNDEFINED
from propriety.inference.bootstrap import Drawing
from propriety.inference.dependent_calibration import dispersion_of_scores
from propriety.ledger.ledger import Ledger
from propriety.results import Floats

__all__ = ["test_beside_the_line", "test_of"]


def test_of(ledger: Ledger, model: str, drawing: Drawing) -> CalibrationTest | None:
    """Test the calibration of a model; None where cases may depend on each other and are not at hand."""
    table = ledger.table(model)
    draws: dict[str, Any] = {"n_resamples": drawing.n_resamples, "seed": drawing.seed}
    if ledger.dependence is None:
        return calibration_test(table, **draws)
    cases = ledger.cases
    if cases is None:
        return None
    scores = null_scores(table)
    dispersion = dispersion_of_scores(cases.of(model), table, scores)
    return calibration_test(table, **draws, scores=scores, dispersion=dispersion)


def test_beside_the_line(ledger: Ledger, model: str, drawing: Drawing) -> CalibrationTest | None:
    """Test forecasts that are recalibrated by intercept and slope; None where these cannot be fitted."""
    try:
        line = cox_line(ledger.table(model), slope=True)
    except UNDEFINED:
        return None
    if not line.converged:
        return None
    slope, intercept = line.coefficients.tolist()

    def moved(forecast: Floats) -> Floats:
        return np.asarray(expit(slope * logit(forecast) + intercept))

    if ledger.dependence is None:
        table = ledger.table(model)
        return test_of(Ledger.of_tables({model: table.moved(moved(table.forecast))}), model, drawing)
    cases = ledger.cases
    if cases is None:
        return None
    forecast, _, _ = cases.gathered(model)
    own = cases.with_forecast(model, moved(forecast))
    return test_of(Ledger.of_source(own, ledger.events), model, drawing)
