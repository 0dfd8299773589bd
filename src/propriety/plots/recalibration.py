"""The figure of a recalibration: reliability curves before and after, out of sample."""

from __future__ import annotations

from matplotlib.axes import Axes

from propriety.plots.drawing import draw
from propriety.plots.reliability import plot_curves
from propriety.recalibration.result import Recalibration


@draw.register
def _(found: Recalibration, ax: Axes | None = None) -> Axes:
    """Draw the reliability curves of the original and of the recalibrated forecasts."""
    return plot_curves({"before": found.before, f"after ({found.method})": found.after}, ax)
