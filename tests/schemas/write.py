"""Writes the files of the schemas as they are now; run once for a new version, and never over files of an earlier one."""

import csv
import datetime as dt
import importlib
import json
import os
import sys
import tempfile
from pathlib import Path

import numpy as np
from click.testing import CliRunner

import propriety as pr
from propriety.cli.machine import VERSIONS, document, evaluation_document, written
from propriety.cli.program import program
from propriety.ledger.ledger_files import VERSION
from propriety.recalibration import IdentityMap, prior_correction
from propriety.recalibration.methods import CLASS_METHODS, METHODS
from propriety.recalibration.segment_map import SegmentEffect, SegmentMap
from propriety.recalibration.stored_maps import StoredMap
from propriety.tables.forecast_table import ForecastTable

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
    plain = ForecastTable.from_predictions(CASES["y"], CASES["a"])
    dropped = ForecastTable.from_predictions([*CASES["y"], None], [*CASES["a"], 0.5], missing="drop")
    refined = ForecastTable.from_dict(plain.grid(8).to_dict() | {"refined": True})
    weighted = ForecastTable.from_predictions(CASES["y"], CASES["a"], sample_weight=CASES["weight"])
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
            CASES["grade"], {"g": CASES["rows"]}, labels=["low", "mid", "high"], ordered=True, period=CASES["patient"]
        ),
    }


def monitor():
    """Return a monitor of two models and two sites over two days."""
    keys = {"day": [dt.date(2026, 1, day) for day in CASES["day"]], "site": CASES["site"]}
    return pr.monitor(pr.condense(CASES["y"], {"a": CASES["a"], "b": CASES["b"]}, by=keys), reference_days=1)


def monitor_version():
    """Return the version of stored monitors; they may have been cut out, and are imported late."""
    return importlib.import_module("propriety.products.monitoring.files").VERSION


def private_ledger():
    """Return a private ledger of two sites with suppressed counts."""
    ledger = pr.condense(CASES["y"], {"a": CASES["a"], "b": CASES["b"]}, by={"site": CASES["site"]})
    north, south = (ledger.where(site=one) for one in ("north", "south"))
    return pr.coarsen(north, cells=4, smallest=3) + pr.coarsen(south, cells=4, smallest=4)


PARTITIONS = {"keyed": ["day"]}


def documents():
    """Return what the command line writes as JSON, by the name of its schema, but for products that were cut out."""
    made = {"evaluation": _evaluation, "comparison": _comparison, "monitor": _monitor, "segments": _segments}
    return {kind: make() for kind, make in (made | {"plan": _plan}).items() if kind in VERSIONS}


def _evaluation():
    many = {name: 5 * CASES[name] for name in ("y", "a", "b", "site")}  # Enough for the gain of recalibration.
    models = {"a": many["a"], "b": many["b"]}
    return evaluation_document(pr.evaluate(many["y"], models, by=many["site"], n_resamples=50, seed=1), [])


def _comparison():
    return document("comparison", pr.compare(CASES["y"], {"a": CASES["a"], "b": CASES["b"]}).to_dict())


def _monitor():
    return importlib.import_module("propriety.products.monitoring.command").monitor_document(monitor())


def _segments():
    found = pr.find_segments(
        pr.cases(20 * CASES["y"], 20 * CASES["b"], by={"site": 20 * CASES["site"]}), n_resamples=100, seed=1
    )
    command = importlib.import_module("propriety.products.segments.command")  # Absent where it was cut out.
    return command.segments_document(found)


def _plan():
    plan = pr.plan(prevalence=0.1, auc=0.8)
    return document("plan", plan.to_dict() | {"summary": str(plan).splitlines()})


EVENT = ("--outcome", "y", "--forecast", "a")
GRADES = ("--outcome", "grade", "--forecast", "g=low,mid,high", "--classes", "low,mid,high")
FEW = ("--resamples", "20", "--seed", "1")
# What each command writes, by the name of its schema and a word for the options.
COMMANDS = {
    "evaluation gates": (
        *("evaluate", "cases.csv", *EVENT, "--forecast", "b", "--by", "site", "--thresholds", "0.1", "0.4", *FEW),
        *("--fail-if", "brier > 0.9", "--fail-if", "miscalibrated"),
    ),
    "evaluation clusters": ("evaluate", "cases.csv", *EVENT, "--cluster", "patient", "--weight", "weight", *FEW),
    "evaluation classes": ("evaluate", "cases.csv", *GRADES, *FEW),
    "evaluation grades": ("evaluate", "cases.csv", *GRADES, "--ordered", *FEW),
    "comparison clusters": ("compare", "cases.csv", *EVENT, "--forecast", "b", "--cluster", "patient", "--seed", "1"),
    "segments": ("segments", "cases.csv", "--outcome", "y", "--forecast", "b", "--by", "site", "--seed", "1"),
    "recalibration": ("recalibrate", "cases.csv", *EVENT, "--method", "choose", "--folds", "3"),
    "recalibration classes": ("recalibrate", "cases.csv", *GRADES, "--folds", "3"),
    "recalibration segments": (*("recalibrate-segments", "cases.csv", *EVENT, "--by", "site", "--folds", "3"),),
    "plan comparison": ("plan", "cases.csv", "--forecast", "a", "--forecast", "b", *FEW),
    "plan difference": ("plan", "--difference", "0.002", "--spread", "0.05"),
    "monitor": ("monitor", "ledger", "--reference-days", "1"),
}


