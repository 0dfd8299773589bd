"""What is filled by an engine is the ledger of the arrays, and so is all that is read from it."""

import dataclasses

import numpy as np
import polars as pl
import pytest

import propriety as pr
from propriety.errors import InputValueError, MissingValuesError
from propriety.inference.finding_words import caveats, notes_of
from propriety.ledger import engine_moments
from propriety.rules.functions import Excess
from propriety.tables import engines, lazy_cases, lazy_reading

RNG = np.random.default_rng(31)
N = 900
TRUTH = np.clip(np.round(RNG.beta(1, 2, N), 2), 0.01, 0.99)
SHARP = RNG.dirichlet([1, 2, 1], N)
GRADE = np.array([RNG.choice(3, p=row) for row in SHARP])
ROUGH = np.round(RNG.dirichlet([2, 2, 2], N), 1)
ROUGH[:, 2] = np.maximum(1.0 - ROUGH[:, 0] - ROUGH[:, 1], 0.0)
WARD = RNG.integers(0, 30, N)
FRAME = pl.DataFrame(
    {
        "y": (RNG.random(N) < TRUTH).astype(np.int64),
        "a": TRUTH,
        "b": np.clip(np.round(TRUTH + RNG.normal(0, 0.15, N), 3), 0.01, 0.99),
        "grade": np.array(["low", "mid", "high"])[GRADE],
        **{f"sharp_{place}": SHARP[:, place] for place in range(3)},
        **{f"rough_{place}": ROUGH[:, place] for place in range(3)},
        "w": RNG.gamma(2.0, 1.0, N) * (RNG.random(N) < 0.95),
        "site": np.where(WARD < 15, "north", "south"),  # So that no ward has cases in both.
        "year": RNG.integers(2024, 2026, N),
        "ward": WARD,
        "day": RNG.integers(0, 50, N),
    }
)
AN_EVENT = {"forecasts": ["a", "b"], "outcome": "y"}
CLASSES = {
    "forecasts": {model: [f"{model}_{place}" for place in range(3)] for model in ("sharp", "rough")},
    "outcome": "grade",
    "labels": ["low", "mid", "high"],
}
KEYED = {"by": ["site", "year"]}
IN_CLUSTERS = {"cluster": "ward", "sample_weight": "w"}
PROBLEMS = {
    "event": AN_EVENT | KEYED,
    "event in weighted clusters": AN_EVENT | KEYED | IN_CLUSTERS,
    "event in time": AN_EVENT | {"period": "day"},
    "classes": CLASSES | KEYED,
    "classes in weighted clusters": CLASSES | IN_CLUSTERS | {"by": "site"},
    "grades in time": CLASSES | {"ordered": True, "period": "day", "by": "site"},
}
# A measure of a user's own, which is a function of means: on an engine it comes from sums, as scores do.
TJUR = pr.measures.OfMeans(
    key="tjur_r2", rule=Excess(), of=lambda _, event, other: 1.0 - event + other, higher_is_better=True, range=(-1, 1)
)
MEASURES = [
    pr.Brier(),
    TJUR,
    pr.measures.Skill(pr.Log()),
    pr.measures.NetBenefit(0.2),
    pr.measures.AreaUnderRoc(),
    pr.measures.ObservedExpected(),
    pr.measures.CalibrationSlope(),
    pr.measures.Miscalibration(),
]
DRAWS = {"seed": 1, "n_resamples": 60}


@dataclasses.dataclass(frozen=True)
class Spread(pr.measures.Measure):
    """A measure of one's own: how far the forecasts of events are above those of non-events."""

    key = label = "spread"
    higher_is_better = True

    def value(self, table):
        weights = table.events, table.non_events
        yes, no = (float(weight @ table.forecast) / float(weight.sum()) for weight in weights)
        return yes - no


@pytest.fixture(scope="module")
def frame(lazy_engine):
    """Return the cases as a lazy frame of an engine, the same one for all tests."""
    return lazy_engine(FRAME)


@pytest.fixture
def asked(monkeypatch):
    """Return the list of queries that were run."""
    found, fetched = [], lazy_reading.fetched

    def counted(query):
        found.append(query)
        return fetched(query)

    for module in (engines, engine_moments, lazy_cases, lazy_reading):
        monkeypatch.setattr(module, "fetched", counted)
    return found


