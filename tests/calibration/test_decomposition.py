import copy
import csv
import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import trapezoid

import propriety as pr
from propriety.calibration.blocks import pool_adjacent_violators
from propriety.calibration.decomposition import FixedForecasts, decompose_table
from propriety.errors import ImproperRuleError, InputTypeError, InputValueError, MissingValuesError
from propriety.rules.catalogue import RULES
from propriety.tables.forecast_table import ForecastTable

CLOSE = 1e-12
NIAMEY = Path(os.environ.get("PROPRIETY_DATA", "data")) / "niamey.csv"
NAMES = {"S": "score", "MCB": "miscalibration", "DSC": "discrimination", "UNC": "uncertainty"}
BY_NAME = {"brier": pr.Brier(), "log": pr.Log(), "misclassification": pr.Misclassification()}
PROPER = [rule for rule in RULES if isinstance(rule, pr.BinaryRule) and rule.properties().proper]
STRICT = [rule for rule in PROPER if rule.properties().strictly_proper]
OTHERS = [rule for rule in RULES if rule.properties().proper and not isinstance(rule, pr.BinaryRule)]
Y, P = [0, 1, 0, 1, 1, 0], [0.1, 0.3, 0.4, 0.8, 0.8, 0.9]

tenths = st.integers(0, 10).map(lambda tenth: tenth / 10)
# Tenths meet in ties and hold certainties; the other half of the draws is arbitrary.
probabilities = st.one_of(tenths, st.floats(0, 1))
weights = st.one_of(st.integers(0, 4), st.floats(0.01, 10))


@st.composite
def samples(draw, forecasts=probabilities, max_size=30):
    """Draw outcomes, forecasts and weights, of which some are all one."""
    cases = draw(st.lists(st.tuples(st.booleans(), forecasts, weights), min_size=1, max_size=max_size))
    y, p, w = (np.array(column) for column in zip(*cases, strict=True))
    w = w.astype(float)
    return y, p, w if w.any() and draw(st.booleans()) else None


def tables(forecasts=probabilities):
    return samples(forecasts).map(lambda sample: ForecastTable.from_predictions(*sample[:2], sample_weight=sample[2]))


def agree(parts, expected):
    for short, name in NAMES.items():
        value = math.inf if expected[short] == "inf" else expected[short]
        assert getattr(parts, name) == pytest.approx(value, rel=CLOSE, abs=0), name


@pytest.mark.parametrize("sample", ["", "_2"])
@pytest.mark.parametrize("name", BY_NAME)
def test_golden_parts(golden, name, sample):
    inputs, expected = golden(f"corp_{name}{sample}")
    agree(pr.decompose(inputs["y"], inputs["s"], rule=BY_NAME[name]), expected)


def test_golden_parts_over_an_interval_of_thresholds(golden):
    inputs, expected = golden("corp_bounded_brier")
    rule = pr.BoundedBrier(inputs["a"], inputs["b"], normalize="none")
    agree(pr.decompose(inputs["y"], inputs["s"], rule=rule), expected)


@pytest.mark.skipif(
    not NIAMEY.exists(), reason="the data are not part of the repository; PROPRIETY_DATA names their folder"
)
@pytest.mark.parametrize("model", ["ENS", "EPC", "EMOS", "Logistic"])
@pytest.mark.parametrize("name", BY_NAME)
def test_published_parts_of_rain_forecasts(golden, model, name):
    _, expected = golden("niamey_table2")
    with NIAMEY.open() as file:
        days = list(csv.DictReader(file))
    y, p = ([float(day[column]) for day in days] for column in ("obs", model))
    agree(pr.decompose(y, p, rule=BY_NAME[name]), expected[model][name])


@pytest.mark.parametrize("case", ["corp_rps_small", "corp_rps"])
def test_golden_parts_of_ordered_classes(golden, case):
    inputs, expected = golden(case)
    result = pr.decompose(inputs["y"], inputs["P"], rule=pr.RankedProbability())
    agree(result, expected["total"])
    assert list(result.parts) == [0, 1, 2]
    for part, numbers in zip(result.parts.values(), expected["per_threshold"], strict=True):
        agree(part, numbers)


