"""Recalibration maps as SQL on real servers give what they give in Python.

BigQuery and Snowflake are not run: `tests/recalibration/test_written_maps.py` reads their SQL back with SQLGlot, and runs
what that makes of it on DuckDB.
"""

import math

import numpy as np
import polars as pl
import pytest
from scipy.special import expit

from propriety.recalibration import METHODS, IsotonicMap, OddsMap, SplineMap, VennAbersMap
from propriety.tables.forecast_table import ForecastTable

pytestmark = pytest.mark.engine

RNG = np.random.default_rng(5)
X = RNG.normal(0.0, 1.6, 2000)
TABLE = ForecastTable.from_predictions(RNG.random(2000) < expit(0.7 * X - 0.2), np.round(expit(X), 4))
EDGES = [0.0, 1.0, 5e-324, 1e-310, 2.0**-1022, 2.0**-53, 1.0 - 2.0**-53]
FORECASTS = np.sort(np.concatenate([EDGES, TABLE.forecast, RNG.random(5000), expit(RNG.normal(0, 9, 500))]))
NO_FORECASTS = [None, math.nan, -0.1, -5e-324, 1.0 + 2.0**-52, math.inf, -math.inf]
MAPS = {method: fit(TABLE) for method, fit in METHODS.items()}
MAPS["far"] = OddsMap(intercept=300.0, slope=900.0, floor=1e-6)  # Beyond the exponentials of doubles.
MAPS["falling"] = OddsMap(intercept=0.3, slope=-2.0, floor=1e-6)
MAPS["low floor"] = OddsMap(intercept=-0.1, slope=0.9, floor=2.0**-53)
MAPS["knots beyond the floor"] = SplineMap(knots=[-9.0, 0.3, 9.0], level=-6.0, slopes=[0.0, 2.0, 1.0], floor=0.001)
MAPS["points at the ends"] = IsotonicMap(forecast=[0.0, 0.3, 1.0], event_rate=[0.0, 0.2, 1.0])
MAPS["one step"] = VennAbersMap(low_from=[0.2], low=[0.1], high_to=[0.3], high=[0.3])
EXACT = ("none", "floored", "isotonic", "venn-abers", "points at the ends", "one step")


GIVEN = pl.DataFrame({"p": [*FORECASTS.tolist(), *NO_FORECASTS]}).with_row_index("place").cast({"place": pl.Int64})


@pytest.fixture(scope="module")
def on_duckdb(duckdb_connection):
    duckdb_connection.register("forecasts", GIVEN.to_arrow())

    def column(own):
        query = f"select {own.to_sql('p')} from forecasts order by place"  # noqa: S608  (made here)
        return [value for (value,) in duckdb_connection.sql(query).fetchall()]

    return column


@pytest.fixture(scope="module")
def on_postgresql(postgresql):
    table = postgresql.create_table("forecasts", GIVEN.to_arrow(), overwrite=True).get_name()

    def column(own):
        query = f"select {own.to_sql('p', dialect='postgres')} from {table} order by place"  # noqa: S608  (made here)
        with postgresql.raw_sql(query) as cursor:
            return [value for (value,) in cursor.fetchall()]

    return column


@pytest.fixture(scope="module")
def on_spark(spark, tmp_path_factory):
    path = str(tmp_path_factory.mktemp("forecasts") / "forecasts.parquet")
    GIVEN.write_parquet(path)
    frame = spark.read.parquet(path)

    def column(own):
        found = frame.selectExpr("place", f"{own.to_sql('p', dialect='spark')} as q")
        return [row.q for row in found.sort("place").collect()]

    return column


@pytest.mark.parametrize("server", ["on_duckdb", "on_postgresql", "on_spark"])
@pytest.mark.parametrize("name", MAPS)
def test_the_column_of_a_server_is_that_of_python(request, server, name):
    found = request.getfixturevalue(server)(MAPS[name])
    assert found[len(FORECASTS) :] == [None] * len(NO_FORECASTS)
    wanted, values = MAPS[name](FORECASTS), np.array(found[: len(FORECASTS)], dtype=np.float64)
    # Python has log-odds beyond 700, whose probabilities are all but certain.
    rtol, atol = (0.0, 0.0) if name in EXACT else (1e-12, 1e-300)
    np.testing.assert_allclose(values, wanted, rtol=rtol, atol=atol)
