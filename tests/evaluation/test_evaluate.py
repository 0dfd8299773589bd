"""evaluate(): every number is that of the call beside it, whatever the data come in, for every kind of outcome."""

import inspect
import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sliced import Sliced, slices

import propriety as pr
from propriety.errors import InputTypeError, InputValueError, ProprietyError
from propriety.evaluation.problem import Problem
from propriety.tables.forecast_table import ForecastTable

N = 600
RNG = np.random.default_rng(7)
TRUTH = RNG.beta(1, 3, N)
Y = (RNG.random(N) < TRUTH).astype(int)
MODELS = {"honest": TRUTH, "bold": TRUTH**2 / (TRUTH**2 + (1 - TRUTH) ** 2)}
SITE = RNG.choice(["north", "south"], N)
WEIGHT = RNG.gamma(2.0, 1.0, N)
CLUSTER = RNG.integers(0, 40, N)
ROWS = {
    "sharp": RNG.dirichlet([1, 2, 1], N),
    "flat": np.full((N, 3), 1 / 3),
}
GRADE = np.array([RNG.choice(3, p=row) for row in ROWS["sharp"]])


def draws(**options):
    return {"seed": 1, "n_resamples": 50} | options


@pytest.fixture(scope="module")
def result():
    return pr.evaluate(Y, MODELS, thresholds=(0.05, 0.2), by=SITE, **draws())


@pytest.mark.parametrize(
    "options",
    [
        {"thresholds": (0.05, 0.2)},
        {"thresholds": 0.1, "level": 0.9},
        {"sample_weight": WEIGHT},
        {"cluster": CLUSTER},
    ],
    ids=["interval", "threshold", "weights", "clusters"],
)
def test_every_number_is_that_of_the_call_beside_it(options):
    found = pr.evaluate(Y, MODELS, **draws(**options)).scores
    names = {"pr": pr, "y": Y, "forecasts": MODELS, "sample_weight": WEIGHT, "cluster": CLUSTER}
    for place, call in enumerate(found.call.tolist()):
        alone = eval(call, names)  # noqa: S307  (the package's own words, to be checked)
        for field in ("value", "low", "high"):
            assert getattr(alone, field) == pytest.approx(getattr(found, field)[place], rel=1e-12, nan_ok=True), call


@pytest.mark.parametrize("ordered", [False, True], ids=["classes", "grades"])
def test_every_number_of_rows_is_that_of_the_call_beside_it(ordered):
    found = pr.evaluate(GRADE, ROWS, ordered=ordered, **draws()).scores
    for place, call in enumerate(found.call.tolist()):
        alone = eval(call, {"pr": pr, "y": GRADE, "forecasts": ROWS})  # noqa: S307  (as above)
        assert alone.value == pytest.approx(found.value[place], rel=1e-12)


def test_parts_are_those_of_the_public_functions(result):
    assert result.decompositions["bold"].miscalibration == pr.decompose(Y, MODELS["bold"]).miscalibration
    np.testing.assert_array_equal(
        result.reliability["bold"]["event"].event_rate, pr.reliability_curve(Y, MODELS["bold"]).event_rate
    )
    rule = pr.BoundedBrier(0.05, 0.2)
    assert str(result.comparison) == str(pr.compare(Y, MODELS, rule))
    alone = pr.slices(Y, MODELS, rule, by=SITE)
    np.testing.assert_array_equal(result.slices.value, alone.value)
    assert result.ranking.marked.winner == pr.ranking_map(Y, MODELS, thresholds=(0.05, 0.2)).marked.winner
    assert result.probability_means["honest"].accuracy == pr.probability_means(Y, MODELS["honest"]).accuracy


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_a_frame_gives_the_same_numbers(library, result):
    frame = library({"y": Y, "site": SITE, **MODELS})
    again = pr.evaluate(frame, list(MODELS), outcome="y", by="site", thresholds=(0.05, 0.2), **draws())
    assert again.to_dict() == result.to_dict()
    assert again.card.words == result.card.words


def test_the_classes_of_a_frame_are_columns():
    names = [f"p{place}" for place in range(3)]
    frame = pl.DataFrame({"y": GRADE, **dict(zip(names, ROWS["sharp"].T, strict=True))})
    again = pr.evaluate(frame, {"sharp": names}, outcome="y", ordered=True, **draws())
    assert again.to_dict() == pr.evaluate(GRADE, {"sharp": ROWS["sharp"]}, ordered=True, **draws()).to_dict()


