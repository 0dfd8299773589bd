"""Classes and grades of lazy frames: the numbers, words and errors of the arrays, in as few queries."""

import functools
import re

import duckdb
import numpy as np
import polars as pl
import pytest

import propriety as pr
from propriety.errors import InputValueError, MissingValuesError, ProprietyError
from propriety.inference.finding_words import notes_of
from propriety.ledger import engine_moments
from propriety.report.cells import cells_of
from propriety.report.evaluation import page_of
from propriety.report.figures import without_pictures
from propriety.tables import engines

N, K = 600, 4
RNG = np.random.default_rng(21)
SHARP = RNG.dirichlet([1, 2, 1, 1], N)
GRADE = np.array([RNG.choice(K, p=row) for row in SHARP])
ROUGH = np.round(RNG.dirichlet([1, 1, 1, 1], N), 2)
ROUGH[:, -1] = np.maximum(1.0 - ROUGH[:, :-1].sum(axis=1), 0.0)
ROUGH[::9] = np.eye(K)[GRADE[::9]]
MODELS = {"sharp": SHARP, "rough": ROUGH, "flat": np.full((N, K), 0.25)}
NAMED = {model: [f"{model}_{place}" for place in range(K)] for model in MODELS}
WORDS = np.array(["none", "mild", "bad", "worst"])
COLUMNS = {
    "y": GRADE,
    "word": WORDS[GRADE],
    "w": RNG.gamma(2.0, 1.0, N) * (RNG.random(N) < 0.9),
    "ward": RNG.integers(0, 25, N),
    "site": RNG.choice(["north", "south"], N),
    "shift": RNG.choice([1, 2], N),
    "day": RNG.integers(0, 60, N),
}
FRAME = pl.DataFrame(
    COLUMNS | {column: MODELS[model][:, place] for model, own in NAMED.items() for place, column in enumerate(own)}
)
DRAWS = {"seed": 1, "n_resamples": 40}
WORDED = {"outcome": "word", "labels": WORDS.tolist()}
KEYS = {"by": ["site", "shift"]}
CASES = {
    "classes": {"outcome": "y"},
    "grades": WORDED | {"ordered": True},
    "classes in groups": WORDED | KEYS,
    "weighted grades": {"outcome": "y", "sample_weight": "w", "ordered": True, "level": 0.9},
    "classes in clusters": WORDED | {"cluster": "ward"},
    "weighted grades in groups of clusters": {"outcome": "y", "sample_weight": "w", "cluster": "ward", "ordered": True}
    | KEYS,
    "classes in time": {"outcome": "y", "period": "day"} | KEYS,
}


@functools.cache
def of_arrays(case):
    options = dict(CASES[case])
    y = COLUMNS[options.pop("outcome")]
    options |= {"by": {name: COLUMNS[name] for name in options["by"]}} if "by" in options else {}
    options |= {name: COLUMNS[options[name]] for name in ("cluster", "period", "sample_weight") if name in options}
    return y, MODELS, options


@functools.cache
def evaluated(case):
    y, models, options = of_arrays(case)
    return pr.evaluate(y, models, **options, **DRAWS)


@functools.cache
def answered(function, case, measure):
    """Return the answer for the arrays, with which that of every engine is compared."""
    y, models, options = of_arrays(case)
    options = {name: value for name, value in options.items() if name != "ordered"}
    return function(y, models["rough"] if function is pr.estimate else models, measure, **options, **DRAWS)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_an_evaluation_is_that_of_the_arrays(lazily, alike, case):
    found, whole = pr.evaluate(lazily(FRAME), NAMED, **CASES[case], **DRAWS), evaluated(case)
    assert repr(found) == repr(whole)
    alike(found.scores, whole.scores)
    alike(found.comparison, whole.comparison, 1e-11)
    alike(found.comparison.ranks(), whole.comparison.ranks())
    assert notes_of(found.comparison.differences[0]) == notes_of(whole.comparison.differences[0])
    assert str(found) == str(whole)
    assert dict(found.rates) == pytest.approx(dict(whole.rates), rel=1e-14)
    assert (found.ranking, found.decision_curves) == (None, {})
    assert (found.slices is None) == (whole.slices is None) == ("by" not in CASES[case])
    if whole.slices is not None:
        assert np.isnan(found.slices.events).all()
        alike(found.slices, whole.slices, 1e-11)


