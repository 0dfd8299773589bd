"""Net benefit: against values computed elsewhere, and its laws."""

import itertools

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import propriety as pr
from propriety.decisions.decision_curves import decision_curve, regret_curve, widest_threshold
from propriety.errors import InputTypeError, InputValueError
from propriety.tables.forecast_table import ForecastTable

CLOSE = {"rtol": 1e-12, "atol": 1e-13}
GRID = np.linspace(0.0, 0.99, 100)

cases = st.lists(
    st.tuples(st.booleans(), st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.9, 1.0]) | st.floats(0.0, 1.0)),
    min_size=1,
    max_size=30,
).map(lambda rows: ([y for y, _ in rows], [p for _, p in rows]))


def table_of(data):
    return ForecastTable.from_predictions(*data, labels=[False, True])


def test_golden_curves(golden):
    given_, expected = golden("net_benefit_curve")
    curve = decision_curve(given_["y"], given_["s"], grid=given_["c"])
    np.testing.assert_allclose(curve.value, expected, **CLOSE)
    given_, expected = golden("net_benefit_treat_all")
    np.testing.assert_allclose(curve.treat_all, expected, **CLOSE)
    assert not curve.treat_none.any()


def test_golden_accuracy_identity(golden):
    given_, expected = golden("accuracy_identity")
    curve = decision_curve(given_["y"], given_["s"], grid=[0.5, given_["tau"]])
    np.testing.assert_allclose(curve.value[0], expected["net_benefit_half"], **CLOSE)
    np.testing.assert_allclose(curve.value[0] + 1 - curve.prevalence, expected["accuracy_half"], **CLOSE)
    # Accuracy of acting at another threshold is one minus twice the regret at equal costs.
    at_tau = regret_curve(given_["y"], given_["s"], grid=[0.5], act_at=given_["tau"])
    np.testing.assert_allclose(1 - 2 * at_tau.value[0], expected["accuracy"], **CLOSE)


@given(cases)
def test_accuracy_is_net_benefit_at_one_half(data):
    y, p = map(np.array, data)
    curve = decision_curve(table_of(data), grid=[0.5])
    accuracy = np.mean((p >= 0.5) == y)
    np.testing.assert_allclose(curve.value[0] + 1 - curve.prevalence, accuracy, **CLOSE)


@given(cases)
def test_net_benefit_is_prevalence_less_regret(data):
    table = table_of(data)
    curve = decision_curve(table, grid=GRID)
    regret = regret_curve(table, grid=GRID).value
    np.testing.assert_allclose(curve.value, table.event_rate - regret / (1 - GRID), rtol=1e-9, atol=1e-12)


@pytest.mark.slow
@given(cases, st.floats(0.01, 0.9), st.floats(0.01, 0.9), st.sampled_from(["linear", "quadratic", "logarithmic"]))
def test_areas_agree_with_quadrature_on_their_axis(data, low, high, axis):
    low, high = sorted((low, high))
    assume(high - low > 1e-3)
    table = table_of(data)
    # The midpoint rule on the axis itself, between the jumps of the curve.
    edges = np.unique(np.clip([low, *table.forecast, high], low, high))
    fine = np.unique(np.concatenate([np.linspace(a, b, 200) for a, b in itertools.pairwise(edges)]))
    middle = decision_curve(table, grid=(fine[:-1] + fine[1:]) / 2)
    width = np.diff(decision_curve(table, grid=fine).position(axis))
    area = ((table.event_rate - middle.value) * width).sum()
    np.testing.assert_allclose(middle.area((low, high), axis=axis), area, rtol=2e-3, atol=1e-6)


@given(cases)
def test_rescaled_areas_are_half_the_brier_score_and_the_log_score(data):
    table = table_of(data)
    curve = decision_curve(table)
    np.testing.assert_allclose(2 * curve.area((0, 1), axis="quadratic"), pr.brier_score(table), **CLOSE)
    np.testing.assert_allclose(curve.area((0, 1), axis="logarithmic"), pr.log_score(table), **CLOSE)


def test_ranks_by_mean_net_benefit_and_by_mean_regret_can_be_opposite():
    # Always against never acting on 60 % events, thresholds from 0.1 to 0.9.
    y = [1] * 6 + [0] * 4
    everybody, nobody = decision_curve(y, [1.0] * 10), decision_curve(y, [0.0] * 10)
    regret = [curve.area((0.1, 0.9), axis="quadratic") / 0.8 for curve in (everybody, nobody)]
    np.testing.assert_allclose(regret, [0.2, 0.3], **CLOSE)
    net_benefit = [0.6 - curve.area((0.1, 0.9)) / 0.8 for curve in (everybody, nobody)]
    np.testing.assert_allclose(net_benefit, [-0.09861228866811, 0.0], atol=1e-12)


