"""The named scores: each is `mean_score` under its rule, with every argument handed on."""

import math

import numpy as np
import pytest

import propriety as pr
from propriety.errors import InputTypeError, MissingValuesError
from propriety.tables.forecast_table import ForecastTable

Y = np.array([0, 1, 0, 1, 1, 0])
P = np.array([0.1, 0.7, 0.4, 0.3, 0.9, 0.6])
LEVELS = np.array([0, 1, 2, 2, 1])
ROWS = np.array([[0.7, 0.2, 0.1], [0.3, 0.4, 0.3], [0.1, 0.3, 0.6], [0.3, 0.5, 0.2], [0.25, 0.25, 0.5]])
NAMES = np.array(["low", "middle", "high"])

BINARY = {
    "mean_score": (lambda *a, **o: pr.mean_score(*a, rule=pr.Elementary(0.35), **o), pr.Elementary(0.35)),
    "brier_score": (pr.brier_score, pr.Brier()),
    "log_score": (pr.log_score, pr.Log()),
    "spherical_score": (pr.spherical_score, pr.Spherical()),
    "bounded_brier_score": (
        lambda *a, **o: pr.bounded_brier_score(*a, thresholds=(0.2, 0.8), **o),
        pr.BoundedBrier(0.2, 0.8),
    ),
    "bounded_log_score": (
        lambda *a, **o: pr.bounded_log_score(*a, thresholds=(0.2, 0.8), **o),
        pr.BoundedLog(0.2, 0.8),
    ),
}
BY_CLASS = {
    "brier_score": (pr.brier_score, pr.Brier()),
    "log_score": (pr.log_score, pr.Log()),
    "spherical_score": (pr.spherical_score, pr.Spherical()),
    "ranked_probability_score": (pr.ranked_probability_score, pr.RankedProbability()),
    "squared_absolute_ranked_probability_score": (
        pr.squared_absolute_ranked_probability_score,
        pr.SquaredAbsoluteRankedProbability(),
    ),
    "penalized_brier_score": (pr.penalized_brier_score, pr.PenalizedBrier()),
    "penalized_log_score": (pr.penalized_log_score, pr.PenalizedLog()),
}


@pytest.mark.parametrize(("score", "rule"), BINARY.values(), ids=BINARY)
def test_a_score_of_an_event_reads_its_arguments_as_case_scores_does(score, rule):
    losses = pr.case_scores(Y, P, rule=rule)
    weight = np.array([1.0, 2.0, 0.5, 1.0, 3.0, 1.5])
    plain = score(Y, P)
    assert plain == pytest.approx(losses.mean(), rel=1e-14)
    assert plain.rule == repr(rule)
    assert score(Y, P, sample_weight=weight) == pytest.approx(np.average(losses, weights=weight), rel=1e-14)
    called = np.where(Y, "bad", "good")
    assert score(called, P, pos_label="bad") == score(called, P, labels=["good", "bad"]) == plain
    assert score(ForecastTable.from_predictions(Y, P)) == pytest.approx(plain, rel=1e-14)
    with pytest.raises(MissingValuesError):
        score(np.append(Y, 1), np.append(P, np.nan))
    dropped = score(pr.cases(np.append(Y, 1), np.append(P, np.nan), missing="drop"))
    assert (dropped, dropped.n, dropped.dropped) == (plain, 6, 1)


@pytest.mark.parametrize(("score", "rule"), BY_CLASS.values(), ids=BY_CLASS)
def test_a_score_of_classes_reads_its_arguments_as_case_scores_does(score, rule):
    losses = pr.case_scores(LEVELS, ROWS, rule=rule)
    weight = np.array([1.0, 2.0, 0.5, 1.0, 3.0])
    plain = score(LEVELS, ROWS)
    assert plain == pytest.approx(losses.mean(), rel=1e-14)
    assert plain.rule == repr(rule)
    assert score(LEVELS, ROWS, sample_weight=weight) == pytest.approx(np.average(losses, weights=weight), rel=1e-14)
    assert score(NAMES[LEVELS], ROWS, labels=NAMES) == plain
    rows = np.vstack([ROWS, [np.nan, 0.5, 0.5]])
    with pytest.raises(MissingValuesError):
        score(np.append(LEVELS, 1), rows)
    dropped = score(pr.cases(np.append(LEVELS, 1), rows, missing="drop"))
    assert (dropped, dropped.n, dropped.dropped) == (plain, 5, 1)
    rough = ROWS * 1.004
    with pytest.raises(pr.errors.InputValueError, match="sum to 1"):
        score(LEVELS, rough)


