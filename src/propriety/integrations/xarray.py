"""xarray: scores, intervals, comparisons and reliability over some dimensions of arrays, at every point of the others.

Dimensions are matched by name: observations are repeated for every lead time, and a climatology for every day.
Coordinates must be equal, unless ``join="inner"`` is passed. Dask arrays stay lazy.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from propriety import checks
from propriety.checks import check_level, check_resamples, fresh_seed, is_number
from propriety.errors import UNDEFINED, InputValueError
from propriety.inference.bootstrap import Drawing
from propriety.inference.comparison import compare_of
from propriety.inference.dependence import check_periods
from propriety.inference.estimation import estimate_or_note
from propriety.inference.finding_words import notes_of
from propriety.inference.measures.reading import AnyMeasure, read_measure
from propriety.integrations import load_library
from propriety.integrations.xarray_arrays import (
    Arrays,
    Dimensions,
    Join,
    Layout,
    Point,
    align_arrays,
    at_points,
    read_arrays,
)
from propriety.integrations.xarray_curves import decompose, reliability_by, reliability_curve
from propriety.ledger.ledger import Ledger
from propriety.ledger.sources import open_ledger
from propriety.result import Floats
from propriety.rules.families import BRIER
from propriety.rules.rule import ClassRule, Rule, binary_rule, check_rule
from propriety.rules.scoring import losses_of
from propriety.tables.cases import Cases
from propriety.tables.frames import check_names
from propriety.tables.labels import Labels
from propriety.tables.validation import Missing, read_cases

if TYPE_CHECKING:
    from xarray import DataArray, Dataset

__all__ = [
    "compare",
    "decompose",
    "estimate",
    "exceedance",
    "mean_score",
    "reliability_by",
    "reliability_curve",
    "skill_score",
]

xr = load_library("xarray", extra="xarray")

OUTCOMES = "propriety outcome"  # A dimension of no and yes, or of the classes, which no array of the user has.

ESTIMATED = {"value": "value", "low": "low", "high": "high", "standard_error": "error"}
COMPARED = ("difference", "low", "high", "standard_error", "p_value")


def mean_score(
    y_true: DataArray,
    y_proba: DataArray,
    *,
    rule: Rule,
    dim: Dimensions = None,
    class_dim: Hashable | None = None,
    sample_weight: DataArray | None = None,
    join: Join = "exact",
    pos_label: object = None,
    labels: Labels | None = None,
    missing: Missing = "raise",
) -> DataArray:
    r"""Weighted mean loss over some dimensions, at every point along the others; lower is better.

    At each point it is :math:`\sum_i w_i S(p_i, y_i) / \sum_i w_i` over the cases :math:`i` along `dim`, where
    :math:`S` is the rule's loss. Dask arrays stay lazy, and their values are checked when the result is computed.

    Parameters
    ----------
    y_true : DataArray
        Outcomes. They may lack dimensions of the forecasts, such as the lead time, and are then repeated along them.
    y_proba : DataArray
        Probability of the event, or of each class along `class_dim`. It may lack dimensions of `y_true`, as a
        climatology does.
    rule : Rule
        The scoring rule.
    dim : name or list of names, optional
        The dimensions to average over; by default all of them, with ``[]`` none.
    class_dim : name, optional
        The dimension of `y_proba` for the classes. Its coordinate, if it has one, holds their labels. Two classes are
        scored as one event, by default the second.
    sample_weight : DataArray, optional
        Weights, finite and not negative. They may lack dimensions, as the area of a cell does.
    join : {"exact", "inner"}
        Whether coordinates that differ raise an error, or only those that all arrays have are kept. An array without
        coordinates has those of the others. All forecasts must have the same classes in the same order.
    pos_label, labels
        As in `propriety.mean_score`.
    missing : {"raise", "drop"}
        Whether missing values raise an error, or their cases are left out; without cases the mean is NaN.

    Returns
    -------
    DataArray
        Named after the rule; its attributes hold the rule and its scale.

    Examples
    --------
    >>> import propriety as pr
    >>> import xarray as xr
    >>> y = xr.DataArray([0, 1], dims="time")
    >>> p = xr.DataArray([[0.0, 0.5], [0.5, 0.5]], dims=("lead", "time"), coords={"lead": [24, 72]})
    >>> mean_score(y, p, rule=pr.Brier(), dim="time").values
    array([0.125, 0.25 ])
    """
    check_rule(rule)
    reading = {"pos_label": pos_label, "labels": labels, "missing": missing}
    arrays = read_arrays(y_true, {"y_proba": y_proba}, sample_weight, reading, dim=dim, join=join, class_dim=class_dim)
    weight, loss = _sums(arrays, rule)
    score = _ratio(loss, weight)
    return score.rename(rule.name).assign_attrs(rule=repr(rule), scale=rule.units(arrays.classes))


def skill_score(  # noqa: PLR0913  (as in `mean_score`)
    y_true: DataArray,
    y_proba: DataArray,
    *,
    rule: Rule,
    reference: DataArray | float | None = None,
    dim: Dimensions = None,
    class_dim: Hashable | None = None,
    sample_weight: DataArray | None = None,
    join: Join = "exact",
    pos_label: object = None,
    labels: Labels | None = None,
    missing: Missing = "raise",
) -> DataArray:
    """Share of the loss of a reference that the forecast saves, 1 - S / S_reference, at every point; higher is better.

    Parameters
    ----------
    y_true, y_proba, rule, dim, class_dim, sample_weight, join, pos_label, labels, missing
        As in `mean_score`.
    reference : DataArray or float, optional
        Another forecast, a climatology that lacks dimensions of `y_proba`, or a rate. By default it is the sample
        climatology: at each point, the rates observed in the cases along `dim`.

    Returns
    -------
    DataArray
        NaN at points where the reference has no loss, as the sample climatology has if the outcome is always the same.

    Examples
    --------
    >>> import propriety as pr
    >>> import xarray as xr
    >>> y = xr.DataArray([0, 1], dims="time")
    >>> p = xr.DataArray([[0.0, 0.5], [0.5, 0.5]], dims=("lead", "time"), coords={"lead": [24, 72]})
    >>> skill_score(y, p, rule=pr.Brier(), dim="time").values
    array([0.5, 0. ])
    >>> skill_score(y, p, rule=pr.Brier(), reference=p.sel(lead=72, drop=True), dim="time").values
    array([0.5, 0. ])
    """
    check_rule(rule)
    forecasts: dict[str, object] = {"y_proba": y_proba}
    if reference is not None:
        forecasts["reference"] = xr.DataArray(reference) if is_number(reference) else reference
    reading = {"pos_label": pos_label, "labels": labels, "missing": missing}
    arrays = read_arrays(y_true, forecasts, sample_weight, reading, dim=dim, join=join, class_dim=class_dim)
    if reference is None:
        weight, loss, happened = _sums(arrays, rule, with_outcomes=True)
        against = _climatological(rule, happened, binary=arrays.classes is None)
    else:
        weight, loss, against = _sums(arrays, rule)
    skill = 1.0 - _ratio(loss, against)
    what = "the observed rates" if reference is None else "the reference"
    named: DataArray = skill.where(weight > 0.0).rename(f"{rule.name}_skill")
    return named.assign_attrs(rule=repr(rule), scale=f"share of the loss of {what} that is saved")


def exceedance(
    values: DataArray, threshold: DataArray | float, *, member_dim: Hashable | None = None, join: Join = "exact"
) -> DataArray:
    """Whether values exceed a threshold; with `member_dim`, the share of the members of an ensemble that do.

    The result is missing where the value or the threshold is, whereas in ``values > threshold`` a missing value does
    not exceed any threshold. The share is among the members that are known, and is missing if there are none. Dask
    arrays stay lazy.

    Parameters
    ----------
    values : DataArray
        Observations, or the members of an ensemble.
    threshold : DataArray or float
        The threshold, which may differ between points, as a quantile of the climatology does.
    member_dim : name, optional
        The dimension of the members.
    join : {"exact", "inner"}
        Whether coordinates that differ raise an error, or only those that both arrays have are kept.

    Returns
    -------
    DataArray
        Between 0 and 1: outcomes, or the probability of the event.

    Examples
    --------
    >>> import xarray as xr
    >>> rain = xr.DataArray([0.2, float("nan"), 7.1], dims="time")
    >>> exceedance(rain, 1.0).values
    array([ 0., nan,  1.])
    >>> members = xr.DataArray([[0.0, 3.0, 9.0], [0.5, 0.1, 4.0]], dims=("member", "time"))
    >>> exceedance(members, 1.0, member_dim="member").values
    array([0. , 0.5, 1. ])
    """
    checks.instance(values, "values", xr.DataArray, "an xarray.DataArray")
    if member_dim is not None:
        checks.choice(member_dim, "member_dim", values.dims)
    if isinstance(threshold, xr.DataArray):
        values, threshold = align_arrays({"values": values, "threshold": threshold}, join).values()
    above = values > threshold
    known = above | (values <= threshold)  # Neither holds if the value or the threshold is missing.
    exceeds = above.where(known).astype(float)
    found: DataArray = exceeds if member_dim is None else exceeds.mean([member_dim])
    return found.drop_attrs()


def _ratio(loss: DataArray, total: DataArray) -> DataArray:
    """Return the ratio of two arrays with the same coordinates; NaN where the second is not positive."""
    # `loss / total.where(total > 0.0)` is the same, but xarray would align the coordinates three times.
    return loss.copy(data=loss.data / np.where(total.data > 0.0, total.data, np.nan))


def _sums(arrays: Arrays, rule: Rule, *, with_outcomes: bool = False) -> tuple[DataArray, ...]:
    """Return the sums of the weights, and of the weighted losses under each forecast, over some dimensions.

    Also, if asked for, the weight of the cases by outcome along the dimension `OUTCOMES`, at the class that happened:
    for one event, no or yes. Arrays of Dask are summed block by block.
    """
    inside = () if arrays.is_lazy else arrays.y_true.dims
    kept = [dim for dim in inside if dim not in arrays.over]
    output = [*(kept for _ in range(1 + len(arrays.forecasts))), *([[*kept, OUTCOMES]] if with_outcomes else [])]
    classes = arrays.classes or 2
    work = partial(
        _block,
        layout=arrays.layout,
        rule=rule,
        reading=arrays.reading,
        classes=classes if with_outcomes else None,
        axes=tuple(axis for axis, dim in enumerate(inside) if dim in arrays.over),
    )
    sums: tuple[DataArray, ...] = xr.apply_ufunc(
        work,
        *arrays.all,
        input_core_dims=arrays.core_dims(inside),
        output_core_dims=output,
        dask="parallelized",
        dask_gufunc_kwargs={"allow_rechunk": True, "output_sizes": {OUTCOMES: classes} if with_outcomes else {}},
        output_dtypes=[np.float64] * len(output),
        keep_attrs=False,
    )
    return tuple(part.sum(arrays.over, skipna=False) for part in sums) if arrays.is_lazy else sums


def _block(
    *values: NDArray[Any],
    layout: Layout,
    rule: Rule,
    reading: dict[str, Any],
    classes: int | None,
    axes: tuple[int, ...],
) -> tuple[Floats, ...]:
    """Return what `_sums` does for the values of one block, summed over these axes; with `classes`, by outcome too."""
    cells = layout.point(values)
    shape, size = cells.outcome.shape, cells.outcome.size
    numbers = np.zeros((1 + len(cells.forecasts), size))  # The weight, and the weighted loss of each forecast.
    happened = np.zeros((size, classes or 0))
    if cells.has_cases(reading["missing"]):
        named = {
            name: forecast.reshape(size, *forecast.shape[len(shape) :]) for name, forecast in cells.forecasts.items()
        }
        weight = None if cells.weight is None else cells.weight.ravel()
        several = len(named) > 1
        forecasts = named if several else next(iter(named.values()))
        cases = read_cases(cells.outcome.ravel(), forecasts, sample_weight=weight, snapshot=False, **reading)
        if several:
            cases = replace(cases, arguments={name: name for name in named})
        kept = slice(None) if cases.rows is None else cases.rows
        numbers[0, kept] = 1.0 if (weights := cases.weights()) is None else weights
        for row, model in enumerate(cases.models, start=1):
            # A case of zero weight does not count, even if its loss is infinite.
            loss, counted = losses_of(cases, rule, model), numbers[0, kept]
            numbers[row, kept] = np.multiply(loss, counted, where=counted > 0.0, out=np.zeros(len(counted)))
        if classes is not None:
            outcomes = np.zeros(size, dtype=np.intp)
            outcomes[kept] = cases.outcomes()
            happened[np.arange(size), outcomes] = numbers[0]
    parts = tuple(part.reshape(shape).sum(axis=axes) for part in numbers)
    return parts if classes is None else (*parts, happened.reshape(*shape, classes).sum(axis=axes))


def _climatological(rule: Rule, happened: DataArray, *, binary: bool) -> DataArray:
    """Return the total loss of the rates observed at each point, of which `happened` holds the weights."""

    def block(weight: NDArray[Any]) -> Floats:
        total = weight.sum(axis=-1, keepdims=True)
        with np.errstate(invalid="ignore"):
            rates = np.where(total > 0.0, weight / total, 0.5)
            losses = _losses_of_rates(rule, rates, binary=binary)
            loss: Floats = np.where(weight > 0.0, weight * losses, 0.0).sum(axis=-1)
        return loss

    return xr.apply_ufunc(
        block,
        happened,
        input_core_dims=[[OUTCOMES]],
        dask="parallelized",
        dask_gufunc_kwargs={"allow_rechunk": True},
        output_dtypes=[np.float64],
    )


def _losses_of_rates(rule: Rule, rates: Floats, *, binary: bool) -> Floats:
    """Return the loss of the rates, as a forecast, under each outcome; outcomes are last."""
    if binary:
        one, flat = binary_rule(rule), rates[..., 1].ravel()
        found = [np.broadcast_to(one.loss(flat, event=event), flat.shape) for event in (False, True)]
    elif not isinstance(rule, ClassRule):  # There are no cases, or their losses would have raised an error.
        return np.full(rates.shape, np.nan)
    else:
        columns = list(rates.reshape(-1, rates.shape[-1]).T)
        size = len(columns[0])
        found = [rule.class_case_loss(columns, np.full(size, place)) for place in range(len(columns))]
    return np.stack(found, axis=-1).reshape(rates.shape)


def estimate(  # noqa: PLR0913  (the data, what is estimated, and how it is drawn)
    y_true: DataArray,
    y_proba: DataArray,
    measure: AnyMeasure = BRIER,
    *,
    dim: Dimensions = None,
    time_dim: Hashable | None = None,
    cluster_dim: Hashable | None = None,
    class_dim: Hashable | None = None,
    sample_weight: DataArray | None = None,
    level: float = 0.95,
    n_resamples: int = 1000,
    seed: int | None = None,
    join: Join = "exact",
    pos_label: object = None,
    labels: Labels | None = None,
    missing: Missing = "raise",
) -> Dataset:
    """Estimate a measure with its confidence interval, from the cases along some dimensions, at every point.

    At each point it is the result of `propriety.estimate`, which documents the methods. It takes some milliseconds per
    point. Dask arrays stay lazy; every chunk of points then holds all of its cases.

    Parameters
    ----------
    y_true, y_proba, dim, class_dim, sample_weight, join, pos_label, labels, missing
        As in `propriety.integrations.xarray.mean_score`.
    measure : Rule, measure or callable
        What to estimate: a rule for its mean score, a measure such as ``pr.measures.Skill(pr.Brier())``, or any
        function of a ForecastTable.
    time_dim, cluster_dim : name, optional
        One of the dimensions `dim`, along which cases may be correlated: neighbouring times, or all cases of one
        cluster. Cases of the same time may be correlated too.
    level : float
        Confidence level of the intervals.
    n_resamples, seed : int, optional
        Number and seed of the draws, the same at every point, for measures without a formula.

    Returns
    -------
    Dataset
        `value`, `low`, `high` and `standard_error`; `n`, the number of cases; and `note`, which says why an interval
        is missing or may be too narrow. A point without cases has n = 0.

    Examples
    --------
    >>> import numpy as np
    >>> import xarray as xr
    >>> rng = np.random.default_rng(1)
    >>> p = xr.DataArray(rng.random((2, 300)), dims=("site", "time"))
    >>> y = (xr.DataArray(rng.random((2, 300)), dims=("site", "time")) < p).astype(int)
    >>> found = estimate(y, p, dim="time", time_dim="time")
    >>> found["low"].values.round(3), found["high"].values.round(3)
    (array([0.156, 0.146]), array([0.207, 0.194]))
    """
    asked = read_measure(measure)
    check_level(level)
    check_resamples(n_resamples)
    drawing = Drawing(n_resamples, fresh_seed(seed))
    reading = {"pos_label": pos_label, "labels": labels, "missing": missing}
    arrays = read_arrays(y_true, {"y_proba": y_proba}, sample_weight, reading, dim=dim, join=join, class_dim=class_dim)
    keys = _keys(arrays, time_dim=time_dim, cluster_dim=cluster_dim)

    def estimated(point: Point) -> tuple[Any, ...]:
        ledger = _ledger(point, keys | arrays.reading)
        result = estimate_or_note(ledger, ledger.models[0], asked, level=level, drawing=drawing)
        return *(getattr(result, name) for name in ESTIMATED.values()), ledger.n, notes_of(result)

    points = at_points(estimated, arrays, dict.fromkeys(ESTIMATED, np.nan) | {"n": 0, "note": ""})
    seeded = {"n_resamples": n_resamples, "seed": drawing.seed}
    return points.assign_attrs({"measure": asked.label, "level": level} | seeded)


def compare(  # noqa: PLR0913  (the data, what is compared, and how it is drawn)
    y_true: DataArray,
    forecasts: Mapping[str, DataArray],
    measure: AnyMeasure = BRIER,
    *,
    dim: Dimensions = None,
    time_dim: Hashable | None = None,
    cluster_dim: Hashable | None = None,
    class_dim: Hashable | None = None,
    sample_weight: DataArray | None = None,
    horizon: int | None = None,
    level: float = 0.95,
    n_resamples: int = 9999,
    seed: int | None = None,
    join: Join = "exact",
    pos_label: object = None,
    labels: Labels | None = None,
    missing: Missing = "raise",
) -> Dataset:
    """Compare two forecasts, from the cases along some dimensions, at every point along the others.

    At each point it is the result of `propriety.compare`, which documents the tests. It takes some milliseconds per
    point. Dask arrays stay lazy; every chunk of points then holds all of its cases.

    Parameters
    ----------
    y_true, dim, class_dim, sample_weight, join, pos_label, labels, missing
        As in `propriety.integrations.xarray.mean_score`.
    forecasts : mapping of str to DataArray
        Two forecasts by name. One may lack dimensions, as a climatology does.
    measure, time_dim, cluster_dim, level, n_resamples, seed
        As in `propriety.integrations.xarray.estimate`.
    horizon : int, optional
        Number of steps ahead of the forecasts, beyond which their errors are not correlated; see `propriety.compare`.

    Returns
    -------
    Dataset
        `difference`, the first forecast minus the second, with `low`, `high` and `standard_error`; `p_value` of each
        point by itself; `p_adjusted`, adjusted for the number of points; `n` and `note`.

    Notes
    -----
    Among many points, some p-values are small by chance. `p_adjusted` is that of Benjamini and Hochberg: if points with
    ``p_adjusted <= 0.1`` are called different, at most 10% of them are expected to be wrong. Correlation between
    neighbouring points makes this conservative in practice.

    References
    ----------
    Benjamini & Hochberg (1995), doi:10.1111/j.2517-6161.1995.tb02031.x; Wilks (2016), doi:10.1175/BAMS-D-15-00267.1,
    for maps.

    Examples
    --------
    >>> import numpy as np
    >>> import xarray as xr
    >>> rng = np.random.default_rng(1)
    >>> p = xr.DataArray(rng.random((2, 300)), dims=("site", "time"))
    >>> y = (xr.DataArray(rng.random((2, 300)), dims=("site", "time")) < p).astype(int)
    >>> vague = 0.5 + (p - 0.5) * xr.DataArray([0.9, 0.1], dims="site")
    >>> compare(y, {"sharp": p, "vague": vague}, dim="time", time_dim="time")["p_adjusted"].values.round(3)
    array([0.686, 0.   ])
    """
    asked = read_measure(measure)
    check_level(level)
    check_resamples(n_resamples)
    check_names(forecasts, 2)
    if len(forecasts) != 2:
        hint = "compare more with propriety.compare, at one point, or by pairs."
        raise InputValueError(
            "must hold two forecasts", argument="forecasts", offender=f"got {len(forecasts)}", hint=hint
        )
    drawing = Drawing(n_resamples, fresh_seed(seed))
    reading = {"pos_label": pos_label, "labels": labels, "missing": missing}
    arrays = read_arrays(y_true, forecasts, sample_weight, reading, dim=dim, join=join, class_dim=class_dim)
    keys = _keys(arrays, time_dim=time_dim, cluster_dim=cluster_dim)

    def compared(point: Point) -> tuple[Any, ...]:
        ledger = _ledger(point, keys | arrays.reading)
        try:
            found = compare_of(ledger, asked, horizon=horizon, level=level, drawing=drawing).differences
        except UNDEFINED as error:
            return *([np.nan] * len(COMPARED)), ledger.n, str(error).rstrip(".")
        numbers = (found[0].value, found[0].low, found[0].high, found[0].error, found[0].p)
        return *numbers, ledger.n, notes_of(found[0])

    points = at_points(compared, arrays, dict.fromkeys(COMPARED, np.nan) | {"n": 0, "note": ""})
    adjusted = xr.apply_ufunc(
        _benjamini_hochberg,
        points["p_value"],
        input_core_dims=[points["p_value"].dims],
        output_core_dims=[points["p_value"].dims],
        dask="parallelized",
        dask_gufunc_kwargs={"allow_rechunk": True},
        output_dtypes=[np.float64],
    )
    model, reference = forecasts
    facts = {"model": model, "reference": reference, "measure": asked.label, "level": level}
    facts |= {"n_resamples": n_resamples, "seed": drawing.seed}
    return points.assign(p_adjusted=adjusted).assign_attrs(facts)


def _keys(arrays: Arrays, *, time_dim: Hashable | None, cluster_dim: Hashable | None) -> dict[str, NDArray[np.intp]]:
    """Return the time or the cluster of each case of a point, as whole numbers in order."""
    keys, over = {}, arrays.over
    for key, argument, dim in (("period", "time_dim", time_dim), ("cluster", "cluster_dim", cluster_dim)):
        if dim is None:
            continue
        checks.choice(dim, argument, over)
        distinct, codes = np.unique(arrays.coordinate(dim), return_inverse=True)
        if key == "period":
            check_periods(list(distinct), None)
        sizes = [arrays.y_true.sizes[name] for name in over]
        keys[key] = codes[np.indices(sizes)[over.index(dim)]].ravel()
    return keys


def _ledger(point: Point, options: dict[str, Any]) -> Ledger:
    """Return the ledger of one point after checking all numbers."""
    forecasts = point.forecasts if len(point.forecasts) > 1 else next(iter(point.forecasts.values()))
    ledger = open_ledger(point.outcome, forecasts, sample_weight=point.weight, **options)
    assert isinstance(ledger.source, Cases)  # noqa: S101  (for the type checker; it was made of arrays)
    ledger.source.checked()
    return ledger


def _benjamini_hochberg(p_values: NDArray[Any]) -> Floats:
    """Return the adjusted p-values; those that are NaN do not count as tests.

    Examples
    --------
    >>> _benjamini_hochberg(np.array([0.01, np.nan, 0.04, 0.03]))
    array([0.03, nan, 0.04, 0.04])
    """
    from scipy.stats import false_discovery_control

    adjusted = np.full(p_values.shape, np.nan)
    tested = ~np.isnan(p_values)
    if tested.any():
        adjusted[tested] = false_discovery_control(p_values[tested])
    return adjusted
