"""The verdict on class probabilities: what it finds and says, weights, clusters, zeros, engines and stored ledgers."""

import math
from types import SimpleNamespace

import duckdb
import numpy as np
import polars as pl
import pytest

import propriety as pr
from propriety.errors import InputValueError
from propriety.inference.class_words import class_words
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
    assert "occurred that had a probability of exactly 0" in str(wrong)


def test_equal_weights_and_clusters_of_one_case_change_little():
    y, p = sample(3000, 3)
    plain = pr.class_calibration(y, p)
    for other in (
        pr.class_calibration(y, p, sample_weight=np.full(3000, 2.0)),
        pr.class_calibration(pr.cases(y, p, cluster=np.arange(3000))),
    ):
        assert other.temperature_p_value == pytest.approx(plain.temperature_p_value, abs=0.05)
        np.testing.assert_allclose(other.classes.p_value, plain.classes.p_value, atol=0.05)
        assert other.classes.slope == pytest.approx(plain.classes.slope)


def test_copied_cases_are_no_evidence_if_they_are_clusters():
    y, p = sample(400, 3, power=0.85)
    one, copied = pr.class_calibration(y, p), pr.class_calibration(np.repeat(y, 9), np.repeat(p, 9, axis=0))
    clustered = pr.class_calibration(
        pr.cases(np.repeat(y, 9), np.repeat(p, 9, axis=0), cluster=np.repeat(np.arange(400), 9))
    )
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
    assert "1 of 3 classes is too rare to be tested separately" in weighted.note


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
    inside = pr.class_calibration(pr.cases(lazy, {"m": ["p0", "p1", "p2"]}, outcome="y", labels=[0, 1, 2], **options))
    assert inside.p_value == pytest.approx(whole.p_value, rel=1e-9)
    monkeypatch.setattr(ledgers, "cases_of_engine", lambda *_: None)  # As if the frame had too many rows.
    found = pr.class_calibration(pr.cases(lazy, {"m": ["p0", "p1", "p2"]}, outcome="y", labels=[0, 1, 2], **options))
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


def test_forecasts_of_one_event_are_refused():
    with pytest.raises(InputValueError, match="calibration_summary"):
        pr.class_calibration([0, 1], [0.2, 0.7])


def test_the_result_is_plain_data():
    found = pr.class_calibration(*sample(300, 3), seed=1)
    assert '"classes": {"label": [0, 1, 2]' in found.to_json()
    assert "top=" not in repr(found)


def plain(found):
    """Return all numbers and texts of a result; the weight of refuted cases has the unit of the weights."""
    fields = {
        name: getattr(found, name) for name in found.__dataclass_fields__ if name not in ("n_refuted", "numbers", "top")
    }
    return fields | {f"class_{name}": values for name, values in fields.pop("classes").columns().items()}


