"""JSON output with the name and version of its schema."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from propriety.evaluation.evaluation import Evaluation
from propriety.evaluation.words import sentence_of, verdict_of
from propriety.plain_data import strict_json
from propriety.recalibration.result import formula_of
from propriety.result import Result
from propriety.upward import products

VERSIONS = {
    "evaluation": 1,
    "comparison": 1,
    "recalibration": 1,
    **{kind: version for product in products().values() for kind, version in product.schemas.items()},
}


def document(kind: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields after the name and version of the schema."""
    return {"schema": f"propriety.{kind}", "version": VERSIONS[kind], **fields}


def evaluation_document(evaluation: Evaluation, gates: list[dict[str, Any]]) -> dict[str, Any]:
    """Return an evaluation as plain data.

    `metrics` has the flat keys that gates use, and `scores` one entry per model and measure with all details.
    """
    found = evaluation.slices
    groups: dict[str, Any] | None = None
    if found is not None:
        groups = {"by": [*found.case_keys], "measure": found.measure[0].key, "rows": records(found)}
    return document(
        "evaluation",
        {
            **Result.to_dict(evaluation),
            "rates": {str(label): rate for label, rate in evaluation.rates.items()},
            "headline": evaluation.problem.headline.key,
            "best": evaluation.best,
            "summary": list(evaluation.card.words),
            "metrics": evaluation.to_dict(),
            "scores": records(evaluation.scores),
            "calibration": _calibration(evaluation),
            "recalibration": _recalibration(evaluation),
            "decompositions": {model: one.to_dict() for model, one in evaluation.decompositions.items()},
            "comparison": None if evaluation.comparison is None else evaluation.comparison.to_dict(),
            "slices": groups,
            "classes": None if evaluation.classes is None else records(evaluation.classes),
            "group_calibration": None
            if evaluation.group_calibration is None
            else records(evaluation.group_calibration),
            "gates": gates,
            "methods": evaluation.methods,
        },
    )


def _calibration(evaluation: Evaluation) -> dict[str, Any]:
    """Return the calibration of each model: the sentence, the verdict, and the findings, a row each."""
    return {
        model: {
            "verdict": verdict_of(evaluation, model),
            "words": sentence_of(evaluation, model, model),
            "findings": records(evaluation.calibration.where(model=model)),
        }
        for model in evaluation.models
    }


def _recalibration(evaluation: Evaluation) -> dict[str, Any]:
    """Return what recalibrating each model would gain, with its map; or why that is not known."""
    known = {
        model: {
            **asdict(found.verdict),
            "measure": evaluation.problem.headline.key,
            "folds": found.folds,
            "formula": formula_of(found.map),
            "map": found.map.to_dict(),
            "note": found.note,
        }
        for model, found in evaluation.recalibration.items()
    }
    return known | {model: {"outcome": None, "note": why} for model, why in evaluation.recalibration.reasons.items()}


def written(data: Mapping[str, Any]) -> str:
    """Write strict JSON: NaN is null, and infinities are strings.

    Examples
    --------
    >>> print(written({"a": float("nan"), "b": [1.5, float("inf")], 3: "x"}))
    {
      "a": null,
      "b": [
        1.5,
        "Infinity"
      ],
      "3": "x"
    }
    """
    return strict_json(data, 2)


def records(result: Result) -> list[dict[str, Any]]:
    """Return the rows of a result, each as a mapping from the names of the columns."""
    columns = result.columns()
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
