"""The error of areas under ROC curves: a published example, placement values by brute force, weights and clusters."""

import math

import numpy as np
import pytest
from brute_clusters import brute_errors
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import expit, logit

import propriety as pr
from propriety.errors import InputValueError
from propriety.inference.dependence import hac
from propriety.inference.estimates import limits_of
from propriety.inference.estimation import estimate
from propriety.inference.finding_words import caveats, notes_of
from propriety.inference.measures.ranking import AreaUnderRoc

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


def areas_of(y, forecasts, **options):
    """Return area and standard error of each model."""
    found = [estimate(y, p, AreaUnderRoc(), **options) for p in forecasts.values()]
    return np.array([one.value for one in found]), np.array([one.error for one in found])


def compared(y, forecasts, **options):
    """Return the difference of each pair of models, with its error, interval, statistic and p-value."""
    found = pr.compare(y, forecasts, AreaUnderRoc(), **options)
    pairs = found.differences
    columns = [getattr(pairs, name).tolist() for name in ("value", "error", "low", "high")]
    columns += [pairs.extra["t"].tolist(), pairs.p.tolist()]
    return {
        (model, reference): row
        for model, reference, *row in zip(
            found.differences.model.tolist(), found.differences.against.tolist(), *columns, strict=True
        )
    }


def covariance_of(y, forecasts, **options):
    """Return the covariance of the areas, which the errors of their differences imply."""
    _, errors = areas_of(y, forecasts, **options)
    names = list(forecasts)
    found = np.diag(errors**2)
    for (one, other), (_, error, *_) in compared(y, forecasts, **options).items():
        i, j = names.index(one), names.index(other)
        found[i, j] = found[j, i] = (errors[i] ** 2 + errors[j] ** 2 - error**2) / 2
    return found


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
    areas, errors = areas_of(OUTCOME, TESTS)
    np.testing.assert_allclose(areas, [0.7366, 0.6478, 0.7258], atol=5e-5)
    np.testing.assert_allclose(errors, [0.0927, 0.1000, 0.1028], atol=5e-5)


def test_published_differences():
    found = compared(OUTCOME, TESTS)
    # The published intervals are normal; these are Student's, with Welch's degrees of freedom of two small samples.
    difference, error, low, high, statistic, p_value = found["albumin", "k-g"]
    np.testing.assert_allclose([difference, error], [0.0108, 0.0953], atol=6e-5)
    assert low < -0.1761 < 0.1976 < high
    np.testing.assert_allclose(statistic**2, 0.0127, atol=5e-5)
    assert p_value == pytest.approx(0.9102, abs=2e-3)
    difference, error, low, high, statistic, p_value = found["protein", "k-g"]
    np.testing.assert_allclose([difference, error], [-0.0780, 0.1046], atol=6e-5)
    assert low < -0.2830 < 0.1271 < high
    np.testing.assert_allclose(statistic**2, 0.5554, atol=6e-5)
    assert 0.4561 < p_value < 0.48


def test_published_contrast_of_all_three():
    areas, _ = areas_of(OUTCOME, TESTS)
    contrast = np.array([[1, 0, -1], [0, 1, -1]])
    gap, spread = contrast @ areas, contrast @ covariance_of(OUTCOME, TESTS) @ contrast.T
    chi_square = gap @ np.linalg.solve(spread, gap)
    assert chi_square == pytest.approx(2.5340, abs=5e-5)
    assert stats.chi2.sf(chi_square, 2) == pytest.approx(0.2817, abs=5e-5)


@settings(max_examples=50)
@given(samples)
def test_placement_values_by_definition(drawn):
    y, p, q = (np.array(column) for column in zip(*drawn, strict=True))
    expected, covariance = by_definition(y, [p, q])
    areas, errors = areas_of(y, {"a": p, "b": q})
    np.testing.assert_allclose(areas, expected, atol=1e-12)
    np.testing.assert_allclose(errors**2, np.diagonal(covariance), atol=1e-12)
    _, error, *_ = compared(y, {"a": p, "b": q})["a", "b"]
    assert error**2 == pytest.approx(max(np.array([1, -1]) @ covariance @ [1, -1], 0.0), abs=1e-12)
    assert areas[0] == pytest.approx(pr.roc_curve(y, p).auc, abs=1e-12)


@settings(max_examples=50)
@given(samples)
def test_only_the_order_counts_and_turning_it_turns_the_area(drawn):
    y, p, _ = (np.array(column) for column in zip(*drawn, strict=True))
    plain, squared, turned = (estimate(y, one, AreaUnderRoc()) for one in (p, p**2, 1 - p))
    np.testing.assert_allclose([squared.value, turned.value], [plain.value, 1 - plain.value], atol=1e-12)
    np.testing.assert_allclose([squared.error, turned.error], plain.error, atol=1e-12)
    mirrored = estimate(~y, 1 - p, AreaUnderRoc())
    np.testing.assert_allclose([mirrored.low, mirrored.high], [plain.low, plain.high], atol=1e-6)


