"""Faults at the door and in stored tables that fuzzing found: each is told now, or right."""

import datetime as dt
import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

import propriety as pr
from propriety.errors import InputTypeError, InputValueError, MissingValuesError
from propriety.tables.forecast_table import ForecastTable

Y, P = [0, 1, 1, 0], [0.2, 0.4, 0.9, 0.3]


@pytest.mark.parametrize("frame", [pd.DataFrame(), pl.DataFrame(), pa.table({})], ids=["pandas", "Polars", "Arrow"])
def test_a_frame_without_columns_is_refused(frame):
    with pytest.raises(InputValueError, match="y_proba must have columns; the frame has none"):
        pr.brier_score([], frame)


@pytest.mark.parametrize("dtype", [bool, float, "timedelta64[s]"])
def test_a_label_beyond_the_range_of_the_outcomes_is_none_of_them(dtype):
    y = np.array([0, 1, 1], dtype=dtype)
    with pytest.raises(InputValueError, match="y_true must hold"):
        pr.brier_score(y, [0.2, 0.4, 0.4], pos_label=10**400)
    with pytest.raises(InputValueError, match="y_true must hold only the labels"):
        pr.brier_score(y, [0.2, 0.4, 0.4], labels=[0, 10**400])


def test_a_duration_is_not_a_number():
    y = np.array([30, 90, 90], dtype="timedelta64[m]")
    assert pr.brier_score(y, [0.0, 1.0, 1.0], pos_label=np.timedelta64(5400, "s")) == 0.0
    with pytest.raises(InputValueError, match="y_true must hold"):
        pr.brier_score(y, [0.0, 1.0, 1.0], pos_label=90)


@pytest.mark.skipif(not hasattr(pl, "Int128"), reason="this Polars has no whole numbers of 128 bits")
def test_whole_numbers_of_128_bits_are_labels_whatever_their_size():
    y = pl.Series([2**70, 1, 2**70], dtype=pl.Int128)
    assert pr.brier_score(y, [1.0, 0.0, 1.0], pos_label=2**70) == 0.0
    with pytest.raises(InputValueError, match="y_true must hold 0 and 1"):
        pr.brier_score(y, [1.0, 0.0, 1.0])


def test_large_labels_are_told_apart_beside_missing_ones():
    y = [2**53 + 1, float("nan"), 2**53]
    losses = pr.case_scores(pr.cases(y, [1.0, 0.5, 0.0], pos_label=2**53 + 1, missing="drop"), rule=pr.Brier())
    np.testing.assert_array_equal(losses, [0.0, np.nan, 0.0])
    with pytest.raises(MissingValuesError, match="row 1 is missing"):
        pr.brier_score(y, [1.0, 0.5, 0.0], pos_label=2**53)


def test_a_text_that_ends_with_zero_is_not_the_one_without():
    y = ["a\0", "a", "a\0"]
    assert pr.brier_score(y, [1.0, 0.0, 1.0], pos_label="a\0") == 0.0
    assert pr.brier_score(y, [1.0, 0.0, 1.0], labels=["a", "a\0"]) == 0.0


@pytest.mark.parametrize("label", [{}, {1}, [1]], ids=str)
def test_what_cannot_be_a_label_is_refused(label):
    with pytest.raises(InputTypeError, match="pos_label must be a single label"):
        pr.brier_score(Y, P, pos_label=label)


@pytest.mark.parametrize("label", [b"a", 1j, dt.date(2020, 1, 1)], ids=repr)
def test_a_label_that_is_no_number_is_not_one_of_numbers(label):
    with pytest.raises(InputValueError, match="y_true must hold labels of the same type as pos_label"):
        pr.brier_score([0, 0], [0.2, 0.4], pos_label=label)


def test_rows_with_gaps_are_dropped_from_lists_as_well():
    rows = [[0.3, 0.7], [None, 0.5], [0.5, 0.5]]
    score = pr.brier_score(pr.cases([1, 0, 0], rows, missing="drop"))
    assert (score, score.dropped) == (pr.brier_score([1, 0], [rows[0], rows[2]]), 1)


