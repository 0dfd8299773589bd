"""The result of `recalibrate`: the map, the out-of-sample gain of each candidate, and the verdict."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from propriety.calibration.reliability import ReliabilityCurve, reliability_curve
from propriety.errors import InputTypeError
from propriety.number_words import number, percent
from propriety.recalibration.class_maps import ClassIdentityMap, ClassMap, MatrixMap
from propriety.recalibration.maps import IdentityMap, RecalibrationMap
from propriety.recalibration.segment_map import SegmentMap
from propriety.recalibration.spline_map import SplineMap
from propriety.recalibration.written_maps import Dialect
from propriety.result import Floats, Result
from propriety.rules.rule import Rule
from propriety.tables.arrays import PAIR, read_forecasts
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.validation import read_forecast

Gain: TypeAlias = Literal["gain", "loss", "not shown", "unchanged", "infinite", "not tested"]

IMMATERIAL = 1e-4  # Of the score; a smaller change is called practically none, also if it is shown.


@dataclass(frozen=True, slots=True)
class RecalibrationVerdict:
    """The verdict on a map from its cross-fitted scores.

    Parameters
    ----------
    outcome : {"gain", "loss", "not shown", "unchanged", "infinite", "not tested"}
        Whether the map lowers the score on new cases, raises it (also to infinity), is not shown to do either, changes
        nothing, leaves it infinite, or was not tested.
    gain, low, high : float
        Score of the reference minus that of the map, and its interval.
    before, after : float
        The two scores.
    reference : str
        The reference of the gain: "none", the original forecasts, or "floored", if their score is infinite.
    """

    outcome: Gain
    gain: float
    low: float
    high: float
    before: float
    after: float
    reference: str

    @property
    def is_immaterial(self) -> bool:
        """Whether the score is shown to change, but by less than 0.01%."""
        return self.outcome in ("gain", "loss") and abs(self.gain) < IMMATERIAL * self.before


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Recalibration(Result):
    """A recalibration map and its gain on new cases; see `propriety.recalibrate`.

    Call it with forecasts to apply the map. `str` describes the result in plain words.

    Parameters
    ----------
    candidate : ndarray of shape (candidates,)
        The methods that were tried; "none" stands for the original forecasts.
    score : ndarray of shape (candidates,)
        Cross-fitted mean score of each; every case is recalibrated by a map fitted to the other folds.
    gain, low, high, standard_error : ndarray of shape (candidates,)
        Score of the original forecasts minus that of the candidate, the limits of its paired interval, and its standard
        error. If the score of the original forecasts is infinite, the reference is "floored".
    p_value : ndarray of shape (candidates,)
        Two-sided p-value of no gain, not adjusted for the number of candidates.
    method : str
        The method of the map.
    map : RecalibrationMap, ClassMap or SegmentMap
        The map, fitted to all cases; for class forecasts, it maps rows of probabilities.
    maps : mapping of str to RecalibrationMap, ClassMap or SegmentMap
        The maps of all candidates, fitted to all cases.
    verdict : RecalibrationVerdict
        The verdict on the gain.
    rule : Rule
        The scoring rule.
    folds, level : str, float
        How the folds were made, and the level of the intervals.
    n, dropped : int
        Number of cases, and of rows left out because of missing values.
    labels : tuple, optional
        The labels of the classes in order; None for binary forecasts.
    note : str
        Caveats.
    """

    facts: ClassVar[tuple[str, ...]] = (
        "method",
        "rule",
        "verdict.gain",
        "verdict.low",
        "verdict.high",
        "verdict.outcome",
        "n",
        "dropped",
    )

    candidate: NDArray[np.str_]
    score: Floats
    gain: Floats
    low: Floats
    high: Floats
    standard_error: Floats
    p_value: Floats
    method: str
    map: RecalibrationMap | ClassMap | SegmentMap
    verdict: RecalibrationVerdict
    rule: Rule
    folds: str
    level: float
    n: int
    labels: tuple[Any, ...] | None = None
    dropped: int = 0
    note: str = ""
    pair: tuple[tuple[Any, Any], int] | None = field(default=None, metadata={"hidden": True})
    maps: Mapping[str, RecalibrationMap | ClassMap | SegmentMap] = field(metadata={"hidden": True})
    table_before: ForecastTable = field(metadata={"hidden": True})
    table_after: ForecastTable = field(metadata={"hidden": True})

    def __call__(self, y_proba: object, by: Mapping[str, object] | None = None) -> Floats:
        """Return the recalibrated forecasts, in the shape of those that the map was fitted to, or the event's column.

        `by` has the columns of a map by segment, if these were candidates.
        """
        given = self._event(y_proba)
        if isinstance(self.map, SegmentMap):
            return self.map(given, {} if by is None else by)
        if by is not None and not any(isinstance(one, SegmentMap) for one in self.maps.values()):
            raise InputTypeError("must be absent, because the map does not differ by segment", argument="by")
        return self.map(given)

    def _event(self, y_proba: object) -> object:
        """Return the column of the event, if the map was fitted to two columns and these are two as well."""
        if self.pair is None or np.ndim(y_proba) == 0:  # type: ignore[arg-type]  # anything
            return y_proba
        reading = read_forecasts(y_proba)
        if reading.values.ndim != PAIR or reading.values.shape[1] != PAIR:
            return y_proba
        labels, event = self.pair
        return read_forecast(reading, labels=labels)[0][event]

    def expression(self, column: Any) -> Any:
        """Return the map applied to a column as a narwhals expression, or a list of them for the columns of classes.

        See `RecalibrationMap.expression` and `ClassMap.expression`.
        """
        return self.map.expression(column)

    def to_sql(self, column: Any, *, dialect: Dialect = "duckdb") -> Any:
        """Return the map applied to a column as SQL, or a list of expressions for the columns of classes.

        See `RecalibrationMap.to_sql` and `ClassMap.to_sql`.
        """
        return self.map.to_sql(column, dialect=dialect)

    def to_onnx(self) -> Any:
        """Return the map as an ONNX model; see `RecalibrationMap.to_onnx` and `ClassMap.to_onnx`."""
        if isinstance(self.map, RecalibrationMap | SegmentMap) or self.labels is None:
            return self.map.to_onnx()
        return self.map.to_onnx(len(self.labels))

    def to_sklearn(self) -> Any:
        """Return the map as a scikit-learn transformer; see `RecalibrationMap.to_sklearn`."""
        return self.map.to_sklearn()

    @property
    def before(self) -> ReliabilityCurve:
        """The reliability curve of the original forecasts; for classes, of all probabilities together."""
        return reliability_curve(self.table_before)

    @property
    def after(self) -> ReliabilityCurve:
        """The reliability curve of the recalibrated forecasts, each from a map that was fitted without its case."""
        return reliability_curve(self.table_after)

    def __str__(self) -> str:
        """Return the verdict in plain words and the map in one line."""
        said = [_verdict_words(self), _map_words(self.method, self.map)]
        return "\n".join([*said, self.note] if self.note else said)


def _verdict_words(found: Recalibration) -> str:
    """Return the verdict on the gain in words."""
    verdict, score = found.verdict, found.rule.label
    before, after = number(verdict.before), number(verdict.after)
    interval = f"{percent(found.level)} CI {number(verdict.low)} to {number(verdict.high)}"
    share = f", {percent(verdict.gain / verdict.before)}" if verdict.before > 0.0 else ""
    said = ""
    match verdict.outcome:
        case _ if verdict.is_immaterial:
            gain = f"the gain is {number(verdict.gain)} ({interval})"
            said = f"Recalibration leaves the {score} of {before} practically unchanged: {gain}"
        case "loss" if math.isinf(verdict.after):
            said = f"Recalibration raises the {score} from {before} to infinity: do not use it"
        case "gain":
            gain = f": a gain of {number(verdict.gain)}{share} ({interval})" if math.isfinite(verdict.gain) else ""
            said = f"Recalibration lowers the {score} from {before} to {after}{gain}"
        case "loss":
            said = f"Recalibration raises the {score} from {before} to {after} ({interval} of the gain): do not use it"
        case "not shown":
            # The interval is not adjusted for the number of candidates, so it may exclude 0.
            once = f" after adjustment for {len(found.candidate) - 1} candidates" * (verdict.low * verdict.high > 0.0)
            gain = f"the gain is {number(verdict.gain)} ({interval})"
            said = f"Recalibration is not shown to change the {score} of {before}{once}: {gain}"
        case "unchanged":
            said = f"Recalibration leaves the forecasts as they are, and the {score} at {before}"
        case "infinite":
            said = f"The {score} is infinite, even after recalibration: an outcome with a probability of 0 occurred"
        case "not tested":
            said = f"Recalibration changes the {score} from {before} to {after}; the change was not tested"
    said = f"{said}; out of sample, {found.folds}."
    if verdict.reference == "none" or math.isinf(verdict.before):
        return said
    kept = f"gains are relative to the forecasts with a floor of {found.maps['floored'].parameters['floor']:.3g}"
    return f"{said} The {score} of the original forecasts is infinite; {kept}."


def formula_of(fitted: RecalibrationMap | ClassMap | SegmentMap) -> str:
    """Return the formula of a map; if the map leaves the forecasts as they are, that of the identity."""
    return f"q = {IdentityMap(floor=fitted.parameters['floor']).formula}" if _is_identity(fitted) else fitted.formula


def _is_identity(fitted: RecalibrationMap | ClassMap | SegmentMap) -> bool:
    return isinstance(fitted, IdentityMap) or (isinstance(fitted, SplineMap) and fitted.shrinkage == 0.0)


def _map_words(method: str, fitted: RecalibrationMap | ClassMap | SegmentMap) -> str:
    """Return the map in words."""
    if _is_identity(fitted):
        floor = fitted.parameters["floor"]
        kept = f", clipped to [{floor:.3g}, 1 - {floor:.3g}]" if floor else ""
        return f"The map ({method}) leaves the forecasts as they are{kept}."
    if isinstance(fitted, ClassMap):
        return _class_map_words(method, fitted)
    shrunk = ""
    if isinstance(fitted, SplineMap) and fitted.shrinkage < 1.0:
        shrunk = f", {percent(fitted.shrinkage)} of the way from the forecasts to the curve that fits best"
    return f"The map ({method}): {fitted.formula}{shrunk}."


def _class_map_words(method: str, fitted: ClassMap) -> str:
    """Return a class map in words, with how much of it shrinkage keeps."""
    shares = fitted.shares.tolist() if isinstance(fitted, MatrixMap) else [1.0]
    if isinstance(fitted, ClassIdentityMap) or not any(shares):
        floor = fitted.parameters["floor"]
        kept = f", except that probabilities below {floor:.3g} are raised to it" if floor else ""
        return f"The map ({method}) leaves the forecasts as they are{kept}."
    shrunk = ""
    if min(shares) < 1.0:
        parts = ("the common slope", "the differences between classes", "the off-diagonal entries")
        shown = [f"{percent(share)} of {part}" for share, part in zip(shares, parts, strict=False)]
        shrunk = f"; shrinkage keeps {', '.join(shown)}"
    return f"The map ({method}): {fitted.formula}{shrunk}."
