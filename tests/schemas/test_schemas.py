"""What an earlier release wrote is read for ever; what a later one wrote is refused in one sentence."""

import importlib.util
import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import propriety as pr
from propriety.errors import InputValueError
from propriety.ledger.ledger_files import VERSION
from propriety.recalibration.methods import CLASS_METHODS, METHODS
from propriety.recalibration.stored_maps import KINDS, StoredMap
from propriety.tables.forecast_table import ForecastTable

pytest.importorskip("click")  # Documents are what the command line writes.

FILES = Path(__file__).resolve().parent / "files"
STORED = sorted(path.stem for path in FILES.glob("forecast_table-*.json"))
LEDGERS = sorted(path.name for path in FILES.glob("ledger-*"))


@pytest.fixture(scope="module")
def now():
    """Return the module that writes the files, as the schemas are now."""
    spec = importlib.util.spec_from_file_location("schemas_written", Path(__file__).with_name("write.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def documents(now):
    return now.documents()


def data_of(stem):
    return json.loads((FILES / f"{stem}.json").read_text(encoding="utf-8"))


@pytest.mark.product("monitoring")
def test_every_version_of_a_monitor_is_read_and_means_what_it_meant(now):
    versions = sorted(path.name for path in FILES.glob("monitor_state-*"))
    assert versions == [f"monitor_state-{version}" for version in range(1, now.monitor_version() + 1)]
    for version in versions:
        same_monitors(pr.results.Monitored.from_parquet(FILES / version), now.monitor())


def same_monitors(read, made):
    for one, other in ((read, made), (read.days(), made.days())):
        found, expected = (result.to_frame(backend="pandas") for result in (one, other))
        pd.testing.assert_frame_equal(found, expected, rtol=1e-12)


@pytest.mark.parametrize("version", range(1, pr.PrivateLedger.schema_version + 1))
def test_every_version_of_a_private_ledger_is_read_and_means_what_it_meant(version, now):
    text = (FILES / f"private_ledger-{version}.json").read_text(encoding="utf-8")
    assert pr.PrivateLedger.from_json(text).to_dict() == now.private_ledger().to_dict()


def test_there_are_files_of_every_version():
    versions = {data_of(stem)["version"] for stem in STORED}
    assert versions == set(range(1, ForecastTable.schema_version + 1))
    facts = [json.loads((FILES / name / "ledger.json").read_text(encoding="utf-8")) for name in LEDGERS]
    assert {one["version"] for one in facts} == set(range(1, VERSION + 1))


@pytest.mark.parametrize("stem", STORED)
def test_every_version_of_a_table_is_read_and_means_what_it_meant(stem, now):
    made = now.tables()[stem.split("-")[2]]
    read = [ForecastTable.from_dict(data_of(stem)), ForecastTable.from_parquet(FILES / f"{stem}.parquet")]
    for one in read:
        found, expected = one.to_dict(), made.to_dict()
        assert found.keys() == expected.keys()
        for field, value in expected.items():
            if isinstance(value, list):
                np.testing.assert_allclose(found[field], value, rtol=1e-12, atol=1e-15)
            else:
                assert found[field] == value


@pytest.mark.parametrize("name", LEDGERS)
def test_every_version_of_a_ledger_is_read_and_means_what_it_meant(name, now):
    made, found = now.ledgers()[name.split("-")[2]], pr.Ledger.from_parquet(FILES / name)
    for fact in ("models", "events", "labels", "kind", "keys", "n", "dependence", "is_weighted", "dropped", "rules"):
        assert getattr(found, fact) == getattr(made, fact), fact
    one, other = (ledger.to_frame(backend="pandas") for ledger in (found, made))
    assert list(one) == list(other)
    for column in one:
        if one[column].dtype.kind == "f":
            np.testing.assert_allclose(one[column], other[column], rtol=1e-12, atol=1e-15)
        else:
            assert one[column].tolist() == other[column].tolist()
    for rule in made.rules:
        mine, theirs = (ledger.moments(rule) for ledger in (found, made))
        assert [mine.index.column(key) for key in mine.index.names] == [
            theirs.index.column(k) for k in theirs.index.names
        ]
        for field in ("n", "weight", "weight_squares", "mean", "lean", "spread"):
            np.testing.assert_allclose(getattr(mine, field), getattr(theirs, field), rtol=1e-12, atol=1e-15)
        assert (mine.pair_sums is None) == (theirs.pair_sums is None)
        if mine.pair_sums is not None:
            for field in ("imagined", "cubes", "differ"):
                one, other = getattr(mine.pair_sums, field), getattr(theirs.pair_sums, field)
                np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("version", [0, 2, 17, -1, 1.5, "1", None, [1]], ids=repr)
def test_other_versions_of_a_table_are_refused_in_one_sentence(version):
    with pytest.raises(InputValueError, match=r"^propriety\.forecast_table must have version 1; got .*newer"):
        ForecastTable.from_dict(data_of("forecast_table-1-plain") | {"version": version})


@pytest.mark.parametrize("version", [0, 2, 17, -1, 1.5, "1", None, [1]], ids=repr)
def test_other_versions_of_a_ledger_are_refused_in_one_sentence(version, tmp_path):
    folder = tmp_path / "later"
    shutil.copytree(FILES / "ledger-1-plain", folder)
    facts = json.loads((folder / "ledger.json").read_text(encoding="utf-8"))
    (folder / "ledger.json").write_text(json.dumps(facts | {"version": version}), encoding="utf-8")
    with pytest.raises(InputValueError, match=r"^propriety\.ledger must have version 1; got .*newer"):
        pr.Ledger.from_parquet(folder)


def test_a_file_without_version_or_of_another_schema_is_refused(tmp_path):
    data = data_of("forecast_table-1-plain")
    with pytest.raises(InputValueError, match="must have version 1; got None"):
        ForecastTable.from_dict({name: value for name, value in data.items() if name != "version"})
    ledger = json.loads((FILES / "ledger-1-plain" / "ledger.json").read_text(encoding="utf-8"))
    with pytest.raises(
        InputValueError, match=r"data must be a stored propriety\.forecast_table; got 'propriety\.ledger'"
    ):
        ForecastTable.from_dict(ledger)
    (tmp_path / "ledger.json").write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(
        InputValueError, match=r"data must be a stored propriety\.ledger; got 'propriety\.forecast_table'"
    ):
        pr.Ledger.from_parquet(tmp_path)


def test_a_newer_parquet_file_is_refused(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    table = parquet.read_table(FILES / "forecast_table-1-plain.parquet")
    facts = json.loads(table.schema.metadata[b"propriety"]) | {"version": 3}
    later = tmp_path / "later.parquet"
    parquet.write_table(table.replace_schema_metadata({b"propriety": json.dumps(facts)}), later)
    with pytest.raises(InputValueError, match="must have version 1; got 3"):
        ForecastTable.from_parquet(later)


def test_squares_are_stored_where_there_are_weights(now, tmp_path):
    tables = now.tables()
    assert "event_squares" not in tables["plain"].to_dict()
    assert "event_squares" in tables["weighted"].to_dict()
    for table in tables.values():
        table.to_parquet(tmp_path / "table.parquet")
        again = ForecastTable.from_parquet(tmp_path / "table.parquet")
        assert again.to_dict() == table.to_dict()
        assert again.is_weighted == table.is_weighted


def shape(value):
    """Return the names and kinds of what a document holds; of a list, those of its first entry."""
    if isinstance(value, dict):
        return {name: shape(entry) for name, entry in value.items()}
    if isinstance(value, list):
        return [shape(entry) for entry in value[:1]]
    return "number" if isinstance(value, int | float) and not isinstance(value, bool) else type(value).__name__


def lacking(old, new, path=""):
    """Return the paths of what was there once and is gone or of another kind; what is new is no harm."""
    if isinstance(old, dict) and isinstance(new, dict):
        return [found for name in old for found in lacking(old[name], new.get(name), f"{path}/{name}")]
    if isinstance(old, list) and isinstance(new, list):
        return lacking(old[0], new[0], f"{path}/0") if old and new else []
    return [] if old == new else [path]


@pytest.fixture(scope="module")
def told(now):
    """Return what the commands write."""
    pytest.importorskip("duckdb", minversion="1.4.1", reason="the command line needs DuckDB 1.4.1")
    return now.commands()


def test_there_is_a_file_of_every_document(documents, told):
    """Each file has the version of its schema in its name; files of earlier versions stay."""
    from propriety.cli.machine import VERSIONS

    assert {f"{kind}-{VERSIONS[kind]}" for kind in documents} | told.keys() <= {
        path.stem for path in FILES.glob("*.json")
    }
    assert {data["schema"] for data in told.values()} == {f"propriety.{kind}" for kind in VERSIONS}


@pytest.mark.parametrize(
    "kind",
    [
        *("evaluation", "comparison"),
        pytest.param("monitor", marks=pytest.mark.product("monitoring")),
        pytest.param("segments", marks=pytest.mark.product("segments")),
        pytest.param("plan", marks=pytest.mark.product("planning")),
    ],
)
def test_documents_keep_the_fields_of_their_version(kind, documents):
    """A field that goes or changes its meaning needs a new version, and a file of it beside the old ones."""
    from propriety.cli.machine import written

    document = json.loads(written(documents[kind]))
    before = data_of(f"{kind}-{document['version']}")
    assert document["schema"] == before["schema"] == f"propriety.{kind}"
    assert lacking(shape(before), shape(document)) == []


def test_commands_keep_the_fields_of_their_version(told):
    for name, document in told.items():
        before = data_of(name)
        assert (document["schema"], document["version"]) == (before["schema"], before["version"])
        assert lacking(shape(before), shape(document)) == [], name


MAPS = {
    (version, one["name"]): one
    for version in range(1, StoredMap.schema_version + 1)
    for one in data_of(f"recalibration_map-{version}")
}


@pytest.mark.parametrize("stored", MAPS.values(), ids=map(str, MAPS))
def test_every_version_of_a_map_is_read_and_gives_the_same_forecasts(stored):
    own = StoredMap.from_dict(stored["map"])
    by = {"by": stored["by"]} if "by" in stored else {}
    found = own(stored["forecasts"], **by)
    np.testing.assert_allclose(found, stored["recalibrated"], rtol=1e-12, atol=1e-300)
    assert StoredMap.from_json(own.to_json()).to_dict() == own.to_dict()


def test_there_are_maps_of_every_method_and_kind():
    current = {name: one["map"] for (version, name), one in MAPS.items() if version == StoredMap.schema_version}
    assert {*METHODS, *(f"classes, {name}" for name in CLASS_METHODS)} <= current.keys()
    ours = {kind for kind, own in KINDS.items() if own.__module__.startswith("propriety.")}
    assert {one["kind"] for one in current.values()} == ours


def test_what_is_fitted_now_has_the_parameters_of_the_stored_maps(now):
    for name, own in now.maps().items():
        stored = MAPS[StoredMap.schema_version, name]["map"]
        assert shape(own.to_dict()) == shape(stored), name
