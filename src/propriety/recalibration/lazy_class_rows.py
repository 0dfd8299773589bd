"""Class probabilities in a lazy frame: the engine computes the likelihood, with one query per step of a fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Self

import narwhals as nw
import numpy as np
from narwhals.typing import IntoLazyFrame
from numpy.typing import NDArray

from propriety.errors import InputTypeError, UnsupportedOperationError
from propriety.ledger.sources import open_ledger
from propriety.recalibration.class_rows import Likelihood, Scaling, Sums
from propriety.result import Floats
from propriety.tables.events import Event
from propriety.tables.labels import Labels
from propriety.tables.lazy_cases import LazyCases
from propriety.tables.queries import Lazy, computed_once, fetched, row_by_row
from propriety.tables.validation import Missing

FARTHEST = 700.0  # Of a score below the largest of its row, so that its exponential is not 0.


@dataclass(frozen=True, slots=True, eq=False)
class LazyClassRows:
    """Rows of class probabilities in a lazy frame, for `fit_temperature`, `fit_vector` and `fit_shrunk_classes`.

    The gradient and the Hessian of the likelihood are sums, so each step of Newton's method is one aggregate query,
    with about 2 K^2 sums for vector scaling.

    Parameters
    ----------
    cases : LazyCases
        The cases of one model, already checked.
    total, unit, nearest : float
        Sum of the weights, weight of one case, and smallest distance of a probability to 0 or 1; see `ClassRows`.
    happened : array of shape (K,)
        Which classes occurred.

    Examples
    --------
    >>> import polars as pl
    >>> from propriety.recalibration import fit_temperature
    >>> forecasts = {"a": [0.8, 0.2, 0.3, 0.3], "b": [0.1, 0.7, 0.6, 0.2], "c": [0.1, 0.1, 0.1, 0.5]}
    >>> frame = pl.LazyFrame({"y": [0, 1, 0, 2], **forecasts})
    >>> rows = LazyClassRows.from_frame(frame, ["a", "b", "c"], outcome="y", labels=[0, 1, 2])
    >>> round(fit_temperature(rows).slope, 4)
    1.816
    """

    cases: LazyCases
    total: float
    unit: float
    nearest: float
    happened: NDArray[np.bool_]

    @classmethod
    def from_frame(
        cls,
        frame: IntoLazyFrame,
        forecasts: Sequence[str],
        *,
        outcome: str,
        sample_weight: str | None = None,
        labels: Labels | None = None,
        missing: Missing = "raise",
    ) -> Self:
        """Check the rows of a lazy frame; see `propriety.condense` for the arguments.

        Parameters
        ----------
        frame : lazy frame
            From an engine that narwhals supports.
        forecasts : list of str
            The columns of the probabilities, in the order of `labels`.
        outcome, sample_weight : str
            The columns of the outcomes and weights.
        labels, missing
            As in `propriety.mean_score`.
        """
        named = {"forecast": list(forecasts)}
        ledger = open_ledger(frame, named, outcome=outcome, sample_weight=sample_weight, labels=labels, missing=missing)
        cases = ledger.source
        if not isinstance(cases, LazyCases) or cases.labels is None:
            law = "must be a lazy frame with at least three columns of forecasts"
            raise InputTypeError(law, argument="frame", hint="use ClassRows.from_predictions for arrays.")
        happened = np.array([rate > 0.0 for rate in ledger.rates.values()])
        return cls(cases, *_totals(cases), happened)

    @property
    def classes(self) -> int:
        """Number of classes."""
        return len(self.cases.labels or ())

    def likelihood(self, scaling: Scaling, floor: float, *, squared: bool = False) -> Likelihood:
        """Return the likelihood of temperature or vector scaling, with the weights or their squares."""
        if scaling == "matrix":
            law = "matrix scaling can only be fitted to rows in memory"
            raise UnsupportedOperationError(law, hint="use fit_vector, or a sample of the rows.")

        def sums(parameters: Floats) -> Sums:
            size = self.classes
            if scaling == "temperature":
                slopes, intercepts = np.repeat(parameters, size), np.zeros(size)
            else:
                slopes, intercepts = np.split(parameters, 2)
            found = _added(self.cases, floor, slopes.tolist(), intercepts.tolist(), scaling, squared=squared)
            return _of_temperature(found) if scaling == "temperature" else _of_vector(found, size)

        return sums


def _totals(cases: LazyCases) -> tuple[float, float, float]:
    """Return the sum of the weights, the weight of one case, and the smallest distance of a probability to 0 or 1."""
    weight = nw.col("weight") if cases.weighted else cases.forecasts(0)[0] * 0.0 + 1.0
    columns = {"w": weight, **{f"p_{place}": own for place, own in enumerate(cases.forecasts(0))}}

    def of_rows(rows: Lazy) -> Lazy:
        rows = rows.select(**columns).filter(nw.col("w") > 0.0)
        distances = {}
        for place in range(len(columns) - 1):
            p = nw.col(f"p_{place}")
            distances[f"p_{place}"] = nw.when(p > 0.0, p < 1.0).then(nw.when(p <= 0.5).then(p).otherwise(1.0 - p))
        return rows.select(w=nw.col("w"), s=nw.col("w") * nw.col("w"), **distances)

    names = [name for name in columns if name != "w"]
    rows = row_by_row(cases.lawful_rows(), of_rows)
    table = fetched(rows.select(nw.col("w").sum(), nw.col("s").sum(), *(nw.col(name).min() for name in names)))
    total, squares = (float(table.column(name)[0].as_py()) for name in ("w", "s"))
    nearest = [found for name in names if (found := table.column(name)[0].as_py()) is not None]
    return total, squares / total, float(min(nearest, default=0.0))


def _added(
    cases: LazyCases, floor: float, slopes: list[float], intercepts: list[float], scaling: Scaling, *, squared: bool
) -> dict[str, float]:
    """Return the sums over all rows at the given parameters, computed by the engine."""
    size = len(slopes)
    weight = nw.col("weight") if cases.weighted else cases.forecasts(0)[0] * 0.0 + 1.0
    columns = {"w": weight * weight if squared else weight}
    columns |= {f"y_{k}": cases.happened(Event("class", k)) for k in range(size)}
    columns |= {f"x_{k}": own.clip(floor, 1.0) for k, own in enumerate(cases.forecasts(0))}
    stages = [*_softmax(slopes, intercepts), *(_temperature_parts if scaling == "temperature" else _vector_parts)(size)]

    def of_rows(rows: Lazy) -> Lazy:
        rows = rows.select(**columns).filter(nw.col("w") > 0.0)
        for stage in ({name: nw.col(name).log() for name in _names("x", size)}, *stages):
            rows = computed_once(rows).with_columns(**stage)
        return rows.select(*stages[-1])

    rows = row_by_row(cases.lawful_rows(), of_rows)
    table = fetched(rows.select(*(nw.col(name).sum() for name in stages[-1])))
    return {name: float(table.column(name)[0].as_py()) for name in stages[-1]}


def _softmax(slopes: list[float], intercepts: list[float]) -> list[dict[str, nw.Expr]]:
    """Return the columns of the probabilities and the loss, in stages of which each uses the columns before it."""
    size = len(slopes)
    x, y, q = (_each(letter, size) for letter in "xyq")
    top, total = nw.col("top"), nw.col("total")
    scores = [slopes[k] * x[k] + intercepts[k] for k in range(size)]
    return [
        {"top": nw.max_horizontal(*scores)},
        {f"q_{k}": (scores[k] - top).clip(-FARTHEST, 0.0).exp() for k in range(size)},
        {"total": reduce(add, q)},
        {f"q_{k}": q[k] / total for k in range(size)} | {"lost": total.log() + top - _dot(y, scores)},
    ]


def _temperature_parts(size: int) -> list[dict[str, nw.Expr]]:
    """Return the stages after those of the softmax; the columns of the last one are summed."""
    w, mean = nw.col("w"), nw.col("mean")
    x, y, q = (_each(letter, size) for letter in "xyq")
    spread = _dot(q, [(one - mean) * (one - mean) for one in x])
    return [
        {"mean": _dot(x, q)},
        {"loss": w * nw.col("lost"), "gradient": w * (mean - _dot(x, y)), "hessian": w * spread},
    ]


def _of_temperature(found: dict[str, float]) -> Sums:
    return Sums(found["loss"], np.array([found["gradient"]]), np.array([[found["hessian"]]]))


def _vector_parts(size: int) -> list[dict[str, nw.Expr]]:
    """Return the stages after those of the softmax; the columns of the last one are summed."""
    w, heavy = nw.col("w"), _each("v", 2 * size)
    x, y, q, s = (_each(letter, size) for letter in "xyqs")
    factors = {f"s_{k}": q[k] * x[k] for k in range(size)}
    factors |= {f"v_{k}": w * q[k] * x[k] for k in range(size)} | {f"v_{k + size}": w * q[k] for k in range(size)}
    parts = {"loss": w * nw.col("lost")}
    for k in range(size):
        parts |= {f"a_{k}": heavy[k] - w * y[k] * x[k], f"b_{k}": heavy[k + size] - w * y[k]}
    others, own = [*s, *q], [*(x[k] - s[k] for k in range(size)), *(1.0 - q[k] for k in range(size))]
    for row in range(2 * size):
        for column in range(row + 1):
            of_one_class = (row - column) % size == 0
            parts[f"h_{row}_{column}"] = heavy[column] * (own if of_one_class else others)[row]
    return [factors, parts]


def _of_vector(found: dict[str, float], size: int) -> Sums:
    gradient = np.array([found[f"{letter}_{k}"] for letter in "ab" for k in range(size)])
    products = np.zeros((2 * size, 2 * size))
    for row in range(2 * size):
        for column in range(row + 1):
            products[row, column] = products[column, row] = found[f"h_{row}_{column}"]
    of_one_class = np.tile(np.eye(size, dtype=bool), (2, 2))
    return Sums(found["loss"], gradient, np.where(of_one_class, products, -products))


def _each(letter: str, size: int) -> list[nw.Expr]:
    return [nw.col(name) for name in _names(letter, size)]


def _names(letter: str, size: int) -> list[str]:
    return [f"{letter}_{k}" for k in range(size)]


def _dot(left: list[nw.Expr], right: list[nw.Expr]) -> nw.Expr:
    return reduce(add, [one * other for one, other in zip(left, right, strict=True)])
