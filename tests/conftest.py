"""What the tests share: golden cases, Hypothesis settings, and the rules by what they declare."""

import json
import math
import os
import sys
import zlib
from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

sys.path.insert(0, str(Path(__file__).parent))  # For `sliced`.

GOLDEN = {
    case["name"]: case for case in json.loads((Path(__file__).parent / "golden" / "golden.json").read_text())["cases"]
}

# On a busy machine time per example says nothing. CI takes the same few examples every time, so that a failure can be
# repeated; elsewhere they are drawn anew, and `nox -s laws` draws many.
HOW_MANY = {"few": 15, "some": 40, "many": 2000}
for name, examples in HOW_MANY.items():
    settings.register_profile(
        name,
        max_examples=examples,
        deadline=None,
        derandomize=name == "few",
        suppress_health_check=[HealthCheck.too_slow],
    )
settings.load_profile(os.environ.get("PROPRIETY_EXAMPLES", "few" if "CI" in os.environ else "some"))


THINNED = 8  # Of the parameters of a simulation, one in so many runs in CI, always the same; the others run nightly.


def pytest_collection_modifyitems(items):
    """Thin simulations; a contract, which holds for every rule, measure, section or engine, is tested whole."""
    simulations = defaultdict(list)
    for item in items:
        if item.get_closest_marker("simulation") and hasattr(item, "callspec"):
            simulations[item.path, item.originalname].append(item)
    for cases in simulations.values():
        cases.sort(key=lambda item: zlib.crc32(item.nodeid.encode()))
        for item in cases[math.ceil(len(cases) / THINNED) :]:
            item.add_marker(pytest.mark.nightly)


@pytest.fixture
def golden():
    """Return a function that gives the inputs and the expected values of a golden case."""
    return lambda name: (GOLDEN[name]["inputs"], GOLDEN[name]["expected"])


@pytest.fixture(autouse=True)
def _numpy_settings_are_left_as_they_were():
    """How NumPy treats errors is the user's choice, which a function may change for itself but not leave changed."""
    import numpy as np  # Not above: imported within a test, it ignores warnings of libraries that were built for others.

    before = np.geterr()
    yield
    assert np.geterr() == before
