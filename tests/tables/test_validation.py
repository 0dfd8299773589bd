"""The door: what it lets in, what it refuses, and the sentence it says."""

import decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import propriety as pr
from propriety.errors import InputTypeError, InputValueError, MissingValuesError
from propriety.recalibration import MatrixMap
from propriety.tables.forecast_table import ForecastTable

Y = [0, 1, 1]
P = [0.2, 0.4, 0.9]
ROWS = [[0.2, 0.8], [0.6, 0.4], [0.1, 0.9]]
NAN = float("nan")
BRIER = (0.2**2 + 0.6**2 + 0.1**2) / 3
SWAPPED = r"y_true must hold 0 and 1 .*row 0 is 0\.2 \(3 of 3 rows\)\. Hint: are y_true and y_proba swapped\?"

REFUSED = {
    "nan forecast": (Y, [0.2, NAN, 0.9], MissingValuesError, r"y_proba .* missing values .*row 1 .*\(1 of 3 rows\).*missing=\"drop\""),
    "nan outcome": ([0, NAN, 1], P, MissingValuesError, r"y_true .* missing values .*row 1 is missing \(1 of 3 rows\)"),
    "none forecast": (Y, [0.2, None, 0.9], MissingValuesError, r"y_proba .* missing values .*row 1"),
    "none outcome": ([0, None, 1], P, MissingValuesError, r"y_true .* missing values .*row 1"),
    "none among strings": (["a", None, "b"], P, MissingValuesError, r"y_true .* missing values .*row 1"),
    "nan among strings": (["a", NAN, "b"], P, MissingValuesError, r"y_true .* missing values .*row 1"),
    "pandas NA forecast": (Y, pd.Series([0.2, pd.NA, 0.9], dtype="Float64"), MissingValuesError, r"y_proba .* missing .*row 1"),
    "pandas NA outcome": (pd.Series([0, pd.NA, 1], dtype="Int64"), P, MissingValuesError, r"y_true .* missing .*row 1"),
    "pandas NA in a list": (Y, [0.2, pd.NA, 0.9], MissingValuesError, r"y_proba .* missing .*row 1"),
    "polars null": (Y, pl.Series([0.2, None, 0.9]), MissingValuesError, r"y_proba .* missing .*row 1"),
    "polars nan": (Y, pl.Series([0.2, NAN, 0.9]), MissingValuesError, r"y_proba .* missing .*row 1"),
    "arrow null": (pa.chunked_array([[0, None, 1]]), P, MissingValuesError, r"y_true .* missing .*row 1"),
    "null in a frame": (Y, pl.DataFrame({"a": [0.2, None, 0.1], "b": [0.8, 0.4, 0.9]}), MissingValuesError, r"y_proba .*row 1"),
    "infinite forecast": (Y, [0.2, np.inf, 0.9], InputValueError, r"y_proba must lie in \[0, 1\]; row 1 is inf \(1 of 3 rows\)"),
    "infinite outcome": ([0, np.inf, 1], P, InputValueError, r"y_true must hold 0 and 1 .*row 1 is inf"),
    "forecast above 1 by 1e-12": (Y, [0.2, 1 + 1e-12, 0.9], InputValueError, r"row 1 is 1\.000000000001 .*rounding error.*numpy\.clip"),
    "forecast above 1 by 5": (Y, [0.2, 6.0, 0.9], InputValueError, r"row 1 is 6\.0 .*divide by 100 if these are percentages"),
    "forecast below 0": (Y, [0.2, -0.3, 0.9], InputValueError, r"row 1 is -0\.3 .*apply a sigmoid"),
    "percentages": (Y, [20, 40, 90], InputValueError, r"row 0 is 20 \(3 of 3 rows\).*percentages"),
    "overshooting forecast": (Y, [0.2, 1.004, 0.9], InputValueError, r"row 1 is 1\.004 .*overshoot.*clip them"),
    "logits": (Y, [-2.1, 0.4, 3.0], InputValueError, r"row 0 is -2\.1 \(2 of 3 rows\)\. Hint: apply a sigmoid"),
    "row entry outside": (Y, [[0.2, 0.8], [1.4, -0.4], [0.1, 0.9]], InputValueError, r"row 1, column 0 is 1\.4 \(1 of 3 rows\)"),
    "row sums": (Y, [[0.2, 0.8], [0.6, 0.5], [0.1, 0.9]], InputValueError, r"sum to 1 within 1e-06; row 1 sums to 1\.1 \(1 of 3 rows\)"),
    "empty": ([], [], InputValueError, r"at least one case; both are empty"),
    "lengths": (Y, [0.2, 0.4], InputValueError, r"equally long; y_true has 3 rows and y_proba 2\."),
    "length one is not broadcast": (Y, [0.5], InputValueError, r"equally long; y_true has 3 rows and y_proba 1\."),
    "no column": (Y, np.zeros((3, 0)), InputValueError, r"shape \(n,\), \(n, 1\), \(n, 2\) or \(n, K\); got \(3, 0\)"),
    "three dimensions": (Y, np.zeros((3, 2, 2)), InputValueError, r"shape \(n,\), \(n, 1\), \(n, 2\) or \(n, K\); got \(3, 2, 2\)"),
    "frame of models": (Y, pd.DataFrame({"a": P, "b": P}), InputValueError, r"sum to 1 .*if the columns are models, pass a mapping, such as \{name: frame\[name\] for name in frame\}"),
    "2-D outcomes": ([[0], [1], [1]], P, InputValueError, r"y_true must be 1-D.* got shape \(3, 1\).*ravel"),
    "one-hot outcomes": ([[1, 0], [0, 1], [0, 1]], ROWS, InputValueError, r"y_true must be 1-D.*argmax"),
    "object forecasts": (Y, np.array(P, dtype=object), InputTypeError, r"y_proba must hold real numbers; got objects\. Hint: convert"),
    "decimals and text": (Y, [decimal.Decimal("0.2"), 0.4, "0.9"], InputTypeError, r"y_proba must hold real numbers; got objects"),
    "nan among decimals": (Y, [decimal.Decimal(p) for p in ("0.2", "nan", "0.9")], MissingValuesError, r"y_proba .* missing .*row 1 .*\(1 of 3 rows\)"),
    "none among decimals": (Y, [decimal.Decimal("0.2"), None, decimal.Decimal("0.9")], MissingValuesError, r"y_proba .* missing .*row 1"),
    "decimal above 1": (Y, [decimal.Decimal("1.5")] * 3, InputValueError, r"y_proba must lie in \[0, 1\]; row 0 is 1\.5"),
    "string forecasts": (Y, ["0.2", "0.4", "0.9"], InputTypeError, r"y_proba must hold real numbers; got (strings|objects)"),
    "complex forecasts": (Y, np.array(P) + 0j, InputTypeError, r"y_proba must hold real numbers; got complex numbers"),
    "dates": (Y, np.array(["2020-01-01"] * 3, dtype="datetime64[D]"), InputTypeError, r"must hold real numbers; got values of dtype datetime64"),
    "string labels": (["no", "yes", "yes"], P, InputValueError, r"y_true must hold 0 and 1 .* got (strings|objects)\. Hint: pass labels="),
    "labels -1 and 1": ([-1, 1, 1], P, InputValueError, r"y_true must hold 0 and 1 .*row 0 is -1 \(1 of 3 rows\).*labels="),
    "labels 1 and 2": ([1, 2, 2], P, InputValueError, r"row 1 is 2 \(2 of 3 rows\)\. Hint: pass labels="),
    "labels 0 and 100": ([0, 100, 100], P, InputValueError, r"row 1 is 100 "),
    "half an event": ([0, 0.5, 1], P, InputValueError, r"row 1 is 0\.5 .*swapped"),
    "swapped": (P, Y, InputValueError, SWAPPED),
    "class outside": ([0, 1, 2], ROWS, InputValueError, r"y_true must hold 0 and 1 .*row 2 is 2 .*labels="),
    "class below": ([0, 1, -1], ROWS, InputValueError, r"row 2 is -1 "),
    "class between": ([0, 1, 0.5], ROWS, InputValueError, r"row 2 is 0\.5 "),
    "one string for two columns": (["b", "b", "b"], ROWS, InputValueError, r"y_true must hold two labels, .*got 1: 'b'\. Hint: pass labels="),
    "three strings for two columns": (["a", "b", "c"], ROWS, InputValueError, r"y_true must hold two labels, .*got 3: 'a', 'b', 'c'"),
    "string classes": (["a", "b", "b"], [[0.2, 0.3, 0.5]] * 3, InputValueError, r"cannot be matched to the columns.*labels="),
    "scalar": (1, 0.5, InputTypeError, r"y_true must be an array .*got a single int.*list"),
    "generator": ((y for y in Y), P, InputTypeError, r"y_true must be an array .*got a single generator"),
    "ragged rows": (Y, [[0.2, 0.8], [1.0], [0.1, 0.9]], InputValueError, r"equally long"),
    "lazy frame": (Y, pl.LazyFrame({"a": P}), InputTypeError, r"got a lazy LazyFrame.*collect"),
    "no forecast": (Y, None, InputTypeError, r"y_proba is required with y_true"),
    "masked forecast": (Y, np.ma.array(P, mask=[0, 1, 0]), MissingValuesError, r"y_proba .* missing .*row 1"),
    "masked outcome": (np.ma.array(Y, mask=[0, 0, 1]), P, MissingValuesError, r"y_true .* missing .*row 2"),
    "other index": (pd.Series(Y), pd.Series(P, index=[2, 1, 0]), InputValueError, r"carry different indices.*align"),
}  # fmt: skip


