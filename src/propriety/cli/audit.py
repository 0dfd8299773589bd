"""`propriety audit`: search for counterexamples to the declared properties of a scoring rule."""

from __future__ import annotations

import click

from propriety.cli.imports import imported_rule
from propriety.cli.machine import document, written
from propriety.cli.messages import block, say, show_table
from propriety.cli.options import json_option
from propriety.cli.outputs import STDOUT, check_targets, write
from propriety.errors import InputValueError, ProprietyError
from propriety.rules.audit import AuditReport
from propriety.rules.audit import audit as audit_rule
from propriety.rules.rule import Rule


@click.command(
    short_help="Check the declared properties of a scoring rule.",
    epilog=block(
        "Examples",
        "propriety audit propriety:Brier",
        "propriety audit propriety:PenalizedBrier --classes 3",
        "propriety audit my_rules:Sharp",
    ),
)
@click.argument("rule", metavar="MODULE:RULE")
@click.option("--classes", type=click.IntRange(min=2), metavar="K", help="Check the rule for forecasts of K classes.")
@click.option(
    "--seed", type=click.IntRange(min=0), metavar="N", default=0, show_default=True, help="Seed of the forecasts tried."
)
@json_option
def audit(rule: str, classes: int | None, seed: int, json_file: str | None) -> None:
    """Search for a counterexample to each declared property of a scoring rule.

    MODULE is imported and thereby executed, so name only code that you trust. It is looked up among the installed
    modules, then in the current folder. RULE is a rule, or a class that needs no arguments. The exit code is 1 if a
    declared property does not hold.
    """
    check_targets([json_file])
    report = _audited(imported_rule(rule), rule, classes, seed)
    if json_file is not None:
        write(json_file, written(document("audit", {**report.to_dict(), "agrees": report.agrees})))
    if json_file != STDOUT:
        _print(report)
    if not report.agrees:
        click.get_current_context().exit(1)


def _audited(rule: Rule, name: str, classes: int | None, seed: int) -> AuditReport:
    try:
        return audit_rule(rule, classes=classes, seed=seed)
    except ProprietyError:
        raise
    except Exception as error:  # The formula is the user's.
        raise InputValueError(f"{name} cannot be checked; {type(error).__name__}: {error}") from error


def _print(report: AuditReport) -> None:
    of = "one event" if report.classes is None else f"{report.classes} classes"
    result = "agrees with every" if report.agrees else "contradicts a"
    say(f"{report.rule} for {of}: the search {result} declared property.")
    rows = report.columns()
    found = ["holds" if holds else "fails" for holds in rows["holds"]]
    cells = list(zip(rows["property"], rows["declared"], found, rows["counterexample"], strict=True))
    show_table(["property", "declared", "found", "counterexample"], cells)
