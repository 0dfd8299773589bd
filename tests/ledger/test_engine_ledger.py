"""The ledger of a lazy frame is that of arrays, and an engine is asked three times at most to fill it."""

import functools
from dataclasses import replace

import duckdb
import narwhals as nw
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import propriety as pr
from propriety.errors import InputValueError, MissingValuesError
from propriety.inference.finding_words import caveats
from propriety.ledger import engine_moments

RNG = np.random.default_rng(6)
N = 3000
ROWS = {model: RNG.dirichlet([1, 2, 1], N) for model in "ab"}
FRAME = pl.DataFrame(
    {
        "y": RNG.integers(0, 2, N),
        "grade": RNG.integers(0, 3, N),
        "p": RNG.random(N),
        "q": np.round(RNG.random(N), 2),
        **{f"{model}{place}": rows[:, place] for model, rows in ROWS.items() for place in range(3)},
        "w": RNG.choice([0.0, 0.5, 1.7, 3.0], N),
        "site": RNG.choice(["south", "north"], N),
        "day": RNG.integers(0, 5, N),
        "ward": RNG.integers(0, 40, N),
    }
)
CLASSES = {model: [f"{model}{place}" for place in range(3)] for model in "ab"}


def lazy_polars(frame):
    return frame.lazy()


def lazy_duckdb(frame):
    return duckdb.from_arrow(frame.to_arrow())


ENGINES = {"polars": lazy_polars, "duckdb": lazy_duckdb}


@pytest.fixture(params=ENGINES)
def engine(request):
    return ENGINES[request.param]


@pytest.fixture
def queries(monkeypatch):
    """Return a list that grows with every query that an engine is asked."""
    asked = []
    collect = nw.LazyFrame.collect

    def counting(self, *arguments, **options):
        asked.append(self)
        return collect(self, *arguments, **options)

    monkeypatch.setattr(nw.LazyFrame, "collect", counting)
    return asked


SAMPLING = {"plain": {}, "weights": {"sample_weight": "w"}, "clusters": {"cluster": "ward"}, "times": {"period": "day"}}


def condensed(frame, kind, sampling):
    options = {"outcome": "y" if kind == "event" else "grade", "by": ["site", "day"], "ordered": kind == "grades"}
    forecasts = ["p", "q"] if kind == "event" else CLASSES
    return pr.condense(frame, forecasts, rules=[pr.Spherical(), pr.Tsallis()], **options, **SAMPLING[sampling])


@functools.cache
def condensed_arrays(kind, sampling):
    """Return the ledger of the arrays, with which that of every engine is compared."""
    return condensed(FRAME, kind, sampling)


@pytest.mark.slow
@pytest.mark.parametrize("name", ENGINES)
@settings(max_examples=15)
@given(data=st.data())
def test_a_lazy_frame_has_the_ledger_of_its_arrays(name, data, drawn_cases, same):
    cases = data.draw(drawn_cases)
    columns, forecasts, options = cases.frame()
    frame = pl.DataFrame(columns, schema_overrides={"key site": pl.String} if "key site" in columns else None)
    by = {f"key {key}": values for key, values in cases.options["by"].items()}
    same(pr.condense(ENGINES[name](frame), forecasts, **options), cases.ledger(by=by))


@pytest.mark.slow
@pytest.mark.parametrize("sampling", SAMPLING)
@pytest.mark.parametrize("kind", ["event", "classes", "grades"])
def test_large_frames_too(engine, kind, sampling, same):
    same(condensed(engine(FRAME), kind, sampling), condensed_arrays(kind, sampling))


@pytest.mark.parametrize("cells", [4, 256])
@pytest.mark.parametrize("weight", [None, "w"], ids=["plain", "weights"])
def test_grids_are_those_of_arrays(engine, cells, weight, same):
    options = {"outcome": "y", "by": "site", "sample_weight": weight, "cells": cells}
    lazy = pr.condense(engine(FRAME), ["p", "q"], **options)
    assert lazy.table("p").cells == cells
    same(lazy, pr.condense(FRAME, ["p", "q"], **options))


def test_frames_beyond_the_budget_are_counted_on_a_grid(engine, monkeypatch):
    monkeypatch.setattr(engine_moments, "MAX_TABLE_ROWS", 4000)
    ledger = pr.condense(engine(FRAME), ["p", "q"], outcome="y", by="site")
    exact = pr.condense(FRAME, ["p", "q"], outcome="y", by="site")
    assert ledger.table("p").cells == 64  # 1,500 cases of a key, 16 in a cell.
    assert ledger.table("p").mean_forecast == pytest.approx(exact.table("p").mean_forecast, rel=1e-12)
    np.testing.assert_allclose(ledger.moments(pr.Log()).means, exact.moments(pr.Log()).means, rtol=1e-12)
    assert ledger.table("q", site="south").n == exact.table("q", site="south").n


