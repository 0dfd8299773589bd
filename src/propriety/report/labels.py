"""Names as a page and its figures can show them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from propriety.decisions.ranking_map import RankingMap
from propriety.inference.finding import Findings, objects
from propriety.inference.shown_names import NAMELESS
from propriety.plots import drawable_names
from propriety.plots.drawable_names import visible

LONGEST = 26
LONGEST_OF_PAIR = 20  # A row of the figure of differences has two names and a verdict with one of them.
# Characters that change the direction of the text after them, so that a name could change what a sentence says.
TURNS = re.compile("[\u202a-\u202e\u2066-\u2069]")


def short_names(names: Sequence[str], *, longest: int = LONGEST) -> tuple[str, ...]:
    """Return a short name for each model that a figure can show: one line, all different.

    Examples
    --------
    >>> short_names(
    ...     ["gradient boosting", "", "a model whose name goes on and on, 1", "a model whose name goes on and on, 2"]
    ... )
    ('gradient boosting', '(no name)', 'a model whose…on and on, 1', 'a model whose…on and on, 2')
    """
    return drawable_names.short_names(names, longest=longest)


def ranking_with_short_names(ranking: RankingMap) -> RankingMap:
    """Return a ranking map whose models have names that a figure can show."""
    short = dict(zip(ranking.models, short_names(ranking.models), strict=True))
    winner, runner_up = (np.array([short[name] for name in names]) for names in (ranking.winner, ranking.runner_up))
    marked = ranking.marked
    if marked is not None:
        regrets = {short[name]: regret for name, regret in marked.regrets.items()}
        marked = replace(marked, winner=short[marked.winner], runner_up=short[marked.runner_up], regrets=regrets)
    return replace(ranking, models=tuple(short.values()), winner=winner, runner_up=runner_up, marked=marked)


def findings_with_short_names(found: Findings, models: Sequence[str]) -> Findings:
    """Return a comparison whose models have names that a figure of pairs can show."""
    short = dict(zip(models, short_names(models, longest=LONGEST_OF_PAIR), strict=True))
    model, against = (objects([short.get(name) for name in names.tolist()]) for names in (found.model, found.against))
    return replace(found, model=model, against=against)


def named(name: str) -> str:
    """Return the name, or a placeholder if none of it is visible.

    Examples
    --------
    >>> named("boosting"), named(" ")
    ('boosting', '(no name)')
    """
    return name if visible(name) else NAMELESS


def steady(text: str) -> str:
    r"""Return a text in which characters that change its direction are escaped.

    Examples
    --------
    >>> steady("a\u202eb")
    'a\\u202eb'
    """
    return TURNS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)
