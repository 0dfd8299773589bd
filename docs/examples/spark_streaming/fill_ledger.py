"""A Spark stream that fills a ledger: every case is counted exactly once, also if the job is killed and restarted.

Run as `spark-submit fill_ledger.py CASES LEDGER CHECKPOINT`.
"""

import sys
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

import propriety as pr

SCHEMA = "day DATE, country STRING, device STRING, p DOUBLE, y INT"


def add_batch(batch: DataFrame, batch_id: int, ledger: Path) -> None:
    """Write the ledger of a batch under its number, unless it is there.

    After a restart, Spark repeats a batch that it had not committed, with the same number and the same rows. The folder
    appears when it is complete, so it is either there and correct, or not there.
    """
    part = ledger / f"batch-{batch_id:09d}"
    if part.exists() or batch.isEmpty():
        return
    batch.persist()
    pr.condense(batch, {"live": "p"}, outcome="y", by=["day", "country", "device"], cells=256).to_parquet(part)
    batch.unpersist()


def read_ledger(ledger: Path) -> pr.Ledger:
    """Return the sum of all folders; hidden ones are not complete."""
    return pr.Ledger.merge(map(pr.Ledger.from_parquet, sorted(ledger.glob("[!.]*"))))


def main(cases: str, ledger: str, checkpoint: str, add=add_batch) -> None:
    """Read the files that are there, one per batch, and stop."""
    spark = SparkSession.builder.getOrCreate()
    stream = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(cases)
    query = stream.writeStream.foreachBatch(lambda batch, number: add(batch, number, Path(ledger)))
    query.option("checkpointLocation", checkpoint).trigger(availableNow=True).start().awaitTermination()


if __name__ == "__main__":
    main(*sys.argv[1:])
