"""How far the truth may be from what a sample gives: intervals by formula where one is sound, else by drawing."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
from scipy.special import ndtri, stdtrit

from propriety.calibration.pav import pool_adjacent_violators
from propriety.calibration.recalibration import proper_binary_rule
from propriety.calibration.resampling import check_level, check_resamples, fresh_seed, quantiles
from propriety.errors import InputValueError, sentence
from propriety.inference.delong import area_influence, covariance_of, on_logit_scale
from propriety.inference.evidence import Evidence
from propriety.inference.measures import (
    AreaUnderRoc,
    Discrimination,
    MeanScore,
    Measure,
    Miscalibration,
    NetBenefit,
    Skill,
    read_measure,
    rule_of,
)
from propriety.inference.moments import LossMoments
from propriety.inference.samples import Sample, draws_for, overfits, resampled_tables
from propriety.inference.verdicts import ROUNDING
from propriety.results import Floats, Result
from propriety.rules.families import Brier
from propriety.rules.rule import Rule
from propriety.tables.validation import TOLERANCE, Labels, Missing

__all__ = ["Interval", "IntervalMethod", "interval", "interval_of_mean"]

IntervalMethod: TypeAlias = Literal["auto", "analytic", "bootstrap"]

BRIER = Brier()
UNDEFINED = 0.05  # Share of draws without a value beyond which there is no interval.
NO_SPREAD = "nothing varies in the sample: there is no spread to make an interval from"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Interval(Result):
    """A number, and the limits that hold the truth as often as the level says; see `interval`.

    Parameters
    ----------
    estimate : float
        The number in the sample.
    low, high : float
        Limits of the interval; NaN where the sample does not tell, and `note` says why.
    standard_error : float
        Standard error of the estimate; of a bootstrap, the standard deviation of the draws.
    bias : float, optional
        How much the estimate exceeds the truth on average; the interval is around the estimate less that.
    level : float
        Level of the interval.
    method : str
        How it was made.
    measure : str
        What it is of.
    higher_is_better : bool
        Whether more of it is better.
    n, dropped : int
        Number of cases, and of rows left out because of missing values.
    clusters : int, optional
        Number of clusters.
    n_resamples, seed : int, optional
        Number and seed of the draws, where there were any.
    note : str
        What to beware of; empty if nothing.
    """

    estimate: float
    low: float
    high: float
    standard_error: float
    bias: float | None = None
    level: float
    method: str
    measure: str
    higher_is_better: bool
    n: int
    clusters: int | None = None
    n_resamples: int | None = None
    seed: int | None = None
    note: str = ""
    dropped: int = 0

    def _facts(self) -> dict[str, Any]:
        shown = ("estimate", "low", "high", "level", "measure", "method", "n", "clusters", "note", "dropped")
        facts = {name: getattr(self, name) for name in shown}
        return {
            name: value for name, value in facts.items() if value not in (None, "") and (value or name != "dropped")
        }


def interval(  # noqa: PLR0913  (the data, what the interval is of, and how it is drawn)
    y_true: object,
    y_proba: object = None,
    *,
    of: object = BRIER,
    method: IntervalMethod = "auto",
    level: float = 0.95,
    cluster: object = None,
    n_resamples: int = 1000,
    seed: int | None = None,
    workers: int = 1,
    progress: bool = False,
    sample_weight: object = None,
    pos_label: object = None,
    labels: Labels | None = None,
    missing: Missing = "raise",
    tolerance: float = TOLERANCE,
) -> Interval:
    r"""Give a number of forecasts with an interval that holds the truth as often as it says.

    ``method="auto"`` takes a formula where there is a sound one:

    - a mean score, and net benefit: Student's t, not beyond the range of the rule, with the standard error of the mean,
      :math:`\frac{1}{W} \sqrt{\frac{G}{G - 1} \sum_g e_g^2}` with :math:`e_g = \sum_{i \in g} w_i (l_i - \bar l)` over
      the :math:`G` cases or clusters;
    - skill under a proper rule: the same of :math:`(l_i - (S / R)\, r_i) / R`, the delta method, with the mean losses
      S of the forecast and R of the constant rate; the error of the rate itself does not count, because the rate
      minimises R;
    - the area under the ROC curve: DeLong's error on the logit scale, see `delong`;
    - miscalibration and discrimination: the error of the mean difference between the losses of the forecast, or of
      the constant rate, and of the recalibrated forecast, around the value **less its bias**. Recalibration fits the
      noise of the sample, so that both parts are too large; by how much is learnt from outcomes that are drawn with
      the recalibrated forecasts as probabilities and recalibrated anew. How much these draws vary widens the
      interval, because close to zero the mean difference itself hardly does.

    Everything else, or all with ``method="bootstrap"``, gets the percentile interval of draws with replacement: of
    counts per forecast and outcome, or where there are weights or clusters, of cases or clusters.

    Parameters
    ----------
    y_true, y_proba, sample_weight, pos_label, labels, missing, tolerance
        As in `propriety.mean_score`. A ForecastTable without weights takes the place of binary predictions, unless
        there are clusters. Rows of classes have mean scores and skill.
    of : Rule, measure or callable
        What the interval is of: a rule for its mean score, `Skill`, `Miscalibration`, `Discrimination`,
        `NetBenefit`, `AreaUnderRoc`, `TopKNetBenefit`, or any function of a ForecastTable.
    method : {"auto", "analytic", "bootstrap"}
        A formula where there is one, a formula, or draws.
    level : float
        How often the interval is to hold the truth.
    cluster : array-like of shape (n,), optional
        Cluster (patient, site, day) within which cases may depend on each other.
    n_resamples, seed : int, optional
        Number and seed of the draws; without a seed one is made and kept with the result. Miscalibration and
        discrimination of tables with many rows take fewer, down to 20, which `method` says. Percentiles need
        :math:`2 / (1 - \text{level}) - 1` or more.
    workers : int
        Number of threads; the answer does not depend on it.
    progress : bool
        Whether to show a bar.

    Notes
    -----
    When not to trust it: intervals are too narrow where they rest on few events, non-events or clusters, which `note`
    says below 50 of the former and 40 of the latter. In `studies/intervals.py` 95% intervals by formula of scores,
    skill, net benefit and AUC held the truth in 93 to 97% of samples of 200 cases and more with as many events as
    non-events, with 20 clusters too. Where 2% of the cases are events, they did in 82 to 97% with 4 events, 92 to 96%
    with 20 and 93 to 97% from 50 on; in 20 clusters of 50 cases and more in 85 to 93%, least for skill and net benefit,
    and in 40 clusters in 91 to 95%.

    Intervals of miscalibration and discrimination held the truth in 92 to 100% with half events, from 200 cases on,
    with forecasts of many values or of three. They are wide where there is little to find: those of calibrated
    forecasts hold 0 in 98 to 100%. With 2% events an overconfident model had 98 and 99% with 4 events, 94 and 99% with
    20, 94 and 100% with 50, 91 and 97% with 200; the discrimination of three values 87, 91, 90 and 93%. Their bias is
    drawn as if cases were independent, in clusters too: in 20 of 500 cases discrimination had 90%, with 2% events 84%.
    Their percentile interval, ``method="bootstrap"``, is of no use: draws are recalibrated to their own noise on top of
    that of the sample, so that calibrated forecasts never seem to be.

    Where a bootstrap of a mean has many cases it draws counts for 1,024 cells of the loss; `method` says what share of
    the variance lies inside the cells and is drawn as normal noise.

    References
    ----------
    Efron & Tibshirani (1993), doi:10.1201/9780429246593; Cameron & Miller (2015), doi:10.3368/jhr.50.2.317, for
    clusters; DeLong, DeLong & Clarke-Pearson (1988), doi:10.2307/2531595.

    Examples
    --------
    >>> import propriety as pr
    >>> y, p = [0, 1, 0, 1, 1] * 20, [0.1, 0.3, 0.5, 0.7, 0.9] * 20
    >>> found = interval(y, p, of=pr.Brier())
    >>> round(found.low, 3), round(found.estimate, 3), round(found.high, 3), found.method
    (0.134, 0.17, 0.206, "Student's t")
    >>> interval(y, p, of=lambda table: table.event_rate, seed=1).method
    'percentile bootstrap of table cells'
    """
    measure = read_measure(of)
    check_level(level)
    check_resamples(n_resamples)
    if method not in get_args(IntervalMethod):
        raise InputValueError(sentence(f"method must be one of {get_args(IntervalMethod)}; got {method!r}"))
    options = {"sample_weight": sample_weight, "pos_label": pos_label, "labels": labels, "missing": missing}
    cases = Evidence.read(y_true, y_proba, cluster, options | {"tolerance": tolerance})
    drawing = _Drawing(n_resamples, fresh_seed(seed), workers, progress)
    by_formula = _has_formula(measure, cases.classes)
    if method == "analytic" and not by_formula:
        raise InputValueError(sentence(f"there is no formula for {measure.name}", hint='use method="bootstrap".'))
    if by_formula and method != "bootstrap":
        found = _by_formula(cases, measure, level, drawing)
    else:
        _check_percentiles(n_resamples, level)
        found = _by_bootstrap(cases, measure, level, drawing)
    return Interval(
        **found._asdict(),
        level=level,
        measure=measure.name,
        higher_is_better=measure.higher_is_better,
        n=cases.n,
        clusters=cases.clusters,
        dropped=cases.source.dropped,
    )


def interval_of_mean(
    moments: LossMoments, place: int, measure: Measure, *, level: float = 0.95, classes: int | None = None
) -> Interval:
    """Return Student's interval of a mean whose moments were made elsewhere: of the series at `place`.

    The moments do not know of how many `classes` the forecasts were; None is one event.

    Examples
    --------
    >>> from propriety.inference.moments import loss_moments
    >>> moments = loss_moments([0, 1, 0, 1, 1], {"a": [0.1, 0.7, 0.4, 0.9, 0.3]})
    >>> found = interval_of_mean(moments, 0, read_measure(Brier()))
    >>> round(found.estimate, 3), found.method
    (0.152, "Student's t")
    """
    check_level(level)
    rule, sign = _as_loss(measure)
    method = "Student's t" if moments.cluster is None else "Student's t, cluster-robust"
    error = float(moments.standard_errors()[place])
    found = _around(sign * float(moments.means[place]) + 0.0, error, moments.units, level, method)
    found = _within(found, rule, sign, classes)
    return Interval(
        **found._asdict(),
        level=level,
        measure=measure.name,
        higher_is_better=measure.higher_is_better,
        n=moments.cases,
        clusters=None if moments.cluster is None else moments.units,
        dropped=moments.dropped,
    )


class _Drawing(NamedTuple):
    """How draws are made."""

    n_resamples: int
    seed: int
    workers: int
    progress: bool


class _Found(NamedTuple):
    """What a method finds; see `Interval`."""

    estimate: float
    low: float
    high: float
    standard_error: float
    method: str
    note: str = ""
    bias: float | None = None
    n_resamples: int | None = None
    seed: int | None = None


def _positive(against: float) -> float:
    if not 0.0 < against < math.inf:
        law = f"the reference must have a positive, finite loss to be improved on; its mean is {against!r}"
        raise InputValueError(sentence(law, hint="y_true holds one class only?"))
    return against


def _check_percentiles(n_resamples: int, level: float) -> None:
    """Refuse so few draws that none is expected beyond either limit."""
    fewest = math.ceil(2.0 / (1.0 - level) - 1e-9) - 1
    if n_resamples < fewest:
        law = f"n_resamples must be at least {fewest:,} for percentiles at a level of {level:g}; got {n_resamples:,}"
        raise InputValueError(sentence(law))


def _has_formula(measure: Measure, classes: int | None) -> bool:
    if isinstance(measure, Skill):
        # The rates minimise the mean loss of a constant forecast, as the formula supposes, if the rule is proper.
        return bool(measure.rule.properties(classes).proper)
    return isinstance(measure, MeanScore | NetBenefit | AreaUnderRoc | Miscalibration | Discrimination)


def _by_formula(cases: Evidence, measure: Measure, level: float, drawing: _Drawing) -> _Found:
    if isinstance(measure, AreaUnderRoc):
        return _of_area(cases, cases.sample(measure), level)
    if isinstance(measure, Miscalibration | Discrimination):
        return _of_part(cases, cases.sample(measure), measure, level, drawing)
    method = "Student's t" if cases.keys is None else "Student's t, cluster-robust"
    if isinstance(measure, Skill):
        losses, constant = (cases.losses(measure.rule, constant=constant) for constant in (False, True))
        against = _positive(cases.units(constant).mean)
        ratio = cases.units(losses).mean / against
        with np.errstate(invalid="ignore"):  # Of an infinite mean.
            units = cases.units((losses - ratio * constant) / against)
        return _around(1.0 - ratio, units.standard_error, units.number, level, f"delta method, {method}", cases.few())
    rule, sign = _as_loss(measure)
    units = cases.units(cases.losses(rule))
    found = _around(sign * units.mean + 0.0, units.standard_error, units.number, level, method, cases.few())
    return _within(found, rule, sign, cases.classes)


def _as_loss(measure: Measure) -> tuple[Rule, float]:
    """Return the rule whose mean is the measure, and the sign of it."""
    rule = rule_of(measure)
    assert rule is not None  # noqa: S101  (for the type checker; it is asked of means only)
    return rule, -1.0 if isinstance(measure, NetBenefit) else 1.0


def _around(estimate: float, error: float, units: int, level: float, method: str, note: str = "") -> _Found:
    """Make Student's interval; there is none of an infinite mean, of one case, or where nothing varies."""
    if math.isinf(estimate):
        nan = math.nan
        return _Found(estimate, nan, nan, nan, method, "what was called impossible happened: the mean is infinite")
    if units == 1:
        return _Found(estimate, math.nan, math.nan, math.nan, method, "a single case or cluster has no spread")
    if error * math.sqrt(units) <= ROUNDING * abs(estimate):
        return _Found(estimate, math.nan, math.nan, 0.0, method, NO_SPREAD)
    margin = float(stdtrit(units - 1, (1.0 + level) / 2.0)) * error
    return _Found(estimate, estimate - margin, estimate + margin, error, method, note)


