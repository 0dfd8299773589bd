"""Mean scores, case scores and skill: what they take, what they say, what they refuse."""

import math

import numpy as np
import polars as pl
import pytest

import propriety as pr
from propriety.errors import InputTypeError, InputValueError, ProprietyError
from propriety.rules.catalogue import RULES
from propriety.rules.functions import NetLoss
from propriety.tables.forecast_table import ForecastTable

Y, P = [0, 0, 1, 1], [0.1, 0.4, 0.3, 0.9]
LEVELS = [0, 1, 2, 2]
ROWS = [[0.7, 0.2, 0.1], [0.3, 0.4, 0.3], [0.1, 0.3, 0.6], [0.3, 0.5, 0.2]]


def test_a_clipped_log_score_is_finite_and_says_so():
    score = pr.log_score([1, 0], [0.0, 0.5], clip=1e-3)
    assert score == pytest.approx((-math.log(1e-3) + math.log(2)) / 2)
    assert score.rule == "Log(clip=0.001)"
    assert pr.log_score([0], [[0.0, 1.0]], clip=1e-3) == pytest.approx(-math.log(1e-3))


def test_scores_state_their_scale():
    assert pr.brier_score(Y, P).scale == "one component, 0 to 1"
    assert pr.brier_score(LEVELS, ROWS).scale == "sum over classes, 0 to 2"
    assert pr.brier_score(LEVELS, ROWS, scale="half").scale == "half the sum over classes, 0 to 1"
    assert pr.penalized_brier_score(LEVELS, ROWS).scale == "0 to 2.66667"
    assert pr.log_score(Y, P).scale == "0 to inf"
    assert pr.bounded_net_benefit(Y, P, thresholds=(0.1, 0.3)).higher_is_better


def test_a_case_without_weight_does_not_count():
    assert pr.log_score([1, 0], [0.0, 0.5], sample_weight=[0, 1]) == pytest.approx(math.log(2))
    table = ForecastTable.from_predictions([1, 0], [0.0, 0.5], sample_weight=[0, 1])
    assert pr.log_score(table) == pytest.approx(math.log(2))


@pytest.mark.parametrize("rule", [pr.Brier(), pr.Log(), pr.BoundedBrier(0.1, 0.6)], ids=repr)
def test_skill_against_the_prevalence_a_rate_and_a_forecast(rule):
    score = pr.mean_score(Y, P, rule=rule)
    for reference, constant in ((None, 0.5), (0.3, 0.3), (np.full(4, 0.2), 0.2)):
        against = pr.mean_score(Y, [constant] * 4, rule=rule)
        skill = pr.skill_score(Y, P, rule=rule, reference=reference)
        assert skill == pytest.approx(1 - score / against, rel=1e-12)
        assert skill.higher_is_better
    table = ForecastTable.from_predictions(Y, P)
    assert pr.skill_score(table, rule=rule) == pytest.approx(pr.skill_score(Y, P, rule=rule), rel=1e-12)
    assert pr.skill_score(table, rule=rule, reference=0.3) == pytest.approx(
        pr.skill_score(Y, P, rule=rule, reference=0.3), rel=1e-12
    )


def test_skill_of_rows_against_class_rates():
    rates = [0.25, 0.25, 0.5]
    rule = pr.RankedProbability()
    expected = 1 - pr.mean_score(LEVELS, ROWS, rule=rule) / pr.mean_score(LEVELS, [rates] * 4, rule=rule)
    assert pr.skill_score(LEVELS, ROWS, rule=rule) == pytest.approx(expected, rel=1e-12)
    assert pr.skill_score(LEVELS, ROWS, rule=rule, reference=rates) == pytest.approx(expected, rel=1e-12)
    assert pr.skill_score(LEVELS, ROWS, rule=rule, reference=pl.DataFrame([rates] * 4, orient="row")) == pytest.approx(
        expected
    )
    weight = [2, 1, 1, 0]
    against = pr.mean_score(LEVELS, [[0.5, 0.25, 0.25]] * 4, rule=rule, sample_weight=weight)
    expected = 1 - pr.mean_score(LEVELS, ROWS, rule=rule, sample_weight=weight) / against
    assert pr.skill_score(LEVELS, ROWS, rule=rule, sample_weight=weight) == pytest.approx(expected, rel=1e-12)


def test_skill_uses_weighted_rates():
    weight = [3, 1, 1, 0]
    rate = 1 / 5
    expected = 1 - pr.brier_score(Y, P, sample_weight=weight) / pr.brier_score(Y, [rate] * 4, sample_weight=weight)
    assert pr.skill_score(Y, P, rule=pr.Brier(), sample_weight=weight) == pytest.approx(expected, rel=1e-12)


