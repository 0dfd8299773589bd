"""The table of classes, each as an event of its own, the worst first, and which class was taken for which."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from propriety.calibration.class_test import pooled_table
from propriety.calibration.decomposition import Decomposition
from propriety.calibration.reliability import ReliabilityCurve, reliability_curve
from propriety.calibration.squared_distance import squared_distance
from propriety.decisions.roc import auc_of_table
from propriety.diagnostics.probability_means import (
    ProbabilityMeans,
    by_blocks,
    confidence_angle,
    joined,
    means_of_pairs,
)
from propriety.evaluation.made_when_asked import MadeWhenAsked
from propriety.inference.bootstrap import Drawing
from propriety.inference.calibration_findings import CALIBRATION
from propriety.inference.calibration_numbers import CalibrationNumbers, numbers_of_event, ratio_limits
from propriety.inference.calibration_words import is_shown, ways_of
from propriety.inference.class_readings import ClassReading
from propriety.inference.dependent_calibration import spread_of_regression, units_of_cases
from propriety.inference.finding import Finding, Findings
from propriety.inference.group_rows import texts_of_labels
from propriety.inference.risk_coverage import RiskCoverageCurve, risk_coverage_of
from propriety.ledger.ledger import Kind, Ledger
from propriety.result import Floats, Names, Result, Tuples, tuples_of
from propriety.rules.families import BRIER
from propriety.rules.scoring import mean_loss
from propriety.tables.cases import Cases
from propriety.tables.events import TOP, Event, event_of
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.lazy_cases import LazyCases
from propriety.tables.queries import fetched

MOST_SUMS = 100  # With more classes, an engine does not sum the forecasts of each.
LEVEL = 0.95
KEPT = 2**23  # Most rows of tables that are kept.


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Confusion(Result):
    """How often each class happened when each class was the most likely one; of equal probabilities the first counts.

    Parameters
    ----------
    labels : tuple of str
        The classes in order.
    count : ndarray of shape (K, K)
        Weight of the cases, by the class that happened (rows) and the most likely class (columns).
    expected : ndarray of shape (K, K), optional
        The same if each class happened with its forecast probability; None for more than 100 classes on an engine.
    """

    labels: tuple[str, ...]
    count: Floats
    expected: Floats | None

    @property
    def share(self) -> Floats:
        """Share of the cases of each class (row) for which each class was the most likely one; NaN without cases."""
        with np.errstate(invalid="ignore"):
            share: Floats = self.count / self.count.sum(axis=1, keepdims=True)
        return share

    def columns(self) -> dict[str, Any]:
        """Return a row for each pair of classes that occurs: the class, the most likely class, count and share."""
        return self._pairs(self.count > 0.0)

    def most_confused(self, most: int = 20) -> dict[str, Any]:
        """Return the pairs of different classes that occur most often, as in `columns`, the most frequent first."""
        wrong = self.count > 0.0
        np.fill_diagonal(wrong, val=False)
        found = self._pairs(wrong)
        order = np.argsort(-found["count"], kind="stable")[:most]
        return {name: column[order] for name, column in found.items()}

    def _pairs(self, chosen: NDArray[np.bool_]) -> dict[str, Any]:
        true, predicted = np.nonzero(chosen)
        names: Names = np.array(self.labels)
        columns = {"label": names[true], "predicted": names[predicted], "count": self.count[chosen]}
        columns["share"] = self.share[chosen]
        return columns if self.expected is None else columns | {"expected": self.expected[chosen]}

    def _facts(self) -> dict[str, Any]:
        right = float(np.trace(self.count) / self.count.sum())
        return {"classes": len(self.labels), "weight": float(self.count.sum()), "accuracy": right}


def confusion_of(ledger: Ledger, model: str) -> Confusion | None:
    """Count the cases of a model by their class and their most likely class, on an engine in one query.

    The result is None for a ledger without cases.

    Examples
    --------
    >>> from propriety import condense
    >>> rows = [[0.7, 0.2, 0.1], [0.2, 0.5, 0.3], [0.6, 0.3, 0.1]]
    >>> confusion_of(condense([0, 1, 1], {"a": rows}, labels=range(3)), "a").count
    array([[1., 0., 0.],
           [1., 1., 0.],
           [0., 0., 0.]])
    """
    source = ledger.source
    if source is None or ledger.labels is None:
        return None
    count, expected = _counted(source, model) if isinstance(source, Cases) else _queried(source, model)
    return Confusion(labels=tuple(texts_of_labels(ledger.labels)), count=count, expected=expected)


def _counted(cases: Cases, model: str) -> tuple[Floats, Floats]:
    from scipy.sparse import csr_array  # Imported here, because it is slow to import.

    classes = len(cases.labels or ())
    count, expected = np.zeros(classes * classes), np.zeros((classes, classes))
    for forecast, outcome, weight in cases.chunks(model):
        top = forecast.argmax(axis=0)
        count += np.bincount(outcome * classes + top, weight, minlength=len(count))
        w = np.ones(len(top)) if weight is None else weight
        expected += (csr_array((w, top, np.arange(len(top) + 1)), shape=(len(top), classes)).T @ forecast.T).T
    return count.reshape(classes, classes), expected


def _queried(cases: LazyCases, model: str) -> tuple[Floats, Floats | None]:
    place, classes = cases.models.index(model), len(cases.labels or ())
    # PostgreSQL may hold such numbers as decimals.
    columns = {"class": nw.col("class").cast(nw.Int64), "top": nw.col(f"top_{place}").cast(nw.Int64)}
    summed = range(classes) if classes <= MOST_SUMS else ()
    parts = {f"expected_{one}": cases.forecasts(place)[one] for one in summed}
    if cases.weighted:
        parts = {name: nw.col("weight") * part for name, part in parts.items()} | {"weight": nw.col("weight")}
    sums = [nw.col(name).sum().alias(name) for name in parts]
    sums += [] if cases.weighted else [nw.len().alias("weight")]
    found = fetched(cases.lawful_rows().select(**columns, **parts).group_by("class", "top").agg(*sums))

    def column(name: str) -> NDArray[Any]:
        return np.asarray(found.column(name).to_numpy(), dtype=np.float64)

    true, top = column("class").astype(np.intp), column("top").astype(np.intp)
    cells = np.bincount(true * classes + top, column("weight"), minlength=classes * classes)
    count: Floats = cells.reshape(classes, classes).astype(np.float64)
    if not summed:
        return count, None
    expected = [np.bincount(top, column(f"expected_{one}"), minlength=classes) for one in summed]
    return count, np.stack(expected).astype(np.float64)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class EvaluatedClasses(Result):
    """Each class of each model as an event of its own, one row each; of ordered classes, each cut point.

    The rows of a model begin with the strongest evidence of miscalibration.

    Parameters
    ----------
    model, label : ndarray of str
        The model and the class; of ordered classes, the grade of the cut point "at most this grade".
    place : ndarray of int
        Index of the class among the labels.
    n : ndarray of int
        Number of cases of the class.
    rate, mean_forecast : ndarray of float
        Observed frequency, and mean forecast.
    observed_expected, observed_expected_low, observed_expected_high : ndarray of float
        Their ratio, with its interval.
    slope : ndarray of float
        Calibration slope, below 1 if the forecasts are too extreme; NaN if the data do not determine it.
    miscalibration : ndarray of float
        Cost of miscalibration under the Brier score of the class, corrected for sampling noise; NaN if cases may be
        correlated and are not available.
    brier : ndarray of float
        Brier score of the class.
    auc : ndarray of float
        Probability that a case of the class has a higher forecast than another case; NaN without such cases.
    p_value, p_adjusted : ndarray of float
        p-value of the test of calibration, and the same adjusted for the number of classes or cut points of the
        model, as in `propriety.check_calibration`. NaN if the class is not tested.
    verdict : ndarray of str
        The verdict on the class, as in `propriety.check_calibration`.
    directions : ndarray of tuple
        In which ways the forecasts are wrong, if they are.
    level : float
        Level of the intervals and of the outcomes.
    """

    model: Names
    label: Names
    place: NDArray[np.intp]
    n: NDArray[np.int64]
    rate: Floats
    mean_forecast: Floats
    observed_expected: Floats
    observed_expected_low: Floats
    observed_expected_high: Floats
    slope: Floats
    miscalibration: Floats
    brier: Floats
    auc: Floats
    p_value: Floats
    p_adjusted: Floats
    verdict: Names
    directions: Tuples
    level: float

    def of(self, model: str) -> NDArray[np.intp]:
        """Return the rows of a model, the worst class first."""
        return np.flatnonzero(self.model == model)


class _Row(NamedTuple):
    """Numbers of one class that are not part of its test."""

    n: int
    rate: float
    mean_forecast: float
    miscalibration: float
    brier: float
    auc: float


def tables_of_classes(ledger: Ledger, model: str) -> Mapping[Any, ForecastTable]:
    """Return the tables of the classes of a model, or of its cut points, by label.

    They are kept only if they are small: those of 1,000 classes and 100,000 cases would take gigabytes.
    """
    labels, ordered = ledger.labels or (), ledger.kind == "ordinal"
    labels = labels[:-1] if ordered else labels
    source = ledger.source
    if not isinstance(source, Cases) or ordered or len(source) * len(labels) * len(ledger.models) <= KEPT:
        return MadeWhenAsked(labels, partial(ledger.table, model))
    places = {label: place for place, label in enumerate(labels)}
    return MadeWhenAsked(labels, partial(_table_of_class, source, model, places), keep=False)


def _table_of_class(source: Cases, model: str, places: Mapping[Any, int], label: Any) -> ForecastTable:
    return ForecastTable.from_cases(source, model, Event("class", places[label]))


def class_table(
    ledger: Ledger,
    tables: Mapping[str, Mapping[Any, ForecastTable]],
    readings: Mapping[str, ClassReading],
    found: Findings,
    *,
    level: float,
) -> EvaluatedClasses:
    """Return the table of the classes, or cut points, of each model from their tables, which are read once.

    The tests are those of `found`. Of cut points, which have no readings, neighbouring forecasts of more than 4,096
    cases are pooled for observed/expected and slope.
    """
    parts = [
        _of_model(ledger, model, tables[model], readings.get(model), found.where(model=model), level)
        for model in ledger.models
    ]
    names = [name for name in EvaluatedClasses.__dataclass_fields__ if name != "level"]
    return EvaluatedClasses(**{name: np.concatenate([part[name] for part in parts]) for name in names}, level=level)


def _of_model(
    ledger: Ledger,
    model: str,
    tables: Mapping[Any, ForecastTable],
    reading: ClassReading | None,
    checked: Findings,
    level: float,
) -> dict[str, Any]:
    cases = None if ledger.dependence is None else ledger.cases
    known = ledger.dependence is None or cases is not None
    found, rows = [], []
    for label in tables:
        table, own, lost = tables[label], None, math.nan
        if cases is not None:
            event = event_of(label, ledger.labels, ordered=ledger.kind == "ordinal")
            own = cases.event(event, model)
            lost = _miscalibration(table, own)
        if reading is None:
            short = pooled_table(table)
            found.append(numbers_of_event(short, own))
            lost = _miscalibration(short, None) if known and own is None else lost
        counts = table.n_events, table.event_rate, table.mean_forecast
        brier = mean_loss(BRIER, table.forecast, table.events, table.non_events)
        rows.append(_Row(*counts, lost, brier, auc_of_table(table)))
    if reading is None:
        numbers = CalibrationNumbers(*(np.concatenate(column) for column in zip(*found, strict=True)))
    else:
        numbers = reading.numbers
    missing = np.full(len(rows), math.nan)
    low, high = ratio_limits(numbers, level) if known else (missing, missing)
    columns = {name: np.array(column) for name, column in zip(_Row._fields, zip(*rows, strict=True), strict=True)}
    cost = columns["miscalibration"]
    columns |= {
        "model": np.full(len(rows), model),
        "label": np.array(texts_of_labels(list(tables))),
        "place": np.arange(len(rows)),
        "slope": numbers.slope,
        "observed_expected": numbers.ratio,
        "observed_expected_low": low,
        "observed_expected_high": high,
        **_tested(checked, list(tables), "class" if reading is not None else "cut"),
    }
    if reading is not None:
        columns["miscalibration"] = np.where(np.isnan(cost), _costs(reading, len(rows)), cost)
        if reading.test is not None:
            columns["p_adjusted"] = reading.test.class_p_adjusted  # For the number of classes only.
    # NaN comes last. Draws give many classes the same p-value, so the test by sums decides between them.
    order = np.lexsort((columns["place"], numbers.p_value, columns["p_value"], columns["p_adjusted"]))
    return {name: column[order] for name, column in columns.items()}


def _tested(checked: Findings, labels: Sequence[Any], key: str) -> dict[str, Any]:
    """Return the test and the verdict of each class or cut point."""
    tests = {row.keys[key]: row for row in checked.where(measure=CALIBRATION.key) if key in row.keys}
    sizes: dict[Any, list[Finding]] = {}
    for row in checked:
        if key in row.keys:
            sizes.setdefault(row.keys[key], []).append(row)
    found = [tests.get(label) for label in labels]
    shown = [row is not None and is_shown(row) for row in found]
    ways = zip(found, labels, shown, strict=True)
    return {
        "p_value": np.array([math.nan if row is None else row.p for row in found]),
        "p_adjusted": np.array([math.nan if row is None else row.tested_p for row in found]),
        "verdict": np.array(["not tested" if row is None else row.verdict for row in found]),
        "directions": tuples_of(
            ways_of(row, sizes[label]) if row and is_wrong else () for row, label, is_wrong in ways
        ),
    }


def _costs(reading: ClassReading, rows: int) -> Floats:
    """Return the miscalibration of each class, at least 0; NaN if cases may be correlated."""
    of_class = reading.distance.of_class if reading.independent else np.full(rows, math.nan)
    return np.maximum(of_class, 0.0)


def _miscalibration(table: ForecastTable, cases: Cases | None) -> float:
    """Return the bias-corrected miscalibration; the limits, which are not used, have any level."""
    if cases is None:
        return squared_distance(table, "miscalibration", level=LEVEL).value
    units = units_of_cases(cases)[0]
    found = squared_distance(
        table,
        "miscalibration",
        level=LEVEL,
        units=units,
        spread_of=lambda given: spread_of_regression(cases, table, given),
    )
    return found.value


def class_decomposition(found: EvaluatedClasses, model: str, ledger: Ledger, cost: Finding) -> Decomposition:
    """Return the parts of the Brier score of a model, whose miscalibration is corrected for sampling noise.

    The discrimination is what remains of the score. The miscalibration of correlated cases is the sum over the classes.
    """
    rows = found.of(model)
    rows = rows[np.argsort(found.place[rows])]
    score, uncertainty = found.brier[rows], found.rate[rows] * (1.0 - found.rate[rows])
    lost = found.miscalibration[rows]
    facts: dict[str, Any] = {"rule": BRIER, "n": ledger.n, "dropped": ledger.dropped}

    def parts_of(score: float, lost: float, uncertainty: float) -> Decomposition:
        gained = max(lost + uncertainty - score, 0.0)
        return Decomposition(score=score, miscalibration=lost, discrimination=gained, uncertainty=uncertainty, **facts)

    total = cost.value if np.isfinite(cost.value) else float(lost.sum())
    columns = (score.tolist(), lost.tolist(), uncertainty.tolist())
    parts = {label: parts_of(*row) for label, *row in zip(ledger.labels or (), *columns, strict=True)}
    return replace(parts_of(math.fsum(score), total, math.fsum(uncertainty)), parts=parts)


def class_means(tables: Mapping[Any, ForecastTable]) -> ProbabilityMeans:
    """Average the probabilities of the classes that happened, from the table of each class by its label."""
    parts: dict[Any, ProbabilityMeans] = {}
    for label, table in tables.items():
        facts = {"precision": None, "n": table.n, "dropped": table.dropped}
        parts[label] = means_of_pairs({label: by_blocks(table)}, "pav", facts)
    model, source, weight = (
        np.concatenate(column) for column in zip(*(part.probabilities for part in parts.values()), strict=True)
    )
    whole = replace(
        next(iter(parts.values())),
        probabilities=(model, source, weight),
        weight=float(weight.sum()),
        groups=joined(part.groups for part in parts.values() if part.groups is not None),
        parts=parts,
    )
    found = whole.spectrum(whole.exponent)
    assert found.source is not None  # noqa: S101  (for the type checker; the tables were recalibrated)
    angle = confidence_angle(found.model, found.source)
    return replace(whole, model=found.model, source=found.source, divergence=found.divergence, angle=angle)


MOST_DRAWN, WORST_DRAWN = 10, 9  # Of more classes than the first number, the second number is drawn.


class ClassAnalyses(ABC):
    """What an evaluation computes from the tables of its events, above all for classes; see `Evaluation`."""

    models: tuple[str, ...]
    kind: Kind
    level: float
    n_resamples: int
    seed: int
    ledger: Ledger

    @property
    @abstractmethod
    def calibration(self) -> Findings:
        """The calibration of each model on all cases."""

    @property
    @abstractmethod
    def best(self) -> str:
        """The model with the best main score."""

    @cached_property
    def tables(self) -> dict[str, Mapping[Any, ForecastTable]]:
        """The forecast tables of each model: that of the event, or one per class or cut point."""
        if self.kind == "binary":
            return {model: {"event": self.ledger.table(model)} for model in self.models}
        return {model: tables_of_classes(self.ledger, model) for model in self.models}

    @cached_property
    def classes(self) -> EvaluatedClasses | None:
        """Each class, or cut point, of each model as an event of its own, the worst first; None for binary outcomes."""
        if self.kind == "binary":
            return None
        return class_table(self._ledger_of_cases, self.tables, self.class_readings, self.calibration, level=self.level)

    @cached_property
    def class_readings(self) -> dict[str, ClassReading]:
        """What the tests of the classes of each model use, for classes that are not ordered."""
        models = self.models if self.kind == "multiclass" else ()
        return {model: ClassReading(self._ledger_of_cases, model, self._drawing, self.level) for model in models}

    @property
    def class_decompositions(self) -> dict[str, Decomposition]:
        """Parts of the Brier score of each model, the miscalibration corrected for noise; empty without classes."""
        if (classes := self.classes) is None:
            return {}
        costs = self.calibration.where(measure="miscalibration", statistic="value", keys={})
        return {cost.model: class_decomposition(classes, cost.model, self.ledger, cost) for cost in costs}

    @cached_property
    def confusion(self) -> dict[str, Confusion]:
        """Counts of the class that happened by the most likely class, of each model, for classes with their cases."""
        found = {model: confusion_of(self.ledger, model) for model in self.models}
        return {model: one for model, one in found.items() if one is not None}

    @property
    def drawn_classes(self) -> list[Any]:
        """The classes, or cut points, of the best model to draw: all if there are at most 10, else the 9 worst."""
        labels = list(self.tables[self.best])
        if self.classes is None or len(labels) <= MOST_DRAWN:
            return labels
        worst = self.classes.of(self.best)[:WORST_DRAWN]
        return [labels[place] for place in self.classes.place[worst].tolist()]

    @cached_property
    def top_reliability(self) -> dict[str, ReliabilityCurve]:
        """Reliability curve of the most likely class of each model, with its consistency band, for classes."""
        return {model: self._banded(self.ledger.table(model, TOP)) for model in self._with_top}

    @cached_property
    def risk_coverage(self) -> dict[str, RiskCoverageCurve]:
        """Risk of the most likely class of each model if the least confident answers are withheld, for classes."""
        return {model: risk_coverage_of(self.ledger, model, self.level) for model in self._with_top}

    def _banded(self, table: ForecastTable) -> ReliabilityCurve:
        curve = reliability_curve(table)
        return curve.with_consistency_band(level=self.level, n_resamples=self.n_resamples, seed=self.seed)

    @property
    def _with_top(self) -> tuple[str, ...]:
        """The models, if there are tables of their most likely class, which older stored ledgers do not have."""
        return self.models if self.kind == "multiclass" and TOP in self.ledger.events else ()

    @cached_property
    def _ledger_of_cases(self) -> Ledger:
        """The ledger with its cases in memory if cases are correlated and can be loaded; else the ledger itself."""
        cases = None if self.ledger.dependence is None else self.ledger.cases
        if cases is None or cases is self.ledger.source:
            return self.ledger
        return Ledger.of_source(cases, self.ledger.events)

    @property
    def _drawing(self) -> Drawing:
        return Drawing(self.n_resamples, self.seed)
