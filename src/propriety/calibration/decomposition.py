"""Decomposition of a mean score into miscalibration, discrimination and uncertainty."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propriety import demands
from propriety.calibration.blocks import Blocks, pool_adjacent_violators
from propriety.errors import ImproperRuleError, InputValueError, Wording
from propriety.result import Floats, Result
from propriety.rules.class_rules import RankedProbability, SquaredAbsoluteRankedProbability
from propriety.rules.families import BRIER, Brier, ShiftedBrier
from propriety.rules.rule import BinaryRule, Rule, binary_rule, check_rule
from propriety.rules.scoring import mean_loss, weighted_sum
from propriety.rules.weights import read_grid
from propriety.tables.forecast_table import ForecastTable, Outcomes
from propriety.tables.grid_thresholds import cell_edges, check_decided
from propriety.tables.labels import Labels
from propriety.tables.pooling import running_sum
from propriety.tables.validation import read_cases

NOISE = 1e-12  # A negative part no larger than this share of the scores is rounding error.
BELOW_ONE = np.nextafter(1.0, 0.0)
PARTS = ("score", "miscalibration", "discrimination", "uncertainty")


@dataclass(frozen=True, slots=True, eq=False)
class FixedForecasts:
    """Forecasts with their losses under a rule, to be scored for many draws of outcomes."""

    rule: BinaryRule
    event_loss: Floats
    non_event_loss: Floats

    @classmethod
    def of(cls, rule: BinaryRule, forecast: Floats) -> FixedForecasts:
        """Evaluate the losses, once for all draws."""
        return cls(rule, rule.loss(forecast, event=True), rule.loss(forecast, event=False))

    def scores(self, events: Floats, non_events: Floats) -> tuple[float, float, float]:
        """Return the mean scores of the forecasts, the recalibrated forecasts and the constant event rate."""
        from scipy.optimize import isotonic_regression  # Imported here, because it is slow to import.

        weight = events + non_events
        total = weighted_sum(self.event_loss, events) + weighted_sum(self.non_event_loss, non_events)
        score = total / float(weight.sum())
        if not weight.all():
            drawn = np.flatnonzero(weight)
            events, non_events, weight = events[drawn], non_events[drawn], weight[drawn]
        start = isotonic_regression(events / weight, weights=weight).blocks[:-1]
        events, non_events = np.add.reduceat(events, start), np.add.reduceat(non_events, start)
        return score, *recalibrated_scores(self.rule, events, non_events)


def scores_of(table: ForecastTable, blocks: Blocks, rule: BinaryRule) -> tuple[float, float, float]:
    """Return the three mean scores of a table with its pooled blocks; the first two are equal if calibrated."""
    score = mean_loss(rule, table.forecast, table.events, table.non_events)
    return score, *recalibrated_scores(rule, blocks.events, blocks.non_events)


def recalibrated_scores(rule: BinaryRule, events: Floats, non_events: Floats) -> tuple[float, float]:
    """Return the mean scores of blocks forecast at their own event rates, and all at the overall rate."""
    common = (events.sum(keepdims=True), non_events.sum(keepdims=True))
    return _mean_loss_of_rates(rule, events, non_events), _mean_loss_of_rates(rule, *common)


def parts_of(rule: BinaryRule, scores: Floats) -> Floats:
    """Convert rows of the three scores to rows of score, miscalibration, discrimination and uncertainty."""
    score, recalibrated, reference = scores.T
    worst = rule.properties().worst
    size = np.abs(np.append(scores, 0.0 if worst is None else worst))
    noise = NOISE * size[np.isfinite(size)].max()
    miscalibration, discrimination = cleared(score - recalibrated, noise), cleared(reference - recalibrated, noise)
    return np.column_stack([score, miscalibration, discrimination, reference])


def cleared(part: Floats, noise: float) -> Floats:
    """Return the part with rounding errors below zero set to zero; larger violations are kept visible."""
    return np.where((part < 0.0) & (part >= -noise), 0.0, part)


def check_proper(rule: Rule, classes: int | None) -> None:
    """Raise an error if a rule is not declared proper, for K classes or, with None, for one event."""
    check_rule(rule)
    proper = rule.properties(classes).proper
    if proper:
        return
    law = f"a decomposition needs a proper rule, otherwise its parts may be negative; {rule!r} "
    if proper is None:
        law += "does not declare whether it is proper"
        hint = "check it with propriety.audit, and declare proper=True in its properties if no violation is found."
    else:
        law += "is declared improper"
        hint = "propriety.audit shows a lie that beats the truth."
    if isinstance(rule, ShiftedBrier):
        hint = f"ShiftedBrier({rule.mu!r}, weighted=True) is the proper form."
    elif isinstance(rule, SquaredAbsoluteRankedProbability):
        hint = "RankedProbability() is proper and takes the order of the classes into account."
    raise ImproperRuleError(law, hint=hint)


def proper_binary_rule(rule: Rule) -> BinaryRule:
    """Return the rule for one event if it is declared proper, else raise an error."""
    check_proper(rule, None)
    return binary_rule(rule)


def _mean_loss_of_rates(rule: BinaryRule, events: Floats, non_events: Floats) -> float:
    return mean_loss(rule, _rates(events, non_events), events, non_events)


def _rates(events: Floats, non_events: Floats) -> Floats:
    """Return the event rates of blocks."""
    rate = events / (events + non_events)
    # A rate that rounds to 1 under weights of very different size is not certain, as the log score would assume.
    return np.where(non_events > 0.0, np.minimum(rate, BELOW_ONE), rate)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Decomposition(Result):
    """Mean score = miscalibration - discrimination + uncertainty; every part is at least zero.

    Parameters
    ----------
    score : float
        Mean score of the forecasts.
    miscalibration : float
        How much the score exceeds that of the recalibrated forecasts; zero if each forecast equals its event rate.
    discrimination : float
        How much better the recalibrated forecasts score than the constant event rate; zero if they are constant.
    uncertainty : float
        Mean score of the constant event rate.
    rule : Rule
        The rule.
    n, dropped : int
        Number of cases, and of rows left out because of missing values.
    parts : mapping of label to Decomposition, optional
        For classes, the decomposition of each event, of which this one is the sum or the mean.
    threshold, score_curve, miscalibration_curve, discrimination_curve, uncertainty_curve : array, optional
        Regret at each threshold, and its parts; see `decompose`.
    """

    facts: ClassVar[tuple[str, ...]] = (*PARTS, "rule", "n", "dropped", "parts", "rows")

    score: float
    miscalibration: float
    discrimination: float
    uncertainty: float
    rule: Rule
    n: int
    dropped: int = 0
    parts: Mapping[Any, Decomposition] | None = None
    threshold: Floats | None = None
    score_curve: Floats | None = None
    miscalibration_curve: Floats | None = None
    discrimination_curve: Floats | None = None
    uncertainty_curve: Floats | None = None

    def columns(self) -> Mapping[str, Any]:
        """Columns of the tidy table: the curves if there are any, else one row per event and one in total."""
        if self.threshold is not None:
            return Result.columns(self)
        events = [*(self.parts or {}).values(), self]
        columns: dict[str, Any] = {}
        if self.parts is not None:
            columns["event"] = [*(str(label) for label in self.parts), "total"]
        for name in (*PARTS, "rule", "n", "dropped"):
            columns[name] = [getattr(event, name) for event in events]
        columns["rule"] = [str(rule) for rule in columns["rule"]]
        return columns


def decompose(
    y_true: Outcomes,
    y_proba: ArrayLike | None = None,
    *,
    rule: Rule = BRIER,
    sample_weight: ArrayLike | None = None,
    pos_label: Hashable | None = None,
    labels: Labels | None = None,
    curve: bool = False,
    grid: ArrayLike | None = None,
) -> Decomposition:
    r"""Decompose a mean score into miscalibration, discrimination and uncertainty, by the CORP approach.

    .. math::

       \bar S_X = \underbrace{(\bar S_X - \bar S_C)}_{\text{miscalibration}}
                - \underbrace{(\bar S_R - \bar S_C)}_{\text{discrimination}}
                + \underbrace{\bar S_R}_{\text{uncertainty}}

    where X are the forecasts as they are, C the forecasts recalibrated by isotonic regression, and R the constant event
    rate. The recalibrated forecasts are the same for every proper rule, and no part is ever negative.

    Parameters
    ----------
    y_true, y_proba, sample_weight, pos_label, labels
        As in `propriety.mean_score`; a ledger of one model replaces binary predictions.
    rule : Rule
        Any proper rule for one event. For classes, ``Brier()``, which is decomposed class by class and summed, or
        ``RankedProbability()``, which is decomposed cut point by cut point and averaged. Each event is recalibrated by
        itself, so that recalibrated rows need not sum to one.
    curve : bool
        Whether to decompose also the regret :math:`R^*(c)` at thresholds :math:`c`, whatever the rule. It is the mean
        of ``Elementary(c)``, which costs :math:`1 - c` for an event with a forecast below :math:`c` and :math:`c` for a
        non-event with a forecast of at least :math:`c`. The area under it is half the Brier score.
    grid : array-like in [0, 1], optional
        Thresholds at which to evaluate this curve, instead of all of it.

    Notes
    -----
    With ``curve=True`` the thresholds are 0, 1, all forecasts and all recalibrated forecasts, between which the curves
    are linear. They jump at each forecast, so that threshold occurs twice: first with the value there, then with the
    limit from above. Straight lines through the points are therefore the exact curves, and the trapezoidal rule gives
    their exact areas. With `grid`, the curves have their values at these thresholds.

    Under the log score, an event with a forecast of 0 makes score and miscalibration infinite; the other parts stay
    finite.

    References
    ----------
    Dimitriadis, Gneiting & Jordan (2021), doi:10.1073/pnas.2016191118; Ehm, Gneiting, Jordan & Krüger (2016),
    doi:10.1111/rssb.12154, for the curves.

    Examples
    --------
    >>> import propriety as pr
    >>> pr.decompose([0, 1, 0, 1], [0.1, 0.3, 0.4, 0.8])
    Decomposition(score=0.175, miscalibration=0.05, discrimination=0.125, uncertainty=0.25, rule=Brier(), n=4)
    >>> pr.decompose([0, 1, 0, 1], [0.1, 0.3, 0.4, 0.8], grid=[0.5]).miscalibration_curve
    array([0.])
    """
    options: dict[str, Any] = {"sample_weight": sample_weight, "labels": labels}
    table = ForecastTable.given(y_true, y_proba, pos_label=pos_label, **options)
    if table is not None:
        return decompose_table(table, rule, curve=curve, grid=grid)
    cases = read_cases(y_true, y_proba, pos_label=pos_label, **options)
    if cases.classes is None:
        return decompose_table(ForecastTable.from_cases(cases), rule, curve=curve, grid=grid)
    if curve or grid is not None:
        raise InputValueError(
            "requires the forecast of one event",
            argument="curve" if grid is None else "grid",
            offender="got rows of probabilities",
            hint=demands.CLASS_HINT,
        )
    check_proper(rule, cases.classes)
    if type(rule) not in (Brier, RankedProbability):
        law = f"{rule!r} has no exact decomposition for class probabilities, because it is not a sum over events"
        hint = Wording(
            "use Brier() or RankedProbability(), or decompose one class, such as y == 2 with {y_proba}[:, 2]."
        )
        raise InputValueError(law, hint=hint)
    kind: Literal["cut", "class"] = "cut" if type(rule) is RankedProbability else "class"
    tables = map(ForecastTable.from_cases, cases.events(kind))
    return summed_decomposition(dict(zip(cases.labels or (), tables, strict=False)), rule)


def summed_decomposition(tables: Mapping[Any, ForecastTable], rule: Rule) -> Decomposition:
    """Decompose the score of class probabilities from the tables of classes (a sum) or of cut points (a mean).

    Examples
    --------
    >>> table = ForecastTable.from_predictions
    >>> tables = {0: table([1, 0], [0.7, 0.4]), 1: table([0, 1], [0.3, 0.6])}
    >>> round(summed_decomposition(tables, Brier()).score, 6)
    0.25
    """
    share = 1.0 / len(tables) if type(rule) is RankedProbability else 0.5 if rule == Brier(scale="half") else 1.0
    parts = {label: decompose_table(table, BRIER) for label, table in tables.items()}
    totals: dict[str, Any] = {name: share * math.fsum(getattr(part, name) for part in parts.values()) for name in PARTS}
    event = next(iter(parts.values()))
    return Decomposition(**totals, rule=rule, n=event.n, dropped=event.dropped, parts=parts)


def decompose_table(
    table: ForecastTable,
    rule: Rule,
    blocks: Blocks | None = None,
    *,
    curve: bool = False,
    grid: ArrayLike | None = None,
) -> Decomposition:
    """Decompose the mean score of a table, with its pooled blocks if already computed; see `decompose`.

    Examples
    --------
    >>> decompose_table(ForecastTable.from_predictions([0, 1], [0.2, 0.4]), Brier()).discrimination
    0.25
    """
    binary = proper_binary_rule(rule)
    if blocks is None:
        blocks = pool_adjacent_violators(table)
    parts = parts_of(binary, np.array([scores_of(table, blocks, binary)]))[0]
    numbers: dict[str, Any] = dict(zip(PARTS, parts.tolist(), strict=True))
    if curve or grid is not None:
        numbers |= _curves(table, blocks, grid)
    return Decomposition(
        **numbers,
        rule=rule,
        n=table.n,
        dropped=table.dropped,
    )


def _curves(table: ForecastTable, blocks: Blocks, grid: ArrayLike | None) -> dict[str, Floats]:
    if grid is None and (grid := cell_edges(table)) is None:
        thresholds, passive, passive_blocks = _bends(table, blocks)
    else:
        thresholds = read_grid(grid)
        check_decided(table, thresholds)
        passive = np.searchsorted(table.forecast, thresholds)
        passive_blocks = np.searchsorted(blocks.event_rate, thresholds)
    score = regret_of_errors(thresholds, passive, table.events, table.non_events)
    recalibrated = regret_of_errors(thresholds, passive_blocks, blocks.events, blocks.non_events)
    # 1 - event rate loses digits if non-events are rare; their own weight does not.
    uncertainty = np.minimum(
        thresholds * (table.non_events.sum() / table.weight), (1.0 - thresholds) * table.event_rate
    )
    return {
        "threshold": thresholds,
        "score_curve": score,
        "miscalibration_curve": cleared(score - recalibrated, NOISE),
        "discrimination_curve": cleared(uncertainty - recalibrated, NOISE),
        "uncertainty_curve": uncertainty,
    }


def _bends(table: ForecastTable, blocks: Blocks) -> tuple[Floats, NDArray[np.intp], NDArray[np.intp]]:
    """Return all thresholds at which a curve bends or jumps, and how many rows and blocks are below each.

    Each forecast occurs twice, first with the value there, then with the limit from above, so that the rows below a
    threshold can be counted instead of searched for.
    """
    others = np.unique(np.concatenate([[0.0, 1.0, table.event_rate], blocks.event_rate]))
    place = np.searchsorted(table.forecast, others)
    is_forecast = table.forecast[np.minimum(place, len(table) - 1)] == others
    others, place = others[~is_forecast], place[~is_forecast]
    thresholds = np.insert(np.repeat(table.forecast, 2), 2 * place, others)
    is_limit = np.insert(np.arange(2 * len(table)) % 2, 2 * place, 0)
    first = np.searchsorted(thresholds, blocks.event_rate)
    runs = np.diff(first + 1, prepend=0, append=len(thresholds))
    return thresholds, np.cumsum(is_limit), np.repeat(np.arange(len(blocks) + 1), runs)


def regret_of_errors(cost: Floats, passive: NDArray[np.intp], events: Floats, non_events: Floats) -> Floats:
    """Return the regret at each cost ratio if the first `passive` rows are not acted on."""
    missed = np.concatenate([[0.0], running_sum(events)])[passive]
    alarmed = np.concatenate([running_sum(non_events[::-1])[::-1], [0.0]])[passive]
    return (cost * alarmed + (1.0 - cost) * missed) / (events.sum() + non_events.sum())


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
        As in `propriety.mean_score`, in general a ledger on a plain grid. The bounds of exact or refined
        tables are equal, because their blocks are known.
    rule : Rule
        Any proper rule for one event.

    References
    ----------
    Dimitriadis, Gneiting & Jordan (2021), doi:10.1073/pnas.2016191118, for the parts.

    Examples
    --------
    >>> import propriety as pr
    >>> ledger = pr.condense([0, 1, 0, 1], [0.1, 0.15, 0.6, 0.8])
    >>> bracket = calibration_bracket(ledger.grid(2))
    >>> bracket.discrimination_low, bracket.discrimination_high
    (0.0, 0.125)
    >>> pr.decompose(ledger).discrimination
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
