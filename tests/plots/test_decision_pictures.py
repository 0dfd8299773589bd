"""Pictures of decisions show what was computed: the data and the labels are looked at, not the pixels."""

import matplotlib as mpl
import numpy as np
import pytest
from drawn import legend, line, texts
from matplotlib import pyplot as plt
from scipy.integrate import trapezoid

import propriety as pr
from propriety.decisions.decision_curves import cost_curve, decision_curve, murphy_curve, regret_curve
from propriety.decisions.roc import roc_curve
from propriety.plots import plot_roc_curves, plot_threshold_curves
from propriety.plots.drawing import shown

mpl.use("agg")

RNG = np.random.default_rng(0)
P = RNG.random(400) ** 2
Y = RNG.random(400) < P
Q = np.clip(P + RNG.normal(0, 0.2, 400), 0, 1)


def chances(ax):
    ax.figure.canvas.draw()
    return [tick.get_text() for tick in ax.child_axes[0].get_xticklabels()]


def test_regret_is_drawn_with_its_area():
    curve = regret_curve(Y, P)
    ax = curve.plot()
    x, y = line(ax, "_curve")
    assert trapezoid(y, x) == pytest.approx(curve.area(), rel=1e-9)
    assert f"area {shown(curve.area())}, half the Brier score" in "\n".join(texts(ax))
    assert "treat all" in texts(ax)
    assert "treat none" in texts(ax)
    assert ax.get_xlim() == (0, 1)


def test_regret_over_log_odds_names_the_log_loss():
    curve = regret_curve(Y, P)
    ax = curve.plot(axis="log-odds")
    assert ax.get_xscale() == "logit"
    assert f"area {shown(curve.area(axis='log-odds'))}, the log loss" in "\n".join(texts(ax))
    assert {"1 in 2", "1 in 10", "1 in 500"} <= set(chances(ax))


def test_regret_of_a_fixed_threshold_says_which():
    ax = regret_curve(Y, P, act_at=0.3).plot(label="mine")
    assert "all decisions at 30%" in "\n".join(texts(ax))
    assert ax.get_title(loc="left") == "mine"


def test_least_regret_runs_through_its_corners():
    curve = cost_curve(Y, P)
    x, y = line(curve.plot(), "_curve")
    np.testing.assert_array_equal(x, curve.threshold)
    np.testing.assert_array_equal(y, curve.value)


def test_thresholds_are_percentages_and_chances():
    ax = decision_curve(Y, P, thresholds=0.1).plot()
    assert chances(ax) == ["1 in 10", "1 in 20", "1 in 50"]
    assert [tick.get_text() for tick in ax.get_xticklabels()][:3] == ["0%", "5%", "10%"]
    assert ax.get_xlabel() == "Threshold: act if the forecast is at least"


@pytest.mark.slow
def test_decision_curves_name_models_and_policies():
    curves = {"a": decision_curve(Y, P), "b": decision_curve(Y, Q, harm=0.01)}
    ax = plot_threshold_curves(curves)
    for label, curve in zip(("a", "b, harm 0.01"), curves.values(), strict=True):
        np.testing.assert_array_equal(line(ax, label)[1], curve.value)
    x, y = line(ax, "_treat all")
    np.testing.assert_allclose(np.interp(0.3, x, y), np.interp(0.3, curves["a"].threshold, curves["a"].treat_all), 1e-2)
    assert legend(ax) == ["a", "b, harm 0.01"]
    assert "treat none" in texts(ax)
    assert decision_curve(Y, P).plot().get_legend() is None


def test_rare_events_narrow_the_thresholds():
    y = np.zeros(1000, dtype=int)
    y[:20] = 1
    assert decision_curve(y, RNG.random(1000) / 10).plot().get_xlim() == (0, 0.1)


@pytest.mark.parametrize("rate", [0.015, 0.001, 0.0002])
def test_the_curve_of_rare_events_fills_the_axis(rate):
    p = RNG.beta(0.3, 0.3 / rate, 20_000)
    ax = plot_threshold_curves({"a": decision_curve(RNG.random(20_000) < p, p)})
    x, _ = line(ax, "a")
    right = ax.get_xlim()[1]
    assert np.count_nonzero(x <= right) >= 100
    assert x[0] <= 0.01 * right * (1 + 1e-9)
    assert 5 * p.mean() <= 2 * right <= 40 * p.mean()


@pytest.mark.parametrize("highest", [0.6, 0.006])
def test_curves_without_events_are_drawn_over_all_thresholds(highest):
    ax = decision_curve(np.zeros(100, dtype=int), np.linspace(0, highest, 100), labels=[0, 1]).plot()
    assert ax.get_xlim() == (0, 1)
    assert ax.get_ylim()[0] < 0 < ax.get_ylim()[1]


def test_a_difference_names_the_better_model():
    difference = decision_curve(Y, P).minus(decision_curve(Y, Q))
    ax = difference.plot(labels=("a", "b"))
    np.testing.assert_array_equal(line(ax, "_curve")[1], difference.value)
    assert texts(ax) == ["a better", "b better"]


