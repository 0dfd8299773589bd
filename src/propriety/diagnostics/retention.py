"""Sample-retention curves: how decisions improve as the cases with the largest loss are removed."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import digamma

from propriety.calibration.resampling import quantiles
from propriety.checks import check_level, check_resamples, fresh_seed
from propriety.decisions.agreement import first_argmax, kappa_of
from propriety.decisions.expected_cost import cost_matrix, cost_of
from propriety.diagnostics.worst_cases import checked_losses, read_rules, worst_first
from propriety.errors import InputTypeError, InputValueError
from propriety.number_words import percent
from propriety.progress import track
from propriety.result import Floats, Result
from propriety.rules.class_rules import RankedProbability
from propriety.rules.rule import Rule
from propriety.tables.arrays import read_array
from propriety.tables.cases import Cases
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.labels import Labels
from propriety.tables.pooling import running_sum
from propriety.tables.validation import read_cases

Metric: TypeAlias = Literal["qwk", "accuracy", "linear cost", "quadratic cost"] | ArrayLike
Names: TypeAlias = NDArray[np.str_]
RANKED_PROBABILITY = RankedProbability()
COSTS = {"linear cost": "linear", "quadratic cost": "quadratic"}
METRICS = ("qwk", "accuracy", *COSTS)
GRID = np.arange(21) / 100.0
SHARE_ROUNDING = 1e-12  # Rounding may put a share times the number of cases just below a whole number.


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class RetentionAreas(Result):
    """Areas under retention curves, one row per rule, or differences of two rules, one row per pair.

    The three units are proportional, and so are their limits.

    Parameters
    ----------
    rule : array of shape (rows,)
        The rule that ordered the cases.
    minus : array of shape (rows,), optional
        The rule whose area is subtracted.
    area : array of shape (rows,)
        Area over the share of the cases removed, by the trapezoidal rule.
    area_percent : array of shape (rows,)
        Area over the percentage removed: 100 times the area.
    mean_height : array of shape (rows,)
        The area divided by the range of the grid: the mean metric.
    low, high : array of shape (rows,), optional
        Limits of the area; see `RetentionCurve.with_interval`.
    removed_from, removed_to : float
        Range of the grid.
    level : float, optional
        Level of the limits.
    """

    rule: Names
    minus: Names | None = None
    area: Floats
    area_percent: Floats
    mean_height: Floats
    low: Floats | None = None
    high: Floats | None = None
    removed_from: float
    removed_to: float
    level: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class RetentionCurve(Result):
    """Metric of the cases kept after the worst were removed, one row per rule and share; see `retention_curve`.

    Parameters
    ----------
    rule : array of shape (rows,)
        The rule that ordered the cases.
    removed : array of shape (rows,)
        Requested share of cases to remove.
    n_retained : array of shape (rows,)
        Number of cases kept.
    value : array of shape (rows,)
        Metric of the decisions on the cases kept.
    low, high : array of shape (rows,), optional
        Limits of the metric at each share; see `with_interval`.
    metric : str
        The metric.
    higher_is_better : bool
        Whether a higher metric is better.
    areas : RetentionAreas
        Area under the curve of each rule.
    differences : RetentionAreas, optional
        Difference of the areas of each pair of rules; None for a single rule.
    n, dropped : int
        Number of cases with positive weight, and of rows left out because of missing values.
    level, method, n_resamples, seed : optional
        How the limits were computed.
    """

    rule: Names
    removed: Floats
    n_retained: NDArray[np.int64]
    value: Floats
    low: Floats | None = None
    high: Floats | None = None
    metric: str
    higher_is_better: bool
    areas: RetentionAreas
    differences: RetentionAreas | None = None
    n: int
    dropped: int = 0
    level: float | None = None
    method: str | None = None
    n_resamples: int | None = None
    seed: int | None = None
    short_names: tuple[str, ...] = field(metadata={"hidden": True})  # Of the rules, for figures.
    orders: tuple[_Order, ...] = field(metadata={"hidden": True})
    measure: Callable[[Floats], Floats] = field(metadata={"hidden": True})

    def with_interval(
        self, *, level: float = 0.95, n_resamples: int = 1000, seed: int | None = None, progress: bool = False
    ) -> RetentionCurve:
        """Return a copy with bootstrap limits of the curves, of their areas, and of the differences of areas.

        Cases are drawn with replacement, the same for all rules, so that differences are paired. The limits are the
        quantiles ``(1 - level) / 2`` and ``(1 + level) / 2`` of the draws (percentile method), without draws whose
        metric is undefined.

        Parameters
        ----------
        level : float
            Share of the draws between the limits.
        n_resamples : int
            Number of draws.
        seed : int, optional
            Seed of the draws; without it, a new one is drawn and stored in the result.
        progress : bool
            Whether to show a progress bar.

        Examples
        --------
        >>> import propriety as pr
        >>> y, rows = [0, 1, 2, 2, 0] * 20, [[0.5, 0.4, 0.1], [0.2, 0.5, 0.3], [0.1, 0.2, 0.7], [0.5, 0.3, 0.2]] * 25
        >>> curve = retention_curve(y, rows, rule=[pr.RankedProbability(), pr.Brier()]).with_interval(seed=1)
        >>> low, high = curve.differences.low[0], curve.differences.high[0]
        >>> bool(low <= curve.differences.area[0] <= high)
        True
        """
        check_level(level)
        check_resamples(n_resamples)
        seed = fresh_seed(seed)
        shares = self.removed[: len(self.removed) // len(self.orders)]
        draws = np.empty((n_resamples, len(self.orders), len(shares)))
        generator = np.random.default_rng(seed)
        for draw in track(draws, total=n_resamples, label="resampling", enabled=progress):
            counts = np.bincount(generator.integers(self.n, size=self.n), minlength=self.n)
            for line, order in zip(draw, self.orders, strict=True):
                line[:] = self.measure(order.retained(shares, counts))
        limits = partial(quantiles, levels=((1.0 - level) / 2.0, (1.0 + level) / 2.0))
        areas = _areas(draws, shares)
        lower, upper = limits(draws.reshape(n_resamples, -1))
        return replace(
            self,
            low=lower,
            high=upper,
            areas=_limited(self.areas, limits(areas), level),
            differences=None if self.differences is None else _limited(self.differences, limits(_paired(areas)), level),
            level=level,
            method="percentile bootstrap over cases",
            n_resamples=n_resamples,
            seed=seed,
        )

    def _facts(self) -> dict[str, Any]:
        low, high = (percent(share) for share in (self.areas.removed_from, self.areas.removed_to))
        heights = {
            str(rule): round(float(height), 6)
            for rule, height in zip(self.areas.rule, self.areas.mean_height, strict=True)
        }
        facts: dict[str, Any] = {"metric": self.metric, "mean_height": heights, "removed": f"{low} to {high}"}
        facts |= {"n": self.n} | ({"dropped": self.dropped} if self.dropped else {})
        return facts | ({} if self.level is None else {"level": self.level})


def retention_curve(
    y_true: ArrayLike | Cases,
    y_proba: ArrayLike | None = None,
    *,
    rule: Rule | Sequence[Rule] = RANKED_PROBABILITY,
    metric: Metric = "qwk",
    removed: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    labels: Labels | None = None,
) -> RetentionCurve:
    r"""Remove the cases with the largest loss and evaluate the decisions on the rest.

    The cases are ordered by their loss; for each share :math:`f` the worst :math:`\lfloor f n \rfloor` are removed. The
    decision is the most probable class, the first in a tie. A rule whose curve rises fast identifies the cases whose
    decisions are bad under the metric.

    **This is a diagnostic of rules and of errors, not a way to reject cases**: a loss is known only after the outcome
    is.

    Parameters
    ----------
    y_true, y_proba, labels
        As in `propriety.mean_score`, the classes in order. The forecast of one event stands for the row (1 - p, p).
    rule : Rule, or sequence of rules
        The rule that orders the cases: any rule for classes, or several to compare.
    metric : {"qwk", "accuracy", "linear cost", "quadratic cost"} or array-like of shape (K, K)
        What is computed on the cases kept: `propriety.quadratic_weighted_kappa`, the share of right decisions, or
        `propriety.expected_cost`, also with a cost matrix. The first two are better if higher, costs if lower.
    removed : array-like, optional
        Shares to remove, two or more in [0, 1), in any order; by default 0 to 20% in steps of 1%.
    sample_weight : array-like of shape (n,), optional
        Weights; the worst cases are removed as long as their total weight is at most the share of all.

    Returns
    -------
    RetentionCurve
        One row per rule and share, with the areas under the curves.

    Notes
    -----
    Of cases with the same loss, the later ones are removed first, so ties depend on the order of the rows. The kappa of
    a subset with a single class is 0/0: it is NaN, and so is the area.

    The publication that proposed the curve defines neither its range nor its unit. Here the range is stated with the
    result, and `areas` gives all three units. The published figures agree with percent over 0 to 20%.

    References
    ----------
    Galdran (2023), section 2.4, arXiv:2309.08701.

    Examples
    --------
    >>> import propriety as pr
    >>> y = [0, 1, 2, 2, 0]
    >>> rows = [[0.5, 0.4, 0.1], [0.2, 0.5, 0.3], [0.1, 0.2, 0.7], [0.5, 0.3, 0.2], [0.3, 0.4, 0.3]]
    >>> curve = retention_curve(y, rows, removed=[0, 0.2, 0.4])
    >>> curve
    RetentionCurve(metric=qwk, mean_height={'RankedProbability()': 0.721429}, removed=0% to 40%, n=5)
    >>> curve.value.round(6), curve.n_retained, curve.areas.area_percent.round(6)
    (array([0.285714, 0.8     , 1.      ]), array([5, 4, 3]), array([28.857143]))
    """
    rules = read_rules(rule)
    shares = _read_shares(removed)
    cases = read_cases(
        y_true,
        y_proba,
        sample_weight=sample_weight,
        labels=labels,
    )
    rows = cases.as_rows()
    labels_of_rows = rows.labels or ()
    classes = len(labels_of_rows)
    name, measure = _read_metric(metric, labels_of_rows)
    forecast, outcome, given = rows.gathered()
    weight = np.ones(len(outcome)) if given is None else given
    counted = weight > 0.0  # A case of zero weight does not count, whatever its loss.
    cells = (outcome * classes + first_argmax(forecast))[counted]
    orders = []
    for one in rules:
        case = worst_first(checked_losses(cases, one)[counted])
        orders.append(_Order(case, cells[case], weight[counted][case], classes))
    values = np.stack([measure(order.retained(shares)) for order in orders])
    names = np.array([repr(one) for one in rules])
    areas = _areas(values[None], shares)
    pairs = list(itertools.combinations(names, 2))
    one_of, other = (np.array([pair[side] for pair in pairs]) for side in (0, 1))
    return RetentionCurve(
        rule=np.repeat(names, len(shares)),
        removed=np.tile(shares, len(rules)),
        n_retained=np.concatenate([order.kept(shares) for order in orders]),
        value=values.ravel(),
        metric=name,
        higher_is_better=name in ("qwk", "accuracy"),
        areas=_told(areas[0], shares, names),
        differences=_told(_paired(areas)[0], shares, one_of, other) if pairs else None,
        n=int(np.count_nonzero(counted)),
        dropped=cases.dropped,
        short_names=tuple(one.short_name for one in rules),
        orders=tuple(orders),
        measure=measure,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Order:
    """The cases in the order in which a rule removes them, worst first."""

    case: NDArray[np.intp]
    cell: NDArray[np.intp]  # Cell of the confusion matrix for each case.
    weight: Floats
    classes: int

    def kept(self, shares: Floats) -> NDArray[np.int64]:
        """Return the number of cases kept at each share removed."""
        return (len(self.case) - self._cut(shares, self.weight)[0]).astype(np.int64)

    def retained(self, shares: Floats, counts: NDArray[np.intp] | None = None) -> Floats:
        """Return the confusion matrix of the cases kept at each share, of shape (shares, K, K).

        `counts` says how many copies there are of each case; they are removed one by one.
        """
        weight = self.weight if counts is None else self.weight * counts[self.case]
        cut, surplus = self._cut(shares, weight)
        part = np.repeat(np.arange(len(cut) + 1), np.diff(cut, prepend=0, append=len(weight)))
        cells = self.classes**2
        sums: Floats = np.bincount(part * cells + self.cell, weight, minlength=(len(cut) + 1) * cells)  # type: ignore[assignment]  # floats with weights
        kept = np.cumsum(sums.reshape(-1, cells)[:0:-1], axis=0)[::-1]
        kept[np.arange(len(cut)), self.cell[cut]] -= surplus
        return kept.reshape(-1, self.classes, self.classes)

    def _cut(self, shares: Floats, weight: Floats) -> tuple[NDArray[np.intp], Floats]:
        """Return how many cases are removed completely at each share, and the weight of copies removed of the next."""
        gone = np.append(0.0, np.cumsum(weight))
        # Some of the last case is always kept, however close to 1 a share is.
        budget = np.minimum(shares * gone[-1] * (1.0 + SHARE_ROUNDING), np.nextafter(gone[-1], 0.0))
        cut = np.minimum(np.searchsorted(gone[1:], budget, side="right"), len(weight) - 1)
        return cut, np.floor((budget - gone[cut]) / self.weight[cut]) * self.weight[cut]


def _read_metric(metric: Metric, labels: tuple[Any, ...]) -> tuple[str, Callable[[Floats], Floats]]:
    if isinstance(metric, str):
        if metric not in METRICS:
            raise InputValueError(f"must be one of {METRICS} or a cost matrix", argument="metric", got=metric)
        if metric == "qwk":
            return metric, kappa_of
        if metric == "accuracy":
            return metric, partial(cost_of, matrix=np.eye(len(labels)))  # Each right decision counts one.
        return metric, partial(cost_of, matrix=cost_matrix(COSTS[metric], labels))
    return "cost", partial(cost_of, matrix=cost_matrix(metric, labels))


def _read_shares(removed: ArrayLike | None) -> Floats:
    if removed is None:
        return GRID
    given = read_array(removed, "removed").values
    if given.dtype.kind not in "iuf" or given.ndim != 1:
        law = "must be a 1-D array of shares"
        raise InputTypeError(law, argument="removed", offender=f"got shape {given.shape} of {given.dtype}")
    bad = ~((given >= 0.0) & (given < 1.0))
    if bad.any():
        offender = f"entry {int(bad.argmax())} is {given[bad][0].item()!r}"
        count, hint = f"{bad.sum()} of {bad.size} entries", "divide by 100 if these are percentages."
        raise InputValueError("must lie in [0, 1)", argument="removed", offender=offender, count=count, hint=hint)
    shares = np.unique(given.astype(np.float64))
    if len(shares) < 2:
        raise InputValueError(
            "must hold two different shares or more", argument="removed", offender=f"got {len(shares)}"
        )
    return shares


def _areas(values: Floats, shares: Floats) -> Floats:
    """Return the areas under curves of shape (..., shares), by the trapezoidal rule."""
    return (values[..., 1:] + values[..., :-1]) @ np.diff(shares) / 2.0


def _paired(areas: Floats) -> Floats:
    """Return the difference of each pair of columns."""
    one, other = np.triu_indices(areas.shape[1], k=1)
    return areas[:, one] - areas[:, other]


def _told(areas: Floats, shares: Floats, rule: Names, minus: Names | None = None) -> RetentionAreas:
    low, high = float(shares[0]), float(shares[-1])
    return RetentionAreas(
        rule=rule,
        minus=minus,
        area=areas,
        area_percent=100.0 * areas,
        mean_height=areas / (high - low),
        removed_from=low,
        removed_to=high,
    )


def _limited(areas: RetentionAreas, limits: tuple[Floats, Floats], level: float) -> RetentionAreas:
    return replace(areas, low=limits[0], high=limits[1], level=level)


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """Right and wrong answers by confidence, the highest first; equal confidences are one step.

    Positions are cumulative weights, scaled to a mean weight of 1; they are ranks if all weights are equal.

    Parameters
    ----------
    confidence : ndarray of shape (steps,)
        Distinct confidences, decreasing.
    right, wrong : ndarray of shape (steps,)
        Right and wrong answers of each step, in positions; they sum to the number of cases.
    is_event : ndarray of shape (rows,)
        For each row of the table, whether the answer is the event.
    step : ndarray of shape (rows,)
        For each row of the table, its step.
    """

    confidence: Floats
    right: Floats
    wrong: Floats
    is_event: NDArray[np.bool_]
    step: NDArray[np.intp]

    @property
    def end(self) -> Floats:
        """Position of the last answer of each step."""
        return running_sum(self.right + self.wrong)

    @property
    def coverage(self) -> Floats:
        """Share of the cases that are answered if all steps up to this one are answered."""
        end = self.end
        return end / end[-1]

    @property
    def risk(self) -> Floats:
        """Share of wrong answers among the cases that are answered."""
        return running_sum(self.wrong) / self.end

    @property
    def error_rate(self) -> float:
        """Share of wrong answers among all cases."""
        return float(self.wrong.sum() / (self.right + self.wrong).sum())

    def risk_at(self, coverage: float) -> float:
        """Return the expected risk at a coverage if equal confidences are taken in random order."""
        end, wrong = np.append(0.0, self.end), np.append(0.0, running_sum(self.wrong))
        place = coverage * end[-1]
        return float(np.interp(place, end, wrong) / place)

    def mean_risk(self) -> float:
        """Return AURC: the mean of the risk over the coverages 1/n, 2/n, ..., 1."""
        return float(self.wrong @ self._risk_shares()) / float(self.end[-1])

    def mean_joint_risk(self) -> float:
        """Return AUGRC: the integral over the coverage of the share of cases that are answered wrongly."""
        size, wrong = self.right + self.wrong, running_sum(self.wrong)
        return float(size @ (wrong - self.wrong / 2.0)) / float(size.sum()) ** 2

    def least_mean_risk(self) -> float:
        """Return the lowest AURC possible with this number of errors: all wrong answers come last."""
        n, wrong = float(self.end[-1]), float(self.wrong.sum())
        right = n - wrong
        return (wrong - right * float(digamma(n + 1.0) - digamma(right + 1.0))) / n

    def moves_of_mean_risk(self) -> tuple[Floats, Floats]:
        """Return the influence on AURC of a right and of a wrong answer in each step."""
        size, end, harmonic = self._blocks()
        start, rate = end - size, self.wrong / size
        after = rate * harmonic
        # Among equal confidences, a case precedes each other case with probability 1/2, and never itself.
        beside = rate * (1.0 - (start + np.minimum(size, 1.0)) * harmonic / size)
        return self._centred(self._risk_shares(), _below(after) + beside)

    def moves_of_mean_joint_risk(self) -> tuple[Floats, Floats]:
        """Return the influence on AUGRC of a right and of a wrong answer in each step."""
        size, end, _ = self._blocks()
        n = float(end[-1])
        return self._centred((n - end + size / 2.0) / n, (_below(self.wrong) + self.wrong / 2.0) / n)

    def _risk_shares(self) -> Floats:
        """Return the sum of 1/j over all positions j not before an answer, averaged over each step."""
        size, end, harmonic = self._blocks()
        return 1.0 + _below(harmonic) - (end - size) * harmonic / size

    def _blocks(self) -> tuple[Floats, Floats, Floats]:
        """Return the size and the end of each step, and the sum of 1/j over its positions j."""
        size, end = self.right + self.wrong, self.end
        return size, end, np.diff(digamma(np.append(0.0, end) + 1.0))

    def _centred(self, own: Floats, later: Floats) -> tuple[Floats, Floats]:
        """Return influences with mean zero: what a wrong answer adds, minus the effect of moving later errors back.

        They are 0 if all answers are right, or all are wrong: the sample then does not show how the area varies.
        """
        if not (self.right.any() and self.wrong.any()):
            return np.zeros(len(own)), np.zeros(len(own))
        mean = float(self.wrong @ (own - later) - self.right @ later) / float(self.end[-1])
        return -later - mean, own - later - mean


def _below(values: Floats) -> Floats:
    """Return the sum over the later steps."""
    return running_sum(values[::-1])[::-1] - values


def answers_of(table: ForecastTable, threshold: float) -> Answers:
    """Return the answers that a table implies: "event" if the forecast reaches the threshold, else "no event".

    The confidence is the probability of the answer. With a threshold of 0 the answer is always the event, so the
    table holds confidences, with the right answers as events.

    Examples
    --------
    >>> table = ForecastTable.from_predictions([0, 0, 1, 1], [0.25, 0.75, 0.75, 0.875])
    >>> answers = answers_of(table, 0.5)
    >>> answers.confidence, answers.right, answers.wrong
    (array([0.875, 0.75 ]), array([1., 2.]), array([0., 1.]))
    """
    is_event = table.forecast >= threshold
    confidence = np.where(is_event, table.forecast, 1.0 - table.forecast)
    if threshold > 0.0:
        confidence = np.round(confidence, 14)  # 1 - 0.07 is not quite 0.93, and both are the same confidence.
    distinct, step = np.unique(-confidence, return_inverse=True)
    scale = table.n / table.weight if table.is_weighted else 1.0
    right = scale * np.bincount(step, np.where(is_event, table.events, table.non_events)).astype(np.float64)
    wrong = scale * np.bincount(step, np.where(is_event, table.non_events, table.events)).astype(np.float64)
    return Answers(-distinct, right, wrong, is_event, step)
