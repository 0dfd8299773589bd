"""Text for the terminal: sentences and tables on the standard output, errors and progress on the standard error."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext

from rich import box
from rich.console import Console
from rich.table import Table

from propriety.cli.interrupts import check_interrupt, held
from propriety.errors import ProprietyError
from propriety.number_words import number, number_and_limits

WIDE = 200  # Columns of output that is not a terminal, so that no table is folded.

LOOK_FOR_WORDS = "look for text among the numbers; --null names text that means a missing value, such as NA."

# Options that are called like their parameters, and those that are not.
LIKE_PARAMETERS = (
    "auc by cluster cluster_size counts difference folds icc id level mature_after observed_expected ordered outcome "
    "period pos_label power prevalence quantiles reference_days seed share slope spread thresholds"
)
OPTIONS = {name: "--" + name.replace("_", "-") for name in LIKE_PARAMETERS.split()} | {
    "columns": "--forecast",
    "forecasts": "--forecast",
    "labels": "--classes",
    "measure": "--rule",
    "n_resamples": "--resamples",
    "sample_weight": "--weight",
    "widths": "--width",
}
# What the command line calls parameters, and the wordings, by their codes, that differ from those in Python.
NAMES = {
    **OPTIONS,
    **{f"{name}=": option for name, option in OPTIONS.items()},
    "y_true": "the outcome",
    "y_proba": "the forecast",
    "frame": "the files",
    'missing="drop"': "--missing drop",
    "by-column": "--by {key!r}",
    "key-of": "--by {key!r}",
    "forecast-of": "the forecast of {model!r}",
    "cast-hint": LOOK_FOR_WORDS,
    "class-hint": "evaluate the column of one class.",
    "columns-hint": "their columns are {columns}.",
    "event-hint": "name only the column of the event.",
    "event-label-hint": "pass --pos-label, the label whose probability the forecast gives.",
    "event-of-classes": "is for the forecast of one event; --classes names the columns of several classes",
    "events": "must hold 0 and 1 (or False and True) unless --pos-label is given",
    "labelled-hint": "pass --classes OTHER,EVENT to name both.",
    "lacking": "they lack {absent}",
    "missing-hint": "drop such rows yourself, or pass --missing drop to drop and count them.",
    "numbers-hint": LOOK_FOR_WORDS,
    "one-against-rest-hint": (
        "to score one class against the rest, make a column that is 1 if the outcome is {event!r} and 0 otherwise."
    ),
    "rounding-hint": "this looks like rounding error; if it is, clip the forecasts to [0, 1] yourself.",
    "two-outcomes": "must name two classes if the forecast is of one event",
}


class Output(Console):
    """The standard output; the program handles a closed pipe."""

    def on_broken_pipe(self) -> None:
        """Raise the error."""
        raise BrokenPipeError


def output() -> Console:
    """Return the standard output, with colours only on a terminal and if NO_COLOR is not set."""
    console = Output(highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console.width = WIDE
    return console


def beside() -> Console:
    """Return the standard error, for progress and errors."""
    return Console(stderr=True, highlight=False, markup=False, emoji=False)


@contextmanager
def stage(name: str, *, is_held: bool = False) -> Iterator[None]:
    """Show on a terminal what is being done; raise KeyboardInterrupt after it if a library swallowed a signal.

    With `is_held`, a signal waits for the end: an engine and its extensions are used, which it could crash.
    """
    console = beside()
    with console.status(name) if console.is_terminal else nullcontext(), held() if is_held else nullcontext():
        yield
    check_interrupt()


def say(text: str) -> None:
    """Print lines without wrapping; the terminal wraps them."""
    output().print(visible(text), soft_wrap=True)


def show_table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: Iterable[int] = ()) -> None:
    """Print a table; the columns at the indices `numbers` are right-aligned."""
    right = set(numbers)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for place, name in enumerate(columns):
        table.add_column(visible_name(name), justify="right" if place in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*map(visible_name, row))
    output().print(table)


def estimate(value: float, low: float, high: float) -> str:
    """Write a number with its interval.

    Examples
    --------
    >>> estimate(0.14612, 0.139, 0.1533), estimate(0.25, float("nan"), float("nan"))
    ('0.146 (0.139 to 0.153)', '0.250')
    """
    if math.isfinite(low) and math.isfinite(high):
        written, lower, upper = number_and_limits(value, low, high)
        return f"{'-' if math.isnan(value) else written} ({lower} to {upper})"
    return "-" if math.isnan(value) else number(value)


def visible(text: object) -> str:
    r"""Return a text without control characters, which could change the terminal.

    Examples
    --------
    >>> visible("a\x1b[2Jb")
    'a\\x1b[2Jb'
    """
    # A name in a file may contain escape sequences, which would change what the reader sees.
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in str(text))


def visible_name(name: object) -> str:
    r"""Return a name, which may contain any character, on one line.

    Examples
    --------
    >>> visible_name("a\nb")
    'a\\nb'
    """
    return visible(name).replace("\n", "\\n")


def one_line(error: BaseException) -> str:
    r"""Return the text of an error, with its notes, in one line and with the names of the command line.

    Examples
    --------
    >>> error = ProprietyError("must be finite", argument="sample_weight", row=3, offender="is\ninf")
    >>> error.add_note("Look at it.")
    >>> one_line(error)
    '--weight must be finite; row 3 is inf. Look at it.'
    """
    if isinstance(error, OSError) and error.strerror:
        where = "" if error.filename is None else f"{error.filename}: "
        return visible_name(f"{where}{error.strerror}.")
    text = error.text(NAMES) if isinstance(error, ProprietyError) else str(error)
    parts = [text or type(error).__name__, *getattr(error, "__notes__", ())]
    return visible(" ".join(" ".join(parts).split()))


def block(title: str, *lines: str) -> str:
    """Return a part of a help text whose lines click does not wrap; the backspace marks it."""
    return "\n  ".join([f"\b\n{title}:", *lines])