def test_murphy_diagram_shows_parts_and_areas():
    curve = murphy_curve(Y, P, normalize="brier")
    ax = curve.plot()
    areas = curve.areas
    shorts = {"score": "score", "MCB": "miscalibration", "DSC": "discrimination", "UNC": "uncertainty"}
    assert legend(ax) == [f"{short}  {shown(areas[name])}" for short, name in shorts.items()]
    np.testing.assert_array_equal(line(ax, legend(ax)[1])[1], curve.miscalibration)
    assert "area: the Brier score" in ax.get_ylabel()
    assert len(legend(murphy_curve(Y, P, parts=False).plot())) == 1


def test_roc_curve_shows_area_hull_and_thresholds():
    curve = roc_curve(Y, P)
    hull = curve.hull()
    ax = curve.plot(hull=hull)
    np.testing.assert_array_equal(line(ax, "_curve")[1], curve.true_positive_rate)
    np.testing.assert_array_equal(line(ax, "_hull")[0], hull.false_positive_rate)
    assert f"AUC {shown(curve.auc)}" in "\n".join(texts(ax))
    assert f"convex hull {shown(hull.auc)}" in "\n".join(texts(ax))
    (half,) = [note for note in ax.texts if note.get_text() == "≥ 50%"]
    np.testing.assert_allclose(half.xy, [np.mean(P[~Y] >= 0.5), np.mean(P[Y] >= 0.5)])
    assert ax.get_aspect() == 1.0


def test_several_models_on_one_picture():
    regrets = {"a": regret_curve(Y, P), "best": cost_curve(Y, P)}
    assert legend(plot_threshold_curves(regrets)) == [f"a  (area {shown(regrets['a'].area())})", "best"]
    murphys = {"a": murphy_curve(Y, P), "b": murphy_curve(Y, Q)}
    assert legend(plot_threshold_curves(murphys))[1] == f"b  (area {shown(murphys['b'].area())})"
    rocs = {"a": roc_curve(Y, P), "b": roc_curve(Y, Q)}
    assert legend(plot_roc_curves(rocs))[0] == f"a  (AUC {shown(rocs['a'].auc)})"


RANGE = (0.05, 0.2)
WITH_THRESHOLDS = {
    "decision": lambda own: decision_curve(Y, P, thresholds=own).plot(),
    "decisions": lambda own: plot_threshold_curves({"a": decision_curve(Y, P, thresholds=own)}),
    "regret": lambda own: regret_curve(Y, P, thresholds=own).plot(),
    "regrets": lambda own: plot_threshold_curves({"a": regret_curve(Y, P, thresholds=own), "b": regret_curve(Y, Q)}),
    "cost": lambda own: cost_curve(Y, P, thresholds=own).plot(),
    "murphy": lambda own: murphy_curve(Y, P, thresholds=own).plot(),
    "murphys": lambda own: plot_threshold_curves({"a": murphy_curve(Y, P, thresholds=own)}),
    "difference": lambda own: decision_curve(Y, P, thresholds=own).minus(decision_curve(Y, Q, thresholds=own)).plot(),
}


def band(ax):
    (found,) = [patch for patch in ax.patches if str(patch.get_label()).startswith("threshold")]
    return found


@pytest.mark.parametrize("drawn", WITH_THRESHOLDS.values(), ids=WITH_THRESHOLDS)
def test_a_range_of_thresholds_is_shaded_and_named_and_the_picture_is_around_it(drawn):
    ax = drawn(RANGE)
    ends = band(ax).get_bbox()
    assert (ends.x0, ends.x1) == pytest.approx(RANGE)
    assert ax.get_xlim() == pytest.approx((0.0, 0.275))
    named = "\n".join(texts(ax) if ax.get_legend() is None else legend(ax))
    assert "thresholds 5% to 20%" in named


@pytest.mark.parametrize("drawn", WITH_THRESHOLDS.values(), ids=WITH_THRESHOLDS)
def test_one_threshold_is_a_narrow_band_in_the_middle(drawn):
    ax = drawn(0.1)
    ends = band(ax).get_bbox()
    assert (ends.x0 + ends.x1) / 2 == pytest.approx(0.1)
    assert ends.width < 0.01
    assert ax.get_xlim() == pytest.approx((0.0, 0.2))


def test_a_range_far_from_0_is_drawn_from_below_it():
    ax = decision_curve(Y, P, thresholds=(0.6, 0.8)).plot()
    assert ax.get_xlim() == pytest.approx((0.5, 0.9))
    x, y = line(ax, "forecast")
    seen = y[(x >= 0.5) & (x <= 0.9)]
    low, high = ax.get_ylim()
    assert low < 0.0 < seen.max() < high


def test_a_model_that_only_harms_is_seen():
    ax = decision_curve(~Y, P, thresholds=(0.85, 0.95)).plot()
    x, y = line(ax, "forecast")
    seen = y[(x >= 0.8) & (x <= 1.0)]
    assert seen.max() < 0.0
    assert ax.get_ylim()[0] < seen.min()