def test_the_options_of_the_named_scores_reach_the_rule():
    assert pr.brier_score(LEVELS, ROWS, scale="half").rule == "Brier(scale='half')"
    assert pr.log_score(LEVELS, ROWS, clip=0.05).rule == "Log(clip=0.05)"
    for score in (pr.penalized_brier_score, pr.penalized_log_score):
        assert "ties='first'" in score(LEVELS, ROWS, ties="first").rule
    for score in (pr.bounded_brier_score, pr.bounded_log_score):
        assert "low=0.1, high=0.3, normalize='none'" in score(Y, P, thresholds=[0.1, 0.3], normalize="none").rule


@pytest.mark.parametrize(
    "options",
    [
        {"sample_weight": [1, 2, 1, 3, 1, 1]},
        {"pos_label": 0},
        {"labels": [1, 0]},
        {"missing": "drop"},
        {"normalize": "none"},
        {},
    ],
    ids=lambda options: next(iter(options), "plain"),
)
def test_the_bounded_net_benefit_is_what_acting_gains_over_never_acting(options):
    p = np.append(P[:-1], np.nan) if "missing" in options else P
    rule = pr.BoundedNetBenefit(0.2, 0.7, normalize=options.get("normalize", "regret"))
    cases = {name: value for name, value in options.items() if name != "normalize"}
    kept = np.isfinite(p)
    weight = np.asarray(cases.pop("sample_weight", np.ones(6)))[kept]
    never = pr.case_scores(pr.cases(Y, np.where(kept, 0.0, np.nan), **cases), rule=rule)[kept]
    acting = pr.case_scores(pr.cases(Y, p, **cases), rule=rule)[kept]
    reading = {name: value for name, value in options.items() if name != "normalize"}
    scale = {name: value for name, value in options.items() if name == "normalize"}
    benefit = pr.bounded_net_benefit(pr.cases(Y, p, **reading), thresholds=(0.2, 0.7), **scale)
    assert benefit == pytest.approx(np.average(never - acting, weights=weight), rel=1e-12)
    assert benefit.dropped == np.count_nonzero(~kept)
    assert benefit.scale == "at most the prevalence" + " times the width of the interval" * ("normalize" in options)


def test_the_bounded_net_benefit_does_not_drop_unasked():
    with pytest.raises(MissingValuesError):
        pr.bounded_net_benefit([0, 1], [0.5, math.nan], thresholds=(0.2, 0.7))


@pytest.mark.parametrize("thresholds", [0.5, "01", (0.1, 0.2, 0.3), (0.1,)], ids=str)
def test_thresholds_are_a_pair(thresholds):
    with pytest.raises(InputTypeError, match=r"thresholds must be a pair \(low, high\)"):
        pr.bounded_brier_score(Y, P, thresholds=thresholds)


@pytest.mark.parametrize(
    "options", [{"labels": ["good", "bad"]}, {"pos_label": "bad"}], ids=lambda options: next(iter(options))
)
def test_case_scores_and_skill_read_names(options):
    called = np.where(Y, "bad", "good")
    rule = pr.Log()
    np.testing.assert_array_equal(pr.case_scores(called, P, rule=rule, **options), pr.case_scores(Y, P, rule=rule))
    assert pr.skill_score(called, P, rule=rule, **options) == pr.skill_score(Y, P, rule=rule)


def test_case_scores_stay_beside_their_cases():
    y, p = [1, 0, 1], [0.75, math.nan, 0.5]
    np.testing.assert_array_equal(
        pr.case_scores(pr.cases(y, p, missing="drop"), rule=pr.Brier()), [0.0625, math.nan, 0.25]
    )
    with pytest.raises(MissingValuesError):
        pr.case_scores(y, p, rule=pr.Brier())
    with pytest.raises(InputTypeError, match="holds no individual cases"):
        pr.case_scores(ForecastTable.from_predictions(Y, P), None, rule=pr.Brier())
    rough = ROWS * 1.004
    with pytest.raises(pr.errors.InputValueError, match="sum to 1"):
        pr.case_scores(LEVELS, rough, rule=pr.Brier())
