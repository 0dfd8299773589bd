"""Recalibration maps as formulas for engines: narwhals expressions, SQL, and the terms of which both are made."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from functools import reduce
from operator import add, and_
from typing import Any, Literal, Protocol, TypeAlias, get_args

import narwhals as nw
import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from propriety import checks
from propriety.errors import InputTypeError, MissingDependencyError, UnsupportedOperationError
from propriety.result import Floats

Dialect: TypeAlias = Literal["duckdb", "postgres", "spark", "bigquery", "snowflake"]
Column: TypeAlias = Any  # A narwhals expression, a term of SQL or ONNX, or one number for all rows.
Formula: TypeAlias = Callable[[Sequence[Column], Any], Sequence[Column]]
FARTHEST = 700.0  # Log-odds whose exponential does not overflow.
MOST_PIECES = 20_000


class Written(Protocol):
    """The operations of formulas, besides `+ - * /` and comparisons."""

    def column(self, name: Any) -> Column:
        """Return a column of the data, as numbers."""

    def log(self, x: Column) -> Column:
        """Natural logarithm."""

    def exp(self, x: Column) -> Column:
        """Exponential."""

    def clip(self, x: Column, low: float, high: float) -> Column:
        """Clip x to [low, high]."""

    def greatest(self, columns: Sequence[Column]) -> Column:
        """Return the largest of two or more columns in each row."""

    def where(self, condition: Column, yes: Column, no: Column = None) -> Column:
        """`yes` if the condition holds, else `no`, by default a missing value."""

    def piecewise(self, p: Column, breaks: Floats, table: Floats, formula: Callable[..., Column]) -> Column:
        """Return a formula of the coefficients of the piece of each forecast, a row of the table.

        A break belongs to the piece after it.
        """


class WrittenColumns(Written, Protocol):
    """The same with columns of labels, which ONNX models do not have."""

    def is_label(self, name: str, label: str | float) -> Column:
        """Whether a column has a label."""


class _Nested:
    """Pieces as nested conditions, found by bisection."""

    def piecewise(self: Any, p: Column, breaks: Floats, table: Floats, formula: Callable[..., Column]) -> Column:
        if len(table) > MOST_PIECES:
            law = f"a map with more than {MOST_PIECES:,} pieces cannot be written out; this one has {len(table):,}"
            raise UnsupportedOperationError(law, hint="merge some of its points, or use a smooth map.")
        if len(table) == 1:
            return formula(*table[0].tolist())
        half = len(table) // 2
        below = self.piecewise(p, breaks[: half - 1], table[:half], formula)
        above = self.piecewise(p, breaks[half:], table[half:], formula)
        return self.where(p < float(breaks[half - 1]), below, above)


class _Expressions(_Nested):
    def column(self, name: str | nw.Expr) -> nw.Expr:
        if not isinstance(name, str | nw.Expr):
            raise InputTypeError("must be the name of a column, or an expression", argument="column")
        return (nw.col(name) if isinstance(name, str) else name).cast(nw.Float64)

    def is_label(self, name: str, label: str | float) -> nw.Expr:
        return nw.col(name) == label

    def log(self, x: nw.Expr) -> nw.Expr:
        return x.log()

    def exp(self, x: nw.Expr) -> nw.Expr:
        return x.exp()

    def clip(self, x: nw.Expr, low: float, high: float) -> nw.Expr:
        return x.clip(low, high)

    def greatest(self, columns: Sequence[nw.Expr]) -> nw.Expr:
        return nw.max_horizontal(*columns)

    def where(self, condition: nw.Expr, yes: Column, no: Column = None) -> nw.Expr:
        yes, no = (nw.lit(one, nw.Float64) if isinstance(one, float) else one for one in (yes, no))
        found = nw.when(condition).then(yes)
        return found if no is None else found.otherwise(no)


class Term(NDArrayOperatorsMixin):
    """A text in a formula; arithmetic and comparisons make longer ones by the operations of its language."""

    def __init__(self, language: Any, text: str) -> None:
        self.language, self.text = language, text

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Column) -> Term:
        """Join two terms by an operator, which calls this function of NumPy."""
        del method
        joined: Term = self.language.joined(ufunc, *inputs)
        return joined


SIGNS: dict[Any, str] = {np.add: "+", np.subtract: "-", np.multiply: "*", np.true_divide: "/", np.bitwise_and: "AND"}
SIGNS |= {np.less: "<", np.less_equal: "<=", np.greater: ">", np.greater_equal: ">="}


class _Sql(_Nested):
    """SQL for DuckDB. Numbers are cast to double precision, because literals are decimals in some dialects."""

    def column(self, name: object) -> Term:
        if not isinstance(name, str):
            raise InputTypeError("must be the name of a column", argument="column")
        return Term(self, f"CAST({_quoted(name)} AS DOUBLE)")

    def is_label(self, name: str, label: str | float) -> Term:
        # A boolean is a number in Python but not in SQL.
        whole = isinstance(label, int)
        text = _quoted(label, "'") if isinstance(label, str) else repr(label).upper() if whole else _text(label)
        return Term(self, f"({_quoted(name)} = {text})")

    def joined(self, ufunc: np.ufunc, one: Column, other: Column) -> Term:
        return Term(self, f"({_text(one)} {SIGNS[ufunc]} {_text(other)})")

    def log(self, x: Column) -> Term:
        return Term(self, f"LN({_text(x)})")

    def exp(self, x: Column) -> Term:
        return Term(self, f"EXP({_text(x)})")

    def clip(self, x: Column, low: float, high: float) -> Term:
        return Term(self, f"LEAST(GREATEST({_text(x)}, {_text(low)}), {_text(high)})")

    def greatest(self, columns: Sequence[Column]) -> Term:
        return Term(self, f"GREATEST({', '.join(map(_text, columns))})")

    def where(self, condition: Column, yes: Column, no: Column = None) -> Term:
        other = "" if no is None else f" ELSE {_text(no)}"
        return Term(self, f"CASE WHEN {_text(condition)} THEN {_text(yes)}{other} END")


def _text(value: Column) -> str:
    return value.text if isinstance(value, Term) else f"CAST('{float(value)!r}' AS DOUBLE)"


def _quoted(text: str, mark: str = '"') -> str:
    """Return a name or a text in quotes; SQL with the character NUL is cut off there by some engines."""
    if "\0" in text:
        raise UnsupportedOperationError("names and labels with the character NUL cannot be written in SQL")
    return f"{mark}{text.replace(mark, 2 * mark)}{mark}"


EXPRESSIONS: WrittenColumns = _Expressions()
SQL: WrittenColumns = _Sql()


def written(formula: Formula, columns: Sequence[Any], ops: Written) -> list[Column]:
    """Write a formula of columns of forecasts; rows in which one is missing or outside [0, 1] have missing values."""
    p = [ops.column(one) for one in columns]
    holds = reduce(and_, [(one >= 0.0) & (one <= 1.0) & is_number(one, ops) for one in p])
    return [ops.where(holds, found) for found in formula(p, ops)]


def sql_of(formula: Formula, columns: Sequence[str], dialect: Dialect) -> list[str]:
    """Write a formula of columns of forecasts in SQL. Dialects other than DuckDB need SQLGlot."""
    checks.choice(dialect, "dialect", get_args(Dialect))
    found = [_text(one) for one in written(formula, columns, SQL)]
    if dialect == "duckdb":
        return found
    try:
        import sqlglot
    except ImportError as error:
        law = f"SQL for {dialect} needs SQLGlot, which is not installed"
        raise MissingDependencyError(law, hint="pip install sqlglot.") from error
    return [str(sqlglot.transpile(text, read="duckdb", write=dialect)[0]) for text in found]


def is_number(x: Column, ops: Written) -> Column:
    """Whether a column is finite, in a form that the statistics of a file cannot answer.

    They leave out NaN, and DuckDB relies on them in comparisons, so that NaN would be a forecast in [0, 1].
    """
    return ops.exp(x * 0.0) <= 2.0


def checked_columns(columns: Any, classes: int | None) -> Sequence[Any]:
    """Return the columns; there must be one for each class."""
    wanted = range(classes, classes + 1) if classes else range(2, sys.maxsize)
    if isinstance(columns, str) or not isinstance(columns, Sequence) or len(columns) not in wanted:
        law = f"must be a list of {classes or 'two or more'} columns, one for each class"
        raise InputTypeError(law, argument="columns", got=columns)
    return columns


def log_odds_of(p: Column, floor: float, ops: Written) -> Column:
    """Return the log-odds of floored forecasts."""
    if not 1.0 - floor < 1.0:
        law = "a map in log-odds needs a floor above 1e-16 to be written out, because those of 0 and 1 are infinite"
        raise UnsupportedOperationError(law, offender=f"it is {floor!r}", hint="fit it with a floor such as 1e-6.")
    inside = ops.clip(p, floor, 1.0 - floor)
    return ops.log(inside / (1.0 - inside))


def softmax_of(scores: Sequence[Column], farthest: float, ops: Written) -> list[Column]:
    """Return the softmax of scores, whose absolute values are at most `farthest`."""
    if farthest > FARTHEST:
        # Only differences within a row matter; below the largest score by 700, a probability is 0 but for 1e-304.
        largest = ops.greatest(scores)
        scores = [ops.clip(one - largest, -FARTHEST, 0.0) for one in scores]
    return normalised([ops.exp(one) for one in scores])


def normalised(parts: Sequence[Column]) -> list[Column]:
    """Return the share of each part in their sum."""
    total = reduce(add, parts)
    return [one / total for one in parts]


def expit_of(x: Column, farthest: float, ops: Written) -> Column:
    """Return the probability for log-odds, whose absolute value is at most `farthest`."""
    near = x if farthest <= FARTHEST else ops.clip(x, -FARTHEST, FARTHEST)
    return 1.0 / (1.0 + ops.exp(0.0 - near))


def farthest_of(floor: float) -> float:
    """Return the largest absolute value of floored log-odds."""
    return math.inf if floor == 0.0 else -math.log(floor / (1.0 - floor))
