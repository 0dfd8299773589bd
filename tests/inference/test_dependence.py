"""Errors over time: by their definition, as the paired t test where nothing depends, and draws that keep their word."""

import datetime as dt
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.special import expit, logit

import propriety as pr
from propriety.errors import InputTypeError, InputValueError
from propriety.inference.dependence import block_bootstrap, check_periods, hac, independent_periods, span_of, student
from propriety.inference.finding_words import caveats, notes_of

RNG = np.random.default_rng(3)

walks = st.lists(st.floats(-10, 10, allow_subnormal=False), min_size=2, max_size=25).map(np.array)


def parts_of(x):
    """Return the part of each time in the deviation of the mean, one series."""
    return ((x - x.mean()) / len(x))[:, None]


def brute(x, weights):
    """Return the squared error of the mean by the double sum, with the correction for taking the mean off."""
    n, c = len(x), (x - x.mean()) / len(x)
    total = kept = 0.0
    for s in range(n):
        for t in range(n):
            lag = abs(s - t)
            if lag < len(weights):
                total += weights[lag] * c[s] * c[t]
                kept += weights[lag] / n**2
    return total / (1.0 - kept)


@given(walks)
def test_bartlett_is_the_double_sum(x):
    span = span_of(len(x))
    weights = 1.0 - np.arange(span) / span
    error, df = hac(parts_of(x))
    assert error[0] ** 2 == pytest.approx(brute(x, weights), rel=1e-8, abs=1e-12)
    assert df[0] == pytest.approx(len(x) / (1.0 + 2.0 * np.sum(weights[1:] ** 2)))


@given(walks, st.data())
def test_a_horizon_is_the_double_sum_or_bartlett_where_that_is_negative(x, data):
    horizon = data.draw(st.integers(1, len(x) - 1))
    level = brute(x, np.ones(horizon))
    falling = brute(x, 1.0 - np.arange(horizon) / horizon)
    square = hac(parts_of(x), horizon=horizon)[0][0] ** 2
    close = {"rel": 1e-8, "abs": 1e-10}
    assert square == pytest.approx(level, **close) or (level < 1e-10 and square == pytest.approx(falling, **close))


@given(walks)
def test_one_step_ahead_is_the_paired_t_test(x):
    error, df = hac(parts_of(x), horizon=1)
    assert error[0] == pytest.approx(x.std(ddof=1) / np.sqrt(len(x)), rel=1e-8, abs=1e-12)
    assert df[0] == len(x) - 1


def test_the_correction_is_that_of_harvey_leybourne_and_newbold():
    x, n, h = RNG.normal(size=30), 30, 4
    d = x - x.mean()
    variance = (d @ d + 2 * sum(d[k:] @ d[:-k] for k in range(1, h))) / n**2
    factor = (n + 1 - 2 * h + h * (h - 1) / n) / n
    assert hac(parts_of(x), horizon=h)[0][0] ** 2 == pytest.approx(variance / factor, rel=1e-12)


def test_a_negative_square_never_comes_back():
    x = np.tile([1.0, -1.0], 10) + np.arange(20) * 1e-3
    assert brute(x, np.ones(2)) < 0
    assert hac(parts_of(x), horizon=2)[0][0] > 0


def test_the_order_of_time_matters_and_its_direction_does_not():
    x = np.cumsum(RNG.normal(size=60))
    forth, back, mixed = (hac(parts_of(one))[0][0] for one in (x, x[::-1], RNG.permutation(x)))
    assert forth == pytest.approx(back)
    assert forth > 2 * mixed


def test_series_do_not_know_each_other():
    x = RNG.normal(size=(50, 3))
    x[:, 1] = np.nan
    parts = (x - x.mean(axis=0)) / 50
    error, _ = hac(parts)
    assert np.isnan(error[1])
    assert error[2] == pytest.approx(hac(parts[:, 2:])[0][0], rel=1e-12)
    found = block_bootstrap(x.mean(axis=0), parts, level=0.9, n_resamples=99, seed=1)
    assert np.isnan(found.p_value[1])
    assert (
        found.p_value[2]
        == block_bootstrap(x.mean(axis=0)[2:], parts[:, 2:], level=0.9, n_resamples=99, seed=1).p_value[0]
    )


