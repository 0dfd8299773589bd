import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import propriety as pr
from propriety.calibration import miscalibration
from propriety.errors import ImproperRuleError, InputTypeError, InputValueError
from propriety.rules.catalogue import RULES
from propriety.tables.forecast_table import ForecastTable

PROPER = [rule for rule in RULES if isinstance(rule, pr.BinaryRule) and rule.properties().proper]


def forecasts_and_outcomes(n, seed, *, rate=lambda p: p):
    """Draw forecasts in hundredths, and outcomes that happen at a rate: calibrated if it is the forecast."""
    rng = np.random.default_rng(seed)
    p = rng.integers(1, 100, n) / 100
    return rng.random(n) < rate(p), p


@pytest.mark.parametrize("rule", PROPER, ids=repr)
def test_the_statistic_is_the_miscalibration_of_the_decomposition(rule):
    y, p = forecasts_and_outcomes(200, 1)
    test = pr.miscalibration_test(y, p, rule=rule, n_resamples=19, seed=1)
    assert test.statistic == pytest.approx(pr.decompose(y, p, rule=rule).miscalibration, abs=1e-14)
    assert (20 * test.p_value) % 1 == pytest.approx(0.0)
    assert 1 / 20 <= test.p_value <= 1
    assert test.rule == rule
    assert (test.n, test.n_resamples, test.seed) == (200, 19, 1)


def test_the_same_seed_gives_the_same_answer():
    y, p = forecasts_and_outcomes(100, 3)
    first = pr.miscalibration_test(y, p, n_resamples=99, seed=5)
    assert first.to_dict() == pr.miscalibration_test(y, p, n_resamples=99, seed=5).to_dict()
    unseeded = pr.miscalibration_test(y, p, n_resamples=99)
    assert unseeded.to_dict() == pr.miscalibration_test(y, p, n_resamples=99, seed=unseeded.seed).to_dict()


@pytest.mark.simulation
@pytest.mark.parametrize("weighted", [False, True])
def test_calibrated_forecasts_are_rejected_as_often_as_promised(weighted):
    samples, rejected = 300, 0
    for seed in range(samples):
        y, p = forecasts_and_outcomes(60, seed)
        w = np.random.default_rng(seed).choice([0.5, 1.0, 4.0], 60) if weighted else None
        rejected += pr.miscalibration_test(y, p, sample_weight=w, n_resamples=19, seed=seed).p_value <= 0.1
    # Among 20 exchangeable values the sample's is one of the two largest in a tenth of the cases: 30, give or take 5.
    assert 14 <= rejected <= 46


@pytest.mark.parametrize("rule", [pr.Brier(), pr.Log()], ids=repr)
def test_miscalibrated_forecasts_are_found_out(rule):
    y, p = forecasts_and_outcomes(500, 1, rate=lambda p: 0.25 + p / 2)
    test = pr.miscalibration_test(y, p, rule=rule, n_resamples=199, seed=1)
    assert test.p_value == 1 / 200
    assert test.spiegelhalter_p_value < 1e-3


def test_spiegelhalters_test_is_blind_to_errors_that_cancel():
    y, p = forecasts_and_outcomes(500, 1, rate=np.square)
    test = pr.miscalibration_test(y, p, n_resamples=199, seed=1)
    assert test.p_value == 1 / 200
    assert test.spiegelhalter_p_value > 0.1


def test_forecasts_that_are_the_event_rates_cannot_be_rejected():
    test = pr.miscalibration_test([0, 0, 0, 1, 0, 1, 1, 1], [0.25] * 4 + [0.75] * 4, n_resamples=50, seed=1)
    assert test.statistic == 0
    assert test.p_value == 1


def test_draws_as_miscalibrated_as_the_sample_count():
    # Forecasts of one half and one case each: every draw that orders the outcomes alike has the same statistic.
    test = pr.miscalibration_test([0], [0.5], n_resamples=500, seed=1)
    assert test.statistic == 0.25
    assert test.p_value == 1


@given(data=st.data())
def test_spiegelhalters_statistic_is_the_sum_over_cases(data):
    cases = data.draw(st.lists(st.tuples(st.booleans(), st.integers(1, 9), st.integers(1, 3)), min_size=1, max_size=20))
    y, tenth, w = (np.array(column) for column in zip(*cases, strict=True))
    p = tenth / 10
    for weight in (None, w):
        v = np.ones(len(y)) if weight is None else weight
        variance = np.sum(v**2 * (1 - 2 * p) ** 2 * p * (1 - p))
        test = pr.miscalibration_test(y, p, sample_weight=weight, n_resamples=1, seed=1)
        if variance == 0:
            assert math.isnan(test.spiegelhalter_z)
            assert math.isnan(test.spiegelhalter_p_value)
        else:
            z = np.sum(v * (y - p) * (1 - 2 * p)) / math.sqrt(variance)
            assert test.spiegelhalter_z == pytest.approx(z, abs=1e-9)
            assert test.spiegelhalter_p_value == pytest.approx(math.erfc(abs(z) / math.sqrt(2)), abs=1e-9)


def test_the_log_score_of_impossible_events():
    y, p = [0, 0, 1, 1, 0, 1], [0.0, 0.0, 0.5, 0.5, 0.5, 1.0]
    possible = pr.miscalibration_test(y, p, rule=pr.Log(), n_resamples=99, seed=1)
    assert math.isfinite(possible.statistic)
    assert possible.p_value > 1 / 100
    impossible = pr.miscalibration_test([1, *y[1:]], p, rule=pr.Log(), n_resamples=99, seed=1)
    assert impossible.statistic == math.inf
    assert impossible.p_value == 1 / 100


