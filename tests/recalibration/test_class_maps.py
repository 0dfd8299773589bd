import json

import duckdb
import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.optimize import minimize, root
from scipy.special import log_softmax, softmax
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

import propriety as pr
from propriety import recalibration as maps
from propriety.errors import InputTypeError, InputValueError
from propriety.recalibration import (
    CLASS_METHODS,
    METHODS,
    ClassMap,
    ClassRows,
    RecalibrationMap,
    class_rows,
)
from propriety.tables.forecast_table import ForecastTable

FREE = ("temperature", "vector", "matrix")


def cases(seed, n=300, classes=3):
    generator = np.random.default_rng(seed)
    x = generator.normal(size=(n, classes)) * 1.5 + np.linspace(0.5, -0.5, classes)
    q = softmax(x * np.linspace(0.5, 0.9, classes) + np.linspace(-0.3, 0.3, classes), axis=1)
    y = (generator.random(n)[:, None] > q.cumsum(axis=1)[:, :-1]).sum(axis=1)
    return y, softmax(x, axis=1), generator.integers(1, 4, n).astype(float)


def rows_of(y, p, w=None):
    return ClassRows.from_predictions(y, p, sample_weight=w)


def minimum(loss, slope, start):
    near = minimize(loss, start, jac=slope, method="BFGS", options={"gtol": 1e-6})
    found = root(slope, near.x, tol=1e-14)
    assert np.abs(slope(found.x)).max() < 1e-9
    return found.x


def scaled(y, p, w, scores_of, size, penalty=lambda _: 0.0, slope_of_penalty=lambda t: np.zeros(len(t))):
    """Return the parameters whose scores, linear in them, are most likely; the derivatives are had by the design."""
    x = np.log(p)
    design = np.stack([scores_of(one, x) for one in np.eye(size)], axis=-1)

    def loss(theta):
        return -(w * log_softmax(design @ theta, axis=1)[np.arange(len(y)), y]).sum() + penalty(theta)

    def slope(theta):
        residual = w[:, None] * (softmax(design @ theta, axis=1) - np.eye(p.shape[1])[y])
        return np.einsum("nk,nkt->t", residual, design) + slope_of_penalty(theta)

    return minimum(loss, slope, np.zeros(size))


@pytest.mark.parametrize("scaling", FREE)
def test_chunks_of_rows_have_the_sums_of_all(monkeypatch, scaling):
    y, p, w = cases(6, n=2_500)
    parameters = np.linspace(0.2, 1.4, {"temperature": 1, "vector": 6, "matrix": 12}[scaling])
    rows = rows_of(y, p, w)
    monkeypatch.setattr(class_rows, "CHUNK", 10_000)
    expected = rows.likelihood(scaling, 1e-3, squared=True)(parameters)
    monkeypatch.setattr(class_rows, "CHUNK", 300)
    found = rows.likelihood(scaling, 1e-3, squared=True)(parameters)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("weighted", [False, True])
