"""The scores against values computed elsewhere to 40 digits."""

import csv
import math
import os
from pathlib import Path

import numpy as np
import pytest

import propriety as pr

CLOSE = 1e-12
BCSC = Path(os.environ.get("PROPRIETY_DATA", "data")) / "bcsc.csv"


def close(value, expected):
    expected = math.inf if expected == "inf" else expected
    return value == pytest.approx(expected, rel=CLOSE, abs=0)


@pytest.mark.parametrize(
    ("case", "score"),
    [("brier_binary", pr.brier_score), ("log_binary", pr.log_score), ("spherical_binary_loss", pr.spherical_score)],
)
def test_binary_scores(golden, case, score):
    given, expected = golden(case)
    assert close(score(given["y"], given["s"]), expected)


@pytest.mark.parametrize(
    ("case", "rule"),
    [
        ("brier_multi_sum", pr.Brier()),
        ("log_multi", pr.Log()),
        ("rps", pr.RankedProbability()),
        ("sarps", pr.SquaredAbsoluteRankedProbability()),
        ("pbs_tie_first", pr.PenalizedBrier(ties="first")),
        ("pbs_tie_split", pr.PenalizedBrier()),
        ("pbs_tie_correct", pr.PenalizedBrier(ties="correct")),
        ("pll_tie_first", pr.PenalizedLog(ties="first")),
        ("pll_tie_split", pr.PenalizedLog()),
        ("pll_tie_correct", pr.PenalizedLog(ties="correct")),
    ],
)
def test_class_scores_in_the_mean_and_case_by_case(golden, case, rule):
    given, expected = golden(case)
    assert close(pr.mean_score(given["y"], given["P"], rule=rule), expected["mean"])
    np.testing.assert_allclose(
        pr.case_scores(given["y"], given["P"], rule=rule), expected["per_sample"], rtol=CLOSE, atol=1e-15
    )


@pytest.mark.parametrize("case", ["rps_eq3_p1", "rps_eq3_p2", "rps_eq6_sym", "rps_eq6_asym"])
def test_ranked_probability_of_single_rows(golden, case):
    given, expected = golden(case)
    assert close(pr.ranked_probability_score(given["y"], given["P"]), expected)


@pytest.mark.parametrize("case", ["sarps_eq6_sym", "sarps_eq6_asym"])
def test_squared_absolute_ranked_probability_of_single_rows(golden, case):
    given, expected = golden(case)
    assert close(pr.squared_absolute_ranked_probability_score(given["y"], given["P"]), expected)


def test_spherical_score_of_rows(golden):
    given, expected = golden("spherical_multi_loss")
    assert close(pr.spherical_score(given["y"], given["P"]), expected["loss_mean"])
    cases = pr.case_scores(given["y"], given["P"], rule=pr.Spherical())
    np.testing.assert_allclose(cases, expected["loss_per_sample"], rtol=CLOSE)


def test_an_impossible_event_that_happened_costs_infinity(golden):
    given, expected = golden("log_zero_prob")
    assert close(pr.log_score(given["y"], given["s"]), expected["mean"])
    losses = pr.case_scores(given["y"], given["s"], rule=pr.Log())
    assert losses.tolist() == [float(loss) for loss in expected["per_sample"]]


def test_squared_absolute_ranked_probability_prefers_a_lie(golden):
    given, expected = golden("sarps_impropriety")
    third = [1 / 3] * 3
    rule = pr.SquaredAbsoluteRankedProbability()
    for report, loss in ((third, expected["honest"]), (given["dishonest"], expected["dishonest"])):
        assert close(np.mean(pr.case_scores([0, 1, 2], [report] * 3, rule=rule)), loss)


@pytest.mark.parametrize(
    ("case", "rule"), [("pbs_tie_impropriety", pr.PenalizedBrier), ("pll_tie_impropriety", pr.PenalizedLog)]
)
@pytest.mark.parametrize("ties", ["correct", "first", "split"])
def test_expected_penalized_scores_of_honesty_and_of_a_tie(golden, case, rule, ties):
    given, expected = golden(case)
    for report, loss in zip(given["reports"], expected[ties], strict=True):
        losses = pr.case_scores([0, 1], [report] * 2, rule=rule(ties=ties))
        assert close(np.dot(given["q_true"], losses), loss)


