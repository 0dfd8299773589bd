import json
import math
from decimal import Decimal

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.optimize import brentq, minimize
from scipy.special import expit, logit
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

import propriety as pr
from propriety import recalibration as maps
from propriety.errors import InputValueError, MissingValuesError
from propriety.recalibration import METHODS, RecalibrationMap, spline_map
from propriety.recalibration.maps import fit_isotonic
from propriety.recalibration.spline_map import BEND, LINE, SplineMap, fit_shrunk_spline, fit_spline
from propriety.recalibration.venn_abers import fit_venn_abers
from propriety.tables.forecast_table import ForecastTable

FORECASTS = np.concatenate([[0.0, 1e-9, 1e-6], np.linspace(0.001, 0.999, 200), [1.0 - 1e-9, 1.0]])
NEEDS_BOTH_CLASSES = ("intercept", "slope", "logistic", "beta")


def cases(seed, n=400, digits=3):
    generator = np.random.default_rng(seed)
    x = generator.normal(-0.4, 1.5, n)
    y = generator.random(n) < expit(0.3 + 0.7 * x + 0.02 * x**2)
    return y.astype(float), np.round(expit(x), digits).clip(0.002, 0.998), generator.integers(1, 4, n).astype(float)


def table_of(y, p, w=None):
    return ForecastTable.from_predictions(y, p, sample_weight=w)


def rows_fit(design, y, w=None):
    found = LogisticRegression(C=np.inf, fit_intercept=False, tol=1e-14, solver="newton-cholesky", max_iter=1000)
    return found.fit(design, y, sample_weight=w).coef_[0]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("weighted", [False, True])
