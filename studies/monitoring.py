"""Monitoring: how often there is a false alarm in 10,000 looks, and how soon a true one.

Streams of 10,000 cases whose log-odds are normal, with mean 0 (balanced) or -4.4 (2% prevalence) and standard
deviation 1. A model sees them with noise of a given size. Null settings: the model is no worse than the reference,
or the forecasts are calibrated. Each e-process is compared with what it replaces, the usual test at 5% after
every case from the 30th on (a one-sided paired t-test of the Brier scores; a two-sided z-test of events minus
forecasts). For the comparisons there is also the share of streams in which the 95% interval for the mean difference
excludes it at some time, and the number of cases at which one planned t-test would have a power of 50%.
Writes `results/monitoring.csv` and `results/monitoring.png`.

Run: python studies/monitoring.py [--samples 1000] [--power-samples 200]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.special import expit, ndtri
from study_tables import RESULTS, write_rows

import propriety as pr
from propriety.products.monitoring.calibration_stream import monitor_calibration
from propriety.products.monitoring.comparison_stream import monitor_comparison

LOOKS, FIRST, LEVEL = 10_000, 30, 0.95
BALANCED, RARE = 0.0, -4.4
BRIER, BOUNDED = pr.Brier(), pr.BoundedBrier(0.0, 0.1)
TIME = np.arange(LOOKS)
EARLY = TIME < LOOKS // 2
Noise = Callable[[np.random.Generator, np.ndarray], np.ndarray]


def noise(size: float | np.ndarray) -> Noise:
    """Return noise of the log-odds of this size, which may depend on the time."""
    return lambda generator, _: size * generator.normal(size=LOOKS)


def noise_where(sign: float) -> Noise:
    """Return noise in the cases whose log-odds have this sign only."""
    return lambda generator, log_odds: 0.7 * generator.normal(size=LOOKS) * (sign * log_odds > 0)


@dataclass(frozen=True)
class Comparison:
    """A setting: the log-odds' mean, the noise of the model and of the reference, and the rule."""

    mean: float
    model: Noise
    reference: Noise
    is_null: bool
    rule: pr.BinaryRule = BRIER
    same: bool = False
    steady: bool = True

    def draw(self, generator: np.random.Generator) -> tuple[np.ndarray, ...]:
        """Return the true rates, the outcomes and both forecasts of a stream."""
        log_odds = generator.normal(self.mean, 1.0, LOOKS)
        rate = expit(log_odds)
        model = expit(log_odds + self.model(generator, log_odds))
        reference = model if self.same else expit(log_odds + self.reference(generator, log_odds))
        return rate, generator.random(LOOKS) < rate, model, reference

    def difference(self, event: np.ndarray, model: np.ndarray, reference: np.ndarray) -> np.ndarray:
        """Return the differences of the losses."""
        return self.rule.case_loss(model, event) - self.rule.case_loss(reference, event)


@dataclass(frozen=True)
class Calibration:
    """A setting: the log-odds' mean, and the event's true rate, of the forecast and the time."""

    mean: float
    rate: Callable[[np.ndarray, np.ndarray], np.ndarray]
    is_null: bool


