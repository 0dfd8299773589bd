"""The smooth calibration curves of a report, and the table of their distances from the forecasts."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from propriety import plots
from propriety.calibration.reliability import ReliabilityCurve
from propriety.calibration.smooth_calibration import SmoothCalibration, few_outcomes
from propriety.evaluation.evaluation import Evaluation
from propriety.number_words import capitalized, listed, percent
from propriety.plots.drawing import COLORS
from propriety.report import readings
from propriety.report.analysis_calls import call_for_each, call_for_evaluation
from propriety.report.cells import Estimate, PValue
from propriety.report.figures import figure_of
from propriety.report.page import Figure, Table, Width

LIMITS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5)
MOST_LEFT_OUT = 0.01
MOST_FULL = 4  # Models whose own figures can be shown from 0 to 1; with more, the figure of all models can.
COLUMNS = {"ici": "ICI", "e50": "E50", "e90": "E90", "e_max": "Emax"}
NOTE = (
    "ICI is the mean, E50 the median, E90 the 90% quantile and Emax the maximum of the distance between the forecasts "
    "and the smooth curve. Sampling noise inflates them; the lower limit is 0 unless the test rejects calibration. The "
    "intervals assume a smooth curve: they cover less often than stated if forecasts are wrong only in a small part of "
    "their range. The p-value is that of a score test against a curve of this shape. The verdict "
    "comes from the calibration test above, and the two can differ."
)
LEFT_OUT = "{model}: {share} of the weight has forecasts of exactly 0 or 1, which are left out."
CERTAIN = "{models}: there is no smooth curve, which needs forecasts strictly between 0 and 1."
ABSENT = (
    "{models}: there is no smooth curve, because the forecasts strictly between 0 and 1 separate events from "
    "non-events or do not differ enough."
)
DEPENDENT = (
    "ICI is the mean, E50 the median, E90 the 90% quantile and Emax the maximum of the distance between the forecasts "
    "and the smooth curve. Sampling noise inflates them. Their intervals and the test are only known for independent "
    "cases; here cases may be correlated ({what})."
)
CAPTION = (
    "Smooth curve (logistic regression on a spline of the log-odds) with its {level} pointwise confidence band, and "
    "the CORP curve with the grey band in which it lies, at a given forecast, if the model is calibrated. Histogram: "
    "events upwards, non-events downwards, each relative to its highest bar."
)
DEPENDENT_CAPTION = (
    "Smooth curve (logistic regression on a spline of the log-odds), whose confidence band is only known for "
    "independent cases, and the CORP curve with the grey band in which it lies, at a given forecast, if the model is "
    "calibrated. The grey band assumes independent cases too. Here they may be correlated ({what}), and it may be too "
    "narrow. Histogram: events upwards, non-events downwards, each relative to its highest bar."
)


def smooth_of(evaluation: Evaluation) -> dict[str, SmoothCalibration]:
    """Return the smooth curve of each model that has one."""
    return {model: smooth for model, smooth in evaluation.smooth_calibration.items() if smooth is not None}


def smooth_table(evaluation: Evaluation, found: dict[str, SmoothCalibration]) -> Iterator[Table]:
    """Yield the table of ICI, E50, E90 and Emax."""
    if not found:
        return
    notes = [NOTE if evaluation.dependence is None else DEPENDENT.format(what=evaluation.dependence)]
    notes += [LEFT_OUT.format(model=model, share=percent(one.left_out)) for model, one in found.items() if one.left_out]
    tables = {model: evaluation.reliability[model]["event"].table for model in evaluation.models}
    few = few_outcomes(tables[evaluation.models[0]])
    notes += [f"{capitalized(few)}."] if few else []
    absent = [model for model in evaluation.models if model not in found]
    certain = [model for model in absent if np.isin(tables[model].forecast, (0.0, 1.0)).all()]
    for text, models in ((CERTAIN, certain), (ABSENT, [model for model in absent if model not in certain])):
        notes += [text.format(models=listed(models))] if models else []
    yield Table(
        title="Distance of the forecasts from the smooth calibration curve",
        columns={
            "model": list(found),
            **{label: [Estimate(*one.index(name)) for one in found.values()] for name, label in COLUMNS.items()},
            **_tests(found, evaluation),
        },
        call=_call(evaluation),
        note=" ".join(notes),
        best=dict.fromkeys(COLUMNS.values(), "lowest"),
    )


def smooth_figure(evaluation: Evaluation, model: str, found: SmoothCalibration, name: str, width: Width) -> Figure:
    """Return the smooth curve of a model and its CORP curve, each with its band."""
    curve: ReliabilityCurve = evaluation.reliability[model]["event"]
    color = COLORS[evaluation.models.index(model) % len(COLORS)]
    limit = limit_of([curve])
    drawing = partial(_draw, found, curve, color)
    what = evaluation.dependence
    return figure_of(
        partial(drawing, limit),
        full=partial(drawing, 1.0) if limit < 1.0 and len(evaluation.models) <= MOST_FULL else None,
        title=f"Reliability of {name}",
        caption=(CAPTION if what is None else DEPENDENT_CAPTION).format(level=percent(evaluation.level, 6), what=what),
        reading=readings.SMOOTH,
        table={name: getattr(found, name) for name in ("forecast", "event_rate", "low", "high")},
        call=f"{_call(evaluation, model)}.plot()",
        size=(4.4, 4.7) if width == "half" else (3.9, 4.2),
        width=width,
        of_models=(model,),
    )


def limit_of(curves: list[ReliabilityCurve]) -> float:
    """Return the end of the axes that shows at least 99% of the forecasts: 1, or less if events are rare."""
    largest = 0.0
    for curve in curves:
        share = curve.table.weights.cumsum() / curve.table.weight
        last = min(int((share < 1.0 - MOST_LEFT_OUT).sum()), len(share) - 1)
        forecast = float(curve.table.forecast[last])
        largest = max(largest, forecast, float(curve.event_rate[curve.forecast_min <= forecast].max(initial=0.0)))
    return next((limit for limit in LIMITS if largest <= limit), 1.0)


def _draw(one: SmoothCalibration, curve: ReliabilityCurve, color: str, limit: float, ax: Any) -> None:
    plots.draw(one, ax, color=color, curve=curve, limit=limit)


def _tests(found: dict[str, SmoothCalibration], evaluation: Evaluation) -> dict[str, list[PValue]]:
    """Return the column of p-values, if there are any."""
    if evaluation.dependence is not None:
        return {}
    return {"p-value of calibration": [PValue(one.p_value) for one in found.values()]}


def _call(evaluation: Evaluation, model: str | None = None) -> str:
    if evaluation.dependence is not None:
        drawn = {"n_resamples": evaluation.n_resamples, "seed": evaluation.seed}
        name = repr(model or evaluation.models[0]) if model or len(evaluation.models) == 1 else "name"
        return f"{call_for_evaluation(evaluation, **drawn)}.smooth_calibration[{name}]"
    made = (
        call_for_each("reliability_curve", evaluation) if model is None else evaluation.call("reliability_curve", model)
    )
    return f"{made}.smooth(level={evaluation.level!r}, n_resamples={evaluation.n_resamples}, seed={evaluation.seed})"
