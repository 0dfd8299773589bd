"""Imagined outcomes of groups: the mean of each group, and that of all other cases."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from propriety.inference.imagined import Imagined, Totals, imagined_of, imagined_sums, tilt_of, tilted
from propriety.inference.measures.measure import Imagination, Measure
from propriety.ledger.ledger import Ledger
from propriety.result import Floats
from propriety.rules.rule import binary_rule


class Sides(NamedTuple):
    """Imagined means of groups and of all other cases, of shape (groups, models)."""

    own: Imagined
    rest: Imagined


class _Sums(NamedTuple):
    """Sums of groups: numbers, weights, what was seen relative to the mean of all, and what is imagined."""

    n: Floats
    events: Floats
    non_events: Floats
    squares: Floats
    seen: Floats
    differing: Floats
    imagined: Floats

    def of_others(self) -> _Sums:
        """Return the sums of all other groups, for each group."""
        return _Sums(*map(others_of, self))

    def mean(self, factor: Floats, asked: Imagination, log_ratio: Floats | float) -> Imagined:
        """Return the imagined distribution of the mean of each group."""
        weight = self.events + self.non_events
        with np.errstate(all="ignore"):  # Nothing is left beside a group of all cases.
            totals = Totals(self.n, weight, self.squares, self.events / weight)
            sums, differing = tilted(self.imagined, log_ratio), self.differing / weight * self.n
            imagined = imagined_of(sums, totals, asked, differing=differing, factor=factor)
            return imagined._replace(centre=imagined.centre - self.seen / weight)


def imagined_of_groups(
    ledger: Ledger, measure: Measure, entry: NDArray[np.intp], factor: Floats, difference: Floats
) -> Sides | None:
    """Return the imagined distribution of a mean in each group and in all other cases; None for classes.

    Parameters
    ----------
    entry : ndarray of shape (groups,)
        Entries of the ledger's index.
    factor, difference : ndarray of shape (groups, models)
        How correlation inflates the variance in each group, and in the difference from the others.
    """
    if ledger.labels is not None or measure.rule is None or measure.sign is None:
        return None
    sides: list[tuple[Imagined, Imagined]] = []
    for column, model in enumerate(ledger.models):
        table = ledger.table(model)
        asked, sums = measure.imagination(table), _summed(ledger, measure, model, entry, measure.value(table))
        asked, ratios = asked or Imagination(), np.zeros(len(entry))
        if table.is_weighted:
            rows = ledger.keyed_tables(model, ledger.events[0])
            ratios = np.array([tilt_of(rows.at(one)) for one in entry.tolist()])
        own = sums.mean(factor[:, column], asked, ratios)
        sides.append((own, sums.of_others().mean(difference[:, column], asked, tilt_of(table))))
    return Sides(
        *(
            side[0]._replace(
                centre=np.stack([one.centre for one in side], axis=1),
                variance=np.stack([one.variance for one in side], axis=1),
                third=np.stack([one.third for one in side], axis=1),
            )
            for side in zip(*sides, strict=True)
        )
    )


def _summed(ledger: Ledger, measure: Measure, model: str, entry: NDArray[np.intp], centre: float) -> _Sums:
    """Return the sums of each group for a model, with losses relative to their overall mean."""
    assert measure.rule is not None and measure.sign is not None  # noqa: S101, PT018  (for the type checker)
    rows = ledger.keyed_tables(model, ledger.events[0])
    loss, size = binary_rule(measure.rule).loss, rows.forecast.shape
    without, happened = (measure.sign * np.broadcast_to(loss(rows.forecast, event=own), size) for own in (False, True))
    place = np.empty(len(entry), dtype=np.intp)
    place[entry] = np.arange(len(entry))
    codes = place[rows.entry]
    weights = rows.events + rows.non_events
    with np.errstate(invalid="ignore"):  # Infinite losses of what did not happen.
        moved = happened - centre, without - centre
        seen = np.where(rows.events > 0.0, rows.events * moved[0], 0.0)
        seen += np.where(rows.non_events > 0.0, rows.non_events * moved[1], 0.0)
    groups = len(entry)

    def total(column: Floats) -> Floats:
        return np.bincount(codes, column, minlength=groups).astype(np.float64, copy=False)

    return _Sums(
        n=rows.n[entry].astype(np.float64),
        events=total(rows.events),
        non_events=total(rows.non_events),
        squares=total(rows.event_squares + rows.non_event_squares),
        seen=total(seen),
        differing=total(weights * ((happened != 0.0) | (without != 0.0))),
        imagined=imagined_sums(rows, *moved, rows.forecast, codes, groups),
    )


def others_of(values: Floats) -> Floats:
    """Return the sum over all other groups, as the sum of those before and after, so that nothing cancels.

    Examples
    --------
    >>> others_of(np.array([1.0, 2.0, 4.0]))
    array([6., 5., 3.])
    """
    none = np.zeros_like(values[:1])
    before = np.concatenate([none, np.cumsum(values, axis=0)[:-1]])
    after = np.concatenate([np.cumsum(values[::-1], axis=0)[::-1][1:], none])
    found: Floats = before + after
    return found
