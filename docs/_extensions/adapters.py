"""Adapters imported for the reference, whether or not the libraries that they are for are installed.

What an adapter takes from its library when it is imported, mostly a base class, is stood in for while it is imported
and taken away after, because other libraries look among the loaded modules for PyTorch and act on what they find.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from reference_pages import ADAPTERS


class Base:
    """In place of a class that an adapter derives from."""


class Artifact:
    """In place of MLflow's artifact, which is made with these."""

    def __init__(self, uri: str, content: Any = None) -> None:
        """Take what the real one takes."""


STAND_INS: dict[str, dict[str, Any]] = {
    "catboost": {},
    "lightgbm": {},
    "mlflow": {},
    "mlflow.models": {"EvaluationArtifact": Artifact},
    "mlflow.models.evaluation": {"ModelEvaluator": Base},
    "torch": {"Tensor": Base, "float64": "torch.float64"},  # SciPy asks of everything whether it is a tensor.
    "torch.nn": {"Module": Base},
    "torchmetrics": {"Metric": Base},
    "xarray": {},
    "xgboost": {},
    "xgboost.callback": {"EarlyStopping": Base},
}


def load(*_: object) -> None:
    """Import every adapter."""
    absent = [name for name in STAND_INS if find_spec(name.partition(".")[0]) is None]
    for name in absent:
        sys.modules[name] = ModuleType(name)
        vars(sys.modules[name]).update(STAND_INS[name])
        above, _dot, last = name.rpartition(".")
        if above:
            setattr(sys.modules[above], last, sys.modules[name])
    try:
        for adapter in ADAPTERS:
            import_module(f"propriety.integrations.{adapter}")
    finally:
        for name in absent:
            del sys.modules[name]


def setup(app: Any) -> dict[str, Any]:
    """Import the adapters before their pages are made."""
    app.connect("config-inited", load, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