def test_golden_curves(golden):
    inputs, expected = golden("corp_curves")
    result = pr.decompose(inputs["y"], inputs["s"], grid=inputs["c"])
    assert result.threshold.tolist() == inputs["c"]
    for short, name in NAMES.items():
        np.testing.assert_allclose(getattr(result, f"{name}_curve"), expected[short], rtol=CLOSE, atol=1e-16)


def test_golden_classical_parts(golden):
    inputs, expected = golden("murphy_rel_res")
    result = pr.classical_decomposition(inputs["y"], inputs["s"], strategy="distinct")
    assert result.reliability == pytest.approx(expected["REL"], rel=CLOSE)
    assert result.resolution == pytest.approx(expected["RES"], rel=CLOSE)
    assert result.uncertainty == pytest.approx(expected["UNC"], rel=CLOSE)
    assert result.within_bin == pytest.approx(0.0, abs=1e-16)


@pytest.mark.parametrize("scale", ["sum", "half"])
@pytest.mark.parametrize("labels", [None, ["a", "b", "c", "d"]])
def test_brier_score_of_rows_decomposes_class_by_class(golden, scale, labels):
    inputs, _ = golden("corp_rps")
    y, rows, rule = inputs["y"], np.array(inputs["P"]), pr.Brier(scale=scale)
    named = y if labels is None else [labels[k] for k in y]
    result = pr.decompose(named, rows, rule=rule, labels=labels)
    assert result.score == pytest.approx(pr.mean_score(y, rows, rule=rule), rel=CLOSE)
    assert list(result.parts) == (labels or [0, 1, 2, 3])
    share = 1.0 if scale == "sum" else 0.5
    for name in NAMES.values():
        by_class = [getattr(pr.decompose(np.equal(y, k), rows[:, k]), name) for k in range(4)]
        assert getattr(result, name) == pytest.approx(share * sum(by_class), rel=CLOSE)
    rates = np.bincount(y) / len(y)
    assert result.uncertainty == pytest.approx(share * (1.0 - rates @ rates), rel=CLOSE)


@pytest.mark.slow
@pytest.mark.parametrize("rule", PROPER, ids=repr)
@given(table=tables())
def test_no_part_is_negative_and_they_add_up(rule, table):
    result = pr.decompose(table, rule=rule)
    assert result.miscalibration >= 0
    assert result.discrimination >= 0
    assert result.uncertainty >= 0
    assert result.score == pr.mean_score(table, rule=rule)
    total = result.miscalibration - result.discrimination + result.uncertainty
    assert total == pytest.approx(result.score, rel=1e-9, abs=1e-12)
    assert math.isfinite(result.discrimination)
    assert math.isfinite(result.uncertainty)


@given(table=tables(tenths))
def test_miscalibration_is_zero_only_if_recalibration_changes_nothing(table):
    unchanged = np.array_equal(pool_adjacent_violators(table).per_row(), table.forecast)
    assert (pr.decompose(table).miscalibration == 0) == unchanged


@pytest.mark.slow
@given(cases=st.lists(st.tuples(st.integers(0, 10), st.integers(1, 5)), min_size=1, unique_by=lambda case: case[0]))
@pytest.mark.parametrize("rule", PROPER, ids=repr)
def test_calibrated_forecasts_have_no_miscalibration(rule, cases):
    tenth, times = (np.array(column) for column in zip(*sorted(cases), strict=True))
    events = tenth * times
    table = ForecastTable(forecast=tenth / 10, events=events, non_events=10 * times - events)
    assert pr.decompose(table, rule=rule).miscalibration == 0


@pytest.mark.slow
@pytest.mark.parametrize("rule", STRICT, ids=repr)
@given(table=tables(tenths))
def test_discrimination_is_zero_only_if_recalibrated_forecasts_are_constant(rule, table):
    blocks = pool_adjacent_violators(table)
    discrimination = pr.decompose(table, rule=rule).discrimination
    if len(blocks) == 1:
        assert discrimination == 0
    elif np.ptp(blocks.event_rate) > 0.05 and blocks.event_rate[0] < 0.9:
        # Closer rates, or such near 1, differ by less than rounding under the rules that hardly weigh high thresholds.
        assert discrimination > 0


