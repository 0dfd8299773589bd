"""Summaries over sites, computed by hand."""

import math

import numpy as np
import pytest
from scipy.special import expit, logit

import propriety as pr
from propriety.errors import InputValueError
from propriety.inference.estimates import Estimate
from propriety.inference.measures.reading import read_measure
from propriety.inference.random_effects import random_effects
from propriety.products.sites.pooling import MetaAnalysis, _back, _clip, _on_scale, _summary


def estimate_with(value, error, measure):
    return Estimate(
        value=value,
        low=math.nan,
        high=math.nan,
        standard_error=error,
        level=0.95,
        method="",
        measure=measure,
        n=9,
        units=9,
    )


class TestSites:
    VALUES, ERRORS = [0.6, 0.7, 0.85, 0.75, 0.65], [0.03, 0.05, 0.02, 0.04, 0.06]

    def summary(self, measure, values=None, errors=None, level=0.9):
        values, errors = values or self.VALUES, errors or self.ERRORS
        found = [estimate_with(value, error, measure) for value, error in zip(values, errors, strict=True)]
        return _summary(measure, list("abcdef")[: len(found)], found, ("reml", "higgins"), level, None)

    def test_are_summarized_on_the_scale_of_the_measure(self):
        value, error = np.array(self.VALUES), np.array(self.ERRORS)
        ways = [
            (pr.measures.ObservedExpected(), "log", np.log(value), error / value, np.exp),
            (pr.measures.AreaUnderRoc(), "logit", logit(value), error / (value * (1.0 - value)), expit),
            (read_measure(pr.Brier()), "identity", value, error, lambda one: one),
        ]
        for measure, scale, inner, spread, back in ways:
            row, weight = self.summary(measure)
            expected = random_effects(inner, spread, method="reml", prediction="higgins", level=0.9)
            for name in ("mean", "low", "high", "prediction_low"):
                assert row[name] == pytest.approx(back(getattr(expected, name)))
            for name in ("tau", "i_squared", "q", "p_value"):
                assert row[name] == getattr(expected, name)
            assert (row["scale"], row["n_sites"], row["note"]) == (scale, 5, row["note"])
            assert row["standard_error"] == expected.standard_error
            np.testing.assert_array_equal(weight, expected.weight)

    def test_without_an_error_are_left_out_and_named(self):
        row, weight = self.summary(
            pr.measures.ObservedExpected(), [0.6, 0.0, 0.85, 0.75, 0.7], [0.03, 0.05, math.nan, 0.04, 0.0]
        )
        assert row["note"] == "3 sites left out: b, c, e; 2 sites hardly determine the variance between sites"
        assert (row["n_sites"], weight.tolist().count(0.0)) == (2, 3)
        assert weight.sum() == pytest.approx(1.0)
        alone, weight = self.summary(pr.measures.ObservedExpected(), [0.6, 0.0], [0.03, 0.05])
        assert alone["note"] == "1 site left out: b; fewer than two sites have a standard error"
        assert (alone["n_sites"], weight.tolist()) == (1, [0.0, 0.0])
        assert math.isnan(alone["mean"])
        assert math.isnan(alone["p_value"])
        assert "weight" not in alone

    def test_hardly_determine_a_variance_if_they_are_fewer_than_five(self):
        few = "4 sites hardly determine the variance between sites"
        values, errors = [0.4, 0.45, 0.5, 0.48], [0.02, 0.02, 0.03, 0.02]
        assert self.summary(read_measure(pr.Brier()), values, errors)[0]["note"] == few
        assert self.summary(read_measure(pr.Brier()), [*values, 0.46], [*errors, 0.02])[0]["note"] == ""

    def test_have_limits_in_the_range_of_the_measure(self):
        row, _ = self.summary(read_measure(pr.Brier()), [0.02, 0.3, 0.1, 0.9, 0.6], [0.01] * 5)
        assert row["note"] == "limits clipped to the range of the measure"
        assert (row["prediction_low"], row["prediction_high"]) == (0.0, 1.0)

    @pytest.mark.parametrize(
        ("numbers", "expected", "clipped"),
        [
            ((0.5, 0.2, 0.8, 0.0, 1.0), (0.2, 0.8, 0.0, 1.0), False),
            ((0.5, -0.1, 0.8, -0.2, 1.3), (0.0, 0.8, 0.0, 1.0), True),
            ((0.5, 0.1, 1.1, 0.0, 0.9), (0.1, 1.0, 0.0, 0.9), True),
            ((1.2, 0.9, 1.4, 0.8, 1.2), (0.9, 1.2, 0.8, 1.2), True),
            ((-0.2, -0.3, 0.1, -0.2, 0.2), (-0.2, 0.1, -0.2, 0.2), True),
            ((0.5, 0.2, 0.8, math.nan, math.nan), (0.2, 0.8, math.nan, math.nan), False),
        ],
    )
    def test_are_clipped_to_the_range_or_to_the_mean(self, numbers, expected, clipped):
        names = ("mean", "low", "high", "prediction_low", "prediction_high")
        found = dict(zip(names, numbers, strict=True))
        assert _clip(found, 0.0, 1.0) is clipped
        np.testing.assert_array_equal([found[name] for name in names[1:]], expected)

    def test_are_turned_back_without_overflow(self):
        assert _back(699.0, "log") == pytest.approx(math.exp(699.0))
        assert _back(700.0, "log") == math.inf
        assert _back(700.0, "identity") == 700.0
        assert _back(0.3, "logit") == pytest.approx(1.0 / (1.0 + math.exp(-0.3)))

    def test_outside_a_scale_are_not_finite(self):
        found = [estimate_with(one, 0.1, pr.measures.ObservedExpected()) for one in (0.0, 1.0)]
        value, error = _on_scale(found, "log")
        assert (value[0], error[0]) == (-math.inf, math.inf)
        assert (value[1], error[1]) == (0.0, 0.1)
        value, error = _on_scale(found, "logit")
        assert np.isinf(value).all()
        value, error = _on_scale(found, "identity")
        assert (value.tolist(), error.tolist()) == ([0.0, 1.0], [0.1, 0.1])

    def test_have_words(self):
        measures = (pr.measures.AreaUnderRoc(), read_measure(pr.Brier()))
        columns = {"model": ["m", "m"], "measure": ["auc", "brier"], "mean": [0.75, math.nan], "low": [0.7, math.nan]}
        columns |= {"high": [0.8, math.nan], "prediction_low": [0.6, math.nan], "prediction_high": [0.9, math.nan]}
        columns |= {"tau": [0.1, math.nan], "i_squared": [0.4567, math.nan], "q": [9.0, math.nan]}
        columns |= {
            "p_value": [0.031, math.nan],
            "n_sites": [6, 1],
            "scale": ["logit", "identity"],
            "pooled": [0.7, 0.1],
        }
        columns |= {"note": ["", "1 site left out: b"]}
        columns = {name: np.array(values) for name, values in columns.items()}
        facts = {"sites": None, "by": "site", "method": "reml", "level": 0.9, "measures": measures}
        found = MetaAnalysis(**columns, **facts)
        assert str(found) == (
            "Area under the ROC curve: 0.750 on average over 6 sites (90% CI 0.700 to 0.800); in a new site 0.600 to "
            "0.900 (90% prediction interval). 46% of the variance is between sites (test: p = 0.031).\n"
            "Brier score: no mean over sites. Note: 1 site left out: b."
        )
        columns["model"] = np.array(["m", "other"])
        columns["prediction_low"] = np.full(2, math.nan)
        first, second = str(MetaAnalysis(**columns, **facts)).splitlines()
        assert first == (
            "Area under the ROC curve of m: 0.750 on average over 6 sites (90% CI 0.700 to 0.800). 46% of the variance "
            "is between sites (test: p = 0.031)."
        )
        assert second.startswith("Brier score of other: no mean")
        several = MetaAnalysis(**columns, **facts)
        assert several.row("brier", "other") == 1
        assert several.row(model="m") == 0
        assert several.row(pr.measures.AreaUnderRoc(), "m") == 0
        for measure, model in ((None, None), ("auc", "other"), ("x", "m"), ("auc", ["m"])):
            with pytest.raises(InputValueError, match="must be one of"):
                several.row(measure, model)

    def test_have_rows_of_their_own(self):
        site = np.arange(90) % 3
        p, y = np.linspace(0.1, 0.9, 90), np.arange(90) % 4 < 2
        ledger = pr.condense(y, {"m": p, "half": 0.5 * p}, by={"site": site, "day": np.arange(90) % 2})
        found = pr.meta_analysis(ledger, measures=[pr.Brier(), pr.measures.ObservedExpected()])
        assert found.model.tolist() == ["m", "m", "half", "half"]
        assert found.measure.tolist() == ["brier", "observed_expected"] * 2
        rows = found.of_row(3)
        assert rows["site"].tolist() == ["0", "1", "2"]
        for place in range(3):
            alone = pr.estimate(y[site == place], 0.5 * p[site == place], pr.measures.ObservedExpected())
            own = [rows[name][place] for name in ("n", "value", "low", "high", "standard_error", "note")]
            assert own == [30, alone.value, alone.low, alone.high, alone.standard_error, alone.note]
            assert rows["events"][place] == y[site == place].sum()
        assert found.pooled[3] == pytest.approx(y.sum() / (0.5 * p.sum()))
        assert (found.by, found.method, found.level, found.n_sites.tolist()) == ("site", "paule-mandel", 0.95, [3] * 4)
        assert repr(found) == (
            "MetaAnalysis(by=site, measures=['brier', 'observed_expected'], method=paule-mandel, level=0.95)"
        )
