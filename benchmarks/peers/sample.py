"""The sample that every package is given, in its own kind of container."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

__all__ = ["CLASSES", "GRID", "HORIZON", "RESAMPLES", "Sample", "Work", "Works"]

CLASSES = 5
RESAMPLES = 1000
GRID = np.arange(1, 101) / 101  # 100 thresholds, none of them a forecast.
HORIZON = 1.0
STATIONS = 10  # Points of the named arrays.


@dataclass(frozen=True)
class Sample:
    """Calibrated continuous forecasts of an event, and rows for an ordered outcome, in every container."""

    n: int

    @cached_property
    def p(self) -> np.ndarray:
        """Forecasts."""
        return np.random.default_rng(0).random(self.n)

    @cached_property
    def y(self) -> np.ndarray:
        """Outcomes as integers, which every package takes."""
        return (np.random.default_rng(1).random(self.n) < self.p).astype(int)

    @cached_property
    def rows(self) -> np.ndarray:
        """Probabilities of ordered classes."""
        drawn = np.random.default_rng(2).random((self.n, CLASSES))
        drawn /= drawn.sum(axis=1, keepdims=True)
        return drawn

    @cached_property
    def classes(self) -> np.ndarray:
        """Classes that happened, from 0."""
        return np.random.default_rng(3).integers(0, CLASSES, self.n)

    @cached_property
    def arrays(self):
        """Outcomes and forecasts for scores."""
        import xarray as xr

        return xr.DataArray(self.y, dims="case"), xr.DataArray(self.p, dims="case")

    @cached_property
    def tensors(self):
        """Outcomes and forecasts for torchmetrics, in double precision as everybody else's."""
        import torch

        return torch.as_tensor(self.y), torch.as_tensor(self.p)

    @cached_property
    def frame(self):
        """Outcomes and forecasts for dcurves."""
        import pandas as pd

        return pd.DataFrame({"y": self.y, "p": self.p})

    @cached_property
    def grids(self):
        """Outcomes and forecasts by time and station, with coordinates."""
        import xarray as xr

        shape = (self.n // STATIONS, STATIONS)
        named = {"time": np.arange(shape[0]), "station": np.arange(shape[1])}
        return tuple(xr.DataArray(one.reshape(shape), coords=named, dims=[*named]) for one in (self.y, self.p))

    @cached_property
    def other(self) -> np.ndarray:
        """Forecasts of the same event by a second, slightly worse model."""
        return np.clip(self.p + 0.1 * np.random.default_rng(4).standard_normal(self.n), 0.0, 1.0)

    @cached_property
    def class_tensors(self):
        """Classes and their probabilities for PyTorch."""
        import torch

        return torch.as_tensor(self.likely), torch.as_tensor(self.rows)

    @cached_property
    def likely(self) -> np.ndarray:
        """Classes drawn from their probabilities, with the same temperature for all."""
        sharp = np.cumsum(self.rows**1.3, axis=1)
        drawn = np.random.default_rng(5).random((self.n, 1)) * sharp[:, -1:]
        return (drawn > sharp).sum(axis=1)

    @cached_property
    def followed(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Times to the event or to the end of follow-up, which of the two it is, and risks by the horizon."""
        rng = np.random.default_rng(6)
        happens, ends = rng.exponential(1.0 / (0.2 + self.p)), rng.exponential(2.0, self.n)
        return np.minimum(happens, ends), happens <= ends, 1.0 - np.exp(-HORIZON * (0.2 + self.p))

    @cached_property
    def survival(self):
        """The follow-up for scikit-survival."""
        from sksurv.util import Surv

        time, event, _ = self.followed
        return Surv.from_arrays(event, time)

    @cached_property
    def grouped(self):
        """Outcomes, forecasts and two columns of groups."""
        rng = np.random.default_rng(7)
        groups = {"country": rng.integers(0, 8, self.n), "device": rng.integers(0, 4, self.n)}
        return self.frame.assign(**{name: codes.astype(str) for name, codes in groups.items()})

    def prepare(self, other: Sample) -> None:
        """Make the containers that another sample was asked for."""
        for name in vars(other):
            getattr(self, name)


Work = Callable[[Sample], float | None]
Works = Mapping[str, Work]  # By package, ours first; what follows a comma says what is different.