def test_prevalence_of_the_population_equals_weights():
    y, p = np.array([0, 1, 0, 1, 1]), [0.1, 0.3, 0.4, 0.8, 0.5]
    corrected = decision_curve(y, p, grid=GRID, prevalence=0.05)
    weighted = decision_curve(y, p, grid=GRID, sample_weight=np.where(y, 0.05 / 3, 0.95 / 2))
    for name in ("value", "treat_all", "standardized_net_benefit", "interventions_avoided"):
        np.testing.assert_allclose(getattr(corrected, name), getattr(weighted, name), rtol=1e-9, atol=1e-9)
    assert corrected.area((0.01, 0.2)) == pytest.approx(weighted.area((0.01, 0.2)))


def test_a_forecast_at_a_threshold_of_the_default_grid_is_acted_on():
    rng = np.random.default_rng(0)
    p = np.round(rng.random(300), 2)
    y = rng.random(300) < p
    curve = decision_curve(y, p)
    assert curve.threshold.tolist() == [k / 100 for k in range(1, 100)]
    for threshold, worth in zip(curve.threshold, curve.value, strict=True):
        acted = p >= threshold
        expected = np.mean(acted & y) - np.mean(acted & ~y) * threshold / (1.0 - threshold)
        assert worth == pytest.approx(expected, abs=1e-12)


def test_harm_is_taken_off():
    y, p = [0, 1, 0, 1], [0.1, 0.3, 0.4, 0.8]
    free, paid = decision_curve(y, p), decision_curve(y, p, harm=0.02)
    np.testing.assert_allclose(free.value - paid.value, 0.02)
    np.testing.assert_array_equal(free.treat_all, paid.treat_all)
    for axis, width in (("linear", 0.3), ("quadratic", 0.3 * 0.65), ("logarithmic", np.log(5 / 2))):
        assert paid.area((0.2, 0.5), axis=axis) - free.area((0.2, 0.5), axis=axis) == pytest.approx(0.02 * width)
    assert paid.area((0, 0.5), axis="logarithmic") == np.inf


def test_interventions_avoided_at_no_loss_of_true_positives():
    curve = decision_curve([0, 1, 0, 1], [0.1, 0.3, 0.4, 0.8], grid=[0.0, 0.2, 0.5])
    np.testing.assert_allclose(curve.interventions_avoided, [0.0, 25.0, 25.0])
    np.testing.assert_allclose(curve.standardized_net_benefit, curve.value / 0.5)


def test_difference_of_models():
    y, grid = [0, 1, 0, 1], [0.2, 0.5]
    a, b = (decision_curve(y, p, grid=grid) for p in ([0.1, 0.6, 0.4, 0.8], [0.1, 0.3, 0.4, 0.8]))
    difference = a.minus(b)
    np.testing.assert_allclose(difference.value, [0.0, 0.25])
    np.testing.assert_allclose(difference.interventions_avoided, [0.0, 25.0])
    with pytest.raises(InputValueError, match="same thresholds"):
        a.minus(decision_curve(y, [0.1, 0.3, 0.4, 0.8]))
    with pytest.raises(InputValueError, match="same prevalence"):
        a.minus(decision_curve(y, [0.1, 0.3, 0.4, 0.8], grid=grid, prevalence=0.1))
    with pytest.raises(InputTypeError, match="ThresholdCurve"):
        a.minus(3)


def test_one_kind_of_case_leaves_its_rate_undefined():
    curve = decision_curve([0, 0], [0.1, 0.3], labels=[0, 1], grid=[0.2])
    assert np.isnan(curve.operating_points(grid=[0.2]).sensitivity[0])
    assert np.isnan(curve.standardized_net_benefit[0])
    assert curve.value[0] == pytest.approx(-0.125)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"grid": [0.5, 1.0]}, "below 1"),
        ({"thresholds": (0.5, 0.5)}, "low < high"),
        ({"prevalence": 1.0}, "prevalence must lie"),
        ({"harm": -1}, "harm must be"),
    ],
    ids=["grid", "thresholds", "prevalence", "harm"],
)
def test_bad_arguments_are_refused(options, message):
    with pytest.raises(InputValueError, match=message):
        decision_curve([0, 1], [0.2, 0.4], **options)


def test_other_refusals_and_views():
    with pytest.raises(InputValueError, match="one kind"):
        decision_curve([0, 0], [0.2, 0.4], labels=[0, 1], prevalence=0.1)
    with pytest.raises(InputValueError, match="axis must be one of"):
        decision_curve([0, 1], [0.2, 0.4]).position("cubic")
    curve = decision_curve([0, 1], [0.2, 0.4], harm=0.1)
    assert repr(curve) == "ThresholdCurve(scale=net benefit, rows=99, prevalence=0.5, harm=0.1, n=2)"
    assert "standardized_net_benefit" in curve.to_frame().columns


