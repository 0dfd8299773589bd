"""The laws of ledgers: they add, split and forget keys as their cases do, whatever the order of the rows."""

import datetime as dt
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import propriety as pr
from propriety.errors import InputTypeError, InputValueError
from propriety.ledger.keyed_tables import _inside_cells
from propriety.rules.catalogue import RULES
from propriety.rules.functions import Excess
from propriety.tables.events import TOP, Event
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.validation import read_cases

RNG = np.random.default_rng(4)
N = 60
Y, P, Q = RNG.integers(0, 2, N), RNG.random(N), RNG.random(N)
SITE, DAY = RNG.choice(["x", "y"], N), RNG.integers(1, 4, N)


def forgetful(ledger):
    """Return the ledger without its cases, as one from files is."""
    return replace(ledger, source=None, _whole={})


def some(draw, cases):
    """Draw which cases are chosen; at least one of them has weight."""
    chosen = np.array(draw(st.lists(st.booleans(), min_size=len(cases), max_size=len(cases))))
    return chosen if cases.weight[chosen].any() else chosen | (cases.weight == cases.weight.max())


@pytest.mark.slow
@given(data=st.data())
def test_the_ledger_of_all_cases_is_the_sum_of_those_of_the_parts(data, drawn_cases, same):
    cases = data.draw(drawn_cases)
    place = np.array(data.draw(st.lists(st.integers(0, 2), min_size=len(cases), max_size=len(cases))))
    parts = [cases.at(place == part) for part in range(3)]
    ledgers = [part.ledger() for part in parts if part.weight.any()]
    same(sum(ledgers), cases.ledger())
    same(pr.Ledger.merge(reversed(ledgers)), cases.ledger())
    assert sum(ledgers).is_weighted == cases.ledger().is_weighted


@pytest.mark.slow
@given(data=st.data())
def test_the_order_of_the_rows_does_not_matter(data, drawn_cases, same):
    cases = data.draw(drawn_cases)
    order = np.array(data.draw(st.permutations(range(len(cases)))))
    same(cases.at(order).ledger(), cases.ledger())


@pytest.mark.slow
@given(data=st.data())
def test_keys_that_are_added_up_were_never_there(data, drawn_cases, same):
    cases = data.draw(drawn_cases)
    keys = cases.options["by"]
    gone = data.draw(st.lists(st.sampled_from(sorted(keys)), unique=True)) if keys else []
    fewer = cases.at(slice(None))
    fewer.options["by"] = {name: values for name, values in keys.items() if name not in gone}
    whole = cases.ledger()
    for ledger in (whole, forgetful(whole)):  # With its cases, and without.
        found = ledger.over(*gone)
        assert found.rules == whole.rules
        same(found, fewer.ledger())
        for model in whole.models:
            for event in whole.events:
                one, other = found.table(model, event), ledger.table(model, event)
                assert (one.n, one.n_events) == (other.n, other.n_events)
                np.testing.assert_allclose(one.events, other.events, rtol=1e-12)


@pytest.mark.slow
@given(data=st.data())
def test_some_labels_are_the_ledger_of_their_cases(data, drawn_cases, same):
    cases = data.draw(drawn_cases)
    keys = cases.options["by"]
    if not keys:
        return
    name = data.draw(st.sampled_from(sorted(keys)))
    present = sorted(set(keys[name][cases.weight > 0].tolist()))
    labels = data.draw(st.lists(st.sampled_from(present), unique=True, min_size=1))
    expected = cases.at(np.isin(keys[name], labels)).ledger()
    whole = cases.ledger()
    for ledger in (whole, forgetful(whole)):
        found = ledger.where(**{name: labels if len(labels) > 1 else labels[0]})
        assert found.rules == whole.rules
        same(found, expected)
        for model in whole.models:
            for event in whole.events:
                one = ledger.table(model, event, **{name: labels})
                np.testing.assert_allclose(one.events, found.table(model, event).events, rtol=1e-12)
                assert one.n == found.n


