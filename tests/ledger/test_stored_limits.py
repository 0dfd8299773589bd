"""The checks of stored ledgers at their limits: what just fits is read, and what just does not is refused."""

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pytest
from pyarrow import parquet

import propriety as pr
from propriety.errors import InputValueError
from propriety.ledger import stored_rows

RNG = np.random.default_rng(8)
N = 40
Y, P, Q = RNG.integers(0, 2, N), RNG.random(N), np.round(RNG.random(N), 1)
SITE, WEIGHT = RNG.choice(["a", "b"], N), RNG.choice([0.5, 2.0], N)
CLASSES = RNG.integers(0, 3, N)


def stored(folder, **options):
    ledger = pr.condense(Y, {"p": P, "q": Q}, by={"site": SITE}, rules=[pr.Brier()], **options)
    ledger.to_parquet(folder)
    return ledger


def of_classes(folder):
    forecasts = RNG.dirichlet(np.ones(3), N)
    pr.condense(CLASSES, forecasts, labels=[0, 1, 2], rules=[pr.Brier()]).to_parquet(folder)


def rewrite(folder, kind, name, change):
    """Replace a column by what a function makes of its values."""
    file = next((folder / kind).glob("*.parquet"))
    rows = parquet.read_table(file)
    column = change(rows.column(name))
    parquet.write_table(rows.set_column(rows.column_names.index(name), name, column), file)


def refused(folder, law):
    with pytest.raises(InputValueError, match=law):
        pr.Ledger.from_parquet(folder)


def at(place, value, of=None):
    """Set one value; of a column of lists, the first number of the list."""

    def change(column):
        values = column.to_pylist()
        values[place] = value if of is None else [value, *values[place][1:]]
        return pa.array(values, of or column.type)

    return change


LISTS = pa.list_(pa.float64())


@pytest.mark.parametrize(
    ("kind", "name", "change", "law"),
    [
        ("tables", "events", at(3, None), "column events must hold numbers; it is of double"),
        ("tables", "n", at(0, None), "column n must hold whole numbers; it is of int64"),
        ("tables", "site", at(3, None), "column site must hold a label in every row"),
        ("moments", "n", lambda c: c.cast("double"), "column n must hold whole numbers; it is of double"),
        ("moments", "mean", at(1, None, LISTS), "a number for each of 3 series"),
        (
            "moments",
            "mean",
            lambda c: pa.array([None, *c.to_pylist()[1:]], c.type),
            "mean must hold lists of numbers|whole Parquet file",
        ),
        ("moments", "mean", lambda c: pa.array([[1, 0, 1]] * len(c)), "mean must hold lists of numbers"),
        ("moments", "mean", lambda c: pa.array([1.0] * len(c)), "mean must hold lists of numbers"),
        (
            "moments",
            "mean",
            lambda c: pa.array([m[:2] for m in c.to_pylist()], pa.list_(pa.float64(), 2)),
            "a number for each of 3 series",
        ),
        (
            "moments",
            "mean",
            lambda c: pa.array([[0.1, 0.1], [0.1] * 4, *c.to_pylist()[2:]], LISTS),
            "a number for each of 3 series",
        ),
        ("tables", "events", at(0, -0.5), "finite and not negative"),
        ("tables", "non_events", at(-1, np.nan), "finite and not negative"),
        ("tables", "forecast", at(2, -1e-9), r"must lie in \[0, 1\]"),
        ("tables", "forecast", at(2, 1.0 + 1e-9), r"must lie in \[0, 1\]"),
        ("tables", "n_events", at(0, -1), "every table must hold a case"),
        ("tables", "n_events", at(0, N + 1), "every table must hold a case"),
        ("moments", "outcome", at(0, -1), "places of 2 classes"),
        ("moments", "outcome", at(0, 2), "places of 2 classes"),
        ("moments", "n", at(0, 0), "cases of its tables"),
    ],
    ids=[
        "no number",
        "no count",
        "no label",
        "counts as decimals",
        "a list lacks a number",
        "no list",
        "whole numbers",
        "single numbers",
        "short lists",
        "uneven lists",
        "negative weight",
        "no weight",
        "forecast below 0",
        "forecast above 1",
        "negative events",
        "more events than cases",
        "outcome below 0",
        "outcome above 1",
        "no case",
    ],
)
def test_columns_that_hold_something_else_are_refused(kind, name, change, law, tmp_path):
    stored(tmp_path / "l")
    rewrite(tmp_path / "l", kind, name, change)
    refused(tmp_path / "l", law)


@pytest.mark.parametrize("column", ["event_squares", "non_event_squares"])
@pytest.mark.parametrize("value", [-1.0, np.inf, np.nan])
def test_squares_of_weights_are_finite_and_not_negative(column, value, tmp_path):
    stored(tmp_path / "l", sample_weight=WEIGHT)
    rewrite(tmp_path / "l", "tables", column, at(1, value))
    refused(tmp_path / "l", "the weights of its tables must be finite and not negative")


