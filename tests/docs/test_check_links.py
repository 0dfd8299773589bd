"""The link check finds links that lead nowhere, and visits addresses elsewhere only when asked to."""

import sys
from email.message import Message
from pathlib import Path
from urllib.error import HTTPError, URLError

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "docs"))

import check_links

PAGE = """
<link rel="preconnect" href="https://fonts.example"><h1 id="here">A</h1>
<a href="#here"></a> <a href="#nowhere"></a> <a href="b.html#there"></a> <a href="c.html"></a> <a href="folder/"></a>
<img src="picture.png"> <a href="https://example.org/paper#page"></a> <a href="mailto:someone@example.org"></a>
"""


@pytest.fixture
def site(tmp_path):
    (tmp_path / "a.html").write_text(PAGE, encoding="utf-8")
    (tmp_path / "b.html").write_text('<p id="there"></p>', encoding="utf-8")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "index.html").write_text("", encoding="utf-8")
    return tmp_path


def refused(code):
    return HTTPError("https://example.org", code, "reason", Message(), None)


class Answers:
    """A network whose answers are given beforehand."""

    def __init__(self, *answers):
        self.answers = list(answers)

    def __call__(self, address):
        answer = self.answers.pop(0)
        if answer is not None:
            raise answer


def test_links_that_lead_nowhere_are_found(site):
    assert sorted(check_links.broken(site)) == [
        "a.html: #nowhere has no such place",
        "a.html: c.html does not exist",
        "a.html: picture.png does not exist",
    ]


def test_addresses_elsewhere_are_collected_without_their_places(site):
    assert check_links.addresses(site) == {"https://example.org/paper": "a.html"}


@pytest.mark.parametrize(
    ("answers", "wrong"),
    [
        pytest.param([None], None, id="there"),
        pytest.param([refused(404)], "404 reason", id="gone"),
        pytest.param([refused(403)], None, id="browsers-only"),
        pytest.param([refused(503), None], None, id="there-at-the-second-try"),
        pytest.param([refused(503), URLError("reset"), refused(500)], "500 reason", id="down"),
    ],
)
def test_an_address_is_tried_again_only_if_that_may_help(answers, wrong):
    network = Answers(*answers)
    assert check_links.fault("https://example.org", network, pause=0.0) == wrong
    assert network.answers == []


def test_a_doi_is_asked_for_its_record_in_plain_characters():
    given = "https://doi.org/10.1175/1520-0493(1950)078<0001:VOFEIT>2.0.CO;2"
    assert check_links.asked(given) == "https://doi.org/api/handles/10.1175/1520-0493(1950)078%3C0001:VOFEIT%3E2.0.CO;2"
    assert check_links.asked("https://arxiv.org/abs/2504.04528") == "https://arxiv.org/abs/2504.04528"


def test_what_does_not_answer_is_reported_with_its_page(site, monkeypatch):
    monkeypatch.setattr(check_links, "fault", lambda address: "404 gone")
    assert list(check_links.unreachable(site)) == ["a.html: https://example.org/paper (404 gone)"]