def test_one_time_has_no_error():
    error, df = hac(np.zeros((1, 2)))
    assert np.isnan(error).all()
    assert np.isnan(df).all()


@given(st.floats(-5, 5), st.floats(0.01, 5), st.floats(1.2, 1e6), st.floats(0.5, 0.999))
def test_student_is_students(mean, error, df, level):
    found = student(np.array([mean]), np.array([error]), df, level)
    low, high = stats.t.interval(level, df, loc=mean, scale=error)
    assert found.low[0] == pytest.approx(low, rel=1e-7, abs=1e-9)
    assert found.high[0] == pytest.approx(high, rel=1e-7, abs=1e-9)
    assert found.p_value[0] == pytest.approx(2 * stats.t.sf(abs(mean / error), df), rel=1e-7, abs=1e-12)


@given(st.integers(0, 2**31), st.sampled_from([0.8, 0.9, 0.95]))
def test_the_interval_of_the_draws_holds_zero_if_and_only_if_the_p_value_says_so(seed, level):
    x = np.random.default_rng(seed).normal(0.25, 1.0, (40, 4))
    mean = x.mean(axis=0)
    found = block_bootstrap(mean, (x - mean) / 40, level=level, n_resamples=199, seed=seed)
    holds = (found.low <= 0.0) & (found.high >= 0.0)
    assert (holds == (found.p_value > 1.0 - level + 1e-12)).all()


def test_draws_are_those_of_the_definition():
    x = RNG.normal(0.3, 1.0, 30)
    found = block_bootstrap(x.mean()[None], parts_of(x), level=0.9, n_resamples=199, seed=8)
    span, wrapped = span_of(30), np.concatenate([x, x])
    begins = np.random.default_rng(8).integers(30, size=(199, int(np.ceil(30 / span))))
    statistics = []
    for draw in begins:
        blocks = np.array([wrapped[begin : begin + span].mean() - x.mean() for begin in draw])
        statistics.append(abs(blocks.mean() / (blocks.std(ddof=1) / np.sqrt(len(blocks)))))
    error = hac(parts_of(x))[0][0]
    assert found.standard_error[0] == error
    assert found.p_value[0] == pytest.approx((1 + np.sum(statistics >= abs(x.mean() / error))) / 200)
    assert found.high[0] == pytest.approx(x.mean() + np.sort(statistics)[-20] * error)
    assert found.low[0] == pytest.approx(2 * x.mean() - found.high[0])


