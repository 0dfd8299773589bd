"""Combinations of labels: each once, in order, however many keys and labels there are."""

import datetime as dt
import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from propriety.errors import InputValueError
from propriety.ledger.key_index import KeyIndex, merged_labels
from propriety.tables.keys import Keys
from propriety.tables.labels import ordered_labels

entries = st.lists(st.tuples(st.integers(-2, 3), st.sampled_from("xyz"), st.booleans()), min_size=1, max_size=12)


def index_of(rows):
    numbers, texts, truths = zip(*rows, strict=True)
    return KeyIndex.of_columns({"number": numbers, "text": texts, "truth": truths})


def rows_of(index):
    return list(zip(*map(index.column, index.names), strict=True))


@given(entries)
def test_columns_are_kept_as_they_are(rows):
    assert rows_of(index_of(rows)) == rows
    assert len(index_of(rows)) == len(rows)


@given(entries)
def test_distinct_combinations_are_in_order_and_every_entry_finds_its_own(rows):
    distinct, entry = index_of(rows).distinct()
    assert rows_of(distinct) == sorted(set(rows))
    assert [rows_of(distinct)[place] for place in entry.tolist()] == rows


@given(entries)
def test_cases_have_the_same_index_as_columns(rows):
    whole = index_of(rows)
    keys = {name: Keys(whole.labels[place], whole.codes[:, place]) for place, name in enumerate(whole.names)}
    index, entry = KeyIndex.of_cases(keys, len(rows))
    distinct, expected = whole.distinct()
    assert rows_of(index) == rows_of(distinct)
    assert entry.tolist() == expected.tolist()


@given(entries, st.permutations(["number", "text", "truth"]), st.integers(0, 3))
def test_some_of_the_keys_in_any_order(rows, names, count):
    index, entry = index_of(rows).only(names[:count])
    places = [("number", "text", "truth").index(name) for name in names[:count]]
    some = [tuple(row[place] for place in places) for row in rows]
    assert index.names == tuple(names[:count])
    assert len(index) == len(set(some))
    assert [
        tuple(labels[code] for labels, code in zip(index.labels, index.codes[at], strict=True)) for at in entry
    ] == some


@given(entries, st.data())
def test_some_entries_keep_only_their_labels(rows, data):
    chosen = np.array(data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows))))
    found = index_of(rows).where(chosen)
    kept = [row for row, one in zip(rows, chosen, strict=True) if one]
    assert rows_of(found) == kept
    for place, labels in enumerate(found.labels):
        assert list(labels) == sorted({row[place] for row in kept})


@given(entries, entries, entries)
def test_joined_indices_are_one_after_another(first, second, third):
    joined = KeyIndex.joined([index_of(first), index_of(second), index_of(third)])
    assert rows_of(joined) == [*first, *second, *third]
    for place, labels in enumerate(joined.labels):
        assert list(labels) == sorted({row[place] for row in (*first, *second, *third)})


@given(entries, st.permutations(["number", "text", "truth"]), st.integers(0, 3))
def test_entries_are_found_in_an_index_of_fewer_keys(rows, names, count):
    whole, _ = index_of(rows).distinct()
    some, expected = whole.only(names[:count])
    assert some.entry_of(whole).tolist() == expected.tolist()


def test_combinations_beyond_64_bits_are_told_apart():
    many = 2**16 + 1
    keys = {
        name: Keys(range(many), np.array([0, many - 1, 0, many - 1, 5]))  # Their product has 65 bits.
        for name in ("a", "b", "c", "d")
    }
    keys["d"] = Keys(range(many), np.array([7, 7, 7, 8, 0]))
    index, entry = KeyIndex.of_cases(keys, 5)
    assert entry.tolist() == [0, 2, 0, 3, 1]
    assert index.codes.tolist() == [[0, 0, 0, 7], [5, 5, 5, 0], [many - 1] * 3 + [7], [many - 1] * 3 + [8]]
    assert index.entry_of(index.where(np.array([False, True, False, True]))).tolist() == [1, 3]


