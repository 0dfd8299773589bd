"""The forecast table: made from anything, merged, rounded, stored, and always what it says it is."""

import copy
import json
import pickle

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import propriety as pr
from propriety.errors import InputTypeError, InputValueError
from propriety.tables.forecast_table import ForecastTable

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
    assert table.n_events == sum(event for event, _ in sample)
    assert not table.is_weighted


@given(sample=cases, data=st.data())
def test_the_weighted_table_adds_up_weights(sample, data):
    weights = data.draw(st.lists(st.integers(0, 3), min_size=len(sample), max_size=len(sample)).filter(any))
    table = table_of(sample, sample_weight=weights)
    assert as_dict(table) == by_hand(sample, weights)
    assert table.n == np.count_nonzero(weights)
    assert table.weight_squares == sum(w * w for w in weights)
    squares = by_hand(sample, [w * w for w in weights])
    assert table.event_squares.tolist() == [row[0] for row in squares.values()]
    assert table.non_event_squares.tolist() == [row[1] for row in squares.values()]
    assert table.n_events == sum(w > 0 and event for (event, _), w in zip(sample, weights, strict=True))
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
    assert ">0.4</td>" in table._repr_html_()


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
    "too many cases": ({"n": 5}, "n must be the sum of the counts, 4, .*; got 5"),
    "too many events": ({"n_events": 2}, "n_events must be the sum of the counts, 1, .*; got 2"),
    "no counts": ({"non_events": [0.5, 1]}, "non_events must hold whole numbers.*row 0 is 0.5.*event_squares"),
    "one column": ({"event_squares": [1, 0]}, "a table of weighted cases .*; it lacks non_event_squares, n, n_events"),
}
WHOLE = {"forecast": [0.2, 0.4], "events": [1, 0], "non_events": [1, 2]}
WEIGHTED = {
    "forecast": [0.2, 0.4],
    "events": [0.5, 0],
    "non_events": [1, 2.5],
    "event_squares": [0.25, 0],
    "non_event_squares": [1, 4.25],
    "n": 4,
    "n_events": 1,
}
UNEVEN = {
    "forecast": [0.1, 0.2, 0.3],
    "events": [1, 1, 1],
    "non_events": [0, 0, 5],
    "event_squares": [0.4, 0.4, 0.4],
    "non_event_squares": [0, 0, 25],
    "n_events": 3,
}
UNSOUND = {
    "no squares": ({"event_squares": [0.0, 0.0]}, "event_squares must be sums of squared weights .*; row 0 is 0.0 for"),
    "negative": ({"event_squares": [-0.25, 0.0]}, "event_squares must be sums of squared weights"),
    "not a number": ({"event_squares": [np.nan, 0.0]}, "squared weights .* finite sum; it is nan"),
    "infinite": ({"non_event_squares": [np.inf, 4.25]}, "squared weights .* finite sum; it is inf"),
    "of no weight": ({"event_squares": [0.25, 0.1]}, "event_squares must be sums .*; row 1 is 0.1 for a weight of 0.0"),
    "above": ({"non_event_squares": [1.0, 9.0]}, "non_event_squares must be sums .*; row 1 is 9.0 for a weight of 2.5"),
    "below": ({"non_event_squares": [1.0, 1.0]}, "row 1 is 1.0 for a weight of 2.5"),
    "of an outcome": (UNEVEN, "events cannot weigh 3 with squared weights that sum to 1.2, in n = 4 cases"),
    "of all": ({"non_event_squares": [0.34, 2.1]}, "n = 4 cases whose squared weights sum to 2.69 cannot weigh 4"),
    "length": ({"event_squares": [0.25]}, "must be as long as forecast, 2 rows; lengths are 1 and 2"),
    "no event": ({"n_events": 0}, "0 cases cannot fill 1 rows with a positive weight in events"),
    "no non-event": ({"n_events": 4}, "0 cases cannot fill 2 rows with a positive weight in non_events"),
    "more events than cases": ({"n_events": 5}, "n_events must not exceed n; got 5 of 4 cases"),
    "no number of events": ({"n_events": None}, "a table of weighted cases .*; it lacks n_events"),
}


@pytest.mark.parametrize(("fault", "message"), UNSOUND.values(), ids=UNSOUND)
def test_weights_that_no_cases_have_are_refused(fault, message):
    assert ForecastTable(**WEIGHTED).is_weighted
    with pytest.raises(InputValueError, match=message):
        ForecastTable(**(WEIGHTED | fault))


