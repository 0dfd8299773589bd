"""`propriety compare`: by how much models differ, and whether the difference could be due to chance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from propriety.cli.evaluate import evaluation_of_files
from propriety.cli.gate_facts import Facts
from propriety.cli.gate_outputs import GatedCommand, Gates, Summary, gate_options
from propriety.cli.imports import imported_rule
from propriety.cli.inputs import found_files
from propriety.cli.machine import document, written
from propriety.cli.messages import estimate, say, show_table, stage
from propriety.cli.options import COLUMNS, DIALECT, FILES, JSON, PROBLEM, Group, command, near_names, option, taken
from propriety.cli.outputs import STDOUT, check_targets, write
from propriety.errors import InputValueError
from propriety.evaluation.evaluation import Evaluation
from propriety.inference.bootstrap import Drawing
from propriety.inference.comparison import compare_of
from propriety.inference.comparison_words import comparison_words, short_words
from propriety.inference.finding import Findings
from propriety.inference.measures.of_means import MeanScore
from propriety.rules.class_rules import RankedLog, RankedProbability
from propriety.rules.families import Brier, Log, Spherical
from propriety.rules.rule import Rule

LAW = "compare needs two or more models of the same cases"
RULES: dict[str, Rule] = {rule.name: rule for rule in (Brier(), Log(), Spherical(), RankedProbability(), RankedLog())}
RULE = option(
    *("--rule", "rule_name"),
    metavar="RULE",
    help=f"Scoring rule to compare by: {', '.join(RULES)}; or MODULE:NAME for your own. By default the one that fits "
    "the outcome and the thresholds.",
)
GATES = gate_options(
    '"a worse than b", "a not better than b" or "a/brier>b/brier". Without a model, it applies to every model. It also '
    "fails if this cannot be told: a number could not be computed, or two models had no test or too few cases."
)


@command(
    "Compare models pair by pair.",
    *(FILES, COLUMNS, DIALECT, Group(PROBLEM.title, (RULE, *PROBLEM.options)), Group("Files to write", (JSON,)), GATES),
    kind=GatedCommand,
    examples=[
        "propriety compare predictions.parquet --outcome y --forecast a --forecast b",
        "propriety compare visits.csv --outcome fell --forecast a --forecast b --cluster patient --thresholds 0.05 0.2",
        "propriety compare predictions.csv --outcome y --forecast new --forecast old --rule log",
        'propriety compare predictions.csv --outcome y --forecast new --forecast old --fail-if "new worse than old"',
        "propriety compare days.csv --outcome rain --forecast a --forecast b --period day --json -",
    ],
)
def compare(files: Sequence[str], rule_name: str | None, json_file: str | None, **options: Any) -> None:
    """Compare models on the same cases, pair by pair, by the score that fits the outcome and the thresholds.

    The tests assume independent cases unless --cluster, such as the patient, or --period is given. FILEs are those of
    `propriety evaluate`.
    """
    gates = taken(Gates, options)
    targets = [json_file, *gates.targets]
    check_targets(targets)
    rule = None if rule_name is None else rule_named(rule_name)
    if rule is not None and options["thresholds"] is not None:
        hint = "leave out --rule to compare at the thresholds."
        raise InputValueError("cannot be combined with --rule", argument="--thresholds", hint=hint)
    with found_files(files) as paths:
        check_targets(targets, [*paths, *gates.sources])
        with evaluation_of_files(paths, options) as evaluation, stage("comparison"):
            comparison = _compared(evaluation, rule)
    results = gates.check(Facts.of_comparison(comparison, gates.baseline, evaluation))
    if json_file is not None:
        fields = comparison.to_dict() | {"gates": [result.to_dict() for result in results]}
        write(json_file, written(document("comparison", fields)))
    words = comparison_words(comparison)
    gates.write(results, Summary("compare", words, _rows(comparison)))
    if STDOUT not in targets:
        say("\n".join(words))
        head, *rows = _rows(comparison)
        show_table(head, rows, numbers=(2, 3))
    gates.finish(results)


def rule_named(name: str) -> Rule:
    """Return a rule by its short name, or imported."""
    if name in RULES:
        return RULES[name]
    if ":" not in name:
        hint = near_names(name, RULES) or f"the rules are {', '.join(RULES)}; MODULE:NAME is your own."
        raise InputValueError("must name a scoring rule", argument="--rule", got=name, hint=hint)
    return imported_rule(name)


def _compared(evaluation: Evaluation, rule: Rule | None) -> Findings:
    if len(evaluation.models) < 2:
        raise InputValueError(LAW, hint="repeat --forecast.")
    if rule is None:
        found = evaluation.comparison
    else:
        ledger, drawing = evaluation.ledger, Drawing(evaluation.n_resamples, evaluation.seed)
        is_known = ledger.source is not None or ledger.has_moments(rule)
        found = compare_of(ledger, MeanScore(rule), level=evaluation.level, drawing=drawing) if is_known else None
    if found is None:
        law = "these files do not allow a comparison by this score, which needs the individual cases or their sums"
        raise InputValueError(law, hint="pass the files of cases, or a ledger condensed with the same --thresholds.")
    return found


def _rows(found: Findings) -> list[list[str]]:
    """Return a row for each pair, below the head."""
    rows = [
        [
            pair.model,
            str(pair.against),
            estimate(pair.value, pair.low, pair.high),
            _p(pair.p_adjusted),
            short_words(pair, pair.model, str(pair.against)),
        ]
        for pair in found.differences
    ]
    return [["model", "against", "difference", "adjusted p", "verdict"], *rows]


def _p(value: float) -> str:
    if math.isnan(value):
        return "-"
    return "< 0.001" if value < 0.001 else f"{value:.3f}"
