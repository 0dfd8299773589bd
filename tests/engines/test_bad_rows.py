"""Bad rows are refused on every engine as they are in NumPy: the same error, law, count and hint."""

import re

import narwhals as nw
import numpy as np
import polars as pl
import pytest

from propriety.errors import InputTypeError, InputValueError, ProprietyError, UnsupportedOperationError
from propriety.tables.forecast_table import ForecastTable

NAN, INF = float("nan"), float("inf")
WHOLE = {"y": [0, 1, 1, 0, 1, 0], "p": [0.1, 0.9, 0.5, 0.3, 0.0, 1.0], "w": [1.0, 2.0, 1.0, 0.0, 1.0, 1.0]}
WORDS = ["no", "yes", "yes", "no", "yes", "no"]

BAD = {
    "forecast null": ({"p": [0.1, None, 0.5, None, 0.0, 1.0]}, {}),
    "forecast nan": ({"p": [0.1, NAN, 0.5, 0.3, 0.0, 1.0]}, {}),
    "outcome null": ({"y": [0, 1, None, 0, 1, 0]}, {}),
    "outcome nan": ({"y": [0.0, 1.0, NAN, 0.0, 1.0, 0.0]}, {}),
    "weight null": ({"w": [1.0, None, 1.0, 0.0, 1.0, 1.0]}, {}),
    "weight nan": ({"w": [1.0, NAN, 1.0, 0.0, NAN, 1.0]}, {}),
    "forecast above": ({"p": [0.1, 1.2, 0.5, 0.3, 0.0, 1.0]}, {}),
    "forecast below": ({"p": [0.1, -0.2, 0.5, -3.0, 0.0, 1.0]}, {}),
    "forecast percent": ({"p": [10.0, 90.0, 50.0, 30.0, 0.0, 100.0]}, {}),
    "forecast rounding": ({"p": [0.1, 1.0 + 1e-12, 0.5, -1e-13, 0.0, 1.0]}, {}),
    "forecast infinite": ({"p": [0.1, INF, 0.5, -INF, 0.0, 1.0]}, {}),
    "outcome two": ({"y": [0, 2, 1, 0, -1, 0]}, {}),
    "outcome fraction": ({"y": [0.0, 0.5, 1.0, 0.0, 1.0, 0.0]}, {}),
    "outcome infinite": ({"y": [0.0, INF, 1.0, 0.0, 1.0, 0.0]}, {}),
    "weight negative": ({"w": [1.0, -2.0, 1.0, 0.0, 1.0, -1.0]}, {}),
    "weight infinite": ({"w": [1.0, INF, 1.0, 0.0, 1.0, 1.0]}, {}),
    "weights zero": ({"w": [0.0] * 6}, {}),
    "label unknown": ({"y": ["no", "yes", "perhaps", "no", "yes", "no"]}, {"labels": ["no", "yes"]}),
    "label third": ({"y": ["no", "yes", "perhaps", "no", "yes", "no"]}, {"pos_label": "yes"}),
    "label missing": ({"y": ["no", "yes", None, "no", "yes", "no"]}, {"pos_label": "yes"}),
    "number unknown": ({"y": [1, 2, 3, 1, 2, 1]}, {"labels": [1, 2]}),
    "words without a label": ({"y": WORDS}, {}),
    "all missing": ({"p": [None] * 6}, {"missing": "drop"}),
    "bad beside missing": ({"p": [0.1, 1.2, None, 0.3, 0.0, 1.0]}, {"missing": "drop"}),
}


def refusal(make):
    with pytest.raises(ProprietyError) as caught:
        make()
    return caught.value


def plain(error):
    """Return the type and the message without the offender, which a query does not know by its row."""
    text = re.sub(r"; (row \d+ is|one is) [^()]*(?= \()", "", str(error))
    return type(error), text.replace("'no' and 'perhaps'", "two").replace("'perhaps' and 'no'", "two")


# A query of a cluster takes a second, so that it is asked only what engines see differently.
ASKED_OF_SPARK = ["forecast null", "forecast nan", "outcome nan", "label unknown"]


def test_violations_are_told_as_in_numpy(lazy_engine, request):
    asked = ASKED_OF_SPARK if "spark" in request.node.name else BAD
    for name in asked:
        change, options = BAD[name]
        frame = pl.DataFrame(WHOLE | change, schema_overrides={"p": pl.Float64}, strict=False)
        lazy, columns = lazy_engine(frame), {"outcome": "y", "forecast": "p", "weight": "w"}
        told = refusal(lambda: ForecastTable.from_frame(lazy, **columns, **options))  # noqa: B023  (called at once)
        expected = refusal(lambda: ForecastTable.from_frame(frame, **columns, **options))  # noqa: B023
        assert plain(told) == plain(expected), name


EXAMPLES = {
    "above": (
        {"p": [0.1, 1.2, 0.5, 0.3, 0.0, 1.0]},
        r"y_proba must lie in \[0, 1\]; one is 1\.2 \(1 of 6 rows\)\. Hint",
    ),
    "below": ({"p": [0.1, -0.2, 0.5, -3.0, 0.0, 1.0]}, r"one is -3\.0 \(2 of 6 rows\)"),
    "outcome": ({"y": [0, 2, 1, 0, -1, 0]}, r"one is -1 \(2 of 6 rows\)"),
    "weight": (
        {"w": [1.0, -2.0, 1.0, 0.0, 1.0, -1.0]},
        r"sample_weight must be finite .* one is -2\.0 \(2 of 6 rows\)",
    ),
}


