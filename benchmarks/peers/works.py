"""The same tasks in every package that supports them, whose time and memory are measured.

A task takes a sample and returns its answer as a number, to check that the packages agree, or None if the package only
draws. Every package is given its own kind of container, made beforehand, and is imported on first use.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from analysis_works import ANALYSES
from recalibration_works import RECALIBRATIONS
from sample import CLASSES, GRID, RESAMPLES, Works

import propriety as pr


def brier() -> Works:
    def scikit_learn(s):
        from sklearn.metrics import brier_score_loss

        return brier_score_loss(s.y, s.p)

    def model_diagnostics(s):
        from model_diagnostics.scoring import SquaredError

        return SquaredError()(s.y, s.p)

    def scoringrules(s):
        from scoringrules import brier_score

        return brier_score(s.y, s.p).mean()

    def scores(s):
        from scores.probability import brier_score

        y, p = s.arrays
        return brier_score(p, y)

    def briertools(s):
        from briertools import BrierScorer

        return BrierScorer().score(s.y, s.p)

    def torchmetrics(s):
        from torchmetrics.functional import mean_squared_error

        y, p = s.tensors
        return mean_squared_error(p, y)

    return {
        "propriety": lambda s: pr.brier_score(s.y, s.p),
        "scikit-learn": scikit_learn,
        "model-diagnostics": model_diagnostics,
        "scoringrules": scoringrules,
        "scores": scores,
        "briertools": briertools,
        "torchmetrics, as a squared error": torchmetrics,
    }


def log() -> Works:
    def scikit_learn(s):
        from sklearn.metrics import log_loss

        return log_loss(s.y, s.p)

    def model_diagnostics(s):
        from model_diagnostics.scoring import LogLoss

        return LogLoss()(s.y, s.p)

    def scoringrules(s):
        from scoringrules import log_score

        return log_score(s.y, s.p).mean()

    def briertools(s):
        from briertools import LogLossScorer

        return LogLossScorer().score(s.y, s.p)

    return {
        "propriety": lambda s: pr.log_score(s.y, s.p),
        "scikit-learn": scikit_learn,
        "model-diagnostics": model_diagnostics,
        "scoringrules": scoringrules,
        "briertools": briertools,
    }


def ranked() -> Works:
    def scoringrules(s):
        from scoringrules import rps_score

        # There the classes count from 1, and the sum is not divided by the number of cut points.
        return rps_score(s.classes + 1, s.rows).mean() / (CLASSES - 1)

    return {"propriety": lambda s: pr.ranked_probability_score(s.classes, s.rows), "scoringrules": scoringrules}


def isotonic_curve() -> Works:
    """Isotonic curves; the answer is the rate at a forecast of one half."""

    def scikit_learn(s):
        from sklearn.isotonic import IsotonicRegression

        return IsotonicRegression(out_of_bounds="clip").fit(s.p, s.y).predict([0.5])[0]

    def model_diagnostics(s):
        from model_diagnostics.calibration import plot_reliability_diagram

        plot_reliability_diagram(s.y, s.p)

    def scores(s):
        from scores.probability import isotonic_fit

        return float(isotonic_fit(s.p, s.y)["regression_func"](0.5))

    def scoringrules(s):
        from scoringrules.visualization import reliability_diagram

        reliability_diagram(s.y, s.p, uncertainty_band=None)

    return {
        "propriety": lambda s: pr.reliability_curve(s.y, s.p).at([0.5])[0],
        "propriety, drawn": lambda s: pr.reliability_curve(s.y, s.p).plot() and None,
        "scikit-learn, the regression": scikit_learn,
        "model-diagnostics, drawn": model_diagnostics,
        "scores": scores,
        "scoringrules, drawn": scoringrules,
    }


def binned_curve() -> Works:
    """Curves of ten bins; the answer is the error of calibration that they show."""

    def ours(s):
        curve = pr.reliability_curve(s.y, s.p, method="bins", bins=10)
        return np.average(np.abs(curve.event_rate - curve.forecast_mean), weights=curve.weight)

    def scikit_learn(s):
        from sklearn.calibration import calibration_curve

        calibration_curve(s.y, s.p, n_bins=10)

    return {"propriety": ours, "scikit-learn": scikit_learn}


def binned_error() -> Works:
    """Expected calibration errors with ten bins."""

    def torchmetrics(s):
        from torchmetrics.functional.classification import binary_calibration_error

        y, p = s.tensors
        return binary_calibration_error(p, y, n_bins=10)

    def netcal(s):
        from netcal.metrics import ECE

        return ECE(10).measure(s.p, s.y)

    def mapie(s):
        from mapie.metrics.calibration import expected_calibration_error

        # There the bins end at the highest forecast instead of 1.
        expected_calibration_error(s.y, s.p, num_bins=10, split_strategy="uniform")

    return {
        "propriety": lambda s: pr.expected_calibration_error(s.y, s.p, bins=10).value,
        "torchmetrics": torchmetrics,
        "netcal": netcal,
        "MAPIE": mapie,
    }


def parts() -> Works:
    def model_diagnostics(s):
        from model_diagnostics.scoring import SquaredError, decompose

        return decompose(s.y, s.p, scoring_function=SquaredError())["miscalibration"][0]

    return {"propriety": lambda s: pr.decompose(s.y, s.p).miscalibration, "model-diagnostics": model_diagnostics}


def murphy() -> Works:
    """Murphy diagrams at 100 thresholds; the answer is their mean, scaled to an area of half a Brier score."""

    def model_diagnostics(s):
        from model_diagnostics.scoring import plot_murphy_diagram

        plot_murphy_diagram(s.y, s.p, etas=GRID)

    def scores(s):
        from scores.probability import murphy_score

        y, p = s.arrays
        # There the area is a quarter of a Brier score.
        return 2 * float(murphy_score(p, y, thetas=GRID, functional="expectile", alpha=0.5)["total"].mean())

    def briertools(s):
        from briertools import BrierScorer
        from matplotlib import pyplot as plt

        scorer = BrierScorer()
        scorer.n_points = len(GRID)
        scorer.plot_curve(plt.gca(), s.y, s.p, threshold_range=(GRID[0], GRID[-1]))

    return {
        "propriety": lambda s: pr.murphy_curve(s.y, s.p, grid=GRID, parts=False).value.mean(),
        "propriety, with its parts": lambda s: pr.murphy_curve(s.y, s.p, grid=GRID).value.mean(),
        "model-diagnostics, drawn": model_diagnostics,
        "scores": scores,
        "briertools, drawn": briertools,
    }


def roc() -> Works:
    def scikit_learn(s):
        from sklearn.metrics import auc, roc_curve

        false_alarms, hits, _ = roc_curve(s.y, s.p)
        return auc(false_alarms, hits)

    def scores(s):
        from scores.probability import roc_curve_data

        y, p = s.arrays
        return roc_curve_data(p, y)["AUC"]

    def torchmetrics(s):
        from torchmetrics.functional.classification import binary_roc
        from torchmetrics.utilities.compute import auc

        y, p = s.tensors
        false_alarms, hits, _ = binary_roc(p, y)
        return auc(false_alarms, hits)

    return {
        "propriety": lambda s: pr.roc_curve(s.y, s.p).auc,
        "scikit-learn": scikit_learn,
        "scores": scores,
        "torchmetrics": torchmetrics,
    }


def decision() -> Works:
    """Decision curves at 100 thresholds; the answer is the mean net benefit."""

    def dcurves(s):
        from dcurves import dca

        found = dca(data=s.frame, outcome="y", modelnames=["p"], thresholds=GRID)
        return found.loc[found["model"] == "p", "net_benefit"].mean()

    def briertools(s):
        from briertools import DCAScorer
        from matplotlib import pyplot as plt

        scorer = DCAScorer()
        scorer.n_points = len(GRID)
        scorer.plot_curve(plt.gca(), s.y, s.p, threshold_range=(GRID[0], GRID[-1]))

    def rtichoke(s):
        from rtichoke import prepare_performance_data

        # Its thresholds are 0, 0.01, ..., 1.
        prepare_performance_data(probs={"p": s.p}, reals=s.y, by=0.01)

    return {
        "propriety": lambda s: pr.decision_curve(s.y, s.p, grid=GRID).value.mean(),
        "dcurves": dcurves,
        "rtichoke": rtichoke,
        "briertools, drawn": briertools,
    }


def bootstrap() -> Works:
    """Intervals of a Brier score from 1,000 draws; draws differ, so that there is no common answer."""

    def ours(s):
        pr.estimate(s.y, s.p, method="bootstrap", n_resamples=RESAMPLES, seed=1)

    def scores(s):
        from scores.processing import block_bootstrap

        y, p = s.arrays
        draws = block_bootstrap([(p - y) ** 2], blocks={"case": 1}, n_iteration=RESAMPLES)
        draws.mean("case").quantile([0.025, 0.975])

    def torchmetrics(s):
        import torch
        from torchmetrics import MeanSquaredError
        from torchmetrics.wrappers import BootStrapper

        y, p = s.tensors
        metric = BootStrapper(
            MeanSquaredError(),
            num_bootstraps=RESAMPLES,
            quantile=torch.tensor([0.025, 0.975]),
            sampling_strategy="multinomial",
        )
        metric.update(p, y)
        metric.compute()

    return {"propriety": ours, "scores, of known losses": scores, "torchmetrics, of a squared error": torchmetrics}


def band() -> Works:
    """Bands of the isotonic curve from 1,000 draws; ours is around the diagonal, theirs around the curve."""

    def ours(s):
        pr.reliability_curve(s.y, s.p).with_consistency_band(method="resampling", n_resamples=RESAMPLES, seed=1)

    def model_diagnostics(s):
        from model_diagnostics.calibration import plot_reliability_diagram

        plot_reliability_diagram(s.y, s.p, n_bootstrap=RESAMPLES)

    def scores(s):
        from scores.probability import isotonic_fit

        isotonic_fit(s.p, s.y, bootstraps=RESAMPLES)

    return {"propriety": ours, "model-diagnostics, drawn": model_diagnostics, "scores": scores}


TASKS: Mapping[str, Works] = {
    "Brier score": brier(),
    "Log score": log(),
    f"Ranked probability score, {CLASSES} classes": ranked(),
    "Reliability curve, isotonic": isotonic_curve(),
    "Reliability curve, 10 bins": binned_curve(),
    "Calibration error of 10 bins": binned_error(),
    "Decomposition of the Brier score": parts(),
    "Murphy diagram, 100 thresholds": murphy(),
    "ROC curve with its area": roc(),
    "Decision curve, 100 thresholds": decision(),
    "Interval of a Brier score, 1,000 draws": bootstrap(),
    "Band of a reliability curve, 1,000 draws": band(),
    **RECALIBRATIONS,
    **ANALYSES,
}
