"""A lazy frame with rows of classes, as the queries see it: a forecast for every class, and for every cut point."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import accumulate
from numbers import Real
from operator import add, or_
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np

from propriety.errors import InputValueError, sentence
from propriety.tables.engine_source import Broken, Cast, Law, Lazy, Source, cast_columns, flag
from propriety.tables.predictions import CUMULATIVE_DECIMALS
from propriety.tables.validation import TOLERANCE, Labels, Missing, read_classes

__all__ = ["ClassEvent", "ClassSource", "read_class_source"]

WHOLE = 2.0**52  # From here on floats are whole numbers, so that adding it rounds, as NumPy does, half to even.


class ClassEvent(NamedTuple):
    """An event that a model's row gives a probability: "y is this class", or at a cut point "y is at most this"."""

    model: int
    place: int
    is_cut: bool


@dataclass(frozen=True, slots=True, eq=False)
class ClassSource(Source):
    """A source whose forecasts are rows of classes, and whose `events` are those of every model, one table each.

    Its frame holds the columns `outcome`, `class` (the place of the outcome among the labels, -1 if it is none of
    them), `weight`, `by_0`, ...; for model m `forecast_m_0`, ..., their sum `total_m` and their ends `lowest_m` and
    `highest_m`; with cut points `head_m_0`, ..., the cumulative forecasts. `models` are the names of the models.

    A row must keep the laws as a whole: they are the same for all events of a model.
    """

    models: tuple[str, ...]

    @property
    def classes(self) -> int:
        """Number of classes."""
        return len(self.labels or ())

    def first_event(self, model: int) -> int:
        """Return the position of the first event of a model, at which its laws may be asked for."""
        return model * (len(self.events) // len(self.models))

    def columns(self, model: int) -> list[nw.Expr]:
        """Return the forecasts of the classes by a model."""
        return [nw.col(f"forecast_{model}_{place}") for place in range(self.classes)]

    def happened(self, place: int) -> nw.Expr:
        """1 where this class happened, else 0."""
        return flag(nw.col("class") == float(place))

    def forecast(self, position: int) -> nw.Expr:
        """Forecast of an event."""
        model, place, is_cut = self.events[position]
        return nw.col(f"head_{model}_{place}") if is_cut else nw.col(f"forecast_{model}_{place}")

    def event(self, position: int) -> nw.Expr:
        """1 where an event happened, 0 where it did not."""
        _, place, is_cut = self.events[position]
        return flag(nw.col("class") <= float(place)) if is_cut else self.happened(place)

    def laws(self, position: int, *, zero: bool = True) -> dict[str, Law]:
        """Return the laws of the row that an event belongs to; see `Source.laws`."""
        model = self.events[position].model
        absent = range(len(self.models)) if self.drop else [model]
        missing = reduce(or_, [self.is_missing(column) for other in absent for column in self.columns(other)])
        inside = (nw.col(f"lowest_{model}") >= 0.0) & (nw.col(f"highest_{model}") <= 1.0)
        inside = inside if zero else inside & (self.forecast(position) > 0.0)
        total = nw.col(f"total_{model}")
        near = self.surely(f"total_{model}", (total - 1.0).abs() <= self.tolerance)
        return {
            "outcome": self.outcome_law(nw.col("class") >= 0.0),
            f"lowest_{model}": (missing, inside, Broken.FORECAST_MISSING, Broken.FORECAST),
            **self.weight_laws(),
            # A missing term is told as a missing forecast, which needs no second bit.
            f"total_{model}": (self.is_missing(total), near, 0, Broken.ROW_SUM),
        }

    def ends(self, name: str) -> tuple[str, str]:
        """Return the columns with the ends of a row, for the law of its forecasts."""
        return name, name.replace("lowest", "highest")

    @property
    def place_law(self) -> tuple[str, str] | None:
        """The law of outcomes that are places of classes, where no labels were named."""
        if self.named:
            return None
        classes = self.classes
        law = (
            f"y_true must hold whole numbers from 0 to {classes - 1}, one for each of the {classes} columns of y_proba"
        )
        return law, "pass labels=, the label of each column in order."


def read_class_source(
    frame: Lazy,
    *,
    outcome: str,
    forecasts: Mapping[str, Sequence[str]],
    weight: str | None = None,
    by: str | Sequence[str] | None = None,
    cut_points: bool = False,
    pos_label: object = None,
    labels: Labels | None = None,
    missing: Missing = "raise",
    tolerance: float = TOLERANCE,
) -> ClassSource:
    """Cast the columns of a lazy frame and settle the labels; `forecasts` maps models to the columns of their classes.

    With `cut_points` there is an event for each cut point of the classes, before those of the classes themselves.
    """
    classes = len(next(iter(forecasts.values())))
    named = _judged_labels(labels, classes, {"pos_label": pos_label, "missing": missing, "tolerance": tolerance})
    arguments = ["y_proba" if len(forecasts) == 1 else f"forecasts[{name!r}]" for name in forecasts]
    columns = {
        f"forecast_{model}_{place}": (column, arguments[model])
        for model, own in enumerate(forecasts.values())
        for place, column in enumerate(own)
    }
    cast = cast_columns(frame, outcome=outcome, forecasts=columns, weight=weight, by=by)
    held = _held(named, cast, labelled=labels is not None)
    cuts = [(place, True) for place in range(classes - 1)] if cut_points else []
    events = tuple(
        ClassEvent(model, place, is_cut)
        for model in range(len(forecasts))
        for place, is_cut in (*cuts, *((place, False) for place in range(classes)))
    )
    return ClassSource(
        frame=_with_derived(cast.frame, len(forecasts), held, cut_points=cut_points),
        names=tuple(named[event.place] for event in events),
        arguments=tuple(arguments[event.model] for event in events),
        by=cast.by,
        one_key=isinstance(by, str),
        labels=held,
        events=events,
        named=() if labels is None else named,
        pos_label=None,
        weighted=weight is not None,
        drop=missing == "drop",
        tolerance=tolerance,
        engine=cast.engine,
        models=tuple(forecasts),
    )


def _judged_labels(labels: Labels | None, classes: int, options: Mapping[str, Any]) -> tuple[Any, ...]:
    """Let the door judge labels and options, beside a row that keeps every law."""
    first = next(iter(labels), 0) if isinstance(labels, Iterable) else 0
    return read_classes([first], np.eye(1, classes), labels=labels, **options).labels


def _held(labels: tuple[Any, ...], cast: Cast, *, labelled: bool) -> tuple[Any, ...]:
    """Return the labels as the cast column holds them: strings or floats."""
    if cast.is_text and not labelled:
        law = "y_true holds strings, which cannot be matched to the columns of y_proba"
        raise InputValueError(sentence(law, hint="pass labels=, the label of each column in order."))
    if not all(isinstance(label, str if cast.is_text else Real) for label in labels):
        law = f"y_true must hold only the labels {list(labels)}; got values of dtype {cast.kind}"
        raise InputValueError(sentence(law, hint="name every class in labels=, as y_true holds it."))
    return labels if cast.is_text else tuple(float(label) for label in labels)


def _with_derived(frame: Lazy, models: int, labels: tuple[Any, ...], *, cut_points: bool) -> Lazy:
    """Add what is made of a row: the place of its outcome, and of every model the sum, the ends and the heads."""
    # Places are counted from 1, so that nothing is left of an outcome that is no label.
    places = [flag(nw.col("outcome") == label) * float(place) for place, label in enumerate(labels, 1)]
    columns = {"class": reduce(add, places) - 1.0}
    for model in range(models):
        own = [nw.col(f"forecast_{model}_{place}") for place in range(len(labels))]
        heads = list(accumulate(own, add))
        columns[f"total_{model}"] = heads[-1]
        columns[f"lowest_{model}"] = nw.min_horizontal(*own)
        columns[f"highest_{model}"] = nw.max_horizontal(*own)
        if cut_points:
            columns |= {f"head_{model}_{place}": _rounded(head) for place, head in enumerate(heads[:-1])}
    return frame.with_columns(**columns)


def _rounded(head: nw.Expr) -> nw.Expr:
    """Round a cumulative forecast to the digits of `ForecastTable.per_cut_point`, to the last bit as NumPy does."""
    scale = 10.0**CUMULATIVE_DECIMALS
    # Polars multiplies by the reciprocal of a constant, which is off in the last bit; it divides by a column.
    return (((head * scale + WHOLE) - WHOLE) / (head * 0.0 + scale)).clip(0.0, 1.0)
