"""The studies of few events, clusters and monitors say what the package says, on a few samples of each."""

import numpy as np
import pytest
from loading import load

monitoring, few_events, clusters = load("monitoring"), load("few_events"), load("clusters")
horizons = load("horizons")
segments = load("segments")
groups = load("groups")


@pytest.mark.parametrize("rule", few_events.RULES)
@pytest.mark.parametrize("design", few_events.DESIGNS)
def test_models_of_the_study_have_the_same_expected_score(design, rule):
    generator = np.random.default_rng(5)
    y, models = few_events.equal_models(design, few_events.RULES[rule], 400_000, generator)
    d = np.subtract(*(few_events.RULES[rule].case_loss(p, y) for p in models.values()))
    assert abs(d.mean()) < 4.0 * d.std() / np.sqrt(len(d))


def test_clusters_of_the_study_have_the_asked_sizes():
    y, p, q, cluster = clusters.draw(4000, 1.0, 0.7, np.random.default_rng(1))
    assert len(y) == len(p) == len(q) == len(cluster)
    assert np.log(np.bincount(cluster)).std() == pytest.approx(1.0, abs=0.1)


def test_a_late_change_in_one_of_many_keys_is_found_and_dated():
    row = monitoring.drift_row(5000, 0.0, streams=20)
    assert row["alarms"] == 1.0
    assert 1 <= row["median_delay"] <= 10
    assert row["since_error"] <= 2


@pytest.mark.parametrize("shared", [False, True])
def test_stations_of_the_study_are_calibrated_and_models_equal(shared):
    for equal in (False, True):
        days = monitoring.stations(0.5, 4000, shared=shared, equal=equal)
        sums, exposure, variance = days(0)
        error = np.sqrt(np.mean(sums**2) / len(sums))
        assert abs(sums.mean()) < 4.0 * error
        assert (variance > 0.0).all()
        assert exposure.shape == sums.shape


@pytest.mark.parametrize("design", horizons.DESIGNS)
def test_the_study_of_horizons_censors_as_many_cases_as_it_says(design):
    kind, weights = design
    generator = np.random.default_rng(8)
    cases = horizons.draw(4000, 0.3, kind, generator)
    outcome = horizons.outcome_of(cases, weights, horizons.factor(kind, 0.3, 0.4), generator)
    assert outcome.censored[0] / outcome.n == pytest.approx(0.4, abs=0.03)
    assert np.mean(cases.time <= horizons.HORIZON) == pytest.approx(cases.forecasts["a"].mean(), abs=0.03)


def test_segments_are_searched_as_the_package_does():
    assert float(segments.null("even", 1, 20)["family"]) < 0.3
    assert float(segments.discoveries(0.9, 1)["found"]) >= 4.0
    assert [float(row["all named exactly"]) for row in segments.planted(1)] == [1.0, 1.0]


@pytest.mark.parametrize("design", groups.DESIGNS)
def test_groups_that_share_clusters_or_times_seldom_differ(design):
    rows = groups.count(50, design, 12)
    assert [row["samples"] for row in rows] == [12] * 6
    assert all(row["share"] <= 0.5 for row in rows[:-1])
    assert rows[-1]["share"] >= 0.5