@pytest.mark.parametrize("kind", [pa.list_, pa.large_list])
def test_lists_of_any_kind_are_read(kind, tmp_path):
    ledger = stored(tmp_path / "l")
    for name in ("mean", "spread"):
        rewrite(tmp_path / "l", "moments", name, lambda column: column.cast(kind(pa.float64())))
    again = pr.Ledger.from_parquet(tmp_path / "l")
    np.testing.assert_array_equal(again.moments(pr.Brier()).mean, ledger.moments(pr.Brier()).mean)


def test_forecasts_of_0_and_1_and_a_single_case_are_read(tmp_path):
    pr.condense([0, 1], [0.0, 1.0], by={"site": ["a", "b"]}).to_parquet(tmp_path / "l")
    assert pr.Ledger.from_parquet(tmp_path / "l").table().forecast.tolist() == [0.0, 1.0]


@pytest.mark.parametrize(("column", "law"), [("n", "of the same cases, on the same grid"), ("cells", "the same grid")])
def test_tables_of_one_model_are_not_of_other_cases(column, law, tmp_path):
    pr.condense(Y, {"p": P, "q": Q}, cells=64).to_parquet(tmp_path / "l")
    rows = parquet.read_table(next((tmp_path / "l" / "tables").glob("*.parquet")))
    own = np.array(rows.column("model").to_pylist()) == "q"
    first = int(np.argmax(own))
    other = {"n": lambda v: v + (np.arange(len(v)) == first), "cells": lambda v: np.where(own, 2 * v, v)}[column]
    rewrite(tmp_path / "l", "tables", column, lambda c: pa.array(other(c.to_numpy())))
    refused(tmp_path / "l", law)


def test_events_need_a_weight_and_weights_events(tmp_path):
    stored(tmp_path / "l", sample_weight=WEIGHT)
    rewrite(tmp_path / "l", "tables", "n_events", lambda c: pa.array(np.zeros(len(c), dtype=np.int64)))
    refused(tmp_path / "l", "must add up to its numbers of events and non-events")
    stored(tmp_path / "m", sample_weight=WEIGHT)
    rewrite(tmp_path / "m", "tables", "n_events", lambda c: parquet.read_table(_tables(tmp_path / "m")).column("n"))
    refused(tmp_path / "m", "must add up to its numbers of events and non-events")


def _tables(folder):
    return next((folder / "tables").glob("*.parquet"))


@pytest.mark.parametrize("column", ["events", "non_events"])
@pytest.mark.parametrize(("factor", "sound"), [(1.0 + 1e-12, True), (1.0 + 1e-6, False)])
def test_weights_of_two_models_agree_but_for_rounding(column, factor, sound, tmp_path):
    pr.condense(Y, {"p": P, "q": Q}, sample_weight=WEIGHT, rules=[]).to_parquet(tmp_path / "l")
    own = np.array(parquet.read_table(_tables(tmp_path / "l")).column("model").to_pylist()) == "q"
    rewrite(tmp_path / "l", "tables", column, lambda c: pa.array(np.where(own, factor, 1.0) * c.to_numpy()))
    if sound:
        pr.Ledger.from_parquet(tmp_path / "l")
    else:
        refused(tmp_path / "l", "the tables of all models must be of the same outcomes")


@pytest.mark.parametrize(("factor", "sound"), [(1.0 + 1e-12, True), (1.0 + 1e-6, False)])
def test_weights_of_moments_agree_with_those_of_tables_but_for_rounding(factor, sound, tmp_path):
    stored(tmp_path / "l", sample_weight=WEIGHT)
    rewrite(tmp_path / "l", "moments", "weight", lambda c: pa.array(factor * c.to_numpy()))
    if sound:
        pr.Ledger.from_parquet(tmp_path / "l")
    else:
        refused(tmp_path / "l", "moments must be of the outcomes of its tables")


def test_classes_of_moments_are_those_of_tables(tmp_path):
    of_classes(tmp_path / "l")
    pr.Ledger.from_parquet(tmp_path / "l")
    rewrite(tmp_path / "l", "moments", "outcome", lambda c: pa.array((c.to_numpy() + 1) % 3))
    refused(tmp_path / "l", "moments must be of the outcomes of its tables")
    of_classes(tmp_path / "m")
    rewrite(tmp_path / "m", "moments", "outcome", lambda c: pa.array(c.to_numpy() + 1))
    refused(tmp_path / "m", "its outcomes must be places of 3 classes")


FACTS = "its facts must name the models, labels, keys and rules that it is about"


