"""Numbers formatted for text."""

from __future__ import annotations

import math
from collections.abc import Callable

ROUNDING = 1e-12  # Smaller numbers are rounding errors of zero.


def capitalized(label: str) -> str:
    """Return a label with a capital letter.

    Examples
    --------
    >>> capitalized("area under the ROC curve")
    'Area under the ROC curve'
    """
    return f"{label[:1].upper()}{label[1:]}"


def number(value: float) -> str:
    """Format a number with three significant digits.

    Examples
    --------
    >>> number(0.07372), number(12345.6), number(4.8366e299), number(1e-9)
    ('0.0737', '12346', '4.84e+299', '1.00e-09')
    """
    if not math.isfinite(value):
        return str(value) if math.isnan(value) else "infinite" if value > 0 else "minus infinity"
    if value == 0.0:
        return "0"
    places = max(2 - math.floor(math.log10(abs(value))), 0)
    return f"{value:.{places}f}" if places <= 6 and abs(value) < 1e9 else f"{value:.2e}"


def number_and_limits(
    value: float, low: float, high: float, written: Callable[[float], str] = number
) -> tuple[str, str, str]:
    """Format a number and its confidence limits, with more decimals if the limits would look the same.

    Examples
    --------
    >>> number_and_limits(0.07372, 0.0701, 0.0773), number_and_limits(0.149968, 0.149675, 0.150262)
    (('0.0737', '0.0701', '0.0773'), ('0.1500', '0.1497', '0.1503'))
    """
    width = high - low
    if not width > ROUNDING or written(low) != written(high):
        return written(value), written(low), written(high)
    places = max(-math.floor(math.log10(width)), 0)
    return f"{value:.{places}f}", f"{low:.{places}f}", f"{high:.{places}f}"


def ratio_and_limits(value: float, low: float, high: float) -> tuple[str, str, str]:
    """Format a ratio and its limits, with more decimals if a limit would look like 1 and the interval excludes 1.

    Examples
    --------
    >>> ratio_and_limits(0.926, 0.86, 0.99796), ratio_and_limits(0.926, 0.86, 1.002)
    (('0.926', '0.860', '0.998'), ('0.93', '0.86', '1.00'))
    """
    nearest = min(abs(low - 1.0), abs(high - 1.0))
    if not (low - 1.0) * (high - 1.0) > 0.0 or nearest >= 0.005:
        return number_and_limits(value, low, high, hundredths)
    places = min(-math.floor(math.log10(nearest)), 6)
    return f"{value:.{places}f}", f"{low:.{places}f}", f"{high:.{places}f}"


def percent(share: float, digits: int = 3) -> str:
    """Format a share as a percentage, with more digits if it would round to 100%.

    Examples
    --------
    >>> percent(0.95), percent(0.9995), percent(0.0625), percent(0.12346), percent(1.0, 2), percent(12.34)
    ('95%', '99.95%', '6.25%', '12.3%', '100%', '1,234%')
    """
    while digits < 15 and float(f"{100.0 * share:.{digits}g}") == 100.0 and share < 1.0:
        digits += 1
    if share >= 1.0:  # Without an exponent.
        return f"{100.0 * share:,.0f}%"
    return f"{100.0 * share:.{digits}g}%"


def hundredths(value: float) -> str:
    """Format a number with two decimals, or with three significant digits if it is very small or large."""
    if abs(value) < ROUNDING:
        return "0.00"
    return f"{value:.2f}" if 0.1 <= abs(value) < 1000.0 else number(value)


def p_value_words(p: float) -> str:
    """Format a p-value with two digits.

    Examples
    --------
    >>> p_value_words(0.0002), p_value_words(0.0123), p_value_words(0.344), p_value_words(1.0)
    ('p < 0.001', 'p = 0.012', 'p = 0.34', 'p = 1')
    """
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}"
