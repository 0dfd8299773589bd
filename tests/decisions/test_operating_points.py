"""Decisions at thresholds, and gain curves, from the forecast table."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, precision_score, recall_score

import propriety as pr
from propriety.inference.threshold_limits import wilson_limits

RNG = np.random.default_rng(2)
P = RNG.beta(1, 4, 400).round(2)
Y = RNG.random(400) < P


def test_rates_are_those_of_scikit_learn_and_net_benefit_that_of_the_curve():
    grid = [0.1, 0.3, 0.55]
    curve = pr.decision_curve(Y, P, grid=grid)
    found = curve.operating_points(grid=grid)
    for row, threshold in enumerate(grid):
        acted = threshold <= P
        assert found.sensitivity[row] == pytest.approx(recall_score(Y, acted))
        assert found.specificity[row] == pytest.approx(recall_score(~Y, ~acted))
        assert found.positive_predictive_value[row] == pytest.approx(precision_score(Y, acted))
        assert found.negative_predictive_value[row] == pytest.approx(precision_score(~Y, ~acted))
        assert found.alert_rate[row] == pytest.approx(acted.mean())
    np.testing.assert_allclose(found.net_benefit, curve.value, atol=1e-12)
    np.testing.assert_allclose(found.gain_over_all, curve.value - curve.treat_all, atol=1e-12)
    for name in ("sensitivity", "positive_predictive_value", "number_needed_to_evaluate", "net_benefit"):
        value, low, high = (getattr(found, name + part) for part in ("", "_low", "_high"))
        assert ((low <= value) & (value <= high)).all()


def test_without_alerts_predictive_values_are_undefined():
    found = pr.decision_curve([0, 1], [0.1, 0.2]).operating_points(grid=[0.5])
    assert np.isnan(found.positive_predictive_value[0])
    assert found.sensitivity[0] == 0.0


def test_they_are_at_the_thresholds_of_the_curve_or_at_one_half():
    for thresholds, expected in ((None, [0.5]), (0.2, [0.2]), ((0.1, 0.3), [0.1, 0.3]), ((0.1, 1.0), [0.1])):
        assert pr.decision_curve(Y, P, thresholds=thresholds).operating_points().threshold.tolist() == expected


def test_equal_weights_change_nothing():
    plain, twice = (
        pr.decision_curve(Y, P, sample_weight=weight, thresholds=0.2).operating_points()
        for weight in (None, [3.0] * 400)
    )
    for name, column in plain.columns().items():
        np.testing.assert_allclose(column, twice.columns()[name], rtol=1e-12)


def test_wilson_limits_of_nothing_are_unknown():
    low, high = wilson_limits(np.array([0.0]), np.array([0.0]), 0.95)
    assert (low[0], high[0]) == (0.0, 1.0)


def test_average_precision_is_that_of_scikit_learn():
    found = pr.roc_curve(Y, P).gains()
    assert found.average_precision == pytest.approx(average_precision_score(Y, P))
    np.testing.assert_allclose(found.lift * found.prevalence, found.precision)
    assert (found.share[-1], found.recall[-1]) == (1.0, 1.0)


@pytest.mark.parametrize("seed", range(20))
def test_weighted_cases_that_do_not_exist_have_no_share(seed):
    rng = np.random.default_rng(seed)
    weight, p = rng.gamma(2.0, size=500), rng.uniform(0.2, 0.7, 500)
    found = pr.decision_curve(rng.random(500) < p, p, sample_weight=weight).operating_points(grid=[0.1, 0.8])
    assert np.isnan(found.negative_predictive_value[0])
    assert np.isnan(found.positive_predictive_value[1])
    assert (found.sensitivity[0], found.specificity[0]) == (1.0, 0.0)
    assert (found.sensitivity[1], found.specificity[1]) == (0.0, 1.0)
    assert found.alert_rate.tolist() == [1.0, 0.0]


@pytest.mark.parametrize("weights", [(0.1, 1.9), (10.0, 1.0)])
def test_weights_of_the_outcome_leave_the_limits_within_an_outcome(weights):
    y = np.repeat([1, 0], [50, 500])
    p = np.repeat([0.5, 0.1, 0.5, 0.1], [40, 10, 100, 400])
    weight = np.where(y == 1, *weights)
    found = pr.decision_curve(y, p, sample_weight=weight, grid=[0.2]).operating_points(grid=[0.2])
    for name, part, whole in (("sensitivity", 40.0, 50.0), ("specificity", 400.0, 500.0)):
        low, high = wilson_limits(np.array([part]), np.array([whole]), 0.95)
        assert getattr(found, f"{name}_low")[0] == pytest.approx(low[0])
        assert getattr(found, f"{name}_high")[0] == pytest.approx(high[0])


def error_of_mean(value, weight):
    """Return the standard error of a weighted mean by its definition."""
    mean = (weight * value).sum() / weight.sum()
    return np.sqrt((weight**2 * (value - mean) ** 2).sum()) / weight.sum()


def test_widths_are_those_of_the_weighted_means():
    n = 40_000
    rng = np.random.default_rng(8)
    p = rng.beta(1, 4, n)
    y = rng.random(n) < p
    weight = np.where(y, 4.0, 1.0) * (0.5 + p)
    found = pr.decision_curve(y, p, sample_weight=weight, grid=[0.3]).operating_points(grid=[0.3])
    acted = p >= 0.3
    members = {
        "sensitivity": (acted, y),
        "specificity": (~acted, ~y),
        "positive_predictive_value": (y, acted),
        "negative_predictive_value": (~y, ~acted),
        "alert_rate": (acted, np.ones(n, dtype=bool)),
    }
    expected = {name: error_of_mean(value[own].astype(float), weight[own]) for name, (value, own) in members.items()}
    odds = 0.3 / 0.7
    expected["net_benefit"] = error_of_mean(acted * np.where(y, 1.0, -odds), weight)
    expected["gain_over_all"] = error_of_mean(~acted * np.where(y, -1.0, odds), weight)
    for name, error in expected.items():
        width = getattr(found, f"{name}_high")[0] - getattr(found, f"{name}_low")[0]
        of_imagined = 0.1 if name in ("net_benefit", "gain_over_all") else 0.005  # The hull with imagined outcomes.
        assert 0.995 <= width / (2.0 * 1.959964 * error) <= 1.0 + of_imagined, name


def test_shares_of_0_and_1_are_as_uncertain_as_the_weight_of_the_cases_that_are_missing():
    y, p = np.repeat([1, 0], [10, 90]), np.repeat([0.1, 0.6], [60, 40])
    found = pr.decision_curve(y, p, sample_weight=np.where(y == 1, 9.0, 1.0), grid=[0.5]).operating_points(grid=[0.5])
    assert found.positive_predictive_value[0] == 0.0  # Of 40 non-events; an event would weigh as much as 9.
    low, high = wilson_limits(np.array([0.0]), np.array([40.0 / 9.0]), 0.95)
    assert (found.positive_predictive_value_low[0], found.positive_predictive_value_high[0]) == pytest.approx(
        (low[0], high[0])
    )


def test_limits_allow_for_few_errors_that_have_small_weights_by_chance():
    rng = np.random.default_rng(3)
    covered, draws = 0, 400
    for _ in range(draws):
        y = np.arange(300) < 60
        acted = rng.random(300) < np.where(y, 0.98, 0.02)
        weight = rng.choice([1.0, 10.0], 300, p=[0.9, 0.1])
        curve = pr.decision_curve(y, np.where(acted, 0.8, 0.2), sample_weight=weight, grid=[0.5])
        found = curve.operating_points(grid=[0.5])
        covered += found.specificity_low[0] <= 0.98 <= found.specificity_high[0]
    assert covered / draws > 0.92


def test_heavy_errors_leave_the_limits_wide():
    y, p = np.zeros(300, dtype=int), np.repeat([0.6, 0.1], [5, 295])
    y[-10:] = 1
    weight = np.where(p > 0.5, 3.0, 1.0)
    found = pr.decision_curve(y, p, sample_weight=weight, grid=[0.5]).operating_points(grid=[0.5])
    share = 15.0 / 300.0  # Of the weight of the non-events; each error weighs 3, and each other case 1.
    n = 300.0 / (share + (1.0 - share) * 3.0)
    low, high = wilson_limits(np.array([(1.0 - share) * n]), np.array([n]), 0.95)
    assert (found.specificity_low[0], found.specificity_high[0]) == pytest.approx((low[0], high[0]), rel=0.01)


@pytest.mark.parametrize("weight", [None, np.linspace(0.5, 2.0, 200)])
def test_at_a_threshold_of_0_everybody_is_acted_on(weight):
    p = np.linspace(0.005, 0.995, 200)
    y = np.arange(200) % 5 == 0
    found = pr.decision_curve(y, p, sample_weight=weight).operating_points(grid=[0.0, 0.1, 0.5, 0.999])
    share = np.average(y, weights=weight)
    assert found.net_benefit[0] == pytest.approx(share)
    assert found.net_benefit_low[0] < share < found.net_benefit_high[0] < 0.3
    assert (found.gain_over_all_low[0], found.gain_over_all[0], found.gain_over_all_high[0]) == (0.0, 0.0, 0.0)
    assert (found.net_benefit_low <= found.net_benefit).all()
    assert (found.net_benefit <= found.net_benefit_high).all()
