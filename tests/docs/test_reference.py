"""Every public name is on a page of the reference, once, and described there."""

import sys
from operator import attrgetter
from pathlib import Path

import pytest

import propriety as pr

sys.path.insert(0, str(Path(__file__).parents[2] / "docs" / "_extensions"))

import reference_pages

NAMES = list(reference_pages.public_names())


def test_every_public_name_is_on_exactly_one_page():
    listed = [
        name
        for sections in reference_pages.placed(reference_pages.public_names()).values()
        for names in sections.values()
        for name in names
    ]
    assert sorted(listed) == sorted(NAMES)


def test_the_pages_list_the_names_for_autosummary():
    source = "\n".join(text for _, text in reference_pages.pages())
    assert [name for name in NAMES if f"\n   {name}\n" not in source] == []


@pytest.mark.parametrize("module", reference_pages.ADAPTERS)
def test_the_page_of_adapters_lists_what_they_offer(module):
    source = dict(reference_pages.pages())["integrate"]
    listed = source.partition(f"currentmodule:: propriety.integrations.{module}\n")[2].partition("currentmodule")[0]
    names = reference_pages.adapter_names(module)
    assert names
    assert [name for name in names if f"\n   {name}\n" not in listed] == []


def test_every_page_is_in_the_contents():
    contents = (Path(__file__).parents[2] / "docs" / "reference" / "index.md").read_text(encoding="utf-8").splitlines()
    assert {name for name, _ in reference_pages.pages()} <= set(contents)


def test_a_name_of_an_unknown_module_is_refused():
    with pytest.raises(LookupError, match=r"novelty, of propriety\.elsewhere, is on no page"):
        reference_pages.placed({"novelty": "elsewhere"})


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_has_a_docstring(name):
    assert attrgetter(name)(pr).__doc__