@pytest.mark.slow
@pytest.mark.parametrize("case", ["classes", "grades", "weighted grades", "weighted grades in groups of clusters"])
def test_tables_and_what_is_read_from_them_are_those_of_the_arrays(lazily, alike, case):
    found, whole = pr.evaluate(lazily(FRAME), NAMED, **CASES[case], **DRAWS), evaluated(case)
    for model, tables in whole.tables.items():
        assert list(found.tables[model]) == list(tables)
        for label, table in tables.items():
            other = found.tables[model][label]
            assert other.forecast.tolist() == table.forecast.tolist(), (model, label)
            assert (other.n, other.cells, other.dropped) == (table.n, table.cells, table.dropped)
            assert other.n_events == table.n_events
            alike(other, table, 1e-13 if "sample_weight" in CASES[case] else 0.0)
        alike(found.decompositions[model], whole.decompositions[model], 1e-11)
        means, expected = found.probability_means[model], whole.probability_means[model]
        alike(means, expected)
        alike(means.groups, expected.groups)
        assert (means.angle, means.weight) == pytest.approx((expected.angle, expected.weight), rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("measure", [pr.Brier(), pr.Log(), pr.RankedProbability(), pr.measures.Skill()], ids=repr)
@pytest.mark.parametrize("case", [case for case in CASES if "by" not in CASES[case]])
def test_estimates_and_comparisons_are_those_of_the_arrays(lazily, alike, case, measure):
    lazy = {name: value for name, value in CASES[case].items() if name != "ordered"}
    found = pr.estimate(lazily(FRAME), {"rough": NAMED["rough"]}, measure, **lazy, **DRAWS)
    alike(found, answered(pr.estimate, case, measure), beside=("model",))
    found = pr.compare(lazily(FRAME), NAMED, measure, **lazy, **DRAWS)
    whole = answered(pr.compare, case, measure)
    alike(found, whole, 1e-11)
    assert str(found) == str(whole)


@pytest.mark.slow
@pytest.mark.parametrize("measure", [pr.Brier(), pr.RankedProbability(), pr.measures.Skill()], ids=repr)
@pytest.mark.parametrize("case", [case for case in CASES if "by" in CASES[case]])
def test_groups_are_those_of_the_arrays(lazily, alike, case, measure):
    lazy = {name: value for name, value in CASES[case].items() if name != "ordered"}
    found = pr.slices(lazily(FRAME), NAMED, measure, **lazy, **DRAWS)
    alike(found, answered(pr.slices, case, measure), 1e-11)


def shown(result):
    """Return what the page shows but for the pictures: the words of the sections, and the texts and cells of items."""
    with without_pictures():
        sections = page_of(result, title="A").sections
    parts = [{"words": section.words, "title": section.title} for section in sections]
    for item in (item for section in sections for item in section.items):
        columns = getattr(item, "columns", None) or getattr(item, "table", {})
        texts = {
            name: getattr(item, name) for name in ("title", "call", "note", "caption", "alt") if hasattr(item, name)
        }
        parts.append(texts | {name: cells_of(list(column)) for name, column in columns.items()})
    return parts


@pytest.mark.slow
@pytest.mark.parametrize("ordered", [False, True], ids=["classes", "grades"])
def test_a_stored_ledger_is_that_of_the_arrays(alike, tmp_path, ordered):
    shared = {"outcome": "y", "ordered": ordered, **KEYS}
    pr.condense(FRAME.lazy(), NAMED, **shared).to_parquet(tmp_path / "ledger")
    found = pr.evaluate(pr.Ledger.from_parquet(tmp_path / "ledger"), **DRAWS)
    whole = pr.evaluate(FRAME, NAMED, **shared, **DRAWS)
    alike(found.scores, whole.scores, beside=("call",))
    alike(found.slices, whole.slices, 1e-11)
    # Verdicts on calibration and the confusion matrix depend on the cases, which a stored ledger does not have.
    lines = [
        {line for line in one.card.sentences if "calibrat" not in line and "error alone" not in line}
        for one in (found, whole)
    ]
    assert lines[0] - {"The confusion matrix needs the individual cases, which this ledger does not hold."} == lines[1]
    for model in MODELS:
        alike(found.probability_means[model], whole.probability_means[model])
    figures = [{item["title"] for item in shown(one) if "alt" in item} for one in (found, whole)]
    assert figures[1] - figures[0] == {f"Confusion matrix of {model}" for model in MODELS}
    assert figures[0] < figures[1]


@pytest.mark.slow
def test_the_report_is_that_of_the_arrays(lazily):
    pytest.importorskip("jinja2")
    few, models = FRAME.head(60), {name: NAMED[name] for name in ("sharp", "rough")}
    pages = [shown(pr.evaluate(one, models, outcome="y", by="site", **DRAWS)) for one in (few, lazily(few))]
    assert pages[0] == pages[1]
    assert len(pages[0]) > 20


LAZY = FRAME.lazy()  # Nothing is computed before a test asks: a fork has no threads of Polars.


def row_5(column, value):
    return LAZY.with_columns(pl.when(pl.int_range(pl.len()) == 5).then(pl.lit(value)).otherwise(column).alias(column))


BAD = {
    "NaN": (row_5("rough_2", float("nan")), {"outcome": "y"}),
    "null": (row_5("rough_0", None), {"outcome": "y"}),
    "outside": (row_5("rough_3", 1.5), {"outcome": "y"}),
    "negative": (row_5("sharp_1", -0.25), WORDED),
    "endless": (row_5("sharp_1", float("inf")), WORDED),
    "two endless": (
        row_5("sharp_1", float("inf")).with_columns(
            sharp_0=pl.when(pl.int_range(pl.len()) == 5).then(float("-inf")).otherwise("sharp_0")
        ),
        {"outcome": "y"},
    ),
    "sum": (row_5("flat_0", 0.75), {"outcome": "y"}),
    "outcome missing": (row_5("word", None), WORDED),
    "no place": (row_5("y", 7), {"outcome": "y"}),
    "no label": (row_5("word", "other"), WORDED),
    "words without labels": (LAZY, {"outcome": "word"}),
    "too few labels": (LAZY, {"outcome": "word", "labels": ["none", "mild"]}),
    "labels twice": (LAZY, {"outcome": "word", "labels": ["none", "mild", "mild", "bad"]}),
    "labels of text": (LAZY, {"outcome": "word", "labels": "abcd"}),
    "event": (LAZY, {"outcome": "word", "labels": WORDS.tolist(), "pos_label": "bad"}),
    "weight": (row_5("w", -1.0), {"outcome": "y", "sample_weight": "w"}),
    "weight missing": (row_5("w", None), {"outcome": "y", "sample_weight": "w"}),
    "no weight": (LAZY.with_columns(w=0.0 * pl.col("w")), {"outcome": "y", "sample_weight": "w"}),
    "missing": (LAZY, {"outcome": "y", "missing": "skip"}),
    "thresholds": (LAZY, {"outcome": "y", "thresholds": 0.2}),
    "group unknown": (row_5("ward", None), {"outcome": "y", "by": "ward"}),
    "cluster unknown": (row_5("ward", None), {"outcome": "y", "cluster": "ward"}),
    "no column": (LAZY.drop("flat_1"), {"outcome": "y"}),
}


ROWS = ["NaN", "null", "outside", "two endless", "sum", "outcome missing", "no place", "no label", "weight"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("engine", "fault"), [*(("polars", fault) for fault in BAD), *(("duckdb", fault) for fault in ROWS)]
)
def test_what_is_refused_is_refused_in_the_same_words(engine, fault):
    lazy, options = BAD[fault]
    frame = lazy.collect()
    with pytest.raises(ProprietyError) as expected:
        pr.evaluate(frame, NAMED, **options)
    remote = lazy if engine == "polars" else duckdb.from_arrow(frame.to_arrow())
    with pytest.raises(type(expected.value)) as found:
        pr.evaluate(remote, NAMED, **options)
    # An engine has no first row to show, only the largest offender.
    told = [re.sub(r"row \d+(, column \d+)?", "one", str(one.value)) for one in (expected, found)]
    told = [re.sub(r"; one is missing|forecasts\['\w+'\]|y_proba| of every argument", "", one) for one in told]
    if fault == "sum":  # The columns of an eager frame may be models, which its hint says.
        told = [one.partition(" Hint: ")[0] for one in told]
    assert told[0].replace("-inf", "inf") == told[1]


def test_labels_of_another_kind_are_refused():
    for outcome, labels in (("y", WORDS.tolist()), ("word", [0, 1, 2, 3]), ("y", [0, 1, 2, None])):
        with pytest.raises(InputValueError, match="y_true must hold only the labels"):
            pr.evaluate(FRAME.lazy(), NAMED, outcome=outcome, labels=labels)


def test_models_must_forecast_the_same():
    for other in (["sharp_0"], ["sharp_0", "sharp_1"]):
        with pytest.raises(InputValueError, match=r"forecasts must be of one kind; 'a' forecasts 4 classes and 'b'"):
            pr.evaluate(FRAME.lazy(), {"a": NAMED["sharp"], "b": other}, outcome="y")


def test_missing_values_are_dropped_for_all_models():
    holes = FRAME.with_columns(
        sharp_1=pl.when(pl.int_range(pl.len()) < 5).then(None).otherwise("sharp_1"),
        flat_0=pl.when(pl.int_range(pl.len()) == 9).then(float("nan")).otherwise("flat_0"),
        word=pl.when(pl.int_range(pl.len()) == 3).then(None).otherwise("word"),
    )
    found = pr.evaluate(holes.lazy(), NAMED, **WORDED, ordered=True, missing="drop", **DRAWS)
    whole = pr.evaluate(holes, NAMED, **WORDED, ordered=True, missing="drop", **DRAWS)
    assert (found.n, found.dropped) == (whole.n, whole.dropped) == (N - 6, 6)
    assert found.to_dict() == pytest.approx(whole.to_dict(), rel=1e-11, abs=1e-14, nan_ok=True)
    with pytest.raises(InputValueError, match="leaves no case"):
        pr.evaluate(holes.head(5).lazy(), NAMED, **WORDED, missing="drop", **DRAWS)


def test_a_class_without_cases_has_a_rate_of_zero(alike):
    frame = FRAME.filter(pl.col("y") != 1)
    found = pr.evaluate(frame.lazy(), NAMED, **WORDED, **DRAWS)
    whole = pr.evaluate(frame, NAMED, **WORDED, **DRAWS)
    assert found.rates == whole.rates
    alike(found.scores, whole.scores)


def test_one_class_alone_cannot_be_improved_on():
    frame = FRAME.filter(pl.col("y") == 1)
    whole, found = (pr.evaluate(one, NAMED, outcome="y", **DRAWS).scores for one in (frame, frame.lazy()))
    note = whole.at("sharp", "brier_skill")["note"]
    assert "positive, finite loss" in note
    assert found.at("sharp", "brier_skill")["note"] == note


def test_the_queries_are_as_many_for_many_models_and_classes(monkeypatch):
    asked = []
    for module in (engines, engine_moments):
        own = module.fetched
        monkeypatch.setattr(module, "fetched", lambda query, own=own: (asked.append(query), own(query))[1])
    counts = []
    for models in ({"flat": NAMED["flat"]}, NAMED):
        asked.clear()
        pr.evaluate(FRAME.lazy(), models, outcome="y", cluster="ward", ordered=len(models) > 1, **DRAWS)
        counts.append(len(asked))
    assert counts[0] == counts[1] <= 3


def test_many_forecasts_are_counted_in_cells_and_scores_stay_exact(monkeypatch, lazily, alike):
    monkeypatch.setattr(engine_moments, "MAX_TABLE_ROWS", 2**9)
    found = pr.evaluate(lazily(FRAME), NAMED, outcome="y", ordered=True, **KEYS, **DRAWS)
    whole = pr.evaluate(FRAME, NAMED, outcome="y", ordered=True, **KEYS, **DRAWS)
    assert found.tables["sharp"][0].cells is not None
    alike(found.scores, whole.scores)
    alike(found.comparison, whole.comparison, 1e-11)
    alike(found.slices, whole.slices, 1e-11)


def test_missing_values_of_classes_are_counted_once():
    frame = FRAME.with_columns(rough_0=pl.lit(None, dtype=pl.Float64), rough_1=pl.lit(None, dtype=pl.Float64))
    with pytest.raises(MissingValuesError, match=r"forecasts\['rough'\] must not hold missing.*\(600 of 600 rows\)"):
        pr.evaluate(frame.lazy(), NAMED, outcome="y")
