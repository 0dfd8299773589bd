"""The law of one model: the hull of what was seen and of what is imagined, against its definition from cases."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.special import expit

import propriety as pr
from propriety.inference.imagined import (
    Imagined,
    imagined_of,
    imagined_of_model,
    imagined_sums,
    ridge_rate,
    shifted_rate,
    tilt_of,
    tilted,
    totals_of,
)
from propriety.inference.limits import imagined_limits, imagined_p_value
from propriety.inference.measures.measure import Imagination

MEASURES = (
    *map(pr.measures.MeanScore, (pr.Brier(), pr.Log(), pr.BoundedBrier(0.02, 0.1))),
    *(pr.measures.Regret(0.02), pr.measures.NetBenefit(0.05), pr.measures.NetBenefit((0.02, 0.2))),
    *(pr.measures.Skill(), pr.measures.NormalizedEntropy(), pr.measures.StandardizedNetBenefit(0.05)),
    *(pr.measures.ObservedExpected(), pr.measures.PredictedActual(), pr.measures.CalibrationIntercept()),
    *(pr.measures.AreaUnderRoc(), pr.measures.Accuracy()),
)


def drawn(seed, *, n=300, weighted=False):
    generator = np.random.default_rng(seed)
    p = generator.beta(0.7, 8.0, n)
    y = generator.random(n) < p
    weight = generator.gamma(2.0, size=n) * (1.0 + y) if weighted else None
    return y, p, weight


def by_definition(table, event, other, rate, ratio):
    """Return the imagined moments case by case: each case is an event with its chance, of the weight it then has."""
    n = table.weight**2 / (table.event_squares.sum() + table.non_event_squares.sum())
    events, expected = n * table.event_rate, n * float(table.weights @ rate) / table.weight
    right = {1: (events + 2) / (expected + 2), 0: (n - events + 2) / (n - expected + 2)}
    masses, moves, weights = [], [], []
    for seen, (weight, squares) in enumerate(
        ((table.non_events, table.non_event_squares), (table.events, table.event_squares))
    ):
        for imagined, (chance, moved) in enumerate(((1 - rate, other), (rate, event))):
            there = weight > 0
            # Some cases of one weight, which changes if another outcome is imagined than that seen.
            own = squares[there] / weight[there] * np.exp(ratio * (imagined - seen))
            masses.append(weight[there] * chance[there] * right[imagined])
            moves.append(moved[there])
            weights.append(own)
    mass, move, weight = (np.concatenate(one) for one in (masses, moves, weights))
    centre = np.average(move, weights=mass)
    # The sums of a row take powers of the weights seen and one factor for those imagined, as here.
    variance = (mass * weight * (move - centre) ** 2).sum() / mass.sum() / table.weight
    third = (mass * weight**2 * (move - centre) ** 3).sum() / mass.sum() / table.weight**2
    return centre, variance, third


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_imagined_moments_are_those_of_cases(seed, weighted):
    y, p, weight = drawn(seed, weighted=weighted)
    table = pr.results.ForecastTable.from_predictions(y, p, sample_weight=weight)
    influence = pr.measures.MeanScore(pr.Log()).influence(table)
    ratio = tilt_of(table)
    assert (ratio != 0.0) == weighted
    sums = tilted(imagined_sums(table, *influence, table.forecast), ratio)[0]
    found = imagined_of(sums, totals_of(table), Imagination(), differing=np.inf)
    np.testing.assert_allclose(found[:3], by_definition(table, *influence, table.forecast, ratio), rtol=1e-9)


@given(
    st.floats(-3.0, 3.0),
    st.floats(1e-3, 30.0),
    st.floats(-5.0, 5.0),
    st.floats(-1.0, 1.0),
    st.sampled_from([3.0, 17.0, np.inf]),
    st.sampled_from([0.0, 0.2]),
)
def test_the_p_value_reaches_the_level_where_limits_reach_zero(value, deviation, skewness, away, df, discount):
    third = np.array(skewness * deviation**3 / 10.0)
    imagined = Imagined(np.array(away * deviation), np.array(deviation**2), third, discount)
    for limit in imagined_limits(np.array(value), imagined, df, 0.95):
        if abs(limit - value) > 1e-9 * deviation:
            found = imagined_p_value(np.array(value - limit), imagined, df)
            assert found == pytest.approx(0.05, abs=1e-6)


@given(st.integers(0, 40), st.sampled_from([0.8, 0.95, 0.99]))
def test_counts_have_poissons_limits_where_as_many_were_foreseen(events, level):
    """With many cases of equal small forecasts, the mean number of events is within the limits of Garwood."""
    number = np.array(float(max(events, 1)))
    imagined = Imagined(np.array(0.0), number, number, discount=0.0)
    low, high = imagined_limits(np.array(float(events)), imagined, np.inf, level)
    if events:
        tail = (1 - level) / 2
        assert low == pytest.approx(stats.chi2(2 * events).ppf(tail) / 2, rel=1e-9)
        assert high == pytest.approx(stats.chi2(2 * events + 2).isf(tail) / 2, rel=1e-9)


@pytest.mark.parametrize("measure", MEASURES, ids=lambda one: one.key)
def test_the_interval_contains_students(measure):
    """Except for ratios, whose own law replaces the logarithm."""
    for seed in range(4):
        y, p, _ = drawn(seed)
        found, plain = (pr.estimate(y, p, measure, method=method) for method in ("auto", "student"))
        assert found.value == plain.value
        assert "imagined" in found.method
        assert "imagined" not in plain.method
        if measure.scale != "log":
            assert found.low <= plain.low + 1e-12
            assert found.high >= plain.high - 1e-12


@pytest.mark.parametrize("measure", MEASURES, ids=lambda one: one.key)
def test_equal_weights_and_clusters_of_one_case_change_nothing(measure):
    y, p, _ = drawn(3)
    plain = pr.estimate(y, p, measure)
    weighted = pr.estimate(y, p, measure, sample_weight=np.full(len(y), 2.0))
    np.testing.assert_allclose((weighted.low, weighted.high), (plain.low, plain.high), rtol=1e-9)
    alone = pr.estimate(y, p, measure, cluster=np.arange(len(y)))
    assert alone.high - alone.low == pytest.approx(plain.high - plain.low, rel=0.06)


def test_few_costly_errors_are_foreseen():
    """Nearly all of the variance of this regret is that of a few missed events, of which most samples have none."""
    measure, generator, held = pr.measures.Regret(0.02), np.random.default_rng(7), []
    population = expit(-2.2 + 1.5 * generator.standard_normal(400_000))
    happened = generator.random(len(population)) < population
    truth = pr.estimate(happened, population, measure, method="student").value
    for _ in range(200):
        q = expit(-2.2 + 1.5 * generator.standard_normal(300))
        y = generator.random(300) < q
        found, plain = (pr.estimate(y, q, measure, method=method) for method in ("auto", "student"))
        held.append([one.low <= truth <= one.high for one in (found, plain)])
    covered, students = np.mean(held, axis=0)
    assert covered > 0.93
    assert students < 0.7


def test_nobody_acted_on_has_an_interval():
    found = pr.estimate([0, 1] * 50, [0.05] * 100, pr.measures.NetBenefit(0.1))
    assert found.value == 0.0
    assert (found.low, found.high) == pytest.approx((-0.00653, 0.00653), abs=1e-4)


def test_rates_are_right_on_average_after_a_shift():
    y, p, weight = drawn(5, weighted=True)
    table = pr.results.ForecastTable.from_predictions(y, p, sample_weight=weight)
    rate = shifted_rate(table)
    assert float(table.weights @ rate) == pytest.approx(float(table.events.sum()))
    moved = np.log(rate / (1 - rate)) - np.log(table.forecast / (1 - table.forecast))
    np.testing.assert_allclose(moved, moved[0])


def test_rates_of_the_ridge_maximise_the_penalised_likelihood():
    y, p, _ = drawn(6)
    table = pr.results.ForecastTable.from_predictions(y, np.clip(p, 0.01, 0.9))
    rate, x = ridge_rate(table), np.log(table.forecast / (1 - table.forecast))
    slope, shift = np.polyfit(x, np.log(rate / (1 - rate)), 1)
    gap = table.events - table.weights * rate
    assert gap.sum() == pytest.approx(shift, abs=1e-6)
    assert gap @ x == pytest.approx((slope - 1) / 0.25, abs=1e-6)


def test_classes_are_not_imagined():
    ledger = pr.condense([0, 1, 2] * 20, np.tile([[0.2, 0.3, 0.5]], (60, 1)))
    assert imagined_of_model(ledger, ledger.models[0], pr.measures.MeanScore()) is None
