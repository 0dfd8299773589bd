"""Make the pictures of the README and the home page again, which needs Chromium.

Run: python docs/make_pictures.py
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

HERE = Path(__file__).parent
IMAGES = HERE / "images"
sys.path.insert(0, str(HERE / "_extensions"))

from example_report import example  # noqa: E402  (an extension of the site)

SECTIONS = ("calibration", "decisions")
WIDTH, HEIGHT, MARGIN, SCALE = 1000, 990, 80, 1.5  # The window, and what is cut off above a section.


def main() -> None:
    """Save sections of the example report as a browser shows them."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("The pictures of the report need Chromium.")
    whole, size = example(), (f"--window-size={WIDTH},{HEIGHT}", f"--force-device-scale-factor={SCALE}")
    options = ("--headless", "--no-sandbox", "--hide-scrollbars", *size)
    with tempfile.TemporaryDirectory() as folder:
        for section in SECTIONS:
            page, picture = Path(folder) / f"{section}.html", Path(folder) / f"{section}.png"
            page.write_text(starting_at(section, whole), encoding="utf-8")
            command = [chromium, *options, f"--screenshot={picture}", page.as_uri()]
            subprocess.run(command, check=True, capture_output=True)  # noqa: S603  (our words)
            shown = Image.open(picture).convert("RGB")
            shown = shown.crop((0, round(MARGIN * SCALE), *shown.size))
            # A palette makes the file a third as large, and the report has few colours.
            shown.quantize(64).save(IMAGES / f"report_{section}.png", optimize=True)


def starting_at(section: str, page: str) -> str:
    """Return the report without what comes before a section."""
    head, _, body = page.partition("<header>")
    _, start, rest = body.partition(f'<section id="s-{section}"')
    return f"{head}<main>{start}{rest}"


if __name__ == "__main__":
    main()
