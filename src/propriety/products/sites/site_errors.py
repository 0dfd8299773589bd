"""Standard errors of the sites of a meta-analysis, if few events determine them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from propriety.inference.estimates import FEWEST_HELD, Estimate, too_narrow
from propriety.inference.measures.measure import Measure
from propriety.inference.measures.ratios import ObservedExpected, PredictedActual
from propriety.ledger.ledger import Ledger
from propriety.ledger.moments import OUTCOME
from propriety.number_words import counted, number
from propriety.result import Floats

SHARED = 100.0  # Number of events of all sites that are added to those of a site; see `studies/sites.py`.
FEWEST_EXPECTED = 20.0  # With m expected events a site, the mean of observed/expected is about 1 / (2m) too high.
LARGEST_BIAS = 0.5  # In standard errors of the mean; then 95% intervals contain the truth in about 92% of samples.


class SiteCounts(NamedTuple):
    """What the standard errors of sites rest on.

    Parameters
    ----------
    n : ndarray of shape (sites,)
        Number of cases of equal weight that would estimate a mean as precisely.
    rare : ndarray of int of shape (sites,)
        Number of events or non-events, whichever is smaller; for classes, of cases outside the most frequent class.
    expected : ndarray of shape (sites,)
        Number of events that the forecasts expect among those n cases; for classes, of the first class.
    classes : bool
        Whether the outcomes are classes.
    """

    n: Floats
    rare: NDArray[np.int64]
    expected: Floats
    classes: bool

    @classmethod
    def of(cls, parts: Sequence[Ledger], model: str) -> SiteCounts:
        """Return the numbers of the ledger of each site."""
        tables = [part.table(model, part.events[0]) for part in parts]
        n = np.array([table.effective_n for table in tables])
        expected = n * np.array([table.mean_forecast for table in tables])
        return cls(n, np.array([_rarer(part, model) for part in parts]), expected, parts[0].labels is not None)

    def note(self, used: NDArray[np.bool_]) -> str:
        """Say how many of the sites that are used have few events; "" if none has."""
        few = int(np.count_nonzero(used & (self.rare < FEWEST_HELD)))
        what = "cases outside the most frequent class" if self.classes else "events or non-events"
        has = "has" if few == 1 else "have"
        return too_narrow(f"{counted(few, 'site')} {has} fewer than {FEWEST_HELD} {what}") if few else ""


def ratio_note(measure: Measure, counts: SiteCounts, used: NDArray[np.bool_], error: float, pooled: float) -> str:
    """Say that the mean of observed/expected over the used sites is biased, if it is; "" if not, or for other measures.

    The logarithm of a ratio with few events is estimated too low, but ratios that happen to be high have the smaller
    standard errors and the larger weights, and sites without events have no weight at all. `error` is the standard
    error of the mean on the log scale.
    """
    if measure not in (ObservedExpected(), PredictedActual()) or not used.any():
        return ""
    median = float(np.median(counts.expected))
    absent = int(np.count_nonzero(~used & (counts.rare == 0)))
    reasons = []
    if median < FEWEST_EXPECTED or 1.0 / (2.0 * median) > LARGEST_BIAS * error:
        reasons.append(f"{counted(len(used), 'site')} of about {median:.2g} expected events each have few events")
    if absent:
        verb = "is" if absent == 1 else "are"
        reasons.append(f"{counted(absent, 'site')} without events or without non-events {verb} left out")
    if not reasons:
        return ""
    side = "high" if measure == ObservedExpected() else "low"
    return f"{' and '.join(reasons)}: the mean over sites is too {side}; over all cases together it is {number(pooled)}"


def _rarer(part: Ledger, model: str) -> int:
    if part.labels is None:
        table = part.table(model)
        return int(min(table.n_events, table.n - table.n_events))
    if not part.rules:
        return part.n
    cases = part.moments(part.rules[0]).over(OUTCOME).n
    return int(cases.sum() - cases.max())


def site_errors(measure: Measure, found: Sequence[Estimate], counts: SiteCounts) -> Floats:
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
    >>> found = [pr.estimate(part, None, pr.Brier()) for part in parts]
    >>> [round(one.standard_error, 4) for one in found]
    [0.0034, 0.03]
    >>> site_errors(found[0].measure, found, SiteCounts.of(parts, "forecast")).round(4)
    array([0.0214, 0.0215])
    """
    error = np.array([one.standard_error for one in found])
    if measure.sign is None:
        return error
    known = np.isfinite(error)
    own = counts.n * error**2
    shared = float((counts.n * own)[known].sum() / max(counts.n[known].sum(), 1.0))
    events = np.minimum(counts.rare, [one.units for one in found])
    errors: Floats = np.sqrt((events * own + SHARED * shared) / (events + SHARED) / counts.n)
    return errors
