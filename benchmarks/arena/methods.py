"""The methods of the arena: ours, and those of other packages; each is fitted to rows of class probabilities."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from betacal import BetaCalibration
from gains import CLIPPED, Fitted, Method
from probmetrics.calibrators import get_calibrator
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from venn_abers import VennAbers

import propriety as pr
from propriety.recalibration.class_rows import ClassRows
from propriety.recalibration.methods import CLASS_METHODS, METHODS
from propriety.result import Floats
from propriety.tables.forecast_table import ForecastTable

__all__ = ["OF_CLASSES", "OF_EVENTS"]


class Given(ClassifierMixin, BaseEstimator):
    """A classifier whose features are its forecasts, so that scikit-learn recalibrates forecasts that are given."""

    def fit(self, X: Floats, y: Floats) -> Given:  # noqa: N803  (scikit-learn's name)
        """Learn nothing but the classes."""
        self.classes_, self.n_features_in_ = np.unique(y), X.shape[1]
        return self

    def predict_proba(self, X: Floats) -> Floats:  # noqa: N803
        """Return the features."""
        return np.asarray(X)

    def predict(self, X: Floats) -> Floats:  # noqa: N803
        """Return the class with the highest forecast."""
        return self.classes_[np.argmax(X, axis=1)]


def _both(p: Floats) -> Floats:
    return np.column_stack([1.0 - p, p])


def _kept(rows: Floats) -> Floats:
    """Return forecasts for other packages, kept from certainty, without which their log-odds are useless."""
    clipped = np.clip(rows, CLIPPED, 1.0 - CLIPPED)
    return clipped / clipped.sum(axis=1, keepdims=True)


def _event(fit: Callable[[Floats, Floats], Fitted]) -> Method:
    """Return a method of one event as one of two classes."""

    def fit_rows(rows: Floats, classes: Floats) -> Fitted:
        own = fit(rows[:, 1], classes)
        return lambda new: _both(own(new[:, 1]))

    return fit_rows


def _ours(method: str) -> Method:
    return _event(lambda p, y: METHODS[method](ForecastTable.from_predictions(y, p)))


def _ours_of_classes(method: str) -> Method:
    def fit(rows: Floats, classes: Floats) -> Fitted:
        labels = list(range(rows.shape[1]))
        return CLASS_METHODS[method](ClassRows.from_predictions(classes, rows, labels=labels))

    return fit


def _chosen(p: Floats, y: Floats) -> Fitted:
    return pr.recalibrate(y, p, method="choose", candidates=["floored", "logistic", "spline"], folds=5)


def _scikit_learn(method: str) -> Method:
    def fit(rows: Floats, classes: Floats) -> Fitted:
        given = Given().fit(rows, np.arange(rows.shape[1]))
        own = CalibratedClassifierCV(FrozenEstimator(given), method=method).fit(_kept(rows), classes)
        return lambda new: own.predict_proba(_kept(new))

    return fit


def _probmetrics(method: str) -> Method:
    def fit(rows: Floats, classes: Floats) -> Fitted:
        own = get_calibrator(method)
        own.fit(_kept(rows), classes)
        return lambda new: np.asarray(own.predict_proba(_kept(new)), float)

    return fit


def _betacal(rows: Floats, classes: Floats) -> Fitted:
    own = BetaCalibration("abm").fit(_kept(rows)[:, 1:], classes)
    return lambda new: _both(own.predict(_kept(new)[:, 1:]))


def _venn_abers(rows: Floats, classes: Floats) -> Fitted:
    own = VennAbers()
    own.fit(_kept(rows), classes)
    return lambda new: own.predict_proba(_kept(new))[0]


SCIKIT_LEARN = {f"scikit-learn {name}": _scikit_learn(name) for name in ("sigmoid", "isotonic", "temperature")}
OF_EVENTS: dict[str, Method] = {
    **{name: _ours(name) for name in METHODS},
    "choose of three": _event(_chosen),
    **SCIKIT_LEARN,
    "betacal": _betacal,
    "venn-abers (package)": _venn_abers,
    **{
        f"probmetrics {name}": _probmetrics(name)
        for name in ("affine-scaling", "quadratic-scaling", "logistic-mix", "ts-mix")
    },
}
OF_CLASSES: dict[str, Method] = {
    **{name: _ours_of_classes(name) for name in CLASS_METHODS},
    **SCIKIT_LEARN,
    **{f"probmetrics {name}": _probmetrics(name) for name in ("sms", "svs", "logistic-mix", "ts-mix", "ivap-ovr")},
}
