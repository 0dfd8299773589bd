"""Reliability curves of many events, each made when it is looked at: of a thousand classes a page shows a few."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from propriety.calibration.reliability import ReliabilityCurve, reliability_curve
from propriety.tables.forecast_table import ForecastTable

__all__ = ["BandedCurves"]


class BandedCurves(Mapping[Any, ReliabilityCurve]):
    """The reliability curve of each event of a model, with its consistency band, made once when it is asked for.

    Parameters
    ----------
    tables : mapping of label to ForecastTable
        The forecast table of each event.
    **options
        Those of `ReliabilityCurve.with_consistency_band`.

    Examples
    --------
    >>> table = ForecastTable.from_predictions([0, 1, 1], [0.2, 0.4, 0.9])
    >>> curves = BandedCurves({"event": table}, level=0.9, n_resamples=10, seed=1)
    >>> list(curves), curves["event"].bands[0].level
    (['event'], 0.9)
    """

    def __init__(self, tables: Mapping[Any, ForecastTable], **options: Any) -> None:
        self._tables, self._options = tables, options
        self._made: dict[Any, ReliabilityCurve] = {}

    def __getitem__(self, label: Any) -> ReliabilityCurve:
        if label not in self._made:
            self._made[label] = reliability_curve(self._tables[label]).with_consistency_band(**self._options)
        return self._made[label]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)

    def __repr__(self) -> str:
        return f"BandedCurves({list(self)})"
