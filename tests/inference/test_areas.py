"""The error of areas under ROC curves: a published example, placement values by brute force, weights and clusters."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import propriety as pr
from propriety.errors import InputValueError
from propriety.inference.delong import delong, on_logit_scale

# Albumin, total protein, K-G score and outcome of the patients with ovarian cancer of DeLong, DeLong & Clarke-Pearson
# (1988), doi:10.2307/2531595, without the six that lack a test, as in the example "Comparing Receiver Operating
# Characteristic Curves" of the LOGISTIC procedure in the SAS/STAT User's Guide, which has the results below.
PATIENTS = np.fromstring(
    """
    3.0 5.8 10 0  3.2 6.3 5 1  3.9 6.8 3 1  2.8 4.8 6 0  3.2 5.8 3 1  0.9 4.0 5 0  2.5 5.7 8 0  1.6 5.6 5 1
    3.8 5.7 5 1   3.7 6.7 6 1  3.2 5.4 4 1  3.8 6.6 6 1  4.1 6.6 5 1  3.6 5.7 5 1  4.3 7.0 4 1  3.6 6.7 4 0
    2.3 4.4 6 1   4.2 7.6 4 0  4.0 6.6 6 0  3.5 5.8 6 1  3.8 6.8 7 1  3.0 4.7 8 0  4.5 7.4 5 1  3.7 7.4 5 1
    3.1 6.6 6 1   4.1 8.2 6 1  4.3 7.0 5 1  4.3 6.5 4 1  3.2 5.1 5 1  2.6 4.7 6 1  3.3 6.8 6 0  1.7 4.0 7 0
    3.7 6.1 5 1   3.3 6.3 7 1  4.2 7.7 6 1  3.5 6.2 5 1  2.9 5.7 9 0  2.1 4.8 7 1  2.8 6.2 8 0  4.0 7.0 7 1
    3.3 5.7 6 1   3.7 6.9 5 1  3.6 6.6 5 1
    """,
    sep=" ",
).reshape(-1, 4)
TESTS = {
    "albumin": PATIENTS[:, 0] / 10,
    "protein": PATIENTS[:, 1] / 10,
    "k-g": (10 - PATIENTS[:, 2]) / 10,
}
OUTCOME = PATIENTS[:, 3]

samples = st.lists(
    st.tuples(st.booleans(), st.sampled_from([0.1, 0.3, 0.5, 0.8]), st.floats(0, 1)), min_size=4, max_size=14
).filter(lambda drawn: 2 <= sum(case[0] for case in drawn) <= len(drawn) - 2)


def by_definition(y, forecasts):
    """Return areas and covariance from the placement values of each event and each non-event."""
    of_events, of_non_events = [], []
    for p in forecasts:
        wins = np.greater.outer(p[y], p[~y]) + 0.5 * np.equal.outer(p[y], p[~y])
        of_events.append(wins.mean(axis=1))
        of_non_events.append(wins.mean(axis=0))
    covariance = np.cov(of_events) / y.sum() + np.cov(of_non_events) / (~y).sum()
    return np.mean(of_events, axis=1), np.atleast_2d(covariance)


def test_published_areas_and_errors():
    areas = delong(OUTCOME, TESTS)
    np.testing.assert_allclose(areas.auc, [0.7366, 0.6478, 0.7258], atol=5e-5)
    np.testing.assert_allclose(areas.standard_error, [0.0927, 0.1000, 0.1028], atol=5e-5)


def test_published_differences():
    found = delong(OUTCOME, TESTS).differences()
    frame = {(m, r): row for m, r, *row in zip(*found.rows().values(), strict=True)}
    difference, error, low, high, statistic, p_value = frame["albumin", "k-g"]
    np.testing.assert_allclose([difference, error, low, high], [0.0108, 0.0953, -0.1761, 0.1976], atol=6e-5)
    np.testing.assert_allclose([statistic**2, p_value], [0.0127, 0.9102], atol=5e-5)
    difference, error, low, high, statistic, p_value = frame["protein", "k-g"]
    np.testing.assert_allclose([difference, error, low, high], [-0.0780, 0.1046, -0.2830, 0.1271], atol=6e-5)
    np.testing.assert_allclose([statistic**2, p_value], [0.5554, 0.4561], atol=6e-5)


def test_published_contrast_of_all_three():
    areas = delong(OUTCOME, TESTS)
    contrast = np.array([[1, 0, -1], [0, 1, -1]])
    gap, spread = contrast @ areas.auc, contrast @ areas.covariance @ contrast.T
    chi_square = gap @ np.linalg.solve(spread, gap)
    assert chi_square == pytest.approx(2.5340, abs=5e-5)
    assert stats.chi2.sf(chi_square, 2) == pytest.approx(0.2817, abs=5e-5)


@settings(max_examples=50)
@given(samples)
def test_placement_values_by_definition(drawn):
    y, p, q = (np.array(column) for column in zip(*drawn, strict=True))
    areas = delong(y, {"a": p, "b": q})
    expected, covariance = by_definition(y, [p, q])
    np.testing.assert_allclose(areas.auc, expected, atol=1e-12)
    np.testing.assert_allclose(areas.covariance, covariance, atol=1e-12)
    assert areas.auc[0] == pytest.approx(pr.roc_curve(y, p).auc, abs=1e-12)


@settings(max_examples=50)
@given(samples)
def test_only_the_order_counts_and_turning_it_turns_the_area(drawn):
    y, p, _ = (np.array(column) for column in zip(*drawn, strict=True))
    areas = delong(y, {"a": p, "squared": p**2, "turned": 1 - p})
    np.testing.assert_allclose(areas.auc, [areas.auc[0], areas.auc[0], 1 - areas.auc[0]], atol=1e-12)
    np.testing.assert_allclose(areas.covariance[0], areas.covariance[0, 0] * np.array([1, 1, -1]), atol=1e-12)
    np.testing.assert_allclose([areas.low[0], areas.high[0]], [1 - areas.high[2], 1 - areas.low[2]], atol=1e-9)


def test_the_error_is_that_of_the_bootstrap():
    rng = np.random.default_rng(3)
    p = rng.random(400)
    y, q = rng.random(400) < p, np.clip(p + 0.2 * rng.standard_normal(400), 0, 1)
    areas = delong(y, {"p": p, "q": q})
    draws = []
    for _ in range(500):
        cases = rng.integers(0, 400, 400)
        draws.append([pr.roc_curve(y[cases], one[cases]).auc for one in (p, q)])
    np.testing.assert_allclose(areas.covariance, np.cov(np.transpose(draws)), rtol=0.3)


def test_equal_weights_change_nothing():
    plain, weighted = delong(OUTCOME, TESTS), delong(OUTCOME, TESTS, sample_weight=np.full(43, 2.5))
    np.testing.assert_allclose(weighted.covariance, plain.covariance, rtol=1e-12)
    np.testing.assert_allclose(weighted.auc, plain.auc, rtol=1e-12)


def test_weights_count_in_the_area_and_none_is_no_case():
    y, p = np.array([0, 1, 0, 1, 1, 0]), np.array([0.1, 0.3, 0.4, 0.8, 0.2, 0.3])
    weight = np.array([2.0, 1.0, 0.0, 3.0, 1.0, 1.0])
    kept = weight > 0
    areas = delong(y, {"a": p}, sample_weight=weight)
    assert areas.auc[0] == pytest.approx(pr.roc_curve(y, p, sample_weight=weight).auc)
    fewer = delong(y[kept], {"a": p[kept]}, sample_weight=weight[kept])
    np.testing.assert_array_equal(areas.covariance, fewer.covariance)
    assert areas.n == 5


def test_clusters_sum_the_influence_of_their_cases():
    y, p, cluster = OUTCOME == 1, TESTS["albumin"], np.arange(43) % 9
    wins = np.greater.outer(p[y], p[~y]) + 0.5 * np.equal.outer(p[y], p[~y])
    influence = np.empty(43)
    influence[y] = (wins.mean(axis=1) - wins.mean()) / y.sum()
    influence[~y] = (wins.mean(axis=0) - wins.mean()) / (~y).sum()
    sums = np.bincount(cluster, influence)
    areas = delong(y, {"a": p}, cluster=cluster)
    error = math.sqrt(9 / 8 * (sums**2).sum())
    assert areas.standard_error[0] == pytest.approx(error, rel=1e-12)
    assert areas.clusters == 9
    area = wins.mean()
    margin = stats.t(8).ppf(0.975) * error / (area * (1 - area))
    assert areas.high[0] == pytest.approx(1 / (1 + math.exp(-math.log(area / (1 - area)) - margin)), rel=1e-12)


def test_repeated_patients_are_no_news():
    twice = {name: np.tile(values, 2) for name, values in TESTS.items()}
    naive = delong(np.tile(OUTCOME, 2), twice)
    told = delong(np.tile(OUTCOME, 2), twice, cluster=np.tile(np.arange(43), 2))
    alone = delong(OUTCOME, TESTS, cluster=np.arange(43))
    np.testing.assert_allclose(told.covariance, alone.covariance, rtol=1e-12)
    assert (naive.standard_error < 0.75 * told.standard_error).all()


def test_models_that_rank_alike_do_not_differ():
    found = delong(OUTCOME, {"a": TESTS["albumin"], "b": TESTS["albumin"] ** 3}).differences()
    assert (found.difference[0], found.standard_error[0], found.low[0], found.high[0]) == (0.0, 0.0, 0.0, 0.0)
    assert np.isnan([found.statistic[0], found.p_value[0]]).all()


def test_what_the_cases_cannot_tell():
    apart = delong([0, 0, 1, 1], {"a": [0.1, 0.2, 0.8, 0.9]})
    assert (apart.auc[0], apart.standard_error[0]) == (1.0, 0.0)
    assert np.isnan([apart.low[0], apart.high[0]]).all()
    single = delong([0, 0, 1], {"a": [0.1, 0.7, 0.5]})
    assert np.isnan([single.standard_error[0], single.low[0]]).all()
    with pytest.raises(InputValueError, match="there are no events"):
        delong([0, 0], {"a": [0.1, 0.2]})


@given(st.floats(0.01, 0.99), st.floats(1e-6, 0.5), st.floats(0.5, 0.999))
def test_limits_on_the_logit_scale_stay_inside_and_around(area, error, level):
    low, high = on_logit_scale(area, error, level)
    assert 0.0 <= low <= area <= high <= 1.0
    wider = on_logit_scale(area, error, level, clusters=5)
    assert wider[0] <= low
    assert high <= wider[1]


def test_views_and_missing_values():
    areas = delong(
        [0, 1, 0, 1, None], {"a": [0.1, 0.3, 0.4, 0.8, 0.2], "b": [0.1, 0.3, 0.2, None, 0.2]}, missing="drop"
    )
    assert repr(areas) == "AreasUnderRoc(models=['a', 'b'], n=3, level=0.95, dropped=2)"
    assert areas.to_frame(backend="pandas").shape == (2, 5)
    assert areas.differences().to_frame(backend="polars").columns[:3] == ["model", "reference", "difference"]
    assert np.shape(areas.to_dict()["covariance"]) == (2, 2)
    one = delong([0, 1, 0, 1], {"a": [0.1, 0.3, 0.4, 0.8]}).differences()
    assert len(one.difference) == 0
