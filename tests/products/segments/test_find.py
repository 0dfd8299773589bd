"""The search for segments: sums by brute force, the law of the largest deviation, planted segments, engines."""

import itertools

import duckdb
import narwhals as nw
import numpy as np
import polars as pl
import pytest
from scipy.stats import binom, norm

import propriety as pr
from propriety.errors import InputTypeError, InputValueError, MissingValuesError
from propriety.products.segments.columns import Cut, cut_of_numbers
from propriety.products.segments.lattice import Lattice
from propriety.products.segments.null_distribution import SMALLEST, deviations, evidence, largest_deviations
from propriety.products.segments.search import critical_deviation
from propriety.products.segments.sums import EngineSegments, SegmentCases, SegmentSums
from propriety.tables.forecast_table import ForecastTable

FEW = {"seed": 3, "n_resamples": 60}
ENGINE_NAMES = ("polars", "pandas", "polars lazy", "duckdb")
ENGINES = (pl.DataFrame.clone, pl.DataFrame.to_pandas, pl.DataFrame.lazy, lambda f: duckdb.from_arrow(f.to_arrow()))


def cases(n=30_000, *, planted=(), seed=1):
    """Return outcomes, forecasts and columns; in a planted segment the odds are multiplied."""
    rng = np.random.default_rng(seed)
    columns = {
        "country": rng.choice(["DE", "FR", "US", "PL"], n),
        "device": rng.choice(["phone", "desk", "tablet"], n, p=[0.5, 0.4, 0.1]),
        "age": rng.normal(50.0, 12.0, n),
        "plan": rng.integers(0, 5, n),
    }
    p = rng.beta(1.0, 6.0, n)
    odds = p / (1.0 - p)
    for factor, labels in planted:
        inside = np.all([columns[name] == label for name, label in labels.items()], axis=0)
        odds = np.where(inside, odds * factor, odds)
    return rng.random(n) < odds / (1.0 + odds), p, columns


@pytest.mark.parametrize("cells", [5, 10, 100], ids=["one part per pair", "some parts", "one part"])
def test_sums_are_those_of_every_segment_by_brute_force(cells, monkeypatch):
    monkeypatch.setattr("propriety.products.segments.lattice.MOST_CELLS", cells)
    rng = np.random.default_rng(5)
    sizes = (3, 2, 4)
    codes = [rng.integers(0, size, 500) for size in sizes]
    p, y = rng.random(500), rng.random(500) < 0.4
    found = SegmentCases(p, y, codes, Lattice(sizes, 2))
    within, outside = ((0, 1),), [((1, 0), (2, 3))]
    for given, kept in (
        ((), np.ones(500, dtype=bool)),
        ((within, outside), (codes[0] == 1) & ~((codes[1] == 0) & (codes[2] == 3))),
    ):
        sums = found.sums(*given)
        assert len(found.lattice) == 3 + 2 + 4 + 6 + 12 + 8
        for index in range(len(found.lattice)):
            segment = found.lattice.segment(index)
            assert found.lattice.index(segment) == index
            rows = kept & np.all([codes[column] == code for column, code in segment], axis=0)
            v = p[rows] * (1 - p[rows])
            expected = (rows.sum(), y[rows].sum(), p[rows].sum(), v.sum(), (v * (1 - 2 * p[rows])).sum())
            np.testing.assert_allclose([column[index] for column in sums], expected, rtol=1e-12, atol=1e-12)


def test_three_columns_are_combined():
    lattice = Lattice((2, 2, 2, 2), 3)
    assert [len(columns) for columns in lattice.subsets].count(3) == 4
    assert len(lattice) == 4 * 2 + 6 * 4 + 4 * 8
    assert {lattice.segment(index) for index in range(len(lattice))} == {
        tuple(zip(columns, labels, strict=True))
        for size in (1, 2, 3)
        for columns in itertools.combinations(range(4), size)
        for labels in itertools.product(range(2), repeat=size)
    }


