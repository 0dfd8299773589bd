import math

import narwhals as nw
import numpy as np
import polars as pl
import pytest
from scipy.special import softmax

import propriety as pr
from propriety.errors import ImproperRuleError, InputValueError
from propriety.inference.design_effects import design_effect
from propriety.recalibration import CLASS_METHODS, ClassRows, MatrixMap
from propriety.recalibration.folds import folds_of
from propriety.tables.validation import read_cases

NAMES = ["auto", "temperature", "vector", "matrix", "one-vs-rest isotonic"]


def sample(seed, n=600, classes=3, slope=0.6):
    generator = np.random.default_rng(seed)
    x = generator.normal(size=(n, classes)) * 1.5
    q = softmax(slope * x, axis=1)
    y = (generator.random(n)[:, None] > q.cumsum(axis=1)[:, :-1]).sum(axis=1)
    return y, softmax(x, axis=1), generator


def jackknife_variance(losses, weight, unit=None):
    """What the noise of the maps of the folds adds to the variance of the mean loss, from the losses of every case."""
    losses = np.stack(losses)
    parts = weight * (losses - losses.mean(axis=0)) / weight.sum()
    sums = parts if unit is None else np.stack([np.bincount(unit, part) for part in parts])
    return (len(losses) - 1) / len(losses) * (sums**2).sum()


def crossed_by_hand(y, p, fold, weight, names, rule):
    crossed, losses = {name: np.empty_like(p) for name in names}, {name: [] for name in names}
    for own in range(fold.max() + 1):
        held = fold == own
        others = ClassRows.from_predictions(y[~held], p[~held], sample_weight=weight[~held])
        for name in names:
            fitted = CLASS_METHODS[name](others)
            crossed[name][held] = fitted(p[held])
            losses[name].append(rule.class_case_loss(list(fitted(p).T), y))
    return crossed, losses


@pytest.mark.parametrize("rule", [pr.Log(), pr.Brier()])
@pytest.mark.parametrize("weighted", [False, True])
def test_gains_are_those_of_fitting_by_hand_and_comparing(rule, weighted):
    y, p, generator = sample(1, n=400)
    fold = generator.integers(0, 3, len(y))
    weight = generator.choice([1.0, 2.0], len(y)) if weighted else np.ones(len(y))
    given = weight if weighted else None
    found = pr.recalibrate(y, p, candidates=NAMES, folds=fold, rule=rule, sample_weight=given)
    assert found.candidate.tolist() == ["none", *NAMES]
    crossed, losses = crossed_by_hand(y, p, fold, weight, NAMES, rule)
    if rule == pr.Log():  # Isotonic maps call things impossible.
        crossed.pop("one-vs-rest isotonic")
    compared = pr.compare(y, {"none": p, **crossed}, rule, reference="none", sample_weight=given)
    for row, name in enumerate(compared.differences.model.tolist()):
        at = found.candidate.tolist().index(name)
        assert found.gain[at] == pytest.approx(-compared.differences.value[row], rel=1e-9)
        noise = jackknife_variance(losses[name], weight)
        error = math.sqrt(compared.differences.error[row] ** 2 + noise)
        assert found.standard_error[at] == pytest.approx(error, rel=1e-9)
        half = (
            (compared.differences.high[row] - compared.differences.low[row])
            / 2.0
            * error
            / compared.differences.error[row]
        )
        limits = (found.gain[at] - half, found.gain[at] + half)
        assert (found.low[at], found.high[at]) == pytest.approx(limits, rel=1e-9)
    whole = CLASS_METHODS["auto"](ClassRows.from_predictions(y, p, sample_weight=given))
    assert found.map == whole.with_labels([0, 1, 2])
    assert found.labels == (0, 1, 2)
    assert (found.n, found.after.table.n) == (len(y), 3 * len(y))