def test_logistic_and_beta_are_regressions_on_the_rows(seed, weighted):
    y, p, w = cases(seed)
    w = w if weighted else None
    table, x = table_of(y, p, w), logit(p)
    constant = np.ones_like(x)
    line = maps.fit_logistic(table)
    np.testing.assert_allclose([line.intercept, line.slope], rows_fit(np.stack([constant, x], 1), y, w), atol=1e-9)
    (slope,) = rows_fit(x[:, None], y, w)
    assert maps.fit_slope(table).slope == pytest.approx(slope, abs=1e-9)
    beta = maps.fit_beta(table)
    a, b, c = rows_fit(np.stack([np.log(p), -np.log1p(-p), constant], 1), y, w)
    assert min(a, b) > 0.0
    np.testing.assert_allclose([*beta.slopes, beta.intercept], [a, b, c], atol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_the_intercept_makes_the_mean_forecast_the_event_rate(seed):
    y, p, w = cases(seed)
    root = brentq(lambda a: w @ (expit(a + logit(p)) - y), -5.0, 5.0, xtol=1e-14)
    assert maps.fit_intercept(table_of(y, p, w)).intercept == pytest.approx(root, abs=1e-9)


@pytest.mark.parametrize("tilt", [(0.9, -0.4), (-0.4, 0.9), (-0.5, -0.5)])
def test_beta_is_the_constrained_maximum(tilt):
    generator = np.random.default_rng(3)
    p = generator.uniform(0.02, 0.98, 3000)
    up, down = np.log(p), -np.log1p(-p)
    y = (generator.random(3000) < expit(0.2 + tilt[0] * up + tilt[1] * down)).astype(float)
    found = maps.fit_beta(table_of(y, p))

    def loss(theta):
        eta = theta[0] * up + theta[1] * down + theta[2]
        return np.logaddexp(0.0, eta).sum() - (y * eta).sum()

    def slope(theta):
        return np.stack([up, down, np.ones_like(up)]) @ (expit(theta[0] * up + theta[1] * down + theta[2]) - y)

    best = minimize(loss, [0.1, 0.1, 0.0], jac=slope, bounds=[(0, None), (0, None), (None, None)], tol=1e-15)
    assert loss([*found.slopes, found.intercept]) <= best.fun + 1e-7
    assert min(found.slopes) == 0.0
    grid = np.linspace(0.02, 0.98, 50)
    reference = maps.OddsMap(intercept=best.x[2], slope=best.x[0], slope_at_1=best.x[1], floor=1e-6)
    np.testing.assert_allclose(found(grid), reference(grid), atol=1e-4)


@pytest.mark.parametrize("seed", range(3))
def test_the_spline_maximises_its_penalised_likelihood_on_the_rows(seed):
    y, p, w = cases(seed)
    found = fit_spline(table_of(y, p, w))
    x, unit = logit(p), (w**2).sum() / w.sum()
    centre = (w * x).sum() / w.sum()

    def loss(theta):
        own = SplineMap(knots=found.knots, level=theta[0], slopes=np.maximum(theta[1:], 0.0), floor=1e-12)
        eta, shift = logit(own(p)), logit(own(expit(centre))) - centre
        lost = w @ (np.logaddexp(0.0, eta) - y * eta)
        line = LINE * (shift**2 + (own.slopes.mean() - 1.0) ** 2) / 2.0
        return lost + unit * (line + BEND * (np.diff(own.slopes) ** 2).sum() / 2.0)

    start = np.append(found.knots[0], np.ones(len(found.knots)))
    bounds = [(None, None)] + [(0.0, None)] * len(found.knots)
    best = minimize(loss, start, bounds=bounds, tol=1e-14, options={"maxfun": 100_000, "maxiter": 10_000})
    mine = np.append(found.level, found.slopes)
    assert loss(mine) <= best.fun + 1e-9
    for step in np.eye(len(mine)) * 1e-4:  # It is a minimum: small steps along each parameter cost.
        assert loss(mine + step) >= loss(mine)
        if (mine - step)[1:].min() >= 0.0:
            assert loss(mine - step) >= loss(mine)


def test_the_spline_is_the_integral_of_its_slope():
    own = SplineMap(knots=[-1.0, 0.5, 2.0], level=-0.7, slopes=[0.2, 1.5, 0.0], floor=1e-9)
    for x in (-3.0, -1.0, 0.1, 0.5, 1.7, 4.0):
        integral, _ = quad(lambda u: np.interp(u, own.knots, own.slopes), -1.0, x, points=[-1.0, 0.5, 2.0])
        assert logit(own(expit(x))) == pytest.approx(-0.7 + integral, abs=1e-7)


def test_a_slope_that_would_be_negative_is_zero():
    generator = np.random.default_rng(1)
    x = generator.normal(0.0, 2.0, 4000)
    y = generator.random(4000) < expit(np.where(x < 1.0, x, 2.0 - x))
    found = fit_spline(table_of(y, expit(x)))
    assert found.slopes.min() == 0.0
    assert (np.diff(found(np.linspace(0.0, 1.0, 1000))) >= 0.0).all()


def test_a_large_table_is_fitted_as_from_scratch(monkeypatch):
    generator = np.random.default_rng(2)
    x = generator.normal(0.0, 1.5, 20_000)
    table = table_of(generator.random(20_000) < expit(0.7 * x), expit(x))
    grouped_first = fit_spline(table)
    monkeypatch.setattr(spline_map, "GROUPS", 10**9)
    np.testing.assert_allclose(grouped_first(FORECASTS), fit_spline(table)(FORECASTS), atol=1e-10)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("weighted", [False, True])
def test_isotonic_is_that_of_scikit_learn(seed, weighted):
    y, p, w = cases(seed, digits=2)
    w = w if weighted else None
    reference = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip").fit(p, y, sample_weight=w)
    np.testing.assert_allclose(fit_isotonic(table_of(y, p, w))(FORECASTS), reference.predict(FORECASTS), atol=1e-12)


def brute_force_pair(y, p, w, test, weight):
    pair = []
    for outcome in (0.0, 1.0):
        found = IsotonicRegression(y_min=0, y_max=1)
        found.fit(np.append(p, test), np.append(y, outcome), sample_weight=np.append(w, weight))
        pair.append(found.predict([test])[0])
    return pair


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(st.tuples(st.integers(0, 12), st.booleans(), st.integers(1, 3)), min_size=1, max_size=25),
    weighted=st.booleans(),
)
def test_venn_abers_is_its_definition(rows, weighted):
    p, y, w = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    p, w = p / 12.0, w if weighted else np.ones_like(w)
    found = fit_venn_abers(table_of(y, p, w if weighted else None), case_weight=1.0)
    tests = np.arange(25) / 24.0
    low, high = found.interval(tests)
    wanted = np.array([brute_force_pair(y, p, w, test, 1.0) for test in tests])
    np.testing.assert_allclose(np.stack([low, high], 1), wanted, atol=1e-9)
    np.testing.assert_allclose(found(tests), high / (1.0 - low + high), atol=1e-15)
    assert (high > low).all()


