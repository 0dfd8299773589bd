"""Metrics over batches and over two real processes: the same bits as one process with everything at once."""

import copy
import os
import pickle
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, softmax
from torchmetrics import MetricCollection

import propriety as pr
from propriety.errors import ImproperRuleError, InputTypeError, InputValueError, MissingDependencyError
from propriety.integrations.torchmetrics import ForecastTableMetric, RuleMetric
from propriety.rules.catalogue import RULES
from propriety.tables.forecast_table import ForecastTable

RNG = np.random.default_rng(1)
N = 997
ROWS = RNG.dirichlet(np.ones(3), N)
CLASSES = RNG.integers(0, 3, N)
FORECAST = np.where(RNG.random(N) < 0.02, RNG.integers(0, 2, N), RNG.beta(1, 3, N))
EVENT = RNG.random(N) < FORECAST
WEIGHT = RNG.integers(0, 3, N) * RNG.lognormal(size=N)
SHARES = [[slice(0, 1), slice(1, 700)], [slice(700, 703), slice(703, 850), slice(850, N)]]  # Of two processes, unequal.

RULES_OF_ROWS = [pr.Brier(), pr.RankedProbability(), pr.PenalizedLog()]
RULES_OF_EVENTS = [pr.Brier(), pr.Log(clip=1e-6), pr.BoundedBrier(0.05, 0.2), pr.BetaRegret(2, 8)]


def filled(metric, arguments, parts):
    """Return the metric after batches; `arguments` are arrays in the order of `update`."""
    for part in parts:
        metric.update(*(torch.tensor(argument[part]) for argument in arguments))
    return metric


def rule_metrics():
    """Pair metrics with the arguments of their updates."""
    for rule in RULES_OF_ROWS:
        yield RuleMetric(rule), (ROWS, CLASSES)
        yield RuleMetric(rule), (ROWS.astype(np.float32), CLASSES, WEIGHT)
    for rule in RULES_OF_EVENTS:
        yield RuleMetric(rule), (FORECAST, EVENT, WEIGHT)
    yield RuleMetric(pr.PenalizedBrier(), from_logits=True), (np.log(ROWS), CLASSES)


def answers(shares):
    """Return everything that the metrics say of the given batches, bit for bit."""
    told = [filled(metric, arguments, shares).compute().item().hex() for metric, arguments in rule_metrics()]
    table = filled(ForecastTableMetric(cells=64), (FORECAST, EVENT), shares)
    told += [value.item().hex() for value in table.compute().values()]
    return {"values": told, "table": table.forecast_table().to_dict(), "n": int(table.counts[:2].sum())}


def run_process(rank, folder):
    """Be one of two processes: see one's own share of the batches, and say what all of them amount to."""
    meeting = (folder / "meeting").as_uri()
    torch.distributed.init_process_group("gloo", init_method=meeting, rank=rank, world_size=2)
    (folder / f"answers_{rank}").write_bytes(pickle.dumps(answers(SHARES[rank])))
    torch.distributed.destroy_process_group()


