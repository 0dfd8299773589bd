"""Ledgers of a few cases, every number of which is computed here case by case."""

import datetime as dt
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import propriety as pr
from propriety.errors import InputValueError
from propriety.ledger import case_moments
from propriety.ledger.engine_moments import cells_for
from propriety.ledger.key_index import KeyIndex
from propriety.ledger.keyed_tables import KeyedTables
from propriety.tables.forecast_table import ForecastTable

Y = np.array([0, 1, 1, 0, 1, 0, 0, 1])
P = np.array([0.25, 0.75, 0.5, 0.125, 0.875, 0.25, 0.5, 0.625])
Q = np.array([0.5, 0.5, 0.75, 0.25, 0.25, 0.125, 0.375, 0.875])
WEIGHT = np.array([1.0, 2.0, 0.0, 1.0, 3.0, 2.0, 1.0, 1.0])
SITE = np.array(list("aabbabba"))
SERIES = ("p", "q", "p - q")


def by_hand(keep, weight):
    """Return n, weight, squares, means, leans and spreads of the Brier losses of some cases, in fractions."""
    rows = np.flatnonzero(keep & (weight > 0.0))
    weights = [Fraction(float(weight[row])) for row in rows]
    loss = {name: [(Fraction(float(x[row])) - int(Y[row])) ** 2 for row in rows] for name, x in (("p", P), ("q", Q))}
    loss["p - q"] = [a - b for a, b in zip(loss["p"], loss["q"], strict=True)]
    total, squares = sum(weights), sum(w * w for w in weights)
    means = [sum(w * x for w, x in zip(weights, loss[name], strict=True)) / total for name in SERIES]
    away = [[x - mean for x in loss[name]] for name, mean in zip(SERIES, means, strict=True)]
    leans = [sum(w * w * d for w, d in zip(weights, own, strict=True)) for own in away]
    spreads = [sum(w * w * d * d for w, d in zip(weights, own, strict=True)) for own in away]
    return len(rows), total, squares, means, leans, spreads


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("keyed", [False, True], ids=["whole", "by site"])
@pytest.mark.parametrize("lazy", [False, True], ids=["arrays", "engine"])
def test_the_moments_of_every_cell_are_those_of_its_cases(weighted, keyed, lazy):
    shared = ({"by": "site"} if keyed else {}) | ({"sample_weight": "w"} if weighted else {})
    frame = pl.DataFrame({"y": Y, "p": P, "q": Q, "w": WEIGHT, "site": SITE})
    frame = frame.lazy() if lazy else frame
    found = pr.condense(frame, ["p", "q"], outcome="y", rules=[pr.Brier()], **shared).moments(pr.Brier())
    weight = WEIGHT if weighted else np.ones(len(Y))
    keys = dict(zip(found.index.names, (found.index.column(name) for name in found.index.names), strict=True))
    assert found.cases == (weight > 0.0).sum()
    for row in range(len(found.n)):
        keep = keys["outcome"][row] == Y
        keep &= keys["site"][row] == SITE if keyed else True
        n, total, squares, means, leans, spreads = by_hand(keep, weight)
        assert (found.n[row], found.weight[row], found.weight_squares[row]) == (n, total, squares)
        for column, expected in (("mean", means), ("lean", leans), ("spread", spreads)):
            np.testing.assert_allclose(getattr(found, column)[row], [float(x) for x in expected], atol=1e-15)


def test_cells_that_are_gathered_in_parts_are_the_same(monkeypatch):
    n = 5000
    rng = np.random.default_rng(1)
    y, p, q, site = rng.integers(0, 2, n), rng.random(n), rng.random(n), rng.integers(0, 40, n)
    expected = pr.condense(y, {"p": p, "q": q}, by={"site": site}, rules=[pr.Log()]).moments(pr.Log())
    monkeypatch.setattr(case_moments, "KEPT", 0)
    monkeypatch.setattr("propriety.tables.cases.CHUNK", 300, raising=False)
    found = pr.condense(y, {"p": p, "q": q}, by={"site": site}, rules=[pr.Log()]).moments(pr.Log())
    for column in ("n", "weight", "mean", "lean", "spread"):
        np.testing.assert_allclose(getattr(found, column), getattr(expected, column), rtol=1e-10, atol=1e-12)


def test_a_ledger_of_tables_has_their_facts():
    tables = {"p": ForecastTable.from_predictions(Y, P, sample_weight=WEIGHT)}
    found = pr.Ledger.of_tables(tables)
    assert (found.models, found.labels, found.keys, found.dependence, found.kind) == (("p",), None, {}, None, "binary")
    assert (found.is_weighted, found.dropped, found.n, found.rules) == (True, 0, tables["p"].n, ())
    assert found.table("p") is tables["p"]
    dropped = ForecastTable.from_predictions([0, 1, 1], [0.5, None, 0.25], missing="drop")
    coarse = pr.Ledger.of_tables({"p": tables["p"].grid(8)})
    assert coarse.keyed_tables("p", coarse.events[0]).cells == 8
    other = pr.Ledger.of_tables({"m": dropped})
    assert (other.is_weighted, other.dropped, other.n) == (False, 1, 2)


