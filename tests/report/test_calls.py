"""Every call on a page, made alone, gives the numbers that it stands beside."""

import math

import numpy as np
import polars as pl
import pytest

import propriety as pr
from propriety.evaluation.calls import Calls, written
from propriety.inference.comparison import compare_of
from propriety.inference.measures import NetBenefit
from propriety.report import texts
from propriety.report.evaluation import page_of
from propriety.report.figures import without_pictures
from propriety.report.page import Figure
from propriety.report.threshold_ranking import ThresholdRanking

N = 240
RNG = np.random.default_rng(5)
TRUTH = RNG.beta(2, 3, N)
Y = (RNG.random(N) < TRUTH).astype(int)
MODELS = {"honest": TRUTH, "it's bold": TRUTH**2 / (TRUTH**2 + (1 - TRUTH) ** 2)}
DATA = {"y": Y, "forecasts": MODELS}
WEIGHT, CLUSTER, SITE = RNG.gamma(2.0, 1.0, N), RNG.integers(0, 60, N), RNG.choice(["north", "south"], N)
TIME = RNG.permutation(N) // 2
WORDS = np.where(Y == 1, "yes", "no")
ROWS = {"sharp": RNG.dirichlet([1, 2, 1], N), "flat": np.full((N, 3), 1 / 3)}
PLACES = np.array([RNG.choice(3, p=row) for row in ROWS["sharp"]])
GRADES = ["low", "middle", "high"]
GRADE = np.array(GRADES)[PLACES]
HOLES = np.where(np.arange(N) % 7 == 0, np.nan, MODELS["it's bold"])
KEPT = np.flatnonzero(~np.isnan(HOLES))


@pytest.fixture(autouse=True)
def undrawn():
    with without_pictures():
        yield


# The data under the names that calls use, and what `evaluate` is asked beside the outcomes and forecasts.
CASES = {
    "plain": (DATA, {}),
    "one model": ({"y": Y, "forecasts": {"honest": TRUTH}}, {}),
    "weights and clusters": (
        DATA | {"sample_weight": WEIGHT, "cluster": CLUSTER, "by": SITE},
        {"thresholds": (0.2, 0.4), "level": 0.9},
    ),
    "times": (DATA | {"time": TIME, "by": SITE}, {"thresholds": 0.3}),
    "one model in time": ({"y": Y, "forecasts": {"honest": TRUTH}, "time": TIME}, {"level": 0.8}),
    "level": (DATA | {"by": SITE}, {"level": 0.8}),
    "threshold": (DATA | {"by": SITE}, {"thresholds": np.float64(0.3)}),
    "interval": (DATA, {"thresholds": (0.1, 0.35)}),
    "strings": (DATA | {"y": WORDS, "by": SITE}, {"pos_label": np.array(["yes"])[0]}),
    "labels": (DATA | {"y": WORDS}, {"labels": ["yes", "no"], "pos_label": "no"}),
    "dropped": (
        {
            "y": Y[KEPT],
            "forecasts": {name: p[KEPT] for name, p in MODELS.items()},
            "sample_weight": WEIGHT[KEPT],
            "by": SITE[KEPT],
        },
        {},
    ),
    "classes": ({"y": GRADE, "forecasts": ROWS}, {"labels": GRADES}),
    "classes with weights": (
        {"y": PLACES, "forecasts": ROWS, "sample_weight": WEIGHT, "cluster": CLUSTER},
        {"tolerance": 1e-3},
    ),
    "grades": ({"y": GRADE, "forecasts": ROWS, "time": TIME}, {"labels": GRADES, "ordered": True}),
    "classes in groups": ({"y": PLACES, "forecasts": ROWS, "by": SITE}, {}),
    "keys": (DATA | {"by": {"site": SITE, "half": np.arange(N) % 2}}, {"thresholds": 0.3}),
    "one model of grades": ({"y": PLACES, "forecasts": {"sharp": ROWS["sharp"]}}, {"ordered": True}),
}


def evaluated(case):
    data, options = CASES[case]
    y, forecasts, shared = data["y"], data["forecasts"], {k: v for k, v in data.items() if k not in ("y", "forecasts")}
    if case == "dropped":
        y, forecasts = Y, {"honest": TRUTH, "it's bold": HOLES}
        shared, options = {"sample_weight": WEIGHT, "by": SITE}, {"missing": "drop"}
    return pr.evaluate(y, forecasts, **shared, **options, n_resamples=40, seed=1)


