"""Means, parts, curves and areas are exact to the rounding of their terms, also with weights over 30 orders of magnitude.

Where a number is a sum of terms that are not negative, all its digits are asked for. Where it is a difference, such as a
part of a score or net benefit, its error is bounded by the rounding of what is subtracted: no algorithm that is given
rounded numbers knows more.
"""

import math

import numpy as np
import pytest
from adversarial import BELOW_ONE, SUBNORMAL
from exact_measures import (
    benefit_and_harm,
    cases_of,
    event_rate,
    isotonic,
    least_regret,
    mean_loss,
    partial_areas,
    parts,
    power_mean,
    regret,
    total,
    true_positives,
    uncertainty,
)
from exact_rules import inf, log, mpf, ulps
from samples import SAMPLES, THRESHOLDS

import propriety as pr
from propriety.tables.forecast_table import ForecastTable

FEW = 16.0  # Units of the last place: about half of one for each of the dozen operations behind a number.
EPSILON = 2.0**-52
RULES = [
    pr.Brier(),
    pr.Log(),
    pr.Spherical(),
    pr.Tsallis(),
    pr.Misclassification(),
    pr.BoundedLog(0.05, 0.2),
    pr.BoundedNetBenefit(0.0, 0.9),
    pr.BetaRegret(2.0, 2.0),
]


@pytest.fixture(params=SAMPLES, scope="module")
def sample(request):
    """Return the arguments of the package, and the cases of the exact arithmetic."""
    y, p, w = SAMPLES[request.param]
    return (y, p, w), cases_of(y, p, w)


def assert_exact(value, exact, within=FEW):
    assert ulps(float(value), exact) <= within, (float(value), float(exact))


def assert_near(value, exact, size):
    """Assert that a difference is exact to the rounding of numbers of some size."""
    assert abs(mpf(float(value)) - exact) <= FEW * EPSILON * size + mpf(5e-324), (float(value), float(exact))


def scored(sample):
    (y, p, w), cases = sample
    return ForecastTable.from_predictions(y, p, sample_weight=w), cases


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_mean_scores(sample, rule):
    (y, p, w), cases = sample
    exact = mean_loss(rule, cases)
    assert_exact(pr.mean_score(y, p, rule=rule, sample_weight=w), exact)
    assert_exact(pr.mean_score(scored(sample)[0], rule=rule), exact)


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_parts_of_scores(sample, rule):
    """A recalibrated rate is a float, and one within 2**-53 of 1 is rounded: so is the loss, to 2**-52 in all."""
    table, cases = scored(sample)
    score, recalibrated, reference = parts(rule, cases)
    found = pr.decompose(table, rule=rule)
    size = max(recalibrated, reference, 1)
    assert_near(found.uncertainty, reference, size)
    assert_near(found.discrimination, reference - recalibrated, size)
    if score == inf:
        assert found.score == found.miscalibration == math.inf
    else:
        assert_exact(found.score, score)
        assert_near(found.miscalibration, score - recalibrated, max(size, score))


def test_regret_and_its_parts_at_thresholds(sample):
    table, cases = scored(sample)
    curves = pr.murphy_curve(table, grid=THRESHOLDS)
    found, best = pr.regret_curve(table, grid=THRESHOLDS), pr.cost_curve(table, grid=THRESHOLDS)
    rate = event_rate(cases)
    for place, cost in enumerate(map(mpf, THRESHOLDS)):
        exact, least, reference = regret(cases, cost, cost), least_regret(cases, cost), uncertainty(cases, cost)
        for value in (found.value[place], curves.value[place]):
            assert_exact(value, exact)
        assert_exact(curves.uncertainty[place], reference)
        assert_exact(best.treat_all[place], cost * (1 - rate))
        assert_exact(best.treat_none[place], (1 - cost) * rate)
        assert_near(best.value[place], least, exact)
        assert_near(curves.miscalibration[place], exact - least, exact)
        assert_near(curves.discrimination[place], reference - least, reference)


@pytest.mark.parametrize("act_at", [0.3, math.nextafter(0.3, 1.0), 0.9])
def test_regret_of_another_threshold(sample, act_at):
    table, cases = scored(sample)
    found = pr.regret_curve(table, grid=[0.2, 0.6], act_at=act_at).value
    for value, cost in zip(found, (mpf(0.2), mpf(0.6)), strict=True):
        assert_exact(value, regret(cases, cost, mpf(act_at)))


def test_net_benefit_at_thresholds(sample):
    table, cases = scored(sample)
    found, rate = pr.decision_curve(table, grid=THRESHOLDS), event_rate(cases)
    for place, cost in enumerate(map(mpf, THRESHOLDS)):
        benefit, harm = benefit_and_harm(cases, cost)
        assert_near(found.value[place], benefit - harm, benefit + harm)
        harm = cost / (1 - cost) * (1 - rate)
        assert_near(found.treat_all[place], rate - harm, rate + harm)


INTERVALS = [
    (0.05, 0.2),
    (0.3, math.nextafter(0.3, 1.0)),
    (1e-310, 1e-300),
    (SUBNORMAL, 0.5),
    (0.2, BELOW_ONE),
    (1.0 - 2.0**-52, BELOW_ONE),
]