@pytest.mark.slow
@given(data=st.data(), cells=st.sampled_from([(4, 16), (64, 8), (2, 2), (None, 4), (1024, None)]))
def test_grids_are_merged_on_the_coarsest(data, cells, drawn_cases, same):
    cases = data.draw(drawn_cases)
    chosen = some(data.draw, cases)
    parts = [cases.at(chosen), cases.at(~chosen)]
    if not parts[1].weight.any():
        return
    merged = parts[0].ledger(cells=cells[0]) + parts[1].ledger(cells=cells[1])
    same(merged, cases.ledger(cells=min(filter(None, cells))))


@pytest.mark.slow
@given(data=st.data(), cells=st.sampled_from([1, 2, 8, 2**10]))
def test_a_grid_is_that_of_the_tables(data, cells, drawn_cases, same):
    cases = data.draw(drawn_cases)
    exact, coarse = cases.ledger(), cases.ledger(cells=cells)
    same(exact.grid(cells), coarse)
    for model in exact.models:
        for event in exact.events:
            one, other = exact.table(model, event).grid(cells), coarse.table(model, event)
            np.testing.assert_allclose(one.forecast, other.forecast, rtol=1e-12, atol=1e-15)
            np.testing.assert_allclose(one.non_events, other.non_events, rtol=1e-12)
            assert other.mean_forecast == pytest.approx(exact.table(model, event).mean_forecast, rel=1e-12, abs=1e-15)


@pytest.mark.slow
@given(data=st.data())
def test_tables_and_moments_are_those_of_the_functions_for_cases(data, drawn_cases):
    cases = data.draw(drawn_cases)
    ledger, weight = cases.ledger(), cases.options.get("sample_weight")
    for model, p in cases.forecasts.items():
        if ledger.kind == "binary":
            expected = {Event("event"): ForecastTable.from_predictions(cases.y, p, sample_weight=weight)}
        else:
            read = read_cases(cases.y, p, sample_weight=weight, kind="classes")
            expected = {
                Event(kind, place): ForecastTable.from_cases(own)
                for kind in ("class", *(["cut"] if cases.ordered else []))
                for place, own in enumerate(read.events(kind))
            }
        assert set(expected) == set(ledger.events) - {TOP}
        for event, table in expected.items():
            found = ledger.table(model, event)
            assert (found.n, found.n_events, found.is_weighted) == (table.n, table.n_events, table.is_weighted)
            np.testing.assert_allclose(found.forecast, table.forecast, rtol=1e-12)
            np.testing.assert_allclose(found.events, table.events, rtol=1e-12)
        for rule in ledger.rules:
            if rule != Excess():
                score = float(pr.mean_score(cases.y, p, rule=rule, sample_weight=weight))
                place = ledger.models.index(model)
                assert ledger.moments(rule).means[place] == pytest.approx(score, rel=1e-12, abs=1e-15)


def test_what_a_ledger_says_of_itself():
    ledger = pr.condense(Y, {"a": P, "b": Q}, by={"site": SITE, "day": DAY})
    assert repr(ledger) == "Ledger(models=['a', 'b'], kind=binary, n=60, keys={'site': 2, 'day': 3})"
    assert ledger.keys == {"site": ("x", "y"), "day": (1, 2, 3)}
    assert ledger.rules == (pr.Brier(), pr.Log(), Excess())
    assert ledger.rates == {"event": pytest.approx(Y.mean())}
    assert (ledger.classes, ledger.n, ledger.is_weighted, ledger.dependence) == (None, N, False, None)
    rows = RNG.dirichlet([1, 1, 1], N)
    grade = pr.condense(np.array(["c", "a", "b"])[DAY % 3], {"a": rows}, labels=["a", "b", "c"], ordered=True)
    assert (grade.kind, grade.classes) == ("ordinal", 3)
    assert grade.rates == pytest.approx(
        {label: np.mean(np.array(["c", "a", "b"])[DAY % 3] == label) for label in "abc"}
    )
    assert grade.table(event="b").n_events == np.isin(np.array(["c", "a", "b"])[DAY % 3], ["a", "b"]).sum()
    plain = pr.condense(DAY - 1, {"a": rows})
    assert plain.table(event=2).n_events == (DAY == 3).sum()
    assert plain.kind == "multiclass"


