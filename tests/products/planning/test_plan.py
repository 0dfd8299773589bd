"""Plans: sample sizes against pmvalsampsize and textbook formulas, power against simulation, and the laws of a plan."""

import copy
import json
import math
import pickle
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, logit

import propriety as pr
from propriety.errors import InputTypeError, InputValueError
from propriety.products.planning.anticipated_cases import AnticipatedCases
from propriety.products.planning.power import spread_power
from propriety.products.planning.words import plan_words
from propriety.tables.forecast_table import ForecastTable

BETA = stats.beta(1.33, 1.75).ppf((np.arange(20_000) + 0.5) / 20_000)


def normal_pairs(n=2000, mean=-2.0, seed=1):
    generator = np.random.default_rng(seed)
    x = generator.normal(mean, 1.0, n)
    return {"new": expit(x), "old": expit(0.9 * x + generator.normal(0.0, 0.5, n))}


class TestAgainstPmvalsampsize:
    """Version 0.2.1 with prevalence=0.43, cstatistic=0.8, lpbeta=(1.33, 1.75), threshold=0.4: 510, 2136, 308, 422.

    It takes the three numbers as they are, although forecasts with this beta distribution have an event rate of 0.432
    and an area of 0.787 if they are calibrated. Each number is therefore compared with the cases that it describes.
    """

    def test_observed_expected(self):
        found = pr.plan(prevalence=0.43, auc=0.8, widths={"observed_expected": 0.2}, method="riley")
        # It searches the standard error in steps of 0.0001 and stops at 0.0510, beyond 0.05094, so it has one case less.
        assert found.required == 511
        assert math.ceil(0.57 / (0.43 * 0.0510**2)) == 510

    def test_slope(self):
        found = pr.plan(BETA, widths={"calibration_slope": 0.2}, method="riley")
        # It averages over 1,000,000 random forecasts, here over quantiles of the distribution.
        assert found.required == 2135

    def test_area(self):
        found = pr.plan(prevalence=0.43, auc=0.8, widths={"auc": 0.1}, method="riley")
        assert found.required == 308

    def test_standardized_net_benefit(self):
        # Sensitivity and specificity at 0.4 are 0.758 and 0.662 in its simulation.
        acted, other = 0.43 * 0.758, 0.57 * 0.662
        table = AnticipatedCases(
            forecasts={"m": np.array([0.2, 0.6])},
            share=np.array([0.43 - acted + other, acted + 0.57 - other]),
            rate=np.array([(0.43 - acted) / (0.43 - acted + other), acted / (acted + 0.57 - other)]),
        )
        width = pr.measures.StandardizedNetBenefit(0.4)
        variance = table.mean_square(table.influence(width, "m"))
        assert math.ceil(variance * (2 * 1.96 / 0.2) ** 2) == 422

    def test_published_rare_event(self):
        """Prevalence 0.018, C 0.8, width of O/E 1: 905, 4252; with lpcstat=-4.7 the slope needs 16,925."""
        found = pr.plan(
            prevalence=0.018,
            auc=0.8,
            widths={"observed_expected": 1.0, "calibration_slope": 0.2, "auc": 0.1},
            method="riley",
        )
        assert found.n.tolist() == pytest.approx([905, 17_128, 4252], abs=1)
        # The mean of -4.7 gives 1.81% events instead of 1.8%; with that, the slope needs what it says.
        variance = 2.0 * stats.norm.ppf(0.8) ** 2
        prevalence = expit(-4.7 + variance / 2.0)
        assert pr.plan(prevalence=prevalence, auc=0.8, widths={"calibration_slope": 0.2}).required == pytest.approx(
            16_925, rel=0.01
        )


@pytest.mark.parametrize(
    ("measure", "n"),
    [
        (pr.measures.ObservedExpected(), 3000),
        (pr.measures.CalibrationSlope(), 3000),
        (pr.measures.AreaUnderRoc(), 3000),
        (pr.measures.StandardizedNetBenefit(0.2), 3000),
        (pr.Brier(), 3000),
    ],
    ids=lambda value: getattr(value, "key", getattr(value, "name", value)),
)
def test_width_is_that_of_estimate(measure, n):
    p = expit(np.random.default_rng(3).normal(-1.5, 1.0, 200_000))
    planned = pr.plan(p, widths={measure: 0.2}).curves[0](n)
    generator = np.random.default_rng(4)
    widths = []
    for _ in range(12):
        own = expit(generator.normal(-1.5, 1.0, n))
        found = pr.estimate(generator.random(n) < own, own, measure)
        widths.append(found.high - found.low)
    assert planned == pytest.approx(np.mean(widths), rel=0.03)


