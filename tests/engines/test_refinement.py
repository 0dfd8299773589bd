"""A refined table has the blocks of the cases, in every field, whatever the data, the grid and the budget."""

import duckdb
import narwhals as nw
import numpy as np
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import propriety as pr
from propriety.calibration.blocks import pool_adjacent_violators
from propriety.errors import InputValueError
from propriety.tables import refinement
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.lazy_reading import read_lazy_cases
from propriety.tables.refinement import TableRows, wanted_rows

forecasts = st.one_of(
    st.integers(0, 40).map(lambda k: k / 40),  # Tied.
    st.floats(0, 1),
    st.floats(0.3, 0.3001),  # All in one cell of any grid here.
    st.sampled_from([0.0, 1.0, 0.5, np.nextafter(0.5, 0), np.nextafter(0.5, 1), 5e-324, np.nextafter(1, 0)]),
)
cases = st.lists(st.tuples(st.booleans(), forecasts), min_size=1, max_size=60)
grids = st.sampled_from([1, 2, 4, 16, 64])
budgets = st.integers(1, 40)


def blocks_of(table):
    """Return the fields of the blocks: smallest and largest forecast, events and non-events."""
    blocks = pool_adjacent_violators(table)
    ends = table.forecast[blocks.start[:-1]], table.forecast[blocks.start[1:] - 1]
    return [column.tolist() for column in (*ends, blocks.events, blocks.non_events)]


def frame_of(sample, weights=None):
    columns = {"y": [int(case[0]) for case in sample], "p": [case[1] for case in sample]}
    return pl.DataFrame(columns | ({} if weights is None else {"w": weights})).cast({"p": pl.Float64})


def refined(frame, **options):
    weight = "w" if "w" in frame.columns else None
    return ForecastTable.from_frame(frame.lazy(), outcome="y", forecast="p", weight=weight, **options)


@settings(max_examples=300)
@given(sample=cases, cells=grids, budget=budgets)
@example(sample=[(False, k / 64) for k in range(60)], cells=4, budget=1)
@example(sample=[(True, k / 64) for k in range(60)], cells=4, budget=1)
@example(sample=[(k % 2 == 0, k / 64) for k in range(60)], cells=16, budget=1)
@example(sample=[(k < 30, k / 64) for k in range(60)], cells=4, budget=1)
@example(sample=[(k >= 30, k / 64) for k in range(60)], cells=4, budget=1)
def test_the_blocks_are_those_of_the_cases(sample, cells, budget):
    frame = frame_of(sample)
    table = refined(frame, cells=cells, budget=budget)
    expected = ForecastTable.from_predictions(frame["y"], frame["p"])
    assert blocks_of(table) == blocks_of(expected)
    assert (table.n, table.weight, table.weight_squares) == (expected.n, expected.weight, expected.weight_squares)
    assert table.n_events == expected.n_events
    assert table.mean_forecast == pytest.approx(expected.mean_forecast, rel=1e-12, abs=1e-300)
    for found, whole in zip(blocks_of(table.grid(cells)), blocks_of(expected.grid(cells)), strict=True):
        np.testing.assert_allclose(found, whole, rtol=1e-12, atol=1e-300)
    if not table.refined:
        assert (table.cells, table.forecast.tolist()) == (None, expected.forecast.tolist())


@given(sample=cases, cells=grids, budget=budgets, data=st.data())
def test_whole_weights_change_nothing(sample, cells, budget, data):
    weights = data.draw(st.lists(st.integers(0, 5), min_size=len(sample), max_size=len(sample)).filter(any))
    frame = frame_of(sample, weights)
    table = refined(frame, cells=cells, budget=budget)
    expected = ForecastTable.from_predictions(frame["y"], frame["p"], sample_weight=frame["w"])
    assert blocks_of(table) == blocks_of(expected)
    assert (table.n, table.n_events) == (expected.n, expected.n_events)
    grid, whole = table.grid(cells), expected.grid(cells)
    for name in ("event_squares", "non_event_squares"):
        assert getattr(grid, name).tolist() == getattr(whole, name).tolist()
    np.testing.assert_allclose(grid.forecast, whole.forecast, rtol=1e-12, atol=1e-300)


