"""Stored ledgers that were changed, cut or mixed up are refused in a sentence, and never believed."""

import json
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pytest
from pyarrow import parquet

import propriety as pr
from propriety.errors import InputValueError

RNG = np.random.default_rng(2)
N = 60
Y, P, Q = RNG.integers(0, 2, N), RNG.random(N), np.round(RNG.random(N), 1)
SITE, WEIGHT = RNG.choice(["a", "b"], N), RNG.choice([0.0, 0.5, 2.0], N)


def condensed(**options):
    return pr.condense(Y, {"p": P, "q": Q}, **options)


def change(folder, **facts):
    stored = json.loads((folder / "ledger.json").read_text(encoding="utf-8"))
    (folder / "ledger.json").write_text(json.dumps(stored | facts), encoding="utf-8")


@pytest.mark.parametrize(
    ("facts", "law"),
    [
        ({"schema": "propriety.forecast_table"}, "must be a stored propriety.ledger"),
        ({"version": 2}, "propriety.ledger must have version 1; got 2"),
        ({"version": None}, "must have version 1"),
        ({"models": ["p", "other"]}, "must be of its models and events"),
        ({"events": [["class", 0]]}, "its events must be those of its labels"),
        *(
            ({"models": ["p", wrong]}, "its facts must name the models")
            for wrong in ("", " ", "a\nb", "\ud800", "p", 1, None, ["q"])
        ),
        ({"keys": {"": None}}, "its facts must name the models, labels, keys"),
    ],
    ids=repr,
)
def test_facts_that_do_not_fit_the_files_are_refused(facts, law, tmp_path):
    condensed().to_parquet(tmp_path / "l")
    change(tmp_path / "l", **facts)
    with pytest.raises(InputValueError, match=law):
        pr.Ledger.from_parquet(tmp_path / "l")


def test_what_is_no_ledger_is_refused(tmp_path):
    with pytest.raises(InputValueError, match=r"must be a folder that holds a ledger; it has no ledger\.json"):
        pr.Ledger.from_parquet(tmp_path)
    folder = tmp_path / "l"
    condensed().to_parquet(folder)
    written = (folder / "ledger.json").read_text()
    (folder / "ledger.json").write_text("{")
    with pytest.raises(InputValueError, match=r"ledger\.json must be JSON"):
        pr.Ledger.from_parquet(folder)
    (folder / "ledger.json").write_text(written)
    file = next((folder / "tables").glob("*.parquet"))
    file.write_bytes(file.read_bytes()[:100])
    with pytest.raises(InputValueError, match="must be a whole Parquet file"):
        pr.Ledger.from_parquet(folder)
    shutil.rmtree(folder / "tables")
    with pytest.raises(InputValueError, match=r"lacks a file of its manifest; .*part-.* Hint: restore"):
        pr.Ledger.from_parquet(folder)


def rewritten(folder, kind, columns):
    """Change columns of the file of a whole ledger: to None they are taken out, else what a function makes of them."""
    file = next((folder / kind).glob("*.parquet"))
    table = parquet.read_table(file)
    for name, change_of in columns.items():
        place = table.column_names.index(name)
        if change_of is None:
            table = table.drop_columns([name])
        else:
            table = table.set_column(place, name, change_of(table.column(name)))
    parquet.write_table(table, file)


def numbers(change_of):
    return lambda column: pa.array(change_of(column.to_numpy().copy()))


def lists(change_of):
    return lambda column: pa.array(change_of(np.array(column.to_pylist())).tolist())


def pairs(change_of):
    """Change the lists of the sums of pairs, of which those in the rows of clusters after the first are empty."""
    return lambda column: pa.array(
        [change_of(np.array([own]))[0].tolist() if own else [] for own in column.to_pylist()]
    )


def odd(added):
    """Add to the sums of the first powers."""

    def change_of(values):
        values[:, [1, 3, 12] if values.shape[1] == 18 else [1]] += added
        return values

    return change_of


def first(value):
    def change_of(values):
        values = values.astype(float)
        values[0] = value
        return values

    return change_of


