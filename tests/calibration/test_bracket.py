"""The bracket of a grid holds what recalibration finds in the cases, for every rule and every order of the cases."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import propriety as pr
from propriety.calibration.decomposition import calibration_bracket
from propriety.errors import ImproperRuleError
from propriety.tables.forecast_table import ForecastTable

cases = st.lists(
    st.tuples(st.booleans(), st.one_of(st.integers(0, 8).map(lambda k: k / 8), st.floats(0, 1))),
    min_size=1,
    max_size=40,
)


@pytest.mark.slow
@pytest.mark.parametrize("rule", [pr.Brier(), pr.Log(), pr.Spherical()], ids=lambda rule: rule.name)
@given(sample=cases, cells=st.sampled_from([1, 2, 8, 64]), data=st.data())
def test_the_cases_are_within_the_bracket(rule, sample, cells, data):
    y, p = [case[0] for case in sample], [case[1] for case in sample]
    weights = data.draw(st.none() | st.lists(st.integers(1, 4), min_size=len(y), max_size=len(y)))
    table = ForecastTable.from_predictions(y, p, sample_weight=weights)
    bracket = calibration_bracket(table.grid(cells), rule=rule)
    exact = pr.decompose(table, rule=rule).discrimination
    assert bracket.discrimination_low - 1e-12 <= exact <= bracket.discrimination_high + 1e-12


@given(sample=cases, cells=st.sampled_from([1, 2, 8]))
def test_the_limits_are_reached(sample, cells):
    """Put each cell's non-events first, then its events first; no order of the cases finds more, or less."""
    table = ForecastTable.from_predictions([case[0] for case in sample], [case[1] for case in sample]).grid(cells)
    bracket = calibration_bracket(table)
    found = []
    for event_first in (False, True):
        inner = (table.forecast > 0) & (table.forecast < 1)
        shift = np.where(inner, 0.25, 0.0) * (1 if event_first else -1)
        y = np.concatenate([np.zeros(len(table)), np.ones(len(table))])
        middle = np.arange(len(table)) + 0.5  # Only the order of the cases matters.
        p = np.concatenate([middle + shift, middle - shift]) / len(table)
        weight = np.concatenate([table.non_events, table.events])
        found.append(pr.decompose(y, p, sample_weight=weight).discrimination)
    assert bracket.discrimination_high == pytest.approx(found[0], abs=1e-12)
    assert bracket.discrimination_low == pytest.approx(found[1], abs=1e-12)


def test_a_finer_grid_has_a_narrower_bracket():
    rng = np.random.default_rng(1)
    p = rng.random(20_000)
    table = ForecastTable.from_predictions(rng.random(len(p)) < p, p)
    exact, widths = pr.decompose(table), []
    for cells in (2**6, 2**10, 2**14):
        bracket = calibration_bracket(table.grid(cells))
        assert bracket.discrimination_low <= exact.discrimination <= bracket.discrimination_high
        assert bracket.miscalibration_low <= bracket.miscalibration_high
        widths.append(bracket.miscalibration_high - bracket.miscalibration_low)
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] < 0.05 * widths[0]


def test_exact_forecasts_have_one_limit():
    table = ForecastTable.from_predictions([0, 1, 0, 1], [0.1, 0.2, 0.4, 0.8])
    bracket = calibration_bracket(table)
    parts = pr.decompose(table)
    assert bracket.miscalibration_low == bracket.miscalibration_high == parts.miscalibration
    assert bracket.discrimination_low == bracket.discrimination_high == parts.discrimination
    assert (bracket.cells, bracket.n, bracket.rule) == (None, 4, pr.Brier())


def test_cells_whose_means_lie_at_their_edges_are_parted_in_order():
    p = [0.25, 0.25, np.nextafter(0.25, 0), np.nextafter(0.25, 0)]
    table = ForecastTable.from_predictions([0, 1, 0, 1], p).grid(4)
    bracket = calibration_bracket(table)
    assert bracket.discrimination_low == 0.0
    assert bracket.discrimination_high == pytest.approx(0.25 - 1 / 8, rel=1e-12)  # Two of four cases stay pooled.


def test_forecasts_of_zero_and_one_cannot_be_parted():
    table = ForecastTable.from_predictions([0, 1, 0, 1], [0.0, 0.0, 1.0, 1.0]).grid(4)
    bracket = calibration_bracket(table)
    assert bracket.discrimination_low == bracket.discrimination_high == 0.0


def test_an_improper_rule_is_refused():
    table = ForecastTable.from_predictions([0, 1], [0.1, 0.4]).grid(4)
    with pytest.raises(ImproperRuleError):
        calibration_bracket(table, rule=pr.ShiftedBrier(0.2, weighted=False))
