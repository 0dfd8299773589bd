"""The audit finds the known counterexamples by itself and clears what is declared proper."""

import math
from dataclasses import dataclass, field

import numpy as np
import pytest

import propriety as pr
from propriety.rules.audit import Counterexample, Search, simplex_grid
from propriety.rules.catalogue import RULES


def counts_of_classes(rule):
    """Return the numbers of classes to audit: two and three, and four where the claims change with the number.

    Rules that claim the same for three classes as for more are tried with up to eight by the laws and by the tests of
    superiority; a search over four classes takes most of the time.
    """
    changes = any(rule.properties(classes) != rule.properties(3) for classes in (4, 5, 6))
    return (2, 3, 4) if changes else (2, 3)


FORMS = [(rule, None) for rule in RULES if isinstance(rule, pr.BinaryRule)]
FORMS += [(rule, classes) for rule in RULES if isinstance(rule, pr.ClassRule) for classes in counts_of_classes(rule)]


@pytest.mark.slow
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
        return pr.Properties(
            proper=True, strictly_proper=True, superior=True, right_before_wrong=True, best=0.0, worst=1.0
        )

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
        "right_before_wrong",
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
        ({"rule": pr.Brier(), "classes": 1}, "classes must be a whole number from 2 to 12"),
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


@pytest.mark.slow
def test_the_report_shows_each_property_with_its_claim_and_its_counterexample():
    lines = repr(pr.audit(pr.Brier(), classes=3)).splitlines()
    assert lines[0] == "AuditReport: Brier(), 3 classes"
    assert lines[1] == "  proper              declared True       holds"
    assert lines[3].startswith("  superior            declared False      fails: truth (")
    assert lines[4].startswith("  right_before_wrong  declared False      fails: truth (")
    assert lines[5] == "  range               declared 0 to 2     holds"
    event = repr(pr.audit(Linear())).splitlines()
    assert event[0] == "AuditReport: Linear(), one event"
    assert len(event) == 6
    silent = pr.audit(Silent(), classes=3)
    assert "  range               declared -          holds" in repr(silent).splitlines()
    columns = silent.columns()
    assert columns["declared"] == ["-"] * 7
    assert columns["holds"] == [True, True, False, False, True, False, False]
    assert columns["counterexample"][0] == ""
    assert columns["counterexample"][2].startswith("truth (")


def test_a_counterexample_reads_as_a_sentence():
    example = Counterexample((0.25, 0.75), (1 / 3, 2 / 3), (0.0, 1.0), 0.123456789, math.inf)
    assert str(example) == "truth (0.25, 0.75): (0.3333, 0.6667) costs 0.123457, (0, 1) costs inf"


@pytest.mark.slow
def test_a_rule_for_classes_is_tried_on_three_unless_told():
    assert pr.audit(Silent()).classes == 3
    two = [finding.name for finding in pr.audit(pr.Spherical(), classes=2).findings]
    assert two == ["proper", "strictly_proper", "superior", "right_before_wrong", "range"]


def test_the_seed_of_the_random_points_is_zero_unless_told():
    searches = [Search.of(pr.Brier(), 3, truths=None, seed=seed) for seed in (0, 0, 1)]
    assert all(len(search.reports) == len(simplex_grid(3)) + 200 for search in searches)
    np.testing.assert_array_equal(searches[0].reports, searches[1].reports)
    assert not np.array_equal(searches[0].reports, searches[2].reports)
    assert pr.audit(Linear()).to_dict() == pr.audit(Linear(), seed=0).to_dict()


@pytest.mark.parametrize(("classes", "steps"), [(2, 1980), (3, 60), (4, 12), (5, 12), (8, 6)])
def test_the_grid_is_as_fine_as_its_points_allow(classes, steps):
    grid = simplex_grid(classes)
    regular = grid[(np.abs(grid * steps - np.round(grid * steps)) < 1e-9).all(axis=1)]
    assert len(regular) >= math.comb(steps + classes - 1, classes - 1)
    for leader in range(classes):
        ahead = np.full(classes, 0.999 / classes)
        ahead[leader] += 0.001
        assert (np.abs(grid - ahead).max(axis=1) < 1e-15).any()


@dataclass(frozen=True)
class Table(pr.BinaryRule):
    """A rule with any two partial losses."""

    hit: object
    miss: object
    claims: pr.Properties = field(default_factory=pr.Properties)

    def properties(self, classes=None):
        return self.claims

    def loss(self, p, *, event, ops=None):
        return (self.hit if event else self.miss)(p)


@pytest.mark.slow
def test_a_flat_rule_is_proper_and_not_strictly():
    report = pr.audit(Table(lambda p: 0 * p, lambda p: 0 * p))
    assert report["proper"].holds
    assert not report["strictly_proper"].holds
    lie = report["strictly_proper"].counterexample
    assert lie.loss == lie.rival_loss == 0.0
    # The clearest lie is as far from the truth as can be.
    assert max(abs(a - b) for a, b in zip(lie.truth, lie.rival, strict=True)) > 0.9
    assert min(lie.truth) >= 0.02
    assert not report["superior"].holds


def test_a_rule_that_is_no_number_somewhere_is_refused():
    with pytest.raises(
        pr.errors.InputValueError, match=r"must return numbers; its loss of the forecast \(1\.0, 0\.0\)"
    ):
        pr.audit(Table(lambda p: np.where(p == 0, np.nan, p), lambda p: p))