def test_draws_in_several_blocks_of_memory_are_the_same(monkeypatch):
    x = RNG.normal(0.3, 1.0, (25, 2))
    mean = x.mean(axis=0)
    options = {"level": 0.9, "n_resamples": 101, "seed": 8}
    whole = block_bootstrap(mean, (x - mean) / 25, **options)
    monkeypatch.setattr("propriety.inference.dependence.BLOCK", 100)
    pieces = block_bootstrap(mean, (x - mean) / 25, **options)
    for one, other in zip(whole, pieces, strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_bootstrap_covers_dependent_series():
    # AR(1) of 0.5; the naive interval holds about 0.75.
    noise = np.random.default_rng(1).normal(size=(300, 400))
    x = np.zeros_like(noise)
    for time in range(1, 300):
        x[time] = 0.5 * x[time - 1] + noise[time]
    x = x[100:]
    mean = x.mean(axis=0)
    drawn = block_bootstrap(mean, (x - mean) / 200, level=0.95, n_resamples=199, seed=1)
    kernel = student(mean, *hac((x - mean) / 200), 0.95)
    for found in (drawn, kernel):
        assert 0.92 <= np.mean((found.low <= 0) & (found.high >= 0)) <= 0.985


def test_too_few_times_or_draws_are_refused():
    x = RNG.normal(size=19)
    with pytest.raises(InputValueError, match=r'needs 20 periods or more; got 19\. Hint: use method="diebold-mariano"'):
        block_bootstrap(x.mean()[None], parts_of(x), level=0.95, n_resamples=99, seed=1)
    x = RNG.normal(size=20)
    with pytest.raises(InputValueError, match=r"n_resamples must be at least 19 for a level of 0.95; got 18"):
        block_bootstrap(x.mean()[None], parts_of(x), level=0.95, n_resamples=18, seed=1)
    found = block_bootstrap(x.mean()[None], parts_of(x), level=0.95, n_resamples=19, seed=1)
    assert np.isfinite(found.low[0])


@pytest.mark.parametrize(
    "times", [[1, 2, 3], [0.5, 2.0], [dt.date(2024, 1, 1), dt.date(2024, 1, 2)]], ids=["int", "float", "date"]
)
def test_times_in_order_are_let_through(times):
    check_periods(times, None)
    check_periods(times, 1)


@pytest.mark.parametrize("times", [["1/2/2024", "2/1/2024"], [1, "2"], [2, 1]], ids=["text", "mixed", "unordered"])
def test_times_without_an_order_are_refused(times):
    with pytest.raises(
        InputTypeError, match=r"period must hold numbers or dates; .* Hint: write all dates as 2026-01-31"
    ):
        check_periods(times, None)


@pytest.mark.parametrize("horizon", [0, 3, -1, 1.0, True, "1"])
def test_a_horizon_beyond_the_times_is_refused(horizon):
    with pytest.raises(InputValueError, match=r"horizon must be a whole number from 1 to .* minus one, 2; got"):
        check_periods([1, 2, 3], horizon)


@pytest.mark.parametrize(
    "judge",
    [
        pr.estimate,
        lambda y, p, period: pr.estimate(y, p, pr.measures.AreaUnderRoc(), period=period),
        lambda y, p, period: pr.check_calibration(y, p, period=period),
    ],
    ids=["mean", "influence", "calibration"],
)
def test_texts_are_not_taken_for_times_in_order(judge):
    y, p = np.arange(60) % 2, np.linspace(0.1, 0.9, 60)
    days = [(dt.date(2026, 1, 20) + dt.timedelta(days=day)).strftime("%d.%m.%Y") for day in range(60)]
    with pytest.raises(InputTypeError, match=r"period must hold numbers or dates; '01.02.2026' is text"):
        judge(y, p, period=days)


class TestIndependentTimes:
    """How many independent times correlated ones are worth, and the note on it."""

    @staticmethod
    def cases(correlation: float, times: int = 60):
        generator = np.random.default_rng(1)
        shift = generator.normal(size=times)
        for now in range(1, times):
            shift[now] = correlation * shift[now - 1] + np.sqrt(1.0 - correlation**2) * shift[now]
        time = np.repeat(np.arange(times), 100)
        p = generator.uniform(0.05, 0.4, len(time))
        y = generator.random(len(time)) < expit(logit(p) + shift[time])
        return y, p, np.clip(p + 0.2, 0.0, 1.0), time

    def test_is_the_number_that_gives_the_same_error(self):
        parts = np.random.default_rng(1).normal(size=(40, 3))
        parts -= parts.mean(axis=0)
        error, _ = hac(parts)
        worth = independent_periods(parts, error)
        variance = parts.var(axis=0, ddof=1)
        assert np.sqrt(40 * variance * 40 / worth) == pytest.approx(error)

    @pytest.mark.parametrize("measure", [pr.Brier(), pr.Log(), pr.measures.ObservedExpected()])
    def test_few_are_noted(self, measure):
        y, p, q, time = self.cases(0.95)
        found = pr.estimate(y, p, measure, period=time)
        number = int(
            re.fullmatch(r"based on 60 periods \(worth (\d+) independent ones\): .* too narrow", caveats(found))[1]
        )
        assert 3 <= number <= 15
        both = pr.compare(y, {"p": p, "q": q}, measure, period=time)
        assert re.search(
            r"60 periods \(worth \d+ independent ones\): intervals may be too narrow\.", notes_of(both.differences[0])
        )

    @pytest.mark.parametrize("measure", [pr.Brier(), pr.measures.ObservedExpected()])
    def test_independent_periods_are_not_noted(self, measure):
        y, p, q, time = self.cases(0.0)
        assert caveats(pr.estimate(y, p, measure, period=time)) == ""
        assert "periods" not in notes_of(pr.compare(y, {"p": p, "q": q}, measure, period=time).differences[0])