def test_moments_are_learnt_when_they_are_asked_for():
    ledger = pr.condense(Y, {"a": P})
    assert pr.Spherical() not in ledger.rules
    assert ledger.has_moments(pr.Spherical())
    assert ledger.moments(pr.Spherical()).means[0] == pytest.approx(pr.spherical_score(Y, P))
    assert pr.Spherical() in ledger.rules
    alone = ledger.grid(64)
    assert not alone.has_moments(pr.Tsallis())
    assert alone.has_moments(pr.Spherical())


def test_dropped_rows_are_counted_and_add():
    y = [None, *Y.tolist()]
    ledger = pr.condense(y, {"a": [0.5, *P], "b": [0.1, 0.2, *Q[1:-1], None]}, missing="drop")
    assert (ledger.n, ledger.dropped) == (N - 1, 2)
    assert (ledger + ledger).dropped == 4
    assert ledger.table("a").dropped == 2


def test_ordered_categories_keep_their_order():
    def one(labels):
        grade = pd.Categorical(np.resize(labels, N), ["low", "mid", "high"], ordered=True)
        return pr.condense(Y, {"a": P}, by={"grade": pd.Series(grade)})

    assert one(["mid", "high", "low"]).keys == {"grade": ("low", "mid", "high")}
    assert one(["mid", "high", "low"]).where(grade=["high", "low"]).keys == {"grade": ("low", "high")}
    assert (one(["low", "mid"]) + one(["high", "mid"])).keys == {"grade": ("low", "mid", "high")}
    assert (one(["mid", "high", "low"]) + one(["mid"])).index.column("grade") == ["low", "mid", "high"]


def test_one_case_is_a_ledger():
    ledger = pr.condense([1], {"a": [0.3], "b": [0.4]}, by={"site": ["x"]}, cluster=["c"])
    assert (ledger.n, ledger.table("a", site="x").n_events, len(ledger.index)) == (1, 1, 1)
    assert (ledger + ledger).moments(pr.Brier()).units == 1


def test_a_group_without_weight_is_not_there():
    weight = np.where(SITE == "x", 0.0, 1.0)
    ledger = pr.condense(Y, {"a": P}, by={"site": SITE, "day": DAY}, sample_weight=weight)
    assert ledger.keys["site"] == ("y",)
    assert ledger.n == (SITE == "y").sum()
    with pytest.raises(InputValueError, match="site must be one of its labels; got 'x'"):
        ledger.table(site="x")
    with pytest.raises(InputValueError, match="y_proba must lie in"):  # They are judged before they are left out.
        pr.condense(Y, P + 2 * (SITE == "x"), sample_weight=weight)


def test_dates_and_truths_are_labels():
    day = np.array(["2024-01-02", "2024-01-01"], dtype="datetime64[D]")[np.arange(N) % 2]
    ledger = pr.condense(Y, {"a": P}, by={"day": day, "flag": SITE == "x"})
    assert ledger.keys == {"day": (dt.date(2024, 1, 1), dt.date(2024, 1, 2)), "flag": (False, True)}
    assert ledger.table(day=dt.date(2024, 1, 1)).n == 30


def test_means_that_rounding_moves_out_of_their_cell_stay_in_it():
    cells = 4
    cell = np.array([-1.0, 0.0, 0.0, 1.0, 1.0, 3.0, 4.0])
    mean = np.array([0.5, 0.0, 0.1, 0.2, 0.6, 1.0, 0.9])
    found = _inside_cells(mean, cell, cells)
    assert found[[0, 6]].tolist() == [0.0, 1.0]  # Forecasts of 0 and 1 have cells of their own.
    assert 0.0 < found[1] < 1e-300
    assert found[[2, 3]].tolist() == [0.1, 0.25]
    assert found[[4, 5]].tolist() == [np.nextafter(0.5, 0.0), np.nextafter(1.0, 0.0)]