@pytest.mark.parametrize("p", [0.02, 0.5, 0.98])
def test_deviations_are_standard_normal_if_forecasts_are_calibrated(p):
    n = round(40.0 / (p * (1 - p)))
    counts = np.random.default_rng(7).binomial(n, p, 200_000).astype(float)
    ones = np.ones(len(counts))
    v = n * p * (1 - p)
    sums = SegmentSums(n * ones, counts, n * p * ones, v * ones, v * (1 - 2 * p) * ones)
    found = deviations(sums)
    for z in (1.5, 2.5):  # Counts are whole numbers, which leaves a factor of about 1.5.
        tail = norm.sf(z)
        assert 0.6 * tail < np.mean(found > z) < 1.6 * tail
        assert 0.6 * tail < np.mean(found < -z) < 1.6 * tail
    assert np.all(np.diff(found[np.argsort(counts)]) >= 0.0)
    assert not deviations(sums._replace(variance=ones * (SMALLEST - 0.1))).any()


def test_a_planted_interaction_is_named_and_its_echoes_are_not():
    planted = [(1.6, {"country": "FR", "device": "phone"}), (0.5, {"plan": 3})]
    y, p, by = cases(60_000, planted=planted)
    found = pr.find_segments(pr.cases(y, p, by=by), **FEW)
    assert set(found.segment) == {"country = FR and device = phone", "plan = 3"}
    assert (found.p_adjusted < 0.05).all()
    table = ForecastTable.from_predictions(y[by["plan"] == 3], p[by["plan"] == 3])
    row = found.segment.tolist().index("plan = 3")
    assert found.n[row] == table.n
    assert found.observed_expected[row] == pytest.approx(table.event_rate / table.mean_forecast, rel=1e-12)
    curve = pr.cumulative_calibration_error(table)
    assert found.kuiper[row] == pytest.approx(curve.kuiper / curve.sigma, rel=1e-12)
    assert found.places[row] == (("plan", 3),)
    assert "2 segments stand out" in str(found)
    assert found.low[row] < found.observed_expected[row] < found.high[row] < 1.0


def test_calibrated_forecasts_have_no_segments():
    y, p, by = cases()
    found = pr.find_segments(pr.cases(y, p, by=by), **FEW)
    assert found.segment.tolist() == []
    assert "No segment stands out" in str(found)
    assert found.columns()["n"].tolist() == []


def test_the_family_wise_error_holds():
    """One lattice, many outcomes drawn from the forecasts; critical values from other draws."""
    _, p, by = cases(4_000)
    codes = [np.unique(by[name], return_inverse=True)[1] for name in ("country", "device", "plan")]
    found = SegmentCases(p, np.zeros(len(p), dtype=bool), codes, Lattice((4, 3, 5), 2))
    sums = found.sums()
    first, second = (largest_deviations(found, sums, 1500, seed) for seed in (1, 2))
    assert 0.03 < np.mean(second > np.quantile(first, 0.95)) < 0.07


def test_false_discoveries_are_controlled_and_more_is_found():
    y, p, by = cases(60_000, planted=[(1.35, {"country": name}) for name in ("FR", "DE")] + [(1.3, {"plan": 1})])
    family = pr.find_segments(pr.cases(y, p, by=by), **FEW)
    discovery = pr.find_segments(pr.cases(y, p, by=by), control="discovery", **FEW)
    assert discovery.critical < family.critical
    assert set(family.segment) <= set(discovery.segment)


def test_a_wider_segment_is_preferred_if_the_rest_of_it_deviates():
    y, p, by = cases(60_000, planted=[(1.7, {"device": "desk"})])
    assert pr.find_segments(pr.cases(y, p, by=by), **FEW).segment.tolist() == ["device = desk"]


def test_at_most_so_many_are_reported():
    y, p, by = cases(60_000, planted=[(1.7, {"country": "FR"}), (1.7, {"plan": 1})])
    found = pr.find_segments(pr.cases(y, p, by=by), most=1, **FEW)
    assert len(found.segment) == 1
    assert "may be more segments than the 1 reported" in found.note


