"""The verdict on class probabilities: what it finds and says, weights, clusters, zeros, engines and stored ledgers."""

import math

import duckdb
import numpy as np
import polars as pl
import pytest

import propriety as pr
from propriety.errors import InputValueError
from propriety.ledger import ledger as ledgers


def sample(n=2000, classes=4, seed=1, power=1.0):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(classes), n)
    truth = p**power / (p**power).sum(axis=1, keepdims=True)
    return (truth.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1), p


def test_calibrated_probabilities_are_consistent():
    found = pr.class_calibration(*sample(seed=3))
    assert found.outcome == "consistent"
    assert found.miscalibration_low == 0.0
    assert "is consistent with calibration" in str(found)
    assert found.top.n == found.n == 2000
    assert found.kernel is None


def test_a_temperature_is_found_and_named():
    found = pr.class_calibration(*sample(power=0.7))
    assert (found.outcome, found.decided_by, found.temperature) == ("miscalibrated", "temperature", "too extreme")
    assert found.top.directions == ("too high", "too extreme")
    assert "its probabilities are too extreme" in found.summary("m")
    assert pr.class_calibration(*sample(power=1.5)).temperature == "too timid"


def test_the_wrong_class_is_named():
    y, p = sample(4000, 5)
    changed = p.copy()
    changed[:, 2] *= 1.6
    changed /= changed.sum(axis=1, keepdims=True)
    found = pr.class_calibration(np.array(list("abcde"))[y], changed, labels=list("abcde"))
    assert (found.outcome, found.decided_by) == ("miscalibrated", "class-wise")
    frame = found.to_frame(backend="polars")
    assert frame.sort("p_value")["label"][0] == "c"
    assert frame.sort("p_value")["directions"][0].startswith("too high")
    assert "class c: too high (observed/expected 0." in str(found)
    assert found.classes.observed_expected[2] == pytest.approx(np.mean(y == 2) / changed[:, 2].mean())


def test_numbers_of_classes_are_those_of_each_event():
    y, p = sample(800, 3)
    found = pr.class_calibration(y, p)
    for place in range(3):
        own = pr.calibration_summary(y == place, p[:, place])
        assert found.classes.slope[place] == pytest.approx(own.slope.value)
        assert found.classes.observed_expected[place] == pytest.approx(own.observed_expected.value)
        # The statistic is reduced by a factor V / (V + 1).
        assert found.classes.p_value[place] == pytest.approx(own.test.line_p_value, abs=0.01)


def test_a_probability_of_zero_is_refuted_only_if_it_happens():
    y, p = sample(300, 3)
    p = np.where(p < 0.1, 0.0, p)
    p /= p.sum(axis=1, keepdims=True)
    allowed = np.where(p[np.arange(300), y] > 0.0, y, p.argmax(axis=1))
    fine = pr.class_calibration(allowed, p, seed=1)
    assert fine.n_refuted == 0.0
    assert math.isfinite(fine.p_value)
    allowed[0] = int(p[0].argmin())
    p[0] = np.where(np.arange(3) == allowed[0], 0.0, 0.5)
    wrong = pr.class_calibration(allowed, p, seed=1)
    assert (wrong.outcome, wrong.decided_by, wrong.p_value, wrong.n_refuted) == ("miscalibrated", "refuted", 0.0, 1.0)
    assert "happened whose probability was exactly 0" in str(wrong)


def test_equal_weights_and_clusters_of_one_case_change_little():
    y, p = sample(3000, 3)
    plain = pr.class_calibration(y, p)
    for other in (
        pr.class_calibration(y, p, sample_weight=np.full(3000, 2.0)),
        pr.class_calibration(y, p, cluster=np.arange(3000)),
    ):
        assert other.temperature_p_value == pytest.approx(plain.temperature_p_value, abs=0.05)
        np.testing.assert_allclose(other.classes.p_value, plain.classes.p_value, atol=0.05)
        assert other.classes.slope == pytest.approx(plain.classes.slope)


def test_copied_cases_are_no_evidence_if_they_are_clusters():
    y, p = sample(400, 3, power=0.85)
    one, copied = pr.class_calibration(y, p), pr.class_calibration(np.repeat(y, 9), np.repeat(p, 9, axis=0))
    clustered = pr.class_calibration(np.repeat(y, 9), np.repeat(p, 9, axis=0), cluster=np.repeat(np.arange(400), 9))
    assert copied.p_value < 1e-8
    assert copied.temperature_p_value < clustered.temperature_p_value / 5
    assert clustered.temperature_p_value == pytest.approx(one.temperature_p_value, abs=0.1)
    assert math.isnan(clustered.miscalibration)
    assert "correlated" in clustered.note


