"""Draws with replacement: the same for any number of workers, and with the moments that theory gives."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import propriety as pr
from propriety.errors import InputValueError
from propriety.inference.bootstrap import (
    Drawing,
    Units,
    draw_from_cases,
    draw_from_table,
    in_blocks,
    in_canonical_order,
    values_of_draws,
)
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.validation import read_cases

RNG = np.random.default_rng(7)
N = 5000
P = RNG.beta(1, 2, N)
Y = RNG.random(N) < P
LOSS = (P - Y) ** 2

cases = st.lists(
    st.tuples(st.booleans(), st.sampled_from([0.1, 0.3, 0.6, 0.9]), st.integers(0, 3), st.integers(0, 2)),
    min_size=2,
    max_size=12,
).filter(lambda drawn: sum(weight for _, _, weight, _ in drawn) > 0)


def error_of(units):
    """Return the standard error of the mean that the units give."""
    if units.number == 1:
        return math.nan
    squares = (units.count * units.deviation**2).sum() * units.number / (units.number - 1)
    return math.sqrt(squares) / (units.count * units.weight).sum()


def resampled(values, *, weight=None, codes=None, **drawing):
    return Units.of(values, weight=weight, codes=codes).in_cells().resampled(Drawing(**drawing))


def drawn_from(y, p, **options):
    """Return the cases in canonical order, their table, and how tables are drawn from them."""
    ordered = in_canonical_order(read_cases(y, p, **options))
    table = ForecastTable.from_cases(ordered)
    return ordered, table, draw_from_cases(ordered, (table,))


@settings(max_examples=50)
@given(cases, st.sampled_from(["plain", "weights", "clusters", "both"]))
def test_the_error_of_a_mean_is_that_of_the_moments(drawn, kind):
    y, p, weight, cluster = (np.array(column) for column in zip(*drawn, strict=True))
    weight = weight.astype(float) if kind in ("weights", "both") else None
    cluster = cluster if kind in ("clusters", "both") else None
    moments = pr.condense(y, {"a": p}, cluster=cluster, sample_weight=weight).moments(pr.Brier())
    codes = None if cluster is None else np.unique(cluster, return_inverse=True)[1]
    units = Units.of((p - y) ** 2, weight=weight, codes=codes)
    assert units.mean == pytest.approx(moments.means[0], abs=1e-12)
    assert units.number == moments.units
    if cluster is None:
        np.testing.assert_allclose(error_of(units), moments.standard_errors()[0], atol=1e-12)


def test_fine_cells_keep_mean_and_variance_and_say_what_is_inside():
    units = Units.of(LOSS)
    cells = units.in_cells(64)
    assert len(cells.count) <= 64
    assert cells.number == N
    assert cells.count @ cells.weight == pytest.approx(N)
    assert cells.count @ cells.deviation == pytest.approx(units.deviation.sum(), abs=1e-9)
    assert cells.count @ (cells.deviation**2 + cells.noise) == pytest.approx((units.deviation**2).sum(), rel=1e-12)
    assert 0.0 < cells.share_inside <= (LOSS.max() - LOSS.min()) ** 2 / 64**2 / 4 / LOSS.var()
    assert units.share_inside == 0.0


def test_cells_are_not_made_where_there_is_nothing_to_gain():
    few, alike = Units.of(LOSS[:100]), Units.of(np.full(N, 0.25))
    assert few.in_cells() is few
    assert alike.in_cells() is alike
    np.testing.assert_array_equal(resampled(np.full(N, 0.25), n_resamples=5, seed=1), 0.25)


def test_two_values_in_many_cases_have_nothing_inside_their_cells():
    cells = Units.of(Y.astype(float)).in_cells()
    assert len(cells.count) == 2
    assert cells.share_inside == pytest.approx(0.0, abs=1e-20)


@pytest.mark.slow
@pytest.mark.parametrize("size", [300, N], ids=["cases", "cells"])
def test_percentiles_are_those_of_scipys_bootstrap(size):
    values = LOSS[:size]
    ours = resampled(values, n_resamples=4000, seed=1)
    theirs = stats.bootstrap(
        (values,), np.mean, n_resamples=2000, batch=100, method="percentile", random_state=2
    ).bootstrap_distribution
    error = values.std() / np.sqrt(size)
    # The 2.5% and 97.5% points of 2,000 normal draws have a standard error of 0.06 of their spread.
    for level in (0.025, 0.5, 0.975):
        assert np.quantile(ours, level) == pytest.approx(np.quantile(theirs, level), abs=5 * 0.06 * error)
    assert ours.std() == pytest.approx(theirs.std(), rel=5 * np.hypot(1 / np.sqrt(2 * 4000), 1 / np.sqrt(2 * 2000)))


def test_draws_of_clusters_spread_as_the_clusters_do():
    codes = np.repeat(np.arange(50), 40)
    values = RNG.standard_normal(50)[codes] + 0.1 * RNG.standard_normal(2000)
    draws = resampled(values, n_resamples=4000, seed=1, codes=codes)
    units = Units.of(values, codes=codes)
    assert units.number == 50
    assert draws.std() == pytest.approx(error_of(units) * np.sqrt(49 / 50), rel=0.06)
    assert draws.std() > 4 * resampled(values, n_resamples=400, seed=1).std()


@pytest.mark.parametrize("size", [200, N], ids=["cases", "cells"])
def test_weighted_means_of_draws(size):
    weight = RNG.gamma(1.0, 1.0, size)
    values = LOSS[:size] + 0.2 * weight
    draws = resampled(values, n_resamples=4000, seed=3, weight=weight)
    picks = np.random.default_rng(4).integers(0, size, (1000, size))
    brute = (weight[picks] * values[picks]).sum(axis=1) / weight[picks].sum(axis=1)
    assert draws.std() == pytest.approx(brute.std(), rel=0.12)
    assert draws.mean() == pytest.approx(brute.mean(), abs=5 * brute.std() / np.sqrt(1000))


def test_cases_without_weight_are_not_drawn():
    weight = np.array([1.0, 0.0, 2.0, 1.0])
    values = np.array([0.1, np.inf, 0.5, 0.9])
    kept = weight > 0
    one = resampled(values, n_resamples=50, seed=1, weight=weight)
    np.testing.assert_array_equal(one, resampled(values[kept], n_resamples=50, seed=1, weight=weight[kept]))
    assert np.isfinite(one).all()


@pytest.mark.parametrize("size", [60, N], ids=["cases", "cells"])
def test_the_answer_does_not_depend_on_the_workers(size):
    one, two, other = (
        resampled(LOSS[:size], n_resamples=150, seed=seed, workers=workers)
        for seed, workers in ((1, 1), (1, 2), (2, 1))
    )
    np.testing.assert_array_equal(one, two)
    assert (one != other).any()


def test_tables_do_not_depend_on_the_workers_either():
    draw = draw_from_table(ForecastTable.from_predictions(Y[:80], P[:80]))
    one, two = (
        values_of_draws(draw, lambda tables: np.array([tables[0].event_rate]), 1, Drawing(90, 1, workers))
        for workers in (1, 2)
    )
    np.testing.assert_array_equal(one, two)


def test_more_draws_begin_with_the_same_ones():
    few, many = (resampled(LOSS[:50], n_resamples=number, seed=5) for number in (64, 96))
    np.testing.assert_array_equal(few, many[:64])


@pytest.mark.parametrize("kind", ["table", "cases", "weights", "clusters"])
def test_drawn_tables_hold_what_was_drawn(kind):
    y, p = Y[:60], np.round(P[:60], 1)
    weight = np.arange(60) % 4 / 2 if kind == "weights" else None
    cluster = np.arange(60) // 6 if kind == "clusters" else None
    ordered, whole, draw = drawn_from(y, p, sample_weight=weight, cluster=cluster)
    draw = draw_from_table(whole) if kind == "table" else draw
    generator = np.random.default_rng(1)
    rates, numbers, squares = [], [], []
    for _ in range(600):
        (table,) = draw(generator)
        assert np.isin(table.forecast, whole.forecast).all()
        rates.append(table.event_rate)
        numbers.append(table.n)
        squares.append(table.weight_squares)
        assert 0 <= table.n_events <= table.n
    assert set(numbers) == {whole.n}
    assert np.mean(squares) == pytest.approx(whole.weight_squares, rel=0.05)
    codes = None if ordered.cluster is None else ordered.cluster.codes
    units = Units.of(ordered.outcomes().astype(float), weight=ordered.weights(), codes=codes)
    assert np.mean(rates) == pytest.approx(units.mean, abs=5 * error_of(units) / np.sqrt(600))
    assert np.std(rates) == pytest.approx(error_of(units), rel=0.15)


def test_models_are_drawn_together():
    forecasts = {"a": np.round(P[:60], 1), "b": np.round(1 - P[:60], 2)}
    ordered = in_canonical_order(read_cases(Y[:60], forecasts))
    tables = tuple(ForecastTable.from_cases(ordered, model) for model in forecasts)
    draw, generator = draw_from_cases(ordered, tables), np.random.default_rng(1)
    for _ in range(20):
        one, other = draw(generator)
        assert one.n_events == other.n_events
        assert one.event_rate == other.event_rate
        assert one.mean_forecast == pytest.approx(1 - other.mean_forecast, abs=0.05)


@given(cases, st.randoms(use_true_random=False))
def test_the_canonical_order_depends_on_the_cases_alone(drawn, random):
    mixed = list(drawn)
    random.shuffle(mixed)
    found = []
    for some in (drawn, mixed):
        y, p, weight, cluster = (np.array(column) for column in zip(*some, strict=True))
        ordered = in_canonical_order(read_cases(y, p, sample_weight=weight.astype(float), cluster=cluster))
        labels = [ordered.cluster.labels[code] for code in ordered.cluster.codes]
        found.append(list(zip(*map(np.ndarray.tolist, ordered.gathered()), labels, strict=True)))
    assert found[0] == found[1]
    assert all(weight > 0 for _, _, weight, _ in found[0])
    assert len(found[0]) == sum(weight > 0 for _, _, weight, _ in drawn)


def test_classes_have_a_canonical_order_too():
    rows = np.random.default_rng(3).dirichlet([1, 1, 1], 30).round(2)
    rows[:, 2] = 1 - rows[:, 0] - rows[:, 1]
    y, order = np.arange(30) % 3, np.random.default_rng(4).permutation(30)
    one, other = (in_canonical_order(read_cases(y[at], rows[at])).gathered() for at in (slice(None), order))
    np.testing.assert_array_equal(one.forecast, other.forecast)
    np.testing.assert_array_equal(one.outcome, other.outcome)


def test_a_statistic_that_a_draw_does_not_have_is_nan():
    draw = draw_from_table(ForecastTable.from_predictions([0] * 9 + [1], np.arange(10) / 10))
    areas = values_of_draws(draw, lambda tables: np.array([pr.roc_curve(tables[0]).auc]), 1, Drawing(300, 1))
    # A draw of ten lacks the one event with a probability of 0.9 ** 10 = 0.35.
    assert 0.25 < np.isnan(areas).mean() < 0.45
    assert np.nanmax(areas) == 1.0


def test_other_errors_are_not_hidden():
    draw = draw_from_table(ForecastTable.from_predictions([0, 1], [0.2, 0.4]))
    with pytest.raises(KeyError):
        values_of_draws(draw, lambda tables: {}["absent"], 1, Drawing(3, 1))


def test_a_cluster_without_weight_is_none():
    weight = np.array([1.0, 1.0, 0.0, 1.0])
    ordered, table, draw = drawn_from([0, 1, 1, 0], [0.1, 0.2, 0.3, 0.4], sample_weight=weight, cluster=list("abcd"))
    assert sorted(ordered.cluster.labels) == ["a", "b", "d"]
    assert table.n == 3
    assert {draw(np.random.default_rng(seed))[0].n for seed in range(9)} == {3}


@pytest.mark.parametrize("workers", [0, -1, 1.5, True, "2"])
def test_numbers_of_workers_that_there_are_not(workers):
    with pytest.raises(InputValueError, match="workers must be a positive whole number; got"):
        in_blocks(lambda rng, size: rng.random(size), Drawing(3, 1, workers))


def test_progress_changes_nothing(capsys):
    plain, shown = (resampled(LOSS[:50], n_resamples=70, seed=1, progress=bar) for bar in (False, True))
    np.testing.assert_array_equal(plain, shown)
    assert "resampling" in capsys.readouterr().out
