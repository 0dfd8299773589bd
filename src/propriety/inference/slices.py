"""Measures, calibration and net benefit of forecasts in groups, with tests of differences between groups."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propriety import checks
from propriety.calibration.decomposition import miscalibrations, proper_binary_rule
from propriety.checks import check_level, fresh_seed
from propriety.errors import InputValueError, Wording
from propriety.inference.answers_ledger import as_measured
from propriety.inference.bootstrap import Drawing
from propriety.inference.estimates import censoring_note
from propriety.inference.estimation import check_event
from propriety.inference.group_counts import FEW_OTHERS, approximate, counts_of_groups, others_of
from propriety.inference.group_tests import against_the_rest, group_means
from propriety.inference.imagined_groups import Sides, imagined_of_groups
from propriety.inference.limits import hull, imagined_limits, imagined_p_value
from propriety.inference.mean_estimates import clipped, measured_moments
from propriety.inference.measures.measure import Measure
from propriety.inference.measures.of_means import MeanScore, NetBenefit
from propriety.inference.measures.parts import IntegratedCalibrationIndex
from propriety.inference.measures.reading import AnyMeasure, read_measure
from propriety.inference.part_estimates import ONLY_INDEPENDENT
from propriety.inference.slice_estimates import count_answers, estimate_groups
from propriety.inference.slice_table import INFINITE, Slices, group_names, holm_in_family, stacked_slices
from propriety.inference.verdicts import Names
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
) -> Slices:
    r"""Evaluate forecasts in every group: a measure, calibration and net benefit, with intervals and a test.

    The mean score of a group, :math:`\bar l_g`, is tested against that of all other cases, :math:`\bar l_r`, by Welch's
    statistic, with the standard errors :math:`s` of the two means,

    .. math:: t = \frac{\bar l_g - \bar l_r}{\sqrt{s_g^2 + s_r^2}} .

    Other measures are tested by their values and errors in the same way, and groups that share clusters or periods by
    the error of the difference itself. Holm's adjustment keeps the probability of any false alarm among all rows at or
    below one minus the level.

    Parameters
    ----------
    y_true, forecasts, outcome, sample_weight, pos_label, labels, missing, time
        The cases, or what describes them; see `propriety.cases`. A ledger replaces all data.
    measure : Rule, measure or callable
        What to compute: a rule for its mean score, a measure, or any function of a ForecastTable.
    by : array-like of shape (n,), or mapping of str to such; with a frame, cases or a ledger str or list of str
        Group of each case. Several keys are combined. The rows are in the order of the labels, or of the categories if
        these are ordered. For cases or a ledger, by default all of their keys.
    thresholds : float or (float, float), optional
        The probability at which somebody would act, or its range, for the net benefit.
    level : float
        Level of the intervals.
    smallest : int
        A group with fewer cases, or with fewer than 10 events, non-events or clusters, has its value and a note, but
        neither interval nor test. Nor has one with an effective number of clusters below 8, or of weighted cases below
        20.
    cluster, period : array-like of shape (n,), or str with a frame, optional
        Cluster within which cases may be correlated; or period, whose cases, also of neighbouring ones, may be
        correlated.
    n_resamples, seed : int, optional
        Number and seed of the draws, for measures without a formula.

    Notes
    -----
    A group with another event rate has another mean score even if it is forecast equally well, because a rare event is
    easy to forecast. Look at `excess` and `net_benefit` as well before concluding that forecasts are poor for a group.
    Groups found by searching for differences need another sample for confirmation. With few events or clusters the test
    may reject slightly too often, which `note` reports. Formulas, limits and simulations: `docs/reference/methods.md`.

    References
    ----------
    Welch (1947), doi:10.1093/biomet/34.1-2.28; Holm (1979), jstor:4615733; Van Calster et al. (2019),
    doi:10.1186/s12916-019-1466-7, for calibration in the large.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> p = rng.random(600)
    >>> site = rng.choice(["north", "south", "west"], 600, p=[0.5, 0.45, 0.05])
    >>> found = slices(rng.random(600) < p, p, by=site, thresholds=0.3)
    >>> found.group.tolist(), found.n.tolist()
    (['north', 'south', 'west'], [289, 270, 41])
    >>> found.note.tolist()[2]
    'too few to test: 41 cases'
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
    return slices_of(ledger, asked, by=names, thresholds=thresholds, level=level, smallest=smallest, drawing=drawing)


