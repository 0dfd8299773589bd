"""Names of models, groups, classes and sites are drawn as they are, whatever signs they hold."""

import io

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.cbook import is_math_text
from matplotlib.text import Text

import propriety as pr
from propriety.plots.drawable_names import drawable, drawable_list, drawable_names, visible

mpl.use("agg")

# What is written for each name: Matplotlib shows "\$" as a dollar sign, and leaves "_a" out of legends.
HOSTILE = {
    "_a": "\N{MODIFIER LETTER LOW MACRON}a",
    "price $5 to $10": r"price \$5 to \$10",
    r"$\frac$": r"\$\frac\$",
    "a&<b>": "a&<b>",
    "long" * 30: "longlong",
}
NAMES = list(HOSTILE)
N = 600
RNG = np.random.default_rng(3)
P = RNG.uniform(0.02, 0.98, N)
Y = (RNG.random(N) < P).astype(int)
GROUP = np.resize(np.array(NAMES, dtype=object), N)
FORECASTS = {name: np.clip(P + RNG.normal(0, 0.04 * place, N), 0.01, 0.99) for place, name in enumerate(NAMES)}
ROWS = RNG.dirichlet(np.ones(5), N)
CLASSES = np.array(NAMES, dtype=object)[[RNG.choice(5, p=row) for row in ROWS]]


def each(function, **options):
    return {name: function(Y, p, **options) for name, p in FORECASTS.items()}


def gains():
    return {name: curve.gains() for name, curve in each(pr.roc_curve).items()}


def ordered(function, **options):
    return {name: function(Y + (P > 0.8), _three(p), **options) for name, p in FORECASTS.items()}


def _three(p):
    return np.column_stack([1 - p, 0.6 * p, 0.4 * p])


def watched():
    day = np.repeat(np.arange(20), N // 20)
    y = np.where(day > 10, 1, Y)  # So that there are alarms, whose streams are named.
    ledger = pr.condense(y, FORECASTS, by={"day": day})
    return pr.monitor(ledger, measures=["observed_expected"], rule=None, reference_days=5)


def segments():
    y = np.where(NAMES[1] == GROUP, 1, Y)
    found = pr.find_segments(
        pr.cases(np.tile(y, 9), np.tile(P, 9), by={"$a$ and $b$": np.tile(GROUP, 9)}), seed=1, n_resamples=99
    )
    return found.plot()


def learners():
    from sklearn.linear_model import LogisticRegression

    return pr.validate(dict.fromkeys(NAMES, LogisticRegression()), P[:, None], Y, n_resamples=3, seed=1)


def horizons():
    times, forecasts = RNG.exponential(1.0, N), {name: np.column_stack([p / 2, p]) for name, p in FORECASTS.items()}
    return pr.horizon_curve(pr.censored(times, np.ones(N, dtype=int), horizons=[0.5, 1.0]), forecasts)


def best(name):
    return pr.ranking_map(Y, {name: P, "other": 1 - P}, thresholds=(0.2, 0.4))


def panels(draw):
    """Draw one panel for each name."""
    figure, axes = plt.subplots(1, len(NAMES), figsize=(20, 4))
    for place, ax in enumerate(axes):
        draw(place, ax)
    return figure


FIGURES = {
    "plot_curves": lambda: pr.plots.plot_curves(each(pr.reliability_curve)),
    "plot_cut_point_decompositions": lambda: pr.plots.plot_cut_point_decompositions(
        ordered(pr.decompose, rule=pr.RankedProbability())
    ),
    "plot_cut_point_reliability": lambda: pr.plots.plot_cut_point_reliability(each(pr.reliability_curve)),
    "plot_threshold_curves": lambda: pr.plots.plot_threshold_curves(each(pr.decision_curve, harm=0.01)),
    "plot_decompositions": lambda: pr.plots.plot_decompositions(each(pr.decompose)),
    "plot_evaluation": lambda: pr.plots.plot_evaluation(pr.evaluate(Y, FORECASTS, seed=1)),
    "plot_gains": lambda: pr.plots.plot_gains(gains()),
    "plot_grid": lambda: pr.plots.plot_grid(each(pr.reliability_curve)),
    "plot_lifts": lambda: pr.plots.plot_lifts(gains()),
    "stream of a monitor": lambda: panels(lambda place, ax: watched().plot(ax, stream=place)),
    "plot_precision_recall": lambda: pr.plots.plot_precision_recall(gains()),
    "plot_risk_coverage_curves": lambda: pr.plots.plot_risk_coverage_curves(each(pr.risk_coverage_curve)),
    "plot_roc_curves": lambda: pr.plots.plot_roc_curves(each(pr.roc_curve)),
    "comparison": lambda: pr.compare(Y, FORECASTS).plot(),
    "standings": lambda: pr.compare(Y, FORECASTS).ranks().plot(label="all"),
    "groups of models": lambda: pr.slices(Y, FORECASTS, by=GROUP).plot(),
    "ranking": lambda: panels(lambda place, ax: best(NAMES[place]).plot(ax)),
    "uncertainty of decisions": lambda: pr.decision_uncertainty(Y, FORECASTS, seed=1, n_resamples=99).plot(),
    "horizons": lambda: horizons().plot(),
    "learners": lambda: learners().plot(),
    "monitor": lambda: watched().plot(),
    "sites": lambda: pr.pool_sites(pr.condense(Y, P, by={"site": GROUP})).plot(),
    "confusion": lambda: next(iter(pr.evaluate(CLASSES, ROWS, labels=NAMES, seed=1).confusion.values())).plot(),
    "worst cases": lambda: pr.worst_cases(CLASSES, ROWS, labels=NAMES, most=2).plot(),
}
OF_PRODUCTS = {
    "sites": "sites",
    "learners": "validation",
    **dict.fromkeys(("monitor", "stream of a monitor"), "monitoring"),
}


def written(figure):
    """Save a figure, and return its visible texts."""
    figure.savefig(io.BytesIO(), format="png")
    texts = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text()]
    assert not [text.get_text() for text in texts if is_math_text(text.get_text())]
    return [text.get_text() for text in texts]


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_every_function_that_draws_several_models_is_tried():
    assert {name for name in pr.plots.__all__ if name.startswith("plot_")} <= set(FIGURES)


