"""`meta_analysis`: measures of every site of a ledger, their mean over sites, and their range in a new site."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from propriety import checks
from propriety.checks import check_level, check_resamples, fresh_seed
from propriety.errors import InputTypeError, InputValueError, Wording
from propriety.inference.bootstrap import Drawing
from propriety.inference.estimates import Estimate
from propriety.inference.estimation import estimate_or_note
from propriety.inference.group_rows import texts_of_labels
from propriety.inference.measures.line import CalibrationSlope
from propriety.inference.measures.measure import Measure
from propriety.inference.measures.ranking import AreaUnderRoc
from propriety.inference.measures.ratios import ObservedExpected
from propriety.inference.measures.reading import AnyMeasure, read_measure, read_measures
from propriety.inference.random_effects import HeterogeneityMethod, PredictionMethod, RandomEffects, random_effects
from propriety.ledger.ledger import Ledger
from propriety.ledger.private_ledger import PrivateLedger
from propriety.number_words import capitalized, counted, number, p_value_words, percent
from propriety.products.sites.site_errors import SiteCounts, ratio_note, site_errors
from propriety.result import Floats, Names, Result
from propriety.rules.families import Brier

USUAL = (ObservedExpected(), CalibrationSlope(), AreaUnderRoc(), Brier())
FEWEST_SITES = 5  # With fewer, the variance between sites is hardly known, and `note` says so.


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class SiteEstimates(Result):
    """The estimates of the sites of a meta-analysis, one row per model, measure and site.

    Parameters
    ----------
    model, measure, site : ndarray of str of shape (rows,)
        The model, the key of the measure, and the label of the site.
    n, events : ndarray of int of shape (rows,)
        Number of cases, and of events among them; for classes `events` is None.
    value, low, high, standard_error : ndarray of shape (rows,)
        The estimate with its interval and standard error, as in `propriety.estimate`.
    weight : ndarray of shape (rows,)
        Weight of the site in the mean; 0 if the site is left out. Errors of mean scores are shrunk for it, see
        `propriety.meta_analysis`.
    note : ndarray of str of shape (rows,)
        Why the site is left out, or a caveat about its interval.
    """

    main_columns: ClassVar[tuple[str, ...]] = ("model", "measure", "site", "n", "value", "low", "high", "weight")

    model: Names
    measure: Names
    site: Names
    n: NDArray[np.int64]
    events: NDArray[np.int64] | None
    value: Floats
    low: Floats
    high: Floats
    standard_error: Floats
    weight: Floats
    note: Names


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class MetaAnalysis(Result):
    """Random-effects summary of measures over sites, one row per model and measure; see `propriety.meta_analysis`.

    Parameters
    ----------
    model, measure : ndarray of str of shape (rows,)
        The model, and the key of the measure.
    mean, low, high : ndarray of shape (rows,)
        Mean over sites, and its interval.
    prediction_low, prediction_high : ndarray of shape (rows,)
        Prediction interval: limits for the true value in a new site; NaN with fewer than three sites.
    tau : ndarray of shape (rows,)
        Standard deviation of the true values between sites, on the scale of the analysis.
    i_squared : ndarray of shape (rows,)
        Share of the variance of the estimates that is between sites.
    q, p_value : ndarray of shape (rows,)
        Cochran's statistic, and the p-value of equal true values in all sites.
    n_sites : ndarray of int of shape (rows,)
        Number of sites in the mean.
    scale : ndarray of str of shape (rows,)
        Scale of the analysis: "identity", "log" or "logit".
    pooled : ndarray of shape (rows,)
        Value of the measure for the cases of all sites together.
    note : ndarray of str of shape (rows,)
        Which sites are left out, and caveats.
    sites : SiteEstimates
        The estimates of the sites.
    by : str
        The key whose labels are the sites.
    method : str
        Estimator of the variance between sites.
    level : float
        Level of all intervals.
    measures : tuple of Measure
        The measures.
    """

    main_columns: ClassVar[tuple[str, ...]] = (
        *("model", "measure", "mean", "low", "high", "prediction_low", "prediction_high", "i_squared", "n_sites"),
    )
    facts: ClassVar[tuple[str, ...]] = ("by", "measures", "method", "level")

    model: Names
    measure: Names
    mean: Floats
    low: Floats
    high: Floats
    prediction_low: Floats
    prediction_high: Floats
    tau: Floats
    i_squared: Floats
    q: Floats
    p_value: Floats
    n_sites: NDArray[np.int64]
    scale: Names
    pooled: Floats
    note: Names
    sites: SiteEstimates
    by: str
    method: HeterogeneityMethod
    level: float
    measures: tuple[Measure, ...] = field(metadata={"hidden": True})

    def row(self, measure: AnyMeasure | None = None, model: str | None = None) -> int:
        """Return the row of a measure and a model, by default the first measure and the only model."""
        models = list(dict.fromkeys(self.model.tolist()))
        key = self.measures[0].key if measure is None else measure if isinstance(measure, str) else None
        key = read_measure(measure).key if key is None else key
        if (model is None and len(models) > 1) or not isinstance(model, str | None):
            checks.choice(model, "model", models)
        chosen = (self.measure == key) & (self.model == (models[0] if model is None else model))
        if not chosen.any():
            law = f"must be one of {[one.key for one in self.measures]} of the models {models}"
            raise InputValueError(law, argument="measure", offender=f"got {key!r} of {model!r}")
        return int(np.flatnonzero(chosen)[0])

    def of_row(self, row: int) -> dict[str, NDArray[Any]]:
        """Return the columns of the sites of a row."""
        own = (self.sites.model == self.model[row]) & (self.sites.measure == self.measure[row])
        columns = self.sites._fields().items()
        return {name: column[own] for name, column in columns if column is not None}

    def __str__(self) -> str:
        """Return the results in plain words, one sentence or two per model and measure."""
        return "\n".join(self._sentences())

    def _sentences(self) -> Iterator[str]:
        labels = {one.key: one.label for one in self.measures}
        several = len(set(self.model.tolist())) > 1
        for row, key in enumerate(self.measure.tolist()):
            name = capitalized(labels[key]) + (f" of {self.model[row]}" if several else "")
            yield f"{name}: {self._numbers(row)}" + (f" Note: {self.note[row]}." if self.note[row] else "")

    def _numbers(self, row: int) -> str:
        if math.isnan(self.mean[row]):
            return "no mean over sites."
        sure, sites = percent(self.level), counted(int(self.n_sites[row]), "site")
        if math.isinf(self.mean[row]):
            return "infinite on average over the sites."
        said = f"{number(self.mean[row])} on average over {sites}"
        said += f" ({sure} CI {number(self.low[row])} to {number(self.high[row])})"
        if not math.isnan(self.prediction_low[row]):
            limits = f"{number(self.prediction_low[row])} to {number(self.prediction_high[row])}"
            said += f"; in a new site {limits} ({sure} prediction interval)"
        test = p_value_words(float(self.p_value[row]))
        return f"{said}. {percent(float(self.i_squared[row]), 2)} of the variance is between sites (test: {test})."


def meta_analysis(
    ledger: Ledger,
    *,
    by: str = "site",
    measures: Sequence[AnyMeasure] = USUAL,
    method: HeterogeneityMethod = "paule-mandel",
    prediction: PredictionMethod = "profile",
    level: float = 0.95,
    n_resamples: int = 1000,
    seed: int | None = None,
) -> MetaAnalysis:
    r"""Summarize measures over the sites of a ledger by a random-effects meta-analysis.

    The true value :math:`\theta_i` of site i is a draw from :math:`N(\mu, \tau^2)`, and its estimate a draw from
    :math:`N(\theta_i, v_i)`. The result has :math:`\mu` with the interval of Hartung and Knapp, the standard deviation
    :math:`\tau` between sites, and a prediction interval for the true value of a new site. Observed/expected is
    analysed on the log scale, the area under the ROC curve on the logit scale. Tables and moments of the sites are all
    that is needed, so hospitals can exchange ledgers instead of patients: add the ledgers, each with its site as a key.

    Parameters
    ----------
    ledger : Ledger
        A ledger from `propriety.condense`, with a key of sites.
    by : str
        The key whose labels are the sites. All other keys are added up.
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
    MetaAnalysis
        One row per model and measure; `sites` has the estimates of the sites, and `plot(measure)` draws a forest plot.

    Notes
    -----
    **Small sites bias the mean of observed/expected.** With m expected events per site it is too high by about 1 /
    (2m), by 5% with 10 events; `note` says so. Combine small sites first, or report `pooled`, the ratio of all cases
    together. Sites without a standard error are left out. The interval of Hartung and Knapp can be very narrow if the
    estimates of a few sites agree by chance. Formulas and simulations: `docs/reference/methods.md`.

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
    >>> found = meta_analysis(pr.condense(y, p, by={"site": site}), measures=[pr.measures.AreaUnderRoc()])
    >>> found
    MetaAnalysis(by=site, measures=['auc'], method=paule-mandel, level=0.95)
    >>> found.mean.round(3), found.n_sites
    (array([0.727]), array([6]))
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
    one_key = _of_sites(ledger, by)
    drawing = Drawing(n_resamples, fresh_seed(seed))
    labels = texts_of_labels(one_key.index.column(by))
    parts = [one_key.at_entries(np.arange(len(labels)) == place) for place in range(len(labels))]
    rows: list[dict[str, Any]] = []
    sites: list[dict[str, Any]] = []
    for model in one_key.models:
        events = [part.table(model).n_events if part.labels is None else 0 for part in parts]
        counts = SiteCounts.of(parts, model)
        for measure in asked:
            found = [estimate_or_note(part, model, measure, level=level, drawing=drawing) for part in parts]
            pooled = estimate_or_note(one_key, model, measure, level=level, drawing=drawing).value
            errors = site_errors(measure, found, counts).tolist()
            summed = [replace(one, standard_error=error) for one, error in zip(found, errors, strict=True)]
            row, weight = _summary(measure, labels, summed, (method, prediction), level, one_key.classes)
            used, error = weight > 0.0, row.pop("standard_error")
            biased = ratio_note(measure, counts, used, error, pooled)
            row["note"] = "; ".join(filter(None, [row["note"], biased, counts.note(used)]))
            rows.append({"model": model, "measure": measure.key, "pooled": pooled, **row})
            sites += [
                _site_row(model, measure, label, count, one, share)
                for label, count, one, share in zip(labels, events, found, weight.tolist(), strict=True)
            ]
    columns = _columns(sites) | ({} if one_key.labels is None else {"events": None})
    return MetaAnalysis(
        **_columns(rows),
        sites=SiteEstimates(**columns),
        by=by,
        method=method,
        level=level,
        measures=asked,
    )