@pytest.mark.parametrize(
    ("kind", "columns", "law"),
    [
        pytest.param("tables", {"events": None}, "must have the column events once", id="no events"),
        pytest.param("tables", {"site": None}, "must have the column site once", id="no key"),
        pytest.param("moments", {"mean": None}, "must have the column mean once", id="no mean"),
        pytest.param("moments", {"weight": None}, "must have the column weight once", id="no weight"),
        pytest.param("tables", {"events": lambda c: c.cast("string")}, "events must hold numbers", id="text"),
        pytest.param("tables", {"n": numbers(first(2.0))}, "n must hold whole numbers", id="real counts"),
        pytest.param("tables", {"site": lambda c: pa.nulls(len(c))}, "site must hold a label", id="no labels"),
        pytest.param("tables", {"site": lambda c: pa.array([["x"]] * len(c))}, "site must hold a label", id="nested"),
        pytest.param("tables", {"forecast": numbers(first(1.5))}, r"must lie in \[0, 1\]", id="forecast"),
        pytest.param("tables", {"forecast": numbers(first(np.nan))}, r"must lie in \[0, 1\]", id="no forecast"),
        pytest.param("tables", {"events": numbers(first(-1.0))}, "finite and not negative", id="negative"),
        pytest.param(
            "tables",
            {"events": numbers(lambda n: 0.0 * n), "non_events": numbers(lambda n: 0.0 * n)},
            "every row of its tables must have a weight",
            id="no weight in a row",
        ),
        pytest.param("tables", {"non_events": numbers(first(np.inf))}, "finite and not negative", id="infinite"),
        pytest.param("tables", {"n": numbers(lambda n: 0 * n)}, "every table must hold a case", id="nobody"),
        pytest.param("tables", {"n": numbers(lambda n: n + 1)}, "must add up to its numbers", id="n"),
        pytest.param("tables", {"cells": numbers(lambda n: n + 3)}, "cells must be a power of two", id="cells"),
        pytest.param(
            "tables", {"model": lambda c: pa.array(["p"] * len(c))}, "tables of all of its models", id="model"
        ),
        pytest.param("moments", {"mean": lambda c: pa.nulls(len(c))}, "mean must hold lists", id="no lists"),
        pytest.param("moments", {"mean": lists(lambda m: m[:, :2])}, "a number for each of 3 series", id="short"),
        pytest.param("moments", {"n": numbers(lambda n: n + 1)}, "cases of its tables", id="other cases"),
        pytest.param("moments", {"n": numbers(first(59.5))}, "n must hold whole numbers", id="part of a case"),
        pytest.param("moments", {"outcome": numbers(lambda n: n + 1)}, "places of 2 classes", id="outcome"),
        pytest.param("moments", {"weight": numbers(first(np.inf))}, "must be finite and agree", id="weight"),
        pytest.param("moments", {"weight": numbers(first(61.0))}, "must be finite and agree", id="heavy"),
        pytest.param("moments", {"weight": numbers(first(5e-324))}, "must be finite and agree", id="light"),
        pytest.param("moments", {"weight": numbers(first(0.0))}, "a case with a positive weight", id="weightless"),
        pytest.param("moments", {"weight_squares": numbers(first(-1.0))}, "must be finite and agree", id="squares"),
        pytest.param("moments", {"weight_squares": numbers(first(np.nan))}, "must be finite and agree", id="nan"),
        pytest.param("moments", {"spread": lists(lambda m: m - 99)}, "must be those of some losses", id="spread"),
        pytest.param("moments", {"lean": lists(lambda m: m + 1e3)}, "must be those of some losses", id="lean"),
        pytest.param("moments", {"mean": lists(lambda m: m + 1e300)}, "small enough for sums", id="large"),
        pytest.param("moments", {"spread": lists(lambda m: m + 1e308)}, "small enough for sums", id="larger"),
        pytest.param("moments", {"mean": lists(lambda m: m - 1.7e308)}, "small enough for sums", id="largest"),
        pytest.param("moments", {"lean": lists(lambda m: m - 1.7e308)}, "small enough for sums", id="largest lean"),
        pytest.param("moments", {"imagined": None}, "must have the column imagined once", id="no pairs"),
        pytest.param("moments", {"imagined": pairs(lambda m: m[:, :9])}, "hold 18 numbers for each of 1", id="few"),
        pytest.param("moments", {"cubes": lambda c: pa.nulls(len(c))}, "cubes must hold lists", id="no cubes"),
        pytest.param("moments", {"differ": pairs(lambda m: m + 0.5)}, "differ must hold lists of numbers", id="part"),
        pytest.param("moments", {"differ": pairs(lambda m: m + 61)}, "that of some of its cases", id="many differ"),
        pytest.param("moments", {"differ": pairs(lambda m: m - 61)}, "that of some of its cases", id="few differ"),
        pytest.param("moments", {"imagined": pairs(lambda m: m * np.nan)}, "must be finite", id="no sums"),
        pytest.param(
            "moments", {"imagined": pairs(lambda m: m - 99)}, "imagined sums .* of some losses", id="negative sums"
        ),
        pytest.param("moments", {"imagined": pairs(lambda m: m * 2)}, "imagined sums .* of some losses", id="chances"),
        pytest.param("moments", {"imagined": pairs(odd(99.0))}, "imagined sums .* of some losses", id="imagined"),
        pytest.param("moments", {"cubes": pairs(odd(99.0))}, "cubes .* of some losses", id="observed"),
        pytest.param("moments", {"cubes": pairs(lambda m: m - 99)}, "cubes .* of some losses", id="negative cubes"),
        pytest.param("moments", {"cubes": pairs(lambda m: m * 1e300)}, "cubes .* of some losses", id="large cubes"),
    ],
)
def test_numbers_that_no_cases_have_are_refused(kind, columns, law, tmp_path):
    condensed(by={"site": SITE}).to_parquet(tmp_path / "l")
    rewritten(tmp_path / "l", kind, columns)
    with pytest.raises(InputValueError, match=law):
        pr.Ledger.from_parquet(tmp_path / "l")