@pytest.mark.parametrize("weight", [1e-160, 1e-61, 1e61, 7e153], ids=["lost digits", "tiny", "huge", "no number"])
def test_weights_whose_squares_lose_digits_or_have_none_are_refused(weight):
    for analysis in (pr.brier_score, ForecastTable.from_predictions):
        with pytest.raises(InputValueError, match="sample_weight must have squares"):
            analysis(Y, P, sample_weight=[weight, 0.1 * weight, weight, weight])


STORED = ForecastTable.from_predictions(Y, P).to_dict()


@pytest.mark.parametrize(
    "change",
    [
        {"schema": np.array(["a", "b"])},
        {"version": np.array([1, 1])},
        {"version": 1.5},
        {1: 2, "spare": 3},
        {"n": 10**400},
        {"dropped": 2**63},
        {"n_events": 10**400},
        {"n_events": True},
        {"forecast": [0.1, [0.2], 0.3, 0.4]},
        {"forecast": [0.1, None, 0.3, 0.4]},
        {"events": [1e200] * 4},
        {"events": [1e200] * 4, "event_squares": [1e300] * 4, "non_event_squares": [0.0] * 4, "n": 2**62},
    ],
    ids=lambda change: "-".join(f"{name} {str(value)[:12]}" for name, value in change.items()),
)
def test_stored_fields_that_no_table_has_are_refused(change):
    with pytest.raises((InputValueError, InputTypeError)):
        ForecastTable.from_dict(STORED | change)


def test_what_is_no_parquet_file_is_refused(tmp_path):
    path = tmp_path / "t.parquet"
    ForecastTable.from_predictions(Y, P).to_parquet(path)
    whole = path.read_bytes()
    for content in (b"", b"PAR1", b"y,p\n0,0.5\n", whole[:-9], whole[: len(whole) // 2], b"PAR1" + bytes(40) + b"PAR1"):
        path.write_bytes(content)
        with pytest.raises(InputValueError, match="must be a whole Parquet file") as caught:
            ForecastTable.from_parquet(path)
        assert "\n" not in str(caught.value)


def test_names_of_columns_that_are_no_text_are_refused(tmp_path):
    path = tmp_path / "t.parquet"
    ForecastTable.from_predictions(Y, P).to_parquet(path)
    path.write_bytes(path.read_bytes().replace(b"non_events", b"non\xdfevents"))
    with pytest.raises(InputValueError, match="must be a whole Parquet file; 'utf-8' codec"):
        ForecastTable.from_parquet(path)


def test_a_file_that_is_not_there_stays_an_error_of_the_system(tmp_path):
    with pytest.raises(FileNotFoundError):
        ForecastTable.from_parquet(tmp_path / "none.parquet")


@pytest.mark.parametrize(
    "mark", [b"", b"7", b"null", b"[]", b"\xff", b"{", b"[" * 100_000], ids=lambda mark: repr(mark[:4])
)
def test_a_mark_that_propriety_did_not_write_is_refused(mark, tmp_path):
    path = tmp_path / "t.parquet"
    parquet.write_table(pa.table({"forecast": [0.5]}).replace_schema_metadata({b"propriety": mark}), path)
    with pytest.raises(InputValueError, match="its mark cannot be read"):
        ForecastTable.from_parquet(path)


@pytest.mark.parametrize(
    "column",
    [pa.array(["a"]), pa.array([b"a"]), pa.array([[0.5]]), pa.array([{"a": 1}]), pa.array([dt.date(2020, 1, 1)])],
    ids=lambda column: str(column.type),
)
def test_columns_of_other_types_are_refused(column, tmp_path):
    path = tmp_path / "t.parquet"
    facts = {name: STORED[name] for name in ("schema", "version", "n", "n_events", "dropped", "cells")}
    table = pa.table({"forecast": column, "events": [4.0], "non_events": [0.0]})
    parquet.write_table(table.replace_schema_metadata({b"propriety": json.dumps(facts)}), path)
    with pytest.raises(InputTypeError, match="forecast must be a 1-D array of real numbers"):
        ForecastTable.from_parquet(path)


def test_tables_that_weigh_too_much_together_are_refused():
    columns = {"forecast": [0.5], "events": [1e154], "non_events": [0.0]}
    heavy = ForecastTable(**columns, event_squares=[1e308], non_event_squares=[0.0], n=1, n_events=1)
    with pytest.raises(
        InputValueError, match="squared weights of a table must have a positive and finite sum; it is inf"
    ):
        ForecastTable.merge([heavy, heavy])
