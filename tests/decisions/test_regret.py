"""Regret at every cost ratio: against values computed elsewhere, and by the integrals that scores are."""

import itertools

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.integrate import quad, trapezoid

import propriety as pr
from propriety.decisions.decision_curves import cost_curve, regret_curve
from propriety.decisions.weighted_regret import area_under_regret
from propriety.errors import InputTypeError, InputValueError
from propriety.tables.forecast_table import ForecastTable

CLOSE = {"rtol": 1e-12, "atol": 1e-14}
GRID = np.linspace(0.0, 1.0, 101)

cases = st.lists(
    st.tuples(st.booleans(), st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.9, 1.0]) | st.floats(0.0, 1.0)),
    min_size=1,
    max_size=30,
).map(lambda rows: ([y for y, _ in rows], [p for _, p in rows]))
inner = st.lists(st.tuples(st.booleans(), st.floats(0.01, 0.99)), min_size=1, max_size=30).map(
    lambda rows: ([y for y, _ in rows], [p for _, p in rows])
)


def table_of(data):
    return ForecastTable.from_predictions(*data, labels=[False, True])


def test_golden_curve(golden):
    given_, expected = golden("regret_curve")
    curve = regret_curve(given_["y"], given_["s"], grid=given_["c"])
    np.testing.assert_allclose(curve.value, expected, **CLOSE)
    assert not curve.exact


def test_golden_mixtures(golden):
    given_, expected = golden("elementary_mixture")
    y, s = given_["y"], given_["s"]
    curve = regret_curve(y, s)
    np.testing.assert_allclose(2 * curve.area(), expected["brier"], **CLOSE)
    np.testing.assert_allclose(curve.area(axis="log-odds"), expected["log"], **CLOSE)
    edges = np.unique([0.0, *s, 1.0])
    spherical = sum(
        quad(lambda c: regret_curve(curve.table, grid=c).value[0] * (c**2 + (1 - c) ** 2) ** -1.5, a, b)[0]
        for a, b in itertools.pairwise(edges)
    )
    np.testing.assert_allclose(spherical, expected["spherical"], **CLOSE)


@pytest.mark.slow
@given(cases)
def test_regret_is_the_mean_elementary_score(data):
    table = table_of(data)
    inside = GRID[1:-1]
    scores = [pr.mean_score(table, rule=pr.Elementary(float(c))) for c in inside]
    np.testing.assert_allclose(regret_curve(table, grid=inside).value, scores, **CLOSE)


@given(cases)
def test_twice_the_area_is_the_brier_score(data):
    curve = regret_curve(table_of(data))
    np.testing.assert_allclose(2 * curve.area(), pr.brier_score(curve.table), **CLOSE)
    np.testing.assert_allclose(trapezoid(curve.value, curve.threshold), curve.area(), **CLOSE)


@given(cases)
def test_the_area_over_log_odds_is_the_log_score(data):
    curve = regret_curve(table_of(data))
    np.testing.assert_allclose(curve.area(axis="log-odds"), pr.log_score(curve.table), **CLOSE)


@given(inner, st.floats(0.05, 0.95), st.floats(0.05, 0.95), st.sampled_from(["linear", "log-odds"]))
def test_areas_agree_with_quadrature(data, low, high, axis):
    low, high = sorted((low, high))
    assume(high - low > 1e-3)
    curve = regret_curve(table_of(data))
    density = {"linear": lambda c: 1.0, "log-odds": lambda c: 1 / (c * (1 - c))}[axis]
    edges = np.unique(np.clip([low, *curve.table.forecast, high], low, high))
    middles = (edges[:-1] + edges[1:]) / 2
    # Between forecasts the regret is the straight line through any two of its points.
    area = 0.0
    for a, b, middle in zip(edges[:-1], edges[1:], middles, strict=True):
        first, second = regret_curve(curve.table, grid=[middle, b]).value
        slope = (second - first) / (b - middle) if b > middle else 0.0
        area += quad(lambda c, y=first, x=middle, s=slope: density(c) * (y + s * (c - x)), a, b)[0]
    np.testing.assert_allclose(curve.area((low, high), axis=axis), area, rtol=1e-9, atol=1e-12)


@given(cases, st.floats(0.01, 0.99))
def test_areas_add_over_adjacent_intervals(data, cut):
    curve = regret_curve(table_of(data))
    np.testing.assert_allclose(curve.area((0, cut)) + curve.area((cut, 1)), curve.area(), **CLOSE)


@given(cases)
def test_the_exact_curve_holds_value_and_limit_at_each_jump(data):
    curve = regret_curve(table_of(data))
    assert curve.exact
    assert (np.diff(curve.threshold) >= 0).all()
    values, first = np.unique(curve.threshold, return_index=True)
    assert values[0] == 0.0
    assert values[-1] == 1.0
    assert set(curve.table.forecast) <= set(values)
    np.testing.assert_allclose(curve.value[first], regret_curve(curve.table, grid=values).value, **CLOSE)
    for c, regret in zip(curve.threshold[:-1], curve.value[:-1], strict=True):
        if c == 0.0 and regret == 0.0:
            continue
        beside = regret_curve(curve.table, grid=[c, min(np.nextafter(c, 1.0), 1.0)]).value
        assert np.isclose(beside, regret, rtol=1e-9, atol=1e-12).any()


