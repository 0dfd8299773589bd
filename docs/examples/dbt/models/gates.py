"""The gates of the last seven days: one row per condition, as `propriety evaluate --fail-if` checks it."""

import json
import subprocess
import tempfile

import pyarrow as pa

import propriety as pr


def model(dbt, session):
    cells = dbt.ref("cells").filter("day > (select max(day) - 7 from cells)")
    ledger = pr.condense(cells, {"live": "p"}, outcome="y", by=["country", "device"], counts="cases")
    conditions = [word for condition in dbt.config.get("fail_if") for word in ("--fail-if", condition)]
    with tempfile.TemporaryDirectory() as folder:
        ledger.to_parquet(f"{folder}/ledger")
        command = ["propriety", "evaluate", f"{folder}/ledger", "--json", "-", *conditions]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode > 1:  # 1 is a failed gate, which the test reports.
        raise RuntimeError(run.stderr)
    return pa.Table.from_pylist(json.loads(run.stdout)["gates"])
