"""Estimators fitted to parts of the cases, or to cases drawn with replacement, and their forecasts of other cases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from propriety.errors import InputTypeError, InputValueError, MissingDependencyError, ProprietyError
from propriety.evaluation.estimators import predicted
from propriety.inference.answers_ledger import as_measured
from propriety.inference.mean_estimates import measured_moments
from propriety.inference.measures import Mean, Measure, Skill
from propriety.ledger.ledger import Ledger
from propriety.ledger.sources import open_ledger

__all__ = ["Fold", "Sample", "drawn_rows", "folds_of", "folds_of_sites", "value_in"]

Rows = NDArray[np.intp]

MOST_DRAWS = 1000  # Draws after which a sample that holds all classes is given up.


class Fold(NamedTuple):
    """The rows that an estimator is fitted to, and those that it forecasts; the repeat and the label of the part."""

    train: Rows
    test: Rows
    repeat: int
    label: Any


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Features and outcomes of the cases, and the estimators that are fitted to them, by name."""

    estimators: Mapping[str, Any]
    X: Any
    y: NDArray[Any]
    pos_label: Any = None
    labels: Any = None

    @classmethod
    def of(cls, estimator: Any, X: Any, y: object, pos_label: Any, labels: Any) -> Sample:  # noqa: N803  (scikit-learn's name)
        """Read the arguments of `propriety.validate`."""
        _check_sklearn()
        estimators = dict(estimator) if isinstance(estimator, Mapping) else {"model": estimator}
        wrong = next((name for name, one in estimators.items() if not _can_fit(one)), None)
        if wrong is not None or not estimators:
            law = "must be an estimator with fit and predict_proba, or a mapping of names to such"
            offender = "it is empty" if wrong is None else f"{wrong!r} is {type(estimators[wrong]).__name__}"
            hint = "sklearn.calibration.CalibratedClassifierCV gives a classifier without probabilities predict_proba."
            raise InputTypeError(law, argument="estimator", offender=offender, hint=hint)
        outcomes = np.asarray(y)
        if not (X.shape if hasattr(X, "shape") else hasattr(X, "__len__")):
            raise InputTypeError("must have one row per case", argument="X", offender=f"got {type(X).__name__}")
        rows = int(X.shape[0]) if hasattr(X, "shape") else len(X)
        if outcomes.ndim != 1 or len(outcomes) != rows:
            law, offender = "must have one outcome for each row of X", f"it has shape {outcomes.shape}, X {rows} rows"
            raise InputValueError(law, argument="y_true", offender=offender)
        if len(set(outcomes.tolist())) == 1:
            law = "must hold two classes or more"
            raise InputValueError(law, argument="y_true", offender=f"all outcomes are {outcomes.tolist()[0]!r}")
        return cls(estimators, X, outcomes, pos_label, labels)

    def __len__(self) -> int:
        return len(self.y)

    def fitted(self, rows: Rows) -> dict[str, Any]:
        """Fit a copy of every estimator to some rows."""
        from sklearn.base import clone

        X = self._features(rows)  # noqa: N806  (scikit-learn's name)
        return {name: clone(one, safe=False).fit(X, self.y[rows]) for name, one in self.estimators.items()}

    def forecasts(self, fitted: Mapping[str, Any], rows: Rows) -> tuple[dict[str, NDArray[Any]], Any]:
        """Return the forecasts of fitted estimators for some rows, and the labels of the classes."""
        found, labels = predicted(fitted, self._features(rows), pos_label=self.pos_label, labels=self.labels)
        return found, labels

    def ledger(self, rows: Rows, forecasts: Mapping[str, Any], **keys: Any) -> Ledger:
        """Return the ledger of forecasts of some rows."""
        return open_ledger(self.y[rows], forecasts, pos_label=self.pos_label, labels=self.labels, **keys)

    def _features(self, rows: Rows) -> Any:
        from sklearn.utils import _safe_indexing

        return _safe_indexing(self.X, rows)


