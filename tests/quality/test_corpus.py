"""Inputs that fuzzing kept, among them each that once found a fault, are refused in the package's words or right."""

import hashlib
import importlib
import shutil
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import propriety as pr

FUZZ = Path(__file__).parents[2] / "quality" / "fuzz"
DUCKDB = tuple(map(int, version("duckdb").split(".")[:2]))
TARGETS = ["arguments", "command_line", "configuration", "dialects", "ledgers", "logs", "maps", "stored"]


@pytest.fixture(autouse=True)
def beside(monkeypatch):
    """Let the scripts of fuzzing, which lie beside each other, be imported."""
    monkeypatch.setattr(sys, "path", [str(FUZZ), *sys.path])


@pytest.fixture
def corpus(beside, monkeypatch, tmp_path):
    """Return the module of the corpus, which writes to a copy."""
    module = importlib.import_module("corpus")
    monkeypatch.setattr(module, "STORED", Path(shutil.copy(module.STORED, tmp_path)))
    return module


@pytest.fixture
def harness(request, beside):
    """Return the function that takes the bytes of an input."""
    return importlib.import_module(request.param).one


def replay(harness, inputs):
    assert inputs
    for name, data in inputs.items():
        try:
            harness(data)
        except Exception as error:
            error.add_note(f"The input is {name}.")
            raise


@pytest.mark.slow
@pytest.mark.parametrize(("harness", "target"), [(name, name) for name in TARGETS], ids=TARGETS, indirect=["harness"])
def test_every_input_of_the_corpus(harness, corpus, target):
    if target in ("command_line", "configuration", "dialects") and DUCKDB < (1, 3):
        pytest.skip("the command line needs a later DuckDB")
    replay(harness, corpus.read()[target])


@pytest.mark.parametrize("harness", ["arguments"], indirect=True)
def test_a_number_that_is_wrong_is_seen(harness, corpus, monkeypatch):
    right = pr.brier_score

    def wrong(*args, **options):
        score = right(*args, **options)
        return pr.results.Score(score * (1 + 1e-10), **vars(score))

    monkeypatch.setattr(pr, "brier_score", wrong)
    with pytest.raises(AssertionError, match="is right"):
        replay(harness, corpus.read()["arguments"])


def test_every_target_is_replayed(corpus):
    assert sorted(corpus.read()) == TARGETS


def test_names_tell_what_an_input_is(corpus):
    named = {
        name: hashlib.sha1(data, usedforsecurity=False).hexdigest()
        for inputs in corpus.read().values()
        for name, data in inputs.items()
        if not name.startswith("fault-")
    }
    assert all(name == digest for name, digest in named.items())


def test_what_is_stored_is_as_it_would_be_written(corpus):
    before = corpus.STORED.read_bytes()
    corpus.write(corpus.read())
    assert corpus.STORED.read_bytes() == before


def test_an_input_that_found_a_fault_is_added(corpus, tmp_path):
    (tmp_path / "found").write_bytes(b"\xff\x00")
    corpus.add_fault("arguments", tmp_path / "found")
    (name,) = (name for name, data in corpus.read()["arguments"].items() if data == b"\xff\x00")
    assert name.startswith("fault-")


def test_the_fuzzer_gets_every_input_as_a_file(corpus, tmp_path):
    corpus.unpack("stored", tmp_path / "stored")
    files = {path.name: path.read_bytes() for path in (tmp_path / "stored").iterdir()}
    assert files == corpus.read()["stored"]