COMPARISONS = {
    "equal models, balanced": Comparison(BALANCED, noise(0.5), noise(0.5), is_null=True),
    "equal models, 2%": Comparison(RARE, noise(0.5), noise(0.5), is_null=True),
    "equal models, 2%, bounded Brier": Comparison(RARE, noise(0.5), noise(0.5), is_null=True, rule=BOUNDED),
    "identical models": Comparison(BALANCED, noise(0.5), noise(0.5), is_null=True, same=True),
    "equal on average, in different cases": Comparison(BALANCED, noise_where(1), noise_where(-1), is_null=True),
    "better first, then worse, never on average": Comparison(
        BALANCED, noise(np.where(EARLY, 0.4, 0.6)), noise(np.where(EARLY, 0.6, 0.4)), is_null=True
    ),
    "much worse, balanced": Comparison(BALANCED, noise(0.8), noise(0.3), is_null=False),
    "worse, balanced": Comparison(BALANCED, noise(0.5), noise(0.3), is_null=False),
    "a little worse, balanced": Comparison(BALANCED, noise(0.6), noise(0.5), is_null=False),
    "worse after 2,000": Comparison(
        BALANCED, noise(np.where(TIME < 2000, 0.3, 0.6)), noise(0.3), is_null=False, steady=False
    ),
    "worse, 2%": Comparison(RARE, noise(0.7), noise(0.0), is_null=False),
    "worse, 2%, bounded Brier": Comparison(RARE, noise(0.7), noise(0.0), is_null=False, rule=BOUNDED),
}
CALIBRATIONS = {
    "calibrated, balanced": Calibration(BALANCED, lambda x, _: expit(x), is_null=True),
    "calibrated, 2%": Calibration(RARE, lambda x, _: expit(x), is_null=True),
    "shifted by 0.3": Calibration(BALANCED, lambda x, _: expit(x + 0.3), is_null=False),
    "too sure, slope 0.75": Calibration(BALANCED, lambda x, _: expit(0.75 * x), is_null=False),
    "a wave": Calibration(
        BALANCED, lambda x, _: np.clip(expit(x) + 0.08 * np.sin(4 * np.pi * expit(x)), 0, 1), is_null=False
    ),
    "shifted by 0.3 after 2,000": Calibration(BALANCED, lambda x, t: expit(x + 0.3 * (t >= 2000)), is_null=False),
    "shifted by 0.5, 2%": Calibration(RARE, lambda x, _: expit(x + 0.5), is_null=False),
}


def first(reached: np.ndarray) -> float:
    """Return the number of cases after which something is first reached, infinite if never."""
    return float(reached.argmax() + 1) if reached.any() else np.inf


def naive_t(difference: np.ndarray) -> float:
    """Return when a one-sided t-test at 5%, done after every case, first rejects."""
    n = TIME + 1.0
    mean = np.cumsum(difference) / n
    variance = np.maximum(np.cumsum(difference**2) / n - mean**2, 0.0) * n / np.maximum(n - 1, 1)
    return first((mean > ndtri(LEVEL) * np.sqrt(variance / n)) & (n >= FIRST))


def naive_z(event: np.ndarray, forecast: np.ndarray) -> float:
    """Return when a two-sided test at 5% of events minus forecasts, done after every case, first rejects."""
    excess, variance = np.cumsum(event - forecast), np.cumsum(forecast * (1.0 - forecast))
    return first((np.abs(excess) > ndtri(0.5 + LEVEL / 2) * np.sqrt(variance)) & (TIME + 1 >= FIRST))


def compare(setting: Comparison, samples: int) -> dict[str, object]:
    """Return the row of a comparison."""
    expected, square = np.zeros(LOOKS), 0.0
    for sample in range(samples):
        rate, _, model, reference = setting.draw(np.random.default_rng(sample))
        yes, no = (setting.difference(np.full(LOOKS, happened), model, reference) for happened in (True, False))
        expected += (rate * yes + (1.0 - rate) * no) / samples
        square += float(np.mean(rate * yes**2 + (1.0 - rate) * no**2)) / samples
    # The settings are constant in time, or in each half of it, so that smoothing over time takes the noise away.
    truth = np.cumsum(expected) / (TIME + 1)
    found, naive, missed = [], [], 0
    for sample in range(samples):
        _, event, model, reference = setting.draw(np.random.default_rng(sample))
        result = monitor_comparison(event, model, reference, rule=setting.rule)
        found.append(np.inf if result.alarm is None else result.alarm)
        naive.append(naive_t(setting.difference(event, model, reference)))
        missed += bool(np.any((truth < result.low) | (truth > result.high)))
    planned: object = ""
    if not setting.is_null and setting.steady:
        mean = float(expected.mean())
        planned = round((ndtri(LEVEL) / mean) ** 2 * (square - mean**2))
    return row(found, naive) | {"missed": round(missed / samples, 4), "planned": planned}


def calibrate(setting: Calibration, samples: int) -> dict[str, object]:
    """Return the row of a calibration setting."""
    found, naive = [], []
    for sample in range(samples):
        generator = np.random.default_rng(sample)
        log_odds = generator.normal(setting.mean, 1.0, LOOKS)
        event = generator.random(LOOKS) < setting.rate(log_odds, TIME)
        result = monitor_calibration(event, expit(log_odds))
        found.append(np.inf if result.alarm is None else result.alarm)
        naive.append(naive_z(event, expit(log_odds)))
    return row(found, naive) | {"missed": "", "planned": ""}


