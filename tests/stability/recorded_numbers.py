"""Values, limits and p-values of every measure, by noise and by door: the numbers that a change must not move.

``python tests/stability/recorded_numbers.py`` stores them again, after a change that is meant; read the difference.
"""

import json
import math
import sys
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import propriety as pr
from propriety.inference.group_rows import group_rows

STORED = Path(__file__).with_name("recorded_numbers.json")
N, DRAWS, SEED = 400, 99, 11
DIGITS = 10

own = pr.measures
CATALOGUE = {
    measure.key: measure
    for measure in (
        *(own.MeanScore(), own.MeanScore(pr.Log()), own.Skill(), own.Skill(pr.Log()), own.NormalizedEntropy()),
        *(own.Regret(0.2), own.Regret((0.1, 0.3)), own.NetBenefit(0.2), own.NetBenefit((0.1, 0.3))),
        *(own.StandardizedNetBenefit(0.2), own.ObservedExpected(), own.PredictedActual()),
        *(own.CalibrationIntercept(), own.CalibrationSlope(), own.IntegratedCalibrationIndex()),
        *(own.Miscalibration(), own.Discrimination(), own.Miscalibration(pr.Log()), own.BinnedCalibrationError()),
        *(own.AreaUnderRoc(), own.PartialArea(0.1, 0.6), own.TopKNetBenefit(thresholds=0.2, share=0.1)),
        *(own.Accuracy(), own.AreaUnderRiskCoverage(), own.AreaUnderGeneralizedRiskCoverage()),
        *(own.AccuracyAtCoverage(0.8), own.CoverageAtAccuracy(0.8)),
    )
}


class Drawn:
    """Cases of a binary event and of three classes with two forecasts each, and what makes them dependent."""

    def __init__(self) -> None:
        generator = np.random.default_rng(SEED)
        self.cluster = generator.integers(0, 60, N)
        latent = generator.normal(-0.8, 1.3, N) + 0.6 * generator.normal(size=60)[self.cluster]
        self.period = np.sort(generator.integers(0, 50, N))
        self.group = generator.choice(["a", "b", "c"], N, p=(0.5, 0.3, 0.2))
        risk = 1.0 / (1.0 + np.exp(-latent))
        self.y = (generator.random(N) < risk).astype(int)
        noise = generator.normal(0.0, 0.5, N)
        self.models = {"sharp": risk, "vague": 1.0 / (1.0 + np.exp(-(0.7 * latent + 0.3 + noise)))}
        self.weight = generator.gamma(2.0, size=N)
        self.end = generator.exponential(np.where(self.y == 1, 1.5, 4.0), N)
        self.left = generator.exponential(5.0, N)
        scores = generator.normal(0.0, 0.8, (N, 3))
        self.grade = np.argmax(scores + generator.gumbel(size=(N, 3)), axis=1)
        shares = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
        self.rows = {"sharp": shares, "vague": 0.6 * shares + 0.4 / 3.0}

    def censored(self) -> Any:
        """Return outcomes by a horizon, of which some are not known."""
        event = (self.end <= self.left).astype(int)
        return pr.censored(np.minimum(self.end, self.left), event, horizons=2.0)


DATA = Drawn()
NOISES: Mapping[str, Callable[[], pr.results.Cases]] = {
    "independent": lambda: pr.cases(DATA.y, DATA.models, by={"group": DATA.group}),
    "weights": lambda: pr.cases(DATA.y, DATA.models, by={"group": DATA.group}, sample_weight=DATA.weight),
    "clusters": lambda: pr.cases(DATA.y, DATA.models, by={"group": DATA.group}, cluster=DATA.cluster),
    "clusters and weights": lambda: pr.cases(
        DATA.y, DATA.models, by={"group": DATA.group}, cluster=DATA.cluster, sample_weight=DATA.weight
    ),
    "periods": lambda: pr.cases(DATA.y, DATA.models, by={"group": DATA.group}, period=DATA.period),
    "censored": lambda: pr.cases(DATA.censored(), DATA.models, by={"group": DATA.group}),
    "classes": lambda: pr.cases(DATA.grade, DATA.rows, by={"group": DATA.group}),
    "classes in clusters": lambda: pr.cases(DATA.grade, DATA.rows, by={"group": DATA.group}, cluster=DATA.cluster),
}


@cache
def data_of(noise: str) -> Any:
    """Return the cases with this noise, or a ledger whose event rate is fixed."""
    if noise == "fixed rate":
        return pr.at_prevalence(pr.condense(DATA.y, DATA.models, by={"group": DATA.group}), 0.2)
    return NOISES[noise]()


EVERY = (*NOISES, "fixed rate")


def numbers_of_groups(found: Any) -> dict[str, list[float | None]]:
    """Return the numbers of the groups and of their differences from the rest, rounded."""
    rows = group_rows(found)
    own = {name: [_short(getattr(row.value, name)) for row in rows] for name in ("value", "low", "high")}
    tests = {"difference": "value", "p_value": "p", "p_adjusted": "p_adjusted"}
    return own | {name: [_short(getattr(row.rest, column)) for row in rows] for name, column in tests.items()}


def numbers_of_rows(rows: Any, value: str) -> dict[str, list[float | None]]:
    """Return the numbers of findings under the names by which they are recorded."""
    names = {value: "value", "low": "low", "high": "high", "standard_error": "error"}
    names |= {"p_value": "p", "p_adjusted": "p_adjusted"} if value == "difference" else {}
    return {name: [_short(entry) for entry in getattr(rows, column)] for name, column in names.items()}


def _short(value: Any) -> float | None:
    if value is None or math.isnan(value):
        return None
    return float(f"{value:.{DIGITS}g}")


def asked(key: str, noise: str) -> dict[str, Any]:
    """Return what each door says of a measure; the text of the error if it refuses."""
    measure, data = CATALOGUE[key], data_of(noise)
    models = tuple(DATA.models)
    doors: dict[str, Callable[[], Any]] = {
        f"estimate {model}": lambda model=model: pr.estimate(data, model, measure, n_resamples=DRAWS, seed=SEED)
        for model in models
    }
    doors["compare"] = lambda: pr.compare(data, measure=measure, n_resamples=DRAWS, seed=SEED)
    doors["slices"] = lambda: pr.slices(data, measure=measure, by="group", n_resamples=DRAWS, seed=SEED)
    found: dict[str, Any] = {}
    for door, ask in doors.items():
        try:
            result = ask()
        except pr.errors.ProprietyError as error:
            found[door] = {"refused": type(error).__name__}
            continue
        if door == "slices":
            found[door] = numbers_of_groups(result)
        elif door == "compare":
            found[door] = numbers_of_rows(result.differences, "difference")
            found["standings"] = numbers_of_rows(result.ranks(), "value")
        else:
            found[door] = numbers_of_rows(pr.results.Findings.of([result]), "value")
    return found


def record() -> dict[str, dict[str, Any]]:
    """Return all answers by measure and noise."""
    return {key: {noise: asked(key, noise) for noise in EVERY} for key in CATALOGUE}


if __name__ == "__main__":
    STORED.write_text(json.dumps(record(), indent=None, separators=(",", ":")).replace('},"', '},\n"') + "\n")
    sys.stdout.write(f"{STORED.name}: {STORED.stat().st_size:,} bytes\n")
