"""The axis of thresholds: percentages below, numbers of cases such as 1 in 20 above, and the threshold range shaded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import FixedFormatter, FixedLocator, MaxNLocator, NullLocator

from propriety.number_words import percent
from propriety.plots.drawing import GREY, SMALL, Percent, open_frame
from propriety.plots.names import label_axis
from propriety.plots.shared_references import check_same
from propriety.rules.weights import Thresholds

# The first ones have priority if there is no room for all.
CHANCES = (
    *((1, 2), (1, 5), (1, 10), (1, 20), (1, 3), (1, 50), (1, 100), (2, 3), (4, 5), (9, 10)),
    *((99, 100), (1, 200), (1, 500), (1, 1000), (19, 20), (999, 1000), (1, 2000), (1, 5000), (1, 10000)),
)
LOG_ODDS_ENDS = (0.001, 0.999)
LETTER = 0.065  # Width of a letter of a label above the axis, in inches.
SHADE, EDGE = "0.92", "0.75"  # The edge makes the legend entry visible on the band itself.


def common_thresholds(curves: Mapping[Any, Any]) -> Thresholds | None:
    """Return the thresholds of the curves that have any, which must be the same."""
    found = {name: curve for name, curve in curves.items() if curve.thresholds is not None}
    if not found:
        return None
    check_same(found, "thresholds", lambda curve: curve.thresholds)
    return next(iter(found.values())).thresholds


def in_words(thresholds: Thresholds, between: str = "to") -> str:
    """Write thresholds for a legend: a range, or with "and" its two ends.

    Examples
    --------
    >>> in_words((0.05, 0.2)), in_words(0.1)
    ('thresholds 5% to 20%', 'threshold 10%')
    """
    if isinstance(thresholds, tuple):
        return f"thresholds {percent(thresholds[0], 6)} {between} {percent(thresholds[1], 6)}"
    return f"threshold {percent(thresholds, 6)}"


def window(thresholds: Thresholds | None, *, widest: float = 1.0) -> tuple[float, float]:
    """Return the limits of the axis: the range and half its width on either side, or from 0 to `widest`.

    Examples
    --------
    >>> window((0.25, 0.75)), window(0.125), window(None, widest=0.5)
    ((0.0, 1.0), (0.0, 0.25), (0.0, 0.5))
    """
    if thresholds is None:
        return 0.0, widest
    if isinstance(thresholds, tuple):
        low, high = thresholds
        around = 0.5 * (high - low)
        # A limit close to 0 becomes 0, where curves begin.
        left = low - around if low > 2.0 * around else 0.0
        return left, min(1.0, high + around)
    around = min(thresholds, 1.0 - thresholds)
    return thresholds - around, thresholds + around


def draw_threshold_axis(
    ax: Axes, thresholds: Thresholds | None = None, *, widest: float = 1.0, log_odds: bool = False
) -> tuple[float, float]:
    """Draw the axis with percentages below and numbers of cases, such as 1 in 20, above; return its limits."""
    if log_odds:
        ax.set_xscale("logit")
        ax.set_xlim(*LOG_ODDS_ENDS)
        ticks = [0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999]
        ax.xaxis.set_major_locator(FixedLocator(ticks))
        ax.xaxis.set_major_formatter(Percent())
        ax.xaxis.set_minor_locator(NullLocator())
    else:
        ax.set_xlim(*window(thresholds, widest=widest))
        ax.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
        ax.xaxis.set_major_formatter(Percent())
    label_axis(ax.xaxis, "Threshold", ": act if the forecast is at least")
    open_frame(ax)
    above = ax.secondary_xaxis("top")
    if log_odds:
        above.set_xscale("logit")
    chances = _spaced(ax, {one / of: f"{one} in {of}" for one, of in CHANCES})
    above.xaxis.set_major_locator(FixedLocator(list(chances)))
    above.xaxis.set_major_formatter(FixedFormatter(list(chances.values())))
    above.xaxis.set_minor_locator(NullLocator())
    above.spines["top"].set_visible(False)
    above.tick_params(labelsize=SMALL - 1.5, length=2, pad=1, colors=GREY["text"])
    first, last = ax.get_xlim()
    if thresholds is not None:
        # A single threshold is drawn as a narrow band.
        half = 0.006 * (last - first)
        ends = thresholds if isinstance(thresholds, tuple) else (thresholds - half, thresholds + half)
        ax.axvspan(*ends, facecolor=SHADE, edgecolor=EDGE, linewidth=0.6, zorder=0.5, label=in_words(thresholds))
    return first, last


def _spaced(ax: Axes, names: Mapping[float, str]) -> dict[float, str]:
    """Return the values, with their names, that are not too close to the ends of the axis or to previous values."""
    letter = LETTER * ax.figure.figure.dpi / ax.get_window_extent().width
    kept: dict[float, str] = {}
    places: dict[float, str] = {}
    for value, name in names.items():
        place = float(ax.transAxes.inverted().transform(ax.transData.transform((value, 0.0)))[0])
        gaps = {at: max(0.11, letter * (len(name) + len(other)) / 2.0) for at, other in places.items()}
        if 0.03 <= place <= 0.97 and all(abs(place - at) >= gap for at, gap in gaps.items()):
            kept[value] = places[place] = name
    return kept