def row(found: list[float], naive: list[float]) -> dict[str, object]:
    """Return the shares of streams with an alarm, and the median number of cases before it."""
    told: dict[str, object] = {}
    for name, moments in (("e_process", found), ("naive", naive)):
        median = float(np.median(moments))
        told |= {f"{name}_alarms": round(float(np.isfinite(moments).mean()), 4)}
        told |= {f"{name}_median": round(median) if np.isfinite(median) else ""}
    return told


def draw(rows: list[dict[str, object]], path: Path) -> None:
    """Draw the false alarms of both habits, and the cases before a true alarm."""
    from matplotlib import pyplot as plt
    from matplotlib.axes import Axes

    from propriety.plots.drawing import COLORS, GREY, SMALL

    nulls = [one for one in rows if one["truth"] == "null"][::-1]
    others = [one for one in rows if one["truth"] != "null"][::-1]
    figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4.2), layout="constrained")

    def write(panel: Axes, text: str, x: float, y: float, color: str, align: str = "center") -> None:
        panel.annotate(text, (x, y), ha=align, va="center", fontsize=SMALL, color=color, annotation_clip=False)

    left.axvline(1 - LEVEL, color=GREY["line"], linewidth=0.9)
    for place, one in enumerate(nulls):
        left.plot(one["naive_alarms"], place, "s", color=COLORS[1], markersize=5)
        left.plot(one["e_process_alarms"], place, "o", color=COLORS[0], markersize=6)
    left.set(xlim=(-0.015, 0.65), xlabel=f"Streams with a false alarm in {LOOKS:,} looks")
    left.xaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    top = len(nulls) - 0.5
    write(left, "e-process", 0.06, len(nulls) - 1, COLORS[0], "left")
    write(left, "usual test after every case", 0.43, top, COLORS[1])
    write(left, "5%", 1 - LEVEL + 0.008, -0.4, GREY["text"], "left")
    for place, one in enumerate(others):
        if one["e_process_median"] != "":
            right.plot(one["e_process_median"], place, "o", color=COLORS[0], markersize=6)
        if one["planned"] != "":
            right.plot(one["planned"], place, "|", color=GREY["text"], markersize=12, markeredgewidth=1.6)
        write(right, f"{one['e_process_alarms']:.0%}", 24_000, place, COLORS[0], "right")
    top = len(others) - 0.4
    write(right, "e-process, median", float(others[-1]["e_process_median"]), top, COLORS[0])
    write(
        right, "one planned t-test, even chances", 0.88 * float(others[-3]["planned"]), len(others) - 3, "0.25", "right"
    )
    write(right, "found", 24_000, top, COLORS[0], "right")
    right.set_xscale("log")
    right.set(xlim=(40, 13_000), xlabel="Cases before the alarm")
    right.xaxis.set_major_formatter(lambda cases, _: f"{cases:,.0f}")
    for panel, chosen in ((left, nulls), (right, others)):
        panel.set_yticks(range(len(chosen)), [one["setting"] for one in chosen], fontsize=SMALL)
        panel.set_ylim(-0.6, len(chosen) - 0.1)
        panel.grid(axis="y", color="0.92")
        panel.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=150)


def main() -> None:
    """Monitor streams of every setting, and write the table and the picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument("--power-samples", type=int, default=200)
    options = parser.parse_args()
    rows: list[dict[str, object]] = []
    for measure, settings in ((compare, COMPARISONS), (calibrate, CALIBRATIONS)):
        for name, setting in settings.items():
            samples = options.samples if setting.is_null else options.power_samples
            told = {"test": "comparison" if measure is compare else "calibration", "setting": name}
            told |= {"truth": "null" if setting.is_null else "alternative", "streams": samples}
            rows.append(told | measure(setting, samples))  # type: ignore[operator]
            print(rows[-1], flush=True)
    write_rows("monitoring", rows)
    draw(rows, RESULTS / "monitoring.png")


if __name__ == "__main__":
    main()