@pytest.mark.parametrize(
    ("facts", "law"),
    [
        ({"models": []}, FACTS),
        ({"labels": ["a"]}, FACTS),
        ({"labels": ["a", "a"]}, FACTS),
        ({"labels": "ab"}, FACTS),
        ({"labels": ["a", "b"]}, "its events must be those of its labels"),
        ({"keys": ["site"]}, FACTS),
        ({"keys": {" ": None}}, FACTS),
        ({"keys": {"site": ["a", "a"]}}, FACTS),
        ({"keys": {"site": [None, "a"]}}, FACTS),
        ({"keys": {"rule": None}}, FACTS),
        ({"dependence": "day"}, FACTS),
        ({"is_weighted": None}, FACTS),
        ({"rules": {}}, FACTS),
        ({"rules": ["Brier"]}, FACTS),
        ({"partition": "site"}, FACTS),
        ({"partition": [1]}, FACTS),
        ({"partition": ["day"]}, FACTS),
        ({"types": ["string"]}, FACTS),
    ],
    ids=repr,
)
def test_each_fact_is_refused_by_its_own_law(facts, law, tmp_path):
    stored(tmp_path / "l")
    path = tmp_path / "l" / "ledger.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | facts))
    refused(tmp_path / "l", law)


@pytest.fixture
def ledger():
    return pr.condense(Y, {"p": P, "q": Q}, rules=[pr.Brier()])


def check(ledger, **changes):
    """Check the moments of the Brier score, changed by functions of their columns."""
    own = ledger.moments(pr.Brier())
    changed = {name: change(getattr(own, name).copy()) for name, change in changes.items()}
    tables = {("p", event): ledger.keyed_tables("p", event) for event in ledger.events}
    stored_rows.check_moments(replace(own, **changed), ledger.index, tables, None)


def first_is(value):
    def change(values):
        values[0] = value
        return values

    return change


REAL = "mean, lean and spread must be those of some losses"


def test_moments_are_those_of_some_losses(ledger):
    own = ledger.moments(pr.Brier())
    most = np.sqrt(own.weight_squares[:, None] * own.spread)
    for sign in (-1.0, 1.0):
        check(ledger, lean=lambda _, sign=sign: sign * most)
        with pytest.raises(InputValueError, match=REAL):
            check(ledger, lean=lambda _, sign=sign: sign * (1.001 * most))
    check(ledger, spread=lambda spread: 0.0 * spread)
    check(ledger, spread=lambda spread: np.nan * spread, lean=lambda lean: np.nan * lean)
    with pytest.raises(InputValueError, match=REAL):
        check(ledger, spread=first_is(-1e-3))
    with pytest.raises(InputValueError, match=REAL):
        check(ledger, spread=lambda spread: 0.0 * spread, lean=first_is(1e-3))


@pytest.mark.parametrize(
    ("name", "fits", "exceeds", "law"),
    [
        ("spread", 1e279, 1e281, "small enough for sums of squares"),
        ("mean", 1.0, 1.0 + 1e-5, r"in the range of Brier\(\), 0 to 1"),
        ("mean", 0.0, -1e-5, r"in the range of Brier\(\), 0 to 1"),
        ("mean", 1.0 + 1e-12, np.nan, "mean loss of every model must be a number"),
        ("weight_squares", 0.0, 0.0, "agree with their squares and number"),
    ],
)
def test_moments_have_limits(ledger, name, fits, exceeds, law):
    if fits != exceeds:
        check(ledger, **{name: first_is(fits)})
    with pytest.raises(InputValueError, match=law):
        check(ledger, **{name: first_is(exceeds)})


def test_differences_of_losses_may_be_negative_and_large_ones_are_refused(ledger):
    def difference(value):
        def change(mean):
            mean[:, -1] = value
            return mean

        return change

    check(ledger, mean=difference(-1.0))
    for value in (1e140, -1e141):
        with pytest.raises(InputValueError, match="small enough for sums of squares"):
            check(ledger, mean=difference(value))
    with pytest.raises(InputValueError, match="small enough for sums of squares"):
        check(ledger, lean=first_is(1e281))


def test_infinite_losses_are_those_of_the_logarithmic_score(tmp_path):
    pr.condense([1, 0], {"p": [0.0, 0.5], "q": [0.5, 1.0]}, rules=[pr.Log()]).to_parquet(tmp_path / "l")
    assert pr.Ledger.from_parquet(tmp_path / "l").moments(pr.Log()).mean.max() == np.inf


def test_moments_of_a_cell_have_a_case_with_a_weight(ledger):
    with pytest.raises(InputValueError, match="a case with a positive weight"):
        stored_rows._check_cells(np.array([0.0]), np.array([1.0]), np.array([1.0]))
    with pytest.raises(InputValueError, match="a case with a positive weight"):
        stored_rows._check_cells(np.array([1.0]), np.array([0.0]), np.array([1.0]))
    stored_rows._check_cells(np.array([1.0]), np.array([0.5]), np.array([0.25]))