def test_whole_clusters_go_to_one_fold_and_the_interval_is_that_of_clusters():
    y, p, generator = sample(4)
    cluster = generator.integers(0, 40, len(y))
    parts = folds_of(y, p, folds=4, id=None, model=None, cluster=cluster)
    assert all(len(set(parts.codes[cluster == one])) == 1 for one in range(40))
    found = pr.recalibrate(y, p, method="temperature", folds=parts.codes, cluster=cluster)
    ones = np.ones(len(y))
    crossed, losses = crossed_by_hand(y, p, parts.codes, ones, ["temperature"], pr.Log())
    compared = pr.compare(y, {"none": p, **crossed}, pr.Log(), reference="none", cluster=cluster)
    error = math.hypot(
        compared.differences.error[0], math.sqrt(jackknife_variance(losses["temperature"], ones, cluster))
    )
    assert found.standard_error[1] == pytest.approx(error, rel=1e-9)
    assert parts.words == "4 random folds of whole clusters"
    times = np.arange(len(y)) // 3
    assert (np.diff(folds_of(y, p, folds=5, id=None, model=None, period=times).codes) >= 0).all()


def test_arrays_frames_lazy_frames_and_ledgers_agree():
    y, p, generator = sample(2, n=300)
    fold, ids = generator.integers(0, 3, len(y)), generator.permutation(len(y))
    frame = pl.DataFrame({"y": y, "fold": fold, "id": ids, **{f"p{k}": p[:, k] for k in range(3)}})
    columns = {"forecasts": {"a": ["p0", "p1", "p2"]}, "outcome": "y", "method": "vector"}
    ledger = pr.condense(y, {"a": p, "b": p[:, ::-1]}, by={"fold": fold})
    wanted = pr.recalibrate(y, p, folds=fold, method="vector")
    hashed = pr.recalibrate(y, p, id=ids, method="vector")
    for one, found in (
        (wanted, pr.recalibrate(frame, folds="fold", **columns)),
        (wanted, pr.recalibrate(frame.lazy(), folds="fold", **columns)),
        (wanted, pr.recalibrate(ledger, folds="fold", model="a", method="vector")),
        (hashed, pr.recalibrate(y, {"b": p[:, ::-1], "a": p}, id=ids, model="a", method="vector")),
        (hashed, pr.recalibrate(frame, id="id", **columns)),
        (hashed, pr.recalibrate(frame.lazy(), id="id", **columns)),
    ):
        for name in ("score", "gain", "low", "high"):
            np.testing.assert_allclose(getattr(found, name), getattr(one, name), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(found(p), one(p), atol=1e-9)
    assert pr.recalibrate(frame.lazy(), **columns).folds.startswith("10 random folds, drawn ")
    assert pr.recalibrate(y, p, folds=2, method="temperature").folds.startswith("2 random folds")


def test_a_ledger_without_its_cases_is_refused(tmp_path):
    y, p, _ = sample(2, n=100)
    pr.condense(y, {"a": p}).to_parquet(tmp_path / "ledger")
    with pytest.raises(InputValueError, match="recalibration of 3 classes needs the individual cases"):
        pr.recalibrate(pr.Ledger.from_parquet(tmp_path / "ledger"))


def test_forecasts_of_zero_are_measured_against_the_floored_ones():
    y, p, _ = sample(5)
    p = np.where(p < 0.1, 0.0, p)
    p /= p.sum(axis=1, keepdims=True)
    found = pr.recalibrate(y, p)
    assert found.candidate.tolist() == ["none", "floored", "auto"]
    assert found.verdict.reference == "floored"
    assert math.isinf(found.score[0])
    assert np.isfinite(found.gain[2])
    assert "relative to the forecasts with a floor of" in str(found)


def test_words_say_what_the_map_does_and_what_it_gains():
    y, p, _ = sample(6, n=1500)
    found = pr.recalibrate(y, p, folds=5)
    assert np.shape(found.map.matrix) == (3,)
    assert "Recalibration lowers the log score from" in str(found)
    assert "The map (auto): q = softmax(a log p + b)" in str(found)
    assert "shrinkage keeps" in str(found)
    assert "of the common slope" in str(found)
    y, p, _ = sample(7, slope=1.0)
    calm = pr.recalibrate(y, p, folds=5)
    assert calm.verdict.outcome in ("unchanged", "not shown")
    assert "The map (none) leaves the forecasts as they are." in str(pr.recalibrate(y, p, method="none"))
    scaled = pr.recalibrate(y, p, method="temperature", folds=5)
    assert np.shape(scaled.map.matrix) == ()
    assert "a temperature of" in str(scaled)


def test_choose_takes_the_simplest_near_the_best():
    y, p, _ = sample(8, n=1500)
    found = pr.recalibrate(y, p, method="choose", candidates=["temperature", "vector", "matrix"], folds=5)
    assert found.method == "temperature"
    assert "chosen with the same folds" in found.note


def test_a_class_that_never_happened_has_no_one_vs_rest_line_and_the_reason_is_told():
    y, p, _ = sample(9, n=200)
    found = pr.recalibrate(np.minimum(y, 1), p, candidates=["one-vs-rest logistic", "vector"], folds=4)
    assert found.candidate.tolist() == ["none", "auto", "vector"]
    assert "one-vs-rest logistic could not be fitted" in found.note


@pytest.mark.parametrize("method", ["auto", "choose"])
def test_one_class_is_recalibrated_but_not_tested(method):
    rows = np.random.default_rng(1).dirichlet(np.ones(3), 200)
    found = pr.recalibrate(np.zeros(200, dtype=int), rows, method=method)
    assert found.verdict.outcome == "not tested"
    assert np.isnan([found.verdict.low, found.verdict.high]).all()
    assert "not tested" in str(found)
    assert "All outcomes are the same, so gains are not tested." in found.note


def test_improper_rules_rules_of_one_event_and_unknown_methods_are_refused():
    y, p, _ = sample(10, n=100)
    with pytest.raises(ImproperRuleError):
        pr.recalibrate(y, p, rule=pr.Log(clip=0.01))
    with pytest.raises(InputValueError, match="rows of 3 classes"):
        pr.recalibrate(y, p, rule=pr.BoundedBrier(low=0.1, high=0.2))
    with pytest.raises(InputValueError, match="got 'beta'"):
        pr.recalibrate(y, p, method="beta")
    with pytest.raises(InputValueError, match="at least two folds"):
        pr.recalibrate(y, p, folds=np.zeros(100))


def test_the_picture_is_of_all_classes_together():
    y, p, _ = sample(11, n=200)
    found = pr.recalibrate(y, p, method="temperature", folds=3)
    assert found.before.table.weight == 600.0
    assert found.before.table.mean_forecast == pytest.approx(1.0 / 3.0)
    for table in (found.before.table, found.after.table):
        assert (table.weight, table.events.sum()) == (600.0, 200.0)  # Each case is an event of its own class only.
        assert pr.measures.AreaUnderRoc().value(table) > 0.6
    assert found.plot() is not None


@pytest.mark.slow
@pytest.mark.parametrize("method", CLASS_METHODS)
def test_maps_as_expressions_and_sql_give_what_they_give_in_python(method):
    duckdb = pytest.importorskip("duckdb")
    y, p, _ = sample(12, n=90)
    found = pr.recalibrate(y, p, method=method, folds=2)
    given = np.vstack([p, [[1.0, 0.0, 0.0], [0.0, 0.5, 0.5]]])
    frame = pl.DataFrame(given, schema=["p 0", 'p"1', "p2"])
    wanted = found(given)
    bad = pl.DataFrame([[0.5, 0.5, None], [1.5, -0.5, 0.0]], schema=frame.columns, orient="row")
    expressions = found.expression(frame.columns)
    names = ["a", "b", "c"]
    both = nw.from_native(pl.concat([frame, bad.cast(pl.Float64)]))
    selected = both.select(**dict(zip(names, expressions, strict=True))).to_native()
    np.testing.assert_allclose(selected[:-2].to_numpy(), wanted, rtol=1e-12, atol=1e-300)
    assert selected[-2:].null_count().row(0) == (2, 2, 2)
    texts = ", ".join(f"{sql} as {name}" for sql, name in zip(found.to_sql(frame.columns), names, strict=True))
    rows = duckdb.from_arrow(both.to_native().to_arrow()).project(texts).pl()
    np.testing.assert_allclose(rows[:-2].to_numpy(), wanted, rtol=1e-12, atol=1e-300)
    assert rows[-2:].null_count().row(0) == (2, 2, 2)


STEEP = {
    "temperature": MatrixMap(matrix=972.0, floor=1e-12),
    "falling": MatrixMap(matrix=-972.0, floor=1e-12),
    "vector": MatrixMap(matrix=[972.0, 980.0, 900.0], intercepts=[0.0, 1.0, -80.0], floor=1e-12),
    "matrix": MatrixMap(matrix=900.0 * np.eye(3) + 30.0, intercepts=[0.0, 1.0, 0.0], floor=1e-12),
}


@pytest.mark.parametrize("own", STEEP.values(), ids=STEEP)
def test_maps_of_almost_equal_forecasts_give_elsewhere_what_they_give_in_python(own):
    duckdb = pytest.importorskip("duckdb")
    given = np.vstack([softmax(0.002 * np.random.default_rng(2).normal(size=(50, 3)), axis=1), np.eye(3)])
    wanted = own(given)
    assert wanted[:50].std() > 0.1
    frame = pl.DataFrame(given, schema=["a", "b", "c"])
    selected = nw.from_native(frame).select(**dict(zip("abc", own.expression(list("abc")), strict=True)))
    np.testing.assert_allclose(selected.to_numpy(), wanted, rtol=1e-9, atol=1e-300)
    texts = ", ".join(f"{sql} as q_{name}" for sql, name in zip(own.to_sql(list("abc")), "abc", strict=True))
    found = duckdb.from_arrow(frame.to_arrow()).project(texts).pl().to_numpy()
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-300)


