"""Measures other than mean scores are compared by the method that suits them: moments, influence or draws."""

import json

import numpy as np
import pytest
from brute_clusters import brute_errors
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import propriety as pr
from propriety.errors import InputTypeError, InputValueError
from propriety.inference.comparison import compare
from propriety.inference.comparison_words import comparison_words
from propriety.inference.finding_words import caveats, notes_of
from propriety.inference.measures.reading import read_measure
from propriety.tables.forecast_table import ForecastTable

RNG = np.random.default_rng(7)
N = 400
TRUTH = RNG.beta(1.0, 2.0, N)
Y = RNG.random(N) < TRUTH
BOLD = TRUTH**2 / (TRUTH**2 + (1 - TRUTH) ** 2)
FAR = np.clip(TRUTH + RNG.normal(0.0, 0.3, N), 0.001, 0.999)
MODELS = {"truth": TRUTH, "far": FAR}
WEIGHT = RNG.gamma(2.0, 1.0, N)
CLUSTER = np.arange(N) % 50
SAMPLING = [{}, {"sample_weight": WEIGHT}, {"cluster": CLUSTER}, {"sample_weight": WEIGHT, "cluster": CLUSTER}]
KINDS = ["plain", "weights", "clusters", "both"]
SMOOTH = [
    pr.measures.AreaUnderRoc(),
    pr.measures.ObservedExpected(),
    pr.measures.CalibrationIntercept(),
    pr.measures.CalibrationSlope(),
]


def name(measure):
    return type(measure).__name__


def drawn_differences(measure, draws=200, cluster=None, weight=None):
    """Return differences of the measure in cases, or clusters, that are drawn with replacement."""
    rng = np.random.default_rng(3)
    own = [np.flatnonzero(cluster == one) for one in np.unique(cluster)] if cluster is not None else None
    found = []
    for _ in range(draws):
        pick = rng.integers(0, N, N) if own is None else np.concatenate([own[k] for k in rng.integers(0, 50, 50)])
        w = None if weight is None else weight[pick]
        values = [
            measure.value(ForecastTable.from_predictions(Y[pick], p[pick], sample_weight=w)) for p in MODELS.values()
        ]
        found.append(values[0] - values[1])
    return np.array(found)


def test_net_benefit_is_compared_by_a_paired_t_test_and_more_is_better():
    values = [np.where(p >= 0.3, np.where(Y, 1.0, -3 / 7), 0.0) for p in MODELS.values()]
    expected = stats.ttest_rel(*values)
    found = compare(Y, MODELS, pr.measures.NetBenefit(0.3), method="paired t")
    assert found.differences.value[0] == pytest.approx(np.mean(values[0]) - np.mean(values[1]), rel=1e-10)
    assert found.differences.extra["t"][0] == pytest.approx(expected.statistic, rel=1e-9)
    assert found.differences.p[0] == pytest.approx(expected.pvalue, rel=1e-7)
    found = compare(Y, MODELS, pr.measures.NetBenefit(0.3))
    assert found.differences.verdict.tolist() == ["good"]
    assert found.ranks().model.tolist() == ["truth", "far"]
    assert "truth is better than far: its net benefit at 0.3 is 0." in str(found)
    assert " higher, 95% CI " in str(found)


def test_regret_is_compared_by_its_rule():
    one, other = compare(Y, MODELS, pr.measures.Regret(0.3)), compare(Y, MODELS, pr.Elementary(0.3))
    for column in ("value", "low", "high", "p"):
        assert getattr(one.differences, column)[0] == pytest.approx(getattr(other.differences, column)[0], rel=1e-9)
    assert "regret at 0.3" in str(one)


