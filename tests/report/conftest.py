"""The demonstration page, which several tests use; functions in modules beside the tests are found by their name."""

import importlib.util
import re
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def demo():
    """Return the module that makes the demonstration page; tests are not a package, so it is loaded from its file."""
    spec = importlib.util.spec_from_file_location("report_demo", Path(__file__).with_name("demo.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def corners_of():
    """Return a function that returns the corners of a path of straight lines."""

    def corners(path):
        found = []
        for command, numbers in re.findall(r"([Mhvl])([^Mhvlz]*)", path):
            values = [float(number) for number in re.findall(r"-?[\d.]+", numbers)]
            steps = {"h": [(x, 0.0) for x in values], "v": [(0.0, y) for y in values]}
            for step in steps.get(command, list(zip(values[::2], values[1::2], strict=False))):
                start = np.zeros(2) if command == "M" else found[-1]
                found.append(start + np.array(step))
        return np.array(found)

    return corners
