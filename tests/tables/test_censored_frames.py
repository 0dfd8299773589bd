"""Weights of censored outcomes that an engine computes equal those of arrays."""

import datetime as dt
import sys

import numpy as np
import pytest

import propriety as pr
from propriety.errors import InputTypeError, InputValueError
from propriety.tables import censored_frames, lazy_reading

pl = pytest.importorskip("polars")
duckdb = pytest.importorskip("duckdb")


def rows(n=600):
    i = np.arange(1, n + 1)
    u, v, w = ((i * step) % 1.0 for step in (0.6180339887498949, 0.7548776662466927, 0.5698402909980532))
    of_event, of_censoring = -np.log(1.0 - v) * (0.5 + u), -1.5 * np.log(1.0 - w)
    status = np.where(of_event <= of_censoring, np.where(i % 4 == 0, 2, 1), 0)
    time = np.ceil(np.minimum(of_event, of_censoring) * 20.0) / 20.0
    columns = {"t": time, "event": (status == 1).astype(int), "other": status == 2, "site": i % 3, "p": 0.7 * u}
    return pl.DataFrame(columns)


ENGINES = {"polars": lambda frame: frame.lazy(), "duckdb": lambda frame: duckdb.from_arrow(frame.to_arrow())}


@pytest.fixture(params=ENGINES)
def engine(request):
    return ENGINES[request.param]


@pytest.mark.parametrize("groups", [None, "site"])
def test_tables_are_those_of_arrays(engine, groups):
    frame = rows()
    found = pr.censored_frame(engine(frame), time="t", event="event", horizon=0.75, competing="other", groups=groups)
    ledger = pr.condense(found.frame, ["p"], outcome=found.outcome, sample_weight=found.weight, by="site")
    arrays = {name: frame[name].to_numpy() for name in frame.columns}
    outcome = pr.censored(
        arrays["t"],
        arrays["event"],
        horizons=0.75,
        competing=arrays["other"],
        groups=None if groups is None else arrays[groups],
    )
    table, expected = ledger.table("p"), pr.ForecastTable.from_predictions(outcome, arrays["p"])
    for column in ("forecast", "events", "non_events", "event_squares", "non_event_squares"):
        assert np.allclose(getattr(table, column), getattr(expected, column), rtol=0.0, atol=1e-12)
    for name in ("events", "competing", "censored", "event_free"):
        assert getattr(found, name) == getattr(outcome, name)[0]
    assert pr.estimate(ledger, "p").value == pytest.approx(float(pr.brier_score(outcome, arrays["p"])), abs=1e-12)


def both_ways(engine, groups=None, n=600):
    """Return the same cases as a censored frame, and as arrays."""
    frame = rows(n).with_columns(q=0.05 + 0.8 * pl.col("p"))
    arrays = {name: frame[name].to_numpy() for name in frame.columns}
    follow_up = {"time": "t", "event": "event", "competing": "other"}
    found = pr.censored_frame(engine(frame), horizon=0.75, groups=groups, **follow_up)
    given = {name: arrays[column] for name, column in follow_up.items()}
    outcome = pr.censored(**given, horizons=0.75, groups=None if groups is None else arrays[groups])
    return found, outcome, {model: arrays[model] for model in ("p", "q")}


MEASURES = [
    pr.Brier(),
    pr.Log(),
    pr.measures.Skill(),
    pr.measures.ObservedExpected(),
    pr.measures.PredictedActual(),
    pr.measures.AreaUnderRoc(),
    pr.measures.CalibrationSlope(),
]


@pytest.mark.parametrize("groups", [None, "site"])
def test_errors_are_those_of_arrays(engine, groups):
    found, outcome, forecasts = both_ways(engine, groups)
    ledger = pr.condense(found, ["p", "q"])
    for measure in MEASURES:
        one, other = pr.estimate(ledger, "q", measure), pr.estimate(outcome, forecasts["q"], measure)
        for name in ("value", "standard_error", "low", "high"):
            assert getattr(one, name) == pytest.approx(getattr(other, name), rel=1e-12, abs=0.0)
        assert (one.method, one.note) == (other.method, other.note)
        pair, expected = pr.compare(ledger, measure=measure), pr.compare(outcome, forecasts, measure)
        assert np.allclose(pair.difference, expected.difference, rtol=0.0, atol=1e-14)
        assert np.allclose(pair.standard_error, expected.standard_error, rtol=1e-9, atol=1e-16)
        assert pair.summary() == expected.summary()


