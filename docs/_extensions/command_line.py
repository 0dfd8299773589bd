"""The reference page of the command line, generated from its commands and options."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click

from propriety.cli.program import program

PAGE = Path("reference") / "command_line.rst"
SIGNS = re.compile(r"([\\*|_`])")


def page() -> str:
    """Return the source of the page."""
    lines = [*_title("Command line", "="), *_paragraphs(program.help), *_blocks(program.epilog)]
    for name, command in program.commands.items():
        lines += [*_title(f"propriety {name}", "-"), *_command(command)]
    return "\n".join(lines)


def _command(command: click.Command) -> Iterator[str]:
    context = click.Context(command, info_name=f"propriety {command.name}")
    yield from _literal([" ".join([context.command_path, *command.collect_usage_pieces(context)])])
    yield from _paragraphs(command.help)
    grouped = [option for group in getattr(command, "groups", ()) for option in group.options]
    for title, options in getattr(command, "groups", ()):
        yield from _options(title, options, context)
    yield from _options("Other options", [option for option in command.params if option not in grouped], context)
    yield from _blocks(command.epilog)


def _options(title: str, options: Iterable[click.Parameter], context: click.Context) -> Iterator[str]:
    """Yield the title of some options, and a list of their definitions."""
    yield f"**{title}**"
    yield ""
    for option in options:
        record = option.get_help_record(context) if isinstance(option, click.Option) else None
        if record is not None:
            names, text = record
            yield f"``{names}``"
            yield f"   {_escaped(text)}"
            yield ""


def _paragraphs(text: str | None) -> Iterator[str]:
    for paragraph in (text or "").split("\n\n"):
        yield _escaped(" ".join(paragraph.split()))
        yield ""


def _blocks(epilog: str | None) -> Iterator[str]:
    """Yield the blocks of an epilog, each with a title and lines that are not wrapped."""
    for block in (epilog or "").split("\n\n"):
        title, *lines = block.removeprefix("\b\n").splitlines()
        yield f"**{title.rstrip(':')}**"
        yield ""
        yield from _literal([line.removeprefix("  ") for line in lines])


def _literal(lines: list[str]) -> Iterator[str]:
    yield ".. code-block:: text"
    yield ""
    yield from (f"   {line}" for line in lines)
    yield ""


def _title(text: str, sign: str) -> list[str]:
    return [text, sign * len(text), ""]


def _escaped(text: str) -> str:
    """Escape a text; what is in backticks is literal."""
    parts = text.split("`")
    return "".join(f"``{part}``" if place % 2 else SIGNS.sub(r"\\\1", part) for place, part in enumerate(parts))


def write(app: Any, _: object) -> None:
    """Write the page if it has changed."""
    path, source = Path(app.srcdir) / PAGE, page()
    if not path.exists() or path.read_text(encoding="utf-8") != source:
        path.write_text(source, encoding="utf-8")


def setup(app: Any) -> dict[str, Any]:
    """Write the page before Sphinx looks for sources."""
    app.connect("config-inited", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
