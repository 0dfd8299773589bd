"""How the tests load the scripts of the studies."""

import importlib.util
import sys
from pathlib import Path

STUDIES = Path(__file__).parents[2] / "studies"


def load(name):
    spec = importlib.util.spec_from_file_location(f"study_{name}", STUDIES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # Where dataclasses look up the names of their types.
    spec.loader.exec_module(module)
    return module
