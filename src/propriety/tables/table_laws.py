"""What a forecast table must be: its columns, and the facts beside them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from propriety.errors import InputTypeError, InputValueError, sentence
from propriety.results import Floats

if TYPE_CHECKING:
    from propriety.tables.forecast_table import ForecastTable

__all__ = ["ROUNDING", "check_budget", "check_cells", "check_facts", "column", "total", "weights_agree"]

# Squares below the one have lost their digits; those above the other are no numbers.
SMALLEST, LARGEST = float(np.finfo(np.float64).tiny), float(np.finfo(np.float64).max)
ROUNDING = 1e-6  # What sums of a billion weights may be off by in an engine.
MOST = 2**63  # Cases that no integer of an engine counts are none.


def column(name: str, values: object) -> Floats:
    """Return a column of real numbers that nobody else can change."""
    try:
        found = np.asarray(values)
    except (TypeError, ValueError) as error:
        raise InputTypeError(sentence(f"{name} must be a 1-D array of real numbers", offender=str(error))) from error
    if found.dtype.kind not in "biuf" or found.ndim != 1:
        law = f"{name} must be a 1-D array of real numbers; got shape {found.shape} of {found.dtype}"
        raise InputTypeError(sentence(law))
    # Arrays that somebody else could still change are copied, so that a table stays what it was.
    return found.astype(np.float64, copy=found.flags.writeable)


def total(values: Iterable[float]) -> float:
    """Return the exact sum, infinite where it is no number, which is then refused."""
    try:
        return math.fsum(values)
    except OverflowError:
        return math.inf


def check_budget(budget: object) -> None:
    """Refuse a number of values to bring into memory that is none."""
    if not isinstance(budget, int) or isinstance(budget, bool) or budget < 1:
        raise InputValueError(sentence(f"budget must be a whole number of at least 1; got {budget!r}"))


def check_facts(table: ForecastTable) -> None:
    """Refuse facts that contradict themselves or the columns, and keep them as plain numbers."""
    for name, least in (("n", 1), ("dropped", 0)):
        value = getattr(table, name)
        if not isinstance(value, int | np.integer) or isinstance(value, bool) or not least <= value < MOST:
            law = f"{name} must be a whole number of at least {least} and below 2**63; got {value!r}"
            raise InputValueError(sentence(law))
        object.__setattr__(table, name, int(value))
    if table.cells is not None:
        check_cells(table.cells)
    if not isinstance(table.refined, bool) or (table.refined and table.cells is None):
        raise InputValueError(sentence(f"refined must be False, or True beside cells; got {table.refined!r}"))
    squares = table.weight_squares
    if not isinstance(squares, float | int) or isinstance(squares, bool) or not SMALLEST <= squares <= LARGEST:
        raise InputValueError(sentence(f"weight_squares must be positive and finite; got {squares!r}"))
    object.__setattr__(table, "weight_squares", float(squares))
    if table.weight > math.sqrt(LARGEST):
        law = f"the weights of a table must have a sum whose square is a number; it is {table.weight:g}"
        raise InputValueError(sentence(law, hint="divide the weights by their mean."))
    if not weights_agree(table.n, table.weight, squares):
        law = f"n = {table.n} cases whose squared weights sum to {squares:g} cannot weigh {table.weight:g}"
        raise InputValueError(sentence(law))


def weights_agree(n: Any, weight: Any, squares: Any) -> Any:
    """Whether so many weights can have this sum and sum of squares, each a number or an array of them.

    The root of the squares is at most the sum of the weights, which by Cauchy and Schwarz is at most sqrt(n) roots.
    """
    root = np.sqrt(squares)  # Roots, because the product of the number of cases and the squares may be no number.
    return (weight >= root * (1.0 - ROUNDING)) & (weight <= np.sqrt(n) * root * (1.0 + ROUNDING))


def check_cells(cells: object) -> None:
    """Refuse a number of cells that is no power of two."""
    whole = isinstance(cells, int | np.integer) and not isinstance(cells, bool)
    if not whole or not 1 <= int(cells) <= 2**52 or int(cells) & (int(cells) - 1):  # type: ignore[call-overload]  # whole
        raise InputValueError(sentence(f"cells must be a power of two up to 2**52; got {cells!r}"))
