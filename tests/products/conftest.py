"""What reads figures and runs commands, which lies beside the tests of these, is found by its name."""

import sys
from importlib.util import find_spec
from pathlib import Path

collect_ignore_glob = [
    *(["*/test_picture*.py"] if find_spec("matplotlib") is None else []),
    *(["*/test_page*.py"] if find_spec("jinja2") is None else []),
    *(["*/test_command*.py"] if find_spec("click") is None or find_spec("duckdb") is None else []),
]

sys.path += [str(Path(__file__).parents[1] / room) for room in ("plots", "cli")]
if find_spec("click") is not None and find_spec("duckdb") is not None:
    from command_line import columns, folder, refusal, run  # noqa: F401
