"""Curves that are compared with one line, or share one label, must be of the same cases, rule and scale."""

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt

import propriety as pr
from propriety.errors import InputValueError
from propriety.plots.shared_references import check_same

mpl.use("agg")

RNG = np.random.default_rng(5)
P = RNG.random(400)
Y = RNG.random(400) < P
RARE = Y & (RNG.random(400) < 0.3)
ROWS = np.column_stack([1 - P, 0.6 * P, 0.4 * P])


def gains(y):
    return pr.roc_curve(y, P).gains()


DIFFERENT = {
    "prevalence of decision curves": (
        pr.plots.plot_threshold_curves,
        pr.decision_curve(Y, P),
        pr.decision_curve(RARE, P),
        "the same prevalence",
    ),
    "event rate of regrets": (
        pr.plots.plot_threshold_curves,
        pr.regret_curve(Y, P),
        pr.cost_curve(RARE, P),
        "the same prevalence",
    ),
    "scale of curves": (
        pr.plots.plot_threshold_curves,
        pr.regret_curve(Y, P),
        pr.decision_curve(Y, P),
        "the same scale",
    ),
    "unit of Murphy curves": (
        pr.plots.plot_threshold_curves,
        pr.murphy_curve(Y, P),
        pr.murphy_curve(Y, P, normalize="brier"),
        "the same unit",
    ),
    "uncertainty of decompositions": (
        pr.plots.plot_decompositions,
        pr.decompose(Y, P),
        pr.decompose(RARE, P),
        "the same uncertainty",
    ),
    "rule of decompositions": (
        pr.plots.plot_decompositions,
        pr.decompose(Y, P),
        pr.decompose(Y, P, rule=pr.Log()),
        "the same rule",
    ),
    "uncertainty at cut points": (
        pr.plots.plot_cut_point_decompositions,
        pr.decompose(Y + (P > 0.8), ROWS, rule=pr.RankedProbability()),
        pr.decompose(RARE + (P > 0.5), ROWS, rule=pr.RankedProbability()),
        "the same uncertainty at the cut point 0",
    ),
    "prevalence of gains": (pr.plots.plot_gains, gains(Y), gains(RARE), "the same prevalence"),
    "prevalence of precision": (pr.plots.plot_precision_recall, gains(Y), gains(RARE), "the same prevalence"),
    "thresholds of ROC curves": (
        pr.plots.plot_roc_curves,
        pr.roc_curve(Y, P, thresholds=0.1),
        pr.roc_curve(Y, P, thresholds=0.2),
        "the same thresholds",
    ),
    "thresholds of decision curves": (
        pr.plots.plot_threshold_curves,
        pr.decision_curve(Y, P, thresholds=(0.1, 0.2)),
        pr.decision_curve(Y, P, thresholds=(0.1, 0.3)),
        "the same thresholds",
    ),
}
EMPTY = ("curves", "gains", "grid", "lifts", "precision_recall", "threshold_curves")


@pytest.mark.parametrize("kind", DIFFERENT)
def test_curves_that_cannot_share_a_reference_are_refused_with_a_hint(kind):
    plot, first, second, law = DIFFERENT[kind]
    with pytest.raises(
        InputValueError, match=f"must have {law} to be drawn together; 'a' has .* and 'b' .* separate axes"
    ):
        plot({"a": first, "b": second})
    plot({"a": first, "b": first})
    plt.close("all")


def test_weights_that_are_added_in_another_order_give_the_same_reference():
    weight, order = RNG.exponential(size=400), RNG.permutation(400)
    curves = {
        "a": pr.decision_curve(Y, P, sample_weight=weight),
        "b": pr.decision_curve(Y[order], 1 - P[order], sample_weight=weight[order]),
    }
    pr.plots.plot_threshold_curves(curves)
    plt.close("all")


def test_numbers_may_differ_by_rounding_only():
    check_same({"a": 0.1, "b": 0.1 * (1 + 1e-7)}, "prevalence", float)
    with pytest.raises(InputValueError, match="same prevalence"):
        check_same({"a": 0.1, "b": 0.1 * (1 + 1e-5)}, "prevalence", float)


def test_lifts_of_several_populations_are_each_relative_to_their_own_prevalence():
    pr.plots.plot_lifts({"a": gains(Y), "b": gains(RARE)})
    plt.close("all")


@pytest.mark.parametrize("kind", [*EMPTY, "risk_coverage_curves", "roc_curves", "decompositions"])
def test_nothing_to_draw_is_an_error(kind):
    argument = "decompositions" if kind.endswith("decompositions") else "curves"
    with pytest.raises(InputValueError, match=f"{argument} must not be empty"):
        getattr(pr.plots, f"plot_{kind}")({})
    assert not plt.get_fignums()
