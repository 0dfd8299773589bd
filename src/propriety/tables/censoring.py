"""Weights by inverse probability of censoring, and what estimating them adds to the error of a weighted sum."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from propriety.result import Floats


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
    weight : ndarray of shape (n,), optional
        Sample weights.
    """

    time: Floats
    censored: NDArray[np.bool_]
    group: NDArray[np.intp]
    groups: int
    weight: Floats | None = None

    def where(self, kept: NDArray[Any]) -> FollowUp:
        """Return the follow-up of some of the cases; groups without any stay."""
        own = self._replace(time=self.time[kept], censored=self.censored[kept], group=self.group[kept])
        return own if self.weight is None else own._replace(weight=self.weight[kept])


class Everyone(NamedTuple):
    """All cases from which the censoring curves were estimated, also those of unknown outcome.

    Parameters
    ----------
    slot : ndarray of int, of shape (n,)
        Slot of each case; see `Censoring`.
    leaves : ndarray of bool, of shape (n,)
        Whether the case was censored before the horizon.
    weight : ndarray of shape (n,), optional
        Sample weights.
    cluster : ndarray of int, of shape (n,), optional
        Index of the cluster.
    """

    slot: NDArray[np.intp]
    leaves: NDArray[np.bool_]
    weight: Floats | None = None
    cluster: NDArray[np.intp] | None = None

    def where(self, kept: NDArray[Any]) -> Everyone:
        """Return some of the cases."""
        return Everyone(*(None if one is None else one[kept] for one in self))  # type: ignore[arg-type]  # in order


@dataclass(frozen=True, slots=True, eq=False)
class Censoring:
    r"""What the error of a weighted sum needs to know about the estimated weights.

    The steps of the censoring curves are at the distinct times u of censoring before the horizon, with c censored cases
    among R at risk. A case is in the slot of the last step that it passed. The sum :math:`\sum_i Z_i` of weighted,
    centred contributions then has the variance

    .. math:: \sum_i Z_i^2 - \sum_u \frac{c(u)}{R(u) (R(u) - c(u))} H(u)^2 , \qquad H(u) = \sum_{i: T_i > u} Z_i .

    With sample weights :math:`s_i`, c and R are sums of weights, and the variance is that of the influence of all
    cases,

    .. math:: Z_i + s_i \left( [i \text{ censored at } T_i] \frac{H(T_i)}{R(T_i)} - \sum_{u < T_i}
        \frac{c(u)}{R(u) (R(u) - c(u))} H(u) \right) ,

    which clusters add up.

    Parameters
    ----------
    slot : ndarray of int, of shape (cases,)
        Slot of each case.
    factor : ndarray of shape (slots,)
        :math:`c / (R (R - c))` of the next step; 0 in the last slot of a group.
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
    at_risk : ndarray of shape (slots,), optional
        R of the next step; 1 in the last slot of a group.
    everyone : Everyone, optional
        All cases.
    row : ndarray of int, of shape (cases,), optional
        Index of each case among all of them.
    """

    slot: NDArray[np.intp]
    factor: Floats
    last: NDArray[np.intp]
    n: int
    horizon: float
    followed: int
    dependence: Mapping[str, float] = field(default_factory=dict)
    at_risk: Floats | None = None
    everyone: Everyone | None = None
    row: NDArray[np.intp] | None = None

    @classmethod
    def of_curves(
        cls, curves: CensoringCurves, cases: FollowUp, leaves: NDArray[np.bool_], horizon: float, followed: int
    ) -> Censoring:
        """Return what errors need of estimated curves."""
        everyone, row = Everyone(curves.slot, leaves, cases.weight), np.arange(len(leaves))
        steps = (curves.slot, curves.factor, curves.last, len(leaves), horizon, followed)
        return cls(*steps, at_risk=curves.at_risk, everyone=everyone, row=row)

    @classmethod
    def known(cls, cases: FollowUp, leaves: NDArray[np.bool_], horizon: float) -> Censoring:
        """Return the same for weights that are treated as known."""
        n = len(leaves)
        one = np.zeros(1, dtype=np.intp)
        slot = np.zeros(n, dtype=np.intp)
        curves = CensoringCurves(slot, np.ones(1), np.zeros(1), one, np.ones(1), -1)
        return cls.of_curves(curves, cases, leaves, horizon, n)

    @property
    def is_estimated(self) -> bool:
        """Whether the weights were estimated and differ from 1."""
        return bool(self.factor.any())

    def where(self, kept: NDArray[Any]) -> Censoring:
        """Return the same for some of the cases; the curves stay those of all."""
        return replace(self, slot=self.slot[kept], row=None if self.row is None else self.row[kept])

    def among(self, rows: NDArray[np.intp], cluster: NDArray[np.intp] | None) -> Censoring:
        """Return the same for the cases in some rows, with their clusters; the curves stay those of all."""
        assert self.everyone is not None  # noqa: S101  (for the type checker; used with arrays)
        everyone = self.everyone.where(rows)._replace(cluster=cluster)
        return replace(self, slot=self.slot[rows], everyone=everyone, row=np.arange(len(rows)))

    @property
    def is_weighted(self) -> bool:
        """Whether the cases had weights of their own."""
        return self.everyone is not None and self.everyone.weight is not None

    def sample_weight(self) -> Floats | None:
        """Return the sample weights of the cases, if there are any."""
        if self.everyone is None or self.everyone.weight is None:
            return None
        return np.asarray(self.everyone.weight[self.row])

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
        with np.errstate(invalid="ignore"):  # Infinite contributions.
            return np.asarray(running[:, self.last] - running)

    def influence(self, parts: Floats) -> Floats:
        """Return the influence of all cases on sums of contributions, including that on the weights."""
        everyone, at_risk = self.everyone, self.at_risk
        assert everyone is not None and at_risk is not None  # noqa: S101, PT018  (for the type checker; used with arrays)
        later = self.later(parts)
        change = later * self.factor
        before = np.cumsum(change, axis=1) - change
        first = np.searchsorted(self.last, self.last)  # First slot of the same group.
        found = (before[:, first] - before)[:, everyone.slot]
        found += np.where(everyone.leaves, (later / at_risk)[:, everyone.slot], 0.0)
        if everyone.weight is not None:
            found *= everyone.weight
        found[:, self.row] += parts
        return np.asarray(found)

    def covariance(self, parts: Floats) -> Floats:
        """Return by how much estimating the weights lowers the covariance of sums of contributions."""
        with np.errstate(over="ignore", invalid="ignore"):  # Events with a forecast of almost 0.
            if self.everyone is not None and self.everyone.weight is not None:
                influence = self.influence(parts)
                return np.asarray(parts @ parts.T - influence @ influence.T)
            later = self.later(parts)
            return np.asarray((later * self.factor) @ later.T)

    def variance(self, parts: Floats) -> Floats:
        """Return by how much estimating the weights lowers the variance of each sum of contributions."""
        with np.errstate(over="ignore", invalid="ignore"):  # Events with a forecast of almost 0.
            if self.everyone is not None and self.everyone.weight is not None:
                return np.asarray((parts**2).sum(axis=1) - (self.influence(parts) ** 2).sum(axis=1))
            return np.asarray(self.later(parts) ** 2 @ self.factor)


