"""A plan in plain words."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from propriety.number_words import capitalized, counted, percent

if TYPE_CHECKING:
    from propriety.products.planning.plan import Plan

PILOT = (
    "The difference was estimated from a pilot with {events:,} cases of the rarer outcome (interval {low:.3g} to "
    "{high:.3g}), so the number of cases is uncertain; pass the smallest difference worth detecting, or forecasts "
    "without outcomes."
)
BEYOND = (
    "The difference to detect is larger, relative to its spread, than that of the forecasts. With so few events, the "
    "power may be lower than planned."
)
FEW = 50  # With fewer events or non-events, intervals are less certain than planned.


def plan_words(plan: Plan) -> Iterator[str]:
    """Yield the number of cases, a line for each criterion, and warnings."""
    yield f"A study needs {_cases(plan.required)}{_with_events(plan)}{_design(plan)}."
    columns = (plan.criterion, plan.label, plan.kind, plan.goal, plan.value, plan.n, plan.events)
    for key, label, kind, goal, value, n, events in zip(*(column.tolist() for column in columns), strict=True):
        those = "" if math.isnan(events) or math.isinf(events) else f" ({counted(int(events), 'event')})"
        most = "; this needs the most" if key == plan.binding and len(plan.n) > 1 else ""
        if kind == "width":
            aim = f"{percent(plan.level)} CI of width {goal:g} around {value:.3g}"
        else:
            of = "" if math.isnan(value) else f" to detect {value:.3g}"
            aim = f"{percent(goal)} power{of}"
        yield f"- {capitalized(label)}: {aim} with {_cases(n)}{those}{most}."
    rarer = min(plan.prevalence, 1.0 - plan.prevalence) * plan.required * plan.share
    if rarer < FEW:
        yield (
            f"Only {counted(round(rarer), 'case')} of the rarer outcome can be expected; with so few, intervals vary "
            "much from study to study."
        )
    if plan.note:
        yield plan.note


def _cases(n: float) -> str:
    return "more cases than any study has" if math.isinf(n) else counted(int(n), "case")


def _with_events(plan: Plan) -> str:
    if math.isnan(plan.required_events) or math.isinf(plan.required_events):
        return ""
    return f" with about {counted(int(plan.required_events), 'event')}"


def _design(plan: Plan) -> str:
    parts = [f"a subgroup of {percent(plan.share)} of the cases"] if plan.share < 1.0 else []
    parts += [f"a design effect of {plan.design_effect:.3g}"] if plan.design_effect > 1.0 else []
    return f", for {' and '.join(parts)}" if parts else ""
