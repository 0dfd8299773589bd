"""Class maps that are linear in log-probabilities: temperature, vector and matrix scaling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial, reduce
from operator import add
from typing import Any, ClassVar

import numpy as np
from scipy.special import softmax

from propriety.errors import InputTypeError, InputValueError
from propriety.recalibration.class_maps import ClassMap
from propriety.recalibration.class_rows import log_probabilities
from propriety.recalibration.maps import checked_column, checked_floor, checked_number
from propriety.recalibration.written_maps import Column, Written, log_probabilities_of, softmax_of
from propriety.result import Floats

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
        found: Floats = softmax(self.slope * log_probabilities(forecast, self.floor), axis=1)
        return found

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
        found: Floats = softmax(self.slopes * x + self.intercepts, axis=1)
        return found

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
        found: Floats = softmax(x @ self.matrix.T + self.intercepts, axis=1)
        return found

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