def test_draws_of_weighted_events_that_were_certain_have_a_finite_score():
    """Weights are summed in another order than in the table: a rest of 1e-16 would be an impossible non-event."""
    rng = np.random.default_rng(2)
    p = np.round(rng.beta(2, 2, 400), 2)
    certain = np.arange(400) % 4 == 0
    y = (rng.random(400) < 1 - p) | certain
    test = pr.miscalibration_test(
        y, np.where(certain, 1.0, p), rule=pr.Log(), sample_weight=rng.gamma(2.0, size=400), n_resamples=199, seed=1
    )
    assert test.p_value == pytest.approx(1 / 200)


def test_certain_forecasts_that_fail_have_an_infinite_z():
    test = pr.miscalibration_test([1, 0], [0.0, 0.0], n_resamples=9, seed=1)
    assert test.spiegelhalter_z == math.inf
    assert test.spiegelhalter_p_value == 0
    assert math.isnan(pr.miscalibration_test([1, 0], [1.0, 0.0], n_resamples=9, seed=1).spiegelhalter_z)


def test_a_table_of_counts_is_its_cases():
    y, p = forecasts_and_outcomes(300, 2)
    table = ForecastTable.from_predictions(y, p)
    from_cases = pr.miscalibration_test(y, p, n_resamples=49, seed=2).to_dict()
    assert pr.miscalibration_test(table, n_resamples=49, seed=2).to_dict() == from_cases


def test_a_common_weight_changes_nothing():
    y, p = forecasts_and_outcomes(300, 2)
    plain = pr.miscalibration_test(y, p, n_resamples=49, seed=2)
    for weight in (1.0, 2.0):
        scaled = pr.miscalibration_test(y, p, sample_weight=np.full(300, weight), n_resamples=49, seed=2)
        assert scaled.statistic == pytest.approx(plain.statistic)
        assert scaled.p_value == plain.p_value
        assert scaled.spiegelhalter_z == pytest.approx(plain.spiegelhalter_z)
    assert plain.method == "outcomes drawn given forecasts"
    assert scaled.method == "outcomes drawn given forecasts and weights"


def test_cases_without_weight_do_not_count():
    y, p = forecasts_and_outcomes(50, 4)
    w = np.random.default_rng(0).uniform(0.5, 2.0, 50)
    kept = pr.miscalibration_test(y, p, sample_weight=w, n_resamples=49, seed=2).to_dict()
    more = pr.miscalibration_test([*y, 1, 0], [*p, 0.0, 0.5], sample_weight=[*w, 0, 0], n_resamples=49, seed=2)
    assert more.to_dict() == kept


def test_drawn_outcomes_have_the_forecasts_as_their_mean():
    p, w = np.repeat([0.2, 0.7], [3, 4]), np.array([1.0, 1.0, 2.0, 0.5, 0.5, 0.5, 3.0])
    options = {"sample_weight": w}
    table = ForecastTable.from_predictions(np.zeros(7), p, **options)
    cells = miscalibration._weighted_cells(table, np.zeros(7), p, options)
    generator = np.random.default_rng(0)
    draws, others = np.array([cells.draw(generator) for _ in range(4000)]).transpose(1, 0, 2)
    np.testing.assert_allclose(draws + others, np.broadcast_to([4.0, 4.5], draws.shape))
    np.testing.assert_allclose(draws.mean(axis=0), [0.2 * 4.0, 0.7 * 4.5], rtol=0.05)
    np.testing.assert_allclose(draws.var(axis=0), [0.16 * 6.0, 0.21 * 9.75], rtol=0.1)


def test_a_weighted_table_is_refused():
    table = ForecastTable.from_predictions([0, 1], [0.1, 0.4], sample_weight=[1.0, 2.0])
    with pytest.raises(
        InputValueError, match=r"a weighted ForecastTable does not hold. Hint: pass y_true, y_proba and"
    ):
        pr.miscalibration_test(table)


def test_what_cannot_be_tested_is_refused():
    y, p = [0, 1], [0.1, 0.4]
    with pytest.raises(ImproperRuleError, match="is declared improper"):
        pr.miscalibration_test(y, p, rule=pr.ShiftedBrier(0.2, weighted=False))
    with pytest.raises(InputValueError, match="y_proba must be the forecast of one event"):
        pr.miscalibration_test(y, [[0.1, 0.9, 0.0], [0.6, 0.4, 0.0]])
    with pytest.raises(InputValueError, match=r"n_resamples must be a positive whole number; got 1.5"):
        pr.miscalibration_test(y, p, n_resamples=1.5)
    with pytest.raises(InputTypeError, match="pass it without y_proba"):
        pr.miscalibration_test(ForecastTable.from_predictions(y, p), p)


def test_dropped_rows_are_counted():
    assert (
        pr.miscalibration_test(pr.cases([0, 1, 1], [0.1, math.nan, 0.7], missing="drop"), n_resamples=9, seed=1).dropped
        == 1
    )


def test_a_bar_is_shown_when_asked_for(capfd):
    pytest.importorskip("rich")
    quiet = pr.miscalibration_test([0, 1], [0.1, 0.4], n_resamples=9, seed=1)
    assert capfd.readouterr() == ("", "")
    told = pr.miscalibration_test([0, 1], [0.1, 0.4], n_resamples=9, seed=1, progress=True)
    assert "drawing outcomes" in "".join(capfd.readouterr())
    assert told.to_dict() == quiet.to_dict()
