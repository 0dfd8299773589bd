"""The tables of the card: questions down and models across, or with many models a line for each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING

from propriety.evaluation.card_rows import question_of_groups
from propriety.evaluation.rows import Cell
from propriety.inference.shown_names import short_names

if TYPE_CHECKING:
    from propriety.evaluation.answer import Evidence

WIDE = 100
MOST_ACROSS = 2  # With more models, there is a line for each.
MOST_DOWN = 10
LONGEST_DIFFERENCE = 34
# Of a table with a line for each model: the measures it leaves out, and the columns that lose their intervals in this
# order until the others have room. The outcome of the test of calibration stands for its p-value.
LEFT_OUT = ("difference", "ICI", "recalibration", "top slope")
GIVING_WAY = ("calibration", "AUC", "skill", "wrong", "net", "top O/E", "slope", "O/E")


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a table: what it is about, which values are good or which rank it has, and a cell for each column."""

    label: str
    aside: str
    cells: tuple[Cell | None, ...]
    is_detail: bool = False

    @property
    def indented(self) -> str:
        """The label as text shows it, under the line that it belongs to."""
        return f"  {self.label}" if self.is_detail else self.label


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the card: the heads of its columns, and its lines by question.

    `bare` are the columns in which only the numbers are written.
    """

    head: tuple[str, ...]
    blocks: tuple[tuple[str, tuple[Line, ...]], ...]
    is_by_model: bool = False
    bare: frozenset[int] = frozenset()

    @property
    def lines(self) -> list[Line]:
        """All lines."""
        return [line for _, own in self.blocks for line in own]

    def parts(self, place: int, cell: Cell | None) -> tuple[str, str]:
        """Return the number and the limits that a column shows of a cell; of a bare test, its outcome."""
        if cell is None:
            return "", ""
        if place not in self.bare:
            return cell.number, cell.limits
        return ("", cell.row.outcome) if cell.row.outcome else (cell.brief, "")

    def without_details(self) -> Table:
        """Return the table without the lines that are indented, such as those of single groups."""
        blocks = [(question, tuple(line for line in own if not line.is_detail)) for question, own in self.blocks]
        return replace(self, blocks=tuple(blocks))

    def text(self) -> list[str]:
        """Return the table as lines of text."""
        return _by_model(self) if self.is_by_model else _by_measure(self)


def tables_of(evidence: Evidence, lines: Mapping[tuple[str, str], Sequence[Cell]]) -> tuple[Table, ...]:
    """Return the tables of an evaluation from the cells of its rows."""
    if len(evidence.models) <= MOST_ACROSS:
        return (_across(evidence, lines),)
    return tuple(_down(evidence, lines))


def _across(evidence: Evidence, lines: Mapping[tuple[str, str], Sequence[Cell]]) -> Table:
    """Return the table with questions down and models across."""
    laid = []
    for (question, measure), cells in lines.items():
        of_model = {cell.row.model: cell for cell in cells}
        label, better = measure, cells[0].row.better
        if cells[0].row.short == "difference":
            named = "{} less {}, paired".format(*evidence.names.values())
            label = named if len(named) <= LONGEST_DIFFERENCE else measure
        own = tuple(map(of_model.get, evidence.models))
        line = Line(label, f"({better})" if better else "", own, is_detail=cells[0].row.is_detail)
        laid.append((question, line))
    blocks = tuple((question, tuple(line for _, line in own)) for question, own in groupby(laid, lambda one: one[0]))
    return Table(tuple(evidence.names.values()), blocks)


def _down(evidence: Evidence, lines: Mapping[tuple[str, str], Sequence[Cell]]) -> Iterator[Table]:
    """Yield the tables with models down and measures across: of all cases, and of the groups."""
    slices = evidence.evaluation.slices
    about_groups = "" if slices is None else question_of_groups(slices)
    columns: dict[bool, dict[str, Sequence[Cell]]] = {False: {}, True: {}}
    for (question, _), cells in lines.items():
        short, of_groups = cells[0].row.short, question == about_groups
        is_single_group = of_groups and cells[0].row.is_detail
        if short not in LEFT_OUT and not is_single_group:
            columns[of_groups][short] = cells
    models = _ordered(evidence)[:MOST_DOWN]
    for of_groups, own in columns.items():
        cells_of_model = {(short, cell.row.model): cell for short, column in own.items() for cell in column}
        laid = []
        for model, rank in models:
            of_model = tuple(cells_of_model.get((short, model)) for short in own)
            laid.append(Line(evidence.names[model], "" if of_groups else rank, of_model))
        if own:
            question = about_groups if of_groups else ""
            yield _narrowed(Table(tuple(own), ((question, tuple(laid)),), is_by_model=True))


def _ordered(evidence: Evidence) -> list[tuple[str, str]]:
    """Return the models, the best first, with the ranks that the tests leave open."""
    compared = evidence.evaluation.comparison
    if compared is None:
        score = evidence.evaluation.problem.headline.key
        models = sorted(evidence.models, key=lambda model: evidence.evaluation.estimates[model][score].value)
        return [(model, "") for model in models]
    ranks = [(row.model, row.extra["best_rank"], row.extra["worst_rank"]) for row in compared.ranks()]
    return [(model, f"{best}" if best == worst else f"{best}-{worst}") for model, best, worst in ranks]


def _narrowed(table: Table) -> Table:
    """Return the table without the intervals for which there is no room."""
    bare: set[int] = set()
    for name in GIVING_WAY:
        bare |= {place for place, short in enumerate(table.head) if short == name or short.startswith(f"{name} at")}
        table = replace(table, bare=frozenset(bare))
        if max(map(len, table.text())) <= WIDE:
            break
    return table


def _widths(table: Table) -> tuple[list[list[tuple[str, str]]], list[int], list[int]]:
    """Return the parts of the cells by line, and for each column the width of its numbers and of its limits."""
    parts = [[table.parts(place, cell) for place, cell in enumerate(line.cells)] for line in table.lines]
    numbers, limits = (
        [max(len(line[place][side]) for line in parts) for place in range(len(table.head))] for side in (0, 1)
    )
    return parts, numbers, limits


def _by_measure(table: Table) -> list[str]:
    """Return a table with models across: below each name the numbers end where it does."""
    parts, numbers, limits = _widths(table)
    label = max(4 + len(line.indented) + len(line.aside) for line in table.lines)
    widths = [number + 2 + limit for number, limit in zip(numbers, limits, strict=True)]
    names = short_names(table.head, longest=max(min(widths), 8))
    columns = zip(names, numbers, widths, strict=True)
    out = [" " * label + "".join(f"   {name.rjust(number).ljust(width)}" for name, number, width in columns)]
    row = iter(parts)
    for question, lines in table.blocks:
        out.append(question)
        for line in lines:
            text = f"  {line.indented}"
            cells = zip(next(row), numbers, widths, strict=True)
            written = "".join(
                f"   {f'{one.rjust(number)}  {both}'.ljust(width)}" for (one, both), number, width in cells
            )
            out.append(text + line.aside.rjust(label - len(text)) + written)
    return out


def _by_model(table: Table) -> list[str]:
    """Return a table with models down: names of columns stand above limits, or end where numbers do."""
    parts, numbers, limits = _widths(table)
    both = [1 if number and limit else 0 for number, limit in zip(numbers, limits, strict=True)]
    widths = [
        max(number + gap + limit, len(name))
        for name, number, gap, limit in zip(table.head, numbers, both, limits, strict=True)
    ]
    starts = [0 if limit else width for limit, width in zip(limits, widths, strict=True)]
    ranks = max(len(line.aside) for line in table.lines)
    label = max(len(line.label) for line in table.lines) + (ranks + 2 if ranks else 0)
    heads = zip(table.head, starts, widths, strict=True)
    out = [question for question, _ in table.blocks if question]
    out.append(" " * label + "".join(f"  {name.rjust(start).ljust(width)}" for name, start, width in heads))
    for line, own in zip(table.lines, parts, strict=True):
        text = (line.aside.ljust(ranks + 2) + line.label if ranks else line.label).ljust(label)
        for (number, limit), start, width, place in zip(own, starts, widths, range(len(own)), strict=True):
            text += f"  {(number.rjust(start or numbers[place]) + ' ' * both[place] + limit).ljust(width)}"
        out.append(text)
    return out
