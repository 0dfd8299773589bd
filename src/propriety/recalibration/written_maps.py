"""Recalibration maps as formulas for engines: a narwhals expression or SQL."""

from __future__ import annotations

import json
import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import reduce
from operator import add, and_
from typing import Any, ClassVar, Literal, Protocol, Self, TypeAlias, cast, get_args

import narwhals as nw
import numpy as np

from propriety import checks
from propriety.errors import InputTypeError, InputValueError, MissingDependencyError, UnsupportedOperationError
from propriety.plain_data import plain
from propriety.storage.files import checked_fields, checked_version
from propriety.upward import upward

Dialect: TypeAlias = Literal["duckdb", "postgres", "spark", "bigquery", "snowflake"]
Column: TypeAlias = Any  # A narwhals expression, or SQL text.
FARTHEST = 700.0  # Log-odds whose exponential does not overflow.
MOST_PIECES = 20_000


class Written(Protocol):
    """The operations of formulas, besides `+ - * /` and comparisons."""

    def log(self, x: Column) -> Column:
        """Natural logarithm."""

    def exp(self, x: Column) -> Column:
        """Exponential."""

    def clip(self, x: Column, low: float, high: float) -> Column:
        """Clip x to [low, high]."""

    def greatest(self, columns: Sequence[Column]) -> Column:
        """Return the largest of two or more columns in each row."""

    def where(self, condition: Column, yes: Column, no: Column) -> Column:
        """`yes` if the condition holds, else `no`."""

    def constant(self, value: float) -> Column:
        """One number for all rows."""


class WrittenColumns(Written, Protocol):
    """The same with other columns than that of the forecasts, which ONNX models do not have."""

    def number(self, name: str) -> Column:
        """Another column, as numbers."""

    def is_label(self, name: str, label: str | float) -> Column:
        """Whether another column has a label."""


class _Expressions:
    def log(self, x: nw.Expr) -> nw.Expr:
        return x.log()

    def exp(self, x: nw.Expr) -> nw.Expr:
        return x.exp()

    def clip(self, x: nw.Expr, low: float, high: float) -> nw.Expr:
        return x.clip(low, high)

    def greatest(self, columns: Sequence[nw.Expr]) -> nw.Expr:
        return nw.max_horizontal(*columns)

    def where(self, condition: nw.Expr, yes: nw.Expr, no: nw.Expr) -> nw.Expr:
        return nw.when(condition).then(yes).otherwise(no)

    def constant(self, value: float) -> nw.Expr:
        return nw.lit(value, nw.Float64)

    def number(self, name: str) -> nw.Expr:
        return nw.col(name).cast(nw.Float64)

    def is_label(self, name: str, label: str | float) -> nw.Expr:
        return nw.col(name) == label


class _Text:
    """A formula in SQL; numbers are cast to double precision, because literals are decimals in some dialects."""

    __slots__ = ("text",)

    def __init__(self, value: str | float) -> None:
        self.text = value if isinstance(value, str) else f"CAST('{value!r}' AS DOUBLE)"

    def __add__(self, other: Column) -> _Text:
        return _joined(self, "+", other)

    def __radd__(self, other: Column) -> _Text:
        return _joined(other, "+", self)

    def __sub__(self, other: Column) -> _Text:
        return _joined(self, "-", other)

    def __rsub__(self, other: Column) -> _Text:
        return _joined(other, "-", self)

    def __mul__(self, other: Column) -> _Text:
        return _joined(self, "*", other)

    def __rmul__(self, other: Column) -> _Text:
        return _joined(other, "*", self)

    def __truediv__(self, other: Column) -> _Text:
        return _joined(self, "/", other)

    def __rtruediv__(self, other: Column) -> _Text:
        return _joined(other, "/", self)

    def __lt__(self, other: Column) -> _Text:
        return _joined(self, "<", other)

    def __le__(self, other: Column) -> _Text:
        return _joined(self, "<=", other)

    def __gt__(self, other: Column) -> _Text:
        return _joined(self, ">", other)

    def __ge__(self, other: Column) -> _Text:
        return _joined(self, ">=", other)

    def __and__(self, other: Column) -> _Text:
        return _joined(self, "AND", other)


def _text(value: Column) -> str:
    return value.text if isinstance(value, _Text) else _Text(float(value)).text


def _joined(one: Column, sign: str, other: Column) -> _Text:
    return _Text(f"({_text(one)} {sign} {_text(other)})")


class _Sql:
    def log(self, x: Column) -> _Text:
        return _Text(f"LN({_text(x)})")

    def exp(self, x: Column) -> _Text:
        return _Text(f"EXP({_text(x)})")

    def clip(self, x: Column, low: float, high: float) -> _Text:
        return _Text(f"LEAST(GREATEST({_text(x)}, {_text(low)}), {_text(high)})")

    def greatest(self, columns: Sequence[Column]) -> _Text:
        return _Text(f"GREATEST({', '.join(_text(one) for one in columns)})")

    def where(self, condition: Column, yes: Column, no: Column) -> _Text:
        return _Text(f"CASE WHEN {_text(condition)} THEN {_text(yes)} ELSE {_text(no)} END")

    def constant(self, value: float) -> _Text:
        return _Text(value)

    def number(self, name: str) -> _Text:
        return _column(name)

    def is_label(self, name: str, label: str | float) -> _Text:
        return _Text(f"({_quoted(name)} = {_literal(label)})")