PENALISED = ("auto", "venn-abers", "spline")  # What they add has the size of one case.


@pytest.mark.parametrize("method", [name for name in METHODS if name not in PENALISED])
def test_a_weight_counts_as_so_many_rows(method):
    y, p, w = cases(7)
    counts = w.astype(int)
    rows = METHODS[method](table_of(np.repeat(y, counts), np.repeat(p, counts)))
    np.testing.assert_allclose(METHODS[method](table_of(y, p, w))(FORECASTS), rows(FORECASTS), atol=1e-9)


def test_venn_abers_with_a_stated_weight_counts_weights_as_rows():
    y, p, w = cases(7)
    counts = w.astype(int)
    rows = fit_venn_abers(table_of(np.repeat(y, counts), np.repeat(p, counts)))
    np.testing.assert_allclose(
        fit_venn_abers(table_of(y, p, w), case_weight=1.0)(FORECASTS), rows(FORECASTS), atol=1e-12
    )


@given(scale=st.floats(0.01, 100.0))
@settings(max_examples=20, deadline=None)
def test_the_scale_of_weights_is_no_evidence(scale):
    y, p, w = cases(7)
    one, other = fit_shrunk_spline(table_of(y, p, w)), fit_shrunk_spline(table_of(y, p, scale * w))
    np.testing.assert_allclose(other(FORECASTS), one(FORECASTS), atol=1e-7)


@pytest.mark.parametrize("method", METHODS)
def test_every_map_survives_its_round_trip(method):
    found = METHODS[method](table_of(*cases(5)))
    again = RecalibrationMap.from_json(found.to_json())
    assert again == found
    assert hash(again) == hash(found)
    assert again != maps.IdentityMap(floor=0.123)
    assert type(again).from_dict(json.loads(json.dumps(found.to_dict()))) == found
    np.testing.assert_array_equal(again(FORECASTS), found(FORECASTS))


@pytest.mark.parametrize("method", METHODS)
def test_a_map_that_says_that_it_is_monotone_is(method):
    for seed in range(4):
        found = METHODS[method](table_of(*cases(seed, n=60)))
        steps = np.diff(found(FORECASTS))
        if found.is_monotone:
            assert (steps >= -1e-15).all()
        else:
            assert (steps < 0.0).any()


@pytest.mark.parametrize("method", METHODS)
def test_maps_return_probabilities_at_the_ends_too(method):
    y, p, _ = cases(1)
    p = np.where(p < 0.05, 0.0, np.where(p > 0.95, 1.0, p))
    found = METHODS[method](table_of(y, p))
    recalibrated = found(FORECASTS)
    assert ((recalibrated >= 0.0) & (recalibrated <= 1.0)).all()
    if method not in ("none", "isotonic"):
        assert ((recalibrated > 0.0) & (recalibrated < 1.0)).all()


def test_the_floor_is_half_the_smallest_distance_but_not_below_a_millionth():
    y, p = [0, 1, 0, 0, 1], [0.0, 0.3, 0.02, 0.99, 1.0]
    assert maps.floor_of(table_of(y, p)) == pytest.approx(0.005)
    assert maps.floor_of(table_of([0, 1], [1e-9, 0.5])) == 1e-6
    assert maps.floor_of(table_of([0, 1], [0.0, 1.0])) == 1e-6
    assert maps.fit_logistic(table_of(y, p), floor=0.1).floor == 0.1


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("outcome", [0, 1])
def test_one_class(method, outcome):
    table = table_of([outcome] * 20, np.linspace(0.05, 0.6, 20))
    if method in NEEDS_BOTH_CLASSES:
        with pytest.raises(InputValueError, match=r"class|with and without"):
            METHODS[method](table)
        return
    found = METHODS[method](table)
    mean = found(table.forecast).mean()
    assert mean <= table.mean_forecast + 1e-9 if outcome == 0 else mean >= table.mean_forecast - 1e-9


@pytest.mark.parametrize("method", METHODS)
def test_one_forecast(method):
    table = ForecastTable(forecast=[0.2], events=[40], non_events=[60])
    if method in ("logistic", "beta"):
        with pytest.raises(InputValueError, match=r"differ|independent"):
            METHODS[method](table)
        return
    recalibrated = METHODS[method](table)(0.2)
    assert recalibrated.shape == ()
    if method in ("none", "floored"):
        assert recalibrated == 0.2
    else:
        assert recalibrated == pytest.approx(0.4, abs=0.03)


