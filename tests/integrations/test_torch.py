"""The torch vocabulary gives NumPy's numbers, gradients that finite differences confirm, and models that learn."""

import sys
from importlib import import_module

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, softmax

import propriety as pr
from propriety.errors import (
    InputTypeError,
    InputValueError,
    MissingDependencyError,
    MissingValuesError,
    UnsupportedOperationError,
)
from propriety.integrations.torch import TORCH, RuleLoss
from propriety.rules.catalogue import RULES

P = np.array([0.0, 1e-300, 1e-17, 1e-9, 0.05, 0.2, 0.3, 0.5, 0.7, 0.95, 1 - 2**-53, 1.0])
EVENTS, FORECASTS = np.tile([True, False], len(P)), np.repeat(P, 2)
ROWS = np.array([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.2, 0.3, 0.5], [1 / 3, 1 / 3, 1 / 3], [0.0, 1e-12, 1.0 - 1e-12]])
OUTCOMES, FORECAST_ROWS = np.tile([0, 1, 2], len(ROWS)), np.repeat(ROWS, 3, axis=0)
BINARY = [rule for rule in RULES if isinstance(rule, pr.BinaryRule) and not isinstance(rule, pr.BetaRegret)]
BY_CLASS = [rule for rule in RULES if isinstance(rule, pr.ClassRule)]

SMOOTH_EVENTS = [
    pr.Brier(),
    pr.Log(),
    pr.Spherical(),
    pr.BoundedBrier(0.2, 0.6),
    pr.BoundedBrier(0.2, 0.6, normalize="width"),
    pr.BoundedLog(0.2, 0.6),
    pr.BoundedLog(0.0, 1.0, normalize="none"),
    pr.BoundedNetBenefit(0.2, 0.6),
]
SMOOTH_ROWS = [
    pr.Brier(),
    pr.Brier(scale="half"),
    pr.RankedProbability(),
    pr.Log(),
    pr.RankedLog(),
    pr.PenalizedBrier(),
    pr.PenalizedLog(),
]

logits = st.lists(st.floats(-8.0, 8.0), min_size=3, max_size=3)


def double(values):
    return torch.tensor(np.asarray(values), dtype=torch.float64, requires_grad=True)


