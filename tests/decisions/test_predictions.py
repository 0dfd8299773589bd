"""Every analysis of decisions takes predictions in the same way: weights, names of outcomes, missing values, a table."""

import numpy as np
import pytest

import propriety as pr
from propriety import BoundedBrier, mean_score
from propriety.decisions.agreement import quadratic_weighted_kappa
from propriety.decisions.decision_curves import cost_curve, decision_curve, murphy_curve, regret_curve
from propriety.decisions.expected_cost import expected_cost
from propriety.decisions.ranking_map import ranking_map
from propriety.decisions.roc import roc_curve
from propriety.decisions.top_k import top_k
from propriety.decisions.weighted_regret import h_measure, weighted_regret
from propriety.errors import InputValueError, MissingValuesError
from propriety.rules.weights import BetaWeight
from propriety.tables.forecast_table import ForecastTable

Y = np.array([0, 1, 0, 1, 1, 0, 0, 1])
P = np.array([0.1, 0.7, 0.4, 0.3, 0.9, 0.6, 0.2, 0.6])
WEIGHT = np.array([1.0, 2.0, 0.5, 1.0, 3.0, 1.5, 1.0, 2.0])

ANALYSES = {
    "decision_curve": decision_curve,
    "murphy_curve": murphy_curve,
    "roc_curve": roc_curve,
    "regret_curve": regret_curve,
    "cost_curve": cost_curve,
    "top_k": lambda *a, **o: top_k(*a, k=3, thresholds=0.3, **o),
    "weighted_regret": lambda *a, **o: weighted_regret(*a, weight=BetaWeight(2, 3), **o),
    "h_measure": h_measure,
}


@pytest.fixture(params=ANALYSES.values(), ids=ANALYSES)
def analysis(request):
    """Return an analysis of one forecast."""
    return request.param


def same(one, other, **but):
    """Tell whether two results agree in everything, but for what is named."""
    np.testing.assert_equal(one.to_dict(), other.to_dict() | but)


def test_the_names_of_the_outcomes_do_not_matter(analysis):
    named = np.where(Y, "bad", "good")
    same(analysis(named, P, pos_label="bad"), analysis(Y, P))
    same(analysis(named, P, labels=["good", "bad"]), analysis(Y, P))


def test_weights_count(analysis):
    table = ForecastTable.from_predictions(Y, P, sample_weight=WEIGHT)
    same(analysis(Y, P, sample_weight=WEIGHT), analysis(table))
    assert analysis(Y, P, sample_weight=WEIGHT).to_dict() != analysis(Y, P).to_dict()


def test_missing_values_are_refused_or_dropped_and_counted(analysis):
    y, p = np.append(Y, 1), np.append(P, np.nan)
    with pytest.raises(MissingValuesError):
        analysis(y, p)
    same(analysis(pr.cases(y, p, missing="drop")), analysis(Y, P), dropped=1)


def test_the_ranking_map_takes_them_alike():
    forecasts, named = {"a": P, "b": 1 - P}, np.where(Y, "bad", "good")
    grid = [0.2, 0.5, 0.8]
    sound = ranking_map(Y, forecasts, grid=grid)
    same(ranking_map(named, forecasts, grid=grid, pos_label="bad"), sound)
    same(ranking_map(named, forecasts, grid=grid, labels=["good", "bad"]), sound)
    weighted = ranking_map(Y, forecasts, grid=grid, sample_weight=WEIGHT)
    rule = BoundedBrier(0.2, 0.5)
    expected = [mean_score(Y, p, rule=rule, sample_weight=WEIGHT) for p in forecasts.values()]
    np.testing.assert_allclose(weighted.regrets[0], expected, rtol=1e-12)
    gap = {name: np.append(p, np.nan) for name, p in forecasts.items()}
    with pytest.raises(MissingValuesError):
        ranking_map(np.append(Y, 1), gap, grid=grid)
    same(ranking_map(pr.cases(np.append(Y, 1), gap, missing="drop"), grid=grid), sound, dropped=1)


@pytest.mark.parametrize("measure", [expected_cost, quadratic_weighted_kappa], ids=lambda measure: measure.__name__)
def test_measures_of_decided_classes_take_them_alike(measure):
    y, rows, weight = np.array([0, 1, 2, 2, 1]), np.eye(3)[[0, 2, 2, 1, 1]], np.array([1, 2, 1, 3, 1])
    names = np.array(["low", "middle", "high"])
    sound = measure(y, rows)
    assert measure(names[y], rows, labels=names) == sound
    repeated = measure(np.repeat(y, weight), np.repeat(rows, weight, axis=0))
    assert measure(y, rows, sample_weight=weight) == pytest.approx(repeated, rel=1e-12)
    more = np.vstack([rows, [np.nan, 0.5, 0.5]])
    with pytest.raises(MissingValuesError):
        measure(np.append(y, 1), more)
    dropped = measure(pr.cases(np.append(y, 1), more, missing="drop"))
    assert (dropped, dropped.n, dropped.dropped) == (sound, 5, 1)
    with pytest.raises(InputValueError, match="sum to 1"):
        measure(y, rows * 0.996)


def test_what_the_curves_tell_of_themselves():
    y, p = np.append(Y, 1), np.append(P, np.nan)
    assert repr(roc_curve(Y, P)) == "RocCurve(rows=8, auc=0.84375, n=8)"
    assert repr(roc_curve(Y, P).hull()).endswith(", is_hull=True, n=8)")
    assert repr(regret_curve(Y, P, act_at=0.5)).endswith(", act_at=0.5, prevalence=0.5, n=8)")
    assert "act_at" not in repr(regret_curve(Y, P))
    assert repr(decision_curve(Y, P)) == "ThresholdCurve(scale=net benefit, rows=99, prevalence=0.5, n=8)"
    assert (
        repr(decision_curve(Y, P, harm=0.1))
        == "ThresholdCurve(scale=net benefit, rows=99, prevalence=0.5, harm=0.1, n=8)"
    )
    for analysis in (roc_curve, regret_curve, decision_curve):
        assert repr(analysis(pr.cases(y, p, missing="drop"))).endswith(", n=8, dropped=1)")
        assert "dropped" not in repr(analysis(Y, P))


def test_what_the_analyses_do_by_default():
    same(murphy_curve(Y, P), murphy_curve(Y, P, normalize="regret", parts=True))
    same(h_measure(Y, P), h_measure(Y, P, alpha=2.0, beta=2.0))
    same(decision_curve(Y, P), decision_curve(Y, P, harm=0.0, grid=np.arange(1, 100) / 100))
    ranking = ranking_map(Y, {"a": P, "b": 1 - P})
    assert (ranking.axis, ranking.level, len(ranking.grid), ranking.marked) == ("linear", 0.95, 41, None)
    curve, regret, roc = decision_curve(Y, P), regret_curve(Y, P), roc_curve(Y, P)
    assert curve.area((0.1, 0.6)) == curve.area((0.1, 0.6), axis="linear")
    np.testing.assert_array_equal(curve.position(), curve.threshold)
    assert regret.area() == regret.area((0.0, 1.0), axis="linear")
    same(roc.partial_area(), roc.partial_area(0.0, 1.0))
    assert not roc.is_hull
    assert (regret.exact, regret_curve(Y, P, grid=[0.5]).exact) == (True, False)
    assert (cost_curve(Y, P).exact, cost_curve(Y, P, grid=[0.5]).exact) == (True, False)