def same(found, expected):
    """Compare what two results say: numbers to 1e-12, all else to the letter."""
    assert type(found) is type(expected)
    of_rows = isinstance(expected, pr.results.Findings)
    named, others = ((one.columns() if of_rows else one._fields()) for one in (expected, found))
    for name, value in named.items():
        own = others[name]
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            np.testing.assert_allclose(own, value, rtol=1e-10, atol=1e-12, err_msg=name)
        elif isinstance(value, np.ndarray):
            assert own.tolist() == value.tolist(), name
        elif isinstance(value, (float, dict)):
            assert own == pytest.approx(value, rel=1e-12, abs=1e-12, nan_ok=True), name
        else:
            assert own == value, name


RARE = FRAME.with_columns(
    y=(RNG.random(N) < 0.02).astype(np.int64),
    a=np.clip(0.02 * np.exp(RNG.normal(0, 0.8, N)), 0.0, 1.0),
    b=np.where(np.arange(N) < 3, 0.0, 0.01),  # Called impossible, and under the log score beyond all bounds.
)


@pytest.mark.parametrize("sampling", [{}, {"sample_weight": "w"}, {"cluster": "ward"}, {"period": "day"}], ids=str)
def test_few_events_have_the_verdicts_of_the_arrays(lazy_engine, sampling):
    rules = [pr.Brier(), pr.Log(), pr.measures.NetBenefit(0.02).rule]
    by_engine = pr.condense(lazy_engine(RARE), ["a", "b"], outcome="y", rules=rules, **sampling)
    by_arrays = pr.condense(RARE, ["a", "b"], outcome="y", rules=rules, **sampling)
    for measure in (pr.Brier(), pr.Log(), pr.measures.NetBenefit(0.02), pr.measures.Skill()):
        found, expected = (pr.compare(one, measure=measure) for one in (by_engine, by_arrays))
        assert str(found) == str(expected)
        for name in ("value", "low", "high", "error", "p"):
            np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-9, err_msg=name)
        one, other = (pr.estimate(ledger, "a", measure) for ledger in (by_engine, by_arrays))
        assert (one.notes, one.method) == (other.notes, other.method)
        assert (one.low, one.high) == pytest.approx((other.low, other.high), rel=1e-9, nan_ok=True)


@pytest.mark.parametrize("problem", PROBLEMS)
def test_three_queries_fill_the_ledger_of_the_arrays(frame, problem, same_moments, asked):
    found, expected = (pr.condense(cases, **PROBLEMS[problem]) for cases in (frame, FRAME))
    assert (found.n, found.models, found.labels, found.keys) == (
        expected.n,
        expected.models,
        expected.labels,
        expected.keys,
    )
    assert found.index.codes.tolist() == expected.index.codes.tolist()
    assert found.rates == pytest.approx(expected.rates, rel=1e-12)
    for model in expected.models:
        for event in expected.events:
            tables, whole = found.keyed_tables(model, event), expected.keyed_tables(model, event)
            for name in ("entry", "forecast", "n", "n_events"):
                assert getattr(tables, name).tolist() == getattr(whole, name).tolist()
            for name in ("events", "non_events", "event_squares", "non_event_squares"):
                np.testing.assert_allclose(getattr(tables, name), getattr(whole, name), rtol=1e-12, atol=1e-14)
    assert found.rules == expected.rules
    for rule in expected.rules:
        same_moments(found.moments(rule), expected.moments(rule), rtol=1e-12)
    assert len(asked) == 3


@pytest.mark.parametrize("problem", PROBLEMS)
def test_an_evaluation_is_that_of_the_arrays(frame, problem):
    options = PROBLEMS[problem] | DRAWS
    if problem.startswith("event"):
        options |= {"measures": [Spread()], "thresholds": 0.2}
    found, expected = (pr.evaluate(cases, **options) for cases in (frame, FRAME))
    assert found.to_dict() == pytest.approx(expected.to_dict(), rel=1e-12, abs=1e-12, nan_ok=True)
    same(found.scores, expected.scores)
    same(found.comparison, expected.comparison)
    if expected.slices is not None:
        same(found.slices, expected.slices)
    assert str(found) == str(expected)