@pytest.mark.parametrize("rule", BINARY, ids=repr)
def test_a_binary_formula_gives_numpys_losses(rule):
    expected = rule.case_loss(FORECASTS, EVENTS)
    losses = rule.case_loss(torch.tensor(FORECASTS), torch.tensor(EVENTS), ops=TORCH)
    np.testing.assert_allclose(losses.numpy(), expected, rtol=1e-12, atol=1e-15)
    through_loss = RuleLoss(rule, reduction="none")(torch.tensor(FORECASTS), torch.tensor(EVENTS))
    assert through_loss.dtype == torch.float64
    np.testing.assert_allclose(through_loss.numpy(), expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("rule", BY_CLASS, ids=repr)
def test_a_class_formula_gives_numpys_losses(rule):
    expected = rule.class_case_loss(list(FORECAST_ROWS.T), OUTCOMES)
    losses = RuleLoss(rule, reduction="none")(torch.tensor(FORECAST_ROWS), torch.tensor(OUTCOMES))
    assert losses.dtype == torch.float64
    np.testing.assert_allclose(losses.numpy(), expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("rule", [rule for rule in RULES if not isinstance(rule, pr.BetaRegret)], ids=repr)
def test_single_precision_stays_single(rule):
    rows, y = torch.tensor([[0.25, 0.75], [0.5, 0.5]]), torch.tensor([1, 0])
    loss = RuleLoss(rule)(rows, y)
    forecast = rows[:, 1] if isinstance(rule, pr.BinaryRule) else rows
    assert loss.dtype == torch.float32
    assert float(loss) == pytest.approx(pr.mean_score(y.numpy(), forecast.numpy(), rule=rule), abs=1e-6)


def test_half_precision_is_computed_in_single():
    loss = RuleLoss(pr.Brier(), from_logits=True)(torch.zeros(2, dtype=torch.bfloat16), torch.tensor([0, 1]))
    assert loss == torch.tensor(0.25)


@pytest.mark.slow
@settings(max_examples=30)
@given(st.lists(st.tuples(logits, st.integers(0, 2)), min_size=1, max_size=8))
def test_logits_are_the_softmax_and_the_mean_is_mean_score(cases):
    x, y = np.array([case[0] for case in cases]), np.array([case[1] for case in cases])
    for rule in (pr.Brier(), pr.RankedProbability()):
        loss = RuleLoss(rule, from_logits=True)(torch.tensor(x), torch.tensor(y))
        assert float(loss) == pytest.approx(pr.mean_score(y, softmax(x, axis=1), rule=rule), rel=1e-12, abs=1e-15)
    for rule in (pr.Brier(), pr.BoundedBrier(0.2, 0.6), pr.BoundedLog(0.2, 0.6)):
        loss = RuleLoss(rule, from_logits=True)(torch.tensor(x[:, 0]), torch.tensor(y > 0))
        assert float(loss) == pytest.approx(pr.mean_score(y > 0, expit(x[:, 0]), rule=rule), rel=1e-12, abs=1e-15)


# Forecasts within the thresholds of the bounded scores and outside of them, and away from where they are clipped.
INSIDE_AND_OUT = [0.05, 0.1, 0.3, 0.45, 0.55, 0.7, 0.97]


@pytest.mark.parametrize("rule", SMOOTH_EVENTS, ids=repr)
def test_finite_differences_confirm_the_gradient_of_an_event(rule):
    p = double(np.repeat(INSIDE_AND_OUT, 2))
    y = torch.tensor([0, 1] * len(INSIDE_AND_OUT))
    assert torch.autograd.gradcheck(lambda p: RuleLoss(rule, reduction="none")(p, y), p)
    x = double(torch.logit(p.detach()))
    assert torch.autograd.gradcheck(lambda x: RuleLoss(rule, from_logits=True)(x, y), x)


@pytest.mark.parametrize("rule", SMOOTH_ROWS, ids=repr)
def test_finite_differences_confirm_the_gradient_of_rows(rule):
    x = double(np.random.default_rng(1).normal(size=(4, 3)))
    y = torch.tensor([0, 1, 2, 2])
    assert torch.autograd.gradcheck(lambda x: RuleLoss(rule, from_logits=True, reduction="none")(x, y), x)
    # Rows that are nudged no longer sum to one, so that the formula is asked itself.
    p = double(torch.softmax(x.detach(), dim=1))
    assert torch.autograd.gradcheck(lambda p: rule.class_case_loss(list(p.unbind(1)), y, ops=TORCH), p)


@pytest.mark.parametrize("rule", [*SMOOTH_EVENTS, pr.Log(clip=0.01)], ids=repr)
def test_right_certainties_have_gradients_that_are_numbers(rule):
    p = double([1.0, 0.0])
    RuleLoss(rule)(p, torch.tensor([1, 0])).backward()
    assert torch.isfinite(p.grad).all()


def test_a_clipped_log_score_is_flat_at_wrong_certainties():
    x = torch.tensor([20.0, 0.0, -100.0, 100.0], requires_grad=True)  # A sigmoid of 1, 0.5, a subnormal number, and 1.
    proba, y = torch.sigmoid(x), torch.tensor([0, 1, 1, 0])
    loss = RuleLoss(pr.Log(clip=1e-9), reduction="none")(proba, y)
    expected = pr.Log(clip=1e-9).case_loss(proba.detach().double().numpy(), y.numpy() == 1)
    np.testing.assert_allclose(loss.detach().numpy(), expected, rtol=1e-6)
    loss.sum().backward()
    assert x.grad.tolist() == [0.0, -0.5, 0.0, 0.0]


@pytest.mark.parametrize(
    "rule", [pr.Log(clip=1e-6), pr.Tsallis(), pr.Tsallis(1.001), pr.Pseudospherical(1.5)], ids=repr
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_bounded_scores_of_wrong_certainties_have_gradients_that_are_numbers(rule, dtype):
    x = torch.tensor([[0.0, 0.0, 120.0], [0.0, 0.0, 1000.0], [0.0, 1.0, 2.0]], dtype=dtype, requires_grad=True)
    loss = RuleLoss(rule)(torch.softmax(x, dim=1), torch.tensor([0, 1, 0])) + RuleLoss(rule)(
        torch.sigmoid(x).flatten(), torch.tensor([1, 1, 0] * 3)
    )
    loss.backward()
    assert torch.isfinite(loss)
    assert torch.isfinite(x.grad).all()
    assert (x.grad[2] != 0.0).all()


def test_an_infinite_loss_keeps_its_infinite_gradient():
    p = double([0.0, 0.5])
    RuleLoss(pr.Log())(p, torch.tensor([1, 1])).backward()
    assert p.grad.tolist() == [-np.inf, -1.0]


def test_a_bounded_score_is_flat_outside_its_thresholds():
    p = double([0.1, 0.1, 0.4, 0.8])
    RuleLoss(pr.BoundedBrier(0.2, 0.6))(p, torch.tensor([0, 1, 1, 0])).backward()
    assert (p.grad != 0.0).tolist() == [False, False, True, False]


def test_reductions():
    p, y = torch.tensor([0.2, 0.9, 0.6], dtype=torch.float64), torch.tensor([0, 1, 0])
    each = RuleLoss(pr.Brier(), reduction="none")(p, y)
    assert each.tolist() == pr.case_scores(y.numpy(), p.numpy(), rule=pr.Brier()).tolist()
    assert RuleLoss(pr.Brier(), reduction="sum")(p, y) == each.sum()
    assert RuleLoss(pr.Brier())(p[:, None], y[:, None]) == each.mean()
    assert repr(RuleLoss(pr.Brier())) == "RuleLoss(Brier(), from_logits=False, reduction='mean')"


def test_one_event_given_to_a_rule_of_rows_is_two_classes():
    p, y = torch.tensor([0.2, 0.9], dtype=torch.float64), torch.tensor([1, 1])
    rows = torch.stack([1.0 - p, p], dim=1)
    assert RuleLoss(pr.PenalizedBrier())(p, y) == RuleLoss(pr.PenalizedBrier())(rows, y)


@pytest.mark.parametrize("rule", [pr.Brier(), pr.RankedProbability()], ids=repr)
def test_a_model_learns_the_probabilities(rule):
    torch.manual_seed(1)
    x, y = torch.zeros(60, 1), torch.tensor([0] * 30 + [1] * 20 + [2] * 10)
    model, loss = torch.nn.Linear(1, 3), RuleLoss(rule, from_logits=True)
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=50)

    def closure():
        optimizer.zero_grad()
        value = loss(model(x), y)
        value.backward()
        return value

    optimizer.step(closure)
    torch.testing.assert_close(torch.softmax(model(x[0]), 0), torch.tensor([3.0, 2.0, 1.0]) / 6.0, atol=1e-3, rtol=0.0)


@pytest.mark.parametrize("rule", [pr.BoundedBrier(0.2, 0.6), pr.BoundedLog(0.2, 0.6)], ids=repr)
def test_a_bounded_score_learns_a_rate_within_its_thresholds(rule):
    x, y = torch.zeros(50, requires_grad=True), torch.tensor([1] * 15 + [0] * 35)
    rate = torch.tensor(0.0, requires_grad=True)
    optimizer = torch.optim.SGD([rate], lr=1.0)
    for _ in range(200):
        optimizer.zero_grad()
        RuleLoss(rule, from_logits=True)(x + rate, y).backward()
        optimizer.step()
    assert torch.sigmoid(rate).item() == pytest.approx(0.3, abs=1e-3)


@pytest.mark.parametrize(
    ("rule", "forecast", "target", "options", "error", "words"),
    [
        pytest.param(pr.Brier(), [0.5, -1.5], [0, 1], {}, InputValueError, "row 1 is -1.5.*apply a sigmoid", id="logits"),
        pytest.param(pr.Brier(), [[0.5, 0.4, 0.3]], [0], {}, InputValueError, r"sum to 1 within 1e-06", id="row sums"),
        pytest.param(pr.Brier(), [[-3.0, 0.9], [7.0, 0.2]], [1, 0], {}, InputValueError, r"row 0, column 0 is -3.0", id="first of two columns"),
        pytest.param(pr.Brier(), [[0.1, 0.9], [0.2, 0.9]], [1, 0], {}, InputValueError, r"sum to 1 within 1e-06; row 1", id="sums of two columns"),
        pytest.param(pr.Brier(), [[1.0, 2.0, 0.0]], [3], {"from_logits": True}, InputValueError, "whole numbers from 0 to 2", id="class"),
        pytest.param(pr.Brier(), [0.5], [2], {}, InputValueError, "y_true must hold 0 and 1", id="event"),
        pytest.param(pr.Brier(), [float("nan")], [1], {"from_logits": True}, MissingValuesError, "missing values", id="NaN"),
        pytest.param(pr.BoundedBrier(0.1, 0.5), [[0.2, 0.3, 0.5]], [0], {}, InputValueError, r"scores the forecast of one event; got rows of probabilities; their shape is \(1, 3\)", id="rows"),
        pytest.param(pr.BetaRegret(2, 2), [0.5], [1], {}, UnsupportedOperationError, "no incomplete beta", id="beta"),
        pytest.param(pr.Brier(), [0.5], [1], {"reduction": "median"}, InputValueError, 'reduction must be one of "mean"', id="reduction"),
        pytest.param(pr.Brier, [0.5], [1], {}, InputTypeError, "instantiate the class", id="class of rule"),
    ],
)  # fmt: skip
def test_refusals(rule, forecast, target, options, error, words):
    with pytest.raises(error, match=words):
        RuleLoss(rule, **options)(torch.tensor(forecast), torch.tensor(target))


def test_the_smallest_of_columns():
    assert (
        TORCH.minimum(torch.tensor([0.1, 0.5]), torch.tensor([0.2, 0.4])).tolist() == torch.tensor([0.1, 0.4]).tolist()
    )


def test_without_the_library_one_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "propriety.integrations.torch")
    with pytest.raises(MissingDependencyError, match=r"needs torch. Hint: pip install \"propriety\[torch\]\""):
        import_module("propriety.integrations.torch")


def test_logits_beyond_single_precision_are_not_missing():
    loss = RuleLoss(pr.Log(), from_logits=True)(
        torch.tensor([[1e39, 0.0, 0.0]], dtype=torch.float64), torch.tensor([1])
    )
    assert loss.item() == pytest.approx(1e39)
