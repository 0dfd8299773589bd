"""Recalibration by segment: the fit by brute force, shrinkage, the map on arrays and engines, and gains."""

import datetime as dt
import json
from decimal import Decimal

import duckdb
import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit

import propriety as pr
from propriety.errors import InputTypeError, InputValueError, UnsupportedOperationError
from propriety.products.segments.folds import SegmentRows, _estimated, _fitted, _spreads, _Terms, fit_by_segment
from propriety.recalibration import IdentityMap, RecalibrationMap, SegmentEffect, SegmentMap
from propriety.recalibration.methods import METHODS
from propriety.recalibration.stored_maps import StoredMap
from propriety.tables.forecast_table import ForecastTable

OLD = (SegmentEffect((("age", (50.0, None)),), 0.5),)


def cases(n=12_000, *, shift=0.5, seed=1):
    """Return outcomes, forecasts and columns; the log-odds differ in one label and in one combination."""
    rng = np.random.default_rng(seed)
    by = {
        "country": rng.choice(["DE", "FR", "O'Neill", "US"], n),
        "plan": rng.integers(0, 3, n),
        "age": rng.normal(50.0, 10.0, n),
        "new": rng.random(n) < 0.3,
    }
    p = rng.beta(2.0, 6.0, n)
    inside = (by["country"] == "FR") & by["new"]
    y = rng.random(n) < expit(logit(p) + shift * inside - shift * (by["plan"] == 2))
    return y, p, by


def rows_of(y, p, codes):
    sizes = tuple(int(own.max()) + 1 for own in codes)
    return SegmentRows(p, y, tuple(codes), sizes)


def test_effects_maximise_the_penalised_likelihood():
    rng = np.random.default_rng(2)
    codes = [rng.integers(0, 3, 900), rng.integers(0, 4, 900)]
    p = rng.uniform(0.1, 0.6, 900)
    y = rng.random(900) < expit(logit(p) + np.array([0.6, 0.0, -0.4])[codes[0]] + 0.7 * (codes[1] == 2))
    rows = rows_of(y, p, codes)
    inside = np.flatnonzero(rows.members(((0, 1), (1, 2))))
    terms = _Terms(rows, [inside])
    x = np.zeros((900, 8))
    for column, (start, own) in enumerate(zip((0, 3), codes, strict=True)):
        x[np.arange(900), start + codes[column]] = 1.0
        assert np.array_equal(own, codes[column])
    x[inside, 7] = 1.0
    v = p * (1.0 - p)
    np.testing.assert_allclose(terms.products(v), x.T @ (v[:, None] * x), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(terms.sums(v), x.T @ v, rtol=1e-12)
    effects = _fitted(terms, logit(p), y)
    q = expit(logit(p) + x @ effects)
    hessian = x.T @ ((q * (1.0 - q))[:, None] * x)
    spread = _spreads(hessian, x.T @ (y - q) + hessian @ effects, terms.blocks)
    precision = np.concatenate([np.full(len(own), one**-2) for own, one in zip(terms.blocks, spread, strict=True)])
    # The gradient of the penalised log-likelihood is 0, with the spreads that belong to the fit.
    kept = precision < 1e6
    np.testing.assert_allclose((x.T @ (y - q) - precision * effects)[kept], 0.0, atol=2e-3)
    assert kept[:7].all()


def test_the_largest_column_is_eliminated_exactly():
    rng = np.random.default_rng(3)
    codes = [rng.integers(0, size, 2_000) for size in (30, 4, 7)]
    rows = rows_of(rng.random(2_000) < 0.3, np.full(2_000, 0.3), codes)
    for segments in ([], [np.flatnonzero(codes[0] < 12), np.flatnonzero(codes[1] == 2)]):
        terms = _Terms(rows, segments)
        hessian, target = terms.products(rng.random(2_000)), 20.0 * rng.normal(size=terms.number)
        spread = np.array([0.1, 3.0, 1e-4, 0.5])[: len(terms.blocks)]
        whole = hessian + np.diag(np.repeat(spread**-2.0, [len(block) for block in terms.blocks]))
        effects, variance, determinant = _estimated(hessian, target, terms.blocks, spread)
        np.testing.assert_allclose(effects, np.linalg.solve(whole, target), atol=1e-11)
        np.testing.assert_allclose(variance, np.diag(np.linalg.inv(whole)), rtol=1e-9)
        assert determinant == pytest.approx(np.linalg.slogdet(whole)[1], rel=1e-12)


def test_spreads_maximise_the_marginal_likelihood():
    rng = np.random.default_rng(3)
    basis = rng.normal(size=(200, 9))
    hessian, target = basis.T @ basis, 12.0 * rng.normal(size=9)
    blocks = [np.arange(4), np.arange(4, 9)]

    def negative(logarithms):
        """Return minus the marginal log-likelihood of the working responses, up to a constant."""
        prior = np.repeat(np.exp(2.0 * logarithms), [4, 5])
        covariance = np.diag(prior) + np.linalg.inv(hessian)
        estimate = np.linalg.solve(hessian, target)
        return (np.linalg.slogdet(covariance)[1] + estimate @ np.linalg.solve(covariance, estimate)) / 2.0

    expected = minimize(negative, np.log([0.2, 0.2]), method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-12})
    found = _spreads(hessian, target, blocks)
    assert negative(np.log(found)) == pytest.approx(expected.fun, abs=1e-4)


