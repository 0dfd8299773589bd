"""Columns that define segments: missing numbers, columns that are mostly one number, and any name."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import propriety as pr
from propriety.errors import InputValueError, MissingValuesError
from propriety.products.segments.columns import cut_of_numbers

RNG = np.random.default_rng(1)
N = 3000
P, AGE = RNG.uniform(0.1, 0.5, N), RNG.integers(20, 90, N)
Y = (RNG.random(N) < np.where(AGE > 76, np.minimum(1.8 * P, 1.0), P)).astype(int)
SITE = RNG.choice(list("abc"), N)
FRAME = pd.DataFrame({"y": Y, "p": P, "age": AGE, "site": SITE})


def searched(frame, by, **options):
    return pr.find_segments(pr.cases(frame, "p", by=by, outcome="y", **options), seed=1, n_resamples=200)


def with_missing(columns, kind):
    """Leave out what row 5 has in some columns, in a frame of any kind."""
    frame = pl.DataFrame(FRAME)
    row = pl.int_range(pl.len()) == 5
    frame = frame.with_columns(*(pl.when(~row).then(pl.col(name)).alias(name) for name in columns))
    kinds = {"polars": lambda: frame, "lazy": frame.lazy, "pandas": frame.to_pandas}
    return kinds[kind]() if kind in kinds else frame.to_pandas().convert_dtypes()


@pytest.mark.parametrize("kind", ["polars", "nullable", "pandas", "lazy"])
def test_a_missing_number_is_refused_by_its_name_and_is_not_put_into_a_segment(kind):
    law = r"(by\['age'\]|by) must be known for every case|age"
    for missing in ("raise", "drop"):
        with pytest.raises(MissingValuesError, match=law) as error:
            searched(with_missing(["age"], kind), ["site", "age"], missing=missing)
        assert "__" not in str(error.value)


@pytest.mark.parametrize("kind", ["polars", "nullable", "pandas", "lazy"])
def test_rows_that_are_left_out_do_not_keep_numbers_from_being_cut(kind):
    frame = with_missing(["age", "p"], kind)
    found = searched(frame, ["site", "age"], missing="drop")
    kept = searched(FRAME.drop(index=5), ["site", "age"])
    assert (found.tested, found.dropped, found.segment.tolist()) == (kept.tested, 1, kept.segment.tolist())
    assert found.segment[0].startswith("age = above 7")
    reading, options = {"outcome": "y", "by": ["age"]}, {"method": "logistic"}
    recalibrated = pr.recalibrate_segments(pr.cases(frame, "p", missing="drop", **reading), **options)
    expected = pr.recalibrate_segments(pr.cases(FRAME, "p", **reading), **options)
    assert recalibrated.map.to_dict().keys() == expected.map.to_dict().keys()
    assert len(str(recalibrated.map.to_dict())) < 5000


def test_a_column_that_is_mostly_its_largest_number_is_cut_below_it():
    most = np.where(AGE > 76, AGE / 100.0, 100.5)
    above, below = (pr.find_segments(pr.cases(Y, P, by={"x": x}), seed=1, n_resamples=200) for x in (most, -most))
    assert above.segment[0].startswith("x = up to 0.8")
    assert below.segment[0] == "x = above -100.5"
    assert above.n[0] == below.n[0] == (AGE > 76).sum()
    assert cut_of_numbers(np.full(9, 0.5), 4) is None


def test_numbers_are_cut_into_2_to_1000_parts():
    for wrong in (1, 1001, 10**30):
        with pytest.raises(InputValueError, match=f"quantiles must be a whole number from 2 to 1,000; got {wrong}"):
            pr.find_segments(pr.cases(FRAME, "p", by="age", outcome="y"), quantiles=wrong)


def test_columns_may_have_the_names_that_ledgers_use():
    named = FRAME.rename(columns={"age": "period", "site": "cluster"}).assign(outcome=SITE)
    by = ["cluster", "period", "outcome"]
    found = searched(named, by)
    assert found.by == tuple(by)
    expected = searched(FRAME.assign(other=SITE), ["site", "age", "other"])
    assert found.tested == expected.tested
    assert found.segment.tolist() == [text.replace("age", "period") for text in expected.segment]
    lazy = searched(pl.LazyFrame(named), by)
    assert lazy.segment.tolist() == found.segment.tolist()
    arrays = pr.find_segments(pr.cases(Y, P, by={name: named[name].to_numpy() for name in by}), seed=1, n_resamples=200)
    assert arrays.segment.tolist() == found.segment.tolist()
    read = pr.cases(named, "p", outcome="y", by=["cluster", "period"])
    recalibrated = pr.recalibrate_segments(read, method="logistic")
    assert "'period', [" in str(recalibrated.map.to_dict())


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.LazyFrame], ids=["eager", "lazy"])
def test_the_outcome_is_no_column_of_segments(kind):
    # Made here: Polars converts it in threads of its own, which do not survive in the forks of `quality/mutation.py`.
    frame = kind(FRAME)
    with pytest.raises(InputValueError, match="by must not name 'y', the column of the outcomes"):
        searched(frame, ["site", "y"])
