"""Figure of labels that arrive late: reported and expected events by the age of the forecasts."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from propriety.plots.drawing import COLORS, DASHES, GREY, LEGEND, SMALL, draw, new_axes, write_title
from propriety.products.late_labels.late_labels import LateLabels


@draw.register
def _(labels: LateLabels, ax: Axes | None = None, *, label: str = "") -> Axes:
    """Draw the events reported so far by the age of the forecasts, with those expected so far and in the end."""
    ax = new_axes(ax, size=(5.8, 3.5))
    days = labels.by_age
    ax.bar(days.age, days.reported, width=0.8, color=GREY["line"], label="reported so far")
    lines = {
        "expected so far, if calibrated": (days.expected_so_far, COLORS[0], DASHES[0]),
        "expected in the end": (days.expected, COLORS[1], DASHES[1]),
    }
    for name, (values, color, dashes) in lines.items():
        ax.plot(days.age, values, color=color, linestyle=dashes, linewidth=1.6, label=name)
    ax.axvline(labels.youngest[-1] - 0.5, color=GREY["text"], linewidth=0.9, linestyle=":", label="_mature")
    ax.text(
        labels.youngest[-1],
        0.99,
        " 95% reported",
        transform=ax.get_xaxis_transform(),
        va="top",
        fontsize=SMALL,
        color=GREY["text"],
    )
    top = max(float(days.expected.max()), float(days.reported.max()))
    ax.set(xlabel="Age of the forecast (days)", ylabel="Events", xlim=(-0.7, days.age[-1] + 0.7), ylim=(0, 1.45 * top))
    ax.xaxis.set_major_locator(MaxNLocator(8, integer=True))
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=SMALL, length=3)
    ax.legend(loc="upper left", bbox_to_anchor=(0.0, 0.94), **LEGEND)
    write_title(ax, label)
    return ax
