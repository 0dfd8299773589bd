"""Estimators fitted to parts of the cases, or to cases drawn with replacement, and their forecasts of other cases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from propriety import demands
from propriety.errors import InputTypeError, InputValueError, MissingDependencyError, ProprietyError
from propriety.inference.answers_ledger import as_measured
from propriety.inference.mean_estimates import measured_moments
from propriety.inference.measures.measure import Measure
from propriety.ledger.ledger import Ledger
from propriety.ledger.sources import open_ledger
from propriety.tables import laws
from propriety.tables.arguments import Arguments, check_indices
from propriety.tables.arrays import Reading, missing_cases, read_array
from propriety.tables.censored_outcomes import check_known
from propriety.tables.estimators import index_of, predicted
from propriety.tables.keys import Keys, read_keys

Rows = NDArray[np.intp]

MOST_DRAWS = 1000  # Draws after which a sample that holds all classes is given up.
LACKING = 0.001  # If more draws than this share lack a class, the others hold clearly too many of its cases.
CLASSES_LAW = "must hold classes: whole numbers, booleans or text"


class Fold(NamedTuple):
    """The rows that an estimator is fitted to, and those that it forecasts; the repeat and the label of the part."""

    train: Rows
    test: Rows
    repeat: int
    label: Any


class RareClass(NamedTuple):
    """A class that draws often lack, and in how many of the units (cases or groups) that are drawn it occurs."""

    label: Any
    held: int
    units: int


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Features, outcomes and groups of the cases, and the estimators that are fitted to them, by name."""

    estimators: Mapping[str, Any]
    X: Any
    y: NDArray[Any]
    pos_label: Any = None
    labels: Any = None
    groups: Keys | None = None

    @classmethod
    def of(cls, estimator: Any, X: Any, y: object, pos_label: Any, labels: Any, groups: object = None) -> Sample:  # noqa: N803  (scikit-learn's name)
        """Read the arguments of `propriety.validate`."""
        _check_sklearn()
        estimators = dict(estimator) if isinstance(estimator, Mapping) else {"model": estimator}
        wrong = next((name for name, one in estimators.items() if not _can_fit(one)), None)
        if wrong is not None or not estimators:
            law = "must be an estimator with fit and predict_proba, or a mapping of names to such"
            offender = "it is empty" if wrong is None else f"{wrong!r} is {type(estimators[wrong]).__name__}"
            hint = "sklearn.calibration.CalibratedClassifierCV gives a classifier without probabilities predict_proba."
            raise InputTypeError(law, argument="estimator", offender=offender, hint=hint)
        if not (X.shape if hasattr(X, "shape") else hasattr(X, "__len__")):
            raise InputTypeError("must have one row per case", argument="X", got_type=X)
        rows = int(X.shape[0]) if hasattr(X, "shape") else len(X)
        check_known(y)
        given = Arguments(read_array(y, "y_true", role="outcomes"), {}, None, {})
        if (shape := given.outcome.values.shape) != (rows,):
            law, offender = "must have one outcome for each row of X", f"it has shape {shape}, X {rows} rows"
            raise InputValueError(law, argument="y_true", offender=offender)
        features = Reading("X", np.arange(rows), index=index_of(X))
        check_indices(features, given.outcome, *([] if groups is None else [read_array(groups, "groups", role="keys")]))
        keys = None if groups is None else read_keys({"groups": groups}, beside=given, rows=None)["groups"]
        return cls(estimators, X, _outcomes(given), pos_label, labels, keys)

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
        return {name: read_array(own, "X").values for name, own in found.items()}, labels

    def ledger(self, rows: Rows, forecasts: Mapping[str, Any], **keys: Any) -> Ledger:
        """Return the ledger of forecasts of some rows."""
        return open_ledger(self.y[rows], forecasts, pos_label=self.pos_label, labels=self.labels, **keys)

    def _features(self, rows: Rows) -> Any:
        from sklearn.utils import _safe_indexing

        return _safe_indexing(self.X, rows)


def _outcomes(given: Arguments) -> NDArray[Any]:
    """Return the outcomes; raise an error if any is missing or not a class, or if there is a single class."""
    missing = missing_cases(given.outcome)
    if missing.any():
        laws.refuse_missing("y_true", missing, hint=demands.LEAVE_OUT_HINT)
    found = given.truth(None, labelled=True)
    if found.dtype.kind == "f" and (wrong := (found != np.floor(found)) | np.isinf(found)).any():
        hint = "compare numbers with a threshold, such as y > 0.5."
        laws.refuse("y_true", CLASSES_LAW, wrong, found, None, hint=hint)
    try:
        classes = np.unique(found).tolist()
    except TypeError as error:
        raise InputTypeError(CLASSES_LAW, argument="y_true", offender=str(error)) from error
    if len(classes) < 2:
        offender = f"all outcomes are {classes[0]!r}" if classes else "it is empty"
        raise InputValueError("must hold two classes or more", argument="y_true", offender=offender)
    return found


def value_in(ledger: Ledger, measure: Measure, model: str) -> float:
    """Return the value of a measure for a model of a ledger, without its error."""
    known = as_measured(ledger, measure, model)
    if known.labels is None:
        return measure.value(known.table(model))
    if not measure.has_moments:
        raise InputValueError(demands.one_event(measure.label))
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
    if sample.groups is not None:
        _check_whole(sample.groups, found)
    return found


def _check_whole(groups: Keys, folds: list[Fold]) -> None:
    """Raise an error if cases of one group are in both the training and the test set of a fold."""
    for fold in folds:
        both = np.intersect1d(groups.codes[fold.train], groups.codes[fold.test])
        if len(both):
            example = groups.labels[int(both[0])]
            offender = f"group {example!r} is in both sets of fold {fold.label} ({len(both):,} of {len(groups):,} are)"
            hint = "pass a number of folds, or a splitter of groups such as StratifiedGroupKFold."
            law = "must keep each group in the training or in the test set"
            raise InputValueError(law, argument="cv", offender=offender, hint=hint)


