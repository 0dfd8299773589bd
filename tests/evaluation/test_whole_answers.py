"""All that is said of small samples, word for word, and its numbers by direct computation."""

import matplotlib as mpl
import numpy as np
import polars as pl
import pytest
from matplotlib import pyplot as plt

import propriety as pr
from propriety.evaluation import words
from propriety.evaluation.calls import EACH, Calls
from propriety.evaluation.group_calibration import group_table
from propriety.inference import class_findings
from propriety.inference.group_findings import MOST_NAMED

mpl.use("agg")

N, K = 300, 3
RNG = np.random.default_rng(2)
TRUTH = RNG.dirichlet([2.0] * K, N)
Y = (TRUTH.cumsum(axis=1) < RNG.random((N, 1))).sum(axis=1)
SITE = np.where(np.arange(N) % 2, "a", "b")
WRONG = TRUTH * np.where((SITE == "a")[:, None], [1.0, 3.0, 1.0], 1.0)
WRONG /= WRONG.sum(axis=1, keepdims=True)
DRAWS = {"seed": 1, "n_resamples": 20}
CLASSES = """\
Prefer 'right': its Brier score is 0.033 lower than that of 'wrong' (0.003 to 0.063).
2 models, 300 cases, 3 classes
────────────────────────────────────────────────────────────────────────────────────────────────────
                                               right                      wrong
Better forecasts?
  Brier score                       (lower)    0.562  0.525 to 0.599      0.595  0.550 to 0.640
    right less wrong, paired                  -0.033  -0.063 to -0.003
  Brier skill                      (higher)      16%  10 to 21              11%  4 to 18
  Most likely class is wrong        (lower)      45%  39 to 51              48%  42 to 53
Right probabilities?
  Test of calibration                   (p)     1.00  no error found     <0.001  bad
  O/E of the most likely class  (1 is best)     1.01  0.91 to 1.11         0.90  0.80 to 0.99
  Slope; below 1 too extreme    (1 is best)     0.83  0.31 to 1.34         0.40  0.00 to 0.79
Right for every class? O/E
  0, 103 cases                                  1.04  0.90 to 1.20         1.26  1.08 to 1.45
  1, 96 cases                                   0.99  0.85 to 1.15         0.73  0.63 to 0.86
  2, 101 cases                                  0.97  0.84 to 1.12        1.158  0.999 to 1.342
Alike in both groups?
  O/E of most likely, lowest to highest               0.95 to 1.07               0.74 to 1.07
  Miscalibrated, tested alone                      0  of 2                    1  of 2
    a, 150 cases                                0.95  0.80 to 1.10         0.74  0.61 to 0.87
  Differ from the rest in skill                    0  of 2 compared           2  of 2 compared
────────────────────────────────────────────────────────────────────────────────────────────────────
1. 'wrong' is miscalibrated: its probabilities are too extreme; too high for 1.
2. 'wrong' is miscalibrated in a: most likely class too high and too extreme; class 1 too high;
   class 0 too low.
3. 'wrong' has less skill in a than in the rest.
────────────────────────────────────────────────────────────────────────────────────────────────────
95% intervals. Valid for cases on which no model was fitted. result.to_html("report.html")
"""
GRADES = """\
Prefer 'right': its ranked probability score is 0.007 lower than that of 'wrong' (0.001 to 0.013).
2 models, 300 cases, 3 grades
────────────────────────────────────────────────────────────────────────────────────────────────────
                                         right                     wrong
Better forecasts?
  Ranked probability score    (lower)    0.190  0.175 to 0.206     0.197  0.181 to 0.214
    right less wrong, paired            -0.007  -0.013 to -0.001
  RPS skill                  (higher)      15%  9 to 21              12%  6 to 18
  Most likely grade is wrong  (lower)      45%  39 to 51             48%  42 to 53
Right probabilities?
  Test of calibration             (p)     1.00  no error found     0.026  bad
Right for every cut point? O/E
  at most 0, 103 cases                    1.04  0.90 to 1.20        1.26  1.08 to 1.45
  at most 1, 199 cases                    1.02  0.94 to 1.09        0.94  0.87 to 1.01
Alike in both groups?
  Differ from the rest in skill              0  of 2 compared          0  of 2 compared
────────────────────────────────────────────────────────────────────────────────────────────────────
1. 'wrong' is miscalibrated for 1 of 2 cut points: 0.
────────────────────────────────────────────────────────────────────────────────────────────────────
95% intervals. Valid for cases on which no model was fitted. result.to_html("report.html")
"""
EVENT = """\
Prefer 'p': from 10% to 30% its decisions cost 101 less per 1,000 cases than those of 'q' (64 to
140).
2 models, 300 cases, 103 events (34.3%); act from 10% to 30%
────────────────────────────────────────────────────────────────────────────────────────────────────
                                                 p                        q
Better decisions?
  Decision cost/1,000               (lower)     99  86 to 114           200  164 to 237
    p less q, paired                          -101  -140 to -64
  Net true positives/1,000 at 10%  (higher)   +7.0  -3.1 to +10.1    -123.0  -173.5 to -76.4
  Net true positives/1,000 at 30%  (higher)    +73  +24 to +119          -8  -80 to +63
Right probabilities?
  O/E, observed/expected        (1 is best)   1.04  0.89 to 1.19       3.30  2.75 to 3.85
  Slope; below 1 too extreme    (1 is best)   1.15  0.80 to 1.50       0.60  0.40 to 0.80
  Mean calibration error, points      (ICI)    3.8  0.0 to 8.7         23.9  20.3 to 27.5
  Test of calibration                   (p)   0.75  no error found   <0.001  bad
  Recalibration would save, of cost           0.0%  -0.2 to 0.1       47.4%  28.1 to 66.7
Right order?
  AUC                              (higher)   0.75  0.69 to 0.80       0.72  0.66 to 0.78
Alike in both groups?
  O/E, lowest to highest                            1.03 to 1.05             2.44 to 5.15
  Miscalibrated, tested alone                    0  of 2                  2  of 2
  Too few cases or events to tell                2  of 2                  0  of 2
    a, 150 cases                              1.03  0.82 to 1.25       5.15  3.80 to 6.50
    b, 150 cases                              1.05  0.84 to 1.26       2.44  1.93 to 2.95
  Differ from the rest in skill                  0  of 2 compared         2  of 2 compared
────────────────────────────────────────────────────────────────────────────────────────────────────
1. At 10%, acting on 'q' is worse than acting on everybody (by 123.0, 76.4 to 173.5, per 1,000).
2. 'q' is miscalibrated: observed/expected is 3.30, 2.75 to 3.85; its forecasts are too extreme
   (slope 0.60, 0.40 to 0.80).
────────────────────────────────────────────────────────────────────────────────────────────────────
Decision cost: a false alarm counts t, a missed event 1 - t, averaged over t from 10% to 30%.
Net true positives: net benefit above the better of acting on everybody and on nobody.
95% intervals. Valid for cases on which no model was fitted. 3 more findings: result.card.sentences.
result.to_html("report.html")
"""


