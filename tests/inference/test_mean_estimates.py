"""Means and their errors, computed case by case."""

import math

import numpy as np
import pytest
from brute_clusters import brute_errors
from paired_sample import (
    BRIER,
    MODELS,
    UNIT,
    WEIGHT,
    N,
    P,
    Q,
    T,
    Y,
    brier_series,
    mean_error,
)
from scipy import stats

import propriety as pr
from propriety.errors import InputValueError
from propriety.inference.dependence import hac
from propriety.inference.finding import Finding
from propriety.inference.finding_words import caveats
from propriety.inference.mean_estimates import (
    errors_of_means,
    estimate_from_moments,
    measured_moments,
    parts_in_time,
    within_range,
)
from propriety.inference.measures.of_means import MeanScore, NetBenefit, Skill
from propriety.ledger.ledger import Ledger
from propriety.ledger.sources import at_prevalence


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weights"])
def test_means_of_independent_cases_have_the_error_of_a_mean(weight):
    moments = measured_moments(pr.condense(Y, MODELS, sample_weight=weight), MeanScore())
    found = errors_of_means(moments)
    np.testing.assert_allclose(found.standard_error, [mean_error(x, weight) for x in brier_series()])
    assert found.df.tolist() == [N - 1.0] * 3
    assert found.inflation.tolist() == [1.0] * 3


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weights"])
def test_means_of_clusters_and_times_have_errors_of_their_sums(weight):
    w = np.ones(N) if weight is None else weight
    alone = np.array([mean_error(x, weight) for x in brier_series()])
    clusters = errors_of_means(
        measured_moments(pr.condense(Y, MODELS, sample_weight=weight, cluster=UNIT), MeanScore())
    )
    brute = np.array([brute_errors(x, UNIT, weight) for x in brier_series()])
    np.testing.assert_allclose(clusters.standard_error, brute[:, 0])
    np.testing.assert_allclose(clusters.df, brute[:, 1])
    np.testing.assert_allclose(clusters.inflation, np.maximum((brute[:, 0] / alone) ** 2, 1.0))
    moments = measured_moments(pr.condense(Y, MODELS, sample_weight=weight, period=UNIT), MeanScore())
    parts = np.zeros((30, 3))
    for column, x in enumerate(brier_series()):
        for time in range(30):
            here = time == UNIT
            parts[time, column] = w[here] @ (x[here] - w @ x / w.sum()) / w.sum()
    np.testing.assert_allclose(parts_in_time(moments), parts, atol=1e-15)
    for horizon in (None, 3):
        error, df = hac(parts, horizon=horizon)
        times = errors_of_means(moments, horizon)
        np.testing.assert_allclose(times.standard_error, error)
        np.testing.assert_allclose(times.df, df)
        np.testing.assert_allclose(times.inflation, np.maximum((error / alone) ** 2, 1.0))


