"""A product that is cut out of a copy of the project is gone with all its names, and the rest is as it was."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("nox")

ROOT = Path(__file__).parents[2]
ASKED = """
import propriety as pr
from propriety.upward import products
print(sorted({"pool_sites", "plan"} & set(dir(pr))), sorted(set(dir(pr.results)) & {"PooledCurve", "Plan"}))
print("sites" in products(), "pool_sites" in pr.__doc__, pr.plan.__module__)
"""


@pytest.mark.product("sites", "planning")
@pytest.mark.skipif(shutil.which("git") is None, reason="Git is not installed")
def test_a_product_is_cut_out_with_its_names(tmp_path):
    spec = importlib.util.spec_from_file_location("deletion", ROOT / "quality" / "deletion.py")
    deletion = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(deletion)
    deletion.cut_out("sites", tmp_path)
    folders = {path.parent.name for path in tmp_path.glob("*/propriety/products/*/__init__.py")}
    assert "sites" not in folders
    assert not (tmp_path / "tests" / "products" / "sites").exists()
    stubs = "".join((tmp_path / "src" / "propriety" / name).read_text() for name in ("__init__.pyi", "results.pyi"))
    assert ("products.sites" in stubs, "products.planning" in stubs) == (False, True)
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "src")}
    done = subprocess.run([sys.executable, "-c", ASKED], env=environment, check=True, capture_output=True, text=True)  # noqa: S603
    assert done.stdout == "['plan'] ['Plan']\nFalse False propriety.products.planning.plan\n"
