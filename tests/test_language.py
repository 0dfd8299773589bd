"""What is said is made of values at the edge: nothing in the source reads it back, and names of parameters are marked."""

import ast
import re
from pathlib import Path

import pytest

import propriety
from propriety import errors

SOURCE = Path(propriety.__file__).parent
MODULES = sorted(SOURCE.glob("**/*.py"))
ERRORS = {
    name for name, one in vars(errors).items() if isinstance(one, type) and issubclass(one, errors.ProprietyError)
}
# Parameters that the command line calls otherwise. Adapters are used from Python alone.
NAMES = re.compile(r"\b(?:y_true|y_proba|sample_weight|pos_label)\b|\b(?:labels|missing|by|cluster|time|outcome)=")
SAID = {"args", "directions", "hint", "label", "law", "message", "note", "offender", "short", "summary", "verdict"}
DRAWN = {"get_label", "get_label_text", "get_text", "get_title", "get_xlabel", "get_ylabel"}
JOINTS = {"()", " score", " skill", "  ", ", ", ": ", "; ", " ("}  # What the package writes between or after words.
READING = {"endswith", "partition", "removeprefix", "removesuffix", "replace", "rpartition", "split", "startswith"}
PATTERNS = {"findall", "finditer", "fullmatch", "match", "search", "split", "sub"}


def trees(*, without=()):
    for path in MODULES:
        if path.relative_to(SOURCE).parts[0] not in without:
            yield path.relative_to(SOURCE), ast.parse(path.read_text(encoding="utf-8"))


def is_said(node):
    """Whether an expression is a text of the package: a verdict, an error, a label, a value in code, a drawn text."""
    if isinstance(node, ast.Subscript):
        return is_said(node.value)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id == "repr" or (node.func.id == "str" and any(map(is_said, node.args)))
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Attribute) and node.func.attr in DRAWN
    return isinstance(node, ast.Attribute) and node.attr in SAID


def readings(tree):
    """Yield the calls that take a text apart."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        subject = node.func.value
        joints = {one.value for part in node.args for one in ast.walk(part) if isinstance(one, ast.Constant)} & JOINTS
        taken_apart = node.func.attr in READING and (is_said(subject) or (joints and node.func.attr != "replace"))
        if taken_apart or (node.func.attr in PATTERNS | READING and any(map(is_said, node.args))):
            yield node


def texts_of_errors(tree):
    """Yield the plain texts of laws, offenders and hints, with their line."""
    for node in ast.walk(tree):
        parts = []
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ERRORS:
            parts = [*node.args, *(word.value for word in node.keywords if word.arg in ("offender", "hint"))]
        if isinstance(node, ast.Assign) and any(getattr(one, "id", "") in ("law", "hint") for one in node.targets):
            parts = [node.value]
        for part in parts:
            if isinstance(part, ast.Constant | ast.JoinedStr):
                strings = [one.value for one in ast.walk(part) if isinstance(one, ast.Constant)]
                yield part.lineno, "".join(one for one in strings if isinstance(one, str))


@pytest.mark.slow
def test_no_text_is_read_back():
    assert [(str(path), node.lineno) for path, tree in trees() for node in readings(tree)] == []


@pytest.mark.slow
def test_no_error_is_edited():
    for path, tree in trees():
        stored = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr == "args"]
        assert not [node.lineno for node in stored if isinstance(node.ctx, ast.Store)], path


@pytest.mark.slow
def test_laws_and_hints_mark_the_names_of_parameters():
    found = [
        (str(path), line, text)
        for path, tree in trees(without=("integrations",))
        for line, text in texts_of_errors(tree)
        if NAMES.search(text) and "{" not in text
    ]
    assert found == []


@pytest.mark.parametrize(
    "code",
    [
        'found.note.startswith("too few")',
        'np.char.startswith(found.note, "too few")',
        'slices.note[0].split(":")',
        're.sub("y_true", "the outcome", error.args[0])',
        'repr(rule).removesuffix("()")',
        'rule.removesuffix("()")',
        'self.rule.label.removesuffix(" score")',
        'str(found.directions[row]).split(", ")',
        "str(line.get_label()).startswith(name)",
        'label.startswith((f"{name}  ", f"{name}, "))',
    ],
)
def test_reading_is_seen(code):
    assert len(list(readings(ast.parse(code)))) == 1


def test_plain_names_are_seen():
    ((_, text),) = texts_of_errors(ast.parse('raise InputValueError(law, hint="pass labels=, in order.")'))
    assert NAMES.search(text)
