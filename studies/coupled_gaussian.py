"""How do a wrong mean, variance and tail affect the means of probabilities? Figures 2 to 7 of Nelson (2017).

Two equally frequent classes have a feature each, drawn from coupled Gaussians: Student's t with 1 / coupling degrees of
freedom, the Gaussian for coupling 0, compact support below. The sources have locations 0 and 2, scale 1 and coupling
1/2. A model has these parameters with one error. Its posterior probabilities, clipped at 0.01, are averaged, and so are
those of the source: the true posteriors, or the event rates in bins as wide as the precision. The paper says of each
error whether the line through the means is steeper than 45 degrees; the verified angles come from integration. The
signs of the exponent of the density and of the coupling with compact support are corrected. Writes
`results/coupled_gaussian.csv` and `results/coupled_gaussian.png`.

Run: python studies/coupled_gaussian.py [--cases 1000000] [--seed 1]
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
from scipy import stats
from study_tables import RESULTS, write_rows

from propriety.diagnostics.probability_means import (
    EXPONENTS,
    ProbabilityGroups,
    ProbabilityMeans,
    confidence_angle,
    power_mean,
    probability_means,
)

PRECISION = 0.01
EDGES = np.arange(101) / 100
DEGREE = 1.0


@dataclass(frozen=True)
class CoupledGaussian:
    """Location, scale and coupling, above -1, of the density (1 + coupling r^2)_+^(-(1 / coupling + 1) / 2) / Z.

    The distance r is that to the location, in units of the scale.
    """

    location: float
    scale: float = 1.0
    coupling: float = 0.5

    def density(self, x: np.ndarray) -> np.ndarray:
        """Return the density at x."""
        return self._standard().pdf((x - self.location) / self.scale) / self.scale

    def draw(self, n: int, generator: np.random.Generator) -> np.ndarray:
        """Draw one feature from each of n equally likely strata, which leaves little noise in means."""
        return self.location + self.scale * self._standard().ppf((np.arange(n) + generator.random(n)) / n)

    def _standard(self) -> stats.rv_continuous:
        if self.coupling > 0.0:
            return stats.t(1.0 / self.coupling)
        if self.coupling == 0.0:
            return stats.norm()
        # Moved to [-1, 1], (1 - r^2)^(a - 1) is a symmetric beta density.
        end, shape = abs(self.coupling) ** -0.5, 0.5 / abs(self.coupling) + 0.5
        return stats.beta(shape, shape, loc=-end, scale=2.0 * end)


Pair = tuple[CoupledGaussian, CoupledGaussian]
HEAVY: Pair = (CoupledGaussian(0.0), CoupledGaussian(2.0))
GAUSSIAN: Pair = (CoupledGaussian(0.0, coupling=0.0), CoupledGaussian(2.0, coupling=0.0))


@dataclass(frozen=True)
class Case:
    """Sources and models of the two classes, the verified angle, and where the source of that angle comes from."""

    source: Pair
    model: Pair
    angle: float | None = None
    known: Literal["population", "bins"] = "population"
    precision: float | None = PRECISION
    limit: float = np.inf


def second(**error: float) -> Pair:
    """Return the heavy-tailed pair with an error in the second class."""
    return (HEAVY[0], replace(HEAVY[1], **error))


CASES = {
    "perfect model": Case(HEAVY, HEAVY, 45.0),
    "mean 1, not 2": Case(HEAVY, second(location=1.0), 18.4),
    "mean 3, not 2": Case(HEAVY, second(location=3.0), 59.6),
    "variance 0.5, not 1": Case(HEAVY, second(scale=0.5**0.5), 53.6),
    "variance 2, not 1": Case(HEAVY, second(scale=2.0**0.5), 37.5),
    "tail over-confident": Case(HEAVY, GAUSSIAN, 73.1),
    "tail under-confident": Case(GAUSSIAN, HEAVY, 27.0, known="bins"),
}
EXTRA = {
    "tail over-confident, |feature| < 8": Case(HEAVY, GAUSSIAN, limit=8.0),
    "coupling -0.095, not 0, not clipped": Case(
        GAUSSIAN, (CoupledGaussian(0.0, coupling=-0.095), CoupledGaussian(2.0, coupling=-0.095)), precision=None
    ),
    "coupling 0.095, not 0, not clipped": Case(
        GAUSSIAN, (CoupledGaussian(0.0, coupling=0.095), CoupledGaussian(2.0, coupling=0.095)), precision=None
    ),
}


def simulate_coupled_gaussian(
    source: Pair, model: Pair, *, n: int, seed: int, limit: float = np.inf
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw n cases, half of each class; return the class and its posterior by the model and by the source.

    The posteriors are those of the second class. Features beyond the limit are left out. Where a model gives both
    classes no density, it says 1/2.
    """
    generator = np.random.default_rng(seed)
    halves = (n // 2, n - n // 2)
    y = np.repeat([False, True], halves)
    x = np.concatenate([each.draw(half, generator) for each, half in zip(source, halves, strict=True)])
    y, x = y[np.abs(x) < limit], x[np.abs(x) < limit]
    return y, posterior(model, x), posterior(source, x)


def posterior(pair: Pair, x: np.ndarray) -> np.ndarray:
    """Return the probability of the second class at x, both being equally frequent."""
    densities = [each.density(x) for each in pair]
    total = densities[0] + densities[1]
    return np.divide(densities[1], total, out=np.full(len(x), 0.5), where=total > 0.0)


def means_of(case: Case, *, n: int, seed: int) -> dict[str, ProbabilityMeans]:
    """Return the means of a case with the source in the population, in bins, and by isotonic regression."""
    y, q, p = simulate_coupled_gaussian(case.source, case.model, n=n, seed=seed, limit=case.limit)
    binned = probability_means(y, q, source="bins", bins=EDGES, precision=case.precision)
    truth, weight = np.where(y, p, 1.0 - p), np.ones(len(y))
    source = np.array([power_mean(truth, weight, exponent) for exponent in EXPONENTS])
    population = replace(
        binned,
        source=source,
        divergence=binned.model / source,
        angle=confidence_angle(binned.model, source),
        groups=by_class(binned),
        method="known",
        bins=None,
    )
    return {
        "population": population,
        "bins": replace(binned, groups=by_class(binned)),
        "pav": probability_means(y, q, precision=case.precision),
    }


def by_class(means: ProbabilityMeans) -> ProbabilityGroups:
    """Return the bins of each class instead of those that all share."""
    columns = [part.groups.columns() for part in means.parts.values()]
    return ProbabilityGroups(**{name: np.concatenate([part[name] for part in columns]) for name in columns[0]})


def row(name: str, case: Case, found: Mapping[str, ProbabilityMeans]) -> dict[str, object]:
    """Return the line of the table of one case."""
    means = found[case.known]
    line: dict[str, object] = {"case": name, "n": means.n, "source": case.known, "verified_angle": case.angle}
    line["angle"] = f"{means.angle:.2f}"
    line["difference"] = "" if case.angle is None else f"{round(means.angle - case.angle, 2) + 0.0:.2f}"
    line |= {f"angle_{kind}": f"{found[kind].angle:.2f}" for kind in ("bins", "pav")}
    for side in ("model", "source", "divergence"):
        names = (f"{side}_{mean}" for mean in ("decisiveness", "accuracy", "robustness"))
        line |= dict(zip(names, (f"{value:.4f}" for value in getattr(means, side)), strict=True))
    line["divergence_accuracy_pav"] = f"{found['pav'].divergence[1]:.4f}"
    return line


def draw(found: Mapping[str, Mapping[str, ProbabilityMeans]], path: Path) -> None:
    """Draw each case as in the published figures, and the divergence of the over-confident tail."""
    from matplotlib import pyplot as plt

    figure, panels = plt.subplots(2, 4, figsize=(15.2, 7.6), layout="constrained")
    for panel, (name, case) in zip(panels.flat, CASES.items(), strict=False):
        found[name][case.known].plot(panel, label=name, details=False)
        panel.text(0.97, 0.03, f"verified {case.angle:.1f}°", transform=panel.transAxes, ha="right", fontsize=9)
    found["tail over-confident"]["population"].plot(panels.flat[-1], label="tail over-confident: divergence")
    for place, panel in np.ndenumerate(panels):
        panel.set_ylabel("" if place[1] else panel.get_ylabel())
        panel.set_xlabel("" if not place[0] else panel.get_xlabel())
    figure.savefig(path, dpi=130)
    plt.close(figure)


def conclusion(found: Mapping[str, Mapping[str, ProbabilityMeans]]) -> str:
    """Say how many angles agree, and what the example of the divergence comes to."""
    gaps = {name: abs(found[name][case.known].angle - case.angle) for name, case in CASES.items()}
    tail = found["tail over-confident"]["population"]
    return (
        f"{sum(gap < DEGREE for gap in gaps.values())} of {len(gaps)} angles lie within 1 degree of the verified ones, "
        f"all within {max(gaps.values()):.2f}. Over-confident tail: model {tail.accuracy:.4f}, source "
        f"{tail.source[1]:.4f}, divergence {tail.divergence[1]:.4f}."
    )


def main() -> None:
    """Simulate every case and write the table and the picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    cases = CASES | EXTRA
    found = {name: means_of(case, n=options.cases, seed=options.seed) for name, case in cases.items()}
    lines = [row(name, case, found[name]) for name, case in cases.items()]
    write_rows("coupled_gaussian", lines, seed=options.seed)
    draw(found, RESULTS / "coupled_gaussian.png")
    for line in lines:
        print("  ".join(f"{name} {value}" for name, value in line.items() if value not in ("", None)))
    print(conclusion(found))


if __name__ == "__main__":
    main()
