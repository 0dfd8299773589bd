"""Differences between models and their tests, computed case by case."""

from dataclasses import dataclass

import numpy as np
import pytest
from paired_sample import (
    AUC,
    BRIER,
    DRAWING,
    MODELS,
    RATIO,
    UNIT,
    WEIGHT,
    N,
    P,
    Q,
    Y,
    assert_students,
    brier_series,
    mean_error,
)
from scipy import stats

import propriety as pr
from propriety.errors import InputValueError
from propriety.inference.bootstrap import draw_from_cases, in_canonical_order, values_of_draws
from propriety.inference.dependence import block_bootstrap
from propriety.inference.influence import (
    case_influence,
    errors_of_cases,
)
from propriety.inference.mean_estimates import (
    errors_of_means,
    measured_moments,
    parts_in_time,
)
from propriety.inference.measures.of_means import MeanScore
from propriety.inference.notes import Note
from propriety.inference.paired_tests import (
    paired_by_bootstrap,
    paired_by_influence,
    paired_by_moments,
    paired_by_value,
)
from propriety.ledger.sources import at_prevalence


def test_mean_scores_are_compared_by_a_paired_t_test():
    paired = paired_by_moments(pr.condense(Y, MODELS), MeanScore(), "", None, 0.9, DRAWING, imagine=False)
    assert_students(paired, [x.mean() for x in brier_series()], [mean_error(x) for x in brier_series()], N - 1)
    assert paired.found.p_value[2] == pytest.approx(stats.ttest_rel(*BRIER).pvalue)
    assert (paired.units, paired.untested, paired.inflation, paired.fewest) == (N, None, 1.0, 50)


@pytest.mark.parametrize("kind", ["cluster", "period"])
def test_mean_scores_of_correlated_cases_are_compared_with_their_errors(kind):
    ledger = pr.condense(Y, MODELS, **{kind: UNIT})
    errors = errors_of_means(measured_moments(ledger, MeanScore()), 2 if kind == "period" else None)
    paired = paired_by_moments(ledger, MeanScore(), "", 2 if kind == "period" else None, 0.9, DRAWING, imagine=False)
    models = [pr.estimate(ledger, model, level=0.9, method="student") for model in "pq"]
    assert_students(paired, [x.mean() for x in brier_series()], errors.standard_error, errors.df, models=models)
    assert (paired.units, paired.fewest) == (30, 50)
    assert paired.inflation == pytest.approx(errors.inflation[2])


@pytest.mark.parametrize("measure", [AUC, RATIO], ids=["auc", "ratio"])
@pytest.mark.parametrize(
    "options", [{}, {"sample_weight": WEIGHT}, {"cluster": UNIT}], ids=["plain", "weights", "units"]
)
def test_smooth_measures_are_compared_by_influence(measure, options):
    ledger = pr.condense(Y, MODELS, **options)
    tables = [ledger.table(model) for model in "pq"]
    values = [measure.value(table) for table in tables]
    parts = [case_influence(ledger.cases, m, t, measure.influence(t)) for m, t in zip("pq", tables, strict=True)]
    errors = errors_of_cases(ledger.cases, np.stack([*parts, parts[0] - parts[1]]), by_outcome=measure is AUC)
    paired = paired_by_influence(ledger, measure, 0.9, imagine=False)
    models = [pr.estimate(ledger, model, measure, level=0.9, method="student") for model in "pq"]
    assert_students(paired, [*values, values[0] - values[1]], *errors, models=models)
    assert (paired.untested, paired.units) == (None, 30 if "cluster" in options else N)
    assert paired.fewest == (10 if measure is AUC and "cluster" not in options else 50)


