"""A year of two models at fifty sites: the cost of filling, storing and evaluating a ledger, and of adding a day.

DuckDB generates the cases in a Parquet file. `condense` fills the ledger from it, in turns with hand-written SQL that
computes the same sums: for each model, day, site and cell of the forecast the number of cases, events and
the sum of the forecasts; for each day, site and outcome the number of cases, and the sums and sums of squares of the
Brier loss, the log loss and outcome minus forecast of both models and of their differences. There are two such queries:
a plain one, which checks nothing and computes log(1 - p) inaccurately near 0, and one that checks every outcome and
forecast and is as accurate as the ledger.
The ledger is then written to Parquet files by day, read and evaluated, and a day is added. Its answers are compared
with those of all rows; answers that depend on the grid of its tables have a bracket that contains the answer of all
rows.

Run: python benchmarks/ledger_year.py [--rows 36500000] [--rounds 3] [--folder DIR]
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

import propriety as pr
from propriety.tables.forecast_table import ForecastTable

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "quality"))
from record import IN_THE_SCRIPT, table, write
from turns import Taken, by_turns, timed

DAYS, SITES = 365, 50
MODELS = ("a", "b")
KEYS = ("day", "site")
DRAWS = 100  # Of the evaluation, where its measures need any.
UNIT = "hash(i * 2 + {}) / 18446744073709551616.0"
# Minus the logarithm of 1 - p with what was rounded off in it.
ACCURATE_LOG = (
    "CASE WHEN y = 1 THEN CASE WHEN {p} > 0 THEN -ln({p}) ELSE 'Infinity'::DOUBLE END "
    "WHEN {p} < 1 THEN (((1 - {p}) - 1) + {p}) / (1 - {p}) - ln(1 - {p}) ELSE 'Infinity'::DOUBLE END"
)
LOSSES = {
    "brier": "({p} - y) * ({p} - y)",
    "log": "-ln(CASE WHEN y = 1 THEN {p} ELSE 1 - {p} END)",
    "excess": "y - {p}",
}
ACCURATE = {**LOSSES, "log": ACCURATE_LOG}


def drawn(first: int, rows: int, day: str) -> str:
    """Return the query that draws calibrated forecasts, vaguer ones beside them, and the outcomes."""
    columns = f"i, 0.0005 + 0.999 * {UNIT.format(0)} AS p, {UNIT.format(1)} AS u"
    unit = f"SELECT {columns} FROM range({first}, {first + rows}) AS t(i)"  # noqa: S608  (made of constants)
    return f"""
        SELECT DATE '2025-01-01' + CAST({day} AS INTEGER) AS day, printf('site %02d', i % {SITES}) AS site,
               p AS a, 0.1 + 0.8 * p AS b, CAST(u < p AS TINYINT) AS y
        FROM ({unit}) AS units
    """  # noqa: S608  (as above)


def made(connection: Any, folder: str, rows: int) -> str:
    """Write the cases of the year to a Parquet file, unless they are there."""
    path = str(Path(folder) / f"year_{rows}.parquet")
    if not Path(path).exists():
        connection.sql(drawn(0, rows, f"i * {DAYS} // {rows}")).write_parquet(path)
    return path


def tables_by_hand(source: str, model: str, cells: int | None, *, checked: bool, keys: Sequence[str] = KEYS) -> str:
    """Return the query of the tables of one model, on the grid of the ledger."""
    cell = model if cells is None else f"CAST(floor({model} * {cells}) AS BIGINT)"
    if checked:
        lawful = f"y IN (0, 1) AND {model} <= 1 AND isfinite({model})"
        cell = f"CASE WHEN {lawful} AND {model} > 0 THEN {cell} WHEN {lawful} AND {model} = 0 THEN -1 ELSE -2 END"
    return f"""
        SELECT {", ".join(keys)}, {cell} AS cell, count(*) AS n, sum(y) AS events, sum({model}) AS forecasts
        FROM {source} GROUP BY {", ".join(keys)}, cell
    """  # noqa: S608  (as above)


def moments_by_hand(source: str, losses: Mapping[str, str], *, keys: Sequence[str] = KEYS) -> str:
    """Return the query of the moments of both models."""
    columns = [f"{loss.format(p=model)} AS {name}_{model}" for name, loss in losses.items() for model in MODELS]
    differences = [f"{name}_a - {name}_b AS {name}_d" for name in losses]
    series = [f"{name}_{of}" for name in losses for of in (*MODELS, "d")]
    groups = ", ".join((*keys, "y"))
    return f"""
        SELECT {groups}, count(*) AS n, {", ".join(f"sum({one}), sum({one} * {one})" for one in series)}
        FROM (SELECT *, {", ".join(differences)} FROM (SELECT {groups}, {", ".join(columns)} FROM {source}))
        GROUP BY {groups}
    """  # noqa: S608  (as above)


def filling(connection: Any, path: str, rounds: int) -> tuple[pr.Ledger, dict[str, Taken]]:
    """Fill the ledger through the package and take the same sums by hand, by turns."""
    kept = {}

    def ours() -> None:
        kept["ledger"] = pr.condense(connection.read_parquet(path), list(MODELS), outcome="y", by=list(KEYS))

    def by_hand(*, checked: bool) -> None:
        cells = kept["ledger"].table("a").cells
        for model in MODELS:
            found = connection.sql(tables_by_hand(f"'{path}'", model, cells, checked=checked)).to_arrow_table()
            assert not checked or (found.column("cell").to_numpy() >= -1).all()
        connection.sql(moments_by_hand(f"'{path}'", ACCURATE if checked else LOSSES)).to_arrow_table()

    works = {"ours": ours, "plain": lambda: by_hand(checked=False), "accurate": lambda: by_hand(checked=True)}
    times = by_turns(works, rounds)
    return kept["ledger"], times


def size_of(folder: Path) -> float:
    """Return the size of all files below a folder, in MB."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


