"""Figures: drawn aside from pyplot, tagged by model, with points that lie where they are drawn."""

import re

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt

import propriety as pr
from propriety import plots
from propriety.plots.names import set_name
from propriety.report.figures import figure_of, svg_of

TEXT = {"title": "t", "caption": "c", "table": {"x": [1]}, "call": "pr.x()"}


def panel_of(drawing, **options):
    return figure_of(drawing, **TEXT, **options).points[0]


def test_pyplot_and_the_settings_do_not_notice():
    before, numbers = dict(mpl.rcParams), plt.get_fignums()
    svg_of(lambda ax: ax.plot([0, 1], [0, 1]))
    assert dict(mpl.rcParams) == before
    assert plt.get_fignums() == numbers


@pytest.mark.parametrize("scale", ["linear", "log", "logit"])
def test_points_lie_where_they_are_drawn(scale, corners_of):
    x, y = np.array([0.1, 0.35, 0.9]), np.array([0.2, 0.5, 0.8])

    def drawing(ax):
        ax.set(xscale=scale, yscale=scale)
        ax.plot(x, y, color="#123456", label="a")

    figure = figure_of(drawing, **TEXT)
    panel = figure.points[0]
    change = {"linear": lambda v: v, "log": np.log10, "logit": lambda v: np.log10(v / (1 - v))}[scale]
    places = [panel[axis]["at"][0] + panel[axis]["at"][1] * change(values) for axis, values in (("x", x), ("y", y))]
    drawn = re.search(r'd="M([^"]*)" fill="none" stroke="#123456"', figure.svg) or re.search(
        r'stroke="#123456"[^>]* d="M([^"]*)"', figure.svg
    )
    for corner in corners_of(f"M{drawn[1]}"):
        assert np.hypot(places[0] - corner[0], places[1] - corner[1]).min() < 0.02


def test_lines_with_names_can_be_read_and_others_not():
    def drawing(ax):
        set_name("a", *ax.plot([0, 1], [0, 1], label="a  (AUC 1)"))
        ax.plot([0, 1], [1, 0], label="_grid")

    panel = panel_of(drawing, models=["a"])
    assert [(line["name"], line["model"], line["x"]) for line in panel["lines"]] == [("a", 0, [0.0, 1.0])]


def test_long_lines_are_thinned_and_what_lies_outside_the_axes_is_left_out():
    def drawing(ax):
        ax.plot(np.linspace(0, 1, 1001), np.linspace(0, 2, 1001), label="a")
        ax.set_ylim(0, 1)

    (line,) = panel_of(drawing)["lines"]
    assert len(line["x"]) == 30
    assert (line["x"][0], max(line["y"])) == (0.0, 1.0)


def test_an_axis_has_a_short_name_and_percentages_if_it_shows_them():
    curve = pr.decision_curve([0, 1, 0, 1], [0.1, 0.6, 0.4, 0.8])
    panel = panel_of(lambda ax: plots.plot_threshold_curves({"a": curve}, ax), models=["a"])
    assert (panel["x"]["label"], panel["x"]["percent"]) == ("Threshold", True)
    assert (panel["y"]["label"], panel["y"]["percent"]) == ("Net benefit", False)


@pytest.mark.parametrize("names", [("a", "a  b"), ("a", "a, noise"), ("a", "a  (area 0.500)")])
def test_a_name_that_begins_like_another_is_told_apart(names):
    forecasts = ([0.1, 0.6, 0.4, 0.8], [0.3, 0.4, 0.5, 0.9])
    curves = {name: pr.murphy_curve([0, 1, 0, 1], p) for name, p in zip(names, forecasts, strict=True)}
    panel = panel_of(lambda ax: plots.plot_threshold_curves(curves, ax), models=names)
    assert [(line["model"], line["name"]) for line in panel["lines"]] == [(0, names[0]), (1, names[1])]


def test_a_whole_figure_may_be_drawn_on():
    curve = pr.reliability_curve([0, 1, 0, 1], [0.1, 0.6, 0.4, 0.8])
    svg = svg_of(
        lambda figure: plots.plot_grid({"left": curve, "right": curve}, figure=figure), size=(6, 3), whole=True
    )
    assert ">left</text>" in svg
    assert ">right</text>" in svg


@pytest.mark.parametrize("name", ["模型 🙂", "$\\frac{$", "<&>'\"", "a" * 26])
def test_any_name_can_be_drawn(name):
    curves = {name: pr.reliability_curve([0, 1, 0, 1], [0.1, 0.6, 0.4, 0.8])}
    assert 'data-model="0"' in svg_of(lambda ax: plots.plot_curves(curves, ax), models=[name])
