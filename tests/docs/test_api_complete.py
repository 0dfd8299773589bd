"""Every public name, adapters and pictures included, is described: parameters, what comes back, formula, source, example."""

import dataclasses
import inspect
import sys
from importlib import import_module
from pathlib import Path

from propriety import plots, recalibration

sys.path.insert(0, str(Path(__file__).parents[2] / "docs" / "_extensions"))

import docstrings
import reference_pages

from propriety.errors import MissingDependencyError

ANALYSES = ("calibration.", "decisions.", "diagnostics.", "inference.", "evaluation.", "products.")
LAYERS = tuple(f"propriety.{layer}" for layer in ANALYSES)


def adapters():
    """Return what the adapters offer whose libraries are installed."""
    for module in reference_pages.ADAPTERS:
        try:
            adapter = import_module(f"propriety.integrations.{module}")
        except MissingDependencyError:
            continue
        for name in reference_pages.adapter_names(module):
            yield f"integrations.{module}.{name}", getattr(adapter, name)


SUBJECTS = reference_pages.subjects() | {}
SUBJECTS |= {f"plots.{name}": getattr(plots, name) for name in plots.__all__}
SUBJECTS |= {
    f"recalibration.{name}": getattr(recalibration, name)
    for name in recalibration.__all__
    if not name.endswith("METHODS")
}
SUBJECTS |= dict(adapters())
FUNCTIONS = {name: subject for name, subject in SUBJECTS.items() if inspect.isfunction(subject)}
CALLED = {
    name: subject
    for name, subject in SUBJECTS.items()
    # MLflow makes the evaluator, and what a base class or a protocol is made with is said by those that derive from it.
    if name != "integrations.mlflow.Evaluator"
    and not (inspect.isabstract(subject) or getattr(subject, "_is_protocol", False))
}


def given(subject):
    """Return the parameters that a user sees: not what a result keeps for itself."""
    fields = dataclasses.fields(subject) if dataclasses.is_dataclass(subject) else ()
    hidden = {field.name for field in fields if field.metadata.get("hidden")}
    return [name for name in docstrings.parameters(subject) if name not in hidden]


def text(subject):
    """Return all that the page of a name says."""
    return "\n".join(docstrings.completed(subject).values())


def has_example(subject):
    """Tell whether the page of a name has an example, or that of what makes it or derives from it."""
    if "Examples" in docstrings.sections(subject.__doc__):
        return True
    classes = [other for other in SUBJECTS.values() if inspect.isclass(other)]
    derived = [other for other in classes if subject in other.__mro__[1:]]
    return inspect.isclass(subject) and bool(derived or list(docstrings.makers_of(subject)))


def test_the_names_are_there():
    assert min(len(names) for names in (SUBJECTS, CALLED)) > 200
    assert {"evaluate", "plots.plot_threshold_curves", "recalibration.SplineMap"} <= set(SUBJECTS)


def test_there_is_an_example_here_or_where_the_thing_is_made():
    assert [name for name, subject in SUBJECTS.items() if not has_example(subject)] == []


def test_every_parameter_is_described():
    absent = {}
    for name, subject in CALLED.items():
        described, whole = docstrings.described(subject), text(subject)
        absent[name] = [one for one in given(subject) if one not in described and f"`{one}" not in whole]
    assert {name: parameters for name, parameters in absent.items() if parameters} == {}


def test_it_is_said_what_comes_back():
    returning = {name: found for name, found in FUNCTIONS.items() if found.__annotations__["return"] != "None"}
    assert [name for name, found in returning.items() if "Returns" not in docstrings.completed(found)] == []


def test_an_analysis_names_its_source_or_says_how_it_is_done():
    analyses = {name: found for name, found in FUNCTIONS.items() if found.__module__.startswith(LAYERS)}
    assert analyses
    parts = {"References", "Notes", "See Also"}
    assert [name for name, found in analyses.items() if not parts & set(docstrings.completed(found))] == []


def test_a_score_has_formula_and_reference():
    scores = {name: found for name, found in FUNCTIONS.items() if found.__module__.endswith("rules.scores")}
    assert scores
    assert [name for name, found in scores.items() if ":math:" not in text(found)] == []
    references = {name: docstrings.completed(found)["References"] for name, found in scores.items()}
    assert [name for name, cited in references.items() if "doi:" not in cited and "arXiv:" not in cited] == []


def test_sections_and_entries_are_read():
    parts = docstrings.sections(
        "One line.\n\nParameters\n----------\na, b : int\n    Both.\n*c\n    More.\n\nNotes\n-----\nN."
    )
    assert list(parts) == ["", "Parameters", "Notes"]
    assert docstrings.entries(parts["Parameters"]) == {
        "a": "a : int\n    Both.",
        "b": "b : int\n    Both.",
        "c": "*c\n    More.",
    }
