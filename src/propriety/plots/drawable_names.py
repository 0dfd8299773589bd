"""Names as a figure can show them: on one line, not too long, and without signs that Matplotlib gives a meaning."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

from matplotlib import rcParams

__all__ = [
    "LONGEST",
    "LONGEST_ROW",
    "NAMELESS",
    "drawable",
    "drawable_list",
    "drawable_names",
    "plain",
    "short_names",
    "visible",
]

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

    Examples
    --------
    >>> short_names(["boosting", "", "a name that goes on, 1", "a name that goes on, 2"], longest=14)
    ('boosting', '(no name)', 'a name that g…', 'a name that… 2')
    """
    short: list[str] = []
    for name in names:
        shown = visible(name) or NAMELESS
        candidate = _cut(shown, longest)
        number = 1
        while candidate in short:
            number += 1
            tail = f" {number}"
            candidate = _cut(shown, longest - len(tail)) + tail
        short.append(candidate)
    return tuple(short)


def visible(name: Any) -> str:
    """Return a name on one line; Matplotlib omits labels that begin with an underscore from legends."""
    shown = "".join(" " if letter.isspace() else letter for letter in str(name))
    shown = " ".join("".join(letter for letter in shown if unicodedata.category(letter) not in UNDRAWABLE).split())
    return f"\N{MODIFIER LETTER LOW MACRON}{shown[1:]}" if shown.startswith("_") else shown


def _cut(name: str, longest: int) -> str:
    return name if len(name) <= longest else name[: longest - 1].rstrip() + "…"
