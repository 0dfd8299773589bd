"""ROC curves: golden areas, scikit-learn as a second opinion, and Hand's identity."""

import csv
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import trapezoid

import propriety as pr
from propriety.calibration.blocks import pool_adjacent_violators
from propriety.decisions.decision_curves import regret_curve
from propriety.decisions.roc import roc_curve
from propriety.errors import InputValueError
from propriety.tables.forecast_table import ForecastTable

CLOSE = {"rtol": 1e-12, "atol": 1e-13}
BCSC = Path(__file__).parents[3] / "shared" / "data" / "bcsc.csv"

two_kinds = st.lists(
    st.tuples(st.booleans(), st.sampled_from([0.1, 0.2, 0.5, 0.9]) | st.floats(0.0, 1.0)), max_size=30
).map(lambda rows: ([True, False, *(y for y, _ in rows)], [0.5, 0.5, *(p for _, p in rows)]))


def hand(table):
    """AUC by Hand's identity: one minus the mean regret at the forecasts over twice the variance of the event."""
    rate = table.event_rate
    regret = regret_curve(table, grid=table.forecast).value
    return 1 - (table.weights @ regret) / table.weight / (2 * rate * (1 - rate))


def recalibrated(table):
    return table.moved(pool_adjacent_violators(table).per_row())


@pytest.mark.parametrize("case", ["auc_hand", "auc_hand_2"])
def test_golden_areas(golden, case):
    given_, expected = golden(case)
    curve = roc_curve(given_["y"], given_["s"])
    np.testing.assert_allclose(curve.auc, expected["auc"], **CLOSE)
    np.testing.assert_allclose(curve.hull().auc, expected["auc_pav"], **CLOSE)
    np.testing.assert_allclose(hand(curve.table), expected["hand_rhs_raw"], **CLOSE)
    np.testing.assert_allclose(hand(recalibrated(curve.table)), expected["hand_rhs_pav"], **CLOSE)


def test_golden_partial_area(golden):
    given_, expected = golden("pauc")
    area = roc_curve(given_["y"], given_["s"]).partial_area(given_["a"], given_["b"])
    for name in ("pauc_plus", "pauc_minus", "delta_fpr", "delta_tpr"):
        np.testing.assert_allclose(getattr(area, name), expected[name], **CLOSE)
    np.testing.assert_allclose(area.balanced_average_accuracy, expected["baa"], **CLOSE)


def both_sides(table, low, high):
    """Both sides of theorem I.5 for the forecasts of a table in [low, high]."""
    rate, inside = table.event_rate, (table.forecast >= low) & (table.forecast <= high)
    weight, events = table.weights[inside], table.events[inside]
    area = roc_curve(table).partial_area(low, high)
    left = rate * (1 - rate) * table.weight / weight.sum() * (area.pauc_plus + area.pauc_minus)
    regret = regret_curve(table, grid=table.forecast[inside]).value
    right = -(weight @ regret) / weight.sum() + rate + (1 - 2 * rate) * events.sum() / weight.sum()
    return left, right


def test_golden_partial_area_and_regret(golden):
    given_, expected = golden("pauc_regret_identity_pav")
    table = recalibrated(ForecastTable.from_predictions(given_["y"], given_["s"]))
    left, right = both_sides(table, given_["a"], given_["b"])
    np.testing.assert_allclose(left, expected["lhs"], **CLOSE)
    np.testing.assert_allclose(right, expected["rhs"], **CLOSE)


@given(two_kinds)
def test_hands_identity_holds_for_recalibrated_forecasts(data):
    table = ForecastTable.from_predictions(*data)
    np.testing.assert_allclose(hand(recalibrated(table)), roc_curve(table).hull().auc, **CLOSE)


def test_hands_identity_fails_for_others():
    table = ForecastTable.from_predictions([0, 1, 0, 1], [0.1, 0.3, 0.4, 0.8])
    assert abs(hand(table) - roc_curve(table).auc) > 0.03


