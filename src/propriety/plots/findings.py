"""Figures of findings: a line over horizons, and the groups of a table."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes

from propriety.inference.finding import Findings
from propriety.plots.drawing import draw
from propriety.plots.horizons import draw_horizons
from propriety.plots.slices import draw_slices


@draw.register
def _(found: Findings, ax: Axes | None = None, **options: Any) -> Axes:
    """Draw a measure over horizons, or the groups of `slices`."""
    return (draw_horizons if "horizon" in found.keys else draw_slices)(found, ax, **options)
