"""The forecast table: for each distinct forecast, the weight of the events and of the non-events."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, Unpack, overload

import narwhals as nw
import numpy as np

from propriety import demands
from propriety.checks import check_cells
from propriety.errors import InputTypeError, InputValueError
from propriety.result import Floats, Result
from propriety.storage.files import read_parquet, write_parquet
from propriety.tables import frames, pooling, table_laws
from propriety.tables.cases import Cases, check_nothing_beside
from propriety.tables.events import Event
from propriety.tables.labels import Labels
from propriety.tables.lazy_cases import LazyCases
from propriety.tables.lazy_reading import read_lazy_cases
from propriety.tables.refinement import BUDGET, table_fields
from propriety.tables.table_holder import HoldsTables
from propriety.tables.table_laws import COLUMNS, COUNTS
from propriety.tables.validation import Missing, read_cases

if TYPE_CHECKING:
    from os import PathLike

    from numpy.typing import ArrayLike

    from propriety.tables.censored_outcomes import CensoredOutcomes


# What is given in place of outcomes to functions of one model's forecasts.
Outcomes: TypeAlias = "ArrayLike | Cases | LazyCases | CensoredOutcomes | HoldsTables | ForecastTable"


@dataclass(frozen=True, slots=True, weakref_slot=True, kw_only=True, eq=False, repr=False)
class ForecastTable(Result):
    """For each distinct forecast, the weight of the cases with and without the event.

    Every analysis of forecasts of a binary event is a function of this table. Tables add: `a + b` is the table of the
    union of their cases, so the tables of shards or days can be made separately and merged.

    Parameters
    ----------
    forecast : array of shape (rows,)
        Distinct forecasts in [0, 1], strictly increasing. On a grid, a row holds all cases of a cell and its forecast
        is their weighted mean.
    events, non_events : array of shape (rows,)
        Weight of the cases with and without the event; at least one of the two is positive in each row.
    event_squares, non_event_squares : array of shape (rows,), optional
        Sums of the squared weights of the same cases. Without them the cases are unweighted, and `events` and
        `non_events` are counts.
    n, n_events : int, optional
        Number of cases with a positive weight, and of those with the event; required if squares are given.
    dropped : int
        Rows left out because of missing values.
    cells : int, optional
        Number of cells of the grid in which the cases were pooled, a power of two; None for exact forecasts.
    refined : bool
        Whether forecasts are pooled by cell only where no block of isotonic regression begins or ends, so that the
        blocks and the reliability curve are those of the cases; see `from_frame`.

    Examples
    --------
    >>> table = ForecastTable.from_predictions([0, 0, 1, 1], [0.1, 0.4, 0.4, 0.8])
    >>> table
    ForecastTable(rows=3, n=4, weight=4, event_rate=0.5)
    >>> table.forecast, table.events
    (array([0.1, 0.4, 0.8]), array([0., 1., 1.]))
    >>> (table + table).n
    8
    >>> ForecastTable(forecast=[0.1, 0.6], events=[2, 5], non_events=[18, 5]).n_events
    7
    """

    schema: ClassVar[str] = "propriety.forecast_table"
    schema_version: ClassVar[int] = 1

    forecast: Floats
    events: Floats
    non_events: Floats
    event_squares: Floats = None  # type: ignore[assignment]  # made in __post_init__, as are n and n_events
    non_event_squares: Floats = None  # type: ignore[assignment]
    n: int = None  # type: ignore[assignment]
    n_events: int = None  # type: ignore[assignment]
    dropped: int = 0
    cells: int | None = None
    refined: bool = False

    def __post_init__(self) -> None:
        self._set(table_laws.checked_fields(**{field.name: getattr(self, field.name) for field in fields(self)}))

    def _set(self, values: Mapping[str, Any]) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __setstate__(self, state: Sequence[Any]) -> None:
        """Restore the fields from a pickle or a copy, and make the arrays read-only again."""
        for field, value in zip(fields(self), state, strict=True):
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
            object.__setattr__(self, field.name, value)

    @classmethod
    def from_predictions(
        cls,
        y_true: object,
        y_proba: object,
        *,
        sample_weight: object = None,
        pos_label: object = None,
        labels: Labels | None = None,
        missing: Missing = "raise",
    ) -> ForecastTable:
        """Make the table of binary predictions; see `propriety.mean_score` for the arguments."""
        options: dict[str, Any] = {"sample_weight": sample_weight, "labels": labels, "missing": missing}
        return cls.from_cases(read_cases(y_true, y_proba, pos_label=pos_label, kind="event", snapshot=False, **options))

    @classmethod
    def given(cls, y_true: object, y_proba: object = None, **options: Any) -> ForecastTable | None:
        """Return the table of a ledger or of cases on an engine, passed in place of outcomes; None for all others.

        A table itself is returned as it is, for functions of a table such as measures.
        """
        if not isinstance(y_true, ForecastTable | HoldsTables | LazyCases):
            return None
        what = "cases" if isinstance(y_true, LazyCases) else f"a {type(y_true).__name__}"
        check_nothing_beside(what, {"y_proba": y_proba, **options})
        if isinstance(y_true, LazyCases):
            return cls._of_engine(y_true.confirmed())
        return y_true if isinstance(y_true, ForecastTable) else y_true.table()

    @classmethod
    def of(cls, y_true: object, y_proba: object = None, **options: Any) -> ForecastTable:
        """Return the table of binary predictions, of cases or of a ledger; see `given`."""
        table = cls.given(y_true, y_proba, **options)
        return cls.from_predictions(y_true, y_proba, **options) if table is None else table

    @overload
    @classmethod
    def from_frame(cls, frame: object, *, by: None = None, **options: Unpack[frames.Options]) -> ForecastTable: ...
    @overload
    @classmethod
    def from_frame(
        cls, frame: object, *, by: str | Sequence[str], **options: Unpack[frames.Options]
    ) -> dict[Any, ForecastTable]: ...
    @classmethod
    def from_frame(  # noqa: PLR0913  (the columns, the labels, and how an engine is to count)
        cls,
        frame: object,
        *,
        outcome: str,
        forecast: str,
        weight: str | None = None,
        by: str | Sequence[str] | None = None,
        pos_label: object = None,
        labels: Labels | None = None,
        missing: Missing = "raise",
        exact: bool = True,
        budget: int = BUDGET,
        cells: int | None = None,
    ) -> ForecastTable | dict[Any, ForecastTable]:
        """Make the table of a data frame: eager (pandas, Polars, PyArrow), or lazy, where its engine does the work.

        A lazy frame (Polars, DuckDB, Spark, Dask, Ibis and the databases behind it) is never loaded into memory. The
        engine checks and counts its rows in one query, or in a few if there are many distinct forecasts.

        Parameters
        ----------
        frame : data frame
            Any data frame that narwhals supports.
        outcome, forecast, weight : str
            Names of the columns; no weight by default.
        by : str or sequence of str, optional
            Column or columns that define groups. The result is then a dict with a table for each group that has weight.
        pos_label, labels, missing
            As in `propriety.mean_score`.
        exact : bool
            For a lazy frame: False keeps the plain grid of `cells`, made by one query.
        budget : int
            For a lazy frame: how many rows a query may return. All forecasts are kept if the cells of the grid with
            several forecasts hold no more cases than this. Otherwise the table is refined: the forecasts at which a
            pooled block may begin or end are kept, and the others are pooled by cell at their mean. The reliability
            curve, recalibrated scores and the mean forecast are then exact, and scores of the forecasts themselves are
            off by less than the width of a cell.
        cells : int, optional
            For a lazy frame: number of cells of the first grid, a power of two. The default is 2**20, and 2**22 for an
            exact table of more than 2**28 rows.

        Examples
        --------
        >>> import polars as pl
        >>> frame = pl.DataFrame({"y": [0, 1, 1], "p": [0.2, 0.4, 0.9], "site": ["a", "a", "b"]})
        >>> ForecastTable.from_frame(frame, outcome="y", forecast="p")
        ForecastTable(rows=3, n=3, weight=3, event_rate=0.666667)
        >>> ForecastTable.from_frame(frame.lazy(), outcome="y", forecast="p", by="site")["b"]
        ForecastTable(rows=1, n=1, weight=1, event_rate=1)
        """
        options: dict[str, Any] = {"pos_label": pos_label, "labels": labels, "missing": missing}
        found = frames.known(frame)
        if isinstance(found, nw.LazyFrame):
            cases = read_lazy_cases(found, {forecast: forecast}, outcome=outcome, weight=weight, by=by, **options)
            fields = table_fields(cases, keys=cases.keys, exact=exact, budget=budget, cells=cells)
            groups = {key: cases.group(cases.keys, key.group) for key in fields}
            one = isinstance(by, str)
            tables = {groups[key][0] if one else groups[key]: cls(**given) for key, given in fields.items()}
            return tables[()] if by is None else tables
        columns = {"y_true": outcome, "y_proba": forecast, "sample_weight": weight}
        if by is None:
            return cls.from_predictions(**frames.columns_of(frame, columns), **options)
        return frames.made_of_groups(cls.from_predictions, frame, columns, by=by, **options)

    @classmethod
    def _of_engine(cls, cases: LazyCases) -> ForecastTable:
        """Make the table of the cases of one event and one model, counted by their engine."""
        if cases.labels is not None:
            law = f"must be the forecasts of one event; they are of {len(cases.labels)} classes"
            raise InputValueError(law, argument="y_proba", hint="pass propriety.condense(cases).table(event=...).")
        if len(cases.models) > 1:
            offender, hint = f"got those of {list(cases.models)}", "pass cases.of(name)."
            raise InputTypeError(demands.ONE_MODEL, argument="y_proba", offender=offender, hint=hint)
        (given,) = table_fields(cases, keys=(), exact=True, budget=BUDGET, cells=None).values()
        return cls(**given)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> ForecastTable:
        """Make a table from a dict of `to_dict`."""
        return cls(**table_laws.stored_fields(data, cls.schema, cls.schema_version))

    @classmethod
    def from_parquet(cls, path: str | PathLike[str]) -> ForecastTable:
        """Read a table that `to_parquet` wrote; needs PyArrow."""
        return cls.from_dict(read_parquet(path))

    def to_dict(self) -> dict[str, Any]:
        """Return the table as plain Python data, with the name and version of its schema."""
        # The class is named because a slots dataclass replaces the class that a bare super() refers to.
        return {"schema": self.schema, "version": self.schema_version, **Result.to_dict(self)}

    def to_parquet(self, path: str | PathLike[str]) -> None:
        """Write the table to a Parquet file; needs PyArrow."""
        facts = {name: value for name, value in self._fields().items() if not isinstance(value, np.ndarray)}
        write_parquet(path, self.columns(), {"schema": self.schema, "version": self.schema_version, **facts})

    @property
    def weights(self) -> Floats:
        """Weight of each row: events and non-events together."""
        return self.events + self.non_events

    @property
    def weight(self) -> float:
        """Total weight of the cases."""
        return float(self.events.sum() + self.non_events.sum())

    @property
    def event_rate(self) -> float:
        """Weighted share of the cases in which the event happened."""
        return float(self.events.sum()) / self.weight

    @property
    def event_rates(self) -> Floats:
        """Share of events in each row."""
        return self.events / self.weights

    @property
    def mean_forecast(self) -> float:
        """Weighted mean of the forecasts."""
        return float((self.weights * self.forecast).sum()) / self.weight

    @property
    def effective_n(self) -> float:
        """Kish's effective sample size: the squared sum of the weights over the sum of their squares."""
        return self.weight**2 / self.weight_squares

    @property
    def weight_squares(self) -> float:
        """Sum of the squared weights of the cases."""
        return float(self.event_squares.sum() + self.non_event_squares.sum())

    @property
    def is_weighted(self) -> bool:
        """Whether any case has a weight other than 1, that is, whether the sum of (weight - 1)^2 is not zero."""
        if self.event_squares is self.events:  # As it was made, which saves comparing the columns.
            return False
        return not table_laws.are_ones({name: getattr(self, name) for name in COLUMNS}, self.n)

    def __len__(self) -> int:
        return len(self.forecast)

    def __eq__(self, other: object) -> bool:
        """Whether two tables hold the same numbers."""
        if not isinstance(other, ForecastTable):
            return NotImplemented
        names = [field.name for field in fields(self)]
        return self is other or all(np.array_equal(getattr(self, name), getattr(other, name)) for name in names)

    def __hash__(self) -> int:
        return hash((len(self), self.n, self.n_events, self.dropped, self.cells))

    @classmethod
    def merge(cls, tables: Iterable[ForecastTable]) -> ForecastTable:
        """Return the table of the union of all cases; faster than adding many tables one by one.

        A refined table is exact for its own cases only. It is therefore merged only after `.grid(cells)` has turned it
        into a plain grid, and never implicitly.

        Examples
        --------
        >>> days = [ForecastTable.from_predictions([0, 1], [0.1, p]) for p in (0.3, 0.5, 0.7)]
        >>> ForecastTable.merge(days)
        ForecastTable(rows=4, n=6, weight=6, event_rate=0.5)
        """
        parts = list(tables)
        if len(parts) == 1:
            return parts[0]
        table_laws.check_addends(parts)
        names = COLUMNS if any(table.is_weighted for table in parts) else COUNTS
        columns = [np.concatenate([getattr(table, name) for table in parts]) for name in names]
        return cls._frozen(
            *pooling.pool(*columns, cells=parts[0].cells),
            n=sum(table.n for table in parts),
            n_events=sum(table.n_events for table in parts),
            dropped=sum(table.dropped for table in parts),
            cells=parts[0].cells,
        )

    def __add__(self, other: object) -> ForecastTable:
        return ForecastTable.merge([self, other]) if isinstance(other, ForecastTable) else NotImplemented

    def __radd__(self, other: object) -> ForecastTable:
        """Let `sum(tables)` start from 0."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def grid(self, cells: int = 2**10) -> ForecastTable:
        """Pool the cases in equal cells of [0, 1], so that the size of the table is bounded.

        The forecast of a cell is the weighted mean of the forecasts in it, so the mean forecast does not change.
        Forecasts of exactly 0 and 1 stay rows of their own, because only they claim certainty. `cells` is a power of
        two, so that a forecast falls into the same cell everywhere. A grid can be made coarser, but not finer.

        Examples
        --------
        >>> ForecastTable.from_predictions([0, 1, 1], [0.125, 0.1875, 1.0]).grid(4).forecast
        array([0.15625, 1.     ])
        """
        check_cells(cells, held=self.cells)
        columns = pooling.pool(*self._columns(), cells=int(cells))
        return self._frozen(*columns, n=self.n, n_events=self.n_events, dropped=self.dropped, cells=int(cells))

    def moved(self, forecast: Floats) -> ForecastTable:
        """Return the table of the same cases with another forecast for each row; equal forecasts are pooled."""
        columns = pooling.pool(forecast, *self._columns()[1:])
        return self._frozen(*columns, n=self.n, n_events=self.n_events, dropped=self.dropped)

    @classmethod
    def from_cases(cls, cases: Cases, model: str | None = None, event: Event | None = None) -> ForecastTable:
        """Make the table of a model (by default the only one) and an event, which must be given for classes."""
        own = (cases if model is None else cases.of(model)) if event is None else cases.event(event, model)
        columns, facts = pooling.pool_cases(own)
        return cls._frozen(*columns, **facts, dropped=own.dropped)

    @classmethod
    def _frozen(cls, *columns: Floats, **facts: Any) -> ForecastTable:
        """Make a table from new arrays in the order of `COLUMNS`, which need no copy."""
        given: dict[str, Any] = {field.name: field.default for field in fields(cls)}
        given |= zip(COLUMNS, columns, strict=False)  # Without squares the cases are unweighted.
        table = object.__new__(cls)
        table._set(table_laws.checked_fields(**given | facts, copy=False))
        return table

    def _columns(self) -> list[Floats]:
        """Return the columns; for an unweighted table without the squares, which equal the counts."""
        return [getattr(self, name) for name in (COLUMNS if self.is_weighted else COUNTS)]

    def _fields(self) -> dict[str, Any]:
        """Return the fields to store, without squares that equal the counts and without `refined` if it is False."""
        hidden = {*(() if self.is_weighted else COLUMNS[3:]), *(() if self.refined else ["refined"])}
        return {name: value for name, value in Result._fields(self).items() if name not in hidden}

    def _facts(self) -> dict[str, Any]:
        facts = {"rows": len(self), "n": self.n, "weight": self.weight, "event_rate": self.event_rate}
        beside = {"dropped": self.dropped, "cells": self.cells, "refined": self.refined}
        return facts | {name: value for name, value in beside.items() if value}


ROUNDING = 1e-9


def expected_table(forecast: Floats, weight: Floats, squares: Floats, rate: Floats | None = None) -> ForecastTable:
    """Return the table in which a case with forecast p is p of an event and 1 - p of a non-event.

    Its scores and curves are those expected if the forecasts are calibrated. Its number of cases counts both parts of a
    case; with weights, it is that of equally weighted cases.

    Parameters
    ----------
    forecast : ndarray of shape (rows,)
        Distinct forecasts, increasing.
    weight, squares : ndarray of shape (rows,)
        Sum of the weights of the cases with this forecast and of their squares; without weights, their number.
    rate : ndarray of shape (rows,), optional
        Event rate of these cases, if it is not the forecast: a case is then that much of an event.

    Examples
    --------
    >>> count = np.array([20.0, 10.0])
    >>> table = expected_table(np.array([0.1, 0.6]), count, count)
    >>> table.events, table.non_events
    (array([2., 6.]), array([18.,  4.]))
    """
    cases = np.ceil(weight**2 / squares * (1.0 - ROUNDING))
    rate = forecast if rate is None else rate
    n_events = int(cases[rate > 0.0].sum())
    return ForecastTable(
        forecast=forecast,
        events=weight * rate,
        non_events=weight * (1.0 - rate),
        event_squares=squares * rate**2,
        non_event_squares=squares * (1.0 - rate) ** 2,
        n=n_events + int(cases[rate < 1.0].sum()),
        n_events=n_events,
    )
