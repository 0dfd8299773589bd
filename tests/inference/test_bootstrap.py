"""Draws with replacement: the same for any number of workers, and with the moments that theory gives."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import propriety as pr
from propriety.errors import InputValueError
from propriety.inference.bootstrap import Units, in_blocks, resampled_means
from propriety.inference.moments import loss_moments
from propriety.inference.samples import Sample, resampled_tables
from propriety.tables.validation import read_binary

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


@settings(max_examples=50)
@given(cases, st.sampled_from(["plain", "weights", "clusters", "both"]))
def test_the_error_of_a_mean_is_that_of_the_moments(drawn, kind):
    y, p, weight, cluster = (np.array(column) for column in zip(*drawn, strict=True))
    weight = weight.astype(float) if kind in ("weights", "both") else None
    cluster = cluster if kind in ("clusters", "both") else None
    moments = loss_moments(y, {"a": p}, cluster=cluster, sample_weight=weight)
    codes = None if cluster is None else np.unique(cluster, return_inverse=True)[1]
    units = Units.of((p - y) ** 2, weight=weight, codes=codes)
    assert units.mean == pytest.approx(moments.means[0], abs=1e-12)
    assert units.number == moments.units
    np.testing.assert_allclose(units.standard_error, moments.standard_errors()[0], atol=1e-12)


@settings(max_examples=50)
@given(cases)
def test_cells_of_a_table_are_as_good_as_its_cases(drawn):
    y, p, _, _ = (np.array(column) for column in zip(*drawn, strict=True))
    sample = Sample.of_table(pr.ForecastTable.from_predictions(y, p))
    by_cell = sample.units(sample.losses(pr.Brier(), sample.table.forecast))
    by_case = Units.of((p - y) ** 2)
    assert by_cell.number == by_case.number == len(y)
    assert by_cell.mean == pytest.approx(by_case.mean, abs=1e-12)
    assert by_cell.standard_error == pytest.approx(by_case.standard_error, abs=1e-12)


def test_fine_cells_keep_mean_and_variance_and_say_what_is_inside():
    units = Units.of(LOSS)
    cells = units.in_cells(64)
    assert len(cells.count) <= 64
    assert cells.number == N
    assert cells.total == pytest.approx(N)
    assert cells.count @ cells.deviation == pytest.approx(units.deviation.sum(), abs=1e-9)
    assert cells.count @ (cells.deviation**2 + cells.noise) == pytest.approx((units.deviation**2).sum(), rel=1e-12)
    assert 0.0 < cells.share_inside <= (LOSS.max() - LOSS.min()) ** 2 / 64**2 / 4 / LOSS.var()
    assert units.share_inside == 0.0


def test_cells_are_not_made_where_there_is_nothing_to_gain():
    few, alike = Units.of(LOSS[:100]), Units.of(np.full(N, 0.25))
    assert few.in_cells() is few
    assert alike.in_cells() is alike
    np.testing.assert_array_equal(resampled_means(np.full(N, 0.25), n_resamples=5, seed=1), 0.25)


def test_two_values_in_many_cases_have_nothing_inside_their_cells():
    cells = Units.of(Y.astype(float)).in_cells()
    assert len(cells.count) == 2
    assert cells.share_inside == pytest.approx(0.0, abs=1e-20)


@pytest.mark.parametrize("size", [300, N], ids=["cases", "cells"])
def test_percentiles_are_those_of_scipys_bootstrap(size):
    values = LOSS[:size]
    ours = resampled_means(values, n_resamples=4000, seed=1)
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
    draws = resampled_means(values, n_resamples=4000, seed=1, codes=codes)
    units = Units.of(values, codes=codes)
    assert units.number == 50
    assert draws.std() == pytest.approx(units.standard_error * np.sqrt(49 / 50), rel=0.06)
    assert draws.std() > 4 * resampled_means(values, n_resamples=400, seed=1).std()


@pytest.mark.parametrize("size", [200, N], ids=["cases", "cells"])
def test_weighted_means_of_draws(size):
    weight = RNG.gamma(1.0, 1.0, size)
    values = LOSS[:size] + 0.2 * weight
    draws = resampled_means(values, n_resamples=4000, seed=3, weight=weight)
    picks = np.random.default_rng(4).integers(0, size, (1000, size))
    brute = (weight[picks] * values[picks]).sum(axis=1) / weight[picks].sum(axis=1)
    assert draws.std() == pytest.approx(brute.std(), rel=0.12)
    assert draws.mean() == pytest.approx(brute.mean(), abs=5 * brute.std() / np.sqrt(1000))


def test_cases_without_weight_are_not_drawn():
    weight = np.array([1.0, 0.0, 2.0, 1.0])
    values = np.array([0.1, np.inf, 0.5, 0.9])
    kept = weight > 0
    one = resampled_means(values, n_resamples=50, seed=1, weight=weight)
    np.testing.assert_array_equal(one, resampled_means(values[kept], n_resamples=50, seed=1, weight=weight[kept]))
    assert np.isfinite(one).all()


@pytest.mark.parametrize("size", [60, N], ids=["cases", "cells"])
def test_the_answer_does_not_depend_on_the_workers(size):
    one, two, other = (
        resampled_means(LOSS[:size], n_resamples=150, seed=seed, workers=workers)
        for seed, workers in ((1, 1), (1, 2), (2, 1))
    )
    np.testing.assert_array_equal(one, two)
    assert (one != other).any()


def test_tables_do_not_depend_on_the_workers_either():
    sample = Sample.of_table(pr.ForecastTable.from_predictions(Y[:80], P[:80]))
    one, two = (
        resampled_tables(sample, lambda table: table.event_rate, n_resamples=90, seed=1, workers=workers)
        for workers in (1, 2)
    )
    np.testing.assert_array_equal(one, two)


def test_more_draws_begin_with_the_same_ones():
    few, many = (resampled_means(LOSS[:50], n_resamples=number, seed=5) for number in (64, 96))
    np.testing.assert_array_equal(few, many[:64])


@pytest.mark.parametrize("kind", ["plain", "weights", "clusters"])
def test_drawn_tables_hold_what_was_drawn(kind):
    y, p = Y[:60], np.round(P[:60], 1)
    weight = np.arange(60) % 4 / 2 if kind == "weights" else None
    codes = np.arange(60) // 6 if kind == "clusters" else None
    sample = Sample.of_predictions(read_binary(y, p, sample_weight=weight), codes)
    generator = np.random.default_rng(1)
    rates, numbers, squares = [], [], []
    for _ in range(600):
        table = sample.draw(generator)
        assert np.isin(table.forecast, sample.table.forecast).all()
        rates.append(table.event_rate)
        numbers.append(table.n)
        squares.append(table.weight_squares)
    assert set(numbers) == {sample.table.n}
    assert np.mean(squares) == pytest.approx(sample.table.weight_squares, rel=0.05)
    units = sample.units(sample.event.astype(float))
    assert np.mean(rates) == pytest.approx(units.mean, abs=5 * units.standard_error / np.sqrt(600))
    assert np.std(rates) == pytest.approx(units.standard_error, rel=0.15)


def test_a_statistic_that_a_draw_does_not_have_is_nan():
    sample = Sample.of_table(pr.ForecastTable.from_predictions([0] * 9 + [1], np.arange(10) / 10))
    areas = resampled_tables(sample, lambda table: pr.roc_curve(table).auc, n_resamples=300, seed=1)
    # A draw of ten lacks the one event with a probability of 0.9 ** 10 = 0.35.
    assert 0.25 < np.isnan(areas).mean() < 0.45
    assert np.nanmax(areas) == 1.0


def test_other_errors_are_not_hidden():
    sample = Sample.of_table(pr.ForecastTable.from_predictions([0, 1], [0.2, 0.4]))
    with pytest.raises(ZeroDivisionError):
        resampled_tables(sample, lambda table: 1 / 0, n_resamples=3, seed=1)


def test_a_cluster_without_weight_is_none():
    weight = np.array([1.0, 1.0, 0.0, 1.0])
    sample = Sample.of_predictions(read_binary([0, 1, 1, 0], [0.1, 0.2, 0.3, 0.4], sample_weight=weight), np.arange(4))
    assert sample.codes.tolist() == [0, 1, 2]
    assert sample.table.n == 3


def test_a_weighted_table_does_not_know_its_cases():
    table = pr.ForecastTable.from_predictions([0, 1], [0.2, 0.4], sample_weight=[1.0, 2.0])
    with pytest.raises(InputValueError, match="a weighted ForecastTable does not hold"):
        Sample.of_table(table)


@pytest.mark.parametrize("workers", [0, -1, 1.5, True, "2"])
def test_numbers_of_workers_that_there_are_not(workers):
    with pytest.raises(InputValueError, match="workers must be a positive whole number; got"):
        in_blocks(lambda rng, size: rng.random(size), n_resamples=3, seed=1, workers=workers)


def test_a_single_unit_has_no_error():
    assert np.isnan(Units.of(np.array([0.3])).standard_error)


def test_progress_changes_nothing(capsys):
    plain, shown = (resampled_means(LOSS[:50], n_resamples=70, seed=1, progress=bar) for bar in (False, True))
    np.testing.assert_array_equal(plain, shown)
    assert "resampling" in capsys.readouterr().out
