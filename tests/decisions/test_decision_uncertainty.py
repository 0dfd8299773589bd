"""Uncertainty of decision curves: posteriors against brute force, limits against their formulas, and shapes of input."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from sliced import slices

import propriety as pr
from propriety.errors import InputTypeError, InputValueError
from propriety.inference.threshold_limits import wilson_limits
from propriety.tables.forecast_table import ForecastTable

RNG = np.random.default_rng(1)
N = 400
P = RNG.beta(1, 5, N).round(3)
Q = np.clip(P + RNG.normal(0, 0.08, N), 0, 1).round(3)
Y = RNG.random(N) < P
GRID = np.array([0.1, 0.2, 0.3])
MODELS = {"new": P, "old": Q}


def of(found, column, strategy):
    return getattr(found, column)[found.of(strategy)]


@pytest.fixture(scope="module")
def brute():
    """Net benefits of Dirichlet shares of outcome and decisions, with 1/4 more than counted, at each threshold."""
    return posterior(np.random.default_rng(2), 20_000)[0]


def posterior(generator, draws, more=None):
    """Draws of net benefits and, with `more` cases from each draw, of the posterior means that follow."""
    found, means = np.empty((2, draws, 4, len(GRID)))
    for at, threshold in enumerate(GRID):
        codes = 4 * Y + 2 * (threshold <= P) + (threshold <= Q)
        new, old = np.tile([[0, 0, 1, 1], [0, 1, 0, 1]], 2)
        worth = np.repeat([-threshold / (1.0 - threshold), 1.0], 4)
        gain = np.stack([new, old, np.ones(8), np.zeros(8)], axis=1) * worth[:, None]
        known = np.bincount(codes, minlength=8) + 0.25
        share = generator.dirichlet(known, draws)
        found[:, :, at] = share @ gain
        if more is not None:
            counts = known + generator.multinomial(more, share)
            means[:, :, at] = counts @ gain / counts.sum(axis=1, keepdims=True)
    return found, means


@pytest.fixture(scope="module")
def found():
    return pr.decision_uncertainty(Y, MODELS, grid=GRID, more_cases=300, n_resamples=20_000, seed=1)


def test_net_benefits_are_those_of_the_decision_curve(found):
    for model, p in MODELS.items():
        curve = pr.decision_curve(Y, p, grid=GRID)
        np.testing.assert_allclose(of(found, "net_benefit", model), curve.value, atol=1e-15)
    np.testing.assert_allclose(of(found, "net_benefit", "treat all"), curve.treat_all, atol=1e-15)
    assert not of(found, "net_benefit", "treat none").any()


def test_posterior_is_a_dirichlet_distribution_at_each_threshold(found, brute):
    error = brute.std(axis=0).max() / math.sqrt(20_000)
    for place, strategy in enumerate(found.strategies):
        limits = np.quantile(brute[:, place], [0.025, 0.975], axis=0)
        np.testing.assert_allclose(of(found, "credible_low", strategy), limits[0], atol=8 * error)
        np.testing.assert_allclose(of(found, "credible_high", strategy), limits[1], atol=8 * error)
        best = (brute.argmax(axis=1) == place).mean(axis=0)
        np.testing.assert_allclose(of(found, "probability_best", strategy), best, atol=0.02)
    evpi = 1000 * (brute.max(axis=1).mean(axis=0) - brute.mean(axis=0).max(axis=0))
    np.testing.assert_allclose(of(found, "evpi", "new"), evpi, atol=1000 * error)
    assert evpi.max() > 0.1


def test_sample_information_is_that_of_simulated_studies(found):
    """A further study of 300 cases is drawn from each draw of the population; its posterior mean decides."""
    means = posterior(np.random.default_rng(3), 20_000, more=300)[1]
    evsi = 1000 * (means.max(axis=1).mean(axis=0) - means.mean(axis=0).max(axis=0))
    error = 1000 * means.std(axis=0).max() / math.sqrt(20_000)
    np.testing.assert_allclose(of(found, "evsi", "new"), evsi, atol=4 * error)
    assert (found.evsi <= found.evpi + 1e-12).all()


def test_value_of_information_grows_to_that_of_perfect_information():
    few, many = (
        pr.decision_uncertainty(Y, MODELS, grid=GRID, more_cases=more, seed=1).evsi for more in (200, 10_000_000)
    )
    full = pr.decision_uncertainty(Y, MODELS, grid=GRID, seed=1)
    assert (few <= many + 1e-12).all()
    np.testing.assert_allclose(many, full.evpi, rtol=1e-2, atol=1e-6)
    assert np.isnan(full.evsi).all()


def test_decisions_that_were_not_seen_are_possible():
    y, p = np.zeros(1000), np.full(1000, 0.005)
    y[:10], p[:10], p[500] = 1, 0.04, 0.15  # At 0.1, the model acts on one non-event and on no event.
    found = pr.decision_uncertainty(y, {"m": p}, thresholds=0.1, more_cases=1000, n_resamples=20_000, seed=1)
    generator = np.random.default_rng(2)
    hits, alarms = generator.standard_gamma([0.5, 1.5], (100_000, 2)).T
    benefit = (hits - alarms / 9.0) / 1002.0
    assert of(found, "probability_best", "m")[0] == pytest.approx((benefit > 0.0).mean(), abs=0.015)
    assert found.evpi[0] == pytest.approx(1000 * (np.maximum(benefit, 0.0).mean() - benefit.mean()), abs=0.003)
    limits = of(found, "credible_low", "m")[0], of(found, "credible_high", "m")[0]
    assert limits == pytest.approx(np.quantile(benefit, [0.025, 0.975]), rel=0.1)
    assert 0.0 < found.evsi[0] < found.evpi[0]
    assert "m has the highest net benefit with probability 0.60 (gain 0.000, 95% CI 0.000 to 0.002)" in str(found)


def test_credible_limits_of_few_decisions_have_their_coverage():
    """At 0.05, a calibrated model acts on 3 of 1,000 cases on average, and on an event in a quarter of the samples."""
    threshold, generator = 0.05, np.random.default_rng(3)
    z = np.linspace(-8.0, 8.0, 20_001)
    risk, density = 1.0 / (1.0 + np.exp(7.0 - 1.5 * z)), np.exp(-(z**2) / 2.0)
    true = ((risk >= threshold) * (risk - threshold) / (1.0 - threshold)) @ density / density.sum()
    held = []
    for seed in range(80):
        p = 1.0 / (1.0 + np.exp(7.0 - 1.5 * generator.standard_normal(1000)))
        y = generator.random(1000) < p
        if y.any():
            found = pr.decision_uncertainty(y, {"m": p}, thresholds=threshold, n_resamples=400, seed=seed)
            held.append(found.credible_low[0] <= true <= found.credible_high[0])
            assert found.probability_best[0] > 0.05  # The model is the best strategy.
    assert np.mean(held) > 0.9


def test_other_models_do_not_change_the_posterior_of_a_model():
    models = MODELS | {"third": np.sqrt(P), "fourth": Q**2}
    many, one = (pr.decision_uncertainty(Y, m, grid=[0.3, 0.6], n_resamples=20_000, seed=1) for m in (models, P))
    for limit in ("credible_low", "credible_high"):
        np.testing.assert_allclose(of(many, limit, "new"), of(one, limit, "forecast"), atol=0.001)
        np.testing.assert_allclose(of(many, limit, "treat all"), of(one, limit, "treat all"), atol=0.01)


def test_models_with_the_same_forecasts_share_the_first_place():
    twice = pr.decision_uncertainty(Y, {"a": P, "b": P}, grid=GRID, seed=1)
    once = pr.decision_uncertainty(Y, P, grid=GRID, seed=1)
    assert (of(twice, "probability_best", "a") == of(twice, "probability_best", "b")).all()
    np.testing.assert_allclose(twice.evpi[:3], once.evpi[:3], rtol=0.2, atol=0.02)


def test_prior_cases_have_the_weights_of_their_outcome():
    y, p = np.repeat([1, 0], [20, 400]), np.full(420, 0.01)
    hits, alarms = np.random.default_rng(2).standard_gamma(0.5, (2, 100_000))
    for event, non_event in ((1.0, 5.0), (4.0, 1.0), (3.0, 3.0)):
        weight = np.where(y, event, non_event)
        expected = (event * hits - 0.25 * non_event * alarms) / weight.sum()  # Nobody is acted on at 0.2.
        table = ForecastTable.from_predictions(y, p, sample_weight=weight)
        for source in ((y, p), (pr.Ledger.of_tables({"p": table}),)):
            own = {"sample_weight": weight} if len(source) == 2 else {}
            found = pr.decision_uncertainty(*source, thresholds=0.2, n_resamples=20_000, seed=1, **own)
            limits = found.credible_low[0], found.credible_high[0]
            assert limits == pytest.approx(np.quantile(expected, [0.025, 0.975]), rel=0.1)


def test_prior_cases_count_more_in_clusters():
    many = [np.repeat(one, 3) for one in (Y, P, np.arange(N))]
    copies = pr.decision_uncertainty(pr.cases(*many[:2], cluster=many[2]), thresholds=0.9, n_resamples=20_000, seed=1)
    plain = pr.decision_uncertainty(Y, P, thresholds=0.9, n_resamples=20_000, seed=1)
    assert plain.credible_low[0] < 0.0 < plain.credible_high[0]  # No forecast reaches the threshold.
    for limit in ("credible_low", "credible_high", "probability_best"):
        assert getattr(copies, limit)[0] == pytest.approx(getattr(plain, limit)[0], rel=0.1)


NetBenefit = pr.measures.NetBenefit
WEIGHT = np.random.default_rng(4).gamma(2.0, size=N)
MANY = np.random.default_rng(6).random((2, 20_000)) ** 3  # Far more distinct forecasts than thresholds.


@pytest.mark.parametrize("threshold", [0.02, 0.1, 0.2, 0.3, 0.6])
@pytest.mark.parametrize(
    "cases",
    [
        pytest.param(pr.cases(Y, MODELS), id="independent"),
        pytest.param(pr.cases(Y, MODELS, sample_weight=WEIGHT), id="weights"),
        pytest.param(pr.cases(Y, MODELS, cluster=np.arange(N) // 5), id="clusters"),
        pytest.param(pr.cases(MANY[0] < MANY[1], {"new": MANY[1], "old": MANY[0]}), id="many forecasts"),
    ],
)
def test_two_rooms_never_disagree_about_one_number(cases, threshold):
    """Limits of curves at a threshold are those of `estimate` and `compare` there, whatever the noise."""
    grid = np.unique([0.1, threshold, 0.4])
    own = {"grid": grid, "n_resamples": 50, "seed": 1}
    at = int(np.flatnonzero(grid == threshold)[0])
    over_old, over_all = (pr.decision_uncertainty(cases, reference=one, **own) for one in ("old", "treat all"))

    def agree(found, kind, expected):
        limits = [of(found, f"{kind}{end}", "new")[at] for end in ("low", "high")]
        assert limits == pytest.approx([expected.low, expected.high], rel=1e-10, abs=1e-13)

    agree(over_old, "", pr.estimate(cases, "new", NetBenefit(threshold)))
    agree(over_all, "gain_", pr.estimate(cases, "new", NetBenefit(threshold, over_all=True)))
    (pair,) = pr.compare(cases, measure=NetBenefit(threshold), reference="old").differences
    agree(over_old, "gain_", pair)


@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_operating_points_have_the_limits_of_estimate(weight):
    points = pr.decision_curve(Y, P, sample_weight=weight).operating_points(grid=[0.3, 0.05, 0.2], level=0.9)
    for row, threshold in enumerate(points.threshold):
        for name, over_all in (("net_benefit", False), ("gain_over_all", True)):
            found = pr.estimate(Y, P, NetBenefit(threshold, over_all=over_all), level=0.9, sample_weight=weight)
            limits = [getattr(points, f"{name}{end}")[row] for end in ("", "_low", "_high")]
            assert limits == pytest.approx([found.value, found.low, found.high], rel=1e-10)


def test_the_gain_over_treating_all_is_of_one_threshold():
    assert NetBenefit(0.2, over_all=True).key == "net_benefit_over_all_at_0.2"
    with pytest.raises(InputValueError, match="of one threshold"):
        NetBenefit((0.1, 0.2), over_all=True)


def test_limits_of_treating_all_are_those_of_the_prevalence():
    found = pr.decision_uncertainty(Y, MODELS, grid=GRID, seed=1, n_resamples=50)
    low, high = wilson_limits(np.array([float(Y.sum())]), np.array([float(N)]), 0.95)
    np.testing.assert_allclose(of(found, "low", "treat all"), (low - GRID) / (1.0 - GRID), rtol=1e-9)
    np.testing.assert_allclose(of(found, "high", "treat all"), (high - GRID) / (1.0 - GRID), rtol=1e-9)
    over = pr.decision_uncertainty(Y, MODELS, grid=GRID, reference="new", seed=1, n_resamples=50)
    back = pr.decision_uncertainty(Y, MODELS, grid=GRID, reference="treat all", seed=1, n_resamples=50)
    np.testing.assert_array_equal(of(over, "gain_low", "treat all"), -of(back, "gain_high", "new"))


def test_bands_contain_the_limits_and_are_equal_at_one_threshold():
    found = pr.decision_uncertainty(Y, MODELS, seed=1)
    assert (found.band_low <= found.low + 1e-15).all()
    assert (found.band_high >= found.high - 1e-15).all()
    one = pr.decision_uncertainty(Y, MODELS, thresholds=0.2, seed=1)
    np.testing.assert_allclose(one.band_high, one.high, rtol=0.1)


def test_tables_and_ledgers_give_the_same_as_cases():
    cases = pr.decision_uncertainty(Y, P, grid=GRID, seed=1)
    table = pr.decision_uncertainty(pr.Ledger.of_tables({"p": ForecastTable.from_predictions(Y, P)}), grid=GRID, seed=1)
    for name in ("net_benefit", "low", "band_high", "gain_low"):
        np.testing.assert_allclose(getattr(cases, name), getattr(table, name), atol=1e-14)
    np.testing.assert_allclose(cases.credible_low, table.credible_low, atol=0.01)


@pytest.mark.parametrize("thresholds", [None, (0.0625, 0.3125)])
def test_thresholds_inside_coarse_cells_are_left_out_or_refused(thresholds):
    coarse = pr.condense(Y, P, cells=16)
    found = pr.decision_uncertainty(coarse, thresholds=thresholds, n_resamples=50, seed=1)
    grid = found.threshold[found.of("forecast")]
    assert {0.0625, 0.125, 0.1875, 0.25, 0.3125} <= set(grid)
    assert not set(np.floor(grid[grid * 16 % 1 > 0] * 16)) & set(np.floor(P * 16))  # Inside empty cells only.
    exact = pr.decision_uncertainty(Y, P, grid=grid, n_resamples=50, seed=1)
    np.testing.assert_allclose(of(found, "net_benefit", "forecast"), of(exact, "net_benefit", "forecast"), atol=1e-3)
    for own in ({"thresholds": 0.2}, {"grid": [0.2, 0.25]}):
        with pytest.raises(InputValueError, match=r"share a cell of the table with the threshold 0\.2"):
            pr.decision_uncertainty(coarse, **own)


def test_further_cases_have_weights_like_the_others():
    weight = np.where(np.arange(N) % 2, 0.0, 1.0)  # Half of the cases do not count, before and after.
    half = weight > 0.0
    weighted = pr.decision_uncertainty(Y, P, grid=GRID, sample_weight=weight, more_cases=2 * N, seed=1)
    alone = pr.decision_uncertainty(Y[half], P[half], grid=GRID, more_cases=N, seed=1)
    np.testing.assert_allclose(weighted.evsi, alone.evsi, rtol=0.1, atol=0.05)


def test_weights_and_clusters():
    double = pr.decision_uncertainty(Y, P, grid=GRID, sample_weight=np.full(N, 2.0), seed=1)
    plain = pr.decision_uncertainty(Y, P, grid=GRID, seed=1)
    np.testing.assert_allclose(double.low, plain.low, atol=1e-14)
    alone = pr.decision_uncertainty(pr.cases(Y, P, cluster=np.arange(N)), grid=GRID, seed=1)
    near = pr.estimate(Y, P, NetBenefit((0.2, 0.2001)), cluster=np.arange(N))
    assert of(alone, "high", "forecast")[1] == pytest.approx(near.high, abs=5e-4)
    copies = pr.decision_uncertainty(
        pr.cases(np.tile(Y, 4), np.tile(P, 4), cluster=np.tile(np.arange(N), 4)), grid=GRID, seed=1
    )
    np.testing.assert_allclose(copies.high, alone.high, atol=1e-4)
    np.testing.assert_allclose(copies.credible_high, alone.credible_high, atol=0.004)


def test_useful_range():
    own = pr.decision_uncertainty(Y, P, seed=1).useful["forecast"]
    curve = pr.decision_curve(Y, P, grid=np.arange(1, 100) / 100)
    ahead = curve.threshold[curve.value > np.maximum(curve.treat_all, 0.0) + 1e-12]
    assert (own["estimated"][0][0], own["estimated"][-1][1]) == (ahead[0], ahead[-1])
    both = [pr.decision_uncertainty(Y, P, reference=one, seed=1) for one in ("treat all", "treat none")]
    surely = curve.threshold[np.min([of(one, "gain_band_low", "forecast") for one in both], axis=0) > 0.0]
    assert own["shown"] == [(surely[0], surely[-1])]
    assert len(surely) == round(100 * (surely[-1] - surely[0])) + 1
    assert ahead[0] < surely[0] < surely[-1] < ahead[-1]


def test_a_range_with_a_gap_is_told_as_two():
    # The forecasts of 0.55 are far too high, so that the model is worse than treating none around 0.5.
    n = 2_000
    p = np.repeat([0.02, 0.15, 0.55, 0.95], n)
    y = np.concatenate([np.arange(n) < round(rate * n) for rate in (0.02, 0.15, 0.02, 0.95)])
    found = pr.decision_uncertainty(y, {"m": p}, thresholds=(0.03, 0.9), seed=1)
    both = [
        pr.decision_uncertainty(y, {"m": p}, thresholds=(0.03, 0.9), reference=one, seed=1)
        for one in ("treat all", "treat none")
    ]
    lowest = np.min([of(one, "gain_band_low", "m") for one in both], axis=0)
    for kind, column in (("shown", lowest), ("estimated", of(found, "gain", "m"))):
        ranges = found.useful["m"][kind]
        assert len(ranges) == 2
        inside = [any(low <= one <= high for low, high in ranges) for one in of(found, "threshold", "m")]
        assert inside == (column > 0.0).tolist()
    assert (of(found, "gain_band_high", "m") < 0.0).any()
    (_, end), (start, _) = found.useful["m"]["shown"]
    assert f" to {end:.3g} and from {start:.3g} to 0.9 (95% bands)" in str(found)


def test_a_range_is_useful_only_if_the_bands_show_it():
    few = slice(0, 40)
    found = pr.decision_uncertainty(Y[few], P[few], seed=1)
    assert found.useful["forecast"]["shown"] == []
    assert "is not shown to be better than treating all and none at any threshold" in str(found)


def test_words_of_ranges():
    found = pr.decision_uncertainty(Y, P, grid=[0.1, 0.3, 0.5], seed=1)

    def told(shown, estimated):
        return str(replace(found, useful={"forecast": {"shown": shown, "estimated": estimated}}))

    one, wide = [(0.3, 0.3)], [(0.1, 0.3)]
    assert "better than treating all and none at 0.05 and from 0.1 to 0.3 (95% bands)" in told(
        [(0.05, 0.05), *wide], one
    )
    assert "better than treating all and none at the threshold 0.3 (95% bands)" in told(one, wide)
    assert "at thresholds from 0.1 to 0.3 (95% bands); the estimates alone are better at the threshold 0.3." in told(
        wide, one
    )
    assert "the estimates alone are better at thresholds from 0.1 to 0.3 and at 0.5." in told(one, [*wide, (0.5, 0.5)])
    many = [(0.1, 0.1), (0.2, 0.2), (0.3, 0.3), (0.5, 0.6)]
    assert "the estimates alone are better at some of the thresholds from 0.1 to 0.6." in told(one, many)


def test_a_useless_model_has_no_range():
    useless = pr.decision_uncertainty(Y, np.full(N, Y.mean()), grid=GRID, seed=1)
    assert useless.useful["forecast"]["estimated"] == []
    assert "better than treating all and none at no threshold" in str(useless)
    tied = of(useless, "probability_best", "forecast") + of(useless, "probability_best", "treat all")
    assert tied[0] == pytest.approx(1.0)  # At 0.1 it acts on everybody, so both share the first place.


def test_words_and_plain_data(found):
    data = json.loads(found.to_json())
    assert len(data["evpi"]) == 12
    assert set(data["useful"]) == set(MODELS)
    assert found.to_frame().shape == (12, 17)
    assert "300 more cases are worth" in str(found)
    assert "At a threshold of 0.2" in str(pr.decision_uncertainty(Y, MODELS, thresholds=0.2, seed=1))


@pytest.mark.parametrize(
    ("arguments", "options", "error", "text"),
    [
        ((Y, MODELS), {"reference": "none"}, InputValueError, "reference"),
        ((Y, MODELS), {"grid": [0.5, 1.0]}, InputValueError, "below 1"),
        ((Y, MODELS), {"more_cases": 0}, InputValueError, "more_cases"),
        ((np.zeros(4), {"m": [0.1, 0.2, 0.3, 0.4]}), {}, InputValueError, "same outcome"),
        ((Y, {"treat all": P}), {}, InputValueError, "must not be named"),
        ((pr.cases(Y, P, cluster=np.zeros(N)),), {}, InputValueError, "two clusters"),
        ((np.arange(3), {"m": np.eye(3)}), {}, InputTypeError, "of one event"),
        (
            (pr.Ledger.of_tables({name: ForecastTable.from_predictions(Y, p) for name, p in MODELS.items()}),),
            {},
            InputTypeError,
            "by case",
        ),
    ],
)
def test_rejects(arguments, options, error, text):
    with pytest.raises(error, match=text):
        pr.decision_uncertainty(*arguments, **options)


def test_limits_allow_for_weights_of_the_outcome():
    weight = np.where(Y, 5.0, 1.0)
    found = pr.decision_uncertainty(Y, P, grid=GRID, sample_weight=weight, n_resamples=4000, seed=1)
    for at, threshold in enumerate(GRID):
        value = (threshold <= P) * np.where(Y, 1.0, -threshold / (1.0 - threshold))
        mean = (weight * value).sum() / weight.sum()
        error = np.sqrt((weight**2 * (value - mean) ** 2).sum()) / weight.sum()
        for low, high in (("low", "high"), ("credible_low", "credible_high")):
            width = of(found, high, "forecast")[at] - of(found, low, "forecast")[at]
            assert width == pytest.approx(2.0 * 1.96 * error, rel=0.08)
    table = ForecastTable.from_predictions(Y, P, sample_weight=weight)
    same = pr.decision_uncertainty(pr.Ledger.of_tables({"forecast": table}), grid=GRID, n_resamples=4000, seed=1)
    np.testing.assert_allclose(of(same, "low", "forecast"), of(found, "low", "forecast"), atol=1e-12)


def test_thresholds_of_rare_events_are_near_their_prevalence():
    generator = np.random.default_rng(2)
    p = generator.beta(0.3, 150, 20_000)
    found = pr.decision_uncertainty(generator.random(20_000) < p, {"m": p}, n_resamples=50, seed=1)
    grid = found.threshold[found.of("m")]
    assert len(grid) == 100
    assert p.mean() < grid[-1] <= 0.03
    assert found.plot().get_xlim() == (grid[0], grid[-1])
    common = pr.decision_uncertainty(Y, P, n_resamples=50, seed=1)
    assert common.threshold[common.of("treat all")].tolist() == (np.arange(1, 100) / 100).tolist()


def test_the_limits_of_groups_know_the_prevalence_of_each():
    y, p = np.tile([0, 0, 0, 1, 1, 0, 1, 1], 30), np.tile([0.1, 0.2, 0.3, 0.9, 0.8, 0.2, 0.9, 0.7], 30)
    site = np.tile(list("aaaabbbb"), 30)
    found = slices(y, {"m": p}, measure=pr.measures.NetBenefit(0.99), by={"site": site})
    for group, high in zip(found.group.tolist(), found.high.tolist(), strict=True):
        own = site == group
        assert high == pytest.approx(pr.estimate(y[own], p[own], pr.measures.NetBenefit(0.99)).high)


def test_dropped_cases_are_counted():
    gap = np.array(Y, dtype=float)
    gap[:30] = np.nan
    found = pr.decision_uncertainty(pr.cases(gap, MODELS, missing="drop"), grid=GRID, n_resamples=100, seed=1)
    assert (found.n, found.dropped, found.to_dict()["dropped"]) == (len(gap) - 30, 30, 30)
    assert "dropped=30" in repr(found)


def test_the_last_digits_of_weights_do_not_change_the_draws():
    weight = np.random.default_rng(3).gamma(2.0, size=40)
    own = {"grid": np.linspace(0.05, 0.3, 20), "n_resamples": 50, "seed": 1}
    one, other = (pr.decision_uncertainty(Y[:40], P[:40], sample_weight=unit * weight, **own) for unit in (1.0, 0.037))
    np.testing.assert_allclose(one.credible_low, other.credible_low, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(one.credible_high, other.credible_high, rtol=1e-9, atol=1e-12)


def test_cases_that_are_worth_too_little_have_no_limits():
    """As for `estimate`; the figure then shows the curve alone."""
    weight = [1000.0, 1.0, 1.0, 1.0, 1.0]
    y, p = [0, 1, 0, 1, 0], [0.1, 0.3, 0.4, 0.8, 0.2]
    found = pr.decision_uncertainty(y, p, sample_weight=weight, grid=[0.2, 0.5], n_resamples=50, seed=1)
    own = found.of("forecast")
    assert np.isnan(found.low[own]).all()
    assert math.isnan(pr.estimate(y, p, NetBenefit(0.2), sample_weight=weight).low)
    assert found.useful["forecast"]["shown"] == []
    low, high = found.plot().get_ylim()
    assert low < found.net_benefit[own].min() <= found.net_benefit[own].max() < high
