"""Checks of a stored monitor: files that were changed, truncated or mixed up are rejected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from propriety import checks
from propriety.checks import check_level
from propriety.errors import InputValueError
from propriety.inference.stability_index import BINS
from propriety.inference.stream_evidence import ALTERNATIVES
from propriety.inference.stream_states import DIRECTIONS, NEVER, StreamStates
from propriety.tables.frames import are_names

RESTART = "restore the folder from a copy, or monitor the whole ledger and write to another folder."
ROUNDING = 1e-9
WHOLE = ("alarm", "since", "direction", "n")


def check_facts(facts: Mapping[str, Any]) -> None:
    """Raise an error if the facts are not those of a monitor."""
    check_level(facts["level"])
    checks.whole(facts["reference_days"], "reference_days", least=1)
    checks.whole(facts["days"], "days", least=1)
    for name in ("mature_after", "waiting"):
        checks.whole(facts[name], name, least=0)
    named = isinstance(facts["keys"], list) and all(isinstance(one, str) for one in [*facts["keys"], facts["time"]])
    if not named or not are_names(facts["models"]) or not facts["models"]:
        _refuse("its time, keys and models must be names")


def check_states(states: StreamStates, models: Sequence[str], days: int) -> None:
    """Raise an error if no monitor can have these states after some days."""
    if not len(states) or len(set(states.streams)) < len(states):
        _refuse("its streams must be distinct, and at least one")
    if not {name for one in states.streams for name in (one.model, one.reference)} <= {None, *models}:
        _refuse("its streams must be of its models")
    evidence = states.evidence
    shapes = [evidence.log_capital.shape[1:], evidence.gain.shape[1:], evidence.start.shape[1:]]
    if shapes != [(ALTERNATIVES,)] * 3 or states.reference.shape[1:] != (BINS,):
        _refuse(f"its streams must have {ALTERNATIVES} alternatives and {BINS} bins")
    if not ((states.share > 0.0).all() and states.share.sum() <= 1.0 + ROUNDING):
        _refuse("the shares of the error budget must be positive, and add up to at most 1")
    whole = [*(getattr(states, name) for name in WHOLE), evidence.days, evidence.start]
    if not all(np.issubdtype(column.dtype, np.integer) for column in whole):
        _refuse("its times and counts must be whole numbers")
    places = np.concatenate([states.alarm, states.since])
    if not ((places >= NEVER) & (places < days)).all() or ((states.alarm == NEVER) != (states.since == NEVER)).any():
        _refuse(f"its alarms must be on one of {days} days")
    if not ((states.direction >= 0) & (states.direction < len(DIRECTIONS))).all():
        _refuse("its directions must be known")
    if not ((evidence.days >= 1) & (evidence.days <= days) & (states.n >= 1)).all():
        _refuse(f"every stream must have a case on one of {days} days")
    numbers = [states.highest, states.events, states.expected, states.sums, states.squares, states.reference]
    if any(np.isnan(column).any() for column in (*numbers, evidence.log_capital, evidence.gain)):
        _refuse("its numbers must not be missing")


def _refuse(law: str) -> NoReturn:
    raise InputValueError(f"this is not a valid stored monitor: {law}", hint=RESTART)
