"""Tables of groups: their names, columns and differences, computed by hand."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats
from sliced import Sliced, slices

import propriety as pr
from propriety.inference.finding import Finding, Findings
from propriety.inference.group_rows import group_texts, texts_of_labels
from propriety.inference.measures.reading import read_measure
from propriety.inference.slices import slices_of


class TestGroupsOfSeveralKeys:
    N = 240
    P = np.linspace(0.05, 0.95, N)
    Q = np.clip(P[::-1] * 0.6 + 0.2, 0.0, 1.0)
    Y = (np.arange(N) * 7) % 10 < 10 * P
    SITE = np.array(["a", "b", "c"])[np.arange(N) % 3]
    DAY = np.arange(N) // 120

    def test_are_in_one_table_by_model_with_one_adjustment(self):
        ledger = pr.condense(self.Y, {"p": self.P, "q": self.Q}, by={"site": self.SITE, "day": self.DAY})
        parts = [slices(ledger, by=name) for name in ("site", "day")]
        found = Sliced(slices_of(ledger, read_measure(pr.Brier()), by=[("site",), ("day",)], drawing=None))
        assert found.group.tolist() == ["site: a", "site: b", "site: c", "day: 0", "day: 1"] * 2
        assert found.model.tolist() == ["p"] * 5 + ["q"] * 5
        assert found.by == ("site", "day")
        assert (found.overall, found.measure) == (parts[0].overall, parts[0].measure)
        for name in ("n", "events", "value", "low", "excess", "difference", "p_value", "note"):
            one, other = (getattr(part, name) for part in parts)
            np.testing.assert_array_equal(
                getattr(found, name), np.concatenate([one[:3], other[:2], one[3:], other[2:]]), err_msg=name
            )
        joint = found.found.where(statistic="heterogeneity")
        for model, key in itertools.product("pq", ("site", "day")):
            (row,) = joint.where(model=model, keys={"groups": key})
            own = (found.model == model) & np.char.startswith(found.group, key)
            np.testing.assert_allclose(found.p_adjusted[own].min(), min(4.0 * row.p, 1.0))  # Of four joint tests.
        assert not hasattr(found, "net_benefit")

    def test_have_numbers_of_their_own(self):
        found = slices(self.Y, {"p": self.P, "q": self.Q}, by=self.SITE, thresholds=0.3, level=0.9, smallest=80)
        assert found.model.tolist() == ["p"] * 3 + ["q"] * 3
        assert found.group.tolist() == ["a", "b", "c"] * 2
        for row, (model, site) in enumerate(itertools.product("pq", "abc")):
            own = site == self.SITE
            y, p = self.Y[own], (self.P if model == "p" else self.Q)[own]
            acted = p >= 0.3
            events, others = (acted & y).sum(), (acted & ~y).sum()
            odds = 0.3 / 0.7
            assert (found.n[row], found.events[row]) == (80, y.sum())
            assert found.event_rate[row] == pytest.approx(y.mean())
            assert found.value[row] == pytest.approx(np.mean((p - y) ** 2))
            assert found.excess[row] == pytest.approx(y.mean() - p.mean())
            assert found.net_benefit[row] == pytest.approx((events - odds * others) / 80)
            alone = pr.estimate(y, p, pr.measures.NetBenefit(0.3), level=0.9)
            limits = (found.net_benefit_low[row], found.net_benefit_high[row])
            assert limits == pytest.approx((alone.low, alone.high))
            half = stats.t.ppf(0.95, 79) * (y - p).std(ddof=1) / math.sqrt(80)
            assert found.excess_low[row] <= found.excess[row] - half + 1e-12
            assert found.excess_high[row] >= found.excess[row] + half - 1e-12
            rest, q = self.Y[~own], (self.P if model == "p" else self.Q)[~own]
            one, other = (p - y) ** 2, (q - rest) ** 2
            assert found.difference[row] == pytest.approx(one.mean() - other.mean())
            assert found.p_value[row] >= stats.ttest_ind(one, other, equal_var=False).pvalue - 1e-12
        assert found.overall == pytest.approx(
            {"p": np.mean((self.P - self.Y) ** 2), "q": np.mean((self.Q - self.Y) ** 2)}
        )
        assert (found.by, set(found.units), found.dropped) == (("group",), {None}, 0)
        assert set(found.found.level) == {0.9}
        small = slices(self.Y, self.P, by=self.SITE, thresholds=0.3, smallest=81)
        assert small.note.tolist() == ["too few to test: 80 cases"] * 3
        for name in ("low", "high", "excess_low", "net_benefit_high", "p_value"):
            assert np.isnan(getattr(small, name)).all()
        assert np.isfinite(small.net_benefit).all()

    def test_may_be_tested_or_too_small(self):
        by = np.where(np.arange(self.N) < 20, "tiny", self.SITE)
        y, p = self.Y.copy(), self.P.copy()
        y[120], p[120] = True, 0.0
        found = slices(y, p, pr.Log(), by=by)
        own = by[120]
        assert found.group.tolist() == ["a", "b", "c", "tiny"]
        assert found.is_too_small.tolist() == [False, False, False, True]
        assert found.note.tolist()[found.group.tolist().index(own)] == "the value is infinite"
        assert not found.is_tested[found.group.tolist().index(own)]
        assert slices(self.Y, self.P, by=self.SITE).is_tested.all()

    def test_have_labels_in_words(self):
        assert texts_of_labels([1, "1", 2, 1]) == ["1", "'1'", "2", "1"]
        assert texts_of_labels(["a", "b", "a"]) == ["a", "b", "a"]
        rows = [
            Finding(measure=read_measure("brier"), model="m", keys={"k": k, "l": other})
            for k, other in ((1, "x"), (1, "y"), ("1", "x"))
        ]
        assert group_texts(Findings.of(rows)) == ["1, x", "1, y", "'1', x"]


def test_labels_that_cannot_be_read_are_written_in_code():
    assert texts_of_labels(["a", "", " ", "x\ny", 1]) == ["a", "''", "' '", "'x\\ny'", "1"]