def test_what_skill_refuses():
    table = ForecastTable.from_predictions(Y, P)
    with pytest.raises(InputTypeError, match="reference of a table must be a rate; got list"):
        pr.skill_score(table, rule=pr.Brier(), reference=P)
    with pytest.raises(InputValueError, match=r"reference must lie in \[0, 1\]; row 0 is 1\.2"):
        pr.skill_score(Y, P, rule=pr.Brier(), reference=1.2)
    with pytest.raises(InputValueError, match="one rate per class, or a forecast of the same cases"):
        pr.skill_score(LEVELS, ROWS, rule=pr.Brier(), reference=[[0.5, 0.5]] * 4)
    with pytest.raises(InputValueError, match="forecast of the same cases"):
        pr.skill_score(pr.cases(Y, P, missing="drop"), rule=pr.Brier(), reference=[0.5, None, 0.5, 0.5])


def test_the_kind_of_rule_must_fit_the_forecast():
    assert pr.mean_score(Y, P, rule=pr.RankedProbability()) == pytest.approx(pr.brier_score(Y, P), rel=1e-14)
    with pytest.raises(
        InputValueError, match=r"Elementary\(.* scores the forecast of one event; got rows.*y_proba\[:, 1\]"
    ):
        pr.mean_score(LEVELS, ROWS, rule=pr.Elementary(0.5))
    with pytest.raises(InputTypeError, match=r"rule must be a scoring rule .*got (ABCMeta|type).*instantiate"):
        pr.mean_score(Y, P, rule=pr.Brier)


PARAMETERS = {
    "scale": (pr.Brier, {"scale": "double"}, 'scale must be one of "sum", "half"'),
    "clip": (pr.Log, {"clip": 0.7}, r"clip must lie strictly between 0 and 0.5"),
    "clip at zero": (pr.Log, {"clip": 0.0}, r"clip must lie strictly between 0 and 0.5"),
    "clip at a half": (pr.Log, {"clip": 0.5}, r"clip must lie strictly between 0 and 0.5"),
    "clip in words": (pr.Log, {"clip": "0.1"}, r"clip must lie strictly between 0 and 0.5"),
    "order of infinity": (pr.Tsallis, {"order": math.inf}, "order must be a number of at least 1"),
    "order in words": (pr.Pseudospherical, {"order": "2"}, "order must be a number of at least 1"),
    "order of truth": (pr.Pseudospherical, {"order": True}, "order must be a number of at least 1"),
    "threshold of zero": (pr.Elementary, {"threshold": 0.0}, "threshold must lie strictly between 0 and 1"),
    "mu of one": (pr.ShiftedBrier, {"mu": 1.0}, "mu must lie strictly between 0 and 1"),
    "beta": (pr.BetaRegret, {"alpha": 1.0, "beta": 0.0}, "beta must be positive and finite"),
    "infinite alpha": (pr.BetaRegret, {"alpha": math.inf, "beta": 1.0}, "alpha must be positive and finite"),
    "empty interval": (pr.BoundedBrier, {"low": 0.3, "high": 0.3}, "0 <= low < high <= 1"),
    "high interval": (pr.BoundedBrier, {"low": 0.3, "high": 1.1}, "0 <= low < high <= 1"),
    "low interval": (pr.BoundedBrier, {"low": -0.1, "high": 0.3}, "0 <= low < high <= 1"),
    "low in words": (pr.BoundedBrier, {"low": "0", "high": 0.3}, "0 <= low < high <= 1"),
    "high in words": (pr.BoundedBrier, {"low": 0.0, "high": "1"}, "0 <= low < high <= 1"),
    "infinite log-odds above": (pr.BoundedLog, {"low": 0.1, "high": 1.0}, "log-odds; they are"),
    "order": (pr.Tsallis, {"order": 1.0}, "order must be a number of at least 1"),
    "other order": (pr.Pseudospherical, {"order": math.nan}, "order must be a number of at least 1"),
    "threshold": (pr.Elementary, {"threshold": 1.0}, "threshold must lie strictly between 0 and 1"),
    "mu": (pr.ShiftedBrier, {"mu": 0.0}, "mu must lie strictly between 0 and 1"),
    "alpha": (pr.BetaRegret, {"alpha": 0.0, "beta": 1.0}, "alpha must be positive and finite"),
    "interval": (pr.BoundedBrier, {"low": 0.3, "high": 0.1}, "0 <= low < high <= 1; got .*not odds or percentages"),
    "nan interval": (pr.BoundedBrier, {"low": math.nan, "high": 0.1}, "0 <= low < high <= 1"),
    "percent interval": (pr.BoundedLog, {"low": 5, "high": 20}, "0 <= low < high <= 1"),
    "normalize": (pr.BoundedLog, {"low": 0.1, "high": 0.2, "normalize": "mean"}, "normalize must be"),
    "infinite log-odds": (pr.BoundedLog, {"low": 0.0, "high": 0.2}, 'log-odds; they are .*normalize="none"'),
    "net benefit at one": (pr.BoundedNetBenefit, {"low": 0.2, "high": 1.0}, "upper threshold must be below 1"),
    "ties": (pr.PenalizedBrier, {"ties": "wrong"}, "ties must be"),
}  # fmt: skip


