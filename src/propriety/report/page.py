"""The contents of a page: a card or a verdict, then sections with text, figures, tables, facts and one ranking."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, get_args

from propriety import checks
from propriety.errors import InputValueError
from propriety.report.threshold_ranking import ThresholdRanking
from propriety.tables.frames import first_repeated

Columns: TypeAlias = Mapping[str, Sequence[Any]]
Width: TypeAlias = Literal["third", "half", "whole"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Figure:
    """A figure, its data, and the call that reproduces it.

    Parameters
    ----------
    title, caption : str
        What it shows, and how to read it.
    svg : str
        The drawing, made by `figure_of`.
    table : mapping of str to sequence
        The columns of the table under the figure. Of a long table, evenly spaced rows are shown.
    alt : str
        Description for readers who cannot see it.
    call : str
        The call that reproduces it.
    points : sequence of mappings
        Values that can be read off with the pointer or the keyboard.
    width : {"third", "half", "whole"}
        Width on the page where there is room.
    of_models : tuple of str
        The models of the page that it shows, if not all; it is hidden with them.
    reading : str
        How to read it.
    full : str
        The drawing with axes from 0 to 1, if `svg` shows only a part; it is shown on request.
    """

    title: str
    caption: str
    svg: str
    table: Columns
    alt: str
    call: str
    points: Sequence[Mapping[str, Any]] = ()
    width: Width = "half"
    of_models: tuple[str, ...] = ()
    reading: str = ""
    full: str = ""

    def __post_init__(self) -> None:
        _check_lengths(self.title, self.table)
        checks.choice(self.width, "width", get_args(Width))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Table:
    """A table of numbers or text.

    Parameters
    ----------
    title, note : str
        What it shows, and a note below it.
    columns : mapping of str to sequence
        Numbers, `Estimate`, text, booleans or None; a column has the same decimal places throughout.
    call : str
        The call that reproduces the numbers.
    of_models : tuple of str
        The columns that name the models of a row, which is hidden if any of them is.
    best : mapping of str to {"lowest", "highest"}
        Columns whose best value is set in bold.
    folded : bool
        Whether it is collapsed at first.
    models : tuple of str
        The models of the page that the whole table is about, if not all; it is hidden with them.
    """

    title: str
    columns: Columns
    call: str = ""
    note: str = ""
    of_models: tuple[str, ...] = ("model",)
    best: Mapping[str, str] = field(default_factory=dict)
    folded: bool = False
    models: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _check_lengths(self.title, self.columns)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Facts:
    """Names and values, such as versions, seed and counts."""

    title: str
    entries: Mapping[str, object]


Item: TypeAlias = Figure | Table | Facts | ThresholdRanking


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Section:
    """A part of the page; `id` is its anchor, `words` are its paragraphs."""

    id: str
    title: str
    words: tuple[str, ...] = ()
    items: tuple[Item, ...] = ()

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z][a-z0-9-]*", self.id):
            law = f"the id of a section must be made of a-z, 0-9 and -, and begin with a letter; got {self.id!r}"
            raise InputValueError(law)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Page:
    """A whole report.

    Parameters
    ----------
    title : str
        What was evaluated.
    models : tuple of str
        The models in the order of their colours.
    sections : tuple of Section
        The parts.
    verdict : tuple of str
        The findings in plain words; the first paragraph is the most important.
    card : str
        What an evaluation has in place of the verdict: its card, as HTML.
    headline : mapping of str to object
        A few facts for the top of the page, such as the number of cases.
    about : mapping of str to object
        What the page is about: the outcome, the file, the models, the date.
    """

    title: str
    models: tuple[str, ...]
    sections: tuple[Section, ...]
    verdict: tuple[str, ...] = ()
    card: str = ""
    headline: Mapping[str, object] = field(default_factory=dict)
    about: Mapping[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        twice = first_repeated(section.id for section in self.sections)
        if twice is not None:
            raise InputValueError(f"the ids of sections must differ; {twice!r} occurs twice")
        rankings = [item for section in self.sections for item in section.items if isinstance(item, ThresholdRanking)]
        if len(rankings) > 1:
            raise InputValueError(f"a page can have only one ThresholdRanking; got {len(rankings)}")
        if rankings and rankings[0].models != self.models:
            raise InputValueError("the ThresholdRanking must have the models of the page, in the same order")


def _check_lengths(title: str, columns: Columns) -> None:
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        found = ", ".join(f"{name!r} {length}" for name, length in lengths.items())
        raise InputValueError(f"the columns of table {title!r} must have the same length; they have {found}")
