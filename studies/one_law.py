"""Do intervals and tests hold on designs that nobody chose? Random designs of one model and of pairs.

Forecasts of six shapes, six ways in which they are wrong, 50 to 2,000 cases, and every measure with limits by formula.
A design whose truth lies in fewer than 93% of its intervals without a note is drawn again, with more fresh samples, and
only that figure counts. The table has a row for each design: coverage of the intervals in samples without a note, the
share of samples with one, and mean width relative to that of an interval from the true standard deviation. Writes
`results/one_law.csv`.

Run: python studies/one_law.py --seed 1 [--designs 200] [--samples 500] [--again 4000] [--workers 2] [--kind one]
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, logit
from study_tables import write_rows

import propriety as pr
from propriety.inference.finding_words import notes_of

POPULATION = 400_000
ENOUGH, ENOUGH_APART = 100, 50  # Events and non-events, and cases decided differently, that should need no note.
FEWEST_SHARE = 0.4  # A design counts alone if this share of its samples has no note; the others are pooled.
LOWEST = 0.93
own = pr.measures

Draw = Callable[[np.random.Generator, int], np.ndarray]
Change = Callable[[np.random.Generator, np.ndarray], np.ndarray]


class Design(NamedTuple):
    """A law of forecasts, what the models make of them, a number of cases and a measure."""

    name: str
    draw: Draw
    changes: tuple[Change, ...]
    n: int
    measure: Any


def forecasts(generator: np.random.Generator) -> tuple[str, Draw]:
    """Choose a law of calibrated forecasts."""
    shape = generator.choice(["normal", "mixture", "beta", "skew", "few", "steep"])
    if shape == "normal":
        a, b = generator.uniform(-5, 2.5), generator.uniform(0.3, 2)
        return f"normal({a:.1f}, {b:.1f})", lambda g, n: expit(a + b * g.standard_normal(n))
    if shape == "mixture":
        a, c, w = generator.uniform(-5, -1), generator.uniform(-1, 4), generator.uniform(0.05, 0.5)
        return f"mixture({a:.1f}, {c:.1f}, {w:.2f})", lambda g, n: expit(
            np.where(g.random(n) < w, c, a) + 0.5 * g.standard_normal(n)
        )
    if shape == "beta":
        a, b = np.exp(generator.uniform(-1, 1.5)), np.exp(generator.uniform(-1, 4))
        return f"beta({a:.2f}, {b:.1f})", lambda g, n: np.clip(g.beta(a, b, n), 1e-6, 1 - 1e-6)
    if shape == "skew":
        a, b = generator.uniform(-6, -2), generator.uniform(0.5, 1.5)
        return f"skew({a:.1f}, {b:.1f})", lambda g, n: np.clip(
            expit(a + np.exp(b * g.standard_normal(n))), 1e-12, 1 - 1e-12
        )
    if shape == "few":
        values = np.sort(expit(generator.uniform(-4, 3, generator.integers(3, 12))))
        return f"few({len(values)})", lambda g, n: g.choice(values, n)
    a, b = generator.uniform(-3, 2), generator.uniform(2.5, 4)
    return f"steep({a:.1f}, {b:.1f})", lambda g, n: expit(np.clip(a + b * g.standard_normal(n), -12, 12))


def change(generator: np.random.Generator) -> tuple[str, Change]:
    """Choose what a model makes of calibrated forecasts."""
    kind = generator.choice(["none", "none", "slope", "shift", "noise", "round"])
    if kind == "slope":
        s = float(np.exp(generator.uniform(-0.7, 0.7)))
        return f"slope {s:.2f}", lambda _, q: expit(s * logit(q))
    if kind == "shift":
        s = float(generator.uniform(-1, 1))
        return f"shift {s:.2f}", lambda _, q: expit(logit(q) + s)
    if kind == "noise":
        s = float(generator.uniform(0.2, 1))
        return f"noise {s:.2f}", lambda g, q: expit(logit(q) + s * g.standard_normal(q.shape))
    if kind == "round":
        s = float(generator.choice([0.01, 0.05, 0.1]))
        return f"round {s}", lambda _, q: np.clip(np.round(q / s) * s, s / 2, 1 - s / 2)
    return "as is", lambda _, q: q


def design(seed: int, place: int, kind: str) -> Design:
    """Choose a design."""
    generator = np.random.default_rng([seed, place, kind == "pair"])
    name, draw = forecasts(generator)
    first, second = change(generator), change(generator)
    if kind == "pair" and first[0] == second[0]:
        second = "slope .8 noise .3", lambda g, q: expit(0.8 * logit(q) + 0.3 * g.standard_normal(q.shape))
    n = int(generator.choice([50, 100, 200, 500, 1000, 2000]))
    rate = draw(np.random.default_rng(0), 20_000).mean()
    t = float(np.clip(expit(logit(rate) + generator.uniform(-2, 1.5)), 0.005, 0.95))
    t, high = round(t, 4), round(float(min(t * generator.uniform(1.5, 4), 0.97)), 4)
    measures = [
        *(pr.Brier(), pr.Log(), pr.Spherical(), pr.BoundedBrier(t, high), pr.BoundedLog(t, high)),
        *(own.Skill(pr.Brier()), own.Skill(pr.Log()), own.NormalizedEntropy()),
        *(own.Regret(t), own.Regret((t, high)), own.NetBenefit(t), own.NetBenefit((t, high))),
        *(own.StandardizedNetBenefit(t), own.ObservedExpected(), own.PredictedActual()),
        *(own.CalibrationIntercept(), own.CalibrationSlope(), own.AreaUnderRoc()),
        *(own.Accuracy(), own.AreaUnderRiskCoverage(), own.AreaUnderGeneralizedRiskCoverage()),
    ]
    measure = measures[int(generator.integers(len(measures)))]
    changes = (first, second) if kind == "pair" else (first,)
    label = getattr(measure, "key", None) or repr(measure)
    words = f"{name} {' | '.join(one for one, _ in changes)}, n = {n}, {label}"
    return Design(words, draw, tuple(how for _, how in changes), n, measure)


def sampled(chosen: Design, generator: np.random.Generator, n: int) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Draw cases of a design."""
    q = chosen.draw(generator, n)
    models = {f"m{place}": how(generator, q) for place, how in enumerate(chosen.changes)}
    return generator.random(n) < q, models


