"""Miscalibration and discrimination without the noise of the sample: never below zero, and inside their limits."""

import math

import numpy as np
import pytest
from scipy import stats
from scipy.signal import lfilter
from scipy.special import expit, ndtri
from sliced import slices

import propriety as pr
from propriety.calibration.blocks import pool_adjacent_violators
from propriety.calibration.squared_distance import squared_distance
from propriety.inference.bootstrap import Drawing
from propriety.inference.estimation import estimate
from propriety.inference.finding_words import caveats
from propriety.inference.measures.parts import Discrimination, Miscalibration
from propriety.inference.part_estimates import overfits
from propriety.tables.forecast_table import ForecastTable

RNG = np.random.default_rng(11)
N = 400
P = RNG.beta(1.5, 2.0, N)
Y = RNG.random(N) < P
WEIGHT = RNG.gamma(2.0, 1.0, N)


def name(measure):
    return f"{type(measure).__name__} {measure.rule}"


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weights"])
def test_parts_of_the_brier_score_are_without_the_noise_of_the_sample(weight):
    table = ForecastTable.from_predictions(Y, P, sample_weight=weight)
    lost, gained = (estimate(Y, P, one, sample_weight=weight) for one in (Miscalibration(), Discrimination()))
    distance = squared_distance(table, "miscalibration", level=0.95)
    assert (lost.value, lost.low, lost.high) == (distance.value, distance.low, distance.high)
    assert lost.error == distance.standard_error
    parts = pr.decompose(table)
    assert (lost.extra["raw"], gained.extra["raw"]) == (parts.miscalibration, parts.discrimination)
    assert lost.value < lost.extra["raw"]
    assert lost.method == "regression of the residuals on functions of the forecast"
    assert "n_resamples" not in lost.extra


