"""Base class of recalibration maps for class probabilities: functions from rows of probabilities to such rows."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from typing import Any, ClassVar, Self

import narwhals as nw
import numpy as np
from scipy.special import softmax

from propriety import checks
from propriety.errors import InputTypeError, InputValueError
from propriety.recalibration.class_rows import log_probabilities
from propriety.recalibration.maps import checked_column, checked_floor, checked_number
from propriety.recalibration.onnx_maps import onnx_model
from propriety.recalibration.stored_maps import StoredMap
from propriety.recalibration.written_maps import (
    EXPRESSIONS,
    Column,
    Dialect,
    Written,
    checked_columns,
    normalised,
    softmax_of,
    sql_of,
    written,
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
            self.settle(labels=_checked_labels(self.labels, self.classes))

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
        >>> from propriety.recalibration import MatrixMap
        >>> a, b = MatrixMap(matrix=0.5, floor=1e-12).expression(["a", "b"])
        >>> frame.select(a=a.round(3), b=b.round(3)).rows()
        [(0.333, 0.667), (None, None)]
        """
        return written(self.written, self._by_class(columns), EXPRESSIONS)

    def to_sql(self, columns: Sequence[str], *, dialect: Dialect = "duckdb") -> list[str]:
        """Return the map as SQL, one expression per class in their order; see `expression` for the columns."""
        return sql_of(self.written, self._by_class(columns), dialect)

    def _by_class(self, columns: Sequence[Any]) -> Sequence[Any]:
        """Return the columns in the order of the classes if they are named like them, as in a call."""
        checked_columns(columns, self.n_classes)
        if not all(isinstance(one, str) for one in columns):
            return columns
        return [columns[place] for place in self.places_of(columns, listed=True)]

    def to_onnx(self, classes: int | None = None) -> Any:
        """Return the map as an ONNX model of rows, of shape (cases, K); see `RecalibrationMap.to_onnx`.

        Maps without labels that work for any number of classes need that number, `classes`.
        """
        number = self.n_classes or classes
        if not checks.is_whole(number) or number < 2:
            law = "must be the number of classes, a whole number of 2 or more"
            raise InputValueError(law, argument="classes", got=classes)
        if classes is not None and classes != number:
            raise InputValueError(f"must be {number}, as in the map", argument="classes", got=classes)
        return onnx_model(self.written, int(number), self.formula)


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
        self.settle(floor=checked_floor(self.floor))
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


