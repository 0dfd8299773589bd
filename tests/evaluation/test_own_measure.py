"""A measure of one's own, written once, is in every answer, on every engine, with the same numbers."""

import functools
import json
import math
import re
from dataclasses import dataclass
from typing import ClassVar

import duckdb
import numpy as np
import polars as pl
import pytest
from sliced import Sliced, slices

import propriety as pr
from propriety.cli.gate_facts import Facts
from propriety.cli.gate_grammar import parse_condition
from propriety.cli.gates import check_gates
from propriety.cli.machine import evaluation_document, written
from propriety.report import number_sections, texts
from propriety.report.evaluation import page_of
from propriety.report.figures import without_pictures
from propriety.tables.forecast_table import ForecastTable


@dataclass(frozen=True)
class Sensitivity(pr.measures.Measure):
    """Share of the events that reach the threshold; its error is drawn."""

    threshold: float = 0.3
    key: ClassVar[str] = "sensitivity"
    label: ClassVar[str] = "sensitivity"
    higher_is_better: ClassVar[bool] = True

    def value(self, table):
        return float(table.events[table.forecast >= self.threshold].sum() / table.events.sum())


@dataclass(frozen=True)
class SmoothSensitivity(Sensitivity):
    """The same with how far a case moves it, from which its error follows."""

    key: ClassVar[str] = "smooth_sensitivity"
    label: ClassVar[str] = "sensitivity by influence"

    def influence(self, table):
        caught = (table.forecast >= self.threshold) - self.value(table)
        return pr.measures.Influence(caught * table.weight / table.events.sum(), np.zeros(len(table)))


def precision(table):
    """Return the share of events among the forecasts from 0.3 on; it divides by zero where there are none."""
    above = table.forecast >= 0.3
    return float(table.events[above].sum()) / float(table.weights[above].sum())


N = 1200
RNG = np.random.default_rng(17)
TRUTH = np.round(RNG.beta(1, 2, N), 3).clip(0.001, 0.999)
Y = (RNG.random(N) < TRUTH).astype(int)
NOISY = np.round(np.clip(TRUTH + RNG.normal(0, 0.2, N), 0.01, 0.99), 3)
SITE = RNG.choice(["north", "south", "west"], N)
WARD = RNG.integers(0, 80, N)
MODELS = {"honest": TRUTH, "noisy": NOISY}
FRAME = pl.DataFrame({"y": Y, **MODELS, "site": SITE, "ward": WARD})
OWN = [Sensitivity(), SmoothSensitivity(), precision]
KEYS = ["sensitivity", "smooth_sensitivity", "precision"]
DRAWS = {"n_resamples": 99, "seed": 1}
SHARED = {"independent": {}, "clusters": {"cluster": "ward"}}


@pytest.fixture(params=["arrays", "frame", "polars", "duckdb", "ledger"])
def asked(request):
    """Return a function that asks something of the cases in one of their forms."""

    def ask(function, measure=None, *, models=MODELS, by=None, **options):
        given = {} if measure is None else {"measure": measure}
        shared = {name: FRAME[column].to_numpy() for name, column in options.items() if name == "cluster"}
        if request.param in ("arrays", "ledger"):
            shared |= {} if by is None else {"by": {by: FRAME[by].to_numpy()}}
            own = {name: value for name, value in options.items() if name != "cluster"}
            forecasts = {name: MODELS[name] for name in models}
            if request.param == "arrays":
                return function(Y, forecasts, **given, **shared, **own)
            return function(pr.condense(Y, forecasts, **shared), **given, **own)
        frames = {"frame": FRAME, "polars": FRAME.lazy(), "duckdb": duckdb.from_arrow(FRAME.to_arrow())}
        options |= {} if by is None else {"by": by}
        return function(frames[request.param], list(models), outcome="y", **given, **options)

    return ask


ARRAYS = {"independent": {}, "clusters": {"cluster": WARD}, "groups": {"by": {"site": SITE}}}


@functools.cache
def of_arrays(function, measure, shared):
    """Return the answer for the arrays, with which that of every other form is compared."""
    return function(Y, TRUTH if function is pr.estimate else MODELS, measure, **ARRAYS[shared], **DRAWS)


@functools.cache
def evaluated():
    return pr.evaluate(Y, MODELS, measures=OWN, **ARRAYS["groups"], **DRAWS)


@pytest.mark.parametrize("measure", OWN, ids=KEYS)
@pytest.mark.parametrize("shared", SHARED)
def test_it_is_estimated(asked, alike, measure, shared):
    found = asked(pr.estimate, measure, models=["honest"], **SHARED[shared], **DRAWS)
    alike(found, of_arrays(pr.estimate, measure, shared), beside=("model",))
    share = np.mean(TRUTH[Y == 1] >= 0.3) if measure is not precision else np.mean(Y[TRUTH >= 0.3])
    assert found.value == pytest.approx(share, rel=1e-12)
    assert found.low < share < found.high
    assert found.measure.key == KEYS[OWN.index(measure)]


