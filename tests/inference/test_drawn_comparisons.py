"""Comparisons drawn at random: every verdict is that of the one function, and none contradicts its interval."""

import math
from dataclasses import replace

import numpy as np
import pytest

import propriety as pr
from propriety.errors import ProprietyError
from propriety.inference.verdict import lead, with_verdict

OF_EVENT = (
    *("brier", "log", "auc", "observed_expected", "calibration_slope", "net_benefit_at_0.2", "regret_at_0.3"),
    *("brier_skill", "miscalibration", "ici", pr.measures.TopKNetBenefit(thresholds=0.2, share=0.2)),
)
OF_CLASSES = ("brier", "log", "accuracy", "brier_skill")
EXPLAINED = ("adjusted", "no-better-side", "no-limits")  # Notes of the verdict itself.
CALLS = 100


def codes(row):
    """Return the codes of the notes of a row."""
    return {note.code for note in row.notes}


def drawn(rng):
    """Return a comparison of cases drawn at random."""
    n, models = int(np.exp(rng.uniform(np.log(2), np.log(600)))), int(rng.integers(2, 5))
    unit = rng.integers(0, max(2, n // int(rng.integers(1, 9))), n)
    shared = [{}, {}, {"sample_weight": rng.gamma(1.0, size=n)}, {"cluster": unit}, {"period": unit}][rng.integers(5)]
    options = {"level": float(rng.choice([0.9, 0.95])), "n_resamples": 59, "seed": int(rng.integers(1000))}
    options |= {"reference": "m0"} if rng.random() < 0.3 else {}
    options |= {"method": "student"} if rng.random() < 0.3 else {}
    noise = rng.choice([0.0, 0.01, 0.3, 2.0], models)
    if rng.random() < 0.2:
        truth = rng.dirichlet([3.0, 1.0, 1.0], n)
        y = np.array([rng.choice(3, p=row) for row in truth])
        rows = {
            f"m{k}": truth ** np.exp(np.clip(own * rng.normal(size=(n, 1)), -1.0, 1.0)) for k, own in enumerate(noise)
        }
        rows = {name: row / row.sum(axis=1, keepdims=True) for name, row in rows.items()}
        return pr.compare(y, rows, OF_CLASSES[rng.integers(len(OF_CLASSES))], labels=[0, 1, 2], **shared, **options)
    truth = rng.beta(1.0, rng.choice([1.0, 5.0, 50.0]), n)
    y = rng.random(n) < truth
    logit = np.log(truth / (1.0 - truth))
    forecasts = {f"m{k}": 1.0 / (1.0 + np.exp(-logit - own * rng.normal(size=n))) for k, own in enumerate(noise)}
    return pr.compare(y, forecasts, OF_EVENT[rng.integers(len(OF_EVENT))], **shared, **options)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 20))])
def test_verdicts_are_those_of_the_function_and_agree_with_the_limits(seed):
    rng, compared = np.random.default_rng(seed), 0
    while compared < CALLS:
        try:
            found = drawn(rng)
        except ProprietyError:  # One outcome only, or a cluster, where a measure is not defined.
            continue
        compared += 1
        for row in found:
            without = tuple(note for note in row.notes if note.code not in EXPLAINED)
            again = with_verdict(replace(row, verdict=None, notes=without))
            assert (again.verdict, codes(again)) == (row.verdict, codes(row))
        for row in found.differences:
            outside = row.has_limits and not row.low <= 0.0 <= row.high
            shown = row.tested_p <= 1.0 - row.level
            assert shown == outside or row.note("adjusted")
            assert (lead(row) != 0) == shown or row.note("no-better-side")
            assert row.verdict != "not tested" or row.notes
            assert row.note("no-better-side") or math.isnan(row.p) == (row.verdict == "not tested")
