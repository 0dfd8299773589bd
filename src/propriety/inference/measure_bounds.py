"""`measure_bounds`: how far measures of a private ledger can be from those of its cases."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logit

from propriety import checks
from propriety.errors import UNDEFINED, InputTypeError, InputValueError
from propriety.inference.finding import BOUND, Finding
from propriety.inference.measures.line import CalibrationIntercept
from propriety.inference.measures.measure import Measure
from propriety.inference.measures.ranking import AreaUnderRoc
from propriety.inference.measures.ratios import ObservedExpected, PredictedActual
from propriety.inference.measures.reading import AnyMeasure, read_measure
from propriety.ledger.private_ledger import PrivateLedger
from propriety.result import Floats
from propriety.rules.families import BRIER
from propriety.rules.functions import MeanNetLoss, NetLoss
from propriety.rules.rule import Rule, binary_rule

WIDEST = 20.0  # An intercept beyond this is reported as infinite.


class _Cells(NamedTuple):
    """Ends of the cells, and limits of the counts of non-events and events, of shape (cells, 2)."""

    first: Floats
    last: Floats
    low: Floats
    high: Floats


def measure_bounds(private: PrivateLedger, measure: AnyMeasure = BRIER, *, model: str | None = None) -> Finding:
    r"""Bound a measure of the cases behind a private ledger.

    The bounds are the smallest and the largest value among all cases that the private ledger may come from: every
    forecast anywhere in its cell, and every suppressed count between 1 and the minimum less 1.

    - Mean scores, net benefit and observed/expected are ratios of sums :math:`\sum u_i c_i / \sum v_i c_i` of the
      counts :math:`c_i`, with losses or forecasts at one end of each cell. The largest ratio :math:`\lambda` is the
      root of :math:`\max_c \sum (u_i - \lambda v_i) c_i = 0`. The calibration intercept solves such an equation too.
    - The area under the ROC curve is largest if, within a cell, all events have higher forecasts than all non-events.

    Parameters
    ----------
    private : PrivateLedger
        From `propriety.coarsen`; ``private.where(site="x")`` for a part.
    measure : Rule or measure
        A proper rule for its mean score, `NetBenefit`, `Regret`, `ObservedExpected`, `PredictedActual`,
        `CalibrationIntercept` or `AreaUnderRoc`.
    model : str, optional
        The model; may be omitted if there is only one.

    Returns
    -------
    Finding
        The value of the published counts, with forecasts in the middle of their cells, and as limits the bounds.

    Notes
    -----
    The bounds concern what the private ledger hides of its cases. Sampling error comes on top: see `estimate` of
    ``private.ledger``. For the parts of a score on a grid, see `propriety.calibration_bracket`.

    Examples
    --------
    >>> import propriety as pr
    >>> y, p = [0, 1, 0, 1, 1, 0, 0, 0], [0.1, 0.8, 0.2, 0.9, 0.7, 0.1, 0.2, 0.9]
    >>> private = pr.coarsen(pr.condense(y, p), cells=4, smallest=1)
    >>> bounds = measure_bounds(private, pr.measures.AreaUnderRoc())
    >>> bounds.low, pr.roc_curve(y, p).auc, bounds.high
    (0.8, 0.8333333333333334, 0.9333333333333333)
    """
    checks.instance(private, "private", PrivateLedger, "a PrivateLedger", hint="pass propriety.coarsen(ledger).")
    asked, ledger = read_measure(measure), private.without_keys().ledger
    name = ledger.one_model(model)
    position = private.models.index(name)
    low, high = (limit[position].sum(axis=0).astype(np.float64) for limit in private.limits())
    edges = np.arange(private.cells + 1) / private.cells
    first = np.concatenate([[0.0], edges[:-1], [1.0]])
    first[1] = np.nextafter(0.0, 1.0)
    last = np.concatenate([[0.0], np.nextafter(edges[1:], 0.0), [1.0]])
    least, most = _bounds(asked, _Cells(first, last, low, high))
    try:
        value = asked.value(ledger.table(name))
    except UNDEFINED:
        value = math.nan
    return Finding(
        measure=asked,
        model=name,
        statistic=BOUND,
        value=value,
        low=least + 0.0,
        high=most + 0.0,
        level=math.nan,
        n=ledger.n,
        extra={"suppressed": int(np.count_nonzero(private.is_suppressed[position]))},
    )


def _bounds(measure: Measure, cells: _Cells) -> tuple[float, float]:
    """Return the smallest and the largest value."""
    if measure == AreaUnderRoc():
        return _area(cells, largest=False), _area(cells, largest=True)
    if measure == CalibrationIntercept():
        return _intercept(cells, largest=False), _intercept(cells, largest=True)
    if measure == ObservedExpected():
        return _ratio(cells, largest=False), _ratio(cells, largest=True)
    if measure == PredictedActual():
        return _inverse(_ratio(cells, largest=True)), _inverse(_ratio(cells, largest=False))
    if measure.sign is not None and measure.rule is not None and _falls(measure.rule):
        ends = sorted(measure.sign * _mean(measure.rule, cells, largest=largest) for largest in (False, True))
        return ends[0], ends[1]
    known = "a proper rule, NetBenefit, Regret, ObservedExpected, PredictedActual, CalibrationIntercept or AreaUnderRoc"
    raise InputTypeError(f"must be {known}", argument="measure", offender=f"got {measure.label}")


def _falls(rule: Rule) -> bool:
    """Whether the loss of an event never grows with the forecast, and that of a non-event never falls."""
    return isinstance(rule, NetLoss | MeanNetLoss) or bool(rule.properties(None).proper)


def _inverse(value: float) -> float:
    return math.inf if value == 0.0 else 1.0 / value


def _mean(rule: Rule, cells: _Cells, *, largest: bool) -> float:
    """Return an extreme of the mean loss."""
    loss = binary_rule(rule).loss
    of_events = loss(cells.first if largest else cells.last, event=True)
    of_others = loss(cells.last if largest else cells.first, event=False)
    losses = np.stack([of_others, of_events], axis=1).astype(np.float64)
    possible = cells.high > 0.0
    if np.isinf(losses[possible]).any() and (largest or (cells.low[np.isinf(losses)] > 0.0).any()):
        return math.inf
    # Infinite losses that are possible but not certain do not lower the smallest mean.
    losses = np.where(np.isinf(losses), float(losses[np.isfinite(losses)].max()), losses)
    ends = float(losses[possible].min()), float(losses[possible].max())
    return _extreme(losses, np.ones_like(losses), cells, ends, largest=largest)


def _ratio(cells: _Cells, *, largest: bool) -> float:
    """Return an extreme of observed/expected."""
    forecast = cells.first if largest else cells.last
    is_event = np.tile([0.0, 1.0], (len(forecast), 1))
    below = np.stack([forecast, forecast], axis=1)
    return _extreme(is_event, below, cells, (0.0, math.inf), largest=largest)


def _extreme(above: Floats, below: Floats, cells: _Cells, ends: tuple[float, float], *, largest: bool) -> float:
    """Return an extreme of the ratio of two sums over the counts, between the ends that it can reach."""
    sign = 1.0 if largest else -1.0

    def excess(ratio: float) -> float:
        return _largest_sum(sign * (above - ratio * below), cells)

    start, end = ends if largest else ends[::-1]
    powers = [2.0**power for power in range(-20, 40)]
    if math.isinf(end):
        end = next((power for power in powers if excess(power) < 0.0), end)
    if math.isinf(start):
        start = next((power for power in powers if excess(power) > 0.0), start)
    if math.isinf(end) or excess(end) >= 0.0:
        return end
    if math.isinf(start) or excess(start) <= 0.0:
        return start
    return float(brentq(excess, start, end, xtol=1e-13, rtol=1e-12))


def _largest_sum(weight: Floats, cells: _Cells) -> float:
    """Return the largest sum of weighted counts."""
    return float(np.maximum(weight * cells.low, weight * cells.high).sum())


def _intercept(cells: _Cells, *, largest: bool) -> float:
    """Return an extreme of the calibration intercept; forecasts of exactly 0 and 1 are left out."""
    inner = np.zeros(len(cells.first), dtype=bool)
    inner[1:-1] = True
    with np.errstate(divide="ignore"):
        odds = logit(cells.first if largest else cells.last)
    sign = 1.0 if largest else -1.0

    def excess(intercept: float) -> float:
        rate = expit(odds + intercept)
        weight = np.where(inner[:, None], np.stack([-rate, 1.0 - rate], axis=1), 0.0)
        return _largest_sum(sign * weight, cells)

    if excess(-sign * WIDEST) < 0.0 or excess(sign * WIDEST) >= 0.0:
        return sign * math.inf
    return float(brentq(excess, -sign * WIDEST, sign * WIDEST, xtol=1e-14, rtol=1e-13))


def _area(cells: _Cells, *, largest: bool) -> float:
    """Return an extreme of the area under the ROC curve, over all cells at which the counts change sides."""
    rows = len(cells.first)
    steps = np.arange(rows + 1)[:, None] > np.arange(rows)
    # The largest area has many non-events in the lower cells and many events in the upper ones.
    others = np.where(steps == largest, cells.high[:, 0], cells.low[:, 0])
    events = np.where(steps == largest, cells.low[:, 1], cells.high[:, 1])
    won = np.tri(rows, k=-1)
    same = np.full(rows, 1.0 if largest else 0.0)
    same[[0, -1]] = 0.5  # Forecasts of exactly 0 and 1 are tied.
    won[np.diag_indices(rows)] = same
    pairs = np.outer(events.sum(axis=1), others.sum(axis=1))
    with np.errstate(divide="ignore", invalid="ignore"):
        areas = (events @ won @ others.T) / pairs
    areas = areas[pairs > 0.0]
    if not areas.size:
        raise InputValueError("the area under the ROC curve needs events and non-events")
    return float(areas.max() if largest else areas.min())
