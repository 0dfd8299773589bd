"""A ledger per day as a partitioned asset, their sum, and the gates as a check of the sum."""

import json
import os
import subprocess
from pathlib import Path

import duckdb

import dagster as dg
import propriety as pr

CASES, LEDGERS = Path(os.environ["CASES"]), Path(os.environ["LEDGERS"])
GATES = ("miscalibrated", "auc < 0.6")


@dg.asset(partitions_def=dg.DailyPartitionsDefinition(start_date="2026-11-01"))
def daily_ledger(context: dg.AssetExecutionContext) -> dg.MaterializeResult:
    """Condense the cases of a day; a day that is materialized again is replaced."""
    day = context.partition_key
    cases = duckdb.sql(f"SELECT * FROM '{CASES}/{day}.parquet'")
    ledger = pr.condense(cases, {"live": "p"}, outcome="y", by=["day", "country", "device"], cells=256)
    ledger.to_parquet(LEDGERS / day, replace=True)
    return dg.MaterializeResult(metadata={"cases": ledger.n})


@dg.asset(deps=[daily_ledger])
def ledger() -> dg.MaterializeResult:
    """Add the ledgers of all days."""
    found = pr.Ledger.merge(map(pr.Ledger.from_parquet, sorted(LEDGERS.glob("20*"))))
    found.to_parquet(LEDGERS / "all", replace=True)
    return dg.MaterializeResult(metadata={"cases": found.n, "days": len(found.keys["day"])})


@dg.asset_check(asset=ledger)
def gates() -> dg.AssetCheckResult:
    """Check the conditions of `propriety evaluate --fail-if`."""
    conditions = [word for condition in GATES for word in ("--fail-if", condition)]
    command = ["propriety", "evaluate", str(LEDGERS / "all"), "--json", "-", *conditions]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode > 1:
        raise dg.Failure(run.stderr)
    found = json.loads(run.stdout)["gates"]
    return dg.AssetCheckResult(passed=run.returncode == 0, metadata={one["gate"]: one["reason"] for one in found})


defs = dg.Definitions(assets=[daily_ledger, ledger], asset_checks=[gates])
