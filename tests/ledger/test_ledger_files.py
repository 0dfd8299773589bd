"""Ledgers written and read again: the same numbers, by partitions or whole, and errors for what does not fit."""

import datetime as dt
import json
import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import parquet
from sliced import slices

import propriety as pr
from propriety.errors import InputTypeError, InputValueError
from propriety.rules.catalogue import UnknownRule
from propriety.tables.forecast_table import ForecastTable

RNG = np.random.default_rng(2)
N = 60
Y, P, Q = RNG.integers(0, 2, N), RNG.random(N), np.round(RNG.random(N), 1)
MODELS = {"p": P, "q": Q}
SITE, PATIENT, DAY = RNG.choice(["a", "b"], N), RNG.integers(0, 5, N), np.arange(N) // 20
WEIGHT = RNG.choice([0.0, 0.5, 2.0], N)
DATES = [dt.date(2026, 1, 1) + dt.timedelta(days=int(day)) for day in DAY]
SOONER, LATER = dt.datetime(2026, 1, 1, tzinfo=dt.UTC), dt.datetime(2026, 1, 2, 3, tzinfo=dt.UTC)
KINDS = {
    "plain": {},
    "keys": {"by": {"site": SITE, "day": DAY}},
    "clusters": {"cluster": PATIENT},
    "times": {"by": {"site": SITE}, "period": DAY},
    "weights": {"by": {"site": SITE}, "sample_weight": WEIGHT},
}


def condensed(rows=slice(None), **options):
    own = {name: values[rows] for name, values in options.items() if name not in ("by", "rules", "cells")}
    by = {name: [values[row] for row in np.arange(N)[rows]] for name, values in options.pop("by", {}).items()}
    beside = {name: options[name] for name in ("rules", "cells") if name in options}
    return pr.condense(Y[rows], {model: p[rows] for model, p in MODELS.items()}, by=by, **own, **beside)


