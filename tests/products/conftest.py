"""The functions that read figures, which lie beside the tests of pictures, are found by their name."""

import sys
from importlib.util import find_spec
from pathlib import Path

collect_ignore_glob = [
    *(["*/test_picture*.py"] if find_spec("matplotlib") is None else []),
    *(["*/test_page*.py"] if find_spec("jinja2") is None else []),
    *(["*/test_command*.py"] if find_spec("click") is None or find_spec("duckdb") is None else []),
]

sys.path.append(str(Path(__file__).parents[1] / "plots"))