def commands():
    """Return what the commands write to the standard output, by the name of the file."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            _write_cases(Path("cases.csv"))
            pr.condense(CASES["y"], {"a": CASES["a"], "b": CASES["b"]}, by={"day": CASES["day"]}).to_parquet("ledger")
            return {f"{data['schema'].partition('.')[2]}-{data['version']}-{word}": data for word, data in _told()}
        finally:
            os.chdir(before)


def _told():
    for name, arguments in COMMANDS.items():
        if arguments[0] not in program.commands:
            continue
        result = CliRunner().invoke(program, [*arguments, "--json", "-"])
        if result.exit_code not in (0, 1):
            raise RuntimeError(result.output)
        yield name.partition(" ")[2] or "command", json.loads(result.stdout)


def _write_cases(path):
    """Write twenty copies of the cases, with the rows of grades in columns."""
    columns = {name: own for name, own in CASES.items() if name != "rows"}
    columns |= dict(zip(("low", "mid", "high"), zip(*CASES["rows"], strict=True), strict=True))
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(columns)
        for _ in range(20):
            rows.writerows(zip(*columns.values(), strict=True))


FORECASTS = [0.0, 0.001, 0.1, 0.25, 0.5, 0.62, 0.9, 1.0]
ROWS = [(1.0, 0.0, 0.0), (0.25, 0.5, 0.25), (0.1, 0.2, 0.7), (0.0, 0.25, 0.75), (0.3, 0.3, 0.4)]
SITES = {"site": ["north", "south", "other", None] * 2, "age": [17, 18, 30, 31, 60, 64, 65, 99]}


def maps():
    """Return a map of every method and kind, with the forecasts that it is called with."""
    generator = np.random.default_rng(1)
    p = np.round(generator.beta(1.0, 2.0, 60), 2)
    y = generator.random(60) < p
    rows = np.round(generator.dirichlet([1.0, 1.0, 1.0], 60), 2)
    rows[:, 2] = 1.0 - rows[:, 0] - rows[:, 1]
    rows = np.clip(rows, 0.0, 1.0)
    grade = (generator.random(60)[:, None] > rows.cumsum(axis=1)[:, :-1]).sum(axis=1)
    fitted = {name: pr.recalibrate(y, p, method=name, folds=2).map for name in METHODS}
    effects = (("site", "north"), 0.5), (("site", "south"), -0.25), (("age", (None, 18.0)), 0.125)
    effects = tuple(SegmentEffect((place,), shift) for place, shift in effects)
    crossed = SegmentEffect((("site", "south"), ("age", (18.0, 30.5))), 1.0)
    more = {
        "prior correction": prior_correction(prior=0.1, sampled_at=0.5),
        "segments": SegmentMap(whole=fitted["logistic"], effects=(*effects, crossed), floor=0.001),
        "segments of a spline": SegmentMap(whole=fitted["spline"], effects=effects[:1], floor=0.001),
        "identity": IdentityMap(),
    }
    classes = {f"classes, {name}": pr.recalibrate(grade, rows, method=name, folds=2).map for name in CLASS_METHODS}
    return fitted | more | classes


def recalibrated(own: StoredMap):
    """Return the forecasts for a map, and what it makes of them."""
    if isinstance(own, SegmentMap):
        return {"forecasts": FORECASTS, "by": SITES}, own(FORECASTS, by=SITES).tolist()
    forecasts = ROWS if isinstance(own, pr.recalibration.ClassMap) else FORECASTS
    return {"forecasts": forecasts}, own(forecasts).tolist()


def write_maps_and_commands():
    """Write the maps, in one file, and what the commands write."""
    path = FILES / f"recalibration_map-{StoredMap.schema_version}.json"
    if not path.exists():
        stored = []
        for name, own in maps().items():
            given, found = recalibrated(own)
            stored.append({"name": name, "map": own.to_dict(), **given, "recalibrated": found})
        path.write_text("[\n" + ",\n".join(map(json.dumps, stored)) + "\n]\n", encoding="utf-8")
    for name, data in commands().items():
        path = FILES / f"{name}.json"
        if not path.exists():
            path.write_text(json.dumps(data, separators=(",", ":")) + "\n", encoding="utf-8")


def main():
    """Write what is not there yet."""
    write_maps_and_commands()
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
    folder = FILES / f"monitor_state-{monitor_version()}"
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
