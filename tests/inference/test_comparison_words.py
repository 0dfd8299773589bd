"""Comparisons in words: who is better, by how much, and where there is nothing to test."""

from typing import get_args

import numpy as np
import pytest

import propriety as pr
from propriety.inference.comparison_words import (
    listed,
    method_in_words,
    pair_sentence,
    ranks_in_words,
    rule_sentence,
)
from propriety.inference.measures.of_means import MeanScore, NetBenefit
from propriety.inference.verdicts import Pair, Verdict, verdict_on
from propriety.inference.verdicts import VerdictBasis as On
from propriety.rules.catalogue import RULES

NAN = np.nan
TESTED = On(1204, 1204, "case", 1, 0.95, MeanScore())
LOG = TESTED._replace(measure=MeanScore(pr.Log()))


def pair(difference=-0.0042, low=-0.0071, high=-0.0013, error=0.0015, p=0.005):
    return Pair("a", "b", difference, low, high, error, p, p)


SEEN = pair(-0.001, -0.0025, 0.0005, 0.0008, 0.21)
UNDECIDED = "a and b are not distinguishable"
INTERVAL = "the difference in Brier score is -0.0010, 95% CI -0.0025 to 0.0005."


@pytest.mark.parametrize(
    ("row", "tested", "words"),
    [
        pytest.param(
            pair(), TESTED, "a is better than b: its Brier score is 0.0042 lower, 95% CI 0.0013 to 0.0071.", id="better"
        ),
        pytest.param(
            pair(0.0042, 0.0013, 0.0071),
            TESTED._replace(measure=MeanScore(pr.Log(clip=0.1)), level=0.9),
            "b is better than a: its log score is 0.0042 lower, 90% CI 0.0013 to 0.0071.",
            id="other",
        ),
        pytest.param(
            pair(-4.2e-13, -7.1e-13, -1.3e-13, 1.5e-13),
            TESTED,
            "a is better than b: its Brier score is 4.2e-13 lower, 95% CI 1.3e-13 to 7.1e-13.",
            id="tiny",
        ),
        pytest.param(
            pair(0.0, -7.1e-13, 7.1e-13, 3.5e-13, 1.0),
            TESTED,
            f"{UNDECIDED} on 1,204 cases: the difference in Brier score is 0, 95% CI -7.1e-13 to 7.1e-13.",
            id="tiny interval",
        ),
        pytest.param(
            pair(-0.25, -0.25 - 1e-14, -0.25 + 1e-14, 5e-15),
            TESTED,
            "a is better than b: its Brier score is 0.250000000000 lower, 95% CI 0.250000000000 to 0.250000000000.",
            id="no tiny difference",
        ),
        pytest.param(
            pair(-3.21, -6.4, -0.02, 1.6, 0.049),
            TESTED,
            "a is better than b: its Brier score is 3.21 lower, 95% CI 0.02 to 6.40.",
            id="large",
        ),
        pytest.param(
            pair(0.0042, 0.0013, 0.0071),
            TESTED._replace(measure=NetBenefit(0.2)),
            "a is better than b: its net benefit at 0.2 is 0.0042 higher, 95% CI 0.0013 to 0.0071.",
            id="more is better",
        ),
        pytest.param(
            pair(),
            TESTED._replace(measure=pr.measures.CalibrationSlope()),
            "b and a differ: b has a 0.0042 higher calibration slope, 95% CI 0.0013 to 0.0071.",
            id="neither is better",
        ),
        pytest.param(SEEN, TESTED, f"{UNDECIDED} on 1,204 cases: {INTERVAL}", id="undecided"),
        pytest.param(
            SEEN,
            On(1204, 20, "cluster", 1, 0.95, MeanScore()),
            f"{UNDECIDED} on 1,204 cases in 20 clusters: {INTERVAL}",
            id="clusters",
        ),
        pytest.param(
            SEEN,
            On(1200, 400, "period", 1, 0.95, MeanScore()),
            f"{UNDECIDED} on 1,200 cases at 400 periods: {INTERVAL}",
            id="times",
        ),
        pytest.param(
            pair(p=0.06),
            TESTED._replace(pairs=6),
            f"{UNDECIDED} on 1,204 cases after adjustment for 6 pairs: the difference in Brier score is -0.0042, "
            "95% CI -0.0071 to -0.0013.",
            id="holm",
        ),
        pytest.param(
            pair(0.0, -0.1, 0.1, 0.05, 1.0),
            TESTED,
            f"{UNDECIDED} on 1,204 cases: the difference in Brier score is 0.00, 95% CI -0.10 to 0.10.",
            id="equal",
        ),
        pytest.param(
            pair(-0.07, NAN, NAN, NAN, NAN),
            TESTED._replace(events=(0, 1204)),
            "a has a 0.070 lower Brier score than b; 1,204 cases with no event are too few to test the difference.",
            id="no events",
        ),
        pytest.param(
            pair(-0.07, NAN, NAN, NAN, NAN),
            TESTED._replace(events=(1203, 1)),
            "a has a 0.070 lower Brier score than b; 1,204 cases with 1 non-event are too few to test the difference.",
            id="one non-event",
        ),
        pytest.param(pair(0.0, 0.0, 0.0, 0.0, 1.0), TESTED, "a and b have the same score in every case.", id="same"),
        pytest.param(
            pair(0.0, 0.0, 0.0, 0.0, 1.0),
            TESTED._replace(measure=pr.measures.AreaUnderRoc()),
            "a and b have the same area under the ROC curve.",
            id="same area",
        ),
        pytest.param(
            pair(-0.07, NAN, NAN, 0.0, NAN),
            TESTED,
            "a has a 0.070 lower Brier score than b, the same in every case, so there is no variation to test.",
            id="flat",
        ),
        pytest.param(
            pair(-0.07, NAN, NAN, NAN, NAN),
            TESTED,
            "a has a 0.070 lower Brier score than b; the difference was not tested.",
            id="untested",
        ),
        pytest.param(
            pair(0.0, NAN, NAN, NAN, NAN),
            TESTED._replace(measure=pr.measures.AreaUnderRoc()),
            "a and b have the same area under the ROC curve; the difference was not tested.",
            id="same, untested",
        ),
        pytest.param(
            pair(0.13, NAN, NAN, NAN, NAN),
            On(1, 1, "case", 1, 0.95, MeanScore()),
            "b has a 0.13 lower Brier score than a on one case, which is too few to test the difference.",
            id="case",
        ),
        pytest.param(
            pair(0.13, NAN, NAN, NAN, NAN),
            On(8, 1, "cluster", 1, 0.95, MeanScore()),
            "b has a 0.13 lower Brier score than a on one cluster, which is too few to test the difference.",
            id="cluster",
        ),
        pytest.param(
            pair(np.inf, NAN, NAN, NAN, NAN),
            LOG,
            "a has an infinite log score and b does not, so the difference cannot be tested.",
            id="infinite",
        ),
        pytest.param(
            pair(NAN, NAN, NAN, NAN, NAN),
            LOG,
            "a and b both have an infinite log score, so they cannot be compared.",
            id="both",
        ),
    ],
)
def test_sentences(row, tested, words):
    assert pair_sentence(row, tested) == words


