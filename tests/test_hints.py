"""Hints name parameters that exist: those of the function that was called, in errors for many kinds of bad input."""

import ast
import inspect
import re
import warnings
from operator import attrgetter
from pathlib import Path

import numpy as np
import pytest

import propriety as pr
from propriety.errors import ProprietyError
from propriety.public_names import public_names
from propriety.tables.forecast_table import ForecastTable

RNG = np.random.default_rng(1)
N = 30
P = RNG.random(N)
Y = (RNG.random(N) < P).astype(int)
ROWS, K = RNG.dirichlet([1, 1, 1], N), RNG.integers(0, 3, N)


def with_entry(values, entry):
    changed = np.array(values, dtype=float)
    changed.flat[3] = entry
    return changed


GIVEN = {
    "labels of text": (np.where(Y == 1, "yes", "no"), P),
    "labels 1 and 2": (Y + 1, P),
    "three labels": (K, P),
    "a missing outcome": (with_entry(Y, np.nan), P),
    "a missing forecast": (Y, with_entry(P, np.nan)),
    "a forecast above 1": (Y, with_entry(P, 1.2)),
    "swapped": (P, Y),
    "unequal lengths": (Y[:-1], P),
    "no cases": ([], []),
    "two columns, not normalized": (Y, np.column_stack([P, P])),
    "two columns, one label": (np.full(N, "a"), np.column_stack([1 - P, P])),
    "three columns": (K, ROWS),
    "three columns, not normalized": (K, 1.1 * ROWS),
    "three columns, labels of text": (np.array(["a", "b", "c"])[K], ROWS),
    "three columns, a label too high": (np.where(K == 2, 7, K), ROWS),
    "one class": (np.ones(N), P),
    "equal forecasts": (Y, np.full(N, 0.3)),
    "separated": (P > 0.5, P),
    "text forecasts": (Y, np.full(N, "0.3")),
    "two models": (Y, {"a": P, "b": 1 - P}),
    "no forecasts": (Y, None),
    "a frame": (pytest.importorskip("polars").DataFrame({"y": Y, "p": P}), "p"),
    "a table": (ForecastTable.from_predictions(Y, P), P),
    "a ledger of classes": (pr.condense(K, {"a": ROWS}), None),
}
OPTIONS = [
    {},
    {"pos_label": 5},
    {"labels": ["a", "b", "c"]},
    {"missing": "drop"},
    {"sample_weight": -np.ones(N)},
    {"cluster": np.arange(N), "period": np.arange(N)},
    {"period": np.full(N, "2024-01-01")},
    {"outcome": "zz"},
    {"seed": np.random.default_rng(1)},
    {"rule": pr.Brier},
    {"measure": [pr.Brier()]},
    {"measures": pr.Brier},
    {"method": "zz"},
]
REQUIRED = {
    "thresholds": (0.1, 0.5),
    "by": np.arange(N) % 3,
    "measure": pr.Brier(),
    "rule": pr.Brier(),
    "cost": [[0, 1], [5, 0]],
    "k": 5,
    "reference": P,
    "weight": pr.weights.UniformWeight(0.1, 0.5),
    "unlabelled": P,
    "made": np.zeros(N),
    "now": 1,
}
OTHERS = {"dtype", "axis"}  # Parameters of functions of NumPy.


def named(text):
    """Return the parameters that a text tells to pass, as in ``labels=``; not those in the text of an object."""
    return set(re.findall(r"(?<![\w.(])([a-z_]\w*)=(?!=)", re.sub(r"\w+\([^()]*\)", "", text)))


def refusal(function, *given, **options):
    """Return the text of the error, if there is one; an error of another kind fails the test."""
    try:
        function(*given, **options)
    except ProprietyError as error:
        return str(error)
    return ""


def functions():
    for name in public_names():
        found = attrgetter(name)(pr)
        if inspect.isfunction(found) and next(iter(inspect.signature(found).parameters)) in ("y_true", "correct"):
            yield name, found
    yield "ForecastTable.from_predictions", ForecastTable.from_predictions


@pytest.mark.parametrize("function", [pytest.param(found, id=name) for name, found in functions()])
def test_errors_name_parameters_of_the_function(function):
    parameters = inspect.signature(function).parameters
    required = {
        name: REQUIRED[name]
        for name, one in parameters.items()
        if one.kind == one.KEYWORD_ONLY and one.default is one.empty and name in REQUIRED
    }
    known = set(parameters) | OTHERS
    fast = {"n_resamples": 10} if "n_resamples" in parameters else {}
    for given, (y, p) in GIVEN.items():
        for options in OPTIONS:
            if not set(options) <= set(parameters):
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                told = refusal(function, y, p, **(required | fast | options))
                assert named(told) <= known, (given, told)


def test_every_parameter_that_a_hint_names_is_one_of_some_function():
    known, said = OTHERS | {"eval_metric", "feval", "compile"}, set()  # Some are of other libraries.
    for path in Path(pr.__file__).parent.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        known |= set(re.findall(r"\b([a-z_]\w*): ", text))  # Parameters and fields have annotations.
        if "=}" not in text and not re.search(r"""hint=.*=["']""", text):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call):
                texts = [one.value for one in node.keywords if one.arg == "hint"]
                texts += node.args[:1] if getattr(node.func, "id", "") == "Wording" else []
                found = [one.value for text in texts for one in ast.walk(text) if isinstance(one, ast.Constant)]
                said |= {name for text in found for name in named(str(text))}
    assert {"labels", "missing", "method"} <= said
    assert said <= known
