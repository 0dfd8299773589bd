"""The columns by which cases are divided into segments; numbers are cut at their quantiles."""

from __future__ import annotations

import itertools
from functools import reduce
from operator import add
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from propriety.result import Floats
from propriety.tables.keys import MOST_LABELS


class Cut(NamedTuple):
    """Numbers divided at some edges; each part includes its upper edge."""

    edges: Floats

    @property
    def labels(self) -> tuple[str, ...]:
        """Descriptions of the parts.

        Examples
        --------
        >>> Cut(np.array([1.5, 3.0])).labels
        ('up to 1.5', '1.5 to 3', 'above 3')
        """
        texts = [f"{edge:.6g}" for edge in self.edges]
        between = [f"{low} to {high}" for low, high in itertools.pairwise(texts)]
        return (f"up to {texts[0]}", *between, f"above {texts[-1]}")

    def codes(self, values: NDArray[Any]) -> NDArray[np.intp]:
        """Return the index of the part of each number."""
        return np.searchsorted(self.edges, values, side="left")

    def expression(self, column: nw.Expr, missing: nw.Expr) -> nw.Expr:
        """Return the same for a column of an engine; a missing number has no part."""
        above = [nw.when(column > float(edge)).then(1).otherwise(0) for edge in self.edges]
        return nw.when(~missing).then(reduce(add, above))


def cut_of_numbers(values: NDArray[Any], parts: int) -> Cut | None:
    """Return where to cut numbers into parts of about equal size; None for labels.

    Examples
    --------
    >>> cut_of_numbers(np.arange(101.0), 4)
    Cut(edges=array([25., 50., 75.]))
    >>> cut_of_numbers(np.array([1, 2, 1]), 4)
    """
    if values.dtype.kind not in "iuf":
        return None
    finite = values[np.isfinite(values)].astype(np.float64)
    distinct = np.unique(finite)
    if len(distinct) <= MOST_LABELS and not (distinct % 1.0).any():
        return None
    edges = np.unique(np.quantile(finite, np.arange(1, parts) / parts, method="inverted_cdf"))
    edges = edges[edges < distinct[-1]]
    edges = edges if len(edges) else distinct[-2:-1]  # Most numbers are the largest, so the others are one part.
    return Cut(edges) if len(edges) else None
