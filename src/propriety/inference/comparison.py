"""Paired comparison of models: by how much one scores lower than another, and whether chance alone could do that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from propriety.calibration.resampling import check_level, check_resamples, fresh_seed
from propriety.errors import InputValueError, sentence
from propriety.inference.dependence import Estimates, block_bootstrap, check_times, hac, student
from propriety.inference.evidence import Evidence, few_in_words
from propriety.inference.moments import LossMoments, moments_of
from propriety.inference.verdicts import (
    ROUNDING,
    Kind,
    Names,
    Pair,
    Sample,
    Standings,
    holm,
    method_in_words,
    pair_sentence,
    ranks_in_words,
    rule_sentence,
    standings_of,
    verdict_on,
)
from propriety.results import Floats, Result
from propriety.rules.families import Brier
from propriety.rules.rule import Rule
from propriety.tables.validation import TOLERANCE, Labels, Missing, read_cases

__all__ = ["Comparison", "Method", "compare", "compare_moments"]

Method: TypeAlias = Literal["auto", "paired t", "cluster", "diebold-mariano", "block bootstrap"]

BRIER = Brier()
RESAMPLES = 9999
POWER = 0.8
MOST_SENTENCES = 6
KINDS: dict[str, Kind] = {
    "paired t": "cases",
    "cluster": "clusters",
    "diebold-mariano": "times",
    "block bootstrap": "times",
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Comparison(Result):
    """By how much models differ, one row per pair; see `compare`. `str` says it in plain words.

    Parameters
    ----------
    model, reference : ndarray of shape (pairs,)
        Names of the two models.
    difference : ndarray of shape (pairs,)
        Mean loss of the model minus that of the reference; negative where the model is better.
    low, high, standard_error : ndarray of shape (pairs,)
        Interval of the difference at the level, for this pair alone, and its standard error.
    statistic, df : ndarray of shape (pairs,)
        Difference over its error, and the degrees of freedom of its t distribution, NaN for the bootstrap.
    p_value, p_adjusted : ndarray of shape (pairs,)
        Two-sided p-value of no difference, and the same with Holm's adjustment for all pairs.
    needed : ndarray of shape (pairs,)
        Cases of this kind with which a true difference of this size would be told with a probability of 80%, were all
        pairs tested at the level; infinite for a difference of zero.
    verdict : ndarray of shape (pairs,)
        "a better", "not distinguishable", "same losses", "no spread", "infinite score" or "one case".
    sentences : tuple of str
        The verdicts in plain words.
    standings : Standings
        The models by rank.
    models, rule, method, level
        Names in the order given, the rule, the test in words, and the level.
    n, units : int
        Number of cases, and of clusters or times, which is that of the cases where there are none.
    dropped : int
        Rows left out because of missing values.
    note : str
        Warning of a rule that is not proper, and of few clusters, events or non-events, with which intervals are too
        narrow and differences told too often.
    n_resamples, seed : int, optional
        Number and seed of the draws of the bootstrap.
    """

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
    needed: Floats
    verdict: Names
    sentences: tuple[str, ...]
    standings: Standings
    models: tuple[str, ...]
    rule: str
    method: str
    level: float
    n: int
    units: int
    dropped: int = 0
    note: str = ""
    n_resamples: int | None = None
    seed: int | None = None

    def rows(self) -> Mapping[str, NDArray[Any]]:
        """Return one row per pair, with the number of cases."""
        columns = {name: value for name, value in self._fields().items() if isinstance(value, np.ndarray)}
        verdict = columns.pop("verdict")
        return columns | {"n": np.full(len(verdict), self.n), "verdict": verdict}

    def summary(self) -> str:
        """Return the verdicts in plain words: one sentence for each pair, or for each model where pairs are many."""
        lines = list(self.sentences)
        if len(lines) > MOST_SENTENCES:
            ranked = self.standings
            rows = zip(ranked.model, ranked.best_rank, ranked.worst_rank, ranked.verdict, strict=True)
            lines = [f"{name} ({ranks_in_words(best, worst)}): {words}." for name, best, worst, words in rows]
        return "\n".join(line for line in (*lines, f"{self.method}.", self.note) if line)

    def __str__(self) -> str:
        return self.summary()

    def _facts(self) -> dict[str, Any]:
        facts: dict[str, Any] = {"models": list(self.models), "rule": self.rule, "verdicts": self.verdict.tolist()}
        facts |= {"level": self.level, "n": self.n}
        return facts | ({"dropped": self.dropped} if self.dropped else {})


def compare(  # noqa: PLR0913  (the data, what their cases share, and the test)
    y_true: object,
    forecasts: Mapping[str, object],
    *,
    rule: Rule = BRIER,
    reference: str | None = None,
    cluster: object = None,
    time: object = None,
    method: Method = "auto",
    horizon: int | None = None,
    level: float = 0.95,
    n_resamples: int = RESAMPLES,
    seed: int | None = None,
    sample_weight: object = None,
    pos_label: object = None,
    labels: Labels | None = None,
    missing: Missing = "raise",
    tolerance: float = TOLERANCE,
) -> Comparison:
    r"""Compare models on the same cases: the difference of their mean losses, its interval, and a test.

    With :math:`d_i` the loss of the model minus that of the reference in case :math:`i`, the difference is the
    weighted mean :math:`\bar d`, and :math:`t = \bar d / s`. The error :math:`s` and its degrees of freedom depend on
    what the cases share:

    - ``"paired t"``, for independent cases: :math:`s^2 = \frac{n}{n - 1} \sum w_i^2 (d_i - \bar d)^2 / (\sum w_i)^2`,
      with n - 1.
    - ``"cluster"``, with `cluster`: cases of one cluster (a patient, a site) may depend on each other in any way; the
      same with sums over clusters in place of cases (CR1), with G - 1.
    - ``"diebold-mariano"``, with `time`: neighbours in time depend on each other. The variance is that of `hac` with
      its correction by Harvey, Leybourne and Newbold: by default Bartlett's weights over :math:`1.3 \sqrt{T}` times;
      with `horizon` the classical test with horizon - 1 lags and T - 1 degrees of freedom.
    - ``"block bootstrap"``, with `time`: blocks of :math:`1.3 \sqrt{T}` neighbouring times are drawn; see
      `block_bootstrap`.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Outcomes.
    forecasts : mapping of str to array-like of shape (n,) or (n, K)
        Forecasts of the same cases by each model; two models or more.
    rule : Rule
        The scoring rule, for one event or for classes.
    reference : str, optional
        The model that the others are compared with; without it every pair is compared.
    cluster : array-like of shape (n,), optional
        Cluster of each case.
    time : array-like of shape (n,), optional
        Time of each case, numbers or dates in any order. Cases of one time count as one observation, so they may
        depend on each other in any way; times count as evenly spaced.
    method : {"auto", "paired t", "cluster", "diebold-mariano", "block bootstrap"}
        By default the first of these that suits `cluster` and `time`.
    horizon : int, optional
        Of forecasts made so many times ahead, for "diebold-mariano".
    level : float
        Level of the intervals; a verdict is given where the adjusted p-value is at most 1 - level.
    n_resamples, seed : int
        Number and seed of the draws of the bootstrap; without a seed one is made and kept with the result.
    sample_weight, pos_label, labels, missing, tolerance
        As in `propriety.mean_score`; ``missing="drop"`` drops a case that any model misses.

    Returns
    -------
    Comparison
        One row per pair; `standings` holds the models by rank.

    Notes
    -----
    When not to trust it; figures are of 95% intervals in `studies/comparison.py`. With rare events a few cases carry
    the mean difference, and the interval of a true difference is too short: at a prevalence of 2% it holds in 86% of
    samples of 200 independent cases, where there are 4 events, and in 94% of 1,000. With 20 clusters and events that
    rare it holds in 84 to 91%, even of 10,000 cases. Where neighbouring differences in time are correlated by 0.65, the
    interval of "diebold-mariano" holds in 88% of 200 times and in 93% of 1,000, that of "block bootstrap" in 92% and
    93%; for rare events with a correlation of 0.3 they hold in 86% and 90% of 1,000 times, and in 94% of 10,000.
    Losses that differ by the same amount in every case have no spread, and infinite losses no error: neither is tested.

    An interval is for its pair alone, and a verdict is for all pairs together. So with several pairs an interval may
    leave 0 out where the verdict is "not distinguishable".

    References
    ----------
    Diebold & Mariano (1995), doi:10.1080/07350015.1995.10524599; Harvey, Leybourne & Newbold (1997),
    doi:10.1016/S0169-2070(96)00719-4; Driscoll & Kraay (1998), doi:10.1162/003465398557825, for several cases of one
    time; Cameron & Miller (2015), doi:10.3368/jhr.50.2.317, for clusters; Holm (1979), jstor:4615733; Mogstad, Romano,
    Shaikh & Wilhelm (2024), doi:10.1093/restud/rdad006, for ranks.

    Examples
    --------
    >>> import numpy as np
    >>> generator = np.random.default_rng(1)
    >>> truth = generator.random(1200)
    >>> y = generator.random(1200) < truth
    >>> models = {"sharp": truth, "vague": 0.25 + 0.5 * truth, "vaguer": 0.3 + 0.4 * truth}
    >>> print(compare(y, models, reference="sharp"))
    sharp is better than vague: 0.0250 lower Brier score, 95% interval 0.0201 to 0.0299.
    sharp is better than vaguer: 0.0350 lower Brier score, 95% interval 0.0290 to 0.0409.
    Paired t test on 1,200 cases; verdicts adjusted for 2 pairs.
    >>> print(compare(y[:60], {"truth": truth[:60], "nearly": 0.01 + 0.98 * truth[:60]}))
    truth and nearly are not distinguishable on 60 cases; about 4,900 would be needed.
    Paired t test on 60 cases.
    Rests on 33 events, 27 non-events: intervals may be too narrow.
    """
    if cluster is not None and time is not None:
        hint = (
            "cluster= alone allows for any dependence within a cluster, over time too; "
            "time= alone allows for any between cases of one time."
        )
        raise InputValueError(sentence("compare takes cluster= or time=, not both", hint=hint))
    method = _method_for(method, "clusters" if cluster is not None else "times" if time is not None else "cases")
    cases = read_cases(
        y_true,
        forecasts,
        cluster=cluster,
        time=time,
        fewest=2,
        sample_weight=sample_weight,
        pos_label=pos_label,
        labels=labels,
        missing=missing,
        tolerance=tolerance,
    )
    moments = moments_of(cases, rule, cluster=cases.cluster if time is None else cases.time)
    found = compare_moments(
        moments,
        reference=reference,
        method=method,
        horizon=horizon,
        level=level,
        n_resamples=n_resamples,
        seed=seed,
        proper=rule.properties(cases.classes).proper,
    )
    numbers = {"cluster": None if cluster is None else found.units} | Evidence(cases).outcomes()
    return replace(found, note=_note(found.rule, rule.properties(cases.classes).proper, numbers, found.statistic))


def compare_moments(
    moments: LossMoments,
    *,
    reference: str | None = None,
    method: Method = "auto",
    horizon: int | None = None,
    level: float = 0.95,
    n_resamples: int = RESAMPLES,
    seed: int | None = None,
    proper: bool | None = True,
) -> Comparison:
    """Compare models whose losses were summed up before, on shards or in an engine; the answer is that of `compare`.

    Parameters
    ----------
    moments : LossMoments
        Of two models or more. Those by cluster are compared with clusters, or, where the method is
        "diebold-mariano" or "block bootstrap", with the clusters as times.
    reference, method, horizon, level, n_resamples, seed
        As in `compare`.
    proper : bool, optional
        Whether the rule is proper, which the moments do not know; None where it does not say.

    Notes
    -----
    The formulas and their references are those of `compare`.

    Examples
    --------
    >>> from propriety.inference.moments import loss_moments
    >>> monday = loss_moments([0, 1, 1], {"a": [0.1, 0.7, 0.8], "b": [0.5, 0.5, 0.6]})
    >>> tuesday = loss_moments([0, 1], {"a": [0.3, 0.9], "b": [0.4, 0.6]})
    >>> print(compare_moments(monday + tuesday))
    a is better than b: 0.148 lower Brier score, 95% interval 0.071 to 0.225.
    Paired t test on 5 cases.
    """
    check_level(level)
    check_resamples(n_resamples)
    if moments.group is not None:
        hint = "compare each of moments.groups(), or moments.pooled()."
        raise InputValueError(sentence("moments must be of one group to be compared", hint=hint))
    if len(moments.models) < 2:
        raise InputValueError(sentence("moments must be of two models or more to be compared"))
    in_time = method in ("diebold-mariano", "block bootstrap")
    method = _method_for(method, "cases" if moments.cluster is None else "times" if in_time else "clusters")
    if horizon is not None and method != "diebold-mariano":
        raise InputValueError(sentence('horizon is for method="diebold-mariano"', offender=f"the method is {method!r}"))
    if moments.cluster is not None and in_time:
        check_times(moments.cluster.tolist(), horizon)
    places, signs = _pairs(moments, reference)
    # Without groups a row of the moments is a cluster.
    units = moments.cases if moments.cluster is None else len(moments.n)
    sample = Sample(moments.cases, units, KINDS[method], 0, level, moments.rule)
    seed = fresh_seed(seed)
    mean = moments.means
    if np.isnan(mean[: len(moments.models)]).any():
        raise InputValueError(sentence(f"{moments.rule} must return numbers; its loss of some case is NaN"))
    found = _estimates(moments, mean, method, horizon, sample, n_resamples, seed)
    columns = _differences(moments, mean, found, places, signs, sample)
    sample = sample._replace(pairs=int(np.count_nonzero(np.isfinite(columns["statistic"]))))
    pairs = [Pair(*values) for values in zip(*(columns[name].tolist() for name in Pair._fields), strict=True)]
    clusters = units if sample.kind == "clusters" else None
    return Comparison(
        **columns,
        verdict=np.array([verdict_on(pair, sample) for pair in pairs]),
        sentences=tuple(pair_sentence(pair, sample) for pair in pairs),
        standings=standings_of(moments.models, mean, found, pairs, sample),
        models=moments.models,
        rule=moments.rule,
        method=method_in_words(method, horizon, n_resamples, sample),
        level=level,
        n=sample.n,
        units=sample.units,
        dropped=moments.dropped,
        note=_note(moments.rule, proper, {"cluster": clusters}, columns["statistic"]),
        n_resamples=None if method != "block bootstrap" else n_resamples,
        seed=None if method != "block bootstrap" else seed,
    )


def _note(rule: str, proper: bool | None, numbers: Mapping[str, int | None], statistic: Floats) -> str:  # noqa: FBT001  (of three)
    """Warn of a rule that is not proper, and of what there is too little of, where there is a test."""
    few = few_in_words(numbers) if np.isfinite(statistic).any() else ""
    told = f"{few[0].upper()}{few[1:].replace('it may', 'intervals may')}." if few else ""
    return " ".join(filter(None, (rule_sentence(rule, proper=proper), told)))


def _method_for(method: Method, kind: Kind) -> Method:
    """Return the method for independent cases, or for cases in clusters or times; refuse one that does not suit."""
    if not isinstance(method, str) or method not in get_args(Method):
        raise InputValueError(sentence(f"method must be one of {list(get_args(Method))}; got {method!r}"))
    if method == "auto":
        return next(one for one in get_args(Method) if KINDS.get(one) == kind)
    if KINDS[method] != kind:
        law = f"method={method!r} is for {'independent cases' if KINDS[method] == 'cases' else KINDS[method]}"
        offender = "neither cluster= nor time= is given" if kind == "cases" else f"the cases are in {kind}"
        raise InputValueError(sentence(law, offender=offender))
    return method


def _estimates(
    moments: LossMoments,
    mean: Floats,
    method: Method,
    horizon: int | None,
    sample: Sample,
    n_resamples: int,
    seed: int,
) -> Estimates:
    """Return what is known of the means of all series: the models, then their pairs."""
    if sample.kind != "times":
        return student(mean, moments.standard_errors(), sample.units - 1.0, sample.level)
    with np.errstate(invalid="ignore"):  # Of infinite losses.
        parts = (moments.weight / moments.weight.sum())[:, None] * (moments.mean - mean)
    if method == "block bootstrap":
        return block_bootstrap(mean, parts, level=sample.level, n_resamples=n_resamples, seed=seed)
    return student(mean, *hac(parts, horizon=horizon), sample.level)


def _pairs(moments: LossMoments, reference: str | None) -> tuple[list[int], Floats]:
    """Return which differences are asked for, and the sign that makes the second model the reference."""
    if reference is None:
        return list(range(len(moments.pairs))), np.ones(len(moments.pairs))
    if reference not in moments.models:
        law = f"reference must be one of the models {list(moments.models)}; got {reference!r}"
        raise InputValueError(sentence(law))
    places = [place for place, pair in enumerate(moments.pairs) if reference in pair]
    return places, np.array([1.0 if moments.pairs[place][1] == reference else -1.0 for place in places])


def _differences(
    moments: LossMoments, mean: Floats, found: Estimates, places: list[int], signs: Floats, sample: Sample
) -> dict[str, NDArray[Any]]:
    """Return the columns of the comparison, but for the verdicts."""
    names = [moments.pairs[place][:: int(sign)] for place, sign in zip(places, signs, strict=True)]
    score = dict(zip(moments.models, np.abs(mean).tolist(), strict=False))
    noise = ROUNDING * np.array([max(score[one], score[other]) for one, other in names])
    series = np.array(places) + len(moments.models)
    difference = signs * mean[series]
    error, df, low, high, p_value = (values[series] for values in found)
    low, high = np.where(signs > 0.0, low, -high), np.where(signs > 0.0, high, -low)
    flat = np.isfinite(difference) & ~(error * np.sqrt(sample.units) > noise)  # So is a single case.
    none = np.isfinite(difference) & (np.abs(difference) <= noise)
    same = flat & none
    difference = np.where(none, 0.0, difference)
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = np.where(flat, np.nan, difference / error)
    p_value = np.where(flat, np.nan, np.where(none, 1.0, p_value))
    at_zero = np.where(same, 0.0, np.nan)
    return {
        "model": np.array([model for model, _ in names]),
        "reference": np.array([other for _, other in names]),
        "difference": difference,
        "low": np.where(flat, at_zero, low),
        "high": np.where(flat, at_zero, high),
        "standard_error": np.where(same | (flat & ~np.isnan(error)), 0.0, error),
        "statistic": statistic,
        "df": df,
        # Models that score the same are not tested, and others are not adjusted for them.
        "p_value": np.where(same, 1.0, p_value),
        "p_adjusted": np.where(same, 1.0, holm(p_value)),
        "needed": np.where(difference == 0.0, np.inf, _needed(statistic, df, sample)),
    }


def _needed(statistic: Floats, df: Floats, sample: Sample) -> Floats:
    """Return the cases with which differences would be told with the power, if errors shrink as with more of these."""
    tests = max(int(np.count_nonzero(np.isfinite(statistic))), 1)
    tail = 0.5 * (1.0 - sample.level) / tests
    critical = np.where(np.isnan(df), -ndtri(tail), -stdtrit(df, tail))
    with np.errstate(divide="ignore"):
        needed: Floats = sample.n * ((critical + ndtri(POWER)) / statistic) ** 2
    return needed
