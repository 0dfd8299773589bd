"""The confusion matrix as a heat map."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.patches import Rectangle

from propriety.evaluation.class_table import Confusion
from propriety.plots.drawable_names import drawable_list
from propriety.plots.drawing import COLORS, SMALL, draw, new_axes

MOST_TEXT = 12  # With more classes, the cells are too small for their counts.
DARKEST = 0.6  # Share of the colour in the darkest cell, on which black text is still easy to read.
SHORT, LONGEST = 3, 16  # Longer names of classes are written upwards, and cut.


@draw.register
def _(result: Confusion, ax: Axes | None = None) -> Axes:
    """Draw the share of each class by the most likely class, with the counts if there are few classes."""
    classes = len(result.labels)
    ax = new_axes(ax, size=(4.8, 4.6))
    share, hue = np.nan_to_num(result.share), np.array(to_rgb(COLORS[0]))
    for true, top in zip(*np.nonzero(result.count), strict=True):
        part = DARKEST * share[true, top]
        ax.add_patch(Rectangle((top - 0.5, true - 0.5), 1.0, 1.0, color=tuple(1.0 - part * (1.0 - hue)), linewidth=0))
        if classes <= MOST_TEXT:
            text = f"{result.count[true, top]:,.0f}"
            ax.text(top, true, text, ha="center", va="center", fontsize=SMALL - 1.5, color="black")
    names = drawable_list(result.labels, longest=LONGEST)
    ax.set_xticks(range(classes), names, rotation=0 if max(map(len, names)) <= SHORT else 90)
    ax.set_yticks(range(classes), names)
    ax.set(xlim=(-0.5, classes - 0.5), ylim=(classes - 0.5, -0.5), aspect="equal")
    ax.set(xlabel="Most likely class", ylabel="Class that happened")
    ax.tick_params(labelsize=SMALL, length=0)
    return ax
