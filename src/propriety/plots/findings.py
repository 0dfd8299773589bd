"""Figures of findings: differences of models, models by rank, a line over horizons, or the groups of a table."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes

from propriety.inference.finding import MEAN_OF_GROUPS, Findings
from propriety.inference.group_rows import REST
from propriety.plots.comparison import draw_comparison, draw_ranks
from propriety.plots.drawing import draw
from propriety.plots.horizons import draw_horizons
from propriety.plots.pooled_groups import draw_pooled
from propriety.plots.slices import draw_slices


@draw.register
def _(found: Findings, ax: Axes | None = None, **options: Any) -> Axes:
    """Draw a line over horizons, differences of models, models by rank, or groups, with their mean if it is known."""
    if "horizon" in found.keys:
        return draw_horizons(found, ax, **options)
    if "rank" in found.extra:
        return draw_ranks(found, ax, **options)
    if MEAN_OF_GROUPS in found.statistic and REST not in found.against:
        return draw_pooled(found, ax, **options)
    return (draw_comparison if len(found.differences) else draw_slices)(found, ax, **options)