def plain(result):
    return f"{result}\n".replace("\N{MINUS SIGN}", "-")


@pytest.fixture(scope="module")
def of_classes():
    return pr.evaluate(Y, {"right": TRUTH, "wrong": WRONG}, by=SITE, **DRAWS)


def test_classes_and_groups_are_told_word_for_word(of_classes):
    assert plain(of_classes) == CLASSES
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
    assert (found.verdict[row], found.directions[row]) == ("no error found", ())
    assert of_classes.miscalibrated["wrong"] == 1.0


def test_grades_and_groups_are_told_word_for_word():
    found = pr.evaluate(Y, {"right": TRUTH, "wrong": WRONG}, by=SITE, ordered=True, **DRAWS)
    assert plain(found) == GRADES
    few = pr.evaluate(Y[:5], TRUTH[:5], ordered=True, **DRAWS)
    assert few.card.answer == "Not enough data to tell whether the probabilities of 'forecast' are right: 5 cases."


def test_one_event_is_told_word_for_word():
    y = (Y == 0).astype(int)
    found = pr.evaluate(y, {"p": TRUTH[:, 0], "q": WRONG[:, 0] ** 2}, by=SITE, thresholds=(0.1, 0.3), **DRAWS)
    assert plain(found) == EVENT
    assert repr(found) == "Evaluation(models=['p', 'q'], kind=binary, thresholds=(0.1, 0.3), n=300)"
    assert repr(found.recalibration) == "RecalibrationGains(['p', 'q'])"