@pytest.mark.parametrize("options", [{}, {"sample_weight": WEIGHT}, {"cluster": np.arange(N) // 4}], ids=str)
def test_the_parts_add_up_to_the_score(options):
    lost, gained = (estimate(Y, P, one, **options) for one in (Miscalibration(), Discrimination()))
    table = ForecastTable.from_predictions(Y, P, sample_weight=options.get("sample_weight"))
    uncertainty = table.event_rate * (1.0 - table.event_rate)
    assert lost.value - gained.value + uncertainty == pytest.approx(pr.mean_score(table, rule=pr.Brier()))
    assert gained.low <= gained.value <= gained.high


def test_weighted_draws_of_certain_rates_have_limits():
    """Weights are summed in another order than in the table: a rest of 1e-16 would be an impossible non-event."""
    rng = np.random.default_rng(3)
    p = np.round(rng.beta(0.7, 1.4, 300), 2).clip(0.01, 0.99)
    y = rng.random(300) < p
    for seed in range(5):
        weight = np.random.default_rng(seed).gamma(2.0, size=300)
        found = [
            pr.estimate(*forecasts, pr.measures.Miscalibration(pr.Log()), sample_weight=weight, n_resamples=99, seed=1)
            for forecasts in ((y, p), (~y, 1 - p))
        ]
        assert np.isfinite([one.high for one in found]).all()


@pytest.mark.parametrize("measure", [Miscalibration(pr.Log()), Discrimination(pr.Log())], ids=name)
def test_parts_of_other_rules_are_corrected_for_what_recalibration_overfits(measure):
    found = estimate(Y, P, measure, n_resamples=300, seed=1)
    table = ForecastTable.from_predictions(Y, P)
    assert found.extra["raw"] == measure.value(table)
    rates = pool_adjacent_violators(table).per_row()
    overfit = overfits(table, measure.rule, rates, Drawing(n_resamples=300, seed=1))
    assert found.value == pytest.approx(max(found.extra["raw"] - overfit.mean(), 0.0), abs=1e-12)
    margin = stats.norm.ppf(0.975) * math.hypot(found.error, overfit.std())
    assert found.low == pytest.approx(max(found.value - margin, 0.0), abs=1e-12)
    assert found.high == pytest.approx(found.value + margin, abs=1e-12)


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weights"])
@pytest.mark.parametrize("measure", [Miscalibration(pr.Log()), Discrimination(pr.Log())], ids=name)
def test_the_error_under_other_rules_is_that_of_a_mean_difference_of_losses(measure, weight):
    found = estimate(Y, P, measure, n_resamples=40, seed=1, sample_weight=weight)
    table = ForecastTable.from_predictions(Y, P, sample_weight=weight)
    rates = np.clip(pool_adjacent_violators(table).per_row(), 0.0, 1.0)[np.searchsorted(table.forecast, P)]
    given = P if isinstance(measure, Miscalibration) else np.full(N, table.event_rate)
    with np.errstate(divide="ignore"):
        d = pr.case_scores(Y, given, rule=measure.rule) - pr.case_scores(Y, rates, rule=measure.rule)
    w = np.ones(N) if weight is None else weight
    deviation = w * (d - np.average(d, weights=w))
    assert found.error == pytest.approx(math.sqrt(N / (N - 1) * (deviation**2).sum()) / w.sum(), rel=1e-10)


@pytest.mark.simulation
def test_what_is_taken_off_is_what_calibrated_forecasts_show():
    p = np.repeat([0.2, 0.4, 0.6, 0.8], 250)
    y = np.concatenate([np.arange(250) < 250 * rate for rate in (0.2, 0.4, 0.6, 0.8)])
    rng = np.random.default_rng(2)
    samples = [rng.random(1000) < p for _ in range(200)]
    raw = np.array([estimate(one, p, Miscalibration()).extra["raw"] for one in samples])
    value = np.array([estimate(one, p, Miscalibration()).value for one in samples])
    assert value.mean() < raw.mean() / 1.5
    assert np.mean(value == 0.0) > 0.4  # About half of what noise alone gives is below what it gives on average.
    found = estimate(y, p, Miscalibration())
    assert (found.value, found.low, found.extra["raw"]) == (0.0, 0.0, 0.0)
    assert np.quantile(value, 0.975) < found.high < 4 * np.quantile(value, 0.975)


@pytest.mark.parametrize(
    ("measure", "forecasts", "rates"),
    [
        pytest.param(Miscalibration(), [0.5], [0.52], id="MCB, one value"),
        pytest.param(Miscalibration(), [0.3, 0.5, 0.7], [0.35, 0.55, 0.65], id="MCB, three values"),
        pytest.param(Discrimination(), [0.4, 0.6], [0.48, 0.52], id="DSC, two values"),
        pytest.param(Discrimination(), [0.4, 0.6], [0.5, 0.5], id="no DSC"),
    ],
)
def test_parts_next_to_zero_hold_the_truth_and_never_claim_certainty(measure, forecasts, rates):
    p, rate = np.resize(forecasts, 240), np.resize(rates, 240)
    truth = measure.value(
        ForecastTable.from_predictions(np.repeat([1, 0], 240), np.tile(p, 2), sample_weight=np.append(rate, 1 - rate))
    )
    rng = np.random.default_rng(8)
    held = []
    for seed in range(60):
        found = estimate(rng.random(240) < rate, p, measure, n_resamples=40, seed=seed)
        assert found.high > 0.0
        held.append(found.low - 1e-12 <= truth <= found.high)
    assert np.mean(held) > 0.9


@pytest.mark.parametrize(
    ("measure", "truth"), [(Miscalibration(), 0.0), (Discrimination(), 1 / 12)], ids=["MCB", "DSC"]
)
def test_corrected_parts_hold_the_truth(measure, truth):
    rng = np.random.default_rng(5)
    held = []
    for seed in range(20):
        p = rng.random(200)
        found = estimate(rng.random(200) < p, p, measure, n_resamples=30, seed=seed)
        held.append(found.low <= truth <= found.high)
    assert np.mean(held) > 0.8


def test_many_weighted_cases_take_fewer_draws_and_the_method_says_so(monkeypatch):
    monkeypatch.setattr("propriety.inference.part_estimates.WORK", 10_000)
    found = estimate(Y, P, Miscalibration(pr.Log()), sample_weight=WEIGHT, seed=1)
    assert found.extra["n_resamples"] == 10_000 // N
    assert found.method.endswith(f"at the recalibrated rates, {10_000 // N} of them for {N} cases")
    few = estimate(Y, P, Miscalibration(pr.Log()), sample_weight=WEIGHT, seed=1, n_resamples=22)
    assert few.method.endswith("at the recalibrated rates")
    assert (
        estimate(Y, P, Miscalibration(pr.Log()), seed=1).extra["n_resamples"] == 1000
    )  # Neighbours are drawn together.


@pytest.mark.parametrize("measure", [Miscalibration(), Miscalibration(pr.Log())], ids=name)
def test_weights_may_be_of_any_size(measure):
    large, plain = (estimate(Y, P, measure, sample_weight=w, n_resamples=40, seed=1) for w in (WEIGHT * 1e20, WEIGHT))
    assert (large.low, large.high) == pytest.approx((plain.low, plain.high), rel=1e-9)


@pytest.mark.parametrize("measure", [Miscalibration(), Miscalibration(pr.Log())], ids=name)
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weights"])
def test_the_order_of_the_cases_does_not_matter(measure, weight):
    order = RNG.permutation(N)
    one = estimate(Y, P, measure, sample_weight=weight, n_resamples=40, seed=1)
    mixed = None if weight is None else weight[order]
    other = estimate(Y[order], P[order], measure, sample_weight=mixed, n_resamples=40, seed=1)
    found, expected = ([each.value, each.low, each.high, each.extra["raw"]] for each in (other, one))
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("measure", [Discrimination(), Discrimination(pr.Log())], ids=name)
def test_blocks_of_neighbouring_periods_are_clusters(measure):
    period = np.arange(N) // 2
    span = math.ceil(1.3 * math.sqrt(len(set(period))))
    found = estimate(Y, P, measure, period=period, n_resamples=40, seed=1)
    blocks = estimate(Y, P, measure, cluster=period // span, n_resamples=40, seed=1)
    assert (found.value, found.low, found.high, found.units) == (blocks.value, blocks.low, blocks.high, blocks.units)
    assert found.method.endswith(f"with blocks of {span} periods as clusters")


def test_the_interval_of_miscalibration_allows_for_neighbours_that_are_correlated():
    """Seen: 27 to 29 of 30; 14 with periods taken as independent."""
    rng, held = np.random.default_rng(2), 0
    x = rng.normal(size=400_000)
    truth = float(np.mean((expit(x - 0.5) - expit(0.7 * x - 0.1)) ** 2))
    for _ in range(30):
        effects = lfilter([math.sqrt(1.0 - 0.9**2)], [1.0, -0.9], rng.normal(size=300))[100:]
        shared, x = np.repeat(effects, 20), rng.normal(size=4000)
        y = math.sqrt(0.1) * shared + math.sqrt(0.9) * rng.normal(size=4000) < ndtri(expit(x - 0.5))
        found = estimate(y, expit(0.7 * x - 0.1), Miscalibration(), period=np.repeat(np.arange(200), 20))
        held += found.low <= truth <= found.high
    assert held >= 24


def test_what_happens_twice_in_a_cluster_is_known_once():
    twice = np.repeat(np.arange(N), 2)
    found = estimate(Y[twice], P[twice], Miscalibration(), cluster=twice)
    alone, naive = estimate(Y, P, Miscalibration()), estimate(Y[twice], P[twice], Miscalibration())
    assert found.value == pytest.approx(alone.value, rel=1e-6, abs=1e-12)
    assert found.high == pytest.approx(alone.high, rel=0.05)
    assert found.high > naive.high
    assert found.units == N
    assert found.method.endswith("cluster-robust")


@pytest.mark.parametrize("rule", [pr.Brier(), pr.Log()], ids=repr)
@pytest.mark.parametrize("truth", [1.0, 0.3], ids=["calibrated", "bold"])
def test_a_value_is_never_beyond_its_limits(rule, truth):
    rng = np.random.default_rng(1)
    for seed in range(20):
        p = rng.uniform(0.05, 0.95, 300)
        y = rng.random(300) < 0.5 + truth * (p - 0.5)
        for part in (Miscalibration(rule), Discrimination(rule)):
            found = estimate(y, p, part, n_resamples=30, seed=seed)
            assert 0.0 <= found.low <= found.value <= found.high
            assert not caveats(found)


@pytest.mark.simulation
def test_jumps_of_the_event_rate_are_told_and_allowed_for():
    rng = np.random.default_rng(21)
    p = rng.beta(1, 3, 5000)
    stairs = np.clip(np.round(5 * p) / 5, 0.02, 0.98)
    truth = ((p - stairs) ** 2).mean()
    found = [estimate(rng.random(5000) < stairs, p, Miscalibration()) for _ in range(20)]
    assert np.mean([one.low <= truth <= one.high for one in found]) >= 0.75
    assert sum(one.note("jumps") is not None for one in found) >= 18
    smooth = [estimate(rng.random(5000) < rate, p, Miscalibration()) for rate in (p, p**1.2) for _ in range(10)]
    assert sum(one.note("jumps") is not None for one in smooth) <= 2
    table = ForecastTable.from_predictions(rng.random(5000) < stairs, p)
    assert squared_distance(table, "miscalibration", level=0.95).unseen > 0.0


@pytest.mark.simulation
def test_jumps_are_told_where_much_of_the_interval_is_there_for_them():
    rng = np.random.default_rng(22)
    p = rng.beta(1, 3, 2000)
    stairs = np.clip(np.round(5 * p) / 5, 0.02, 0.98)
    found = [estimate(rng.random(2000) < stairs, p, Miscalibration()) for _ in range(20)]
    assert sum(one.note("jumps") is not None for one in found) >= 14  # By jumps that are certain alone 8.
    smooth = [estimate(rng.random(2000) < p**1.2, p, Miscalibration()) for _ in range(10)]
    assert sum(one.note("jumps") is not None for one in smooth) <= 3


@pytest.mark.simulation
def test_jumps_are_allowed_for_with_clusters():
    rng = np.random.default_rng(23)
    p, unit = rng.beta(1, 3, 5000), np.arange(5000) % 100
    stairs = np.clip(np.round(5 * p) / 5, 0.02, 0.98)
    truth = ((p - stairs) ** 2).mean()
    found = [estimate(rng.random(5000) < stairs, p, Miscalibration(), cluster=unit) for _ in range(6)]
    assert sum(one.note("jumps") is not None for one in found) >= 5
    assert sum(one.low <= truth <= one.high for one in found) >= 4  # With smooth functions alone none.
    smooth = estimate(rng.random(5000) < p, p, Miscalibration(), cluster=unit)
    assert smooth.note("jumps") is None


def test_clusters_of_like_forecasts_are_not_taken_for_jumps():
    rng = np.random.default_rng(24)
    p, five = rng.beta(1, 3, 400), np.repeat(np.arange(400), 5)
    y = rng.random(400) < p
    assert estimate(y[five], p[five], Miscalibration()).note("jumps")
    assert not caveats(estimate(y[five], p[five], Miscalibration(), cluster=five))


@pytest.mark.parametrize("measure", [Miscalibration(), Discrimination()], ids=name)
def test_without_cases_clusters_leave_parts_without_limits_at_the_level_asked_for(measure, tmp_path):
    pr.condense(Y, P, cluster=np.arange(N) // 8).to_parquet(tmp_path / "ledger")
    found = pr.estimate(pr.Ledger.from_parquet(tmp_path / "ledger"), measure=measure, level=0.9)
    assert found.level == 0.9
    assert np.isnan([found.low, found.high]).all()


def test_the_index_of_clusters_has_no_interval():
    index = pr.measures.IntegratedCalibrationIndex()
    options = {"measure": index, "n_resamples": 20, "seed": 1}
    found = pr.estimate(Y, P, cluster=np.arange(N) // 8, **options)
    alone = pr.estimate(Y, P, **options)
    assert found.value == alone.value
    assert np.isnan([found.low, found.high]).all()
    assert caveats(found) == "the interval is only known for independent cases"
    assert np.isfinite([alone.low, alone.high]).all()
    groups = slices(Y, P, index, by=np.arange(N) % 2, cluster=np.arange(N) // 8, n_resamples=20, seed=1)
    assert np.isnan(groups.low).all()
    assert set(groups.note.tolist()) == {caveats(found)}
    assert found.measure == index