@pytest.mark.parametrize(("y", "p", "kind", "message"), REFUSED.values(), ids=REFUSED)
@pytest.mark.parametrize("score", [pr.brier_score, pr.log_score])
def test_bad_input_raises_one_clear_error(score, y, p, kind, message):
    with pytest.raises(kind, match=message):
        score(y, p)


def test_errors_are_also_the_built_in_ones():
    with pytest.raises(ValueError, match="y_proba"):
        pr.brier_score(Y, [2, 0, 0])
    with pytest.raises(TypeError, match="y_proba"):
        pr.brier_score(Y, ["a", "b", "c"])
    with pytest.raises(pr.errors.ProprietyError):
        pr.brier_score(Y, [2, 0, 0])


WEIGHTS = {
    "negative": ([1, -1, 1], InputValueError, r"sample_weight must be finite and not negative; row 1 is -1 \(1 of 3 rows\)"),
    "nan": ([1, NAN, 1], MissingValuesError, r"sample_weight .* missing .*row 1"),
    "infinite": ([1, np.inf, 1], InputValueError, r"sample_weight must be finite .*row 1 is inf"),
    "all zero": ([0, 0, 0], InputValueError, r"positive for at least one case; all are 0"),
    "length": ([1, 1], InputValueError, r"y_true has 3 rows and sample_weight 2"),
    "two columns": ([[1, 1]] * 3, InputValueError, r"sample_weight must be 1-D"),
    "strings": (["a", "b", "c"], InputTypeError, r"sample_weight must hold real numbers"),
    "complex": ([1j, 1, 1], InputTypeError, r"sample_weight must hold real numbers; got complex"),
}  # fmt: skip


