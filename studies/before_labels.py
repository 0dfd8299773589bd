"""Before labels: how often the values of a new day lie within the limits given in advance.

Thirty past days with labels and a new one, of which only the forecasts are known. The outcomes follow the forecasts
after a change on the logit scale: none (calibrated), the same shift on all days, another random shift every day, a
slope of 0.7, a shift that grows by 0.02 a day, and one of 0.5 that sets in on the new day (concept drift). In other
streams the new day has a tenth of the cases of a past day: calibrated, with a large shift, and with a slope of 0.5.
Writes `results/before_labels.csv`: the stream, the cases per past day, those of the new day, the measure, the coverage
of the limits of calibrated forecasts, and that of the limits from past days, among days on which the measure has a
value. Takes about four minutes on one core.

Run: python studies/before_labels.py [--replicates 100]
"""

from __future__ import annotations

import argparse
import sys

import numpy as np
from scipy.special import expit, logit
from study_tables import write_rows

import propriety as pr

PAST = 30
COMMON, RARE = -1.5, -4.0  # Mean of the log-odds of the forecasts: 22 and 3% events if they are calibrated.
ALIKE, SMALLER, RARE_SMALLER = (500, 500, COMMON), (1000, 100, COMMON), (1500, 150, RARE)
STREAMS = [  # Each with the cases per past day, those of the new day, and the mean of the log-odds.
    ("calibrated", ALIKE),
    ("shifted by 0.3", ALIKE),
    ("random shifts", ALIKE),
    ("slope 0.7", ALIKE),
    ("growing by 0.02 a day", ALIKE),
    ("sudden shift of 0.5", ALIKE),
    ("calibrated", SMALLER),
    ("slope 0.5", SMALLER),
    ("shifted by 1.1", SMALLER),
    ("shifted by 1.1", RARE_SMALLER),
    ("shifted by 1.8", RARE_SMALLER),
]
SLOPES = {"slope 0.7": 0.7, "slope 0.5": 0.5}
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
        "shifted by 1.1": np.full(PAST + 1, 1.1),
        "shifted by 1.8": np.full(PAST + 1, 1.8),
        "random shifts": generator.normal(0.0, 0.25, PAST + 1),
        "growing by 0.02 a day": 0.02 * np.arange(PAST + 1.0),
        "sudden shift of 0.5": np.where(np.arange(PAST + 1) == PAST, 0.5, 0.0),
    }.get(name, np.zeros(PAST + 1))
    return expit(SLOPES.get(name, 1.0) * log_odds + shift[day])


def rows_of(place: int, replicates: int) -> list[dict[str, object]]:
    """Return the rows of one stream."""
    name, (past_n, new_n, mean) = STREAMS[place]
    measures = MEASURES if mean == COMMON else (*MEASURES, pr.measures.NetBenefit(0.05))
    generator = np.random.default_rng([9, place, past_n])
    held, known = np.zeros((2, len(measures))), np.zeros(len(measures))
    for _ in range(replicates):
        day = np.append(np.repeat(np.arange(PAST), past_n), np.full(new_n, PAST))
        p = expit(generator.normal(mean, 1.0, len(day)))
        y = generator.random(len(day)) < rates(name, p, day, generator)
        old = day < PAST
        past = pr.condense(y[old], p[old], by={"day": day[old]})
        found = pr.before_labels(p[~old], past=past, measures=measures)
        new = found.reconcile(y[~old])
        held += (found.chance_low <= new.value) & (new.value <= found.chance_high), new.inside
        known += ~np.isnan(new.value)
    shares = {"if_calibrated": held[0] / known, "from_past_days": held[1] / known}
    first = {"stream": name, "n": past_n, "new": new_n}
    return [
        first | {"measure": label} | {key: round(float(share[at]), 4) for key, share in shares.items()}
        for at, label in enumerate(found.label)
    ]


def main() -> None:
    """Run every stream and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicates", type=int, default=100)
    replicates = parser.parse_args().replicates
    rows = []
    for place in range(len(STREAMS)):
        rows += rows_of(place, replicates)
        print(*rows[-1].values(), file=sys.stderr, flush=True)
    write_rows("before_labels", rows)


if __name__ == "__main__":
    main()