def truth(chosen: Design, generator: np.random.Generator) -> float:
    """Return the number in the population."""
    y, models = sampled(chosen, generator, POPULATION)
    values = [pr.estimate(y, p, chosen.measure, method="student").value for p in models.values()]
    return values[0] if len(values) == 1 else values[0] - values[1]


def answer(y: np.ndarray, models: dict[str, np.ndarray], measure: Any) -> tuple[float, float, float, float, str]:
    """Return value, limits, p-value and note of one sample."""
    if len(models) == 1:
        found = pr.estimate(y, models["m0"], measure, seed=1)
        return found.value, found.low, found.high, np.nan, notes_of(found)
    both = pr.compare(y, models, measure, seed=1).differences[0]
    return both.value, both.low, both.high, both.p, notes_of(both)


def tried(chosen: Design, true: float, generator: np.random.Generator, samples: int) -> dict[str, Any]:
    """Return coverage, notes, width and agreement of interval and test over samples of a design."""
    values, widths, held, noted, is_large, apart, none = [], [], [], [], [], 0, 0
    for _ in range(samples):
        y, models = sampled(chosen, generator, chosen.n)
        if y.all() or not y.any():
            continue
        try:
            value, low, high, p_value, note = answer(y, models, chosen.measure)
        except ValueError:  # The measure is undefined.
            continue
        values.append(value)
        if np.isnan(low):
            none += 1
            continue
        widths.append(high - low)
        held.append(low - 1e-12 <= true <= high + 1e-12)
        noted.append(bool(note))
        is_large.append(min(y.sum(), len(y) - y.sum()) >= ENOUGH and decided_apart(models, chosen) >= ENOUGH_APART)
        if not np.isnan(p_value):
            excluded = low > 0.0 or high < 0.0
            apart += excluded != (p_value <= 0.05) and min(abs(low), abs(high)) > 1e-12
    without = np.array(held, dtype=bool)[~np.array(noted, dtype=bool)]
    deviation = float(np.std(values)) if len(values) > 1 else np.nan
    return {
        "samples": len(values),
        "no interval": none,
        "without a note": len(without),
        "covered without a note": int(without.sum()),
        "coverage": float(without.mean()) if len(without) else np.nan,
        "coverage of all": float(np.mean(held)) if held else np.nan,
        "noted": float(np.mean(noted)) if noted else np.nan,
        "large": int(np.sum(is_large)),
        "large with a note": int(np.sum(np.array(is_large, dtype=bool) & np.array(noted, dtype=bool))),
        "width": float(np.mean(widths)) / (3.92 * deviation) if deviation > 0.0 and widths else np.nan,
        "test and interval apart": apart,
    }


