"""Regret under weights on thresholds: golden cases, the measures that it unites, quadrature, the H-measure."""

import math
import pickle

import narwhals as nw
import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import propriety as pr
from propriety.decisions.weighted_regret import WeightedRegret, h_measure, weighted_regret
from propriety.errors import InputTypeError, InputValueError, UnsupportedOperationError
from propriety.rules.operations import NARWHALS
from propriety.rules.weights import (
    BetaWeight,
    CustomWeight,
    LogOddsWeight,
    NetBenefitWeight,
    PointsWeight,
    UniformWeight,
)
from propriety.tables.forecast_table import ForecastTable

CLOSE = 1e-12
POINTS = ([0.1, 0.2, 0.2, 0.6, 0.9], [0.0, 3.0, 1.0, 0.5, 2.0])
WEIGHTS = [
    UniformWeight(),
    UniformWeight(0.2, 0.45),
    LogOddsWeight(0.05, 0.7),
    NetBenefitWeight(0.1, 0.9),
    BetaWeight(2, 5),
    PointsWeight(*POINTS),
    CustomWeight(np.exp, 0.05, 0.9),
]

probabilities = st.one_of(st.integers(0, 10).map(lambda tenths: tenths / 10), st.floats(0, 1))
intervals = st.tuples(st.floats(0.02, 0.9), st.floats(0.05, 0.95)).filter(lambda pair: pair[1] - pair[0] > 0.02)


@st.composite
def samples(draw, least=1):
    cases = draw(st.lists(st.tuples(st.booleans(), probabilities), min_size=least, max_size=20))
    return np.array([case[0] for case in cases]), np.array([case[1] for case in cases])


def integral_of_the_regret(y, p, weight, bends=()):
    """Integrate R*(c) w(c) by 60 nodes between all forecasts and bends, counting case by case."""
    edges = np.unique([0.0, 1.0, *p, *bends])
    at, share = np.polynomial.legendre.leggauss(60)
    c = (edges[:-1, None] + np.diff(edges)[:, None] * (at + 1) / 2).ravel()
    acts = p >= c[:, None]
    regret = (c[:, None] * (acts & ~y) + (1 - c[:, None]) * (~acts & y)).mean(axis=1)
    return float((regret * weight.density(c)) @ (np.diff(edges)[:, None] * share / 2).ravel())


def test_golden_beta_weights(golden):
    inputs, expected = golden("beta_regret")
    for alpha, beta in ((2, 2), (2, 8), (1, 1)):
        regret = weighted_regret(inputs["y"], inputs["s"], weight=BetaWeight(alpha, beta))
        assert regret == pytest.approx(expected[f"beta_{alpha}_{beta}"], rel=CLOSE)


def test_golden_h_measure(golden):
    inputs, expected = golden("beta_regret")
    h = h_measure(inputs["y"], inputs["s"])
    assert h == pytest.approx(expected["H_measure_beta_2_2"], rel=CLOSE)
    assert h.higher_is_better
    parts = pr.decompose(inputs["y"], inputs["s"], rule=WeightedRegret(BetaWeight(2, 2)))
    assert parts.score - parts.miscalibration == pytest.approx(expected["H_numerator"], rel=CLOSE)
    assert parts.uncertainty == pytest.approx(expected["H_reference"], rel=CLOSE)


@pytest.mark.slow
@pytest.mark.parametrize("weight", WEIGHTS, ids=repr)
@given(sample=samples())
def test_the_regret_is_its_integral(weight, sample):
    y, p = sample
    bends = [*POINTS[0], 0.05, 0.1, 0.2, 0.45, 0.7, 0.9]
    assert weighted_regret(y, p, weight=weight) == pytest.approx(
        integral_of_the_regret(y, p, weight, bends), rel=1e-11, abs=1e-13
    )


