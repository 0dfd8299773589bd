"""Values drawn from the bytes of a fuzzer: the same bytes give the same values, with or without a fuzzer at hand."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from typing import TypeVar

__all__ = ["Drawing"]

Drawn = TypeVar("Drawn")

# What arithmetic, comparisons and checks of ranges stumble over.
HOSTILE = (
    *(0.0, -0.0, 1.0, 0.5, 1.0 - 2.0**-53, 1.0 + 2.0**-52, 2.0**-1074, -(2.0**-1074), 2.0**-1022, 1e-160, 1e-9),
    *(1.0 + 1e-12, 0.1 + 0.2, 0.3, 1.0 / 3.0, 2.0, -1.0, 100.0, 2.0**53, 1e154, 1e300, 1.7976931348623157e308),
    *(math.inf, -math.inf, math.nan),
)


class Drawing:
    """The bytes that are left; once they are used up everything drawn is zero, the first choice, or empty."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def take(self, size: int) -> bytes:
        """Return the next bytes, fewer at the end."""
        taken, self.data = self.data[:size], self.data[size:]
        return taken

    def rest(self) -> bytes:
        """Return all that is left."""
        return self.take(len(self.data))

    def number(self, most: int) -> int:
        """Return a whole number from 0 to `most`, at most 255."""
        taken = self.take(1)
        return taken[0] % (most + 1) if taken else 0

    def choice(self, options: Sequence[Drawn]) -> Drawn:
        """Return one of the options."""
        return options[self.number(len(options) - 1)]

    def often(self) -> bool:
        """Return true but for one byte in eight, so that most inputs are sound in most respects."""
        return self.number(7) != 7

    def real(self) -> float:
        """Return any float: mostly an ordinary probability, else a hostile one or any pattern of bits."""
        kind = self.number(15)
        if kind < 8:
            return self.number(16) / 16.0
        if kind < 12:
            return self.number(255) / 255.0
        if kind < 15:
            return self.choice(HOSTILE)
        bits: float = struct.unpack("<d", self.take(8).ljust(8, b"\0"))[0]
        return bits

    def probability(self) -> float:
        """Return a forecast in [0, 1]: few values, so that ties are common, or one next to an end."""
        kind = self.number(7)
        if kind < 4:
            return self.number(8) / 8.0
        if kind < 7:
            return self.number(255) / 255.0
        return self.choice([value for value in HOSTILE if 0.0 <= value <= 1.0])

    def text(self) -> str:
        """Return a short text of any characters."""
        return self.take(self.number(6)).decode("utf-8", errors="replace")

    def several(self, most: int, draw: Callable[[], Drawn]) -> list[Drawn]:
        """Return up to `most` values."""
        return [draw() for _ in range(self.number(most))]
