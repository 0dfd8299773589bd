"""Private ledgers: what they disclose, and how they add."""

import datetime as dt
import json

import numpy as np
import pytest
from scipy.special import expit

import propriety as pr
from propriety.errors import InputTypeError, InputValueError


def cases(n=900, *, seed=1, models=("a",), sites=3):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    p = {name: np.round(expit(x - 1 + 0.3 * place), 3) for place, name in enumerate(models)}
    return rng.random(n) < expit(x - 1), p, np.array(["north", "south", "west"])[np.arange(n) % sites]


def test_without_suppression_the_sum_of_sites_is_that_of_all_rows():
    y, p, site = cases(models=("a", "b"))
    whole = pr.coarsen(pr.condense(y, p, by={"site": site}), smallest=1)
    parts = []
    for one in np.unique(site):
        own = site == one
        ledger = pr.condense(y[own], {name: q[own] for name, q in p.items()}, by={"site": site[own]})
        parts.append(pr.PrivateLedger.from_json(pr.coarsen(ledger, smallest=1).to_json()))
    summed = sum(parts)
    np.testing.assert_array_equal(summed.published, whole.published)
    grid = pr.condense(y, p, by={"site": site}, cells=32)
    for model in p:
        for table, other in ((summed.ledger.table(model), grid.table(model)), (grid.table(model), None)):
            if other is not None:
                np.testing.assert_allclose(table.events, other.events, rtol=1e-12)
                np.testing.assert_allclose(table.non_events, other.non_events, rtol=1e-12)
        for measure in (pr.Brier(), pr.measures.AreaUnderRoc(), pr.measures.CalibrationSlope()):
            one, other = (pr.estimate(found.ledger, model, measure) for found in (summed, whole))
            assert one.value == pytest.approx(other.value, rel=1e-12)


@pytest.mark.parametrize(
    "day",
    [
        [dt.date(2026, 1, 1), dt.date(2026, 1, 2)],
        [dt.datetime(2026, 1, 1, 5, 6, 7, 8), dt.datetime(2026, 1, 2)],  # noqa: DTZ001  (without a zone, as given)
        [dt.datetime(2026, 1, 1, tzinfo=dt.UTC), dt.datetime(2026, 1, 2, tzinfo=dt.UTC)],
    ],
    ids=["dates", "times", "zoned"],
)
def test_dates_stay_dates_in_the_file(day):
    private = pr.coarsen(pr.condense([0, 1] * 20, [0.2, 0.7] * 20, by={"day": day * 20, "text": ["1", "2"] * 20}))
    read = pr.PrivateLedger.from_json(private.to_json())
    assert read.index.labels == private.index.labels
    assert read.where(day=day[0]).index.labels == ((day[0],), ("1",))
    wrong = json.loads(private.to_json()) | {"dates": {"day": "hour"}}
    with pytest.raises(InputValueError, match="hour"):
        pr.PrivateLedger.from_dict(wrong)


def test_labels_that_json_does_not_know_are_refused():
    private = pr.coarsen(pr.condense([0, 1] * 20, [0.2, 0.7] * 20, by={"age": [dt.timedelta(1), dt.timedelta(2)] * 20}))
    with pytest.raises(InputTypeError, match="text, numbers and truth values, dates, or datetimes"):
        private.to_json()


def test_forecasts_are_in_the_middle_of_their_cells():
    private = pr.coarsen(pr.condense([0, 1, 1, 0], [0.0, 0.3, 0.6, 1.0]), cells=4, smallest=1)
    assert private.ledger.table().forecast.tolist() == [0.0, 0.375, 0.625, 1.0]
    assert private.to_frame(backend="pyarrow").to_pydict()["cell"] == [-1, 1, 2, 4]


@pytest.mark.parametrize("minimum", [1, 5, 20])
def test_no_positive_count_below_the_minimum_is_disclosed(minimum):
    y, p, site = cases()
    private = pr.coarsen(pr.condense(y, p, by={"site": site}), smallest=minimum)
    stored = np.array(json.loads(private.to_json())["published"])
    assert not ((stored > 0) & (stored < minimum)).any()
    true = pr.coarsen(pr.condense(y, p, by={"site": site}), smallest=1).published
    low, high = private.limits()
    hidden = private.is_suppressed
    assert ((low == np.where(hidden, 1, true)) & (high == np.where(hidden, minimum - 1, true))).all()
    assert (private.is_suppressed == ((true > 0) & (true < minimum))).all()


def test_moments_and_exact_forecasts_do_not_leave():
    y, p, site = cases()
    text = pr.coarsen(pr.condense(y, p, by={"site": site})).to_json()
    assert set(json.loads(text)) == {
        *("schema", "version", "models", "keys", "cells", "published", "minimum"),
    }
    assert pr.PrivateLedger.from_json(text).ledger.rules == ()