def test_calibrated_columns_have_no_effects():
    rng = np.random.default_rng(4)
    codes = [rng.integers(0, 6, 20_000), rng.integers(0, 4, 20_000)]
    p = rng.uniform(0.05, 0.5, 20_000)
    largest = []
    for _ in range(10):
        fit = fit_by_segment(rows_of(rng.random(20_000) < p, p, codes), METHODS["none"])
        largest.append(max(np.abs(own).max() for own in fit.effects))
    assert np.median(largest) < 0.02


def test_few_cases_are_shrunk_more():
    rng = np.random.default_rng(5)
    code = rng.choice(8, 30_000, p=[0.2, 0.2, 0.2, 0.2, 0.19, 0.004, 0.003, 0.003])
    effect = np.array([0.3, -0.3, 0.2, -0.2, 0.1, 0.3, -0.3, 0.2])
    p = rng.uniform(0.1, 0.4, 30_000)
    y = rng.random(30_000) < expit(logit(p) + effect[code])
    fit = fit_by_segment(rows_of(y, p, [code]), METHODS["none"])
    total = fit.effects[0].copy()
    for ((_, label),), own in fit.segments:
        total[label] += own
    free = []
    for label in range(8):
        table = ForecastTable.from_predictions(y[code == label], p[code == label])
        free.append(pr.measures.CalibrationIntercept().value(table))
    kept = total / np.array(free)
    assert kept[:4].min() > 0.85
    assert kept[5:].max() < kept[:4].min()


@pytest.fixture(scope="module")
def fixed():
    y, p, by = cases()
    return pr.recalibrate_segments(pr.cases(y, p, by=by), folds=5)


def test_the_gain_is_out_of_sample_and_beside_the_map_for_all_cases(fixed):
    assert fixed.candidate.tolist() == ["none", "auto", "auto by segment"]
    assert fixed.method == "auto by segment"
    assert fixed.verdict.outcome == "gain"
    assert "Relative to the map for all cases (auto), the gain of the map by segment is 0.0" in fixed.note
    y, p, by = cases(seed=2)
    truth = pr.log_score(y, p) - pr.log_score(y, fixed(p, by=by))
    assert fixed.verdict.gain == pytest.approx(truth, abs=0.004)
    names = {one.words for one in fixed.map.effects}
    assert "country = FR and new = True" in names


def test_the_map_is_written_in_other_dialects(fixed):
    pytest.importorskip("sqlglot", reason="SQLGlot is not installed")
    assert "FR" in fixed.map.to_sql("p", dialect="spark")


