"""Slopes of many tables at once; those of separated events are not determined."""

import numpy as np
import pytest
from scipy.special import expit, logit

from propriety.calibration.logistic import cox_line, fitted_slopes
from propriety.ledger.keyed_tables import KeyedTables
from propriety.tables.forecast_table import ForecastTable


@pytest.mark.parametrize("y", [[0, 0, 0, 1, 1], [1, 1, 0, 0, 0], [0, 0, 0, 0, 0]], ids=["right", "reversed", "none"])
def test_separated_events_have_no_slope(y):
    tables = [ForecastTable.from_predictions(y, [0.1, 0.3, 0.4, 0.6, 0.8])]
    tables.append(ForecastTable.from_predictions([0, 1, 0, 1], [0.2, 0.3, 0.6, 0.7]))
    slope, error = fitted_slopes(KeyedTables.of_tables(tables), np.array([True, True]))
    assert np.isnan(slope[0])
    assert np.isinf(error[0])
    assert np.isfinite([slope[1], error[1]]).all()


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weights"])
def test_each_slope_is_that_of_a_fit_of_its_own(weighted):
    rng = np.random.default_rng(3)
    tables = []
    for number, (level, slope) in enumerate([(0.0, 1.0), (-3.0, 0.5), (1.0, 2.0)]):
        p = rng.beta(1, 3, 400 * (number + 1))
        weight = rng.choice([1.0, 2.0], len(p)) if weighted else None
        y = rng.random(len(p)) < expit(level + slope * logit(p))
        tables.append(ForecastTable.from_predictions(y, p, sample_weight=weight))
    slopes, errors = fitted_slopes(KeyedTables.of_tables(tables), np.array([True, False, True]))
    assert np.isnan(slopes[1])
    for one, slope, error in zip(tables[::2], slopes[::2], errors[::2], strict=True):
        line = cox_line(one, slope=True)
        assert slope == pytest.approx(line.coefficients[0], rel=1e-6)
        if not weighted:
            assert error == pytest.approx(np.sqrt(line.covariance[0, 0]), rel=1e-6)
