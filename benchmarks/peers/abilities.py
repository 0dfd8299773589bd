"""The features of each package, looked up in its source: the function that has it, or that no name matches.

Run: PYTHONPATH=quality python benchmarks/peers/abilities.py, some seconds. Writes `peers_abilities`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from packages import LEFT_OUT, MODULES
from record import table, write

# These are looked up only: none of them has a task in common with the others.
LOOKED_UP = MODULES | {"evidently": "evidently", "metricsreport": "metricsreport", "pmvalsampsize": "pmvalsampsize"}
NOTES = (
    "If a package is not listed, no name in its source matches; the script lists the patterns.",
    "Packages that were not looked up, among them all of R, may have a feature as well.",
    LEFT_OUT,
)


@dataclass(frozen=True)
class Ability:
    """A feature: the name that provides it in each package, and the pattern of such names.

    `without` lists packages with a name that matches but does something else.
    """

    by: Mapping[str, str]
    pattern: str
    without: tuple[str, ...] = ()


ABILITIES = {
    "Reliability curve without bins (isotonic)": Ability(
        by={
            "propriety": "reliability_curve",
            "model-diagnostics": "plot_reliability_diagram",
            "scoringrules": "reliability_diagram",
            "scores": "isotonic_fit",
            "scikit-learn": "IsotonicRegression",
            "netcal": "IsotonicRegression",
        },
        pattern="reliability|corp_",
        without=("xskillscore", "torch-uncertainty", "relplot"),  # Curves of bins and of kernels.
    ),
    "Consistency band of that curve": Ability(
        by={"propriety": "with_consistency_band", "scoringrules": "reliability_diagram"}, pattern="consistency_band"
    ),
    "Miscalibration, discrimination and uncertainty of a score": Ability(
        by={"propriety": "decompose", "model-diagnostics": "decompose", "scoringrules": "corp_score_decomposition"},
        pattern="^decompose$|discrimination|miscalibration|score_decomposition",
        without=("xskillscore", "netcal"),  # A histogram by outcome, and an error of bins.
    ),
    "Decision curve (net benefit)": Ability(
        by={
            "propriety": "decision_curve",
            "dcurves": "dca",
            "briertools": "DCAScorer",
            "rtichoke": "create_decision_curve",
        },
        pattern="net_benefit|decision_curve|(^|_)dca",
        without=("netcal",),  # Another DCA, of training.
    ),
    "Score over a threshold range": Ability(
        by={"propriety": "bounded_brier_score", "briertools": "threshold_range"},
        pattern="threshold_range|bounded_brier",
    ),
    "Best model on every range of thresholds": Ability(
        by={"propriety": "ranking_map"}, pattern="ranking_map|rank_by_threshold|threshold_rank"
    ),
    "Test whether a rule is proper, with a counterexample": Ability(
        by={"propriety": "audit"}, pattern="audit|is_proper|counterexample"
    ),
    "Test of the difference between two models": Ability(
        by={"propriety": "compare", "scores": "diebold_mariano", "xskillscore": "sign_test"},
        pattern="diebold|delong|sign_test|compare_(models|forecasts)|paired_(test|difference)",
    ),
    "Monitoring of a stream with repeated looks": Ability(
        by={"propriety": "monitor"},
        pattern="monitor_|e_process|^e_value|anytime|confidence_sequence|drift",
        without=("torch-uncertainty", "evidently"),  # The metric of a training loop, and drift between two batches.
    ),
    "Beta calibration": Ability(
        by={
            "propriety": "fit_beta",
            "betacal": "BetaCalibration",
            "netcal": "BetaCalibration",
            "probmetrics": "BetacalCalibrator",
        },
        pattern="beta_?cal|fit_beta",
    ),
    "Venn-Abers forecasts": Ability(
        by={
            "propriety": "fit_venn_abers",
            "venn-abers": "VennAbers",
            "MAPIE": "VennAbersCalibrator",
            "probmetrics": "VennAbersCalibrator",
        },
        pattern="venn_?abers|(^|_)ivap",
    ),
    "Outcomes by a horizon, with censoring": Ability(
        by={
            "propriety": "censored",
            "scikit-survival": "integrated_brier_score",
            "rtichoke": "create_decision_curve_times",
            "dcurves": "time_to_outcome_col",
        },
        pattern="ipcw|censor|time_to_(outcome|event)",
    ),
    "Search for groups with wrong forecasts": Ability(
        by={"propriety": "find_segments", "mcgrad": "MulticalibrationError"},
        pattern="multicalib|find_segment|segment_search",
    ),
    "Number of cases that a study needs": Ability(
        by={"propriety": "plan", "pmvalsampsize": "pmvalsampsize"},
        pattern="sampsize|required_(n|cases|sample)|power_analysis|needed_(cases|sample)",
    ),
    "Report of all results in one offline page": Ability(
        by={
            "propriety": "to_html",
            "rtichoke": "create_summary_report",
            "evidently": "save_html",
            "metricsreport": "MetricsReport",
        },
        pattern="to_html|save_html|html_report|report_html|summary_report|write_report",
    ),
    "Computation in DuckDB, Spark and databases": Ability(
        by={"propriety": "condense", "evidently": "SparkEngine"},
        pattern="duckdb|pyspark|ibis|lazyframe|lazy_frame",
        without=("scikit-survival",),  # It rejects lazy frames.
    ),
}


def names(module: str) -> set[str]:
    """Return every name that a package defines, imports or takes as an argument, tests left out."""
    (folder,) = find_spec(module).submodule_search_locations
    found: set[str] = set()
    for path in Path(folder).rglob("*.py"):
        if path.parent.name == "tests":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                found.add(node.name)
            elif isinstance(node, ast.arg):
                found.add(node.arg)
            elif isinstance(node, ast.alias):
                found.add(node.name)
    return found


def looked_up(package: str, ability: Ability, found: set[str]) -> str:
    """Return the name that does it, or nothing; a claim that the sources do not bear out is an error."""
    claimed = ability.by.get(package, "")
    like = {name for name in found if re.search(ability.pattern, name, re.IGNORECASE)}
    if claimed and claimed not in found:
        message = f"{package} has no {claimed}"
        raise LookupError(message)
    if not claimed and like and package not in ability.without:
        message = f"{package} has {sorted(like)}: do they do it?"
        raise LookupError(message)
    return claimed


def main() -> None:
    """Look everything up, and write the record."""
    found = {package: names(module) for package, module in LOOKED_UP.items()}
    rows = []
    for what, ability in ABILITIES.items():
        has = {package: looked_up(package, ability, found[package]) for package in LOOKED_UP}
        ours = has.pop("propriety")
        theirs = ", ".join(f"{package} `{name}`" for package, name in has.items() if name)
        rows.append({"feature": what, "propriety": f"`{ours}`", "others": theirs})
        print(*rows[-1].values(), sep=" | ")
    write(
        "peers_abilities",
        title="Features",
        summary=f"{len(rows)} features of propriety, looked up by name in {len(LOOKED_UP) - 1} other Python packages.",
        command="PYTHONPATH=quality python benchmarks/peers/abilities.py",
        tables=[table("Functions by feature", rows)],
        notes=NOTES,
        libraries=tuple(LOOKED_UP),
    )


if __name__ == "__main__":
    main()
