"""A parameter with one name has one default and one annotation in every public function, or a reason to differ.

The page `docs/reference/parameters.md` is written by ``python tests/test_signatures.py``.
"""

from __future__ import annotations

import inspect
import pydoc
from collections import Counter, defaultdict
from operator import attrgetter
from pathlib import Path

import pytest

import propriety as pr
from propriety.public_names import public_names

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "parameters.md"
SCREEN = 50  # Lines of help above its examples; the signature counts as one line, as before Python 3.13.
SHARED = 7  # Parameters of at least this many functions have a column of their own.

# The declarations of each parameter that has several, with the reason for each.
DIFFERENT = {
    "y_true": {
        "Outcomes": "analyses of one model read predictions, cases or a ledger",
        "ArrayLike | Cases": "analyses that need the individual cases, or compare forecasts case by case",
        "ArrayLike": "`validate` fits learners to the outcomes",
        "CensoredOutcomes": "`horizon_curve` reads outcomes by several horizons",
        "Outcomes | Ledger": "tests of calibration, and uncertainty of decisions, also read a ledger",
        "ArrayLike | IntoFrame | Mapping[str, ArrayLike]": "`cases` reads what all others are given",
        "Data": "analyses of several models also read frames and ledgers",
    },
    "measure": {
        "AnyMeasure = Brier()": "analyses of one measure take the Brier score by default",
        "AnyMeasure | list[AnyMeasure] | tuple[AnyMeasure, ...] = Brier()": "`estimate` also takes a list",
        "AnyMeasure": "`measures.check` tests its measure",
    },
    "time": {
        "None = None": "what makes statements about cases refuses it, because it could mean two things",
        "ArrayLike": "`censored` reads the time at which the follow-up of each case ended",
    },
    "period": {
        "str = 'day'": "`before_labels` reads a ledger, and this is the name of one of its keys",
        "ArrayLike | None = None": "periods within which cases may be correlated",
    },
    "path": {
        "str | PathLike[str]": "a log of Inspect is one file",
        "str | PathLike[str] | Sequence[str | PathLike[str]]": "lm-eval writes a file per task",
    },
    "smallest": {
        "int = 50": "a smaller group is not tested",
        "int = 5": "a smaller count is not disclosed",
    },
    "cells": {
        "int | None = None": "`condense` keeps exact forecasts by default",
        "int = 32": "`coarsen` hides exact forecasts",
    },
    "X": {
        "Any = None": "`evaluate` needs features only for fitted classifiers",
        "Any": "`validate` fits learners to the features",
    },
    "folds": {
        "object = 10": "a number, the fold of each case, or a key",
        "int = 10": "`recalibrate_segments` makes its folds",
    },
    "by": {
        "ArrayLike | Mapping[str, ArrayLike] | None = None": "the keys of the cases",
        "str | Sequence[str] | None = None": "the search in segments reads cases, and these are names of their keys",
        "str | None = None": "`pool_sites` reads a ledger, and this is the name of one of its keys",
    },
    "y_proba": {
        "ArrayLike | None = None": "cases and ledgers already hold the forecasts",
        "ArrayLike": "`bayes_decisions` and `estimate_prevalence` read forecasts without outcomes",
    },
    "forecasts": {
        "Forecasts | None = None": "a ledger already holds the forecasts",
        "Forecasts": "`horizon_curve` reads one column per horizon, and no frame or ledger",
        "ArrayLike | Ledger": "`late_labels` reads reports instead of outcomes",
        "ArrayLike": "`before_labels` has forecasts without outcomes",
        "ArrayLike | Mapping[str, ArrayLike] | Ledger | None = None": (
            "`plan` has forecasts without outcomes, of one model or two, or only a prevalence and an area"
        ),
    },
    "measures": {
        "Sequence[AnyMeasure] = ()": "`evaluate` adds measures to its own, `validate` to those that are usual; `monitor` has usual ones",
        "Sequence[AnyMeasure] = (Brier(), ObservedExpected(), AreaUnderRoc())": (
            "`before_labels` reports measures that the expected events determine"
        ),
        "Sequence[AnyMeasure] = (ObservedExpected(), CalibrationSlope(), AreaUnderRoc(), Brier())": (
            "`pool_sites` reports those that are usual for a risk model in new sites"
        ),
    },
    "thresholds": {
        "Thresholds | None = None": "a threshold or a range; the default is all thresholds",
        "tuple[float, float]": "a bounded score is undefined without a range",
        "tuple[float, float] | None = None": "`ranking_map` divides a range into intervals",
        "float | None = None": "`top_k` and `plan` act at one threshold",
    },
    "rule": {
        "Rule = Brier()": "analyses of any proper rule",
        "Rule | None = Brier()": "`monitor` need not compare its models",
        "Rule": "functions whose result is the score itself, where the caller must choose",
        "Rule | Sequence[Rule] = Brier()": "diagnostics of any classes, under one or more rules",
        "Rule | Sequence[Rule] = RankedProbability()": "diagnostics of ordered classes, under one or more rules",
        "Rule | None = None": "`recalibrate` takes the rule that ranks models in `evaluate`",
        "type[Rule]": "`register_rule` registers a class",
    },
    "seed": {
        "int | None = None": "a new seed is drawn and stored in the result",
        "int = 0": "the audit of a rule has no data, and the same rule gets the same report",
    },
    "n_resamples": {
        "int = 1000": "enough for the limits of an interval",
        "int | None = None": "`validate` fits the learners again in every draw, by default 200, which only the bootstrap has",
        "int = 2000": "`plan` and `decision_uncertainty` report probabilities, to within one percentage point",
        "int = 9999": "`compare` adjusts p-values for all pairs of models, so small ones must be resolved",
    },
    "reference": {
        "str | None = None": "what models are compared with: one of `forecasts`, by its name",
        "ArrayLike | None = None": "`skill_score` reads two forecasts without names",
    },
    "method": {
        "CurveMethod = 'corp'": "ways to estimate a reliability curve",
        "EstimateMethod = 'auto'": "ways to compute the interval of an estimate",
        "CompareMethod = 'auto'": "ways to test a difference",
        "str = 'auto'": "ways to recalibrate",
        "ValidationMethod = 'bootstrap'": "ways to imitate new cases",
        "HeterogeneityMethod = 'paule-mandel'": "ways to estimate the variance between sites",
        "PlanMethod = 'influence'": "ways to compute the width of an interval before a study",
        "PrevalenceMethod = 'black-box'": "ways to estimate the event rate of cases without labels",
    },
    "prevalence": {
        "float": "`at_prevalence` needs the event rate of the population",
        "float | None = None": "a decision curve has that of the cases by default, and a plan that of the forecasts",
    },
    "normalize": {
        "Normalize = 'regret'": "scales of a bounded score",
        "Unit = 'regret'": "scales of a Murphy curve",
        "WeightNormalize = 'none'": "scales of a weighted regret",
        "Literal['none', 'constant'] = 'none'": "scales of an expected cost",
    },
    "bins": {
        "int = 10": "a number of bins",
        "int = 15": "the number of bins with which expected calibration errors are usually reported",
        "int | None = None": "`reliability_curve` has bins only with one of its methods",
        "int | ArrayLike | None = None": "`probability_means` has bins, or their edges, only with one of its sources",
    },
    "strategy": {
        "Strategy = 'uniform'": "ways to place bins",
        "Strategy | None = None": "`reliability_curve` has bins only with one of its methods",
        "Strategy | Literal['distinct'] = 'uniform'": "the classical decomposition is exact with a bin per forecast",
    },
}