@pytest.mark.parametrize("rare", [False, True], ids=["common", "rare"])
@pytest.mark.parametrize("thresholds", [None, 0.1, (0.05, 0.2), (0.0, 0.3)], ids=str)
def test_the_headline_is_what_the_advice_names_first(thresholds, rare):
    problem = Problem(kind="binary", thresholds=thresholds, rare=rare)
    first = pr.advise(thresholds=thresholds, rare=rare).recommended[0].measure
    known = isinstance(thresholds, float)  # What the advice calls "the threshold" has a number here.
    assert problem.headline.label == (f"regret at {thresholds}" if known else first)
    assert problem.measures[0] == problem.headline


@pytest.mark.parametrize("kind", ["multiclass", "ordinal"])
def test_the_headline_of_rows_is_what_the_advice_names_first(kind):
    assert Problem(kind=kind).headline.label == pr.advise(kind=kind).recommended[0].measure


@pytest.mark.parametrize(
    ("shared", "thresholds"),
    [
        ({}, None),
        ({"by": {"site": SITE}}, (0.05, 0.2)),
        ({"by": {"site": SITE, "ward": CLUSTER % 3}, "sample_weight": WEIGHT}, 0.1),
        ({"cluster": CLUSTER}, None),
    ],
    ids=["plain", "groups", "weights", "clusters"],
)
def test_ledgers_of_halves_give_the_numbers_of_their_cases(shared, thresholds, tmp_path):
    options = draws(thresholds=thresholds)
    whole = pr.evaluate(Y, MODELS, **shared, **options)
    rules = [rule for measure in whole.problem.measures for rule in measure.filled]
    for half, name in ((slice(None, 250), "a"), (slice(250, None), "b")):
        own = {key: value[half] for key, value in shared.items() if key != "by"}
        own |= {"by": {key: value[half] for key, value in shared["by"].items()}} if "by" in shared else {}
        pr.condense(Y[half], {model: p[half] for model, p in MODELS.items()}, **own, rules=rules).to_parquet(
            tmp_path / name
        )
    ledger = pr.Ledger.from_parquet(tmp_path / "a") + pr.Ledger.from_parquet(tmp_path / "b")
    merged = pr.evaluate(ledger, **options)
    numbers, expected = merged.to_dict(), whole.to_dict()
    # Of weights and clusters some intervals need the cases.
    known = [key for key, value in numbers.items() if not np.isnan(value)]
    assert known == [key for key, value in expected.items() if not np.isnan(value)] or shared
    for key in known:
        assert numbers[key] == pytest.approx(expected[key], rel=1e-10), key
    assert str(merged.comparison) == str(whole.comparison)
    assert merged.ranking is None
    if "by" in shared:
        assert merged.slices.keys["site"].tolist() == whole.slices.keys["site"].tolist()
        np.testing.assert_allclose(merged.slices.value, whole.slices.value, rtol=1e-12)
        np.testing.assert_allclose(merged.slices.p, whole.slices.p, rtol=1e-9)


def test_a_ledger_without_cases_says_what_it_cannot_tell(tmp_path):
    pr.condense(Y, MODELS, cluster=CLUSTER).to_parquet(tmp_path / "ledger")
    found = pr.evaluate(pr.Ledger.from_parquet(tmp_path / "ledger"), **draws())
    row = found.scores.at("honest", "auc")
    assert row["value"] == pytest.approx(pr.measures.AreaUnderRoc().value(ForecastTable.from_predictions(Y, TRUTH)))
    assert np.isnan(row["low"])
    assert "needs the individual cases" in row["note"]
    assert np.isfinite(found.scores.at("honest", "brier")["low"])


def test_tables_give_the_numbers_of_their_cases():
    whole = pr.evaluate(Y, MODELS, **draws())
    halves = [slice(None, 250), slice(250, None)]
    tables = {
        name: sum(ForecastTable.from_predictions(Y[half], p[half]) for half in halves) for name, p in MODELS.items()
    }
    merged = pr.evaluate(pr.Ledger.of_tables(tables), **draws())
    assert merged.to_dict() == pytest.approx(whole.to_dict(), rel=1e-11, nan_ok=True)
    assert (merged.comparison, merged.ranking, merged.slices) == (None, None, None)


def test_tables_of_other_cases_are_refused():
    one, other = ForecastTable.from_predictions([0, 1], [0.1, 0.6]), ForecastTable.from_predictions([0], [0.1])
    with pytest.raises(InputValueError, match="tables must be of the same cases; 'a' has 2"):
        pr.Ledger.of_tables({"a": one, "b": other})
    with pytest.raises(InputTypeError, match="a ForecastTable holds no individual cases"):
        pr.evaluate(one)
    with pytest.raises(
        InputTypeError, match="forecasts must map the models of y_true to their forecasts; got NoneType"
    ):
        pr.evaluate({"a": one})
    with pytest.raises(InputTypeError, match=r"^a Ledger holds .* pass it without sample_weight"):
        pr.evaluate(pr.condense([0, 1], {"a": [0.1, 0.6]}), sample_weight=[1, 1])