EXPRESSIONS: WrittenColumns = _Expressions()
SQL: WrittenColumns = _Sql()
Formula: TypeAlias = Callable[[Column, WrittenColumns], Column]
ClassFormula: TypeAlias = Callable[[Sequence[Column], Written], list[Column]]


def written_expression(formula: Formula, column: str | nw.Expr) -> nw.Expr:
    """Write a formula of a column as an expression; invalid forecasts become null."""
    if not isinstance(column, str | nw.Expr):
        raise InputTypeError("must be the name of a column, or an expression", argument="column")
    p = (nw.col(column) if isinstance(column, str) else column).cast(nw.Float64)
    return nw.when(_valid(p, EXPRESSIONS)).then(formula(p, EXPRESSIONS))


def sql_of(formula: Formula, column: str, dialect: Dialect) -> str:
    """Write a formula of a column in SQL; invalid forecasts become NULL. Dialects other than DuckDB need SQLGlot."""
    p = _column(column)
    return _in_dialect(f"CASE WHEN {_text(_valid(p, SQL))} THEN {_text(formula(p, SQL))} END", dialect)


def written_expressions(formula: ClassFormula, columns: Sequence[str | nw.Expr], classes: int | None) -> list[nw.Expr]:
    """Write a formula of the columns of all classes as expressions; rows with invalid forecasts become null."""
    if not all(isinstance(one, str | nw.Expr) for one in _as_many(columns, classes)):
        raise InputTypeError("must be names of columns, or expressions", argument="columns")
    p = [(nw.col(one) if isinstance(one, str) else one).cast(nw.Float64) for one in columns]
    holds = reduce(and_, [_valid(one, EXPRESSIONS) for one in p])
    return [nw.when(holds).then(found) for found in formula(p, EXPRESSIONS)]


def sqls_of(formula: ClassFormula, columns: Sequence[str], classes: int | None, dialect: Dialect) -> list[str]:
    """Write a formula of the columns of all classes in SQL, one expression per class; see `sql_of`."""
    p = [_column(one) for one in _as_many(columns, classes)]
    holds = _text(reduce(and_, [_valid(one, SQL) for one in p]))
    return [_in_dialect(f"CASE WHEN {holds} THEN {_text(found)} END", dialect) for found in formula(p, SQL)]


def _valid(p: Column, ops: Written) -> Column:
    return (p >= 0.0) & (p <= 1.0) & is_number(p, ops)


def is_number(x: Column, ops: Written) -> Column:
    """Whether a column is finite, in a form that the statistics of a file cannot answer.

    They leave out NaN, and DuckDB relies on them in comparisons, so that NaN would be a forecast in [0, 1].
    """
    return ops.exp(x * 0.0) <= 2.0


def _as_many(columns: Any, classes: int | None) -> Sequence[Any]:
    """Return the columns; there must be one for each class."""
    wanted = range(classes, classes + 1) if classes else range(2, sys.maxsize)
    if isinstance(columns, str) or not isinstance(columns, Sequence) or len(columns) not in wanted:
        law = f"must be a list of {classes or 'two or more'} columns, one for each class"
        raise InputTypeError(law, argument="columns", got=columns)
    return columns


def _column(name: object) -> _Text:
    if not isinstance(name, str):
        raise InputTypeError("must be the name of a column", argument="column")
    return _Text(f"CAST({_quoted(name)} AS DOUBLE)")


def _quoted(name: str) -> str:
    doubled = _without_nul(name).replace('"', '""')
    return f'"{doubled}"'


def _literal(label: str | float) -> str:
    """Write a label in SQL; a boolean is a number in Python but not in SQL."""
    if isinstance(label, str):
        doubled = _without_nul(label).replace("'", "''")
        return f"'{doubled}'"
    return repr(label).upper() if isinstance(label, int) else _Text(label).text


def _without_nul(text: str) -> str:
    """Return a text; SQL with the character NUL is cut off there by some engines."""
    if "\0" in text:
        raise UnsupportedOperationError("names and labels with the character NUL cannot be written in SQL")
    return text


def _in_dialect(text: str, dialect: Dialect) -> str:
    """Translate SQL for DuckDB to a dialect."""
    checks.choice(dialect, "dialect", get_args(Dialect))
    if dialect == "duckdb":
        return text
    try:
        import sqlglot
    except ImportError as error:
        law = f"SQL for {dialect} needs SQLGlot, which is not installed"
        raise MissingDependencyError(law, hint="pip install sqlglot.") from error
    (found,) = sqlglot.transpile(text, read="duckdb", write=dialect)
    return str(found)


def log_odds_of(p: Column, floor: float, ops: Written) -> Column:
    """Return the log-odds of floored forecasts."""
    if not 1.0 - floor < 1.0:
        law = "a map in log-odds needs a floor above 1e-16 to be written out, because those of 0 and 1 are infinite"
        raise UnsupportedOperationError(law, offender=f"it is {floor!r}", hint="fit it with a floor such as 1e-6.")
    inside = ops.clip(p, floor, 1.0 - floor)
    return ops.log(inside / (1.0 - inside))