def test_temperature_and_vector_scaling_are_maximum_likelihood_on_the_rows(seed, weighted):
    y, p, w = cases(seed)
    w = w if weighted else np.ones_like(w)
    rows = rows_of(y, p, w)
    (slope,) = scaled(y, p, w, lambda t, x: t[0] * x, 1)
    np.testing.assert_allclose(maps.fit_temperature(rows)(p), softmax(slope * np.log(p), axis=1), atol=1e-9)
    theta = scaled(y, p, w, lambda t, x: t[:3] * x + np.append(t[3:], 0.0), 5)
    wanted = softmax(theta[:3] * np.log(p) + np.append(theta[3:], 0.0), axis=1)
    found = maps.fit_vector(rows)
    np.testing.assert_allclose(found(p), wanted, atol=1e-9)
    np.testing.assert_allclose(found.matrix, theta[:3], atol=1e-8)
    assert found.intercepts.sum() == pytest.approx(0.0, abs=1e-12)
    assert found.ridge == 0.0


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("classes", [3, 4])
def test_structured_matrix_scaling_is_its_penalised_maximum_on_the_rows(seed, classes):
    y, p, w = cases(seed, classes=classes)
    unit = (w**2).sum() / w.sum()
    beta = maps.fit_temperature(rows_of(y, p, w)).matrix
    off = ~np.eye(classes, dtype=bool)

    def parts(theta):
        table = theta.reshape(classes, classes + 1)
        return table[:, :-1], table[:, -1]

    def penalty(theta):
        own, b = parts(theta)
        spread = own.diagonal() - own.diagonal().mean()
        return unit * classes * ((spread**2).sum() + (b**2).sum() + (classes - 1) * (own[off] ** 2).sum())

    def slope_of_penalty(theta):
        own, b = parts(theta)
        spread = np.diag(own.diagonal() - own.diagonal().mean())
        return unit * 2.0 * classes * np.hstack([spread + (classes - 1) * own * off, b[:, None]]).reshape(-1)

    def scores(theta, x):
        own, b = parts(theta)
        return beta * x @ own.T + b

    theta = scaled(y, p, w, scores, classes * (classes + 1), penalty, slope_of_penalty)
    found = maps.fit_structured_matrix(rows_of(y, p, w))
    np.testing.assert_allclose(found(p), softmax(scores(theta, np.log(p)), axis=1), atol=1e-9)
    np.testing.assert_allclose(found.matrix, beta * parts(theta)[0], atol=1e-7)


@pytest.mark.filterwarnings("ignore:Since FrozenEstimator")
@pytest.mark.parametrize("weighted", [False, True])
def test_the_temperature_is_that_of_scikit_learn(weighted):
    generator = np.random.default_rng(3)
    x = generator.normal(size=(600, 4))
    y = (x[:, 0] + generator.normal(size=600) > 0).astype(int) + (x[:, 1] + generator.normal(size=600) > 0.5)
    w = generator.integers(1, 4, 300).astype(float) if weighted else None
    model = LogisticRegression(C=1e4).fit(x[:300], y[:300])
    reference = CalibratedClassifierCV(FrozenEstimator(model), method="temperature", ensemble=False)
    reference.fit(x[300:], y[300:], sample_weight=w)
    p = model.predict_proba(x)
    found = maps.fit_temperature(rows_of(y[300:], p[300:], w), floor=1e-12)
    np.testing.assert_allclose(found(p), reference.predict_proba(x), atol=1e-6)


def test_two_classes_are_one_event():
    y, p, w = cases(4, classes=2)
    table = ForecastTable.from_predictions(y, p[:, 1], sample_weight=w)
    rows = rows_of(y, p, w)
    np.testing.assert_allclose(maps.fit_temperature(rows)(p)[:, 1], maps.fit_slope(table)(p[:, 1]), atol=1e-9)
    np.testing.assert_allclose(maps.fit_vector(rows)(p)[:, 1], maps.fit_beta(table)(p[:, 1]), atol=1e-9)


@pytest.mark.parametrize("method", ["isotonic", "logistic", "auto"])
def test_one_vs_rest_is_the_map_of_each_class_made_to_sum_to_one(method):
    y, p, w = cases(2)
    found = maps.fit_one_vs_rest(rows_of(y, p, w), method=method)
    table_of = ForecastTable.from_predictions
    alone = np.stack([METHODS[method](table_of(y == k, p[:, k], sample_weight=w))(p[:, k]) for k in range(3)], axis=1)
    np.testing.assert_allclose(found(p), alone / alone.sum(axis=1, keepdims=True), atol=1e-12)


def test_one_vs_rest_needs_a_method_of_one_event():
    rows = rows_of(*cases(2))
    for method in ("platt", None, ["auto"]):
        with pytest.raises(InputValueError, match="method must be one of"):
            maps.fit_one_vs_rest(rows, method=method)


def test_a_row_that_one_vs_rest_calls_impossible_is_left_as_it_is():
    step = maps.IsotonicMap(forecast=[0.5, 0.6], event_rate=[0.0, 1.0])
    own = maps.OneVsRestMap(maps=(step, step, step))
    np.testing.assert_array_equal(own([[0.3, 0.3, 0.4], [0.7, 0.2, 0.1]]), [[0.3, 0.3, 0.4], [1.0, 0.0, 0.0]])


