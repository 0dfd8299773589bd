"""Cases in lazy frames: what is read, counted by any of the keys, and collected in an order of its own."""

import datetime as dt

import duckdb
import narwhals as nw
import numpy as np
import polars as pl
import pytest

import propriety as pr
from propriety.errors import InputTypeError, InputValueError
from propriety.tables.events import TOP, Event, events_of
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.lazy_reading import read_lazy_cases
from propriety.tables.refinement import table_fields
from propriety.tables.validation import read_cases

N = 300
RNG = np.random.default_rng(5)
P = np.round(RNG.beta(1, 3, N), 1)
ROWS = np.round(RNG.dirichlet([1, 2, 1], N), 1)
ROWS[:, 2] = np.maximum(1.0 - ROWS[:, 0] - ROWS[:, 1], 0.0)
GRADE = RNG.integers(0, 3, N)
FRAME = pl.DataFrame(
    {
        "y": (RNG.random(N) < P).astype(int),
        "a": P,
        "b": np.round(RNG.random(N), 1),
        "word": np.array(["low", "mid", "high"])[GRADE],
        **{f"r{place}": ROWS[:, place] for place in range(3)},
        "w": RNG.integers(0, 3, N).astype(float),
        "site": RNG.choice(["south", "north"], N),
        "age": RNG.choice([7, 30, 4], N),
        "ward": pl.Series(RNG.integers(0, 9, N)).replace(0, None),
        "day": pl.Series(RNG.integers(0, 40, N)).cast(pl.Int32).cast(pl.Date),
    }
)
MODELS = {"first": "a", "second": "b"}
KEYED = {"outcome": "y", "weight": "w", "by": ["site", "age"], "cluster": "ward", "period": "day"}
CLASSES = {"outcome": "word", "labels": ["low", "mid", "high"]}


@pytest.fixture(params=["polars", "duckdb"])
def lazy(request):
    """Return a function that hands a Polars frame to an engine."""
    if request.param == "polars":
        return lambda frame: nw.from_native(frame.lazy())
    return lambda frame: nw.from_native(duckdb.from_arrow(frame.to_arrow()))


def rows_of(columns):
    """Return the cases of collected columns as a list of tuples, in their order."""
    parts = [columns.outcome.tolist(), *(column.tolist() for column in columns.forecasts.values())]
    parts += [column for column in (columns.cluster, columns.period, *columns.keys.values()) if column is not None]
    parts += [] if columns.weight is None else [columns.weight.tolist()]
    return list(zip(*parts, strict=True))


def test_collected_cases_are_those_of_the_frame(lazy):
    found = read_lazy_cases(lazy(FRAME), MODELS, **KEYED).collected()
    expected = FRAME.select("y", "a", "b", "ward", "day", "site", "age", "w").rows()
    assert sorted(rows_of(found), key=repr) == sorted(expected, key=repr)
    assert (found.outcome.dtype, list(found.keys)) == (np.int64, ["site", "age"])
    assert isinstance(found.period[0], dt.date)
    assert None in found.cluster


def test_the_order_of_collected_cases_is_their_own(lazy):
    for forecasts, options in ((MODELS, KEYED), ({"m": ["r0", "r1", "r2"]}, CLASSES | {"cluster": "ward"})):
        whole, *others = (
            rows_of(read_lazy_cases(lazy(frame), forecasts, **options).collected())
            for frame in (FRAME, FRAME.reverse(), FRAME.sample(fraction=1.0, shuffle=True, seed=8))
        )
        assert all(other == whole for other in others)


def test_collected_cases_are_ordered_by_their_columns(lazy):
    found = read_lazy_cases(lazy(FRAME), MODELS, outcome="y", by="age").collected()
    assert rows_of(found) == sorted(zip(*FRAME.select("y", "a", "b", "age"), strict=True))
    assert (found.weight, found.cluster, found.period) == (None, None, None)


def test_collected_classes_are_places_and_rows(lazy):
    cases = read_lazy_cases(lazy(FRAME), {"m": ["r0", "r1", "r2"]}, **CLASSES, ordered=True, weight="w")
    found = cases.collected()
    assert found.forecasts["m"].shape == (N, 3)
    for rule in (pr.Brier(), pr.RankedProbability()):
        collected = pr.mean_score(found.outcome, found.forecasts["m"], rule=rule, sample_weight=found.weight)
        expected = pr.mean_score(FRAME["word"], ROWS, rule=rule, sample_weight=FRAME["w"], labels=CLASSES["labels"])
        assert float(collected) == pytest.approx(float(expected), rel=1e-14)


