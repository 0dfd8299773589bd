"""The recalibration methods by name, for binary forecasts and for class probabilities."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from operator import add
from types import MappingProxyType
from typing import ClassVar, TypeAlias

import numpy as np

from propriety import checks
from propriety.errors import InputTypeError
from propriety.recalibration.class_fits import fit_shrunk_classes, fit_structured_matrix, fit_temperature, fit_vector
from propriety.recalibration.class_maps import ClassIdentityMap, ClassMap
from propriety.recalibration.class_rows import ClassRows, floor_of_classes
from propriety.recalibration.maps import IdentityMap, RecalibrationMap, fit_isotonic, floor_of
from propriety.recalibration.odds_maps import fit_beta, fit_intercept, fit_logistic, fit_slope
from propriety.recalibration.spline_map import fit_shrunk_spline, fit_spline
from propriety.recalibration.venn_abers import fit_venn_abers
from propriety.recalibration.written_maps import Column, Written
from propriety.result import Floats
from propriety.tables.forecast_table import ForecastTable

Fit: TypeAlias = Callable[[ForecastTable], RecalibrationMap]
ClassFit: TypeAlias = Callable[[ClassRows], ClassMap]

# From the simplest to the most flexible; among methods with similar scores, the first is chosen.
METHODS: Mapping[str, Fit] = MappingProxyType(
    {
        "none": lambda _: IdentityMap(),
        "floored": lambda table: IdentityMap(floor=floor_of(table)),
        "auto": fit_shrunk_spline,
        "intercept": fit_intercept,
        "slope": fit_slope,
        "logistic": fit_logistic,
        "beta": fit_beta,
        "spline": fit_spline,
        "venn-abers": fit_venn_abers,
        "isotonic": fit_isotonic,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class OneVsRestMap(ClassMap):
    r"""A binary map for each class, normalised to sum to one: :math:`q_k = g_k(p_k) / \sum_j g_j(p_j)`.

    A row in which every map gives 0 is left unchanged.

    Parameters
    ----------
    maps : tuple of RecalibrationMap
        :math:`g_k`, one for each class.

    References
    ----------
    Zadrozny & Elkan (2002), doi:10.1145/775047.775151.

    Examples
    --------
    >>> from propriety.recalibration import OddsMap
    >>> own = OddsMap(intercept=0.0, slope=0.5, floor=1e-6)
    >>> OneVsRestMap(maps=(own, own, own))([[0.2, 0.2, 0.6]]).round(3)
    array([[0.274, 0.274, 0.452]])
    """

    kind: ClassVar[str] = "one-vs-rest"

    maps: tuple[RecalibrationMap, ...]

    def __post_init__(self) -> None:
        self.settle(maps=tuple(_checked(self.maps)))
        ClassMap.__post_init__(self)

    @property
    def classes(self) -> int:
        """Number of classes."""
        return len(self.maps)

    def recalibrated(self, forecast: Floats) -> Floats:
        """Return the recalibrated rows."""
        found = np.stack([own.recalibrated(column) for own, column in zip(self.maps, forecast.T, strict=True)], axis=1)
        total = found.sum(axis=1, keepdims=True)
        with np.errstate(invalid="ignore"):
            return np.where(total > 0.0, found / total, forecast)

    def written(self, p: Sequence[Column], ops: Written) -> list[Column]:
        """Return the map applied to the columns of all classes."""
        parts = [own.written(one, ops) for own, one in zip(self.maps, p, strict=True)]
        total = reduce(add, parts)
        some = ops.where(total > 0.0, total, 1.0)
        return [ops.where(total > 0.0, part / some, one) for part, one in zip(parts, p, strict=True)]

    @property
    def formula(self) -> str:
        """The map in one line."""
        return f"{len(self.maps)} maps, normalised to sum to 1; the first: {self.maps[0].formula}"


def fit_one_vs_rest(rows: ClassRows, *, method: str = "logistic") -> OneVsRestMap:
    """Fit a binary method to the event "y is this class", separately for each class.

    Parameters
    ----------
    rows : ClassRows
        Any; weights as in the binary method.
    method : str
        A method of `METHODS`.

    Returns
    -------
    OneVsRestMap
        The map.

    Examples
    --------
    >>> p = [[0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6], [0.5, 0.3, 0.2]]
    >>> rows = ClassRows.from_predictions([0, 1, 2, 1], p)
    >>> fit_one_vs_rest(rows, method="isotonic")([[0.2, 0.4, 0.4]]).round(3)
    array([[0.   , 0.667, 0.333]])
    """
    checks.choice(method, "method", tuple(METHODS))
    table = partial(ForecastTable.from_predictions, sample_weight=rows.weight)
    tables = (table(rows.outcome == place, rows.forecast[:, place]) for place in range(rows.classes))
    return OneVsRestMap(maps=tuple(METHODS[method](own) for own in tables))


# From the simplest to the most flexible; among methods with similar scores, the first is chosen.
CLASS_METHODS: Mapping[str, ClassFit] = MappingProxyType(
    {
        "none": lambda _: ClassIdentityMap(),
        "floored": lambda rows: ClassIdentityMap(floor=floor_of_classes(rows)),
        "auto": fit_shrunk_classes,
        "temperature": fit_temperature,
        "vector": fit_vector,
        "matrix": fit_structured_matrix,
        "one-vs-rest auto": partial(fit_one_vs_rest, method="auto"),
        "one-vs-rest logistic": partial(fit_one_vs_rest, method="logistic"),
        "one-vs-rest beta": partial(fit_one_vs_rest, method="beta"),
        "one-vs-rest isotonic": partial(fit_one_vs_rest, method="isotonic"),
    }
)


def _checked(maps: object) -> Sequence[RecalibrationMap]:
    """Return the maps of all classes, restored from what `to_dict` returned."""
    if not isinstance(maps, list | tuple) or len(maps) < 2:
        raise InputTypeError("must have a map for each class", argument="maps", got=maps)
    return [own if isinstance(own, RecalibrationMap) else RecalibrationMap.from_dict(own) for own in maps]
