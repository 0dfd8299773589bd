"""Faults of one function each, which mutmut makes, planted in a copy of the package and asleep until one is chosen."""

from __future__ import annotations

import functools
import hashlib
import math
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider
from mutmut.mutation.file_mutation import combine_mutations_to_source, create_mutations
from mutmut.mutation.trampoline_templates import mangle_function_name

__all__ = ["MESSAGE_NAMES", "SWITCH", "Faults", "Mutant", "planted_sample"]

MESSAGE_NAMES = {"law", "hint", "offender", "message"}  # What error messages are put together from.


@dataclass(frozen=True)
class Mutant:
    """One fault: where it is, and the code before and after."""

    name: str
    file: str
    line: int
    before: str
    after: str
    key: str  # Of the function as it stands and the fault in it: the same as long as neither changes.

    def __str__(self) -> str:
        return f"{self.file}:{self.line} {self.before}  ->  {self.after}  [{self.name}]"

    @property
    def function(self) -> str:
        """Name under which mutmut notes that the function was called."""
        return self.name.partition("__mutmut_")[0]


class Switch:
    """Leads each call of a planted function to the function itself or to the fault that is awake.

    It takes the place of mutmut's own, which costs too much for functions that are called a million times.
    """

    def __init__(self) -> None:
        self.called: set[str] = set()
        self.module, self.awake = "", ""

    def wake(self, mutant: str) -> None:
        """Make a fault the one that is run."""
        self.module, _, self.awake = mutant.rpartition(".")

    def wrap(self, bodies: dict[str, Any], is_classmethod: bool = False) -> Any:  # noqa: FBT001, FBT002  (as mutmut calls it)
        """Return the decorator that the planted functions have."""

        def decorate(function: Any) -> Any:
            @functools.wraps(function)
            def lead(*args: Any, **options: Any) -> Any:
                sound = bodies["_mutmut_orig"]
                self.called.add(f"{sound.__module__}.{sound.__name__}")
                body = bodies.get(self.awake, sound) if self.module == sound.__module__ else sound
                if is_classmethod:
                    return getattr(args[0], body.__name__)(*args[1:], **options)
                return body(*args, **options)

            return lead

        return decorate


SWITCH = Switch()


class Faults:
    """All faults that mutmut can make in a file, and the file with some of them planted."""

    def __init__(self, path: Path, source: Path) -> None:
        self.path = path
        self.module, found, *_ = create_mutations(str(path), path.read_text(encoding="utf-8"))
        names, texts = mangled_names(self.module), set(message_nodes(self.module))
        self.mutations = [
            m
            for m in found
            if m.contained_by_top_level_function in names and m.original_node not in texts and not self.is_strictness(m)
        ]
        self.names, self.source = names, source

    def is_strictness(self, mutation: Any) -> bool:
        """Return whether only a `strict=` of `zip` is changed, which guards against errors that are not there."""
        before, after = (
            re.sub(r",?\s*strict=\w+", "", self.module.code_for_node(node)).replace(", )", ")")
            for node in (mutation.original_node, mutation.mutated_node)
        )
        return before == after

    @property
    def file(self) -> str:
        """The path of the file in the package."""
        return str(self.path.relative_to(self.source / "propriety"))

    def plant(self, drawn: Sequence[int]) -> dict[Mutant, str]:
        """Add the drawn mutants next to their functions, and return the name by which each is selected.

        mutmut numbers those that are planted, and to describe and plant all of them takes minutes.
        """
        positions = MetadataWrapper(self.module, unsafe_skip_copy=True).resolve(PositionProvider)
        code = self.module.code_for_node
        prefix = ".".join(self.path.relative_to(self.source).with_suffix("").parts)
        numbers: Counter[cst.CSTNode] = Counter()
        planted: Counter[cst.CSTNode] = Counter()
        found = {}
        for place, mutation in enumerate(self.mutations):
            function = mutation.contained_by_top_level_function
            numbers[function] += 1
            if place not in drawn:
                continue
            planted[function] += 1
            stem = f"{prefix}.{self.names[function]}__mutmut_"
            name = f"{stem}{numbers[function]}"
            before, after = (code(node).strip() for node in (mutation.original_node, mutation.mutated_node))
            line = positions.get(mutation.original_node, positions[function]).start.line
            key = hashlib.sha256(f"{name}\n{code(function)}\n{before}\n{after}".encode()).hexdigest()
            found[Mutant(name, self.file, line, before, after, key)] = f"{stem}{planted[function]}"
        chosen = [mutation for place, mutation in enumerate(self.mutations) if place in drawn]
        self.path.write_text(combine_mutations_to_source(self.module, chosen).code, encoding="utf-8")
        return found


def mangled_names(module: cst.Module) -> dict[cst.CSTNode, str]:
    """Return the functions and methods of a module with the names that mutmut gives them."""
    names = {}
    for statement in module.body:
        if isinstance(statement, cst.FunctionDef):
            names[statement] = mangle_function_name(name=statement.name.value, class_name=None)
        elif isinstance(statement, cst.ClassDef) and isinstance(statement.body, cst.IndentedBlock):
            methods = (part for part in statement.body.body if isinstance(part, cst.FunctionDef))
            names |= {m: mangle_function_name(name=m.name.value, class_name=statement.name.value) for m in methods}
    return names


def message_nodes(node: cst.CSTNode, *, inside: bool = False) -> Iterator[cst.CSTNode]:
    """Yield what makes error messages, all that a `raise` raises and assignments to their parts; and `strict=`."""
    if isinstance(node, cst.Assign):
        inside |= any(isinstance(t.target, cst.Name) and t.target.value in MESSAGE_NAMES for t in node.targets)
    inside |= isinstance(node, cst.Raise)
    inside |= isinstance(node, cst.Arg) and node.keyword is not None and node.keyword.value == "strict"
    if inside:
        yield node
    for child in node.children:
        yield from message_nodes(child, inside=inside)


def planted_sample(faults: Sequence[Faults], size: int | None, seed: int) -> dict[Mutant, str]:
    """Plant a sample in which every file has its share, and return its mutants in random order."""
    draw = random.Random(seed)  # noqa: S311  (nothing secret)
    made = sum(len(each.mutations) for each in faults)
    share = min(1.0, (size or made) / made)
    found: list[tuple[Mutant, str]] = []
    for each in faults:
        here = len(each.mutations)
        found += each.plant(draw.sample(range(here), math.ceil(share * here))).items()
    draw.shuffle(found)
    return dict(found)