@pytest.mark.slow
@pytest.mark.parametrize("rule", PROPER, ids=repr)
@given(sample=samples(tenths))
def test_discrimination_sees_only_the_order_of_the_forecasts(rule, sample):
    y, p, w = sample
    first, second = (
        pr.decompose(y, moved, rule=rule, sample_weight=w) for moved in (p, np.sqrt(0.2 + 0.5 * np.asarray(p)))
    )
    assert first.discrimination == second.discrimination
    assert first.uncertainty == second.uncertainty


@given(table=tables())
def test_binning_by_distinct_forecasts_inflates_both_parts_alike(table):
    corp, classical = pr.decompose(table), pr.classical_decomposition(table, strategy="distinct")
    inflation = classical.reliability - corp.miscalibration
    assert inflation == pytest.approx(classical.resolution - corp.discrimination, abs=CLOSE)
    assert inflation >= -CLOSE
    if (np.diff(table.event_rates) >= 0).all():
        assert inflation == pytest.approx(0.0, abs=CLOSE)


@pytest.mark.parametrize("strategy", ["uniform", "quantile", "distinct"])
@given(table=tables(), bins=st.integers(1, 12))
def test_classical_parts_add_up_to_the_score(strategy, table, bins):
    result = pr.classical_decomposition(table, bins=bins, strategy=strategy)
    total = result.reliability - result.resolution + result.uncertainty + result.within_bin
    assert total == pytest.approx(pr.brier_score(table), abs=CLOSE)
    assert result.score == pr.brier_score(table)
    assert result.bins <= (len(table) if strategy == "distinct" else bins)


def test_classical_parts_of_two_bins_by_hand():
    result = pr.classical_decomposition([0, 1, 1, 1], [0.1, 0.3, 0.6, 1.0], bins=2)
    assert result.reliability == pytest.approx(((0.2 - 0.5) ** 2 + (0.8 - 1.0) ** 2) / 2)
    assert result.resolution == pytest.approx(0.25**2)
    assert result.within_bin == pytest.approx(0.01 / 2 + 0.04 / 2 - 2 * (0.05 + 0.05) / 4)


def test_classical_decomposition_refuses_what_is_no_strategy():
    with pytest.raises(InputValueError, match=r"""strategy must be one of .*"distinct"; got 'kmeans'"""):
        pr.classical_decomposition(Y, P, strategy="kmeans")


@given(table=tables(), threshold=st.floats(0.001, 0.999))
def test_the_curves_hold_the_parts_of_elementary_scores(table, threshold):
    at = np.array([threshold, *table.forecast[(table.forecast > 0) & (table.forecast < 1)]])
    curves = pr.decompose(table, grid=at)
    for position, c in enumerate(at):
        parts = pr.decompose(table, rule=pr.Elementary(float(c)))
        for name in NAMES.values():
            assert getattr(curves, f"{name}_curve")[position] == pytest.approx(getattr(parts, name), abs=CLOSE)


@given(table=tables())
def test_the_area_under_each_curve_is_half_its_part_of_the_brier_score(table):
    result = pr.decompose(table, curve=True)
    assert (np.diff(result.threshold) >= 0).all()
    assert np.isin(table.forecast, result.threshold).all()
    for name in NAMES.values():
        curve = getattr(result, f"{name}_curve")
        assert curve.min() >= 0
        assert trapezoid(curve, result.threshold) == pytest.approx(getattr(result, name) / 2, abs=CLOSE)


def test_a_curve_shows_both_sides_of_a_jump():
    result = pr.decompose([1, 0], [0.25, 0.75], curve=True)
    assert result.threshold.tolist() == [0.0, 0.25, 0.25, 0.5, 0.75, 0.75, 1.0]
    assert result.score_curve.tolist() == [0.0, 0.125, 0.5, 0.5, 0.5, 0.125, 0.0]
    assert result.discrimination_curve.tolist() == [0.0] * 7
    assert len(result.to_frame()) == 7


