"""The section of a report on recalibration: its gain for each model, and the maps."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from propriety.evaluation.evaluation import Evaluation
from propriety.number_words import percent
from propriety.recalibration.maps import RecalibrationMap
from propriety.recalibration.result import Gain, Recalibration, formula_of
from propriety.report.analysis_calls import call_for_each
from propriety.report.cells import Estimate
from propriety.report.page import Section, Table
from propriety.tables.laws import weighted_quantile

OUTCOMES: dict[Gain, str] = {
    "gain": "lowers the score",
    "loss": "raises the score",
    "not shown": "not shown to change it",
    "unchanged": "leaves the forecasts as they are",
    "infinite": "leaves it infinite",
    "not tested": "not tested",
}
IMMATERIAL = "leaves it practically unchanged"
WORDS = (
    "Recalibration replaces each forecast by the event rate that a curve gives for it, and leaves the ranking of the "
    "cases as it is. Its gain shows how much of a model's score is due to miscalibration that new cases would have too."
)
NOTE = (
    "A positive gain lowers the {score}. The map is a monotone curve, shrunk towards the forecasts where the evidence "
    "against them is weak. The gain is out of sample ({folds}): every case is recalibrated by a map fitted without it."
)
FLOORED = "If the score is infinite, the gain is relative to the forecasts with a floor, and their score is shown."
MAPS = "p is the forecast and q the recalibrated forecast; logit p = log(p / (1 \N{MINUS SIGN} p))."
ROUND = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999)
MOST_EXAMPLES = 5
ARROW = "\N{NO-BREAK SPACE}\N{RIGHTWARDS ARROW}\N{NO-BREAK SPACE}"


def recalibration(evaluation: Evaluation) -> Iterator[Section]:
    """Yield the section, if the gain of a model is known."""
    tables = tuple(gains(evaluation))
    if tables:
        yield Section(id="recalibration", title="Recalibration", words=(WORDS,), items=tables)


def gains(evaluation: Evaluation) -> Iterator[Table]:
    """Yield the tables of the gains of recalibration and of the maps, for models that have them."""
    found = dict(evaluation.recalibration)
    if not found:
        return
    headline = evaluation.problem.headline
    verdicts = [one.verdict for one in found.values()]
    call = call_for_each("recalibrate", evaluation, rule=headline.rule)
    folds = next(iter(found.values())).folds
    yield Table(
        title="Gain of recalibration",
        columns={
            "model": list(found),
            headline.label: [one.before for one in verdicts],
            "gain": [None if one.outcome == "unchanged" else Estimate(one.gain, one.low, one.high) for one in verdicts],
            "share of the score": [_share(one) for one in found.values()],
            "recalibration": [IMMATERIAL if one.is_immaterial else OUTCOMES[one.outcome] for one in verdicts],
        },
        call=call,
        note=" ".join([NOTE.format(score=headline.label, folds=folds), *_notes(found)]),
    )
    yield Table(
        title="Recalibration maps",
        columns={
            "model": list(found),
            "forecast and recalibrated forecast": [_examples(one) for one in found.values()],
            "formula": [formula_of(one.map) for one in found.values()],
        },
        call=f"{call}.map",
        note=MAPS,
        folded=True,
    )


def _share(found: Recalibration) -> str:
    """Return the gain as a share of the score."""
    before, gain = found.verdict.before, found.verdict.gain
    known = 0.0 < before < math.inf and math.isfinite(gain) and found.verdict.outcome != "unchanged"
    return percent(gain / before, 2).replace("-", "\N{MINUS SIGN}") if known else "\N{EN DASH}"


def _examples(found: Recalibration) -> str:
    """Return a few round forecasts in the range of the model, with their recalibrated values."""
    table = found.table_before
    low, high = weighted_quantile(table.forecast, table.weights, np.array([0.02, 0.98])).tolist()
    inside = [one for one in ROUND if low <= one <= high]
    shown = inside[:: max(1, math.ceil(len(inside) / MOST_EXAMPLES))] or [table.mean_forecast]
    assert isinstance(found.map, RecalibrationMap)  # noqa: S101  (for the type checker; the page has maps of an event)
    pairs = zip(shown, found.map.recalibrated(np.array(shown)).tolist(), strict=True)
    return ", ".join(f"{percent(one)}{ARROW}{percent(other, 2)}" for one, other in pairs)


def _notes(found: dict[str, Recalibration]) -> list[str]:
    floored = FLOORED if any(one.verdict.reference == "floored" for one in found.values()) else ""
    return list(dict.fromkeys(filter(None, [floored, *(one.note for one in found.values())])))
