"""Make the pictures of the README and the home page again; those of the report need Chromium.

Run: python docs/make_pictures.py
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt
from PIL import Image

import propriety as pr

HERE = Path(__file__).parent
IMAGES = HERE / "images"
sys.path.insert(0, str(HERE / "_extensions"))

from example_report import example  # noqa: E402  (an extension of the site)

SECTIONS = ("calibration", "decisions")
WIDTH, HEIGHT, MARGIN, SCALE = 1000, 990, 80, 1.5  # The window, and what is cut off above a section.


def main() -> None:
    """Draw the forecasters of the README's first result, and photograph their report."""
    forecasters()
    report()


def forecasters() -> None:
    """Draw a reliability diagram, and the parts of four scores."""
    generator = np.random.default_rng(1)
    honest = generator.beta(1, 3, 4_000)
    y = generator.random(4_000) < honest
    bold = honest**2 / (honest**2 + (1 - honest) ** 2)
    timid = 0.25 + 0.4 * (honest - 0.25)
    coarse = np.where(honest < 0.2, 0.1, np.where(honest < 0.5, 0.3, 0.6))
    models = {"honest": honest, "bold": bold, "timid": timid, "coarse": coarse}
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.4, 4.1), layout="constrained")
    curve = pr.reliability_curve(y, bold).with_consistency_band(method="resampling", seed=1)
    curve.plot(left, label="The bold forecaster")
    pr.plots.plot_decompositions({name: pr.decompose(y, p) for name, p in models.items()}, right)
    right.set_title("Parts of the Brier scores", fontsize=10, loc="left")
    figure.savefig(IMAGES / "calibration.png", dpi=160)


def report() -> None:
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
