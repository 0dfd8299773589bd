"""Paired comparison of models: the difference in a measure, its interval, and a test."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from propriety.checks import check_level, check_resamples, fresh_seed
from propriety.errors import InputValueError
from propriety.inference.answers_ledger import as_measured, compared_answers
from propriety.inference.bootstrap import Drawing
from propriety.inference.comparison_methods import CompareMethod, method_for, method_name
from propriety.inference.dependence import check_periods
from propriety.inference.estimates import FEWEST_WORTH, ROUNDING, censoring_notes, few, is_worth_too_little
from propriety.inference.estimation import check_event
from propriety.inference.finding import Finding, Findings
from propriety.inference.measures.measure import Measure
from propriety.inference.measures.reading import AnyMeasure, read_measure
from propriety.inference.notes import Note
from propriety.inference.outcome_counts import counts_of, no_model_score
from propriety.inference.paired_columns import difference_columns, pairs_of
from propriety.inference.paired_tests import (
    Paired,
    paired_by_bootstrap,
    paired_by_influence,
    paired_by_moments,
    paired_by_value,
    untested_pairs,
)
from propriety.inference.verdict import margin_of, with_verdict
from propriety.ledger.ledger import Ledger
from propriety.ledger.sources import Data, open_ledger
from propriety.rules.families import BRIER
from propriety.tables.labels import Labels
from propriety.tables.reading import refuse_time
from propriety.tables.validation import Forecasts, Missing

RESAMPLES = 9999
DRAWN = ("block bootstrap", "bootstrap")
FEWEST_OF_OUTCOME = 2  # A single case of one outcome has no variance.


def compare(  # noqa: PLR0913  (the data, what their cases share, and the test)
    y_true: Data,
    forecasts: Forecasts | None = None,
    measure: AnyMeasure = BRIER,
    *,
    outcome: str | None = None,
    reference: str | None = None,
    cluster: ArrayLike | None = None,
    period: ArrayLike | None = None,
    method: CompareMethod = "auto",
    horizon: int | None = None,
    level: float = 0.95,
    n_resamples: int = RESAMPLES,
    seed: int | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Hashable | None = None,
    labels: Labels | None = None,
    missing: Missing = "raise",
    time: None = None,
) -> Findings:
    r"""Compare models on the same cases: the difference in a measure, its interval, and a test.

    With :math:`d_i` the loss of the model minus that of the reference in case :math:`i`, the difference in a mean score
    is the weighted mean :math:`\bar d`, tested by :math:`t = \bar d / s`. The error :math:`s` allows for the
    correlation between cases: ``"paired t"`` for independent ones, ``"cluster"`` with `cluster`, ``"diebold-mariano"``
    or ``"block bootstrap"`` with `period`, if neighbouring periods are correlated. Other measures are compared by
    DeLong's test, by their influence function, or by draws. ``method="auto"`` also imagines what the sample may lack.

    Parameters
    ----------
    y_true, forecasts, outcome, cluster, sample_weight, pos_label, labels, missing, time
        The cases, with two models or more; see `propriety.cases`. A ledger replaces all data. Outcomes by model ("was
        its own answer right?") need a measure of abstention, which pairs answers to the same question.
    measure : Rule, measure or callable
        A rule for its mean score, a measure, or any function of a ForecastTable. A function does not say whether higher
        is better, so that no model is called better; a class with `higher_is_better` does.
    reference : str, optional
        The model with which the others are compared; by default every pair is compared.
    period : array-like of shape (n,), or str with a frame, optional
        Numbers or dates, in any order, treated as evenly spaced. Cases of one period count as one observation.
    method : {"auto", "student", "paired t", "cluster", "diebold-mariano", "block bootstrap", "bootstrap"}
        By default the first that fits `cluster` and `period`, with imagined outcomes. A test that is named is the one
        of textbooks, and "student" the first that fits; "bootstrap" draws cases, clusters or periods.
    horizon : int, optional
        Number of steps ahead of the forecasts, for "diebold-mariano".
    level : float
        Level of the intervals; a difference is shown if its adjusted p-value is at most 1 - level.
    n_resamples, seed : int
        Number and seed of the draws; without a seed, a new one is drawn and stored in the result.

    Returns
    -------
    Findings
        A row for each model (`ranks()`), and for each pair (`differences`) the value of `model` less that of `against`.

    Notes
    -----
    A verdict is **good** or **bad** if the model is shown to be better or worse, and **small** if by less than matters:
    0.5% of the score of the constant event rate, or .01 of an AUC. If nothing is shown, it is **no error found** if the
    limits exclude what matters, else **too few**. An interval is for its pair by itself, a verdict for all pairs, so an
    interval may exclude 0 although nothing is shown. Formulas and simulations: `docs/reference/methods.md`.

    References
    ----------
    Diebold & Mariano (1995), doi:10.1080/07350015.1995.10524599; Cameron & Miller (2015), doi:10.3368/jhr.50.2.317, for
    clusters; Holm (1979), jstor:4615733; Mogstad, Romano, Shaikh & Wilhelm (2024), doi:10.1093/restud/rdad006.

    Examples
    --------
    >>> import numpy as np
    >>> generator = np.random.default_rng(1)
    >>> truth = generator.random(1200)
    >>> y = generator.random(1200) < truth
    >>> models = {"sharp": truth, "vague": 0.25 + 0.5 * truth, "vaguer": 0.3 + 0.4 * truth}
    >>> found = compare(y, models, reference="sharp")
    >>> print(found)
    sharp   Brier score  0.158 (0.147 to 0.170)
    vague   Brier score  0.183 (0.176 to 0.191)
    vaguer  Brier score  0.193 (0.187 to 0.200)
    sharp is better than vague: its Brier score is 0.0250 lower, 95% CI 0.0183 to 0.0316.
    sharp is better than vaguer: its Brier score is 0.0350 lower, 95% CI 0.0267 to 0.0432.
    Paired t test with imagined outcomes on 1,200 cases; verdicts adjusted for 2 pairs.
    >>> print(found.differences[0])
    vague less sharp: Brier score: 0.0250 (0.0183 to 0.0316), bad
    >>> found.differences.verdict.tolist(), found.ranks().model.tolist()
    (['bad', 'bad'], ['sharp', 'vague', 'vaguer'])
    """
    asked = read_measure(measure)
    check_level(level)
    check_resamples(n_resamples)
    refuse_time(time)
    ledger = open_ledger(
        y_true,
        forecasts,
        outcome=outcome,
        cluster=cluster,
        period=period,
        sample_weight=sample_weight,
        pos_label=pos_label,
        labels=labels,
        missing=missing,
        fewest=2,
        by_model=True,
    )
    ledger, asked = compared_answers(ledger, asked)
    drawing = Drawing(n_resamples, fresh_seed(seed))
    return compare_of(ledger, asked, reference=reference, method=method, horizon=horizon, level=level, drawing=drawing)


def compare_of(
    ledger: Ledger,
    measure: Measure,
    *,
    reference: str | None = None,
    method: CompareMethod = "auto",
    horizon: int | None = None,
    level: float = 0.95,
    drawing: Drawing,
) -> Findings:
    """Compare the models of a ledger; see `compare`."""
    ledger = as_measured(ledger, measure)
    check_event(ledger, measure)
    chosen = method_for(method, ledger, measure)
    if horizon is not None and chosen != "diebold-mariano":
        law = 'horizon is for method="diebold-mariano"'
        raise InputValueError(law, offender=f"the method is {chosen!r}")
    if ledger.dependence == "period":
        check_periods(ledger.periods(), horizon)
    places, signs = pairs_of(ledger.models, reference)
    imagine = method == "auto"
    if measure.instead is not None:
        paired = paired_by_value(ledger, measure, measure.instead)
    elif chosen == "bootstrap":
        paired = paired_by_bootstrap(ledger, measure, level, drawing)
    elif measure.has_moments and ledger.uses_moments:
        paired = paired_by_moments(ledger, measure, chosen, horizon, level, drawing, imagine=imagine)
    else:
        paired = paired_by_influence(ledger, measure, level, imagine=imagine)
    if is_worth_too_little(ledger):
        paired = untested_pairs(paired.values, paired.units, Note("light", {"fewest": FEWEST_WORTH}))
    columns = difference_columns(ledger.models, paired, places, signs)
    how = ""
    if np.isfinite(columns["t"]).any():
        resamples = drawing.n_resamples
        how = method_name(chosen, ledger, paired.units, horizon, resamples, imagined=paired.imagined)
    facts: dict[str, Any] = {
        "measure": measure,
        "level": level,
        "n": ledger.n,
        "events": ledger.table(ledger.models[0]).n_events if ledger.labels is None else None,
        "units": None if ledger.dependence is None else paired.units,
        "no_model": no_model_score(ledger, measure),
    }
    rows = [*_values(ledger, paired, facts)]
    is_drawn = how != "" and chosen in DRAWN
    drawn = {"n_resamples": drawing.n_resamples, "seed": drawing.seed} if is_drawn else {}
    unit = {} if ledger.dependence is None else {"unit": ledger.dependence}
    cautions = tuple(_cautions(ledger, measure, paired, chosen))
    for values in zip(*(column.tolist() for column in columns.values()), strict=True):
        own = dict(zip(columns, values, strict=True))
        same, t, df = own.pop("same"), own.pop("t"), own.pop("df")
        row = Finding(**own, **facts, method=how, extra={"t": t, "df": df, **unit, **drawn})
        about = Note("same") if same else _why_untested(row, ledger, paired)
        notes = (*_improper(measure, ledger.classes), *([] if about is None else [about]))
        rows.append(with_verdict(replace(row, notes=notes if math.isnan(t) else notes + cautions)))
    return Findings.of(rows, dropped=ledger.dropped)


def _values(ledger: Ledger, paired: Paired, facts: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield the value of each model."""
    value = paired.values[: len(ledger.models)]
    low, high, error = (getattr(paired.found, name)[: len(value)] for name in ("low", "high", "standard_error"))
    flat = error * math.sqrt(paired.units) <= ROUNDING * np.abs(value)
    columns = {
        "value": value,
        "low": np.where(flat, np.nan, low),
        "high": np.where(flat, np.nan, high),
        "error": np.where(flat, 0.0, error),
    }
    for place, model in enumerate(ledger.models):
        own: dict[str, Any] = {name: float(column[place]) for name, column in columns.items()}
        notes = () if facts["measure"].instead is None else (Note("value-only"),)
        row = Finding(model=model, notes=notes, **facts, **own)
        if ledger.labels is None and margin_of(row) is not None:
            row = replace(row, enough=counts_of(ledger, model, ledger.events[0]).enough(row.measure.key))
        yield with_verdict(row)


def _why_untested(row: Finding, ledger: Ledger, paired: Paired) -> Note | None:
    """Return why a difference is not tested; None if it is, or if nothing more is known."""
    if not math.isfinite(row.value):
        values = dict(zip(ledger.models, np.isinf(paired.values).tolist(), strict=False))
        return Note("infinite", {"both": values[row.model] and values[str(row.against)]})
    if paired.units == 1:
        return Note("one-unit", {"unit": ledger.dependence or "case"})
    if not math.isnan(row.p):
        return None
    if row.events is not None and (scarce := min(row.events, row.n - row.events)) < FEWEST_OF_OUTCOME:
        return Note("one-outcome", {"number": scarce, "outcome": "event" if scarce == row.events else "non-event"})
    return Note("no-spread", {"unit": ledger.dependence or "case"}) if row.error == 0.0 else paired.untested


def _improper(measure: Measure, classes: int | None) -> list[Note]:
    """Return a note on a rule that is not proper, or not declared so; nothing for a proper rule or another measure."""
    if measure.sign != 1.0 or measure.rule is None:
        return []
    proper = measure.rule.properties(classes).proper
    return [] if proper else [Note("improper", {"rule": repr(measure.rule), "declared": proper is not None})]


def _cautions(ledger: Ledger, measure: Measure, paired: Paired, method: str) -> Iterator[Note]:
    """Yield why the limits of differences may be too narrow."""
    in_order, several = method != "bootstrap", {"limits": "intervals"}
    correlated = {"inflation": paired.inflation, "independent_periods": paired.independent_periods}
    fewest = 0 if measure.of_answers else paired.fewest
    notes = [measure.caveat(ledger.table(model)) for model in ledger.models] if measure.of_answers else []
    notes = [*[note for note in notes if note][:1], *few(ledger, fewest=fewest, **correlated)]
    notes += [Note("neighbours")] * (ledger.dependence == "period" and not in_order)
    for note in filter(None, (*notes, *censoring_notes(ledger))):
        yield Note(note.code, {**note.parts, **several})
    if ledger.prevalence is not None and ledger.dependence is None and in_order and ledger.cases is None:
        yield Note("sums-only")
    if ledger.censoring is not None and ledger.censoring.is_estimated and (ledger.uses_moments or not in_order):
        yield Note("known-weights", {"what": "intervals" if in_order else "draws"})
