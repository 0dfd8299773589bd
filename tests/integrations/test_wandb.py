"""Weights & Biases, offline: its files hold the numbers and the report as they were given."""

import json
import struct

import numpy as np
import pytest
import wandb
from wandb.proto.wandb_internal_pb2 import Record

import propriety as pr

# Older versions leave the socket to their own process open.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")

# The format of the record is that of LevelDB's log, after seven bytes of its own.
HEAD, BLOCK, FRAME, WHOLE_OR_LAST = 7, 32768, struct.Struct("<IHB"), (1, 4)

RNG = np.random.default_rng(1)
P = RNG.beta(1.0, 2.0, 200)
Y = RNG.random(200) < P


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Start a run that stays on this machine."""
    monkeypatch.setenv("WANDB_ERROR_REPORTING", "false")
    settings = wandb.Settings(silent=True, console="off")
    yield wandb.init(mode="offline", dir=tmp_path, project="forecasts", settings=settings)
    wandb.teardown()


def finish(run):
    """End a run and the process that writes its files, which may still be writing when the run has ended."""
    run.finish()
    wandb.teardown()


def record_of(folder):
    """Return what a run has logged, from the record that would be sent: after its head, blocks of framed messages."""
    (path,) = folder.glob("wandb/offline-run-*/run-*.wandb")
    data, place, message, numbers = path.read_bytes(), HEAD, b"", {}
    while place < len(data):
        if BLOCK - place % BLOCK < FRAME.size:
            place += BLOCK - place % BLOCK
            continue
        _, length, part = FRAME.unpack_from(data, place)
        place += FRAME.size
        message += data[place : place + length]
        place += length
        if part in WHOLE_OR_LAST:
            items = Record.FromString(message).history.item
            numbers |= {item.key or "/".join(item.nested_key): json.loads(item.value_json) for item in items}
            message = b""
    return numbers


@pytest.mark.slow
def test_the_numbers_reach_the_record_of_the_run(run, tmp_path):
    numbers = pr.evaluate(Y, {"a": P, "b": P**2}, thresholds=(0.1, 0.3), seed=1, n_resamples=20).to_dict()
    run.log(numbers)
    assert {key: run.summary[key] for key in numbers} == pytest.approx(numbers, rel=1e-15, nan_ok=True)
    finish(run)
    kept = record_of(tmp_path)
    known = {key: value for key, value in numbers.items() if not np.isnan(value)}
    assert {key: kept[key] for key in known} == pytest.approx(known, rel=1e-15)
    assert {"a/bounded_brier", "b/net_benefit_at_0.1_low", "n"} <= kept.keys()


@pytest.mark.slow
def test_what_is_not_finite_reaches_it_too(run, tmp_path):
    numbers = pr.evaluate(np.ones(200), np.where(P < 0.1, 0.0, P), seed=1, n_resamples=20).to_dict()
    run.log(numbers)
    finish(run)
    kept = record_of(tmp_path)
    assert kept["log"] == np.inf
    assert np.isnan(kept["auc"])
    np.testing.assert_equal({key: kept[key] for key in numbers}, numbers)


@pytest.mark.slow
def test_the_page_is_kept_to_the_letter(run, tmp_path):
    page = pr.evaluate(Y, P, seed=1, n_resamples=20).to_html()
    run.log({"report": wandb.Html(page, inject=False)})
    assert run.summary["report"]["_type"] == "html-file"
    finish(run)
    (path,) = tmp_path.glob("wandb/offline-run-*/files/media/html/report_*.html")
    assert path.read_text(encoding="utf-8") == page
    # Unless told otherwise W&B adds a style sheet from the network, and has every link open a new window.
    assert 'href="https://' in wandb.Html(page).html.partition("<title>")[0]
