"""The checks of the project by name; every session runs in the environment that nox itself runs in."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import nox

nox.options.default_venv_backend = "none"
nox.options.sessions = ["lint", "types", "layers", "tests", "oldest", "engines", "docs", "wheel"]

OLDEST = (
    *("tests/tables/test_forecast_table.py", "tests/tables/test_validation.py"),
    *("tests/rules/test_golden.py", "tests/rules/test_scoring.py"),
    *("tests/calibration/test_reliability.py", "tests/calibration/test_calibration_test.py"),
    *("tests/decisions/test_net_benefit.py", "tests/decisions/test_roc.py"),
    *("tests/diagnostics", "tests/ledger", "tests/inference", "tests/schemas", "tests/stability"),
    *("tests/integrations/test_sklearn.py", "tests/integrations/test_xarray.py"),
)


@nox.session
def lint(session: nox.Session) -> None:
    """Look for errors, and for formatting that is not the project's."""
    session.run("ruff", "check")
    session.run("ruff", "format", "--check")


@nox.session
def types(session: nox.Session) -> None:
    """Check the types of the package strictly."""
    session.run("mypy", "--strict", "src")


@nox.session
def layers(session: nox.Session) -> None:
    """Check that every module imports only from the layers below it."""
    session.run("lint-imports")


@nox.session
def tests(session: nox.Session) -> None:
    """Run the tests and the examples of the docstrings and the README; what follows `--` goes to pytest."""
    session.run("pytest", "-n", "auto", "-m", "not engine", *session.posargs)


@nox.session
def laws(session: nox.Session) -> None:
    """Try every law on many examples, drawn anew each time; takes an hour or so."""
    laws = ("-n", "auto", "-m", "not engine", "-k", "not study", "tests/rules", "tests/tables", "tests/decisions")
    session.run("pytest", *laws, "tests/calibration", *session.posargs, env={"PROPRIETY_EXAMPLES": "many"})


@nox.session
def engines(session: nox.Session) -> None:
    """Run the tests on engines in one process: Spark, Dask and PostgreSQL are started once."""
    # `python -m` puts this folder on the path, where Dask's workers find the module of their test.
    session.run("python", "-m", "pytest", "tests/engines", *session.posargs)


@nox.session(venv_backend="virtualenv")
def oldest(session: nox.Session) -> None:
    """Run the tests of what computes on the oldest versions that are supported, in an environment of their own."""
    free = {"PIP_CONSTRAINT": "", "PIP_BUILD_CONSTRAINT": ""}
    session.install("--requirement", ".ci/oldest.txt", env=free)
    session.install("--no-deps", ".", env=free)
    session.run("pytest", "-n", "auto", "-m", "not slow and not engine", *OLDEST, *session.posargs)


@nox.session
def wheel(session: nox.Session) -> None:
    """Build the wheel, install it alone in a fresh environment and run the README's examples there."""
    with tempfile.TemporaryDirectory() as folder:
        outside = Path(folder).resolve()
        environment = outside / "environment"
        interpreter = environment / ("Scripts" if os.name == "nt" else "bin") / "python"
        session.run("python", "-m", "build", "--wheel", "--outdir", str(outside))
        (built,) = outside.glob("*.whl")
        session.run("python", "-m", "venv", "--without-pip", str(environment))
        session.run("python", "-m", "pip", "--python", str(environment), "install", str(built), "pytest")
        shutil.copy("README.md", outside)
        with session.chdir(outside):
            # `-I` keeps PYTHONPATH and the current folder from standing in for the installed package.
            session.run(
                *(str(interpreter), "-I", "-m", "pytest", "README.md", "--doctest-glob=README.md"),
                *("-W", "error", "-o", "doctest_optionflags=NORMALIZE_WHITESPACE ELLIPSIS"),
            )


@nox.session(venv_backend="virtualenv")
def docs(session: nox.Session) -> None:
    """Build the site in an environment of its own, run all code on it, and check links and spelling."""
    # The pins of the other checks do not hold here: dcurves, whose data a case study uses, needs pandas before 3.
    free = {"PIP_CONSTRAINT": "", "PIP_BUILD_CONSTRAINT": ""}
    session.install("--requirement", "docs/requirements.txt", ".", env=free)
    session.run("sphinx-build", "-W", "--keep-going", "-E", "-j", "2", "docs", "build/docs", *session.posargs)
    session.run("python", "docs/check_links.py", "build/docs")
    session.run("codespell", "docs", "README.md", "--skip", "docs/pictures,docs/reference/generated,*.png")


@nox.session
def benchmarks(session: nox.Session) -> None:
    """Time the package; not one of the default checks, because its answer depends on the machine."""
    session.run("pytest", "benchmarks/test_foundation.py", "-s", "--benchmark-only", *session.posargs)


@nox.session(venv_backend="virtualenv")
def peers(session: nox.Session) -> None:
    """Measure the package beside others in an environment of their own; takes some 20 minutes."""
    session.install("--requirement", "benchmarks/peers/requirements.txt", ".")
    for name in session.posargs or ("abilities", "bad_inputs", "speed", "memory", "imports", "installs"):
        session.run("python", f"benchmarks/peers/{name}.py", env={"PYTHONPATH": "quality"})
    session.run("python", "benchmarks/peers/readme.py")


@nox.session(venv_backend="virtualenv")
def fuzz(session: nox.Session) -> None:
    """Fuzz the input checks, stored files and the command line for an hour, and write the record."""
    session.install("atheris>=3", "pandas", "polars", ".[cli,report]")
    session.run("python", "quality/fuzzing.py", *session.posargs)


@nox.session
def studies(session: nox.Session) -> None:
    """Run the studies again, which takes some hours; what follows `--` names some of them."""
    found = (path.stem for path in Path("studies").glob("*.py"))
    for name in session.posargs or sorted(set(found) - {"settings"}):
        session.run("python", f"studies/{name}.py")
