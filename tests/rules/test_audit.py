"""The audit finds the known counterexamples by itself and clears what is declared proper."""

from dataclasses import dataclass

import numpy as np
import pytest

import propriety as pr
from propriety.rules.catalogue import RULES
from propriety.rules.search import simplex_grid

FORMS = [(rule, None) for rule in RULES if isinstance(rule, pr.BinaryRule)]
FORMS += [(rule, classes) for rule in RULES if isinstance(rule, pr.ClassRule) for classes in (2, 3, 4)]


@pytest.mark.parametrize(("rule", "classes"), FORMS, ids=[f"{rule!r}-{classes}" for rule, classes in FORMS])
def test_every_claim_of_the_catalogue_is_borne_out(rule, classes):
    report = pr.audit(rule, classes=classes)
    assert report.agrees, report


def test_the_lie_that_squared_absolute_ranked_probability_rewards(golden):
    given, expected = golden("sarps_impropriety")
    rule = pr.SquaredAbsoluteRankedProbability()
    assert not pr.audit(rule, classes=3)["proper"].holds
    lie = pr.audit(rule, classes=3, truth=[1 / 3] * 3)["proper"].counterexample
    assert lie.loss == pytest.approx(expected["honest"], rel=1e-12)
    assert lie.rival_loss == pytest.approx(expected["dishonest"], rel=1e-9)
    assert lie.rival == pytest.approx(given["dishonest"], abs=1e-6)


@pytest.mark.parametrize(
    ("case", "rule"), [("pbs_tie_impropriety", pr.PenalizedBrier), ("pll_tie_impropriety", pr.PenalizedLog)]
)
def test_the_tie_that_penalized_scores_reward_when_ties_count_as_correct(golden, case, rule):
    given, expected = golden(case)
    report = pr.audit(rule(ties="correct"), classes=2, truth=given["q_true"])
    lie = report["proper"].counterexample
    assert (lie.loss, lie.rival_loss) == pytest.approx(expected["correct"], rel=1e-12)
    assert lie.rival == (0.5, 0.5)
    assert pr.audit(rule(), classes=2, truth=given["q_true"])["strictly_proper"].holds


def test_the_largest_gain_from_a_tie_with_four_classes():
    lie = pr.audit(pr.PenalizedBrier(ties="correct"), classes=4, truth=np.array([3, 4, 2, 3]) / 12)[
        "proper"
    ].counterexample
    assert lie.loss - lie.rival_loss == pytest.approx(0.4861, abs=5e-5)


def test_the_lie_that_the_unweighted_shifted_brier_score_rewards():
    lie = pr.audit(pr.ShiftedBrier(0.2, weighted=False), truth=0.3)["proper"].counterexample
    assert lie.rival[1] == pytest.approx(0.0968, abs=5e-5)
    assert lie.rival_loss < lie.loss


@dataclass(frozen=True)
class Linear(pr.BinaryRule):
    name = "linear"

    def properties(self, classes=None):
        return pr.Properties(proper=True, strictly_proper=True, superior=True, best=0.0, worst=1.0)

    def loss(self, p, *, event, ops=None):
        return 1 - p if event else p


@dataclass(frozen=True)
class Silent(pr.ClassRule):
    name = "silent"

    def class_loss(self, p, *, outcome, ops=None):
        return sum((p_k - y_k) ** 2 for p_k, y_k in zip(p, outcome, strict=True))


def test_a_users_own_rule_is_refuted():
    report = pr.audit(Linear())
    assert not report.agrees
    lie = report["proper"].counterexample
    assert lie.rival[1] in (0.0, 1.0)
    assert lie.rival_loss < lie.loss
    assert report["superior"].agrees
    assert report["range"].agrees


def test_a_rule_that_claims_nothing_is_told_what_was_found():
    report = pr.audit(Silent(), classes=3)
    assert report.agrees
    assert report["proper"].declared is None
    assert report["strictly_proper"].holds
    assert not report["local"].holds
    assert not report["distance_sensitive"].holds


def test_a_wrong_range_is_refuted():
    @dataclass(frozen=True)
    class Overstated(Linear):
        def properties(self, classes=None):
            return pr.Properties(best=0.0, worst=2.0)

    finding = pr.audit(Overstated())["range"]
    assert not finding.agrees
    assert finding.counterexample.loss == 1.0


def test_the_report_as_text_and_as_a_table():
    report = pr.audit(pr.Log(), classes=3)
    assert "AuditReport: Log(), 3 classes" in repr(report)
    frame = report.to_frame(backend="polars")
    assert frame["property"].to_list() == [
        "proper",
        "strictly_proper",
        "superior",
        "range",
        "local",
        "distance_sensitive",
    ]
    assert "truth" in frame["counterexample"].to_list()[2]
    assert report.to_dict()["findings"][0]["name"] == "proper"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rule": pr.Brier}, "rule must be a scoring rule"),
        ({"rule": pr.Elementary(0.5), "classes": 3}, "scores the forecast of one event"),
        ({"rule": pr.Brier(), "classes": 1}, "classes must be a whole number of at least 2"),
        ({"rule": pr.Brier(), "classes": 3, "truth": [0.5, 0.5]}, "truth must be a distribution over 3 classes"),
        ({"rule": pr.Brier(), "truth": 1.5}, "truth must be a distribution over 2 classes"),
    ],
)
def test_what_the_audit_refuses(arguments, message):
    with pytest.raises(pr.errors.ProprietyError, match=message):
        pr.audit(**arguments)


def test_an_unknown_property_is_named():
    with pytest.raises(KeyError, match="no property 'honest'"):
        pr.audit(pr.Brier())["honest"]


@pytest.mark.parametrize("classes", [2, 3, 4, 5, 8])
def test_the_grid_covers_the_simplex_with_its_corners_and_its_centre(classes):
    grid = simplex_grid(classes)
    assert np.allclose(grid.sum(axis=1), 1)
    assert grid.min() == 0
    assert len(grid) <= 2300
    for subset in (1, 2, classes):
        point = np.r_[np.full(subset, 1 / subset), np.zeros(classes - subset)]
        assert (np.abs(grid - point).max(axis=1) < 1e-15).any()
