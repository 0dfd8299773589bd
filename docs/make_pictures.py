"""Draw the pictures of the README again.

Run: python docs/make_pictures.py
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt

import propriety as pr

IMAGES = Path(__file__).parent / "images"


def main() -> None:
    """Draw the forecasters of the README's first result."""
    generator = np.random.default_rng(1)
    honest = generator.beta(1, 3, 10_000)
    y = generator.random(10_000) < honest
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


if __name__ == "__main__":
    main()
