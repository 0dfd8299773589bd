"""Scores and skill over named dimensions are those of the cases at each point."""

import numpy as np
import pytest
import xarray as xr
from gridded import AREA, COORDS, KIND, LABELS, OBSERVED, ROWS, P, Y
from hypothesis import given, settings
from hypothesis import strategies as st

import propriety as pr
from propriety.errors import InputValueError, MissingValuesError
from propriety.integrations.xarray import exceedance, mean_score, skill_score


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
    assert np.isnan(skill_score(y, p, rule=pr.Log(), reference=0.5, dim=[], sample_weight=weight)[0])


def test_missing_values_raise_or_are_dropped_at_each_place():
    gaps = P.where(P["site"] != "south").where(P["time"] > 3)
    with pytest.raises(MissingValuesError, match='missing="drop"'):
        mean_score(Y, gaps, rule=pr.Brier(), dim="time")
    scores = mean_score(Y, gaps, rule=pr.Brier(), dim="time", missing="drop")
    assert np.isnan(scores.sel(site="south")).all()
    kept = {"site": "west", "lead": 12, "time": slice(4, None)}
    expected = pr.brier_score(Y.sel(kept).values, P.sel(kept).values)
    assert float(scores.sel(site="west", lead=12)) == pytest.approx(expected, rel=1e-12)


def test_observations_are_repeated_for_every_lead_time():
    scores = mean_score(OBSERVED, P, rule=pr.Brier(), dim="time")
    assert scores.dims == ("site", "lead")
    for lead in COORDS["lead"]:
        expected = mean_score(OBSERVED, P.sel(lead=lead), rule=pr.Brier(), dim="time")
        np.testing.assert_allclose(scores.sel(lead=lead), expected, rtol=1e-12)
    assert mean_score(OBSERVED, P.transpose("lead", ...), rule=pr.Brier(), dim="time").dims == ("lead", "site")


def test_a_climatology_is_repeated_for_every_time():
    climatology = OBSERVED.mean("time")
    scores = mean_score(OBSERVED, climatology, rule=pr.Brier(), dim="time")
    np.testing.assert_allclose(scores, climatology * (1 - climatology), rtol=1e-12)


@pytest.mark.parametrize("rule", [pr.Brier(), pr.Log()], ids=lambda rule: rule.name)
def test_skill_is_that_of_the_cases_at_each_point(rule):
    other = 0.25 + 0.5 * P.isel(lead=1, drop=True)
    found = {
        None: skill_score(OBSERVED, P.clip(0.01, 0.99), rule=rule, dim="time"),
        0.3: skill_score(OBSERVED, P.clip(0.01, 0.99), rule=rule, dim="time", reference=0.3),
        "other": skill_score(OBSERVED, P.clip(0.01, 0.99), rule=rule, dim="time", reference=other),
    }
    for site in COORDS["site"]:
        for lead in COORDS["lead"]:
            place = {"site": site, "lead": lead}
            for reference, skill in found.items():
                against = other.sel(site=site).values if reference == "other" else reference
                y, p = OBSERVED.sel(site=site).values, P.clip(0.01, 0.99).sel(place).values
                expected = pr.skill_score(y, p, rule=rule, reference=against)
                assert float(skill.sel(place)) == pytest.approx(expected, rel=1e-12)


def test_skill_of_classes_is_against_their_rates_at_each_point():
    skill = skill_score(KIND, ROWS, rule=pr.RankedProbability(), dim="time", class_dim="kind", sample_weight=AREA)
    for site in COORDS["site"]:
        y, rows = KIND.sel(site=site).values, ROWS.sel(site=site).values
        expected = pr.skill_score(y, rows, rule=pr.RankedProbability(), labels=LABELS)
        assert float(skill.sel(site=site)) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    "rule",
    [pr.Brier(), pr.Log(), pr.RankedProbability(), pr.PenalizedBrier(), pr.BoundedBrier(0.2, 0.6), pr.Elementary(0.3)],
    ids=lambda rule: rule.name,
)
@pytest.mark.parametrize("columns", [None, 1, 2], ids=["one event", "one column", "two classes"])
@pytest.mark.parametrize("chunks", [None, {"time": 15}], ids=["memory", "dask"])
def test_one_event_may_have_one_column_or_two(rule, columns, chunks):
    if chunks is not None:
        pytest.importorskip("dask")
    event = P.clip(0.01, 0.99)
    p = event if columns is None else xr.concat([1 - event, event][-columns:], "kind")
    options = {"rule": rule, "dim": "time", "class_dim": None if columns is None else "kind"}
    y, p = (OBSERVED, p) if chunks is None else (OBSERVED.chunk(chunks), p.chunk(chunks))
    scores, skill = mean_score(y, p, **options), skill_score(y, p, **options)
    against = skill_score(y, p, reference=0.5 * p + 0.5 / (columns or 2), **options)
    for site in COORDS["site"]:
        seen, forecast = OBSERVED.sel(site=site).values, event.sel(site=site, lead=12).values
        place = {"site": site, "lead": 12}
        expected = pr.mean_score(seen, forecast, rule=rule)
        assert float(scores.sel(place)) == pytest.approx(expected, rel=1e-12)
        assert expected.scale.startswith(scores.attrs["scale"])
        assert float(skill.sel(place)) == pytest.approx(pr.skill_score(seen, forecast, rule=rule), rel=1e-12)
        reference = 0.5 * forecast + 0.5 / (columns or 2)
        expected = pr.skill_score(seen, forecast, rule=rule, reference=reference)
        assert float(against.sel(place)) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("pos_label", [None, "dry", "wet"])
