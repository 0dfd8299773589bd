"""`propriety recalibrate` and `propriety apply`: a map fitted to files, and used on others."""

import json
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

import propriety as pr
from propriety.recalibration import ClassMap, MatrixMap, RecalibrationMap
from propriety.recalibration.segment_map import SegmentEffect, SegmentMap

CASES = ("--outcome", "y", "--forecast", "bold")
TEMPERED = MatrixMap(matrix=0.5, floor=1e-6)


@pytest.mark.parametrize("file", ["p.csv", "p.parquet"])
def test_the_map_and_its_gain_are_those_of_the_package(folder, run, columns, file):
    result = run("recalibrate", file, *CASES, "-o", "map.json")
    assert result.exit_code == 0, result.output
    found = pr.recalibrate(columns["y"], columns["bold"])
    assert RecalibrationMap.from_json((folder / "map.json").read_text()) == found.map
    assert result.stdout.startswith(str(found))
    assert "candidate" in result.stdout


def test_the_document_holds_the_result(folder, run, columns):
    options = ("--cluster", "patient", "--weight", "w", "--thresholds", 0.1, 0.4, "--method", "logistic", "--folds", 5)
    told = json.loads(run("recalibrate", "p.csv", *CASES, *options, "--json", "-").stdout)
    found = pr.recalibrate(
        columns["y"],
        columns["bold"],
        cluster=columns["patient"],
        sample_weight=columns["w"],
        rule=pr.BoundedBrier(0.1, 0.4),
        method="logistic",
        folds=5,
    )
    assert (told["schema"], told["version"]) == ("propriety.recalibration", 1)
    assert told["map"] == found.map.to_dict()
    assert told["summary"] == str(found).splitlines()
    np.testing.assert_allclose(told["gain"], found.gain, atol=1e-12)


def test_one_threshold_is_measured_there(folder, run, columns):
    told = json.loads(run("recalibrate", "p.csv", *CASES, "--thresholds", 0.3, "--json", "-").stdout)
    found = pr.recalibrate(columns["y"], columns["bold"], rule=pr.Elementary(0.3))
    np.testing.assert_allclose(told["score"], found.score)


def test_folds_by_an_identifier_are_those_of_the_package(run, columns, folder):
    told = json.loads(run("recalibrate", "p.csv", *CASES, "--id", "patient", "--json", "-").stdout)
    found = pr.recalibrate(columns["y"], columns["bold"], id=columns["patient"])
    np.testing.assert_allclose(told["score"], found.score)


def test_ledgers_are_added_and_assigned_to_folds(folder, run, columns):
    for name, rows in (("one", slice(None, 100)), ("two", slice(100, None))):
        pr.condense(columns["y"][rows], columns["bold"][rows]).to_parquet(folder / name)
    told = json.loads(run("recalibrate", "one", "two", "--json", "-").stdout)
    ledgers = [pr.Ledger.from_parquet(folder / name) for name in ("one", "two")]
    np.testing.assert_allclose(told["score"], pr.recalibrate(sum(ledgers)).score)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_map_is_applied_to_other_files(folder, run, suffix):
    own = pr.recalibration.OddsMap(intercept=0.2, slope=0.5, floor=0.001)
    (folder / "map.json").write_text(own.to_json())
    forecast = np.array([0.0, 0.25, 1.0])
    parquet.write_table(pa.table({"k": ["a", "b", "c"], "p": forecast}), folder / "new.parquet")
    result = run("apply", "map.json", "new.parquet", "--forecast", "p", "--name", "q", "-o", f"out.{suffix}")
    assert result.exit_code == 0, result.output
    assert result.stdout == "3 rows recalibrated.\n"
    out = (pl.read_csv if suffix == "csv" else pl.read_parquet)(folder / f"out.{suffix}")
    assert out.columns == ["k", "p", "q"]
    np.testing.assert_allclose(out["q"], own(forecast), rtol=1e-12)


