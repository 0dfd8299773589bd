"""The operations in which a rule's formula is written, so that one formula works for arrays and engines.

A formula also uses `+ - * /` and comparisons. `NUMPY` evaluates on NumPy arrays, and `NARWHALS` builds expressions for
any engine that narwhals supports. Another kind of column needs one more such class.
"""

from __future__ import annotations

import math
from typing import Any, Protocol, TypeAlias

import narwhals as nw
import numpy as np
from scipy import special

from propriety.errors import UnsupportedOperationError

SMALLEST = math.nextafter(0.0, 1.0)
NONE = 2.0**-150  # Changes no sum other than 0; added to avoid a division by 0.

Column: TypeAlias = Any  # A NumPy array, a narwhals expression, or one number for all cases.


class Operations(Protocol):
    """The operations that a kind of column must support."""

    def log(self, x: Column) -> Column:
        """Natural logarithm, minus infinity at 0."""

    def log1p(self, x: Column) -> Column:
        """Natural logarithm of 1 + x, accurate for small x."""

    def power(self, x: Column, exponent: float) -> Column:
        """Raise x to a constant."""

    def abs(self, x: Column) -> Column:
        """Absolute value."""

    def clip(self, x: Column, low: float, high: float) -> Column:
        """Clip x to [low, high]."""

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
            # If outcomes alternate at random, `numpy.where` is slowed by mispredicted branches. Selecting bits with a
            # mask gives the same floats, infinities included, in a third of the time.
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
        # Engines lack log1p. The rounding error of 1 + x is known, and correcting for it restores the accuracy.
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
        # A null condition is neither true nor false, and gives null.
        return nw.when(condition).then(_expression(yes)).otherwise(nw.when(~condition).then(_expression(no)))

    def number(self, condition: Column) -> Column:
        return condition.cast(nw.Int32).cast(nw.Float64)  # PostgreSQL casts conditions to integers, but not to floats.

    def log_likelihood(self, p: Column, event: Column) -> Column:
        # Engines choose between two columns case by case, which takes as long as the logarithm; arithmetic is faster.
        # `hit` is p or 1 - p, and `lost` is the rounding error, as in `log1p`.
        happened = self.number(event)
        other = 1.0 - happened
        hit = (other - p).abs()
        lost = (hit - other) + (other - happened) * p
        return self.log(hit) - lost / (hit + NONE)

    def incomplete_beta(self, alpha: float, beta: float, x: Column, *, upper: bool = False) -> Column:
        del alpha, beta, x, upper
        hint = "pass propriety.condense of the cases."
        raise UnsupportedOperationError("Engines have no incomplete beta function", hint=hint)


class _Checked(_Narwhals):
    """Operations for rows without missing values; conditions are not tested for null, which keeps queries short."""

    def where(self, condition: Column, yes: Column, no: Column) -> Column:
        return nw.when(condition).then(_expression(yes)).otherwise(_expression(no))


class _Quiet(_Checked):
    """Operations for Dask, whose workers warn about the logarithm of 0."""

    def log(self, x: Column) -> Column:
        return nw.when(x > 0.0).then(x.clip(SMALLEST, None).log()).otherwise(nw.lit(-math.inf))


def _is_column(values: object, kind: type[np.generic] = np.float64) -> bool:
    return isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype == kind


def _expression(column: Column) -> nw.Expr:
    return column if isinstance(column, nw.Expr) else nw.lit(column)


NUMPY: Operations = _NumPy()
NARWHALS: Operations = _Narwhals()
CHECKED: Operations = _Checked()
QUIET: Operations = _Quiet()
