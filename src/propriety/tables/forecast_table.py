"""The forecast table: for each distinct forecast, the weight of the events and of the non-events."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, overload

import narwhals as nw
import numpy as np

from propriety.errors import InputTypeError, InputValueError, ProprietyError, sentence
from propriety.results import Floats, Result
from propriety.tables import frames, pooling, table_laws
from propriety.tables.cases import Cases, Event
from propriety.tables.engine_source import read_source
from propriety.tables.refinement import BUDGET, table_fields
from propriety.tables.validation import TOLERANCE, Labels, Missing, read_cases

if TYPE_CHECKING:
    from os import PathLike

__all__ = ["ForecastTable"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ForecastTable(Result):
    """For each distinct forecast, the weight of the cases with and without the event.

    Everything the package says about forecasts of a binary event is a function of this table. Tables add:
    `a + b` is the table of the union of their cases, so shards and days are made apart and merged.

    Parameters
    ----------
    forecast : array of shape (rows,)
        Distinct forecasts in [0, 1], strictly increasing.
    events, non_events : array of shape (rows,)
        Weight of the cases in which the event happened, and did not; not both zero.
    n : int
        Number of cases with a positive weight.
    weight_squares : float
        Sum of the squared weights of the cases; with `weight` it gives the effective sample size.
    dropped : int
        Rows left out because of missing values.
    cells : int, optional
        Cells of the grid the forecasts were rounded to, a power of two; None for exact forecasts.
    refined : bool
        Whether only those forecasts are rounded that no pooled block begins or ends with, so that isotonic
        regression, its blocks and the reliability curve are those of the cases; see `from_frame`.

    Examples
    --------
    >>> table = ForecastTable.from_predictions([0, 0, 1, 1], [0.1, 0.4, 0.4, 0.8])
    >>> table
    ForecastTable(rows=3, n=4, weight=4, event_rate=0.5)
    >>> table.forecast, table.events
    (array([0.1, 0.4, 0.8]), array([0., 1., 1.]))
    >>> (table + table).n
    8
    """

    schema: ClassVar[str] = "propriety.forecast_table"
    schema_version: ClassVar[int] = 1

    forecast: Floats
    events: Floats
    non_events: Floats
    n: int
    weight_squares: float
    dropped: int = 0
    cells: int | None = None
    refined: bool = False

    def __post_init__(self) -> None:
        columns = {name: table_laws.column(name, getattr(self, name)) for name in ("forecast", "events", "non_events")}
        for name, column in pooling.checked(**columns).items():
            column.flags.writeable = False
            object.__setattr__(self, name, column)
        table_laws.check_facts(self)

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
        cases = read_cases(
            y_true,
            y_proba,
            sample_weight=sample_weight,
            pos_label=pos_label,
            labels=labels,
            missing=missing,
            kind="event",
        )
        return cls.from_cases(cases)

    @classmethod
    def of(cls, y_true: object, y_proba: object = None, **options: Any) -> ForecastTable:
        """Return the table of what an analysis is given: binary predictions, or a table in their place."""
        if not isinstance(y_true, ForecastTable):
            return cls.from_predictions(y_true, y_proba, **options)
        beside = {"y_proba": y_proba, **options}
        given = [name for name, value in beside.items() if value is not None and name != "missing"]
        if given:
            law = f"a ForecastTable holds outcomes, forecasts and weights; pass no {given[0]} beside it"
            raise InputTypeError(sentence(law))
        return y_true

    @classmethod
    def per_class(
        cls,
        y_true: object,
        y_proba: object,
        *,
        sample_weight: object = None,
        labels: Labels | None = None,
        missing: Missing = "raise",
        tolerance: float = TOLERANCE,
    ) -> dict[Any, ForecastTable]:
        """Make one table per class of rows of probabilities: the event is "y is this class".

        The arguments are those of `propriety.mean_score`.

        Examples
        --------
        >>> ForecastTable.per_class([0, 2], [[0.7, 0.2, 0.1], [0.2, 0.3, 0.5]])[2]
        ForecastTable(rows=2, n=2, weight=2, event_rate=0.5)
        """
        cases = read_cases(
            y_true,
            y_proba,
            sample_weight=sample_weight,
            labels=labels,
            missing=missing,
            tolerance=tolerance,
            kind="classes",
        )
        return dict(zip(cases.labels or (), map(cls.from_cases, cases.events("class")), strict=True))

    @classmethod
    def per_cut_point(
        cls,
        y_true: object,
        y_proba: object,
        *,
        sample_weight: object = None,
        labels: Labels | None = None,
        missing: Missing = "raise",
        tolerance: float = TOLERANCE,
    ) -> dict[Any, ForecastTable]:
        """Make one table per cut point of ordered classes: the event is "y is at most this class".

        Cumulative forecasts are rounded to 12 decimals, because the noise of their sums would split ties,
        and those above 1 by no more than `tolerance`, which rows may be off by, are 1.
        The arguments are those of `propriety.mean_score`.
        """
        cases = read_cases(
            y_true,
            y_proba,
            sample_weight=sample_weight,
            labels=labels,
            missing=missing,
            tolerance=tolerance,
            kind="classes",
        )
        return dict(zip((cases.labels or ())[:-1], map(cls.from_cases, cases.events("cut")), strict=True))

    @overload
    @classmethod
    def from_frame(
        cls,
        frame: object,
        *,
        outcome: str,
        forecast: str,
        weight: str | None = None,
        by: None = None,
        pos_label: object = None,
        labels: Labels | None = None,
        missing: Missing = "raise",
        exact: bool = True,
        budget: int = BUDGET,
        cells: int | None = None,
    ) -> ForecastTable: ...
    @overload
    @classmethod
    def from_frame(
        cls,
        frame: object,
        *,
        outcome: str,
        forecast: str,
        weight: str | None = None,
        by: str | Sequence[str],
        pos_label: object = None,
        labels: Labels | None = None,
        missing: Missing = "raise",
        exact: bool = True,
        budget: int = BUDGET,
        cells: int | None = None,
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
        """Make the table of a frame: eager (pandas, Polars, PyArrow), or lazy, where its engine does the work.

        A lazy frame (Polars, DuckDB, Spark, Dask, Ibis and the databases behind it) is never brought into memory:
        the engine checks and counts its rows in one query, or a few where the forecasts are many.

        Parameters
        ----------
        frame : data frame
            Anything that narwhals knows.
        outcome, forecast, weight : str
            Names of the columns; no weight by default.
        by : str or sequence of str, optional
            Column or columns that tell groups; the result is then a dict with one table per group.
        pos_label, labels, missing
            As in `propriety.mean_score`.
        exact : bool
            For a lazy frame: False keeps the plain grid of `cells`, made by one query.
        budget : int
            For a lazy frame: how many rows a query may bring back. All forecasts are kept if those that share a cell of
            the grid with others have no more cases than this. Beyond it the table is refined: cells keep the forecasts
            that pooled blocks may begin or end with, and the others are rounded to the centres of their cells. Then
            the reliability curve and recalibrated scores are exact, and scores of the forecasts themselves are off by
            less than the width of a cell.
        cells : int, optional
            For a lazy frame: cells of the first grid, a power of two. By default 2**20, and 2**22 for an exact table of
            more than 2**28 rows.

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
            source = read_source(found, outcome=outcome, forecasts={None: forecast}, weight=weight, by=by, **options)
            fields = table_fields(source, exact=exact, budget=budget, cells=cells)
            tables = {source.label(group): cls._frozen(**given) for (_, group), given in fields.items()}
            return tables[()] if by is None else tables
        columns = {"y_true": outcome, "y_proba": forecast, "sample_weight": weight}
        if by is None:
            return cls.from_predictions(**frames.columns_of(frame, columns), **options)
        groups = {}
        for group, arguments in frames.groups_of(frame, columns, by=by):
            try:
                groups[group] = cls.from_predictions(**arguments, **options)
            except ProprietyError as error:
                error.args = (f"In the group {group!r}: {error}",)
                raise
        return groups

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> ForecastTable:
        """Make a table from what `to_dict` returned."""
        names = [field.name for field in fields(cls)]
        return cls(**frames.checked_schema(data, cls.schema, cls.schema_version, names, optional=["refined"]))

    @classmethod
    def from_parquet(cls, path: str | PathLike[str]) -> ForecastTable:
        """Read a table that `to_parquet` wrote; needs PyArrow."""
        return cls.from_dict(frames.read_parquet(path))

    def to_dict(self) -> dict[str, Any]:
        """Return the table as plain Python data, with the name and version of its schema."""
        # Named, because a slots dataclass replaces the class that a bare super() refers to.
        return {"schema": self.schema, "version": self.schema_version, **Result.to_dict(self)}

    def to_parquet(self, path: str | PathLike[str]) -> None:
        """Write the table to a Parquet file; needs PyArrow."""
        facts = {"schema": self.schema, "version": self.schema_version, **self._plain_fields()}
        frames.write_parquet(path, self.rows(), facts)

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
    def is_weighted(self) -> bool:
        """Whether any case has a weight other than 1: the sum of (weight - 1)^2 is not zero."""
        return self.weight_squares - 2.0 * self.weight + self.n != 0.0

    def __len__(self) -> int:
        return len(self.forecast)

    @classmethod
    def merge(cls, tables: Iterable[ForecastTable]) -> ForecastTable:
        """Return the table of the union of all cases; faster than adding many tables one by one.

        A refined table is exact for its own cases only, so it is added as the plain grid that `.grid(cells)` makes of
        it, and never unasked.

        Examples
        --------
        >>> days = [ForecastTable.from_predictions([0, 1], [0.1, p]) for p in (0.3, 0.5, 0.7)]
        >>> ForecastTable.merge(days)
        ForecastTable(rows=4, n=6, weight=6, event_rate=0.5)
        """
        parts = list(tables)
        if not parts:
            raise InputValueError(sentence("at least one table is needed to merge; there is none"))
        if len(parts) == 1:
            return parts[0]
        if any(table.refined for table in parts):
            law = "refined tables are exact for their own cases only and cannot be added as they are"
            raise InputValueError(sentence(law, hint="bring all to one plain grid with .grid(cells)."))
        grids = {table.cells for table in parts}
        if len(grids) > 1:
            law = f"tables must be on the same grid to be added; they have cells {sorted(map(str, grids))}"
            raise InputValueError(sentence(law, hint="bring all to the coarsest grid with .grid(cells)."))
        columns = [[getattr(table, name) for table in parts] for name in ("forecast", "events", "non_events")]
        forecast, events, non_events = pooling.pool(*(np.concatenate(column) for column in columns))
        return cls._frozen(
            forecast,
            events,
            non_events,
            n=sum(table.n for table in parts),
            weight_squares=table_laws.total(table.weight_squares for table in parts),
            dropped=sum(table.dropped for table in parts),
            cells=parts[0].cells,
        )

    def __add__(self, other: object) -> ForecastTable:
        return ForecastTable.merge([self, other]) if isinstance(other, ForecastTable) else NotImplemented

    def __radd__(self, other: object) -> ForecastTable:
        """Let `sum(tables)` begin with its 0."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def grid(self, cells: int = 2**10) -> ForecastTable:
        """Round the forecasts to the centres of equal cells, so that the table has a bounded size.

        Forecasts of exactly 0 and 1 stay what they are, because they claim certainty and no other forecast
        does. `cells` is a power of two, so that the same forecast falls into the same cell everywhere; a
        grid is made coarser, never finer.

        Examples
        --------
        >>> ForecastTable.from_predictions([0, 1, 1], [0.1, 0.12, 1.0]).grid(4).forecast
        array([0.125, 1.   ])
        """
        table_laws.check_cells(cells)
        if self.cells is not None and cells > self.cells:
            law = f"a grid can only be made coarser; the table has {self.cells} cells and {cells} were asked for"
            raise InputValueError(sentence(law))
        certain = (self.forecast == 0.0) | (self.forecast == 1.0)
        centre = (np.floor(self.forecast * cells) + 0.5) / cells
        rounded = np.where(certain, self.forecast, centre)
        forecast, events, non_events = pooling.pool(rounded, self.events, self.non_events)
        return self._frozen(
            forecast,
            events,
            non_events,
            n=self.n,
            weight_squares=self.weight_squares,
            dropped=self.dropped,
            cells=int(cells),
        )

    @classmethod
    def from_cases(cls, cases: Cases, model: str | None = None, event: Event | None = None) -> ForecastTable:
        """Make the table of a model, or of the only one: of one event, which of classes must be named."""
        own = (cases if model is None else cases.of(model)) if event is None else cases.event(event, model)
        if own.weight is None:
            n = len(own)
            forecast, events, non_events = pooling.pool_counts(own.chunks(), n)
            squares = float(n)
        else:
            forecast, happened, weight = own.gathered()
            assert weight is not None  # noqa: S101  (for the type checker; there are weights)
            # Not a dot product, whose last bits change with the threads that BLAS may use.
            n, squares = int(np.count_nonzero(weight)), float((weight * weight).sum())
            forecast, events, non_events = pooling.pool(forecast, weight * happened, weight * ~happened)
        return cls._frozen(forecast, events, non_events, n=n, weight_squares=squares, dropped=own.dropped)

    @classmethod
    def _frozen(cls, forecast: Floats, events: Floats, non_events: Floats, **facts: Any) -> ForecastTable:
        """Make a table of new arrays, marked read-only so that they need not be copied."""
        for column in (forecast, events, non_events):
            column.flags.writeable = False
        return cls(forecast=forecast, events=events, non_events=non_events, **facts)

    def _fields(self) -> dict[str, Any]:
        """Leave out that a table is not refined, so that what is stored of it can be read by every release."""
        fields = Result._fields(self)
        return fields if self.refined else {name: value for name, value in fields.items() if name != "refined"}

    def _plain_fields(self) -> dict[str, Any]:
        return {name: value for name, value in self._fields().items() if not isinstance(value, np.ndarray)}

    def _facts(self) -> dict[str, Any]:
        facts = {"rows": len(self), "n": self.n, "weight": self.weight, "event_rate": self.event_rate}
        facts |= {"dropped": self.dropped} if self.dropped else {}
        facts |= {"cells": self.cells} if self.cells else {}
        return facts | ({"refined": True} if self.refined else {})
