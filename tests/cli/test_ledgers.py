"""`propriety condense` and `propriety merge`: small files that add."""

import json

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import propriety as pr
from propriety.cli import cases
from propriety.tables.forecast_table import ForecastTable

CASES = ("--outcome", "y", "--forecast", "honest")
BOTH = (*CASES, "--forecast", "bold")
FEW = ("--resamples", "50", "--seed", "1")


def halves(folder, columns):
    for name, rows in (("one", slice(None, 100)), ("two", slice(100, None))):
        parquet.write_table(pa.table({key: column[rows] for key, column in columns.items()}), folder / f"{name}.cases")


@pytest.mark.parametrize("lazy", [False, True], ids=["read", "counted"])
@pytest.mark.parametrize("cells", [None, 64])
def test_ledgers_of_shards_add_to_the_ledger_of_all(folder, run, columns, monkeypatch, cells, lazy):
    monkeypatch.setattr(cases, "IN_MEMORY", 0 if lazy else 1_000_000)
    halves(folder, columns)
    grid = [] if cells is None else ["--cells", cells]
    for name in ("one", "two"):
        given = ("--weight", "w", "--by", "site", *grid, "-o", f"ledgers-{name}")
        result = run("condense", f"{name}.cases", *BOTH, *given)
        assert result.exit_code == 0, result.output
    result = run("merge", "ledgers-*", "-o", "all")
    assert result.stdout == "300 cases of 2 models, by site.\n"
    found = pr.Ledger.from_parquet(folder / "all").table("bold", site="north")
    north = columns["site"] == "north"
    options = {"sample_weight": columns["w"][north]}
    expected = ForecastTable.from_predictions(columns["y"][north], columns["bold"][north], **options)
    expected = expected if cells is None else expected.grid(cells)
    np.testing.assert_allclose(found.forecast, expected.forecast, rtol=1e-12)
    np.testing.assert_allclose(found.events, expected.events, rtol=1e-12)
    assert found.cells == cells


def test_a_ledger_is_evaluated_as_its_cases(run):
    given = ("--thresholds", "0.1", "0.3", *FEW, "--json", "-")
    run("condense", "p.csv", *BOTH, "--by", "site", "--by", "site,day", "--thresholds", "0.1", "0.3", "-o", "ledger")
    of_ledger = json.loads(run("evaluate", "ledger", *given).stdout)
    of_cases = json.loads(run("evaluate", "p.csv", *BOTH, "--by", "site", "--by", "site,day", *given).stdout)
    assert of_ledger["models"] == ["honest", "bold"]
    for key in ("honest/brier", "bold/log", "bold/miscalibration", "bold/bounded_brier_low", "n"):
        assert of_ledger["metrics"][key] == pytest.approx(of_cases["metrics"][key], rel=1e-9)
    assert of_ledger["comparison"]["p"][-1] == pytest.approx(of_cases["comparison"]["p"][-1], rel=1e-9)
    assert of_ledger["slices"]["by"] == of_cases["slices"]["by"]
    compared = json.loads(run("compare", "ledger", *FEW, "--rule", "log", "--json", "-").stdout)
    assert set(compared["measure"]) == {"log"}


def test_labels_and_missing_values(folder, run):
    (folder / "m.csv").write_text("y,p\nyes,0.8\nno,\nno,0.3\n")
    given = ("--outcome", "y", "--forecast", "p", "--pos-label", "yes", "--missing", "drop", "-o", "t")
    result = run("condense", "m.csv", *given)
    assert result.stdout == "2 cases of 1 model; 1 row with missing values was dropped.\n"


def test_a_command_that_is_run_again_completes_its_ledger_or_does_nothing(folder, run):
    arguments = ["condense", "p.csv", *CASES, "--by", "site", "-o", "ledger"]
    first = run(*arguments)
    before = sorted(path for path in folder.rglob("*") if path.is_file())
    again = run(*arguments)
    assert (first.exit_code, again.exit_code, again.stdout) == (0, 0, first.stdout)
    assert (first.stderr, again.stderr) == (
        "Written: ledger\n",
        "Nothing written: ledger holds these cases already.\n",
    )
    assert sorted(path for path in folder.rglob("*") if path.is_file()) == before
    (folder / "ledger" / "ledger.json").unlink()  # As if it had been killed before the last step.
    assert run(*arguments).stderr == "Written: ledger\n"
    assert len([path for path in folder.rglob("*") if path.is_file()]) == len(before)