def stored(folder):
    return json.loads((folder / "ledger.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("cells", [None, 16], ids=["exact", "grid"])
def test_files_give_the_ledger_back(kind, cells, tmp_path, same):
    ledger = condensed(rules=[pr.BoundedBrier(0.1, 0.2)], cells=cells, **KINDS[kind])
    ledger.to_parquet(tmp_path / "l")
    again = pr.Ledger.from_parquet(tmp_path / "l")
    same(again, ledger, rtol=1e-15)
    assert again.rules == ledger.rules
    assert again.is_weighted == ledger.is_weighted
    assert again.table("p").is_weighted == ledger.table("p").is_weighted
    assert (again.source, again.cases) == (None, None)
    for answer in (pr.estimate(again, "p", pr.Log()), pr.estimate(again, "q", pr.measures.Skill())):
        made = pr.estimate(ledger, "p" if answer.measure.key == "log" else "q", answer.measure)
        assert (answer.low, answer.high, answer.method) == (
            pytest.approx(made.low),
            pytest.approx(made.high),
            made.method,
        )


@pytest.mark.slow
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=st.data())
def test_cases_of_every_kind_come_back_with_and_without_partitions(data, drawn_cases, same, tmp_path):
    ledger = data.draw(drawn_cases).ledger()
    partition = data.draw(st.lists(st.sampled_from(ledger.index.names), unique=True)) if ledger.index.names else []
    folder = tmp_path / "l"
    shutil.rmtree(folder, ignore_errors=True)
    ledger.to_parquet(folder, partition=partition)
    same(pr.Ledger.from_parquet(folder), ledger, rtol=1e-15)
    assert len(list(folder.glob("tables/**/*.parquet"))) == len(ledger.index.only(partition)[0])


@pytest.mark.parametrize(
    ("labels", "folders"),
    [
        ([3, 1], ["key=1", "key=3"]),
        (["b/c", "a=1"], ["key=a%3D1", "key=b%2Fc"]),
        (["..", ""], ["key=", "key=.."]),
        ([True, False], ["key=False", "key=True"]),
        ([dt.date(2026, 1, 2), dt.date(2026, 1, 1)], ["key=2026-01-01", "key=2026-01-02"]),
        ([LATER, SOONER], ["key=2026-01-01 00:00:00+00:00", "key=2026-01-02 03:00:00+00:00"]),
        ([0.5, -1.0], ["key=-1.0", "key=0.5"]),
        (["ä", "한"], ["key=%C3%A4", "key=%ED%95%9C"]),
    ],
    ids=["numbers", "texts", "dots", "truths", "dates", "times", "reals", "letters"],
)  # fmt: skip
def test_partitions_are_folders_by_label(labels, folders, tmp_path, same):
    ledger = condensed(by={"key": [labels[place % 2] for place in range(N)], "site": SITE})
    ledger.to_parquet(tmp_path / "l", partition=["key"])
    for kind in ("tables", "moments"):
        assert sorted(path.name for path in (tmp_path / "l" / kind).iterdir()) == folders
    same(pr.Ledger.from_parquet(tmp_path / "l"), ledger, rtol=1e-15)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["l"]


def test_one_of_several_writers_makes_the_folder(tmp_path, refusals_at_once):
    """Of writers of other cases that start at the same time one succeeds, and the others are told."""
    ledgers = [condensed(np.arange(N) != place, by={"site": SITE}) for place in range(4)]
    refused = refusals_at_once([partial(one.to_parquet, tmp_path / "l") for one in ledgers])
    assert len(refused) == 3
    assert all("holds other cases already" in text for text in refused)
    assert pr.Ledger.from_parquet(tmp_path / "l").n == N - 1
    assert [path.name for path in tmp_path.iterdir()] == ["l"]
    assert len(list((tmp_path / "l").rglob("*.*"))) == 3


def test_a_name_of_a_key_does_not_leave_the_folder(tmp_path, same):
    ledger = condensed(by={"../x": SITE})
    ledger.to_parquet(tmp_path / "l", partition="../x")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["l"]
    same(pr.Ledger.from_parquet(tmp_path / "l"), ledger, rtol=1e-15)


def test_days_are_added_as_if_they_had_been_one(tmp_path, same):
    for day in (2, 0, 1):
        condensed(day == DAY, by={"day": DATES, "site": SITE}).to_parquet(tmp_path / "l", partition=["day"])
    whole = condensed(by={"day": DATES, "site": SITE})
    same(pr.Ledger.from_parquet(tmp_path / "l"), whole)
    alone = pr.Ledger.from_parquet(tmp_path / "l").where(day=dt.date(2026, 1, 2))
    same(alone, condensed(DAY == 1, by={"day": DATES, "site": SITE}))


def test_what_is_added_counts_its_dropped_rows(tmp_path):
    for day in range(2):
        part = pr.condense([0, 1, None], {"p": [0.1, 0.2, 0.3]}, by={"day": [day] * 3}, missing="drop")
        part.to_parquet(tmp_path / "l", partition=["day"])
    assert pr.Ledger.from_parquet(tmp_path / "l").dropped == 2


def test_grids_that_differ_are_read_on_the_coarsest(tmp_path, same):
    for day, cells in ((0, 64), (1, None), (2, 8)):
        part = condensed(day == DAY, by={"day": DAY}, cells=cells)
        part.to_parquet(tmp_path / "l", partition=["day"])
    same(pr.Ledger.from_parquet(tmp_path / "l"), condensed(by={"day": DAY}, cells=8))


def test_ordered_categories_keep_their_order(tmp_path):
    grades = ["low", "mid", "high", "top"]

    def part(day, labels):
        grade = pd.Series(pd.Categorical(np.resize(labels, 20), grades, ordered=True))
        own = day == DAY
        return pr.condense(Y[own], {"p": P[own]}, by={"day": DAY[own], "grade": grade})

    for day, labels in enumerate((["low", "mid"], ["high", "top", "mid"], ["low"])):
        part(day, labels).to_parquet(tmp_path / "l", partition=["day"])
        found = pr.Ledger.from_parquet(tmp_path / "l")
        assert found.keys["grade"] == tuple(grades[: 2 + 2 * (day > 0)])
    assert found.moments(pr.Brier()).over("grade").index.column("grade") == grades
    assert slices(found, by="grade", smallest=1).group.tolist() == grades
    part(0, ["mid", "low"]).to_parquet(tmp_path / "whole")
    assert pr.Ledger.from_parquet(tmp_path / "whole").keys["grade"] == ("low", "mid")


def test_numbers_in_an_order_of_their_own_keep_it(tmp_path):
    rank = pd.Series(pd.Categorical(np.resize([3, 1, 2], N), [3, 1, 2], ordered=True))
    ledger = pr.condense(Y, {"p": P}, by={"rank": rank})
    assert ledger.keys["rank"] == (3, 1, 2)
    ledger.to_parquet(tmp_path / "l")
    assert pr.Ledger.from_parquet(tmp_path / "l").keys["rank"] == (3, 1, 2)


def test_classes_and_their_labels_come_back(tmp_path, same):
    rows = RNG.dirichlet([1, 1, 1], N)
    for labels in (["x", "y", "z"], [10, 20, 30], [1.5, 2.5, 3.5]):
        ledger = pr.condense(np.array(labels)[DAY], {"m": rows}, labels=labels, ordered=True, by={"site": SITE})
        ledger.to_parquet(tmp_path / str(labels[0]))
        again = pr.Ledger.from_parquet(tmp_path / str(labels[0]))
        same(again, ledger, rtol=1e-15)
        assert again.table("m", labels[1], site="a").n == (SITE == "a").sum()


def test_rules_of_ones_own_come_back_by_name_or_as_unknown(tmp_path):
    class AbsoluteOfItsOwn(pr.BinaryRule):
        def loss(self, p, *, event, ops=None):
            return abs(p - event)

    rule = AbsoluteOfItsOwn()
    ledger = condensed(rules=[rule])
    ledger.to_parquet(tmp_path / "l")
    again = pr.Ledger.from_parquet(tmp_path / "l")
    unknown = next(one for one in again.rules if isinstance(one, UnknownRule))
    assert repr(unknown) == "AbsoluteOfItsOwn()"
    np.testing.assert_array_equal(again.moments(unknown).mean, ledger.moments(rule).mean)
    again.to_parquet(tmp_path / "again")
    assert repr(pr.Ledger.from_parquet(tmp_path / "again").rules[-1]) == "AbsoluteOfItsOwn()"


def test_a_ledger_of_tables_alone_is_stored_without_moments(tmp_path):
    pr.Ledger.of_tables({"p": ForecastTable.from_predictions(Y, P)}).to_parquet(tmp_path / "l")
    again = pr.Ledger.from_parquet(tmp_path / "l")
    assert (again.rules, again.n) == ((), N)
    assert not (tmp_path / "l" / "moments").exists()


def test_any_engine_can_read_the_files(tmp_path):
    condensed(by={"site": SITE}).to_parquet(tmp_path / "l", partition=["site"])
    files = f"{tmp_path}/l/tables/**/*.parquet"
    for rows in (
        parquet.read_table(tmp_path / "l" / "tables", partitioning=None).to_pandas(),
        pl.scan_parquet(files).collect().to_pandas(),
        duckdb.read_parquet(files).df(),
    ):
        own = rows[(rows["model"] == "q") & (rows["site"] == "a")]
        assert own["events"].sum() == Y[SITE == "a"].sum()
        assert own["n"].sum() == (SITE == "a").sum()
    frame = condensed(by={"site": SITE}).to_frame(backend="pandas")
    assert frame["n"].sum() == 2 * N
    assert list(frame)[:5] == ["model", "event", "place", "site", "forecast"]


def test_what_is_there_is_not_written_over(tmp_path, same):
    ledger = condensed(by={"day": DAY})
    ledger.to_parquet(tmp_path / "l")
    with pytest.raises(InputValueError, match=r"holds other cases already\. Hint: replace=True replaces them"):
        condensed(DAY < 2, by={"day": DAY}).to_parquet(tmp_path / "l")
    with pytest.raises(InputValueError, match="both have the same partition"):
        ledger.to_parquet(tmp_path / "l", partition=["day"])
    first = condensed((DAY == 1) & (SITE == "a"), by={"day": DAY})
    first.to_parquet(tmp_path / "days", partition=["day"])
    before = sorted((tmp_path / "days").glob("**/*"))
    with pytest.raises(InputValueError, match="holds other cases of day=1"):
        ledger.to_parquet(tmp_path / "days", partition=["day"])  # Day 0 is not written either.
    assert sorted((tmp_path / "days").glob("**/*")) == before
    same(pr.Ledger.from_parquet(tmp_path / "days"), first, rtol=1e-15)


def test_a_day_is_replaced_when_labels_arrive_late(tmp_path, same):
    early, whole = condensed((DAY < 2) | (SITE == "a"), by={"day": DAY}), condensed(by={"day": DAY})
    early.to_parquet(tmp_path / "l", partition=["day"])
    written = whole.to_parquet(tmp_path / "l", partition=["day"], replace=True)
    assert (written.added, written.held) == (("day=2",), ("day=0", "day=1"))
    same(pr.Ledger.from_parquet(tmp_path / "l"), whole, rtol=1e-15)
    assert [len(list(path.iterdir())) for path in (tmp_path / "l").glob("*/*")] == [1] * 6


def test_a_write_that_is_run_again_does_nothing_and_says_so(tmp_path):
    ledger = condensed(by={"day": DAY, "site": SITE}, sample_weight=WEIGHT)
    for partition, first in (([], "l"), (["day"], "l, 3 of 3 partitions")):
        folder = tmp_path / str(len(partition)) / "l"
        written = ledger.to_parquet(folder, partition=partition)
        assert repr(written) == f"Written: {folder}{first[1:]}."
        before = {path: (path.stat().st_mtime_ns, path.stat().st_ino) for path in folder.rglob("*")}
        again = ledger.to_parquet(folder, partition=partition, replace=bool(partition))
        assert repr(again) == f"Nothing written: {folder} holds these cases already."
        assert (again.added, again.held) == ((), written.added)
        assert {path: (path.stat().st_mtime_ns, path.stat().st_ino) for path in folder.rglob("*")} == before


@pytest.mark.parametrize("kind", KINDS)
def test_sums_that_an_engine_adds_in_another_order_are_the_same_cases(kind, tmp_path):
    """The last digits of sums depend on the order of the rows, so that a write that is run again would differ."""
    order = np.random.default_rng(5).permutation(N)
    ledgers = [condensed(rules=[pr.Log()], **KINDS[kind]), condensed(order, rules=[pr.Log()], **KINDS[kind])]
    spreads = [one.moments(pr.Log()).spread.tolist() for one in ledgers]
    assert spreads[0] != spreads[1]
    assert ledgers[0].to_parquet(tmp_path / "l").added
    assert not ledgers[1].to_parquet(tmp_path / "l").added


def test_a_file_that_was_lost_is_written_again(tmp_path, same):
    ledger = condensed(by={"day": DAY})
    ledger.to_parquet(tmp_path / "l", partition=["day"])
    next((tmp_path / "l" / "moments" / "day=1").iterdir()).unlink()
    with pytest.raises(InputValueError, match=r"lacks a file of its manifest; .*moments/day=1/part-"):
        pr.Ledger.from_parquet(tmp_path / "l")
    assert ledger.to_parquet(tmp_path / "l", partition=["day"]).added == ("day=1",)
    same(pr.Ledger.from_parquet(tmp_path / "l"), ledger, rtol=1e-15)
    assert len(list((tmp_path / "l").rglob("*.parquet"))) == 6


@pytest.mark.parametrize(
    ("other", "what"),
    [
        (lambda: pr.condense(Y, {"p": P}, by={"day": DAY + 9}), "models"),
        (lambda: condensed(by={"day": DAY + 9, "site": SITE}), "keys"),
        (lambda: condensed(by={"day": DAY + 9}, cluster=PATIENT), "dependence"),
        (lambda: condensed(by={"day": DAY + 9}, sample_weight=WEIGHT), "is_weighted"),
        (lambda: condensed(by={"day": DAY + 9}, rules=[pr.Spherical()]), "rules"),
    ],
    ids=["models", "keys", "dependence", "weights", "rules"],
)
def test_only_what_fits_is_added(other, what, tmp_path):
    condensed(by={"day": DAY}).to_parquet(tmp_path / "l", partition=["day"])
    with pytest.raises(InputValueError, match=f"can only be added to .* if both have the same {what}; they have"):
        other().to_parquet(tmp_path / "l", partition=["day"])


def test_what_cannot_be_stored_is_refused(tmp_path):
    for name in ("model", "forecast", "n", "rule"):
        with pytest.raises(InputValueError, match=f"a stored ledger cannot have a key called '{name}'"):
            condensed(by={name: SITE}).to_parquet(tmp_path / "l")
    mixed = np.array([1, "a"] * 30, dtype=object)
    with pytest.raises(InputTypeError, match="the labels of key must be of one kind that Arrow knows"):
        condensed(by={"key": mixed}).to_parquet(tmp_path / "l")
    with pytest.raises(InputTypeError, match="the labels of cluster must be of one kind"):
        condensed(cluster=mixed).to_parquet(tmp_path / "l")
    with pytest.raises(InputValueError, match="the ledger has no key 'day'"):
        condensed().to_parquet(tmp_path / "l", partition=["day"])
    rows = np.column_stack([1 - P, P, 0 * P])
    labels = [dt.date(2026, 1, day) for day in (1, 2, 3)]
    dated = pr.condense([labels[place] for place in Y], {"m": rows}, labels=labels)
    with pytest.raises(InputTypeError, match="the labels of classes must be numbers or texts to be stored"):
        dated.to_parquet(tmp_path / "l")
    assert list(tmp_path.iterdir()) == []


def test_every_moments_that_losses_have_are_read(tmp_path):
    """With weights over many orders of magnitude, equal losses and infinite ones, stored after each addition."""
    found = pr.condense([1], {"p": [1.0], "q": [0.5]}, sample_weight=[1.0])
    rows = zip([0, 1, 1, 0], [0.3, 0.3, 0.0, 1.0], [0.7, 1 / 3, 0.1, 0.2], [1e8, 1e-8, 0.1, 3], strict=True)
    for place, (y, p, q, weight) in enumerate(rows):
        with np.errstate(invalid="ignore"):
            found += pr.condense([y], {"p": [p], "q": [q]}, sample_weight=[weight])
        found.to_parquet(tmp_path / str(place))
        again = pr.Ledger.from_parquet(tmp_path / str(place))
        for rule in found.rules:
            np.testing.assert_array_equal(again.moments(rule).spread, found.moments(rule).spread)


def test_hidden_folders_are_read_too(tmp_path, same):
    ledger = condensed(by={"_day": DAY})
    ledger.to_parquet(tmp_path / "l", partition=["_day"])
    (tmp_path / "l" / "tables" / ".note").write_text("not a table")
    same(pr.Ledger.from_parquet(tmp_path / "l"), ledger, rtol=1e-15)


def test_a_ledger_that_was_read_is_written_again_as_it_was(tmp_path):
    ledger = condensed(by={"day": DAY, "site": SITE}, sample_weight=WEIGHT, cluster=PATIENT)
    ledger.to_parquet(tmp_path / "one", partition=["day"])
    again = pr.Ledger.from_parquet(tmp_path / "one")
    assert not again.to_parquet(tmp_path / "one", partition=["day"]).added
    again.to_parquet(tmp_path / "two", partition=["day"])
    one, two = stored(tmp_path / "one"), stored(tmp_path / "two")
    for name, entry in one["partitions"].items():
        assert two["partitions"][name]["fingerprint"] == entry["fingerprint"]
    assert {**one, "partitions": {}} == {**two, "partitions": {}}


def test_moments_stay_with_a_ledger_of_some_labels(tmp_path, same):
    part = condensed(by={"site": SITE, "day": DAY}, rules=[pr.Spherical()]).where(site="a")
    part.to_parquet(Path(tmp_path) / "l")
    again = pr.Ledger.from_parquet(tmp_path / "l")
    assert pr.Spherical() in again.rules
    same(again, replace(part, _whole={}), rtol=1e-15)


def test_a_folder_holds_the_rows_of_its_label_only(tmp_path):
    ledger = condensed(by={"day": DAY, "site": SITE})
    ledger.to_parquet(tmp_path / "l", partition=["site"])
    for kind in ("tables", "moments"):
        for site in ("a", "b"):
            (file,) = (tmp_path / "l" / kind / f"site={site}").iterdir()
            stored_file = parquet.ParquetFile(file)
            assert set(stored_file.read().column("site").to_pylist()) == {site}
            assert stored_file.metadata.row_group(0).column(0).compression == "ZSTD"


def test_a_folder_of_a_label_may_be_there_without_cases(tmp_path, same):
    whole = condensed(by={"day": DAY})
    condensed(DAY < 2, by={"day": DAY}).to_parquet(tmp_path / "l", partition=["day"])
    (tmp_path / "l" / "tables" / "day=2").mkdir()
    condensed(DAY == 2, by={"day": DAY}).to_parquet(tmp_path / "l", partition=["day"])
    same(pr.Ledger.from_parquet(tmp_path / "l"), whole)


def test_text_that_is_added_keeps_the_order_of_its_own(tmp_path):
    """Labels that no earlier part has are put where the part that is added has them."""
    grades = ["low", "mid", "high"]
    for day, labels in enumerate((["low", "high"], ["low", "mid", "high"])):
        own = day == DAY
        grade = pd.Series(pd.Categorical(np.resize(labels, 20), grades, ordered=True))
        by = {"day": DAY[own], "grade": grade}
        pr.condense(Y[own], {"p": P[own]}, by=by).to_parquet(tmp_path / "l", partition=["day"])
    assert stored(tmp_path / "l")["keys"] == {"day": None, "grade": grades}


def test_labels_above_the_largest_signed_number_come_back(tmp_path, same):
    ledger = condensed(by={"id": np.resize(np.array([2**64 - 1, 2**63, 5], dtype=np.uint64), N)})
    ledger.to_parquet(tmp_path / "l")
    again = pr.Ledger.from_parquet(tmp_path / "l")
    same(again, ledger, rtol=1e-15)
    assert again.keys == {"id": (5, 2**63, 2**64 - 1)}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(dt.date(2024, 1, 1), LATER, id="date and time"),
        pytest.param("x", 1, id="text and number"),
        pytest.param(1, 2.5, id="whole and fraction"),
        pytest.param(1, 2**63, id="signed and unsigned"),
        pytest.param(SOONER, SOONER.replace(tzinfo=None), id="with and without a zone"),
    ],
)
def test_labels_of_another_type_are_not_added_to_a_folder(tmp_path, first, second):
    y, p, folder = [0, 1] * 20, np.linspace(0.05, 0.95, 40), tmp_path / "ledger"
    pr.condense(y, {"m": p}, by={"k": [first] * 40}).to_parquet(folder, partition=["k"])
    with pytest.raises(InputTypeError, match=r"the labels of k must be of the type of those in .*ledger"):
        pr.condense(y, {"m": p}, by={"k": [second] * 40}).to_parquet(folder, partition=["k"])
    assert pr.Ledger.from_parquet(folder).keys == {"k": (first,)}


