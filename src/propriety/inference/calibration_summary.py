"""Summary of the calibration of forecasts: a test, and a few numbers with intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from propriety import demands
from propriety.calibration.calibration_test import CalibrationTest
from propriety.calibration.smooth_calibration import INDICES, SmoothCalibration, smooth_calibration_of
from propriety.checks import check_level, check_resamples, fresh_seed
from propriety.errors import UNDEFINED, InputValueError
from propriety.inference.bootstrap import Drawing
from propriety.inference.calibration_testing import calibration_test_of, recalibrated_test_of
from propriety.inference.estimates import Estimate, censoring_note
from propriety.inference.estimation import estimate_or_note
from propriety.inference.measures.line import CalibrationIntercept, CalibrationSlope
from propriety.inference.measures.measure import Measure
from propriety.inference.measures.parts import Miscalibration
from propriety.inference.measures.ratios import ObservedExpected
from propriety.inference.part_estimates import ONLY_INDEPENDENT
from propriety.inference.recalibration_gain import RecalibrationGain
from propriety.inference.uncertain_forecasts import without_certain
from propriety.inference.verdicts import holm
from propriety.ledger.ledger import Ledger
from propriety.ledger.sources import open_ledger
from propriety.number_words import percent
from propriety.result import Result
from propriety.rules.families import Brier
from propriety.rules.scoring import mean_score
from propriety.tables.forecast_table import ForecastTable, Outcomes
from propriety.tables.labels import Labels
from propriety.tables.reading import refuse_frame, refuse_time
from propriety.tables.validation import Missing

CalibrationOutcome: TypeAlias = Literal["consistent", "miscalibrated", "immaterial", "too few events", "not tested"]
Direction: TypeAlias = Literal[
    "refuted", "too high", "too low", "reversed", "too extreme", "too timid", "other shape", "together"
]

# Whether forecasts are materially miscalibrated, as a number. Too few events are no evidence of calibration.
AS_NUMBER: dict[CalibrationOutcome, float] = {
    "miscalibrated": 1.0,
    "immaterial": 0.0,
    "consistent": 0.0,
    "too few events": math.nan,
    "not tested": math.nan,
}
# Miscalibration within these margins is called immaterial.
RATIO_MARGIN, SLOPE_MARGIN, COST_MARGIN = 0.05, 0.1, 0.005
# Effective number of periods that the test needs to keep its level, and number of periods needed to estimate it.
FEWEST_PERIODS, TELLING_PERIODS = 25.0, 60
ESTIMATES = ("observed_expected", "intercept", "slope", "miscalibration")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class CalibrationSummary(Result):
    """The calibration of forecasts: the result of a test, and numbers with intervals; see `calibration_summary`.

    Parameters
    ----------
    outcome : {"consistent", "miscalibrated", "immaterial", "too few events", "not tested"}
        Result of the test.
    directions : tuple of str
        How the forecasts are wrong, if they are: "too high" or "too low" on average; "too extreme", "too timid", or
        "reversed" if the event is rarer at higher forecasts; of an "other shape"; "together" if only the joint test of
        level and slope rejects; "refuted" if a forecast of exactly 0 or 1 did not come true.
    p_value : float
        p-value of the test of calibration; NaN if it was not tested.
    test : CalibrationTest, optional
        The test.
    observed, expected : float
        Event rate and mean forecast.
    observed_expected, intercept, slope : Estimate
        Their ratio, calibration in the large, and calibration slope, with intervals.
    miscalibration : Estimate
        Cost of miscalibration under the Brier score, bias-corrected, with its interval.
    brier, uncertainty : float
        Brier score, and that of the constant event rate.
    level : float
        Level of the intervals and of the test.
    n, n_events : int
        Number of cases, and of those with the event.
    dropped : int
        Rows left out because of missing values.
    note : str
        A caveat, if any.
    smooth : SmoothCalibration, optional
        The smooth calibration curve with ICI, E50, E90 and Emax, which are also fields of `to_dict`; None if it could
        not be fitted.
    gain : RecalibrationGain, optional
        The gain of recalibration out of sample, if it was requested, as by `propriety.evaluate`.
    """

    outcome: CalibrationOutcome
    directions: tuple[Direction, ...]
    p_value: float
    test: CalibrationTest | None
    observed: float
    expected: float
    observed_expected: Estimate
    intercept: Estimate
    slope: Estimate
    miscalibration: Estimate
    brier: float
    uncertainty: float
    level: float
    n: int
    n_events: int
    dropped: int = 0
    note: str = ""
    smooth: SmoothCalibration | None = field(default=None, metadata={"hidden": True})
    gain: RecalibrationGain | None = field(default=None, metadata={"hidden": True})

    def summary(self, name: str = "The forecast") -> str:
        """Return the result of the test in words."""
        from propriety.inference.calibration_words import calibration_words

        return calibration_words(self, name)

    def _fields(self) -> dict[str, Any]:
        """Return all numbers in one flat dict, each estimate with its limits."""
        fields = Result._fields(self)
        flat: dict[str, Any] = {}
        for name, value in fields.items():
            if name in ESTIMATES:
                flat |= {name: value.value, f"{name}_low": value.low, f"{name}_high": value.high}
            elif name == "directions":
                flat[name] = ", ".join(value)
            elif name == "test":
                views = ("line_p_value", "shape_p_value", "fine_p_value", "n_certain", "n_refuted")
                flat |= {view: math.nan if value is None else getattr(value, view) for view in views}
            else:
                flat[name] = value
        suffixes = ("", "_low", "_high")
        names = [f"{name}{suffix}" for name in INDICES for suffix in suffixes]
        return flat | {name: getattr(self.smooth, name, math.nan) for name in names}

    def __str__(self) -> str:
        return self.summary()


def calibration_summary(  # noqa: PLR0913  (the data, and what cases share)
    y_true: Outcomes | Ledger,
    y_proba: ArrayLike | None = None,
    *,
    level: float = 0.95,
    cluster: ArrayLike | None = None,
    period: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Hashable | None = None,
    labels: Labels | None = None,
    missing: Missing = "raise",
    n_resamples: int = 1000,
    seed: int | None = None,
    time: None = None,
) -> CalibrationSummary:
    r"""Assess the calibration of forecasts of an event by a test and by a few numbers with intervals.

    The test is of calibration at every forecast, with one level for its components: Cox's score test of intercept 0 and
    slope 1, and tests of the shape beyond them. Its outcome is one of

    - **consistent** with calibration, or **miscalibrated**, and in which direction;
    - **immaterial**: miscalibrated, but the whole intervals are within 5% of 1 for observed/expected and within 10% for
      the slope, and the cost is at most 0.5% of the uncertainty;
    - **too few events** to tell: nothing was found, and only gross errors could have been found.

    With event rate :math:`\bar y` and mean forecast :math:`\bar p`, the numbers are

    - observed/expected :math:`\bar y / \bar p`, above 1 if the forecasts are too low;
    - intercept :math:`a` of :math:`\operatorname{logit} P(Y = 1) = a + \operatorname{logit} p`, the slope fixed at 1;
    - slope :math:`b` of :math:`\operatorname{logit} P(Y = 1) = a' + b \operatorname{logit} p`, below 1 if the
      forecasts are too extreme;
    - the miscalibration of the Brier score, bias-corrected; see `propriety.estimate`;
    - ICI, E50, E90 and Emax, in `smooth`: mean, median, 90% quantile and maximum of :math:`|p - \hat c(p)|`, where
      :math:`\hat c` is a smooth curve; see `ReliabilityCurve.smooth`.

    Parameters
    ----------
    y_true, y_proba, sample_weight, pos_label, labels, missing, time
        Binary outcomes and the probability of the event, or cases; see `propriety.cases`. A ledger
        of one model, replaces all data.
    level : float
        Level of the intervals and of the test, strictly between 0 and 1.
    cluster, period : array-like of shape (n,), optional
        Cluster or period within which cases may be correlated. The limits of the smooth curve are then not given.
    n_resamples, seed : int, optional
        Number and seed of the draws that the test uses if there are few events.

    Returns
    -------
    CalibrationSummary
        The result of the test, and the numbers. A number that the data do not determine is NaN, and its note says why.

    Notes
    -----
    A single forecast of exactly 0 or 1 that did not come true refutes the forecasts; intercept and slope are those of
    all other cases. Limits of each outcome, and simulations of size and coverage: `docs/reference/methods.md`.

    References
    ----------
    Cox (1958), doi:10.1093/biomet/45.3-4.562, for intercept and slope; Debray et al. (2019),
    doi:10.1177/0962280218785504, for the ratio; Austin & Steyerberg (2019), doi:10.1002/sim.8281, for the distances.

    Examples
    --------
    >>> y, p = [0, 0, 0, 1, 0, 1, 1, 1] * 20, [0.1, 0.1, 0.1, 0.1, 0.8, 0.8, 0.8, 0.8] * 20
    >>> found = calibration_summary(y, p)
    >>> found.outcome, found.directions
    ('miscalibrated', ('too extreme',))
    >>> round(found.intercept.value, 3), round(found.slope.value, 3), round(found.slope.high, 3)
    (0.405, 0.613, 0.813)
    >>> round(found.smooth.ici, 3)
    0.1
    """
    check_level(level)
    check_resamples(n_resamples)
    refuse_time(time)
    refuse_frame(y_true, y_proba)
    ledger = open_ledger(
        y_true,
        y_proba,
        cluster=cluster,
        period=period,
        sample_weight=sample_weight,
        pos_label=pos_label,
        labels=labels,
        missing=missing,
    )
    if ledger.labels is not None:
        law: str = demands.one_event("calibration_summary")
        law += f"; the forecasts are probabilities of {len(ledger.labels)} classes"
        raise InputValueError(law, hint=demands.EVENT_HINT)
    return calibration_of(ledger, ledger.one_model(None), level=level, drawing=Drawing(n_resamples, fresh_seed(seed)))


def calibration_of(
    ledger: Ledger,
    model: str,
    *,
    level: float,
    drawing: Drawing,
    known: Mapping[str, Estimate] = MappingProxyType({}),
    gain: Callable[[], RecalibrationGain | None] = lambda: None,
) -> CalibrationSummary:
    """Assess the calibration of a model for one event from a ledger; see `calibration_summary`.

    Estimates in `known`, by the key of the measure, are not computed again. `gain` is called for the gain of
    recalibration if the forecasts are found to be miscalibrated.
    """
    table = ledger.table(model)
    test = calibration_test_of(ledger, model, drawing)
    inside = without_certain(ledger, model)

    def estimated(source: Ledger, measure: Measure) -> Estimate:
        if source is ledger and measure.key in known:
            return known[measure.key]
        return estimate_or_note(source, model, measure, level=level, drawing=drawing)

    numbers: dict[str, Any] = {
        "observed_expected": estimated(ledger, ObservedExpected()),
        "intercept": estimated(inside, CalibrationIntercept()),
        "slope": estimated(inside, CalibrationSlope()),
        "miscalibration": estimated(ledger, Miscalibration()),
    }
    found = CalibrationSummary(
        outcome="not tested",
        directions=(),
        p_value=math.nan if test is None else test.p_value,
        test=test,
        observed=table.event_rate,
        expected=table.mean_forecast,
        **numbers,
        brier=float(mean_score(table, rule=Brier())),
        uncertainty=table.event_rate * (1.0 - table.event_rate),
        level=level,
        n=table.n,
        n_events=table.n_events,
        dropped=table.dropped,
        note=_note(ledger, table, test, numbers),
        smooth=_smooth(ledger, table, level, drawing),
    )
    if test is None:
        return found
    if test.p_value > 1.0 - level:
        return replace(found, outcome=_cleared(test))
    found = replace(found, directions=tuple(_directions(found, test, inside, model, drawing)), gain=gain())
    return replace(found, outcome="immaterial" if _immaterial(found, test) else "miscalibrated")


def _smooth(ledger: Ledger, table: ForecastTable, level: float, drawing: Drawing) -> SmoothCalibration | None:
    """Return the smooth curve, if there is one; its limits and test are for independent cases."""
    try:
        found = smooth_calibration_of(table, level=level, n_resamples=drawing.n_resamples, seed=drawing.seed)
    except UNDEFINED:
        return None
    return found if ledger.dependence is None else found.without_limits(ONLY_INDEPENDENT)


def outcome_as_number(outcome: CalibrationOutcome) -> float:
    """Return 1 for materially miscalibrated forecasts, 0 for others, and NaN if that cannot be told.

    Examples
    --------
    >>> outcome_as_number("immaterial"), outcome_as_number("too few events")
    (0.0, nan)
    """
    return AS_NUMBER[outcome]


def _cleared(test: CalibrationTest) -> CalibrationOutcome:
    """Return the outcome of a test that found nothing."""
    return "consistent" if test.is_enough else "too few events"


def jointly_tested(summaries: Sequence[CalibrationSummary]) -> list[tuple[CalibrationSummary, float]]:
    """Return summaries whose outcomes have one level for all of them, and their p-values adjusted by Holm's method."""
    p_adjusted = holm(np.array([one.p_value for one in summaries])).tolist()
    return [
        (replace(one, outcome=_cleared(one.test), directions=()), p_value)
        if one.test is not None and p_value > 1.0 - one.level
        else (one, p_value)
        for one, p_value in zip(summaries, p_adjusted, strict=True)
    ]


