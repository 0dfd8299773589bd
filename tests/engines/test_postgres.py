"""A real PostgreSQL server behind Ibis: refinement by joins with small tables, and rows that change."""

import narwhals as nw
import numpy as np
import polars as pl
import pytest

from propriety.calibration.blocks import pool_adjacent_violators
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.queries import _with_natural_logarithms, fetched


@pytest.fixture
def cases():
    rng = np.random.default_rng(8)
    p = rng.random(20_000)
    return pl.DataFrame(
        {"y": rng.random(len(p)) < p, "p": p, "w": rng.integers(1, 4, len(p)), "g": rng.choice(["a", "b"], len(p))}
    )


@pytest.fixture
def table(postgresql, cases):
    yield postgresql.create_table("refined_cases", cases.to_arrow(), overwrite=True)
    postgresql.drop_table("refined_cases")


def test_tables_are_refined_in_the_server(table, cases):
    options = {"outcome": "y", "forecast": "p", "weight": "w", "by": "g"}
    tables = ForecastTable.from_frame(table, **options, cells=1024, budget=3000)
    for group, expected in ForecastTable.from_frame(cases, **options).items():
        found, blocks = pool_adjacent_violators(tables[group]), pool_adjacent_violators(expected)
        assert tables[group].refined
        assert (found.events.tolist(), found.non_events.tolist()) == (
            blocks.events.tolist(),
            blocks.non_events.tolist(),
        )
        starts = tables[group].forecast[found.start[:-1]], expected.forecast[blocks.start[:-1]]
        assert starts[0].tolist() == starts[1].tolist()


def test_a_view_is_as_good_as_a_table(table, cases, postgresql):
    view = table.filter(table.g == "a").mutate(p=1 - table.p)
    found = ForecastTable.from_frame(view, outcome="y", forecast="p")
    own = cases.filter(pl.col("g") == "a")
    expected = ForecastTable.from_predictions(own["y"], 1 - own["p"])
    assert found.forecast.tolist() == expected.forecast.tolist()
    assert found.events.tolist() == expected.events.tolist()


def test_logarithms_are_computed_in_floating_point(table):
    """In decimal arithmetic, a log score takes a hundred times as long."""
    found = fetched(nw.from_native(table).select(p="p", log=nw.col("p").log()))
    np.testing.assert_allclose(found["log"].to_numpy(), np.log(found["p"].to_numpy()), rtol=1e-15)
    written = str(_with_natural_logarithms(nw.from_native(table).select(log=nw.col("p").log()).to_native()).compile())
    assert "LN(" in written
    assert "DECIMAL" not in written
