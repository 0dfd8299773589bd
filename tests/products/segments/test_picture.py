"""The figure of segments shows observed/expected, also if it is 0 or infinite."""

import matplotlib as mpl
import numpy as np
import pytest
from drawn import texts
from matplotlib import pyplot as plt

import propriety as pr

mpl.use("agg")

RNG = np.random.default_rng(2)
SITE = np.repeat(["a", "b", "c", "d"], 1500)
P = RNG.uniform(0.05, 0.15, len(SITE))
Y = RNG.random(len(SITE)) < P


def drawn(y, p):
    found = pr.find_segments(pr.cases(y, p, by={"site": SITE}), seed=1, n_resamples=100)
    return found, found.plot()


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_a_segment_without_events_is_at_the_end_of_a_wide_axis_with_its_value():
    found, ax = drawn(Y & (SITE != "c"), P)
    place = found.segment.tolist().index("site = c")
    assert found.observed_expected[place] == 0.0
    low = ax.get_xlim()[0]
    assert low <= 0.1
    (marker,) = [one for one in ax.get_lines() if one.get_label() == "_estimate" and one.get_ydata()[0] == place]
    assert (marker.get_marker(), marker.get_xdata()[0]) == ("<", low)
    assert "0" in texts(ax)


def test_a_segment_in_which_no_event_is_expected_is_infinite():
    found, ax = drawn(Y, np.where(SITE == "b", 0.0, P))
    assert np.isinf(found.observed_expected).any()
    assert ax.get_xlim()[1] >= 10
    assert "∞" in texts(ax)


def test_all_ratios_of_a_usual_figure_are_inside_and_none_is_written():
    found, ax = drawn(Y & ((SITE != "c") | (RNG.random(len(SITE)) < 0.6)), P)
    low, high = ax.get_xlim()
    assert low < found.low.min() < found.high.max() < high < 2
    assert not {"0", "∞"} & set(texts(ax))


@pytest.mark.parametrize(("y", "p"), [(Y, P), (Y & (SITE != "c"), P), (Y, np.where(SITE == "b", 0.0, P))])
def test_ticks_do_not_cover_each_other(y, p):
    ax = drawn(y, p)[1]
    ax.figure.draw_without_rendering()
    ticks = [tick.get_window_extent() for tick in ax.get_xticklabels(which="both") if tick.get_text()]
    assert len(ticks) >= 3
    assert all(tick.count_overlaps(ticks) == 1 for tick in ticks)  # Itself.
