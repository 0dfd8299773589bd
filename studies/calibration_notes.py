"""Notes on the calibration verdict: whether there is one if the level of an interval or of the test is off.

Two questions, each with its rows in `results/calibration_notes.csv`:

- jumps: the coverage of 95% intervals of miscalibration and discrimination with and without jumps of the event rate,
  with and without clusters; how often a note reports jumps; and the coverage of the intervals of miscalibration
  without this note;
- times: how often calibrated forecasts are called miscalibrated at 5% if neighbouring times are correlated, and how
  often a note says that the test may reject too often.

Run: python studies/calibration_notes.py [--samples 400] [--only jumps times]
"""

from __future__ import annotations

import argparse
import csv
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from calibration_verdict import LEVEL, Draw, Sample, Truth, independent, steps, wave
from scipy.special import expit, logit, ndtr
from study_tables import RESULTS, write_rows

import propriety as pr

COLUMNS = (
    *("question", "design", "samples", "miscalibration", "discrimination", "value inside", "called miscalibrated"),
    *("noted", "miscalibration without note"),
)


def equal_clusters(number: int, n: int, truth: Truth) -> Draw:
    """Draw clusters of equal size whose outcomes depend on each other; `truth` is as in `independent`."""

    def draw(generator: np.random.Generator) -> Sample:
        p, cluster = generator.beta(1, 3, n), np.arange(n) % number
        shared = generator.standard_normal(number)[cluster]
        normal = math.sqrt(0.1) * shared + math.sqrt(0.9) * generator.standard_normal(n)
        return Sample(ndtr(normal) < expit(truth(logit(p))), p, cluster=cluster)

    return draw


def times(number: int, correlation: float, each: int = 20) -> Callable[[np.random.Generator], tuple[np.ndarray, ...]]:
    """Draw calibrated forecasts whose outcomes depend on each other within times and between neighbouring ones."""

    def draw(generator: np.random.Generator) -> tuple[np.ndarray, ...]:
        level = generator.standard_normal(number)
        for at in range(1, number):
            level[at] = correlation * level[at - 1] + math.sqrt(1 - correlation**2) * level[at]
        time = np.repeat(np.arange(number), each)
        p = generator.beta(1, 3, len(time))
        normal = math.sqrt(0.3) * level[time] + math.sqrt(0.7) * generator.standard_normal(len(time))
        return ndtr(normal) < p, p, time

    return draw


def tenths(x: np.ndarray) -> np.ndarray:
    """Round the forecast to tenths."""
    return logit(np.clip(np.round(10 * expit(x)) / 10, 0.02, 0.98))


JUMPS: tuple[tuple[str, Truth, tuple[int, ...]], ...] = (
    ("steps", steps, (1000, 2000, 5000)),
    ("tenths", tenths, (5000,)),
    ("wave", wave, (2000, 5000)),
    ("slope 1 / 1.5", lambda x: x / 1.5, (2000, 5000)),
)
JUMPS_IN_CLUSTERS: tuple[tuple[str, Truth, int, int], ...] = (
    ("steps", steps, 1000, 50),
    ("steps", steps, 2000, 50),
    ("steps", steps, 5000, 100),
    ("slope 1 / 1.5", lambda x: x / 1.5, 5000, 50),
)
TIMES = ((40, 0.0), (40, 0.5), (60, 0.0), (60, 0.5), (100, 0.5))


def rows_of_jumps(samples: int) -> Iterator[dict[str, Any]]:
    """Yield how often the intervals of both parts hold the truth, with their notes on jumps."""
    designs = [(f"{name}, n = {n:,}", truth, independent(1, 3, n, truth)) for name, truth, many in JUMPS for n in many]
    designs += [
        (f"{name}, {number} clusters, n = {n:,}", truth, equal_clusters(number, n, truth))
        for name, truth, n, number in JUMPS_IN_CLUSTERS
    ]
    p = np.random.default_rng(0).beta(1, 3, 3_000_000)
    for name, truth, draw in designs:
        rate = expit(truth(logit(p)))
        true = {pr.measures.Miscalibration(): np.mean((p - rate) ** 2), pr.measures.Discrimination(): np.var(rate)}
        generator, rows = np.random.default_rng(20_005), []
        for _ in range(samples):
            sample = draw(generator)
            found = [pr.estimate(sample.y, sample.p, part, cluster=sample.cluster) for part in true]
            rows.append([found[0].note("jumps") is not None, all(one.low <= one.value <= one.high for one in found)])
            rows[-1] += [one.low <= value <= one.high for one, value in zip(found, true.values(), strict=True)]
        noted, inside, lost, told = np.array(rows).T
        yield {
            "question": "jumps",
            "design": name,
            "samples": samples,
            "miscalibration": round(float(lost.mean()), 4),
            "discrimination": round(float(told.mean()), 4),
            "value inside": round(float(inside.mean()), 4),
            "noted": round(float(noted.mean()), 4),
            "miscalibration without note": "" if noted.all() else round(float(lost[~noted].mean()), 4),
        }


def rows_of_times(samples: int) -> Iterator[dict[str, Any]]:
    """Yield the share of calibrated samples that are called miscalibrated, and of those with a note on the test."""
    for number, correlation in TIMES:
        name = f"{number} times, correlation {correlation:g}, n = {20 * number:,}"
        generator, draw = np.random.default_rng(20_006), times(number, correlation)
        shares = []
        for seed in range(samples):
            y, p, time = draw(generator)
            found = pr.check_calibration(y, p, period=time, n_resamples=500, seed=seed)[0]
            shares.append([found.p <= LEVEL, any(note.severity == "caution" for note in found.notes)])
        size, noted = np.mean(shares, axis=0).round(4).tolist()
        yield {"question": "times", "design": name, "samples": samples, "called miscalibrated": size, "noted": noted}


QUESTIONS = {"jumps": rows_of_jumps, "times": rows_of_times}


def main() -> None:
    """Answer the questions and write the table; rows of questions that are not asked stay as they are."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=400)
    parser.add_argument("--only", nargs="*", choices=list(QUESTIONS), default=list(QUESTIONS))
    options = parser.parse_args()
    path = RESULTS / "calibration_notes.csv"
    rows: list[dict[str, Any]] = []
    if path.exists():
        with path.open(newline="") as file:
            rows = [row for row in csv.DictReader(file) if row["question"] not in options.only]
    for question in options.only:
        for row in QUESTIONS[question](options.samples):
            print(row, flush=True)
            rows.append(row)
    order = list(QUESTIONS)
    is_kept = set(options.only) < set(QUESTIONS)
    write_rows(
        "calibration_notes",
        sorted(rows, key=lambda row: order.index(row["question"])),
        columns=COLUMNS,
        keeps_rows=is_kept,
    )


if __name__ == "__main__":
    main()
