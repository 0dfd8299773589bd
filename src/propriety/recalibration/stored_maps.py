"""Recalibration maps as plain data: what they have in common, whatever they are applied to."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, ClassVar, Self, cast

import numpy as np

from propriety import checks
from propriety.errors import InputValueError
from propriety.plain_data import plain
from propriety.storage.files import checked_fields, checked_version
from propriety.upward import upward

KINDS: dict[str, type[StoredMap]] = {}


class StoredMap(ABC):
    """Base of frozen dataclasses whose fields are their parameters; `from_dict` restores what `to_dict` returns."""

    __slots__ = ()

    schema: ClassVar[str] = "propriety.recalibration_map"
    schema_version: ClassVar[int] = 1
    kind: ClassVar[str]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "kind" in cls.__dict__:
            KINDS[cls.kind] = cls

    def settle(self, **checked: Any) -> None:
        """Replace parameters of a new map by the same as they were checked: plain numbers, and arrays."""
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    @property
    @abstractmethod
    def formula(self) -> str:
        """The map in one line, with its numbers."""

    @property
    def parameters(self) -> dict[str, Any]:
        """The fields by name, without optional ones that were not given."""
        values = {field.name: getattr(self, field.name) for field in fields(cast("Any", self))}
        absent = [name for name in _optional(type(self)) if values[name] is None]
        return {name: value for name, value in values.items() if name not in absent}

    def to_dict(self) -> dict[str, Any]:
        """Return the map as plain Python data, with the name and version of its schema."""
        stored = {name: plain(value) for name, value in self.parameters.items()}
        return {"schema": self.schema, "version": self.schema_version, "kind": self.kind, **stored}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Restore a map from what `to_dict` returned; other data are rejected with an error.

        Examples
        --------
        >>> from propriety.recalibration import IdentityMap, RecalibrationMap
        >>> stored = IdentityMap(floor=0.01).to_dict()
        >>> RecalibrationMap.from_dict(stored)
        IdentityMap(floor=0.01)
        """
        checked_version(data, cls.schema, cls.schema_version)
        kinds: dict[Any, Any] = {name: kind for name, kind in KINDS.items() if issubclass(kind, cls)}
        known = kinds[checks.choice(data.get("kind"), "kind", list(kinds))]
        names = [field.name for field in fields(known)]
        given = {name: data[name] for name in data if name != "kind"}
        stored = checked_fields(given, cls.schema, names, optional=_optional(known))
        return known(**stored)

    def to_json(self, *, indent: int | None = None) -> str:
        """Return the result of `to_dict` as JSON."""
        return json.dumps(self.to_dict(), indent=indent, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Restore a map from what `to_json` returned."""
        try:
            data = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InputValueError("must be the JSON of a map", argument="text", offender=str(error)) from error
        return cls.from_dict(data)

    def to_sklearn(self) -> Any:
        """Return the map as a scikit-learn transformer; see `propriety.integrations.sklearn.MapTransformer`."""
        return upward("transformer", self)

    def __eq__(self, other: object) -> bool:
        """Whether two maps are of the same kind and have the same parameters."""
        return self.to_dict() == other.to_dict() if isinstance(other, StoredMap) else NotImplemented

    def __hash__(self) -> int:
        values = self.parameters.values()
        known = (one if isinstance(one, tuple | StoredMap) else float(np.sum(one)) for one in values)
        return hash((self.kind, *known))

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={_shown(value)}" for name, value in self.parameters.items())
        return f"{type(self).__name__}({shown})"


def _optional(kind: type[StoredMap]) -> list[str]:
    return [field.name for field in fields(cast("Any", kind)) if field.metadata.get("optional")]


def _shown(value: object) -> str:
    if isinstance(value, np.ndarray):
        return f"<{value.size} numbers>" if value.size > 8 else repr(_rounded(value.tolist()))
    if isinstance(value, tuple) and len(value) > 8:
        return f"<{len(value)} entries>"
    return f"{value:.6g}" if isinstance(value, float) else repr(value)


def _rounded(values: Any) -> Any:
    return [_rounded(one) for one in values] if isinstance(values, list) else float(f"{values:.6g}")
