"""A test for every claim of `docs/corrections.md`, which names each of them."""

import csv
import re
from fractions import Fraction
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats
from scipy.special import expit, logit

import propriety as pr
from propriety.rules.audit import simplex_grid

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "corrections.md"

Y = np.array([0, 0, 1, 0, 1, 0, 0, 1, 1, 0, 1, 0])
P = np.array([0.05, 0.1, 0.1, 0.2, 0.3, 0.3, 0.45, 0.5, 0.7, 0.6, 0.9, 0.5])
ROBUST = -2 / 3

probabilities = st.floats(0.01, 0.99)
distributions = st.integers(3, 5).flatmap(
    lambda classes: st.lists(st.floats(0.05, 1), min_size=classes, max_size=classes).map(lambda w: np.array(w) / sum(w))
)


def regret(y, p, c):
    acted = np.asarray(p) >= c
    return np.mean(c * (acted & (y == 0)) + (1 - c) * (~acted & (y == 1)))


def mean_regret(y, p, low, high, transform=lambda c: c, inverse=lambda x: x):
    """Average the regret over thresholds that are even on the transformed scale, piece by piece between forecasts."""
    inside = [c for c in np.unique(p) if low < c < high]
    ends = [transform(c) for c in (low, *inside, high)]
    pieces = [integrate.quad(lambda x: regret(y, p, inverse(x)), a, b, epsabs=1e-13)[0] for a, b in pairwise(ends)]
    return sum(pieces) / (ends[-1] - ends[0])


def expected(rule, truth, report):
    return sum(
        weight * pr.mean_score([k], [report], rule=rule, labels=range(len(truth))) for k, weight in enumerate(truth)
    )


def power_mean(values, exponent, weights=None):
    return np.average(np.asarray(values) ** exponent, weights=weights) ** (1 / exponent)