def log_probabilities_of(p: Sequence[Column], floor: float, ops: Written) -> list[Column]:
    """Return the logarithms of floored probabilities."""
    return [ops.log(ops.clip(one, floor, 1.0)) for one in p]


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


def piecewise(
    p: Column, pieces: Sequence[Callable[[], Column]], breaks: Sequence[tuple[float, bool]], ops: Written
) -> Column:
    """Return the value of the piece that contains each forecast, found by bisection.

    A break is a forecast and whether it belongs to the piece before it.
    """
    if len(pieces) > MOST_PIECES:
        law = f"a map with more than {MOST_PIECES:,} pieces cannot be written out; this one has {len(pieces):,}"
        raise UnsupportedOperationError(law, hint="merge some of its points, or use a smooth map.")
    if len(pieces) == 1:
        return pieces[0]()
    half = len(pieces) // 2
    at, before = breaks[half - 1]
    below = piecewise(p, pieces[:half], breaks[: half - 1], ops)
    above = piecewise(p, pieces[half:], breaks[half:], ops)
    return ops.where(p <= at if before else p < at, below, above)


def farthest_of(floor: float) -> float:
    """Return the largest absolute value of floored log-odds."""
    return math.inf if floor == 0.0 else -math.log(floor / (1.0 - floor))


KINDS: dict[str, type[StoredMap]] = {}


class StoredMap(ABC):
    """Base of frozen dataclasses whose fields are their parameters; `from_dict` restores what `to_dict` returns."""

    __slots__ = ()

    schema: ClassVar[str] = "propriety.recalibration_map"
    schema_version: ClassVar[int] = 1
    kind: ClassVar[str]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "kind" in cls.__dict__:
            KINDS[cls.kind] = cls

    @property
    @abstractmethod
    def formula(self) -> str:
        """The map in one line, with its numbers."""

    @property
    def parameters(self) -> dict[str, Any]:
        """The fields by name, without optional ones that were not given."""
        values = {field.name: getattr(self, field.name) for field in fields(cast("Any", self))}
        absent = [name for name in _optional(type(self)) if values[name] is None]
        return {name: value for name, value in values.items() if name not in absent}

    def to_dict(self) -> dict[str, Any]:
        """Return the map as plain Python data, with the name and version of its schema."""
        stored = {name: plain(value) for name, value in self.parameters.items()}
        return {"schema": self.schema, "version": self.schema_version, "kind": self.kind, **stored}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Restore a map from what `to_dict` returned; other data are rejected with an error.

        Examples
        --------
        >>> from propriety.recalibration import IdentityMap, RecalibrationMap
        >>> stored = IdentityMap(floor=0.01).to_dict()
        >>> RecalibrationMap.from_dict(stored)
        IdentityMap(floor=0.01)
        """
        checked_version(data, cls.schema, cls.schema_version)
        kinds: dict[Any, Any] = {name: kind for name, kind in KINDS.items() if issubclass(kind, cls)}
        known = kinds[checks.choice(data.get("kind"), "kind", list(kinds))]
        names = [field.name for field in fields(known)]
        given = {name: data[name] for name in data if name != "kind"}
        stored = checked_fields(given, cls.schema, names, optional=_optional(known))
        return known(**stored)

    def to_json(self, *, indent: int | None = None) -> str:
        """Return the result of `to_dict` as JSON."""
        return json.dumps(self.to_dict(), indent=indent, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Restore a map from what `to_json` returned."""
        try:
            data = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InputValueError("must be the JSON of a map", argument="text", offender=str(error)) from error
        return cls.from_dict(data)

    def to_sklearn(self) -> Any:
        """Return the map as a scikit-learn transformer; see `propriety.integrations.sklearn.MapTransformer`."""
        return upward("transformer", self)

    def __eq__(self, other: object) -> bool:
        """Whether two maps are of the same kind and have the same parameters."""
        return self.to_dict() == other.to_dict() if isinstance(other, StoredMap) else NotImplemented

    def __hash__(self) -> int:
        values = self.parameters.values()
        known = (one if isinstance(one, tuple | StoredMap) else float(np.sum(one)) for one in values)
        return hash((self.kind, *known))

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={_shown(value)}" for name, value in self.parameters.items())
        return f"{type(self).__name__}({shown})"


def _optional(kind: type[StoredMap]) -> list[str]:
    return [field.name for field in fields(cast("Any", kind)) if field.metadata.get("optional")]


def _shown(value: object) -> str:
    if isinstance(value, np.ndarray):
        return f"<{value.size} numbers>" if value.size > 8 else repr(_rounded(value.tolist()))
    if isinstance(value, tuple) and len(value) > 8:
        return f"<{len(value)} entries>"
    return f"{value:.6g}" if isinstance(value, float) else repr(value)


def _rounded(values: Any) -> Any:
    return [_rounded(one) for one in values] if isinstance(values, list) else float(f"{values:.6g}")
