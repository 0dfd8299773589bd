"""Estimates and comparisons over named dimensions are those of the cases at each point."""

import numpy as np
import pytest
import xarray as xr
from gridded import AREA, COORDS, KIND, LABELS, OBSERVED, ROWS, P, Y

import propriety as pr
from propriety.errors import InputTypeError, InputValueError, MissingValuesError
from propriety.inference.finding_words import notes_of
from propriety.integrations.xarray import compare, estimate

VAGUE = 0.5 + 0.5 * (P - 0.5)
NUMBERS = ("value", "low", "high", "standard_error")
DIFFERENCES = ("difference", "low", "high", "standard_error", "p_value")
ROWS_OF = {"difference": "value", "standard_error": "error", "p_value": "p"}


def same(points, place, one, names):
    for name in names:
        expected = getattr(one, ROWS_OF.get(name, name))
        assert float(points[name].sel(place)) == pytest.approx(expected, rel=1e-12, nan_ok=True)
    assert str(points["note"].sel(place).values) == notes_of(one)


@pytest.mark.parametrize(
    "measure",
    [pr.Brier(), pr.measures.Skill(pr.Brier()), pr.measures.AreaUnderRoc()],
    ids=lambda one: type(one).__name__,
)
def test_estimates_are_those_of_the_cases_at_each_point(measure):
    points = estimate(OBSERVED, P, measure, dim="time", time_dim="time", level=0.9)
    for site in COORDS["site"]:
        y, p = OBSERVED.sel(site=site).values, P.sel(site=site, lead=12).values
        one = pr.estimate(y, p, measure, period=np.arange(40), level=0.9)
        same(points, {"site": site, "lead": 12}, one, NUMBERS)
    assert points["n"].values.tolist() == [[40, 40]] * 3


def test_cases_of_several_dimensions_share_times_or_clusters():
    y, p = OBSERVED.values.ravel(), P.sel(lead=6).values.ravel()
    times, sites = (np.broadcast_to(one, (40, 3)).ravel() for one in (np.arange(40)[:, None], np.arange(3)))
    weight = np.broadcast_to(AREA.values, (40, 3)).ravel()
    found = estimate(OBSERVED, P, dim=["time", "site"], time_dim="time", sample_weight=AREA)
    same(found, {"lead": 6}, pr.estimate(y, p, period=times, sample_weight=weight), NUMBERS)
    found = estimate(OBSERVED, P, dim=["site", "time"], cluster_dim="site")
    same(found, {"lead": 6}, pr.estimate(y, p, cluster=sites), NUMBERS)


@pytest.mark.parametrize("key", ["time", "cluster"])
def test_times_and_clusters_may_be_those_of_the_forecasts(key):
    shared = "period" if key == "time" else key
    values = np.random.default_rng(1).permutation(np.repeat(np.arange(10), 4))
    y, p = OBSERVED.sel(site="west").values, P.sel(site="west", lead=6).values
    forecast = xr.DataArray(p, dims="case", coords={"case": values})
    found = estimate(xr.DataArray(y, dims="case"), forecast, **{f"{key}_dim": "case"})
    same(found, {}, pr.estimate(y, p, **{shared: values}), NUMBERS)
    pair = {"sharp": forecast, "vague": 0.25 + 0.5 * forecast.drop_vars("case")}
    found = compare(xr.DataArray(y, dims="case"), pair, seed=1, **{f"{key}_dim": "case"})
    same(
        found,
        {},
        pr.compare(y, {"sharp": p, "vague": 0.25 + 0.5 * p}, seed=1, **{shared: values}).differences[0],
        DIFFERENCES,
    )


def test_times_are_in_the_order_of_their_coordinate():
    mixed = np.random.default_rng(1).permutation(40)
    one = estimate(OBSERVED, P, dim="time", time_dim="time")
    other = estimate(OBSERVED.isel(time=mixed), P.isel(time=mixed), dim="time", time_dim="time")
    xr.testing.assert_allclose(one, other)
    days = OBSERVED.assign_coords(time=[f"day {day}" for day in range(40)])
    with pytest.raises(InputTypeError, match="must hold numbers or dates"):
        estimate(days, P.assign_coords(time=days["time"]), dim="time", time_dim="time")
    with pytest.raises(InputValueError, match=r'time_dim must be one of "site"; got .time.'):
        estimate(OBSERVED, P, dim="site", time_dim="time")


