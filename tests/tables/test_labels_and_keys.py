"""Labels and keys are what they are: never merged as numbers, never split by an order that they do not have."""

import datetime as dt
from decimal import Decimal
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sliced import slices

import propriety as pr
from propriety.errors import InputTypeError, InputValueError, MissingValuesError
from propriety.tables.keys import Keys
from propriety.tables.labels import code_labels, ordered_groups, ordered_labels
from propriety.tables.validation import read_cases

Y = np.array([0, 1] * 100)
P = np.where(Y == 1, 0.8, 0.2)
LARGE, LABELS = 2**53 + Y, [2**53, 2**53 + 1]
IDS = 1_700_000_000_000_000_000 + np.arange(200) // 2  # A hundred clusters of two cases.

WITH_A_GAP = {
    "Polars": lambda values: pl.Series([None, *values]),
    "pandas": lambda values: pd.Series([None, *values], dtype="Int64"),
    "pandas with PyArrow": lambda values: pd.Series([None, *values], dtype="int64[pyarrow]"),
    "PyArrow": lambda values: pa.chunked_array([pa.array([None, *values])]),
    "an array of PyArrow": lambda values: pa.array([None, *values]),
    "an array of pandas": lambda values: pd.array([None, *values], dtype="Int64"),
    "an index of pandas": lambda values: pd.Index([None, *values], dtype="Int64"),
    "a list with NaN": lambda values: [float("nan"), *values],
    "a list with None": lambda values: [None, *values],
    "an array of objects": lambda values: np.array([None, *values], dtype=object),
    "a masked array": lambda values: np.ma.MaskedArray([0, *values], mask=[True, *[False] * len(values)]),
}


def keys_of(values, n=None, **options):
    """Return the keys that cases are read with."""
    n = len(values) if n is None else n
    y, p = np.resize([0, 1], n), np.full(n, 0.5)
    return read_cases(options.pop("y", y), options.pop("p", p), by=values, **options).keys["group"]


def as_given(keys):
    return [keys.labels[code] for code in keys.codes]


@pytest.mark.parametrize("container", WITH_A_GAP)
def test_large_labels_of_outcomes_are_told_apart_beside_a_missing_one(container):
    outcome = WITH_A_GAP[container](LARGE.tolist())
    score = pr.brier_score(pr.cases(outcome, np.r_[0.5, P], labels=LABELS, missing="drop"))
    assert float(score) == pytest.approx(0.04, abs=1e-15)
    assert (score.n, score.dropped) == (200, 1)


def test_large_labels_of_a_lazy_frame_are_told_apart():
    frame = pl.DataFrame({"y": LARGE, "p": P}).lazy()
    assert pr.evaluate(frame, ["p"], outcome="y", labels=LABELS, seed=1).to_dict()["brier"] == pytest.approx(0.04)


@pytest.mark.parametrize("container", WITH_A_GAP)
def test_large_identifiers_of_clusters_are_told_apart_beside_a_missing_one(container):
    cluster = WITH_A_GAP[container](IDS.tolist())
    cases = read_cases([None, *Y], np.r_[0.5, P], cluster=cluster, missing="drop")
    assert len(cases.cluster) == 100
    assert as_given(cases.cluster) == IDS.tolist()


