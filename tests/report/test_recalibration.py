"""The tables of the gain of recalibration and of the maps in a report."""

import numpy as np
import pytest
from scipy.special import expit

import propriety as pr
from propriety.report.cells import Estimate
from propriety.report.recalibration import ARROW, FLOORED, gains
from propriety.tables.forecast_table import ForecastTable

# As many events at each forecast as the first model says.
X = np.linspace(-4.0, 2.5, 40)
EVENTS = np.round(100 * expit(X))


@pytest.fixture(scope="module")
def evaluation():
    slopes = {"calibrated": 1.0, "extreme": 1.8}
    tables = {
        model: ForecastTable(forecast=expit(slope * X), events=EVENTS, non_events=100 - EVENTS)
        for model, slope in slopes.items()
    }
    return pr.evaluate(pr.Ledger.of_tables(tables), seed=2)


def test_the_gain_of_each_model_is_in_the_first_table(evaluation):
    table, _ = gains(evaluation)
    found = evaluation.recalibration["extreme"].verdict
    assert table.columns["model"] == ["calibrated", "extreme"]
    assert table.columns["gain"] == [None, Estimate(found.gain, found.low, found.high)]
    assert table.columns["recalibration"] == ["leaves the forecasts as they are", "lowers the score"]
    assert table.columns["share of the score"][1] == f"{100 * found.gain / found.before:.2g}%"
    assert "10 random folds" in table.note


def test_the_maps_are_shown_by_examples_and_formulas(evaluation):
    _, table = gains(evaluation)
    examples = [pair.split(ARROW) for pair in table.columns["forecast and recalibrated forecast"][1].split(", ")]
    before, after = (
        np.array([float(one.removesuffix("%")) / 100 for one in side]) for side in zip(*examples, strict=True)
    )
    assert 3 <= len(before) <= 5
    np.testing.assert_allclose(evaluation.recalibration["extreme"](before), after, rtol=0.06)
    honest, extreme = table.columns["formula"]
    assert honest.startswith("q = min(max(p, ")
    assert extreme == evaluation.recalibration["extreme"].map.formula


def test_a_gain_that_is_shown_but_immaterial_is_called_practically_none():
    rates = 1e6 * expit(X)
    table = ForecastTable(forecast=expit(1.01 * X), events=rates.round(), non_events=1e6 - rates.round())
    result = pr.evaluate(pr.Ledger.of_tables({"nearly": table}), seed=1)
    assert result.recalibration["nearly"].verdict.outcome == "gain"
    assert next(gains(result)).columns["recalibration"] == ["leaves it practically unchanged"]


def test_gains_over_an_infinite_score_say_so():
    p = np.where(np.arange(3000) % 10 == 0, 0.0, 0.02 + 0.01 * (np.arange(3000) % 3))
    y = np.arange(3000) % 40 == 0
    result = pr.evaluate(y, {"a": p}, seed=1)
    assert result.problem.headline.rule == pr.Log()
    table, _ = gains(result)
    assert FLOORED in table.note
    assert np.isfinite(table.columns["log score"][0])
    assert not [one for one in result.card.sentences if "Recalibration would lower" in one]
