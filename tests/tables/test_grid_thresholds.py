"""Decisions at a threshold inside a cell of pooled forecasts are refused, or their thresholds are left out."""

import numpy as np
import pytest

import propriety as pr

RNG = np.random.default_rng(4)
Q = 1.0 / (1.0 + np.exp(3.0 - 1.5 * RNG.normal(size=3000)))
Y = (RNG.random(3000) < Q).astype(int)
EXACT = pr.condense(Y, Q).table()
COARSE = EXACT.grid(16)
AT_EDGES = np.array([1, 2, 5]) / 16


@pytest.mark.parametrize(
    "ask",
    [
        lambda table, t: pr.decision_curve(table, grid=t).value,
        lambda table, t: pr.regret_curve(table, grid=t).value,
        lambda table, t: pr.murphy_curve(table, grid=t).value,
        lambda table, t: pr.decision_curve(table, thresholds=float(t[0])).operating_points().sensitivity,
        lambda table, t: [float(pr.mean_score(table, rule=pr.Elementary(one))) for one in t],
        lambda table, t: [pr.measures.NetBenefit(one).value(table) for one in t],
        lambda table, t: [pr.measures.Regret(one).value(table) for one in t],
        lambda table, t: pr.regret_curve(table, act_at=float(t[0])).value,
    ],
    ids=["net benefit", "regret", "Murphy", "points", "mean score", "measure", "regret at", "act at"],
)
def test_a_threshold_inside_a_cell_is_refused_and_at_its_edge_exact(ask):
    np.testing.assert_allclose(ask(COARSE, AT_EDGES), ask(EXACT, AT_EDGES), rtol=1e-12)
    with pytest.raises(pr.errors.InputValueError, match=r"share a cell of the table with the threshold 0\.02.*1/16"):
        ask(COARSE, np.array([0.02, 0.4]))


def test_curves_of_coarse_tables_have_only_thresholds_at_which_decisions_are_known():
    for coarse, exact in (
        (pr.decision_curve(COARSE), pr.decision_curve(EXACT, grid=pr.decision_curve(COARSE).threshold)),
        (pr.regret_curve(COARSE), pr.regret_curve(EXACT, grid=pr.regret_curve(COARSE).threshold)),
    ):
        np.testing.assert_allclose(coarse.value, exact.value, atol=0.002)
        assert {1 / 16, 0.125} <= set(coarse.threshold.tolist())
        assert 0.02 not in coarse.threshold
    assert not pr.murphy_curve(COARSE).exact


def test_fine_cells_and_equal_forecasts_decide():
    assert pr.decision_curve(EXACT.grid(2**20), grid=[0.02]).value == pytest.approx(
        pr.decision_curve(EXACT, grid=[0.02]).value, abs=1e-3
    )
    few = pr.condense([0, 1, 0, 1] * 50, [0.1, 0.1, 0.3, 0.3] * 50).table()
    assert pr.decision_curve(few.grid(8), grid=[0.1]).value == pr.decision_curve(few, grid=[0.1]).value