@pytest.fixture(scope="module")
def answers_of_two_processes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("two_processes")
    environment = os.environ | {"GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}
    commands = [[sys.executable, __file__, str(rank), str(folder)] for rank in (0, 1)]
    processes = [subprocess.Popen(command, env=environment) for command in commands]  # noqa: S603  (this file)
    try:
        assert [process.wait(timeout=120) for process in processes] == [0, 0]
    finally:
        for process in processes:
            process.kill()
    return [pickle.loads((folder / f"answers_{rank}").read_bytes()) for rank in (0, 1)]


def same_cells(told, expected):
    """Compare the table of a metric with a grid; a metric knows the means of the cells to 2**-26 of a cell."""
    np.testing.assert_allclose(told["forecast"], expected.forecast, rtol=0, atol=2**-26 / expected.cells)
    assert told | {"forecast": None} == expected.to_dict() | {"forecast": None}


@pytest.mark.nightly
def test_two_processes_say_bit_for_bit_what_one_says(answers_of_two_processes):
    alone = answers([slice(0, N)])
    for rank, told in enumerate(answers_of_two_processes):
        assert told["values"] == alone["values"]
        assert told["table"] == alone["table"]
        same_cells(told["table"], ForecastTable.from_predictions(EVENT, FORECAST).grid(64))
        # Each process has kept its own cases only, so the others' came over the wire.
        assert told["n"] == sum(len(FORECAST[part]) for part in SHARES[rank]) < N


def test_a_sum_of_floats_would_depend_on_the_order():
    losses = pr.case_scores(CLASSES, ROWS, rule=pr.RankedProbability())
    assert np.cumsum(losses)[-1] != np.cumsum(losses[::-1])[-1]


@pytest.mark.slow
@settings(max_examples=40)
@given(st.permutations(range(20)), st.sets(st.integers(1, 19)), st.sampled_from([0, 1]))
def test_no_order_and_no_batch_size_changes_a_bit(order, cuts, kind):
    metric, arguments = (
        (RuleMetric(pr.RankedProbability()), (ROWS[:20], CLASSES[:20], WEIGHT[:20])),
        (RuleMetric(pr.Log(), from_logits=True), (np.log(ROWS[:20]), CLASSES[:20])),
    )[kind]
    once = filled(copy.deepcopy(metric), arguments, [slice(0, 20)])
    parts = np.split(np.array(order), sorted(cuts))
    assert filled(metric, arguments, parts).compute().item().hex() == once.compute().item().hex()


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_the_value_is_mean_score(rule):
    rows = not isinstance(rule, pr.BinaryRule)
    proba, y = (ROWS, CLASSES) if rows else (FORECAST, EVENT)
    clear = slice(0, N) if rows else np.flatnonzero((FORECAST > 0.0) & (FORECAST < 1.0))  # Of infinite losses.
    value = filled(RuleMetric(rule), (proba, y, WEIGHT), [clear]).compute()
    expected = pr.mean_score(y[clear], proba[clear], rule=rule, sample_weight=WEIGHT[clear])
    assert value.dtype == torch.float64
    assert value.item() == pytest.approx(expected, rel=1e-13)


def test_logits_are_handled_by_declaration():
    x = RNG.normal(size=(50, 3)).astype(np.float32)
    y = RNG.integers(0, 3, 50)
    value = filled(RuleMetric(pr.RankedProbability(), from_logits=True), (x, y), [slice(0, 50)]).compute()
    assert value.item() == pytest.approx(pr.ranked_probability_score(y, softmax(x.astype(float), axis=1)), rel=1e-14)
    table = filled(ForecastTableMetric(from_logits=True), (x[:, 0], y == 0), [slice(0, 50)]).forecast_table()
    expected = ForecastTable.from_predictions(y == 0, expit(x[:, 0].astype(float))).grid(2**10)
    same_cells(table.to_dict(), expected)
    with pytest.raises(InputValueError, match="apply a sigmoid"):
        RuleMetric(pr.Brier()).update(torch.tensor([2.5]), torch.tensor([1]))


def test_half_precision_is_read():
    metric = RuleMetric(pr.Brier())
    metric.update(torch.tensor([0.25, 0.5], dtype=torch.bfloat16), torch.tensor([0.0, 1.0], dtype=torch.bfloat16))
    assert metric.compute().item() == 0.15625


def test_forward_gives_the_value_of_the_batch_and_keeps_the_sum():
    metric = RuleMetric(pr.Brier())
    assert metric(torch.tensor([0.5]), torch.tensor([1])).item() == 0.25
    assert metric(torch.tensor([1.0]), torch.tensor([1])).item() == 0.0
    assert metric.compute().item() == 0.125
    metric.reset()
    metric.update(torch.tensor([0.0]), torch.tensor([1]))
    assert metric.compute().item() == 1.0


def test_forward_of_a_batch_without_cases_is_nan_and_keeps_the_sum():
    metric, table = RuleMetric(pr.Brier()), ForecastTableMetric(cells=4)
    case, empty = (torch.tensor([0.5]), torch.tensor([1])), (torch.empty(0), torch.empty(0, dtype=torch.int64))
    metric(*case)
    table(*case)
    assert metric(*empty).isnan()
    assert metric(*case, torch.tensor([0.0])).isnan()
    assert all(value.isnan() for value in table(*empty).values())
    assert metric.compute().item() == table.compute()["score"].item() == 0.25


def test_both_columns_of_two_classes_are_checked():
    with pytest.raises(InputValueError, match=r"row 0, column 0 is -3.0"):
        RuleMetric(pr.Brier()).update(torch.tensor([[-3.0, 0.9], [7.0, 0.2]]), torch.tensor([1, 0]))
    with pytest.raises(InputValueError, match=r"must sum to 1 within 1e-06"):
        RuleMetric(pr.Brier()).update(torch.tensor([[0.9, 0.9]]), torch.tensor([1]))


def test_a_collection_does_not_take_two_rules_for_one_because_they_begin_alike():
    rules = {"a": pr.BoundedBrier(0.2, 0.6), "b": pr.BoundedBrier(0.2, 0.7), "c": pr.BoundedLog(0.2, 0.6)}
    metrics = MetricCollection({name: RuleMetric(rule) for name, rule in rules.items()})
    y, p = np.array([1, 0, 0, 1, 0]), np.array([1.0, 0.0, 0.65, 0.5, 0.9])
    metrics.update(torch.tensor(p[:2]), torch.tensor(y[:2]))  # All losses are zero.
    metrics.update(torch.tensor(p[2:]), torch.tensor(y[2:]))
    for name, rule in rules.items():
        assert metrics.compute()[name].item() == pytest.approx(pr.mean_score(y, p, rule=rule), rel=1e-14)


def test_the_parts_of_the_score_are_those_of_the_table():
    metric = filled(ForecastTableMetric(cells=128, rule=pr.BoundedBrier(0.05, 0.2)), (FORECAST, EVENT), [slice(0, N)])
    table = ForecastTable.from_predictions(EVENT, FORECAST).grid(128)
    parts, expected = metric.compute(), pr.decompose(table, rule=pr.BoundedBrier(0.05, 0.2))
    assert list(parts) == ["score", "miscalibration", "discrimination", "uncertainty"]
    for part, value in parts.items():
        assert value.item() == pytest.approx(getattr(expected, part), abs=1e-9)


def test_a_metric_travels_by_pickle_and_device():
    metric = pickle.loads(pickle.dumps(filled(RuleMetric(pr.Brier()), (FORECAST, EVENT), [slice(0, 9)])))
    assert metric.to("cpu").half().compute().item() == pytest.approx(pr.brier_score(EVENT[:9], FORECAST[:9]), rel=1e-14)


def test_refusals():
    with pytest.raises(InputTypeError, match="instantiate the class"):
        RuleMetric(pr.Brier)
    with pytest.raises(InputValueError, match="cells must be a power of two"):
        ForecastTableMetric(cells=100)
    with pytest.raises(ImproperRuleError):
        ForecastTableMetric(rule=pr.ShiftedBrier(mu=0.2, weighted=False))
    with pytest.raises(InputValueError, match="whole numbers from 0 to 2"):
        RuleMetric(pr.Brier()).update(torch.tensor([[0.2, 0.3, 0.5]]), torch.tensor([3]))
    with pytest.warns(UserWarning, match="before the ``update`` method"):
        assert RuleMetric(pr.Brier()).compute().isnan()


@pytest.mark.parametrize("library", ["torch", "torchmetrics"])
def test_without_the_library_one_error_names_the_extra(monkeypatch, library):
    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.delitem(sys.modules, "propriety.integrations.torchmetrics")
    with pytest.raises(
        MissingDependencyError, match=rf"needs {library}\. Hint: pip install \"propriety\[torchmetrics\]"
    ):
        import_module("propriety.integrations.torchmetrics")


if __name__ == "__main__":
    run_process(int(sys.argv[1]), Path(sys.argv[2]))


def test_metrics_of_probabilities_and_of_logits_are_not_merged_after_a_batch_that_adds_nothing():
    collection = MetricCollection(
        {
            "proba": RuleMetric(pr.Brier()),
            "logits": RuleMetric(pr.Brier(), from_logits=True),
            "table": ForecastTableMetric(4),
            "table of logits": ForecastTableMetric(4, from_logits=True),
        }
    )
    p, y = torch.tensor([0.1, 0.7, 0.33333], dtype=torch.float64), torch.tensor([0, 1, 1])
    collection.update(p[:0], y[:0])
    collection.update(p, y)
    alone = RuleMetric(pr.Brier(), from_logits=True)
    alone.update(p, y)
    assert collection["logits"].compute() == alone.compute()
    tables = [collection[name].forecast_table().mean_forecast for name in ("table", "table of logits")]
    assert tables == pytest.approx([float(p.mean()), float(torch.sigmoid(p).mean())])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_result_that_is_known_is_not_rounded_when_a_model_changes_its_precision(dtype):
    net = torch.nn.Module()
    net.metric = RuleMetric(pr.Brier())
    net.metric.update(torch.tensor([0.1, 0.7, 0.33333], dtype=torch.float64), torch.tensor([0, 1, 1]))
    before = net.metric.compute()
    after = net.to(dtype).metric.compute()
    assert (after.dtype, after.item()) == (torch.float64, before.item())
