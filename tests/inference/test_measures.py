"""Measures give what the analyses they are named after give; what is no measure is refused."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import propriety as pr
from propriety.errors import ImproperRuleError, InputTypeError, InputValueError
from propriety.inference.finding_words import caveats
from propriety.inference.measures.line import CalibrationIntercept, CalibrationSlope
from propriety.inference.measures.measure import Measure
from propriety.inference.measures.of_means import MeanScore, NetBenefit, Regret, Skill
from propriety.inference.measures.parts import Discrimination, IntegratedCalibrationIndex, Miscalibration
from propriety.inference.measures.ranking import AreaUnderRoc, PartialArea, TopKNetBenefit
from propriety.inference.measures.ratios import ObservedExpected
from propriety.inference.measures.reading import read_measure
from propriety.tables.forecast_table import ForecastTable

Y = [0, 0, 1, 0, 1, 0, 0, 1, 1, 0, 1, 0]
P = [0.05, 0.1, 0.1, 0.2, 0.3, 0.3, 0.45, 0.5, 0.7, 0.6, 0.9, 0.5]
TABLE = ForecastTable.from_predictions(Y, P)
MEASURES = [
    MeanScore(pr.Log()),
    Skill(),
    Miscalibration(),
    Discrimination(pr.Log()),
    Regret(0.3),
    NetBenefit(0.2),
    AreaUnderRoc(),
    PartialArea(0.0, 0.9),
    TopKNetBenefit(thresholds=0.2, k=4),
]
AROUND_AN_IDEAL = [ObservedExpected(), CalibrationIntercept(), CalibrationSlope()]


def name(measure):
    return type(measure).__name__


def test_golden_values():
    assert MeanScore(pr.Brier()).value(TABLE) == pytest.approx(0.2170833333333, abs=1e-12)
    assert Skill(pr.Brier()).value(TABLE) == pytest.approx(0.1068571428571, abs=1e-12)
    assert Skill(pr.Log()).value(TABLE) == pytest.approx(0.06684786486342327, abs=1e-12)
    assert AreaUnderRoc().value(TABLE) == pytest.approx(0.7, abs=1e-12)
    for threshold, expected in ((0.1, 0.3611111111111), (0.25, 0.2222222222222), (0.75, 0.0833333333333)):
        assert NetBenefit(threshold).value(TABLE) == pytest.approx(expected, abs=1e-12)
    assert TopKNetBenefit(thresholds=0.2, k=3).value(TABLE) == pytest.approx(0.1458333333333, abs=1e-12)
    assert TopKNetBenefit(thresholds=0.2, k=4).value(TABLE) == pytest.approx(0.1770833333333, abs=1e-12)


@pytest.mark.parametrize("rule", [pr.Brier(), pr.Log()], ids=["brier", "log"])
def test_parts_are_those_of_the_decomposition(rule):
    parts = pr.decompose(Y, P, rule=rule)
    assert Miscalibration(rule).value(TABLE) == parts.miscalibration
    assert Discrimination(rule).value(TABLE) == parts.discrimination


@given(st.floats(0.01, 0.99), st.lists(st.tuples(st.booleans(), st.sampled_from(P)), min_size=1, max_size=9))
def test_net_benefit_and_regret_are_those_of_the_curves(threshold, cases):
    y, p = zip(*cases, strict=True)
    table = ForecastTable.from_predictions(y, p)
    curve = pr.decision_curve(y, p, grid=[threshold])
    assert NetBenefit(threshold).value(table) == pytest.approx(curve.value[0], abs=1e-9)
    curve = pr.regret_curve(y, p, grid=[threshold])
    assert Regret(threshold).value(table) == pytest.approx(curve.value[0], abs=1e-9)


@pytest.mark.parametrize(("share", "k"), [(0.001, 1), (0.25, 3), (0.34, 4), (1.0, 12), (0.29, 3)])
def test_a_share_is_the_nearest_number_of_cases(share, k):
    assert TopKNetBenefit(thresholds=0.3, share=share).value(TABLE) == TopKNetBenefit(thresholds=0.3, k=k).value(TABLE)


def test_a_share_of_weights_is_a_weight():
    table = ForecastTable.from_predictions(Y, P, sample_weight=np.full(12, 0.3))
    by_weight = TopKNetBenefit(thresholds=0.3, k=0.9).value(table)
    assert TopKNetBenefit(thresholds=0.3, share=0.25).value(table) == pytest.approx(by_weight, rel=1e-12)
    assert by_weight == pytest.approx(TopKNetBenefit(thresholds=0.3, k=3).value(TABLE), rel=1e-12)


def test_areas_are_those_of_the_roc_curve():
    curve = pr.roc_curve(Y, P)
    assert AreaUnderRoc().value(TABLE) == curve.auc
    part = curve.partial_area(0.2, 0.6)
    assert PartialArea(0.2, 0.6).value(TABLE) == part.balanced_average_accuracy
    assert PartialArea(0.0, 1.0).value(TABLE) == pytest.approx(curve.auc)


def test_calibration_in_numbers_is_that_of_the_check():
    _, ratio, slope, _ = pr.check_calibration(Y, P, seed=1)
    assert ObservedExpected().value(TABLE) == pytest.approx(ratio.value, rel=1e-10)
    assert CalibrationSlope().value(TABLE) == pytest.approx(slope.value, rel=1e-8)


def test_the_calibration_index_is_the_mean_distance_to_the_curve():
    found = pr.reliability_curve(Y, P).smooth(seed=1)
    assert IntegratedCalibrationIndex().value(TABLE) == found.ici
    alone = pr.estimate(Y, P, IntegratedCalibrationIndex(), seed=1)
    assert (alone.value, alone.low, alone.high) == found.index("ici")
    assert read_measure(IntegratedCalibrationIndex()) == IntegratedCalibrationIndex()


def test_the_calibration_index_of_separated_outcomes_has_no_value():
    with pytest.raises(InputValueError, match="separate"):
        IntegratedCalibrationIndex().value(ForecastTable.from_predictions(Y, np.where(Y, 0.95, 0.05)))


@pytest.mark.parametrize("measure", [CalibrationIntercept(), CalibrationSlope()])
@pytest.mark.parametrize("weight", [None, np.tile([1.0, 2.0, 0.5], 150)], ids=["cases", "weights"])
def test_intercept_and_slope_leave_out_forecasts_of_0_and_1_and_say_so(measure, weight):
    rng = np.random.default_rng(4)
    p = np.r_[rng.uniform(0.05, 0.95, 440), np.zeros(6), np.ones(4)]
    y = rng.random(450) < p
    found = pr.estimate(y, p, measure, sample_weight=weight)
    inside = pr.estimate(y[:440], p[:440], measure, sample_weight=None if weight is None else weight[:440])
    assert found.value == pytest.approx(inside.value, rel=1e-9)
    assert found.error == pytest.approx(inside.error, rel=2e-3)
    assert "forecast of exactly 0 or 1" in caveats(found)
    assert "exactly" not in caveats(inside)


def test_what_calibration_in_numbers_cannot_tell():
    certain = ForecastTable.from_predictions([0, 1, 1], [0.0, 1.0, 1.0])
    inside = ForecastTable.from_predictions([0, 1, 1], [0.0, 0.4, 0.6])
    for measure, word in ((CalibrationIntercept(), "intercept"), (CalibrationSlope(), "slope")):
        law = f"a calibration {word} needs log-odds, which forecasts of exactly 0 or 1 do not have; all forecasts are"
        with pytest.raises(InputValueError, match=law):
            measure.value(certain)
        with pytest.raises(InputValueError, match="and without the event among the forecasts other than 0 and 1"):
            measure.value(inside)
        with pytest.raises(InputValueError, match=f"a calibration {word} needs cases with and without the event"):
            measure.value(ForecastTable.from_predictions([1, 1], [0.2, 0.4]))
    with pytest.raises(InputValueError, match="a calibration slope needs forecasts that differ; all are equal"):
        CalibrationSlope().value(ForecastTable.from_predictions([0, 1], [0.3, 0.3]))
    with pytest.raises(InputValueError, match="needs outcomes that the forecasts do not separate"):
        CalibrationSlope().value(ForecastTable.from_predictions([0, 0, 1, 1], [0.2, 0.3, 0.6, 0.7]))
    with pytest.raises(InputValueError, match="observed/expected needs forecasts above 0"):
        ObservedExpected().value(ForecastTable.from_predictions([0, 1], [0.0, 0.0]))


@pytest.mark.parametrize("measure", MEASURES, ids=name)
def test_a_measure_has_a_name_a_direction_and_a_number(measure):
    assert isinstance(measure, Measure)
    assert read_measure(measure) is measure
    assert measure.key
    assert measure.label
    assert math.isfinite(measure.value(TABLE))
    assert hash(measure) == hash(measure)
    better = ForecastTable.from_predictions(Y, np.where(Y, 0.95, 0.05))
    gain = measure.value(better) - measure.value(TABLE)
    assert gain > 0 if measure.higher_is_better else gain < 0


@pytest.mark.parametrize("measure", AROUND_AN_IDEAL, ids=name)
def test_some_measures_have_an_ideal_value(measure):
    assert read_measure(measure) is measure
    p = np.repeat([0.2, 0.5, 0.8], 10)
    y = np.concatenate([np.arange(10) < 10 * rate for rate in (0.2, 0.5, 0.8)])
    assert measure.value(ForecastTable.from_predictions(y, p)) == pytest.approx(measure.ideal, abs=1e-9)


def test_keys_and_labels_are_all_different():
    rules = [pr.Brier(), pr.Log(), pr.BoundedBrier(0.1, 0.2)]
    all_of_them = [of(rule) for of in (MeanScore, Skill, Miscalibration, Discrimination) for rule in rules]
    all_of_them += [
        *MEASURES[4:],
        *AROUND_AN_IDEAL,
        Regret(0.2),
        NetBenefit(0.3),
        TopKNetBenefit(thresholds=0.2, share=0.1),
    ]
    assert len({measure.key for measure in all_of_them}) == len(all_of_them)
    assert len({measure.label for measure in all_of_them}) == len(all_of_them)


def test_what_a_measure_knows_says_how_its_error_is_had():
    assert all(one.has_moments and one.has_influence for one in (MeanScore(), Regret(0.2), NetBenefit(0.2), Skill()))
    assert all(one.has_influence and not one.has_moments for one in (AreaUnderRoc(), *AROUND_AN_IDEAL))
    assert all(one.has_own_limits for one in (Miscalibration(), IntegratedCalibrationIndex()))
    assert not any(one.has_formula(None) for one in (PartialArea(0.2, 0.6), TopKNetBenefit(thresholds=0.2, k=4)))


@pytest.mark.parametrize("limits", [(2, 3), (0.5, 0.5), (0.6, 0.2), ("a", 1.0)])
def test_a_partial_area_needs_a_range_of_probabilities(limits):
    with pytest.raises(InputValueError, match=r"\(low, high\) must satisfy 0 <= low < high <= 1; got"):
        PartialArea(*limits)


def test_a_rule_stands_for_its_mean_and_a_function_for_itself():
    assert read_measure(pr.Log()) == MeanScore(pr.Log())

    def rate(table):
        return table.event_rate

    own = read_measure(rate)
    assert (own.key, own.value(TABLE), own.higher_is_better) == ("rate", pytest.approx(5 / 12), None)


@pytest.mark.parametrize("measure", [None, 3.0, pr.Brier, Skill])
def test_what_is_no_measure(measure):
    with pytest.raises(InputTypeError, match="measure must be a rule, a measure or a function of a ForecastTable; got"):
        read_measure(measure)


def test_parameters_outside_their_laws():
    for of in (NetBenefit, Regret):
        with pytest.raises(InputValueError, match="thresholds must lie strictly between 0 and 1"):
            of(1.0)
    with pytest.raises(InputValueError, match="exactly one of k and share"):
        TopKNetBenefit(thresholds=0.2)
    with pytest.raises(InputValueError, match="exactly one of k and share"):
        TopKNetBenefit(thresholds=0.2, k=3, share=0.3)
    with pytest.raises(InputValueError, match=r"share must lie in \(0, 1\]"):
        TopKNetBenefit(thresholds=0.2, share=0.0)
    with pytest.raises(InputTypeError, match="rule must be a scoring rule"):
        Skill("brier")
    with pytest.raises(ImproperRuleError, match="needs a proper rule"):
        Miscalibration(pr.ShiftedBrier(0.2, weighted=False))


def test_over_a_range_regret_and_net_benefit_are_the_bounded_scores():
    own = (0.15, 0.6)
    assert Regret(own).value(TABLE) == pytest.approx(pr.bounded_brier_score(TABLE, thresholds=own), rel=1e-12)
    assert NetBenefit(own).value(TABLE) == pytest.approx(pr.bounded_net_benefit(TABLE, thresholds=own), rel=1e-12)
    fine = np.linspace(*own, 20_001)
    between = pr.decision_curve(TABLE, grid=(fine[:-1] + fine[1:]) / 2).value
    assert NetBenefit(own).value(TABLE) == pytest.approx(between.mean(), abs=1e-4)
    assert (Regret(own).key, NetBenefit(list(own)).label) == (
        "regret_from_0.15_to_0.6",
        "net benefit from 0.15 to 0.6",
    )
    with pytest.raises(InputTypeError, match="must be a number or a pair"):
        NetBenefit(None)
    with pytest.raises(InputTypeError, match="thresholds must be one number"):
        pr.top_k(TABLE, k=2, thresholds=own)
