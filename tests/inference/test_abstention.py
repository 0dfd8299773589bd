"""Abstention: the areas by definition, their influence by derivative, answers of classes, and costs of abstaining."""

import itertools
import json
import math

import numpy as np
import pytest
from brute_clusters import brute_errors
from hypothesis import given, settings
from hypothesis import strategies as st
from sliced import slices

import propriety as pr
from propriety.errors import InputTypeError, InputValueError
from propriety.inference.finding_words import caveats, notes_of
from propriety.inference.influence import error_of_table
from propriety.measures import (
    AccuracyAtCoverage,
    AreaUnderGeneralizedRiskCoverage,
    AreaUnderRiskCoverage,
    AreaUnderRoc,
    CoverageAtAccuracy,
)
from propriety.tables.forecast_table import ForecastTable

AREAS = [AreaUnderRiskCoverage, AreaUnderGeneralizedRiskCoverage]
answered = st.lists(st.tuples(st.booleans(), st.sampled_from([0.0, 0.2, 0.5, 0.9, 1.0])), min_size=1, max_size=6)


def in_order(right):
    """Return both areas by definition, for answers in order of confidence, the highest first."""
    n, wrong = len(right), 1.0 - np.asarray(right, dtype=float)
    rank = np.arange(1, n + 1)
    joint = np.append(0.0, np.cumsum(wrong)) / n
    return np.mean(np.cumsum(wrong) / rank), np.mean((joint[1:] + joint[:-1]) / 2)


def over_all_orders(right, confidence):
    """Return the means of both areas over all orders of equal confidences."""
    orders = [
        order
        for order in itertools.permutations(range(len(right)))
        if all(confidence[one] >= confidence[other] for one, other in itertools.pairwise(order))
    ]
    return np.mean([in_order([right[place] for place in order]) for order in orders], axis=0)


def areas(right, confidence, **options):
    table = ForecastTable.from_predictions(right, confidence, **options)
    return np.array([area(0.0).value(table) for area in AREAS])


def sample(n=400, seed=1, decimals=2):
    rng = np.random.default_rng(seed)
    confidence = rng.beta(3, 1.5, n).round(decimals)
    return rng.random(n) < 0.3 + 0.6 * confidence, confidence


