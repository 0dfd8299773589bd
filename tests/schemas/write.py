"""Writes the files of the schemas as they are now; run once for a new version, and never over files of an earlier one."""

import json
import sys
from pathlib import Path

import propriety as pr
from propriety.cli.machine import document, evaluation_document, written

FILES = Path(__file__).resolve().parent / "files"
CASES = {
    "y": [0, 1, 0, 1, 1, 0, 1, 0, 1, 0, 0, 1],
    "a": [0.1, 0.75, 0.25, 0.5, 0.9, 0.1, 0.75, 0.5, 1.0, 0.0, 0.3, 0.6],
    "b": [0.3, 0.6, 0.3, 0.4, 0.7, 0.2, 0.8, 0.6, 0.9, 0.1, 0.3, 0.5],
    "weight": [1.0, 2.0, 0.5, 1.0, 1.0, 3.0, 1.0, 1.0, 0.25, 1.0, 2.0, 1.0],
    "site": ["north", "north", "south", "south", "north", "south"] * 2,
    "patient": [1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6],
}


def tables():
    """Return forecast tables that use every field of the schema, by name."""
    plain = pr.ForecastTable.from_predictions(CASES["y"], CASES["a"])
    dropped = pr.ForecastTable.from_predictions([*CASES["y"], None], [*CASES["a"], 0.5], missing="drop")
    refined = pr.ForecastTable.from_dict(plain.grid(8).to_dict() | {"refined": True})
    weighted = pr.ForecastTable.from_predictions(CASES["y"], CASES["a"], sample_weight=CASES["weight"])
    return {"plain": plain, "dropped": dropped, "grid": plain.grid(8), "refined": refined, "weighted": weighted}


def moments():
    """Return moments of losses with and without groups and clusters, by name."""
    models = {"a": CASES["a"], "b": CASES["b"]}
    weight = CASES["weight"]
    return {
        "plain": pr.loss_moments(CASES["y"], models),
        "grouped": pr.loss_moments(
            CASES["y"], models, by=CASES["site"], cluster=CASES["patient"], sample_weight=weight
        ),
    }


def documents():
    """Return what the command line writes as JSON, by the name of its schema."""
    models = {"a": CASES["a"], "b": CASES["b"]}
    evaluation = pr.evaluate(CASES["y"], models, by=CASES["site"], n_resamples=50, seed=1)
    report = pr.audit(pr.Brier())
    return {
        "evaluation": evaluation_document(evaluation, []),
        "comparison": document("comparison", pr.compare(CASES["y"], models).to_dict()),
        "advice": document("advice", pr.advise(thresholds=(0.05, 0.2)).to_dict()),
        "audit": document("audit", {**report.to_dict(), "agrees": report.agrees}),
    }


def main():
    """Write what is not there yet."""
    for kind, results in (("forecast_table", tables()), ("loss_moments", moments())):
        for name, result in results.items():
            data = result.to_dict()
            stem = FILES / f"{kind}-{data['version']}-{name}"
            if not stem.with_suffix(".json").exists():
                stem.with_suffix(".json").write_text(json.dumps(data) + "\n", encoding="utf-8")
                result.to_parquet(stem.with_suffix(".parquet"))
    for kind, data in documents().items():
        path = FILES / f"{kind}-{data['version']}.json"
        if not path.exists():
            path.write_text(written(data) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
