"""Models by rank: the rank of a value, and the ranks that the tests of differences do not exclude."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np

from propriety.errors import InputValueError
from propriety.inference.estimates import ROUNDING
from propriety.inference.finding import Findings
from propriety.inference.measures.measure import Measure
from propriety.inference.verdict import lead
from propriety.result import Floats


def ranked(found: Findings) -> Findings:
    """Return the values of models with their ranks; see `Findings.ranks`."""
    rows = [row for row in found if row.against is None and row.statistic == "value"]
    if len({row.model for row in rows}) < len(rows):
        law = "ranks are those of one measure and one group"
        raise InputValueError(law, hint="choose them by where(measure=..., keys=...).")
    if not rows:
        raise InputValueError("ranks need the values of models, which these findings do not have")
    behind: Counter[str] = Counter()
    ahead: Counter[str] = Counter()
    for pair in found.differences:
        if shown := lead(pair):
            best, worst = (pair.model, str(pair.against))[::shown]
            ahead[best] += 1
            behind[worst] += 1
    cost = distance(np.array([row.value for row in rows]), rows[0].measure)
    slack = ROUNDING * np.where(np.isfinite(cost), np.abs(cost), 0.0)
    rank = 1 + (cost[:, None] - slack[:, None] > cost).sum(axis=1)
    columns = (
        {"rank": int(own), "best_rank": 1 + behind[row.model], "worst_rank": len(rows) - ahead[row.model]}
        for row, own in zip(rows, rank, strict=True)
    )
    with_ranks = [replace(row, extra={**row.extra, **own}) for row, own in zip(rows, columns, strict=True)]
    return Findings.of([with_ranks[place] for place in np.argsort(rank, kind="stable")], dropped=found.dropped)


def distance(value: Floats, measure: Measure) -> Floats:
    """Return numbers that are lower for better values: the distance from an ideal value, on the scale of the measure.

    Examples
    --------
    >>> from propriety.inference.measures.ratios import ObservedExpected
    >>> distance(np.array([0.5, 1.9]), ObservedExpected()).round(2)
    array([0.69, 0.64])
    """
    if measure.ideal is not None:
        with np.errstate(divide="ignore", invalid="ignore"):
            off: Floats = np.log(value / measure.ideal) if measure.scale == "log" else value - measure.ideal
        return np.abs(off)
    if measure.higher_is_better is None:
        return np.zeros(len(value))
    return -value if measure.higher_is_better else value