def test_labelled_tables_plan_from_their_own_event_rates():
    generator = np.random.default_rng(5)
    p = expit(generator.normal(-1.0, 1.0, 3000))
    table = ForecastTable.from_predictions(generator.random(3000) < expit(0.7 * logit(p) + 0.3), p)
    found = pr.plan(pr.Ledger.of_tables({"forecast": table}), widths={"observed_expected": 0.2, "auc": 0.1})
    assert found.value.tolist() == pytest.approx(
        [pr.measures.ObservedExpected().value(table), pr.measures.AreaUnderRoc().value(table)]
    )
    area = pr.measures.AreaUnderRoc()
    own = pr.estimate(pr.Ledger.of_tables({"forecast": table}), measure=area, method="student")
    assert found.at(3000)["auc"] == pytest.approx(own.high - own.low, rel=0.005)


class TestComparison:
    def test_normal_formula(self):
        found = pr.plan(difference=0.005, spread=0.08)
        assert found.required == math.ceil(((1.959964 + 0.841621) * 0.08 / 0.005) ** 2)
        assert math.isnan(found.required_events)
        assert found.at(found.required)["brier_difference"] == pytest.approx(0.8, abs=1e-3)

    def test_brier_difference_of_a_calibrated_model_is_the_mean_squared_distance(self):
        models = normal_pairs()
        found = pr.plan(models, seed=1, n_resamples=200)
        assert found.value[0] == pytest.approx(-np.mean((models["new"] - models["old"]) ** 2))
        assert found.binding == "brier_difference"

    @pytest.mark.parametrize("measure", [pr.Brier(), pr.Log(), pr.measures.NetBenefit(0.1)], ids=repr)
    def test_power_is_that_of_compare(self, measure):
        models = normal_pairs(600, mean=-3.5)
        cases = AnticipatedCases.calibrated(models)
        from propriety.inference.measures.reading import read_measure
        from propriety.products.planning.power import _MeanTest

        test = _MeanTest.of(cases, read_measure(measure), 0.95)
        generator = np.random.default_rng(2)
        for _ in range(30):
            row = generator.integers(0, 600, 400)
            y = generator.random(400) < models["new"][row]
            found = pr.compare(y, {name: own[row] for name, own in models.items()}, measure, seed=1)
            events, others = np.bincount(row[y], minlength=600)[None], np.bincount(row[~y], minlength=600)[None]
            expected = found.differences.p[0] <= 0.05
            assert test._significant(events, others, 400) == int(expected)

    def test_identical_models_need_infinitely_many_cases(self):
        p = normal_pairs()["new"]
        found = pr.plan({"a": p, "b": p.copy()})
        assert math.isinf(found.required)
        assert "nothing to detect" in str(found)
        assert "Infinity" in found.to_json()

    def test_pilot_warns_unless_the_difference_is_given(self):
        models = normal_pairs(800)
        y = np.random.default_rng(1).random(800) < models["new"]
        ledger = pr.condense(y, models)
        seen = pr.compare(ledger, seed=1)
        found = pr.plan(ledger, difference=0.004)
        spread = seen.differences.error[0] * math.sqrt(800)
        assert found.n[0] == math.ceil(spread_power(0.004, spread, 0.95).cases(0.8))
        assert found.note == ""
        assert "pilot" in pr.plan(ledger).note


@pytest.mark.slow
def test_calibration_power_of_line_is_near_noncentral_chi_squared():
    p = expit(np.random.default_rng(1).normal(-1.0, 1.0, 3000))
    found = pr.plan(p, slope=0.75, seed=1, n_resamples=400)
    x = np.stack([np.ones(3000), logit(p)])
    rate = AnticipatedCases.calibrated({"m": p}).miscalibrated(0.75, 1.0).rate
    assert rate.mean() == pytest.approx(p.mean())
    score, information = x @ (rate - p) / 3000, (x * p * (1 - p)) @ x.T / 3000
    noncentrality = score @ np.linalg.solve(information, score)
    # The line has 80% of the level, and the other views cost and add little.
    n = found.required
    assert stats.ncx2.sf(stats.chi2.isf(0.04, 2), 2, n * noncentrality) == pytest.approx(0.8, abs=0.05)