def test_curves_of_nearly_the_same_prevalence_are_not_compared():
    y, p = [0, 1, 0, 1], [0.1, 0.6, 0.4, 0.8]
    one, other = (decision_curve(y, p, prevalence=rate) for rate in (0.3, 0.3001))
    with pytest.raises(InputValueError, match=r"need the same prevalence; got 0\.3 and 0\.3001"):
        one.minus(other)
    rounded = decision_curve(y, p, prevalence=0.3 * (1 + 1e-12))
    np.testing.assert_allclose(one.minus(rounded).value, 0.0, atol=1e-9)


@pytest.mark.parametrize("axis", ["linear", "quadratic", "logarithmic"])
def test_areas_in_another_population_are_those_of_weighted_cases(axis):
    y, p = np.array([0, 1, 0, 1]), [0.1, 0.6, 0.4, 0.8]
    told = decision_curve(y, p, prevalence=0.2).area((0.1, 0.7), axis=axis)
    weighted = decision_curve(y, p, sample_weight=np.where(y, 0.1, 0.4)).area((0.1, 0.7), axis=axis)
    assert told == pytest.approx(weighted, rel=1e-12)


@pytest.mark.parametrize("thresholds", [(0.05, 0.2), (0.001, 0.01), (0.0, 1.0), (0.9, 0.90001), 0.1, 0.003, 0.999])
def test_thresholds_add_steps_around_them_to_the_grid(thresholds):
    whole = decision_curve([0, 1], [0.2, 0.4])
    curve = decision_curve([0, 1], [0.2, 0.4], thresholds=thresholds)
    assert curve.thresholds == thresholds
    assert set(whole.threshold) <= set(curve.threshold)
    assert {end for end in np.atleast_1d(thresholds) if end < 1.0} <= set(curve.threshold)
    low, high = thresholds if isinstance(thresholds, tuple) else (thresholds / 2, thresholds)
    inside = np.count_nonzero((curve.threshold >= low) & (curve.threshold <= high))
    assert inside >= 10
    assert len(curve.threshold) < 500
    same = np.isin(curve.threshold, whole.threshold)
    np.testing.assert_array_equal(curve.value[same], whole.value)


def test_a_grid_is_kept_as_it_is():
    curve = decision_curve([0, 1], [0.2, 0.4], thresholds=(0.1, 0.3), grid=[0.3, 0.2])
    assert curve.threshold.tolist() == [0.3, 0.2]
    assert curve.thresholds == (0.1, 0.3)


@pytest.mark.parametrize("events", [3, 20, 155])
def test_rare_events_have_steps_up_to_five_times_the_prevalence(events):
    y = np.arange(10_000) < events
    curve = decision_curve(y, np.linspace(0.0, 0.05, 10_000))
    fine = curve.threshold[curve.threshold <= widest_threshold(events / 10_000)]
    assert len(fine) >= 100
    assert set(np.arange(1, 100) / 100) <= set(curve.threshold.tolist())
    # Every step is the number that its digits are read as, so that a forecast at a step is acted on.
    assert all(float(f"{step:.10g}") == step for step in curve.threshold)


@pytest.mark.parametrize("events", [200, 5000, 0])
def test_other_events_are_evaluated_at_whole_percentages(events):
    curve = decision_curve(np.arange(10_000) < events, np.linspace(0.0, 0.05, 10_000), labels=[False, True])
    assert curve.threshold.tolist() == (np.arange(1, 100) / 100).tolist()


def test_models_of_the_same_rare_cases_have_the_same_thresholds():
    """An event rate of exactly a fifth of a round limit must not depend on the order of its sum."""
    y, weight = np.repeat([1, 0], [10, 9990]), np.full(10_000, 0.1)
    rng = np.random.default_rng(1)
    curves = [decision_curve(y, rng.random(10_000), sample_weight=weight) for _ in range(5)]
    assert all(len(curves[0].minus(other).threshold) == len(curves[0].threshold) for other in curves)


def test_thresholds_that_cannot_be_used_are_refused():
    curve = pr.decision_curve([0, 1, 0, 1], [0.1, 0.3, 0.4, 0.8])
    with pytest.raises(InputValueError, match="must be below 1"):
        curve.operating_points(grid=[0.5, 1.0])
    with pytest.raises(InputValueError, match="must have no missing values"):
        pr.decision_curve([0, 1], [0.1, 0.3], grid=np.ma.array([0.1, 0.2], mask=[False, True]))
