"""Check that the target of every link and image of the built pages exists.

Run: python docs/check_links.py build/docs             (links within the pages)
     python docs/check_links.py build/docs --external  (addresses elsewhere, which needs the network)
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from html.parser import HTMLParser
from http import HTTPStatus
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.parse import quote, unquote, urlsplit
from urllib.request import Request, urlopen

SECONDS = 20
TRIES = 3
PAUSE = 5.0
AT_ONCE = 8
# Some publishers refuse everything that is not a browser, which says nothing of the address.
REFUSED = {HTTPStatus.FORBIDDEN, HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.TOO_MANY_REQUESTS}
HEADERS = {"User-Agent": "Mozilla/5.0 (propriety docs, link check)", "Accept": "text/html,*/*"}


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
        given = dict(attrs)
        # A hint to connect to a server early is no link.
        named = (given.get("href"), given.get("src")) if given.get("rel") != "preconnect" else ()
        self.links += [link for link in named if link]
        self.places |= {name for name in (given.get("id"), given.get("name")) if name}
        del tag


@cache
def page(path: Path) -> Page:
    """Return a page, read once."""
    return Page(path)


def pages(root: Path) -> list[Path]:
    """Return the pages whose links are checked."""
    # The search page is filled by its script, and the example's report is a page of its own.
    apart = {root / "search.html", root / "example_report.html", *(root / "_static").rglob("*.html")}
    return sorted(set(root.rglob("*.html")) - apart)


def broken(root: Path) -> Iterator[str]:
    """Return every link within the pages that leads nowhere, with the page that has it."""
    for path in pages(root):
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


def addresses(root: Path) -> dict[str, str]:
    """Return every address elsewhere, without its fragment, and a page that has it."""
    return {
        link.partition("#")[0]: str(path.relative_to(root))
        for path in pages(root)
        for link in page(path).links
        if urlsplit(link).scheme in ("http", "https")
    }


def asked(address: str) -> str:
    """Return what is asked for: of a DOI its record, because publishers turn programs away; all in plain characters."""
    return quote(address.replace("https://doi.org/", "https://doi.org/api/handles/"), safe=":/?&=%;,@+~()")


def visit(address: str) -> None:
    """Ask for an address; what is wrong with it is raised."""
    request = Request(asked(address), headers=HEADERS)  # noqa: S310  (http and https alone come here)
    urlopen(request, timeout=SECONDS).close()  # noqa: S310


def fault(address: str, visit: Callable[[str], None] = visit, pause: float = PAUSE) -> str | None:
    """Return what is wrong with an address, tried some times because networks fail."""
    found = None
    for attempt in range(TRIES):
        try:
            visit(address)
        except HTTPError as error:
            if error.code in REFUSED:
                return None
            found = f"{error.code} {error.reason}"
            if error.code < HTTPStatus.INTERNAL_SERVER_ERROR:
                return found
        except (URLError, OSError, ValueError) as error:
            found = str(error)
        else:
            return None
        time.sleep(pause * attempt)
    return found


def unreachable(root: Path) -> Iterator[str]:
    """Return every address elsewhere that does not answer, with a page that has it."""
    found = addresses(root)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for (address, path), wrong in zip(found.items(), pool.map(fault, found), strict=True):
            if wrong is not None:
                yield f"{path}: {address} ({wrong})"


def main() -> None:
    """Print what is broken, and fail if anything is."""
    root = Path(sys.argv[1]).resolve()
    found = sorted(set(unreachable(root) if "--external" in sys.argv[2:] else broken(root)))
    sys.exit("\n".join(found) if found else None)


if __name__ == "__main__":
    main()
