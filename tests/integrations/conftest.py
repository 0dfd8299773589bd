"""Where the logs of language-model evaluations are."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def logs():
    """Return the folder of the logs: those stored with the tests, or new ones that `nox -s logs` made."""
    return Path(os.environ.get("PROPRIETY_LOGS", Path(__file__).parent / "logs"))
