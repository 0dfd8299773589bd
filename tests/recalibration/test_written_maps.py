"""Maps as expressions and as SQL give what they give in Python."""

import sys

import duckdb
import narwhals as nw
import numpy as np
import polars as pl
import pytest
from scipy.special import expit

import propriety as pr
from propriety.errors import InputTypeError, InputValueError, MissingDependencyError, UnsupportedOperationError
from propriety.recalibration import (
    METHODS,
    IdentityMap,
    MatrixMap,
    OddsMap,
    SegmentEffect,
    SegmentMap,
    SplineMap,
    written_maps,
)
from propriety.tables.forecast_table import ForecastTable

RNG = np.random.default_rng(5)
X = RNG.normal(0.0, 1.6, 2500)
TABLE = ForecastTable.from_predictions(RNG.random(2500) < expit(0.7 * X - 0.2), expit(X))
FORECASTS = np.concatenate(
    [[0.0, 1.0, 5e-324, 1e-310, 1.0 - 2.0**-53, 0.5], RNG.random(20_000), TABLE.forecast, expit(RNG.normal(0, 9, 5000))]
)
MAPS = {method: fit(TABLE) for method, fit in METHODS.items()}
MAPS["far"] = OddsMap(intercept=300.0, slope=900.0, floor=1e-6)
MAPS["low floor"] = OddsMap(intercept=-0.1, slope=0.9, floor=2.0**-53)
MAPS["one knot"] = SplineMap(knots=[0.3], level=-0.5, slopes=[0.7], floor=0.001)
MAPS["knots beyond the floor"] = SplineMap(knots=[-9.0, 0.3, 9.0], level=-6.0, slopes=[0.0, 2.0, 1.0], floor=0.001)
EXACT = ("none", "floored", "isotonic", "venn-abers")


def on_duckdb(frame, text):
    return duckdb.from_arrow(frame.to_arrow()).project(f"{text} as q").pl()["q"]


def assert_same(method, found):
    wanted = MAPS[method](FORECASTS)
    if method in EXACT:
        np.testing.assert_array_equal(found, wanted)
    else:
        # Python has log-odds beyond 700 that are no numbers elsewhere; both are certain there.
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("method", MAPS)
def test_duckdb(method):
    found = on_duckdb(pl.DataFrame({"p": FORECASTS}), MAPS[method].to_sql("p"))
    assert_same(method, found.to_numpy())


@pytest.mark.slow
@pytest.mark.parametrize("method", MAPS)
@pytest.mark.parametrize("library", ["polars", "polars lazy", "pandas", "duckdb"])
def test_expressions(method, library):
    frame = pl.DataFrame({"p": FORECASTS})
    given = {
        "polars": frame,
        "polars lazy": frame.lazy(),
        "pandas": frame.to_pandas(),
        "duckdb": duckdb.sql("select * from frame"),
    }
    found = nw.from_native(given[library]).select(MAPS[method].expression("p").alias("q")).lazy().collect("polars")
    assert_same(method, found["q"].to_numpy())


@pytest.mark.slow
@pytest.mark.parametrize("method", MAPS)
@pytest.mark.parametrize("dialect", ["postgres", "spark", "bigquery", "snowflake"])
def test_other_dialects_say_the_same_once_read_back(method, dialect):
    sqlglot = pytest.importorskip("sqlglot")
    text = MAPS[method].to_sql('a "p"', dialect=dialect)
    (back,) = sqlglot.transpile(text, read=dialect, write="duckdb")
    assert_same(method, on_duckdb(pl.DataFrame({'a "p"': FORECASTS}), back).to_numpy())


@pytest.mark.parametrize("method", MAPS)
def test_what_is_no_forecast_becomes_null(method):
    frame = pl.DataFrame({"p": [None, float("nan"), -0.1, 1.1, float("inf"), 0.5]})
    wanted = [True] * 5 + [False]
    assert on_duckdb(frame, MAPS[method].to_sql("p")).is_null().to_list() == wanted
    assert (
        nw.from_native(frame).select(MAPS[method].expression(nw.col("p")).alias("q"))["q"].is_null().to_list() == wanted
    )


