"""Censored outcomes with sample weights and in clusters: against duplicated rows and the jackknife."""

import numpy as np
import pytest

import propriety as pr
from propriety.errors import InputValueError
from propriety.inference.measures.reading import read_measure
from propriety.measures import AreaUnderRoc, CalibrationSlope, ObservedExpected, Skill
from propriety.tables.forecast_table import ForecastTable

HORIZON = 0.85
MEASURES = [pr.Brier(), pr.Log(), Skill(), AreaUnderRoc(), ObservedExpected()]


def cases(n=400, per_cluster=4, *, seed=1, ties=True):
    """Return follow-up with a competing event, two forecasts and clusters that share their risk and their censoring."""
    generator = np.random.default_rng(seed)
    cluster = np.arange(n) // per_cluster
    shared, leaving = generator.normal(0.0, 0.8, cluster.max() + 1), generator.normal(0.0, 0.5, cluster.max() + 1)
    x = generator.normal(0.0, 1.0, n)
    of_event = generator.exponential(1.0, n) / np.exp(x + shared[cluster])
    of_censoring = 1.5 * generator.exponential(1.0, n) / np.exp(leaving[cluster])
    time = np.minimum(of_event, of_censoring)
    time = np.ceil(20.0 * time) / 20.0 if ties else time
    status = np.where(of_event <= of_censoring, np.where(generator.random(n) < 0.2, 2, 1), 0)
    forecasts = {"a": 1.0 - np.exp(-0.7 * np.exp(x)), "b": 1.0 - np.exp(-0.8 * np.exp(0.5 * x))}
    return time, status, forecasts, cluster


def outcome_of(time, status, **options):
    return pr.censored(time, status == 1, horizons=HORIZON, competing=status == 2, **options)


def values(time, status, forecasts, measures, **options):
    """Return the value of both models and their difference, for each measure."""
    outcome = outcome_of(time, status, **options)
    one, other = (ForecastTable.from_predictions(outcome, p) for p in forecasts.values())
    both = np.array([[measure.value(one), measure.value(other)] for measure in map(read_measure, measures)])
    return np.column_stack([both, both[:, 0] - both[:, 1]])


def errors(outcome, forecasts, measure, **options):
    estimates = [pr.estimate(outcome, p, measure, **options).error for p in forecasts.values()]
    return np.array([*estimates, pr.compare(outcome, forecasts, measure, **options).differences.error[0]])


def test_whole_weights_are_duplicated_rows():
    time, status, forecasts, _ = cases()
    weight, groups = 1 + np.arange(len(time)) % 3, np.arange(len(time)) % 2
    found = values(time, status, forecasts, MEASURES, sample_weight=weight, groups=groups)
    rows = np.repeat(np.arange(len(time)), weight)
    many = {model: p[rows] for model, p in forecasts.items()}
    assert np.allclose(found, values(time[rows], status[rows], many, MEASURES, groups=groups[rows]), rtol=0, atol=1e-12)


def test_whole_weights_are_duplicated_rows_in_fifths_of_a_forecast():
    time, status, forecasts, _ = cases(n=900)
    weight, p = 1 + np.arange(len(time)) % 3, np.round(forecasts["a"], 2)
    rows = np.repeat(np.arange(len(time)), weight)
    one = outcome_of(time, status, sample_weight=weight, forecast=p)
    many = outcome_of(time[rows], status[rows], forecast=p[rows])
    assert one.only().weight[rows] / weight[rows] == pytest.approx(many.only().weight, rel=1e-12)


@pytest.mark.parametrize("measure", [*MEASURES, CalibrationSlope()])
def test_equal_weights_change_nothing(measure):
    time, status, forecasts, _ = cases()
    plain, weighted = outcome_of(time, status), outcome_of(time, status, sample_weight=np.full(len(time), 2.5))
    for p in forecasts.values():
        one, other = pr.estimate(plain, p, measure), pr.estimate(weighted, p, measure)
        for name in ("value", "error", "low", "high"):
            assert getattr(one, name) == pytest.approx(getattr(other, name), rel=1e-9)
    one, other = (pr.check_calibration(outcome, forecasts["a"], seed=1)[0] for outcome in (plain, weighted))
    assert one.p == pytest.approx(other.p, rel=1e-9)


