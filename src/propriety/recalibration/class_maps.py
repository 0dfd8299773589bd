"""Base class of recalibration maps for class probabilities: functions from rows of probabilities to such rows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from operator import add
from typing import Any, ClassVar, Self

import narwhals as nw
import numpy as np
from scipy.special import softmax

from propriety.errors import InputTypeError, InputValueError
from propriety.recalibration.class_rows import ClassRows, floor_of_classes, log_probabilities
from propriety.recalibration.maps import checked_column, checked_floor, checked_number
from propriety.recalibration.written_maps import (
    Column,
    Dialect,
    StoredMap,
    Written,
    log_probabilities_of,
    normalised,
    softmax_of,
    sqls_of,
    written_expressions,
)
from propriety.result import Floats
from propriety.tables.arrays import PAIR, read_forecasts
from propriety.tables.forecast_columns import places_of_columns
from propriety.tables.validation import read_forecast


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ClassMap(StoredMap):
    """Base class of the class maps: frozen dataclasses whose fields are their parameters.

    A map is called with rows of probabilities and returns the recalibrated rows. `to_dict` stores it as plain data,
    and `ClassMap.from_dict` restores a map of any kind.

    Parameters
    ----------
    labels : tuple, optional
        The labels of the classes in the order of the columns: texts, numbers or booleans; 0, ..., K - 1 if not given.
        The columns of a frame must be named like them, or only numbered.
    """

    labels: tuple[Any, ...] | None = field(default=None, metadata={"optional": True})

    def __post_init__(self) -> None:
        if self.labels is not None:
            object.__setattr__(self, "labels", _checked_labels(self.labels, self.classes))

    def __call__(self, y_proba: object) -> Floats:
        """Return the recalibrated rows of array-like rows of probabilities, shape (n, K); see `labels` for frames."""
        reading, classes = read_forecasts(y_proba), self.n_classes
        number = PAIR if reading.values.ndim == 1 else reading.values.shape[-1]  # One column is of the second class.
        if classes is not None and number != classes:
            law = f"must have {classes} columns, like the rows that the map was fitted to"
            raise InputValueError(law, argument="y_proba", offender=f"it has {number}")
        forecast, _ = read_forecast(reading, labels=self.labels)
        return self.recalibrated(np.ascontiguousarray(forecast.T))

    def places_of(self, names: Sequence[Any], *, listed: bool = False) -> tuple[int, ...]:
        """Return the position of each class among named columns; those that a caller `listed` may have other names."""
        labels = tuple(range(len(names))) if self.labels is None else self.labels
        places = places_of_columns(tuple(names), labels, listed=listed, in_order=listed)
        return tuple(range(len(names))) if places is None else places

    @property
    def n_classes(self) -> int | None:
        """Number of columns of the rows; None if the map works for any number and has no labels."""
        return self.classes if self.labels is None else len(self.labels)

    def with_labels(self, labels: Sequence[Any] | None) -> Self:
        """Return the map with the labels of the classes, unless they are of a kind that is not stored."""
        plain = [one.item() if isinstance(one, np.generic) else one for one in labels or ()]
        return replace(self, labels=tuple(plain)) if plain and all(map(_is_plain, plain)) else self

    @property
    @abstractmethod
    def classes(self) -> int | None:
        """Number of classes; None if the map works for any number."""

    @abstractmethod
    def recalibrated(self, forecast: Floats) -> Floats:
        """Return the recalibrated rows of an array of valid rows, shape (n, K)."""

    @abstractmethod
    def written(self, p: Sequence[Column], ops: Written) -> list[Column]:
        """Return the map applied to the columns of all classes, in operations that engines support."""

    def expression(self, columns: Sequence[str | nw.Expr]) -> list[nw.Expr]:
        """Return the map applied to the columns of all classes, as one narwhals expression per class, in their order.

        Columns that are named like the classes are read by name, others in the order of the classes. Rows with a
        value that is missing or outside [0, 1] become null.

        Examples
        --------
        >>> import polars as pl
        >>> frame = nw.from_native(pl.DataFrame({"a": [0.2, None], "b": [0.8, 0.5]}))
        >>> from propriety.recalibration import TemperatureMap
        >>> a, b = TemperatureMap(slope=0.5, floor=1e-12).expression(["a", "b"])
        >>> frame.select(a=a.round(3), b=b.round(3)).rows()
        [(0.333, 0.667), (None, None)]
        """
        return written_expressions(self.written, self._by_class(columns), self.n_classes)

    def to_sql(self, columns: Sequence[str], *, dialect: Dialect = "duckdb") -> list[str]:
        """Return the map as SQL, one expression per class in their order; see `expression` for the columns."""
        return sqls_of(self.written, self._by_class(columns), self.n_classes, dialect)

    def _by_class(self, columns: Sequence[Any]) -> Sequence[Any]:
        """Return the columns in the order of the classes if they are named like them, as in a call."""
        if isinstance(columns, str) or not all(isinstance(one, str) for one in columns):
            return columns
        return [columns[place] for place in self.places_of(columns, listed=True)]

    def to_onnx(self, classes: int | None = None) -> Any:
        """Return the map as an ONNX model of rows, of shape (cases, K); see `RecalibrationMap.to_onnx`.

        Maps without labels that work for any number of classes need that number, `classes`.
        """
        from propriety.recalibration.onnx_maps import onnx_class_model

        return onnx_class_model(self, classes)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ClassIdentityMap(ClassMap):
    r"""The rows as they are, or with a floor: :math:`q_k = \max(p_k, \epsilon) / \sum_j \max(p_j, \epsilon)`.

    Parameters
    ----------
    floor : float
        The floor :math:`\epsilon`; 0 leaves all rows unchanged.

    Examples
    --------
    >>> ClassIdentityMap(floor=0.25)([[0.0, 0.25, 0.75]])
    array([[0.2, 0.2, 0.6]])
    """

    kind: ClassVar[str] = "class identity"

    floor: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "floor", checked_floor(self.floor))
        ClassMap.__post_init__(self)

    @property
    def classes(self) -> None:
        """None: the map works for any number of classes."""
        return

    def recalibrated(self, forecast: Floats) -> Floats:
        """Return the rows with probabilities raised to the floor, then normalised."""
        if self.floor == 0.0:
            return forecast
        raised = np.maximum(forecast, self.floor)
        return raised / raised.sum(axis=1, keepdims=True)

    def written(self, p: Sequence[Column], ops: Written) -> list[Column]:
        """Return the map applied to the columns of all classes."""
        return normalised([ops.clip(one, self.floor, 1.0) for one in p]) if self.floor else list(p)

    @property
    def formula(self) -> str:
        """The map in one line."""
        return "p" if self.floor == 0.0 else f"max(p, {self.floor:.4g}), normalised to sum to 1"


def _checked_labels(labels: Any, classes: int | None) -> tuple[Any, ...]:
    plain = tuple(labels) if isinstance(labels, list | tuple) else ()
    if not plain or not all(map(_is_plain, plain)) or len(set(plain)) != len(plain):
        raise InputValueError("must be a list of distinct texts, numbers or booleans", argument="labels", got=labels)
    if classes is not None and len(plain) != classes:
        offender = f"got {len(plain)} for {classes} classes"
        raise InputValueError("must have one label per class", argument="labels", offender=offender)
    return plain


def _is_plain(label: object) -> bool:
    return isinstance(label, str | int) or (isinstance(label, float) and np.isfinite(label))


def fit_classes_as_they_are(rows: ClassRows) -> ClassIdentityMap:
    """Leave the rows as they are.

    Parameters
    ----------
    rows : ClassRows
        Ignored.

    Returns
    -------
    ClassIdentityMap
        The map.

    Examples
    --------
    >>> fit_classes_as_they_are(ClassRows.from_predictions([0], [[0.5, 0.5]]))([[0.0, 1.0]])
    array([[0., 1.]])
    """
    del rows
    return ClassIdentityMap()


def fit_classes_floored(rows: ClassRows) -> ClassIdentityMap:
    """Raise probabilities to the floor computed from the cases; see `floor_of_classes`.

    Parameters
    ----------
    rows : ClassRows
        Any.

    Returns
    -------
    ClassIdentityMap
        The map.

    Examples
    --------
    >>> fit_classes_floored(ClassRows.from_predictions([0], [[0.5, 0.5]]))([[0.0, 1.0]])
    array([[0.2, 0.8]])
    """
    return ClassIdentityMap(floor=floor_of_classes(rows))


LARGEST = 1e9  # Largest absolute value of a coefficient.


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class TemperatureMap(ClassMap):
    r"""Temperature scaling, :math:`q = \operatorname{softmax}(b \log p)`, with a temperature of :math:`1 / b`.

    Parameters
    ----------
    slope : float
        :math:`b`; values below 1 make forecasts less extreme.
    floor : float
        Lower probabilities are replaced by this value, which is above 0; see `floor_of_classes`.

    References
    ----------
    Guo, Pleiss, Sun & Weinberger (2017), arXiv:1706.04599.

    Examples
    --------
    >>> TemperatureMap(slope=0.5, floor=1e-12)([[0.04, 0.32, 0.64]]).round(3)
    array([[0.128, 0.361, 0.511]])
    """

    kind: ClassVar[str] = "temperature"

    slope: float
    floor: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "slope", checked_number("slope", self.slope, low=-LARGEST, high=LARGEST))
        object.__setattr__(self, "floor", checked_floor(self.floor, positive=True))
        ClassMap.__post_init__(self)

    @property
    def classes(self) -> None:
        """None: the map works for any number of classes."""
        return

    @property
    def temperature(self) -> float:
        """The divisor of the log-probabilities; infinite if the slope is 0."""
        return 1.0 / self.slope if self.slope else float("inf")

    def recalibrated(self, forecast: Floats) -> Floats:
        """Return the recalibrated rows."""
        return softmax(self.slope * log_probabilities(forecast, self.floor), axis=1)

    def written(self, p: Sequence[Column], ops: Written) -> list[Column]:
        """Return the map applied to the columns of all classes."""
        scores = [self.slope * one for one in log_probabilities_of(p, self.floor, ops)]
        return softmax_of(scores, abs(self.slope * np.log(self.floor)), ops)

    @property
    def formula(self) -> str:
        """The map in one line."""
        return f"q = softmax({self.slope:.4g} log p), a temperature of {self.temperature:.4g}"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class VectorMap(ClassMap):
    r"""Vector scaling, a slope and an intercept for each class: :math:`q = \operatorname{softmax}(a_k \log p_k + b_k)`.

    Parameters
    ----------
    slopes, intercepts : array of shape (K,)
        :math:`a_k` and :math:`b_k`; only differences of the intercepts matter, and fitted intercepts sum to 0.
    floor : float
        Lower probabilities are replaced by this value, which is above 0; see `floor_of_classes`.
    shares : array of shape (2,)
        Shares of the fit that shrinkage towards the forecasts keeps: of the common slope, and of the differences
        between classes; see `fit_shrunk_classes`. 1 means no shrinkage.
    ridge : float
        Weight of the penalty, if the likelihood has no maximum without it; 0 for none.

    References
    ----------
    Guo, Pleiss, Sun & Weinberger (2017), arXiv:1706.04599.

    Examples
    --------
    >>> VectorMap(slopes=[1.0, 1.0, 1.0], intercepts=[0.0, 0.0, np.log(2)], floor=1e-12)([[0.3, 0.5, 0.2]])
    array([[0.25      , 0.41666667, 0.33333333]])
    """

    kind: ClassVar[str] = "vector"

    slopes: Floats
    intercepts: Floats
    floor: float
    shares: Floats = field(default_factory=partial(np.ones, 2))
    ridge: float = 0.0

    def __post_init__(self) -> None:
        slopes = checked_column("slopes", self.slopes, low=-LARGEST, high=LARGEST)
        intercepts = checked_column("intercepts", self.intercepts, size=len(slopes), low=-LARGEST, high=LARGEST)
        for name, value in {"slopes": slopes, "intercepts": intercepts, **_checked_others(self, 2)}.items():
            object.__setattr__(self, name, value)
        ClassMap.__post_init__(self)

    @property
    def classes(self) -> int:
        """Number of classes."""
        return len(self.slopes)

    def recalibrated(self, forecast: Floats) -> Floats:
        """Return the recalibrated rows."""
        x = log_probabilities(forecast, self.floor)
        return softmax(self.slopes * x + self.intercepts, axis=1)

    def written(self, p: Sequence[Column], ops: Written) -> list[Column]:
        """Return the map applied to the columns of all classes."""
        x = log_probabilities_of(p, self.floor, ops)
        lines = zip(self.slopes.tolist(), x, self.intercepts.tolist(), strict=True)
        reach = np.abs(self.slopes * np.log(self.floor)) + np.abs(self.intercepts)
        return softmax_of([slope * own + intercept for slope, own, intercept in lines], float(reach.max()), ops)

    @property
    def formula(self) -> str:
        """The map in one line."""
        return f"q = softmax(a log p + b) with a {_range(self.slopes)} and b {_range(self.intercepts)}"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class MatrixMap(ClassMap):
    r"""Matrix scaling, with all log-probabilities for each class: :math:`q = \operatorname{softmax}(W \log p + b)`.

    Parameters
    ----------
    matrix : array of shape (K, K)
        :math:`W`.
    intercepts : array of shape (K,)
        :math:`b`.
    floor : float
        Lower probabilities are replaced by this value, which is above 0; see `floor_of_classes`.
    shares : array of shape (3,)
        Shares of the fit that shrinkage towards the forecasts keeps: of the common slope, of the differences between
        classes, and of the off-diagonal entries; see `fit_shrunk_classes`. 1 means no shrinkage.
    ridge : float
        Weight of the penalty on the intercepts and on differences along the diagonal; 0 for none.

    References
    ----------
    Guo, Pleiss, Sun & Weinberger (2017), arXiv:1706.04599; Berta, Holzmüller, Jordan & Bach (2025), arXiv:2511.03685.

    Examples
    --------
    >>> MatrixMap(matrix=[[1.0, 0.5], [0.0, 1.0]], intercepts=[0.0, 0.0], floor=1e-12)([[0.5, 0.5]]).round(3)
    array([[0.414, 0.586]])
    """

    kind: ClassVar[str] = "matrix"

    matrix: Floats
    intercepts: Floats
    floor: float
    shares: Floats = field(default_factory=partial(np.ones, 3))
    ridge: float = 0.0

    def __post_init__(self) -> None:
        intercepts = checked_column("intercepts", self.intercepts, low=-LARGEST, high=LARGEST)
        values = {"matrix": _checked_matrix(self.matrix, len(intercepts)), "intercepts": intercepts}
        for name, value in {**values, **_checked_others(self, 3)}.items():
            object.__setattr__(self, name, value)
        ClassMap.__post_init__(self)

    @property
    def classes(self) -> int:
        """Number of classes."""
        return len(self.intercepts)

    def recalibrated(self, forecast: Floats) -> Floats:
        """Return the recalibrated rows."""
        x = log_probabilities(forecast, self.floor)
        return softmax(x @ self.matrix.T + self.intercepts, axis=1)

    def written(self, p: Sequence[Column], ops: Written) -> list[Column]:
        """Return the map applied to the columns of all classes."""
        x = log_probabilities_of(p, self.floor, ops)
        scores = [
            reduce(add, [entry * one for entry, one in zip(row, x, strict=True)], intercept)
            for row, intercept in zip(self.matrix.tolist(), self.intercepts.tolist(), strict=True)
        ]
        reach = np.abs(self.matrix).sum(axis=1) * abs(np.log(self.floor)) + np.abs(self.intercepts)
        return softmax_of(scores, float(reach.max()), ops)

    @property
    def formula(self) -> str:
        """The map in one line."""
        others = self.matrix[~np.eye(self.classes, dtype=bool)]
        entries = f"diagonal {_range(self.matrix.diagonal())}, off-diagonal {_range(others)}"
        return f"q = softmax(W log p + b) with W ({entries}) and b {_range(self.intercepts)}"


def _checked_others(fitted: VectorMap | MatrixMap, stages: int) -> dict[str, Any]:
    """Return the floor, the shares and the ridge, checked."""
    return {
        "floor": checked_floor(fitted.floor, positive=True),
        "shares": checked_column("shares", fitted.shares, size=stages, low=0.0, high=1.0),
        "ridge": checked_number("ridge", fitted.ridge, low=0.0),
    }


def _checked_matrix(values: object, size: int) -> Floats:
    """Return a square matrix of this size as a read-only array; its entries must be finite."""
    try:
        found = np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputTypeError("must be a matrix of real numbers", argument="matrix", offender=str(error)) from error
    if found.shape != (size, size):
        law = f"must have shape ({size}, {size}), because there are {size} intercepts"
        raise InputValueError(law, argument="matrix", offender=f"it has {found.shape}")
    checked_column("matrix", found.reshape(-1), low=-LARGEST, high=LARGEST)
    found.flags.writeable = False
    return found


def _range(values: Floats) -> str:
    """Return up to four numbers in words, or the range of more."""
    if len(values) <= 4:
        return ", ".join(f"{value:.3g}" for value in values)
    return f"from {values.min():.3g} to {values.max():.3g}"