def test_an_error_leaves_no_folder(folder, refusal):
    refusal("condense", "p.csv", "--outcome", "y", "--forecast", "day", "-o", "ledger")
    assert sorted(path.name for path in folder.iterdir()) == ["p.csv", "p.parquet"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["merge", "p.parquet", "-o", "x"], "merge adds ledgers; these are files of cases"),
        (["merge", "ledger", "./ledger", "-o", "x"], "ledger is named again"),
        (["merge", "ledger", "-o", "-"], "--output must be a folder"),
        (["merge", "ledger", "-o", "x", "--cells", "3"], "power of two"),
        (["merge", "ledger"], "Missing option '-o' / '--output'"),
        (["condense", "ledger", *CASES, "-o", "x"], "these are ledgers"),
        (["condense", "p.csv", *CASES, "-o", "sub"], "sub cannot be written; it exists already"),
        (["condense", "p.csv", *CASES, "-o", "-"], "--output must be a folder"),
        (["condense", "p.csv", *CASES, "-o", "nowhere/x"], "there is no folder"),
        (["merge", "other", "-o", "ledger"], "ledger holds other cases already"),
        (["merge", "ledger", "p.parquet", "-o", "x"], "ledger is a ledger and p.parquet is not"),
        (["merge", "sub", "-o", "x"], "sub is a folder, not a file"),
        (["evaluate", "ledger", "--by", "site"], "--by is for files of cases; these are ledgers"),
        (["evaluate", "ledger", "--outcome", "y"], "--outcome is for files of cases"),
        (["evaluate", "ledger", "--forecast", "a"], "--forecast is for files of cases"),
        (["evaluate", "ledger", "--classes", "a,b"], "--classes is for files of cases"),
        (["evaluate", "ledger", "--ordered"], "--ordered is for files of cases"),
    ],
    ids=lambda value: "" if isinstance(value, str) else " ".join(value),
)
def test_refusals(folder, refusal, arguments, told):
    (folder / "sub").mkdir()
    pr.condense([0, 1, 1], {"a": [0.2, 0.4, 0.9]}).to_parquet(folder / "ledger")
    pr.condense([0, 1, 0], {"a": [0.2, 0.4, 0.9]}).to_parquet(folder / "other")
    assert told in refusal(*arguments)
    assert not (folder / "x").exists()


def test_rows_may_stand_for_several_cases(folder, run, refusal):
    (folder / "cells.csv").write_text("y,a,site,cases\n0,0.2,n,80\n1,0.2,n,20\n1,0.7,s,5\n0,0.7,s,2\n")
    given = ("condense", "cells.csv", "--outcome", "y", "--forecast", "a", "--by", "site")
    run(*given, "--counts", "cases", "-o", "counted")
    y, site = np.repeat([0, 1, 1, 0], [80, 20, 5, 2]), np.repeat(["n", "n", "s", "s"], [80, 20, 5, 2])
    expected = pr.condense(y, {"a": np.repeat([0.2, 0.2, 0.7, 0.7], [80, 20, 5, 2])}, by={"site": site})
    found = pr.Ledger.from_parquet(folder / "counted")
    assert found.table("a") == expected.table("a")
    of_both = [pr.estimate(one, measure=pr.measures.MeanScore(pr.Brier())) for one in (found, expected)]
    assert of_both[0].low == pytest.approx(of_both[1].low, rel=1e-12)
    told = refusal(*given, "--counts", "cases", "--weight", "cases", "-o", "x")
    assert "--counts cannot be combined with --weight" in told
    told = refusal(*given, "--counts", "a", "-o", "x")
    assert "--counts must be whole numbers" in told
    assert "pass weights as --weight" in told


def test_what_a_ledger_of_other_thresholds_does_not_allow_is_named(run, refusal):
    assert run("condense", "p.csv", *BOTH, "--by", "site", "-o", "led").exit_code == 0
    asked = ("led", "--thresholds", "0.1", "0.3", *FEW)
    told = "Models and groups are not compared: this needs the individual cases, or a ledger that was condensed for"
    assert told in run("evaluate", *asked).stdout.replace("\n", " ")
    assert "or a ledger condensed with the same --thresholds" in refusal("compare", *asked)
    assert "condensed with the same --thresholds" in refusal("evaluate", *asked, "--fail-if", "honest worse than bold")
    assert "and with the same --thresholds" in refusal("evaluate", *asked, "--fail-if", "any group/miscalibrated")
    assert run("condense", "p.csv", *BOTH, "--thresholds", "0.1", "0.3", "-o", "fit").exit_code == 0
    fit = run("evaluate", "fit", *asked[1:])
    assert fit.exit_code == 0
    assert "not compared" not in fit.stdout


@pytest.mark.parametrize(
    "typed", [("--decimal", ","), ("--null", "NA"), ("--missing", "drop"), ("--sheet", "a")], ids=str
)
def test_options_of_cases_are_refused_for_ledgers(run, refusal, typed):
    assert run("condense", "p.csv", "--outcome", "y", "--forecast", "honest", "-o", "ledger").exit_code == 0
    told = f"{typed[0]} is for files of cases; these are"
    assert told in refusal("evaluate", "ledger", *typed)
    assert told in refusal("recalibrate", "ledger", *typed)
