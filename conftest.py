"""Leaves out what needs a library that is not installed, and on request what would start too late."""

import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec

import pytest

NEEDED = {
    "catboost": ("catboost", "catboost"),
    "lightgbm": ("lightgbm", "lightgbm"),
    "lightning": ("lightning", "lightning"),
    "mlflow": ("mlflow", "mlflow"),
    "mlflow_maps": ("mlflow", "mlflow"),
    "pytorch": ("torch", "torch"),
    "recalibrated_classifier": ("sklearn", "recalibrated_classifier"),
    "sklearn": ("sklearn", "sklearn"),
    "torchmetrics": ("torchmetrics", "torchmetrics"),
    "wandb": ("wandb", "wandb"),
    "xarray": ("xarray", "xarray"),
    "xarray_arrays": ("xarray", "xarray_arrays"),
    "xarray_curves": ("xarray", "xarray_curves"),
    "xarray_points": ("xarray", "xarray_points"),
    "xgboost": ("xgboost", "xgboost"),
}
TOGETHER = {
    "docs/examples/xarray.md": ("dask", "matplotlib", "xarray"),
    "tests/integrations/test_precision.py": ("torch", "torchmetrics"),
}
collect_ignore = [
    *(path for path, libraries in TOGETHER.items() if any(find_spec(library) is None for library in libraries)),
    *(
        path
        for example, (library, adapter) in NEEDED.items()
        if find_spec(library) is None
        for path in (
            f"docs/examples/{example}.md",
            f"src/propriety/integrations/{adapter}.py",
            f"tests/integrations/test_{adapter}.py",
        )
    ),
]


@pytest.fixture(autouse=True)
def _no_figure_is_left_open() -> Iterator[None]:
    """Close what a test or an example drew, because Matplotlib warns of many open figures."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


BEGAN = pytest.StashKey[float]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option by which `nox -s quick` stays quick, however much has changed."""
    parser.addoption("--start-for", type=float, metavar="SECONDS", help="skip tests that would start later than that")
    parser.addoption("--without", metavar="PRODUCT", help="skip tests of this product, which was cut out")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test that needs a product that was cut out, or that would start too late, and say so in the summary."""
    without = item.config.getoption("--without")
    for mark in item.iter_markers("product"):
        if without is not None and (without in mark.args or not mark.args):
            pytest.skip(f"it needs {without}")
    seconds = item.config.getoption("--start-for")
    began = item.config.stash.setdefault(BEGAN, time.monotonic())  # Not before the first test: collecting takes long.
    if seconds is not None and time.monotonic() - began > seconds:
        pytest.skip(f"{seconds:g} seconds are over: `nox -s tests` runs it")
