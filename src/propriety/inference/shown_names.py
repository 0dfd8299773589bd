"""Names as text can show them: on one line, visible, not too long, and all different."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from typing import Any

NAMELESS = "(no name)"
# Control and format characters, including those that change the direction of text, lone surrogates and unassigned code
# points. They cannot be drawn, and XML does not allow some of them.
UNDRAWABLE = frozenset({"Cc", "Cf", "Cs", "Cn", "Co"})


def on_one_line(name: Any) -> str:
    r"""Return the visible characters of a name on one line.

    Examples
    --------
    >>> on_one_line("a\nb\u202e")
    'a b'
    """
    spaced = "".join(" " if letter.isspace() else letter for letter in str(name))
    return " ".join("".join(letter for letter in spaced if unicodedata.category(letter) not in UNDRAWABLE).split())


def short_names(names: Sequence[Any], *, longest: int, visible: Callable[[Any], str] = on_one_line) -> tuple[str, ...]:
    """Return a visible name on one line for each name, all different and at most so long.

    The middle of a long name is left out. Names that are then equal are numbered in alphabetical order, so that all
    parts of a figure number the same models alike.

    Examples
    --------
    >>> short_names(["boosting", "", "a name that goes on, 1", "a name that goes on, 2"], longest=14)
    ('boosting', '(no name)', 'a name…on, 1', 'a name…on, 2')
    >>> short_names(["a name which goes on", "a name that goes on"], longest=12)
    ('a nam…s on 2', 'a name…es on')
    """
    short: dict[str, int] = {}
    numbers: dict[str, int] = {}  # The last number of each name that is shown more than once.
    for place in sorted(range(len(names)), key=lambda place: str(names[place])):
        shown = visible(names[place]) or NAMELESS
        first = candidate = _cut(shown, longest)
        while candidate in short:
            numbers[first] = numbers.get(first, 1) + 1
            tail = f" {numbers[first]}"
            candidate = _cut(shown, longest - len(tail)) + tail
        short[candidate] = place
    return tuple(sorted(short, key=short.__getitem__))


def _cut(name: str, longest: int) -> str:
    if len(name) <= longest:
        return name
    tail = (longest - 1) // 2
    return f"{name[: longest - 1 - tail].rstrip()}…{name[len(name) - tail :].lstrip()}"
