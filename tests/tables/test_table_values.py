"""A forecast table is a value: equal to what holds the same numbers, and never changed."""

import copy
import gc
import json
import pickle

import numpy as np
import pytest

import propriety as pr
from propriety.calibration.blocks import POOLED, pool_adjacent_violators
from propriety.calibration.logistic import cox_line
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.identity_cache import IdentityCache

Y, P, W = [0, 1, 1, 0, 1], [0.2, 0.7, 0.6, 0.2, 1.0], [1.0, 2.0, 0.5, 1.0, 3.0]


def tables():
    yield ForecastTable.from_predictions(Y, P)
    yield ForecastTable.from_predictions(Y, P, sample_weight=W)
    yield ForecastTable.from_predictions(Y, P).grid(16)
    yield ForecastTable.from_predictions([None, *Y], [0.5, *P], missing="drop")


def test_tables_with_the_same_numbers_are_equal(tmp_path):
    for table in tables():
        table.to_parquet(tmp_path / "t.parquet")
        same = [
            ForecastTable.from_parquet(tmp_path / "t.parquet"),
            ForecastTable.from_dict(table.to_dict()),
            ForecastTable.from_dict(json.loads(table.to_json())),
            pickle.loads(pickle.dumps(table)),
            copy.deepcopy(table),
            table,
        ]
        for other in same:
            assert other == table
            assert hash(other) == hash(table)


def test_tables_with_other_numbers_differ():
    distinct = list(tables())
    for place, table in enumerate(distinct):
        assert all((table == other) == (place == at) for at, other in enumerate(distinct))
    assert distinct[0] != "a table"
    assert len({*distinct, *tables()}) == len(distinct)


def test_the_order_of_the_cases_makes_no_other_table():
    assert ForecastTable.from_predictions(Y[::-1], P[::-1]) == ForecastTable.from_predictions(Y, P)


def test_a_table_from_a_pickle_cannot_be_changed():
    table = pickle.loads(pickle.dumps(next(tables())))
    with pytest.raises(ValueError, match="read-only"):
        table.events[0] = 7.0


@pytest.mark.slow
def test_what_was_computed_of_a_table_is_forgotten_with_it():
    one, other = (ForecastTable.from_predictions(Y[:4], P[:4]) for _ in range(2))
    gc.collect()
    held = len(POOLED)
    assert pool_adjacent_violators(one) is pool_adjacent_violators(one)
    assert pool_adjacent_violators(one) is not pool_adjacent_violators(other)
    assert cox_line(one, slope=False) is cox_line(one, slope=False)
    assert len(POOLED) == held + 2
    del one, other
    gc.collect()
    assert len(POOLED) == held


def test_a_cache_by_identity_never_mistakes_a_new_object_for_an_old_one():
    cache = IdentityCache()
    for place in range(1000):
        array = np.zeros(3)
        assert cache.get(array) is None
        assert cache.setdefault(array, place) == place
    del array
    assert len(cache) == 0


def test_results_tell_numbers_that_json_has_not_by_words():
    curve = pr.roc_curve(Y, P)
    stored = json.loads(curve.to_json(), parse_constant=pytest.fail)
    assert np.inf in curve.to_dict()["threshold"] or np.isnan(curve.to_dict()["threshold"]).any()
    assert len(stored["threshold"]) == len(curve.to_dict()["threshold"])