def test_an_index_without_keys_has_one_entry():
    index, entry = KeyIndex.of_cases({}, 3)
    assert (len(index), entry.tolist()) == (1, [0, 0, 0])
    assert index.matches({}).tolist() == [True]
    joined = KeyIndex.joined([KeyIndex.keyless(), KeyIndex.keyless()])
    assert (len(joined), joined.distinct()[1].tolist()) == (2, [0, 0])
    assert KeyIndex.of_columns({}).names == ()
    assert KeyIndex.keyless().entry_of(index_of([(1, "x", True), (2, "y", False)])).tolist() == [0, 0]


def test_labels_are_matched_one_by_one_or_any_of_a_list():
    index = index_of([(1, "x", True), (1, "y", False), (2, "x", False)])
    assert index.matches({"number": 1}).tolist() == [True, True, False]
    assert index.matches({"number": 1, "text": "x"}).tolist() == [True, False, False]
    assert index.matches({"text": ["x", "y"], "truth": False}).tolist() == [False, True, True]
    assert index.matches({"number": {2}}).tolist() == [False, False, True]


def test_what_is_not_there_is_said_to_be_missing():
    index = index_of([(1, "x", True), (2, "y", True)])
    with pytest.raises(
        InputValueError, match=r"the ledger has no key 'day'; its keys are \['number', 'text', 'truth'\]"
    ):
        index.matches({"day": 3})
    with pytest.raises(InputValueError, match="the ledger has no key 'day'; it has no keys"):
        KeyIndex.keyless().place("day")
    with pytest.raises(InputValueError, match=r"text must be one of its labels; got 'z'\. Hint: there are 'x', 'y'"):
        index.matches({"text": ["x", "z"]})
    many = KeyIndex.of_columns({"n": range(12345)})
    with pytest.raises(InputValueError, match=r"there are 0, 1, 2, .*, 9, ... \(12,345 in all\)"):
        many.matches({"n": -1})
    with pytest.raises(InputValueError, match=r"the same keys to be added; they have \['a'\], \['b'\]"):
        KeyIndex.joined([KeyIndex.of_columns({"a": [1]}), KeyIndex.of_columns({"b": [1]})])


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ([2, 1, 2], (1, 2)),
        (["b", "a"], ("a", "b")),
        (["b", 1, "b"], ("b", 1)),
        ([dt.date(2024, 1, 2), dt.date(2024, 1, 1)], (dt.date(2024, 1, 1), dt.date(2024, 1, 2))),
        ([True, False], (False, True)),
        ([], ()),
    ],
    ids=["numbers", "texts", "both", "dates", "truths", "none"],
)
def test_labels_are_in_their_own_order_or_as_they_come(labels, expected):
    assert ordered_labels(labels) == expected


@given(st.permutations("abcdef"), st.lists(st.lists(st.sampled_from("abcdef"), unique=True), min_size=1, max_size=4))
def test_merged_labels_keep_the_order_of_every_part(order, chosen):
    parts = [tuple(label for label in order if label in some) for some in chosen]
    merged = merged_labels(parts)
    assert sorted(merged) == sorted(set(itertools.chain(*parts)))
    for part in parts:
        assert tuple(label for label in merged if label in part) == part


def test_parts_that_contradict_each_other_are_sorted():
    assert merged_labels([("a", "b", "c"), ("c", "a")]) == ("a", "b", "c")
    assert merged_labels([("low", "mid", "high"), ("mid",)]) == ("low", "mid", "high")
    assert merged_labels([(1, 4), (2, 3)]) == (1, 2, 3, 4)
    assert merged_labels([("x", 1), (2, "x")]) == (2, "x", 1)
    assert set(merged_labels([("low", "high"), ("alone",)])) == {"low", "high", "alone"}


def test_labels_of_another_type_are_shown_beside_those_of_the_first_part():
    parts = [KeyIndex.of_columns({"site": own}) for own in ([1, 2], [3], ["1", "2"])]
    with pytest.raises(InputValueError, match=r"must have labels of one type in 'site' .* they are 1 and '1'\. Hint"):
        KeyIndex.joined(parts)
    mixed = KeyIndex.joined([*parts[:1], KeyIndex.of_columns({"site": ["1", 2]})])
    assert len(mixed) == 4
