"""The studies of published decision tables give the published numbers, or the corrected ones."""

import pytest
from loading import load

CELLS = 200_000


breast_cancer, assel = load("breast_cancer"), load("assel")


@pytest.fixture(scope="module")
def cancer_scores():
    if not breast_cancer.DATA.exists():
        pytest.skip("the data lie beside the project, not in it")
    y, forecasts = breast_cancer.read(breast_cancer.DATA)
    return {name: breast_cancer.scores(y, p) for name, p in forecasts.items()}


@pytest.fixture(scope="module")
def assel_rows():
    return assel.study(CELLS)


def test_breast_cancer_is_golden(golden, cancer_scores):
    _, expected = golden("bcsc_table2")
    columns = breast_cancer.MODELS | {breast_cancer.CONSTANT: "climatological"}
    for name, column in columns.items():
        found, values = cancer_scores[name], expected[column]
        numbers = {"auc": values["auc"], "brier": values["brier"]}
        for interval, key in (("used", "table2_interval_odds"), ("stated", "printed_interval_prob")):
            numbers[f"bounded_brier_{interval}"] = values[key]["brier_diff"]
            numbers[f"bounded_log_{interval}"] = values[key]["log_diff"]
        assert {key: found[key] for key in numbers} == pytest.approx(numbers, rel=1e-9, abs=0)


def test_the_constant_beats_all_four_in_hindsight_only(cancer_scores):
    told = breast_cancer.conclusion(cancer_scores)
    assert "2.65% and known in hindsight" in told
    assert "beats 4 of the 4 models on the full Brier score and 4 of 4 on the full log score" in told
    assert "a constant at each model's own mean beats 1 and 2. The means are 0.29%, 0.29%, 0.35%, 12.99%." in told


def test_a_shift_of_the_event_rate_explains_the_order_of_the_models():
    if not breast_cancer.DATA.exists():
        pytest.skip("the data lie beside the project, not in it")
    y, forecasts = breast_cancer.read(breast_cancer.DATA)
    found = {name: breast_cancer.shifted(y, forecasts[name]) for name in ("logistic with density", "xgboost at 2%")}
    best = found["logistic with density"]
    assert best["log_skill_as_given"] < -0.2
    assert best["shifted_low"] > 0.0
    assert best["at_its_mean_low"] > 0.0
    assert best["net_benefit_2%_as_given"] < found["xgboost at 2%"]["net_benefit_2%_as_given"]
    assert best["net_benefit_2%_shifted"] > found["xgboost at 2%"]["net_benefit_2%_shifted"] > best["treat_all_2%"]


def test_missing_data_are_told(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr("sys.argv", ["breast_cancer.py", "--data", str(tmp_path / "absent.csv")])
    with pytest.raises(SystemExit):
        breast_cancer.main()
    assert "absent.csv; nothing was written" in capsys.readouterr().err


@pytest.mark.slow
def test_binary_tests_are_golden(golden, assel_rows):
    _, expected = golden("assel_binary_tests")
    found = {name: assel_rows[name]["bounded_brier_5-20%"] for name in expected}
    assert found == pytest.approx(expected, rel=1e-9, abs=0)


def test_the_calibrated_forecast(assel_rows):
    expected = {
        "mean_forecast": 0.2,
        "brier": 0.1375,
        "net_benefit_5%": 0.1596,
        "net_benefit_10%": 0.1240,
        "net_benefit_20%": 0.0730,
        "bounded_brier_5-20%": 0.1529,
    }
    assert assel_rows["calibrated"] == pytest.approx(expected, rel=0, abs=5e-5)


def test_the_published_calibrated_forecast_is_not(assel_rows):
    assert assel_rows["published well calibrated"]["mean_forecast"] == pytest.approx(0.359, abs=5e-4)
    assert assel_rows["published underestimating"]["mean_forecast"] == pytest.approx(0.307, abs=5e-4)
