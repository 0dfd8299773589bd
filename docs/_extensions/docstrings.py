"""Docstrings made whole for the reference: what a docstring leaves to another one is filled in from there.

The package says a thing once and refers to it after: a score by name has the parameters of `mean_score` and of its
rule, and a result is explained where it is made. A page of the reference is read alone, so it gets these parts back.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from reference_pages import subjects

import propriety
from propriety import Rule
from propriety.result import Result

ORDER = ("", "Parameters", "Attributes", "Returns", "Raises", "See Also", "Notes", "References", "Examples")
TITLE = re.compile(r"^(?P<title>[A-Z][A-Za-z ]+)\n-{3,}$", re.MULTILINE)
ENTRY = re.compile(r"^(?P<names>\*{0,2}\w+(?:, \*{0,2}\w+)*)(?: : .*)?$", re.MULTILINE)
SHARED = propriety.mean_score  # The parameters for input data are described here.


def sections(text: str | None) -> dict[str, str]:
    """Return the sections of a docstring by title, what comes before the first under the empty title."""
    whole = inspect.cleandoc(text or "")
    titles = list(TITLE.finditer(whole))
    ends = [found.start() for found in titles] + [len(whole)]
    parts = {"": whole[: ends[0]].strip()}
    return parts | {
        found["title"]: whole[found.end() : end].strip("\n") for found, end in zip(titles, ends[1:], strict=True)
    }


def entries(body: str) -> dict[str, str]:
    """Return what a section of parameters says on each name; names that share a description are taken apart."""
    found = list(ENTRY.finditer(body))
    ends = [*(entry.start() for entry in found), len(body)][1:]
    return {
        name.lstrip("*"): body[entry.start() : end].replace(entry["names"], name, 1).rstrip()
        for entry, end in zip(found, ends, strict=False)
        for name in entry["names"].split(", ")
    }


def parameters(subject: Any) -> list[str]:
    """Return the names of what a function or a class is called with."""
    return list(inspect.signature(subject).parameters)


def described(subject: Any) -> dict[str, str]:
    """Return what is said on each parameter: by the subject itself, by its base classes, or by what it names."""
    own = sections(subject.__doc__)
    said: dict[str, str] = {}
    for source in (subject, *_referred(subject, own[""])):
        parts = sections(source.__doc__)
        said = entries(parts.get("Parameters", "") + "\n" + parts.get("Attributes", "")) | said
    return said


def completed(subject: Any) -> dict[str, str]:
    """Return the sections of a docstring with those that it leaves to another."""
    parts = sections(subject.__doc__)
    said, own = described(subject), entries(parts.get("Parameters", "") + "\n" + parts.get("Attributes", ""))
    if any(name in said and name not in own for name in parameters(subject)):
        parts["Parameters"] = "\n".join(said[name] for name in parameters(subject) if name in said)
    if inspect.isfunction(subject) and "Returns" not in parts:
        parts |= {"Returns": "\n".join(_returned(subject))} if _returned(subject) else {}
    parts |= _of_the_rule(subject, parts)
    makers = sorted(makers_of(subject)) if inspect.isclass(subject) and "Examples" not in parts else []
    if makers:
        parts[""] += f"\n\nIt comes from {', '.join(f'`{name}`' for name in makers)}."
    return {title: parts[title] for title in ORDER if title in parts} | parts


def _of_the_rule(subject: Any, parts: dict[str, str]) -> dict[str, str]:
    """Return formula and reference of the rule that the docstring of a score names, where it has none of its own."""
    rules = [rule for rule in _referred(subject, parts[""]) if inspect.isclass(rule) and issubclass(rule, Rule)]
    if not inspect.isfunction(subject) or not rules or "References" in parts or ":math:" in parts[""]:
        return {}
    theirs = sections(rules[0].__doc__)
    return {
        "Notes": f"The loss of a case is that of `{rules[0].__name__}`.\n\n{theirs['']}",
        "References": theirs["References"],
    }


def makers_of(result: type) -> Iterator[str]:
    """Return the public functions, and the methods, properties and fields of public classes, that give a class."""
    for name, subject in subjects().items():
        if inspect.isfunction(subject):
            if _names(str(subject.__annotations__.get("return", "")), result):
                yield name
        elif inspect.isclass(subject) and subject is not result:
            yield from (f"{name}.{member}" for member, named in _members(subject) if _names(named, result))


def _members(subject: type) -> Iterator[tuple[str, str]]:
    """Return the fields, methods and properties of a class that a user sees, with the types that they give."""
    hidden = {one.name for one in fields(subject) if one.metadata.get("hidden")} if is_dataclass(subject) else set()
    given = dict(inspect.get_annotations(subject))
    for member, value in vars(subject).items():
        made = getattr(value, "fget", None) or getattr(value, "func", None) or value  # A property, or a cached one.
        if inspect.isfunction(made):
            given[member] = made.__annotations__.get("return", "")
    return ((member, str(named)) for member, named in given.items() if member not in hidden and member[0] != "_")


def _names(annotation: str, result: type) -> bool:
    return re.search(rf"\b{result.__name__}\b", annotation) is not None


def _returned(function: Any) -> list[str]:
    """Return a section on what comes back, where that is a public class."""
    named = str(function.__annotations__.get("return", ""))
    several = [one for one in named.split(" | ") if one in subjects()]
    lines = ((one, f"    {sections(subjects()[one].__doc__)[''].splitlines()[0]}") for one in several)
    return [line for pair in lines for line in pair]


def _referred(subject: Any, text: str) -> list[Any]:
    """Return where else parameters of a subject may be described."""
    named = [subjects()[name] for name in re.findall(r"`(?:\w+\.)*(\w+)`", text) if name in subjects()]
    if inspect.isclass(subject):
        return [*(base for base in subject.__mro__[1:] if base.__module__.startswith("propriety.")), *named]
    return [*named, SHARED]


def complete(_: Any, what: str, name: str, subject: Any, options: Any, lines: list[str]) -> None:
    """Fill in the docstring of a page's subject."""
    del options, name
    if what in ("class", "function") and lines:
        parts = completed(subject)
        whole = [f"{title}\n{'-' * len(title)}\n{body}" if title else body for title, body in parts.items()]
        lines[:] = "\n\n".join(whole).splitlines()


def unsigned(_: Any, what: str, name: str, subject: Any, *rest: Any) -> tuple[str, None] | None:
    """Leave the signature of a result out: it is read, and never made by hand."""
    del name, rest
    return ("", None) if what == "class" and issubclass(subject, Result) else None


def skip(_: Any, what: str, name: str, member: Any, skipped: bool, options: Any) -> bool | None:  # noqa: FBT001  (as Sphinx calls it)
    """Leave out what other libraries add to a class, such as scikit-learn's `set_score_request`."""
    del what, name, skipped, options
    module = getattr(member, "__module__", None) or "propriety"
    return None if module.startswith("propriety") else True


def setup(app: Any) -> dict[str, Any]:
    """Fill in before numpydoc, which takes docstrings apart, sees them."""
    app.connect("autodoc-process-docstring", complete, priority=400)
    app.connect("autodoc-process-signature", unsigned)
    app.connect("autodoc-skip-member", skip)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