def test_weights_that_no_cases_have_are_refused_where_they_are_looked_at(tmp_path):
    condensed(sample_weight=WEIGHT).to_parquet(tmp_path / "l")
    rewritten(tmp_path / "l", "tables", {"event_squares": numbers(lambda squares: 1e9 * squares)})
    ledger = pr.Ledger.from_parquet(tmp_path / "l")
    with pytest.raises(InputValueError, match="event_squares must be sums of squared weights"):
        ledger.table("p")


@pytest.mark.parametrize(
    "facts",
    [
        {"models": []},
        {"models": "pq"},
        {"models": ["p", "p"]},
        {"labels": ["a"]},
        {"labels": [["a"], ["b"]]},
        {"keys": ["site"]},
        {"keys": {"site": "ab"}},
        {"keys": {"model": None}},
        {"dependence": "patient"},
        {"is_weighted": 1},
        {"rules": [None]},
        {"rules": [{"name": 3}] * 3},
        {"partition": ["day"]},
        {"partitions": {}},
        {"events": []},
        {"events": [["event", 0], ["event", 0]]},
    ],
    ids=lambda facts: "-".join(f"{name} {str(value)[:14]}" for name, value in facts.items()),
)
def test_facts_that_no_ledger_has_are_refused(facts, tmp_path):
    condensed(by={"site": SITE}).to_parquet(tmp_path / "l")
    change(tmp_path / "l", **facts)
    with pytest.raises(InputValueError, match=r"ledger|rule"):
        pr.Ledger.from_parquet(tmp_path / "l")


