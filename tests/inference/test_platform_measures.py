"""Normalized entropy and predicted/actual: by their relation to other measures, and with weights and clusters."""

import math

import numpy as np
import pytest

import propriety as pr
from propriety.errors import InputValueError
from propriety.measures import NormalizedEntropy, ObservedExpected, PredictedActual, Skill
from propriety.tables.forecast_table import ForecastTable


def sample(n=800, seed=1):
    rng = np.random.default_rng(seed)
    p = rng.beta(1, 4, n)
    return rng.random(n) < p**0.9, p, rng.gamma(2.0, 0.5, n)


def test_normalized_entropy_is_one_minus_skill():
    y, p, w = sample()
    for weight in (None, w):
        found = pr.estimate(y, p, NormalizedEntropy(), sample_weight=weight)
        skill = pr.estimate(y, p, Skill(pr.Log()), sample_weight=weight)
        assert found.value == pytest.approx(1 - skill.value, abs=1e-12)
        assert found.error == pytest.approx(skill.error, rel=1e-9)


def test_predicted_actual_is_the_inverse_of_observed_expected():
    y, p, w = sample()
    site = np.arange(800) // 20
    for options in ({}, {"sample_weight": w}, {"cluster": site}):
        found, inverse = (pr.estimate(y, p, one, **options) for one in (PredictedActual(), ObservedExpected()))
        assert found.value == pytest.approx(1 / inverse.value, rel=1e-12)
        assert (found.low, found.high) == pytest.approx((1 / inverse.high, 1 / inverse.low), rel=1e-9)


@pytest.mark.parametrize("measure", [NormalizedEntropy(), PredictedActual()])
def test_the_influence_has_mean_zero(measure):
    y, p, w = sample()
    table = ForecastTable.from_predictions(y, p, sample_weight=w)
    moved = measure.influence(table)
    assert abs((table.events * moved.event + table.non_events * moved.non_event).sum()) < 1e-9


def test_certain_forecasts_that_came_true_add_nothing():
    y, p = [1, 0, 1, 0] * 20, [1, 0, 0.5, 0.4] * 20
    found = pr.estimate(y, p, NormalizedEntropy())
    assert found.value == pytest.approx((math.log(2) - math.log(0.6)) / 4 / math.log(2))
    assert found.low < found.value < found.high


def test_a_refuted_certain_forecast_is_infinite():
    found = pr.estimate([0, 0, 1, 0] * 20, [1, 0, 0.5, 0.4] * 20, NormalizedEntropy())
    assert math.isinf(found.value)
    assert math.isnan(found.low)


def test_models_are_compared_by_normalized_entropy():
    y, p, _ = sample()
    found = pr.compare(y, {"a": p, "b": np.full(800, 0.2)}, NormalizedEntropy())
    assert found.differences.verdict.tolist() == ["good"]


def test_one_outcome_has_no_entropy_and_no_ratio():
    with pytest.raises(InputValueError, match="normalized entropy needs cases with and without the event"):
        pr.estimate([1, 1], [0.5, 0.6], NormalizedEntropy())
    with pytest.raises(InputValueError, match="predicted/actual needs events"):
        pr.estimate([0, 0], [0.5, 0.6], PredictedActual())


def test_normalized_entropy_has_no_influence_of_what_did_not_happen():
    table = ForecastTable.from_predictions([0, 1, 1, 0], [0.0, 1.0, 0.5, 0.5])
    found = NormalizedEntropy().influence(table)
    assert found.event[0] == 0.0
    assert found.non_event[-1] == 0.0
    assert np.isfinite([found.event, found.non_event]).all()
