"""Before labels: how often the values of a new day lie within the limits given in advance.

Thirty past days with labels and a new one, of which only the forecasts are known. The outcomes follow the forecasts
after a change on the logit scale: none (calibrated), the same shift on all days, another random shift every day, a
slope of 0.7, a shift that grows by 0.02 a day, and one of 0.5 that sets in on the new day (concept drift). Writes
`results/before_labels.csv`: the stream, the cases per day, the measure, the coverage of the limits of calibrated
forecasts, and that of the limits from past days. Takes about five minutes on one core.

Run: python studies/before_labels.py [--replicates 300]
"""

from __future__ import annotations

import argparse
import csv
import sys
from pathlib import Path

import numpy as np
from scipy.special import expit, logit

import propriety as pr

RESULTS = Path(__file__).parent / "results"
PAST = 30
CASES = (500,)
STREAMS = ("calibrated", "shifted by 0.3", "random shifts", "slope 0.7", "growing by 0.02 a day", "sudden shift of 0.5")
MEASURES = (
    pr.Brier(),
    pr.measures.ObservedExpected(),
    pr.measures.AreaUnderRoc(),
    pr.measures.NetBenefit(0.2),
)


def rates(name: str, p: np.ndarray, day: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Return the true probabilities."""
    log_odds = logit(p)
    shift = {
        "shifted by 0.3": np.full(PAST + 1, 0.3),
        "random shifts": generator.normal(0.0, 0.25, PAST + 1),
        "growing by 0.02 a day": 0.02 * np.arange(PAST + 1.0),
        "sudden shift of 0.5": np.where(np.arange(PAST + 1) == PAST, 0.5, 0.0),
    }.get(name, np.zeros(PAST + 1))
    return expit((0.7 if name == "slope 0.7" else 1.0) * log_odds + shift[day])


def main() -> None:
    """Run every stream and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicates", type=int, default=300)
    replicates = parser.parse_args().replicates
    rows = []
    for place, name in enumerate(STREAMS):
        for n in CASES:
            generator = np.random.default_rng([9, place, n])
            held = np.zeros((2, len(MEASURES)))
            for _ in range(replicates):
                day = np.repeat(np.arange(PAST + 1), n)
                p = expit(generator.normal(-1.5, 1.0, len(day)))
                y = generator.random(len(day)) < rates(name, p, day, generator)
                old = day < PAST
                past = pr.condense(y[old], p[old], by={"day": day[old]})
                found = pr.before_labels(p[~old], past=past, measures=MEASURES)
                new = found.reconcile(y[~old])
                held += (found.chance_low <= new.value) & (new.value <= found.chance_high), new.inside
            for measure, plain, from_past in zip(found.label, *(held / replicates), strict=True):
                values = {"if_calibrated": round(plain, 4), "from_past_days": round(from_past, 4)}
                rows.append({"stream": name, "n": n, "measure": measure, **values})
                print(*rows[-1].values(), file=sys.stderr, flush=True)
    RESULTS.mkdir(exist_ok=True)
    with (RESULTS / "before_labels.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
