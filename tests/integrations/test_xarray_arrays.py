"""Dimensions and coordinates that do not match are rejected, with a hint at what would make them match."""

import sys
from importlib import import_module

import numpy as np
import pytest
import xarray as xr
from gridded import AREA, KIND, OBSERVED, ROWS, P, Y

import propriety as pr
from propriety.errors import InputTypeError, InputValueError, MissingDependencyError
from propriety.integrations.xarray import compare, decompose, estimate, mean_score, skill_score

BRIER = pr.Brier()


def test_an_ellipsis_names_all_dimensions():
    assert mean_score(OBSERVED, P, rule=BRIER, dim=...) == mean_score(OBSERVED, P, rule=BRIER)


def test_dimensions_must_have_the_same_names():
    with pytest.raises(InputTypeError, match=r"y_proba must be an xarray\.DataArray; got ndarray"):
        mean_score(Y, P.values, rule=BRIER)
    with pytest.raises(InputValueError, match=r"y_proba must have no .* y_true lacks.*\['level'\].*if it is 'lead'"):
        mean_score(Y, P.rename(lead="level"), rule=BRIER)
    with pytest.raises(InputValueError, match=r"y_true must have no .* y_proba lacks.*\['day'\].*if it is 'time'"):
        mean_score(OBSERVED.rename(time="day"), P, rule=BRIER)
    with pytest.raises(InputValueError, match=r"rename 'station' if it is 'site'"):
        mean_score(OBSERVED.rename(site="station"), P, rule=BRIER)
    with pytest.raises(InputValueError, match=r"sample_weight must have no dimension.*\['member'\]"):
        mean_score(Y, P, rule=BRIER, sample_weight=AREA.rename(site="member"))
    with pytest.raises(InputValueError, match=r"dim must be one of .*got 'day'"):
        mean_score(Y, P, rule=BRIER, dim=["time", "day"])
    with pytest.raises(InputValueError, match="y_proba must have the dimension of the classes, 'kind'"):
        mean_score(Y, P, rule=BRIER, class_dim="kind")
    with pytest.raises(InputValueError, match="y_true must not have the dimension of the classes"):
        mean_score(ROWS, ROWS, rule=BRIER, class_dim="kind")
    with pytest.raises(InputValueError, match="must lie in"):
        mean_score(Y, P + 1, rule=BRIER)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (lambda p: p.isel(time=slice(5, None)), '40 and 35 values, 35 in common.*join="inner" keeps the 35'),
        (lambda p: p.isel(time=slice(None, None, -1)), r"same values in another order.*\.sortby\('time'\)"),
        (lambda p: p.assign_coords(time=p["time"] + 100), "0 in common.*begins with 0 and y_proba with 100: do they"),
        (lambda p: p.isel(time=slice(5)).drop_vars("time"), "same length along 'time'; they have 40 and 5"),
        (lambda p: p.isel(time=slice(0)), "they have 40 and 0 values, 0 in common"),
    ],
    ids=["fewer", "another order", "none in common", "another length", "none"],
)
def test_coordinates_must_be_equal(changed, message):
    with pytest.raises(InputValueError, match=message):
        mean_score(OBSERVED, changed(P), rule=BRIER)


def test_coordinates_that_differ_by_rounding_can_be_replaced():
    y = xr.DataArray([0, 1], dims="lat", coords={"lat": [0.1, 0.2]})
    p = xr.DataArray([0.3, 0.6], dims="lat", coords={"lat": np.array([0.1, 0.2], dtype="f4").astype(float)})
    with pytest.raises(
        InputValueError, match=r"differ only by rounding.*y_proba\.assign_coords\({'lat': y_true\['lat'\]}\)"
    ):
        mean_score(y, p, rule=BRIER)
    assert float(mean_score(y, p.assign_coords({"lat": y["lat"]}), rule=BRIER)) == pytest.approx(0.125)