@pytest.mark.parametrize("weight", WEIGHTS, ids=repr)
def test_the_total_is_the_integral_of_the_density(weight):
    # Where a case is one half event and one half not, and never acted on, or always, the regrets add to the weight.
    never, always = (weight.loss(p, event=event) for p, event in ((0.0, True), (1.0, False)))
    assert weight.total() == pytest.approx(float(never + always), rel=CLOSE)
    normalised = WeightedRegret(weight, normalize="regret")
    assert normalised.loss(0.0, event=True) + normalised.loss(1.0, event=False) == pytest.approx(1.0)


@given(samples())
def test_the_scores_that_weights_unite(sample):
    y, p = sample
    same = {"rel": 1e-10, "abs": 1e-13}
    assert 2 * weighted_regret(y, p, weight=UniformWeight()) == pytest.approx(pr.brier_score(y, p), **same)
    assert weighted_regret(y, p, weight=LogOddsWeight()) == pytest.approx(pr.log_score(y, p), **same)
    assert weighted_regret(y, p, weight=lambda c: (c**2 + (1 - c) ** 2) ** -1.5) == pytest.approx(
        pr.spherical_score(y, p), **same
    )
    mu = 0.2
    shifted = weighted_regret(y, p, weight=lambda c: 2 * mu**2 * (1 - mu) ** 2 / (mu + c * (1 - 2 * mu)) ** 3)
    assert shifted == pytest.approx(pr.mean_score(y, p, rule=pr.ShiftedBrier(mu)), **same)


@pytest.mark.slow
@given(samples(), intervals)
def test_the_bounded_measures_that_weights_unite(sample, thresholds):
    y, p = sample
    width = thresholds[1] - thresholds[0]
    same = {"rel": 1e-10, "abs": 1e-13}
    assert weighted_regret(y, p, weight=UniformWeight(*thresholds), normalize="regret") == pytest.approx(
        pr.bounded_brier_score(y, p, thresholds=thresholds), **same
    )
    assert weighted_regret(y, p, weight=LogOddsWeight(*thresholds), normalize="regret") == pytest.approx(
        pr.bounded_log_score(y, p, thresholds=thresholds), **same
    )
    forgone = weighted_regret(y, p, weight=NetBenefitWeight(*thresholds)) / width
    assert y.mean() - forgone == pytest.approx(pr.bounded_net_benefit(y, p, thresholds=thresholds), **same)


@given(samples(), intervals)
def test_a_function_is_integrated_as_exactly_as_the_formula(sample, thresholds):
    y, p = sample
    by_formula = weighted_regret(y, p, weight=LogOddsWeight(*thresholds))
    by_nodes = weighted_regret(y, p, weight=CustomWeight(lambda c: 1 / (c * (1 - c)), *thresholds))
    assert by_nodes == pytest.approx(by_formula, rel=1e-11, abs=1e-14)


@pytest.mark.slow
@given(samples())
def test_jumps_are_found(sample):
    y, p = sample
    steps = weighted_regret(y, p, weight=lambda c: np.where((c > 0.123) & (c < 0.777), 2.0, 0.0))
    points = weighted_regret(y, p, weight=([0.123, 0.777], [2.0, 2.0]))
    assert steps == pytest.approx(points, rel=1e-11, abs=1e-12)


def test_a_mild_pole_at_0_is_integrated():
    y, p = np.array([1, 0, 1, 0]), np.array([0.0, 0.3, 0.6, 1.0])
    pole = weighted_regret(y, p, weight=lambda c: c**-0.5 / 2)
    assert pole == pytest.approx(weighted_regret(y, p, weight=BetaWeight(0.5, 1)), rel=1e-11)


def test_many_forecasts_go_in_blocks():
    p = np.random.default_rng(1).random(150_000)
    y = np.arange(len(p)) % 3 == 0
    by_nodes = weighted_regret(y, p, weight=lambda c: 6 * c * (1 - c))
    assert by_nodes == pytest.approx(weighted_regret(y, p, weight=BetaWeight(2, 2)), rel=CLOSE)