@pytest.mark.parametrize("grid", [[0.5, 1.5], [[0.5]], [math.nan], ["a"]])
def test_a_grid_that_is_none_is_refused(grid):
    with pytest.raises((InputValueError, InputTypeError), match="grid must"):
        pr.decompose(Y, P, grid=grid)


def test_an_impossible_event_that_happened_leaves_discrimination_finite():
    result = pr.decompose([1, 0, 1, 0, 1], [0.0, 0.0, 0.5, 0.5, 1.0], rule=pr.Log())
    assert result.score == result.miscalibration == math.inf
    entropy = -(0.6 * math.log(0.6) + 0.4 * math.log(0.4))
    assert result.uncertainty == pytest.approx(entropy)
    assert result.discrimination == pytest.approx(entropy - 0.8 * math.log(2))
    certain = pr.decompose([0, 1], [0.0, 1.0], rule=pr.Log())
    assert [certain.score, certain.miscalibration] == [0.0, 0.0]


@pytest.mark.parametrize("rule", PROPER, ids=repr)
def test_weights_of_very_different_size_do_not_make_a_rate_certain(rule):
    result = pr.decompose([1, 0, 0], [0.5, 0.5, 0.2], sample_weight=[1e9, 1e-9, 1.0], rule=rule)
    assert 0 <= result.discrimination < math.inf
    assert 0 <= result.miscalibration < math.inf


@pytest.mark.parametrize("outcome", [0, 1])
@pytest.mark.parametrize("rule", PROPER, ids=repr)
def test_one_class_alone_has_nothing_to_discriminate(rule, outcome):
    result = pr.decompose([outcome] * 3, [0.2, 0.5, 0.7], rule=rule)
    assert result.discrimination == 0
    assert result.miscalibration == result.score - result.uncertainty


@pytest.mark.parametrize(
    ("rule", "hint"),
    [
        (pr.ShiftedBrier(0.2, weighted=False), r"is declared improper. Hint: ShiftedBrier\(0.2, weighted=True\)"),
        (pr.PenalizedBrier(ties="correct"), r"PenalizedBrier\(ties='correct'\) is declared improper"),
    ],
    ids=repr,
)
def test_improper_rules_are_refused(rule, hint):
    with pytest.raises(ImproperRuleError, match=hint):
        pr.decompose(Y, P, rule=rule)


def test_improper_rules_of_rows_are_refused():
    rows = np.full((3, 3), 1 / 3)
    with pytest.raises(ImproperRuleError, match=r"is declared improper. Hint: RankedProbability\(\) is proper"):
        pr.decompose([0, 1, 2], rows, rule=pr.SquaredAbsoluteRankedProbability())
    with pytest.raises(ImproperRuleError, match=r"propriety.audit shows"):
        pr.decompose([0, 1, 2], rows, rule=pr.Log(clip=0.05))


@dataclass(frozen=True, slots=True, repr=False)
class Undeclared(pr.BinaryRule):
    name: ClassVar[str] = "undeclared"

    def loss(self, p, *, event, ops=None):
        return (p - event) ** 4


def test_a_rule_that_declares_nothing_is_refused():
    with pytest.raises(
        ImproperRuleError, match=r"does not declare whether it is proper. Hint: check it with propriety.audit"
    ):
        pr.decompose(Y, P, rule=Undeclared())


@pytest.mark.parametrize("rule", OTHERS, ids=repr)
def test_rules_of_rows_score_one_event_as_a_row(rule):
    found = pr.decompose(Y, P, rule=rule)
    assert found.score == pytest.approx(pr.mean_score(Y, P, rule=rule), rel=1e-12)
    assert found.score == pytest.approx(found.miscalibration - found.discrimination + found.uncertainty, rel=1e-12)
    assert min(found.miscalibration, found.discrimination, found.uncertainty) >= 0.0
    assert found.rule is rule


