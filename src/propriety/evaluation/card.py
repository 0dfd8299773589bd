"""The card of an evaluation: the answer, a table of questions by models, and the findings, on one screen."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from propriety.evaluation.answer import Evidence, answer_of
from propriety.evaluation.card_html import notebook_html
from propriety.evaluation.card_layout import MOST_DOWN, WIDE, Table, tables_of
from propriety.evaluation.card_rows import ends_of, rows_of
from propriety.evaluation.card_sentences import sentences_of
from propriety.evaluation.rows import Row, lines_of
from propriety.evaluation.words import cases_words, thresholds_words
from propriety.number_words import percent

if TYPE_CHECKING:
    from propriety.evaluation.evaluation import Evaluation

NARROW = 80  # Columns; the card is narrow if it then fits on a screen with all findings.
MOST_LINES = 35
MOST_SENTENCES = 4
REPORT = 'result.to_html("report.html")'  # Where there is more.
PLAIN = str.maketrans({"─": "-", "\N{MINUS SIGN}": "-", "\N{EN DASH}": "-", "…": "~", "\N{INFINITY}": "inf"})


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
