"""Weights of censored outcomes that an engine computes equal those of arrays."""

import numpy as np
import pytest

import propriety as pr
from propriety.errors import InputTypeError, InputValueError

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


def test_eager_frames_are_rejected():
    with pytest.raises(InputTypeError, match="must be a lazy frame"):
        pr.censored_frame(rows(10), time="t", event="event", horizon=0.5)


def test_columns_of_the_frame_are_kept(engine):
    frame = rows(60).with_columns(_time=pl.lit(7), _group=pl.lit("g"), _event=pl.lit(1), _curve=pl.lit(0.5))
    found = pr.censored_frame(engine(frame), time="t", event="event", horizon=0.75, competing="other")
    columns = pr.tables.frames.known(found.frame).collect_schema().names()
    assert columns == [*frame.columns, found.outcome, found.weight]
    with pytest.raises(InputValueError, match="no column called '_censoring_time'"):
        pr.censored_frame(engine(frame.rename({"_time": "_censoring_time"})), time="t", event="event", horizon=0.75)
