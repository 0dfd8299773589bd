"""evaluate() of classes and grades on lazy frames: the numbers, words and errors of the arrays, in as few queries."""

import functools
import re

import duckdb
import numpy as np
import polars as pl
import pytest

import propriety as pr
from propriety.calibration.pav import pool_adjacent_violators
from propriety.errors import InputValueError, MissingValuesError, ProprietyError
from propriety.evaluation import engine_cases
from propriety.inference import engine_moments
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
FRAME = pl.DataFrame(
    {
        "y": GRADE,
        "word": WORDS[GRADE],
        "w": RNG.gamma(2.0, 1.0, N) * (RNG.random(N) < 0.9),
        "ward": RNG.integers(0, 25, N),
        "day": RNG.integers(0, 60, N),
        **{column: MODELS[model][:, place] for model, own in NAMED.items() for place, column in enumerate(own)},
    }
)
DRAWS = {"seed": 1, "n_resamples": 40}
WORDED = {"outcome": "word", "labels": WORDS.tolist()}
CASES = {
    "classes": {"outcome": "y"},
    "grades": WORDED | {"ordered": True},
    "weighted grades": {"outcome": "y", "sample_weight": "w", "ordered": True, "level": 0.9},
    "classes in clusters": WORDED | {"cluster": "ward"},
    "weighted grades in clusters": {"outcome": "y", "sample_weight": "w", "cluster": "ward", "ordered": True},
    "classes in time": {"outcome": "y", "time": "day"},
}


def on(engine, frame):
    return frame.lazy() if engine == "polars" else duckdb.from_arrow(frame.to_arrow())


@pytest.fixture(params=["polars", "duckdb"])
def engine(request):
    return request.param


@functools.cache
def of_arrays(case):
    return pr.evaluate(FRAME, NAMED, **CASES[case], **DRAWS)


def alike(found, whole, rtol):
    """Compare the columns of two results: numbers closely, words exactly."""
    for name, column in whole.items():
        if np.asarray(column).dtype.kind == "f":
            np.testing.assert_allclose(found[name], column, rtol=rtol, atol=1e-14, err_msg=name)
        else:
            assert list(found[name]) == list(column), name


@pytest.mark.parametrize("case", CASES)
def test_scores_and_comparisons_are_those_of_the_arrays(engine, case):
    found, whole = pr.evaluate(on(engine, FRAME), NAMED, **CASES[case], **DRAWS), of_arrays(case)
    assert repr(found) == repr(whole)
    alike(found.scores.rows(), whole.scores.rows(), 1e-11)
    np.testing.assert_allclose(found.scores.estimate, whole.scores.estimate, rtol=1e-12)
    alike(found.comparison.rows(), whole.comparison.rows(), 1e-9)
    assert found.comparison.note == whole.comparison.note
    assert found.summary() == whole.summary()
    assert dict(found.cases.rates) == pytest.approx(dict(whole.cases.rates), rel=1e-14)
    assert (found.ranking, found.slices, found.decision_curves) == (None, None, {})


@pytest.mark.parametrize("case", ["classes", "grades", "weighted grades"])
def test_tables_and_what_is_read_from_them_are_those_of_the_arrays(engine, case):
    found, whole = pr.evaluate(on(engine, FRAME), NAMED, **CASES[case], **DRAWS), of_arrays(case)
    exact = {"rtol": 1e-13, "atol": 1e-14} if "sample_weight" in CASES[case] else {"rtol": 0.0}
    for model, tables in whole.tables.items():
        assert list(found.tables[model]) == list(tables)
        for label, table in tables.items():
            other = found.tables[model][label]
            assert other.forecast.tolist() == table.forecast.tolist(), (model, label)
            assert (other.n, other.cells, other.dropped) == (table.n, table.cells, table.dropped)
            assert other.n_events == table.n_events
            for name in ("events", "non_events", "event_squares", "non_event_squares"):
                np.testing.assert_allclose(getattr(other, name), getattr(table, name), **exact)
        alike(found.decompositions[model].rows(), whole.decompositions[model].rows(), 1e-11)
        means, expected = found.probability_means[model], whole.probability_means[model]
        alike(means.rows(), expected.rows(), 1e-12)
        alike(means.groups.rows(), expected.groups.rows(), 1e-12)
        assert (means.angle, means.weight) == pytest.approx((expected.angle, expected.weight), rel=1e-9)


