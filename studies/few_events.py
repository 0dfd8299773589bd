"""Few events: how often a model is wrongly called better, and the coverage of intervals.

Forecasts are of an event of 1%, with 100 cases for each expected event. In the designs both models have the same
expected score:

- "q/2 v 3q/2": half of the true rate q, which is Beta(1, 99), and half as much again;
- "constant v noisy": 1%, and 1% times log-normal noise with a standard deviation of 0.8;
- "constant/2 v noisy/2": the same, halved, so that half of the events are forecast;
- "two noisy, both /4": two independent noisy forecasts of 1%, divided by four.

In the first three the event has the probability at which both losses have the same expectation, in the last it is 1%.
The verdict of `compare` is compared with Student's t. Then intervals are computed: of the difference between two
models, one of which is closer to the truth, of mean scores, and of areas under the ROC curve, in samples with an event
(two events for the area). "high area" is the coverage of intervals of areas of 0.98 and 0.99, with normal log-odds and
100 non-events for each event. "power" is how often calibrated forecasts of an event of 2% are called better than the
same with noise of a standard deviation of 1 in their log-odds. Writes `results/few_events.csv`: the question, the
design, the number of events, the number of samples with a verdict or an interval, the share of models called better or
the coverage, the same by Student's t (by the normal distribution for the area), and the share with a note. Takes about
ten minutes on one core.

Run: python studies/few_events.py [--replicates 1000] [--asked "false better" coverage "high area" power]
"""

from __future__ import annotations

import argparse
import csv
import math
import sys
from collections.abc import Iterator
from itertools import product

import numpy as np
from scipy.special import expit, logit, ndtri, stdtr, stdtrit
from study_tables import RESULTS, write_rows

import propriety as pr
from propriety.inference.verdict import lead

RATE, LEVEL = 0.01, 0.95
EVENTS = (2, 4, 10, 20, 50)
ASKED = ("false better", "coverage", "high area", "power")
DESIGNS = ("q/2 v 3q/2", "constant v noisy", "constant/2 v noisy/2", "two noisy, both /4")
RULES: dict[str, pr.BinaryRule] = {"Brier": pr.Brier(), "log": pr.Log()}
Sample = tuple[np.ndarray, dict[str, np.ndarray]]


def noisy(generator: np.random.Generator, n: int) -> np.ndarray:
    """Return forecasts of the rate with noise whose mean is one."""
    return np.minimum(RATE * np.exp(generator.normal(-0.32, 0.8, n)), 1.0)


def equal_models(design: str, rule: pr.BinaryRule, n: int, generator: np.random.Generator) -> Sample:
    """Draw outcomes and two forecasts with the same expected score."""
    if design == "q/2 v 3q/2":
        q = generator.beta(1.0, 1.0 / RATE - 1.0, n)
        one, other = q / 2.0, np.minimum(1.5 * q, 1.0)
    elif design == "two noisy, both /4":
        one, other = noisy(generator, n) / 4.0, noisy(generator, n) / 4.0
        return generator.random(n) < RATE, {"one": one, "other": other}
    else:
        share = 0.5 if "/2" in design else 1.0
        one, other = share * np.full(n, RATE), share * noisy(generator, n)
    happens, fails = (rule.loss(one, event=event) - rule.loss(other, event=event) for event in (True, False))
    even = np.divide(fails, fails - happens, out=np.zeros(n), where=fails != happens)
    return generator.random(n) < even, {"one": one, "other": other}


def different_models(n: int, generator: np.random.Generator) -> tuple[np.ndarray, dict[str, np.ndarray], np.ndarray]:
    """Draw outcomes, the forecasts of two models, one of which sees more noise, and the true rates."""
    q = np.clip(generator.beta(1.0, 1.0 / RATE - 1.0, n), 1e-6, 1.0 - 1e-6)
    models = {"clear": q, "dim": expit(logit(q) + generator.normal(0.0, 1.0, n))}
    return generator.random(n) < q, models, q


