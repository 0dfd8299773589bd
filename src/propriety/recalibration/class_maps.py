"""Maps of classes that are linear in log-probabilities: temperature, vector and matrix scaling."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy.special import softmax

from propriety.errors import InputTypeError, InputValueError
from propriety.recalibration.class_rows import ClassRows, floor_of_classes, log_probabilities
from propriety.recalibration.maps import checked_column, checked_floor, checked_number
from propriety.recalibration.stored_maps import StoredMap
from propriety.result import Floats
from propriety.tables.validation import read_forecast

__all__ = [
    "ClassIdentityMap",
    "ClassMap",
    "MatrixMap",
    "TemperatureMap",
    "VectorMap",
    "fit_classes_as_they_are",
    "fit_classes_floored",
]

LARGEST = 1e9  # Of a coefficient.


class ClassMap(StoredMap):
    """Base of the maps of classes: frozen dataclasses whose fields are their parameters.

    A map is called with rows of probabilities and returns the rows to forecast in their place. `to_dict` stores it as
    plain data, and `ClassMap.from_dict` makes it again, whatever its kind.
    """

    __slots__ = ()

    def __call__(self, y_proba: object) -> Floats:
        """Return the recalibrated rows of array-like rows of probabilities, shape (n, K)."""
        forecast, _ = read_forecast(y_proba)
        if self.classes is not None and len(forecast) != self.classes:
            law = f"must have {self.classes} columns, as the rows that the map was fitted to"
            raise InputValueError(law, argument="y_proba", offender=f"it has {len(forecast)}")
        return self.recalibrated(np.ascontiguousarray(forecast.T))

    @property
    @abstractmethod
    def classes(self) -> int | None:
        """Number of classes; None where any number will do."""

    @abstractmethod
    def recalibrated(self, forecast: Floats) -> Floats:
        """Return the recalibrated rows of an array of valid ones, shape (n, K)."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ClassIdentityMap(ClassMap):
    r"""The rows as they are, or kept from certainty: :math:`q_k = \max(p_k, \epsilon) / \sum_j \max(p_j, \epsilon)`.

    Parameters
    ----------
    floor : float
        The floor :math:`\epsilon`; 0 leaves every row as it is.

    Examples
    --------
    >>> ClassIdentityMap(floor=0.25)([[0.0, 0.25, 0.75]])
    array([[0.2, 0.2, 0.6]])
    """

    kind: ClassVar[str] = "class identity"

    floor: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "floor", checked_floor(self.floor))

    @property
    def classes(self) -> None:
        """None: any number of classes will do."""
        return

    def recalibrated(self, forecast: Floats) -> Floats:
        """Return the rows, with no probability below the floor before they are made to sum to one."""
        if self.floor == 0.0:
            return forecast
        raised = np.maximum(forecast, self.floor)
        found: Floats = raised / raised.sum(axis=1, keepdims=True)
        return found

    @property
    def formula(self) -> str:
        """The map in one line."""
        return "p" if self.floor == 0.0 else f"max(p, {self.floor:.4g}), made to sum to one"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class TemperatureMap(ClassMap):
    r"""Temperature scaling, :math:`q = \operatorname{softmax}(b \log p)`, with a temperature of :math:`1 / b`.

    Parameters
    ----------
    slope : float
        :math:`b`; below 1 forecasts become less extreme.
    floor : float
        Probabilities count as no lower than this; see `floor_of_classes`.

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
        object.__setattr__(self, "slope", checked_number("slope", self.slope))
        object.__setattr__(self, "floor", checked_floor(self.floor))

    @property
    def classes(self) -> None:
        """None: any number of classes will do."""
        return

    @property
    def temperature(self) -> float:
        """What log-probabilities are divided by; infinite where the slope is 0."""
        return 1.0 / self.slope if self.slope else float("inf")

    def recalibrated(self, forecast: Floats) -> Floats:
        """Return the recalibrated rows."""
        found: Floats = softmax(self.slope * log_probabilities(forecast, self.floor), axis=1)
        return found

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
        :math:`a_k` and :math:`b_k`; only differences of the intercepts matter, and a fit makes them sum to 0.
    floor : float
        Probabilities count as no lower than this; see `floor_of_classes`.
    shrinkage : float
        The share of the way from the forecasts to the fitted map that the map goes, in log-probabilities; 1 for all
        of it.
    ridge : float
        The weight of the penalty that the fit needed, because the likelihood has no maximum; 0 for none.

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
    shrinkage: float = 1.0
    ridge: float = 0.0

    def __post_init__(self) -> None:
        slopes = checked_column("slopes", self.slopes, low=-LARGEST, high=LARGEST)
        intercepts = checked_column("intercepts", self.intercepts, size=len(slopes), low=-LARGEST, high=LARGEST)
        for name, value in {"slopes": slopes, "intercepts": intercepts, **_checked_numbers(self)}.items():
            object.__setattr__(self, name, value)

    @property
    def classes(self) -> int:
        """Number of classes."""
        return len(self.slopes)

    def recalibrated(self, forecast: Floats) -> Floats:
        """Return the recalibrated rows."""
        x = log_probabilities(forecast, self.floor)
        found: Floats = softmax(self.slopes * x + self.intercepts, axis=1)
        return found

    @property
    def formula(self) -> str:
        """The map in one line."""
        return f"q = softmax(a log p + b) with a {_range(self.slopes)} and b {_range(self.intercepts)}"

    def shrunk(self, share: float) -> VectorMap:
        """Return the map that goes this share of the way from the forecasts to this map's, in log-probabilities."""
        slopes = 1.0 + share * (self.slopes - 1.0)
        return replace(self, slopes=slopes, intercepts=share * self.intercepts, shrinkage=share * self.shrinkage)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class MatrixMap(ClassMap):
    r"""Matrix scaling, every class by the log-probabilities of all: :math:`q = \operatorname{softmax}(W \log p + b)`.

    Parameters
    ----------
    matrix : array of shape (K, K)
        :math:`W`.
    intercepts : array of shape (K,)
        :math:`b`.
    floor : float
        Probabilities count as no lower than this; see `floor_of_classes`.
    shrinkage : float
        The share of the way from the forecasts to the fitted map that the map goes, in log-probabilities; 1 for all
        of it.
    ridge : float
        The weight of the penalty of the fit on departures of the intercepts and of the diagonal; 0 for none.

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
    shrinkage: float = 1.0
    ridge: float = 0.0

    def __post_init__(self) -> None:
        intercepts = checked_column("intercepts", self.intercepts, low=-LARGEST, high=LARGEST)
        values = {"matrix": _checked_matrix(self.matrix, len(intercepts)), "intercepts": intercepts}
        for name, value in {**values, **_checked_numbers(self)}.items():
            object.__setattr__(self, name, value)

    @property
    def classes(self) -> int:
        """Number of classes."""
        return len(self.intercepts)

    def recalibrated(self, forecast: Floats) -> Floats:
        """Return the recalibrated rows."""
        x = log_probabilities(forecast, self.floor)
        found: Floats = softmax(x @ self.matrix.T + self.intercepts, axis=1)
        return found

    @property
    def formula(self) -> str:
        """The map in one line."""
        others = self.matrix[~np.eye(self.classes, dtype=bool)]
        told = (
            f"its diagonal {_range(self.matrix.diagonal())}, the rest {_range(others)} and b {_range(self.intercepts)}"
        )
        return f"q = softmax(W log p + b), {told}"

    def shrunk(self, share: float) -> MatrixMap:
        """Return the map that goes this share of the way from the forecasts to this map's, in log-probabilities."""
        identity = np.eye(self.classes)
        matrix = identity + share * (self.matrix - identity)
        return replace(self, matrix=matrix, intercepts=share * self.intercepts, shrinkage=share * self.shrinkage)


