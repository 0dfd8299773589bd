"""The reference: one page per task, generated from the public names of the package.

A page lists the public names of some modules. A name that is added to one of them appears automatically. A module that
is on no page is an error, which a test of this file finds before the site is built.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import Any

import propriety
from propriety import public_names as public

FOLDER = "reference"
ADAPTERS = {
    "sklearn": "scikit-learn",
    "xgboost": "XGBoost",
    "lightgbm": "LightGBM",
    "catboost": "CatBoost",
    "torch": "PyTorch",
    "torchmetrics": "torchmetrics and Lightning",
    "mlflow": "MLflow",
    "xarray": "xarray",
}


@dataclass(frozen=True)
class Verb:
    """A page: its title, its introduction, and its sections with the modules whose public names they list."""

    title: str
    about: str
    sections: Mapping[str, tuple[str, ...]]


VERBS = {
    "score": Verb(
        title="Score",
        about="Scores of forecasts. Scores are losses, so lower is better, unless the documentation says otherwise.",
        sections={
            "Scores by name": ("rules.scores",),
            "Scores by rule": ("rules.scoring",),
            "Rules": ("rules.families", "rules.ordinal", "rules.class_rules"),
            "Base classes": ("rules.rule", "rules.catalogue"),
        },
    ),
    "audit": Verb(
        title="Audit",
        about="Is a rule proper? The audit searches for a forecast with a lower expected loss than the truth.",
        sections={"The audit": ("rules.audit", "rules.search")},
    ),
    "condense": Verb(
        title="Condense",
        about="Condense many cases into small tables and sums that can be added, and compute analyses from them.",
        sections={
            "The ledger": ("ledger",),
            "Censored outcomes": ("tables.censored_outcomes",),
            "Forecast tables": ("tables",),
        },
    ),
    "calibrate": Verb(
        title="Calibrate",
        about="Do events happen as often as forecast?",
        sections={
            "Curves and bands": ("calibration.reliability", "calibration.bands"),
            "Parts of a score": ("calibration.decomposition",),
            "Tests and summaries": ("calibration.miscalibration", "calibration.summary"),
            "Errors as others report them": ("calibration.calibration_errors",),
            "Recalibration": ("recalibration",),
            "More": ("calibration",),
        },
    ),
    "decide": Verb(
        title="Decide",
        about="The value of decisions that are based on the forecasts.",
        sections={
            "Curves over thresholds": (
                "decisions.threshold_curve",
                "decisions.decision_curves",
                "decisions.weighted_regret",
                "inference.decision_uncertainty",
                "decisions.operating_points",
                "decisions.roc",
            ),
            "Weights on thresholds": ("rules.weights", "rules.custom_weights"),
            "Ranking of models by threshold": ("decisions.ranking_map",),
            "Limited capacity": ("decisions.top_k",),
            "Abstention": ("inference.risk_coverage",),
            "Ordered and other classes": ("decisions.expected_cost", "decisions.agreement"),
            "Advice": ("decisions.recommendations",),
            "More": ("decisions",),
        },
    ),
    "compare": Verb(
        title="Estimate and compare",
        about="Estimates with confidence intervals, and tests of differences between models and between groups.",
        sections={
            "Estimates, comparisons and groups": ("inference",),
            "Segments": ("products.segments",),
            "Sites": ("products.sites",),
            "The event rate without labels": ("products.late_labels.prevalence",),
            "Sample size": ("products.planning.plan",),
        },
    ),
    "measures": Verb(
        title="Measures",
        about="Measures to estimate and compare, in addition to scoring rules and your own functions of a table.",
        sections={
            "Your own": ("inference.measures.measure", "inference.measures.check"),
            "Scores, skill and decisions": ("inference.measures.of_means", "inference.measures.ratios"),
            "Calibration": ("inference.measures.line", "inference.measures.parts"),
            "Ranking": ("inference.measures.ranking",),
            "Abstention": ("inference.measures.answers",),
        },
    ),
    "monitor": Verb(
        title="Monitor",
        about="Monitor deployed models. False alarms stay rare, however often you look.",
        sections={
            "Period by period, or case by case": ("products.monitoring.monitor",),
            "Labels that come late": ("products.late_labels.late_labels", "products.late_labels.before_labels"),
        },
    ),
    "diagnose": Verb(
        title="Diagnose",
        about="Which cases, and which groups of forecasts, have the largest losses?",
        sections={
            "Means of probabilities": ("diagnostics.probability_means"),
            "Cases": ("diagnostics.retention", "diagnostics.worst_cases"),
            "More": ("diagnostics",),
        },
    ),
    "read": Verb(
        title="Read logs",
        about="Logs of language-model evaluations as arrays that the other functions accept.",
        sections={"Logs": ("integrations.lm_eval", "integrations.inspect_ai", "integrations.logged_answers")},
    ),
    "evaluate": Verb(
        title="Evaluate",
        about="Evaluate several models by several measures in one call, and write a report.",
        sections={
            "Evaluation": ("evaluation",),
            "Internal validation": ("products.validation",),
            "Report": ("report",),
            "Methods of all results": ("result",),
        },
    ),
}


@cache
def public_names() -> dict[str, str]:
    """Return the module, below the package, in which each public name is defined."""
    names = public.public_names().items()
    return {name: source.removeprefix("propriety.") for name, source in names if source != "propriety.plots"}


@cache
def subjects() -> dict[str, Any]:
    """Return every public function and class by its name without `measures`, `results` or `weights` before it."""
    return {bare(path): attrgetter(path)(propriety) for path in public_names()}


def bare(path: str) -> str:
    """Return the last part of a public name."""
    return path.rpartition(".")[2]


def placed(names: Mapping[str, str]) -> dict[str, dict[str, list[str]]]:
    """Return the names of every section of every verb; each goes to the longest module path that holds it."""
    places = {
        module: (verb, section)
        for verb, page in VERBS.items()
        for section, modules in page.sections.items()
        for module in modules
    }
    found: dict[str, dict[str, list[str]]] = {
        verb: {section: [] for section in page.sections} for verb, page in VERBS.items()
    }
    for name, module in names.items():
        owners = [owner for owner in places if module == owner or module.startswith(f"{owner}.")]
        if not owners:
            message = f"{name}, of propriety.{module}, is on no page: name its module in docs/_extensions/{__name__}.py"
            raise LookupError(message)
        verb, section = places[max(owners, key=len)]
        found[verb][section].append(name)
    return found


def verb_page(page: Verb, sections: Mapping[str, list[str]]) -> str:
    """Return the source of a page; functions come before classes, and sections without names are omitted."""
    lines = [page.title, "=" * len(page.title), "", page.about, "", ".. currentmodule:: propriety", ""]
    for section, names in sections.items():
        if names:
            lines += [section, "-" * len(section), "", *_summary(sorted(names, key=_functions_first)), ""]
    return "\n".join(lines)


def pages() -> Iterator[tuple[str, str]]:
    """Return the name and the source of every page of the reference but its index."""
    for verb, sections in placed(public_names()).items():
        if any(sections.values()):
            yield verb, verb_page(VERBS[verb], sections)
    # Signatures are omitted, because `draw` has one for every type of result.
    about = (
        "Every result has a method ``.plot()``. These functions draw several results in one figure, and the displays "
        "have the interface of those of scikit-learn."
    )
    yield "draw", module_page("Draw", about, "propriety.plots", ":nosignatures:")
    about = (
        "The maps of :func:`propriety.recalibrate`. Those of one event are fitted to a table, "
        "``pr.recalibration.fit_beta(table)``; those of classes to rows, ``pr.recalibration.fit_vector(rows)``."
    )
    yield "recalibrate", module_page("Recalibrate", about, "propriety.recalibration")

    yield "integrate", integrations_page()


def module_page(title: str, about: str, module: str, *options: str) -> str:
    """Return the page of the public names of a module."""
    found = import_module(module)
    names = [name for name in found.__all__ if callable(getattr(found, name))]
    listed = _summary(sorted(names, key=_functions_first), *options)
    return "\n".join([title, "=" * len(title), "", about, "", f".. currentmodule:: {module}", "", *listed, ""])


def integrations_page() -> str:
    """Return the page of the adapters; their names are read from the sources, because importing needs the libraries."""
    lines = [
        "Integrate",
        "=========",
        "",
        "Rules as scorers, metrics, losses and callbacks. Each module needs its library, which the extra of the same",
        'name installs: ``pip install "propriety[xgboost]"``. There are :doc:`examples </examples/index>`.',
        "",
    ]
    for module, library in ADAPTERS.items():
        names = sorted(adapter_names(module), key=_functions_first)
        lines += [library, "-" * len(library), "", f".. currentmodule:: propriety.integrations.{module}", ""]
        lines += [f"``propriety.integrations.{module}``", "", *_summary(names), ""]
    return "\n".join(lines)


@cache
def adapter_names(module: str) -> list[str]:
    """Return the public functions and classes of an adapter."""
    path = Path(propriety.__file__).parent / "integrations" / f"{module}.py"
    tree = ast.parse(path.read_text(encoding="utf-8"))
    made = [node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    own = [node for node in tree.body if isinstance(node, ast.ImportFrom) and "integrations" in (node.module or "")]
    made += [alias.name for node in own for alias in node.names]
    return [name for name in made if name in _public(tree)]


def _public(tree: ast.Module) -> list[str]:
    """Return what a module lists in its `__all__`."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == ["__all__"]:
            return list(ast.literal_eval(node.value))
    return []


def _summary(names: list[str], *options: str) -> list[str]:
    return [
        ".. autosummary::",
        "   :toctree: generated",
        *(f"   {option}" for option in options),
        "",
        *(f"   {name}" for name in names),
    ]


def _functions_first(name: str) -> tuple[bool, str]:
    return bare(name)[0].isupper(), bare(name).lower()


def write(app: Any, _: object) -> None:
    """Write the pages that have changed next to the index of the reference, so that a second build is fast."""
    folder = Path(app.srcdir) / FOLDER
    for name, source in pages():
        path = folder / f"{name}.rst"
        if not path.exists() or path.read_text(encoding="utf-8") != source:
            path.write_text(source, encoding="utf-8")


def setup(app: Any) -> dict[str, Any]:
    """Write the pages before Sphinx looks for sources."""
    app.connect("config-inited", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
