"""Public names of a module: the stub file next to it lists them, but those of products their records; see `upward`."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from propriety.upward import brought

ROOMS = ("measures", "results", "weights")


# `lazy_loader.attach_stub` does the same (SPEC 1), but would be a dependency for these few lines.
def attach(module: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` of a module whose names are imported in its stub.

    Names that need Matplotlib are not in `__all__`, so that ``from propriety import *`` does not import it.
    """
    source_of = _imported(file)

    def found_when_asked(name: str) -> Any:
        if name not in source_of:
            message = f"module {module!r} has no attribute {name!r}"
            raise AttributeError(message, name=name, obj=sys.modules[module])
        source = source_of[name]
        value = import_module(f"{source}.{name}") if source == "propriety" else getattr(import_module(source), name)
        setattr(sys.modules[module], name, value)
        return value

    def names() -> list[str]:
        return sorted(source_of)

    drawn = [name for name, source in source_of.items() if "propriety.plots" in (source, f"propriety.{name}")]
    listed = sorted(source_of.keys() - set(drawn))
    return found_when_asked, names, listed


def public_names() -> dict[str, str]:
    """Return every public function and class; those of `measures`, `results` and `weights` have that prefix.

    Examples
    --------
    >>> names = public_names()
    >>> names["brier_score"], names["measures.Skill"]
    ('propriety.rules.scores', 'propriety.inference.measures.of_means')
    """
    folder = Path(__file__).parent
    names = {name: source for name, source in _imported(folder / "__init__.py").items() if source != "propriety"}
    for room in ROOMS:
        names |= {f"{room}.{name}": source for name, source in _imported(folder / f"{room}.py").items()}
    return names


def _imported(file: str | Path) -> dict[str, str]:
    """Return the names that the stub next to a file imports and those that products bring, each with its module."""
    stub = Path(file).with_suffix(".pyi")
    statements = [node for node in ast.parse(stub.read_text(encoding="utf-8")).body if isinstance(node, ast.ImportFrom)]
    names = {alias.name: str(node.module) for node in statements for alias in node.names}
    # Type checkers read the names of products there, too.
    core = {name: source for name, source in names.items() if not source.startswith("propriety.products.")}
    if stub.stem == "__init__":
        return core | {name: source for source, name in brought("calls")}
    return core | {name: source for source, name in brought("results")} if stub.stem == "results" else core
