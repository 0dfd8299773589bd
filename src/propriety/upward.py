"""The calls that go up the layers: from a result to what draws it and to the pages made of it.

Everything else imports only from the layers below. What is named here is imported when it is called, so that results
need neither Matplotlib nor the report.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Literal, TypeAlias

Asked: TypeAlias = Literal["figure", "page of plots", "report", "LaTeX", "Word", "monitor", "segments", "transformer"]

# What is asked of a result, with the module and the function that answers.
UPWARD: dict[Asked, tuple[str, str]] = {
    "figure": ("propriety.plots", "draw"),
    "page of plots": ("propriety.plots.evaluation", "plot_evaluation"),
    "report": ("propriety.report.evaluation", "report_of"),
    "LaTeX": ("propriety.report.documents", "latex_of"),
    "Word": ("propriety.report.documents", "write_word"),
    "monitor": ("propriety.report.monitor", "monitor_report"),
    "segments": ("propriety.report.segments", "segments_report"),
    "transformer": ("propriety.integrations.recalibrated_classifier", "MapTransformer"),
}


def upward(asked: Asked, result: object, *given: Any, **options: Any) -> Any:
    """Call what draws a result or makes a page of it."""
    module, function = UPWARD[asked]
    return getattr(import_module(module), function)(result, *given, **options)
