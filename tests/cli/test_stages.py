"""The line that says how far the work is."""

import io

import pytest
from rich.console import Console

from propriety.cli import interrupts, stages
from propriety.cli.files import Opened
from propriety.cli.stages import Stages


def shown(monkeypatch, *, terminal, opened=None):
    kept = io.StringIO()
    monkeypatch.setattr(stages, "beside", lambda: Console(file=kept, force_terminal=terminal, width=100))
    line = Stages()
    if opened is not None:
        line.watch(opened)
    with line.stage("counting"):
        pass
    return kept.getvalue()


def test_a_terminal_sees_the_stage_and_the_rows(monkeypatch):
    told = shown(monkeypatch, terminal=True, opened=Opened(None, 2_000_000, lambda: 0.25))
    assert "counting" in told
    assert "500,000 of 2,000,000 rows" in told


def test_where_the_rows_are_not_known_the_share_is_said(monkeypatch):
    assert "25% scanned" in shown(monkeypatch, terminal=True, opened=Opened(None, None, lambda: 0.25))


def test_between_queries_only_the_stage_is_said(monkeypatch):
    assert "rows" not in shown(monkeypatch, terminal=True, opened=Opened(None, 2_000_000, lambda: None))


def test_nobody_else_sees_anything(monkeypatch):
    assert shown(monkeypatch, terminal=False) == ""


def test_a_signal_that_a_library_swallowed_ends_the_stage(monkeypatch):
    monkeypatch.setattr(interrupts, "_heard", interrupts.threading.Event())
    interrupts._heard.set()
    with pytest.raises(KeyboardInterrupt):
        shown(monkeypatch, terminal=False)
