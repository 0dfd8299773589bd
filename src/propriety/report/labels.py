"""Names as a page and its figures can show them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from propriety.decisions.ranking_map import RankingMap
from propriety.inference.comparison import Comparison

__all__ = ["comparison_with_short_names", "named", "ranking_with_short_names", "short_names", "steady"]

LONGEST = 26
LONGEST_OF_PAIR = 20  # A row of the figure of differences has two names and a verdict with one of them.
NAMELESS = "(no name)"
# Control and format characters, including those that change the direction of text, lone surrogates and unassigned code
# points. They cannot be drawn, and XML does not allow some of them.
UNDRAWABLE = frozenset({"Cc", "Cf", "Cs", "Cn", "Co"})
# Characters that change the direction of the text after them, so that a name could change what a sentence says.
TURNS = re.compile("[\u202a-\u202e\u2066-\u2069]")


def short_names(names: Sequence[str], *, longest: int = LONGEST) -> tuple[str, ...]:
    """Return a short name for each model that a figure can show: one line, all different.

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


def ranking_with_short_names(ranking: RankingMap) -> RankingMap:
    """Return a ranking map whose models have names that a figure can show."""
    short = dict(zip(ranking.models, short_names(ranking.models), strict=True))
    winner, runner_up = (np.array([short[name] for name in names]) for names in (ranking.winner, ranking.runner_up))
    marked = ranking.marked
    if marked is not None:
        regrets = {short[name]: regret for name, regret in marked.regrets.items()}
        marked = replace(marked, winner=short[marked.winner], runner_up=short[marked.runner_up], regrets=regrets)
    return replace(ranking, models=tuple(short.values()), winner=winner, runner_up=runner_up, marked=marked)


def comparison_with_short_names(comparison: Comparison, models: Sequence[str]) -> Comparison:
    """Return a comparison whose models have names that a figure of pairs can show."""
    short = dict(zip(models, short_names(models, longest=LONGEST_OF_PAIR), strict=True))
    model, reference, standing = (
        np.array([short[name] for name in names.tolist()])
        for names in (comparison.model, comparison.reference, comparison.standings.model)
    )
    standings = replace(comparison.standings, model=standing)
    return replace(comparison, model=model, reference=reference, standings=standings)


def named(name: str) -> str:
    """Return the name, or a placeholder if none of it is visible.

    Examples
    --------
    >>> named("boosting"), named(" ")
    ('boosting', '(no name)')
    """
    return name if _drawable(name) else NAMELESS


def steady(text: str) -> str:
    r"""Return a text in which characters that change its direction are escaped.

    Examples
    --------
    >>> steady("a\u202eb")
    'a\\u202eb'
    """
    return TURNS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def _drawable(name: str) -> str:
    """Return the name on one line; Matplotlib omits labels that begin with an underscore from legends."""
    visible = "".join(" " if letter.isspace() else letter for letter in name)
    visible = "".join(letter for letter in visible if unicodedata.category(letter) not in UNDRAWABLE)
    visible = " ".join(visible.split())
    return f"\N{MODIFIER LETTER LOW MACRON}{visible[1:]}" if visible.startswith("_") else visible


def _cut(name: str, longest: int) -> str:
    return name if len(name) <= longest else name[: longest - 1].rstrip() + "…"