def test_tables_alone_are_a_ledger_too():
    table = ForecastTable.from_predictions(Y, P).grid(16)
    ledger = pr.Ledger.of_tables({"a": table})
    assert ledger.table("a").cells == 16
    assert (ledger.n, ledger.rules, ledger.cases) == (N, (), None)
    assert (ledger + ledger).n == 2 * N


def test_what_is_missing_is_said():
    ledger = pr.condense(Y, {"a": P, "b": Q}, by={"site": SITE})
    for call, law in (
        (
            lambda: ledger.grid(8).moments(pr.Tsallis()),
            r"no moments of Tsallis\(\), and no cases .* rules=\[Tsallis\(\), ...\]",
        ),
        (lambda: ledger.table("c"), r'model must be one of "a", "b"; got .c.'),
        (ledger.table, r"one model must be chosen; there are \['a', 'b'\]"),
        (lambda: ledger.table(np.array(["a"])), r'model must be one of "a", "b"; got array'),
        (lambda: ledger.table("a", "x"), "the forecasts are of one event, so no event can be chosen; got event='x'"),
        (lambda: ledger.table("a", day=1), r"the ledger has no key 'day'; its keys are \['site'\]"),
        (lambda: ledger.table("a", site="z"), "site must be one of its labels; got 'z'"),
        (lambda: ledger.where(site=["x", "z"]), "site must be one of its labels; got 'z'"),
        (lambda: ledger.over("day"), "the ledger has no key 'day'"),
        (
            lambda: ledger.grid(8).grid(16),
            "a grid can only be made coarser; the table has 8 cells and 16 were requested",
        ),
        (lambda: ledger.grid(3), "cells must be a power of two"),
        (
            lambda: ledger + pr.condense(Y, {"a": P}, by={"site": SITE}),
            r"the same models to be added; they have \('a', 'b'\)",
        ),
        (lambda: ledger + pr.condense(Y, {"a": P, "b": Q}), r"the same keys to be added; they have \['site'\], \[\]"),
        (
            lambda: ledger + pr.condense(Y, {"a": P, "b": Q}, by={"site": SITE}, cluster=DAY),
            "the same dependence to be added; they have None and 'cluster'",
        ),
        (lambda: pr.Ledger.merge([]), "at least one ledger is needed"),
        (lambda: pr.condense(Y, {"a": P}, ordered=True), "ordered belongs to three or more classes"),
        (lambda: pr.condense(Y, {"a": P}, cluster=DAY, period=DAY), "cases have cluster= or period=, not both"),
        (lambda: pr.condense(Y, {}), "forecasts must hold one model or more"),
        (lambda: pr.condense(Y, {"a": P}, cells=3), "cells must be a power of two"),
    ):
        with pytest.raises(InputValueError, match=law):
            call()
    crossed = pr.condense([0, 1], {"a": [0.1, 0.2]}, by={"site": ["x", "y"], "day": [1, 2]})
    with pytest.raises(InputValueError, match="no case has site='x', day=2"):
        crossed.table(site="x", day=2)
    with pytest.raises(InputValueError, match="no case has site='x', day=2"):
        crossed.where(site="x", day=2)
    with pytest.raises(InputTypeError, match=r"rules must be a list of rules. Hint: pass \[Log\(\)\]"):
        pr.condense(Y, {"a": P}, rules=pr.Log())
    with pytest.raises(InputTypeError, match="rule must be a scoring rule"):
        pr.condense(Y, {"a": P}, rules=["log"])
    with pytest.raises(TypeError):
        ledger + 1


@pytest.mark.parametrize("name", ["outcome", "cluster", "period"])
def test_a_key_is_not_called_as_the_cells_of_moments_are(name):
    law = f"by cannot have a key called '{name}'"
    with pytest.raises(InputValueError, match=law):
        pr.condense(Y, {"a": P}, by={name: SITE})
    frame = pd.DataFrame({"y": Y, "a": P, name: SITE})
    for own in (frame, pl.from_pandas(frame).lazy()):
        with pytest.raises(InputValueError, match=law):
            pr.slices(own, ["a"], outcome="y", by=name)


