"""Several models are read on the cases that all of them have, and keys are read beside them."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from propriety.errors import InputTypeError, InputValueError, MissingValuesError
from propriety.tables import arrays, keys, validation
from propriety.tables.arrays import read_array
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.validation import read_cases

Y = [0, 1, 1, 0]
P = [0.2, 0.7, 0.9, 0.4]
Q = [0.3, 0.6, 0.8, 0.1]
ROWS = [[0.5, 0.3, 0.2], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6], [0.4, 0.3, 0.3]]

gaps = st.lists(st.tuples(st.booleans(), st.booleans(), st.booleans()), min_size=1, max_size=12)


def group(values, **options):
    return read_cases(Y, P, by=values, **options).keys["group"]


def test_each_model_is_read_with_its_name():
    cases = read_cases(Y, {"a": P, "b": Q})
    assert cases.models == ("a", "b")
    assert cases.classes is None
    assert cases.arguments["a"] == "forecasts['a']"
    assert cases.gathered("b").forecast.tolist() == Q
    assert cases.dropped == 0


def test_rows_of_classes_are_read_too():
    cases = read_cases([0, 1, 2, 0], {"a": ROWS})
    assert cases.classes == 3
    assert cases.forecasts["a"].shape == (4, 3)
    labelled = read_cases(["x", "y", "z", "x"], {"a": ROWS, "b": ROWS}, labels=["x", "y", "z"])
    assert labelled.outcomes().tolist() == [0, 1, 2, 0]
    assert labelled.labels == ("x", "y", "z")


@given(gaps)
def test_a_case_that_any_model_misses_is_dropped_for_all(cases):
    missed = np.array(cases)
    p, q = np.where(missed[:, 0], np.nan, 0.25), np.where(missed[:, 1], np.nan, 0.75)
    weight = np.where(missed[:, 2], np.nan, np.arange(1.0, len(cases) + 1))
    kept = np.flatnonzero(~missed.any(axis=1))
    arguments = (np.arange(len(cases)) % 2, {"a": p, "b": q})
    if not len(kept):
        with pytest.raises(InputValueError, match=r"leaves no case|no row"):
            read_cases(*arguments, sample_weight=weight, missing="drop")
        return
    read = read_cases(*arguments, sample_weight=weight, missing="drop")
    assert [len(forecast) for forecast in read.forecasts.values()] == [len(kept)] * 2
    assert read.dropped == len(cases) - len(kept)
    assert read.weight.tolist() == (kept + 1.0).tolist()
    assert read.outcome.tolist() == (kept % 2).tolist()
    if read.dropped:
        assert read.rows.tolist() == kept.tolist()


def test_weights_that_are_all_zero_after_dropping_are_refused():
    with pytest.raises(InputValueError, match=r"leaves no case: every row with weight has .* \(3 rows\)"):
        read_cases(
            [0, 1, 1], {"a": [0.5, None, 0.5], "b": [0.5, 0.5, None]}, sample_weight=[0.0, 1.0, 1.0], missing="drop"
        )


@pytest.mark.parametrize(
    ("y", "forecasts", "options", "error", "message"),
    [
        (ForecastTable.of(Y, P), {"a": P}, {}, InputTypeError, "a ForecastTable holds no individual cases"),
        (Y, [P, Q], {"fewest": 2}, InputTypeError, r'Hint: pass \{"a": p, "b": q\}'),
        (Y, {1: P}, {}, InputTypeError, "forecasts must map the names of models"),
        (Y, {}, {}, InputValueError, "forecasts must hold one model or more; got 0"),
        (Y, {"a": P}, {"fewest": 2}, InputValueError, "forecasts must hold two models or more; got 1"),
        ([0, 1, 2, 0], {"a": ROWS, "b": P}, {}, InputValueError, "'a' forecasts 3 classes and 'b' one event"),
        (Y, {"a": P, "b": P[:2]}, {}, InputValueError, r"y_true and forecasts\['b'\] must be equally long"),
        (Y, {"a": P, "a\0": Q}, {}, InputValueError, r"free of control characters such as line ends; got 'a\\x00'"),
        (Y, {"a\nb": P}, {}, InputValueError, r"free of control characters such as line ends; got 'a\\nb'"),
    ],
    ids=["table", "list", "names", "none", "one", "kinds", "lengths", "NUL", "line end"],
)
def test_what_is_refused(y, forecasts, options, error, message):
    with pytest.raises(error, match=message):
        read_cases(y, forecasts, **options)


def test_an_error_says_which_model_it_is():
    with pytest.raises(MissingValuesError, match=r"^forecasts\['b'\] must not hold missing values") as caught:
        read_cases(Y, {"a": P, "b": [0.1, None, 0.2, 0.3]})
    assert (caught.value.argument, caught.value.names) == ("y_proba", {"y_proba": "forecasts['b']"})
    cases = read_cases(Y, {"a": P, "b": [0.1, 0.2, 1.3, 0.3]})
    with pytest.raises(InputValueError, match=r"forecasts\['b'\] must lie in \[0, 1\]; row 2 is 1.3"):
        list(cases.chunks("b"))


def test_series_with_different_indices_are_refused():
    with pytest.raises(InputValueError, match="forecasts 'a' and 'b' carry different indices"):
        read_cases(np.array(Y), {"a": pd.Series(P), "b": pd.Series(Q, index=[3, 2, 1, 0])})
    assert len(read_cases(np.array(Y), {"a": pd.Series(P), "b": pl.Series(Q)})) == 4


def test_indices_are_compared_across_models_without_one():
    models = {"a": pd.Series(P), "b": Q, "c": pd.Series(P, index=[3, 2, 1, 0])}
    with pytest.raises(InputValueError, match="forecasts 'a' and 'c' carry different indices"):
        read_cases(Y, models)
    rows = {"a": pd.DataFrame(ROWS), "b": pd.DataFrame(ROWS, index=[3, 2, 1, 0])}
    with pytest.raises(InputValueError, match="forecasts 'a' and 'b' carry different indices"):
        read_cases([0, 1, 2, 0], rows)


def test_columns_named_as_classes_are_put_in_order():
    rows = {"a": ROWS, "b": pd.DataFrame(np.array(ROWS)[:, [1, 0, 2]], columns=["y", "x", "z"])}
    cases = read_cases(["x", "y", "z", "x"], rows, labels=["x", "y", "z"])
    np.testing.assert_array_equal(cases.forecasts["a"], cases.forecasts["b"])


def test_an_array_beside_named_columns_needs_labels():
    rows = {"a": pd.DataFrame(ROWS, columns=["x", "y", "z"]), "b": np.array(ROWS)}
    with pytest.raises(InputValueError, match=r"cannot be matched to the columns of forecasts\['b'\].*labels="):
        read_cases(["x", "y", "z", "x"], rows)


def test_models_of_one_event_only():
    assert read_cases(Y, {"a": P, "b": Q}, kind="event").classes is None
    with pytest.raises(
        InputValueError, match=r"forecasts\['a'\] must be the forecast of one event, .*; got shape \(4, 3\)"
    ):
        read_cases([0, 1, 2, 0], {"a": ROWS}, kind="event")


DAYS = [dt.date(2024, 1, day) for day in (2, 1, 3, 1)]


@pytest.mark.parametrize(
    "values",
    [
        ["b", "a", "c", "a"],
        [20, 10, 30, 10],
        np.array([2.5, 1.5, 3.5, 1.5]),
        pd.Series(["b", "a", "c", "a"], dtype="category"),
        pl.Series(["b", "a", "c", "a"]),
        DAYS,
        np.array(DAYS, dtype="datetime64[D]"),
        pd.Series(pd.to_datetime(DAYS)),
        pd.Series(pd.to_datetime(DAYS).tz_localize("UTC")),
        pl.Series(DAYS),
        np.ma.array([2, 1, 3, 1], mask=False),
    ],
    ids=["text", "int", "float", "category", "polars", "date", "numpy", "pandas", "zone", "polars-date", "masked"],
)
def test_keys_are_numbered_in_the_order_of_their_labels(values):
    found = group(values)
    assert found.codes.tolist() == [1, 0, 2, 0]
    assert len(found) == 3
    assert list(found.labels) == sorted(found.labels)


@pytest.mark.parametrize(
    "values",
    [
        pd.Series(pd.Categorical(["mid", "low", "high", "low"], ["none", "low", "mid", "high"], ordered=True)),
        pl.Series(["mid", "low", "high", "low"], dtype=pl.Enum(["none", "low", "mid", "high"])),
    ],
    ids=["pandas", "polars"],
)
def test_ordered_categories_keep_their_order(values):
    found = group(values)
    assert found.labels == ("low", "mid", "high")
    assert found.codes.tolist() == [1, 0, 2, 0]


def test_only_ordered_categories_have_an_order_of_their_own():
    for ordered, labels in ((True, (3, 1, 2)), (False, (1, 2, 3))):
        values = pd.Series(pd.Categorical([1, 2, 3, 1], [3, 1, 2], ordered=ordered))
        assert group(values).labels == labels


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        (pd.Series(pd.to_datetime(DAYS)).astype("datetime64[ns]"), ["2024-01-01 00:00:00", "2024-01-02 00:00:00"]),
        (
            np.array([2, 1, 3, 1], dtype="datetime64[ns]"),
            ["1970-01-01T00:00:00.000000001", "1970-01-01T00:00:00.000000002"],
        ),
        (np.array([2000, 1000, 3000, 1000], dtype="timedelta64[ns]"), ["0:00:00.000001", "0:00:00.000002"]),
        (pl.Series(DAYS), ["2024-01-01", "2024-01-02"]),
    ],
    ids=["days", "nanoseconds", "differences", "dates"],
)
def test_times_are_shown_as_times(values, labels):
    found = group(values)
    assert [str(label) for label in found.labels[:2]] == labels
    assert found.codes.tolist() == [1, 0, 2, 0]
    assert list(found.labels) == sorted(found.labels)


def test_labels_of_several_kinds_are_kept_apart():
    found = group(["1", 1, "1", 2])
    assert len(found) == 3
    assert [found.labels[code] for code in found.codes] == ["1", 1, "1", 2]


def test_keys_follow_the_rows_that_were_kept():
    found = read_cases(Y, [0.2, None, 0.9, 0.4], cluster=["z", None, "y", "z"], missing="drop").cluster
    assert found.labels == ("y", "z")
    assert found.codes.tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    "values",
    [
        ["a", None, "a", "b"],
        [1.0, np.nan, 2.0, 3.0],
        np.array(["2024-01-01", "NaT", "2024-01-01", "2024-01-02"], dtype="datetime64[D]"),
        pd.Series([1, None, 2, 3], dtype="Int64"),
        np.ma.array([1, 2, 3, 4], mask=[0, 1, 0, 0]),
    ],
    ids=["None", "NaN", "NaT", "NA", "masked"],
)
def test_missing_keys_are_refused(values):
    with pytest.raises(MissingValuesError, match=r"cluster must be known for every case; row 1 is missing"):
        read_cases(Y, P, cluster=values)


@pytest.mark.parametrize("values", [["a"], [["a", "b"]] * 4, ["a"] * 5], ids=["short", "matrix", "long"])
def test_keys_of_another_shape_are_refused(values):
    with pytest.raises(InputValueError, match="by must have one entry per case, 4 in all; got shape"):
        group(values)


def test_a_missing_key_is_told_by_its_row_in_the_data():
    with pytest.raises(MissingValuesError, match=r"row 3 is missing \(1 of 3 rows\)\. Hint: leave these rows out"):
        read_cases([0, None, 1, 1], [0.1, 0.2, 0.3, 0.4], by=["x", None, "y", None], missing="drop")


def test_keys_with_another_index_are_refused():
    y = pd.Series([0, 1, 1], index=[1, 2, 3])
    shifted = pd.Series(["x", "y", "x"], index=[0, 1, 2])
    with pytest.raises(InputValueError, match="y_true and cluster carry different indices"):
        read_cases(y, [0.1, 0.2, 0.3], cluster=shifted)
    assert read_cases(y, [0.1, 0.2, 0.3], cluster=shifted.to_numpy()).cluster.codes.tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    "forecast",
    [pd.Series([0.1, 0.2, 0.3]), pd.DataFrame({0: [0.1, 0.2, 0.3], 1: [0.9, 0.8, 0.7]})],
    ids=["column", "rows"],
)
def test_keys_with_another_index_than_the_forecasts_are_refused(forecast):
    keys = pd.Series(["x", "y", "x"])
    models = {"a": forecast.to_numpy(), "b": forecast}
    with pytest.raises(InputValueError, match="the forecasts and by carry different indices"):
        read_cases([0, 1, 1], models, by=keys[::-1])
    assert len(read_cases([0, 1, 1], models, by=keys).keys["group"]) == 2


def test_keys_with_another_index_than_the_weights_are_refused():
    weight = pd.Series([1.0, 2.0, 3.0, 4.0])
    with pytest.raises(InputValueError, match="sample_weight and period carry different indices"):
        read_cases(Y, P, sample_weight=weight, period=weight[::-1])


def test_several_keys_are_read_by_name():
    cases = read_cases(Y, P, by={"site": list("abab"), "day": [2, 1, 2, 2]}, period=[1, 2, 3, 4])
    assert {name: key.labels for name, key in cases.keys.items()} == {"site": ("a", "b"), "day": (1, 2)}
    assert cases.period.labels == (1, 2, 3, 4)
    with pytest.raises(InputValueError, match=r"by\['day'\] must have one entry per case"):
        read_cases(Y, P, by={"site": list("abab"), "day": [1]})


def test_each_argument_is_read_once(monkeypatch):
    read = []

    def counted(values, argument, **options):
        read.append(argument)
        return read_array(values, argument, **options)

    monkeypatch.setattr(arrays, "read_array", counted)
    monkeypatch.setattr(validation, "read_array", counted)
    monkeypatch.setattr(keys, "read_array", counted)
    read_cases(Y, {"a": P, "b": Q}, by={"site": Y}, cluster=Y, sample_weight=P)
    assert read == ["y_true", "y_proba", "y_proba", "sample_weight", "by['site']", "cluster"]
