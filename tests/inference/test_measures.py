"""Measures give what the analyses they are named after give; what is no measure is refused."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import propriety as pr
from propriety.errors import ImproperRuleError, InputTypeError, InputValueError
from propriety.inference.measures import (
    AreaUnderRoc,
    Discrimination,
    MeanScore,
    Measure,
    Miscalibration,
    NetBenefit,
    Skill,
    TopKNetBenefit,
    read_measure,
)

Y = [0, 0, 1, 0, 1, 0, 0, 1, 1, 0, 1, 0]
P = [0.05, 0.1, 0.1, 0.2, 0.3, 0.3, 0.45, 0.5, 0.7, 0.6, 0.9, 0.5]
TABLE = pr.ForecastTable.from_predictions(Y, P)
MEASURES = [
    MeanScore(pr.Log()),
    Skill(),
    Miscalibration(),
    Discrimination(pr.Log()),
    NetBenefit(0.2),
    AreaUnderRoc(),
    TopKNetBenefit(cost=0.2, k=4),
]


def test_golden_values():
    assert MeanScore(pr.Brier()).of(TABLE) == pytest.approx(0.2170833333333, abs=1e-12)
    assert Skill(pr.Brier()).of(TABLE) == pytest.approx(0.1068571428571, abs=1e-12)
    assert Skill(pr.Log()).of(TABLE) == pytest.approx(0.06684786486342327, abs=1e-12)
    assert AreaUnderRoc().of(TABLE) == pytest.approx(0.7, abs=1e-12)
    for threshold, expected in ((0.1, 0.3611111111111), (0.25, 0.2222222222222), (0.75, 0.0833333333333)):
        assert NetBenefit(threshold).of(TABLE) == pytest.approx(expected, abs=1e-12)
    assert TopKNetBenefit(cost=0.2, k=3).of(TABLE) == pytest.approx(0.1458333333333, abs=1e-12)
    assert TopKNetBenefit(cost=0.2, k=4).of(TABLE) == pytest.approx(0.1770833333333, abs=1e-12)


@pytest.mark.parametrize("rule", [pr.Brier(), pr.Log()], ids=["brier", "log"])
def test_parts_are_those_of_the_decomposition(rule):
    parts = pr.decompose(Y, P, rule=rule)
    assert Miscalibration(rule).of(TABLE) == parts.miscalibration
    assert Discrimination(rule).of(TABLE) == parts.discrimination


@given(st.floats(0.01, 0.99), st.lists(st.tuples(st.booleans(), st.sampled_from(P)), min_size=1, max_size=9))
def test_net_benefit_is_that_of_the_decision_curve(threshold, cases):
    y, p = zip(*cases, strict=True)
    curve = pr.decision_curve(y, p, thresholds=[threshold])
    table = pr.ForecastTable.from_predictions(y, p)
    assert NetBenefit(threshold).of(table) == pytest.approx(curve.net_benefit[0], abs=1e-9)


@pytest.mark.parametrize(("share", "k"), [(0.001, 1), (0.25, 3), (0.34, 4), (1.0, 12), (0.29, 3)])
def test_a_share_is_the_nearest_number_of_cases(share, k):
    assert TopKNetBenefit(cost=0.3, share=share).of(TABLE) == TopKNetBenefit(cost=0.3, k=k).of(TABLE)


def test_a_share_of_weights_is_a_weight():
    table = pr.ForecastTable.from_predictions(Y, P, sample_weight=np.full(12, 0.3))
    by_weight = TopKNetBenefit(cost=0.3, k=0.9).of(table)
    assert TopKNetBenefit(cost=0.3, share=0.25).of(table) == pytest.approx(by_weight, rel=1e-12)
    assert by_weight == pytest.approx(TopKNetBenefit(cost=0.3, k=3).of(TABLE), rel=1e-12)


@pytest.mark.parametrize("measure", MEASURES, ids=lambda measure: type(measure).__name__)
def test_a_measure_has_a_name_a_direction_and_a_number(measure):
    assert isinstance(measure, Measure)
    assert read_measure(measure) is measure
    assert measure.name
    assert math.isfinite(measure.of(TABLE))
    assert hash(measure) == hash(measure)
    better = pr.ForecastTable.from_predictions(Y, np.where(Y, 0.95, 0.05))
    gain = measure.of(better) - measure.of(TABLE)
    assert gain > 0 if measure.higher_is_better else gain < 0


def test_a_rule_stands_for_its_mean_and_a_function_for_itself():
    assert read_measure(pr.Log()) == MeanScore(pr.Log())

    def rate(table):
        return table.event_rate

    own = read_measure(rate)
    assert (own.name, own.of(TABLE), own.higher_is_better) == ("rate", pytest.approx(5 / 12), False)


@pytest.mark.parametrize("of", ["brier", None, 3.0, pr.Brier, Skill])
def test_what_is_no_measure(of):
    with pytest.raises(InputTypeError, match="of must be a rule, a measure or a function of a ForecastTable; got"):
        read_measure(of)


def test_parameters_outside_their_laws():
    with pytest.raises(InputValueError, match="threshold must lie strictly between 0 and 1"):
        NetBenefit(1.0)
    with pytest.raises(InputValueError, match="exactly one of k and share"):
        TopKNetBenefit(cost=0.2)
    with pytest.raises(InputValueError, match="exactly one of k and share"):
        TopKNetBenefit(cost=0.2, k=3, share=0.3)
    with pytest.raises(InputValueError, match=r"share must lie in \(0, 1\]"):
        TopKNetBenefit(cost=0.2, share=0.0)
    with pytest.raises(InputTypeError, match="rule must be a scoring rule"):
        Skill("brier")
    with pytest.raises(ImproperRuleError, match="needs a proper rule"):
        Miscalibration(pr.ShiftedBrier(0.2, weighted=False))
