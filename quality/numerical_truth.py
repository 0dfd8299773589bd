"""The accuracy of sums over up to a billion rows, and of losses, maps, weights and tests against exact arithmetic.

The cases repeat after a million, and their exact mean loss and exact table are known: case i has
the forecast (i % 1000 + 1/2) / 1000, and the event happens to i % 1000 + 1 in 1000 of the cases with that forecast.
Weights are powers of two from 2^-50 to 2^50, 30 orders of magnitude. The exact mean uses losses with 800 digits.

Run: python quality/numerical_truth.py [--most 1000000000] [--folder DIR]
With --most 0, only the comparisons with exact arithmetic are made again, and the record keeps its sums over rows.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import math
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import duckdb
import narwhals as nw
import numpy as np
import polars as pl
from record import RESULTS, table, write

import propriety as pr
from propriety.ledger.engine_moments import sums_of_lazy
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.lazy_reading import read_lazy_cases

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "truth"))

from adversarial import BINARY, BY_CLASS, binary_errors, class_errors
from exact_rules import binary_loss, mpf
from inference_samples import APPLIED, FOLLOWED, TESTED, map_errors, p_values, weight_errors

VALUES = 1000
PERIOD = VALUES * VALUES
WEIGHTS = 101  # Powers of two, from 2^-50 on.
RULES = (pr.Brier(), pr.Log())
SIZES = (10**6, 10**7, 10**8)
LARGEST = 10**9  # On DuckDB alone, which makes the rows as it reads them.
FORECAST = f"(i % {VALUES} + 0.5::DOUBLE) / {VALUES}"
EVENT = f"(i // {VALUES}) % {VALUES} <= i % {VALUES}"
WEIGHT = f"pow(2.0::DOUBLE, (i % {VALUES} * 37 + (i // {VALUES}) % {VALUES} * 11) % {WEIGHTS} - 50)"
Row = dict[str, Any]


def period() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return forecast, event and the exponent of the weight of a million cases."""
    place, turn = np.arange(PERIOD) % VALUES, np.arange(PERIOD) // VALUES
    return (place + 0.5) / VALUES, turn <= place, (place * 37 + turn * 11) % WEIGHTS


def exact_means(*, weighted: bool) -> dict[str, Any]:
    """Return the mean loss of each rule, from whole numbers and losses of many digits."""
    forecast, event, exponent = period()
    totals: dict[tuple[float, bool], int] = {}
    cells = np.column_stack([np.arange(PERIOD) % VALUES, event, exponent if weighted else np.zeros_like(exponent)])
    for (place, happened, power), count in zip(*np.unique(cells, axis=0, return_counts=True), strict=True):
        key = float(forecast[place]), bool(happened)
        totals[key] = totals.get(key, 0) + int(count) * 2 ** int(power)
    whole = sum(totals.values())
    return {
        repr(rule): sum(weight * binary_loss(rule, p, event=e) for (p, e), weight in totals.items()) / whole
        for rule in RULES
    }


def relative_error(value: float, exact: Any) -> float:
    """Return the distance from the truth as a share of it."""
    return float(abs(mpf(value) - exact) / exact)