@pytest.mark.parametrize("sampling", SAMPLING, ids=KINDS)
@pytest.mark.parametrize(
    "measure", [pr.measures.Skill(), pr.measures.Skill(pr.Log(clip=0.001))], ids=lambda one: repr(one.rule)
)
def test_skill_is_compared_by_the_delta_method(measure, sampling):
    found = compare(Y, MODELS, measure, **sampling)
    weight = sampling.get("sample_weight")
    options = {"rule": measure.rule, "sample_weight": weight}
    skills = [float(pr.skill_score(Y, p, **options)) for p in MODELS.values()]
    assert found.differences.value[0] == pytest.approx(skills[0] - skills[1], rel=1e-10)
    assert dict(zip(found.ranks().model, found.ranks().value, strict=True)) == {
        "truth": pytest.approx(skills[0]),
        "far": pytest.approx(skills[1]),
    }
    # The derivative of (S' - S) / R in the mean losses; the error of the rate does not count.
    w = np.ones(N) if weight is None else weight
    one, other = (pr.case_scores(Y, p, rule=measure.rule) for p in MODELS.values())
    constant = pr.case_scores(Y, np.full(N, np.average(Y, weights=w)), rule=measure.rule)
    against = np.average(constant, weights=w)
    ratio = np.average(one - other, weights=w) / against
    influence = (one - other - ratio * constant) / against
    error = np.sqrt(N / (N - 1) * ((w * influence) ** 2).sum()) / w.sum()
    if "cluster" in sampling:
        error, _ = brute_errors(influence, CLUSTER, weight)
    assert found.differences.error[0] == pytest.approx(error, rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("sampling", SAMPLING, ids=KINDS)
@pytest.mark.parametrize("measure", SMOOTH, ids=name)
def test_smooth_measures_have_the_error_of_draws(measure, sampling):
    found = compare(Y, MODELS, measure, **sampling)
    drawn = drawn_differences(measure, cluster=sampling.get("cluster"), weight=sampling.get("sample_weight"))
    assert found.differences.error[0] == pytest.approx(drawn.std(), rel=0.25)
    values = [
        measure.value(ForecastTable.from_predictions(Y, p, sample_weight=sampling.get("sample_weight")))
        for p in MODELS.values()
    ]
    assert found.differences.value[0] == pytest.approx(values[0] - values[1], rel=1e-12)
    if isinstance(measure, pr.measures.CalibrationIntercept | pr.measures.CalibrationSlope):
        return  # One model's error is that of outcomes at the fitted rates; a difference needs the influence of cases.
    alone = [pr.estimate(Y, p, measure, **sampling).error for p in MODELS.values()]
    order = [found.ranks().model.tolist().index(model) for model in MODELS]
    np.testing.assert_allclose(found.ranks().error[order], alone, rtol=1e-12)


@pytest.mark.parametrize("sampling", SAMPLING, ids=KINDS)
@pytest.mark.parametrize(
    "measure",
    [
        *SMOOTH,
        pr.Brier(),
        pr.measures.Skill(),
        pr.measures.NormalizedEntropy(),
        pr.measures.StandardizedNetBenefit(0.3),
        pr.measures.AreaUnderRiskCoverage(),
    ],
    ids=name,
)
def test_standings_have_the_limits_of_estimates(measure, sampling):
    standings = compare(Y, MODELS, measure, **sampling).ranks()
    for model, value, low, high in zip(standings.model, standings.value, standings.low, standings.high, strict=True):
        alone = pr.estimate(Y, MODELS[model], measure, **sampling)
        assert [value, low, high] == pytest.approx([alone.value, alone.low, alone.high], rel=1e-10)


@pytest.mark.parametrize(
    "measure",
    [
        pr.Spherical(),
        pr.measures.NetBenefit(0.5),
        pr.measures.AreaUnderRoc(),
        pr.measures.Skill(),
        pr.measures.StandardizedNetBenefit(0.5),
        pr.measures.AreaUnderRiskCoverage(),
        pr.measures.AreaUnderGeneralizedRiskCoverage(),
    ],
    ids=name,
)
def test_limits_stay_in_the_range_of_the_measure(measure):
    """Almost all answers are right: an interval on the plain scale would leave the range."""
    y = np.repeat([0, 1], 20)
    forecasts = {"p": np.where(y, 0.9, 0.1), "q": np.where(y, 0.95, 0.05)}
    forecasts = {model: np.where(np.arange(40) == 3, 0.97, p) for model, p in forecasts.items()}
    standings = compare(y, forecasts, measure).ranks()
    least, most = read_measure(measure).range_of(None)
    assert (standings.low >= least).all()
    assert (standings.high <= most).all()
    for row, model in enumerate(standings.model):
        alone = pr.estimate(y, forecasts[model], measure)
        assert [standings.low[row], standings.high[row]] == pytest.approx([alone.low, alone.high], rel=1e-10)


def test_draws_that_hardly_differ_are_not_tests():
    y = np.repeat([0, 1], 40)
    rng = np.random.default_rng(0)
    p, q = (np.clip(np.where(y, 0.8, 0.2) + rng.normal(0.0, spread, 80), 0.01, 0.99) for spread in (0.17, 0.2))
    measure = pr.measures.AccuracyAtCoverage(0.5)
    found = compare(y, {"p": p, "q": q}, measure, seed=1, n_resamples=2999)
    assert found.differences.verdict.tolist() == ["not tested"]
    assert np.isnan([found.differences.low[0], found.differences.p[0], found.ranks().low[1]]).all()
    assert "Hardly any draw differs" in notes_of(found.differences[0])
    alone = pr.estimate(y, q, measure.value, seed=0, n_resamples=9999)
    assert np.isnan(alone.low)
    assert caveats(alone) == "hardly any draw differs, so there is no interval"
    known = pr.estimate(y, q, measure, seed=0, n_resamples=999)  # Its limits do not depend on the draws alone.
    assert (known.low, known.high) == (pytest.approx(0.025 ** (1 / 40)), 1.0)


def test_standings_of_drawn_measures_contain_the_limits_of_estimates():
    y, p = np.repeat([0, 1], 40), np.append(np.linspace(0.1, 0.6, 40), np.linspace(0.4, 0.9, 40))
    measure = pr.measures.CoverageAtAccuracy(0.95)
    q = np.clip(p + np.tile([0.0, 0.05, -0.05, 0.0], 20), 0.0, 1.0)
    found = compare(y, {"p": p, "q": q}, measure, seed=1, n_resamples=999).ranks()
    for model, low, high in zip(found.model, found.low, found.high, strict=True):
        table = ForecastTable.from_predictions(y, {"p": p, "q": q}[model])
        least = measure.least_limits(table, 0.5, 0.95)
        assert low <= least[0]
        assert high >= least[1]


def test_a_measure_with_an_ideal_value_makes_models_different_and_none_better():
    found = compare(Y, {"truth": TRUTH, "bold": BOLD}, pr.measures.CalibrationSlope())
    row = found.differences[0]
    assert (row.verdict, row.note("no-better-side").severity, row.p_adjusted < 0.05) == ("not tested", "fact", True)
    words = comparison_words(found)
    assert words[0].startswith("truth and bold differ: truth has a 0.")
    assert words[1] == "Influence-function test on 400 cases."
    assert found[0].verdict in ("no error found", "good")
    assert found.ranks().extra["best_rank"].tolist() == [1, 1]
    assert found.ranks().extra["worst_rank"].tolist() == [2, 2]


def test_a_function_does_not_say_which_model_is_better():
    def area(table):
        return pr.measures.AreaUnderRoc().value(table)

    found = compare(Y, {"truth": TRUTH, "far": np.roll(TRUTH, 7)}, area, n_resamples=99, seed=1)
    assert found.differences.value[0] > 0.0
    assert found.differences[0].note("no-better-side")
    assert comparison_words(found)[0].startswith("truth and far differ: truth has a 0.")
    assert "higher area, 95% CI" in str(found)
    ranked = found.ranks()
    assert (ranked.extra["rank"].tolist(), ranked.model.tolist()) == ([1, 1], ["truth", "far"])
    assert (ranked.extra["best_rank"].tolist(), ranked.extra["worst_rank"].tolist()) == ([1, 1], [2, 2])
    assert found.plot().texts[0].get_text() == "different"
    assert [text.get_text() for text in found.plot().texts[1:]] == ["← lower than far", "higher than far →"]
    assert ranked.plot().get_xlabel() == "Area, 95% confidence interval"
    assert json.loads(found.to_json())["verdict"] == [None, None, "not tested"]
    alone = pr.estimate(Y, TRUTH, area, n_resamples=99, seed=1)
    assert alone.measure.higher_is_better is None


def test_models_rank_by_the_distance_from_an_ideal_value():
    models = {"far": 0.5 * TRUTH, "near": np.clip(1.05 * TRUTH, 0.0, 1.0)}
    ranked = compare(Y, models, pr.measures.ObservedExpected()).ranks()
    assert (ranked.model.tolist(), ranked.extra["rank"].tolist()) == (["near", "far"], [1, 2])


@pytest.mark.slow
@pytest.mark.parametrize("sampling", SAMPLING, ids=KINDS)
def test_any_measure_is_compared_by_drawing(sampling):
    measure = pr.measures.TopKNetBenefit(thresholds=0.2, share=0.2)
    found = compare(Y, MODELS, measure, n_resamples=400, seed=1, **sampling)
    drawn = drawn_differences(measure, cluster=sampling.get("cluster"), weight=sampling.get("sample_weight"))
    assert found.differences.error[0] == pytest.approx(drawn.std(), rel=0.2)
    assert found.differences.low[0] == pytest.approx(np.quantile(drawn, 0.025), abs=0.7 * drawn.std())
    assert found.differences.high[0] == pytest.approx(np.quantile(drawn, 0.975), abs=0.7 * drawn.std())
    assert np.isnan(found.differences.extra["df"][0])
    assert found.differences[0].method == "paired bootstrap (400 draws)"
    row = found.differences[0]
    assert (row.extra["n_resamples"], row.extra["seed"]) == (400, 1)
    assert row.units == (50 if "cluster" in sampling else None)


@pytest.mark.slow
def test_drawing_agrees_with_the_paired_t_test():
    drawn, tested = compare(Y, MODELS, method="bootstrap", n_resamples=1999, seed=1), compare(Y, MODELS)
    assert drawn.differences.value[0] == pytest.approx(tested.differences.value[0], rel=1e-12)
    np.testing.assert_allclose(
        [drawn.differences.low, drawn.differences.high], [tested.differences.low, tested.differences.high], rtol=0.1
    )
    assert drawn.differences.p[0] == 2 / 2000  # No draw is beyond zero.
    assert drawn.differences.verdict.tolist() == tested.differences.verdict.tolist()


def test_p_values_of_draws_are_those_that_the_draws_allow():
    near = np.clip(TRUTH + RNG.normal(0.0, 0.02, N), 0.001, 0.999)
    found = compare(Y, {"truth": TRUTH, "near": near}, lambda table: table.mean_forecast, n_resamples=199, seed=1)
    steps = found.differences.p[0] * 200 / 2
    assert steps == pytest.approx(round(steps))
    assert 1 <= steps <= 100


@pytest.mark.parametrize("sampling", SAMPLING, ids=KINDS)
def test_draws_do_not_depend_on_the_order_of_the_cases(sampling):
    order = RNG.permutation(N)
    mixed = {key: values[order] for key, values in sampling.items()}
    shuffled = {model: p[order] for model, p in MODELS.items()}
    one = compare(Y, MODELS, pr.measures.PartialArea(0.2, 0.6), n_resamples=40, seed=1, **sampling)
    other = compare(Y[order], shuffled, pr.measures.PartialArea(0.2, 0.6), n_resamples=40, seed=1, **mixed)
    for column in ("value", "low", "high", "p"):
        np.testing.assert_allclose(getattr(one.differences, column), getattr(other.differences, column), rtol=1e-9)


DISTANCES = [
    pr.measures.Miscalibration(),
    pr.measures.Discrimination(),
    pr.measures.Miscalibration(pr.Log()),
    pr.measures.IntegratedCalibrationIndex(),
]


@pytest.mark.parametrize("sampling", SAMPLING, ids=KINDS)
@pytest.mark.parametrize("measure", DISTANCES, ids=lambda measure: measure.key)
def test_distances_from_a_fitted_curve_are_not_tested(measure, sampling):
    found = compare(Y, MODELS, measure, **sampling)
    weight = sampling.get("sample_weight")
    values = [measure.value(ForecastTable.from_predictions(Y, p, sample_weight=weight)) for p in MODELS.values()]
    assert found.differences.value[0] == pytest.approx(values[0] - values[1], rel=1e-9)
    assert found.differences.verdict.tolist() == ["not tested"]
    for column in ("low", "high", "error", "p", "p_adjusted"):
        assert np.isnan(getattr(found.differences, column)).all()
    ranked = found.ranks()
    assert (ranked.extra["best_rank"].tolist(), ranked.extra["worst_rank"].tolist()) == ([1, 1], [2, 2])
    assert np.isnan(ranked.low).all()
    assert "n_resamples" not in found.extra
    said = comparison_words(found)
    assert said[0].endswith("; the difference was not tested.")
    assert said[1].startswith("No test on 400 cases")
    assert said[2].endswith(f"compare the {'log' if 'log' in measure.key else 'Brier'} score.")
    with pytest.raises(InputValueError, match="noise inflates it, for each model differently"):
        compare(Y, MODELS, measure, method="bootstrap", **sampling)


def test_a_function_that_noise_inflates_is_not_tested():
    def calibration_error(table):
        return pr.measures.Miscalibration().value(table)

    stepped = (np.floor(4 * TRUTH) + 0.5) / 4
    found = compare(Y, {"truth": TRUTH, "stepped": stepped}, calibration_error, n_resamples=199, seed=1)
    assert found.differences.verdict.tolist() == ["not tested"]
    assert notes_of(found.differences[0]).startswith(
        "The calibration error of draws is biased, as if noise inflates it"
    )
    alone = pr.estimate(Y, TRUTH, calibration_error, n_resamples=199, seed=1)
    assert caveats(alone).startswith("draws are higher than the value: the interval is not valid")


def test_many_untested_models_are_not_called_indistinguishable():
    many = {str(k): np.clip(TRUTH + 0.01 * k, 0.001, 0.999) for k in range(5)}
    found = str(compare(Y, many, pr.measures.Miscalibration()))
    assert "0 (ranks 1 to 5): not tested against 1, 2, 3 and 4." in found
    assert "distinguish" not in found


def test_draws_without_a_value_are_not_tests():
    y = np.arange(N) < 1
    found = compare(y, MODELS, pr.measures.AreaUnderRoc(), method="bootstrap", n_resamples=100, seed=1)
    assert found.differences.verdict.tolist() == ["not tested"]
    assert np.isnan(
        [found.differences.low[0], found.differences.high[0], found.differences.p[0], found.differences.error[0]]
    ).all()
    assert comparison_words(found)[1] == "No test on 400 cases."
    assert notes_of(found.differences[0]) == "With 1 event the difference cannot be tested."
    rare = np.arange(N) < 5  # A draw lacks all of them with a probability of 0.7%.
    some = compare(rare, MODELS, pr.measures.AreaUnderRoc(), method="bootstrap", n_resamples=400, seed=1)
    assert some.differences.low[0] < some.differences.value[0] < some.differences.high[0]


def test_one_cluster_is_one_unit_whatever_is_compared():
    for measure in (
        pr.measures.Skill(),
        pr.measures.AreaUnderRoc(),
        pr.measures.ObservedExpected(),
        lambda table: table.mean_forecast,
    ):
        found = compare(Y, MODELS, measure, cluster=np.zeros(N), n_resamples=40, seed=1)
        row = found.differences[0]
        assert (row.verdict, row.units) == ("not tested", 1)
        assert notes_of(row) == "One cluster is too few to test the difference."


def test_neighbours_in_time_are_told_to_count_as_independent_where_they_do():
    found = compare(Y, MODELS, lambda table: table.mean_forecast, period=np.arange(N) // 2, n_resamples=40, seed=1)
    assert found.differences[0].note("neighbours").severity == "caution"
    assert "Neighbouring periods count as independent: intervals may be too narrow." in str(found)
    assert found.differences[0].units == 200
    assert notes_of(compare(Y, MODELS, pr.measures.AreaUnderRoc(), period=np.arange(N) // 2).differences[0]) == ""


@pytest.mark.slow
def test_a_ledger_without_its_cases_compares_what_its_moments_know():
    ledger = pr.condense(Y, MODELS).grid(2**10)
    for measure in (pr.Brier(), pr.measures.Skill(pr.Log())):
        one, other = compare(ledger, None, measure), compare(Y, MODELS, measure)
        assert one.differences.p[0] == pytest.approx(other.differences.p[0], rel=1e-9)
        assert str(one) == str(other)
    for measure in (pr.measures.AreaUnderRoc(), pr.measures.TopKNetBenefit(thresholds=0.2, share=0.2)):
        found = compare(ledger, None, measure)
        assert found.differences.verdict.tolist() == ["not tested"]
        whole = compare(Y, MODELS, measure, seed=1, n_resamples=100)
        assert found.differences.value[0] == pytest.approx(whole.differences.value[0], abs=1e-2)
        assert (found.differences[0].method, "seed" in found.extra) == ("", False)
        told = "A test of this measure needs the individual cases, which this ledger does not hold."
        assert notes_of(found.differences[0]) == told
    with pytest.raises(InputValueError, match=r"the ledger has no moments of Spherical\(\)"):
        compare(ledger, None, pr.Spherical())


def test_tables_of_models_are_compared_by_value_only():
    ledger = pr.Ledger.of_tables({model: ForecastTable.from_predictions(Y, p) for model, p in MODELS.items()})
    found = compare(ledger, None, pr.measures.AreaUnderRoc())
    assert found.differences.verdict.tolist() == ["not tested"]
    assert found.differences.value[0] == pytest.approx(
        compare(Y, MODELS, pr.measures.AreaUnderRoc()).differences.value[0], rel=1e-12
    )
    with pytest.raises(InputValueError, match=r"the ledger has no moments of Brier\(\)"):
        compare(ledger)
    with pytest.raises(InputTypeError, match="pass it without sample_weight"):
        compare(ledger, sample_weight=WEIGHT)


@pytest.mark.slow
@given(st.sampled_from([0.5, 0.9, 0.95]), st.integers(1, 60))
def test_percentiles_need_draws_beyond_them(level, n_resamples):
    fewest = {0.5: 3, 0.9: 19, 0.95: 39}[level]
    small = {"a": TRUTH[:30], "b": FAR[:30]}
    if n_resamples >= fewest:
        found = compare(Y[:30], small, method="bootstrap", n_resamples=n_resamples, level=level, seed=1)
        assert found.differences.low[0] <= found.differences.high[0]
        return
    with pytest.raises(InputValueError, match=f"n_resamples must be at least {fewest} for percentiles"):
        compare(Y[:30], small, method="bootstrap", n_resamples=n_resamples, level=level)


def test_methods_that_do_not_suit_a_measure_are_refused():
    with pytest.raises(
        InputValueError, match="method='paired t' compares mean losses; area under the ROC curve is not a mean loss"
    ):
        compare(Y, MODELS, pr.measures.AreaUnderRoc(), method="paired t")
    rows = RNG.dirichlet([1, 1, 1], (2, 50))
    y = RNG.integers(0, 3, 50)
    with pytest.raises(InputValueError, match="calibration slope needs the forecast of one event"):
        compare(y, {"a": rows[0], "b": rows[1]}, pr.measures.CalibrationSlope())
    with pytest.raises(InputValueError, match="method='bootstrap' draws cases of one event"):
        compare(y, {"a": rows[0], "b": rows[1]}, method="bootstrap")


def test_skill_under_an_improper_rule_is_drawn():
    found = compare(Y, MODELS, pr.measures.Skill(pr.ShiftedBrier(0.2, weighted=False)), n_resamples=40, seed=1)
    assert found.differences[0].method == "paired bootstrap (40 draws)"


@pytest.mark.parametrize(("wrong", "fewest"), [(0.01, "100 events"), (0.2, "")])
def test_areas_near_one_need_an_event_that_is_ranked_low(wrong, fewest):
    """With 1% and 0.2% of the cases on the wrong side, intervals of the difference held the truth in 79% of samples."""
    rng, y = np.random.default_rng(1), np.arange(1000) < 100
    order = rng.random((2, 1000)) * 0.1
    sides = [y ^ (rng.random(1000) < wrong) for _ in order]
    models = {name: np.where(side, 0.8, 0.1) + one for name, side, one in zip("ab", sides, order, strict=True)}
    if fewest:
        models["b"] = np.where(y, 0.8, 0.1) - np.where(np.arange(1000) < 3, 0.705, 0.0) + order[1]
        assert 0.99 < pr.roc_curve(y, models["b"]).auc < 0.999
    note = notes_of(compare(y, models, pr.measures.AreaUnderRoc()).differences[0])
    assert note == (f"Based on {fewest}: intervals may be too narrow." if fewest else "")
