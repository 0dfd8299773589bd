"""Scores and curves over named dimensions are those of the cases at each place."""

import sys
from importlib import import_module

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

import propriety as pr
from propriety.errors import InputTypeError, InputValueError, MissingDependencyError, MissingValuesError
from propriety.integrations.xarray import mean_score, reliability_curve

RNG = np.random.default_rng(3)
COORDS = {"time": np.arange(40), "site": ["north", "south", "west"], "lead": [6, 12]}
P = xr.DataArray(RNG.random((40, 3, 2)).round(2), dims=("time", "site", "lead"), coords=COORDS, attrs={"units": "1"})
Y = (xr.DataArray(RNG.random((40, 3, 2)), dims=P.dims, coords=COORDS) < P).astype(int)
AREA = xr.DataArray([1.0, 0.5, 2.0], dims="site", coords={"site": COORDS["site"]})
LABELS = ["dry", "wet", "storm"]
ROWS = xr.DataArray(
    RNG.dirichlet(np.ones(3), (40, 3)),
    dims=("time", "site", "kind"),
    coords={"time": COORDS["time"], "site": COORDS["site"], "kind": LABELS},
)
KIND = xr.DataArray(
    np.array(LABELS)[RNG.integers(0, 3, (40, 3))],
    dims=("time", "site"),
    coords={"time": COORDS["time"], "site": COORDS["site"]},
)


@pytest.mark.parametrize("rule", [pr.Brier(), pr.Log(), pr.BoundedBrier(0.1, 0.4)], ids=lambda rule: rule.name)
@given(dim=st.sets(st.sampled_from(P.dims)))
@settings(max_examples=8)
def test_each_place_has_the_score_of_its_cases(rule, dim):
    scores = mean_score(Y, P, rule=rule, dim=list(dim))
    places = [name for name in P.dims if name not in dim]
    assert scores.dims == tuple(places)
    stacked = scores.stack(place=places) if places else scores.expand_dims("place")
    outcomes, forecasts = (array.stack(case=list(dim)) if dim else array.expand_dims("case") for array in (Y, P))
    for index in range(min(stacked.sizes["place"], 12)):
        place = {name: stacked["place"].values[index][k] for k, name in enumerate(places)} if places else {}
        one = pr.mean_score(
            np.atleast_1d(outcomes.sel(place).values), np.atleast_1d(forecasts.sel(place).values), rule=rule
        )
        assert float(stacked.isel(place=index)) == pytest.approx(one, rel=1e-12)


def test_all_dimensions_by_default_and_names_are_kept():
    score = mean_score(Y, P, rule=pr.Brier())
    assert float(score) == pytest.approx(pr.brier_score(Y.values.ravel(), P.values.ravel()), rel=1e-12)
    assert (score.name, score.attrs) == ("brier", {"rule": "Brier()", "scale": "one component, 0 to 1"})
    by_site = mean_score(Y, P, rule=pr.Brier(), dim=("time", "lead"))
    assert by_site["site"].values.tolist() == COORDS["site"]


def test_the_order_of_dimensions_does_not_matter():
    one = mean_score(Y, P, rule=pr.Brier(), dim="time")
    other = mean_score(Y, P.transpose("lead", "time", "site"), rule=pr.Brier(), dim="time")
    xr.testing.assert_allclose(one, other, rtol=1e-14)


def test_classes_lie_along_a_dimension_that_names_them():
    for rows in (ROWS, ROWS.transpose("kind", "site", "time")):
        scores = mean_score(KIND, rows, rule=pr.RankedProbability(), dim="time", class_dim="kind")
        for site in COORDS["site"]:
            expected = pr.ranked_probability_score(
                KIND.sel(site=site).values, ROWS.sel(site=site).values, labels=LABELS
            )
            assert float(scores.sel(site=site)) == pytest.approx(expected, rel=1e-12)
    with pytest.raises(InputValueError, match=r"those of the coordinate 'kind', \['dry', 'wet', 'storm'\]; got"):
        mean_score(KIND, ROWS, rule=pr.Brier(), class_dim="kind", labels=["storm", "wet", "dry"])


