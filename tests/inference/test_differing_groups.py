"""Which groups differ: named one after the other, by hand and in the words of an evaluation."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, logit

import propriety as pr
from propriety.inference.differing_groups import alike, alike_events, differing_groups
from propriety.inference.events_by_group import EventsByGroup


def groups_of(seed, groups, cases, ratio, *, altered=0, by=1.67):
    rng = np.random.default_rng(seed)
    group = rng.integers(0, groups, cases)
    group[:altered], group[altered:] = 0, np.where(group[altered:] == 0, 1, group[altered:]) if altered else group
    p = 0.9 * rng.beta(1, 3, cases) + 0.002
    rate = np.clip(ratio * p * np.where((group == 0) & (altered > 0), by, 1.0), 0.0, 0.98)
    return rng.random(cases) < rate, p, group


def events_of(y, p, group, **given):
    return EventsByGroup.of(pr.condense(y, {"m": p}, by={"g": group}, **given), "m")


def test_the_joint_test_is_that_of_forecasts_shifted_in_log_odds():
    y, p, group = groups_of(1, 5, 2_000, 1.25)
    low, high = -5.0, 5.0
    for _ in range(80):
        middle = (low + high) / 2.0
        low, high = (middle, high) if expit(logit(p) + middle).sum() < y.sum() else (low, middle)
    q = expit(logit(p) + low)
    r = np.array([(y - q)[group == one].sum() for one in range(5)])
    v = np.array([(q * (1 - q))[group == one].sum() for one in range(5)])
    found = alike_events(events_of(y, p, group), np.ones(5, dtype=bool))
    assert found.p == pytest.approx(stats.chi2.sf((r**2 / v).sum(), 4))
    np.testing.assert_allclose(found.deviates, r / np.sqrt(v * (1 - v / v.sum())), rtol=1e-6)


def test_groups_are_named_until_the_others_are_alike():
    values, errors = np.array([0.0, 0.1, -0.1, 3.0, 5.0]), np.full(5, 0.1)
    found = differing_groups(lambda some: alike(values[some], errors[some]), np.ones(5, dtype=bool), 0.95)
    assert found.named == (4, 3)
    rest = stats.chi2.sf(2.0, 2)
    np.testing.assert_allclose(found.p_adjusted, [rest, rest, rest, 0.0, 0.0], atol=1e-12)
    many = differing_groups(lambda some: alike(values[some], errors[some]), np.ones(5, dtype=bool), 0.95, tests=1000)
    assert (many.p_adjusted >= found.p_adjusted).all()


def test_of_two_groups_both_differ():
    values, errors = np.array([0.0, 1.0, 9.0]), np.full(3, 0.1)
    found = differing_groups(lambda some: alike(values[some], errors[some]), np.array([True, True, False]), 0.95)
    assert found.named == (0, 1)
    assert np.isnan(found.p_adjusted[2])


def test_equal_values_with_degrees_of_freedom_are_tested_as_two_samples_are():
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=8), rng.normal(1.0, 2.0, 12)
    values, errors = np.array([a.mean(), b.mean()]), np.array([stats.sem(a), stats.sem(b)])
    found = alike(values, errors, np.array([7.0, 11.0]))
    assert found.p == pytest.approx(stats.ttest_ind(a, b, equal_var=False).pvalue)


def test_a_model_that_is_too_low_everywhere_is_said_to_be_once():
    """Thinned from `studies/differing_groups.py`."""
    named = said = 0
    for seed in range(12):
        y, p, group = groups_of(seed, 24, 4_000, 1.25)
        found = pr.evaluate(y, {"m": p}, by={"site": group}, seed=1, n_resamples=50)
        named += any(row.note("stands-out") is not None for row in found.group_calibration)
        said += sum("too low" in line and "in every group" in line for line in found.card.sentences)
        assert not any("is miscalibrated in" in line for line in found.card.sentences) or named
    assert named <= 2
    assert said >= 10


@pytest.mark.parametrize("sampling", ["plain", "weights", "clusters"])
def test_one_altered_group_is_named_alone(sampling):
    alone = 0
    for seed in range(12):
        y, p, group = groups_of(seed, 6, 4_000, 1.0, altered=360)
        given = {"weights": {"sample_weight": np.random.default_rng(seed).gamma(2, 1, len(y))}}
        given["clusters"] = {"cluster": group * 1000 + np.random.default_rng(seed).integers(0, 60, len(y))}
        found = pr.check_calibration(y, {"m": p}, by={"site": group}, seed=1, **given.get(sampling, {}))
        alone += [row.keys["site"] for row in found if row.note("stands-out") is not None] == [0]
    assert alone >= 10


def test_a_group_with_another_slope_stands_out():
    rng = np.random.default_rng(5)
    truth, group = rng.beta(2, 4, 8_000), np.arange(8_000) % 5
    p = np.where(group == 3, expit(2.2 * (logit(truth) - logit(0.33)) + logit(0.33)), truth)
    found = pr.check_calibration(rng.random(8_000) < truth, {"m": p}, by={"site": group}, seed=1)
    assert [row.keys["site"] for row in found if row.note("stands-out") is not None] == [3]


def test_groups_that_share_clusters_are_not_tested_jointly():
    y, p, group = groups_of(6, 4, 800, 1.0)
    found = pr.slices(y, p, "observed_expected", by={"site": group}, cluster=np.arange(800) // 8)
    assert len(found.where(statistic="heterogeneity")) == 0
    assert np.isfinite(found.where(against="rest").p_adjusted).all()