@pytest.mark.parametrize("scale", [2.0**-12, 1e4])
@pytest.mark.parametrize("cluster", [None, np.arange(900) // 3])
def test_the_scale_of_weights_does_not_matter(scale, cluster):
    y, p = sample(900, 3, power=0.8)
    p[:, 2] *= 1.4
    p /= p.sum(axis=1, keepdims=True)
    weight = np.random.default_rng(1).gamma(2.0, 0.5, 900)
    one, other = (
        plain(pr.class_calibration(pr.cases(y, p, sample_weight=own, cluster=cluster), seed=1))
        for own in (weight, scale * weight)
    )
    for name, value in one.items():
        if isinstance(value, np.ndarray) and value.dtype == float:
            np.testing.assert_allclose(other[name], value, rtol=1e-8, err_msg=name)
        elif isinstance(value, np.ndarray):
            assert other[name].tolist() == value.tolist()
        else:
            assert other[name] == (pytest.approx(value, rel=1e-8, nan_ok=True) if isinstance(value, float) else value)


def test_probabilities_next_to_one_count():
    y, p = sample(300, 3)
    p[:30], y[:30] = [1.0 - 1e-14, 5e-15, 5e-15], 0
    assert pr.class_calibration(y, p, seed=1).outcome == "consistent"
    y[0] = 1
    found = pr.class_calibration(y, p, seed=1)
    assert (found.outcome, found.n_refuted) == ("miscalibrated", 0.0)


def test_a_high_level_does_not_make_bad_probabilities_consistent():
    _, p = sample(60, 3)
    y = p.argmin(axis=1)
    found = pr.class_calibration(y, p, level=0.9995, n_resamples=10, seed=1)
    assert found.outcome == "miscalibrated"
    assert any(found.classes.directions)
    extreme = pr.class_calibration(y, p, level=1.0 - 1e-9, n_resamples=10, seed=1)
    assert extreme.outcome == "not tested"
    assert "too few for a level" in str(extreme)


def test_reversed_probabilities_are_called_reversed():
    _, p = sample(400, 3)
    found = pr.class_calibration(p.argmin(axis=1), p, seed=1)
    assert found.temperature == "reversed"
    assert all("reversed" in ways for ways in found.classes.directions)
    assert "its probabilities are reversed" in str(found)


def test_certain_probabilities_are_not_tested():
    y = np.arange(3).repeat(40)
    found = pr.class_calibration(y, np.eye(3)[y], seed=1)
    assert (found.outcome, found.note) == ("not tested", "all probabilities are 0 or 1")
    assert math.isnan(found.p_value)
    assert str(found) == "The forecast: calibration was not tested (all probabilities are 0 or 1)."
    wrong = pr.class_calibration(np.append(y, 1), np.eye(3)[np.append(y, 0)], seed=1)
    assert (wrong.outcome, wrong.p_value) == ("miscalibrated", 0.0)


def test_few_clusters_are_the_reason_for_few_tests():
    y, p = sample(900, 3)
    found = pr.class_calibration(pr.cases(y, p, cluster=np.arange(900) % 3), seed=1)
    assert "rare" not in found.note
    rng = np.random.default_rng(1)
    copies = np.repeat(rng.dirichlet([1, 1, 1], 3), 300, axis=0)
    found = pr.class_calibration(
        pr.cases(np.repeat([0, 1, 2], 300), copies, cluster=np.repeat(np.arange(3), 300)), seed=1
    )
    assert "3 clusters are too few to test 3 of 3 classes separately" in found.note
    assert "rare" not in found.note


def test_caveats_of_the_most_likely_class_say_so():
    y, p = sample(300, 3)
    found = pr.class_calibration(pr.cases(y, p, period=np.arange(300) // 10), seed=1)
    assert "most likely class: 30" in found.note


def test_labels_that_look_alike_or_are_empty_can_be_told_apart():
    y, p = sample(600, 3, power=-1.0)
    labels = [1, "1", ""]
    said = str(pr.class_calibration([labels[place] for place in y.tolist()], p, labels=labels, seed=1))
    assert all(f"class {name}:" in said for name in ("1", "'1'", "''"))


def nearly_right(n):
    """Return forecasts whose small error is found in a large sample: a temperature of 1.05."""
    return sample(n, 3, power=0.955)


@pytest.mark.slow
def test_immaterial_errors_are_so_with_and_without_cases(tmp_path):
    y, p = nearly_right(40_000)
    pr.condense(y, p).to_parquet(tmp_path)
    whole, stored = pr.class_calibration(y, p), pr.class_calibration(pr.Ledger.from_parquet(tmp_path))
    clusters = pr.class_calibration(pr.cases(y, p, cluster=np.arange(40_000)))
    assert [one.outcome for one in (whole, stored, clusters)] == ["immaterial"] * 3
    assert stored.miscalibration_high >= whole.miscalibration_high
    assert "limits of all classes" in clusters.note


def verdict(outcome, **parts):
    """Return what the words are made from: four classes, of which none is wrong unless the parts say so."""
    table = {"label": np.array(list("wxyz")), "p_value": np.array([0.03, 0.01, 0.02, 0.04]), "directions": [()] * 4}
    table |= {"observed_expected": np.array([1.5, 0.5, 2.0, 1.0]), "slope": np.array([0.7, np.nan, 1.2, 1.0])}
    plain = {"outcome": outcome, "note": "", "p_value": 0.012, "n_refuted": 0.0, "temperature": None}
    plain |= {
        "classwise_p_value": 0.012,
        "temperature_p_value": 0.3,
        "shape_p_value": math.nan,
        "decided_by": "temperature",
    }
    plain |= dict.fromkeys(("miscalibration", "miscalibration_low", "miscalibration_high"), math.nan)
    classes = SimpleNamespace(**(table | parts.pop("classes", {})))
    return SimpleNamespace(**(plain | {"classes": classes} | parts))


def test_every_verdict_on_classes_has_its_sentence():
    assert class_words(verdict("not tested", note="no cases"), "m") == "m: calibration was not tested (no cases)."
    assert class_words(verdict("consistent", note="so"), "m") == (
        "m is consistent with calibration (p = 0.012; tested class by class and temperature). Note: so."
    )
    assert class_words(verdict("too few events", shape_p_value=0.5), "m") == (
        "m: too few cases to tell whether it is calibrated "
        "(p = 0.012; tested class by class, temperature and shared shape)."
    )
    limits = {"miscalibration": 0.02, "miscalibration_low": 0.01, "miscalibration_high": 0.03}
    ways = {"directions": [("too low", "too extreme"), ("too high", "refuted"), ("together",), ("too low",)]}
    found = verdict("miscalibrated", n_refuted=2.0, temperature="too extreme", classes=ways, **limits)
    assert class_words(found, "m") == (
        "m is miscalibrated (p = 0.012): classes occurred that had a probability of exactly 0; "
        "its probabilities are too extreme; class x: too high (observed/expected 0.50); "
        "class y: intercept and slope jointly differ from 0 and 1 (observed/expected 2.00, slope 1.20); "
        "class w: too low and too extreme (observed/expected 1.50, slope 0.70); 1 more class. "
        "Miscalibration summed over the classes: 0.0200 (0.0100 to 0.0300)."
    )
    alone = verdict("immaterial", miscalibration=0.02)
    assert class_words(alone, "m") == (
        "m is miscalibrated, but not materially (p = 0.012): the views together show it, though none does by itself. "
        "Miscalibration summed over the classes: 0.0200."
    )
    shape = "its probabilities depart from calibration in a shape that the classes share"
    assert class_words(verdict("miscalibrated", decided_by="shape"), "m") == f"m is miscalibrated (p = 0.012): {shape}."
    both = verdict("miscalibrated", decided_by="shape", temperature="too timid")
    assert class_words(both, "m") == "m is miscalibrated (p = 0.012): its probabilities are too timid."


@pytest.mark.parametrize("shares", [(7 / 12, 4 / 12, 1 / 12), (0.8, 0.1, 0.1)], ids=str)
def test_classes_that_are_far_off_are_tested_in_clusters_too(shares):
    """Clusters would seem too few for them if the miscalibration counted as correlation."""
    y = np.random.default_rng(0).choice(3, size=3000, p=shares)
    found = pr.class_calibration(pr.cases(y, np.full((3000, 3), 1 / 3), cluster=np.arange(3000) % 30), seed=1)
    assert found.outcome == "miscalibrated"
    assert found.p_value < 1e-4
    assert not np.isnan(found.classes.p_value).any()
    assert found.classes.directions[0] == ("too low",)
    assert found.classes.directions[2] == ("too high",)


def test_refuted_probabilities_say_nothing_of_temperature_and_shape():
    rng = np.random.default_rng(0)
    z = rng.normal(size=(600, 4))
    p, q = (np.exp(factor * z) / np.exp(factor * z).sum(axis=1, keepdims=True) for factor in (1.5, 1.0))
    y = np.array([rng.choice(4, p=row) for row in q])
    p[:, 3] = 0.0
    p /= p.sum(axis=1, keepdims=True)
    ledger = pr.condense(y, {"model": p}, labels=[0, 1, 2, 3])
    for found in (pr.class_calibration(y, p, labels=[0, 1, 2, 3], seed=1), pr.class_calibration(ledger, seed=1)):
        assert found.decided_by == "refuted"
        assert found.temperature == ""
        assert np.isnan([found.temperature_p_value, found.shape_p_value]).all()
        assert "timid" not in str(found)


def test_equal_weights_are_no_weights():
    rng = np.random.default_rng(49)
    p = rng.dirichlet(np.full(3, 0.6), 900)
    truth = p**0.9 / (p**0.9).sum(axis=1, keepdims=True)
    y = (truth.cumsum(axis=1) > rng.random((900, 1))).argmax(axis=1)
    how = {"seed": 1, "n_resamples": 99}
    plain = pr.class_calibration(y, p, **how)
    for weight in (1.0, 2.0, 0.1):
        equal = pr.class_calibration(y, p, **how, sample_weight=np.full(900, weight))
        assert str(equal) == str(plain)
        assert equal.p_value == plain.p_value


@pytest.mark.parametrize("weight", [1.0, 2.0, 0.1])
def test_equal_weights_of_rare_classes_are_no_weights(weight):
    rng = np.random.default_rng(22)
    p = rng.dirichlet(np.full(3, 0.6), 12)
    y = (p.cumsum(axis=1) > rng.random((12, 1))).argmax(axis=1)
    plain = pr.class_calibration(y, p, seed=1, n_resamples=99)
    equal = pr.class_calibration(y, p, seed=1, n_resamples=99, sample_weight=np.full(12, weight))
    assert str(equal) == str(plain)
    assert equal.p_value == plain.p_value


def test_clusters_of_a_lazy_frame_are_tested_like_those_of_arrays():
    y, p = sample(300, 3)
    columns = {f"p{place}": p[:, place] for place in range(3)}
    frame = pl.DataFrame({"y": y, "c": np.arange(300) // 3, **columns})
    how = {"outcome": "y", "cluster": "c", "labels": [0, 1, 2]}
    read = (pr.cases(one, {"m": list(columns)}, **how) for one in (frame, frame.lazy()))
    eager, lazy = (pr.class_calibration(one, n_resamples=99, seed=0) for one in read)
    assert str(eager) == str(lazy)
    assert lazy.top.p_value == pytest.approx(eager.top.p_value, nan_ok=True)
