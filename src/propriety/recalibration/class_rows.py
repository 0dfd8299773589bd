"""Cases with class probabilities, to which class maps are fitted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propriety.recalibration.newton import Likelihood, Sums
from propriety.result import Floats
from propriety.tables.cases import CHUNK, FEWEST_ROWS, Cases
from propriety.tables.labels import Labels
from propriety.tables.validation import read_cases

LOWEST = 1e-12  # The lowest floor.
Scaling: TypeAlias = Literal["temperature", "vector", "matrix"]


def _softmax(scores: Floats, axis: int = 1) -> tuple[Floats, Floats]:
    """Return the log-sum-exp of each case, and the probabilities of the classes along an axis."""
    top = scores.max(axis=axis, keepdims=True)
    share = np.exp(scores - top)
    total = share.sum(axis=axis, keepdims=True)
    share /= total
    return np.squeeze(top + np.log(total), axis=axis), share


def matrix_sums(x: Floats, outcome: NDArray[np.intp], weight: Floats) -> Likelihood:
    r"""Return the likelihood of matrix scaling, :math:`\eta = W x + b`, with the rows of W each followed by its b."""
    cases, classes = x.shape
    rows, design = np.arange(cases), np.hstack([x, np.ones((cases, 1))])
    width = classes + 1

    def sums(parameters: Floats) -> Sums:
        scores = design @ parameters.reshape(classes, width).T
        lifted, q = _softmax(scores)
        loss = float(weight @ (lifted - scores[rows, outcome]))
        pull = weight[:, None] * q
        hessian = np.empty((classes, width, classes, width))
        for one in range(classes):
            for other in range(one, classes):
                share = pull[:, one] * ((one == other) - q[:, other])
                block = (design * share[:, None]).T @ design
                hessian[one, :, other] = block
                hessian[other, :, one] = block
        pull[rows, outcome] -= weight
        return Sums(loss, (pull.T @ design).reshape(-1), hessian.reshape(classes * width, classes * width))

    return sums


def temperature_sums(x: Floats, outcome: NDArray[np.intp], weight: Floats) -> Likelihood:
    r"""Return the likelihood of a temperature: :math:`\eta_k = b x_k`, with one parameter."""
    happened = x[np.arange(len(x)), outcome]
    columns = np.ascontiguousarray(x.T)  # NumPy is slow to add up rows of few classes.

    def sums(parameters: Floats) -> Sums:
        (slope,) = parameters
        lifted, q = _softmax(slope * columns, axis=0)
        mean = (q * columns).sum(axis=0)
        spread = (q * (columns - mean) ** 2).sum(axis=0)
        loss = float(weight @ (lifted - slope * happened))
        return Sums(loss, np.array([weight @ (mean - happened)]), np.array([[weight @ spread]]))

    return sums


def vector_sums(x: Floats, outcome: NDArray[np.intp], weight: Floats) -> Likelihood:
    r"""Return the likelihood of vector scaling: :math:`\eta_k = a_k x_k + b_k`, slopes before intercepts."""
    cases, classes = x.shape
    rows = np.arange(cases)

    def sums(parameters: Floats) -> Sums:
        scores = parameters[:classes] * x + parameters[classes:]
        lifted, q = _softmax(scores)
        loss = float(weight @ (lifted - scores[rows, outcome]))
        pull = weight[:, None] * q
        sloped = np.hstack([q * x, q])
        own = [(pull * x * x).sum(axis=0), (pull * x).sum(axis=0), pull.sum(axis=0)]
        hessian = -(weight[:, None] * sloped).T @ sloped
        hessian += np.block([[np.diag(own[0]), np.diag(own[1])], [np.diag(own[1]), np.diag(own[2])]])
        pull[rows, outcome] -= weight
        return Sums(loss, np.concatenate([(pull * x).sum(axis=0), pull.sum(axis=0)]), hessian)

    return sums


SUMS = {"temperature": temperature_sums, "vector": vector_sums, "matrix": matrix_sums}


@dataclass(frozen=True, slots=True, eq=False)
class ClassRows:
    """Rows of class probabilities and the observed classes, the input of `fit_temperature` and the other fits.

    Parameters
    ----------
    forecast : array of shape (n, K)
        Probabilities.
    outcome : array of shape (n,)
        Index of the observed class.
    weight : array of shape (n,)
        Weights, all positive.

    Examples
    --------
    >>> rows = ClassRows.from_predictions([0, 2], [[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]])
    >>> rows.forecast.shape, rows.unit
    ((2, 3), 1.0)
    """

    forecast: Floats
    outcome: NDArray[np.intp]
    weight: Floats

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_proba: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        labels: Labels | None = None,
    ) -> Self:
        """Read outcomes and rows of probabilities; see `propriety.mean_score` for the arguments."""
        options = {"sample_weight": sample_weight, "labels": labels}
        return cls.of_cases(read_cases(y_true, y_proba, kind="classes", **options))  # type: ignore[arg-type]  # by name

    @classmethod
    def of_cases(cls, cases: Cases) -> Self:
        """Return the rows of the cases of one model; cases with a weight of 0 are left out."""
        forecast, outcome, weight = cases.gathered()
        if weight is None:
            return cls(np.ascontiguousarray(forecast.T), outcome, np.ones(len(outcome)))
        counts = weight > 0.0
        return cls(np.ascontiguousarray(forecast.T[counts]), outcome[counts], weight[counts])

    def __len__(self) -> int:
        return len(self.outcome)

    @property
    def classes(self) -> int:
        """Number of classes."""
        return int(self.forecast.shape[1])

    @property
    def total(self) -> float:
        """Sum of the weights."""
        return float(self.weight.sum())

    @property
    def unit(self) -> float:
        """Weight of one case: the sum of the squared weights divided by the sum of the weights."""
        return float((self.weight**2).sum()) / self.total

    @property
    def nearest(self) -> float:
        """The smallest distance to 0 or 1 of the probabilities strictly between them; 0 if there are none."""
        distance = np.minimum(self.forecast, 1.0 - self.forecast)
        return float(distance.min(initial=1.0, where=distance > 0.0)) % 1.0

    @property
    def happened(self) -> NDArray[np.bool_]:
        """Which classes occurred."""
        return np.bincount(self.outcome, minlength=self.classes) > 0

    def likelihood(self, scaling: Scaling, floor: float, *, squared: bool = False) -> Likelihood:
        """Return the likelihood of a scaling of log-probabilities, with the weights or their squares."""
        weight = self.weight**2 if squared else self.weight
        size = max(CHUNK // self.classes, FEWEST_ROWS)
        parts = [slice(start, start + size) for start in range(0, max(len(self), 1), size)]
        return added(
            [SUMS[scaling](log_probabilities(self.forecast[p], floor), self.outcome[p], weight[p]) for p in parts]
        )

    def __getitem__(self, kept: NDArray[np.bool_]) -> ClassRows:
        """Return the rows that a mask selects."""
        return ClassRows(self.forecast[kept], self.outcome[kept], self.weight[kept])


def floor_of_classes(rows: ClassRows) -> float:
    """Return the value that replaces probabilities of 0 in logarithms: half the smallest distance of others to 0 or 1.

    It is at least 1e-12. This is lower than for binary forecasts, because log-probabilities of classes stay accurate
    where log-odds near 1 do not, and overconfident networks give many classes less than 1e-6.

    Parameters
    ----------
    rows : ClassRows
        Any.

    Returns
    -------
    float
        The floor.

    Examples
    --------
    >>> floor_of_classes(ClassRows.from_predictions([0, 1], [[1.0, 0.0, 0.0], [0.2, 0.78, 0.02]]))
    0.01
    """
    return max(LOWEST, rows.nearest / 2.0)


def log_probabilities(forecast: Floats, floor: float) -> Floats:
    """Return the logarithms of the probabilities, after raising them to the floor."""
    return np.log(np.maximum(forecast, floor))


def added(parts: Sequence[Likelihood]) -> Likelihood:
    """Return the likelihood of the cases of all parts."""
    if len(parts) == 1:
        return parts[0]

    def sums(parameters: Floats) -> Sums:
        found = [part(parameters) for part in parts]
        return Sums(
            math.fsum(one.loss for one in found),
            np.sum([one.gradient for one in found], axis=0),
            np.sum([one.hessian for one in found], axis=0),
        )

    return sums
