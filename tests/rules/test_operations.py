"""One formula, three evaluations: NumPy, a Polars LazyFrame and a DuckDB relation."""

import duckdb
import narwhals as nw
import numpy as np
import polars as pl
import pytest

import propriety as pr
from propriety.rules.catalogue import RULES
from propriety.rules.operations import NARWHALS, NUMPY

P = np.array([0.0, 1e-300, 1e-17, 1e-9, 0.05, 0.2, 0.3, 0.5, 0.7, 0.95, 1 - 2**-53, 1.0])
CASES = {"p": np.repeat(P, 2), "y": np.tile([True, False], len(P))}
ROWS = np.array([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.2, 0.3, 0.5], [1 / 3, 1 / 3, 1 / 3], [0.0, 1e-12, 1.0 - 1e-12]])
ELEMENTARY = [rule for rule in RULES if isinstance(rule, pr.BinaryRule) and not isinstance(rule, pr.BetaRegret)]
BY_CLASS = [rule for rule in RULES if isinstance(rule, pr.ClassRule)]


@pytest.fixture(params=["polars", "duckdb"])
def lazy(request):
    """Return a function that makes a lazy frame of an engine."""

    def make(columns):
        frame = pl.DataFrame(columns)
        native = frame.lazy() if request.param == "polars" else duckdb.from_arrow(frame.to_arrow())
        return nw.from_native(native)

    return make


def collected(frame, expression):
    return frame.select(expression.alias("loss")).collect("pyarrow")["loss"].to_numpy()


@pytest.mark.parametrize("rule", ELEMENTARY, ids=repr)
def test_a_binary_formula_gives_the_same_losses_on_an_engine(lazy, rule):
    expected = rule.case_loss(CASES["p"], CASES["y"])
    losses = collected(lazy(CASES), rule.case_loss(nw.col("p"), nw.col("y"), ops=NARWHALS))
    # The power families subtract nearly equal numbers, so near certainty they are exact to 1e-15 only.
    rounding = 1e-15 if isinstance(rule, pr.Tsallis | pr.Pseudospherical) else 1e-300
    np.testing.assert_allclose(losses, expected, rtol=1e-13, atol=rounding)
    assert losses.min() >= 0.0


@pytest.mark.parametrize("rule", BY_CLASS, ids=repr)
def test_a_class_formula_gives_the_same_losses_on_an_engine(lazy, rule):
    rows, y = np.repeat(ROWS, 3, axis=0), np.tile([0, 1, 2], len(ROWS))
    expected = rule.class_case_loss(list(rows.T), y)
    frame = lazy({"a": rows[:, 0], "b": rows[:, 1], "c": rows[:, 2], "y": y})
    losses = collected(frame, rule.class_case_loss([nw.col("a"), nw.col("b"), nw.col("c")], nw.col("y"), ops=NARWHALS))
    np.testing.assert_allclose(losses, expected, rtol=1e-13, atol=1e-15)


def test_a_formula_beyond_elementary_operations_says_so():
    with pytest.raises(pr.errors.UnsupportedOperationError, match="no incomplete beta function"):
        pr.BetaRegret(2, 2).loss(nw.col("p"), event=True, ops=NARWHALS)


def test_the_smallest_of_columns(lazy):
    frame = lazy({"a": [0.1, 0.5], "b": [0.2, 0.4]})
    assert collected(frame, NARWHALS.minimum(nw.col("a"), nw.col("b"))).tolist() == [0.1, 0.4]
    assert NUMPY.minimum(np.array([0.1, 0.5]), np.array([0.2, 0.4])).tolist() == [0.1, 0.4]


@pytest.mark.parametrize("rule", ELEMENTARY, ids=repr)
def test_a_formula_of_all_cases_gives_the_partial_losses(rule):
    partial = np.where(CASES["y"], rule.loss(CASES["p"], event=True), rule.loss(CASES["p"], event=False))
    np.testing.assert_allclose(rule.case_loss(CASES["p"], CASES["y"]), partial, rtol=1e-15)


def test_a_loss_of_ones_own_is_not_replaced_by_an_inherited_formula():
    class Doubled(pr.Brier):
        def loss(self, p, *, event, ops=NUMPY):
            return 2.0 * super().loss(p, event=event, ops=ops)

    assert Doubled().case_loss(np.array([0.5, 0.5]), np.array([True, False])).tolist() == [0.5, 0.5]
    assert pr.mean_score([1, 0], [0.5, 0.5], rule=Doubled()) == 0.5
    assert (pr.Brier.is_even_at_mean, Doubled.is_even_at_mean) == (True, False)
