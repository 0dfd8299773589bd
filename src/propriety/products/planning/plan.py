"""Planning a study: how many cases it needs for precise estimates, for a comparison, or to find miscalibration."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

from propriety import checks
from propriety.checks import check_level, check_resamples, fresh_seed, is_number
from propriety.errors import InputTypeError, InputValueError, Wording
from propriety.inference.bootstrap import Drawing
from propriety.inference.comparison import compare_of
from propriety.inference.finding_words import notes_of
from propriety.inference.measures.measure import Measure
from propriety.inference.measures.reading import AnyMeasure, read_measure
from propriety.ledger.ledger import Ledger
from propriety.products.planning.inputs import KnownCases, read_widths
from propriety.products.planning.power import (
    PlannedPower,
    calibration_power,
    difference_power,
    is_beyond,
    spread_power,
)
from propriety.products.planning.precision import PlanMethod, planned_width
from propriety.products.planning.words import BEYOND, PILOT, plan_words
from propriety.result import Floats, Names, Result
from propriety.rules.families import BRIER
from propriety.rules.weights import read_thresholds

RESAMPLES = 2000
CALIBRATION = "calibration_test"
FEWEST = 2.0  # No plan has fewer cases.
MOST = 1e12  # More cases than this count as impossible.


class Criterion(NamedTuple):
    """One requirement of a study: a function of the number of cases, and the value that it must reach."""

    key: str
    label: str
    kind: str
    goal: float
    value: float
    method: str
    reached: Callable[[float], float]
    size: float
    rate: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Plan(Result):
    """Number of cases that a study needs, one row per criterion; see `plan`. `str` gives it in plain words.

    Parameters
    ----------
    criterion, label : ndarray of shape (criteria,)
        Short name of each criterion, and its name in words.
    kind : ndarray of shape (criteria,)
        "width" of a confidence interval, or "power" of a test.
    goal : ndarray of shape (criteria,)
        The largest width, or the smallest power.
    value : ndarray of shape (criteria,)
        Anticipated value of the measure, or difference between the models; NaN for the calibration test.
    n, events : ndarray of shape (criteria,)
        Number of cases, and of events among them, with which the goal is reached; infinite if none reaches it.
    method : ndarray of shape (criteria,)
        How the number was computed.
    required, required_events : float
        The largest number of cases, which meets every criterion, and the events among them.
    binding : str
        The criterion that needs this number.
    prevalence : float
        Anticipated share of events; if the calibration test needs the most cases, that of the stated miscalibration.
    level, share, design_effect : float
        Level of intervals and tests, share of the cases in the subgroup that must meet the criteria, and factor by
        which clusters increase the number of cases.
    note : str
        Warnings.
    n_resamples, seed : int, optional
        Number and seed of the simulated samples, if any.
    """

    main_columns: ClassVar[tuple[str, ...]] = ("label", "kind", "goal", "value", "n", "events")
    facts: ClassVar[tuple[str, ...]] = ("required", "required_events", "binding")

    criterion: Names
    label: Names
    kind: Names
    goal: Floats
    value: Floats
    n: Floats
    events: Floats
    method: Names
    required: float
    required_events: float
    binding: str
    prevalence: float
    level: float
    share: float = 1.0
    design_effect: float = 1.0
    note: str = ""
    n_resamples: int | None = None
    seed: int | None = None
    curves: tuple[Callable[[float], float], ...] = field(metadata={"hidden": True})

    def at(self, n: float) -> dict[str, float]:
        """Return the width or power of each criterion in a study of n cases.

        Examples
        --------
        >>> from propriety.products.planning.plan import plan
        >>> found = plan(prevalence=0.1, auc=0.8).at(1000)
        >>> {criterion: round(width, 3) for criterion, width in found.items()}
        {'observed_expected': 0.344, 'calibration_slope': 0.41, 'auc': 0.09}
        """
        checks.number(n, "n", above=0.0)
        own = n * self.share / self.design_effect
        return {key: curve(own) for key, curve in zip(self.criterion.tolist(), self.curves, strict=True)}

    def __str__(self) -> str:
        """Return the plan in plain words."""
        return "\n".join(plan_words(self))


def plan(  # noqa: PLR0913  (the anticipated cases, the criteria, and the design of the study)
    forecasts: ArrayLike | Mapping[str, ArrayLike] | Ledger | None = None,
    *,
    prevalence: float | None = None,
    auc: float | None = None,
    widths: Mapping[Any, float] | None = None,
    thresholds: float | None = None,
    slope: float | None = None,
    observed_expected: float | None = None,
    measure: AnyMeasure = BRIER,
    difference: float | None = None,
    spread: float | None = None,
    power: float = 0.8,
    level: float = 0.95,
    share: float = 1.0,
    cluster_size: float = 1.0,
    icc: float | None = None,
    method: PlanMethod = "influence",
    n_resamples: int = RESAMPLES,
    seed: int | None = None,
) -> Plan:
    r"""Compute how many cases a study needs.

    The study may estimate measures of one model (`widths`), test whether its forecasts are calibrated (`slope`,
    `observed_expected`), or compare two models (`measure`). The largest number of cases meets all criteria. The best
    basis is **forecasts without outcomes**: a few thousand predictions for the population in which the model will be
    used.

    Parameters
    ----------
    forecasts : array-like of shape (n,), mapping of two of these, or Ledger, optional
        Forecasts without outcomes, of one model, or of two for the same cases, the first of which is taken as
        calibrated, also given the second. Of a ledger, the event rates are used.
    prevalence, auc : float, optional
        Anticipated share of events, to which the log-odds of forecasts are shifted. Without forecasts, also the area
        under the ROC curve, above 0.5; the log-odds of events and of non-events are then normal and calibrated.
    widths : mapping of str, Measure or Rule to float, optional
        Largest widths of intervals, by measure or ``"observed_expected"``, ``"calibration_slope"``, ``"auc"`` and
        ``"standardized_net_benefit"``: by default 0.2, 0.2, 0.1 and, with `thresholds`, 0.2; none with another
        criterion.
    thresholds : float, optional
        The probability at which somebody would act.
    slope, observed_expected : float, optional
        True calibration slope and observed/expected that the calibration test should detect with the given power.
    measure : Rule or measure
        With two models, or with `difference`: what to compare; a mean, or a measure with an influence function.
    difference, spread : float, optional
        True difference to detect, and standard deviation of the difference between the losses in one case.
    power, level : float in (0, 1)
        Probability that a test should detect what it is planned for; level of intervals, with tests at 1 - level.
    share : float in (0, 1]
        Share of the cases in the smallest subgroup for which all criteria should hold.
    cluster_size, icc : float, optional
        Mean number of cases per cluster and intraclass correlation: the design effect is 1 + (cluster_size - 1) icc.
    method : {"influence", "riley"}
        Plan the intervals of `propriety.estimate`, or those of Riley et al.
    n_resamples, seed : int
        Number and seed of the simulated samples, for the calibration test and for comparisons with few events.

    Notes
    -----
    Labelled pilots with few events give a poor estimate of the difference, and so of the power. Unlabelled forecasts do
    not, but assume that the second model adds no information. Formulas and simulations: `docs/reference/methods.md`.

    References
    ----------
    Riley et al. (2021), doi:10.1002/sim.9025; Archer et al. (2021), doi:10.1002/sim.8766.

    Examples
    --------
    >>> found = plan(prevalence=0.1, auc=0.8, thresholds=0.1)
    >>> print(found)
    A study needs 4,196 cases with about 420 events.
    - Observed/expected: 95% CI of width 0.2 around 1 with 2,947 cases (295 events).
    - Calibration slope: 95% CI of width 0.2 around 1 with 4,196 cases (420 events); this needs the most.
    - Area under the ROC curve: 95% CI of width 0.1 around 0.8 with 806 cases (81 events).
    - Standardized net benefit at 0.1: 95% CI of width 0.2 around 0.448 with 1,179 cases (118 events).
    """
    _check(power=power, level=level, share=share, cluster_size=cluster_size, icc=icc, method=method)
    check_resamples(n_resamples)
    threshold = _threshold(thresholds)
    seed = fresh_seed(seed)
    known = KnownCases.read(forecasts, prevalence, auc, needed=spread is None or difference is None)
    asked = read_measure(measure)
    paired = difference is not None or spread is not None or known.n_models == 2
    tested = slope is not None or observed_expected is not None
    if asked != read_measure(BRIER) and not paired:
        hint = Wording("pass the forecasts of two models, or {difference=} and {spread=}.")
        raise InputValueError("is for a comparison of two models", argument="measure", hint=hint)
    wanted = read_widths(widths, threshold, default=not (paired or tested))
    criteria = []
    for one, width in wanted.items():
        reached = planned_width(known.single(), one, level, method)
        how = "Riley et al." if method == "riley" else "influence"
        size = _smallest(reached, width)
        criteria.append(Criterion(one.key, one.label, "width", width, reached.value, how, reached, size, known.rate))
    drawing: dict[str, Any] = {"level": level, "power": power, "draws": n_resamples, "seed": seed}
    if tested:
        cases = known.single()
        truth = cases.miscalibrated(*_miscalibration(slope, observed_expected))
        found = calibration_power(cases, truth, **drawing)
        label = _tested_label(slope, observed_expected)
        size, rate = found.cases(power), truth.prevalence
        criteria.append(Criterion(CALIBRATION, label, "power", power, math.nan, "simulated", found, size, rate))
    notes = known.notes(clusters=cluster_size > 1.0) if wanted or tested else []
    if paired:
        if cluster_size > 1.0 and spread is None:
            known.check_clusters()
        value, curve, how, warning = _compared(known, asked, difference, spread, drawing)
        notes.append(warning)
        size, label = curve.cases(power), f"difference in {asked.label}"
        key = f"{asked.key}_difference"
        criteria.append(Criterion(key, label, "power", power, value, how, curve, size, known.rate))
    if not criteria:
        raise InputValueError("must name a measure", argument="widths", hint="pass {'auc': 0.1}, or leave it out.")
    factor = (1.0 + (cluster_size - 1.0) * (icc or 0.0)) / share
    simulated = any(one.method == "simulated" for one in criteria)
    return _plan(criteria, factor, share, level, notes, (n_resamples, seed) if simulated else (None, None))


def _compared(
    known: KnownCases, measure: Measure, difference: float | None, spread: float | None, drawing: Mapping[str, Any]
) -> tuple[float, PlannedPower, str, str]:
    """Return the difference to detect, the power of the comparison, how it was computed, and a warning."""
    for name, value in (("difference", difference), ("spread", spread)):
        if value is not None and not (is_number(value) and value != 0.0 and math.isfinite(value)):
            raise InputValueError("must be a number other than 0", argument=name, got=value)
    if spread is not None and spread < 0.0:
        raise InputValueError("must be positive", argument="spread", got=spread)
    if difference is not None and spread is not None:
        return difference, spread_power(difference, spread, drawing["level"]), "normal", ""
    known.check_compared()
    if known.pilot is not None:
        draws = Drawing(999, drawing["seed"])
        pair = compare_of(known.pilot, measure, level=drawing["level"], drawing=draws).differences[0]
        if not pair.error > 0.0:
            why = "has no standard error of the difference, so its spread is not known"
            raise InputValueError(why, argument="forecasts", hint=notes_of(pair))
        own = pair.error * math.sqrt(known.pilot.n) if spread is None else spread
        value = pair.value if difference is None else difference
        table = known.pilot.table(known.pilot.models[0])
        rare = min(table.n_events, table.n - table.n_events)
        warning = "" if difference is not None else PILOT.format(events=rare, low=pair.low, high=pair.high)
        if value == 0.0:
            return value, PlannedPower(0.0, spread_power(1.0, own, drawing["level"]).critical), "pilot", warning
        return value, spread_power(value, own, drawing["level"]), "pilot", warning
    assert known.cases is not None  # noqa: S101  (for the type checker; there are two models)
    value, own, curve, how = difference_power(known.cases, measure, difference=difference, spread=spread, **drawing)
    given = difference is not None or spread is not None
    few = given and is_beyond(known.cases, measure, value, own, curve.cases(drawing["power"]))
    return value, curve, how, BEYOND if few else ""


def _plan(
    criteria: list[Criterion],
    factor: float,
    share: float,
    level: float,
    notes: list[str],
    draws: tuple[int | None, int | None],
) -> Plan:
    """Return the plan; a subgroup and clusters multiply the number of cases by `factor`."""
    n = np.array([max(one.size, FEWEST) * factor for one in criteria])
    n = np.where(n < MOST, np.ceil(n - 1e-9), np.inf)
    most = int(np.argmax(n))
    if any(one.kind == "power" and math.isinf(one.size) for one in criteria):
        notes.append("No number of cases reaches the power of a test: there is nothing to detect.")
    elif math.isinf(n[most]):
        notes.append(f"A criterion needs more than {MOST:,.0f} cases.")
    events = np.ceil(n * np.array([one.rate for one in criteria]) - 1e-9)
    return Plan(
        criterion=np.array([one.key for one in criteria], dtype=object),
        label=np.array([one.label for one in criteria], dtype=object),
        kind=np.array([one.kind for one in criteria], dtype=object),
        goal=np.array([one.goal for one in criteria]),
        value=np.array([one.value for one in criteria]),
        n=n,
        events=events,
        method=np.array([one.method for one in criteria], dtype=object),
        required=float(n[most]),
        required_events=float(events[most]),
        binding=criteria[most].key,
        prevalence=criteria[most].rate,
        level=level,
        share=share,
        design_effect=factor * share,
        note=" ".join(filter(None, notes)),
        n_resamples=draws[0],
        seed=draws[1],
        curves=tuple(one.reached for one in criteria),
    )


def _smallest(reached: Callable[[float], float], width: float) -> float:
    """Return the smallest whole number of cases with which an interval is no wider than requested."""
    low, high = 1, 2
    while reached(high) > width:
        low, high = high, 2 * high
        if high > MOST:
            return math.inf
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if reached(middle) > width else (low, middle)
    return float(high)


def _miscalibration(slope: float | None, ratio: float | None) -> tuple[float, float]:
    for name, value in (("slope", slope), ("observed_expected", ratio)):
        if value is not None:
            checks.number(value, name, above=0.0, below=math.inf)
    return 1.0 if slope is None else slope, 1.0 if ratio is None else ratio


def _tested_label(slope: float | None, ratio: float | None) -> str:
    parts = [f"calibration slope {slope:g}"] if slope is not None else []
    parts += [f"observed/expected {ratio:g}"] if ratio is not None else []
    return f"calibration test, true {' and '.join(parts)}"


def _threshold(thresholds: float | None) -> float | None:
    found = read_thresholds(thresholds)
    if isinstance(found, tuple):
        raise InputTypeError("must be one probability", argument="thresholds", got=thresholds)
    return found


def _check(*, power: float, level: float, share: float, cluster_size: float, icc: float | None, method: str) -> None:
    checks.number(power, "power", above=0.0, below=1.0)
    check_level(level)
    checks.choice(method, "method", get_args(PlanMethod))
    checks.number(share, "share", above=0.0, most=1.0)
    checks.number(cluster_size, "cluster_size", least=1.0, below=math.inf)
    if icc is None:
        if cluster_size > 1.0:
            law = Wording("{cluster_size=} needs {icc=}, the intraclass correlation of the cases of a cluster")
            raise InputValueError(law)
        return
    checks.number(icc, "icc", least=0.0, most=1.0)
    if icc > 0.0 and cluster_size == 1.0:
        raise InputValueError(Wording("{icc=} needs {cluster_size=}, the mean number of cases per cluster"))
