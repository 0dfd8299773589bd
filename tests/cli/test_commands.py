"""`compare`, `advise`, `audit` and `plot`."""

import json
import re

import pytest

from propriety.cli import advise as advise_command
from propriety.cli.plot import KINDS
from propriety.decisions.recommendations import advise
from propriety.inference.comparison import compare
from propriety.rules.audit import audit
from propriety.rules.families import Brier

CASES = ("p.csv", "--outcome", "y", "--forecast", "honest")
BOTH = (*CASES, "--forecast", "bold")
GRADES = ("p.csv", "--outcome", "grade", "--forecast", "m=g0,g1,g2", "--classes", "low,mid,high")


@pytest.mark.parametrize("shared", [None, "cluster", "time"])
def test_compare(run, columns, shared):
    column = {"cluster": "patient", "time": "day"}.get(shared)
    options = [] if shared is None else [f"--{shared}", column]
    models = {name: columns[name] for name in ("honest", "bold")}
    expected = compare(columns["y"], models, **({} if shared is None else {shared: columns[column]}))
    told = run("compare", *BOTH, *options).stdout
    assert expected.summary() in told
    assert "adjusted p" in told
    found = json.loads(run("compare", *BOTH, *options, "--json", "-").stdout)
    assert (found["schema"], found["version"]) == ("propriety.comparison", 1)
    assert found["difference"] == pytest.approx(expected.difference.tolist(), rel=1e-12)
    assert found["standings"]["model"] == expected.standings.model.tolist()


def test_compare_by_the_score_that_fits_the_thresholds(run):
    found = json.loads(run("compare", *BOTH, "--thresholds", "0.1", "0.3", "--json", "-").stdout)
    assert found["measure"] == "bounded_brier"


def test_compare_by_a_rule_has_no_thresholds_unless_all_commands_share_them(folder, run, refusal):
    by_rule = ("compare", *BOTH, "--rule", "log")
    told = refusal(*by_rule, "--thresholds", "0.1", "0.3")
    assert "--thresholds cannot be combined with --rule" in told
    alone = run(*by_rule).stdout
    (folder / "e.toml").write_text("thresholds = [0.1, 0.3]\n")
    assert run(*by_rule, "--config", "e.toml").stdout == alone


def test_compare_names_the_better_model_and_puts_a_dash_for_no_p_value(run, folder):
    assert "honest better" in run("compare", *CASES, "--forecast", "w").stdout
    (folder / "one.csv").write_text("y,p,q\n1,0.6,0.4\n")
    told = run("compare", "one.csv", "--outcome", "y", "--forecast", "p", "--forecast", "q").stdout
    row = [line.split() for line in told.splitlines() if line.split()][-1]
    assert row == ["p", "q", "-0.405", "-", "one", "unit"]  # log 1.5, as the other outcome is rare.


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["compare", *CASES], "compare needs two or more models of the same cases. Hint: repeat --forecast."),
        (["compare", *BOTH, "--cluster", "patient", "--time", "day"], "not both"),
        (["plot", *CASES, "--kind", "roc", "--grid", "0.1", "-o", "x.png"], "--grid is for --kind decision or murphy"),
        (["plot", *CASES, "-o", "x.gif"], "--output must end in .png, .svg, .pdf"),
        (["plot", *CASES, "-o", "-"], "--output must end in .png, .svg, .pdf"),
        (["plot", *CASES, "--kind", "ranking", "-o", "x.png"], "repeat --forecast"),
        (["plot", *GRADES, "--kind", "roc", "-o", "x.png"], "--kind roc is for one event"),
        (["audit", "propriety"], "the rule must be named as MODULE:NAME"),
        (["audit", "nowhere_at_all:Rule"], "ModuleNotFoundError: No module named 'nowhere_at_all'"),
        (["audit", "propriety:Nothing"], "AttributeError"),
        (["audit", "propriety:BoundedBrier"], "missing 2 required positional arguments"),
        (["audit", "os:getcwd"], "os:getcwd must be a scoring rule"),
        (["audit", "propriety:Elementary", "--classes", "3"], ""),
        (["advise", "--thresholds", "0.3", "0.2"], "0.3"),
        (["advise", "--need", "luck"], "'luck' is not one of"),
    ],
    ids=lambda value: "" if isinstance(value, str) else " ".join(value),
)  # fmt: skip
def test_refusals(folder, refusal, arguments, told):
    assert told in refusal(*arguments)
    assert not (folder / "x.png").exists()


def test_advice_by_options(run):
    result = run("advise", "--thresholds", "0.05", "0.2", "--need", "decisions", "--rare")
    expected = advise(thresholds=(0.05, 0.2), need="decisions", rare=True)
    assert result.stdout == f"{expected!r}\n"
    found = json.loads(run("advise", "--thresholds", "0.1", "--json", "-").stdout)
    assert (found["schema"], found["thresholds"]) == ("propriety.advice", 0.1)


def test_advice_asks_nobody_where_nobody_is(run):
    assert run("advise").stdout == f"{advise()!r}\n"


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        (["", "", "", "", ""], {}),
        (["", "decisions", "capacity", "y", "0.05, 0.2"], {"need": "decisions", "decisions": "capacity", "rare": True}
         | {"thresholds": (0.05, 0.2)}),
        (["", "ranks", "", "n", "0.3"], {"need": "ranks", "thresholds": 0.3}),
        (["", "", "", "", "often", "1 2 3", "0.4"], {"thresholds": 0.4}),
        (["ordinal", "", ""], {"kind": "ordinal"}),
    ],
    ids=["as it comes", "interval", "known", "again", "ordinal"],
)  # fmt: skip
def test_advice_by_questions(run, monkeypatch, answers, expected):
    monkeypatch.setattr(advise_command, "_is_interactive", lambda _: True)
    result = run("advise", input="\n".join([*answers, ""]))
    assert result.exit_code == 0, result.output
    assert result.stdout.endswith(f"{advise(**expected)!r}\n")


