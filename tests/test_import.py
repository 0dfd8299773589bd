"""Importing the package stays light."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import propriety as pr

HEAVY = (
    "matplotlib",
    "pandas",
    "sklearn",
    "polars",
    "pyarrow",
    "duckdb",
    "pyspark",
    "torch",
    "xgboost",
    "lightgbm",
    "catboost",
    "xarray",
    "scipy.optimize",
    "scipy.stats",
)


def run(code):
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout  # noqa: S603


def test_nothing_that_draws_trains_or_queries_is_imported():
    loaded = run("import sys, propriety; print(*sys.modules, sep='\\n')").split()
    assert not set(HEAVY) & set(loaded)


@pytest.mark.slow
def test_the_package_adds_at_most_a_third_to_its_dependencies():
    """The best of many runs by turns, because a shared machine is never faster than it can be."""
    clock = "import time; begin = time.perf_counter(); import {}; print(time.perf_counter() - begin)"
    best = {"numpy, scipy.special, narwhals": float("inf"), "propriety": float("inf")}
    for _ in range(12):
        best = {name: min(seconds, float(run(clock.format(name)))) for name, seconds in best.items()}
    assert best["propriety"] <= 1.35 * best["numpy, scipy.special, narwhals"], best


def test_every_public_name_is_there_and_documented():
    assert sorted(pr.__all__) == pr.__all__
    for name in pr.__all__:
        assert getattr(pr, name).__doc__


def test_what_is_imported_on_demand_is_what_type_checkers_see():
    """The names stand twice in the package, once for each of the two."""
    tree = ast.parse(Path(pr.__file__).read_text(encoding="utf-8"))
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    seen = {alias.name: node.module for node in block.body for alias in node.names if node.module != "propriety"}
    assert seen == pr._MODULE_OF
    assert set(seen) - {"DecisionCurveDisplay", "ReliabilityDisplay"} < set(pr.__all__)
    assert {"plots", "ReliabilityDisplay", "decompose"} < set(dir(pr))


def test_the_version_is_that_of_the_distribution():
    assert pr.__version__
