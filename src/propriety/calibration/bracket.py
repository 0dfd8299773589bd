"""Bounds on the miscalibration of the cases behind a grid, which does not hold exact forecasts."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from propriety.calibration.pav import Blocks, pool_adjacent_violators
from propriety.calibration.score_parts import parts_of, proper_binary_rule, scores_of
from propriety.result import Result
from propriety.rules.families import BRIER
from propriety.rules.rule import Rule
from propriety.tables.forecast_table import ForecastTable, Outcomes
from propriety.tables.labels import Labels


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class CalibrationBracket(Result):
    """Bounds on the miscalibration and the discrimination of the cases behind a grid.

    Parameters
    ----------
    miscalibration_low, miscalibration_high : float
        Lower and upper bound of the miscalibration of the forecasts, each the mean of its cell.
    discrimination_low, discrimination_high : float
        Lower and upper bound of the discrimination.
    rule : Rule
        The rule.
    n : int
        Number of cases.
    cells : int, optional
        Cells of the grid; None if the forecasts are exact and the bounds are equal.
    """

    miscalibration_low: float
    miscalibration_high: float
    discrimination_low: float
    discrimination_high: float
    rule: Rule
    n: int
    cells: int | None = None


def calibration_bracket(
    y_true: Outcomes,
    y_proba: ArrayLike | None = None,
    *,
    rule: Rule = BRIER,
    sample_weight: ArrayLike | None = None,
    pos_label: Hashable | None = None,
    labels: Labels | None = None,
) -> CalibrationBracket:
    r"""Bound the miscalibration and the discrimination of the cases behind a grid.

    Recalibration of the cells gives the lower bounds, because it cannot separate the cases of a cell. The upper bounds
    are reached if all non-events of a cell have lower forecasts than its events: the cumulative-sum diagram of any
    other order runs above that one, and so does its hull. The truth lies in between:

    .. math::

       \bar S_C(\text{corners}) \le \bar S_C(\text{cases}) \le \bar S_C(\text{cells})

    Parameters
    ----------
    y_true, y_proba, sample_weight, pos_label, labels
        As in `propriety.mean_score`, in general a ForecastTable on a plain grid. The bounds of an exact or a refined
        table are equal, because its blocks are known.
    rule : Rule
        Any proper rule for one event.

    References
    ----------
    Dimitriadis, Gneiting & Jordan (2021), doi:10.1073/pnas.2016191118, for the parts.

    Examples
    --------
    >>> import propriety as pr
    >>> table = pr.ForecastTable.from_predictions([0, 1, 0, 1], [0.1, 0.15, 0.6, 0.8])
    >>> bracket = calibration_bracket(table.grid(2))
    >>> bracket.discrimination_low, bracket.discrimination_high
    (0.0, 0.125)
    >>> pr.decompose(table).discrimination
    0.125
    """
    binary = proper_binary_rule(rule)
    table = ForecastTable.of(y_true, y_proba, sample_weight=sample_weight, pos_label=pos_label, labels=labels)
    blocks = pool_adjacent_violators(table)
    corners = blocks if table.cells is None or table.refined else _corners(table)
    scores = np.array([scores_of(table, blocks, binary), scores_of(table, corners, binary)])
    (_, least, low, _), (_, most, high, _) = parts_of(binary, scores).tolist()
    return CalibrationBracket(
        miscalibration_low=least,
        miscalibration_high=most,
        discrimination_low=low,
        discrimination_high=high,
        rule=rule,
        n=table.n,
        cells=table.cells,
    )


def _corners(table: ForecastTable) -> Blocks:
    """Return the blocks for the order that favours recalibration most: non-events before events in each cell.

    Forecasts of 0 and 1 are exact, so their cases cannot be separated.
    """
    inner = (table.forecast > 0.0) & (table.forecast < 1.0)
    parted = inner & (table.events > 0.0) & (table.non_events > 0.0)
    # A separated cell becomes two rows: its non-events, then its events.
    row = np.repeat(np.arange(len(table)), 1 + parted)
    second = np.diff(row, prepend=-1) == 0
    first = parted[row] & ~second
    return Blocks.of(np.where(first, 0.0, table.events[row]), np.where(second, 0.0, table.non_events[row]))