def test_penalized_scores_on_the_scales_of_the_algorithm_and_of_the_authors_code(golden):
    given, expected = golden("pbs_algorithm2_scale")
    classes = len(given["P"][0])
    assert close(pr.penalized_brier_score(given["y"], given["P"], ties="first") / classes, expected)
    given, expected = golden("pbs_author_code")
    brier = pr.brier_score(given["y"], given["P"])
    penalty = pr.penalized_brier_score(given["y"], given["P"], ties="correct") - brier
    assert close(brier / classes + penalty, expected)


def test_the_example_that_motivates_penalties(golden):
    given, expected = golden("motivating_example_004")
    for name, score in (
        ("brier", pr.brier_score),
        ("log", pr.log_score),
        ("pbs", pr.penalized_brier_score),
        ("pll", pr.penalized_log_score),
    ):
        for model in "AB":
            assert close(score([given["y"]], [given[model]]), expected[f"{name}_{model}"])


def test_the_regret_curve_is_the_mean_elementary_score(golden):
    given, expected = golden("regret_curve")
    for threshold, regret in zip(given["c"], expected, strict=True):
        assert close(pr.mean_score(given["y"], given["s"], rule=pr.Elementary(threshold)), regret)


def test_bounded_scores(golden):
    given, brier = golden("bounded_brier")
    y, s, thresholds = given["y"], given["s"], (given["a"], given["b"])
    assert close(pr.bounded_brier_score(y, s, thresholds=thresholds), brier["average_regret"])
    assert close(pr.bounded_brier_score(y, s, thresholds=thresholds, normalize="width"), brier["paper_rhs_thm33"])
    assert close(pr.bounded_brier_score(y, s, thresholds=thresholds, normalize="none"), brier["clipped_difference"])
    _, log = golden("bounded_log")
    assert close(pr.bounded_log_score(y, s, thresholds=thresholds), log["average_regret_logodds"])
    assert close(pr.bounded_log_score(y, s, thresholds=thresholds, normalize="width"), log["average_regret_logodds"])
    assert close(pr.bounded_log_score(y, s, thresholds=thresholds, normalize="none"), log["clipped_difference"])
    _, net_benefit = golden("bounded_net_benefit")
    assert close(pr.bounded_net_benefit(y, s, thresholds=thresholds), net_benefit)


def test_bounded_scores_of_a_second_sample(golden):
    given, expected = golden("bounded_2")
    y, s, thresholds = given["y"], given["s"], (given["a"], given["b"])
    assert close(pr.bounded_brier_score(y, s, thresholds=thresholds, normalize="none"), expected["brier_diff"])
    assert close(pr.bounded_brier_score(y, s, thresholds=thresholds), expected["brier_avg_regret"])
    assert close(pr.bounded_log_score(y, s, thresholds=thresholds, normalize="none"), expected["log_diff"])
    assert close(pr.bounded_log_score(y, s, thresholds=thresholds), expected["log_avg_regret"])
    assert close(pr.bounded_net_benefit(y, s, thresholds=thresholds), expected["net_benefit_avg"])


def test_over_all_thresholds_the_bounded_score_is_the_brier_score(golden):
    given, expected = golden("bounded_brier_full")
    both = {"y_true": given["y"], "y_proba": given["s"], "thresholds": (0.0, 1.0)}
    assert close(pr.bounded_brier_score(**both), expected["average_regret"])
    assert close(pr.bounded_brier_score(**both, normalize="none"), expected["clipped_difference"])


def test_bounded_brier_and_net_benefit_rank_two_models_differently(golden):
    given, expected = golden("rank_reversal_brier_vs_nb")
    thresholds = (given["a"], given["b"])
    for model in ("all", "none"):
        arguments = (given["y"], given[f"s_{model}"])
        assert close(pr.bounded_brier_score(*arguments, thresholds=thresholds), expected[f"avg_regret_{model}"])
        benefit = pr.bounded_net_benefit(*arguments, thresholds=thresholds)
        assert benefit == pytest.approx(expected[f"avg_nb_{model}"], rel=CLOSE, abs=1e-15)