def test_the_map_is_stored_and_written_for_engines(fixed):
    own = StoredMap.from_json(fixed.map.to_json())
    assert own == fixed.map
    assert hash(own) == hash(fixed.map)
    _, p, by = cases(500, seed=3)
    by["country"][:3], by["age"][3] = "XX", np.nan
    expected = own(p, by=by)
    frame = pl.DataFrame({"p": p, **by})
    q = nw.from_native(frame).select(q=own.expression("p"))["q"].to_numpy()
    np.testing.assert_allclose(q, expected, rtol=0, atol=1e-15)
    sql = duckdb.sql(f"SELECT {own.to_sql('p')} AS q FROM frame").fetchnumpy()["q"]  # noqa: S608  (of the map)
    np.testing.assert_allclose(sql, expected, rtol=0, atol=1e-15)
    nulls = frame.head(2).with_columns(country=pl.lit(None, pl.String), age=pl.lit(None, pl.Float64))
    plain = nw.from_native(nulls).select(q=own.expression("p"))["q"].to_list()
    assert None not in plain


def test_frames_give_what_arrays_do(fixed):
    y, p, by = cases()
    frame = pl.DataFrame({"y": y, "p": p, **by})
    for given in (frame, frame.lazy()):
        found = pr.recalibrate_segments(pr.cases(given, "p", outcome="y", by=list(by)), folds=5)
        assert found.map == fixed.map
        np.testing.assert_allclose(found.gain, fixed.gain, rtol=1e-9)


@pytest.mark.parametrize("kind", [pl.DataFrame.clone, pl.DataFrame.to_pandas, pl.DataFrame.lazy])
@pytest.mark.parametrize(
    "options", [{"by": ["p"]}, {"by": ["age"], "cluster": "age"}, {"by": ["age"], "period": "age"}]
)
def test_a_column_of_segments_may_hold_the_forecasts_clusters_or_times(kind, options):
    y, p, by = cases(1_500)
    columns = {"p": p, "age": by["age"].round(1)}
    settings = {"method": "logistic", "folds": 3}
    found = pr.recalibrate_segments(
        pr.cases(kind(pl.DataFrame({"y": y, **columns})), "p", outcome="y", **options), **settings
    )
    arrays = {name: columns[own] for name, own in options.items() if name != "by"}
    by = {name: columns[name] for name in options["by"]}
    expected = pr.recalibrate_segments(pr.cases(y, p, by=by, **arrays), **settings)
    np.testing.assert_allclose(found.gain, expected.gain, rtol=1e-9)
    assert found.folds == expected.folds
    assert found.maps["logistic by segment"] == expected.maps["logistic by segment"]


def test_the_map_for_all_cases_is_used_if_segments_gain_nothing():
    rng = np.random.default_rng(6)
    p, by = rng.beta(2.0, 6.0, 3_000), {"site": rng.choice(["a", "b", "c"], 3_000)}
    found = pr.recalibrate_segments(pr.cases(rng.random(3_000) < p, p, by=by), folds=3)
    assert found.gain[2] <= found.gain[1] + 1e-12
    assert (found.method, found.map) == ("auto", found.maps["auto"])
    assert found.note.endswith("so the map for all cases is used.")
    np.testing.assert_array_equal(found(p[:5], by={"site": by["site"][:5]}), found(p[:5]))


@pytest.mark.parametrize(("method", "highest"), [("isotonic", 1.0), ("none", 0.8)])
def test_the_map_by_segment_is_used_if_the_other_has_an_infinite_score(method, highest):
    rng = np.random.default_rng(3)
    p, site = rng.uniform(0.02, 0.9, 600), rng.integers(0, 4, 600)
    y = rng.random(600) < p**1.3
    read = pr.cases(y, np.where(p > highest, 1.0, p), by={"site": site})
    found = pr.recalibrate_segments(read, method=method, folds=5, rule=pr.Log())
    scores = dict(zip(found.candidate.tolist(), found.score.tolist(), strict=True))
    assert scores[method] == np.inf > scores[f"{method} by segment"]
    assert found.method == f"{method} by segment"
    assert found.note.endswith("the gain of the map by segment is infinite.")


