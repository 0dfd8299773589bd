"""The calibration of class probabilities: what is found and said, weights, clusters, zeros, engines and ledgers."""

import math

import duckdb
import numpy as np
import polars as pl
import pytest
from checked import checked, of_class, of_top

import propriety as pr
from propriety.inference.calibration_words import calibration_words
from propriety.ledger import ledger as ledgers


def sample(n=2000, classes=4, seed=1, power=1.0):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(classes), n)
    truth = p**power / (p**power).sum(axis=1, keepdims=True)
    return (truth.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1), p


def way(found):
    """Return what the test says of the temperature; "" if nothing."""
    note = found.row.note("temperature")
    return "" if note is None else note.parts["way"]


def p_values(found):
    """Return the p-value of each class."""
    rows = [row for row in found.where(measure="calibration", statistic="value") if "class" in row.keys]
    return np.array([row.p for row in rows])


def test_calibrated_probabilities_show_no_error():
    found = checked(*sample(seed=3))
    assert found.verdict == "no error found"
    assert found.cost.low == 0.0
    assert "no error of calibration found" in found.words
    assert of_top(found.found).n == found.row.n == 2000


def test_a_temperature_is_found_and_named():
    found = checked(*sample(power=0.7))
    assert (found.verdict, way(found)) == ("bad", "too extreme")
    assert of_top(found.found, "observed_expected").high < 1.0
    assert of_top(found.found, "calibration_slope").high < 1.0
    assert "its probabilities are too extreme" in found.words
    assert way(checked(*sample(power=1.5))) == "too timid"


def test_the_wrong_class_is_named():
    y, p = sample(4000, 5)
    changed = p.copy()
    changed[:, 2] *= 1.6
    changed /= changed.sum(axis=1, keepdims=True)
    found = checked(np.array(list("abcde"))[y], changed, labels=list("abcde"))
    assert found.verdict == "bad"
    assert found.row.note("classes").parts["names"][0] == "c"
    assert "class c: too high (observed/expected 0." in found.words
    assert of_class(found.found, "c", "observed_expected").value == pytest.approx(
        np.mean(y == 2) / changed[:, 2].mean()
    )


def test_numbers_of_classes_are_those_of_each_event():
    y, p = sample(800, 3)
    found = checked(y, p).found
    for place in range(3):
        own = checked(y == place, p[:, place])
        assert of_class(found, place, "calibration_slope").value == pytest.approx(own.slope.value)
        ratio = of_class(found, place, "observed_expected")
        assert ratio.value == pytest.approx(own.ratio.value)
        assert (ratio.low, ratio.high) == pytest.approx((own.ratio.low, own.ratio.high), rel=0.02)
        # The statistic is reduced by a factor V / (V + 1).
        assert of_class(found, place).p == pytest.approx(own.row.extra["p_cox"], abs=0.01)


def test_a_probability_of_zero_is_refuted_only_if_it_happens():
    y, p = sample(300, 3)
    p = np.where(p < 0.1, 0.0, p)
    p /= p.sum(axis=1, keepdims=True)
    allowed = np.where(p[np.arange(300), y] > 0.0, y, p.argmax(axis=1))
    fine = checked(allowed, p)
    assert fine.row.note("refuted") is None
    assert math.isfinite(fine.p)
    allowed[0] = int(p[0].argmin())
    p[0] = np.where(np.arange(3) == allowed[0], 0.0, 0.5)
    wrong = checked(allowed, p)
    assert (wrong.verdict, wrong.p, wrong.row.note("refuted").parts["number"]) == ("bad", 0.0, 1.0)
    assert "occurred that had a probability of exactly 0" in wrong.words
    assert of_class(wrong.found, allowed[0]).verdict == "bad"


def test_equal_weights_and_clusters_of_one_case_change_little():
    y, p = sample(3000, 3)
    plain = checked(y, p)
    for other in (checked(y, p, sample_weight=np.full(3000, 2.0)), checked(y, p, cluster=np.arange(3000))):
        assert other.row.extra["p_temperature"] == pytest.approx(plain.row.extra["p_temperature"], abs=0.05)
        np.testing.assert_allclose(p_values(other.found), p_values(plain.found), atol=0.05)