def test_the_error_is_that_of_the_bootstrap():
    rng = np.random.default_rng(3)
    p = rng.random(400)
    y, q = rng.random(400) < p, np.clip(p + 0.2 * rng.standard_normal(400), 0, 1)
    draws = []
    for _ in range(500):
        cases = rng.integers(0, 400, 400)
        draws.append([pr.roc_curve(y[cases], one[cases]).auc for one in (p, q)])
    np.testing.assert_allclose(covariance_of(y, {"p": p, "q": q}), np.cov(np.transpose(draws)), rtol=0.3)


def test_equal_weights_change_nothing():
    plain, weighted = (compared(OUTCOME, TESTS, sample_weight=weight) for weight in (None, np.full(len(OUTCOME), 2.5)))
    for pair, numbers in plain.items():
        np.testing.assert_allclose(weighted[pair], numbers, rtol=1e-10)
    for one, other in zip(
        areas_of(OUTCOME, TESTS), areas_of(OUTCOME, TESTS, sample_weight=np.full(len(OUTCOME), 2.5)), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_weights_count_in_the_area_and_none_is_no_case():
    y, p = np.array([0, 1, 0, 1, 1, 0]), np.array([0.1, 0.3, 0.4, 0.8, 0.2, 0.3])
    weight = np.array([2.0, 1.0, 0.0, 3.0, 1.0, 1.0])
    kept = weight > 0
    found = estimate(y, p, AreaUnderRoc(), sample_weight=weight)
    assert found.value == pytest.approx(pr.roc_curve(y, p, sample_weight=weight).auc)
    fewer = estimate(y[kept], p[kept], AreaUnderRoc(), sample_weight=weight[kept])
    assert found.error == pytest.approx(fewer.error, rel=1e-14)
    assert found.n == 5


def test_clusters_sum_the_influence_of_their_cases():
    y, p, cluster = OUTCOME == 1, TESTS["albumin"], np.arange(43) % 9
    wins = np.greater.outer(p[y], p[~y]) + 0.5 * np.equal.outer(p[y], p[~y])
    influence = np.empty(43)
    influence[y] = (wins.mean(axis=1) - wins.mean()) / y.sum()
    influence[~y] = (wins.mean(axis=0) - wins.mean()) / (~y).sum()
    found = estimate(y, p, AreaUnderRoc(), cluster=cluster, method="student")
    error, df = brute_errors(43 * influence, cluster)
    assert found.error == pytest.approx(error, rel=1e-10)
    assert (found.units, found.method) == (9, "DeLong, on the logit scale, cluster-robust")
    area = wins.mean()
    margin = stats.t(df).ppf(0.975) * error / (area * (1 - area))
    assert found.high == pytest.approx(1 / (1 + math.exp(-math.log(area / (1 - area)) - margin)), rel=1e-10)


def test_repeated_patients_are_no_news():
    twice = {name: np.tile(values, 2) for name, values in TESTS.items()}
    naive = compared(np.tile(OUTCOME, 2), twice)
    told = compared(np.tile(OUTCOME, 2), twice, cluster=np.tile(np.arange(43), 2))
    alone = compared(OUTCOME, TESTS, cluster=np.arange(43))
    for pair in alone:
        np.testing.assert_allclose(told[pair], alone[pair], rtol=1e-10)
        assert naive[pair][1] < 0.75 * told[pair][1]


def test_times_have_a_long_run_error():
    time = np.arange(43) // 3
    y, p, q = OUTCOME == 1, TESTS["albumin"], TESTS["protein"]
    influences = []
    for one in (p, q):
        wins = np.greater.outer(one[y], one[~y]) + 0.5 * np.equal.outer(one[y], one[~y])
        influence = np.empty(43)
        influence[y] = (wins.mean(axis=1) - wins.mean()) / y.sum()
        influence[~y] = (wins.mean(axis=0) - wins.mean()) / (~y).sum()
        influences.append(np.bincount(time, influence))
    parts = np.stack([*influences, influences[0] - influences[1]], axis=1)
    error, df = hac(parts)
    found = estimate(y, p, AreaUnderRoc(), period=time)
    assert (found.error, found.units) == (pytest.approx(error[0], rel=1e-12), 15)
    assert found.method == "DeLong, on the logit scale, over 6 periods, with imagined outcomes"
    result = pr.compare(y, {"a": p, "b": q}, AreaUnderRoc(), period=time)
    assert (result.differences.error[0], result.differences[0].units) == (pytest.approx(error[2], rel=1e-12), 15)
    assert result.differences.extra["df"][0] == df[2]
    assert result.differences[0].method == "DeLong test robust to periods"


def test_models_that_rank_alike_do_not_differ():
    found = pr.compare(OUTCOME, {"a": TESTS["albumin"], "b": TESTS["albumin"] ** 3}, AreaUnderRoc())
    assert (
        found.differences.value[0],
        found.differences.error[0],
        found.differences.low[0],
        found.differences.high[0],
    ) == (0.0, 0.0, 0.0, 0.0)
    assert np.isnan(found.differences.extra["t"][0])
    assert (found.differences.p[0], found.differences.verdict[0]) == (1.0, "no error found")
    assert "\na and b have the same area under the ROC curve.\n" in str(found)


def test_what_the_cases_cannot_tell():
    apart = estimate([0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9], AreaUnderRoc())
    assert (apart.value, apart.error, apart.high) == (1.0, 0.0, 1.0)
    assert apart.low == 0.0
    assert caveats(apart) == "events and non-events do not overlap"
    single = estimate([0, 0, 1], [0.1, 0.7, 0.5], AreaUnderRoc())
    assert np.isnan([single.error, single.low]).all()
    assert caveats(single) == "a single event, non-event or cluster has no spread"
    for of in (
        lambda: estimate([0, 0], [0.1, 0.2], AreaUnderRoc()),
        lambda: pr.compare([0, 0], {"a": [0.1, 0.2], "b": [0.3, 0.4]}, AreaUnderRoc()),
    ):
        with pytest.raises(InputValueError, match="needs cases with and without the event"):
            of()


def test_areas_with_one_event_are_not_compared():
    found = pr.compare([0, 0, 1], {"a": [0.1, 0.7, 0.5], "b": [0.2, 0.3, 0.4]}, AreaUnderRoc())
    assert found.differences.verdict.tolist() == ["not tested"]
    assert np.isnan([found.differences.error[0], found.differences.p[0]]).all()
    assert str(found).endswith(
        "\nb has a 0.50 higher area under the ROC curve than a; with 1 event the difference cannot be tested.\n"
        "No test on 3 cases."
    )


@given(st.floats(0.01, 0.99), st.floats(1e-6, 0.5), st.floats(0.5, 0.999))
def test_limits_on_the_logit_scale_stay_inside_and_around(area, error, level):
    low, high = limits_of(area, error, math.inf, level, "logit")
    assert 0.0 <= low <= area <= high <= 1.0
    wider = limits_of(area, error, 4, level, "logit")
    assert wider[0] <= low
    assert high <= wider[1]


@given(st.floats(0.01, 100.0), st.floats(1e-6, 500.0), st.floats(0.5, 0.999))
def test_limits_on_the_log_scale_stay_positive_and_around(ratio, error, level):
    low, high = limits_of(ratio, error, math.inf, level, "log")
    assert 0.0 <= low <= ratio <= high
    assert low == 0.0 or low * high == pytest.approx(ratio**2, rel=1e-9)


def test_views_and_missing_values():
    found = pr.compare(
        [0, 1, 0, 1, None],
        {"a": [0.1, 0.3, 0.4, 0.8, 0.2], "b": [0.1, 0.3, 0.2, None, 0.2]},
        AreaUnderRoc(),
        missing="drop",
    )
    assert (found.differences[0].n, found.dropped) == (3, 2)
    assert found.to_frame(backend="polars").columns[:4] == ["model", "measure", "statistic", "against"]
    assert found.ranks().value.tolist() == [1.0, 0.5]
    assert found.to_dict()["measure"] == ["auc"] * 3


@pytest.mark.parametrize("unit", [1e-16, 1e50])
def test_the_unit_of_weights_does_not_matter(unit):
    rng = np.random.default_rng(0)
    p, y, weight = rng.random(12), np.arange(12) % 3 == 0, rng.integers(1, 4, 12)
    one, other = (pr.estimate(y, p, AreaUnderRoc(), sample_weight=weight * scale) for scale in (1.0, unit))
    assert (one.low, one.high) == pytest.approx((other.low, other.high), rel=1e-12)


def test_limits_of_areas_near_one_cover_them():
    rng = np.random.default_rng(51)
    y = np.repeat([1, 0], [20, 1000])
    held = {"area": 0, "DeLong": 0}
    for _ in range(100):
        found = estimate(y, expit(rng.normal(size=1020) + 3.29 * y - 3.0), AreaUnderRoc())  # The area is 0.99.
        margin = 1.96 * found.error / (found.value * (1.0 - found.value)) if found.value < 1.0 else np.nan
        low, high = expit(logit(found.value) + np.array([-margin, margin]))
        held["area"] += found.low <= 0.99 <= found.high
        held["DeLong"] += low <= 0.99 <= high
        assert found.low <= low or np.isnan(low)
    assert held["area"] >= 92
    assert held["DeLong"] <= 88


@pytest.mark.parametrize(("apart", "noted"), [(3.0, True), (0.8, False)])
def test_differences_of_areas_near_one_with_few_events_are_noted(apart, noted):
    rng = np.random.default_rng(52)
    y = np.repeat([1, 0], [20, 1000])
    models = {name: expit(rng.normal(size=1020) + apart * y - 3.0) for name in "ab"}
    found = pr.compare(y, models, AreaUnderRoc())
    assert (found.ranks().value.max() > 0.9) == noted
    assert ("Based on 20 events: intervals may be too narrow." in notes_of(found.differences[0])) == noted
