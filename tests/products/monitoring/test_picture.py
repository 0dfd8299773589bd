"""Figures and page of a monitor: lines, alarms and labels."""

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.text import Text
from scipy.special import expit

import propriety as pr
from propriety.errors import InputValueError
from propriety.products.monitoring.page import MOST_ROWS, _last_table, monitor_page
from propriety.products.monitoring.period_sums import Stream
from propriety.products.monitoring.picture import of_stream
from propriety.products.monitoring.words import by_evidence


@pytest.fixture(scope="module")
def watch():
    rng = np.random.default_rng(1)
    size, day = 40 * 300, np.repeat(np.arange(40), 300)
    x, site = rng.normal(-1, 1, size), rng.choice(["a", "b", "c"], size)
    y = rng.random(size) < expit(x - 0.9 * ((day >= 20) & (site == "b")))
    return pr.monitor(
        pr.condense(y, {"m": expit(x), "n": expit(0.9 * x)}, by={"day": day, "site": site}), reference_days=7
    )


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def lines_of(ax):
    return {line.get_label(): line for line in ax.lines}


def test_the_evidence_of_all_streams_is_drawn_and_alarms_are_named(watch):
    before = dict(mpl.rcParams)
    ax = watch.plot(label="Evidence")
    assert ax.get_title(loc="left") == "Evidence"
    assert dict(mpl.rcParams) == before
    threshold = lines_of(ax)["_threshold"].get_ydata()[0]
    assert threshold == pytest.approx(watch.streams.log_thresholds(0.95)[0] / np.log(10))
    drawn = [line for line in ax.lines if len(line.get_xdata()) == 40]
    assert len(drawn) == len(watch)
    named = lines_of(ax)["_m, site b"].get_ydata()
    log_e = of_stream(watch.numbers(), place_of(watch, "m", "b")).log_e_value / np.log(10)
    shown = log_e > -2.0
    np.testing.assert_allclose(named[shown], np.minimum(log_e[shown], 2.0 * ax.get_ylim()[1]))
    assert (named[~shown] == -2.0).all()
    assert {"m, site b", "alarm"} <= {text.get_text() for text in ax.texts}


def place_of(watch, model, site, against=None, measure="observed_expected"):
    return watch.streams.names.index(Stream("brier" if against else measure, model, against, (site,)))


def test_a_stream_shows_its_days_the_change_and_the_alarm(watch):
    place = place_of(watch, "m", "b")
    ax = watch.plot(stream=place)
    days = of_stream(watch.numbers(), place)
    np.testing.assert_allclose(lines_of(ax)["_days"].get_ydata(), days.events / days.exposure)
    line = lines_of(ax)["_last seven days"].get_ydata()
    assert line[-1] == pytest.approx(days.events[-7:].sum() / days.exposure[-7:].sum())
    text = ax.texts[0].get_text()
    assert text.startswith("too high\nsince ")
    assert ax.get_ylabel() == "Observed/expected"


def test_a_pair_shows_the_difference(watch):
    place = place_of(watch, "m", "a", against="n")
    ax = watch.plot(stream=place, label="m against n")
    assert ax.get_ylabel() == "Mean difference of losses"
    assert ax.get_title(loc="left") == "m against n"
    np.testing.assert_allclose(lines_of(ax)["_days"].get_ydata(), of_stream(watch.numbers(), place).value)
    assert not ax.texts


def test_the_page_has_the_alarms_the_streams_and_the_last_day(watch):
    page = monitor_page(watch, title="Traffic")
    assert [section.id for section in page.sections] == ["alarms", "streams", "evidence", "volume", "last", "methods"]
    assert page.headline["Cases"] == 12_000
    assert "m, observed/expected (site b): forecasts too high since day" in " ".join(page.verdict)
    volume = next(section for section in page.sections if section.id == "volume").items[0].table
    assert volume["cases"] == [300] * 40
    (table,) = next(section for section in page.sections if section.id == "last").items
    assert table.columns["cases"] == watch.numbers(last=True).n.tolist()
    assert table.columns["against"].count("n") == 3


def test_long_tables_have_the_streams_with_the_strongest_evidence():
    day, cases = np.repeat([1, 2], 300), np.tile(np.repeat(np.arange(150), 2), 2)
    y = np.tile([0, 1], 300)
    watch = pr.monitor(pr.condense(y, {"m": np.linspace(0.05, 0.95, 600)}, by={"day": day, "cases": cases}))
    table, strongest = _last_table(watch), by_evidence(watch)[:MOST_ROWS]
    assert table.columns["cases (key)"] == [str(watch.streams.names[place].labels[0]) for place in sorted(strongest)]
    assert table.columns["cases"] == [2] * MOST_ROWS
    assert table.note.endswith("The 100 streams with the strongest evidence of 300; watch.days().to_frame() has all.")


@pytest.mark.parametrize("row", [-1, 15, 1.0, True, "m"])
def test_a_row_that_is_not_a_stream_is_refused(watch, row):
    assert len(watch) == 15
    with pytest.raises(InputValueError, match=f"stream must be the row of a stream, from 0 to 14; got {row!r}"):
        watch.plot(stream=row)


def test_a_long_title_is_wrapped():
    rng = np.random.default_rng(4)
    p = rng.beta(2, 6, 600)
    keys = {"day": np.arange(600) // 60, "country": ["United Kingdom"] * 600, "device": ["desktop computer"] * 600}
    watch = pr.monitor(pr.condense(rng.random(600) < p, {"gradient_boosting_v2": p, "logistic": p}, by=keys))
    ax = watch.plot(stream=0)
    ax.figure.draw_without_rendering()
    title = next(one for one in ax.get_children() if isinstance(one, Text) and "desktop computer" in one.get_text())
    assert (
        title.get_text()
        == ax.get_title(loc="left")
        == "gradient_boosting_v2, country United Kingdom,\ndevice desktop computer"
    )
    assert title.get_window_extent().x1 <= ax.figure.bbox.x1


def test_single_cases_are_drawn():
    rng = np.random.default_rng(2)
    p = rng.random(5000)
    watch = pr.monitor(rng.random(5000) < p, p)
    ax = watch.plot()
    assert ax.get_xlabel() == "Case"
    assert len(watch.plot(stream=0).lines) == 3
    assert "exact bets" in watch.to_html()