def test_separated_outcomes_have_a_spline_but_no_line():
    table = table_of([0] * 10 + [1] * 10, np.linspace(0.3, 0.7, 20))
    assert (np.diff(fit_spline(table)(table.forecast)) > 0.0).all()
    with pytest.raises(InputValueError, match="separate"):
        maps.fit_logistic(table)


@settings(max_examples=100, deadline=None)
@given(
    rows=st.lists(
        st.tuples(st.sampled_from([0.0, 1e-7, 0.1, 0.25, 0.5, 0.9, 1.0]), st.booleans(), st.floats(0.1, 5.0)),
        min_size=1,
        max_size=12,
    )
)
def test_the_default_map_exists_and_rises_whatever_the_cases(rows):
    p, y, w = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    found = fit_shrunk_spline(table_of(y, p, w))
    recalibrated = found(FORECASTS)
    assert (np.diff(recalibrated) >= 0.0).all()
    # Log-odds above 36.7, of slopes above 2.6 at the floor, round to a probability of 1.
    assert ((recalibrated > 0.0) & (recalibrated <= 1.0)).all()
    assert (recalibrated[FORECASTS <= 0.999] < 1.0).all()
    assert 0.0 <= found.shrinkage < 1.0


def test_shrinking_goes_a_share_of_the_way_in_log_odds():
    found = fit_spline(table_of(*cases(2)))
    x = logit(FORECASTS[5:-5])
    halfway = logit(found.shrunk(0.5)(FORECASTS[5:-5]))
    np.testing.assert_allclose(halfway, (x + logit(found(FORECASTS[5:-5]))) / 2.0, atol=1e-9)
    twice = found.shrunk(0.5).shrunk(0.5)
    assert (twice.shrinkage, twice.level) == (0.25, pytest.approx(found.shrunk(0.25).level, rel=1e-14))
    np.testing.assert_allclose(found.shrunk(0.0)(FORECASTS), maps.IdentityMap(floor=found.floor)(FORECASTS), rtol=1e-12)


MALFORMED = [
    ({"schema": "other"}, "stored"),
    ({"version": 2}, "version"),
    ({"kind": "magic"}, "kind"),
    ({"kind": ["spline"]}, "kind"),
    ({"extra": 1}, "too"),
    ({"slopes": [1.0]}, "entries"),
    ({"slopes": [1.0, -0.1]}, "finite"),
    ({"slopes": [1.0, math.nan]}, "finite"),
    ({"knots": [1.0, 0.0]}, "rise"),
    ({"knots": []}, "entries"),
    ({"knots": "ab"}, "real numbers"),
    ({"level": None}, "level"),
    ({"level": True}, "level"),
    ({"floor": 0.5}, "floor"),
    ({"shrinkage": 1.5}, "shrinkage"),
]


@pytest.mark.parametrize(("change", "told"), MALFORMED)
def test_what_is_no_map_is_refused(change, told):
    stored = SplineMap(knots=[0.0, 1.0], level=0.0, slopes=[1.0, 1.0], floor=0.01).to_dict()
    with pytest.raises(pr.errors.ProprietyError, match=told):
        RecalibrationMap.from_dict(stored | change)
    del stored["level"]
    with pytest.raises(InputValueError, match="lacks"):
        RecalibrationMap.from_dict(stored)
    with pytest.raises(InputValueError, match="kind"):
        maps.OddsMap.from_dict(SplineMap(knots=[0.0], level=0.0, slopes=[1.0], floor=0.01).to_dict())
    for text in ("{", "[]", "1"):
        with pytest.raises(InputValueError, match=r"JSON|stored"):
            RecalibrationMap.from_json(text)


def test_parameters_outside_their_range_are_refused():
    with pytest.raises(InputValueError, match="negative"):
        maps.OddsMap(intercept=0.0, slope=-1.0, slope_at_1=1.0, floor=0.01)
    with pytest.raises(InputValueError, match="fall"):
        maps.IsotonicMap(forecast=[0.1, 0.2], event_rate=[0.5, 0.4])
    with pytest.raises(InputValueError, match="case_weight"):
        fit_venn_abers(table_of([0, 1], [0.1, 0.2]), case_weight=0.0)
    with pytest.raises(InputValueError, match="slope"):
        maps.OddsMap(intercept=0.0, slope=math.inf, floor=0.01)