def decided_apart(models: dict[str, np.ndarray], chosen: Design) -> float:
    """Return how many cases two models decide differently at the thresholds of the measure, or see differently."""
    if len(models) == 1:
        return np.inf
    first, second = models.values()
    edges = getattr(chosen.measure, "thresholds", None)
    if edges is not None:
        first, second = (np.searchsorted(np.ravel(edges), p, side="right") for p in (first, second))
    return int(np.count_nonzero(first != second))


def row(task: tuple[int, int, str, int, int]) -> dict[str, Any]:
    """Try one design, and again if its coverage is low."""
    seed, place, kind, samples, again = task
    warnings.simplefilter("ignore")
    chosen = design(seed, place, kind)
    generator = np.random.default_rng([seed, place, 7, kind == "pair"])
    true = truth(chosen, generator)
    found = tried(chosen, true, generator, samples)
    is_low = found["coverage"] < LOWEST and found["without a note"] >= FEWEST_SHARE * samples
    first = found["coverage"]
    if is_low and again:
        found = tried(chosen, true, generator, again)
    return {"kind": kind, "place": place, "design": chosen.name, "true": true, "first coverage": first, **found}


def main() -> None:
    """Run the study and print what falls short."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--designs", type=int, default=200)
    parser.add_argument("--samples", type=int, default=500)
    parser.add_argument("--again", type=int, default=4000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--kind", choices=("one", "pair", "both"), default="both")
    parser.add_argument("--dry", action="store_true", help="print only")
    chosen = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for kind in ("one", "pair") if chosen.kind == "both" else (chosen.kind,):
        tasks = [(chosen.seed, place, kind, chosen.samples, chosen.again) for place in range(chosen.designs)]
        with ProcessPoolExecutor(chosen.workers) as pool:
            own_rows = list(pool.map(row, tasks))
        rows += own_rows
        say(kind, own_rows, chosen.samples)
    if not chosen.dry:
        write_rows("one_law", rows, seed=chosen.seed)


def say(kind: str, rows: list[dict[str, Any]], asked: int) -> None:
    """Print the figures that count, and the designs that fall short."""
    alone = [one for one in rows if one["without a note"] >= FEWEST_SHARE * asked]
    pooled = [one for one in rows if one not in alone]
    coverage = np.array([one["coverage"] for one in alone])
    rest = sum(one["without a note"] for one in pooled)
    print(
        f"{kind}: {len(rows)} designs, {len(alone)} alone; coverage {coverage.mean():.3f}, lowest {coverage.min():.3f}"
    )
    print(f"  below .925: {(coverage < 0.925).mean():.1%}, below .88: {(coverage < 0.88).sum()}")
    print(f"  pooled others: {sum(one['covered without a note'] for one in pooled) / max(rest, 1):.3f} of {rest:,}")
    noted = sum(
        one["noted"] * (one["samples"] - one["no interval"]) for one in rows if one["samples"] > one["no interval"]
    )
    count = sum(one["samples"] for one in rows)
    print(f"  noted {noted / count:.1%}, no interval {sum(one['no interval'] for one in rows) / count:.1%}")
    large = sum(one["large"] for one in rows)
    print(f"  with {ENOUGH} events and non-events: noted {sum(one['large with a note'] for one in rows)} of {large:,}")
    widths = np.array([one["width"] for one in rows])
    apart = sum(one["test and interval apart"] for one in rows)
    print(f"  width: median {np.nanmedian(widths):.3f}; test and interval apart: {apart}")
    for one in sorted(rows, key=lambda one: one["coverage"]):
        if (one in alone and one["coverage"] < 0.94) or one["width"] > 1.5:
            coverage = f"{one['coverage']:.3f} ({one['first coverage']:.3f}; all {one['coverage of all']:.3f})"
            print(f"  {one['design']}: {coverage}, noted {one['noted']:.2f}, width {one['width']:.2f}")


if __name__ == "__main__":
    main()
