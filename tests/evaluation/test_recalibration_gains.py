"""What `evaluate` says recalibration would gain is what `recalibrate` finds, from cases, tables, ledgers and engines."""

import math

import numpy as np
import polars as pl
import pytest
from scipy.special import expit

import propriety as pr
from propriety.evaluation.made_when_asked import FEWEST
from propriety.evaluation.words import sentence_of
from propriety.inference.recalibration_gain import RecalibrationGain
from propriety.report.recalibration import gains
from propriety.tables.forecast_table import ForecastTable

RNG = np.random.default_rng(8)
N = 1200
X = RNG.normal(-0.8, 1.3, N)
Y = RNG.random(N) < expit(X)
MODELS = {"honest": expit(X), "extreme": expit(1.7 * X)}
WEIGHT, CLUSTER, TIME = RNG.integers(1, 4, N).astype(float), np.arange(N) // 4, np.arange(N) // 20
SHARED = {
    "independent": {},
    "weights": {"sample_weight": WEIGHT},
    "clusters": {"cluster": CLUSTER},
    "times": {"period": TIME},
}


def stored(tmp_path, **shared):
    pr.condense(Y, MODELS, **shared).to_parquet(tmp_path / "ledger")
    return pr.Ledger.from_parquet(tmp_path / "ledger")


@pytest.mark.parametrize(
    ("which", "thresholds", "rule"),
    [
        *((which, None, pr.Brier()) for which in SHARED),
        ("independent", (0.1, 0.3), pr.BoundedBrier(0.1, 0.3)),
        ("clusters", 0.2, pr.measures.Regret(0.2).rule),
    ],
)
def test_it_is_what_recalibrate_finds(which, thresholds, rule):
    shared = SHARED[which]
    result = pr.evaluate(Y, MODELS, thresholds=thresholds, seed=5, **shared)
    assert result.problem.headline.rule == rule
    for model, p in MODELS.items():
        alone = pr.recalibrate(Y, p, rule=rule, **shared)
        assert result.recalibration[model].verdict == alone.verdict
        assert result.recalibration[model].map == alone.map
        numbers = [result.to_dict()[f"{model}/recalibration_gain{side}"] for side in ("", "_low", "_high")]
        assert numbers == [alone.verdict.gain, alone.verdict.low, alone.verdict.high]


def test_tables_ledgers_and_lazy_frames_have_the_gain_of_the_cases(tmp_path):
    known = pr.evaluate(Y, MODELS, seed=5)
    tables = {model: ForecastTable.from_predictions(Y, p) for model, p in MODELS.items()}
    frame = pl.LazyFrame({"y": Y, **MODELS})
    for result in (
        pr.evaluate(pr.Ledger.of_tables(tables), seed=5),
        pr.evaluate(stored(tmp_path), seed=5),
        pr.evaluate(frame, list(MODELS), outcome="y", seed=5),
    ):
        for model in MODELS:
            found, wanted = (one.recalibration[model].verdict for one in (result, known))
            assert found.outcome == wanted.outcome
            for name in ("gain", "low", "high", "before", "after"):  # An engine may add in another order.
                assert getattr(found, name) == pytest.approx(getattr(wanted, name), rel=1e-12)


@pytest.mark.parametrize("which", ["weights", "clusters", "times"])
def test_where_cases_cannot_be_dealt_to_folds_it_is_absent(tmp_path, which):
    result = pr.evaluate(stored(tmp_path, **SHARED[which]), seed=5)
    assert dict(result.recalibration) == {}
    assert set(result.recalibration.reasons) == set(MODELS)
    assert math.isnan(result.to_dict()["extreme/recalibration_gain"])
    assert any("the gain of recalibration" in one.lower() for one in result.card.sentences)
    assert not [row for row in result.card.rows if row.short == "recalibration"]
    assert list(gains(result)) == []
    with pytest.raises(KeyError, match="extreme: "):
        result.recalibration["extreme"]