def test_rows_without_a_forecast_are_counted(folder, run):
    (folder / "map.json").write_text(pr.recalibration.IdentityMap().to_json())
    (folder / "new.csv").write_text("p\n0.5\nNA\n1.5\n")
    result = run("apply", "map.json", "new.csv", "--forecast", "p", "--null", "NA", "-o", "out.parquet")
    assert result.stdout == "1 of 3 rows recalibrated; 2 without a forecast in [0, 1] are left empty.\n"
    assert parquet.read_table(folder / "out.parquet")["recalibrated"].to_pylist() == [0.5, None, None]


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (["recalibrate", "p.csv"], "--outcome and at least one --forecast"),
        (["recalibrate", "p.csv", *CASES, "--method", "magic"], "'magic' is not one of"),
        (["recalibrate", "p.csv", *CASES, "--folds", "1"], "--folds must be a whole number"),
        (["recalibrate", "p.csv", *CASES, "--id", "patient", "--cluster", "patient"], "--id determines the folds"),
        (["recalibrate", "p.csv", *CASES, "--thresholds", "0.4", "0.1"], "0.4"),
        (["recalibrate", "p.csv", *CASES, "--forecast", "honest"], "one model must be chosen"),
        (["recalibrate", "p.csv", *CASES, "-o", "p.csv"], "it is one of the files that are read"),
        (["apply", "map.json", "p.csv", "--forecast", "bold", "-o", "out.txt"], "must end in"),
        (["apply", "nothing.json", "p.csv", "--forecast", "bold", "-o", "out.csv"], "nothing.json"),
        (["apply", "p.csv", "p.csv", "--forecast", "bold", "-o", "out.csv"], "JSON of a map"),
        (["apply", "map.json", "p.csv", "--forecast", "absent", "-o", "out.csv"], "absent"),
        (
            ["apply", "map.json", "p.csv", "--forecast", "bold", "--name", "y", "-o", "out.csv"],
            "name of an existing column",
        ),
        (["apply", "map.json", "p.csv", "--forecast", "bold", "-o", "map.json"], "must end in"),
        (["apply", "classes.json", "p.csv", "--forecast", "g0,g0,g1", "-o", "out.csv"], "'g0' is named again"),
        (["apply", "classes.json", "p.csv", "--forecast", "g0,g1,", "-o", "out.csv"], "a list must be like a,b,c"),
    ],
)
def test_what_cannot_be_done_is_refused(folder, refusal, command, told):
    (folder / "map.json").write_text(pr.recalibration.IdentityMap().to_json())
    (folder / "classes.json").write_text(TEMPERED.to_json())
    assert told in refusal(*command)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_names_of_columns_may_contain_commas(folder, run, suffix):
    (folder / "map.json").write_text(TEMPERED.to_json())
    (folder / "new.csv").write_text('"a,1";b;c\n0,2;0,3;0,5\n')
    result = run("apply", "map.json", "new.csv", "--forecast", '"a,1",b,c', "--name", "q", "-o", f"out.{suffix}")
    assert result.exit_code == 0, result.output
    out = (pl.read_parquet if suffix == "parquet" else pl.read_csv)(folder / f"out.{suffix}")
    assert out.columns == ["a,1", "b", "c", "q_a,1", "q_b", "q_c"]
    np.testing.assert_allclose(out.select("q_a,1", "q_b", "q_c").to_numpy(), TEMPERED([[0.2, 0.3, 0.5]]), rtol=1e-12)


def test_the_columns_of_a_file_are_those_that_it_has(folder, refusal):
    (folder / "map.json").write_text(TEMPERED.to_json())
    (folder / "new.csv").write_text("a,b\n0.2,0.3\n")
    told = refusal("apply", "map.json", "new.csv", "--forecast", "a,b,c", "-o", "out.csv")
    assert "they lack ['c']. Hint: their columns are ['a', 'b']." in told


def test_maps_of_classes_are_fitted_and_applied(folder, run):
    generator = np.random.default_rng(1)
    rows = generator.dirichlet([1.0, 1.0, 1.0], 200)
    y = (generator.random(200)[:, None] > rows.cumsum(axis=1)[:, :-1]).sum(axis=1)
    frame = pl.DataFrame({"y": y, **{name: rows[:, place] for place, name in enumerate("abc")}})
    frame.write_parquet(folder / "rows.parquet")
    given = ("--outcome", "y", "--forecast", "m=a,b,c", "--method", "temperature", "--folds", 3)
    told = run("recalibrate", "rows.parquet", *given, "-o", "map.json")
    assert told.exit_code == 2
    assert "the forecast of 'm' must have columns that are named like the labels [0, 1, 2]" in told.stderr
    assert "Hint: pass --classes, the label of each column in order" in told.stderr
    told = run("recalibrate", "rows.parquet", *given, "--classes", "0,1,2", "-o", "map.json")
    assert told.exit_code == 0, told.output
    own = ClassMap.from_json((folder / "map.json").read_text())
    assert own == pr.recalibrate(y, rows, method="temperature").map
    result = run("apply", "map.json", "rows.parquet", "--forecast", "a,b,c", "--name", "q", "-o", "out.parquet")
    assert result.stdout == "200 rows recalibrated.\n"
    out = pl.read_parquet(folder / "out.parquet")
    np.testing.assert_allclose(out.select("q_a", "q_b", "q_c").to_numpy(), own(rows), rtol=1e-12)
    again = run("apply", "map.json", "out.parquet", "--forecast", "a,b,c", "--name", "q", "-o", "more.parquet")
    assert "got 'q_a'" in again.stderr
    few = run("apply", "map.json", "rows.parquet", "--forecast", "a,d", "-o", "more.parquet")
    assert few.exit_code != 0


