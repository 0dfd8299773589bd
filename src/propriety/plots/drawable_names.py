"""Names as a figure can show them: on one line, not too long, and without signs that Matplotlib gives a meaning."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

from matplotlib import rcParams

LONGEST = 32  # A legend with it fits into a figure of the usual width.
LONGEST_ROW = 45  # Of groups, sites and streams, whose names consist of several labels.
NAMELESS = "(no name)"
# Control and format characters, including those that change the direction of text, lone surrogates and unassigned code
# points. They cannot be drawn, and XML does not allow some of them.
UNDRAWABLE = frozenset({"Cc", "Cf", "Cs", "Cn", "Co"})


def drawable_names(names: Iterable[Any], *, longest: int = LONGEST) -> dict[Any, str]:
    r"""Return what a figure writes for each name, all different.

    Examples
    --------
    >>> drawable_names(["a", "_b", "from $5 to $10"])
    {'a': 'a', '_b': 'ˍb', 'from $5 to $10': 'from \\$5 to \\$10'}
    """
    known = list(dict.fromkeys(names))
    return dict(zip(known, drawable_list(known, longest=longest), strict=True))


def drawable_list(names: Sequence[Any], *, longest: int = LONGEST) -> list[str]:
    """Return the same in the order of the names."""
    return [plain(name) for name in short_names(names, longest=longest)]


def drawable(name: Any) -> str:
    """Return what a figure writes for a single name."""
    return drawable_list([name])[0]


def plain(text: str) -> str:
    """Return a text whose dollar signs are drawn as such, and do not enclose a formula."""
    return text.replace("$", r"\$") if rcParams["text.parse_math"] else text


def short_names(names: Sequence[Any], *, longest: int) -> tuple[str, ...]:
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


def visible(name: Any) -> str:
    """Return a name on one line; Matplotlib omits labels that begin with an underscore from legends."""
    shown = "".join(" " if letter.isspace() else letter for letter in str(name))
    shown = " ".join("".join(letter for letter in shown if unicodedata.category(letter) not in UNDRAWABLE).split())
    return f"\N{MODIFIER LETTER LOW MACRON}{shown[1:]}" if shown.startswith("_") else shown


def _cut(name: str, longest: int) -> str:
    if len(name) <= longest:
        return name
    tail = (longest - 1) // 2
    return f"{name[: longest - 1 - tail].rstrip()}…{name[len(name) - tail :].lstrip()}"