def slices_of(
    ledger: Ledger,
    measure: Measure,
    *,
    by: tuple[str, ...],
    thresholds: Thresholds | None = None,
    level: float = 0.95,
    smallest: int = SMALLEST,
    drawing: Drawing,
) -> Slices:
    """Evaluate the groups of a ledger; see `slices`."""
    check_event(as_measured(ledger, measure, ledger.models[0]), measure)
    checks.whole(smallest, "smallest", least=1)
    ledger = ledger.over(*(name for name in ledger.index.names if name not in by))
    binary = ledger.labels is None
    ledger.fill(rules_of_slices(measure, thresholds, binary=binary))
    counts = counts_of_groups(ledger, measure, by)
    outcomes = counts.outcomes
    few = by_outcome = counts.too_few(outcomes, smallest)
    if measure.of_answers:
        outcomes = {name: number[counts.entry] for name, number in count_answers(ledger, measure).items()}
        few = counts.too_few(outcomes, smallest)
    if measure.sign is not None:
        moments = measured_moments(ledger, measure)
        value, low, high, difference, p_value = _tested(ledger, moments, measure, by, counts.entry, level)
        overall, why = moments.means[: len(ledger.models)], np.full(value.shape, "", dtype=object)
    else:
        untested = np.empty((len(few), len(ledger.models)), dtype=bool)
        untested[counts.entry] = few != ""
        found = estimate_groups(ledger, measure, untested, level, drawing)
        value, low, high, difference, p_value = (column[counts.entry] for column in found[:5])
        overall, why = found.overall, found.note[counts.entry]
    notes = np.where((few == "") & np.isinf(value), INFINITE, few)
    known = notes == ""
    columns: dict[str, Any] = {"value": value, "low": np.where(known, low, np.nan)}
    columns |= {"high": np.where(known, high, np.nan), "difference": difference}
    if len(counts.index) > 1:  # A single group has no rest.
        notes = np.where(known, counts.rest.too_few(others_of(outcomes), smallest, FEW_OTHERS), notes)
    # Groups left out because of their outcomes count as well: those that are tested have many events by selection.
    large = counts.too_few({}, smallest) == ""
    large &= (len(counts.index) == 1) | (counts.rest.too_few({}, smallest) == "")
    p_value = np.where(notes == "", p_value, np.nan)
    notes = np.where(np.isfinite(p_value), approximate(outcomes, few.shape), notes)
    if of_weights := censoring_note(ledger):
        both = [[f"{one}; {of_weights}" if one else of_weights for one in row] for row in notes.tolist()]
        notes = np.where(np.isfinite(p_value), np.array(both), notes)
    if measure == IntegratedCalibrationIndex() and ledger.dependence is not None:
        why[:] = ONLY_INDEPENDENT
    notes = np.where(notes == "", why.astype(np.str_), notes)
    columns |= {"p_value": p_value, "note": notes, "in_family": np.broadcast_to(large, p_value.shape)}
    if binary:
        columns |= _beside(ledger, by, counts.entry, thresholds, level, by_outcome)
        columns["miscalibration"] = _miscalibrations(ledger, measure, by_outcome[:, 0], counts.entry)
    flat = {name: column.T.ravel() for name, column in columns.items()}
    models, groups = len(ledger.models), len(counts.index)
    optional: dict[str, Any] = dict.fromkeys(("excess", "excess_low", "excess_high", "miscalibration"))
    optional |= dict.fromkeys(("net_benefit", "net_benefit_low", "net_benefit_high"))
    return Slices(
        **(optional | flat),
        model=np.repeat(np.array(ledger.models), groups),
        group=np.tile(group_names(counts.index), models),
        n=np.tile(counts.n, models),
        events=None if counts.events is None else np.tile(counts.events, models),
        event_rate=None if counts.event_rate is None else np.tile(counts.event_rate, models),
        p_adjusted=holm_in_family(flat["p_value"], flat["in_family"]),
        overall=dict(zip(ledger.models, overall.tolist(), strict=True)),
        by=by,
        measure=measure,
        thresholds=thresholds,
        level=level,
        units=counts.all_units,
        dropped=ledger.dropped,
    )


