"""Models by rank, and p-values adjusted for several tests."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import propriety as pr
from propriety.errors import InputValueError
from propriety.inference.finding import Finding, Findings
from propriety.inference.measures.of_means import MeanScore, NetBenefit
from propriety.inference.ranks import distance
from propriety.inference.verdict import holm, with_verdict


def findings(measure):
    """Return the values of four models and some differences; the order of the models is that of the values."""
    values = {"a": 0.2, "b": 0.1, "c": 0.3, "d": 0.1}
    rows = [Finding(measure=measure, model=model, value=value) for model, value in values.items()]
    pairs = [
        ("a", "b", 0.1, 0.05, 0.15),
        ("a", "c", -0.1, -0.15, -0.05),
        ("b", "d", 0.0, 0.0, 0.0),
        ("c", "d", 0.2, -0.1, 0.5),
    ]
    rows += [
        with_verdict(Finding(measure=measure, model=one, against=other, value=value, low=low, high=high))
        for one, other, value, low, high in pairs
    ]
    return Findings.of(rows)


def test_ranks_are_those_of_the_values_and_of_what_is_shown():
    ranked = findings(MeanScore()).ranks()
    assert ranked.model.tolist() == ["b", "d", "a", "c"]
    assert ranked.extra["rank"].tolist() == [1, 1, 3, 4]
    assert ranked.extra["best_rank"].tolist() == [1, 1, 2, 2]
    assert ranked.extra["worst_rank"].tolist() == [3, 4, 3, 4]
    turned = findings(NetBenefit(0.2)).ranks()
    assert turned.model.tolist() == ["c", "a", "b", "d"]
    assert turned.extra["best_rank"].tolist() == [1, 2, 2, 1]
    assert ranked.to_frame(backend="polars")["rank"].to_list() == [1, 1, 3, 4]


def test_a_small_difference_counts_for_the_ranks():
    rows = [Finding(measure=MeanScore(), model=model, value=value) for model, value in (("a", 0.1), ("b", 0.1001))]
    small = Finding(
        measure=MeanScore(), model="a", against="b", value=-0.0001, low=-0.0002, high=-0.00005, no_model=0.2
    )
    found = Findings.of([*rows, with_verdict(small)])
    assert found.differences[0].verdict == "small"
    assert found.ranks().extra["best_rank"].tolist() == [1, 2]


def test_ranks_need_the_values_of_one_measure():
    both = Findings.of([Finding(measure=measure, model="a", value=0.1) for measure in (MeanScore(), NetBenefit(0.2))])
    with pytest.raises(InputValueError, match=r"ranks are those of one measure.*\n?.*where\(measure"):
        both.ranks()
    with pytest.raises(InputValueError, match="need the values of models"):
        findings(MeanScore()).differences.ranks()


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
    np.testing.assert_allclose(distance(np.array([1.0, 4.0]), measure), cost)
