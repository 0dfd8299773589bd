"""Recalibration maps of classes as SQL on real servers give what they give in Python."""

import math

import numpy as np
import polars as pl
import pytest
from scipy.special import softmax

from propriety.recalibration import CLASS_METHODS, ClassRows, MatrixMap

RNG = np.random.default_rng(5)
SCORES = RNG.normal(0.0, 1.5, (1500, 3))
P = np.where(softmax(SCORES, axis=1) < 0.02, 0.0, softmax(SCORES, axis=1))
P[:3] = np.eye(3)
P /= P.sum(axis=1, keepdims=True)
Q = softmax(SCORES * [0.5, 0.7, 0.9] + [0.3, 0.0, -0.3], axis=1)
Y = (RNG.random(1500)[:, None] > Q.cumsum(axis=1)[:, :-1]).sum(axis=1)
# One-vs-rest is left out: SQLGlot takes long to translate its SQL.
SCALED = [method for method in CLASS_METHODS if not method.startswith("one-vs-rest")]
MAPS = {method: CLASS_METHODS[method](ClassRows.from_predictions(Y, P)) for method in SCALED}
MAPS["far"] = MatrixMap(matrix=300.0, floor=1e-12)
NO_ROWS = [[value, 0.5, 0.5] for value in (None, math.nan, -0.1, 1.0 + 2.0**-52, math.inf)]
CLASSES = ["low", "mid", "high"]
COLUMNS = dict(zip(CLASSES, zip(*P.tolist(), *NO_ROWS, strict=True), strict=True))
GIVEN = pl.DataFrame({"place": np.arange(len(P) + len(NO_ROWS)), **COLUMNS})


@pytest.fixture(scope="module")
def on_duckdb(duckdb_connection):
    duckdb_connection.register("class_forecasts", GIVEN.to_arrow())

    def rows(own):
        columns = ", ".join(own.to_sql(CLASSES))
        return duckdb_connection.sql(f"select {columns} from class_forecasts order by place").fetchall()  # noqa: S608  (made here)

    return rows


@pytest.fixture(scope="module")
def on_postgresql(postgresql):
    table = postgresql.create_table("class_forecasts", GIVEN.to_arrow(), overwrite=True).get_name()

    def rows(own):
        columns = ", ".join(own.to_sql(CLASSES, dialect="postgres"))
        with postgresql.raw_sql(f"select {columns} from {table} order by place") as cursor:  # noqa: S608  (made here)
            return cursor.fetchall()

    return rows


@pytest.mark.parametrize("server", ["on_duckdb", "on_postgresql"])
@pytest.mark.parametrize("name", MAPS)
def test_the_rows_of_a_server_are_those_of_python(request, server, name):
    found = request.getfixturevalue(server)(MAPS[name])
    assert found[len(P) :] == [(None, None, None)] * len(NO_ROWS)
    np.testing.assert_allclose(np.array(found[: len(P)], dtype=np.float64), MAPS[name](P), rtol=1e-12, atol=1e-300)
