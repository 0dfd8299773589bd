"""Sums as whole numbers: exact against fractions, whatever the size of the terms, and the same for every division."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import propriety as pr
from propriety.checks import check_cells
from propriety.errors import InputValueError
from propriety.integrations.batch_sums import (
    BoosterMetric,
    counts_of_batch,
    mean_of_sums,
    sums_of_batch,
    table_of_counts,
)
from propriety.tables.forecast_table import ForecastTable


@dataclass(frozen=True)
class Echo(pr.BinaryRule):
    """A loss of any value: the forecast stretched by powers of two, negative where the event did not happen."""

    power: int = 0

    def loss(self, p, *, event, ops=None):
        return np.ldexp(p, self.power) if event else -np.ldexp(p, self.power)


probabilities = st.floats(0.0, 1.0)
weights = st.just(0.0) | st.floats(1e-55, 1e55)
cases = st.lists(st.tuples(st.booleans(), probabilities, weights), min_size=1, max_size=30)
grids = st.sampled_from([1, 2, 16, 1024])


def arrays(drawn):
    return tuple(np.array(column) for column in zip(*drawn, strict=True))


def exact_mean(losses, weights):
    terms = [Fraction(float(loss * weight)) for loss, weight in zip(losses, weights, strict=True)]
    return float(sum(terms) / sum(Fraction(float(weight)) for weight in weights))


def divided(data, length):
    """Draw an order of the cases, and where it is cut into batches."""
    order = np.array(data.draw(st.permutations(range(length))), dtype=int)
    cuts = sorted(data.draw(st.sets(st.integers(1, length - 1)))) if length > 1 else []
    return np.split(order, cuts)


@given(cases, st.sampled_from([-1080, -1000, -30, 0, 500, 1023]), st.data())
def test_the_mean_is_the_exact_one_rounded_once_for_every_order_and_division(drawn, power, data):
    y, p, w = arrays(drawn)
    w[0] = 1.0
    if power > 0:
        w = np.minimum(w, 1.0)  # Their products are finite.
    rule = Echo(power)
    sums = sum(sums_of_batch(rule, y[part], p[part], w[part]) for part in divided(data, len(y)))
    assert mean_of_sums(sums) == exact_mean(rule.case_loss(p, y), w)


@given(cases, st.data())
def test_without_weights_every_case_counts_one(drawn, data):
    y, p, _ = arrays(drawn)
    sums = sum(sums_of_batch(pr.Brier(), y[part], p[part]) for part in divided(data, len(y)))
    assert mean_of_sums(sums) == exact_mean(pr.case_scores(y, p, rule=pr.Brier()), np.ones(len(y)))
    assert mean_of_sums(sums) == pytest.approx(pr.brier_score(y, p), rel=1e-14)


def test_the_mean_of_one_term_is_that_term():
    smallest, largest = 5e-324, np.finfo(float).max
    for value, power in ((1.0, -1074), (1.0, 1023), (0.1, 0)):
        loss = mean_of_sums(sums_of_batch(Echo(power), np.array([True]), np.array([value])))
        assert loss == np.ldexp(value, power)
    nearly_two = mean_of_sums(sums_of_batch(Echo(1023), np.array([1, 1]), np.array([1.0, 1.0])))
    assert 0.0 < smallest < nearly_two < largest


def test_infinite_losses_count_where_they_have_weight():
    y, p = np.array([1, 1]), np.array([0.0, 0.5])
    assert mean_of_sums(sums_of_batch(pr.Log(), y, p)) == np.inf
    assert mean_of_sums(sums_of_batch(pr.Log(), y, p, np.array([0.0, 2.0]))) == np.log(2.0)


def test_a_batch_without_weight_adds_nothing():
    assert not sums_of_batch(pr.Brier(), np.array([1, 0]), np.array([0.5, 0.5]), np.zeros(2)).any()


def test_a_column_of_shape_n_1_is_one_forecast_a_case():
    y, p, w = np.array([1, 0, 1]), np.array([0.9, 0.2, 0.6]), np.array([1.0, 2.0, 3.0])
    columns = sums_of_batch(pr.Brier(), y[:, None], p[:, None], w[:, None])
    assert np.array_equal(columns, sums_of_batch(pr.Brier(), y, p, w))
    assert np.array_equal(counts_of_batch(y[:, None], p[:, None], cells=4), counts_of_batch(y, p, cells=4))


def test_of_two_classes_a_rule_for_one_event_scores_the_second():
    rows = np.array([[0.1, 0.9], [0.8, 0.2]])
    sums = sums_of_batch(pr.BoundedBrier(0.2, 0.6), np.array([1, 0]), rows)
    assert np.array_equal(sums, sums_of_batch(pr.BoundedBrier(0.2, 0.6), np.array([1, 0]), rows[:, 1]))


@pytest.mark.parametrize("loss", [np.nan, -np.inf])
def test_a_loss_that_is_no_number_is_refused(loss):
    class Broken(pr.BinaryRule):
        def loss(self, p, *, event, ops=None):
            return p * 0.0 + loss

    with pytest.raises(InputValueError, match=r"Broken\(\) must return numbers above minus infinity"):
        sums_of_batch(Broken(), np.array([1]), np.array([0.5]))


@pytest.mark.parametrize("rows", [[[-3.0, 0.9], [7.0, 0.2]], [[0.9, 0.9], [0.1, 0.2]]], ids=["range", "sums"])
def test_both_columns_of_two_classes_are_checked(rows):
    with pytest.raises(InputValueError, match=r"must lie in \[0, 1\]|must sum to 1 within 1e-06"):
        sums_of_batch(pr.Brier(), np.array([1, 0]), np.array(rows))
    with pytest.raises(InputValueError, match=r"must lie in \[0, 1\]|must sum to 1 within 1e-06"):
        BoosterMetric(pr.Brier(), output="probability").loss([1, 0], rows)


def test_two_columns_that_are_rounded_need_a_tolerance():
    rows, y = np.array([[0.2, 0.79], [0.4, 0.6]]), np.array([1, 0])
    found = mean_of_sums(sums_of_batch(pr.Brier(), y, rows, tolerance=0.02))
    assert found == mean_of_sums(sums_of_batch(pr.Brier(), y, rows[:, 1]))


def test_rows_that_are_rounded_need_a_tolerance():
    rows = np.array([[0.3, 0.3, 0.4 + 1e-4]])
    with pytest.raises(InputValueError, match="must sum to 1 within 1e-06"):
        sums_of_batch(pr.Brier(), np.array([0]), rows)
    assert sums_of_batch(pr.Brier(), np.array([0]), rows, tolerance=1e-3).any()


def test_a_mean_of_nothing_is_refused():
    nothing = sums_of_batch(pr.Brier(), np.array([1]), np.array([0.5]), np.zeros(1))
    with pytest.raises(InputValueError, match="at least one case with a positive weight"):
        mean_of_sums(nothing)


@given(st.lists(st.tuples(st.booleans(), probabilities), min_size=1, max_size=30), grids, st.data())
def test_counts_are_the_grid_of_the_forecast_table(drawn, cells, data):
    y, p = arrays(drawn)
    counts = sum(counts_of_batch(y[part], p[part], cells=cells) for part in divided(data, len(y)))
    table, expected = table_of_counts(counts), ForecastTable.from_predictions(y, p).grid(cells)
    np.testing.assert_allclose(table.forecast, expected.forecast, rtol=0, atol=2**-26 / cells)
    assert table.to_dict() | {"forecast": None} == expected.to_dict() | {"forecast": None}
    cell = np.floor(table.forecast * cells) + (table.forecast > 0)
    assert cell.tolist() == (np.floor(expected.forecast * cells) + (expected.forecast > 0)).tolist()


def test_log_odds_are_counted_where_declared():
    counts = counts_of_batch(np.array([1, 0]), np.array([0.0, 2.0]), cells=4, from_logits=True)
    expected = [0.5, 1 / (1 + np.exp(-2.0))]
    np.testing.assert_allclose(table_of_counts(counts).forecast, expected, rtol=0, atol=2**-28)


def test_a_table_of_nothing_and_a_grid_that_is_none_are_refused():
    with pytest.raises(InputValueError, match="at least one case"):
        table_of_counts(np.zeros((3, 6), dtype=np.int64))
    with pytest.raises(InputValueError, match="cells must be a power of two"):
        check_cells(10)
