"""What the answers must be, computed case by case in exact fractions with nothing of the package."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

__all__ = ["Judged", "RefusedError", "area", "brier", "isotonic", "judged_binary", "judged_classes", "log_loss", "rps"]


class RefusedError(Exception):
    """The input is invalid."""


@dataclass(frozen=True)
class Judged:
    """Sound cases: the forecast (or a row of them), the event (or the place of the class), the weight."""

    cases: list[tuple[Any, int, Fraction]]
    dropped: int

    @property
    def n(self) -> int:
        """Number of cases with a positive weight."""
        return len(self.heavy)

    @property
    def heavy(self) -> list[tuple[Any, int, Fraction]]:
        """Cases with a positive weight."""
        return [case for case in self.cases if case[2] > 0]

    @property
    def weight(self) -> Fraction:
        """Total weight."""
        return sum((weight for _, _, weight in self.cases), Fraction(0))

    def mean(self, losses: Sequence[float | Fraction]) -> float:
        """Return the weighted mean of the losses of the heavy cases."""
        if any(loss == math.inf for loss in losses):
            return math.inf
        pairs = zip(losses, self.heavy, strict=True)
        return float(sum((Fraction(loss) * case[2] for loss, case in pairs), Fraction(0)) / self.weight)


def judged_binary(
    outcomes: Sequence[Any],
    forecasts: Sequence[Any],
    weights: Sequence[Any] | None,
    *,
    pos_label: Any = None,
    labels: Sequence[Any] | None = None,
    drop: bool = False,
) -> Judged:
    """Judge cases of one event."""
    kept = _kept(outcomes, [[one] for one in forecasts], weights, drop=drop)
    events = _events([outcome for outcome, _, _ in kept], pos_label, labels)
    cases = [(_probability(row[0]), event, weight) for (_, row, weight), event in zip(kept, events, strict=True)]
    _check_weights(weight for _, _, weight in kept)
    return Judged(cases, len(outcomes) - len(kept))


def judged_classes(
    outcomes: Sequence[Any],
    rows: Sequence[Sequence[Any]],
    weights: Sequence[Any] | None,
    *,
    labels: Sequence[Any] | None = None,
    drop: bool = False,
    tolerance: float = 1e-6,
) -> Judged:
    """Judge cases of several classes; a sum that is off by just the tolerance may be judged either way."""
    kept = _kept(outcomes, rows, weights, drop=drop)
    cases = []
    for outcome, row, weight in kept:
        probabilities = [_probability(one) for one in row]
        if not abs(sum(probabilities) - 1) <= tolerance:
            raise RefusedError
        names = list(range(len(row))) if labels is None else list(labels)
        if len(names) != len(row):
            raise RefusedError
        if labels is None and isinstance(outcome, str | bytes):
            raise RefusedError
        places = [place for place, name in enumerate(names) if name == outcome]
        if len(places) != 1:
            raise RefusedError
        cases.append((probabilities, places[0], weight))
    _check_weights(weight for _, _, weight in kept)
    return Judged(cases, len(outcomes) - len(kept))


def brier(judged: Judged) -> float:
    """Return the mean Brier score, the sum over classes for rows."""
    losses = []
    for forecast, outcome, _ in judged.heavy:
        row, target = ([forecast], [outcome]) if isinstance(forecast, Fraction) else (forecast, None)
        target = target or [int(place == outcome) for place in range(len(row))]
        losses.append(sum(((p - y) ** 2 for p, y in zip(row, target, strict=True)), Fraction(0)))
    return judged.mean(losses)


def rps(judged: Judged) -> float:
    """Return the mean ranked probability score."""
    losses = []
    for row, outcome, _ in judged.heavy:
        heads = [(sum(row[: cut + 1]) - (outcome <= cut)) ** 2 for cut in range(len(row) - 1)]
        losses.append(Fraction(sum(heads), len(heads)))
    return judged.mean(losses)


def log_loss(judged: Judged) -> float:
    """Return the mean logarithmic score."""
    losses = []
    for forecast, outcome, _ in judged.heavy:
        if not isinstance(forecast, Fraction):
            losses.append(-_log(forecast[outcome]))
        elif outcome:
            losses.append(-_log(forecast))
        else:
            losses.append(math.inf if forecast == 1 else -math.log1p(-float(forecast)))
    return judged.mean(losses)


def area(judged: Judged) -> float | None:
    """Return the share of pairs of an event and a non-event that are in order, half for ties; None without pairs."""
    events = [(p, w) for p, y, w in judged.heavy if y]
    others = [(p, w) for p, y, w in judged.heavy if not y]
    if not events or not others:
        return None
    pairs = [(Fraction((p > q) + (p >= q), 2), v * w) for p, v in events for q, w in others]
    return float(sum(share * weight for share, weight in pairs) / sum(weight for _, weight in pairs))


def isotonic(judged: Judged) -> dict[Fraction, Fraction]:
    """Return the recalibrated forecast of each forecast: blocks are merged until their rates rise."""
    sums: dict[Fraction, list[Fraction]] = {}
    for forecast, event, weight in judged.heavy:
        held = sums.setdefault(forecast, [Fraction(0), Fraction(0)])
        held[0] += weight * event
        held[1] += weight
    blocks: list[tuple[list[Fraction], Fraction, Fraction]] = []
    for forecast, (happened, weight) in sorted(sums.items()):
        block = ([forecast], happened, weight)
        while blocks and blocks[-1][1] / blocks[-1][2] >= block[1] / block[2]:
            members, before, weighed = blocks.pop()
            block = (members + block[0], before + block[1], weighed + block[2])
        blocks.append(block)
    return {forecast: happened / weight for members, happened, weight in blocks for forecast in members}


def _kept(
    outcomes: Sequence[Any], rows: Sequence[Sequence[Any]], weights: Sequence[Any] | None, *, drop: bool
) -> list[tuple[Any, Sequence[Any], Fraction]]:
    """Return the rows without missing values."""
    if not len(outcomes) == len(rows) == (len(rows) if weights is None else len(weights)) or not outcomes:
        raise RefusedError
    held = [1] * len(rows) if weights is None else weights
    found = list(zip(outcomes, rows, held, strict=True))
    kept = [case for case in found if not any(map(_is_missing, (case[0], *case[1], case[2])))]
    if (len(kept) < len(found) and not drop) or not kept:
        raise RefusedError
    return [(outcome, row, _weight(weight)) for outcome, row, weight in kept]


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _probability(value: Any) -> Fraction:
    if not isinstance(value, bool | int | float) or not 0 <= value <= 1:
        raise RefusedError
    return Fraction(value)


def _weight(value: Any) -> Fraction:
    if not isinstance(value, bool | int | float) or not 0 <= value < math.inf:
        raise RefusedError
    return Fraction(value)


def _check_weights(weights: Any) -> None:
    """Refuse weights so small or so large that products of their sums are no floats."""
    if not 1e-120 <= sum(Fraction(weight) ** 2 for weight in weights) <= 1e120:
        raise RefusedError


def _events(outcomes: Sequence[Any], pos_label: Any, labels: Sequence[Any] | None) -> list[int]:
    if labels is not None:
        if len(labels) != 2 or labels[0] == labels[1]:
            raise RefusedError
        event = labels[1] if pos_label is None else pos_label
        if not any(event == label for label in labels):
            raise RefusedError
        if any(outcome not in (labels[0], labels[1]) for outcome in outcomes):
            raise RefusedError
        return [int(outcome == event) for outcome in outcomes]
    if pos_label is not None:
        others = [outcome for outcome in outcomes if outcome != pos_label]
        if any(other != others[0] for other in others):
            raise RefusedError
        return [int(outcome == pos_label) for outcome in outcomes]
    if any(isinstance(outcome, str | bytes) or outcome not in (0, 1) for outcome in outcomes):
        raise RefusedError
    return [int(outcome == 1) for outcome in outcomes]


def _log(value: Fraction) -> float:
    return -math.inf if value == 0 else math.log(float(value))