@pytest.mark.parametrize("method", CLASS_METHODS)
def test_rows_sum_to_one_and_every_map_survives_its_round_trip(method):
    y, p, w = cases(5)
    found = CLASS_METHODS[method](rows_of(y, p, w))
    q = found(p)
    assert (q >= 0.0).all()
    np.testing.assert_allclose(q.sum(axis=1), 1.0, atol=1e-12)
    again = ClassMap.from_json(found.to_json())
    assert again == found
    assert hash(again) == hash(found)
    assert again != maps.ClassIdentityMap(floor=0.123)
    assert type(again).from_dict(json.loads(json.dumps(found.to_dict()))) == found
    np.testing.assert_array_equal(again(p), q)
    assert type(found).__name__ in repr(found)
    assert found.formula


@pytest.mark.parametrize("method", [name for name in CLASS_METHODS if "auto" not in name and name != "matrix"])
def test_a_weight_counts_as_so_many_rows(method):
    y, p, w = cases(7)
    counts = w.astype(int)
    repeated = CLASS_METHODS[method](rows_of(np.repeat(y, counts), np.repeat(p, counts, axis=0)))
    np.testing.assert_allclose(CLASS_METHODS[method](rows_of(y, p, w))(p), repeated(p), atol=1e-9)


@pytest.mark.parametrize("method", CLASS_METHODS)
def test_the_scale_of_weights_does_not_matter(method):
    y, p, w = cases(7)
    one, other = (CLASS_METHODS[method](rows_of(y, p, scale * w)) for scale in (1.0, 0.01))
    np.testing.assert_allclose(other(p), one(p), atol=1e-7)


def test_cases_without_weight_do_not_count():
    y, p, w = cases(8)
    w[::3] = 0.0
    kept = w > 0.0
    assert maps.fit_vector(rows_of(y, p, w)) == maps.fit_vector(rows_of(y[kept], p[kept], w[kept]))


@pytest.mark.parametrize("method", FREE)
def test_a_probability_of_zero_counts_as_the_floor(method):
    y, p, _ = cases(9)
    p = np.where(p < 0.05, 0.0, p)
    p = p / p.sum(axis=1, keepdims=True)
    least = p[p > 0.0].min() / 2.0
    found = CLASS_METHODS[method](rows_of(y, p))
    assert found.floor == least
    raised = np.maximum(p, least)
    np.testing.assert_allclose(found(p), found.recalibrated(raised), rtol=1e-12)
    assert (found(p) > 0.0).all()
    np.testing.assert_allclose(CLASS_METHODS["floored"](rows_of(y, p))(p), raised / raised.sum(axis=1, keepdims=True))


def test_the_floor_is_at_least_a_trillionth():
    assert maps.floor_of_classes(rows_of([0], [[1.0 - 1e-15, 1e-15]])) == 1e-12
    assert maps.floor_of_classes(rows_of([0, 1], [[1.0, 0.0], [0.0, 1.0]])) == 1e-12
    assert maps.fit_temperature(rows_of(*cases(1)), floor=0.1).floor == 0.1


def test_vector_scaling_needs_a_ridge_where_a_class_never_happened_and_says_so():
    y, p, w = cases(3)
    y = np.where(y == 2, 1, y)
    found = maps.fit_vector(rows_of(y, p, w))
    unit = (w**2).sum() / w.sum()
    assert found.ridge == pytest.approx(unit)

    def away(theta):
        return theta - np.array([1.0, 1.0, 1.0, 0.0, 0.0, 0.0])

    def penalty(theta):
        return unit * (away(theta) ** 2).sum() / 2.0

    theta = scaled(y, p, w, lambda t, x: t[:3] * x + t[3:], 6, penalty, lambda theta: unit * away(theta))
    np.testing.assert_allclose(found(p), softmax(theta[:3] * np.log(p) + theta[3:], axis=1), atol=1e-9)