def test_counts_alone_make_an_unweighted_table():
    table = ForecastTable(**WHOLE)
    assert (table.n, table.n_events, table.weight_squares, table.is_weighted) == (4, 1, 4.0, False)
    assert table.event_squares is table.events
    assert table.non_event_squares is table.non_events
    ones = ForecastTable.from_predictions([0, 1, 1], [0.2, 0.4, 0.4], sample_weight=[1.0, 1.0, 1.0])
    assert not ones.is_weighted
    assert ones.event_squares is ones.events


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
    with pytest.raises(InputValueError, match="must have version 1; got 3"):
        ForecastTable.from_dict(stored | {"version": 3})
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


weighted_cases = st.lists(
    st.tuples(st.booleans(), st.one_of(st.integers(0, 8).map(lambda k: k / 8), st.floats(0, 1)), st.floats(0.01, 10)),
    min_size=1,
    max_size=40,
)


def weighted_table(sample):
    return table_of(sample, sample_weight=[case[2] for case in sample])


def same_table(one, other, rtol=1e-12):
    for name in ("forecast", "events", "non_events", "event_squares", "non_event_squares"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=rtol, atol=1e-300, err_msg=name)
    assert (one.n, one.n_events, one.cells) == (other.n, other.n_events, other.cells)


@given(sample=cases, power=st.integers(0, 6))
def test_the_grid_keeps_every_case_and_moves_it_less_than_a_cell(sample, power):
    table = table_of(sample)
    grid = table.grid(2**power)
    assert (grid.n, grid.weight, grid.event_rate) == (table.n, table.weight, table.event_rate)
    assert len(grid) <= 2**power + 2
    assert grid.mean_forecast == pytest.approx(table.mean_forecast, rel=1e-12)
    same_table(grid.grid(1), table.grid(1))


@given(sample=weighted_cases, power=st.integers(0, 52))
def test_the_forecast_of_a_cell_is_the_mean_of_its_cases_and_lies_in_it(sample, power):
    table = weighted_table(sample)
    grid, cells = table.grid(2**power), 2**power
    inner = (grid.forecast > 0) & (grid.forecast < 1)
    number = np.floor(grid.forecast * cells)
    assert (np.diff(number[inner]) > 0).all()
    for row in np.flatnonzero(inner):
        own = [(p, w) for _, p, w in sample if 0 < p < 1 and np.floor(p * cells) == number[row]]
        mean = sum(p * w for p, w in own) / sum(w for _, w in own)
        assert grid.forecast[row] == pytest.approx(mean, rel=1e-12, abs=1e-300)
    assert (0.0 in grid.forecast, 1.0 in grid.forecast) == (0.0 in table.forecast, 1.0 in table.forecast)
    assert grid.mean_forecast == pytest.approx(table.mean_forecast, rel=1e-12, abs=1e-300)


def test_a_mean_never_leaves_its_cell_nor_becomes_certain():
    below_one, tiny = np.nextafter(1.0, 0.0), 5e-324
    table = ForecastTable.from_predictions(
        [0, 1, 1, 0, 1, 1], [0.0, tiny, tiny, below_one, below_one, 1.0], sample_weight=[1, 0.1, 0.2, 0.1, 0.7, 1]
    )
    for cells in (1, 4, 2**52):
        assert table.grid(cells).forecast.tolist()[0] == 0.0
        assert table.grid(cells).forecast.tolist()[-1] == 1.0
        assert len(table.grid(cells)) == (3 if cells == 1 else 4)
    assert table.grid(4).forecast.tolist() == [0.0, tiny, below_one, 1.0]
    edge = np.nextafter(0.5, 0.0)
    crowded = ForecastTable.from_predictions([0, 1, 0, 1], [edge, edge, edge, 0.5], sample_weight=[0.1, 0.3, 0.7, 1])
    assert crowded.grid(2).forecast.tolist() == [edge, 0.5]


def test_cases_without_weight_do_not_count_in_the_mean_of_a_cell():
    table = ForecastTable.from_predictions([0, 1, 1], [0.1, 0.2, 0.15], sample_weight=[1, 0, 3])
    assert table.grid(4).forecast[0] == pytest.approx((0.1 + 3 * 0.15) / 4, rel=1e-15)


@given(sample=weighted_cases, other=weighted_cases, power=st.integers(0, 12))
def test_grids_add(sample, other, power):
    for table in (table_of, weighted_table):
        a, b, both = table(sample), table(other), table(sample + other)
        same_table(a.grid(2**power) + b.grid(2**power), both.grid(2**power))
        same_table((a + b).grid(2**power), both.grid(2**power))


@given(sample=weighted_cases, power=st.integers(0, 12))
def test_the_grid_keeps_observed_over_expected(sample, power):
    for table in (table_of(sample), weighted_table(sample)):
        if table.mean_forecast > 0:
            ratios = [one.event_rate / one.mean_forecast for one in (table, table.grid(2**power))]
            assert ratios[1] == pytest.approx(ratios[0], rel=1e-12)


