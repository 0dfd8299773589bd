"""Which test a comparison uses: by the measure, and by how cases depend on each other."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

from propriety import checks, demands
from propriety.errors import InputValueError, Wording
from propriety.inference.dependence import span_of
from propriety.inference.estimates import IMAGINED
from propriety.inference.measures.measure import Measure
from propriety.ledger.ledger import Ledger
from propriety.number_words import counted

CompareMethod: TypeAlias = Literal[
    "auto", "student", "paired t", "cluster", "diebold-mariano", "block bootstrap", "bootstrap"
]

SUITS = {"paired t": None, "cluster": "cluster", "diebold-mariano": "period", "block bootstrap": "period"}


def method_for(method: CompareMethod, ledger: Ledger, measure: Measure) -> str:
    """Return the method for a measure of independent cases, or of clusters or periods; "none" without a test."""
    checks.choice(method, "method", get_args(CompareMethod))
    if method in ("auto", "student"):
        return _automatic(ledger, measure)
    if measure.instead is not None:
        law = f"method={method!r} does not test {measure.label}: noise inflates it, for each model differently"
        raise InputValueError(law, hint=f"compare the {measure.instead.label}.")
    if method == "bootstrap":
        if ledger.labels is not None:
            law = f"method='bootstrap' draws cases of one event; the forecasts are of {len(ledger.labels)} classes"
            raise InputValueError(law, hint='use method="auto".')
        return method
    if ledger.censoring is not None:
        raise InputValueError(demands.KNOWN_OUTCOMES, argument="y_true", hint='use method="auto" or "bootstrap".')
    if not _is_by_losses(ledger, measure):
        law = f"method={method!r} compares mean losses; {measure.label} is not a mean loss"
        raise InputValueError(law, hint='use method="auto" or "bootstrap".')
    if SUITS[method] != ledger.dependence:
        law = (
            f"method={method!r} is for {'independent cases' if SUITS[method] is None else f'cases in {SUITS[method]}s'}"
        )
        unfit = Wording("neither {cluster=} nor {period=} is given")
        offender = unfit if ledger.dependence is None else f"the cases are in {ledger.dependence}s"
        raise InputValueError(law, offender=offender)
    return method


def method_name(
    method: str, ledger: Ledger, units: int, horizon: int | None, n_resamples: int, *, imagined: bool
) -> str:
    """Return the name of a test of so many units."""
    span = span_of(units)
    lags = f"horizon {horizon}" if horizon else f"Bartlett weights over {counted(span, 'period')}"
    names = {
        "paired t": "paired t test",
        "cluster": "cluster-robust t test",
        "diebold-mariano": f"Diebold-Mariano test ({lags})",
        "block bootstrap": f"block bootstrap ({n_resamples:,} draws of blocks of {counted(span, 'period')})",
        "delong": "DeLong test" if ledger.dependence is None else f"DeLong test robust to {ledger.dependence}s",
        "influence": "influence-function test",
        "bootstrap": f"paired bootstrap ({n_resamples:,} draws)",
    }
    return f"{names[method]} {IMAGINED}" if imagined else names[method]


def _automatic(ledger: Ledger, measure: Measure) -> str:
    """Return the method that suits the measure and the cases."""
    if measure.instead is not None:
        return "none"
    if not measure.has_formula(ledger.classes):
        return "bootstrap"
    if measure.has_moments and ledger.uses_moments:
        return next(one for one, needs in SUITS.items() if needs == ledger.dependence)
    return "delong" if measure.by_outcome and ledger.censoring is None else "influence"


def _is_by_losses(ledger: Ledger, measure: Measure) -> bool:
    """Whether models are compared by the losses of single cases."""
    return measure.has_moments and measure.has_formula(ledger.classes)
