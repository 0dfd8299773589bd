"""How good, how calibrated and how useful forecasts are in every group, and where groups differ by more than noise."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from propriety.calibration.decomposition import decompose_table
from propriety.calibration.resampling import check_level
from propriety.errors import InputValueError, sentence
from propriety.inference.group_tests import against_the_rest, group_tests
from propriety.inference.measures import NetBenefit
from propriety.inference.moments import LossMoments, moments_of
from propriety.inference.verdicts import holm
from propriety.results import Floats, Result
from propriety.rules.families import Brier
from propriety.rules.operations import NUMPY, Column, Operations
from propriety.rules.rule import BinaryRule, Rule, check_rule
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.models import Keys, read_binary_models, read_keys
from propriety.tables.predictions import BinaryPredictions
from propriety.tables.validation import Labels, Missing

__all__ = ["Slices", "group_names", "rules_of_slices", "slices", "slices_of_tables"]

BRIER = Brier()
FEWEST = 10  # Events, non-events or clusters below which a group is not judged; see the notes of `slices` on clusters.
INFINITE = "the mean score is infinite"

Names = NDArray[np.str_]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Slices(Result):
    """Scores, calibration and decision value of groups, one row per model and group; see `slices`.

    Parameters
    ----------
    model, group : ndarray of str of shape (rows,)
        The model and the label of the group.
    n, events : ndarray of shape (rows,)
        Number of cases, and of events among them.
    event_rate : ndarray of shape (rows,)
        Weighted share of events.
    score, low, high : ndarray of shape (rows,)
        Mean score, and its interval.
    excess, excess_low, excess_high : ndarray of shape (rows,)
        Calibration-in-the-large: the event rate less the mean forecast, and its interval; positive where
        events are more frequent than forecast.
    miscalibration : ndarray of shape (rows,)
        Miscalibration of the score; the fewer the cases, the larger it is by chance alone.
    net_benefit, net_benefit_low, net_benefit_high : ndarray of shape (rows,), optional
        Net benefit at the threshold, higher is better, and its interval; None without a threshold.
    difference : ndarray of shape (rows,)
        Mean score of the group less that of all other cases.
    p_value, p_adjusted : ndarray of shape (rows,)
        Two-sided p-value of no such difference, and the same with Holm's adjustment for all rows.
    note : ndarray of str of shape (rows,)
        Why a group is not judged; empty if it is.
    overall : mapping of str to float
        Mean score of each model on all cases.
    rule : str
        The rule.
    threshold : float, optional
        Threshold of the net benefit.
    level : float
        Level of the intervals.
    clusters : int, optional
        Number of clusters.
    dropped : int
        Rows left out because of missing values.
    """

    model: Names
    group: Names
    n: NDArray[np.int64]
    events: NDArray[np.int64]
    event_rate: Floats
    score: Floats
    low: Floats
    high: Floats
    excess: Floats
    excess_low: Floats
    excess_high: Floats
    miscalibration: Floats
    net_benefit: Floats | None
    net_benefit_low: Floats | None
    net_benefit_high: Floats | None
    difference: Floats
    p_value: Floats
    p_adjusted: Floats
    note: Names
    overall: Mapping[str, float]
    rule: str
    threshold: float | None
    level: float
    clusters: int | None = None
    dropped: int = 0

    @property
    def is_judged(self) -> NDArray[np.bool_]:
        """Whether a group is large enough to be judged."""
        return np.asarray(self.note == "")


def slices(  # noqa: PLR0913  (the data, the groups, and what is asked of each)
    y_true: object,
    y_proba: object,
    *,
    by: object,
    rule: Rule = BRIER,
    threshold: float | None = None,
    level: float = 0.95,
    smallest: int = 50,
    cluster: object = None,
    sample_weight: object = None,
    pos_label: object = None,
    labels: Labels | None = None,
    missing: Missing = "raise",
) -> Slices:
    r"""Judge forecasts of an event in every group: score, calibration and net benefit, with intervals and a test.

    The test is of the difference between the mean score of a group, :math:`\bar l_g`, and that of all other cases,
    :math:`\bar l_r`, by Welch's statistic

    .. math:: t = \frac{\bar l_g - \bar l_r}{\sqrt{s_g^2 + s_r^2}}

    with the standard errors :math:`s` of the two means; with clusters, which may reach across groups, by the spread of
    the difference between clusters and one degree of freedom less than there are of them. Holm's adjustment keeps
    the chance of any false alarm among all rows at or below one minus the level.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Outcomes.
    y_proba : array-like of shape (n,), or mapping of str to such
        Probability of the event, or the forecasts of several models by name.
    by : array-like of shape (n,)
        Group of each case. The rows are in the order of the labels, or of the categories if these are ordered.
    rule : Rule
        The scoring rule, for one event.
    threshold : float, optional
        Threshold at which somebody acts, for the net benefit.
    level : float
        Level of the intervals.
    smallest : int
        A group with fewer cases, or with fewer than 10 events, non-events or clusters, is not judged: it has its
        mean score, but neither interval nor test, and a note. Nor has an infinite score an interval.
    cluster : array-like of shape (n,), optional
        Cluster within which cases may depend on each other.
    sample_weight, pos_label, labels, missing
        As in `propriety.mean_score`.

    Notes
    -----
    A group with another event rate has another mean score even if it is forecast equally well, because an event that
    is rare is easy to forecast; look at `excess` and `net_benefit` too before a group is called badly served. Groups
    that were found by looking for differences need another sample to be confirmed.

    Few clusters make the test reject too often: where a group has 10 clusters of its own and the rest 100, p-values
    fell below 0.05 in 8% of 400 samples without a difference, and in 6% with 20 against 40.

    References
    ----------
    Welch (1947), doi:10.1093/biomet/34.1-2.28; Holm (1979), jstor:4615733; Van Calster et al. (2019),
    doi:10.1186/s12916-019-1466-7, for calibration-in-the-large.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> p = rng.random(600)
    >>> site = rng.choice(["north", "south", "west"], 600, p=[0.5, 0.45, 0.05])
    >>> found = slices(rng.random(600) < p, p, by=site, threshold=0.3)
    >>> found.group.tolist(), found.n.tolist()
    (['north', 'south', 'west'], [289, 270, 41])
    >>> found.note.tolist()[2]
    'too few to judge: 41 cases'
    """
    _check_options(rule, level, smallest)
    rules = rules_of_slices(rule, threshold)
    models = y_proba if isinstance(y_proba, Mapping) else {"forecast": y_proba}
    predictions = read_binary_models(
        y_true, models, sample_weight=sample_weight, pos_label=pos_label, labels=labels, missing=missing
    )
    read = partial(read_keys, predictions=predictions[0], beside=y_true, forecasts=models.values())
    group = read(by, "by")
    clusters = None if cluster is None else read(cluster, "cluster")
    moments = [moments_of(predictions, tuple(models), one, group=group, cluster=clusters) for one in rules]
    counts = _Counts.of(predictions[0], group)
    tables = [_tables(one, group, counts.kept) for one in predictions]
    return _judged(moments, counts, tables, rule, threshold=threshold, level=level, smallest=smallest)


def slices_of_tables(
    tables: Mapping[str, Mapping[Any, ForecastTable]],
    moments: Sequence[LossMoments],
    rule: Rule,
    *,
    threshold: float | None = None,
    level: float = 0.95,
    smallest: int = 50,
) -> Slices:
    """Judge groups whose tables, by model and group, and moments were made elsewhere; see `slices`.

    `moments` are by group, of the rules that `rules_of_slices` names.
    """
    _check_options(rule, level, smallest)
    first = next(iter(tables.values()))
    own = [list(groups.values()) for groups in tables.values()]
    rates = np.array([table.event_rate for table in own[0]])
    n, events = np.array([(table.n, table.n_events) for table in own[0]], dtype=np.int64).T
    counts = _Counts(np.arange(len(n)), tuple(first), n, events, rates)
    return _judged(moments, counts, own, rule, threshold=threshold, level=level, smallest=smallest)


def rules_of_slices(rule: Rule, threshold: float | None) -> tuple[Rule, ...]:
    """Return the rules whose moments groups are judged by: the score, the excess of events, and the net benefit."""
    return (rule, _Excess(), *([] if threshold is None else [NetBenefit(threshold).loss]))


def _judged(
    moments: Sequence[LossMoments],
    counts: _Counts,
    tables: Sequence[Sequence[ForecastTable]],
    rule: Rule,
    *,
    threshold: float | None,
    level: float,
    smallest: int,
) -> Slices:
    scores, excesses, *benefits = moments
    parts, overall, tests, units = [], {}, group_tests(scores), scores.units
    for place, name in enumerate(scores.models):
        overall[name] = float(scores.means[place])
        notes = _notes(scores, place, counts, smallest)
        score, low, high = _limits(scores, place, notes, level)
        difference, p_value = against_the_rest(tests, place, units, notes)
        few = np.where(notes == INFINITE, "", notes)  # Which is of the score alone.
        part = {
            "model": np.full(len(notes), name),
            "score": score,
            "low": low,
            "high": high,
            **dict(zip(("excess", "excess_low", "excess_high"), _limits(excesses, place, few, level), strict=True)),
            "miscalibration": _miscalibrations(tables[place], rule, notes),
            "difference": difference,
            "p_value": p_value,
            "note": notes,
        }
        for losses in benefits:
            gain, most, least = (-one for one in _limits(losses, place, few, level))
            part |= {"net_benefit": gain + 0.0, "net_benefit_low": least, "net_benefit_high": most}
        parts.append(part)
    columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    return Slices(
        **({"net_benefit": None, "net_benefit_low": None, "net_benefit_high": None} | columns),  # type: ignore[arg-type]  # by name
        group=np.tile(group_names(counts.labels), len(parts)),
        n=np.tile(counts.n, len(parts)),
        events=np.tile(counts.events, len(parts)),
        event_rate=np.tile(counts.event_rate, len(parts)),
        p_adjusted=holm(columns["p_value"]),
        overall=overall,
        rule=repr(rule),
        threshold=threshold,
        level=level,
        clusters=None if scores.cluster is None else scores.units,
        dropped=scores.dropped,
    )


def _check_options(rule: Rule, level: float, smallest: int) -> None:
    check_rule(rule)
    check_level(level)
    if not isinstance(smallest, int | np.integer) or isinstance(smallest, bool) or smallest < 1:
        raise InputValueError(sentence(f"smallest must be a positive whole number; got {smallest!r}"))


@dataclass(frozen=True, slots=True, repr=False)
class _Excess(BinaryRule):
    """Outcome less forecast, whose mean is calibration-in-the-large."""

    name: ClassVar[str] = "excess"

    def loss(self, p: Column, *, event: bool, ops: Operations = NUMPY) -> Column:
        """Return what happened less what was forecast."""
        del ops
        return (1.0 if event else 0.0) - p


class _Counts(NamedTuple):
    """Cases and events of the groups that have any weight, by code."""

    kept: NDArray[np.intp]
    labels: tuple[Any, ...]
    n: NDArray[np.int64]
    events: NDArray[np.int64]
    event_rate: Floats

    @classmethod
    def of(cls, predictions: BinaryPredictions, group: Keys) -> _Counts:
        """Count in one pass."""
        sums = np.zeros((4, len(group)))
        start = 0
        for _, event, weight in predictions.chunks():
            code = group.codes[start : start + len(event)]
            start += len(event)
            w = np.ones(len(event)) if weight is None else weight
            for place, column in enumerate((w > 0.0, event & (w > 0.0), w, w * event)):
                sums[place] += np.bincount(code, column, minlength=len(group))
        kept = np.flatnonzero(sums[0])
        n, events, weight, happened = sums[:, kept]
        labels = tuple(group.labels[code] for code in kept)
        return cls(kept, labels, n.astype(np.int64), events.astype(np.int64), happened / weight)


def _notes(scores: LossMoments, place: int, counts: _Counts, smallest: int) -> Names:
    """Say of each group why it is not judged, if it is not."""
    notes = []
    for one, n, events in zip(scores.groups().values(), counts.n.tolist(), counts.events.tolist(), strict=True):
        numbers = {"case": (n, smallest), "event": (events, FEWEST), "non-event": (n - events, FEWEST)}
        if one.cluster is not None:
            numbers["cluster"] = (one.units, FEWEST)
        few = next(((name, number) for name, (number, fewest) in numbers.items() if number < fewest), None)
        told = "" if few is None else f"too few to judge: {few[1]} {few[0]}" + "s" * (few[1] != 1)
        notes.append(INFINITE if few is None and math.isinf(one.means[place]) else told)
    return np.array(notes)


def _limits(moments: LossMoments, place: int, notes: Names, level: float) -> tuple[Floats, Floats, Floats]:
    """Return mean, low and high of each group, Student's t; no limits where there is a note."""
    found = []
    for one, note in zip(moments.groups().values(), notes.tolist(), strict=True):
        mean = float(one.means[place])
        margin = math.nan
        if not note:
            margin = float(stdtrit(one.units - 1, (1.0 + level) / 2.0)) * float(one.standard_errors()[place])
        found.append((mean, mean - margin, mean + margin))
    mean, low, high = np.array(found).T
    return mean, low, high


