"""Make the pictures of the README and the home page again, which needs Chromium.

Run: python docs/make_pictures.py
"""

from __future__ import annotations

import doctest
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image

HERE = Path(__file__).parent
IMAGES = HERE / "images"
sys.path.insert(0, str(HERE / "_extensions"))

from example_report import example  # noqa: E402  (an extension of the site)

WIDTH, HEIGHT, MARGIN, SCALE = 1000, 990, 80, 1.5  # The window, and what is cut off above a section.


def main() -> None:
    """Save sections of the two reports as a browser shows them."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("The pictures of the report need Chromium.")
    site = example()
    photograph(chromium, readme_report(), "calibration", IMAGES / "readme.png")
    photograph(chromium, site, "calibration", IMAGES / "report_calibration.png")
    photograph(chromium, site, "decisions", IMAGES / "report_decisions.png")


def readme_report() -> str:
    """Return the report of the README's first result, whose code is run as it is there."""
    code = doctest.DocTestParser().get_examples((HERE.parent / "README.md").read_text(encoding="utf-8"))
    names: dict[str, Any] = {}
    for each in code:
        exec(each.source, names)  # noqa: S102  (our own README)
        if "result" in names:
            break
    return names["result"].to_html()


def photograph(chromium: str, report: str, section: str, picture: Path) -> None:
    """Save a section of a report as a picture."""
    size = (f"--window-size={WIDTH},{HEIGHT}", f"--force-device-scale-factor={SCALE}")
    options = ("--headless", "--no-sandbox", "--hide-scrollbars", *size)
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "section.html"
        page.write_text(starting_at(section, report), encoding="utf-8")
        command = [chromium, *options, f"--screenshot={picture}", page.as_uri()]
        subprocess.run(command, check=True, capture_output=True)  # noqa: S603  (our words)
    shown = Image.open(picture).convert("RGB")
    shown = shown.crop((0, round(MARGIN * SCALE), *shown.size))
    # A palette makes the file a third as large, and the report has few colours.
    shown.quantize(64).save(picture, optimize=True)


def starting_at(section: str, page: str) -> str:
    """Return the report without what comes before a section."""
    head, _, body = page.partition("<header>")
    _, start, rest = body.partition(f'<section id="s-{section}"')
    return f"{head}<main>{start}{rest}"


if __name__ == "__main__":
    main()