@pytest.mark.parametrize("engine", ENGINES, ids=ENGINE_NAMES)
@pytest.mark.parametrize("most", [0, 2**21], ids=["by queries", "fetched"])
def test_frames_and_engines_find_what_arrays_do(engine, most, monkeypatch):
    monkeypatch.setattr("propriety.products.segments.sums.MOST_FETCHED", most)
    y, p, by = cases(20_000, planted=[(1.8, {"country": "FR", "device": "phone"})])
    frame = engine(pl.DataFrame({"y": y, "p": p, **by}))
    found = pr.find_segments(pr.cases(frame, "p", outcome="y", by=list(by)), **FEW)
    expected = pr.find_segments(pr.cases(y, p, by=by), **FEW)
    assert found.segment.tolist() == expected.segment.tolist() != []
    assert found.tested == expected.tested
    for name in ("n", "events", "expected", "observed_expected", "low", "high", "deviation", "kuiper", "intercept"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-9, err_msg=name)


def test_a_sample_of_the_cases_is_drawn_if_there_are_many(monkeypatch):
    monkeypatch.setattr("propriety.products.segments.find.ROWS_OF_LAW", 5_000)
    monkeypatch.setattr("propriety.products.segments.source.SAMPLED", 5_000)
    y, p, by = cases(20_000, planted=[(2.0, {"country": "FR", "device": "phone"})])
    frame = pl.LazyFrame({"y": y, "p": p, **by})
    for found in (
        pr.find_segments(pr.cases(y, p, by=by), **FEW),
        pr.find_segments(pr.cases(frame, "p", outcome="y", by=list(by)), **FEW),
    ):
        assert found.segment.tolist() == ["country = FR and device = phone"]
        assert "a sample of" in found.note


def test_numbers_are_cut_at_their_quantiles():
    values = np.random.default_rng(1).normal(size=1_000).round(2)
    cut = cut_of_numbers(values, 4)
    shares = np.bincount(cut.codes(values)) / 1_000
    np.testing.assert_allclose(shares, 0.25, atol=0.02)
    assert cut.labels[0] == f"up to {cut.edges[0]:g}"
    frame = pl.DataFrame({"x": [*values.tolist(), None]}).lazy()
    coded = (
        nw.from_native(frame)
        .select(cut.expression(nw.col("x"), nw.col("x").is_null()).alias("x"))
        .collect()["x"]
        .to_list()
    )
    assert coded == [*cut.codes(values).tolist(), None]
    assert cut_of_numbers(np.arange(50), 4) is None
    assert cut_of_numbers(np.array(["a", "b"]), 4) is None
    assert isinstance(cut_of_numbers(np.arange(60), 4), Cut)
    assert cut_of_numbers(np.array([0.5, 0.5]), 4) is None


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"by": ["place"]}, InputValueError, "'place' is none"),
        ({"by": []}, InputTypeError, "must name one key or more"),
        ({"n_resamples": 20}, InputValueError, "at least 50 for a level of 0.95"),
        ({"quantiles": 0}, InputValueError, "quantiles"),
        ({"depth": 0}, InputValueError, "depth"),
        ({"control": "none"}, InputValueError, "control"),
    ],
)
def test_wrong_arguments_are_explained(change, error, words):
    y, p, by = cases(200)
    with pytest.raises(error, match=words):
        pr.find_segments(pr.cases(y, p, by=by), **FEW | change)


def test_classes_and_several_models_are_rejected():
    y, p, by = cases(200)
    with pytest.raises(InputValueError, match="one model"):
        pr.find_segments(pr.cases(y, {"a": p, "b": p}, by=by), **FEW)
    with pytest.raises(InputValueError, match="classes"):
        pr.find_segments(pr.cases([0, 1, 2] * 20, np.full((60, 3), 1 / 3), by={"g": [0] * 60}), **FEW)


