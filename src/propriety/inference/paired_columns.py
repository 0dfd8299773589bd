"""The columns of a comparison, from which its rows are made: differences of pairs, limits and tests."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety import checks
from propriety.inference.estimates import ROUNDING
from propriety.inference.paired_tests import Paired
from propriety.inference.verdict import holm
from propriety.result import Floats


def pairs_of(models: tuple[str, ...], reference: str | None) -> tuple[list[int], Floats]:
    """Return the requested differences, and the signs that make the second model the reference."""
    pairs = list(itertools.combinations(models, 2))
    if reference is None:
        return list(range(len(pairs))), np.ones(len(pairs))
    checks.choice(reference, "reference", models)
    places = [place for place, pair in enumerate(pairs) if reference in pair]
    return places, np.array([1.0 if pairs[place][1] == reference else -1.0 for place in places])


def difference_columns(
    models: tuple[str, ...], paired: Paired, places: list[int], signs: Floats
) -> dict[str, NDArray[Any]]:
    """Return the numbers of the rows, and whether two models have the same value in every case."""
    pairs = list(itertools.combinations(range(len(models)), 2))
    named = [pairs[place][:: int(sign)] for place, sign in zip(places, signs, strict=True)]
    one, other = np.array(named, dtype=np.intp).reshape(-1, 2).T
    size = np.abs(paired.values[: len(models)])
    noise = ROUNDING * np.maximum(size[one], size[other])
    series = np.array(places, dtype=np.intp) + len(models)
    difference = signs * paired.values[series]
    error, df, low, high, p_value = (values[series] for values in paired.found)
    low, high = np.where(signs > 0.0, low, -high), np.where(signs > 0.0, high, -low)
    with np.errstate(invalid="ignore"):
        flat = np.isfinite(difference) & ~(error * np.sqrt(paired.units) > noise)  # Also true for a single case.
    unknown = np.isnan(error) & (paired.units > 1)
    flat &= ~unknown
    none = np.isfinite(difference) & (np.abs(difference) <= noise)
    same = flat & none
    difference = np.where(none, 0.0, difference)
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = np.where(flat, np.nan, difference / error)
    p_value = np.where(flat, np.nan, np.where(none & ~unknown, 1.0, p_value))
    # Models that decide alike in every case may differ in the next one, if that can be said.
    foreseen = same & (low < high)
    low, high = (np.where(foreseen, limit, np.where(same, 0.0, np.where(flat, np.nan, limit))) for limit in (low, high))
    return {
        "model": np.array(models)[one],
        "against": np.array(models)[other],
        "value": difference,
        "low": low,
        "high": high,
        "error": np.where(same | (flat & ~np.isnan(error)), 0.0, error),
        "t": statistic,
        "df": df,
        # Models that score the same are not tested, and the adjustment does not count them.
        "p": np.where(same, 1.0, p_value),
        "p_adjusted": np.where(same, 1.0, holm(p_value)),
        "same": same,
    }