@pytest.fixture
def named():
    """Return the name of the first tested group of forecasts that are wrong in many classes, and what is said."""
    rng = np.random.default_rng(6)
    p = rng.dirichlet(np.ones(8), 3000)
    wrong = p * np.array([3.0, 0.4, 3.0, 0.4, 3.0, 0.4, 1.0, 1.0])
    wrong /= wrong.sum(axis=1, keepdims=True)
    y = (p.cumsum(axis=1) > rng.random((3000, 1))).argmax(axis=1)
    return group_table(pr.evaluate(y, {"m": wrong}, by={"g": np.arange(3000) % 2}, **DRAWS))


def test_of_many_wrong_classes_the_first_are_named_and_the_others_counted(named):
    for row, ways in zip(named.row, named.ways, strict=True):
        classes = [way for way in ways if way.startswith("class ")]
        assert len(classes) == MOST_NAMED
        assert row.note("classes").parts["number"] >= 6
        assert ways[-1] == f"{row.note('classes').parts['number'] - MOST_NAMED} more"
        assert all(" too high" in way or " too low" in way for way in classes)


def test_calls_have_what_differs_from_the_defaults_and_nothing_else():
    y, p = np.where(Y == 0, "yes", "no"), {"p": TRUTH[:, 0]}
    found = pr.evaluate(y, p, pos_label="yes", period=np.arange(N), **DRAWS)
    assert found.call("roc_curve", "p") == "pr.roc_curve(y, forecasts['p'], pos_label='yes')"
    assert found.call("estimate", "p") == "pr.estimate(y, forecasts['p'], period=period, pos_label='yes')"
    assert found.calls.reading == {"pos_label": "yes"}
    assert pr.evaluate(y, p, pos_label="yes", level=0.9, **DRAWS).call("estimate", "p").endswith(", level=0.9)")
    assert Calls().write("roc_curve", EACH) == "pr.roc_curve(y, forecasts[name])"
    assert Calls(data="ledger").write("recalibrate", EACH) == "pr.recalibrate(ledger, model=name)"
    assert Calls(reading={"labels": ["a", "b"]}).with_labels({"a": "x"}).reading == {"labels": ["x", "b"]}


def test_the_columns_that_were_used_have_their_names():
    rows = {"y": (Y == 0).astype(int), "p": TRUTH[:, 0], "w": np.ones(N), "day": np.arange(N), "ward": SITE}
    frame = pl.DataFrame(rows)
    found = pr.evaluate(frame, "p", outcome="y", period="day", sample_weight="w", **DRAWS)
    assert found.columns_used == {"outcome": "y", "period": "day", "sample_weight": "w"}
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
    found = pr.evaluate(four[0], {"m": four[1]}, by=four[2], cluster=four[3], **DRAWS)
    alone = pr.evaluate(Y, {"m": WRONG}, by=SITE, cluster=np.arange(N), **DRAWS)
    found, alone = group_table(found), group_table(alone)
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
    monkeypatch.setattr(class_findings, "MOST_CUTS", 1)
    told = list(words.calibration_sentences(pr.evaluate(Y, TRUTH, ordered=True, **DRAWS)))
    assert told == ["forecast: calibration was not tested (calibration is not tested for 2 cut points at once)."]


def test_cut_points_of_correlated_cases_have_the_miscalibration_of_their_clusters():
    ward = np.arange(N) // 5
    found = pr.evaluate(Y, TRUTH, ordered=True, cluster=ward, **DRAWS).classes
    for row, place in enumerate(found.place):
        _, ratio, _, cost = pr.check_calibration(place >= Y, TRUTH[:, : place + 1].sum(axis=1), cluster=ward, seed=1)
        assert found.miscalibration[row] == pytest.approx(cost.value, rel=1e-9)
        assert found.observed_expected_low[row] == pytest.approx(ratio.low, rel=0.05)


def test_a_figure_that_is_given_is_drawn_on(of_classes):
    figure = plt.figure()
    assert of_classes.plot(figure) is figure
    assert pr.evaluate([0, 1], [0.25, 0.75]).n_resamples == 1000
