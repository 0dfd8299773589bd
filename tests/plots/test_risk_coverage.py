"""The picture of a risk-coverage curve shows its numbers, and names what it shows."""

import matplotlib as mpl
import numpy as np
import pytest
from drawn import texts
from matplotlib import pyplot as plt

import propriety as pr
from propriety.plots.drawing import COLORS

mpl.use("agg")

RNG = np.random.default_rng(3)
CONFIDENCE = RNG.beta(4, 1.5, 300)
RIGHT = RNG.random(300) < CONFIDENCE


def test_the_curve_has_its_area_and_its_references():
    curve = pr.risk_coverage_curve(RIGHT, CONFIDENCE)
    ax = curve.plot(label="a title")
    (line,) = [line for line in ax.get_lines() if line.get_label() == "a title"]
    np.testing.assert_array_equal(line.get_xdata(), curve.coverage)
    np.testing.assert_array_equal(line.get_ydata(), curve.risk)
    assert texts(ax)[0] == f"AURC {curve.aurc.value:.3f} ({curve.aurc.low:.3f} to {curve.aurc.high:.3f})"
    assert "abstaining at random" in texts(ax)
    (best,) = [line for line in ax.get_lines() if line.get_label() == "_best possible"]
    assert best.get_ydata()[-1] == pytest.approx(1 - curve.accuracy)
    assert ax.get_title(loc="left") == "a title"
    assert ax.get_xlabel().startswith("Coverage")


def test_curves_of_two_models_share_axes():
    _, ax = plt.subplots()
    for index, (name, confidence) in enumerate({"fine": CONFIDENCE, "coarse": CONFIDENCE.round(1)}.items()):
        assert pr.risk_coverage_curve(RIGHT, confidence).plot(ax, label=name, color=index) is ax
    assert [text.split(":")[0] for text in texts(ax)] == ["fine", "coarse"]
    colors = {line.get_label(): line.get_color() for line in ax.get_lines()}
    assert (colors["fine"], colors["coarse"]) == COLORS[:2]


def test_a_wrong_first_answer_does_not_set_the_scale():
    curve = pr.risk_coverage_curve(np.append(False, np.arange(199) % 10 > 0), np.linspace(1, 0, 200))
    assert curve.risk[0] == 1.0
    assert curve.plot().get_ylim()[1] < 0.5


def test_answers_that_are_all_right_can_be_drawn():
    assert texts(pr.risk_coverage_curve([1, 1, 1], [0.2, 0.5, 0.6]).plot())[0] == "AURC 0.000"


def test_no_risk_above_one_is_labelled():
    """The axis goes beyond 1 to make room for the legend."""
    curve = pr.risk_coverage_curve(np.arange(100) % 20 == 0, np.linspace(1, 0, 100))
    for ax in (pr.plots.plot_risk_coverage_curves({"a": curve, "b": curve}), curve.plot()):
        assert ax.get_ylim()[1] > 1.0
        assert ax.get_yticks().max() == 1.0
