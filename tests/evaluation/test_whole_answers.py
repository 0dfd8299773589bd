"""All that is said of small samples, word for word, and its numbers by direct computation."""

import matplotlib as mpl
import numpy as np
import polars as pl
import pytest
from matplotlib import pyplot as plt

import propriety as pr
from propriety.evaluation import group_calibration, words
from propriety.evaluation.calls import EACH, Calls
from propriety.inference.calibration_numbers import CalibrationNumbers
from propriety.result import tuples_of

mpl.use("agg")

N, K = 300, 3
RNG = np.random.default_rng(2)
TRUTH = RNG.dirichlet([2.0] * K, N)
Y = (TRUTH.cumsum(axis=1) < RNG.random((N, 1))).sum(axis=1)
SITE = np.where(np.arange(N) % 2, "a", "b")
WRONG = TRUTH * np.where((SITE == "a")[:, None], [1.0, 3.0, 1.0], 1.0)
WRONG /= WRONG.sum(axis=1, keepdims=True)
DRAWS = {"seed": 1, "n_resamples": 20}


@pytest.fixture(scope="module")
def of_classes():
    return pr.evaluate(Y, {"right": TRUTH, "wrong": WRONG}, by=SITE, **DRAWS)


def test_classes_and_groups_are_told_word_for_word(of_classes):
    assert of_classes.summary().splitlines() == [
        "2 models on 300 cases of 3 classes.",
        "Lowest Brier score: right, 0.562 (95% CI 0.520 to 0.604, adjusted for choosing the best of 2 models).",
        "right is better than wrong: its Brier score is 0.033 lower, 95% CI 0.003 to 0.063.",
        "Paired t test on 300 cases.",
        "right is consistent with calibration (p = 1; tested class by class, temperature and shared shape).",
        (
            "wrong is miscalibrated (p < 0.001): its probabilities are too extreme; class 1: too high "
            "(observed/expected 0.73, slope 0.85). Miscalibration summed over the classes: 0.0202 (0 to 0.0420)."
        ),
        (
            "wrong is miscalibrated in a (most likely class: observed/expected 0.74, 0.62 to 0.88; adjusted "
            "p < 0.001): most likely class too high and too extreme; class 1 too high; class 0 too low."
        ),
        "wrong: the Brier skill of a is 0.179 lower than that of the rest.",
        "wrong: the Brier skill of b is 0.179 higher than that of the rest.",
        "wrong: the Brier score of a is 0.121 higher than that of the rest.",
        "wrong: the Brier score of b is 0.121 lower than that of the rest.",
    ]
    assert repr(of_classes) == "Evaluation(models=['right', 'wrong'], kind=multiclass, n=300)"


def test_the_parts_of_the_score_of_classes_add_up(of_classes):
    for model, rows in (("right", TRUTH), ("wrong", WRONG)):
        found = of_classes.class_decompositions[model]
        assert found.score == pytest.approx(((rows - np.eye(K)[Y]) ** 2).sum(axis=1).mean())
        rates = np.bincount(Y) / N
        assert found.uncertainty == pytest.approx((rates * (1.0 - rates)).sum())
        for one in (found, *found.parts.values()):
            assert one.discrimination == pytest.approx(one.miscalibration + one.uncertainty - one.score)
            assert one.discrimination > 0.0


def test_the_verdict_on_all_classes_decides_what_is_said_of_each(of_classes):
    """Class 0 alone has an adjusted p-value below 5% and limits without 1, but the joint test names class 1 only."""
    found = of_classes.classes
    (row,) = np.flatnonzero((found.model == "wrong") & (found.label == "0"))
    assert found.p_adjusted[row] < 0.05
    assert found.observed_expected_low[row] > 1.0
    assert (found.outcome[row], found.directions[row]) == ("consistent", ())
    assert of_classes.miscalibrated == {"right": 0.0, "wrong": 1.0}


