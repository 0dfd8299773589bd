"""The README of a folder of scripts says what lives there."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("folder", ["quality", "benchmarks", "studies"])
def test_the_readme_of_a_folder_names_every_script(folder):
    text = (ROOT / folder / "README.md").read_text(encoding="utf-8")
    scripts = [path.name for path in (ROOT / folder).glob("*.py")]
    assert scripts
    assert [name for name in scripts if name not in text] == []