@pytest.mark.parametrize(("change", "message"), EXAMPLES.values(), ids=EXAMPLES)
def test_an_offender_is_shown(change, message):
    frame = pl.LazyFrame(WHOLE | change)
    with pytest.raises(InputValueError, match=message):
        ForecastTable.from_frame(frame, outcome="y", forecast="p", weight="w")


def test_a_row_that_breaks_several_laws_counts_for_each():
    frame = pl.LazyFrame({"y": [0, 7, 1], "p": [1.5, 1.5, 0.5], "w": [1.0, -1.0, 1.0]})
    with pytest.raises(InputValueError, match=r"y_proba must lie in \[0, 1\].*\(2 of 3 rows\)"):
        ForecastTable.from_frame(frame, outcome="y", forecast="p", weight="w")


def test_the_group_of_a_violation_is_named(lazy_engine):
    frame = pl.DataFrame({"y": [0, 1, 1, 0], "p": [0.1, 0.2, 1.3, 0.4], "g": ["b", "a", None, "b"], "h": [1, 1, 2, 2]})
    lazy = lazy_engine(frame)
    with pytest.raises(
        InputValueError, match=r"In the group None: y_proba must lie in \[0, 1\]; one is 1.3 \(1 of 1 rows\)"
    ):
        ForecastTable.from_frame(lazy, outcome="y", forecast="p", by="g")
    with pytest.raises(InputValueError, match=r"In the group 2: .*\(1 of 2 rows\)"):
        ForecastTable.from_frame(lazy, outcome="y", forecast="p", by="h")


def test_nan_and_null_are_dropped_alike(lazy_engine):
    frame = pl.DataFrame({"y": [0, 1, 1, 0, 1], "p": [0.1, NAN, None, 0.4, 0.5], "w": [1.0, 1.0, 1.0, NAN, 2.0]})
    table = ForecastTable.from_frame(lazy_engine(frame), outcome="y", forecast="p", weight="w", missing="drop")
    assert (table.dropped, table.n, table.forecast.tolist()) == (3, 2, [0.1, 0.5])


def test_an_empty_frame_is_refused(lazy_engine):
    frame = pl.DataFrame(WHOLE).head(0)
    with pytest.raises(InputValueError, match="must hold at least one case; both are empty"):
        ForecastTable.from_frame(lazy_engine(frame), outcome="y", forecast="p")


KINDS = {
    "forecast": ({"p": WORDS}, {}, InputTypeError, "y_proba must hold real numbers; got values of dtype String"),
    "weight": ({"w": WORDS}, {}, InputTypeError, "sample_weight must hold real numbers"),
    "kind of label": (
        {},
        {"pos_label": "yes"},
        InputValueError,
        "labels of the same type as pos_label='yes'; got values of dtype Int64",
    ),
    "kind of word": (
        {"y": WORDS},
        {"pos_label": 1},
        InputValueError,
        "labels of the same type as pos_label=1; got values of dtype String",
    ),
    "three labels": ({"y": WORDS}, {"labels": ["a", "b", "c"]}, InputValueError, "labels must name the two outcomes"),
    "no such label": (
        {"y": WORDS},
        {"labels": ["no", "yes"], "pos_label": "a"},
        InputValueError,
        "pos_label must be one of",
    ),
    "missing": ({}, {"missing": "ignore"}, InputValueError, 'missing must be one of "raise", "drop"'),
    "by": ({}, {"by": []}, InputValueError, "by must name at least one column"),
    "column": ({}, {"by": "z"}, InputValueError, r"it lacks \['z'\]"),
}


@pytest.mark.parametrize(("change", "options", "kind", "message"), KINDS.values(), ids=KINDS)
def test_columns_are_judged_before_any_row(change, options, kind, message):
    with pytest.raises(kind, match=message):
        ForecastTable.from_frame(pl.LazyFrame(WHOLE | change), outcome="y", forecast="p", weight="w", **options)


def test_an_operation_that_an_engine_lacks_is_named(monkeypatch):
    def lacking(*_):
        message = "`floor` is not available"
        raise NotImplementedError(message)

    monkeypatch.setattr(nw.Expr, "floor", lacking)
    with pytest.raises(
        UnsupportedOperationError, match="polars cannot do the GROUP BY of a forecast table; `floor` is not available"
    ):
        ForecastTable.from_frame(pl.LazyFrame(WHOLE), outcome="y", forecast="p", exact=False)


@pytest.mark.parametrize("place", [0, 49_999, 99_999])
def test_one_bad_row_among_many_is_found(place):
    p = np.random.default_rng(0).random(100_000)
    p[place] = 1.0 + 1e-15
    with pytest.raises(InputValueError, match=r"\(1 of 100,000 rows\). Hint: this looks like rounding error"):
        ForecastTable.from_frame(pl.LazyFrame({"y": p > 0.5, "p": p}), outcome="y", forecast="p")
