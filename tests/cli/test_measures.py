"""`propriety evaluate --measure`: measures of the user's own in the output, the JSON, the report and the gates."""

import json

import pytest

import propriety as pr

CASES = ("evaluate", "p.csv", "--outcome", "y", "--forecast", "honest", "--forecast", "bold")
FEW = ("--resamples", "50", "--seed", "1")
CODE = '''
"""Measures of somebody's own."""

from dataclasses import dataclass

import propriety as pr

NOT_A_MEASURE = 3


@dataclass(frozen=True)
class Lift(pr.measures.Measure):
    """Events among the forecasts above a threshold, over those among all."""

    threshold: float = 0.3
    key = "lift"
    label = "lift"
    higher_is_better = True

    def value(self, table):
        above = table.forecast >= self.threshold
        return table.events[above].sum() / table.weights[above].sum() / table.event_rate


HIGH = Lift(0.5)


class Half:
    key = "half"

    def value(self, table):
        return 0.5


class Wrong(Lift):
    def value(self, table):
        return table.no_such_field


class Text(Lift):
    def value(self, table):
        return "high"


def mean_forecast(table):
    return float(table.weights @ table.forecast / table.weight)
'''


@pytest.fixture
def code(folder):
    """Put a module with measures into the current folder, under a name of its own."""
    name = f"measures_{folder.name.replace('-', '_').replace('.', '_')}"
    (folder / f"{name}.py").write_text(CODE)
    return name


def test_a_measure_is_in_the_output_the_json_and_the_gates(run, columns, code):
    given = (*CASES, *FEW, "--measure", f"{code}:Lift", "--measure", f"{code}:mean_forecast", "--fail-if", "lift<100")
    result = run(*given, "--json", "-")
    assert result.exit_code == 1
    assert "Gate failed: honest/lift is " in result.stderr
    found = json.loads(result.stdout)
    p = columns["honest"]
    lift = columns["y"][p >= 0.3].mean() / columns["y"].mean()
    assert found["metrics"]["honest/lift"] == pytest.approx(lift, rel=1e-12)
    assert found["metrics"]["honest/lift_low"] < lift < found["metrics"]["honest/lift_high"]
    assert found["metrics"]["bold/mean_forecast"] == pytest.approx(columns["bold"].mean(), rel=1e-12)
    row = next(row for row in found["scores"] if (row["model"], row["measure"]) == ("honest", "lift"))
    assert (row["label"], row["higher_is_better"], row["ideal"]) == ("lift", True, None)
    told = run(*given).stdout
    asked = told[told.index("Also asked for") :]
    assert "lift" in asked.lower()
    assert "mean forecast" in asked.lower()


@pytest.mark.slow
def test_a_measure_is_in_the_report(run, folder, code):
    assert run(*CASES, *FEW, "--measure", f"{code}:HIGH", "--html", "r.html").exit_code == 0
    page = (folder / "r.html").read_text(encoding="utf-8")
    assert "Further measures" in page
    assert "Lift(threshold=0.5)" in page


def test_a_measure_of_the_package(run):
    found = json.loads(
        run(*CASES, *FEW, "--measure", "propriety.measures:IntegratedCalibrationIndex", "--json", "-").stdout
    )
    assert found["metrics"]["honest/ici"] > 0.0
    found = json.loads(run(*CASES, *FEW, "--measure", "propriety:Spherical", "--json", "-").stdout)
    assert found["metrics"]["honest/spherical_high"] > found["metrics"]["honest/spherical"]


def test_calibration_is_among_the_numbers_of_gates(run):
    result = run(*CASES, *FEW, "--fail-if", "observed_expected>10", "--fail-if", "calibration_slope_low>10")
    assert result.exit_code == 0
    assert result.stderr.count("Gate passed") == 4
    assert "O/E, observed/expected" in result.stdout
    assert "Slope; below 1 too extreme" in result.stdout


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("Lift", "--measure must be named as MODULE:NAME; got 'Lift'. Hint: "),
        (":Lift", "--measure must be named as MODULE:NAME"),
        ("nowhere_at_all:Lift", "cannot be loaded; ModuleNotFoundError: No module named 'nowhere_at_all'"),
        ("{code}:Nothing", "cannot be loaded; AttributeError: module"),
        (
            "{code}:NOT_A_MEASURE",
            "must be a measure, a rule or a function of a ForecastTable; it is int. Hint: derive",
        ),
        ("{code}:Half", "derive its class from propriety.measures.Measure"),
        ("{code}:Wrong", "cannot be computed; AttributeError: 'ForecastTable' object has no attribute 'no_such_field'"),
        ("{code}:Text", "must return a number; it returned str"),
        ("propriety:BoundedBrier", "cannot be loaded; TypeError"),
    ],
)
def test_what_is_no_measure_is_refused(refusal, code, name, told):
    assert told in refusal(*CASES, *FEW, "--measure", name.format(code=code))


def test_a_folder_cannot_stand_in_for_a_module_that_is_installed(run, folder):
    (folder / "propriety.py").write_text("Brier = None")
    assert run(*CASES, *FEW, "--measure", "propriety:Brier").exit_code == 0
    assert pr.Brier is not None
