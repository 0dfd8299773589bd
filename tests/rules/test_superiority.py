"""Superior rules never prefer a wrong answer to a right one, whatever happened; the others do, and are caught at it."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import propriety as pr
from propriety.rules.audit import Search
from propriety.rules.catalogue import RULES

CLASS_COUNTS = (2, 3, 4, 5, 8)
FORMS = [(rule, None) for rule in RULES if isinstance(rule, pr.BinaryRule)]
FORMS += [(rule, classes) for rule in RULES if isinstance(rule, pr.ClassRule) for classes in CLASS_COUNTS]
SUPERIOR = [form for form in FORMS if form[0].properties(form[1]).superior]
OTHERS = [form for form in FORMS if form[0].properties(form[1]).superior is False]
RIGHT_FIRST = [form for form in FORMS if form[0].properties(form[1]).right_before_wrong]
NOT_RIGHT_FIRST = [form for form in FORMS if form[0].properties(form[1]).right_before_wrong is False]
TIES = ("split", "first", "correct")


def name(form):
    rule, classes = form
    return f"{rule!r}-{classes or 'event'}"


def parts(classes):
    """Draw whole numbers to share out: few, so that they tie; nearly equal; or many, but no nearer than rounding."""
    kinds = [st.integers(0, 4), st.integers(1000, 1003), st.integers(0, 10_000)]
    drawn = st.one_of(*(st.lists(kind, min_size=classes, max_size=classes) for kind in kinds))
    return drawn.filter(any).map(np.array)


def distributions(classes):
    return parts(classes).map(lambda drawn: drawn / drawn.sum())


@st.composite
def right_and_wrong(draw, classes, ties):
    """Draw an outcome, a right answer to it and a wrong one."""
    right, wrong = draw(parts(classes)), draw(parts(classes))
    outcome = int(right.argmax())
    if outcome not in answers(right, ties):
        right[outcome] += 1
    if outcome in answers(wrong, ties):
        other = draw(st.integers(0, classes - 1).filter(lambda k: k != outcome))
        wrong[other] = wrong.max() + 1
    return outcome, right / right.sum(), wrong / wrong.sum()


def answers(forecast, ties):
    """Return the classes for which the forecast is a right answer under the convention for ties."""
    leaders = np.flatnonzero(forecast == forecast.max())
    if ties == "first":
        return leaders[:1]
    return leaders if ties == "correct" or len(leaders) == 1 else leaders[:0]


def losses(rule, classes, outcome, *forecasts):
    columns = list(np.array(forecasts).T)
    if classes is None:
        return rule.loss(columns[1], event=outcome == 1)
    return rule.class_loss(columns, outcome=np.eye(classes)[outcome].tolist())


def test_the_catalogue_declares_superiority_everywhere():
    assert len(SUPERIOR) + len(OTHERS) == len(RIGHT_FIRST) + len(NOT_RIGHT_FIRST) == len(FORMS)
    assert len(SUPERIOR) < len(RIGHT_FIRST)
    assert (pr.PenalizedLog(), 4) in SUPERIOR
    assert (pr.PenalizedLog(), 5) in OTHERS


@pytest.mark.slow
@pytest.mark.parametrize("form", SUPERIOR, ids=name)
@settings(max_examples=25)
@given(data=st.data())
def test_no_wrong_answer_beats_a_right_one_to_whatever_outcome(form, data):
    rule, classes = form
    drawn = [data.draw(right_and_wrong(classes or 2, rule.properties(classes).ties)) for _ in range(2)]
    loss = losses(rule, classes, drawn[0][0], drawn[0][1], drawn[0][1])[0]
    wrong_loss = losses(rule, classes, drawn[1][0], drawn[1][2], drawn[1][2])[0]
    assert loss < wrong_loss


@pytest.mark.slow
@pytest.mark.parametrize("form", RIGHT_FIRST, ids=name)
@settings(max_examples=25)
@given(data=st.data())
def test_no_wrong_answer_beats_a_right_one_to_the_same_outcome(form, data):
    rule, classes = form
    outcome, right, wrong = data.draw(right_and_wrong(classes or 2, rule.properties(classes).ties))
    loss, wrong_loss = losses(rule, classes, outcome, right, wrong)
    assert loss < wrong_loss


@pytest.mark.parametrize("same", [False, True], ids=["any outcome", "same outcome"])
@pytest.mark.parametrize("form", OTHERS, ids=name)
def test_a_rule_that_is_not_superior_prefers_some_wrong_answer(form, same):
    if same and form not in NOT_RIGHT_FIRST:
        return
    rule, classes = form
    ties = rule.properties(classes).ties
    found = Search.of(rule, classes, truths=None, seed=0).better_wrong_answer(ties, same=same)
    outcome, other = int(np.argmax(found.truth)), int(np.argmax(found.rival_truth or found.truth))
    assert outcome == other or not same
    assert outcome in answers(np.array(found.forecast), ties)
    assert other not in answers(np.array(found.rival), ties)
    loss = losses(rule, classes, outcome, found.forecast, found.rival)[0]
    wrong_loss = losses(rule, classes, other, found.forecast, found.rival)[1]
    assert wrong_loss <= loss


@pytest.mark.parametrize("classes", [3, 5, 12])
@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize(("rule", "plain"), [(pr.PenalizedBrier, pr.Brier), (pr.PenalizedLog, pr.Log)])
def test_the_penalty_puts_in_order_what_the_plain_score_does_not(rule, plain, ties, classes):
    """Without it a bare majority over evenly spread rivals loses to a wrong answer that is nearly half right."""
    right = np.full(classes, 0.999 / classes)
    right[0] += 0.001
    wrong = np.zeros(classes)
    wrong[:2] = 0.499, 0.501
    loss, wrong_loss = losses(plain(), classes, 0, right, wrong)
    assert wrong_loss < loss
    loss, wrong_loss = losses(rule(ties=ties), classes, 0, right, wrong)
    assert loss < wrong_loss


@st.composite
def weighted_samples(draw):
    classes = draw(st.integers(2, 6))
    rows = draw(st.lists(distributions(classes), min_size=1, max_size=12))
    y = draw(st.lists(st.integers(0, classes - 1), min_size=len(rows), max_size=len(rows)))
    weights = st.one_of(st.integers(0, 3), st.floats(0.1, 5))
    w = draw(st.lists(weights, min_size=len(rows), max_size=len(rows)).filter(any))
    return np.array(y), np.array(rows), np.array(w, dtype=float)


def error_rate(y, rows, w, ties):
    """Return the weighted share of wrong decisions, case by case."""
    wrong = []
    for outcome, row in zip(y, rows, strict=True):
        leaders = [k for k, p in enumerate(row) if p == max(row)]
        right = {
            "first": float(leaders[0] == outcome),
            "correct": float(outcome in leaders),
            "split": (outcome in leaders) / len(leaders),
        }[ties]
        wrong.append(1.0 - right)
    return np.average(wrong, weights=w)


@pytest.mark.parametrize("ties", TIES)
@given(sample=weighted_samples())
@example(sample=(np.array([0, 1, 2]), np.full((3, 3), 1 / 3), np.array([1.0, 2.0, 0.0])))
@example(sample=(np.array([0, 1]), np.array([[0.0, 1.0], [0.5, 0.5]]), np.array([1.0, 3.0])))
def test_penalized_scores_are_the_plain_ones_plus_the_error_rate(ties, sample):
    y, rows, w = sample
    c = rows.shape[1]
    options = {"sample_weight": w, "labels": range(c)}
    errors = error_rate(y, rows, w, ties)
    brier, log = pr.brier_score(y, rows, **options), pr.log_score(y, rows, **options)
    brier *= 2 if c == 2 else 1  # Of one event, the Brier score has one component, and a rule for rows has two.
    penalized = pr.mean_score(y, rows, rule=pr.PenalizedBrier(ties=ties), **options)
    assert penalized == pytest.approx(brier + (c - 1) / c * errors, rel=1e-12, abs=1e-15)
    penalized = pr.mean_score(y, rows, rule=pr.PenalizedLog(ties=ties), **options)
    assert penalized == pytest.approx(log + math.log(c) * errors, rel=1e-12, abs=1e-15)


@given(sample=weighted_samples())
def test_conventions_differ_only_on_ties_and_correct_is_the_mildest(sample):
    y, rows, _ = sample
    split, first, correct = (
        pr.case_scores(y, rows, rule=pr.PenalizedBrier(ties=ties), labels=range(rows.shape[1])) for ties in TIES
    )
    untied = np.sum(rows == rows.max(axis=1, keepdims=True), axis=1) == 1
    assert (split[untied] == first[untied]).all()
    assert (split[untied] == correct[untied]).all()
    assert (correct <= np.minimum(split, first)).all()
