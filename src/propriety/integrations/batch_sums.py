"""Contributions of a batch to a metric as integers, so that the result does not depend on how cases are batched.

Floats added in another order give another sum, so a mean loss is not kept as a sum of floats. A float64 is an integer
of 53 binary digits times a power of two. For each power the digits are summed as integers, which is exact in any order,
so partial sums can be added. The mean is the quotient of two such sums, rounded once. A forecast table on a grid is
kept as the number of events and non-events in each cell, with the sum of the positions of the forecasts in it.
Training metrics of boosting libraries are means of such sums.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propriety.errors import InputValueError
from propriety.integrations.model_outputs import (
    Output,
    check_output,
    event_or_rows,
    output_losses,
    probabilities,
    single_column,
)
from propriety.result import Floats
from propriety.rules.rule import Rule, check_rule
from propriety.rules.scoring import losses_by_chunk, mean_score
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.probabilities import TOLERANCE
from propriety.tables.validation import read_cases

Integers: TypeAlias = NDArray[np.int64]

DIGITS = 53
HALF = 26  # The digits are kept as two halves, so that 2**36 cases fit into 64 bits.
LOWEST = -1073  # The exponent of the smallest float64, as `numpy.frexp` gives it; the largest has 1024.
TINIEST = float(np.finfo(np.float64).smallest_subnormal)
INFINITE = 1024 - LOWEST + 1  # The last column counts infinite terms.
SHAPE = (2, 2, INFINITE + 1)  # Losses and weights, by upper and lower half and by power of two.


def sums_of_batch(
    rule: Rule,
    outcome: NDArray[Any],
    forecast: NDArray[Any],
    weight: NDArray[Any] | None = None,
    *,
    from_logits: bool = False,
    tolerance: float = TOLERANCE,
) -> Integers:
    """Return the exact sums of weighted losses and of weights; those of several batches add.

    A weighted loss is the product rounded to float64. A batch without cases, or with zero weight, adds nothing.

    Parameters
    ----------
    rule : Rule
        The scoring rule; with two classes, a rule for one event scores the second class.
    outcome : array of shape (n,) or (n, 1)
        Whether the event happened, or the class index.
    forecast : array of shape (n,), (n, 1) or (n, K)
        Probabilities of the event or of the classes, or their logits.
    weight : array of shape (n,) or (n, 1), optional
        Weights, finite and not negative.
    from_logits : bool
        Whether forecasts are logits.
    tolerance : float
        Allowed deviation of a row of class probabilities from summing to one.

    Examples
    --------
    >>> import propriety as pr
    >>> y, p = np.array([0, 1, 1]), np.array([0.1, 0.7, 0.4])
    >>> parts = sums_of_batch(pr.Brier(), y[:1], p[:1]) + sums_of_batch(pr.Brier(), y[1:], p[1:])
    >>> mean_of_sums(parts) == mean_of_sums(sums_of_batch(pr.Brier(), y, p))
    True
    """
    sums = np.zeros(SHAPE, dtype=np.int64)
    weight = None if weight is None else single_column(weight)
    if len(forecast) == 0 == len(outcome) or (weight is not None and not weight.any()):
        return sums
    values, outcome = single_column(forecast), single_column(outcome)
    proba = event_or_rows(rule, probabilities(values, "margin") if from_logits else values, tolerance=tolerance)
    cases = read_cases(outcome, proba, sample_weight=weight, tolerance=tolerance, snapshot=False)
    if from_logits:
        cases.checked()
        logits = np.asarray(values, dtype=np.float64)
        chunks = iter([(output_losses(rule, logits, cases.outcomes(), from_logits=True), cases.weights())])
    else:
        chunks = losses_by_chunk(cases, rule)
    for loss, of_chunk in chunks:
        weights = np.ones(len(loss)) if of_chunk is None else of_chunk
        # A case of zero weight does not count, even if its loss is infinite.
        terms = np.multiply(loss, weights, where=weights > 0.0, out=np.zeros(len(loss)))
        if np.isnan(terms).any() or (terms == -np.inf).any():
            raise InputValueError(f"{rule!r} must return numbers above minus infinity; some loss is not")
        _add(sums[0], terms)
        _add(sums[1], weights)
    return sums


def mean_of_sums(sums: Integers) -> float:
    """Return the mean loss: the exact sum of the losses divided by that of the weights, correctly rounded."""
    weight = _whole(sums[1])
    if weight == 0:
        law = "a mean needs at least one case with a positive weight; there are no such cases"
        raise InputValueError(law, hint="update the metric before asking for its value.")
    # Both sums are in units of the same power of two, and Python's division of integers rounds correctly.
    return math.inf if sums[0, 0, INFINITE] else _whole(sums[0]) / weight


def counts_of_batch(
    outcome: NDArray[Any], forecast: NDArray[Any], *, cells: int, from_logits: bool = False
) -> Integers:
    """Return the contribution of a batch to the cells, of shape (3, cells + 2); those of several batches add.

    The rows are the number of events, the number of non-events, and the sum of the positions of the forecasts in their
    cell, from 0 to 2**26. The first and last columns are for forecasts of exactly 0 and 1.

    Parameters
    ----------
    outcome : array of shape (n,) or (n, 1)
        Whether the event happened.
    forecast : array of shape (n,) or (n, 1)
        Its probability, or its log-odds.
    cells : int
        Number of cells, a power of two.
    from_logits : bool
        Whether forecasts are log-odds.

    Examples
    --------
    >>> counts_of_batch(np.array([0, 1, 1]), np.array([0.25, 0.5, 1.0]), cells=2)
    array([[       0,        0,        1,        1],
           [       0,        1,        0,        0],
           [       0, 33554432,        0,        0]])
    """
    counts = np.zeros((3, cells + 2), dtype=np.int64)
    if len(forecast) == 0 == len(outcome):
        return counts
    proba = single_column(forecast)
    proba = probabilities(proba, "margin") if from_logits else proba
    table = ForecastTable.from_predictions(single_column(outcome), proba)
    scaled = table.forecast * cells
    cell = np.floor(scaled)
    place = np.rint((scaled - cell) * 2**HALF)
    column = np.where(table.forecast == 0.0, 0, cell + 1).astype(np.intp)
    for row, terms in zip(counts, (table.events, table.non_events, table.weights * place), strict=True):
        np.add.at(row, column, terms.astype(np.int64))
    return counts


def table_of_counts(counts: Integers) -> ForecastTable:
    """Return the forecast table of the counts; its forecasts are the means of the cells, accurate to 2**-27 of a cell.

    Examples
    --------
    >>> table_of_counts(np.array([[0, 0, 1, 1], [0, 1, 0, 0], [0, 2**25, 2**24, 0]])).forecast
    array([0.25 , 0.625, 1.   ])
    """
    cells = counts.shape[1] - 2
    used = np.flatnonzero(counts[:2].any(axis=0))
    if len(used) == 0:
        law = "a forecast table needs at least one case; there are no cases"
        raise InputValueError(law, hint="update the metric before asking for its value.")
    events, non_events, places = counts[:, used].astype(np.float64)
    cell = used - 1.0
    mean = (cell + places / ((events + non_events) * 2**HALF)) / cells
    # A forecast above 0 does not claim certainty, and a mean that was rounded up stays in its cell.
    mean = np.clip(mean, np.maximum(cell / cells, TINIEST), np.nextafter((cell + 1.0) / cells, 0.0))
    forecast = np.where(used == 0, 0.0, np.where(used == cells + 1, 1.0, mean))
    return ForecastTable(forecast=forecast, events=events, non_events=non_events, cells=cells)


def _add(sums: Integers, terms: Floats) -> None:
    infinite = np.isinf(terms)
    sums[0, INFINITE] += np.count_nonzero(infinite)
    fraction, exponent = np.frexp(np.where(infinite, 0.0, terms))
    digits = np.ldexp(fraction, DIGITS).astype(np.int64)
    np.add.at(sums[0], exponent - LOWEST, digits >> HALF)
    np.add.at(sums[1], exponent - LOWEST, digits & (2**HALF - 1))


def _whole(sums: Integers) -> int:
    """Return the sum in units of the last digit of the smallest power, as one integer."""
    used = np.flatnonzero(sums[:, :INFINITE].any(axis=0)).tolist()
    return sum(((int(sums[0, power]) << HALF) + int(sums[1, power])) << power for power in used)


@dataclass(frozen=True)
class BoosterMetric:
    """Mean loss under a rule, for a library that calls it with outcomes and predictions after every round.

    Parameters
    ----------
    rule : Rule
        The scoring rule; with two classes, a rule for one event scores the second class.
    output : {"probability", "margin"}
        What the library passes to the metric. It is never guessed, because margins near zero look like probabilities.
    name : str, optional
        Name of the metric in the library's records, by default that of the rule.
    """

    rule: Rule
    _: KW_ONLY
    output: Output
    name: str = ""

    def __post_init__(self) -> None:
        check_rule(self.rule)
        check_output(self.output)
        object.__setattr__(self, "name", self.name or self.rule.name)

    def loss(self, outcome: ArrayLike, predictions: ArrayLike, weight: ArrayLike | None = None) -> float:
        """Return the mean loss for class indices 0, ..., K - 1 and predictions as the library passes them."""
        if self.output == "margin":
            weights = None if weight is None else np.asarray(weight)
            classes, margins = np.asarray(outcome), np.asarray(predictions)
            return mean_of_sums(sums_of_batch(self.rule, classes, margins, weights, from_logits=True))
        forecast = event_or_rows(self.rule, probabilities(predictions, self.output))
        return float(mean_score(outcome, forecast, rule=self.rule, sample_weight=weight))