def _directions(
    found: CalibrationSummary, test: CalibrationTest, inside: Ledger, model: str, drawing: Drawing
) -> list[Direction]:
    """Return in which ways miscalibrated forecasts are wrong."""
    wrong: list[Direction] = ["refuted"] if test.n_refuted > 0.0 else []
    ratio, slope = found.observed_expected, found.slope
    # If all outcomes are of one class there is no interval; then only the level can have been found to be wrong.
    low, high = (ratio.value if math.isnan(limit) else limit for limit in (ratio.low, ratio.high))
    wrong += ["too high"] if high < 1.0 else ["too low"] if low > 1.0 else []
    wrong += ["reversed"] if slope.high < 0.0 else []
    wrong += ["too extreme"] if 0.0 <= slope.high < 1.0 else ["too timid"] if slope.low > 1.0 else []
    # A slope far from 1 also bends the curve of residuals; the shape is what remains after fitting it.
    beside = recalibrated_test_of(inside, model, drawing) if wrong else test
    shape = beside is not None and beside.shows_shape(1.0 - found.level)
    wrong += ["other shape"] if shape else []
    if not wrong and math.isnan(slope.value) and test.line_df <= 1.0:  # Equal forecasts: only their level was tested.
        wrong.append("too high" if ratio.value < 1.0 else "too low")
    return wrong or ["together"]