def test_share_and_clusters_multiply_the_number_of_cases():
    plain = pr.plan(prevalence=0.1, auc=0.8).n
    other = pr.plan(prevalence=0.1, auc=0.8, share=0.25, cluster_size=11, icc=0.05)
    assert other.n == pytest.approx(plain * 1.5 / 0.25)
    assert other.design_effect == pytest.approx(1.5)
    assert other.at(6000)["auc"] == pytest.approx(pr.plan(prevalence=0.1, auc=0.8).at(1000)["auc"])
    assert "a subgroup of 25% of the cases and a design effect of 1.5" in str(other)


def test_prevalence_shifts_forecasts():
    p = normal_pairs()["new"]
    found = pr.plan(p, prevalence=0.05)
    assert found.prevalence == pytest.approx(0.05)
    assert found.n[0] > pr.plan(p).n[0]


def test_plan_is_plain_data():
    found = pr.plan(prevalence=0.1, auc=0.8, thresholds=0.1)
    assert json.loads(found.to_json())["n"] == found.n.tolist()
    assert found.to_frame().shape == (4, 8)
    assert found.required == max(found.n)
    for twin in (copy.copy(found), pickle.loads(pickle.dumps(found))):
        assert twin.at(500) == found.at(500)


def test_uncorrelated_clusters_need_no_more_cases():
    plain, clustered = (pr.plan(prevalence=0.1, auc=0.8, **design) for design in ({}, {"cluster_size": 50, "icc": 0}))
    assert clustered.required == plain.required


def test_few_events_are_reported():
    assert "rarer outcome" in str(pr.plan(prevalence=0.01, auc=0.8, widths={"auc": 0.5}))


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({}, InputTypeError, "prevalence=.*auc="),
        ({"prevalence": 0.1}, InputTypeError, "auc="),
        ({"difference": 0.1}, InputTypeError, "spread="),
        ({"difference": 0.1, "spread": -1.0}, InputValueError, "spread must be positive"),
        ({"prevalence": 0.1, "auc": 0.4}, InputValueError, "above 0.5"),
        ({"prevalence": 0.1, "auc": 0.8, "widths": {"auk": 0.1}}, InputValueError, "widths.*'auk'"),
        ({"prevalence": 0.1, "auc": 0.8, "widths": {"auc": -1}}, InputValueError, "positive"),
        ({"prevalence": 0.1, "auc": 0.8, "widths": {}}, InputValueError, "name a measure"),
        ({"prevalence": 0.1, "auc": 0.8, "widths": {lambda table: 1.0: 0.1}}, InputTypeError, "influence"),
        ({"prevalence": 0.1, "auc": 0.8, "widths": {"standardized_net_benefit": 0.1}}, InputValueError, "thresholds="),
        ({"prevalence": 0.1, "auc": 0.8, "share": 0.0}, InputValueError, "share"),
        ({"prevalence": 0.1, "auc": 0.8, "icc": 0.1}, InputValueError, "icc= needs cluster_size="),
        ({"prevalence": 0.1, "auc": 0.8, "cluster_size": 50}, InputValueError, "cluster_size= needs icc="),
        ({"prevalence": 0.1, "auc": 0.8, "cluster_size": 50, "icc": 2.0}, InputValueError, "icc must lie in"),
        ({"prevalence": 0.1, "auc": 0.8, "slope": -1.0}, InputValueError, "slope"),
        ({"prevalence": 0.5, "auc": 0.8, "observed_expected": 3.0}, InputValueError, "observed_expected"),
        ({"prevalence": 0.1, "auc": 0.8, "difference": 0.01}, InputTypeError, "two models"),
        ({"prevalence": 0.1, "auc": 0.8, "thresholds": (0.1, 0.2)}, InputTypeError, "one probability"),
        ({"forecasts": [0.1, 0.2], "auc": 0.8}, InputTypeError, "auc="),
        ({"forecasts": [0.1, math.nan]}, InputValueError, r"1 of 2 rows.*leave such rows out"),
        ({"forecasts": [0.0, 0.0]}, InputValueError, "events and non-events"),
        ({"forecasts": {"a": [0.1, 0.2], "b": [0.1]}}, InputValueError, "same cases"),
        ({"forecasts": {name: [0.1, 0.2] for name in "abc"}}, InputValueError, "3 models"),
        ({"forecasts": [0.2, 0.2, 0.2]}, InputValueError, "slope|line"),
    ],
)
def test_rejects(arguments, error, text):
    with pytest.raises(error, match=text):
        pr.plan(**arguments)


