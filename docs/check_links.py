"""Check that every link and picture within the built pages leads somewhere; addresses elsewhere are not visited.

Run: python docs/check_links.py build/docs
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The links of a page, and the places in it that links may lead to."""

    def __init__(self, path: Path) -> None:
        """Read the page."""
        super().__init__()
        self.links: list[str] = []
        self.places: set[str] = {"", "top"}
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what the tag links to and what it is called."""
        del tag
        given = dict(attrs)
        self.links += [link for link in (given.get("href"), given.get("src")) if link]
        self.places |= {name for name in (given.get("id"), given.get("name")) if name}


@cache
def page(path: Path) -> Page:
    """Return a page, read once."""
    return Page(path)


def broken(root: Path) -> Iterator[str]:
    """Return every link that leads nowhere, with the page that has it."""
    # The search page is filled by its script, and the example's report is a page of its own.
    apart = {root / "search.html", root / "example_report.html", *(root / "_static").rglob("*.html")}
    for path in sorted(set(root.rglob("*.html")) - apart):
        for link in page(path).links:
            address = urlsplit(link)
            if address.scheme or address.netloc:
                continue
            target = path if not address.path else (path.parent / unquote(address.path)).resolve()
            if target.is_dir():
                target /= "index.html"
            if not target.exists():
                yield f"{path.relative_to(root)}: {link} does not exist"
            elif target.suffix == ".html" and unquote(address.fragment) not in page(target).places:
                yield f"{path.relative_to(root)}: {link} has no such place"


def main() -> None:
    """Print what is broken, and fail if anything is."""
    root = Path(sys.argv[1]).resolve()
    found = sorted(set(broken(root)))
    sys.exit("\n".join(found) if found else None)


if __name__ == "__main__":
    main()
