"""The pictures of error analysis show the numbers of their results, and name what they show."""

import matplotlib as mpl
import numpy as np
import pytest
from drawn import texts
from matplotlib import pyplot as plt
from matplotlib.colors import to_rgba
from matplotlib.patches import Rectangle

import propriety as pr
import propriety.plots.retention as pictures
from propriety.diagnostics.retention import retention_curve
from propriety.diagnostics.worst_cases import worst_cases
from propriety.plots.drawing import COLORS, GREY

mpl.use("agg")

RULES = [pr.RankedProbability(), pr.SquaredAbsoluteRankedProbability(), pr.Brier(scale="half")]
RNG = np.random.default_rng(2)
ROWS = RNG.dirichlet(np.ones(4), 200)
Y = np.array([RNG.choice(4, p=row) for row in ROWS])
LABELS = ["poor", "fair", "good", "best"]


def test_every_rule_has_its_curve_and_its_mean_height():
    curve = retention_curve(Y, ROWS, rule=RULES)
    ax = curve.plot(label="a title")
    for index, rule in enumerate(RULES):
        (line,) = [line for line in ax.get_lines() if line.get_label() == rule.short_name]
        own = curve.rule == repr(rule)
        np.testing.assert_array_equal(line.get_xdata(), curve.removed[own])
        np.testing.assert_array_equal(line.get_ydata(), curve.value[own])
        assert line.get_color() == COLORS[index]
    told = texts(ax)
    for name, height in zip(("RPS", "sa-RPS", "Brier (scale='half')"), curve.areas.mean_height, strict=True):
        assert f"{name}  {height:.3f}" in told
    assert ax.get_title(loc="left") == "a title"
    assert ax.get_ylabel() == "Quadratic weighted kappa\nof the cases kept (higher is better)"
    assert ax.xaxis.get_major_formatter()(0.05) == "5%"


@pytest.mark.parametrize(
    ("metric", "told"),
    [("linear cost", "Expected cost, linear\nof the cases kept (lower"), (1 - np.eye(4), "Expected cost\nof"), ("accuracy", "Accuracy\nof the cases kept (higher")],
    ids=["linear", "matrix", "accuracy"],
)  # fmt: skip
def test_the_axis_names_the_metric(metric, told):
    assert retention_curve(Y, ROWS, metric=metric).plot().get_ylabel().startswith(told)


def test_bands_are_drawn_where_there_are_any():
    curve = retention_curve(Y, ROWS, rule=RULES)
    limited = curve.with_interval(n_resamples=20, seed=1)
    assert len(curve.plot().collections) == 0
    assert len(limited.plot(bands=False).collections) == 0
    bands = limited.plot().collections
    assert len(bands) == len(RULES)
    own = curve.rule == repr(RULES[0])
    assert bands[0].get_datalim(bands[0].axes.transData).ymax == pytest.approx(limited.high[own].max())


def test_all_cases_are_marked_only_where_the_curve_starts_with_them():
    assert "all cases" in texts(retention_curve(Y, ROWS).plot())
    assert "all cases" not in texts(retention_curve(Y, ROWS, removed=[0.1, 0.2]).plot())


def test_names_stand_apart_in_the_order_of_the_ends():
    wanted = np.array([0.5, 0.51, 0.1, 0.505])
    places = pictures._spread(wanted, 0.06)
    assert np.argsort(places).tolist() == np.argsort(wanted).tolist()
    assert np.diff(np.sort(places)).min() >= 0.06 - 1e-12
    assert places[2] == pytest.approx(0.1)
    assert places[[0, 1, 3]].mean() == pytest.approx(0.505, abs=0.006)


def test_a_curve_that_ends_without_a_number_is_named():
    curve = retention_curve([1, 1, 1, 0], [[0.1, 0.8, 0.1]] * 4, removed=[0, 0.25])
    assert "RPS  nan" in texts(curve.plot())


def bars(ax):
    return [patch for patch in ax.patches if isinstance(patch, Rectangle)]


def test_worst_cases_are_bars_with_what_happened_in_colour():
    worst = worst_cases(np.array(LABELS)[Y], ROWS, rule=RULES, most=5, labels=LABELS)
    ax = worst.plot(n=3, label="a title")
    drawn = bars(ax)
    assert len(drawn) == len(RULES) * 3 * 4
    shown = np.concatenate([np.arange(3) + 5 * place for place in range(len(RULES))])
    heights = np.array([bar.get_height() for bar in drawn]).reshape(-1, 4)
    np.testing.assert_allclose(heights / heights.sum(axis=1, keepdims=True), worst.forecast[shown], atol=1e-12)
    colors = np.array([bar.get_facecolor() == to_rgba(COLORS[1]) for bar in drawn]).reshape(-1, 4)
    assert [LABELS[place] for place in colors.argmax(axis=1)] == worst.outcome[shown].tolist()
    assert colors.sum() == len(shown)
    assert drawn[0].get_facecolor() in (to_rgba(GREY["bars"]), to_rgba(COLORS[1]))
    marks = [line for line in ax.get_lines() if line.get_label() == "_happened"]
    happened = [bar for bar in drawn if bar.get_facecolor() == to_rgba(COLORS[1])]
    assert [mark.get_xdata()[0] for mark in marks] == pytest.approx([bar.get_x() + 0.4 for bar in happened])
    told = texts(ax)
    assert f"case {worst.case[0]}, loss {worst.loss[0]:.3f}" in told
    assert {"RPS", "sa-RPS", *LABELS} <= set(told)
    assert ax.get_title(loc="left") == "a title"


def test_pictures_go_on_the_callers_axes_and_change_no_settings():
    before = dict(mpl.rcParams)
    for result in (retention_curve(Y, ROWS), worst_cases(Y, ROWS, most=2)):
        figure, ax = plt.subplots()
        assert result.plot(ax) is ax
        assert figure.axes == [ax]
    assert dict(mpl.rcParams) == before