@pytest.mark.parametrize(
    "figure", [pytest.param(name, marks=pytest.mark.product(OF_PRODUCTS.get(name, ""))) for name in FIGURES]
)
def test_hostile_names_are_written_in_full_and_not_as_formulas(figure):
    drawn = FIGURES[figure]()
    texts = written(drawn if hasattr(drawn, "savefig") else drawn.figure)
    for name, told in HOSTILE.items():
        assert any(told in text or name in text for text in texts), name  # A title may begin with "_".


@pytest.mark.product("segments")
def test_segments_are_named_in_full():
    assert any(r"\$a\$ and \$b\$ = price \$5 to \$10" in text for text in written(segments().figure))


@pytest.mark.parametrize("name", HOSTILE)
def test_a_title_is_not_a_formula(name):
    pr.ReliabilityDisplay.from_predictions(Y, P, name=name, level=None).ax_.set_xlabel("")
    written(plt.gcf())
    written(pr.decision_curve(Y, P).minus(pr.decision_curve(Y, P**2)).plot(labels=(name, name)).figure)


def test_the_caller_can_draw_dollar_signs_as_they_are():
    with mpl.rc_context({"text.parse_math": False}):
        assert drawable("$5") == "$5"


def test_names_are_short_visible_and_different():
    names = ["x" * 50 + "1", "x" * 50 + "2", "", " ", "a\nb\x00c", 7]
    short = drawable_list(names)
    assert len(set(short)) == len(names)
    assert all(0 < len(name) <= 32 for name in short)
    assert short[-2:] == ["a bc", "7"]
    assert drawable_names([7, "b"]) == {7: "7", "b": "b"}
    assert visible("_") == "\N{MODIFIER LETTER LOW MACRON}"


LONG = "gradient boosting with all features and {} stopping after thirty rounds"
ALIKE = {LONG.format("late"): P, LONG.format("early"): 1 - P}  # Equal after their middle is left out.


def test_names_that_are_cut_alike_are_numbered_alike_everywhere():
    late, early = drawable_names(ALIKE).values()
    assert (early[-2:], late[-2:]) == ("ds", " 2")
    assert drawable_names(reversed(ALIKE)) == drawable_names(ALIKE)
    ranking = pr.ranking_map(Y, ALIKE, thresholds=(0.2, 0.4))
    assert any(f"{late}:\nregret lower than\n{early}\n" in text for text in written(ranking.plot().figure))
    found = pr.decision_uncertainty(Y, ALIKE, reference=LONG.format("late"), seed=1, n_resamples=99)
    ax = found.plot(kind="gain")
    assert ax.get_ylabel() == f"Gain in net benefit over {late}"
    difference = pr.decision_curve(Y, P).minus(pr.decision_curve(Y, P**2)).plot(labels=tuple(ALIKE))
    assert {f"{late} better", f"{early} better"} <= set(written(difference.figure))


def test_many_names_with_one_beginning_are_numbered_at_once():
    names = [f"{'x' * 60}{place:05}{'y' * 60}" for place in range(5_000)]
    short = drawable_list(names)
    assert len(set(short)) == len(names)
    assert short[-1].endswith(" 5000")
