"""Spread of calibration where cases depend on each other: one case per cluster changes nothing, copies widen."""

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

import propriety as pr
from propriety.calibration.calibration_test import null_scores
from propriety.calibration.squared_distance import squared_distance
from propriety.inference.dependent_calibration import dispersion_of_scores, spread_of_regression
from propriety.ledger.sources import open_ledger

N = 400
RNG = np.random.default_rng(21)
P = RNG.beta(1, 2, N)
Y = RNG.random(N) < P
WEIGHT = RNG.gamma(2.0, 1.0, N)
DRAWS = {"seed": 1, "n_resamples": 20}


def opened(y, p, **options):
    ledger = open_ledger(y, p, **options)
    return ledger.cases.of(ledger.models[0]), ledger.table(ledger.models[0])


def regression(y, p, part="miscalibration", **options):
    """Return the regression that a table is judged by, and its spread by cases and by clusters."""
    cases, table = opened(y, p, **options)
    seen = []

    def noted(given):
        seen.append((given, spread_of_regression(cases, table, given)))
        return seen[-1][1]

    keys = cases.cluster if cases.period is None else cases.period
    distance = squared_distance(table, part, level=0.95, units=len(keys), spread_of=noted)
    return *seen[0], distance, table


@pytest.mark.parametrize("part", ["miscalibration", "discrimination"])
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weights"])
def test_clusters_of_one_case_spread_as_independent_cases(part, weight):
    _, spread, distance, table = regression(Y, P, part, cluster=np.arange(N), sample_weight=weight)
    alone = squared_distance(table, part, level=0.95)
    assert spread.units == N
    assert distance.value == pytest.approx(alone.value, rel=1e-9, abs=1e-12)
    assert distance.standard_error == pytest.approx(alone.standard_error, rel=1e-9)
    assert distance.high == pytest.approx(alone.high, rel=1e-9)


def test_copies_in_a_cluster_spread_as_what_they_copy():
    copies = np.repeat(np.arange(N), 4)
    given, spread, distance, _ = regression(Y[copies], P[copies], cluster=copies)
    _, alone, single, _ = regression(Y, P, cluster=np.arange(N))
    np.testing.assert_allclose(np.trace(spread.covariance), np.trace(alone.covariance), rtol=1e-6)
    assert spread.linear == pytest.approx(alone.linear, rel=1e-6)
    assert distance.value == pytest.approx(single.value, rel=1e-6, abs=1e-9)
    assert distance.high == pytest.approx(single.high, rel=1e-6)
    assert given.functions.shape[0] == len(given.start)


def test_the_dispersion_of_copies_is_their_number():
    copies = np.repeat(np.arange(N), 4)
    for key in ("cluster", "period"):
        cases, table = opened(Y[copies], P[copies], **{key: copies})
        dispersion = dispersion_of_scores(cases, table, null_scores(table)).variance
        assert dispersion[:2].mean() == pytest.approx(4.0, rel=0.3)
        single, own = opened(Y, P, **{key: np.arange(N)})
        assert dispersion_of_scores(single, own, null_scores(own)).variance[:2].mean() == pytest.approx(1.0, rel=0.3)


def test_the_dispersion_of_clusters_is_the_sum_of_their_squares():
    cluster = np.arange(N) // 8
    cases, table = opened(Y, P, cluster=cluster)
    scores = null_scores(table)
    function = scores.functions[np.searchsorted(table.forecast, P)]
    sums = np.stack([np.bincount(cluster, (Y - P) * one) for one in function.T])
    np.testing.assert_allclose(dispersion_of_scores(cases, table, scores).variance, (sums**2).sum(axis=1), rtol=1e-9)