def test_every_sentence_is_that_of_a_verdict_and_every_verdict_has_one():
    (mark,) = test_sentences.pytestmark
    told = {(verdict_on(*param.values[:2]), param.values[2]) for param in mark.args[1]}
    assert {verdict for verdict, _ in told} == set(get_args(Verdict))
    for verdict, words in told:
        assert ("is better than" in words) == (verdict in ("better", "worse"))
        assert ("differ:" in words) == (verdict == "different")
        assert ("not distinguishable" in words) == (verdict == "not distinguishable")


def test_an_end_next_to_zero_does_not_read_as_zero():
    words = pair_sentence(pair(-0.0042, -0.0083, -0.00003), TESTED)
    assert words.endswith("95% CI 0.00003 to 0.00830.")


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (pr.Brier(), "Brier score"),
        (pr.BoundedBrier(low=0.05, high=0.2), "bounded Brier score"),
        (pr.RankedProbability(), "ranked probability score"),
        (pr.Misclassification(), "misclassification rate"),
        (pr.BoundedNetBenefit(low=0.05, high=0.2), "bounded net benefit forgone"),
        (pr.BetaRegret(alpha=2.0, beta=8.0), "beta regret"),
        (pr.Tsallis(order=1.5), "Tsallis score"),
    ],
    ids=repr,
)
def test_rules_in_words(rule, words):
    assert rule.label == words