DIALECTS = {
    "semicolons, a decimal comma, a byte order mark and CRLF": (
        '\ufeffid;name;p;when;flag\r\n007;"a;b";0,5;2.1.2026;yes\r\n008;Müller, x;0,25;3.1.2026;no\r\n',
        'id,name,p,when,flag,q\n007,a;b,0.5,2.1.2026,yes,{0}\n008,"Müller, x",0.25,3.1.2026,no,{1}\n',
    ),
    "tabs": (
        "id\tname\tp\n1.10\ta,b\t0.5\n1.1\tc\t0.250\n",
        'id,name,p,q\n1.10,"a,b",0.5,{0}\n1.1,c,0.25,{1}\n',
    ),
    "bars": ("p|id\n.5|1e3\n0.25|+7\n", "p,id,q\n0.5,1e3,{0}\n0.25,+7,{1}\n"),
    "commas and lines in fields": (
        'p,"a ""b"", c",\n0.5,"x\ny",1\n0.25,"",2\n',
        'p,"a ""b"", c",column2,q\n0.5,"x\ny",1,{0}\n0.25,,2,{1}\n',
    ),
    "decimal commas in quotes": ('p,k\n"0,5",a\n"0,25",b\n', "p,k,q\n0.5,a,{0}\n0.25,b,{1}\n"),
}


@pytest.mark.parametrize("name", DIALECTS)
def test_other_columns_of_a_text_file_are_copied_as_they_are_written(folder, run, name):
    """Codes with leading zeros, dates, labels and decimals."""
    own = pr.recalibration.OddsMap(intercept=0.2, slope=0.5, floor=0.001)
    (folder / "map.json").write_text(own.to_json())
    text, expected = DIALECTS[name]
    (folder / "new.csv").write_bytes(text.encode())
    result = run("apply", "map.json", "new.csv", "--forecast", "p", "--name", "q", "-o", "out.csv")
    assert result.exit_code == 0, result.output
    assert (folder / "out.csv").read_bytes().decode() == expected.format(*own([0.5, 0.25]).tolist())


def test_columns_of_text_keep_their_digits_in_parquet(folder, run):
    (folder / "map.json").write_text(pr.recalibration.IdentityMap().to_json())
    rows = ["0.5,1,12345678901234567890123,2026-01-02,02/01/2026,1.5"] * 30_000  # DuckDB looks at fewer.
    last = "0.5,007,12345678901234567890124,2026-01-03,03/01/2026,20260102030405060"
    (folder / "new.csv").write_text("\n".join(["p,code,long,day,local,float", *rows, last]) + "\n")
    result = run("apply", "map.json", "new.csv", "--forecast", "p", "-o", "out.parquet")
    assert result.exit_code == 0, result.output
    out = pl.read_parquet(folder / "out.parquet").row(-1, named=True)
    told = {name: str(value) for name, value in out.items()}
    assert told == {
        **dict(zip(("p", "code", "long", "day", "local", "float"), last.split(","), strict=True)),
        "recalibrated": "0.5",
    }
    assert isinstance(out["p"], float)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_segments_are_read_and_written_as_they_are(folder, run, suffix):
    effects = (SegmentEffect((("site", "01"),), 0.5), SegmentEffect((("site", "02"),), -0.5))
    own = SegmentMap(whole=pr.recalibration.IdentityMap(), effects=effects, floor=1e-6)
    (folder / "map.json").write_text(own.to_json())
    (folder / "new.csv").write_text("p;site\n0,2;01\n0,6;02\n")
    result = run("apply", "map.json", "new.csv", "--forecast", "p", "-o", f"out.{suffix}")
    assert result.exit_code == 0, result.output
    read = pl.read_parquet if suffix == "parquet" else partial(pl.read_csv, schema_overrides={"site": pl.String})
    out = read(folder / f"out.{suffix}")
    assert out["site"].to_list() == ["01", "02"]
    np.testing.assert_allclose(out["recalibrated"], own([0.2, 0.6], by={"site": ["01", "02"]}), rtol=1e-12)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_name_that_differs_only_in_case_is_refused(folder, refusal, suffix):
    """DuckDB would give the new column another name and the values of the other one."""
    (folder / "map.json").write_text(pr.recalibration.IdentityMap().to_json())
    (folder / "new.csv").write_text("p,Q\n0.5,3\n")
    command = ("apply", "map.json", "new.csv", "--forecast", "p", "-o", f"out.{suffix}")
    assert "--name must not be the name of an existing column; got 'q'. Hint: column 'Q'" in refusal(
        *command, "--name", "q"
    )
    (folder / "new.csv").write_text("p,P\n0.5,3\n")
    assert "line 1 of new.csv has 'p' and 'P'" in refusal(*command)


