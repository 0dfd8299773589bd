"""Gain, lift and precision-recall curves of a report: their tables with ties, and what is drawn."""

import numpy as np
import pytest

import propriety as pr
from propriety.report.decision_items import _precision_at, _recall_at, _thinned, decision_tables

# Of 100 cases the 40 with the highest forecast are tied and hold 16 of the 20 events.
TIED = pr.roc_curve(np.repeat([1, 0, 1, 0], [16, 24, 4, 56]), np.repeat([0.4, 0.1], [40, 60])).gains()


def test_tied_cases_count_as_in_random_order():
    share = np.array([0.05, 0.2, 0.4, 0.7, 1.0])
    np.testing.assert_allclose(_recall_at(share, TIED), [0.1, 0.4, 0.8, 0.9, 1.0])
    np.testing.assert_allclose(_precision_at(np.array([0.1, 0.8, 0.9, 1.0]), TIED), [0.4, 0.4, 18 / 70, 0.2])


def test_precision_at_a_recall_is_that_of_the_fewest_cases():
    curve = pr.roc_curve([1, 0, 0, 1, 0], [0.9, 0.8, 0.7, 0.6, 0.5]).gains()
    np.testing.assert_allclose(_precision_at(np.array([0.5, 1.0]), curve), [1.0, 0.5])


@pytest.mark.parametrize(("x", "y"), [("recall", "precision"), ("share", "recall"), ("share", "lift")])
def test_thinned_curves_of_rare_events_stay_within_a_column_of_the_whole(x, y):
    rng = np.random.default_rng(3)
    p = rng.beta(1, 17, 20_000)
    curve = pr.roc_curve(rng.random(20_000) < p, p).gains()
    thin = _thinned({"m": curve}, x, y)["m"]
    assert len(thin.share) <= 602
    at, near = np.linspace(0.01, 0.99, 99), 1 / 150
    drawn = np.interp(at, getattr(thin, x), getattr(thin, y))
    around = [getattr(curve, y)[abs(getattr(curve, x) - one) <= near] for one in at]
    assert all(one.min() <= value <= one.max() for one, value in zip(around, drawn, strict=True))


def test_net_benefit_of_clusters_does_not_assume_independent_cases():
    rng = np.random.default_rng(1)
    p = rng.random(200)
    found = pr.evaluate(rng.random(200) < p, {"m": p}, cluster=np.arange(200) // 4, thresholds=0.2, n_resamples=20)
    rates, gains = (table.note for table in decision_tables(found))
    assert " All intervals assume independent cases; here they may be correlated" in rates
    assert "The intervals of net benefit are those of Scores. The other intervals assume independent cases" in gains
