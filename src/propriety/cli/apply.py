"""`propriety apply`: recalibrate forecasts in files with a map that `propriety recalibrate` wrote."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import narwhals as nw

from propriety import demands
from propriety.cli.cases import parts_of
from propriety.cli.files import TEXT, open_relation
from propriety.cli.inputs import format_of, found_files
from propriety.cli.messages import say, stage
from propriety.cli.options import DIALECT, FILES, Group, command, option, taken
from propriety.cli.outputs import check_targets, replaced
from propriety.cli.text_heads import Dialect
from propriety.cli.texts import Role, quoted
from propriety.errors import InputValueError
from propriety.number_words import counted
from propriety.recalibration.class_maps import ClassMap
from propriety.recalibration.maps import RecalibrationMap
from propriety.recalibration.segment_map import Label, SegmentMap
from propriety.recalibration.stored_maps import StoredMap
from propriety.tables.frames import checked_columns, first_repeated

if TYPE_CHECKING:
    import duckdb

SUFFIXES = (".parquet", ".csv")
EXACT = 2**53  # Floats below it do not merge labels.
COLUMNS = Group(
    "Columns",
    (
        option("--forecast", required=True, metavar="COLUMN[,...]", help="Column of the forecasts, or one per class."),
        option(
            "--name",
            default="recalibrated",
            show_default=True,
            metavar="COLUMN",
            help="Column to add; of classes NAME_COLUMN for each.",
        ),
    ),
)
OUTPUT = option(
    "-o", "--output", required=True, type=click.Path(), metavar="FILE", help="Parquet or CSV file to write."
)


@command(
    "Recalibrate forecasts with a map.",
    click.Argument(["map_file"], metavar="MAP", type=click.Path()),
    *(FILES, COLUMNS, DIALECT, Group("File to write", (OUTPUT,))),
    examples=[
        "propriety apply map.json new.parquet --forecast p --output recalibrated.parquet",
        "propriety apply map.json new.csv --forecast p --name q --output recalibrated.csv",
        "propriety apply map.json new.parquet --forecast a,b,c --output recalibrated.parquet",
    ],
)
def apply(map_file: str, files: Sequence[str], forecast: str, name: str, output: str, **options: Any) -> None:
    """Add a column with the recalibrated forecasts, using a map that `propriety recalibrate` wrote.

    Rows without forecasts in [0, 1] are left empty in the new columns, and are counted. FILEs are never read into
    memory. A new CSV file has commas between fields and decimal points; other columns of text files are copied as they
    are written, and to Parquet as numbers, dates or truth values if they lose nothing.
    """
    if not output.lower().endswith(SUFFIXES):
        raise InputValueError(f"must end in {' or '.join(SUFFIXES)}", argument="--output", got=output)
    own = StoredMap.from_json(Path(map_file).read_text(encoding="utf-8"))
    columns = parts_of(forecast) if isinstance(own, ClassMap) else [forecast]
    if (twice := first_repeated(columns)) is not None:
        raise InputValueError(demands.named_once("column", twice), argument="--forecast")
    added = [f"{name}_{column}" for column in columns] if isinstance(own, ClassMap) else [name]
    dialect = taken(Dialect, options)
    with found_files(files) as paths:
        check_targets([output], [*paths, Path(map_file)])
        needed = own.by if isinstance(own, SegmentMap) else ()
        labels = _roles(own) if isinstance(own, SegmentMap) else {}
        numbers = [*columns, *(name for name in needed if name not in labels)]
        is_parquet = output.lower().endswith(".parquet")
        others: Role = "copied" if is_parquet else "text"
        with open_relation(paths, dialect=dialect, roles=labels, numbers=numbers, others=others) as frame:
            schema = frame.collect_schema()
            checked_columns(frame, [*columns, *needed])
            _check_new(added, schema)
            # Labels of a text file may have been read as numbers, if all of them are.
            is_text = format_of(paths[0]) in TEXT
            texts = own.texts(schema, convert=is_text) if isinstance(own, SegmentMap) else {}
            typed = frame.with_columns(**texts) if texts else frame
            typed, shifted = _with_numbers(typed, own, schema) if is_text else (typed, own)
            expressions = _expressions(shifted, columns)
            result = typed.with_columns(**dict(zip(added, expressions, strict=True))).select(*schema, *added)
            relation: duckdb.DuckDBPyRelation = result.to_native()
            with stage("writing", is_held=True), replaced(output) as path:
                (relation.write_parquet if is_parquet else relation.write_csv)(str(path))
            with stage("counting", is_held=True):
                count = result.select(rows=nw.len(), empty=nw.col(added[0]).is_null().cast(nw.Int64).sum()).collect()
    rows, empty = (int(count[column].item()) for column in ("rows", "empty"))
    if empty:
        are = "is" if empty == 1 else "are"
        say(f"{rows - empty:,} of {rows:,} rows recalibrated; {empty:,} without a forecast in [0, 1] {are} left empty.")
    else:
        say(f"{counted(rows, 'row')} recalibrated.")


def _roles(own: SegmentMap) -> dict[str, Role]:
    """Return the columns of a map that contain labels; the others contain numbers, of which the map has the limits."""
    found: dict[str, list[Label]] = {}
    for column, label in itertools.chain(*(one.places for one in own.effects)):
        found.setdefault(column, []).append(label)
    return {
        column: "label" if any(isinstance(label, str) for label in labels) else "quantity"
        for column, labels in found.items()
        if not any(isinstance(label, tuple) for label in labels)
    }


def _with_numbers(
    frame: nw.LazyFrame[Any], own: StoredMap, schema: Mapping[str, nw.dtypes.DType]
) -> tuple[nw.LazyFrame[Any], StoredMap]:
    """Return the frame and a map that reads numbers from it, if labels are numbers in the map and text in the frame.

    The numbers are in new columns, so that the text can be written. A text that is no number is an unseen label.
    """
    if not isinstance(own, SegmentMap):
        return frame, own
    places = [place for one in own.effects for place in one.places]
    others = {name for name, label in places if type(label) not in (int, float) or abs(label) >= EXACT}  # type: ignore[arg-type]  # a number
    mixed = [name for name in own.by if schema[name] == nw.String and name not in others]
    if not mixed:
        return frame, own
    unused = "_" * (1 + max(map(len, schema)))
    copies = {name: f"{unused}number{place}" for place, name in enumerate(mixed)}
    again = [f"TRY_CAST({quoted(name)} AS DOUBLE) AS {quoted(copy)}" for name, copy in copies.items()]
    effects = tuple(
        replace(one, places=tuple((copies.get(name, name), label) for name, label in one.places)) for one in own.effects
    )
    relation: duckdb.DuckDBPyRelation = frame.to_native()
    return nw.from_native(relation.project(", ".join(["*", *again]))), replace(own, effects=effects)


def _check_new(added: Sequence[str], schema: Iterable[str]) -> None:
    """Raise an error for the name of an existing column; DuckDB does not distinguish the case of letters."""
    names = {name.lower(): name for name in schema}
    for one in added:
        if not one:
            raise InputValueError(demands.NOT_EMPTY, argument="--name")
        if one.lower() in names:
            law = f"must not be the name of an existing column; got {one!r}"
            other = names[one.lower()]
            hint = "" if one == other else f"column {other!r} differs only in the case of letters."
            raise InputValueError(law, argument="--name", hint=hint)


def _expressions(own: StoredMap, columns: list[str]) -> list[nw.Expr]:
    """Return the recalibrated forecasts: of one event, or of each class."""
    if isinstance(own, ClassMap):
        places = own.places_of(columns, listed=True)
        found = own.expression([columns[place] for place in places])
        return [found[places.index(place)] for place in range(len(columns))]
    assert isinstance(own, RecalibrationMap | SegmentMap)  # noqa: S101  (for the type checker; others are of classes)
    return [own.expression(columns[0])]
