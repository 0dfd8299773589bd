"""Net benefit has the same interval wherever it is shown, also if few cases or none are acted on."""

import numpy as np
import pytest

import propriety as pr
from propriety.measures import NetBenefit

GENERATOR = np.random.default_rng(4)
P = GENERATOR.beta(1, 14, 300)
Y = GENERATOR.random(300) < P


def test_limits_are_those_of_operating_points_comparisons_and_groups():
    found = pr.estimate(Y, P, NetBenefit(0.1))
    points = pr.decision_curve(Y, P).operating_points(grid=[0.1])
    ranked = pr.compare(Y, {"a": P, "b": P[::-1]}, NetBenefit(0.1)).standings
    place = ranked.model.tolist().index("a")
    expected = pytest.approx((found.low, found.high), rel=1e-12)
    assert (points.net_benefit_low[0], points.net_benefit_high[0]) == expected
    assert (ranked.low[place], ranked.high[place]) == expected


def test_there_are_limits_if_nobody_is_acted_on():
    found = pr.estimate(Y, np.minimum(P, 0.2), NetBenefit(0.3))
    centre = (1 - 3 / 7) / 303
    margin = 1.959964 * np.sqrt(((1 + (3 / 7) ** 2) / 303 - centre**2) / 303)
    assert (found.value, found.low, found.high) == pytest.approx((0.0, centre - margin, centre + margin), abs=1e-9)


@pytest.mark.parametrize("more", [{"sample_weight": np.arange(1, 301)}, {"cluster": np.arange(300) // 3}])
def test_weighted_and_clustered_cases_keep_their_errors(more):
    net, loss = (pr.estimate(Y, P, one, **more) for one in (NetBenefit(0.1), NetBenefit(0.1).rule))
    assert net.standard_error == pytest.approx(loss.standard_error, rel=1e-12)
    assert (net.low, net.high) == pytest.approx((-loss.high, -loss.low), rel=1e-12)