@pytest.mark.parametrize("measure", MEASURES)
def test_duplicated_cases_in_clusters_have_the_error_of_single_ones(measure):
    time, status, forecasts, _ = cases(ties=False)
    single = errors(outcome_of(time, status), forecasts, measure)
    rows = np.repeat(np.arange(len(time)), 3)
    many = {model: p[rows] for model, p in forecasts.items()}
    clustered = errors(outcome_of(time[rows], status[rows]), many, measure, cluster=rows)
    # A tied censoring time is one step, with another derivative than a single one.
    assert clustered == pytest.approx(single, rel=5e-3)


def jackknife(time, status, forecasts, cluster, weight=None):
    """Return standard errors from leaving out clusters, with all weights estimated again."""
    left = []
    for one in np.unique(cluster):
        kept = cluster != one
        own = {} if weight is None else {"sample_weight": weight[kept]}
        left.append(values(time[kept], status[kept], {m: p[kept] for m, p in forecasts.items()}, MEASURES, **own))
    return np.std(left, axis=0) * np.sqrt(len(left) - 1)


@pytest.mark.parametrize("weighted", [False, True])
def test_errors_in_clusters_are_those_of_the_jackknife(weighted):
    time, status, forecasts, cluster = cases(n=600, per_cluster=6)
    weight = np.random.default_rng(2).uniform(0.5, 3.0, len(time)) if weighted else None
    outcome = outcome_of(time, status, sample_weight=weight)
    found = np.array([errors(outcome, forecasts, measure, cluster=cluster) for measure in MEASURES])
    assert np.allclose(found, jackknife(time, status, forecasts, cluster, weight), rtol=0.05)
    assert found[0, 0] > errors(outcome, forecasts, MEASURES[0])[0]


def test_errors_with_sample_weights_are_those_of_the_jackknife():
    time, status, forecasts, _ = cases(n=600, per_cluster=1)
    weight = np.random.default_rng(2).uniform(0.5, 3.0, len(time))
    outcome = outcome_of(time, status, sample_weight=weight)
    found = np.array([errors(outcome, forecasts, measure) for measure in MEASURES])
    blocks = np.random.default_rng(3).permutation(np.arange(600) // 3)  # Blocks stand for single cases, and are faster.
    assert np.allclose(found, jackknife(time, status, forecasts, blocks, weight), rtol=0.12)


def test_reports_and_groups_accept_weights_and_clusters():
    time, status, forecasts, cluster = cases(n=600)
    outcome = outcome_of(time, status, sample_weight=1.0 + cluster % 2)
    evaluation = pr.evaluate(outcome, forecasts, cluster=cluster, by={"half": np.arange(600) % 2}, seed=1)
    assert "censored before 0.85" in str(evaluation)
    estimate = pr.estimate(outcome, forecasts["a"], cluster=cluster)
    assert estimate.method == (
        "influence function, cluster-robust, with estimated censoring weights, with imagined outcomes"
    )
    assert estimate.units == len(np.unique(cluster[outcome.only().weight > 0.0]))
    curve = pr.horizon_curve(
        pr.censored(time, status == 1, horizons=[0.5, 0.85], sample_weight=1.0 + cluster % 2),
        {"a": np.stack([0.7 * forecasts["a"], forecasts["a"]], axis=1)},
    )
    assert curve.where(statistic="mean over horizons").error[0] > 0.0


def test_without_censoring_sample_weights_are_plain():
    y, p, weight = np.array([0, 1, 1, 0] * 20), np.tile([0.2, 0.7, 0.4, 0.3], 20), np.tile([1.0, 2.0], 40)
    outcome = pr.censored(np.where(y == 1, 0.5, 2.0), y, horizons=1.0, sample_weight=weight)
    assert pr.estimate(outcome, p).low == pr.estimate(y, p, sample_weight=weight).low


@pytest.mark.parametrize("weight", [0.0, -1.0, np.inf])
def test_sample_weights_must_be_positive(weight):
    with pytest.raises(InputValueError, match="sample_weight must be finite and positive"):
        pr.censored([1, 2, 3], [1, 0, 0], horizons=2.5, sample_weight=[1.0, weight, 1.0])
