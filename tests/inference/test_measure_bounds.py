"""Bounds of measures of private ledgers, against all cases that may be behind them."""

import itertools

import numpy as np
import pytest
from scipy.special import expit

import propriety as pr
from propriety.errors import InputTypeError
from propriety.inference.measures.of_means import MeanScore
from propriety.tables.forecast_table import ForecastTable

MEASURES = [
    MeanScore(pr.Brier()),
    MeanScore(pr.Log()),
    pr.measures.NetBenefit(0.3),
    pr.measures.NetBenefit((0.1, 0.4)),
    pr.measures.Regret(0.3),
    pr.measures.ObservedExpected(),
    pr.measures.PredictedActual(),
    pr.measures.CalibrationIntercept(),
    pr.measures.AreaUnderRoc(),
]
IDS = [one.key for one in MEASURES]


def possible_values(private, measure):
    """Yield the values for all counts within their limits, with forecasts at the ends of their cells."""
    low, high = (limit[0].sum(axis=0) for limit in private.limits())
    cells = private.cells
    ends = [(0.0, 0.0), *((j / cells, np.nextafter((j + 1) / cells, 0)) for j in range(cells)), (1.0, 1.0)]
    places = [(cell, outcome) for cell in range(cells + 2) for outcome in (0, 1) if high[cell, outcome]]
    ranges = [range(low[place], high[place] + 1) for place in places]
    for numbers in itertools.product(*ranges):
        for side in itertools.product((0, 1), repeat=len(places)):
            rows = [(ends[cell][end], outcome) for (cell, outcome), end in zip(places, side, strict=True)]
            p = np.repeat([row[0] for row in rows], numbers)
            y = np.repeat([row[1] for row in rows], numbers)
            if 0 < y.sum() < len(y):
                yield measure.value(ForecastTable.from_predictions(y, p))


@pytest.mark.parametrize("measure", MEASURES, ids=IDS)
def test_bounds_are_the_extremes_of_all_possible_cases(measure):
    y = [0] * 5 + [1] * 2 + [0] * 2 + [1] * 4
    p = [0.3] * 5 + [0.45] * 2 + [0.6] * 2 + [0.7] * 4
    private = pr.coarsen(pr.condense(y, p), cells=4, smallest=4)
    bounds = pr.measure_bounds(private, measure)
    values = list(possible_values(private, measure))
    assert bounds.low == pytest.approx(min(values), rel=1e-6, abs=1e-9)
    assert bounds.high == pytest.approx(max(values), rel=1e-6)
    assert bounds.extra["suppressed"] == 2


@pytest.mark.parametrize("options", [{"smallest": 1}, {"smallest": 6}], ids=str)
def test_the_truth_is_within_its_bounds(options):
    missed = np.zeros(len(MEASURES))
    for draw in range(12):
        rng = np.random.default_rng(draw)
        x = rng.normal(size=400)
        p, site = expit(x - 1), np.arange(400) % 2
        y = rng.random(400) < p
        ledger = pr.condense(y, p, by={"site": site})
        private = pr.coarsen(ledger, cells=16, **options)
        for place, measure in enumerate(MEASURES):
            truth, bounds = measure.value(ledger.table()), pr.measure_bounds(private, measure)
            missed[place] += not bounds.low - 1e-9 <= truth <= bounds.high + 1e-9
    assert missed.max() == 0


def test_sites_with_different_minima_are_bounded_together():
    rng = np.random.default_rng(3)
    p, site = expit(rng.normal(size=3000) - 1), np.arange(3000) % 2
    y = rng.random(3000) < p
    ledger = pr.condense(y, p, by={"site": site})
    both = pr.coarsen(ledger.where(site=0), smallest=5) + pr.coarsen(ledger.where(site=1), smallest=1)
    for measure in MEASURES:
        bounds = pr.measure_bounds(both, measure)
        assert bounds.low <= measure.value(ledger.table()) <= bounds.high
    bounds = pr.measure_bounds(both)
    assert bounds.high - bounds.low < 0.06


def test_finer_cells_without_suppression_give_narrower_bounds():
    rng = np.random.default_rng(3)
    p = expit(rng.normal(size=500) - 1)
    ledger = pr.condense(rng.random(500) < p, p)
    for measure in MEASURES:
        found = [pr.measure_bounds(pr.coarsen(ledger, cells=cells, smallest=1), measure) for cells in (8, 32, 128)]
        assert all(one.low <= two.low + 1e-12 for one, two in itertools.pairwise(found))
        assert all(one.high >= two.high - 1e-12 for one, two in itertools.pairwise(found))


def test_measures_without_bounds_are_refused():
    private = pr.coarsen(pr.condense([0, 1, 0, 1], [0.1, 0.8, 0.3, 0.6]), smallest=1)
    for measure in (pr.measures.CalibrationSlope(), lambda table: table.event_rate):
        with pytest.raises(InputTypeError, match="must be a proper rule"):
            pr.measure_bounds(private, measure)
    with pytest.raises(InputTypeError, match="PrivateLedger"):
        pr.measure_bounds(pr.condense([0, 1], [0.2, 0.7]))


def test_measures_without_finite_bounds_have_words():
    private = pr.coarsen(pr.condense([1, 1, 1], [0.1, 0.1, 0.1]), cells=4, smallest=1)
    assert "to infinite)" in str(pr.measure_bounds(private, pr.measures.ObservedExpected()))


def test_a_score_that_is_certainly_infinite_is_said_to_be():
    private = pr.coarsen(pr.condense([1, 0, 1], [0.0, 0.5, 0.5]), cells=2, smallest=1)
    assert str(pr.measure_bounds(private, pr.Log())) == "forecast: log score (bound): infinite (infinite to infinite)"
