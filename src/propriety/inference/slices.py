"""Measures, calibration and net benefit of forecasts in groups, with tests of differences between groups."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propriety import checks
from propriety.checks import check_level, fresh_seed
from propriety.errors import InputValueError, Wording
from propriety.inference.answers_ledger import as_measured
from propriety.inference.between_groups import (
    FEWEST_POOLED,
    RATIOS,
    chosen_labels,
    pooled_estimates,
    pooled_events,
    rows_between,
)
from propriety.inference.bootstrap import Drawing
from propriety.inference.dependence import student
from propriety.inference.differing_groups import JointTest, alike, alike_events, differing_groups
from propriety.inference.estimates import ROUNDING, censoring_notes
from propriety.inference.estimation import check_event, estimate_or_note
from propriety.inference.events_by_group import EventsByGroup
from propriety.inference.finding import GROUPS, Finding, Findings, Label, check_keys_of
from propriety.inference.group_counts import GroupCounts, approximate, counts_of_groups, is_free, others_of
from propriety.inference.group_rows import REST
from propriety.inference.group_tests import against_the_rest, group_means
from propriety.inference.imagined_groups import Sides, imagined_of_groups
from propriety.inference.imagined_groups import others_of as sums_of_others
from propriety.inference.limits import hull, imagined_limits, imagined_p_value
from propriety.inference.mean_estimates import STUDENT, clipped, measured_moments
from propriety.inference.measures.measure import Measure
from propriety.inference.measures.of_means import MeanScore, NetBenefit
from propriety.inference.measures.parts import IntegratedCalibrationIndex
from propriety.inference.measures.reading import AnyMeasure, read_measure
from propriety.inference.notes import Note
from propriety.inference.outcome_counts import (
    OutcomeCounts,
    are_enough,
    correlated_cases,
    counts_of_tables,
    judged,
    no_model_score,
)
from propriety.inference.slice_estimates import GroupEstimates, Numbers, count_answers, estimate_groups, shares_units
from propriety.inference.verdict import has_ideal, holm, p_of_limits, with_verdict
from propriety.ledger.ledger import Ledger
from propriety.ledger.moments import Moments
from propriety.ledger.sources import Data, open_ledger
from propriety.result import Floats
from propriety.rules.families import BRIER
from propriety.rules.functions import Excess
from propriety.rules.rule import Rule
from propriety.rules.weights import Thresholds
from propriety.tables.cases import Cases
from propriety.tables.labels import Labels
from propriety.tables.lazy_cases import LazyCases
from propriety.tables.reading import refuse_time
from propriety.tables.validation import Forecasts, Missing

SMALLEST = 50  # By default, a group with fewer cases is not tested.


def slices(  # noqa: PLR0913  (the data, the groups, and what is asked of each)
    y_true: Data,
    forecasts: Forecasts | None = None,
    measure: AnyMeasure = BRIER,
    *,
    by: ArrayLike | Mapping[str, ArrayLike] | None = None,
    outcome: str | None = None,
    thresholds: Thresholds | None = None,
    level: float = 0.95,
    smallest: int = SMALLEST,
    cluster: ArrayLike | None = None,
    period: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Hashable | None = None,
    labels: Labels | None = None,
    missing: Missing = "raise",
    n_resamples: int = 1000,
    seed: int | None = None,
    time: None = None,
) -> Findings:
    r"""Evaluate forecasts in every group: a measure, calibration and net benefit, with intervals and a test.

    The mean score of a group, :math:`\bar l_g`, is tested against that of all other cases, :math:`\bar l_r`, by Welch's
    statistic, with the standard errors :math:`s` of the two means,

    .. math:: t = \frac{\bar l_g - \bar l_r}{\sqrt{s_g^2 + s_r^2}} .

    Other measures are tested by their values and errors in the same way, and groups that share clusters or periods by
    the error of the difference itself. Whether groups differ is tested jointly first ("heterogeneity"). If they do, the
    one that deviates most is named and taken out of the average, and the others are tested again.

    Parameters
    ----------
    y_true, forecasts, outcome, cluster, period, sample_weight, pos_label, labels, missing, time
        The cases, or what describes them; see `propriety.cases`. A ledger replaces all data.
    measure : Rule, measure or callable
        What to compute: a rule for its mean score, a measure, or any function of a ForecastTable.
    by : array-like of shape (n,), or mapping of str to such; with a frame, cases or a ledger str or list of str
        Group of each case; several keys are combined. For cases or a ledger, by default all of their keys.
    thresholds : float or (float, float), optional
        The probability at which somebody would act, or its range, for the net benefit.
    level : float
        Level of the intervals.
    smallest : int
        A group with fewer cases, or with fewer than 10 events, non-events or clusters, has its value and a note only;
        also one with an effective number of clusters below 8, or of weighted cases below 20.
    n_resamples, seed : int, optional
        Number and seed of the draws, for measures without a formula.

    Returns
    -------
    Findings
        The value of all cases; the mean over groups, the range of a further one, I2 and tau; each group's value and,
        ``against="rest"``, difference from all others; for one event also its `excess`, the event rate minus the mean
        forecast, and net benefit.

    Notes
    -----
    A group with another event rate has another mean score even if it is forecast equally well, because a rare event is
    easy to forecast: look at excess and net benefit as well. Groups found by searching for differences need another
    sample for confirmation. Formulas, limits and simulations: `docs/reference/methods.md`.

    References
    ----------
    Welch (1947), doi:10.1093/biomet/34.1-2.28; Holm (1979), jstor:4615733; Van Calster et al. (2019),
    doi:10.1186/s12916-019-1466-7, for calibration in the large.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> p, site = rng.random(600), rng.choice(["north", "south", "west"], 600)
    >>> y = rng.random(600) < np.where(site == "west", 0.5, p)
    >>> found = slices(y, p, by={"site": site}).where(measure="brier")
    >>> print(found.where(statistic="heterogeneity"), found.where(against="rest", verdict="bad"), sep="\n")
    forecast  Brier score (I² between groups, by site)  0.957 (0.839 to 0.999), p < 0.001  bad  ✗
    forecast  Brier score of site west less the rest  0.130 (0.0883 to 0.172)  bad  ✗
    """
    asked = read_measure(measure)
    check_level(level)
    refuse_time(time)
    if by is None and not isinstance(y_true, Ledger | Cases | LazyCases):
        raise InputValueError(Wording("slices needs {by=}, the group of each case"))
    ledger = open_ledger(
        y_true,
        forecasts,
        outcome=outcome,
        by=by,
        cluster=cluster,
        period=period,
        sample_weight=sample_weight,
        pos_label=pos_label,
        labels=labels,
        missing=missing,
    )
    names = ledger.index.names
    if isinstance(y_true, Ledger | Cases | LazyCases) and by is not None:
        names = (by,) if isinstance(by, str) else tuple(by)  # type: ignore[arg-type]  # names, in the order asked for
    if not names:
        law, hint = "the cases have no keys that define groups", Wording("pass {by=} when they are read.")
        raise InputValueError(law, hint=hint)
    drawing = Drawing(n_resamples, fresh_seed(seed))
    return slices_of(ledger, asked, by=[names], thresholds=thresholds, level=level, smallest=smallest, drawing=drawing)


def slices_of(
    ledger: Ledger,
    measure: Measure,
    *,
    by: Sequence[tuple[str, ...]],
    thresholds: Thresholds | None = None,
    level: float = 0.95,
    smallest: int = SMALLEST,
    drawing: Drawing,
) -> Findings:
    """Evaluate the groups of a ledger, of several combinations of keys with one adjustment; see `slices`."""
    check_event(as_measured(ledger, measure, ledger.models[0]), measure)
    checks.whole(smallest, "smallest", least=1)
    check_keys_of(name for names in by for name in names)
    rows: list[tuple[Finding, bool]] = []
    for names in by:
        own = ledger.over(*(name for name in ledger.index.names if name not in names))
        own.fill(rules_of_slices(measure, thresholds, binary=ledger.labels is None))
        counts = counts_of_groups(own, measure, names)
        found = _estimated(own, measure, names, counts, smallest=smallest, level=level, drawing=drawing)
        if names == by[0]:
            rows += _of_all_cases(ledger, measure, found.overall, counts, level, drawing)
        over = _over_groups(own, measure, counts, found, level, smallest=smallest, tests=len(by) * len(ledger.models))
        rows += [(row, False) for one in over for row in one.rows]
        rows += _of_groups(own, measure, counts, found, [one.p_adjusted for one in over], level, smallest)
        if ledger.labels is None:
            rows += _beside(own, measure, names, counts, thresholds, level, smallest)
    order = sorted(_adjusted(rows), key=lambda row: ledger.models.index(row.model))
    return Findings.of(order, dropped=ledger.dropped)


def rules_of_slices(measure: Measure, thresholds: Thresholds | None, *, binary: bool) -> list[Rule]:
    """Return the functions whose moments are needed for groups."""
    rules = list(measure.filled)
    if not binary:
        return rules
    return [*rules, Excess(), *([] if thresholds is None else [NetBenefit(thresholds).rule])]


def _estimated(
    ledger: Ledger,
    measure: Measure,
    by: tuple[str, ...],
    counts: GroupCounts,
    *,
    smallest: int,
    level: float,
    drawing: Drawing,
) -> GroupEstimates:
    """Return the numbers of groups without those that are not known, and the notes that say why."""
    outcomes = counts.outcomes
    if measure.of_answers:
        outcomes = {name: number[counts.entry] for name, number in count_answers(ledger, measure).items()}
    few = counts.too_few(outcomes, smallest)
    if measure.sign is not None:
        found = _tested(ledger, measure, by, counts.entry, level)
    else:
        untested = np.empty((len(few), len(ledger.models)), dtype=bool)
        untested[counts.entry] = ~is_free(few)
        found = estimate_groups(ledger, measure, untested, level, drawing).at(counts.entry)
    note = np.broadcast_to(few, found.own.value.shape).copy()
    note[is_free(note) & np.isinf(found.own.value)] = Note("infinite")
    known, rest_note = is_free(note), note.copy()
    note = np.where(known, found.note, note)
    if len(counts.index) > 1:  # A single group has no rest.
        rest_few = counts.rest.too_few(others_of(outcomes), smallest, of_rest=True)
        rest_note = np.where(known, rest_few, rest_note)
    tested = is_free(rest_note) & np.isfinite(found.rest.p)
    rest_note = np.where(tested, approximate(outcomes, few.shape), rest_note)
    rest_note = np.where(is_free(rest_note), found.rest_note, rest_note)
    if measure == IntegratedCalibrationIndex() and ledger.dependence is not None:
        note[known] = rest_note[known] = Note("only-independent")
    return found._replace(own=found.own.where(known), rest=found.rest.where(tested), note=note, rest_note=rest_note)


class _Over(NamedTuple):
    """What is said of a model over groups, and the p-values of their differences; None if groups share clusters."""

    rows: list[Finding]
    p_adjusted: Floats | None


def _over_groups(
    ledger: Ledger,
    measure: Measure,
    counts: GroupCounts,
    found: GroupEstimates,
    level: float,
    *,
    smallest: int,
    tests: int,
) -> list[_Over]:
    """Return for each model the mean over groups, the range of a further one, and whether and where groups differ."""
    several = len(counts.index) > 1 and not measure.has_own_limits and not shares_units(ledger)
    labels = [", ".join(map(str, row)) for row in zip(*map(counts.index.column, counts.index.names), strict=True)]
    events_of_all = None if counts.events is None else int(counts.events.sum())
    facts: dict[str, Any] = {"measure": measure, "level": level, "n": int(counts.n.sum()), "events": events_of_all}
    facts["keys"] = {GROUPS: ", ".join(counts.index.names)}
    over = []
    for column, model in enumerate(ledger.models):
        known = np.isfinite(found.rest.p[:, column]) & (
            found.own.error[:, column] > ROUNDING * np.abs(found.own.value[:, column])
        )
        # Groups that are selected by their outcomes would differ by selection, so counts are tested of all large ones.
        is_counted = measure.key in RATIOS and ledger.labels is None
        tested = is_free(counts.too_few({}, smallest))[:, 0] if is_counted else known
        if not several or np.count_nonzero(tested) < FEWEST_POOLED:
            over.append(_Over([], None))
            continue
        value, error = found.own.value[:, column], np.where(tested, found.own.error[:, column], np.nan)
        test: Callable[[NDArray[np.bool_]], JointTest]
        if is_counted:
            events = EventsByGroup.of(ledger, model).at(counts.entry)
            pooled = pooled_events(measure, events.where(tested), chosen_labels(labels, tested), level=level)
            test = partial(alike_events, events)
        else:
            pooled = pooled_estimates(measure, value, error, labels, level=level, classes=ledger.classes)
            # Estimates by influence have no degrees of freedom; their errors are those of many cases.
            df = (counts.n if counts.units is None else counts.units) - 1.0 if measure.sign is not None else np.inf
            test = partial(_alike, value, error, np.broadcast_to(df, value.shape))
        groups = differing_groups(test, tested, level, tests=tests)
        alone = found.rest.p[:, column]  # Of the law of few events, which the joint test does not know.
        p_adjusted = np.where(np.isfinite(alone), np.fmax(groups.p_adjusted, alone), np.nan)
        rows = rows_between(pooled, p=groups.p, model=model, enough=are_enough(ledger, model, measure), **facts)
        over.append(_Over(list(rows), p_adjusted))
    return over


def _alike(values: Floats, errors: Floats, df: Floats, groups: NDArray[np.bool_]) -> JointTest:
    return alike(values[groups], errors[groups], df[groups])


def _of_groups(
    ledger: Ledger,
    measure: Measure,
    counts: GroupCounts,
    found: GroupEstimates,
    adjusted: Sequence[Floats | None],
    level: float,
    smallest: int,
) -> Iterator[tuple[Finding, bool]]:
    """Yield the value of each group and its difference from the rest, and whether the row is in the family of tests.

    `adjusted` has the p-values of the differences by the joint tests, where there are any.
    """
    # Groups left out because of their outcomes count as well: those that are tested have many events by selection.
    large = is_free(counts.too_few({}, smallest))[:, 0]
    if len(counts.index) > 1:
        large &= is_free(counts.rest.too_few({}, smallest))[:, 0]
    censored = censoring_notes(ledger)
    no_model = no_model_score(ledger, measure)
    for column, model in enumerate(ledger.models):
        enough = _enough(ledger, measure, model, counts.entry)
        for place, facts in enumerate(facts_of_groups(counts, level)):
            at = place, column
            notes, of_rest = (tuple(filter(None, (one[at],))) for one in (found.note, found.rest_note))
            common = {"measure": measure, "model": model, "no_model": no_model, **facts}
            rates = {} if counts.event_rate is None else {"event_rate": float(counts.event_rate[place])}
            own = Finding(**common, **found.own.at(at), enough=enough[0][place], notes=notes, extra=rates)
            if measure.ideal is not None:
                own = replace(own, p=p_of_limits(own, measure.ideal))
            yield own, bool(large[place])
            if len(counts.index) > 1:
                of_rest += () if math.isnan(found.rest.p[at]) else censored
                row = Finding(**common, **found.rest.at(at), against=REST, enough=enough[1][place], notes=of_rest)
                p_adjusted = adjusted[column]
                if p_adjusted is not None:
                    row = replace(row, p_adjusted=float(p_adjusted[place]))
                yield row, bool(large[place]) and p_adjusted is None


def facts_of_groups(counts: GroupCounts, level: float) -> list[dict[str, Any]]:
    """Return what the rows of each group have in common: its keys and its numbers of cases, events and units."""
    columns = [counts.index.column(name) for name in counts.index.names]
    keys: list[dict[str, Label]] = [
        dict(zip(counts.index.names, labels, strict=True)) for labels in zip(*columns, strict=True)
    ]
    several: dict[str, Sequence[Any]] = {"keys": keys, "n": counts.n.tolist()}
    several |= {} if counts.events is None else {"events": counts.events.tolist()}
    several |= {} if counts.units is None else {"units": counts.units.tolist()}
    return [{"level": level, **dict(zip(several, row, strict=True))} for row in zip(*several.values(), strict=True)]


def _enough(
    ledger: Ledger, measure: Measure, model: str, entry: NDArray[np.intp]
) -> tuple[list[bool | None], list[bool | None]]:
    """Return whether the outcomes of each group, and of it and the rest, could have shown a gross error."""
    groups = len(entry)
    unknown: list[bool | None] = [None] * groups
    if not has_ideal(measure) and measure.higher_is_better is not None:
        return unknown, unknown
    own = as_measured(ledger, measure, model)
    event, counts = own.events[0], [OutcomeCounts(0.0)] * groups
    correlated = correlated_cases(own, model, event)
    if own.dependence is None or correlated is not None:
        places = np.empty(0, dtype=np.intp) if correlated is None else own.entries()
        counts = counts_of_tables(own.keyed_tables(model, event), correlated, places)
    own_columns = [np.array(column)[entry] for column in zip(*counts, strict=True)]
    own_enough, rest_enough = (
        [OutcomeCounts(*row).enough(measure.key) for row in zip(*columns, strict=True)]
        for columns in (own_columns, [sums_of_others(column) for column in own_columns])
    )
    return [*own_enough], [one and other for one, other in zip(own_enough, rest_enough, strict=True)]


def _of_all_cases(
    ledger: Ledger, measure: Measure, overall: Floats, counts: GroupCounts, level: float, drawing: Drawing
) -> Iterator[tuple[Finding, bool]]:
    """Yield the value of all cases for each model; of a measure with an ideal value as `estimate` gives it."""
    events = None if counts.events is None else int(counts.events.sum())
    for model, value in zip(ledger.models, overall.tolist(), strict=True):
        if has_ideal(measure):
            row = judged(ledger, estimate_or_note(ledger, model, measure, level=level, drawing=drawing))
        else:
            row = Finding(measure=measure, model=model, value=value, level=level, n=ledger.n, events=events)
        yield row, False


def _adjusted(rows: Sequence[tuple[Finding, bool]]) -> list[Finding]:
    """Return rows with their verdicts, and p-values adjusted by Holm's method for each kind of row that has none yet.

    Rows of the family without a p-value count as 1.
    """
    found = [row for row, _ in rows]
    for against in (None, REST):
        places = [
            place
            for place, row in enumerate(found)
            if row.against == against and row.statistic == "value" and row.keys and math.isnan(row.p_adjusted)
        ]
        p_values = np.array([found[place].p for place in places])
        is_counted = np.array([rows[place][1] for place in places], dtype=np.bool_)
        adjusted = holm(np.where(np.isnan(p_values) & is_counted, 1.0, p_values))
        for place in np.flatnonzero(~np.isnan(p_values)).tolist():
            found[places[place]] = replace(found[places[place]], p_adjusted=float(adjusted[place]))
    return [with_verdict(row) for row in found]


def _tested(
    ledger: Ledger, measure: Measure, by: tuple[str, ...], entry: NDArray[np.intp], level: float
) -> GroupEstimates:
    """Return the means of groups and their differences from all other cases."""
    moments = measured_moments(ledger, measure)
    against = against_the_rest(moments, by)
    own, sides = _means(ledger, moments, measure, by, entry, level, against.factor)
    value, df = against.difference, against.df
    low, high = student(value, against.error, df, level)[2:4]
    p_value = against.p_value
    if sides is not None:
        imagined, degrees = sides.own.minus(sides.rest), np.inf if moments.dependence is None else df
        low, high = hull((low, high), imagined_limits(value, imagined, degrees, level))
        p_value = np.where(np.isnan(p_value), np.nan, np.fmax(p_value, imagined_p_value(value, imagined, degrees)))
    rest = Numbers(value, low, high, against.error, p_value, np.full(value.shape, "Welch's t", dtype=object))
    none = np.full(value.shape, None, dtype=object)
    return GroupEstimates(own, rest, none, none, moments.means[: len(ledger.models)])


def _means(
    ledger: Ledger,
    moments: Moments,
    measure: Measure,
    by: tuple[str, ...],
    entry: NDArray[np.intp],
    level: float,
    difference: Floats | float = 1.0,
) -> tuple[Numbers, Sides | None]:
    """Return the means of groups with their limits, of shape (groups, models), and what is imagined of them."""
    means = group_means(moments, by)
    both = np.broadcast_to(difference, means.factor.shape)
    sides = imagined_of_groups(ledger, measure, entry, means.factor, both)
    low, high = means.limits(level)
    if sides is not None:
        df = np.inf if moments.dependence is None else means.df
        limits = hull((low, high), imagined_limits(means.mean, sides.own, df, level))
        known = means.units[:, None] > 1
        low, high = (np.where(known, limit, np.nan) for limit in clipped(*limits, means.mean, measure, ledger.classes))
    untested, method = np.full(low.shape, np.nan), np.full(low.shape, STUDENT, dtype=object)
    return Numbers(means.mean + 0.0, low, high, means.error, untested, method), sides


def _beside(
    ledger: Ledger,
    measure: Measure,
    by: tuple[str, ...],
    counts: GroupCounts,
    thresholds: Thresholds | None,
    level: float,
    smallest: int,
) -> Iterator[tuple[Finding, bool]]:
    """Yield the other numbers of groups: calibration in the large, and the net benefit at the thresholds."""
    few = counts.too_few(counts.outcomes, smallest)
    for mean in (MeanScore(Excess()), *(() if thresholds is None else (NetBenefit(thresholds),))):
        if mean.key == measure.key:
            continue
        found, _ = _means(ledger, measured_moments(ledger, mean), mean, by, counts.entry, level)
        found = found.where(np.broadcast_to(is_free(few), found.value.shape))
        for column, model in enumerate(ledger.models):
            for place, facts in enumerate(facts_of_groups(counts, level)):
                notes = () if few[place, 0] is None else (few[place, 0],)
                yield Finding(measure=mean, model=model, **facts, **found.at((place, column)), notes=notes), False