def test_calls_take_what_holds_numbers_and_refuse_what_is_no_forecast():
    import polars as pl

    own = maps.OddsMap(intercept=0.0, slope=1.0, floor=1e-6)
    for given_ in ([0.2, 0.7], (0.2, 0.7), np.array([0.2, 0.7]), pl.Series([0.2, 0.7])):
        np.testing.assert_allclose(own(given_), [0.2, 0.7])
    assert own([]).shape == (0,)
    assert own(1).item() == pytest.approx(1.0 - 1e-6)
    with pytest.raises(InputValueError, match=r"1\.2"):
        own([0.2, 1.2])
    with pytest.raises(MissingValuesError):
        own([0.2, None])
    with pytest.raises(MissingValuesError):
        own(math.nan)
    np.testing.assert_array_equal(own([[0.2]]), own([0.2]))
    with pytest.raises(InputValueError, match="forecast of one event"):
        own([[0.2, 0.8, 0.0]])
    with pytest.raises(pr.errors.InputTypeError):
        own("0.2")
    with pytest.raises(pr.errors.InputTypeError, match=r"y_proba must hold real numbers; got None\."):
        own(None)
    assert own(Decimal("0.2")) == own(0.2)


def test_a_map_knows_which_of_two_columns_is_its_event_or_does_not_guess():
    rng = np.random.default_rng(3)
    p = rng.random(300)
    outcomes, both = np.where(rng.random(300) < p**1.3, "yes", "no"), np.c_[1.0 - p, p]
    for event, method in (("no", "logistic"), ("yes", "logistic"), ("no", "venn-abers")):
        found = pr.recalibrate(outcomes, both, pos_label=event, method=method)
        own = pr.recalibrate(outcomes, both[:, int(event == "yes")], pos_label=event, method=method)
        np.testing.assert_array_equal(found([0.7]), own([0.7]))
        np.testing.assert_array_equal(found(both), own(both[:, int(event == "yes")]))
        named = pl.DataFrame({"p_yes": both[:, 1], "p_no": both[:, 0]})
        for shape in (named, named.to_struct("p"), named.to_pandas()):
            again = pr.recalibrate(outcomes, shape, pos_label=event, method=method)
            np.testing.assert_array_equal(again(shape), found(both))
        with pytest.raises(InputValueError, match=r"shape \(1, 2\)\. Hint: pass the column of the event"):
            own([[0.7, 0.3]])
    with pytest.raises(InputValueError, match="pass the column of the event"):
        found.map.interval([[0.7, 0.3]])


def test_isotonic_maps_between_forecasts_too_close_for_a_slope_are_constant():
    duckdb = pytest.importorskip("duckdb")
    own = maps.IsotonicMap(forecast=[0.0, 1e-310, 0.9], event_rate=[0.1, 0.9, 0.95])
    asked = [0.0, 5e-311, 1e-310, 0.45, 0.9]
    expected = [0.1, 0.1, 0.9, 0.925, 0.95]
    np.testing.assert_allclose(own(asked), expected, rtol=1e-12)
    rows = ", ".join(f"({one!r}::double)" for one in asked)
    query = f"select {own.to_sql('p')} from (values {rows}) t(p)"  # noqa: S608  (no input of others)
    told = duckdb.sql(query).fetchall()
    np.testing.assert_allclose([row[0] for row in told], expected, rtol=1e-12)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("unit", [1e-3, 1e3])
def test_maps_do_not_depend_on_the_unit_of_weights(method, unit):
    y, p, w = cases(11)
    known, other = (METHODS[method](table_of(y, p, own)) for own in (w, unit * w))
    np.testing.assert_allclose(known(FORECASTS), other(FORECASTS), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n", [40, 60, 100])  # Shares of 5% and 35% of the cases are met exactly.
def test_maps_of_swapped_outcomes_are_mirrored(method, n):
    y, p, _ = cases(n, n, digits=2)
    table, swapped = table_of(y, p), table_of(1.0 - y, 1.0 - p)
    mirrored = 1.0 - METHODS[method](swapped).recalibrated(1.0 - p)
    assert METHODS[method](table).recalibrated(p) == pytest.approx(mirrored, abs=1e-9)
