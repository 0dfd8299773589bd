"""Comparisons in words: who is better, by how much, and where there is nothing to test."""

import math
from dataclasses import replace

import numpy as np
import pytest

import propriety as pr
from propriety.inference.bootstrap import Drawing
from propriety.inference.comparison import compare_of
from propriety.inference.comparison_methods import method_name
from propriety.inference.comparison_words import comparison_words, pair_sentence, ranks_in_words, short_words
from propriety.inference.finding import Finding, Findings
from propriety.inference.finding_words import NOTES_IN_WORDS
from propriety.inference.measures.of_means import MeanScore, NetBenefit
from propriety.inference.notes import NOTES, Note
from propriety.inference.verdict import lead, with_verdict
from propriety.number_words import listed
from propriety.rules.catalogue import RULES

NAN = np.nan
LOG, AREA = MeanScore(pr.Log()), pr.measures.AreaUnderRoc()


def pair(value=-0.0042, low=-0.0071, high=-0.0013, p=0.005, *notes, measure=None, **facts):
    facts = {"model": "a", "against": "b", "n": 1204, "p": p, "p_adjusted": p, "notes": notes} | facts
    return with_verdict(Finding(measure=measure or MeanScore(), value=value, low=low, high=high, **facts))


def untested(value, *notes, measure=None):
    return pair(value, NAN, NAN, NAN, *notes, measure=measure)


UNDECIDED = "a and b are not shown to differ"
SENTENCES = {
    "better": (pair(), "a is better than b: its Brier score is 0.0042 lower, 95% CI 0.0013 to 0.0071."),
    "other": (
        pair(0.0042, 0.0013, 0.0071, measure=MeanScore(pr.Log(clip=0.1)), level=0.9),
        "b is better than a: its log score is 0.0042 lower, 90% CI 0.0013 to 0.0071.",
    ),
    "slightly": (
        pair(-0.00042, -0.00071, -0.00013, no_model=0.2),
        "a is slightly better than b: its Brier score is 0.00042 lower, 95% CI 0.00013 to 0.00071.",
    ),
    "tiny": (
        pair(-4.2e-13, -7.1e-13, -1.3e-13),
        "a is better than b: its Brier score is 4.2e-13 lower, 95% CI 1.3e-13 to 7.1e-13.",
    ),
    "tiny interval": (
        pair(0.0, -7.1e-13, 7.1e-13, 1.0),
        f"{UNDECIDED}: the difference in Brier score is 0, 95% CI -7.1e-13 to 7.1e-13.",
    ),
    "no tiny difference": (
        pair(-0.25, -0.25 - 1e-14, -0.25 + 1e-14),
        "a is better than b: its Brier score is 0.250000000000 lower, 95% CI 0.250000000000 to 0.250000000000.",
    ),
    "large": (
        pair(-3.21, -6.4, -0.02, 0.049),
        "a is better than b: its Brier score is 3.21 lower, 95% CI 0.02 to 6.40.",
    ),
    "more is better": (
        pair(0.0042, 0.0013, 0.0071, measure=NetBenefit(0.2)),
        "a is better than b: its net benefit at 0.2 is 0.0042 higher, 95% CI 0.0013 to 0.0071.",
    ),
    "neither is better": (
        pair(measure=pr.measures.CalibrationSlope()),
        "a and b differ: b has a 0.0042 higher calibration slope, 95% CI 0.0013 to 0.0071.",
    ),
    "neither is better, not shown": (
        pair(-0.001, -0.0025, 0.0005, 0.21, measure=pr.measures.CalibrationSlope()),
        f"{UNDECIDED}: the difference in calibration slope is -0.0010, 95% CI -0.0025 to 0.0005.",
    ),
    "undecided": (
        pair(-0.001, -0.0025, 0.0005, 0.21),
        f"{UNDECIDED}: the difference in Brier score is -0.0010, 95% CI -0.0025 to 0.0005.",
    ),
    "alike": (
        pair(-0.0001, -0.0006, 0.0004, 0.6, no_model=0.2),
        "a and b differ by less than matters: the difference in Brier score is -0.00010, 95% CI -0.00060 to 0.00040.",
    ),
    "holm": (
        pair(p=0.06),
        (
            f"{UNDECIDED} after adjustment for 6 pairs: the difference in Brier score is -0.0042, 95% CI -0.0071 to "
            "-0.0013."
        ),
    ),
    "one outcome": (
        untested(-0.07, Note("one-outcome", {"number": 0, "outcome": "event"})),
        "a has a 0.070 lower Brier score than b; with no event the difference cannot be tested.",
    ),
    "one event": (
        untested(-0.07, Note("one-outcome", {"number": 1, "outcome": "non-event"})),
        "a has a 0.070 lower Brier score than b; with 1 non-event the difference cannot be tested.",
    ),
    "same": (pair(0.0, 0.0, 0.0, 1.0, Note("same")), "a and b have the same score in every case."),
    "same area": (
        pair(0.0, 0.0, 0.0, 1.0, Note("same"), measure=AREA),
        "a and b have the same area under the ROC curve.",
    ),
    "flat": (
        untested(-0.07, Note("no-spread", {"unit": "case"})),
        (
            "a has a 0.070 lower Brier score than b; the difference is the same in every case, so there is nothing to "
            "test."
        ),
    ),
    "untested": (
        untested(-0.07, Note("needs-cases", {"where": "the individual cases"})),
        "a has a 0.070 lower Brier score than b; the difference was not tested.",
    ),
    "same, untested": (
        untested(0.0, Note("needs-cases", {"where": "the individual cases"}), measure=AREA),
        "a and b have the same area under the ROC curve; the difference was not tested.",
    ),
    "case": (
        untested(0.13, Note("one-unit", {"unit": "case"})),
        "b has a 0.13 lower Brier score than a; one case is too few to test the difference.",
    ),
    "infinite": (
        untested(np.inf, Note("infinite", {"both": False}), measure=LOG),
        "a has an infinite log score and b does not, so the difference cannot be tested.",
    ),
    "both": (
        untested(NAN, Note("infinite", {"both": True}), measure=LOG),
        "a and b both have an infinite log score, so they cannot be compared.",
    ),
    "undefined": (
        untested(NAN, Note("infinite", {"both": False}), measure=AREA),
        "a and b cannot be compared, because the area under the ROC curve of at least one of them is undefined.",
    ),
}


