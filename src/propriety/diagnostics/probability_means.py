"""Generalized means of the probabilities of what happened: decisiveness, accuracy and robustness of a forecast."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propriety import checks
from propriety.calibration.blocks import bin_starts, pool_adjacent_violators
from propriety.errors import InputTypeError, InputValueError
from propriety.result import Floats, Result
from propriety.tables.arrays import read_array
from propriety.tables.forecast_table import ForecastTable, Outcomes
from propriety.tables.labels import Labels
from propriety.tables.validation import read_cases

Source: TypeAlias = Literal["pav", "bins", "none"]
EXPONENTS = (1.0, 0.0, -2.0 / 3.0)  # Decisiveness, accuracy, robustness.
MOST_PRECISION = 0.5
BINS = 10
NOISE = 1e-12  # Means closer than this are equal and define no line.


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class MeanSpectrum(Result):
    """Means of the model and source probabilities, and their ratio, one row per exponent; see `ProbabilityMeans`.

    Parameters
    ----------
    exponent : array of shape (rows,)
        The exponents.
    model : array of shape (rows,)
        Mean of the probabilities that the model gave to what happened.
    source, divergence : array of shape (rows,), optional
        The same mean of the source probabilities, and `model` divided by it; None for ``source="none"``.
    """

    exponent: Floats
    model: Floats
    source: Floats | None
    divergence: Floats | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ProbabilityMeans(Result):
    """Decisiveness, accuracy and robustness of model and source, **higher is better**; see `probability_means`.

    Parameters
    ----------
    exponent : array of shape (3,)
        1 for decisiveness, 0 for accuracy, -2/3 for robustness.
    model : array of shape (3,)
        Mean of the probabilities that the model gave to what happened.
    source : array of shape (3,), optional
        The same mean of the source probabilities; None for ``source="none"``.
    divergence : array of shape (3,), optional
        `model` divided by `source`. For accuracy it is the divergence probability.
    angle : float, optional
        Angle in degrees of the line from robustness to decisiveness, with the source on the horizontal axis and the
        model on the vertical: 45 for calibrated forecasts, up to sampling noise; NaN if there is no such line.
    method : {"pav", "bins", "none"}
        How the source probabilities were estimated.
    precision : float, optional
        Model probabilities were clipped to [precision, 1 - precision]; None if they were not clipped.
    bins : int, optional
        Number of non-empty bins, for a binned source.
    parts : mapping of label to ProbabilityMeans, optional
        The means over the cases of each class; "non-event" and "event" for binary forecasts.
    n, dropped : int
        Number of all cases, and of rows left out because of missing values.
    weight : float
        Weight of the cases averaged over.
    """

    exponent: Floats
    model: Floats
    source: Floats | None
    divergence: Floats | None
    angle: float | None
    method: Source
    precision: float | None
    bins: int | None = None
    parts: Mapping[Any, ProbabilityMeans] | None = None
    n: int
    weight: float
    dropped: int = 0
    groups: ProbabilityGroups | None = field(default=None, metadata={"hidden": True})
    probabilities: tuple[Floats, Floats, Floats] = field(metadata={"hidden": True})

    @property
    def decisiveness(self) -> float:
        """Arithmetic mean of the model probabilities; mean accuracy of decisions drawn from the forecasts."""
        return float(self.model[0])

    @property
    def accuracy(self) -> float:
        """Geometric mean of the model probabilities, exp(-log score): the only proper one of the three."""
        return float(self.model[1])

    @property
    def robustness(self) -> float:
        """Mean with exponent -2/3 of the model probabilities, which is dominated by the smallest."""
        return float(self.model[2])

    def spectrum(self, exponents: ArrayLike | None = None) -> MeanSpectrum:
        """Return the means for any exponents, including -inf and inf; by default 41 from -2 to 2.

        Examples
        --------
        >>> import numpy as np
        >>> from propriety.diagnostics.probability_means import probability_means
        >>> means = probability_means([1, 1, 0], [0.9, 0.5, 0.2], source="none")
        >>> means.spectrum([-np.inf, -1, 2, np.inf]).model.round(6)
        array([0.5     , 0.687898, 0.752773, 0.9     ])
        """
        given = np.linspace(-2.0, 2.0, 41) if exponents is None else read_array(exponents, "exponents").values
        if given.dtype.kind not in "iuf" or given.ndim != 1 or not given.size or np.isnan(given).any():
            law = "must be a 1-D array of numbers"
            raise InputTypeError(law, argument="exponents", offender=f"got shape {given.shape} of {given.dtype}")
        exponent = given.astype(np.float64)
        return MeanSpectrum(exponent=exponent, **_means(self.probabilities, exponent, self.method))

    def columns(self) -> Mapping[str, Any]:
        """Columns of the tidy table: the class ("all" for all cases) and the exponent, with their means."""
        blocks = {**(self.parts or {}), "all": self}
        columns: dict[str, Any] = {"label": np.repeat([str(label) for label in blocks], len(self.exponent))}
        for name in ("exponent", "model", "source", "divergence"):
            if getattr(self, name) is not None:
                columns[name] = np.concatenate([getattr(block, name) for block in blocks.values()])
        return columns

    def _facts(self) -> dict[str, Any]:
        facts: dict[str, Any] = {name: getattr(self, name) for name in ("decisiveness", "accuracy", "robustness")}
        if self.divergence is not None:
            facts |= {"divergence": float(self.divergence[1]), "angle": self.angle}
        facts |= {"source": self.method, "precision": self.precision, "n": self.n}
        return facts | ({"dropped": self.dropped} if self.dropped else {})


def probability_means(
    y_true: Outcomes,
    y_proba: ArrayLike | None = None,
    *,
    source: Source = "pav",
    precision: float | None = None,
    bins: int | ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Hashable | None = None,
    labels: Labels | None = None,
) -> ProbabilityMeans:
    r"""Average the probabilities of what happened, as the model gave them and as they should have been.

    With :math:`q_i` the probability that the model gave to the class that happened, and :math:`P_i` the share of such
    forecasts that come true (the source probability),

    .. math::

       \text{model}_m = \Bigl(\sum_i w_i\, q_i^m\Bigr)^{1/m}, \qquad
       \text{source}_m = \Bigl(\sum_i w_i\, P_i^m\Bigr)^{1/m}, \qquad
       \text{divergence}_m = \text{model}_m / \text{source}_m ,

    :math:`\sum_i w_i = 1`, for :math:`m = 1` (decisiveness), :math:`m = 0` (accuracy, the geometric mean) and :math:`m
    = -2/3` (robustness). Accuracy is the log score on the scale of probabilities, and its divergence is the cost of
    miscalibration. The angle of the line from robustness to decisiveness is 45 degrees for calibrated forecasts, and
    larger for too extreme ones. It also varies by chance, so it decides nothing: `propriety.check_calibration` tests
    calibration.

    Parameters
    ----------
    y_true, y_proba, sample_weight, pos_label, labels
        As in `propriety.mean_score`: the probability of one event, class probabilities, or a ledger of one
        event.
    source : {"pav", "bins", "none"}
        "pav" recalibrates each class separately, by isotonic regression of "this class happened" on its forecasts.
        "bins" groups the pairs of all cases and classes by similar forecasts. "none" omits the source.
    precision : float, optional
        Clip model probabilities to [precision, 1 - precision] first; below 1/2. By default nothing is clipped, and a
        single zero probability of what happened makes accuracy and robustness zero.
    bins : int or array-like of float, optional
        For ``source="bins"``, the number of bins of about equal weight, which never split equal forecasts, or their
        edges from 0 to 1; 10 by default. Bins are closed on the left, the last on both sides.

    Notes
    -----
    Only accuracy is proper. A model raises its decisiveness by claiming certainty, and its robustness by hedging. In
    `parts`, a mean is over the cases of one class, and bins hold only the pairs of that class.
    Bounds of the divergence, and the angle: `docs/reference/methods.md`.

    References
    ----------
    Nelson (2017), doi:10.3390/e19060286, with the weights of its equations 17 to 19 corrected.

    Examples
    --------
    >>> from propriety.diagnostics.probability_means import probability_means
    >>> y, p = [0, 0, 1, 0, 1, 1, 0, 1], [0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9]
    >>> means = probability_means(y, p)
    >>> means
    ProbabilityMeans(decisiveness=0.625, accuracy=0.560907, robustness=0.509475, divergence=0.846859, angle=56.1636,
                     source=pav, precision=None, n=8)
    >>> means.source.round(6), means.parts["event"].model.round(6)
    (array([0.708333, 0.662338, 0.63089 ]), array([0.625   , 0.580301, 0.547289]))
    """
    _check_source(source, precision, bins)
    tables = _read_tables(
        y_true,
        y_proba,
        pos_label=pos_label,
        options={"sample_weight": sample_weight, "labels": labels},
    )
    if precision is not None:
        tables = {label: clipped(table, float(precision)) for label, table in tables.items()}
    binary = list(tables) == ["event"]
    if source == "bins":
        tables = {"non-event": complement(tables["event"]), **tables} if binary else tables
        binning = BINS if bins is None else bins
        classes = {label: by_bins(table, binning) for label, table in tables.items()}
        whole = {"all": by_bins(ForecastTable.merge(tables.values()), binning)}
    else:
        group = by_blocks if source == "pav" else by_forecast
        classes = {label: group(table) for label, table in tables.items()}
        # Forecasts near 0 that differ need not differ near 1, so the blocks are those of the event.
        classes = {"non-event": classes["event"].mirrored(), **classes} if binary else classes
        whole = classes
    table = next(iter(tables.values()))
    facts: dict[str, Any] = {"precision": precision, "n": table.n, "dropped": table.dropped}
    parts = {label: means_of_pairs({label: pairs}, source, facts) for label, pairs in classes.items()}
    known = {label: part.groups for label, part in parts.items()} if whole is classes else {}
    return replace(means_of_pairs(whole, source, facts, known), parts=parts)


def confidence_angle(model: Floats, source: Floats) -> float:
    """Return the angle in degrees of the line from the last to the first mean, source horizontal and model vertical.

    Examples
    --------
    >>> import numpy as np
    >>> confidence_angle(np.array([0.75, 0.6, 0.25]), np.array([0.75, 0.7, 0.25]))
    45.0
    """
    up, across = float(model[0] - model[-1]), float(source[0] - source[-1])
    return math.nan if max(abs(up), abs(across)) <= NOISE else math.degrees(math.atan2(up, across))


def means_of_pairs(
    classes: Mapping[Any, Pairs],
    method: Source,
    facts: dict[str, Any],
    known: Mapping[Any, ProbabilityGroups | None] = MappingProxyType({}),
) -> ProbabilityMeans:
    """Average the probabilities of the true pairs of some classes, whose groups may already be known."""
    columns = zip(*(pairs.true_probabilities() for pairs in classes.values()), strict=True)
    model, source, weight = (np.concatenate(column) for column in columns)
    exponent = np.array(EXPONENTS)
    means = _means((model, source, weight), exponent, method)
    groups = None
    if method != "none":
        groups = joined(known.get(label) or pairs.groups(label) for label, pairs in classes.items())
    return ProbabilityMeans(
        exponent=exponent,
        **means,
        angle=None if means["source"] is None else confidence_angle(means["model"], means["source"]),
        method=method,
        bins=len(groups.source) if method == "bins" and groups is not None else None,
        weight=float(weight.sum()),
        groups=groups,
        probabilities=(model, source, weight),
        **facts,
    )


def _means(probabilities: tuple[Floats, Floats, Floats], exponent: Floats, method: Source) -> dict[str, Any]:
    """Return the means of model and source and their ratio, by field name."""
    *columns, weight = probabilities
    model, source = (power_means(column, weight, exponent) for column in columns)
    if method == "none":
        return {"model": model, "source": None, "divergence": None}
    return {"model": model, "source": source, "divergence": model / source}


def _read_tables(
    y_true: object, y_proba: object, *, pos_label: object, options: dict[str, Any]
) -> dict[Any, ForecastTable]:
    """Return the table of each class, or only that of the event if there is one event."""
    table = ForecastTable.given(y_true, y_proba, pos_label=pos_label, **options)
    if table is not None:
        return {"event": table}
    cases = read_cases(y_true, y_proba, pos_label=pos_label, **options)
    if cases.labels is None:
        return {"event": ForecastTable.from_cases(cases)}
    return dict(zip(cases.labels, map(ForecastTable.from_cases, cases.events("class")), strict=True))


def _check_source(source: object, precision: object, bins: object) -> None:
    checks.choice(source, "source", get_args(Source))
    if bins is not None and source != "bins":
        hint = 'pass source="bins" too, or leave bins out.'
        raise InputValueError('bins is for source="bins"', offender=f"the source is {source!r}", hint=hint)
    if precision is not None:
        checks.number(precision, "precision", above=0.0, below=MOST_PRECISION, hint="omit it to clip nothing.")


DECIMALS = 12  # Forecasts are rounded to find their bin, because 1 - 0.9 and 0.1 are the same forecast.
TINY = 1e-290  # Products with smaller exponents are inexact; the geometric mean is used.


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ProbabilityGroups(Result):
    """Pairs of a case and a class that share a source probability: the blocks or bins behind the source means.

    Parameters
    ----------
    label : array of shape (rows,)
        Class of the pairs, or "all" if the pairs of all classes share a bin.
    low, high : array of shape (rows,)
        Smallest and largest probability that the model gave to a pair of the group.
    source : array of shape (rows,)
        Share of the pairs whose class is the one that happened.
    model : array of shape (rows,)
        Geometric mean of the model probabilities of these true pairs; NaN if there are no such pairs.
    weight, pair_weight : array of shape (rows,)
        Weight of the true pairs, and of all pairs.

    Examples
    --------
    >>> import propriety as pr
    >>> groups = pr.probability_means([1, 0, 1, 0], [0.8, 0.6, 0.4, 0.2]).groups
    >>> groups.source.round(3)
    array([0. , 0.5, 1. , 0. , 0.5, 1. ])
    """

    label: NDArray[np.str_]
    low: Floats
    high: Floats
    source: Floats
    model: Floats
    weight: Floats
    pair_weight: Floats


def power_mean(values: Floats, weight: Floats, exponent: float) -> float:
    r"""Return the weighted power mean :math:`(\sum w v^m / \sum w)^{1/m}` of non-negative numbers.

    The exponent 0 gives the geometric mean, -inf and inf the smallest and the largest number. A zero makes the mean
    zero unless the exponent is positive; without weight the mean is NaN.

    Examples
    --------
    >>> import numpy as np
    >>> [power_mean(np.array([0.25, 1.0]), np.ones(2), exponent) for exponent in (1, 0, -1)]
    [0.625, 0.5, 0.4]
    """
    return float(power_means(values, weight, np.array([exponent]))[0])


def power_means(values: Floats, weight: Floats, exponents: Floats) -> Floats:
    """Return the weighted power means for several exponents; see `power_mean`.

    Examples
    --------
    >>> power_means(np.array([0.25, 1.0]), np.ones(2), np.array([1.0, 0.0, -1.0]))
    array([0.625, 0.5  , 0.4  ])
    """
    values, weight = _runs(values[weight > 0.0], weight[weight > 0.0])
    if not len(values):
        return np.full(len(exponents), np.nan)
    share, logs = weight / weight.sum(), {}
    means = []
    for given in exponents.tolist():
        exponent = 0.0 if abs(given) < TINY else given
        # Relative to the dominant number, so that no power overflows and small exponents keep their digits.
        scale = float(values.max() if exponent > 0.0 else values.min())
        if scale == 0.0 or math.isinf(exponent):
            means.append(scale)
        elif exponent == 1.0:
            means.append(scale * float((share * (values / scale)).sum()))
        else:
            if scale not in logs:
                logs[scale] = _logs(values, scale)
            means.append(_power_mean(logs[scale], share, scale, exponent))
    return np.array(means)


def _runs(values: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Add up the weights of equal neighbours, of which recalibrated forecasts have many."""
    first = np.flatnonzero(np.diff(values, prepend=-1.0))
    return (values[first], np.add.reduceat(weight, first)) if 2 * len(first) < len(values) else (values, weight)