def test_forecasts_that_are_all_equal_have_a_vector_but_no_temperature():
    y, p = [0, 1, 2, 1] * 5, np.full((20, 3), [0.2, 0.3, 0.5])
    found = maps.fit_vector(rows_of(y, p))
    assert found.ridge == 1.0
    np.testing.assert_allclose(found(p[:1])[0], [0.25, 0.5, 0.25], atol=0.05)
    with pytest.raises(InputValueError, match="they are almost equal in every row"):
        maps.fit_temperature(rows_of(y, np.full((20, 3), 1.0 / 3.0)))
    with pytest.raises(InputValueError, match="temperature scaling has no finite fit"):
        maps.fit_temperature(rows_of([0, 1], [[0.8, 0.2], [0.3, 0.7]]))


def test_matrix_scaling_is_for_few_classes():
    p = np.full((3, 41), 1.0 / 41.0)
    with pytest.raises(InputValueError, match="at most 40 classes; there are 41"):
        maps.fit_structured_matrix(rows_of([0, 1, 2], p))


def expected_ratio(x, w, design, penalty):
    """Return what twice the gain in log-likelihood is in expectation if softmax(x) are the true probabilities."""
    q = softmax(x, axis=1)
    mean = np.einsum("nk,nkt->nt", q, design)
    spread = np.einsum("nk,nkt,nku->ntu", q, design, design) - mean[:, :, None] * mean[:, None, :]
    information, noise = (np.einsum("n,ntu->tu", one, spread) for one in (w, w**2))
    inverse = np.linalg.inv(information + penalty)
    return 2.0 * np.trace(inverse @ noise) - np.trace(inverse @ information @ inverse @ noise)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("stretch", [1.0, 3.0, 0.1], ids=["ordinary", "wide", "narrow"])
def test_the_default_keeps_of_each_stage_what_there_is_evidence_for(seed, stretch):
    y, p, w = cases(seed, n=500)
    p = softmax(stretch * np.log(p), axis=1)
    w, x, size = w / 2.0, np.log(p), 3
    unit = (w**2).sum() / w.sum()
    spread = (w @ x.var(axis=1)) / w.sum()
    line = 0.25 * min(1.0, spread)
    eye, off = np.eye(3), ~np.eye(3, dtype=bool)
    places = [*((k, k) for k in range(3)), *((k, 3) for k in range(3)), *np.argwhere(off).tolist()]
    design = np.zeros((len(y), 3, 12))
    for place, (row, column) in enumerate(places):
        design[:, row, place] = x[:, column] if column < 3 else 1.0

    def fitted(own, cost, start):
        def loss(away):
            scores = x + own @ away
            return -(w * log_softmax(scores, axis=1)[np.arange(len(y)), y]).sum() + away @ cost @ away / 2.0

        def slope(away):
            return np.einsum("nk,nkt->t", w[:, None] * (softmax(x + own @ away, axis=1) - eye[y]), own) + cost @ away

        away = minimum(loss, slope, start)
        return away, 2.0 * (loss(np.zeros(len(start))) - loss(away) + away @ cost @ away / 2.0)

    def share(ratio, expected):
        return max(0.0, 1.0 - 1.25 * expected / ratio)

    slope_cost = np.array([[line * unit]])
    (away,), first = fitted(x[:, :, None], slope_cost, np.zeros(1))
    shares = [share(first, expected_ratio(x, w, x[:, :, None], slope_cost))]
    beta = 1.0 + shares[0] * away
    sigma = max(abs(beta), min(1.0, 2.0 / np.sqrt(spread)))
    penalty = np.zeros((12, 12))
    penalty[:3, :3] = 2.0 * size * (eye - 1.0 / 3.0) / sigma**2 + line / 9.0
    penalty[3:6, 3:6] = 2.0 * size * eye
    penalty[6:, 6:] = 2.0 * size * (size - 1) * np.eye(6) / sigma**2
    penalty *= unit
    start = np.append(np.full(3, away), np.zeros(9))
    stages = [fitted(design[:, :, :6], penalty[:6, :6], start[:6]), fitted(design, penalty, start)]
    expected = [
        expected_ratio(beta * x, w, x[:, :, None], slope_cost),
        expected_ratio(beta * x, w, design[:, :, :6], penalty[:6, :6]),
        expected_ratio(beta * x, w, design, penalty),
    ]
    ratios = np.diff([first, *(ratio for _, ratio in stages)])
    shares += [share(*one) for one in zip(ratios, np.diff(expected), strict=True)]
    moved = np.zeros((4, 12))
    moved[1], moved[2, :6], moved[3] = start, stages[0][0], stages[1][0]
    wanted = softmax(x + design @ (shares @ np.diff(moved, axis=0)), axis=1)
    found = maps.fit_shrunk_classes(rows_of(y, p, w))
    np.testing.assert_allclose(found.shares, shares[: len(found.shares)], atol=1e-7)
    assert (np.ndim(found.matrix) == 2) == (shares[2] > 0.0)
    np.testing.assert_allclose(found(p), wanted, atol=1e-9)


