"""Results of Dask arrays are those of arrays in memory, and nothing is computed before they are asked for."""

import numpy as np
import pytest
import xarray as xr
from gridded import AREA, KIND, OBSERVED, ROWS, P

import propriety as pr
from propriety.errors import InputValueError
from propriety.integrations.xarray import (
    compare,
    decompose,
    estimate,
    exceedance,
    mean_score,
    reliability_curve,
    skill_score,
)

dask = pytest.importorskip("dask")
BRIER = pr.Brier()
CHUNKS = {"time": 15, "site": 2, "lead": 1}
GAPS = P.where((P["site"] != "south") | (P["time"] > 20))


def computed(function):
    """Return the result, and how often Dask computed something."""
    count = 0

    def scheduler(graph, keys, **options):
        nonlocal count
        count += 1
        return dask.get(graph, keys, **options)

    with dask.config.set(scheduler=scheduler):
        return function(), count


@pytest.mark.parametrize(
    "score",
    [
        lambda y, p: mean_score(y, p, rule=BRIER, dim=["time", "site"]),
        lambda y, p: mean_score(y, p, rule=BRIER, dim="time", sample_weight=AREA, missing="drop"),
        lambda y, p: skill_score(y, p, rule=pr.Brier(), dim="time", missing="drop"),
        lambda y, p: skill_score(y, p, rule=pr.Brier(), dim="time", reference=0.3),
        lambda y, p: decompose(y, p, dim=["time", "site"], missing="drop"),
        lambda y, p: decompose(y, p, dim="time", sample_weight=AREA),
        lambda y, p: decompose(y, p, dim=[]),
        lambda y, p: estimate(y, p, dim="time", time_dim="time"),
        lambda y, p: compare(y, {"a": p, "b": 0.5 * p}, dim=["time", "site"], time_dim="time"),
        lambda y, p: exceedance(p, 0.4, member_dim="lead"),
    ],
    ids=[
        "mean",
        "weighted",
        "skill",
        "reference",
        "parts",
        "weighted parts",
        "points",
        "estimate",
        "compare",
        "members",
    ],
)
def test_nothing_is_computed_before_it_is_asked_for(score):
    y, p = OBSERVED, GAPS.fillna(0.5)
    lazy, count = computed(lambda: score(y.chunk({"time": 10}), p.chunk(CHUNKS)))
    assert count == 0
    found, count = computed(lazy.compute)
    assert count == 1
    expected = score(y, p)
    xr.testing.assert_allclose(found, expected, rtol=1e-12)
    assert found.attrs.get("rule") == expected.attrs.get("rule")


def test_missing_chunks_are_dropped():
    y, p = OBSERVED.chunk({"time": 5}), GAPS.chunk(CHUNKS | {"time": 5})
    for score in (mean_score, skill_score):
        found = score(y, p, rule=BRIER, dim="time", missing="drop")
        xr.testing.assert_allclose(found.compute(), score(OBSERVED, GAPS, rule=BRIER, dim="time", missing="drop"))
    parts = decompose(y, p, dim="time", missing="drop").compute()
    xr.testing.assert_allclose(parts, decompose(OBSERVED, GAPS, dim="time", missing="drop"))


def test_curves_are_computed_once_from_the_tables_of_the_chunks():
    y, p = OBSERVED.chunk({"time": 10}), P.chunk(CHUNKS)
    found, count = computed(lambda: reliability_curve(y, p, dim=["time", "site"]))
    assert count == 1
    xr.testing.assert_allclose(found, reliability_curve(OBSERVED, P, dim=["time", "site"]), rtol=1e-12)


def test_classes_may_be_in_several_chunks():
    lazy = skill_score(KIND.chunk({"time": 7}), ROWS.chunk({"kind": 1}), rule=BRIER, dim="time", class_dim="kind")
    assert lazy.chunks is not None
    xr.testing.assert_allclose(lazy.compute(), skill_score(KIND, ROWS, rule=BRIER, dim="time", class_dim="kind"))


def test_values_are_checked_when_they_are_computed():
    lazy = mean_score(OBSERVED, (P + 1).chunk(CHUNKS), rule=BRIER)
    with pytest.raises(InputValueError, match=r"must lie in \[0, 1\]"):
        lazy.compute()
    assert np.isfinite(mean_score(OBSERVED, P.chunk(CHUNKS), rule=BRIER).compute())
