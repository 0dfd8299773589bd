"""Outcomes by model: each model has outcomes of its own, such as whether its answer was right."""

import numpy as np
import pandas as pd
import pytest

import propriety as pr
from propriety.errors import InputTypeError, InputValueError
from propriety.tables.outcomes_by_model import read_by_model

N = 200
RNG = np.random.default_rng(4)
CONFIDENCE = {"a": RNG.random(N).round(2), "b": RNG.random(N).round(2)}
RIGHT = {name: RNG.random(N) < confidence for name, confidence in CONFIDENCE.items()}
WEIGHT, CLUSTER = RNG.uniform(0.5, 2.0, N), np.arange(N) // 4
AURC = pr.measures.AreaUnderRiskCoverage()
CASES = pr.cases(RIGHT, CONFIDENCE, by={"site": CLUSTER % 2}, cluster=CLUSTER, sample_weight=WEIGHT)


def test_cases_keep_the_outcomes_and_forecasts_of_each_model():
    for model in "ab":
        chunk = CASES.of(model).gathered()
        np.testing.assert_array_equal(chunk.outcome, RIGHT[model])
        np.testing.assert_array_equal(chunk.forecast, CONFIDENCE[model])
        np.testing.assert_array_equal(chunk.weight, WEIGHT)
        assert CASES.of(model).keys["site"].labels == (0, 1)


@pytest.mark.parametrize("measure", [pr.Brier(), pr.Log(), pr.measures.AreaUnderRoc(), pr.measures.CalibrationSlope()])
@pytest.mark.parametrize("model", ["a", "b"])
def test_estimates_of_one_model_are_those_of_its_own_outcomes(measure, model):
    found = pr.estimate(CASES, model, measure)
    expected = pr.estimate(RIGHT[model], CONFIDENCE[model], measure, cluster=CLUSTER, sample_weight=WEIGHT)
    assert (found.value, found.low, found.high) == pytest.approx((expected.value, expected.low, expected.high))
    assert (found.method, found.notes) == (expected.method, expected.notes)


@pytest.mark.parametrize("threshold", [0.0, 0.5])
def test_forecasts_are_confidences_whatever_the_threshold(threshold):
    found = pr.estimate(CASES, "b", pr.measures.AreaUnderRiskCoverage(threshold))
    curve = pr.risk_coverage_curve(CASES.of("b"))
    assert found.value == curve.aurc.value
    assert (found.low, found.high) == (curve.aurc.low, curve.aurc.high)
    compared = pr.compare(CASES, measure=pr.measures.AreaUnderRiskCoverage(threshold))
    assert compared.differences.value[0] == pytest.approx(pr.compare(CASES, measure=AURC).differences.value[0], abs=0.0)


def test_curves_of_one_model_are_those_of_its_own_outcomes():
    found, expected = (pr.reliability_curve(*data) for data in ((CASES.of("b"),), (RIGHT["b"], CONFIDENCE["b"])))
    assert found.n == expected.n == N
    groups = pr.slices(CASES.of("b"))
    apart = pr.slices(RIGHT["b"], CONFIDENCE["b"], by={"site": CLUSTER % 2}, cluster=CLUSTER, sample_weight=WEIGHT)
    np.testing.assert_array_equal(groups.value, apart.value)


def test_a_case_that_any_model_lacks_is_dropped_for_all():
    right = {"a": [1, None, 0, 1, 0], "b": [0, 1, 1, 0, 1]}
    confidence = {"a": [0.9, 0.8, 0.7, 0.6, 0.5], "b": [0.5, 0.6, np.nan, 0.7, 0.8]}
    read = pr.cases(right, confidence, sample_weight=[1, 2, 3, 4, None], by=list("vwxyz"), missing="drop")
    assert (read.n, read.dropped, read.rows.tolist()) == (2, 3, [0, 3])
    assert read.keys["group"].labels == ("v", "y")
    assert read.of("a").gathered().outcome.tolist() == [True, True]
    assert read.of("b").gathered().forecast.tolist() == [0.5, 0.7]
    assert read.of("b").gathered().weight.tolist() == [1.0, 4.0]
    with pytest.raises(InputValueError, match=r"y_true\['a'\] must not hold missing values .*row 1"):
        pr.cases(right, confidence)


def test_what_is_done_to_the_arrays_later_changes_nothing():
    right, confidence = ({name: values.copy() for name, values in of.items()} for of in (RIGHT, CONFIDENCE))
    read = pr.cases(right, confidence)
    for values in (*right.values(), *confidence.values()):
        values[:] = 0
    np.testing.assert_array_equal(read.of("b").gathered().outcome, RIGHT["b"])
    np.testing.assert_array_equal(read.of("b").gathered().forecast, CONFIDENCE["b"])


def test_names_are_matched_and_columns_of_frames_are_taken():
    turned = pr.cases(dict(reversed(RIGHT.items())), CONFIDENCE)
    np.testing.assert_array_equal(turned.of("a").gathered().outcome, RIGHT["a"])
    frames = (pd.DataFrame(of) for of in (RIGHT, CONFIDENCE))
    found = pr.compare(*(dict(frame.items()) for frame in frames), AURC)
    assert found.differences.value[0] == pr.compare(RIGHT, CONFIDENCE, AURC).differences.value[0]


