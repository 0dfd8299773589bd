"""The calls that go up the layers: from a result to its limits, its figure and its pages, and to the products.

Everything else imports only from the layers below. What is named here is imported when it is called, so that results
need neither Matplotlib nor the report.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeAlias

Asked: TypeAlias = Literal["figure", "page of plots", "report", "LaTeX", "Word", "transformer", "operating points"]

# What is asked of a result, with the module and the function that answers.
UPWARD: dict[Asked, tuple[str, str]] = {
    "figure": ("propriety.plots", "draw"),
    "page of plots": ("propriety.plots.evaluation", "plot_evaluation"),
    "report": ("propriety.report.evaluation", "report_of"),
    "LaTeX": ("propriety.report.documents", "latex_of"),
    "Word": ("propriety.report.documents", "write_word"),
    "operating points": ("propriety.inference.operating_points", "operating_points_of"),
    "transformer": ("propriety.integrations.recalibrated_classifier", "MapTransformer"),
}


def upward(asked: Asked, result: object, *given: Any, **options: Any) -> Any:
    """Call what draws a result or makes a page of it."""
    module, function = UPWARD[asked]
    return getattr(import_module(module), function)(result, *given, **options)


class Product(NamedTuple):
    """What a product brings, as ``module:name`` within its folder, which is imported when it is needed.

    Parameters
    ----------
    calls : tuple of str
        Functions that are public names of the package.
    results : tuple of str
        Classes that are public names of `propriety.results`.
    pictures : tuple of str
        Modules that register the drawing functions of its results; they are named without ``:name``.
    commands : tuple of str
        Commands of the command line.
    schemas : mapping from str to int
        Versions of the JSON documents that its commands write.
    """

    calls: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    pictures: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    schemas: Mapping[str, int] = MappingProxyType({})


def products() -> dict[str, Product]:
    """Return the record of every product by the name of its folder."""
    names = import_module("propriety.products").PRODUCTS
    return {name: import_module(f"propriety.products.{name}").PRODUCT for name in names}


def products_in_words() -> str:
    """Return the functions of each product and what it is for, as the help of the package lists them."""
    lines = []
    for folder, product in products().items():
        about = import_module(f"propriety.products.{folder}").__doc__
        lines += [", ".join(call.partition(":")[2] for call in product.calls), f"    {about}"]
    return "\n".join([*lines, ""])


def brought(what: Literal["calls", "results", "pictures", "commands"]) -> Iterator[tuple[str, str]]:
    """Yield the module and the name of all that products bring of one kind."""
    for folder, product in products().items():
        for entry in getattr(product, what):
            module, _, name = entry.partition(":")
            yield f"propriety.products.{folder}.{module}", name