def test_the_report_is_that_of_the_arrays():
    pytest.importorskip("jinja2")
    few, models = FRAME.head(60), {name: NAMED[name] for name in ("sharp", "rough")}
    pages = [pr.evaluate(one, models, outcome="y", **DRAWS).to_html() for one in (few, on("duckdb", few))]
    drawn = r"<script.*?</script>|<svg.*?</svg>|<style.*?</style>"
    words = [re.sub(drawn, "", page, flags=re.DOTALL) for page in pages]
    assert words[0] == words[1]
    assert pages[0].count("<svg") == pages[1].count("<svg") > 0


def row_5(column, value):
    return FRAME.with_columns(pl.when(pl.int_range(pl.len()) == 5).then(pl.lit(value)).otherwise(column).alias(column))


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
    "words without labels": (FRAME, {"outcome": "word"}),
    "too few labels": (FRAME, {"outcome": "word", "labels": ["none", "mild"]}),
    "labels twice": (FRAME, {"outcome": "word", "labels": ["none", "mild", "mild", "bad"]}),
    "labels of text": (FRAME, {"outcome": "word", "labels": "abcd"}),
    "event": (FRAME, {"outcome": "word", "labels": WORDS.tolist(), "pos_label": "bad"}),
    "weight": (row_5("w", -1.0), {"outcome": "y", "sample_weight": "w"}),
    "weight missing": (row_5("w", None), {"outcome": "y", "sample_weight": "w"}),
    "no weight": (FRAME.with_columns(w=0.0 * pl.col("w")), {"outcome": "y", "sample_weight": "w"}),
    "tolerance": (FRAME, {"outcome": "y", "tolerance": 2.0}),
    "missing": (FRAME, {"outcome": "y", "missing": "skip"}),
    "thresholds": (FRAME, {"outcome": "y", "thresholds": 0.2}),
    "groups": (FRAME, {"outcome": "y", "by": "ward"}),
    "cluster unknown": (row_5("ward", None), {"outcome": "y", "cluster": "ward"}),
    "no column": (FRAME.drop("flat_1"), {"outcome": "y"}),
}


ROWS = ["NaN", "null", "outside", "two endless", "sum", "outcome missing", "no place", "no label", "weight"]


@pytest.mark.parametrize(
    ("engine", "fault"), [*(("polars", fault) for fault in BAD), *(("duckdb", fault) for fault in ROWS)]
)
def test_what_is_refused_is_refused_in_the_words_of_the_door(engine, fault):
    frame, options = BAD[fault]
    with pytest.raises(ProprietyError) as expected:
        pr.evaluate(frame, NAMED, **options)
    with pytest.raises(type(expected.value)) as found:
        pr.evaluate(on(engine, frame), NAMED, **options)
    # An engine has no first row to show, only the largest offender.
    told = [re.sub(r"row \d+(, column \d+)?", "one", str(one.value)) for one in (expected, found)]
    told = [re.sub(r"; one is missing|forecasts\['\w+'\]|y_proba| of every argument", "", one) for one in told]
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


def test_a_class_without_cases_has_a_rate_of_zero():
    frame = FRAME.filter(pl.col("y") != 1)
    found = pr.evaluate(frame.lazy(), NAMED, **WORDED, **DRAWS)
    whole = pr.evaluate(frame, NAMED, **WORDED, **DRAWS)
    assert found.cases.rates == whole.cases.rates
    alike(found.scores.rows(), whole.scores.rows(), 1e-11)


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


def test_many_forecasts_are_refined_to_the_same_blocks(monkeypatch):
    monkeypatch.setattr(engine_cases, "table_fields", functools.partial(engine_cases.table_fields, budget=2**9))
    few = {name: NAMED[name] for name in ("sharp", "flat")}
    found = pr.evaluate(FRAME.lazy(), few, outcome="y", ordered=True, **DRAWS)
    whole = pr.evaluate(FRAME, few, outcome="y", ordered=True, **DRAWS)
    assert found.tables["sharp"][0].refined
    alike(found.scores.rows(), whole.scores.rows(), 1e-11)
    for label, table in whole.tables["sharp"].items():
        blocks, expected = (pool_adjacent_violators(one) for one in (found.tables["sharp"][label], table))
        assert blocks.events.tolist() == expected.events.tolist()
        assert blocks.non_events.tolist() == expected.non_events.tolist()


def test_missing_values_of_classes_are_counted_once():
    frame = FRAME.with_columns(rough_0=pl.lit(None, dtype=pl.Float64), rough_1=pl.lit(None, dtype=pl.Float64))
    with pytest.raises(MissingValuesError, match=r"forecasts\['rough'\] must not hold missing.*\(600 of 600 rows\)"):
        pr.evaluate(frame.lazy(), NAMED, outcome="y")
