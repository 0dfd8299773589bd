"""Which groups differ: how often a group is named, in groups that are alike and where one is altered.

Forecasts are .9 times a beta(1, 3) variable, plus .002. Events have the probability of the forecast, times 1.25 where
the model is too low everywhere, and times 1.67 in an altered group. Equal groups have shares from a Dirichlet
distribution with parameters 4; an altered group has 360 of 4,000 cases beside five others, or 170 beside 23 others.
"weights" are gamma(2); "clusters" of about eight cases lie within a group and share a latent normal state with
correlation .1.

Writes `results/differing_groups.csv`: the share of samples in which the joint test rejects, in which some group is
named, and in which the altered one is named alone. In the designs whose words are read, groups are named by `evaluate`,
and the last column is the share in which its card says, once, that the model is too low in every group. Takes twenty
minutes on one core.

Run: python studies/differing_groups.py [--samples 400] [--tests 2000] [--workers 1]
"""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr
from study_tables import write_rows

import propriety as pr
from propriety.inference.differing_groups import alike_events, differing_groups
from propriety.inference.events_by_group import EventsByGroup
from propriety.rules.functions import Excess


class Design(NamedTuple):
    """Numbers of groups and cases, O/E everywhere and in an altered group of some cases, and how cases are sampled."""

    groups: int
    cases: int
    ratio: float = 1.25
    altered: int = 0
    sampling: str = "plain"
    words: bool = False


DESIGNS = (
    Design(24, 4_000, words=True),
    Design(6, 4_000),
    Design(24, 4_000, ratio=1.0),
    Design(24, 1_000),
    Design(6, 300),
    Design(6, 4_000, 1.0, 360, words=True),
    Design(24, 4_000, 1.25, 170),
    *(Design(24, 4_000, sampling=one) for one in ("weights", "clusters")),
    *(Design(6, 4_000, 1.0, 360, sampling=one) for one in ("weights", "clusters")),
)


def draw(design: Design, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
    """Return outcomes, forecasts, groups, and what else the cases have."""
    n, k = design.cases, design.groups
    if design.altered:
        group = np.append(np.zeros(design.altered, dtype=int), generator.integers(1, k, n - design.altered))
    else:
        group = generator.choice(k, n, p=generator.dirichlet(np.full(k, 4.0)))
    p = generator.beta(1.0, 3.0, n) * 0.9 + 0.002
    rate = np.clip(p * design.ratio * np.where((group == 0) & (design.altered > 0), 1.67, 1.0), 0.0, 0.98)
    if design.sampling != "clusters":
        given = {"sample_weight": generator.gamma(2.0, 1.0, n)} if design.sampling == "weights" else {}
        return generator.random(n) < rate, p, group, given
    code = np.unique(group * n + generator.integers(0, n // k // 8, n), return_inverse=True)[1]
    state = generator.normal(size=code.max() + 1)[code]
    y = ndtr(np.sqrt(0.1) * state + np.sqrt(0.9) * generator.normal(size=n)) < rate
    return y, p, group, {"cluster": code}


def study(place: int, samples: int, tests: int) -> dict[str, object]:
    """Return the shares of a design."""
    design, rejected, counts = DESIGNS[place], 0, np.zeros(3)
    for sample in range(tests):
        y, p, group, given = draw(design, np.random.default_rng([place, sample]))
        ledger = pr.condense(y, {"m": p}, by={"g": group}, rules=[Excess()], **given)
        events, every = EventsByGroup.of(ledger, "m"), np.ones(len(ledger.index), dtype=bool)
        found = differing_groups(partial(alike_events, events), every, 0.95)
        rejected += found.p <= 0.05
        if sample >= samples:
            continue
        named = {ledger.index.column("g")[one] for one in found.named}
        if design.words:
            card = pr.evaluate(y, {"m": p}, by={"g": group}, seed=1, n_resamples=20, **given)
            rows = card.group_calibration
            named = {row.keys["g"] for row in ([] if rows is None else rows) if row.note("stands-out")}
            said = [line for line in card.card.sentences if "too low" in line and "in every group" in line]
            counts[2] += len(said) == 1
        counts[:2] += [bool(named), named == {0}]
    row: dict[str, object] = {**design._asdict(), "tests": tests, "rejected": round(rejected / tests, 4)}
    shares = dict(zip(("named", "altered one alone", "said once"), counts / samples, strict=True))
    return row | {"samples": samples} | {name: round(float(share), 4) for name, share in shares.items()}


def main() -> None:
    """Run all designs and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=400)
    parser.add_argument("--tests", type=int, default=2_000)
    parser.add_argument("--workers", type=int, default=1)
    given = parser.parse_args()
    places = range(len(DESIGNS))
    with ProcessPoolExecutor(given.workers) as pool:
        rows = list(pool.map(study, places, repeat(given.samples), repeat(given.tests)))
    write_rows("differing_groups", rows)


if __name__ == "__main__":
    main()
