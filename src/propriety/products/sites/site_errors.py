"""Standard errors of the sites of a meta-analysis, if few events determine them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from propriety.inference.estimates import FEWEST_HELD
from propriety.inference.finding import Finding
from propriety.inference.measures.measure import Measure
from propriety.inference.notes import Note
from propriety.ledger.ledger import Ledger
from propriety.ledger.moments import OUTCOME
from propriety.result import Floats

SHARED = 100.0  # Number of events of all sites that are added to those of a site; see `studies/sites.py`.


class SiteCounts(NamedTuple):
    """What the standard errors of sites rest on.

    Parameters
    ----------
    n : ndarray of shape (sites,)
        Number of cases of equal weight that would estimate a mean as precisely.
    rare : ndarray of int of shape (sites,)
        Number of events or non-events, whichever is smaller; for classes, of cases outside the most frequent class.
    classes : bool
        Whether the outcomes are classes.
    """

    n: Floats
    rare: NDArray[np.int64]
    classes: bool

    @classmethod
    def of(cls, parts: Sequence[Ledger], model: str) -> SiteCounts:
        """Return the numbers of the ledger of each site."""
        tables = [part.table(model, part.events[0]) for part in parts]
        n = np.array([table.effective_n for table in tables])
        return cls(n, np.array([_rarer(part, model) for part in parts]), parts[0].labels is not None)

    def notes(self, used: NDArray[np.bool_]) -> tuple[Note, ...]:
        """Return a note on how many of the sites that are used have few events."""
        few = int(np.count_nonzero(used & (self.rare < FEWEST_HELD)))
        what = "cases outside the most frequent class" if self.classes else "events or non-events"
        return (Note("groups-of-few", {"number": few, "fewest": FEWEST_HELD, "what": what}),) if few else ()


def _rarer(part: Ledger, model: str) -> int:
    if part.labels is None:
        table = part.table(model)
        return int(min(table.n_events, table.n - table.n_events))
    if not part.rules:
        return part.n
    cases = part.moments(part.rules[0]).over(OUTCOME).n
    return int(cases.sum() - cases.max())


def site_errors(measure: Measure, found: Sequence[Finding], counts: SiteCounts) -> Floats:
    r"""Return the standard errors of the estimates of sites, those of means shrunk towards each other.

    A site without events has a small mean loss and a small standard error, so that it would have the largest weight in
    the mean over sites. The variance per case of site i, :math:`s_i^2 = n_i v_i`, is therefore averaged with that of
    all sites, :math:`s^2 = \sum n_i s_i^2 / \sum n_i`, as if 100 of their events were added to the :math:`e_i` events
    of the site:

    .. math:: \tilde v_i = \frac{1}{n_i} \frac{e_i s_i^2 + 100 s^2}{e_i + 100} .

    :math:`e_i` counts the events, non-events or clusters, whichever are fewest. The squared errors :math:`v_i` allow
    for weights and clusters, and so do :math:`s_i^2`. Estimates without an error stay without one, and measures other
    than means keep theirs.

    Examples
    --------
    >>> import propriety as pr
    >>> y, p, site = [0] * 20 + [1] + [0] * 19, [0.1] * 10 + [0.2] * 30, np.arange(40) // 20
    >>> parts = [pr.condense(y, p, by={"site": site}).at_entries(np.arange(2) == one) for one in (0, 1)]
    >>> pooled = pr.pool_sites(pr.condense(y, p, by={"site": site}), measures=[pr.Brier()])
    >>> found = [row for row in pooled if row.keys]
    >>> [round(one.error, 4) for one in found]
    [0.0034, 0.03]
    >>> site_errors(found[0].measure, found, SiteCounts.of(parts, "forecast")).round(4)
    array([0.0214, 0.0215])
    """
    error = np.array([one.error for one in found])
    if measure.sign is None:
        return error
    known = np.isfinite(error)
    own = counts.n * error**2
    shared = float((counts.n * own)[known].sum() / max(counts.n[known].sum(), 1.0))
    events = np.minimum(counts.rare, [one.n if one.units is None else one.units for one in found])
    errors: Floats = np.sqrt((events * own + SHARED * shared) / (events + SHARED) / counts.n)
    return errors