def expected_loss(q, recalibrated):
    return -(q * np.log(recalibrated)).sum(axis=1).mean()


@pytest.mark.parametrize("classes", [3, 5, 10])
def test_the_default_is_about_as_good_as_a_temperature_for_forecasts_of_certainty(classes):
    generator = np.random.default_rng(6)
    named = generator.integers(0, classes, 100)
    p, q = np.eye(classes)[named], softmax(1.5 * np.eye(classes)[named], axis=1)
    y = (generator.random(100)[:, None] > q.cumsum(axis=1)[:, :-1]).sum(axis=1)
    rows = ClassRows.from_predictions(y, p, labels=range(classes))
    found, temperature = (fit(rows)(p) for fit in (maps.fit_shrunk_classes, maps.fit_temperature))
    assert expected_loss(q, found) < expected_loss(q, temperature) + 0.01


@pytest.mark.parametrize("width", [0.02, 0.0002, 0.00015])
def test_the_default_is_about_as_good_as_a_temperature_for_forecasts_that_are_almost_equal(width):
    generator = np.random.default_rng(6)
    z = generator.normal(size=(500, 3))
    p, q = softmax(width * z, axis=1), softmax(2.0 * z, axis=1)
    y = (generator.random(500)[:, None] > q.cumsum(axis=1)[:, :-1]).sum(axis=1)
    found, temperature = (fit(rows_of(y, p))(p) for fit in (maps.fit_shrunk_classes, maps.fit_temperature))
    assert expected_loss(q, found) < expected_loss(q, temperature) + 0.01
    wider = softmax(0.002 * z, axis=1)
    np.testing.assert_allclose(found, maps.fit_shrunk_classes(rows_of(y, wider))(wider), atol=0.005)


@pytest.mark.parametrize("width", [0.00005, 0.0])
def test_forecasts_that_count_as_equal_are_moved_to_the_frequencies_of_the_classes(width):
    generator = np.random.default_rng(6)
    y, p = np.repeat([0, 1, 2], [250, 150, 100]), softmax(width * generator.normal(size=(500, 3)), axis=1)
    found = maps.fit_shrunk_classes(rows_of(y, p))
    assert found.shares[0] == 0.0
    np.testing.assert_allclose(found(p), np.tile([0.5, 0.3, 0.2], (500, 1)), atol=0.02)


def test_forecasts_of_certainty_that_are_sometimes_wrong_have_a_temperature():
    named = np.arange(300) % 10
    y = np.where(np.arange(300) % 5, (named + 1 + np.arange(300) % 9) % 10, named)
    found = maps.fit_temperature(rows_of(y, np.eye(10)[named]))
    assert found(np.eye(10))[0, 0] == pytest.approx((y == named).mean(), abs=1e-6)


