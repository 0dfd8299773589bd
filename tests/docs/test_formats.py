"""The page on compatibility lists every stored format, with the version that is written now."""

import importlib
import re
from pathlib import Path

import pytest

import propriety as pr
from propriety.ledger.ledger_files import SCHEMA as LEDGER
from propriety.ledger.ledger_files import VERSION as LEDGER_VERSION
from propriety.tables.forecast_table import ForecastTable

PAGE = Path(__file__).parents[2] / "docs" / "compatibility.md"


@pytest.mark.product("monitoring", "planning", "segments")
def test_every_format_is_listed_with_its_version():
    machine = pytest.importorskip("propriety.cli.machine", reason="the command line is not installed")
    written = {f"propriety.{kind}": version for kind, version in machine.VERSIONS.items()}
    monitor = importlib.import_module("propriety.products.monitoring.files")  # Absent where it was cut out.
    written |= {LEDGER: LEDGER_VERSION, monitor.SCHEMA: monitor.VERSION}
    for kind in (ForecastTable, pr.PrivateLedger, pr.recalibration.RecalibrationMap):
        written[kind.schema] = kind.schema_version
    listed = re.findall(r"^\| [^|]+ \| `(propriety\.\w+)` \| (\d+) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert {schema: int(version) for schema, version in listed} == written
