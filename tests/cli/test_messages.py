"""Errors at the terminal speak of options and columns, never of the parameters of Python."""

import ast
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import propriety
from propriety.cli.messages import NAMES, show_table

# How Python writes what the command line has other words for.
PYTHON = re.compile(
    r"y_true|y_proba|sample_weight|pos_label|n_resamples|forecasts\[|by\[|numpy|\.to_numpy|pd\.|pr\."
    r"|\b(?:labels|missing|by|cluster|period|time|outcome|weight|seed|level|thresholds|tolerance|exact|budget|cells)=",
)
EVENT = ("--outcome", "y", "--forecast", "honest")
BOTH = (*EVENT, "--forecast", "bold")
GRADES = ("--outcome", "grade", "--forecast", "m=g0,g1,g2")
FEW = ("--resamples", "20", "--seed", "1")

CASES = {
    "no such outcome": ("--outcome", "z", "--forecast", "honest"),
    "no such forecast": ("--outcome", "y", "--forecast", "z"),
    "no such weight": (*EVENT, "--weight", "z"),
    "no such group": (*EVENT, "--by", "z"),
    "no such cluster": (*EVENT, "--cluster", "z"),
    "no such time": (*EVENT, "--period", "z"),
    "outcomes are texts": ("--outcome", "site", "--forecast", "honest"),
    "outcomes are classes": ("--outcome", "patient", "--forecast", "honest"),
    "outcomes are forecasts": ("--outcome", "honest", "--forecast", "bold"),
    "a third label": ("--outcome", "grade", "--forecast", "honest", "--pos-label", "low"),
    "a label of another kind": (*EVENT, "--pos-label", "yes"),
    "a label that never occurs": ("--outcome", "grade", "--forecast", "honest", "--pos-label", "none"),
    "a label beside rows": (*GRADES, "--pos-label", "low"),
    "classes without labels": GRADES,
    "labels too few": (*GRADES, "--classes", "low,mid"),
    "labels twice": (*GRADES, "--classes", "low,mid,mid"),
    "a label missed": (*GRADES, "--classes", "low,mid,top"),
    "labels of an event": (*EVENT, "--classes", "0,1,2"),
    "an event not among its labels": (*EVENT, "--classes", "0,1", "--pos-label", "2"),
    "a list that is none": (*GRADES, "--classes", "low,,high"),
    "an empty list": (*GRADES, "--classes", ""),
    "whole numbers that are no places": ("--outcome", "patient", "--forecast", "m=g0,g1,g2"),
    "forecasts above 1": ("--outcome", "y", "--forecast", "patient"),
    "one model above 1": (*EVENT, "--forecast", "patient"),
    "forecasts in percent": ("--outcome", "y", "--forecast", "percent"),
    "forecasts a little above 1": ("--outcome", "y", "--forecast", "rounded"),
    "forecasts are texts": ("--outcome", "y", "--forecast", "site"),
    "one model of texts": (*EVENT, "--forecast", "site"),
    "forecasts are missing": ("--outcome", "y", "--forecast", "holes"),
    "one model is missing": (*EVENT, "--forecast", "holes"),
    "nothing is known": ("--outcome", "y", "--forecast", "nothing", "--missing", "drop"),
    "outcomes are missing": ("--outcome", "holes", "--forecast", "honest"),
    "rows that do not sum to 1": ("--outcome", "y", "--forecast", "m=g0,g1"),
    "models of different kinds": ("--outcome", "y", "--forecast", "honest", "--forecast", "m=g0,g1,g2"),
    "a model twice": (*EVENT, "--forecast", "honest"),
    "a column twice": ("--outcome", "y", "--forecast", "m=g0,g0,g1"),
    "weights are negative": (*EVENT, "--weight", "negative"),
    "weights are zero": (*EVENT, "--weight", "zero"),
    "weights are texts": (*EVENT, "--weight", "site"),
    "weights are missing": (*EVENT, "--weight", "holes"),
    "weights are huge": (*EVENT, "--weight", "huge"),
    "groups are missing": (*EVENT, "--by", "holes_in_site"),
    "groups are lists": (*EVENT, "--by", "lists"),
    "a group twice": (*EVENT, "--by", "site", "--by", "site"),
    "clusters are missing": (*EVENT, "--cluster", "holes_in_site"),
    "times are missing": (*EVENT, "--period", "holes"),
    "times are texts": (*BOTH, "--period", "site"),
    "a cluster and a time": (*EVENT, "--cluster", "patient", "--period", "day"),
    "order of an event": (*EVENT, "--ordered"),
    "thresholds out of order": (*EVENT, "--thresholds", "0.3", "0.1"),
    "thresholds out of range": (*EVENT, "--thresholds", "0.3", "1.1"),
    "a threshold out of range": (*EVENT, "--thresholds", "7"),
    "a threshold that is no number": (*EVENT, "--thresholds", "nan"),
    "thresholds of classes": (*GRADES, "--classes", "low,mid,high", "--thresholds", "0.1", "0.3"),
    "a level of 2": (*EVENT, "--level", "2"),
    "no resamples": (*EVENT, "--resamples", "0"),
    "a gate without a number": (*EVENT, "--fail-if", "brier>x"),
    "a gate that is none": (*EVENT, "--fail-if", "brier"),
    "a gate of another number": (*EVENT, *FEW, "--fail-if", "nonsense>1"),
    "a measure of another module": (*EVENT, "--measure", "propriety:nonsense"),
}


