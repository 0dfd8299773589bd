"""Error rates and power of the search for segments.

Cases have 12 columns of 2 to 15 labels, some of them unevenly distributed, one of them depending on another. Forecasts
have a Beta(1, 9) or Beta(0.3, 10) distribution, which may depend on a column.

- `null`: outcomes are drawn from the forecasts. In each of some designs of 20,000 cases, 50 sets of outcomes are
  searched at the level 95%. Reported is the share of sets in which any segment is reported, with control of the family
  and of false discoveries.
- `discoveries`: 100,000 cases. Three labels have 1.2 or 1.3 times the expected events, and three others
  0.7 times. Reported are the mean number of segments
  found with control of false discoveries, and the mean share of false ones: those whose cases, without the cases of the
  segments reported before, deviate by less than half a standard error in truth.
- `planted`: 1,000,000 cases. Three segments of 0.5 to 1% of the cases, one of them an interaction of two columns, have
  1.3 times the expected events. Reported is the share of samples in which exactly these are named, and that in which
  each is. At the level 95%, a search may report a further segment in 5% of the samples.

Writes `results/segments.csv`. Run: python studies/segments.py [--share 1.0]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import partial

import numpy as np
from study_tables import write_rows

from propriety.products.segments.find import ROWS_OF_LAW
from propriety.products.segments.lattice import Lattice
from propriety.products.segments.null_distribution import SMALLEST, evidence, largest_deviations
from propriety.products.segments.search import Control, Critical, critical_deviation, search
from propriety.products.segments.sums import SegmentCases, SegmentSums

SIZES = (2, 3, 3, 4, 5, 5, 6, 8, 8, 10, 12, 15)
FIELDS = (
    *("question", "design", "level", "n", "segments", "samples", "family", "discovery"),
    *("found", "share false", "all named exactly", "each named"),
)
DESIGNS, OUTCOMES, SAMPLES = 20, 50, 100
LABELS = ((5, 3, 1.2), (7, 2, 0.7), (9, 3, 1.3), (9, 7, 0.7), (11, 4, 1.3), (11, 9, 0.7))
PLANTED = ("c0 = 1", "c8 = 7", "c6 = 3 and c7 = 5")
SMALL, MEDIUM, LARGE = 20_000, 100_000, 1_000_000


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


def critical_values(sums: SegmentSums, law: np.ndarray, control: Control, level: float) -> Callable[..., Critical]:
    """Return the function of critical deviations that `propriety.find_segments` uses."""
    number = int(np.count_nonzero(sums.n > 0.5))
    return partial(critical_deviation, law=law, control=control, level=level, number=number)


def reports(sums: SegmentSums, law: np.ndarray, control: Control, level: float) -> bool:
    """Return whether any segment stands out."""
    own = evidence(sums)
    critical = critical_values(sums, law, control, level)(sums, own)
    return bool((np.abs(own) >= np.where(sums.variance >= SMALLEST, *critical)).any())


def null(design: str, designs: int, outcomes: int) -> dict[str, object]:
    """Return the error rates if all forecasts are calibrated."""
    errors, tested, lattice = [], [], Lattice(SIZES, 2)
    for number in range(designs):
        generator = np.random.default_rng([1, number, len(design)])
        columns = draw_columns(SMALL, generator)
        p = draw_forecasts(design, columns, generator)
        cases = SegmentCases(p, np.zeros(SMALL, dtype=bool), columns, lattice)
        sums = cases.sums()
        tested.append(np.count_nonzero(sums.variance >= SMALLEST))
        law = largest_deviations(cases, sums, 1000, number)
        for _ in range(outcomes):
            cases.happened = generator.random(SMALL) < p
            own = cases.sums()
            errors.append([reports(own, law, control, 0.95) for control in ("family", "discovery")])
    family, discovery = np.mean(errors, axis=0)
    return {
        "question": "null",
        "design": design,
        "level": 0.95,
        "n": SMALL,
        "segments": round(np.mean(tested)),
        "samples": len(errors),
        "family": f"{family:.3f}",
        "discovery": f"{discovery:.3f}",
    }


def discoveries(level: float, samples: int) -> dict[str, object]:
    """Return the share of false reports if false discoveries are controlled."""
    counts, shares, tested, lattice = [], [], [], Lattice(SIZES, 2)
    for number in range(samples):
        generator = np.random.default_rng([3, number])
        columns = draw_columns(MEDIUM, generator)
        p = draw_forecasts("uneven", columns, generator)
        factors = [np.where(columns[column] == code, factor, 1.0) for column, code, factor in LABELS]
        truth = np.minimum(np.prod(factors, axis=0) * p, 1.0)
        cases = SegmentCases(p, generator.random(MEDIUM) < truth, columns, lattice)
        sums = cases.sums()
        found = search(cases, sums, critical_values(sums, np.array([]), "discovery", level), len(lattice))
        rest, false = np.ones(MEDIUM, dtype=bool), 0
        for segment in (lattice.segment(one.place) for one in found):
            inside = rest & np.logical_and.reduce([columns[column] == code for column, code in segment])
            false += abs((truth - p)[inside].sum()) < 0.5 * np.sqrt((p * (1.0 - p))[inside].sum())
            rest &= ~inside
        counts.append(len(found))
        shares.append(false / max(len(found), 1))
        tested.append(np.count_nonzero(sums.variance >= SMALLEST))
    return {
        "question": "discoveries",
        "design": "six labels with 0.7 to 1.3 times the expected events",
        "level": level,
        "n": MEDIUM,
        "segments": round(np.mean(tested)),
        "samples": samples,
        "found": f"{np.mean(counts):.1f}",
        "share false": f"{np.mean(shares):.3f}",
    }


def planted(samples: int) -> list[dict[str, object]]:
    """Return how often planted segments are named, for two levels."""
    levels, lattice, tested = (0.95, 0.99), Lattice(SIZES, 2), []
    exact, each = np.zeros(2), np.zeros((2, 3))
    for number in range(samples):
        generator = np.random.default_rng([2, number])
        columns = draw_columns(LARGE, generator)
        p = draw_forecasts("uneven", columns, generator)
        first, second = columns[0] == 1, columns[8] == 7
        inside = first | second | ((columns[6] == 3) & (columns[7] == 5))
        y = generator.random(LARGE) < np.where(inside, np.minimum(1.3 * p, 1.0), p)
        cases = SegmentCases(p, y, columns, lattice)
        sums = cases.sums()
        tested.append(np.count_nonzero(sums.variance >= SMALLEST))
        law = largest_deviations(cases.sampled(ROWS_OF_LAW, number), sums, 500, number)
        for place, level in enumerate(levels):
            found = search(cases, sums, critical_values(sums, law, "family", level), 10)
            segments = [lattice.segment(one.place) for one in found]
            names = [" and ".join(f"c{column} = {code}" for column, code in one) for one in segments]
            exact[place] += set(names) == set(PLANTED)
            each[place] += [name in names for name in PLANTED]
        print(number, exact, each.tolist(), file=sys.stderr, flush=True)
    return [
        {
            "question": "planted",
            "design": "1.3 times the expected events",
            "level": level,
            "n": LARGE,
            "segments": round(np.mean(tested)),
            "samples": samples,
            "all named exactly": f"{exact[place] / samples:.3f}",
            "each named": " ".join(f"{share:.2f}" for share in each[place] / samples),
        }
        for place, level in enumerate(levels)
    ]


def main() -> None:
    """Run the study and write its table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--share", type=float, default=1.0, help="share of the samples")
    share = parser.parse_args().share
    designs, samples = max(2, round(DESIGNS * share)), max(2, round(SAMPLES * share))
    rows = []
    for made in (
        *(partial(null, design, designs, OUTCOMES) for design in ("even", "uneven", "rare, uneven")),
        *(partial(discoveries, level, 2 * samples) for level in (0.9, 0.95)),
        partial(planted, samples),
    ):
        found = made()
        rows += found if isinstance(found, list) else [found]
        print(rows[-1], file=sys.stderr, flush=True)
    write_rows("segments", rows, columns=FIELDS)


if __name__ == "__main__":
    main()