@pytest.mark.parametrize(("weight", "kind", "message"), WEIGHTS.values(), ids=WEIGHTS)
@pytest.mark.parametrize("proba", [P, ROWS], ids=["event", "rows"])
def test_bad_weights_raise(proba, weight, kind, message):
    with pytest.raises(kind, match=message):
        pr.brier_score(Y, proba, sample_weight=weight)
    if proba is P:
        with pytest.raises(kind, match=message):
            ForecastTable.from_predictions(Y, proba, sample_weight=weight)


LABELS = {
    "third label": (["a", "b", "c"], P, {"pos_label": "a"}, r"pos_label='a' and one other label; got both 'b' and 'c'.*y_true == 'a'"),
    "misspelt event": (["no", "yes", "yes"], P, {"pos_label": "Yes"}, r"pos_label='Yes' and one other label"),
    "three labels for one event": (Y, P, {"labels": [0, 1, 2]}, r"the two outcomes of a binary y_proba; got 3 labels"),
    "event not among labels": (["a", "b", "b"], P, {"labels": ["a", "b"], "pos_label": "c"}, r'pos_label must be one of "a", "b"; got'),
    "unseen label": (["a", "b", "z"], ROWS, {"labels": ["a", "b"]}, r"only the labels \['a', 'b'\]; row 2 is 'z' \(1 of 3 rows\)"),
    "too many labels": (Y, ROWS, {"labels": [0, 1, 2]}, r"the two outcomes of a binary y_proba; got 3 labels"),
    "too many labels for classes": (Y, np.eye(3), {"labels": range(4)}, r"got 4 labels for 3 columns"),
    "twice the same label": (Y, ROWS, {"labels": [1, 1]}, r"labels must be distinct; got \[1, 1\]"),
    "event for classes": (Y, np.eye(3), {"pos_label": 1}, r"pos_label belongs to a binary outcome"),
    "nan among float labels": ([1.0, NAN, 2.0], P, {"pos_label": 1.0}, r"y_true .* missing values"),
}  # fmt: skip