@pytest.fixture
def queries_run(monkeypatch):
    """Return the list of queries that were run."""
    run, own = [], lazy_reading.fetched
    for module in [one for name, one in sys.modules.items() if name.startswith("propriety.")]:
        for name in [name for name, value in vars(module).items() if value is own]:
            monkeypatch.setattr(module, name, lambda query: run.append(query) or own(query))
    return run


def test_an_evaluation_runs_three_queries(engine, queries_run, monkeypatch):
    monkeypatch.setattr("propriety.ledger.engine_moments.MAX_VALUES_IN_MEMORY", 100)  # The cases do not fit in memory.
    found, _, _ = both_ways(engine)
    evaluation = pr.evaluate(found, ["p", "q"], seed=1)
    assert len(queries_run) == 3
    assert evaluation.ledger.censoring.n == 600


def test_measures_without_sums_by_step_say_that_weights_are_known(engine, monkeypatch):
    monkeypatch.setattr("propriety.ledger.engine_moments.MAX_VALUES_IN_MEMORY", 100)
    found, outcome, forecasts = both_ways(engine)
    area = pr.estimate(found, "p", pr.measures.AreaUnderRoc())
    assert area.value == pytest.approx(pr.estimate(outcome, forecasts["p"], pr.measures.AreaUnderRoc()).value)
    assert area.method.endswith("with censoring weights taken as known")
    assert pr.estimate(found, "p").method.endswith("with estimated censoring weights")


def test_many_steps_are_not_kept(engine, monkeypatch):
    monkeypatch.setattr(censored_frames, "MOST_STEPS", 5)
    found, outcome, forecasts = both_ways(engine)
    score, expected = pr.estimate(found, "p"), pr.estimate(outcome, forecasts["p"])
    assert score.value == pytest.approx(expected.value, abs=1e-14)
    assert score.standard_error > expected.standard_error
    assert score.method == "Student's t, with censoring weights taken as known"
    assert "Intervals with censoring weights taken as known." in pr.compare(found, ["p", "q"]).summary()


def test_without_censoring_the_cases_are_plain(engine):
    frame = rows(200).with_columns(other=pl.col("event") == 0)
    found = pr.censored_frame(engine(frame), time="t", event="event", horizon=0.75, competing="other")
    ledger = pr.condense(found, ["p"])
    assert ledger.censoring is None
    assert not ledger.is_weighted


@pytest.mark.parametrize("argument", ["sample_weight", "cluster", "time", "outcome"])
def test_other_weights_and_clusters_are_rejected(argument):
    found, _, _ = both_ways(ENGINES["polars"], n=60)
    with pytest.raises(InputValueError, match=f"{argument} is not supported with a censored frame"):
        pr.condense(found, ["p"], **{argument: "site"})


def test_classes_are_rejected():
    found, _, _ = both_ways(ENGINES["polars"], n=60)
    with pytest.raises(InputValueError, match="one column per model"):
        pr.condense(found, {"a": ["p", "q"]})


def test_ledgers_are_neither_stored_nor_added(tmp_path):
    found, _, _ = both_ways(ENGINES["polars"], n=60)
    ledger = pr.condense(found, ["p"])
    with pytest.raises(InputValueError, match="cannot be added"):
        ledger + ledger
    with pytest.raises(InputValueError, match="cannot be stored"):
        ledger.to_parquet(tmp_path)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"t": -1.0}, "not negative"),
        ({"t": None}, "missing"),
        ({"event": 3}, "0 and 1"),
        ({"event": 1, "other": True}, "both"),
    ],
)
def test_invalid_rows_are_rejected(engine, change, said):
    frame = rows(20)
    first = pl.int_range(pl.len()) == 3
    frame = frame.with_columns(
        **{name: pl.when(first).then(pl.lit(value)).otherwise(pl.col(name)) for name, value in change.items()}
    )
    with pytest.raises(InputValueError, match=said):
        pr.censored_frame(engine(frame), time="t", event="event", horizon=0.5, competing="other")


def test_the_group_without_follow_up_is_named(engine):
    frame = pl.DataFrame({"t": [9.0, 1.0, 1.0], "event": [0, 1, 0], "site": ["a", "b", "b"]})
    with pytest.raises(InputValueError, match="until 5 in group 'b'"):
        pr.censored_frame(engine(frame), time="t", event="event", horizon=5, groups="site")


