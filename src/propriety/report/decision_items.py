"""Tables of decisions at thresholds, and gain, lift and precision-recall curves, of a report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from propriety.decisions.expected_cost import GainCurve
from propriety.decisions.operating_points import OperatingPoints
from propriety.errors import UNDEFINED
from propriety.evaluation.evaluation import Evaluation
from propriety.inference.comparison import compare_of
from propriety.inference.measures.of_means import NetBenefit
from propriety.number_words import percent
from propriety.plots.gains import plot_gains, plot_lifts, plot_precision_recall
from propriety.report import readings
from propriety.report.analysis_calls import call_for_each
from propriety.report.cells import Estimate, PValue, estimates_of
from propriety.report.figures import figure_of
from propriety.report.page import Figure, Table
from propriety.report.thinning import kept_points
from propriety.result import Floats

COLUMNS = 150  # Of a figure a third of the page wide.
RATES = {
    "sensitivity": "sensitivity",
    "specificity": "specificity",
    "positive_predictive_value": "PPV",
    "negative_predictive_value": "NPV",
}
GAINS = {
    "alert_rate": "alert rate",
    "number_needed_to_evaluate": "number needed to evaluate",
    "net_benefit": "net benefit",
    "gain_over_all": "gain over acting on everybody",
}
RATES_NOTE = (
    "A case is acted on if its forecast is at least the threshold. Sensitivity is the share of the events that are "
    "acted on, and specificity the share of the non-events that are not. PPV and NPV, the predictive values, are the "
    "shares of correct decisions among the cases acted on and not acted on. The intervals are Wilson intervals."
)
GAINS_NOTE = (
    "The alert rate is the share of the cases acted on, and the number needed to evaluate how many cases are acted on "
    "for each event found. Net benefit is in true positives per case. It is worth acting on the forecasts if net "
    "benefit and the gain over acting on everybody are both above 0. The intervals of "
    "net benefit are those of Scores."
)
DEPENDENT = " {which} intervals assume independent cases; here they may be correlated ({what})."
DIFFERENCE_NOTE = "A positive difference favours the first model. The p-values are adjusted for the number of pairs."


def decision_tables(evaluation: Evaluation) -> Iterator[Table]:
    """Yield what acting at the threshold, or at the ends of the range, means; nothing without thresholds."""
    if evaluation.thresholds is None:
        return
    ends = [end for end in np.atleast_1d(evaluation.thresholds).tolist() if 0.0 < end < 1.0]
    if not ends:
        return
    found = {
        model: curve.operating_points(grid=ends, level=evaluation.level)
        for model, curve in evaluation.decision_curves.items()
    }
    level = "" if evaluation.level == 0.95 else f", level={evaluation.level!r}"
    call = f"{call_for_each('decision_curve', evaluation)}.operating_points(grid={ends!r}{level})"
    rates_note, gains_note = RATES_NOTE, GAINS_NOTE
    if evaluation.dependence is not None:
        rates_note += DEPENDENT.format(which="All", what=evaluation.dependence)
        gains_note += DEPENDENT.format(which="The other", what=evaluation.dependence)
    where = "the threshold" if len(ends) == 1 else "the ends of the threshold range"
    yield _table(f"Decisions at {where}", found, RATES, call, rates_note)
    yield _table(f"Alerts and net benefit at {where}", found, GAINS, call, gains_note, evaluation.estimates)
    yield from _differences(evaluation, ends)


def gain_figures(evaluation: Evaluation, names: dict[str, str]) -> Iterator[Figure]:
    """Yield precision-recall, gain and lift curves."""
    found = {names[model]: curve.gains() for model, curve in evaluation.roc_curves.items()}
    if not found:
        return
    call = f"{call_for_each('roc_curve', evaluation)}.gains()"
    rows = np.linspace(0.05, 1.0, 20)
    options: dict[str, Any] = {"call": call, "models": list(found), "width": "third", "size": (4.2, 3.8)}
    recall = {name: _recall_at(rows, one) for name, one in found.items()}
    yield figure_of(
        partial(plot_precision_recall, _thinned(found, "recall", "precision")),
        title="Precision and recall",
        caption="Share of events among the cases acted on, against the share of the events found. The grey line is the "
        "prevalence.",
        reading=readings.PRECISION,
        table={"recall": rows, **{name: _precision_at(rows, one) for name, one in found.items()}},
        **options,
    )
    yield figure_of(
        partial(plot_gains, _thinned(found, "share", "recall")),
        title="Gain",
        caption="Share of the events found if the cases with the highest forecasts are acted on. Grey: perfect and "
        "random order.",
        reading=readings.GAIN,
        table={"cases acted on": rows, **recall},
        **options,
    )
    yield figure_of(
        partial(plot_lifts, _thinned(found, "share", "lift")),
        title="Lift",
        caption="How many times more frequent events are among the cases acted on than among all cases.",
        reading=readings.LIFT,
        table={"cases acted on": rows, **{name: found_share / rows for name, found_share in recall.items()}},
        **options,
    )


def _recall_at(share: Floats, curve: GainCurve) -> Floats:
    """Return the recall of acting on a share of the cases, its expected value if tied cases are in random order."""
    return np.asarray(np.interp(share, np.append(0.0, curve.share), np.append(0.0, curve.recall)))


def _precision_at(recall: Floats, curve: GainCurve) -> Floats:
    """Return the precision with the fewest cases acted on for this recall, if tied cases are in random order."""
    # Just below the recall, because interpolation at it returns the largest share with this recall.
    share = np.interp(recall * (1.0 - 1e-12), np.append(0.0, curve.recall), np.append(0.0, curve.share))
    return np.asarray(curve.prevalence * recall / share)


def _thinned(curves: dict[str, GainCurve], x: str, y: str) -> dict[str, GainCurve]:
    """Return the curves with the points that are needed to draw y against x."""
    thin = {}
    for name, curve in curves.items():
        kept = kept_points(getattr(curve, x), getattr(curve, y), (0.0, 1.0), columns=COLUMNS)
        columns = ("threshold", "share", "recall", "precision", "lift")
        thin[name] = curve if kept is None else replace(curve, **{one: getattr(curve, one)[kept] for one in columns})
    return thin


def _table(
    title: str,
    found: dict[str, OperatingPoints],
    labels: dict[str, str],
    call: str,
    note: str,
    estimates: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
) -> Table:
    """Return a row for each model and threshold; net benefits are those of `estimates`, if they are there."""
    columns: dict[str, list[Any]] = {"model": [], "threshold": [], **{label: [] for label in labels.values()}}
    for model, points in found.items():
        for row, threshold in enumerate(points.threshold.tolist()):
            columns["model"].append(model)
            columns["threshold"].append(percent(threshold, 6))
            for name, label in labels.items():
                one = [float(getattr(points, f"{name}{part}")[row]) for part in ("", "_low", "_high")]
                known = estimates.get(model, {}).get(NetBenefit(threshold).key) if name == "net_benefit" else None
                one = one if known is None else [known.value, known.low, known.high]
                columns[label].append(Estimate(*one) if np.isfinite(one).all() else one[0])
    return Table(title=title, columns=columns, call=call, note=note)


def _differences(evaluation: Evaluation, ends: list[float]) -> Iterator[Table]:
    """Yield the differences in net benefit between the models, at each threshold."""
    columns: dict[str, list[Any]] = {
        name: [] for name in ("model", "against", "threshold", "difference in net benefit", "adjusted p-value")
    }
    calls = []
    for end in ends if len(evaluation.models) > 1 else []:
        measure = NetBenefit(end)
        if not evaluation.ledger.has_moments(measure.rule):
            return
        try:
            rows = compare_of(evaluation.ledger, measure, level=evaluation.level, drawing=evaluation._drawing)  # noqa: SLF001  (the same draws)
        except UNDEFINED:
            return
        calls.append(evaluation.call("compare", measure=measure))
        found = rows.differences
        columns["model"] += found.model.tolist()
        columns["against"] += found.against.tolist()
        columns["threshold"] += [percent(end, 6)] * len(found.model)
        columns["difference in net benefit"] += estimates_of(found.value, found.low, found.high)
        columns["adjusted p-value"] += [PValue(value) for value in found.p_adjusted.tolist()]
    if calls:
        yield Table(
            title="Differences in net benefit",
            columns=columns,
            call="\n".join(calls),
            of_models=("model", "against"),
            note=DIFFERENCE_NOTE,
        )
