"""`propriety table` and `propriety merge`: small files that add."""

import json

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from propriety import ForecastTable

CASES = ("--outcome", "y", "--forecast", "honest")


def halves(folder, columns):
    for name, rows in (("one", slice(None, 100)), ("two", slice(100, None))):
        parquet.write_table(pa.table({key: column[rows] for key, column in columns.items()}), folder / f"{name}.cases")


@pytest.mark.parametrize("cells", [None, 64])
def test_tables_of_shards_add_to_the_table_of_all(folder, run, columns, cells):
    halves(folder, columns)
    grid = [] if cells is None else ["--cells", cells]
    for name in ("one", "two"):
        result = run("table", f"{name}.cases", *CASES, "--weight", "w", *grid, "-o", f"{name}.parquet")
        assert result.exit_code == 0, result.output
    result = run("merge", "one.parquet", "two.parquet", "-o", "all.parquet")
    assert result.stdout.startswith("300 cases in ")
    found = ForecastTable.from_parquet(folder / "all.parquet")
    expected = ForecastTable.from_predictions(columns["y"], columns["honest"], sample_weight=columns["w"])
    expected = expected if cells is None else expected.grid(cells)
    np.testing.assert_allclose(found.forecast, expected.forecast, rtol=1e-12)
    np.testing.assert_allclose(found.events, expected.events, rtol=1e-12)
    assert (found.n, found.cells) == (300, cells)


def test_merging_can_make_the_grid(folder, run, columns):
    halves(folder, columns)
    run("table", "one.cases", *CASES, "-o", "one.parquet")
    run("table", "two.cases", *CASES, "--cells", 256, "-o", "two.parquet")
    assert run("merge", "one.parquet", "two.parquet", "--cells", 64, "-o", "all.parquet").exit_code == 0
    assert ForecastTable.from_parquet(folder / "all.parquet").cells == 64


def test_tables_are_evaluated_as_models(run):
    for name in ("honest", "bold"):
        run("table", "p.csv", "--outcome", "y", "--forecast", name, "-o", f"{name}.parquet")
    of_tables = json.loads(
        run("evaluate", "honest.parquet", "bold.parquet", "--resamples", "50", "--seed", "1", "--json", "-").stdout
    )
    of_cases = json.loads(
        run("evaluate", "p.csv", *CASES, "--forecast", "bold", "--resamples", "50", "--seed", "1", "--json", "-").stdout
    )
    assert of_tables["models"] == ["honest", "bold"]
    for key in ("honest/brier", "bold/log", "bold/miscalibration", "n"):
        assert of_tables["metrics"][key] == pytest.approx(of_cases["metrics"][key], rel=1e-12)


def test_labels_and_missing_values(folder, run):
    (folder / "m.csv").write_text("y,p\nyes,0.8\nno,\nno,0.3\n")
    result = run(
        "table", "m.csv", "--outcome", "y", "--forecast", "p", "--pos-label", "yes", "--missing", "drop", "-o", "t"
    )
    assert result.stdout == "2 cases in 2 rows, event rate 50%; 1 row with missing values was dropped.\n"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["merge", "p.parquet", "-o", "x.parquet"], "merge adds forecast tables; these are files of cases"),
        (["merge", "t.parquet", "p.parquet", "-o", "x.parquet"], "t.parquet is one and p.parquet is not"),
        (["merge", "t.parquet", "./t.parquet", "-o", "x.parquet"], "t.parquet is named again"),
        (["merge", "t.parquet", "-o", "t.parquet"], "it is one of the files that are read"),
        (["merge", "t.parquet", "-o", "-"], "--output must be a file"),
        (["merge", "t.parquet", "-o", "x.parquet", "--cells", "3"], "power of two"),
        (["merge", "t.parquet"], "Missing option '-o' / '--output'"),
        (["table", "t.parquet", *CASES, "-o", "x.parquet"], "these are forecast tables"),
        (["table", "p.csv", *CASES, "--forecast", "bold", "-o", "x"], "pass one --forecast"),
        (["table", "p.csv", "--outcome", "y", "--forecast", "m=g0,g1", "-o", "x"], "pass one --forecast"),
        (["evaluate", "t.parquet", "--outcome", "y"], "--outcome is for files of cases"),
        (["evaluate", "t.parquet", "--forecast", "a"], "--forecast is for files of cases"),
        (["evaluate", "t.parquet", "--classes", "a,b"], "--classes is for files of cases"),
        (["evaluate", "t.parquet", "--ordered"], "--ordered is for files of cases"),
        (["evaluate", "t.parquet", "sub/t.parquet"], "'t' occurs twice"),
        (["compare", "t.parquet", "u.parquet"], "forecast tables do not contain the cases"),
        (["plot", "t.parquet", "u.parquet", "--kind", "ranking", "-o", "x.png"], "not forecast tables"),
    ],
    ids=lambda value: "" if isinstance(value, str) else " ".join(value),
)
def test_refusals(folder, refusal, arguments, told):
    (folder / "sub").mkdir()
    table = ForecastTable.from_predictions([0, 1, 1], [0.2, 0.4, 0.9])
    for name in ("t.parquet", "u.parquet", "sub/t.parquet"):
        table.to_parquet(folder / name)
    assert told in refusal(*arguments)
    assert not (folder / "x.parquet").exists()