def test_a_ledger_has_no_columns_to_search():
    with pytest.raises(InputTypeError, match="segments are searched in cases"):
        pr.find_segments(pr.condense([0, 1], [0.2, 0.7], by={"g": ["a", "b"]}), by=["g"])


def test_missing_labels_are_rejected_alike():
    frame = pl.DataFrame({"y": [0, 1, 0, 1], "p": [0.2, 0.5, 0.1, 0.4], "g": ["a", None, "b", "a"]})
    for given in (frame, frame.lazy()):
        with pytest.raises(MissingValuesError, match="must be known for every case"):
            pr.find_segments(pr.cases(given, "p", outcome="y", by=["g"]), **FEW)


AGES = np.repeat(np.arange(0.5, 100.0, 1.0), 200)


@pytest.mark.parametrize("engine", ENGINES, ids=ENGINE_NAMES)
@pytest.mark.parametrize("dropped", [False, True])
def test_parts_of_numbers_have_their_own_names(engine, dropped):
    """Also if the engine returns the parts in another order, and if a part has no cases left."""
    rng = np.random.default_rng(2)
    p = rng.uniform(0.1, 0.4, len(AGES))
    y = (rng.random(len(AGES)) < np.where((AGES > 40) & (AGES < 60), 1.6 * p, p)).astype(float)
    frame = pl.DataFrame({"y": y, "p": p, "age": AGES})
    if dropped:
        frame = frame.with_columns(y=pl.when(pl.col("age") > 20).then("y"))
    found = pr.find_segments(pr.cases(engine(frame), "p", outcome="y", by=["age"], missing="drop"), **FEW)
    parts = ["age = 35.5 to 51.5", "age = 51.5 to 67.5"] if dropped else ["age = 39.5 to 59.5"]
    assert sorted(found.segment.tolist()) == parts
    assert found.n[0] == (3_200 if dropped else 4_000)


@pytest.mark.parametrize("engine", ENGINES, ids=ENGINE_NAMES)
def test_nan_is_a_missing_label(engine):
    frame = pl.DataFrame({"y": [0, 1] * 100, "p": [0.3, 0.4] * 100, "age": [*np.linspace(0, 1, 199), np.nan]})
    with pytest.raises(MissingValuesError, match="must be known for every case"):
        pr.find_segments(pr.cases(engine(frame), "p", outcome="y", by=["age"]), **FEW)


def test_nothing_is_reported_if_nothing_can_be_tested():
    found = pr.find_segments(pr.cases([0, 1] * 6, [0.5] * 12, by={"g": ["a", "b", "c"] * 4}), **FEW)
    assert (found.segment.tolist(), found.tested, found.too_small) == ([], 0, 3)
    assert str(found) == (
        "No segment could be tested: all 3 expect few events or non-events and can only stand out by an extreme deviation."
    )
    found = pr.find_segments(pr.cases([0, 1, 0, 1], [0.5, 0.5, 0.5, None], by={"g": ["a"] * 4}, missing="drop"), **FEW)
    assert str(found) == (
        "No segment could be tested: the only one expects few events or non-events and can only stand out by an extreme deviation. "
        "1 row with missing values was left out."
    )


def test_rows_that_were_left_out_are_counted_in_words():
    y, p, by = cases(20_000)
    for n in (1, 2):
        p[:n] = np.nan
        found = pr.find_segments(pr.cases(y, p, by={"country": by["country"]}, missing="drop"), **FEW)
        told = f"{n} row{'s' * (n > 1)} with missing values {'was' if n == 1 else 'were'} left out."
        assert str(found).endswith(f" standard errors. {told}")
        page = found.to_html()
        assert told in page
        assert "Rows left out" in page
    assert "left out" not in str(pr.find_segments(pr.cases(y[2:], p[2:], by={"g": by["country"][2:]}), **FEW))


@pytest.mark.parametrize(("outcome", "intercept"), [(0, -np.inf), (1, np.inf)])
def test_a_segment_may_have_no_events_or_only_events(outcome, intercept):
    y, p, by = cases(20_000)
    p = np.clip(p, 0.05, 0.95)
    y = np.where(by["country"] == "FR", outcome, y)
    found = pr.find_segments(pr.cases(y, p, by={"country": by["country"]}), **FEW)
    assert found.segment[0] == "country = FR"
    assert found.intercept[0] == intercept


