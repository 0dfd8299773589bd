"""Analyses of classes, of cases followed for some time, of groups, of grids and of calibration without bins."""

from __future__ import annotations

from collections.abc import Mapping

from sample import HORIZON, Works

import propriety as pr

__all__ = ["ANALYSES"]

BINS = 15


def named_arrays() -> Works:
    """Brier scores of named arrays at each station; the answer is their mean."""

    def ours(s):
        from propriety.integrations.xarray import mean_score

        return mean_score(*s.grids, rule=pr.Brier(), dim="time").mean()

    def scores(s):
        from scores.probability import brier_score

        y, p = s.grids
        return brier_score(p, y, reduce_dims="time").mean()

    def xskillscore(s):
        from xskillscore import brier_score

        # It takes outcomes that are true or false.
        y, p = s.grids
        return brier_score(y.astype(bool), p, dim="time").mean()

    return {"propriety": ours, "scores": scores, "xskillscore": xskillscore}


def class_error() -> Works:
    """Expected calibration errors of the top class with 15 bins."""

    def torchmetrics(s):
        from torchmetrics.functional.classification import multiclass_calibration_error

        y, rows = s.class_tensors
        return multiclass_calibration_error(rows, y, rows.shape[1], n_bins=BINS)

    def netcal(s):
        from netcal.metrics import ECE

        return ECE(BINS).measure(s.rows, s.likely)

    return {
        "propriety": lambda s: pr.expected_calibration_error(s.likely, s.rows, bins=BINS).value,
        "torchmetrics": torchmetrics,
        "netcal": netcal,
    }


def without_bins() -> Works:
    """Calibration errors without bins: cumulative differences, and in relplot a kernel."""

    def mcgrad(s):
        from mcgrad.metrics import ecce

        return ecce(s.y, s.p)

    def relplot(s):
        from relplot import smECE

        smECE(s.p, s.y)

    return {
        "propriety": lambda s: pr.cumulative_calibration_error(s.y, s.p).kuiper,
        "mcgrad": mcgrad,
        "relplot, smooth ECE": relplot,
    }


def brier_by_horizon() -> Works:
    """Brier scores of risks by a horizon, weighted for censoring."""

    def ours(s):
        time, event, risk = s.followed
        return pr.brier_score(pr.censored(time, event, horizons=HORIZON), risk)

    def scikit_survival(s):
        from sksurv.metrics import brier_score

        return brier_score(s.survival, s.survival, 1.0 - s.followed[2][:, None], [HORIZON])[1][0]

    return {"propriety": ours, "scikit-survival": scikit_survival}


def area_by_horizon() -> Works:
    """Areas under the ROC curve of risks by a horizon, weighted for censoring."""

    def ours(s):
        time, event, risk = s.followed
        return pr.roc_curve(pr.censored(time, event, horizons=HORIZON), risk).auc

    def scikit_survival(s):
        from sksurv.metrics import cumulative_dynamic_auc

        return cumulative_dynamic_auc(s.survival, s.survival, s.followed[2], [HORIZON])[0][0]

    return {"propriety": ours, "scikit-survival": scikit_survival}


def segments() -> Works:
    """Groups of two columns and their pairs whose forecasts are wrong; ours draws 1,000 times to test all together."""

    def ours(s):
        pr.find_segments(pr.cases(s.grouped, "p", outcome="y", by=["country", "device"]), seed=1)

    def mcgrad(s):
        from mcgrad.metrics import MulticalibrationError

        error = MulticalibrationError(
            s.grouped, "y", "p", categorical_segment_columns=["country", "device"], max_depth=2
        )
        error.segments_ecce_pvalue  # noqa: B018  (computed when it is asked for)

    return {"propriety": ours, "mcgrad, each segment by itself": mcgrad}


ANALYSES: Mapping[str, Works] = {
    "Brier score of named arrays": named_arrays(),
    f"Calibration error of {BINS} bins, 5 classes": class_error(),
    "Calibration error without bins": without_bins(),
    "Brier score by a horizon, censored": brier_by_horizon(),
    "Area under the ROC curve by a horizon, censored": area_by_horizon(),
    "Segments of two columns": segments(),
}