def _split(sample: Sample, cv: Any, n_repeats: int, groups: NDArray[Any] | None, seed: int) -> list[Fold]:
    from sklearn import model_selection as selection

    if isinstance(cv, bool) or not isinstance(cv, int | np.integer):
        if n_repeats > 1:
            law = "repeats belong to a number of folds; a splitter has its own"
            raise InputValueError(law, argument="n_repeats", hint="pass RepeatedStratifiedKFold(...) as cv.")
        parts = list(selection.check_cv(cv, sample.y, classifier=True).split(sample.X, sample.y, groups))
        rows_of = partial(_rows_of, len(sample))
        return [
            Fold(
                rows_of(f"the training set of fold {place}", train),
                rows_of(f"the test set of fold {place}", test),
                0,
                place,
            )
            for place, (train, test) in enumerate(parts)
        ]
    kind = selection.StratifiedKFold if sample.groups is None else selection.StratifiedGroupKFold
    codes = None if sample.groups is None else sample.groups.codes
    states = np.random.SeedSequence(seed).generate_state(n_repeats)
    found = []
    for repeat, state in enumerate(states.tolist()):
        parts = kind(cv, shuffle=True, random_state=state).split(sample.X, sample.y, codes)
        found += [Fold(train, test, repeat, place) for place, (train, test) in enumerate(parts)]
    return found


def _rows_of(n: int, which: str, part: Any) -> Rows:
    """Return the numbers of the rows of a part, given as numbers or as a mask; raise an error for rows that X lacks."""
    rows = np.asarray(part)
    rows = np.flatnonzero(rows) if rows.dtype == bool and rows.shape == (n,) else rows
    if not rows.size:
        raise InputValueError("must give cases to fit to and to test", argument="cv", offender=f"{which} is empty")
    if rows.ndim != 1 or rows.dtype.kind not in "iu":
        offender = f"{which} has shape {rows.shape} and dtype {rows.dtype}"
        raise InputValueError("must give numbers of rows", argument="cv", offender=offender)
    outside = rows[(rows < 0) | (rows >= n)]
    if len(outside):
        law = f"must give rows of X, from 0 to {n - 1:,}"
        raise InputValueError(law, argument="cv", offender=f"{which} has row {outside[0]}")
    return rows


def folds_of_sites(sites: Keys | None) -> list[Fold]:
    """Return one part per site."""
    if sites is None or len(sites) < 2:
        law = "must hold the site of each case, two sites or more"
        offender = "got None" if sites is None else f"it holds {list(sites.labels)}"
        raise InputValueError(law, argument="groups", offender=offender)
    inside = [sites.codes == code for code in range(len(sites))]
    named = zip(inside, sites.labels, strict=True)
    return [Fold(np.flatnonzero(~own), np.flatnonzero(own), 0, label) for own, label in named]


def repeats_of(folds: list[Fold]) -> int:
    """Return the number of repeats of a cross-validation."""
    return 1 + max(fold.repeat for fold in folds)


def check_training(sample: Sample, folds: list[Fold], key: str) -> None:
    """Raise an error if a class is absent from a training set; `key` is "fold" or "site"."""
    classes, codes = np.unique(sample.y, return_inverse=True)
    for fold in folds:
        held = classes[np.bincount(codes[fold.train], minlength=len(classes)) > 0].tolist()
        if len(held) == len(classes):
            continue
        if key == "site":
            law: str = f"must have all {len(classes)} classes outside each site"
            offender = f"without site {fold.label!r} there is only {held}"
            hint = "merge this site with another, or leave its cases out."
            raise InputValueError(law, argument="groups", offender=offender, hint=hint)
        law = demands.all_classes(len(classes))
        again = f" of repeat {fold.repeat}" if fold.repeat else ""
        offender = f"that of fold {fold.label}{again} has only {held}"
        hint = 'use fewer or stratified folds, or method="bootstrap".'
        raise InputValueError(law, argument="cv", offender=offender, hint=hint)


def rare_class(y: NDArray[Any], groups: NDArray[Any] | None) -> RareClass | None:
    """Return the rarest class if draws of cases, or of groups, often lack it; else None.

    Examples
    --------
    >>> rare_class(np.array([0] * 98 + [1] * 2), None), rare_class(np.array([0] * 90 + [1] * 10), None)
    (RareClass(label=1, held=2, units=100), None)
    """
    classes, codes = np.unique(y, return_inverse=True)
    units = np.arange(len(y)) if groups is None else groups
    held = [len(np.unique(units[codes == code])) for code in range(len(classes))]
    least, number = int(np.argmin(held)), len(np.unique(units))
    lacking = (1.0 - held[least] / number) ** number
    return RareClass(classes.tolist()[least], held[least], number) if lacking > LACKING else None


def drawn_rows(
    sample: Sample, groups: NDArray[Any] | None, seed: np.random.SeedSequence, *, by_class: bool = False
) -> Rows:
    """Draw cases with replacement, or whole groups, until all classes are among them; or cases of each class.

    Draws that lack a rare class cannot be fitted to, and the others hold too many of its cases. Drawn `by_class`, every
    class has as many cases as in the sample.
    """
    generator = np.random.default_rng(seed)
    if by_class:
        own = [np.flatnonzero(sample.y == label) for label in np.unique(sample.y)]
        return np.concatenate([generator.choice(rows, size=len(rows)) for rows in own])
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
        raise MissingDependencyError("Internal validation needs scikit-learn", hint='pip install "propriety[sklearn]".')