@pytest.mark.parametrize("measure", OWN, ids=KEYS)
@pytest.mark.parametrize("shared", SHARED)
def test_it_compares_models(asked, alike, measure, shared):
    found = asked(pr.compare, measure, **SHARED[shared], **DRAWS)
    alike(found, of_arrays(pr.compare, measure, shared), 1e-11)
    of = measure if measure is precision else measure.value
    values = [of(ForecastTable.from_predictions(Y, p)) for p in MODELS.values()]
    assert found.differences.value[0] == pytest.approx(values[0] - values[1], rel=1e-12)
    if measure is precision:  # Which is a function, and does not say whether higher is better.
        assert found.differences[0].verdict in ("too few", "not tested")
        assert found.ranks().extra["rank"].tolist() == [1, 1]
    else:
        assert found[0].measure.higher_is_better
        assert found.ranks().model[0] == ("honest" if values[0] > values[1] else "noisy")


@pytest.mark.parametrize("measure", OWN, ids=KEYS)
def test_it_is_measured_in_groups(asked, alike, measure):
    found = asked(pr.slices, measure, by="site", **DRAWS)
    alike(found, of_arrays(pr.slices, measure, "groups"), 1e-11)
    assert found.case_keys == ("site",)
    found = Sliced(found)
    assert found.is_tested.all()
    assert np.isfinite(found.p_value).all()
    for model, group, value in zip(found.model, found.group, found.value, strict=True):
        own = group == SITE
        table = ForecastTable.from_predictions(Y[own], MODELS[model][own])
        expected = measure(table) if measure is precision else measure.value(table)
        assert value == pytest.approx(expected, rel=1e-12)


def test_it_is_in_the_evaluation_the_report_the_json_and_the_gates(asked):
    found = asked(pr.evaluate, by="site", measures=OWN, **DRAWS)
    assert [measure.key for measure in found.problem.measures][-3:] == KEYS
    assert found.to_dict() == pytest.approx(evaluated().to_dict(), rel=1e-12)
    document = json.loads(written(evaluation_document(found, [])))
    table = next(item for item in number_sections.scores(found).items if item.title == "Further measures")
    for key, measure in zip(KEYS, found.problem.more, strict=True):
        row = found.scores.at("honest", key)
        assert row["label"] == measure.label
        assert document["metrics"][f"honest/{key}"] == row["value"]
        assert document["metrics"][f"honest/{key}_low"] == row["low"]
        (entry,) = (one for one in document["scores"] if (one["model"], one["measure"]) == ("honest", key))
        assert {name: entry[name] for name in ("value", "high", "method")} == {
            name: row[name] for name in ("value", "high", "method")
        }
        assert table.columns[measure.label][found.models.index("honest")].value == row["value"]
        limit = row["value"] - 1e-9
        (failed,) = check_gates([parse_condition(f"honest/{key}>{limit}")], Facts.of_evaluation(found))
        (passed,) = check_gates([parse_condition(f"honest/{key}<{limit}")], Facts.of_evaluation(found))
        assert (failed.failed, passed.failed) == (True, False)


@pytest.mark.slow
def test_the_page_shows_it():
    page = evaluated().to_html().split("Further measures", 1)[1]
    for key, measure in zip(KEYS, evaluated().problem.more, strict=True):
        assert re.search(rf">\s*{measure.label}\s*<", page)
        assert f"{evaluated().scores.at('honest', key)['value']:.4f}" in page


def test_the_influence_gives_the_error_of_a_share():
    found = pr.estimate(Y, TRUTH, SmoothSensitivity())
    events = int(Y.sum())
    # As if the events were a sample of their own; their number varies, too, which changes nothing to first order.
    expected = math.sqrt(found.value * (1.0 - found.value) / events)
    assert found.error == pytest.approx(expected, rel=2e-3)
    drawn = pr.estimate(Y, TRUTH, Sensitivity(), n_resamples=2000, seed=1)
    assert drawn.error == pytest.approx(expected, rel=0.1)
    assert found.method == "influence function, with imagined outcomes"


def test_what_cannot_be_divided_has_no_value():
    low = {"honest": TRUTH * 0.25, "noisy": NOISY * 0.25}
    found = pr.evaluate(Y, low, measures=[precision], by=SITE, **DRAWS)
    row = found.scores.at("honest", "precision")
    assert math.isnan(row["value"])
    assert "division by zero" in row["note"]
    with without_pictures():
        assert "division by zero" in " ".join(page_of(found, title="A").sections[0].words)
    assert np.isnan(slices(Y, low, precision, by=SITE, **DRAWS).value).all()


def test_a_function_has_no_direction_in_the_table_of_scores_and_in_the_report():
    found = pr.evaluate(Y, MODELS, measures=[precision, Sensitivity()], **DRAWS)
    scores = found.scores
    assert scores.at("honest", "precision")["higher_is_better"] is None
    assert scores.at("honest", "brier")["higher_is_better"] is False
    assert scores.at("honest", "sensitivity")["higher_is_better"] is True
    assert scores.to_frame(backend="polars").schema["higher_is_better"] == pl.Boolean
    tables = {item.title: item for item in number_sections.scores(found).items}
    assert tables["Further measures"].best == {"sensitivity": "highest"}
    assert "precision" not in texts.merits_words(found.problem.measures)