def _of_sites(ledger: object, by: str) -> Ledger:
    """Return the ledger with the sites as its only key."""
    if not isinstance(ledger, Ledger):
        hint = Wording('pass propriety.condense(y_true, forecasts, {by=}{{"site": site}}).')
        if isinstance(ledger, PrivateLedger):
            hint = Wording("pass its `ledger`; standard errors then ignore suppression and noise.")
        raise InputTypeError("must be a Ledger", argument="ledger", got_type=ledger, hint=hint)
    ledger.index.place(by)
    found = ledger.over(*(name for name in ledger.index.names if name != by))
    if len(found.index) < 2:
        raise InputValueError("must be a key with two sites or more", argument="by", offender=f"{by!r} has one label")
    return found


def _summary(
    measure: Measure,
    labels: list[str],
    found: list[Estimate],
    methods: tuple[HeterogeneityMethod, PredictionMethod],
    level: float,
    classes: int | None,
) -> tuple[dict[str, Any], Floats]:
    """Return the row of a measure with the standard error of its mean, and the weight of each site."""
    scale = measure.scale
    value, error = _on_scale(found, scale)
    usable = np.isfinite(value) & np.isfinite(error) & (error > 0.0)
    weight, k = np.zeros(len(found)), int(usable.sum())
    notes = []
    infinite = [one.value for one in found if math.isinf(one.value)]
    if k < len(found):
        absent = [label for label, used in zip(labels, usable.tolist(), strict=True) if not used]
        notes.append(f"{counted(len(absent), 'site')} left out: {', '.join(absent)}")
    numbers = dict.fromkeys(RandomEffects._fields[:-1], math.nan)
    if infinite:
        # The mean of the other sites would flatter the model.
        numbers["mean"] = sum(infinite)
        where = [label for label, one in zip(labels, found, strict=True) if math.isinf(one.value)]
        notes = [f"it is infinite at {counted(len(where), 'site')}: {', '.join(where)}"]
    elif k >= 2:
        pooled = random_effects(value[usable], error[usable], method=methods[0], prediction=methods[1], level=level)
        numbers = pooled._asdict()
        weight[usable] = numbers.pop("weight")
        for name in ("mean", "low", "high", "prediction_low", "prediction_high"):
            numbers[name] = _back(numbers[name], scale)
        if _clip(numbers, *measure.range_of(classes)):
            notes.append("limits clipped to the range of the measure")
        if k < FEWEST_SITES:
            notes.append(f"{k} sites hardly determine the variance between sites")
    else:
        notes.append("fewer than two sites have a standard error")
    return {**numbers, "n_sites": k, "scale": scale, "note": "; ".join(notes)}, weight


