"""Inputs that fuzzing kept, among them each that once found a fault, are refused in the package's words or right."""

import importlib
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import propriety as pr

FUZZ = Path(__file__).parents[2] / "quality" / "fuzz"
DUCKDB = tuple(map(int, version("duckdb").split(".")[:2]))
TARGETS = sorted(folder.name for folder in (FUZZ / "corpus").iterdir())


@pytest.fixture
def harness(request, monkeypatch):
    """Return the function that takes the bytes of an input; the harnesses are scripts beside each other."""
    monkeypatch.setattr(sys, "path", [str(FUZZ), *sys.path])
    return importlib.import_module(request.param).one


def replay(harness, target):
    inputs = sorted((FUZZ / "corpus" / target).iterdir())
    assert inputs
    for path in inputs:
        try:
            harness(path.read_bytes())
        except Exception as error:
            error.add_note(f"The input is {path.name} of {target}.")
            raise


@pytest.mark.parametrize(("harness", "target"), [(name, name) for name in TARGETS], ids=TARGETS, indirect=["harness"])
def test_every_input_of_the_corpus(harness, target):
    if target == "command_line" and DUCKDB < (1, 3):
        pytest.skip("the command line needs a later DuckDB")
    replay(harness, target)


@pytest.mark.parametrize("harness", ["door"], indirect=True)
def test_a_number_that_is_wrong_is_seen(harness, monkeypatch):
    right = pr.brier_score

    def wrong(*args, **options):
        score = right(*args, **options)
        return pr.Score(score * (1 + 1e-10), **vars(score))

    monkeypatch.setattr(pr, "brier_score", wrong)
    with pytest.raises(AssertionError, match="is right"):
        replay(harness, "door")