@given(cases, st.floats(0.0, 1.0))
def test_a_fixed_threshold_is_a_straight_line(data, act_at):
    table = table_of(data)
    curve = regret_curve(table, act_at=act_at)
    dense = regret_curve(table, grid=GRID, act_at=act_at)
    np.testing.assert_allclose(np.interp(GRID, curve.threshold, curve.value), dense.value, **CLOSE)
    np.testing.assert_allclose(curve.area(), trapezoid(curve.value, curve.threshold), **CLOSE)
    np.testing.assert_allclose(
        regret_curve(table, grid=[act_at], act_at=act_at).value,
        regret_curve(table, grid=[act_at]).value,
        **CLOSE,
    )


@pytest.mark.slow
@given(cases)
def test_the_cost_curve_is_the_least_over_thresholds(data):
    table = table_of(data)
    candidates = [*table.forecast, 1.0]
    least = np.min([regret_curve(table, grid=GRID, act_at=t).value for t in candidates], axis=0)
    least = np.minimum(least, (1 - GRID) * table.event_rate)
    curve = cost_curve(table, grid=GRID)
    np.testing.assert_allclose(curve.value, least, **CLOSE)
    assert (curve.value <= np.minimum(curve.treat_all, curve.treat_none) + 1e-12).all()
    exact = cost_curve(table)
    np.testing.assert_allclose(np.interp(GRID, exact.threshold, exact.value), least, **CLOSE)
    for c, t, regret in zip(GRID, curve.best_threshold, curve.value, strict=True):
        best = regret_curve(table, grid=[c], act_at=t).value[0] if t <= 1 else (1 - c) * table.event_rate
        np.testing.assert_allclose(best, regret, **CLOSE)


def test_axes_of_drummond_and_holte():
    curve = cost_curve([0, 1, 0, 1, 0], [0.1, 0.3, 0.4, 0.8, 0.9], grid=[0.0, 0.3, 1.0])
    np.testing.assert_allclose(curve.probability_cost, [1.0, 0.28 / 0.46, 0.0])
    np.testing.assert_allclose(curve.normalized_cost[1], curve.value[1] / 0.46)


def test_sums_are_of_weights():
    weighted = regret_curve([0, 1, 1], [0.2, 0.4, 0.1], sample_weight=[2, 1, 3], grid=GRID)
    repeated = regret_curve([0, 0, 1, 1, 1, 1], [0.2, 0.2, 0.4, 0.1, 0.1, 0.1], grid=GRID)
    np.testing.assert_allclose(weighted.value, repeated.value, **CLOSE)


def test_certain_and_wrong_is_infinite_over_log_odds():
    assert regret_curve([1, 0], [0.0, 0.4]).area(axis="log-odds") == np.inf
    assert np.isfinite(regret_curve([1, 0], [0.0, 0.4]).area((0.1, 0.9), axis="log-odds"))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: regret_curve([0, 1], [0.1, 0.2], grid=[0.5, 1.5]), InputValueError, "grid must lie in"),
        (lambda: regret_curve([0, 1], [0.1, 0.2], grid=["low"]), InputTypeError, "grid must hold real numbers"),
        (lambda: regret_curve([0, 1], [0.1, 0.2], grid=[]), InputValueError, "must be a number or a 1-D array"),
        (lambda: regret_curve([0, 1], [0.1, 0.2], act_at="half"), InputTypeError, "act_at must be one threshold"),
        (lambda: regret_curve([0, 1], [0.1, 0.2], act_at=2.0), InputValueError, "act_at must lie in"),
        (lambda: regret_curve([0, 1], [0.1, 0.2]).area((0.5, 0.5)), InputValueError, "low < high"),
        (lambda: regret_curve([0, 1], [0.1, 0.2]).area(axis="cubic"), InputValueError, "axis must be one of"),
    ],
    ids=["thresholds", "text", "none", "type", "range", "interval", "axis"],
)
def test_bad_arguments_are_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_views():
    curve = regret_curve([0, 1, 0, 1], [0.1, 0.3, 0.4, 0.8], act_at=0.5)
    assert repr(curve) == "ThresholdCurve(scale=regret, rows=2, act_at=0.5, prevalence=0.5, n=4)"
    assert list(curve.to_frame().columns) == ["threshold", "value", "treat_all", "treat_none"]
    assert "table" not in curve.to_dict()
    assert area_under_regret(np.array([0.0]), np.array([0.0]), np.array([1.0]), pr.weights.UniformWeight()) == 0.0


def test_forecasts_of_0_and_1_add_no_piece_without_length():
    inside, ends = regret_curve([0, 1], [0.3, 0.5]), regret_curve([0, 0, 1, 1], [0.0, 0.3, 0.5, 1.0])
    assert inside.threshold.tolist() == [0.0, 0.3, 0.3, 0.5, 0.5, 1.0]
    assert ends.threshold.tolist() == [0.0, *inside.threshold.tolist()]
    assert ends.value[:3].tolist() == pytest.approx([0.0, 0.0, 0.075])


def test_what_a_cost_curve_rests_on():
    curve = cost_curve(pr.cases([0, 1, 0, 1, 1], [0.1, 0.3, 0.4, 0.8, None], missing="drop"))
    assert (curve.prevalence, curve.n, curve.dropped, curve.exact) == (0.5, 4, 1, True)
    assert not cost_curve([0, 1], [0.1, 0.3], grid=[0.5]).exact
