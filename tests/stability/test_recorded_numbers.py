"""Values, limits and p-values of every measure, noise and door are those that were recorded."""

import json
import math
from functools import cache
from typing import Any

import pytest
from recorded_numbers import CATALOGUE, DRAWS, EVERY, STORED, asked

import propriety as pr

TOLERANCE = 1e-6  # Fits stop elsewhere with other versions of SciPy.


@cache
def recorded() -> dict[str, Any]:
    return json.loads(STORED.read_text(encoding="utf-8"))


def test_every_measure_is_recorded():
    built_in = {getattr(pr.measures, name) for name in dir(pr.measures)} - {pr.measures.Measure, pr.measures.Influence}
    kinds = {kind for kind in built_in if isinstance(kind, type)} - {pr.measures.OfMeans}
    assert kinds == {type(measure) for measure in CATALOGUE.values()}
    assert recorded().keys() == CATALOGUE.keys()


@pytest.mark.parametrize("noise", EVERY)
@pytest.mark.parametrize("key", CATALOGUE)
def test_the_numbers_are_those_recorded(key, noise):
    found, stored = asked(key, noise), recorded()[key][noise]
    # A draw whose difference is zero but for rounding is on either side of it with other versions of NumPy.
    one_draw = 0.0 if CATALOGUE[key].has_formula(None) else 2.0 / (DRAWS + 1.0)
    assert found.keys() == stored.keys()
    for door, columns in found.items():
        assert columns.keys() == stored[door].keys(), door
        for name, column in columns.items():
            if name == "refused":
                assert column == stored[door][name], door
                continue
            for one, other in zip(column, stored[door][name], strict=True):
                assert (one is None) == (other is None), (door, name)
                room = 1e-9 + one_draw * name.startswith("p_")
                assert one is None or math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=room), (door, name)
