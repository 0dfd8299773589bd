"""Abstention: whether 95% intervals of AURC and AUGRC hold, and whether a paired test of two equal models does.

Confidences are Beta(3, 1) or Beta(17, 1), and answers are right with that probability: 25% and 5.6% are wrong. Cases
are independent; with confidences rounded to tenths; with gamma weights; or in 50 clusters with normal noise of 0.7 in
the log-odds of being right. Two models that are equally good have the log-odds of the first, plus normal noise of 0.5
of their own. Writes `results/abstention.csv`: the share of intervals that hold the truth, on the log scale and on the
plain one, the share with a note, and the share of paired tests with p <= 0.05. Takes about five minutes on one core.

Run: python studies/abstention.py [--replicates 600]
"""

from __future__ import annotations

import argparse
import sys
from itertools import product

import numpy as np
from scipy.special import expit, logit
from study_tables import write_rows

import propriety as pr
from propriety.inference.estimates import limits_of
from propriety.tables.forecast_table import ForecastTable

ERRORS = {"25%": 3.0, "5.6%": 17.0}
DESIGNS = ("independent", "tied", "weighted", "clustered")
AREAS = {
    "AURC": pr.measures.AreaUnderRiskCoverage(0.0),
    "AUGRC": pr.measures.AreaUnderGeneralizedRiskCoverage(0.0),
}


def draw(n: int, shape: float, design: str, generator: np.random.Generator, clusters: int = 50) -> dict[str, object]:
    """Return right answers, two confidences, and the weights and clusters of a sample."""
    chance = generator.beta(shape, 1.0, n)
    cluster = generator.integers(0, clusters, n) if design == "clustered" else None
    shift = 0.0 if cluster is None else generator.normal(0.0, 0.7, clusters)[cluster]
    right = generator.random(n) < expit(logit(chance) + shift)
    one, other = (expit(logit(chance) + generator.normal(0.0, 0.5, n)) for _ in range(2))
    if design == "tied":
        one, other = one.round(1), other.round(1)
    weight = generator.gamma(2.0, 0.5, n) if design == "weighted" else None
    return {"right": right, "one": one, "other": other, "weight": weight, "cluster": cluster}


def cover(n: int, error: str, design: str, replicates: int) -> list[dict[str, object]]:
    """Return how often the intervals and tests of one setting hold."""
    generator = np.random.default_rng([n, len(error), DESIGNS.index(design)])
    whole = draw(1_000_000, ERRORS[error], design, generator, clusters=20_000)
    table = ForecastTable.from_predictions(whole["right"], whole["one"])
    truth = {name: area.value(table) for name, area in AREAS.items()}
    counts = {name: np.zeros(4) for name in AREAS}
    for _ in range(replicates):
        cases = draw(n, ERRORS[error], design, generator)
        how = {"sample_weight": cases["weight"], "cluster": cases["cluster"]}
        for name, area in AREAS.items():
            found = pr.estimate(cases["right"], cases["one"], area, **how)
            low, high = limits_of(found.value, found.error, np.inf, 0.95)
            both = pr.compare(cases["right"], {"one": cases["one"], "other": cases["other"]}, area, **how)
            held = found.low <= truth[name] <= found.high
            counts[name] += held, low <= truth[name] <= high, bool(found.notes), both.differences.p[0] <= 0.05
    columns = ("coverage", "coverage_of_plain_scale", "noted", "paired_size")
    return [
        {"n": n, "wrong": error, "design": design, "of": name}
        | dict(zip(columns, (found / replicates).round(4).tolist(), strict=True))
        | {"samples": replicates}
        for name, found in counts.items()
    ]


def main() -> None:
    """Run every setting and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicates", type=int, default=600)
    options = parser.parse_args()
    rows = []
    for n, error, design in product((500, 2000), ERRORS, DESIGNS):
        rows += cover(n, error, design, options.replicates)
        for one in rows[-2:]:
            print(*one.values(), file=sys.stderr, flush=True)
    write_rows("abstention", rows)


if __name__ == "__main__":
    main()
