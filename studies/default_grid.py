"""Bounds that a grid gives for MCB, DSC and AUC, beside the standard errors of 100 million cases.

A grid does not know the order of the cases within a cell. `calibration_bracket` bounds the parts of the Brier score.
The area under the ROC curve is largest if the events of a cell have higher forecasts than its non-events, and smallest
if they have lower ones. Refined tables (`exact_corp.py`) are worth their second query unless the bounds of the default
grid, 2**20 cells, are closer than a hundredth of the standard error.

Samples are drawn as counts: of cases by cell of a grid of 2**22 cells from the Poisson distribution, and of events from
the binomial distribution with the event rate in the middle of the cell. Coarser grids are sums of its cells. Forecasts
are uniform (smooth), from the beta distribution with both parameters 0.3 (U-shaped), or from that with parameters 1 and
99 (rare events, 1%). They are calibrated, or the event rate has slope 0.95 in their logits. They are continuous, or
have 8 decimals, so that a cell holds the cases of a few distinct values. The standard error is the standard deviation
of the samples' values on 2**22 cells.

Writes `results/default_grid.csv`: for each design, grid and statistic the mean, the mean width between the bounds, the
standard error and their ratio.

Run: python studies/default_grid.py [--samples 12]
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, expit, logit
from study_tables import write_rows

import propriety as pr
from propriety.tables.forecast_table import ForecastTable

Floats = NDArray[np.float64]

ROWS = 10**8
FINEST = 22
LEVELS = (18, 20, 22)
DESIGNS = {"smooth": (1.0, 1.0), "U-shaped": (0.3, 0.3), "rare events": (1.0, 99.0)}
SLOPES = {"calibrated": 1.0, "slope 0.95": 0.95}
DECIMALS = 8
STATISTICS = ("MCB", "DSC", "AUC")


def expected_counts(shape: tuple[float, float], *, decimals: int | None) -> Floats:
    """Return the expected number of cases in each cell of the finest grid."""
    ends = np.arange(2**FINEST + 1) / 2**FINEST
    if decimals is not None:
        # A cell holds the cases whose rounded forecasts lie in it, that is those between two rounding limits.
        ends = np.clip((np.ceil(ends * 10**decimals) - 0.5) / 10**decimals, 0.0, 1.0)
        ends[-1] = 1.0  # Forecasts that round to 1 are counted with the last cell.
    return ROWS * np.diff(betainc(*shape, ends))


def samples(design: str, slope: float, decimals: int | None, number: int) -> Iterator[tuple[Floats, Floats]]:
    """Draw numbers of non-events and of events by cell."""
    expected = expected_counts(DESIGNS[design], decimals=decimals)
    middle = (np.arange(2**FINEST) + 0.5) / 2**FINEST
    rate = expit(slope * logit(middle))
    for sample in range(number):
        generator = np.random.default_rng([sample, *design.encode(), round(100 * slope), decimals or 0])
        cases = generator.poisson(expected)
        events = generator.binomial(cases, rate)
        yield (cases - events).astype(np.float64), events.astype(np.float64)


def bounds(non_events: Floats, events: Floats) -> Floats:
    """Return the lower and the upper bound of the three statistics, in two columns."""
    cells = len(events)
    filled = np.flatnonzero(events + non_events)
    events, non_events = events[filled], non_events[filled]
    table = ForecastTable(
        forecast=(filled + 0.5) / cells,
        events=events,
        non_events=non_events,
        n=round(events.sum() + non_events.sum()),
        n_events=round(events.sum()),
        cells=cells,
    )
    bracket = pr.calibration_bracket(table)
    # Pairs of an event and a non-event: those of different cells are ordered, and those of one cell are not known.
    lower = np.cumsum(non_events) - non_events
    pairs = events.sum() * non_events.sum()
    sure, unknown = events @ lower / pairs, events @ non_events / pairs
    return np.array(
        [
            [bracket.miscalibration_low, bracket.miscalibration_high],
            [bracket.discrimination_low, bracket.discrimination_high],
            [sure, sure + unknown],
        ]
    )


def measured(design: str, slope: str, decimals: int | None, number: int) -> list[dict[str, Any]]:
    """Return the rows of one design: a row for each grid and statistic."""
    found = np.array(
        [
            [bounds(*(counts.reshape(2**level, -1).sum(axis=1) for counts in sample)) for level in LEVELS]
            for sample in samples(design, SLOPES[slope], decimals, number)
        ]
    )  # Samples, grids, statistics and the two bounds.
    error = found[:, -1].mean(axis=2).std(axis=0, ddof=1)
    return [
        {
            "design": design,
            "forecasts": slope,
            "decimals": "all" if decimals is None else decimals,
            "cells": 2**level,
            "statistic": statistic,
            "mean": f"{found[:, grid, row].mean():.4g}",
            "width": f"{(found[:, grid, row, 1] - found[:, grid, row, 0]).mean():.3g}",
            "standard_error": f"{error[row]:.3g}",
            "width_in_errors": f"{(found[:, grid, row, 1] - found[:, grid, row, 0]).mean() / error[row]:.3g}",
        }
        for grid, level in enumerate(LEVELS)
        for row, statistic in enumerate(STATISTICS)
    ]


def main() -> None:
    """Measure every design and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=12)
    options = parser.parse_args()
    rows = []
    for design in DESIGNS:
        for slope in SLOPES:
            for decimals in (None, DECIMALS):
                rows += measured(design, slope, decimals, options.samples)
                print(rows[-6:-3], flush=True)
    write_rows("default_grid", rows)


if __name__ == "__main__":
    main()