@pytest.mark.parametrize(("low", "high"), INTERVALS)
def test_areas_under_regret(sample, low, high):
    table, cases = scored(sample)
    curve, benefit = pr.regret_curve(table), pr.decision_curve(table)
    linear = mean_loss(pr.BoundedBrier(low, high, normalize="none"), cases) / 2
    log_odds = mean_loss(pr.BoundedLog(low, high, normalize="none"), cases)
    odds = mean_loss(pr.BoundedNetBenefit(low, high, normalize="none"), cases)
    assert_exact(curve.area((low, high)), linear)
    assert_exact(curve.area((low, high), axis="log-odds"), log_odds)
    assert_exact(benefit.area((low, high)), odds, within=64.0)
    assert_exact(benefit.area((low, high), axis="quadratic"), linear)
    assert_exact(benefit.area((low, high), axis="logarithmic"), log_odds)


@pytest.mark.parametrize(("low", "high"), INTERVALS)
def test_what_a_harm_takes_from_an_area(low, high):
    """With a perfect forecast nothing else is lost, so that the area is that of the harm alone."""
    curve = pr.decision_curve([0, 1], [0.0, 1.0], harm=1.0)
    a, b = mpf(low), mpf(high)
    assert_exact(curve.area((low, high), axis="linear"), b - a)
    assert_exact(curve.area((low, high), axis="quadratic"), ((1 - a) ** 2 - (1 - b) ** 2) / 2)
    assert_exact(curve.area((low, high), axis="logarithmic"), log(b / a))


@pytest.mark.parametrize(("low", "high"), INTERVALS)
def test_totals_of_weights(low, high):
    a, b = mpf(low), mpf(high)
    event, non_event = cases_of([1], [low], [1]), cases_of([0], [high], [1])
    rule = pr.BoundedLog(low, high, normalize="none")
    # From end to end the log-odds grow by what an event loses and what a non-event does.
    assert_exact(pr.weights.LogOddsWeight(low, high).total(), mean_loss(rule, event) + mean_loss(rule, non_event))
    assert_exact(pr.weights.NetBenefitWeight(low, high).total(), mean_loss(rule, non_event))
    assert_exact(pr.weights.UniformWeight(low, high).total(), b - a)


@pytest.mark.parametrize(
    "weight", [pr.weights.UniformWeight(0.05, 0.2), pr.weights.LogOddsWeight(0.3, 0.9), pr.weights.BetaWeight(2.0, 8.0)]
)
def test_regret_with_a_weight_on_thresholds(sample, weight):
    table, cases = scored(sample)
    rule, share = {
        pr.weights.UniformWeight: lambda: (pr.BoundedBrier(0.05, 0.2, normalize="none"), mpf(0.5)),
        pr.weights.LogOddsWeight: lambda: (pr.BoundedLog(0.3, 0.9, normalize="none"), 1),
        pr.weights.BetaWeight: lambda: (pr.BetaRegret(2.0, 8.0), 1),
    }[type(weight)]()
    assert_exact(pr.weighted_regret(table, weight=weight), share * mean_loss(rule, cases))


def test_regret_with_points_as_weight(sample):
    """The line from (a, 0) to (b, b - a) weights c by c - a: cubic integrals in closed form."""
    table, cases = scored(sample)
    low, high = mpf(0.25), mpf(0.75)

    def loss(case):
        p = min(max(case.forecast, low), high)
        if case.event:
            return integral(high, event=True) - integral(p, event=True)
        return integral(p, event=False) - integral(low, event=False)

    def integral(c, *, event):
        alarms = c**3 / 3 - low * c**2 / 2
        return c**2 / 2 - low * c - alarms if event else alarms

    exact = sum(case.weight * loss(case) for case in cases) / total(cases)
    assert_near(pr.weighted_regret(table, weight=([0.25, 0.75], [0.0, 0.5])), exact, exact)


def test_areas_under_the_roc_curve(sample):
    table, cases = scored(sample)
    curve = pr.roc_curve(table)
    assert_exact(curve.auc, partial_areas(cases, 0, 1)[0])
    assert_near(curve.hull().auc, partial_areas(cases, 0, 1, forecasts=isotonic(cases))[0], 1)
    for low, high in ((0.05, 0.5), (0.3, math.nextafter(0.3, 1.0)), (1e-310, 0.9)):
        found = curve.partial_area(low, high)
        plus, minus, width, height = partial_areas(cases, mpf(low), mpf(high))
        values = (found.pauc_plus, found.pauc_minus, found.delta_fpr, found.delta_tpr)
        for value, exact in zip(values, (plus, minus, width, height), strict=True):
            assert_exact(value, exact)
        if width + height > 0:
            assert_exact(found.balanced_average_accuracy, (plus + minus) / (width + height))


def test_h_measure(sample):
    table, cases = scored(sample)
    _, recalibrated, reference = parts(pr.BetaRegret(2.0, 2.0), cases)
    rounding = max(1, EPSILON / reference)  # Of a rate next to 1; see the parts of scores.
    assert_near(pr.h_measure(table), 1 - recalibrated / reference, rounding)