def test_flat_keys_have_the_model_in_front_only_where_there_are_several(result):
    assert "honest/brier" in result.to_dict()
    alone = pr.evaluate(Y, TRUTH, **draws())
    assert {"brier", "brier_low", "brier_high", "auc", "n"} < set(alone.to_dict())
    assert alone.models == ("forecast",)
    assert alone.comparison is None
    json.dumps(alone.to_dict())


def test_the_card_says_which_model_to_prefer_first(result):
    assert str(result).startswith("Prefer 'honest': from 5% to 20% its decisions cost ")
    assert str(result) == str(result.card)
    assert result.card.about.startswith("2 models, 600 cases, ")
    outcomes = {row.model: row.outcome for row in result.card.rows if row.short == "calibration"}
    assert outcomes["honest"] == "no error found"


def test_missing_rows_are_counted():
    y = [*Y.tolist(), None]
    forecasts = {name: np.append(p, 0.5) for name, p in MODELS.items()}
    found = pr.evaluate(y, forecasts, missing="drop", **draws())
    assert (found.n, found.dropped) == (N, 1)
    assert "1 row with missing values was left out" in found.card.about


def test_the_same_seed_gives_the_same_numbers_and_no_seed_keeps_one():
    one, other = (pr.evaluate(Y, TRUTH, n_resamples=20) for _ in range(2))
    assert one.seed != other.seed
    assert pr.evaluate(Y, TRUTH, n_resamples=20, seed=one.seed).to_dict() == one.to_dict()


@pytest.mark.parametrize(
    ("arguments", "options", "error", "match"),
    [
        ((GRADE, ROWS), {"thresholds": 0.2}, InputValueError, "thresholds apply to the probability of one event"),
        ((Y, MODELS), {"ordered": True}, InputValueError, "ordered belongs to three or more classes"),
        ((pd.DataFrame({"y": Y}), ["a"]), {"outcome": "y"}, InputValueError, "it lacks \\['a'\\]"),
        ((pd.DataFrame({"y": Y, "a": TRUTH}), [3]), {"outcome": "y"}, InputTypeError, "must name columns"),
        (
            (pd.DataFrame({"y": Y, "a": TRUTH}), "a"),
            {"outcome": "y", "by": SITE},
            InputTypeError,
            "by must name columns",
        ),
        ((Y, MODELS), {"level": 1.0}, InputValueError, "level must lie strictly"),
        ((Y, MODELS), {"thresholds": (0.5, 0.2)}, InputValueError, "thresholds"),
    ],
    ids=["rows", "event", "column", "name", "array", "level", "order"],
)
def test_what_does_not_fit_is_refused(arguments, options, error, match):
    with pytest.raises(error, match=match):
        pr.evaluate(*arguments, **options)


def test_one_outcome_only_is_told_and_does_not_fail():
    found = pr.evaluate([0, 0, 0], [0.1, 0.2, 0.3], **draws())
    assert found.roc_curves == {}
    row = found.scores.at("forecast", "auc")
    assert np.isnan(row["value"])
    assert "there are no events" in row["note"]
    assert found.scores.at("forecast", "brier")["value"] == pytest.approx(0.14 / 3)
    assert found.card.about == "1 model, 3 cases, 0 events (0%)"


@pytest.mark.parametrize(
    ("outcome", "forecast", "match"),
    [
        ([0, 1, 2], [0.1, 0.5, 0.7], "y_true must hold 0 and 1"),
        ([-1, 1, 1], [0.1, 0.5, 0.7], "y_true must hold 0 and 1"),
        ([0, 1, np.nan], [0.1, 0.5, 0.7], "missing"),
        ([0, 1, 3], np.full((3, 3), 1 / 3), "y_true"),
        ([0, 1, 1], [0.1, 1.2, 0.7], r"forecasts\['m'\] must lie in \[0, 1\]"),
    ],
    ids=["two", "minus one", "missing", "class", "forecast"],
)
def test_bad_cases_are_refused_at_the_door(outcome, forecast, match):
    with pytest.raises(ProprietyError, match=match):
        pr.evaluate(outcome, {"m": forecast})


