"""Verdicts on calibration and what gates make of them, and how often a worse model has the better verdict.

- "verdicts": calibrated forecasts, and forecasts too low by observed/expected of 1.25 and 1.43, with 250 cases at 27%
  and 1,000 at 3% events: how often calibration has each verdict, and what a gate makes of it;
- "worse": two models of the same cases, one calibrated and one not: how often the worse one has the better verdict.
  "rare non-events" has 400 cases at 95% and forecasts too low by .35 in log-odds; "rare events" has 1,000 cases at 1.6%
  and forecasts 1.4 times too high. Each also with 40 clusters of correlated outcomes, and with a third class.

Writes `results/verdicts.csv`: the question, the design, the number of samples, the verdict or the model, and the share.

Run: python studies/verdicts.py [--samples 2000] [--only verdicts worse]
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.special import expit, logit, ndtri
from study_tables import write_rows

import propriety as pr
from propriety.inference.verdict import gate

CLUSTERS, CORRELATION = 40, 0.1
ORDER = ("bad", "not tested", "too few", "small", "no error found", "good")  # From the worst to the best.
Sample = tuple[np.ndarray, dict[str, np.ndarray], dict[str, Any]]


def happened(q: np.ndarray, generator: np.random.Generator, cluster: np.ndarray | None = None) -> np.ndarray:
    """Draw outcomes with these probabilities; those of a cluster share a latent part."""
    latent = generator.standard_normal(len(q))
    if cluster is not None:
        shared = generator.standard_normal(CLUSTERS)[cluster]
        latent = np.sqrt(CORRELATION) * shared + np.sqrt(1.0 - CORRELATION) * latent
    return (latent < ndtri(q)).astype(int)


def rare_non_events(generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return calibrated forecasts of 95% on average, and some that are too low."""
    x = 0.4 * generator.standard_normal(400)
    return expit(3.1 + x), expit(2.75 + x)


def rare_events(generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return calibrated forecasts of 1.6% on average, and some that are too high."""
    q = generator.beta(1.0, 62.0, 1000)
    return q, np.minimum(1.4 * q, 1.0)


def in_classes(q: np.ndarray) -> np.ndarray:
    """Return rows of three classes; the rest is shared between two that are equally likely."""
    return np.stack([(1.0 - q) / 2.0, (1.0 - q) / 2.0, q], axis=1)


def drawn(pair: Callable[..., tuple[np.ndarray, np.ndarray]], kind: str, generator: np.random.Generator) -> Sample:
    """Draw cases of a design of two models."""
    right, worse = pair(generator)
    if kind == "classes":
        rows = in_classes(right)
        y = (generator.random((len(rows), 1)) > rows.cumsum(axis=1)).sum(axis=1)
        return y, {"right": rows, "worse": in_classes(worse)}, {"labels": [0, 1, 2]}
    if kind == "clusters":
        cluster = generator.integers(0, CLUSTERS, len(right))
        return happened(right, generator, cluster), {"right": right, "worse": worse}, {"cluster": cluster}
    return happened(right, generator), {"right": right, "worse": worse}, {}


def answers(sample: Sample) -> dict[str, tuple[str, str]]:
    """Return the verdict on the calibration of each model, and what a gate makes of it."""
    y, models, given = sample
    rows = [row for row in pr.check_calibration(y, models, seed=1, **given) if not row.keys]
    found = {}
    for row in rows:
        if row.measure.key == "calibration":
            parts = [one for one in rows if one.model == row.model and one is not row]
            found[row.model] = str(row.verdict), gate(row, parts)
    return found


def worse_models(samples: int) -> Iterator[dict[str, Any]]:
    """Yield how often the worse model has the better verdict."""
    for number, (name, pair) in enumerate({"rare non-events": rare_non_events, "rare events": rare_events}.items()):
        for kind in ("cases", "clusters", "classes"):
            generator = np.random.default_rng([number, len(kind)])
            better, passed, seen = 0, 0, 0
            for _ in range(samples):
                try:
                    found = answers(drawn(pair, kind, generator))
                except pr.errors.ProprietyError:  # All outcomes are alike.
                    continue
                seen += 1
                better += ORDER.index(found["worse"][0]) > ORDER.index(found["right"][0])
                passed += found["worse"][1] == "holds" != found["right"][1]
            design = {"question": "worse", "design": f"{name}, {kind}", "samples": seen}
            yield {**design, "answer": "better verdict", "share": better / seen}
            yield {**design, "answer": "passes where the other does not", "share": passed / seen}


def verdicts(samples: int) -> Iterator[dict[str, Any]]:
    """Yield how often calibration has each verdict, and what a gate makes of it."""
    for n, rate in ((250, 0.27), (1000, 0.03)):
        for ratio in (1.0, 1.25, 1.43):
            generator = np.random.default_rng([n, round(100 * ratio)])
            count: Counter[str] = Counter()
            for _ in range(samples):
                q = expit(logit(rate) + generator.standard_normal(n))
                q = np.clip(q * rate / q.mean(), 1e-6, 0.97)
                ((said, gated),) = answers((happened(q, generator), {"model": q / ratio}, {})).values()
                count[said] += 1
                count[f"gate: {gated}"] += 1
            for answer, number in sorted(count.items()):
                design = f"{n:,} cases at {rate:.0%}, observed/expected {ratio}"
                yield {"question": "verdicts", "design": design, "samples": samples, "answer": answer} | {
                    "share": number / samples
                }


QUESTIONS = {"verdicts": verdicts, "worse": worse_models}


def main() -> None:
    """Run the study."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=2000)
    parser.add_argument("--only", nargs="+", choices=tuple(QUESTIONS), default=tuple(QUESTIONS))
    chosen = parser.parse_args()
    write_rows("verdicts", [row for name in chosen.only for row in QUESTIONS[name](chosen.samples)])


if __name__ == "__main__":
    main()
