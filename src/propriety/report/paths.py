"""Shorter SVG paths: points that make no visible difference are left out, and lines are written as steps."""

from __future__ import annotations

import re

import numpy as np

from propriety.result import Floats

UNSEEN = 0.15  # Largest distance, in points, of an omitted point from the line.
STRAIGHT = re.compile(r"M[^MLz]*(?:L[^MLz]*)+z?")
NUMBER = re.compile(r"-?\d+\.?\d*")


def short_path(path: str) -> str:
    """Return a path without the points that are on or very close to the line between their neighbours.

    Examples
    --------
    >>> short_path("M 0 0 L 1.0 0.01 L 2.000001 0 L 2 5 L 2.5 3 z")
    'M0 0h2v5l.5-2z'
    """
    path = re.sub(r"\s*([A-Za-z])\s*", r"\1", path).strip()
    pieces = re.findall(r"M[^M]*", path)
    return "".join(_shortened(piece) if STRAIGHT.fullmatch(piece) else _rounded(piece) for piece in pieces)


def _shortened(piece: str) -> str:
    points = np.array([float(number) for number in NUMBER.findall(piece)]).reshape(-1, 2)
    # Whole hundredths, so that the rounding of one step does not move the points after it.
    kept = np.rint(100.0 * points[_needed(points)]).astype(np.int64)
    x, y = kept[0].tolist()
    return f"M{_hundredths(x)} {_hundredths(y)}{_steps(np.diff(kept, axis=0).tolist())}{'z' * piece.endswith('z')}"


def _steps(steps: list[list[int]]) -> str:
    """Write horizontal, vertical and other steps; a command is written once for several steps of its kind."""
    said, last = [], ""
    for x, y in steps:
        command, numbers = ("h", [x]) if y == 0 else ("v", [y]) if x == 0 else ("l", [x, y])
        if command != last:
            said.append(command)
        for place, number in enumerate(map(_hundredths, numbers)):
            glued = (command != last and place == 0) or number.startswith("-")
            said.append(number if glued else f" {number}")
        last = command
    return "".join(said)


def _hundredths(number: int) -> str:
    """Write a number of hundredths, without needless zeros."""
    text = f"{abs(number) / 100:.2f}".strip("0").rstrip(".") or "0"
    return f"-{text}" if number < 0 else text


def _needed(points: Floats) -> list[int]:
    """Choose points by the algorithm of Douglas and Peucker (1973): the farthest from the line, then on both sides."""
    kept = {0, len(points) - 1}
    spans = [(0, len(points) - 1)]
    while spans:
        first, last = spans.pop()
        if last - first < 2:
            continue
        distance = _distances(points[first + 1 : last], points[first], points[last])
        farthest = int(distance.argmax())
        if distance[farthest] > UNSEEN:
            place = first + 1 + farthest
            kept.add(place)
            spans += [(first, place), (place, last)]
    return sorted(kept)


def _distances(points: Floats, start: Floats, stop: Floats) -> Floats:
    """Return the distance of points from the segment between two others."""
    along = stop - start
    length = float(along @ along)
    share = np.clip((points - start) @ along / length, 0.0, 1.0) if length else np.zeros(len(points))
    return np.asarray(np.hypot(*(points - start - share[:, None] * along).T))


def _rounded(piece: str) -> str:
    return NUMBER.sub(lambda match: _short(float(match[0])), piece)


def _short(number: float) -> str:
    text = f"{number:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text
