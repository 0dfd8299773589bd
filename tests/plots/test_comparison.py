"""The pictures of a comparison show every pair and model, and say who is better."""

import matplotlib as mpl
import numpy as np
from drawn import texts
from matplotlib import pyplot as plt
from matplotlib.colors import to_rgba

import propriety as pr
import propriety.plots.comparison
from propriety.inference.comparison import compare
from propriety.plots.drawing import COLORS

mpl.use("agg")

RNG = np.random.default_rng(2)
N = 600
P = RNG.beta(1, 2, N)
Y = RNG.random(N) < P
MODELS = {
    "good": P,
    "near": np.clip(P + RNG.normal(0, 0.02, N), 0.001, 0.999),
    "far": np.clip(P + RNG.normal(0, 0.3, N), 0.001, 0.999),
}


def rows_of(ax):
    """Return the point and the interval of each row."""
    points, intervals = {}, {}
    for line in ax.lines:
        x, y = line.get_xdata(), line.get_ydata()
        if line.get_marker() == "o":
            points[y[0]] = (x[0], line)
        elif y[0] == y[-1]:
            intervals[y[0]] = (*x, line)
    return points, intervals


def test_the_forest_shows_differences_and_intervals():
    result = compare(Y, MODELS)
    ax = result.plot(label="Forest")
    points, intervals = rows_of(ax)
    for row in range(3):
        assert points[row][0] == result.differences.value[row]
        assert intervals[row][:2] == (result.differences.low[row], result.differences.high[row])
    assert [label.get_text() for label in ax.get_yticklabels()] == [
        "good minus near",
        "good minus far",
        "near minus far",
    ]
    assert texts(ax)[:3] == ["too few", "good better", "near better"]
    assert texts(ax)[3:] == ["← first better", "second better →"]
    assert ax.get_xlabel() == "Difference in Brier score, 95% confidence interval"
    assert ax.get_title(loc="left") == "Forest"
    bottom, top = ax.get_ylim()
    assert bottom > top  # The first pair is on top.


def test_what_is_told_is_full_and_coloured_and_what_is_not_is_hollow_and_grey():
    points, _ = rows_of(compare(Y, MODELS).plot())
    assert points[1][1].get_markerfacecolor() == COLORS[0]
    assert points[0][1].get_markerfacecolor() == "white"
    red, green, blue, _ = to_rgba(points[0][1].get_color())
    assert red == green == blue


def test_a_reference_names_the_sides():
    ax = compare(Y, MODELS, reference="far", measure=pr.Log()).plot()
    assert [label.get_text() for label in ax.get_yticklabels()] == ["good", "near"]
    assert texts(ax) == ["good better", "near better", "← better than far", "worse than far →"]
    low, high = ax.get_xlim()
    assert low < 0 < high


def test_the_sides_are_those_of_the_measure():
    higher = compare(Y, MODELS, pr.measures.AreaUnderRoc()).plot()
    assert texts(higher)[3:] == ["← second better", "first better →"]
    assert texts(higher)[1] == "good better"
    assert texts(compare(Y, MODELS, pr.measures.Skill(), reference="far").plot())[2:] == [
        "← worse than far",
        "better than far →",
    ]
    ideal = compare(Y, MODELS, pr.measures.CalibrationSlope())
    assert texts(ideal.plot()) == ["not tested", "different", "different", "← first lower", "first higher →"]
    assert ideal.ranks().plot().get_xlabel() == "Calibration slope, 95% confidence interval (1 is ideal)"
    area = compare(Y, MODELS, pr.measures.AreaUnderRoc()).ranks().plot()
    assert area.get_xlabel() == "Area under the ROC curve, 95% confidence interval (higher is better)"


def test_an_interval_beside_zero_that_does_not_survive_all_pairs_says_so():
    for seed in range(200):
        generator = np.random.default_rng(seed)
        noisy = {f"m{k}": np.clip(P + generator.normal(0, 0.06, N), 0, 1) for k in range(3)}
        result = compare(Y, noisy)
        beside = [row.note("adjusted") is not None for row in result.differences]
        if any(beside):
            break
    assert beside == [row.low * row.high > 0 and row.verdict == "too few" for row in result.differences]
    assert any(beside)
    written = texts(result.plot())
    for row in range(3):
        assert written[row] == result.differences.verdict[row] + ("\n(3 pairs tested)" if beside[row] else "")


def test_what_cannot_be_drawn_is_written():
    sure = np.where(Y & (np.arange(N) % 50 == 0), 0.0, MODELS["near"])
    result = compare(Y, {"near": MODELS["near"], "sure": sure, "copy": MODELS["near"]}, pr.Log(), reference="near")
    ax = result.plot()
    points, intervals = rows_of(ax)
    assert list(points) == [1]
    assert intervals[1][:2] == (0.0, 0.0)
    assert texts(ax)[:2] == ["infinite", "same"]
    ranks = result.ranks().plot()
    assert "∞ →" in texts(ranks)
    assert len(rows_of(ranks)[0]) == 2


def test_models_stand_by_rank():
    ranked = compare(Y, MODELS).ranks()
    ax = ranked.plot()
    points, intervals = rows_of(ax)
    for row in range(3):
        assert points[row][0] == ranked.value[row]
        assert intervals[row][:2] == (ranked.low[row], ranked.high[row])
    assert [label.get_text() for label in ax.get_yticklabels()] == ranked.model.tolist()
    assert texts(ax)[:3] == ["ranks 1 to 2", "ranks 1 to 2", "rank 3"]
    assert ax.get_xlabel() == "Brier score, 95% confidence interval (lower is better)"
    assert compare(Y, MODELS, pr.Log()).ranks().plot().get_xlabel().startswith("Log score, ")


def test_pictures_go_on_the_axes_of_the_caller_and_change_no_settings():
    before = dict(mpl.rcParams)
    figure, panels = plt.subplots(1, 2)
    result = compare(Y, MODELS)
    assert result.plot(panels[0]) is panels[0]
    assert result.ranks().plot(panels[1]) is panels[1]
    assert figure.axes == list(panels)
    assert dict(mpl.rcParams) == before


def test_no_texts_overlap():
    for ax in (compare(Y, MODELS).plot(), compare(Y, MODELS).ranks().plot()):
        ax.figure.canvas.draw()
        low, high = ax.get_xlim()
        ticks = [tick for tick in ax.get_xticklabels() if low <= tick.get_position()[0] <= high]
        labels = [*ax.texts, *ticks, *ax.get_yticklabels(), ax.xaxis.label]
        boxes = [label.get_window_extent() for label in labels if label.get_text()]
        whole = ax.figure.bbox
        for place, box in enumerate(boxes):
            assert not any(box.overlaps(other) for other in boxes[place + 1 :])
            assert box.x0 >= whole.x0 - 1
            assert box.x1 <= whole.x1 + 1


def test_a_constant_difference_has_a_point_and_no_interval():
    result = compare([0] * 5, {"a": [0.2] * 5, "b": [0.3] * 5})
    points, intervals = rows_of(result.plot())
    assert list(points) == [0]
    assert intervals == {}