def test_times_are_known_with_and_without_the_cases():
    day = np.array([3, 1, 2, 1, 3, 2, 2, 1])
    ledger = pr.condense(Y, {"p": P}, period=day, rules=[pr.Brier()])
    assert ledger.periods() == [1, 2, 3]
    assert ledger.grid(4).periods() == [1, 2, 3]


def test_tables_of_weighted_and_plain_cases_are_added_with_their_squares():
    plain, weighted = pr.condense(Y, {"p": P}), pr.condense(Y, {"p": P}, sample_weight=WEIGHT)
    both = pr.Ledger.merge([plain, weighted]).keyed_tables("p", plain.events[0])
    assert isinstance(both, KeyedTables)
    weights = np.concatenate([np.ones(len(Y)), WEIGHT])
    forecasts, outcomes = np.tile(P, 2), np.tile(Y, 2)
    for place, forecast in enumerate(both.forecast):
        for column, happened in (("event", 1), ("non_event", 0)):
            own = weights[(forecasts == forecast) & (outcomes == happened)]
            assert getattr(both, f"{column}s")[place] == own.sum()
            assert getattr(both, f"{column}_squares")[place] == (own**2).sum()


@pytest.mark.parametrize(
    ("rows", "keys", "tables", "cells"),
    [
        (2**20, 1, 1, 2**16),
        (2**20 - 1, 1, 1, 2**15),
        (2**30, 1, 1, 2**20),
        (2**30, 1, 8, 2**19),
        (2**30, 2**6, 2, 2**15),
    ],
)
def test_cells_are_a_power_of_two_within_every_limit(rows, keys, tables, cells):
    assert cells_for(rows, keys, tables) == cells


def test_unusual_minimums_are_explained():
    ledger = pr.condense(Y, {"p": P}).grid(4)
    with pytest.raises(
        InputValueError, match=r"smallest must be 1, or from 3 to .*got 2.*Hint: with 2, every suppressed"
    ):
        pr.coarsen(ledger, cells=4, smallest=2)


RNG = np.random.default_rng(6)
TRUTH = RNG.dirichlet([1.0, 2.0, 1.0], 90)
GRADE = (TRUTH.cumsum(axis=1) < RNG.random((90, 1))).sum(axis=1)
BLUNT = (TRUTH + 1.0) / 4.0
MANY = pl.DataFrame(
    {"y": GRADE, "event": (GRADE == 0).astype(int), "w": RNG.integers(0, 4, 90) / 2, "ward": RNG.integers(0, 7, 90)}
    | {"half": np.arange(90) % 2}
    | {f"{name}_{k}": rows[:, k] for name, rows in (("sharp", TRUTH), ("blunt", BLUNT)) for k in range(3)}
)
SHARED = [
    {},
    {"period": "ward"},
    {"cluster": "ward"},
    {"sample_weight": "w", "by": "ward"},
    {"cluster": "ward", "by": "half"},
]


@pytest.mark.parametrize("shared", SHARED, ids=repr)
@pytest.mark.parametrize("classes", [1, 3], ids=["event", "classes"])
def test_an_engine_fills_the_ledger_of_the_arrays(shared, classes):
    if classes == 1:
        models, outcome, rules = ["sharp_0", "blunt_0"], "event", [pr.Brier(), pr.Log()]
    else:
        models = {name: [f"{name}_{k}" for k in range(3)] for name in ("sharp", "blunt")}
        outcome, rules = "y", [pr.Brier(), pr.RankedProbability()]
    found, expected = (
        pr.condense(frame, models, outcome=outcome, rules=rules, **shared) for frame in (MANY.lazy(), MANY)
    )
    assert (found.n, found.kind, found.keys, found.dependence) == (
        expected.n,
        expected.kind,
        expected.keys,
        expected.dependence,
    )
    assert (found.is_weighted, found.rates) == (expected.is_weighted, pytest.approx(expected.rates))
    if "period" in shared:
        assert found.periods() == expected.periods() == sorted(MANY["ward"].unique().to_list())
    for rule in rules:
        one, other = found.moments(rule), expected.moments(rule)
        assert one.index.names == other.index.names
        assert [one.index.column(name) for name in one.index.names] == [
            other.index.column(name) for name in other.index.names
        ]
        for column in ("n", "weight", "weight_squares", "mean", "lean", "spread"):
            np.testing.assert_allclose(getattr(one, column), getattr(other, column), rtol=1e-9, atol=1e-12)
    for model in found.models:
        for label in expected.labels or [None]:
            one, other = found.table(model, label), expected.table(model, label)
            np.testing.assert_allclose(one.forecast, other.forecast, rtol=1e-15)
            np.testing.assert_allclose(one.events, other.events, rtol=1e-12)
            np.testing.assert_allclose(one.non_events, other.non_events, rtol=1e-12)