def test_events_of_classes_that_there_are_not():
    rows = RNG.dirichlet([1, 1, 1], N)
    ledger = pr.condense(DAY - 1, {"a": rows}, ordered=True)
    with pytest.raises(InputValueError, match=r"event must be one of 0, 1; got 2"):
        ledger.table(event=2)  # At most the last class is certain.
    with pytest.raises(InputValueError, match="the ledger has no tables of Event"):
        ledger.grid(8).table("a", Event("class", 7))


@settings(max_examples=20)
@given(data=st.data())
def test_what_a_measure_says_of_a_sum_it_says_of_the_cases(data, drawn_cases):
    cases = data.draw(drawn_cases)
    chosen = some(data.draw, cases)
    parts = [part for part in (cases.at(chosen), cases.at(~chosen)) if part.weight.any()]
    one, other = sum(part.ledger() for part in parts), cases.ledger()
    for model in other.models:
        mine, theirs = (pr.estimate(ledger, model) for ledger in (one, other))
        for field in ("value", "low", "high", "error", "n"):
            np.testing.assert_allclose(getattr(mine, field), getattr(theirs, field), rtol=1e-9, atol=1e-12)
        assert (mine.notes, mine.method, mine.units) == (theirs.notes, theirs.method, theirs.units)


@pytest.mark.parametrize("dependence", ["cluster", "period"])
def test_cases_of_a_lazy_frame_are_those_of_its_columns(dependence):
    frame = pl.LazyFrame({"y": Y, "p": P, "site": SITE, "day": DAY})
    ledger = pr.condense(frame, ["p"], outcome="y", by="site", **{dependence: "day"})
    cases, expected = ledger.cases, pr.condense(Y, {"p": P}, by={"site": SITE}, **{dependence: DAY}).cases
    order, place = (np.argsort(one.forecasts["p"]) for one in (cases, expected))  # An engine returns rows in any order.
    pairs = [(cases.keys["site"], expected.keys["site"]), (getattr(cases, dependence), getattr(expected, dependence))]
    for own, other in pairs:
        assert list(own.labels) == list(other.labels)
        np.testing.assert_array_equal(own.codes[order], other.codes[place])
    assert {cases.cluster is None, cases.period is None} == {True, False}
    if dependence == "period":
        assert ledger.periods() == [1, 2, 3] == forgetful(ledger).periods()


def test_one_event_of_stored_classes_has_their_dependence():
    rows = RNG.dirichlet([1, 1, 1], N)
    ledger = pr.condense(RNG.integers(0, 3, N), {"m": rows}, cluster=DAY)
    for one in (ledger, forgetful(ledger)):
        event = one.of_event("m", 1)
        assert (event.models, event.labels, event.dependence) == (("m",), None, "cluster")
        np.testing.assert_array_equal(event.table().forecast, ledger.table("m", 1).forecast)
        assert event.table("m", Event("event")).n == N


def test_an_engine_computes_every_rule_of_classes_and_returns_the_cases():
    rows, grade = RNG.dirichlet([1, 1, 1], N), RNG.choice(["low", "mid", "top"], N)
    columns = {f"p{place}": rows[:, place] for place in range(3)}
    frame = pl.LazyFrame({"y": grade, **columns})
    options = {"labels": ["low", "mid", "top"]}
    found = pr.condense(frame, {"m": list(columns)}, outcome="y", ordered=True, **options)
    expected = pr.condense(grade, {"m": rows}, ordered=True, **options)
    rules = [rule for rule in RULES if isinstance(rule, pr.ClassRule)]
    assert len(rules) > 5
    for rule in rules:
        np.testing.assert_allclose(found.moments(rule).means, expected.moments(rule).means, rtol=1e-12, err_msg=rule)
    order, place = (np.argsort(one.cases.forecasts["m"][:, 0]) for one in (found, expected))
    np.testing.assert_array_equal(found.cases.outcome[order], expected.cases.outcome[place])