@pytest.mark.slow
@pytest.mark.parametrize("drawn", WITH_THRESHOLDS.values(), ids=WITH_THRESHOLDS)
@pytest.mark.parametrize("thresholds", [None, 0.1, RANGE, (0.3, 0.9)], ids=str)
def test_no_line_crosses_a_legend_or_a_name(drawn, thresholds):
    ax = drawn(thresholds)
    ax.figure.canvas.draw()
    boxes = {text.get_text(): text.get_window_extent() for text in ax.texts if text.get_text()}
    if ax.get_legend() is not None:
        boxes |= {"legend": ax.get_legend().get_window_extent()}
    for one in ax.get_lines():
        path = one.get_path().transformed(one.get_transform())
        crossed = [name for name, box in boxes.items() if path.intersects_bbox(box, filled=False)]
        assert not crossed, (one.get_label(), crossed)


def test_roc_curves_mark_the_thresholds():
    curves = {"a": roc_curve(Y, P, thresholds=RANGE), "b": roc_curve(Y, Q, thresholds=RANGE)}
    ax = plot_roc_curves(curves)
    marks = [one for one in ax.get_lines() if one.get_label() == "_mark"]
    expected = [np.mean(P[~Y] >= 0.05), np.mean(P[~Y] >= 0.2)]
    np.testing.assert_allclose(marks[0].get_xdata(), expected)
    assert legend(ax)[-1] == "thresholds 5% and 20%"
    alone = [text.get_text() for text in curves["a"].plot().texts]
    assert {"≥ 5%", "≥ 20%"} <= set(alone)


def test_pictures_go_on_the_axes_of_the_caller_and_change_no_settings():
    before = dict(mpl.rcParams)
    results = [
        regret_curve(Y, P),
        cost_curve(Y, P),
        decision_curve(Y, P),
        decision_curve(Y, P).minus(decision_curve(Y, Q)),
        murphy_curve(Y, P),
        roc_curve(Y, P),
    ]
    for result in results:
        _, ax = plt.subplots()
        assert result.plot(ax) is ax
    assert dict(mpl.rcParams) == before


@pytest.mark.slow
@pytest.mark.parametrize("y", [[0, 0], [1, 1]])
def test_one_kind_of_case_can_be_drawn(y):
    for curve in (regret_curve, cost_curve, murphy_curve, decision_curve):
        curve(y, [0.2, 0.4], labels=[0, 1]).plot().figure.canvas.draw()


def test_precision_and_recall_against_the_capacity():
    result = pr.top_k([0, 1, 0, 1, 1], [0.1, 0.4, 0.5, 0.7, 0.9], k=[4, 1, 2])
    ax = result.plot()
    lines = {line.get_label(): line.get_xydata() for line in ax.get_lines()}
    np.testing.assert_allclose(lines["precision: events among cases acted on"], [[1, 1], [2, 1], [4, 3 / 4]])
    np.testing.assert_allclose(lines["recall: events acted on"], [[1, 1 / 3], [2, 2 / 3], [4, 1]])
    assert "prevalence 60.0%" in [text.get_text() for text in ax.texts]
    assert len(pr.top_k([0, 1], [0.1, 0.4], k=1).plot().get_lines()) == 3


@pytest.mark.parametrize(
    ("y", "k", "prevalence"),
    [
        pytest.param([1, 0, 0, 0], 1, 0.25, id="one capacity without an event"),
        pytest.param([1, 0, 0, 0], [1, 2], 0.25, id="several without an event"),
        pytest.param([1, 0, 0, 0], [2, 4], 0.25, id="only the first without an event"),
        pytest.param([0, 0, 0, 0], [1, 2], 0.0, id="no event at all"),
    ],
)
def test_the_prevalence_is_drawn_where_the_first_hold_no_event(y, k, prevalence):
    ax = pr.top_k(y, [0.1, 0.4, 0.5, 0.7], k=k).plot()
    assert ax.get_lines()[0].get_ydata()[0] == prevalence
    assert f"prevalence {prevalence:.1%}" in [text.get_text() for text in ax.texts]


def test_operating_points_are_drawn_with_their_limits():
    found = decision_curve(Y, P).operating_points(grid=[0.3, 0.1, 0.2])
    ax = found.plot(label="triage")
    assert ax.get_title(loc="left") == "triage"
    lines = {line.get_label(): line for line in ax.get_lines()}
    assert list(lines) == ["sensitivity", "specificity", "PPV", "NPV", "alert rate"]
    order = np.argsort(found.threshold)
    np.testing.assert_array_equal(lines["PPV"].get_xdata(), found.threshold[order])
    np.testing.assert_array_equal(lines["PPV"].get_ydata(), found.positive_predictive_value[order])
    assert len(ax.collections) == len(lines)


@pytest.mark.parametrize("grid", [[0.2], [0.2, 0.2]])
def test_limits_at_a_single_threshold_are_bars(grid):
    """A band over one threshold would have no width."""
    found = decision_curve(Y, P).operating_points(grid=grid)
    ax = found.plot()
    assert ax.get_xticks().tolist() == [0.2]
    assert "bars: 95%" in ax.get_xlabel()
    (segment, *_) = ax.collections[0].get_segments()
    assert segment[:, 1].tolist() == [found.sensitivity_low[0], found.sensitivity_high[0]]