@pytest.mark.parametrize("keys", [1, 7, 300])
@pytest.mark.parametrize("tables", [1, 3, 50])
def test_grids_fit_the_budget_and_the_cases_of_a_key(keys, tables):
    for rows in (10**5, 10**7, 10**9):
        cells = engine_moments.cells_for(rows, keys, tables)
        assert cells & (cells - 1) == 0
        limits = (2**20, 2**22 / (keys * tables), rows / keys / 16)  # In a table, in all, and 16 cases of a key.
        assert cells == 64 or cells <= min(limits)
        assert 2 * cells >= min(limits) - 1.0  # The finest grid within them.


@pytest.mark.slow
@pytest.mark.parametrize(
    "sampling", [{}, {"sample_weight": "w", "cluster": "ward"}, {"period": "day"}], ids=["plain", "clusters", "times"]
)
@pytest.mark.parametrize("models", [1, 4])
def test_an_engine_is_asked_three_times_at_most(engine, queries, models, sampling):
    frame = engine(FRAME)
    rules = [pr.Brier(), pr.Log(), pr.Spherical(), pr.Tsallis(), pr.Brier(scale="half")]
    event = {f"m{place}": "pqpq"[place] for place in range(models)}
    ledger = pr.condense(frame, event, outcome="y", by=["site", "day"], rules=rules, **sampling)
    assert len(queries) <= 3
    assert set(rules) <= set(ledger.rules)
    for rule in ledger.rules:
        assert ledger.moments(rule).cases == ledger.n
    for model in event:
        assert ledger.table(model, site="south").n > 0
    assert len(queries) <= 3
    del queries[:]
    classes = {f"m{place}": CLASSES["abab"[place]] for place in range(models)}
    pr.condense(frame, classes, outcome="grade", by="site", rules=rules, ordered=True, **sampling)
    assert len(queries) <= 3


@pytest.mark.slow
def test_moments_that_are_asked_for_later_cost_one_query(engine, queries):
    ledger = pr.condense(engine(FRAME), ["p", "q"], outcome="y", by=["site", "day"])
    asked = len(queries)
    ledger.fill([pr.Spherical(), pr.Tsallis(), pr.Brier()])
    assert len(queries) == asked + 1
    days = ledger.over("site")
    assert days.moments(pr.BoundedBrier(0.1, 0.2)).index.names == ("outcome", "day")
    assert len(queries) == asked + 2
    expected = pr.condense(FRAME, ["p", "q"], outcome="y", by="day").moments(pr.BoundedBrier(0.1, 0.2))
    np.testing.assert_allclose(days.moments(pr.BoundedBrier(0.1, 0.2)).mean, expected.mean, rtol=1e-12, atol=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["event", "classes"])
def test_cases_are_brought_into_memory_where_they_are_few(engine, kind, same):
    options = {
        "outcome": "y" if kind == "event" else "grade",
        "by": ["site", "day"],
        "cluster": "ward",
        "sample_weight": "w",
    }
    forecasts = ["p", "q"] if kind == "event" else CLASSES
    lazy = pr.condense(engine(FRAME), forecasts, **options)
    cases = lazy.cases
    assert cases.n == len(cases) == lazy.n
    same(
        replace(pr.Ledger.of_source(cases, lazy.events), _moments={pr.Brier(): lazy.moments(pr.Brier())}),
        lazy,
        rtol=1e-11,
    )
    assert list(lazy.over("site").cases.keys) == ["day"]
    assert lazy.over("site").entries().max() == 4


def test_cases_that_are_too_many_are_left_where_they_are(engine, monkeypatch):
    def full(self, budget=0):
        law = "too many"
        raise InputValueError(law)

    monkeypatch.setattr("propriety.tables.lazy_cases.LazyCases.collected", full)
    ledger = pr.condense(engine(FRAME), ["p", "q"], outcome="y", cluster="ward")
    assert ledger.cases is None
    found = pr.estimate(ledger, "p", pr.measures.AreaUnderRoc())
    assert found.value == pytest.approx(pr.roc_curve(FRAME["y"], FRAME["p"]).auc)
    assert (
        caveats(found) == "an interval of this measure needs the individual cases in memory, and the frame has too many"
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "call",
    [
        lambda frame, **options: pr.estimate(frame, "p", pr.Log(), **options),
        lambda frame, **options: pr.estimate(frame, "p", pr.measures.AreaUnderRoc(), **options),
        lambda frame, **options: pr.estimate(
            frame, "p", pr.measures.Miscalibration(), seed=1, n_resamples=40, **options
        ),
        lambda frame, **options: pr.estimate(frame, "q", pr.Brier(), seed=1, method="bootstrap", **options),
        lambda frame, **options: pr.compare(frame, ["p", "q"], pr.measures.Skill(), **options),
        lambda frame, **options: pr.compare(frame, ["p", "q"], pr.measures.AreaUnderRoc(), **options),
        lambda frame, **options: pr.compare(frame, ["p", "q"], pr.measures.ObservedExpected(), **options),
    ],
    ids=["mean", "area", "part", "draws", "skills", "areas", "ratios"],
)
@pytest.mark.parametrize(
    "sampling",
    [{}, {"sample_weight": "w"}, {"cluster": "ward"}, {"period": "ward"}],
    ids=["plain", "weights", "clusters", "times"],
)
def test_every_answer_is_that_of_arrays(engine, call, sampling):
    frame = FRAME.head(400)
    one, other = (call(own, outcome="y", **sampling) for own in (engine(frame), frame))
    is_estimate = isinstance(one, pr.results.Finding)
    for name in ("value", "low", "high", "error") if is_estimate else ("value", "low", "high", "error", "p"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-9, atol=1e-12, err_msg=name)
    if is_estimate:
        assert (one.method, one.notes, one.n, one.units) == (other.method, other.notes, other.n, other.units)
        return
    for first, second in zip(one, other, strict=True):
        assert (first.method, first.notes, first.n, first.units) == (
            second.method,
            second.notes,
            second.n,
            second.units,
        )
        assert first.verdict == second.verdict


