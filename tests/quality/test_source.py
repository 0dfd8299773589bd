"""The source holds nothing that runs text as code, unpickles, starts a shell or opens a connection."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "propriety"
FILES = sorted(SOURCE.rglob("*.py"))

# Calls of these names, whatever they are called on, are how each thing is done.
RUN_TEXT = {"eval", "exec", "compile", "__import__", "execfile", "run_path", "run_module", "literal_eval"}
START = {"system", "popen", "spawnl", "spawnv", "spawnvp", "execv", "execve", "execvp", "posix_spawn", "startfile"}
UNPICKLE = {"Unpickler", "read_pickle", "to_pickle"}
MODULES = {
    *("pickle", "cPickle", "_pickle", "cloudpickle", "dill", "joblib", "shelve", "marshal"),  # Data that runs.
    *("subprocess", "pty", "commands", "code", "codeop", "runpy", "ctypes", "cffi"),  # Other programs and code.
    *("urllib", "http", "ftplib", "smtplib", "telnetlib", "xmlrpc", "requests", "httpx", "aiohttp"),  # Connections.
}
NO_CONNECTION = {"urllib.parse"}  # It writes and reads addresses, and opens none.
# Each exception is a name, where it stands, and why.
ALLOWED = {
    ("compile", "re"): "a pattern is compiled, not text of a program",
    ("import_module", "cli/imports.py"): "the user names the module of a rule or measure, and is told that it runs",
    ("import_module", "public_names.py"): "modules of the package itself, by names in its stubs",
    ("import_module", "cli/program.py"): "commands of products, by names in their records",
    ("import_module", "plots/__init__.py"): "pictures of products, by names in their records",
    ("import_module", "upward.py"): "modules of the package itself, by the names in its table",
    ("import_module", "integrations/xarray_curves.py"): "Dask's arrays, by a name that stands there",
    ("import_module", "integrations/__init__.py"): "optional libraries, by names that stand in the adapters",
}


def imported(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module


def called(tree):
    """Yield the name of everything that is called, and what it is called on."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Name):
            yield node.func.id, ""
        elif isinstance(node.func, ast.Attribute):
            yield node.func.attr, node.func.value.id if isinstance(node.func.value, ast.Name) else "?"


def keywords(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield from ((given.arg, getattr(given.value, "value", None)) for given in node.keywords)


def faults(text, name=""):
    """Return what a file does that none may."""
    tree = ast.parse(text)
    found = [module for module in imported(tree) if module.split(".")[0] in MODULES and module not in NO_CONNECTION]
    for function, owner in called(tree):
        forbidden = function in RUN_TEXT | START | UNPICKLE
        forbidden |= function == "load" and owner in {"np", "numpy"}  # It may read a pickle.
        forbidden |= function == "import_module"
        if forbidden and not {(function, owner), (function, name)} & set(ALLOWED):
            found.append(function)
    found += [f"{key}=True" for key, value in keywords(tree) if key in {"shell", "allow_pickle"} and value is not False]
    return found


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_the_source_runs_no_text_and_nothing_else(path):
    assert faults(path.read_text(encoding="utf-8"), path.relative_to(SOURCE).as_posix()) == []


@pytest.mark.parametrize(
    "text",
    [
        "eval('1')",
        "exec(code)",
        "import builtins; builtins.exec(code)",
        "compile(text, '', 'exec')",
        "import pickle",
        "from pickle import loads",
        "import joblib.numpy_pickle",
        "frame.to_pickle(path)",
        "np.load(path)",
        "f(path, allow_pickle=True)",
        "f(path, allow_pickle=given)",
        "os.system(text)",
        "import subprocess",
        "f(text, shell=True)",
        "from urllib.request import urlopen",
        "importlib.import_module(name)",
        "__import__(name)",
    ],
)
def test_what_may_not_be_is_seen(text):
    assert faults(text) != []


@pytest.mark.parametrize(
    "text", ["re.compile('a')", "f(path, allow_pickle=False)", "json.loads(text)", "import propriety.errors"]
)
def test_what_may_be_is_not(text):
    assert faults(text) == []


@pytest.mark.slow
def test_every_exception_is_still_needed():
    needed = set()
    for path in FILES:
        calls = set(called(ast.parse(path.read_text(encoding="utf-8"))))
        needed |= calls | {(function, path.relative_to(SOURCE).as_posix()) for function, _ in calls}
    assert set(ALLOWED) <= needed