def test_skill(golden):
    given, expected = golden("skill")
    low, high = given["a"], given["b"]
    rules = {
        "brier": pr.Brier(),
        "log": pr.Log(),
        "bounded_brier": pr.BoundedBrier(low, high),
        "bounded_log": pr.BoundedLog(low, high),
    }
    for name, rule in rules.items():
        assert close(pr.skill_score(given["y"], given["s"], rule=rule), expected[name])


def test_the_skill_of_a_published_example(golden):
    given, expected = golden("skill_paper_example")
    y = [1] * 2 + [0] * 8
    error = math.sqrt(given["bs"])
    p = [1 - error] * 2 + [error] * 8
    assert close(pr.brier_score(y, p), given["bs"])
    assert close(pr.skill_score(y, p, rule=pr.Brier(), reference=given["pi"]), expected)


@pytest.mark.skipif(
    not BCSC.exists(), reason="the data are not part of the repository; PROPRIETY_DATA names their folder"
)
def test_breast_cancer_predictions(golden):
    """Published with the thresholds read as odds; the stated interval is beside it."""
    _, expected = golden("bcsc_table2")
    with BCSC.open() as file:
        rows = list(csv.DictReader(file))
    y = np.array([float(row["cancer"]) for row in rows])
    intervals = {"printed_interval_prob": (0.0166, 0.03), "table2_interval_odds": (0.0166 / 1.0166, 0.03 / 1.03)}
    for model, values in expected.items():
        if model not in rows[0]:
            continue
        p = np.array([float(row[model]) for row in rows])
        for name, thresholds in intervals.items():
            both = {"thresholds": thresholds, "normalize": "none"}
            assert close(pr.bounded_brier_score(y, p, **both), values[name]["brier_diff"])
            assert close(pr.bounded_log_score(y, p, **both), values[name]["log_diff"])
        assert close(pr.brier_score(y, p), values["brier"])


def test_population_values_of_binary_tests(golden):
    given, expected = golden("assel_binary_tests")
    prevalence, thresholds = given["pi"], (given["a"], given["b"])
    for name, (sensitivity, specificity) in given["tests"].items():
        weight = [
            prevalence * sensitivity,
            prevalence * (1 - sensitivity),
            (1 - prevalence) * (1 - specificity),
            (1 - prevalence) * specificity,
        ]
        score = pr.bounded_brier_score(
            [1, 1, 0, 0], [1.0, 0.0, 1.0, 0.0], sample_weight=weight, thresholds=thresholds, normalize="width"
        )
        assert close(score, expected[name])


def test_shifted_brier(golden):
    given, expected = golden("shifted_brier")
    y, s, mu = given["y"], given["s"], given["mu"]
    assert close(pr.mean_score(y, s, rule=pr.ShiftedBrier(mu)), expected["class_weighted_proper"])
    assert close(pr.mean_score(y, s, rule=pr.ShiftedBrier(mu, weighted=False)), expected["unweighted_improper"])


def test_the_shift_that_takes_mu_to_an_even_chance(golden):
    """The unweighted loss of a non-event is the square of the moved forecast."""
    given, expected = golden("score_adjust")
    rule = pr.ShiftedBrier(given["mu"], weighted=False)
    moved = np.sqrt(rule.loss(np.array(given["s"]), event=False))
    np.testing.assert_allclose(moved, expected, rtol=CLOSE)


def test_beta_regret(golden):
    given, expected = golden("beta_regret")
    for alpha, beta in ((2, 2), (2, 8), (1, 1)):
        score = pr.mean_score(given["y"], given["s"], rule=pr.BetaRegret(alpha, beta))
        assert close(score, expected[f"beta_{alpha}_{beta}"])


def test_scores_of_a_mixture_of_thresholds(golden):
    given, expected = golden("elementary_mixture")
    for name, score in (("brier", pr.brier_score), ("log", pr.log_score), ("spherical", pr.spherical_score)):
        assert close(score(given["y"], given["s"]), expected[name])
