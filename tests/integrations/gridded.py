"""Forecasts at sites and lead times, and of three classes, for the tests of the adapter for xarray."""

import numpy as np
import xarray as xr

__all__ = ["AREA", "COORDS", "KIND", "LABELS", "OBSERVED", "ROWS", "P", "Y"]

RNG = np.random.default_rng(3)
COORDS = {"time": np.arange(40), "site": ["north", "south", "west"], "lead": [6, 12]}
P = xr.DataArray(RNG.random((40, 3, 2)).round(2), dims=("time", "site", "lead"), coords=COORDS, attrs={"units": "1"})
Y = (xr.DataArray(RNG.random((40, 3, 2)), dims=P.dims, coords=COORDS) < P).astype(int)
OBSERVED = Y.isel(lead=0, drop=True)
AREA = xr.DataArray([1.0, 0.5, 2.0], dims="site", coords={"site": COORDS["site"]})
LABELS = ["dry", "wet", "storm"]
ROWS = xr.DataArray(
    RNG.dirichlet(np.ones(3), (40, 3)),
    dims=("time", "site", "kind"),
    coords={"time": COORDS["time"], "site": COORDS["site"], "kind": LABELS},
)
KIND = xr.DataArray(
    np.array(LABELS)[RNG.integers(0, 3, (40, 3))],
    dims=("time", "site"),
    coords={"time": COORDS["time"], "site": COORDS["site"]},
)