LARGEST = 1e9  # Largest absolute value of a coefficient.


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class MatrixMap(ClassMap):
    r"""A linear map of the log-probabilities, :math:`q = \operatorname{softmax}(W \log p + b)`.

    If W is a multiple of the identity, this is temperature scaling; if it is diagonal, vector scaling; else matrix
    scaling.

    Parameters
    ----------
    matrix : float, or array of shape (K,) or (K, K)
        W. A number stands for this multiple of the identity, for any number of classes, and K numbers are the diagonal.
        Numbers below 1 make forecasts less extreme.
    intercepts : float or array of shape (K,)
        b; only differences between classes matter, and fitted intercepts sum to 0.
    floor : float
        Lower probabilities are replaced by this value, which is above 0; see `floor_of_classes`.
    shares : array of shape (1,), (2,) or (3,)
        Shares of the fit that shrinkage towards the forecasts keeps: of the common slope, of the differences between
        classes, and of the off-diagonal entries; see `fit_shrunk_classes`. 1 means no shrinkage.
    ridge : float
        Weight of the penalty on the intercepts and on differences along the diagonal; 0 for none.

    References
    ----------
    Guo, Pleiss, Sun & Weinberger (2017), arXiv:1706.04599; Berta, Holzmüller, Jordan & Bach (2025), arXiv:2511.03685.

    Examples
    --------
    >>> MatrixMap(matrix=0.5, floor=1e-12)([[0.04, 0.32, 0.64]]).round(3)
    array([[0.128, 0.361, 0.511]])
    >>> MatrixMap(matrix=[[1.0, 0.5], [0.0, 1.0]], floor=1e-12)([[0.5, 0.5]]).round(3)
    array([[0.414, 0.586]])
    """

    kind: ClassVar[str] = "matrix"

    matrix: Any  # A number or an array, like the next.
    intercepts: Any = 0.0
    floor: float
    shares: Any = None
    ridge: float = 0.0

    def __post_init__(self) -> None:
        matrix = _checked_numbers("matrix", self.matrix, most=2)
        shares = np.ones(np.ndim(matrix) + 1) if self.shares is None else self.shares
        self.settle(
            matrix=matrix,
            intercepts=_checked_numbers("intercepts", self.intercepts, most=1),
            floor=checked_floor(self.floor, positive=True),
            shares=checked_column("shares", shares, size=np.ndim(matrix) + 1, low=0.0, high=1.0),
            ridge=checked_number("ridge", self.ridge, low=0.0),
        )
        if len({*np.shape(matrix), *np.shape(self.intercepts)}) > 1:
            shapes = f"it has {np.shape(matrix)} and there are {np.size(self.intercepts)} intercepts"
            raise InputValueError("must have one row and column per class", argument="matrix", offender=shapes)
        ClassMap.__post_init__(self)

    @property
    def classes(self) -> int | None:
        """Number of classes; None if the map works for any number."""
        return next(iter([*np.shape(self.matrix), *np.shape(self.intercepts)]), None)

    @property
    def temperature(self) -> float:
        """The divisor of the log-probabilities: infinite if W is 0, and NaN if it is not a multiple of the identity."""
        if np.ndim(self.matrix):
            return math.nan
        return 1.0 / float(self.matrix) if self.matrix else math.inf

    def recalibrated(self, forecast: Floats) -> Floats:
        """Return the recalibrated rows."""
        x = log_probabilities(forecast, self.floor)
        return softmax((x @ self.matrix.T if np.ndim(self.matrix) == 2 else self.matrix * x) + self.intercepts, axis=1)

    def written(self, p: Sequence[Column], ops: Written) -> list[Column]:
        """Return the map applied to the columns of all classes."""
        x = [ops.log(ops.clip(one, self.floor, 1.0)) for one in p]
        intercepts = np.broadcast_to(self.intercepts, len(p))
        if np.ndim(self.matrix) == 2:
            terms = [[entry * one for entry, one in zip(row, x, strict=True)] for row in self.matrix.tolist()]
        else:
            terms = [[slope * one] for slope, one in zip(np.broadcast_to(self.matrix, len(p)).tolist(), x, strict=True)]
        scores = [reduce(add, own, own_b) if own_b else reduce(add, own)
                  for own, own_b in zip(terms, intercepts.tolist(), strict=True)]  # fmt: skip
        weights = np.abs(self.matrix)
        reach = (weights.sum(axis=1) if np.ndim(weights) == 2 else weights) * abs(np.log(self.floor))
        return softmax_of(scores, float(np.max(reach + np.abs(self.intercepts))), ops)

    @property
    def formula(self) -> str:
        """The map in one line."""
        if np.ndim(self.matrix) == 0:
            return f"q = softmax({self.matrix:.4g} log p), a temperature of {self.temperature:.4g}"
        b = _range(np.broadcast_to(self.intercepts, len(self.matrix)))
        if np.ndim(self.matrix) == 1:
            return f"q = softmax(a log p + b) with a {_range(self.matrix)} and b {b}"
        others = self.matrix[~np.eye(len(self.matrix), dtype=bool)]
        entries = f"diagonal {_range(self.matrix.diagonal())}, off-diagonal {_range(others)}"
        return f"q = softmax(W log p + b) with W ({entries}) and b {b}"


def _checked_numbers(name: str, values: Any, *, most: int) -> Any:
    """Return a number, or numbers of at most so many dimensions as a read-only array."""
    try:
        found = np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        shape = "a number or a matrix" if most == 2 else "a number or a list"
        raise InputTypeError(f"must be {shape} of real numbers", argument=name, offender=str(error)) from error
    if found.ndim == 0:
        return checked_number(name, values, low=-LARGEST, high=LARGEST)
    if found.ndim > most or (found.ndim == 2 and found.shape[0] != found.shape[1]):
        raise InputValueError("must have one row and column per class", argument=name, offender=f"has {found.shape}")
    checked_column(name, found.reshape(-1), low=-LARGEST, high=LARGEST)
    found.flags.writeable = False
    return found


def _range(values: Floats) -> str:
    """Return up to four numbers in words, or the range of more."""
    if len(values) <= 4:
        return ", ".join(f"{value:.3g}" for value in values)
    return f"from {values.min():.3g} to {values.max():.3g}"
