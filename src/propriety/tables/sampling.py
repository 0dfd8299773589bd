"""Random samples of the rows of a lazy frame, drawn by its engine."""

from __future__ import annotations

from typing import Any

import narwhals as nw

from propriety.tables.queries import Lazy


def sampled_rows(frame: Lazy, share: float, seed: int) -> Lazy:
    """Return a frame of about a share of the rows, each kept independently; all of them if the share is 1 or more.

    Engines draw with their own generators. Those that read in parallel, and databases behind Ibis, may draw other rows
    from the same seed.
    """
    if share >= 1.0:
        return frame
    native: Any = frame.to_native()
    kind = frame.implementation
    if kind.is_duckdb():
        percent = f"{100.0 * share:.10f}"
        drawn = native.query("cases", f"SELECT * FROM cases USING SAMPLE {percent} PERCENT (bernoulli, {seed % 2**31})")  # noqa: S608  # nosec B608  (numbers)
    elif kind.is_polars():
        import polars as pl

        drawn = native.filter(pl.int_range(pl.len()).hash(seed) < round(share * 2**64))
    elif kind.is_dask():
        drawn = native.sample(frac=share, random_state=seed % 2**32)
    elif kind.is_ibis():
        drawn = native.sample(share)
    else:
        drawn = native.sample(share, seed=seed)
    rows: Lazy = nw.from_native(drawn)
    return rows
