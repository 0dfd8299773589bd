"""The page: complete, under a strict policy, without a style or a handler in it, and small."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from itertools import pairwise

import numpy as np
import pytest

from propriety.errors import InputValueError
from propriety.report import Estimate, Facts, Figure, Page, Section, Table, render
from propriety.report.cells import cells_of
from propriety.report.labels import short_names
from propriety.report.payload import json_for_html
from propriety.report.threshold_ranking import threshold_ranking
from propriety.tables.forecast_table import ForecastTable

VOID = {"meta", "input", "br", "link"}


class Reader(HTMLParser):
    """Gathers elements with their attributes and checks that they close in order."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.stack, self.inside = [], [], {}
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.stack.pop() == tag

    def handle_data(self, data):
        if self.stack and self.stack[-1] in {"script", "style"}:
            self.inside.setdefault(self.stack[-1], []).append(data)


def page(**changes):
    given = {"title": "T", "verdict": ("V",), "models": ("a", "b"), "sections": ()}
    return Page(**given | changes)


def table(**columns):
    return Section(id="s", title="S", items=(Table(title="T", columns=columns),))


@pytest.fixture(scope="module")
def rendered(demo):
    return render(demo.demo_page(n=600))


@pytest.mark.slow
def test_the_policy_names_the_one_script_and_the_one_style(rendered):
    reader = Reader(rendered)
    policy = next(attrs["content"] for tag, attrs in reader.elements if tag == "meta" and "http-equiv" in attrs)
    hashes = {
        kind: base64.b64encode(hashlib.sha256(reader.inside[kind][-1].encode()).digest()).decode()
        for kind in ("script", "style")
    }
    assert policy == (
        f"default-src 'none'; script-src 'sha256-{hashes['script']}'; style-src 'sha256-{hashes['style']}'; "
        "img-src blob:; base-uri 'none'; form-action 'none'"
    )
    assert len(reader.inside["style"]) == 1
    assert [attrs.get("type") for tag, attrs in reader.elements if tag == "script"] == ["application/json", None]


@pytest.mark.slow
def test_no_style_no_handler_no_address_and_no_id_twice(rendered):
    reader = Reader(rendered)
    assert reader.stack == []
    ids = [attrs["id"] for _, attrs in reader.elements if "id" in attrs]
    assert len(ids) == len(set(ids))
    for tag, attrs in reader.elements:
        assert "style" not in attrs
        assert "src" not in attrs
        assert not any(name.startswith("on") for name in attrs)
        assert attrs.get("href", "#").startswith("#")
        for name in attrs.get("aria-labelledby", "").split():
            assert name in ids, tag
    assert re.findall(r"https?://[^\s\"')]+", rendered) == ["http://www.w3.org/2000/svg"]


