"""Error rates and power of the search for segments.

Cases have 12 columns of 2 to 15 labels, some of them unevenly distributed, one of them depending on another. Forecasts
have a Beta(1, 9) or Beta(0.3, 10) distribution, which may depend on a column.

- `null`: outcomes are drawn from the forecasts. In each of some designs of 20,000 cases, 50 sets of outcomes are
  searched at the level 95%. Reported is the share of sets in which any segment is reported, with control of the family
  and of false discoveries.
- `planted`: 1,000,000 cases. Three segments of 0.5 to 1% of the cases, one of them an interaction of two columns, have
  1.3 times the expected events. Reported is the share of samples in which exactly these are named, and that in which
  each is.

Writes `results/segments.csv`. Run: python studies/segments.py [--share 1.0]
"""

from __future__ import annotations

import argparse
import csv
import sys
from pathlib import Path

import numpy as np

import propriety as pr
from propriety.inference.segment_law import deviations, largest_deviations
from propriety.inference.segment_search import critical_deviation
from propriety.inference.segment_sums import Lattice, SegmentCases

RESULTS = Path(__file__).parent / "results"
SIZES = (2, 3, 3, 4, 5, 5, 6, 8, 8, 10, 12, 15)
FIELDS = ("question", "design", "n", "segments", "samples", "family", "discovery", "all named exactly", "each named")
DESIGNS, OUTCOMES, SAMPLES = 20, 50, 100
PLANTED = ("c0 = 1", "c8 = 7", "c6 = 3 and c7 = 5")
SMALL, LARGE = 20_000, 1_000_000


def draw_columns(n: int, generator: np.random.Generator) -> list[np.ndarray]:
    """Return the codes of the columns; the last but one follows the one before it in half of the cases."""
    columns = []
    for place, size in enumerate(SIZES):
        share = np.ones(size) if place % 2 else 1.0 / np.arange(1, size + 1) ** 2
        share = np.array([0.993, 0.007]) if place == 0 else share / share.sum()
        columns.append(generator.choice(size, n, p=share))
    copied = generator.random(n) < 0.5
    columns[10] = np.where(copied, columns[9] % SIZES[10], columns[10])
    return columns


def draw_forecasts(design: str, columns: list[np.ndarray], generator: np.random.Generator) -> np.ndarray:
    """Return the forecasts."""
    n = len(columns[0])
    p = generator.beta(0.3, 10.0, n) if "rare" in design else generator.beta(1.0, 9.0, n)
    return p ** (1.0 + 0.1 * columns[4]) if "uneven" in design else p


def null(design: str, designs: int, outcomes: int) -> dict[str, object]:
    """Return the error rates if all forecasts are calibrated."""
    errors, tested, lattice = [], [], Lattice(SIZES, 2)
    for number in range(designs):
        generator = np.random.default_rng([1, number, len(design)])
        columns = draw_columns(SMALL, generator)
        p = draw_forecasts(design, columns, generator)
        cases = SegmentCases(p, np.zeros(SMALL, dtype=bool), columns, lattice)
        sums = cases.sums()
        tested.append(np.count_nonzero(sums.variance >= 5.0))
        law = largest_deviations(cases, sums, 1000, number)
        for _ in range(outcomes):
            cases.happened = generator.random(SMALL) < p
            own = cases.sums()
            largest = np.abs(deviations(own)).max()
            errors.append(
                [largest >= critical_deviation(own, law, control, 0.95) for control in ("family", "discovery")]
            )
    family, discovery = np.mean(errors, axis=0)
    return {
        "question": "null",
        "design": design,
        "n": SMALL,
        "segments": round(np.mean(tested)),
        "samples": len(errors),
        "family": f"{family:.3f}",
        "discovery": f"{discovery:.3f}",
    }


def planted(samples: int) -> dict[str, object]:
    """Return how often planted segments are named."""
    exact, each, tested = 0, np.zeros(3), []
    for number in range(samples):
        generator = np.random.default_rng([2, number])
        columns = draw_columns(LARGE, generator)
        p = draw_forecasts("uneven", columns, generator)
        first, second = columns[0] == 1, columns[8] == 7
        inside = first | second | ((columns[6] == 3) & (columns[7] == 5))
        y = generator.random(LARGE) < np.where(inside, np.minimum(1.3 * p, 1.0), p)
        by = {f"c{place}": codes for place, codes in enumerate(columns)}
        found = pr.find_segments(y, p, by=by, seed=number, n_resamples=200)
        tested.append(found.tested)
        exact += set(found.segment) == set(PLANTED)
        each += [name in found.segment.tolist() for name in PLANTED]
    return {
        "question": "planted",
        "design": "1.3 times the expected events",
        "n": LARGE,
        "segments": round(np.mean(tested)),
        "samples": samples,
        "all named exactly": f"{exact / samples:.3f}",
        "each named": " ".join(f"{share:.2f}" for share in each / samples),
    }


def main() -> None:
    """Run the study and write its table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--share", type=float, default=1.0, help="share of the samples")
    share = parser.parse_args().share
    designs, samples = max(2, round(DESIGNS * share)), max(2, round(SAMPLES * share))
    rows = [null(design, designs, OUTCOMES) for design in ("even", "uneven", "rare, uneven")]
    rows.append(planted(samples))
    with (RESULTS / "segments.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS, restval="")
        writer.writeheader()
        writer.writerows(rows)
    for row in rows:
        print(row, file=sys.stderr)


if __name__ == "__main__":
    main()
