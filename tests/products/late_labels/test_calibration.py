"""The test of calibration from few reports: exact p-values, its size, and answers that depend on the cases alone."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

import propriety as pr
from propriety.products.late_labels.calibration import DRAWS, _drawn_sums, p_value_of_reports
from propriety.products.late_labels.delays import ReportingDelays

SHARE = np.array([0.1, 0.4, 1.0])
KNOWN = ReportingDelays(share=SHARE, steps=np.zeros(3))


def statistics_by_hand(p, age, events):
    """Return the statistic of each row of events."""
    rate, x = p * SHARE[age], np.log(p / (1.0 - p))
    gradient = np.stack([np.ones(len(p)), x]) * (1.0 - p) / (1.0 - rate)
    sums = (events - rate) @ gradient.T
    return (sums * np.linalg.solve((gradient * rate * (1.0 - rate)) @ gradient.T, sums.T).T).sum(axis=1)


def test_few_reports_have_the_exact_p_value_if_it_is_larger():
    p, age = np.array([0.1, 0.15, 0.2, 0.3, 0.35, 0.5, 0.6, 0.7]), np.array([0, 1, 2, 0, 1, 2, 0, 1])
    every = np.array(list(itertools.product([False, True], repeat=8)))
    rate = p * SHARE[age]
    chance = np.where(every, rate, 1.0 - rate).prod(axis=1)
    found = statistics_by_hand(p, age, every)
    larger = 0
    for place in np.argsort(-chance)[:40:4]:
        exact = chance[found >= found[place] * (1.0 - 1e-9)].sum()
        larger += exact > stats.chi2.sf(found[place], 2)
        expected = max(exact, stats.chi2.sf(found[place], 2))
        assert p_value_of_reports(p, np.ones(8), age, every[place], KNOWN) == pytest.approx(expected, abs=0.025)
    assert larger > 2


def test_drawn_reports_have_the_mean_and_variance_of_cells():
    rate, count = np.array([0.01, 0.3, 0.9, 0.999]), np.array([100.0, 7.0, 1.0, 3.0])
    drawn = _drawn_sums(np.eye(4), count, rate, np.random.default_rng(1)) + (count * rate)[:, None]
    assert (drawn <= count[:, None]).all()
    variance = count * rate * (1.0 - rate)
    assert (np.abs(drawn.mean(axis=1) - count * rate) < 4.0 * np.sqrt(variance / DRAWS)).all()
    np.testing.assert_allclose(np.cov(drawn), np.diag(variance), atol=0.12)


RARE = np.append(np.full(500, 0.0003), np.full(10, 0.01))  # 0.25 reports are expected of these forecasts.
AGE = np.full(510, 2)


def test_one_report_that_chance_explains_is_no_miscalibration():
    """The chance that one of the forecasts of 0.01 is reported is 10%; the p-value of chi-squared is 1.6%."""
    event = np.arange(510) == 500
    assert stats.chi2.sf(statistics_by_hand(RARE, AGE, event[None])[0], 2) < 0.02
    assert p_value_of_reports(RARE, np.ones(510), AGE, event, KNOWN) == pytest.approx(0.1, abs=0.02)


def test_the_size_with_few_reports_is_at_most_the_level():
    events = np.random.default_rng(2).random((300, 510)) < RARE
    assert np.mean(stats.chi2.sf(statistics_by_hand(RARE, AGE, events), 2) < 0.05) > 0.08
    assert np.mean([p_value_of_reports(RARE, np.ones(510), AGE, one, KNOWN) < 0.05 for one in events]) < 0.06


def test_the_p_value_depends_neither_on_the_order_nor_on_the_kind_of_cases():
    rng = np.random.default_rng(3)
    made, p = rng.integers(0, 20, 400), rng.choice([0.01, 0.03, 0.1], 400)
    reported = np.where(rng.random(400) < p, made + rng.integers(0, 6, 400), np.nan)
    found = pr.late_labels(p, made=made, reported=reported, now=19, windows=[7])
    assert (found.expected < 20.0).all()
    order = rng.permutation(400)
    other = pr.late_labels(p[order], made=made[order], reported=reported[order], now=19, windows=[7])
    seen = reported <= 19
    keys = {"made": made, "reported": np.where(seen, reported, -1).astype(int)}
    ledger = pr.late_labels(pr.condense(seen, p, by=keys), made="made", reported="reported", now=19, windows=[7])
    np.testing.assert_allclose(other.p_value, found.p_value, rtol=1e-9)
    np.testing.assert_allclose(ledger.p_value, found.p_value, rtol=1e-9)