def test_goals_that_are_too_easy_or_out_of_reach():
    assert pr.plan(difference=1.0, spread=1e-9).required == 2.0
    far = pr.plan(prevalence=0.1, auc=0.8, widths={"auc": 1e-9})
    assert math.isinf(far.required)
    assert far.note == "A criterion needs more than 1,000,000,000,000 cases."
    assert "nothing to detect" in pr.plan({"a": [0.1, 0.4], "b": [0.1, 0.4]}).note
    assert "(1 event)" in str(pr.plan(prevalence=0.1, auc=0.8, widths={"auc": 5.0}))


def test_every_line_of_a_plan_is_a_sentence():
    def plan(**parts):
        plain = {"criterion": ["auc", "brier"], "label": ["area under the ROC curve", "Brier score"]}
        plain |= {"kind": ["width", "power"], "goal": [0.1, 0.8], "value": [0.75, 0.01], "n": [500.0, 1200.0]}
        plain |= {"events": [100.0, math.nan]}
        plain = {name: np.array(column) for name, column in plain.items()}
        plain |= {"required": 1200.0, "required_events": 240.0, "share": 1.0, "design_effect": 1.0, "binding": "brier"}
        return SimpleNamespace(**(plain | {"level": 0.95, "prevalence": 0.2, "note": ""} | parts))

    assert list(plan_words(plan())) == [
        "A study needs 1,200 cases with about 240 events.",
        "- Area under the ROC curve: 95% CI of width 0.1 around 0.75 with 500 cases (100 events).",
        "- Brier score: 80% power to detect 0.01 with 1,200 cases; this needs the most.",
    ]
    few = plan(prevalence=0.96, share=0.5, design_effect=1.25, required_events=math.nan, note="Pilot.")
    first, *_, warned, note = plan_words(few)
    assert first == "A study needs 1,200 cases, for a subgroup of 50% of the cases and a design effect of 1.25."
    assert warned == (
        "Only 24 cases of the rarer outcome can be expected; with so few, intervals vary much from study to study."
    )
    assert note == "Pilot."
    endless = plan(required=math.inf, required_events=math.inf, n=np.array([math.inf, 1.0]), value=np.full(2, math.nan))
    first, _, power = plan_words(endless)
    assert first == "A study needs more cases than any study has."
    assert power == "- Brier score: 80% power with 1 case; this needs the most."
    assert not any("Only" in line for line in plan_words(plan(prevalence=0.5, required=100.0)))  # 50 are enough.


def test_a_comparison_is_not_planned_from_a_pilot_weighted_to_another_event_rate():
    p = np.linspace(0.05, 0.95, 200)
    ledger = pr.at_prevalence(pr.condense(np.arange(200) % 3 == 0, {"a": p, "b": p**2}), 0.1)
    with pytest.raises(InputValueError, match="must have its own event rate for a comparison"):
        pr.plan(ledger)
    assert pr.plan(ledger, difference=0.01, spread=0.1).required > 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"slope": 0.8, "thresholds": 0.1}, "thresholds is for the width of the standardized net benefit"),
        ({"widths": {"auc": 0.1}, "thresholds": 0.1}, "Hint: add widths= of standardized_net_benefit, or leave it out"),
        ({"measure": pr.Log()}, "measure is for a comparison of two models"),
    ],
)
def test_options_without_effect_are_refused(options, said):
    with pytest.raises(InputValueError, match=said):
        pr.plan(prevalence=0.1, auc=0.8, seed=1, **options)
    benefit = pr.plan(prevalence=0.1, auc=0.8, thresholds=0.1, widths={"standardized_net_benefit": 0.2})
    assert benefit.criterion.tolist() == ["standardized_net_benefit_at_0.1"]


