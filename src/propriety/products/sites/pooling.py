"""`pool_sites`: measures of every site of a ledger, their mean over sites, and their range in a further site."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, get_args

import numpy as np

from propriety import checks
from propriety.checks import check_level, check_resamples, fresh_seed
from propriety.errors import InputTypeError, InputValueError, Wording
from propriety.inference.between_groups import (
    RATIOS,
    Methods,
    Pooled,
    pooled_estimates,
    pooled_events,
    rows_between,
)
from propriety.inference.bootstrap import Drawing
from propriety.inference.differing_groups import alike_events
from propriety.inference.estimation import estimate_or_note
from propriety.inference.events_by_group import EventsByGroup
from propriety.inference.finding import Finding, Findings, check_keys_of
from propriety.inference.group_rows import texts_of_labels
from propriety.inference.measures.line import CalibrationSlope
from propriety.inference.measures.measure import Measure
from propriety.inference.measures.ranking import AreaUnderRoc
from propriety.inference.measures.ratios import ObservedExpected
from propriety.inference.measures.reading import AnyMeasure, read_measures
from propriety.inference.outcome_counts import counts_of
from propriety.inference.random_effects import HeterogeneityMethod, PredictionMethod
from propriety.inference.verdict import holm, p_of_limits, with_verdict
from propriety.ledger.ledger import Ledger
from propriety.ledger.private_ledger import PrivateLedger
from propriety.products.sites.site_errors import SiteCounts, site_errors
from propriety.rules.families import Brier

USUAL = (ObservedExpected(), CalibrationSlope(), AreaUnderRoc(), Brier())


def pool_sites(
    ledger: Ledger,
    *,
    by: str | None = None,
    measures: Sequence[AnyMeasure] = USUAL,
    method: HeterogeneityMethod = "paule-mandel",
    prediction: PredictionMethod = "profile",
    level: float = 0.95,
    n_resamples: int = 1000,
    seed: int | None = None,
) -> Findings:
    r"""Summarize measures over the sites of a ledger: a random-effects meta-analysis.

    The true value :math:`\theta_i` of site i is a draw from a distribution with mean :math:`\mu` and standard deviation
    :math:`\tau`, and its estimate a draw around :math:`\theta_i`. Observed/expected is pooled by the law of counts: the
    variance of a site follows from its forecasts, so that sites with few events, or none, count as they should. The
    area under the ROC curve is analysed on the logit scale. Tables and moments of the sites are all that is needed, so
    hospitals can exchange ledgers instead of patients: add the ledgers, each with its site as a key.

    Parameters
    ----------
    ledger : Ledger
        A ledger from `propriety.condense`, with a key of sites.
    by : str, optional
        The key whose labels are the sites, by default the only one. All other keys are added up.
    measures : sequence of measures or rules
        By default observed/expected, the calibration slope, the area under the ROC curve and the Brier score.
    method : {"paule-mandel", "reml", "dersimonian-laird"}
        Estimator of the variance between sites.
    prediction : {"profile", "higgins"}
        Prediction interval: with or without allowance for the uncertainty of the variance between sites.
    level : float
        Level of all intervals.
    n_resamples, seed : int, optional
        Number and seed of the draws, for measures without a formula.

    Returns
    -------
    Findings
        For each model and measure the value of all cases together, the "mean of groups" with the limits of Hartung and
        Knapp, the range of a "further group", "heterogeneity" (I2 with its limits and the test of equal sites) and
        "tau". Then the value of each site; `extra["weight"]` is its weight in the mean.

    Notes
    -----
    Sites without a value or an error of a measure, such as the area under the ROC curve without events, are left out of
    its mean, and a note names them. The limits of Hartung and Knapp can be very narrow if the estimates of a few sites
    agree by chance. Formulas and simulations: `docs/reference/methods.md`.

    References
    ----------
    Debray et al. (2019), doi:10.1177/0962280218785504; Riley, Higgins & Deeks (2011), doi:10.1136/bmj.d549;
    Veroniki et al. (2016), doi:10.1002/jrsm.1164, for the variance between sites.

    Examples
    --------
    >>> import numpy as np, propriety as pr
    >>> rng = np.random.default_rng(1)
    >>> site, p = np.repeat(list("abcdef"), 300), rng.beta(2, 5, 1800)
    >>> y = rng.random(1800) < p
    >>> found = pool_sites(pr.condense(y, p, by={"site": site}), measures=["observed_expected"])
    >>> print(found.where(keys={}))
    forecast  observed/expected                      0.99 (0.92 to 1.06)            no error found  ·
    forecast  observed/expected (mean of groups)     0.99 (0.90 to 1.08)            no error found  ·
    forecast  observed/expected (further group)      0.83 to 1.15
    forecast  observed/expected (I² between groups)  0.00 (0.00 to 0.75), p = 0.63  no error found  ·
    forecast  observed/expected (τ between groups)   0.00 (0.00 to 0.15)
    """
    check_level(level)
    check_resamples(n_resamples)
    checks.choice(method, "method", get_args(HeterogeneityMethod))
    checks.choice(prediction, "prediction", get_args(PredictionMethod))
    asked = read_measures(measures, needed=True)
    for one in asked:
        if one.instead is not None:
            law = f"cannot contain the {one.label}: noise inflates it at every site, so its mean over sites is too high"
            raise InputValueError(law, argument="measures", hint="pass the ledger to propriety.estimate.")
    sites = _Sites.of(ledger, by, (method, prediction), level, Drawing(n_resamples, fresh_seed(seed)))
    rows = [list(sites.rows(model, measure)) for model in ledger.models for measure in asked]
    together = [row for own in rows for row in own if not row.keys]
    alone = [row for own in rows for row in own if row.keys]
    return Findings.of(map(with_verdict, [*together, *alone]), dropped=ledger.dropped)


class _Sites(NamedTuple):
    """The ledger with the sites as its only key, the ledger of each, and what is asked of them."""

    whole: Ledger
    parts: list[Ledger]
    methods: Methods
    level: float
    drawing: Drawing

    @classmethod
    def of(cls, ledger: object, by: str | None, methods: Methods, level: float, drawing: Drawing) -> _Sites:
        """Add up all other keys of a ledger."""
        whole = by_site(ledger, by)
        places = np.arange(len(whole.index))
        return cls(whole, [whole.at_entries(places == place) for place in places], methods, level, drawing)

    def rows(self, model: str, measure: Measure) -> Iterator[Finding]:
        """Yield the rows of a measure without verdicts: all cases, over sites, and each site."""
        whole = self._estimated(self.whole, model, measure)
        own = [self._estimated(part, model, measure) for part in self.parts]
        pooled, p = self._pooled(model, measure, own)
        yield whole
        facts: dict[str, Any] = {"measure": measure, "model": model, "level": self.level}
        yield from rows_between(pooled, p=p, **facts, n=whole.n, events=whole.events, enough=whole.enough)
        (key,) = self.whole.index.names
        if (ideal := measure.ideal) is not None:
            own = [replace(row, p=p_of_limits(row, ideal)) for row in own]
        adjusted = holm(np.array([row.p for row in own])).tolist()
        columns = self.whole.index.column(key), own, pooled.weight.tolist(), adjusted
        for label, row, weight, p_adjusted in zip(*columns, strict=True):
            yield replace(row, keys={key: label}, extra={"weight": weight}, p_adjusted=p_adjusted)

    def _estimated(self, ledger: Ledger, model: str, measure: Measure) -> Finding:
        found = estimate_or_note(ledger, model, measure, level=self.level, drawing=self.drawing)
        event = ledger.events[0]
        events = None if ledger.labels is not None else ledger.table(model, event).n_events
        return replace(found, enough=counts_of(ledger, model, event).enough(measure.key), events=events)

    def _pooled(self, model: str, measure: Measure, own: Sequence[Finding]) -> tuple[Pooled, float | None]:
        """Return the summary of a measure, and the p-value of equal sites if it is not that of the summary."""
        (key,) = self.whole.index.names
        labels, classes = texts_of_labels(self.whole.index.column(key)), self.whole.classes
        if measure.key in RATIOS and self.whole.labels is None:
            events = EventsByGroup.of(self.whole, model)
            pooled = pooled_events(measure, events, labels, level=self.level, methods=self.methods)
            return pooled, alike_events(events, pooled.weight > 0.0).p
        values, counts = np.array([row.value for row in own]), SiteCounts.of(self.parts, model)
        errors = site_errors(measure, own, counts)
        options: dict[str, Any] = {"level": self.level, "methods": self.methods, "classes": classes}
        pooled = pooled_estimates(measure, values, errors, labels, **options)
        return pooled._replace(notes=(*pooled.notes, *counts.notes(pooled.weight > 0.0))), None


def by_site(ledger: object, by: str | None) -> Ledger:
    """Return the ledger with the sites as its only key."""
    if not isinstance(ledger, Ledger):
        hint = Wording('pass propriety.condense(y_true, forecasts, {by=}{{"site": site}}).')
        if isinstance(ledger, PrivateLedger):
            hint = Wording("pass its `ledger`; standard errors then ignore suppression and noise.")
        raise InputTypeError("must be a Ledger", argument="ledger", got_type=ledger, hint=hint)
    names = ledger.index.names
    if by is None and len(names) != 1:
        law = "must name the key of the sites" if names else "must name a key of the sites, and the ledger has none"
        raise InputValueError(law, argument="by", offender=f"the keys are {', '.join(names)}" if names else "")
    by = names[0] if by is None else by
    ledger.index.place(by)
    check_keys_of([by])
    found = ledger.over(*(name for name in names if name != by))
    if len(found.index) < 2:
        raise InputValueError("must be a key with two sites or more", argument="by", offender=f"{by!r} has one label")
    return found
