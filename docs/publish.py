"""Put a built site under its version into the folder of all versions, and list the versions for the switcher.

Run: python docs/publish.py build/docs site main
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from pathlib import Path


def publish(built: Path, site: Path, name: str, address: str) -> None:
    """Replace the folder of one version, list all versions, and let the start page lead to the newest release."""
    version = name.removeprefix("v") if re.fullmatch(r"v\d+(\.\d+)*", name) else "dev"
    shutil.rmtree(site / version, ignore_errors=True)
    shutil.copytree(built, site / version)
    (site / ".nojekyll").touch()  # The hosting service leaves out folders such as `_static` otherwise.
    versions = sorted((each.name for each in site.iterdir() if (each / "index.html").exists()), key=newest_first)
    rows = [{"name": each, "version": each, "url": f"{address}/{each}/"} for each in versions]
    (site / "versions.json").write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    start = f'<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url={versions[0]}/">'
    (site / "index.html").write_text(f"{start}<title>propriety</title>\n", encoding="utf-8")


def newest_first(version: str) -> tuple[bool, list[int]]:
    """Return a key that sorts releases from the newest to the oldest, and the development version last."""
    return version == "dev", [] if version == "dev" else [-int(part) for part in version.split(".")]


if __name__ == "__main__":
    publish(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], os.environ["PROPRIETY_SITE"])