def test_thresholds_that_lie_close_together_stay_apart():
    found = pr.evaluate(Y, MODELS, thresholds=(0.1234561, 0.1234562), **draws())
    numbers = found.to_dict()
    for threshold in (0.1234561, 0.1234562):
        expected = pr.measures.NetBenefit(threshold).value(ForecastTable.from_predictions(Y, TRUTH))
        assert numbers[f"honest/net_benefit_at_{threshold}"] == pytest.approx(expected, rel=1e-15)
    assert len(set(found.scores.label.tolist())) == len(found.problem.measures)


@pytest.mark.parametrize("ordered", [False, True], ids=["classes", "grades"])
def test_groups_of_rows_are_those_of_slices(ordered):
    found = pr.evaluate(GRADE, ROWS, ordered=ordered, by={"site": SITE}, **draws())
    alone = pr.slices(GRADE, ROWS, found.problem.headline, by={"site": SITE})
    assert found.slices.case_keys == ("site",)
    assert found.slices.extra.keys() == {"scale"}  # Of tau.
    np.testing.assert_array_equal(found.slices.value, alone.value)
    (row,) = {(row.value, row.outcome) for row in found.card.rows if row.measure.startswith("Differ from the rest")}
    assert row == (0.0, f"of {len(set(SITE))} compared")


@pytest.mark.parametrize(
    ("labels", "groups"),
    [
        ([1, 2, 10], ["1", "2", "10"]),
        ([1, "1", 2], ["1", "'1'", "2"]),
        (pd.Categorical.from_codes([0, 1, 2], ["low", "mid", "high"], ordered=True), ["low", "mid", "high"]),
    ],
    ids=["numbers", "mixed", "ordered"],
)
def test_groups_are_those_of_slices_in_their_order(labels, groups):
    codes = np.arange(N) % 3
    by = labels.take(codes) if groups[0] == "low" else pd.Series(list(labels), dtype=object).take(codes)
    by = pd.Series(by).reset_index(drop=True)
    found, alone = Sliced(pr.evaluate(Y, MODELS, by=by, **draws()).slices), slices(Y, MODELS, by=by)
    assert len(found.group) == 2 * 3
    np.testing.assert_array_equal(found.group, alone.group)
    np.testing.assert_array_equal(found.value, alone.value)
    assert found.group.tolist() == 2 * groups


def test_a_column_named_twice_is_refused():
    frame = pd.DataFrame({"y": Y, "a": TRUTH})
    with pytest.raises(InputValueError, match="'a' is named again"):
        pr.evaluate(frame, ["a", "a"], outcome="y")


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "Polars", "PyArrow"])
def test_a_column_of_text_among_those_of_a_model_is_refused(frame):
    cases = frame({"y": [0, 1, 0], "a": [0.1, 0.2, 0.3], "b": ["0.9", "SS4", "0.7"]})
    with pytest.raises(InputTypeError, match="must hold real numbers"):
        pr.evaluate(cases, {"model": ["a", "b"]}, outcome="y")


def test_one_column_is_one_model_and_a_number_names_no_column():
    frame = pd.DataFrame({"y": Y, "a": TRUTH})
    assert pr.evaluate(frame, "a", outcome="y", **draws()).models == ("a",)
    with pytest.raises(InputTypeError, match="forecasts must name columns of the frame"):
        pr.evaluate(frame, 1, outcome="y")


def test_the_curves_of_regret_are_those_of_the_models(result):
    for model, curve in result.regret_curves.items():
        np.testing.assert_array_equal(curve.value, pr.regret_curve(Y, MODELS[model]).value)


@pytest.mark.slow
def test_the_range_of_thresholds_is_shaded_and_fills_half_of_the_picture(result):
    _, decisions, murphy, _ = result.plot().axes[:4]
    for panel in (decisions, murphy):
        assert panel.get_xlim() == pytest.approx((0.0, 0.275))
        shade = panel.patches[-1].get_extents().transformed(panel.transData.inverted())
        assert (shade.x0, shade.x1) == pytest.approx((0.05, 0.2))
        assert panel.get_legend().get_texts()[-1].get_text() == "thresholds 5% to 20%"


def test_bands_are_at_the_level():
    found = pr.evaluate(Y, TRUTH, level=0.8, **draws())
    assert [band.level for band in found.reliability["forecast"]["event"].bands] == [0.8]


def test_a_frame_of_models_and_a_frame_without_outcome_are_told_apart():
    frame = pd.DataFrame(MODELS)
    with pytest.raises(InputValueError, match=r"if the columns are models, pass a mapping, such as \{name: frame\["):
        pr.evaluate(Y, frame)
    with pytest.raises(InputTypeError, match=r"pass a frame, its columns and outcome=: \(frame, \[.a., .b.\]"):
        pr.evaluate(frame, ["honest"])
    with pytest.raises(InputTypeError, match="a frame needs outcome="):
        pr.evaluate(frame, TRUTH)


