"""Acting on the k cases with the highest forecasts."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propriety.errors import InputTypeError, InputValueError
from propriety.result import Floats, Result
from propriety.rules.weights import read_thresholds
from propriety.tables.forecast_table import ForecastTable, Outcomes
from propriety.tables.labels import Labels
from propriety.tables.pooling import running_sum

PerCapacity: TypeAlias = Floats | float  # One number per capacity, or one number for one capacity.
ROUNDING_OF_WEIGHTS = 1e-12  # Sums of weights agree to this share of them.


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class TopK(Result):
    """Result of acting on the k cases with the highest forecasts; see `top_k` for the formulas.

    A field that depends on k is a number for one k and an array for several.

    Parameters
    ----------
    k : int, float or array
        Capacity: the number, or weight, of the cases acted on.
    threshold : float or array
        Lowest forecast that is acted on; only a share of the cases tied there may be.
    true_positives : float or array
        Weight of the events among the cases acted on.
    precision, recall : float or array
        Share of events among the cases acted on, and share of the events that are acted on; the latter is NaN without
        events.
    net_benefit : float or array, optional
        Net benefit per case, **higher is better**; None without `thresholds`.
    total_cost : float or array, optional
        Cost of all errors, lower is better; None without `thresholds`.
    thresholds : float, optional
        The decision maker's threshold: the cost of a false alarm as a share of the cost of both errors.
    event_rate : float
        Weighted share of events among all cases: the precision of acting on cases at random.
    n, dropped : int
        Number of cases, and of rows left out because of missing values.
    weight : float
        Total weight of the cases.
    """

    k: NDArray[Any] | float
    threshold: PerCapacity
    true_positives: PerCapacity
    precision: PerCapacity
    recall: PerCapacity
    net_benefit: PerCapacity | None
    total_cost: PerCapacity | None
    thresholds: float | None
    event_rate: float
    n: int
    weight: float
    dropped: int = 0


def top_k(
    y_true: Outcomes,
    y_proba: ArrayLike | None = None,
    *,
    k: ArrayLike,
    thresholds: float | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Hashable | None = None,
    labels: Labels | None = None,
) -> TopK:
    r"""Evaluate acting on the k cases with the highest forecasts.

    With TP events among the k cases, P events in all, n cases and the cost ratio c:

    .. math::

       \text{precision} = \frac{TP}{k}, \quad
       \text{recall} = \frac{TP}{P}, \quad
       \text{net benefit} = \frac{TP - c\,k}{n (1 - c)}, \quad
       \text{total cost} = c\,(k - TP) + (1 - c)(P - TP).

    At the same k on the same cases, all four rank models in the same way, because only TP differs.

    Parameters
    ----------
    y_true, y_proba, sample_weight, pos_label, labels
        As in `propriety.mean_score`: binary outcomes and the probability of the event, or a ledger of one model.
    k : int or array-like of int
        Capacity, from 1 to the number of cases. With weights it is a capacity in weight: any positive number up to the
        total weight.
    thresholds : float, optional
        The probability :math:`c` in (0, 1) at which somebody would act if capacity were unlimited: acting without the
        event costs c, and not acting on the event costs 1 - c. Without it, net benefit and total cost are not computed.

    Notes
    -----
    Cases that tie at the cut share the remaining places equally, so that TP is the expected value of a random choice
    among them. In a table on a grid, all forecasts of a cell are tied.

    References
    ----------
    Flores et al. (2025), appendix H, arXiv:2504.04528.

    Examples
    --------
    >>> from propriety.decisions.top_k import top_k
    >>> y, p = [0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.3, 0.6, 0.6, 0.9]
    >>> result = top_k(y, p, k=2, thresholds=0.2)
    >>> result.true_positives, result.precision, result.recall, round(result.net_benefit, 6), result.threshold
    (1.5, 0.75, 0.5, 0.229167, 0.6)
    >>> top_k(y, p, k=[1, 3, 6]).recall.round(6)
    array([0.333333, 0.666667, 1.      ])
    """
    table = ForecastTable.of(y_true, y_proba, sample_weight=sample_weight, pos_label=pos_label, labels=labels)
    cost = _read_cost(thresholds)
    capacity = _read_capacity(k, table)
    taken, found = (np.append(0.0, running_sum(column[::-1])) for column in (table.weights, table.events))
    # Rounding of the sums must not place the cut one row too far, or beyond the last.
    row = np.searchsorted(taken[1:], capacity * (1.0 - ROUNDING_OF_WEIGHTS), side="left")
    true_positives = np.interp(capacity, taken, found)
    events = float(found[-1])
    per_capacity: dict[str, Any] = {
        "k": capacity if table.is_weighted else capacity.astype(np.int64),
        "threshold": table.forecast[::-1][row],
        "true_positives": true_positives,
        "precision": true_positives / capacity,
        "recall": true_positives / events if events > 0.0 else np.full(capacity.shape, np.nan),
        "net_benefit": None,
        "total_cost": None,
    }
    if cost is not None:
        per_capacity |= {
            "net_benefit": (true_positives - cost * capacity) / (table.weight * (1.0 - cost)),
            "total_cost": cost * (capacity - true_positives) + (1.0 - cost) * (events - true_positives),
        }
    if capacity.ndim == 0:
        per_capacity = {name: None if value is None else value.item() for name, value in per_capacity.items()}
    return TopK(
        **per_capacity,
        thresholds=cost,
        event_rate=table.event_rate,
        n=table.n,
        weight=table.weight,
        dropped=table.dropped,
    )


def _read_cost(thresholds: float | None) -> float | None:
    """Return the threshold as the cost ratio; a range is rejected, because it does not determine a net benefit."""
    cost = read_thresholds(thresholds)
    if isinstance(cost, tuple):
        raise InputTypeError("must be one number", argument="thresholds", got=thresholds)
    return cost


def _read_capacity(k: ArrayLike, table: ForecastTable) -> Floats:
    """Check capacities: positive, no larger than what is available, and whole if cases are counted."""
    try:
        given = np.asarray(k)
    except ValueError as error:  # Lists of different lengths.
        raise InputTypeError("must be a number or a 1-D array of numbers", argument="k", offender=str(error)) from error
    if given.dtype.kind not in "iuf" or given.ndim > 1 or given.size == 0:
        law = "must be a number or a 1-D array of numbers"
        raise InputTypeError(law, argument="k", offender=f"got shape {given.shape} of {given.dtype}")
    capacity = given.astype(np.float64)
    most = table.weight * (1.0 + ROUNDING_OF_WEIGHTS)
    if table.is_weighted:
        law, hint = f"k must be above 0 and at most the total weight, {table.weight:g}", "k is a capacity in weight."
        bad = ~((capacity > 0.0) & (capacity <= most))
    else:
        law, hint = f"k must be a whole number from 1 to the number of cases, {table.n}", ""
        bad = ~((capacity >= 1.0) & (capacity <= most) & (capacity == np.floor(capacity)))
    if bad.any():
        first = given[bad][0].item()
        offender = f"it is {first!r}" if given.ndim == 0 else f"entry {int(bad.argmax())} is {first!r}"
        count = f"{np.count_nonzero(bad)} of {given.size} entries" if given.ndim else ""
        raise InputValueError(law, offender=offender, count=count, hint=hint)
    return capacity