def _on_scale(found: list[Estimate], scale: str) -> tuple[Floats, Floats]:
    """Return values and standard errors on the scale of the analysis; not finite outside its range."""
    value = np.array([one.value for one in found])
    error = np.array([one.standard_error for one in found])
    with np.errstate(divide="ignore", invalid="ignore"):
        if scale == "log":
            return np.log(value), error / value
        if scale == "logit":
            return logit(value), error / (value * (1.0 - value))
    return value, error


def _back(value: float, scale: str) -> float:
    if scale == "log":
        return math.inf if value >= 700.0 else math.exp(value)
    return float(expit(value)) if scale == "logit" else value


def _clip(numbers: dict[str, float], least: float, most: float) -> bool:
    """Clip limits to the values that a measure can have, in place; return whether any has changed."""
    mean, clipped = numbers["mean"], False
    for name in ("low", "high", "prediction_low", "prediction_high"):
        limit = numbers[name]
        if limit < min(least, mean) or limit > max(most, mean):
            numbers[name], clipped = min(max(limit, min(least, mean)), max(most, mean)), True
    return clipped


def _site_row(model: str, measure: Measure, label: str, events: int, found: Estimate, weight: float) -> dict[str, Any]:
    numbers = {name: getattr(found, name) for name in ("n", "value", "low", "high", "standard_error", "note")}
    return {"model": model, "measure": measure.key, "site": label, "events": events, **numbers, "weight": weight}


def _columns(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Turn rows into columns."""
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}