def test_counted_rows_stand_for_several_answers():
    counts = np.arange(N) % 3
    counted = pr.cases(RIGHT, CONFIDENCE, counts=counts)
    repeated = [{name: np.repeat(values, counts) for name, values in of.items()} for of in (RIGHT, CONFIDENCE)]
    one, other = pr.compare(counted, measure=AURC), pr.compare(*repeated, AURC)
    assert (one.differences.value[0], one.differences.p[0]) == pytest.approx(
        (other.differences.value[0], other.differences.p[0])
    )


ONE_OUTCOME = {
    "evaluate": pr.evaluate,
    "condense": pr.condense,
    "slices": pr.slices,
    "recalibrate": lambda cases: pr.recalibrate(cases, model="a"),
    "check_calibration": pr.check_calibration,
    "decision_uncertainty": pr.decision_uncertainty,
    "brier_score": pr.brier_score,
    "mean_score": lambda cases: pr.mean_score(cases, rule=pr.Brier()),
    "case_scores": lambda cases: pr.case_scores(cases, rule=pr.Brier()),
    "reliability_curve": pr.reliability_curve,
    "decompose": pr.decompose,
    "decision_curve": pr.decision_curve,
    "roc_curve": pr.roc_curve,
    "ranking_map": pr.ranking_map,
    "risk_coverage_curve": pr.risk_coverage_curve,
    "retention_curve": pr.retention_curve,
    "worst_cases": pr.worst_cases,
    "probability_means": pr.probability_means,
    "expected_cost": lambda cases: pr.expected_cost(cases, cost=[[0, 1], [4, 0]]),
    "murphy_curve": pr.murphy_curve,
    "monitor": lambda cases: pr.monitor(cases, period="site"),
}


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(call, id=name, marks=[pytest.mark.product("monitoring")] * name.startswith("monitor"))
        for name, call in ONE_OUTCOME.items()
    ],
)
def test_functions_that_need_one_outcome_say_so(call):
    cases = pr.cases(RIGHT, CONFIDENCE, by={"site": CLUSTER % 2})
    with pytest.raises(InputValueError, match=r"has an outcome for each model, .* such as cases\.of\('a'\)"):
        call(cases)


@pytest.mark.product("segments")
def test_segments_need_one_outcome():
    with pytest.raises(InputValueError, match="forecasts must be the forecasts of one model; got 2"):
        pr.find_segments(pr.cases(RIGHT, CONFIDENCE, by={"site": CLUSTER}))


def test_comparisons_of_scores_need_one_outcome():
    with pytest.raises(InputTypeError, match=r"measure must be a measure of abstention for outcomes by model.*Brier"):
        pr.compare(CASES)


def test_errors_name_the_arguments_and_the_model():
    def told(correct, confidence, **options):
        with pytest.raises((InputValueError, InputTypeError)) as caught:
            pr.compare({"a": [1, 0, 1], "b": correct}, {"a": [0.1, 0.2, 0.3], "b": confidence}, AURC, **options)
        return str(caught.value)

    right, sure = "y_true['b']", "forecasts['b']"
    assert told([1, 0, 1], [0.5, 0.2, 3.2]).startswith(f"{sure} must lie in [0, 1]; row 2 is 3.2")
    assert told([1, 0, 1], [0.5, 0.2, 1 + 1e-12]).endswith(f"numpy.clip({sure}, 0, 1) yourself.")
    assert told([1, 0, 1], [0.5, 0.2, np.nan]).startswith(f"{sure} must not hold missing values")
    assert told([1, 0, 0.5], [0.5, 0.2, 0.1]).endswith(f"are {right} and {sure} swapped?")
    assert told([1, 0, 1], [0.5, 0.2]).startswith(f"{right} and {sure} must be equally long")
    assert told([1, 0, 1], None).startswith(f"{sure} must be an array with one entry per case")
    assert told([1, 0, 1], ["x", "y", "z"]).startswith(f"{sure} must hold real numbers")
    assert f"pass {right} as a single column" in told([[1], [0], [1]], [0.5, 0.2, 0.1])
    assert told([1, 0, 1], [0.5, 0.2, 0.1], sample_weight=[1, 2]).startswith("y_true and sample_weight must be")
    assert told([1, 0], [0.5, 0.2]).startswith("y_true must hold outcomes of the same cases for all models")


def test_mappings_must_have_the_same_models():
    with pytest.raises(
        InputValueError, match=r"^y_true and forecasts must have the same models; they have \['a'\] and"
    ):
        pr.cases({"a": [1, 0]}, CONFIDENCE)
    with pytest.raises(InputTypeError, match=r"^forecasts must map the models of y_true to their forecasts; got list"):
        pr.cases({"a": [1, 0], "b": [1, 0]}, [0.1, 0.2])
    with pytest.raises(InputValueError, match="forecasts must hold two models or more; got 1"):
        pr.compare({"a": [1, 0]}, {"a": [0.1, 0.2]}, AURC)
    with pytest.raises(InputValueError, match="ordered belongs to three or more classes"):
        pr.cases(RIGHT, CONFIDENCE, ordered=True)
    with pytest.raises(InputValueError, match="must be the forecast of one event"):
        pr.cases(RIGHT, {name: np.full((N, 3), 1 / 3) for name in "ab"})


def test_one_model_needs_no_mapping_of_two():
    read = read_by_model({"a": ["C", "I"]}, {"a": [0.9, 0.4]}, {}, {"pos_label": "C"}, ordered=False, fewest=1)
    assert not read.has_outcomes_by_model
    assert read.gathered().outcome.tolist() == [True, False]
