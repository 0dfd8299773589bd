"""The disk space of each package and its dependencies in a new installation.

Run: PYTHONPATH=quality python benchmarks/peers/installs.py (downloads about a gigabyte). Writes `peers_installs`.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from importlib.metadata import distributions, version
from pathlib import Path

from packages import PEERS
from record import table, write

ROOT = Path(__file__).resolve().parents[2]
CAPTION = "Megabytes on disk after `pip install`, without compiled bytecode"


def requirements() -> dict[str, list[str]]:
    """Return what is installed under each name: the checkout, the peers at the versions of this environment."""
    held = {"dcurves": ["pandas<3"]}
    peers = {name: [f"{name}=={version(name)}", *held.get(name, [])] for name in PEERS}
    return {"propriety": [str(ROOT)], "propriety[plot]": [f"{ROOT}[plot]"], **peers}


def installed(wanted: list[str], folder: Path) -> dict[str, int]:
    """Install into an empty folder, and return the bytes of every distribution that is there afterwards."""
    quiet = ("--quiet", "--no-compile", "--no-warn-conflicts")
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as same:
        # Where torch is needed, it is the build of this environment, and not the newest one of the index.
        same.write(f"torch=={version('torch').partition('+')[0]}\n")
        same.flush()
        into = ("--constraint", same.name, "--target", str(folder))
        subprocess.run([sys.executable, "-m", "pip", "install", *quiet, *into, *wanted], check=True)  # noqa: S603  (as above)
    return {
        found.metadata["Name"].lower().replace("_", "-"): sum(
            path.stat().st_size for path in map(found.locate_file, found.files) if path.exists()
        )
        for found in distributions(path=[str(folder)])
    }


def measured(name: str, wanted: list[str]) -> dict[str, object]:
    """Return the row of one package."""
    with tempfile.TemporaryDirectory() as folder:
        sizes = installed(wanted, Path(folder))
    own = sizes[name.partition("[")[0].lower()]
    print(name, own, sum(sizes.values()), flush=True)
    return {
        "package": name,
        "itself": round(own / 1e6, 2),
        "with dependencies": round(sum(sizes.values()) / 1e6),
        "packages": len(sizes),
        "largest": max(sizes, key=lambda each: sizes[each]),
    }


def main() -> None:
    """Install everything, one after another, and write the record."""
    rows = [measured(name, wanted) for name, wanted in requirements().items()]
    ours, most = rows[0], max(rows, key=lambda row: row["with dependencies"])
    write(
        "peers_installs",
        title="Installation size",
        summary=f"propriety and its dependencies, {ours['packages']} packages in total, take "
        f"{ours['with dependencies']} MB; the largest installation, that of {most['package']}, takes "
        f"{most['with dependencies']} MB.",
        command="PYTHONPATH=quality python benchmarks/peers/installs.py",
        tables=[table(CAPTION, rows)],
        notes=[f"torch is the build {version('torch')}; builds for graphics cards are several times as large."],
        libraries=("propriety", *PEERS, "torch"),
    )


if __name__ == "__main__":
    main()