def test_identifiers_on_both_sides_of_the_largest_signed_integer_are_told_apart():
    identifiers = [2**63 - 50 + one // 2 for one in range(200)]
    assert as_given(keys_of(identifiers)) == identifiers
    assert len(keys_of(identifiers)) == 100
    assert as_given(keys_of([-1, 2**63, -1, 2**63 + 1])) == [-1, 2**63, -1, 2**63 + 1]


def test_identifiers_that_came_as_floats_are_refused_because_they_may_be_several():
    for values in (IDS.astype(float), pd.Series([None, *IDS], dtype=float)[1:], pl.Series(IDS).cast(pl.Float64)):
        with pytest.raises(InputValueError, match=r"1\.7e\+18 is a float that may stand for several .* \"Int64\""):
            keys_of(values)
    with pytest.raises(InputValueError, match=r"cluster must hold exact labels"):
        pr.estimate(Y, P, cluster=IDS.astype(float))


def test_outcomes_that_came_as_floats_do_not_match_large_labels():
    with pytest.raises(InputValueError, match="y_true must hold integers for the label 9007199254740992"):
        pr.brier_score(LARGE.astype(float), P, labels=LABELS)
    # Labels that floats can tell apart are matched.
    assert float(pr.brier_score(Y.astype(float) * 8, P, labels=[0, 8])) == pytest.approx(0.04)


def test_a_label_that_is_a_float_matches_the_whole_number_and_not_its_neighbour():
    with pytest.raises(InputValueError, match="must hold only the labels"):
        pr.brier_score(np.array([2**53 + 1, 0]), [0.5, 0.5], labels=[0, 2.0**53])


def test_partially_ordered_keys_are_one_group_each():
    sets = [frozenset([one % 8, one * 3 % 5]) for one in range(200)]
    assert set(keys_of(sets).labels) == set(sets)
    assert as_given(keys_of(sets)) == sets
    found = slices(Y, {"p": P}, by=sets, smallest=1)
    assert sorted(found.group) == sorted(map(str, set(sets)))


@pytest.mark.parametrize(
    "labels",
    [
        [("a", 1), ("b", 0), ("a", 1), ("a", 0)],
        ["b", 1, "b", 2.5],
        [Decimal("0.1"), Decimal("0.10"), Decimal(3), Decimal(-1)],
        [dt.date(2024, 1, 2), dt.date(2024, 1, 1)] * 2,
        [True, False, True, True],
        [b"a", b"a\x00", b"b", b"a"],
        ["a", "a\x00", "b", "a"],
        ["nan", "None", "", "0e1"],
    ],
    ids=["tuples", "several kinds", "decimals", "dates", "booleans", "bytes", "texts", "words"],
)
def test_labels_come_back_as_they_were_given(labels):
    assert as_given(keys_of(labels)) == labels
    assert len(keys_of(labels)) == len(set(labels))


ZONED = [dt.datetime(1970, 1, 1, hour, tzinfo=ZoneInfo("Asia/Tokyo")) for hour in (0, 1, 0, 9)]


@pytest.mark.parametrize(
    "column",
    [
        ZONED,
        pd.Series(pd.to_datetime(ZONED)),
        pl.Series(ZONED).dt.convert_time_zone("Asia/Tokyo"),
        pa.chunked_array([pa.array(ZONED, pa.timestamp("us", tz="Asia/Tokyo"))]),
        pa.array(ZONED, pa.timestamp("us", tz="Asia/Tokyo")),
        pd.to_datetime(ZONED),
        pd.to_datetime(ZONED).array,
    ],
    ids=["list", "pandas", "Polars", "PyArrow", "array of PyArrow", "index of pandas", "array of pandas"],
)
def test_times_keep_their_zone(column):
    found = as_given(keys_of(column, 4))
    assert found == ZONED
    assert str(found[0]) == "1970-01-01 00:00:00+09:00"


def test_what_cannot_be_told_apart_is_refused_by_name():
    for column in (pl.Series([[1], [2]]), pl.Series([{"a": 1}, {"a": 2}])):
        with pytest.raises(InputTypeError, match="by must hold single labels; got values of dtype"):
            keys_of(column)
    with pytest.raises(InputTypeError, match=r"by must hold hashable labels; .*unhashable type: 'list'"):
        keys_of(pd.Series([[1], [2]]))


def test_times_to_the_nanosecond_stay_comparable():
    times = pd.Series([pd.Timestamp(10**18 + one) for one in (1, 0, 10**9)], dtype=object)
    found = keys_of(times)
    assert list(found.labels) == sorted(found.labels)
    assert as_given(found) == [np.datetime64(one.value, "ns") for one in times]


def test_times_to_the_nanosecond_keep_their_zone():
    times = pd.Series([pd.Timestamp(10**18 + one, tz="Asia/Tokyo") for one in (1, 0, 2)])
    found = keys_of(times)
    assert as_given(found) == times.tolist()
    assert [str(label)[-6:] for label in found.labels] == ["+09:00"] * 3


def test_ordered_categories_keep_their_order_in_every_frame():
    levels, values = ["low", "mid", "high"], ["high", "low", "low", "high"]
    columns = [
        pd.Series(pd.Categorical(values, levels, ordered=True)),
        pl.Series(values, dtype=pl.Enum(levels)),
        pa.chunked_array([pa.DictionaryArray.from_arrays([2, 0, 0, 2], levels, ordered=True)]),
        pa.DictionaryArray.from_arrays([2, 0, 0, 2], levels, ordered=True),
        pd.Categorical(values, levels, ordered=True),
        pd.CategoricalIndex(values, levels, ordered=True),
    ]
    for column in columns:
        assert keys_of(column).labels == ("low", "high")
    numbered = pd.Series(pd.Categorical([3, 1, 1, 2], [3, 1, 2], ordered=True))
    assert keys_of(numbered).labels == (3, 1, 2)
    intervals = pd.Series(pd.cut([5, 1, 2, 9], [0, 3, 10]))
    assert [str(label) for label in keys_of(intervals).labels] == ["(0, 3]", "(3, 10]"]


def test_an_index_of_pandas_is_no_row_label_and_one_of_several_levels_holds_tuples():
    y, p = pd.Series([0, 1], index=["x", "y"]), pd.Series([0.2, 0.7], index=["x", "y"])
    assert keys_of(pd.Index([2**60, 2**60 + 1]), y=y, p=p).labels == (2**60, 2**60 + 1)
    assert keys_of(pd.MultiIndex.from_tuples([("a", 1), ("b", 2)])).labels == (("a", 1), ("b", 2))


def test_unordered_categories_are_sorted():
    for column in (pd.Series(["b", "a"], dtype="category"), pl.Series(["b", "a"], dtype=pl.Categorical)):
        assert keys_of(column).labels == ("a", "b")


def test_labels_of_128_bits_are_exact():
    values = [2**70, 2**70 + 1, 2**70, -(2**100)]
    assert as_given(keys_of(pl.Series(values, dtype=pl.Int128))) == values


@given(
    st.lists(st.one_of(st.integers(), st.text(max_size=2), st.frozensets(st.integers(0, 3)), st.booleans()), min_size=1)
)
def test_codes_are_those_of_equality(labels):
    known, codes = code_labels(labels)
    assert [known[code] for code in codes] == labels
    assert len(known) == len(set(labels))


@given(st.permutations([3, 1, 2**70, -5, Decimal("2.5"), 0.25]))
def test_the_order_of_labels_does_not_depend_on_the_order_of_the_rows(labels):
    assert ordered_labels(labels) == (-5, 0.25, 1, Decimal("2.5"), 3, 2**70)


@given(st.permutations([frozenset("a"), frozenset("ab"), frozenset("abc")]))
def test_sets_that_hold_each_other_have_an_order(labels):
    assert ordered_labels(labels) == (frozenset("a"), frozenset("ab"), frozenset("abc"))


def test_groups_of_several_keys_are_ordered_key_by_key():
    groups = [("b", "low"), ("a", "high"), ("a", "low"), (None, "low")]
    assert ordered_groups(groups, [None, ["low", "high"]]) == [("a", "low"), ("a", "high"), ("b", "low"), (None, "low")]
    assert ordered_groups([()]) == [()]


def test_a_set_may_be_the_label_of_a_group():
    ledger = pr.condense([0, 1, 1], {"p": [0.2, 0.7, 0.6]}, by={"k": [frozenset("a"), frozenset("b"), frozenset("a")]})
    assert ledger.table("p", k=frozenset("a")).n == 2
    assert ledger.where(k={frozenset("a"), frozenset("b")}).n == 3


def test_keys_are_a_plain_value():
    keys = keys_of(["b", "a", "b"])
    assert isinstance(keys, Keys)
    assert (keys.labels, keys.codes.tolist()) == (("a", "b"), [1, 0, 1])


def test_columns_named_like_some_labels_of_other_places_are_refused():
    """Neither their names nor their places say which class is which."""
    rng = np.random.default_rng(1)
    rows, y = rng.dirichlet([1, 1, 1], 30), rng.choice(["low", "mid", "high"], 30)
    named = pd.DataFrame(rows, columns=["low", "mid", "high"])
    labels = ["low", "mid", "high"]
    expected = pr.brier_score(y, named, labels=labels)
    assert pr.brier_score(y, named[["high", "low", "mid"]], labels=labels) == pytest.approx(expected)
    other = named[["high", "low", "mid"]].rename(columns={"mid": "Mid"})
    for call in (pr.brier_score, pr.check_calibration):
        with pytest.raises(InputValueError, match=r"like the labels \['low', 'mid', 'high'\]; got .*'Mid'"):
            call(y, other, labels=labels)
    fitted = pr.recalibrate(y, named, labels=labels, method="temperature").map
    with pytest.raises(InputValueError, match="like the labels"):
        fitted(other)
    plain = named.set_axis(["p0", "p1", "p2"], axis=1)
    assert pr.brier_score(y, plain, labels=labels) == pytest.approx(expected)
    numbered = pd.DataFrame(rows)
    assert pr.brier_score([1, 2, 3] * 10, numbered, labels=[1, 2, 3]) >= 0.0


NOTHING = {
    "NaT": [np.datetime64("2026-01-01"), np.datetime64("NaT")],
    "a duration": [np.timedelta64(1, "D"), np.timedelta64("NaT")],
    "beside text": ["x", np.datetime64("NaT")],
    "in a tuple": [("x", 1.0), ("x", float("nan"))],
    "NaT in a tuple": [("x", 1.0), ("x", np.datetime64("NaT"))],
}


@pytest.mark.parametrize("labels", NOTHING.values(), ids=NOTHING)
def test_what_is_missing_among_objects_is_no_label(labels):
    """NaT was a label, and a ledger with it could be written but not read."""
    keys = np.fromiter(labels * 2, dtype=object, count=4)
    for values in (keys, keys.tolist()):
        with pytest.raises(MissingValuesError, match=r"by\['day'\] must be known for every case; row 1 is missing"):
            pr.condense([0, 1, 1, 0], [0.2, 0.7, 0.6, 0.4], by={"day": values})
    with pytest.raises(MissingValuesError, match="cluster must be known for every case"):
        pr.estimate([0, 1, 1, 0], [0.2, 0.7, 0.6, 0.4], cluster=keys)
    assert pr.condense([0, 1], [0.2, 0.7], by={"pair": [("x", None), ("x", None)]}).keys["pair"] == (("x", None),)


def test_nat_is_a_missing_outcome_and_forecast():
    missing = np.array([0.5, np.datetime64("NaT")], dtype=object)
    assert pr.brier_score(pr.cases([1, 0], missing, missing="drop")).dropped == 1
    labels = np.array(["yes", np.timedelta64("NaT")], dtype=object)
    with pytest.raises(MissingValuesError, match="y_true must not hold missing values"):
        pr.brier_score(labels, [0.5, 0.5], pos_label="yes")