def _within(found: _Found, rule: Rule, sign: float, classes: int | None) -> _Found:
    """Keep the limits of a mean in the range that the rule declares; the mean of a rule that strays stays inside."""
    claims = rule.properties(classes)
    if claims.best is None or claims.worst is None:
        return found
    least, most = sorted((sign * claims.best, sign * claims.worst))
    low, high = (limit if math.isnan(limit) else min(max(limit, least), most) for limit in (found.low, found.high))
    return found._replace(low=min(low, found.estimate), high=max(high, found.estimate))


def _of_area(cases: Evidence, sample: Sample, level: float) -> _Found:
    area, influence = area_influence(sample)
    variance = covariance_of(influence[None], sample.event, sample.codes, sample.count)[0, 0]
    error = float(np.sqrt(variance))
    low, high = on_logit_scale(area, error, level, cases.clusters)
    method = "DeLong, on the logit scale" + (", cluster-robust" if cases.keys else "")
    note = cases.few()
    if math.isnan(low):
        note = "a single event, non-event or cluster has no spread"
        note = note if math.isnan(error) else "events and non-events do not overlap"
    return _Found(area, low, high, error, method, note)


def _of_part(
    cases: Evidence, sample: Sample, measure: Miscalibration | Discrimination, level: float, drawing: _Drawing
) -> _Found:
    """Take the error of a mean difference of losses, around the value less its bias; no part is below zero."""
    rule = proper_binary_rule(measure.rule)
    table = sample.table
    estimate = measure.of(table)
    method = "normal, cluster-robust" if cases.keys else "normal"
    method += ", around the estimate less its bias in draws of outcomes at the recalibrated rates"
    if math.isinf(estimate) or 1 in (table.n, cases.clusters):
        return _around(estimate, math.nan, 1, level, method)
    recalibrated = pool_adjacent_violators(table).per_row()
    given = table.forecast if isinstance(measure, Miscalibration) else np.full(len(table), table.event_rate)
    error = sample.units(sample.losses(rule, given) - sample.losses(rule, recalibrated)).standard_error
    draws = draws_for(drawing.n_resamples, len(table))
    if draws < drawing.n_resamples:
        drawing, method = drawing._replace(n_resamples=draws), f"{method}, {draws:,} of them for {len(table):,} rows"
    overfit = overfits(sample, rule, recalibrated, **drawing._asdict())
    bias = float(overfit.mean())
    # Next to zero the mean difference hardly varies and what recalibration fits of the noise does: both count.
    margin = float(ndtri((1.0 + level) / 2.0)) * math.hypot(error, float(overfit.std()))
    low, high = (max(estimate - bias + side * margin, 0.0) for side in (-1.0, 1.0))
    told = [cases.few()]
    if estimate > high:
        told.append("chance alone adds to the estimate, and the limits are those without it")
    note = "; ".join(filter(None, told))
    if margin <= ROUNDING * estimate:
        low, high, note = math.nan, math.nan, NO_SPREAD
    return _Found(estimate, low, high, error, method, note, bias, n_resamples=drawing.n_resamples, seed=drawing.seed)


