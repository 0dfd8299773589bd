"""Pictures show what was computed: the data and the labels are looked at, not the pixels."""

import math
from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pytest
from drawn import line, texts
from matplotlib import pyplot as plt
from matplotlib.text import Text

import propriety as pr
from propriety.errors import InputTypeError, InputValueError
from propriety.plots.drawing import shown
from propriety.plots.placing import is_crossed
from propriety.tables.forecast_table import ForecastTable

mpl.use("agg")

RNG = np.random.default_rng(0)
P = RNG.random(500)
Y = RNG.random(500) < P


@pytest.fixture(scope="module")
def curve():
    return pr.reliability_curve(Y, P)


def test_the_curve_runs_through_its_blocks(curve):
    ax = curve.plot()
    x, y = line(ax, "_curve")
    np.testing.assert_array_equal(x[::2], curve.forecast_min)
    np.testing.assert_array_equal(x[1::2], curve.forecast_max)
    np.testing.assert_array_equal(y[::2], curve.event_rate)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("Forecast probability", "Observed event rate")
    assert ax.get_aspect() == 1.0


def test_the_scores_are_printed(curve):
    (text,) = texts(curve.plot())
    parts = curve.decomposition
    assert f"MCB  {shown(parts.miscalibration)}" in text
    assert f"DSC  {shown(parts.discrimination)}" in text
    assert f"UNC  {shown(parts.uncertainty)}" in text
    assert "n = 500" in text
    assert texts(curve.plot(scores=False)) == []


def test_the_histogram_shows_every_weight(curve):
    (bars,) = curve.plot().patches
    heights = bars.get_path().vertices.reshape(-1, 5, 2)[:, :, 1].max(axis=1)
    np.testing.assert_allclose(heights / heights.max(), curve.histogram.weight / curve.histogram.weight.max())
    assert not curve.plot(histogram=False).patches


def test_bands_are_drawn_and_named(curve):
    banded = curve.with_consistency_band(seed=1, n_resamples=50).with_confidence_band()
    ax = banded.with_simultaneous_band(level=0.95).plot()
    assert [area.get_label() for area in ax.collections] == [
        "90% pointwise consistency band",
        "90% pointwise confidence band",
        "95% simultaneous band",
    ]
    named = ["90% pointwise consistency band", "90% pointwise confidence band", "95% simultaneous band (dotted)"]
    assert set(named) <= set(texts(ax))
    corners = ax.collections[0].get_paths()[0].vertices
    assert corners[:, 1].max() == pytest.approx(banded.bands[0].high.max())


def test_discrete_forecasts_are_dots():
    curve = pr.reliability_curve([0, 1, 0, 1], [0.1, 0.3, 0.4, 0.8])
    x, y = line(curve.plot(), "_dots")
    assert x.tolist() == [0.1, 0.3, 0.4, 0.8]
    assert y.tolist() == [0, 0.5, 0.5, 1]


@pytest.mark.parametrize("method", ["bins", "smooth"])
def test_other_methods_say_that_they_are_for_comparison(method):
    curve = pr.reliability_curve(Y, P, method=method)
    ax = curve.plot()
    assert "for comparison" in texts(ax)[0]
    if method == "bins":
        np.testing.assert_array_equal(line(ax, "_curve")[0], curve.forecast_mean)


def test_rare_events_are_shown_at_their_own_scale():
    p = RNG.beta(1, 60, 4000)
    p = p[p < 0.09]
    curve = pr.reliability_curve(RNG.random(len(p)) < p, p)
    ax = curve.plot()
    assert ax.get_xlim()[1] <= 0.5
    assert ax.get_xlim() == ax.get_ylim()
    assert ax.get_xlim()[1] >= curve.event_rate[curve.forecast_min <= np.quantile(p, 0.99)].max()
    assert ("not shown" in ax.get_xlabel()) == bool(curve.event_rate.max() > ax.get_ylim()[1])


