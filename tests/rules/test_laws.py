"""Laws that every rule keeps, over drawn forecasts with ties, certainties and weights."""

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import propriety as pr
from propriety.rules.catalogue import RULES
from propriety.rules.functions import Excess
from propriety.tables.forecast_table import ForecastTable

BINARY = [rule for rule in RULES if isinstance(rule, pr.BinaryRule)]
BY_CLASS = [rule for rule in RULES if isinstance(rule, pr.ClassRule)]

# Tenths meet in ties and hold certainties; the other half of the draws is arbitrary.
probabilities = st.one_of(st.integers(0, 10).map(lambda tenths: tenths / 10), st.floats(0, 1))


def distributions(classes):
    """Draw distributions over the classes: with ties and zeros, or arbitrary."""
    parts = st.lists(st.one_of(st.integers(0, 4), st.floats(0, 1)), min_size=classes, max_size=classes)
    return parts.filter(lambda drawn: sum(drawn) > 1e-6).map(lambda drawn: np.array(drawn) / sum(drawn))


@st.composite
def binary_samples(draw, *, weighted=False):
    cases = draw(st.lists(st.tuples(st.booleans(), probabilities), min_size=1, max_size=30))
    y, p = np.array([case[0] for case in cases]), np.array([case[1] for case in cases])
    if not weighted:
        return y, p
    w = draw(st.lists(st.integers(0, 4), min_size=len(y), max_size=len(y)).filter(any))
    return y, p, np.array(w)


@st.composite
def class_samples(draw, classes=4):
    rows = draw(st.lists(distributions(classes), min_size=1, max_size=15))
    y = draw(st.lists(st.integers(0, classes - 1), min_size=len(rows), max_size=len(rows)))
    return np.array(y), np.array(rows)


def expected_loss(rule, forecast, truth):
    """Return the expected loss of a probability, or of a distribution over classes; 0 times infinity is 0."""
    if np.ndim(truth) == 0:
        forecast, truth = np.array([1 - forecast, forecast]), np.array([1 - truth, truth])
        losses = [rule.loss(forecast[1], event=False), rule.loss(forecast[1], event=True)]
    else:
        outcomes = np.eye(len(truth)).tolist()
        losses = [float(rule.class_loss(list(forecast), outcome=outcome)) for outcome in outcomes]
    return sum(q * loss for q, loss in zip(truth, losses, strict=True) if q > 0)


@pytest.mark.parametrize("rule", [rule for rule in [*BINARY, Excess()] if rule.is_even_at_mean], ids=repr)
@given(one=probabilities, other=probabilities)
def test_forecasts_are_equally_good_where_a_rule_declares_it(rule, one, other):
    apart = [rule.loss(one, event=event) - rule.loss(other, event=event) for event in (False, True)]
    if rule.is_additive:
        assert apart[0] == pytest.approx(apart[1], abs=1e-15)
    else:
        mean = 0.5 * (one + other)
        assert (1.0 - mean) * apart[0] + mean * apart[1] == pytest.approx(0.0, abs=1e-15)


@pytest.mark.parametrize("rule", [rule for rule in BINARY if rule.properties().proper], ids=repr)
@given(truth=probabilities, forecast=probabilities)
def test_no_lie_about_an_event_beats_the_truth(rule, truth, forecast):
    assert expected_loss(rule, forecast, truth) >= expected_loss(rule, truth, truth) - 1e-12


@pytest.mark.parametrize("rule", [rule for rule in BINARY if rule.properties().strictly_proper], ids=repr)
@given(truth=st.floats(0.05, 0.95), forecast=probabilities)
def test_every_lie_about_an_event_costs_something(rule, truth, forecast):
    lie = abs(forecast - truth) > 1e-3
    assert not lie or expected_loss(rule, forecast, truth) > expected_loss(rule, truth, truth)


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 3, 5])
@pytest.mark.parametrize("rule", BY_CLASS, ids=repr)
@given(data=st.data())
def test_no_lie_about_classes_beats_the_truth(rule, classes, data):
    if not rule.properties(classes).proper:
        return
    truth, forecast = data.draw(distributions(classes)), data.draw(distributions(classes))
    assert expected_loss(rule, forecast, truth) >= expected_loss(rule, truth, truth) - 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 3, 5])