def declaration(parameter: inspect.Parameter) -> str:
    """Return the annotation and the default of a parameter, as in the source."""
    default = "" if parameter.default is parameter.empty else f" = {parameter.default!r}"
    return f"{parameter.annotation}{default}"


def signatures() -> dict[str, dict[str, str]]:
    """Return the declaration of every parameter of every public function."""
    subjects = {name: attrgetter(name)(pr) for name in sorted(public_names())}
    return {
        name: {one.name: declaration(one) for one in inspect.signature(subject).parameters.values()}
        for name, subject in subjects.items()
        if inspect.isfunction(subject)
    }


def declarations() -> dict[str, dict[str, list[str]]]:
    """Return the functions with each declaration of each parameter."""
    found: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for function, parameters in signatures().items():
        for name, declared in parameters.items():
            found[name][declared].append(function)
    return found


def page() -> str:
    """Return the page of all parameters of all public functions."""
    found = signatures()
    count = Counter(name for parameters in found.values() for name in parameters)
    shared = [name for name, functions in count.most_common() if functions >= SHARED]
    lines = [
        "# Parameters",
        "",
        "A parameter means the same wherever it appears, with the same default. The exceptions are listed below.",
        "",
        "## Functions and their parameters",
        "",
        _row("function", *(f"`{name}`" for name in shared), "others"),
        _row("---", *("---" for _ in shared), "---"),
    ]
    for function, parameters in found.items():
        others = ", ".join(f"`{name}`" for name in parameters if name not in shared)
        lines.append(_row(f"{{api}}`{function}`", *("x" if name in parameters else "" for name in shared), others))
    lines += ["", "## Defaults", "", _row("parameter", "type and default", "functions"), _row("---", "---", "---")]
    for name, by_declaration in sorted(declarations().items()):
        for declared, functions in by_declaration.items():
            users = (
                ", ".join(f"`{one}`" for one in functions) if len(functions) < SHARED else f"{len(functions)} functions"
            )
            lines.append(_row(f"`{name}`", f"`{declared}`", users))
    lines += ["", "## Exceptions", "", _row("parameter", "type and default", "reason"), _row("---", "---", "---")]
    for name, reasons in DIFFERENT.items():
        lines += [_row(f"`{name}`", f"`{declared}`", reason) for declared, reason in reasons.items()]
    return "\n".join([*lines, ""])


