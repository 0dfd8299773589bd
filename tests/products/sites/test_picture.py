"""The forest plot shows the sites, the mean and the prediction interval of a meta-analysis."""

import matplotlib as mpl
import numpy as np
import pytest
from drawn import texts
from matplotlib import pyplot as plt
from scipy.special import expit

import propriety as pr
import propriety.products.sites.picture

mpl.use("agg")
assert propriety.products.sites.picture  # It registers its drawer.

RNG = np.random.default_rng(4)
SITE = RNG.choice(["Bergen", "Graz", "Lyon", "Turku"], 1600)
X = RNG.normal(size=1600)
Y = (RNG.random(1600) < expit(X - 1 + 0.8 * (SITE == "Lyon"))) & (SITE != "Turku")
FOUND = pr.meta_analysis(pr.condense(Y, expit(X - 1), by={"site": SITE}))


def labelled(ax, label):
    return [line for line in ax.get_lines() if line.get_label() == label]


@pytest.mark.parametrize("measure", ["observed_expected", "auc", "brier"])
def test_sites_and_intervals_are_those_of_the_analysis(measure):
    ax = FOUND.plot(measure=measure)
    own = FOUND.of_row(FOUND.row(measure))
    known = np.isfinite(own["value"])
    drawn = [line.get_xdata()[0] for line in labelled(ax, "_site")]
    np.testing.assert_array_equal(drawn, own["value"][known])
    limits = np.column_stack([own["low"], own["high"]])
    intervals = [line.get_xdata() for line in labelled(ax, "_interval")]
    np.testing.assert_array_equal(intervals, limits[np.isfinite(limits).all(axis=1)])
    (prediction,) = labelled(ax, "_prediction")
    row = FOUND.row(measure)
    np.testing.assert_array_equal(prediction.get_xdata(), [FOUND.prediction_low[row], FOUND.prediction_high[row]])
    plt.close("all")


def test_columns_are_written_and_a_site_left_out_is_said():
    ax = FOUND.plot(label="a title")
    assert {"Bergen", "Graz", "Lyon", "Turku", "Cases", "Events", "Mean over sites", "left out"} <= set(texts(ax))
    assert ax.get_xscale() == "log"
    assert ax.get_xlabel() == "Observed/expected (1 is ideal)"
    assert ax.get_title(loc="left") == "a title"
    plt.close("all")


def test_an_analysis_without_a_mean_is_drawn():
    found = pr.meta_analysis(pr.condense(Y, expit(X - 1), by={"site": np.where(SITE == "Turku", "Turku", "other")}))
    ax = found.plot()
    assert not labelled(ax, "_prediction")
    assert "Mean over sites" not in texts(ax)
    plt.close("all")
