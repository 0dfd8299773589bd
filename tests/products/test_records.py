"""Each product has a record; the stubs, which type checkers read, name what the records bring."""

import ast
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

import propriety as pr
from propriety.products import PRODUCTS
from propriety.upward import brought, products

PACKAGE = Path(pr.__file__).parent


def test_every_folder_is_a_product():
    assert sorted(PRODUCTS) == sorted(path.parent.name for path in PACKAGE.glob("products/*/__init__.py"))


@pytest.mark.parametrize("what", ["calls", "results", "pictures", "commands"])
def test_what_is_brought_is_there(what):
    for module, name in brought(what):
        library = {"pictures": "matplotlib", "commands": "click"}.get(what)
        if library is None or find_spec(library) is not None:
            assert hasattr(import_module(module), name or "draw")


@pytest.mark.parametrize(("stub", "what"), [("__init__.pyi", "calls"), ("results.pyi", "results")])
def test_the_stubs_name_what_the_records_bring(stub, what):
    tree = ast.parse((PACKAGE / stub).read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    named = {(node.module, alias.name) for node in imports for alias in node.names}
    assert {pair for pair in named if pair[0].startswith("propriety.products")} == set(brought(what))


def test_a_document_has_one_version():
    kinds = [kind for product in products().values() for kind in product.schemas]
    assert len(set(kinds)) == len(kinds)