@pytest.mark.parametrize("rule", BY_CLASS, ids=repr)
@given(data=st.data())
def test_every_lie_about_classes_costs_something(rule, classes, data):
    if not rule.properties(classes).strictly_proper:
        return
    truth, forecast = data.draw(distributions(classes)), data.draw(distributions(classes))
    lie = truth.min() > 0.02 and np.abs(forecast - truth).max() > 1e-3
    assert not lie or expected_loss(rule, forecast, truth) > expected_loss(rule, truth, truth)


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 3, 4, 6])
@pytest.mark.parametrize("rule", [pr.PenalizedBrier(), pr.PenalizedLog(), pr.Misclassification()], ids=repr)
@given(data=st.data())
def test_a_right_answer_beats_every_wrong_one(rule, classes, data):
    if not rule.properties(classes).superior:
        return
    right, wrong = data.draw(distributions(classes)), data.draw(distributions(classes))
    outcome = int(right.argmax())
    if np.sum(right == right.max()) == 1 and (wrong[outcome] < wrong.max() or np.sum(wrong == wrong.max()) > 1):
        assert np.less(*pr.case_scores([outcome] * 2, [right, wrong], rule=rule))


@pytest.mark.slow
@pytest.mark.parametrize("rule", BINARY, ids=repr)
@given(sample=binary_samples())
@example(sample=(np.array([True, False]), np.array([0.0, 0.0])))
def test_the_mean_from_the_table_is_the_mean_of_the_cases(rule, sample):
    y, p = sample
    from_table = pr.mean_score(ForecastTable.from_predictions(y, p), rule=rule)
    from_cases = np.mean(pr.case_scores(y, p, rule=rule))
    assert from_table == pytest.approx(from_cases, rel=1e-12, abs=1e-15)
    assert pr.mean_score(y, p, rule=rule) == pytest.approx(from_cases, rel=1e-12, abs=1e-15)


@pytest.mark.slow
@pytest.mark.parametrize("rule", BINARY, ids=repr)
@given(sample=binary_samples(weighted=True))
@example(sample=(np.array([True, False]), np.array([0.0, 0.5]), np.array([0, 1])))
def test_a_weight_is_a_number_of_repetitions(rule, sample):
    y, p, w = sample
    weighted = pr.mean_score(y, p, rule=rule, sample_weight=w)
    repeated = pr.mean_score(np.repeat(y, w), np.repeat(p, w), rule=rule)
    assert weighted == pytest.approx(repeated, rel=1e-12, abs=1e-15)
    table = ForecastTable.from_predictions(y, p, sample_weight=w)
    assert pr.mean_score(table, rule=rule) == pytest.approx(repeated, rel=1e-12, abs=1e-15)
    assert weighted.n == table.n == np.count_nonzero(w)
    assert weighted.weight == table.weight == w.sum()


@pytest.mark.slow
@pytest.mark.parametrize("rule", BY_CLASS, ids=repr)
@given(sample=class_samples(), seed=st.integers(0, 99))
def test_the_order_of_the_cases_does_not_matter(rule, sample, seed):
    y, p = sample
    order = np.random.default_rng(seed).permutation(len(y))
    shuffled = pr.mean_score(y[order], p[order], rule=rule)
    assert shuffled == pytest.approx(pr.mean_score(y, p, rule=rule), rel=1e-12, abs=1e-15)


@pytest.mark.slow
@pytest.mark.parametrize(
    "rule",
    [pr.Brier(), pr.Log(), pr.Spherical(), pr.Tsallis(2.5), pr.Pseudospherical(1.5), pr.PenalizedBrier()],
    ids=repr,
)
@given(sample=class_samples(), seed=st.integers(0, 99))
def test_the_names_of_unordered_classes_do_not_matter(rule, sample, seed):
    y, p = sample
    order = np.random.default_rng(seed).permutation(p.shape[1])
    renamed = pr.mean_score(np.argsort(order)[y], p[:, order], rule=rule)
    assert renamed == pytest.approx(pr.mean_score(y, p, rule=rule), rel=1e-12, abs=1e-15)


