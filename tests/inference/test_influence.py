"""Errors from influence: of tables as of cases, as the jackknife gives them, with weights, clusters and times."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from brute_clusters import brute_errors
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

import propriety as pr
from propriety.calibration.logistic import cox_line
from propriety.errors import ProprietyError
from propriety.inference.dependence import hac
from propriety.inference.influence import case_influence, error_of_table, errors_of_cases
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.validation import read_cases

RNG = np.random.default_rng(8)
N = 300
P = RNG.beta(1.5, 2.0, N)
Y = RNG.random(N) < P**1.2
WEIGHT = RNG.gamma(2.0, 1.0, N)
CLUSTER = RNG.integers(0, 40, N)


@dataclass(frozen=True)
class MeanForecast(pr.measures.Measure):
    """A measure of one's own that knows its influence."""

    key: str = "mean_forecast"
    label: str = "mean forecast"
    higher_is_better: bool = False

    def value(self, table):
        return table.mean_forecast

    def influence(self, table):
        deviation = table.forecast - table.mean_forecast
        return pr.measures.Influence(deviation, deviation)


SMOOTH = [
    pr.measures.AreaUnderRoc(),
    pr.measures.ObservedExpected(),
    pr.measures.CalibrationIntercept(),
    pr.measures.CalibrationSlope(),
    MeanForecast(),
]

cases = st.lists(
    st.tuples(st.booleans(), st.sampled_from([0.1, 0.25, 0.5, 0.6, 0.9]), st.sampled_from([0.5, 1.0, 3.0])),
    min_size=4,
    max_size=14,
)


def name(measure):
    return type(measure).__name__


def table_of(drawn):
    y, p, w = zip(*drawn, strict=True)
    return ForecastTable.from_predictions(y, p, sample_weight=w)


def influence_of(measure, table):
    """Return the influence, where the table has the measure."""
    try:
        return measure.influence(table)
    except ProprietyError:
        assume(False)  # noqa: FBT003  (the table has no such number)


@pytest.mark.slow
@pytest.mark.parametrize("measure", SMOOTH, ids=name)
@given(drawn=cases)
def test_the_mean_influence_is_zero(measure, drawn):
    table = table_of(drawn)
    found = influence_of(measure, table)
    total = (table.events * found.event + table.non_events * found.non_event).sum()
    size = (table.events * np.abs(found.event) + table.non_events * np.abs(found.non_event)).sum()
    assert abs(total) <= 1e-6 * size + 1e-9


@pytest.mark.parametrize("measure", SMOOTH, ids=name)
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weights"])
def test_influence_is_how_far_a_little_more_weight_moves_the_measure(measure, weight):
    w = np.ones(N) if weight is None else weight
    table = ForecastTable.from_predictions(Y, P, sample_weight=weight)
    found = measure.influence(table)
    for case in range(0, N, 37):
        values = []
        for step in (-1e-5, 1e-5):
            moved = w.copy()
            moved[case] += step * w.sum()
            values.append(measure.value(ForecastTable.from_predictions(Y, P, sample_weight=moved)))
        row = np.searchsorted(table.forecast, P[case])
        expected = (found.event if Y[case] else found.non_event)[row]
        assert (values[1] - values[0]) / 2e-5 == pytest.approx(expected, rel=1e-3, abs=1e-4)


@pytest.mark.parametrize("measure", SMOOTH, ids=name)
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weights"])
def test_the_error_is_that_of_the_jackknife(measure, weight):
    table = ForecastTable.from_predictions(Y, P, sample_weight=weight)
    error = error_of_table(table, measure.influence(table), by_outcome=bool(getattr(measure, "by_outcome", False)))
    if not hasattr(measure, "error_of_independent"):
        assert pr.estimate(Y, P, measure, sample_weight=weight).standard_error == error
    left = np.array(
        [
            measure.value(
                ForecastTable.from_predictions(Y[kept], P[kept], sample_weight=None if weight is None else weight[kept])
            )
            for kept in (np.arange(N) != case for case in range(N))
        ]
    )
    jackknife = math.sqrt((N - 1) / N * ((left - left.mean()) ** 2).sum())
    assert error == pytest.approx(jackknife, rel=0.05)


@pytest.mark.parametrize("measure", SMOOTH, ids=name)
def test_the_error_in_clusters_is_that_of_the_jackknife_of_clusters(measure):
    found = pr.estimate(Y, P, measure, cluster=CLUSTER)
    left = np.array(
        [
            measure.value(ForecastTable.from_predictions(Y[kept], P[kept]))
            for kept in (one != CLUSTER for one in np.unique(CLUSTER))
        ]
    )
    groups = len(left)
    jackknife = math.sqrt((groups - 1) / groups * ((left - left.mean()) ** 2).sum())
    least = 0.0
    if hasattr(measure, "error_of_independent"):  # The spread of few clusters is not trusted to be below that.
        least = measure.error_of_independent(ForecastTable.from_predictions(Y, P))
    assert found.error == pytest.approx(max(jackknife, least), rel=0.06)
    assert found.units == groups


