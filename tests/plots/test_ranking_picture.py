"""The picture of a ranking map shows who wins where, and says what it shows."""

import matplotlib as mpl
import numpy as np
import pytest
from drawn import texts
from matplotlib import pyplot as plt
from matplotlib.colors import to_rgba
from matplotlib.patches import PathPatch
from scipy.special import expit, logit

from propriety.decisions.ranking_map import ranking_map
from propriety.plots.drawing import COLORS, shown
from propriety.plots.ranking import chance

mpl.use("agg")

RNG = np.random.default_rng(1)
P = RNG.beta(1, 3, 2000)
Y = RNG.random(2000) < P
MODELS = {"steep": expit(1.8 * logit(P)), "flat": expit(0.5 * logit(P))}


def regions(ax):
    return {patch.get_label(): patch for patch in ax.patches if isinstance(patch, PathPatch)}


@pytest.mark.parametrize("scale", ["linear", "log-odds"])
def test_every_interval_has_the_colour_of_its_winner(scale):
    grid = np.linspace(0.05, 0.95, 10)
    ranking = ranking_map(Y, MODELS, grid=grid, axis=scale)
    drawn = regions(ranking.plot())
    # Of the squares of a threshold the inner ones have it in the middle; at the ends it is the edge of its square.
    nudged = np.clip(ranking.low, 0.0501, 0.9499), np.clip(ranking.high, 0.0501, 0.9499)
    for low, high, winner, margin, noise in zip(*nudged, ranking.winner, ranking.margin, ranking.is_noise, strict=True):
        name = "tied" if margin == 0 else winner
        holding = [label for label, patch in drawn.items() if patch.get_path().contains_point((low, high))]
        assert holding == [f"{name}, noise" if noise else name]


def test_noise_is_hatched_and_paler():
    drawn = regions(ranking_map(Y, {"good": P, "flat": MODELS["flat"]}).plot())
    assert drawn["good"].get_facecolor() == to_rgba(COLORS[0])
    assert not drawn["good"].get_hatch()
    assert drawn["good, noise"].get_hatch()
    assert sum(drawn["good, noise"].get_facecolor()) > sum(drawn["good"].get_facecolor())


def test_names_stand_on_their_regions_and_the_legend_explains_the_rest():
    ax = ranking_map(Y, MODELS).plot()
    drawn = regions(ax)
    for text in ax.texts:
        spot = ax.transData.inverted().transform(ax.transAxes.transform(text.get_position()))
        assert any(
            patch.get_path().contains_point(spot) for name, patch in drawn.items() if name.startswith(text.get_text())
        )
    named = set(texts(ax))
    legend = {text.get_text() for text in ax.get_legend().get_texts()}
    winners = {name.removesuffix(", noise") for name in drawn} - {"tied"}
    assert winners <= named | legend
    assert not winners & named & legend
    assert any("sampling error (95%)" in entry for entry in legend)


def test_a_name_without_room_goes_to_the_legend():
    long = "a name without room on this map"
    ax = plt.subplots(figsize=(2, 2))[1]
    legend = ranking_map(Y, {long: MODELS["steep"], "flat": MODELS["flat"]}).plot(ax).get_legend()
    assert legend.get_title().get_text() == "Lowest mean regret"
    assert long in [text.get_text() for text in legend.get_texts()]


def test_axes_are_read_as_percentages_and_chances():
    ax = ranking_map(Y, MODELS, grid=np.linspace(0, 0.1, 11)).plot()
    assert ax.get_xlabel() == "Lowest threshold at which you would act"
    assert ax.get_ylabel() == "Highest threshold at which you would act"
    assert ax.xaxis.get_major_formatter()(0.05) == "5%\n1 in 20"
    assert ax.xaxis.get_major_formatter()(0.0) == "0%"
    assert ax.get_xlim() == ax.get_ylim() == (0.0, 0.1)
    np.testing.assert_allclose(ax.get_yticks(), [0.02, 0.04, 0.06, 0.08, 0.1])
    np.testing.assert_allclose(ax.get_xticks(), [0, 0.02, 0.04, 0.06, 0.08])


@pytest.mark.parametrize("ends", [(0.001, 0.999), (0.002, 0.2), (0.0166, 0.03), (0.3, 0.4)])
def test_log_odds_are_drawn_on_a_logit_axis(ends):
    ax = ranking_map(Y, MODELS, axis="log-odds", grid=expit(np.linspace(*logit(ends), 8))).plot()
    assert (ax.get_xscale(), ax.get_yscale()) == ("logit", "logit")
    assert 2 <= len(ax.get_xticks()) <= 8


def test_the_users_interval_is_ringed_and_told():
    ranking = ranking_map(Y, MODELS, thresholds=(0.123, 0.4))
    ax = ranking.plot(label="a title")
    rings = [line for line in ax.get_lines() if line.get_label() == "_marked"]
    assert {(ring.get_xdata()[0], ring.get_ydata()[0]) for ring in rings} == {(0.123, 0.4)}
    (told,) = [text for text in texts(ax) if "12.3% to 40%" in text]
    assert f"{ranking.marked.winner}: regret lower than {ranking.marked.runner_up}" in told
    assert "better" not in told
    assert f" (SE {shown(ranking.marked.standard_error)})" in told
    assert ax.get_title(loc="left") == "a title"


def test_an_interval_that_is_tied_or_beyond_the_map_is_told():
    ranking = ranking_map(Y, {"a": P, "b": P}, grid=[0.1, 0.2, 0.3], thresholds=(0.5, 0.6))
    (told,) = [text for text in texts(ranking.plot()) if "50% to 60%" in text]
    assert "a and b are tied" in told
    assert "outside this map" in told


def test_the_smallest_map_has_one_interval():
    ax = ranking_map(Y, MODELS, grid=[0.2, 0.4]).plot()
    assert len(regions(ax)) == 1


def test_the_map_goes_on_the_callers_axes_and_changes_no_settings():
    before = dict(mpl.rcParams)
    figure, ax = plt.subplots()
    assert ranking_map(Y, MODELS).plot(ax) is ax
    assert figure.axes == [ax]
    assert dict(mpl.rcParams) == before


@pytest.mark.parametrize(
    ("probability", "said"), [(0.5, "1 in 2"), (0.0166, "166 in 10,000"), (0.999, "999 in 1,000"), (0.06, "6 in 100")]
)
def test_probabilities_as_chances(probability, said):
    assert chance(probability) == said