@pytest.mark.parametrize(("y", "p", "options", "message"), LABELS.values(), ids=LABELS)
def test_labels_are_never_guessed(y, p, options, message):
    with pytest.raises(InputValueError, match=message):
        pr.brier_score(y, p, **options)


ACCEPTED = {
    "lists": (Y, P, {}),
    "tuples": (tuple(Y), tuple(P), {}),
    "booleans": ([False, True, True], P, {}),
    "floats": ([0.0, 1.0, 1.0], P, {}),
    "unsigned": (np.array(Y, dtype=np.uint8), np.array(P), {}),
    "object booleans": (np.array([False, True, True], dtype=object), P, {}),
    "big-endian": (np.array(Y, dtype=">i4"), np.array(P, dtype=">f8"), {}),
    "long double": (Y, np.array(P, dtype=np.longdouble), {}),
    "read-only": (np.broadcast_to(np.array(Y), (3,)), np.array(P), {}),
    "not contiguous": (np.array(Y), np.array(P * 2).reshape(2, 3).T.copy()[:, 0], {}),
    "reversed view": (np.array(Y[::-1])[::-1], np.array(P[::-1])[::-1], {}),
    "masked without masked entries": (np.ma.array(Y), np.ma.array(P), {}),
    "pandas": (pd.Series(Y), pd.Series(P), {}),
    "pandas nullable": (pd.Series(Y, dtype="Int64"), pd.Series(P, dtype="Float64"), {}),
    "pandas booleans": (pd.Series([False, True, True], dtype="boolean"), pd.Series(P), {}),
    "pandas categories": (pd.Series(["n", "y", "y"], dtype="category"), P, {"pos_label": "y"}),
    "polars": (pl.Series(Y), pl.Series(P), {}),
    "polars categories": (pl.Series(["n", "y", "y"], dtype=pl.Categorical), P, {"pos_label": "y"}),
    "arrow": (pa.chunked_array([Y]), pa.chunked_array([P]), {}),
    "strings": (["no", "yes", "yes"], P, {"pos_label": "yes"}),
    "minus one and one": ([-1, 1, 1], P, {"pos_label": 1}),
    "one and two": ([1, 2, 2], P, {"labels": [1, 2]}),
    "the other label": ([1, 0, 0], P, {"pos_label": 0}),
    "labels and event": (["yes", "no", "no"], P, {"labels": ["no", "yes"], "pos_label": "no"}),
    "weights of one": (Y, P, {"sample_weight": [2, 2, 2]}),
    "int weights": (Y, P, {"sample_weight": np.array([7, 7, 7], dtype=np.int8)}),
    "two columns": (Y, [[1 - p, p] for p in P], {"scale": "half"}),
    "boolean classes": ([False, True, True], [[1 - p, p] for p in P], {"scale": "half"}),
    "named classes": (["b", "a", "a"], [[p, 1 - p] for p in P], {"scale": "half", "labels": ["a", "b"]}),
    "pandas rows": (pd.Series(["b", "a", "a"]), pd.DataFrame([[p, 1 - p] for p in P]), {"scale": "half", "labels": ["a", "b"]}),
    "polars rows": (Y, pl.DataFrame([[1 - p, p] for p in P], orient="row"), {"scale": "half"}),
    "Fortran order": (Y, np.asfortranarray([[1 - p, p] for p in P]), {"scale": "half"}),
}  # fmt: skip


