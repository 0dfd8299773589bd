"""Outcomes by a horizon on engines: censoring curve, weights, tables and moments of two models, compared with SQL.

DuckDB generates the cases in a Parquet file: day-valued times, half of the events of a year seen, the other cases
censored or followed up. `censored_frame` and `condense` run three queries. The hand-written SQL computes the same sums
and checks nothing: the censoring curve from counts by day, kept as a table of a few hundred rows; for each model and
cell of the forecast the weights of events and non-events; and by day of the curve and outcome the weighted sums and
sums of squares of the losses of both models and of their differences. The estimates of a sample of the rows, with their
standard errors, are compared with those of arrays, and the means of all rows with those of the hand-written SQL.

Run: python benchmarks/censored.py [--rows 100000000] [--rounds 1] [--cold] [--engines duckdb spark]
                                   [--memory 4GB] [--folder DIR]
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import propriety as pr

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "quality"))
from record import earlier, table, write
from turns import by_turns

NAME = "censored_scale"
HORIZON = 365
SAMPLE = 100_000
MODELS = ("a", "b")
UNIT = "hash(i * 3 + {}) / 18446744073709551616.0"
LOSSES = {
    "brier": "({p} - y) * ({p} - y)",
    "log": "-ln(CASE WHEN y = 1 THEN {p} ELSE 1 - {p} END)",
    "excess": "y - {p}",
}
SERIES = [f"{loss}_{of}" for loss in LOSSES for of in (*MODELS, "d")]
MEASURES = {
    "Brier score": pr.Brier(),
    "log score": pr.Log(),
    "Brier skill": pr.measures.Skill(),
    "observed/expected": pr.measures.ObservedExpected(),
}
CURVE = f"""
    SELECT day, least(day, {HORIZON}) AS step, exp(coalesce(sum(fall) OVER (
        ORDER BY day ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0.0)) AS uncensored
    FROM (
        SELECT day, CASE WHEN day < {HORIZON} AND c > 0 THEN ln(1.0 - c / (total - past + c)) ELSE 0.0 END AS fall
        FROM (
            SELECT day, c, sum(n) OVER (ORDER BY day) AS past, sum(n) OVER () AS total
            FROM (
                SELECT day, CAST(sum(1 - event) AS DOUBLE) AS c, CAST(count(*) AS DOUBLE) AS n FROM {{cases}} GROUP BY 1
            ) AS counts
        ) AS running
    ) AS falls
"""  # noqa: S608  (made of constants)
WEIGHTED = f"""
    SELECT a, b, step, CAST(CASE WHEN event = 1 AND cases.day <= {HORIZON} THEN 1 ELSE 0 END AS DOUBLE) AS y,
           CASE WHEN event = 1 OR cases.day >= {HORIZON} THEN 1.0 / uncensored ELSE 0.0 END AS w
    FROM {{cases}} AS cases JOIN {{curve}} AS curve ON cases.day = curve.day
"""  # noqa: S608  (as above)
Run = Callable[[str], Any]


def made(folder: str, rows: int) -> str:
    """Write cases to a Parquet file, unless they are there: calibrated forecasts, and vaguer ones."""
    import duckdb

    path = str(Path(folder) / f"censored_{rows}.parquet")
    if not Path(path).exists():
        drawn = f"0.001 + 0.6 * {UNIT.format(0)} AS p, {UNIT.format(1)} AS u, {UNIT.format(2)} AS v"
        days = f"""
            SELECT p, CAST(ceil({HORIZON} * ln(1.0 - u) / ln(1.0 - p)) AS BIGINT) AS of_event,
                   least(CAST(floor(-600.0 * ln(1.0 - v)) AS BIGINT), 730) AS of_censoring
            FROM (SELECT {drawn} FROM range({rows}) AS t(i))
        """  # noqa: S608  (as above)
        columns = "p AS a, 0.05 + 0.8 * p AS b, CAST(least(of_event, of_censoring) AS SMALLINT) AS day"
        event = "CAST(of_event <= of_censoring AS TINYINT) AS event"
        with duckdb.connect() as connection:
            connection.sql(f"SELECT {columns}, {event} FROM ({days})").write_parquet(path)  # noqa: S608  (as above)
    return path


def queries_by_hand(cells: int | None) -> list[str]:
    """Return the queries of the tables and of the moments."""
    sums = "sum(w * y) AS events, sum(w * (1 - y)) AS others, sum(w * w * y) AS e2, sum(w * w * (1 - y)) AS o2"
    queries = []
    for model in MODELS:
        cell = model if cells is None else f"floor({model} * {cells})"
        found = f"SELECT {cell} AS cell, count(*) AS n, {sums}, sum(w * {model}) AS forecasts"
        queries.append(f"{found} FROM ({WEIGHTED}) AS weighted GROUP BY 1")
    columns = [f"{loss.format(p=model)} AS {name}_{model}" for name, loss in LOSSES.items() for model in MODELS]
    differences = [f"{name}_a - {name}_b AS {name}_d" for name in LOSSES]
    terms = [f"sum(w * {x}) AS s_{x}, sum(w * w * {x}) AS t_{x}, sum(w * w * {x} * {x}) AS u_{x}" for x in SERIES]
    losses = f"SELECT step, y, w, {', '.join(columns)} FROM ({WEIGHTED}) AS weighted WHERE w > 0"  # noqa: S608
    series = f"SELECT *, {', '.join(differences)} FROM ({losses}) AS losses"  # noqa: S608  (as above)
    moments = f"SELECT step, y, count(*) AS n, sum(w) AS weight, {', '.join(terms)}"
    return [*queries, f"{moments} FROM ({series}) AS series GROUP BY 1, 2"]


@contextmanager
def on_duckdb(path: str, memory: str) -> Iterator[tuple[Callable[[], Any], Run, str, Run]]:
    """Yield what opens the cases, runs a query, names the cases, and keeps the result of a query as a table."""
    import duckdb

    with duckdb.connect() as connection:
        connection.execute(f"SET memory_limit = '{memory}'")

        def keep(query: str) -> Any:
            return connection.execute(f"CREATE OR REPLACE TEMP TABLE curve AS {query}")

        yield (
            lambda: connection.read_parquet(path),
            lambda query: connection.sql(query).to_arrow_table(),
            f"'{path}'",
            keep,
        )


@contextmanager
def on_spark(path: str, memory: str) -> Iterator[tuple[Callable[[], Any], Run, str, Run]]:
    """Do the same on a Spark cluster of two executors."""
    from pyspark.sql import SparkSession

    del memory
    options = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "2g",
        "spark.executor.memory": "2g",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.log.level": "ERROR",
        "spark.sql.shuffle.partitions": "8",
    }
    session = SparkSession.builder.master("local-cluster[2,1,2048]").config(map=options).getOrCreate()

    def keep(query: str) -> Any:
        session.createDataFrame(session.sql(query).toArrow()).createOrReplaceTempView("curve")

    yield (
        lambda: session.read.parquet(path),
        lambda query: session.sql(query).toArrow(),
        f"parquet.`{path}`",
        keep,
    )
    session.stop()


ENGINES = {"duckdb": on_duckdb, "spark": on_spark}


def condensed(frame: Any) -> pr.Ledger:
    """Fill the ledger in three queries."""
    return pr.condense(pr.censored_frame(frame, time="day", event="event", horizon=HORIZON), list(MODELS))


def means_by_hand(moments: Any) -> dict[str, float]:
    """Return the weighted means of the series from the sums of the hand-written SQL."""
    columns = {name: moments.column(name).to_numpy().astype(np.float64) for name in moments.column_names}
    return {name: float(columns[f"s_{name}"].sum() / columns["weight"].sum()) for name in SERIES}


def largest_difference(ledger: pr.Ledger, by_hand: dict[str, float]) -> float:
    """Return the largest relative difference of the means of all rows from those of the hand-written SQL."""
    found = []
    for name, rule in (("brier", pr.Brier()), ("log", pr.Log())):
        means = ledger.moments(rule).means
        found += [abs(own / by_hand[f"{name}_{of}"] - 1.0) for own, of in zip(means, (*MODELS, "d"), strict=True)]
    return float(max(found))


def on_a_sample(path: str, open_sample: Callable[[str], Any]) -> list[dict[str, Any]]:
    """Compare the estimates of an engine with those of arrays."""
    import pyarrow.parquet

    rows = next(pyarrow.parquet.ParquetFile(path).iter_batches(SAMPLE))
    with tempfile.TemporaryDirectory() as folder:
        small = str(Path(folder) / "sample.parquet")
        pyarrow.parquet.write_table(pyarrow.Table.from_batches([rows]), small)
        ledger = condensed(open_sample(small))
        columns = {name: rows.column(name).to_numpy() for name in rows.schema.names}
        outcome = pr.censored(columns["day"], columns["event"], horizons=HORIZON)
        forecasts = {model: columns[model] for model in MODELS}
        found = []
        for name, measure in MEASURES.items():
            one, other = pr.estimate(ledger, "a", measure), pr.estimate(outcome, forecasts["a"], measure)
            found.append(_compared(name, (one.value, one.standard_error), (other.value, other.standard_error)))
        for name, rule in (("Brier score", pr.Brier()), ("log score", pr.Log())):
            one, other = pr.compare(ledger, measure=rule), pr.compare(outcome, forecasts, rule)
            ours, theirs = ((each.difference[0], each.standard_error[0]) for each in (one, other))
            found.append(_compared(f"difference in {name}", ours, theirs))
    return found


def _compared(name: str, ours: tuple[float, float], arrays: tuple[float, float]) -> dict[str, Any]:
    value, error = (abs(one / other - 1.0) for one, other in zip(ours, arrays, strict=True))
    numbers = {"value": f"{arrays[0]:.6g}", "standard error": f"{arrays[1]:.3g}"}
    off = {"value off by": f"{value:.1e}", "standard error off by": f"{error:.1e}"}
    return {"measure": name, **numbers, **off}


def measured(engine: str, rows: int, options: argparse.Namespace, folder: str) -> tuple[dict[str, Any], list[Any]]:
    """Time both ways on an engine, and compare their results."""
    path, kept = made(folder, rows), {}
    with ENGINES[engine](path, options.memory) as (open_cases, run, cases, keep):

        def ours() -> None:
            kept["ledger"] = condensed(open_cases())

        def by_hand() -> None:
            keep(CURVE.format(cases=cases))
            for query in queries_by_hand(kept["ledger"].table("a").cells):
                kept["last"] = run(query.format(cases=cases, curve="curve"))

        times = by_turns({"ours": ours, "by hand": by_hand}, options.rounds, cold=options.cold)
        off = largest_difference(kept["ledger"], means_by_hand(kept["last"]))
        reader = open_cases().sparkSession.read.parquet if engine == "spark" else None
        sample = on_a_sample(path, reader or (lambda small: _of_duckdb(open_cases(), small)))
    one, other = times["ours"], times["by hand"]
    row = {"engine": engine, "rows": f"{rows:,}", "by hand, s": round(other.clock, 1)}
    row |= {"through propriety, s": round(one.clock, 1), "ratio": round(one.clock / other.clock, 2)}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    row |= {"means off by": f"{off:.1e}", "peak memory": f"{peak:.1f} GB" if engine == "duckdb" else ""}
    return row, sample


def _of_duckdb(relation: Any, path: str) -> Any:
    import duckdb

    del relation
    return duckdb.connect().read_parquet(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000_000)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--cold", action="store_true", help="without a round that warms up")
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=list(ENGINES))
    parser.add_argument("--memory", default="4GB", help="memory limit of DuckDB")
    parser.add_argument("--folder", help="where the Parquet file is kept for another run")
    options = parser.parse_args()
    with ExitStack() as stack:
        folder = options.folder or stack.enter_context(tempfile.TemporaryDirectory())
        for engine in options.engines:
            row, sample = measured(engine, options.rows, options, folder)
            print(row, *sample, sep="\n", flush=True)
            others = (one for one in earlier(NAME) if one["engine"] != engine)
            rows = sorted([row, *others], key=lambda one: list(ENGINES).index(one["engine"]))
            record(rows, sample, options)


def record(rows: list[dict[str, Any]], sample: list[dict[str, Any]], options: argparse.Namespace) -> None:
    """Write the record of all engines."""
    said = "; ".join(f"{row['engine']} on {row['rows']} rows: {row['ratio']}" for row in rows)
    worst = max(float(row[name]) for row in sample for name in ("value off by", "standard error off by"))
    write(
        NAME,
        title="Censored outcomes on engines",
        summary="Outcomes by a horizon in three queries: the censoring curve with all checks, the tables, and the "
        f"moments of two models. Ratio of their time to that of hand-written SQL that checks nothing: {said}. On a "
        f"sample of {SAMPLE:,} rows, values and standard errors differ from those of arrays by at most {worst:.0e}.",
        command=f"python benchmarks/censored.py --rows {options.rows} --rounds {options.rounds} "
        f"{'--cold ' * options.cold}"
        f"--engines {' '.join(options.engines)} --memory {options.memory}",
        tables=[
            table("Median seconds of runs that take turns, and relative difference of means", rows),
            table(f"A sample of {SAMPLE:,} rows, compared with arrays: relative differences", sample),
        ],
        libraries=["propriety", "numpy", "narwhals", "duckdb", "pyspark", "pyarrow"],
        keeps_rows=True,
        notes=[f"DuckDB has a memory limit of {options.memory}; Spark has two executors with one core and 2 GB each."],
    )


if __name__ == "__main__":
    main()
