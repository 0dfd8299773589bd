"""The forecast table: made from anything, merged, rounded, stored, and always what it says it is."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import propriety as pr
from propriety import ForecastTable
from propriety.errors import InputTypeError, InputValueError

cases = st.lists(
    st.tuples(st.booleans(), st.one_of(st.integers(0, 8).map(lambda k: k / 8), st.floats(0, 1))),
    min_size=1,
    max_size=40,
)


def table_of(sample, **options):
    return ForecastTable.from_predictions([case[0] for case in sample], [case[1] for case in sample], **options)


def by_hand(sample, weights=None):
    """Return the table as a dict, counted one case at a time."""
    counts = {}
    for (event, forecast), weight in zip(sample, weights or [1] * len(sample), strict=True):
        row = counts.setdefault(forecast + 0.0, [0.0, 0.0])
        row[0 if event else 1] += weight
    return {forecast: tuple(row) for forecast, row in sorted(counts.items()) if any(row)}


def as_dict(table):
    return dict(
        zip(table.forecast.tolist(), zip(table.events.tolist(), table.non_events.tolist(), strict=True), strict=True)
    )


@given(sample=cases)
def test_the_table_counts_events_and_non_events_of_each_distinct_forecast(sample):
    table = table_of(sample)
    assert as_dict(table) == by_hand(sample)
    assert table.n == table.weight == table.weight_squares == len(sample)
    assert not table.is_weighted


@given(sample=cases, data=st.data())
def test_the_weighted_table_adds_up_weights(sample, data):
    weights = data.draw(st.lists(st.integers(0, 3), min_size=len(sample), max_size=len(sample)).filter(any))
    table = table_of(sample, sample_weight=weights)
    assert as_dict(table) == by_hand(sample, weights)
    assert table.n == np.count_nonzero(weights)
    assert table.weight_squares == sum(w * w for w in weights)
    assert table.is_weighted == (set(weights) - {0} != {1})


@given(a=cases, b=cases)
def test_the_sum_of_tables_is_the_table_of_the_union(a, b):
    both = table_of(a) + table_of(b)
    assert as_dict(both) == as_dict(table_of(a + b))
    assert both.n == len(a) + len(b)
    assert as_dict(sum([table_of(a), table_of(b)])) == as_dict(both)


@given(sample=cases, seed=st.integers(0, 99))
def test_neither_order_nor_partition_matters(sample, seed):
    rng = np.random.default_rng(seed)
    shuffled = [sample[i] for i in rng.permutation(len(sample))]
    cut = int(rng.integers(0, len(sample) + 1))
    parts = [table_of(part) for part in (shuffled[:cut], shuffled[cut:]) if part]
    assert as_dict(sum(parts)) == as_dict(table_of(sample))


@pytest.mark.parametrize("decimals", [1, 3, 6, 17])
def test_large_tables_are_counted_across_chunks(decimals):
    rng = np.random.default_rng(decimals)
    p = np.round(rng.random(200_000), decimals)
    y = rng.random(len(p)) < p
    table = ForecastTable.from_predictions(y, p)
    forecast, inverse = np.unique(p, return_inverse=True)
    np.testing.assert_array_equal(table.forecast, forecast)
    np.testing.assert_array_equal(table.events, np.bincount(inverse, weights=y))
    np.testing.assert_array_equal(table.non_events, np.bincount(inverse, weights=~y))


def test_one_run_longer_than_several_chunks():
    y = np.arange(100_000) % 4 == 0
    table = ForecastTable.from_predictions(y, np.full(len(y), 0.25))
    assert as_dict(table) == {0.25: (25_000.0, 75_000.0)}


def test_negative_zero_is_zero():
    table = ForecastTable.from_predictions([0, 1], [-0.0, 0.0])
    assert as_dict(table) == {0.0: (1.0, 1.0)}
    weighted = ForecastTable.from_predictions([0, 1], [-0.0, 0.0], sample_weight=[1.0, 2.0])
    assert as_dict(weighted) == {0.0: (2.0, 1.0)}
    assert not np.signbit(weighted.forecast[0])


def test_forecasts_that_differ_in_the_last_bit_stay_apart():
    p = np.array([0.3, np.nextafter(0.3, 1), 5e-324, 1.0, np.nextafter(1, 0)])
    assert ForecastTable.from_predictions([0, 1, 0, 1, 0], p).forecast.tolist() == sorted(p)


def test_what_a_table_tells():
    table = ForecastTable.from_predictions([0, 0, 1, 1], [0.1, 0.4, 0.4, 0.8], sample_weight=[1, 1, 2, 1])
    assert len(table) == 3
    assert table.weights.tolist() == [1, 3, 1]
    assert table.event_rates.tolist() == [0, 2 / 3, 1]
    assert table.event_rate == 3 / 5
    assert table.mean_forecast == pytest.approx((0.1 + 3 * 0.4 + 0.8) / 5)
    assert table.effective_n == 25 / 7
    assert repr(table) == "ForecastTable(rows=3, n=4, weight=5, event_rate=0.6)"
    assert "<td>0.4</td>" in table._repr_html_()


def test_a_table_cannot_be_changed():
    table = ForecastTable.from_predictions([0, 1], [0.1, 0.4])
    with pytest.raises(ValueError, match="read-only"):
        table.events[0] = 5
    with pytest.raises(AttributeError):
        table.n = 3


BROKEN = {
    "falling": ({"forecast": [0.4, 0.2]}, "strictly increasing; row 1 does not exceed row 0"),
    "tied": ({"forecast": [0.4, 0.4]}, "strictly increasing"),
    "above one": ({"forecast": [0.4, 1.2]}, r"must lie in \[0, 1\]"),
    "below zero": ({"forecast": [-0.1, 0.2]}, r"must lie in \[0, 1\]"),
    "nan": ({"forecast": [0.1, float("nan")]}, r"must lie in \[0, 1\]"),
    "negative": ({"events": [1, -1]}, "events must be finite and not negative; row 1 is -1.0"),
    "infinite": ({"non_events": [np.inf, 1]}, "non_events must be finite and not negative; row 0 is inf"),
    "lengths": ({"events": [1]}, "equally long; lengths are 2, 1 and 2"),
    "no weight": ({"events": [0, 0], "non_events": [0, 0]}, "weights are all zero"),
    "empty": ({"forecast": [], "events": [], "non_events": []}, "it is empty"),
    "no cases": ({"n": 0}, "n must be a whole number of at least 1"),
    "no squares": ({"weight_squares": 0.0}, "weight_squares must be positive"),
}
WHOLE = {"forecast": [0.2, 0.4], "events": [1, 0], "non_events": [1, 2], "n": 4, "weight_squares": 4.0}


@pytest.mark.parametrize(("fault", "message"), BROKEN.values(), ids=BROKEN)
def test_what_is_no_table_is_refused(fault, message):
    with pytest.raises(InputValueError, match=message):
        ForecastTable(**{name: np.array(v) if isinstance(v, list) else v for name, v in (WHOLE | fault).items()})


def test_columns_must_be_numbers():
    with pytest.raises(InputTypeError, match="events must be a 1-D array of real numbers"):
        ForecastTable(**(WHOLE | {"events": np.array(["a", "b"])}))


def test_rows_without_weight_are_dropped():
    table = ForecastTable(**(WHOLE | {"events": np.array([0, 1]), "non_events": np.array([0, 2])}))
    assert as_dict(table) == {0.4: (1.0, 2.0)}


@given(sample=cases)
def test_a_stored_table_comes_back_whole(sample):
    table = table_of(sample)
    again = ForecastTable.from_dict(json.loads(json.dumps(table.to_dict())))
    assert as_dict(again) == as_dict(table)
    assert (again.n, again.weight_squares, again.dropped) == (table.n, table.weight_squares, table.dropped)


def test_a_table_survives_parquet(tmp_path):
    table = ForecastTable.from_predictions([0, 1, None], [0.1, 0.4, 0.5], missing="drop").grid(64)
    table.to_parquet(tmp_path / "table.parquet")
    again = ForecastTable.from_parquet(tmp_path / "table.parquet")
    assert again.to_dict() == table.to_dict()
    assert (again.dropped, again.cells) == (1, 64)


def test_a_strange_file_or_dict_is_refused(tmp_path):
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "other.parquet")
    with pytest.raises(InputValueError, match="that propriety wrote"):
        ForecastTable.from_parquet(tmp_path / "other.parquet")
    stored = ForecastTable.from_predictions([0, 1], [0.1, 0.4]).to_dict()
    with pytest.raises(InputValueError, match=r"must be a stored propriety\.forecast_table; got 'other'"):
        ForecastTable.from_dict(stored | {"schema": "other"})
    with pytest.raises(InputValueError, match="must have version 1; got 2"):
        ForecastTable.from_dict(stored | {"version": 2})
    with pytest.raises(InputValueError, match=r"must have the fields .*; it lacks \['n'\]"):
        ForecastTable.from_dict({name: value for name, value in stored.items() if name != "n"})
    with pytest.raises(InputValueError, match=r"it has \['extra'\] too"):
        ForecastTable.from_dict(stored | {"extra": 1})


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_the_table_as_a_frame(backend):
    frame = ForecastTable.from_predictions([0, 1], [0.1, 0.4]).to_frame(backend=backend)
    assert type(frame).__module__.split(".")[0] == backend
    assert pl.DataFrame(frame).to_dict(as_series=False) == {
        "forecast": [0.1, 0.4],
        "events": [0.0, 1.0],
        "non_events": [1.0, 0.0],
    }


@given(sample=cases, power=st.integers(0, 6))
def test_the_grid_keeps_every_case_and_moves_it_less_than_a_cell(sample, power):
    table = table_of(sample)
    grid = table.grid(2**power)
    assert (grid.n, grid.weight, grid.event_rate) == (table.n, table.weight, table.event_rate)
    assert len(grid) <= 2**power + 2
    assert abs(grid.mean_forecast - table.mean_forecast) <= 0.5 / 2**power + 1e-12
    assert as_dict(grid.grid(1)) == as_dict(table.grid(1))


@given(a=cases, b=cases)
def test_grids_add(a, b):
    assert as_dict(table_of(a).grid(16) + table_of(b).grid(16)) == as_dict(table_of(a + b).grid(16))


def test_certainties_stay_certain_on_the_grid():
    assert ForecastTable.from_predictions([0, 1, 1], [0.0, 1e-9, 1.0]).grid(2).forecast.tolist() == [0.0, 0.25, 1.0]


def test_what_the_grid_refuses():
    table = ForecastTable.from_predictions([0, 1], [0.1, 0.4])
    with pytest.raises(InputValueError, match=r"power of two up to 2\*\*52; got 10"):
        table.grid(10)
    with pytest.raises(InputValueError, match="only be made coarser"):
        table.grid(4).grid(8)
    with pytest.raises(InputValueError, match=r"same grid .*4.*None"):
        table.grid(4) + table
    with pytest.raises(TypeError):
        table + 1


@pytest.mark.parametrize("frame_of", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "pyarrow"])
def test_a_table_from_columns_of_a_frame(frame_of):
    columns = {"y": [0, 1, 1, 0], "p": [0.1, 0.4, 0.9, 0.4], "w": [1.0, 2.0, 1.0, 1.0], "site": ["a", "a", "b", "b"]}
    frame = frame_of(columns)
    table = ForecastTable.from_frame(frame, outcome="y", forecast="p", weight="w")
    assert as_dict(table) == {0.1: (0.0, 1.0), 0.4: (2.0, 1.0), 0.9: (1.0, 0.0)}
    sites = ForecastTable.from_frame(frame, outcome="y", forecast="p", weight="w", by="site")
    assert set(sites) == {"a", "b"}
    assert as_dict(sum(sites.values())) == as_dict(table)
    pairs = ForecastTable.from_frame(frame, outcome="y", forecast="p", by=["site", "y"])
    assert set(pairs) == {("a", 0), ("a", 1), ("b", 0), ("b", 1)}


def test_what_a_frame_must_have():
    frame = pl.DataFrame({"y": [0, 1], "p": [0.1, 0.4]})
    with pytest.raises(InputValueError, match=r"it lacks \['q'\].*its columns are \['y', 'p'\]"):
        ForecastTable.from_frame(frame, outcome="y", forecast="q")
    with pytest.raises(InputValueError, match=r"it lacks \['q'\].*its columns are \['y', 'p'\]"):
        ForecastTable.from_frame(frame.lazy(), outcome="y", forecast="q")
    with pytest.raises(InputTypeError, match="must be a data frame that narwhals knows; got dict"):
        ForecastTable.from_frame({"y": [0]}, outcome="y", forecast="p")


def test_a_table_is_of_one_event():
    with pytest.raises(InputValueError, match=r"must be 1-D, the probability of one event; got shape \(2, 2\)"):
        ForecastTable.from_predictions([0, 1], [[0.5, 0.5], [0.2, 0.8]])
    with pytest.raises(InputValueError, match="one column per class"):
        ForecastTable.per_class([0, 1], [0.5, 0.2])


def test_tables_of_classes_and_cut_points():
    y, rows = ["low", "high", "mid"], [[0.5, 0.25, 0.25], [0.25, 0.25, 0.5], [0.25, 0.25, 0.5]]
    labels = ["low", "mid", "high"]
    classes = ForecastTable.per_class(y, rows, labels=labels)
    assert {label: table.events.sum() for label, table in classes.items()} == {"low": 1, "mid": 1, "high": 1}
    cuts = ForecastTable.per_cut_point(y, rows, labels=labels)
    assert list(cuts) == ["low", "mid"]
    assert as_dict(cuts["mid"]) == {0.5: (1.0, 1.0), 0.75: (1.0, 0.0)}


def test_the_noise_of_cumulative_sums_does_not_split_ties():
    rows = [[0.1, 0.2, 0.7], [0.3, 0.0, 0.7], [0.15, 0.15, 0.7]]
    assert len(set(np.cumsum(rows, axis=1)[:, 1])) > 1
    assert len(ForecastTable.per_cut_point([0, 1, 2], rows)[1]) == 1
    over = [[0.6, 0.4000004, 0.0]]
    assert ForecastTable.per_cut_point([0], over)[1].forecast.tolist() == [1.0]


def test_scores_of_a_table_take_nothing_beside_it():
    table = ForecastTable.from_predictions([0, 1], [0.1, 0.4])
    assert pr.brier_score(table) == pytest.approx((0.01 + 0.36) / 2)
    with pytest.raises(InputTypeError, match="pass no y_proba beside it"):
        pr.brier_score(table, [0.1, 0.4])
    with pytest.raises(InputValueError, match="rows with one column per class; got the forecast of one event"):
        pr.mean_score(table, rule=pr.RankedProbability())
