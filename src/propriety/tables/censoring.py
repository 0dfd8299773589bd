"""Weights by inverse probability of censoring, and what estimating them adds to the error of a weighted sum."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from propriety.result import Floats

__all__ = ["Censoring", "CensoringCurves", "FollowUp", "censoring_curves", "dependence_p_value"]


class FollowUp(NamedTuple):
    """Time of follow-up of each case, whether it ended by censoring, and the group with its own censoring curve.

    Parameters
    ----------
    time : ndarray of shape (n,)
        Time of the event, of the competing event, or of censoring.
    censored : ndarray of bool, of shape (n,)
        Whether follow-up ended without any event.
    group : ndarray of int, of shape (n,)
        Index of the group.
    groups : int
        Number of groups.
    """

    time: Floats
    censored: NDArray[np.bool_]
    group: NDArray[np.intp]
    groups: int

    def where(self, kept: NDArray[Any]) -> FollowUp:
        """Return the follow-up of some of the cases; groups without any stay."""
        return self._replace(time=self.time[kept], censored=self.censored[kept], group=self.group[kept])


@dataclass(frozen=True, slots=True, eq=False)
class Censoring:
    r"""What the error of a weighted sum needs to know about the estimated weights.

    The steps of the censoring curves are at the distinct times u of censoring before the horizon, with c censored cases
    among R at risk. A case is in the slot of the last step that it passed. The sum :math:`\sum_i Z_i` of weighted,
    centred contributions then has the variance

    .. math:: \sum_i Z_i^2 - \sum_u \frac{c(u)}{R(u) (R(u) - c(u))} H(u)^2 , \qquad H(u) = \sum_{i: T_i > u} Z_i .

    Parameters
    ----------
    slot : ndarray of int, of shape (cases,)
        Slot of each case; empty if an engine holds the cases.
    factor : ndarray of shape (slots,)
        :math:`c / (R (R - c))` of the next step; 0 in the last slot of a group. One NaN if the steps are too many.
    last : ndarray of int, of shape (slots,)
        Last slot of the same group.
    n : int
        Number of cases, including those of unknown outcome.
    horizon : float
        Time by which the event is forecast.
    followed : int
        Smallest number of cases in a group that were followed up until the horizon without any event.
    dependence : mapping of str to float
        For each model, the p-value of the test of whether censoring depends on its forecasts.
    """

    slot: NDArray[np.intp]
    factor: Floats
    last: NDArray[np.intp]
    n: int
    horizon: float
    followed: int
    dependence: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def known(cls, n: int, horizon: float) -> Censoring:
        """Return the same for weights that are treated as known."""
        return cls(np.zeros(n, dtype=np.intp), np.zeros(1), np.zeros(1, dtype=np.intp), n, horizon, n)

    @property
    def is_estimated(self) -> bool:
        """Whether the weights were estimated and differ from 1."""
        return bool(self.factor.any())

    @property
    def has_steps(self) -> bool:
        """Whether the steps of the curves are known, so that errors can allow for the estimated weights."""
        return not np.isnan(self.factor[0])

    def where(self, kept: NDArray[Any]) -> Censoring:
        """Return the same for some of the cases; the curves stay those of all."""
        return replace(self, slot=self.slot[kept])

    @property
    def has_groups(self) -> bool:
        """Whether several groups have a censoring curve of their own."""
        return bool((self.last != self.last[0]).any())

    def groups(self) -> tuple[NDArray[np.intp], int]:
        """Return the group of each case, by its censoring curve, and the number of groups."""
        ends = np.unique(self.last)
        return np.searchsorted(ends, self.slot), len(ends)

    def later(self, parts: Floats) -> Floats:
        """Return the sums H of contributions, of shape (numbers, cases), over the cases that passed the next step."""
        slots = len(self.factor)
        return self.later_sums(np.stack([np.bincount(self.slot, one, minlength=slots) for one in parts]))

    def later_sums(self, sums: Floats) -> Floats:
        """Return the same from the sums of contributions in each slot, of shape (numbers, slots)."""
        running = np.cumsum(sums, axis=1)
        return np.asarray(running[:, self.last] - running)

    def covariance(self, parts: Floats) -> Floats:
        """Return by how much estimating the weights lowers the covariance of sums of contributions."""
        later = self.later(parts)
        return np.asarray((later * self.factor) @ later.T)

    def variance(self, parts: Floats) -> Floats:
        """Return by how much estimating the weights lowers the variance of each sum of contributions."""
        return np.asarray(self.later(parts) ** 2 @ self.factor)


class CensoringCurves(NamedTuple):
    """Kaplan-Meier curves of being uncensored, one per group, in slots; see `Censoring`.

    Parameters
    ----------
    slot : ndarray of int, of shape (n,)
        Slot of each case.
    uncensored : ndarray of shape (slots,)
        Probability of being uncensored after all steps that cases in the slot have passed.
    factor, last
        As in `Censoring`.
    exhausted : int
        Index of the first group in which every case was censored, or had an event, before the horizon and the last
        ones were censored; -1 if there is none.
    """

    slot: NDArray[np.intp]
    uncensored: Floats
    factor: Floats
    last: NDArray[np.intp]
    exhausted: int


class _Steps(NamedTuple):
    """Distinct times of each group in order, and the cases at each of them."""

    order: NDArray[np.intp]
    start: NDArray[np.intp]
    group: NDArray[np.intp]
    censored: Floats
    at_risk: Floats
    is_step: NDArray[np.bool_]


def censoring_curves(cases: FollowUp, horizon: float) -> CensoringCurves:
    r"""Estimate the probability of being uncensored up to the horizon in each group.

    .. math:: G(s-) = \prod_{u < s} \left(1 - \frac{c(u)}{R(u)}\right)

    At tied times events come first: the cases at risk of censoring at u are those with a time of at least u, without
    the events at u. Cases censored exactly at the horizon have a known outcome, so only earlier times are steps.
    """
    steps = _steps(cases, horizon)
    is_step, group = steps.is_step, steps.group
    slot_of_time = np.cumsum(is_step) - is_step + group
    slots = int(np.count_nonzero(is_step)) + cases.groups
    c, r = steps.censored[is_step], steps.at_risk[is_step]
    out = np.flatnonzero(r == c)
    log_curve, factor = np.zeros(slots), np.zeros(slots)
    with np.errstate(divide="ignore"):
        log_curve[slot_of_time[is_step] + 1] = np.log1p(-c / r)
        factor[slot_of_time[is_step]] = c / (r * (r - c))
    per_group = np.bincount(group[is_step], minlength=cases.groups) + 1
    last = np.repeat(np.cumsum(per_group) - 1, per_group)
    first = np.repeat(np.cumsum(per_group) - per_group, per_group)
    running = np.cumsum(np.where(np.isfinite(log_curve), log_curve, 0.0))
    slot = np.empty(len(cases.time), dtype=np.intp)
    slot[steps.order] = np.repeat(slot_of_time, np.diff(np.append(steps.start, len(cases.time))))
    exhausted = int(group[is_step][out[0]]) if len(out) else -1
    return CensoringCurves(slot, np.exp(running - running[first]), factor, last, exhausted)


def dependence_p_value(cases: FollowUp, forecast: Floats, horizon: float) -> float:
    """Test whether censoring before the horizon depends on the forecast: Cox's score test of its rank, by group.

    References
    ----------
    Cox (1972), doi:10.1111/j.2517-6161.1972.tb00899.x.

    Examples
    --------
    >>> time, p = np.arange(1.0, 101.0), np.linspace(0.0, 1.0, 100)
    >>> cases = FollowUp(time, time % 2 == 0, np.zeros(100, dtype=np.intp), 1)
    >>> dependence_p_value(cases, p, 100.0) < 1e-6, round(dependence_p_value(cases, (7 * p) % 1.0, 100.0), 2)
    (True, 0.28)
    """
    steps = _steps(cases, horizon)
    _, place, counts = np.unique(forecast, return_inverse=True, return_counts=True)
    middle = np.cumsum(counts) - (counts - 1) / 2.0
    x = (middle[place.reshape(-1)] / len(forecast) - 0.5)[steps.order]
    censored = cases.censored[steps.order]
    sizes = np.bincount(cases.group, minlength=cases.groups)
    ends = np.cumsum(sizes)[steps.group]
    sums = []
    for values in (x, x**2):
        before = np.concatenate([[0.0], np.cumsum(values)])
        events = np.add.reduceat(np.where(censored, 0.0, values), steps.start)
        sums.append(before[ends] - before[steps.start] - events)
    own = np.add.reduceat(np.where(censored, x, 0.0), steps.start)
    use = steps.is_step & (steps.at_risk > 1.0)
    c, r, (first, second) = steps.censored[use], steps.at_risk[use], (one[use] for one in sums)
    score = float((own[use] - c * first / r).sum())
    variance = float((c * (r - c) / (r - 1.0) * (second / r - (first / r) ** 2)).sum())
    return math.erfc(abs(score) / math.sqrt(2.0 * variance)) if variance > 1e-12 else 1.0


def _steps(cases: FollowUp, horizon: float) -> _Steps:
    order = np.lexsort((cases.time, cases.group))
    time, group, censored = cases.time[order], cases.group[order], cases.censored[order]
    changes = (time[1:] != time[:-1]) | (group[1:] != group[:-1])
    start = np.concatenate([[0], np.flatnonzero(changes) + 1])
    c = np.add.reduceat(censored.astype(np.float64), start)
    events = np.add.reduceat((~censored).astype(np.float64), start)
    ends = np.cumsum(np.bincount(cases.group, minlength=cases.groups))
    at_risk = (ends[group[start]] - start).astype(np.float64) - events
    return _Steps(order, start, group[start], c, at_risk, (c > 0.0) & (time[start] < horizon))
