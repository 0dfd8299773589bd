"""The oldest versions that are tested are those that the package declares."""

import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[2]
# Trained or started in environments of their own; see `quality/compatibility.py`.
HEAVY = {"catboost", "lightgbm", "mlflow-skinny", "pyspark", "torch", "torchmetrics", "xgboost"}


def declared():
    """Return the lowest version that any requirement of the package allows, by library."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"].values()
    found = {}
    for requirement in map(Requirement, [*project["dependencies"], *(one for extra in extras for one in extra)]):
        if requirement.name not in HEAVY | {"propriety"}:
            (bound,) = requirement.specifier
            assert bound.operator == ">=", requirement
            found.setdefault(requirement.name, set()).add(Version(bound.version))
    return {name: min(versions) for name, versions in found.items()}


def pinned():
    lines = (ROOT / ".ci" / "oldest.txt").read_text(encoding="utf-8").splitlines()
    requirements = [Requirement(line) for line in lines if line and not line.startswith("#")]
    return {one.name: Version(next(iter(one.specifier)).version) for one in requirements}


@pytest.mark.parametrize("library", declared())
def test_the_oldest_version_declared_is_tested(library):
    assert pinned()[library] == declared()[library]