def test_text_among_forecasts_is_named_with_its_line(folder, refusal):
    (folder / "map.json").write_text(pr.recalibration.IdentityMap().to_json())
    (folder / "new.csv").write_text("p\n" + "0.5\n" * 30_000 + "high\n")
    told = refusal("apply", "map.json", "new.csv", "--forecast", "p", "-o", "out.csv")
    assert "line 30,002 of new.csv has 'high'" in told


def test_words_for_missing_values_are_empty_in_every_column(folder, run):
    (folder / "map.json").write_text(pr.recalibration.IdentityMap().to_json())
    (folder / "new.csv").write_text("p,k\n0.5,NA\nNA,b\n,\n")
    result = run("apply", "map.json", "new.csv", "--forecast", "p", "--null", "NA", "-o", "out.csv")
    assert "2 without a forecast in [0, 1] are left empty" in result.stdout, result.output
    assert (folder / "out.csv").read_text() == "p,k,recalibrated\n0.5,,0.5\n,b,\n,,\n"


def test_late_decimals_of_other_columns_are_kept(folder, run):
    (folder / "map.json").write_text(pr.recalibration.IdentityMap().to_json())
    (folder / "new.csv").write_text("p,k\n" + "0.5,1\n" * 30_000 + "0.5,1.4\n")
    assert run("apply", "map.json", "new.csv", "--forecast", "p", "-o", "out.parquet").exit_code == 0
    assert pl.read_parquet(folder / "out.parquet")["k"][-1] == 1.4


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_new_text_among_labels_that_are_numbers_has_no_shift(folder, run, suffix):
    effects = (SegmentEffect((("site", 1),), 0.5), SegmentEffect((("site", 2),), -0.5))
    own = SegmentMap(whole=pr.recalibration.IdentityMap(), effects=effects, floor=1e-6)
    (folder / "map.json").write_text(own.to_json())
    (folder / "new.csv").write_text("p,site\n0.2,1\n0.2,x\n0.2,2\n")
    result = run("apply", "map.json", "new.csv", "--forecast", "p", "-o", f"out.{suffix}")
    assert result.exit_code == 0, result.output
    out = (pl.read_parquet if suffix == "parquet" else pl.read_csv)(folder / f"out.{suffix}")
    assert out.columns == ["p", "site", "recalibrated"]
    assert out["site"].to_list() == ["1", "x", "2"]
    np.testing.assert_allclose(out["recalibrated"], own([0.2] * 3, by={"site": [1, 3, 2]}), rtol=1e-12)


def test_columns_named_like_the_classes_of_a_map_may_be_in_any_order(run, folder):
    rng = np.random.default_rng(1)
    rows = rng.dirichlet([1, 1, 1], 60)
    lines = [f"{rng.choice(list('abc'))},{a},{b},{c}" for a, b, c in rows.tolist()]
    (folder / "t.csv").write_text("y,a,b,c\n" + "\n".join(lines) + "\n")
    arguments = ("--outcome", "y", "--forecast", "m=a,b,c", "--classes", "a,b,c", "--method", "vector")
    assert run("recalibrate", "t.csv", *arguments, "--output", "m.json").exit_code == 0
    for order in ("a,b,c", "c,a,b"):
        made = run("apply", "m.json", "t.csv", "--forecast", order, "--output", f"{order[0]}.csv")
        assert made.exit_code == 0, made.output
    one, other = (pd.read_csv(folder / f"{name}.csv") for name in "ac")
    pd.testing.assert_frame_equal(one, other[one.columns.tolist()])


def test_rows_that_are_left_empty_are_not_counted_as_recalibrated(run, folder):
    (folder / "t.csv").write_text("y,p\n" + "1,0.6\n0,0.7\n0,0.3\n1,0.8\n" * 10)
    made = ("--outcome", "y", "--forecast", "p", "--method", "logistic", "--output", "m.json")
    assert run("recalibrate", "t.csv", *made).exit_code == 0
    (folder / "n.csv").write_text("p\n0.5\n50\n0.4\n")
    told = run("apply", "m.json", "n.csv", "--forecast", "p", "--output", "o.csv").output
    assert "2 of 3 rows recalibrated; 1 without a forecast in [0, 1] is left empty." in told
