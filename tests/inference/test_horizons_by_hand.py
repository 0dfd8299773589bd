"""Measures over horizons and sums of censored cases, computed by hand."""

import math

import numpy as np
import pytest
from scipy import stats

import propriety as pr
from propriety.errors import InputValueError
from propriety.inference.finding_words import note_words


def mean_of(found):
    return found.where(statistic="mean over horizons")[0]


class TestHorizons:
    N, HORIZONS = 40, (10.0, 20.0, 35.0)
    TIME, EVENT = np.arange(1.0, 41.0), np.arange(40) % 3 == 0
    P = np.column_stack([np.linspace(0.05, 0.4, 40), np.linspace(0.1, 0.6, 40), np.linspace(0.9, 0.2, 40)])

    def test_are_averaged_by_the_trapezoidal_rule(self):
        outcomes = pr.censored(self.TIME, self.EVENT, horizons=self.HORIZONS)
        curve = pr.horizon_curve(outcomes, {"a": self.P, "b": 0.5 * self.P}, level=0.9)
        share = np.array([5.0, 12.5, 7.5]) / 25.0
        for model in "ab":
            own, at = mean_of(curve.where(model=model)), curve.where(model=model, statistic="value")
            assert own.value == pytest.approx(share @ at.value)
            half = stats.t.ppf(0.95, 39) * own.error
            assert own.low <= own.value - half + 1e-12
            assert own.high >= own.value + half - 1e-12
            assert (own.level, own.n, own.units) == (0.9, 40, None)
            assert own.method == "trapezoidal rule over the horizons, influence function"
            assert at.keys["horizon"].tolist() == [*self.HORIZONS]
            columns = at.columns()
            for name in ("events", "censored", "event_free"):
                assert columns[name].tolist() == getattr(outcomes, name).tolist()
        for place, horizon in enumerate(self.HORIZONS):
            alone = pr.estimate(outcomes.at(horizon), 0.5 * self.P[:, place], level=0.9)
            found = [getattr(at[place], name) for name in ("value", "low", "high", "error")]
            assert found == [alone.value, alone.low, alone.high, alone.error]
        assert (set(curve.level), set(curve.n), curve.measure[0].key) == ({0.9}, {34, 28, 18, 40}, "brier")

    def test_of_an_area_have_limits_from_those_at_the_horizons(self):
        event = self.EVENT | (self.TIME > 12)  # Nobody is censored between the horizons.
        outcomes = pr.censored(np.where(event, self.TIME, 50.0), np.ones(40), horizons=(10.0, 35.0))
        mixed = self.P[np.arange(40) * 7 % 40]
        curve = pr.horizon_curve(outcomes, mixed[:, :2], pr.measures.AreaUnderRoc())
        own, curve = mean_of(curve), curve.where(statistic="value")
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
        assert own.error == pytest.approx(combined(curve.error))

    def test_without_limits_have_none_on_average(self):
        outcomes = pr.censored(self.TIME, self.EVENT, horizons=self.HORIZONS)
        mixed = self.P[np.arange(40) * 7 % 40]
        equal = np.column_stack([mixed[:, :2], np.full(40, 0.3)])
        without = mean_of(pr.horizon_curve(outcomes, equal, pr.measures.AreaUnderRoc()))
        assert np.isnan([without.low, without.high]).all()
        assert "all forecasts are equal, so there is no interval" in "; ".join(map(note_words, without.notes))

    def test_without_censoring_have_the_error_of_a_mean(self):
        outcomes = pr.censored(np.full(40, 50.0) - 45.0 * self.EVENT, self.EVENT, horizons=(10.0, 30.0))
        own = mean_of(pr.horizon_curve(outcomes, self.P[:, :2]))
        losses = ((self.EVENT[:, None] - self.P[:, :2]) ** 2).mean(axis=1)
        assert own.value == pytest.approx(losses.mean())
        assert own.error == pytest.approx(losses.std(ddof=1) / math.sqrt(40))

    def test_repeat_a_note_of_each_kind(self):
        outcomes = pr.censored(self.TIME, self.EVENT, horizons=self.HORIZONS)
        own = mean_of(pr.horizon_curve(outcomes, self.P))
        notes = [pr.estimate(outcomes.at(one), self.P[:, at]).notes for at, one in enumerate(self.HORIZONS)]
        first = {note.code: note for several in reversed(notes) for note in reversed(several)}
        assert {note.code: note for note in own.notes} == first
        assert len(own.notes) == len(first)
        assert own.notes

    def test_need_one_column_each(self):
        outcomes = pr.censored(self.TIME, self.EVENT, horizons=self.HORIZONS)
        with pytest.raises(InputValueError, match=r"forecasts\['a'\] must have .*got shape \(40, 2\), not \(40, 3\)"):
            pr.horizon_curve(outcomes, {"a": self.P[:, :2]})
