"""The sums of pairs are those of their definition, however the cases are weighted, keyed, chunked, stored and added."""

import itertools
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import propriety as pr
from propriety.ledger.moments import OUTCOME, Moments
from propriety.ledger.pair_sums import POWERS, PairSums
from propriety.rules.functions import Excess

CLOSE = {"rtol": 1e-10, "atol": 1e-12}
RULES = [pr.Brier(), pr.Log(), Excess(), pr.Elementary(0.3), pr.BoundedBrier(0.1, 0.4), pr.ShiftedBrier(0.2)]
FORECASTS = st.sampled_from([0.0, 0.05, 0.1, 0.25, 0.3, 0.5, 0.9, 1.0]) | st.floats(0.001, 0.999)
RNG = np.random.default_rng(7)

cases = st.lists(
    st.tuples(
        st.booleans(),
        FORECASTS,
        FORECASTS,
        FORECASTS,
        st.sampled_from([0.0, 0.5, 1.0, 3.0]),
        st.sampled_from("xy"),
        st.integers(0, 3),
    ),
    min_size=1,
    max_size=15,
).filter(lambda drawn: any(case[4] > 0 for case in drawn))


def columns(drawn):
    y, p, q, r, weight, group, cluster = (np.array(column) for column in zip(*drawn, strict=True))
    return y, {"a": p, "b": q, "c": r}, weight, group, cluster


def loss(rule, p, event):
    return float(np.asarray(rule.loss(np.array([p]), event=event)).item())


def by_hand(y, forecasts, rule, weight):
    """Return the sums over some cases of each pair, one case after another."""
    pairs = list(itertools.combinations(forecasts.values(), 2))
    imagined, cubes, differ = np.zeros((len(pairs), 2, 9)), np.zeros((len(pairs), 4)), np.zeros(len(pairs), dtype=int)
    for pair, (first, second) in enumerate(pairs):
        for event, p1, p2, w in zip(y, first, second, weight, strict=True):
            if w == 0.0:
                continue
            with np.errstate(invalid="ignore"):
                apart = [np.subtract(loss(rule, p1, side), loss(rule, p2, side)) for side in (False, True)]
                cubes[pair] += [w**3 * apart[int(event)] ** k if k else w**3 for k in range(4)]
            differ[pair] += apart != [0.0, 0.0]
            if np.isfinite(apart).all():
                gap = apart[1] - apart[0]
                is_known = not gap or rule == Excess()  # Its differences are equal but for rounding.
                q = (p1 + p2) / 2 if is_known else np.clip(-apart[0] / gap, min(p1, p2), max(p1, p2))
                for outcome, chance in enumerate((1.0 - q, q)):
                    imagined[pair, outcome] += [w**j * chance * apart[outcome] ** k for j, k in POWERS]
    return imagined, cubes, differ


def sums_of(y, forecasts, rule, **options):
    return pr.condense(y, forecasts, rules=[rule], **options).moments(rule).pair_sums


def assert_same(one, other, **close):
    assert one.index.names == other.index.names
    for key in one.index.names:
        assert one.index.column(key) == other.index.column(key)
    np.testing.assert_allclose(one.imagined, other.imagined, **(close or CLOSE))
    np.testing.assert_allclose(one.cubes, other.cubes, **(close or CLOSE))
    np.testing.assert_array_equal(one.differ, other.differ)


@settings(max_examples=60)
@given(cases, st.sampled_from(RULES), st.booleans(), st.sampled_from([None, "cluster", "period"]))
def test_every_cell_is_that_of_the_definition(drawn, rule, weighted, unit):
    y, forecasts, weight, group, cluster = columns(drawn)
    weight = weight if weighted else np.ones(len(y))
    options = {"sample_weight": weight} if weighted else {}
    options |= {} if unit is None else {unit: cluster}
    found = sums_of(y, forecasts, rule, by={"group": group}, **options)
    assert found.index.names == (OUTCOME, "group")
    labels = list(zip(found.index.column(OUTCOME), found.index.column("group"), strict=True))
    present = sorted({(int(a), str(b)) for a, b, w in zip(y, group, weight, strict=True) if w > 0.0})
    assert labels == present
    for place, (outcome, site) in enumerate(labels):
        inside = (y == outcome) & (group == site)
        expected = by_hand(y[inside], {name: p[inside] for name, p in forecasts.items()}, rule, weight[inside])
        for values, own in zip((found.imagined, found.cubes, found.differ), expected, strict=True):
            np.testing.assert_allclose(values[place], own, **CLOSE)