class CensoringCurves(NamedTuple):
    """Kaplan-Meier curves of being uncensored, one per group, in slots; see `Censoring`.

    Parameters
    ----------
    slot : ndarray of int, of shape (n,)
        Slot of each case.
    uncensored : ndarray of shape (slots,)
        Probability of being uncensored after all steps that cases in the slot have passed.
    factor, last, at_risk
        As in `Censoring`.
    exhausted : int
        Index of the first group in which every case was censored, or had an event, before the horizon and the last
        ones were censored; -1 if there is none.
    """

    slot: NDArray[np.intp]
    uncensored: Floats
    factor: Floats
    last: NDArray[np.intp]
    at_risk: Floats
    exhausted: int


class _Steps(NamedTuple):
    """Distinct times of each group in order, the weight of cases censored then, and of those who stay."""

    order: NDArray[np.intp]
    start: NDArray[np.intp]
    group: NDArray[np.intp]
    censored: Floats
    staying: Floats
    is_step: NDArray[np.bool_]

    @property
    def at_risk(self) -> Floats:
        """Weight of the cases at risk of censoring."""
        return self.censored + self.staying


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
    c, r, staying = steps.censored[is_step], steps.at_risk[is_step], steps.staying[is_step]
    out = np.flatnonzero(staying == 0.0)
    log_curve, factor, at_risk = np.zeros(slots), np.zeros(slots), np.ones(slots)
    with np.errstate(divide="ignore"):
        log_curve[slot_of_time[is_step] + 1] = np.log1p(-c / r)
        factor[slot_of_time[is_step]] = c / (r * staying)
    at_risk[slot_of_time[is_step]] = r
    per_group = np.bincount(group[is_step], minlength=cases.groups) + 1
    last = np.repeat(np.cumsum(per_group) - 1, per_group)
    first = np.repeat(np.cumsum(per_group) - per_group, per_group)
    running = np.cumsum(np.where(np.isfinite(log_curve), log_curve, 0.0))
    slot = np.empty(len(cases.time), dtype=np.intp)
    slot[steps.order] = np.repeat(slot_of_time, np.diff(np.append(steps.start, len(cases.time))))
    exhausted = int(group[is_step][out[0]]) if len(out) else -1
    return CensoringCurves(slot, np.exp(running - running[first]), factor, last, at_risk, exhausted)


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
    steps = _steps(cases._replace(weight=None), horizon)
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
    weight = np.ones(len(time)) if cases.weight is None else cases.weight[order]
    c, all_then = (np.add.reduceat(one, start) for one in (np.where(censored, weight, 0.0), weight))
    # Summed in each group from the last time on, so that nobody stays after it and a heavy group hides no other.
    first = np.flatnonzero(np.diff(group[start], prepend=-1))
    later = [np.append(np.cumsum(own[:0:-1])[::-1], 0.0) for own in np.split(all_then, first[1:])]
    return _Steps(order, start, group[start], c, np.concatenate(later), (c > 0.0) & (time[start] < horizon))
