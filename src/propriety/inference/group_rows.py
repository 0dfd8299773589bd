"""The groups of a table of findings: their labels as text, and the rows of each group side by side."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from propriety.inference.finding import ADDED_KEYS, Finding, Findings
from propriety.inference.notes import Note

REST = "rest"  # What a group is compared with: all other cases.


class GroupRow(NamedTuple):
    """One group of a model: its labels as text, its value, and its difference from the rest if it has one."""

    model: str
    group: str
    value: Finding
    rest: Finding | None

    @property
    def notes(self) -> tuple[Note, ...]:
        """The notes of both, each once."""
        several = self.value.notes + (() if self.rest is None else self.rest.notes)
        return tuple(note for place, note in enumerate(several) if note not in several[:place])

    @property
    def is_tested(self) -> bool:
        """Whether the group, and all other cases together, are large enough for a test of the difference."""
        return not self.notes or (self.rest is not None and not math.isnan(self.rest.p))

    @property
    def is_too_small(self) -> bool:
        """Whether the group has neither limits nor a test because it has too few cases, events or clusters."""
        return self.value.note("too-few") is not None


def group_rows(found: Findings, measure: str | None = None, *, key: str | None = None) -> list[GroupRow]:
    """Return the groups of a table with the rows of a measure, by default the first; `key` selects those of one key.

    Examples
    --------
    >>> import propriety as pr
    >>> y, p, site = [0, 0, 1] * 60, [0.2, 0.4, 0.6] * 60, ["a", "b"] * 90
    >>> [(row.model, row.group, round(row.value.value, 3)) for row in group_rows(pr.slices(y, p, by=site))]
    [('forecast', 'a', 0.12), ('forecast', 'b', 0.12)]
    """
    if key is not None:
        found = found.rows(np.flatnonzero([label is not None for label in found.keys[key]]))
    wanted = found.measure[0].key if measure is None else measure
    sides: dict[tuple[str, str], dict[str | None, Finding]] = {}
    for place, text in enumerate(group_texts(found)):
        if text and found.measure[place].key == wanted:
            own = sides.setdefault((found.model[place], text), {})
            own[found.against[place]] = found[place]
    return [GroupRow(*names, own[None], own.get(REST)) for names, own in sides.items()]


def group_texts(found: Findings) -> list[str]:
    """Return the group of each row as text, empty for all cases; with its key if there are groups of several keys."""
    texts: dict[str, dict[Any, str]] = {}
    for name, column in found.keys.items():
        labels = [label for label in column if label is not None]
        if labels and name not in ADDED_KEYS:
            texts[name] = dict(zip(labels, texts_of_labels(labels), strict=True))
    several, shown = len(texts) > 1, []
    for place in range(len(found)):
        own = {name: of[found.keys[name][place]] for name, of in texts.items() if found.keys[name][place] is not None}
        shown.append(", ".join(f"{name}: {text}" if several and len(own) == 1 else text for name, text in own.items()))
    return shown


def text_of_label(label: object) -> str:
    """Return a label as text; as written in code if it is empty or has several lines.

    Examples
    --------
    >>> text_of_label("a"), text_of_label("")
    ('a', "''")
    """
    text = str(label)
    return text if text.strip() and len(text.splitlines()) == 1 else repr(label)


def texts_of_labels(labels: Sequence[Any]) -> list[str]:
    """Return labels as text; as written in code if empty, of several lines, or alike, such as 1 and "1"."""
    distinct = dict.fromkeys(labels)
    often = Counter(str(label) for label in distinct)
    text = {label: text_of_label(label) if often[str(label)] == 1 else repr(label) for label in distinct}
    return [text[label] for label in labels]
