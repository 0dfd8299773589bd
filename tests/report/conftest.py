"""The demonstration page, which several tests use."""

import importlib.util
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def demo():
    """Return the module that makes the demonstration page; tests are not a package, so it is loaded from its file."""
    spec = importlib.util.spec_from_file_location("report_demo", Path(__file__).with_name("demo.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
