"""Recipes of `docs/examples` on the real platforms. `nox -s platforms` runs them in an environment of their own."""

import datetime as dt
import importlib.util
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import propriety as pr

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
collect_ignore = ["killed_stream.py"]  # A script.
KEYS = ["day", "country", "device"]


def pytest_collection_modifyitems(items):
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.engine)
            item.add_marker(pytest.mark.filterwarnings("default"))  # The libraries of platforms warn a lot.


@pytest.fixture
def examples():
    return EXAMPLES


@pytest.fixture
def write_day():
    """Return a function that writes the cases of a day, 2026-11-01 and later, to a Parquet file."""

    def write(folder, day, *, cases=3_000, shift=0.0):
        rng = np.random.default_rng(day)
        log_odds = rng.normal(-1.5, 1.0, cases)
        columns = {
            "day": pa.array([dt.date(2026, 11, day)] * cases),
            "country": rng.choice(["de", "fr"], cases),
            "device": rng.choice(["app", "web"], cases),
            "p": np.round(1 / (1 + np.exp(-log_odds)), 4),
            "y": (rng.random(cases) < 1 / (1 + np.exp(-log_odds - shift))).astype(np.int32),
        }
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"2026-11-{day:02d}.parquet"
        parquet.write_table(pa.table(columns), path)
        return path

    return write


@pytest.fixture
def whole_ledger():
    """Return a function that condenses all files of a folder at once."""

    def condense(folder, **options):
        return pr.condense(parquet.read_table(folder), {"live": "p"}, outcome="y", by=KEYS, **options)

    return condense


@pytest.fixture
def assert_same():
    """Return a function that compares all tables and moments of two ledgers."""

    def compare(found, expected):
        assert {name: [str(label) for label in labels] for name, labels in found.keys.items()} == {
            name: [str(label) for label in labels] for name, labels in expected.keys.items()
        }
        for model in expected.models:
            one, other = (ledger.keyed_tables(model, expected.events[0]) for ledger in (found, expected))
            np.testing.assert_allclose(one.forecast, other.forecast, rtol=1e-12)
            for name in ("entry", "events", "non_events", "n", "n_events"):
                np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
        for rule in expected.rules:
            one, other = found.moments(rule), expected.moments(rule)
            for name in ("n", "mean", "spread"):
                np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-9, atol=1e-12)

    return compare


@pytest.fixture
def recipe():
    """Return a function that imports a file of the examples."""

    def load(path):
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load