def test_outcomes_that_are_all_the_same_are_not_tested():
    paired = paired_by_moments(
        pr.condense(np.ones(9), {"a": P[:9], "b": Q[:9]}), MeanScore(), "", None, 0.9, DRAWING, imagine=False
    )
    assert paired.untested.code == "one-outcome"
    assert np.isnan(paired.found.standard_error).all()
    assert np.isnan(paired.found.p_value).all()
    assert paired.values[2] == pytest.approx(np.mean((1 - P[:9]) ** 2 - (1 - Q[:9]) ** 2))
    same = paired_by_moments(
        pr.condense(np.ones(9), {"a": P[:9], "b": P[:9]}), MeanScore(), "", None, 0.9, DRAWING, imagine=False
    )
    assert same.found.standard_error[2] == 0.0
    single = paired_by_moments(
        pr.condense([1], {"a": [0.4], "b": [0.5]}), MeanScore(), "", None, 0.9, DRAWING, imagine=False
    )
    assert single.untested is None
    assert single.units == 1


def test_a_single_event_has_no_spread_of_its_own():
    y = np.arange(20) == 3
    paired = paired_by_influence(pr.condense(y, {"a": P[:20], "b": Q[:20]}), AUC, 0.9, imagine=False)
    assert paired.untested == Note("no-limits")
    assert paired.units == 20
    assert np.isfinite(paired.values).all()


def test_the_block_bootstrap_is_that_of_the_parts_in_time():
    ledger = pr.condense(Y, MODELS, period=UNIT)
    paired = paired_by_moments(ledger, MeanScore(), "block bootstrap", None, 0.9, DRAWING, imagine=False)
    moments = ledger.moments(pr.Brier())
    drawn = block_bootstrap(moments.means, parts_in_time(moments), level=0.9, n_resamples=60, seed=3)
    for name in ("standard_error", "low", "high", "p_value"):
        np.testing.assert_allclose(getattr(paired.found, name)[2:], getattr(drawn, name)[2:], err_msg=name)


@pytest.mark.parametrize("options", [{}, {"cluster": UNIT}], ids=["plain", "units"])
def test_drawn_differences_have_their_quantiles(options):
    ledger = pr.condense(Y, MODELS, **options)
    paired = paired_by_bootstrap(ledger, RATIO, 0.9, DRAWING)
    tables = tuple(ledger.table(model) for model in "pq")
    draw = draw_from_cases(in_canonical_order(ledger.cases), tables)
    drawn = values_of_draws(draw, lambda some: np.array([RATIO.value(one) for one in some]), 2, DRAWING)
    drawn = np.column_stack([drawn, drawn[:, 0] - drawn[:, 1]])
    np.testing.assert_allclose((paired.found.low, paired.found.high), np.quantile(drawn, (0.05, 0.95), axis=0))
    np.testing.assert_allclose(paired.found.standard_error, drawn.std(axis=0, ddof=1))
    beyond = np.minimum((drawn <= 0.0).sum(axis=0), (drawn >= 0.0).sum(axis=0))
    np.testing.assert_allclose(paired.found.p_value, np.minimum(2.0 * (1 + beyond) / 61, 1.0))
    assert np.isnan(paired.found.df).all()
    assert paired.units == (30 if options else N)
    values = [Y.sum() / P.sum(), Y.sum() / Q.sum()]
    np.testing.assert_allclose(paired.values, [*values, values[0] - values[1]])


@dataclass(frozen=True)
class Peculiar(pr.measures.Measure):
    """A measure that is undefined, or far from its value, in some of the draws."""

    n_events: int
    shift: float = 0.0
    key: str = "peculiar"
    label: str = "peculiarity"
    higher_is_better: bool = False

    def value(self, table):
        if table.n_events < self.n_events:
            raise InputValueError("undefined")
        return table.mean_forecast + (self.shift if table.n_events != int(Y.sum()) else 0.0)


