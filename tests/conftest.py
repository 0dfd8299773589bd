"""What the tests share: golden cases, Hypothesis settings, and the rules by what they declare."""

import json
import math
import os
import zlib
from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

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


PART = 8  # Of the cases of a slow test, one in so many runs in CI, the same ones every time; the others run nightly.


def pytest_collection_modifyitems(items):
    cases = defaultdict(list)
    for item in items:
        if item.get_closest_marker("slow") and hasattr(item, "callspec"):
            cases[item.path, item.originalname].append(item)
    for same in cases.values():
        same.sort(key=lambda item: zlib.crc32(item.nodeid.encode()))
        for item in same[math.ceil(len(same) / PART) :]:
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
