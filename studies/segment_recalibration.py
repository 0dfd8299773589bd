"""Recalibration by segment compared with one map for all cases and with MCGrad, on held-out cases.

Cases have the 12 columns of `segments.py`. 50,000 cases are used to recalibrate, and 200,000 others to evaluate.

- `planted`: three segments of 0.5 to 1% of the cases, one of them an interaction of two columns, have 2 times the
  expected events, and an eighth of the cases, a label of another column, have 0.8 times as many.
- `many small effects`: the log-odds of every label are shifted by a normal variable with standard deviation 0.1, and
  those of every pair of labels of the first eight columns by one with standard deviation 0.03.
- `calibrated`: there is nothing to correct.

Reported, as means over the samples with standard errors: the gain in log score over the original forecasts on the
held-out cases, in units of 1e-4; the largest deviation of O/E from 1, as a factor, over all labels and pairs of labels
with 200 or more expected events, with the true probabilities as O; and the seconds. For recalibration by segment, also
the gain estimated by cross-fitting and the share of samples in which its 95% interval contains the held-out gain.

MCGrad (the package `mcgrad`) is compared with its default settings if it is installed; the record is of
version 0.1.5.

Writes `results/segment_recalibration.csv`. Run: python studies/segment_recalibration.py [--samples 3]
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.special import expit, logit

import propriety as pr
from propriety.products.segments.lattice import Lattice
from propriety.products.segments.sums import SegmentCases

sys.path.insert(0, str(Path(__file__).parent))
from segments import SIZES, draw_columns, draw_forecasts
from study_tables import write_rows

FIELDS = ("design", "method", "samples", "gain", "worst O/E", "cross-fitted gain", "interval contains it", "seconds")
TRAIN, TEST = 50_000, 200_000
FEWEST_EXPECTED = 200.0
DESIGNS = ("planted", "many small effects", "calibrated")


def truth_of(design: str, columns: list[np.ndarray], p: np.ndarray, effects: np.random.Generator) -> np.ndarray:
    """Return the true probabilities."""
    if design == "calibrated":
        return p
    if design == "planted":
        inside = (columns[0] == 1) | (columns[8] == 7) | ((columns[6] == 3) & (columns[7] == 5))
        return np.minimum(np.where(inside, 2.0, np.where(columns[7] == 2, 0.8, 1.0)) * p, 0.999)
    shifted = logit(p)
    for codes, size in zip(columns, SIZES, strict=True):
        shifted = shifted + effects.normal(0.0, 0.1, size)[codes]
    for first, second in itertools.combinations(range(8), 2):
        pair = effects.normal(0.0, 0.03, (SIZES[first], SIZES[second]))
        shifted = shifted + pair[columns[first], columns[second]]
    return expit(shifted)


def by_mcgrad(y: np.ndarray, p: np.ndarray, by: dict[str, np.ndarray]) -> Callable[..., np.ndarray]:
    """Return the map fitted by MCGrad with its default settings."""
    import pandas as pd
    from mcgrad.methods import MCGrad

    model = MCGrad()
    model.fit(pd.DataFrame({"p": p, "y": y.astype(int), **by}), "p", "y", categorical_feature_column_names=list(by))
    return lambda p, by: model.predict(pd.DataFrame({"p": p, **by}), "p", categorical_feature_column_names=list(by))


def worst(columns: list[np.ndarray], truth: np.ndarray, q: np.ndarray) -> float:
    """Return the largest deviation of O/E from 1, as a factor."""
    lattice = Lattice(SIZES, 2)
    observed = SegmentCases(truth, truth > 2.0, columns, lattice).sums().expected
    expected = SegmentCases(q, truth > 2.0, columns, lattice).sums().expected
    large = observed >= FEWEST_EXPECTED
    return float(np.exp(np.abs(np.log(observed[large] / expected[large])).max()))


def log_score(truth: np.ndarray, q: np.ndarray) -> float:
    """Return the expected log score."""
    return float(-(truth * np.log(q) + (1.0 - truth) * np.log1p(-q)).mean())


def compared(design: str, number: int) -> dict[str, dict[str, float]]:
    """Return what each method achieves in one sample."""
    generator = np.random.default_rng([4, number, len(design)])
    columns = draw_columns(TRAIN + TEST, generator)
    p = np.clip(draw_forecasts("uneven", columns, generator), 1e-6, 1.0 - 1e-6)
    truth = truth_of(design, columns, p, generator)
    y = generator.random(len(p)) < truth
    train, test = slice(None, TRAIN), slice(TRAIN, None)
    by = {f"c{place}": codes[train] for place, codes in enumerate(columns)}
    new = {f"c{place}": codes[test] for place, codes in enumerate(columns)}
    tested, own = [codes[test] for codes in columns], truth[test]
    before = log_score(own, p[test])

    def row(fit: Callable[[], Callable[..., np.ndarray]]) -> dict[str, float]:
        begin = time.perf_counter()
        q = fit()(p[test], new)
        gain = 1e4 * (before - log_score(own, q))
        return {"gain": gain, "worst O/E": worst(tested, own, q), "seconds": time.perf_counter() - begin}

    def one_map() -> Callable[..., np.ndarray]:
        fix = pr.recalibrate(y[train], p[train], folds=5)
        return lambda p, _: fix(p)

    def by_segment() -> Callable[..., np.ndarray]:
        kept.append(pr.recalibrate_segments(pr.cases(y[train], p[train], by=by), folds=5))
        return kept[0].maps["auto by segment"]

    kept: list[pr.results.Recalibration] = []
    rows = {"none": row(lambda: lambda p, _: p), "one map": row(one_map), "by segment": row(by_segment)}
    (fix,) = kept
    gain = rows["by segment"]["gain"]
    estimated, low, high = (1e4 * float(column[-1]) for column in (fix.gain, fix.low, fix.high))
    rows["by segment"] |= {"cross-fitted gain": estimated, "interval contains it": low <= gain <= high}
    if importlib.util.find_spec("mcgrad") is not None:
        rows["MCGrad 0.1.5"] = row(lambda: by_mcgrad(y[train], p[train], by))
    return rows


def main() -> None:
    """Run the study and write its table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=3)
    samples = parser.parse_args().samples
    rows = []
    for design in DESIGNS:
        found = []
        for number in range(samples):
            found.append(compared(design, number))
            print(design, number, found[-1], file=sys.stderr, flush=True)
        for method in found[0]:
            row: dict[str, object] = {"design": design, "method": method, "samples": samples}
            for name in found[0][method]:
                values = np.array([one[method][name] for one in found], dtype=float)
                error = values.std(ddof=1) / np.sqrt(samples)
                short = name in ("interval contains it", "seconds")
                row[name] = f"{values.mean():.1f}" if short else f"{values.mean():.3f} +- {error:.3f}"
            rows.append(row)
    write_rows("segment_recalibration", rows, columns=FIELDS)


if __name__ == "__main__":
    main()
