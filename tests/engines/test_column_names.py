"""Columns may have any name, on every engine."""

import numpy as np
import polars as pl
import pytest

import propriety as pr

N = 40
Y, P, K = np.arange(N) % 2, np.linspace(0.1, 0.9, N).round(2), np.arange(N) % 3
NAMES = ["a.b", "a`b", "`a`", 'a"b', "a'b", "a b", "^k.*$", "*", "é", "select", "a;b", "{k}", "%s", "a[0]"]


@pytest.mark.parametrize(("key", "forecast"), list(zip(NAMES, NAMES[1:] + NAMES[:1], strict=True)))
def test_columns_may_have_any_name(lazy_engine, key, forecast):
    frame = lazy_engine(pl.DataFrame({"y": Y, forecast: P, key: K}))
    ledger = pr.condense(frame, [forecast], outcome="y", by=[key], cluster=key)
    assert ledger.keys == {key: (0, 1, 2)}
    assert ledger.table(forecast).n == N


def test_spark_columns_may_differ_in_case_only(spark):
    rows = zip(Y.tolist(), P.tolist(), (1 - P).tolist(), K.tolist(), (K % 2).tolist(), strict=True)
    frame = spark.createDataFrame(list(rows), ["y", "p", "P", "k", "K"])
    ledger = pr.condense(frame, ["p", "P"], outcome="y", by=["k", "K"])
    assert ledger.keys == {"k": (0, 1, 2), "K": (0, 1)}
    assert float(ledger.table("P").weights @ ledger.table("P").forecast) == pytest.approx(float((1 - P).sum()))