@pytest.mark.parametrize("rule", [pr.Log(), pr.PenalizedBrier(), pr.RankedLog(), pr.Misclassification()], ids=repr)
def test_rules_that_are_no_sum_over_events_are_refused(rule):
    with pytest.raises(InputValueError, match="no exact decomposition for class probabilities"):
        pr.decompose([0, 1, 2], np.full((3, 3), 1 / 3), rule=rule)


def test_what_is_no_rule_is_refused():
    with pytest.raises(InputTypeError, match="rule must be a scoring rule such as"):
        pr.decompose(Y, P, rule=pr.Brier)
    with pytest.raises(InputValueError, match="curve requires the forecast of one event"):
        pr.decompose([0, 1, 2], np.full((3, 3), 1 / 3), curve=True)
    with pytest.raises(InputValueError, match="grid requires the forecast of one event"):
        pr.decompose([0, 1, 2], np.full((3, 3), 1 / 3), grid=[0.5])
    with pytest.raises(InputValueError, match="pos_label belongs to a binary outcome"):
        pr.decompose([0, 1, 2], np.full((3, 3), 1 / 3), pos_label=1)
    with pytest.raises(InputTypeError, match="pass it without y_proba"):
        pr.decompose(ForecastTable.from_predictions(Y, P), P)
    with pytest.raises(InputTypeError, match="y_proba is required"):
        pr.decompose(Y)


def test_a_table_its_blocks_and_predictions_give_the_same():
    table = ForecastTable.from_predictions(Y, P)
    results = [
        pr.decompose(Y, P, rule=pr.Log()),
        pr.decompose(table, rule=pr.Log()),
        decompose_table(table, pr.Log(), pool_adjacent_violators(table)),
        pr.decompose(["n", "y", "n", "y", "y", "n"], P, pos_label="y", rule=pr.Log()),
    ]
    assert len({repr(result.to_dict()) for result in results}) == 1


def test_missing_values_are_refused_or_dropped_and_counted():
    with pytest.raises(MissingValuesError):
        pr.decompose([0, 1, 1], [0.1, math.nan, 0.7])
    assert pr.decompose(pr.cases([0, 1, 1], [0.1, math.nan, 0.7], missing="drop")).dropped == 1
    rows = [[0.5, 0.3, 0.2], [math.nan, 0.5, 0.5], [0.1, 0.1, 0.8]]
    assert pr.decompose(pr.cases([0, 1, 2], rows, missing="drop")).dropped == 1


def test_what_comes_back_can_be_looked_at_stored_and_copied():
    one = pr.decompose(Y, P)
    assert repr(one).startswith("Decomposition(score=0.2")
    assert copy.deepcopy(one).to_dict() == one.to_dict()
    rows = pr.decompose([0, 1, 2], np.full((3, 3), 1 / 3), rule=pr.RankedProbability())
    assert "parts=[0, 1]" in repr(rows)
    assert rows.to_frame(backend="polars")["event"].to_list() == ["0", "1", "total"]
    assert rows.to_dict()["parts"][1]["score"] == rows.parts[1].score
    assert "<table>" in pr.decompose(Y, P, curve=True)._repr_html_()


@settings(max_examples=50)
@given(table=tables(), seed=st.integers(0, 100))
@pytest.mark.parametrize("rule", [pr.Brier(), pr.Log(), pr.Misclassification()], ids=repr)
def test_a_draw_scores_as_the_table_it_makes(rule, table, seed):
    drawn = np.random.default_rng(seed).poisson(1.0, (2, len(table))) * (np.stack([table.events, table.non_events]) > 0)
    if not drawn.any():
        return
    forecasts = FixedForecasts.of(rule, table.forecast)
    score, recalibrated, reference = forecasts.scores(*drawn.astype(float))
    made = ForecastTable(forecast=table.forecast, events=drawn[0], non_events=drawn[1])
    parts = pr.decompose(made, rule=rule)
    assert score == pytest.approx(parts.score)
    assert reference - recalibrated == pytest.approx(parts.discrimination, abs=CLOSE)
    assert reference == pytest.approx(parts.uncertainty)
