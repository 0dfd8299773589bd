"""Outcomes by a horizon on every engine: weights, scores and errors of the arrays."""

import numpy as np
import polars as pl
import pytest

import propriety as pr
from propriety.errors import UnsupportedOperationError


def rows(n=400):
    i = np.arange(1, n + 1)
    u, v, w = ((i * step) % 1.0 for step in (0.6180339887498949, 0.7548776662466927, 0.5698402909980532))
    of_event, of_censoring = -np.log(1.0 - v) * (0.5 + u), -1.5 * np.log(1.0 - w)
    day = np.ceil(20.0 * np.minimum(of_event, of_censoring))
    columns = {
        "day": day,
        "event": (of_event <= of_censoring).astype(int),
        "site": i % 2,
        "p": 0.7 * u,
        "q": 0.1 + 0.5 * u,
    }
    return pl.DataFrame(columns)


def test_scores_and_errors_are_those_of_arrays(lazy_engine):
    frame = rows()
    columns = {name: frame[name].to_numpy() for name in frame.columns}
    try:
        found = pr.censored_frame(lazy_engine(frame), time="day", event="event", horizon=15, groups="site")
    except UnsupportedOperationError as error:  # Dask.
        pytest.skip(str(error))
    ledger = pr.condense(found, ["p", "q"])
    outcome = pr.censored(columns["day"], columns["event"], horizons=15, groups=columns["site"])
    for measure in (pr.Brier(), pr.Log(), pr.measures.ObservedExpected()):
        one, other = pr.estimate(ledger, "p", measure), pr.estimate(outcome, columns["p"], measure)
        assert one.value == pytest.approx(other.value, rel=1e-12)
        assert one.standard_error == pytest.approx(other.standard_error, rel=1e-10)
    pair, expected = pr.compare(ledger), pr.compare(outcome, {name: columns[name] for name in "pq"})
    assert pair.standard_error == pytest.approx(expected.standard_error, rel=1e-10)