def test_rows_with_missing_values_are_not_collected(lazy):
    holes = FRAME.with_columns(
        a=pl.when(pl.int_range(N) < 7).then(None).otherwise("a"),
        b=pl.when(pl.int_range(N) == 9).then(float("nan")).otherwise("b"),
    )
    found = read_lazy_cases(lazy(holes), MODELS, outcome="y", missing="drop").collected()
    kept = FRAME.filter((pl.int_range(N) >= 7) & (pl.int_range(N) != 9))
    assert rows_of(found) == sorted(kept.select("y", "a", "b").rows())


def test_signs_of_zero_do_not_matter(lazy):
    zeros = pl.DataFrame({"y": [0, 1, 0, 0], "p": [-0.0, 0.5, 0.0, -0.0]})
    found = read_lazy_cases(lazy(zeros), {"m": "p"}, outcome="y").collected()
    assert np.signbit(found.forecasts["m"]).tolist() == [False] * 4


def test_more_cases_than_the_budget_are_refused(lazy):
    cases = read_lazy_cases(lazy(FRAME), MODELS, outcome="y")
    assert len(cases.collected(budget=900).outcome) == N
    with pytest.raises(
        InputValueError,
        match=r"no more than 299 rows .* \(300 rows of 3 columns\). Hint: pass a sample .* of at least 900 values",
    ):
        cases.collected(budget=899)
    with pytest.raises(InputValueError, match="budget must be a positive whole number"):
        cases.collected(budget=0)


def test_an_empty_frame_is_collected_as_such(lazy):
    found = read_lazy_cases(lazy(FRAME.head(0)), MODELS, outcome="y", by="site").collected()
    assert (len(found.outcome), found.keys) == (0, {"site": []})


@pytest.mark.parametrize("keys", [[], ["age"], ["site"], ["age", "site"]], ids=str)
def test_tables_are_counted_by_any_of_the_keys(lazy, keys):
    cases = read_lazy_cases(lazy(FRAME), MODELS, **KEYED)
    found = table_fields(cases, keys=keys)
    groups = FRAME.partition_by(keys, as_dict=True) if keys else {(): FRAME}
    assert {table.group for table in found} == set(groups)
    assert [table.model for table in found] == sorted(table.model for table in found)
    for (model, event, group), given in found.items():
        own = groups[group]
        expected = ForecastTable.from_predictions(own["y"], own["ab"[model]], sample_weight=own["w"])
        assert event == Event("event")
        assert ForecastTable(**given).to_dict() == expected.to_dict()


def test_classes_and_cut_points_are_counted_by_key(lazy):
    cases = read_lazy_cases(lazy(FRAME), {"m": ["r0", "r1", "r2"]}, **CLASSES, ordered=True, by="site")
    found = table_fields(cases, keys=["site"])
    assert [event for _, event, group in found if group == ("north",)] == list(events_of(3, ordered=True))
    own = FRAME.filter(pl.col("site") == "north")
    options = {"labels": CLASSES["labels"]}
    rows = own.select("r0", "r1", "r2").to_numpy()
    for kind in ("class", "cut"):
        for place, read in enumerate(read_cases(own["word"], rows, **options).events(kind)):
            table = ForecastTable(**found[0, Event(kind, place), ("north",)])
            assert table.to_dict() == ForecastTable.from_cases(read).to_dict()


def test_a_refined_table_is_asked_for_no_cells_of_the_others(lazy):
    continuous = pl.DataFrame({"y": FRAME["y"], "a": RNG.random(N), "b": FRAME["b"]})
    cases = read_lazy_cases(lazy(continuous), MODELS, outcome="y")
    fine, plain = (ForecastTable(**given) for given in table_fields(cases, budget=40, cells=64).values())
    assert fine.refined
    assert plain.to_dict() == ForecastTable.from_predictions(FRAME["y"], FRAME["b"]).to_dict()


def test_an_empty_frame_is_refused_for_any_number_of_models(lazy):
    for models in ({"first": "a"}, MODELS):
        with pytest.raises(InputValueError, match="must hold at least one case; both are empty"):
            table_fields(read_lazy_cases(lazy(FRAME.head(0)), models, outcome="y"))