def test_cases_without_weight_and_certain_forecasts_add_nothing():
    weight = np.where(np.arange(N) < 300, 1.0, 0.0)
    whole = pr.check_calibration(Y, P, sample_weight=weight, cluster=np.arange(N) // 4, **DRAWS)[0]
    part = pr.check_calibration(Y[:300], P[:300], cluster=np.arange(300) // 4, **DRAWS)[0]
    assert whole.p == pytest.approx(part.p, rel=1e-9)
    certain = pr.check_calibration(
        np.append(Y[:300], [0, 1]),
        np.append(P[:300], [0.0, 1.0]),
        cluster=np.append(np.arange(300) // 4, [0, 99]),
        **DRAWS,
    )[0]
    assert certain.p == pytest.approx(part.p, rel=1e-9)


def noted(y, p, **options):
    """Return the notes of the test, by their codes."""
    return {note.code: note for note in pr.check_calibration(y, p, **options, **DRAWS)[0].notes}


def drawn(rng, clusters, size, share):
    """Return calibrated forecasts whose outcomes have a normal part in common within a cluster."""
    p = rng.beta(1, 3, clusters * size)
    common = np.repeat(rng.normal(size=clusters), size)
    noise = np.sqrt(share) * common + np.sqrt(1 - share) * rng.normal(size=clusters * size)
    return noise < ndtri(p), p, np.repeat(np.arange(clusters), size)


@pytest.mark.nightly
def test_calibrated_clusters_are_rejected_as_often_as_they_may_be():
    rng = np.random.default_rng(22)
    outcomes = {"clusters": [], "cases": [], "held": []}
    for _ in range(200):
        y, p, cluster = drawn(rng, 40, 25, 0.2)
        outcomes["clusters"].append(pr.check_calibration(y, p, cluster=cluster, **DRAWS)[0].p <= 0.05)
        outcomes["cases"].append(pr.check_calibration(y, p, **DRAWS)[0].p <= 0.05)
        found = pr.estimate(y, p, pr.measures.CalibrationIntercept(), cluster=cluster)
        outcomes["held"].append(found.low <= 0.0 <= found.high)
    assert np.mean(outcomes["clusters"]) <= 0.1
    assert np.mean(outcomes["cases"]) > 0.1
    assert np.mean(outcomes["held"]) > 0.89


def in_time(rng, times, each, correlation):
    """Return calibrated forecasts whose outcomes depend on each other within times and from one time to the next."""
    noise, level = rng.standard_normal(times), np.zeros(times)
    for at in range(times):
        level[at] = (correlation * level[at - 1] + np.sqrt(1 - correlation**2) * noise[at]) if at else noise[at]
    time = np.repeat(np.arange(times), each)
    p = rng.beta(1, 3, len(time))
    return ndtr(np.sqrt(0.3) * level[time] + np.sqrt(0.7) * rng.standard_normal(len(time))) < p, p, time


@pytest.mark.simulation
def test_the_level_holds_with_few_times():
    rng = np.random.default_rng(31)
    samples = [in_time(rng, 30, 20, 0.0) for _ in range(200)]
    found = [pr.check_calibration(y, p, period=time, **DRAWS)[0] for y, p, time in samples]
    assert np.mean([one.p <= 0.05 for one in found]) <= 0.08  # By the law of chi-squared 10%.
    assert found[0].method == "F"


def test_few_times_that_depend_on_each_other_are_told():
    rng = np.random.default_rng(32)
    notes = {}
    for times, correlation in ((40, 0.6), (60, 0.0), (400, 0.5)):
        y, p, time = in_time(rng, times, 20, correlation)
        notes[times] = noted(y, p, period=time)
    assert notes[40]["correlated-periods"].parts["units"] == 40
    assert notes[40]["correlated-periods"].severity == "caution"
    assert not {"correlated-periods", "few-periods"} & (notes[60].keys() | notes[400].keys())


def test_times_too_few_to_show_their_dependence_are_always_told():
    """A low estimate of the correlation comes with a low variance: without a note it was rejected most often."""
    rng = np.random.default_rng(33)
    for _ in range(15):
        y, p, time = in_time(rng, 40, 20, 0.5)
        assert {"correlated-periods", "few-periods"} & noted(y, p, period=time).keys()
    y, p, time = in_time(rng, 40, 20, -0.5)
    assert noted(y, p, period=time)["few-periods"].parts == {"units": 40}
    assert not {"correlated-periods", "few-periods"} & noted(y, p, cluster=time).keys()