def value_in(ledger: Ledger, measure: Measure, model: str) -> float:
    """Return the value of a measure for a model of a ledger, without its error."""
    known = as_measured(ledger, measure, model)
    if known.labels is None:
        return measure.value(known.table(model))
    if not isinstance(measure, Mean | Skill):
        raise InputValueError(f"{measure.label} needs the forecast of one event; the forecasts are rows of classes")
    return float(measured_moments(known, measure).means[known.models.index(model)])


def folds_of(sample: Sample, cv: Any, n_repeats: int, groups: NDArray[Any] | None, seed: int) -> list[Fold]:
    """Return the parts of a repeated cross-validation; the cases of a group are always in the same part."""
    try:
        found = _split(sample, cv, n_repeats, groups, seed)
    except ProprietyError:
        raise
    except (TypeError, ValueError) as error:
        law = "must be a number of folds, or a splitter of scikit-learn"
        raise InputValueError(law, argument="cv", offender=str(error).rstrip(".")) from error
    if not found:
        raise InputValueError("must give at least one part", argument="cv", offender="it gives none")
    return found


def _split(sample: Sample, cv: Any, n_repeats: int, groups: NDArray[Any] | None, seed: int) -> list[Fold]:
    from sklearn import model_selection as selection

    if isinstance(cv, bool) or not isinstance(cv, int | np.integer):
        if n_repeats > 1:
            law = "repeats belong to a number of folds; a splitter has its own"
            raise InputValueError(law, argument="n_repeats", hint="pass RepeatedStratifiedKFold(...) as cv.")
        parts = list(selection.check_cv(cv, sample.y, classifier=True).split(sample.X, sample.y, groups))
        return [Fold(train, test, 0, place) for place, (train, test) in enumerate(parts)]
    kind = selection.StratifiedKFold if groups is None else selection.StratifiedGroupKFold
    states = np.random.SeedSequence(seed).generate_state(n_repeats)
    found = []
    for repeat, state in enumerate(states.tolist()):
        parts = kind(cv, shuffle=True, random_state=state).split(sample.X, sample.y, groups)
        found += [Fold(train, test, repeat, place) for place, (train, test) in enumerate(parts)]
    return found


def folds_of_sites(sites: NDArray[Any] | None) -> list[Fold]:
    """Return one part per site."""
    labels = [] if sites is None else np.unique(sites).tolist()
    if sites is None or len(labels) < 2:
        law = "must hold the site of each case, two sites or more"
        offender = "got None" if sites is None else f"it holds {labels}"
        raise InputValueError(law, argument="groups", offender=offender)
    return [Fold(np.flatnonzero(sites != label), np.flatnonzero(sites == label), 0, label) for label in labels]


def drawn_rows(sample: Sample, groups: NDArray[Any] | None, seed: np.random.SeedSequence) -> Rows:
    """Draw cases with replacement, or whole groups, until all classes are among them."""
    generator = np.random.default_rng(seed)
    classes = len(np.unique(sample.y))
    members = None if groups is None else [np.flatnonzero(groups == label) for label in np.unique(groups)]
    for _ in range(MOST_DRAWS):
        if members is None:
            rows = generator.integers(len(sample), size=len(sample))
        else:
            rows = np.concatenate([members[place] for place in generator.integers(len(members), size=len(members))])
        if len(np.unique(sample.y[rows])) == classes:
            return rows
    law = f"must hold every class often enough to be drawn; {MOST_DRAWS:,} draws lacked a class"
    raise InputValueError(law, argument="y_true")


def _can_fit(value: object) -> bool:
    return hasattr(value, "fit") and hasattr(value, "predict_proba") and not isinstance(value, type)


def _check_sklearn() -> None:
    """Raise an error if scikit-learn, which is imported when it is used, is not installed."""
    if find_spec("sklearn") is None:
        hint = 'pip install "propriety[sklearn]".'
        raise MissingDependencyError("Internal validation needs scikit-learn", hint=hint)
