"""Recalibration maps as SQL on real servers give what they give in Python."""

import numpy as np
import polars as pl
import pytest
from scipy.special import expit

from propriety import ForecastTable
from propriety.recalibration import METHODS

pytestmark = pytest.mark.engine

RNG = np.random.default_rng(5)
X = RNG.normal(0.0, 1.6, 2000)
TABLE = ForecastTable.from_predictions(RNG.random(2000) < expit(0.7 * X - 0.2), np.round(expit(X), 4))
FORECASTS = np.concatenate([[0.0, 1.0, 5e-324, 1e-310, 1.0 - 2.0**-53], TABLE.forecast, RNG.random(5000)])
EXACT = ("none", "floored", "isotonic", "isotonic corrected", "venn-abers")


def assert_same(method, found):
    order = np.argsort(FORECASTS, kind="stable")
    wanted = METHODS[method](TABLE)(FORECASTS[order])
    np.testing.assert_allclose(found, wanted, rtol=0.0 if method in EXACT else 1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_postgresql(postgresql, method):
    table = postgresql.create_table("forecasts", pl.DataFrame({"p": FORECASTS}).to_arrow(), overwrite=True)
    written = METHODS[method](TABLE).to_sql("p", dialect="postgres")
    with postgresql.raw_sql(f"select {written} as q from {table.get_name()} order by p") as cursor:  # noqa: S608  (made here)
        assert_same(method, np.array(cursor.fetchall())[:, 0])


@pytest.mark.parametrize("method", METHODS)
def test_spark(spark, method):
    frame = spark.createDataFrame(pl.DataFrame({"p": FORECASTS}).to_pandas())
    found = frame.selectExpr("p", f"{METHODS[method](TABLE).to_sql('p', dialect='spark')} as q")
    assert_same(method, np.array([row.q for row in found.sort("p").collect()]))