def test_few_cases_have_none():
    few = FEWEST - 1
    result = pr.evaluate(Y[:few], {"a": MODELS["honest"][:few]}, seed=1)
    assert result.recalibration.reasons == {"a": "the gain of recalibration needs at least 50 cases"}
    assert len(result.recalibration) == 0
    assert len(pr.evaluate(Y[: few + 1], {"a": MODELS["honest"][: few + 1]}, seed=1).recalibration) == 1


def test_classes_have_none():
    rows = np.stack([1.0 - MODELS["honest"], MODELS["honest"] / 2.0, MODELS["honest"] / 2.0], 1)
    result = pr.evaluate(np.where(Y, 1, 0), {"a": rows}, seed=1)
    assert dict(result.recalibration) == {}
    assert result.recalibration.reasons == {}
    assert not any("recalibration" in key for key in result.to_dict())


def test_the_words_have_the_gain_of_miscalibrated_models_alone():
    result = pr.evaluate(Y, MODELS, seed=5)
    gain = result.recalibration["extreme"].verdict
    told = sentence_of(result, "extreme", "extreme")
    assert f"Recalibration would lower its Brier score of {gain.before:.3f} by {gain.gain:.5f}" in told
    assert "Recalibration" not in sentence_of(result, "honest", "honest")
    (said,) = [one for one in result.card.sentences if "Recalibration" in one]
    assert said.startswith(
        f"Recalibration would lower the Brier score of 'extreme' by {100 * gain.gain / gain.before:.1f}%"
    )
    rows = {row.model: row for row in result.card.rows if row.short == "recalibration"}
    assert rows["extreme"].value == gain.gain / gain.before
    assert rows["honest"].low < 0.0


def test_a_model_without_an_error_is_not_recalibrated_for_its_sentence(monkeypatch):
    result = pr.evaluate(Y, MODELS, seed=5)
    asked = []
    monkeypatch.setattr(type(result.recalibration), "gain", lambda self, model: asked.append(model))
    tests = {row.model: row.verdict for row in result.calibration.where(measure="calibration")}
    assert tests["extreme"] == "bad"
    assert tests["honest"] in ("good", "no error found")
    assert asked == []  # A verdict does not read the gain of a map.
    for model in MODELS:
        sentence_of(result, model, model)
    assert asked == ["extreme"]


def evaluated(p, rate, gain=None, n=20_000):
    """Evaluate forecasts whose event rates are known, from tables of many cases."""
    events = np.round(n * rate)
    table = ForecastTable(forecast=p, events=events, non_events=n - events)
    result = pr.evaluate(pr.Ledger.of_tables({"forecast": table}), seed=1)
    if gain is not None:
        result.recalibration.gain = lambda model: gain
    return result


def test_an_error_of_another_shape_than_the_map_is_found():
    # The event rate jumps between neighbours, which no smooth curve follows, and the mean forecast is right.
    p = np.linspace(0.1, 0.9, 40)
    result = evaluated(p, p + 0.08 * (-1.0) ** np.arange(40), n=2000)
    assert result.calibration[0].verdict == "bad"
    assert "Perfect recalibration would lower" in sentence_of(result, "forecast", "m")


def test_a_gain_in_another_score_is_compared_as_a_share_of_its_uncertainty():
    x = np.linspace(-3.0, 2.0, 40)
    result = evaluated(expit(1.7 * x), expit(x), n=2000)
    assert "Perfect" not in sentence_of(result, "forecast", "m")
    # The same gain in units of a score that is a tenth as large.
    gain = result.recalibration.gain("forecast")
    tenth = RecalibrationGain("other score", *(0.1 * one for one in gain[1:]))
    said = sentence_of(evaluated(expit(1.7 * x), expit(x), tenth, n=2000), "forecast", "m")
    assert "would lower its other score of" in said
    assert "Perfect" not in said
    small = tenth._replace(value=0.001 * tenth.value, low=0.001 * tenth.low, high=0.001 * tenth.high)
    said = sentence_of(evaluated(expit(1.7 * x), expit(x), small, n=2000), "forecast", "m")
    assert said.index("would lower its other score of") < said.index(
        "Perfect recalibration would lower its Brier score"
    )