@pytest.mark.slow
@pytest.mark.parametrize("rule", BINARY, ids=repr)
@given(sample=binary_samples())
def test_the_names_of_the_outcomes_do_not_matter(rule, sample):
    y, p = sample
    score = pr.mean_score(y, p, rule=rule)
    assert pr.mean_score(np.where(y, "yes", "no"), p, rule=rule, pos_label="yes") == score
    assert pr.mean_score(np.where(y, 1, -1), p, rule=rule, labels=[-1, 1]) == score
    assert pr.mean_score(y.astype(np.uint8), p, rule=rule) == score


@given(sample=class_samples())
def test_the_ranked_probability_score_is_the_mean_of_the_brier_scores_of_its_cut_points(sample):
    y, p = sample
    cuts = pr.condense(y, p, ordered=True).tables()
    mean = np.mean([pr.brier_score(table) for table in cuts.values()])
    assert pr.ranked_probability_score(y, p) == pytest.approx(mean, rel=1e-9, abs=1e-12)


@pytest.mark.slow
@given(sample=class_samples())
def test_the_sum_brier_score_is_the_sum_of_the_brier_scores_of_its_classes(sample):
    y, p = sample
    total = sum(pr.brier_score(table) for table in pr.condense(y, p).tables().values())
    assert pr.brier_score(y, p) == pytest.approx(total, rel=1e-12, abs=1e-15)