@pytest.mark.slow
@pytest.mark.parametrize("weight", WEIGHTS, ids=repr)
def test_as_a_rule_it_keeps_its_claims(weight):
    rule = WeightedRegret(weight)
    assert rule.properties().proper
    claims = [finding for finding in pr.audit(rule).findings if finding.declared is not None]
    assert claims
    assert all(finding.holds for finding in claims)


def test_tables_and_weights_of_cases():
    y, p, w = [0, 1, 1, 0], [0.2, 0.9, 0.4, 0.5], [1, 2, 3, 4]
    table = ForecastTable.from_predictions(y, p, sample_weight=w)
    for weight in WEIGHTS:
        by_case = weighted_regret(np.repeat(y, w), np.repeat(p, w), weight=weight)
        assert weighted_regret(table, weight=weight) == pytest.approx(by_case, rel=CLOSE)
        assert weighted_regret(y, p, weight=weight, sample_weight=w) == pytest.approx(by_case, rel=CLOSE)
    assert h_measure(table) == pytest.approx(h_measure(np.repeat(y, w), np.repeat(p, w)), rel=CLOSE)
    assert weighted_regret(pr.cases([0, 1, None], [0.1, 0.2, 0.3], missing="drop"), weight=UniformWeight()).dropped == 1


def test_regret_and_net_benefit_can_rank_models_in_opposite_order(golden):
    inputs, expected = golden("rank_reversal_brier_vs_nb")
    low, high = inputs["a"], inputs["b"]
    regret, forgone = (
        {m: weighted_regret(inputs["y"], inputs[f"s_{m}"], weight=weight) for m in ("all", "none")}
        for weight in (UniformWeight(low, high), NetBenefitWeight(low, high))
    )
    for model in ("all", "none"):
        assert regret[model] / (high - low) == pytest.approx(expected[f"avg_regret_{model}"], rel=CLOSE)
        benefit = 0.6 - forgone[model] / (high - low)
        assert benefit == pytest.approx(expected[f"avg_nb_{model}"], abs=CLOSE)
    assert regret["all"] < regret["none"]
    assert forgone["all"] > forgone["none"]


@pytest.mark.parametrize("rule", [pr.BoundedBrier, pr.BoundedLog])
@given(sample=samples(least=2), thresholds=intervals)
def test_bounded_skill_is_against_the_clipped_event_rate(rule, sample, thresholds):
    y, p = sample
    assume(0 < y.sum() < len(y))
    bounded = rule(*thresholds)
    against = pr.mean_score(y, np.full(len(y), np.clip(y.mean(), *thresholds)), rule=bounded)
    skill = pr.skill_score(y, p, rule=bounded)
    assert skill == pytest.approx(1 - pr.mean_score(y, p, rule=bounded) / against, rel=1e-9, abs=1e-9)


@given(samples(least=2), st.floats(0.3, 6), st.floats(0.3, 6))
def test_the_h_measure_sees_ranks_only_and_lies_between_0_and_1(sample, alpha, beta):
    y, p = sample
    p = np.round(p, 3)
    assume(0 < y.sum() < len(y))
    h = h_measure(y, p, alpha=alpha, beta=beta)
    assert -1e-9 <= h <= 1
    assert h_measure(y, p / 3 + 0.2, alpha=alpha, beta=beta) == pytest.approx(h, rel=1e-9, abs=1e-9)
    assert h_measure(y, np.full(len(y), 0.4), alpha=alpha, beta=beta) == pytest.approx(0, abs=1e-9)
    assert h_measure(y, y * 0.5, alpha=alpha, beta=beta) == 1