def test_outcomes_and_forecasts_of_different_sites_are_rejected():
    """`mean_score` compared the rain in the north with the forecast for the south without an error."""
    north, south = (Y.sel(site="north"), P.sel(site="south"))
    with pytest.raises(InputValueError, match=r"an equal coordinate 'site'.*pass y_true\.drop_vars\('site'\)"):
        mean_score(north, south, rule=BRIER)
    assert mean_score(north.drop_vars("site"), south, rule=BRIER)["site"] == "south"
    named = [array.assign_coords(station=("site", [1, 2, number])) for array, number in ((Y, 3), (P, 4))]
    with pytest.raises(InputValueError, match="y_true and y_proba must have an equal coordinate 'station'"):
        decompose(*named, dim="time")
    with pytest.raises(InputValueError, match="y_true and b must have an equal coordinate 'lead'"):
        compare(Y.sel(lead=6), {"a": P.sel(lead=6), "b": P.sel(lead=12)})
    day, month = (P.sel(lead=lead).assign_coords(time=P["time"]) for lead in (6, 12))
    assert np.isfinite(skill_score(OBSERVED, day, rule=BRIER, reference=month))  # Two lead times are compared.


def test_an_inner_join_is_made_only_if_asked():
    fewer = P.isel(time=slice(5, None))
    found = mean_score(OBSERVED, fewer, rule=BRIER, dim="time", join="inner")
    xr.testing.assert_allclose(found, mean_score(OBSERVED.isel(time=slice(5, None)), fewer, rule=BRIER, dim="time"))
    turned = mean_score(OBSERVED, P.isel(time=slice(None, None, -1)), rule=BRIER, dim="time", join="inner")
    xr.testing.assert_allclose(turned, mean_score(OBSERVED, P, rule=BRIER, dim="time"))
    with pytest.raises(InputValueError, match="0 in common"):
        mean_score(OBSERVED, P.assign_coords(time=P["time"] + 100), rule=BRIER, join="inner")
    with pytest.raises(InputValueError, match="join must be"):
        mean_score(OBSERVED, P, rule=BRIER, join="outer")


@pytest.mark.parametrize("join", ["exact", "inner"])
def test_classes_must_be_in_the_same_order(join):
    options = {"rule": pr.RankedProbability(), "class_dim": "kind", "join": join}
    turned = ROWS.sel(kind=["storm", "dry", "wet"])
    with pytest.raises(InputValueError, match=r"another order\. Hint: reference\.sel\({'kind': y_proba\['kind'\]}\)"):
        skill_score(KIND, ROWS, reference=turned, **options)
    ordered = turned.sel({"kind": ROWS["kind"]})
    assert float(skill_score(KIND, ROWS, reference=ordered, **options)) == pytest.approx(0.0, abs=1e-12)
    with pytest.raises(InputValueError, match=r"along 'kind'; they have 3 and 2 values, 2 in common\.$"):
        compare(KIND, {"a": ROWS, "b": ROWS.isel(kind=[0, 1])}, class_dim="kind", join=join)


def test_labels_of_classes_may_be_those_of_the_reference():
    labels = [2, 0, 1]
    y = xr.apply_ufunc(np.vectorize(dict(zip(ROWS["kind"].values, labels, strict=True)).get), KIND)
    reference = ROWS.assign_coords(kind=labels)
    found = skill_score(y, 0.5 * ROWS.drop_vars("kind") + 1 / 6, rule=BRIER, reference=reference, class_dim="kind")
    expected = skill_score(KIND, 0.5 * ROWS + 1 / 6, rule=BRIER, reference=ROWS, class_dim="kind")
    assert float(found) == pytest.approx(float(expected), rel=1e-12)


@pytest.mark.parametrize("join", ["exact", "inner"])
def test_coordinates_may_be_those_of_the_forecasts_or_weights(join):
    weight = AREA.broadcast_like(Y)
    bare = Y.drop_vars(["time", "site", "lead"])
    for function in (estimate, decompose):
        expected = function(Y, P, dim="time", sample_weight=weight)
        for forecast in (P, P.drop_vars("site")):
            found = function(bare, forecast, dim="time", sample_weight=weight, join=join)
            xr.testing.assert_identical(found.drop_attrs(), expected.drop_attrs())


def test_without_xarray_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "xarray", None)
    for name in [name for name in sys.modules if name.startswith("propriety.integrations.xarray")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(MissingDependencyError, match=r'needs xarray\. Hint: pip install "propriety\[xarray\]"'):
        import_module("propriety.integrations.xarray")