def of_t(differences: np.ndarray) -> tuple[float, float, float]:
    """Return the p-value and the limits of Student's t."""
    n = len(differences)
    mean, error = float(differences.mean()), float(differences.std(ddof=1)) / np.sqrt(n)
    margin = float(stdtrit(n - 1.0, (1.0 + LEVEL) / 2.0)) * error
    return float(2.0 * stdtr(n - 1.0, -abs(mean / error))), mean - margin, mean + margin


def false_verdicts(design: str, name: str, events: int, replicates: int) -> dict[str, object]:
    """Return how often one of two equal models is called better."""
    generator = np.random.default_rng([1, DESIGNS.index(design), list(RULES).index(name), events])
    rule, told, by_t, noted, judged = RULES[name], 0, 0, 0, 0
    for _ in range(replicates):
        y, models = equal_models(design, rule, int(events / RATE), generator)
        found = pr.compare(y, models, rule).differences[0]
        told += lead(found) != 0
        judged += found.note("one-outcome") is None
        noted += bool(found.notes)
        by_t += of_t(np.subtract(*(rule.case_loss(p, y) for p in models.values())))[0] <= 1.0 - LEVEL
    return row(
        "false better", f"{name}, {design}", events, judged, told / replicates, by_t / replicates, noted, replicates
    )


def truths(generator: np.random.Generator) -> dict[str, float]:
    """Return the expected scores, differences and areas of the models that differ."""
    y, models, q = different_models(4 * 10**6, generator)
    del y
    found: dict[str, float] = {}
    for name, rule in RULES.items():
        scores = [
            float(np.mean(q * rule.loss(p, event=True) + (1 - q) * rule.loss(p, event=False))) for p in models.values()
        ]
        found |= {f"difference of {name}": scores[0] - scores[1], f"mean {name}": scores[1]}
    areas = []
    for p in models.values():
        order = np.argsort(p)
        below = np.cumsum(1 - q[order]) - (1 - q[order]) / 2.0
        areas.append(float((q[order] * below).sum() / (q.sum() * (1 - q).sum())))
    return found | {"difference of areas": areas[0] - areas[1], "area": areas[1]}


def intervals(y: np.ndarray, models: dict[str, np.ndarray]) -> Iterator[tuple[str, float, float, float, float, bool]]:
    """Yield what was estimated, its limits, those of the plain law, and whether there is a note."""
    dim = models["dim"]
    for name, rule in RULES.items():
        losses = [rule.case_loss(p, y) for p in models.values()]
        both, one = pr.compare(y, models, rule).differences[0], pr.estimate(y, dim, rule)
        yield f"difference of {name}", both.low, both.high, *of_t(losses[0] - losses[1])[1:], bool(both.notes)
        yield f"mean {name}", one.low, one.high, *of_t(losses[1])[1:], bool(one.notes)
    if y.sum() > 1:
        both, one = (
            pr.compare(y, models, pr.measures.AreaUnderRoc()).differences[0],
            pr.estimate(y, dim, pr.measures.AreaUnderRoc()),
        )
        z = float(ndtri((1.0 + LEVEL) / 2.0))
        margin = z * both.error
        plain = (both.value - margin, both.value + margin)
        yield "difference of areas", both.low, both.high, *plain, bool(both.notes)
        if 0.0 < one.value < 1.0:
            margin = z * one.error / (one.value * (1.0 - one.value))
            yield "area", one.low, one.high, *expit(logit(one.value) + np.array([-margin, margin])), bool(one.notes)


def coverage(events: int, replicates: int, true: dict[str, float]) -> list[dict[str, object]]:
    """Return how often the intervals hold."""
    generator = np.random.default_rng([2, events])
    sums: dict[str, list[int]] = {}
    for _ in range(replicates):
        y, models, _ = different_models(int(events / RATE), generator)
        if not y.any():
            continue
        for name, low, high, plain_low, plain_high, noted in intervals(y, models):
            counts = sums.setdefault(name, [0, 0, 0, 0])
            held, plain = low <= true[name] <= high, plain_low <= true[name] <= plain_high
            for place, count in enumerate((1, held, plain, noted)):
                counts[place] += count
    return [
        row("coverage", name, events, samples, held / samples, plain / samples, noted, samples)
        for name, (samples, held, plain, noted) in sums.items()
    ]