def test_the_grid_invents_no_miscalibration_of_rare_events():
    rng = np.random.default_rng(3)
    p = rng.beta(0.3, 300, 200_000)
    table = ForecastTable.from_predictions(rng.random(len(p)) < p, p)
    exact, grid = (pr.check_calibration(pr.Ledger.of_tables({"p": one})) for one in (table, table.grid()))
    for name, within in (("value", 1e-12), ("low", 1e-4), ("high", 1e-4)):
        assert getattr(grid[1], name) == pytest.approx(getattr(exact[1], name), rel=within)


def test_copies_and_pickles_are_the_table_and_cannot_be_changed():
    weighted = ForecastTable(**WEIGHTED)
    for table in (ForecastTable(**WHOLE), weighted, weighted.grid(8)):
        for again in (pickle.loads(pickle.dumps(table)), copy.copy(table), copy.deepcopy(table)):
            assert again.to_dict() == table.to_dict()
            assert again.is_weighted == table.is_weighted
            for name in ("forecast", "events", "non_events", "event_squares", "non_event_squares"):
                assert not getattr(again, name).flags.writeable


@pytest.mark.parametrize("lazy", ["polars", "duckdb"])
@pytest.mark.parametrize("by", [None, "site"])
def test_events_are_counted_beside_their_weights(lazy, by):
    rng = np.random.default_rng(4)
    p = rng.random(500) ** 2
    y = rng.random(500) < p
    frame = pl.DataFrame(
        {"y": y, "p": p, "w": np.where(y, 0.02, 1.0) * rng.integers(0, 3, 500), "site": rng.choice(["a", "b"], 500)}
    )
    given = frame.lazy() if lazy == "polars" else duckdb.from_arrow(frame.to_arrow())
    columns = {"outcome": "y", "forecast": "p", "weight": "w", "by": by}
    found, expected = (ForecastTable.from_frame(one, **columns) for one in (given, frame))
    found, expected = ({None: found}, {None: expected}) if by is None else (found, expected)
    for group, table in found.items():
        own = frame if group is None else frame.filter(pl.col("site") == group)
        assert table.n_events == len(own.filter(pl.col("y") & (pl.col("w") > 0)))
        same_table(table, expected[group])
    grid = ForecastTable.from_frame(given, **(columns | {"by": None}), exact=False, cells=64)
    same_table(grid, ForecastTable.from_frame(frame, **(columns | {"by": None})).grid(64))


def test_certainties_stay_certain_on_the_grid():
    assert ForecastTable.from_predictions([0, 1, 1], [0.0, 1e-9, 1.0]).grid(2).forecast.tolist() == [0.0, 1e-9, 1.0]


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
    with pytest.raises(InputValueError, match=r"must be the forecast of one event, of shape .*; got shape \(2, 3\)"):
        ForecastTable.from_predictions([0, 1], [[0.5, 0.5, 0.0], [0.2, 0.8, 0.0]])


def test_tables_of_classes_and_cut_points():
    y, rows = ["low", "high", "mid"], [[0.5, 0.25, 0.25], [0.25, 0.25, 0.5], [0.25, 0.25, 0.5]]
    labels = ["low", "mid", "high"]
    classes = pr.condense(y, rows, labels=labels).tables()
    assert {label: table.events.sum() for label, table in classes.items()} == {"low": 1, "mid": 1, "high": 1}
    cuts = pr.condense(y, rows, labels=labels, ordered=True).tables()
    assert list(cuts) == ["low", "mid"]
    assert as_dict(cuts["mid"]) == {0.5: (1.0, 1.0), 0.75: (1.0, 0.0)}


def test_the_noise_of_cumulative_sums_does_not_split_ties():
    rows = [[0.1, 0.2, 0.7], [0.3, 0.0, 0.7], [0.15, 0.15, 0.7]]
    assert len(set(np.cumsum(rows, axis=1)[:, 1])) > 1
    assert len(pr.condense([0, 1, 2], rows, ordered=True).tables()[1]) == 1
    over = [[0.6, 0.4000004, 0.0]]
    assert pr.condense([0], over, ordered=True).tables()[1].forecast.tolist() == [1.0]


def test_scores_of_a_table_take_nothing_beside_it():
    table = ForecastTable.from_predictions([0, 1], [0.1, 0.4])
    assert pr.brier_score(table) == pytest.approx((0.01 + 0.36) / 2)
    with pytest.raises(InputTypeError, match="pass it without y_proba"):
        pr.brier_score(table, [0.1, 0.4])
    assert pr.mean_score(table, rule=pr.RankedProbability()) == pytest.approx((0.01 + 0.36) / 2)
