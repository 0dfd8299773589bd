"""Numbers formatted for text."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

ROUNDING = 1e-12  # Smaller numbers are rounding errors of zero.


def capitalized(label: str) -> str:
    """Return a label with a capital letter.

    Examples
    --------
    >>> capitalized("area under the ROC curve")
    'Area under the ROC curve'
    """
    return f"{label[:1].upper()}{label[1:]}"


def listed(names: Sequence[str]) -> str:
    """Join names by commas and "and".

    Examples
    --------
    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


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


def decimals(half_widths: Iterable[float], values: Iterable[float], *, most: int, fine: float = 5.0) -> int:
    """Return the decimals with which the numbers of one row are written, at most `most` if those suffice.

    The narrowest interval decides: its half-width gets one significant digit, or two if the first is below `fine`.
    Without intervals, the largest number gets three digits.

    Examples
    --------
    >>> decimals([3.6, 5.8], [65.0, 85.3], most=3), decimals([0.05], [1.08], most=2), decimals([], [0.1536], most=3)
    (1, 2, 3)
    """
    narrowest = min((width for width in half_widths if math.isfinite(width) and width > ROUNDING), default=0.0)
    if narrowest > 0.0:
        needed = -math.floor(round(math.log10(narrowest / fine), 9))
    else:
        largest = max((abs(value) for value in values if math.isfinite(value) and abs(value) > ROUNDING), default=1.0)
        needed = 2 - math.floor(math.log10(largest))
    return min(max(needed, 0), most)


def decimals_of_limits(low: float, high: float, places: int, *, ideal: float = math.nan) -> int:
    """Return the decimals that tell two limits apart, and that keep a limit on its side of the ideal value.

    Examples
    --------
    >>> decimals_of_limits(0.86, 0.99796, 2, ideal=1.0), decimals_of_limits(0.14967, 0.15026, 2)
    (3, 4)
    """

    def misleads(places: int) -> bool:
        ends = [end for end in (low, high) if math.isfinite(end) and abs(end - ideal) > ROUNDING]
        crossed = any((round(end, places) - ideal) * (end - ideal) <= 0.0 for end in ends)
        return crossed or (high - low > ROUNDING and round(low, places) == round(high, places))

    return next((more for more in range(places, places + 4) if not misleads(more)), places)


def fixed(value: float, places: int, *, signed: bool = False) -> str:
    """Format a number with decimals, a true minus, and a plus sign if it is `signed`.

    Examples
    --------
    >>> fixed(-0.04, 1), fixed(4.62, 1, signed=True), fixed(math.inf, 1), fixed(12345.0, 0)
    ('0.0', '+4.6', '∞', '12,345')
    >>> fixed(-11.9, 1).replace("\N{MINUS SIGN}", "minus ")
    'minus 11.9'
    """
    if math.isnan(value):
        return "\N{EN DASH}"
    rounded = value if math.isinf(value) else round(value, places)
    sign = "\N{MINUS SIGN}" if rounded < 0.0 else "+" if signed and rounded > 0.0 else ""
    return f"{sign}\N{INFINITY}" if math.isinf(value) else f"{sign}{abs(rounded):,.{places}f}"


def counted(number: int, noun: str) -> str:
    """Return a number with a noun in singular or plural.

    Examples
    --------
    >>> counted(1, "case"), counted(1204, "cluster")
    ('1 case', '1,204 clusters')
    """
    return f"{number:,} {noun}" + "s" * (number != 1)
