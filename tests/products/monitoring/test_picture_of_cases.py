"""Pictures of monitoring show the evidence, the alarm and its moment, and say them in words."""

import matplotlib as mpl
import numpy as np
import pytest
from drawn import texts
from matplotlib import pyplot as plt
from scipy.special import expit

from propriety.errors import InputValueError
from propriety.products.monitoring import picture_of_cases as monitoring
from propriety.products.monitoring.calibration_stream import monitor_calibration
from propriety.products.monitoring.comparison_stream import monitor_comparison

mpl.use("agg")

RNG = np.random.default_rng(1)
X = RNG.normal(size=1500)
P = expit(X)
Y = RNG.random(1500) < P
VAGUE = expit(X + 1.2 * RNG.normal(size=1500))


def lines(ax, name):
    return [line for line in ax.get_lines() if line.get_label() == name]


def test_the_evidence_is_drawn_in_powers_of_ten_from_one():
    result = monitor_comparison(Y, VAGUE, P)
    ax = result.plot(label="a title")
    for name, log_e in (("_model worse", result.log_e_value), ("_model better", result.log_e_better)):
        (line,) = lines(ax, name)
        np.testing.assert_array_equal(line.get_xdata(), np.arange(1501))
        np.testing.assert_allclose(line.get_ydata(), np.append(0, log_e) / np.log(10))
    assert ax.get_title(loc="left") == "a title"
    assert ax.get_xlabel() == "Number of cases"


def test_the_alarm_is_marked_at_its_moment_and_told():
    result = monitor_comparison(Y, VAGUE, P)
    ax = result.plot()
    (mark,) = lines(ax, "_mark")
    assert mark.get_xdata() == [result.alarm]
    assert mark.get_ydata()[0] >= np.log10(40)
    assert f"alarm after {result.alarm:,} cases" in texts(ax)
    (threshold,) = lines(ax, "_threshold")
    assert threshold.get_ydata()[0] == pytest.approx(np.log10(40))
    assert "alarm at 40\n(false alarms: at most 5%\nfor independent cases)" in texts(ax)


def test_a_better_model_is_told_too():
    result = monitor_comparison(Y, P, VAGUE)
    assert f"better after {result.better_at:,} cases" in texts(result.plot())


def test_without_an_alarm_nothing_is_marked():
    ax = monitor_calibration(Y, P).plot()
    assert not lines(ax, "_mark")
    assert [text for text in texts(ax) if "after" in text] == []
    assert "evidence:\nnot calibrated" in texts(ax)


def test_words_beside_the_curves_do_not_overlap():
    ax = monitor_comparison(Y, P, P).plot()
    heights = sorted(text.xy[1] for text in ax.texts)
    low, high = ax.get_ylim()
    assert np.diff(heights).min() >= monitoring.ROOM * (high - low) * (1 - 1e-9)


def test_infinite_evidence_stays_on_the_picture():
    y, p = Y[:50].copy(), P[:50].copy()
    y[30], p[30] = False, 1.0
    ax = monitor_calibration(y, p).plot()
    (line,) = lines(ax, "_not calibrated")
    assert np.all(np.isfinite(line.get_ydata()))
    assert line.get_ydata()[-1] == ax.get_ylim()[1]


def test_the_difference_with_its_bounds():
    result = monitor_comparison(Y, VAGUE, P, level=0.9)
    ax = result.plot(show="difference")
    (line,) = lines(ax, "_difference")
    np.testing.assert_array_equal(line.get_ydata(), result.difference)
    vertices = ax.collections[0].get_paths()[0].vertices
    assert {result.low[700], result.high[700]} <= set(vertices[vertices[:, 0] == 701][:, 1])
    assert any(f"{result.difference[-1]:+.3g}\n" in text and "(90%, at all times)" in text for text in texts(ax))
    assert sorted(text for text in texts(ax) if text.startswith("model")) == ["model better", "model worse"]


def test_long_streams_are_thinned_and_keep_the_alarm():
    y, p, vague = (np.tile(values, 8) for values in (Y, P, VAGUE))
    result = monitor_comparison(y, vague, p)
    (line,) = lines(result.plot(), "_model worse")
    assert len(line.get_xdata()) <= monitoring.POINTS + 1
    assert result.alarm in line.get_xdata()
    assert line.get_xdata()[-1] == 12_000


def test_a_single_case_is_drawn():
    result = monitor_comparison([1], [0.3], 0.5)
    assert result.plot().get_xlim() == (0, 1)
    assert result.plot(show="difference").get_xlim() == (0, 1)


def test_what_cannot_be_shown():
    with pytest.raises(InputValueError, match='show must be one of "evidence", "difference"'):
        monitor_comparison(Y, P, VAGUE).plot(show="p_value")


def test_the_picture_goes_on_the_callers_axes_and_changes_no_settings():
    before = dict(mpl.rcParams)
    figure, ax = plt.subplots()
    assert monitor_calibration(Y, VAGUE).plot(ax) is ax
    assert figure.axes == [ax]
    assert dict(mpl.rcParams) == before


@pytest.mark.parametrize(("power", "said"), [(0, "1"), (-2, "0.01"), (3, "1,000"), (6, "10⁶"), (-5, "10⁻⁵")])
def test_powers_of_ten(power, said):
    assert monitoring.power_of_ten(power) == said
