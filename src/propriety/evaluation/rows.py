"""The numbers of the card: rows, and the cells in which they are written, rounded in this one place."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from propriety.number_words import decimals, decimals_of_limits, fixed


class Unit(NamedTuple):
    """How the numbers of a measure are written: times `scale`, with at most `places` decimals where these suffice.

    `fine` is the first digit of a half-width below which two digits are written.
    """

    scale: float = 1.0
    places: int = 3
    signed: bool = False
    suffix: str = ""
    fine: float = 5.0


UNITS = {
    "score": Unit(places=4),
    "difference": Unit(places=4, signed=True),
    "per 1,000": Unit(1000.0, 1, fine=10.0),
    "difference per 1,000": Unit(1000.0, 1, signed=True, fine=10.0),
    "share": Unit(100.0, 1, suffix="%"),
    "points": Unit(100.0, 1),
    "ratio": Unit(places=2),
    "area": Unit(places=3),
    "p": Unit(places=2),
    "count": Unit(places=0),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What was found about one measure of one model.

    Parameters
    ----------
    question, measure, short : str
        The question that it answers, the measure, and its name as the head of a column.
    model : str
        The model.
    value, low, high : float
        The number and its limits as in the tables of the evaluation; NaN if it has none.
    unit : str
        The key of `UNITS`.
    outcome : str
        The outcome of a test, or what a count is out of.
    better : str
        Which values are good.
    ideal : float
        The value that is best, or from which the sign of a difference is seen; NaN if there is none.
    is_detail : bool
        Whether it belongs to the row above, under which it is indented.
    """

    question: str
    measure: str
    short: str
    model: str
    value: float
    low: float = math.nan
    high: float = math.nan
    unit: str = "score"
    outcome: str = ""
    better: str = ""
    ideal: float = math.nan
    is_detail: bool = False

    @property
    def has_limits(self) -> bool:
        """Whether both limits are known."""
        return not (math.isnan(self.low) or math.isnan(self.high))


@dataclass(frozen=True, slots=True)
class Cell:
    """A row as it is written: the numbers in its unit, rounded, and their decimals."""

    row: Row
    value: float
    low: float
    high: float
    places: int
    places_of_line: int

    @property
    def number(self) -> str:
        """The value; empty if there is none."""
        return self._number(self.value, self.places)

    @property
    def brief(self) -> str:
        """The value where the limits are not written, with the decimals of its line."""
        return self._number(UNITS[self.row.unit].scale * self.row.value, self.places_of_line)

    def _number(self, value: float, places: int) -> str:
        unit = UNITS[self.row.unit]
        if math.isnan(value):
            return "" if self.row.has_limits or self.row.outcome else "\N{EN DASH}"
        if self.row.unit == "p" and self.row.value < 0.001:
            return "<0.001"
        return fixed(value, places, signed=unit.signed) + unit.suffix

    @property
    def limits(self) -> str:
        """The interval, or the outcome of a row that has none."""
        if not self.row.has_limits:
            return self.row.outcome
        signed = UNITS[self.row.unit].signed
        return f"{fixed(self.low, self.places, signed=signed)} to {fixed(self.high, self.places, signed=signed)}"


def cells_of(line: Sequence[Row]) -> list[Cell]:
    """Return the rows of one measure as they are written: this is where all numbers of the card are rounded.

    Examples
    --------
    >>> row = Row(
    ...     question="Right order?", measure="AUC", short="AUC", model="a", value=0.78419, low=0.76774, high=0.79955
    ... )
    >>> [cell.number + ", " + cell.limits for cell in cells_of([row])]
    ['0.784, 0.768 to 0.800']
    """
    unit = UNITS[line[0].unit]
    scaled = [[unit.scale * number for number in (row.value, row.low, row.high)] for row in line]
    half_widths = [(high - low) / 2.0 for _, low, high in scaled]
    shared = decimals(half_widths, [value for value, *_ in scaled], most=unit.places, fine=unit.fine)
    cells = []
    for row, numbers in zip(line, scaled, strict=True):
        value, low, high = numbers
        places = shared
        if row.unit == "p":  # Two digits, and as many as it takes to stay on its side of the level of the test.
            places = decimals_of_limits(value, value, 2 if value >= 0.1 else 3, ideal=row.ideal)
        elif row.has_limits:
            places = decimals_of_limits(low, high, shared, ideal=unit.scale * row.ideal)
        value, low, high = (number if math.isinf(number) else round(number, places) for number in numbers)
        cells.append(Cell(row, value, low, high, places, shared))
    return cells


def lines_of(rows: Iterable[Row]) -> dict[tuple[str, str], list[Cell]]:
    """Return the cells of each line of the card by its question and measure, in order."""
    lines: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        lines.setdefault((row.question, row.measure), []).append(row)
    return {line: cells_of(own) for line, own in lines.items()}