@settings(max_examples=30)
@given(cases, st.lists(st.integers(1, 4), min_size=15, max_size=15))
def test_counted_rows_are_as_many_cases(drawn, counts):
    y, forecasts, _, group, _ = columns(drawn)
    counts = np.array(counts[: len(y)])
    found = sums_of(y, forecasts, pr.Log(), by={"group": group}, counts=counts)
    rows = np.repeat(np.arange(len(y)), counts)
    expected = {name: p[rows] for name, p in forecasts.items()}
    assert_same(found, sums_of(y[rows], expected, pr.Log(), by={"group": group[rows]}))


@settings(max_examples=30)
@given(cases, st.randoms(use_true_random=False), st.integers(1, 4), st.sampled_from(["cluster", "period", None]))
def test_parts_merge_to_the_whole_and_keys_add_up(drawn, random, pieces, unit):
    y, forecasts, weight, group, cluster = columns(drawn)
    own = {"by": group, "sample_weight": weight} | ({} if unit is None else {unit: cluster})
    whole = pr.condense(y, forecasts, **own).moments(pr.Brier())
    place = np.array([random.randrange(pieces) for _ in y])
    parts = []
    for piece in range(pieces):
        inside = place == piece
        if weight[inside].any():
            chosen = {name: values[inside] for name, values in own.items()}
            part = pr.condense(y[inside], {name: p[inside] for name, p in forecasts.items()}, **chosen)
            parts.append(part.moments(pr.Brier()))
    random.shuffle(parts)
    assert_same(Moments.merge(parts).pair_sums, whole.pair_sums)
    assert_same(sum(parts).pair_sums, whole.pair_sums)
    without = {name: values for name, values in own.items() if name != "by"}
    total = pr.condense(y, forecasts, **without).moments(pr.Brier())
    assert_same(whole.over(OUTCOME).pair_sums, total.pair_sums)
    if unit is not None:
        assert_same(whole.over(OUTCOME, unit).pair_sums, total.pair_sums)
        assert whole.over(unit).pair_sums.index.names == ()
    np.testing.assert_allclose(whole.over().pair_sums.imagined[0], whole.pair_sums.imagined.sum(axis=0), **CLOSE)


@pytest.mark.parametrize(
    "options", [{}, {"weighted": True}, {"weighted": True, "cells": 3000}, {"cells": 30}], ids=repr
)
def test_chunks_add_up(options, monkeypatch):
    n = 5000
    y, p, q = RNG.random(n) < 0.2, RNG.random(n), RNG.random(n)
    own = {"sample_weight": RNG.random(n)} if options.get("weighted") else {}
    own |= {"by": RNG.integers(0, options["cells"], n)} if "cells" in options else {}
    whole = sums_of(y, {"a": p, "b": q}, pr.Log(), **own)
    monkeypatch.setattr("propriety.tables.cases.CHUNK", 64)
    assert_same(sums_of(y, {"a": p, "b": q}, pr.Log(), **own), whole)


def test_infinite_losses_are_observed_but_not_imagined():
    y, p, q = [1, 0, 1], np.array([0.0, 0.3, 0.4]), np.array([0.2, 0.2, 0.1])
    found, rest = sums_of(y, {"a": p, "b": q}, pr.Log()), sums_of(y[1:], {"a": p[1:], "b": q[1:]}, pr.Log())
    np.testing.assert_allclose(found.imagined, rest.imagined)
    assert found.cubes[1, 0].tolist() == [2.0, np.inf, np.inf, np.inf]
    assert found.differ.tolist() == [[1], [2]]


def test_classes_and_single_models_have_none():
    assert pr.condense([0, 1], [0.2, 0.7]).moments(pr.Brier()).pair_sums is None
    rows = {"a": [[0.2, 0.3, 0.5]] * 3, "b": [[0.3, 0.3, 0.4]] * 3}
    assert pr.condense([0, 1, 2], rows).moments(pr.Brier()).pair_sums is None


def drawn(n=400, **options):
    p = RNG.random(n)
    q = np.where(RNG.random(n) < 0.2, p, RNG.random(n))
    frame = pl.DataFrame(
        {
            "y": (RNG.random(n) < p).astype(int),
            "a": p,
            "b": q,
            "c": np.round(RNG.random(n), 1),
            "w": np.where(RNG.random(n) < 0.1, 0.0, RNG.random(n)),
            "site": RNG.integers(0, 3, n),
            "ward": RNG.integers(0, 20, n),
        }
    )
    return frame, {"outcome": "y", "rules": RULES, **options}


ASKED = [{}, {"sample_weight": "w"}, {"by": ["site"], "cluster": "ward"}, {"sample_weight": "w", "period": "ward"}]