def test_parts_keep_their_own_minimum():
    y, p, site = cases()
    ledger = pr.condense(y, p, by={"site": site})
    both = pr.coarsen(ledger.where(site="north"), smallest=7) + pr.coarsen(ledger.where(site="south"), smallest=1)
    assert both.keys == {"site": ("north", "south")}
    assert both.minimum.tolist() == [7, 1]
    assert not both.where(site="south").is_suppressed.any()
    back = pr.PrivateLedger.from_json(both.to_json())
    np.testing.assert_array_equal(back.published, both.published)
    assert back.minimum.tolist() == both.minimum.tolist()
    assert both.ledger.table("a", site="north").n > 0


def test_wrong_arguments_are_named():
    y, p, site = cases()
    ledger = pr.condense(y, p, by={"site": site})
    with pytest.raises(InputTypeError, match="must be a Ledger"):
        pr.coarsen(y)
    with pytest.raises(InputValueError, match="unweighted"):
        pr.coarsen(pr.condense(y, p, sample_weight=np.linspace(1, 2, len(y))))
    with pytest.raises(InputValueError, match="power of two"):
        pr.coarsen(ledger, cells=10)
    with pytest.raises(InputValueError, match="only be made coarser"):
        pr.coarsen(pr.condense(y, p, cells=16), cells=32)
    with pytest.raises(InputValueError, match="at most 1,024"):
        pr.coarsen(ledger, cells=2048)
    with pytest.raises(InputValueError, match="same cells"):
        _ = pr.coarsen(ledger, cells=16) + pr.coarsen(ledger, cells=32)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"published": [[[[1.5, 2]]]]}, "whole numbers"),
        ({"schema": "other"}, "must be a stored"),
        ({"version": 9}, "version"),
        ({"minimum": [0]}, "whole numbers"),
        ({"cells": 3}, "power of two"),
        ({"keys": 7}, "whole numbers"),
    ],
)
def test_stored_data_are_checked(change, said):
    data = pr.coarsen(pr.condense(*cases()[:2])).to_dict()
    with pytest.raises(InputValueError, match=said):
        pr.PrivateLedger.from_dict(data | change)
    with pytest.raises(InputValueError, match="must be JSON"):
        pr.PrivateLedger.from_json("{")


@pytest.mark.parametrize("minimum", [2, 10**30])
def test_a_minimum_that_hides_nothing_is_rejected(minimum):
    with pytest.raises(InputValueError, match="must be 1, or from 3"):
        pr.coarsen(pr.condense(*cases()[:2]), smallest=minimum)


def test_one_case_moves_one_count_per_model():
    y, p, _ = cases(models=("a", "b"))
    whole = pr.coarsen(pr.condense(y, p), smallest=1).published
    for row in range(20):
        kept = np.arange(len(y)) != row
        less = pr.coarsen(pr.condense(y[kept], {name: q[kept] for name, q in p.items()}), smallest=1).published
        assert np.abs(whole - less).sum(axis=(1, 2, 3)).tolist() == [1, 1]


def test_suppressed_counts_need_a_minimum():
    data = pr.coarsen(pr.condense(*cases()[:2])).to_dict()
    with pytest.raises(InputValueError, match="must not have suppressed counts"):
        pr.PrivateLedger.from_dict(data | {"minimum": [1]})


@pytest.mark.parametrize(
    "models", [["a", "a"], ["a", ""], ["a", None], ["a", 1], [], "ab", None, [["a"], ["b"]]], ids=repr
)
def test_models_without_different_names_are_refused(models):
    stored = pr.coarsen(pr.condense(*cases(models=("a", "b"))[:2]), cells=4, smallest=3).to_dict()
    with pytest.raises(InputValueError, match="must be different names"):
        pr.PrivateLedger.from_dict(stored | {"models": models})


@pytest.mark.parametrize("sites", [2, 3, 5])
def test_parts_without_keys_add_up(sites):
    y, p, _ = cases()
    parts = [pr.coarsen(pr.condense(y[one::sites], p["a"][one::sites]), cells=8, smallest=1) for one in range(sites)]
    summed, whole = sum(parts), pr.coarsen(pr.condense(y, p["a"]), cells=8, smallest=1)
    assert summed.ledger.n == len(y)
    assert pr.brier_score(summed.ledger.table()) == pytest.approx(float(pr.brier_score(whole.ledger.table())))
    assert pr.measure_bounds(summed).low == pytest.approx(pr.measure_bounds(whole).low)


def test_a_part_keeps_what_was_suppressed():
    y, p, site = cases()
    ledger = pr.condense(y, p, by={"site": site})
    parts = {one: pr.coarsen(ledger.where(site=one), smallest=minimum) for one, minimum in (("north", 4), ("west", 9))}
    both = parts["north"] + parts["west"]
    for one, private in parts.items():
        part = both.where(site=one)
        assert part.minimum.tolist() == private.minimum.tolist()
        np.testing.assert_array_equal(part.published, private.published)
    assert both.without_keys().keys == {}
    assert both.without_keys().published.shape == both.published.shape
