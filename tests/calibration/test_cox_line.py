"""Calibration intercept and slope of tables with more rows than their first fit has groups."""

import numpy as np
import pytest
from scipy.special import expit, logit

from propriety.calibration.logistic import GROUPS_OF_LINE, _grouped, cox_line, fit_logistic
from propriety.tables.forecast_table import ForecastTable


@pytest.fixture(scope="module")
def drawn():
    rng = np.random.default_rng(11)
    p = expit(rng.normal(-1.0, 2.0, 3 * GROUPS_OF_LINE))
    return ForecastTable.from_predictions(rng.random(len(p)) < expit(0.3 + 0.8 * logit(p)), p)


@pytest.mark.parametrize("slope", [True, False])
def test_many_rows_have_the_line_of_all_of_them(drawn, slope):
    x = logit(drawn.forecast)
    constant = np.ones((len(x), 1))
    design, offset = (np.column_stack([x, constant]), None) if slope else (constant, x)
    whole = fit_logistic(design, drawn.events, drawn.non_events, offset)
    found = cox_line(drawn, slope=slope)
    np.testing.assert_allclose(found.coefficients, whole.coefficients, rtol=1e-9)
    np.testing.assert_allclose(found.covariance, whole.covariance, rtol=1e-8)
    assert found.converged


def test_groups_have_about_equal_variance_and_keep_the_cases(drawn):
    forecast, events, non_events = drawn.forecast, drawn.events, drawn.non_events
    x, own_events, own_non_events = _grouped(forecast, logit(forecast), events, non_events)
    assert GROUPS_OF_LINE / 2 < len(x) <= GROUPS_OF_LINE
    assert (np.diff(x) > 0).all()
    assert own_events.sum() == events.sum()
    assert own_non_events.sum() == non_events.sum()
    rate = expit(x)
    variance = (own_events + own_non_events) * rate * (1 - rate)
    share = variance / (drawn.weights * forecast * (1 - forecast)).sum()
    assert share.max() < 3 / GROUPS_OF_LINE
    small = _grouped(forecast[:9], logit(forecast[:9]), events[:9], non_events[:9])
    assert small[0].tolist() == logit(forecast[:9]).tolist()
