"""The table of classes: the same numbers as each class evaluated by itself, the worst class first."""

import numpy as np
import pytest

import propriety as pr
from propriety.evaluation import class_table, words
from propriety.result import tuples_of

RNG = np.random.default_rng(4)
N, K = 1500, 12
TRUTH = RNG.dirichlet(np.linspace(0.3, 2.0, K), N)
Y = (TRUTH.cumsum(axis=1) < RNG.random((N, 1))).sum(axis=1)
PLANTED = TRUTH.copy()
PLANTED[:, 7] *= 2.5
PLANTED /= PLANTED.sum(axis=1, keepdims=True)
WEIGHT = RNG.gamma(2.0, size=N)
CLUSTER = RNG.integers(0, 80, N)


def evaluated(forecasts=PLANTED, y=Y, **options):
    return pr.evaluate(y, forecasts, labels=range(K), **({"n_resamples": 40, "seed": 1} | options))


@pytest.mark.parametrize(
    "shared", [{}, {"sample_weight": WEIGHT}, {"cluster": CLUSTER}], ids=["plain", "weights", "clusters"]
)
def test_each_class_has_the_numbers_of_its_own_event(shared):
    found = evaluated(**shared).classes
    for row in (0, 5, K - 1):
        place = found.place[row]
        _, ratio, slope, cost = pr.check_calibration(place == Y, PLANTED[:, place], seed=1, **shared)
        assert found.n[row] == (place == Y).sum()
        assert found.rate[row] == pytest.approx(ratio.extra["event_rate"])
        assert found.mean_forecast[row] == pytest.approx(ratio.extra["mean_forecast"])
        assert found.observed_expected[row] == pytest.approx(ratio.value)
        assert found.observed_expected_low[row] == pytest.approx(ratio.low, rel=0.12)
        assert found.slope[row] == pytest.approx(slope.value, rel=1e-6)
        assert found.miscalibration[row] == pytest.approx(cost.value, rel=1e-9)
        cases = {name: value for name, value in shared.items() if name != "cluster"}
        assert found.auc[row] == pytest.approx(pr.roc_curve(place == Y, PLANTED[:, place], **cases).auc)


def test_the_miscalibrated_class_comes_first_and_is_named():
    result = evaluated({"right": TRUTH, "wrong": PLANTED}, n_resamples=400)
    found = result.classes
    worst = found.of("wrong")[0]
    assert (found.label[worst], found.verdict[worst], found.directions[worst]) == ("7", "bad", ("too high",))
    assert found.p_value[worst] <= found.p_adjusted[worst] < 0.02
    assert "'wrong' is miscalibrated: its probabilities are too extreme; too high for 7." in result.card.sentences
    assert result.miscalibrated["wrong"] == 1.0
    assert result.miscalibrated["right"] != 1.0
    assert (np.diff(found.p_adjusted[found.of("right")]) >= 0.0).all()
    assert not (found.verdict[found.of("right")] == "bad").any()
    assert sorted(found.place[found.of("right")].tolist()) == list(range(K))
    assert len(found.to_frame()) == 2 * K


def test_tables_that_are_not_kept_give_the_same_table(monkeypatch, alike):
    whole = evaluated().classes
    monkeypatch.setattr(class_table, "KEPT", 0)
    alike(evaluated().classes, whole)


def test_long_tables_are_grouped_without_changing_the_numbers():
    rows = RNG.dirichlet([1.0, 2.0, 3.0], 9000)
    y = (rows.cumsum(axis=1) < RNG.random((9000, 1))).sum(axis=1)
    found = pr.evaluate(y, rows, ordered=True, n_resamples=40, seed=1).classes
    for row, place in enumerate(found.place):
        _, ratio, slope, cost = pr.check_calibration(y <= place, rows[:, : place + 1].sum(axis=1), seed=1)
        assert found.observed_expected[row] == pytest.approx(ratio.value, rel=1e-12)
        assert found.slope[row] == pytest.approx(slope.value, abs=5e-4)
        assert found.miscalibration[row] == pytest.approx(cost.value, abs=5e-6)


def test_a_class_that_never_happens_has_no_slope_and_no_ranking():
    y = np.where(Y == 2, 3, Y)
    found = evaluated(TRUTH, y, n_resamples=400).classes
    (row,) = np.flatnonzero(found.label == "2")
    assert found.n[row] == found.observed_expected[row] == 0.0
    assert np.isnan([found.slope[row], found.auc[row]]).all()
    assert (found.verdict[row], found.directions[row]) == ("bad", ("too high",))


def test_cut_points_are_the_events_of_ordered_classes():
    found = evaluated(TRUTH, ordered=True).classes
    assert sorted(found.place.tolist()) == list(range(K - 1))
    (row,) = np.flatnonzero(found.place == 4)
    assert found.rate[row] == pytest.approx((Y <= 4).mean())


def test_correlated_cases_that_are_not_available_are_not_tested():
    found = pr.evaluate(pr.condense(Y, TRUTH, labels=range(K), cluster=CLUSTER), seed=1, n_resamples=40)
    known = found.classes
    assert (known.verdict != "not tested").sum() > K / 2  # Some classes are too rare.
    ledger = found.ledger.grid(64)
    unknown = pr.evaluate(ledger, seed=1, n_resamples=40).classes
    assert (unknown.verdict == "not tested").all()
    assert np.isnan(unknown.p_adjusted).all()
    np.testing.assert_allclose(np.sort(unknown.observed_expected), np.sort(known.observed_expected))


def test_all_of_few_classes_are_drawn_and_of_many_the_worst():
    result = evaluated()
    assert len(result.drawn_classes) == 9
    assert result.drawn_classes[0] == 7
    shown = "the 9 classes with the strongest evidence of miscalibration, of 12"
    assert words.drawn_words(result) == f"The curves are those of {shown}; all are in the table."
    figure = result.plot()
    assert len(figure.axes) == 10
    assert figure.subfigs[1].get_suptitle().endswith(shown)
    few = pr.evaluate(Y % 4, TRUTH.reshape(N, 3, 4).sum(axis=1), n_resamples=40, seed=1)
    assert few.drawn_classes == [0, 1, 2, 3]
    assert words.drawn_words(few) == "The curves of all classes are drawn."


def test_binary_outcomes_have_no_table_of_classes():
    assert pr.evaluate(Y == 0, TRUTH[:, 0], seed=1, n_resamples=40).classes is None


def test_labels_may_be_tuples():
    labels = [(1, "a"), (1, "b"), (2, "a")]
    y = tuples_of(labels[place] for place in TRUTH[:300, :3].argmax(axis=1).tolist())
    rows = TRUTH[:300, :3] / TRUTH[:300, :3].sum(axis=1, keepdims=True)
    found = pr.evaluate(y, rows, labels=labels, n_resamples=40, seed=1)
    rows = found.calibration.where(measure="observed_expected", statistic="value")
    assert rows.keys["class"].tolist() == labels
    assert found.classes.label.shape == (3,)
    assert len(found.classes.to_frame(backend="polars")) == 3
    assert "3 classes" in str(found)
