"""What adapters share in their tests: a store of MLflow, logs, and data that are found by the name of their file."""

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="module")
def mlflow_store(tmp_path_factory):
    """Let MLflow track in an SQLite store in a folder of its own."""
    import mlflow

    folder, before = tmp_path_factory.mktemp("mlflow"), mlflow.get_tracking_uri()
    mlflow.set_tracking_uri(f"sqlite:///{folder / 'runs.db'}")
    experiment = mlflow.create_experiment("forecasts", artifact_location=(folder / "artifacts").as_uri())
    mlflow.set_experiment(experiment_id=experiment)
    yield
    mlflow.set_tracking_uri(before)


@pytest.fixture(scope="session")
def logs():
    """Return the folder of the logs: those stored with the tests, or new ones that `nox -s logs` made."""
    return Path(os.environ.get("PROPRIETY_LOGS", Path(__file__).parent / "logs"))