def on_arrays(rows: int, *, weighted: bool) -> Iterator[tuple[str, float]]:
    """Yield the mean loss of each rule, summed case by case."""
    forecast, event, exponent = (np.tile(column, rows // PERIOD) for column in period())
    options = {"sample_weight": np.ldexp(1.0, exponent - 50)} if weighted else {}
    for rule in RULES:
        yield repr(rule), float(pr.mean_score(event, forecast, rule=rule, **options))


def on_engine(frame: object, rows: int, *, weighted: bool) -> Iterator[tuple[str, float]]:
    """Yield the mean loss of each rule, summed by the engine that holds the rows."""
    weight = {"weight": "w"} if weighted else {}
    cases = read_lazy_cases(nw.from_native(frame), {"model": "p"}, outcome="y", **weight)
    for rule, sums in zip(RULES, sums_of_lazy(cases, RULES, rows=rows).rules, strict=True):
        yield repr(rule), float(sums.mean[0, 0])


def wrong_counts(counted: ForecastTable, rows: int) -> int:
    """Return how many counts of a table are not the whole numbers that they must be."""
    each = rows // PERIOD * np.arange(1, VALUES + 1)
    wrong = (counted.events != each) | (counted.non_events != rows // VALUES - each)
    return int(np.count_nonzero(wrong)) + abs(len(counted) - VALUES)


def generated(rows: int) -> Any:
    """Return the cases as DuckDB makes them when they are read."""
    columns = f"{FORECAST} AS p, CAST({EVENT} AS TINYINT) AS y, {WEIGHT} AS w"
    return duckdb.sql(f"SELECT {columns} FROM range({rows}) AS t(i)")  # noqa: S608  (made of constants)


def sources(rows: int, folder: Path) -> Iterator[tuple[str, Any]]:
    """Yield the engines by name, each with its lazy frame of the cases; arrays are None."""
    if rows in SIZES:
        yield "NumPy", None
    yield "DuckDB", generated(rows)
    if rows in SIZES:
        path = folder / f"cases_{rows}.parquet"
        generated(rows).write_parquet(str(path))
        yield "Polars", pl.scan_parquet(path)
        path.unlink()


def sums(rows: int, folder: Path, exact: Mapping[bool, Mapping[str, Any]]) -> list[Row]:
    """Measure the error of the means of so many rows on each engine, and the counts of their table."""
    found = []
    for name, frame in sources(rows, folder):
        begin = time.perf_counter()
        today = dt.datetime.now(tz=dt.UTC).date().isoformat()
        row: Row = {"rows": f"{rows:.0e}".replace("e+0", "e"), "engine": name, "date": today}
        for weighted in (False, True):
            means = on_arrays(rows, weighted=weighted) if frame is None else on_engine(frame, rows, weighted=weighted)
            for rule, mean in means:
                words = f"{rule}, {'weighted' if weighted else 'plain'}"
                row[words] = f"{relative_error(mean, exact[weighted][rule]):.1e}"
        if frame is None:
            forecast, event, _ = (np.tile(column, rows // PERIOD) for column in period())
            counted = ForecastTable.from_predictions(event, forecast)
        else:
            counted = ForecastTable.from_frame(frame, outcome="y", forecast="p")
        for rule in RULES:
            mean = float(pr.mean_score(counted, rule=rule))
            row[f"{rule!r}, by table"] = f"{relative_error(mean, exact[False][repr(rule)]):.1e}"
        row["wrong counts"] = wrong_counts(counted, rows)
        found.append(row)
        print(row, f"{time.perf_counter() - begin:.0f} s", flush=True)
    return found


def rule_errors() -> list[Row]:
    """Return the largest error of each rule on adversarial forecasts, in units of the last place."""
    rows = []
    for words, rules, errors in (("one event", BINARY, binary_errors), ("rows", BY_CLASS, class_errors)):
        for rule in rules:
            *where, worst = max(errors(rule), key=lambda case: case[-1])
            rows.append({"forecast of": words, "rule": repr(rule), "ulps": f"{worst:.2g}", "at": f"{where[0]!r}"})
    return rows


def map_rows() -> list[Row]:
    """Return the largest error of each recalibration map on adversarial forecasts, in units of the last place."""
    rows = []
    for fitted in APPLIED:
        where, _, worst = max(map_errors(fitted), key=lambda case: case[-1])
        rows.append({"map": repr(fitted), "ulps": f"{worst:.2g}", "at": f"{where!r}"})
    return rows


def inference_rows() -> list[Row]:
    """Return the largest relative errors of weights of censored outcomes and of p-values of the test of calibration."""
    rows = []
    for name in FOLLOWED:
        worst = max(error for horizon in (1.0, 2.0, 3.0) for error in weight_errors(name, horizon))
        rows.append({"number": "weights of censored outcomes", "cases": name, "relative error": f"{worst:.1e}"})
    for name in TESTED:
        test, *_, joint = p_values(name)
        error = relative_error(test.p_value, joint)
        words = f"{name} (p = {test.p_value:.2g})"
        rows.append({"number": "p-value of the calibration test", "cases": words, "relative error": f"{error:.1e}"})
    return rows


def _shares(found: list[Row], engine: str, *, by_table: bool) -> list[float]:
    """Return the relative errors on an engine: of means from tables, or of those summed row by row."""
    rows = [row for row in found if row["engine"] == engine]
    return [float(row[name]) for row in rows for name in row if "(" in name and ("by table" in name) == by_table]


def earlier_sums() -> list[Row]:
    """Return the sums over rows of the record, with the dates on which they were measured."""
    record = json.loads((RESULTS / "numerical_truth.json").read_text(encoding="utf-8"))
    stored = record["tables"][0]
    rows = [dict(zip(stored["columns"], row, strict=True)) for row in stored["rows"]]
    return [
        {"rows": row["rows"], "engine": row["engine"], "date": row.get("date", record["made"]["date"]), **row}
        for row in rows
    ]


def recorded(rules: list[Row], maps: list[Row], inferred: list[Row], found: list[Row], options: str = "") -> None:
    """Write what has been measured so far."""
    worst = {name: max(_shares(found, name, by_table=False)) for name in dict.fromkeys(row["engine"] for row in found)}
    most = {str(row["engine"]): row["rows"] for row in found}  # The rows are in order of size.
    errors = ", ".join(f"{share:.1e} on {name} (up to {most[name]} rows)" for name, share in worst.items())
    by_table = max(share for name in worst for share in _shares(found, name, by_table=True))
    of_one_event = max(float(row["ulps"]) for row in rules if row["forecast of"] == "one event")
    summary = (
        f"The relative error of mean losses is at most {errors}, and {by_table:.1e} "
        f"from forecast tables. Wrong counts in these tables: {sum(row['wrong counts'] for row in found)}. On "
        f"adversarial forecasts the error of the loss of one event is at most {of_one_event:.2g} units in the last "
        f"place, under every rule and parameter tried, and that of recalibration maps {_worst(maps, 'ulps'):.0f}. The "
        f"relative error of weights of censored outcomes and of p-values of the calibration test is at most "
        f"{_worst(inferred, 'relative error'):.1e}."
    )
    write(
        "numerical_truth",
        title="Numerical accuracy",
        summary=summary,
        command=f"python quality/numerical_truth.py{options}",
        tables=[
            table("Relative error of mean losses, and wrong counts in the forecast table", found),
            table(
                "Largest error of a loss on adversarial forecasts, in units in the last place of the exact loss", rules
            ),
            table("Largest error of a recalibrated forecast, in units in the last place of the exact one", maps),
            table("Relative error of weights and p-values", inferred),
        ],
        libraries=("propriety", "numpy", "scipy", "narwhals", "duckdb", "polars", "mpmath"),
        notes=[
            f"A double has a relative resolution of {math.ulp(1.0):.1e}. Weights span 30 orders of magnitude.",
            "Exact losses are computed with 800 digits from definitions that share no code with the package.",
            (
                "Plain and weighted means are summed over the rows, on engines by cells of the forecast. Means by "
                "table are computed from the counts."
            ),
            "The means were measured on the dates given, and everything else on the date of the record.",
            "DuckDB generates its rows, Polars scans a Parquet file, and NumPy uses arrays.",
            "Maps in log-odds round these, so that the error grows with their size: 745 for the smallest double.",
            "Exact weights of censored outcomes are computed with fractions, exact p-values with 80 digits.",
            "Ranked scores of rows add probabilities, which rounds relative to 1; losses near 0 are less accurate.",
        ],
        keeps_rows=True,
    )


def _worst(rows: list[Row], name: str) -> float:
    return max(float(row[name]) for row in rows)


def main() -> None:
    """Measure, and write the record after each size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=int, default=LARGEST, help="the largest number of rows")
    parser.add_argument("--folder", help="where to keep Parquet files meanwhile")
    arguments = parser.parse_args()
    rules, maps, inferred = rule_errors(), map_rows(), inference_rows()
    if arguments.most < SIZES[0]:
        recorded(rules, maps, inferred, earlier_sums(), " --most 0")
        return
    found: list[Row] = []
    exact = {weighted: exact_means(weighted=weighted) for weighted in (False, True)}
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        for rows in (*SIZES, LARGEST):
            if rows <= arguments.most:
                found += sums(rows, Path(folder), exact)
                recorded(rules, maps, inferred, found)


if __name__ == "__main__":
    main()
