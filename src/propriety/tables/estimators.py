"""Forecasts of fitted estimators, in the form of scikit-learn: `predict_proba` and `classes_`."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
from narwhals.dependencies import is_pandas_like_dataframe, is_pandas_like_series
from numpy.typing import NDArray

from propriety import checks
from propriety.errors import InputTypeError, InputValueError, Wording
from propriety.tables.arrays import Reading
from propriety.tables.labels import Labels
from propriety.tables.laws import named_forecast


def predicted(
    forecasts: Any,
    X: Any,  # noqa: N803  (scikit-learn's name)
    *,
    outcome: str | None = None,
    pos_label: Hashable | None = None,
    labels: Labels | None = None,
) -> tuple[Any, Labels | None]:
    """Return the forecasts with the probabilities of each estimator in its place, and the labels of the classes.

    A single estimator has the name of its class.

    Two classes give the probability of the event: `pos_label`, else the last of `labels`, else 1 or True. More classes
    give rows, with columns in the order of `labels`, by default that of the `classes_` of the first estimator. They
    keep the pandas index of `X`, so that it is compared with those of the other arguments.

    Parameters
    ----------
    forecasts : mapping of str to array-like or estimator, or one of these
        Everything that is not an estimator is returned as it is.
    X : array-like or data frame of shape (n, features)
        The features of the cases.
    outcome : str, optional
        The column of the outcomes, if the cases are in a frame; then there can be no estimators.
    pos_label, labels
        As in `propriety.cases`.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> model = SimpleNamespace(classes_=["no", "yes"], predict_proba=lambda X: [[1 - x, x] for x in X])
    >>> predicted({"m": model, "half": [0.5, 0.5]}, [0.2, 0.7], pos_label="yes")
    ({'m': array([0.2, 0.7]), 'half': [0.5, 0.5]}, None)
    """
    several = isinstance(forecasts, Mapping)
    given: Mapping[str, Any] = forecasts if several else {"forecast": forecasts}
    if isinstance(forecasts, list | tuple) and any(map(_is_estimator, forecasts)):
        hint = "pass forecasts={'name': estimator, ...}."
        raise InputTypeError("must be a mapping, so that each estimator has a name", argument="forecasts", hint=hint)
    names = {model: named_forecast(model) if several else "forecasts" for model in given}
    estimators = {model: one for model, one in given.items() if _is_estimator(one)}
    if not estimators:
        if X is not None:
            law = "is for fitted estimators; none of the forecasts has predict_proba"
            raise InputTypeError(law, argument="X", hint="pass forecasts={'name': estimator}, or leave X out.")
        return forecasts, labels
    first = next(iter(estimators))
    if X is None or outcome is not None:
        kind = type(estimators[first]).__name__
        law = "is an estimator and needs the features X" if outcome is None else "is an estimator, not a column"
        hint = (
            "pass X=X_test, the features of the cases in y_true."
            if outcome is None
            else (f"pass the outcomes frame[{outcome!r}] as y_true, and the features as X.")
        )
        raise InputTypeError(law, argument=names[first], offender=f"got {kind}", hint=hint)
    classes = {model: _classes(one, names[model]) for model, one in estimators.items()}
    order = list(labels) if labels is not None else classes[first]
    for model, own in classes.items():
        if set(own) != set(order):
            raise InputValueError(f"must have the classes {order}", argument=names[model], offender=f"it has {own}")
    made: dict[str, Any] = {}
    index = index_of(X)
    for model, estimator in estimators.items():
        rows = np.asarray(estimator.predict_proba(X))
        columns = rows[:, [classes[model].index(label) for label in order]]
        values = columns[:, order.index(_event(order, pos_label, labels))] if len(order) == 2 else columns
        made[model] = values if index is None else Reading("X", values, index=index)
    if len(order) > 2 and labels is None and order != list(range(len(order))):
        labels = order
    found = {model: made.get(model, one) for model, one in given.items()}
    return (found if several else {_name(estimators[first]): found["forecast"]}), labels


def index_of(X: Any) -> Any:  # noqa: N803  (scikit-learn's name)
    """Return the pandas index of features; None if they have none."""
    return X.index if is_pandas_like_dataframe(X) or is_pandas_like_series(X) else None


def _name(estimator: Any) -> str:
    """Return the name of a single estimator: its class, or that of the last step of a pipeline."""
    steps = getattr(estimator, "steps", None)
    return type(steps[-1][-1] if steps else estimator).__name__


def _is_estimator(value: object) -> bool:
    return hasattr(value, "predict_proba") or (hasattr(value, "predict") and hasattr(value, "fit"))


def _classes(estimator: Any, argument: str) -> list[Any]:
    """Return the classes of a fitted classifier, in the order of its columns."""
    kind = type(estimator).__name__
    if not hasattr(estimator, "predict_proba"):
        hint = "sklearn.calibration.CalibratedClassifierCV gives a classifier without probabilities its predict_proba."
        raise InputTypeError("must have predict_proba", argument=argument, offender=f"{kind} has none", hint=hint)
    classes: NDArray[Any] | list[Any] | None = getattr(estimator, "classes_", None)
    if classes is None:
        hint = f"fit it first, or pass the probabilities as {argument}."
        raise InputTypeError("must have classes_", argument=argument, offender=f"{kind} has none", hint=hint)
    return np.asarray(classes).tolist()


def _event(order: list[Any], pos_label: Hashable | None, labels: Labels | None) -> Any:
    """Return the event among two classes."""
    if pos_label is not None:
        return checks.choice(pos_label, "pos_label", order)
    if labels is not None:
        return order[-1]
    if set(order) != {0, 1}:
        raise InputValueError(
            f"is required, because the classes are {order}",
            argument="pos_label",
            hint=Wording("pass {pos_label=}{event} if that is the event.", event=repr(order[-1])),
        )
    return max(order)
