"""The recalibration methods for class probabilities, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import TypeAlias

from propriety.recalibration.class_fits import fit_structured_matrix, fit_temperature, fit_vector
from propriety.recalibration.class_maps import ClassMap, fit_classes_as_they_are, fit_classes_floored
from propriety.recalibration.class_rows import ClassRows
from propriety.recalibration.one_vs_rest import fit_one_vs_rest
from propriety.recalibration.shrunk_classes import fit_shrunk_classes

ClassFit: TypeAlias = Callable[[ClassRows], ClassMap]

# From the simplest to the most flexible; among methods with similar scores, the first is chosen.
CLASS_METHODS: Mapping[str, ClassFit] = MappingProxyType(
    {
        "none": fit_classes_as_they_are,
        "floored": fit_classes_floored,
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