@pytest.mark.parametrize(("y", "p", "options"), ACCEPTED.values(), ids=ACCEPTED)
def test_whatever_holds_the_numbers_gives_the_same_score(y, p, options):
    assert pr.brier_score(y, p, **options) == pytest.approx(BRIER, rel=1e-15)


def test_float32_means_float64_inside():
    p = np.array([0.1, 0.7], dtype=np.float32)
    exact = np.mean((p.astype(np.float64) - [0, 1]) ** 2)
    assert pr.brier_score([0, 1], p) == pytest.approx(exact, rel=1e-15)
    assert ForecastTable.from_predictions([0, 1], p).forecast.dtype == np.float64


def test_one_class_is_enough_for_a_score_and_not_for_skill():
    assert pr.brier_score([1, 1], [0.5, 0.5]) == 0.25
    assert pr.brier_score(["no", "no"], [0.5, 0.5], pos_label="yes") == 0.25
    with pytest.raises(InputValueError, match=r"positive, finite loss; its brier is 0\.0\. Hint: .*one class only"):
        pr.skill_score([1, 1], [0.5, 0.5], rule=pr.Brier())
    assert pr.skill_score([1, 1], [0.5, 0.5], rule=pr.Brier(), reference=0.4) == pytest.approx(1 - 0.25 / 0.36)


def test_hard_forecasts_are_forecasts():
    assert pr.brier_score([0, 1], [0, 1]) == 0.0
    assert pr.brier_score([0, 1], [True, True]) == 0.5
    assert pr.log_score([0, 1], [0.0, 1.0]) == 0.0
    assert pr.log_score([1], [1e-320]) == pytest.approx(736.8, abs=0.1)


@pytest.mark.parametrize(
    ("y", "p", "w", "dropped"),
    [
        ([0, 1, None, 1], [0.2, NAN, 0.4, 0.9], None, 2),
        (pd.Series([0, 1, pd.NA, 1], dtype="Int64"), pd.Series([0.2, pd.NA, 0.4, 0.9], dtype="Float64"), None, 2),
        (pl.Series([0, 1, None, 1]), pl.Series([0.2, NAN, 0.4, 0.9]), None, 2),
        (np.array([0.0, 1.0, NAN, 1.0]), np.ma.array([0.2, 0.5, 0.4, 0.9], mask=[0, 1, 0, 0]), None, 2),
        ([0, 1, 1, 1], [0.2, 0.5, 0.4, 0.9], [1, NAN, None, 1], 2),
    ],
)
def test_missing_values_are_dropped_and_counted_when_asked(y, p, w, dropped):
    score = pr.brier_score(pr.cases(y, p, sample_weight=w, missing="drop"))
    assert score == pytest.approx((0.2**2 + 0.1**2) / 2)
    assert (score.n, score.dropped) == (2, dropped)
    assert f"dropped={dropped}" in repr(score)
    table = ForecastTable.from_predictions(y, p, sample_weight=w, missing="drop")
    assert (table.n, table.dropped) == (2, dropped)


