"""Names that become links: public names of the package, and papers by DOI or arXiv number.

The role `api` links a public name to its page and sets everything else as code. It is the role of plain backticks in
docstrings, where `mean_score` is a public name and `y_true` is not.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx

import propriety

PAPER = re.compile(r"(?P<kind>doi|arXiv):(?P<number>[^\s,]*[^\s,.;)])")
ADDRESSES = {"doi": "https://doi.org/", "arXiv": "https://arxiv.org/abs/"}


def api(
    name: str,
    rawtext: str,
    text: str,
    lineno: int,
    inliner: Any,
    options: dict[str, Any] | None = None,
    content: list[str] | None = None,
) -> tuple[list[nodes.Node], list[nodes.system_message]]:
    """Return a link if the text is a public name or a call of one, with or without its package, and code otherwise."""
    del name, lineno, options, content
    bare = text.partition("(")[0].removeprefix("pr.").removeprefix("propriety.")
    code = nodes.literal(rawtext, text, classes=["xref", "py"])
    if bare not in propriety.__all__ or bare == "errors":
        return [code], []
    environment = inliner.document.settings.env
    target = {"reftarget": f"propriety.{bare}", "refdomain": "py", "reftype": "obj", "refexplicit": True}
    return [pending_xref(rawtext, code, refdoc=environment.docname, refwarn=True, **target)], []


def link_papers(_: Sphinx, document: nodes.document) -> None:
    """Turn `doi:...` and `arXiv:...` in running text into links."""
    for text in list(document.findall(nodes.Text)):
        if isinstance(text.parent, nodes.reference | nodes.literal | nodes.literal_block | nodes.comment):
            continue
        whole, parts, end = text.astext(), [], 0
        for paper in PAPER.finditer(whole):
            address = ADDRESSES[paper["kind"]] + paper["number"]
            parts += [nodes.Text(whole[end : paper.start()]), nodes.reference("", paper[0], refuri=address)]
            end = paper.end()
        if parts:
            text.parent.replace(text, [*parts, nodes.Text(whole[end:])])


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the role, and the links to papers."""
    app.add_role("api", api)
    app.connect("doctree-read", link_papers)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