@pytest.mark.slow
def test_audit_of_a_rule_that_keeps_its_claims(run):
    result = run("audit", "propriety:Brier")
    assert result.exit_code == 0
    assert "the search agrees with every declared property" in result.stdout
    found = json.loads(run("audit", "propriety:Brier", "--classes", "3", "--json", "-").stdout)
    assert (found["schema"], found["classes"], found["agrees"]) == ("propriety.audit", 3, True)
    assert [one["name"] for one in found["findings"]] == [one.name for one in audit(Brier(), classes=3).findings]


def rule_file(folder, name, loss):
    (folder / f"{name}.py").write_text(
        "from propriety import BinaryRule, Properties\n\n\n"
        "class Mine(BinaryRule):\n"
        "    def properties(self, classes=None):\n"
        "        return Properties(proper=True)\n\n"
        f"    def loss(self, p, *, event, ops=None):\n        return {loss}\n\n\n"
        "mine = Mine()\n"
    )


@pytest.mark.parametrize("attribute", ["Mine", "mine"])
def test_audit_of_a_file_in_the_folder_whose_claim_fails(folder, run, attribute):
    name = f"rules_of_a_test_{attribute}"
    rule_file(folder, name, "abs(p - event)")
    result = run("audit", f"{name}:{attribute}")
    assert result.exit_code == 1
    assert "the search contradicts a declared property" in result.stdout
    assert "costs" in result.stdout


def test_audit_of_a_formula_that_breaks(folder, refusal):
    rule_file(folder, "rules_of_a_test_broken", "p[{}]")
    assert "cannot be checked; " in refusal("audit", "rules_of_a_test_broken:Mine")


def test_a_file_in_the_folder_cannot_stand_in_for_an_installed_module(folder, refusal):
    (folder / "colorsys.py").write_text("raise SystemExit(99)\n")
    assert "AttributeError" in refusal("audit", "colorsys:Rule")


PICTURES = [*((kind, "png") for kind in KINDS), ("murphy", "SVG"), ("murphy", "pdf")]
BEGINNINGS = {"png": b"\x89PNG", "SVG": b"<?xml", "pdf": b"%PDF"}


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "suffix"), PICTURES)
def test_pictures(folder, run, kind, suffix):
    result = run("plot", *BOTH, "--resamples", "50", "--seed", "1", "--kind", kind, "-o", f"x.{suffix}")
    assert result.exit_code == 0, result.output
    assert (folder / f"x.{suffix}").read_bytes().startswith(BEGINNINGS[suffix])
    assert sorted(path.name for path in folder.iterdir()) == ["p.csv", "p.parquet", f"x.{suffix}"]


@pytest.mark.parametrize("kind", ["decision", "murphy", "roc"])
@pytest.mark.parametrize(
    ("typed", "named"),
    [
        (["0.05", "0.2"], "thresholds 5% (to|and) 20%"),
        (["0.05,0.2"], "thresholds 5% (to|and) 20%"),
        (["0.1"], "threshold 10%"),
    ],
    ids=["two", "comma", "one"],
)
def test_pictures_show_the_thresholds(folder, run, kind, typed, named):
    result = run("plot", "--thresholds", *typed, *BOTH, "--kind", kind, "-o", "x.svg")
    assert result.exit_code == 0, result.output
    assert re.search(f"<!-- {named} -->", (folder / "x.svg").read_text())


def test_a_grid_is_that_of_the_curves(folder, run):
    drawn = []
    for more in ([], ["--grid", "0.1", "0.3", "0.5"]):
        assert run("plot", *BOTH, "--kind", "decision", *more, "-o", "x.svg").exit_code == 0
        drawn.append(len((folder / "x.svg").read_text()))
    assert drawn[1] < drawn[0]


@pytest.mark.parametrize("shared", [("--cluster", "patient"), ("--time", "day"), ()], ids=str)
def test_a_band_for_independent_cases_is_not_drawn_around_others(folder, run, shared):
    result = run("plot", *CASES, *shared, "--kind", "reliability", "--seed", "1", "-o", "x.svg")
    assert result.exit_code == 0, result.output
    assert ("consistency band" in (folder / "x.svg").read_text()) == (not shared)
    assert ("No band is drawn, because it would assume independent cases" in result.stderr) == bool(shared)


@pytest.mark.parametrize("kind", ["page", "roc"])
def test_rows_that_are_left_out_of_a_figure_are_counted(folder, run, kind):
    (folder / "x.csv").write_text("y,p\n" + "1,0.5\n0,0.2\n" * 20 + "1,\n")
    result = run("plot", "x.csv", *CASES[1:3], "--forecast", "p", "--missing", "drop", "--kind", kind, "-o", "x.svg")
    assert result.exit_code == 0, result.output
    assert "on 40 cases; event rate 50%; 1 row with missing values was left out.\n" in result.stderr
    assert "left out" not in run("plot", *CASES, "--kind", kind, "-o", "y.svg").stderr


@pytest.mark.slow
def test_pictures_of_classes_and_of_one_model(run):
    assert run("plot", *GRADES, "--ordered", "-o", "x.svg").exit_code == 0
    assert "The bands assume independent cases" in run("plot", *GRADES, "--cluster", "patient", "-o", "x.svg").stderr
    assert run("plot", *CASES, "--kind", "reliability", "-o", "y.svg").exit_code == 0