def _row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def test_the_functions_are_those_of_the_package():
    assert {"brier_score", "evaluate", "compare", "decompose"} <= signatures().keys()


@pytest.mark.product  # Any of them: the reasons name functions of all.
def test_parameters_with_one_name_are_declared_alike():
    several = {name: set(found) for name, found in declarations().items() if len(found) > 1}
    assert several == {name: set(reasons) for name, reasons in DIFFERENT.items()}


@pytest.mark.parametrize("name", ["labels", "level", "missing", "pos_label", "progress", "sample_weight"])
def test_options_of_many_functions_have_no_exception(name):
    assert len(declarations()[name]) == 1


READING = {
    *("outcome", "X", "by", "cluster", "period", "sample_weight", "counts", "ordered", "id", "pos_label", "labels"),
    *("missing", "time"),
}
DOORS = {
    *(
        "cases",
        "condense",
        "evaluate",
        "estimate",
        "compare",
        "slices",
        "check_calibration",
        "recalibrate",
        "monitor",
    ),
}
LONG = DOORS | {"plan", "validate", "find_segments", "decision_uncertainty"}


def test_only_the_doors_spell_out_how_cases_are_read():
    for function, parameters in signatures().items():
        if function not in DOORS | {"censored"}:
            assert len(READING & set(parameters)) <= 3, function
        assert ("time" in parameters) == (function in DOORS | {"censored"}), function
        assert len(parameters) <= 12 or function in LONG, function


def test_there_are_few_names_of_parameters():
    flat = {name: found for name, found in signatures().items() if "." not in name}
    assert len({name for parameters in flat.values() for name in parameters}) <= 117


@pytest.mark.parametrize("name", sorted(name for name in DOORS if hasattr(pr, name)))
def test_a_door_refuses_time(name):
    data, given = [0, 1], ([0.2, 0.7],)
    with pytest.raises(pr.errors.InputTypeError, match=r"time= is not an argument.* Surv\(time, status\).* period="):
        getattr(pr, name)(data, *given, time=[1, 2])


def lines_of_help(docstring: str) -> int:
    """Return how many lines `help` shows above the examples: a title, a blank line, the signature and the docstring."""
    lines = [line.strip() for line in inspect.cleandoc(docstring).splitlines()]
    return 3 + (lines.index("Examples") if "Examples" in lines else len(lines))


@pytest.mark.parametrize("name", list(signatures()))
def test_help_fits_on_a_screen(name):
    assert lines_of_help(attrgetter(name)(pr).__doc__) <= SCREEN


def test_lines_of_help_are_those_above_the_examples():
    shown = pydoc.plain(pydoc.render_doc(pr.h_measure)).splitlines()
    above = next(row for row, line in enumerate(shown) if line.strip() == "Examples")
    signature = len(shown[2 : shown.index(f"    {pr.h_measure.__doc__.splitlines()[0]}")])
    assert lines_of_help(pr.h_measure.__doc__) == above - signature + 1
    assert lines_of_help("One line.\n\nNotes\n-----\nA sentence.") == 8


@pytest.mark.product
def test_the_page_lists_every_parameter():
    assert PAGE.read_text(encoding="utf-8") == page()


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
