"""Scores of named arrays are those of scores and xskillscore."""

import numpy as np
import pytest
import xarray as xr
from gridded import OBSERVED, P

import propriety as pr
from propriety.integrations.xarray import decompose, exceedance, mean_score

MEMBERS = xr.DataArray(
    np.random.default_rng(2).gamma(1.0, 5.0, (11, 2, 40, 3)),
    dims=("member", "lead", "time", "site"),
    coords={name: P[name] for name in ("lead", "time", "site")},
)
AMOUNT = MEMBERS.isel(member=0, lead=0, drop=True) + 0.1


@pytest.mark.parametrize("dim", [["time"], ["time", "site"], ["lead", "time", "site"]], ids=len)
def test_brier_scores_are_those_of_scores(dim):
    scores = pytest.importorskip("scores")
    ours = mean_score(OBSERVED, P, rule=pr.Brier(), dim=dim)
    theirs = scores.probability.brier_score(P, OBSERVED, reduce_dims=dim)
    xr.testing.assert_allclose(ours.drop_attrs(), theirs.transpose(*ours.dims).drop_attrs(), rtol=1e-12)
    probability = exceedance(MEMBERS, 5.0, member_dim="member")
    ours = mean_score(exceedance(AMOUNT, 5.0), probability, rule=pr.Brier(), dim=dim)
    theirs = scores.probability.brier_score_for_ensemble(
        MEMBERS, AMOUNT, "member", 5.0, reduce_dims=dim, fair_correction=False
    )
    np.testing.assert_allclose(ours, theirs.squeeze("threshold").transpose(*ours.dims), rtol=1e-12)


@pytest.mark.parametrize("dim", [["time"], ["time", "site"]], ids=len)
def test_brier_scores_are_those_of_xskillscore(dim):
    xskillscore = pytest.importorskip("xskillscore")
    ours = mean_score(OBSERVED, P, rule=pr.Brier(), dim=dim)
    np.testing.assert_allclose(ours, xskillscore.brier_score(OBSERVED, P, dim=dim).transpose(*ours.dims), rtol=1e-12)
    probability = exceedance(MEMBERS, 5.0, member_dim="member")
    ours = mean_score(exceedance(AMOUNT, 5.0), probability, rule=pr.Brier(), dim=dim)
    theirs = xskillscore.threshold_brier_score(AMOUNT.broadcast_like(probability), MEMBERS, 5.0, dim=dim)
    np.testing.assert_allclose(ours, theirs.transpose(*ours.dims), rtol=1e-12)


def test_isotonic_fits_are_those_of_scores():
    scores = pytest.importorskip("scores")
    p, y = P.sel(lead=6, site="west", drop=True), OBSERVED.sel(site="west", drop=True).astype(float)
    fit = scores.processing.isotonic_fit(p, y)
    recalibrated = np.interp(p, fit["fcst_sorted"], fit["regression_values"])
    assert float(decompose(y, p)["miscalibration"]) == pytest.approx(
        float(((p - y) ** 2).mean() - ((recalibrated - y.values) ** 2).mean()), rel=1e-9
    )