@pytest.mark.parametrize(("rule", "parameters", "message"), PARAMETERS.values(), ids=PARAMETERS)
def test_parameters_are_checked(rule, parameters, message):
    with pytest.raises(InputValueError, match=message):
        rule(**parameters)


def test_parameters_at_their_bounds_are_taken():
    assert pr.Tsallis(1.0 + 1e-6).order == pr.Pseudospherical(1.0 + 1e-6).order == 1.0 + 1e-6
    assert pr.mean_score(Y, P, rule=pr.BoundedBrier(0, 1)) == pytest.approx(pr.brier_score(Y, P) / 2)
    assert pr.mean_score(Y, P, rule=pr.BoundedLog(0, 1, normalize="none")) == pytest.approx(pr.log_score(Y, P))
    assert pr.mean_score(Y, P, rule=pr.BoundedNetBenefit(0.0, 0.5)) > 0.0
    for normalize, factor in (("regret", 0.5), ("width", 1.0)):
        score = pr.bounded_brier_score(Y, P, thresholds=(0.2, 0.6), normalize=normalize)
        plain = pr.bounded_brier_score(Y, P, thresholds=(0.2, 0.6), normalize="none")
        assert score == pytest.approx(plain * factor / 0.4)
    for rule in (pr.BoundedLog, pr.BoundedNetBenefit):
        losses = [pr.mean_score(Y, P, rule=rule(0.2, 0.6, normalize=normalize)) for normalize in ("regret", "width")]
        assert losses[0] == losses[1]


def test_a_claim_of_strictness_claims_propriety():
    with pytest.raises(InputValueError, match="a strictly proper rule is proper"):
        pr.Properties(strictly_proper=True)


def test_rules_are_values():
    assert pr.BoundedBrier(0.1, 0.2) == pr.BoundedBrier(0.1, 0.2)
    assert {pr.Brier(): 1}[pr.Brier()] == 1
    assert repr(pr.BoundedBrier(0.1, 0.2)) == "BoundedBrier(low=0.1, high=0.2)"
    with pytest.raises(AttributeError):
        pr.Brier().scale = "half"


def test_many_classes_are_scored_in_chunks():
    rng = np.random.default_rng(0)
    rows = rng.dirichlet(np.ones(50), 3000)
    y = rng.integers(0, 50, 3000)
    onehot = np.eye(50)[y]
    assert pr.brier_score(y, rows) == pytest.approx(np.mean(((rows - onehot) ** 2).sum(axis=1)), rel=1e-12)
    heads = np.cumsum(rows, axis=1) - np.cumsum(onehot, axis=1)
    assert pr.ranked_probability_score(y, rows) == pytest.approx(np.mean((heads**2)[:, :-1].mean(axis=1)), rel=1e-12)


def test_the_score_of_a_table_tells_what_it_rests_on():
    table = ForecastTable.from_predictions(
        [0, 1, 1, 0], [0.2, 0.6, None, 0.4], sample_weight=[1, 2, 9, 3], missing="drop"
    )
    score = pr.mean_score(table, rule=pr.Log())
    assert (score.rule, score.scale, score.n, score.weight, score.dropped) == ("Log()", pr.Log().units(), 3, 6.0, 1)


@pytest.mark.parametrize("rule", [*(rule for rule in RULES if isinstance(rule, pr.BinaryRule)), NetLoss(0.2)], ids=repr)
def test_the_best_and_worst_that_a_rule_claims_are_reached(rule):
    claimed = rule.properties()
    p = np.unique(np.concatenate([np.linspace(0, 1, 1001), [0.05, 0.2, 0.3, 0.8]]))
    losses = np.concatenate([np.broadcast_to(rule.loss(p, event=event), p.shape) for event in (False, True)])
    assert losses.min() == pytest.approx(claimed.best, rel=1e-12, abs=1e-15)
    assert losses.max() == pytest.approx(claimed.worst, rel=1e-12)