def test_nan_in_a_file_is_no_forecast_and_no_label(tmp_path):
    """DuckDB compares with the statistics of a Parquet file, which leave out NaN."""
    path = str(tmp_path / "nan.parquet")
    nan = float("nan")
    rows = [[0.2, 50.0, 0.3], [nan, 50.0, 0.3], [0.2, nan, 0.3], [0.2, 50.0, nan]]
    pl.DataFrame(rows, schema=["p", "age", "r"], orient="row").write_parquet(path)
    old = SegmentMap(whole=IdentityMap(), effects=(SegmentEffect((("age", (30.0, None)),), 1.0),), floor=1e-6)
    classes = MatrixMap(matrix=0.5, floor=1e-6)
    moved, both = old([0.2], by={"age": [50.0]})[0], classes([[0.2, 0.3, 0.5]])[0, 0]
    file = nw.from_native(duckdb.sql(f"SELECT *, 0.5 AS s FROM '{path}'"))  # noqa: S608  (a file of the test)
    third = ["p", "r", "s"]
    found = file.select(
        **{name: own.expression("p") for name, own in MAPS.items()},
        old=old.expression("p"),
        class_=classes.expression(third)[0],
    ).collect("polars")
    text = {**{name: own.to_sql("p") for name, own in MAPS.items()}, "old": old.to_sql("p")}
    text["class_"] = classes.to_sql(third)[0]
    written = file.to_native().project(", ".join(f'{one} AS "{name}"' for name, one in text.items())).pl()
    for frame in (found.to_native(), written):
        for name, own in MAPS.items():
            q = own([0.2])[0]
            assert frame[name].to_list() == [pytest.approx(q), None, pytest.approx(q), pytest.approx(q)], name
        assert frame["old"].to_list() == [pytest.approx(moved), None, pytest.approx(0.2), pytest.approx(moved)]
        assert frame["class_"].to_list() == [pytest.approx(both), None, pytest.approx(both), None]


def test_the_result_writes_its_map():
    found = pr.recalibrate(pr.Ledger.of_tables({"p": TABLE}))
    assert found.to_sql("p") == MAPS["auto"].to_sql("p")
    frame = nw.from_native(pl.DataFrame({"p": [0.2, 0.7]}))
    column = frame.select(found.expression("p").alias("q"))["q"].to_numpy()
    np.testing.assert_allclose(column, found([0.2, 0.7]), rtol=1e-12)


def test_whole_numbers_and_single_precision_are_forecasts_too():
    frame = pl.DataFrame({"whole": [0, 1], "single": pl.Series([0.25, 0.75], dtype=pl.Float32)})
    for column in ("whole", "single"):
        found = on_duckdb(frame, MAPS["logistic"].to_sql(column)).to_numpy()
        np.testing.assert_allclose(found, MAPS["logistic"](frame[column]), rtol=1e-12)
        own = nw.from_native(frame).select(MAPS["logistic"].expression(column).alias("q"))["q"].to_numpy()
        np.testing.assert_allclose(own, found, rtol=1e-12)


def test_what_cannot_be_written_is_refused(monkeypatch):
    for floor in (0.0, 1e-17):  # One minus either is 1.
        with pytest.raises(UnsupportedOperationError, match="floor"):
            OddsMap(slope=0.9, floor=floor).to_sql("p")
    with pytest.raises(InputValueError, match="dialect"):
        MAPS["auto"].to_sql("p", dialect="dbase")
    with pytest.raises(InputTypeError, match="column"):
        MAPS["auto"].to_sql(3)
    with pytest.raises(InputTypeError, match="column"):
        MAPS["auto"].expression(3)
    monkeypatch.setattr(written_maps, "MOST_PIECES", 3)
    with pytest.raises(UnsupportedOperationError, match="pieces"):
        MAPS["isotonic"].to_sql("p")
    monkeypatch.setitem(sys.modules, "sqlglot", None)  # As if it were not installed.
    with pytest.raises(MissingDependencyError, match="SQLGlot"):
        MAPS["logistic"].to_sql("p", dialect="spark")