def test_copied_cases_are_no_evidence_if_they_are_clusters():
    y, p = sample(400, 3, power=0.85)
    many = np.repeat(y, 9), np.repeat(p, 9, axis=0)
    one, copied, clustered = checked(y, p), checked(*many), checked(*many, cluster=np.repeat(np.arange(400), 9))
    temperature = [float(found.row.extra["p_temperature"]) for found in (one, copied, clustered)]
    assert copied.p < 1e-8
    assert temperature[1] < temperature[2] / 5
    assert temperature[2] == pytest.approx(temperature[0], abs=0.1)
    assert math.isnan(clustered.cost.value)
    assert clustered.cost.verdict == "not tested"


def test_rare_classes_are_tested_by_draws_or_left_out():
    rng = np.random.default_rng(1)
    p = rng.dirichlet([8, 8, 0.2], 1000)
    y = (p.cumsum(axis=1) > rng.random((1000, 1))).argmax(axis=1)
    drawn = checked(y, p)
    assert "draws" in drawn.row.method
    assert not np.isnan(p_values(drawn.found)).any()
    weighted = checked(y, p, sample_weight=rng.gamma(2.0, 0.5, 1000))
    assert np.isnan(p_values(weighted.found)).tolist() == [False, False, True]
    assert weighted.row.note("untested-classes").parts == {"number": 1, "of": 3, "what": "classes"}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("engine", ["duckdb", "polars"])
def test_engines_give_what_arrays_give(engine, weighted, monkeypatch):
    y, p = sample(5000, 3)
    p[:50] = [0.0, 0.4, 0.6]
    y[:50] = np.maximum(y[:50], 1)
    w = np.random.default_rng(1).gamma(2.0, 0.5, 5000)
    frame = pl.DataFrame({"y": y, "w": w, **{f"p{k}": p[:, k] for k in range(3)}})
    lazy = frame.lazy() if engine == "polars" else duckdb.from_arrow(frame.to_arrow())
    options = {"outcome": "y", "labels": [0, 1, 2]} | ({"sample_weight": "w"} if weighted else {})
    named = {"m": ["p0", "p1", "p2"]}
    whole = checked(y, {"m": p}, **({"sample_weight": w} if weighted else {}))
    assert checked(lazy, named, **options).p == pytest.approx(whole.p, rel=1e-9)
    monkeypatch.setattr(ledgers, "cases_of_engine", lambda *_: None)  # As if the frame had too many rows.
    found = checked(lazy, named, **options)
    for measure in ("observed_expected", "calibration_slope"):
        one, other = (each.found.where(measure=measure, statistic="value") for each in (found, whole))
        np.testing.assert_allclose(one.value, other.value, rtol=1e-9)
        np.testing.assert_allclose(one.high, other.high, rtol=1e-9)
    np.testing.assert_allclose(p_values(found.found), p_values(whole.found), rtol=1e-9)
    assert found.cost.value == pytest.approx(whole.cost.value, abs=1e-12)
    if not weighted:  # With weights, cases also show the dispersion.
        assert found.row.extra["p_temperature"] == pytest.approx(whole.row.extra["p_temperature"], rel=1e-10)
    assert "p_shape" not in found.row.extra
    assert found.row.note("needs-cases").parts["what"] == "a test of the shape"


def test_the_temperature_of_stored_ledgers_is_conservative(tmp_path):
    y, p = sample(1500, 4, power=0.9)
    pr.condense(y, p).to_parquet(tmp_path)
    stored, whole = checked(pr.Ledger.from_parquet(tmp_path)), checked(y, p)
    np.testing.assert_allclose(p_values(stored.found), p_values(whole.found), rtol=1e-9)
    assert stored.row.extra["p_temperature"] >= whole.row.extra["p_temperature"]
    assert of_top(stored.found).p == pytest.approx(of_top(whole.found).p)
    assert stored.row.note("conservative").severity == "caution"


