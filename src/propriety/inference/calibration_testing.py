"""The test of calibration of a model in a ledger, for independent and for correlated cases."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import expit, logit

from propriety.calibration.calibration_test import CalibrationTest, calibration_test, null_scores
from propriety.calibration.logistic import cox_line
from propriety.errors import UNDEFINED
from propriety.inference.bootstrap import Drawing
from propriety.inference.censored_calibration import censored_scores
from propriety.inference.dependent_calibration import dispersion_of_scores, units_of_cases
from propriety.ledger.ledger import Ledger
from propriety.result import Floats
from propriety.tables.cases import Cases
from propriety.tables.forecast_table import ForecastTable


def calibration_test_of(ledger: Ledger, model: str, drawing: Drawing) -> CalibrationTest | None:
    """Test the calibration of a model; None if cases may be correlated and are not available."""
    cases = _needed_cases(ledger)
    if ledger.dependence is not None and cases is None:
        return None
    return _tested(ledger.table(model), None if cases is None else cases.of(model), drawing)


def recalibrated_test_of(ledger: Ledger, model: str, drawing: Drawing) -> CalibrationTest | None:
    """Test forecasts after recalibration by intercept and slope; None if these cannot be fitted."""
    table, cases = ledger.table(model), _needed_cases(ledger)
    if ledger.dependence is not None and cases is None:
        return None
    try:
        line = cox_line(table, slope=True)
    except UNDEFINED:
        return None
    if not line.converged:
        return None
    slope, intercept = line.coefficients.tolist()

    def moved(forecast: Floats) -> Floats:
        return np.asarray(expit(slope * logit(forecast) + intercept))

    own = None if cases is None else cases.with_forecast(model, moved(cases.gathered(model).forecast))
    return _tested(table.moved(moved(table.forecast)), own, drawing)


def _needed_cases(ledger: Ledger) -> Cases | None:
    """Return the cases if they may be correlated or have estimated weights, and are available."""
    return None if ledger.dependence is None and ledger.censoring is None else ledger.cases


def _tested(table: ForecastTable, cases: Cases | None, drawing: Drawing) -> CalibrationTest:
    draws: dict[str, Any] = {"n_resamples": drawing.n_resamples, "seed": drawing.seed}
    if cases is None:
        return calibration_test(table, **draws)
    if cases.censoring is not None and cases.cluster is None:
        return calibration_test(table, **draws, scores=censored_scores(cases, cases.censoring, table))
    scores, units = null_scores(table), units_of_cases(cases)[0]
    dispersion = dispersion_of_scores(cases, table, scores)
    draws |= {"dispersion": dispersion.variance, "around_mean": dispersion.around_mean, "dispersion_df": dispersion.df}
    found = calibration_test(table, **draws, scores=scores, units=units)
    return replace(found, worth=dispersion.worth, equal_units=dispersion.equal_units)
