"""Sums over the cases of two models computed on an engine: the terms that it adds up, and what is made of the sums.

The rows are added up by outcome. Of the two differences of losses, one is therefore that of the outcome that happened,
x, and the other one, z, is that of the outcome that did not. Engines compute both faster than those with and without
the event, because x is needed anyway.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from propriety.ledger.key_index import KeyIndex
from propriety.ledger.pair_sums import LARGEST_LOSS, POWERS, PairSums
from propriety.result import Floats
from propriety.rules.operations import Operations
from propriety.rules.rule import BinaryRule, Rule, binary_rule

TINY = 1e-30  # PostgreSQL raises an error for products that underflow, as powers of small forecasts do
NEGLIGIBLE = 1e-75  # and cubes of small differences.
DRAWS = ("a", "b")  # Names of the sums over the outcome that happened, and over the other one.


class _Pair(NamedTuple):
    """Two models under a rule: the place of the rule, and those of the pair and its models among the series."""

    rule: BinaryRule
    place: int
    pair: int
    one: int
    other: int

    @property
    def name(self) -> str:
        """What the columns of the pair end with."""
        return f"{self.place}_{self.pair}"

    @property
    def is_bounded(self) -> bool:
        """Whether no loss is infinite."""
        claims = self.rule.properties()
        bounds = claims.best, claims.worst
        return self.rule.is_even_at_mean or all(bound is not None and math.isfinite(bound) for bound in bounds)

    def draws(self) -> Iterator[tuple[str, nw.Expr, str]]:
        """Yield the letter of either imagined outcome, its chance, and the column of the difference that it gives."""
        chance = nw.col(f"mean_{self.pair}" if self.rule.is_even_at_mean else f"q_{self.name}")
        whole, prefix = (1.0, "") if self.is_bounded else (nw.col(f"k_{self.name}"), "f")
        yield DRAWS[0], whole - chance, f"{prefix}x_{self.name}"
        yield DRAWS[1], chance, f"{'x' if self.rule.is_additive else f'{prefix}z'}_{self.name}"

    def term(self, side: str, power: int, exponent: int) -> str:
        """Return the name of a sum; that of the chances is shared by all rules that are even at the mean."""
        is_shared = self.rule.is_even_at_mean and not exponent
        return f"{side}{power}{exponent}_{f'mean_{self.pair}' if is_shared else self.name}"


def _pairs(rules: Sequence[Rule], models: int) -> Iterator[_Pair]:
    pairs = list(enumerate(itertools.combinations(range(models), 2), models))
    for (place, rule), (pair, (one, other)) in itertools.product(enumerate(map(binary_rule, rules)), pairs):
        yield _Pair(rule, place, pair, one, other)


def other_losses(rules: Sequence[Rule], models: int, ops: Operations, *, careful: bool) -> dict[str, nw.Expr]:
    """Return the losses if the other outcome had happened, and the probabilities of that outcome, of each model.

    With `careful`, forecasts are raised so that nothing underflows. Under an additive rule the other outcome makes the
    same difference, so that only whether the forecasts differ is needed.
    """
    columns, event = {"float_one": nw.col("float_one")}, nw.col("event")
    for model in range(models):
        p = nw.col(f"p_{model}")
        columns[f"r_{model}"] = (event - p).abs()
        if careful:
            p = nw.when((event > 0.5) & (p < TINY)).then(TINY).otherwise(p)
        for place, rule in enumerate(map(binary_rule, rules)):
            if not rule.is_additive:
                columns[f"z_{place}_{model}"] = rule.case_loss(p, event < 0.5, ops=ops) * nw.col("float_one")
    for own in _pairs(rules, models):
        if own.rule.is_additive:
            columns[f"d_{own.name}"] = ops.number(nw.col(f"p_{own.one}") != nw.col(f"p_{own.other}"))
    return columns


def other_differences(rules: Sequence[Rule], models: int) -> dict[str, nw.Expr]:
    """Return the differences of these losses, and the mean and the range of the probabilities, of each pair."""
    columns = {}
    for own in _pairs(rules, models):
        first, second = nw.col(f"r_{own.one}"), nw.col(f"r_{own.other}")
        columns[f"mean_{own.pair}"] = 0.5 * (first + second)
        if not own.rule.is_additive:
            columns[f"z_{own.name}"] = nw.col(f"z_{own.place}_{own.one}") - nw.col(f"z_{own.place}_{own.other}")
        if not own.rule.is_even_at_mean:
            columns[f"low_{own.pair}"] = nw.when(first < second).then(first).otherwise(second)
            columns[f"high_{own.pair}"] = nw.when(first < second).then(second).otherwise(first)
    return columns


def imagined_outcomes(rules: Sequence[Rule], models: int, ops: Operations) -> list[dict[str, nw.Expr]]:
    """Return the columns that the stages of a query add, so that no engine computes one twice.

    They are whether the losses differ, whether the case counts if a loss can be infinite, the differences of the losses
    if it does, and the chance of the other outcome.
    """
    stages: list[dict[str, nw.Expr]] = [{}, {}, {}, {}]
    facts, finite, chances, clipped = stages
    for own in _pairs(rules, models):
        name = own.name
        x, z, chance, known = (nw.col(f"{letter}_{name}") for letter in "xzck")
        if not own.rule.is_additive:
            facts[f"d_{name}"] = ops.number((x != 0.0) | (z != 0.0))
        if own.rule.is_even_at_mean:
            continue
        if not own.is_bounded:
            facts[f"k_{name}"] = ops.number((x.abs() < LARGEST_LOSS) & (z.abs() < LARGEST_LOSS))
            for side, one in (("x", x), ("z", z)):
                finite[f"f{side}_{name}"] = nw.when(known > 0.5).then(one).otherwise(0.0)
            x, z = (nw.col(f"f{side}_{name}") for side in "xz")
        # Dividing by 0 is an error on some engines.
        chances[f"c_{name}"] = nw.when(x != z).then(x / (x - z)).otherwise(nw.col(f"mean_{own.pair}"))
        low, high = nw.col(f"low_{own.pair}"), nw.col(f"high_{own.pair}")
        # Engines choose between two columns faster than they find the smaller one.
        chance = nw.when(chance < low).then(low).otherwise(nw.when(chance > high).then(high).otherwise(chance))
        clipped[f"q_{name}"] = chance if own.is_bounded else chance * known
    return [stage for stage in stages if stage]


def terms_of_pairs(rules: Sequence[Rule], models: int, weight: nw.Expr | None, *, careful: bool) -> dict[str, nw.Expr]:
    """Return the terms that are summed, of which there are fewer without weights and if some follow from others."""
    cubed = None if weight is None else weight * weight * weight
    powers = [None] if weight is None else [weight, weight * weight, cubed]
    terms = {} if cubed is None else {"cubes": cubed}
    for own in _pairs(rules, models):
        for (power, factor), (side, chance, loss) in itertools.product(enumerate(powers, start=1), own.draws()):
            product = chance if factor is None else factor * chance
            for exponent in range((3 if weight is None else power) + 1):
                if not exponent or not _follows(own.rule, side):
                    terms[own.term(side, power, exponent)] = product
                    product = product * nw.col(loss)
        x = nw.col(f"x_{own.name}")
        x = nw.when(x.abs() < NEGLIGIBLE).then(0.0).otherwise(x) if careful else x
        observed = {3: x * x * x} if cubed is None else {1: cubed * x, 2: cubed * x * x, 3: cubed * x * x * x}
        terms |= {f"g{exponent}_{own.name}": term for exponent, term in observed.items()}
        terms[f"d_{own.name}"] = nw.col(f"d_{own.name}")
    return terms


def _follows(rule: BinaryRule, side: str) -> bool:
    """Whether sums of the losses of an imagined outcome are those of the observed losses less those of the other."""
    return rule.is_additive and side == DRAWS[0]


def pair_sums_of_columns(
    columns: Mapping[str, Floats],
    rules: Sequence[Rule],
    place: int,
    models: int,
    index: KeyIndex,
    codes: NDArray[np.intp],
) -> PairSums:
    """Return the sums under the rule at a place from the sums of an engine, given the entry of each of its rows."""
    pairs = [own for own in _pairs(rules, models) if own.place == place]
    imagined = np.empty((len(index), len(pairs), 2, len(POWERS)))
    cubes, differ = np.empty((len(index), len(pairs), 4)), np.empty((len(index), len(pairs)))

    def total(*names: str) -> Floats:
        """Add up the first of these columns that there is."""
        found = next(columns[name] for name in names if name in columns)
        return np.bincount(codes, found, minlength=len(index)).astype(np.float64, copy=False)

    event = np.array(index.column("outcome")) == 1
    for at, own in enumerate(pairs):
        name = own.name
        plain = {0: "n", 1: f"sx_{name}", 2: f"ux_{name}", 3: f"g3_{name}"}  # Without weights.
        weighted = {(1, 0): "weight", (2, 0): "squares", (2, 1): f"tx_{name}", (3, 0): "cubes"}
        weighted |= {(3, 1): f"g1_{name}", (3, 2): f"g2_{name}"}
        observed = {powers: total(weighted.get(powers, plain[powers[1]]), plain[powers[1]]) for powers in POWERS}
        for last, (power, exponent) in enumerate(POWERS):
            other = total(*(own.term(DRAWS[1], one, exponent) for one in (power, 1)))
            if exponent and _follows(own.rule, DRAWS[0]):
                happened = observed[power, exponent] - other
                happened = happened if exponent % 2 else np.maximum(happened, 0.0)  # Rounding.
            else:
                happened = total(*(own.term(DRAWS[0], one, exponent) for one in (power, 1)))
            imagined[:, at, 0, last] = np.where(event, other, happened)
            imagined[:, at, 1, last] = np.where(event, happened, other)
        cubes[:, at] = np.stack([observed[3, exponent] for exponent in range(4)], axis=1)
        differ[:, at] = total(f"d_{name}")
    return PairSums(imagined=imagined, cubes=cubes, differ=np.rint(differ).astype(np.int64), index=index)