def _logs(values: Floats, scale: float) -> Floats:
    with np.errstate(divide="ignore", over="ignore"):  # Zero to a positive power is zero.
        ratio = values / scale
        return np.log(ratio) if ratio.max() < math.inf else np.log(values) - math.log(scale)


def _power_mean(logs: Floats, share: Floats, scale: float, exponent: float) -> float:
    growth = float(share @ logs) if exponent == 0.0 else _log_of_mean(exponent * logs, share) / exponent
    # Next to a subnormal number the ratio may overflow, although the mean does not.
    return scale * math.exp(growth) if scale > 1e-150 else math.exp(math.log(scale) + growth)


def _log_of_mean(powers: Floats, share: Floats) -> float:
    """Return log(sum of share * exp(powers)), for powers that are not positive."""
    change = float(share @ np.expm1(powers))
    # A small change keeps the digits of small powers. A large one, where 0 has almost no share, would lose them all.
    return math.log1p(change) if change > -0.5 else math.log(float(share @ np.exp(powers)))


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Pairs of a case and a class, sorted by forecast: weight of the true pairs and of the others.

    `start` holds the first row of each group and, at the end, the number of rows.
    """

    forecast: Floats
    true: Floats
    false: Floats
    start: NDArray[np.intp]

    def mirrored(self) -> Pairs:
        """Return the pairs of the same cases with the other of two classes."""
        start = len(self.forecast) - self.start[::-1]
        return Pairs(1.0 - self.forecast[::-1], self.false[::-1], self.true[::-1], start)

    def rates(self) -> Floats:
        """Share of true pairs in each group."""
        true, false = (np.add.reduceat(column, self.start[:-1]) for column in (self.true, self.false))
        return true / (true + false)

    def true_probabilities(self) -> tuple[Floats, Floats, Floats]:
        """Return model probability, source probability and weight of the true pairs."""
        happened = self.true > 0.0
        source = np.repeat(self.rates(), np.diff(self.start))
        return self.forecast[happened], source[happened], self.true[happened]

    def groups(self, label: object) -> ProbabilityGroups:
        """Return the groups as a result."""
        start = self.start[:-1]
        low, weight = self.forecast[start], np.add.reduceat(self.true, start)
        return ProbabilityGroups(
            label=np.full(len(start), str(label)),
            low=low,
            high=self.forecast[self.start[1:] - 1],
            source=self.rates(),
            model=self._geometric_means(weight),
            weight=weight,
            pair_weight=np.add.reduceat(self.true + self.false, start),
        )

    def _geometric_means(self, weight: Floats) -> Floats:
        """Return the geometric mean of the forecasts of the true pairs of each group; NaN without true pairs."""
        # Relative to the highest forecast of the group, so that small forecasts keep their digits.
        scale = self.forecast[self.start[1:] - 1]
        with np.errstate(divide="ignore", invalid="ignore"):  # Forecasts of 0, or groups without true pairs.
            logs = np.log(self.forecast / np.repeat(scale, np.diff(self.start)))
            sums = np.add.reduceat(np.where(self.true > 0.0, self.true * logs, 0.0), self.start[:-1])
            means: Floats = np.where(scale == 0.0, 0.0, scale * np.exp(sums / weight))
        return np.where(weight > 0.0, means, np.nan)


def by_blocks(table: ForecastTable) -> Pairs:
    """Group the pairs that isotonic regression pools."""
    return Pairs(table.forecast, table.events, table.non_events, pool_adjacent_violators(table).start)


def by_forecast(table: ForecastTable) -> Pairs:
    """Make each distinct forecast a group."""
    return Pairs(table.forecast, table.events, table.non_events, np.arange(len(table) + 1))


def by_bins(table: ForecastTable, bins: int | ArrayLike) -> Pairs:
    """Group the pairs by bins, given by their number or edges; equal forecasts are never split."""
    place = np.round(table.forecast, DECIMALS)
    if np.ndim(bins) == 0:
        rounded = table.moved(place)
        first = rounded.forecast[bin_starts(rounded, bins=bins, strategy="quantile")]  # type: ignore[arg-type]  # checked there
        start = np.searchsorted(place, first)
    else:
        edges = _read_edges(bins)
        index = np.minimum(np.searchsorted(edges, place, side="right"), len(edges) - 1)
        start = np.flatnonzero(np.diff(index, prepend=-1))
    return Pairs(table.forecast, table.events, table.non_events, np.append(start, len(table)))


def _read_edges(bins: object) -> Floats:
    edges = read_array(bins, "bins").values
    law = "must be a whole number, or edges that rise from 0 to 1"
    if edges.dtype.kind not in "iuf" or edges.ndim != 1 or len(edges) < 2:
        raise InputTypeError(law, argument="bins", offender=f"got shape {edges.shape} of {edges.dtype}")
    if not (edges[0] == 0.0 and edges[-1] == 1.0 and (np.diff(edges) > 0.0).all()):
        raise InputValueError(law, argument="bins", got=edges.tolist())
    return edges.astype(np.float64)


def clipped(table: ForecastTable, precision: float) -> ForecastTable:
    """Return the table with its forecasts clipped to [precision, 1 - precision]."""
    return table.moved(np.clip(table.forecast, precision, 1.0 - precision))


def complement(table: ForecastTable) -> ForecastTable:
    """Return the table of the complementary event."""
    swapped = replace(
        table,
        events=table.non_events,
        non_events=table.events,
        event_squares=table.non_event_squares,
        non_event_squares=table.event_squares,
        n_events=table.n - table.n_events,
    )
    return swapped.moved(1.0 - table.forecast)


def joined(parts: Iterable[ProbabilityGroups]) -> ProbabilityGroups:
    """Stack the groups of several classes."""
    columns = [part.columns() for part in parts]
    return ProbabilityGroups(**{name: np.concatenate([part[name] for part in columns]) for name in columns[0]})
