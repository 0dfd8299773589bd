"""Predictions that have passed the door: outcomes, forecasts and weights, handed out in checked chunks.

A chunk is small enough to stay in the processor's cache, so that the checks, the conversion to float64
and whatever is computed next share one trip through memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from propriety.results import Floats
from propriety.tables import laws

__all__ = ["BinaryChunk", "BinaryPredictions", "ClassChunk", "ClassPredictions", "Predictions"]

CHUNK = 2**14
CUMULATIVE_DECIMALS = 12
FEWEST_ROWS = 1024  # With many classes a chunk outgrows the cache, because each class costs a call.


class BinaryChunk(NamedTuple):
    """Checked cases of a binary problem: forecast in [0, 1], whether the event happened, weight; not to be changed."""

    forecast: Floats
    event: NDArray[np.bool_]
    weight: Floats | None


class ClassChunk(NamedTuple):
    """Checked cases of a K-class problem: forecast of shape (K, cases), index of the class that happened, weight."""

    forecast: Floats
    outcome: NDArray[np.intp]
    weight: Floats | None


@dataclass(frozen=True, slots=True, eq=False)
class BinaryPredictions:
    """Binary outcomes with the probability of the event, one per case.

    `outcome` is boolean, or numeric and checked chunk by chunk to hold 0 and 1 only. `rows` holds the
    numbers that the cases had before rows with missing values were dropped, for error messages.
    """

    outcome: NDArray[Any]
    forecast: NDArray[Any]
    weight: NDArray[Any] | None = None
    dropped: int = 0
    rows: NDArray[np.intp] | None = None
    argument: str = "y_proba"

    def __len__(self) -> int:
        return len(self.forecast)

    def chunks(self) -> Iterator[BinaryChunk]:
        """Yield the cases, converted and checked, in order."""
        for start in range(0, len(self), CHUNK):
            part = slice(start, start + CHUNK)
            forecast = np.ascontiguousarray(self.forecast[part], dtype=np.float64)
            if not laws.in_unit_interval(forecast):
                laws.refuse_forecasts(self.argument, self.forecast, self.rows)
            yield BinaryChunk(forecast, self._events(part), _weights(self, part))

    def gathered(self) -> BinaryChunk:
        """Return all cases, converted and checked, as one chunk."""
        forecasts, events, weights = zip(*self.chunks(), strict=True)
        weight = None if self.weight is None else np.concatenate(weights)
        return BinaryChunk(np.concatenate(forecasts), np.concatenate(events), weight)

    def _events(self, part: slice) -> NDArray[np.bool_]:
        outcome = self.outcome[part]
        if outcome.dtype == np.bool_:
            return outcome
        event: NDArray[np.bool_] = outcome == 1
        if not (event | (outcome == 0)).all():
            laws.refuse_outcomes(self.outcome, self.rows)
        return event


@dataclass(frozen=True, slots=True, eq=False)
class ClassPredictions:
    """Outcomes of one of K classes with a row of K probabilities per case.

    `outcome` holds class indices; they are checked to be whole numbers from 0 to K - 1.
    """

    outcome: NDArray[Any]
    forecast: NDArray[Any]
    labels: tuple[Any, ...]
    tolerance: float
    weight: NDArray[Any] | None = None
    dropped: int = 0
    rows: NDArray[np.intp] | None = None
    argument: str = "y_proba"

    def __len__(self) -> int:
        return len(self.forecast)

    def chunks(self) -> Iterator[ClassChunk]:
        """Yield the cases, converted and checked, in order."""
        classes = len(self.labels)
        size = max(CHUNK // classes, FEWEST_ROWS)
        for start in range(0, len(self), size):
            part = slice(start, start + size)
            forecast = np.ascontiguousarray(self.forecast[part].T, dtype=np.float64)
            if not laws.in_unit_interval(forecast):
                laws.refuse_forecasts(self.argument, self.forecast, self.rows)
            if not np.abs(forecast.sum(axis=0) - 1.0).max() <= self.tolerance:
                laws.refuse_row_sums(self.argument, self.forecast, self.tolerance, self.rows)
            yield ClassChunk(forecast, self._indices(part, classes), _weights(self, part))

    def gathered(self) -> ClassChunk:
        """Return all cases, converted and checked, as one chunk."""
        forecasts, outcomes, weights = zip(*self.chunks(), strict=True)
        weight = None if self.weight is None else np.concatenate(weights)
        return ClassChunk(np.concatenate(forecasts, axis=1), np.concatenate(outcomes), weight)

    def events(self) -> dict[Any, BinaryPredictions]:
        """Return the predictions of each class: the event is "y is this class"."""
        forecast, outcome, _ = self.gathered()
        return {label: self._event(outcome == place, forecast[place]) for place, label in enumerate(self.labels)}

    def cut_points(self) -> dict[Any, BinaryPredictions]:
        """Return the predictions at each cut point: the event is "y is at most this class"."""
        forecast, outcome, _ = self.gathered()
        heads = np.minimum(np.round(np.cumsum(forecast, axis=0), CUMULATIVE_DECIMALS), 1.0)
        return {label: self._event(outcome <= place, heads[place]) for place, label in enumerate(self.labels[:-1])}

    def _event(self, event: NDArray[np.bool_], forecast: Floats) -> BinaryPredictions:
        return BinaryPredictions(event, forecast, self.weight, dropped=self.dropped)

    def _indices(self, part: slice, classes: int) -> NDArray[np.intp]:
        outcome = self.outcome[part]
        if not laws.are_class_indices(outcome, classes).all():
            laws.refuse_class_indices(self.outcome, classes, self.rows)
        return outcome.astype(np.intp)


Predictions: TypeAlias = BinaryPredictions | ClassPredictions


def _weights(predictions: Predictions, part: slice) -> Floats | None:
    if predictions.weight is None:
        return None
    weight = predictions.weight[part].astype(np.float64)
    if not (weight.min() >= 0.0 and weight.max() < np.inf):
        laws.refuse_weights(predictions.weight, predictions.rows)
    return weight
