"""A Delta table of cells gives the ledger of all rows, day by day, and after a day is replaced."""

import pytest

pytest.importorskip("deltalake", reason="deltalake is not installed")


def test_days_are_added_and_replaced(tmp_path, examples, recipe, write_day, whole_ledger, assert_same):
    store, table, cases = recipe(examples / "delta" / "cells.py"), str(tmp_path / "cells"), tmp_path / "cases"
    for day in (1, 2):
        write_day(cases, day)
        store.replace_day(table, f"{cases}/*.parquet", f"2026-11-{day:02d}")
    assert_same(store.read_ledger(table), whole_ledger(cases))

    write_day(cases, 2, cases=4_000)  # Late cases: the day is counted again.
    store.replace_day(table, f"{cases}/*.parquet", "2026-11-02")
    store.replace_day(table, f"{cases}/*.parquet", "2026-11-02")
    found = store.read_ledger(table)
    assert found.n == 7_000
    assert_same(found, whole_ledger(cases))

    assert store.read_ledger(table, version=1).n == 6_000
    assert store.read_ledger(table, days=["2026-11-02"]).n == 4_000
