"""The page as one HTML file: nothing is fetched, and only the page's own script runs."""

from __future__ import annotations

import base64
import hashlib
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np
from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup
from numpy.typing import NDArray

from propriety.evaluation.card import STYLE
from propriety.number_words import fixed, percent
from propriety.plots.drawing import COLORS, DASHES
from propriety.report.cells import Estimate, cells_of
from propriety.report.labels import named, steady
from propriety.report.page import Facts, Figure, Item, Page, Section, Table
from propriety.report.payload import json_for_html
from propriety.report.svg import CONTROLS, adopt
from propriety.report.threshold_ranking import ThresholdRanking, reading
from propriety.storage.files import write_whole

if TYPE_CHECKING:
    from os import PathLike

MOST_ROWS = 20
LONG = 40  # A longer table scrolls, and its rows can be filtered.
TIED = 1e-12
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


class Html(str):
    """The text of a page, with a short repr, because a notebook shows the value of the last line of a cell."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<HTML page of {len(self) / 1000:,.0f} kB>"


def render(page: Page) -> str:
    """Write a page as one HTML file that needs nothing else.

    The Content-Security-Policy in it allows the page's own script and style, by their hashes, and nothing more: no
    other script, no inline style, no request. Write it as UTF-8 bytes, because other line endings would change the
    hashes.

    Examples
    --------
    >>> from propriety.report.page import Page
    >>> text = render(Page(title="A & B", verdict=("A is better.",), models=("A", "B"), sections=()))
    >>> text[:15], "<h1>A &amp; B</h1>" in text
    ('<!doctype html>', True)
    >>> text
    <HTML page of ... kB>
    """
    view = _View(page)
    # Lone surrogates cannot be encoded, and HTML has no control characters, so they are replaced.
    return Html(view.html().translate(CONTROLS).encode("utf-8", "replace").decode("utf-8"))


def write_page(page: str, path: str | PathLike[str]) -> None:
    """Write a page to a file, completely or not at all."""
    write_whole(path, page.encode("utf-8"))


class _View:
    """The values that the template shows for a page; figures are numbered in order."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.places = {name: place for place, name in enumerate(page.models)}
        self.points: dict[str, Any] = {}
        self.ranking: dict[str, Any] | None = None
        self.number = 0

    def html(self) -> str:
        sections = [self._section(section) for section in self.page.sections]
        style, script = _part("style.css") + STYLE, _part("script.js")
        data = {"models": [steady(name) for name in self.page.models], "ranking": self.ranking, "figures": self.points}
        return _template().render(
            page=self.page,
            headline={name: _written(value) for name, value in self.page.headline.items()},
            about={named(str(name)): _written(value) for name, value in self.page.about.items()},
            models=[{"place": place, "name": named(name), **_look(place)} for name, place in self.places.items()],
            sections=sections,
            policy=_policy(style, script),
            card=Markup(self.page.card),  # noqa: S704  (escaped where it was made)  # nosec B704
            style=Markup(style),  # noqa: S704  (the package's own)  # nosec B704
            script=Markup(script),  # noqa: S704  (the package's own)  # nosec B704
            data=Markup(json_for_html(data)),  # noqa: S704  (escaped for this place)  # nosec B704
        )

    def _section(self, section: Section) -> dict[str, Any]:
        items = [self._item(item) for item in section.items]
        return {"id": section.id, "title": section.title, "words": section.words, "parts": items}

    def _item(self, item: Item) -> dict[str, Any]:
        match item:
            case Figure():
                return self._figure(item)
            case Table():
                facts = {"kind": "table", "call": item.call, "note": item.note, "folded": item.folded}
                facts |= {"models": " ".join(str(self.places[model]) for model in item.models)}
                return facts | self._table(item.title, item.columns, of_models=item.of_models, best=item.best)
            case Facts():
                entries = {name: _written(value) for name, value in item.entries.items()}
                return {"kind": "facts", "title": item.title, "entries": entries}
            case ThresholdRanking():
                return self._ranking(item)

    def _figure(self, figure: Figure) -> dict[str, Any]:
        self.number += 1
        name = f"f{self.number}"
        if figure.points:
            self.points[name] = [dict(panel) for panel in figure.points]
        columns, note = _thinned(figure.table)
        svg = adopt(figure.svg, f"{name}-", title=figure.title, description=figure.alt)
        full = (
            adopt(figure.full, f"{name}-full-", title=f"{figure.title}, full", description=figure.alt)
            if figure.full
            else ""
        )
        return {
            "kind": "figure",
            "name": name,
            "title": figure.title,
            "caption": figure.caption,
            "call": figure.call,
            "width": figure.width,
            "models": " ".join(str(self.places[model]) for model in figure.of_models),
            "note": note,
            "reading": figure.reading,
            "full": Markup(full),  # noqa: S704  (shapes and text only)  # nosec B704
            "svg": Markup(svg),  # noqa: S704  (shapes and text only)  # nosec B704
            "table": self._table(f"Data: {figure.title}", columns),
        }

    def _table(
        self,
        title: str,
        columns: Mapping[str, Sequence[Any]],
        *,
        of_models: Iterable[str] = ("model",),
        best: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        written = {name: cells_of(column) for name, column in columns.items()}
        bold = {name: _best(columns[name], which) for name, which in (best or {}).items()}
        about = [columns[name] for name in of_models if name in columns]
        length = len(next(iter(columns.values()), ()))
        rows = [
            {
                "models": " ".join(str(self.places[one[row]]) for one in about if one[row] in self.places),
                "cells": [
                    {"text": named(cells[row].text), "aside": cells[row].aside, "best": row in bold.get(name, ())}
                    for name, (_, cells) in written.items()
                ],
            }
            for row in range(length)
        ]
        head = [
            {
                "name": named(name),
                "numeric": numeric,
                "spread": any(cell.aside for cell in cells),
                "model": self.places.get(name),
            }
            for name, (numeric, cells) in written.items()
        ]
        return {"title": title, "head": head, "rows": rows, "long": len(rows) > LONG}

    def _ranking(self, ranking: ThresholdRanking) -> dict[str, Any]:
        self.ranking = ranking.payload()
        start, stop = self.ranking["start"], self.ranking["stop"]
        width = ranking.grid[stop] - ranking.grid[start]
        means = [(row[stop] - row[start]) / width for row in self.ranking["cumulative"]]
        own = means[: len(ranking.models)]
        longest = max(*means, 1e-300)
        names = [*ranking.models, *ranking.trivial]
        rows = [
            {
                "place": place,
                "model": place if place < len(own) else None,
                "name": named(names[place]),
                "rank": 1 + sum(other < mean - TIED for other in own) if place < len(own) else "",
                "mean": fixed(mean, ranking.places),
                "behind": _behind(mean - min(own), ranking.places),
                "bar": f"{100 * mean / longest:.2f}",
            }
            for place, mean in sorted(enumerate(means), key=lambda pair: pair[1])
        ]
        return {
            "kind": "ranking",
            "rows": rows,
            "steps": len(ranking.grid) - 1,
            "start": start,
            "stop": stop,
            "low": reading(ranking.low),
            "high": reading(ranking.high),
            "ends": f"{percent(ranking.low, 4)} to {percent(ranking.high, 4)}",
            "call": ranking.score_call.removesuffix(")"),
            "low_value": ranking.low,
            "high_value": ranking.high,
        }


def _behind(difference: float, places: int) -> str:
    return "best" if abs(difference) <= TIED else ("+" if difference > 0 else "") + fixed(difference, places)


def _thinned(columns: Mapping[str, Sequence[Any]]) -> tuple[Mapping[str, Sequence[Any]], str]:
    """Return at most `MOST_ROWS` evenly spaced rows, and a note if rows are left out."""
    length = len(next(iter(columns.values()), ()))
    if length <= MOST_ROWS:
        return columns, ""
    chosen = np.unique(np.linspace(0, length - 1, MOST_ROWS).round().astype(int))
    thin = {name: _rows_of(column, chosen) for name, column in columns.items()}
    return thin, f"{len(chosen)} of {length:,} rows, evenly spaced; the call returns all of them."


def _rows_of(column: Sequence[Any] | NDArray[Any], chosen: NDArray[np.intp]) -> list[Any]:
    if isinstance(column, np.ndarray):
        return list(column[chosen].tolist())
    return [column[row] for row in chosen.tolist()]


def _best(column: Sequence[Any], which: str) -> set[int]:
    values = [value.value if isinstance(value, Estimate) else value for value in column]
    known = [value for value in values if value is not None and not math.isnan(value)]
    if not known:
        return set()
    target = min(known) if which == "lowest" else max(known)
    return {row for row, value in enumerate(values) if value == target}


def _written(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _look(place: int) -> dict[str, Any]:
    """Return the colour and the dashes of a model, as in its figures."""
    dash = DASHES[place % len(DASHES)]
    hue = place % len(COLORS)
    name = "ink" if COLORS[hue] == "#000000" else f"m{hue}"
    dashes = "" if isinstance(dash, str) else " ".join(f"{1.6 * length:g}" for length in dash[1])
    return {"stroke": f"var(--{name},{COLORS[hue]})", "dashes": dashes}


def _policy(style: str, script: str) -> str:
    style_hash, script_hash = (
        base64.b64encode(hashlib.sha256(part.encode()).digest()).decode() for part in (style, script)
    )
    return (
        f"default-src 'none'; script-src 'sha256-{script_hash}'; style-src 'sha256-{style_hash}'; "
        "img-src blob:; "  # To draw a figure of the page as PNG; only the page's own script can make such an address.
        "base-uri 'none'; form-action 'none'"
    )


@cache
def _part(name: str) -> str:
    # Reading as text normalises line endings to those that browsers hash. Comments and indentation are for developers.
    text = files("propriety.report").joinpath(name).read_text(encoding="utf-8")
    return re.sub(r"\n\s+", "\n", COMMENT.sub("", text))


def _shown(value: Any) -> Any:
    """Return what the page shows for a value of the template."""
    return steady(value) if isinstance(value, str) and not isinstance(value, Markup) else value


@cache
def _template() -> Template:
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, finalize=_shown
    )
    return environment.from_string(_part("template.html"))
