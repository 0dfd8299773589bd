"""Cases in a lazy frame: its columns cast, its labels resolved, and the laws for its rows as expressions."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import or_
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from propriety import checks
from propriety.errors import InputValueError, Wording
from propriety.result import Floats
from propriety.tables.events import Event
from propriety.tables.key_columns import KeyColumn
from propriety.tables.labels import code_labels
from propriety.tables.queries import (
    Lazy,
    count_rows,
    encoded,
    excluding_nan,
    fetched,
    flag,
    is_missing,
    row_by_row,
)

OF_MODEL = re.compile(r"(forecast|total|lowest|highest|top|head)_(\d+)(_\d+)?")  # Columns of a model, by its place.
SAME = 1e-9  # Engines add in another order each time, which changes sums by rounding.


class Broken:
    """One bit per law that a row can break. The key of an invalid row is -1 minus their sum; -1 is a forecast of 0."""

    OUTCOME_MISSING, FORECAST_MISSING, WEIGHT_MISSING = 1, 2, 4
    OUTCOME, FORECAST, WEIGHT, ROW_SUM = 8, 16, 32, 64
    MISSING = OUTCOME_MISSING | FORECAST_MISSING | WEIGHT_MISSING


class Law(NamedTuple):
    """A law for rows: when a value is missing, when it is valid, the bits of the two violations, and the offenders.

    `lowest` and `highest` name the columns with the smallest and the largest offender.
    """

    missing: nw.Expr
    lawful: nw.Expr
    missing_bit: int
    broken_bit: int
    lowest: str
    highest: str


class CollectedColumns(NamedTuple):
    """Cases loaded into memory, one row each, in an order that depends on their values only.

    Parameters
    ----------
    outcome : ndarray of shape (n,)
        Whether the event happened, 0 or 1; for classes, the index of the class among the labels.
    forecasts : dict
        Forecasts of each model, of shape (n,), or (n, K) for classes.
    weight : ndarray of shape (n,) or None
        Weights, if any.
    keys : dict
        Labels of every case, by key.
    cluster, period : list or None
        Labels of the clusters and periods, if any.
    """

    outcome: NDArray[np.int64]
    forecasts: dict[str, Floats]
    weight: Floats | None
    keys: dict[str, list[Any]]
    cluster: list[Any] | None
    period: list[Any] | None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class LazyCases:
    """Forecasts of an event, or of classes, by some models, in a lazy frame whose rows have not been checked yet.

    Parameters
    ----------
    frame : narwhals.LazyFrame
        Its columns are `outcome`, and if present `weight`, `key_0`, ..., `cluster` and `period`. Model m has
        `forecast_m`, or for classes `forecast_m_0`, .... If its forecasts were given in several columns, it also has
        their sum `total_m` and their extremes `lowest_m` and `highest_m`; for classes, the index `top_m` of the first
        class with the highest, and with cut points the cumulative forecasts `head_m_0`, .... For classes, `class` is
        the index of the outcome among the labels, or -1 if it is none of them.
    models : tuple of str
        Names of the models.
    labels : tuple or None
        Labels of the classes as the user named them; None for one event.
    events : tuple of Event
        The events for which tables are made.
    keys : tuple of str
        Names of the keys, in the order of their columns.
    cluster, period : str or None
        Original names of the columns `cluster` and `period`.
    weighted, drop : bool
        Whether there are weights; whether rows with missing values are dropped.
    tolerance : float
        Allowed deviation of a row of probabilities from summing to one.
    in_rows : tuple of bool
        For each model, whether its forecasts were given in several columns, which must sum to one.
    engine : str
        Name of the engine.
    arguments : tuple of str
        Names of the models' forecasts in errors.
    held : tuple or None
        Labels as stored in the column `outcome`: those of the classes, or the other label and that of the event; None
        if the outcomes are 0 and 1.
    named : tuple
        The labels that the user gave; empty by default.
    pos_label : label or None
        The label of the event, if the user gave only this one.
    key_kinds : mapping
        How the labels of `key_0`, ..., `cluster` and `period` are stored, and the order in which they are shown.
    event_note : str
        If the forecasts were given in two columns, which of them is the event's; else empty.
    pair : tuple, optional
        If the forecasts were given in two columns, the labels of these in order, and which of the two is the event's.
    given : mapping
        The arguments of `propriety.cases` from which they were read.
    sums : tuple of float, optional
        Number of rows, and sums of the outcomes and of the forecasts, when the cases were read; None if not computed.
    """

    frame: Lazy
    models: tuple[str, ...]
    labels: tuple[Any, ...] | None
    events: tuple[Event, ...]
    keys: tuple[str, ...]
    cluster: str | None
    period: str | None
    weighted: bool
    drop: bool
    tolerance: float
    in_rows: tuple[bool, ...]
    engine: str
    arguments: tuple[str, ...]
    held: tuple[Any, ...] | None
    named: tuple[Any, ...]
    pos_label: object
    key_kinds: Mapping[str, KeyColumn]
    event_note: str = ""
    pair: tuple[tuple[Any, Any], int] | None = None
    given: Mapping[str, Any] = field(default_factory=dict)
    sums: tuple[float, ...] | None = None

    def __repr__(self) -> str:
        classes = "" if self.labels is None else f", classes={len(self.labels)}"
        keys = f", keys={list(self.keys)}" if self.keys else ""
        rows = "" if self.sums is None else f", rows={int(self.sums[0]):,}"
        return f"LazyCases(models={list(self.models)}{rows}{classes}{keys}, engine={self.engine!r})"

    @property
    def id(self) -> str | None:
        """Name of the column of identifiers."""
        return self.given.get("id")

    @property
    def ordered(self) -> bool:
        """Whether the classes are ordered."""
        return bool(self.events) and self.events[0].kind == "cut"

    @property
    def columns(self) -> dict[str, str]:
        """Names of the columns of outcomes, clusters, periods and weights."""
        roles = ("outcome", "cluster", "period", "sample_weight")
        return {role: self.given[role] for role in roles if self.given.get(role)}

    def of(self, model: str) -> LazyCases:
        """Return the same cases with the forecasts of one model."""
        place = self.models.index(model)
        named = {name: OF_MODEL.fullmatch(name) for name in self.frame.collect_schema().names()}
        shared = [name for name, match in named.items() if match is None]
        own = {
            f"{match[1]}_0{match[3] or ''}": nw.col(name)
            for name, match in named.items()
            if match is not None and int(match[2]) == place
        }
        given = dict(self.given)
        if isinstance(given.get("forecasts"), Mapping):
            given["forecasts"] = {model: given["forecasts"][model]}
        elif given:
            given["forecasts"] = [model]
        return replace(
            self,
            frame=self.frame.select(*shared, **own),
            models=(model,),
            in_rows=(self.in_rows[place],),
            arguments=(self.arguments[place],),
            given=given,
            sums=None,
        )

    def with_keys(self, names: Sequence[str]) -> LazyCases:
        """Return the same cases with only the named keys."""
        moved = {f"key_{place}": f"key_{self.keys.index(name)}" for place, name in enumerate(names)}
        others = {column: kind for column, kind in self.key_kinds.items() if not column.startswith("key_")}
        kinds = {column: self.key_kinds[source] for column, source in moved.items()}
        columns = {column: nw.col(source) for column, source in moved.items() if column != source}
        frame = self.frame.with_columns(**columns) if columns else self.frame
        return replace(self, frame=frame, keys=tuple(names), key_kinds={**others, **kinds})

    def with_sums(self) -> LazyCases:
        """Return the cases with sums by which a change of the frame is noticed."""
        return replace(self, sums=self._sums())

    def confirmed(self) -> LazyCases:
        """Return the cases after checking that the frame has not changed since they were read."""
        if self.sums is not None and not np.allclose(self._sums(), self.sums, rtol=SAME, atol=0.0, equal_nan=True):
            law = "must be the rows from which the cases were read; they have changed since"
            raise InputValueError(law, argument="frame", hint="store the frame first, or call propriety.cases again.")
        return self

    def _sums(self) -> tuple[float, ...]:
        numbers = [self.place, *(own for model in range(len(self.models)) for own in self.forecasts(model))]
        columns = {f"number_{place}": number for place, number in enumerate(numbers)}
        rows = self.frame.with_columns(**columns).select(
            nw.len().alias("rows"), *(nw.col(name).sum() for name in columns)
        )
        table = fetched(rows)
        return tuple(float(table.column(name)[0].as_py() or 0.0) for name in ("rows", *columns))

    @property
    def tables(self) -> tuple[tuple[int, Event], ...]:
        """The model and the event of every table."""
        return tuple((model, event) for model in range(len(self.models)) for event in self.events)

    def rows(self, build: Callable[[LazyCases], Lazy]) -> Lazy:
        """Return what `build` makes of the cases row by row; it gets neither the plan of the frame nor the keys."""
        plain = replace(self, frame=None, key_kinds={})  # type: ignore[arg-type]  # so that no task holds the plan
        return row_by_row(self.frame, lambda frame: build(replace(plain, frame=frame)))

    @property
    def is_labelled(self) -> bool:
        """Whether the user gave labels; they are then checked first."""
        return bool(self.named) or self.pos_label is not None

    def key_columns(self, keys: Sequence[str]) -> list[str]:
        """Return the columns of some of the keys."""
        return [f"key_{self.keys.index(key)}" for key in keys]

    def coded(self, column: str, found: Any) -> tuple[tuple[Any, ...], NDArray[np.intp]]:
        """Return the labels of a column that an engine returned, in order, and the code of each row."""
        kind = self.key_kinds[column]
        held, places = encoded(found)
        labels, codes = code_labels(kind.labels(held), kind.order)
        return labels, codes[places]

    def orders(self, columns: Sequence[str]) -> list[tuple[Any, ...] | None]:
        """Return the order of the labels of each column; None where they are sorted."""
        return [self.key_kinds[column].order for column in columns]

    def group(self, keys: Sequence[str], held: Sequence[Any]) -> tuple[Any, ...]:
        """Return the labels of a group, given as the engine stores them."""
        columns = self.key_columns(keys)
        return tuple(self.key_kinds[column].labels([one])[0] for column, one in zip(columns, held, strict=True))

    def forecasts(self, model: int) -> list[nw.Expr]:
        """Return the forecasts of a model: one for the event, or one per class."""
        if self.labels is None:
            return [nw.col(f"forecast_{model}")]
        return [nw.col(f"forecast_{model}_{place}") for place in range(len(self.labels))]

    def forecast(self, model: int, event: Event) -> nw.Expr:
        """Forecast of an event by a model."""
        if event.kind == "cut":
            return nw.col(f"head_{model}_{event.place}")
        if event.kind == "top":
            return nw.col(f"highest_{model}")
        return self.forecasts(model)[event.place]

    def happened(self, event: Event, model: int = 0) -> nw.Expr:
        """1 where an event happened, 0 where it did not; only that of the top class depends on the model."""
        if event.kind == "cut":
            return flag(nw.col("class") <= float(event.place))
        if event.kind == "class":
            return flag(nw.col("class") == float(event.place))
        if event.kind == "top":
            return flag(nw.col("class") == nw.col(f"top_{model}"))
        outcome = nw.col("outcome")
        return outcome if self.held is None else flag(outcome == self.held[1])

    @property
    def place(self) -> nw.Expr:
        """Index of the outcome among the labels; for one event, whether it happened."""
        return self.happened(Event("event")) if self.labels is None else nw.col("class")

    def laws(self, model: int, *, positive: Event | None = None) -> dict[str, Law]:
        """Return the laws for a row of a model, by the argument that they check.

        Class probabilities are checked as a whole row, so the laws are the same for all events. With `positive`, a
        forecast of 0 for this event counts as invalid, so that it has no cell.
        """
        laws = {"outcome": self._outcome_law(), "forecast": self._forecast_law(model, positive)}
        if self.weighted:
            laws["weight"] = self._weight_law()
        if self.in_rows[model]:
            laws["row_sum"] = self._row_sum_law(model)
        return laws

    def lawful_rows(self) -> Lazy:
        """Return the valid rows of a frame that has been checked: all of them, unless some were dropped."""
        if not self.drop:
            return self.frame
        laws = [law for model in range(len(self.models)) for law in self.laws(model).values()]
        return self.frame.filter(*(~law.missing & law.lawful for law in laws))

    def collected(self, budget: int = 2**22) -> CollectedColumns:
        """Load the cases into memory, after they have been checked.

        Equal rows are fetched once, with their count. The result is sorted by its columns, so that it does not depend
        on the order of the rows or on partitions.

        Parameters
        ----------
        budget : int
            How many values (rows times columns) may be loaded into memory.
        """
        checks.whole(budget, "budget", least=1)
        columns = self._plain_columns()
        rows = count_rows(self.frame)
        if rows > budget // len(columns):
            law = f"must have no more than {budget // len(columns):,} rows for its cases to be collected"
            needed = f"{rows * len(columns):,}"
            hint = Wording("pass a sample of the rows, or a {budget=} of at least {needed} values.", needed=needed)
            raise InputValueError(law, argument="frame", count=f"{rows:,} rows of {len(columns)} columns", hint=hint)
        pooled = self.lawful_rows().select(**columns).group_by(*columns).agg(nw.len().alias("cases"))
        return self._expanded(fetched(pooled), list(columns))

    def _plain_columns(self) -> dict[str, nw.Expr]:
        """Return the columns that make a case: its outcome, forecasts, weight and labels."""
        columns = {"outcome": self.place}
        for model in range(len(self.models)):
            columns |= {f"forecast_{model}_{place}": own for place, own in enumerate(self.forecasts(model))}
        others = self.key_columns(self.keys)
        others += [name for name in ("cluster", "period") if getattr(self, name) is not None]
        return columns | {name: nw.col(name) for name in (["weight"] if self.weighted else []) + others}

    def _expanded(self, table: Any, names: list[str]) -> CollectedColumns:
        """Return pooled rows in order, each repeated as often as it was counted."""
        labels: dict[str, NDArray[np.object_]] = {}
        numbers: dict[str, NDArray[Any]] = {}
        for name in names:
            column = table.column(name)
            if name in self.key_kinds:
                known, numbers[name] = self.coded(name, column)
                labels[name] = np.fromiter(known, dtype=object, count=len(known))
            else:
                numbers[name] = column.to_numpy().astype(np.float64) + 0.0  # Adding 0.0 turns -0.0 into 0.0.
        order = np.lexsort([numbers[name] for name in reversed(names)])
        rows = np.repeat(order, table.column("cases").to_numpy()[order])

        def labels_of(name: str) -> list[Any]:
            found: list[Any] = labels[name][numbers[name][rows]].tolist()
            return found

        forecasts = {}
        for position, model in enumerate(self.models):
            own = [numbers[name][rows] for name in names if name.startswith(f"forecast_{position}_")]
            forecasts[model] = own[0] if self.labels is None else np.stack(own, axis=1)
        return CollectedColumns(
            outcome=numbers["outcome"][rows].astype(np.int64),
            forecasts=forecasts,
            weight=numbers["weight"][rows] if self.weighted else None,
            keys={key: labels_of(f"key_{place}") for place, key in enumerate(self.keys)},
            cluster=None if self.cluster is None else labels_of("cluster"),
            period=None if self.period is None else labels_of("period"),
        )

    def _outcome_law(self) -> Law:
        outcome = nw.col("outcome")
        if self.labels is not None:
            known = nw.col("class") >= 0.0
        elif self.held is None:
            # Among finite numbers only 0 and 1 equal their squares; one comparison is faster on engines than an `or`.
            known = (outcome * outcome == outcome) & (outcome <= 1.0)
        else:
            known = reduce(or_, [outcome == label for label in self.held])
        if self.held is not None and isinstance(self.held[0], str | int):
            missing = outcome.is_null()
        else:
            missing, known = self._is_missing(outcome), self._excluding_nan(known, outcome)
        return Law(missing, known, Broken.OUTCOME_MISSING, Broken.OUTCOME, "outcome", "outcome")

    def _forecast_law(self, model: int, positive: Event | None) -> Law:
        # With several models a row is dropped for all of them, so that all are evaluated on the same cases.
        absent = range(len(self.models)) if self.drop else [model]
        missing = reduce(or_, [self._is_missing(column) for other in absent for column in self._given(other)])
        bits = Broken.FORECAST_MISSING, Broken.FORECAST
        if not self.in_rows[model]:
            name, forecast = f"forecast_{model}", self.forecasts(model)[0]
            inside = (forecast >= 0.0 if positive is None else forecast > 0.0) & (forecast <= 1.0)
            return Law(missing, self._excluding_nan(inside, forecast), *bits, name, name)
        lowest, highest = f"lowest_{model}", f"highest_{model}"
        inside = (nw.col(lowest) >= 0.0) & (nw.col(highest) <= 1.0)
        inside = inside if positive is None else inside & (self.forecast(model, positive) > 0.0)
        return Law(missing, inside, *bits, lowest, highest)

    def _given(self, model: int) -> list[nw.Expr]:
        """Return the columns that a model was given in, or for two columns their sum, which is missing if one is."""
        return [nw.col(f"total_{model}")] if self.labels is None and self.in_rows[model] else self.forecasts(model)

    def _weight_law(self) -> Law:
        weight = nw.col("weight")
        finite = self._excluding_nan((weight >= 0.0) & (weight <= sys.float_info.max), weight)
        return Law(self._is_missing(weight), finite, Broken.WEIGHT_MISSING, Broken.WEIGHT, "weight", "weight")

    def _row_sum_law(self, model: int) -> Law:
        name, total = f"total_{model}", nw.col(f"total_{model}")
        near = self._excluding_nan((total - 1.0).abs() <= self.tolerance, total)
        # A missing term is reported as a missing forecast, which needs no second bit.
        return Law(self._is_missing(total), near, 0, Broken.ROW_SUM, name, name)

    def _is_missing(self, column: nw.Expr) -> nw.Expr:
        return is_missing(column, self.engine)

    def _excluding_nan(self, condition: nw.Expr, column: nw.Expr) -> nw.Expr:
        return excluding_nan(condition, column, self.engine)
