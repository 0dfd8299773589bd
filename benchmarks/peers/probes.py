"""The functions of every package that are probed with bad input, and their correct answers by definition."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from own_probes import ABOUT_FORECASTS, OF_ROWS, WITH_WEIGHTS, WITHOUT_WEIGHTS, answer_of

import propriety as pr

THRESHOLD = 0.37
BINS = 10
Answer = Callable[[list[float], Any, list[float]], float]


def mean(values, weights):
    return math.fsum(v * w for v, w in zip(values, weights, strict=True)) / math.fsum(weights)


def brier(y, p, w):
    return mean([(q - e) ** 2 for e, q in zip(y, p, strict=True)], w)


def log(y, p, w):
    right = [q if e else 1 - q for e, q in zip(y, p, strict=True)]
    return mean([-math.log(q) if q > 0 else math.inf for q in right], w)


def area(y, p, w):
    """Return the share of pairs in which the event has the higher forecast; None if there are no pairs."""
    cases = list(zip(y, p, w, strict=True))
    pairs = [(a, b) for a, b in product(cases, cases) if a[0] and not b[0]]
    weights = [a[2] * b[2] for a, b in pairs]
    return mean([(a[1] > b[1]) + (a[1] == b[1]) / 2 for a, b in pairs], weights) if sum(weights) else None


def miscalibration(y, p, w):
    """Return how much lower the score is after isotonic recalibration, by the min-max formula."""
    cases = list(zip(y, p, w, strict=True))
    values = sorted(set(p))

    def rate(low, high):
        inside = [(e, v) for e, q, v in cases if low <= q <= high]
        weight = sum(v for _, v in inside)
        return sum(e * v for e, v in inside) / weight if weight else None

    def isotonic(q):
        highs = [[rate(a, b) for b in values if b >= q] for a in values if a <= q]
        return max(min(r for r in row if r is not None) for row in highs if any(r is not None for r in row))

    return brier(y, p, w) - brier(y, [isotonic(q) for q in p], w)


def net_benefit(y, p, w):
    odds = THRESHOLD / (1 - THRESHOLD)
    return mean([(q >= THRESHOLD) * (e - (1 - e) * odds) for e, q in zip(y, p, strict=True)], w)


def binned_error(y, p, w):
    cells = [min(int(q * BINS), BINS - 1) for q in p]
    gaps = [sum(v * (q - e) for e, q, v, c in zip(y, p, w, cells, strict=True) if c == cell) for cell in range(BINS)]
    return sum(map(abs, gaps)) / sum(w)


def summed_brier(y, rows, w):
    return mean([sum((q - (k == c)) ** 2 for k, q in enumerate(row)) for c, row in zip(y, rows, strict=True)], w)


def class_log(y, rows, w):
    return mean([-math.log(row[int(c)]) for c, row in zip(y, rows, strict=True)], w)


def ranked(y, rows, w):
    def loss(c, row):
        cuts = len(row) - 1
        return sum((sum(row[: k + 1]) - (c <= k)) ** 2 for k in range(cuts)) / cuts

    return mean([loss(c, row) for c, row in zip(y, rows, strict=True)], w)


@dataclass(frozen=True)
class Probe:
    """A function of a package: how it is called, what it should answer, and what it takes."""

    package: str
    name: str
    answer: Answer
    call: Callable[[Any, Any, Any], Any]
    weights: bool = False
    rows: bool = False
    outcomes: bool = True


def ours() -> list[Probe]:
    def of(name, answer, read=float, *, rows=False, **options):
        function = getattr(pr, name)
        return Probe(
            *("propriety", name, answer),
            lambda y, p, w: read(function(y, p, sample_weight=w, **options)),
            weights=True,
            rows=rows,
        )

    others = [
        Probe(
            *("propriety", name, answer_of(call), call),
            weights=own in (WITH_WEIGHTS, OF_ROWS),
            rows=own is OF_ROWS,
            outcomes=own is not ABOUT_FORECASTS,
        )
        for own in (WITH_WEIGHTS, WITHOUT_WEIGHTS, ABOUT_FORECASTS, OF_ROWS)
        for name, call in own.items()
    ]
    return [
        of("brier_score", brier),
        of("log_score", log),
        of("roc_curve", area, lambda curve: curve.auc),
        of("decompose", miscalibration, lambda parts: parts.miscalibration),
        of("decision_curve", net_benefit, lambda curve: curve.value[0], grid=[THRESHOLD]),
        of("reliability_curve", binned_error, _gap, method="bins", bins=BINS),
        of("brier_score", summed_brier, rows=True, labels=(0, 1, 2)),
        of("log_score", class_log, rows=True, labels=(0, 1, 2)),
        of("ranked_probability_score", ranked, rows=True, labels=(0, 1, 2)),
        *others,
    ]


def _gap(curve):
    return np.average(np.abs(curve.event_rate - curve.forecast_mean), weights=curve.weight)


def scikit_learn() -> list[Probe]:
    from sklearn import metrics

    def of(name, answer, *, rows=False, **options):
        function = getattr(metrics, name)
        return Probe(
            *("scikit-learn", name, answer),
            lambda y, p, w: function(y, p, sample_weight=w, **options),
            weights=True,
            rows=rows,
        )

    return [
        of("brier_score_loss", brier),
        of("log_loss", log),
        of("roc_auc_score", area),
        of("brier_score_loss", summed_brier, rows=True, labels=(0, 1, 2), scale_by_half=False),
        of("log_loss", class_log, rows=True, labels=(0, 1, 2)),
    ]


def model_diagnostics() -> list[Probe]:
    from model_diagnostics.scoring import LogLoss, SquaredError, decompose

    def parts(y, p, w):
        return decompose(y, p, weights=w, scoring_function=SquaredError())["miscalibration"][0]

    package = "model-diagnostics"
    return [
        Probe(package, "LogLoss", log, LogLoss(), weights=True),
        Probe(package, "SquaredError", brier, SquaredError(), weights=True),
        Probe(package, "decompose", miscalibration, parts, weights=True),
    ]


def scoringrules() -> list[Probe]:
    import scoringrules as sr

    def rps(y, rows, _):
        # There the classes count from 1, and the sum is not divided by the number of cut points.
        return np.mean(sr.rps_score(np.asarray(y) + 1, rows)) / (np.shape(rows)[-1] - 1)

    package = "scoringrules"
    return [
        Probe(package, "brier_score", brier, lambda y, p, _: np.mean(sr.brier_score(y, p))),
        Probe(package, "log_score", log, lambda y, p, _: np.mean(sr.log_score(y, p))),
        Probe(package, "rps_score", ranked, rps, rows=True),
    ]


def scores() -> list[Probe]:
    import xarray as xr
    from scores import probability

    def of(name, answer):
        function = getattr(probability, name)

        def call(y, p, w):
            weights = None if w is None else xr.DataArray(w)
            return float(function(xr.DataArray(p), xr.DataArray(y), weights=weights))

        return Probe("scores", name, answer, call, weights=True)

    return [of("brier_score", brier), of("roc_auc", area)]


def dcurves() -> list[Probe]:
    import pandas as pd
    from dcurves import dca

    def call(y, p, _):
        found = dca(data=pd.DataFrame({"y": y, "p": p}), outcome="y", modelnames=["p"], thresholds=[THRESHOLD])
        return found.loc[found["model"] == "p", "net_benefit"].item()

    return [Probe("dcurves", "dca", net_benefit, call)]


def briertools() -> list[Probe]:
    from briertools import BrierScorer, LogLossScorer

    return [
        Probe("briertools", "BrierScorer", brier, lambda y, p, _: BrierScorer().score(y, p)),
        Probe("briertools", "LogLossScorer", log, lambda y, p, _: LogLossScorer().score(y, p)),
    ]


def torchmetrics() -> list[Probe]:
    import torch
    from torchmetrics.functional.classification import binary_auroc, binary_calibration_error

    def error(y, p, _):
        return float(binary_calibration_error(torch.as_tensor(p), torch.as_tensor(y), n_bins=BINS))

    def auroc(y, p, _):
        return float(binary_auroc(torch.as_tensor(p), torch.as_tensor(y)))

    return [
        Probe("torchmetrics", "binary_calibration_error", binned_error, error),
        Probe("torchmetrics", "binary_auroc", area, auroc),
    ]


PACKAGES = (ours, scikit_learn, model_diagnostics, scoringrules, scores, dcurves, briertools, torchmetrics)
