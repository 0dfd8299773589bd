"""Verdicts as values: what the tests of pairs say, together, and the ranks that follow."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import propriety as pr
from propriety.inference.dependence import Estimates
from propriety.inference.measures.of_means import MeanScore, NetBenefit
from propriety.inference.verdicts import Pair, _cost, holm, standings_of, verdict_on
from propriety.inference.verdicts import VerdictBasis as On

NAN = np.nan
TESTED = On(1204, 1204, "case", 1, 0.95, MeanScore())


def pair(difference=-0.0042, low=-0.0071, high=-0.0013, error=0.0015, p=0.005):
    return Pair("a", "b", difference, low, high, error, p, p)


@pytest.mark.parametrize(
    ("row", "tested", "verdict"),
    [
        pytest.param(pair(), TESTED, "better", id="better"),
        pytest.param(pair(0.0042, 0.0013, 0.0071), TESTED, "worse", id="worse"),
        pytest.param(pair(0.0042, 0.0013, 0.0071), TESTED._replace(measure=NetBenefit(0.2)), "better", id="benefit"),
        pytest.param(pair(), TESTED._replace(measure=pr.measures.AreaUnderRoc()), "worse", id="area"),
        pytest.param(pair(), TESTED._replace(measure=pr.measures.CalibrationSlope()), "different", id="ideal"),
        pytest.param(pair(p=0.06), TESTED, "not distinguishable", id="undecided"),
        pytest.param(pair(p=0.06), TESTED._replace(level=0.9), "better", id="level"),
        pytest.param(pair(p=0.05), TESTED, "better", id="at the level"),
        pytest.param(pair(0.0, -0.1, 0.1, 0.05, 1.0), TESTED, "not distinguishable", id="equal"),
        pytest.param(pair(0.0, 0.0, 0.0, 0.0, 1.0), TESTED, "same", id="same"),
        pytest.param(pair(-0.07, NAN, NAN, 0.0, NAN), TESTED, "no spread", id="flat"),
        pytest.param(pair(-0.07, NAN, NAN, NAN, NAN), TESTED, "not tested", id="untested"),
        pytest.param(pair(0.13, NAN, NAN, NAN, NAN), TESTED._replace(n=1, units=1), "one unit", id="case"),
        pytest.param(pair(0.13, NAN, NAN, NAN, NAN), TESTED._replace(units=1), "one unit", id="cluster"),
        pytest.param(pair(np.inf, NAN, NAN, NAN, NAN), TESTED, "infinite", id="infinite"),
        pytest.param(pair(NAN, NAN, NAN, NAN, NAN), TESTED, "infinite", id="both"),
    ],
)
def test_verdicts(row, tested, verdict):
    assert verdict_on(row, tested) == verdict


@given(
    st.floats(-1.0, 1.0).filter(bool),
    st.floats(0.0, 1.0),
    st.sampled_from([MeanScore(), NetBenefit(0.2), pr.measures.CalibrationSlope()]),
)
def test_turning_a_pair_turns_its_verdict(difference, p, measure):
    tested = TESTED._replace(measure=measure)
    one = verdict_on(pair(difference, -1.0, 1.0, 0.1, p), tested)
    other = verdict_on(pair(-difference, -1.0, 1.0, 0.1, p), tested)
    assert {"better": "worse", "worse": "better"}.get(one, one) == other


def columns_of(pairs, tested):
    columns = {name: np.array([getattr(one, name) for one in pairs], dtype=str) for name in ("model", "reference")}
    return columns | {"verdict": np.array([verdict_on(one, tested) for one in pairs], dtype=str)}


def test_standings_rank_by_value_and_by_what_is_told():
    values, error = np.array([0.2, 0.1, 0.3, 0.1]), np.full(4, 0.01)
    found = Estimates(error, error, values - 0.02, values + 0.02, error)
    told = [
        Pair("a", "b", 0.1, 0.05, 0.15, 0.01, 0.001, 0.001),
        Pair("a", "c", -0.1, -0.15, -0.05, 0.01, 0.001, 0.001),
        Pair("b", "d", 0.0, 0.0, 0.0, 0.0, 1.0, 1.0),
        Pair("c", "d", 0.2, -0.1, 0.5, 0.1, 0.3, 0.3),
    ]
    ranked = standings_of(("a", "b", "c", "d"), values, found, columns_of(told, TESTED), TESTED)
    assert ranked.model.tolist() == ["b", "d", "a", "c"]
    assert ranked.rank.tolist() == [1, 1, 3, 4]
    assert ranked.best_rank.tolist() == [1, 1, 2, 2]
    assert ranked.worst_rank.tolist() == [3, 4, 3, 4]
    more_is_better = TESTED._replace(measure=NetBenefit(0.2))
    turned = standings_of(("a", "b", "c", "d"), values, found, columns_of(told, more_is_better), more_is_better)
    assert turned.model.tolist() == ["c", "a", "b", "d"]
    assert turned.best_rank.tolist() == [1, 2, 2, 1]
    assert ranked.to_dict()["measure"] == "brier"
    assert ranked.to_frame(backend="polars").shape == (4, 8)


def test_values_that_do_not_vary_have_no_interval_of_their_own():
    values, error = np.array([0.2, 0.1]), np.array([0.0, 0.01])
    ranked = standings_of(
        ("a", "b"), values, Estimates(error, error, values, values, error), columns_of([], TESTED), TESTED
    )
    assert ranked.model.tolist() == ["b", "a"]
    assert np.isnan(ranked.low).tolist() == [False, True]
    assert ranked.standard_error.tolist() == [0.01, 0.0]


@given(st.lists(st.one_of(st.floats(0, 1), st.floats(0, 0.1), st.just(np.nan)), max_size=8))
@example([0.01, 0.04, 0.03])
def test_holm_rejects_what_stepping_down_rejects(values):
    p_values = np.array(values, dtype=float)
    adjusted = holm(p_values)
    assert (np.isnan(adjusted) == np.isnan(p_values)).all()
    tests = np.count_nonzero(~np.isnan(p_values))
    for level in (0.01, 0.05, 0.3):
        rejected = set()
        for step, place in enumerate(np.argsort(p_values)[:tests]):
            if p_values[place] * (tests - step) > level:
                break
            rejected.add(place)
        assert set(np.flatnonzero(adjusted <= level)) == rejected


def test_p_values_adjusted_by_holm_keep_their_order():
    # Without the running maximum, the largest p-value would be adjusted to 0.04 and rejected at 0.05, a smaller one not.
    np.testing.assert_allclose(holm(np.array([0.04, 0.01, 0.03])), [0.06, 0.03, 0.06])
    np.testing.assert_allclose(holm(np.array([0.5, 0.9, np.nan, 0.001])), [1.0, 1.0, np.nan, 0.003])


def _measure(**declared):
    return type("Declared", (pr.measures.Measure,), declared)()


@pytest.mark.parametrize(
    ("measure", "cost"),
    [
        (_measure(ideal=2.0, scale="log"), [np.log(2.0), np.log(2.0)]),
        (_measure(ideal=2.0), [1.0, 2.0]),
        (_measure(higher_is_better=True), [-1.0, -4.0]),
        (_measure(higher_is_better=False), [1.0, 4.0]),
        (_measure(higher_is_better=None), [0.0, 0.0]),
    ],
    ids=["log scale", "ideal", "higher", "lower", "none"],
)
def test_costs_are_distances_from_the_ideal_or_from_the_better_end(measure, cost):
    np.testing.assert_allclose(_cost(np.array([1.0, 4.0]), measure), cost)