@pytest.mark.parametrize(
    ("forecasts", "options", "error", "told"),
    [
        (
            {"a": ["r0", "r1", "r2"], "b": ["r0", "r1"]},
            {},
            InputValueError,
            "'a' forecasts 3 classes and 'b' one event",
        ),
        ({}, {}, InputTypeError, "forecasts must name columns"),
        ({"a": []}, {}, InputTypeError, "forecasts must name columns"),
        (MODELS, {"ordered": True}, InputValueError, "ordered belongs to three or more classes"),
        (MODELS, {"by": ["site", "site"]}, InputValueError, "by must name each column once; 'site' is named again"),
        (MODELS, {"missing": "skip"}, InputValueError, 'missing must be one of "raise", "drop"'),
        (MODELS, {"cluster": "nobody"}, InputValueError, r"it lacks \['nobody'\]"),
        ({"a": ["r0", "r1"]}, {"labels": [None, "b"]}, InputValueError, "y_true must hold labels of the same type"),
        ({"a": ["r0", "r1", "r2"]}, {"pos_label": 1}, InputValueError, "pos_label belongs to a binary outcome"),
    ],
    ids=str,
)
def test_what_cannot_be_read_is_refused(forecasts, options, error, told):
    with pytest.raises(error, match=told):
        read_lazy_cases(nw.from_native(FRAME.lazy()), forecasts, outcome="y", **options)


@pytest.mark.parametrize(("first", "kind"), [(2**53, pl.Int64), (-(2**63), pl.Int64), (2**64 - 2, pl.UInt64)], ids=str)
def test_whole_labels_are_told_apart_whatever_their_size(lazy, first, kind):
    big = FRAME.with_columns(y=pl.Series([first + happened for happened in FRAME["y"]], dtype=kind))
    expected = ForecastTable.from_predictions(FRAME["y"], FRAME["a"]).to_dict()
    for options in ({"labels": [first, first + 1]}, {"pos_label": first + 1}):
        table = ForecastTable.from_frame(lazy(big), outcome="y", forecast="a", **options)
        assert table.to_dict() == expected
    with pytest.raises(InputValueError, match=f"one is {first + 1} "):
        ForecastTable.from_frame(lazy(big), outcome="y", forecast="a", labels=[7, first])


def test_labels_that_integers_cannot_be_are_in_no_row(lazy):
    for labels in ([0.5, 1], [0, 10**30]):
        with pytest.raises(InputValueError, match="y_true must hold only the labels"):
            ForecastTable.from_frame(lazy(FRAME), outcome="y", forecast="a", labels=labels)
    with pytest.raises(InputValueError, match="labels of the same type as pos_label"):
        ForecastTable.from_frame(lazy(FRAME), outcome="y", forecast="a", labels=[0, 10**400])


@pytest.mark.parametrize("level", [None, 64], ids=["by value", "on a grid"])
def test_the_table_of_the_top_class_is_that_of_arrays(lazy, level):
    rows = ["r0", "r1", "r2"]
    again = {"first": rows, "turned": rows[::-1]}  # Forecasts are rounded, so many rows have two top classes.
    found = pr.condense(lazy(FRAME).to_native(), again, **CLASSES, sample_weight="w", cells=level)
    forecasts = {"first": ROWS, "turned": ROWS[:, ::-1]}
    expected = pr.condense(GRADE, forecasts, sample_weight=FRAME["w"].to_numpy())
    for model in again:
        one, other = found.table(model, TOP), expected.table(model, TOP)
        if level is None:
            for name in ("forecast", "events", "non_events", "event_squares", "non_event_squares"):
                np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-12)
        assert (one.n, one.n_events) == (other.n, other.n_events)
    first = ROWS.argmax(axis=1) == GRADE
    weight = FRAME["w"].to_numpy()
    assert expected.table("first", TOP).events.sum() == pytest.approx((weight * first).sum())
    np.testing.assert_array_equal(expected.table("first", TOP).forecast, np.unique(ROWS.max(axis=1)[weight > 0]))


def test_unnamed_columns_of_classes_do_not_take_the_order_of_another_model():
    p = np.random.default_rng(1).dirichlet([1, 1, 1], 60)
    frame = pl.DataFrame({"y": ["a", "b", "c"] * 20, "c": p[:, 2], "a": p[:, 0], "b": p[:, 1]})
    frame = frame.with_columns(x=frame["a"], y_1=frame["b"], z=frame["c"])
    for models in (
        {"one": ["c", "a", "b"], "two": ["x", "y_1", "z"]},
        {"two": ["x", "y_1", "z"], "one": ["a", "b", "c"]},
    ):
        for data in (frame, frame.lazy()):
            with pytest.raises(InputValueError, match=r"columns of forecasts\[.two.\]"):
                pr.condense(data, models, outcome="y")
    own = pr.condense(frame.lazy(), {"one": ["c", "a", "b"], "two": ["a", "c", "b"]}, outcome="y")
    assert own.labels == ("c", "a", "b")
