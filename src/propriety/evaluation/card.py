"""The card of an evaluation on one screen, as text and as HTML: the answer, a table of questions, the findings."""

from __future__ import annotations

import html
import math
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from propriety.evaluation.answer import Evidence, answer_of
from propriety.evaluation.card_layout import MOST_DOWN, WIDE, Line, Table, tables_of
from propriety.evaluation.card_rows import ends_of, rows_of
from propriety.evaluation.card_sentences import sentences_of
from propriety.evaluation.rows import UNITS, Cell, Row, lines_of
from propriety.evaluation.words import cases_words, thresholds_words
from propriety.number_words import percent

if TYPE_CHECKING:
    from propriety.evaluation.evaluation import Evaluation

NARROW = 80  # Columns; the card is narrow if it then fits on a screen with all findings.
MOST_LINES = 35
MOST_SENTENCES = 4
REPORT = 'result.to_html("report.html")'  # Where there is more.
PLAIN = str.maketrans({"─": "-", "\N{MINUS SIGN}": "-", "\N{EN DASH}": "-", "…": "~", "\N{INFINITY}": "inf"})
MOST_IN_HTML = 8  # Sentences.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """The answer, the rows and the findings of an evaluation; `print` shows it, and a notebook too.

    Parameters
    ----------
    answer : str
        Which model to prefer, or what cannot be told.
    about : str
        What was evaluated.
    rows : tuple of Row
        The numbers, one row for each measure and model.
    tables : tuple of Table
        The rows as they are laid out.
    sentences : tuple of str
        The findings in words, the most important first.
    notes : tuple of str
        What the rows mean.
    """

    answer: str
    about: str
    rows: tuple[Row, ...]
    tables: tuple[Table, ...]
    sentences: tuple[str, ...]
    notes: tuple[str, ...]

    def __str__(self) -> str:
        width = max(len(line) for table in self.tables for line in table.text())
        if width <= NARROW:
            shown, lines = self._fitting(NARROW)
            if shown == min(len(self.sentences), MOST_SENTENCES):
                return "\n".join(lines)
        return "\n".join(self._fitting(WIDE)[1])

    @property
    def words(self) -> tuple[str, ...]:
        """The answer, what was evaluated, and the findings."""
        return (self.answer, self.about, *self.sentences)

    def plain(self) -> str:
        """Return the card in ASCII as far as its names are, for outputs that cannot show other characters."""
        return str(self).translate(PLAIN)

    def _repr_html_(self) -> str:
        return notebook_html(self)

    def _fitting(self, width: int) -> tuple[int, list[str]]:
        """Return with how many findings the card fits on a screen, and its lines of this width."""
        most = min(len(self.sentences), MOST_SENTENCES)
        for shown in range(most, -1, -1):
            lines = self._lines(width, shown, self.tables)
            if len(lines) <= MOST_LINES:
                return shown, lines
        return 0, self._lines(width, 0, [table.without_details() for table in self.tables])

    def _lines(self, width: int, shown: int, tables: Iterable[Table]) -> list[str]:
        """Return the lines of the card with so many findings."""
        rule = "─" * width
        said = [
            line
            for number, sentence in enumerate(self.sentences[:shown], 1)
            for line in _wrapped(sentence, width, f"{number}. ")
        ]
        top = [*_wrapped(self.answer, width), *_wrapped(self.about, width), rule]
        middle = [line.rstrip() for table in tables for line in table.text()]
        foot = [line for note in self.foot(shown) for line in _wrapped(note, width)]
        return [*top, *middle, rule, *said, *([rule] if said else []), *foot]

    def foot(self, shown: int) -> tuple[str, ...]:
        """Return the notes below the findings, of which so many are shown, and where there is more."""
        left = len(self.sentences) - shown
        more = f" {left} more finding{'s' * (left > 1)}: result.card.sentences." if left else ""
        return (*self.notes[:-1], f"{self.notes[-1]}{more} {REPORT}")


def card_of(evaluation: Evaluation) -> Card:
    """Return the card of an evaluation."""
    rows = tuple(rows_of(evaluation))
    lines = lines_of(rows)
    evidence = Evidence(evaluation, lines)
    sentences = tuple(sentences_of(evidence))
    sentences = tuple(sorted(sentences, key=lambda sentence: not sentence.warns))
    return Card(
        answer=answer_of(evidence, sentences),
        about=cases_words(evaluation),
        rows=rows,
        tables=tables_of(evidence, lines),
        sentences=tuple(sentence.text for sentence in sentences),
        notes=tuple(_notes(evaluation)),
    )


def _notes(evaluation: Evaluation) -> Iterator[str]:
    """Say which models are shown, what the costs and the net true positives are, and of which level the intervals."""
    if len(evaluation.models) > MOST_DOWN:
        yield f"The best {MOST_DOWN} of {len(evaluation.models):,} models: result.scores has all of them."
    if evaluation.thresholds is not None:
        over = f", averaged over t {thresholds_words(evaluation)}" if evaluation.problem.interval is not None else ""
        single = evaluation.problem.threshold
        t, rest = ("t", "1 \N{MINUS SIGN} t") if single is None else (f"{single:g}", f"{1.0 - single:g}")
        yield f"Decision cost: a false alarm counts {t}, a missed event {rest}{over}."
        if ends_of(evaluation):
            yield "Net true positives: net benefit above the better of acting on everybody and on nobody."
    level = f"{percent(evaluation.level, 6)} intervals"
    yield f"{level}. Valid for cases on which no model was fitted."


def _wrapped(text: str, width: int, label: str = "") -> list[str]:
    """Return a text as lines, the later ones indented below its label."""
    return textwrap.wrap(
        text,
        width,
        initial_indent=label,
        subsequent_indent=" " * len(label),
        break_on_hyphens=False,
    )


def notebook_html(card: Card) -> str:
    """Return the card for a notebook, with its style and without any script."""
    shown = card.sentences[:MOST_IN_HTML]
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
