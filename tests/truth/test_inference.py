"""Tests of calibration, their p-values, and the values and errors of measures are those of exact arithmetic."""

import math

import numpy as np
import pytest
from exact_maps import log_odds, most_likely, mpf
from exact_measures import cases_of, event_rate, mean_loss, partial_areas, total, true_positives
from exact_rules import ulps
from exact_tests import (
    area_variance,
    mean_error,
    mean_joint_risk,
    mean_risk,
    normalized_entropy,
    ratio_error,
    student_tail,
)
from inference_samples import TESTED, drawn, p_values
from samples import SAMPLES

import propriety as pr
from propriety.tables.forecast_table import ForecastTable

FEW = 16.0


@pytest.mark.parametrize("name", TESTED)
def test_the_test_of_calibration(name):
    found, tested, information, tails, joint = p_values(name)
    assert found.method == "chi-squared"
    assert ulps(found.information, information) <= FEW
    assert [found.line_df, found.shape_df, found.fine_df][: len(tested)] == [df for _, df in tested]
    assert abs(found.line_statistic - tested[0][0]) <= 1e-12 * tested[0][0]
    for value, exact in zip([found.line_p_value, found.shape_p_value, found.fine_p_value], tails, strict=False):
        assert abs(value - exact) <= 1e-11 * exact, (value, float(exact))
    assert abs(found.p_value - joint) <= 1e-11 * joint, (found.p_value, float(joint))


@pytest.mark.parametrize("name", ["calibrated", "too extreme", "rounded", "nearly certain"])
def test_the_calibration_line_and_its_errors(name):
    """The error of a coefficient of a maximum likelihood fit is that of its information."""
    y, p = TESTED[name]
    slope = pr.estimate(y, p, pr.measures.CalibrationSlope())
    cases = cases_of(y, p, np.ones(len(y)))
    both, covariance = most_likely(cases, [lambda _: mpf(1), log_odds], [0, slope.value])
    assert abs(slope.value - both[1]) <= 1e-12 * max(1, abs(both[1]))
    assert abs(mpf(slope.error) ** 2 - covariance[1, 1]) <= 1e-10 * covariance[1, 1]


@pytest.mark.parametrize("seed", [1, 2])
def test_errors_of_areas_means_and_ratios(seed):
    y, p = drawn(10 + seed, 60, forecasts=[0.1, 0.25, 0.3, 0.5, 0.8])
    cases = cases_of(y, p, np.ones(len(y)))
    area = pr.estimate(y, p, pr.measures.AreaUnderRoc())
    assert abs(mpf(area.error) ** 2 - area_variance(cases)) <= 1e-12 * area_variance(cases)
    losses = [(case.forecast - case.event) ** 2 for case in cases]
    mean = pr.estimate(y, p, pr.Brier())
    assert abs(mean.error - mean_error(losses)) <= 1e-13 * mean_error(losses)
    ratio = pr.estimate(y, p, pr.measures.ObservedExpected())
    assert abs(ratio.error - ratio_error(cases)) <= 1e-12 * ratio_error(cases)


def test_the_p_value_of_a_difference_of_means():
    y, p = drawn(21, 400)
    q = 1.0 / (1.0 + np.exp(-0.6 * np.log(p / (1.0 - p))))
    found = pr.compare(y, {"p": p, "q": q}, pr.Brier(), method="paired t")
    differences = [
        (mpf(a) - int(event)) ** 2 - (mpf(b) - int(event)) ** 2
        for event, a, b in zip(y.tolist(), p.tolist(), q.tolist(), strict=True)
    ]
    error = mean_error(differences)
    mean = sum(differences) / len(differences)
    tail = student_tail(mean / error, len(y) - 1)
    assert abs(abs(mpf(found.differences.value[0])) - abs(mean)) <= 1e-14
    assert abs(mpf(found.differences.p[0]) - tail) <= 1e-9 * tail


@pytest.mark.parametrize("name", SAMPLES)
def test_values_of_measures(name):
    y, p, w = SAMPLES[name]
    table, cases = ForecastTable.from_predictions(y, p, sample_weight=w), cases_of(y, p, w)
    m = pr.measures
    expected = sum(case.weight * case.forecast for case in cases) / total(cases)
    rate = event_rate(cases)
    assert ulps(m.ObservedExpected().value(table), rate / expected) <= FEW
    assert ulps(m.PredictedActual().value(table), expected / rate) <= FEW
    plus, minus, _, _ = partial_areas(cases, mpf(0), mpf(1))
    assert plus == minus
    assert ulps(m.AreaUnderRoc().value(table), plus) <= FEW
    for threshold in (0.05, 0.3, 0.5):
        cost = mpf(threshold)
        acted = [case for case in cases if case.forecast >= cost]
        true = sum((case.weight for case in acted if case.event), mpf(0))
        false = sum((case.weight for case in acted if not case.event), mpf(0))
        events = rate * total(cases)
        benefit, harm = true / events, cost / (1 - cost) * false / events
        found = m.StandardizedNetBenefit(threshold).value(table)
        assert abs(found - (benefit - harm)) <= FEW * 2.0**-52 * (benefit + harm)
    reference = mean_loss(pr.Brier(), cases, [rate] * len(cases))
    score = mean_loss(pr.Brier(), cases)
    assert abs(m.Skill().value(table) - (1 - score / reference)) <= FEW * 2.0**-52 * max(1, score / reference)
    assert ulps(m.AreaUnderGeneralizedRiskCoverage().value(table), mean_joint_risk(cases, 0.5)) <= 4.0 * FEW
    capacity = float(total(cases)) / 4.0 if table.is_weighted else 10.0
    gain = true_positives(cases, capacity) - mpf(0.2) / mpf(0.8) * (capacity - true_positives(cases, capacity))
    top = m.TopKNetBenefit(thresholds=0.2, k=capacity).value(table)
    assert abs(top - gain / total(cases)) <= FEW * 2.0**-52


@pytest.mark.parametrize("name", SAMPLES)
def test_normalized_entropy(name):
    y, p, w = SAMPLES[name]
    table, cases = ForecastTable.from_predictions(y, p, sample_weight=w), cases_of(y, p, w)
    exact, found = normalized_entropy(cases), pr.measures.NormalizedEntropy().value(table)
    assert ulps(found, exact) <= 64.0, (found, float(exact))


@pytest.mark.parametrize("name", ["adversarial forecasts", "rounded"])
def test_the_area_under_the_risk_coverage_curve(name):
    y, p = SAMPLES[name][:2] if name in SAMPLES else TESTED[name]
    table, cases = ForecastTable.from_predictions(y, p), cases_of(y, p, np.ones(len(y)))
    for threshold in (0.3, 0.5):
        found = pr.measures.AreaUnderRiskCoverage(threshold).value(table)
        exact = mean_risk(cases, threshold)
        assert abs(found - exact) <= 1e-14, (found, float(exact))
        coverage = pr.measures.AccuracyAtCoverage(1.0, threshold).value(table)
        wrong = sum(case.event != (case.forecast >= mpf(threshold)) for case in cases)
        assert math.isclose(coverage, 1.0 - wrong / len(cases), rel_tol=1e-14)