def test_a_rule_is_named_after_its_class_unless_it_has_a_name():
    class Hinge(pr.BinaryRule):
        def loss(self, p, *, event, ops=None):
            return 1.0 - p if event else p

    class Named(Hinge):
        name = "hinge"

    class Labelled(Hinge):
        label = "hinge loss"

    assert (Hinge.name, Hinge.label, Hinge.short) == ("Hinge", "Hinge score", "Hinge")
    assert (Named.name, Named.label, Named.short) == ("hinge", "hinge score", "hinge")
    assert (Labelled.name, Labelled.label, Labelled.short) == ("Labelled", "hinge loss", "hinge loss")


@pytest.mark.parametrize("classes", [2, 3, 5])
@pytest.mark.parametrize("rule", [rule for rule in RULES if isinstance(rule, pr.ClassRule)], ids=repr)
def test_the_best_and_worst_that_a_rule_claims_of_classes_are_reached(rule, classes):
    claimed = rule.properties(classes)
    rows = np.vstack([np.eye(classes), np.full(classes, 1 / classes), np.eye(classes) * 0.9 + 0.1 / classes])
    losses = [rule.class_loss(list(rows.T), outcome=outcome) for outcome in np.eye(classes).tolist()]
    assert np.min(losses) == pytest.approx(claimed.best, rel=1e-12, abs=1e-15)
    assert np.max(losses) == pytest.approx(claimed.worst, rel=1e-12)


@pytest.mark.parametrize(
    ("rule", "two", "three"),
    [
        (pr.Brier(), (True, True, False, False, True), (True, True, False, False, False)),
        (pr.Log(), (True, True, True, False, True), (True, True, True, False, False)),
        (pr.Log(clip=0.1), (True, False, True, False, True), (False, False, True, False, False)),
        (pr.Tsallis(1.5), (True, True, False, False, True), (True, True, False, False, False)),
        (pr.PenalizedBrier(), (True, True, False, False, True), (True, True, False, False, True)),
        (pr.PenalizedLog(ties="correct"), (False, False, False, False, True), (False, False, False, False, True)),
        (pr.Misclassification(), (True, False, False, False, True), (True, False, False, False, True)),
        (pr.RankedProbability(), (True, True, False, True, True), (True, True, False, True, False)),
        (pr.RankedLog(), (True, True, False, True, True), (True, True, False, True, False)),
    ],
    ids=lambda value: repr(value) if isinstance(value, pr.Rule) else "",
)
def test_what_rules_claim_of_two_and_of_three_classes(rule, two, three):
    names = ("proper", "strictly_proper", "local", "distance_sensitive", "superior")
    found = [tuple(getattr(rule.properties(classes), name) for name in names) for classes in (2, 3)]
    assert found == [two, three]
    assert pr.Misclassification().properties().ties == "split"


def test_a_score_counts_the_cases_of_all_chunks():
    y, p = np.arange(300_000) % 2, np.linspace(0, 1, 300_000)
    for weight, total in ((None, 300_000), (np.full(300_000, 0.5), 150_000)):
        score = pr.brier_score(y, p, sample_weight=weight)
        assert (score.n, score.weight) == (300_000, total)


@pytest.mark.parametrize(
    "options", [{"y_proba": [0.1]}, {"sample_weight": [1.0]}, {"pos_label": 1}, {"labels": [0, 1]}]
)
@pytest.mark.parametrize("function", [pr.mean_score, pr.skill_score])
def test_a_table_comes_alone(function, options):
    table = ForecastTable.from_predictions([0, 1], [0.2, 0.6])
    with pytest.raises(ProprietyError, match=f"pass it without {next(iter(options))}"):
        function(table, rule=pr.Brier(), **options)


def test_a_reference_that_lacks_other_cases_than_the_forecast_is_refused():
    y, p, reference = [0, 1, 1, 0], [0.2, None, 0.7, 0.4], [0.5, 0.5, None, 0.5]
    with pytest.raises(InputValueError, match="a forecast of the same cases as y_proba"):
        pr.skill_score(pr.cases(y, p, missing="drop"), rule=pr.Brier(), reference=reference)
    with pytest.raises(InputValueError, match="reference must lie in"):
        pr.skill_score([0, 1], [0.2, 0.7], rule=pr.Brier(), reference=[0.5, 1.5])