def calls_on(page):
    for section in page.sections:
        for item in section.items:
            for call in filter(None, getattr(item, "call", "").splitlines()):
                yield item, call.removesuffix(".plot()")


def assert_calls_give_the_numbers(result, data):
    made = 0
    for item, call in calls_on(page_of(result, title="A")):
        for name in (
            result.models
            if "[name]" in call or "model=name" in call
            else ((item.of_models if isinstance(item, Figure) else item.models) or result.models)[:1]
        ):
            found = eval(call, {"pr": pr, "name": name} | data)  # noqa: S307  (the package's own words, to be checked)
            if isinstance(item, ThresholdRanking):
                assert found == pytest.approx(item.mean_regret()[name], rel=1e-12), call
            else:
                assert_is_that_of(result, found, call, name)
            made += 1
    assert made > 8
    for call in result.scores.call.tolist():
        assert_is_that_of(result, eval(call, {"pr": pr} | data), call, "")  # noqa: S307  (as above)


def assert_is_that_of(result, found, call, name):
    wanted = {
        "Comparison": lambda: [result.comparison, *differences(result)],
        "Standings": lambda: [result.comparison.standings],
        "Slices": lambda: [result.slices, result.group_skill],
        "GroupCalibration": lambda: [result.group_calibration],
        "EvaluatedClasses": lambda: [result.classes],
        "RankingMap": lambda: [result.ranking],
        "RiskCoverageCurve": lambda: [result.risk_coverage[name]],
        "Confusion": lambda: [result.confusion[name]],
        "ReliabilityCurve": lambda: [*result.reliability[name].values(), *list(result.top_reliability.values())],
        "Decomposition": lambda: [result.decompositions[name]],
        "DecisionCurve": lambda: [result.decision_curves[name]],
        "MurphyCurve": lambda: [result.murphy_curves[name]],
        "RocCurve": lambda: [result.roc_curves[name]],
        "ProbabilityMeans": lambda: [result.probability_means[name]],
        "Recalibration": lambda: [result.recalibration[name]],
        "SmoothCalibration": lambda: [result.calibration[name]["event"].smooth],
        "OperatingPoints": lambda: [points_of(result, name)],
        "GainCurve": lambda: [result.roc_curves[name].gains()],
    }
    if isinstance(found, pr.results.Estimate):
        place = result.scores.call.tolist().index(call)
        for field in ("value", "low", "high"):
            beside = getattr(result.scores, field)[place]
            assert getattr(found, field) == pytest.approx(beside, rel=1e-12, nan_ok=True), call
    elif isinstance(found, pr.recalibration.RecalibrationMap):
        assert found == result.recalibration[name].map, call
    elif isinstance(found, dict):
        assert found["count"].tolist() == result.confusion[name].most_confused()["count"].tolist(), call
    elif type(found).__name__ == "Figure":
        assert "plot_cut_point_decompositions" in call
    else:
        beside = wanted[type(found).__name__]()
        assert any(same(found, one) for one in beside), call


def differences(result):
    """Return the comparisons in net benefit at the thresholds."""
    ends = [] if result.thresholds is None else np.atleast_1d(result.thresholds).tolist()
    options = {"level": result.level, "drawing": result._drawing}
    return [compare_of(result.ledger, NetBenefit(end), **options) for end in ends]


def points_of(result, name):
    ends = np.atleast_1d(result.thresholds).tolist()
    return result.decision_curves[name].operating_points(grid=ends, level=result.level)


def same(found, beside):
    # The call is made of the rows that were kept, so it drops none.
    one, other = found.columns(), beside.columns()
    return all(
        len(one[name]) == len(other[name])
        and (
            np.allclose(one[name], other[name], rtol=1e-12, atol=1e-15, equal_nan=True)
            if np.asarray(one[name]).dtype.kind == "f"
            else np.array_equal(one[name], other[name])
        )
        for name in other
        if name in one and name != "dropped"
    )


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_every_call_on_the_page_gives_its_numbers(case):
    assert_calls_give_the_numbers(evaluated(case), CASES[case][0])


