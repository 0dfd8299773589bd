"""Names as a page and its pictures can show them."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

__all__ = ["named", "short_names"]

LONGEST = 26
NAMELESS = "(no name)"
# Control and format characters, among them those that turn the direction of the text around, lone surrogates and the
# code points that nobody has assigned: none can be drawn, and XML refuses some.
UNDRAWABLE = frozenset({"Cc", "Cf", "Cs", "Cn", "Co"})


def short_names(names: Sequence[str], *, longest: int = LONGEST) -> tuple[str, ...]:
    """Return a short name for each model that a picture can show: one line, all different.

    Examples
    --------
    >>> short_names(
    ...     ["gradient boosting", "", "a model whose name goes on and on, 1", "a model whose name goes on and on, 2"]
    ... )
    ('gradient boosting', '(no name)', 'a model whose name goes o…', 'a model whose name goes… 2')
    """
    short: list[str] = []
    for name in names:
        drawn = _drawable(name) or NAMELESS
        candidate = _cut(drawn, longest)
        number = 1
        while candidate in short:
            number += 1
            tail = f" {number}"
            candidate = _cut(drawn, longest - len(tail)) + tail
        short.append(candidate)
    return tuple(short)


def named(name: str) -> str:
    """Return the name as it is, or say that there is none to see.

    Examples
    --------
    >>> named("boosting"), named(" ")
    ('boosting', '(no name)')
    """
    return name if _drawable(name) else NAMELESS


def _drawable(name: str) -> str:
    """Return the name in one line; Matplotlib leaves out of its legends what begins with an underscore."""
    visible = "".join(" " if letter.isspace() else letter for letter in name)
    visible = "".join(letter for letter in visible if unicodedata.category(letter) not in UNDRAWABLE)
    visible = " ".join(visible.split())
    return f"\N{MODIFIER LETTER LOW MACRON}{visible[1:]}" if visible.startswith("_") else visible


def _cut(name: str, longest: int) -> str:
    return name if len(name) <= longest else name[: longest - 1].rstrip() + "…"
