"""Every demand has one wording: shared ones have a code, and no raise says nearly the same in other words."""

import ast
import re
from collections import defaultdict
from importlib import import_module
from pathlib import Path

import propriety as pr
from propriety import demands, errors
from propriety.cli.messages import NAMES
from propriety.errors import Wording
from propriety.inference.risk_coverage import WORDS
from propriety.products import PRODUCTS

ROOT = Path(pr.__file__).parent
# Of a product that may have been cut out.
OF_PRODUCTS = [import_module("propriety.products.late_labels.prevalence").HINTS] if "late_labels" in PRODUCTS else []
TREES = {path.relative_to(ROOT).as_posix(): ast.parse(path.read_text(encoding="utf-8")) for path in ROOT.rglob("*.py")}
ERRORS = {name for name in vars(errors) if name.endswith("Error")}
FILLERS = {"a", "an", "the", "all", "must", "be", "of", "in"}


def written(node, names):
    """Return a text as it is written, with every value as an underscore; None if it is not a text."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(part.value if isinstance(part, ast.Constant) else "{_}" for part in node.values)
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Wording" and len(node.args) == 1:
        return written(node.args[0], names)  # One with a code is shared itself.
    return names.get(node.id) if isinstance(node, ast.Name) else None


def normalised(text):
    """Return what a demand says, whatever its values, quotes and small words are."""
    words = re.findall(r"[\[(][\d.]+, [\d.]+[\])]|\w+", re.sub(r"\{[^{}]*\}", " _ ", text).lower())
    return " ".join(word for word in words if word not in FILLERS)


def calls(tree, names):
    return [n for n in ast.walk(tree) if isinstance(n, ast.Call) and getattr(n.func, "id", "") in names]


def raised():
    """Return where each demand is raised as a text, by what it says; the text may be assigned just before."""
    found = defaultdict(set)
    for name, tree in TREES.items():
        for node in ast.walk(tree):
            for body in (getattr(node, field, None) for field in ("body", "orelse")):
                texts = {}
                for statement in body if isinstance(body, list) else ():
                    if isinstance(statement, ast.Assign):
                        target, value = statement.targets[0], statement.value
                        pairs = [(target, value)]
                        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                            pairs = list(zip(target.elts, value.elts, strict=True))
                        texts |= {one.id: written(text, {}) for one, text in pairs if isinstance(one, ast.Name)}
                    if isinstance(statement, ast.Raise | ast.Return):
                        for call in calls(statement, ERRORS):
                            text = written(call.args[0], texts) if call.args else None
                            if text is not None and re.search(r"\w{3}", normalised(text)):
                                found[normalised(text)].add(name)
    return found


def worded():
    """Return the templates of every code."""
    found = defaultdict(set)
    for tree in TREES.values():
        assigned = {
            node.targets[0].id: node.value.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and hasattr(node.targets[0], "id")
        }
        for call in calls(tree, {"Wording"}):
            if len(call.args) == 2:
                found[ast.literal_eval(call.args[1])].add(written(call.args[0], assigned) or ast.unparse(call.args[0]))
    return found


def test_every_code_has_one_wording():
    several = {code: texts for code, texts in worded().items() if len(texts) > 1}
    assert not several
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", code) for code in worded())
    assert len(worded()) >= 50


def test_readers_word_codes_that_exist():
    known = set(worded())
    for names in (NAMES, WORDS, *OF_PRODUCTS):
        assert {name for name in names if "-" in name and name[0] != "-"} <= known


def test_shared_demands_are_not_worded_again():
    shared = {normalised(text) for text in vars(demands).values() if isinstance(text, Wording) and text.code}
    shared |= {normalised(text) for texts in worded().values() for text in texts}
    again = {said: files for said, files in raised().items() if said in shared}
    assert not again


def test_no_two_rooms_say_the_same():
    rooms = {said: {file.split("/")[0] for file in files} for said, files in raised().items()}
    assert len(rooms) > 400
    several = {said: sorted(where) for said, where in rooms.items() if len(where) > 1}
    assert not several
