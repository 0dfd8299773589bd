"""How certain a decision curve is: bands, the probability that a strategy is best, and the value of more cases."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from propriety import checks
from propriety.checks import check_level, check_resamples, fresh_seed
from propriety.decisions.benefit_cells import BenefitCells, cells_of_ledger
from propriety.decisions.decision_curves import GRID, decided_steps, rare_grid
from propriety.decisions.threshold_curve import below_one
from propriety.errors import InputTypeError, InputValueError
from propriety.inference.threshold_limits import ThresholdLimits
from propriety.ledger.ledger import Ledger
from propriety.ledger.sources import open_ledger
from propriety.number_words import percent
from propriety.result import Floats, Result
from propriety.rules.weights import Thresholds, read_grid, read_thresholds
from propriety.tables.forecast_table import Outcomes
from propriety.tables.labels import Labels
from propriety.tables.reading import refuse_frame
from propriety.tables.validation import Forecasts

ALL, NONE = "treat all", "treat none"
DEFAULT = "treating all or none"
RESAMPLES = 2000
POINTS = 41  # Thresholds of a range.
PER = 1000.0  # Values of information are per this many cases.
MANY = 3  # Ranges that a sentence can name.
TIE = 1e-12  # Net benefits that differ by less are the same.


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class DecisionUncertainty(Result):
    """Uncertainty of decision curves, one row per strategy and threshold; see `decision_uncertainty`.

    Parameters
    ----------
    strategy : ndarray of shape (rows,)
        A model, "treat all" or "treat none".
    threshold : ndarray of shape (rows,)
        Threshold probability.
    net_benefit, low, high : ndarray of shape (rows,)
        Net benefit with its confidence limits at each threshold by itself: those that `propriety.estimate` gives for
        ``measures.NetBenefit(threshold)``.
    band_low, band_high : ndarray of shape (rows,)
        Limits that hold at all thresholds together.
    credible_low, credible_high : ndarray of shape (rows,)
        Limits of the posterior distribution at each threshold.
    gain, gain_low, gain_high, gain_band_low, gain_band_high : ndarray of shape (rows,)
        Net benefit minus that of the reference, with both kinds of limits: over treating all those of
        ``measures.NetBenefit(threshold, over_all=True)``, and over a model those of `propriety.compare`.
    probability_best : ndarray of shape (rows,)
        Posterior probability that the strategy has the highest net benefit; ties are shared.
    evpi, evsi : ndarray of shape (rows,)
        Expected value of perfect information, and of `more_cases` further cases, in net true positives per 1,000 cases.
        They belong to a threshold, and are the same for all strategies; `evsi` is NaN without `more_cases`.
    strategies : tuple of str
        The models, "treat all" and "treat none".
    useful : dict
        For each model ``shown``, the ranges of thresholds in which the bands of its gains over treating all and over
        treating none are both above 0, and ``estimated``, those in which its gains are; a range is a lowest and a
        highest threshold of the grid.
    reference, thresholds, more_cases, level, n, dropped, n_resamples, seed
        The reference of gains, the decision maker's thresholds, and the settings; `n` is the number of cases, without
        those that were `dropped`.
    """

    main_columns: ClassVar[tuple[str, ...]] = (
        "strategy",
        "threshold",
        "net_benefit",
        "low",
        "high",
        "probability_best",
    )
    facts: ClassVar[tuple[str, ...]] = ("strategies", "level", "n", "dropped")

    strategy: NDArray[np.object_]
    threshold: Floats
    net_benefit: Floats
    low: Floats
    high: Floats
    band_low: Floats
    band_high: Floats
    credible_low: Floats
    credible_high: Floats
    gain: Floats
    gain_low: Floats
    gain_high: Floats
    gain_band_low: Floats
    gain_band_high: Floats
    probability_best: Floats
    evpi: Floats
    evsi: Floats
    strategies: tuple[str, ...]
    useful: dict[str, dict[str, Any]] = field(default_factory=dict)
    reference: str
    thresholds: Thresholds | None = None
    more_cases: int | None = None
    level: float
    n: int
    dropped: int = 0
    n_resamples: int
    seed: int

    def of(self, strategy: str) -> NDArray[np.intp]:
        """Return the rows of a strategy."""
        return np.flatnonzero(self.strategy == strategy)

    def __str__(self) -> str:
        """Return the results in plain words."""
        return "\n".join(_words(self))


def decision_uncertainty(  # noqa: PLR0913  (the data, the thresholds, and the draws)
    y_true: Outcomes | Ledger,
    forecasts: Forecasts | None = None,
    *,
    thresholds: Thresholds | None = None,
    grid: ArrayLike | None = None,
    reference: str | None = None,
    more_cases: int | None = None,
    level: float = 0.95,
    n_resamples: int = RESAMPLES,
    seed: int | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Hashable | None = None,
    labels: Labels | None = None,
) -> DecisionUncertainty:
    r"""Quantify how certain decision curves are, and whether more cases could change the decision.

    Limits of net benefit hold at one threshold, bands at all thresholds of the grid together. Draws from the posterior
    distribution of the decisions and outcomes give credible limits, the probability that a strategy is best, and the
    expected value of perfect information, the net benefit lost on average because the best strategy is not known for
    sure:

    .. math:: \mathrm{EVPI} = \operatorname{E} \max_s \mathrm{NB}_s - \max_s \operatorname{E} \mathrm{NB}_s .

    Parameters
    ----------
    y_true, forecasts, sample_weight, pos_label, labels
        Outcomes and forecasts, or cases, whose clusters are allowed for; see `propriety.cases`. A table or a ledger
        without cases must have one model, because strategies are compared case by case.
    thresholds : float or (float, float), optional
        The probability at which somebody would act, or its range, over which the bands then hold.
    grid : array-like in [0, 1), optional
        Thresholds: by default 41 in the range of `thresholds`, or 0.01, 0.02, ..., 0.99, or 100 steps up to about five
        times the prevalence if events are rare.
    reference : str, optional
        A model, "treat all" or "treat none" to compare with; by default the better of these two at each threshold.
    more_cases : int, optional
        Number of further cases whose value is computed.
    level : float
        Level of limits and bands.
    n_resamples, seed : int
        Number and seed of the draws.

    Returns
    -------
    DecisionUncertainty
        One row per strategy and threshold, which prints as sentences, with ``plot()``.

    Notes
    -----
    A high probability of being best does not mean a large gain: it can be 0.99 for a gain of one true positive in
    10,000 cases. Between strategies whose decisions hardly differ, it depends on the prior. With clusters, limits need
    about 20 of them or more. Formulas, prior and coverage: `docs/reference/methods.md`. Each limit is one `estimate`:
    99 thresholds take about two seconds; 41 with clusters or weights, and 200,000 cases, half a minute.

    References
    ----------
    Vickers, Cronin, Elkin & Gonen (2008), doi:10.1186/1472-6947-8-53; Sadatsafavi, Lee, Wynants, Vickers & Gustafson
    (2023), doi:10.1177/0272989X231178317, for EVPI; Heath, Manolopoulou & Baio (2018), doi:10.1177/0272989X17738515.

    Examples
    --------
    >>> generator = np.random.default_rng(1)
    >>> p = generator.beta(1, 4, 500)
    >>> y = generator.random(500) < p
    >>> found = decision_uncertainty(y, {"risk": p}, thresholds=0.2, more_cases=500, seed=1)
    >>> print(found)
    At a threshold of 0.2, risk has the highest net benefit with probability 1.00 (gain 0.075, 95% CI 0.049 to 0.100).
    Perfect information is worth 0.00 net true positives per 1,000 cases; 500 more cases are worth 0.00.
    """
    check_level(level)
    check_resamples(n_resamples)
    refuse_frame(y_true, forecasts)
    if more_cases is not None:
        checks.whole(more_cases, "more_cases", least=1)
    seed, asked = fresh_seed(seed), read_thresholds(thresholds)
    ledger = open_ledger(
        y_true,
        forecasts,
        sample_weight=sample_weight,
        pos_label=pos_label,
        labels=labels,
    )
    rate = _check(ledger)
    points = _default_points(ledger, asked, rate) if grid is None else np.unique(below_one(read_grid(grid)))
    strategies = (*ledger.models, ALL, NONE)
    if reference is not None:
        checks.choice(reference, "reference", strategies)
    cells = cells_of_ledger(ledger, points)
    value = cells.net_benefit
    draws = cells.draws(n_resamples, seed)
    tail = (1.0 - level) / 2.0
    credible = np.quantile(draws, [tail, 1.0 - tail], axis=0)
    best = _share_best(draws)
    against = _reference_of(value, strategies, reference)
    noise = np.random.default_rng([seed, 1]).standard_normal((n_resamples, len(points)))
    over_all, over_none = (np.full(len(points), strategies.index(one)) for one in (ALL, NONE))
    of_ledger = ThresholdLimits(ledger, points, _rate_variance(cells, points))
    limits, gains, of_all = (_bands(of_ledger, cells, one, level, noise) for one in (over_none, against, over_all))
    shown = np.fmin(limits[2], of_all[2])
    expected = draws.mean(axis=0)  # The draws' own mean, so that noise of the draws cancels in the difference.
    information = _value(draws, expected)
    sample = np.full(len(points), np.nan)
    if more_cases is not None:
        known = ledger.n * (1.0 + float(cells.unit.sum()) / cells.n)  # The cases and those of the prior.
        sample = _value(expected + math.sqrt(more_cases / (known + more_cases)) * (draws - expected), expected)
    rows = {
        "net_benefit": value,
        **dict(zip(("low", "high", "band_low", "band_high"), limits, strict=True)),
        "credible_low": credible[0],
        "credible_high": credible[1],
        "gain": value - np.take_along_axis(value, against[None], axis=0),
        **dict(zip(("gain_low", "gain_high", "gain_band_low", "gain_band_high"), gains, strict=True)),
        "probability_best": best,
        "evpi": np.broadcast_to(information, value.shape),
        "evsi": np.broadcast_to(sample, value.shape),
    }
    return DecisionUncertainty(
        strategy=np.repeat(np.array(strategies, dtype=object), len(points)),
        threshold=np.tile(points, len(strategies)),
        **{name: np.ravel(column) + 0.0 for name, column in rows.items()},
        strategies=strategies,
        useful={model: _useful(value, shown, place, points) for place, model in enumerate(ledger.models)},
        reference=reference or DEFAULT,
        thresholds=asked,
        more_cases=more_cases,
        level=level,
        n=ledger.n,
        dropped=ledger.dropped,
        n_resamples=n_resamples,
        seed=seed,
    )


def _bands(
    limits: ThresholdLimits, cells: BenefitCells, against: NDArray[np.intp], level: float, noise: Floats
) -> Floats:
    """Return low, high, band low and band high of every strategy minus a reference at each threshold.

    A band has the limits of one threshold at a higher level: that of the largest deviation over the thresholds.
    """
    strategies, thresholds = cells.gain.shape[1:]
    found = np.empty((4, strategies, thresholds))
    for place in range(strategies):
        contrast = np.zeros((strategies, thresholds))
        contrast[place] += 1.0
        contrast[against, np.arange(thresholds)] -= 1.0
        together = 2.0 * float(ndtr(cells.critical(contrast, level, noise))) - 1.0
        found[:2, place] = limits.between(place, against, level)
        found[2:, place] = limits.between(place, against, together)
    return found


def _rate_variance(cells: BenefitCells, grid: Floats) -> float:
    """Return the variance of the event rate from that of the net benefit of treating all, (rate - c) / (1 - c)."""
    treat_all = np.zeros(cells.gain.shape[1:])
    treat_all[-2, 0] = 1.0
    return float(cells.mean_products(treat_all)[0, 0] / cells.n * (1.0 - grid[0]) ** 2)


def _share_best(draws: Floats) -> Floats:
    """Return the share of draws in which each strategy has the highest net benefit; ties are shared."""
    top = draws >= draws.max(axis=1, keepdims=True) - TIE
    return np.asarray((top / top.sum(axis=1, keepdims=True)).mean(axis=0))


def _value(draws: Floats, expected: Floats) -> Floats:
    """Return how much better the best strategy of each draw is than the best on average, per 1,000 cases."""
    return np.asarray(PER * np.maximum(draws.max(axis=1).mean(axis=0) - expected.max(axis=0), 0.0))


def _reference_of(value: Floats, strategies: tuple[str, ...], reference: str | None) -> NDArray[np.intp]:
    """Return the place of the reference at each threshold."""
    if reference is not None:
        return np.full(value.shape[1], strategies.index(reference))
    return np.where(value[-2] > 0.0, len(value) - 2, len(value) - 1)


def _useful(value: Floats, shown: Floats, place: int, grid: Floats) -> dict[str, list[tuple[float, float]]]:
    """Return the ranges of thresholds in which a model beats treating all and none: by bands, and as estimated."""
    ahead = value[place] > np.maximum(value[-2], 0.0) + TIE
    return {"shown": _ranges(shown[place] > TIE, grid), "estimated": _ranges(ahead, grid)}


def _ranges(chosen: NDArray[np.bool_], grid: Floats) -> list[tuple[float, float]]:
    """Return the first and the last threshold of each run of thresholds that are chosen."""
    change = np.diff(chosen.astype(np.int8), prepend=0, append=0)
    first, last = np.flatnonzero(change > 0), np.flatnonzero(change < 0) - 1
    return [(float(grid[low]), float(grid[high])) for low, high in zip(first, last, strict=True)]


def _default_points(ledger: Ledger, thresholds: Thresholds | None, prevalence: float) -> Floats:
    """Return the thresholds of the default grid; without cases, those at which decisions are known."""
    points = _grid(thresholds, prevalence)
    if ledger.cases is not None:
        return points
    ends = {"first": float(points[0]), "last": float(points[-1])}
    return decided_steps(ledger.table(ledger.models[0]), points, thresholds, **ends)


def _grid(thresholds: Thresholds | None, prevalence: float) -> Floats:
    if thresholds is None:
        fine = rare_grid(prevalence)
        return fine if len(fine) else GRID
    if not isinstance(thresholds, tuple):
        return np.array([thresholds])
    low, high = thresholds
    return np.linspace(low, min(high, 1.0 - 1e-6), POINTS)


def _check(ledger: Ledger) -> float:
    """Check that strategies can be compared on the cases of a ledger, and return the event rate."""
    if ledger.labels is not None:
        raise InputTypeError("decision curves are of one event; the forecasts are of classes")
    if ledger.dependence == "period":
        raise InputTypeError("decision curves of cases in time are not supported", hint="pass the periods as clusters.")
    if ledger.cases is None and (len(ledger.models) > 1 or ledger.dependence is not None):
        law = "strategies are compared case by case, and a ledger without cases cannot do that for several models"
        raise InputTypeError(law, hint="pass the cases, or the table of one model: ledger.table(model).")
    taken = next((model for model in ledger.models if model in (ALL, NONE)), None)
    if taken is not None:
        law = f"must not be named {ALL!r} or {NONE!r}, which are strategies of their own"
        raise InputValueError(law, argument="forecasts", got=taken)
    if ledger.cases is not None and ledger.cases.cluster is not None and len(ledger.cases.cluster) < 2:
        raise InputValueError("must have two clusters or more", argument="cluster", offender="all cases are in one")
    if ledger.censoring is not None:
        law = "censored outcomes are not supported, because their weights are estimated"
        raise InputTypeError(law, hint="compare net benefits with propriety.compare.")
    rate = ledger.table(ledger.models[0]).event_rate
    if not 0.0 < rate < 1.0:
        law = "the uncertainty of decisions needs cases with and without the event; all cases have the same outcome"
        raise InputValueError(law)
    return rate


def _words(found: DecisionUncertainty) -> Iterator[str]:
    """Yield what is best at the thresholds, the useful range of each model, and the value of information."""
    grid = found.threshold[found.of(found.strategies[0])]
    per = percent(found.level)
    if len(grid) == 1:
        row = max((int(found.of(one)[0]) for one in found.strategies), key=lambda one: found.probability_best[one])
        low, high = found.gain_low[row], found.gain_high[row]
        gain = "" if low == high else f" (gain {found.gain[row]:z.3f}, {per} CI {low:z.3f} to {high:z.3f})"
        yield (
            f"At a threshold of {grid[0]:g}, {found.strategy[row]} has the highest net benefit with probability "
            f"{found.probability_best[row]:.2f}{gain}."
        )
    else:
        for model, own in found.useful.items():
            if not own["estimated"]:
                yield f"{model} is better than treating all and none at no threshold."
                continue
            estimated = _at_thresholds(own["estimated"])
            if not own["shown"]:
                yield (
                    f"{model} is not shown to be better than treating all and none at any threshold; "
                    f"the estimates alone are better {estimated}."
                )
                continue
            shown = _at_thresholds(own["shown"])
            yield (
                f"{model} is better than treating all and none {shown} ({per} bands); "
                f"the estimates alone are better {estimated}."
            )
    most = int(np.argmax(found.evpi[: len(grid)]))
    bound, where = ("", "") if len(grid) == 1 else ("at most ", f", at a threshold of {grid[most]:.3g}")
    more = "" if found.more_cases is None else f"; {found.more_cases:,} more cases are worth {found.evsi[most]:.2f}"
    yield f"Perfect information is worth {bound}{found.evpi[most]:.2f} net true positives per 1,000 cases{where}{more}."


def _at_thresholds(ranges: Sequence[tuple[float, float]]) -> str:
    if len(ranges) > MANY:
        return f"at some of the thresholds from {ranges[0][0]:.3g} to {ranges[-1][1]:.3g}"
    ends = [(f"{low:.3g}", f"{high:.3g}") for low, high in ranges]
    if len(ends) == 1 and ends[0][0] == ends[0][1]:
        return f"at the threshold {ends[0][0]}"
    told = [f"at {low}" if low == high else f"from {low} to {high}" for low, high in ends]
    listed = " and ".join(told)
    return f"at thresholds {listed}" if listed.startswith("from") else listed
