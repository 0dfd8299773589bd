"""The operations that a rule's formula is written in, so that one formula serves arrays and engines alike.

Beside these few, a formula uses `+ - * /` and comparisons. `NUMPY` evaluates on NumPy arrays, `NARWHALS`
builds expressions for any engine that narwhals knows; another kind of column needs one more such class.
"""

from __future__ import annotations

import math
from typing import Any, Protocol, TypeAlias

import narwhals as nw
import numpy as np
from scipy import special

from propriety.errors import UnsupportedOperationError

__all__ = ["JUDGED", "NARWHALS", "NUMPY", "QUIET", "Column", "Operations"]

SMALLEST = math.nextafter(0.0, 1.0)
NONE = 2.0**-150  # What changes no sum but 0, so that nothing is divided by it.

Column: TypeAlias = Any  # A NumPy array, a narwhals expression, or a number where one stands for all cases.


class Operations(Protocol):
    """What a kind of column must be able to do."""

    def log(self, x: Column) -> Column:
        """Natural logarithm, minus infinity at 0."""

    def log1p(self, x: Column) -> Column:
        """Natural logarithm of 1 + x, accurate where x is small."""

    def power(self, x: Column, exponent: float) -> Column:
        """Raise x to a constant."""

    def abs(self, x: Column) -> Column:
        """Absolute value."""

    def clip(self, x: Column, low: float, high: float) -> Column:
        """Bring x into [low, high]."""

    def minimum(self, *columns: Column) -> Column:
        """Smallest of the columns, case by case."""

    def maximum(self, *columns: Column) -> Column:
        """Largest of the columns, case by case."""

    def where(self, condition: Column, yes: Column, no: Column) -> Column:
        """`yes` where the condition holds, else `no`."""

    def number(self, condition: Column) -> Column:
        """1 where the condition holds, else 0."""

    def log_likelihood(self, p: Column, event: Column) -> Column:
        """Logarithm of p where the event happened, else of 1 - p."""

    def incomplete_beta(self, alpha: float, beta: float, x: Column, *, upper: bool = False) -> Column:
        """Probability that Beta(alpha, beta) is below x, or above it."""


class _NumPy:
    def log(self, x: Column) -> Column:
        with np.errstate(divide="ignore"):
            return np.log(x)

    def log1p(self, x: Column) -> Column:
        with np.errstate(divide="ignore"):
            return np.log1p(x)

    def power(self, x: Column, exponent: float) -> Column:
        return x**exponent

    def abs(self, x: Column) -> Column:
        return np.abs(x)

    def clip(self, x: Column, low: float, high: float) -> Column:
        return np.minimum(np.maximum(x, low), high)

    def minimum(self, *columns: Column) -> Column:
        smallest = columns[0]
        for column in columns[1:]:
            smallest = np.minimum(smallest, column)
        return smallest

    def maximum(self, *columns: Column) -> Column:
        largest = columns[0]
        for column in columns[1:]:
            largest = np.maximum(largest, column)
        return largest

    def where(self, condition: Column, yes: Column, no: Column) -> Column:
        if _is_column(yes) and _is_column(no) and _is_column(condition, np.bool_):
            # Where outcomes alternate at random, `numpy.where` waits for mispredicted branches; choosing the bits
            # with a mask gives the same floats, infinities included, in a third of the time.
            mask = np.negative(condition.view(np.int8)).astype(np.int64)
            chosen = yes.view(np.int64) ^ no.view(np.int64)
            chosen &= mask
            chosen ^= no.view(np.int64)
            return chosen.view(np.float64)
        return np.where(condition, yes, no)

    def number(self, condition: Column) -> Column:
        return np.asarray(condition, dtype=np.float64)

    def log_likelihood(self, p: Column, event: Column) -> Column:
        return self.where(event, self.log(p), self.log1p(-p))

    def incomplete_beta(self, alpha: float, beta: float, x: Column, *, upper: bool = False) -> Column:
        return special.betaincc(alpha, beta, x) if upper else special.betainc(alpha, beta, x)


class _Narwhals:
    def log(self, x: Column) -> Column:
        return x.log()

    def log1p(self, x: Column) -> Column:
        # Engines lack log1p. The rounding of 1 + x, which is known, moves its logarithm by nearly its share of 1 + x.
        grown = x + 1.0
        return self.log(grown) - ((grown - 1.0) - x) / (grown + NONE)

    def power(self, x: Column, exponent: float) -> Column:
        return x**exponent

    def abs(self, x: Column) -> Column:
        return x.abs()

    def clip(self, x: Column, low: float, high: float) -> Column:
        return x.clip(low, high)

    def minimum(self, *columns: Column) -> Column:
        return nw.min_horizontal(*columns)

    def maximum(self, *columns: Column) -> Column:
        return nw.max_horizontal(*columns)

    def where(self, condition: Column, yes: Column, no: Column) -> Column:
        # A condition that is null holds neither way, and gives null.
        return nw.when(condition).then(_expression(yes)).otherwise(nw.when(~condition).then(_expression(no)))

    def number(self, condition: Column) -> Column:
        return condition.cast(nw.Int32).cast(nw.Float64)  # PostgreSQL makes whole numbers of conditions, but no floats.

    def log_likelihood(self, p: Column, event: Column) -> Column:
        # Engines choose between two columns case by case, which takes as long as the logarithm; arithmetic does not.
        # `hit` is p or 1 - p, and `lost` what was rounded off, as in `log1p`.
        happened = self.number(event)
        other = 1.0 - happened
        hit = (other - p).abs()
        lost = (hit - other) + (other - happened) * p
        return self.log(hit) - lost / (hit + NONE)

    def incomplete_beta(self, alpha: float, beta: float, x: Column, *, upper: bool = False) -> Column:
        del alpha, beta, x, upper
        hint = "make a ForecastTable and score that."
        raise UnsupportedOperationError("Engines have no incomplete beta function", hint=hint)


class _Judged(_Narwhals):
    """Of rows without missing values; conditions need not be asked twice, which keeps queries short."""

    def where(self, condition: Column, yes: Column, no: Column) -> Column:
        return nw.when(condition).then(_expression(yes)).otherwise(_expression(no))


class _Quiet(_Judged):
    """Of Dask, whose workers warn of the logarithm of 0."""

    def log(self, x: Column) -> Column:
        return nw.when(x > 0.0).then(x.clip(SMALLEST, None).log()).otherwise(nw.lit(-math.inf))


def _is_column(values: object, kind: type[np.generic] = np.float64) -> bool:
    return isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype == kind


def _expression(column: Column) -> nw.Expr:
    return column if isinstance(column, nw.Expr) else nw.lit(column)


NUMPY: Operations = _NumPy()
NARWHALS: Operations = _Narwhals()
JUDGED: Operations = _Judged()
QUIET: Operations = _Quiet()