def test_every_rule_of_the_catalogue_has_words():
    for rule in RULES:
        assert rule.label.split()[-1] in {"score", "rate", "regret", "forgone"}
        assert "(" not in rule.label


def test_a_rule_of_ones_own_is_called_by_its_class_unless_it_says_otherwise():
    class Absolute(pr.BinaryRule):
        def loss(self, p, *, event, ops=None):
            return abs(p - event)

    class Named(Absolute):
        label = "absolute error"

    assert (Absolute().label, Named().label) == ("Absolute score", "absolute error")


def test_only_a_rule_that_is_not_proper_is_warned_of():
    class Mine(pr.BinaryRule):
        def loss(self, p, *, event, ops=None):
            return abs(p - event)

    class Improper(Mine):
        def properties(self, classes=None):
            return pr.Properties(proper=False)

    assert not rule_sentence(MeanScore(), None)
    assert rule_sentence(MeanScore(Improper()), None).startswith("Improper() is not proper: ")
    assert rule_sentence(MeanScore(Mine()), None).startswith("Mine() is not declared proper; ")
    # A net benefit is no loss, and an area has no rule.
    assert not rule_sentence(NetBenefit(0.2), None)
    assert not rule_sentence(pr.measures.AreaUnderRoc(), None)


def test_samples_and_ranks_in_words():
    def words(*tested):
        return method_in_words("paired t", None, 0, On(*tested, 1, 0.95, MeanScore()))

    assert words(1, 1, "case") == "Paired t test on 1 case"
    assert words(365, 365, "period") == "Paired t test on 365 cases"
    assert words(7300, 365, "period") == "Paired t test on 7,300 cases at 365 periods"
    assert words(200, 1, "cluster") == "Paired t test on 200 cases in 1 cluster"
    assert [ranks_in_words(2, 2), ranks_in_words(1, 3)] == ["rank 2", "ranks 1 to 3"]
    assert [listed(["a"]), listed(["a", "b"]), listed(["a", "b", "c"])] == ["a", "a and b", "a, b and c"]


def test_one_is_no_plural():
    single = On(200, 1, "period", 1, 0.95, MeanScore())
    words = "Diebold-Mariano test (Bartlett weights over 1 period) on 200 cases at 1 period"
    assert method_in_words("diebold-mariano", None, 0, single) == words


@pytest.mark.parametrize(
    ("method", "horizon", "words"),
    [
        ("diebold-mariano", 3, "Diebold-Mariano test (horizon 3)"),
        ("block bootstrap", None, "Block bootstrap (999 draws of blocks of 26 periods)"),
        ("delong", None, "DeLong test robust to periods"),
        ("influence", None, "Influence-function test"),
        ("bootstrap", None, "Paired bootstrap (999 draws)"),
        ("none", None, "No test"),
    ],
)
def test_methods_in_words(method, horizon, words):
    tested = On(800, 400, "period", 3, 0.95, MeanScore())
    told = f"{words} on 800 cases at 400 periods; verdicts adjusted for 3 pairs"
    assert method_in_words(method, horizon, 999, tested) == told