@pytest.mark.parametrize("shared", [{}, IN_CLUSTERS, {"period": "day"}], ids=["plain", "weighted clusters", "period"])
def test_measures_are_those_of_the_arrays(frame, shared):
    ledgers = [pr.condense(cases, **AN_EVENT, **shared, by="site") for cases in (frame, FRAME)]
    for measure in (*MEASURES, Spread(), lambda table: table.mean_forecast):
        same(*(pr.estimate(ledger, "b", measure, **DRAWS) for ledger in ledgers))
        same(*(pr.compare(ledger, None, measure, **DRAWS) for ledger in ledgers))
        same(*(pr.slices(ledger, None, measure, **DRAWS) for ledger in ledgers))


def test_every_function_takes_the_frame(frame):
    two, shared = AN_EVENT, {"sample_weight": "w", "cluster": "ward"}
    for measure in (pr.Log(), Spread()):
        for call in (
            lambda cases: pr.estimate(cases, "a", measure, outcome="y", **shared, **DRAWS),  # noqa: B023  (called at once)
            lambda cases: pr.compare(cases, measure=measure, **two, **shared, **DRAWS),  # noqa: B023
            lambda cases: pr.slices(cases, measure=measure, **two, by="site", **shared, **DRAWS),  # noqa: B023
        ):
            same(call(frame), call(FRAME))


def test_an_evaluation_of_independent_cases_asks_for_none_of_them(frame, asked):
    found = pr.evaluate(frame, **AN_EVENT, by="site", **DRAWS)
    assert found.scores.value.shape
    assert found.comparison[0].n == N
    assert found.slices.notes.tolist()
    assert len(asked) <= 3


def test_a_frame_that_is_too_large_for_memory_is_told(frame, monkeypatch):
    monkeypatch.setattr(engine_moments, "MAX_VALUES_IN_MEMORY", 1000)
    ledger = pr.condense(frame, **AN_EVENT, cluster="ward")
    whole = pr.condense(FRAME, **AN_EVENT, cluster="ward")
    found, expected = (pr.estimate(one, "a", pr.measures.AreaUnderRoc()) for one in (ledger, whole))
    assert found.value == pytest.approx(expected.value, rel=1e-12)
    assert np.isnan(found.low)
    assert (
        caveats(found) == "an interval of this measure needs the individual cases in memory, and the frame has too many"
    )
    compared = pr.compare(ledger, None, pr.measures.AreaUnderRoc())
    assert compared.differences.verdict.tolist() == ["not tested"]
    assert (
        notes_of(compared.differences[0])
        == "A test of this measure needs the individual cases in memory, and the frame has too many."
    )
    same(pr.compare(ledger), pr.compare(whole))  # Of mean scores the moments suffice.


def test_a_large_frame_is_counted_on_a_grid(frame, monkeypatch):
    monkeypatch.setattr(engine_moments, "MAX_TABLE_ROWS", 256)
    ledger = pr.condense(frame, **AN_EVENT, **KEYED)
    whole = pr.condense(FRAME, **AN_EVENT, **KEYED)
    for model in "ab":
        tables = ledger.keyed_tables(model, ledger.events[0])
        expected = whole.keyed_tables(model, ledger.events[0]).grid(tables.cells)
        assert tables.cells == 16
        assert tables.entry.tolist() == expected.entry.tolist()
        np.testing.assert_allclose(tables.forecast, expected.forecast, rtol=1e-12)
        assert tables.events.tolist() == expected.events.tolist()
    found, exact = (pr.compare(one).differences for one in (ledger, whole))
    for name in ("value", "low", "high", "error", "p"):
        np.testing.assert_allclose(getattr(found, name), getattr(exact, name), rtol=1e-9, err_msg=name)
    for model in "ab":  # What is imagined of one model comes from its table, and this one is coarse.
        coarse, fine = (pr.estimate(one, model) for one in (ledger, whole))
        assert coarse.value == pytest.approx(fine.value, rel=1e-12)
        assert (coarse.low, coarse.high) == pytest.approx((fine.low, fine.high), rel=1e-3)