# What a ledger is condensed from, and what `evaluate` is asked of it.
LEDGERS = {
    "plain": ({}, {"level": 0.9}),
    "groups": ({"by": SITE}, {"thresholds": 0.3}),
    "clusters": ({"by": {"site": SITE, "half": np.arange(N) % 2}, "cluster": CLUSTER}, {"thresholds": (0.1, 0.3)}),
    "weights": ({"sample_weight": WEIGHT}, {"thresholds": (0.1, 0.3)}),
    "times": ({"time": TIME}, {}),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", LEDGERS)
def test_every_call_on_the_page_of_a_ledger_gives_its_numbers(case):
    shared, options = LEDGERS[case]
    ledger = pr.condense(Y, MODELS, **shared)
    assert_calls_give_the_numbers(pr.evaluate(ledger, **options, n_resamples=40, seed=1), {"ledger": ledger})


@pytest.mark.parametrize("ordered", [False, True], ids=["classes", "grades"])
def test_every_call_on_the_page_of_a_ledger_of_classes_gives_its_numbers(ordered):
    ledger = pr.condense(GRADE, ROWS, labels=GRADES, ordered=ordered, by=SITE)
    assert_calls_give_the_numbers(pr.evaluate(ledger, n_resamples=40, seed=1), {"ledger": ledger})


@pytest.mark.parametrize("thresholds", [None, (0.1, 0.3)], ids=["none", "interval"])
def test_every_call_on_the_page_of_stored_ledgers_gives_its_numbers(tmp_path, thresholds):
    rules = [] if thresholds is None else [pr.BoundedBrier(*thresholds), pr.BoundedLog(*thresholds)]
    rules += [] if thresholds is None else [pr.measures.NetBenefit(end).rule for end in thresholds]
    pr.condense(Y, MODELS, by=SITE, rules=rules).to_parquet(tmp_path / "ledger")
    ledger = pr.Ledger.from_parquet(tmp_path / "ledger")
    result = pr.evaluate(ledger, thresholds=thresholds, n_resamples=40, seed=1)
    assert result.ranking is None
    assert_calls_give_the_numbers(result, {"ledger": ledger})


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["counts", "weights"])
def test_every_call_on_the_page_of_tables_gives_its_numbers(weight):
    tables = {name: pr.ForecastTable.from_predictions(Y, p, sample_weight=weight) for name, p in MODELS.items()}
    result = pr.evaluate(tables, level=0.9, n_resamples=40, seed=1)
    assert (result.comparison, result.slices, result.ranking) == (None, None, None)
    assert math.isfinite(result.scores.at("honest", "brier")["low"])
    assert_calls_give_the_numbers(result, {"ledger": result.ledger})


def test_every_call_on_the_page_of_a_lazy_frame_gives_its_numbers():
    frame = pl.DataFrame({"y": Y, **MODELS, "site": SITE})
    result = pr.evaluate(frame.lazy(), list(MODELS), outcome="y", by="site", n_resamples=40, seed=1)
    assert_calls_give_the_numbers(result, DATA | {"by": SITE})


class Share:
    """A measure without a form of its own in code."""

    key, label, higher_is_better = "share", "share of events", True

    def value(self, table):
        return table.event_rate


def rate(table):
    return table.event_rate


def test_measures_of_ones_own_are_written_as_they_are():
    assert written(Share()) == "Share()"
    result = pr.evaluate(
        Y, MODELS, measures=[Share(), rate, pr.measures.MeanScore(pr.Spherical())], n_resamples=40, seed=1
    )
    data = DATA | {"Share": Share, "rate": rate}
    assert_calls_give_the_numbers(result, data)
    assert result.scores.call[-2].endswith("rate, n_resamples=40, seed=1)")
    assert result.scores.call[-1] == """pr.estimate(y, forecasts["it's bold"], pr.Spherical())"""


def test_the_page_says_what_the_names_in_the_calls_are():
    said = " ".join(
        words
        for section in page_of(evaluated("dropped"), title="A").sections
        if section.id == "methods"
        for words in section.words
    )
    assert "sample_weight and by are as given" in said
    assert "rows in which any model has a missing value are left out" in said
    assert "ledger holds the tables" in texts.calls_words(Calls(is_ledger=True), 0)
    assert "as given" not in texts.calls_words(Calls(), 0)
