"""Words that the documentation, the docstrings and the messages do not use; `docs/glossary.md` has those that they do."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src" / "propriety"
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "ARCHITECTURE.md",
    *(ROOT / folder / "README.md" for folder in ("benchmarks", "quality", "studies")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "docs" / "gallery").glob("*.py")),
]

UNUSED = {
    r"doors?": "input checks",
    r"houses?|roads?": "the name of the thing",
    r"judg(e|es|ed|ing)": "check, validate or evaluate",
    r"mend(s|ed|ing)?": "fix",
    r"faults?(?! injection)": "error or bug",
    r"the like of": "the same for",
    r"what bites": "what matters",
    r"hang(s|ing)? together": "are correlated",
    r"puts? out": "output",
    r"cr(y|ies|ied) wolf": "raise a false alarm",
    r"surely": "nothing, or the probability",
    r"(?<!cannot be )told": "given, reported or shown",
    r"(?<!there )are none": "there are no",
    r"(has|have|had) (its|their) say": "the thing that happens",
    r"beside (it|them) stands?": "next to it is",
    r"kin": "related",
    r"in the words of": "as the source says",
    r"the lead(?! time)": "the difference or the advantage",
}


def unused_words(text):
    """Return what a text has of the unused words, each with the words to use."""
    flat = " ".join(text.split())
    return [
        f"{match.group(0)!r} (use: {instead})"
        for word, instead in UNUSED.items()
        for match in re.finditer(rf"\b({word})\b", flat, re.IGNORECASE)
    ]


def literals(tree):
    """Return the string literals of a module, docstrings included."""
    return [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_use_the_words_of_the_glossary(page):
    assert unused_words(page.read_text(encoding="utf-8")) == []


@pytest.mark.slow
def test_docstrings_and_messages_use_the_words_of_the_glossary():
    found = {}
    for path in sorted(SOURCES.rglob("*.py")):
        name = path.relative_to(SOURCES).as_posix()
        words = [word for text in literals(ast.parse(path.read_text(encoding="utf-8"))) for word in unused_words(text)]
        if words:
            found[name] = words
    assert found == {}


@pytest.mark.parametrize("text", ["Input is judged at\nthe door.", "a fault", "days that hang\n together"])
def test_an_unused_word_is_found_across_lines(text):
    assert unused_words(text)


@pytest.mark.parametrize("text", ["default", "fault injection", "the lead time", "recommended", "judged_rows"])
def test_words_that_only_look_alike_are_left(text):
    assert unused_words(text) == []
