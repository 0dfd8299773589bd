"""What reads figures and runs commands, which lies beside the tests of these, is found by its name."""

import sys
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

COMMANDS = all(map(find_spec, ("click", "duckdb"))) and tuple(map(int, version("duckdb").split(".")[:2])) >= (1, 4)
collect_ignore_glob = [
    *([] if find_spec("matplotlib") else ["*/test_picture*.py"]),
    *([] if find_spec("jinja2") else ["*/test_page*.py"]),
    *([] if COMMANDS else ["*/test_command*.py"]),
]

sys.path += [str(Path(__file__).parents[1] / room) for room in ("plots", "cli")]
if COMMANDS:
    from shell import columns, folder, refusal, run  # noqa: F401
