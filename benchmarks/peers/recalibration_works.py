"""Recalibration: a map is fitted to all cases and applied to them; the answer is a mean of the new forecasts."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from sample import Sample, Works

from propriety.recalibration import CLASS_METHODS, METHODS, ClassRows
from propriety.tables.forecast_table import ForecastTable

__all__ = ["RECALIBRATIONS"]


def ours(method: str, s: Sample) -> np.ndarray:
    """Return the forecasts after recalibration."""
    return METHODS[method](ForecastTable.from_predictions(s.y, s.p))(s.p)


def both(p: np.ndarray) -> np.ndarray:
    """Return the probabilities of both outcomes."""
    return np.column_stack([1.0 - p, p])


def isotonic() -> Works:
    """Isotonic regression; the answer is the mean square."""

    def scikit_learn(s):
        from sklearn.isotonic import IsotonicRegression

        return np.square(IsotonicRegression(out_of_bounds="clip").fit(s.p, s.y).predict(s.p)).mean()

    def netcal(s):
        from netcal.binning import IsotonicRegression

        return np.square(IsotonicRegression().fit_transform(s.p, s.y)).mean()

    return {
        "propriety": lambda s: np.square(ours("isotonic", s)).mean(),
        "scikit-learn": scikit_learn,
        "netcal": netcal,
    }


def beta() -> Works:
    """Beta calibration; the answer is the mean square."""

    def betacal(s):
        from betacal import BetaCalibration

        return np.square(BetaCalibration("abm").fit(s.p[:, None], s.y).predict(s.p[:, None])).mean()

    def netcal(s):
        from netcal.scaling import BetaCalibration

        return np.square(BetaCalibration().fit_transform(s.p, s.y)).mean()

    return {"propriety": lambda s: np.square(ours("beta", s)).mean(), "betacal": betacal, "netcal": netcal}


def temperature() -> Works:
    """One temperature for rows of classes; the answer is the mean of the largest probability."""

    def of_ours(s):
        labels = list(range(s.rows.shape[1]))
        fitted = CLASS_METHODS["temperature"](ClassRows.from_predictions(s.likely, s.rows, labels=labels))
        return fitted(s.rows).max(axis=1).mean()

    def netcal(s):
        from netcal.scaling import TemperatureScaling

        return TemperatureScaling().fit_transform(s.rows, s.likely).max(axis=1).mean()

    def probmetrics(s):
        from probmetrics.calibrators import get_calibrator

        fitted = get_calibrator("temp-scaling")
        fitted.fit(s.rows, s.likely)
        return np.asarray(fitted.predict_proba(s.rows)).max(axis=1).mean()

    return {"propriety": of_ours, "netcal": netcal, "probmetrics": probmetrics}


def venn_abers() -> Works:
    """Venn-Abers forecasts; the answer is their mean."""

    def package(s):
        from venn_abers import VennAbers

        fitted = VennAbers()
        fitted.fit(both(s.p), s.y)
        return fitted.predict_proba(both(s.p))[0][:, 1].mean()

    return {"propriety": lambda s: ours("venn-abers", s).mean(), "venn-abers": package}


RECALIBRATIONS: Mapping[str, Works] = {
    "Isotonic recalibration": isotonic(),
    "Beta recalibration": beta(),
    "Temperature of classes": temperature(),
    "Venn-Abers forecasts": venn_abers(),
}
