"""The best lies of the study of improper scores are the best there are; its splits are those of the algorithm."""

import numpy as np
import pytest
from loading import load

import propriety as pr
from propriety.rules.audit import simplex_grid

gaming, checkpoints = load("gaming"), load("checkpoints")


@pytest.fixture(params=[2, 3, 4, 5])
def truths(request):
    return np.random.default_rng(request.param).dirichlet(np.ones(request.param), 30)


def least(rule, truths):
    """Return the least expected loss over a grid of reports, under each truth."""
    classes = truths.shape[1]
    losses = gaming.losses(rule, simplex_grid(classes))
    return (truths @ losses.T).min(axis=1)


def test_two_neighbours_with_the_mean_are_the_best_report(truths):
    lies = gaming.two_neighbours(truths)
    place = np.arange(truths.shape[1])
    np.testing.assert_allclose(lies.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(lies @ place, truths @ place, rtol=1e-12)
    loss = gaming.expected(gaming.SA_RPS, lies, truths)
    variance = truths @ place**2 - (truths @ place) ** 2
    np.testing.assert_allclose(loss, variance / (truths.shape[1] - 1) ** 2, rtol=1e-12)
    assert (loss <= least(gaming.SA_RPS, truths) + 1e-12).all()


def test_the_lie_is_as_good_as_honesty_in_every_case(truths):
    honest = gaming.losses(gaming.SA_RPS, truths)
    assert (gaming.losses(gaming.SA_RPS, gaming.two_neighbours(truths)) <= honest + 1e-12).all()


@pytest.mark.parametrize("name", ["PBS", "PLL"])
def test_a_shared_top_is_the_best_report(truths, name):
    rule = gaming.rewarded(name)
    loss = gaming.expected(rule, gaming.shared_top(truths, rule), truths)
    with np.errstate(invalid="ignore"):
        assert (loss <= least(rule, truths) + 1e-12).all()


@pytest.mark.parametrize(("name", "end"), [("PBS", 0.75), ("PLL", 0.7729078048)])
def test_where_the_uniform_report_stops_paying(name, end):
    assert gaming.uniform_pays_below(gaming.rewarded(name)) == pytest.approx(end, abs=1e-10)


def test_the_gain_of_the_published_truth():
    truth = np.array([gaming.TIE_TRUTH])
    rule = gaming.rewarded("PBS")
    assert gaming.gain(rule, gaming.shared_top(truth, rule), truth) == pytest.approx(0.75 * 8 / 12 - 2 / 144, rel=1e-12)


@pytest.mark.parametrize("rule", [pr.PenalizedBrier(), pr.PenalizedLog(ties="first")], ids=repr)
def test_proper_conventions_pay_for_no_shared_top(truths, rule):
    np.testing.assert_allclose(gaming.shared_top(truths, rule), truths, rtol=1e-12)


def test_the_splits_keep_within_the_data():
    splits = list(checkpoints.h_block_splits(103, blocks=10, validating=2, testing=3))
    assert len(splits) == 10 - 2 - 3 + 1
    for train, validate, test in splits:
        assert sorted([*train, *validate, *test]) == list(range(103))
        assert validate[-1] + 1 == test[0]
    assert splits[-1][2][-1] == 102


def test_spoiled_labels_are_wrong():
    labels = np.arange(1000) % 10
    spoiled = checkpoints.spoil(labels, 0.3, np.random.default_rng(1))
    assert np.count_nonzero(spoiled != labels) == 300
    assert set(spoiled) <= set(range(10))
