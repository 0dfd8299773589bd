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

    After a restart, Spark repeats a batch that it had not committed, with the same number and the same rows. If the
    ledger of the batch is there, writing it again does nothing; if its writing was interrupted, it is completed.
    """
    if batch.isEmpty():
        return
    batch.persist()
    batch_ledger = pr.condense(batch, {"live": "p"}, outcome="y", by=["day", "country", "device"], cells=256)
    batch_ledger.to_parquet(ledger / f"batch-{batch_id:09d}")
    batch.unpersist()


def read_ledger(ledger: Path) -> pr.Ledger:
    """Return the sum of the ledgers of all batches that are complete."""
    return pr.Ledger.merge(pr.Ledger.from_parquet(path.parent) for path in sorted(ledger.glob("*/ledger.json")))


def main(cases: str, ledger: str, checkpoint: str, add=add_batch) -> None:
    """Read the files that are there, one per batch, and stop."""
    spark = SparkSession.builder.getOrCreate()
    stream = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(cases)
    query = stream.writeStream.foreachBatch(lambda batch, number: add(batch, number, Path(ledger)))
    query.option("checkpointLocation", checkpoint).trigger(availableNow=True).start().awaitTermination()


if __name__ == "__main__":
    main(*sys.argv[1:])