def test_a_wider_segment_must_itself_be_beyond_the_critical_value():
    for seed in range(3):
        y, p, by = cases(20_000, planted=[(1.7, {"country": "FR", "device": "phone"})], seed=seed)
        found = pr.find_segments(pr.cases(y, p, by=by), **FEW)
        assert (np.abs(found.deviation) >= found.critical).all()
        assert (found.p_adjusted <= 0.05 + 1 / 61).all()


def test_a_model_may_have_another_name_than_its_column():
    y, p, by = cases(20_000, planted=[(1.8, {"country": "FR"})])
    frame = pl.DataFrame({"y": y, "p": p, **by})
    for given in (frame, frame.lazy()):
        found = pr.find_segments(pr.cases(given, {"model": "p"}, outcome="y", by=["country", "device"]), **FEW)
        assert found.segment.tolist() == ["country = FR"]


def test_a_segment_without_events_has_an_upper_limit():
    rng = np.random.default_rng(3)
    site, p = rng.choice(["a", "b"], 2_000), rng.uniform(0.05, 0.3, 2_000)
    found = pr.find_segments(pr.cases((rng.random(2_000) < p) & (site == "b"), p, by={"site": site}), **FEW)
    assert "site = a: 0.00 times as many events as forecast (95% CI 0.00 to 0.0" in str(found)


@pytest.mark.parametrize("engine", ENGINES, ids=ENGINE_NAMES)
def test_the_forecasts_may_themselves_define_segments(engine):
    y, p, _ = cases(20_000)
    y = np.where(p > 0.2, np.random.default_rng(5).random(len(p)) < 1.5 * p, y)
    found = pr.find_segments(pr.cases(engine(pl.DataFrame({"y": y, "p": p})), "p", outcome="y", by=["p"]), **FEW)
    expected = pr.find_segments(pr.cases(y, p, by={"p": p}), **FEW)
    assert found.segment.tolist() == expected.segment.tolist() != []
    np.testing.assert_allclose(found.expected, expected.expected, rtol=1e-12)


@pytest.mark.parametrize("engine", ENGINES, ids=ENGINE_NAMES)
@pytest.mark.parametrize("name", ["^a.*$", "*", "forecast_0", 'é "q'])
def test_columns_may_have_any_name(engine, name):
    if engine is ENGINES[-1] and name != "forecast_0" and duckdb.__version__ < "1.4":
        pytest.skip("earlier versions of DuckDB read the names of columns as expressions")
    _, p, by = cases(1_000)
    frame = pl.DataFrame({"y": by["age"] > 60, "p": np.clip(p, 0.01, None), name: by["age"], "key_1": by["plan"]})
    found = pr.find_segments(pr.cases(engine(frame), "p", outcome="y", by=["key_1", name]), depth=1, **FEW)
    assert found.by == ("key_1", name)
    assert found.segment[0].startswith(f"{name} = above ")


def rare(p_inside, events):
    """Return calibrated cases, but for a segment with few expected events."""
    y, p, by = cases(8_000)
    inside = (by["country"] == "FR") & (by["device"] == "tablet")
    p = np.where(inside, p_inside, p)
    y = np.where(inside, np.cumsum(inside) <= events, y)
    return y, p, {name: by[name] for name in ("country", "device")}, int(inside.sum())