def test_classes_without_a_coordinate_are_numbered():
    numbers = xr.apply_ufunc(np.vectorize(LABELS.index), KIND)
    score = mean_score(numbers, ROWS.drop_vars("kind"), rule=pr.Brier(), class_dim="kind")
    assert float(score) == pytest.approx(float(mean_score(KIND, ROWS, rule=pr.Brier(), class_dim="kind")), rel=1e-12)


def test_weights_may_lack_dimensions():
    score = mean_score(Y, P, rule=pr.Brier(), dim=["site", "time"], sample_weight=AREA)
    weight = np.broadcast_to(AREA.values, (40, 3)).ravel()
    for lead in COORDS["lead"]:
        expected = pr.brier_score(
            Y.sel(lead=lead).values.ravel(), P.sel(lead=lead).values.ravel(), sample_weight=weight
        )
        assert float(score.sel(lead=lead)) == pytest.approx(expected, rel=1e-12)


def test_a_case_without_weight_does_not_count_even_where_its_loss_is_infinite():
    y, p = xr.DataArray([1, 1], dims="t"), xr.DataArray([0.0, 0.5], dims="t")
    weight = xr.DataArray([0.0, 1.0], dims="t")
    assert float(mean_score(y, p, rule=pr.Log(), sample_weight=weight)) == pytest.approx(np.log(2))
    assert np.isnan(mean_score(y, p, rule=pr.Log(), dim=[], sample_weight=weight)[0])
    assert reliability_curve(y, p, dim=[], sample_weight=weight)["n"].values.tolist() == [0, 1]


def test_missing_values_raise_or_are_dropped_at_each_place():
    gaps = P.where(P["site"] != "south").where(P["time"] > 3)
    with pytest.raises(MissingValuesError, match='missing="drop"'):
        mean_score(Y, gaps, rule=pr.Brier(), dim="time")
    scores = mean_score(Y, gaps, rule=pr.Brier(), dim="time", missing="drop")
    assert np.isnan(scores.sel(site="south")).all()
    kept = {"site": "west", "lead": 12, "time": slice(4, None)}
    expected = pr.brier_score(Y.sel(kept).values, P.sel(kept).values)
    assert float(scores.sel(site="west", lead=12)) == pytest.approx(expected, rel=1e-12)
    curves = reliability_curve(Y, gaps, dim="time", missing="drop")
    assert curves["n"].sel(site="south").values.tolist() == [0, 0]
    assert np.isnan(curves["event_rate"].sel(site="south")).all()
    assert int(curves["n"].sel(site="west", lead=12)) == 36
    with pytest.raises(MissingValuesError):
        reliability_curve(Y, gaps, dim="time")


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


def test_names_must_agree():
    brier = pr.Brier()
    with pytest.raises(InputTypeError, match=r"y_proba must be an xarray\.DataArray; got ndarray"):
        mean_score(Y, P.values, rule=brier)
    with pytest.raises(InputValueError, match=r"dimensions \('time', 'site', 'lead'\); got .*'level'.*class_dim="):
        mean_score(Y, P.rename(lead="level"), rule=brier)
    with pytest.raises(InputValueError, match=r"y_true and y_proba must have equal coordinates.*xarray\.align"):
        mean_score(Y, P.assign_coords(lead=[12, 24]), rule=brier)
    with pytest.raises(InputValueError, match="equal coordinates"):
        mean_score(Y, P.isel(time=slice(5)).drop_vars("time"), rule=brier)
    with pytest.raises(InputValueError, match=r"dim must name dimensions of y_true, .*got 'day'"):
        mean_score(Y, P, rule=brier, dim=["time", "day"])
    with pytest.raises(InputValueError, match=r"sample_weight must have dimensions of y_true, .*\['member'\]"):
        mean_score(Y, P, rule=brier, sample_weight=AREA.rename(site="member"))
    with pytest.raises(InputValueError, match="must lie in"):
        mean_score(Y, P + 1, rule=brier)


def test_without_xarray_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "xarray", None)
    monkeypatch.delitem(sys.modules, "propriety.integrations.xarray")
    with pytest.raises(MissingDependencyError, match=r'needs xarray\. Hint: pip install "propriety\[xarray\]"'):
        import_module("propriety.integrations.xarray")
