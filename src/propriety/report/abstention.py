"""The section of a report on abstention: the risk if the least confident answers are withheld."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import numpy as np

from propriety.evaluation.evaluation import Evaluation
from propriety.inference.finding_words import caveats
from propriety.inference.risk_coverage import RiskCoverageCurve
from propriety.number_words import capitalized, percent
from propriety.plots.risk_coverage import plot_risk_coverage_curves
from propriety.report import readings, texts
from propriety.report.analysis_calls import call_for_abstention
from propriety.report.cells import Estimate
from propriety.report.figures import figure_of
from propriety.report.page import Section, Table
from propriety.report.sections import shown_names

COVERAGES = (0.9, 0.8, 0.5)
STEPS = np.linspace(0.05, 1.0, 20)


def abstention(evaluation: Evaluation) -> Section:
    """Risk-coverage curves of the most likely class of each model, and the accuracy of the most confident answers."""
    found = evaluation.risk_coverage
    shown = {name: found[model] for model, name in shown_names(evaluation).items()}
    call = call_for_abstention(evaluation)
    return Section(
        id="abstention",
        title="Abstention",
        words=(texts.ABSTENTION,),
        items=(
            figure_of(
                partial(plot_risk_coverage_curves, shown),
                title="Risk and coverage",
                caption="Share of wrong answers among the cases that are answered, most confident first. Lower is "
                "better.",
                table={"coverage": STEPS, **{name: _risks(curve) for name, curve in shown.items()}},
                call=f"{call}.plot()",
                models=list(shown),
                reading=readings.RISK_COVERAGE,
            ),
            Table(
                title="Accuracy of the most confident answers",
                columns={
                    "model": list(found),
                    "all cases": [curve.accuracy for curve in found.values()],
                    **{
                        f"most confident {percent(share, 6)}": [curve.accuracy_at(share) for curve in found.values()]
                        for share in COVERAGES
                    },
                    "AURC": [Estimate(one.aurc.value, one.aurc.low, one.aurc.high) for one in found.values()],
                    "AUGRC": [Estimate(one.augrc.value, one.augrc.low, one.augrc.high) for one in found.values()],
                },
                call=call,
                note=" ".join([texts.RISK_AREAS, *_notes(found.values())]),
                best={"AURC": "lowest", "AUGRC": "lowest"},
            ),
        ),
    )


def _risks(curve: RiskCoverageCurve) -> list[float]:
    return [1.0 - curve.accuracy_at(float(share)) for share in STEPS]


def _notes(curves: Iterable[RiskCoverageCurve]) -> list[str]:
    notes = dict.fromkeys(caveats(curve.aurc) for curve in curves if curve.aurc.notes)
    return [f"{capitalized(note)}." for note in notes]