@pytest.mark.parametrize("engine", [lambda frame: frame, *ENGINES], ids=["arrays", *ENGINE_NAMES])
@pytest.mark.parametrize("control", ["family", "discovery"])
def test_many_events_where_few_are_expected_stand_out(engine, control):
    y, p, by, n = rare(0.005, 90)
    frame = pl.DataFrame({"y": y, "p": p, **by})
    found = pr.find_segments(pr.cases(engine(frame), "p", outcome="y", by=list(by)), control=control, **FEW)
    assert found.segment.tolist() == ["country = FR and device = tablet"]
    assert (found.tested, found.too_small) == (18, 1)
    assert found.observed_expected[0] == pytest.approx(90 / (0.005 * n))
    assert found.p_adjusted[0] < 1e-9
    assert "1 more expects few events or non-events and can only stand out by an extreme deviation." in str(found)
    assert f"{n:,} cases, adjusted p < 0.0001)" in str(found)


def test_few_events_more_than_expected_do_not_stand_out():
    y, p, by, _ = rare(0.005, 4)
    assert pr.find_segments(pr.cases(y, p, by=by), **FEW).segment.tolist() == []


@pytest.mark.parametrize(
    ("p_inside", "events", "words"),
    [
        (0.0, 40, "40 events, although all forecasts are 0 ("),
        (1e-9, 40, f"{40 / (1e-9 * 210):,.0f} times"),
        (1.0, 0, "0.00 "),
    ],
)
def test_certain_forecasts_are_wrong_if_the_outcome_differs(p_inside, events, words):
    y, p, by, n = rare(p_inside, events)
    found = pr.find_segments(pr.cases(y, p, by=by), **FEW)
    assert found.segment.tolist() == ["country = FR and device = tablet"]
    assert f": {words.replace(f'{40 / (1e-9 * 210):,.0f}', f'{40 / (1e-9 * n):,.0f}')}" in str(found)
    assert "<!doctype html>" in found.to_html()
    found.plot()
    assert np.isinf(found.kuiper[0]) == (p_inside in (0.0, 1.0))


@pytest.mark.parametrize("p", [1e-6, 0.001, 0.02, 0.98, 0.9999])
def test_the_bound_is_above_the_probability_of_the_deviation(p):
    n = 200
    counts, ones = np.arange(n + 1.0), np.ones(n + 1)
    v = n * p * (1 - p)
    score = evidence(SegmentSums(n * ones, counts, n * p * ones, v * ones, v * (1 - 2 * p) * ones))
    assert np.all(np.diff(score) >= 0.0)
    assert max(abs(score)) > 20
    above, below = (score > 0.0) & (score < 30.0), (score < 0.0) & (score > -30.0)
    assert np.all(binom.sf(counts - 1, n, p)[above] <= norm.sf(score)[above])
    assert np.all(binom.cdf(counts, n, p)[below] <= norm.cdf(score)[below])


def test_cases_left_out_leave_no_evidence():
    tiny = np.array([1e-13, -1e-13, 0.0])
    sums = SegmentSums(np.array([3.0, 3.0, 0.0]), np.zeros(3), tiny, np.abs(tiny), tiny)
    assert not evidence(sums).any()


def test_the_error_rate_includes_small_segments():
    rng = np.random.default_rng(4)
    p, codes = rng.uniform(1e-4, 0.02, 3_000), [rng.integers(0, size, 3_000) for size in (3, 12)]
    lattice = Lattice((3, 12), 2)
    empty = SegmentCases(p, np.zeros(3_000, dtype=bool), codes, lattice)
    sums = empty.sums()
    assert 0 < np.count_nonzero(sums.variance < SMALLEST) < len(lattice)
    law, number = largest_deviations(empty, sums, 500, 1), int(np.count_nonzero(sums.n))
    reported = 0
    for _ in range(600):
        own = sums._replace(observed=SegmentCases(p, rng.random(3_000) < p, codes, lattice).sums().observed)
        critical = critical_deviation(own, evidence(own), law=law, control="family", level=0.95, number=number)
        reported += bool((np.abs(evidence(own)) >= np.where(own.variance >= SMALLEST, *critical)).any())
    assert reported / 600 < 0.075


def test_an_overwhelming_deviation_is_a_discovery():
    y = np.repeat([True, False], [20_000, 20_000])
    by = {"g": np.where(np.arange(40_000) < 15_000, "a", "b")}
    y[15_000:] = np.arange(25_000) % 2
    found = pr.find_segments(pr.cases(y, np.full(40_000, 0.5), by=by), control="discovery", **FEW)
    assert found.segment.tolist() == ["g = a"]
    assert np.isfinite(found.critical)


