"""Cases in files, and a program to run on them, for the tests of commands; those of products use them, too."""

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from pyarrow import csv, parquet

from propriety.cli.program import program


@pytest.fixture(scope="session")
def columns():
    rng = np.random.default_rng(1)
    honest = rng.beta(1, 3, 300)
    bold = honest**2 / (honest**2 + (1 - honest) ** 2)
    grades = rng.dirichlet([1, 1, 1], 300)
    return {
        "y": (rng.random(300) < honest).astype(np.int64),
        "honest": honest,
        "bold": bold,
        "site": np.where(np.arange(300) % 3 == 0, "north", "south"),
        "patient": np.arange(300) // 2,
        "day": np.arange(300) % 60,
        "w": rng.random(300),
        "grade": np.array(["low", "mid", "high"])[(rng.random(300)[:, None] > grades.cumsum(axis=1)).sum(axis=1)],
        **{f"g{place}": grades[:, place] for place in range(3)},
    }


@pytest.fixture
def folder(tmp_path, monkeypatch, columns):
    """Return the current folder, with the cases in `p.csv` and `p.parquet`."""
    monkeypatch.chdir(tmp_path)
    csv.write_csv(pa.table(columns), tmp_path / "p.csv")
    parquet.write_table(pa.table(columns), tmp_path / "p.parquet")
    return tmp_path


@pytest.fixture
def run(folder):
    """Return a function that runs a command line and gives its exit code, output and errors."""

    def call(*arguments, **options):
        result = CliRunner().invoke(program, [str(argument) for argument in arguments], **options)
        assert "Traceback" not in result.stderr, result.stderr
        return result

    return call


@pytest.fixture
def refusal(run):
    """Return a function that runs a command line that must be refused, and gives its one line of error."""

    def call(*arguments, code=2, **options):
        result = run(*arguments, **options)
        assert result.exit_code == code, result.output
        assert result.stdout == ""
        assert result.stderr.startswith("Error: ")
        assert result.stderr.count("\n") == 1
        return result.stderr

    return call
