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


def _is_untested_verdict(before: dict[str, Any], after: dict[str, Any], paths: list[str]) -> bool:
    """Whether only verdicts on calibration differ, from 0 to NaN."""
    verdicts = all(path.endswith("miscalibrated") for path in paths)
    return verdicts and all(before["entries"][path] == 0.0 and after["entries"][path] == "nan" for path in paths)


REASONS: tuple[Reason, ...] = (
    Reason("a verdict on calibration that was not tested is NaN, and was 0, as if calibrated", _is_untested_verdict),
)