def study(name):
    with (ROOT / "studies" / "results" / f"{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def recalibrated(y, p):
    return pr.reliability_curve(y, p).at(p)


def test_every_claim_of_the_page_has_a_test_and_every_test_a_claim():
    named = re.findall(r"`(test_\w+)`", PAGE.read_text(encoding="utf-8"))
    here = {name for name in globals() if name.startswith("test_") and "every_claim" not in name}
    assert sorted(named) == sorted(here)


# Claims about Galdran (2023).


@pytest.mark.parametrize("classes", [3, 5, 8])
def test_sa_rps_as_printed_leaves_the_unit_interval(classes):
    cumulative, outcome = np.ones(classes), np.zeros(classes)
    outcome[-1] = 1.0
    printed = np.abs(cumulative - outcome).sum() ** 2 / (classes - 1)
    rows = np.eye(classes)[[0]]
    assert printed == classes - 1
    assert pr.squared_absolute_ranked_probability_score([classes - 1], rows) == 1.0


@given(distributions)
def test_sa_rps_is_improper_for_three_classes_and_more(truth):
    rule = pr.SquaredAbsoluteRankedProbability()
    places = np.arange(len(truth))
    lie = np.maximum(1 - np.abs(places - truth @ places), 0)
    assert expected(rule, truth, lie / lie.sum()) < expected(rule, truth, truth)
    third = [1 / 3, 1 / 3, 1 / 3]
    assert expected(rule, third, third) == pytest.approx(11 / 54)
    assert expected(rule, third, [0, 1, 0]) == pytest.approx(1 / 6)


@pytest.mark.parametrize("possible", [[0.3, 0.7, 0], [0.3, 0, 0.7], [0, 0.6, 0.4], [0, 1, 0]], ids=repr)
def test_sa_rps_has_no_lie_where_two_classes_can_happen(possible):
    rule, reports = pr.SquaredAbsoluteRankedProbability(), simplex_grid(3)
    losses = [rule.class_loss(list(reports.T), outcome=outcome) for outcome in np.eye(3)]
    assert expected(rule, possible, possible) <= (np.array(possible) @ losses).min() + 1e-12


@given(probabilities, st.integers(0, 1))
def test_sa_rps_of_two_classes_is_the_brier_score(p, y):
    two = pr.squared_absolute_ranked_probability_score([y], [[1 - p, p]])
    assert two == pytest.approx(pr.brier_score([y], [p]))


def test_the_examples_of_equation_3():
    near, far = [[1 / 4, 3 / 4, 0]], [[1 / 4, 0, 3 / 4]]
    assert pr.ranked_probability_score([0], near) == pytest.approx(9 / 32)
    assert pr.ranked_probability_score([0], far) == pytest.approx(9 / 16)
    assert pr.ranked_probability_score([0], [[1 / 2, 1 / 2, 0]]) == pytest.approx(1 / 8)
    assert pr.ranked_probability_score([0], [[1 / 2, 0, 1 / 2]]) == pytest.approx(1 / 4)


def test_the_asymmetric_example_sums_to_one():
    assert sum([1 / 10, 5 / 10, 9 / 10]) == pytest.approx(1.5)
    asymmetric = [[9 / 20, 10 / 20, 1 / 20]]
    assert pr.ranked_probability_score([1], asymmetric) == pytest.approx(0.1025)
    assert pr.ranked_probability_score([1], [[0.3, 0.4, 0.3]]) == pytest.approx(0.09)


@given(probabilities, st.integers(0, 1))
def test_rps_of_two_classes_is_half_of_the_sum_brier_score(p, y):
    over_both = (1 - p - (1 - y)) ** 2 + (p - y) ** 2
    assert pr.ranked_probability_score([y], [[1 - p, p]]) == pytest.approx(over_both / 2)


def test_zero_at_the_truth_does_not_make_a_score_proper():
    truth, report = 0.7, np.linspace(0, 1, 101)
    loss = truth * np.abs(report - 1) + (1 - truth) * np.abs(report - 0)
    assert abs(1 - 1) == abs(0 - 0) == 0
    assert report[loss.argmin()] == 1.0


# Claims about Nelson (2017).


def test_the_error_bar_of_the_geometric_mean():
    log = np.log([0.9, 0.8, 0.55, 0.3, 0.05])
    mean, spread = np.exp(log.mean()), np.exp(np.sqrt((log**2).mean() - log.mean() ** 2))
    assert spread == pytest.approx(np.exp(log.std()))
    assert spread >= 1
    assert mean / spread < 1
    entropy, deviation = -log.mean(), log.std()
    assert (entropy - deviation < 0) == (mean * spread > 1)


def test_the_exponent_of_robustness():
    third = Fraction(1, 3)
    printed = {k: 2 * k / (1 + k) for k in (Fraction(-1, 4), Fraction(1))}
    assert printed == {Fraction(-1, 4): -2 * third, Fraction(1): 1}
    conjugate = {k: -2 * k / (1 + k) for k in (Fraction(1, 2), -third)}
    assert conjugate == {Fraction(1, 2): -2 * third, -third: 1}


def test_the_renyi_entropy_takes_the_log_of_the_sum():
    p, weights = np.full(4, 0.5), np.full(4, 0.25)
    printed = -np.sum(np.log(weights * p**ROBUST)) / ROBUST
    right = -np.log(np.sum(weights * p**ROBUST)) / ROBUST
    assert right == pytest.approx(np.log(2))
    assert abs(printed - np.log(2)) > 1


def test_the_coupled_gaussian_is_students_t():
    coupling = 0.25
    x = np.linspace(-4, 4, 9)
    shape = (1 + coupling * x**2) ** (-(1 / coupling + 1) / 2)
    density = stats.t(1 / coupling).pdf(x)
    assert np.allclose(shape / shape[4], density / density[4])
    printed = (1 + coupling * x**2) ** ((1 / coupling + 1) / 2)
    assert (np.diff(printed[4:]) > 0).all()


def test_compact_support_needs_a_negative_coupling():
    far = 10.0
    assert 1 + 0.095 * far**2 > 0
    assert 1 - 0.095 * far**2 < 0
    accuracy = {row["case"]: float(row["model_accuracy"]) for row in study("coupled_gaussian")}
    assert accuracy["coupling -0.095, not 0, not clipped"] == 0
    assert accuracy["coupling 0.095, not 0, not clipped"] > 0.69


def test_the_mean_over_bins():
    bins = [np.full(3, 0.5), np.full(5, 0.5)]
    of_bins = np.array([power_mean(q, ROBUST) for q in bins])
    printed = np.mean(of_bins) ** (1 / ROBUST)
    assert printed == pytest.approx(2.83, abs=0.005)
    assert power_mean(of_bins, ROBUST, weights=[3, 5]) == pytest.approx(0.5)
    varied = [np.array([0.2, 0.5, 0.3]), np.array([0.9, 0.6])]
    of_bins = [power_mean(q, ROBUST) for q in varied]
    assert power_mean(of_bins, ROBUST, weights=[3, 2]) == pytest.approx(power_mean(np.concatenate(varied), ROBUST))


def test_bins_weigh_by_their_true_cases():
    p = np.repeat([0.2, 0.8], [30, 10])
    y = np.r_[np.arange(30) < 6, np.arange(10) < 8]
    means = pr.probability_means(y, p, source="bins", bins=[0, 0.5, 1])
    assert means.model == pytest.approx(means.source)
    rates = np.array([0.2, 0.8])
    equal_weights = [rates.mean(), np.exp(np.log(rates).mean()), power_mean(rates, ROBUST)]
    assert (np.abs(means.model - equal_weights) > 0.1).all()


def test_the_model_may_exceed_the_source(golden):
    given_, found = golden("source_below_model_counterexample")
    means = pr.probability_means(given_["y"], given_["Q"], source="bins", bins=given_["edges"])
    assert means.divergence == pytest.approx(found["divergence"])
    assert means.divergence[1] > 1.69
    assert pr.probability_means(Y, P).divergence[1] <= 1


def test_only_the_geometric_mean_is_proper():
    truth, report = 0.9, np.linspace(0.001, 0.999, 99_801)

    def value(q):
        return (truth * q**ROBUST + (1 - truth) * (1 - q) ** ROBUST) ** (1 / ROBUST)

    best = report[value(report).argmax()]
    assert best == pytest.approx(expit(0.6 * logit(truth)), abs=1e-4)
    assert (value(0.9), value(best), value(0.5)) == pytest.approx((0.5850, 0.6474, 0.5), abs=5e-5)
    logs = truth * np.log(report) + (1 - truth) * np.log(1 - report)
    assert report[logs.argmax()] == pytest.approx(truth, abs=1e-4)


def test_the_printed_means_need_a_cut_off_feature():
    rows = {row["case"]: row for row in study("coupled_gaussian")}
    whole, cut = rows["tail over-confident"], rows["tail over-confident, |feature| < 8"]
    columns = ("model_accuracy", "source_accuracy", "divergence_accuracy")
    printed = (0.56, 0.62, 0.90)
    assert tuple(round(float(cut[name]), 2) for name in columns) == printed
    assert tuple(round(float(whole[name]), 2) for name in columns) != printed


# Claims about Flores et al. (2025).


@pytest.mark.parametrize(("low", "high"), [(0.15, 0.55), (0.001, 0.999)], ids=["inside", "almost all"])
def test_the_mean_regret_is_half_of_the_clipped_difference(low, high):
    clipped = (Y - P.clip(low, high)) ** 2 - (Y - Y.clip(low, high)) ** 2
    assert mean_regret(Y, P, low, high) == pytest.approx(clipped.mean() / (2 * (high - low)))
    assert mean_regret(Y, P, low, high) == pytest.approx(pr.bounded_brier_score(Y, P, thresholds=(low, high)))


def test_the_bounded_log_score_is_a_mean_over_log_odds():
    low, high = 0.15, 0.55

    def loss(q):
        return -np.log(np.where(Y == 1, q, 1 - q))

    clipped = (loss(P.clip(low, high)) - loss(Y.clip(low, high))).mean()
    found = mean_regret(Y, P, low, high, transform=logit, inverse=expit)
    assert found == pytest.approx(clipped / (logit(high) - logit(low)))
    assert found == pytest.approx(pr.bounded_log_score(Y, P, thresholds=(low, high)))


@given(st.floats(0.05, 0.9))
def test_the_rule_of_net_benefit_falls_when_the_event_happens(truth):
    report = np.linspace(0.001, 0.95, 9_491)
    without = (1 - report) - np.log(1 - report)
    right, printed = truth * (1 - report) + (1 - truth) * without, truth * report + (1 - truth) * without
    assert report[right.argmin()] == pytest.approx(truth, abs=2e-4)
    assert abs(report[printed.argmin()] - truth) > 0.02


def test_bounded_brier_is_not_averaged_net_benefit():
    y, everybody, nobody = [1, 1, 1, 0, 0], [1.0] * 5, [0.0] * 5
    regrets = [pr.bounded_brier_score(y, p, thresholds=(0.1, 0.9)) for p in (everybody, nobody)]
    benefits = [pr.bounded_net_benefit(y, p, thresholds=(0.1, 0.9)) for p in (everybody, nobody)]
    assert regrets == pytest.approx([0.2, 0.3])
    assert benefits == pytest.approx([-0.09861228867, 0])


@given(probabilities, probabilities)
def test_the_shift_of_a_forecast_and_its_inverse(p, mu):
    def moved(s, by):
        return s * (1 - by) / (s * (1 - by) + (1 - s) * by)

    assert moved(p, mu) == pytest.approx(expit(logit(p) - logit(mu)))
    assert 1 / (1 + np.exp(logit(p) - logit(mu))) == pytest.approx(1 - moved(p, mu))  # As printed.
    assert moved(moved(p, mu), 1 - mu) == pytest.approx(p)


def test_the_shifted_brier_score_needs_weights():
    truth, mu, report = 0.3, 0.2, np.linspace(0.001, 0.999, 9_981)

    def best(rule):
        loss = truth * rule.loss(report, event=True) + (1 - truth) * rule.loss(report, event=False)
        return report[loss.argmin()]

    assert best(pr.ShiftedBrier(mu, weighted=False)) == pytest.approx(0.0968, abs=2e-4)
    assert best(pr.ShiftedBrier(mu)) == pytest.approx(truth, abs=2e-4)


def test_acting_at_a_tie_uses_the_left_limit():
    c = 0.3
    left = pr.regret_curve(Y, P, grid=[c]).value[0]
    assert left == pytest.approx(regret(Y, P, c))
    strict = c < P
    assert left != pytest.approx(np.mean(c * (strict & (Y == 0)) + (1 - c) * (~strict & (Y == 1))))


def test_hands_identity_needs_calibrated_forecasts():
    rate = Y.mean()

    def right_side(p):
        return 1 - np.mean([regret(Y, p, c) for c in p]) / (2 * rate * (1 - rate))

    calibrated = recalibrated(Y, P)
    assert pr.roc_curve(Y, P).auc == pytest.approx(0.7)
    assert right_side(P) == pytest.approx(0.7614285714)
    assert pr.roc_curve(Y, calibrated).auc == pytest.approx(right_side(calibrated))


def test_true_positives_fall_along_an_interval():
    low, high = 0.2, 0.6
    rates = [np.mean(P[Y == 1] >= c) for c in (low, high)]
    assert rates[0] - rates[1] == pytest.approx(np.mean((P[Y == 1] >= low) & (P[Y == 1] < high)))
    assert rates[1] - rates[0] < 0


def test_the_h_measure_is_of_the_recalibrated_forecast():
    def loss(p):
        return pr.mean_score(Y, p, rule=pr.BetaRegret(2, 2))

    constant = np.full(len(Y), Y.mean())
    assert pr.h_measure(Y, P) == pytest.approx(1 - loss(recalibrated(Y, P)) / loss(constant))
    assert pr.h_measure(Y, P) > 1 - loss(P) / loss(constant)


def test_the_well_calibrated_forecaster_is_not():
    event, distance = 0.2, 0.95
    assert logit(event) - distance**2 / 2 == pytest.approx(-1.8375, abs=5e-5)

    def mean_of(forecast):
        density = lambda z: (1 - event) * stats.norm.pdf(z) + event * stats.norm.pdf(z, distance)  # noqa: E731
        return integrate.quad(lambda z: forecast(z) * density(z), -12, 12)[0]

    assert mean_of(lambda z: expit(-1.8375 + distance * z)) == pytest.approx(0.2, abs=1e-4)
    assert mean_of(lambda z: expit(-0.9 + z)) == pytest.approx(0.359, abs=5e-4)


def test_the_interval_of_table_2_was_read_as_odds():
    read = [x / (1 + x) for x in (0.0166, 0.03)]
    assert read == pytest.approx([0.016329, 0.029126], abs=5e-7)
    used = {row["model"]: (row["bounded_brier_used"], row["bounded_brier_stated"]) for row in study("breast_cancer")}
    # With an event rate r, forecasting 0 costs r (high - low) (2 - low - high), whatever the model.
    rate = {row["model"]: float(row["brier"]) for row in study("breast_cancer")}["prevalence"]
    rate = (1 - np.sqrt(1 - 4 * rate)) / 2
    for (low, high), value in zip((read, (0.0166, 0.03)), used["logistic, no density"], strict=True):
        assert float(value) == pytest.approx(rate * (high - low) * (2 - low - high), rel=1e-4)


def test_the_models_of_table_2_are_shifted():
    rows = {row["model"]: row for row in study("breast_cancer")}
    constant = rows.pop("prevalence")
    means = [float(row["mean_forecast"]) for row in rows.values()]
    assert float(constant["mean_forecast"]) == pytest.approx(284 / 10_732, rel=1e-6)
    assert 0.0029 < min(means[:3]) < max(means[:3]) < 0.0035
    assert means[3] == pytest.approx(0.13, abs=5e-4)
    for row in rows.values():
        assert float(row["brier"]) > float(constant["brier"])
        assert float(row["log"]) > float(constant["log"])
    beaten = {
        score: [name for name, row in rows.items() if float(row[f"{score}_of_own_mean"]) < float(row[score])]
        for score in ("brier", "log")
    }
    assert beaten == {"brier": ["xgboost at 2%"], "log": ["xgboost", "xgboost at 2%"]}
    assert {float(rows[name]["net_benefit_2%"]) for name in rows if name.startswith("logistic")} == {0.0}


# Claims about Dimitriadis, Gneiting & Jordan (2021).


@given(st.lists(st.tuples(st.integers(0, 10), st.booleans()), min_size=4, max_size=60))
def test_the_classical_parts_exceed_corps_by_the_same_amount(cases):
    p, y = np.array([p / 10 for p, _ in cases]), np.array([y for _, y in cases])
    classical = pr.classical_decomposition(y, p, strategy="distinct")
    corp = pr.decompose(y, p)
    excess = classical.reliability - corp.miscalibration
    assert excess == pytest.approx(classical.resolution - corp.discrimination, abs=1e-12)
    assert excess >= -1e-12


def test_the_misclassification_error_splits_ties():
    for truth in (0.2, 0.5, 0.7):
        losses = [
            truth * pr.Misclassification().loss(report, event=True)
            + (1 - truth) * pr.Misclassification().loss(report, event=False)
            for report in np.linspace(0, 1, 21)
        ]
        assert min(losses) == pytest.approx(min(truth, 1 - truth))
    assert float(pr.Misclassification().loss(np.array(0.5), event=True)) == 0.5


def test_only_miscalibration_is_infinite_under_the_log_score():
    parts = pr.decompose([1, 0, 1, 0, 1], [0.0, 0.2, 0.4, 0.6, 0.9], rule=pr.Log())
    assert parts.score == parts.miscalibration == np.inf
    assert np.isfinite([parts.discrimination, parts.uncertainty]).all()


def test_quantiles_of_chernoffs_distribution():
    from propriety.calibration.bands import _density, chernoff_quantile

    assert chernoff_quantile(0.975) == pytest.approx(0.9981810949948084, abs=1e-9)
    variance, _ = integrate.quad(lambda x: x**2 * float(_density(np.abs([x]))[0]), -4, 4, limit=200)
    assert variance == pytest.approx(0.2635596413, abs=1e-7)


# Claims about Ahmadian et al. (2024).


def test_three_scales_of_the_penalized_brier_score(golden):
    given_, over_c = golden("pbs_algorithm2_scale")
    _, by_code = golden("pbs_author_code")
    y, rows = given_["y"], given_["P"]
    classes = 4
    assert pr.penalized_brier_score(y, rows, ties="first") / classes == pytest.approx(over_c)
    plain, penalized = pr.brier_score(y, rows), pr.penalized_brier_score(y, rows, ties="correct")
    assert plain / classes + (penalized - plain) == pytest.approx(by_code)
    assert pr.penalized_brier_score(y, rows, ties="correct") / classes != pytest.approx(by_code)


def test_the_log_loss_of_algorithm_3_needs_a_minus():
    assert pr.log_score([0], [[0.8, 0.2]]) == pytest.approx(-np.log(0.8))
    assert pr.log_score([0], [[0.8, 0.2]]) > 0


@given(distributions)
def test_the_expected_score_of_an_honest_report(truth):
    classes = len(truth)
    plain, honest = expected(pr.Brier(), truth, truth), expected(pr.PenalizedBrier(ties="first"), truth, truth)
    assert honest == pytest.approx(plain + (classes - 1) / classes * (1 - truth.max()))


def test_ties_that_count_as_correct_reward_the_uniform_report():
    brier, log = pr.PenalizedBrier(ties="correct"), pr.PenalizedLog(ties="correct")
    assert expected(brier, [0.6, 0.4], [0.6, 0.4]) == pytest.approx(0.68)
    assert expected(brier, [0.6, 0.4], [0.5, 0.5]) == pytest.approx(0.5)
    for rule, border in ((brier, 0.75), (log, 0.7729078048)):
        for truth, gains in ((border - 1e-6, True), (border + 1e-6, False)):
            pair = [truth, 1 - truth]
            assert (expected(rule, pair, [0.5, 0.5]) < expected(rule, pair, pair)) == gains
    four = np.array([3, 4, 2, 3]) / 12
    gain = expected(brier, four, four) - expected(brier, four, [0.25] * 4)
    assert gain == pytest.approx(0.4861, abs=5e-5)


def test_ties_that_count_as_wrong_punish_an_honest_tie():
    def loss(report, y):
        top = max(report)
        right = report[y] == top and list(report).count(top) == 1
        return pr.brier_score([y], [report]) + (0 if right else 0.5)

    def expected_of(report):
        return (loss(report, 0) + loss(report, 1)) / 2

    assert expected_of([0.5, 0.5]) > expected_of([0.51, 0.49])


@pytest.mark.parametrize("classes", [2, 3, 4, 7])
def test_a_smaller_penalty_would_do(classes):
    uniform = np.full(classes, 1 / classes)
    pair = np.zeros(classes)
    pair[:2] = 0.5
    worst_right, best_wrong = pr.brier_score([0], [uniform]), pr.brier_score([0], [pair])
    assert worst_right - best_wrong == pytest.approx((classes - 2) / (2 * classes))
    logs = pr.log_score([0], [uniform]) - pr.log_score([0], [pair])
    assert logs == pytest.approx(np.log(classes / 2))


@given(distributions)
def test_the_sum_of_squares_of_the_other_classes(q):
    others = q[1:]
    mean = others.mean()
    spread = np.sum((others - mean) ** 2)
    assert np.sum(others**2) == pytest.approx(spread + len(others) * mean**2)
    assert np.sum(others**2) < spread + len(q) * mean**2


def test_a_right_answer_can_score_worse_at_the_same_probability():
    right, wrong = [0.3, 0.299, 0.299, 0.102], [0.3, 0.31, 0.195, 0.195]
    assert (np.argmax(right), sorted(right)[-2] < right[0], np.argmax(wrong)) == (0, True, 1)
    assert pr.brier_score([0], [right]) == pytest.approx(0.67921, abs=5e-6)
    assert pr.brier_score([0], [wrong]) == pytest.approx(0.66215)


def test_the_published_log_losses_are_decimal():
    rows = {0.4685: [0.33, 0.34, 0.33], 0.3098: [0.51, 0.49, 0.0]}
    for printed, row in rows.items():
        natural = pr.log_score([1], [row])
        assert natural / np.log(10) == pytest.approx(printed, abs=1e-4)
        assert natural != pytest.approx(printed, abs=0.1)


def test_f_measures_are_no_averages():
    def f1(y, d):
        both, either = np.sum(y & d), np.sum(y) + np.sum(d)
        return 2 * both / either

    halves = [(np.array([1, 0, 0, 0]), np.array([1, 1, 1, 1])), (np.array([1, 1, 1, 0]), np.array([1, 0, 0, 0]))]
    whole = f1(*(np.concatenate(part) for part in zip(*halves, strict=True)))
    assert whole != pytest.approx(np.mean([f1(*half) for half in halves]))


@pytest.mark.parametrize(("blocks", "validation", "test"), list(product((6, 9), (1, 2), (1, 3))))
def test_the_last_window_of_algorithm_4(blocks, validation, test):
    def end(start):
        return start + validation + test - 1

    last = blocks - validation - test + 1
    assert end(last) == blocks
    assert end(blocks) > blocks