def test_dropping_keeps_strings_rows_and_the_numbers_of_rows():
    y = ["a", None, "b", "b"]
    rows = [[0.5, 0.5], [0.5, 0.5], [NAN, 0.5], [0.0, 1.0]]
    assert pr.brier_score(pr.cases(y, rows, labels=["a", "b"], missing="drop")).dropped == 2
    losses = pr.case_scores(pr.cases(y, rows, labels=["a", "b"], missing="drop"), rule=pr.Brier())
    np.testing.assert_array_equal(losses, [0.25, NAN, NAN, 0.0])
    with pytest.raises(InputValueError, match=r"row 2 is 1\.5 \(1 of 2 rows\)"):
        pr.brier_score(pr.cases([0, NAN, 1], [0.5, 0.5, 1.5], missing="drop"))


def test_nothing_left_is_an_error():
    with pytest.raises(InputValueError, match=r"leaves no case: every row has a missing value \(2 rows\)"):
        pr.brier_score(pr.cases([0, NAN], [NAN, 0.5], missing="drop"))


def test_bad_values_far_behind_are_found_and_counted():
    n = 100_000
    y, p = np.zeros(n, dtype=int), np.full(n, 0.5)
    p[[70_000, 90_000]] = 1.5
    with pytest.raises(InputValueError, match=r"row 70000 is 1\.5 \(2 of 100,000 rows\)"):
        pr.brier_score(y, p)
    y[80_000] = 7
    with pytest.raises(InputValueError, match=r"row 80000 is 7 \(1 of 100,000 rows\)"):
        ForecastTable.from_predictions(y, np.full(n, 0.5))


def test_the_arguments_are_left_as_they_were():
    y, p = np.array(Y), np.array([-0.0, 0.4, 0.9])
    ForecastTable.from_predictions(y, p)
    pr.log_score(y, p)
    assert np.signbit(p[0])
    assert p.tolist() == [0.0, 0.4, 0.9]


@pytest.mark.parametrize("missing", [NAN, None])
@pytest.mark.parametrize(
    "called",
    [
        lambda missing: pr.bayes_decisions([[0.2, 0.8], [missing, 0.4]]),
        lambda missing: pr.recalibrate(Y * 20, P * 20).map([0.2, missing]),
        lambda missing: pr.prior_correction(event_weight=3.0)([0.2, missing]),
        lambda missing: MatrixMap(matrix=0.5, floor=1e-12)([[0.2, 0.8], [missing, 0.4]]),
        pytest.param(
            lambda missing: pr.late_labels([0.2, missing], made=[1, 2], reported=[1, None]),
            marks=pytest.mark.product("late_labels"),
        ),
    ],
    ids=["bayes_decisions", "recalibrate", "prior_correction", "class map", "late_labels"],
)
def test_missing_forecasts_without_outcomes_cannot_be_dropped(called, missing):
    with pytest.raises(MissingValuesError, match=r"row 1 is missing \(1 of 2 rows\)\. Hint: leave such rows out\.$"):
        called(missing)


def test_text_of_polars_keeps_its_last_characters():
    y, p, labels = [0, 1] * 20, np.linspace(0.05, 0.95, 40), ["a\0", "a"] * 20
    one, other = (pr.condense(y, {"m": p}, by={"k": own}).keys for own in (pl.Series(labels), labels))
    assert one == other == {"k": ("a", "a\0")}


def test_natural_mistakes_beside_arrays_have_a_hint():
    y, p = np.array([0, 1, 0, 1] * 5), np.linspace(0.1, 0.9, 20)
    with pytest.raises(InputTypeError, match=r"got a single str. Hint: a column name needs a frame"):
        pr.estimate(y, p, cluster="patient")
    with pytest.raises(InputValueError, match=r"equally long.* Hint: pass several models as a mapping"):
        pr.brier_score(y, [p, p])
    with pytest.raises(InputValueError, match=r"got shape \(20, 2\). Hint: pass several columns as by=dict\(frame\)"):
        pr.slices(y, p, by=np.stack([y, y], axis=1))
    with pytest.raises(InputValueError, match=r"Hint: pass several columns as by=dict\(frame\)"):
        pr.condense(y, p, by=pd.DataFrame({"a": y, "b": y}))