def fit_classes_as_they_are(rows: ClassRows) -> ClassIdentityMap:
    """Leave the rows as they are.

    Parameters
    ----------
    rows : ClassRows
        Any; they do not matter.

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
    """Keep the rows from certainty, at the floor of the cases; see `floor_of_classes`.

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


def _checked_numbers(fitted: VectorMap | MatrixMap) -> dict[str, float]:
    """Return the parameters that are single numbers, checked."""
    return {
        "floor": checked_floor(fitted.floor),
        "shrinkage": checked_number("shrinkage", fitted.shrinkage, low=0.0, high=1.0),
        "ridge": checked_number("ridge", fitted.ridge, low=0.0),
    }


def _checked_matrix(values: object, size: int) -> Floats:
    """Return a square matrix of so many finite numbers as a read-only array."""
    try:
        found = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputTypeError("must be a matrix of real numbers", argument="matrix", offender=str(error)) from error
    if found.shape != (size, size):
        law = f"must have shape ({size}, {size}), as there are {size} intercepts"
        raise InputValueError(law, argument="matrix", offender=f"it has {found.shape}")
    checked_column("matrix", found.reshape(-1), low=-LARGEST, high=LARGEST)
    found.flags.writeable = False
    return found


def _range(values: Floats) -> str:
    """Say what numbers there are: some of them, or their range."""
    if len(values) <= 4:
        return ", ".join(f"{value:.3g}" for value in values)
    return f"from {values.min():.3g} to {values.max():.3g}"
