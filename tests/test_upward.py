"""No module imports from a layer above it: at load, late or for types. What goes up is named in one table."""

import ast
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

import propriety as pr
from propriety.upward import UPWARD, upward

PACKAGE = Path(pr.__file__).parent
CONTRACTS = tomllib.loads((PACKAGE.parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
LAYERS = [layer.split(" | ") for layer in CONTRACTS["contracts"][0]["layers"]]
HEIGHT = {name: -place for place, layer in enumerate(LAYERS) for name in layer}
MODULES = sorted(path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py"))


def rooms_imported(path):
    """Yield the layers that a file imports from, wherever the import stands."""
    for node in ast.walk(ast.parse((PACKAGE / path).read_text(encoding="utf-8"))):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module == "propriety":
            names = [f"propriety.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        yield from (name.split(".")[1] for name in names if name.startswith("propriety."))


def room_of(path):
    return path.parts[0] if len(path.parts) > 1 else path.stem


def test_nothing_is_imported_from_above():
    for path in (path for path in MODULES if room_of(path) in HEIGHT):
        above = {room for room in rooms_imported(path) if HEIGHT.get(room, -99) > HEIGHT[room_of(path)]}
        assert above == set(), path


def test_every_room_is_a_layer():
    outside = {"__init__", "__main__", "public_names", "measures", "results", "weights"}
    assert {room_of(path) for path in MODULES} - outside == set(HEIGHT)


@pytest.mark.parametrize("asked", UPWARD)
def test_what_is_named_is_there_and_above(asked):
    module, function = UPWARD[asked]
    assert callable(getattr(import_module(module), function))
    assert HEIGHT[module.split(".")[1]] > HEIGHT["decisions"]


def test_only_the_table_names_modules_in_texts():
    """Public names are read from stubs, optional libraries and the user's own modules are not ours."""
    for path in MODULES:
        if path.name in ("upward.py", "public_names.py") or path.parts[0] == "cli":
            continue
        text = (PACKAGE / path).read_text(encoding="utf-8")
        assert "import_module(" not in text or "propriety." not in text.partition("import_module(")[2].split(")")[0], (
            path
        )


def test_the_figure_is_that_of_the_plots():
    curve = pr.roc_curve([0, 1, 1], [0.2, 0.4, 0.7])
    assert upward("figure", curve).get_title() == curve.plot().get_title()
