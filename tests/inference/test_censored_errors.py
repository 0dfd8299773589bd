"""Errors of censored cases and of fitted rates, computed case by case."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from paired_sample import (
    AUC,
    FITTED,
    RATIO,
    RNG,
    SLOPE,
    UNIT,
    WEIGHT,
    N,
    P,
    Q,
    Y,
)

import propriety as pr
from propriety.inference.censored_calibration import squared_weights
from propriety.inference.cluster_errors import ClusterSums, cluster_errors
from propriety.inference.estimates import units_of
from propriety.inference.influence import (
    case_influence,
    errors_of_cases,
    estimate_from_influence,
)
from propriety.tables.cases import Cases
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.keys import Keys


def censored_cases(everyone, *, weight=None, cluster=None, row=None, share=0.2):
    """Return the cases with censoring that takes a share of the squares, and passes contributions on to everyone."""
    size = 0 if everyone is None else len(everyone.leaves)

    def influence(parts):
        spread = np.zeros((len(parts), size))
        spread[:, row] = parts
        return spread + 0.01 * np.sin(np.arange(size))

    censoring = SimpleNamespace(
        everyone=everyone, row=row, influence=influence, variance=lambda parts: share * (parts**2).sum(axis=1)
    )
    keys = None if cluster is None else Keys(tuple(range(int(cluster.max()) + 1)), cluster)
    return Cases(outcome=Y, forecasts={"m": P}, weight=weight, cluster=keys, censoring=censoring)


def test_estimated_censoring_weights_lower_the_error_of_independent_cases():
    parts = np.random.default_rng(16).normal(size=(2, N))
    squares = 0.8 * (parts**2).sum(axis=1)
    found = errors_of_cases(censored_cases(None, weight=WEIGHT), parts)
    n = WEIGHT.sum()
    np.testing.assert_allclose(found.standard_error, np.sqrt(squares * n / (n - 1.0)))
    np.testing.assert_allclose(found.df, [n - 1.0] * 2)
    everyone = SimpleNamespace(weight=np.array([1.0, 3.0, 2.0]), cluster=None, leaves=np.zeros(3, dtype=bool))
    halved = errors_of_cases(censored_cases(everyone, weight=WEIGHT), parts)
    np.testing.assert_allclose(halved.standard_error, np.sqrt(squares * n / 2.0 / (n / 2.0 - 1.0)))
    np.testing.assert_allclose(halved.df, [n / 2.0 - 1.0] * 2)
    plain = errors_of_cases(censored_cases(None), parts)
    np.testing.assert_allclose(plain.standard_error, np.sqrt(squares))
    none = errors_of_cases(censored_cases(None, weight=WEIGHT, share=1.5), parts)
    assert none.standard_error.tolist() == [0.0, 0.0]
    tiny = errors_of_cases(censored_cases(None, weight=np.full(N, 1.5 / N)), parts)
    np.testing.assert_allclose(tiny.standard_error, np.sqrt(squares * 1.5))


@pytest.mark.parametrize("weighted", [False, True])
def test_clusters_of_censored_cases_are_those_of_everyone(weighted):
    """Left out is a cluster without a known outcome some of whose cases stay; it has no case among the rows."""
    rng = np.random.default_rng(17)
    size = N + 20
    codes = np.append(UNIT, np.repeat([30, 31], 10))  # Two clusters more, in which no outcome is known.
    leaves = np.append(np.zeros(N, dtype=bool), np.repeat([True, False], 10))
    weight = rng.gamma(2.0, 1.0, size) if weighted else None
    everyone = SimpleNamespace(weight=weight, cluster=codes, leaves=leaves)
    parts = rng.normal(size=(2, N)) / N
    cases = censored_cases(everyone, weight=WEIGHT, cluster=UNIT, row=np.arange(N))
    found = errors_of_cases(cases, parts)
    influence = np.concatenate([parts, np.zeros((2, 20))], axis=1) + 0.01 * np.sin(np.arange(size))
    w = np.ones(size) if weight is None else weight / weight.mean()
    columns = []
    for one in range(31):
        here = codes == one
        x = influence[:, here] / w[here] * w[codes < 31].sum()
        mean = (w[here] * x).sum(axis=1) / w[here].sum()
        spread = (w[here] ** 2 * (x - mean[:, None]) ** 2).sum(axis=1)
        columns.append((here.sum(), w[here].sum(), (w[here] ** 2).sum(), (w[here] * x).sum(axis=1), spread))
    expected = cluster_errors(ClusterSums(*(np.array(column) for column in zip(*columns, strict=True))))
    np.testing.assert_allclose(found.standard_error, expected.standard_error[0])
    np.testing.assert_allclose(found.df, expected.df[0])


def test_censored_estimates_name_their_weights_and_use_the_known_error():
    rng = np.random.default_rng(18)
    time, cluster = rng.exponential(1.0, N), np.arange(N) // 4
    follow = {"event": rng.random(N) < 0.6 + 0.3 * P, "horizons": 0.8}
    outcome = pr.censored(time, **follow)
    for measure, options in ((SLOPE, {}), (SLOPE, {"cluster": cluster}), (RATIO, {}), (RATIO, {"cluster": cluster})):
        ledger = pr.condense(outcome, {"p": P, "q": Q}, **options)
        found = estimate_from_influence(ledger, "q", measure, 0.9, imagine=False)
        table, cases = ledger.table("q"), ledger.cases
        parts = case_influence(cases, "q", table, measure.influence(table))[None]
        errors = errors_of_cases(cases, parts)
        error, robust = float(errors.standard_error[0]), ", cluster-robust" if options else ""
        first = "influence function, on the log scale" if measure is RATIO else FITTED
        assert found.method == f"{first}{robust}, with estimated censoring weights"
        if measure is SLOPE:
            squares = squared_weights(cases.of("q"), cases.censoring, table)
            known = measure.error_of_independent(table, squares.variance) ** 2 - cases.censoring.variance(parts)[0]
            error = max(error, math.sqrt(known)) if options else math.sqrt(known)
        assert found.error == pytest.approx(error)
        assert found.units == (units_of(ledger) if options else None)
    area = estimate_from_influence(pr.condense(outcome, Q), "forecast", AUC, 0.9)
    assert (
        area.method
        == "influence function, on the logit scale, with estimated censoring weights, with imagined outcomes"
    )


@pytest.mark.parametrize("slope", [False, True])
def test_errors_at_fitted_rates_are_those_of_a_logistic_regression(slope):
    measure = SLOPE if slope else pr.measures.CalibrationIntercept()
    p, y = np.append(Q, [0.0, 1.0]), np.append(Y, [False, True])
    x, n = np.log(Q / (1 - Q)), N + 2
    for weight in (None, np.full(n, 3.0)):
        table = ForecastTable.from_predictions(y, p, sample_weight=weight)
        value = measure.value(table)
        level = float(np.log(Y.mean() / (1 - Y.mean())))
        for _ in range(50):  # The intercept that belongs to the slope, by Newton's method.
            rate = 1 / (1 + np.exp(-(level + (value if slope else 1.0) * x)))
            level += (Y - rate).sum() / (rate * (1 - rate)).sum()
        assert (level == pytest.approx(value)) is not slope
        design = np.stack([np.ones(N), x]) if slope else np.ones((1, N))
        inverse = np.linalg.inv((design * rate * (1 - rate)) @ design.T)
        np.testing.assert_allclose(design @ (Y - rate), 0.0, atol=1e-6)
        known, more = inverse[-1, -1], 0.0
        if not slope:  # Outcomes vary around the line with a slope, which is not that of the intercept alone.
            level = float(np.log(Y.mean() / (1 - Y.mean())))
            for _ in range(50):
                line = 1 / (1 + np.exp(-(level + SLOPE.value(table) * x)))
                level += (Y - line).sum() / (line * (1 - line)).sum()
            known, more = inverse[0, 0] ** 2 * np.array([(line * (1 - line)).sum(), ((line - rate) ** 2).sum()])
        assert measure.error_of_independent(table) == pytest.approx(math.sqrt(known + more), rel=1e-6)
        given = measure.influence(table)
        row = np.searchsorted(table.forecast, Q)
        moved = n * (inverse @ design)[-1]
        np.testing.assert_allclose(given.event[row], moved * (1 - rate), rtol=1e-5, atol=1e-8)
        np.testing.assert_allclose(given.non_event[row], -moved * rate, rtol=1e-5, atol=1e-8)
        assert (given.event[0], given.non_event[0], given.event[-1]) == (0.0, 0.0, 0.0)

        def doubled(rates, table=table):
            return 2.0 * table.weights * rates * (1.0 - rates)

        scale = 1.0 if weight is None else 3.0
        expected = math.sqrt(2.0 * known / scale + more)
        assert measure.error_of_independent(table, doubled) == pytest.approx(expected, rel=1e-6)


def test_ratios_of_means_have_the_derivative_of_a_ratio():
    table = ForecastTable.from_predictions(Y, P, sample_weight=WEIGHT)
    observed, expected = np.average(Y, weights=WEIGHT), np.average(P, weights=WEIGHT)
    ratio = RATIO.influence(table)
    assert RATIO.value(table) == pytest.approx(observed / expected)
    np.testing.assert_allclose(ratio.event, 1 / expected - observed / expected**2 * table.forecast)
    np.testing.assert_allclose(ratio.non_event, -observed / expected**2 * table.forecast)
    inverse = pr.measures.PredictedActual()
    assert inverse.value(table) == pytest.approx(expected / observed)
    given = inverse.influence(table)
    np.testing.assert_allclose(given.event, table.forecast / observed - expected / observed**2)
    np.testing.assert_allclose(given.non_event, table.forecast / observed)


@pytest.mark.parametrize("own", [None, RNG.gamma(2.0, 1.0, N)], ids=["plain", "sample weights"])
def test_squared_weights_have_the_mean_of_their_group_and_outcome(own):
    group = UNIT % 3
    event = Y & (group < 2)  # The last group has no events, and takes the mean of all groups.
    censoring = SimpleNamespace(sample_weight=lambda: own, groups=lambda: (group, 3))
    cases = Cases(outcome=event, forecasts={"m": P}, weight=WEIGHT)
    table = ForecastTable.from_predictions(event, P, sample_weight=WEIGHT)
    once = WEIGHT if own is None else WEIGHT * own
    expected = []
    for side in (event, ~event):
        overall = (WEIGHT[side] ** 2).sum() / once[side].sum()
        means = [
            (WEIGHT[here] ** 2).sum() / once[here].sum() if here.any() else overall
            for here in (side & (group == one) for one in range(3))
        ]
        expected.append([(once * np.array(means)[group])[one == P].sum() for one in table.forecast])
    found = squared_weights(cases, censoring, table)
    np.testing.assert_allclose(found.event, expected[0])
    np.testing.assert_allclose(found.non_event, expected[1])
    rate = np.linspace(0.1, 0.9, len(table))
    variance = rate * (1 - rate) * ((1 - rate) * found.event + rate * found.non_event)
    np.testing.assert_allclose(found.variance(rate), variance)
