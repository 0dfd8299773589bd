"""Tables merged, made coarser, stored and selected in any order hold what sums in exact fractions say."""

import json
import tempfile
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, multiple, rule

import propriety as pr
from propriety.errors import InputValueError
from propriety.tables.forecast_table import ForecastTable

CELLS = [1, 2, 8, 64]
# Multiples of an eighth of moderate size: sums of them and of their squares are exact in floats.
weights = st.integers(0, 40).map(lambda eighths: eighths / 8)
forecasts = st.one_of(st.sampled_from([0.0, 0.125, 0.5, 1.0, 1 - 2**-53, 5e-324]), st.floats(0, 1))
cases = st.lists(st.tuples(st.booleans(), forecasts, weights), min_size=1, max_size=6).filter(
    lambda drawn: any(weight for _, _, weight in drawn)
)


class Model:
    """A table in fractions: for each forecast or cell, the weighted sum of the forecasts, and of either outcome.

    `rows` maps a forecast, or the number of a cell (-1 for forecasts of 0), to three sums: of the weighted forecasts,
    and of the weights of events and of non-events. `squares` are those of events and of non-events.
    """

    def __init__(self, rows, n, squares, dropped=0, cells=None):
        self.rows, self.n, self.squares, self.dropped, self.cells = rows, n, squares, dropped, cells

    @classmethod
    def of(cls, drawn, dropped=0):
        heavy = [(event, Fraction(p), Fraction(weight)) for event, p, weight in drawn if weight]
        parts = [(p, (p * weight, weight * event, weight * (not event))) for event, p, weight in heavy]
        counts = (len(heavy), sum(event for event, _, _ in heavy))
        squares = [sum(w**2 for event, _, w in heavy if event == which) for which in (True, False)]
        return cls(summed(parts), counts, squares, dropped)

    def __add__(self, other):
        n, squares = (
            tuple(map(sum, zip(*both, strict=True))) for both in ((self.n, other.n), (self.squares, other.squares))
        )
        rows = summed([*self.rows.items(), *other.rows.items()])
        return Model(rows, n, squares, self.dropped + other.dropped, self.cells)

    def means(self):
        """Return the mean forecast of each row."""
        return {key: mass / (events + others) for key, (mass, events, others) in self.rows.items()}

    def grid(self, cells):
        cell = {key: -1 if p == 0 else int(p * cells) for key, p in self.means().items()}
        rows = summed((cell[key], sums) for key, sums in self.rows.items())
        return Model(rows, self.n, self.squares, self.dropped, cells)


def summed(parts):
    """Add up triples by key."""
    rows = {}
    for key, sums in parts:
        rows[key] = tuple(map(sum, zip(rows.get(key, (0, 0, 0)), sums, strict=True)))
    return rows


def same(table, model):
    means = model.means()
    held = [(means[key], events, others) for key, (_, events, others) in sorted(model.rows.items())]
    if model.cells is None:
        assert [Fraction(p) for p in table.forecast] == [p for p, _, _ in held]
    else:
        # A mean of forecasts, even of the smallest floats, is off by no more than the roundings of its sum.
        np.testing.assert_allclose(table.forecast, [float(p) for p, _, _ in held], rtol=1e-13, atol=1e-322)
        assert np.floor(table.forecast * model.cells).tolist() == [max(key, 0) for key in sorted(model.rows)]
    assert [Fraction(weight) for weight in table.events] == [events for _, events, _ in held]
    assert [Fraction(weight) for weight in table.non_events] == [others for _, _, others in held]
    assert (table.n, table.n_events, table.dropped, table.cells) == (*model.n, model.dropped, model.cells)
    assert [Fraction(s.sum()) for s in (table.event_squares, table.non_event_squares)] == list(model.squares)
    assert Fraction(table.weight) == sum(events + others for _, events, others in held)


