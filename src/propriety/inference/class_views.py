"""The test of the calibration of class probabilities of a ledger, with or without its cases."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import reduce
from operator import add
from typing import NamedTuple

import narwhals as nw
import numpy as np

from propriety.calibration.calibration_test import NullScores, views_of
from propriety.calibration.class_test import (
    MOST_EXACT,
    SAME,
    SMALLEST,
    ClassScores,
    ClassTest,
    View,
    joined_test,
    line_of_table,
    line_p_values,
    standardised,
)
from propriety.inference.bootstrap import Drawing
from propriety.inference.calibration_testing import calibration_test_of
from propriety.inference.dependence import hac, sums_of_units
from propriety.inference.dependent_calibration import units_of_cases
from propriety.ledger.ledger import Ledger
from propriety.result import Floats
from propriety.tables.cases import Cases
from propriety.tables.events import Event
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.lazy_cases import LazyCases
from propriety.tables.queries import Lazy, fetched, row_by_row


class Lines(NamedTuple):
    """The p-value of intercept and slope of each class, its information, and that of cases that are not correlated."""

    p_values: Floats
    information: Floats
    uncorrelated: Floats


def class_tables(ledger: Ledger, model: str) -> Iterator[tuple[ForecastTable, Cases | None]]:
    """Yield the table of each class, and its cases if they are available; those of many cases are not kept."""
    cases = ledger.cases
    for place in range(ledger.classes or 0):
        event = Event("class", place)
        if cases is None:
            yield ledger.table(model, event), None
        else:
            own = cases.event(event, model)
            yield ledger.table(model, event) if own.n <= MOST_EXACT else ForecastTable.from_cases(own), own


def lines_of(tables: Iterable[tuple[ForecastTable, Cases | None]], drawing: Drawing) -> Lines:
    """Return the lines of all classes; a class with too little information for its distribution has the p-value NaN."""
    lines = [_line(table, own, drawing) for table, own in tables]
    return Lines(*(np.array(column) for column in zip(*lines, strict=True)))


def _line(table: ForecastTable, own: Cases | None, drawing: Drawing) -> tuple[float, float, float]:
    sums, variance, uncorrelated = line_of_table(table)
    p_value, information = float(line_p_values(sums, variance, uncorrelated)), uncorrelated
    if own is not None and (own.cluster is not None or own.period is not None):
        test = calibration_test_of(Ledger.of_source(own, (Event("event"),)), own.models[0], drawing)
        assert test is not None  # noqa: S101  (for the type checker; the cases are available)
        information, p_value = test.information, test.line_p_value
    return p_value if information >= SMALLEST else math.nan, information, uncorrelated


def class_test_of_cases(cases: Cases, scores: ClassScores, lines: Lines) -> ClassTest:
    """Test the probabilities of cases whose weights, clusters or periods enter through the dispersion of the sums.

    With weights, the variance of the sums of temperature and shape is at least that of the weighted residuals.
    """
    residuals, noise_df = standardised(scores.residuals, scores.variance), math.inf
    if cases.cluster is not None or cases.period is not None:
        units, codes = units_of_cases(cases)
        residuals = sums_of_units(residuals.T, codes, units).T
    dispersion: Floats = (residuals**2).sum(axis=0)
    if cases.period is not None and len(residuals) > 1:
        error, df = hac(residuals - residuals.mean(axis=0))
        dispersion, noise_df = error**2, float(df[0])
    sums = residuals.sum(axis=0)
    sizes = (1, len(sums) - 1, 0)
    given = NullScores(sums, np.empty((0, len(sums))), np.empty(0, dtype=np.intp), sizes, 0.0)
    temperature, shape, _ = views_of(given, dispersion, noise_df)
    p_values: dict[View, float] = {"temperature": temperature.p_value} if scores.variance[0, 0] > 0.0 else {}
    p_values |= {"shape": shape.p_value} if shape.df > 0.0 else {}
    method = "chi-squared" if math.isinf(noise_df) else "F"
    return joined_test(p_values, float(sums[0]), lines.p_values, method)


def class_test_of_tables(ledger: Ledger, model: str, lines: Lines) -> ClassTest:
    """Test the probabilities of a ledger without cases in memory: the temperature and the classes."""
    drifted, second = np.sum([_drift(table) for table, _ in class_tables(ledger, model)], axis=0).tolist()
    variance = second - _squared_entropies(ledger, model)
    varies = variance > SAME * second
    z = drifted / math.sqrt(variance) if varies else 0.0
    p_values: dict[View, float] = {"temperature": math.erfc(abs(z) / math.sqrt(2.0))} if varies else {}
    return joined_test(p_values, z, lines.p_values, "chi-squared")


def _drift(table: ForecastTable) -> Floats:
    """Return what a class adds to the sum of the temperature, and to the first part of its variance."""
    rows = slice(int(np.searchsorted(table.forecast, 0.0, side="right")), None)
    p = table.forecast[rows]
    log = np.log(p)
    residual = table.events[rows] * (1.0 - p) - table.non_events[rows] * p
    square = table.event_squares[rows] + table.non_event_squares[rows]
    return np.array([residual @ log, square @ (p * log**2)])


def _squared_entropies(ledger: Ledger, model: str) -> float:
    r"""Return :math:`\sum_i w_i^2 (\sum_k p_{ik} \log p_{ik})^2` from an engine, or the least that tables allow."""
    if isinstance(ledger.source, LazyCases):
        return _of_engine(ledger.source, ledger.source.models.index(model))
    entropy = squares = 0.0
    for table, _ in class_tables(ledger, model):
        square, p = table.event_squares + table.non_event_squares, table.forecast
        inside = p > 0.0
        entropy += float(square[inside] @ (p[inside] * np.log(p[inside])))
        squares = float(square.sum())
    return entropy**2 / squares


def _of_engine(cases: LazyCases, model: int) -> float:
    """Compute the sum of squared entropies in one query."""
    weight = nw.col("weight") if cases.weighted else cases.forecasts(model)[0] * 0.0 + 1.0
    columns = {"w": weight, **{f"p_{place}": own for place, own in enumerate(cases.forecasts(model))}}
    names = [name for name in columns if name != "w"]
    tiny = np.finfo(np.float64).tiny

    def of_rows(rows: Lazy) -> Lazy:
        rows = rows.select(**columns)
        terms = [nw.col(name) * nw.col(name).clip(tiny).log() for name in names]
        rows = rows.select(w=nw.col("w"), h=reduce(add, terms))
        return rows.select(squares=nw.col("w") * nw.col("w") * nw.col("h") * nw.col("h"))

    table = fetched(row_by_row(cases.lawful_rows(), of_rows).select(nw.col("squares").sum()))
    return float(table.column("squares")[0].as_py())
