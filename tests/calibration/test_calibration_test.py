"""Cox's score test: by the formula with matrices, its size, and forecasts without log-odds."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from propriety.calibration.cox import cox_test
from scipy.special import logit

from propriety import ForecastTable

cases = st.lists(st.tuples(st.booleans(), st.floats(0.01, 0.99)), min_size=3, max_size=30)


def table(y, p, weight=None):
    return ForecastTable.from_predictions(y, p, sample_weight=weight)


def by_matrices(y, p):
    design = np.column_stack([np.ones(len(p)), logit(p)])
    score = design.T @ (y - p)
    variance = (design * (p * (1.0 - p))[:, None]).T @ design
    return score @ np.linalg.solve(variance, score)


@given(cases)
def test_the_statistic_is_that_of_the_formula(drawn):
    y, p = (np.array(column, dtype=float) for column in zip(*drawn, strict=True))
    p = np.round(p, 2)
    found = cox_test(table(y, p))
    if len(np.unique(p)) > 1:
        assert found.df == 2
        assert found.statistic == pytest.approx(by_matrices(y, p), rel=1e-6, abs=1e-9)
        assert found.p_value == pytest.approx(math.exp(-found.statistic / 2.0))


def test_equal_forecasts_have_no_slope():
    found = cox_test(table([0, 1, 1, 1], [0.5] * 4))
    assert (found.df, found.statistic) == (1, 1.0)
    assert found.p_value == pytest.approx(0.3173105)
    nearly = cox_test(table([0, 1, 1, 1], [0.3, 0.3, 0.3, np.nextafter(0.3, 1.0)]))
    assert nearly.df == 1


def test_certain_forecasts_that_came_true_are_left_out():
    y, p = [0, 1, 0, 1, 1], [0.2, 0.7, 0.4, 0.5, 0.9]
    inside, whole = cox_test(table(y, p)), cox_test(table([*y, 0, 1, 1], [*p, 0.0, 1.0, 1.0]))
    assert (whole.n_certain, whole.n_refuted, whole.n) == (3.0, 0.0, 8)
    assert whole.statistic == pytest.approx(inside.statistic)


@pytest.mark.parametrize(("y", "p"), [(1, 0.0), (0, 1.0)], ids=["an event at 0", "none at 1"])
def test_a_certain_forecast_that_did_not_come_true_refutes(y, p):
    found = cox_test(table([0, 1, 0, y], [0.2, 0.7, 0.4, p]))
    assert (found.n_refuted, found.statistic, found.p_value) == (1.0, math.inf, 0.0)


def test_only_certain_forecasts_leave_nothing_to_test():
    found = cox_test(table([0, 1], [0.0, 1.0]))
    assert (found.df, found.statistic, found.p_value, found.information) == (0, 0.0, 1.0, 0.0)


def test_weights_count_as_the_effective_number_of_cases():
    rng = np.random.default_rng(1)
    p = rng.random(200)
    y = rng.random(200) < p
    plain, scaled = cox_test(table(y, p)), cox_test(table(y, p, np.full(200, 5.0)))
    assert scaled.statistic == pytest.approx(plain.statistic)
    assert scaled.information == pytest.approx(plain.information)
    weight = rng.random(200)
    uneven = cox_test(table(y, p, weight))
    assert uneven.effective_n == pytest.approx(weight.sum() ** 2 / (weight**2).sum())


def test_an_event_that_was_all_but_excluded_is_told_without_a_warning():
    assert cox_test(table([1, 0, 1], [1e-320, 0.3, 0.6])).p_value == 0.0


@pytest.mark.parametrize("shape", [(1, 3), (1, 49)], ids=["25% events", "2% events"])
def test_calibrated_forecasts_are_rejected_as_often_as_they_may_be(shape):
    rng = np.random.default_rng(2)
    forecasts = [rng.beta(*shape, 1000) for _ in range(500)]
    rejected = [cox_test(table(rng.random(1000) < p, p)).p_value <= 0.05 for p in forecasts]
    assert 0.02 <= np.mean(rejected) <= 0.08