@pytest.mark.parametrize("name", SENTENCES)
def test_sentences(name):
    row, words = SENTENCES[name]
    assert pair_sentence(row, 6) == words


def test_every_sentence_says_what_its_verdict_says_and_every_verdict_has_one():
    verdicts = {row.verdict for row, _ in SENTENCES.values()}
    assert verdicts == {"good", "bad", "small", "no error found", "too few", "not tested"}
    for row, words in SENTENCES.values():
        assert ("better than" in words) == (lead(row) != 0) == (row.verdict in ("good", "bad", "small"))
        assert ("slightly" in words) == (row.verdict == "small")
        turned = with_verdict(replace(row, value=-row.value, low=-row.high, high=-row.low, verdict=None))
        assert lead(turned) == -lead(row)


def test_short_words():
    short = {name: short_words(row, "a", "b") for name, (row, _) in SENTENCES.items()}
    expected = {
        "better": "a better",
        "other": "b better",
        "slightly": "a slightly better",
        "neither is better": "different",
        "neither is better, not shown": "not tested",
        "undecided": "too few",
        "alike": "no error found",
        "same": "same",
        "infinite": "infinite",
        "flat": "not tested",
    }
    assert {name: short[name] for name in expected} == expected


def test_an_end_next_to_zero_does_not_read_as_zero():
    words = pair_sentence(pair(-0.0042, -0.0083, -0.00003))
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

    y, models = [0, 1] * 20, {"a": [0.2, 0.9, 0.4, 0.7] * 10, "b": [0.3, 0.6] * 20}

    def said(measure):
        return comparison_words(pr.compare(y, models, measure))[-1]

    assert said(Improper()).startswith("Improper() is not proper: ")
    assert said(Mine()).startswith("Mine() is not declared proper; ")
    # A net benefit is no loss, and an area has no rule.
    for measure in (pr.Brier(), NetBenefit(0.2), AREA):
        assert "proper" not in said(measure)


def test_samples_and_ranks_in_words():
    def words(n, units, unit):
        rows = [pair(n=n, units=units, method="paired t test", extra={} if unit is None else {"unit": unit})]
        return comparison_words(Findings.of(rows))[1]

    assert words(1, None, None) == "Paired t test on 1 case."
    assert words(7300, 365, "period") == "Paired t test on 7,300 cases at 365 periods."
    assert words(200, 1, "cluster") == "Paired t test on 200 cases in 1 cluster."
    assert [ranks_in_words(2, 2), ranks_in_words(1, 3)] == ["rank 2", "ranks 1 to 3"]
    assert [listed(["a"]), listed(["a", "b"]), listed(["a", "b", "c"])] == ["a", "a and b", "a, b and c"]


@pytest.mark.parametrize(
    ("method", "horizon", "words"),
    [
        ("paired t", None, "paired t test"),
        ("cluster", None, "cluster-robust t test"),
        ("diebold-mariano", 3, "Diebold-Mariano test (horizon 3)"),
        ("diebold-mariano", None, "Diebold-Mariano test (Bartlett weights over 26 periods)"),
        ("block bootstrap", None, "block bootstrap (999 draws of blocks of 26 periods)"),
        ("delong", None, "DeLong test robust to periods"),
        ("influence", None, "influence-function test"),
        ("bootstrap", None, "paired bootstrap (999 draws)"),
    ],
)
def test_methods_have_names(method, horizon, words):
    ledger = pr.condense([0, 1] * 5, [0.2, 0.7] * 5, period=range(10))
    assert method_name(method, ledger, 400, horizon, 999, imagined=False) == words
    assert method_name(method, ledger, 400, horizon, 999, imagined=True) == f"{words} with imagined outcomes"


def test_every_note_has_words():
    assert NOTES_IN_WORDS.keys() == NOTES.keys()


def test_three_models_take_at_most_a_dozen_lines():
    rng = np.random.default_rng(3)
    p = rng.random(80) * 0.3
    y = rng.random(80) < p
    models = {name: np.clip(p + rng.normal(0, 0.1, 80), 0.01, 0.99) for name in "abc"}
    ledger = pr.condense(y, models, cluster=rng.integers(0, 9, 80))
    lines = str(compare_of(ledger, MeanScore(), drawing=Drawing(99, 1))).splitlines()
    assert len(lines) <= 12
    assert [line.split()[0] for line in lines[:3]] == ["a", "b", "c"]
    assert not any(math.isnan(row.value) for row in pr.compare(ledger))
