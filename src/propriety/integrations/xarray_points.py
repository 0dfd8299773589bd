"""Estimates with intervals, and comparisons of two forecasts, from the cases of every point of named arrays."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from propriety import checks
from propriety.checks import check_level, check_resamples, fresh_seed
from propriety.errors import UNDEFINED, InputValueError
from propriety.inference.bootstrap import Drawing
from propriety.inference.comparison import compare_of
from propriety.inference.dependence import check_periods
from propriety.inference.estimation import estimate_or_note
from propriety.inference.measure_reading import read_measure
from propriety.inference.measures import Measure
from propriety.integrations import load_library
from propriety.integrations.xarray_arrays import Arrays, Dimensions, Join, Point, at_points, read_arrays
from propriety.ledger.ledger import Ledger
from propriety.ledger.sources import open_ledger
from propriety.result import Floats
from propriety.rules.families import BRIER
from propriety.rules.rule import Rule
from propriety.tables.cases import Cases
from propriety.tables.frames import check_names
from propriety.tables.labels import Labels
from propriety.tables.validation import Missing

if TYPE_CHECKING:
    from xarray import DataArray, Dataset

xr = load_library("xarray", extra="xarray")

ESTIMATED = ("value", "low", "high", "standard_error")
COMPARED = ("difference", "low", "high", "standard_error", "p_value")


def estimate(  # noqa: PLR0913  (the data, what is estimated, and how it is drawn)
    y_true: DataArray,
    y_proba: DataArray,
    measure: Measure | Rule = BRIER,
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
    (array([0.159, 0.146]), array([0.2  , 0.193]))
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
        return *(getattr(result, name) for name in ESTIMATED), ledger.n, result.note

    points = at_points(estimated, arrays, dict.fromkeys(ESTIMATED, np.nan) | {"n": 0, "note": ""})
    seeded = {"n_resamples": n_resamples, "seed": drawing.seed}
    return points.assign_attrs({"measure": asked.label, "level": level} | seeded)


def compare(  # noqa: PLR0913  (the data, what is compared, and how it is drawn)
    y_true: DataArray,
    forecasts: Mapping[str, DataArray],
    measure: Measure | Rule = BRIER,
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
    array([0.655, 0.   ])
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
            result = compare_of(ledger, asked, horizon=horizon, level=level, drawing=drawing)
        except UNDEFINED as error:
            return *([np.nan] * len(COMPARED)), ledger.n, str(error).rstrip(".")
        return *(float(getattr(result, name)[0]) for name in COMPARED), ledger.n, result.note

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
