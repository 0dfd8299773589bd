"""Daily partitions of a Dagster asset add up to the ledger of all rows, and the gates are a check."""

import pytest

dg = pytest.importorskip("dagster", reason="Dagster is not installed")


def test_days_are_materialized_and_checked(
    tmp_path, monkeypatch, examples, recipe, write_day, whole_ledger, assert_same
):
    cases, ledgers = tmp_path / "cases", tmp_path / "ledgers"
    monkeypatch.setenv("CASES", str(cases))
    monkeypatch.setenv("LEDGERS", str(ledgers))
    pipeline = recipe(examples / "dagster" / "pipeline.py")

    def run(day):
        done = dg.materialize([pipeline.daily_ledger], partition_key=f"2026-11-{day:02d}", instance=instance)
        assert done.success
        done = dg.materialize(
            [pipeline.daily_ledger, pipeline.ledger, pipeline.gates],
            selection=dg.AssetSelection.assets(pipeline.ledger) | dg.AssetSelection.checks(pipeline.gates),
            instance=instance,
        )
        (check,) = done.get_asset_check_evaluations()
        return check

    with dg.DagsterInstance.ephemeral() as instance:
        for day in (1, 2, 2):  # A day that is materialized again is not counted twice.
            write_day(cases, day)
            check = run(day)
        assert check.passed
        stored = pipeline.pr.Ledger.from_parquet(ledgers / "all")
        assert stored.n == 6_000
        assert_same(stored, whole_ledger(cases, cells=256))

        write_day(cases, 3, shift=1.0)
        check = run(3)
        assert not check.passed
        assert check.metadata["miscalibrated"].value == "live is miscalibrated."