def test_clusters_of_another_type_are_not_added_to_a_folder(tmp_path):
    y, p, folder = [0, 1] * 20, np.linspace(0.05, 0.95, 40), tmp_path / "ledger"
    pr.condense(y, {"m": p}, by={"k": ["x"] * 40}, cluster=np.arange(40)).to_parquet(folder, partition=["k"])
    other = pr.condense(y, {"m": p}, by={"k": ["y"] * 40}, cluster=list(map(str, range(40))))
    with pytest.raises(InputTypeError, match=r"the labels of cluster must be of the type of those in .*ledger"):
        other.to_parquet(folder, partition=["k"])
    assert pr.Ledger.from_parquet(folder).n == 40


def test_labels_that_cannot_be_stored_say_so(tmp_path):
    y, p = [0, 1] * 20, np.linspace(0.05, 0.95, 40)
    with pytest.raises(InputValueError, match="short enough to name a folder"):
        pr.condense(y, {"m": p}, by={"k": ["x" * 300, "y"] * 20}).to_parquet(tmp_path / "a", partition=["k"])
    with pytest.raises(InputTypeError, match="surrogates not allowed"):
        pr.condense(y, {"m": p}, by={"k": ["\ud800", "y"] * 20}).to_parquet(tmp_path / "b")
    assert list(tmp_path.iterdir()) == []


def test_names_of_columns_that_are_not_utf_8_are_refused(tmp_path):
    pr.condense([0, 1, 1], [0.2, 0.7, 0.6]).to_parquet(tmp_path / "ledger")
    part = next((tmp_path / "ledger" / "tables").rglob("*.parquet"))
    data = part.read_bytes()
    assert b"forecast" in data
    part.write_bytes(data.replace(b"forecast", b"fore\xafast"))
    with pytest.raises(InputValueError, match="must be a whole Parquet file"):
        pr.Ledger.from_parquet(tmp_path / "ledger")
