"""`compare`."""

import json

import pytest

from propriety.inference.comparison import compare
from propriety.inference.comparison_words import comparison_words

CASES = ("p.csv", "--outcome", "y", "--forecast", "honest")
BOTH = (*CASES, "--forecast", "bold")


@pytest.mark.parametrize("shared", [None, "cluster", "period"])
def test_compare(run, columns, shared):
    column = {"cluster": "patient", "period": "day"}.get(shared)
    options = [] if shared is None else [f"--{shared}", column]
    models = {name: columns[name] for name in ("honest", "bold")}
    expected = compare(columns["y"], models, **({} if shared is None else {shared: columns[column]}))
    told = run("compare", *BOTH, *options).stdout
    assert "\n".join(comparison_words(expected)) in told
    assert "adjusted p" in told
    found = json.loads(run("compare", *BOTH, *options, "--json", "-").stdout)
    assert (found["schema"], found["version"]) == ("propriety.comparison", 1)
    assert found["value"] == pytest.approx(expected.value.tolist(), rel=1e-12)
    assert found["against"] == [None, None, "bold"]


def test_compare_by_the_score_that_fits_the_thresholds(run):
    found = json.loads(run("compare", *BOTH, "--thresholds", "0.1", "0.3", "--json", "-").stdout)
    assert set(found["measure"]) == {"bounded_brier"}


def test_compare_by_a_rule_has_no_thresholds(refusal):
    by_rule = ("compare", *BOTH, "--rule", "log")
    told = refusal(*by_rule, "--thresholds", "0.1", "0.3")
    assert "--thresholds cannot be combined with --rule" in told


def test_compare_names_the_better_model_and_puts_a_dash_for_no_p_value(run, folder):
    assert "honest better" in run("compare", *CASES, "--forecast", "w").stdout
    (folder / "one.csv").write_text("y,p,q\n1,0.6,0.4\n")
    told = run("compare", "one.csv", "--outcome", "y", "--forecast", "p", "--forecast", "q").stdout
    row = [line.split() for line in told.splitlines() if line.split()][-1]
    assert row == ["p", "q", "-0.405", "-", "not", "tested"]  # log 1.5, as the other outcome is rare.


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["compare", *CASES], "compare needs two or more models of the same cases. Hint: repeat --forecast."),
        (["compare", *BOTH, "--cluster", "patient", "--period", "day"], "not both"),
        (["compare", *BOTH, "--rule", "brjer"], "did you mean brier?"),
        (["compare", *BOTH, "--rule", "propriety:"], "the rule must be named as MODULE:NAME"),
        (["compare", *BOTH, "--rule", "nowhere_at_all:Rule"], "ModuleNotFoundError: No module named 'nowhere_at_all'"),
        (["compare", *BOTH, "--rule", "propriety:Nothing"], "AttributeError"),
        (["compare", *BOTH, "--rule", "propriety:BoundedBrier"], "missing 2 required positional arguments"),
        (["compare", *BOTH, "--rule", "os:getcwd"], "os:getcwd must be a scoring rule"),
    ],
    ids=lambda value: "" if isinstance(value, str) else " ".join(value),
)
def test_refusals(refusal, arguments, told):
    assert told in refusal(*arguments)


@pytest.mark.parametrize("attribute", ["Mine", "mine"])
def test_a_rule_of_a_file_in_the_folder(folder, run, attribute):
    name = f"rules_of_a_test_{attribute}"
    (folder / f"{name}.py").write_text(
        "from propriety import BinaryRule, Properties\n\n\n"
        "class Mine(BinaryRule):\n"
        "    def properties(self, classes=None):\n"
        "        return Properties()\n\n"
        "    def loss(self, p, *, event, ops=None):\n        return abs(p - event)\n\n\n"
        "mine = Mine()\n"
    )
    result = run("compare", *BOTH, "--rule", f"{name}:{attribute}", "--json", "-")
    assert result.exit_code == 0, result.stderr
    assert len(json.loads(result.stdout)["value"]) == 3


def test_a_file_in_the_folder_cannot_stand_in_for_an_installed_module(folder, refusal):
    (folder / "colorsys.py").write_text("raise SystemExit(99)\n")
    assert "AttributeError" in refusal("compare", *BOTH, "--rule", "colorsys:Rule")
