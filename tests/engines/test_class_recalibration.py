"""Maps of classes are the same whether fitted by an engine, a query for each step, or to arrays."""

import numpy as np
import polars as pl
import pytest
from scipy.special import softmax

from propriety.errors import InputTypeError, InputValueError, UnsupportedOperationError
from propriety.recalibration import (
    ClassRows,
    LazyClassRows,
    MatrixMap,
    fit_shrunk_classes,
    fit_structured_matrix,
    fit_temperature,
    fit_vector,
    floor_of_classes,
)

RNG = np.random.default_rng(4)
X = RNG.normal(size=(800, 3)) * 1.5
P = np.where(softmax(X, axis=1) < 0.03, 0.0, softmax(X, axis=1))
P /= P.sum(axis=1, keepdims=True)
Q = softmax(X * [0.5, 0.7, 0.9] + [0.3, 0.0, -0.3], axis=1)
Y = (RNG.random(800)[:, None] > Q.cumsum(axis=1)[:, :-1]).sum(axis=1)
W = RNG.gamma(2.0, 1.0, 800) * (RNG.random(800) < 0.9)
COLUMNS = ["low", "mid", "high"]
FRAME = pl.DataFrame({"y": np.array(COLUMNS)[Y], "w": W, **{name: P[:, k] for k, name in enumerate(COLUMNS)}})
QUICK = pytest.mark.parametrize("lazy_engine", ["polars lazy", "duckdb"], indirect=True, ids=["polars", "duckdb"])


def rows_of(frame, weight="w"):
    return LazyClassRows.from_frame(frame, COLUMNS, outcome="y", labels=COLUMNS, sample_weight=weight)


@QUICK
def test_every_fit_is_that_of_the_arrays(lazy_engine):
    found, wanted = rows_of(lazy_engine(FRAME)), ClassRows.from_predictions(Y, P, sample_weight=W)
    assert floor_of_classes(found) == pytest.approx(floor_of_classes(wanted), rel=1e-12)
    assert (found.total, found.unit) == pytest.approx((wanted.total, wanted.unit), rel=1e-12)
    for fit in (fit_temperature, fit_vector):
        np.testing.assert_allclose(fit(found)(P), fit(wanted)(P), atol=1e-9)
    shrunk = fit_shrunk_classes(found)
    np.testing.assert_allclose(shrunk.shares, fit_shrunk_classes(wanted).shares[:2], atol=1e-9)


@QUICK
def test_cases_need_no_weights(lazy_engine):
    found, wanted = rows_of(lazy_engine(FRAME), None), ClassRows.from_predictions(Y, P)
    np.testing.assert_allclose(fit_temperature(found)(P), fit_temperature(wanted)(P), atol=1e-9)


@pytest.mark.parametrize("lazy_engine", ["ibis on duckdb"], indirect=True, ids=["ibis"])
def test_a_temperature_is_that_of_the_arrays_elsewhere(lazy_engine):
    found, wanted = fit_temperature(rows_of(lazy_engine(FRAME))), ClassRows.from_predictions(Y, P, sample_weight=W)
    np.testing.assert_allclose(found(P), fit_temperature(wanted)(P), atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lazy_engine", "classes", "fits"),
    [
        ("ibis on postgresql", 3, (fit_temperature, fit_vector)),
        ("ibis on postgresql", 5, (fit_temperature, fit_vector)),
        ("spark", 3, (fit_temperature,)),  # Each step takes seconds there.
    ],
    indirect=["lazy_engine"],
    ids=["postgresql 3", "postgresql 5", "spark 3"],
)
def test_servers_fit_what_arrays_do(lazy_engine, classes, fits):
    rng = np.random.default_rng(classes)
    scores = rng.normal(0.0, 1.5, (300, classes))
    p, q = softmax(scores, axis=1), softmax(0.6 * scores, axis=1)
    y = (rng.random(300)[:, None] > q.cumsum(axis=1)[:, :-1]).sum(axis=1)
    names = [f"p{k}" for k in range(classes)]
    frame = pl.DataFrame({"y": y, **dict(zip(names, p.T, strict=True))})
    found = LazyClassRows.from_frame(lazy_engine(frame), names, outcome="y", labels=list(range(classes)))
    wanted = ClassRows.from_predictions(y, p)
    for fit in fits:
        np.testing.assert_allclose(fit(found)(p), fit(wanted)(p), atol=1e-9)


@QUICK
def test_a_class_that_never_happened_needs_a_ridge(lazy_engine):
    few = FRAME.filter(pl.col("y") != "high")
    found = fit_vector(rows_of(lazy_engine(few)))
    kept = Y != 2
    wanted = fit_vector(ClassRows.from_predictions(Y[kept], P[kept], sample_weight=W[kept]))
    assert found.ridge == pytest.approx(wanted.ridge) != 0.0
    np.testing.assert_allclose(found(P), wanted(P), atol=1e-9)


@QUICK
@pytest.mark.parametrize("fit", [fit_temperature, fit_vector, fit_shrunk_classes])
def test_forecasts_that_are_almost_equal_are_fitted(lazy_engine, fit):
    z = RNG.normal(size=(400, 3))
    q = softmax(2.0 * z, axis=1)
    y = (RNG.random(400)[:, None] > q.cumsum(axis=1)[:, :-1]).sum(axis=1)
    p = softmax(0.002 * z, axis=1)
    frame = pl.DataFrame({"y": np.array(COLUMNS)[y], **{name: p[:, k] for k, name in enumerate(COLUMNS)}})
    found, wanted = fit(rows_of(lazy_engine(frame), None)), fit(ClassRows.from_predictions(y, p))
    if isinstance(wanted, MatrixMap):  # The engine leaves out the last stage.
        np.testing.assert_allclose(found.shares, wanted.shares[:2], atol=1e-7)
    else:
        np.testing.assert_allclose(found(p), wanted(p), atol=1e-7)


@QUICK
def test_bad_rows_and_what_is_not_lazy_are_refused(lazy_engine):
    with pytest.raises(InputValueError, match="must sum to 1"):
        rows_of(lazy_engine(FRAME.with_columns(low=pl.col("low") / 2.0)))
    with pytest.raises(InputTypeError, match="lazy frame"):
        rows_of(FRAME)
    with pytest.raises(UnsupportedOperationError, match="in memory"):
        fit_structured_matrix(rows_of(lazy_engine(FRAME)))
