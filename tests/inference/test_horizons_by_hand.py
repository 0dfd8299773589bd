"""Measures over horizons and sums of censored cases, computed by hand."""

import math

import numpy as np
import pytest
from scipy import stats

import propriety as pr
from propriety.errors import InputValueError


class TestHorizons:
    N, HORIZONS = 40, (10.0, 20.0, 35.0)
    TIME, EVENT = np.arange(1.0, 41.0), np.arange(40) % 3 == 0
    P = np.column_stack([np.linspace(0.05, 0.4, 40), np.linspace(0.1, 0.6, 40), np.linspace(0.9, 0.2, 40)])

    def test_are_averaged_by_the_trapezoidal_rule(self):
        outcomes = pr.censored(self.TIME, self.EVENT, horizons=self.HORIZONS)
        curve = pr.horizon_curve(outcomes, {"a": self.P, "b": 0.5 * self.P}, level=0.9)
        share = np.array([5.0, 12.5, 7.5]) / 25.0
        for place, model in enumerate("ab"):
            own = curve.integrated[model]
            assert own.value == pytest.approx(share @ curve.value[3 * place : 3 * place + 3])
            half = stats.t.ppf(0.95, 39) * own.standard_error
            assert own.low <= own.value - half + 1e-12
            assert own.high >= own.value + half - 1e-12
            assert (own.level, own.n, own.units) == (0.9, 40, 40)
            assert own.method == "trapezoidal rule over the horizons, influence function"
        assert curve.model.tolist() == ["a"] * 3 + ["b"] * 3
        assert curve.horizon.tolist() == [*self.HORIZONS] * 2
        for name in ("events", "censored", "event_free"):
            assert getattr(curve, name).tolist() == [*getattr(outcomes, name).tolist()] * 2
        for place, horizon in enumerate(self.HORIZONS):
            alone = pr.estimate(outcomes.at(horizon), 0.5 * self.P[:, place], level=0.9)
            found = [getattr(curve, name)[3 + place] for name in ("value", "low", "high", "standard_error")]
            assert found == [alone.value, alone.low, alone.high, alone.standard_error]
        assert (curve.level, curve.n, curve.measure.key, curve.models) == (0.9, 40, "brier", ("a", "b"))

    def test_of_an_area_have_limits_from_those_at_the_horizons(self):
        event = self.EVENT | (self.TIME > 12)  # Nobody is censored between the horizons.
        outcomes = pr.censored(np.where(event, self.TIME, 50.0), np.ones(40), horizons=(10.0, 35.0))
        mixed = self.P[np.arange(40) * 7 % 40]
        curve = pr.horizon_curve(outcomes, mixed[:, :2], pr.measures.AreaUnderRoc())
        own = curve.integrated["forecast"]
        parts = []
        for place, horizon in enumerate(outcomes.horizon):
            happened = event & (horizon >= self.TIME)
            p, q = mixed[happened, place], mixed[~happened, place]
            wins = (p[:, None] > q) + 0.5 * (p[:, None] == q)
            part = np.empty(40)
            part[happened] = (wins.mean(axis=1) - wins.mean()) / happened.mean()
            part[~happened] = (wins.mean(axis=0) - wins.mean()) / (~happened).mean()
            parts.append(part)
        r = np.corrcoef(parts)[0, 1]

        def combined(of):
            first, second = of / 2.0
            return math.sqrt(first**2 + second**2 + 2.0 * r * first * second)

        assert own.low == pytest.approx(own.value - combined(curve.value - curve.low))
        assert own.high == pytest.approx(own.value + combined(curve.high - curve.value))
        assert own.standard_error == pytest.approx(combined(curve.standard_error))

    def test_without_limits_have_none_on_average(self):
        outcomes = pr.censored(self.TIME, self.EVENT, horizons=self.HORIZONS)
        mixed = self.P[np.arange(40) * 7 % 40]
        equal = np.column_stack([mixed[:, :2], np.full(40, 0.3)])
        without = pr.horizon_curve(outcomes, equal, pr.measures.AreaUnderRoc()).integrated["forecast"]
        assert np.isnan([without.low, without.high]).all()
        assert "all forecasts are equal, so there is no interval" in without.note

    def test_without_censoring_have_the_error_of_a_mean(self):
        outcomes = pr.censored(np.full(40, 50.0) - 45.0 * self.EVENT, self.EVENT, horizons=(10.0, 30.0))
        own = pr.horizon_curve(outcomes, self.P[:, :2]).integrated["forecast"]
        losses = ((self.EVENT[:, None] - self.P[:, :2]) ** 2).mean(axis=1)
        assert own.value == pytest.approx(losses.mean())
        assert own.standard_error == pytest.approx(losses.std(ddof=1) / math.sqrt(40))

    def test_repeat_the_notes_of_all_horizons_once(self):
        outcomes = pr.censored(self.TIME, self.EVENT, horizons=self.HORIZONS)
        own = pr.horizon_curve(outcomes, self.P).integrated["forecast"]
        notes = [pr.estimate(outcomes.at(one), self.P[:, at]).note for at, one in enumerate(self.HORIZONS)]
        assert own.note == "; ".join(dict.fromkeys(note for note in notes if note))
        assert own.note

    def test_need_one_column_each(self):
        outcomes = pr.censored(self.TIME, self.EVENT, horizons=self.HORIZONS)
        with pytest.raises(InputValueError, match=r"forecasts\['a'\] must have .*got shape \(40, 2\), not \(40, 3\)"):
            pr.horizon_curve(outcomes, {"a": self.P[:, :2]})
