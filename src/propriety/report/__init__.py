"""One HTML page that works offline: text, figures with their data, tables, and an interactive ranking."""

from __future__ import annotations

from importlib.util import find_spec

from propriety.errors import MissingDependencyError

if find_spec("jinja2") is None or find_spec("matplotlib") is None:
    _hint = 'pip install "propriety[report]".'
    raise MissingDependencyError("A report needs jinja2 and matplotlib", hint=_hint)

from propriety.report.cells import Estimate
from propriety.report.figures import figure_of, svg_of
from propriety.report.labels import short_names
from propriety.report.page import Facts, Figure, Page, Section, Table
from propriety.report.rendering import render
from propriety.report.threshold_ranking import ThresholdRanking, threshold_ranking

__all__ = [
    "Estimate",
    "Facts",
    "Figure",
    "Page",
    "Section",
    "Table",
    "ThresholdRanking",
    "figure_of",
    "render",
    "short_names",
    "svg_of",
    "threshold_ranking",
]