@given(two_kinds)
def test_the_area_counts_pairs(data):
    y, p = map(np.array, data)
    pairs = p[y][:, None] - p[~y][None, :]
    np.testing.assert_allclose(roc_curve(y, p).auc, np.mean((pairs > 0) + 0.5 * (pairs == 0)), **CLOSE)


@given(two_kinds)
def test_the_curve_is_what_scikit_learn_draws(data):
    metrics = pytest.importorskip("sklearn.metrics")
    curve = roc_curve(*data)
    false_rate, true_rate, threshold = metrics.roc_curve(*data, drop_intermediate=False)
    np.testing.assert_allclose(curve.false_positive_rate, false_rate, **CLOSE)
    np.testing.assert_allclose(curve.true_positive_rate, true_rate, **CLOSE)
    np.testing.assert_array_equal(curve.threshold, threshold)
    np.testing.assert_allclose(curve.auc, trapezoid(true_rate, false_rate), **CLOSE)


@given(two_kinds)
def test_the_hull_is_convex_and_above(data):
    curve = roc_curve(*data)
    hull = curve.hull()
    assert hull.is_hull
    above = np.interp(curve.false_positive_rate, hull.false_positive_rate, hull.true_positive_rate)
    assert (above >= curve.true_positive_rate - 1e-12).all()
    run, rise = np.diff(hull.false_positive_rate), np.diff(hull.true_positive_rate)
    assert (rise[:-1] * run[1:] >= rise[1:] * run[:-1] - 1e-12).all()
    on_curve = set(zip(curve.threshold, curve.true_positive_rate, curve.false_positive_rate, strict=True))
    assert set(hull.threshold) <= {threshold for threshold, _, _ in on_curve}
    whole = hull.partial_area()
    np.testing.assert_allclose([whole.pauc_plus, whole.pauc_minus], hull.auc, **CLOSE)


@given(two_kinds)
def test_over_all_forecasts_both_partial_areas_are_the_area(data):
    curve = roc_curve(*data)
    whole = curve.partial_area()
    measures = [whole.pauc_plus, whole.pauc_minus, whole.balanced_average_accuracy]
    np.testing.assert_allclose(measures, curve.auc, **CLOSE)
    assert (whole.delta_fpr, whole.delta_tpr) == (1.0, 1.0)


def test_no_forecast_inside_leaves_the_accuracy_undefined():
    area = roc_curve([0, 1], [0.2, 0.8]).partial_area(0.4, 0.6)
    assert np.isnan(area.balanced_average_accuracy)
    assert area.delta_fpr == area.pauc_plus == 0.0


@pytest.mark.parametrize(("y", "missing"), [([0, 0], "no events"), ([1, 1], "no non-events")])
def test_one_kind_of_case_has_no_curve(y, missing):
    with pytest.raises(InputValueError, match=missing):
        roc_curve(y, [0.2, 0.4], labels=[0, 1])


@pytest.mark.skipif(not BCSC.exists(), reason="the breast-cancer forecasts are not here")
def test_breast_cancer_areas(golden):
    _, expected = golden("bcsc_table2")
    with BCSC.open() as file:
        rows = list(csv.DictReader(file))
    y = np.array([int(row["cancer"]) for row in rows])
    checked = 0
    for model, numbers in expected.items():
        if isinstance(numbers, dict) and "auc" in numbers:
            p = np.array([float(row[model]) for row in rows])
            np.testing.assert_allclose(roc_curve(y, p).auc, numbers["auc"], **CLOSE)
            checked += 1
    assert checked >= 4


def test_rounding_of_weights_does_not_raise_an_area_above_one():
    """It was up to 1 + 9e-16, and then `estimate` could fail to find its limits."""
    for seed in range(20):
        y, weight = np.arange(300) >= 150, np.random.default_rng(seed).gamma(0.3, size=300)
        p = np.linspace(0.1, 0.9, 300)
        assert 1.0 - 1e-12 < pr.roc_curve(y, p, sample_weight=weight).auc <= 1.0
        assert pr.estimate(y, p, pr.measures.AreaUnderRoc(), sample_weight=weight).high == pytest.approx(1.0, abs=1e-12)
