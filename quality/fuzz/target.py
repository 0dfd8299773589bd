"""Run a harness under atheris: `python quality/fuzz/target.py arguments CORPUS -max_total_time=60`.

An input that finds a bug is kept in the folder of the environment variable FOUND, once for each place in the code,
and the run continues, so that one run can find several bugs.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import sys
import traceback
from operator import attrgetter
from pathlib import Path

import atheris

sys.path.insert(0, str(Path(__file__).parent))

import containers  # noqa: F401  (so that libraries are loaded before the package alone is instrumented)


def main() -> None:
    """Instrument the package, then let libFuzzer call the harness."""
    with atheris.instrument_imports(include=["propriety"], enable_loader_override=False):
        import propriety
        from propriety import public_names

        harness = importlib.import_module(sys.argv[1])
        for path in public_names.public_names():  # They are imported when they are asked for.
            attrgetter(path)(propriety)
    found = Path(os.environ.get("FOUND", "found")) / sys.argv[1]

    def call(data: bytes) -> None:
        try:
            harness.one(data)
        except Exception as error:  # noqa: BLE001  (every error that a harness does not catch is a bug)
            _keep(found, data, error)

    # libFuzzer starts itself again by its first argument, through the shell, when it merges.
    atheris.Setup([f"{sys.executable} {__file__} {sys.argv[1]}", *sys.argv[2:]], call)
    atheris.Fuzz()


def _keep(folder: Path, data: bytes, error: Exception) -> None:
    """Keep the first input for each kind of error and place that raised it."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    what = f"{type(error).__name__} {Path(place.filename).name} {place.name} {str(error)[:24]}"
    path = folder / hashlib.sha256(what.encode()).hexdigest()[:16]
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        path.with_suffix(".txt").write_text("".join(traceback.format_exception(error)), encoding="utf-8")


if __name__ == "__main__":
    main()
