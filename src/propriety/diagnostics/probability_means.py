"""Generalized means of the probabilities of what happened: decisiveness, accuracy and robustness of a forecast."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike

from propriety.checks import check_choice, is_number
from propriety.diagnostics.probability_groups import (
    Pairs,
    ProbabilityGroups,
    by_bins,
    by_blocks,
    by_forecast,
    clipped,
    complement,
    joined,
    power_means,
)
from propriety.errors import InputTypeError, InputValueError
from propriety.result import Floats, Result
from propriety.tables.arrays import read_array
from propriety.tables.cases import TOLERANCE
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.labels import Labels
from propriety.tables.validation import Missing, read_cases

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
    y_true: ArrayLike | ForecastTable,
    y_proba: ArrayLike | None = None,
    *,
    source: Source = "pav",
    precision: float | None = None,
    bins: int | ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Hashable | None = None,
    labels: Labels | None = None,
    missing: Missing = "raise",
    tolerance: float = TOLERANCE,
) -> ProbabilityMeans:
    r"""Average the probabilities of what happened, as the model gave them and as they should have been.

    With :math:`q_i` the probability that the model gave to the class that happened, and :math:`P_i` the share of such
    forecasts that come true (the source probability),

    .. math::

       \text{model}_m = \Bigl(\sum_i w_i\, q_i^m\Bigr)^{1/m}, \qquad
       \text{source}_m = \Bigl(\sum_i w_i\, P_i^m\Bigr)^{1/m}, \qquad
       \text{divergence}_m = \text{model}_m / \text{source}_m ,

    :math:`\sum_i w_i = 1`, for :math:`m = 1` (decisiveness), :math:`m = 0` (accuracy, the geometric mean) and
    :math:`m = -2/3` (robustness). Accuracy is the log score on the scale of probabilities, and its divergence is the
    cost of miscalibration. The angle of the line from robustness to decisiveness,

    .. math::

       \operatorname{atan2}(\text{model}_1 - \text{model}_{-2/3},\ \text{source}_1 - \text{source}_{-2/3}),

    is 45 degrees for calibrated forecasts. With many cases, it is larger for forecasts that are too extreme and smaller
    for forecasts that are too timid. In a sample it also varies by chance, by several degrees with 2,000 cases, so it
    decides nothing: `propriety.calibration_summary` tests calibration.

    Parameters
    ----------
    y_true, y_proba, sample_weight, pos_label, labels, missing, tolerance
        As in `propriety.mean_score`: the probability of one event, class probabilities, or a ForecastTable of one
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
    With "pav" the divergence of accuracy never exceeds 1. For one event it is exp(-miscalibration) of the log score in
    `propriety.decompose`, and two columns give the same result as one event. For more classes it is at most the mean
    sum of a row: within a block the true pairs have the lower forecasts, so their mean log forecast is at most that of
    all pairs and at most the log of its mean forecast; the rest follows from the log-sum inequality over the blocks.
    With three classes or more, `precision` can make rows sum to more than 1, and the divergence can then exceed 1
    slightly. With "bins" there is no bound. Divergences of the other exponents, and those of a single class in `parts`,
    may exceed 1 with any source.

    In `parts`, a mean is over the cases of one class, and bins hold only the pairs of that class.

    Only accuracy is proper. A model raises its decisiveness by claiming certainty, and its robustness by hedging: for m
    below 1 the best report is proportional to the 1 / (1 - m)th power of the truth.

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
        tolerance=tolerance,
        options={"sample_weight": sample_weight, "labels": labels, "missing": missing},
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
    y_true: object, y_proba: object, *, pos_label: object, tolerance: float, options: dict[str, Any]
) -> dict[Any, ForecastTable]:
    """Return the table of each class, or only that of the event if there is one event."""
    if isinstance(y_true, ForecastTable):
        return {"event": ForecastTable.of(y_true, y_proba, pos_label=pos_label, **options)}
    cases = read_cases(y_true, y_proba, pos_label=pos_label, tolerance=tolerance, **options)
    if cases.labels is None:
        return {"event": ForecastTable.from_cases(cases)}
    return dict(zip(cases.labels, map(ForecastTable.from_cases, cases.events("class")), strict=True))


def _check_source(source: object, precision: object, bins: object) -> None:
    check_choice("source", source, get_args(Source))
    if bins is not None and source != "bins":
        hint = 'pass source="bins" too, or leave bins out.'
        raise InputValueError('bins is for source="bins"', offender=f"the source is {source!r}", hint=hint)
    if precision is not None and (not is_number(precision) or not 0.0 < precision < MOST_PRECISION):  # type: ignore[operator]  # a number
        law = f"must lie strictly between 0 and {MOST_PRECISION:g}"
        raise InputValueError(law, argument="precision", offender=f"got {precision!r}", hint="omit it to clip nothing.")
