"""Curves and decompositions over named dimensions are those of the cases at each point."""

import numpy as np
import pytest
import xarray as xr
from gridded import AREA, COORDS, OBSERVED, P, Y

import propriety as pr
from propriety.errors import InputValueError, MissingValuesError
from propriety.integrations.xarray import decompose, reliability_by, reliability_curve


def test_curves_are_those_of_the_cases_at_each_place():
    curves = reliability_curve(Y, P, dim="time", sample_weight=AREA)
    assert curves["event_rate"].dims == ("site", "lead", "block")
    for site in COORDS["site"]:
        for lead in COORDS["lead"]:
            place = {"site": site, "lead": lead}
            one = pr.reliability_curve(
                Y.sel(place).values, P.sel(place).values, sample_weight=np.full(40, float(AREA.sel(site=site)))
            )
            here = curves.sel(place)
            length = len(one.event_rate)
            for column in ("forecast_min", "forecast_max", "forecast_mean", "event_rate", "weight"):
                np.testing.assert_allclose(here[column].values[:length], getattr(one, column), rtol=1e-12)
                assert np.isnan(here[column].values[length:]).all()
            for part in ("score", "miscalibration", "discrimination", "uncertainty"):
                assert float(here[part]) == pytest.approx(getattr(one.decomposition, part), rel=1e-12)
            assert int(here["n"]) == 40


def test_one_curve_of_everything_with_its_options():
    curve = reliability_curve(Y, P, method="bins", bins=5)
    one = pr.reliability_curve(Y.values.ravel(), P.values.ravel(), method="bins", bins=5)
    assert curve["event_rate"].dims == ("block",)
    np.testing.assert_allclose(curve["event_rate"], one.event_rate, rtol=1e-12)
    np.testing.assert_allclose(curve["forecast_mean"], one.forecast_mean, rtol=1e-12)


def test_points_without_cases_have_no_curve():
    gaps = P.where(P["site"] != "south").where(P["time"] > 3)
    curves = reliability_curve(Y, gaps, dim="time", missing="drop")
    assert curves["n"].sel(site="south").values.tolist() == [0, 0]
    assert np.isnan(curves["event_rate"].sel(site="south")).all()
    assert int(curves["n"].sel(site="west", lead=12)) == 36
    with pytest.raises(MissingValuesError):
        reliability_curve(Y, gaps, dim="time")
    assert list(reliability_by(Y, gaps, "site", missing="drop")) == ["site north", "site west"]
    assert np.isnan(decompose(Y, gaps, dim="time", missing="drop")["score"].sel(site="south")).all()


def test_decompositions_are_those_of_the_cases_at_each_point():
    rule = pr.BoundedBrier(0.1, 0.4)
    parts = decompose(OBSERVED, P, rule=rule, dim=["time", "site"])
    for lead in COORDS["lead"]:
        p = P.sel(lead=lead)
        one = pr.decompose(OBSERVED.values.ravel(), p.values.ravel(), rule=rule)
        for part in ("score", "miscalibration", "discrimination", "uncertainty"):
            assert float(parts[part].sel(lead=lead)) == pytest.approx(getattr(one, part), rel=1e-12)
    assert parts["n"].values.tolist() == [120, 120]


def test_curves_by_a_dimension_are_panels_of_one_figure():
    curves = reliability_by(OBSERVED, P, "lead")
    assert list(curves) == ["lead 6", "lead 12"]
    one = pr.reliability_curve(OBSERVED.values.ravel(), P.sel(lead=12).values.ravel())
    np.testing.assert_allclose(curves["lead 12"].event_rate, one.event_rate, rtol=1e-12)
    figure = pr.plots.plot_grid(curves)
    assert [ax.get_title(loc="left") or ax.get_title() for ax in figure.axes] == ["lead 6", "lead 12"]
    hours = P.assign_coords(lead=np.array([6, 24], dtype="timedelta64[h]").astype("timedelta64[ns]"))
    assert list(reliability_by(OBSERVED, hours, "lead")) == ["lead 6 hours", "lead 1 days"]
    assert len(reliability_by(Y, P, ["site", "lead"])) == 6


def test_curves_are_named_by_the_coordinates_of_the_forecasts():
    curves = reliability_by(Y.drop_vars("lead"), P, "lead")
    assert list(curves) == ["lead 6", "lead 12"]
    assert reliability_curve(Y.drop_vars("lead"), P, dim="time")["lead"].values.tolist() == [6, 12]


def test_curves_of_the_same_name_are_rejected():
    with pytest.raises(
        InputValueError,
        match=r"by must name .* without repeated coordinates; 'lead 24' occurs 2 times\. Hint: give every",
    ):
        reliability_by(OBSERVED, P.assign_coords(lead=[24, 24]), "lead")


@pytest.mark.parametrize("chunks", [None, {"site": 2}], ids=["memory", "dask"])
@pytest.mark.parametrize("function", [decompose, reliability_curve])
def test_dimensions_without_length_have_no_cases(function, chunks):
    if chunks is not None:
        pytest.importorskip("dask")
    y, p = (one if chunks is None else one.chunk(chunks) for one in (OBSERVED, P))
    found = function(y.isel(time=slice(0)), p.isel(time=slice(0)), dim="time")
    assert found["n"].values.tolist() == [[0, 0]] * 3
    assert found["site"].values.tolist() == COORDS["site"]
    assert np.isnan(found["score"]).all()
    found = function(y.isel(site=slice(0)), p.isel(site=slice(0)), dim="time")
    assert found["n"].values.shape == (0, 2)


@pytest.mark.parametrize("chunks", [None, {"time": 15}], ids=["memory", "dask"])
def test_coordinates_along_the_cases_are_dropped(chunks):
    if chunks is not None:
        pytest.importorskip("dask")
    valid = P["time"] + P["lead"]
    p = P.assign_coords(valid=valid, height=("site", [10.0, 20.0, 30.0]))
    parts = decompose(Y.assign_coords(valid=valid), p if chunks is None else p.chunk(chunks), dim="time")
    assert set(parts.coords) == {"site", "lead", "height"}
    xr.testing.assert_allclose(parts.drop_vars("height"), decompose(Y, P, dim="time"), rtol=1e-12)
