"""Writes the files of the schemas as they are now; run once for a new version, and never over files of an earlier one."""

import datetime as dt
import json
import sys
from pathlib import Path

import propriety as pr
from propriety.cli.machine import document, evaluation_document, monitor_document, segments_document, written
from propriety.inference.monitor_files import VERSION as MONITOR_VERSION
from propriety.ledger.ledger_files import VERSION

FILES = Path(__file__).resolve().parent / "files"
CASES = {
    "y": [0, 1, 0, 1, 1, 0, 1, 0, 1, 0, 0, 1],
    "a": [0.1, 0.75, 0.25, 0.5, 0.9, 0.1, 0.75, 0.5, 1.0, 0.0, 0.3, 0.6],
    "b": [0.3, 0.6, 0.3, 0.4, 0.7, 0.2, 0.8, 0.6, 0.9, 0.1, 0.3, 0.5],
    "weight": [1.0, 2.0, 0.5, 1.0, 1.0, 3.0, 1.0, 1.0, 0.25, 1.0, 2.0, 1.0],
    "site": ["north", "north", "south", "south", "north", "south"] * 2,
    "patient": [1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6],
    "day": [1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2],
    "grade": ["low", "mid", "low", "high", "high", "low", "mid", "mid", "high", "low", "low", "mid"],
    "rows": [(0.5, 0.25, 0.25), (0.25, 0.5, 0.25), (0.75, 0.125, 0.125), (0.0, 0.25, 0.75)] * 3,
}


def tables():
    """Return forecast tables that use every field of the schema, by name."""
    plain = pr.ForecastTable.from_predictions(CASES["y"], CASES["a"])
    dropped = pr.ForecastTable.from_predictions([*CASES["y"], None], [*CASES["a"], 0.5], missing="drop")
    refined = pr.ForecastTable.from_dict(plain.grid(8).to_dict() | {"refined": True})
    weighted = pr.ForecastTable.from_predictions(CASES["y"], CASES["a"], sample_weight=CASES["weight"])
    return {"plain": plain, "dropped": dropped, "grid": plain.grid(8), "refined": refined, "weighted": weighted}


def ledgers():
    """Return ledgers of an event and of grades, with and without keys, weights, clusters and a grid, by name."""
    models = {"a": CASES["a"], "b": CASES["b"]}
    keys = {"day": [dt.date(2026, 1, day) for day in CASES["day"]], "site": CASES["site"]}
    shared = {"sample_weight": CASES["weight"], "cluster": CASES["patient"]}
    rules = [pr.BoundedBrier(0.05, 0.2), pr.measures.NetBenefit(0.2).rule]
    return {
        "plain": pr.condense(CASES["y"], models),
        "keyed": pr.condense(CASES["y"], models, by=keys, rules=rules, **shared),
        "grid": pr.condense([*CASES["y"], None], {"a": [*CASES["a"], 0.5]}, missing="drop", cells=8),
        "grades": pr.condense(
            CASES["grade"], {"g": CASES["rows"]}, labels=["low", "mid", "high"], ordered=True, time=CASES["patient"]
        ),
    }


def monitor():
    """Return a monitor of two models and two sites over two days."""
    keys = {"day": [dt.date(2026, 1, day) for day in CASES["day"]], "site": CASES["site"]}
    return pr.monitor(pr.condense(CASES["y"], {"a": CASES["a"], "b": CASES["b"]}, by=keys), reference_days=1)


def private_ledger():
    """Return a private ledger of a site with suppressed counts and of one with noise."""
    ledger = pr.condense(CASES["y"], {"a": CASES["a"], "b": CASES["b"]}, by={"site": CASES["site"]})
    north, south = (ledger.where(site=one) for one in ("north", "south"))
    return pr.coarsen(north, cells=4, minimum=3) + pr.coarsen(south, cells=4, epsilon=1.0, seed=1)


PARTITIONS = {"keyed": ["day"]}


def documents():
    """Return what the command line writes as JSON, by the name of its schema."""
    models = {"a": CASES["a"], "b": CASES["b"]}
    many = {name: 5 * CASES[name] for name in ("y", "a", "b", "site")}  # Enough for the gain of recalibration.
    evaluation = pr.evaluate(many["y"], {"a": many["a"], "b": many["b"]}, by=many["site"], n_resamples=50, seed=1)
    report = pr.audit(pr.Brier())
    found = pr.find_segments(20 * CASES["y"], 20 * CASES["b"], by={"site": 20 * CASES["site"]}, n_resamples=100, seed=1)
    plan = pr.plan(prevalence=0.1, auc=0.8)
    return {
        "evaluation": evaluation_document(evaluation, []),
        "comparison": document("comparison", pr.compare(CASES["y"], models).to_dict()),
        "advice": document("advice", pr.advise(thresholds=(0.05, 0.2)).to_dict()),
        "audit": document("audit", {**report.to_dict(), "agrees": report.agrees}),
        "monitor": monitor_document(monitor()),
        "segments": segments_document(found),
        "plan": document("plan", plan.to_dict() | {"summary": plan.summary().splitlines()}),
    }


def main():
    """Write what is not there yet."""
    for name, result in tables().items():
        data = result.to_dict()
        stem = FILES / f"forecast_table-{data['version']}-{name}"
        if not stem.with_suffix(".json").exists():
            stem.with_suffix(".json").write_text(json.dumps(data) + "\n", encoding="utf-8")
            result.to_parquet(stem.with_suffix(".parquet"))
    for name, ledger in ledgers().items():
        folder = FILES / f"ledger-{VERSION}-{name}"
        if not folder.exists():
            ledger.to_parquet(folder, partition=PARTITIONS.get(name, ()))
    folder = FILES / f"monitor_state-{MONITOR_VERSION}"
    if not folder.exists():
        monitor().to_parquet(folder)
    private = private_ledger()
    path = FILES / f"private_ledger-{private.schema_version}.json"
    if not path.exists():
        path.write_text(private.to_json() + "\n", encoding="utf-8")
    for kind, data in documents().items():
        path = FILES / f"{kind}-{data['version']}.json"
        if not path.exists():
            path.write_text(written(data) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