def slices_by_key(ledger: Ledger, measure: Measure, **options: Any) -> Slices:
    """Evaluate the groups of each key of a ledger in turn; see `slices_of` for the options."""
    parts = [slices_of(ledger, measure, by=(name,), **options) for name in ledger.index.names]
    return parts[0] if len(parts) == 1 else stacked_slices(parts)


def rules_of_slices(measure: Measure, thresholds: Thresholds | None, *, binary: bool) -> list[Rule]:
    """Return the functions whose moments are needed for groups."""
    rules = list(measure.filled)
    if not binary:
        return rules
    return [*rules, Excess(), *([] if thresholds is None else [NetBenefit(thresholds).rule])]


def _tested(
    ledger: Ledger, moments: Moments, measure: Measure, by: tuple[str, ...], entry: NDArray[np.intp], level: float
) -> tuple[Floats, ...]:
    """Return the means of groups, their limits, the differences from all other cases and their p-values."""
    against = against_the_rest(moments, by)
    value, low, high, sides = _means(ledger, moments, measure, by, entry, level, against.factor)
    p_value = against.p_value
    if sides is not None:
        df = np.inf if moments.dependence is None else against.df
        imagined = imagined_p_value(against.difference, sides.own.minus(sides.rest), df)
        p_value = np.where(np.isnan(p_value), np.nan, np.fmax(p_value, imagined))
    return value, low, high, against.difference, p_value


def _means(
    ledger: Ledger,
    moments: Moments,
    measure: Measure,
    by: tuple[str, ...],
    entry: NDArray[np.intp],
    level: float,
    difference: Floats | float = 1.0,
) -> tuple[Floats, Floats, Floats, Sides | None]:
    """Return the means of groups and their limits, of shape (groups, models), and what is imagined of them."""
    means = group_means(moments, by)
    both = np.broadcast_to(difference, means.factor.shape)
    sides = imagined_of_groups(ledger, measure, entry, means.factor, both)
    limits = means.limits(level)
    if sides is None:
        return means.mean, *limits, None
    df = np.inf if moments.dependence is None else means.df
    low, high = hull(limits, imagined_limits(means.mean, sides.own, df, level))
    known = means.units[:, None] > 1
    low, high = clipped(low, high, means.mean, measure, ledger.classes)
    return means.mean, np.where(known, low, np.nan), np.where(known, high, np.nan), sides


def _beside(
    ledger: Ledger,
    by: tuple[str, ...],
    entry: NDArray[np.intp],
    thresholds: Thresholds | None,
    level: float,
    few: Names,
) -> dict[str, Floats]:
    """Return the other numbers of groups: calibration, and the net benefit at the thresholds."""
    untested = few != ""
    columns: dict[str, Floats] = {}
    wanted = [("excess", MeanScore(Excess()))]
    if thresholds is not None:
        wanted.append(("net_benefit", NetBenefit(thresholds)))  # type: ignore[arg-type]  # a mean, too
    for name, mean in wanted:
        value, low, high, _ = _means(ledger, measured_moments(ledger, mean), mean, by, entry, level)
        columns |= {name: value + 0.0, f"{name}_low": np.where(untested, np.nan, low)}
        columns |= {f"{name}_high": np.where(untested, np.nan, high)}
    return columns


def _miscalibrations(ledger: Ledger, measure: Measure, few: Names, entry: NDArray[np.intp]) -> Floats:
    """Return the miscalibration in each tested group; NaN for a rule that is not declared proper."""
    rule = measure.rule if isinstance(measure, MeanScore) else BRIER
    found = np.full((len(few), len(ledger.models)), math.nan)
    if not rule.properties().proper:
        return found
    tested, binary = few == "", proper_binary_rule(rule)
    for column, model in enumerate(ledger.models):
        keyed = ledger.keyed_tables(model, ledger.events[0])
        by_entry = miscalibrations(binary, keyed.entry, keyed.forecast, keyed.events, keyed.non_events)
        found[tested, column] = by_entry[entry[tested]]
    return found
