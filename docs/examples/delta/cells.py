"""A Delta table of cells as the store of a ledger: replace a day, read the ledger of some days or of a version."""

import duckdb
from deltalake import DeltaTable, write_deltalake

import propriety as pr


def replace_day(table: str, cases: str, day: str) -> None:
    """Count the cases of a day in Parquet files, and write the cells in one transaction."""
    cells = duckdb.sql(f"""
        SELECT CAST(day AS VARCHAR) AS day, country, device, round(p, 4) AS p, y, count(*) AS cases
        FROM read_parquet('{cases}') WHERE day = DATE '{day}' GROUP BY ALL
    """).to_arrow_table()
    # Writing the day again replaces it, so a job that failed or ran twice can be repeated.
    if DeltaTable.is_deltatable(table):
        write_deltalake(table, cells, mode="overwrite", predicate=f"day = '{day}'")
    else:
        write_deltalake(table, cells, partition_by=["day"])


def read_ledger(table: str, *, days: list[str] | None = None, version: int | None = None) -> pr.Ledger:
    """Return the ledger of the table, of some days or as it was in an earlier version."""
    chosen = None if days is None else [("day", "in", days)]
    cells = DeltaTable(table, version=version).to_pyarrow_table(filters=chosen)
    return pr.condense(cells, {"live": "p"}, outcome="y", by=["day", "country", "device"], counts="cases")
