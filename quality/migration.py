"""Calls of other packages and the corresponding calls of this one, on the same cases: how much the answers differ.

Every pair of calls of the migration page that can be run is run twice: on forecasts of two decimals, with many ties
between forecasts, thresholds and bin edges; and on slightly shifted forecasts without ties.

Run, where scikit-learn, model-diagnostics, briertools, dcurves, scores and netcal are installed:
python quality/migration.py
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from briertools.scorers import BrierScorer, DCAScorer, LogLossScorer
from dcurves import dca
from model_diagnostics import scoring
from netcal.metrics import ECE
from record import IN_THE_SCRIPT, table, write
from scores import probability
from sklearn import metrics
from sklearn.calibration import calibration_curve
from sklearn.isotonic import IsotonicRegression

import propriety as pr

CASES = 2_000
HAIR = 1e-9  # Times the number of the case: what sets equal forecasts apart.
GRID = np.array([0.05, 0.1, 0.2, 0.4])
INTERVAL = (0.05, 0.2)
AGREES = 1e-12
LIBRARIES = ("propriety", "numpy", "scikit-learn", "model-diagnostics", "briertools", "dcurves", "scores", "netcal")


@dataclass(frozen=True)
class Cases:
    """Outcomes and forecasts of an event, and of three classes."""

    y: Any
    p: Any
    c: Any
    rows: Any

    @property
    def arrays(self) -> tuple[Any, Any]:
        """Return forecasts and outcomes as xarray has them."""
        return xr.DataArray(self.p, dims="case"), xr.DataArray(self.y.astype(float), dims="case")

    @property
    def bins(self) -> Any:
        """Return the curve of ten bins."""
        return pr.reliability_curve(self.y, self.p, method="bins", bins=10)

    @property
    def elementary(self) -> Any:
        """Return the mean elementary score at each threshold of the grid."""
        return np.array([pr.mean_score(self.y, self.p, rule=pr.Elementary(c)) for c in GRID])


@dataclass(frozen=True)
class Pair:
    """A call of another package and the call here, with what each gives."""

    package: str
    there: str
    here: str
    theirs: Callable[[Cases], Any]
    ours: Callable[[Cases], Any]

    def difference(self, cases: Cases) -> float:
        """Return the largest distance between the two answers."""
        return float(np.abs(np.asarray(self.theirs(cases), float) - np.asarray(self.ours(cases), float)).max())


def net_benefit(cases: Cases) -> Any:
    """Return what dcurves computes."""
    frame = pd.DataFrame({"y": cases.y, "p": cases.p})
    found = dca(data=frame, outcome="y", modelnames=["p"], thresholds=GRID)
    return found.loc[found["model"] == "p", "net_benefit"]


def parts(cases: Cases, function: Any) -> Any:
    """Return the decomposition of model-diagnostics."""
    found = scoring.decompose(cases.y, cases.p, scoring_function=function)
    return found[["score", "miscalibration", "discrimination", "uncertainty"]].to_numpy()[0]


def own_parts(cases: Cases, rule: pr.Rule) -> list[float]:
    """Return the decomposition here."""
    found = pr.decompose(cases.y, cases.p, rule=rule)
    return [found.score, found.miscalibration, found.discrimination, found.uncertainty]


def murphy(cases: Cases) -> Any:
    """Return the Murphy score of expectiles as scores has it."""
    options = {"functional": "expectile", "alpha": 0.5}
    return probability.murphy_score(*cases.arrays, thetas=GRID, **options)["total"].to_numpy()


def fitted(cases: Cases) -> tuple[Any, Any]:
    """Return forecasts and their recalibrated values as scores has them."""
    fit = probability.isotonic_fit(*cases.arrays)
    return fit["fcst_sorted"], fit["regression_values"]


def binned_error(cases: Cases) -> float:
    """Return the mean distance between forecast and rate over ten bins."""
    bins = cases.bins
    return float(bins.weight @ np.abs(bins.event_rate - bins.forecast_mean) / bins.weight.sum())


PAIRS = [
    *(
        Pair("scikit-learn", *calls)
        for calls in (
            (
                "brier_score_loss(y, p)",
                "brier_score(y, p)",
                lambda s: metrics.brier_score_loss(s.y, s.p),
                lambda s: pr.brier_score(s.y, s.p),
            ),
            (
                "brier_score_loss(c, P)",
                "brier_score(c, P)",
                lambda s: metrics.brier_score_loss(s.c, s.rows),
                lambda s: pr.brier_score(s.c, s.rows),
            ),
            (
                "brier_score_loss(c, P, scale_by_half=True)",
                'brier_score(c, P, scale="half")',
                lambda s: metrics.brier_score_loss(s.c, s.rows, scale_by_half=True),
                lambda s: pr.brier_score(s.c, s.rows, scale="half"),
            ),
            (
                "log_loss(c, P)",
                "log_score(c, P)",
                lambda s: metrics.log_loss(s.c, s.rows),
                lambda s: pr.log_score(s.c, s.rows),
            ),
            (
                "roc_auc_score(y, p)",
                "roc_curve(y, p).auc",
                lambda s: metrics.roc_auc_score(s.y, s.p),
                lambda s: pr.roc_curve(s.y, s.p).auc,
            ),
            (
                "calibration_curve(y, p, n_bins=10)",
                'reliability_curve(y, p, method="bins", bins=10)',
                lambda s: calibration_curve(s.y, s.p, n_bins=10)[0],
                lambda s: s.bins.event_rate,
            ),
            (
                "IsotonicRegression().fit_transform(p, y)",
                "reliability_curve(y, p).at(p)",
                lambda s: IsotonicRegression().fit_transform(s.p, s.y),
                lambda s: pr.reliability_curve(s.y, s.p).at(s.p),
            ),
            (
                'cohen_kappa_score(c, P.argmax(axis=1), weights="quadratic")',
                "quadratic_weighted_kappa(c, P)",
                lambda s: metrics.cohen_kappa_score(s.c, s.rows.argmax(axis=1), weights="quadratic"),
                lambda s: pr.quadratic_weighted_kappa(s.c, s.rows),
            ),
        )
    ),
    Pair(
        "model-diagnostics",
        "decompose(y, p, scoring_function=SquaredError())",
        "decompose(y, p)",
        lambda s: parts(s, scoring.SquaredError()),
        lambda s: own_parts(s, pr.Brier()),
    ),
    Pair(
        "model-diagnostics",
        "decompose(y, p, scoring_function=LogLoss())",
        "decompose(y, p, rule=Log())",
        lambda s: parts(s, scoring.LogLoss()),
        lambda s: own_parts(s, pr.Log()),
    ),
    Pair(
        "model-diagnostics",
        'ElementaryScore(eta, functional="mean")(y, p)',
        "mean_score(y, p, rule=Elementary(eta))",
        lambda s: [scoring.ElementaryScore(eta=c, functional="mean")(y_obs=s.y, y_pred=s.p) for c in GRID],
        lambda s: s.elementary,
    ),
    Pair(
        "briertools",
        "BrierScorer().score(y, p, (low, high))",
        'bounded_brier_score(y, p, thresholds=(low, high), normalize="none")',
        lambda s: BrierScorer().score(s.y, s.p, INTERVAL),
        lambda s: pr.bounded_brier_score(s.y, s.p, thresholds=INTERVAL, normalize="none"),
    ),
    Pair(
        "briertools",
        "LogLossScorer().score(y, p, (low, high))",
        'bounded_log_score(y, p, thresholds=(low, high), normalize="none")',
        lambda s: LogLossScorer().score(s.y, s.p, INTERVAL),
        lambda s: pr.bounded_log_score(s.y, s.p, thresholds=INTERVAL, normalize="none"),
    ),
    Pair(
        "briertools",
        "DCAScorer().score(y, p, (low, high))",
        'bounded_brier_score(y, p, thresholds=(low, high), normalize="none")',
        lambda s: DCAScorer().score(s.y, s.p, INTERVAL),
        lambda s: pr.bounded_brier_score(s.y, s.p, thresholds=INTERVAL, normalize="none"),
    ),
    Pair(
        "dcurves",
        'dca(data, outcome="y", modelnames=["p"], thresholds=grid)',
        "decision_curve(y, p, grid=grid).value",
        net_benefit,
        lambda s: pr.decision_curve(s.y, s.p, grid=GRID).value,
    ),
    Pair(
        "scores",
        "brier_score(fcst, obs)",
        "brier_score(y, p)",
        lambda s: probability.brier_score(*s.arrays),
        lambda s: pr.brier_score(s.y, s.p),
    ),
    Pair(
        "scores",
        "isotonic_fit(fcst, obs)",
        "reliability_curve(y, p).at(p)",
        lambda s: fitted(s)[1],
        lambda s: pr.reliability_curve(s.y, s.p).at(fitted(s)[0]),
    ),
    Pair(
        "scores",
        'murphy_score(fcst, obs, thetas, functional="expectile", alpha=0.5)',
        "mean_score(y, p, rule=Elementary(theta)) / 2",
        murphy,
        lambda s: s.elementary / 2,
    ),
    Pair(
        "netcal",
        "ECE(bins=10).measure(p, y)",
        'mean distance of event_rate and forecast_mean in reliability_curve(y, p, method="bins")',
        lambda s: ECE(bins=10).measure(s.p, s.y),
        binned_error,
    ),
]


def samples() -> Iterator[Cases]:
    """Return the cases twice: with equal forecasts, and with forecasts that are a hair apart."""
    rng = np.random.default_rng(1)
    p = np.clip(rng.beta(1, 3, CASES).round(2), 0.01, 0.99)
    y = (rng.random(CASES) < p).astype(int)
    rows = (1 + rng.multinomial(17, [0.2, 0.3, 0.5], CASES)) / 20
    c = (rng.random((CASES, 1)) > rows.cumsum(axis=1)[:, :-1]).sum(axis=1)
    yield Cases(y, p, c, rows)
    hair = HAIR * np.arange(1, CASES + 1)
    yield Cases(y, p + hair, c, rows + hair[:, None] * np.array([1, 0, -1]))


def main() -> None:
    """Run every pair, and write what was found."""
    tied, apart = samples()
    rows = [
        {
            "package": pair.package,
            "there": pair.there,
            "here": pair.here,
            "difference": f"{pair.difference(apart):.1g}",
            "with ties": f"{pair.difference(tied):.1g}",
        }
        for pair in PAIRS
    ]
    equal = [[float(row[column]) <= AGREES for row in rows] for column in ("difference", "with ties")]
    summary = (
        f"Of {len(rows)} pairs of calls, {sum(equal[0])} agree to {AGREES:g} if all forecasts are distinct, and "
        f"{sum(equal[1])} if there are ties between forecasts, thresholds and bin edges."
    )
    write(
        "migration",
        title="Corresponding calls of other packages",
        summary=summary,
        command="python quality/migration.py",
        tables=[table(f"Largest difference between the answers on {CASES:,} cases", rows)],
        libraries=LIBRARIES,
        seed=IN_THE_SCRIPT,
        notes=[
            "A forecast on the edge between bins belongs to the upper one here, and to the lower one in scikit-learn.",
            "In netcal, rounding decides to which bin it belongs.",
            "A forecast that equals a threshold leads to action here, but not in the Murphy score of scores.",
        ],
    )


if __name__ == "__main__":
    main()