def test_headings_are_in_order_and_sections_in_theirs(rendered):
    levels = [int(level) for level in re.findall(r"<h([1-6])", rendered)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(later - earlier <= 1 for earlier, later in pairwise(levels))
    assert re.findall(r'<section id="s-(\w+)"', rendered) == [
        "scores",
        "calibration",
        "decisions",
        "comparison",
        "slices",
        "methods",
    ]
    assert rendered.index(">Verdict<") < rendered.index('id="s-scores"')


def test_controls_wait_for_the_script(rendered):
    controls = [attrs for tag, attrs in Reader(rendered).elements if "data-switch" in attrs or "data-range" in attrs]
    assert len(controls) == 5
    assert all("hidden" in attrs for attrs in controls)


def test_every_figure_has_its_data_its_words_and_its_call(rendered):
    figures = re.findall(r"<figure.*?</figure>", rendered, flags=re.DOTALL)
    assert len(figures) == 10
    for figure in figures:
        assert "<figcaption>" in figure
        assert 'role="img"' in figure
        assert "<table" in figure
        assert re.search(r'class="call"><code>pr\.', figure)


@pytest.mark.nightly
def test_five_models_and_twenty_groups_stay_small_whatever_the_number_of_cases(demo):
    groups = tuple(f"group {place}" for place in range(20))
    sizes = [len(render(demo.demo_page(models=demo.MODELS, groups=groups, n=n)).encode()) for n in (2000, 20_000)]
    assert max(sizes) <= 400_000
    assert sizes[1] < 1.25 * sizes[0]


def test_what_the_user_names_is_escaped():
    name = "</script><b>&\"'"
    text = render(
        page(
            title=name,
            models=(name,),
            verdict=(name,),
            headline={name: name},
            sections=(table(**{"model": [name], name: [1.0]}),),
        )
    )
    assert "<b>" not in text
    assert text.count("</script>") == 2
    data = json.loads(Reader(text).inside["script"][0])
    assert data["models"] == [name]


def test_rows_and_columns_belong_to_models():
    section = Section(
        id="s",
        title="S",
        items=(
            Table(
                title="T",
                columns={"model": ["b", "x"], "against": ["a", "a"], "b": [1.0, 2.0]},
                of_models=("model", "against"),
            ),
        ),
    )
    text = render(page(sections=(section,)))
    assert '<tr data-model="1 0">' in text
    assert '<tr data-model="0">' in text
    assert text.count('<td data-model="1">') == 2


def test_long_data_are_thinned_and_say_so():
    figure = Figure(title="F", caption="C", svg="<svg/>", table={"x": np.arange(100.0)}, alt="A", call="pr.f()")
    text = render(page(sections=(Section(id="s", title="S", items=(figure,)),)))
    assert "20 of 100 rows, evenly spaced; the call returns all of them." in text
    assert text.count("<tr>") == 21


def test_the_best_of_a_column_is_marked():
    item = Table(
        title="T",
        columns={"model": ["a", "b"], "score": [Estimate(0.2, 0.1, 0.3), Estimate(0.1, 0.0, 0.2)], "AUC": [None, 0.5]},
        best={"score": "lowest", "AUC": "highest"},
    )
    text = render(page(sections=(Section(id="s", title="S", items=(item,)),)))
    assert re.findall(r'class="best">([\d.]+)', text) == ["0.1000", "0.5000"]


def test_lone_surrogates_and_strange_values_can_be_written():
    text = render(
        page(
            title="a\ud800b",
            sections=(Section(id="s", title="S", items=(Facts(title="F", entries={"seed": 12345, "none": None}),)),),
        )
    )
    text.encode("utf-8")
    assert "<dd>12,345</dd>" in text


def test_the_ranking_is_there_before_the_script():
    tables = {name: ForecastTable.from_predictions([0, 1], p) for name, p in {"a": [0.4, 0.6], "b": [0.1, 0.9]}.items()}
    ranking = threshold_ranking(tables, thresholds=(0.05, 0.95))
    text = render(page(sections=(Section(id="s", title="S", items=(ranking,)),)))
    assert re.findall(r'data-cell="rank">(\d*)</td><th scope="row"><bdi>([^<]+)', text)[:2] == [("1", "b"), ("2", "a")]
    assert 'thresholds=(<span data-shown="low-value">0.05</span>' in text


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Section(id="A b", title="S"), "id of a section must be"),
        (lambda: page(sections=(Section(id="s", title="S"), Section(id="s", title="T"))), "'s' occurs twice"),
        (
            lambda: Table(title="T", columns={"a": [1], "b": [1, 2]}),
            "must have the same length; they have 'a' 1, 'b' 2",
        ),
        (
            lambda: Figure(title="F", caption="", svg="", table={}, alt="", call="", width="huge"),
            "width must be one of",
        ),
    ],
    ids=["id", "twice", "lengths", "width"],
)
def test_what_is_refused(make, message):
    with pytest.raises(InputValueError, match=message):
        make()


def test_the_ranking_must_be_of_the_pages_models():
    ranking = threshold_ranking({"a": ForecastTable.from_predictions([0, 1], [0.1, 0.9])})
    with pytest.raises(InputValueError, match="models of the page"):
        page(sections=(Section(id="s", title="S", items=(ranking,)),))
    with pytest.raises(InputValueError, match="one ThresholdRanking; got 2"):
        page(models=("a",), sections=(Section(id="s", title="S", items=(ranking, ranking)),))


def test_json_is_ascii_and_cannot_leave_its_element():
    text = json_for_html(["</script>", "\u2028\u2029", "&amp;", "é"])
    assert text.isascii()
    assert not set("<>&") & set(text)
    assert json.loads(text) == ["</script>", "\u2028\u2029", "&amp;", "é"]
    with pytest.raises(ValueError, match="JSON"):
        json_for_html([float("nan")])


@pytest.mark.parametrize(
    ("column", "texts"),
    [
        ([1, 20000], ["1", "20,000"]),
        ([0.5, -0.25, float("nan"), float("inf")], ["0.5000", "\N{MINUS SIGN}0.2500", "\N{EN DASH}", "∞"]),
        ([True, False], ["yes", "no"]),
        (["a", None, 1], ["a", "\N{EN DASH}", "1"]),
        ([np.float64(0.001), np.int64(3)], ["0.001000", "3"]),
        ([0.0], ["0.000"]),
        ([None, None], ["\N{EN DASH}", "\N{EN DASH}"]),
        ([], []),
    ],
    ids=["integers", "floats", "booleans", "text", "numpy", "zero", "nothing", "empty"],
)
def test_cells(column, texts):
    assert [cell.text for cell in cells_of(column)[1]] == texts


def test_intervals_have_cells_of_their_own():
    section = table(model=["a"], score=[Estimate(-0.1, -0.2, 0.05)])
    text = render(page(sections=(section,)))
    assert '<th scope="col" colspan="2" class="n"><bdi>score</bdi></th>' in text
    assert '>\N{MINUS SIGN}0.1000</td><td class="a">\N{MINUS SIGN}0.2000 to 0.0500</td></tr>' in text


def test_short_names_are_short_different_and_can_be_drawn():
    names = ["", "", "_private", "a\nb\x00\u202ec", "x" * 100, "x" * 101, "ok"]
    short = short_names(names)
    assert len(set(short)) == len(names)
    assert all(0 < len(name) <= 26 and not name.startswith("_") for name in short)
    assert short[3] == "a bc"
    assert short[-1] == "ok"