def test_draws_without_a_value_or_with_a_bias_are_not_tested():
    ledger = pr.condense(Y, MODELS)
    events = int(Y.sum())
    paired = paired_by_bootstrap(ledger, Peculiar(events), 0.9, DRAWING)
    assert 3 < paired.untested.parts["lost"] < 60
    assert (paired.untested.code, paired.untested.parts["draws"]) == ("lost-draws", 60)
    assert paired.units == N
    biased = paired_by_bootstrap(ledger, Peculiar(0, shift=1.0), 0.9, DRAWING)
    assert biased.untested == Note("biased-draws", {"label": "peculiarity"})
    assert np.isnan(biased.found.p_value).all()
    assert paired_by_bootstrap(ledger, Peculiar(0), 0.9, DRAWING).untested is None


def test_a_twentieth_of_the_draws_may_be_undefined():
    ledger = pr.condense(Y, MODELS)
    tables = tuple(ledger.table(model) for model in "pq")
    draw = draw_from_cases(in_canonical_order(ledger.cases), tables)
    events = np.sort(values_of_draws(draw, lambda some: np.array([some[0].n_events] * 2), 2, DRAWING)[:, 0])
    for least in np.unique(events).astype(int).tolist():
        lost = int((events < least).sum())
        found = paired_by_bootstrap(ledger, Peculiar(least), 0.9, DRAWING) if least <= Y.sum() else None
        if found is not None:
            assert found.untested == (None if lost <= 3 else Note("lost-draws", {"lost": lost, "draws": 60}))
    assert np.count_nonzero(events < events[3]) > 0


def test_a_fixed_event_rate_keeps_students_limits_for_rare_events():
    y = np.arange(N) < 12
    ledger = at_prevalence(pr.condense(y, MODELS), 0.05)
    paired = paired_by_moments(ledger, MeanScore(), "", None, 0.9, DRAWING, imagine=False)
    errors = errors_of_means(ledger.moments(pr.Brier()), by_outcome=True)
    assert_students(paired, ledger.moments(pr.Brier()).means, errors.standard_error, errors.df)


def test_distances_from_a_fitted_curve_are_compared_by_value_only():
    measure = pr.measures.IntegratedCalibrationIndex()
    ledger = pr.condense(Y, MODELS, cluster=UNIT)
    paired = paired_by_value(ledger, measure, pr.measures.MeanScore())
    values = [measure.value(ledger.table(model)) for model in "pq"]
    np.testing.assert_allclose(paired.values, [*values, values[0] - values[1]])
    assert paired.untested == Note("inflated", {"label": "integrated calibration index", "instead": "Brier score"})
    assert paired.units == 30
    assert np.isnan(paired.found.standard_error).all()


def test_units_of_a_stored_ledger_are_its_clusters(tmp_path):
    rng = np.random.default_rng(0)
    p = rng.random(300).round(1)
    y, pair, cluster = rng.random(300) < p, {"a": p, "b": rng.random(300).round(1)}, rng.integers(0, 40, 300)
    ledger = pr.condense(y, pair, cluster=cluster)
    ledger.to_parquet(tmp_path / "ledger")
    stored = pr.Ledger.from_parquet(tmp_path / "ledger")
    for measure in (pr.measures.AreaUnderRoc(), pr.measures.TopKNetBenefit(k=40, thresholds=0.2)):
        found = pr.compare(stored, measure=measure)
        assert found.differences[0].units == len(np.unique(cluster))
        assert f"300 cases in {found.differences[0].units} clusters" in str(found)


@pytest.mark.filterwarnings("error")
def test_infinite_values_are_neither_a_single_event_nor_a_warning():
    y, p = np.array([0, 0, 0, 1] * 15), np.where(np.arange(60) == 3, 0.0, 0.3)
    entropy = pr.measures.NormalizedEntropy()
    assert "single event" not in str(pr.compare(y, {"a": p, "b": 0.9 * p}, entropy))
    assert pr.estimate(y, p, entropy, cluster=np.arange(60) // 3).value == np.inf
    assert pr.estimate(pr.at_prevalence(pr.condense(y, p), 0.1), measure=pr.Log()).value == np.inf