@given(sample=cases, cells=grids, budget=budgets, data=st.data())
def test_with_float_weights_the_recalibrated_forecasts_are_those_of_the_cases(sample, cells, budget, data):
    weights = data.draw(st.lists(st.floats(0.01, 10), min_size=len(sample), max_size=len(sample)))
    frame = frame_of(sample, weights)
    table = refined(frame, cells=cells, budget=budget)
    expected = ForecastTable.from_predictions(frame["y"], frame["p"], sample_weight=frame["w"])
    exact = pool_adjacent_violators(expected).per_row()
    # Blocks whose rates differ by rounding error may be split in one and not in the other: the rates tell.
    blocks = pool_adjacent_violators(table)
    start = table.forecast[blocks.start[:-1]]
    rate = blocks.event_rate[np.maximum(np.searchsorted(start, expected.forecast, side="right") - 1, 0)]
    np.testing.assert_allclose(rate, exact, rtol=0, atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("shape", ["calibrated", "rare", "wavy", "skewed weights"])
def test_many_cases_on_coarse_grids(shape, seed):
    rng = np.random.default_rng(seed)
    p = rng.random(20_000) ** (6 if shape == "rare" else 1)
    rate = np.clip(p + 0.2 * np.sin(30 * p), 0, 1) if shape == "wavy" else p
    frame = pl.DataFrame({"y": (rng.random(len(p)) < rate).astype(int), "p": p})
    weight = None
    if shape == "skewed weights":
        weight = rng.integers(1, 1000, len(p))
        frame = frame.with_columns(w=weight)
    expected = ForecastTable.from_predictions(frame["y"], frame["p"], sample_weight=weight)
    for cells, budget in ((256, 5000), (4096, 2000), (64, 200)):
        table = refined(frame, cells=cells, budget=budget)
        assert table.refined
        assert len(table) < len(expected)
        assert blocks_of(table) == blocks_of(expected)


def test_the_curve_of_a_refined_table_is_exact():
    rng = np.random.default_rng(1)
    p = rng.random(10_000)
    frame = pl.DataFrame({"y": (rng.random(len(p)) < p).astype(int), "p": p})
    table, expected = refined(frame, cells=512, budget=1000), ForecastTable.from_predictions(frame["y"], frame["p"])
    assert table.refined
    curve, exact = pr.reliability_curve(table), pr.reliability_curve(expected)
    for name in ("forecast_min", "forecast_max", "event_rate", "weight"):
        assert getattr(curve, name).tolist() == getattr(exact, name).tolist()
    parts, whole = pr.decompose(table), pr.decompose(expected)
    assert parts.discrimination == pytest.approx(whole.discrimination, abs=1e-15)
    assert parts.miscalibration == pytest.approx(whole.miscalibration, abs=1 / 512)


def test_groups_are_refined_each_by_its_own_hull():
    rng = np.random.default_rng(2)
    p, groups = rng.random(12_000), rng.integers(0, 4, 12_000)
    frame = pl.DataFrame({"y": (rng.random(len(p)) < p ** (1 + groups)).astype(int), "p": p, "g": groups})
    frame = frame.with_columns(g=pl.when(pl.col("g") == 3).then(None).otherwise("g"), h=pl.col("g").cast(pl.Float64))
    expected = ForecastTable.from_frame(frame, outcome="y", forecast="p", by=["g", "h"])
    with duckdb.connect() as connection:
        for lazy in (frame.lazy(), connection.from_arrow(frame.to_arrow())):
            tables = ForecastTable.from_frame(lazy, outcome="y", forecast="p", by=["g", "h"], cells=512, budget=2000)
            assert list(tables) == list(expected)
            for group, table in tables.items():
                assert table.refined
                assert blocks_of(table) == blocks_of(expected[group])
        assert connection.sql("SHOW ALL TABLES").fetchall() == []


def test_rows_that_are_dropped_are_not_counted_again(lazy_engine):
    p = np.concatenate([np.linspace(0.0, 0.2, 201), np.full(40, 0.0), np.linspace(0.8, 1.0, 99)])
    y = (np.arange(len(p)) * 7 % 10 < 10 * p).astype(float)
    frame = pl.DataFrame({"y": y, "p": p}).with_columns(
        p=pl.when(pl.int_range(pl.len()) % 11 == 0).then(float("nan")).otherwise("p"),
        y=pl.when(pl.int_range(pl.len()) % 13 == 0).then(None).otherwise("y"),
    )
    columns = {"outcome": "y", "forecast": "p", "missing": "drop"}
    table = ForecastTable.from_frame(lazy_engine(frame), **columns, cells=4, budget=20)
    expected = ForecastTable.from_frame(frame, **columns)
    assert (table.n, table.dropped) == (expected.n, expected.dropped)
    assert table.refined
    assert blocks_of(table) == blocks_of(expected)


def test_a_cell_that_is_one_forecast_is_kept_as_it_is():
    frame = frame_of([(True, 0.3), (False, 0.3), (True, 0.9), (False, 0.0), (True, 1.0)])
    table = refined(frame, cells=4, budget=1)
    assert (table.cells, table.refined) == (None, False)
    assert table.forecast.tolist() == [0.0, 0.3, 0.9, 1.0]


def test_few_cases_are_fetched_in_whole():
    sample = [(k % 3 == 0, k / 999) for k in range(999)]
    assert refined(frame_of(sample), cells=8, budget=999).cells is None
    assert refined(frame_of(sample), cells=8, budget=500).refined


@pytest.mark.parametrize(("rows", "models", "cells"), [(99, 1, 16), (100, 1, 16), (101, 1, 32), (101, 3, 16)])
def test_more_rows_begin_with_more_cells(monkeypatch, rows, models, cells):
    levels = []
    counted = refinement.aggregate
    for name, value in {"MANY_ROWS": 100, "CELLS": 16, "MANY_CELLS": 32, "COARSEST": 0}.items():
        monkeypatch.setattr(refinement, name, value)
    monkeypatch.setattr(
        refinement, "aggregate", lambda *given, **how: levels.append(given[1]) or counted(*given, **how)
    )
    frame = frame_of([(k % 3 == 0, k / rows) for k in range(rows)])
    lazy = read_lazy_cases(nw.from_native(frame.lazy()), dict.fromkeys("abc"[:models], "p"), outcome="y")
    refinement.table_fields(lazy, budget=60)
    assert 2 ** levels[0] == cells
    levels.clear()
    refinement.table_fields(lazy, budget=60, exact=False)
    assert levels == [4]


def test_a_cell_whose_corner_is_below_the_hull_is_looked_into():
    columns = {"forecast": [0.1, 0.3, 0.5], "events": [0, 2, 4], "non_events": [4, 2, 0], "cases": [4, 4, 4]}
    rows = TableRows(
        **{name: np.array(v, dtype=float) for name, v in columns.items()}, level=np.full(3, 2, dtype=np.int8)
    )
    assert wanted_rows(rows).tolist() == [True, True, True]
    tripled = {name: np.repeat(np.array(v, dtype=float), 3) for name, v in columns.items()}
    pure = TableRows(**tripled, level=np.full(9, 2, dtype=np.int8))
    assert wanted_rows(pure).tolist() == [True, False, True, True, True, True, True, False, True]


def test_a_frame_that_changes_between_queries_is_refused(monkeypatch):
    frame = frame_of([(k % 2 == 0, k / 64) for k in range(60)])
    counted = refinement.aggregate
    monkeypatch.setattr(
        refinement,
        "aggregate",
        lambda *given, within=None, **how: [] if within else counted(*given, **how),
    )
    with pytest.raises(InputValueError, match="must return the same rows in every query"):
        refined(frame, cells=4, budget=1)


@pytest.mark.parametrize("budget", [0, -1, 1.5, True])
def test_a_budget_is_a_whole_number(budget):
    with pytest.raises(InputValueError, match="budget must be a positive whole number"):
        refined(frame_of([(True, 0.3)]), budget=budget)
    with pytest.raises(InputValueError, match="cells must be a power of two"):
        refined(frame_of([(True, 0.3)]), cells=10)


def test_refined_tables_are_added_as_plain_grids_only():
    sample = [(k % 3 == 0, k / 999) for k in range(999)]
    table = refined(frame_of(sample), cells=8, budget=50)
    with pytest.raises(InputValueError, match="refined tables are exact for their own cases only"):
        table + table
    assert (table.grid(8) + table.grid(8)).n == 2 * 999
    assert not table.grid(8).refined
    assert ForecastTable.merge([table]).refined


def test_a_refined_table_is_stored_as_such(tmp_path):
    sample = [(k % 3 == 0, k / 999) for k in range(999)]
    table = refined(frame_of(sample), cells=8, budget=50)
    assert "cells=8, refined=True" in repr(table)
    assert ForecastTable.from_dict(table.to_dict()).refined
    table.to_parquet(tmp_path / "table.parquet")
    again = ForecastTable.from_parquet(tmp_path / "table.parquet")
    assert again.refined
    assert blocks_of(again) == blocks_of(table)
    plain = ForecastTable.from_predictions([0, 1], [0.1, 0.4])
    assert "refined" not in plain.to_dict()
    with pytest.raises(InputValueError, match="refined must be False unless cells is given"):
        ForecastTable.from_dict(plain.to_dict() | {"refined": True})