def _immaterial(found: CalibrationSummary, test: CalibrationTest) -> bool:
    """Whether the intervals exclude every error that would matter."""
    ratio, slope, cost = found.observed_expected, found.slope, found.miscalibration
    near = ratio.low > 1.0 - RATIO_MARGIN and ratio.high < 1.0 + RATIO_MARGIN
    straight = math.isnan(slope.value) or (slope.low > 1.0 - SLOPE_MARGIN and slope.high < 1.0 + SLOPE_MARGIN)
    limit = COST_MARGIN * found.uncertainty
    # A map gains nothing of errors whose shape it cannot have, and these may cost more.
    cheap = cost.high <= limit if found.gain is None else found.gain.is_within(COST_MARGIN) and not cost.low > limit
    return test.n_refuted == 0.0 and near and straight and cheap


def _note(ledger: Ledger, table: ForecastTable, test: CalibrationTest | None, numbers: Mapping[str, Estimate]) -> str:
    """Return the caveats of the test and the intervals."""
    told, of_numbers = [], [one.note for one in numbers.values() if math.isfinite(one.low)]
    if test is None:
        told.append(f"a test needs {ledger.where_cases_are}")
    elif test.n_certain > 0.0:
        weight = "of the weight has" if table.is_weighted else "of the cases have"
        certain = f"{percent(test.n_certain / table.weight)} {weight} a forecast of exactly 0 or 1"
        fitted = [name for name in ("intercept", "slope") if math.isfinite(numbers[name].value)]
        left = {0: "", 1: "; the intercept leaves these out", 2: "; intercept and slope leave these out"}
        told.append(f"{certain}{left[len(fitted)]}")
    if test is not None and test.depends_on_few:
        told.append("few cases determine the slope: the test may reject too often")
    if test is not None and test.worth < FEWEST_PERIODS:
        worth = f"{test.units} correlated periods are equivalent to about {max(round(test.worth), 1)}"
        told.append(f"{worth} independent ones: the test may reject too often")
    elif test is not None and math.isfinite(test.worth) and test.units < TELLING_PERIODS:
        told.append(
            f"{test.units} periods cannot show whether neighbours are correlated: if they are, the test may reject "
            "too often"
        )
    if ledger.prevalence is None and _weighted_by_outcome(table):
        told.append(
            "all events have one weight and all non-events another: if a study fixed the numbers of both, "
            "these intervals are too wide; `at_prevalence` gives the right ones"
        )
    if followed := censoring_note(ledger):
        # The estimates have this note for their intervals; here it is about the test as well.
        told.append(censoring_note(ledger, "intervals may be too narrow and the test may reject too often"))
        of_numbers = [one.replace(followed, "").strip("; ") for one in of_numbers]
    return "; ".join(dict.fromkeys(filter(None, [*told, *of_numbers])))


def _weighted_by_outcome(table: ForecastTable) -> bool:
    """Whether weights differ only between events and non-events."""
    if not table.is_weighted or not 0 < table.n_events < table.n:
        return False
    sides = (
        (table.n_events, table.events, table.event_squares),
        (table.n - table.n_events, table.non_events, table.non_event_squares),
    )
    weights = [float(weight.sum()) / number for number, weight, _ in sides]
    equal = all(
        math.isclose(number * squares.sum(), weight.sum() ** 2, rel_tol=1e-9) for number, weight, squares in sides
    )
    return equal and not math.isclose(*weights, rel_tol=1e-9)
