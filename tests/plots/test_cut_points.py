"""The pictures of cut points show the parts of the decomposition at each, and name them."""

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt

import propriety as pr
from propriety.errors import InputValueError
from propriety.plots.cut_points import plot_cut_point_decompositions, plot_cut_point_reliability
from propriety.plots.drawing import shown

mpl.use("agg")

RNG = np.random.default_rng(3)
ROWS = RNG.dirichlet(np.ones(4), 300)
Y = np.array([RNG.choice(4, p=row) for row in ROWS])
FLAT = 0.5 * ROWS + 0.125


def decomposed(rows):
    return pr.decompose(Y, rows, rule=pr.RankedProbability())


def test_every_cut_point_has_its_panel_with_curve_band_and_scores():
    tables = pr.condense(Y, ROWS, ordered=True).tables()
    curves = {
        label: pr.reliability_curve(table).with_consistency_band(n_resamples=20, seed=1)
        for label, table in tables.items()
    }
    figure = plot_cut_point_reliability(curves, columns=2)
    assert [panel.get_title(loc="left") for panel in figure.axes] == ["at most 0", "at most 1", "at most 2"]
    for panel, curve in zip(figure.axes, curves.values(), strict=True):
        note = next(text.get_text() for text in panel.texts if "MCB" in text.get_text())
        assert f"MCB  {shown(curve.decomposition.miscalibration)}\n" in note
        assert "n = 300" in note
        assert [band.get_label() for band in panel.collections] == ["90% pointwise consistency band"]


def test_bars_are_the_parts_at_each_cut_point():
    models = {"sharp": decomposed(ROWS), "flat": decomposed(FLAT)}
    panels = plot_cut_point_decompositions(models).axes
    for panel, part in zip(panels, ("miscalibration", "discrimination"), strict=True):
        for bars, total in zip(panel.containers, models.values(), strict=True):
            expected = [getattr(event, part) for event in total.parts.values()]
            np.testing.assert_allclose([bar.get_height() for bar in bars], expected)
        assert [tick.get_text() for tick in panel.get_xticklabels()] == ["0", "1", "2"]
    lines = [line for line in panels[1].get_lines() if line.get_label() == "_uncertainty"]
    assert [line.get_ydata()[0] for line in lines] == [event.uncertainty for event in models["flat"].parts.values()]
    legend = [text.get_text() for text in panels[0].get_legend().get_texts()]
    assert legend == [f"{name}: MCB {shown(total.miscalibration)}" for name, total in models.items()]


def test_shares_of_the_miscalibration_are_written():
    total = decomposed(FLAT)
    panel = plot_cut_point_decompositions({"flat": total}).axes[0]
    parts = np.array([event.miscalibration for event in total.parts.values()])
    assert [text.get_text() for text in panel.texts] == [f"{share:.0f}%" for share in 100 * parts / parts.sum()]


def test_calibrated_forecasts_have_no_shares():
    rates = pr.decompose([0, 1, 1, 2], [[0.25, 0.5, 0.25]] * 4, rule=pr.RankedProbability())
    panel = plot_cut_point_decompositions({"rates": rates}).axes[0]
    assert {text.get_text() for text in panel.texts} == {""}


def test_bars_differ_in_grey_and_go_on_the_callers_figure():
    before = dict(mpl.rcParams)
    figure = plt.figure()
    assert plot_cut_point_decompositions({"a": decomposed(ROWS), "b": decomposed(FLAT)}, figure=figure) is figure
    first, second = figure.axes[0].containers
    assert first[0].get_hatch() != second[0].get_hatch()
    assert dict(mpl.rcParams) == before


@pytest.mark.parametrize(
    "models",
    [
        {},
        {"binary": pr.decompose(Y == 1, ROWS[:, 1])},
        {"four": decomposed(ROWS), "three": pr.decompose(np.minimum(Y, 2), RNG.dirichlet(np.ones(3), 300), rule=pr.RankedProbability())},
    ],
    ids=["none", "no parts", "other cut points"],
)  # fmt: skip
def test_models_without_common_cut_points_are_refused(models):
    with pytest.raises(InputValueError, match="parts of the same cut points for every model"):
        plot_cut_point_decompositions(models)
