"""Clusters of unequal size: the coverage of 95% intervals, and whether there is a note if it is too low.

50 or 100 clusters whose sizes are log-normal around 10, with a standard deviation of the logarithm of 0, 1, 1.5 or 2.
Forecasts are Beta(1, 3). The event follows them, either in every cluster alike ("alike") or with normal noise of 0.7
in the log-odds of each cluster ("apart"). A second forecast has noise of its own, 0.5 in each case and 0.3 in each
cluster. Intervals of the Brier score (`estimate`) and of its difference (`compare`) are computed. With the clusters in
two groups that do not differ, every fourth sample counts how often `slices` finds a difference at 5%, among samples in
which it tests the groups. All are compared with the usual standard error with G - 1 degrees of freedom.
Writes `results/clusters.csv`: the coverage (or, for groups, the share of differences found), that of the usual standard
error, the share with a note, the coverage of those without a note, and the median effective number of clusters.
Takes about ten minutes on one core.

Run: python studies/clusters.py [--replicates 1000]
"""

from __future__ import annotations

import argparse
import sys
from itertools import product

import numpy as np
from scipy.special import expit, logit, stdtrit
from study_tables import write_rows

import propriety as pr
from propriety.inference.finding_words import notes_of

CLUSTERS, SPREADS, LEVEL, BASE = (50, 100), (0.0, 1.0, 1.5, 2.0), 0.95, 10
APART = {"alike": 0.0, "apart": 0.7}


def draw(clusters: int, spread: float, apart: float, generator: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Return outcomes, the two forecasts and the clusters of a sample."""
    size = np.maximum(np.round(BASE * np.exp(generator.normal(0.0, spread, clusters))), 1).astype(int)
    cluster = np.repeat(np.arange(clusters), size)
    p = generator.beta(1.0, 3.0, len(cluster))
    y = generator.random(len(p)) < expit(logit(p) + generator.normal(0.0, apart, clusters)[cluster])
    shift = generator.normal(0.0, 0.5, len(p)) + generator.normal(0.0, 0.3, clusters)[cluster]
    return y, p, expit(logit(p) + shift), cluster


def usual(losses: np.ndarray, cluster: np.ndarray) -> tuple[float, float]:
    """Return the limits of the usual error of clusters."""
    sums = np.bincount(cluster, losses - losses.mean())
    groups = len(sums)
    error = np.sqrt(groups / (groups - 1) * (sums**2).sum()) / len(losses)
    margin = float(stdtrit(groups - 1.0, (1.0 + LEVEL) / 2.0)) * error
    return losses.mean() - margin, losses.mean() + margin


def cover(clusters: int, spread: float, kind: str, replicates: int) -> list[dict[str, object]]:
    """Return how often the intervals of one setting hold."""
    generator = np.random.default_rng([clusters, int(10 * spread), len(kind)])
    y, p, q, _ = draw(300_000, 0.0, APART[kind], generator)
    one, other = (p - y) ** 2, (q - y) ** 2
    truth = {"Brier": one.mean(), "difference": (one - other).mean()}
    counts = {name: np.zeros(4) for name in (*truth, "groups")}
    worth = []
    for sample in range(replicates):
        y, p, q, cluster = draw(clusters, spread, APART[kind], generator)
        sizes = np.bincount(cluster)
        worth.append(sizes.sum() ** 2 / (sizes**2).sum())
        single, both = (
            pr.estimate(y, p, cluster=cluster),
            pr.compare(y, {"p": p, "q": q}, cluster=cluster).differences[0],
        )
        one, other = (p - y) ** 2, (q - y) ** 2
        for name, low, high, note, losses in (
            ("Brier", single.low, single.high, notes_of(single), one),
            ("difference", both.low, both.high, notes_of(both), one - other),
        ):
            limits = usual(losses, cluster)
            held = low <= truth[name] <= high
            counts[name] += held, limits[0] <= truth[name] <= limits[1], bool(note), held and not note
        if sample % 4 == 0:
            p_value = pr.slices(y, p, by=cluster % 2, cluster=cluster).where(against="rest").p[0]
            counts["groups"] += p_value <= 1.0 - LEVEL, np.nan, np.isnan(p_value), 0
    rows: list[dict[str, object]] = []
    for name, (held, plain, noted, unnoted) in counts.items():
        samples = len(range(0, replicates, 4)) if name == "groups" else replicates
        rest = samples - noted
        rows.append(
            {
                "clusters": clusters,
                "sd_log_size": spread,
                "outcomes": kind,
                "of": name,
                "share": round(held / (rest if name == "groups" else samples), 4)
                if rest > 0 or name != "groups"
                else "",
                "usual": "" if np.isnan(plain) else round(plain / samples, 4),
                "noted": round(noted / samples, 4),
                "share_without_note": round(unnoted / rest, 4) if rest > 0 and name != "groups" else "",
                "worth": round(float(np.median(worth)), 1),
                "samples": samples,
            }
        )
    return rows


def main() -> None:
    """Run every setting and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicates", type=int, default=1000)
    options = parser.parse_args()
    rows = []
    for clusters, spread, kind in product(CLUSTERS, SPREADS, APART):
        rows += cover(clusters, spread, kind, options.replicates)
        for one in rows[-3:]:
            print(*one.values(), file=sys.stderr, flush=True)
    write_rows("clusters", rows)


if __name__ == "__main__":
    main()