@pytest.mark.parametrize(
    "change_of",
    [
        pytest.param({"file": "../../other"}, id="outside"),
        pytest.param({"file": 3}, id="a number"),
        pytest.param({"fingerprint": None}, id="no fingerprint"),
        *(pytest.param({"dropped": value}, id=f"dropped {value}") for value in (-1, True, 2**63, 0.5)),
    ],
)
def test_files_that_no_ledger_names_are_refused(change_of, tmp_path):
    condensed().to_parquet(tmp_path / "l")
    entry = json.loads((tmp_path / "l" / "ledger.json").read_text())["partitions"][""]
    for partitions in ({"": entry | change_of}, {"../x=1": entry}):
        change(tmp_path / "l", partitions=partitions)
        with pytest.raises(InputValueError, match=r"ledger\.json must name partitions with a file"):
            pr.Ledger.from_parquet(tmp_path / "l")
    change(tmp_path / "l", partitions={"": entry}, superseded=["../ledger.json"])
    with pytest.raises(InputValueError, match=r"ledger\.json must name partitions with a file"):
        pr.Ledger.from_parquet(tmp_path / "l")


def lie(value):
    """Add to the first count."""

    def change_of(column):
        values = column.to_numpy().copy()
        values[int(np.argmax(values > 0))] += value
        return pa.array(values)

    return change_of


def repeated(folder, kind, places):
    """Write only some rows of a file, or some of them twice."""
    file = next((folder / kind).glob("*.parquet"))
    rows = parquet.read_table(file)
    parquet.write_table(rows.take(places(rows.num_rows)), file)


ADDED_UP = "must add up to its numbers of events and non-events"


@pytest.mark.parametrize(
    ("kind", "columns", "law"),
    [
        pytest.param("tables", {"events": lie(1.0)}, ADDED_UP, id="an event more"),
        pytest.param("tables", {"non_events": lie(1.0)}, ADDED_UP, id="a non-event more"),
        pytest.param("tables", {"n_events": lie(1)}, ADDED_UP, id="another number of events"),
        pytest.param("moments", {"outcome": numbers(lambda n: 1 - n)}, "of the outcomes of its tables", id="turned"),
        pytest.param("moments", {"mean": lists(lambda m: m * np.nan)}, "every model must be a number", id="nan"),
        pytest.param("moments", {"mean": lists(lambda m: m + 5.0)}, r"range of Brier\(\), 0 to 1", id="out of range"),
    ],
)
def test_counts_that_do_not_add_up_are_refused_with_what_to_do(kind, columns, law, tmp_path):
    condensed(by={"site": SITE}, rules=[pr.Brier()]).to_parquet(tmp_path / "l")
    rewritten(tmp_path / "l", kind, columns)
    with pytest.raises(InputValueError, match=rf"{law}.* Hint: restore the folder from a copy, or condense"):
        pr.Ledger.from_parquet(tmp_path / "l")


@pytest.mark.parametrize("kind", ["tables", "moments"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "places",
    [lambda n: [*range(n), 1], lambda n: [*range(n), *range(n)], lambda n: list(range(n - 1))],
    ids=["one twice", "all twice", "cut"],
)
def test_rows_that_are_repeated_or_lacking_are_refused(kind, weighted, places, tmp_path):
    """A weight that is lacking in a weighted table is seen by comparing the models and the moments."""
    options = {"sample_weight": WEIGHT} if weighted else {}
    condensed(by={"site": SITE}, rules=[pr.Brier()], **options).to_parquet(tmp_path / "l")
    repeated(tmp_path / "l", kind, places)
    with pytest.raises(InputValueError, match=r"not a valid propriety\.ledger.* Hint: restore"):
        pr.Ledger.from_parquet(tmp_path / "l")


def test_models_of_other_outcomes_are_refused(tmp_path):
    """The tables of one model are replaced by those of a ledger of other cases."""
    condensed(sample_weight=WEIGHT, rules=[]).to_parquet(tmp_path / "l")
    pr.condense(1 - Y, {"p": P, "q": Q}, sample_weight=WEIGHT).to_parquet(tmp_path / "other")
    file, other = (next((tmp_path / name / "tables").glob("*.parquet")) for name in ("l", "other"))
    mine, theirs = parquet.read_table(file), parquet.read_table(other)
    mixed = [rows.filter(pa.compute.equal(rows["model"], model)) for rows, model in ((mine, "p"), (theirs, "q"))]
    parquet.write_table(pa.concat_tables(mixed), file)
    with pytest.raises(InputValueError, match="the tables of all models must be of the same outcomes"):
        pr.Ledger.from_parquet(tmp_path / "l")