def test_rare_classes_are_tested_by_draws_or_left_out():
    rng = np.random.default_rng(1)
    p = rng.dirichlet([8, 8, 0.2], 1000)
    y = (p.cumsum(axis=1) > rng.random((1000, 1))).argmax(axis=1)
    drawn = pr.class_calibration(y, p, seed=1)
    assert "draws" in drawn.method
    assert not np.isnan(drawn.classes.p_value).any()
    weighted = pr.class_calibration(y, p, sample_weight=rng.gamma(2.0, 0.5, 1000))
    assert np.isnan(weighted.classes.p_value).tolist() == [False, False, True]
    assert "1 of 3 classes" in weighted.note


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("engine", ["duckdb", "polars"])
def test_engines_give_what_arrays_give(engine, weighted, monkeypatch):
    y, p = sample(5000, 3)
    p[:50] = [0.0, 0.4, 0.6]
    y[:50] = np.maximum(y[:50], 1)
    w = np.random.default_rng(1).gamma(2.0, 0.5, 5000)
    frame = pl.DataFrame({"y": y, "w": w, **{f"p{k}": p[:, k] for k in range(3)}})
    lazy = frame.lazy() if engine == "polars" else duckdb.from_arrow(frame.to_arrow())
    options = {"sample_weight": "w"} if weighted else {}
    whole = pr.class_calibration(y, p, **({"sample_weight": w} if weighted else {}))
    inside = pr.class_calibration(lazy, {"m": ["p0", "p1", "p2"]}, outcome="y", labels=[0, 1, 2], **options)
    assert inside.p_value == pytest.approx(whole.p_value, rel=1e-9)
    monkeypatch.setattr(ledgers, "cases_of_engine", lambda *_: None)  # As if the frame had too many rows.
    found = pr.class_calibration(lazy, {"m": ["p0", "p1", "p2"]}, outcome="y", labels=[0, 1, 2], **options)
    for name in ("observed", "expected", "slope", "miscalibration"):
        np.testing.assert_allclose(getattr(found.classes, name), getattr(whole.classes, name), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.classes.p_value, whole.classes.p_value, rtol=1e-9)
    assert found.miscalibration == pytest.approx(whole.miscalibration, abs=1e-12)
    if not weighted:  # With weights, cases also show the dispersion.
        assert found.temperature_p_value == pytest.approx(whole.temperature_p_value, rel=1e-10)
    assert math.isnan(found.shape_p_value)
    assert "shape" in found.note


def test_the_temperature_of_stored_ledgers_is_conservative(tmp_path):
    y, p = sample(1500, 4, power=0.9)
    pr.condense(y, p).to_parquet(tmp_path)
    stored, whole = pr.class_calibration(pr.Ledger.from_parquet(tmp_path)), pr.class_calibration(y, p)
    np.testing.assert_allclose(stored.classes.p_value, whole.classes.p_value, rtol=1e-9)
    assert stored.temperature_p_value >= whole.temperature_p_value
    assert stored.top.p_value == pytest.approx(whole.top.p_value)
    assert "conservative" in stored.note


def test_stored_clusters_are_not_tested(tmp_path):
    y, p = sample(200, 3)
    pr.condense(y, p, cluster=np.arange(200) // 4).to_parquet(tmp_path)
    found = pr.class_calibration(pr.Ledger.from_parquet(tmp_path))
    assert found.outcome == "not tested"
    assert math.isnan(found.p_value)
    assert "was not tested" in str(found)


def test_few_cases_are_too_few():
    found = pr.class_calibration([0, 1, 2, 0, 1, 2, 0, 1, 2, 0], np.full((10, 3), 1 / 3), seed=1)
    assert found.outcome == "too few events"
    assert "too few cases" in str(found)


def test_ordered_classes_and_the_kernel_test():
    y, p = sample(300, 3)
    found = pr.class_calibration(pr.condense(y, p, ordered=True), kernel=True, seed=1)
    assert 0.0 < found.kernel.p_value <= 1.0
    assert "Kernel test: p" in str(found)
    with pytest.raises(InputValueError, match="kernel"):
        pr.class_calibration(y, p, sample_weight=np.ones(300), kernel=True)


def test_forecasts_of_one_event_are_refused():
    with pytest.raises(InputValueError, match="calibration_summary"):
        pr.class_calibration([0, 1], [0.2, 0.7])


def test_the_result_is_plain_data():
    found = pr.class_calibration(*sample(300, 3), seed=1)
    assert '"classes": {"label": [0, 1, 2]' in found.to_json()
    assert "top=" not in repr(found)
