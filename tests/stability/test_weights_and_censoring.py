"""Weights of another unit or of zero, and outcomes by a horizon that are all known, change no answer."""

from dataclasses import replace

import numpy as np
import pytest
from calls import CALLS, DRAWN, OF_AN_EVENT, OF_CASES_IN_ORDER, OF_NO_CASES, QUICK, Data, cases, exact, flat

import propriety as pr

N = 240
D = cases(N)
WEIGHT = np.random.default_rng(5).gamma(2.0, size=N)
# They answer about single cases, or do not take weights.
UNWEIGHTED = {*OF_CASES_IN_ORDER, *OF_NO_CASES, "coarsen", "measure_bounds"}
WEIGHTED = [name for name in QUICK if name not in UNWEIGHTED]
IN_UNITS_OF_WEIGHT = {"at_prevalence", "condense", "condense and add", "condense grades", "top_k"}
# They forecast for cases that have no weights.
ALSO_UNWEIGHTED = {"before_labels", "estimate_prevalence"}
MEASURES = [
    pr.Log(),
    pr.measures.Skill(),
    pr.measures.AreaUnderRoc(),
    pr.measures.ObservedExpected(),
    pr.measures.CalibrationSlope(),
    pr.measures.CalibrationIntercept(),
    pr.measures.NormalizedEntropy(),
    pr.measures.NetBenefit(0.3),
    pr.measures.StandardizedNetBenefit(0.3),
    pr.measures.Miscalibration(),
    pr.measures.Discrimination(pr.Log()),
    pr.measures.IntegratedCalibrationIndex(),
]


def weighted(d, weight):
    return replace(d, binary={"sample_weight": weight}, classes={"sample_weight": weight})


def assert_same(found, expected, *, but=()):
    """Compare the entries of two answers, except for the named ones."""
    (numbers, words), (wanted, said) = (
        [{path: value for path, value in part.items() if not {*path.split("/")} & {*but}} for part in flat(exact(one))]
        for one in (found, expected)
    )
    assert words == said
    assert numbers == pytest.approx(wanted, rel=1e-9, abs=1e-11, nan_ok=True)


@pytest.mark.parametrize("name", [name for name in WEIGHTED if name not in IN_UNITS_OF_WEIGHT])
def test_the_unit_of_weights_does_not_matter(name):
    found, expected = (CALLS[name](weighted(D, WEIGHT * unit)) for unit in (2.0**-30, 1.0))
    assert_same(found, expected, but=["weight"])


@pytest.mark.parametrize("name", [name for name in WEIGHTED if name not in ALSO_UNWEIGHTED])
def test_cases_of_weight_zero_do_not_matter(name):
    more = cases(60, seed=9)
    columns = ("y", "p", "q", "grade", "rows", "group", "cluster")
    both = Data(**{column: np.concatenate([getattr(D, column), getattr(more, column)]) for column in columns})
    found = CALLS[name](weighted(both, np.append(WEIGHT, np.zeros(60))))
    assert_same(found, CALLS[name](weighted(D, WEIGHT)))


@pytest.fixture(scope="module")
def known():
    """Return outcomes by a horizon that nobody left before."""
    return pr.censored(np.where(D.y == 1, 5.0, 50.0), D.y == 1, horizons=10.0)


OF_MANY = ("ranking_map", "recalibrate", "decision_uncertainty", "slices")
REFUSE = {"cumulative_calibration_error"}  # All outcomes by a horizon.


@pytest.mark.parametrize("name", sorted({*OF_AN_EVENT, *DRAWN, *OF_MANY} - REFUSE))
def test_outcomes_by_a_horizon_that_are_all_known_are_plain_outcomes(name, known):
    assert_same(CALLS[name](replace(D, y=known)), CALLS[name](D))


@pytest.mark.parametrize("measure", MEASURES, ids=lambda one: getattr(one, "key", repr(one)))
@pytest.mark.parametrize("options", [{}, {"cluster": D.cluster}], ids=["plain", "clusters"])
def test_measures_by_a_horizon_with_all_outcomes_known_are_the_plain_ones(measure, options, known):
    for ask in (
        lambda y: pr.estimate(y, D.p, measure, seed=1, n_resamples=99, **options),
        lambda y: pr.compare(y, D.models, measure, seed=1, n_resamples=99, **options),
        lambda y: pr.slices(y, D.p, measure, by=D.group, seed=1, n_resamples=99, **options),
    ):
        assert_same(ask(known), ask(D.y))