def test_grades_and_groups_are_told_word_for_word():
    found = pr.evaluate(Y, {"right": TRUTH, "wrong": WRONG}, by=SITE, ordered=True, **DRAWS)
    assert found.summary().splitlines() == [
        "2 models on 300 cases of 3 grades.",
        (
            "Lowest ranked probability score: right, 0.190 (95% CI 0.173 to 0.208, adjusted for choosing the best of "
            "2 models)."
        ),
        "right is better than wrong: its ranked probability score is 0.0068 lower, 95% CI 0.0007 to 0.0130.",
        "Paired t test on 300 cases.",
        "right is consistent with calibration for each of 2 cut points.",
        "wrong is miscalibrated for 1 of 2 cut points: 0.",
        "No group was found to differ from the rest in score or skill.",
    ]
    few = pr.evaluate(Y[:5], TRUTH[:5], ordered=True, **DRAWS)
    assert (
        few.summary().splitlines()[-1]
        == "forecast has too few events to tell whether it is calibrated for each of 2 cut points."
    )


def test_one_event_is_told_word_for_word():
    y = (Y == 0).astype(int)
    found = pr.evaluate(y, {"p": TRUTH[:, 0], "q": WRONG[:, 0] ** 2}, by=SITE, thresholds=(0.1, 0.3), **DRAWS)
    assert found.summary().splitlines() == [
        "2 models on 300 cases; event rate 34.3%.",
        (
            "Lowest bounded Brier score over the thresholds from 10% to 30%: p, 0.0990 (95% CI 0.0842 to 0.114, "
            "adjusted for choosing the best of 2 models)."
        ),
        "p is better than q: its bounded Brier score is 0.101 lower, 95% CI 0.063 to 0.139.",
        "Paired t test on 300 cases.",
        (
            "p is consistent with calibration (p = 0.66; observed/expected 1.04, 0.90 to 1.20; slope 1.15, 0.80 to "
            "1.50)."
        ),
        (
            "q is miscalibrated (p < 0.001): its forecasts are too low (observed/expected 3.30, 2.79 to 3.90) and too "
            "extreme (slope 0.60, 0.40 to 0.80). Recalibration would lower its bounded Brier score of 0.200 by 0.0953 "
            "(48%; 0.0569 to 0.134)."
        ),
        (
            "q is miscalibrated in a (observed/expected 5.15, 3.97 to 6.68; adjusted p < 0.001): its forecasts are "
            "too low."
        ),
        (
            "q is miscalibrated in b (observed/expected 2.44, 1.98 to 3.00; adjusted p < 0.001): its forecasts are "
            "too low."
        ),
        "No group was found to differ from the rest in score or skill.",
    ]
    assert repr(found) == "Evaluation(models=['p', 'q'], kind=binary, thresholds=(0.1, 0.3), n=300)"
    assert repr(found.recalibration) == "RecalibrationGains(['p', 'q'])"


def numbers_of(p_values, ratio=1.0):
    """Return the numbers of rows whose ratio is known to 1%, so that any other than 1 is told."""
    rows = len(p_values)
    many = np.full(rows, 1e4)
    column = {name: np.zeros(rows) for name in CalibrationNumbers._fields}
    column |= {"ratio": np.full(rows, ratio), "ratio_error": np.full(rows, 0.01), "p_value": np.array(p_values)}
    column |= dict.fromkeys(("information", "observed", "expected", "units", "worth"), many)
    column |= {"slope_error": np.full(rows, 0.01), "is_rare": np.zeros(rows, dtype=bool)}
    return CalibrationNumbers(**column)