def test_comparisons_are_those_of_the_cases_at_each_point():
    points = compare(OBSERVED, {"sharp": P, "vague": VAGUE}, dim="time", time_dim="time", horizon=2)
    for site in COORDS["site"]:
        place = {"site": site, "lead": 6}
        pair = {"sharp": P.sel(place).values, "vague": VAGUE.sel(place).values}
        one = pr.compare(OBSERVED.sel(site=site).values, pair, period=np.arange(40), horizon=2).differences[0]
        same(points, place, one, DIFFERENCES)
    assert (points.attrs["model"], points.attrs["reference"]) == ("sharp", "vague")
    p_values = np.sort(points["p_value"].values.ravel())
    adjusted = np.sort(points["p_adjusted"].values.ravel())
    assert adjusted[0] == pytest.approx((p_values * 6 / np.arange(1, 7)).min(), rel=1e-12)
    assert adjusted[-1] == pytest.approx(p_values[-1], rel=1e-12)


def test_a_forecast_is_compared_with_a_climatology_that_lacks_dimensions():
    climatology = OBSERVED.mean("time")
    points = compare(OBSERVED, {"forecast": P, "climatology": climatology}, pr.Brier(), dim="time")
    y, p = OBSERVED.sel(site="west").values, P.sel(site="west", lead=12).values
    one = pr.compare(y, {"forecast": p, "climatology": np.full(40, float(climatology.sel(site="west")))}).differences[0]
    same(points, {"site": "west", "lead": 12}, one, DIFFERENCES)


def test_classes_are_estimated_too():
    points = estimate(KIND, ROWS, pr.RankedProbability(), dim="time", class_dim="kind")
    y, rows = KIND.sel(site="south").values, ROWS.sel(site="south").values
    same(points, {"site": "south"}, pr.estimate(y, rows, pr.RankedProbability(), labels=LABELS), NUMBERS)


@pytest.mark.parametrize("measure", [pr.Brier(), pr.BoundedBrier(0.2, 0.6), pr.measures.AreaUnderRoc()], ids=repr)
def test_two_classes_are_one_event(measure):
    rows, vague = (xr.concat([1 - event, event], "kind") for event in (P, VAGUE))
    points = estimate(OBSERVED, rows, measure, dim="time", class_dim="kind")
    both = compare(OBSERVED, {"a": rows, "b": vague}, measure, dim="time", class_dim="kind", seed=1)
    place = {"site": "west", "lead": 12}
    y, p, q = OBSERVED.sel(site="west").values, P.sel(place).values, VAGUE.sel(place).values
    same(points, place, pr.estimate(y, p, measure), NUMBERS)
    same(both, place, pr.compare(y, {"a": p, "b": q}, measure, seed=1).differences[0], DIFFERENCES)


def test_points_without_a_value_say_why():
    gaps = P.where(P["site"] != "south")
    points = estimate(OBSERVED, gaps, dim="time", missing="drop")
    assert points["n"].sel(lead=6).values.tolist() == [40, 0, 40]
    assert np.isnan(points["value"].sel(site="south")).all()
    rain = OBSERVED.where(OBSERVED["site"] != "south", 1)
    area = estimate(rain, P, pr.measures.AreaUnderRoc(), dim="time")
    assert np.isnan(area["value"].sel(site="south")).all()
    assert "event" in str(area["note"].sel(site="south", lead=6).values)
    with pytest.raises(MissingValuesError):
        estimate(OBSERVED, gaps, dim="time")
    with pytest.raises(InputValueError, match="must lie in"):
        estimate(Y, P + 1, pr.measures.AreaUnderRoc(), dim="time")
    with pytest.raises(InputValueError, match="forecasts must hold two forecasts; got 3"):
        compare(Y, {"a": P, "b": P, "c": P})
