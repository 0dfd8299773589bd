"""What an earlier release wrote is read for ever; what a later one wrote is refused in one sentence."""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

import propriety as pr
from propriety.errors import InputValueError
from propriety.inference import moment_files

pytest.importorskip("click")  # Documents are what the command line writes.

FILES = Path(__file__).resolve().parent / "files"
KINDS = {
    "forecast_table": (pr.ForecastTable, pr.ForecastTable.schema_version),
    "loss_moments": (pr.LossMoments, moment_files.VERSION),
}
STORED = sorted(path.stem for kind in KINDS for path in FILES.glob(f"{kind}-*.json"))


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


def kind_of(stem):
    return KINDS[stem.split("-")[0]][0]


@pytest.mark.parametrize("kind", KINDS)
def test_there_are_files_of_every_version(kind):
    _, version = KINDS[kind]
    assert {data_of(stem)["version"] for stem in STORED if stem.startswith(kind)} == set(range(1, version + 1))


@pytest.mark.parametrize("stem", STORED)
def test_every_version_is_read_and_means_what_it_meant(stem, now):
    kind, _, name = stem.split("-")
    made = {"forecast_table": now.tables, "loss_moments": now.moments}[kind]()[name]
    read = [kind_of(stem).from_dict(data_of(stem)), kind_of(stem).from_parquet(FILES / f"{stem}.parquet")]
    for one in read:
        found, expected = one.to_dict(), made.to_dict()
        assert found.keys() == expected.keys()
        for field, value in expected.items():
            if isinstance(value, list) and field not in ("models", "group", "cluster"):
                np.testing.assert_allclose(found[field], value, rtol=1e-12, atol=1e-15)
            else:
                assert found[field] == value


@pytest.mark.parametrize("version", [0, 2, 17, -1, 1.5, "1", None, [1]], ids=repr)
@pytest.mark.parametrize("stem", ["forecast_table-1-plain", "loss_moments-1-plain"])
def test_other_versions_are_refused_in_one_sentence(stem, version):
    with pytest.raises(InputValueError, match=rf"^propriety\.{stem.split('-')[0]} must have version 1; got .*newer"):
        kind_of(stem).from_dict(data_of(stem) | {"version": version})


@pytest.mark.parametrize("stem", ["forecast_table-1-plain", "loss_moments-1-plain"])
def test_a_file_without_version_or_of_another_schema_is_refused(stem):
    data = data_of(stem)
    with pytest.raises(InputValueError, match="must have version 1; got None"):
        kind_of(stem).from_dict({name: value for name, value in data.items() if name != "version"})
    other = next(found for found in STORED if not found.startswith(stem.split("-")[0]))
    with pytest.raises(InputValueError, match=f"data must be a stored {data['schema']}; got"):
        kind_of(stem).from_dict(data_of(other))


@pytest.mark.parametrize("stem", ["forecast_table-1-plain", "loss_moments-1-plain"])
def test_a_newer_parquet_file_is_refused(stem, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    table = parquet.read_table(FILES / f"{stem}.parquet")
    facts = json.loads(table.schema.metadata[b"propriety"]) | {"version": 2}
    later = tmp_path / "later.parquet"
    parquet.write_table(table.replace_schema_metadata({b"propriety": json.dumps(facts)}), later)
    with pytest.raises(InputValueError, match="must have version 1; got 2"):
        kind_of(stem).from_parquet(later)


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


@pytest.mark.parametrize("kind", ["evaluation", "comparison", "advice", "audit"])
def test_documents_keep_the_fields_of_their_version(kind, documents):
    """A field that goes or changes its meaning needs a new version, and a file of it beside the old ones."""
    from propriety.cli.machine import written

    document = json.loads(written(documents[kind]))
    before = data_of(f"{kind}-{document['version']}")
    assert document["schema"] == before["schema"] == f"propriety.{kind}"
    assert lacking(shape(before), shape(document)) == []
