"""Lightning trains for real: it stops, and keeps the model, by the rule that it was asked to watch."""

import math

import lightning
import numpy as np
import pytest
import torch
from lightning.pytorch.callbacks import Callback, EarlyStopping, ModelCheckpoint

import propriety as pr
from propriety.integrations.torch import RuleLoss
from propriety.integrations.torchmetrics import ForecastTableMetric, RuleMetric

pytestmark = [
    pytest.mark.filterwarnings("ignore:The '.*_dataloader' does not have many workers"),
    # What Lightning asks of PyTorch is about to change there.
    pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning"),
]

RNG = np.random.default_rng(3)
X = RNG.normal(size=(160, 6)).astype(np.float32)
GRADE = np.digitize(X[:, 0] + 1.5 * RNG.logistic(size=160), [-1.0, 1.0])
TRAIN, TEST = slice(0, 60), slice(60, 160)
PATIENCE = 2


class Grader(lightning.LightningModule):
    """Grades of three levels, trained by the ranked probability score on few cases, which it soon overfits."""

    def __init__(self):
        super().__init__()
        self.model = torch.nn.Sequential(torch.nn.Linear(6, 64), torch.nn.Tanh(), torch.nn.Linear(64, 3))
        self.loss = RuleLoss(pr.RankedProbability(), from_logits=True)
        self.validation = torch.nn.ModuleDict(
            {
                rule.name: RuleMetric(rule, from_logits=True)
                for rule in (pr.RankedProbability(), pr.PenalizedBrier(), pr.Log())
            }
        )
        self.severe = ForecastTableMetric(cells=256)

    def training_step(self, batch):
        x, y = batch
        return self.loss(self.model(x), y)

    def validation_step(self, batch):
        x, y = batch
        logits = self.model(x)
        for name, metric in self.validation.items():
            metric.update(logits, y)
            self.log(f"val_{name}", metric)
        self.log("val_own", torch.nn.functional.cross_entropy(logits, y), batch_size=len(y))
        self.severe.update(torch.softmax(logits, dim=1)[:, 2], y == 2)

    def on_validation_epoch_end(self):
        self.log_dict({f"val_severe_{part}": value for part, value in self.severe.compute().items()})
        self.severe.reset()

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=0.05)


class History(Callback):
    """What was logged after each validation, and what the model then forecast."""

    def __init__(self):
        self.logged, self.forecasts = [], []

    def on_validation_end(self, trainer, module):
        with torch.no_grad():
            self.forecasts.append(torch.softmax(module.model(torch.tensor(X[TEST])).double(), dim=1).numpy())
        self.logged.append({name: value.item() for name, value in trainer.callback_metrics.items()})


def loader(part, **options):
    return torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(torch.tensor(X[part]), torch.tensor(GRADE[part])), **options
    )


def train(watched, folder):
    lightning.seed_everything(1)
    history = History()
    stopping = EarlyStopping(monitor=watched, mode="min", patience=PATIENCE)
    checkpoint = ModelCheckpoint(folder, monitor=watched, mode="min", filename="{epoch}")
    trainer = lightning.Trainer(
        max_epochs=40,
        accelerator="cpu",
        callbacks=[history, stopping, checkpoint],
        default_root_dir=folder,
        logger=False,
        num_sanity_val_steps=0,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(Grader(), loader(TRAIN, batch_size=20, shuffle=True), loader(TEST, batch_size=33))
    return watched, history, stopping, checkpoint


@pytest.fixture(scope="module", params=["ranked_probability", "penalized_brier"])
def trained(request, tmp_path_factory):
    return train(f"val_{request.param}", tmp_path_factory.mktemp("lightning"))


def test_training_stops_by_the_rule_that_is_watched(trained):
    watched, history, stopping, _ = trained
    values = [logged[watched] for logged in history.logged]
    best = int(np.argmin(values))
    assert best + PATIENCE == stopping.stopped_epoch == len(values) - 1 < 39
    assert float(stopping.best_score) == values[best]


def test_the_checkpoint_kept_is_the_best_by_that_rule(trained):
    watched, history, _, checkpoint = trained
    values = [logged[watched] for logged in history.logged]
    state = torch.load(checkpoint.best_model_path)
    assert state["epoch"] == int(np.argmin(values))
    assert float(checkpoint.best_model_score) == min(values)


def test_what_is_logged_is_the_score_of_all_cases_of_the_epoch(trained):
    _, history, _, _ = trained
    for logged, rows in zip(history.logged, history.forecasts, strict=True):
        for rule in (pr.RankedProbability(), pr.PenalizedBrier(), pr.Log()):
            expected = pr.mean_score(GRADE[TEST], rows, rule=rule)
            # Batches and the whole go through the layers in other orders, in single precision.
            assert logged[f"val_{rule.name}"] == pytest.approx(expected, rel=1e-4)


def test_the_parts_of_the_score_are_logged_at_the_end_of_an_epoch(trained):
    _, history, _, _ = trained
    for logged, rows in zip(history.logged, history.forecasts, strict=True):
        parts = [logged[f"val_severe_{part}"] for part in ("score", "miscalibration", "discrimination", "uncertainty")]
        assert math.isclose(parts[0], parts[1] - parts[2] + parts[3], abs_tol=1e-6)
        assert parts[0] == pytest.approx(pr.brier_score(GRADE[TEST] == 2, np.minimum(rows[:, 2], 1.0)), abs=1 / 256)


@pytest.mark.slow
def test_early_stopping_by_the_log_score_is_that_by_pytorchs_own_loss(tmp_path):
    (_, by_own, own, _), (_, by_rule, rule, _) = train("val_own", tmp_path / "own"), train("val_log", tmp_path / "rule")
    assert rule.stopped_epoch == own.stopped_epoch < 39
    losses = [logged["val_own"] for logged in by_own.logged]
    np.testing.assert_allclose([logged["val_log"] for logged in by_rule.logged], losses, rtol=1e-5)