def _by_bootstrap(cases: Evidence, measure: Measure, level: float, drawing: _Drawing) -> _Found:
    what = "clusters" if cases.keys else "cases"
    method = f"percentile bootstrap of {what}"
    if isinstance(measure, MeanScore | NetBenefit):
        rule, sign = _as_loss(measure)
        units = cases.units(cases.losses(rule))
        by_formula = _around(sign * units.mean + 0.0, units.standard_error, units.number, level, method)
        if math.isnan(by_formula.low):
            return by_formula
        units = units.in_cells()
        if units.noise is not None:
            method += (
                f", in {len(units.count):,} cells of the loss with {units.share_inside:.1g} of its variance inside"
            )
        estimate, draws = sign * units.mean + 0.0, sign * units.resampled(**drawing._asdict())
    else:
        sample = cases.sample(measure)
        if cases.keys is None and not sample.table.is_weighted:
            method = "percentile bootstrap of table cells"
        if 1 in (cases.n, cases.clusters):
            return _around(measure.of(sample.table), math.nan, 1, level, method)
        estimate, draws = measure.of(sample.table), resampled_tables(sample, measure.of, **drawing._asdict())
    return _percentiles(estimate, draws, level, method, cases, drawing)


def _percentiles(
    estimate: float, draws: Floats, level: float, method: str, cases: Evidence, drawing: _Drawing
) -> _Found:
    if math.isinf(estimate):
        return _around(estimate, math.nan, len(draws), level, method, cases.few())
    defined = draws[~np.isnan(draws)]
    lost, note = len(draws) - len(defined), cases.few()
    if lost > UNDEFINED * len(draws) or math.isnan(estimate):
        low = high = error = math.nan
        note = f"{lost:,} of {len(draws):,} draws have no value"
    elif defined.min() == defined.max():
        low, high, error, note = math.nan, math.nan, 0.0, NO_SPREAD
    else:
        outside = (1.0 - level) / 2.0
        with np.errstate(invalid="ignore"):  # Of infinite draws.
            low, high = (float(limit[0]) for limit in quantiles(defined[:, None], (outside, 1.0 - outside)))
        error = float(defined.std(ddof=1)) if len(defined) > 1 and np.isfinite(defined).all() else math.nan
        method += f"; {lost:,} of {len(draws):,} draws have no value" if lost else ""
    return _Found(estimate, low, high, error, method, note, n_resamples=drawing.n_resamples, seed=drawing.seed)