def test_means_that_never_vary_are_not_inflated():
    y, p = np.arange(40) % 2, np.full(40, 0.5)
    found = errors_of_means(measured_moments(pr.condense(y, p, cluster=np.arange(40) // 4), MeanScore()))
    assert (found.standard_error.tolist(), found.inflation.tolist()) == ([0.0], [1.0])


def test_samples_by_outcome_have_errors_of_welch():
    ledger = at_prevalence(pr.condense(Y, MODELS), 0.1)
    found = errors_of_means(ledger.moments(pr.Brier()), by_outcome=True)
    for column, x in enumerate(brier_series()):
        parts = [share**2 * x[side].var(ddof=1) / side.sum() for share, side in ((0.1, Y), (0.9, ~Y))]
        freedom = [Y.sum() - 1, (~Y).sum() - 1]
        df = sum(parts) ** 2 / sum(part**2 / one for part, one in zip(parts, freedom, strict=True))
        assert found.standard_error[column] == pytest.approx(np.sqrt(sum(parts)))
        assert found.df[column] == pytest.approx(df)
    assert found.inflation.tolist() == [1.0] * 3
    equal = at_prevalence(pr.condense([0, 1, 0, 1, 1], [0.5] * 5), 0.1)
    flat = errors_of_means(equal.moments(pr.Brier()), by_outcome=True)
    assert (flat.standard_error.tolist(), flat.df.tolist()) == ([0.0], [3.0])


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weights"])
def test_skill_is_the_mean_of_what_each_case_saves(weight):
    ledger = pr.condense(Y, MODELS, sample_weight=weight)
    w = np.ones(N) if weight is None else weight
    rate = w @ Y / w.sum()
    constant = (rate - Y) ** 2
    against = w @ constant / w.sum()
    saved = []
    for loss in BRIER:
        ratio = w @ loss / w.sum() / against
        saved.append(1.0 - ratio - (loss - ratio * constant) / against)
    moments = Skill().of_moments(ledger.moments(pr.Brier()), None)
    series = [*saved, saved[0] - saved[1]]
    np.testing.assert_allclose(moments.means, [w @ x / w.sum() for x in series], atol=1e-14)
    np.testing.assert_allclose(moments.standard_errors(), [mean_error(x, weight) for x in series])
    events = moments.over("outcome")
    for cell, side in enumerate((~Y, Y)):
        for column, x in enumerate(series):
            mean = w[side] @ x[side] / w[side].sum()
            assert events.mean[cell, column] == pytest.approx(mean)
            assert events.lean[cell, column] == pytest.approx(w[side] ** 2 @ (x[side] - mean), abs=1e-9)
            assert events.spread[cell, column] == pytest.approx(w[side] ** 2 @ (x[side] - mean) ** 2)


def test_skill_of_classes_is_relative_to_their_frequencies():
    rng = np.random.default_rng(12)
    p = rng.dirichlet([1.0, 1.0, 1.0, 1.0], 50)
    y = rng.integers(0, 3, 50)  # The last class never happens.
    moments = pr.condense(y, p, labels=[0, 1, 2, 3], rules=[pr.Brier()]).moments(pr.Brier())
    shares = np.bincount(y, minlength=4) / 50
    scores = [((one - np.eye(4)[y]) ** 2).sum(axis=1).mean() for one in (p, np.tile(shares, (50, 1)))]
    assert Skill().of_moments(moments, 4).means[0] == pytest.approx(1.0 - scores[0] / scores[1])


def test_skill_needs_a_reference_with_a_loss():
    moments = pr.condense([1, 1, 1], [0.5, 0.6, 0.7]).moments(pr.Brier())
    with pytest.raises(InputValueError, match="positive, finite loss"):
        Skill().of_moments(moments, None)


def test_a_negative_mean_turns_its_odd_moments():
    benefit = NetBenefit(0.3)
    moments = pr.condense(Y, MODELS).moments(benefit.rule)
    turned = benefit.of_moments(moments, None)
    for name, sign in (("mean", -1.0), ("lean", -1.0), ("spread", 1.0)):
        np.testing.assert_allclose(getattr(turned, name), sign * getattr(moments, name))
    values = [(p >= 0.3) * np.where(Y, 1.0, -3 / 7) for p in (P, Q)]
    np.testing.assert_allclose(turned.means[:2], [one.mean() for one in values])
    assert MeanScore(benefit.rule).of_moments(moments, None) is moments


def test_moments_of_one_model_come_from_its_exact_table():
    rule = MeanScore(pr.Elementary(0.3))
    ledger, clusters = pr.condense(Y, MODELS), pr.condense(Y, MODELS, cluster=UNIT)
    assert measured_moments(ledger, rule, "q").models == ("q",)
    assert measured_moments(ledger, rule).models == ("p", "q")
    assert measured_moments(clusters, rule, "q").models == ("p", "q")
    kept = pr.condense(Y, MODELS, rules=[rule.rule])
    assert measured_moments(kept, rule, "q").models == ("p", "q")
    coarse = pr.condense(Y, MODELS, cells=2**20)
    with pytest.raises(InputValueError, match="has no moments of"):
        measured_moments(coarse, rule, "q")  # The table of a grid would not be exact.
    table = Ledger.of_tables({"q": coarse.table("q")})
    assert measured_moments(table, rule, "q").models == ("q",)


@pytest.mark.parametrize(
    ("options", "measure", "method"),
    [
        ({}, MeanScore(), "Student's t"),
        ({}, Skill(), "delta method, Student's t"),
        ({"cluster": UNIT}, MeanScore(), "Student's t, cluster-robust"),
        ({"cluster": UNIT}, Skill(), "delta method, Student's t, cluster-robust"),
        ({"period": UNIT}, MeanScore(), "Student's t, Bartlett weights over 8 periods"),
        ({"period": np.zeros(N, dtype=int)}, MeanScore(), "Student's t, Bartlett weights over 1 period"),
        ({}, NetBenefit(0.3), "Student's t"),
        ({"cluster": UNIT}, NetBenefit(0.3), "Student's t, cluster-robust"),
    ],
)
def test_methods_of_means_are_named(options, measure, method):
    ledger = pr.condense(Y, MODELS, **options)
    assert estimate_from_moments(ledger, "q", measure, 0.9, imagine=False).method == method
    if ledger.moments(pr.Brier()).units > 1:
        assert estimate_from_moments(ledger, "q", measure, 0.9).method == f"{method}, with imagined outcomes"


def test_an_estimated_mean_has_students_interval():
    found = estimate_from_moments(pr.condense(Y, MODELS), "q", MeanScore(), 0.9, imagine=False)
    error = mean_error(BRIER[1])
    np.testing.assert_allclose(
        (found.value, found.error, found.low, found.high),
        (BRIER[1].mean(), error, BRIER[1].mean() - T * error, BRIER[1].mean() + T * error),
    )
    assert (found.n, found.units, found.level, found.notes) == (N, None, 0.9, ())
    fixed = at_prevalence(pr.condense(Y, MODELS), 0.1)
    by_outcome = estimate_from_moments(fixed, "q", MeanScore(), 0.9, imagine=False)
    assert by_outcome.method == "Student's t, by outcome"
    expected = errors_of_means(fixed.moments(pr.Brier()), by_outcome=True)
    assert by_outcome.error == pytest.approx(expected.standard_error[1])
    t = stats.t.ppf(0.95, expected.df[1])
    assert by_outcome.high == pytest.approx(by_outcome.value + t * by_outcome.error)


def test_a_single_case_keeps_its_mean_without_an_interval():
    found = estimate_from_moments(pr.condense([1], [0.4]), "forecast", MeanScore(), 0.9)
    assert found.value == pytest.approx(0.36)
    assert math.isnan(found.error)
    assert caveats(found) == "a single case or cluster has no spread"


def estimate(value, low, high):
    facts = {"error": 0.1, "measure": MeanScore(), "model": "forecast", "n": 9}
    return Finding(value=value, low=low, high=high, **facts)


@pytest.mark.parametrize(
    ("given", "limits"),
    [
        ((0.5, 0.4, 0.6), (0.4, 0.6)),
        ((0.1, -0.2, 0.6), (0.0, 0.6)),
        ((0.9, 0.4, 1.2), (0.4, 1.0)),
        ((0.5, -3.0, 4.0), (0.0, 1.0)),
        ((1.5, 1.2, 1.8), (1.0, 1.5)),
        ((-0.5, -0.8, -0.2), (-0.5, 0.0)),
        ((0.5, math.nan, math.nan), (math.nan, math.nan)),
    ],
)
def test_limits_are_clipped_to_the_range_of_the_rule_but_hold_the_value(given, limits):
    found = within_range(estimate(*given), MeanScore(), None)
    np.testing.assert_equal((found.low, found.high), limits)
    assert found.value == given[0]


def test_the_range_of_a_rule_may_depend_on_the_number_of_classes():
    assert within_range(estimate(1.0, 0.5, 3.0), MeanScore(), 3).high == 2.0
    assert within_range(estimate(1.0, 0.5, 3.0), MeanScore(), None).high == 1.0
