"""The calibration verdict: its size and power, and the coverage of the intervals reported with it.

Four questions, each with its rows in `results/calibration_verdict.csv`:

- size: how often calibrated forecasts are called miscalibrated at 5%, for 200 to 5 million cases, 1, 10 and 30% events,
  ties, weights (cases and controls, strata of the forecast, weights by chance) and 50 clusters of unequal size, with
  outcomes that are correlated within them but happen as often as forecast;
- power: how often miscalibration is found, by the verdict and by Cox's test alone;
- parts: how often the intervals of miscalibration and discrimination contain the truth, and the estimate;
- numbers: how often those of observed/expected, intercept and slope contain the truth, with weights and clusters.

"Humps" is a shape that was not used for tuning.

Run: python studies/calibration_verdict.py [--samples 1000] [--only size power parts numbers] [--design TEXT]
"""

from __future__ import annotations

import argparse
import csv
import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, cast

import numpy as np
from scipy.special import expit, logit, ndtr
from study_tables import RESULTS, write_rows

import propriety as pr
from propriety.calibration.calibration_test import CalibrationTest
from propriety.calibration.squared_distance import squared_distance
from propriety.inference.bootstrap import Drawing
from propriety.inference.calibration_testing import calibration_test_of
from propriety.ledger.sources import open_ledger
from propriety.tables.forecast_table import ForecastTable

LEVEL = 0.05
Truth = Callable[[np.ndarray], np.ndarray]


class Sample(NamedTuple):
    """Outcomes and forecasts, with the weights or clusters of the cases."""

    y: np.ndarray
    p: np.ndarray
    weight: np.ndarray | None = None
    cluster: np.ndarray | None = None

    def test(self, seed: int) -> CalibrationTest:
        """Test the calibration, as its summary does."""
        ledger = open_ledger(self.y, self.p, sample_weight=self.weight, cluster=self.cluster)
        return cast("CalibrationTest", calibration_test_of(ledger, ledger.one_model(None), Drawing(500, seed)))

    def findings(self, seed: int) -> pr.results.Findings:
        """Check the calibration."""
        return pr.check_calibration(
            self.y, self.p, sample_weight=self.weight, cluster=self.cluster, n_resamples=500, seed=seed
        )

    def intercept(self) -> pr.results.Finding:
        """Estimate the calibration intercept."""
        measure = pr.measures.CalibrationIntercept()
        return pr.estimate(self.y, self.p, measure, sample_weight=self.weight, cluster=self.cluster)


Draw = Callable[[np.random.Generator], Sample]


def independent(a: float, b: float, n: int, truth: Truth = lambda x: x, decimals: int | None = None) -> Draw:
    """Draw forecasts from a beta law; `truth` gives the true log-odds from those of the forecast."""

    def draw(generator: np.random.Generator) -> Sample:
        p = generator.beta(a, b, n)
        if decimals is not None:
            p = np.clip(np.round(p, decimals), 10.0**-decimals / 2, 1 - 10.0**-decimals / 2)
        return Sample(generator.random(n) < expit(truth(logit(p))), p)

    return draw


def bent(a: float, b: float, n: int, forecast: Truth) -> Draw:
    """Draw true probabilities from a beta law; `forecast` gives the forecast log-odds from those of the truth."""

    def draw(generator: np.random.Generator) -> Sample:
        rate = generator.beta(a, b, n)
        return Sample(generator.random(n) < rate, expit(forecast(logit(rate))))

    return draw


def cases_and_controls(events: int, others: int) -> Draw:
    """Draw so many events and non-events of a population of 20,000, weighted to its rates."""

    def draw(generator: np.random.Generator) -> Sample:
        p = generator.beta(1, 3, 20_000)
        y = generator.random(len(p)) < p
        rows = np.concatenate(
            [
                generator.choice(np.flatnonzero(y), events, replace=False),
                generator.choice(np.flatnonzero(~y), others, replace=False),
            ]
        )
        weight = np.where(y[rows], y.sum() / events, (~y).sum() / others)
        return Sample(y[rows], p[rows], weight / weight.mean())

    return draw


def strata(rate: float, n: int) -> Draw:
    """Draw about n of 20,000 cases, the fifth with the highest forecasts four times as often as the others."""

    def draw(generator: np.random.Generator) -> Sample:
        p = generator.beta(1, (1 - rate) / rate, 20_000)
        chance = np.where(p > np.quantile(p, 0.8), 0.08, 0.02) * n / 0.032 / 20_000
        kept = generator.random(len(p)) < chance
        y = generator.random(len(p)) < p
        return Sample(y[kept], p[kept], 1 / chance[kept])

    return draw


def lognormal_weights(rate: float, n: int) -> Draw:
    """Draw weights that have nothing to do with forecast or outcome."""

    def draw(generator: np.random.Generator) -> Sample:
        p = generator.beta(1, (1 - rate) / rate, n)
        return Sample(generator.random(n) < p, p, generator.lognormal(0, 1, n))

    return draw


