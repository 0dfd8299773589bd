"""Random effects: golden numbers of other packages, equations that estimators solve, and predictions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import chdtri, ndtri
from scipy.stats import t

from propriety.inference.random_effects import between_variance, random_effects

# The trials of the BCG vaccine (Colditz et al. 1994, doi:10.1001/jama.1994.03510330076038): cases and others among the
# vaccinated and the unvaccinated.
VACCINATED = [4, 6, 3, 62, 33, 180, 8, 505, 29, 17, 186, 5, 27]
VACCINATED_OTHERS = [119, 300, 228, 13536, 5036, 1361, 2537, 87886, 7470, 1699, 50448, 2493, 16886]
CONTROLS = [11, 29, 11, 248, 47, 372, 10, 499, 45, 65, 141, 3, 29]
CONTROLS_OTHERS = [128, 274, 209, 12619, 5761, 1079, 619, 87892, 7232, 1600, 27197, 2338, 17825]


def vaccine_trials():
    """Return the log relative risks and their standard errors."""
    a, b, c, d = map(np.array, (VACCINATED, VACCINATED_OTHERS, CONTROLS, CONTROLS_OTHERS))
    values = np.log(a / (a + b)) - np.log(c / (c + d))
    return values, np.sqrt(1 / a - 1 / (a + b) + 1 / c - 1 / (c + d))


# `combine_effects` of statsmodels 0.15.0 with use_t=True: tau squared, mean, Hartung-Knapp error and limits. That of
# "reml" is the published result of R's metafor for these data: 0.3132, -0.7145, and I squared 92.22%.
GOLDEN = {
    "dersimonian-laird": (0.3087602628623761, -0.7141172220732273, 0.1806966283355474, -1.10782135, -0.32041309),
    "paule-mandel": (0.3180684522038202, -0.7149681534933369, 0.18089219153759867, -1.10909838, -0.32083793),
}


@pytest.mark.parametrize("method", GOLDEN)
def test_summary_is_that_of_statsmodels(method):
    values, errors = vaccine_trials()
    found = random_effects(values, errors, method=method, level=0.95, prediction="higgins")
    numbers = (found.tau**2, found.mean, found.standard_error, found.low, found.high)
    np.testing.assert_allclose(numbers, GOLDEN[method], rtol=2e-8)
    assert found.q == pytest.approx(152.2330080823733)
    half = t.ppf(0.975, 11) * np.sqrt(found.tau**2 + found.standard_error**2)
    assert found.prediction_high - found.mean == pytest.approx(half)


def test_restricted_likelihood_is_that_of_metafor():
    values, errors = vaccine_trials()
    found = random_effects(values, errors, method="reml", level=0.95)
    assert (round(found.tau**2, 4), round(found.mean, 4), round(100 * found.i_squared, 2)) == (0.3132, -0.7145, 92.22)


@given(st.lists(st.tuples(st.floats(-3, 3), st.floats(0.01, 2)), min_size=2, max_size=12))
def test_estimators_solve_their_equations(sites):
    values, errors = np.array(sites).T
    variances = errors**2
    pm, reml, dl = (between_variance(values, variances, one) for one in ("paule-mandel", "reml", "dersimonian-laird"))
    assert min(pm, reml, dl) >= 0.0
    weight = 1 / (variances + pm)
    mean = (weight * values).sum() / weight.sum()
    deviance = (weight * (values - mean) ** 2).sum()
    assert deviance == pytest.approx(len(values) - 1, rel=1e-6) if pm > 0 else deviance <= len(values) - 1 + 1e-9

    def restricted(square):
        w = 1 / (variances + square)
        centre = (w * values).sum() / w.sum()
        return np.log(w).sum() - np.log(w.sum()) - (w * (values - centre) ** 2).sum()

    others = np.concatenate([[0.0], np.geomspace(1e-6, 40, 30)])
    assert restricted(reml) >= max(map(restricted, others)) - 1e-5


def test_a_prediction_allows_for_the_uncertainty_of_the_spread():
    # Equal estimates do not show that sites are equal.
    values, errors = np.array([0.01, -0.01, 0.0, 0.0, 0.0, 0.0]), np.full(6, 0.2)
    usual, found = (
        random_effects(values, errors, method="paule-mandel", level=0.95, prediction=one)
        for one in ("higgins", "profile")
    )
    assert usual.prediction_high - usual.prediction_low < 0.1 < found.prediction_high - found.prediction_low
    # With many sites and a large spread, both are that of the normal distribution.
    values = 3.0 * ndtri((np.arange(400) + 0.5) / 400)
    for one in ("higgins", "profile"):
        found = random_effects(values, np.full(400, 0.1), method="paule-mandel", level=0.95, prediction=one)
        assert found.prediction_high == pytest.approx(3.0 * 1.96, rel=0.02)
        assert found.prediction_low == pytest.approx(-found.prediction_high, abs=0.01)


def test_equal_errors_give_the_plain_mean_and_spread():
    values, errors = np.array([0.0, 1.0, 5.0]), np.full(3, 0.5)
    for method in ("paule-mandel", "reml", "dersimonian-laird"):
        found = random_effects(values, errors, method=method, level=0.9)
        assert found.mean == pytest.approx(2.0)
        assert found.tau**2 == pytest.approx(values.var(ddof=1) - 0.25, rel=1e-6)
        assert found.standard_error == pytest.approx(values.std(ddof=1) / np.sqrt(3))


@pytest.mark.parametrize("error", [1e-7, 1e-4, 1e-2])
def test_predictions_of_large_sites_are_those_of_exact_values(error):
    values = np.array([-0.4, -0.1, 0.0, 0.2, 0.5, 0.3])
    found = random_effects(values, np.full(6, error), method="paule-mandel", level=0.95)
    usual = random_effects(values, np.full(6, error), method="paule-mandel", level=0.95, prediction="higgins")
    # The variance between sites has a scaled inverse chi-squared distribution if the values are known exactly.
    generator = np.random.default_rng(1)
    square = ((values - values.mean()) ** 2).sum() / generator.chisquare(5, 200_000)
    drawn = values.mean() + np.sqrt(square * (1 + 1 / 6)) * generator.standard_t(5, 200_000)
    low, high = np.quantile(drawn, [0.025, 0.975])
    assert found.prediction_low == pytest.approx(low, rel=0.05)
    assert found.prediction_high == pytest.approx(high, rel=0.05)
    assert found.prediction_high - found.prediction_low > 0.8 * (usual.prediction_high - usual.prediction_low)


def test_errors_of_very_different_size_and_high_levels_have_predictions():
    wild = random_effects(
        np.array([0.1, 0.2, 0.5, 3.0]), np.array([1e-6, 1e-6, 1e-6, 1e3]), method="reml", level=0.999999
    )
    assert wild.prediction_low < wild.low < wild.high < wild.prediction_high


def test_limits_of_the_spread_are_those_of_the_generalized_q():
    """At either limit of tau squared, Q is a quantile of chi-squared (Viechtbauer 2007)."""
    values, errors = vaccine_trials()
    found = random_effects(values, errors, method="paule-mandel", level=0.95)
    for tau, share in ((found.tau_low, 0.025), (found.tau_high, 0.975)):
        weight = 1 / (errors**2 + tau**2)
        mean = (weight * values).sum() / weight.sum()
        assert (weight * (values - mean) ** 2).sum() == pytest.approx(chdtri(12, share), rel=1e-3)
    assert found.i_squared_low < found.i_squared < found.i_squared_high < 1.0
    # R's metafor: confint(rma(yi, vi, data = dat.bcg)) has tau squared .1197 to 1.1115, I squared 81.92 to 97.68%.
    np.testing.assert_allclose([found.tau_low**2, found.tau_high**2], [0.1197, 1.1115], rtol=1e-3)
    np.testing.assert_allclose([found.i_squared_low, found.i_squared_high], [0.8192, 0.9768], atol=1e-4)
