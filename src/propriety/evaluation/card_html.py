"""The card as HTML: a table with an interval drawn in each cell, for notebooks and the top of the report."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from propriety.evaluation.card_layout import Line, Table
from propriety.evaluation.rows import UNITS, Cell

if TYPE_CHECKING:
    from propriety.evaluation.card import Card

MOST_SENTENCES = 8
WIDTH, HEIGHT = 88, 14  # Of a drawn interval, in pixels.
# Colours are those of the text around the card, so that it can be read on light and dark pages.
STYLE = """
.propriety-card { font-variant-numeric: tabular-nums; max-width: 75rem; }
.propriety-card .answer { font-size: 1.35em; line-height: 1.35; margin: .2em 0 .5em; max-width: 46em; }
.propriety-card .answer { text-wrap: balance; }
.propriety-card .soft, .propriety-card .r { opacity: .75; }
.propriety-card p, .propriety-card li { margin: .2em 0; max-width: 60em; text-align: left; }
.propriety-card .scroll { overflow-x: auto; line-height: 1.4; }
.propriety-card table { border-collapse: collapse; width: auto; margin: .6em 0 1em; font-size: 1em; border: 0; }
.propriety-card tr, .propriety-card tbody tr:hover { background: none !important; }
.propriety-card th, .propriety-card td { border: 0; padding: .12em .4em; text-align: left; white-space: nowrap; }
.propriety-card th, .propriety-card td { vertical-align: baseline; font-weight: 400; max-width: none; }
.propriety-card caption, .propriety-card tr.q th { font-weight: 600; padding: .55em .4em .12em; text-align: left; }
.propriety-card thead th { font-weight: 600; padding-left: 1.1em; border-bottom: 1px solid; }
.propriety-card thead th:empty { border: 0; }
.propriety-card tbody th[scope=row] { padding-left: 1em; }
.propriety-card tbody th.sub { padding-left: 2.2em; }
.propriety-card td.v { text-align: right; font-weight: 600; padding-left: 1.1em; }
.propriety-card td.l { padding-left: 1.1em; }
.propriety-card td.g { padding-right: 1em; }
.propriety-card svg { display: inline-block; vertical-align: -.15em; overflow: visible; }
"""


def notebook_html(card: Card) -> str:
    """Return the card for a notebook, with its style and without any script."""
    shown = card.sentences[:MOST_SENTENCES]
    return f"<style>{STYLE.strip()}</style>{_card(card, shown, card.foot(len(shown)), {})}"


def page_html(card: Card, links: Mapping[str, str]) -> str:
    """Return the card for a page with the style; `links` are addresses for its questions, with more about them."""
    return _card(card, card.sentences, card.notes, links)


def _card(card: Card, sentences: Sequence[str], notes: Sequence[str], links: Mapping[str, str]) -> str:
    lead, colon, rest = card.answer.partition(":")
    tables = "".join(_table(table, links) for table in card.tables)
    found = "".join(f"<li>{_text(sentence)}</li>" for sentence in sentences)
    return (
        f'<div class="propriety-card"><p class="answer"><b>{_text(lead + colon)}</b>{_text(rest)}</p>'
        f'<p class="soft">{_text(card.about)}</p><div class="scroll">{tables}</div>'
        f'{f"<ol>{found}</ol>" if found else ""}<p class="soft">{_text(" ".join(notes))}</p></div>'
    )


def _table(table: Table, links: Mapping[str, str]) -> str:
    lines, spans = table.lines, [2 + (not table.is_by_model)] * len(table.head)
    if table.is_by_model:
        parts = [[table.parts(place, line.cells[place]) for line in lines] for place in range(len(table.head))]
        spans = [1 + all(any(one[side] for one in column) for side in (0, 1)) for column in parts]
    ranked = table.is_by_model and any(line.aside for line in lines)
    head = "".join(
        f'<th scope="col" colspan="{span}"{_of_model(table, place)}><bdi>{_text(name)}</bdi></th>'
        for place, (name, span) in enumerate(zip(table.head, spans, strict=True))
    )
    body, caption = [], ""
    for question, own in table.blocks:
        named = f'<a href="{_text(links[question])}">{_text(question)}</a>' if question in links else _text(question)
        if table.is_by_model:
            caption = f"<caption>{named}</caption>" if question else ""
            body += [_model_row(table, line, spans, ranked=ranked) for line in own]
        else:
            body.append(f'<tr class="q"><th scope="rowgroup" colspan="{1 + sum(spans)}">{named}</th></tr>')
            body += [_row(table, line) for line in own]
    first = "<th></th>" * (1 + ranked)
    return f"<table>{caption}<thead><tr>{first}{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"


def _of_model(table: Table, place: int) -> str:
    """Return the mark by which the report hides and colours a column that is of one model."""
    return "" if table.is_by_model else f' data-model="{place}"'


def _model_row(table: Table, line: Line, spans: Sequence[int], *, ranked: bool) -> str:
    """Return the row of a model; a column that has only numbers, or only limits, is one cell wide."""
    cells = [f'<td class="r">{_text(line.aside)}</td>'] if ranked else []
    cells.append(f'<th scope="row"><bdi>{_text(line.label)}</bdi></th>')
    for place, (cell, span) in enumerate(zip(line.cells, spans, strict=True)):
        number, limits = table.parts(place, cell)
        alone = '<td class="l">' + _text(limits) if limits else '<td class="v">' + _text(number)
        cells.append(f'<td class="v">{_text(number)}</td><td>{_text(limits)}</td>' if span > 1 else f"{alone}</td>")
    return f"<tr>{''.join(cells)}</tr>"


def _row(table: Table, line: Line) -> str:
    """Return the row of a measure, with an interval drawn for each model."""
    better = f' <small class="soft">{_text(line.aside)}</small>' if line.aside else ""
    sub = ' class="sub"' if line.is_detail else ""
    cells = [f'<th scope="row"{sub}>{_text(line.label)}{better}</th>']
    axis = _axis(line.cells)
    for place, cell in enumerate(line.cells):
        number, limits = table.parts(place, cell)
        drawn = "" if cell is None or axis is None else _interval(cell, axis)
        of_model = _of_model(table, place)
        cells.append(f'<td class="v"{of_model}>{_text(number)}</td><td{of_model}>{_text(limits)}</td>')
        cells.append(f'<td class="g"{of_model}>{drawn}</td>')
    return f"<tr>{''.join(cells)}</tr>"


def _axis(cells: Sequence[Cell | None]) -> tuple[float, float] | None:
    """Return the range of the intervals of a line, with the ideal; None if there is nothing to draw."""
    known = [cell for cell in cells if cell is not None and cell.row.has_limits and not math.isnan(cell.value)]
    ends = [end for cell in known for end in (cell.low, cell.high, UNITS[cell.row.unit].scale * cell.row.ideal)]
    finite = [end for end in ends if math.isfinite(end)]
    if not finite or max(finite) <= min(finite):
        return None
    return min(finite), max(finite)


def _interval(cell: Cell, axis: tuple[float, float]) -> str:
    """Return a drawing of an interval: a line with a dot at the value, and a tick at the ideal."""
    if not cell.row.has_limits or not all(map(math.isfinite, (cell.value, cell.low, cell.high))):
        return ""

    def x(value: float) -> str:
        return f"{4.0 + (WIDTH - 8.0) * (value - axis[0]) / (axis[1] - axis[0]):.1f}".removesuffix(".0")

    ideal = UNITS[cell.row.unit].scale * cell.row.ideal
    tick = "" if math.isnan(ideal) else f'<path d="M{x(ideal)} 1v12" opacity=".45"/>'
    line, value = f'<path d="M{x(cell.low)} 7H{x(cell.high)}"/>', x(cell.value)
    return (
        f'<svg width="{WIDTH}" height="{HEIGHT}" aria-hidden="true" stroke="currentColor" stroke-width="1.5">{tick}'
        f'{line}<circle cx="{value}" cy="7" r="2.5" fill="currentColor"/></svg>'
    )


def _text(text: str) -> str:
    return html.escape(text)
