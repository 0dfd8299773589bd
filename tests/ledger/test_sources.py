"""Ledgers are opened from arrays, frames and ledgers with equal results, and anything else is refused."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import propriety as pr
from propriety.errors import InputTypeError, InputValueError
from propriety.ledger.sources import open_ledger
from propriety.tables.cases import check_nothing_beside
from propriety.tables.reading import columns_of_models, key_columns, refuse_frame

RNG = np.random.default_rng(14)
N = 50
COLUMNS = {
    "y": RNG.integers(0, 2, N),
    "p": np.round(RNG.random(N), 2),
    "q": np.round(RNG.random(N), 1),
    "site": RNG.choice(["a", "b"], N),
    "day": RNG.integers(0, 4, N),
    "patient": RNG.integers(0, 20, N),
    "w": RNG.choice([0.5, 2.0], N),
}
FRAMES = {"pandas": pd.DataFrame(COLUMNS), "polars": pl.DataFrame(COLUMNS), "lazy": pl.LazyFrame(COLUMNS)}
MODELS = {"p": COLUMNS["p"], "q": COLUMNS["q"]}


@pytest.fixture(params=FRAMES)
def frame(request):
    return FRAMES[request.param]


def same(found, expected):
    assert (found.models, found.n, found.dependence) == (expected.models, expected.n, expected.dependence)
    assert found.index.names == expected.index.names
    for rule in (pr.Brier(), pr.Log(clip=0.01)):
        one, other = found.moments(rule), expected.moments(rule)
        for name in ("n", "weight", "weight_squares", "mean", "spread"):
            np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-12, atol=1e-14)
        assert one.index.names == other.index.names
    for model in found.models:
        for name in ("forecast", "events", "non_events", "event_squares", "non_event_squares"):
            own = getattr(found.table(model), name)
            np.testing.assert_allclose(own, getattr(expected.table(model), name), rtol=1e-12)


@pytest.mark.parametrize(
    "dependence", [{}, {"cluster": "patient"}, {"period": "day"}], ids=["none", "cluster", "period"]
)
@pytest.mark.parametrize("by", [None, "site", ["site", "day"], ("site",)], ids=repr)
@pytest.mark.parametrize("weight", [None, "w"])
def test_columns_of_a_frame_are_arrays(frame, dependence, by, weight):
    found = open_ledger(frame, ["p", "q"], outcome="y", by=by, sample_weight=weight, **dependence)
    keys = [by] if isinstance(by, str) else by
    arrays = {role: COLUMNS[name] for role, name in dependence.items()}
    expected = open_ledger(
        COLUMNS["y"],
        MODELS,
        by=None if keys is None else {name: COLUMNS[name] for name in keys},
        sample_weight=None if weight is None else COLUMNS[weight],
        **arrays,
    )
    same(found, expected)
    assert found.is_weighted == (weight is not None)


def test_columns_of_classes_are_arrays_of_rows(frame):
    kinds, y = np.column_stack([COLUMNS["p"], 1.0 - COLUMNS["p"]]), COLUMNS["y"]
    kinds = np.column_stack([0.5 * kinds, np.full(N, 0.5)])
    columns = {f"c{place}": kinds[:, place] for place in range(3)}
    wide = (
        frame.with_columns(**{name: pl.lit(pl.Series(values)) for name, values in columns.items()})
        if not isinstance(frame, pd.DataFrame)
        else frame.assign(**columns)
    )
    for ordered in (False, True):
        options = {"labels": [0, 1, 2], "ordered": ordered}
        found = open_ledger(wide, {"m": ["c0", "c1", "c2"]}, outcome="y", **options)
        expected = open_ledger(y, {"m": kinds}, **options)
        assert (found.labels, found.events, found.n) == (expected.labels, expected.events, N)
        np.testing.assert_allclose(found.moments(pr.Brier()).mean, expected.moments(pr.Brier()).mean, rtol=1e-12)


def test_names_of_columns_come_in_many_forms():
    assert columns_of_models("p") == {"p": ("p",)}
    assert columns_of_models(("p", "q")) == {"p": ("p",), "q": ("q",)}
    assert columns_of_models(np.array(["p", "q"])) == {"p": ("p",), "q": ("q",)}
    assert columns_of_models(FRAMES["pandas"].columns[1:3]) == {"p": ("p",), "q": ("q",)}
    assert columns_of_models({"one": "p", "two": ["a", "b", "c"]}) == {"one": ("p",), "two": ("a", "b", "c")}
    assert key_columns(None) == []
    assert (key_columns("site"), key_columns(["a", "b"]), key_columns(("a",))) == (["site"], ["a", "b"], ["a"])


NAMED = "forecasts must name columns of the frame: a list, or a mapping of models to their columns"


@pytest.mark.parametrize("wrong", [None, 3, [], {}, ["p", 1], {"m": []}, {"m": 3}, {"m": ["a", 1]}], ids=repr)
def test_names_of_columns_are_texts(wrong, frame):
    with pytest.raises(InputTypeError, match=NAMED):
        open_ledger(frame, wrong, outcome="y")


@pytest.mark.parametrize(
    ("arguments", "error", "law"),
    [
        (((), {"forecasts": ["p", "p"]}), InputValueError, r"'p' is named again.* pass \{\"model\": \"column\"\}"),
        (((), {"forecasts": {"m": ["a", "b", "a"]}}), InputValueError, "'a' is named again"),
        (((), {"by": ["site", "site"]}), InputValueError, r"by must name each column once; 'site' is named again\.?$"),
        (((), {"by": [3]}), InputTypeError, "by must name columns.*it is int"),
        (((), {"by": COLUMNS["site"]}), InputTypeError, "by must name columns.*it is ndarray"),
        (((), {"forecasts": ["y"]}), InputValueError, "forecasts must not name 'y', the column of the outcomes"),
        (((), {"by": "y"}), InputValueError, "by must not name 'y', the column of the outcomes"),
        (((), {"cluster": "y"}), InputValueError, "cluster must not name 'y', the column of the outcomes"),
        (((), {"sample_weight": "y"}), InputValueError, "sample_weight must not name 'y'"),
        (((), {"cluster": COLUMNS["patient"]}), InputTypeError, "cluster must be the name of a column.*is ndarray"),
        (((), {"period": 3}), InputTypeError, "period must be the name of a column.*it is int"),
        (((), {"sample_weight": COLUMNS["w"]}), InputTypeError, "sample_weight must be the name of a column"),
        (((), {"outcome": 3}), InputTypeError, "outcome must be the name of a column"),
        (((), {"cluster": "patient", "period": "day"}), InputValueError, "cases have cluster= or period=, not both"),
        (((), {"ordered": True}), InputValueError, "ordered belongs to three or more classes"),
        (((), {"fewest": 2}), InputValueError, "forecasts must hold two models or more; got 1"),
        (((), {"forecasts": ["nobody"]}), InputValueError, "nobody"),
        (((), {"by": "nobody"}), InputValueError, "nobody"),
    ],
    ids=lambda value: repr(value)[:40] if isinstance(value, tuple) else "",
)
def test_what_columns_cannot_be_is_refused(arguments, error, law, frame):
    _, named = arguments
    with pytest.raises(error, match=law):
        open_ledger(frame, **{"forecasts": "p", "outcome": "y", **named})


def test_two_models_are_enough_for_two(frame):
    assert open_ledger(frame, ["p", "q"], outcome="y", fewest=2).models == ("p", "q")
    assert open_ledger(COLUMNS["y"], MODELS, fewest=2).models == ("p", "q")
    ledger = pr.condense(COLUMNS["y"], MODELS)
    assert open_ledger(ledger, fewest=2) is ledger
    with pytest.raises(InputValueError, match="forecasts must hold two models or more; got 1"):
        open_ledger(pr.condense(COLUMNS["y"], COLUMNS["p"]), fewest=2)


def test_a_frame_needs_an_outcome_and_an_outcome_a_frame(frame):
    with pytest.raises(InputTypeError, match=r"a frame needs outcome=, the column of the outcomes"):
        open_ledger(frame, ["p"])
    with pytest.raises(InputTypeError, match=r"a frame needs outcome=, the column of the outcomes"):
        open_ledger(frame, MODELS)
    for names in ("p", ["p", "q"], ("p",)):
        with pytest.raises(InputTypeError, match="forecasts names columns of a frame"):
            open_ledger(COLUMNS["y"], names)
    with pytest.raises(InputTypeError, match=r"pass its columns, such as frame\['y'\] and frame\['p'\]"):
        refuse_frame(frame, COLUMNS["p"])
    refuse_frame(COLUMNS["y"], COLUMNS["p"])
    with pytest.raises(InputTypeError, match="must be arrays, not a frame or names of columns"):
        refuse_frame(COLUMNS["y"], "p")


def test_ledgers_are_opened_as_they_are():
    ledger = pr.condense(COLUMNS["y"], MODELS)
    assert open_ledger(ledger) is ledger
    with pytest.raises(InputTypeError, match="forecasts must map the models of y_true"):
        open_ledger({})


@pytest.mark.parametrize(
    "beside",
    ["forecasts", "cluster", "period", "sample_weight", "outcome", "pos_label", "labels"],
)
def test_ledgers_have_nothing_beside_them(beside):
    law = rf"a Ledger holds outcomes, forecasts, weights and keys already; pass it without {beside}"
    with pytest.raises(InputTypeError, match=law):
        open_ledger(pr.condense([0, 1], [0.2, 0.7]), **{beside: "x"})


def test_nothing_beside_condensed_cases_is_lawful():
    check_nothing_beside("a Ledger", {"by": None, "cluster": None})
    with pytest.raises(InputTypeError, match="pass it without cluster"):
        check_nothing_beside("a Ledger", {"by": None, "cluster": 0})


@pytest.mark.parametrize("name", ["lazy", "pandas"])
def test_tables_of_frames_are_put_on_the_grid_that_is_asked_for(name):
    found = pr.condense(FRAMES[name], ["p", "q"], outcome="y", by="site", cells=8)
    assert found.table("p").cells == 8
    assert found.table("p", site="a").cells == 8
    expected = pr.condense(COLUMNS["y"], MODELS, cells=8).table("p")
    np.testing.assert_allclose(found.table("p").forecast, expected.forecast, rtol=1e-14)
