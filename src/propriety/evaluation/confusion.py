"""The confusion matrix of the most likely class, and the number of cases that the forecasts expect in each cell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from propriety.inference.slice_table import texts_of_labels
from propriety.inference.verdicts import Names
from propriety.ledger.ledger import Ledger
from propriety.result import Floats, Result
from propriety.tables.cases import Cases
from propriety.tables.lazy_cases import LazyCases
from propriety.tables.queries import fetched

MOST_SUMS = 100  # With more classes, an engine does not sum the forecasts of each.


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Confusion(Result):
    """How often each class happened when each class was the most likely one; of equal probabilities the first counts.

    Parameters
    ----------
    labels : tuple of str
        The classes in order.
    count : ndarray of shape (K, K)
        Weight of the cases, by the class that happened (rows) and the most likely class (columns).
    expected : ndarray of shape (K, K), optional
        The same if each class happened with its forecast probability; None for more than 100 classes on an engine.
    """

    labels: tuple[str, ...]
    count: Floats
    expected: Floats | None

    @property
    def share(self) -> Floats:
        """Share of the cases of each class (row) for which each class was the most likely one; NaN without cases."""
        with np.errstate(invalid="ignore"):
            share: Floats = self.count / self.count.sum(axis=1, keepdims=True)
        return share

    def columns(self) -> dict[str, Any]:
        """Return a row for each pair of classes that occurs: the class, the most likely class, count and share."""
        return self._pairs(self.count > 0.0)

    def most_confused(self, most: int = 20) -> dict[str, Any]:
        """Return the pairs of different classes that occur most often, as in `columns`, the most frequent first."""
        wrong = self.count > 0.0
        np.fill_diagonal(wrong, val=False)
        found = self._pairs(wrong)
        order = np.argsort(-found["count"], kind="stable")[:most]
        return {name: column[order] for name, column in found.items()}

    def _pairs(self, chosen: NDArray[np.bool_]) -> dict[str, Any]:
        true, predicted = np.nonzero(chosen)
        names: Names = np.array(self.labels)
        columns = {"label": names[true], "predicted": names[predicted], "count": self.count[chosen]}
        columns["share"] = self.share[chosen]
        return columns if self.expected is None else columns | {"expected": self.expected[chosen]}

    def _facts(self) -> dict[str, Any]:
        right = float(np.trace(self.count) / self.count.sum())
        return {"classes": len(self.labels), "weight": float(self.count.sum()), "accuracy": right}


def confusion_of(ledger: Ledger, model: str) -> Confusion | None:
    """Count the cases of a model by their class and their most likely class, on an engine in one query.

    The result is None for a ledger without cases.

    Examples
    --------
    >>> from propriety import condense
    >>> rows = [[0.7, 0.2, 0.1], [0.2, 0.5, 0.3], [0.6, 0.3, 0.1]]
    >>> confusion_of(condense([0, 1, 1], {"a": rows}, labels=range(3)), "a").count
    array([[1., 0., 0.],
           [1., 1., 0.],
           [0., 0., 0.]])
    """
    source = ledger.source
    if source is None or ledger.labels is None:
        return None
    count, expected = _counted(source, model) if isinstance(source, Cases) else _queried(source, model)
    return Confusion(labels=tuple(texts_of_labels(ledger.labels)), count=count, expected=expected)


def _counted(cases: Cases, model: str) -> tuple[Floats, Floats]:
    from scipy.sparse import csr_array  # Imported here, because it is slow to import.

    classes = len(cases.labels or ())
    count, expected = np.zeros(classes * classes), np.zeros((classes, classes))
    for forecast, outcome, weight in cases.chunks(model):
        top = forecast.argmax(axis=0)
        count += np.bincount(outcome * classes + top, weight, minlength=len(count))
        w = np.ones(len(top)) if weight is None else weight
        expected += (csr_array((w, top, np.arange(len(top) + 1)), shape=(len(top), classes)).T @ forecast.T).T
    return count.reshape(classes, classes), expected


def _queried(cases: LazyCases, model: str) -> tuple[Floats, Floats | None]:
    place, classes = cases.models.index(model), len(cases.labels or ())
    # PostgreSQL may hold such numbers as decimals.
    columns = {"class": nw.col("class").cast(nw.Int64), "top": nw.col(f"top_{place}").cast(nw.Int64)}
    summed = range(classes) if classes <= MOST_SUMS else ()
    parts = {f"expected_{one}": cases.forecasts(place)[one] for one in summed}
    if cases.weighted:
        parts = {name: nw.col("weight") * part for name, part in parts.items()} | {"weight": nw.col("weight")}
    sums = [nw.col(name).sum().alias(name) for name in parts]
    sums += [] if cases.weighted else [nw.len().alias("weight")]
    found = fetched(cases.lawful_rows().select(**columns, **parts).group_by("class", "top").agg(*sums))

    def column(name: str) -> NDArray[Any]:
        return np.asarray(found.column(name).to_numpy(), dtype=np.float64)

    true, top = column("class").astype(np.intp), column("top").astype(np.intp)
    cells = np.bincount(true * classes + top, column("weight"), minlength=classes * classes)
    count: Floats = cells.reshape(classes, classes).astype(np.float64)
    if not summed:
        return count, None
    expected = [np.bincount(top, column(f"expected_{one}"), minlength=classes) for one in summed]
    return count, np.stack(expected).astype(np.float64)
