"""scikit-learn: a classifier whose probabilities are recalibrated, and a recalibration map as a transformer.

Import both from `propriety.integrations.sklearn`.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from propriety import demands
from propriety.errors import InputTypeError, InputValueError
from propriety.integrations import load_library
from propriety.recalibration.class_maps import ClassMap
from propriety.recalibration.maps import RecalibrationMap
from propriety.recalibration.recalibrate import recalibrate
from propriety.recalibration.result import Recalibration
from propriety.result import Floats
from propriety.tables import laws
from propriety.tables.arrays import missing_cases, read_array

base: Any = load_library("sklearn.base", extra="sklearn")
metaestimators: Any = load_library("sklearn.utils.metaestimators", extra="sklearn")
model_selection: Any = load_library("sklearn.model_selection", extra="sklearn")
multiclass: Any = load_library("sklearn.utils.multiclass", extra="sklearn")
parallel: Any = load_library("sklearn.utils.parallel", extra="sklearn")
routing: Any = load_library("sklearn.utils.metadata_routing", extra="sklearn")
utils: Any = load_library("sklearn.utils", extra="sklearn")
validation: Any = load_library("sklearn.utils.validation", extra="sklearn")


class RecalibratedClassifier(base.ClassifierMixin, base.MetaEstimatorMixin, base.BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """A classifier whose probabilities are recalibrated by a map fitted to held-out forecasts.

    For each fold, the classifier is fitted to the other folds and forecasts the fold. One recalibration map is fitted
    to all these forecasts, and the classifier is then fitted to all the data. This works like
    `sklearn.calibration.CalibratedClassifierCV` with ``ensemble=False``, but with the maps of `propriety.recalibrate`
    and an estimate of the gain on new cases.

    Pass a classifier that is already fitted as ``FrozenEstimator(classifier)``. Then only the map is fitted, and the
    data should be cases that the classifier was not trained on.

    Parameters
    ----------
    estimator : classifier
        A classifier with `fit` and `predict_proba`.
    method : str
        The map, as in `propriety.recalibrate`: with two classes for the second one, otherwise for rows of classes.
    cv : int, splitter, or iterable of pairs of train and test indices
        The folds. Every case must be in exactly one of the test sets. A number means stratified folds.
    n_jobs : int, optional
        Number of processes that fit the classifier to the folds.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        The labels, those of the classifier if it is frozen. With two classes, the event is the second.
    estimator_ : classifier
        The classifier, fitted to all the data, or as it was passed if frozen.
    recalibration_ : Recalibration
        The map with its gain, estimated with the same folds. ``print(recalibration_)`` describes it in words.
    n_features_in_, feature_names_in_
        As in the classifier, if it has them.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = make_classification(1000, n_informative=2, n_redundant=8, random_state=1)
    >>> model = RecalibratedClassifier(GaussianNB()).fit(X, y)
    >>> model.estimator_.predict_proba(X[:2]).round(2)
    array([[0.  , 1.  ],
           [0.01, 0.99]])
    >>> model.predict_proba(X[:2]).round(2)
    array([[0.22, 0.78],
           [0.28, 0.72]])
    >>> model.recalibration_.verdict.outcome
    'gain'
    """

    def __init__(self, estimator: Any, *, method: str = "auto", cv: Any = 5, n_jobs: int | None = None) -> None:
        self.estimator = estimator
        self.method = method
        self.cv = cv
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> Self:  # noqa: N803  (scikit-learn's name)
        """Fit the map to forecasts of held-out folds, and the classifier to all the data.

        Parameters
        ----------
        X : array-like of shape (n, features)
            Features that the classifier accepts.
        y : array-like of shape (n,)
            Labels of the classes.
        sample_weight : array-like of shape (n,), optional
            Weights for the map, and for the classifier if its `fit` accepts them. With metadata routing, the classifier
            receives them if it requests them.
        **params
            For the `fit` of the classifier; with metadata routing also for the `split` of the splitter.

        Returns
        -------
        RecalibratedClassifier
            The fitted classifier.
        """
        X, y = utils.indexable(X, y)  # noqa: N806  (scikit-learn's name)
        _check_known(y)
        with np.errstate(invalid="ignore"):  # It casts infinite labels to integers before it rejects them.
            multiclass.check_classification_targets(y)
        y = utils.column_or_1d(y, warn=True)
        self._check_estimator()
        self.estimator_, frozen = base.clone(self.estimator), _is_frozen(self.estimator)
        if frozen:
            utils.validation.check_is_fitted(self.estimator)
        self.classes_, codes = _classes(y, self.estimator_.classes_ if frozen else None)
        for_fit, for_split = self._routed(sample_weight, params)
        splitter = model_selection.check_cv(self.cv, y, classifier=True)
        splits = list(splitter.split(X, y, **for_split))
        folds = _checked_folds(splits, codes, trained=not frozen)
        if frozen:
            rows = _ordered_rows(self.estimator_, X, self.classes_)
        else:
            rows = self._held_out_rows(X, y, splits, for_fit)
            self.estimator_.fit(X, y, **for_fit)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        binary = len(self.classes_) == 2
        self.recalibration_: Recalibration = recalibrate(
            codes if binary else y,
            self._forecasts(rows),
            method=self.method,
            folds=folds,
            cluster=for_split.get("groups"),
            sample_weight=sample_weight,
            labels=None if binary else self.classes_.tolist(),
        )
        return self

    def predict_proba(self, X: Any) -> Floats:  # noqa: N803  (scikit-learn's name)
        """Return the recalibrated probabilities, with one column per class in the order of `classes_`."""
        validation.check_is_fitted(self)
        found = self.recalibration_(self._forecasts(_ordered_rows(self.estimator_, X, self.classes_)))
        return np.column_stack([1.0 - found, found]) if found.ndim == 1 else found

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: N803  (scikit-learn's name)
        """Return the most likely class."""
        places = self.predict_proba(X).argmax(axis=1)
        return self.classes_[places]

    def get_metadata_routing(self) -> Any:
        """Return the routing of metadata: weights to this object and the classifier, groups to the splitter."""
        mapping = routing.MethodMapping
        router = routing.MetadataRouter(owner=self).add_self_request(self)
        router.add(estimator=self.estimator, method_mapping=mapping().add(caller="fit", callee="fit"))
        if hasattr(self.cv, "split"):
            router.add(splitter=self.cv, method_mapping=mapping().add(caller="fit", callee="split"))
        return router

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = utils.get_tags(self.estimator).input_tags.sparse
        return tags

    def _check_estimator(self) -> None:
        if not hasattr(self.estimator, "predict_proba"):
            hint = "for a classifier with decision_function only, use sklearn.calibration.CalibratedClassifierCV."
            raise InputTypeError(demands.probabilities_of(self.estimator), argument="estimator", hint=hint)

    def _routed(self, sample_weight: Any, params: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return what goes to the classifier's `fit`, and to the splitter's `split`."""
        if load_library("sklearn", extra="sklearn").get_config()["enable_metadata_routing"]:
            routed = routing.process_routing(self, "fit", sample_weight=sample_weight, **params)
            return dict(routed.estimator.fit), dict(routed.splitter.split) if "splitter" in routed else {}
        if sample_weight is None or _is_frozen(self.estimator):
            return params, {}
        if validation.has_fit_parameter(self.estimator, "sample_weight"):
            return {**params, "sample_weight": sample_weight}, {}
        name = type(self.estimator).__name__
        law = f"fit of {name} does not accept sample_weight, so only the recalibration map is weighted."
        warnings.warn(f"{law} Enable metadata routing if a step of {name} accepts weights.", stacklevel=3)
        return params, {}

    def _held_out_rows(self, X: Any, y: NDArray[Any], splits: list[tuple[Any, Any]], params: dict[str, Any]) -> Floats:  # noqa: N803  (scikit-learn's name)
        """Return the probabilities of each case from a clone that was fitted without its fold."""
        # `cross_val_predict` would number the labels, which class weights and the scorer of a search may name.
        tasks = (parallel.delayed(_fold_rows)(self.estimator_, X, y, split, params, self.classes_) for split in splits)
        rows = np.empty((len(y), len(self.classes_)))
        for (_, test), part in zip(splits, parallel.Parallel(n_jobs=self.n_jobs)(tasks), strict=True):
            rows[test] = part
        return rows

    def _forecasts(self, rows: Floats) -> Floats:
        """Return the probabilities of the classes; with two, only those of the second."""
        return rows[:, 1] if len(self.classes_) == 2 else rows


