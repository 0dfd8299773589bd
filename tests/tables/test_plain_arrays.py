"""Arrays of numbers are read by a shorter way than other containers, with the same results and the same errors."""

import numpy as np
import pytest

import propriety as pr
from propriety.errors import InputTypeError, InputValueError, ProprietyError
from propriety.tables import laws
from propriety.tables.arrays import read_array
from propriety.tables.validation import read_cases

INTEGERS = [np.int8, np.uint8, np.int32, np.uint32, np.int64, np.uint64]
Y, P = np.array([0, 1, 1, 0]), np.array([0.2, 0.7, 0.4, 0.1])
ROWS, CLASSES = np.array([[0.2, 0.3, 0.5], [0.6, 0.2, 0.2], [0.1, 0.1, 0.8]]), np.array([2, 0, 1])
GIVEN = {
    "event": (Y, P),
    "booleans": (Y.astype(bool), P),
    "floats": (Y.astype(float), P.astype(np.float32)),
    "big-endian": (Y.astype(">i4"), P.astype(">f8")),
    "reversed": (Y[::-1], P[::-1]),
    "minus zero": (Y, np.array([-0.0, 0.7, 0.4, 0.1])),
    "classes": (CLASSES, ROWS),
    "classes in another order of memory": (CLASSES, np.asfortranarray(ROWS)),
    "two columns": (Y, np.column_stack([1.0 - P, P])),
    "a column": (Y, P[:, None]),
    "an outcome of two": (np.array([0, 1, 2, 0]), P),
    "a negative outcome": (np.array([0, 1, -1, 0]), P),
    "an outcome of one half": (np.array([0, 1, 0.5, 0]), P),
    "a missing outcome": (np.array([0, 1, np.nan, 0]), P),
    "a missing forecast": (Y, np.array([0.2, np.nan, 0.4, 0.1])),
    "an infinite forecast": (Y, np.array([0.2, np.inf, 0.4, 0.1])),
    "a forecast just above one": (Y, np.array([0.2, np.nextafter(1.0, 2.0), 0.4, 0.1])),
    "a forecast just below zero": (Y, np.array([0.2, -5e-324, 0.4, 0.1])),
    "class three of three": (np.array([2, 0, 3]), ROWS),
    "class minus one": (np.array([2, 0, -1]), ROWS),
    "a class and a half": (np.array([2, 0, 1.5]), ROWS),
    "a row that does not sum to one": (CLASSES, ROWS * [[1.0], [1.0], [0.9]]),
    "too few forecasts": (Y, P[:-1]),
    "no cases": (Y[:0], P[:0]),
    "outcomes in a column": (Y[:, None], P),
    "texts": (Y.astype(str), P),
    "dates": (Y, P.astype("datetime64[s]")),
}


def answer(y, p):
    try:
        cases = read_cases(y, p)
        score = pr.brier_score(y, p)
    except ProprietyError as error:
        return type(error), str(error)
    return float(score), score.rule, score.scale, score.n, score.weight, cases.labels, cases.sides, cases.event_note


@pytest.mark.parametrize("name", GIVEN)
def test_arrays_are_read_as_masked_arrays_without_a_mask(name):
    y, p = GIVEN[name]
    assert answer(y, p) == answer(np.ma.masked_array(y), np.ma.masked_array(p))


@pytest.mark.parametrize("kind", [np.array, np.ma.masked_array])
def test_one_number_is_not_an_array_of_forecasts(kind):
    with pytest.raises(InputTypeError, match="y_proba must be an array with one entry per case"):
        pr.brier_score(Y, kind(0.5))


@pytest.mark.parametrize("kind", INTEGERS)
@pytest.mark.parametrize(("outcomes", "right"), [([0, 1, 1], True), ([0, 0], True), ([0, 2], False), ([1, 3], False)])
def test_outcomes_of_every_integer_type_are_checked(kind, outcomes, right):
    assert laws.are_events(np.array(outcomes, dtype=kind)) is right
    assert np.dtype(kind).kind == "u" or not laws.are_events(np.array([0, 1, -1], dtype=kind))


@pytest.mark.parametrize("kind", [np.float64, np.float32, ">f8"])
@pytest.mark.parametrize(
    ("value", "right"),
    [(0.0, True), (-0.0, True), (1.0, True), (1.5, False), (-1e-30, False), (np.nan, False), (np.inf, False)],
)
def test_probabilities_of_every_float_type_are_checked(kind, value, right):
    assert laws.in_unit_interval(np.array([0.5, value, 0.25], dtype=kind)) is right
    assert laws.in_unit_interval(np.array([[0.5, value], [0.25, 1.0]], dtype=kind)) is right


def test_text_that_is_not_utf_8_is_refused():
    pa = pytest.importorskip("pyarrow")
    wrong = pa.array([b"\xc3", b"b"]).view(pa.string())
    with pytest.raises(InputValueError, match="text must be valid UTF-8"):
        read_array(pa.chunked_array([wrong]), "by", role="keys")


@pytest.mark.skipif(not hasattr(np.dtypes, "StringDType"), reason="NumPy has it from version 2 on")
@pytest.mark.parametrize("gap", [None, float("nan")])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("options", [{"pos_label": "a"}, {"labels": ["b", "a"]}])
def test_missing_text_of_numpy_is_missing(gap, masked, options):
    y, p = ["a", "a", gap, "a"], [0.9, 0.3, 0.4, 0.2]
    text = np.array(y, dtype=np.dtypes.StringDType(na_object=gap))
    text = np.ma.masked_array(text) if masked else text
    with pytest.raises(InputValueError, match="y_true must not hold missing values"):
        pr.brier_score(text, p, **options)
    found = pr.brier_score(pr.cases(text, p, missing="drop", **options))
    assert (float(found), found.n, found.dropped) == (pr.brier_score([1, 1, 1], [0.9, 0.3, 0.2]), 3, 1)


@pytest.mark.skipif(not hasattr(np.dtypes, "StringDType"), reason="NumPy has it from version 2 on")
def test_missing_text_of_numpy_beside_classes_is_refused_by_the_package():
    y = np.array(["a", None], dtype=np.dtypes.StringDType(na_object=None))
    with pytest.raises(ProprietyError):
        pr.brier_score(y, np.full((2, 3), 1 / 3))
