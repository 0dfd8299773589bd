"""Examples without the empty line that a doctest in Markdown needs between its output and the closing fence."""

from __future__ import annotations

from typing import Any

from docutils import nodes


def tidy(_: Any, document: nodes.document) -> None:
    """Cut the empty lines at the end of every block of code."""
    for block in document.findall(nodes.literal_block):
        text = block.astext()
        if text.endswith("\n"):
            block.rawsource = text.rstrip("\n")
            block.children = [nodes.Text(block.rawsource)]
            block.children[0].parent = block


def setup(app: Any) -> dict[str, Any]:
    """Tidy every page when it has been read."""
    app.connect("doctree-read", tidy)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
