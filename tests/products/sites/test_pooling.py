"""Meta-analysis over sites: golden numbers, the exchange of ledgers, sites without an error, and words."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, logit, ndtri
from scipy.stats import t

import propriety as pr
from propriety.errors import InputTypeError, InputValueError
from propriety.inference.measures.of_means import MeanScore
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


def sites(number=6, *, seed=1, spread=0.3):
    rng = np.random.default_rng(seed)
    parts = []
    for place in range(number):
        n = int(rng.integers(200, 500))
        x = rng.normal(size=n)
        y = rng.random(n) < expit(-1 + x + rng.normal(0, spread))
        parts.append((y, {"a": expit(-1 + x), "b": expit(-0.5 + 0.7 * x)}, np.full(n, f"site {place}")))
    return parts


MEASURES = [
    pr.measures.ObservedExpected(),
    pr.measures.CalibrationSlope(),
    pr.measures.CalibrationIntercept(),
    pr.measures.AreaUnderRoc(),
    pr.Brier(),
    pr.measures.NetBenefit(0.2),
]


def test_ledgers_of_hospitals_give_the_same_answer_as_all_rows(tmp_path):
    parts = sites()
    for place, (y, p, site) in enumerate(parts):
        pr.condense(y, p, by={"site": site}).to_parquet(tmp_path / str(place))
    sent = sum(pr.Ledger.from_parquet(tmp_path / str(place)) for place in range(len(parts)))
    y, site = (np.concatenate([part[column] for part in parts]) for column in (0, 2))
    p = {model: np.concatenate([part[1][model] for part in parts]) for model in "ab"}
    one, other = (
        pr.meta_analysis(ledger, measures=MEASURES) for ledger in (sent, pr.condense(y, p, by={"site": site}))
    )
    for name, column in one.to_frame().items():
        if column.dtype.kind == "f":
            np.testing.assert_allclose(column, other.to_frame()[name], rtol=1e-12, err_msg=name)
    for place, measure in enumerate(MEASURES):
        assert one.pooled[place] == pytest.approx(pr.estimate(y, p["a"], measure).value, rel=1e-12)


def test_sites_have_their_own_estimates_on_the_scale_of_the_measure():
    parts = sites(4)
    ledger = sum(pr.condense(y, p, by={"site": site}) for y, p, site in parts)
    found = pr.meta_analysis(ledger, measures=MEASURES)
    row = found.row(pr.measures.AreaUnderRoc(), "b")
    own = found.of_row(row)
    alone = [pr.estimate(y, p["b"], pr.measures.AreaUnderRoc()) for y, p, _ in parts]
    np.testing.assert_allclose(own["value"], [one.value for one in alone])
    np.testing.assert_array_equal(own["events"], [y.sum() for y, _, _ in parts])
    value = np.array([one.value for one in alone])
    error = np.array([one.standard_error for one in alone]) / (value * (1 - value))
    summary = random_effects(logit(value), error, method="paule-mandel", level=0.95)
    assert found.mean[row] == pytest.approx(expit(summary.mean))
    assert found.prediction_low[row] == pytest.approx(expit(summary.prediction_low))
    np.testing.assert_allclose(own["weight"], summary.weight)
    assert own["weight"].sum() == pytest.approx(1.0)


def test_other_keys_are_added_up():
    parts = sites(3)
    half = [np.arange(len(y)) % 2 for y, _, _ in parts]
    split = sum(pr.condense(y, p, by={"half": own, "site": s}) for (y, p, s), own in zip(parts, half, strict=True))
    whole = sum(pr.condense(y, p, by={"site": s}) for y, p, s in parts)
    one, other = (pr.meta_analysis(ledger) for ledger in (split, whole))
    np.testing.assert_allclose(one.mean, other.mean, rtol=1e-12)


def test_a_site_without_events_is_left_out_and_named():
    parts = [*sites(3), (np.zeros(40, dtype=bool), {"a": np.full(40, 0.1), "b": np.full(40, 0.2)}, ["empty"] * 40)]
    ledger = sum(pr.condense(y, p, by={"site": s}) for y, p, s in parts)
    found = pr.meta_analysis(ledger)
    row = found.row(pr.measures.ObservedExpected(), "a")
    assert found.n_sites[row] == 3
    assert "1 site left out: empty" in found.note[row]
    own = found.of_row(row)
    assert own["weight"][list(own["site"]).index("empty")] == 0.0
    assert "Note: 1 site left out: empty" in str(found)


def test_two_sites_have_a_mean_but_no_prediction():
    ledger = sum(pr.condense(y, p, by={"site": s}) for y, p, s in sites(2))
    found = pr.meta_analysis(ledger)  # On all three scales.
    assert np.isfinite(found.mean).all()
    assert np.isnan(found.prediction_low).all()
    assert np.isnan(found.prediction_high).all()
    assert "new site" not in str(found)


def test_classes_have_their_scores():
    rng = np.random.default_rng(3)
    p = rng.dirichlet([1, 1, 1], 600)
    y = (rng.random((600, 1)) > p.cumsum(axis=1)).sum(axis=1)
    found = pr.meta_analysis(pr.condense(y, p, by={"site": np.arange(600) % 4}), measures=[pr.Brier(), pr.Log()])
    assert found.sites.events is None
    assert (found.n_sites == 4).all()


def test_numbers_leave_as_strict_json_and_words():
    ledger = sum(pr.condense(y, p, by={"site": s}) for y, p, s in sites(5))
    found = pr.meta_analysis(ledger)
    stored = json.loads(found.to_json())
    assert stored["sites"]["site"][:2] == ["site 0", "site 1"]
    assert stored["mean"] == found.mean.tolist()
    assert str(found).startswith("Observed/expected of a: ")
    assert "95% prediction interval" in str(found)


def test_wrong_arguments_are_named():
    y, p, s = sites(1)[0]
    with pytest.raises(InputValueError, match="two sites or more"):
        pr.meta_analysis(pr.condense(y, p, by={"site": s}))
    with pytest.raises(InputValueError, match="hospital"):
        pr.meta_analysis(pr.condense(y, p, by={"site": s}), by="hospital")
    with pytest.raises(InputTypeError, match="must be a Ledger"):
        pr.meta_analysis(y)
    ledger = sum(pr.condense(y, p, by={"site": s}) for y, p, s in sites(3))
    assert pr.meta_analysis(ledger, measures=pr.Brier()).measures == (MeanScore(pr.Brier()),)
    with pytest.raises(InputValueError, match="measures must name at least one measure"):
        pr.meta_analysis(ledger, measures=[])
    with pytest.raises(InputValueError, match="method"):
        pr.meta_analysis(ledger, method="fixed")
    with pytest.raises(InputValueError, match="model"):
        pr.meta_analysis(ledger).row()


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


def test_a_sum_of_private_ledgers_is_pooled_through_its_ledger():
    y, p = np.arange(90) % 2, np.tile([0.1, 0.9, 0.3, 0.6, 0.5], 18)
    sites = [pr.condense(y, p, by={"site": np.repeat(name, 90)}) for name in "abc"]
    summed = sum(pr.coarsen(site, smallest=1) for site in sites)
    assert pr.meta_analysis(summed.ledger).n_sites.tolist() == [3] * 4


def test_private_ledgers_are_refused_with_a_hint():
    private = pr.coarsen(pr.condense([0, 1, 0, 1], [0.1, 0.9, 0.3, 0.6], by={"site": list("aabb")}))
    with pytest.raises(InputTypeError, match="pass its `ledger`"):
        pr.meta_analysis(private)


def test_limits_are_values_that_a_measure_can_have():
    rng = np.random.default_rng(1)
    site, p = np.repeat(np.arange(5), 60), rng.random(300)
    sharp = (site % 2 == 0) & (rng.random(300) < 0.9)
    y = np.where(sharp, p > 0.5, rng.random(300) < 0.5)
    measures = [pr.Brier(), pr.Log(), pr.measures.AreaUnderRoc(), pr.measures.Skill(), pr.measures.NetBenefit(0.4)]
    measures += [pr.measures.AccuracyAtCoverage(0.5)]
    found = pr.meta_analysis(
        pr.condense(y, np.clip(p, 0.01, 0.99), by={"site": site}), measures=measures, n_resamples=100, seed=1
    )
    least = [0.0, 0.0, 0.0, -np.inf, -2 / 3, 0.0]
    most = [1.0, np.inf, 1.0, 1.0, 1.0, 1.0]
    for low, high in ((found.low, found.high), (found.prediction_low, found.prediction_high)):
        assert (least <= low).all()
        assert (low < high).all()
        assert (high <= most).all()
    clipped = "limits clipped to the range of the measure"
    assert found.prediction_low[0] == 0.0
    assert clipped in found.note[0]
    assert found.prediction_high[3] == 1.0
    assert clipped in str(found).splitlines()[3]
    assert clipped not in found.note[2]


@pytest.mark.parametrize("wrong", [pr.Brier, "bryer", None, 5, [], {"a": pr.Brier()}])
def test_measures_are_rules_measures_or_functions(wrong):
    ledger = pr.condense([0, 1] * 20, np.linspace(0.1, 0.9, 40), by={"site": np.arange(40) // 20})
    kind = InputTypeError if wrong in (pr.Brier, None, 5) else InputValueError
    with pytest.raises(kind, match="measures must"):
        pr.meta_analysis(ledger, measures=wrong)
    for right in (pr.Brier(), [pr.Brier()], np.array([pr.Brier()], dtype=object)):
        assert pr.meta_analysis(ledger, measures=right).measure.tolist() == ["brier"]


@pytest.mark.parametrize("wrong", [np.array(["site", "day"]), ["site"], np.array("site"), {"site"}, 5, None])
def test_names_of_keys_and_models_must_be_texts(wrong):
    ledger = pr.condense([0, 1] * 20, np.linspace(0.1, 0.9, 40), by={"site": np.arange(40) // 20})
    for call in (
        lambda: pr.meta_analysis(ledger, by=wrong),
        lambda: pr.meta_analysis(ledger).row(model=wrong if wrong is not None else "site"),
        lambda: ledger.one_model(wrong if wrong is not None else "site"),
    ):
        with pytest.raises(InputValueError, match=r"must be|has no key"):
            call()


@pytest.mark.parametrize("measure", [pr.measures.Miscalibration(), pr.measures.Discrimination()], ids=repr)
def test_distances_from_a_fitted_curve_have_no_mean_over_sites(measure):
    ledger = pr.condense([0, 1] * 20, np.linspace(0.1, 0.9, 40), by={"site": np.arange(40) // 20})
    with pytest.raises(InputValueError, match="noise inflates it at every site"):
        pr.meta_analysis(ledger, measures=[measure])


@pytest.mark.parametrize("number", [0, "a", 2.5])
def test_the_number_of_draws_is_checked(number):
    ledger = pr.condense([0, 1] * 20, np.linspace(0.1, 0.9, 40), by={"site": np.arange(40) // 20})
    with pytest.raises((InputValueError, InputTypeError), match="n_resamples"):
        pr.meta_analysis(ledger, n_resamples=number)


def test_measures_of_one_key_are_refused():
    rng = np.random.default_rng(1)
    p, site = rng.beta(1, 2, 400), np.arange(400) % 4
    ledger = pr.condense(rng.random(400) < p, p, by={"site": site})
    with pytest.raises(InputValueError, match="measures must each have a key of its own; 'log' occurs twice"):
        pr.meta_analysis(ledger, measures=[pr.Log(), pr.Log(clip=0.2)])


def test_a_site_with_an_infinite_score_is_not_averaged_away():
    rng = np.random.default_rng(1)
    p, site = rng.uniform(0.1, 0.9, 400), np.arange(400) % 4
    y = rng.random(400) < p
    p[np.flatnonzero(y & (site == 2))[0]] = 0.0
    found = pr.meta_analysis(pr.condense(y, p, by={"site": site}), measures=[pr.Log(), pr.Brier()])
    assert found.mean[0] == np.inf
    assert np.isnan([found.low[0], found.high[0], found.prediction_high[0]]).all()
    assert np.isfinite(found.mean[1])
    assert "infinite on average over the sites. Note: it is infinite at 1 site: 2." in str(found)
    assert "∞" in [text.get_text() for text in found.plot(measure="log").texts]


RATIO = (pr.measures.ObservedExpected(),)


def calibrated_sites(seed, number, cases, a, b, measures=RATIO):
    rng = np.random.default_rng(seed)
    q = rng.beta(a, b, number * cases)
    ledger = pr.condense(rng.random(len(q)) < q, {"p": q}, by={"site": np.arange(len(q)) // cases})
    return pr.meta_analysis(ledger, measures=measures, seed=1)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("design", [(30, 30, 1, 19), (20, 60, 1, 29), (8, 200, 1, 19)], ids=str)
def test_the_mean_ratio_of_small_sites_is_called_biased(design, seed):
    """Of 60 calibrated samples of 30 sites of 30 cases, the mean of observed/expected was 1.5."""
    found = calibrated_sites(seed, *design)
    (note,) = found.note
    assert "have few events" in note
    assert "the mean over sites is too high; over all cases together it is " in note
    assert note in str(found)


def test_sites_left_out_without_events_are_called_a_bias():
    q = np.full(4_200, 0.1)
    y = np.arange(4_200) % 10 == 0
    site = np.arange(4_200) // 600
    site[:5] = 7  # Five cases without an event.
    y[:5] = False
    (note,) = pr.meta_analysis(pr.condense(y, {"p": q}, by={"site": site}), measures=RATIO, seed=1).note
    assert "1 site without events or without non-events is left out: the mean over sites is too high" in note


@pytest.mark.parametrize("seed", range(4))
def test_the_mean_ratio_of_large_sites_is_not(seed):
    assert calibrated_sites(seed, 20, 2000, 1, 19).note.tolist() == [""]


def test_the_bias_matters_where_sites_are_many():
    """The bias does not depend on the number of sites, but the interval becomes narrower with it."""
    few, many = (calibrated_sites(1, number, 800, 1, 19).note[0] for number in (10, 160))
    assert (few, "160 sites of about 40 expected events each have few events" in many) == ("", True)


def test_only_ratios_of_counts_are_biased_and_in_their_direction():
    measures = (pr.measures.PredictedActual(), pr.measures.AreaUnderRoc(), pr.Brier())
    notes = calibrated_sites(1, 8, 200, 1, 19, measures).note.tolist()
    assert "the mean over sites is too low" in notes[0]
    assert not any("the mean over sites is too" in note for note in notes[1:])
