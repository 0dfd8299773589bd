"""Python calls that reproduce single numbers of an evaluation."""

from __future__ import annotations

import importlib.metadata
import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Literal, TypeAlias

import numpy as np

from propriety.inference.measures.measure import Measure
from propriety.inference.measures.of_means import MeanScore, Skill
from propriety.inference.measures.parts import Discrimination, Miscalibration
from propriety.rules.rule import Rule

EACH = object()  # In place of a model: the call is written for each model, by name.
OF_SEVERAL = ("evaluate", "compare", "slices", "ranking_map", "condense")
DataKind: TypeAlias = Literal["arrays", "cases", "ledger"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Calls:
    """The names of the data in calls: ``y`` and ``forecasts`` with shared arguments, ``cases`` or ``ledger``.

    Parameters
    ----------
    shared : tuple of str
        Which of `sample_weight`, `by`, `cluster` and `period` were given, and `labels` if there are many.
    reading : mapping of str to object
        Options for reading the cases that differ from their defaults: `pos_label`, `labels`.
    data : {"arrays", "cases", "ledger"}
        What the data were given as.

    Examples
    --------
    >>> Calls(shared=("sample_weight", "cluster"), reading={"pos_label": "yes"}).write("roc_curve", "a")
    "pr.roc_curve(y, forecasts['a'], sample_weight=sample_weight, pos_label='yes')"
    >>> Calls(data="ledger").write("roc_curve", "a")
    "pr.roc_curve(ledger.table('a'))"
    """

    shared: tuple[str, ...] = ()
    reading: Mapping[str, Any] = field(default_factory=dict)
    data: DataKind = "arrays"

    def with_labels(self, written_as: Mapping[Any, Any]) -> Calls:
        """Return the calls with other labels, such as those of the file if it was read with different ones.

        Examples
        --------
        >>> Calls(reading={"pos_label": True}).with_labels({True: "yes", False: "no"}).write("roc_curve", "a")
        "pr.roc_curve(y, forecasts['a'], pos_label='yes')"
        """

        def renamed(value: Any) -> Any:
            return (
                [written_as.get(one, one) for one in value] if isinstance(value, list) else written_as.get(value, value)
            )

        labels = {name: renamed(value) for name, value in self.reading.items() if name in ("pos_label", "labels")}
        return replace(self, reading={**self.reading, **labels})

    def write(self, function: str, model: object = None, *given: Any, **options: Any) -> str:
        """Return the call of a function for one model, for `EACH`, or for all models together."""
        parts = [self._data(function, model), *map(written, given), *self._taken(function), *_named(options)]
        return f"pr.{function}({', '.join(parts)})"

    def _data(self, function: str, model: object) -> str:
        name = "name" if model is EACH else repr(model)
        if self.data != "arrays":
            if function in OF_SEVERAL or model is None:
                return self.data
            if function == "recalibrate":
                return f"{self.data}, model={name}"
            if function == "estimate":
                return f"{self.data}, {name}"
            return f"ledger.table({name})" if self.data == "ledger" else f"cases.of({name})"
        return "y, forecasts" if model is None else f"y, forecasts[{name}]"

    def _taken(self, function: str) -> list[str]:
        if self.data != "arrays":
            return []
        # With `by`, `recalibrate` fits shifts for the labels, and an evaluation has one map for all cases.
        known = takes(function) - ({"by"} if function == "recalibrate" else set())
        shared = [name for name in ("sample_weight", "by", "cluster", "period", "labels") if name in self.shared]
        return [
            *(f"{name}={name}" for name in shared if name in known),
            *_named({name: value for name, value in self.reading.items() if name in known}),
        ]


@cache
def takes(function: str) -> frozenset[str]:
    """Return the parameter names of a function of the package.

    Examples
    --------
    >>> "cluster" in takes("compare"), "cluster" in takes("roc_curve")
    (True, False)
    """
    import propriety

    found: Any = propriety
    for name in function.split("."):
        found = getattr(found, name)
    return frozenset(inspect.signature(found).parameters)


def written(value: Any) -> str:
    """Return the expression that constructs a value, with the package as `pr`.

    Examples
    --------
    >>> from propriety.inference.measures.of_means import Skill
    >>> written(Skill()), written(np.float64(0.5)), written(np.array(["a", "b"]))
    ('pr.measures.Skill(pr.Brier())', '0.5', "['a', 'b']")
    """
    if isinstance(value, Rule | Measure):
        return _constructed(value)
    if isinstance(value, np.generic | np.ndarray):
        return written(value.tolist())
    if isinstance(value, list | tuple):
        inner = ", ".join(written(one) for one in value)
        return f"[{inner}]" if isinstance(value, list) else f"({inner},)" if len(value) == 1 else f"({inner})"
    return repr(value)


def _constructed(value: Rule | Measure) -> str:
    """Return the expression of a rule or measure; those of the user have no package prefix."""
    import propriety

    if isinstance(value, MeanScore):
        return written(value.rule)
    name = type(value).__name__
    room, package = (propriety, "pr.") if isinstance(value, Rule) else (propriety.measures, "pr.measures.")
    package = package if getattr(room, name, None) is type(value) else ""
    if isinstance(value, Skill | Miscalibration | Discrimination):
        return f"{package}{name}({written(value.rule)})"
    # Without a representation of its own, an object shows its address, which changes every time.
    return f"{name}()" if type(value).__repr__ is object.__repr__ else f"{package}{value!r}"


def _named(options: Mapping[str, Any]) -> list[str]:
    return [f"{name}={written(value)}" for name, value in options.items()]


def versions() -> dict[str, object]:
    """Return the versions of the software that computes the numbers."""
    return {name: importlib.metadata.version(name.lower()) for name in ("propriety", "NumPy", "SciPy")}