def test_a_group_names_the_classes_that_hold_for_all_groups_together():
    """With 2 groups and 2 classes, classes are named up to 0.05 / (2 * 2 * 2), and the smallest in any case."""
    p_values = np.array([[1e-3, 0.5], [0.0062, 0.5]])
    told = np.stack([tuples_of([("too high",)] * 2), tuples_of([("too low",)] * 2)])
    outcomes = np.full((2, 2), "miscalibrated", dtype=object)
    options = (outcomes, told, ["class a", "class b"], 0.95)
    model, group = np.array(["m", "m"]), np.array(["g", "h"])
    found = group_calibration._tested(model, group, numbers_of([0.3, 0.9]), p_values, *options)
    assert found.directions.tolist() == [("class a too high", "class b too low"), ()]
    assert found.outcome.tolist() == ["miscalibrated", "consistent"]
    assert found.p_value.tolist() == pytest.approx([4e-3, 1.0])
    assert found.p_adjusted.tolist() == pytest.approx([8e-3, 1.0])
    p_values[1, 0] = 0.0063
    found = group_calibration._tested(model, group, numbers_of([0.3, 0.9]), p_values, *options)
    assert found.directions.tolist() == [("class a too high",), ()]
    outcomes[0, 0] = "immaterial"
    found = group_calibration._tested(model, group, numbers_of([0.3, 0.9]), p_values, *options)
    assert found.outcome.tolist() == ["immaterial", "consistent"]


def test_of_many_wrong_classes_the_first_are_named_and_the_others_counted():
    classes = group_calibration.MOST_NAMED + 3
    p_values = np.linspace(1e-9, 1e-8, classes)[:, None]
    told = tuples_of([("too high",)] * classes)[:, None]
    labels = [f"class {place}" for place in range(classes)]
    outcomes = np.full((classes, 1), "miscalibrated", dtype=object)
    found = group_calibration._tested(
        np.array(["m"]), np.array(["g"]), numbers_of([0.3]), p_values, outcomes, told, labels, 0.95
    )
    assert found.directions[0] == (*(f"{label} too high" for label in labels[: group_calibration.MOST_NAMED]), "3 more")


def test_calls_have_what_differs_from_the_defaults_and_nothing_else():
    y, p = np.where(Y == 0, "yes", "no"), {"p": TRUTH[:, 0]}
    found = pr.evaluate(y, p, pos_label="yes", tolerance=1e-3, time=np.arange(N), **DRAWS)
    assert found.call("roc_curve", "p") == "pr.roc_curve(y, forecasts['p'], pos_label='yes')"
    assert found.call("estimate", "p") == "pr.estimate(y, forecasts['p'], time=time, pos_label='yes', tolerance=0.001)"
    assert found.calls.reading == {"pos_label": "yes", "tolerance": 1e-3}
    assert pr.evaluate(y, p, pos_label="yes", level=0.9, **DRAWS).call("estimate", "p").endswith(", level=0.9)")
    assert Calls().write("roc_curve", EACH) == "pr.roc_curve(y, forecasts[name])"
    assert Calls(is_ledger=True).write("recalibrate", EACH) == "pr.recalibrate(ledger, model=name)"
    assert Calls(reading={"labels": ["a", "b"]}).with_labels({"a": "x"}).reading == {"labels": ["x", "b"]}


def test_the_columns_that_were_used_have_their_names():
    rows = {"y": (Y == 0).astype(int), "p": TRUTH[:, 0], "w": np.ones(N), "day": np.arange(N), "ward": SITE}
    frame = pl.DataFrame(rows)
    found = pr.evaluate(frame, "p", outcome="y", time="day", sample_weight="w", **DRAWS)
    assert found.columns_used == {"outcome": "y", "time": "day", "sample_weight": "w"}
    found = pr.evaluate(frame["y"], frame["p"], cluster=frame["ward"], **DRAWS)
    assert found.columns_used == {"outcome": "y", "cluster": "ward"}


@pytest.mark.parametrize("rate", [0.01, 0.99])
def test_an_event_that_nearly_always_happens_is_as_rare_as_one_that_nearly_never_does(rate):
    y = (np.arange(400) < 400 * rate).astype(int)
    found = pr.evaluate(y, np.full(400, rate), **DRAWS)
    assert found.problem.rare
    assert found.problem.headline.key == "log"


