"""What `recalibrate` returns: the map, what each candidate gains out of sample, and the verdict."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from propriety.calibration.reliability import ReliabilityCurve, reliability_curve
from propriety.inference.number_words import number, percent
from propriety.recalibration.class_maps import ClassIdentityMap, ClassMap
from propriety.recalibration.maps import IdentityMap, RecalibrationMap
from propriety.recalibration.scaling_maps import MatrixMap, VectorMap
from propriety.recalibration.spline_map import SplineMap
from propriety.recalibration.written_maps import Dialect
from propriety.result import Floats, Result
from propriety.rules.rule import Rule
from propriety.tables.forecast_table import ForecastTable

__all__ = ["Gain", "Recalibration", "RecalibrationVerdict", "formula_of"]

Gain: TypeAlias = Literal["gain", "loss", "not shown", "unchanged", "infinite", "not tested"]

IMMATERIAL = 1e-4  # Of the score; a smaller change is called practically none, also if it is shown.


@dataclass(frozen=True, slots=True, kw_only=True)
class RecalibrationVerdict:
    """What the cross-fitted scores allow to be said about a map.

    Parameters
    ----------
    outcome : {"gain", "loss", "not shown", "unchanged", "infinite", "not tested"}
        Whether the map lowers the score of new cases, raises it (also to infinity), is not shown to do either, changes
        nothing, leaves it infinite, or was not tested.
    gain, low, high : float
        Score of the reference minus that of the map, and its interval.
    before, after : float
        The two scores.
    reference : {"none", "floored"}
        What gains are over: the forecasts as they are or, where their score is infinite, kept from certainty.
    """

    outcome: Gain
    gain: float
    low: float
    high: float
    before: float
    after: float
    reference: Literal["none", "floored"]

    @property
    def is_immaterial(self) -> bool:
        """Whether the score is shown to change, but by less than 0.01%."""
        return self.outcome in ("gain", "loss") and abs(self.gain) < IMMATERIAL * self.before


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Recalibration(Result):
    """A recalibration map and what it gains on cases that it has not seen; see `propriety.recalibrate`.

    It is called as its map is, with forecasts. `str` says what was found in plain words.

    Parameters
    ----------
    candidate : ndarray of shape (candidates,)
        The methods that were tried; "none" are the forecasts as they are.
    score : ndarray of shape (candidates,)
        Cross-fitted mean score of each: every case is recalibrated by a map fitted to the other folds.
    gain, low, high, standard_error : ndarray of shape (candidates,)
        Score of the forecasts as they are minus that of the candidate, the limits of its paired interval, and its
        standard error. Where the score of the forecasts is infinite, that of "floored" takes its place.
    p_value : ndarray of shape (candidates,)
        Two-sided p-value of no gain, of this candidate alone.
    method : str
        The candidate that the map is of.
    map : RecalibrationMap or ClassMap
        The map, fitted to all cases; of rows of probabilities if the forecasts are of classes.
    maps : mapping of str to RecalibrationMap or ClassMap
        The maps of all candidates, fitted to all cases.
    verdict : RecalibrationVerdict
        What can be said about the gain.
    rule : Rule
        The scoring rule.
    folds, level : str, float
        How the folds were made, and the level of the intervals.
    n, dropped : int
        Number of cases, and of rows left out because of missing values.
    labels : tuple, optional
        The labels of the classes in order; None for one event.
    note : str
        What to beware of.
    seed : int
        The seed of the folds.
    """

    candidate: NDArray[np.str_]
    score: Floats
    gain: Floats
    low: Floats
    high: Floats
    standard_error: Floats
    p_value: Floats
    method: str
    map: RecalibrationMap | ClassMap
    verdict: RecalibrationVerdict
    rule: Rule
    folds: str
    level: float
    n: int
    labels: tuple[Any, ...] | None = None
    dropped: int = 0
    note: str = ""
    seed: int
    maps: Mapping[str, RecalibrationMap | ClassMap] = field(metadata={"hidden": True})
    table_before: ForecastTable = field(metadata={"hidden": True})
    table_after: ForecastTable = field(metadata={"hidden": True})

    def __call__(self, y_proba: object) -> Floats:
        """Return the recalibrated forecasts."""
        return self.map(y_proba)

    def expression(self, column: Any) -> Any:
        """Return the map of a column as a narwhals expression; of the columns of classes as a list of them.

        See `RecalibrationMap.expression` and `ClassMap.expression`.
        """
        return self.map.expression(column)

    def to_sql(self, column: Any, *, dialect: Dialect = "duckdb") -> Any:
        """Return the map of a column as SQL; of the columns of classes as a list of texts.

        See `RecalibrationMap.to_sql` and `ClassMap.to_sql`.
        """
        return self.map.to_sql(column, dialect=dialect)

    def to_onnx(self) -> Any:
        """Return the map as an ONNX model; see `RecalibrationMap.to_onnx` and `ClassMap.to_onnx`."""
        if isinstance(self.map, RecalibrationMap) or self.labels is None:
            return self.map.to_onnx()
        return self.map.to_onnx(len(self.labels))

    def to_sklearn(self) -> Any:
        """Return the map as a transformer of scikit-learn; see `RecalibrationMap.to_sklearn`."""
        return self.map.to_sklearn()

    @property
    def before(self) -> ReliabilityCurve:
        """The reliability curve of the forecasts as they are; of classes that of all probabilities together."""
        return reliability_curve(self.table_before)

    @property
    def after(self) -> ReliabilityCurve:
        """The reliability curve of the recalibrated forecasts, each by a map that has not seen its case."""
        return reliability_curve(self.table_after)

    def summary(self) -> str:
        """Return the verdict in plain words, and the map in one line."""
        said = [_verdict_words(self), _map_words(self.method, self.map)]
        return "\n".join([*said, self.note] if self.note else said)

    def __str__(self) -> str:
        return self.summary()

    def _facts(self) -> dict[str, Any]:
        facts: dict[str, Any] = {"method": self.method, "rule": self.rule, "gain": self.verdict.gain}
        facts |= {"low": self.verdict.low, "high": self.verdict.high, "verdict": self.verdict.outcome, "n": self.n}
        return facts | ({"dropped": self.dropped} if self.dropped else {})


def _verdict_words(found: Recalibration) -> str:
    """Say what was found about the gain."""
    verdict, score = found.verdict, found.rule.label
    before, after = number(verdict.before), number(verdict.after)
    interval = f"{percent(found.level)} CI {_signed(verdict.low)} to {_signed(verdict.high)}"
    share = f", {percent(verdict.gain / verdict.before)}" if verdict.before > 0.0 else ""
    said = ""
    match verdict.outcome:
        case _ if verdict.is_immaterial:
            gain = f"the gain is {_signed(verdict.gain)} ({interval})"
            said = f"Recalibration leaves the {score} of {before} practically unchanged: {gain}"
        case "loss" if math.isinf(verdict.after):
            said = f"Recalibration raises the {score} from {before} to infinity: do not use it"
        case "gain":
            gain = f"a gain of {number(verdict.gain)}{share} ({interval})"
            said = f"Recalibration lowers the {score} from {before} to {after}: {gain}"
        case "loss":
            said = f"Recalibration raises the {score} from {before} to {after} ({interval} of the gain): do not use it"
        case "not shown":
            # The interval is for the candidate alone, and may leave 0 out.
            once = f" once {len(found.candidate) - 1} candidates are tested" * (verdict.low * verdict.high > 0.0)
            gain = f"the gain is {_signed(verdict.gain)} ({interval})"
            said = f"Recalibration is not shown to change the {score} of {before}{once}: {gain}"
        case "unchanged":
            said = f"Recalibration leaves the {score} at {before}"
        case "infinite":
            said = f"The {score} is infinite, also once recalibrated: what was called impossible happened"
        case "not tested":
            said = f"Recalibration changes the {score} from {before} to {after}, which was not tested"
    said = f"{said}; out of sample, {found.folds}."
    if verdict.reference == "none" or math.isinf(verdict.before):
        return said
    kept = f"gains are over the forecasts kept from certainty, at {found.maps['floored'].parameters['floor']:.3g}"
    return f"{said} The {score} of the forecasts as they are is infinite; {kept}."


def formula_of(fitted: RecalibrationMap | ClassMap) -> str:
    """Return the formula of a map; of one that leaves the forecasts as they are, that of the identity."""
    return f"q = {IdentityMap(floor=fitted.parameters['floor']).formula}" if _is_identity(fitted) else fitted.formula


def _is_identity(fitted: RecalibrationMap | ClassMap) -> bool:
    return isinstance(fitted, IdentityMap) or (isinstance(fitted, SplineMap) and fitted.shrinkage == 0.0)


def _map_words(method: str, fitted: RecalibrationMap | ClassMap) -> str:
    """Say what the map does."""
    if _is_identity(fitted):
        floor = fitted.parameters["floor"]
        kept = f", but none below {floor:.3g} or above 1 minus it" if floor else ""
        return f"The map ({method}) leaves the forecasts as they are{kept}."
    if isinstance(fitted, ClassMap):
        return _class_map_words(method, fitted)
    shrunk = ""
    if isinstance(fitted, SplineMap) and fitted.shrinkage < 1.0:
        shrunk = f", {percent(fitted.shrinkage)} of the way from the forecasts to the curve that fits best"
    return f"The map ({method}): {fitted.formula}{shrunk}."


def _class_map_words(method: str, fitted: ClassMap) -> str:
    """Say what a map of classes does, and how much of it is left by shrinkage."""
    shares = fitted.shares.tolist() if isinstance(fitted, VectorMap | MatrixMap) else [1.0]
    if isinstance(fitted, ClassIdentityMap) or not any(shares):
        floor = fitted.parameters["floor"]
        kept = f", but counts probabilities below {floor:.3g} as that" if floor else ""
        return f"The map ({method}) leaves the forecasts as they are{kept}."
    shrunk = ""
    if min(shares) < 1.0:
        told = zip(shares, ("the common slope", "what classes differ in", "the entries off the diagonal"), strict=False)
        shrunk = f"; shrinkage leaves {', '.join(f'{percent(share)} of {what}' for share, what in told)}"
    return f"The map ({method}): {fitted.formula}{shrunk}."


def _signed(value: float) -> str:
    return f"-{number(-value)}" if value < 0.0 else number(value)