def test_top_k(sample):
    table, cases = scored(sample)
    whole = float(total(cases))
    capacities = [1.0, 7.0, 40.0] if not table.is_weighted else [1e-15, 1e-3, 1.0, whole / 3.0, whole]
    for capacity in capacities:
        found, exact = (
            pr.top_k(table, k=capacity, thresholds=0.2),
            true_positives(cases, min(mpf(capacity), total(cases))),
        )
        assert_near(found.true_positives, exact, capacity)
        assert_near(found.precision, exact / capacity, 1)
        cost = mpf(0.2)
        gain = (exact - cost * capacity) / (total(cases) * (1 - cost))
        assert_near(found.net_benefit, gain, capacity / total(cases))


def test_means_of_the_probabilities_of_what_happened():
    """A geometric mean multiplies the rounding of a mean logarithm, up to 744 of a subnormal number, by itself."""
    y, p, w = SAMPLES["adversarial forecasts"]
    table, cases = ForecastTable.from_predictions(y, p), cases_of(y, p, w)
    model = [case.forecast if case.event else 1 - case.forecast for case in cases]
    source = [rate if case.event else 1 - rate for case, rate in zip(cases, isotonic(cases), strict=True)]
    found = pr.probability_means(table)
    for place, exponent in enumerate(found.exponent.tolist()):
        exact = [power_mean(values, [case.weight for case in cases], exponent) for values in (model, source)]
        assert_exact(found.model[place], exact[0], within=64.0)
        assert_exact(found.source[place], exact[1], within=64.0)
        assert_exact(found.divergence[place], exact[0] / exact[1], within=128.0)


def test_calibration_in_closed_form(sample):
    table, cases = scored(sample)
    ratio = pr.check_calibration(pr.Ledger.of_tables({"forecast": table}))[1]
    expected = sum(case.weight * case.forecast for case in cases) / total(cases)
    assert_exact(ratio.extra["event_rate"], event_rate(cases))
    assert_exact(ratio.extra["mean_forecast"], expected)
    assert_exact(ratio.value, event_rate(cases) / expected)
    assert_exact(table.effective_n, total(cases) ** 2 / sum(case.weight**2 for case in cases))


def test_classical_parts_of_the_brier_score(sample):
    table, cases = scored(sample)
    found, rate = pr.classical_decomposition(table, strategy="distinct"), event_rate(cases)
    reliability = resolution = mpf(0)
    for level in {case.forecast for case in cases}:
        tied = [case for case in cases if case.forecast == level]
        reliability += total(tied) / total(cases) * (level - event_rate(tied)) ** 2
        resolution += total(tied) / total(cases) * (event_rate(tied) - rate) ** 2
    assert_exact(found.uncertainty, rate * (1 - rate))
    assert_near(found.reliability, reliability, 1)
    assert_near(found.resolution, resolution, 1)


def test_equal_forecasts_are_told_from_neighbours():
    p = np.array([0.3, math.nextafter(0.3, 1.0), 0.3])
    table = ForecastTable.from_predictions([0, 1, 1], p)
    assert table.forecast.tolist() == [0.3, math.nextafter(0.3, 1.0)]
    assert table.events.tolist() == [1.0, 1.0]


def test_a_million_weights_do_not_drift():
    """Sums that round a million equal weights to the same side are off by 1e-11; blocks leave a thousandth of that."""
    rows = 10**6
    weight = np.full(rows, 0.1)
    forecast = np.arange(1, rows + 1) / (rows + 1)
    columns = {"forecast": forecast, "events": weight, "non_events": weight}
    squares = {"event_squares": weight * 0.1, "non_event_squares": weight * 0.1}
    table = ForecastTable(**columns, **squares, n=2 * rows, n_events=rows)
    thresholds = np.array([0.1, 0.5, 0.9])
    below = np.searchsorted(forecast, thresholds) / rows  # The share of either kind that is not acted on.
    exact = {
        "regret": (thresholds * (1.0 - below) + (1.0 - thresholds) * below) / 2.0,
        "net benefit": (1.0 - below) / 2.0 * (1.0 - thresholds / (1.0 - thresholds)),
        "area": 0.5,
        "brier": (2 * rows + 1) / (6 * (rows + 1)),
        "upper area": (1.0 - below[1]) ** 2 / 2.0,
        "found": thresholds * rows * 0.1,
    }
    roc = pr.roc_curve(table)
    found = {
        "regret": pr.regret_curve(table, grid=thresholds).value,
        "net benefit": pr.decision_curve(table, grid=thresholds).value,
        "area": roc.auc,
        "brier": float(pr.mean_score(table, rule=pr.Brier())),
        "upper area": roc.partial_area(0.5, 1.0).pauc_plus,
        "found": pr.top_k(table, k=thresholds * 2.0 * rows * 0.1).true_positives,
    }
    for name, value in found.items():
        np.testing.assert_allclose(value, exact[name], rtol=1e-13, atol=1e-15, err_msg=name)
