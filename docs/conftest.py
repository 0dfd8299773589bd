"""What pytest leaves to the build of the site, which runs it, and which examples it takes for slow."""

from pathlib import Path

import pytest

# Recipes, in folders of the examples, run on their platforms; `tests/platforms` runs them there.
RECIPES = "examples/*/*"
collect_ignore_glob = ["conf.py", "_extensions", "gallery", "pictures", "reference/generated", RECIPES]
EXAMPLES = Path(__file__).parent / "examples"  # Of adapters; they import large libraries.


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the examples of adapters as slow."""
    for item in items:
        if EXAMPLES in item.path.parents:
            item.add_marker("slow")
