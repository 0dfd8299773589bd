"""Gain, lift and precision-recall curves: what is found among the cases with the highest forecasts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from propriety.result import Floats, Result
from propriety.tables.forecast_table import ForecastTable


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class GainCurve(Result):
    r"""Events found among the cases with the highest forecasts, one row per threshold; see `RocCurve.gains`.

    Parameters
    ----------
    threshold : array of shape (rows,)
        Act on forecasts of at least this value.
    share : array of shape (rows,)
        Share of the cases acted on.
    recall : array of shape (rows,)
        Share of the events that are acted on, the gain; also called sensitivity.
    precision : array of shape (rows,)
        Share of events among the cases acted on.
    lift : array of shape (rows,)
        Precision divided by prevalence.
    prevalence : float
        Share of events among all cases, the precision of acting at random.
    average_precision : float
        Mean precision over the events, :math:`\sum_k (r_k - r_{k-1})\, p_k` for recall r and precision p.
    n : int
        Number of cases.
    """

    threshold: Floats
    share: Floats
    recall: Floats
    precision: Floats
    lift: Floats
    prevalence: float
    average_precision: float
    n: int

    def _facts(self) -> dict[str, Any]:
        return {"rows": len(self.threshold), "average_precision": self.average_precision, "n": self.n}


def gain_curve_of(table: ForecastTable) -> GainCurve:
    """Compute the curve of a table with events; see `RocCurve.gains`.

    Examples
    --------
    >>> found = gain_curve_of(ForecastTable.from_predictions([0, 1, 0, 1], [0.1, 0.3, 0.4, 0.8]))
    >>> found.recall, found.precision.round(3), round(found.average_precision, 4)
    (array([0.5, 0.5, 1. , 1. ]), array([1.   , 0.5  , 0.667, 0.5  ]), 0.8333)
    """
    events, weights = np.cumsum(table.events[::-1]), np.cumsum(table.weights[::-1])
    recall, precision, prevalence = events / events[-1], events / weights, table.event_rate
    return GainCurve(
        threshold=table.forecast[::-1],
        share=weights / weights[-1],
        recall=recall,
        precision=precision,
        lift=precision / prevalence,
        prevalence=prevalence,
        average_precision=float(np.diff(recall, prepend=0.0) @ precision),
        n=table.n,
    )
