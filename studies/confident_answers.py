"""The most confident answers: whether 95% intervals of measures of few, almost certain answers hold.

The measures are accuracy at a coverage, coverage at an accuracy, and the net benefit of acting on the highest 2%.
The samples are those of `abstention.py`. An accuracy of 99% is one that only the first 5% of the answers reach if 25%
of all are wrong: with 500 cases, the sample then shows hardly any wrong answer. Writes `results/confident_answers.csv`:
the share of intervals that hold the truth, the share that lie above and below it, and their mean width. Takes about six
minutes on one core.

Run: python studies/confident_answers.py [--replicates 200]
"""

from __future__ import annotations

import argparse
import sys

import numpy as np
from abstention import DESIGNS, ERRORS, draw
from study_tables import write_rows

import propriety as pr
from propriety.tables.forecast_table import ForecastTable

MEASURES = (
    pr.measures.AccuracyAtCoverage(0.1, threshold=0.0),
    pr.measures.AccuracyAtCoverage(0.8, threshold=0.0),
    pr.measures.CoverageAtAccuracy(0.99, threshold=0.0),
    pr.measures.CoverageAtAccuracy(0.8, threshold=0.0),
    pr.measures.TopKNetBenefit(thresholds=0.5, share=0.02),
)
SETTINGS = (
    (500, "25%", "independent"),
    (500, "25%", "weighted"),
    (500, "25%", "clustered"),
    (500, "5.6%", "independent"),
    (2000, "25%", "independent"),
)
DRAWS = 200


def cover(n: int, error: str, design: str, replicates: int) -> list[dict[str, object]]:
    """Return how often the intervals of one setting hold the truth."""
    generator = np.random.default_rng([n, len(error), DESIGNS.index(design), 1])
    whole = draw(1_000_000, ERRORS[error], design, generator, clusters=20_000)
    table = ForecastTable.from_predictions(whole["right"], whole["one"])
    truth = np.array([measure.value(table) for measure in MEASURES])
    limits = np.empty((replicates, len(MEASURES), 2))
    for sample in limits:
        cases = draw(n, ERRORS[error], design, generator)
        how = {"sample_weight": cases["weight"], "cluster": cases["cluster"], "n_resamples": DRAWS, "seed": 1}
        for row, measure in zip(sample, MEASURES, strict=True):
            found = pr.estimate(cases["right"], cases["one"], measure, **how)
            row[:] = found.low, found.high
    low, high = np.moveaxis(limits, 2, 0)
    columns = {
        "truth": truth,
        "coverage": ((low <= truth) & (truth <= high)).mean(axis=0),
        "above": (low > truth).mean(axis=0),
        "below": (high < truth).mean(axis=0),
        "width": (high - low).mean(axis=0),
    }
    return [
        {"n": n, "wrong": error, "design": design, "of": measure.label}
        | {name: round(float(column[place]), 4) for name, column in columns.items()}
        | {"samples": replicates}
        for place, measure in enumerate(MEASURES)
    ]


def main() -> None:
    """Run every setting and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicates", type=int, default=200)
    options = parser.parse_args()
    rows = []
    for setting in SETTINGS:
        rows += cover(*setting, options.replicates)
        for one in rows[-len(MEASURES) :]:
            print(*one.values(), file=sys.stderr, flush=True)
    write_rows("confident_answers", rows)


if __name__ == "__main__":
    main()
