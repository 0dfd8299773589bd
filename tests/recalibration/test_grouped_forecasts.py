"""Folds of many distinct forecasts group neighbours, which changes gains by far less than their noise."""

import numpy as np
import pytest
from scipy.special import expit

import propriety as pr
from propriety.recalibration import folds
from propriety.recalibration.folds import GROUPS, MOST_ROWS, WIDTH, grouped_tables, grouping_of
from propriety.tables.forecast_table import ForecastTable


def cases(n=20_000, centre=-1.0, seed=1):
    generator = np.random.default_rng(seed)
    x = generator.normal(centre, 1.8, n)
    return generator.random(n) < expit(x), expit(1.5 * x)


def test_few_forecasts_stay():
    table = ForecastTable.from_predictions(*cases(MOST_ROWS))
    assert grouping_of(table) is None
    assert grouped_tables([table]) == (table,)


def test_groups_hold_neighbours_and_keep_counts_and_the_mean_forecast():
    y, p = cases()
    p[:40], p[40:50], p[50:60] = expit(np.linspace(-40.0, -9.0, 40)), 0.0, 1.0
    table = ForecastTable.from_predictions(y, p)
    (grouped,) = grouped_tables([table])
    assert GROUPS < len(grouped) < GROUPS + 2 * 40 / WIDTH
    assert (grouped.n, grouped.n_events) == (table.n, table.n_events)
    assert grouped.mean_forecast == pytest.approx(table.mean_forecast, rel=1e-12)
    for certain in (0.0, 1.0):
        assert (grouped.forecast == certain).sum() == 1
        held = (one.weights[one.forecast == certain].sum() for one in (grouped, table))
        assert next(held) == next(held)
    moved = grouping_of(table).moved(table.forecast)
    inside = (table.forecast > 0.0) & (table.forecast < 1.0)
    odds = [np.log(one[inside] / (1.0 - one[inside])) for one in (moved, table.forecast)]
    away = np.abs(odds[0] - odds[1])
    assert np.isfinite(away).all()
    assert away.max() <= WIDTH + 1e-6


def test_folds_are_grouped_alike():
    y, p = cases()
    fold = np.arange(len(y)) % 4
    tables = [ForecastTable.from_predictions(y[fold == one], p[fold == one]) for one in range(4)]
    found = grouped_tables(tables)
    (whole,) = grouped_tables([ForecastTable.merge(tables)])
    merged = ForecastTable.merge(found)
    np.testing.assert_array_equal(merged.forecast, whole.forecast)
    np.testing.assert_array_equal(merged.events, whole.events)


@pytest.mark.parametrize("centre", [-1.0, -5.0])
@pytest.mark.parametrize("rule", [pr.Brier(), pr.Log(), pr.BoundedLog(low=0.05, high=0.2)], ids=lambda one: one.name)
def test_gains_and_maps_hardly_change(monkeypatch, rule, centre):
    y, p = cases(8000, centre)
    fold = np.arange(len(y)) % 5
    found = pr.recalibrate(y, p, folds=fold, rule=rule)
    monkeypatch.setattr(folds, "MOST_ROWS", len(y))
    exact = pr.recalibrate(y, p, folds=fold, rule=rule)
    assert found.verdict.gain == pytest.approx(exact.verdict.gain, abs=0.01 * exact.standard_error[-1])
    assert found.standard_error[-1] == pytest.approx(exact.standard_error[-1], rel=0.01)
    some = np.array([0.001, 0.01, 0.1, 0.5, 0.9])
    np.testing.assert_allclose(found(some), exact(some), rtol=2e-3)


def test_arrays_and_their_table_have_the_same_folds():
    y, p = cases(3000)
    one, other = (pr.recalibrate(*data) for data in ((y, p), (pr.condense(y, p),)))
    assert one.verdict == other.verdict


def test_weights_and_clusters_are_grouped_too(monkeypatch):
    y, p = cases(6000)
    given = {"sample_weight": 1.0 + np.arange(6000) % 3, "cluster": np.arange(6000) // 4}
    found = pr.recalibrate(y, p, **given)
    monkeypatch.setattr(folds, "MOST_ROWS", len(y))
    exact = pr.recalibrate(y, p, **given)
    assert found.verdict.gain == pytest.approx(exact.verdict.gain, abs=0.01 * exact.standard_error[-1])
    assert found.verdict.gain != exact.verdict.gain
