"""Cases with class probabilities, to which class maps are fitted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propriety.recalibration.softmax_fit import Likelihood, added, matrix_sums, temperature_sums, vector_sums
from propriety.result import Floats
from propriety.tables.cases import CHUNK, FEWEST_ROWS, Cases
from propriety.tables.labels import Labels
from propriety.tables.validation import Missing, read_cases

LOWEST = 1e-12  # The lowest floor.
Scaling: TypeAlias = Literal["temperature", "vector", "matrix"]
SUMS = {"temperature": temperature_sums, "vector": vector_sums, "matrix": matrix_sums}


class Rows(Protocol):
    """What the fits need from cases with class probabilities, in memory or in a lazy frame."""

    @property
    def classes(self) -> int:
        """Number of classes."""

    @property
    def total(self) -> float:
        """Sum of the weights."""

    @property
    def unit(self) -> float:
        """Weight of one case: the sum of the squared weights divided by the sum of the weights."""

    @property
    def nearest(self) -> float:
        """The smallest distance to 0 or 1 of the probabilities strictly between them; 0 if there are none."""

    @property
    def happened(self) -> NDArray[np.bool_]:
        """Which classes occurred."""

    def likelihood(self, scaling: Scaling, floor: float, *, squared: bool = False) -> Likelihood:
        """Return the likelihood of a scaling of log-probabilities, with the weights or their squares."""


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
        missing: Missing = "raise",
    ) -> Self:
        """Read outcomes and rows of probabilities; see `propriety.mean_score` for the arguments."""
        options = {"sample_weight": sample_weight, "labels": labels, "missing": missing}
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

    def where(self, kept: NDArray[np.bool_]) -> ClassRows:
        """Return the rows that a mask selects."""
        return ClassRows(self.forecast[kept], self.outcome[kept], self.weight[kept])


def floor_of_classes(rows: Rows) -> float:
    """Return the value that replaces probabilities of 0 in logarithms: half the smallest distance of others to 0 or 1.

    It is at least 1e-12. This is lower than for binary forecasts, because log-probabilities of classes stay accurate
    where log-odds near 1 do not, and overconfident networks give many classes less than 1e-6.

    Parameters
    ----------
    rows : ClassRows or LazyClassRows
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
    found: Floats = np.log(np.maximum(forecast, floor))
    return found
