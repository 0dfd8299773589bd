"""Importing the package stays light."""

import subprocess
import sys
from operator import attrgetter

import pytest

import propriety as pr
from propriety.public_names import public_names

DRAWING = ("DecisionCurveDisplay", "ReliabilityDisplay")
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
    "onnx",
    "scipy.optimize",
    "scipy.stats",
)


def run(code):
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout  # noqa: S603


def test_nothing_that_draws_trains_or_queries_is_imported():
    loaded = run("import sys, propriety; print(*sys.modules, sep='\\n')").split()
    assert not set(HEAVY) & set(loaded)


def test_the_command_line_and_the_figures_start_without_optimizers():
    pytest.importorskip("click")
    pytest.importorskip("matplotlib")
    loaded = run("import sys, propriety.cli.program, propriety.plots; print(*sys.modules, sep='\\n')").split()
    assert not {"scipy.optimize", "scipy.stats", "pandas"} & set(loaded)


def test_the_package_can_be_imported_where_numpy_raises_every_warning():
    """A module-level constant that NumPy computes may underflow; `pr.h_measure` then failed at its first use."""
    found = run(
        "import numpy as np, pkgutil; np.seterr(all='raise'); import propriety as pr\n"
        "for room in ('rules', 'tables', 'ledger', 'calibration', 'decisions', 'inference', 'evaluation', 'products'):\n"
        "    for module in pkgutil.walk_packages([f'{pr.__path__[0]}/{room}'], f'propriety.{room}.'):\n"
        "        __import__(module.name)\n"
        "print(round(float(pr.h_measure([0, 1, 0, 1], [0.2, 0.7, 0.6, 0.4])), 3))"
    )
    assert float(found) > 0.0


@pytest.mark.slow
def test_the_package_adds_at_most_a_third_to_its_dependencies():
    """The least processor time of several runs by turns, because a shared machine is never faster than it can be."""
    clock = "import time; begin = time.process_time(); import {}; print(time.process_time() - begin)"
    best = {"numpy, scipy.special, narwhals": float("inf"), "propriety": float("inf")}
    for _ in range(3):
        best = {name: min(seconds, float(run(clock.format(name)))) for name, seconds in best.items()}
    assert best["propriety"] <= 1.35 * best["numpy, scipy.special, narwhals"], best


@pytest.mark.parametrize("module", [pr, pr.measures, pr.results, pr.weights], ids=lambda module: module.__name__)
def test_every_public_name_is_there_and_documented(module):
    assert sorted(module.__all__) == module.__all__
    for name in module.__all__:
        assert getattr(module, name).__doc__
    shown = run(f"import {module.__name__} as m; print(*dir(m))").split()
    assert shown == sorted({*module.__all__, *({"plots", *DRAWING} if module is pr else ())})


def test_a_name_is_public_in_one_place_and_defined_where_the_list_says():
    paths = public_names()
    assert len({path.rpartition(".")[2] for path in paths}) == len(paths)
    for path, source in paths.items():
        assert attrgetter(path)(pr).__module__.startswith(source)


def test_an_unknown_name_is_told_with_those_that_are_like_it():
    with pytest.raises(AttributeError, match="module 'propriety' has no attribute 'brier_scores'") as raised:
        pr.brier_scores  # noqa: B018
    assert (raised.value.name, raised.value.obj) == ("brier_scores", pr)  # From these Python makes its suggestion.


@pytest.mark.slow
def test_all_names_can_be_imported_at_once_without_what_draws():
    loaded = run("from propriety import *; import sys; print('matplotlib' in sys.modules, callable(brier_score))")
    assert loaded.split() == ["False", "True"]


def test_the_version_is_that_of_the_distribution():
    assert pr.__version__
