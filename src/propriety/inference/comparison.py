"""Paired comparison of models: the difference in a measure, its interval, and a test."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propriety.checks import check_level, check_resamples, fresh_seed
from propriety.errors import InputValueError
from propriety.inference.answers_ledger import as_measured, compared_answers
from propriety.inference.bootstrap import Drawing
from propriety.inference.comparison_methods import CompareMethod, method_for
from propriety.inference.comparison_words import comparison_words, method_in_words, rule_sentence
from propriety.inference.dependence import check_periods
from propriety.inference.estimates import (
    KNOWN_WEIGHTS,
    NEIGHBOURS,
    TOO_LITTLE,
    censoring_note,
    few,
    is_worth_too_little,
    too_narrow,
)
from propriety.inference.estimation import check_event
from propriety.inference.measures.measure import Measure
from propriety.inference.measures.reading import AnyMeasure, read_measure
from propriety.inference.paired_columns import difference_columns, pairs_of
from propriety.inference.paired_tests import (
    Paired,
    paired_by_bootstrap,
    paired_by_influence,
    paired_by_moments,
    paired_by_value,
    untested_pairs,
)
from propriety.inference.verdicts import Names, Pair, Standings, VerdictBasis, standings_of, verdicts_of
from propriety.ledger.ledger import Ledger
from propriety.ledger.sources import Data, open_ledger
from propriety.number_words import capitalized
from propriety.result import Floats, Result
from propriety.rules.families import BRIER
from propriety.tables.labels import Labels
from propriety.tables.reading import refuse_time
from propriety.tables.validation import Forecasts, Missing

RESAMPLES = 9999
TABLES_ONLY = "moments at another event rate, without the cases"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Comparison(Result):
    """Differences between models, one row per pair; see `compare`. `str` gives the results in plain words.

    Parameters
    ----------
    model, reference : ndarray of shape (pairs,)
        Names of the two models.
    difference : ndarray of shape (pairs,)
        Value of the model minus that of the reference.
    low, high, standard_error : ndarray of shape (pairs,)
        Interval of the difference at the level, for this pair by itself, and its standard error.
    statistic, df : ndarray of shape (pairs,)
        Difference divided by its error, and the degrees of freedom of its t distribution, NaN for a bootstrap.
    p_value, p_adjusted : ndarray of shape (pairs,)
        Two-sided p-value of no difference, and the same with Holm's adjustment for all pairs.
    verdict : ndarray of shape (pairs,)
        Result for the model relative to the reference: "better", "worse", "different" (for a measure with an ideal
        value, and for a function, which does not say whether higher is better), "not distinguishable", "same", "no
        spread", "infinite", "one unit", "too few events" (no case of one outcome, or for DeLong's test only one) or
        "not tested".
    standings : Standings
        The models by rank.
    models, measure, method, level
        Names in the order given, the measure, the test in words, and the level.
    n, units : int
        Number of cases, and of clusters or periods, or cases if there are neither.
    dropped : int
        Rows left out because of missing values.
    note : str
        Warnings: a rule that is not proper, or few clusters, events or non-events, with which intervals are too narrow
        and differences are found too often.
    n_resamples, seed : int, optional
        Number and seed of the draws of the bootstrap.
    """

    main_columns: ClassVar[tuple[str, ...]] = (
        "model",
        "reference",
        "difference",
        "low",
        "high",
        "p_adjusted",
        "verdict",
    )

    model: Names
    reference: Names
    difference: Floats
    low: Floats
    high: Floats
    standard_error: Floats
    statistic: Floats
    df: Floats
    p_value: Floats
    p_adjusted: Floats
    verdict: Names
    standings: Standings
    models: tuple[str, ...]
    measure: Measure
    method: str
    level: float
    n: int
    units: int
    dropped: int = 0
    note: str = ""
    n_resamples: int | None = None
    seed: int | None = None
    tested: VerdictBasis = field(metadata={"hidden": True})

    @property
    def pairs(self) -> list[Pair]:
        """The rows."""
        columns = (getattr(self, name).tolist() for name in Pair._fields)
        return [Pair(*values) for values in zip(*columns, strict=True)]

    def columns(self) -> Mapping[str, NDArray[Any]]:
        """Return one row per pair, with the number of cases."""
        columns = {name: value for name, value in self._fields().items() if isinstance(value, np.ndarray)}
        verdict = columns.pop("verdict")
        return columns | {"n": np.full(len(verdict), self.n), "verdict": verdict}

    def __str__(self) -> str:
        """Return the results in plain words: one sentence for each pair, or for each model if there are many pairs."""
        return "\n".join(comparison_words(self))

    def _facts(self) -> dict[str, Any]:
        facts: dict[str, Any] = {"models": list(self.models), "measure": self.measure.label}
        facts |= {"verdicts": self.verdict.tolist(), "level": self.level, "n": self.n}
        return facts | ({"dropped": self.dropped} if self.dropped else {})


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
) -> Comparison:
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
        Level of the intervals; models are distinguishable if the adjusted p-value is at most 1 - level.
    n_resamples, seed : int
        Number and seed of the draws; without a seed, a new one is drawn and stored in the result.

    Returns
    -------
    Comparison
        One row per pair; `standings` holds the models by rank.

    Notes
    -----
    Without any event, or non-event, nothing is tested. `note` warns of few events or clusters. Miscalibration,
    discrimination and the integrated calibration index have no test, because noise inflates them: compare the score. An
    interval is for its pair by itself, a verdict for all pairs together, so an interval may exclude 0 although the
    verdict is "not distinguishable". Formulas and simulations: `docs/reference/methods.md`.

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
    >>> print(compare(y, models, reference="sharp"))
    sharp is better than vague: its Brier score is 0.0250 lower, 95% CI 0.0183 to 0.0316.
    sharp is better than vaguer: its Brier score is 0.0350 lower, 95% CI 0.0267 to 0.0432.
    Paired t test with imagined outcomes on 1,200 cases; verdicts adjusted for 2 pairs.
    >>> nearly = 0.01 + 0.98 * truth[:60]
    >>> print(compare(y[:60], {"truth": truth[:60], "nearly": nearly}))  # doctest: +ELLIPSIS
    truth and nearly are not distinguishable on 60 cases: the difference in Brier score is ...
    To plan a study that can distinguish models, see propriety.plan.
    Paired t test with imagined outcomes on 60 cases.
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
) -> Comparison:
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
    if measure.instead is not None:
        paired = paired_by_value(ledger, measure, measure.instead)
    elif chosen == "bootstrap":
        paired = paired_by_bootstrap(ledger, measure, level, drawing)
    elif measure.has_moments and ledger.uses_moments:
        paired = paired_by_moments(ledger, measure, chosen, horizon, level, drawing, imagine=method == "auto")
    else:
        paired = paired_by_influence(ledger, measure, level, imagine=method == "auto")
    if is_worth_too_little(ledger):
        paired = untested_pairs(paired.values, paired.units, f"{TOO_LITTLE}, too few for a test")
    columns = difference_columns(ledger.models, paired, places, signs)
    tests = int(np.count_nonzero(np.isfinite(columns["statistic"])))
    events = None
    if ledger.labels is None:
        table = ledger.table(ledger.models[0])
        events = (table.n_events, table.n - table.n_events)
    tested = VerdictBasis(ledger.n, paired.units, ledger.dependence or "case", tests, level, measure, events)
    columns["verdict"] = verdicts_of(columns["difference"], columns["standard_error"], columns["p_adjusted"], tested)
    chosen = "none" if paired.untested else chosen
    drawn = chosen in ("block bootstrap", "bootstrap")
    return Comparison(
        **columns,
        standings=standings_of(ledger.models, paired.values, paired.found, columns, tested),
        models=ledger.models,
        measure=measure,
        method=method_in_words(
            chosen if tests else "none", horizon, drawing.n_resamples, tested, imagined=paired.imagined
        ),
        level=level,
        n=ledger.n,
        units=paired.units,
        dropped=ledger.dropped,
        note=_note(ledger, measure, paired, columns["statistic"], in_order=chosen != "bootstrap"),
        n_resamples=drawing.n_resamples if drawn else None,
        seed=drawing.seed if drawn else None,
        tested=tested,
    )


def _note(ledger: Ledger, measure: Measure, paired: Paired, statistic: Floats, *, in_order: bool) -> str:
    """Return warnings about an improper rule and intervals that are too narrow, or why there is no test."""
    said = [paired.untested]
    if np.isfinite(statistic).any():
        alone = ledger.dependence == "period" and not in_order
        if measure.of_answers:
            said += [next(filter(None, (measure.caveat(ledger.table(one)) for one in ledger.models)), "")]
        fewest = 0 if measure.of_answers else paired.fewest
        correlated = {"inflation": paired.inflation, "independent_periods": paired.independent_periods}
        said += [few(ledger, fewest=fewest, what="intervals", **correlated)]
        said += [too_narrow(NEIGHBOURS, "intervals") if alone else "", censoring_note(ledger)]
        fixed = ledger.prevalence is not None and ledger.dependence is None and in_order
        said += [too_narrow(f"based on {TABLES_ONLY}", "intervals")] if fixed and ledger.cases is None else []
        if ledger.censoring is not None and ledger.censoring.is_estimated:
            said += [f"draws {KNOWN_WEIGHTS}" if not in_order else f"intervals {KNOWN_WEIGHTS}" * ledger.uses_moments]
    told = [f"{capitalized(one)}." for one in said if one]
    return " ".join(filter(None, (rule_sentence(measure, ledger.classes), *told)))