@pytest.mark.slow
@pytest.mark.parametrize("measure", SMOOTH, ids=name)
@given(drawn=cases)
def test_a_table_has_the_error_of_its_cases(measure, drawn):
    table = table_of(drawn)
    influence = influence_of(measure, table)
    y, p, w = zip(*drawn, strict=True)
    read = read_cases(y, {"a": p}, sample_weight=w)
    by_outcome = bool(getattr(measure, "by_outcome", False))
    parts = case_influence(read, "a", table, influence)
    of_cases = errors_of_cases(read, parts[None], by_outcome=by_outcome).standard_error[0]
    np.testing.assert_allclose(
        error_of_table(table, influence, by_outcome=by_outcome), of_cases, rtol=1e-12, atol=1e-15
    )


def test_a_measure_of_ones_own_has_the_exact_error_of_a_mean():
    found = pr.estimate(Y, P, MeanForecast(), method="student")
    assert found.error == pytest.approx(stats.sem(P), rel=1e-12)
    assert (found.method, found.value) == ("influence function", pytest.approx(P.mean()))
    assert found.high - found.value == pytest.approx(stats.norm.ppf(0.975) * stats.sem(P), rel=1e-10)
    clustered = pr.estimate(Y, P, MeanForecast(), cluster=CLUSTER)
    assert clustered.error == pytest.approx(brute_errors(P, CLUSTER)[0], rel=1e-10)
    compared = pr.compare(Y, {"a": P, "b": P**2}, MeanForecast())
    assert compared.differences.error[0] == pytest.approx(stats.sem(P - P**2), rel=1e-12)
    assert compared.differences.extra["df"][0] == N - 1


def test_weighted_means_have_the_error_of_moments():
    weighted = pr.estimate(Y, P, MeanForecast(), sample_weight=WEIGHT)
    mean = np.average(P, weights=WEIGHT)
    error = math.sqrt(N / (N - 1) * ((WEIGHT * (P - mean)) ** 2).sum()) / WEIGHT.sum()
    assert weighted.error == pytest.approx(error, rel=1e-12)


def test_the_ratio_of_observed_and_expected_has_the_error_of_the_delta_method():
    found = pr.estimate(Y, P, pr.measures.ObservedExpected(), method="student")
    ratio = Y.mean() / P.mean()
    error = stats.sem(Y - ratio * P) / P.mean()
    assert found.value == pytest.approx(ratio, rel=1e-12)
    assert found.error == pytest.approx(error, rel=1e-12)
    margin = stats.norm.ppf(0.975) * error / ratio
    np.testing.assert_allclose(
        [found.low, found.high], [ratio * math.exp(-margin), ratio * math.exp(margin)], rtol=1e-12
    )


def test_a_calibrated_slope_has_the_error_of_the_fit():
    rng = np.random.default_rng(4)
    p = rng.uniform(0.05, 0.95, 4000)
    y = rng.random(4000) < p
    found = pr.estimate(y, p, pr.measures.CalibrationSlope())
    fit = cox_line(ForecastTable.from_predictions(y, p), slope=True)
    # The sandwich is the information of the fit where the model holds.
    assert found.value == pytest.approx(fit.coefficients[0], rel=1e-8)
    assert found.error == pytest.approx(np.sqrt(fit.covariance[0, 0]), rel=0.1)


def test_times_are_followed_through_their_neighbours():
    time = np.arange(N) // 5
    found = pr.estimate(Y, P, MeanForecast(), period=time)
    sums = np.bincount(time, P - P.mean()) / N
    error, df = hac(sums[:, None])
    assert found.error == pytest.approx(error[0], rel=1e-12)
    margin = stats.t(df[0]).ppf(0.975) * error[0]
    assert found.high - found.value == pytest.approx(margin, rel=1e-9)


def test_a_single_outcome_has_no_error_where_outcomes_are_two_samples():
    table = ForecastTable.from_predictions([1, 0, 0, 0], [0.6, 0.2, 0.7, 0.4])
    influence = pr.measures.AreaUnderRoc().influence(table)
    assert math.isnan(error_of_table(table, influence, by_outcome=True))
    assert error_of_table(table, influence) > 0.0


def test_forecasts_of_cases_without_weight_may_lie_anywhere():
    y, p, w = [0, 1, 0, 1, 1], [0.2, 0.3, 0.4, 0.5, 0.99], [1.0, 1.0, 2.0, 1.0, 0.0]
    read = read_cases(y, {"a": p}, sample_weight=w)
    table = ForecastTable.from_cases(read)
    parts = case_influence(read, "a", table, pr.measures.AreaUnderRoc().influence(table))
    assert parts[4] == 0.0
    assert parts.sum() == pytest.approx(0.0, abs=1e-12)


def test_pairs_are_looked_at_in_blocks(monkeypatch):
    models = {f"m{place}": np.clip(P + RNG.normal(0, 0.05 * place, N), 0.001, 0.999) for place in range(6)}
    whole = pr.compare(Y, models, pr.measures.AreaUnderRoc())
    monkeypatch.setattr("propriety.ledger.moments.BLOCK", 4 * N)
    blocks = pr.compare(Y, models, pr.measures.AreaUnderRoc())
    np.testing.assert_allclose(whole.differences.error, blocks.differences.error, rtol=1e-12)
