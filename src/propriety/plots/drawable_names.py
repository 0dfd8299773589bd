"""Names as a figure can show them: on one line, not too long, and without signs that Matplotlib gives a meaning."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from matplotlib import rcParams

from propriety.inference import shown_names

LONGEST = 32  # A legend with it fits into a figure of the usual width.
LONGEST_ROW = 45  # Of groups, sites and streams, whose names consist of several labels.


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
    """Return a visible name on one line for each name, all different and at most so long."""
    return shown_names.short_names(names, longest=longest, visible=visible)


def visible(name: Any) -> str:
    """Return a name on one line; Matplotlib omits labels that begin with an underscore from legends."""
    shown = shown_names.on_one_line(name)
    return f"\N{MODIFIER LETTER LOW MACRON}{shown[1:]}" if shown.startswith("_") else shown