def test_bands_are_those_of_the_seed(of_classes):
    found, again = (one.reliability["wrong"][1] for one in (of_classes, evaluated_again()))
    np.testing.assert_array_equal(found.bands[0].low, again.bands[0].low)
    alone = pr.reliability_curve(Y == 1, WRONG[:, 1]).with_consistency_band(level=0.95, **DRAWS)
    np.testing.assert_array_equal(found.bands[0].high, alone.bands[0].high)


def evaluated_again():
    return pr.evaluate(Y, {"right": TRUTH, "wrong": WRONG}, by=SITE, **DRAWS)


def test_confused_pairs_have_counts_and_shares(of_classes):
    found = of_classes.confusion["right"].most_confused(2)
    assert list(found) == ["label", "predicted", "count", "share", "expected"]
    assert repr(of_classes.confusion["right"]) == "Confusion(classes=3, weight=300, accuracy=0.55)"
    top = TRUTH.argmax(axis=1)
    for place in range(2):
        true, predicted = int(found["label"][place]), int(found["predicted"][place])
        number = ((true == Y) & (top == predicted)).sum()
        assert found["count"][place] == number
        assert found["share"][place] == pytest.approx(number / (true == Y).sum())


def test_correlated_cases_of_groups_that_are_not_available_are_not_tested():
    ledger = pr.condense(Y, {"p": TRUTH}, by={"site": SITE}, cluster=np.arange(N) // 3)
    assert pr.evaluate(ledger, **DRAWS).group_calibration is not None
    assert pr.evaluate(ledger.grid(64), **DRAWS).group_calibration is None


def test_repeated_cases_in_clusters_are_no_more_evidence_in_groups():
    four = [np.repeat(one, 4, axis=0) for one in (Y, WRONG, SITE, np.arange(N))]
    found = pr.evaluate(four[0], {"m": four[1]}, by=four[2], cluster=four[3], **DRAWS).group_calibration
    alone = pr.evaluate(Y, {"m": WRONG}, by=SITE, cluster=np.arange(N), **DRAWS).group_calibration
    assert found.p_value[0] == pytest.approx(alone.p_value[0], rel=1e-6)
    assert found.p_value[1] > 0.3
    assert found.observed_expected_low[0] == pytest.approx(alone.observed_expected_low[0], rel=1e-6)


def test_the_mean_probability_of_classes_is_that_of_what_happened(of_classes):
    found = of_classes.probability_means["wrong"]
    happened = WRONG[np.arange(N), Y]
    assert found.model[1] == pytest.approx(np.exp(np.log(happened).mean()))
    assert 0.0 < found.angle < 90.0
    np.testing.assert_allclose(found.divergence, found.model / found.source, rtol=1e-12)
    assert list(found.parts) == [0, 1, 2]


def test_groups_are_in_the_calls_that_take_them(of_classes):
    assert of_classes.call("slices") == "pr.slices(y, forecasts, by=by)"
    assert of_classes.call("recalibrate", "right") == "pr.recalibrate(y, forecasts['right'])"


def test_many_cut_points_are_not_tested_at_once(monkeypatch):
    monkeypatch.setattr(words, "MOST_EVENTS", 1)
    told = pr.evaluate(Y, TRUTH, ordered=True, **DRAWS).summary().splitlines()
    assert "forecast: calibration is not tested for 2 cut points at once; use calibration_summary for one." in told


def test_cut_points_of_correlated_cases_have_the_miscalibration_of_their_clusters():
    ward = np.arange(N) // 5
    found = pr.evaluate(Y, TRUTH, ordered=True, cluster=ward, **DRAWS).classes
    for row, place in enumerate(found.place):
        alone = pr.calibration_summary(place >= Y, TRUTH[:, : place + 1].sum(axis=1), cluster=ward)
        assert found.miscalibration[row] == pytest.approx(alone.miscalibration.value, rel=1e-9)
        assert found.observed_expected_low[row] == pytest.approx(alone.observed_expected.low, rel=0.02)


def test_a_figure_that_is_given_is_drawn_on(of_classes):
    figure = plt.figure()
    assert of_classes.plot(figure) is figure
    assert pr.evaluate([0, 1], [0.25, 0.75]).n_resamples == 1000