@pytest.fixture
def odd(folder, columns):
    """Add columns that break laws, in Parquet, which keeps their kinds."""
    n = len(columns["y"])
    few = np.arange(n) == 3
    more = {
        "percent": columns["honest"] * 100,
        "rounded": np.where(few, 1 + 1e-12, columns["honest"]),
        "holes": pa.array(columns["honest"], mask=few),
        "nothing": pa.array(columns["honest"], mask=np.ones(n, dtype=bool)),
        "negative": np.where(few, -1.0, 1.0),
        "zero": np.zeros(n),
        "huge": np.full(n, 1e200),
        "holes_in_site": pa.array(columns["site"].tolist(), mask=few),
        "lists": pa.array([[1]] * n),
    }
    parquet.write_table(pa.table(columns | more), folder / "odd.parquet")


@pytest.mark.slow
@pytest.mark.parametrize("engine", [False, True], ids=["in memory", "in files"])
@pytest.mark.parametrize("given", [pytest.param(given, id=name) for name, given in CASES.items()])
def test_errors_are_told_in_the_words_of_the_command_line(given, engine, odd, refusal, monkeypatch):
    if engine:
        monkeypatch.setattr("propriety.cli.cases.IN_MEMORY", 0)
    told = refusal("evaluate", "odd.parquet", *given)
    assert not PYTHON.search(told), told


@pytest.mark.parametrize(
    "command",
    [
        ("compare", "odd.parquet", "--outcome", "y", "--forecast", "honest", "--forecast", "holes"),
        ("compare", "odd.parquet", *BOTH, "--weight", "negative"),
        ("compare", "odd.parquet", *BOTH, "--cluster", "holes_in_site"),
        ("table", "odd.parquet", "--outcome", "y", "--forecast", "percent", "-o", "t.parquet"),
        ("table", "odd.parquet", "--outcome", "y", "--forecast", "holes", "-o", "t.parquet"),
        ("table", "odd.parquet", "--outcome", "grade", "--forecast", "honest", "-o", "t.parquet"),
    ],
    ids=lambda command: " ".join((command[0], *command[3:])),
)
def test_errors_of_other_commands_are_told_likewise(command, odd, refusal):
    told = refusal(*command)
    assert not PYTHON.search(told), told


@pytest.mark.slow
def test_every_other_wording_is_of_a_text_of_the_package():
    package = Path(propriety.__file__).parent
    constants = {
        node.value
        for path in package.glob("**/*.py")
        if path.name != "messages.py"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    assert [text for text in NAMES if ("{" in text or " " in text) and text not in constants] == []


def test_a_row_of_a_table_is_one_line(capsys):
    show_table(["name"], [["x\ny"]])
    assert "x\\ny" in capsys.readouterr().out
