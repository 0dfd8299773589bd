"""An example of the report, made at every build and put beside the pages as `example_report.html`."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import propriety as pr


def example() -> str:
    """Return the report on the two forecasters of the first pages."""
    generator = np.random.default_rng(1)
    honest = generator.beta(1, 3, 4_000)
    y = generator.random(4_000) < honest
    bold = honest**2 / (honest**2 + (1 - honest) ** 2)
    result = pr.evaluate(y, {"honest": honest, "bold": bold}, thresholds=(0.05, 0.2), seed=1)
    return result.to_html(title="Two forecasters")


def write(_: Any, config: Any) -> None:
    """Hand the folder with the report to the site."""
    folder = Path(tempfile.mkdtemp(prefix="propriety-report-"))
    (folder / "example_report.html").write_text(example(), encoding="utf-8")
    config.html_extra_path.append(str(folder))


def setup(app: Any) -> dict[str, Any]:
    """Make the report when the settings have been read."""
    app.connect("config-inited", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