def test_a_few_high_forecasts_do_not_squeeze_the_rest_and_are_mentioned():
    p = np.append(np.linspace(0.01, 0.19, 995), [0.9] * 5)
    y = np.append(np.arange(995) % 10 == 0, [True] * 5)
    curve = pr.reliability_curve(y, p, method="bins")
    ax = curve.plot()
    assert ax.get_xlim() == ax.get_ylim() == (0.0, 0.2)
    assert ax.get_xlabel() == "Forecast probability\n(0.5% of the cases not shown)"
    many = pr.reliability_curve(np.append(y, [True] * 20), np.append(p, [0.9] * 20), method="bins").plot()
    assert many.get_xlim() == (0.0, 1.0)


def test_the_legend_is_where_no_curve_crosses_it():
    p = np.linspace(0.02, 0.98, 500)
    steep, flat = RNG.random(500) < p**0.2, RNG.random(500) < p**4
    for y in (steep, flat, np.append(steep[:250], flat[250:])):
        ax = pr.plots.plot_curves({"a model": pr.reliability_curve(y, p), "another": pr.reliability_curve(y, p**2)})
        ax.figure.draw_without_rendering()
        assert not is_crossed(ax, ax.get_legend())


def test_a_picture_goes_on_the_callers_axes_and_changes_no_settings(curve):
    before = dict(mpl.rcParams)
    figure, ax = plt.subplots()
    assert curve.plot(ax) is ax
    assert figure.axes == [ax]
    assert dict(mpl.rcParams) == before


def test_several_curves_on_one_diagram(curve):
    other = pr.reliability_curve(Y, P**2)
    ax = pr.plots.plot_curves({"honest": curve, "timid": other})
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        f"honest  (MCB {shown(curve.decomposition.miscalibration)})",
        f"timid  (MCB {shown(other.decomposition.miscalibration)})",
    ]
    styles = {one.get_label(): (one.get_color(), one.get_linestyle()) for one in ax.get_lines()}
    assert styles["honest"][0] != styles["timid"][0]
    assert styles["honest"][1] != styles["timid"][1]


def test_small_multiples(curve):
    figure = pr.plots.plot_grid(dict.fromkeys("abcd", curve), columns=3)
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["a", "b", "c", "d"]
    assert [bool(ax.get_xlabel()) for ax in figure.axes] == [False, True, True, True]
    assert [bool(ax.get_ylabel()) for ax in figure.axes] == [True, False, False, True]


def test_models_lie_at_their_miscalibration_and_discrimination():
    parts = {"honest": pr.decompose(Y, P), "timid": pr.decompose(Y, P**2)}
    ax = pr.plots.plot_decompositions(parts)
    for name, one in parts.items():
        x, y = line(ax, name)
        assert (x[0], y[0]) == (one.miscalibration, one.discrimination)
        assert f"{name}  {shown(one.score)}" in texts(ax)
    for isoline in (one for one in ax.get_lines() if one.get_label() == "_isoline"):
        x, y = isoline.get_data()
        assert np.diff(y) == pytest.approx(np.diff(x))
    assert parts["honest"].plot().get_xlabel().startswith("Miscalibration")


@pytest.mark.parametrize("spread", [0.2, 0.002])
def test_lines_of_equal_score_have_different_numbers(spread):
    p = 0.3 + spread * (P - 0.5)
    ax = pr.plots.plot_decompositions({"a": pr.decompose(P < 0.3, p), "b": pr.decompose(P < 0.3, p - spread / 4)})
    levels = [text for text in texts(ax) if text[0].isdigit()]
    assert len(levels) >= 3
    assert len(set(levels)) == len(levels)
    decimals = {len(text.split(".")[-1].split("\n")[0]) for text in texts(ax)}
    assert len(decimals) == 1


