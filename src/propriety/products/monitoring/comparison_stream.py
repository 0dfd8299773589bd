"""Monitoring a model against a reference: a test and bounds that are valid after every case."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from propriety.checks import check_level
from propriety.errors import ImproperRuleError, InputValueError, Wording
from propriety.inference.estimates import counted
from propriety.products.monitoring.betting import MeanBets, bet_on_mean
from propriety.products.monitoring.e_process import (
    EProcess,
    anytime_p_values,
    first_reached,
    log_threshold,
    refuse_table,
)
from propriety.result import Floats
from propriety.rules.families import BRIER
from propriety.rules.rule import Rule, check_rule
from propriety.rules.scoring import losses_of
from propriety.tables.arrays import PAIR
from propriety.tables.cases import Cases
from propriety.tables.labels import Labels
from propriety.tables.reading import read_beside
from propriety.tables.validation import read_cases, read_rates

Standing: TypeAlias = Literal["better", "worse", "not distinguishable"]

RANGE_ROUNDING = 1e-9  # A loss outside its range by at most this share of the range is rounding error.


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class MonitoredComparison(EProcess):
    """Evidence after each case that a model is worse than a reference; see `monitor_comparison`.

    Parameters
    ----------
    log_e_value, claim, level, method, n, dropped, note
        As in `EProcess`, against the claim that the model is no worse than the reference.
    p_value : ndarray of shape (n,)
        Anytime-valid p-value of that claim, doubled because both signs are monitored.
    alarm : int, optional
        Number of cases after which `low` was first above 0; None if it never was.
    difference : ndarray of shape (n,)
        Mean loss of the model so far minus that of the reference.
    low, high : ndarray of shape (n,)
        Confidence sequence: with a probability of at least `level`, the expected difference so far lies between them at
        all times.
    log_e_better : ndarray of shape (n,)
        Natural logarithm of the e-value against the claim that the model is no better than the reference.
    better_at : int, optional
        Number of cases after which `high` was first below 0.
    rule : str
        The rule.
    """

    difference: Floats
    low: Floats
    high: Floats
    log_e_better: Floats
    better_at: int | None
    rule: str
    scored_by: Rule = field(metadata={"hidden": True})
    classes: int | None = field(metadata={"hidden": True})
    bets: tuple[MeanBets, MeanBets] = field(metadata={"hidden": True})
    total: float = field(metadata={"hidden": True})

    @property
    def threshold(self) -> float:
        """The e-value that raises the alarm: there the confidence sequence excludes 0 on one side."""
        return 2.0 * math.exp(log_threshold(self.level))

    @property
    def standing(self) -> Standing:
        """Result for the average over all cases so far: on which side of 0 the confidence sequence is."""
        return "worse" if self.low[-1] > 0.0 else "better" if self.high[-1] < 0.0 else "not distinguishable"

    @property
    def verdict(self) -> str:
        """The result of the stream in words."""
        cases = counted(self.n, "case")
        turns = sorted((at, word) for at, word in ((self.alarm, "worse"), (self.better_at, "better")) if at is not None)
        if not turns:
            return f"No alarm in {cases}."
        (at, word), *later = turns
        if not later and self.standing == word:
            call = "alarm" if word == "worse" else "clear"
            return f"The model is {word} than the reference: {call} after {at:,} of {cases}."
        # Each statement is true for the average up to then.
        first = f"On average over the first {counted(at, 'case')} the model was {word} than the reference"
        first += "".join(f", over the first {then:,} it was {other}" for then, other in later)
        now = f"it is {self.standing}" if self.standing != "not distinguishable" else "they are not distinguishable"
        return f"{first}, and over all {self.n:,} {now}."

    def extend(self, y_true: object, y_proba: object = None, reference: object = None) -> MonitoredComparison:
        """Return the whole stream, continued by further cases; the options do not change.

        The result is the same as for all cases at once.

        Examples
        --------
        >>> y, p = [1, 0, 1, 1] * 25, [0.4, 0.6, 0.3, 0.2] * 25
        >>> monday = monitor_comparison(y, p, 0.75)
        >>> tuesday = monday.extend(y, p, 0.75)
        >>> tuesday.n, tuesday.alarm == monitor_comparison(y + y, p + p, 0.75).alarm
        (200, True)
        """
        cases = _read_pair(y_true, y_proba, reference, self.options)
        return _compared(cases, self.scored_by, self.level, self.options, self)


def monitor_comparison(
    y_true: ArrayLike | Cases,
    y_proba: ArrayLike | None = None,
    reference: ArrayLike | None = None,
    *,
    rule: Rule = BRIER,
    level: float = 0.95,
    pos_label: Hashable | None = None,
    labels: Labels | None = None,
) -> MonitoredComparison:
    r"""Test, after every case, whether a model is worse than a reference.

    Let :math:`d_t` be the loss of the model minus that of the reference in case t. The claim is that the model is no
    worse on average: at no time is

    .. math:: \Delta_t = \frac{1}{t} \sum_{i \le t} E(d_i \mid \text{the cases before } i)

    positive. Bets on the sign of :math:`d_t` bound :math:`\Delta_t` on both sides at all times at once. An alarm is
    raised when the lower bound is above 0. With a probability of at least the level, no statement is ever false.

    Parameters
    ----------
    y_true : array-like of shape (n,), or Cases
        Outcomes, in the order in which they became known. Cases replace outcomes and forecasts; of two models, the
        second is the reference.
    y_proba : array-like of shape (n,) or (n, K)
        Forecasts of the model.
    reference : array-like of the shape of `y_proba`, float, or array-like of shape (K,)
        Forecasts to compare with, or a rate or K rates. A rate must have been known before the stream started.
    rule : Rule
        Any proper rule with a finite range.
    level : float
        One minus the probability that a bound is ever wrong, for outcomes that become known one after another.
    pos_label, labels
        As in `propriety.mean_score`.

    Returns
    -------
    MonitoredComparison
        One row per case; `extend` continues it.

    Notes
    -----
    A case must be added after its outcome is known and before that of the next is. Outcomes that become known together
    must be independent given their forecasts, and in an order fixed in advance. **If cases of one time are correlated,
    false alarms are more likely**: monitor one case of each time, such as one station, and of forecasts h steps ahead
    every h-th. To evaluate a period by itself, such as that after a new version, start a new stream. With rare events,
    `BoundedBrier` or `BoundedLog` detect differences sooner. Method: `docs/reference/methods.md`.

    References
    ----------
    Choe & Ramdas (2024), doi:10.1287/opre.2021.0792, for the claim and confidence sequences; Waudby-Smith & Ramdas
    (2024), doi:10.1093/jrsssb/qkad009, for betting; Henzi & Ziegel (2022), doi:10.1093/biomet/asab047, for e-values of
    forecasts, with its correction in Biometrika 109, page 1181, for forecasts several steps ahead.

    Examples
    --------
    >>> from propriety.products.monitoring.comparison_stream import monitor_comparison
    >>> y = [1, 0, 1, 1, 0] * 40
    >>> result = monitor_comparison(y, [0.3, 0.6, 0.4, 0.2, 0.5] * 40, [0.6, 0.4, 0.7, 0.6, 0.3] * 40)
    >>> result.verdict
    'The model is worse than the reference: alarm after 19 of 200 cases.'
    >>> result.difference[-1].round(3), result.low[-1].round(3), result.high[-1].round(3)
    (np.float64(0.288), np.float64(0.227), np.float64(0.367))
    """
    check_level(level)
    options = {"pos_label": pos_label, "labels": labels}
    cases = _read_pair(y_true, y_proba, reference, options)
    return _compared(cases, rule, level, options_of(cases) if isinstance(y_true, Cases) else options, None)


def _compared(
    cases: Cases,
    rule: Rule,
    level: float,
    options: Mapping[str, Any],
    before: MonitoredComparison | None,
) -> MonitoredComparison:
    """Bet on both signs of the differences, starting from the end of the previous stream."""
    classes = cases.classes
    if before is not None and classes != before.classes:
        law = "a stream must be continued with forecasts of the same kind"
        told = ["one event" if count is None else f"{count} classes" for count in (before.classes, classes)]
        raise InputValueError(law, offender=f"it forecasts {told[0]}, and these cases {told[1]}")
    best, worst = range_of(rule, classes)
    width = worst - best
    model, against = (_losses(cases, name, rule, best, worst) for name in cases.models)
    share = (model - against) / width
    two_sided = log_threshold(level) + math.log(2.0)
    bets, seen, total = (MeanBets.start(), MeanBets.start()), 0, 0.0
    if before is not None:
        bets, seen, total = before.bets, before.n, before.total
    worse, low, worse_bets = bet_on_mean(share, bets[0], two_sided)
    better, high, better_bets = bet_on_mean(-share, bets[1], two_sided)
    sums = np.cumsum(np.append(total, share))[1:]
    columns = {
        "log_e_value": worse,
        "log_e_better": better,
        "difference": width * sums / np.arange(seen + 1, seen + 1 + len(share)),
        "low": width * low,
        "high": -width * high,
    }
    if before is not None:
        columns = {name: np.append(getattr(before, name), values) for name, values in columns.items()}
    return MonitoredComparison(
        **columns,
        p_value=np.minimum(2.0 * anytime_p_values(columns["log_e_value"]), 1.0),
        alarm=first_reached(columns["low"] > 0.0),
        better_at=first_reached(columns["high"] < 0.0),
        claim="the model is no worse than the reference",
        level=level,
        method="constant bets on the difference of losses",
        rule=repr(rule),
        n=seen + len(share),
        dropped=cases.dropped + (0 if before is None else before.dropped),
        options=options,
        scored_by=rule,
        classes=classes,
        bets=(worse_bets, better_bets),
        total=float(sums[-1]),
    )


def _read_pair(y_true: object, y_proba: object, reference: object, options: Mapping[str, Any]) -> Cases:
    """Read both forecasts, for the cases that both have."""
    refuse_table(y_true)
    if isinstance(y_true, Cases):
        return _pair_of(read_cases(y_true, y_proba), reference)
    model = read_cases(y_true, y_proba, **options)
    rates = read_rates(reference, model)
    if rates is not None:
        reference = np.broadcast_to(rates, (len(model) + model.dropped, *rates.shape))
    return read_cases(y_true, {"y_proba": y_proba, "reference": reference}, **options)


def _pair_of(cases: Cases, reference: object) -> Cases:
    """Return cases with the forecasts of two models, or of one and a reference."""
    if len(cases.models) != (PAIR if reference is None else 1):
        law = "must be those of two models, of which the second is the reference, or of one beside {reference=}"
        raise InputValueError(Wording(law), argument="forecasts", offender=f"got {list(cases.models)}")
    if reference is None:
        return cases
    (forecast,) = cases.forecasts.values()
    against = read_rates(reference, cases)
    if against is None:
        read = read_beside(cases, reference).checked()
        (against,) = read.forecasts.values()
        if len(read) != len(cases) or against.shape != forecast.shape:
            law = "must be a rate, one rate per class, or a forecast of each of the {cases:,} cases"
            raise InputValueError(Wording(law, cases=len(cases)), argument="reference")
    pair = {"y_proba": forecast, "reference": np.broadcast_to(against, forecast.shape)}
    return replace(cases, forecasts=pair, arguments={name: name for name in pair})


def options_of(cases: Cases) -> dict[str, Any]:
    """Return the labels with which a stream is continued that began with cases."""
    labels = cases.sides if cases.labels is None else cases.labels
    plain = labels == tuple(range(len(labels)))
    return {"pos_label": cases.pos_label if plain else None, "labels": None if plain else labels}


def range_of(rule: Rule, classes: int | None) -> tuple[float, float]:
    """Return the best and the worst loss of a proper rule; both must be finite."""
    check_rule(rule)
    claims = rule.properties(classes)
    if not claims.proper:
        law = f"monitoring needs a rule that is declared proper, or honest forecasts may seem worse; got {rule!r}"
        raise ImproperRuleError(law, hint="propriety.audit checks whether it is proper.")
    if claims.best is None or claims.worst is None or not math.isfinite(claims.worst - claims.best):
        law = f"monitoring needs a rule with a finite range, because the bets rely on it; got {rule!r}"
        hint = "use Brier(), or BoundedLog(low, high) over the thresholds at which somebody acts."
        raise InputValueError(law, hint=hint)
    return claims.best, claims.worst


def _losses(cases: Cases, model: str, rule: Rule, best: float, worst: float) -> Floats:
    """Return the loss of each case after checking that it is in the range on which the bets rely."""
    losses = losses_of(cases, rule, model)
    slack = RANGE_ROUNDING * (worst - best)
    outside = ~((losses >= best - slack) & (losses <= worst + slack))
    if outside.any():
        law = f"the losses of {rule!r} must lie in the range that it declares, {best:g} to {worst:g}"
        offender = f"one is {float(losses[outside][0])!r}"
        raise InputValueError(law, offender=offender, hint="propriety.audit checks the declaration.")
    return losses
