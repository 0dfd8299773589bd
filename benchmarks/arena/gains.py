"""What recalibration methods gain on the test rows of the arena, in tables."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from forecasts import MODELS, forecasts_of
from problems import Problem

from propriety.result import Floats

__all__ = ["CLIPPED", "Fitted", "Method", "compared", "per_problem", "scores_of"]

Fitted = Callable[[Floats], Floats]
Method = Callable[[Floats, Floats], Fitted]

SIZES = (200, 600, 10**6)
CLIPPED = 1e-6  # Every forecast is kept this far from 0 and 1 before it is scored; else one case decides the mean.
NONE, AUTO, TWO = "none", "auto", 2


def scores_of(problem: Problem, methods: Mapping[str, Method], folder: Path) -> list[dict[str, object]]:
    """Return the scores of all methods for a problem, for every model and number of cases to fit to.

    A method that cannot be fitted leaves the forecasts as they are, and is marked as failed.
    """
    kept, rows = np.load(forecasts_of(problem, folder)), []
    y_own, y_test = kept["y_own"], kept["y_test"]
    order = np.random.default_rng(1).permutation(len(y_own))
    for model in MODELS:
        own, test = kept[f"{model} own"], kept[f"{model} test"]
        for size in SIZES:
            chosen = order[:size]
            if size != SIZES[-1] and len(chosen) == len(y_own):
                continue
            for name, fit in methods.items():
                try:
                    with contextlib.redirect_stdout(io.StringIO()):
                        after, failed = fit(own[chosen], y_own[chosen])(test), False
                except (ValueError, RuntimeError):
                    after, failed = test, True
                log, brier = _scored(after, y_test)
                row = {"problem": problem.name, "model": model, "size": size, "method": name}
                rows.append({**row, "log": log, "brier": brier, "failed": failed})
    return rows


def _scored(forecast: Floats, classes: Floats) -> tuple[float, float]:
    """Return log and Brier score (of two classes half the sum over both) of forecasts that are kept from certainty."""
    clipped = np.clip(forecast, CLIPPED, 1.0 - CLIPPED)
    clipped /= clipped.sum(axis=1, keepdims=True)
    happened = np.eye(clipped.shape[1])[classes]
    brier = ((clipped - happened) ** 2).sum(axis=1).mean()
    log = -np.log((clipped * happened).sum(axis=1)).mean()
    return float(log), float(brier / 2.0 if happened.shape[1] == TWO else brier)


def _gained(scores: pd.DataFrame) -> pd.DataFrame:
    """Return the gain of each method over the forecasts as they are, for every problem, model and size."""
    case = ["problem", "model", "size"]
    wide = {name: scores.pivot_table(index=case, columns="method", values=name) for name in ("log", "brier")}
    return pd.concat({name: -table.sub(table[NONE], axis=0) for name, table in wide.items()}, axis=1) * 1e4


def compared(scores: pd.DataFrame, methods: Sequence[str]) -> list[dict[str, object]]:
    """Return a row for each method: gains x 1e4, how often it is worse than none, and what `auto` gains more."""
    gained, rows = _gained(scores), []
    by_problem = gained.groupby("problem").mean()
    for method in methods:
        if method == NONE:
            continue
        row: dict[str, object] = {"method": method}
        for name in ("log", "brier"):
            own, apart = gained[name, method], by_problem[name, AUTO] - by_problem[name, method]
            error = apart.std() / len(apart) ** 0.5
            row |= {
                f"{name}: gain": round(own.mean(), 1),
                f"{name}: worse than none": f"{(own < 0).mean():.1%}",
                f"{name}: auto minus method": "" if method == AUTO else f"{apart.mean():.1f} ± {error:.1f}",
            }
        rows.append({**row, "not fitted": int(scores.failed[scores.method == method].sum())})
    return rows


def per_problem(scores: pd.DataFrame) -> pd.DataFrame:
    """Return the mean gain in log score of every method for each problem, x 1e4."""
    return _gained(scores)["log"].groupby("problem").mean().round(1)