def test_infinite_scores_are_named_and_not_placed():
    infinite = pr.decompose([0, 1, 1, 0], [0.0, 0.0, 0.9, 0.3], rule=pr.Log())
    finite = pr.decompose([0, 1, 1, 0], [0.1, 0.3, 0.9, 0.3], rule=pr.Log())
    ax = pr.plots.plot_decompositions({"sure": infinite, "unsure": finite})
    assert any("not shown, infinite: sure" in text for text in texts(ax))
    with pytest.raises(InputValueError, match="at least one model must have a finite score"):
        pr.plots.plot_decompositions({"sure": infinite})


def test_labels_do_not_cover_each_other():
    one = pr.decompose(Y, P)
    ax = pr.plots.plot_decompositions({"first model": one, "second model": one})
    first, second = (text.get_window_extent() for text in ax.texts if "model" in text.get_text())
    assert not first.overlaps(second)


def test_labels_of_models_cover_nothing_once_the_layout_is_settled():
    one = pr.decompose(Y, P)
    parts = {
        "Logistic regression": replace(
            one, miscalibration=0.0045, discrimination=0.047, uncertainty=0.194, score=0.151
        ),
        "Gradient boosting": replace(one, miscalibration=0.0088, discrimination=0.048, uncertainty=0.194, score=0.155),
        "Nothing": replace(one, miscalibration=0.008, discrimination=0.0, uncertainty=0.194, score=0.202),
    }
    figure = plt.figure(figsize=(4.6, 4.6), layout="constrained")
    ax = pr.plots.plot_decompositions(parts, figure.subplots())
    figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in ax.texts]
    boxes += [tick.get_window_extent() for tick in (*ax.get_xticklabels(), *ax.get_yticklabels())]
    for label in [text for text in ax.texts if text.get_text().split("  ")[0] in parts]:
        own = label.get_window_extent()
        assert sum(own.overlaps(box) for box in boxes) == 1, label.get_text()  # Itself.


def test_a_result_without_a_picture_says_so():
    with pytest.raises(NotImplementedError, match=r"ForecastTable has no figure.*to_frame"):
        ForecastTable.from_predictions([0], [0.5]).plot()


def test_the_display_from_predictions_and_from_an_estimator():
    from sklearn.linear_model import LogisticRegression

    display = pr.ReliabilityDisplay.from_predictions(Y, P, name="honest", seed=1, method="corp")
    assert display.ax_.get_title(loc="left") == "honest"
    assert [band.kind for band in display.curve.bands] == ["consistency"]
    features = P[:, None]
    model = LogisticRegression().fit(features, np.where(Y, "yes", "no"))
    display = pr.ReliabilityDisplay.from_estimator(model, features, np.where(Y, "yes", "no"), level=None)
    assert display.curve.bands == ()
    assert display.ax_.get_title(loc="left") == "LogisticRegression"
    direct = pr.reliability_curve(Y, model.predict_proba(features)[:, 1])
    np.testing.assert_array_equal(display.curve.event_rate, direct.event_rate)
    other = pr.ReliabilityDisplay.from_estimator(model, features, np.where(Y, "yes", "no"), pos_label="no", level=None)
    np.testing.assert_allclose(other.curve.event_rate, 1 - direct.event_rate[::-1])
    assert display.figure_ is display.ax_.figure


def test_what_the_display_refuses():
    from sklearn.linear_model import LogisticRegression, Ridge

    three = LogisticRegression().fit(P[:, None], np.arange(500) % 3)
    two = LogisticRegression().fit(P[:, None], Y)
    with pytest.raises(InputTypeError, match="must have predict_proba; Ridge does not"):
        pr.ReliabilityDisplay.from_estimator(Ridge(), P[:, None], Y)
    with pytest.raises(InputValueError, match="a classifier of two classes; it has 3"):
        pr.ReliabilityDisplay.from_estimator(three, P[:, None], Y)
    with pytest.raises(InputValueError, match="pos_label must be one of"):
        pr.ReliabilityDisplay.from_estimator(two, P[:, None], Y, pos_label="yes")