def answers_of_all(connection: Any, path: str) -> Iterator[tuple[str, str, float]]:
    """Yield what all rows say: means by SQL, what rests on the order of the forecasts from the exact table."""
    for model in MODELS:
        means = ", ".join(f"avg({loss.format(p=model)})" for loss in LOSSES.values())
        query = f"SELECT {means}, avg(y) / avg({model}) FROM '{path}'"  # noqa: S608  (made of constants)
        ((brier, log, excess, ratio),) = connection.sql(query).fetchall()
        yield from (
            (model, name, value)
            for name, value in (("brier", brier), ("log", log), ("excess", excess), ("observed_expected", ratio))
        )
        columns = connection.sql(f"SELECT y, {model} AS p FROM '{path}'").to_arrow_table()  # noqa: S608  (as above)
        exact = ForecastTable.from_predictions(columns.column("y").to_numpy(), columns.column("p").to_numpy())
        parts = pr.decompose(exact)
        yield model, "auc", pr.roc_curve(exact).auc
        yield model, "miscalibration", parts.miscalibration
        yield model, "discrimination", parts.discrimination
        yield model, "calibration_slope", pr.measures.CalibrationSlope().value(exact)


def answers_of_ledger(ledger: pr.Ledger) -> Iterator[tuple[str, str, float, float, float]]:
    """Yield what the ledger says, each with the bracket that the grid leaves open."""
    for place, model in enumerate(MODELS):
        for name, rule in (("brier", pr.Brier()), ("log", pr.Log())):
            mean = float(ledger.moments(rule).means[place])
            yield model, name, mean, mean, mean
        whole = ledger.table(model)
        for name, value in (
            ("excess", whole.event_rate - whole.mean_forecast),
            ("observed_expected", pr.measures.ObservedExpected().value(whole)),
        ):
            yield model, name, value, value, value
        area = pr.roc_curve(whole).auc
        tied = 0.0 if whole.cells is None else float((whole.events / whole.events.sum()) @ whole.non_events)
        tied /= 2.0 * float(whole.non_events.sum())
        yield model, "auc", area, area - tied, area + tied
        bracket, parts = pr.calibration_bracket(whole), pr.decompose(whole)
        for name in ("miscalibration", "discrimination"):
            low, high = getattr(bracket, f"{name}_low"), getattr(bracket, f"{name}_high")
            yield model, name, getattr(parts, name), low, high
        slope = pr.measures.CalibrationSlope().value(whole)
        yield model, "calibration_slope", slope, np.nan, np.nan


