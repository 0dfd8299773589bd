"""What is said at the terminal: plain words and tables on the output, errors and progress beside it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

from rich import box
from rich.console import Console
from rich.table import Table

from propriety.inference.number_words import number

__all__ = ["beside", "block", "estimate", "in_options", "one_line", "output", "say", "show_table", "visible"]

WIDE = 200  # Columns of output that nobody watches, so that no table is folded.

# The door speaks of arguments, and its hints of calls; the first that matches counts.
IN_OPTIONS = {
    r"y_proba is forecasts\[(.+)\]\.$": r"(Model \1.)",
    r"\bforecasts\[((['\"]).*?\2)\]": r"the forecast of \1",
    r"\bpos_label=(?=[^\s,])": "--pos-label ",
    r"\bpos_label\b=?": "--pos-label",
    r"\blabels=": "--classes",
    r'\bmissing="drop"': "--missing drop",
    r"\bsample_weight\b": "--weight",
    r"\by_true\b": "the outcome",
    r"\by_proba\b": "the forecast",
    r"^frame (must have the columns .+); it lacks (.+) Hint: its": r"the files \1; they lack \2 Hint: their",
    r"^frame must": "the files must",
    r"convert it with numpy\.asarray\(.+\) and look at what fails\.": (
        "look for words among the numbers; --null names one that means a missing value, such as NA."
    ),
}


class Output(Console):
    """The standard output; that nobody reads it any longer is for the program to judge."""

    def on_broken_pipe(self) -> None:
        """Pass the error on."""
        raise BrokenPipeError


def output() -> Console:
    """Return the standard output, with colours only where somebody sees them and NO_COLOR does not forbid them."""
    console = Output(highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console.width = WIDE
    return console


def beside() -> Console:
    """Return the standard error, where progress and errors go."""
    return Console(stderr=True, highlight=False, markup=False, emoji=False)


def say(text: str) -> None:
    """Print lines as they are; the terminal wraps them."""
    output().print(visible(text), soft_wrap=True)


def show_table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: Iterable[int] = ()) -> None:
    """Print a table; the columns at the places `numbers` stand to the right."""
    right = set(numbers)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for place, name in enumerate(columns):
        table.add_column(visible(name), justify="right" if place in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*map(visible, row))
    output().print(table)


def estimate(value: float, low: float, high: float) -> str:
    """Write a number with its interval.

    Examples
    --------
    >>> estimate(0.14612, 0.139, 0.1533), estimate(0.25, float("nan"), float("nan"))
    ('0.146 (0.139 to 0.153)', '0.250')
    """
    written = "-" if math.isnan(value) else number(value)
    return f"{written} ({number(low)} to {number(high)})" if math.isfinite(low) and math.isfinite(high) else written


def visible(text: object) -> str:
    r"""Return a text in which no character can steer the terminal.

    Examples
    --------
    >>> visible("a\x1b[2Jb")
    'a\\x1b[2Jb'
    """
    # A name in a file may hold escape sequences, which would rewrite what the reader sees.
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in str(text))


def one_line(error: BaseException) -> str:
    r"""Return what an error says, with its notes, in one line.

    Examples
    --------
    >>> error = ValueError("y_proba must lie in [0, 1].\nRow 3 is 7.")
    >>> error.add_note("y_proba is forecasts['a'].")
    >>> one_line(error)
    "y_proba must lie in [0, 1]. Row 3 is 7. y_proba is forecasts['a']."
    """
    if isinstance(error, OSError) and error.strerror:
        where = "" if error.filename is None else f"{error.filename}: "
        return visible(f"{where}{error.strerror}.")
    parts = [str(error) or type(error).__name__, *getattr(error, "__notes__", ())]
    return visible(" ".join(" ".join(parts).split()))


def block(title: str, *lines: str) -> str:
    """Return a part of a help text whose lines click is to leave as they are, which a backspace tells it."""
    return "\n  ".join([f"\b\n{title}:", *lines])


def in_options(text: str) -> str:
    """Say an error of the package in the words of the command line.

    Examples
    --------
    >>> in_options("y_true must hold 0 and 1; got strings. Hint: pass pos_label=, the label of the event.")
    'the outcome must hold 0 and 1; got strings. Hint: pass --pos-label, the label of the event.'
    """
    for argument, option in IN_OPTIONS.items():
        text = re.sub(argument, option, text)
    return text
