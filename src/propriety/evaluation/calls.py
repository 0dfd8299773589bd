"""The calls that stand beside the numbers of an evaluation: each with everything that it needs to give them alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from propriety.inference.measures import Measure
from propriety.rules.rule import Rule

__all__ = ["EACH", "TAKES", "Calls", "written"]

EACH = object()  # In place of a model: a call that is to be made for each of them, by its name.

DOOR = ("sample_weight", "pos_label", "labels")
# What each function takes of all that the cases of an evaluation may share, and of how they are to be read.
TAKES: dict[str, tuple[str, ...]] = {
    "interval": (*DOOR, "cluster", "tolerance", "level"),
    "compare": (*DOOR, "cluster", "time", "tolerance", "level"),
    "slices": (*DOOR, "by", "cluster", "level"),
    "ranking_map": (*DOOR, "level"),
    "reliability_curve": DOOR,
    "decompose": (*DOOR, "tolerance"),
    "decision_curve": DOOR,
    "murphy_curve": DOOR,
    "roc_curve": DOOR,
    "probability_means": (*DOOR, "tolerance"),
    "ForecastTable.per_class": ("sample_weight", "labels", "tolerance"),
    "ForecastTable.per_cut_point": ("sample_weight", "labels", "tolerance"),
    "evaluate": (*DOOR, "cluster", "time", "tolerance", "level"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Calls:
    """How calls name the data of an evaluation: ``y`` and ``forecasts`` with what they share, or ``tables``.

    Parameters
    ----------
    shared : tuple of str
        Which of `sample_weight`, `by`, `cluster` and `time` were given.
    reading : mapping of str to object
        How the cases were read, where that is not the usual way: `pos_label`, `labels`, `tolerance`.
    tabled : bool
        Whether there are tables and no cases.
    moments : mapping of str to str
        Beside tables, what the moments of the losses under each rule are called.

    Examples
    --------
    >>> Calls(shared=("sample_weight", "cluster"), reading={"pos_label": "yes"}).write("roc_curve", "a")
    "pr.roc_curve(y, forecasts['a'], sample_weight=sample_weight, pos_label='yes')"
    >>> Calls(tabled=True).write("roc_curve", "a")
    "pr.roc_curve(tables['a'])"
    """

    shared: tuple[str, ...] = ()
    reading: Mapping[str, Any] = field(default_factory=dict)
    tabled: bool = False
    moments: Mapping[str, str] = field(default_factory=dict)

    def write(self, function: str, model: object = None, **options: Any) -> str:
        """Write the call of a function for a model, for `EACH`, or for all of them together."""
        if self.tabled and function == "compare":
            given = self.moments[repr(options.pop("rule"))]
            return f"pr.compare_moments({', '.join([given, *_named(options)])})"
        if self.tabled and function == "evaluate":
            moments = sorted({name.split("[")[0].split(".")[0] for name in self.moments.values()})
            return f"pr.Evaluation.from_tables({', '.join(['tables', *moments, *_named(options)])})"
        return f"pr.{function}({', '.join([self._data(model), *self._taken(function), *_named(options)])})"

    def _data(self, model: object) -> str:
        all_of_them = "tables" if self.tabled else "y, forecasts"
        if model is None:
            return all_of_them
        return f"{all_of_them}[name]" if model is EACH else f"{all_of_them}[{model!r}]"

    def _taken(self, function: str) -> list[str]:
        if self.tabled:
            return []
        shared = [f"{name}={name}" for name in TAKES[function] if name in self.shared]
        if function == "slices" and "time" in self.shared:
            shared.append("cluster=time")  # It knows no times, but lets the cases of one depend on each other.
        return [*shared, *_named({name: value for name, value in self.reading.items() if name in TAKES[function]})]


def written(value: Any) -> str:
    """Return the expression that makes a value, with the package as `pr`.

    Examples
    --------
    >>> from propriety.inference.measures import Skill
    >>> written(Skill()), written(np.float64(0.5)), written(np.array(["a", "b"]))
    ('pr.Skill(pr.Brier())', '0.5', "['a', 'b']")
    """
    if isinstance(value, Rule | Measure):
        inside = getattr(value, "rule", None)
        return f"pr.{type(value).__name__}(pr.{inside!r})" if isinstance(inside, Rule) else f"pr.{value!r}"
    if isinstance(value, np.generic | np.ndarray):
        return written(value.tolist())
    if isinstance(value, list | tuple):
        inner = ", ".join(written(one) for one in value)
        return f"[{inner}]" if isinstance(value, list) else f"({inner},)" if len(value) == 1 else f"({inner})"
    return repr(value)


def _named(options: Mapping[str, Any]) -> list[str]:
    return [f"{name}={written(value)}" for name, value in options.items()]
