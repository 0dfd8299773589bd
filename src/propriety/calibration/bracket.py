"""How far a grid can be off: the miscalibration of all the cases that it may stand for lies in a bracket."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from propriety.calibration.pav import Blocks, pool_adjacent_violators
from propriety.calibration.score_parts import parts_of, proper_binary_rule, scores_of
from propriety.result import Result
from propriety.rules.families import BRIER
from propriety.rules.rule import Rule
from propriety.tables.forecast_table import ForecastTable

__all__ = ["CalibrationBracket", "calibration_bracket"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class CalibrationBracket(Result):
    """Limits of the miscalibration and the discrimination of the cases behind a grid.

    Parameters
    ----------
    miscalibration_low, miscalibration_high : float
        What the forecasts, each the mean of its cell, lose to the recalibrated cases: at least, at most.
    discrimination_low, discrimination_high : float
        What the recalibrated cases gain on the constant event rate: at least, at most.
    rule : Rule
        The rule.
    n : int
        Number of cases.
    cells : int, optional
        Cells of the grid; None where the forecasts are exact and the limits are one.
    """

    miscalibration_low: float
    miscalibration_high: float
    discrimination_low: float
    discrimination_high: float
    rule: Rule
    n: int
    cells: int | None = None


def calibration_bracket(table: ForecastTable, *, rule: Rule = BRIER) -> CalibrationBracket:
    r"""Bracket what isotonic recalibration finds in the cases behind a grid.

    Recalibration of the cells finds the least, because it cannot part the cases of a cell. It finds the most where all
    non-events of a cell have lower forecasts than its events, since the cumulative-sum diagram of any other order runs
    above that one, and so does its hull. The truth lies between:

    .. math::

       \bar S_C(\text{corners}) \le \bar S_C(\text{cases}) \le \bar S_C(\text{cells})

    Parameters
    ----------
    table : ForecastTable
        A plain grid. The limits of an exact or a refined table are one: its blocks are known.
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
    """Return the blocks of the cases in the order that favours recalibration: non-events before events in each cell.

    Forecasts of 0 and 1 are exact, so that their cases cannot be parted.
    """
    inner = (table.forecast > 0.0) & (table.forecast < 1.0)
    parted = inner & (table.events > 0.0) & (table.non_events > 0.0)
    # A cell that is parted becomes two rows: its non-events, and then its events.
    row = np.repeat(np.arange(len(table)), 1 + parted)
    second = np.diff(row, prepend=-1) == 0
    first = parted[row] & ~second
    return Blocks.of(np.where(first, 0.0, table.events[row]), np.where(second, 0.0, table.non_events[row]))
