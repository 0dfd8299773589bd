"""Convert the options of a command to the columns and labels that the package reads."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

import click
import narwhals as nw

from propriety import demands
from propriety.cli.files import open_relation
from propriety.cli.options import taken
from propriety.cli.text_heads import Dialect
from propriety.cli.texts import Role
from propriety.errors import InputValueError
from propriety.tables.frames import checked_columns

Frame: TypeAlias = nw.LazyFrame[Any]
Models: TypeAlias = dict[str, str | list[str]]

IN_MEMORY = 1_000_000  # Rows up to which cases are read into memory.

# Text in CSV that is read as a boolean.
TRUTHS = {"true": True, "t": True, "yes": True, "y": True, "false": False, "f": False, "no": False, "n": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cases:
    """The columns of the files by role, as typed by the user; with `crosses`, the key "a,b" crosses two columns.

    Its fields are named like the options of commands.
    """

    outcome: str | None = None
    forecasts: Sequence[str] = ()
    weight: str | None = None
    classes: str | None = None
    pos_label: str | None = None
    missing: str = "raise"
    ordered: bool = False
    by: Sequence[str] = ()
    cluster: str | None = None
    period: str | None = None
    dialect: Dialect = field(default_factory=Dialect)
    crosses: bool = True

    @classmethod
    def of(cls, options: dict[str, Any], **more: Any) -> Cases:
        """Make them of the options of a command, from which they are removed."""
        return replace(taken(cls, options), dialect=taken(Dialect, options), **more)

    def opened(self, files: Sequence[Path], *, cut: bool = False) -> AbstractContextManager[Frame]:
        """Open the files; if numbers are `cut` into parts, keys with decimals are numbers."""
        return open_relation(files, dialect=self.dialect, roles=self.roles(cut=cut), numbers=self.numbers())

    def given(self) -> list[str]:
        """Return the given options that apply only to files of cases."""
        options = {
            "--outcome": self.outcome,
            "--forecast": self.forecasts,
            "--weight": self.weight,
            "--classes": self.classes,
            "--pos-label": self.pos_label,
            "--by": self.by,
            "--cluster": self.cluster,
            "--period": self.period,
            "--ordered": self.ordered,
            "--missing": self.missing == "drop",
        }
        return [*(option for option, value in options.items() if value), *self.dialect.given()]

    def roles(self, *, cut: bool = False) -> dict[str, Role]:
        """Return the outcome, and the columns of labels, which in CSV must not be read as numbers that merge some.

        If numbers are `cut` into parts, keys with decimals are numbers.
        """
        keys: list[str | None] = [*self.by, *(name for typed in self.by for name in _crossed(typed)), self.cluster]
        named = self.classes is not None or self.pos_label is not None
        values = [self.period, self.outcome if named else None]
        roles: dict[str, Role] = {} if self.outcome is None else {self.outcome: "outcome"}
        roles |= {name: "label" for name in keys if name is not None}
        if cut:
            roles |= {name: "quantity" for name in self.by if name != self.cluster}
        return roles | {name: "value" for name in values if name is not None}

    def numbers(self) -> list[str]:
        """Return the names of the columns that must contain numbers."""
        lists = [typed.partition("=")[2] for typed in self.forecasts]
        listed = [*self.forecasts, *(name for one in lists for name in _split(one))]
        return [name for name in (*listed, self.weight) if name]

    def arguments(self, frame: Frame) -> dict[str, Any]:
        """Return the given arguments of Python functions such as `propriety.evaluate`, with the frame as `y_true`.

        Many rows stay in their files and are counted by DuckDB; few are read, because some analyses need every case.
        """
        models = self._models(frame)
        shared = {"cluster": self.cluster, "period": self.period, "sample_weight": self.weight}
        by = self._keys(frame)
        needed = self._needed(frame, models, by, shared.values())
        rows = int(frame.select(nw.len()).collect().item())
        cases = needed.collect(backend="pyarrow").to_native() if rows <= IN_MEMORY else needed.to_native()
        named = {"by": list(by) or None, "ordered": self.ordered or None, **shared, **self._labels(frame)}
        given = {name: value for name, value in named.items() if value is not None}
        return {"y_true": cases, "forecasts": models, **given}

    def labels_typed(self, frame: Frame) -> dict[bool, str]:
        """Return how labels that DuckDB reads as booleans are written, such as "yes", as far as they were typed."""
        if self.outcome is None or frame.collect_schema().get(self.outcome) != nw.Boolean:
            return {}
        typed = [self.pos_label, *([] if self.classes is None else parts_of(self.classes))]
        return {TRUTHS[one.lower()]: one for one in typed if one is not None and one.lower() not in ("true", "false")}

    def _labels(self, frame: Frame) -> dict[str, Any]:
        """Return the column of the outcomes, its labels, and the treatment of missing values."""
        kind = checked_columns(frame, [str(self.outcome)])[str(self.outcome)]
        return {
            "outcome": self.outcome,
            "labels": None
            if self.classes is None
            else [_label(one, kind, "--classes") for one in parts_of(self.classes)],
            "pos_label": None if self.pos_label is None else _label(self.pos_label, kind, "--pos-label"),
            "missing": self.missing,
        }

    def _models(self, frame: Frame) -> Models:
        """Return the columns of each model; text that is the name of a column means that column."""
        if self.outcome is None or not self.forecasts:
            message = "--outcome and at least one --forecast are required."
            raise click.UsageError(message)
        schema = frame.collect_schema()
        models: Models = {}
        for typed in self.forecasts:
            name, equals, listed = typed.partition("=")
            columns = [typed] if typed in schema or not equals else parts_of(listed)
            name = typed if typed in schema else name
            if name in models:
                raise InputValueError(demands.named_once("model", name), argument="--forecast")
            models[name] = columns[0] if len(columns) == 1 else columns
        return models

    def _keys(self, frame: Frame) -> dict[str, list[str]]:
        """Return the columns of each key; text that is the name of a column means that column, and not a cross."""
        schema = frame.collect_schema()
        keys: dict[str, list[str]] = {}
        for typed in self.by:
            columns = [typed] if typed in schema or not self.crosses else _crossed(typed) or [typed]
            name = ", ".join(columns)
            if name in keys:
                raise InputValueError(demands.named_once("key", name), argument="--by")
            if len(set(columns)) < len(columns):
                raise InputValueError(f"must cross different columns; got {typed!r}", argument="--by")
            keys[name] = columns
        return keys

    def _needed(
        self, frame: Frame, models: Models, by: Mapping[str, list[str]], shared: Iterable[str | None]
    ) -> nw.LazyFrame[Any]:
        """Return the columns that are needed, and no others."""
        forecasts = [name for own in models.values() for name in ([own] if isinstance(own, str) else own)]
        crosses = {name: columns for name, columns in by.items() if len(columns) > 1}
        keys = [name for name in by if name not in crosses]
        names = dict.fromkeys(name for name in (self.outcome, *forecasts, *keys, *shared) if name is not None)
        schema = checked_columns(frame, [*names, *(name for own in crosses.values() for name in own)])
        # Databases may store probabilities as decimals, which arrays do not support; keys are not converted.
        numbers = {self.outcome, *forecasts, self.weight} - {*keys, self.cluster, self.period}
        cast = {name for name in numbers if name is not None and schema[name].is_decimal()}
        columns = [nw.col(name).cast(nw.Float64) if name in cast else nw.col(name) for name in names]
        return frame.select(*columns, **{name: _cross(frame, own) for name, own in crosses.items()})


def _crossed(typed: str) -> list[str]:
    """Return the columns that `--by a,b` crosses; none if there are not several."""
    parts = parts_of(typed) if "," in typed else []
    return parts if len(parts) > 1 else []


def _cross(frame: Frame, columns: Sequence[str]) -> nw.Expr:
    """Return the joined labels of some columns; labels that would be merged are rejected."""
    joined = nw.concat_str([nw.col(name).cast(nw.String) for name in columns], separator=", ")
    counts = [
        int(each.unique().select(nw.len()).collect().item())
        for each in (frame.select(*columns).drop_nulls(), frame.select(joined=joined).drop_nulls())
    ]
    if counts[0] != counts[1]:
        law = f"cannot cross {' and '.join(columns)}, because joining their labels by commas would merge some of them"
        raise InputValueError(law, argument="--by", hint="rename labels that contain commas.")
    return joined


def parts_of(listed: str) -> list[str]:
    """Split a list at its commas; a part in double quotes may contain commas.

    Examples
    --------
    >>> parts_of('low,"so, so",high')
    ['low', 'so, so', 'high']
    """
    parts = _split(listed)
    if not all(parts) or not parts:
        raise InputValueError(f"a list must be like a,b,c; got {listed!r}")
    return parts


def _split(listed: str) -> list[str]:
    """Return the parts of a list, none if it is not one: a quote is not closed, or a line ends outside quotes."""
    try:
        return next(csv.reader([listed], strict=True), [])
    except csv.Error:
        return []


def _label(text: str, kind: nw.dtypes.DType, option: str = "--classes") -> str | float | bool:
    """Convert a label to the type of the column of the outcomes.

    Examples
    --------
    >>> _label("2", nw.Int64()), _label("2", nw.String()), _label("True", nw.Boolean())
    (2, '2', True)
    """
    if kind == nw.Boolean and text.lower() in TRUTHS:
        return TRUTHS[text.lower()]
    if not kind.is_numeric():
        return text
    if re.fullmatch(r"[-+]?\d+", text):
        return int(text)  # A float would merge large labels.
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if math.isnan(number):
        raise InputValueError("must be a number, as the outcomes are", argument=option, got=text)
    return int(number) if number.is_integer() else number