def test_stored_clusters_are_not_tested(tmp_path):
    y, p = sample(200, 3)
    pr.condense(y, p, cluster=np.arange(200) // 4).to_parquet(tmp_path)
    found = checked(pr.Ledger.from_parquet(tmp_path))
    assert found.verdict == "not tested"
    assert math.isnan(found.p)
    assert "was not tested" in found.words


def test_few_cases_are_too_few():
    found = checked([0, 1, 2, 0, 1, 2, 0, 1, 2, 0], np.full((10, 3), 1 / 3))
    assert found.verdict == "too few"
    assert "too few cases" in found.words


@pytest.mark.parametrize("scale", [2.0**-12, 1e4])
@pytest.mark.parametrize("cluster", [None, np.arange(900) // 3])
def test_the_scale_of_weights_does_not_matter(scale, cluster):
    y, p = sample(900, 3, power=0.8)
    p[:, 2] *= 1.4
    p /= p.sum(axis=1, keepdims=True)
    weight = np.random.default_rng(1).gamma(2.0, 0.5, 900)
    one, other = (checked(y, p, sample_weight=own, cluster=cluster).found for own in (weight, scale * weight))
    for name, values in one.columns().items():
        found = other.columns()[name]
        if isinstance(values, np.ndarray):
            np.testing.assert_allclose(found, values, rtol=1e-8, err_msg=name)
        else:
            assert found == values, name


def test_probabilities_next_to_one_count():
    y, p = sample(300, 3)
    p[:30], y[:30] = [1.0 - 1e-14, 5e-15, 5e-15], 0
    assert checked(y, p).verdict == "no error found"
    y[0] = 1
    found = checked(y, p)
    assert (found.verdict, found.row.note("refuted")) == ("bad", None)


def test_a_high_level_does_not_clear_bad_probabilities():
    _, p = sample(60, 3)
    y = p.argmin(axis=1)
    found = checked(y, p, level=0.9995, n_resamples=10)
    assert found.verdict == "bad"
    assert found.row.note("classes") is not None
    extreme = checked(y, p, level=1.0 - 1e-9, n_resamples=10)
    assert extreme.verdict == "not tested"
    assert extreme.row.note("few-draws") is not None
    assert "too few for this level" in extreme.words


def test_reversed_probabilities_are_called_reversed():
    _, p = sample(400, 3)
    found = checked(p.argmin(axis=1), p)
    assert way(found) == "reversed"
    assert "its probabilities are reversed" in found.words
    assert all(of_class(found.found, label, "calibration_slope").high < 0.0 for label in range(3))


def test_certain_probabilities_are_not_tested():
    y = np.arange(3).repeat(40)
    found = checked(y, np.eye(3)[y])
    assert (found.verdict, found.row.note("certain").parts["share"]) == ("not tested", 1.0)
    assert math.isnan(found.p)
    assert found.words.startswith("m: calibration was not tested (100% of the cases have a forecast of exactly 0 or 1")
    wrong = checked(np.append(y, 1), np.eye(3)[np.append(y, 0)])
    assert (wrong.verdict, wrong.p) == ("bad", 0.0)


def test_few_clusters_are_the_reason_for_few_tests():
    rng = np.random.default_rng(1)
    copies = np.repeat(rng.dirichlet([1, 1, 1], 3), 300, axis=0)
    found = checked(np.repeat([0, 1, 2], 300), copies, cluster=np.repeat(np.arange(3), 300))
    assert found.row.note("untested-classes").parts == {"number": 3, "of": 3, "what": "clusters"}
    assert "3 of 3 classes have too few clusters to be tested by themselves" in found.words


def test_labels_that_look_alike_or_are_empty_can_be_told_apart():
    y, p = sample(600, 3, power=-1.0)
    labels = [1, "1", ""]
    said = checked([labels[place] for place in y.tolist()], p, labels=labels).words
    assert all(f"class {name}:" in said for name in ("1", "'1'", "''"))


@pytest.mark.slow
def test_small_errors_are_so_with_and_without_cases(tmp_path):
    y, p = sample(40_000, 3, power=0.955)  # A temperature of 1.05, which is found in a large sample.
    pr.condense(y, p).to_parquet(tmp_path)
    whole, stored = checked(y, p), checked(pr.Ledger.from_parquet(tmp_path))
    clusters = checked(y, p, cluster=np.arange(40_000))
    assert [one.verdict for one in (whole, stored, clusters)] == ["small"] * 3
    assert stored.cost.high >= whole.cost.high


@pytest.mark.parametrize("shares", [(7 / 12, 4 / 12, 1 / 12), (0.8, 0.1, 0.1)], ids=str)
def test_classes_that_are_far_off_are_tested_in_clusters_too(shares):
    """Clusters would seem too few for them if the miscalibration counted as correlation."""
    y = np.random.default_rng(0).choice(3, size=3000, p=shares)
    found = checked(y, np.full((3000, 3), 1 / 3), cluster=np.arange(3000) % 30)
    assert found.verdict == "bad"
    assert found.p < 1e-4
    assert not np.isnan(p_values(found.found)).any()
    assert of_class(found.found, 0, "observed_expected").low > 1.0
    assert of_class(found.found, 2, "observed_expected").high < 1.0


def test_refuted_probabilities_say_nothing_of_temperature_and_shape():
    rng = np.random.default_rng(0)
    z = rng.normal(size=(600, 4))
    p, q = (np.exp(factor * z) / np.exp(factor * z).sum(axis=1, keepdims=True) for factor in (1.5, 1.0))
    y = np.array([rng.choice(4, p=row) for row in q])
    p[:, 3] = 0.0
    p /= p.sum(axis=1, keepdims=True)
    ledger = pr.condense(y, {"model": p}, labels=[0, 1, 2, 3])
    for found in (checked(y, p, labels=[0, 1, 2, 3]), checked(ledger)):
        assert found.row.note("refuted") is not None
        assert way(found) == ""
        assert np.isnan([found.row.extra["p_temperature"], found.row.extra["p_shape"]]).all()
        assert "timid" not in found.words


def test_equal_weights_are_no_weights():
    rng = np.random.default_rng(49)
    p = rng.dirichlet(np.full(3, 0.6), 900)
    truth = p**0.9 / (p**0.9).sum(axis=1, keepdims=True)
    y = (truth.cumsum(axis=1) > rng.random((900, 1))).argmax(axis=1)
    plain = checked(y, p)
    for weight in (1.0, 2.0, 0.1):
        equal = checked(y, p, sample_weight=np.full(900, weight))
        assert (equal.words, equal.p) == (plain.words, plain.p)


@pytest.mark.parametrize("weight", [1.0, 2.0, 0.1])
def test_equal_weights_of_rare_classes_are_no_weights(weight):
    rng = np.random.default_rng(22)
    p = rng.dirichlet(np.full(3, 0.6), 12)
    y = (p.cumsum(axis=1) > rng.random((12, 1))).argmax(axis=1)
    plain, equal = checked(y, p), checked(y, p, sample_weight=np.full(12, weight))
    assert (equal.words, equal.p) == (plain.words, plain.p)


def test_clusters_of_a_lazy_frame_are_tested_like_those_of_arrays():
    y, p = sample(300, 3)
    columns = {f"p{place}": p[:, place] for place in range(3)}
    frame = pl.DataFrame({"y": y, "c": np.arange(300) // 3, **columns})
    how = {"outcome": "y", "cluster": "c", "labels": [0, 1, 2], "n_resamples": 99, "seed": 0}
    eager, lazy = (pr.check_calibration(one, {"m": list(columns)}, **how) for one in (frame, frame.lazy()))
    assert str(eager) == str(lazy)


def test_the_views_that_were_tested_are_named():
    found = checked(*sample(400, 3))
    assert "tested class by class, temperature and shared shape" in found.words
    equal = checked(np.arange(300) % 3, np.full((300, 3), 1 / 3))
    assert "tested class by class)" in equal.words
    assert calibration_words(equal.found, equal.model, "other").startswith("other: ")