def test_skill_knows_of_classes_that_no_row_has(engine):
    frame = FRAME.filter(pl.col("grade") < 2)
    for rule in (pr.Brier(), pr.RankedProbability()):
        found = pr.estimate(engine(frame), {"a": CLASSES["a"]}, pr.measures.Skill(rule), outcome="grade")
        rows = frame.select(CLASSES["a"]).to_numpy()
        assert found.value == pytest.approx(pr.skill_score(frame["grade"], rows, rule=rule), rel=1e-10)


def test_rows_without_a_label_are_refused(engine):
    frame = FRAME.with_columns(site=pl.when(pl.col("day") == 1).then(None).otherwise(pl.col("site")))
    absent = (FRAME["day"] == 1).sum()
    with pytest.raises(
        MissingValuesError, match=f"by\\['site'\\] must be known for every case .{absent:,} of 3,000 rows"
    ):
        pr.condense(engine(frame), ["p"], outcome="y", by="site")
    with pytest.raises(MissingValuesError, match="cluster must be known for every case"):
        pr.condense(engine(frame), ["p"], outcome="y", cluster="site")


def test_dropped_rows_are_counted(engine, same):
    frame = FRAME.with_columns(q=pl.when(pl.col("day") == 1).then(None).otherwise(pl.col("q")))
    lazy = pr.condense(engine(frame), ["p", "q"], outcome="y", by="site", missing="drop")
    assert lazy.dropped == (FRAME["day"] == 1).sum()
    same(lazy, pr.condense(frame, ["p", "q"], outcome="y", by="site", missing="drop"))


def test_dropped_rows_are_counted_beside_a_group_without_weight(engine):
    frame = pl.DataFrame({"y": [0, 1, 1, 0], "p": [0.2, None, 0.6, 0.3], "w": [1.0, 1.0, 2.0, 0.0], "g": list("aaab")})
    ledger = pr.condense(engine(frame), ["p"], outcome="y", by="g", sample_weight="w", missing="drop")
    assert (ledger.dropped, ledger.keys, ledger.n) == (1, {"g": ("a",)}, 2)


def test_dropped_rows_need_no_label(engine, same):
    gone = pl.col("day") == 1
    frame = FRAME.with_columns(
        q=pl.when(gone).then(None).otherwise(pl.col("q")),
        site=pl.when(gone).then(None).otherwise(pl.col("site")),
        ward=pl.when(gone).then(None).otherwise(pl.col("ward")),
    )
    lazy = pr.condense(engine(frame), ["p", "q"], outcome="y", by="site", cluster="ward", missing="drop")
    assert lazy.keys == {"site": ("north", "south")}
    kept = FRAME.filter(~gone)
    same(replace(lazy, dropped=0), pr.condense(kept, ["p", "q"], outcome="y", by="site", cluster="ward"))


def test_ordered_categories_keep_their_order(same):
    order = pl.Enum(["south", "west", "north"])
    frame = FRAME.with_columns(site=pl.col("site").cast(order))
    lazy, eager = (pr.condense(own, ["p"], outcome="y", by=["day", "site"]) for own in (frame.lazy(), frame))
    assert lazy.keys["site"] == ("south", "north")
    same(lazy, eager)
    assert lazy.cases.keys["site"].labels == ("south", "north")
    connection = duckdb.connect()
    connection.register("rows", FRAME.to_arrow())
    connection.execute("CREATE TYPE side AS ENUM ('south', 'west', 'north')")
    relation = connection.sql("SELECT y, p, site::side AS site FROM rows")
    found = pr.condense(relation, ["p"], outcome="y", by="site")
    assert found.keys == {"site": ("south", "north")}
    assert found.moments(pr.Brier()).over("site").index.column("site") == ["south", "north"]


def test_bad_rows_are_refused(engine):
    frame = FRAME.with_columns(p=pl.col("p") * 2)
    with pytest.raises(InputValueError, match=r"must lie in \[0, 1\]"):
        pr.condense(engine(frame), ["p"], outcome="y")
    with pytest.raises(InputValueError, match="y_true and y_proba must hold at least one case"):
        pr.condense(engine(FRAME.clear()), ["p"], outcome="y")
