"""Size and power of the miscalibration test, compared with Hosmer and Lemeshow's test.

Size: how often calibrated uniform forecasts are rejected at 5%, in 2,000 samples of 100 and of 1,000 cases. Power: how
often forecasts are rejected whose true event rate is expit(a + b logit(p)): too extreme (b < 1), too timid (b > 1), or
shifted (a > 0), or a step that no logistic curve follows. Writes `results/miscalibration.csv` and
`results/miscalibration.png`.

Run: python studies/miscalibration.py [--samples 2000] [--power-samples 300] [--resamples 199]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy import special, stats
from study_tables import RESULTS, write_rows

import propriety as pr

LEVEL = 0.05
STRENGTHS = np.linspace(0, 1, 6)
# Each alternative takes the forecast and a strength from 0 (calibrated) to 1, and gives the true event rate.
ALTERNATIVES: dict[str, Callable[[np.ndarray, float], np.ndarray]] = {
    "too sure": lambda p, s: special.expit((1 - 0.5 * s) * special.logit(p)),
    "shifted": lambda p, s: special.expit(special.logit(p) + 0.8 * s),
    "a wave": lambda p, s: np.clip(p + 0.15 * s * np.sin(4 * np.pi * p), 0, 1),
}


def hosmer_lemeshow(y: np.ndarray, p: np.ndarray, groups: int = 10) -> float:
    """Return the p-value of Hosmer and Lemeshow's test for forecasts that were not fitted to the sample."""
    order = np.argsort(p)
    statistic = 0.0
    for rows in np.array_split(order, groups):
        expected = p[rows].sum()
        statistic += (y[rows].sum() - expected) ** 2 / (expected * (1 - expected / len(rows)))
    return float(stats.chi2.sf(statistic, groups))


def rejections(
    rate: Callable[[np.ndarray], np.ndarray], *, n: int, samples: int, resamples: int, seed: int
) -> dict[str, float]:
    """Return the share of samples that each test rejects."""
    generator = np.random.default_rng(seed)
    found: dict[str, list[bool]] = {"miscalibration": [], "Spiegelhalter": [], "Hosmer-Lemeshow": []}
    for sample in range(samples):
        p = generator.random(n)
        y = generator.random(n) < rate(p)
        test = pr.miscalibration_test(y, p, n_resamples=resamples, seed=sample)
        found["miscalibration"].append(test.p_value <= LEVEL)
        found["Spiegelhalter"].append(test.spiegelhalter_p_value <= LEVEL)
        found["Hosmer-Lemeshow"].append(hosmer_lemeshow(y, p) <= LEVEL)
    return {name: float(np.mean(rejected)) for name, rejected in found.items()}


def draw(rows: list[dict[str, object]], path: Path) -> None:
    """Draw the power against the strength of each alternative."""
    from matplotlib import pyplot as plt

    from propriety.plots.drawing import COLORS, DASHES

    figure, panels = plt.subplots(1, 3, figsize=(9, 3.1), sharey=True, layout="constrained")
    for panel, name in zip(panels, ALTERNATIVES, strict=True):
        panel.axhline(LEVEL, color="0.55", linewidth=0.9)
        for index, test in enumerate(("miscalibration", "Hosmer-Lemeshow", "Spiegelhalter")):
            chosen = [r for r in rows if (r["alternative"], r["test"]) == (name, test)]
            panel.plot(
                [r["strength"] for r in chosen],
                [r["rejected"] for r in chosen],
                color=COLORS[index],
                linestyle=DASHES[index],
                marker="os^"[index],
                markersize=4,
                label=test,
            )
        panel.set(ylim=(0, 1), xlabel="Strength of the departure")
        panel.set_title(f"{name}, n = 500", fontsize=10, loc="left")
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("Rejected at 5%")
    panels[0].legend(fontsize=8, frameon=False)
    figure.savefig(path, dpi=150)


def main() -> None:
    """Measure size and power, and write the table and the picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=2000)
    parser.add_argument("--power-samples", type=int, default=300)
    parser.add_argument("--resamples", type=int, default=199)
    options = parser.parse_args()
    rows: list[dict[str, object]] = []
    for n in (100, 1000):
        size = rejections(lambda p: p, n=n, samples=options.samples, resamples=options.resamples, seed=n)
        print(f"size at n = {n}, {options.samples} samples: {size}", flush=True)
        rows += [
            {"alternative": "calibrated", "n": n, "strength": 0.0, "test": test, "rejected": round(share, 4)}
            for test, share in size.items()
        ]
    for name, alternative in ALTERNATIVES.items():
        for strength in STRENGTHS:
            power = rejections(
                lambda p, strength=strength, alternative=alternative: alternative(p, strength),
                n=500,
                samples=options.power_samples,
                resamples=options.resamples,
                seed=round(100 * strength),
            )
            print(f"{name} at strength {strength:.1f}: {power}", flush=True)
            rows += [
                {
                    "alternative": name,
                    "n": 500,
                    "strength": round(float(strength), 2),
                    "test": test,
                    "rejected": round(share, 4),
                }
                for test, share in power.items()
            ]
    write_rows("miscalibration", rows)
    draw(rows, RESULTS / "miscalibration.png")


if __name__ == "__main__":
    main()