def test_widths_of_a_censored_pilot_are_refused_because_censoring_widens_them():
    rng = np.random.default_rng(1)
    p = expit(rng.normal(-1.0, 1.0, 400))
    time, limit = rng.exponential(-1.0 / np.log1p(-p)), rng.exponential(2.0, 400)
    pilot = pr.condense(pr.censored(np.minimum(time, limit), time <= limit, horizons=1.0), p)
    with pytest.raises(InputTypeError, match="must hold known outcomes for widths and the calibration test"):
        pr.plan(pilot)
    both = pr.condense(pr.censored(np.minimum(time, limit), time <= limit, horizons=1.0), {"new": p, "old": p**1.5})
    assert pr.plan(both).criterion.tolist() == ["brier_difference"]


def test_a_weighted_pilot_is_planned_for_equal_weights_and_says_so():
    rng = np.random.default_rng(2)
    p = expit(rng.normal(-1.0, 1.0, 400))
    y = rng.random(400) < p
    told = "The plan is for cases of equal weight"
    weighted = pr.condense(y, p, sample_weight=rng.choice([1.0, 5.0], 400))
    assert told in pr.plan(weighted).note
    assert told not in pr.plan(pr.condense(y, p)).note
    assert told not in pr.plan(pr.at_prevalence(pr.condense(y, p), 0.1)).note


def test_events_of_the_calibration_test_are_those_of_the_stated_miscalibration():
    found = pr.plan(prevalence=0.05, auc=0.8, observed_expected=3.0, n_resamples=200, seed=1)
    assert found.events[0] == math.ceil(found.n[0] * 0.15 - 1e-9)
    assert found.prevalence == pytest.approx(0.15)
    together = pr.plan(prevalence=0.05, auc=0.8, observed_expected=3.0, widths={"auc": 0.1}, n_resamples=200, seed=1)
    assert together.events.tolist() == [math.ceil(together.n[0] * 0.05 - 1e-9), found.events[0]]
    assert together.prevalence == pytest.approx(0.05)


@pytest.mark.parametrize(
    ("forecasts", "asked", "said"),
    [
        ([0.0, 0.2, 0.6, 1.0], {"prevalence": 0.1}, "prevalence must give .* 0.25 and 0.75, because .* 1 cannot be .* got 0.1"),
        ([0.0, 0.2, 0.6, 1.0], {"observed_expected": 0.2}, "observed_expected .* 0.25 and 0.75.* got 0.2, a share of 0.09"),
        ([0.2, 0.6], {"observed_expected": 3.0}, "between 0 and 1; got 3.0, a share of 1.2"),
    ],
)  # fmt: skip
def test_shares_of_events_that_no_shift_gives_are_refused(forecasts, asked, said):
    with pytest.raises(InputValueError, match=said):
        pr.plan(forecasts, n_resamples=50, seed=1, **asked)


def test_forecasts_of_different_indices_are_refused():
    pd = pytest.importorskip("pandas")
    pair = {name: pd.Series(own) for name, own in normal_pairs().items()}
    with pytest.raises(InputValueError, match="different indices"):
        pr.plan({"new": pair["new"], "old": pair["old"].sample(frac=1, random_state=1)}, seed=1)


def test_measures_of_one_key_are_refused():
    with pytest.raises(InputValueError, match="widths must each have a key of its own; 'log' occurs twice"):
        pr.plan(BETA, widths={pr.Log(): 0.02, pr.Log(clip=0.05): 0.02})


def test_clusters_of_a_pilot_are_counted_once():
    rng = np.random.default_rng(1)
    p = rng.beta(1, 4, 300)
    y, other = rng.random(300) < p, np.clip(p + rng.normal(0, 0.1, 300), 0.01, 0.99)
    pair, again = {"a": p, "b": other}, np.repeat(np.arange(300), 10)
    alone = pr.plan(pr.condense(y, pair), seed=1).required
    ten = pr.condense(y[again], {name: own[again] for name, own in pair.items()}, cluster=again)
    assert pr.plan(ten, seed=1).required == pytest.approx(10 * alone, rel=0.01)
    with pytest.raises(InputValueError, match="would be counted twice, because the pilot has clusters"):
        pr.plan(ten, cluster_size=10, icc=1.0)
    assert pr.plan(ten, cluster_size=10, icc=1.0, difference=0.01, spread=0.1).required > 0
    widths = {"observed_expected": 0.4}
    single = pr.condense(y[again], p[again], cluster=again)
    assert "clusters like the pilot's need more" in pr.plan(single, widths=widths).note
    assert pr.plan(single, widths=widths, cluster_size=10, icc=1.0).note == ""
