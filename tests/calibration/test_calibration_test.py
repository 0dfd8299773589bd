"""The test of calibration: by the formula with matrices, its size, its views, and forecasts without log-odds."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.special import expit, logit

from propriety.calibration.calibration_test import FEWEST, GROUPS, calibration_test, group_of_cases, null_scores
from propriety.tables.forecast_table import ForecastTable

cases = st.lists(st.tuples(st.booleans(), st.floats(0.01, 0.99)), min_size=3, max_size=30)
DRAWS = {"n_resamples": 200, "seed": 1}


def judged(y, p, weight=None, **options):
    return calibration_test(ForecastTable.from_predictions(y, p, sample_weight=weight), **(DRAWS | options))


def calibrated(rng, n, shape=(1, 3)):
    p = rng.beta(*shape, n)
    return rng.random(n) < p, p


def by_matrices(y, p):
    design = np.column_stack([np.ones(len(p)), logit(p)])
    score = design.T @ (y - p)
    variance = (design * (p * (1.0 - p))[:, None]).T @ design
    return score @ np.linalg.solve(variance, score)


@given(cases)
def test_the_statistic_of_the_line_is_that_of_the_formula(drawn):
    y, p = (np.array(column, dtype=float) for column in zip(*drawn, strict=True))
    p = np.round(p, 2)
    found = judged(y, p)
    if len(np.unique(p)) > 1:
        assert found.line_df == 2
        assert found.line_statistic == pytest.approx(by_matrices(y, p), rel=1e-6, abs=1e-9)
    assert found.information == pytest.approx((p * (1 - p)).sum())


def test_the_views_have_uncorrelated_sums_with_variance_one():
    _, p = calibrated(np.random.default_rng(1), 3000)
    scores = null_scores(ForecastTable.from_predictions(np.zeros(3000), p))
    assert scores.sizes == (2, 4, 10)
    spread = np.sort(p) * (1.0 - np.sort(p))
    np.testing.assert_allclose((scores.functions * spread[:, None]).T @ scores.functions, np.eye(16), atol=1e-9)


def test_p_values_of_views_are_of_chi_squared_and_share_the_level():
    y, p = calibrated(np.random.default_rng(3), 2000)
    found = judged(y, p)
    scores = null_scores(ForecastTable.from_predictions(y, p))
    by_view = np.split(scores.sums**2, np.cumsum(scores.sizes)[:-1])
    expected = [stats.chi2(len(view)).sf(view.sum()) for view in by_view]
    assert [found.line_p_value, found.shape_p_value, found.fine_p_value] == pytest.approx(expected)
    assert found.p_value == pytest.approx(min((np.array(expected) / [0.8, 0.12, 0.08]).min(), 1.0))
    assert found.smooth_p_value == pytest.approx(min(expected[1] / 0.6, expected[2] / 0.4, 1.0))
    assert found.method == "chi-squared"


@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.5])
def test_a_test_rejects_just_where_a_view_decides(alpha):
    rng = np.random.default_rng(4)
    for n in (30, 150, 1000):  # With one view, two and three.
        for shift in np.linspace(0.0, 1.0, 15):
            y, p = calibrated(rng, n)
            found = judged(y, expit(logit(p) + shift))
            share = 0.8 if found.shape_df else 1.0
            decides = found.line_p_value <= share * alpha or found.shows_shape(alpha)
            assert decides == (found.p_value <= alpha)


def test_a_tiny_p_value_keeps_its_digits():
    y, p = calibrated(np.random.default_rng(5), 2000)
    found = judged(y, expit(logit(p) + 0.7))
    assert 0.0 < found.p_value < 1e-20
    assert found.p_value == pytest.approx(found.line_p_value / 0.8, rel=1e-9)


def test_equal_forecasts_have_no_slope_and_no_shape():
    found = judged([0, 1, 1, 1] * 50, [0.5] * 200)
    assert (found.line_df, found.shape_df, found.fine_df) == (1, 0, 0)
    assert found.line_statistic == pytest.approx(50.0)
    assert [found.p_value, found.line_p_value] == pytest.approx([stats.chi2(1).sf(50.0)] * 2)
    assert judged([0, 1, 1, 1], [0.3, 0.3, 0.3, np.nextafter(0.3, 1.0)]).line_df == 1


def test_three_forecasts_leave_one_degree_of_freedom_for_the_shape():
    found = judged(np.arange(600) % 2, np.repeat([0.2, 0.5, 0.7], 200))
    assert (found.line_df, found.shape_df, found.fine_df) == (2, 1, 0)


def test_certain_forecasts_that_came_true_are_left_out():
    y, p = [0, 1, 0, 1, 1], [0.2, 0.7, 0.4, 0.5, 0.9]
    inside, whole = judged(y, p), judged([*y, 0, 1, 1], [*p, 0.0, 1.0, 1.0])
    assert (whole.n_certain, whole.n_refuted, whole.n) == (3.0, 0.0, 8)
    assert whole.line_statistic == pytest.approx(inside.line_statistic)
    assert whole.p_value == inside.p_value


@pytest.mark.parametrize(("y", "p"), [(1, 0.0), (0, 1.0)], ids=["an event at 0", "none at 1"])
@pytest.mark.parametrize("weight", [None, [1.0, 2.0, 3.0, 0.5]], ids=["plain", "weights"])
def test_a_certain_forecast_that_did_not_come_true_refutes(y, p, weight):
    found = judged([0, 1, 0, y], [0.2, 0.7, 0.4, p], weight)
    assert (found.n_refuted, found.p_value) == (1.0 if weight is None else 0.5, 0.0)
    assert math.isfinite(found.line_statistic)


@pytest.mark.parametrize("weight", [None, [1.0, 2.0]], ids=["plain", "weights"])
def test_only_certain_forecasts_leave_nothing_to_test(weight):
    found = judged([0, 1], [0.0, 1.0], weight)
    assert (found.line_df, found.line_statistic, found.p_value, found.information) == (0, 0.0, 1.0, 0.0)


@pytest.mark.parametrize("weight", [None, np.linspace(1, 2, 60)], ids=["plain", "weights"])
def test_few_events_are_tested_by_level_and_slope_alone(weight):
    y, p = calibrated(np.random.default_rng(6), 60)
    found = judged(y, p, weight)
    assert found.information < FEWEST
    assert found.shape_df == found.fine_df == 0.0
    assert np.isnan([found.shape_p_value, found.fine_p_value]).all()
    assert found.p_value == pytest.approx(found.line_p_value)
    assert found.method == ("200 draws of outcomes" if weight is None else "chi-squared")


def test_draws_give_the_exact_p_value_of_one_forecast():
    # Of ten cases with probability 0.1, three events or more are as far from one as the square of the residual says.
    found = judged([1] * 3 + [0] * 7, [0.1] * 10, n_resamples=100_000)
    assert found.p_value == pytest.approx(stats.binom(10, 0.1).sf(2), abs=0.003)


def test_an_event_that_was_all_but_excluded_is_told_without_a_warning():
    assert judged([1, 0, 1], [1e-320, 0.3, 0.6]).p_value == pytest.approx(1 / 4001)
    assert judged([1, 0, 1], [1e-320, 1e-320, 5e-324]).p_value == pytest.approx(1 / 4001)
    rng = np.random.default_rng(7)
    y, p = calibrated(rng, 500)
    assert judged(np.append(y, 1), np.append(p, 1e-320)).p_value == 0.0


@pytest.mark.slow
@given(cases)
def test_twice_the_cases_make_twice_the_statistic(drawn):
    y, p = (np.array(column, dtype=float) for column in zip(*drawn, strict=True))
    once, twice = judged(y, np.round(p, 2)), judged(np.tile(y, 2), np.tile(np.round(p, 2), 2))
    assert twice.line_statistic == pytest.approx(2.0 * once.line_statistic, rel=1e-9, abs=1e-12)
    assert twice.information == pytest.approx(2.0 * once.information)


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weights"])
def test_the_order_of_the_cases_does_not_matter(weighted):
    rng = np.random.default_rng(8)
    y, p = calibrated(rng, 500)
    weight, order = rng.gamma(2.0, 1.0, 500) if weighted else None, rng.permutation(500)
    one = judged(y, p, weight)
    other = judged(y[order], p[order], None if weight is None else weight[order])
    for name in ("p_value", "line_statistic", "shape_p_value", "fine_p_value", "information"):
        assert getattr(other, name) == pytest.approx(getattr(one, name), rel=1e-9, nan_ok=True)


@pytest.mark.parametrize("change", [0.0, 0.2], ids=["calibrated", "shifted"])
def test_a_grid_hardly_changes_the_test(change):
    y, p = calibrated(np.random.default_rng(9), 20_000)
    table = ForecastTable.from_predictions(y, expit(logit(p) + change))
    whole, grid = calibration_test(table, **DRAWS), calibration_test(table.grid(), **DRAWS)
    assert grid.line_statistic == pytest.approx(whole.line_statistic, rel=0.02, abs=0.05)
    assert grid.shape_p_value == pytest.approx(whole.shape_p_value, abs=0.05)


def test_large_tables_are_put_into_groups_of_neighbours():
    y, p = calibrated(np.random.default_rng(10), 50_000)
    table = ForecastTable.from_predictions(y, p)
    scores = null_scores(table)
    assert GROUPS / 2 < len(scores.start) <= GROUPS
    assert calibration_test(table, **DRAWS).line_statistic == pytest.approx(by_matrices(y, p), rel=1e-3)
    group = group_of_cases(scores, table, np.array([0.0, table.forecast[0], table.forecast[-1], 1.0]))
    assert group.tolist() == [-1, 0, len(scores.start) - 1, -1]


def test_equal_weights_change_nothing():
    y, p = calibrated(np.random.default_rng(11), 500)
    plain, scaled = judged(y, p), judged(y, p, np.full(500, 5.0))
    for name in ("p_value", "line_statistic", "shape_p_value", "fine_p_value", "information"):
        assert getattr(scaled, name) == pytest.approx(getattr(plain, name), rel=1e-9, nan_ok=True)


def test_a_variance_of_three_divides_the_statistic_by_three():
    y, p = calibrated(np.random.default_rng(12), 2000)
    plain, wide = judged(y, p), judged(y, p, dispersion=np.full(16, 3.0))
    assert wide.line_statistic == pytest.approx(plain.line_statistic / 3)
    assert (wide.line_df, wide.dispersion) == (2.0, 3.0)
    assert wide.information == pytest.approx(plain.information / 3)
    narrow = judged(y, p, dispersion=np.full(16, 0.2))
    assert (narrow.line_statistic, narrow.dispersion) == (plain.line_statistic, 1.0)


def test_uneven_variances_have_fewer_degrees_of_freedom():
    y, p = calibrated(np.random.default_rng(12), 2000)
    found = judged(y, p, dispersion=np.array([3.0, 1.0] + [1.0] * 14))
    # Rao and Scott: mean 2 and squared coefficient of variation 1 / 4.
    assert found.line_df == pytest.approx(2 / 1.25)
    assert found.line_statistic == pytest.approx(judged(y, p).line_statistic / (2 * 1.25))


@pytest.mark.nightly
@pytest.mark.parametrize("shape", [(1, 3), (1, 49)], ids=["25% events", "2% events"])
def test_calibrated_forecasts_are_rejected_as_often_as_they_may_be(shape):
    rng = np.random.default_rng(2)
    rejected = [judged(*calibrated(rng, 1000, shape), n_resamples=60).p_value <= 0.05 for _ in range(300)]
    assert 0.02 <= np.mean(rejected) <= 0.08


def case_control(rng):
    """Return 150 events and 150 non-events of a calibrated population, weighted back to it."""
    y, p = calibrated(rng, 4000, (1, 19))
    kept = np.concatenate([rng.permutation(np.flatnonzero(y == outcome))[:150] for outcome in (True, False)])
    weight = np.where(y[kept], y.sum() / 150, (~y).sum() / 150)
    return y[kept], p[kept], weight


def stratified(rng):
    """Return calibrated cases of which few were kept where the forecast is low, weighted back."""
    y, p = calibrated(rng, 2000)
    chance = np.clip(p, 0.05, 1.0)
    kept = rng.random(2000) < chance
    return y[kept], p[kept], 1.0 / chance[kept]


@pytest.mark.parametrize("drawn", [case_control, stratified], ids=lambda one: one.__name__)
def test_weighted_calibrated_forecasts_are_rejected_as_often_as_they_may_be(drawn):
    rng = np.random.default_rng(13)
    rejected = [judged(*drawn(rng)).p_value <= 0.05 for _ in range(300)]
    assert 0.015 <= np.mean(rejected) <= 0.095


@pytest.mark.parametrize(
    "change",
    [lambda x: x + 0.4, lambda x: 1.5 * x, lambda x: x + 0.8 * np.sin(3 * x)],
    ids=["shift", "slope", "wave"],
)
def test_miscalibrated_forecasts_are_found(change):
    rng = np.random.default_rng(14)
    samples = [calibrated(rng, 2000) for _ in range(40)]
    assert np.mean([judged(y, expit(change(logit(p)))).p_value <= 0.05 for y, p in samples]) > 0.8


def test_small_p_values_of_few_events_are_drawn_until_they_can_be_told():
    p = np.full(60, 0.02)
    y = np.arange(60) < 8
    found = judged(y, p)
    exact = stats.binom(60, 0.02).sf(7)
    assert exact < 1e-4
    assert found.method == "4,000 draws of outcomes"
    assert found.p_value == pytest.approx(1 / 4001)  # 200 draws alone would give 1 / 201.
    often = judged(np.arange(60) < 2, p)
    assert often.method == "200 draws of outcomes"
    assert often.p_value == pytest.approx(stats.binom(60, 0.02).sf(1) + stats.binom(60, 0.02).pmf(0), abs=0.1)


def test_a_case_with_a_forecast_of_its_own_does_not_decide_the_shape():
    rng = np.random.default_rng(14)
    p = np.repeat([0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6], 300)
    y = rng.random(len(p)) < p
    found, beside = judged(y, p), judged(np.append(y, 0), np.append(p, 0.95))
    assert beside.shape_df + beside.fine_df <= found.shape_df + found.fine_df
    assert beside.fine_p_value > 0.01  # Alone, a case at 0.95 without the event would have a p-value of 0.00001.