def high_areas(events: int, area: float, replicates: int) -> dict[str, object]:
    """Return how often the intervals of an area near 1 hold."""
    generator = np.random.default_rng([4, events, round(1000 * area)])
    y = np.repeat([1, 0], [events, int(events / RATE)])
    apart, z = math.sqrt(2.0) * float(ndtri(area)), float(ndtri((1.0 + LEVEL) / 2.0))
    held = plain = noted = 0
    for _ in range(replicates):
        found = pr.estimate(y, expit(generator.normal(size=len(y)) + apart * y - 4.0), pr.measures.AreaUnderRoc())
        held += found.low <= area <= found.high
        noted += bool(found.notes)
        if found.value < 1.0:
            margin = z * found.error / (found.value * (1.0 - found.value))
            low, high = expit(logit(found.value) + np.array([-margin, margin]))
            plain += low <= area <= high
    shares = held / replicates, plain / replicates
    return row("high area", f"area {area:g}", events, replicates, *shares, noted, replicates)


def power(name: str, events: int, replicates: int) -> dict[str, object]:
    """Return how often the better of two models is called better."""
    generator = np.random.default_rng([5, list(RULES).index(name), events])
    rate = float(expit(np.random.default_rng(1).normal(-4.3, 1.0, 400_000)).mean())
    rule, told, by_t, noted = RULES[name], 0, 0, 0
    for _ in range(replicates):
        x = generator.normal(-4.3, 1.0, round(events / rate))
        models = {"clear": expit(x), "dim": expit(x + generator.normal(0.0, 1.0, len(x)))}
        y = generator.random(len(x)) < models["clear"]
        if not y.any():
            continue
        found = pr.compare(y, models, rule).differences[0]
        told += lead(found) > 0
        noted += bool(found.notes)
        p_value, *_ = of_t(np.subtract(*(rule.case_loss(p, y) for p in models.values())))
        by_t += p_value <= 1.0 - LEVEL and found.value < 0.0
    return row("power", name, events, replicates, told / replicates, by_t / replicates, noted, replicates)


def row(
    asked: str, design: str, events: int, judged: int, share: float, plain: float, noted: int, samples: int
) -> dict[str, object]:
    """Return a row of the table."""
    return {
        "asked": asked,
        "design": design,
        "events": events,
        "samples": samples,
        "judged": judged,
        "share": round(share, 4),
        "plain_law": round(plain, 4),
        "noted": round(noted / samples, 4),
    }


def main() -> None:
    """Run every setting and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicates", type=int, default=1000)
    parser.add_argument("--asked", nargs="+", choices=ASKED, default=list(ASKED))
    options = parser.parse_args()
    path = RESULTS / "few_events.csv"
    rows: list[dict[str, object]] = []
    if path.exists():
        with path.open(encoding="utf-8") as file:
            rows = [row for row in csv.DictReader(file) if row["asked"] not in options.asked]  # type: ignore[misc]
    if "false better" in options.asked:
        for name, design, events in product(RULES, DESIGNS, EVENTS):
            rows.append(false_verdicts(design, name, events, options.replicates))
            print(*rows[-1].values(), file=sys.stderr, flush=True)
    if "coverage" in options.asked:
        true = truths(np.random.default_rng(3))
        for events in EVENTS:
            rows += coverage(events, options.replicates, true)
            print(*rows[-1].values(), file=sys.stderr, flush=True)
    if "high area" in options.asked:
        for events, area in product((10, 20, 50), (0.98, 0.99)):
            rows.append(high_areas(events, area, options.replicates))
            print(*rows[-1].values(), file=sys.stderr, flush=True)
    if "power" in options.asked:
        for name, events in product(RULES, (5, 10, 20, 50)):
            rows.append(power(name, events, options.replicates))
            print(*rows[-1].values(), file=sys.stderr, flush=True)
    write_rows("few_events", rows, keeps_rows=set(options.asked) < set(ASKED))


if __name__ == "__main__":
    main()
