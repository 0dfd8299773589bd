"""What joblib stores and restores says the same; it restores arrays one by one, so that shared ones are shared no more."""

import numpy as np
import pytest
from calls import CALLS, OF_NO_CASES, cases, exact

import propriety as pr
from propriety.tables.forecast_table import ForecastTable

joblib = pytest.importorskip("joblib")
N = 240
WITH_A_LAMBDA = ("estimate of a number of the table",)  # Functions without a name cannot be stored.


def stored(answer, path):
    joblib.dump(answer, path)
    return joblib.load(path)


def of(table):
    return pr.Ledger.of_tables({"p": table})


def test_a_table_stays_unweighted(tmp_path):
    d = cases(N)
    table = ForecastTable.from_predictions(d.y, d.p)
    found = stored(table, tmp_path / "table")
    assert not table.is_weighted
    assert not found.is_weighted
    assert found == table
    assert repr(found) == repr(table)
    assert pr.check_calibration(of(found), seed=7).to_json() == pr.check_calibration(of(table), seed=7).to_json()
    assert pr.recalibrate(of(found)).to_dict() == pr.recalibrate(of(table)).to_dict()
    assert exact(pr.evaluate(of(found), seed=7)) == exact(pr.evaluate(of(table), seed=7))
    assert (found + table).to_dict() == (table + table).to_dict()
    assert pr.Ledger.of_tables({"p": found}).is_weighted is False
    weighted = ForecastTable.from_predictions(d.y, d.p, sample_weight=np.full(N, 2.0))
    assert stored(weighted, tmp_path / "weighted").is_weighted


def test_a_cached_function_returns_the_same_table(tmp_path):
    memory = joblib.Memory(tmp_path, verbose=0)
    tabulated = memory.cache(ForecastTable.from_predictions.__func__)
    d = cases(N)
    first, second = (tabulated(ForecastTable, d.y, d.p) for _ in range(2))
    assert not second.is_weighted
    assert exact(first) == exact(second)
    scored = memory.cache(pr.decompose)
    assert exact(scored(second)) == exact(scored(first))


@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
def test_every_answer_says_the_same(tmp_path, weighted):
    d = cases(N, weighted=weighted)
    names = [name for name in CALLS if name not in (*OF_NO_CASES, *WITH_A_LAMBDA)]
    for name in names:
        answer = CALLS[name](d)
        assert exact(stored(answer, tmp_path / "answer")) == exact(answer), name
