"""The inputs that fuzzing kept, by target and name, all in `corpus.json`; each is written in base 64.

The name of an input that once found a bug begins with `fault-`, and that of any other is the SHA-1 of its bytes, as
libFuzzer names it. `python quality/fuzz/corpus.py arguments PATH` adds the file PATH as an input of the target
`arguments` that found a bug.
"""

from __future__ import annotations

import base64
import hashlib
import json
import sys
from collections.abc import Mapping
from pathlib import Path

STORED = Path(__file__).with_suffix(".json")


def read() -> dict[str, dict[str, bytes]]:
    """Return the inputs of each target by name."""
    targets = json.loads(STORED.read_text(encoding="utf-8"))
    return {
        target: {name: base64.b64decode(text, validate=True) for name, text in inputs.items()}
        for target, inputs in targets.items()
    }


def write(targets: Mapping[str, Mapping[str, bytes]]) -> None:
    """Store the inputs of all targets."""
    texts = {
        target: {name: base64.b64encode(data).decode() for name, data in inputs.items()}
        for target, inputs in targets.items()
    }
    STORED.write_text(json.dumps(texts, indent=1, sort_keys=True) + "\n", encoding="utf-8", newline="\n")


def unpack(target: str, folder: Path) -> None:
    """Write the inputs of a target as files into an empty folder, which is how libFuzzer reads them."""
    folder.mkdir(parents=True)
    for name, data in read()[target].items():
        (folder / name).write_bytes(data)


def add_fault(target: str, path: Path) -> None:
    """Add the input in a file, which found a bug."""
    data, targets = path.read_bytes(), read()
    targets[target][f"fault-{hashlib.sha256(data).hexdigest()[:12]}"] = data
    write(targets)


if __name__ == "__main__":
    add_fault(sys.argv[1], Path(sys.argv[2]))
