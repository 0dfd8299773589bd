"""Mean probabilities of the classes that happened, from the tables of the classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from propriety.diagnostics.probability_groups import by_blocks, joined
from propriety.diagnostics.probability_means import ProbabilityMeans, confidence_angle, means_of_pairs
from propriety.tables.forecast_table import ForecastTable


def class_means(tables: Mapping[Any, ForecastTable]) -> ProbabilityMeans:
    """Average the probabilities of the classes that happened, from the table of each class by its label."""
    parts: dict[Any, ProbabilityMeans] = {}
    for label, table in tables.items():
        facts = {"precision": None, "n": table.n, "dropped": table.dropped}
        parts[label] = means_of_pairs({label: by_blocks(table)}, "pav", facts)
    model, source, weight = (
        np.concatenate(column) for column in zip(*(part.probabilities for part in parts.values()), strict=True)
    )
    whole = replace(
        next(iter(parts.values())),
        probabilities=(model, source, weight),
        weight=float(weight.sum()),
        groups=joined(part.groups for part in parts.values() if part.groups is not None),
        parts=parts,
    )
    found = whole.spectrum(whole.exponent)
    assert found.source is not None  # noqa: S101  (for the type checker; the tables were recalibrated)
    angle = confidence_angle(found.model, found.source)
    return replace(whole, model=found.model, source=found.source, divergence=found.divergence, angle=angle)
