"""Is a multi-class model calibrated? One verdict from three views, with the classes and the size of the error."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propriety.calibration.class_test import ENOUGH_REACH, SHARES, ClassTest, View
from propriety.checks import check_level, check_resamples, fresh_seed
from propriety.errors import InputValueError
from propriety.inference.bootstrap import Drawing
from propriety.inference.calibration_numbers import CalibrationNumbers
from propriety.inference.calibration_summary import (
    COST_MARGIN,
    CalibrationOutcome,
    CalibrationSummary,
    calibration_of,
)
from propriety.inference.class_notes import class_note
from propriety.inference.class_readings import ClassReading
from propriety.ledger.ledger import Ledger
from propriety.ledger.sources import open_ledger
from propriety.result import Floats, Result, Tuples, tuples_of
from propriety.tables.events import TOP
from propriety.tables.forecast_table import Outcomes
from propriety.tables.labels import Labels
from propriety.tables.reading import refuse_frame
from propriety.tables.validation import Forecasts

DecidedBy: TypeAlias = Literal["class-wise", "temperature", "shape", "refuted"]
Temperature: TypeAlias = Literal["too extreme", "too timid", "reversed", ""]
FEWEST = 20.0  # Half the variance of the numbers of all classes, below which only gross errors could be found.


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ClassTable(Result):
    """The calibration of each class, in the order of the labels.

    Parameters
    ----------
    label : ndarray
        Labels of the classes.
    n_events : ndarray of int
        Number of cases of each class.
    observed, expected, observed_expected : ndarray
        Share of the cases, mean probability, and their ratio.
    slope : ndarray
        Calibration slope of the class; NaN if it is not defined.
    miscalibration : ndarray
        Miscalibration under the Brier score, corrected for noise; it can be negative by chance.
    p_value, p_adjusted : ndarray
        p-value of intercept 0 and slope 1, and the same adjusted for the number of classes; NaN if not tested.
    directions : ndarray of tuple
        How the probabilities of a class are wrong, where the adjusted p-value shows that they are.
    """

    label: NDArray[Any]
    n_events: NDArray[np.int64]
    observed: Floats
    expected: Floats
    observed_expected: Floats
    slope: Floats
    miscalibration: Floats
    p_value: Floats
    p_adjusted: Floats
    directions: Tuples


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ClassCalibration(Result):
    """The calibration of class probabilities: one verdict, its three views, and the classes; see `class_calibration`.

    Parameters
    ----------
    outcome : {"consistent", "miscalibrated", "immaterial", "too few events", "not tested"}
        The verdict.
    p_value : float
        Combined p-value of the views; NaN if calibration was not tested.
    decided_by : {"class-wise", "temperature", "shape", "refuted"}
        The view with the strongest evidence; "refuted" if a class happened whose probability was exactly 0.
    classwise_p_value, temperature_p_value, shape_p_value : float
        p-value of each view; NaN if it was not tested. Temperature and shape are not if a probability was refuted.
    temperature : {"too extreme", "too timid", "reversed", ""}
        The direction of the temperature, if it is shown to be wrong; "reversed" if classes are rarer where their
        probability is higher.
    top : CalibrationSummary, optional
        The calibration of the top class, the one with the highest probability. It is not part of the verdict.
    classes : ClassTable
        The calibration of each class.
    miscalibration, miscalibration_low, miscalibration_high : float
        Miscalibration under the Brier score summed over the classes, corrected for noise, with its limits.
    uncertainty : float
        Brier score of the class frequencies, summed over the classes.
    n_refuted : float
        Weight of the cases of classes whose probability was exactly 0.
    level : float
        Level of the verdict and the limits.
    n, dropped : int
        Number of cases, and of rows left out because of missing values.
    method : str
        How the p-values were computed.
    note : str
        A caveat, if any.
    numbers : CalibrationNumbers
        What the tests of the classes used.
    """

    facts: ClassVar[tuple[str, ...]] = ("outcome", "p_value", "decided_by", "miscalibration", "n", "dropped", "note")

    outcome: CalibrationOutcome
    p_value: float
    decided_by: DecidedBy
    classwise_p_value: float
    temperature_p_value: float
    shape_p_value: float
    temperature: Temperature
    top: CalibrationSummary | None
    classes: ClassTable
    miscalibration: float
    miscalibration_low: float
    miscalibration_high: float
    uncertainty: float
    n_refuted: float
    level: float
    n: int
    dropped: int = 0
    method: str
    note: str = ""
    numbers: CalibrationNumbers = field(metadata={"hidden": True})

    def columns(self) -> Mapping[str, Sequence[Any] | NDArray[Any]]:
        """Columns of the tidy table: those of the classes."""
        return self.classes.columns()

    def summary(self, name: str = "The forecast") -> str:
        """Return the verdict in words."""
        from propriety.inference.class_words import class_words

        return class_words(self, name)

    def __str__(self) -> str:
        return self.summary()


def class_calibration(
    y_true: Outcomes | Ledger,
    forecasts: Forecasts | None = None,
    *,
    level: float = 0.95,
    sample_weight: ArrayLike | None = None,
    labels: Labels | None = None,
    n_resamples: int = 1000,
    seed: int | None = None,
) -> ClassCalibration:
    r"""Assess the calibration of class probabilities by one verdict from three views.

    With residuals :math:`r_{ik} = y_{ik} - p_{ik}`, the views are

    - **class-wise**: for each class, Cox's score test of intercept 0 and slope 1, at the level divided by the number of
      classes;
    - **temperature**: the score test of :math:`b = 1` in probabilities proportional to :math:`p_k^b`, which is that of
      :math:`\sum_i \sum_k r_{ik} \log p_{ik}`;
    - **shape**: the same for four functions of p, shared by all classes, beyond the logarithm.

    The p-value of the verdict is :math:`\min(p_\text{temperature} / 0.4, p_\text{classwise} / 0.4, p_\text{shape} /
    0.2)`. The outcomes of the verdict are those of `propriety.calibration_summary`. The calibration of the top class is
    reported too. It is not part of the verdict, because it is a function of what the views test.

    Parameters
    ----------
    y_true, forecasts, sample_weight, labels
        Outcomes and rows with one probability per class, of one model; or cases, whose clusters and periods are allowed
        for; see `propriety.cases`; or a ledger. The classes may be ordered.
    level : float
        Level of the verdict and the limits, strictly between 0 and 1.
    n_resamples, seed : int, optional
        Number and seed of the draws of outcomes, if a class is rare. If hardly any draw reaches the statistic, more
        are made where the level needs them.

    Returns
    -------
    ClassCalibration
        The verdict, its views, the classes, and the miscalibration summed over the classes.

    Notes
    -----
    A probability of exactly 0 refutes the probabilities if its class happened. Rare classes of weighted or correlated
    cases, or of cases not in memory, are not tested, and the note says so. No view finds every error: confusion of a
    few pairs of many classes can go unnoticed. Formulas and simulations: `docs/reference/methods.md`.

    References
    ----------
    Cox (1958), doi:10.1093/biomet/45.3-4.562; Guo et al. (2017), arXiv:1706.04599, for the temperature.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> p = rng.dirichlet([1, 1, 1], 500)
    >>> truth = p**0.6 / (p**0.6).sum(axis=1, keepdims=True)
    >>> y = (truth.cumsum(axis=1) > rng.random((500, 1))).argmax(axis=1)
    >>> found = class_calibration(y, p)
    >>> found.outcome, found.decided_by, found.temperature
    ('miscalibrated', 'temperature', 'too extreme')
    """
    check_level(level)
    check_resamples(n_resamples)
    refuse_frame(y_true, forecasts)
    ledger = open_ledger(
        y_true,
        forecasts,
        sample_weight=sample_weight,
        labels=labels,
    )
    if ledger.labels is None:
        law = "class_calibration needs probabilities of classes; the forecasts are of one event"
        raise InputValueError(law, hint="use calibration_summary.")
    drawing = Drawing(n_resamples, fresh_seed(seed))
    return class_calibration_of(ledger, ledger.one_model(None), level=level, drawing=drawing)


def class_calibration_of(ledger: Ledger, model: str, *, level: float, drawing: Drawing) -> ClassCalibration:
    """Assess the calibration of the class probabilities of a model of a ledger; see `class_calibration`."""
    read = ClassReading(ledger, model, drawing, level)
    test, distance, refuted = read.test, read.distance, read.refuted
    measured, found = ledger.dependence is None, test or _untested(len(refuted))
    total = sum(SHARES[view] for view in found.p_values)
    # A class or a direction is named at its share of the level.
    shown = (1.0 - level) * SHARES["class-wise"] / max(total, SHARES["class-wise"])
    named = found.class_p_adjusted <= shown
    directions, near = read.directions(named)
    table = ClassTable(
        label=tuples_of(ledger.labels or ()),
        **read.columns(),
        miscalibration=distance.of_class if measured else np.full(len(refuted), math.nan),
        p_value=found.class_p_values,
        p_adjusted=found.class_p_adjusted,
        directions=directions,
    )
    # The logarithm of a refuted probability is infinite, so it would be left out of temperature and shape.
    p_temperature, p_shape = (
        math.nan if refuted.any() else found.p_values.get(view, math.nan) for view in ("temperature", "shape")
    )
    drifted = p_temperature <= (1.0 - level) * SHARES["temperature"] / max(total, SHARES["temperature"])
    way: Temperature = "too timid" if found.temperature > 0.0 else "reversed" if read.is_reversed else "too extreme"
    observed = table.observed
    result: dict[str, Any] = {
        "decided_by": "refuted" if refuted.any() else found.decided_by,
        "p_value": math.nan if test is None else 0.0 if refuted.any() else found.p_value,
        "classwise_p_value": found.p_values.get("class-wise", math.nan),
        "temperature_p_value": p_temperature,
        "shape_p_value": p_shape,
        "temperature": way if drifted else "",
        "miscalibration": distance.value if measured else math.nan,
        "miscalibration_low": distance.low if measured else math.nan,
        "miscalibration_high": distance.high if measured else math.nan,
        "uncertainty": float((observed * (1.0 - observed)).sum()),
    }
    top = None
    if TOP in ledger.events:
        top = calibration_of(ledger.of_event(model, TOP), model, level=level, drawing=drawing)
    verdict = _outcome(result, near, named, test, float(read.lines.information.sum()) / 2.0, level)
    if verdict == "consistent" and ledger.dependence and top and top.test and not top.test.is_enough:
        verdict = "too few events"  # There are too few clusters or periods.
    return ClassCalibration(
        outcome=verdict,
        **result,
        top=top,
        classes=table,
        n_refuted=float(refuted.sum()),
        level=level,
        n=ledger.n,
        dropped=ledger.dropped,
        method=found.method,
        note=class_note(ledger, test, read.lines, top, level),
        numbers=read.numbers,
    )


def _outcome(
    result: Mapping[str, Any],
    near: NDArray[np.bool_],
    named: NDArray[np.bool_],
    test: ClassTest | None,
    information: float,
    level: float,
) -> CalibrationOutcome:
    p_value, high = result["p_value"], result["miscalibration_high"]
    if test is None or (math.isnan(p_value) and information == 0.0):
        return "not tested"
    if not p_value <= 1.0 - level:
        if test.smallest > 1.0 - level and p_value <= ENOUGH_REACH * test.smallest:
            return "not tested"  # The draws cannot show a p-value as small as the level needs.
        return "consistent" if information >= FEWEST else "too few events"
    if result["decided_by"] == "refuted":
        return "miscalibrated"
    # If the cost is not known, no class may have an error that would matter.
    cheap = math.isnan(high) or high <= COST_MARGIN * result["uncertainty"]
    return "immaterial" if cheap and near[named | math.isnan(high)].all() else "miscalibrated"


def _untested(classes: int) -> ClassTest:
    unknown = np.full(classes, math.nan)
    views: dict[View, float] = {}
    return ClassTest(
        p_value=math.nan,
        p_values=views,
        decided_by="class-wise",
        temperature=math.nan,
        class_p_values=unknown,
        class_p_adjusted=unknown,
        method="",
    )