def test_indices_of_groups_and_forecasts_must_agree():
    backwards = pd.Series(TRUTH, index=np.arange(N)[::-1])
    with pytest.raises(InputValueError, match="different indices"):
        pr.evaluate(Y, {"a": backwards}, by=pd.Series(SITE))


def test_classes_keep_their_names_throughout():
    names = np.array(["low", "mid", "high"])
    found = pr.evaluate(names[GRADE], ROWS, labels=list(names), **draws())
    for parts in (found.probability_means["sharp"].parts, found.decompositions["sharp"].parts, found.tables["sharp"]):
        assert list(parts) == list(names)


def test_one_measure_need_not_be_in_a_list_and_one_that_fits_anyway_is_reported_once():
    p = np.linspace(0.05, 0.95, 40)
    y = np.arange(40) % 3 == 0
    plain = pr.evaluate(y, p, seed=1, n_resamples=20).scores
    for measures in (pr.Brier(), [pr.Brier(), pr.Brier()], (pr.measures.AreaUnderRoc(),)):
        assert pr.evaluate(y, p, measures=measures, seed=1, n_resamples=20).scores.measure.tolist() == (
            plain.measure.tolist()
        )
    found = pr.evaluate(y, p, measures=pr.Spherical(), seed=1, n_resamples=20).scores
    assert found.measure.tolist() == [*plain.measure.tolist(), "spherical"]
    assert pr.evaluate(y, p, measures="spherical", seed=1, n_resamples=20).scores.measure.tolist()[-1] == "spherical"
    with pytest.raises(InputTypeError, match="measures must be a rule, a measure or a function of a ForecastTable"):
        pr.evaluate(y, p, measures=3.0)


def test_names_in_arrays_are_names():
    frame = pd.DataFrame({"y": [0, 1] * 20, "a": np.linspace(0.1, 0.9, 40), "b": 0.5})
    for names in (frame.columns[1:], np.array(["a", "b"])):
        assert pr.evaluate(frame, names, outcome="y").models == ("a", "b")
    ledger = pr.condense(frame, ["a", "b"], outcome="y")
    for names in (np.array(["a"]), np.array(["a", "b"])):
        with pytest.raises(InputValueError, match="model must be one of"):
            pr.recalibrate(ledger, model=names)
        with pytest.raises(InputValueError, match="reference must be one of"):
            pr.compare(ledger, measure=pr.Brier(), reference=names)
        with pytest.raises(InputValueError, match="reference must be one of"):
            pr.decision_uncertainty(ledger, thresholds=(0.1, 0.2), reference=names)


def test_names_of_keys_and_of_tables_are_text():
    table = ForecastTable.from_predictions([0, 1], [0.2, 0.7])
    with pytest.raises(InputTypeError, match="must map the names of models"):
        pr.Ledger.of_tables({1: table, 2: table})
    with pytest.raises(InputValueError, match="by must name its keys by texts that are not empty; got 1"):
        pr.evaluate([0, 1], [0.2, 0.7], by={1: [0, 1]})


def test_a_rate_of_one_tenth_is_not_rare_however_it_is_summed():
    rng = np.random.default_rng(0)
    y = np.arange(300) < 30
    p = np.clip(0.1 + 0.3 * y * rng.random(300) + 0.05 * rng.normal(size=300), 0.01, 0.9)
    how = {"n_resamples": 99, "seed": 1}
    mirrored, weighted = pr.evaluate(~y, 1.0 - p, **how), pr.evaluate(y, p, sample_weight=np.full(300, 0.3), **how)
    for found in (pr.evaluate(y, p, **how), mirrored, weighted):
        assert found.problem.headline.key == "brier"
    assert pr.evaluate(y[1:], p[1:], **how).problem.headline.key == "log"


@pytest.mark.parametrize("kind", ["binary", "multiclass", "ordinal"])
def test_every_attribute_can_be_looked_up(kind):
    """Python's own `inspect` and `hasattr` read every property, so none may raise; what does not apply is empty."""
    rng = np.random.default_rng(0)
    rows = rng.dirichlet([1.0, 1.0, 1.0], 120)
    y = np.arange(120) % (2 if kind == "binary" else 3)
    forecasts = rows[:, 1] if kind == "binary" else rows
    members = dict(inspect.getmembers(pr.evaluate(y, forecasts, ordered=kind == "ordinal", n_resamples=20, seed=1)))
    assert members["kind"] == kind
    assert bool(members["class_decompositions"]) == (kind == "multiclass")
