"""Sections of a report with figures: calibration and decisions, drawn from the results of the evaluation."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from propriety import plots
from propriety.calibration.decomposition import PARTS
from propriety.calibration.reliability import ReliabilityCurve
from propriety.decisions.ranking_map import RankingMap
from propriety.evaluation.evaluation import Evaluation
from propriety.evaluation.words import calibration_sentences
from propriety.number_words import percent
from propriety.plots.drawing import COLORS, GREY
from propriety.report import readings, texts
from propriety.report.analysis_calls import call_for_decomposition, call_for_each, call_for_ranking
from propriety.report.decision_items import decision_tables, gain_figures
from propriety.report.figures import figure_of
from propriety.report.labels import ranking_with_short_names, short_names
from propriety.report.page import Figure, Item, Section, Width
from propriety.report.smooth_items import limit_of, smooth_figure, smooth_of, smooth_table
from propriety.report.threshold_ranking import threshold_ranking
from propriety.result import Floats

STEPS = np.arange(1, 100) / 100
RANKS = ("low", "high", "winner", "runner_up", "regret", "margin")


def calibration(evaluation: Evaluation) -> Section:
    """Reliability and decomposition of forecasts of an event."""
    shown = shown_names(evaluation)
    curves = {shown[model]: own["event"] for model, own in evaluation.reliability.items()}
    width: Width = "third" if len(curves) in (3, 5, 6, 9) else "half"
    smooth = smooth_of(evaluation)
    of_each = [
        smooth_figure(evaluation, model, smooth[model], name, width)
        if model in smooth
        else banded(curve, f"Reliability of {name}", evaluation, model, width)
        for model, (name, curve) in zip(evaluation.models, curves.items(), strict=True)
    ]
    rare = limit_of(list(curves.values())) < 1.0
    return Section(
        id="calibration",
        title="Calibration",
        words=(*calibration_sentences(evaluation), texts.CALIBRATION),
        items=(
            figure_of(
                partial(plots.plot_curves, curves),
                title="Reliability",
                caption="Observed event rate against forecast. A calibrated model follows the diagonal.",
                table=stacked({name: curve.columns() for name, curve in curves.items()}),
                call=call_for_each("reliability_curve", evaluation) + ".plot()",
                models=list(curves),
                size=(4.6, 4.6),
                reading=readings.RELIABILITY,
                full=partial(_full, curves) if rare else None,
            ),
            decomposition(evaluation),
            *smooth_table(evaluation, smooth),
            *of_each,
        ),
    )


def _full(curves: Mapping[str, ReliabilityCurve], ax: Axes) -> None:
    """Draw the curves with both axes from 0 to 1."""
    plots.plot_curves(curves, ax)
    ax.plot([0, 1], [0, 1], color=GREY["line"], linewidth=0.9, zorder=1.5, label="_diagonal")
    ticks = np.linspace(0, 1, 6)
    ax.set(xlim=(0, 1), ylim=(0, 1), xticks=ticks, yticks=ticks, xlabel="Forecast probability")


def decisions(evaluation: Evaluation) -> Section:
    """Value of acting on the forecasts, at every threshold and over every threshold range."""
    shown = shown_names(evaluation)
    interval = evaluation.problem.interval
    own: dict[str, Any] = {} if evaluation.thresholds is None else {"thresholds": evaluation.thresholds}
    net = {shown[model]: curve for model, curve in evaluation.decision_curves.items()}
    murphy = {shown[model]: curve for model, curve in evaluation.murphy_curves.items()}
    items: list[Item] = [
        threshold_ranking(
            {model: own["event"] for model, own in evaluation.tables.items()},
            thresholds=interval,
            score_call=call_for_each("bounded_brier_score", evaluation),
        ),
        figure_of(
            partial(plots.plot_threshold_curves, net),
            title="Net benefit",
            caption="Gain from acting on the forecasts instead of treating nobody, in true positives per case. "
            "Higher is better.",
            table={
                "threshold": STEPS,
                **{name: np.interp(STEPS, curve.threshold, curve.value) for name, curve in net.items()},
            },
            call=call_for_each("decision_curve", evaluation, **own) + ".plot()",
            models=list(net),
            reading=readings.NET_BENEFIT,
        ),
        figure_of(
            partial(plots.plot_threshold_curves, murphy),
            title="Murphy diagram",
            caption="Cost of wrong decisions at each threshold. Lower is better. The area under the curve is half the "
            "Brier score.",
            table={
                "threshold": STEPS,
                **{name: _at(STEPS, curve.threshold, curve.value) for name, curve in murphy.items()},
            },
            call=call_for_each("murphy_curve", evaluation, **own) + ".plot()",
            models=list(murphy),
            reading=readings.MURPHY,
        ),
    ]
    items[1:1] = decision_tables(evaluation)
    if evaluation.ranking is not None:
        items.append(_ranking(evaluation, evaluation.ranking))
    if evaluation.roc_curves:
        roc = {shown[model]: curve for model, curve in evaluation.roc_curves.items()}
        items.append(
            figure_of(
                partial(plots.plot_roc_curves, roc),
                title="ROC curves",
                caption="How well the forecasts rank events above non-events, whatever their calibration and the "
                "costs of errors.",
                table=stacked({name: curve.columns() for name, curve in roc.items()}),
                call=call_for_each("roc_curve", evaluation, **own) + ".plot()",
                models=list(roc),
                size=(4.8, 4.5),
                reading=readings.ROC,
            )
        )
        items.extend(gain_figures(evaluation, shown))
    return Section(
        id="decisions",
        title="Decisions",
        words=(texts.DECISIONS,),
        items=tuple(items),
    )


def decomposition(evaluation: Evaluation, width: Width = "half") -> Figure:
    """Miscalibration and discrimination of each model."""
    shown = shown_names(evaluation)
    parts = {shown[model]: one for model, one in evaluation.decompositions.items()}
    return figure_of(
        partial(plots.plot_decompositions, parts),
        title="Decomposition of the scores",
        caption="Miscalibration increases to the right, discrimination upwards: the best models are at the upper left. "
        + ("Both are" if evaluation.kind == "multiclass" else "Neither is")
        + " corrected for sampling noise.",
        table={
            "model": list(parts),
            **{name: [getattr(one, name) for one in parts.values()] for name in PARTS},
        },
        call=call_for_decomposition(evaluation),
        models=list(parts),
        size=(4.6, 4.6) if width == "half" else (3.9, 3.9),
        width=width,
        reading=readings.DECOMPOSITION,
    )


def banded(
    curve: ReliabilityCurve,
    title: str,
    evaluation: Evaluation,
    model: str,
    width: Width,
    call: str = "",
    caption: str = "",
) -> Figure:
    """Reliability curve of one model with its consistency band."""
    place = evaluation.models.index(model)
    made = call or evaluation.call("reliability_curve", model)
    caption = caption or band_words(evaluation)
    drawn = f"level={evaluation.level!r}, n_resamples={evaluation.n_resamples}, seed={evaluation.seed}"
    return figure_of(
        lambda ax: plots.draw(curve, ax, color=COLORS[place % len(COLORS)]),
        title=title,
        caption=caption,
        table={name: getattr(curve, name) for name in ("forecast_min", "forecast_max", "event_rate", "weight")},
        call=f"{made}.with_consistency_band({drawn}).plot()",
        size=(4.4, 4.4) if width == "half" else (3.9, 3.9),
        width=width,
        of_models=(model,),
        reading=readings.RELIABILITY,
    )


def band_words(evaluation: Evaluation) -> str:
    """Say what the bands of reliability curves mean."""
    caption = texts.BAND if evaluation.dependence is None else texts.DEPENDENT_BAND
    return caption.format(level=percent(evaluation.level, 6), what=evaluation.dependence)


def _ranking(evaluation: Evaluation, found: RankingMap) -> Figure:
    interval, what = evaluation.problem.interval, evaluation.dependence
    caption = texts.RANKING if what is None else texts.DEPENDENT_RANKING.format(what=what)
    rows, pictured = found.columns(), ranking_with_short_names(found)
    return figure_of(
        lambda ax: plots.draw(pictured, ax),
        title="Best model over each threshold range",
        caption=caption + ("" if interval is None else " The ring marks your threshold range."),
        table={name: rows[name] for name in (*RANKS, *(("is_noise",) if what is None else ()))},
        call=f"{call_for_ranking(evaluation)}.plot()",
        models=list(pictured.models),
        size=(4.8, 4.5),
        reading=readings.RANKING,
    )


def _at(thresholds: Floats, knots: Floats, values: Floats) -> Floats:
    """Evaluate a piecewise linear curve; at a jump the knot occurs twice, and the first has the value there."""
    place = np.minimum(np.searchsorted(knots, thresholds), len(knots) - 1)
    return np.where(knots[place] == thresholds, values[place], np.interp(thresholds, knots, values))


def shown_names(evaluation: Evaluation) -> dict[str, str]:
    """Return the name of each model as figures show it."""
    return dict(zip(evaluation.models, short_names(evaluation.models), strict=True))


def stacked(tables: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Stack the rows of several models."""
    names = [name for name in next(iter(tables.values())) if all(name in table for table in tables.values())]
    columns: dict[str, Any] = {
        "model": np.repeat(np.array(list(tables)), [len(rows[names[0]]) for rows in tables.values()])
    }
    return columns | {name: np.concatenate([np.asarray(rows[name]) for rows in tables.values()]) for name in names}