class MapTransformer(base.OneToOneFeatureMixin, base.TransformerMixin, base.BaseEstimator):  # type: ignore[misc]  # as above
    """A recalibration map as a transformer of columns of probabilities; `to_sklearn` of a map returns it.

    There is nothing to fit. A binary map takes one column, the event's, and a class map those of all classes.

    Parameters
    ----------
    map : RecalibrationMap or ClassMap
        The map.

    Examples
    --------
    >>> from propriety.recalibration import OddsMap
    >>> OddsMap(intercept=0.0, slope=0.5, floor=1e-6).to_sklearn().fit_transform([[0.2], [0.5]]).round(3)
    array([[0.333],
           [0.5  ]])
    """

    def __init__(self, map: RecalibrationMap | ClassMap) -> None:  # noqa: A002  (its name in results)
        self.map = map

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: N803  (scikit-learn's name)
        """Count the columns."""
        del y
        names = getattr(X, "columns", None)
        if names is not None:
            self.feature_names_in_ = np.asarray(names, dtype=object)
        self.n_features_in_ = _columns(X).shape[1]
        return self

    def transform(self, X: Any) -> Floats:  # noqa: N803  (scikit-learn's name)
        """Return the recalibrated probabilities, in the shape of X; columns are matched by name if they can."""
        names, rows = getattr(X, "columns", None), _columns(X)
        fitted = getattr(self, "feature_names_in_", None)
        if names is not None and fitted is not None and list(names) != fitted.tolist():
            law = f"must have the columns that the transformer was fitted to, {fitted.tolist()}, in this order"
            raise InputValueError(law, argument="X", offender=f"got {list(names)}")
        if names is None or not isinstance(self.map, ClassMap):
            return self.map(rows).reshape(rows.shape)
        places = self.map.places_of(names)
        return self.map(rows[:, places])[:, np.argsort(places)]

    def __sklearn_is_fitted__(self) -> bool:
        return True


def _columns(X: Any) -> Floats:  # noqa: N803  (scikit-learn's name)
    return utils.check_array(X, dtype=np.float64)


def _check_known(y: Any) -> None:
    """Raise an error for missing labels; scikit-learn has one for the absence of all."""
    if y is not None and (missing := missing_cases(read_array(y, "y", role="outcomes"))).any():
        laws.refuse_missing("y", missing, hint=demands.LEAVE_OUT_HINT)


def _classes(y: NDArray[Any], learnt: NDArray[Any] | None) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the classes, sorted or as a fitted classifier has them, and the index of the class of each case."""
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        law = "must have at least two classes"
        raise InputValueError(law, argument="y", offender=f"it has one class, {classes.tolist()}")
    if learnt is None:
        return classes, codes
    places = {label: place for place, label in enumerate(learnt.tolist())}
    unknown = [label not in places for label in classes.tolist()]
    if any(unknown):
        row = int(np.array(unknown)[codes].argmax())
        law = f"must hold classes that the frozen classifier has learnt, {learnt.tolist()}"
        raise InputValueError(law, argument="y", row=row, offender=f"is {y.tolist()[row]!r}")
    return learnt, np.array([places[label] for label in classes.tolist()], dtype=np.intp)[codes]


def _fold_rows(
    estimator: Any,
    X: Any,  # noqa: N803  (scikit-learn's name)
    y: NDArray[Any],
    split: tuple[Any, Any],
    params: dict[str, Any],
    classes: NDArray[Any],
) -> Floats:
    """Return the probabilities of the cases of a fold from a clone that was fitted to the others."""
    train, test = split
    known, labels = metaestimators._safe_split(estimator, X, y, train)  # noqa: SLF001  (it also splits kernel matrices)
    unknown, _ = metaestimators._safe_split(estimator, X, y, test, train)  # noqa: SLF001  (as above)
    params = validation._check_method_params(X, params, indices=train)  # noqa: SLF001  (what has a value for each case)
    return _ordered_rows(base.clone(estimator).fit(known, labels, **params), unknown, classes)


def _ordered_rows(estimator: Any, X: Any, classes: NDArray[Any]) -> Floats:  # noqa: N803  (scikit-learn's name)
    """Return the probabilities in double precision, with one column per class in the order of `classes`."""
    rows = np.asarray(estimator.predict_proba(X), dtype=np.float64)
    places = {label: place for place, label in enumerate(np.asarray(estimator.classes_).tolist())}
    if rows.ndim != 2 or rows.shape[1] != len(classes) or places.keys() != set(classes.tolist()):
        law = f"predict_proba must return one column for each of the classes {classes.tolist()}"
        raise InputValueError(law, offender=f"its shape is {rows.shape}, and classes_ is {list(places)}")
    return rows[:, [places[label] for label in classes.tolist()]]


def _checked_folds(splits: list[tuple[Any, Any]], codes: NDArray[np.intp], *, trained: bool) -> NDArray[np.intp]:
    """Return the fold of each case; check that test sets cover each case once.

    If the classifier is `trained`, also check that training sets have all classes.
    """
    fold, times, number = np.zeros_like(codes), np.zeros_like(codes), codes.max() + 1
    for place, (train, test) in enumerate(splits):
        fold[test] = place
        np.add.at(times, np.arange(len(codes))[test], 1)
        seen = len(np.unique(codes[train]))
        if trained and seen < number:
            law: str = demands.all_classes(number)
            hint = "use fewer or stratified folds."
            raise InputValueError(
                law, argument="cv", offender=f"the training set of fold {place} has {seen}", hint=hint
            )
    if (times != 1).any():
        row = int((times != 1).argmax())
        law = "must have every case in exactly one test set"
        raise InputValueError(law, argument="cv", row=row, offender=f"is in {times[row]}")
    return fold


def _is_frozen(estimator: Any) -> bool:
    """Whether an estimator is a `FrozenEstimator`, which exists in scikit-learn 1.6 and later."""
    return isinstance(estimator, getattr(sys.modules.get("sklearn.frozen"), "FrozenEstimator", ()))
