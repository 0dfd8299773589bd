"""Events and their probabilities from values and ensembles of values."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

from propriety.errors import InputTypeError, InputValueError
from propriety.integrations.libraries import load_library
from propriety.integrations.xarray_arrays import Join, align_arrays

if TYPE_CHECKING:
    from xarray import DataArray

xr = load_library("xarray", extra="xarray")


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
    if not isinstance(values, xr.DataArray):
        law = "must be an xarray.DataArray"
        raise InputTypeError(law, argument="values", offender=f"got {type(values).__name__}")
    if member_dim is not None and member_dim not in values.dims:
        law = f"must name a dimension of values, {values.dims}"
        raise InputValueError(law, argument="member_dim", offender=f"got {member_dim!r}")
    if isinstance(threshold, xr.DataArray):
        values, threshold = align_arrays({"values": values, "threshold": threshold}, join).values()
    above = values > threshold
    known = above | (values <= threshold)  # Neither holds if the value or the threshold is missing.
    exceeds = above.where(known).astype(float)
    found: DataArray = exceeds if member_dim is None else exceeds.mean([member_dim])
    return found.drop_attrs()