@pytest.mark.slow
def test_pictures_without_matplotlib_say_what_to_install():
    import subprocess
    import sys

    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "import propriety as pr\n"
        "try:\n    pr.reliability_curve([0, 1], [0.2, 0.7]).plot()\n"
        "except pr.errors.MissingDependencyError as error:\n    print(error)\n"
    )
    told = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout  # noqa: S603
    assert 'pip install "propriety[plot]"' in told


@pytest.mark.parametrize(
    ("value", "text"), [(0.2345, "0.234"), (0.0, "0.000"), (0.00746, "0.00746"), (7.5e-6, "0.0000075"), (np.inf, "∞")]
)
def test_numbers_on_pictures(value, text):
    assert shown(value) == text


def test_unknown_names_of_the_package_are_unknown():
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = pr.nonsense


@pytest.mark.product("validation")
def test_an_infinite_estimate_is_not_drawn_as_a_perfect_one():
    from sklearn.linear_model import LogisticRegression
    from sklearn.tree import DecisionTreeClassifier

    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 2))
    y = rng.random(200) < 1 / (1 + np.exp(-x[:, 0]))
    learners = {"tree": DecisionTreeClassifier(random_state=0), "logistic": LogisticRegression()}
    found = pr.validate(learners, x, y, measures=[pr.Log()], method="cross-validation", seed=1)
    assert [text.get_text() for text in found.plot().texts if "∞" in text.get_text()] == ["∞ →"]


def test_rare_thresholds_have_numbers_of_cases_above():
    rng = np.random.default_rng(1)
    p = rng.beta(1, 400, 20_000)
    ax = pr.decision_uncertainty(rng.random(20_000) < p, {"m": p}, seed=1, n_resamples=99).plot()
    above = [tick.get_text() for axis in ax.child_axes for tick in axis.get_xticklabels()]
    assert "1 in 500" in above


def test_a_page_of_classes_omits_parts_that_are_unknown():
    rng = np.random.default_rng(2)
    rows = rng.dirichlet([1, 1, 1], 90)
    result = pr.evaluate(np.arange(90) % 3, {"a": rows, "b": rows[::-1]}, seed=1)
    unknown = {name: replace(one, miscalibration=math.nan) for name, one in result.decompositions.items()}
    some = unknown | {"b": result.decompositions["b"]}
    assert any("not shown, parts unknown: a" in text.get_text() for text in pr.plots.plot_decompositions(some).texts)
    with pytest.raises(InputValueError, match="known parts"):
        pr.plots.plot_decompositions(unknown)
    titles = {ax.get_title(loc="left") for ax in result.plot().axes}
    assert {"Parts of the score", "Scores and ranks"} <= titles


def test_titles_of_the_page_are_above_legends():
    """Long names leave no corner of the reliability diagram free, so its legend is above the axes."""
    rng = np.random.default_rng(2)
    p = rng.beta(2, 5, 400)
    names = ("gradient_boosting_v2", "logistic_regression", "baseline_rate")
    models = dict(zip(names, (p, 0.3 + 0.3 * p, np.full(400, 0.3)), strict=True))
    figure = pr.evaluate(rng.random(400) < p, models, n_resamples=20, seed=1).plot()
    figure.draw_without_rendering()
    ax = figure.axes[0]
    title = next(one for one in ax.get_children() if isinstance(one, Text) and one.get_text() == "Reliability")
    assert not title.get_window_extent().overlaps(ax.get_legend().get_window_extent())


def test_the_name_of_a_band_is_not_written_over_the_curve():
    rng = np.random.default_rng(6)
    p = rng.uniform(0.0, 1.0, 3_000)
    curve = pr.reliability_curve(rng.random(3_000) < 0.2 * p, p).with_consistency_band(seed=1, n_resamples=50)
    ax = curve.plot()
    (name,) = [text for text in ax.texts if text.get_text() == "90% pointwise consistency band"]
    assert not is_crossed(ax, name)
    assert name.get_window_extent().y0 > ax.get_window_extent().y1 / 2