class Tables(RuleBasedStateMachine):
    tables = Bundle("tables")

    @initialize(target=tables, drawn=cases)
    def begin(self, drawn):
        return self.make(drawn)

    @rule(target=tables, drawn=cases)
    def from_predictions(self, drawn):
        return self.make(drawn)

    def make(self, drawn):
        y, p, w = zip(*drawn, strict=True)
        return ForecastTable.from_predictions(y, p, sample_weight=w), Model.of(drawn)

    @rule(target=tables, drawn=cases, missing=st.integers(1, 3))
    def from_predictions_with_gaps(self, drawn, missing):
        y, p, w = zip(*drawn, *[(True, None, 1.0)] * missing, strict=True)
        return ForecastTable.from_predictions(y, p, sample_weight=w, missing="drop"), Model.of(drawn, missing)

    @rule(target=tables, drawn=cases, keys=st.lists(st.sampled_from("ab"), min_size=6, max_size=6), lazy=st.booleans())
    def select_groups(self, drawn, keys, lazy):
        """The groups of a frame, each of which must hold a case, come as tables of their own."""
        groups = {key: [case for case, own in zip(drawn, keys, strict=False) if own == key] for key in "ab"}
        groups = {key: own for key, own in groups.items() if any(weight for _, _, weight in own)}
        rows = [(*case, key) for key, own in groups.items() for case in own]
        frame = pl.DataFrame(rows, schema=["y", "p", "w", "key"], orient="row")
        columns = {"outcome": "y", "forecast": "p", "weight": "w", "by": "key"}
        found = ForecastTable.from_frame(frame.lazy() if lazy else frame, **columns)
        assert list(found) == sorted(groups)
        return multiple(*((found[key], Model.of(own)) for key, own in groups.items()))

    @rule(target=tables, one=tables, other=tables)
    def add(self, one, other):
        if one[1].cells != other[1].cells:
            with pytest.raises(InputValueError, match="on the same grid"):
                one[0] + other[0]
            return multiple()
        return one[0] + other[0], one[1] + other[1]

    @rule(target=tables, held=st.lists(consumes(tables), min_size=1, max_size=4))
    def merge(self, held):
        alike = [pair for pair in held if pair[1].cells == held[0][1].cells]
        model = alike[0][1]
        for _, other in alike[1:]:
            model = model + other
        return ForecastTable.merge(table for table, _ in alike), model

    @rule(target=tables, one=tables, cells=st.sampled_from(CELLS))
    def grid(self, one, cells):
        table, model = one
        if model.cells is not None and cells > model.cells:
            with pytest.raises(InputValueError, match="only be made coarser"):
                table.grid(cells)
            return multiple()
        return table.grid(cells), model.grid(cells)

    @rule(target=tables, one=consumes(tables))
    def store_as_dict(self, one):
        return ForecastTable.from_dict(json.loads(json.dumps(one[0].to_dict()))), one[1]

    @rule(target=tables, one=consumes(tables))
    def store_as_parquet(self, one):
        with tempfile.TemporaryDirectory() as folder:
            one[0].to_parquet(Path(folder) / "table.parquet")
            return ForecastTable.from_parquet(Path(folder) / "table.parquet"), one[1]

    @rule(one=tables)
    def compare(self, one):
        same(*one)

    @rule(one=tables)
    def score(self, one):
        table, model = one
        means = model.means()
        total = sum(events + others for _, events, others in model.rows.values())
        loss = sum(
            (1 - means[key]) ** 2 * events + means[key] ** 2 * others for key, (_, events, others) in model.rows.items()
        )
        assert pr.brier_score(table) == pytest.approx(float(loss / total), rel=1e-12, abs=1e-300)

    @rule(one=tables, other=tables)
    def order_does_not_matter(self, one, other):
        if one[1].cells == other[1].cells:
            there, back = one[0] + other[0], other[0] + one[0]
            for name in ("forecast", "events", "non_events"):
                np.testing.assert_array_equal(getattr(there, name), getattr(back, name))

    def teardown(self):
        """Look at every table once more: none may have changed since."""
        for value in self.names_to_values.values():
            same(*value)


TestTables = Tables.TestCase
TestTables.settings = settings(max_examples=30, stateful_step_count=15)
