"""Cut out each product in turn, and check that the rest works without it.

usage: python quality/deletion.py [PRODUCT...]     (by default all; from the project's root)

In a copy of the project, the folders of the product are removed, its name in the list of products and its lines in the
stubs. Then every module is imported, the layers are checked, and tests are run; those that are marked as needing the
product, `pytest.mark.product`, are left out.
"""

from __future__ import annotations

import os
import re
import runpy
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from propriety.products import PRODUCTS

ROOT = Path(__file__).resolve().parent.parent
SESSIONS = runpy.run_path(str(ROOT / "noxfile.py"))
# Every room that products reach, and all that is asked of every public name, picture and document.
TESTS = (
    *("tests/test_upward.py", "tests/test_demands.py", "tests/test_language.py", "tests/test_hints.py"),
    *("tests/cli/test_program.py", "tests/cli/test_messages.py", "tests/plots/test_drawable_names.py"),
    *("tests/plots/test_pictures.py", "tests/schemas", "tests/stability/test_json.py", "tests/products"),
)
IMPORT_ALL = """
import importlib, pkgutil, propriety
from propriety.errors import MissingDependencyError
for module in pkgutil.walk_packages(propriety.__path__, "propriety."):
    if module.name != "propriety.__main__":
        try:
            importlib.import_module(module.name)
        except MissingDependencyError:
            pass  # An adapter whose library is not installed.
for name in dir(propriety):
    getattr(propriety, name)
for name in dir(propriety.results):
    getattr(propriety.results, name)
"""


def cut_out(product: str, folder: Path) -> None:
    """Copy the project to a folder, without a product."""
    words = ("git", "ls-files", "--cached", "--others", "--exclude-standard", "-z")
    listed = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)  # noqa: S603
    gone = (f"src/propriety/products/{product}/", f"tests/products/{product}/")
    for name in listed.stdout.split("\0"):
        if name and (ROOT / name).is_file() and not name.startswith(gone):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    package = folder / "src" / "propriety"
    replace_in(package / "products" / "__init__.py", rf'"{product}",? ?')
    for stub in ("__init__.pyi", "results.pyi"):
        replace_in(package / stub, rf"from propriety\.products\.{product}\.\S+ import (\([^)]*\)|[^\n(]*)\n")


def replace_in(path: Path, pattern: str) -> None:
    """Remove from a file what matches a pattern."""
    path.write_text(re.sub(pattern, "", path.read_text(encoding="utf-8")), encoding="utf-8")


def works_without(product: str) -> bool:
    """Return whether all checks of the rest pass, and print what fails."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        cut_out(product, folder)
        tests = [*dict.fromkeys((*SESSIONS["FAST"], *SESSIONS["OF_PUBLIC_NAMES"], *TESTS))]
        checks = {
            "modules": (sys.executable, "-c", IMPORT_ALL),
            "names": (sys.executable, "-m", "ruff", "check", "--select", "F", "src"),
            "layers": (str(Path(sys.executable).with_name("lint-imports")),),
            "tests": (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--without={product}", *tests),
        }
        environment = os.environ | {"PYTHONPATH": str(folder / "src"), "PROPRIETY_EXAMPLES": "few"}
        failed = []
        for check, words in checks.items():
            done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)  # noqa: S603
            print(f"without {product}: {check}: {(done.stdout.strip().splitlines() or ['passed'])[-1]}", flush=True)
            if done.returncode:
                failed.append(check)
                print(done.stdout, done.stderr, flush=True)
        return not failed


if __name__ == "__main__":
    works = [works_without(product) for product in sys.argv[1:] or PRODUCTS]
    sys.exit(not all(works))