def test_either_of_two_classes_may_be_the_event(pos_label):
    y = xr.where(OBSERVED == 1, "wet", "dry")
    rows = xr.concat([1 - P, P], "kind").assign_coords(kind=["dry", "wet"]).sel(lead=6, drop=True)
    rule = pr.BoundedBrier(0.1, 0.4)
    skill = skill_score(y, rows, rule=rule, dim="time", class_dim="kind", pos_label=pos_label)
    for site in COORDS["site"]:
        seen, forecast = y.sel(site=site).values, rows.sel(site=site).transpose("time", "kind").values
        expected = pr.skill_score(seen, forecast, rule=rule, labels=["dry", "wet"], pos_label=pos_label)
        assert float(skill.sel(site=site)) == pytest.approx(expected, rel=1e-12)


def test_without_cases_there_is_no_skill():
    nothing = xr.full_like(ROWS, np.nan)
    for rule in (pr.Brier(), pr.BoundedBrier(0.1, 0.4)):
        skill = skill_score(KIND, nothing, rule=rule, dim="time", class_dim="kind", missing="drop")
        assert np.isnan(skill).all()


def test_skill_is_missing_where_the_reference_has_no_loss():
    y, p = xr.DataArray([[1, 1], [0, 1]], dims=("site", "time")), xr.DataArray([0.5, 0.7], dims="time")
    assert np.isnan(skill_score(y, p, rule=pr.Brier(), dim="time")).values.tolist() == [True, False]


def test_forecast_and_reference_are_scored_on_the_same_cases():
    gaps = P.where(P["time"] > 3)
    found = skill_score(OBSERVED, P, rule=pr.Brier(), dim="time", reference=gaps, missing="drop")
    np.testing.assert_allclose(found, 0.0, atol=1e-12)
    with pytest.raises(InputValueError, match=r"reference must lie in \[0, 1\]"):
        skill_score(OBSERVED, P, rule=pr.Brier(), reference=1.5)


def test_the_share_of_members_is_a_forecast():
    members = xr.DataArray(np.random.default_rng(1).gamma(1.0, 5.0, (10, 40, 3)), dims=("member", "time", "site"))
    share = exceedance(members, 4.0, member_dim="member")
    np.testing.assert_allclose(share, (members > 4.0).mean("member"))
    gaps = members.where(members["time"] > 0).where((members["member"] > 4) | (members["site"] > 0))
    known = exceedance(gaps, 4.0, member_dim="member")
    assert np.isnan(known.isel(time=0)).all()
    np.testing.assert_allclose(known.isel(site=0)[1:], (members[5:, 1:, 0] > 4.0).mean("member"))
    by_site = xr.DataArray([1.0, 4.0, np.nan], dims="site")
    assert np.isnan(exceedance(members, by_site).isel(site=2)).all()
    with pytest.raises(InputValueError, match="member_dim must be one of"):
        exceedance(members, 4.0, member_dim="number")


def test_a_missing_threshold_is_not_exceeded_or_missed():
    values = xr.DataArray([1.0, np.inf, 3.0, np.nan], dims="site")
    assert np.isnan(exceedance(values, float("nan"))).all()
    thresholds = np.array([0.0, np.inf, np.nan, 0.0])
    for threshold in (thresholds, xr.DataArray(thresholds, dims="site")):
        np.testing.assert_array_equal(exceedance(values, threshold), [1.0, 0.0, np.nan, np.nan])


def test_thresholds_have_the_coordinates_of_the_values():
    values = xr.DataArray([1.0, 2.0, 3.0], dims="lat", coords={"lat": [0.1, 0.2, 0.5]})
    rounded = xr.zeros_like(values).assign_coords(lat=values["lat"].astype("f4").astype(float))
    with pytest.raises(InputValueError, match=r"rounding.*threshold\.assign_coords\({'lat': values\['lat'\]}\)"):
        exceedance(values, rounded)
    fewer = xr.DataArray([5.0, 1.0], dims="lat", coords={"lat": [0.5, 0.2]})
    with pytest.raises(InputValueError, match=r'values and threshold must have equal.*join="inner" keeps the 2'):
        exceedance(values, fewer)
    xr.testing.assert_equal(exceedance(values, fewer, join="inner"), xr.where(fewer < 2.0, 1.0, 0.0).sortby("lat"))