@pytest.mark.slow
@given(sample=class_samples())
def test_penalties_are_error_rates(sample):
    y, p = sample
    errors = pr.mean_score(y, p, rule=pr.Misclassification())
    assert pr.penalized_brier_score(y, p) == pytest.approx(pr.brier_score(y, p) + 3 / 4 * errors, rel=1e-12)
    assert pr.penalized_log_score(y, p) == pytest.approx(pr.log_score(y, p) + np.log(4) * errors, rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("score", [pr.bounded_brier_score, pr.bounded_log_score, pr.bounded_net_benefit])
@given(sample=binary_samples(), cuts=st.lists(st.floats(0.01, 0.99), min_size=3, max_size=3, unique=True).map(sorted))
def test_bounded_scores_add_over_adjacent_intervals(score, sample, cuts):
    low, middle, high = cuts
    parts = [score(*sample, thresholds=part, normalize="none") for part in ((low, middle), (middle, high))]
    whole = score(*sample, thresholds=(low, high), normalize="none")
    assert whole == pytest.approx(sum(parts), rel=1e-9, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(
    "rule",
    [
        pr.BoundedBrier(0.1, 0.45),
        pr.BoundedLog(0.1, 0.45),
        pr.BoundedNetBenefit(0.1, 0.45),
        pr.BetaRegret(2, 5),
        pr.ShiftedBrier(0.3),
        pr.Spherical(),
        pr.Brier(),
    ],
    ids=repr,
)
@pytest.mark.parametrize("event", [True, False])
@given(p=st.floats(0.0, 1.0))
def test_scores_are_mixtures_of_elementary_scores(rule, event, p):
    """The loss is the integral of the regret at c with the rule's own weight on thresholds."""
    from scipy import stats

    def weight(c):
        inside = (c >= 0.1) & (c <= 0.45)
        return {
            "bounded_brier": inside / 0.35,
            "bounded_log": inside / (c * (1 - c)) / (np.log(0.45 / 0.55) - np.log(0.1 / 0.9)),
            "bounded_net_benefit": inside / (1 - c) / 0.35,
            "beta_regret": stats.beta(2, 5).pdf(c),
            "shifted_brier": 2 * (0.3 * 0.7) ** 2 / (0.3 + c * 0.4) ** 3,
            "spherical": (c**2 + (1 - c) ** 2) ** -1.5,
            "brier": 2 + 0 * c,
        }[rule.name]

    c = (np.arange(20_000) + 0.5) / 20_000
    regret = np.where(p < c, 1 - c, 0.0) if event else np.where(p >= c, c, 0.0)
    assert rule.loss(p, event=event) == pytest.approx(np.mean(weight(c) * regret), abs=3e-4)


def test_two_columns_are_scored_as_one_event():
    p = np.linspace(0, 1, 21)
    y = (np.arange(21) % 2).astype(bool)
    rows = np.column_stack([1 - p, p])
    for rule in (
        pr.Log(),
        pr.Spherical(),
        pr.Pseudospherical(3),
        pr.Tsallis(1.5),
        pr.Misclassification(),
        pr.Log(clip=0.1),
    ):
        np.testing.assert_allclose(
            pr.case_scores(y, rows, rule=rule), pr.case_scores(y, p, rule=rule), rtol=1e-12, atol=1e-15
        )
    half = pr.case_scores(y, rows, rule=pr.Brier(scale="half"))
    for rule in (pr.RankedProbability(), pr.SquaredAbsoluteRankedProbability()):
        np.testing.assert_allclose(pr.case_scores(y, rows, rule=rule), half, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(half, pr.case_scores(y, p, rule=pr.Brier()), rtol=1e-12)


@pytest.mark.parametrize(("family", "limit"), [(pr.Tsallis, pr.Log()), (pr.Pseudospherical, pr.Log())])
def test_the_families_begin_at_the_log_score(family, limit):
    y, p = [0, 1, 1], [0.2, 0.4, 0.9]
    assert pr.mean_score(y, p, rule=family(1 + 1e-6)) == pytest.approx(pr.mean_score(y, p, rule=limit), rel=1e-5)


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_a_rule_of_the_catalogue_leaves_no_question_open(rule):
    """What is not claimed is not audited."""
    always = {"proper", "strictly_proper", "superior", "right_before_wrong", "best", "worst"}
    forms = [None] if isinstance(rule, pr.BinaryRule) else []
    for classes in forms + ([2, 3, 5] if isinstance(rule, pr.ClassRule) else []):
        claims = rule.properties(classes)
        open_questions = {field.name for field in fields(claims) if getattr(claims, field.name) is None}
        applicable = always | ({"local", "distance_sensitive"} if isinstance(rule, pr.ClassRule) else set())
        assert not open_questions & applicable
    with_ties = isinstance(rule, pr.Misclassification | pr.PenalizedBrier | pr.PenalizedLog | pr.Elementary)
    assert (claims.ties is not None) == with_ties
    assert claims.ties == getattr(rule, "ties", claims.ties)


def test_many_classes_split_their_ties_at_a_price():
    """With five classes a tie of two may beat a right answer under the log score, with four it may not."""
    assert pr.PenalizedLog().properties(4).superior
    assert not pr.PenalizedLog().properties(5).superior
    assert pr.PenalizedLog(ties="first").properties(5).superior
    assert pr.PenalizedBrier().properties(5).superior
    assert [rule.properties().worst for rule in (pr.PenalizedBrier(), pr.Brier())] == [2.5, 1.0]


@pytest.mark.parametrize("ties", ["split", "first", "correct"])
def test_what_ties_cost(ties):
    rows, y = [[0.4, 0.4, 0.2]] * 3 + [[0.3, 0.3, 0.4]], [0, 1, 2, 2]
    wrong = {"split": [0.5, 0.5, 1, 0], "first": [0, 1, 1, 0], "correct": [0, 0, 1, 0]}[ties]
    brier, log = (pr.case_scores(y, rows, rule=rule) for rule in (pr.Brier(), pr.Log()))
    penalty = np.array(wrong)
    np.testing.assert_allclose(
        pr.case_scores(y, rows, rule=pr.PenalizedBrier(ties=ties)), brier + 2 / 3 * penalty, rtol=1e-12
    )
    np.testing.assert_allclose(
        pr.case_scores(y, rows, rule=pr.PenalizedLog(ties=ties)), log + np.log(3) * penalty, rtol=1e-12
    )
