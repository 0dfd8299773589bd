"""Shorter SVG paths: points that make no visible difference are left out, and equal shapes are drawn at once."""

from __future__ import annotations

import re

import numpy as np

from propriety.result import Floats

__all__ = ["short_path"]

UNSEEN = 0.4  # Largest distance, in points, of an omitted point from the line.
STRAIGHT = re.compile(r"M[^MLz]*(?:L[^MLz]*)+z?")
NUMBER = re.compile(r"-?\d+\.?\d*")


def short_path(path: str) -> str:
    """Return a path without the points that are on or very close to the line between their neighbours.

    Examples
    --------
    >>> short_path("M 0 0 L 1.0 0.01 L 2.000001 0 L 2 5 z")
    'M0 0L2 0L2 5z'
    """
    path = re.sub(r"\s*([A-Za-z])\s*", r"\1", path).strip()
    pieces = re.findall(r"M[^M]*", path)
    return "".join(_shortened(piece) if STRAIGHT.fullmatch(piece) else _rounded(piece) for piece in pieces)


def _shortened(piece: str) -> str:
    points = np.array([float(number) for number in NUMBER.findall(piece)]).reshape(-1, 2)
    kept = points[_needed(points)]
    return "M" + "L".join(f"{_short(x)} {_short(y)}" for x, y in kept.tolist()) + ("z" if piece.endswith("z") else "")


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
    text = f"{number:.1f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text