def test_the_default_leaves_calibrated_forecasts_nearly_alone():
    generator = np.random.default_rng(1)
    p = softmax(generator.normal(size=(2000, 3)) * 1.5, axis=1)
    y = (generator.random(2000)[:, None] > p.cumsum(axis=1)[:, :-1]).sum(axis=1)
    assert np.abs(maps.fit_shrunk_classes(rows_of(y, p))(p) - p).max() < 0.02


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("outcome", [np.zeros(6, dtype=int), np.arange(6) % 2], ids=["one class", "two classes"])
@pytest.mark.parametrize("kind", ["certain", "equal", "almost equal", "nearly equal", "right"])
def test_the_default_map_exists_whatever_the_cases(classes, outcome, kind):
    right = np.full((6, classes), 0.1 / (classes - 1))
    right[np.arange(6), outcome] = 0.9
    equal = np.full((6, classes), 1.0 / classes)
    z = np.random.default_rng(1).normal(size=(6, classes))
    almost, nearly = softmax(1e-5 * z, axis=1), softmax(3e-4 * z, axis=1)
    rows = {"almost equal": almost, "nearly equal": nearly, "right": right}
    p = {"certain": np.eye(classes)[outcome], "equal": equal, **rows}[kind]
    q = maps.fit_shrunk_classes(rows_of(outcome, p))(p)
    assert ((q > 0.0) & (q < 1.0)).all()


def test_many_classes_have_a_vector_by_default():
    y, p, _ = cases(1, classes=41)
    assert np.shape(maps.fit_shrunk_classes(rows_of(y, p)).matrix) == (41,)


MALFORMED = [
    ({"matrix": [1.0]}, "one row and column per class"),
    ({"matrix": [1.0, 1.0, np.nan]}, "finite"),
    ({"floor": 0.5}, "floor"),
    ({"shares": [2.0, 1.0]}, "shares"),
    ({"shares": [1.0]}, "entries"),
    ({"ridge": -1.0}, "ridge"),
    ({"matrix": [[[1.0]]]}, "one row and column per class"),
    ({"kind": "logistic"}, "kind"),
]


@pytest.mark.parametrize(("change", "told"), MALFORMED)
def test_what_is_no_map_is_refused(change, told):
    stored = maps.MatrixMap(matrix=[1.0, 1.0, 1.0], intercepts=[0.0, 0.0, 0.0], floor=0.01).to_dict()
    with pytest.raises(InputValueError, match=told):
        ClassMap.from_dict(stored | change)


def test_maps_of_classes_and_of_one_event_are_not_taken_for_each_other():
    with pytest.raises(InputValueError, match="kind"):
        RecalibrationMap.from_dict(maps.ClassIdentityMap().to_dict())
    with pytest.raises(InputTypeError, match="a map for each class"):
        maps.OneVsRestMap(maps=())
    with pytest.raises(InputValueError, match="one row and column per class"):
        maps.MatrixMap(matrix=[[1.0]], intercepts=[0.0, 0.0], floor=0.01)
    with pytest.raises(InputTypeError, match="matrix of real numbers"):
        maps.MatrixMap(matrix="ab", intercepts=[0.0, 0.0], floor=0.01)


def test_maps_and_fits_in_log_probabilities_need_a_floor_above_0():
    makers = [
        lambda floor: maps.MatrixMap(matrix=0.5, floor=floor),
        lambda floor: maps.MatrixMap(matrix=[1.0, 1.0], intercepts=[0.0, 0.0], floor=floor),
        lambda floor: maps.MatrixMap(matrix=np.eye(2), intercepts=[0.0, 0.0], floor=floor),
    ]
    rows = rows_of([0, 1, 0], [[1.0, 0.0], [0.4, 0.6], [0.3, 0.7]])
    fits = (maps.fit_temperature, maps.fit_vector, maps.fit_structured_matrix, maps.fit_shrunk_classes)
    makers += [lambda floor, fit=fit: fit(rows, floor=floor) for fit in fits]
    for made in makers:
        with pytest.raises(InputValueError, match="floor must be above 0, because a probability of 0 has no logarithm"):
            made(0.0)
        assert np.isfinite(made(1e-12)([[1.0, 0.0]])).all()


def test_a_map_is_for_as_many_classes_as_it_was_fitted_to():
    found = maps.fit_vector(rows_of(*cases(1)))
    with pytest.raises(InputValueError, match="must have 3 columns"):
        found([[0.5, 0.5]])
    with pytest.raises(InputValueError):
        found([[0.5, 0.6, 0.2]])