@pytest.mark.parametrize("groups", [None, "site"])
@pytest.mark.parametrize("last", [0, 1])
def test_a_horizon_after_the_last_time_is_rejected_however_it_ended(engine, last, groups):
    frame = pl.DataFrame({"t": [1, 2, 3, 4, 5], "event": [1, 0, 1, 0, last], "site": ["a", "a", "b", "b", "b"]})
    said = r"horizon must be within the follow-up; nobody is followed up until 1000; the last time is 5\. Hint: use an"
    with pytest.raises(InputValueError, match=said):
        pr.censored_frame(engine(frame), time="t", event="event", horizon=1000, groups=groups)
    assert pr.censored_frame(engine(frame), time="t", event="event", horizon=5).n == 5


def test_all_cases_of_a_group_may_have_the_event_before_the_horizon(engine):
    frame = pl.DataFrame({"t": [1, 2, 3, 9], "event": [1, 0, 1, 0], "site": ["a", "a", "a", "b"]})
    assert pr.censored_frame(engine(frame), time="t", event="event", horizon=5, groups="site").events == 2


def test_eager_frames_are_rejected():
    with pytest.raises(InputTypeError, match="must be a lazy frame"):
        pr.censored_frame(rows(10), time="t", event="event", horizon=0.5)


def test_columns_of_the_frame_are_kept(engine):
    frame = rows(60).with_columns(_time=pl.lit(7), _group=pl.lit("g"), _event=pl.lit(1), _curve=pl.lit(0.5))
    found = pr.censored_frame(engine(frame), time="t", event="event", horizon=0.75, competing="other")
    columns = pr.tables.frames.known(found.frame).collect_schema().names()
    assert columns == [*frame.columns, found.outcome, found.weight, found.step]
    with pytest.raises(InputValueError, match="no column called '_censoring_time'"):
        pr.censored_frame(engine(frame.rename({"_time": "_censoring_time"})), time="t", event="event", horizon=0.75)


def test_a_horizon_after_the_last_time_is_accepted_if_every_outcome_is_known():
    frame = pl.DataFrame({"t": [1.0, 2.0, 3.0], "d": [1, 1, 1]})
    found = pr.censored_frame(frame.lazy(), time="t", event="d", horizon=10.0)
    assert (found.events, found.censored) == (3, 0)
    (known,) = pr.censored(frame["t"], frame["d"], horizons=10.0).known
    assert known.outcome.all()


@pytest.mark.parametrize(
    ("column", "kind"),
    [(["12", "n/a"], "String"), ([dt.timedelta(3)] * 2, "Duration"), ([dt.date(2026, 1, 1)] * 2, "Date")],
)
def test_times_and_events_are_numbers(column, kind):
    for name in ("t", "e"):
        frame = pl.LazyFrame({"t": [1.0, 2.0], "e": [1, 0]} | {name: column})
        argument = {"t": "time", "e": "event"}[name]
        with pytest.raises(InputTypeError, match=f"{argument} must hold real numbers; got values of dtype {kind}"):
            pr.censored_frame(frame, time="t", event="e", horizon=1.5)


def test_the_groups_may_be_a_column_that_is_used_already():
    frame = pl.LazyFrame({"t": [1.0, 2.0, 3.0, 4.0], "e": [1, 1, 1, 1], "c": [0, 0, 0, 0]})
    assert pr.censored_frame(frame, time="t", event="e", groups="e", horizon=3.5).events == 3


def test_errors_name_what_is_there():
    frame = pl.LazyFrame({"t": [1.0, None], "e": [1, 0]})
    with pytest.raises(InputValueError, match="must not hold missing values; 1 of 2 rows do\\."):
        pr.censored_frame(frame, time="t", event="e", horizon=1.5)
    with pytest.raises(InputValueError, match="time must be finite and not negative; 1 of 2 rows are not"):
        pr.censored_frame(pl.LazyFrame({"t": [-1.0, 2.0], "e": [1, 0]}), time="t", event="e", horizon=1.5)
    with pytest.raises(InputValueError, match="frame must hold at least one case"):
        pr.censored_frame(frame.head(0), time="t", event="e", horizon=1.5)
