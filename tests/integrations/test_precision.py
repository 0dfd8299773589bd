"""Losses and metrics in half, brain and single precision: extreme logits, rows that are rounded, ten steps each."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_softmax

import propriety as pr
from propriety.errors import InputValueError
from propriety.integrations.model_outputs import output_losses
from propriety.integrations.torch import RuleLoss
from propriety.integrations.torchmetrics import ForecastTableMetric, RuleMetric
from propriety.rules.catalogue import RULES

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")

PRECISIONS = [torch.float32, torch.bfloat16, torch.float16]
TRAINABLE = [rule for rule in RULES if not isinstance(rule, pr.BetaRegret)]
EVENTS = [rule for rule in TRAINABLE if isinstance(rule, pr.BinaryRule)]
ROWS = [rule for rule in TRAINABLE if isinstance(rule, pr.ClassRule)]
RNG = np.random.default_rng(1)
INPUTS = RNG.normal(size=(64, 5)).astype(np.float32)
X = torch.from_numpy(INPUTS)
GRADE = torch.from_numpy(np.digitize(INPUTS[:, 0] + RNG.logistic(size=64), [-1.0, 1.0]))

logits = st.floats(-30.0, 30.0)


def name(dtype):
    return str(dtype).removeprefix("torch.")


def test_a_wrong_logit_of_17_costs_17():
    x = torch.tensor([17.0, -17.0], requires_grad=True)
    loss = RuleLoss(pr.Log(), from_logits=True)(x, torch.tensor([0, 1]))
    loss.backward()
    assert loss.item() == 17.0
    torch.testing.assert_close(x.grad, torch.tensor([0.5, -0.5]))
    rows = torch.tensor([[17.0, 0.0, 0.0]])
    assert RuleLoss(pr.Log(), from_logits=True)(rows, torch.tensor([1])).item() == 17.0
    metric = RuleMetric(pr.Log(), from_logits=True)
    metric.update(torch.tensor([1000.0]), torch.tensor([0]))
    assert metric.compute().item() == 1000.0


@pytest.mark.parametrize("dtype", PRECISIONS, ids=name)
@pytest.mark.parametrize("rule", EVENTS, ids=repr)
def test_extreme_log_odds_have_finite_losses_and_gradients(rule, dtype):
    for size in (17.0, 100.0, 1000.0):
        x = torch.tensor([size, -size, size, -size, 0.0], dtype=dtype, requires_grad=True)
        loss = RuleLoss(rule, from_logits=True)(x, torch.tensor([0, 1, 1, 0, 1]))
        assert torch.isfinite(loss)
        if loss.requires_grad:
            loss.backward()
            assert torch.isfinite(x.grad).all()


@pytest.mark.slow
@pytest.mark.parametrize("dtype", PRECISIONS, ids=name)
@pytest.mark.parametrize("rule", ROWS, ids=repr)
def test_extreme_logits_have_finite_losses_and_gradients(rule, dtype):
    for size in (17.0, 100.0, 1000.0):
        x = [[size, 0, 0], [0, 0, size], [0, size, -size], [-size, -size, 0]]
        x = torch.tensor(x, dtype=dtype, requires_grad=True)
        loss = RuleLoss(rule, from_logits=True)(x, torch.tensor([1, 0, 2, 0]))
        assert torch.isfinite(loss)
        if loss.requires_grad:
            loss.backward()
            assert torch.isfinite(x.grad).all()


@pytest.mark.slow
@settings(max_examples=30)
@given(st.lists(st.tuples(logits, logits, logits, st.integers(0, 2)), min_size=1, max_size=6))
def test_losses_of_logits_are_those_of_their_probabilities(cases):
    x, y = np.array([case[:3] for case in cases]), np.array([case[3] for case in cases])
    for rule in ROWS:
        expected = rule.class_case_loss(list(np.exp(log_softmax(x, axis=1)).T), y)
        np.testing.assert_allclose(output_losses(rule, x, y, from_logits=True), expected, rtol=1e-9, atol=1e-12)
        through_torch = RuleLoss(rule, from_logits=True, reduction="none")(torch.tensor(x), torch.tensor(y))
        np.testing.assert_allclose(through_torch.numpy(), expected, rtol=1e-9, atol=1e-12)
    event = y > 0
    for rule in EVENTS:
        expected = rule.case_loss(1.0 / (1.0 + np.exp(-x[:, 0])), event)
        np.testing.assert_allclose(
            output_losses(rule, x[:, 0], event, from_logits=True), expected, rtol=1e-3, atol=1e-12
        )
        through_torch = RuleLoss(rule, from_logits=True, reduction="none")(torch.tensor(x[:, 0]), torch.tensor(event))
        np.testing.assert_allclose(
            through_torch.numpy(), output_losses(rule, x[:, 0], event, from_logits=True), rtol=1e-9, atol=1e-12
        )


def test_two_columns_of_logits_are_their_difference():
    x, y = torch.tensor([[3.0, -40.0], [200.0, 1.0]]), torch.tensor([1, 0])
    expected = RuleLoss(pr.Log(), from_logits=True)(x[:, 1] - x[:, 0], y)
    assert RuleLoss(pr.Log(), from_logits=True)(x, y) == expected
    assert math.isclose(expected.item(), 21.5)


@pytest.mark.slow
@pytest.mark.parametrize("rule", [pr.Brier(), pr.Log(), pr.RankedProbability(), pr.Spherical()], ids=repr)
@pytest.mark.parametrize("dtype", PRECISIONS, ids=name)
@pytest.mark.parametrize("from_logits", [True, False], ids=["logits", "probabilities"])
def test_ten_steps_of_training(rule, dtype, from_logits):
    torch.manual_seed(1)
    model, loss = torch.nn.Linear(5, 3).to(dtype), RuleLoss(rule, from_logits=from_logits)
    optimizer, values = torch.optim.SGD(model.parameters(), lr=0.3), []
    for _ in range(10):
        optimizer.zero_grad()
        out = model(X.to(dtype))
        value = loss(out if from_logits else torch.softmax(out, dim=1), GRADE)
        value.backward()
        assert all(torch.isfinite(weight.grad).all() for weight in model.parameters())
        optimizer.step()
        values.append(value.item())
    assert values[-1] < values[0]


@pytest.mark.parametrize("dtype", PRECISIONS, ids=name)
@pytest.mark.parametrize("classes", [2, 10, 1000, 32_000])
def test_a_softmax_passes_in_every_precision(dtype, classes):
    torch.manual_seed(2)
    rows = torch.softmax(3.0 * torch.randn(64, classes), dim=1).to(dtype)
    in_place = torch.softmax((3.0 * torch.randn(64, classes)).to(dtype), dim=1)
    y = torch.zeros(64, dtype=torch.int64)
    loss = RuleLoss(pr.Brier())
    metric = RuleMetric(pr.Log(clip=1e-9))
    for forecast in (rows, in_place):
        loss.check(forecast, y)
        if classes < 32_000:  # Of so many columns the formula takes long.
            metric.update(forecast, y)
    if dtype != torch.bfloat16:
        assert math.isfinite(pr.mean_score(y[:8].numpy(), rows[:8].numpy(), rule=pr.Log(clip=1e-9)))


@pytest.mark.parametrize(("dtype", "off"), [(torch.float32, 1e-5), (torch.float16, 0.01), (torch.bfloat16, 0.05)], ids=["float32", "float16", "bfloat16"])  # fmt: skip
def test_rows_that_are_off_by_more_than_rounding_are_refused(dtype, off):
    rows = torch.tensor([[0.5 + off, 0.25, 0.25]], dtype=dtype)
    with pytest.raises(InputValueError, match="must sum to 1 within"):
        RuleLoss(pr.Brier())(rows, torch.tensor([0]))
    with pytest.raises(InputValueError, match="must sum to 1 within"):
        RuleMetric(pr.Brier()).update(rows, torch.tensor([0]))


@pytest.mark.parametrize("dtype", PRECISIONS, ids=name)
def test_a_metric_stays_exact_whatever_its_dtype(dtype):
    p, y = RNG.random(3000), RNG.integers(0, 2, 3000)
    plain, other = RuleMetric(pr.Brier()), RuleMetric(pr.Brier()).set_dtype(dtype).half()
    table, other_table = ForecastTableMetric(), ForecastTableMetric().set_dtype(dtype)
    for metric in (plain, other, table, other_table):
        for part in np.array_split(np.arange(3000), 7):
            metric.update(torch.tensor(p[part]), torch.tensor(y[part]))
    assert other.compute().item().hex() == plain.compute().item().hex()
    assert other_table.forecast_table().to_dict() == table.forecast_table().to_dict()


def test_an_empty_batch_adds_nothing():
    empty = torch.empty(0), torch.empty(0, dtype=torch.int64)
    metric, table = RuleMetric(pr.Brier()), ForecastTableMetric(cells=4)
    for one in (metric, table):
        one.update(*empty)
        one.update(torch.tensor([0.5]), torch.tensor([1]))
        one.update(*empty)
    rows = RuleMetric(pr.Log(), from_logits=True)
    rows.update(torch.empty(0, 3), torch.empty(0, dtype=torch.int64))
    assert metric.compute() == 0.25
    assert table.forecast_table().n == 1
    assert rows.compute().isnan()


@pytest.mark.parametrize("dtype", [*PRECISIONS, torch.float64], ids=name)
def test_tensors_are_scored_with_gradients_and_without_numpys_types(dtype):
    forecast = torch.tensor([0.25, 0.5], dtype=dtype, requires_grad=True)
    assert pr.brier_score(torch.tensor([0, 1]), forecast) == (0.0625 + 0.25) / 2.0
