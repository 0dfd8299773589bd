"""Every call on a page, made alone, gives the numbers that it stands beside."""

import math
import re
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from given_numbers import has_line_with, lines_about, lines_of, numbers_in

import propriety as pr
from propriety.evaluation.calls import Calls, written
from propriety.inference.group_rows import group_rows
from propriety.inference.measures.of_means import NetBenefit
from propriety.recalibration.result import formula_of
from propriety.report import texts
from propriety.report.evaluation import page_of
from propriety.report.figures import without_pictures
from propriety.report.page import Figure
from propriety.report.threshold_ranking import ThresholdRanking
from propriety.tables.forecast_table import ForecastTable

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
    "times": (DATA | {"period": TIME, "by": SITE}, {"thresholds": 0.3}),
    "one model in time": ({"y": Y, "forecasts": {"honest": TRUTH}, "period": TIME}, {"level": 0.8}),
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
        {},
    ),
    "grades": ({"y": GRADE, "forecasts": ROWS, "period": TIME}, {"labels": GRADES, "ordered": True}),
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


def assert_calls_give_the_numbers(result, data):
    names = {"pr": Undrawn()} | data
    made = 0
    for section in page_of(result, title="A").sections:
        for item in section.items:
            calls = [call.removesuffix(".plot()") for call in getattr(item, "call", "").splitlines()]
            for model in models_of(item, calls, result) if calls else ():
                answers = [eval(call, names | {"name": model}) for call in calls]  # noqa: S307  (the package's own words)
                assert_shown_numbers_are_those_of(answers, item, model, result)
                made += len(calls)
    assert made > 8
    for row, call in enumerate(result.scores.call.tolist()):
        estimate = eval(call, names)  # noqa: S307  (as above)
        for field in ("value", "low", "high"):
            shown = getattr(result.scores, field)[row]
            assert getattr(estimate, field) == pytest.approx(shown, rel=1e-12, nan_ok=True), call


class Undrawn:
    """The package, except that the call of a picture of several results returns these."""

    plots = SimpleNamespace(plot_cut_point_decompositions=lambda parts: parts)

    def __getattr__(self, name):
        return getattr(pr, name)


def models_of(item, calls, result):
    """Return the models that the calls beside an item are about: each in turn, one, or None for all at once."""
    if any(re.search(r"[\[(= ]name[\]),]", call) for call in calls):
        return result.models
    named = (item.of_models if isinstance(item, Figure) else item.models)[:1]
    return named or [model for model in result.models if repr(model) in calls[0]][:1] or [None]


def assert_shown_numbers_are_those_of(answers, item, model, result):
    """Check that every row shown, of one model or of all, consists of numbers that the calls give together."""
    if isinstance(item, ThresholdRanking):
        assert item.mean_regret()[model] == pytest.approx(answers[0], rel=1e-12), item.call
        return
    columns = item.table if isinstance(item, Figure) else item.columns
    if item.title == "Recalibration maps":
        assert columns["formula"][columns["model"].index(model)] == formula_of(answers[0]), item.call
        return
    if model in columns and "model" not in columns:
        columns = {name: columns[name] for name in (next(iter(columns)), model)}
    x = next(iter(columns.values()))
    given = [lines_of(answer, item.title, x) for answer in answers]
    if len(given) > 1 and all(len(lines.get(None, ())) == 1 for lines in given):
        given = [{None: np.concatenate([lines[None] for lines in given], axis=1)}]
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    rows = [row for row in rows if model is None or row.get("model", model) == model]
    assert rows, item.call
    for row in rows:
        for name in [name for title, name in ELSEWHERE if item.title.startswith(title) and name in row]:
            assert_is_in_the_evaluation(row.pop(name), name, row, result)
        numbers = [number for cell in row.values() for number in numbers_in(cell)]
        of_model = [lines_about(row.get("model", model), lines) for lines in given]
        assert numbers, item.call
        assert any(has_line_with(numbers, lines) for lines in of_model), (item.title, row, item.call)


# Columns that the calls beside them do not give: they belong to another table, whose own call does.
ELSEWHERE = [
    ("Alerts and net benefit", "net benefit"),
    ("Calibration by", "events"),
    ("Calibration by", "adjusted p-value"),
    ("Reliability of the most likely class", "observed/expected"),
    ("Reliability of the most likely class", "slope"),
    ("Reliability of the most likely class", "miscalibration"),
]


def assert_is_in_the_evaluation(cell, name, row, result):
    if name == "net benefit":
        scores = result.scores.at(row["model"], NetBenefit(float(row["threshold"].rstrip("%")) / 100).key)
        wanted = [scores[field] for field in ("value", "low", "high")]
    elif name == "adjusted p-value":
        (key, label), *_ = ((key, value) for key, value in row.items() if key != "model")
        tests = result.group_calibration.where(model=row["model"], measure="calibration")
        wanted = [one.p_adjusted for one in tests if str(label) in map(str, one.keys.values())]
        assert any(numbers_in(cell) == pytest.approx([one], rel=1e-12) for one in wanted), (key, row)
        return
    elif name == "events":
        group = next(value for key, value in row.items() if key != "model")
        of_keys = [one for key in result.slices.keys for one in group_rows(result.slices, key=key)]
        (wanted,) = [[one.value.events] for one in of_keys if (one.model, one.group) == (row["model"], group)]
    else:
        key = {"observed/expected": "observed_expected", "slope": "calibration_slope"}.get(name, name)
        (found,) = result.calibration.where(model=row["model"], measure=key, statistic="top label")
        wanted = [found.value, found.low, found.high] if found.has_limits else [found.value]
    assert numbers_in(cell) == pytest.approx(wanted, rel=1e-12, nan_ok=True), (name, row)


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
    "times": ({"period": TIME}, {}),
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
    tables = {name: ForecastTable.from_predictions(Y, p, sample_weight=weight) for name, p in MODELS.items()}
    result = pr.evaluate(pr.Ledger.of_tables(tables), level=0.9, n_resamples=40, seed=1)
    assert (result.comparison, result.slices, result.ranking) == (None, None, None)
    assert math.isfinite(result.scores.at("honest", "brier")["low"])
    assert_calls_give_the_numbers(result, {"ledger": result.ledger})


def test_every_call_on_the_page_of_a_lazy_frame_gives_its_numbers():
    frame = pl.DataFrame({"y": Y, **MODELS, "site": SITE})
    result = pr.evaluate(frame.lazy(), list(MODELS), outcome="y", by="site", n_resamples=40, seed=1)
    assert_calls_give_the_numbers(result, DATA | {"by": SITE})


class Share(pr.measures.Measure):
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
    assert "ledger holds the tables" in texts.calls_words(Calls(data="ledger"), 0)
    assert "as given" not in texts.calls_words(Calls(), 0)
