"""Values as plain Python data, and plain data as strict JSON."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from typing import Any


def plain(value: Any) -> Any:
    """Return a value as plain Python data: arrays as lists, results and maps as dicts, rules by their stored name.

    Examples
    --------
    >>> import numpy as np
    >>> plain({"a": np.array([0.5, 1.0]), "b": (np.int64(2), "x")})
    {'a': [0.5, 1.0], 'b': [2, 'x']}
    """
    convert = next((getattr(value, name) for name in ("tolist", "to_dict", "stored") if hasattr(value, name)), None)
    if convert is not None:
        return convert()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {name: plain(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    return value


def strict(value: Any) -> Any:
    """Convert plain data to strict JSON: NaN becomes null, infinities and other labels become text.

    Examples
    --------
    >>> strict({"a": float("nan"), "b": [1.5, float("inf")], 3: "x"})
    {'a': None, 'b': [1.5, 'Infinity'], '3': 'x'}
    """
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(name): strict(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [strict(entry) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value if value is None or isinstance(value, str | bool | int | float) else str(value)


def strict_json(data: Any, indent: int | None = None) -> str:
    """Return data as strict JSON, which every parser accepts."""
    return json.dumps(strict(data), indent=indent, allow_nan=False)