@pytest.mark.parametrize("options", ASKED, ids=repr)
@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_engines_have_the_same_sums(engine, options):
    frame, asked = drawn(**options)
    if engine == "duckdb":
        duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
        connection = duckdb.connect()  # Kept, because its relations end with it.
        source = connection.from_arrow(frame.to_arrow())
    else:
        source = frame.lazy()
    found, expected = (pr.condense(one, ["a", "b", "c"], **asked) for one in (source, frame))
    for rule in expected.rules:
        assert_same(found.moments(rule).pair_sums, expected.moments(rule).pair_sums, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("options", [*ASKED, {"by": ["site"], "partition": ["site"]}], ids=repr)
def test_stored_ledgers_have_the_same_sums(options, tmp_path):
    frame, asked = drawn(**{name: value for name, value in options.items() if name != "partition"})
    ledger = pr.condense(frame, ["a", "b", "c"], **asked)
    ledger.to_parquet(tmp_path / "l", partition=options.get("partition", ()))
    assert not ledger.to_parquet(tmp_path / "l", partition=options.get("partition", ())).added
    found = pr.Ledger.from_parquet(tmp_path / "l")
    for rule in ledger.rules:
        assert_same(found.moments(rule).pair_sums, ledger.moments(rule).pair_sums)


def test_parts_of_a_ledger_have_their_sums_and_parts_of_its_clusters_have_none():
    frame, asked = drawn(by=["site"], cluster="ward")
    ledger = pr.condense(frame, ["a", "b"], **asked)
    for site in (1, [0, 2]):
        wanted = frame.filter(pl.col("site").is_in([site] if isinstance(site, int) else site))
        expected = pr.condense(wanted, ["a", "b"], **asked).moments(pr.Log()).pair_sums
        assert_same(ledger.where(site=site).moments(pr.Log()).pair_sums, expected)
    moments = ledger.moments(pr.Log())
    assert moments.where(moments.index.matches({"cluster": [1, 2]})).pair_sums is None
    assert_same(
        moments.where(moments.index.matches({OUTCOME: 1})).pair_sums,
        moments.pair_sums.where(moments.pair_sums.index.matches({OUTCOME: 1})),
    )


def test_weights_of_another_prevalence_scale_the_sums():
    frame, asked = drawn(by=["site"], sample_weight="w")
    eager, lazy = (pr.condense(one, ["a", "b"], **asked) for one in (frame, frame.lazy()))
    for rule in RULES:
        one, other = (pr.at_prevalence(ledger, 0.05).moments(rule).pair_sums for ledger in (eager, lazy))
        assert_same(other, one, rtol=1e-9, atol=1e-9)


def test_sums_are_moved_with_the_losses():
    n, slope = 300, -1.7
    y, p, q, weight = RNG.random(n) < 0.4, RNG.random(n), RNG.random(n), RNG.random(n)
    level = np.array([[0.3, -0.8]])
    found = sums_of(y, {"a": p, "b": q}, pr.Brier(), sample_weight=weight).moved(slope, level)
    apart = [(p - side) ** 2 - (q - side) ** 2 for side in (0, 1)]
    chance = np.clip(-apart[0] / (apart[1] - apart[0]), np.minimum(p, q), np.maximum(p, q))
    moved = [slope * own + own_level for own, own_level in zip(apart, level[0], strict=True)]
    for cell, inside in enumerate((~y, y)):
        for outcome, draw in enumerate((1 - chance, chance)):
            expected = [(weight**j * draw * moved[outcome] ** k)[inside].sum() for j, k in POWERS]
            np.testing.assert_allclose(found.imagined[cell, 0, outcome], expected, **CLOSE)
        expected = [(weight**3 * moved[cell] ** k)[inside].sum() for k in range(4)]
        np.testing.assert_allclose(found.cubes[cell, 0], expected, **CLOSE)


def test_infinite_sums_only_change_their_sign():
    infinite = sums_of([1, 0], {"a": [0.0, 0.3], "b": [0.2, 0.2]}, pr.Log()).moved(-1.0)
    assert infinite.cubes[1, 0].tolist() == [1.0, -np.inf, np.inf, -np.inf]


@pytest.mark.parametrize("measure", [pr.measures.NetBenefit(0.3), pr.measures.Skill(pr.Brier())], ids=repr)
def test_measures_move_the_sums_with_the_means(measure):
    frame, asked = drawn(sample_weight="w")
    moments = pr.condense(frame, ["a", "b", "c"], **(asked | {"rules": [measure.rule]})).moments(measure.rule)
    moved = measure.of_moments(moments, None)
    total = moved.pair_sums.over()
    assert isinstance(total, PairSums)
    # With equal weights, the first power of the observed sums is the mean.
    flat = pr.condense(frame, ["a", "b", "c"], outcome="y", rules=[measure.rule]).moments(measure.rule)
    own = measure.of_moments(flat, None)
    means = own.pair_sums.over().cubes[0, :, 1] / own.cases
    np.testing.assert_allclose(means, own.means[3:], **CLOSE)
    np.testing.assert_array_equal(total.differ, moments.pair_sums.over().differ)
    np.testing.assert_allclose(replace(total).imagined[..., 0], moments.pair_sums.over().imagined[..., 0], **CLOSE)