def test_missing_rows_are_dropped_and_counted(lazy_engine, same_moments):
    absent = FRAME.with_columns(
        a=pl.when(pl.int_range(N) % 50 == 7).then(None).otherwise("a"),
        w=pl.when(pl.int_range(N) % 70 == 9).then(float("nan")).otherwise("w"),
    )
    options = AN_EVENT | {"sample_weight": "w", "by": "site", "missing": "drop"}
    found, expected = (pr.condense(cases, **options) for cases in (lazy_engine(absent), absent))
    assert found.dropped == expected.dropped > 0
    assert found.n == expected.n
    for rule in expected.rules:
        same_moments(found.moments(rule), expected.moments(rule), rtol=1e-12)


def test_moments_of_rows_that_have_changed_since_are_refused(duckdb_connection):
    duckdb_connection.register("frame", FRAME.to_arrow())
    duckdb_connection.execute("CREATE OR REPLACE TABLE changing AS FROM frame")
    ledger = pr.condense(duckdb_connection.table("changing"), **AN_EVENT)
    duckdb_connection.execute("DELETE FROM changing WHERE rowid = 0")
    with pytest.raises(InputValueError, match="must return the same rows in every query"):
        ledger.moments(pr.Spherical())


def test_certain_forecasts_are_scored_as_in_arrays(lazy_engine, same_moments):
    certain = pl.DataFrame(
        {
            "y": [0, 1, 1, 0, 1, 0] * 3,
            "a": [0.0, 1.0, 0.5, 0.2, 5e-324, 1.0 - 2**-53] * 3,
            "b": [1.0, 0.0, 0.5, 0.2, 0.7, 0.0] * 3,
            "site": ["x"] * 6 + ["y"] * 12,
        }
    )
    found, expected = (pr.condense(cases, **AN_EVENT, by="site") for cases in (lazy_engine(certain), certain))
    for rule in expected.rules:
        same_moments(found.moments(rule), expected.moments(rule), rtol=1e-12)
    same(pr.compare(found, None, pr.Log()), pr.compare(expected, None, pr.Log()))


def test_labels_of_every_kind_are_those_of_the_arrays(lazy_engine, request):
    third = pl.int_range(N) % 3
    kinds = FRAME.select("y", "a").with_columns(
        day=pl.datetime(2024, 1, 1) + pl.duration(days=third),
        instant=pl.datetime(2024, 1, 1, time_zone="UTC") + pl.duration(hours=third),
        truth=third > 0,
        half=third / 2,
        number=third.cast(pl.Int16),
        text=pl.format("{} \u00e9", third),
        price=(third / 4).cast(pl.Decimal(10, 2)),
    )
    # Dask itself makes texts of decimal numbers.
    keys = [name for name in kinds.columns[2:] if name != "price" or "dask" not in request.node.name]
    lazy = lazy_engine(kinds)
    found, expected = (pr.condense(cases, "a", outcome="y", by=keys) for cases in (lazy, kinds))
    assert found.keys == expected.keys
    assert (found + expected).keys == expected.keys
    for name in ("instant", "text"):
        same(*(pr.estimate(cases, "a", outcome="y", cluster=name) for cases in (lazy, kinds)))


@pytest.mark.parametrize("lazy_engine", ["polars lazy", "dask"], indirect=True, ids=["polars", "dask"])
def test_ordered_categories_keep_their_order(lazy_engine):
    size = pl.Enum(["small", "medium", "large"])
    ordered = FRAME.with_columns(size=pl.Series(["large", "small", "medium"] * (N // 3), dtype=size))
    options = AN_EVENT | {"by": "size", "sample_weight": "w"}
    found, expected = (pr.condense(cases, **options) for cases in (lazy_engine(ordered), ordered))
    assert found.keys == expected.keys == {"size": ("small", "medium", "large")}
    same(pr.slices(found, None, pr.measures.AreaUnderRoc()), pr.slices(expected, None, pr.measures.AreaUnderRoc()))


def test_a_missing_label_is_refused(lazy_engine):
    absent = FRAME.with_columns(ward=pl.when(pl.int_range(N) < 3).then(None).otherwise("ward"))
    lazy = lazy_engine(absent)
    for options, argument in (({"by": ["site", "ward"]}, r"by\['ward'\]"), ({"cluster": "ward"}, "cluster")):
        with pytest.raises(MissingValuesError, match=rf"{argument} must be known for every case \(3 of 900 rows\)"):
            pr.condense(lazy, **AN_EVENT, **options)
