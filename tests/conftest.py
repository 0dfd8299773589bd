"""What the tests share: golden cases, Hypothesis settings, and the rules by what they declare."""

import json
import os
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


@pytest.fixture
def golden():
    """Return a function that gives the inputs and the expected values of a golden case."""
    return lambda name: (GOLDEN[name]["inputs"], GOLDEN[name]["expected"])
