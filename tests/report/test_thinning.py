"""Long lines are thinned to what a page can show: every column of the picture keeps its ends and its extremes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

from propriety.report.figures import figure_of
from propriety.report.thinning import COLUMNS, kept_points, thin_lines

N = 200_000
X = np.sort(np.random.default_rng(1).random(N))
WALK = np.cumsum(np.random.default_rng(2).normal(size=N))
TEXT = {"title": "t", "caption": "c", "table": {"x": [1]}, "call": "pr.x()"}


def test_every_column_keeps_its_ends_and_its_extremes():
    kept = kept_points(X, WALK, (0.0, 1.0))
    assert len(kept) <= 4 * COLUMNS + 2
    assert (np.diff(kept) > 0).all()
    column = np.minimum((X * COLUMNS).astype(int), COLUMNS - 1)
    for place in range(0, COLUMNS, 97):
        whole, thin = WALK[column == place], WALK[kept[column[kept] == place]]
        assert (thin[0], thin[-1], thin.min(), thin.max()) == (whole[0], whole[-1], whole.min(), whole.max())


def test_only_what_is_shown_is_kept_with_a_point_beyond_either_limit():
    kept = kept_points(X, WALK, (0.25, 0.5))
    assert X[kept[0]] < 0.25 <= X[kept[1]]
    assert X[kept[-2]] <= 0.5 < X[kept[-1]]


@pytest.mark.slow
@given(st.lists(st.floats(0.0, 1.0), min_size=20, max_size=200), st.integers(1, 4))
def test_kept_points_are_points_of_the_line(values, columns):
    x, y = np.sort(values), np.array(values)
    kept = kept_points(x, y, (0.0, 1.0), columns=columns)
    assert kept[0] == 0
    assert kept[-1] == len(x) - 1
    assert (y[kept].min(), y[kept].max()) == (y.min(), y.max())


@pytest.mark.parametrize(
    "x",
    [X[:1000], X[::-1], np.where(X > 0.5, np.nan, X)],
    ids=["short", "going back", "with gaps"],
)
def test_other_lines_are_left_alone(x):
    assert kept_points(x, WALK[: len(x)], (0.0, 1.0)) is None


@pytest.mark.parametrize("scale", ["linear", "log", "logit"])
def test_columns_are_those_of_the_picture(scale):
    canvas = Figure()
    ax = canvas.subplots()
    ax.set(xscale=scale)
    ax.plot(X, WALK)
    ax.set_xlim(1e-4, 0.999)
    thin_lines(canvas)
    x = ax.get_lines()[0].get_xdata()
    assert len(x) < 4 * COLUMNS + 10
    # Half of the width of a logarithmic axis from 1e-4 to 1 is below 1e-2; that is 40 columns of a linear one.
    if scale == "log":
        assert (x < 1e-2).sum() > 1000


def test_a_long_line_makes_a_short_path():
    figure = figure_of(lambda ax: ax.plot(X, WALK, label="a"), **TEXT)
    assert len(figure.svg) < 300_000
    line = figure.points[0]["lines"][0]
    assert set(line["x"]) <= {float(f"{value:.5g}") for value in X}
