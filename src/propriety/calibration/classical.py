"""The binned decomposition of the Brier score into reliability, resolution and uncertainty, for comparison."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from propriety.calibration.binning import Strategy, bin_starts
from propriety.checks import check_choice
from propriety.result import Result
from propriety.rules.families import Brier
from propriety.rules.scoring import mean_score
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.labels import Labels
from propriety.tables.validation import Missing


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ClassicalDecomposition(Result):
    """Brier score = reliability - resolution + uncertainty + within_bin.

    Parameters
    ----------
    score : float
        Brier score of the forecasts.
    reliability : float
        Weighted mean squared distance between the mean forecast and the event rate of a bin; lower is better.
    resolution : float
        Weighted variance of the event rates of the bins; higher is better.
    uncertainty : float
        Variance of the outcomes.
    within_bin : float
        Variance of the forecasts within bins minus twice their covariance with the outcomes there.
    strategy : {"uniform", "quantile", "distinct"}
        How the bins are formed.
    bins, n, dropped : int
        Number of non-empty bins, of cases, and of rows left out because of missing values.
    """

    score: float
    reliability: float
    resolution: float
    uncertainty: float
    within_bin: float
    strategy: str
    bins: int
    n: int
    dropped: int = 0


def classical_decomposition(
    y_true: ArrayLike | ForecastTable,
    y_proba: ArrayLike | None = None,
    *,
    bins: int = 10,
    strategy: Strategy | Literal["distinct"] = "uniform",
    sample_weight: ArrayLike | None = None,
    pos_label: Hashable | None = None,
    labels: Labels | None = None,
    missing: Missing = "raise",
) -> ClassicalDecomposition:
    r"""Decompose the Brier score into reliability, resolution and uncertainty of binned forecasts.

    With the weight :math:`w_k`, mean forecast :math:`\bar p_k` and event rate :math:`\bar y_k` of bin :math:`k`,

    .. math:: \mathrm{BS} = \sum_k w_k (\bar p_k - \bar y_k)^2 - \sum_k w_k (\bar y_k - \bar y)^2
              + \bar y (1 - \bar y) + \sum_{k,\, i \in k} w_i \bigl[(p_i - \bar p_k)^2
              - 2 (p_i - \bar p_k) (y_i - \bar y_k)\bigr] .

    The parts depend on the bins: narrow bins with few cases inflate both reliability and resolution by the same amount.
    `decompose` needs no bins and is preferable.

    Parameters
    ----------
    y_true, y_proba, sample_weight, pos_label, labels, missing
        As in `propriety.mean_score`: binary predictions, or a ForecastTable.
    bins : int
        Number of bins, for the first two strategies.
    strategy : {"uniform", "quantile", "distinct"}
        Bins of equal width, of about equal weight, or one for each distinct forecast, so that within_bin is 0.

    References
    ----------
    Murphy (1973), doi:10.1175/1520-0450(1973)012<0595:ANVPOT>2.0.CO;2; Stephenson, Coelho & Jolliffe (2008),
    doi:10.1175/2007WAF2006116.1, for the terms within bins.

    Examples
    --------
    >>> import propriety as pr
    >>> pr.classical_decomposition([0, 1, 0, 1], [0.1, 0.3, 0.4, 0.8], strategy="distinct")
    ClassicalDecomposition(score=0.175, reliability=0.175, resolution=0.25, uncertainty=0.25, within_bin=0,
                           strategy=distinct, bins=4, n=4, dropped=0)
    """
    table = ForecastTable.of(
        y_true, y_proba, sample_weight=sample_weight, pos_label=pos_label, labels=labels, missing=missing
    )
    check_choice("strategy", strategy, (*get_args(Strategy), "distinct"))
    start = np.arange(len(table)) if strategy == "distinct" else bin_starts(table, bins=bins, strategy=strategy)
    share = table.weights / table.weight
    size = np.add.reduceat(share, start)
    forecast = np.add.reduceat(share * table.forecast, start) / size
    rate = np.add.reduceat(table.events, start) / np.add.reduceat(table.weights, start)
    rows = np.diff(start, append=len(table))
    gap, lift = table.forecast - np.repeat(forecast, rows), table.event_rates - np.repeat(rate, rows)
    return ClassicalDecomposition(
        score=float(mean_score(table, rule=Brier())),
        reliability=float(size @ (forecast - rate) ** 2),
        resolution=float(size @ (rate - table.event_rate) ** 2),
        uncertainty=table.event_rate * float(table.non_events.sum()) / table.weight,
        within_bin=float(share @ (gap * (gap - 2.0 * lift))),
        strategy=strategy,
        bins=len(start),
        n=table.n,
        dropped=table.dropped,
    )
