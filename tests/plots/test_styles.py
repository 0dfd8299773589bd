"""Models look different from each other, and a curve of a single point can be seen."""

import matplotlib as mpl
import numpy as np
import pytest
from drawn import line
from matplotlib import pyplot as plt

import propriety as pr
from propriety.plots.cut_points import HATCHES
from propriety.plots.drawing import DASHES, MARKERS, color_of, varied
from propriety.plots.names import measure_and_merit

mpl.use("agg")

RNG = np.random.default_rng(6)
P = RNG.random(300)
Y = RNG.random(300) < P
CONSTANT = np.full(300, 0.4)


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.mark.parametrize("choices", [DASHES, MARKERS, HATCHES])
def test_49_models_look_different(choices):
    assert len({(color_of(index), varied(choices, index)) for index in range(49)}) == 49


def test_the_lines_and_markers_of_sixteen_models_are_different():
    names = [f"model {place}" for place in range(16)]
    ax = pr.plots.plot_roc_curves(dict.fromkeys(names, pr.roc_curve(Y, P)))
    looks = {
        (one.get_color(), str(one._unscaled_dash_pattern)) for one in ax.get_lines() if one.get_label()[:5] == "model"
    }
    assert len(looks) == 16
    ax = pr.plots.plot_decompositions(dict.fromkeys(names, pr.decompose(Y, P)))
    looks = {(one.get_color(), one.get_marker()) for one in ax.get_lines() if one.get_label()[:5] == "model"}
    assert len(looks) == 16


@pytest.mark.slow
def test_the_regions_of_the_first_and_the_eighth_model_on_a_ranking_map_are_different():
    forecasts = {f"model {place}": 1 - P for place in range(8)}
    forecasts |= {"model 0": np.where(P < 0.5, P, 0.5), "model 7": np.where(P < 0.5, 0.5, P)}
    patches = pr.ranking_map(Y, forecasts).plot().patches
    first, eighth = (
        {(patch.get_facecolor(), patch.get_hatch()) for patch in patches if patch.get_label().startswith(name)}
        for name in ("model 0", "model 7")
    )
    assert first
    assert eighth
    assert not first & eighth


def test_the_curve_of_a_constant_forecast_has_a_bar_for_its_band():
    curve = pr.reliability_curve(Y, CONSTANT).with_consistency_band(seed=1, n_resamples=50)
    ax = curve.plot()
    assert line(ax, "_dots")[0].tolist() == [0.4]
    (bar,) = ax.collections[0].get_segments()
    assert bar.tolist() == [[0.4, curve.bands[0].low[0]], [0.4, curve.bands[0].high[0]]]
    assert ax.collections[0].get_linewidth()[0] > 3


@pytest.mark.parametrize("plot", [pr.plots.plot_precision_recall, pr.plots.plot_lifts])
def test_precision_and_lift_of_a_constant_forecast_are_dots(plot):
    (curve,) = [one for one in plot({"a": pr.roc_curve(Y, CONSTANT).gains()}).get_lines() if one.get_label()[0] == "a"]
    assert len(curve.get_xdata()) == 1
    assert curve.get_marker() == "o"


@pytest.mark.parametrize("function", [pr.decision_curve, pr.regret_curve, pr.murphy_curve])
def test_a_curve_at_one_threshold_is_a_dot(function):
    lines = function(Y, P, grid=[0.2]).plot().get_lines()
    assert {one.get_marker() for one in lines if len(one.get_xdata()) == 1} == {"o"}


def test_the_uncertainty_of_a_decision_at_one_threshold_is_a_dot_with_bars():
    found = pr.decision_uncertainty(Y, P, thresholds=0.2, seed=1, n_resamples=50)
    ax = found.plot()
    assert all(one.get_marker() == "o" for one in ax.get_lines())
    assert [len(bars.get_segments()) for bars in ax.collections] == [1, 1]


@pytest.mark.product("monitoring")
def test_a_monitor_of_one_day_shows_its_day():
    watch = pr.monitor(pr.condense(Y, {"m": P}, by={"day": np.ones(300, dtype=int)}))
    assert [one.get_marker() for one in watch.plot().get_lines() if one.get_label() == "_stream"] == ["o"] * 2


class EventRate(pr.measures.Measure):
    """A measure for which neither high nor low values are better."""

    key, label, higher_is_better = "event_rate", "event rate", None

    def value(self, table):
        return table.event_rate


def test_an_axis_does_not_say_which_values_are_better_if_none_are():
    assert measure_and_merit(EventRate()) == "Event rate"
    assert pr.slices(Y, P, EventRate(), by=P > 0.5, n_resamples=50, seed=1).plot().get_xlabel() == "Event rate"


def test_horizons_say_that_cases_had_no_event_of_any_kind():
    outcomes = pr.censored(np.linspace(0.1, 3.0, 300), Y, horizons=[0.5, 1.0], competing=~Y & (P > 0.5))
    curve = pr.horizon_curve(outcomes, {"m": np.column_stack([P / 2, P])})
    assert curve.plot().get_xlabel() == "Horizon\nand cases followed up without any event"
