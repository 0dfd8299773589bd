"""The forest plot shows the groups, their mean and the range of a further one."""

import matplotlib as mpl
import numpy as np
import pytest
from drawn import texts
from matplotlib import pyplot as plt
from scipy.special import expit

import propriety as pr

mpl.use("agg")

RNG = np.random.default_rng(4)
SITE = RNG.choice(["Bergen", "Graz", "Lyon", "Turku"], 1600)
X = RNG.normal(size=1600)
Y = (RNG.random(1600) < expit(X - 1 + 0.8 * (SITE == "Lyon"))) & (SITE != "Turku")
FOUND = pr.pool_sites(pr.condense(Y, expit(X - 1), by={"site": SITE}))


def labelled(ax, label):
    return [line for line in ax.get_lines() if line.get_label() == label]


@pytest.mark.parametrize("measure", ["observed_expected", "auc", "brier"])
def test_groups_and_intervals_are_those_of_the_analysis(measure):
    ax = FOUND.plot(measure=measure)
    rows = FOUND.where(measure=measure)
    own = rows.rows(np.flatnonzero(rows.statistic == "value")[1:])
    drawn = [line.get_xdata()[0] for line in labelled(ax, "_group")]
    np.testing.assert_array_equal(drawn, own.value[np.isfinite(own.value)])
    limits = np.column_stack([own.low, own.high])
    intervals = [line.get_xdata() for line in labelled(ax, "_interval")]
    np.testing.assert_array_equal(intervals, limits[np.isfinite(limits).all(axis=1)])
    (prediction,) = labelled(ax, "_prediction")
    (further,) = rows.where(statistic="further group")
    np.testing.assert_array_equal(prediction.get_xdata(), [further.low, further.high])
    plt.close("all")


def test_columns_are_written_and_a_group_left_out_is_said():
    ax = FOUND.plot(measure="auc", label="a title")
    assert {"Bergen", "Graz", "Lyon", "Turku", "Cases", "Events", "Mean over groups", "left out"} <= set(texts(ax))
    assert ax.get_title(loc="left") == "a title"
    assert FOUND.plot().get_xlabel() == "Observed/expected (1 is ideal)"
    plt.close("all")


def test_ratios_have_a_logarithmic_axis_unless_one_is_zero():
    assert FOUND.plot().get_xscale() == "linear"
    kept = SITE != "Turku"
    found = pr.pool_sites(pr.condense(Y[kept], expit(X - 1)[kept], by={"site": SITE[kept]}))
    assert found.plot().get_xscale() == "log"
    plt.close("all")


def test_an_analysis_without_a_mean_is_drawn():
    found = pr.pool_sites(pr.condense(Y, expit(X - 1), by={"site": np.where(SITE == "Turku", "Turku", "other")}))
    ax = found.plot(measure="auc")
    assert not labelled(ax, "_prediction")
    assert "Mean over groups" not in texts(ax)
    plt.close("all")
