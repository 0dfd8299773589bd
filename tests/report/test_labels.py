"""Names of any length and in any letters fit the pictures, and turn no text around."""

import numpy as np
import pytest

import propriety as pr
from propriety.report import Page, render
from propriety.report.labels import findings_with_short_names, ranking_with_short_names, steady
from propriety.report.number_sections import comparison
from propriety.report.sections import decisions

RNG = np.random.default_rng(1)
CHANCE = RNG.beta(1, 3, 200)
Y = RNG.random(200) < CHANCE


def evaluated(*names):
    forecasts = dict(zip(names, (CHANCE, 1 - CHANCE), strict=True))
    return pr.evaluate(Y, forecasts, thresholds=(0.1, 0.3), seed=1, n_resamples=20)


@pytest.mark.parametrize(
    "names",
    [("W" * 10_000, "M" * 10_000), ("x" * 10_000, "x" * 10_001), ("模型" * 5000, "\u202e")],
    ids=["wide", "alike", "other"],
)
def test_names_of_any_length_are_drawn(names):
    """Matplotlib would warn that the axes have no room, which is an error here."""
    result = evaluated(*names)
    drawn = comparison(result, result.comparison).items[1:]
    assert all(len(figure.svg) < 50_000 for figure in drawn)


def test_a_comparison_keeps_who_is_better():
    result = evaluated("a" * 50, "b").comparison
    short = findings_with_short_names(result, ("a" * 50, "b"))
    assert short.model.tolist() == ["aaaaaaaaaa…aaaaaaaaa", "b", "aaaaaaaaaa…aaaaaaaaa"]
    assert short.differences.verdict.tolist() == result.differences.verdict.tolist() == ["good"]
    assert set(short.ranks().model.tolist()) == {"aaaaaaaaaa…aaaaaaaaa", "b"}
    assert short.differences.value.tolist() == result.differences.value.tolist()


def test_a_ranking_keeps_who_wins():
    result = evaluated("a" * 50, "b").ranking
    short = ranking_with_short_names(result)
    assert short.models == ("aaaaaaaaaaaaa…aaaaaaaaaaaa", "b")
    assert [name == "b" for name in short.winner] == [name == "b" for name in result.winner]
    assert short.marked.winner in short.models
    assert list(short.marked.regrets) == list(short.models)


def test_a_long_name_is_not_written_into_the_map_of_winners():
    figures = [item for item in decisions(evaluated("x" * 10_000, "y")).items if hasattr(item, "svg")]
    assert figures
    assert all("x" * 100 not in figure.svg for figure in figures)


@pytest.mark.parametrize("turn", ["\u202a", "\u202e", "\u2066", "\u2069"])
def test_no_sign_turns_the_words_around(turn):
    name = f"a{turn}b"
    text = render(Page(title=name, verdict=(f"{name} is best.",), models=(name,), sections=(), headline={name: name}))
    assert turn not in text
    assert text.count(steady(name)) == 6  # Title and heading, verdict, headline twice, model.
    assert steady("العربية, עברית\u200f") == "العربية, עברית\u200f"
