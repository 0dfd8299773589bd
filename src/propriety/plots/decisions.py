"""Pictures of decisions: regret, cost, net benefit and Murphy curves, with thresholds a clinician can read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FixedFormatter, FixedLocator, MaxNLocator, NullLocator

from propriety.decisions.murphy import MurphyCurve
from propriety.decisions.net_benefit import DecisionCurve, NetBenefitDifference
from propriety.decisions.regret import CostCurve, RegretCurve
from propriety.plots.drawing import (
    COLORS,
    DASHES,
    GREY,
    LEGEND,
    SMALL,
    Percent,
    draw,
    new_axes,
    percent,
    shown,
    write_note,
    write_title,
)
from propriety.results import Floats

__all__ = ["plot_decision_curves", "plot_murphy_curves", "plot_regret_curves"]

WIDE = (4.8, 3.6)
ABOVE_CHANCES = 16  # Points, for the title of axes with a second scale above them.
NICE_LIMITS = (0.005, 0.01, 0.02, 0.03, 0.05, 0.08, 0.1, 0.15, 0.2, 0.3, 0.5)
# Those that come first are shown where there is no room for all.
CHANCES = (
    *((1, 2), (1, 5), (1, 10), (1, 20), (1, 3), (1, 50), (1, 100), (2, 3), (4, 5), (9, 10)),
    *((99, 100), (1, 200), (1, 500), (1, 1000), (19, 20), (999, 1000)),
)
LOG_ODDS_ENDS = (0.001, 0.999)
PARTS: dict[str, tuple[str, dict[str, Any]]] = {
    "score": ("score", {"color": COLORS[0], "linewidth": 1.8, "zorder": 3}),
    "miscalibration": ("MCB", {"color": COLORS[1], "linestyle": DASHES[1], "linewidth": 1.4}),
    "discrimination": ("DSC", {"color": COLORS[2], "linestyle": DASHES[2], "linewidth": 1.4}),
    "uncertainty": ("UNC", {"color": GREY["line"], "linestyle": DASHES[3], "linewidth": 1.1}),
}


@draw.register
def _(
    curve: RegretCurve,
    ax: Axes | None = None,
    *,
    color: str = COLORS[0],
    label: str = "",
    scale: Literal["linear", "log-odds"] = "linear",
    high: float = 1.0,
) -> Axes:
    """Draw the regret and the area under it: half the Brier score, or with `scale="log-odds"` the log loss."""
    ax = new_axes(ax, size=WIDE)
    x, y = _subdivided(curve.threshold, curve.regret)
    rate = curve.table.event_rate
    _threshold_axis(ax, high, log_odds=scale == "log-odds")
    _draw_trivial(ax, rate, high, log_odds=scale == "log-odds")
    ax.fill_between(x, y, color=color, alpha=0.14, linewidth=0, zorder=1.2, label="_area")
    ax.plot(x, y, color=color, linewidth=1.7, label="_curve", zorder=3)
    ax.set_ylabel("Regret (mean cost of wrong decisions)")
    ax.set_ylim(0, 1.32 * max(float(y[x <= high].max()), _peak(rate, high)))
    name = {"linear": "half the Brier score", "log-odds": "the log loss"}[scale]
    note = f"area {shown(curve.area(scale=scale))}"
    note += f", {name}" if curve.act_at is None else f"\nalways decided at {percent(curve.act_at)}"
    write_note(ax, note if high == 1.0 or scale == "log-odds" else f"{note}\n(over all thresholds)", side="right")
    write_title(ax, label, pad=ABOVE_CHANCES)
    return ax


@draw.register
def _(curve: CostCurve, ax: Axes | None = None, *, color: str = COLORS[2], label: str = "", high: float = 1.0) -> Axes:
    """Draw the least regret below that of treating all and of treating none."""
    ax = new_axes(ax, size=WIDE)
    _threshold_axis(ax, high)
    _draw_trivial(ax, curve.event_rate, high)
    trivial = np.minimum(curve.treat_all, curve.treat_none)
    ax.fill_between(curve.threshold, curve.regret, trivial, color=color, alpha=0.14, linewidth=0, label="_gain")
    ax.plot(curve.threshold, curve.regret, color=color, linewidth=1.7, label="_curve", zorder=3)
    ax.set_ylabel("Least regret of any threshold")
    ax.set_ylim(0, 1.32 * max(_peak(curve.event_rate, high), 1e-9))
    write_note(ax, "shaded: what the forecast can gain\nat its best thresholds", side="right")
    write_title(ax, label, pad=ABOVE_CHANCES)
    return ax


@draw.register
def _(curve: DecisionCurve, ax: Axes | None = None, *, label: str = "model", high: float | None = None) -> Axes:
    return plot_decision_curves({label: curve}, ax, high=high)


@draw.register
def _(
    difference: NetBenefitDifference,
    ax: Axes | None = None,
    *,
    labels: tuple[str, str] = ("first model", "second model"),
    high: float = 1.0,
) -> Axes:
    """Draw what one model gains on another; `labels` are the names of the two."""
    ax = new_axes(ax, size=WIDE)
    _threshold_axis(ax, high)
    x, y = difference.threshold, difference.net_benefit
    ax.axhline(0, color=GREY["line"], linewidth=0.9, zorder=1.5)
    for side, color in ((y > 0, COLORS[0]), (y < 0, COLORS[1])):
        ax.fill_between(x, y, where=side, color=color, alpha=0.25, linewidth=0, interpolate=True)
    ax.plot(x, y, color="0.15", linewidth=1.4, label="_curve", zorder=3)
    ax.set_ylabel("Difference in net benefit")
    low, top = min(0.0, float(y[x <= high].min())), max(1e-9, float(y[x <= high].max()))
    ax.set_ylim(low - 0.18 * (top - low), top + 0.18 * (top - low))
    for name, place, align, color in ((labels[0], 0.97, "top", COLORS[0]), (labels[1], 0.03, "bottom", COLORS[1])):
        ax.text(
            0.98, place, f"{name} better", transform=ax.transAxes, ha="right", va=align, fontsize=SMALL, color=color
        )
    return ax


@draw.register
def _(curve: MurphyCurve, ax: Axes | None = None, *, label: str = "", high: float = 1.0) -> Axes:
    """Draw the score and, if they are there, its parts, each with its area."""
    ax = new_axes(ax, size=WIDE)
    _threshold_axis(ax, high)
    seen, top = curve.threshold <= high, 1e-9
    for name, area in curve.areas.items():
        values, (short, style) = getattr(curve, name), PARTS[name]
        ax.plot(curve.threshold, values, label=f"{short}  {shown(area)}", **style)
        top = max(top, float(values[seen].max()))
    ax.set_ylim(0, 1.4 * top)
    ax.set_ylabel(_murphy_label(curve))
    ax.legend(loc="upper right", ncols=2, fontsize=SMALL, frameon=False, handlelength=2.2, columnspacing=1.4)
    write_title(ax, label, pad=ABOVE_CHANCES)
    return ax


def plot_decision_curves(
    curves: Mapping[str, DecisionCurve], ax: Axes | None = None, *, high: float | None = None
) -> Axes:
    """Draw the net benefit of several models beside that of treating all and of treating none.

    Parameters
    ----------
    curves : mapping of str to DecisionCurve
        By name of the model.
    ax : Axes, optional
        Where to draw, by default on new axes.
    high : float, optional
        The largest threshold that is shown, by default five times the prevalence or a little more.

    Returns
    -------
    Axes
        The axes drawn on.

    Examples
    --------
    >>> import propriety as pr
    >>> y = [0, 1, 0, 1]
    >>> curves = {"a": pr.decision_curve(y, [0.1, 0.6, 0.4, 0.8]), "b": pr.decision_curve(y, [0.3, 0.4, 0.5, 0.9])}
    >>> ax = pr.plots.plot_decision_curves(curves)
    >>> ax.get_ylabel()
    'Net benefit (true positives per case)'
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['a', 'b']
    """
    ax = new_axes(ax, size=WIDE)
    rate = max(curve.prevalence for curve in curves.values())
    high = next((nice for nice in NICE_LIMITS if 5 * rate <= nice), 1.0) if high is None else high
    _threshold_axis(ax, high)
    ax.axhline(0, color=GREY["line"], linewidth=1.1, zorder=1.5, label="_treat none")
    dense = np.linspace(0.0, min(high, 0.999), 400)
    ax.plot(
        dense,
        rate - dense / (1 - dense) * (1 - rate),
        color=GREY["line"],
        linewidth=1.1,
        linestyle=DASHES[1],
        label="_treat all",
        zorder=1.6,
    )
    for index, (name, curve) in enumerate(curves.items()):
        _line(ax, curve.threshold, curve.net_benefit, index, name)
    ax.set_ylim(-0.22 * max(rate, 0.01), 1.12 * max(rate, 0.01))
    ax.set_ylabel("Net benefit (true positives per case)")
    grey: dict[str, Any] = {"fontsize": SMALL, "color": GREY["text"], "zorder": 4}
    ax.annotate("treat none", (0, 0), (4, -3), textcoords="offset points", ha="left", va="top", **grey)
    # Below zero no model that is worth anything comes near the line.
    at = 1.12 * rate / (1 + 0.12 * rate)
    place, align = ((-5, 0), "right") if at > 0.18 * high else ((5, 0), "left")
    ax.annotate("treat all", (at, -0.12 * rate), place, textcoords="offset points", ha=align, va="center", **grey)
    if list(curves) != ["model"]:
        names = [name + (f", harm {curve.harm:g}" if curve.harm else "") for name, curve in curves.items()]
        handles = [handle for handle in ax.get_lines() if handle.get_label() in curves]
        ax.legend(handles, names, loc="upper right", **LEGEND)
    return ax


def plot_regret_curves(
    curves: Mapping[str, RegretCurve | CostCurve], ax: Axes | None = None, *, high: float = 1.0
) -> Axes:
    """Draw the regret of several models, or of one as it is and at its best thresholds.

    Parameters
    ----------
    curves : mapping of str to RegretCurve or CostCurve
        By name of the model.
    ax : Axes, optional
        Where to draw, by default on new axes.
    high : float
        The largest threshold that is shown.

    Returns
    -------
    Axes
        The axes drawn on.

    Examples
    --------
    >>> import propriety as pr
    >>> y, p = [0, 1, 0, 1], [0.1, 0.3, 0.4, 0.8]
    >>> ax = pr.plots.plot_regret_curves({"as it is": pr.regret_curve(y, p), "at best": pr.cost_curve(y, p)})
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['as it is  (area 0.087)', 'at best']
    """
    ax = new_axes(ax, size=WIDE)
    _threshold_axis(ax, high)
    first = next(iter(curves.values()))
    rate = first.event_rate if isinstance(first, CostCurve) else first.table.event_rate
    _draw_trivial(ax, rate, high)
    for index, (name, curve) in enumerate(curves.items()):
        text = f"{name}  (area {shown(curve.area())})" if isinstance(curve, RegretCurve) else name
        _line(ax, curve.threshold, curve.regret, index, text)
    peaks = [float(curve.regret[curve.threshold <= high].max()) for curve in curves.values()]
    ax.set_ylim(0, 1.45 * max(*peaks, _peak(rate, high)))
    ax.set_ylabel("Regret (mean cost of wrong decisions)")
    ax.legend(loc="upper right", **LEGEND)
    return ax


def plot_murphy_curves(curves: Mapping[str, MurphyCurve], ax: Axes | None = None, *, high: float = 1.0) -> Axes:
    """Draw the scores of several models on one Murphy diagram, each with its area.

    Parameters
    ----------
    curves : mapping of str to MurphyCurve
        By name of the model.
    ax : Axes, optional
        Where to draw, by default on new axes.
    high : float
        The largest threshold that is shown.

    Returns
    -------
    Axes
        The axes drawn on.

    Examples
    --------
    >>> import propriety as pr
    >>> y = [0, 1, 0, 1]
    >>> curves = {"a": pr.murphy_curve(y, [0.1, 0.6, 0.4, 0.8]), "b": pr.murphy_curve(y, [0.3, 0.4, 0.5, 0.9])}
    >>> ax = pr.plots.plot_murphy_curves(curves)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['a  (area 0.046)', 'b  (area 0.089)']
    """
    ax = new_axes(ax, size=WIDE)
    _threshold_axis(ax, high)
    for index, (name, curve) in enumerate(curves.items()):
        _line(ax, curve.threshold, curve.score, index, f"{name}  (area {shown(curve.area)})")
    top = max(float(curve.score[curve.threshold <= high].max()) for curve in curves.values())
    ax.set_ylim(0, 1.4 * max(top, 1e-9))
    ax.set_ylabel(_murphy_label(next(iter(curves.values()))))
    ax.legend(loc="upper right", **LEGEND)
    return ax


def _threshold_axis(ax: Axes, high: float, *, log_odds: bool = False) -> None:
    """Show thresholds as percentages below and as chances, such as 1 in 20, above."""
    if log_odds:
        ax.set_xscale("logit")
        ax.set_xlim(*LOG_ODDS_ENDS)
        ticks = [0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999]
        ax.xaxis.set_major_locator(FixedLocator(ticks))
        ax.xaxis.set_major_formatter(Percent())
        ax.xaxis.set_minor_locator(NullLocator())
    else:
        ax.set_xlim(0, high)
        ax.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
        ax.xaxis.set_major_formatter(Percent())
    ax.set_xlabel("Threshold: act if the forecast is at least")
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=SMALL, length=3)
    above = ax.secondary_xaxis("top")
    if log_odds:
        above.set_xscale("logit")
    chances = _spaced(ax, [one / of for one, of in CHANCES])
    names = {one / of: f"{one} in {of}" for one, of in CHANCES}
    above.xaxis.set_major_locator(FixedLocator(chances))
    above.xaxis.set_major_formatter(FixedFormatter([names[chance] for chance in chances]))
    above.xaxis.set_minor_locator(NullLocator())
    above.spines["top"].set_visible(False)
    above.tick_params(labelsize=SMALL - 1.5, length=2, pad=1, colors=GREY["text"])


def _spaced(ax: Axes, values: list[float], gap: float = 0.11) -> list[float]:
    """Return the values that are inside the axis and not too close to its ends or to one that came before."""
    kept: list[float] = []
    places: list[float] = []
    for value in values:
        place = float(ax.transAxes.inverted().transform(ax.transData.transform((value, 0.0)))[0])
        if 0.03 <= place <= 0.97 and all(abs(place - other) >= gap for other in places):
            kept.append(value)
            places.append(place)
    return kept


def _draw_trivial(ax: Axes, rate: float, high: float, *, log_odds: bool = False) -> None:
    """Draw the regret of treating all and of treating none, each named where no curve is likely to be."""
    ends = np.array([0.0, 1.0])
    if log_odds:
        ends = 1.0 / (1.0 + np.exp(-np.linspace(-8.0, 8.0, 500)))
    grey: dict[str, Any] = {"color": GREY["line"], "linewidth": 1.0, "zorder": 1.5}
    ax.plot(ends, ends * (1 - rate), linestyle=DASHES[1], label="_treat all", **grey)
    ax.plot(ends, (1 - ends) * rate, label="_treat none", **grey)
    if not 0.0 < rate < 0.8 * high:
        return
    text: dict[str, Any] = {"fontsize": SMALL, "color": GREY["text"], "textcoords": "offset points", "zorder": 4}
    at = 1.16 * rate
    place, align = ((-5, 0), "right") if at > 0.2 * high and not log_odds else ((5, 0), "left")
    ax.annotate("treat all", (at, at * (1 - rate)), place, ha=align, va="center", **text)
    at = rate + 0.12 * (high - rate)
    ax.annotate("treat none", (at, (1 - at) * rate), (3, 3), ha="left", va="bottom", **text)


def _peak(rate: float, high: float) -> float:
    """Return the largest regret shown of the better of treating all and treating none."""
    return float(min(high, rate) * (1 - rate))


def _murphy_label(curve: MurphyCurve) -> str:
    whole = {"regret": "half the Brier score", "brier": "the Brier score", "expectile": "a quarter of the Brier score"}
    return f"Mean elementary score\n(area: {whole[curve.scaling]})"


def _line(ax: Axes, x: Floats, y: Floats, index: int, label: str) -> None:
    color, dash = COLORS[index % len(COLORS)], DASHES[index % len(DASHES)]
    ax.plot(x, y, color=color, linestyle=dash, linewidth=1.6, label=label, zorder=3)


def _subdivided(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Return the same straight pieces in more points, for an axis on which they are not straight."""
    rows = np.arange(len(x), dtype=np.float64)
    fine = np.linspace(0, len(x) - 1, (len(x) - 1) * max(1, 4000 // len(x)) + 1)
    return np.interp(fine, rows, x), np.interp(fine, rows, y)