ROLES = [{"by": "y"}, {"by": ["g", "y"]}, {"cluster": "y"}, {"period": "y"}, {"sample_weight": "y"}, {"forecasts": "y"}]


@pytest.mark.parametrize("lazy", [False, True], ids=["eager", "lazy"])
@pytest.mark.parametrize("role", ROLES, ids=repr)
def test_the_outcome_has_no_other_role(role, lazy):
    frame = pl.DataFrame({"y": Y, "p": P, "g": SITE})
    frame = frame.lazy() if lazy else frame
    (name,) = role
    with pytest.raises(InputValueError, match=f"{name}.* must not name 'y', the column of the outcomes"):
        pr.condense(
            frame, role.get("forecasts", "p"), outcome="y", **{k: v for k, v in role.items() if k != "forecasts"}
        )
    if name == "by":
        for function in (pr.cases, pr.slices):
            with pytest.raises(InputValueError, match="by must not name 'y'"):
                function(frame, "p", outcome="y", by=role["by"])


DAY = dt.date(2026, 1, 1)
KINDS = [
    ("1", 1),
    (1, "1"),
    (DAY, "2026-01-01"),
    (DAY, dt.datetime.fromisoformat("2026-01-01T00:00")),
    (DAY, np.datetime64("2026-01-01T00")),
]


@pytest.mark.parametrize(("one", "other"), KINDS, ids=repr)
def test_keys_of_different_types_are_not_added(one, other):
    parts = [pr.condense(Y, {"p": P}, by={"k": [label] * len(Y)}) for label in (one, other)]
    with pytest.raises(InputValueError, match="ledgers must have labels of one type in 'k' to be added; they are"):
        pr.Ledger.merge(parts)


@pytest.mark.parametrize(
    ("one", "other"), [(1, 2.5), (True, 0), ("a", "b"), (DAY, DAY + dt.timedelta(days=1))], ids=repr
)
def test_keys_of_one_type_are_added(one, other):
    parts = [pr.condense(Y, {"p": P}, by={"k": [label] * len(Y)}) for label in (one, other)]
    assert set(pr.Ledger.merge(parts).keys["k"]) == {one, other}


def test_moments_of_a_net_benefit_are_asked_for_by_their_measure(tmp_path):
    measure = pr.measures.NetBenefit(0.25)
    plain, own = (pr.condense(Y, {"p": P}, cluster=SITE, rules=rules).grid(8) for rules in ([], [measure]))
    with pytest.raises(InputValueError, match=r"Hint: condense the cases with rules=\[measures.NetBenefit\(0.25\), "):
        pr.estimate(plain, "p", measure)
    assert pr.estimate(own, "p", measure).value == pytest.approx((4 - 3 / 3) / 8)


def test_combinations_of_very_many_labels_stay_apart_and_in_order():
    """The number of combinations of four keys with 70,000 labels does not fit into 64 bits."""
    codes = np.random.default_rng(4).integers(0, 70_000, (200, 4))
    codes[100:, :3] = codes[:100, :3]
    labels = tuple(range(70_000))
    index = KeyIndex(("a", "b", "c", "d"), (labels,) * 4, codes)
    found = index.flat()
    order = np.lexsort(codes.T[::-1])
    np.testing.assert_array_equal(np.argsort(found, kind="stable"), order)
    once, entry = index.distinct()
    assert len(once) == 200
    np.testing.assert_array_equal(once.codes[entry], codes)


def test_an_entry_that_is_not_there_is_named():
    index = KeyIndex.of_columns({"site": ["a", "b"]})
    with pytest.raises(InputValueError, match="the ledger has no cases with site='c'"):
        index.entry_of(KeyIndex.of_columns({"day": [1, 1, 2], "site": ["b", "a", "c"]}))


def test_combinations_are_counted_with_and_without_a_sort():
    columns = {"a": [2, 1, 2, 1, 2], "b": ["x", "x", "y", "x", "x"]}
    once, entry = KeyIndex.of_columns(columns).distinct()
    assert [once.column(name) for name in ("a", "b")] == [[1, 2, 2], ["x", "x", "y"]]
    assert entry.tolist() == [1, 0, 2, 0, 1]
    sparse = KeyIndex(("a",), (tuple(range(50)),), np.array([[40], [3], [40]]))
    once, entry = sparse.distinct()
    assert (once.column("a"), entry.tolist()) == ([3, 40], [1, 0, 1])
