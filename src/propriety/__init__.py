"""Evaluate probability forecasts by calibration and by the decisions that they lead to."""

from importlib import import_module as _import_module
from typing import Any as _Any

from propriety.public_names import attach as _attach

_find, __dir__, __all__ = _attach(__name__, __file__)


def __getattr__(name: str) -> _Any:
    if name == "__version__":
        return _import_module("importlib.metadata").version("propriety")
    return _find(name)