def test_the_order_of_rows_does_not_matter_among_equal_forecasts():
    y, p, by = cases(600)
    p, order = p.round(1), np.random.default_rng(2).permutation(600)
    columns = {name: by[name] for name in ("country", "plan")}
    shuffled = {name: values[order] for name, values in columns.items()}
    found = pr.recalibrate_segments(pr.cases(y, p, by=columns), folds=3, method="logistic")
    other = pr.cases(y[order], p[order], by=shuffled)
    again = pr.recalibrate_segments(other, folds=3, method="logistic")
    np.testing.assert_allclose(found.gain, again.gain, rtol=1e-9)


def test_clusters_stay_in_one_fold():
    y, p, by = cases(3_000)
    read = pr.cases(y, p, by={"plan": by["plan"]}, cluster=np.arange(3_000) // 5)
    found = pr.recalibrate_segments(read, folds=5)
    assert "clusters" in found.folds


def test_the_map_for_all_cases_is_kept_where_nothing_differs():
    own = SegmentMap(whole=IdentityMap(), effects=(), floor=1e-6)
    np.testing.assert_allclose(own([0.2, 0.7], by={}), [0.2, 0.7], rtol=1e-14)
    two = (SegmentEffect((("a", "x"),), 0.25), SegmentEffect((("a", "x"),), 0.25))
    both = SegmentMap(whole=IdentityMap(), effects=two, floor=1e-6)
    assert both([0.5], by={"a": ["x"]}) == pytest.approx([expit(0.5)])


@pytest.mark.parametrize(
    ("read", "options", "error", "words"),
    [
        ({"sample_weight": np.ones(200)}, {}, InputValueError, "is for cases without weights"),
        ({}, {"method": "choose"}, InputValueError, "method must be one of"),
        ({}, {"folds": np.arange(200) % 3}, InputValueError, "folds must be a whole number"),
        ({}, {"by": ["day"]}, InputValueError, "by must name keys of the cases; 'day' is none"),
        ({"by": {}}, {}, InputTypeError, "by must name one key or more"),
        (
            {"by": {"day": np.full(200, "2024-01-01", dtype="M8[D]")}},
            {},
            InputValueError,
            "must have labels that are texts",
        ),
    ],
)
def test_wrong_arguments_are_explained(read, options, error, words):
    y, p, by = cases(200)
    read = pr.cases(y, p, **({"by": by} | read))
    with pytest.raises(error, match=words):
        pr.recalibrate_segments(read, **options)


def test_keys_are_chosen_by_name():
    y, p, by = cases(600)
    read = pr.cases(y, p, by=by)
    found = pr.recalibrate_segments(read, by="country", method="logistic", folds=2)
    alone = pr.recalibrate_segments(pr.cases(y, p, by={"country": by["country"]}), method="logistic", folds=2)
    assert found.maps == alone.maps
    assert "by segment" not in pr.recalibrate(read).maps


def test_infinite_numbers_have_no_part_in_a_map():
    y, p, by = cases(200)
    by["age"][3] = np.inf
    frame = pl.DataFrame({"y": y, "p": p, **by})
    with pytest.raises(InputValueError, match=r"by\['age'\] must be finite.*; row 3 is inf"):
        pr.recalibrate_segments(pr.cases(y, p, by=by))
    with pytest.raises(InputValueError, match=r"by\['age'\] must be finite.*; row 3 is inf"):
        pr.recalibrate_segments(pr.cases(frame.lazy(), "p", outcome="y", by=list(by)))


def test_condensed_data_have_no_columns():
    with pytest.raises(InputTypeError, match="needs the cases"):
        pr.recalibrate_segments(pr.condense([0, 1] * 9, [0.2, 0.7] * 9), by=["g"])


def test_a_map_needs_its_columns(fixed):
    with pytest.raises(InputValueError, match="by must have the column 'country'"):
        fixed([0.5], by={"plan": [1]})
    with pytest.raises(InputValueError, match="must have the shape of y_proba"):
        fixed([0.5], by={"country": ["FR", "FR"], "plan": [1], "age": [50.0], "new": [True]})
    with pytest.raises(UnsupportedOperationError, match="by segment"):
        fixed.to_onnx()
    with pytest.raises(UnsupportedOperationError, match="by segment"):
        fixed.map.to_sklearn()
    with pytest.raises(InputTypeError, match=r"must hold .*numbers"):
        SegmentMap(whole=IdentityMap(), effects=OLD, floor=1e-6)([0.5], by={"age": ["old"]})
    with pytest.raises(InputTypeError, match="mapping of names to arrays; got DataFrame"):
        fixed([0.5], by=pl.DataFrame({"country": ["FR"], "plan": [1], "age": [50.0], "new": [True]}))
    with pytest.raises(InputTypeError, match="does not differ by segment"):
        pr.recalibrate([0, 1] * 30, [0.2, 0.7] * 30)([0.5], by={"plan": [1]})


OF_PLAN = SegmentMap(
    whole=IdentityMap(),
    effects=(SegmentEffect((("plan", 0),), 0.5), SegmentEffect((("plan", 3),), 1.5)),
    floor=1e-6,
)
SHIFTED = expit(logit(0.2) + np.array([0.5, 1.5, 0.0]))


@pytest.mark.parametrize(
    "plan",
    [
        *([0, 3, None], np.array([0.0, 3.0, np.nan]), np.ma.array([0, 3, 3], mask=[0, 0, 1]), pl.Series([0, 3, None])),
        *(pl.Series([0, 3, None]).to_pandas(), pd.array([0, 3, None], dtype="Int64"), [Decimal(0), Decimal(3), 5]),
    ],
    ids=["list", "floats", "masked", "polars", "pandas", "pandas, whole", "decimals"],
)
def test_missing_labels_have_no_shift(plan):
    np.testing.assert_allclose(OF_PLAN([0.2] * 3, by={"plan": plan}), SHIFTED, rtol=1e-15)


@pytest.mark.parametrize(
    "plan",
    [["0", "3", "x"], np.array(["0", "3", "x"]), [None, np.nan, "3"], pl.Series(["0", "3", None])],
    ids=["list", "array", "mixed", "polars"],
)
def test_texts_are_not_labels_that_are_numbers(plan):
    with pytest.raises(InputTypeError, match=r"by\['plan'\] must hold numbers, like .*; one is '[03]'"):
        OF_PLAN([0.2] * 3, by={"plan": plan})


def test_numbers_are_not_labels_that_are_texts(fixed):
    others = {"plan": [1, 1], "age": [50.0, 50.0], "new": [True, True]}
    for country in ([3, 3], np.array([np.nan, 2.0]), [dt.date(2026, 1, 1), None]):
        with pytest.raises(InputTypeError, match=r"by\['country'\] must hold texts"):
            fixed([0.5, 0.5], by={"country": country, **others})
    with pytest.raises(InputTypeError, match=r"by\['age'\] must hold numbers"):
        SegmentMap(whole=IdentityMap(), effects=OLD, floor=1e-6)([0.5, 0.5], by={"age": ["50", "60"]})


def test_a_map_by_hand_adds_its_effects_everywhere():
    effects = (
        SegmentEffect((("site", "FR"), ("age", (30.0, 50.0))), 0.5),
        SegmentEffect((("site", "DE"),), -0.25),
        SegmentEffect((("plan", 2),), 0.125),
    )
    own = SegmentMap(whole=IdentityMap(), effects=effects, floor=0.01)
    by = {"site": ["FR", "FR", "FR", "DE", "US"], "age": [30.0, 40.0, 50.0, 40.0, 40.0], "plan": [1, 2, 1, 2, 1]}
    p, shift = np.array([0.2, 0.0, 0.5, 0.9, 0.4]), np.array([0.0, 0.625, 0.5, -0.125, 0.0])
    expected = expit(logit(np.clip(p, 0.01, 0.99)) + shift)
    read = StoredMap.from_json(own.to_json())
    assert read == own
    assert [one.words for one in read.effects][:2] == ["site = FR and age from 30 to 50", "site = DE"]
    np.testing.assert_allclose(read(p, by=by), expected, rtol=1e-14)
    frame = pl.DataFrame({"p": p, **by})
    q = nw.from_native(frame).select(q=own.expression("p"))["q"].to_numpy()
    np.testing.assert_allclose(q, expected, rtol=1e-14)
    sql = duckdb.sql(f"SELECT {own.to_sql('p')} AS q FROM frame").fetchnumpy()["q"]  # noqa: S608  (of the map)
    np.testing.assert_allclose(sql, expected, rtol=1e-14)


def effect(label, **change):
    return {"effects": [{"places": [["age", label]], "log_odds": 0.5} | change]}


@pytest.mark.parametrize(
    "change",
    [
        {"effects": [{"places": []}]},
        {"effects": None},
        {"effects": "ab"},
        {"effects": {"places": 1}},
        {"whole": 3},
        {"floor": 0.0},
        effect(np.nan),
        effect(np.inf),
        effect(10**400),
        effect(None),
        effect({"a": 1}),
        effect([3, 1]),
        effect([1, 2, 3]),
        effect([10**400, None]),
        effect(["1", 2]),
        effect("x", log_odds=np.nan),
        effect("x", log_odds=10**400),
        effect("x", log_odds=True),
    ],
)
def test_broken_files_are_rejected(fixed, change):
    with pytest.raises((InputValueError, InputTypeError)):
        StoredMap.from_json(json.dumps(fixed.map.to_dict() | change))
    assert not issubclass(SegmentMap, RecalibrationMap)


def test_deeply_nested_text_is_rejected():
    with pytest.raises(InputValueError, match="must be the JSON of a map"):
        StoredMap.from_json("[" * 100_000)


def test_overlapping_parts_of_numbers_are_added_everywhere():
    effects = (*OLD, SegmentEffect((("age", (None, 70.0)),), 0.25), SegmentEffect((("age", (None, None)),), 0.125))
    own = SegmentMap(whole=IdentityMap(), effects=effects, floor=1e-6)
    assert [one.words for one in effects] == ["age above 50", "age up to 70", "age of any value"]
    frame = pl.DataFrame({"p": [0.5] * 3, "age": [40.0, 60.0, 80.0]})
    expected = expit([0.375, 0.875, 0.625])
    np.testing.assert_allclose(own(frame["p"], by={"age": frame["age"]}), expected, rtol=1e-14)
    np.testing.assert_allclose(
        nw.from_native(frame).select(q=own.expression("p"))["q"].to_numpy(), expected, rtol=1e-14
    )


LABELS = ["O'Neill", "a\\", "\\'; DROP TABLE t; --", 'a"b', "line\nbreak", "%s ${x} {{y}}", "--", ""]


@pytest.mark.parametrize("column", ["g", 'we"ird', "back`tick", "q'uote", "sl\\ash"])
def test_names_and_labels_are_quoted_in_sql(column):
    effects = tuple(SegmentEffect(((column, label),), 0.1 * place) for place, label in enumerate(LABELS, 1))
    own = SegmentMap(whole=IdentityMap(), effects=effects, floor=1e-6)
    frame = pl.DataFrame({"p": [0.5] * len(LABELS), column: LABELS})
    found = duckdb.sql(f"SELECT {own.to_sql('p')} AS q FROM frame").fetchnumpy()["q"]  # noqa: S608  (of the map)
    np.testing.assert_allclose(found, own(frame["p"], by={column: LABELS}), rtol=1e-14)
    sqlglot = pytest.importorskip("sqlglot", reason="SQLGlot is not installed")
    for dialect in ("postgres", "spark", "bigquery", "snowflake"):
        tests = sqlglot.parse_one(own.to_sql("p", dialect=dialect), read=dialect).find_all(sqlglot.exp.EQ)
        assert {(one.this.name, one.expression.this) for one in tests} == {(column, label) for label in LABELS}


def test_sql_has_no_nul():
    for column, label in (("g", "a\0b"), ("g\0", "a")):
        own = SegmentMap(whole=IdentityMap(), effects=(SegmentEffect(((column, label),), 0.1),), floor=1e-6)
        with pytest.raises(UnsupportedOperationError, match="NUL"):
            own.to_sql("p")