@given(samples(least=2))
def test_the_h_measure_is_the_skill_of_recalibrated_forecasts(sample):
    y, p = sample
    assume(0 < y.sum() < len(y))
    parts = pr.decompose(y, p, rule=pr.BetaRegret(2, 2))
    assert h_measure(y, p) == pytest.approx(parts.discrimination / parts.uncertainty, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("y", [[0, 0], [1, 1]])
def test_the_h_measure_needs_both_classes(y):
    with pytest.raises(InputValueError, match="needs events and non-events; y_true holds one class only"):
        h_measure(y, [0.2, 0.4])


def test_the_h_measure_needs_positive_parameters():
    with pytest.raises(InputValueError, match="alpha must be positive"):
        h_measure([0, 1], [0.2, 0.4], alpha=0)


@pytest.mark.parametrize(
    ("weight", "error", "message"),
    [
        (None, InputTypeError, "weight must be a weight on thresholds, a function, or"),
        (UniformWeight, InputTypeError, "weight must be a weight on thresholds, a function, or"),
        (([0.1, 0.2], [1.0]), InputValueError, "two or more thresholds with one density each"),
        (([0.1], [1.0]), InputValueError, "two or more thresholds with one density each"),
        (([0.2, 0.1], [1.0, 1.0]), InputValueError, "must be in order"),
        (([0.1, 1.2], [1.0, 1.0]), InputValueError, r"grid must lie in \[0, 1\]; entry 1 is 1\.2"),
        (([0.1, 0.2], [1.0, -1.0]), InputValueError, "finite and not negative; at 0.2 it is -1.0"),
        (([0.1, 0.2], ["a", "b"]), InputTypeError, "densities must hold real numbers"),
        (([0.1, 0.2], [0.0, 0.0]), InputValueError, "must be positive somewhere"),
        (lambda c: c - 0.5, InputValueError, "weight must be finite and not negative"),
        (lambda c: 0.0, InputValueError, "must be positive somewhere"),
        (math.exp, InputTypeError, "must take an array of thresholds"),
        (lambda c: c[:2], InputTypeError, "must take an array of thresholds"),
        (lambda c: 1 / c, InputValueError, "does not converge"),
        (lambda c: 1 / (1 - c), InputValueError, "does not converge"),
        (lambda c: np.abs(c - 1 / 3) ** -0.9, InputValueError, "does not converge"),
    ],
    ids=[
        "nothing",
        "class",
        "lengths",
        "one point",
        "order",
        "outside",
        "negative point",
        "words",
        "zero points",
        "negative",
        "zero",
        "not vectorised",
        "shape",
        "pole at 0",
        "pole at 1",
        "pole inside",
    ],
)
def test_weights_that_are_refused(weight, error, message):
    with pytest.raises(error, match=message):
        weighted_regret([0, 1], [0.2, 0.4], weight=weight)


@pytest.mark.parametrize(
    "make",
    [
        lambda: UniformWeight(0.5, 0.2),
        lambda: LogOddsWeight(-0.1, 0.2),
        lambda: NetBenefitWeight(0.3, 0.1),
        lambda: BetaWeight(0, 1),
        lambda: CustomWeight(np.exp, 0.3, 0.3),
        lambda: WeightedRegret(LogOddsWeight(), normalize="regret"),
    ],
    ids=["uniform", "log-odds", "net benefit", "beta", "custom", "infinite total"],
)
def test_parameters_that_are_refused(make):
    with pytest.raises(InputValueError):
        make()


def test_what_is_no_weight_makes_no_rule():
    with pytest.raises(InputTypeError, match=r"such as UniformWeight\(\); got function"):
        WeightedRegret(lambda c: c)


def test_on_an_engine_formulas_stand_and_quadrature_asks_for_a_table():
    frame = nw.from_dict({"p": [0.1, 0.3]}, backend="polars")
    rule = WeightedRegret(UniformWeight(0.2, 0.5))
    column = frame.select(loss=rule.loss(nw.col("p"), event=False, ops=NARWHALS))["loss"]
    np.testing.assert_allclose(column.to_numpy(), rule.loss(np.array([0.1, 0.3]), event=False))
    with pytest.raises(UnsupportedOperationError, match="condense"):
        WeightedRegret(PointsWeight(*POINTS)).loss(nw.col("p"), event=False, ops=NARWHALS)


def test_densities_at_the_ends_and_outside():
    assert UniformWeight(0.2, 0.4).density(np.array([0.1, 0.2, 0.4, 0.5])).tolist() == [0, 1, 1, 0]
    assert LogOddsWeight().density(np.array([0.0, 0.5])).tolist() == [math.inf, 4]
    assert BetaWeight(1, 1).density(np.array([0.0, 0.5, 1.0])).tolist() == [1, 1, 1]
    assert CustomWeight(lambda c: 2.0, 0.2, 0.4).density(np.array([0.1, 0.3])).tolist() == [0, 2]
    assert repr(PointsWeight(*POINTS)) == "PointsWeight(5 points from 0.1 to 0.9)"


def test_points_stay_what_they_were():
    thresholds, densities = np.array([0.1, 0.3]), np.array([1.0, 1.0])
    weight = PointsWeight(thresholds, densities)
    before = weighted_regret([0, 1], [0.2, 0.25], weight=weight)
    thresholds[:], densities[:] = 0.5, 9.0
    assert weighted_regret([0, 1], [0.2, 0.25], weight=weight) == before


@pytest.mark.parametrize("weight", WEIGHTS, ids=repr)
def test_a_pickled_weight_is_the_same(weight):
    again = pickle.loads(pickle.dumps(WeightedRegret(weight)))
    assert weighted_regret([0, 1], [0.2, 0.3], weight=again.weight) == weighted_regret(
        [0, 1], [0.2, 0.3], weight=weight
    )


def test_the_h_measure_names_its_rule_and_scale():
    score = h_measure([0, 1, 0, 1], [0.1, 0.3, 0.4, 0.8])
    assert score.rule == "BetaRegret(alpha=2.0, beta=2.0)"
    assert score.scale == "0 for a constant, 1 for a perfect ranking"
    assert (score.n, score.weight, score.dropped, score.higher_is_better) == (4, 4.0, 0, True)


@pytest.mark.parametrize(
    "weight", [UniformWeight(0.1, 0.6), LogOddsWeight(0.1, 0.6), NetBenefitWeight(0.1, 0.6)], ids=repr
)
@pytest.mark.parametrize("event", [True, False])
def test_formulas_are_the_same_on_an_engine(weight, event):
    p = np.array([0.0, 0.05, 0.1, 0.3, 0.6, 0.9, 1.0])
    loss = weight.loss(nw.col("p"), event=event, ops=NARWHALS)
    found = nw.from_native(pl.DataFrame({"p": p})).select(loss.alias("loss"))["loss"].to_numpy()
    np.testing.assert_allclose(found, weight.loss(p, event=event), rtol=1e-13, atol=1e-15)


def test_net_benefit_up_to_a_threshold_of_1_costs_infinity_only_at_a_forecast_of_1():
    p = np.array([0.0, 0.3, 0.999, 1.0])
    whole, almost = NetBenefitWeight(0.0, 1.0), NetBenefitWeight(0.0, 0.9999)
    np.testing.assert_allclose(whole.loss(p[:3], event=False), almost.loss(p[:3], event=False))
    assert whole.loss(p, event=False)[-1] == math.inf
    assert float(whole.loss(1.0, event=False)) == whole.total() == math.inf
    np.testing.assert_allclose(whole.loss(p, event=True), 1 - p)


@pytest.mark.parametrize("event", [True, False])
@pytest.mark.parametrize("weight", [UniformWeight(0.05, 0.7), LogOddsWeight(0.05, 0.7), NetBenefitWeight(0.05, 0.7)])
def test_costs_add_over_adjacent_ranges(weight, event):
    whole = weight.cost(0.1, 0.6, event=event)
    assert weight.cost(0.1, 0.25, event=event) + weight.cost(0.25, 0.6, event=event) == pytest.approx(whole)
    assert weight.loss(0.3, event=event) == pytest.approx(
        weight.cost(0.3, 0.7, event=True) if event else weight.cost(0.05, 0.3, event=False)
    )
