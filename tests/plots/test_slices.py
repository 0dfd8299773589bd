"""The forest plot of groups shows what the slices hold."""

import matplotlib as mpl
import numpy as np
import pytest
from drawn import texts
from matplotlib import pyplot as plt
from scipy.special import expit, logit

import propriety as pr
from propriety.errors import InputValueError
from propriety.inference.finding_words import note_words
from propriety.inference.group_rows import group_rows
from propriety.inference.slices import slices
from propriety.plots.drawing import COLORS

mpl.use("agg")

RNG = np.random.default_rng(4)
P = RNG.beta(1, 2, 1200)
SITE = RNG.choice(["Bergen", "Graz", "Lyon", "tiny"], 1200, p=[0.5, 0.3, 0.19, 0.01])
Y = RNG.random(1200) < np.where(SITE == "Lyon", expit(logit(P) + 1.5), P)
ONE = slices(Y, P, by=SITE, thresholds=0.3)
TWO = slices(Y, {"plain": P, "steep": expit(2 * logit(P))}, by=SITE)


def labelled(ax, label):
    return [line for line in ax.get_lines() if line.get_label() == label]


@pytest.mark.slow
@pytest.mark.parametrize("show", ["brier", "excess", "net_benefit_at_0.3"])
def test_points_and_intervals_are_those_of_the_slices(show):
    ax = ONE.plot(show=show)
    points = labelled(ax, "_estimate")
    rows = [row.value for row in group_rows(ONE, show)]
    np.testing.assert_array_equal([point.get_xdata()[0] for point in points], [row.value for row in rows])
    low, high = ([getattr(row, end) for row in rows] for end in ("low", "high"))
    drawn = np.array([line.get_xdata() for line in labelled(ax, "_interval")])
    np.testing.assert_array_equal(drawn, np.column_stack([low, high])[:3])


def test_rows_are_named_and_sized_from_the_top():
    ax = ONE.plot(label="a title")
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["Bergen", "Graz", "Lyon", "tiny"]
    assert ax.get_ylim()[0] > ax.get_ylim()[1]
    assert {f"{row.value.n:,}" for row in group_rows(ONE)} <= set(texts(ax))
    assert ax.get_xlabel() == "Brier score (lower is better)"
    assert ax.get_title(loc="left") == "a title"
    assert any(text.startswith("all cases 0.") for text in texts(ax))
    assert "group" in texts(ax)


def test_keys_and_measures_have_their_names():
    found = slices(Y, P, pr.measures.AreaUnderRoc(), by={"site": SITE, "half": np.arange(len(Y)) % 2})
    ax = found.plot()
    assert "site, half" in texts(ax)
    assert [tick.get_text() for tick in ax.get_yticklabels()][:2] == ["Bergen, 0", "Bergen, 1"]
    assert ax.get_xlabel() == "Area under the ROC curve (higher is better)"


def test_the_groups_of_classes_have_their_values():
    rows = RNG.dirichlet([1, 2, 1], 400)
    grade = np.array([RNG.choice(3, p=row) for row in rows])
    found = slices(grade, rows, by=SITE[:400])
    drawn = [point.get_xdata()[0] for point in labelled(found.plot(), "_estimate")]
    np.testing.assert_array_equal(drawn, [row.value.value for row in group_rows(found)])


def test_small_groups_are_grey_and_say_so():
    ax = ONE.plot()
    assert "too few to test" in texts(ax)
    point = labelled(ax, "_estimate")[3]
    assert point.get_color() != COLORS[0]
    assert point.get_markerfacecolor() == "white"
    assert ax.get_yticklabels()[3].get_color() == point.get_color()


def test_differences_beyond_noise_are_told_on_the_score_alone():
    p_adjusted = ONE.where(against="rest").p_adjusted
    assert p_adjusted[2] < 0.05
    assert texts(ONE.plot()).count("differs from the rest") == (p_adjusted <= 0.05).sum()
    assert "differs from the rest" not in texts(ONE.plot(show="excess"))


def test_models_have_their_own_line_and_marker():
    ax = TWO.plot()
    points = labelled(ax, "_estimate")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["plain", "steep"]
    assert {points[0].get_marker(), points[4].get_marker()} == {"o", "s"}
    assert points[0].get_ydata()[0] < points[4].get_ydata()[0] < points[1].get_ydata()[0]
    for name, color in zip(("plain", "steep"), COLORS, strict=False):
        (line,) = labelled(ax, f"_all, {name}")
        assert line.get_xdata()[0] == TWO.where(model=name, keys={}).value[0]
        assert line.get_color() == color


def test_it_goes_on_the_callers_axes_and_changes_no_settings():
    before = dict(mpl.rcParams)
    figure, ax = plt.subplots()
    assert ONE.plot(ax) is ax
    assert figure.axes == [ax]
    assert dict(mpl.rcParams) == before


def test_infinite_scores_leave_their_row_empty():
    p = P.copy()
    p[np.flatnonzero((SITE == "Graz") & Y)[0]] = 0.0
    ax = slices(Y, p, by=SITE, measure=pr.Log()).plot()
    assert [point.get_ydata()[0] for point in labelled(ax, "_estimate")] == [0, 2, 3]
    assert "the value is infinite" in texts(ax)


@pytest.mark.parametrize(("found", "show"), [(ONE, "mcb"), (TWO, "net_benefit_at_0.3")])
def test_what_there_is_not_to_show(found, show):
    with pytest.raises(InputValueError, match='show must be one of "brier"'):
        found.plot(show=show)


def test_infinite_values_are_marked():
    rng = np.random.default_rng(1)
    p, group = rng.uniform(0.1, 0.9, 200), np.arange(200) % 2
    y = rng.random(200) < p
    wrong = p.copy()
    wrong[np.flatnonzero(y & (group == 1))[0]] = 0.0
    ax = pr.slices(y, {"a": p, "b": wrong}, by={"g": group}, measure=pr.Log()).plot()
    assert [text.get_text() for text in ax.texts].count("∞ →") == 1


def test_long_notes_are_not_written_beside_the_rows():
    rng = np.random.default_rng(1)
    p, cluster, group = rng.beta(2, 3, 900), rng.integers(0, 40, 900), rng.integers(0, 2, 900)
    found = pr.slices(rng.random(900) < p, p, pr.measures.Miscalibration(), by=group, cluster=cluster)
    assert all(len(note_words(row.notes[0])) > 60 for row in group_rows(found))
    texts = [text.get_text() for text in found.plot().texts]
    assert texts.count("not tested") == 2
    assert not any(len(text) > 45 for text in texts)