def classes(n=600, seed=2):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n, 4))
    p, q = (np.exp(1.5 * one) for one in (scores, scores + 0.7 * rng.normal(size=(n, 4))))
    p, q = p / p.sum(axis=1, keepdims=True), q / q.sum(axis=1, keepdims=True)
    y = (p.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    return y, {"p": p, "q": q}


@settings(max_examples=40, deadline=None)
@given(cases=answered)
def test_areas_are_means_over_all_orders_of_equal_confidences(cases):
    right, confidence = zip(*cases, strict=True)
    np.testing.assert_allclose(areas(right, confidence), over_all_orders(right, confidence), rtol=0, atol=1e-12)


def test_areas_of_distinct_confidences_follow_the_definition():
    right, confidence = sample(2000, decimals=15)
    order = np.argsort(-confidence)
    np.testing.assert_allclose(areas(right, confidence), in_order(right[order]), rtol=0, atol=1e-12)


def test_augrc_is_a_function_of_auroc_and_accuracy():
    right, confidence = sample()
    table = ForecastTable.from_predictions(right, confidence)
    error = 1.0 - right.mean()
    expected = (1.0 - AreaUnderRoc().value(table)) * error * (1.0 - error) + error**2 / 2
    assert AreaUnderGeneralizedRiskCoverage(0.0).value(table) == pytest.approx(expected, abs=1e-12)


def test_the_scale_of_the_weights_does_not_matter():
    right, confidence = sample()
    np.testing.assert_allclose(
        areas(right, confidence, sample_weight=np.full(400, 2.5)), areas(right, confidence), rtol=1e-12
    )


def test_equal_weights_within_equal_confidences_are_repetitions():
    right, confidence = sample(decimals=1)
    whole = areas(np.tile(right, 3), np.tile(confidence, 3))
    # AUGRC is exactly that of the repeated cases, AURC up to the coverages between 1/n and 1/(3n).
    assert areas(right, confidence)[1] == pytest.approx(whole[1], abs=1e-12)
    assert areas(right, confidence)[0] == pytest.approx(whole[0], abs=2e-3)


@pytest.mark.parametrize("area", AREAS)
@pytest.mark.parametrize("threshold", [0.0, 0.5])
def test_the_influence_is_the_derivative(area, threshold):
    right, confidence = sample()
    measure, weight = area(threshold), np.random.default_rng(3).uniform(0.5, 2.0, 400)
    table = ForecastTable.from_predictions(right, confidence, sample_weight=weight)
    moved = measure.influence(table)
    assert abs((table.events * moved.event + table.non_events * moved.non_event).sum()) < 1e-9
    row = np.searchsorted(table.forecast, confidence)
    for case in (0, 17, 101, 399):
        more = weight.copy()
        more[case] += 1e-4
        value = measure.value(ForecastTable.from_predictions(right, confidence, sample_weight=more))
        slope = (value - measure.value(table)) / 1e-4 * weight.sum()
        expected = moved.event[row[case]] if right[case] else moved.non_event[row[case]]
        assert slope == pytest.approx(expected, abs=4e-3)


@pytest.mark.parametrize("area", AREAS)
def test_the_error_is_that_of_the_bootstrap(area):
    right, confidence = sample(1000)
    exact = pr.estimate(right, confidence, area(0.0))
    drawn = pr.estimate(right, confidence, area(0.0), method="bootstrap", n_resamples=500, seed=1)
    assert exact.method == "influence function, on the log scale"
    assert exact.error == pytest.approx(drawn.error, rel=0.1)
    assert exact.low < exact.value < exact.high


def test_clusters_are_handled_as_for_other_measures():
    right, confidence = sample()
    site = np.arange(400) // 8
    measure = AreaUnderRiskCoverage(0.0)
    table = ForecastTable.from_predictions(right, confidence)
    row, moved = np.searchsorted(table.forecast, confidence), measure.influence(table)
    influence = np.where(right, moved.event[row], moved.non_event[row])
    found = pr.risk_coverage_curve(pr.cases(right, confidence, cluster=site)).aurc
    error, _ = brute_errors(influence, site)
    assert found.error == pytest.approx(float(error), rel=1e-9)
    assert found.units == 50


def test_forecasts_of_an_event_are_answers_with_the_probability_of_the_answer():
    rng = np.random.default_rng(4)
    p = rng.random(300).round(2)
    y = rng.random(300) < p
    right, confidence = (p >= 0.5) == y, np.where(p >= 0.5, p, 1.0 - p).round(2)
    for area in AREAS:
        one, other = pr.estimate(y, p, area()), pr.estimate(right, confidence, area(0.0))
        assert (one.value, one.error) == pytest.approx((other.value, other.error), rel=1e-9)


def test_class_probabilities_are_answers_with_the_probability_of_the_likeliest_class():
    y, models = classes()
    p = models["p"]
    right, confidence = p.argmax(axis=1) == y, p.max(axis=1)
    for measure in (AreaUnderRiskCoverage(), AccuracyAtCoverage(0.7), CoverageAtAccuracy(0.7)):
        found = pr.estimate(y, p, measure, n_resamples=50, seed=1)
        own = pr.estimate(
            right, confidence, type(measure)(*([0.7] if "at" in measure.key else []), threshold=0.0), seed=1
        )
        assert found.value == pytest.approx(own.value, abs=1e-12)


def test_the_difference_between_models_pairs_their_cases():
    y, models = classes()
    right = {name: p.argmax(axis=1) == y for name, p in models.items()}
    confidence = {name: p.max(axis=1) for name, p in models.items()}
    found = pr.compare(y, models, AreaUnderRiskCoverage())
    influences = []
    for name in models:
        table = ForecastTable.from_predictions(right[name], confidence[name])
        row, moved = np.searchsorted(table.forecast, confidence[name]), AreaUnderRiskCoverage(0.0).influence(table)
        influences.append(np.where(right[name], moved.event[row], moved.non_event[row]))
    assert found.differences.error[0] == pytest.approx(np.std(influences[0] - influences[1], ddof=1) / math.sqrt(600))
    told = pr.compare(right, confidence, AreaUnderRiskCoverage())
    assert told.differences.value[0] == pytest.approx(found.differences.value[0], abs=1e-12)
    assert told.differences.p[0] == pytest.approx(found.differences.p[0])
    assert found.differences.verdict.tolist() == ["good"]


def test_a_wrong_answer_without_any_confidence_stays_wrong():
    right = {"a": np.array([True, False, True, False]), "b": np.array([False, True, True, False])}
    confidence = {"a": np.zeros(4), "b": np.array([0.0, 0.0, 1.0, 1.0])}
    found = pr.compare(right, confidence, AreaUnderRiskCoverage()).ranks()
    expected = {name: over_all_orders(right[name], confidence[name])[0] for name in right}
    assert dict(zip(found.model.tolist(), found.value.tolist(), strict=True)) == pytest.approx(expected)


def test_confidences_that_are_almost_zero_keep_their_order():
    right, confidence = sample(decimals=15)
    tiny = {"a": 1e-30 * (1.0 - confidence), "b": 1e-25 * confidence}
    found = pr.compare({"a": right, "b": right}, tiny, AreaUnderRiskCoverage())
    values = dict(zip(found.ranks().model.tolist(), found.ranks().value.tolist(), strict=True))
    expected = {name: areas(right, own)[0] for name, own in tiny.items()}
    assert values == pytest.approx(expected, abs=1e-12)
    assert found.ranks().model.tolist() == ["b", "a"]


@pytest.mark.parametrize("p", [0.01, 0.07, 0.08, 0.13, 0.3, 0.45])
def test_a_probability_and_its_complement_are_the_same_confidence(p):
    table = ForecastTable.from_predictions([1] * 20, [p] * 10 + [round(1 - p, 2)] * 10)
    assert CoverageAtAccuracy(0.9).value(table) == 0.0
    assert AreaUnderRiskCoverage().value(table) == pytest.approx(0.5, abs=1e-12)
    assert CoverageAtAccuracy(0.9, threshold=0).value(ForecastTable.from_predictions([0, 1], [0.5, 0.5 + 1e-15])) == 0.5


def test_groups_and_evaluations_of_classes_have_the_measure():
    y, models = classes()
    group = np.arange(600) % 2
    found = slices(y, {"p": models["p"]}, AreaUnderRiskCoverage(), by={"half": group})
    one = pr.estimate(y[group == 0], models["p"][group == 0], AreaUnderRiskCoverage())
    assert found.value[0] == pytest.approx(one.value)
    assert found.low[0] == pytest.approx(one.low)
    result = pr.evaluate(y, models, measures=[AreaUnderRiskCoverage()], seed=1)
    assert result.to_dict()["p/aurc"] == pytest.approx(pr.estimate(y, models["p"], AreaUnderRiskCoverage()).value)


@pytest.mark.parametrize("measure", [*(area() for area in AREAS), AccuracyAtCoverage(0.5), CoverageAtAccuracy(0.7)])
def test_answers_of_stored_classes_are_those_of_cases(measure, tmp_path):
    y, models = classes(300)
    ledger = pr.condense(y, models, by={"half": np.arange(300) % 2})
    ledger.to_parquet(tmp_path)
    stored = pr.Ledger.from_parquet(tmp_path)
    one, other = pr.estimate(stored, "p", measure, seed=1), pr.estimate(ledger, "p", measure, seed=1)
    assert one.value == pytest.approx(other.value, rel=1e-12)
    if hasattr(measure, "influence"):
        assert (one.low, one.high) == pytest.approx((other.low, other.high), rel=1e-9)
        parts = pr.slices(stored, measure=measure, seed=1), pr.slices(ledger, measure=measure, seed=1)
        np.testing.assert_allclose(*(part.value for part in parts), rtol=1e-12)


def test_comparisons_of_answers_of_classes_need_cases():
    y, models = classes(50)
    stored = pr.condense(y, models).grid(64)
    with pytest.raises(InputValueError, match="area under the risk-coverage curve of class probabilities needs the in"):
        pr.compare(stored, measure=AreaUnderRiskCoverage())


def test_few_wrong_answers_are_noted():
    right, confidence = sample()
    few = right | (np.arange(400) > 60)
    wrong = int((~few).sum())
    assert caveats(pr.estimate(few, confidence, AreaUnderRiskCoverage(0.0))).startswith(
        f"based on {wrong} wrong answers"
    )
    assert caveats(pr.estimate(right, confidence, AreaUnderRiskCoverage(0.0))) == ""
    told = notes_of(
        pr.compare({"a": few, "b": right}, {"a": confidence, "b": confidence}, AreaUnderRiskCoverage()).differences[0]
    )
    assert told.startswith(f"Based on {wrong} wrong answers")
    assert "event" not in told


@pytest.mark.parametrize("measure", [AccuracyAtCoverage, CoverageAtAccuracy])
def test_few_wrong_answers_are_noted_with_draws(measure):
    y, p = np.arange(1000) >= 3, np.linspace(0.999, 0.5, 1000)
    found = pr.estimate(y, p, measure(0.998, threshold=0), n_resamples=50, seed=1)
    assert caveats(found) == "based on 3 wrong answers: the interval may be too narrow"
    rows = np.stack([p, (1 - p) / 2, (1 - p) / 2], axis=1)
    assert caveats(pr.estimate(np.where(y, 0, 1), rows, measure(0.998), n_resamples=50, seed=1)) == caveats(found)
    drawn = pr.estimate(y, p, AreaUnderRiskCoverage(0), method="bootstrap", n_resamples=50, seed=1)
    assert caveats(drawn) == caveats(found)


@pytest.mark.parametrize(("area", "largest"), [(AreaUnderRiskCoverage, 1.0), (AreaUnderGeneralizedRiskCoverage, 0.5)])
def test_areas_do_not_exceed_their_largest_value(area, largest):
    confidence = np.linspace(0, 1, 60)
    found = pr.estimate(np.zeros(60), confidence, area(0))
    assert (found.value, found.error) == (pytest.approx(largest), 0.0)
    assert math.isnan(found.low)
    assert math.isnan(found.high)
    found = pr.estimate(np.arange(60) % 30 == 0, confidence, area(0))
    assert found.value < found.high <= largest


def test_keys_and_labels_have_plain_numbers():
    for measure in (AccuracyAtCoverage(np.float64(0.8)), CoverageAtAccuracy(np.float32(0.5))):
        assert "np." not in measure.key + measure.label


def test_comparisons_of_answers_do_not_speak_of_events():
    right, confidence = sample()
    few = right | (np.arange(400) > 60)
    told = str(
        pr.compare({"a": few, "b": few}, {"a": confidence, "b": np.roll(confidence, 5)}, AreaUnderRiskCoverage())
    )
    assert "not shown to differ: the difference in area" in told
    assert "event" not in told


def test_chow_s_threshold_includes_equal_confidences_in_single_precision():
    found = pr.risk_coverage_curve([1, 1, 0], np.array([0.9, 0.7, 0.2], dtype=np.float32)).reject_threshold(0.3)
    assert found.chow_coverage == pytest.approx(2 / 3)


def test_answers_that_are_all_right_have_no_risk():
    curve = pr.risk_coverage_curve([1, 1, 1], [0.2, 0.5, 0.5])
    assert curve.aurc.value == curve.augrc.value == curve.excess_aurc == 0.0
    assert math.isnan(curve.aurc.low)
    assert curve.coverage_at(1.0) == 1.0


def test_the_curve_has_one_row_per_confidence():
    curve = pr.risk_coverage_curve([1, 0, 1, 1, 0], [0.9, 0.4, 0.9, 0.7, 0.4], sample_weight=[1, 1, 2, 1, 3])
    np.testing.assert_array_equal(curve.threshold, [0.9, 0.7, 0.4])
    np.testing.assert_allclose(curve.coverage, [3 / 8, 1 / 2, 1.0])
    np.testing.assert_allclose(curve.risk, [0.0, 0.0, 1 / 2])
    np.testing.assert_allclose(curve.generalized_risk, curve.risk * curve.coverage)


def test_right_answers_may_have_a_label():
    right, confidence = sample(50)
    grades = np.where(right, "C", "I")
    curve = pr.risk_coverage_curve(grades, confidence, pos_label="C")
    assert curve.to_json() == pr.risk_coverage_curve(right, confidence).to_json()
    models = {"a": confidence, "b": confidence**2 / 2 + 0.1 * (np.arange(50) % 2)}
    told = pr.compare({"a": grades, "b": grades}, models, AreaUnderRiskCoverage(), pos_label="C")
    assert (
        told.differences.value[0]
        == pr.compare({"a": right, "b": right}, models, AreaUnderRiskCoverage()).differences.value[0]
    )


def test_excess_is_zero_if_the_wrong_answers_come_last():
    right = np.arange(30) < 21
    assert pr.risk_coverage_curve(right, np.linspace(1, 0, 30)).excess_aurc == pytest.approx(0.0, abs=1e-12)
    worst = pr.risk_coverage_curve(right, np.linspace(0, 1, 30))
    assert worst.excess_aurc == pytest.approx(in_order(right[::-1])[0] - in_order(right)[0], abs=1e-12)


def test_a_table_gives_the_same_curve():
    right, confidence = sample()
    table = ForecastTable.from_predictions(right, confidence)
    one, other = (json.loads(pr.risk_coverage_curve(*data).to_json()) for data in ((table,), (right, confidence)))
    assert one == other


@pytest.mark.parametrize("coverage", [0.1, 0.333, 0.8, 1.0])
def test_accuracy_at_a_coverage_is_that_of_random_orders(coverage):
    right, confidence = sample(60, decimals=1)
    rng, k = np.random.default_rng(5), coverage * 60
    drawn = []
    for _ in range(4000):
        order = np.lexsort((rng.random(60), -confidence))
        total = np.append(0.0, np.cumsum(~right[order]))
        drawn.append(np.interp(k, np.arange(61), total) / k)
    assert pr.risk_coverage_curve(right, confidence).accuracy_at(coverage) == pytest.approx(
        1 - np.mean(drawn), abs=0.01
    )


@settings(max_examples=60, deadline=None)
@given(cases=answered, accuracy=st.sampled_from([0.0, 0.5, 2 / 3, 0.9, 1.0]))
def test_coverage_at_an_accuracy_is_the_largest_that_reaches_it(cases, accuracy):
    right, confidence = map(np.array, zip(*cases, strict=True))
    kept = [confidence >= one for one in np.unique(confidence)]
    expected = max([one.mean() for one in kept if right[one].mean() >= accuracy - 1e-12], default=0.0)
    assert pr.risk_coverage_curve(right, confidence).coverage_at(accuracy) == pytest.approx(expected)


@settings(max_examples=60, deadline=None)
@given(cases=answered, reject_cost=st.sampled_from([0.05, 0.2, 0.5, 1.5]))
def test_the_threshold_has_the_lowest_cost(cases, reject_cost):
    right, confidence = map(np.array, zip(*cases, strict=True))

    def cost(threshold):
        return np.mean(np.where(confidence >= threshold, np.where(right, 0.0, 2.0), reject_cost))

    found = pr.risk_coverage_curve(right, confidence).reject_threshold(reject_cost, 2.0)
    assert found.cost == pytest.approx(cost(found.threshold))
    assert found.cost <= min(map(cost, [*confidence, math.inf])) + 1e-12
    assert found.chow_threshold == 1 - reject_cost / 2
    assert found.chow_cost == pytest.approx(cost(found.chow_threshold))
    assert (found.cost_of_answering, found.cost_of_abstaining) == pytest.approx((cost(0.0), reject_cost))


def test_chow_s_rule_is_nearly_the_best_if_confidences_are_calibrated():
    rng = np.random.default_rng(6)
    confidence = rng.random(20_000)
    found = pr.risk_coverage_curve(rng.random(20_000) < confidence, confidence).reject_threshold(0.3)
    assert found.threshold == pytest.approx(0.7, abs=0.05)
    assert found.chow_cost - found.cost < 0.002


def test_errors_say_what_is_wrong():
    curve = pr.risk_coverage_curve([1, 0], [0.9, 0.4])
    with pytest.raises(InputValueError, match=r"reject_cost must be a positive number; got 0"):
        curve.reject_threshold(0)
    with pytest.raises(InputValueError, match=r"coverage must lie in \(0, 1\]; got 0"):
        curve.accuracy_at(0)
    with pytest.raises(InputValueError, match=r"accuracy must lie in \[0, 1\]; got 90"):
        curve.coverage_at(90)
    with pytest.raises(InputValueError, match=r"threshold must lie in \[0, 1\]; got 2"):
        AreaUnderRiskCoverage(2)
    with pytest.raises(InputValueError, match=r"must lie in \[0, 1\]"):
        pr.risk_coverage_curve([1, 0], [3.2, 0.4])
    with pytest.raises(InputTypeError, match=r"confidence must be one number per case; got rows of 2 columns"):
        pr.risk_coverage_curve([1, 0], [[0.2, 0.8], [0.5, 0.5]])


def test_errors_speak_of_answers_and_confidences():
    def told(*data, **options):
        with pytest.raises((InputValueError, InputTypeError)) as caught:
            pr.risk_coverage_curve(*data, **options)
        return str(caught.value)

    high = told([1, 0, 1], [0.5, 0.2, 3.2])
    assert high.startswith("confidence must lie in [0, 1]; row 2 is 3.2")
    assert "scipy.stats.rankdata(score) / len(score)" in high
    assert told([1, 0, 1], [0.5, 0.2, 1 + 1e-12]).endswith("numpy.clip(confidence, 0, 1) yourself.")
    lost = told([1, 0, 1], [0.5, 0.2, math.nan])
    assert lost.startswith("confidence must not hold missing values")
    assert 'missing="drop"' in lost
    assert told([1, 0, 0.5], [0.5, 0.2, 0.1]).endswith("are correct and confidence swapped?")
    assert told([1, 0, 1], [0.5, 0.2]).startswith("correct and confidence must be equally long")
    assert told([1, 0, 1], ["x", "y", "z"]).startswith("confidence must hold real numbers")
    assert told(["C", "I", "C"], [0.5, 0.2, 0.1]).endswith("pass pos_label=, the label of right answers.")
    assert "pass correct as a single column" in told([[1], [0], [1]], [0.5, 0.2, 0.1])
    assert told([1, 0, 1], [0.5, 0.2, 0.1], sample_weight=[1, 2]).startswith("correct and sample_weight must be")
    assert 'missing="drop"' in told([1, 0, 1], [0.5, 0.2, 0.1], sample_weight=[1, 2, math.nan])


def test_the_answer_of_classes_has_no_threshold():
    y, models = classes(100)
    with pytest.raises(
        InputValueError, match=r"threshold must be 0.5 for class probabilities, whose answer is the most"
    ):
        pr.compare(y, models, AreaUnderRiskCoverage(0.0))


def test_tables_and_their_weights_give_the_error_of_independent_cases():
    right, confidence = sample()
    weight = np.random.default_rng(7).uniform(0.2, 3.0, 400)
    table = ForecastTable.from_predictions(right, confidence, sample_weight=weight)
    curve = pr.risk_coverage_curve(right, confidence, sample_weight=weight)
    expected = error_of_table(table, AreaUnderRiskCoverage(0.0).influence(table))
    assert curve.aurc.error == pytest.approx(expected, rel=1e-12)


def test_confidences_that_differ_by_a_rounding_error_are_two():
    rng = np.random.default_rng(0)
    right = rng.random(400) < 0.6
    top = 1.0 - rng.integers(1, 40, 400) * 2.0**-53
    rows = np.stack([top, 1.0 - top], axis=1)
    y = np.where(right, 0, 1)
    found = pr.evaluate(y, {"m": np.column_stack([rows, np.zeros(400)])}, labels=[0, 1, 2], n_resamples=99, seed=1)
    curve, alone = found.risk_coverage["m"], pr.risk_coverage_curve(right, top)
    assert curve.aurc.value == pytest.approx(alone.aurc.value, rel=1e-12)
    assert curve.augrc.value == pytest.approx(alone.augrc.value, rel=1e-12)
    assert curve.excess_aurc == pytest.approx(alone.excess_aurc, rel=1e-12)
