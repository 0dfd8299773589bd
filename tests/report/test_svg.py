"""SVG: nothing that a strict policy forbids, nothing that can act, and the same picture."""

import re
from itertools import pairwise
from xml.etree.ElementTree import fromstring

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from propriety.errors import InputValueError
from propriety.plots.drawing import COLORS
from propriety.plots.names import set_name, write_legend
from propriety.report.figures import svg_of
from propriety.report.paths import short_path
from propriety.report.svg import adopt, clean

points = st.lists(st.tuples(*[st.floats(0, 300, allow_subnormal=False)] * 2), min_size=2, max_size=40)


def svg(inside):
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 10 10">{inside}</svg>'


def attributes(text):
    return fromstring(text)[0].attrib  # noqa: S314  (our own)


@pytest.mark.parametrize(
    ("style", "expected"),
    [
        ("fill: none; stroke: #0072b2", {"fill": "none", "stroke": "var(--m0,#0072b2)"}),
        ("fill: #D55E00", {"fill": "var(--m1,#d55e00)"}),
        (
            "stroke: #8c8c8c; stroke-dasharray: 3.70000,1.6",
            {"stroke": "var(--line,#8c8c8c)", "stroke-dasharray": "3.7,1.6"},
        ),
        ("fill: #dbdbdb", {"fill": "var(--band,#dbdbdb)"}),
        ("fill: #ffffff; opacity: 0.8", {"fill": "var(--paper,#ffffff)", "opacity": "0.8"}),
        ("fill: #94c4df", {"fill": "var(--m0,#0072b2)", "fill-opacity": "0.42"}),
        ("fill: #123456", {"fill": "#123456"}),
        ("fill: #000000; evil: url(http://example.org)", {"fill": "var(--ink,#000000)"}),
        ("fill: url(http://example.org/x)", {}),
    ],
)
def test_styles_become_attributes_with_the_pages_colours(style, expected):
    assert attributes(clean(svg(f'<path d="M0 0L1 1" style="{style}"/>'))) == {"d": "M0 0l1 1"} | expected


@pytest.mark.parametrize(
    ("style", "expected"),
    [
        ("font: 8.5px 'DejaVu Sans', sans-serif; fill: #cc79a7", {"font-size": "8.5", "fill": "var(--t3,#cc79a7)"}),
        ("font: bold 10px 'DejaVu Sans'", {"font-size": "10", "font-weight": "bold"}),
        ("font-size: 7px; font-family: 'A'; fill: #8c8c8c", {"font-size": "7", "fill": "var(--soft,#8c8c8c)"}),
    ],
)
def test_text_has_the_pages_font_and_colours_that_can_be_read(style, expected):
    assert attributes(clean(svg(f'<text style="{style}" transform="rotate(-0 1 2)">a</text>'))) == expected


def test_what_is_not_seen_or_says_nothing_is_left_out():
    rubbish = '<metadata><x/></metadata><defs><style>*{fill:red}</style></defs><g id="axes_1"><g id="a"><path style="fill: none"/></g></g>'
    cleaned = clean(svg(f'{rubbish}<g id="b"><path d="M0 0L1 1" id="c" stroke="red"/></g>'))
    assert re.sub(r"<svg[^>]*>", "", cleaned) == '<path d="M0 0l1 1" stroke="red" /></svg>'


def test_what_is_referred_to_keeps_its_name():
    cleaned = clean(
        svg(
            '<defs><clipPath id="p"><rect width="1" height="1"/></clipPath></defs><path d="M0 0L1 1" clip-path="url(#p)"/>'
        )
    )
    assert 'id="p"' in cleaned
    adopted = adopt(cleaned, "f3-", title="a", description="b")
    assert 'id="f3-0"' in adopted
    assert "url(#f3-0)" in adopted


def test_a_models_artists_carry_its_number():
    assert attributes(clean(svg('<g id="model-2"><path d="M0 0L1 1" stroke="red"/></g>'))) == {"data-model": "2"}


def test_bars_that_look_alike_are_one_path_and_translucent_ones_are_not():
    def drawn(style):
        return clean(
            svg("".join(f'<g id="patch_{k}"><path d="M{k} 0L{k} 1L9 9z" style="{style}"/></g>' for k in range(3)))
        )

    assert drawn("fill: #999999").count("<path") == 1
    assert drawn("fill: #999999; opacity: 0.5").count("<path") == 3
    assert drawn("fill: #999999; stroke: #000000").count("<path") == 3


@given(corners=points)
def test_no_point_of_a_line_moves_further_than_nobody_sees(corners, corners_of):
    path = "M" + "L".join(f" {x:.6f} {y:.6f} \n" for x, y in corners)
    kept = corners_of(short_path(path))
    for corner in corners:
        assert min(distance(np.array(corner), *ends) for ends in pairwise(kept)) <= 0.17


def distance(point, start, stop):
    along = stop - start
    length = along @ along
    share = np.clip((point - start) @ along / length, 0, 1) if length else 0.0
    return float(np.hypot(*(point - start - share * along)))


def test_curves_are_rounded_and_keep_their_points():
    assert short_path("M 0.123 1 C 1.005 2.118 3 4 5 6 z") == "M0.12 1C1 2.12 3 4 5 6z"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (svg("<script>x()</script>"), "shapes and text only; got <script>"),
        (svg("<foreignObject/>"), "shapes and text only; got <foreignObject>"),
        (svg('<image href="x.png"/>'), "shapes and text only; got <image>"),
        ('<!DOCTYPE svg [<!ENTITY a "b">]><svg>&a;</svg>', "must not declare entities"),
        ("<p>no</p>", "must begin with <svg>; got <p>"),
        ("<svg>", "must be XML"),
    ],
)
def test_what_is_refused(source, message):
    with pytest.raises(InputValueError, match=message):
        adopt(source, "f1-", title="", description="")


def test_handlers_styles_and_addresses_do_not_come_through():
    source = svg('<g onclick="x()" style="fill:red" class="a"><use href="http://example.org#a"/><use href="#b"/></g>')
    adopted = adopt(source, "f1-", title="<t>", description="\x00&")
    assert '<g><use /><use href="#b" /></g>' in adopted
    assert '<title id="f1-title">&lt;t&gt;</title>' in adopted
    assert "\N{REPLACEMENT CHARACTER}&amp;" in adopted


def test_the_same_picture_is_the_same_bytes_and_needs_no_style():
    def drawing(ax):
        set_name("a$b$ <c>", *ax.plot([0, 1], [0, 1], color=COLORS[0], label="a$b$ <c>"))
        ax.bar([0, 1], [1, 2], hatch="//")
        write_legend(ax)

    one, two = (svg_of(drawing, models=["a$b$ <c>"]) for _ in range(2))
    assert one == two
    assert "style" not in one
    assert "date" not in one.lower()
    assert "a$b$ &lt;c&gt;" in one
    assert one.count('data-model="0"') == 3  # The line, its handle in the legend and the text beside it.


def test_the_paint_of_many_markers_is_written_once():
    svg = svg_of(lambda ax: ax.plot(range(50), range(50), "o", color="#0072B2", alpha=0.5, markeredgewidth=0))
    (group,) = [one for one in fromstring(svg).iter("{http://www.w3.org/2000/svg}g") if len(one) >= 50]  # noqa: S314  (our own)
    assert (group.get("fill"), group.get("fill-opacity")) == ("var(--m0,#0072b2)", "0.5")
    assert all(set(one.attrib) <= {"href", "x", "y"} for one in group if one.tag.endswith("use"))
