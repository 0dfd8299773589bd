"""Why an answer may differ from that of the reference version: one entry for each reason."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Reason:
    """A reason for a difference, and which differences it explains.

    `explains` gets both answers, each with its `call` in words and its `entries`, and the paths that differ.
    """

    why: str
    explains: Callable[[dict[str, Any], dict[str, Any], list[str]], bool]


REASONS: tuple[Reason, ...] = ()