def compared(connection: Any, path: str, ledger: pr.Ledger) -> list[dict[str, Any]]:
    """Compare the answers of the ledger with those of all rows."""
    truth = {(model, name): value for model, name, value in answers_of_all(connection, path)}
    rows = []
    for model, name, value, low, high in answers_of_ledger(ledger):
        true = truth[model, name]
        row = {"model": model, "measure": name.replace("_", " "), "all rows": f"{true:.9g}", "ledger": f"{value:.9g}"}
        row["off by"] = f"{abs(value - true):.1e}"
        # Sums in another order differ in their last digits.
        slack = 1e-9 * max(abs(true), 1e-3)
        row["bracket"] = "" if np.isnan(low) or low == high else f"{low:.6g} to {high:.6g}"
        held = "not bracketed" if np.isnan(low) else low - slack <= true <= high + slack
        row["holds"] = held if isinstance(held, str) else "yes" if held else "NO"
        rows.append(row)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=36_500_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", help="where the Parquet file is kept for another run")
    options = parser.parse_args()
    with ExitStack() as stack:
        folder = options.folder or stack.enter_context(tempfile.TemporaryDirectory())
        connection = stack.enter_context(duckdb.connect())
        path = made(connection, folder, options.rows)
        ledger, times = filling(connection, path, options.rounds)
        ours, plain, accurate = times.values()
        ratio, fair_ratio = ours.clock / plain.clock, ours.clock / accurate.clock
        print(f"filled: {times}, {ratio:.2f} and {fair_ratio:.2f} times as long", flush=True)
        store = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=folder))) / "ledger"
        (written, _), _ = timed(lambda: ledger.to_parquet(store, partition=["day"]))
        size, read_size = size_of(store), Path(path).stat().st_size / 1e6
        print(f"stored in {written:.2f} s: {size:.1f} MB, of {read_size:.0f} MB of cases", flush=True)
        (read, _), year = timed(lambda: pr.Ledger.from_parquet(store))
        (evaluated, _), _ = timed(lambda: str(pr.evaluate(year, n_resamples=DRAWS, seed=1)))
        print(f"read in {read:.2f} s, evaluated in {evaluated:.2f} s", flush=True)
        grid, rows_of_a_day = ledger.table("a").cells, max(options.rows // DAYS, SITES)
        cases = connection.sql(drawn(options.rows, rows_of_a_day, str(DAYS)))
        # A day is on the grid of the year: its few cases would otherwise be kept exactly, in files that are larger.
        today = pr.condense(cases, list(MODELS), outcome="y", by=list(KEYS), cells=grid)
        added = statistics.median(timed(lambda: year + today)[0].clock for _ in range(options.rounds))
        (day_written, _), _ = timed(lambda: today.to_parquet(store, partition=["day"]))
        print(f"a day added in {1e3 * added:.0f} ms, written in {1e3 * day_written:.0f} ms", flush=True)
        checked = compared(connection, path, year)
    for row in checked:
        print(row)
    wrong = sum(row["holds"] == "NO" for row in checked)
    tables = "are exact" if grid is None else f"have a grid of {grid} cells"
    costs = [
        ("filling the ledger with propriety", f"{ours.clock:.2f} s"),
        ("the same sums in hand-written SQL, plain", f"{plain.clock:.2f} s"),
        ("ratio to the plain queries", f"{ratio:.2f}"),
        ("ratio of processor seconds", f"{ours.processor / plain.processor:.2f}"),
        ("the same sums in hand-written SQL, checked and accurate", f"{accurate.clock:.2f} s"),
        ("ratio to the checked and accurate queries", f"{fair_ratio:.2f}"),
        ("ratio of processor seconds to theirs", f"{ours.processor / accurate.processor:.2f}"),
        ("Parquet file of the cases", f"{read_size:,.0f} MB"),
        ("ledger stored by day", f"{size:,.1f} MB"),
        ("writing it", f"{written:.2f} s"),
        ("reading it", f"{read:.2f} s"),
        ("evaluating it, with its card", f"{evaluated:.2f} s"),
        (f"adding a day of {rows_of_a_day:,} cases", f"{1e3 * added:.0f} ms"),
        ("writing its partition", f"{1e3 * day_written:.0f} ms"),
    ]
    write(
        "ledger_year",
        title="A year in a ledger",
        summary=f"{options.rows:,} cases of {DAYS} days and {SITES} sites, forecast by {len(MODELS)} models: filling "
        f"the ledger takes {fair_ratio:.2f} times as long as hand-written SQL with the same checks and accuracy, and "
        f"{ratio:.2f} times as long as plain SQL. Stored by day it takes {size:,.1f} MB. Reading and evaluating the "
        f"year takes {read + evaluated:.1f} s, and adding a day {1e3 * added:.0f} ms. Answers that differ from those "
        f"of all rows by more than 1e-9, or lie outside the bracket of the grid: {wrong} of {len(checked)}.",
        command=f"python benchmarks/ledger_year.py --rows {options.rows} --rounds {options.rounds}",
        tables=[
            table("Cost", [{"what": what, "cost": cost} for what, cost in costs]),
            table("Answers from the stored ledger, compared with those from all rows", checked),
        ],
        libraries=["propriety", "numpy", "narwhals", "duckdb", "pyarrow"],
        seed=IN_THE_SCRIPT,
        notes=[
            (
                f"The tables of the ledger {tables}. An answer without a bracket does not depend on the grid; the "
                "exception is the calibration slope, for which no bracket is known."
            ),
            f"Filling times are medians of {options.rounds} runs that take turns; the evaluation uses {DRAWS} draws.",
        ],
    )


if __name__ == "__main__":
    main()
