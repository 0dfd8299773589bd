"""The picture of a recalibration shows the curves before and after."""

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt
from scipy.special import expit

import propriety as pr

mpl.use("agg")


def test_the_picture_shows_the_curves_before_and_after():
    generator = np.random.default_rng(1)
    x = generator.normal(0.0, 1.5, 2000)
    found = pr.recalibrate(generator.random(2000) < expit(0.5 * x), expit(x))
    ax = found.plot()
    lines = {line.get_label(): line for line in ax.get_lines()}
    assert {"before", "after (auto)"} <= set(lines)
    for name, curve in (("before", found.before), ("after (auto)", found.after)):
        assert set(curve.event_rate.round(9)) <= set(np.round(lines[name].get_ydata(), 9))
    before, after = (text.get_text() for text in ax.get_legend().get_texts())
    assert before.startswith("before")
    assert after.startswith("after (auto)")
    assert found.after.decomposition.miscalibration < found.before.decomposition.miscalibration
    plt.close("all")
