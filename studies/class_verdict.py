"""Size and power of the verdict on the calibration of class probabilities.

Probabilities are softmax(b + s z) with standard normal z: with b = 0 and s = 1.5 ("even"); with b = -log rank, or
-2 log rank for 3 classes, and s = 1 ("rare classes"); or those of "even" with s = 3, rounded to twentieths and rescaled
("sharp, rounded"), which contain zeros. Outcomes are drawn from them for the size, and for the power from changed ones:
a temperature of 1.5; the odds of one class times 1.65; 30% of the mass of each of two classes moved to the other; or
top probabilities above 0.8 lowered by 0.08, the others raised in proportion. The probabilities with power are "even".

Compared are the verdict (`class_test`), the class-wise view and the temperature by themselves, and a test of the
expected calibration error of the top class, 15 bins, by draws. Also reported is the estimate of miscalibration summed
over the classes: its mean, beside the true value, and the coverage of its 95% interval. Writes
`results/class_verdict.csv`.

Run: python studies/class_verdict.py [--share 1.0]
"""

from __future__ import annotations

import argparse
import sys
from itertools import product

import numpy as np
from scipy.special import softmax
from study_tables import write_rows

from propriety.calibration.class_test import DistanceSum, class_scores, class_test, pooled_cases
from propriety.tables.cases import Cases

NULLS = ("even", "rare classes", "sharp, rounded")
CHANGES = ("temperature 1.5", "one class shifted", "two classes confused", "top class only")
# Samples of each setting, by the number of cases and classes.
SAMPLES = {(500, 3): 1000, (500, 10): 1000, (500, 100): 600, (5000, 3): 1000, (5000, 10): 600, (5000, 100): 300}
POWER = {(500, 3): 200, (500, 10): 200, (5000, 100): 40}
FIELDS = ("question", "design", "K", "n", "samples", "verdict", "class-wise", "temperature", "ECE")
FIELDS += ("true miscalibration", "mean estimate", "coverage")


def draw_probabilities(design: str, n: int, classes: int, generator: np.random.Generator) -> np.ndarray:
    """Return probabilities of shape (n, K)."""
    z = generator.normal(size=(n, classes))
    if design == "rare classes":
        return softmax(z - (2.0 if classes == 3 else 1.0) * np.log(np.arange(1, classes + 1)), axis=1)
    if design == "even":
        return softmax(1.5 * z, axis=1)
    rounded = np.round(20 * softmax(3.0 * z, axis=1))
    rounded[rounded.sum(axis=1) == 0.0] = 1.0
    return rounded / rounded.sum(axis=1, keepdims=True)


def change(p: np.ndarray, what: str) -> np.ndarray:
    """Return the true probabilities if the forecasts are p."""
    q = p.copy()
    if what == "temperature 1.5":
        q = p ** (1 / 1.5)
    elif what == "one class shifted":
        q[:, 0] *= 1.65
    elif what == "two classes confused":
        q[:, :2] = 0.7 * p[:, :2] + 0.3 * p[:, 1::-1]
    else:
        top, rows = p.argmax(axis=1), np.arange(len(p))
        high = p[rows, top]
        lower = np.where(high > 0.8, high - 0.08, high)
        q *= ((1.0 - lower) / np.maximum(1.0 - high, 1e-12))[:, None]
        q[rows, top] = lower
    return q / q.sum(axis=1, keepdims=True)


def draw_outcomes(q: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Draw classes."""
    return np.minimum((q.cumsum(axis=1) <= generator.random((len(q), 1))).sum(axis=1), q.shape[1] - 1)


def ece_test(p: np.ndarray, y: np.ndarray, generator: np.random.Generator, draws: int = 400) -> float:
    """Return the p-value of the expected calibration error of the top class, by draws of whether it happened."""
    top = p.max(axis=1)
    place = np.minimum((15 * top).astype(int), 14)
    member = np.zeros((15, len(p)))
    member[place, np.arange(len(p))] = 1.0
    right = np.column_stack([y == p.argmax(axis=1), generator.random((len(p), draws)) < top[:, None]])
    error = np.abs(member @ (right - top[:, None])).sum(axis=0)
    return (1 + np.count_nonzero(error[1:] >= error[0] - 1e-9)) / (1 + draws)


def simulate(question: str, design: str, n: int, classes: int, samples: int) -> dict[str, object]:
    """Return the share of samples in which each test rejects at 5%."""
    generator = np.random.default_rng([n, classes, len(design), len(question)])
    rejected: dict[str, list[bool]] = {name: [] for name in FIELDS[5:9]}
    truth, estimates, covered = [], [], []
    for sample in range(samples):
        p = draw_probabilities(design if question == "size" else "even", n, classes, generator)
        q = p if question == "size" else change(p, design)
        y = draw_outcomes(q, generator)
        cases = Cases(outcome=y, forecasts={"m": p}, labels=tuple(range(classes)))
        scores = class_scores(cases, "m")
        found = class_test(cases, "m", scores, level=0.95, n_resamples=400, seed=sample)
        rejected["verdict"].append(found.p_value <= 0.05)
        rejected["class-wise"].append(found.p_values["class-wise"] <= 0.05)
        rejected["temperature"].append(found.p_values["temperature"] <= 0.05)
        if question == "power" or (classes < 100 and n == 500 and sample < 200):
            rejected["ECE"].append(ece_test(p, y, generator) <= 0.05)
        if sample < 300:
            added = DistanceSum(np.ones(n))
            for own in cases.events("class", "m"):
                added.add(*pooled_cases(own), own)
            distance = added.result(0.95)
            value = _true_distance(p, q, design)
            truth.append(value)
            estimates.append(distance.value)
            covered.append(distance.low <= value <= distance.high)
    shares = {name: round(float(np.mean(own)), 3) if own else "" for name, own in rejected.items()}
    means = {"true miscalibration": np.mean(truth), "mean estimate": np.mean(estimates)}
    return {
        "question": question,
        "design": design,
        "K": classes,
        "n": n,
        "samples": samples,
        **shares,
        **{name: f"{value:.5f}" for name, value in means.items()},
        "coverage": round(float(np.mean(covered)), 3),
    }


def _true_distance(p: np.ndarray, q: np.ndarray, design: str) -> float:
    """Return the sum over classes of E (P(Y = k | p_k) - p_k)^2, smoothing q - p over p_k by a running mean."""
    total = 0.0
    for k in range(p.shape[1]):
        order = np.argsort(p[:, k], kind="stable")
        gap = (q - p)[order, k]
        if design in NULLS:
            continue
        width = max(len(gap) // 40, 5)
        smooth = np.convolve(gap, np.ones(width), "same") / np.convolve(np.ones(len(gap)), np.ones(width), "same")
        total += float(np.mean(smooth * gap))
    return total


def main(argv: list[str] | None = None) -> None:
    """Simulate all settings, the fastest first."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--share", type=float, default=1.0, help="share of the samples to draw")
    share = parser.parse_args(argv).share
    settings = [("size", *one) for one in product(NULLS, SAMPLES)]
    settings += [("power", *one) for one in product(CHANGES, POWER)]
    settings.sort(key=lambda one: one[2][0] * one[2][1])
    rows = []
    for question, design, (n, classes) in settings:
        samples = max(int(share * (SAMPLES if question == "size" else POWER)[n, classes]), 2)
        rows.append(simulate(question, design, n, classes, samples))
        write_rows("class_verdict", rows, columns=FIELDS)
        print(", ".join(f"{value}" for value in rows[-1].values()), file=sys.stderr)


if __name__ == "__main__":
    main()
