"""The reference page of the command line names every command and option, and is valid reStructuredText."""

import importlib.util
from pathlib import Path

import click
import pytest

pytest.importorskip("click")

from propriety.cli.program import program

PATH = Path(__file__).resolve().parents[2] / "docs" / "_extensions" / "command_line.py"


@pytest.fixture(scope="module")
def page():
    spec = importlib.util.spec_from_file_location("command_line", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.page()


@pytest.mark.parametrize("name", list(program.commands))
def test_every_option_and_example_is_listed(page, name):
    text = page.split(f"\npropriety {name}\n--")[1].split("\n---")[0]
    command = program.commands[name]
    for option in command.params:
        if isinstance(option, click.Option) and not option.hidden:
            assert all(f"``{one}" in text or f", {one}" in text for one in option.opts), option.name
            assert option.help.split()[0] in text
    examples = [line for line in command.epilog.splitlines() if line.strip().startswith("propriety ")]
    assert all(line.strip() in text for line in examples)


def test_the_exit_codes_are_listed(page):
    assert "   141  the program that read the output closed the pipe" in page


def test_it_is_valid(page):
    core = pytest.importorskip("docutils.core")
    told = []

    class Kept:
        write = told.append

    options = {"warning_stream": Kept(), "report_level": 2, "syntax_highlight": "none"}
    core.publish_doctree(page.replace("code-block:: text", "code::"), settings_overrides=options)
    assert told == []
