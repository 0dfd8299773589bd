"""Verdicts in words: who is better, by how much, what would be needed, and where there is nothing to test."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from propriety.inference.verdicts import (
    Pair,
    Sample,
    holm,
    method_in_words,
    pair_sentence,
    ranks_in_words,
    rule_sentence,
    sample_in_words,
    score_in_words,
    verdict_on,
)
from propriety.rules.catalogue import RULES

SAMPLE = Sample(1204, 1204, "cases", 1, 0.95, "Brier()")


def pair(difference=-0.0042, low=-0.0071, high=-0.0013, error=0.0015, p=0.005, needed=1300.0):
    return Pair("a", "b", difference, low, high, error, p, needed)


@pytest.mark.parametrize(
    ("row", "sample", "verdict", "words"),
    [
        (pair(), SAMPLE, "a better", "a is better than b: 0.0042 lower Brier score, 95% interval 0.0013 to 0.0071."),
        (
            pair(0.0042, 0.0013, 0.0071),
            SAMPLE._replace(rule="Log(clip=0.1)", level=0.9),
            "b better",
            "b is better than a: 0.0042 lower log score, 90% interval 0.0013 to 0.0071.",
        ),
        (
            pair(-3.21, -6.4, -0.02, 1.6, 0.049),
            SAMPLE,
            "a better",
            "a is better than b: 3.21 lower Brier score, 95% interval 0.02 to 6.40.",
        ),
        (
            pair(-0.001, -0.0035, 0.0015, 0.0013, 0.43, 8970.4),
            SAMPLE,
            "not distinguishable",
            "a and b are not distinguishable on 1,204 cases; about 9,000 would be needed.",
        ),
        (
            pair(-0.001, -0.0035, 0.0015, 0.0013, 0.43, 8970.4),
            Sample(1204, 20, "clusters", 1, 0.95, "Brier()"),
            "not distinguishable",
            "a and b are not distinguishable on 1,204 cases in 20 clusters; about 9,000 in about 150 clusters would be needed.",
        ),
        (
            pair(-0.001, -0.0035, 0.0015, 0.0013, 0.43, 9000.0),
            Sample(1200, 400, "times", 1, 0.95, "Brier()"),
            "not distinguishable",
            "a and b are not distinguishable on 1,200 cases at 400 times; about 9,000 at about 3,000 times would be needed.",
        ),
        (
            pair(p=0.06, needed=2000.0),
            SAMPLE._replace(pairs=6),
            "not distinguishable",
            "a and b are not distinguishable on 1,204 cases once 6 pairs are tested; about 2,000 would be needed.",
        ),
        (
            pair(0.0, -0.1, 0.1, 0.05, 1.0, np.inf),
            SAMPLE,
            "not distinguishable",
            "a and b are not distinguishable on 1,204 cases; their mean scores are equal.",
        ),
        (
            pair(0.0, 0.0, 0.0, 0.0, 1.0, np.inf),
            SAMPLE,
            "same losses",
            "a and b score the same in every case.",
        ),
        (
            pair(-0.07, np.nan, np.nan, 0.0, np.nan, np.nan),
            SAMPLE,
            "no spread",
            "a has a 0.070 lower Brier score than b in every case alike, so there is no spread to test with.",
        ),
        (
            pair(0.13, np.nan, np.nan, np.nan, np.nan, np.nan),
            Sample(1, 1, "cases", 1, 0.95, "Brier()"),
            "one case",
            "b has a 0.13 lower Brier score than a on one case, which cannot tell them apart.",
        ),
        (
            pair(0.13, np.nan, np.nan, np.nan, np.nan, np.nan),
            Sample(8, 1, "clusters", 1, 0.95, "Brier()"),
            "one cluster",
            "b has a 0.13 lower Brier score than a on one cluster, which cannot tell them apart.",
        ),
        (
            pair(np.inf, np.nan, np.nan, np.nan, np.nan, np.nan),
            SAMPLE._replace(rule="Log()"),
            "infinite score",
            "a has an infinite log score and b has not; no test can weigh that.",
        ),
        (
            pair(np.nan, np.nan, np.nan, np.nan, np.nan, np.nan),
            SAMPLE._replace(rule="Log()"),
            "infinite score",
            "a and b both have an infinite log score, which cannot compare them.",
        ),
    ],
    ids=[
        *("better", "other", "large", "undecided", "clusters", "times", "holm", "equal"),
        *("same", "flat", "case", "cluster", "infinite", "both"),
    ],
)
def test_verdicts_and_sentences(row, sample, verdict, words):
    assert verdict_on(row, sample) == verdict
    assert pair_sentence(row, sample) == words


def test_an_end_next_to_zero_does_not_read_as_zero():
    words = pair_sentence(pair(-0.0042, -0.0083, -0.00003), SAMPLE)
    assert words.endswith("95% interval 0.00003 to 0.00830.")


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("Brier()", "Brier score"),
        ("BoundedBrier(low=0.05, high=0.2)", "bounded Brier score"),
        ("RankedProbability()", "ranked probability score"),
        ("Misclassification()", "misclassification rate"),
        ("BoundedNetBenefit(low=0.05, high=0.2)", "bounded net benefit forgone"),
        ("BetaRegret(alpha=2.0, beta=8.0)", "beta regret"),
        ("MyOwnLoss()", "my own loss"),
        ("CRPS()", "CRPS score"),
        ("Tsallis(order=1.5)", "Tsallis score"),
    ],
)
def test_rules_in_words(rule, words):
    assert score_in_words(rule) == words


def test_every_rule_of_the_catalogue_has_words():
    for rule in RULES:
        words = score_in_words(repr(rule))
        assert words.split()[-1] in {"score", "rate", "regret", "forgone"}
        assert "(" not in words


def test_only_a_rule_that_is_not_proper_is_warned_of():
    assert not rule_sentence("Brier()", proper=True)
    assert rule_sentence("Mine()", proper=False).startswith("Mine() is not proper: ")
    assert rule_sentence("Mine()", proper=None).startswith("Mine() is not declared proper; ")


def test_samples_and_ranks_in_words():
    assert sample_in_words(Sample(1, 1, "cases", 1, 0.95, "")) == "1 case"
    assert sample_in_words(Sample(365, 365, "times", 1, 0.95, "")) == "365 cases"
    assert sample_in_words(Sample(7300, 365, "times", 1, 0.95, "")) == "7,300 cases at 365 times"
    assert [ranks_in_words(2, 2), ranks_in_words(1, 3)] == ["rank 2", "rank 1 to 3"]


def test_one_is_no_plural():
    assert sample_in_words(Sample(200, 1, "clusters", 1, 0.95, "")) == "200 cases in 1 cluster"
    single = Sample(200, 1, "times", 1, 0.95, "")
    assert sample_in_words(single) == "200 cases at 1 time"
    words = "Diebold-Mariano test (Bartlett's weights over 1 time) on 200 cases at 1 time"
    assert method_in_words("diebold-mariano", None, 0, single) == words


def test_what_can_never_be_had_is_not_counted_out():
    row = pair(-1e-9, -0.0035, 0.0015, 0.0013, 0.43, 1.5e36)
    assert pair_sentence(row, SAMPLE).endswith("; more than a billion would be needed.")
    clustered = pair_sentence(row._replace(needed=1.2e9), SAMPLE._replace(units=12, kind="clusters"))
    assert clustered.endswith("; more than a billion in about 12,000,000 clusters would be needed.")


@given(st.lists(st.one_of(st.floats(0, 1), st.just(np.nan)), max_size=8))
def test_holm_rejects_what_stepping_down_rejects(values):
    p_values = np.array(values, dtype=float)
    adjusted = holm(p_values)
    assert (np.isnan(adjusted) == np.isnan(p_values)).all()
    tests = np.count_nonzero(~np.isnan(p_values))
    for level in (0.01, 0.05, 0.3):
        rejected = set()
        for step, place in enumerate(np.argsort(p_values)[:tests]):
            if p_values[place] * (tests - step) > level:
                break
            rejected.add(place)
        assert set(np.flatnonzero(adjusted <= level)) == rejected