def test_columns_are_as_many_as_classes():
    own = MatrixMap(matrix=[1.0, 1.0, 1.0], intercepts=[0.0, 0.0, 0.0], floor=0.01)
    for columns in (["a", "b"], "abc"):
        with pytest.raises(pr.errors.InputTypeError, match="3 columns, one for each class"):
            own.to_sql(columns)
        with pytest.raises(pr.errors.InputTypeError, match="3 columns, one for each class"):
            own.expression(columns)
    with pytest.raises(pr.errors.InputTypeError, match="name of a column"):
        own.expression([1, 2, 3])
    for columns in ([], ["a"]):
        with pytest.raises(pr.errors.InputTypeError, match="two or more columns, one for each class"):
            MatrixMap(matrix=1.0, floor=0.01).to_sql(columns)
        with pytest.raises(pr.errors.InputTypeError, match="two or more columns, one for each class"):
            MatrixMap(matrix=1.0, floor=0.01).expression(columns)


def test_miscalibration_that_clusters_share_is_no_correlation():
    generator = np.random.default_rng(31)
    cluster = np.repeat(np.arange(40), 50)
    x = generator.normal(size=(40, 3))[cluster] * 1.5
    q, p = softmax(x + np.array([0.5, 0.0, -0.5]), axis=1), softmax(3.0 * x, axis=1)
    y = (generator.random(len(x))[:, None] > q.cumsum(axis=1)[:, :-1]).sum(axis=1)
    assert design_effect(read_cases(y, {"m": p}, cluster=cluster, kind="classes")) < 1.3
    together = generator.integers(0, 3, 40)[cluster]  # All cases of a cluster have the same outcome.
    flat = np.full_like(p, 1 / 3)
    assert design_effect(read_cases(together, {"m": flat}, cluster=cluster, kind="classes")) == pytest.approx(50.0)


def test_cases_of_weight_zero_do_not_change_the_design_effect():
    y, p, generator = sample(32, n=300)
    cluster, weight = np.arange(300) % 30, generator.integers(0, 2, 300).astype(float)
    heavy = weight > 0
    found = design_effect(read_cases(y, {"m": p}, cluster=cluster, sample_weight=weight, kind="classes"))
    kept = design_effect(read_cases(y[heavy], {"m": p[heavy]}, cluster=cluster[heavy], kind="classes"))
    assert found == pytest.approx(kept)