def group_names(labels: tuple[Any, ...]) -> list[str]:
    """Return the labels as texts; those that would read alike, such as 1 and "1", as they are written in code."""
    texts = [str(label) for label in labels]
    often = Counter(texts)
    return [text if often[text] == 1 else repr(label) for text, label in zip(texts, labels, strict=True)]


def _miscalibrations(tables: Sequence[ForecastTable], rule: Rule, notes: Names) -> Floats:
    """Return the miscalibration in each group that is judged; NaN for a rule that is not declared proper."""
    found = np.full(len(tables), np.nan)
    if rule.properties().proper:
        for place, table in enumerate(tables):
            if not notes[place].startswith("too few"):
                found[place] = decompose_table(table, rule).miscalibration
    return found


def _tables(predictions: BinaryPredictions, group: Keys, kept: NDArray[np.intp]) -> list[ForecastTable]:
    """Return the table of each group."""
    forecast, event, weight = predictions.gathered()
    order = np.argsort(group.codes, kind="stable")
    ends = np.searchsorted(group.codes[order], np.arange(len(group) + 1))
    tables = []
    for code in kept.tolist():
        cases = order[ends[code] : ends[code + 1]]
        own = None if weight is None else weight[cases]
        tables.append(ForecastTable.from_predictions(event[cases], forecast[cases], sample_weight=own))
    return tables