@pytest.mark.parametrize("made", [maps.MatrixMap(matrix=0.5, floor=1e-12), maps.ClassIdentityMap(floor=0.1)])
def test_a_map_for_any_number_of_classes_is_for_those_of_its_labels(made):
    labelled = made.with_labels(["a", "b", "c"])
    assert (made.n_classes, labelled.n_classes) == (None, 3)
    for written in (labelled.expression, labelled.to_sql):
        assert len(written(["p", "q", "r"])) == 3
        with pytest.raises(InputTypeError, match="columns must be a list of 3 columns, one for each class"):
            written(["p", "q"])
    assert len(made.to_sql(["p", "q"])) == 2


@pytest.mark.parametrize("method", ["none", "temperature", "vector", "matrix", "one-vs-rest logistic"])
@pytest.mark.parametrize("as_frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_columns_with_the_names_of_the_classes_are_read_in_their_order(method, as_frame):
    rng = np.random.default_rng(1)
    rows = rng.dirichlet([1.0, 2.0, 1.0], 400)
    y = np.array(list("abc"))[(rows.cumsum(axis=1) < rng.random((400, 1))).sum(axis=1)]
    rows = rows**2 * [1.0, 2.0, 1.0]
    rows /= rows.sum(axis=1, keepdims=True)
    turned = as_frame({name: rows[:, "abc".index(name)] for name in "cab"})
    found = pr.recalibrate(y, turned, labels=list("abc"), method=method, folds=2)
    own = found.map
    assert own.labels == ("a", "b", "c")
    np.testing.assert_array_equal(own(turned), own(rows))
    assert ClassMap.from_json(own.to_json()) == own
    other_names = as_frame({f"p{place}": rows[:, place] for place in range(3)})
    np.testing.assert_array_equal(own(other_names), own(rows))
    with pytest.raises(
        InputValueError, match="must have 3 columns, like the rows that the map was fitted to; it has 2"
    ):
        own(rows[:, :2] / rows[:, :2].sum(axis=1, keepdims=True))


@pytest.mark.parametrize(
    "labels", [["a", "a", "b"], ["a", "b"], 5, "abc", [None, 1, 2], [["a"], "b", "c"], []], ids=repr
)
def test_labels_of_a_map_are_plain_distinct_and_one_for_each_class(labels):
    stored = maps.MatrixMap(matrix=[1.0] * 3, intercepts=[0.0] * 3, floor=1e-9).to_dict()
    assert "labels" not in stored
    with pytest.raises(InputValueError, match="labels must"):
        ClassMap.from_dict(stored | {"labels": labels})


def test_labels_that_cannot_be_stored_are_left_out():
    own = maps.MatrixMap(matrix=0.5, floor=1e-9)
    assert own.with_labels([(1, "a"), (1, "b")]) is own
    assert own.with_labels(None) is own
    assert own.with_labels(list(np.array(["a", "b"]))).labels == ("a", "b")


def test_expressions_and_sql_read_named_columns_by_name():
    fitted = maps.MatrixMap(matrix=[0.5, 1.0, 1.5], intercepts=[0.3, 0.0, -0.3], floor=1e-9, labels=("a", "b", "c"))
    frame = pl.DataFrame({"c": [0.5], "a": [0.2], "b": [0.3]})
    called = fitted(frame)[0]
    one = nw.from_native(frame).select(**dict(zip("xyz", fitted.expression(frame.columns), strict=True)))
    assert one.rows()[0] == pytest.approx(called)
    sql = fitted.to_sql(frame.columns)
    assert duckdb.sql(f"SELECT {', '.join(sql)} FROM frame").fetchall()[0] == pytest.approx(called)  # noqa: S608
    other = frame.rename({"c": "p1", "a": "p2", "b": "p3"})  # Names of their own are in the order of the classes.
    two = nw.from_native(other).select(**dict(zip("xyz", fitted.expression(other.columns), strict=True)))
    assert two.rows()[0] == pytest.approx(fitted(other.to_numpy())[0])