@pytest.mark.parametrize(
    ("best", "worst", "loss"),
    [(0.0, 1.0, None), (0.0, 0.5, 1.0), (-1.0, 1.0, 0.0), (0.1, 1.0, 0.0), (0.0, math.inf, 1.0)],
)
def test_the_range_is_neither_left_nor_missed(best, worst, loss):
    rule = Table(lambda p: (1 - p) ** 2, lambda p: p**2, pr.Properties(best=best, worst=worst))
    finding = pr.audit(rule)["range"]
    assert finding.declared == (best, worst)
    assert finding.holds == (loss is None)
    if loss is not None:
        assert finding.counterexample.loss == finding.counterexample.rival_loss == loss


def test_half_a_range_is_searched_and_not_declared():
    finding = pr.audit(Table(lambda p: (1 - p) ** 2, lambda p: p**2, pr.Properties(worst=2.0)))["range"]
    assert (finding.declared, finding.holds, finding.agrees) == (None, False, True)


@pytest.mark.slow
def test_locality_and_distance_are_told_by_two_forecasts():
    report = pr.audit(pr.Brier(), classes=3)
    local = report["local"].counterexample
    outcome = local.truth.index(1.0)
    assert local.forecast[outcome] == local.rival[outcome]
    assert local.rival_loss > local.loss
    far = report["distance_sensitive"].counterexample
    outcome = far.truth.index(1.0)
    near_heads, far_heads = np.cumsum(far.forecast)[:-1], np.cumsum(far.rival)[:-1]
    happened = np.arange(2) >= outcome
    assert (np.abs(near_heads - happened) <= np.abs(far_heads - happened) + 1e-9).all()
    assert far.loss >= far.rival_loss - 1e-12


@pytest.mark.parametrize("truth", [[0.5, 0.6], [-0.1, 1.1], [0.5, 0.5 + 1e-9], [[0.5, 0.5]]], ids=str)
def test_what_is_no_truth(truth):
    with pytest.raises(pr.errors.InputValueError, match="truth must be a distribution over 2 classes"):
        pr.audit(pr.Brier(), truth=truth)


def test_truths_at_their_bounds():
    for truth in (0.0, 1.0, [0.0, 1.0], np.array([0.3, 0.7])):
        assert pr.audit(pr.Brier(), truth=truth)["proper"].holds
    with pytest.raises(pr.errors.InputTypeError, match="truth must hold real numbers"):
        pr.audit(pr.Brier(), truth="often")
    for classes in (True, 2.0, 1, 13, 200):
        with pytest.raises(pr.errors.InputValueError, match="classes must be a whole number from 2 to 12; got"):
            pr.audit(pr.Brier(), classes=classes)
    for seed in (-1, "a", 1.5, True):
        with pytest.raises(pr.errors.InputValueError, match="seed must be a non-negative whole number"):
            pr.audit(pr.Brier(), seed=seed)


@pytest.mark.parametrize(
    "rule",
    [
        pr.BetaRegret(2, 8),
        pr.ShiftedBrier(0.2),
        pr.BoundedBrier(0.05, 0.9),
        pr.BoundedLog(0.05, 0.9),
        pr.BoundedNetBenefit(0.05, 0.9),
    ],
    ids=repr,
)
def test_a_rule_that_charges_more_for_one_class_is_not_superior(rule):
    """Definition 5 compares right and wrong answers across outcomes, not within one."""
    report = pr.audit(rule)
    assert not report["superior"].holds
    assert report["right_before_wrong"].holds
    assert report.agrees
    shown = report["superior"].counterexample
    right, wrong = shown.forecast[1], shown.rival[1]
    assert shown.truth != shown.rival_truth
    assert (right > 0.5) == bool(shown.truth[1])
    assert (wrong > 0.5) != bool(shown.rival_truth[1])
    assert rule.loss(right, event=bool(shown.truth[1])) == pytest.approx(shown.loss)
    assert rule.loss(wrong, event=bool(shown.rival_truth[1])) == pytest.approx(shown.rival_loss)
    assert shown.rival_loss < shown.loss
    assert str(shown).count("truth (") == 2


def test_the_right_answer_of_the_review_costs_more_than_the_wrong_one():
    rule = pr.BetaRegret(2, 8)
    assert rule.loss(0.49, event=False) == pytest.approx(0.188, abs=5e-4)
    assert rule.loss(0.45, event=True) == pytest.approx(0.019, abs=5e-4)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rule", "superior"),
    [
        (pr.BetaRegret(3, 3), True),
        (pr.BetaRegret(3, 3.000001), False),
        (pr.ShiftedBrier(0.5), True),
        (pr.BoundedBrier(0.1, 0.9), True),
        (pr.BoundedBrier(0.1, 0.900001), False),
        (pr.BoundedLog(0.2, 0.8), True),
        (pr.BoundedNetBenefit(0.0, math.log(2)), True),
        (pr.BoundedNetBenefit(0.2, 0.8), False),
        (pr.BoundedBrier(0.05, 0.2), False),
    ],
    ids=repr,
)
def test_even_weights_about_one_half_make_a_rule_superior(rule, superior):
    report = pr.audit(rule)
    assert report["superior"].declared == report["superior"].holds == superior
    assert report.agrees


def test_what_is_superior_puts_right_answers_first():
    with pytest.raises(pr.errors.InputValueError, match="a superior rule also has right_before_wrong"):
        pr.Properties(superior=True, right_before_wrong=False)
