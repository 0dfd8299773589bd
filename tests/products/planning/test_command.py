"""`propriety plan`: the plans of the package, from numbers, forecasts in files, tables and ledgers."""

import json

import pytest

import propriety as pr


def test_numbers(run):
    widths = {"auc": 0.05, "standardized_net_benefit": 0.3}
    named = [part for name, width in widths.items() for part in ("--width", f"{name}={width}")]
    result = run("plan", "--prevalence", 0.1, "--auc", 0.8, "--thresholds", 0.1, *named)
    assert result.exit_code == 0, result.output
    assert result.stdout == f"{pr.plan(prevalence=0.1, auc=0.8, thresholds=0.1, widths=widths)}\n"


@pytest.mark.parametrize("file", ["p.csv", "p.parquet"])
def test_forecasts_of_files(folder, run, columns, file):
    options = ("--rule", "log", "--power", 0.9, "--resamples", 100, "--seed", 1, "--json", "-")
    told = json.loads(run("plan", file, "--forecast", "honest", "--forecast", "bold", *options).stdout)
    models = {name: columns[name] for name in ("honest", "bold")}
    found = pr.plan(models, measure=pr.Log(), power=0.9, n_resamples=100, seed=1)
    assert (told["schema"], told["version"]) == ("propriety.plan", 1)
    assert told["n"] == found.n.tolist()
    assert told["summary"] == str(found).splitlines()


def test_ledgers(folder, run, columns):
    ledger = pr.condense(columns["y"], columns["honest"])
    ledger.to_parquet(folder / "ledger")
    assert run("plan", "ledger").stdout == f"{pr.plan(pr.Ledger.from_parquet(folder / 'ledger'))}\n"
    assert "these are ledgers" in run("plan", "ledger", "--forecast", "honest").stderr


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((), "--prevalence and --auc"),
        (("--prevalence", 0.1, "--auc", 0.8, "--share", 2), "--share must lie in (0, 1]"),
        (("--prevalence", 0.1, "--auc", 0.8, "--cluster-size", 50), "--cluster-size needs --icc"),
        (("--prevalence", 0.1, "--auc", 0.8, "--width", "auc"), "auc=0.1"),
        (("--prevalence", 0.1, "--auc", 0.8, "--rule", "log"), "--rule is for a comparison of two models"),
        (
            ("p.csv", "--forecast", "honest", "--slope", 0.8, "--thresholds", 0.1),
            "not among the criteria. Hint: add --width of standardized_net_benefit, or leave it out",
        ),
        (("--difference", 0.002, "--spread", 0.05, "--thresholds", 0.1), "--thresholds is for"),
        (("--prevalence", 0.1, "--auc", 0.8, "--thresholds", 0.1, "--width", "auc=0.1"), "--thresholds is for"),
        (("--forecast", "p"), "--forecast is for files of cases; no file is given"),
        (
            ("--prevalence", 0.1, "--auc", 0.8, "--delimiter", ";"),
            "--delimiter is for files of cases; no file is given",
        ),
        (("p.csv",), "--forecast is required"),
        (("p.csv", "--forecast", "p", "--forecast", "p"), "--forecast must name each model once; 'p' is named again"),
    ],
)
def test_rejects(folder, run, arguments, text):
    result = run("plan", *arguments)
    assert result.exit_code == 2
    assert text in result.stderr


@pytest.mark.parametrize("typed", [("--decimal", ","), ("--null", "NA"), ("--sheet", "a")], ids=str)
def test_options_of_cases_are_refused_for_ledgers(run, refusal, typed):
    assert run("condense", "p.csv", "--outcome", "y", "--forecast", "honest", "-o", "ledger").exit_code == 0
    told = f"{typed[0]} is for files of cases; these are"
    assert told in refusal("plan", "ledger", "--width", "auc=0.1", *typed)


def test_a_width_is_given_once(refusal):
    once = ("plan", "--prevalence", "0.1", "--auc", "0.8", "--width", "auc=0.1")
    assert "must name each measure once; 'auc' is named again" in refusal(*once, "--width", "auc=0.2")
