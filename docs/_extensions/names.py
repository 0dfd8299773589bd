"""Names that become links: public names of the package, its pages, and papers by DOI or arXiv number.

The role `api` links a public name, or the file of a page, to its page and sets everything else as code. It is the role
of plain backticks in docstrings, where `mean_score` is a public name and `y_true` is not.
"""

from __future__ import annotations

import re
from types import FunctionType
from typing import Any

from docutils import nodes
from reference_pages import ADAPTERS, adapter_names, bare, public_names, subjects
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx

from propriety import plots
from propriety.public_names import ROOMS

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
    """Return a link if the text is a public name, a call of one, or the file of a page, and code otherwise."""
    del name, lineno, options, content
    environment = inliner.document.settings.env
    full = full_name(text.partition("(")[0], environment.ref_context.get("py:module") or "propriety")
    code = nodes.literal(rawtext, text, classes=["xref", "py"])
    page = re.fullmatch(r"docs(?P<name>/[\w/]+)\.md", text)
    if page:
        target = {"reftarget": page["name"], "refdomain": "std", "reftype": "doc", "refexplicit": True}
        return [pending_xref(rawtext, code, refdoc=environment.docname, refwarn=True, **target)], []
    if full is None:
        return [code], []
    target = {"reftarget": full, "refdomain": "py", "reftype": "obj", "refexplicit": True}
    return [pending_xref(rawtext, code, refdoc=environment.docname, refwarn=True, **target)], []


def full_name(text: str, module: str) -> str | None:
    """Return the full name of what a text means on a page of a module, or None if it is no public name."""
    adapter = module.removeprefix("propriety.integrations.")
    if adapter in ADAPTERS and text in adapter_names(adapter):
        return f"{module}.{text}"
    short = text.removeprefix("pr.").removeprefix("propriety.")
    first, _, rest = short.partition(".")
    if first == "plots":
        return f"propriety.{short}" if rest in plots.__all__ else None
    owner, _, member = (rest if first in ROOMS else short).partition(".")
    if owner not in subjects():
        return None
    # Fields, and what a class inherits, have no place of their own.
    linked = (property, classmethod, FunctionType)
    has_place = bool(member) and isinstance(vars(subjects()[owner]).get(member), linked)
    path = next(path for path in public_names() if bare(path) == owner)
    return f"propriety.{path}.{member}" if has_place else f"propriety.{path}"


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
