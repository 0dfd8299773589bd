"""What the tests share: golden cases, Hypothesis settings, and the rules by what they declare."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

GOLDEN = {
    case["name"]: case for case in json.loads((Path(__file__).parent / "golden" / "golden.json").read_text())["cases"]
}

# On a busy machine time per example says nothing, and the same examples everywhere make a failure repeatable.
settings.register_profile(
    "propriety", deadline=None, derandomize="CI" in os.environ, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("propriety")


@pytest.fixture
def golden():
    """Return a function that gives the inputs and the expected values of a golden case."""
    return lambda name: (GOLDEN[name]["inputs"], GOLDEN[name]["expected"])
