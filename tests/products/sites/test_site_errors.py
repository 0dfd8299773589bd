"""Errors of the means of sites with few events: by hand, and the coverage of their mean."""

import math

import numpy as np
import pytest
from scipy.special import expit, logit, ndtri

import propriety as pr
from propriety.inference.finding import Finding
from propriety.inference.finding_words import note_words
from propriety.inference.measures.reading import read_measure
from propriety.inference.random_effects import random_effects
from propriety.products.sites.site_errors import SiteCounts, site_errors

BRIER = read_measure(pr.Brier())


def estimates(errors, units):
    return [
        Finding(measure=BRIER, model="m", value=0.1, error=e, n=u, units=u) for e, u in zip(errors, units, strict=True)
    ]


def counts(n, rare, *, classes=False):
    n = np.array(n, dtype=float)
    return SiteCounts(n, np.array(rare), classes)


def test_variances_per_case_are_averaged_by_the_number_of_events():
    found = site_errors(BRIER, estimates([0.01, 0.02], [100, 400]), counts([100, 400], [0, 50]))
    own = 100 * 0.01**2, 400 * 0.02**2
    shared = (100 * own[0] + 400 * own[1]) / 500
    np.testing.assert_allclose(found, np.sqrt([shared / 100, (50 * own[1] + 100 * shared) / 150 / 400]))


def test_sites_of_one_variance_and_many_events_keep_their_errors():
    errors = [0.3 / math.sqrt(n) for n in (50, 200, 800)]
    found = site_errors(BRIER, estimates(errors, [50, 200, 800]), counts([50, 200, 800], [1, 40, 100]))
    np.testing.assert_allclose(found, errors)
    differ = site_errors(BRIER, estimates([0.01, 0.03], [10**7] * 2), counts([10**7] * 2, [10**6] * 2))
    np.testing.assert_allclose(differ, [0.01, 0.03], rtol=1e-3)


def test_few_clusters_count_like_few_events():
    many, few = (site_errors(BRIER, estimates([0.01, 0.03], [u] * 2), counts([400] * 2, [90] * 2)) for u in (400, 5))
    own = 400 * np.array([0.01, 0.03]) ** 2
    np.testing.assert_allclose(400 * many**2, (90 * own + 100 * own.mean()) / 190)
    np.testing.assert_allclose(400 * few**2, (5 * own + 100 * own.mean()) / 105)


def test_a_site_without_spread_has_an_error_but_one_without_an_error_has_none():
    found = site_errors(BRIER, estimates([0.0, 0.02, math.nan], [50] * 3), counts([50] * 3, [0, 5, 0]))
    assert found[0] == pytest.approx(math.sqrt(0.02**2 / 2))
    assert np.isfinite(found[1])
    assert np.isnan(found[2])
    assert np.isnan(site_errors(BRIER, estimates([math.nan], [1]), counts([1], [0]))).all()


@pytest.mark.parametrize("measure", [pr.measures.ObservedExpected(), pr.measures.Skill(), pr.measures.AreaUnderRoc()])
def test_other_measures_keep_their_errors(measure):
    np.testing.assert_array_equal(
        site_errors(measure, estimates([0.01, 0.05], [50, 50]), counts([50, 50], [0, 9])), [0.01, 0.05]
    )


def test_notes_count_the_sites_with_fewer_than_ten_events():
    found = counts([100] * 4, [9, 10, 0, 3])
    (note,) = found.notes(np.array([True, True, True, False]))
    assert note_words(note) == "2 groups have fewer than 10 events or non-events: the interval may be too narrow"
    (note,) = found.notes(np.array([False, True, False, True]))
    assert note_words(note).startswith("1 group has fewer than 10 events")
    assert found.notes(np.array([False, True, False, False])) == ()
    (note,) = counts([100], [2], classes=True).notes(np.ones(1, dtype=bool))
    assert "10 cases outside the most frequent class" in note_words(note)


def test_counts_are_those_of_the_sites():
    y = np.r_[np.zeros(6), 1, np.ones(5), 0]
    weight = np.r_[np.ones(7), 3.0, np.ones(5)]
    site = np.r_[np.zeros(7), np.ones(6)]
    ledger = pr.condense(y, np.linspace(0.1, 0.9, 13), by={"site": site}, sample_weight=weight)
    parts = [ledger.at_entries(np.arange(2) == one) for one in (0, 1)]
    found = SiteCounts.of(parts, "forecast")
    np.testing.assert_allclose(found.n, [7.0, 8.0**2 / 14.0])
    assert found.rare.tolist() == [1, 1]
    assert not found.classes
    classes = pr.condense([0, 0, 0, 1, 2, 2], np.full((6, 3), 1 / 3), by={"site": list("aaaabb")}, rules=[pr.Brier()])
    parts = [classes.at_entries(np.arange(2) == one) for one in (0, 1)]
    assert SiteCounts.of(parts, classes.models[0]).rare.tolist() == [1, 0]


def test_sites_without_events_do_not_determine_the_mean():
    """Twelve sites of 200 cases with two or three events each; with the errors of the sites, coverage is 0.6."""
    rng = np.random.default_rng(1)
    truth = expit(logit(0.01) + ndtri((np.arange(2000) + 0.5) / 2000))
    truth = float((truth * (1.0 - truth)).mean())
    ratios, covered, before = [], 0, 0
    for _ in range(70):
        p = expit(logit(0.01) + rng.normal(size=(12, 200)))
        y = rng.random(p.shape) < p
        losses = (p - y) ** 2
        value, own = losses.mean(axis=1), losses.std(axis=1, ddof=1) / math.sqrt(200)
        errors = site_errors(BRIER, estimates(own, [200] * 12), counts([200] * 12, y.sum(axis=1)))
        found, alone = (
            random_effects(value, one, method="paule-mandel", level=0.95, prediction="higgins") for one in (errors, own)
        )
        covered += found.low <= truth <= found.high
        before += alone.low <= truth <= alone.high
        ratios.append(found.mean / truth)
    assert covered >= 0.86 * 70
    assert before <= 0.8 * 70
    assert np.mean(ratios) == pytest.approx(1.0, abs=0.06)


def test_pooled_sites_use_shrunk_errors_and_report_few_events():
    rng = np.random.default_rng(4)
    p, site = expit(-4.0 + rng.normal(size=1600)), np.arange(1600) % 8
    y = rng.random(1600) < p
    y[site == 3] = False
    ledger = pr.condense(y, p, by={"site": site})
    found = pr.pool_sites(ledger, measures=[pr.Brier()])
    own = [row for row in found if row.keys]
    parts = [ledger.at_entries(np.arange(8) == one) for one in range(8)]
    errors = site_errors(BRIER, own, SiteCounts.of(parts, "forecast"))
    expected = random_effects(np.array([row.value for row in own]), errors, method="paule-mandel", level=0.95)
    (mean,) = found.where(statistic="mean of groups")
    weights = [row.extra["weight"] for row in own]
    assert mean.value == expected.mean
    np.testing.assert_array_equal(weights, expected.weight)
    assert max(weights) < 0.2
    assert mean.note("groups-of-few").parts["number"] == sum(row.events < 10 for row in own)
