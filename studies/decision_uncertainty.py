"""Uncertainty of decision curves: coverage of limits and bands, and false certainty about the best strategy.

Samples with the forecasts of a calibrated model and of a worse one are drawn from populations with 5, 10 and 25%
events, and with 0.3% events and thresholds that few forecasts reach; samples without events are drawn again. The true
net benefits come from four million cases. Thresholds are 13 in a range around or above the share of events. Writes
`results/decision_uncertainty.csv`: the population, the number of cases, what is estimated; the smallest, mean and
largest coverage of 95% limits over the thresholds; the smallest and mean coverage of credible limits, and the mean and
largest share of samples in which the best strategy in the population has a probability of being best below 0.01; and
the coverage of the band at all thresholds together. Takes about ten minutes on one core.

Run: python studies/decision_uncertainty.py [--replicates 100]
"""

from __future__ import annotations

import argparse
import sys

import numpy as np
from scipy.special import expit
from study_tables import write_rows

import propriety as pr

POPULATIONS = {  # The mean and standard deviation of the logit of the risk, and the thresholds.
    "5% events": ((-3.6, 1.1), (0.03, 0.15)),
    "10% events": ((-2.7, 1.1), (0.05, 0.25)),
    "25% events": ((-1.35, 1.1), (0.1, 0.5)),
    "0.3% events": ((-7.0, 1.5), (0.005, 0.1)),
}
CASES = (500, 2000)
MANY = 4_000_000
COMPARED = {"net benefit": None, "gain over treating all": "treat all", "gain over the other model": "old"}
CALLS = {"treat all": ("gain over treating all",), "old": ("net benefit", "gain over the other model")}


def draw(
    logit: tuple[float, float], n: int, generator: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw forecasts of a calibrated model and of a worse one, and outcomes."""
    mean, deviation = logit
    x = generator.normal(mean, deviation, n)
    new = expit(x)
    old, y = expit(0.8 * x + 0.2 * mean + generator.normal(0.0, 0.5, n)), generator.random(n) < new
    return (new, old, y) if y.any() else draw(logit, n, generator)


def truth(logit: tuple[float, float], grid: np.ndarray) -> dict[str, np.ndarray]:
    """Return the net benefits in the population, with the probabilities instead of outcomes."""
    new, old, _ = draw(logit, MANY, np.random.default_rng(0))
    odds = grid / (1.0 - grid)
    found = {"treat all": new.mean() - odds * (1.0 - new.mean())}
    for name, forecast in (("new", new), ("old", old)):
        order = np.argsort(forecast)
        first = np.searchsorted(forecast[order], grid)
        events = np.append(np.cumsum(new[order][::-1])[::-1], 0.0)[first] / MANY
        found[name] = events - odds * ((MANY - first) / MANY - events)
    return found


def main() -> None:
    """Run every design and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicates", type=int, default=100)
    replicates = parser.parse_args().replicates
    rows: list[dict[str, object]] = []
    for place, (population, (logit, thresholds)) in enumerate(POPULATIONS.items()):
        grid = np.linspace(*thresholds, 13)
        true = truth(logit, grid)
        best = np.argmax([true["new"], true["old"], true["treat all"], np.zeros(len(grid))], axis=0)
        for n in CASES:
            generator = np.random.default_rng([26, place, n])
            held = {name: np.zeros((3, len(grid))) for name in COMPARED}
            bands = dict.fromkeys(COMPARED, 0)
            for seed in range(replicates):
                new, old, y = draw(logit, n, generator)
                for given, names in CALLS.items():
                    found = pr.decision_uncertainty(
                        y, {"new": new, "old": old}, grid=grid, reference=given, n_resamples=500, seed=seed
                    )
                    own = found.of("new")
                    for name in names:
                        kind, reference = ("", None) if name == "net benefit" else ("gain_", given)
                        goal = true["new"] - (0.0 if reference is None else true[reference])
                        low, high, band_low, band_high = (
                            getattr(found, f"{kind}{limit}")[own] for limit in ("low", "high", "band_low", "band_high")
                        )
                        held[name][0] += (low <= goal) & (goal <= high)
                        bands[name] += bool(((band_low <= goal) & (goal <= band_high)).all())
                        if reference is None:
                            held[name][1] += (found.credible_low[own] <= goal) & (goal <= found.credible_high[own])
                            held[name][2] += found.probability_best.reshape(4, -1)[best, np.arange(len(grid))] < 0.01
            for name, found in held.items():
                share = found / replicates
                rows.append(
                    {
                        "population": population,
                        "n": n,
                        "what": name,
                        "lowest": round(share[0].min(), 4),
                        "mean": round(share[0].mean(), 4),
                        "highest": round(share[0].max(), 4),
                        "credible_lowest": round(share[1].min(), 4) if name == "net benefit" else "",
                        "credible_mean": round(share[1].mean(), 4) if name == "net benefit" else "",
                        "best_unlikely_mean": round(share[2].mean(), 4) if name == "net benefit" else "",
                        "best_unlikely_highest": round(share[2].max(), 4) if name == "net benefit" else "",
                        "band": round(bands[name] / replicates, 4),
                        "replicates": replicates,
                    }
                )
                print(*rows[-1].values(), file=sys.stderr, flush=True)
    write_rows("decision_uncertainty", rows)


if __name__ == "__main__":
    main()
