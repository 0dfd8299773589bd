"""Sums over the cases of two models computed on an engine: the terms that it adds up, and what is made of the sums.

The rows are added up by outcome. Of the two differences of losses, one is therefore that of the outcome that happened,
x, and the other one, z, is that of the outcome that did not. Engines compute both faster than those with and without
the event, because x is needed anyway.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from propriety.ledger.key_index import KeyIndex
from propriety.ledger.pair_sums import LARGEST_LOSS, POWERS, PairSums
from propriety.result import Floats
from propriety.rules.operations import Operations
from propriety.rules.rule import Rule, binary_rule

TINY = 1e-30  # PostgreSQL raises an error for products that underflow, as powers of small forecasts do
NEGLIGIBLE = 1e-75  # and cubes of small differences.
DRAWS = ("a", "b")  # Names of the sums over the outcome that happened, and over the other one.


def other_losses(rules: Sequence[Rule], models: int, ops: Operations, *, careful: bool) -> dict[str, nw.Expr]:
    """Return the losses if the other outcome had happened, and the probabilities of that outcome, of each model.

    With `careful`, forecasts are raised so that nothing underflows.
    """
    columns, event = {"float_one": nw.col("float_one")}, nw.col("event")
    for model in range(models):
        p = nw.col(f"p_{model}")
        if careful:
            p = nw.when((event > 0.5) & (p < TINY)).then(TINY).otherwise(p)
        columns[f"r_{model}"] = (event - p).abs()
        for place, rule in enumerate(map(binary_rule, rules)):
            columns[f"z_{place}_{model}"] = rule.case_loss(p, event < 0.5, ops=ops) * nw.col("float_one")
    return columns


def other_differences(rules: int, models: int) -> dict[str, nw.Expr]:
    """Return the differences of these losses, and the range of the probabilities, of each pair."""
    columns = {}
    for place, pair, one, other in _pairs(rules, models):
        columns[f"z_{place}_{pair}"] = nw.col(f"z_{place}_{one}") - nw.col(f"z_{place}_{other}")
        first, second = nw.col(f"r_{one}"), nw.col(f"r_{other}")
        columns[f"low_{pair}"] = nw.when(first < second).then(first).otherwise(second)
        columns[f"high_{pair}"] = nw.when(first < second).then(second).otherwise(first)
    return columns


def imagined_outcomes(rules: Sequence[Rule], models: int) -> list[dict[str, nw.Expr]]:
    """Return columns of three stages of a query, so that no engine computes one twice.

    The last stage has the differences given either outcome, the chance of the other outcome, whether the case counts
    if a loss can be infinite, and whether its losses differ.
    """
    stages: list[dict[str, nw.Expr]] = [{}, {}, {}]
    losses, chances, clipped = stages
    for place, pair, *_ in _pairs(len(rules), models):
        name = f"{place}_{pair}"
        x, z, low, high = (nw.col(one) for one in (f"x_{name}", f"z_{name}", f"low_{pair}", f"high_{pair}"))
        own, kept = {f"hl_{name}": x, f"jl_{name}": z}, [f"hl_{name}", f"jl_{name}", f"d_{name}"]
        if not _is_bounded(rules[place]):
            counts = (x.abs() < LARGEST_LOSS) & (z.abs() < LARGEST_LOSS)
            own = {column: nw.when(counts).then(part).otherwise(0.0) for column, part in own.items()}
            own[f"k_{name}"] = nw.when(counts).then(1.0).otherwise(0.0) * nw.col("float_one")
            kept.append(f"k_{name}")
        differs = nw.when((x == 0.0) & (z == 0.0)).then(0.0).otherwise(1.0) * nw.col("float_one")
        losses |= own | {f"d_{name}": differs, f"low_{pair}": low, f"high_{pair}": high}
        x, z, chance = (nw.col(f"{letters}_{name}") for letters in ("hl", "jl", "c"))
        # Dividing by 0 is an error on some engines.
        chances[f"c_{name}"] = nw.when(x != z).then(x / (x - z)).otherwise(0.5 * (low + high))
        chances |= {column: nw.col(column) for column in (*kept, f"low_{pair}", f"high_{pair}")}
        # Engines choose between two columns faster than they find the smaller one.
        chance = nw.when(chance < low).then(low).otherwise(nw.when(chance > high).then(high).otherwise(chance))
        clipped[f"jq_{name}"] = chance * nw.col(f"k_{name}") if f"k_{name}" in kept else chance
        clipped |= {column: nw.col(column) for column in kept}
    return stages


def terms_of_pairs(rules: Sequence[Rule], models: int, weight: nw.Expr | None, *, careful: bool) -> dict[str, nw.Expr]:
    """Return the terms that are summed, of which there are fewer without weights."""
    cubed = None if weight is None else weight * weight * weight
    powers = [None] if weight is None else [weight, weight * weight, cubed]
    terms = {} if cubed is None else {"cubes": cubed}
    for place, pair, *_ in _pairs(len(rules), models):
        name = f"{place}_{pair}"
        chance = nw.col(f"jq_{name}")
        draws = dict(
            zip(
                DRAWS,
                (((1.0 if _is_bounded(rules[place]) else nw.col(f"k_{name}")) - chance, "hl"), (chance, "jl")),
                strict=True,
            )
        )
        for (power, own), (side, (term, loss)) in itertools.product(enumerate(powers, start=1), draws.items()):
            product = term if own is None else own * term
            for exponent in range((3 if weight is None else power) + 1):
                terms[f"{side}{power}{exponent}_{name}"] = product
                product = product * nw.col(f"{loss}_{name}")
        x = nw.col(f"x_{name}")
        x = nw.when(x.abs() < NEGLIGIBLE).then(0.0).otherwise(x) if careful else x
        observed = [x * x * x] if cubed is None else [cubed * x, cubed * x * x, cubed * x * x * x]
        terms |= {f"g{power}_{name}": term for power, term in zip((1, 2, 3)[-len(observed) :], observed, strict=True)}
        terms[f"d_{name}"] = nw.col(f"d_{name}")
    return terms


def pair_sums_of_columns(
    columns: Mapping[str, Floats], place: int, models: int, index: KeyIndex, codes: NDArray[np.intp]
) -> PairSums:
    """Return the sums under the rule at a place from the sums of an engine, given the entry of each of its rows."""
    pairs = [pair for _, pair, *_ in _pairs(1, models)]
    imagined = np.empty((len(index), len(pairs), 2, len(POWERS)))
    cubes, differ = np.empty((len(index), len(pairs), 4)), np.empty((len(index), len(pairs)))

    def total(*names: str) -> Floats:
        """Add up the first of these columns that there is."""
        found = next(columns[name] for name in names if name in columns)
        return np.bincount(codes, found, minlength=len(index)).astype(np.float64, copy=False)

    event = np.array(index.column("outcome")) == 1
    for at, pair in enumerate(pairs):
        name = f"{place}_{pair}"
        for last, (power, exponent) in enumerate(POWERS):
            happened, other = (total(f"{side}{power}{exponent}_{name}", f"{side}1{exponent}_{name}") for side in DRAWS)
            imagined[:, at, 0, last] = np.where(event, other, happened)
            imagined[:, at, 1, last] = np.where(event, happened, other)
        cubes[:, at, 0] = total("cubes", "n")
        cubes[:, at, 1] = total(f"g1_{name}", f"sx_{name}")
        cubes[:, at, 2] = total(f"g2_{name}", f"ux_{name}")
        cubes[:, at, 3] = total(f"g3_{name}")
        differ[:, at] = total(f"d_{name}")
    return PairSums(imagined=imagined, cubes=cubes, differ=np.rint(differ).astype(np.int64), index=index)


def _pairs(rules: int, models: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield the rule, the number of the pair among the series, and its two models."""
    pairs = list(enumerate(itertools.combinations(range(models), 2), models))
    for place, (pair, (one, other)) in itertools.product(range(rules), pairs):
        yield place, pair, one, other


def _is_bounded(rule: Rule) -> bool:
    """Whether no loss is infinite."""
    claims = rule.properties()
    return all(bound is not None and math.isfinite(bound) for bound in (claims.best, claims.worst))