def clusters(number: int, spread: float, n: int, shape: tuple[float, float], kind: str) -> Draw:
    """Draw clusters of unlike sizes; their outcomes depend on each other, and happen as often as forecast."""

    def draw(generator: np.random.Generator) -> Sample:
        size = np.exp(spread * generator.standard_normal(number))
        cluster = np.repeat(np.arange(number), np.maximum(1, np.round(size / size.sum() * n)).astype(int))
        many = len(cluster)
        p = generator.beta(*shape, many)
        shared = generator.standard_normal(number)[cluster]
        if kind == "slope":
            shared = shared * np.sign(p - np.median(p))
        normal = math.sqrt(0.2) * shared + math.sqrt(0.8) * generator.standard_normal(many)
        return Sample(ndtr(normal) < p, p, cluster=cluster)

    return draw


def sizes(samples: int) -> Iterator[tuple[str, int, Draw]]:
    """Yield calibrated designs, with the number of samples of each."""
    for n in (200, 500, 2000, 100_000, 1_000_000, 5_000_000):
        many = samples if n <= 100_000 else max(samples // 4, 60) if n == 1_000_000 else 60
        for percent, shape in ((1, (1, 99)), (10, (1, 9)), (30, (1.5, 3.5))):
            if n * percent >= 2000:
                yield f"{percent}% events, n = {n:,}", many, independent(*shape, n)
    for n in (200, 2000):
        yield f"25% events, rounded to 0.1, n = {n:,}", samples, independent(1, 3, n, decimals=1)
        yield f"10% events, rounded to 0.01, n = {n:,}", samples, independent(1, 9, n, decimals=2)
    yield "2% events, n = 100 (2 events)", samples, independent(1, 49, 100)
    yield "2% events, n = 500 (10 events)", samples, independent(1, 49, 500)
    yield "weights: 200 cases, 200 controls", samples, cases_and_controls(200, 200)
    yield "weights: 50 cases, 100 controls", samples, cases_and_controls(50, 100)
    yield "weights: strata, 25% events, n = 400", samples, strata(0.25, 400)
    yield "weights: strata, 2% events, n = 1,500", samples, strata(0.02, 1500)
    yield "weights: lognormal, 25% events, n = 500", samples, lognormal_weights(0.25, 500)
    yield "weights: lognormal, 5% events, n = 1,000", samples, lognormal_weights(0.05, 1000)
    for kind in ("level", "slope"):
        for spread in (0.0, 1.0, 1.5, 2.0):
            for shape, name in (((1, 3), "25%"), ((1, 19), "5%")):
                label = f"50 clusters ({kind}), sd of log size {spread:g}, {name} events, n = 1,000"
                yield label, samples, clusters(50, spread, 1000, shape, kind)


def wave(x: np.ndarray) -> np.ndarray:
    """Swing around the diagonal."""
    return x + 0.4 * np.sin(3 * x)


def steps(x: np.ndarray) -> np.ndarray:
    """Round the forecast to fifths."""
    return logit(np.clip(np.round(5 * expit(x)) / 5, 0.02, 0.98))


def humps(x: np.ndarray) -> np.ndarray:
    """Add two humps of unlike height and width."""
    return x + 0.6 * np.exp(-((x + 2.2) ** 2)) - 0.5 * np.exp(-3 * (x + 0.4) ** 2)


POWER: tuple[tuple[str, Callable[[int], Draw], tuple[int, ...]], ...] = (
    ("log-odds x 1.5", lambda n: bent(1, 3, n, lambda x: 1.5 * x), (200, 500)),
    ("log-odds + 0.4", lambda n: bent(1, 3, n, lambda x: x + 0.4), (500,)),
    ("2% events, odds x 2", lambda n: bent(1, 49, n, lambda x: x + math.log(2.0)), (500, 2000)),
    ("wave", lambda n: independent(1, 3, n, wave), (500, 2000)),
    ("steps", lambda n: independent(1, 3, n, steps), (2000,)),
    ("tail above 50%", lambda n: independent(1, 3, n, lambda x: np.where(x > 0, x + 0.6, x)), (2000,)),
    ("humps", lambda n: independent(1, 3, n, humps), (500, 2000)),
)
PARTS: tuple[tuple[str, tuple[float, float], Truth], ...] = (
    ("calibrated", (1, 3), lambda x: x),
    ("slope 1 / 1.25", (1, 3), lambda x: x / 1.25),
    ("slope 1 / 1.5", (1, 3), lambda x: x / 1.5),
    ("shift 0.25", (1, 3), lambda x: x + 0.25),
    ("wave", (1, 3), wave),
    ("2% events, calibrated", (1, 49), lambda x: x),
    ("2% events, odds x 2", (1, 49), lambda x: x + math.log(2.0)),
    ("steps", (1, 3), steps),
    ("humps", (1, 3), humps),
)


def rows_of_sizes(samples: int, design: str) -> Iterator[dict[str, Any]]:
    """Yield the share of calibrated samples that are called miscalibrated, whether material or not."""
    for name, many, draw in sizes(samples):
        if design not in name:
            continue
        generator = np.random.default_rng(20_001)
        tests = [draw(generator).test(seed).p_value <= LEVEL for seed in range(many)]
        yield {"question": "size", "design": name, "samples": many, "verdict": round(float(np.mean(tests)), 4)}


def rows_of_power(samples: int, design: str) -> Iterator[dict[str, Any]]:
    """Yield the share of samples in which an error is found, by the whole test and by Cox's alone."""
    for name, drawn, numbers in POWER:
        for n in numbers:
            if design not in f"{name}, n = {n:,}":
                continue
            generator, found = np.random.default_rng(20_002), np.zeros(2)
            draw = drawn(n)
            for seed in range(samples):
                sample = draw(generator)
                joint = sample.test(seed)
                found += [one <= LEVEL for one in (joint.p_value, joint.line_p_value)]
            shares = dict(zip(("verdict", "Cox"), (found / samples).round(4).tolist(), strict=True))
            yield {"question": "power", "design": f"{name}, n = {n:,}", "samples": samples, **shares}


def rows_of_parts(samples: int, design: str) -> Iterator[dict[str, Any]]:
    """Yield how often the intervals of both parts hold the truth, and how often they hold their value."""
    for n in (200, 1000, 5000, 100_000, 1_000_000):
        many = samples if n <= 5000 else samples // 5 if n == 100_000 else 40
        for name, shape, truth in PARTS:
            if design not in f"{name}, n = {n:,}":
                continue
            p = np.random.default_rng(0).beta(*shape, 3_000_000)
            rate = expit(truth(logit(p)))
            true = {"miscalibration": np.mean((p - rate) ** 2), "discrimination": np.var(rate)}
            generator, held, inside = np.random.default_rng(20_003), dict.fromkeys(true, 0), 0
            draw = independent(*shape, n, truth)
            for _ in range(many):
                sample = draw(generator)
                table = ForecastTable.from_predictions(sample.y, sample.p)
                found = {part: squared_distance(table, part, level=0.95) for part in true}  # type: ignore[arg-type]
                for part, one in found.items():
                    held[part] += one.low <= true[part] <= one.high
                inside += all(one.low <= one.value <= one.high for one in found.values())
            yield {
                "question": "parts",
                "design": f"{name}, n = {n:,}",
                "samples": many,
                **{part: round(number / many, 4) for part, number in held.items()},
                "value inside": round(inside / many, 4),
            }


def rows_of_numbers(samples: int, design: str) -> Iterator[dict[str, Any]]:
    """Yield how often the intervals of three numbers hold the truth, with weights and clusters."""
    designs = [(name, draw) for name, _, draw in sizes(samples) if name.startswith("weights") or "clusters" in name]
    designs.append(("25% events, n = 500", independent(1, 3, 500)))
    designs.append(("2% events, n = 1,000", independent(1, 49, 1000)))
    true = {"observed_expected": 1.0, "intercept": 0.0, "slope": 1.0}
    for name, draw in designs:
        if design not in name:
            continue
        generator, held, warned = np.random.default_rng(20_004), dict.fromkeys(true, 0), 0
        for seed in range(samples):
            sample = draw(generator)
            test, ratio, slope, _ = sample.findings(seed)
            found = {"observed_expected": ratio, "intercept": sample.intercept(), "slope": slope}
            for number, value in true.items():
                held[number] += found[number].low <= value <= found[number].high
            warned += any(note.severity == "caution" for row in (test, ratio, slope) for note in row.notes)
        shares = {number: round(count / samples, 4) for number, count in held.items()}
        yield {
            "question": "numbers",
            "design": name,
            "samples": samples,
            **shares,
            "warned": round(warned / samples, 4),
        }


QUESTIONS = {"size": rows_of_sizes, "power": rows_of_power, "parts": rows_of_parts, "numbers": rows_of_numbers}
COLUMNS = (
    *("question", "design", "samples", "verdict", "Cox", "miscalibration", "discrimination"),
    *("value inside", "observed_expected", "intercept", "slope", "warned"),
)


def main() -> None:
    """Answer the questions and write the table; rows of other questions and designs stay as they are."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument("--only", nargs="*", choices=list(QUESTIONS), default=list(QUESTIONS))
    parser.add_argument("--design", default="", metavar="TEXT", help="only designs whose name holds this text")
    options = parser.parse_args()
    path = RESULTS / "calibration_verdict.csv"
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    if path.exists():
        with path.open(newline="") as file:
            rows = {(row["question"], row["design"]): row for row in csv.DictReader(file)}
    if not options.design:
        rows = {key: row for key, row in rows.items() if key[0] not in options.only}
    for question in options.only:
        for row in QUESTIONS[question](options.samples, options.design):
            print(row, flush=True)
            rows[question, row["design"]] = row
    order = list(QUESTIONS)
    write_rows(
        "calibration_verdict",
        sorted(rows.values(), key=lambda row: order.index(row["question"])),
        columns=COLUMNS,
        keeps_rows=bool(options.design) or set(options.only) < set(QUESTIONS),
    )


if __name__ == "__main__":
    main()