def test_a_reported_segment_takes_fewer_queries_than_all_cases(monkeypatch):
    """Its columns have one label left, so that more of the others are counted together."""
    monkeypatch.setattr("propriety.products.segments.sums.MOST_FETCHED", 0)
    monkeypatch.setattr("propriety.products.segments.lattice.MOST_CELLS", 12)
    asked, query = [], EngineSegments._query

    def counted(self, columns, within=(), outside=()):
        asked.append(tuple(within))
        return query(self, columns, within, outside)

    monkeypatch.setattr(EngineSegments, "_query", counted)
    y, p, by = cases(5_000, planted=[(3.0, {"country": "FR", "device": "phone"})])
    names = ["country", "device", "plan"]
    found = pr.find_segments(pr.cases(pl.LazyFrame({"y": y, "p": p, **by}), "p", outcome="y", by=names), **FEW)
    expected = pr.find_segments(pr.cases(y, p, by={name: by[name] for name in names}), **FEW)
    np.testing.assert_allclose(found.deviation, expected.deviation, rtol=1e-9)
    assert (len(asked), asked.count(())) == (4, 3)
    pr.find_segments(pr.cases(pl.LazyFrame({"y": y, "p": p, **by}), "p", outcome="y", by=names), most=1, **FEW)
    assert len(asked) == 4 + 3  # After the last report, nothing is searched again.


@pytest.mark.parametrize("most", [0, 2**21], ids=["by queries", "fetched"])
def test_durations_are_labels_on_duckdb_too(most, monkeypatch):
    monkeypatch.setattr("propriety.products.segments.sums.MOST_FETCHED", most)
    y, p, by = cases(4_000, planted=[(4.0, {"plan": 1})])
    frame = pl.DataFrame({"y": y, "p": p, "age": pl.Series(by["plan"]).cast(pl.Duration)})
    found = pr.find_segments(pr.cases(duckdb.from_arrow(frame.to_arrow()), "p", outcome="y", by=["age"]), **FEW)
    assert (found.segment.tolist(), found.n[0]) == (["age = 0:00:00.000001"], np.count_nonzero(by["plan"] == 1))


def test_the_order_of_the_rows_does_not_matter():
    rng = np.random.default_rng(11)
    p = rng.uniform(0.2, 0.8, 600).round(2)
    by = {"a": rng.choice(["x", "y", "z"], 600), "b": rng.integers(0, 4, 600)}
    y = rng.random(600) < np.clip(p + 0.09 * (by["a"] == "x"), 0, 1)
    found = []
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(600)
        here = {name: own[order] for name, own in by.items()}
        found.append(pr.find_segments(pr.cases(y[order], p[order], by=here), n_resamples=100, seed=1))
    assert [one.critical for one in found] == pytest.approx([found[0].critical] * 3, rel=1e-12)
    assert len({str(one) for one in found}) == 1


def test_engines_draw_the_outcomes_of_arrays():
    rng = np.random.default_rng(5)
    frame = pl.DataFrame({"p": rng.uniform(0.2, 0.8, 900).round(2), "b": rng.integers(0, 8, 900)})
    frame = frame.with_columns(a=pl.Series(rng.choice([f"s{place}" for place in range(12)], 900)))
    frame = frame.with_columns(y=pl.Series(rng.random(900) < frame["p"].to_numpy()))
    shuffled = frame.sample(fraction=1.0, shuffle=True, seed=1)
    found = [
        pr.find_segments(pr.cases(cases, "p", outcome="y", by=["a", "b"]), n_resamples=50, seed=0).critical
        for cases in (frame, frame.lazy(), shuffled.lazy(), duckdb.sql("FROM shuffled"))
    ]
    assert found == pytest.approx([found[0]] * 4, rel=1e-12)
